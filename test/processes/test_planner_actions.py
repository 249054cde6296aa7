"""Goals and results of the planner's action, without ROS."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.motion import JointGoal, Target
from arm_control.processes import GoalRefused, MotionStatus, Phase, planner_goal_of, planner_result

STAMP = SimpleNamespace(sec=0, nanosec=0)
HEADER = SimpleNamespace(stamp=STAMP, frame_id="")


def message(names=(), rows=(), poses=(), hand_names=(), **tolerances) -> SimpleNamespace:
    """A goal of the action, by its fields."""
    points = [SimpleNamespace(positions=list(row)) for row in rows]
    vector, turn = (lambda p: SimpleNamespace(x=p[0], y=p[1], z=p[2])), SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
    time = SimpleNamespace(sec=1, nanosec=0)
    transforms = [[SimpleNamespace(translation=vector(p), rotation=turn)] for p in poses]
    hand = [SimpleNamespace(transforms=t, velocities=[], accelerations=[], time_from_start=time) for t in transforms]
    empty = {"path_tolerance": [], "goal_tolerance": []}
    return SimpleNamespace(
        trajectory=SimpleNamespace(header=HEADER, joint_names=list(names), points=points),
        multi_dof_trajectory=SimpleNamespace(header=HEADER, joint_names=list(hand_names), points=hand),
        **{**empty, **tolerances},
    )


def test_the_last_point_is_the_goal(planar2: RobotModel):
    reversed_names = planar2.joint_names[::-1]
    goal = planner_goal_of(message(reversed_names, [(9.0, 9.0), (0.1, 0.2)]), planar2, 7)
    assert isinstance(goal, JointGoal)
    np.testing.assert_array_equal(goal.destination, [0.2, 0.1])
    assert (goal.stamp_ns, goal.is_immediate) == (7, True)
    pose = planner_goal_of(message(poses=[(0.3, 0.2, 0.1)]), planar2, 7)
    assert isinstance(pose, Target)
    assert (pose.frame, pose.X_FT.p.tolist()) == (planar2.base, [0.3, 0.2, 0.1])


@pytest.mark.parametrize(
    ("given", "code", "sentence"),
    [
        (message(), -1, "a goal of the joints or one of the end effector is needed"),
        (message("ab", [(0.0, 0.0)], [(0.0, 0.0, 0.0)]), -1, "a goal of the joints or one of the end effector"),
        (message("ab", [(0.0, 0.0)]), -2, "joints of the goal: a, b; of the arm: "),
        (message("ab", [(0.0, 0.0)], goal_tolerance=[1]), -1, "tolerances in a goal"),
        (message(poses=[(0.0, 0.0, 0.0)], hand_names=["nose"]), -1, r"joint_names = \['nose'\]"),
        (message(poses=[(np.nan, 0.0, 0.0)]), -1, "not finite"),
        (message(("joint0", "joint1"), [(np.nan, 0.0)]), -1, "finite"),
    ],
)
def test_a_goal_that_is_none_has_a_code_and_a_sentence(planar2: RobotModel, given, code: int, sentence: str):
    with pytest.raises(GoalRefused, match=sentence) as refused:
        planner_goal_of(given, planar2, 0)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("phase", "code"),
    [(Phase.REACHED, 0), (Phase.CANCELED, 0), (Phase.NO_PLAN, -1), (Phase.OFF_PATH, -4), (Phase.MISSED, -5)],
)
def test_how_a_goal_ends(phase: Phase, code: int):
    goal = JointGoal(0, np.zeros(2))
    process = SimpleNamespace(goal=goal, status=MotionStatus(phase, "why"))
    assert planner_result(process, goal) == (code, f"{phase.value}: why")
    process.status = MotionStatus(Phase.MOVING)
    assert planner_result(process, goal) is None
    ended = planner_result(process, JointGoal(1, np.zeros(2)))
    assert ended is not None
    assert ended.text.startswith("another goal has taken over")
