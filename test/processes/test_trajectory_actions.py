"""Goals of the action FollowJointTrajectory: what is refused, with which code, and how each of them ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arm_control.control import ControlLoop, Measurement
from arm_control.controllers import JointController, JointControlParameters
from arm_control.gate import GateParameters
from arm_control.model import RobotModel
from arm_control.motion import JointGoal, JointJog
from arm_control.processes import ActionResult, GoalRefused, action_goal_of, trajectory_result
from arm_control.processes import trajectory_actions as actions

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
THERE = HOME + 0.01


def duration(seconds: float) -> SimpleNamespace:
    return SimpleNamespace(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))


def tolerance(name: str, position: float, velocity: float = 0.0) -> SimpleNamespace:
    return SimpleNamespace(name=name, position=position, velocity=velocity, acceleration=0.0)


def message(model: RobotModel, stamp: float = 0.0, q: np.ndarray = THERE, **fields: Any) -> SimpleNamespace:
    """A goal that is at q after 0.2 s."""
    lists: dict[str, Any] = {"velocities": [], "accelerations": [], "effort": []}
    point = SimpleNamespace(positions=q.tolist(), time_from_start=duration(0.2), **lists)
    header = SimpleNamespace(stamp=duration(stamp), frame_id="")
    trajectory = SimpleNamespace(header=header, joint_names=list(model.joint_names), points=[point])
    none: dict[str, Any] = {name: [] for name in ("path_tolerance", "goal_tolerance")}
    none |= {f"component_{name}": [] for name in none}
    none |= {"multi_dof_trajectory": SimpleNamespace(points=[]), "goal_time_tolerance": duration(0.0)}
    return SimpleNamespace(trajectory=trajectory, **{**none, **fields})


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        (
            {"joint_names": ["gripper"]},
            actions.INVALID_JOINTS,
            "trajectory: gripper; of the arm: shoulder",
        ),
        ({"path_tolerance": [tolerance("gripper", 0.1)]}, actions.INVALID_JOINTS, "path_tolerance of gripper"),
        ({"goal_tolerance": [tolerance("elbow_joint", 0.0, 1.0)]}, actions.INVALID_GOAL, "only positions"),
        ({"goal_tolerance": [tolerance("elbow_joint", np.nan)]}, actions.INVALID_GOAL, "elbow_joint is nan"),
        ({"component_goal_tolerance": [1]}, actions.INVALID_GOAL, "several degrees of freedom"),
        ({"points": []}, actions.INVALID_GOAL, "no points"),
        ({"stamp": 9.7}, actions.OLD_HEADER_TIMESTAMP, "has ended 0.100 s before the newest state"),
    ],
)
def test_a_goal_that_is_not_followed_has_a_code_and_a_sentence(
    ur5: RobotModel, change: dict[str, Any], code: int, reason: str
):
    in_trajectory = {name: change.pop(name) for name in ("joint_names", "points") if name in change}
    goal = message(ur5, **change)
    for name, value in in_trajectory.items():
        setattr(goal.trajectory, name, value)
    with pytest.raises(GoalRefused, match=reason) as caught:
        action_goal_of(goal, ur5, 10_000 * MS)
    assert caught.value.code == code


def test_tolerances_of_a_goal_are_its_own_and_it_acts_once(ur5: RobotModel):
    fields = {"path_tolerance": [tolerance("elbow_joint", 0.1)], "goal_tolerance": [tolerance("wrist_1_joint", -1.0)]}
    goal = action_goal_of(message(ur5, 10.1, **fields, goal_time_tolerance=duration(1.5)), ur5, 10_000 * MS)
    assert goal.stamp_ns == 10_100 * MS
    assert goal.is_single
    assert goal.tolerances is not None
    np.testing.assert_array_equal(goal.tolerances.path, [0, 0, 0.1, 0, 0, 0])
    np.testing.assert_array_equal(goal.tolerances.goal, [0, 0, 0, -1, 0, 0])
    assert goal.tolerances.goal_time == 1.5


class Bench:
    """A controller whose arm is where it should be, or stays at home."""

    def __init__(self, model: RobotModel) -> None:
        self.model, self.ms, self.follows = model, 0, True
        self.controller = JointController(model, JointControlParameters())
        self.loop = ControlLoop(model, self.controller, GateParameters())
        self.step()

    def add(self, **fields: Any) -> JointGoal:
        goal = action_goal_of(message(self.model, **fields), self.model, self.ms * MS)
        self.controller.add(goal)
        return goal

    def step(self, restart: bool = False) -> None:
        self.ms = 0 if restart else self.ms + 1
        q = self.controller.follower.desired(self.ms * MS).q_des if self.follows and self.ms > 1 else HOME
        measurement = Measurement(self.ms * MS, q, np.zeros(6), 1e-3, is_restart=restart or self.ms == 1)
        self.newest = self.loop.tick(measurement)

    def result(self, goal: JointGoal, n: int = 1000) -> ActionResult | None:
        for _ in range(n):
            self.step()
            if (result := trajectory_result(goal, self.controller, self.newest)) is not None:
                return result
        return None


def test_a_goal_ends_as_its_tolerances_say(ur5: RobotModel):
    bench = Bench(ur5)
    reached = bench.result(bench.add())
    assert reached is not None
    assert (reached.code, bench.ms) == (actions.SUCCESSFUL, 202)
    bench.follows = False
    away = bench.result(bench.add(q=HOME + 0.05, path_tolerance=[tolerance("elbow_joint", 0.02)]))
    assert away is not None
    assert away.code == actions.PATH_TOLERANCE_VIOLATED
    assert "elbow_joint has an error of 0.02" in away.text
    tight = {"goal_tolerance": [tolerance("wrist_3_joint", 1e-4)], "goal_time_tolerance": duration(0.1)}
    missed = bench.result(bench.add(q=HOME + 0.005, **tight))
    assert missed is not None
    assert missed.code == actions.GOAL_TOLERANCE_VIOLATED
    assert "wrist_3_joint" in missed.text, "the joint that misses its own tolerance, not the one with the largest error"


def test_a_goal_ends_when_something_else_moves_or_stops_the_arm(ur5: RobotModel):
    bench = Bench(ur5)
    first = bench.add()
    assert bench.result(first, 50) is None
    second = bench.add()
    assert bench.result(first) == (actions.INVALID_GOAL, "another goal has taken over")
    bench.controller.add(JointJog(bench.ms * MS + 1, bench.ms * MS + 1, np.zeros(6)))
    assert bench.result(second) == (actions.INVALID_GOAL, "another goal has taken over")
    too_fast = bench.result(bench.add(q=HOME + 0.9))
    assert too_fast is not None
    assert too_fast.text.startswith("velocity beyond the limit")
    third = bench.add()
    later = bench.add(stamp=60.0)
    assert bench.result(third, 5) is None
    bench.loop.gate.brake("disabled")
    assert bench.result(third) == bench.result(later) == (actions.INVALID_GOAL, "the gate brakes: disabled")
    bench.loop.gate.enable()
    for _ in range(200):
        bench.step()
    fourth = bench.add()
    assert bench.result(fourth, 20) is None
    bench.step(restart=True)
    assert trajectory_result(fourth, bench.controller, bench.newest) == (actions.INVALID_GOAL, "time has started over")
    bench.ms = fourth.stamp_ns // MS
    bench.step()
    assert bench.controller.followed is None, "it does not act again"


def test_a_goal_waits_while_the_arm_is_weighed(ur5: RobotModel):
    bench = Bench(ur5)
    goal = bench.add()
    for _ in range(30):
        bench.controller.hold(bench.ms * MS + MS, HOME)
        assert bench.result(goal, 1) is None
    bench.controller.begin(HOME)
    reached = bench.result(goal)
    assert reached is not None
    assert (reached.code, bench.ms) == (actions.SUCCESSFUL, 232)


def test_a_canceled_goal_ends_along_a_ramp_and_one_that_is_not_due_never_begins(ur5: RobotModel):
    bench = Bench(ur5)
    goal, later = bench.add(), bench.add(stamp=0.4)
    assert bench.result(goal, 100) is None
    desired = [bench.controller.follower.desired(bench.ms * MS)]
    bench.controller.cancel(goal, bench.ms * MS)
    bench.controller.cancel(later, bench.ms * MS)
    for _ in range(400):
        bench.step()
        desired.append(bench.controller.follower.desired(bench.ms * MS))
    v = np.array([reference.v_des for reference in desired])
    assert np.abs(v[0]).max() > 0.05
    assert np.abs(np.diff(v, axis=0)).max() <= 2e-3 * (1 + 1e-9), "target_acceleration"
    assert not v[-1].any()
    assert bench.controller.goal is goal
