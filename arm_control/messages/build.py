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
from arm_control.maths import Array, Obstacle, Pose
from arm_control.messages.fill import set_header, set_nanoseconds, set_pose, set_transform, set_twist, set_vector
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
        message = self._new(STRING)
        message.data = text
        return message

    def float64(self, value: float) -> Any:
        """Return a ``Float64``."""
        message = self._new(FLOAT64)
        message.data = float(value)
        return message

    def multi_array(self, values: Array, names: Sequence[Sequence[str]], stamp_ns: int) -> Any:
        """Return a ``Float64MultiArray`` whose labels have names and stamp: ``rows: x, y; stamp: 12.345000000``.

        Parameters
        ----------
        values : ndarray, shape (n,) or (n, m)
            A vector or a matrix.
        names : sequence of sequence of str
            Names of the rows, and of the columns of a matrix.
        stamp_ns : int
            Stamp of the state they belong to [ns].
        """
        message = self._new(MULTI_ARRAY)
        message.data = self.doubles(values.ravel())
        sizes = [*values.shape, 1]
        seconds, rest_ns = divmod(stamp_ns, NANOSECONDS)
        labels = [f"{axis}: {', '.join(part)}" for axis, part in zip(("rows", "cols"), names, strict=False)]
        labels[0] += f"; stamp: {seconds}.{rest_ns:09d}"
        message.layout.dim = [
            self._dimension(label, size, int(np.prod(sizes[i:])))
            for i, (label, size) in enumerate(zip(labels, values.shape, strict=True))
        ]
        return message

    def joint_state(
        self,
        names: Sequence[str],
        stamp_ns: int,
        *,
        position: Array | None = None,
        velocity: Array | None = None,
        effort: Array | None = None,
    ) -> Any:
        """Return a ``JointState``; fields without values stay empty.

        Parameters
        ----------
        position, velocity, effort : ndarray, shape (n,), optional
            Values in the order of the names [rad or m], [rad/s or m/s], [N m or N].
        """
        message = self._new(JOINT_STATE)
        set_header(message, "", stamp_ns)
        message.name = list(names)
        if position is not None:
            message.position = self.doubles(position)
        if velocity is not None:
            message.velocity = self.doubles(velocity)
        if effort is not None:
            message.effort = self.doubles(effort)
        return message

    def pose_stamped(self, X: Pose, frame: str, stamp_ns: int) -> Any:
        """Return a ``PoseStamped``."""
        message = self._new(POSE_STAMPED)
        set_header(message, frame, stamp_ns)
        set_pose(message.pose, X)
        return message

    def pose_array(self, poses: Sequence[Pose], frame: str, stamp_ns: int) -> Any:
        """Return a ``PoseArray``."""
        message = self._new(POSE_ARRAY)
        set_header(message, frame, stamp_ns)
        message.poses = [set_pose(self._new("geometry_msgs/msg/Pose"), X) for X in poses]
        return message

    def transform_stamped(self, X: Pose, parent: str, child: str, stamp_ns: int) -> Any:
        """Return a ``TransformStamped``."""
        message = self._new(TRANSFORM_STAMPED)
        set_header(message, parent, stamp_ns)
        message.child_frame_id = child
        set_transform(message.transform, X)
        return message

    def twist_stamped(self, V: Array, frame: str, stamp_ns: int) -> Any:
        """Return a ``TwistStamped``.

        Parameters
        ----------
        V : ndarray, shape (6,)
            Linear [m/s], then angular velocity [rad/s], in the axes of the frame.
        """
        message = self._new(TWIST_STAMPED)
        set_header(message, frame, stamp_ns)
        set_twist(message.twist, V)
        return message

    def wrench_stamped(self, F: Sequence[float], frame: str, stamp_ns: int) -> Any:
        """Return a ``WrenchStamped``.

        Parameters
        ----------
        F : sequence of float
            Force [N], then moment [N m], in the axes of the frame.
        """
        message = self._new(WRENCH_STAMPED)
        set_header(message, frame, stamp_ns)
        set_vector(message.wrench.force, F[:3])
        set_vector(message.wrench.torque, F[3:])
        return message

    def range_reading(self, sensor: RangeSensor, distance: float, frame: str, stamp_ns: int) -> Any:
        """Return a ``Range``.

        Parameters
        ----------
        distance : float
            What it reports [m].
        frame : str
            Name of its frame, whose axis x is its direction.
        """
        message = self._new(RANGE)
        set_header(message, frame, stamp_ns)
        message.radiation_type = INFRARED if sensor.rays == 1 else ULTRASOUND
        message.field_of_view = sensor.field_of_view
        message.min_range, message.max_range = sensor.min_range, sensor.max_range
        message.range = distance
        return message

    def joint_trajectory(self, names: Sequence[str], points: Waypoints, stamp_ns: int) -> Any:
        """Return a ``JointTrajectory``.

        Parameters
        ----------
        stamp_ns : int
            Start of the motion [ns]; 0: now.
        """
        message = self._new(JOINT_TRAJECTORY)
        set_header(message, "", stamp_ns)
        message.joint_names = list(names)
        message.points = [self._joint_point(points, i) for i in range(len(points.times))]
        return message

    def pose_trajectory(self, link: str, points: PosePoints, frame: str, stamp_ns: int) -> Any:
        """Return a ``MultiDOFJointTrajectory``.

        Parameters
        ----------
        link : str
            The link that moves; empty: the end effector.
        stamp_ns : int
            Start of the motion [ns]; 0: now.
        """
        message = self._new(POSE_TRAJECTORY)
        set_header(message, frame, stamp_ns)
        message.joint_names = [link] if link else []
        message.points = [self._pose_point(points, i) for i in range(len(points.times))]
        return message

    def marker(self, obstacle: Obstacle) -> Any:
        """Return the ``Marker`` of an obstacle, with an empty header and no name."""
        type_number, scale, points = marker_form(obstacle.shape)
        return self._marker(type_number, obstacle.X_WO, scale, points, OBSTACLE_COLOUR)

    def line_marker(self, points: Array, frame: str, stamp_ns: int, width: float = 0.005) -> Any:
        """Return a ``Marker`` with a line through points.

        Parameters
        ----------
        width : float
            Width of the line [m].
        """
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
        message = self._new(MARKER_ARRAY)
        message.markers = list(markers)
        return message

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
        message = self._new("visualization_msgs/msg/Marker")
        message.type = type_number
        message.action = ADD
        set_pose(message.pose, X)
        set_vector(message.scale, scale)
        message.color.r, message.color.g, message.color.b, message.color.a = colour
        message.points = [set_vector(self._new("geometry_msgs/msg/Point"), p) for p in points.tolist()]
        return message

    def _joint_point(self, points: Waypoints, i: int) -> Any:
        message = self._new("trajectory_msgs/msg/JointTrajectoryPoint")
        message.time_from_start = self.duration(float(points.times[i]))
        message.positions = self.doubles(points.qs[i])
        if points.vs is not None:
            message.velocities = self.doubles(points.vs[i])
        if points.as_ is not None:
            message.accelerations = self.doubles(points.as_[i])
        return message

    def _pose_point(self, points: PosePoints, i: int) -> Any:
        message = self._new("trajectory_msgs/msg/MultiDOFJointTrajectoryPoint")
        message.time_from_start = self.duration(float(points.times[i]))
        message.transforms = [set_transform(self._new("geometry_msgs/msg/Transform"), points.poses[i])]
        if points.Vs is not None:
            message.velocities = [set_twist(self._new("geometry_msgs/msg/Twist"), points.Vs[i])]
        if points.As is not None:
            message.accelerations = [set_twist(self._new("geometry_msgs/msg/Twist"), points.As[i])]
        return message

    def _dimension(self, label: str, size: int, stride: int) -> Any:
        message = self._new("std_msgs/msg/MultiArrayDimension")
        message.label = label
        message.size = size
        message.stride = stride
        return message
