"""Distance between a link's capsule and an obstacle or another link, as loops over columns: a column is a pair.

Each law takes the ends a, b of the link's segment and its ``radius`` [m], and returns the distance ``rho`` between the
surfaces [m], the unit vector ``n`` towards the link, and the point ``p`` on the segment [m]. Before them, an obstacle
in each column, comes the question which of an arm's capsules are near the ball around it at all. Where a distance takes
long to compute, a bound comes before it: with p, the segment's point nearest to the shape's centre c, u the direction
from c to p, and points x of the shape,

    rho >= |p - c| - max u^T (x - c) - radius.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from arm_control.compiler.law import Law, Loop
from arm_control.maths.obstacles import CENTRE, PLACE, SIZE
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, clamp, maximum, sqrt
from arm_control.maths.segments import Nearest, between_segments, segment_to_shape, to_point
from arm_control.maths.shapes import Distance, to_box, to_solid_of_revolution
from arm_control.maths.vectors import MIN_LENGTH, dot

Entries = Mapping[str, Array]
Laws = Mapping[str, tuple[Callable[[Entries], dict[str, Any]], Mapping[str, int]]]

ROUNDING = 1e-9
"""Share of a distance, or of its square, by which a pair counts as near all the same: rounding leaves none out."""
PLACES = {"place": PLACE, "centre": CENTRE, "size": SIZE}
"""Where the inputs of the laws are among the numbers of an obstacle."""


def ball(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a ball; its radius is ``size[0]``."""
    return _result(to_point(x["a"], x["b"], x["centre"]), x["radius"][0] + x["size"][0])


def segment(x: Entries) -> dict[str, Any]:
    """Nearest points of two segments; the radius of the other one is ``size[0]``."""
    return _result(between_segments(x["a"], x["b"], x["c"], x["d"]), x["radius"][0] + x["size"][0])


def box(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a box; ``size`` is half of its edges."""
    return _in_frame(x, lambda p: to_box(p, x["size"]))


def turned(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a cylinder or cone; ``size``: radii below and above, half of its length."""
    return _in_frame(x, lambda p: to_solid_of_revolution(p, *x["size"]))


def bound_of_box(x: Entries) -> dict[str, Any]:
    """Bound of the distance from below, of a box."""
    return _bound(x, lambda u: dot(np.abs(u), x["size"]))


def bound_of_turned(x: Entries) -> dict[str, Any]:
    """Bound of the distance from below, of a cylinder or cone."""
    below, above, half = x["size"]

    def reach(u: Array) -> Scalar:
        across = sqrt(u[0] * u[0] + u[1] * u[1])
        return maximum(above * across + half * u[2], below * across - half * u[2])

    return _bound(x, reach)


def _bound(x: Entries, reach: Callable[[Array], Scalar]) -> dict[str, Any]:
    near = to_point(x["a"], x["b"], x["centre"])
    far = reach(x["place"].reshape(3, 3).T @ near.normal)
    return {"rho": (1.0 - ROUNDING) * near.distance - (1.0 + ROUNDING) * far - x["radius"][0]}


def near_capsules(x: Entries, inverse_squares: Mapping[int, float]) -> dict[str, Any]:
    """Squared reach less squared distance of each capsule from the ball around an obstacle: above zero for a near one.

    Parameters
    ----------
    x : mapping
        ``centre`` and ``extent`` of the obstacle; ``ends`` (6 C) and ``radii`` (C) of all capsules, and ``reach``.
    inverse_squares : mapping of int to float
        Numbers of the capsules that are looked at, and ``1 / |b - a|^2`` of each [1/m^2]; 0 for a capsule that is a
        ball.
    """
    ends = x["ends"].reshape(6, -1)
    near = []
    for i, inverse_square in inverse_squares.items():
        d, to_centre = ends[3:, i] - ends[:3, i], x["centre"] - ends[:3, i]
        gap = to_centre - clamp(dot(to_centre, d) * inverse_square, 0.0, 1.0) * d
        far = x["reach"][0] + x["extent"][0] + x["radii"][i]
        near.append((1.0 + ROUNDING) * (far * far) - dot(gap, gap))
    nearest = near[0]
    for one in near[1:]:
        nearest = maximum(nearest, one)
    return {"near": np.array(near), "nearest": np.array([nearest])}


def _in_frame(x: Entries, distance: Distance) -> dict[str, Any]:
    R = x["place"].reshape(3, 3)
    near = segment_to_shape(R.T @ (x["a"] - x["centre"]), R.T @ (x["b"] - x["centre"]), distance)
    return _result(Nearest(near.distance, R @ near.p + x["centre"], near.p_other, R @ near.normal), x["radius"][0])


def _result(near: Nearest, radii: Scalar) -> dict[str, Any]:
    return {"rho": near.distance - radii, "n": near.normal, "p": near.p}


_SEGMENT = {"a": 3, "b": 3, "radius": 1, "size": 3}
_SHAPE = {**_SEGMENT, "place": 9, "centre": 3}
LAWS = {
    "sphere": (ball, {**_SEGMENT, "centre": 3}),
    "box": (box, _SHAPE),
    "turned": (turned, _SHAPE),
    "capsule": (segment, {**_SEGMENT, "c": 3, "d": 3}),
}
"""Law and inputs for each type of obstacle; that of capsules is that of two links, too."""
BOUNDS = {"box": (bound_of_box, _SHAPE), "turned": (bound_of_turned, _SHAPE)}
"""The same for bounds."""


def distance_loop(of_type: str, laws: Laws = LAWS) -> Loop:
    """Return one of LAWS, or of BOUNDS, over all its pairs.

    Parameters
    ----------
    of_type : str
        Its name there.
    laws : mapping
        Either of both.
    """
    function, inputs = laws[of_type]
    return Loop(Law(f"distance, {function.__name__}", function, inputs, has_masses=False), "columns")


def selection_loop(squares: Mapping[int, float], n_capsules: int) -> tuple[Loop, dict[str, Array]]:
    """Return :func:`near_capsules` over all obstacles, and samples of its inputs.

    Parameters
    ----------
    squares : mapping of int to float
        Numbers of the capsules that are looked at, and the squared length of each segment [m^2].
    n_capsules : int
        Number of all capsules.
    """
    inverse_squares = {i: 1.0 / square if square > MIN_LENGTH**2 else 0.0 for i, square in squares.items()}
    arm = {"ends": 6 * n_capsules, "radii": n_capsules, "reach": 1}
    function = partial(near_capsules, inverse_squares=inverse_squares)
    law = Law("near capsules", function, {"centre": 3, "extent": 1, **arm}, inverse_squares, has_masses=False)
    rng = np.random.default_rng(0)
    inputs = {name: rng.uniform(0.1, 0.3, size) for name, size in arm.items()}
    inputs |= {"centre": rng.uniform(-1.0, 1.0, (3, 16)), "extent": rng.uniform(0.1, 0.3, (1, 16))}
    return Loop(law, "columns", shared=tuple(arm)), inputs


def samples(of_type: str, n: int = 16) -> dict[str, Array]:
    """Random pairs to compare a kernel on: the inputs of one of LAWS.

    Parameters
    ----------
    of_type : str
        Its name there.
    n : int
        Number of columns.
    """
    rng = np.random.default_rng(0)
    inputs = {key: rng.uniform(-1.0, 1.0, (size, n)) for key, size in LAWS[of_type][1].items()}
    for key in inputs.keys() & {"size", "radius"}:
        inputs[key] = 0.1 + 0.2 * np.abs(inputs[key])
    if "place" in inputs:
        Q = np.linalg.qr(np.moveaxis(inputs["place"].reshape(3, 3, n), 2, 0))[0]
        inputs["place"] = np.ascontiguousarray(np.moveaxis(Q, 0, 2).reshape(9, n))
    return inputs
