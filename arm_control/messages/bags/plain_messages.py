"""Messages for bags, with the fields that ROS gives them: what nodes publish, without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arm_control.core.time import NANOSECONDS
from arm_control.maths.poses import Array, Pose, quaternion_from_rotation
from arm_control.messages.bags.message_definitions import NEWEST, known_types
from arm_control.messages.markers import ADD, DELETE, marker_form
from arm_control.motion.pose_trajectory import PosePoints
from arm_control.motion.waypoints import Waypoints
from arm_control.simulation.obstacle_schedule import NAMESPACE, Told

JOINT_STATE = "sensor_msgs/msg/JointState"
POSE_STAMPED = "geometry_msgs/msg/PoseStamped"
MARKER_ARRAY = "visualization_msgs/msg/MarkerArray"
STRING, FLOAT64 = "std_msgs/msg/String", "std_msgs/msg/Float64"
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
POSE_TRAJECTORY = "trajectory_msgs/msg/MultiDOFJointTrajectory"
NOTHING = np.zeros(0)


def make(kind: str, **fields: Any) -> Any:
    """Return a message of a type."""
    return known_types(NEWEST).types[kind](**fields)


def joint_state(names: Sequence[str], stamp_ns: int, **given: Array) -> Any:
    """Return a ``JointState`` of what is given of position, velocity and effort; the other fields stay empty."""
    empty = dict.fromkeys(("position", "velocity", "effort"), NOTHING)
    return make(JOINT_STATE, header=_header(stamp_ns), name=list(names), **{**empty, **given})


def string(text: str) -> Any:
    """Return a ``String``."""
    return make(STRING, data=text)


def float64(value: float) -> Any:
    """Return a ``Float64``."""
    return make(FLOAT64, data=float(value))


def pose_stamped(X: Pose, frame: str, stamp_ns: int) -> Any:
    """Return a pose in a frame, with a stamp [ns]."""
    return make(POSE_STAMPED, header=_header(stamp_ns, frame), pose=_pose(X))


def joint_trajectory(names: Sequence[str], points: Waypoints, stamp_ns: int) -> Any:
    """Return points of these joints, to be followed from a stamp on [ns]."""
    kind, rows = "trajectory_msgs/msg/JointTrajectoryPoint", (points.vs, points.as_)
    messages = [
        make(
            kind,
            positions=points.qs[i],
            velocities=NOTHING if rows[0] is None else rows[0][i],
            accelerations=NOTHING if rows[1] is None else rows[1][i],
            effort=NOTHING,
            time_from_start=_duration(t),
        )
        for i, t in enumerate(points.times.tolist())
    ]
    return make(JOINT_TRAJECTORY, header=_header(stamp_ns), joint_names=list(names), points=messages)


def pose_trajectory(points: PosePoints, frame: str, stamp_ns: int) -> Any:
    """Return poses of the end effector, to be gone through from a stamp on [ns]."""
    kind = "trajectory_msgs/msg/MultiDOFJointTrajectoryPoint"
    messages = [
        make(
            kind,
            transforms=[_transform(X)],
            velocities=[] if points.Vs is None else [_twist(points.Vs[i])],
            accelerations=[] if points.As is None else [_twist(points.As[i])],
            time_from_start=_duration(t),
        )
        for i, (t, X) in enumerate(zip(points.times.tolist(), points.poses, strict=True))
    ]
    return make(POSE_TRAJECTORY, header=_header(stamp_ns, frame), joint_names=[], points=messages)


def markers(told: Sequence[Told], frame: str, stamp_ns: int) -> Any:
    """Return what a scenario tells of its obstacles."""
    return make(MARKER_ARRAY, markers=[_marker(entry, frame, stamp_ns) for entry in told])


def _marker(told: Told, frame: str, stamp_ns: int) -> Any:
    kind, scale, points = 0, (0.0, 0.0, 0.0), np.zeros((0, 3))
    X = Pose(np.eye(3), np.zeros(3))
    if told.obstacle is not None:
        (kind, scale, points), X = marker_form(told.obstacle.shape), told.obstacle.X_WO
    image = make("sensor_msgs/msg/CompressedImage", header=_header(0), format="", data=np.zeros(0, dtype=np.uint8))
    mesh = make("visualization_msgs/msg/MeshFile", filename="", data=np.zeros(0, dtype=np.uint8))
    return make(
        "visualization_msgs/msg/Marker",
        header=_header(stamp_ns, frame),
        ns=NAMESPACE,
        id=told.number,
        type=kind,
        action=DELETE if told.obstacle is None else ADD,
        pose=_pose(X),
        scale=_vector(scale),
        color=_colour(0.8, 0.3, 0.2, 0.9),
        lifetime=_duration(told.lifetime) if np.isfinite(told.lifetime) else _duration(0.0),
        frame_locked=False,
        points=[_point(p) for p in points],
        colors=[],
        texture_resource="",
        texture=image,
        uv_coordinates=[],
        text="",
        mesh_resource="",
        mesh_file=mesh,
        mesh_use_embedded_materials=False,
    )


def _header(stamp_ns: int, frame: str = "") -> Any:
    stamp = make("builtin_interfaces/msg/Time", sec=stamp_ns // NANOSECONDS, nanosec=stamp_ns % NANOSECONDS)
    return make("std_msgs/msg/Header", stamp=stamp, frame_id=frame)


def _duration(seconds: float) -> Any:
    ns = round(seconds * NANOSECONDS)
    return make("builtin_interfaces/msg/Duration", sec=ns // NANOSECONDS, nanosec=ns % NANOSECONDS)


def _point(p: Sequence[float] | Array) -> Any:
    return make("geometry_msgs/msg/Point", **dict(zip("xyz", map(float, p), strict=True)))


def _vector(p: Sequence[float] | Array) -> Any:
    return make("geometry_msgs/msg/Vector3", **dict(zip("xyz", map(float, p), strict=True)))


def _colour(r: float, g: float, b: float, a: float) -> Any:
    return make("std_msgs/msg/ColorRGBA", r=r, g=g, b=b, a=a)


def _quaternion(X: Pose) -> Any:
    xyzw = quaternion_from_rotation(X.R).tolist()
    return make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", xyzw, strict=True)))


def _pose(X: Pose) -> Any:
    return make("geometry_msgs/msg/Pose", position=_point(X.p), orientation=_quaternion(X))


def _transform(X: Pose) -> Any:
    return make("geometry_msgs/msg/Transform", translation=_vector(X.p), rotation=_quaternion(X))


def _twist(V: Array) -> Any:
    return make("geometry_msgs/msg/Twist", linear=_vector(V[:3]), angular=_vector(V[3:]))
