"""The nearest of all postures at a pose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.core import urdf_path
from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel, Tool

POSTURES = {"down": [0.0, 0.8, -0.8, -0.8, -0.8, 0.0], "up": [0.0, -1.8, 1.8, -0.8, -0.8, 0.0]}
TARGET = Pose.at([0.5, -0.2, 0.5])


@pytest.fixture(scope="module")
def ur5_lab() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur5_lab"), tip="ee_link")


def free_part(ik: InverseKinematics, q: Array, posture: Array) -> Array:
    """The part of the way to the posture that leaves the position as it is."""
    J = ik.model.jacobian(q)[:3]
    return (np.eye(len(q)) - np.linalg.pinv(J) @ J) @ (posture - q)


@pytest.mark.parametrize(("name", "distance"), [("down", 1.33968), ("up", 0.99071)])
def test_it_is_the_limit_of_the_documents_weight(name: str, distance: float, ur5_lab: RobotModel):
    posture = np.array(POSTURES[name])
    ik = InverseKinematics(ur5_lab, "x y z", posture=posture)
    result = ik.solve(TARGET, np.zeros(6))
    assert result.converged
    assert np.abs(result.error).max() < 1e-6
    np.testing.assert_allclose(np.linalg.norm(result.q - posture), distance, rtol=0, atol=1e-4)
    np.testing.assert_allclose(free_part(ik, result.q, posture), 0.0, rtol=0, atol=1e-4)


def test_seven_joints_with_a_tool_stay_near_it_and_within_their_limits(load_robot: Callable[..., RobotModel]):
    model = load_robot("panda")
    model.attach(Tool(X_ET=Pose.at([0.0, 0.0, 0.1])))
    posture = (model.q_min + model.q_max) / 2.0
    ik, plain = InverseKinematics(model, posture=posture), InverseKinematics(model)
    poses = [model.pose(q) for q in np.random.default_rng(1).uniform(model.q_min, model.q_max, (16, 7))]
    near, any_ = ik.solve_batch(poses), plain.solve_batch(poses, posture)
    assert near.converged.all()
    assert ((near.q >= model.q_min) & (near.q <= model.q_max)).all()
    assert np.abs(near.error).max() < 1e-6
    distances = [np.linalg.norm(batch.q - posture, axis=1) for batch in (near, any_)]
    assert (distances[0] <= distances[1] + 1e-6).all()
    assert (distances[0] < distances[1] - 0.01).sum() > 8


def test_a_pose_that_is_not_reached_says_why(ur5_lab: RobotModel):
    result = InverseKinematics(ur5_lab, "x y z", posture=POSTURES["up"]).solve(Pose.at([3.0, 0.0, 0.0]))
    assert not result.converged
    assert result.why.startswith("out of reach: the end effector comes to 2.0")


@pytest.mark.parametrize("posture", [[0.0, 1.0], [np.nan] * 6])
def test_a_posture_that_is_none_is_refused(posture: list[float], ur5_lab: RobotModel):
    with pytest.raises(InputError, match="posture"):
        InverseKinematics(ur5_lab, "x y z", posture=posture)
