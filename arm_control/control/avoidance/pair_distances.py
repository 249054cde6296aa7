"""Distance between a link's capsule and a near obstacle or link, as loops over columns: a column is a pair.

Each law takes the ends a, b of the link's segment and its ``radius`` [m], and returns the distance ``rho`` between the
surfaces [m], the point ``p`` on the segment [m], the unit vector ``n`` towards the link, and ``near``, the reach less
the distance [m]. The first, ``ball``, is exact for spheres; for any other obstacle it takes the ball around it, and so
decides which pairs may be near at all (``maybe``). Only those are measured by the other laws.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from arm_control.compiler.law import Law, Loop
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar
from arm_control.maths.segments import Nearest, between_segments, segment_to_shape, to_point
from arm_control.maths.shapes import Distance, to_box, to_solid_of_revolution

Entries = Mapping[str, Array]


def ball(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a ball."""
    result = _result(to_point(x["a"], x["b"], x["centre"]), x["radius"][0] + x["extent"][0], x["reach"][0])
    return {**result, "maybe": result["near"]}


def segment(x: Entries) -> dict[str, Any]:
    """Nearest points of two segments; the radius of the other one is ``size[0]``."""
    return _result(between_segments(x["a"], x["b"], x["c"], x["d"]), x["radius"][0] + x["size"][0], x["reach"][0])


def box(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a box; ``size`` is half of its edges."""
    return _in_frame(x, lambda p: to_box(p, x["size"]))


def turned(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a cylinder or cone; ``size``: radii below and above, half of its length."""
    return _in_frame(x, lambda p: to_solid_of_revolution(p, *x["size"]))


def reach_of_capsules(x: Entries, capsules: tuple[int, ...]) -> dict[str, Any]:
    """The reach less the distance of each capsule from the ball around one obstacle: above zero for a near one.

    Parameters
    ----------
    x : mapping
        ``centre`` and ``extent`` of the obstacle; ``ends`` (6 C) and ``radii`` (C) of all capsules, and ``reach``.
    capsules : tuple of int
        Numbers of those that are measured.
    """
    ends = x["ends"].reshape(6, -1)
    near = [
        x["reach"][0] + x["extent"][0] + x["radii"][i] - to_point(ends[:3, i], ends[3:, i], x["centre"]).distance
        for i in capsules
    ]
    return {"near": np.array(near)}


def _in_frame(x: Entries, distance: Distance) -> dict[str, Any]:
    R = x["place"].reshape(3, 3)
    near = segment_to_shape(R.T @ (x["a"] - x["centre"]), R.T @ (x["b"] - x["centre"]), distance)
    return _result(
        Nearest(near.distance, R @ near.p + x["centre"], near.p_other, R @ near.normal), x["radius"][0], x["reach"][0]
    )


def _result(near: Nearest, radii: Scalar, reach: Scalar) -> dict[str, Any]:
    rho = near.distance - radii
    return {"rho": rho, "n": near.normal, "p": near.p, "near": reach - rho}


_SEGMENT = {"a": 3, "b": 3, "radius": 1, "reach": 1}
_SHAPE = {**_SEGMENT, "place": 9, "centre": 3, "size": 3, "maybe": 1}
LAWS = {
    "ball": (ball, {**_SEGMENT, "centre": 3, "extent": 1}, ""),
    "segment": (segment, {**_SEGMENT, "c": 3, "d": 3, "size": 3, "maybe": 1}, "maybe"),
    "box": (box, _SHAPE, "maybe"),
    "turned": (turned, _SHAPE, "maybe"),
}


def distance_loop(name: str) -> Loop:
    """Return one of LAWS over all its pairs."""
    function, inputs, where = LAWS[name]
    law = Law(f"distance, {name}", function, inputs, has_masses=False)
    return Loop(law, "columns", shared=("reach",), where=where)


def selection_loop(capsules: tuple[int, ...], n_capsules: int) -> tuple[Loop, dict[str, Array]]:
    """Return :func:`reach_of_capsules` over all obstacles, and samples of its inputs.

    Parameters
    ----------
    capsules : tuple of int
        Numbers of the capsules that are measured.
    n_capsules : int
        Number of all capsules.
    """
    arm = {"ends": 6 * n_capsules, "radii": n_capsules, "reach": 1}
    function = partial(reach_of_capsules, capsules=capsules)
    law = Law("selection", function, {"centre": 3, "extent": 1, **arm}, capsules, has_masses=False)
    rng = np.random.default_rng(0)
    inputs = {name: rng.uniform(0.1, 0.3, size) for name, size in arm.items()}
    inputs |= {"centre": rng.uniform(-1.0, 1.0, (3, 16)), "extent": rng.uniform(0.1, 0.3, (1, 16))}
    return Loop(law, "columns", shared=tuple(arm)), inputs


def samples(name: str, n: int = 16) -> dict[str, Array]:
    """Random pairs to compare a kernel on: the inputs of one of LAWS.

    Parameters
    ----------
    name : str
        Its name there.
    n : int
        Number of columns.
    """
    rng = np.random.default_rng(0)
    inputs = {key: rng.uniform(-1.0, 1.0, (size, n)) for key, size in LAWS[name][1].items()}
    for key in inputs.keys() & {"size", "radius", "extent", "maybe"}:
        inputs[key] = 0.1 + 0.2 * np.abs(inputs[key])
    if "place" in inputs:
        Q = np.linalg.qr(np.moveaxis(inputs["place"].reshape(3, 3, n), 2, 0))[0]
        inputs["place"] = np.ascontiguousarray(np.moveaxis(Q, 0, 2).reshape(9, n))
    return {**inputs, "reach": np.array([0.1])}
