"""The action FollowJointTrajectory of the node ``joint``, where ``control_msgs`` is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.action import ActionClient, GoalResponse
from rig import HOME, LATCHED, Driver, Rig
from std_srvs.srv import SetBool
from test_trajectory_actions import message

from arm_control import RobotModel
from arm_control.motion import Waypoints
from arm_control.nodes import ros

ACCEPT, REJECT = GoalResponse.ACCEPT, GoalResponse.REJECT
ABORTED, CANCELED, SUCCEEDED = 6, 5, 4


class Client:
    """A client of the action, and a driver whose arm stays where it is."""

    def __init__(self, rig: Rig, model: RobotModel) -> None:
        self.action = pytest.importorskip("control_msgs.action").FollowJointTrajectory
        self.rig, self.model = rig, model
        self.outcomes = rig.hear(DiagnosticStatus, "joint/outcome", LATCHED)
        self.driver = Driver(rig, model, "joint")
        self.driver.answers(2)
        self.client = ActionClient(rig.node, self.action, "joint/follow_joint_trajectory")
        rig.spin(self.client.server_is_ready, what="the action")
        self.feedback: list[Any] = []

    def send(self, q: np.ndarray, names: tuple[str, ...] = (), *, is_accepted: bool = True, **fields: Any) -> Any:
        points = Waypoints(np.array([0.2]), q[None])
        goal = self.action.Goal(trajectory=ros.joint_trajectory(names or self.model.joint_names, points, 0), **fields)
        accepted = self.client.send_goal_async(goal, feedback_callback=self.feedback.append)
        self.rig.spin(accepted.done, what="a goal handle")
        assert accepted.result().accepted == is_accepted
        return accepted.result()

    def result(self, handle: Any, n: int = 60) -> Any:
        """The result, once the arm has gone on for some states."""
        coming = handle.get_result_async()
        while not coming.done():
            self.driver.answers(n)
            self.rig.node.executor.spin_once(timeout_sec=0.05)
        return coming.result()


def test_goals_succeed_are_refused_preempted_and_canceled(rig: Rig, ur5: RobotModel):
    client = Client(rig, ur5)
    reached = client.result(client.send(np.add(HOME, 0.005)))
    assert (reached.status, reached.result.error_code) == (SUCCEEDED, 0)
    assert list(client.feedback[0].feedback.joint_names) == list(ur5.joint_names)
    assert client.feedback[-1].feedback.error.positions[0] == pytest.approx(0.005, abs=5e-3)
    rig.spin(lambda: client.outcomes and client.outcomes[-1].message == "reached", what="the outcome")
    client.send(np.zeros(1), ("gripper",), is_accepted=False)
    first = client.send(np.add(HOME, 0.02))
    client.driver.answers(20)
    second = client.send(np.add(HOME, 0.01))
    preempted = client.result(first)
    assert (preempted.status, preempted.result.error_string) == (ABORTED, "another goal has taken over")
    client.driver.answers(20)
    cancel = second.cancel_goal_async()
    rig.spin(cancel.done, what="a cancel")
    canceled = client.result(second)
    assert canceled.status == CANCELED
    assert "come to rest" in canceled.result.error_string
    taus = client.driver.answers(300)
    assert np.ptp(taus[-50:], axis=0).max() < 1e-9, "it is held"


def test_a_goal_that_cannot_be_done_is_rejected_and_the_log_says_why(rig: Rig, ur5: RobotModel):
    """As the server asks, before it accepts; another goal, the gate or the arm may end one that is accepted."""
    driver = Driver(rig, ur5, "joint")
    node: Any = rig.processes["joint"].node
    judge = node._action.judge
    assert judge(message(ur5)) == REJECT
    driver.answers(2)
    assert judge(message(ur5)) == ACCEPT
    assert judge(message(ur5, q=np.full(6, 9.0))) == REJECT
    assert driver.call("enable", SetBool.Request(data=False)).success
    driver.answers(1)
    assert judge(message(ur5)) == REJECT
    said = [line.partition("refused: ")[2] for line in rig.log("joint").splitlines() if "follow_joint" in line]
    assert [line.partition(" (")[0].partition(" at ")[0] for line in said if line] == [
        "no joint state yet",
        "position beyond the limit: shoulder_pan_joint",
        "the gate brakes: disabled",
    ]
