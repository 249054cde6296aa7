"""The node ``visuals``: what it draws of a state, against the arm itself and against Pinocchio."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped
from rig import HOME, LATCHED, Rig
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from arm_control import Pose, RobotModel, urdf_path
from arm_control.controllers.proximity import Obstacle
from arm_control.geometry import Sphere
from arm_control.nodes.conversions import joint_state, pose_message, time_message
from arm_control.nodes.markers import marker_of
from arm_control.nodes.states import State
from arm_control.nodes.visuals import VisualsNode, axes, force_of
from arm_control.spatial import rotation_from_rpy

TURNED = rotation_from_rpy([0.3, -0.2, 0.9])
Q = np.array(HOME)


class Watched:
    """The node in a process of its own, and a test that plays the robot."""

    def __init__(self, rig: Rig, model: RobotModel) -> None:
        self.rig, self.model, self.heard = rig, model, []
        rig.hear(MarkerArray, "markers", self.heard)
        self.description = rig.node.create_publisher(String, "robot_description", LATCHED)
        self.description.publish(String(data=urdf_path("ur5").read_text()))
        rig.start("visuals", rate=100.0)
        self._states = rig.publisher(JointState, "joint_states")

    def state(self, q: np.ndarray, seconds: float) -> None:
        message = joint_state(self.model.joint_names, round(seconds * 1e9), position=q, velocity=np.zeros(6))
        self._states.publish(message)
        self.rig.spin(lambda: self.heard and stamp(self.heard[-1]) == seconds, what=f"markers of {seconds} s")

    def drawn(self, namespace: str) -> list[Marker]:
        return [marker for marker in self.heard[-1].markers if marker.ns == namespace]

    def wait(self, namespace: str) -> list[Marker]:
        return self.rig.spin(lambda: self.drawn(namespace), what=namespace)


@pytest.fixture
def watched(rig: Rig, ur5: RobotModel) -> Watched:
    return Watched(rig, ur5)


def stamp(message: MarkerArray) -> float:
    time = message.markers[0].header.stamp
    return time.sec + time.nanosec * 1e-9


def ends(marker: Marker) -> np.ndarray:
    return np.array([(p.x, p.y, p.z) for p in marker.points])


def test_a_run_is_drawn_from_what_the_topics_say(watched: Watched, ur5: RobotModel):
    rig, p_E = watched.rig, ur5.pose(Q).p
    goal = Pose(TURNED, p_E + [0.1, 0.05, 0.0])
    rig.publisher(PoseStamped, "target_pose").publish(pose_message(goal, "base_link", 0))
    ball = marker_of(Obstacle(Sphere(0.05), Pose(np.eye(3), p_E + [0.0, 0.0, 0.25])))
    rig.publisher(MarkerArray, "obstacles").publish(MarkerArray(markers=[ball]))
    F = np.array([10.0, -20.0, 30.0, 1.0, 0.5, -0.5])
    watched.state(Q, 1.0)
    watched.state(Q + 0.1, 1.5)
    watched.state(Q, 2.0)
    tau = joint_state(ur5.joint_names, 2_000_000_000, effort=ur5.jacobian(Q).T @ F)
    terms = rig.publisher(JointState, "torque_terms/task")

    def force_drawn() -> list[Marker]:
        terms.publish(tau)
        return watched.drawn("force")

    (force,) = rig.spin(force_drawn, what="a force")
    assert np.allclose(ends(force), [p_E, p_E + 0.005 * F[:3]], atol=1e-6)
    target = watched.wait("target")
    assert np.allclose([ends(a)[0] for a in target], goal.p)
    assert np.allclose(np.array([np.diff(ends(a), axis=0)[0] for a in target]).T, 0.12 * TURNED)
    assert [(round(a.color.r), round(a.color.g), round(a.color.b)) for a in target] == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    (trace,) = watched.wait("trace")
    assert np.allclose(ends(trace), [p_E, ur5.pose(Q + 0.1).p, p_E])
    nearest = min(watched.wait("distance"), key=lambda line: np.linalg.norm(np.diff(ends(line), axis=0)))
    on_arm, on_ball = ends(nearest)
    assert np.isclose(np.linalg.norm(on_ball - (p_E + [0.0, 0.0, 0.25])), 0.05)
    assert np.linalg.norm(on_arm - on_ball) < 0.25
    assert all(marker.header.frame_id == "base_link" for marker in watched.heard[-1].markers)
    assert watched.heard[-1].markers[0].action == Marker.DELETEALL, "what is gone must not stay"

    watched.state(Q + 0.1, 0.0)
    assert not watched.drawn("trace"), "time started over, and so does the trace"
    watched.state(Q, 10.0)
    assert not watched.drawn("trace"), "what is older than trace_time is gone"


@pytest.fixture
def node(rig: Rig, ur5: RobotModel) -> Iterator[VisualsNode]:
    """The node in this process; nobody spins it."""
    rclpy.init(args=[], domain_id=rig.domain)
    node = VisualsNode()
    try:
        node._take_model(urdf_path("ur5").read_text())
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def test_transforms_are_where_pinocchio_has_the_links(node: VisualsNode):
    model = pinocchio.buildModelFromUrdf(str(urdf_path("ur5")))
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, Q)
    transforms = node.transforms(State(1_500_000_000, Q, np.zeros(6), 0.001))
    assert {"shoulder_link", "wrist_3_link", "tool0"} <= {message.child_frame_id for message in transforms}
    for message in transforms:
        oMf = data.oMf[model.getFrameId(message.child_frame_id)]
        p, o = message.transform.translation, message.transform.rotation
        assert message.header.frame_id == "base_link"
        assert message.header.stamp == time_message(1_500_000_000)
        assert np.allclose([p.x, p.y, p.z], oMf.translation, atol=1e-9)
        assert np.allclose(pinocchio.Quaternion(o.w, o.x, o.y, o.z).matrix(), oMf.rotation, atol=1e-9)


def test_a_small_force_is_not_drawn(node: VisualsNode):
    node._take(State(0, Q, np.zeros(6), 0.0))
    state = State(0, Q, np.zeros(6), 0.0)
    assert "force" in {marker.ns for marker in node.markers(state, np.array([0.0, 0.0, 0.6]))}
    assert "force" not in {marker.ns for marker in node.markers(state, np.array([0.0, 0.0, 0.4]))}


def test_the_force_is_that_of_the_torque(ur5: RobotModel):
    rng = np.random.default_rng(0)
    for _ in range(20):
        J, F = ur5.jacobian(rng.uniform(-2.0, 2.0, 6)), rng.normal(size=6)
        assert np.allclose(force_of(J, J.T @ F), F[:3], atol=1e-6)


def test_axes_of_the_identity_are_the_world_s():
    assert np.allclose([ends(a)[1] for a in axes(Pose(np.eye(3), np.zeros(3)))], 0.12 * np.eye(3))
