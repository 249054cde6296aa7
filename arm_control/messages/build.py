"""Messages from arrays, poses and obstacles, for ROS and for bags alike.

A :class:`MessageBuilder` is given the classes that it fills: those of ROS in a node, those of ``rosbags`` where there
is no ROS. Both have the same fields. Messages are read in :mod:`arm_control.messages.fields` and
:mod:`arm_control.messages.markers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.maths import Array, Obstacle, Pose, quaternion_from_rotation
from arm_control.messages.markers import ADD, DELETE, LINE_STRIP, marker_form
from arm_control.motion import PosePoints, Waypoints
from arm_control.simulation import NAMESPACE, ObstacleUpdate, RangeSensor

TIME = "builtin_interfaces/msg/Time"
DURATION = "builtin_interfaces/msg/Duration"
JOINT_STATE = "sensor_msgs/msg/JointState"
POSE_STAMPED = "geometry_msgs/msg/PoseStamped"
POSE_ARRAY = "geometry_msgs/msg/PoseArray"
TRANSFORM_STAMPED = "geometry_msgs/msg/TransformStamped"
TWIST_STAMPED = "geometry_msgs/msg/TwistStamped"
WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
RANGE = "sensor_msgs/msg/Range"
MARKER_ARRAY = "visualization_msgs/msg/MarkerArray"
STRING = "std_msgs/msg/String"
FLOAT64 = "std_msgs/msg/Float64"
MULTI_ARRAY = "std_msgs/msg/Float64MultiArray"
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
POSE_TRAJECTORY = "trajectory_msgs/msg/MultiDOFJointTrajectory"

ULTRASOUND, INFRARED = 0, 1
"""Types of radiation in a ``Range``."""
OBSTACLE_COLOUR = (0.8, 0.3, 0.2, 0.9)
LINE_COLOUR = (0.1, 0.5, 0.9, 0.9)
"""Red, green, blue and opacity of markers."""


class MessageBuilder:
    """Fills messages of given classes.

    Parameters
    ----------
    new : callable
        Returns an empty message of a type, by its name, such as ``sensor_msgs/msg/JointState``.
    doubles : callable
        Converts an array, shape (n,), to the value of a ``float64[]`` field of these classes.
    """

    def __init__(self, new: Callable[[str], Any], doubles: Callable[[Array], Any]) -> None:
        self._new = new
        self.doubles = doubles

    def time(self, stamp_ns: int) -> Any:
        """Return a ``Time`` of a stamp [ns]."""
        return set_nanoseconds(self._new(TIME), stamp_ns)

    def duration(self, seconds: float) -> Any:
        """Return a ``Duration`` [s]."""
        return set_nanoseconds(self._new(DURATION), round(seconds * NANOSECONDS))

    def string(self, text: str) -> Any:
        """Return a ``String``."""
        return self._filled(STRING, data=text)

    def float64(self, value: float) -> Any:
        """Return a ``Float64``."""
        return self._filled(FLOAT64, data=float(value))

    def multi_array(self, values: Array, names: Sequence[Sequence[str]], stamp_ns: int) -> Any:
        """Return a ``Float64MultiArray`` whose labels have names and stamp: ``rows: x, y; stamp: 12.345000000``.

        Parameters
        ----------
        values : ndarray, shape (n,) or (n, m)
            A vector or a matrix.
        names : sequence of sequence of str
            Names of the rows, and of the columns of a matrix.
        """
        message = self._filled(MULTI_ARRAY, data=self.doubles(values.ravel()))
        sizes = [*values.shape, 1]
        seconds, rest_ns = divmod(stamp_ns, NANOSECONDS)
        labels = [f"{axis}: {', '.join(part)}" for axis, part in zip(("rows", "cols"), names, strict=False)]
        labels[0] += f"; stamp: {seconds}.{rest_ns:09d}"
        message.layout.dim = [
            self._filled("std_msgs/msg/MultiArrayDimension", label=label, size=size, stride=int(np.prod(sizes[i:])))
            for i, (label, size) in enumerate(zip(labels, values.shape, strict=True))
        ]
        return message

    def joint_state(self, names: Sequence[str], stamp_ns: int, **values: Array) -> Any:
        """Return a ``JointState``; fields without values stay empty.

        Parameters
        ----------
        **values : ndarray, shape (n,)
            ``position``, ``velocity``, ``effort`` in the order of the names [rad or m], [rad/s or m/s], [N m or N].
        """
        fields = {name: self.doubles(x) for name, x in values.items()}
        return self._stamped(JOINT_STATE, "", stamp_ns, name=list(names), **fields)

    def pose_stamped(self, X: Pose, frame: str, stamp_ns: int) -> Any:
        """Return a ``PoseStamped``."""
        message = self._stamped(POSE_STAMPED, frame, stamp_ns)
        set_pose(message.pose, X)
        return message

    def pose_array(self, poses: Sequence[Pose], frame: str, stamp_ns: int) -> Any:
        """Return a ``PoseArray``."""
        parts = [set_pose(self._new("geometry_msgs/msg/Pose"), X) for X in poses]
        return self._stamped(POSE_ARRAY, frame, stamp_ns, poses=parts)

    def transform_stamped(self, X: Pose, parent: str, child: str, stamp_ns: int) -> Any:
        """Return a ``TransformStamped``."""
        message = self._stamped(TRANSFORM_STAMPED, parent, stamp_ns, child_frame_id=child)
        set_transform(message.transform, X)
        return message

    def twist_stamped(self, V: Array, frame: str, stamp_ns: int) -> Any:
        """Return a ``TwistStamped``.

        Parameters
        ----------
        V : ndarray, shape (6,)
            Linear [m/s], then angular velocity [rad/s], in the axes of the frame.
        """
        message = self._stamped(TWIST_STAMPED, frame, stamp_ns)
        set_twist(message.twist, V)
        return message

    def wrench_stamped(self, F: Sequence[float], frame: str, stamp_ns: int) -> Any:
        """Return a ``WrenchStamped``.

        Parameters
        ----------
        F : sequence of float
            Force [N], then moment [N m], in the axes of the frame.
        """
        message = self._stamped(WRENCH_STAMPED, frame, stamp_ns)
        set_vector(message.wrench.force, F[:3])
        set_vector(message.wrench.torque, F[3:])
        return message

    def range_reading(self, sensor: RangeSensor, distance: float, frame: str, stamp_ns: int) -> Any:
        """Return a ``Range``.

        Parameters
        ----------
        frame : str
            Name of its frame, whose axis x is its direction.
        """
        return self._stamped(
            RANGE,
            frame,
            stamp_ns,
            radiation_type=INFRARED if sensor.rays == 1 else ULTRASOUND,
            field_of_view=sensor.field_of_view,
            min_range=sensor.min_range,
            max_range=sensor.max_range,
            range=distance,
        )

    def joint_trajectory(self, names: Sequence[str], points: Waypoints, stamp_ns: int) -> Any:
        """Return a ``JointTrajectory``.

        Parameters
        ----------
        stamp_ns : int
            Start of the motion [ns]; 0: now.
        """
        parts = [self._joint_point(points, i) for i in range(len(points.times))]
        return self._stamped(JOINT_TRAJECTORY, "", stamp_ns, joint_names=list(names), points=parts)

    def pose_trajectory(self, link: str, points: PosePoints, frame: str, stamp_ns: int) -> Any:
        """Return a ``MultiDOFJointTrajectory``.

        Parameters
        ----------
        link : str
            The link that moves; empty: the end effector.
        stamp_ns : int
            Start of the motion [ns]; 0: now.
        """
        parts = [self._pose_point(points, i) for i in range(len(points.times))]
        return self._stamped(POSE_TRAJECTORY, frame, stamp_ns, joint_names=[link] if link else [], points=parts)

    def marker(self, obstacle: Obstacle) -> Any:
        """Return the ``Marker`` of an obstacle, with an empty header and no name."""
        type_number, scale, points = marker_form(obstacle.shape)
        return self._marker(type_number, obstacle.X_WO, scale, points, OBSTACLE_COLOUR)

    def line_marker(self, points: Array, frame: str, stamp_ns: int, width: float = 0.005) -> Any:
        """Return a ``Marker`` with a line through points."""
        identity = Pose.identity()
        message = self._marker(LINE_STRIP, identity, (width, 0.0, 0.0), points, LINE_COLOUR)
        set_header(message, frame, stamp_ns)
        message.ns = "plan"
        return message

    def markers(self, updates: Sequence[ObstacleUpdate], frame: str, stamp_ns: int) -> Any:
        """Return a ``MarkerArray`` with updates of a scenario's obstacles.

        Parameters
        ----------
        updates : sequence of ObstacleUpdate
            Obstacles with their numbers; None in the place of one that is gone.
        """
        return self.marker_array([self._update(update, frame, stamp_ns) for update in updates])

    def marker_array(self, markers: Sequence[Any]) -> Any:
        """Return a ``MarkerArray`` of markers."""
        return self._filled(MARKER_ARRAY, markers=list(markers))

    def _update(self, update: ObstacleUpdate, frame: str, stamp_ns: int) -> Any:
        if update.obstacle is None:
            identity = Pose.identity()
            message = self._marker(0, identity, (0.0, 0.0, 0.0), np.zeros((0, 3)), OBSTACLE_COLOUR)
            message.action = DELETE
        else:
            message = self.marker(update.obstacle)
        set_header(message, frame, stamp_ns)
        message.ns = NAMESPACE
        message.id = update.number
        if np.isfinite(update.lifetime):
            message.lifetime = self.duration(update.lifetime)
        return message

    def _marker(
        self, type_number: int, X: Pose, scale: Sequence[float], points: Array, colour: tuple[float, ...]
    ) -> Any:
        corners = [set_vector(self._new("geometry_msgs/msg/Point"), p) for p in points.tolist()]
        message = self._filled("visualization_msgs/msg/Marker", type=type_number, action=ADD, points=corners)
        set_pose(message.pose, X)
        set_vector(message.scale, scale)
        message.color.r, message.color.g, message.color.b, message.color.a = colour
        return message

    def _joint_point(self, points: Waypoints, i: int) -> Any:
        values = {"positions": points.qs, "velocities": points.vs, "accelerations": points.as_}
        fields = {name: self.doubles(x[i]) for name, x in values.items() if x is not None}
        time = self.duration(float(points.times[i]))
        return self._filled("trajectory_msgs/msg/JointTrajectoryPoint", time_from_start=time, **fields)

    def _pose_point(self, points: PosePoints, i: int) -> Any:
        values = {"velocities": points.Vs, "accelerations": points.As}
        fields = {
            name: [set_twist(self._new("geometry_msgs/msg/Twist"), x[i])] for name, x in values.items() if x is not None
        }
        fields["transforms"] = [set_transform(self._new("geometry_msgs/msg/Transform"), points.poses[i])]
        time = self.duration(float(points.times[i]))
        return self._filled("trajectory_msgs/msg/MultiDOFJointTrajectoryPoint", time_from_start=time, **fields)

    def _filled(self, type_name: str, **fields: Any) -> Any:
        """A message with these fields."""
        message = self._new(type_name)
        for name, value in fields.items():
            setattr(message, name, value)
        return message

    def _stamped(self, type_name: str, frame: str, stamp_ns: int, **fields: Any) -> Any:
        """A message with a header and these fields."""
        message = self._filled(type_name, **fields)
        set_header(message, frame, stamp_ns)
        return message


def set_header(message: Any, frame: str, stamp_ns: int) -> None:
    """Fill the header of a message."""
    message.header.frame_id = frame
    set_nanoseconds(message.header.stamp, stamp_ns)


def set_nanoseconds(message: Any, ns: int) -> Any:
    """Fill a ``Time`` or ``Duration`` from nanoseconds, and return it."""
    message.sec, message.nanosec = divmod(ns, NANOSECONDS)
    return message


def set_vector(message: Any, p: Sequence[float]) -> Any:
    """Fill a ``Point`` or ``Vector3``, and return it."""
    message.x, message.y, message.z = map(float, p)
    return message


def set_quaternion(message: Any, R: Array) -> None:
    """Fill a ``Quaternion`` from a rotation matrix, shape (3, 3)."""
    message.x, message.y, message.z, message.w = quaternion_from_rotation(R).tolist()


def set_pose(message: Any, X: Pose) -> Any:
    """Fill a ``Pose``, and return it."""
    set_vector(message.position, X.p.tolist())
    set_quaternion(message.orientation, X.R)
    return message


def set_transform(message: Any, X: Pose) -> Any:
    """Fill a ``Transform``, and return it."""
    set_vector(message.translation, X.p.tolist())
    set_quaternion(message.rotation, X.R)
    return message


def set_twist(message: Any, V: Array) -> Any:
    """Fill a ``Twist``, linear before angular, shape (6,), and return it."""
    set_vector(message.linear, V[:3].tolist())
    set_vector(message.angular, V[3:].tolist())
    return message
