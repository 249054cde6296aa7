"""What a report says of a recording: timing, tracking, torque, conditioning, distances, power; arrays over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.control.avoidance.proximity import Proximity, clearance
from arm_control.control.osc.task import pose_error
from arm_control.control.osc.task_inertia import condition_number
from arm_control.exceptions import ArmControlError, cause_of
from arm_control.maths.poses import Array
from arm_control.messages.bags.bag import Bag, JointSeries, Topic, joint_series
from arm_control.messages.bags.replay import Commands
from arm_control.messages.fields import nanoseconds
from arm_control.messages.goal_messages import POSE_GOALS, pose_goal_of
from arm_control.messages.obstacle_tracker import HeardObstacles
from arm_control.model import RobotModel
from arm_control.motion.goals import PoseMotion, Target
from arm_control.motion.pose_follower import PoseFollower
from arm_control.report.figures import linear_angular_norms
from arm_control.simulation.recording import Recording

LOOKS = 1500
"""Most states of which poses, condition numbers and distances are computed."""


@dataclass(frozen=True)
class TopicFigures:
    """A topic in figures.

    Attributes
    ----------
    topic : Topic
        The topic.
    count : int
        Messages.
    rate : float
        Median rate by the times at which they were written [Hz]; NaN for fewer than two.
    gap : float
        Longest time between two of them [s].
    no_stamp, not_increasing : int
        Messages whose header's stamp is 0 although time goes on, or not later than the one before; 0 without header.
    malformed : int
        Messages that cannot be read, or make no sense.
    """

    topic: Topic
    count: int
    rate: float
    gap: float
    no_stamp: int
    not_increasing: int
    malformed: int


def topic_figures(bag: Bag) -> list[TopicFigures]:
    """Count, rate and stamps of every topic."""
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
    own = np.array(stamps, dtype=np.int64)
    middle = float(np.median(steps)) if len(steps) else 0.0
    return TopicFigures(
        topic,
        len(log),
        1.0 / middle if middle > 0.0 else float("nan"),
        float(steps.max(initial=0.0)),
        int((own == 0).sum()) if len(own) > 1 and (own == 0).sum() > 1 else 0,
        int((np.diff(own) <= 0).sum()),
        sum(count for (name, _), count in bag.malformed.items() if name == topic.name),
    )


@dataclass(frozen=True)
class Timing:
    """When states and commands were written.

    Attributes
    ----------
    t, steps : ndarray, shape (n - 1,)
        Time of each state [s] and the time since the one before it [s], by when they were written.
    stamp_steps : ndarray, shape (n - 1,)
        The same by their stamps [s].
    answers : ndarray, shape (m,)
        From a state to the command that answers it, by when they were written [s].
    """

    t: Array
    steps: Array
    stamp_steps: Array
    answers: Array


def timing(bag: Bag, series: JointSeries) -> Timing:
    """Compute rate and jitter of states, and of the commands that answer them."""
    written = dict(zip(series.stamps.tolist()[::-1], series.log.tolist()[::-1], strict=True))
    answered: dict[int, float] = {}
    for _, log_ns, message in bag.contents("joint_commands"):
        stamp_ns = nanoseconds(message.header.stamp)
        if stamp_ns in written:
            answered.setdefault(stamp_ns, (log_ns - written[stamp_ns]) * 1e-9)
    start = series.log[0] if len(series.log) else 0
    t = (series.log[1:] - start) * 1e-9
    return Timing(t, np.diff(series.log) * 1e-9, np.diff(series.stamps) * 1e-9, np.array(list(answered.values())))


@dataclass(frozen=True)
class Task:
    """What the end effector did.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time since the first state [s].
    p, p_des : ndarray, shape (n, 3)
        Where it was and should have been [m]; the latter NaN where nothing was asked.
    position_error, orientation_error : ndarray, shape (n,)
        Distance [m] and angle [rad] to where it should have been.
    condition : ndarray, shape (n,)
        Condition number of the Jacobian.
    distance : ndarray, shape (n,)
        From the arm's capsules to the nearest obstacle [m]; infinite where there is none.
    goal_times : ndarray, shape (k,)
        When something new was to be done [s].
    """

    t: Array
    p: Array
    p_des: Array
    position_error: Array
    orientation_error: Array
    condition: Array
    distance: Array
    goal_times: Array


def task(bag: Bag, series: JointSeries, model: RobotModel) -> Task:
    """Follow the end effector, its orders and the obstacles through a recording of this arm."""
    q, chosen = series.of(model, "position"), _chosen(len(series.stamps))
    follower, orders = PoseFollower(model), pose_orders(bag, series, model)
    follower.restart(q[0])
    for order in orders:
        follower.queue.add(order)
    distance = _distances(bag, series, model, q, chosen)
    rows = [(model.pose(q[k]), follower.reference(int(series.times[k]), q[k]).X_WT) for k in chosen]
    error = np.array([pose_error(X, X_WT) for X, X_WT in rows])
    if not orders:
        error = np.full_like(error, np.nan)
    condition = np.array([condition_number(model.jacobian(q[k])) for k in chosen])
    p, p_des = (np.array([pair[i].p for pair in rows]) for i in range(2))
    starts = np.array(sorted({max(order.stamp_ns, int(series.times[0])) for order in orders}), dtype=np.int64)
    goal_times = (starts[starts <= series.times[-1]] - series.times[0]) * 1e-9
    position, orientation = linear_angular_norms(error)
    p_des = p_des if orders else p_des * np.nan
    return Task(series.t[chosen], p, p_des, position, orientation, condition, distance, goal_times)


def pose_orders(bag: Bag, series: JointSeries, model: RobotModel) -> list[Target | PoseMotion]:
    """Targets and motions of the end effector beside these states; one that a node would refuse is counted."""
    orders: list[Target | PoseMotion] = []
    for topic, log_ns, message in bag.contents(*POSE_GOALS):
        states_before = int(np.searchsorted(series.log, log_ns))
        now_ns = int(series.stamps[states_before - 1]) if states_before else 0
        try:
            orders.append(pose_goal_of(topic, message, model, now_ns))
        except ArmControlError as error:
            bag.refuse(topic, cause_of(error), log_ns)
    return orders


def recording_of(bag: Bag, series: JointSeries, commands: Commands, model: RobotModel) -> Recording:
    """A bag as a run is recorded: states, commands, targets, in the model's joint order."""
    targets = tuple(order for order in pose_orders(bag, series, model) if isinstance(order, Target))
    q, v = (series.of(model, field) for field in ("position", "velocity"))
    ordered = tuple(sorted(targets, key=lambda target: target.stamp_ns))
    return Recording(series.times, q, np.nan_to_num(v), commands.stamps, commands.tau, ordered)


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
    """Compute power and energy from recorded speeds and torque, shape (n, nj); a state without either counts as 0."""
    watts = np.nan_to_num(effort * series.velocity)
    steps = np.diff(series.t)
    total = watts.sum(axis=1)
    energy = np.r_[0.0, np.cumsum(0.5 * (total[1:] + total[:-1]) * steps)] if len(steps) else np.zeros(len(total))
    return Power(series.t, watts, energy)


def torque_terms(bag: Bag, topic: str = "torque_terms/") -> dict[str, JointSeries]:
    """What torque was made of, by name; terms without a message are left out."""
    names = [t.name.strip("/") for t in bag.topics if topic in t.name and t.type_name.endswith("/JointState")]
    found = {name.rpartition("/")[2]: joint_series(bag, name) for name in names}
    return {name: series for name, series in found.items() if len(series.stamps)}


def aligned(series: JointSeries, commands: Commands, model: RobotModel) -> Array:
    """Commanded torque of each state in the order of the series' joints, shape (n, nj); NaN where there is none."""
    rows = np.full(series.position.shape, np.nan)
    at = {stamp: k for k, stamp in enumerate(commands.stamps.tolist())}
    columns = [series.names.index(name) for name in model.joint_names]
    for i, stamp in enumerate(series.stamps.tolist()):
        if stamp in at:
            rows[i, columns] = commands.tau[at[stamp]]
    return rows


def _chosen(n: int) -> Array:
    return np.unique(np.linspace(0, n - 1, min(n, LOOKS)).round().astype(int))


def _distances(bag: Bag, series: JointSeries, model: RobotModel, q: Array, chosen: Array) -> Array:
    """Distance in every chosen state, with the obstacles told until then; each was heard in the state before it."""
    result = np.full(len(chosen), np.inf)
    if bag.named("obstacles") is None:
        return result
    proximity, heard = Proximity(model), HeardObstacles(model)
    told = bag.contents("obstacles")
    following = next(told, None)
    for i, k in enumerate(chosen):
        while following is not None and following[1] <= series.log[k]:
            before = int(np.searchsorted(series.log, following[1])) - 1
            if before >= 0:
                heard.on_state(int(series.stamps[before]), q[before])
            heard.take(following[2])
            following = next(told, None)
        result[i] = clearance(proximity, q[k], heard.at(int(series.stamps[k]), q[k]))
    return result
