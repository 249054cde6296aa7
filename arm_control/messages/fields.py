"""Values and goals from messages.

Fields are read by their names, so messages of ROS and those of a bag, which needs no ROS, are read alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arm_control.control import SensorReading
from arm_control.core import NANOSECONDS, printable
from arm_control.exceptions import FrameNotFound, InputError, JointNotFound
from arm_control.maths import Array, Pose, rotation_from_quaternion
from arm_control.model import RobotModel
from arm_control.motion import (
    FARTHEST,
    Chunk,
    ChunkGoal,
    Goal,
    JointGoal,
    JointJog,
    JointStiffness,
    Modulation,
    PoseChunk,
    PoseMotion,
    PosePoints,
    Target,
    TwistJog,
    Waypoints,
    WrenchGoal,
    check_distance,
)

HORIZON_NS = 24 * 3600 * NANOSECONDS
"""Time after the newest state above which a stamp is wrong [ns]."""
POSE_GOALS = ("target_pose", "pose_trajectory")
JOINT_GOALS = ("joint_trajectory", "target_joint", "target_velocity")
WRENCH_GOAL = "target_wrench"
CHUNKS = ("joint_chunk", "pose_chunk")
JOINT_STIFFNESS = "joint_stiffness"
STALE_NS = NANOSECONDS
"""Age from which a velocity is refused, so that its sender learns of a clock that is wrong [ns]."""
SENSOR_SKEW = 1.0
"""Time between a sensor's stamp and that of the newest state above which their clocks differ [s]."""
LARGEST_WRENCH = 1e5
"""Bound of forces and moments in messages [N, N m]."""
LONGEST_REASON = 500
"""Characters of a reason that are read."""
BRAKED = "braked: "
"""How the ``frame_id`` of a command begins whose sender brakes."""


def link_of(frame_id: str, model: RobotModel) -> str:
    """Return the link of a ``frame_id``.

    Parameters
    ----------
    frame_id : str
        Name of a link; empty: the base.

    Raises
    ------
    FrameNotFound
        When there is none of that name.
    """
    link = frame_id or model.base
    if link not in model.frames:
        raise FrameNotFound(link, model.frames)
    return link


def braked_frame(reason: str) -> str:
    """Return the ``frame_id`` of a command that brakes, so that no gate takes it for the torque of a law."""
    return f"{BRAKED}{reason}"[:LONGEST_REASON]


def brake_reason(message: Any) -> str:
    """Return why the sender of a command brakes, in characters that a log may have; empty when it does not."""
    frame = printable(str(message.header.frame_id)[:LONGEST_REASON])
    return (frame.removeprefix(BRAKED) or "no reason given") if frame.startswith(BRAKED) else ""


def nanoseconds(stamp: Any) -> int:
    """Return a ``Time`` or ``Duration`` in nanoseconds."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def effective_stamp(stamp: Any, now_ns: int) -> int:
    """Return the moment at which a message takes effect: its stamp, but not before now [ns].

    An InputError where that is more than a day ahead.

    Parameters
    ----------
    stamp : builtin_interfaces/Time
        Stamp of the message; 0: now.
    """
    stamp_ns = max(nanoseconds(stamp), now_ns)
    if stamp_ns - now_ns > HORIZON_NS:
        ahead = (stamp_ns - now_ns) / NANOSECONDS
        raise InputError(f"stamp too far ahead: {ahead:.0f} s after the state; 0 means now")
    return stamp_ns


def pose_from_message(message: Any) -> Pose:
    """Return the pose of a message, with a normalised quaternion.

    An InputError when a number is not finite, the position is 1e6 m away or more, or the quaternion has no length.
    """
    position = message.pose.position
    o = message.pose.orientation
    p = np.array([position.x, position.y, position.z])
    if not np.isfinite(p).all():
        raise InputError(f"position {p.tolist()} is not finite")
    check_distance(math.hypot(*p), f"position {p.tolist()}")
    return Pose(rotation_from_quaternion([o.x, o.y, o.z, o.w]), p)


def waypoints_from_message(model: RobotModel, message: Any) -> Waypoints:
    """Return the points of a ``JointTrajectory`` in the model's joint order, checked.

    An InputError when they must not be followed; see :meth:`arm_control.motion.joint_trajectory.Waypoints.checked`.
    """
    if any(len(point.effort) for point in message.points):
        raise InputError("effort in a trajectory: the controller computes it; leave it out")
    times = _times_of(message)
    positions = [point.positions for point in message.points]
    velocities = _rows(message, "velocities")
    accelerations = _rows(message, "accelerations")
    return Waypoints.checked(model, message.joint_names, times, positions, velocities, accelerations)


def pose_points_from_message(message: Any, tip: str) -> PosePoints:
    """Return the points of a ``MultiDOFJointTrajectory``, checked.

    An InputError when it moves another link, or must not be followed; see
    :meth:`arm_control.motion.pose_trajectory.PosePoints.checked`.
    """
    poses = [_pose_of(transform) for transform in _transforms_of(message, tip)]
    velocities = _rows(message, "velocities")
    accelerations = _rows(message, "accelerations")
    Vs = velocities and [_twist_of(twists) for twists in velocities]
    As = accelerations and [_twist_of(twists) for twists in accelerations]
    return PosePoints.checked(_times_of(message), poses, Vs, As)


def _transforms_of(message: Any, tip: str) -> list[Any]:
    """The transform of each point of a ``MultiDOFJointTrajectory`` of the end effector."""
    if list(message.joint_names) not in ([], [tip]):
        raise InputError(f"joint_names = {list(message.joint_names)}: the end effector is ['{tip}']; empty means it")
    if any(len(point.transforms) != 1 for point in message.points):
        raise InputError("one transform per point is needed")
    return [point.transforms[0] for point in message.points]


def goal_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Goal:
    """Return the goal of a message on a topic with goals; one with a number is named ``<controller>/<quantity>``.

    An ArmControlError when its values are wrong, or not those of this arm.
    """
    of_one: dict[str, Callable[[Any, RobotModel, int], Goal]]
    of_one = {WRENCH_GOAL: wrench_goal_of, JOINT_STIFFNESS: joint_stiffness_of, "target_twist": twist_jog_of}
    if topic in of_one:
        return of_one[topic](message, model, now_ns)
    if topic in CHUNKS:
        return chunk_goal_of(topic, message, model, now_ns)
    if "/" in topic:
        return modulation_of(topic, message, now_ns)
    if topic in JOINT_GOALS:
        return joint_goal_of(topic, message, model, now_ns)
    return pose_goal_of(topic, message, model, now_ns)


def pose_goal_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Target | PoseMotion:
    """Return the goal of a message on one of :data:`POSE_GOALS`; the arguments are those of :func:`goal_of`."""
    stamp_ns = effective_stamp(message.header.stamp, now_ns)
    is_immediate = _is_immediate(message, now_ns)
    frame = link_of(message.header.frame_id, model)
    if topic == "target_pose":
        return Target(stamp_ns, frame, pose_from_message(message), is_immediate)
    return PoseMotion(stamp_ns, frame, pose_points_from_message(message, model.tip), is_immediate)


def twist_jog_of(message: Any, model: RobotModel, now_ns: int) -> TwistJog:
    """Return the velocity of a ``TwistStamped``; the arguments are those of :func:`goal_of`."""
    stamp_ns, sent_ns = _jog_stamps(message.header.stamp, now_ns)
    V = np.array(_twist_of([message.twist]), dtype=float)
    _check_velocity(V)
    return TwistJog(stamp_ns, sent_ns, link_of(message.header.frame_id, model), V)


def wrench_goal_of(message: Any, model: RobotModel, now_ns: int) -> WrenchGoal:
    """Return the wrench that a ``WrenchStamped`` on ``target_wrench`` asks for.

    An ArmControlError when a number is not finite, or the frame is unknown.
    """
    stamp_ns = effective_stamp(message.header.stamp, now_ns)
    frame = link_of(message.header.frame_id, model)
    return WrenchGoal(stamp_ns, frame, wrench_of(message), _is_immediate(message, now_ns))


def chunk_goal_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> ChunkGoal:
    """Return the chunk of a message on one of :data:`CHUNKS`, whose stamp is that of its observation; 0: now.

    An InputError where its points have no equal numbers of positions, or not one pose of the end effector each; all
    else is judged where it is joined.
    """
    stamp_ns = nanoseconds(message.header.stamp) or now_ns
    if topic == "pose_chunk":
        transforms = _transforms_of(message, model.tip)
        poses = [[p.x, p.y, p.z, o.x, o.y, o.z, o.w] for p, o in ((t.translation, t.rotation) for t in transforms)]
        return ChunkGoal(now_ns, PoseChunk(stamp_ns, _times_of(message), poses, str(message.header.frame_id)))
    try:
        positions = np.array([point.positions for point in message.points], dtype=float)
    except ValueError:
        raise InputError("points of a chunk with different numbers of positions") from None
    return ChunkGoal(now_ns, Chunk(stamp_ns, _times_of(message), positions, tuple(message.joint_names)))


def joint_stiffness_of(message: Any, model: RobotModel, now_ns: int) -> JointStiffness:
    """Return the shares of a ``JointState``, in which gains on position and on velocity stand under these names.

    Its stamp is that of the chunk that they belong to; 0: they act at once.
    """
    stiffness, damping = (
        model.in_joint_order(message.name, values, name) if len(values) else np.zeros(0)
        for name, values in (("position", message.position), ("velocity", message.velocity))
    )
    return JointStiffness(now_ns, nanoseconds(message.header.stamp), stiffness, damping)


def modulation_of(topic: str, message: Any, now_ns: int) -> Modulation:
    """Return the number that a ``Float64`` sets for a controller, from now on.

    An InputError where the number is not finite, or a period is not positive.

    Parameters
    ----------
    topic : str
        ``<controller>/<quantity>``, such as ``primitive/period``.
    """
    quantity, value = topic.rpartition("/")[2], float(message.data)
    is_positive = quantity == "period"
    if not abs(value) < FARTHEST or (is_positive and value <= 0.0):
        positive = "positive " if is_positive else ""
        raise InputError(f"{quantity} {value}: a {positive}number below {FARTHEST:g} is needed")
    return Modulation(now_ns, quantity, value, now_ns > 0)


def sensor_reading_of(message: Any, model: RobotModel, now_ns: int) -> SensorReading:
    """Return the measurement of a ``WrenchStamped`` on ``measured_wrench``; stamp 0 means now.

    Parameters
    ----------
    now_ns : int
        Stamp of the newest state [ns]; 0 before the first.

    Raises
    ------
    ArmControlError
        When a number is not finite, the frame is unknown, or the stamp is far from that of the states.
    """
    stamp_ns = nanoseconds(message.header.stamp) or now_ns
    if now_ns and abs(stamp_ns - now_ns) > SENSOR_SKEW * NANOSECONDS:
        skew = (stamp_ns - now_ns) / NANOSECONDS
        raise InputError(f"stamp {skew:+.1f} s from that of the states: one clock is needed; 0 means now")
    return SensorReading(stamp_ns, link_of(message.header.frame_id, model), np.array(wrench_of(message)))


def wrench_of(message: Any) -> tuple[float, ...]:
    """Return force and moment of a ``WrenchStamped``, six numbers [N, N m].

    An InputError where a number is not finite, or too large for any arm.
    """
    values = wrench_numbers(message)
    if not all(abs(value) < LARGEST_WRENCH for value in values):
        raise InputError(f"wrench {list(values)}: finite numbers below {LARGEST_WRENCH:g} are needed")
    return values


def wrench_numbers(message: Any) -> tuple[float, ...]:
    """Force and moment of a ``WrenchStamped`` as they are, six numbers [N, N m]."""
    parts = (message.wrench.force, message.wrench.torque)
    return tuple(float(value) for part in parts for value in (part.x, part.y, part.z))


def joint_goal_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> JointGoal | JointJog:
    """Return the goal of a message on one of :data:`JOINT_GOALS`; the arguments are those of :func:`goal_of`."""
    if topic == "target_velocity":
        return _joint_jog_of(message, model, now_ns)
    stamp_ns = effective_stamp(message.header.stamp, now_ns)
    is_immediate = _is_immediate(message, now_ns)
    if topic == "target_joint":
        q = model.in_joint_order(message.name, message.position)
        _check_joints(q)
        return JointGoal(stamp_ns, q, is_immediate)
    points = waypoints_from_message(model, message)
    _check_joints(points.qs)
    return JointGoal(stamp_ns, points, is_immediate)


def _is_immediate(message: Any, now_ns: int) -> bool:
    """Whether a message means now: stamp 0, and not as the begin of a time that has not begun."""
    return now_ns > 0 and nanoseconds(message.header.stamp) == 0


def _joint_jog_of(message: Any, model: RobotModel, now_ns: int) -> JointJog:
    """Return the velocities of a ``JointState``; joints that it does not name are to stand still."""
    stamp_ns, sent_ns = _jog_stamps(message.header.stamp, now_ns)
    names, velocities = list(message.name), list(message.velocity)
    if unknown := [name for name in names if name not in model.joint_names]:
        raise JointNotFound(unknown[0], model.joint_names)
    others = [name for name in model.joint_names if name not in names]
    v = model.in_joint_order([*names, *others], [*velocities, *(0.0 for _ in others)], "velocity")
    _check_velocity(v)
    return JointJog(stamp_ns, sent_ns, v)


def _jog_stamps(stamp: Any, now_ns: int) -> tuple[int, int]:
    """Stamp from which a velocity acts, and that from which its age counts [ns]."""
    stamp_ns = effective_stamp(stamp, now_ns)
    sent_ns = nanoseconds(stamp) or stamp_ns
    if now_ns - sent_ns > STALE_NS:
        raise InputError(f"velocity {(now_ns - sent_ns) / NANOSECONDS:.1f} s older than the state; stamp 0 means now")
    return stamp_ns, sent_ns


def _check_velocity(velocity: Array) -> None:
    """Refuse a velocity that is not finite, or absurd."""
    if not np.isfinite(velocity).all() or np.abs(velocity).max() >= FARTHEST:
        raise InputError(f"velocity {velocity.tolist()}: finite numbers below {FARTHEST:g} are needed")


def _check_joints(q: Array) -> None:
    """Refuse positions out of the world, which a continuous joint would allow."""
    if np.abs(q).max() >= FARTHEST:
        raise InputError(f"joint position {np.abs(q).max():.3g}: less than {FARTHEST:g} is needed")


def _pose_of(transform: Any) -> Pose:
    p, o = transform.translation, transform.rotation
    return Pose(rotation_from_quaternion([o.x, o.y, o.z, o.w]), np.array([p.x, p.y, p.z]))


def _twist_of(twists: Sequence[Any]) -> list[float]:
    if len(twists) != 1:
        raise InputError(f"{len(twists)} twists at a point: one is needed")
    linear, angular = twists[0].linear, twists[0].angular
    return [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]


def _times_of(message: Any) -> list[float]:
    return [point.time_from_start.sec + point.time_from_start.nanosec / NANOSECONDS for point in message.points]


def _rows(message: Any, field: str) -> list[Sequence[Any]] | None:
    """A field of all points; None where no point has it."""
    rows = [getattr(point, field) for point in message.points]
    n_filled = sum(len(row) > 0 for row in rows)
    if 0 < n_filled < len(rows):
        raise InputError(f"{field} at {n_filled} of {len(rows)} points: all points need them, or none")
    return rows if n_filled else None
