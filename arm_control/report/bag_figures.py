"""Figures of a recording: timing, tracking, torque, conditioning, distances and power, as arrays over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arm_control.bags import Bag, Commands, JointSeries, Topic, joint_series
from arm_control.collision import Proximity, clearance
from arm_control.control import condition_number, pose_errors
from arm_control.exceptions import ArmControlError, cause_of
from arm_control.kinematics import pose_rank
from arm_control.maths import Array
from arm_control.messages import POSE_GOALS, ObstacleTracker, nanoseconds, pose_goal_of
from arm_control.model import RobotModel
from arm_control.motion import PoseFollower, PoseMotion, Target
from arm_control.report.figures import linear_angular_norms
from arm_control.report.required_torque import fitted
from arm_control.simulation import Recording

MAX_SAMPLES = 1500
"""Largest number of states whose poses, condition numbers and distances are computed."""


@dataclass(frozen=True)
class TopicFigures:
    """Figures of a topic.

    Attributes
    ----------
    count : int
        Number of messages.
    rate : float
        Median rate by the times at which they were written [Hz]; NaN for fewer than two.
    gap : float
        Longest time between two of them [s].
    no_stamp : int
        Messages with stamp 0, where there are several; 0 without headers.
    not_increasing : int
        Messages with a stamp that is not later than that of the message before; 0 without headers.
    malformed : int
        Messages that cannot be read, or have wrong values.
    """

    topic: Topic
    count: int
    rate: float
    gap: float
    no_stamp: int
    not_increasing: int
    malformed: int


def topic_figures(bag: Bag) -> list[TopicFigures]:
    """Return the figures of every topic."""
    logs: dict[int, list[int]] = {id(topic): [] for topic in bag.topics}
    stamps: dict[int, list[int]] = {id(topic): [] for topic in bag.topics}
    for message in bag.messages:
        logs[id(message.topic)].append(message.log_ns)
    for message, content in bag.read(*bag.topics):
        header = getattr(content, "header", None)
        if header is not None:
            stamps[id(message.topic)].append(nanoseconds(header.stamp))
    return [_figures(bag, topic, logs[id(topic)], stamps[id(topic)]) for topic in bag.topics]


def _figures(bag: Bag, topic: Topic, log: list[int], stamps: list[int]) -> TopicFigures:
    steps = np.diff(np.array(log, dtype=np.int64)) * 1e-9
    median = float(np.median(steps)) if len(steps) else 0.0
    n_zero = stamps.count(0)
    return TopicFigures(
        topic,
        len(log),
        1.0 / median if median > 0.0 else float("nan"),
        float(steps.max(initial=0.0)),
        n_zero if n_zero > 1 else 0,
        int((np.diff(np.array(stamps, dtype=np.int64)) <= 0).sum()),
        sum(count for (name, _), count in bag.malformed.items() if name == topic.name),
    )


@dataclass(frozen=True)
class Timing:
    """Times of states and commands.

    Attributes
    ----------
    t : ndarray, shape (n - 1,)
        Time at which each state but the first was written, since the first one [s].
    steps : ndarray, shape (n - 1,)
        Time since the state before, by when they were written [s].
    stamp_steps : ndarray, shape (n - 1,)
        Time since the state before, by their stamps [s].
    answers : ndarray, shape (m,)
        Time from a state to the command that answers it, by when they were written [s].
    """

    t: Array
    steps: Array
    stamp_steps: Array
    answers: Array


def timing(bag: Bag, series: JointSeries) -> Timing:
    """Compute the times of states, and of the commands that answer them."""
    written_ns = dict(zip(series.stamps.tolist()[::-1], series.log.tolist()[::-1], strict=True))
    answers: dict[int, float] = {}
    for _, log_ns, message in bag.contents("joint_commands"):
        stamp_ns = nanoseconds(message.header.stamp)
        if stamp_ns in written_ns:
            answers.setdefault(stamp_ns, (log_ns - written_ns[stamp_ns]) * 1e-9)
    start = series.log[0] if len(series.log) else 0
    t = (series.log[1:] - start) * 1e-9
    return Timing(t, np.diff(series.log) * 1e-9, np.diff(series.stamps) * 1e-9, np.array(list(answers.values())))


@dataclass(frozen=True)
class HandMotion:
    """Motion of the end effector.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time since the first state [s].
    p, p_des : ndarray, shape (n, 3)
        Actual and desired position [m]; the latter NaN without goals.
    position_error, orientation_error : ndarray, shape (n,)
        Distance [m] and angle [rad] to the desired pose.
    condition : ndarray, shape (n,)
        Condition number of the Jacobian.
    distance : ndarray, shape (n,)
        Distance from the arm's capsules to the nearest obstacle [m]; infinite where there is none.
    goal_times : ndarray, shape (k,)
        Times at which a goal takes effect [s].
    """

    t: Array
    p: Array
    p_des: Array
    position_error: Array
    orientation_error: Array
    condition: Array
    distance: Array
    goal_times: Array


def task(bag: Bag, series: JointSeries, model: RobotModel) -> HandMotion:
    """Compute the motion of the end effector, its goals and its distance to obstacles.

    Parameters
    ----------
    series : JointSeries
        Joint states with increasing times.
    """
    q, rank = series.of(model, "position"), pose_rank(model)
    samples = _samples(len(series.stamps))
    goals = pose_goals(bag, series, model)
    follower = PoseFollower(model)
    follower.restart(q[0])
    for goal in goals:
        follower.queue.add(goal)
    distance = _distances(bag, series, model, q, samples)
    poses = [model.pose(q[k]) for k in samples]
    desired = [follower.reference(int(series.times[k]), q[k]).X_WT for k in samples]
    error = pose_errors(poses, desired)
    p_des = np.array([X.p for X in desired])
    if not goals:
        error = np.full_like(error, np.nan)
        p_des = np.full_like(p_des, np.nan)
    position_error, orientation_error = linear_angular_norms(error)
    return HandMotion(
        series.t[samples],
        np.array([X.p for X in poses]),
        p_des,
        position_error,
        orientation_error,
        np.array([condition_number(model.jacobian(q[k]), rank) for k in samples]),
        distance,
        _goal_times(goals, series),
    )


def pose_goals(bag: Bag, series: JointSeries, model: RobotModel) -> list[Target | PoseMotion]:
    """Return the targets and motions of the end effector; those that a node would refuse are counted as malformed.

    Parameters
    ----------
    series : JointSeries
        Its joint states: a goal with stamp 0 takes effect at the state before it.
    """
    goals: list[Target | PoseMotion] = []
    for topic, log_ns, message in bag.contents(*POSE_GOALS):
        n_before = int(np.searchsorted(series.log, log_ns))
        now_ns = int(series.stamps[n_before - 1]) if n_before else 0
        try:
            goals.append(pose_goal_of(topic, message, model, now_ns))
        except ArmControlError as error:
            bag.refuse(topic, cause_of(error), log_ns)
    return goals


def _goal_times(goals: Sequence[Target | PoseMotion], series: JointSeries) -> Array:
    """Times since the first state at which goals take effect, each once [s]."""
    first_ns = int(series.times[0])
    starts = np.array(sorted({max(goal.stamp_ns, first_ns) for goal in goals}), dtype=np.int64)
    return (starts[starts <= series.times[-1]] - first_ns) * 1e-9


def recording_of(bag: Bag, series: JointSeries, commands: Commands, model: RobotModel) -> Recording:
    """Return states, commands and targets as a recorded run, in the model's joint order.

    Velocities that were not recorded are slopes of the positions.
    """
    targets = [goal for goal in pose_goals(bag, series, model) if isinstance(goal, Target)]
    targets.sort(key=lambda target: target.stamp_ns)
    q = series.of(model, "position")
    v = series.of(model, "velocity")
    if np.isnan(v).any():
        v = fitted(series.t, q)[1]
    return Recording(series.times, q, v, commands.stamps, commands.tau, tuple(targets))


@dataclass(frozen=True)
class Power:
    """Mechanical power.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time since the first state [s].
    power : ndarray, shape (n, nj)
        Torque times speed of each joint [W].
    energy : ndarray, shape (n,)
        Work done by all joints since the start [J].
    """

    t: Array
    power: Array
    energy: Array


def power(series: JointSeries, effort: Array) -> Power:
    """Compute power and energy; a state without speed or torque counts as 0.

    Parameters
    ----------
    effort : ndarray, shape (n, nj)
        Torque [N m or N].
    """
    watts = np.nan_to_num(effort * series.velocity)
    steps = np.diff(series.t)
    total = watts.sum(axis=1)
    energy = np.r_[0.0, np.cumsum(0.5 * (total[1:] + total[:-1]) * steps)] if len(steps) else np.zeros(len(total))
    return Power(series.t, watts, energy)


def torque_terms(bag: Bag, prefix: str = "torque_terms/") -> dict[str, JointSeries]:
    """Return the terms of the torque by name; terms without a message are left out.

    Parameters
    ----------
    prefix : str
        Part of the topics' names before the name of the term.
    """
    topics = [
        topic.name.strip("/")
        for topic in bag.topics
        if prefix in topic.name and topic.type_name.endswith("/JointState")
    ]
    terms = {name.rpartition("/")[2]: joint_series(bag, name) for name in topics}
    return {name: series for name, series in terms.items() if len(series.stamps)}


def commanded_torque(series: JointSeries, commands: Commands, model: RobotModel) -> Array:
    """Return the commanded torque of each state, shape (n, nj) [N m or N]; NaN where there is none.

    Parameters
    ----------
    series : JointSeries
        States; the columns are in the order of its joints.
    commands : Commands
        Commands in the model's joint order.
    """
    rows = np.full(series.position.shape, np.nan)
    index_of = {stamp: k for k, stamp in enumerate(commands.stamps.tolist())}
    columns = [series.names.index(name) for name in model.joint_names]
    for i, stamp in enumerate(series.stamps.tolist()):
        if stamp in index_of:
            rows[i, columns] = commands.tau[index_of[stamp]]
    return rows


def _samples(n: int) -> Array:
    """Indices of at most :data:`MAX_SAMPLES` of n states, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, MAX_SAMPLES)).round().astype(int))


def _distances(bag: Bag, series: JointSeries, model: RobotModel, q: Array, samples: Array) -> Array:
    """Distance to the nearest obstacle in every sampled state."""
    if bag.named("obstacles") is None:
        return np.full(len(samples), np.inf)
    proximity = Proximity(model)
    trackers = track_obstacles(bag, series, model, samples)
    return np.array(
        [
            clearance(proximity, q[k], tracker.obstacles(int(series.stamps[k]), q[k]))
            for k, tracker in zip(samples, trackers, strict=True)
        ]
    )


def track_obstacles(bag: Bag, series: JointSeries, model: RobotModel, samples: Array) -> Iterator[ObstacleTracker]:
    """Yield, for every sampled state, the tracker with the markers known by then.

    A node takes markers in the state before them, and so does the tracker.

    Parameters
    ----------
    samples : ndarray of int
        Numbers of the states, ascending.
    """
    q, tracker = series.of(model, "position"), ObstacleTracker(model)
    messages = bag.contents("obstacles")
    upcoming = next(messages, None)
    for k in samples:
        while upcoming is not None and upcoming[1] <= series.log[k]:
            before = int(np.searchsorted(series.log, upcoming[1])) - 1
            if before >= 0:
                tracker.set_state(int(series.stamps[before]), q[before])
            tracker.update(upcoming[2])
            upcoming = next(messages, None)
        yield tracker
