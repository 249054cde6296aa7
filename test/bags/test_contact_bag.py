"""A bag of an arm that presses: its wrenches are in it, and it replays to the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.bags import (
    plain,
)
from arm_control.controllers import control_loop
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.messages import goal_of, sensor_reading_of
from arm_control.model import RobotModel
from arm_control.motion import WrenchGoal
from arm_control.simulation import Scenario, arm_and_parameters

WRENCH = (1.0, 2.0, 3.0, 0.4, 0.5, 0.6)
SECOND = 1_000_000_000


def test_messages_of_wrenches_are_read_with_their_frame_and_time(ur5: RobotModel):
    goal = goal_of("target_wrench", plain.wrench_stamped(WRENCH, "tool0", 5), ur5, 3)
    assert goal == WrenchGoal(5, "tool0", WRENCH)
    now = goal_of("target_wrench", plain.wrench_stamped(WRENCH, "", 0), ur5, 7)
    assert now == WrenchGoal(7, "base_link", WRENCH, is_immediate=True)
    reading = sensor_reading_of(plain.wrench_stamped(WRENCH, "tool0", 0), ur5, 9)
    assert (reading.stamp_ns, reading.frame, tuple(reading.wrench)) == (9, "tool0", WRENCH)
    assert sensor_reading_of(plain.wrench_stamped(WRENCH, "tool0", 5), ur5, 0).stamp_ns == 5, "before the first state"


@pytest.mark.parametrize("read", [goal_of, lambda _, *rest: sensor_reading_of(*rest)], ids=["target", "sensor"])
def test_wrenches_that_cannot_be_are_refused(read, ur5: RobotModel):
    for value in (np.nan, np.inf, -1e300):
        with pytest.raises(InputError, match="finite numbers below 100000 are needed"):
            read("target_wrench", plain.wrench_stamped((value, *WRENCH[1:]), "tool0", 0), ur5, SECOND)
    with pytest.raises(FrameNotFound):
        read("target_wrench", plain.wrench_stamped(WRENCH, "nowhere", 0), ur5, SECOND)


def test_a_sensor_with_another_clock_is_refused(ur5: RobotModel):
    with pytest.raises(InputError, match=r"stamp -1.5 s from that of the states: one clock is needed"):
        sensor_reading_of(plain.wrench_stamped(WRENCH, "tool0", 1), ur5, 1_500_000_001)


def test_a_controller_without_force_axes_says_so():
    for name in ("ur5_osc", "ur5_joint"):
        model, parameters = arm_and_parameters(Scenario.load(name))
        with pytest.raises(InputError, match=r"force_axes is empty|not motions of the hand or wrenches"):
            control_loop(model, parameters).controller.add(WrenchGoal(0, "base_link", WRENCH))
