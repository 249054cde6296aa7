"""A payload that is picked up in motion is carried up to what the maker allows."""

from __future__ import annotations

import numpy as np
import pytest
from driven_arm import driven, observing

from arm_control.control import AdaptationParameters, StallWatch, compensated_share
from arm_control.control.disturbance_observer import ObserverParameters
from arm_control.controllers import control_loop
from arm_control.maths import Pose
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, RealArm

DT = 2e-3
HOME = np.array([0.0, -0.7, 0.9, -1.7, -1.5, 0.0])


def picked(model: RobotModel, mass: float, **values: float) -> tuple[float, str]:
    """Error of the hand at the end of a motion in which a mass is picked up [m]; what the watch says."""
    arm = RealArm(model, HOME, timestep=DT, properties=PlantProperties(set="real"))
    resolved = observing(model, 500.0, **values)
    loop, X = control_loop(model, resolved), model.pose(HOME)
    goal = Pose(X.R, X.p + [0.0, 0.2, 0.0])
    watch = StallWatch(model, compensated_share(model, resolved.observer, resolved.adaptation))
    loop.controller.add(Target(0, model.frames[0], goal))
    for k, result in enumerate(driven(loop, arm, 3.0)):
        if k > 100:
            arm.load(model.jacobian(arm.arm.q)[:3].T @ (mass * model.gravity_W))
        if k % 10 == 0:
            assert result.compensation is not None
            watch.look(result)
    return float(np.linalg.norm(model.pose(arm.arm.q).p - goal.p)), watch.last


def test_the_rated_payload_is_carried(ur5: RobotModel):
    error, sentence = picked(ur5, 5.0, observer_share=0.2)
    assert error > 4e-3
    joints = "shoulder_lift_joint"
    wanted = f"what the observer compensates is at its bound: {joints}: see observer_share and rated_payload"
    assert sentence == wanted
    error, sentence = picked(ur5, 5.0, observer_share=0.2, rated_payload=5.0)
    assert error < 1e-3
    assert sentence == ""


def test_the_bound_is_friction_and_the_largest_weight(ur5: RobotModel):
    observer, none = ObserverParameters(disturbance_observer=True, rated_payload=5.0), AdaptationParameters()
    share = compensated_share(ur5, observer, none)
    reach = 0.95  # of the hand from the shoulder, stretched out [m]
    assert share[1] == pytest.approx(0.1 + 5.0 * 9.81 * reach / ur5.tau_max[1], rel=0.07)
    assert share[0] == share[5] == 0.3
    assert (compensated_share(ur5, observer.replace(rated_payload=50.0), none) <= 0.9).all()
