"""The control loop of the node ``attractor``, as simulation and replay run it."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.control import ControlLoop, Measurement, resolve_parameters
from arm_control.controllers import AttractorLoopParameters, control_loop, row_of
from arm_control.maths import Pose
from arm_control.model import RobotModel
from arm_control.motion import Target

Q = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
PERIOD = 1_000_000


@pytest.fixture
def loop(ur5: RobotModel) -> ControlLoop:
    parameters = resolve_parameters(AttractorLoopParameters, {"attractor.radius": 0.2}, ur5)
    assert row_of(parameters).name == "attractor"
    assert parameters.control.law.kp_linear == 200.0, "gains are proposed for the arm"
    return control_loop(ur5, parameters)


def state(k: int) -> Measurement:
    return Measurement(k * PERIOD, Q, np.zeros(6), 1e-3 if k else 0.0, is_restart=k == 0)


def test_a_goal_moves_the_arm_softly_and_one_too_far_is_reported_once(ur5: RobotModel, loop: ControlLoop):
    X = ur5.pose(Q)
    for k, way in ((10, 0.1), (60, 0.3)):
        loop.controller.add(Target(k * PERIOD, ur5.frames[0], Pose(X.R, X.p + [0.0, 0.0, way])))
    results = [loop.tick(state(k)) for k in range(90)]
    refused = [k for k, result in enumerate(results) if result.law.refused is not None]
    assert refused == [60]
    assert str(results[60].law.refused).startswith("the goal is 0.3 m from the start, along an axis;")
    np.testing.assert_allclose(results[40].law.X_WT.p - X.p, [0.0, 0.0, 0.1], atol=1e-12)
    np.testing.assert_allclose(results[80].law.X_WT.p - X.p, [0.0, 0.0, 0.1], atol=1e-12)
    speeds = np.array([result.law.split()["task"] @ ur5.evaluate(Q, np.zeros(6)).J[2] for result in results])
    assert abs(speeds[5]) < 0.1 * abs(speeds[50]), "it rests before the goal, and pushes towards it behind it"
    again = [loop.tick(state(k)) for k in range(90)]
    assert np.array_equal([r.tau for r in results], [r.tau for r in again]), "time has started over"
