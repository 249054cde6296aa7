"""The inverse kinematics of the lab: its iterations, minima, and what its hyper-parameters do."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import closed_loop, position_and_roll

from arm_control.maths import rpy_from_rotation
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
