"""Every gate of a chain is enabled after commands were lost: the arm must not run after its old reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from arm_control.faults import Case, all_faults
from arm_control.faults.campaign import HOME, arm, setup_of
from arm_control.faults.catalogue import Fault
from arm_control.faults.chain import Chain
from arm_control.maths import Pose
from arm_control.motion import Goal, JointGoal, PoseMotion, PosePoints, Waypoints


def motion(controller: str) -> Goal:
    """Eight seconds long."""
    model, q = arm("ur5"), np.array(HOME["ur5"])
    if controller == "joint":
        return JointGoal(0, Waypoints(np.array([8.0]), (q + [1.5, 0.3, -0.5, 0.2, 0.3, 0.5])[None]))
    X = model.pose(q)
    poses = X, Pose(X.R, X.p + [-0.1, 0.4, 0.1])
    return PoseMotion(0, model.base, PosePoints(np.array([0.0, 8.0]), poses, np.zeros((2, 6)), np.zeros((2, 6))))


@pytest.mark.parametrize(("controller", "arrangement"), [("joint", "gate"), ("osc", "simulator")])
def test_after_lost_commands_an_enabled_chain_stands_until_a_new_goal(controller: str, arrangement: str):
    fault = next(fault for fault in all_faults() if fault.name == "commands:21-lost")
    setup = setup_of(Case(fault, arrangement, "ur5", controller))
    chain = Chain(replace(setup, goal=motion(controller), onset=2.0, events=[(3.0, Chain.enable)]))
    chain.advance(5.2)
    record = chain.record()
    speeds = np.abs(record.v).max(axis=1)
    assert speeds[record.t < 2.0].max() > 0.05
    assert record.reason == "no command for 20 states"
    assert speeds[record.t > 4.5].max() <= 0.02
    assert not record.is_braked[-1]


def brake_for(seconds: float) -> list[tuple[float, Callable[[Chain], None]]]:
    """Events: a brake by hand, and *enable* so much later [s]."""
    return [(0.0, lambda chain: chain.arrangement.brake("a test")), (seconds, Chain.enable)]


@pytest.mark.parametrize(
    ("arrangement", "controller"),
    [
        *(("controller", "joint"), ("native", "osc"), ("serve", "osc"), ("serve-native", "osc")),
        *(("gate", "osc"), ("simulator", "osc")),
    ],
)
def test_an_arm_that_is_enabled_in_motion_stops_and_takes_the_next_goal(arrangement: str, controller: str):
    """Also where no state has come while it braked, so that nobody has seen the brake."""
    setup = setup_of(Case(Fault("none", "nothing", "goes on"), arrangement, "ur5", controller), "real-1-kg")
    chain = Chain(replace(setup, events=brake_for(0.005 if controller == "joint" else 0.0)))
    chain.advance(1.5)
    record = chain.record()
    speeds = np.abs(record.v).max(axis=1)
    assert speeds[record.t < 0.5].max() > 0.1
    assert speeds[record.t > 1.0].max() <= 0.02
    assert not record.is_braked[-1]
    if arrangement in ("gate", "simulator"):  # it has come to pass the controller's torque, which holds the arm
        assert chain.arrangement.reason == ""
