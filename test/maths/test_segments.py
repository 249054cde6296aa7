"""Distances of segments against dense samples, Hypothesis and coal."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from arm_control.maths import (
    Array,
    Nearest,
    Shape,
    ShapeSearch,
    closest_on_segment,
    columns,
    cross,
    rows,
    smallest_by_tangents,
    squared_between_segments,
    squared_segment_to_box,
    to_box,
    to_point,
)
from arm_control.maths import between_segments as between_two
from arm_control.maths import segment_to_shape as of_one
from arm_control.maths.linalg import any_perpendicular


def segments(seed: int, n: int, size: float = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-size, size, (n, 3)), rng.uniform(-size, size, (n, 3))


def each(near: Nearest, n: int) -> Nearest:
    return Nearest(rows(near.distance, n), *(rows(x, n).T for x in near[1:]))


def between_segments(*ends: Array) -> Nearest:
    """Row by row of (n, 3) arrays."""
    return each(between_two(*(columns(x.T) for x in ends)), len(ends[0]))


def segments_to_shape(a: Array, b: Array, shape: Shape) -> Nearest:
    return each(of_one(columns(a.T), columns(b.T), shape.distance), len(a))


def along(a: Array, b: Array, n: int = 4001) -> Array:
    return a + np.linspace(0.0, 1.0, n)[:, None] * (b - a)


def test_vectors_are_numpys_and_one_across_is_any_perpendicular():
    for a, b in zip(*segments(4, 10), strict=True):
        np.testing.assert_allclose(cross(a, b), np.cross(a, b), rtol=0, atol=1e-15)
    for x in (*np.eye(3), *-np.eye(3), *segments(4, 10)[0], np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1e-9])):
        assert np.linalg.norm(any_perpendicular(x)) == pytest.approx(1.0)
        assert abs(any_perpendicular(x) @ x) < 1e-15
    assert np.linalg.norm(any_perpendicular(np.zeros(3))) == 1.0


def test_a_point_is_a_segment_without_length():
    a, b = segments(10, 50)
    for i, p in enumerate(segments(11, 50)[0]):
        near, other = to_point(a[i], b[i], p), between_two(a[i], b[i], p, p)
        for x, y in zip(near, other, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
    touching = to_point(np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.4]))
    assert touching.distance == 0.0
    assert abs(touching.normal[2]) < 1e-15
    assert np.linalg.norm(touching.normal) == pytest.approx(1.0)


coordinate = st.one_of(st.integers(-2, 2).map(float), st.floats(-2.0, 2.0).map(lambda x: round(x, 3)))
point = st.tuples(coordinate, coordinate, coordinate)


@settings(max_examples=80, derandomize=True)
@given(point, point, point, point)
def test_between_segments_nothing_is_nearer_and_the_points_are_on_them(a0, a1, b0, b1):
    a0, a1, b0, b1 = (np.array(x) for x in (a0, a1, b0, b1))
    near = between_two(a0, a1, b0, b1)
    on_a, on_b = along(a0, a1, 41), along(b0, b1, 41)
    sampled = np.linalg.norm(on_a[:, None] - on_b, axis=-1).min()
    d, pa, pb, n = near
    assert d <= sampled + 1e-9
    assert np.linalg.norm(n) == pytest.approx(1.0)
    np.testing.assert_allclose(pa - pb, d * n, rtol=0, atol=1e-9)
    for p, x, y in ((pa, a0, a1), (pb, b0, b1)):
        s = closest_on_segment(p, x, y)
        np.testing.assert_allclose(x + s * (y - x), p, rtol=0, atol=1e-9)


def test_segments_that_cross_have_a_normal_across_both():
    a, b = np.array([[-1.0, 0, 0]]), np.array([[1.0, 0, 0]])
    for c, d in (([0, -1.0, 0], [0, 1.0, 0]), ([-0.5, 0, 0], [3, 0, 0]), ([0, 0, 0], [0, 0, 0])):
        near = between_segments(a, b, np.array([c], float), np.array([d], float))
        assert near.distance[0] == 0.0
        assert abs(near.normal[0] @ [1, 0, 0]) < 1e-12
        assert abs(near.normal[0] @ (np.array(d, float) - c)) < 1e-12
        assert np.linalg.norm(near.normal[0]) == pytest.approx(1.0)


def test_no_sample_of_a_segment_is_nearer_to_a_shape(shape: Shape):
    a, b = segments(7, 40, 0.9)
    near = segments_to_shape(a, b, shape)
    for row in range(40):
        sampled = shape.signed_distance(along(a[row], b[row])).distance.min()
        assert near.distance[row] <= sampled + 1e-12
        assert near.distance[row] >= sampled - np.linalg.norm(b[row] - a[row]) / 4000
    for x, y, p in zip(a, b, near.p, strict=True):
        np.testing.assert_allclose(x + closest_on_segment(p, x, y) * (y - x), p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(near.p - near.distance[:, None] * near.normal, near.p_other, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shape.signed_distance(near.p_other).distance, 0.0, rtol=0, atol=1e-9)
    assert (near.distance < 0.0).any()


def test_a_capsule_and_a_shape_as_coal(shape: Shape, other: coal.ShapeBase):
    a, b = segments(9, 40)
    near = segments_to_shape(a, b, shape)
    compared = 0
    for row in range(40):
        if near.distance[row] > 0.02:
            found = coal_distance(capsule(a[row], b[row]), (other, coal.Transform3s()))
            assert found == pytest.approx(near.distance[row] - 0.01, abs=2e-6)
            compared += 1
    assert compared > 8


def test_tangents_at_both_ends_bound_the_distance_from_below(shape: Shape):
    a, b = segments(14, 400, 0.6)
    bracket = ShapeSearch(columns(a.T), columns((b - a).T), shape.distance).begin()
    bound, near = rows(smallest_by_tangents(bracket), 400), segments_to_shape(a, b, shape)
    is_end = rows(bracket.low.s - bracket.high.s, 400) == 0.0
    assert 40 < is_end.sum() < 360
    assert (bound <= near.distance + 1e-12).all()
    np.testing.assert_allclose(bound[is_end], near.distance[is_end], rtol=0, atol=1e-12)
    assert (bound > near.distance - 0.1)[~is_end].mean() > 0.3


def capsule(a: Array, b: Array) -> tuple[coal.ShapeBase, coal.Transform3s]:
    """A capsule of 1 cm around a segment."""
    R = Rotation.align_vectors([(b - a) / np.linalg.norm(b - a)], [[0, 0, 1]])[0].as_matrix()
    return coal.Capsule(0.01, np.linalg.norm(b - a)), coal.Transform3s(R, (a + b) / 2)


def coal_distance(one: tuple, other: tuple) -> float:
    return coal.distance(*one, *other, coal.DistanceRequest(), coal.DistanceResult())


def test_squared_distances_are_those_of_the_nearest_points():
    """Of two segments and of a segment and a box; also of points, and along the axes of the box."""
    rng = np.random.default_rng(7)
    a, b, c, d = rng.uniform(-2.0, 2.0, (4, 3, 300))
    b[:, :40], b[0, 40:80], b[1:, 80:120] = a[:, :40], a[0, 40:80], a[1:, 80:120]
    half = rng.uniform(0.05, 1.0, (3, 300))
    x = [columns(rows) for rows in (a, b, c, d, half)]
    squared = rows(squared_between_segments(*x[:4]), 300)
    np.testing.assert_allclose(squared, rows(between_two(*x[:4]).distance, 300) ** 2, rtol=0, atol=1e-12)
    to_the_box = rows(squared_segment_to_box(x[0], x[1], x[4]), 300)
    signed = rows(of_one(x[0], x[1], lambda p: to_box(p, x[4])).distance, 300)
    np.testing.assert_allclose(np.sqrt(to_the_box), np.maximum(signed, 0.0), rtol=0, atol=1e-9)
    assert (to_the_box == 0.0).any()
