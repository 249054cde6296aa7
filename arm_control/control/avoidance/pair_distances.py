"""Distance between a link's capsule and what is near it, as laws for many columns: a column is a pair.

Each takes the ends a, b of the link's segment and its ``radius``, and gives the distance ``rho`` between the
surfaces, the point ``p`` on the segment, the unit vector ``n`` towards the link, and ``near``: how much nearer
than the reach it is. The first, ``ball``, is exact for spheres; of any other obstacle it takes the ball around
it, and so finds out which pairs may be near at all (``maybe``). Only those are measured by the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_control.compiler.column_law import ColumnLaw
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar
from arm_control.maths.segments import Nearest, between_segments, segment_to_shape, to_point
from arm_control.maths.shapes import Distance, to_box, to_solid_of_revolution

Entries = Mapping[str, Array]


def ball(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a ball."""
    found = _found(to_point(x["a"], x["b"], x["centre"]), x["radius"][0] + x["extent"][0], x["reach"][0])
    return {**found, "maybe": found["near"]}


def segment(x: Entries) -> dict[str, Any]:
    """Of two segments; the other one's radius is ``size[0]``."""
    return _found(between_segments(x["a"], x["b"], x["c"], x["d"]), x["radius"][0] + x["size"][0], x["reach"][0])


def box(x: Entries) -> dict[str, Any]:
    """Of a segment and a box; ``size`` is half of its edges."""
    return _in_frame(x, lambda p: to_box(p, x["size"]))


def turned(x: Entries) -> dict[str, Any]:
    """Of a segment and a cylinder or a cone; ``size`` is its radii below and above, and half of its length."""
    return _in_frame(x, lambda p: to_solid_of_revolution(p, *x["size"]))


def _in_frame(x: Entries, distance: Distance) -> dict[str, Any]:
    R = x["place"].reshape(3, 3)
    near = segment_to_shape(R.T @ (x["a"] - x["centre"]), R.T @ (x["b"] - x["centre"]), distance)
    return _found(
        Nearest(near.distance, R @ near.p + x["centre"], near.p_other, R @ near.normal), x["radius"][0], x["reach"][0]
    )


def _found(near: Nearest, radii: Scalar, reach: Scalar) -> dict[str, Any]:
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


def distance_law(name: str) -> ColumnLaw:
    """Return one of LAWS."""
    text, inputs, where = LAWS[name]
    return ColumnLaw(f"distance, {name}", text, inputs, ("reach",), where=where)


def samples(name: str, n: int = 16) -> dict[str, Array]:
    """Random pairs to compare a compiled law with its text on: the inputs of LAWS, n columns."""
    rng = np.random.default_rng(0)
    given = {key: rng.uniform(-1.0, 1.0, (size, n)) for key, size in LAWS[name][1].items()}
    for key in given.keys() & {"size", "radius", "extent", "maybe"}:
        given[key] = 0.1 + 0.2 * np.abs(given[key])
    if "place" in given:
        Q = np.linalg.qr(np.moveaxis(given["place"].reshape(3, 3, n), 2, 0))[0]
        given["place"] = np.ascontiguousarray(np.moveaxis(Q, 0, 2).reshape(9, n))
    return {**given, "reach": np.array([0.1])}
