"""Replay without ROS: recorded states through a controller, stepping on their stamps; and the comparison of torques.

The bag's messages go through the parts that the controller's node is made of, in the order in which they were written:
orders wait for their stamps, obstacles are believed, each state is answered (:mod:`arm_control.control.loop`). Where
the bag has commands, only states that were answered count, since the node saw no other. So what was recorded in lock
step, or simulated, comes out the same to the last bit on the same machine.

What no message tells is not replayed: calls of services, changed parameters, when a plan was ready in real time, a
``disturbance``. An order with stamp 0 acts from the first state after the one it was written behind.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from arm_control.control.controllers import Measurement
from arm_control.control.loop import LoopParameters, control_loop
from arm_control.exceptions import ArmControlError, BagError, InputError, cause_of
from arm_control.maths.poses import Array
from arm_control.messages.bags.bag import Bag
from arm_control.messages.fields import GOAL_TOPICS, goal_of, nanoseconds
from arm_control.messages.joint_states import JointStateReader, Refused
from arm_control.messages.obstacle_tracker import ObstacleTracker
from arm_control.model import RobotModel
from arm_control.simulation.recording import Stamps

COMMANDS = "joint_commands"
Which = tuple[int, int]
"""A state: its stamp [ns], and how often that has come by then, since time may start over."""


@dataclass(frozen=True)
class Commands:
    """A stream of commands.

    Attributes
    ----------
    stamps : ndarray of int64, shape (n,)
        Stamp of each: that of the state it answers [ns]. Where time starts over, stamps come again.
    tau : ndarray, shape (n, nv)
        Torque [N m or N], in the model's joint order.
    """

    stamps: Stamps
    tau: Array

    def which(self) -> list[Which]:
        """Which state each answers."""
        counts: Counter[int] = Counter()
        found = []
        for stamp_ns in self.stamps.tolist():
            counts[stamp_ns] += 1
            found.append((stamp_ns, counts[stamp_ns]))
        return found

    def once(self) -> Commands:
        """The first of each stamp."""
        first = [k for k, (_, times) in enumerate(self.which()) if times == 1]
        return Commands(self.stamps[first], self.tau[first])


@dataclass(frozen=True)
class Difference:
    """The first field that differs.

    Attributes
    ----------
    topic, field : str
        Where it is.
    stamp_ns : int
        Stamp of its message [ns].
    recorded, replayed : float
        What it was, and what it is.
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
    """Two streams of commands side by side.

    Attributes
    ----------
    compared : int
        Stamps that both have.
    missing : int
        Recorded commands that nothing in the replay stands against.
    largest : ndarray, shape (nv,)
        Largest difference by joint, as a share of its torque limit.
    first : Difference or None
        The first field that differs by more than the tolerance.
    identical : bool
        Whether all that was compared is the same to the last bit.
    """

    compared: int
    missing: int
    largest: Array
    first: Difference | None
    identical: bool


def recorded_commands(bag: Bag, model: RobotModel) -> Commands:
    """Commands in a bag; a second one for a state is passed over, one that makes no sense is counted."""
    which, tau = _recorded(bag, model)
    return Commands(np.array([stamp_ns for stamp_ns, _ in which], dtype=np.int64), tau)


def _recorded(bag: Bag, model: RobotModel) -> tuple[Collection[Which], Array]:
    """Which states were answered, and with which torque, shape (n, nv) [N m or N]."""
    answered: dict[Which, None] = {}
    rows, times = array("d"), _Times()
    for topic, log_ns, message in bag.contents("joint_states", COMMANDS):
        stamp_ns = nanoseconds(message.header.stamp)
        if topic == "joint_states":
            times.see(stamp_ns)
            continue
        try:
            tau = model.in_joint_order(message.name, message.effort, "effort")
        except InputError as error:
            bag.refuse(COMMANDS, cause_of(error), log_ns)
            continue
        which = stamp_ns, times.of(stamp_ns)
        if which not in answered:
            answered[which] = None
            rows.extend(tau)
    return answered.keys(), np.array(rows).reshape(-1, model.nv)


class _Times:
    """How often each stamp has come in a stream of states: again where time has started over; a repeated one is one."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._last: int | None = None

    def see(self, stamp_ns: int) -> None:
        if stamp_ns != self._last:
            self._counts[stamp_ns] += 1
            self._last = stamp_ns

    def of(self, stamp_ns: int) -> int:
        """At least once: a recorder may write an answer before what it answers."""
        return max(1, self._counts[stamp_ns])


def replayed_commands(bag: Bag, model: RobotModel, parameters: LoopParameters) -> Commands:
    """Answer the states of a bag anew.

    Parameters
    ----------
    bag : Bag
        The recording.
    model : RobotModel
        The arm.
    parameters : OscLoopParameters, JointLoopParameters or IlqrLoopParameters
        They say which controller.

    Raises
    ------
    BagError
        When the bag has no state of this arm.
    """
    answered, times = _recorded(bag, model)[0], _Times()
    player = _Player(bag, model, parameters)
    for topic, log_ns, message in bag.contents("joint_states", "obstacles", *GOAL_TOPICS):
        if topic == "joint_states":
            stamp_ns = nanoseconds(message.header.stamp)
            times.see(stamp_ns)
            if answered and (stamp_ns, times.of(stamp_ns)) not in answered:
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
    """The parts of a controller's node, fed with messages."""

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
            self._loop.controller.add(goal_of(topic, message, self.model, now_ns))

    def _answer(self, measurement: Measurement) -> None:
        stamp_ns = measurement.stamp_ns
        if measurement.is_restart and self.answers:
            self._obstacles.restart(stamp_ns)
        obstacles = self._obstacles.obstacles(stamp_ns, measurement.q)
        self.answers.append((stamp_ns, self._loop.tick(measurement, obstacles).gate.tau))


def compare(recorded: Commands, replayed: Commands, model: RobotModel, tolerance: float) -> Comparison:
    """Compare two streams, stamp by stamp.

    Parameters
    ----------
    recorded, replayed : Commands
    model : RobotModel
        Names and torque limits of the joints.
    tolerance : float
        What may differ, as a share of a joint's torque limit.
    """
    at = {which: j for j, which in enumerate(replayed.which())}
    both = [(i, at[which]) for i, which in enumerate(recorded.which()) if which in at]
    i, j = np.array(both, dtype=int).reshape(-1, 2).T
    before, after = recorded.tau[i], replayed.tau[j]
    share = np.abs(after - before) / model.tau_max
    bad = np.argwhere(~(share <= tolerance))
    first = None
    if len(bad):
        k, joint = bad[0]
        name = f"effort[{model.joint_names[joint]}]"
        first = Difference(COMMANDS, name, int(recorded.stamps[i[k]]), float(before[k, joint]), float(after[k, joint]))
    largest = share.max(axis=0, initial=0.0)
    return Comparison(len(both), len(recorded.stamps) - len(both), largest, first, bool((before == after).all()))


def _causes(bag: Bag) -> str:
    said = "; ".join(f"{topic}: {cause} ({count})" for (topic, cause), count in bag.malformed.items())
    return f"; {said}" if said else ""
