"""Goals from messages: positions out of the world."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.messages import goal_of
from arm_control.model import RobotModel
from arm_control.motion import Modulation

HEADER = SimpleNamespace(frame_id="", stamp=SimpleNamespace(sec=0, nanosec=0))
IDENTITY = SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)


def vector(x: float) -> SimpleNamespace:
    return SimpleNamespace(x=x, y=0.0, z=0.0)


def point(seconds: int, **values: Any) -> SimpleNamespace:
    none: dict[str, Any] = {"positions": [], "velocities": [], "accelerations": [], "effort": []}
    return SimpleNamespace(time_from_start=SimpleNamespace(sec=seconds, nanosec=0), **{**none, **values})


def goal_message(topic: str, x: float, names: list[str]) -> SimpleNamespace:
    """A goal with x in the place of a position."""
    q = [x, *[0.0] * (len(names) - 1)]
    if topic == "target_pose":
        return SimpleNamespace(header=HEADER, pose=SimpleNamespace(position=vector(x), orientation=IDENTITY))
    if topic == "pose_trajectory":
        transform = SimpleNamespace(translation=vector(x), rotation=IDENTITY)
        return SimpleNamespace(header=HEADER, joint_names=[], points=[point(1, transforms=[transform])])
    if topic == "target_joint":
        return SimpleNamespace(header=HEADER, name=names, position=q)
    return SimpleNamespace(header=HEADER, joint_names=names, points=[point(1, positions=q)])


@pytest.mark.parametrize("topic", ["target_pose", "pose_trajectory", "target_joint", "joint_trajectory"])
def test_a_goal_out_of_the_world_is_refused(ur5: RobotModel, topic: str):
    free = RobotModel.from_urdf(ur5.urdf.text.replace('type="revolute"', 'type="continuous"'))
    assert np.isinf(free.q_max).all()
    assert goal_of(topic, goal_message(topic, 2.0, list(free.joint_names)), free, 0).stamp_ns == 0
    for x in (1e6, -1e300):
        with pytest.raises(InputError, match=r"(away; allowed: less than 1e\+06 m|less than 1e\+06 is needed)"):
            goal_of(topic, goal_message(topic, x, list(free.joint_names)), free, 0)


@pytest.mark.parametrize("quantity", ["amplitude", "period"])
def test_amplitude_and_period_act_from_the_newest_state_on_and_must_be_numbers(ur5: RobotModel, quantity: str):
    topic = f"primitive/{quantity}"
    assert goal_of(topic, SimpleNamespace(data=0.5), ur5, 7) == Modulation(7, quantity, 0.5, True)
    for x in (np.nan, np.inf, 1e6):
        with pytest.raises(InputError, match=rf"{quantity} .*number below 1e\+06 is needed"):
            goal_of(topic, SimpleNamespace(data=x), ur5, 7)
    if quantity == "period":
        with pytest.raises(InputError, match="a positive number"):
            goal_of(topic, SimpleNamespace(data=0.0), ur5, 7)
    else:
        assert goal_of(topic, SimpleNamespace(data=-1.0), ur5, 7).value == -1.0
