"""Replay without ROS: recorded states through a controller, stepping on their stamps; and the comparison of torques.

The messages of the bag go through the parts of the controller's node, in the order in which they were written: goals
wait for their stamps, obstacles for theirs, and each state is answered (:mod:`arm_control.control.loop`). Where the bag
has commands, the replay leaves out the states without one: the node did not read them. So a recording in lock step, or
of a simulation, is replayed to the last bit on the same machine.

Not in a bag, and not replayed: service calls, changed parameters, the moment at which a plan was ready in real time, a
``disturbance``. A goal with stamp 0 takes effect with the first state after the one that it was written behind.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from arm_control.bags.bag import Bag
from arm_control.control import LoopParameters, Measurement
from arm_control.controllers import CONTROLLERS, control_loop
from arm_control.exceptions import ArmControlError, BagError, InputError, cause_of
from arm_control.maths import Array
from arm_control.messages import JointStateReader, ObstacleTracker, Refused, goal_of, nanoseconds, sensor_reading_of
from arm_control.model import RobotModel
from arm_control.simulation import Stamps

COMMANDS = "joint_commands"
SENSOR = "measured_wrench"
StateKey = tuple[int, int]
"""A state: its stamp [ns], and the number of states with that stamp by then, since time may start over."""


@dataclass(frozen=True)
class Commands:
    """A stream of commands.

    Attributes
    ----------
    stamps : ndarray of int64, shape (n,)
        Stamp of each: that of the state it answers [ns]. Where time starts over, stamps are repeated.
    tau : ndarray, shape (n, nv)
        Torque [N m or N], in the model's joint order.
    """

    stamps: Stamps
    tau: Array

    def states(self) -> list[StateKey]:
        """Return the state that each command answers."""
        counts: Counter[int] = Counter()
        states = []
        for stamp_ns in self.stamps.tolist():
            counts[stamp_ns] += 1
            states.append((stamp_ns, counts[stamp_ns]))
        return states

    def once(self) -> Commands:
        """Return the first command of each stamp."""
        first = [k for k, (_, count) in enumerate(self.states()) if count == 1]
        return Commands(self.stamps[first], self.tau[first])


@dataclass(frozen=True)
class Difference:
    """The first field that differs.

    Attributes
    ----------
    stamp_ns : int
        Stamp of its message [ns].
    """

    topic: str
    field: str
    stamp_ns: int
    recorded: float
    replayed: float

    def __str__(self) -> str:
        return (
            f"{self.topic} at {self.stamp_ns * 1e-9:.9f} s: {self.field} was {self.recorded:.12g} and is"
            f" {self.replayed:.12g}"
        )


@dataclass(frozen=True)
class Comparison:
    """Differences of two streams of commands.

    Attributes
    ----------
    compared : int
        Number of states that both streams answer.
    missing : int
        Number of recorded commands without a replayed one.
    largest : ndarray, shape (nv,)
        Largest difference by joint, as a share of its torque limit.
    identical : bool
        Whether all compared commands are the same to the last bit.
    """

    compared: int
    missing: int
    largest: Array
    first: Difference | None
    identical: bool


def recorded_commands(bag: Bag, model: RobotModel) -> Commands:
    """Return the commands in a bag, the first one for each state; those with wrong values are counted as malformed."""
    states, tau = _recorded(bag, model)
    return Commands(np.array([stamp_ns for stamp_ns, _ in states], dtype=np.int64), tau)


def _recorded(bag: Bag, model: RobotModel) -> tuple[Collection[StateKey], Array]:
    """States with a command, and its torque, shape (n, nv) [N m or N]."""
    answered: dict[StateKey, None] = {}
    rows = array("d")
    stamp_counts = _StampCounts()
    for topic, log_ns, message in bag.contents("joint_states", COMMANDS):
        stamp_ns = nanoseconds(message.header.stamp)
        if topic == "joint_states":
            stamp_counts.add(stamp_ns)
            continue
        try:
            tau = model.in_joint_order(message.name, message.effort, "effort")
        except InputError as error:
            bag.refuse(COMMANDS, cause_of(error), log_ns)
            continue
        state = stamp_ns, stamp_counts.of(stamp_ns)
        if state not in answered:
            answered[state] = None
            rows.extend(tau)
    return answered.keys(), np.array(rows).reshape(-1, model.nv)


class _StampCounts:
    """Number of states with each stamp: several where time has started over; a repeated state counts once."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._last: int | None = None

    def add(self, stamp_ns: int) -> None:
        if stamp_ns != self._last:
            self._counts[stamp_ns] += 1
            self._last = stamp_ns

    def of(self, stamp_ns: int) -> int:
        """At least 1: a recorder may write a command before the state it answers."""
        return max(1, self._counts[stamp_ns])


def replayed_commands(bag: Bag, model: RobotModel, parameters: LoopParameters) -> Commands:
    """Answer the states of a bag again.

    Parameters
    ----------
    parameters : OscLoopParameters, JointLoopParameters or IlqrLoopParameters
        Parameters of the controller; their class selects it.

    Raises
    ------
    BagError
        When the bag has no state of this arm.
    """
    answered, _ = _recorded(bag, model)
    stamp_counts = _StampCounts()
    goals = dict.fromkeys(topic for row in CONTROLLERS.values() for topic in (*row.goals, *row.number_topics))
    player = _Player(bag, model, parameters)
    for topic, log_ns, message in bag.contents("joint_states", "obstacles", SENSOR, *goals):
        if topic == "joint_states":
            stamp_ns = nanoseconds(message.header.stamp)
            stamp_counts.add(stamp_ns)
            if answered and (stamp_ns, stamp_counts.of(stamp_ns)) not in answered:
                continue
        try:
            player.take(topic, log_ns, message)
        except ArmControlError as error:
            bag.refuse(topic, cause_of(error), log_ns)
    if not player.answers:
        raise BagError(f"{bag.path} has no joint_states of {', '.join(model.joint_names)}{_causes(bag)}")
    stamps, tau = zip(*player.answers, strict=True)
    return Commands(np.array(stamps, dtype=np.int64), np.array(tau))


@dataclass
class _Player:
    """The parts of a controller's node, with messages from a bag."""

    bag: Bag
    model: RobotModel
    parameters: LoopParameters
    answers: list[tuple[int, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = JointStateReader(self.model, 0.0)
        self._obstacles = ObstacleTracker(self.model)
        self._loop = control_loop(self.model, self.parameters)

    def take(self, topic: str, log_ns: int, message: object) -> None:
        if topic == "joint_states":
            reading = self._reader.read(message, {"source_timestamp": 0})
            if isinstance(reading, Refused):
                raise reading.error
            if isinstance(reading, Measurement):
                self._answer(reading)
        elif topic == "obstacles":
            for error in self._obstacles.update(message):
                self.bag.refuse(topic, cause_of(error), log_ns)
        else:
            now_ns = self.answers[-1][0] if self.answers else 0
            if topic == SENSOR:
                self._loop.wrench.measure(sensor_reading_of(message, self.model, now_ns))
            else:
                self._loop.controller.add(goal_of(topic, message, self.model, now_ns))

    def _answer(self, measurement: Measurement) -> None:
        stamp_ns = measurement.stamp_ns
        if measurement.is_restart and self.answers:
            self._obstacles.restart(stamp_ns)
        obstacles = self._obstacles.obstacles(stamp_ns, measurement.q)
        self.answers.append((stamp_ns, self._loop.tick(measurement, obstacles).gate.tau))


def compare(recorded: Commands, replayed: Commands, model: RobotModel, tolerance: float) -> Comparison:
    """Compare two streams of commands, state by state.

    Parameters
    ----------
    model : RobotModel
        Names and torque limits of the joints.
    tolerance : float
        Allowed difference, as a share of a joint's torque limit.
    """
    index_of = {state: j for j, state in enumerate(replayed.states())}
    pairs = [(i, index_of[state]) for i, state in enumerate(recorded.states()) if state in index_of]
    i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
    before = recorded.tau[i]
    after = replayed.tau[j]
    share = np.abs(after - before) / model.tau_max
    too_large = np.argwhere(~(share <= tolerance))  # NaN is too large
    first = None
    if len(too_large):
        k, joint = too_large[0]
        name = f"effort[{model.joint_names[joint]}]"
        first = Difference(COMMANDS, name, int(recorded.stamps[i[k]]), float(before[k, joint]), float(after[k, joint]))
    largest = share.max(axis=0, initial=0.0)
    n_missing = len(recorded.stamps) - len(pairs)
    return Comparison(len(pairs), n_missing, largest, first, bool((before == after).all()))


def _causes(bag: Bag) -> str:
    causes = "; ".join(f"{topic}: {cause} ({count})" for (topic, cause), count in bag.malformed.items())
    return f"; {causes}" if causes else ""
