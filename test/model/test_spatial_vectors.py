"""Spatial vectors: every operation against the 6 x 6 matrix it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.maths.linalg import mirrored
from arm_control.maths.poses import rotation_from_vector
from arm_control.model.spatial_vectors import Force, Inertia, Motion, Transform, congruent, cross, skew

SEEDS = range(5)


def close(a: object, b: object) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)


def motion(rng: np.random.Generator) -> Motion:
    return Motion(*rng.uniform(-1, 1, (2, 3)))


def force(rng: np.random.Generator) -> Force:
    return Force(*rng.uniform(-1, 1, (2, 3)))


def transform(rng: np.random.Generator) -> Transform:
    return Transform(rotation_from_vector(rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3))


def inertia(rng: np.random.Generator) -> Inertia:
    A = rng.uniform(-1, 1, (3, 3))
    return Inertia(rng.uniform(0.1, 2), rng.uniform(-1, 1, 3), A @ A.T)


def motion_matrix(X: Transform) -> np.ndarray:
    """X of a motion, built here from its definition."""
    p = np.array([[0, -X.p[2], X.p[1]], [X.p[2], 0, -X.p[0]], [-X.p[1], X.p[0], 0]])
    return np.block([[X.R, p @ X.R], [np.zeros((3, 3)), X.R]])


@pytest.fixture(params=SEEDS)
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def test_cross_products_of_vectors(rng: np.random.Generator):
    a, b = rng.uniform(-1, 1, (2, 3))
    close(cross(a, b), np.cross(a, b))
    close(skew(a) @ b, np.cross(a, b))


def test_a_motion_seen_from_elsewhere(rng: np.random.Generator):
    X, V = transform(rng), motion(rng)
    close(X.push(V).vector(), motion_matrix(X) @ V.vector())
    close(X.motion_matrix(), motion_matrix(X))
    close(X.pull(V).vector(), np.linalg.inv(motion_matrix(X)) @ V.vector())
    close(X.pull(X.push(V)).vector(), V.vector())
    close(X.inverse().push(V).vector(), X.pull(V).vector())


def test_the_velocity_of_a_point_is_the_same_from_everywhere(rng: np.random.Generator):
    """What a motion means: the velocity of the point r of the body is v + w x r."""
    X, V, r = transform(rng), motion(rng), rng.uniform(-1, 1, 3)
    pushed = X.push(V)
    close(pushed.v + np.cross(pushed.w, X.p + X.R @ r), X.R @ (V.v + np.cross(V.w, r)))


def test_a_force_seen_from_elsewhere_has_the_same_power(rng: np.random.Generator):
    X, V, F = transform(rng), motion(rng), force(rng)
    close(X.push_force(F).vector(), np.linalg.inv(motion_matrix(X)).T @ F.vector())
    close(X.push(V).dot(X.push_force(F)), V.dot(F))
    close(V.dot(F), V.vector() @ F.vector())


def test_cross_products_are_the_derivatives_of_a_turning_frame(rng: np.random.Generator):
    """dX/dt = X [V x] for a frame that moves with V: a motion at rest in it changes by V x."""
    V, U, F, step = motion(rng), motion(rng), force(rng), 1e-6

    def moved(t: float) -> Transform:
        return Transform(rotation_from_vector(t * V.w), t * V.v)

    change = (moved(step).push(U).vector() - moved(-step).push(U).vector()) / (2 * step)
    np.testing.assert_allclose(V.cross(U).vector(), change, rtol=0, atol=1e-9)
    change = (moved(step).push_force(F).vector() - moved(-step).push_force(F).vector()) / (2 * step)
    np.testing.assert_allclose(V.cross_force(F).vector(), change, rtol=0, atol=1e-9)


def test_cross_products_as_matrices(rng: np.random.Generator):
    V, U, F = motion(rng), motion(rng), force(rng)
    matrix = np.block([[skew(V.w), skew(V.v)], [np.zeros((3, 3)), skew(V.w)]])
    close(V.cross(U).vector(), matrix @ U.vector())
    close(V.cross_force(F).vector(), -matrix.T @ F.vector())
    close(V.cross(V).vector(), np.zeros(6))
    close(V.cross(U).dot(F), -U.dot(V.cross_force(F)))


def test_inertia_times_motion(rng: np.random.Generator):
    I, V = inertia(rng), motion(rng)
    close((I * V).vector(), I.matrix() @ V.vector())
    close(I.matrix(), I.matrix().T)
    close((I + I).matrix(), 2 * I.matrix())
    close((Inertia.zero() + I).matrix(), I.matrix())


def test_momentum_of_mass_points(rng: np.random.Generator):
    """What an inertia means: that of two points is the sum of m v and r x m v."""
    V, points = motion(rng), rng.uniform(-1, 1, (2, 3))
    momenta = [2.0 * (V.v + np.cross(V.w, r)) for r in points]
    h = 2.0 * points.sum(axis=0)
    I = Inertia(4.0, h, 2.0 * sum(r @ r * np.eye(3) - np.outer(r, r) for r in points))
    expected = [*sum(momenta), *sum(np.cross(r, p) for r, p in zip(points, momenta, strict=True))]
    close((I * V).vector(), expected)


def test_an_inertia_seen_from_elsewhere(rng: np.random.Generator):
    X, I, V = transform(rng), inertia(rng), motion(rng)
    inverse = np.linalg.inv(motion_matrix(X))
    np.testing.assert_allclose(X.push_inertia(I).matrix(), inverse.T @ I.matrix() @ inverse, rtol=0, atol=5e-14)
    close(V.dot(I * V), X.push(V).dot(X.push_inertia(I) * X.push(V)))
    np.testing.assert_array_equal(X.push_inertia(I).J, X.push_inertia(I).J.T)


def test_transforms_compose(rng: np.random.Generator):
    X, Y, V = transform(rng), transform(rng), motion(rng)
    close((X @ Y).matrix(), X.matrix() @ Y.matrix())
    close((X @ Y).push(V).vector(), X.push(Y.push(V)).vector())
    close((X @ X.inverse()).matrix(), np.eye(4))
    close(Transform.identity().matrix(), np.eye(4))


def test_sums_and_multiples(rng: np.random.Generator):
    U, V, F, G = motion(rng), motion(rng), force(rng), force(rng)
    close((U + V * 3.0).vector(), U.vector() + 3.0 * V.vector())
    close((F + G - F).vector(), G.vector())


def test_congruence_and_symmetry(rng: np.random.Generator):
    A, S = rng.uniform(-1, 1, (4, 4)), mirrored(rng.uniform(-1, 1, (4, 4)))
    close(S, S.T)
    close(congruent(A, S), A @ S @ A.T)
    upper = np.array([[1.0, 2.0], [9.0, 3.0]])
    np.testing.assert_array_equal(mirrored(upper), [[1, 2], [2, 3]])
    assert upper[1, 0] == 9.0
