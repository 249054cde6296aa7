"""Spatial vectors: every operation against the 6 x 6 matrix it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.maths import Pose, congruent, cross, mirrored, rotation_from_vector, skew
from arm_control.model import Force, Inertia, SpatialMotion
from arm_control.model.spatial_vectors import motion_matrix

SEEDS = range(2)


def close(a: object, b: object) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)


def motion(rng: np.random.Generator) -> SpatialMotion:
    return SpatialMotion(*rng.uniform(-1, 1, (2, 3)))


def force(rng: np.random.Generator) -> Force:
    return Force(*rng.uniform(-1, 1, (2, 3)))


def pose(rng: np.random.Generator) -> Pose:
    return Pose(rotation_from_vector(rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3))


def inertia(rng: np.random.Generator) -> Inertia:
    A = rng.uniform(-1, 1, (3, 3))
    return Inertia(rng.uniform(0.1, 2), rng.uniform(-1, 1, 3), A @ A.T)


def expected_motion_matrix(X: Pose) -> np.ndarray:
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


def test_a_motion_in_another_frame(rng: np.random.Generator):
    X, V = pose(rng), motion(rng)
    close(V.in_parent(X).vector(), expected_motion_matrix(X) @ V.vector())
    close(motion_matrix(X), expected_motion_matrix(X))
    close(V.in_child(X).vector(), np.linalg.inv(expected_motion_matrix(X)) @ V.vector())
    close(V.in_parent(X).in_child(X).vector(), V.vector())
    close(V.in_parent(X.inverse()).vector(), V.in_child(X).vector())


def test_the_velocity_of_a_point_is_the_same_from_everywhere(rng: np.random.Generator):
    """What a motion means: the velocity of the point r of the body is v + w x r."""
    X, V, r = pose(rng), motion(rng), rng.uniform(-1, 1, 3)
    V_A = V.in_parent(X)
    close(V_A.v + np.cross(V_A.w, X.p + X.R @ r), X.R @ (V.v + np.cross(V.w, r)))


def test_a_force_in_another_frame_has_the_same_power(rng: np.random.Generator):
    X, V, F = pose(rng), motion(rng), force(rng)
    close(F.in_parent(X).vector(), np.linalg.inv(expected_motion_matrix(X)).T @ F.vector())
    close(V.in_parent(X).dot(F.in_parent(X)), V.dot(F))
    close(V.dot(F), V.vector() @ F.vector())


def test_cross_products_are_the_derivatives_of_a_turning_frame(rng: np.random.Generator):
    """dX/dt = X [V x] for a frame that moves with V: a motion at rest in it changes by V x."""
    V, U, F, step = motion(rng), motion(rng), force(rng), 1e-6

    def moved(t: float) -> Pose:
        return Pose(rotation_from_vector(t * V.w), t * V.v)

    change = (U.in_parent(moved(step)).vector() - U.in_parent(moved(-step)).vector()) / (2 * step)
    np.testing.assert_allclose(V.cross(U).vector(), change, rtol=0, atol=1e-9)
    change = (F.in_parent(moved(step)).vector() - F.in_parent(moved(-step)).vector()) / (2 * step)
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


def test_an_inertia_in_another_frame(rng: np.random.Generator):
    X, I, V = pose(rng), inertia(rng), motion(rng)
    inverse = np.linalg.inv(expected_motion_matrix(X))
    np.testing.assert_allclose(I.in_parent(X).matrix(), inverse.T @ I.matrix() @ inverse, rtol=0, atol=5e-14)
    close(V.dot(I * V), V.in_parent(X).dot(I.in_parent(X) * V.in_parent(X)))
    np.testing.assert_array_equal(I.in_parent(X).J, I.in_parent(X).J.T)


def test_poses_compose(rng: np.random.Generator):
    X, Y, V = pose(rng), pose(rng), motion(rng)
    close((X @ Y).matrix(), X.matrix() @ Y.matrix())
    close(V.in_parent(X @ Y).vector(), V.in_parent(Y).in_parent(X).vector())
    close((X @ X.inverse()).matrix(), np.eye(4))
    close(Pose.identity().matrix(), np.eye(4))


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
