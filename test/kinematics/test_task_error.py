"""Errors of selected rows: against the controllers' errors, finite differences, and poses where nothing is defined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from arm_control.control import pose_error, task_rotation
from arm_control.exceptions import InputError
from arm_control.kinematics import FRAMES, task_error
from arm_control.kinematics.task_errors import row_numbers
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel

SELECTIONS = [rows for size in range(1, 7) for rows in combinations(range(6), size)][::7]


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose(rotation_from_vector(rng.uniform(-3.0, 3.0, 3)), rng.uniform(-1.0, 1.0, 3))


def moved(X: Pose, V: Array) -> Pose:
    """A pose after a short motion along a twist in world axes."""
    return Pose(rotation_from_vector(V[3:]) @ X.R, X.p + V[:3])


def on_target(X_WT: Pose, rows: Sequence[int], frame: str, rng: np.random.Generator) -> Pose:
    """A pose far from the target whose selected rows have no error: Newton's method on the free motion."""
    X = random_pose(rng)
    for _ in range(40):
        e, J = task_error(X, X_WT, np.eye(6), rows, frame)
        V = J.T @ np.linalg.solve(J @ J.T + 0.01 * (e @ e) * np.eye(len(e)), e)
        X = moved(X, V / max(1.0, float(np.abs(V).max())))
    return X


@pytest.mark.parametrize("frame", FRAMES)
def test_the_derivative_is_exact_where_the_error_vanishes(frame: str):
    rng, h = np.random.default_rng(1), 1e-6
    for rows in SELECTIONS:
        X_WT = random_pose(rng)
        X_WE = on_target(X_WT, rows, frame, rng)
        e, J = task_error(X_WE, X_WT, np.eye(6), rows, frame)
        np.testing.assert_allclose(e, 0.0, rtol=0, atol=1e-9)
        if len(rows) < 6:
            assert np.abs(task_error(X_WE, X_WT, np.eye(6)).e).max() > 1e-3  # the other rows are free
        sides = [[task_error(moved(X_WE, s * V), X_WT, np.eye(6), rows, frame).e for s in (h, -h)] for V in np.eye(6)]
        differences = np.array([(minus - plus) / (2 * h) for plus, minus in sides]).T
        np.testing.assert_allclose(J, differences, rtol=0, atol=1e-8)


@pytest.mark.parametrize("frame", FRAMES)
def test_small_errors_are_those_of_the_controllers(frame: str):
    rng = np.random.default_rng(2)
    for rows in SELECTIONS:
        X_WT = random_pose(rng)
        X_WE = moved(X_WT, 1e-4 * rng.uniform(-1.0, 1.0, 6))
        expected = pose_error(X_WE, X_WT, rows, task_rotation(frame, X_WE, X_WT))[list(rows)]
        np.testing.assert_allclose(task_error(X_WE, X_WT, np.eye(6), rows, frame).e, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("rows", [(3,), (4, 5), (3, 4, 5)])
def test_half_a_turn_is_an_error_or_a_free_rotation_and_finite(rows: tuple[int, ...], axis: int):
    """An error of half a turn must not look like none."""
    X_WT = Pose(rotation_from_vector(np.pi * np.eye(3)[axis]), np.zeros(3))
    for frame in FRAMES:
        e, J = task_error(Pose.identity(), X_WT, np.eye(6), rows, frame)
        assert np.isfinite(J).all()
        expected = 2.0 if axis + 3 in rows else 0.0
        np.testing.assert_allclose(np.linalg.norm(e), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("rows", ["x foo", "", "x x"])
def test_rows_that_make_no_sense_are_refused(rows: str):
    with pytest.raises(InputError, match="rows"):
        row_numbers(rows)


def test_rows_of_an_arm_are_rows_of_its_jacobian(ur5: RobotModel):
    q = np.array([0.1, -0.7, 0.9, 0.3, -0.4, 0.5])
    X, J = ur5.pose(q), ur5.jacobian(q)
    np.testing.assert_array_equal(task_error(X, X, J).J, J)
    rows = [X.R.T[2] @ J[:3], X.R.T[2] @ J[3:]]
    np.testing.assert_allclose(task_error(X, X, J, (2, 5), "end_effector").J, rows, atol=1e-15)
