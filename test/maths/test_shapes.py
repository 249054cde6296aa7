"""Signed distances against closed forms, dense samples of the surface, finite differences and coal."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from scipy.spatial import Delaunay, cKDTree

from arm_control.exceptions import InputError
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Hull, Shape, Sphere


def surface(shape: Shape, n: int = 200) -> Array:
    """Points on the surface, n in each direction."""
    u, angle = np.linspace(0.0, 1.0, n), np.linspace(0.0, 2 * np.pi, n)
    if isinstance(shape, Box):
        x, y = (grid.ravel() for grid in np.meshgrid(2 * u - 1, 2 * u - 1))
        sides = [np.insert(np.stack([x, y], 1), axis, end, axis=1) for axis in range(3) for end in (-1, 1)]
        return np.concatenate(sides) * np.array(shape.size) / 2
    if isinstance(shape, Hull):
        x, y = (grid.ravel() for grid in np.meshgrid(u[::4], u[::4]))
        weights = np.stack([x, (1 - x) * y, (1 - x) * (1 - y)], axis=1)
        return (weights @ shape.corners).reshape(-1, 3)
    if isinstance(shape, Sphere | Capsule):
        half = shape.length / 2 if isinstance(shape, Capsule) else 0.0
        polar = np.pi * np.concatenate([u, [0.5, 0.5]])
        z = np.where(np.arange(n + 2) < n / 2, half, -half)
        z[-2:] = 0.0
        profile = [(shape.radius * np.sin(p), z0 + shape.radius * np.cos(p)) for p, z0 in zip(polar, z, strict=True)]
        profile += [(shape.radius, (2 * s - 1) * half) for s in u]
    else:
        r, h = shape.radius, shape.length / 2
        top = r if isinstance(shape, Cylinder) else 0.0
        profile = (
            [(s * r, -h) for s in u] + [(r + s * (top - r), (2 * s - 1) * h) for s in u] + [(s * top, h) for s in u]
        )
    radius, z = np.array(profile).T
    return np.stack(
        [np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle)), z[:, None] + 0 * angle], -1
    ).reshape(-1, 3)


def contains(shape: Shape, p: Array) -> Array:
    """Whether points are inside, by the shape's definition."""
    r, z = np.hypot(p[:, 0], p[:, 1]), p[:, 2]
    match shape:
        case Sphere(radius):
            return np.linalg.norm(p, axis=1) < radius
        case Capsule(radius, length):
            return np.hypot(r, np.maximum(np.abs(z) - length / 2, 0.0)) < radius
        case Box(size):
            return (np.abs(p) < np.array(size) / 2).all(1)
        case Cylinder(radius, length):
            return (r < radius) & (np.abs(z) < length / 2)
        case Hull():
            return Delaunay(shape.vertices).find_simplex(p) >= 0
        case Cone(radius, length):
            return (np.abs(z) < length / 2) & (r < radius * (0.5 - z / length))


def test_the_distance_is_that_of_the_nearest_sample_and_negative_inside(shape: Shape):
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (150, 3)) * 0.9
    samples = surface(shape)
    nearest, _ = cKDTree(samples).query(points)
    d = shape.signed_distance(points).distance
    np.testing.assert_array_equal(d < 0.0, contains(shape, points))
    assert (d < 0.0).any()
    assert (np.abs(d) <= nearest + 1e-12).all()
    np.testing.assert_allclose(np.abs(d), nearest, rtol=0, atol=0.004)


def test_the_gradient_is_the_derivative_and_leads_to_the_surface(shape: Shape):
    points = np.random.default_rng(2).uniform(-0.9, 0.9, (150, 3))
    d, n = shape.signed_distance(points)
    step = 1e-7
    numeric = np.stack(
        [
            (shape.signed_distance(points + step * e).distance - shape.signed_distance(points - step * e).distance)
            / (2 * step)
            for e in np.eye(3)
        ],
        axis=1,
    )
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, rtol=0, atol=1e-12)
    assert np.median(np.abs(n - numeric).max(1)) < 1e-7
    assert (np.abs(n - numeric).max(1) < 1e-5).mean() > 0.99, "apart from points within a step of an edge of the field"
    np.testing.assert_allclose(shape.signed_distance(points - d[:, None] * n).distance, 0.0, rtol=0, atol=1e-9)


def test_coal_agrees_outside(shape: Shape, other: coal.ShapeBase):
    for p in np.random.default_rng(3).uniform(-1.0, 1.0, (30, 3)):
        d, n = shape.signed_distance(p)
        if d > 0.05:
            result = coal.DistanceResult()
            ball = coal.Transform3s(np.eye(3), p)
            found = coal.distance(other, coal.Transform3s(), coal.Sphere(0.01), ball, coal.DistanceRequest(), result)
            assert found == pytest.approx(d - 0.01, abs=1e-5)
            np.testing.assert_allclose(result.getNearestPoint1(), p - d * n, rtol=0, atol=2e-3)


def test_where_the_direction_is_open_one_is_chosen(shape: Shape):
    h = {Box: 0.45, Cone: shape.extent}.get(type(shape), 0.35)
    for p in ([0, 0, 0], [0, 0, h], [0, 0, -h], [0, 0, 1], [1e-15, 0, 0], [0.2, 0.3, 0.45]):
        d, n = shape.signed_distance(np.array(p, dtype=float))
        assert np.isfinite(d)
        assert np.linalg.norm(n) == pytest.approx(1.0)


def test_the_extent_is_the_farthest_point(shape: Shape):
    assert shape.extent == pytest.approx(np.linalg.norm(surface(shape), axis=1).max(), rel=1e-3)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_sizes_are_checked(bad: float):
    for make in (
        lambda: Sphere(bad),
        lambda: Box((1, bad, 1)),
        lambda: Cylinder(1, bad),
        lambda: Cone(bad, 1),
        lambda: Capsule(bad, 1),
        lambda: Capsule(1, bad),
    ):
        with pytest.raises(InputError, match="must be finite and above 0"):
            make()
    with pytest.raises(InputError, match="three edges"):
        Box((1.0, 2.0))
