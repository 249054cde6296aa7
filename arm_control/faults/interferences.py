"""What may happen to messages: they are lost, late, out of order, changed, or sent by somebody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy, deepcopy
from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.faults.chain_setup import OTHER, Delivery, Interference
from arm_control.messages import nanoseconds

MS_NS = NANOSECONDS // 1000
SEED = 20_13

Edit = Callable[[Any], None]


def lost(n: int) -> Interference:
    """Return what loses the first ``n`` messages."""
    return lambda k, message: () if k < n else (Delivery(message),)


def lost_at_random(share: float) -> Interference:
    """Return what loses this share of the messages."""
    rng = np.random.default_rng(SEED)
    return lambda k, message: () if rng.random() < share else (Delivery(message),)


def late(delay: float) -> Interference:
    """Return what delays all messages by so long [s]."""
    return lambda k, message: (Delivery(message, delay),)


def reordered() -> Interference:
    """Return what exchanges each message with the next one."""
    waiting: list[Any] = []

    def exchange(k: int, message: Any) -> Iterable[Delivery]:
        if not waiting:
            waiting.append(message)
            return ()
        return (Delivery(message), Delivery(waiting.pop()))

    return exchange


def edited(edit: Edit, n: int | None = None, every: int = 1) -> Interference:
    """Return what changes messages.

    Parameters
    ----------
    n : int, optional
        Of how many messages; by default of all.
    every : int
        Of which messages: each, each second one, and so on.
    """

    def change(k: int, message: Any) -> Iterable[Delivery]:
        if (n is None or k < n) and (k + 1) % every == 0:
            edit(message)
        return (Delivery(message),)

    return change


def frozen(with_stamp: bool) -> Interference:
    """Return what repeats the first message."""
    first: list[Any] = []

    def repeat(k: int, message: Any) -> Iterable[Delivery]:
        first.append(deepcopy(message) if not first else first[0])
        again = deepcopy(first[0])
        if not with_stamp:
            again.header.stamp = message.header.stamp
        return (Delivery(again),)

    return repeat


def doubled(edit: Edit) -> Interference:
    """Return what adds the message of a second publisher to each."""

    def add(k: int, message: Any) -> Iterable[Delivery]:
        other = deepcopy(message)
        edit(other)
        return (Delivery(message), Delivery(other, publisher=OTHER))

    return add


def flooded(n: int, spacing_ns: int) -> Interference:
    """Return what sends each message n times, as new ones, with this time between [ns]."""

    def repeat(k: int, message: Any) -> Iterable[Delivery]:
        for i in range(n):
            again = copy(message)
            again.header = deepcopy(message.header)
            shifted(i * spacing_ns)(again)
            yield Delivery(again, i * spacing_ns / NANOSECONDS)

    return repeat


def value(name: str, number: float, joint: int = 1) -> Edit:
    """Return what sets one number of a field."""

    def set_value(message: Any) -> None:
        values = np.array(getattr(message, name), dtype=float)
        values[joint : joint + 1] = number  # a field may be empty by now
        setattr(message, name, values)

    return set_value


def resized(name: str, by: int) -> Edit:
    """Return what makes a field longer or shorter."""

    def resize(message: Any) -> None:
        values = np.array(getattr(message, name), dtype=float)
        setattr(message, name, np.resize(values, max(0, len(values) + by)))

    return resize


def renamed(message: Any) -> None:
    """Rename a joint."""
    message.name = ["another_joint", *message.name[1:]]


def named_twice(message: Any) -> None:
    """Name a joint twice."""
    message.name = [message.name[1], *message.name[1:]]


def emptied(*names: str) -> Edit:
    """Return what empties fields."""

    def empty(message: Any) -> None:
        for name in names:
            setattr(message, name, np.zeros(0))

    return empty


def shifted(by_ns: int) -> Edit:
    """Return what changes the stamp by so much [ns]."""

    def shift(message: Any) -> None:
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(max(0, nanoseconds(stamp) + by_ns), NANOSECONDS)

    return shift


def stamped_zero(message: Any) -> None:
    """Set the stamp to 0."""
    message.header.stamp.sec = message.header.stamp.nanosec = 0


def elsewhere(message: Any) -> None:
    """Say that the arm is half a radian away, fast, 2 ms later."""
    message.position = np.array(message.position) + 0.5
    message.velocity = np.full(len(message.position), 3.0)
    shifted(2 * MS_NS)(message)


def first_point(by: float) -> Edit:
    """Return what adds a number to the first joint in all points of a trajectory [rad or m]."""

    def add(message: Any) -> None:
        for point in message.points:
            point.positions = np.array(point.positions) + by * np.eye(len(point.positions))[0]

    return add


def of_another_arm(message: Any) -> None:
    """Send a trajectory of an arm with a joint more."""
    message.joint_names = [*message.joint_names, "another_joint"]
    for point in message.points:
        point.positions = np.append(point.positions, 0.0)


def pulling(message: Any) -> None:
    """Ask for 100 N m of every joint."""
    message.effort = np.full(len(message.effort), 100.0)


def running_backwards(message: Any) -> None:
    """Let time run backwards from 0.5 s on."""
    shifted(NANOSECONDS - 2 * nanoseconds(message.header.stamp) - MS_NS)(message)
