"""What messages of a bag say, as arrays over time: joints, numbers, and when they were written."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.exceptions import BagError
from arm_control.maths.poses import Array
from arm_control.messages.bags.reader import Bag
from arm_control.messages.fields import nanoseconds
from arm_control.model import RobotModel
from arm_control.model.urdf.xml import printable
from arm_control.simulation.recording import Stamps

FIELDS = ("position", "velocity", "effort")


@dataclass(frozen=True)
class JointSeries:
    """Messages ``JointState`` of one set of joints.

    Attributes
    ----------
    names : tuple of str
        The joints.
    stamps, log : ndarray of int64, shape (n,)
        Stamp of each message, and when it was written [ns].
    position, velocity, effort : ndarray, shape (n, len(names))
        Values; NaN where a message has none.
    """

    names: tuple[str, ...]
    stamps: Stamps
    log: Stamps
    position: Array
    velocity: Array
    effort: Array

    @property
    def times(self) -> Stamps:
        """Stamps that increase, or, where the messages have none, when they were written [ns]."""
        return self.stamps if len(self.stamps) and np.ptp(self.stamps) > 0 else self.log

    @property
    def t(self) -> Array:
        """Time since the first message [s]."""
        return (self.times - self.times[0]) * 1e-9 if len(self.stamps) else np.zeros(0)

    def of(self, model: RobotModel, field: str) -> Array:
        """Values of a field in the model's joint order, shape (n, nv).

        Raises
        ------
        BagError
            When a joint of the model is missing.
        """
        missing = [name for name in model.joint_names if name not in self.names]
        if missing:
            raise BagError(f"the recording has no joint {', '.join(missing)}; it has {', '.join(self.names)}")
        values: Array = getattr(self, field)[:, [self.names.index(name) for name in model.joint_names]]
        return values

    def increasing(self) -> JointSeries:
        """Only the messages that are newer than all before them."""
        times = self.times
        if not len(times):
            return self
        kept = np.r_[True, times[1:] > np.maximum.accumulate(times)[:-1]]
        return JointSeries(self.names, *(getattr(self, x)[kept] for x in ("stamps", "log", *FIELDS)))


def joint_series(bag: Bag, topic: str) -> JointSeries:
    """Read a topic of ``JointState``; messages that make no sense are counted, also those of other joints."""
    names: tuple[str, ...] = ()
    said: list[str] = []
    own: tuple[str, ...] = ()  # of the message before: as a rule all name the same joints
    stamps, log, values = array("q"), array("q"), array("d")  # an array for each message would take four times as much
    for _, log_ns, message in bag.contents(topic):
        if message.name != said:
            said, own = message.name, tuple(map(printable, message.name))
        names = names or own
        trouble = _trouble(message, own, names)
        if trouble:
            bag.refuse(topic, trouble, log_ns)
            continue
        stamps.append(nanoseconds(message.header.stamp))
        log.append(log_ns)
        for field in FIELDS:
            values.extend(_in_order(getattr(message, field), own, names))
    columns = np.array(values).reshape(len(stamps), len(FIELDS), len(names))
    times = (np.array(column, dtype=np.int64) for column in (stamps, log))
    return JointSeries(names, *times, *(np.ascontiguousarray(columns[:, k]) for k in range(len(FIELDS))))


def _in_order(given: Any, own: tuple[str, ...], names: tuple[str, ...]) -> list[float]:
    """Values of joints in another order of them; NaN where there are none."""
    if not len(given):
        return [math.nan] * len(names)
    values: list[float] = np.asarray(given, dtype=float).tolist()
    return values if own == names else [values[own.index(name)] for name in names]


def _trouble(message: Any, own: tuple[str, ...], names: tuple[str, ...]) -> str:
    """What is wrong with a message; empty when nothing is."""
    if not own or len(set(own)) < len(own):
        return "no joint, or one twice"
    if own != names and set(own) != set(names):
        return "other joints than in the first message"
    for field in FIELDS:
        values = np.asarray(getattr(message, field), dtype=float)
        if len(values) not in (0, len(own)):
            return f"{field} is not one value per joint"
        if not np.isfinite(values).all():
            return f"{field} is not finite"
    return ""


def numbers(bag: Bag, topic: str) -> tuple[Stamps, Array]:
    """When messages of a topic with one number each were written [ns], and the numbers."""
    found = [(log_ns, float(message.data)) for _, log_ns, message in bag.contents(topic)]
    return np.array([log_ns for log_ns, _ in found], dtype=np.int64), np.array([value for _, value in found])


def need(series: JointSeries, topic: str, bag: Bag) -> JointSeries:
    """The series itself.

    Raises
    ------
    BagError
        When it is empty.
    """
    if not len(series.stamps):
        others = [other.name for other in bag.topics if other.kind.endswith("/JointState") and not other.trouble]
        hint = f"; --topic names another: {', '.join(others)}" if others else ""
        raise BagError(f"{bag.path} has no {topic} that can be read{hint}")
    return series
