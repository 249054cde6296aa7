"""The inverse kinematics of the lab: its iterations, minima, and what its hyper-parameters do."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import analytic_jacobian, closed_loop, position_and_roll

from arm_control.exceptions import InputError
from arm_control.maths import rotation_from_rpy, rotation_vector, rpy_from_rotation
from arm_control.model import RobotModel

ELBOW_UP, Q_0 = (0.5, -1.5, 1.0, -np.pi), (np.pi, -np.pi / 8, -np.pi / 6, 0.0)
TARGET, OUTSIDE, ROLL = (-0.5, -0.2, 0.5), (-1.0, -0.2, 0.5), np.pi / 3


def test_the_line_search_takes_ten_steps_and_q0_five(ur4: RobotModel):
    task = position_and_roll(ur4, TARGET, ROLL)
    for start, iterations in ((ELBOW_UP, 10), (Q_0, 5)):
        result = closed_loop(task, start)
        assert (result.converged, result.iterations) == (True, iterations)
        X = ur4.pose(result.q)  # checked by forward kinematics
        np.testing.assert_allclose([*X.p, rpy_from_rotation(X.R)[0]], [*TARGET, ROLL], rtol=0, atol=1e-7)
    without = closed_loop(task, ELBOW_UP, line_search=False)
    assert without.converged
    assert without.iterations > 10  # how many depends on the last bit
    assert (np.diff(without.errors) > 0.0).any()
    assert (np.diff(closed_loop(task, ELBOW_UP).errors) <= 0.0).all()


@pytest.mark.parametrize(("regularisation", "iterations", "error"), [(1e-8, 200, 0.31982), (0.01, 23, 0.20804)])
def test_a_target_outside_needs_regularisation(ur4: RobotModel, regularisation: float, iterations: int, error: float):
    result = closed_loop(position_and_roll(ur4, OUTSIDE, ROLL), ELBOW_UP, regularisation=regularisation)
    assert (result.converged, result.iterations) == (iterations < 200, iterations)
    np.testing.assert_allclose(result.errors[-1], error, rtol=0, atol=5e-6)


@pytest.mark.parametrize("pitch", [0.7, -1.5])
def test_analytic_jacobian_gives_the_rates_of_rpy(pitch: float):
    """Turn the frame a little about each world axis and see how its roll, pitch and yaw change."""
    rpy, step = np.array([0.4, pitch, -1.1]), 1e-6
    J = np.vstack([np.full((3, 3), 7.0), np.eye(3)])
    J_a = analytic_jacobian(J, rpy)
    np.testing.assert_array_equal(J_a[:3], J[:3])
    for column, axis in zip(J_a.T, np.eye(3), strict=True):
        ahead, behind = (rotation_from_rpy(rpy + s * step * column[3:]) for s in (1, -1))
        omega = rotation_vector(ahead @ behind.T) / (2 * step)
        np.testing.assert_allclose(omega, axis, rtol=0, atol=1e-8)


@pytest.mark.parametrize("pitch", [-np.pi / 2, np.pi / 2 + 0.9e-6, np.nan])
def test_analytic_jacobian_refuses_the_pitch_at_which_roll_and_yaw_are_one(pitch: float):
    with pytest.raises(InputError, match=r"^pitch is .* rad: .*allowed: \|cos\(pitch\)\| >= 1e-6$"):
        analytic_jacobian(np.zeros((6, 4)), [0.0, pitch, 0.0])
