"""Distances of segments against dense samples, Hypothesis and coal."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from arm_control.geometry import Box, Capsule, Shape, Sphere, between_segments, segments_to_shape
from arm_control.geometry.segments import closest_on_segments, cross_product
from arm_control.spatial import Array


def segments(seed: int, n: int, size: float = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-size, size, (n, 3)), rng.uniform(-size, size, (n, 3))


def along(a: Array, b: Array, n: int = 4001) -> Array:
    return a + np.linspace(0.0, 1.0, n)[:, None] * (b - a)


def test_the_nearest_point_of_a_segment_has_three_branches_and_a_degenerate_one():
    a, b = np.zeros(3), np.array([2.0, 0.0, 0.0])
    for p, s in (([-1, 1, 0], 0.0), ([2, 1, 0], 1.0), ([1, 0, 5], 0.5), ([5, 1, 0], 1.0)):
        assert closest_on_segments(np.array(p, float), a, b) == s
    assert closest_on_segments(np.ones(3), b, b) == 0.0


def test_the_cross_product_is_numpys():
    a, b = segments(4, 10)
    np.testing.assert_allclose(cross_product(a, b), np.cross(a, b), rtol=0, atol=1e-15)


coordinate = st.one_of(st.integers(-2, 2).map(float), st.floats(-2.0, 2.0).map(lambda x: round(x, 3)))
point = st.tuples(coordinate, coordinate, coordinate)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(point, point, point, point)
def test_between_segments_nothing_is_nearer_and_the_points_are_on_them(a0, a1, b0, b1):
    a0, a1, b0, b1 = (np.array(x) for x in (a0, a1, b0, b1))
    near = between_segments(*(x[None] for x in (a0, a1, b0, b1)))
    on_a, on_b = along(a0, a1, 41), along(b0, b1, 41)
    sampled = np.linalg.norm(on_a[:, None] - on_b, axis=-1).min()
    d, pa, pb, n = (x[0] for x in near)
    assert d <= sampled + 1e-9
    assert np.linalg.norm(n) == pytest.approx(1.0)
    np.testing.assert_allclose(pa - pb, d * n, rtol=0, atol=1e-9)
    for p, x, y in ((pa, a0, a1), (pb, b0, b1)):
        s = closest_on_segments(p, x, y)
        np.testing.assert_allclose(x + s * (y - x), p, rtol=0, atol=1e-9)


def test_between_random_segments_as_coal():
    (a0, a1), (b0, b1) = segments(5, 200), segments(6, 200)
    near = between_segments(a0, a1, b0, b1)
    for row in range(200):
        found = coal_distance(capsule(a0[row], a1[row]), capsule(b0[row], b1[row]))
        if near.distance[row] > 0.03:
            assert found == pytest.approx(near.distance[row] - 0.02, abs=1e-6)


def test_segments_that_cross_have_a_normal_across_both():
    a, b = np.array([[-1.0, 0, 0]]), np.array([[1.0, 0, 0]])
    for c, d in (([0, -1.0, 0], [0, 1.0, 0]), ([-0.5, 0, 0], [3, 0, 0]), ([0, 0, 0], [0, 0, 0])):
        near = between_segments(a, b, np.array([c], float), np.array([d], float))
        assert near.distance[0] == 0.0
        assert abs(near.normal[0] @ [1, 0, 0]) < 1e-12
        assert abs(near.normal[0] @ (np.array(d, float) - c)) < 1e-12
        assert np.linalg.norm(near.normal[0]) == pytest.approx(1.0)


def test_no_sample_of_a_segment_is_nearer_to_a_shape(shape: Shape):
    a, b = segments(7, 100, 0.9)
    near = segments_to_shape(a, b, shape)
    for row in range(100):
        sampled = shape.signed_distance(along(a[row], b[row])).distance.min()
        assert near.distance[row] <= sampled + 1e-12
        assert near.distance[row] >= sampled - np.linalg.norm(b[row] - a[row]) / 4000
    s = closest_on_segments(near.p, a, b)[:, None]
    np.testing.assert_allclose(a + s * (b - a), near.p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(near.p - near.distance[:, None] * near.normal, near.p_other, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shape.signed_distance(near.p_other).distance, 0.0, rtol=0, atol=1e-9)
    assert (near.distance < 0.0).any()


@pytest.mark.parametrize("shape", [Sphere(0.3), Capsule(0.2, 0.5)], ids=str)
def test_the_search_and_the_closed_form_agree(shape: Shape):
    a, b = segments(8, 200)
    half = np.tile([0.0, 0.0, shape.length / 2 if isinstance(shape, Capsule) else 0.0], (200, 1))
    wanted = between_segments(a, b, -half, half).distance - shape.radius
    np.testing.assert_allclose(segments_to_shape(a, b, shape).distance, wanted, rtol=0, atol=1e-10)


def test_a_capsule_and_a_shape_as_coal(shape: Shape, other: coal.ShapeBase):
    a, b = segments(9, 100)
    near = segments_to_shape(a, b, shape)
    compared = 0
    for row in range(100):
        if near.distance[row] > 0.02:
            found = coal_distance(capsule(a[row], b[row]), (other, coal.Transform3s()))
            assert found == pytest.approx(near.distance[row] - 0.01, abs=2e-6)
            compared += 1
    assert compared > 20


def test_a_segment_without_length_and_one_along_a_face():
    box = Box((0.4, 0.6, 0.9))
    p = np.array([[1.0, 0.0, 0.0]])
    assert segments_to_shape(p, p, box).distance[0] == pytest.approx(0.8)
    near = segments_to_shape(np.array([[0.5, 0, -2.0]]), np.array([[0.5, 0, 2.0]]), box)
    assert near.distance[0] == pytest.approx(0.3)
    np.testing.assert_allclose(near.normal[0], [1, 0, 0], rtol=0, atol=1e-9)


def capsule(a: Array, b: Array) -> tuple[coal.ShapeBase, coal.Transform3s]:
    """A capsule of 1 cm around a segment."""
    R = Rotation.align_vectors([(b - a) / np.linalg.norm(b - a)], [[0, 0, 1]])[0].as_matrix()
    return coal.Capsule(0.01, np.linalg.norm(b - a)), coal.Transform3s(R, (a + b) / 2)


def coal_distance(one: tuple, other: tuple) -> float:
    return coal.distance(*one, *other, coal.DistanceRequest(), coal.DistanceResult())
