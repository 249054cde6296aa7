"""The node ``visuals``: what it draws of a state, against the arm itself and against Pinocchio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, Transform, TransformStamped
from rclpy.parameter import Parameter
from rig import HOME, LATCHED, Rig
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from arm_control import Pose, RobotModel, urdf_path
from arm_control.control import Measurement
from arm_control.maths import Obstacle, Sphere, rotation_from_rpy
from arm_control.nodes import ros, visuals
from arm_control.nodes.visuals import VisualsNode

TURNED = rotation_from_rpy([0.3, -0.2, 0.9])
Q = np.array(HOME)


class Watched:
    """The node in a process of its own, and a test that plays the robot."""

    def __init__(self, rig: Rig, model: RobotModel) -> None:
        self.rig, self.model = rig, model
        self.heard = rig.hear(MarkerArray, "markers")
        self.description = rig.node.create_publisher(String, "robot_description", LATCHED)
        self.description.publish(String(data=urdf_path("ur5").read_text()))
        rig.start("visuals", rate=100.0)
        self._states = rig.publisher(JointState, "joint_states")

    def state(self, q: np.ndarray, seconds: float) -> None:
        message = ros.joint_state(self.model.joint_names, round(seconds * 1e9), position=q, velocity=0.0 * q)
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
    rig.publisher(PoseStamped, "target_pose").publish(ros.pose_stamped(goal, "base_link", 0))
    ball = ros.marker(Obstacle(Sphere(0.05), Pose(np.eye(3), p_E + [0.0, 0.0, 0.25])))
    rig.publisher(MarkerArray, "obstacles").publish(MarkerArray(markers=[ball]))
    F = np.array([10.0, -20.0, 30.0, 1.0, 0.5, -0.5])
    watched.state(Q, 1.0)
    watched.state(Q + 0.1, 1.5)
    watched.state(Q, 2.0)
    tau = ros.joint_state(ur5.joint_names, 2_000_000_000, effort=ur5.jacobian(Q).T @ F)
    terms = rig.publisher(JointState, "torque_terms/task")

    def force_drawn() -> list[Marker]:
        terms.publish(tau)
        return watched.drawn("force")

    (force,) = rig.spin(force_drawn, what="a force")
    assert np.allclose(ends(force), [p_E, p_E + 0.005 * F[:3]], atol=1e-6)

    def target_drawn() -> list[Marker]:
        """The axes of the target, once it has arrived: states may come before it."""
        watched.state(Q, 2.0)
        axes = watched.drawn("target")
        return axes if axes and np.allclose([ends(a)[0] for a in axes], goal.p) else []

    target = rig.spin(target_drawn, what="the target")
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

    planar = watched.model = RobotModel.from_urdf(urdf_path("planar2"))
    watched.description.publish(String(data=planar.urdf.text))
    rig.spin(lambda: "robot with joints joint0, joint1" in rig.log("visuals"), what="another robot")
    q = np.array([0.3, 0.5])
    watched.state(q, 20.0)
    ball = ros.marker(Obstacle(Sphere(0.05), Pose(np.eye(3), np.array([0.0, 0.2, 0.0]))))
    ball.header.frame_id = "link1"  # of this robot only
    rig.publisher(MarkerArray, "obstacles").publish(MarkerArray(markers=[ball]))
    rig.spin(lambda: watched.state(q, 20.0) or watched.drawn("distance"), what="an obstacle beside it")


@pytest.fixture
def node(rig: Rig, ur5: RobotModel) -> Iterator[VisualsNode]:
    """The node in this process; nobody spins it."""
    rclpy.init(args=[], domain_id=rig.domain)
    node = VisualsNode()
    try:
        node.take_model(urdf_path("ur5").read_text())
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def placed(transforms: list[TransformStamped]) -> dict[str, np.ndarray]:
    """Where every link is, seen from the root, as TF puts it together: shape (4, 4) by name."""
    parents = {message.child_frame_id: message.header.frame_id for message in transforms}
    assert len(parents) == len(transforms), "a link has one parent"
    steps = {message.child_frame_id: homogeneous(message.transform) for message in transforms}

    def seen(link: str) -> np.ndarray:
        return seen(parents[link]) @ steps[link] if link in parents else np.eye(4)

    return {link: seen(link) for link in parents}


def homogeneous(transform: Transform) -> np.ndarray:
    p, o = transform.translation, transform.rotation
    quat = pinocchio.Quaternion(o.w, o.x, o.y, o.z)
    assert np.isclose(quat.norm(), 1.0, atol=1e-12)
    return pinocchio.SE3(quat, np.array([p.x, p.y, p.z])).homogeneous


def links_of_pinocchio(q: np.ndarray) -> dict[str, np.ndarray]:
    model = pinocchio.buildModelFromUrdf(str(urdf_path("ur5")))
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, q)
    bodies = [(i, frame) for i, frame in enumerate(model.frames) if frame.type == pinocchio.FrameType.BODY]
    return {frame.name: data.oMf[i].homogeneous for i, frame in bodies}


def same_places(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> bool:
    return found.keys() == wanted.keys() and all(np.allclose(found[link], wanted[link], atol=1e-9) for link in wanted)


def test_transforms_are_where_pinocchio_has_the_links(node: VisualsNode):
    state = Measurement(1_500_000_000, Q, np.zeros(6), 0.001)
    fixed, moved = node.transforms(state, fixed=True), node.transforms(state, fixed=False)
    assert {message.child_frame_id for message in moved} == {
        joint.child for joint in node.model.urdf.robot.joints if joint.type == "revolute"
    }, "what moves goes to /tf, and nothing else, as from robot_state_publisher"
    assert all(message.header.stamp == ros.time(1_500_000_000) for message in moved)
    assert same_places(placed([*node.world(), *fixed, *moved]), links_of_pinocchio(Q))


def test_constraints_are_drawn_and_changed_live(node: VisualsNode, tmp_path: Path):
    state = Measurement(1_500_000_000, Q, np.zeros(6), 0.001)
    (tmp_path / "bad.yaml").write_text("constraints: [{name: a, kind: half_space, point: [0, 0], normal: [0, 0, 1]}]")
    for file, is_fine in (("ur5_cell", True), (str(tmp_path / "bad.yaml"), False)):
        assert node.set_parameters([Parameter("constraints", value=file)])[0].successful is is_fine
        drawn = [marker for marker in node.markers(state, np.zeros(3)) if marker.ns == "constraints"]
        assert [marker.type for marker in drawn].count(Marker.TRIANGLE_LIST) == 3, "table, wall, cone"
        assert [marker.type for marker in drawn].count(Marker.LINE_LIST) == 2, "box, axis of the hand"
        (box,) = [marker for marker in drawn if len(marker.points) == 24]
        assert (box.pose.position.x, box.pose.position.z) == (0.4, 0.45)


def test_the_frame_world_is_left_to_who_knows_where_it_is(node: VisualsNode):
    text = urdf_path("ur5").read_text()
    (world,) = node.world()
    assert (world.header.frame_id, world.child_frame_id) == ("world", "base_link")
    node.take_model(text.replace('"base_link"', '"world"'))
    assert not node.world(), "the URDF has a link of that name"
    node.take_model(text)
    node.parameters = node.parameters.replace(base="base_link")
    assert not node.world(), "what carries a chosen base may have a link of that name, or a place in the world"


class Kept(list[Any]):
    """A publisher that keeps what it is given."""

    topic_name = "/tf"
    publish = list.append


@dataclass
class TFMessage:
    """Stands for the message of tf2_msgs, which may not be installed."""

    transforms: list[TransformStamped]


@pytest.fixture
def sending(node: VisualsNode, monkeypatch: pytest.MonkeyPatch) -> VisualsNode:
    """The node as it sends transforms, alone on ``/tf``, on a clock of the test's."""
    monkeypatch.setattr(visuals, "TFMessage", TFMessage)
    monkeypatch.setattr(visuals, "time", SimpleNamespace(monotonic=lambda: node.second))
    monkeypatch.setattr(node, "count_publishers", lambda topic: node.senders)
    node._tf, node._tf_static, node.second, node.senders = Kept(), Kept(), 0.5, 1
    return node


def send(node: VisualsNode, stamp_ns: int) -> tuple[int, int]:
    """How many messages a state makes the node send: on ``/tf``, on ``/tf_static``."""
    before = len(node._tf), len(node._tf_static)
    node._send_transforms(Measurement(stamp_ns, Q, np.zeros(6), 0.0))
    return len(node._tf) - before[0], len(node._tf_static) - before[1]


def test_a_state_goes_out_once_and_once_a_second(sending: VisualsNode):
    assert send(sending, 7) == (1, 1)
    assert send(sending, 7) == (0, 0), "listeners would keep each copy"
    assert send(sending, 8) == (1, 0)
    sending.second = 1.4
    assert send(sending, 8) == (1, 0), "simulated time stands, and RViz is started now"
    assert send(sending, 0) == (1, 0), "time starts over"


def test_robot_state_publisher_goes_before_and_is_replaced_when_it_goes(sending: VisualsNode):
    send(sending, 1)
    sending.senders = 2
    assert send(sending, 2) == (0, 0)
    sending.senders = 1
    assert send(sending, 3) == (1, 1), "what it had on /tf and we do not is fixed again"
    told = sending._tf_static[-1].transforms
    assert [told[0].header.frame_id, told[0].child_frame_id] == ["world", "base_link"], "only the last one is latched"
    assert all(message.header.stamp == ros.time(0) for message in told)


def test_two_arms_have_frames_of_their_own(sending: VisualsNode, monkeypatch: pytest.MonkeyPatch):
    sending.parameters = sending.parameters.replace(frame_prefix="left/")
    state = Measurement(0, Q, np.zeros(6), 0.0)
    sending._on_state(state)
    (world,) = sending.world()
    assert (world.header.frame_id, world.child_frame_id) == ("world", "left/base_link")
    for message in [*sending.transforms(state, fixed=True), *sending.transforms(state, fixed=False)]:
        assert message.header.frame_id.startswith("left/")
        assert message.child_frame_id.startswith("left/")
    assert {marker.header.frame_id for marker in sending.markers(state, np.zeros(3))} == {"left/base_link"}
    publishers = [SimpleNamespace(node_namespace=namespace) for namespace in ("/", "/right")]
    monkeypatch.setattr(sending, "get_publishers_info_by_topic", lambda _: publishers)
    sending.senders = 2
    assert send(sending, 1) == (1, 1), "another arm publishes there, too"
    publishers.append(publishers[0])
    assert send(sending, 2) == (0, 0), "robot_state_publisher of this arm"
