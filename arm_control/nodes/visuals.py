"""The node ``visuals``: markers for RViz and the page, and transforms when no other node publishes them.

``markers`` has, in the frame of the robot's base,

| namespace | content |
|---|---|
| `target` | the desired pose of the end effector, as three axes |
| `distance` | the shortest line from the arm to each obstacle within `reach`; red when it is short |
| `force` | the force of the task's torque at the end effector: the least-squares solution F of J^T F = tau |
| `trace` | the path of the end effector in the last `trace_time` |
| `constraints` | planes, boxes, cylinders and cones of the file `constraints` |

Obstacles and plans have topics of their own (``obstacles``, ``plan_markers``, ``planned_path``).

The transforms are those of robot_state_publisher, joint by joint: links behind fixed joints on ``/tf_static``, links
behind movable joints on ``/tf``. So each of the two nodes can take over from the other: a fixed link that is sent on
``/tf`` only once is lost to every listener when its publisher stops. Arms in several namespaces have frames of
their own, by ``frame_prefix``: then a publisher in another namespace counts as that of another arm.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, TransformStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.collision import Proximity
from arm_control.constraints import read_constraints
from arm_control.control import ArmNodeParameters, Measurement
from arm_control.core import parameter
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.motion import PoseFollower
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.polling import poll, polled_subscription
from arm_control.nodes.support.subscriptions import ObstacleSubscription, WatchedStates, pose_goals_of
from arm_control.nodes.support.topics import LATCHED, STATE, ros

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # it is not among the wheels on PyPI
    TFMessage = None

AXIS_LENGTH = 0.12
"""Length of the target's axes [m]."""
AXIS_WIDTH = 0.012
"""Width of the target's axes [m]."""
ARROW_WIDTH = 0.01
"""Width of an arrow's shaft [m]."""
RED, GREEN, BLUE = (0.9, 0.2, 0.2), (0.2, 0.7, 0.2), (0.2, 0.4, 0.9)
ORANGE, GREY = (0.95, 0.55, 0.1), (0.5, 0.5, 0.5)
MIN_FORCE = 0.5
"""A smaller force is not drawn [N]."""


@dataclass(frozen=True)
class VisualsParameters(ArmNodeParameters):
    """Parameters of the node ``visuals``."""

    rate: float = parameter(20.0, "sets of markers per second", unit="Hz", lower=0.1, upper=100.0)
    trace_time: float = parameter(5.0, "time span of the end effector's trace", unit="s", lower=0.0, live=True)
    reach: float = parameter(0.3, "largest distance of an obstacle with a line", unit="m", lower=0.0, live=True)
    near: float = parameter(0.05, "distance below which a line is red", unit="m", lower=0.0, live=True)
    force_scale: float = parameter(0.005, "length of the force's arrow per newton", unit="m/N", lower=0.0, live=True)
    constraints: str = parameter(
        "", "file with constraints to draw, or a name in config/constraints; empty: none", live=True
    )
    publish_transforms: bool = parameter(
        True, "with tf2_msgs: publish the frame world, and those of all links unless robot_state_publisher does"
    )


class VisualsNode(ArmNode[VisualsParameters]):
    """Publishes markers and transforms at a low rate; it affects no other node."""

    NICE = 10  # the control loop comes first
    _states: WatchedStates
    _goals: PoseFollower
    _obstacles: ObstacleSubscription

    def __init__(self) -> None:
        self._trace: deque[tuple[int, Array]] = deque()
        super().__init__("visuals", VisualsParameters)
        self.on_parameters()
        self._markers = self.create_publisher(MarkerArray, "markers", STATE)
        self._tf: Any = None
        self._tf_static: Any = None
        self._sent: tuple[int, int] | None = None
        if TFMessage is not None and self.parameters.publish_transforms:
            self._tf = self.create_publisher(TFMessage, "/tf", 10)
            self._tf_static = self.create_publisher(TFMessage, "/tf_static", LATCHED)
        self.find_model()

    def on_parameters(self) -> None:
        """Read the constraints."""
        file = self.parameters.constraints
        self._constraints = read_constraints(file).constraints if file else ()

    def on_model(self, first: bool) -> None:
        """Read the states of this robot from now on; ``first``: it is the first one."""
        self._proximity = Proximity(self.model)
        if first:
            self._states = WatchedStates(self, self._on_state)
            self._goals = pose_goals_of(self, lambda: self._states.now_ns)
            self._obstacles = ObstacleSubscription(self)
            self._task = polled_subscription(self, JointState, "torque_terms/task", STATE)
            self.control_path.every(1.0 / self.parameters.rate, self._on_timer)
        self._sent = None
        if self._tf_static is not None:
            self._tf_static.publish(TFMessage(transforms=self.world()))

    def _on_timer(self) -> None:
        self._states.look()
        if (state := self._states.newest) is not None:
            force = self._force(state, [message for message, _ in poll(self._task)])
            self._markers.publish(MarkerArray(markers=self.markers(state, force)))
            if self._tf is not None:
                self._send_transforms(state)

    def _send_transforms(self, state: Measurement) -> None:
        """Send each state once, and an unchanged one once a second for late subscribers; yield to another publisher."""
        if self._has_rival():
            self._sent = None
            return
        if self._sent is None:
            fixed = self.transforms(Measurement(0, state.q, state.v, 0.0), fixed=True)
            self._tf_static.publish(TFMessage(transforms=self.world() + fixed))
        now = state.stamp_ns, int(time.monotonic())
        if now != self._sent:
            self._tf.publish(TFMessage(transforms=self.transforms(state, fixed=False)))
        self._sent = now

    def _has_rival(self) -> bool:
        """Whether another node publishes these transforms: any, or with a prefix one in this namespace."""
        topic = self._tf.topic_name
        if self.count_publishers(topic) <= 1 or not self.parameters.frame_prefix:
            return self.count_publishers(topic) > 1
        namespaces = [publisher.node_namespace for publisher in self.get_publishers_info_by_topic(topic)]
        return namespaces.count(self.get_namespace()) > 1

    def _on_state(self, state: Measurement) -> None:
        if state.is_restart:
            self._trace.clear()
            self._goals.restart(state.q)
        oldest_ns = state.stamp_ns - round(self.parameters.trace_time * 1e9)
        self._trace.append((state.stamp_ns, self.model.pose(state.q).p))
        while self._trace[0][0] < oldest_ns:
            self._trace.popleft()

    def _force(self, state: Measurement, terms: Sequence[JointState]) -> Array:
        """Return the force of the newest torque of the task, shape (3,) [N]; zero without a message."""
        if not terms:
            return np.zeros(3)
        try:
            tau = self.model.in_joint_order(terms[-1].name, terms[-1].effort, "effort")
        except InputError as error:
            self.rejections.add("torque_terms/task", error)
            return np.zeros(3)
        return force_of(self.model.jacobian(state.q), tau)

    # -- markers and transforms -----------------------------------------------------------------------------

    def markers(self, state: Measurement, force: Array) -> list[Marker]:
        """Return the markers of a state, with a force at the end effector, shape (3,) [N]."""
        p_E = self.model.pose(state.q).p
        X_WT = self._goals.reference(state.stamp_ns, state.q).X_WT
        trace = np.array([p for _, p in self._trace])
        drawn = [*axes(X_WT), *self._distances(state), *self._drawn_constraints(state.q)]
        if np.linalg.norm(force) >= MIN_FORCE:
            drawn.append(arrow("force", p_E, force * self.parameters.force_scale, ORANGE))
        if len(trace) > 1:
            drawn.append(ros.line_marker(trace, "", 0))
            drawn[-1].ns = "trace"
        clear = Marker(action=Marker.DELETEALL)  # earlier markers must not stay
        for marker in (clear, *drawn):
            marker.header.frame_id = self.frame(self.model.base)
            marker.header.stamp = ros.time(state.stamp_ns)
        return [clear, *drawn]

    def _distances(self, state: Measurement) -> list[Marker]:
        obstacles = self._obstacles.at(state)
        if not obstacles:
            return []
        pairs = self._proximity.near(state.q, obstacles, self.parameters.reach, 0.0)
        lines = []
        for i, (rho, p, p_other) in enumerate(zip(pairs.rho, pairs.p, pairs.p_other, strict=True)):
            line = ros.line_marker(np.stack([p, p_other]), "", 0, 0.004)
            line.ns, line.id, line.color = "distance", i, _colour(RED if rho < self.parameters.near else GREY)
            lines.append(line)
        return lines

    def _drawn_constraints(self, q: Array) -> Iterator[Marker]:
        if not self._constraints:
            return
        from arm_control.viewer import drawings_of_constraints  # noqa: PLC0415  it takes half a second

        drawings = drawings_of_constraints(self._constraints, (), self.model, q)
        for i, drawing in enumerate(drawings.values()):
            marker = ros.line_marker(drawing.points, "", 0, drawing.width)
            marker.ns, marker.id, marker.pose = "constraints", i, ros.pose_stamped(drawing.X, "", 0).pose
            marker.type = Marker.LINE_LIST if drawing.type == "lines" else Marker.TRIANGLE_LIST
            if marker.type == Marker.TRIANGLE_LIST:
                marker.scale.x = marker.scale.y = marker.scale.z = 1.0
            marker.color.r, marker.color.g, marker.color.b, marker.color.a = drawing.rgba
            yield marker

    def world(self) -> list[TransformStamped]:
        """Return the transform of the base in ``world``; none when the URDF may have it."""
        root = self.frame("world" if "world" in self.model.frames else self.model.base)
        if self.parameters.arm.base or root == "world":
            return []
        return [ros.transform_stamped(Pose.identity(), "world", root, 0)]

    def transforms(self, state: Measurement, fixed: bool) -> list[TransformStamped]:
        """Return the transforms of links in their parents: of those behind fixed joints, or behind movable ones."""
        X = {link: self.model.pose(state.q, link) for link in self.model.frames}
        joints = [joint for joint in self.model.urdf.robot.joints if (joint.type == "fixed") is fixed]
        X_PC = [X[joint.parent].inverse() @ X[joint.child] for joint in joints]
        return [
            ros.transform_stamped(X, self.frame(joint.parent), self.frame(joint.child), state.stamp_ns)
            for X, joint in zip(X_PC, joints, strict=True)
        ]


def force_of(J: Array, tau: Array) -> Array:
    """Return the force of the wrench F with the least error of ``tau = J^T F``, shape (3,) [N].

    Parameters
    ----------
    J : ndarray, shape (6, nv)
        Jacobian.
    tau : ndarray, shape (nv,)
        Joint torque [N m or N].
    """
    return np.asarray(np.linalg.lstsq(J.T, tau, rcond=1e-6)[0][:3])


def axes(X: Pose) -> list[Marker]:
    """Return a frame as three arrows: x red, y green, z blue."""
    colours = (RED, GREEN, BLUE)
    drawn = [arrow("target", X.p, AXIS_LENGTH * X.R[:, i], colours[i], AXIS_WIDTH) for i in range(3)]
    for i, marker in enumerate(drawn):
        marker.id = i
    return drawn


def arrow(namespace: str, start: Array, along: Array, colour: Sequence[float], width: float = ARROW_WIDTH) -> Marker:
    """Return an arrow from a start, with a vector to its end, shape (3,) each [m]."""
    marker = Marker(ns=namespace, type=Marker.ARROW, action=Marker.ADD, color=_colour(colour))
    marker.pose.orientation.w = 1.0
    marker.scale.x, marker.scale.y = width, 2.0 * width
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in (start.tolist(), (start + along).tolist())]
    return marker


def _colour(rgb: Sequence[float]) -> ColorRGBA:
    r, g, b = map(float, rgb)
    return ColorRGBA(r=r, g=g, b=b, a=0.95)
