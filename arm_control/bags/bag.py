"""A bag in memory: topics, messages, joint states as arrays over time, and the motions from which others are learnt."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arm_control.bags.message_definitions import Decoder
from arm_control.core import printable
from arm_control.exceptions import BagError, JointNotFound
from arm_control.maths import Array, Pose
from arm_control.messages import FIELDS, nanoseconds
from arm_control.model import RobotModel
from arm_control.simulation import Stamps


@dataclass(frozen=True)
class Topic:
    """A topic in a bag.

    Attributes
    ----------
    error : str
        Why its messages cannot be read; empty when they can.
    """

    name: str
    type_name: str
    latched: bool = False
    reliable: bool = True
    error: str = ""
    decoder: Decoder | None = field(default=None, repr=False, compare=False)


class Message(NamedTuple):
    """The bytes of a message on the wire, and the time at which it was written [ns]."""

    topic: Topic
    log_ns: int
    raw: bytes


@dataclass
class Bag:
    """A bag in memory.

    Attributes
    ----------
    storage : str
        ``mcap``, ``sqlite3`` or ``ROS 1``.
    messages : list of Message
        In the order in which they were written.
    topics : list of Topic
        Sorted by name; also those without a message.
    malformed : Counter
        Messages that could not be read, by topic and cause; it grows as messages are read.
    namespace : str
        Namespace of the topics to read where several have the same name.
    """

    path: Path
    storage: str
    messages: list[Message]
    topics: list[Topic]
    custom: dict[str, str] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    malformed: Counter[tuple[str, str]] = field(default_factory=Counter)
    namespace: str = ""
    _counted: set[tuple[str, str, int]] = field(default_factory=set, repr=False)

    @property
    def duration(self) -> float:
        """Time from the first to the last message [s]."""
        return 1e-9 * (self.messages[-1].log_ns - self.messages[0].log_ns) if self.messages else 0.0

    def named(self, name: str) -> Topic | None:
        """Return the topic of this name, or the only one in a namespace; None when there is none.

        A BagError when several namespaces have the topic.
        """
        name = name.strip("/")
        for full_name in (f"{self.namespace.strip('/')}/{name}", name):
            topics = [topic for topic in self.topics if topic.name.strip("/") == full_name.strip("/")]
            if topics:
                break
        topics = topics or [topic for topic in self.topics if topic.name.endswith(f"/{name}")]
        if len(topics) > 1:
            names = ", ".join(topic.name for topic in topics)
            raise BagError(f"{name}: more than one topic: {names}; --namespace selects one")
        return topics[0] if topics else None

    def contents(self, *names: str) -> Iterator[tuple[str, int, Any]]:
        """Yield name, time [ns] and content of the messages of these topics, in order; malformed ones are counted."""
        selected = {id(topic): (name, topic) for name in names if (topic := self.named(name)) is not None}
        for message, content in self.read(*(topic for _, topic in selected.values())):
            yield selected[id(message.topic)][0], message.log_ns, content

    def read(self, *topics: Topic) -> Iterator[tuple[Message, Any]]:
        """Yield the messages of these topics and their content, in order; malformed ones are counted."""
        selected = {id(topic) for topic in topics}
        for number, message in enumerate(self.messages):
            if id(message.topic) not in selected or message.topic.decoder is None:
                continue
            try:
                content = message.topic.decoder.content(message.raw)
            except BagError as error:
                self._count(message.topic.name, str(error), number)
            else:
                yield message, content

    def refuse(self, name: str, cause: str, log_ns: int) -> None:
        """Count a readable message with wrong values."""
        topic = self.named(name)
        self._count(topic.name if topic else name, cause, log_ns)

    def _count(self, name: str, cause: str, message_id: int) -> None:
        """Count a message once, however often it is read."""
        if (name, cause, message_id) not in self._counted:
            self._counted.add((name, cause, message_id))
            self.malformed[name, printable(cause)] += 1


@dataclass(frozen=True)
class JointSeries:
    """Messages ``JointState`` of one set of joints.

    Attributes
    ----------
    stamps, log : ndarray of int64, shape (n,)
        Stamp of each message, and the time at which it was written [ns].
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
        """The stamps; where all are the same, the times at which the messages were written [ns]."""
        return self.stamps if len(self.stamps) and np.ptp(self.stamps) > 0 else self.log

    @property
    def t(self) -> Array:
        """Time since the first message [s]."""
        return (self.times - self.times[0]) * 1e-9 if len(self.stamps) else np.zeros(0)

    def of(self, model: RobotModel, field: str) -> Array:
        """Return the values of a field in the model's joint order, shape (n, nv).

        Parameters
        ----------
        field : str
            ``position``, ``velocity`` or ``effort``.

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
        """Return the messages that are newer than all before them."""
        times = self.times
        if not len(times):
            return self
        kept = np.r_[True, times[1:] > np.maximum.accumulate(times)[:-1]]
        return JointSeries(self.names, *(getattr(self, x)[kept] for x in ("stamps", "log", *FIELDS)))


def joint_series(bag: Bag, topic: str) -> JointSeries:
    """Read a topic of ``JointState``; messages with other joints or wrong values are counted as malformed."""
    names: tuple[str, ...] = ()
    last_name_list: list[str] = []
    own: tuple[str, ...] = ()  # joints of the message; nearly always those of the message before
    stamps = array("q")
    log = array("q")
    values = array("d")  # an array for each message would take four times the memory
    for _, log_ns, message in bag.contents(topic):
        if message.name != last_name_list:
            last_name_list = message.name
            own = tuple(map(printable, message.name))
        names = names or own
        cause = _cause_of_refusal(message, own, names)
        if cause:
            bag.refuse(topic, cause, log_ns)
            continue
        stamps.append(nanoseconds(message.header.stamp))
        log.append(log_ns)
        for field_name in FIELDS:
            values.extend(_in_order(getattr(message, field_name), own, names))
    columns = np.array(values).reshape(len(stamps), len(FIELDS), len(names))
    times = (np.array(column, dtype=np.int64) for column in (stamps, log))
    return JointSeries(names, *times, *(np.ascontiguousarray(columns[:, k]) for k in range(len(FIELDS))))


def require_states(bag: Bag, topic: str) -> JointSeries:
    """Read a topic as :func:`joint_series`, which has a state; a BagError when it has none."""
    series = joint_series(bag, topic)
    if not len(series.stamps):
        others = [other.name for other in bag.topics if other.type_name.endswith("/JointState") and not other.error]
        hint = f"; --topic names another: {', '.join(others)}" if others else ""
        raise BagError(f"{bag.path} has no {topic} that can be read{hint}")
    return series


def _in_order(field_values: Any, own: tuple[str, ...], names: tuple[str, ...]) -> list[float]:
    """Values in the order of the names; NaN where the field is empty."""
    if not len(field_values):
        return [math.nan] * len(names)
    values: list[float] = np.asarray(field_values, dtype=float).tolist()
    return values if own == names else [values[own.index(name)] for name in names]


def _cause_of_refusal(message: Any, own: tuple[str, ...], names: tuple[str, ...]) -> str:
    """Why a message with these joints is refused; empty when it is not."""
    if not own or len(set(own)) < len(own):
        return "no joint, or one twice"
    if own != names and set(own) != set(names):
        return "other joints than in the first message"
    for field_name in FIELDS:
        values = np.asarray(getattr(message, field_name), dtype=float)
        if len(values) not in (0, len(own)):
            return f"{field_name} is not one value per joint"
        if not np.isfinite(values).all():
            return f"{field_name} is not finite"
    return ""


LONGEST_GAP = 0.25
"""A longer time between two states is a gap in a motion [s]."""
LONGEST_REST = 0.5
"""A longer rest before or behind a motion is no part of it [s]."""
SPANS = 100
"""Spans of time in which a path is seen to move or to rest."""
RESTING, BRISK = 0.02, 0.3
"""Shares of the largest speed: below the first one the arm rests, above the second one it is in full motion."""
OPEN = 0.05
"""Ends of a period that differ by more than this share of the range do not meet."""


@dataclass(frozen=True)
class RecordedPath:
    """Positions of joints over time.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time since the first state, increasing [s].
    q : ndarray, shape (n, len(names))
        Positions [rad or m].
    """

    names: tuple[str, ...]
    t: Array
    q: Array

    def part(self, start: float, duration: float, rate: float = 1.0) -> RecordedPath:
        """Return a part of the path, without the first seconds ``start`` [s].

        It has this duration [s], or goes to the end where that is 0; times are divided by ``rate``, the speed of the
        motion as a factor. A BagError where no state is in the part.
        """
        is_in = (self.t >= start) & (self.t <= start + (duration or np.inf))
        if not is_in.any():
            raise BagError(f"no state after {start:g} s: the recording has {self.t[-1]:.3f} s")
        t = self.t[is_in]
        return RecordedPath(self.names, (t - t[0]) / rate, self.q[is_in])

    def unwrapped(self, continuous: Sequence[str]) -> RecordedPath:
        """Return the path without jumps of whole turns in the joints that may turn without end."""
        columns = [self.names.index(name) for name in continuous if name in self.names]
        q = self.q.copy()
        q[:, columns] = np.unwrap(q[:, columns], axis=0)
        return replace(self, q=q)

    def poses(self, model: RobotModel) -> list[Pose]:
        """Return the poses of the end effector of an arm that has these joints."""
        columns = [self.names.index(name) for name in model.joint_names]
        return [model.pose(q) for q in self.q[:, columns]]


def recorded_path(series: JointSeries, joints: Sequence[str]) -> RecordedPath:
    """Return the positions of joints in a recording, without states that repeat the time of another one.

    Parameters
    ----------
    joints : sequence of str
        The joints; empty: all.

    Raises
    ------
    JointNotFound
        When a joint is missing.
    BagError
        When a position is missing.
    """
    if missing := [name for name in joints if name not in series.names]:
        raise JointNotFound(missing[0], series.names)
    names = tuple(joints) or series.names
    states = series.increasing()
    q = states.position[:, [states.names.index(name) for name in names]]
    if np.isnan(q).any():
        raise BagError(f"{np.isnan(q).any(axis=1).sum()} of {len(q)} states have no position: no motion can be learnt")
    return RecordedPath(names, states.t, q)


def oddities_of_states(series: JointSeries) -> list[str]:
    """Return a sentence for all that is odd about the times of a recording."""
    notes = []
    if series.times is series.log and len(series.stamps) > 1:
        notes.append("all stamps are the same: the times at which the messages were written count")
    n_repeated = len(series.stamps) - len(series.increasing().stamps)
    if n_repeated:
        notes.append(f"{n_repeated} of {len(series.stamps)} states are not newer than those before, and left out")
    return notes


def oddities_of_path(path: RecordedPath, *, is_rhythmic: bool) -> list[str]:
    """Return a sentence for all that makes a path of two states at least a poor demonstration."""
    gaps = np.diff(path.t)
    notes = []
    if gaps.max() > LONGEST_GAP:
        notes.append(f"a gap of {gaps.max():.2f} s after {path.t[gaps.argmax()]:.2f} s")
    return notes + (_open_ends(path) if is_rhythmic else _restless_ends(path))


def _restless_ends(path: RecordedPath) -> list[str]:
    """Say where a motion begins or ends long after or before the path, or in the middle of it."""
    t = np.linspace(0.0, path.t[-1], SPANS + 1)
    q = np.array([np.interp(t, path.t, column) for column in path.q.T])
    speed = np.abs(np.diff(q, axis=1)).max(axis=0)
    if not speed.max() > 0.0:
        return ["nothing moves"]
    moving = np.flatnonzero(speed > RESTING * speed.max())
    before, behind = t[moving[0]], t[-1] - t[moving[-1] + 1]
    notes = []
    if max(before, behind) > LONGEST_REST:
        notes.append(
            f"at rest for {before:.2f} s before the motion and {behind:.2f} s behind it: --start {before:.2f} and"
            f" --duration {t[-1] - before - behind:.2f} leave that out"
        )
    for place, share in (("begin", speed[0] / speed.max()), ("end", speed[-1] / speed.max())):
        if share > BRISK:
            notes.append(f"in motion at its {place}, with {100 * share:.0f} % of its largest speed: a rest is better")
    return notes


def _open_ends(path: RecordedPath) -> list[str]:
    """Say where the ends of a rhythm do not meet."""
    apart = np.abs(path.q[-1] - path.q[0])
    range_ = np.ptp(path.q, axis=0).max()
    worst = int(apart.argmax())
    if apart[worst] <= OPEN * range_:
        return []
    return [f"its ends do not meet: {path.names[worst]} differs by {apart[worst]:.3g}; whole periods are needed"]
