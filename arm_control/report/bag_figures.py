"""Figures of a recording: timing, tracking, torque, conditioning, distances, power, and the torque by the model.

The torque of the recorded motion by the model stands beside the recorded effort:

    (1)  v(t + s) ~ v + a s        fitted to the recorded velocities within WINDOW of each state, least squares
    (2)  tau = M(q) a + h(q, v) + c sign(v) + b v    with that a and v
    (3)  g(q)                      the part of gravity

A recording holds no accelerations, so (1) computes them: a line through the velocities in a window filters their
noise, and all motion faster than about the window. Without recorded velocities, they are slopes of the positions. c and
b are the friction of an identified arm (``coulomb_friction``, ``viscous_friction``), else 0. The effort of many arms is
motor current, not torque: then only its correlation with the model's torque has a meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.bags import Bag, Commands, JointSeries, joint_series
from arm_control.collision import Proximity, clearance
from arm_control.control import condition_number, pose_errors
from arm_control.exceptions import ArmControlError, BagError, cause_of
from arm_control.identification import explained
from arm_control.kinematics import pose_rank
from arm_control.maths import Array
from arm_control.messages import POSE_GOALS, ObstacleTracker, nanoseconds, pose_goal_of
from arm_control.model import RobotModel
from arm_control.motion import PoseFollower, PoseMotion, Target
from arm_control.report.figures import linear_angular_norms
from arm_control.simulation import Recording

MAX_SAMPLES = 1500
"""Largest number of states whose poses, condition numbers and distances are computed."""


def timing(bag: Bag, series: JointSeries) -> tuple[Array, Array, Array, Array]:
    """Compute the times of states, and of the commands that answer them.

    Returns
    -------
    ndarray, shape (n - 1,)
        Time at which each state but the first was written, since the first one [s].
    ndarray, shape (n - 1,), twice
        Time since the state before, by when they were written, and by their stamps [s].
    ndarray, shape (m,)
        Time from a state to the command that answers it, by when they were written [s].
    """
    written_ns = dict(zip(series.stamps.tolist()[::-1], series.log.tolist()[::-1], strict=True))
    answers: dict[int, float] = {}
    for _, log_ns, message in bag.contents("joint_commands"):
        stamp_ns = nanoseconds(message.header.stamp)
        if stamp_ns in written_ns:
            answers.setdefault(stamp_ns, (log_ns - written_ns[stamp_ns]) * 1e-9)
    start = series.log[0] if len(series.log) else 0
    t = (series.log[1:] - start) * 1e-9
    return t, np.diff(series.log) * 1e-9, np.diff(series.stamps) * 1e-9, np.array(list(answers.values()))


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
    """Compute the motion of the end effector, its goals and its distance to obstacles; times must increase."""
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
        condition_number(np.array([model.jacobian(q[k]) for k in samples]).reshape(-1, 6, model.nv), rank),
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


def power(series: JointSeries, effort: Array) -> tuple[Array, Array]:
    """Return the power of each joint, shape (n, nj) [W], and the work of all since the start, shape (n,) [J].

    A state without speed, or without torque in ``effort`` (n, nj) [N m or N], counts as 0.
    """
    watts = np.nan_to_num(effort * series.velocity)
    steps = np.diff(series.t)
    total = watts.sum(axis=1)
    energy = np.r_[0.0, np.cumsum(0.5 * (total[1:] + total[:-1]) * steps)] if len(steps) else np.zeros(len(total))
    return watts, energy


def torque_terms(bag: Bag) -> dict[str, JointSeries]:
    """Return the terms of the torque by name; terms without a message are left out."""
    topics = [
        topic.name.strip("/")
        for topic in bag.topics
        if "torque_terms/" in topic.name and topic.type_name.endswith("/JointState")
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


WINDOW = 0.1
"""Half of the window of a line [s]."""
BLOCK = 1000
"""Number of states that share an origin of time."""

Indices = npt.NDArray[np.intp]


def inverse_dynamics(series: JointSeries, model: RobotModel) -> tuple[Array, Array]:
    """Return the torque (2) of every recorded state, and its part of gravity (3), shape (n, nv) [N m or N].

    Parameters
    ----------
    series : JointSeries
        Joint states with increasing times.

    Raises
    ------
    BagError
        When the recording lacks joints of the model, or has fewer than three states.
    """
    t = series.t
    q = series.of(model, "position")
    v = series.of(model, "velocity")
    if len(t) < 3 or not t[-1] > t[0]:
        raise BagError("inverse dynamics needs at least three states at different times")
    if np.isnan(v).any():
        v = fitted(t, q)[1]
    v, a = fitted(t, v)
    tau = np.array([model.inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
    tau += model.coulomb * np.sign(v) + model.viscous * v
    return tau, np.array([model.gravity(row) for row in q])


def fitted(t: Array, x: Array) -> tuple[Array, Array]:
    """Return value and slope at each time of the line fitted to the values within WINDOW of it.

    The window is extended to the neighbours where it holds fewer than three times.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times, increasing [s].
    x : ndarray, shape (n, m)
        Values.

    Examples
    --------
    >>> t = np.array([0.0, 0.01, 0.03, 0.04])
    >>> value, slope = fitted(t, 2.0 + 3.0 * t[:, None])
    >>> value.ravel().round(9), slope.ravel().round(9)
    (array([2.  , 2.03, 2.09, 2.12]), array([3., 3., 3., 3.]))
    """
    n = len(t)
    low = np.minimum(np.searchsorted(t, t - WINDOW, "left"), np.maximum(np.arange(n) - 1, 0))
    high = np.maximum(np.searchsorted(t, t + WINDOW, "right"), np.minimum(np.arange(n) + 2, n))
    value = np.empty_like(x)
    slope = np.empty_like(x)
    for begin in range(0, n, BLOCK):  # each with an origin of its own: sums of squares of large times lose digits
        rows = slice(begin, min(begin + BLOCK, n))
        part = slice(low[rows][0], high[rows][-1])
        times = t[part, None] - t[begin]
        at = t[rows, None] - t[begin]
        value[rows], slope[rows] = _lines(times, x[part], low[rows] - part.start, high[rows] - part.start, at)
    return value, slope


def _lines(t: Array, x: Array, low: Indices, high: Indices, at: Array) -> tuple[Array, Array]:
    """Value at a time and slope of the lines through the rows from low to high."""
    sums = [np.vstack([0 * y[:1], np.cumsum(y, axis=0)]) for y in (t, t * t, x, t * x)]
    s_t, s_tt, s_x, s_tx = (total[high] - total[low] for total in sums)
    count = (high - low)[:, None]
    slope = (s_tx - s_t * s_x / count) / np.maximum(s_tt - s_t * s_t / count, 1e-15)
    return (s_x - slope * s_t) / count + slope * at, slope


def summary(series: JointSeries, model: RobotModel, tau: Array, gravity: Array) -> list[tuple[str, ...]]:
    """Return a table, its head first, with a row per joint: sizes of effort and torque, and their correlation.

    The torques are those of :func:`inverse_dynamics`.
    """
    rows: list[tuple[str, ...]] = [
        ("joint", "effort rms", "model rms", "difference", "correlation", "with gravity", "R^2"),
    ]
    effort = series.of(model, "effort")
    shares = explained(np.nan_to_num(effort), tau, np.isfinite(effort))
    for i, name in enumerate(model.joint_names):
        known = np.isfinite(effort[:, i])
        measured, required, weight = (x[known, i] for x in (effort, tau, gravity))
        sizes = [f"{_rms(x):.4g}" for x in (measured, required, required - measured)]
        correlations = [f"{correlation(x, measured):.3f}" for x in (required, weight)]
        cells = [*sizes, *correlations, f"{shares[i]:.3f}"]
        rows.append((name, *(cell.replace("nan", "-") for cell in cells)))
    return rows


def correlation(x: Array, y: Array) -> float:
    """Return the correlation of two series, shape (n,) each; NaN where one of them is constant."""
    if not len(x):
        return float("nan")
    x, y = x - np.mean(x), y - np.mean(y)
    scale = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / scale if scale > 1e-12 else float("nan")


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else float("nan")
