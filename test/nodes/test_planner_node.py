"""The node ``planner``: a goal becomes a trajectory, a cancel a stop, and what cannot be done a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rig import LATCHED, Rig, stamp
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from test_markers import marker
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from arm_control import RobotModel, urdf_path
from arm_control.messages import waypoints_from_message
from arm_control.motion import FollowingParameters, JointFollower
from arm_control.nodes import ros

STEP_NS = 5_000_000


class Arm:
    """An arm that follows ``joint_trajectory`` exactly; each look at it is a state."""

    def __init__(self, rig: Rig, model: RobotModel) -> None:
        self.rig, self.model, self.now_ns = rig, model, 0
        self.follower = JointFollower(model, FollowingParameters(), np.zeros(model.nv))
        self._n_followed = 0
        self.commands = rig.hear(JointTrajectory, "joint_trajectory")
        self.outcomes = rig.hear(DiagnosticStatus, "planner/outcome", LATCHED)
        self.states = rig.publisher(JointState, "joint_states")

    def outcome(self) -> str:
        """Send the next state; returns what becomes of the goal."""
        self.now_ns += STEP_NS
        for message in self.commands[self._n_followed :]:
            self.follower.follow(waypoints_from_message(self.model, message), self.now_ns)
        self._n_followed = len(self.commands)
        r = self.follower.tick(self.now_ns, self.follower.desired(self.now_ns).q_des)
        names = self.model.joint_names
        self.states.publish(ros.joint_state(names, self.now_ns, position=r.q_des, velocity=r.v_des))
        return self.outcomes[-1].message if self.outcomes else ""

    def until(self, outcome: str) -> str:
        self.rig.spin(lambda: self.outcome().startswith(outcome), what=outcome)
        return self.outcomes[-1].message


def test_goals_become_trajectories_and_bad_ones_sentences(rig: Rig):
    model = RobotModel.from_urdf(urdf_path("planar2"))
    rig.start(
        "planner",
        robot_description=Path(urdf_path("planar2")).read_text(),
        speed=0.1,
        path_tolerance=0.0,
        goal_time=100.0,
        answer_time=1000.0,
    )
    arm = Arm(rig, model)
    plans = rig.hear(JointTrajectory, "planner/plan", LATCHED)
    scenes = rig.hear(MarkerArray, "planner/scene", LATCHED)
    drawings = rig.hear(MarkerArray, "plan_markers")
    goals, obstacles = rig.publisher(JointState, "target_joint"), rig.publisher(MarkerArray, "obstacles")
    obstacles.publish(MarkerArray(markers=[marker(scale=(0.1, 0.1, 0.1), at=(0.36, 0.36, 0.0))]))
    counts = rig.hear(Float64, "controller_state/obstacles", LATCHED)
    rig.spin(lambda: counts and counts[-1].data == 1.0, what="the obstacle")

    goals.publish(ros.joint_state(model.joint_names, 0, position=np.array([1.6, 0.0])))
    arm.until("reached")
    np.testing.assert_allclose(arm.follower.desired(arm.now_ns).q_des, [1.6, 0.0], atol=0.02)
    assert "moving" in [outcome.message for outcome in arm.outcomes]
    np.testing.assert_array_equal(plans[0].points[0].positions, [0.0, 0.0])
    assert list(plans[0].points[-1].velocities) == [0.0, 0.0]
    assert stamp(plans[0]) > 0.0
    assert [m.action for m in scenes[0].markers] == [3, 0], "the ball, once, since it stands still"
    assert {m.ns for m in drawings[0].markers} == {"", "plan", "plan_posture", "plan_tree"}

    goals.publish(ros.joint_state(model.joint_names, 0, position=np.array([0.8, 0.0])))
    assert "in contact: 'link" in arm.until("no plan")
    goals.publish(ros.joint_state(["nose"], 0, position=np.zeros(1)))
    goals.publish(ros.joint_state(model.joint_names, 0, position=np.full(2, np.nan)))
    obstacles.publish(MarkerArray(markers=[marker(scale=(0, 0, 0))]))
    rig.spin(lambda: rig.log("planner").count("refused") >= 2, what="refusals")
    obstacles.publish(MarkerArray(markers=[marker(action=3)]))

    goals.publish(ros.joint_state(model.joint_names, 0, position=np.array([-1.0, 0.0])))
    arm.until("moving")
    n = len(arm.commands)
    rig.spin(lambda: arm.outcome() and len(arm.commands) == n, what="the motion")
    canceled = rig.call("planner/cancel", Trigger.Request(), Trigger)
    assert canceled.success
    arm.until("canceled")
    assert np.abs(arm.follower.desired(arm.now_ns).v_des).max() < 1e-3
    assert not rig.call("planner/execute", Trigger.Request(), Trigger).success
