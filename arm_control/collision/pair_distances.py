"""Distance between a link's capsule and an obstacle or another link, as loops over columns: a column is a pair.

Each law takes the ends a, b of the link's segment and its ``radius`` [m], and returns the distance ``rho`` between the
surfaces [m], the unit vector ``n`` towards the link, and the point ``p`` on the segment [m]. Before them, a ball in
each column, comes the question which of an arm's capsules are near it at all.

The distance to a box, a cylinder or a cone is searched (:class:`~arm_control.maths.segments.ShapeSearch`), which takes
twenty times as long as a look at both ends of the segment. That comes first, and is often enough: where the nearest
point is an end it gives the distance (:func:`at_end`), elsewhere a bound from below, by the tangents at both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from arm_control.compiler import Fold, Function, Law, Loop
from arm_control.maths import (
    CENTRE,
    MIN_LENGTH,
    PLACE,
    SIZE,
    SLOPE_STEPS,
    TANGENT_STEPS,
    Array,
    Bracket,
    Nearest,
    Probe,
    Scalar,
    ShapeSearch,
    SignedDistance,
    between_segments,
    clamp,
    dot,
    maximum,
    segment_to_facet,
    select,
    smallest_by_tangents,
    to_box,
    to_point,
    to_solid_of_revolution,
)

Entries = Mapping[str, Array]
Distance = Callable[[Array, Array], SignedDistance]
"""Signed distance of a point to a shape of some size, both in the shape's frame."""

ROUNDING = 1e-9
"""Share of a size, or of its square, by which a pair counts as near all the same: rounding leaves none out."""
PLACES = {"place": PLACE, "centre": CENTRE, "size": SIZE}
"""Where the inputs of the laws are among the numbers of an obstacle."""


def ball(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a ball; its radius is ``size[0]``."""
    return _result(to_point(x["a"], x["b"], x["centre"]), x["radius"][0] + x["size"][0])


def segment(x: Entries) -> dict[str, Any]:
    """Nearest points of two segments; the radius of the other one is ``size[0]``."""
    return _result(between_segments(x["a"], x["b"], x["c"], x["d"]), x["radius"][0] + x["size"][0])


def capsule(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment and a capsule, whose half length is ``size[1]``."""
    half = x["place"].reshape(3, 3)[:, 2] * x["size"][1]
    return segment({**x, "c": x["centre"] - half, "d": x["centre"] + half})


def facet(x: Entries) -> dict[str, Any]:
    """Nearest points of a segment, the same for all pairs, and a triangle of a hull that it is outside of."""
    return _result(segment_to_facet(x["a"], x["b"], x["corners"].reshape(3, 3)), 0.0)


def turned(p: Array, size: Array) -> SignedDistance:
    """Signed distance to a cylinder or cone in its frame [m]; ``size``: radii below and above, half length."""
    return to_solid_of_revolution(p, *size)


def at_end(x: Entries, distance: Distance) -> dict[str, Any]:
    """Nearest points of a segment and a shape, where that of the segment is an end: ``rho``, ``n``, ``p``.

    ``between`` is above zero where the nearest point is between the ends: there ``rho`` is a bound from below. The pair
    has ``place``, ``centre`` and ``size`` of the shape.
    """
    search = _search(x, distance)
    bracket = search.begin()
    near, between = search.end(bracket), bracket.high.s - bracket.low.s
    sizes = 1.0 + abs(bracket.low.distance) + abs(bracket.high.distance) + sum(x["size"])
    bound = smallest_by_tangents(bracket) - ROUNDING * sizes
    in_world = _in_world(x, near._replace(distance=select(between, bound, near.distance)))
    return {**in_world, "between": [between]}


def near_capsules(x: Entries, inverse_squares: Mapping[int, float]) -> dict[str, Any]:
    """Squared reach less squared distance of each capsule from the ball around an obstacle: above zero for a near one.

    The obstacle has ``centre`` and ``extent``, the arm ``ends`` (6 C) and ``radii`` (C) of all capsules, and ``reach``.
    Of the capsules that are looked at there is ``1 / |b - a|^2`` by their numbers [1/m^2]; 0 for one that is a ball.
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


def _search(x: Entries, distance: Distance) -> ShapeSearch:
    """The search in the shape's frame."""
    R = x["place"].reshape(3, 3)
    a, b = R.T @ (x["a"] - x["centre"]), R.T @ (x["b"] - x["centre"])
    return ShapeSearch(a, b - a, lambda p: distance(p, x["size"]))


def _in_world(x: Entries, near: Nearest) -> dict[str, Any]:
    R = x["place"].reshape(3, 3)
    return _result(Nearest(near.distance, R @ near.p + x["centre"], near.p_other, R @ near.normal), x["radius"][0])


def _begin(x: Entries, distance: Distance) -> dict[str, Any]:
    search = _search(x, distance)
    return {"start": search.a, "along": search.d, **_values(search.begin())}


def _step(x: Entries, distance: Distance, step: Callable[[ShapeSearch, Bracket], Bracket]) -> dict[str, Any]:
    return _values(step(_search_of(x, distance), _bracket_of(x)))


def _end(x: Entries, distance: Distance) -> dict[str, Any]:
    return _in_world(x, _search_of(x, distance).end(_bracket_of(x)))


def _search_of(x: Entries, distance: Distance) -> ShapeSearch:
    """The search among the values that :func:`_begin` has made."""
    return ShapeSearch(x["start"], x["along"], lambda p: distance(p, x["size"]))


def _bracket_of(x: Entries) -> Bracket:
    low, high = (Probe(y[0], y[1], y[2:5], y[5]) for y in (x["low"], x["high"]))
    return Bracket(low, high)


def _values(bracket: Bracket) -> dict[str, Any]:
    low, high = ([y.s, y.distance, *y.gradient, y.slope] for y in bracket)
    return {"low": low, "high": high}


def _result(near: Nearest, radii: Scalar) -> dict[str, Any]:
    return {"rho": near.distance - radii, "n": near.normal, "p": near.p}


_SEGMENT = {"a": 3, "b": 3, "radius": 1, "size": 3}
_SHAPE = {**_SEGMENT, "place": 9, "centre": 3}
LAWS: Mapping[str, tuple[Function, Mapping[str, int]]] = {
    "sphere": (ball, {**_SEGMENT, "centre": 3}),
    "box": (partial(at_end, distance=to_box), _SHAPE),
    "turned": (partial(at_end, distance=turned), _SHAPE),
    "capsule": (capsule, _SHAPE),
    "facet": (facet, {"a": 3, "b": 3, "corners": 9}),
    "link": (segment, {**_SEGMENT, "c": 3, "d": 3}),
}
"""Law and inputs for each type of obstacle, a triangle of a hull, and another link."""
SEARCHED = {"box": to_box, "turned": turned}
"""Types of obstacles for which that law is not enough, and their signed distances."""


def distance_loop(of_type: str) -> Loop:
    """Return one of LAWS, over all its pairs."""
    function, inputs = LAWS[of_type]
    shared = ("a", "b") if of_type == "facet" else ()
    return Loop(Law(f"distance, {of_type}", function, inputs, has_masses=False), "columns", shared)


def search_loop(of_type: str) -> Loop:
    """Return :func:`~arm_control.maths.segments.segment_to_shape` for one of SEARCHED, over all its pairs.

    Its steps are a loop in the machine code.
    """
    begin, step, end = (partial(part, distance=SEARCHED[of_type]) for part in (_begin, _step, _end))
    folds = (
        Fold((partial(step, step=ShapeSearch.tangent_step),), times=TANGENT_STEPS),
        Fold((partial(step, step=ShapeSearch.slope_step),), times=SLOPE_STEPS),
    )
    carried = "low", "high"
    law = Law(f"search, {of_type}", end, _SHAPE, has_masses=False, before=begin, folds=folds, carried=carried)
    return Loop(law, "columns")


def selection_loop(squares: Mapping[int, float], n_capsules: int) -> tuple[Loop, dict[str, Array]]:
    """Return :func:`near_capsules` over all obstacles, and samples of its inputs.

    Of the capsules that are looked at there is the squared length of the segment by their numbers [m^2].
    """
    inverse_squares = {i: 1.0 / square if square > MIN_LENGTH**2 else 0.0 for i, square in squares.items()}
    arm = {"ends": 6 * n_capsules, "radii": n_capsules, "reach": 1}
    function = partial(near_capsules, inverse_squares=inverse_squares)
    law = Law("near capsules", function, {"centre": 3, "extent": 1, **arm}, inverse_squares, has_masses=False)
    rng = np.random.default_rng(0)
    inputs = {name: rng.uniform(0.1, 0.3, size) for name, size in arm.items()}
    inputs |= {"centre": rng.uniform(-1.0, 1.0, (3, 16)), "extent": rng.uniform(0.1, 0.3, (1, 16))}
    return Loop(law, "columns", shared=tuple(arm)), inputs


def samples(of_type: str) -> dict[str, Array]:
    """Random pairs to compare a kernel on: the inputs of one of LAWS."""
    rng, n = np.random.default_rng(0), 16
    inputs = {key: rng.uniform(-1.0, 1.0, (size, n)) for key, size in LAWS[of_type][1].items()}
    for key in inputs.keys() & {"size", "radius"}:
        inputs[key] = 0.1 + 0.2 * np.abs(inputs[key])
    if of_type == "facet":
        inputs |= {"a": inputs["a"][:, 0], "b": inputs["b"][:, 0]}
    if "place" in inputs:
        Q = np.linalg.qr(np.moveaxis(inputs["place"].reshape(3, 3, n), 2, 0))[0]
        inputs["place"] = np.ascontiguousarray(np.moveaxis(Q, 0, 2).reshape(9, n))
    return inputs
