"""A log of joint states: the newest as arrays, of those before only their number and largest values.

Messages of one layout have their numbers at the same places (:mod:`arm_control.messages.joint_state_bytes`), so a batch
of their bytes becomes arrays at once, at a thirtieth of the time that reading each one takes.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.messages.joint_state_bytes import ENCODINGS, START, JointStateLayout
from arm_control.model import RobotModel

BATCH = 4096
"""Messages that become arrays together."""


class Block(NamedTuple):
    """Messages of one layout: names of the joints, stamps (n,) [ns], and each field, shape (n, joints)."""

    names: Sequence[str]
    stamps: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    fields: tuple[Array, ...]


class JointStateLog:
    """Joint states from their bytes; one that repeats the stamp before it is left out.

    Parameters
    ----------
    keep : int
        Number of the newest messages that are kept, at least.
    *fields : str
        The fields that are kept.

    Attributes
    ----------
    first_ns, newest_ns : int
        Stamps of the first and of the newest message; -1 without one [ns].
    n_dropped : int
        Number of messages that are not kept any more.
    largest : ndarray, shape (joints,)
        Largest absolute values of the last field among them, in the order of ``names``.
    """

    def __init__(self, keep: int, *fields: str) -> None:
        self._keep, self._names_of_fields = keep, fields
        self._pending: list[bytes] = []
        self._blocks = deque[Block]()
        self._n, self._last_ns, self.n_dropped, self.first_ns = 0, -1, 0, -1
        self.names: Sequence[str] = ()
        self.largest = np.zeros(0)

    def extend(self, messages: Iterable[bytes]) -> None:
        """Add serialised messages."""
        self._pending.extend(messages)
        if self.first_ns < 0 and self._pending:
            self.first_ns = _stamp_in(self._pending[0])
        if len(self._pending) >= BATCH:
            self._digest()

    @property
    def newest_ns(self) -> int:
        """See the class."""
        return _stamp_in(self._pending[-1]) if self._pending else self._last_ns

    def in_joint_order(self, model: RobotModel, left_out: Counter[str]) -> tuple[Array, ...]:
        """Return stamps (n,) [ns] and each field, shape (n, nv), of the kept messages of an arm; others are counted."""
        self._digest()
        parts = [part for block in self._blocks if (part := self._of_arm(block, model, left_out)) is not None]
        if not parts:
            return np.zeros(0, dtype=np.int64), *(np.zeros((0, model.nv)) for _ in self._names_of_fields)
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def largest_dropped(self, model: RobotModel) -> Array | None:
        """Return ``largest`` in the model's order; None where nothing was dropped, or other joints were."""
        try:
            return model.in_joint_order(self.names, self.largest) if self.n_dropped else None
        except InputError:
            return None

    def _of_arm(self, block: Block, model: RobotModel, left_out: Counter[str]) -> tuple[Array, ...] | None:
        columns, is_finite = [], np.ones(len(block.stamps), dtype=bool)
        try:
            for what, values in zip(self._names_of_fields, block.fields, strict=True):
                if values.shape[1] != len(block.names):
                    model.in_joint_order(block.names, values[0], what)  # raises
                order = model.in_joint_order(block.names, np.arange(float(len(block.names))), what).astype(int)
                columns.append(values[:, order])
                is_finite &= np.isfinite(columns[-1]).all(axis=1)
        except InputError as error:
            left_out[str(error)] += len(block.stamps)
            return None
        for k in np.flatnonzero(~is_finite):
            try:
                for what, values in zip(self._names_of_fields, block.fields, strict=True):
                    model.in_joint_order(block.names, values[k], what)
            except InputError as error:
                left_out[str(error)] += 1
        return block.stamps[is_finite], *(column[is_finite] for column in columns)

    def _digest(self) -> None:
        """Turn the messages that wait into blocks, and drop the oldest blocks."""
        pending, self._pending = self._pending, []
        for _, messages in itertools.groupby(pending, len):
            for block in _blocks([*messages], self._names_of_fields):
                is_new = np.diff(block.stamps, prepend=self._last_ns) != 0
                self._last_ns = int(block.stamps[-1])
                self._blocks.append(Block(block.names, block.stamps[is_new], tuple(x[is_new] for x in block.fields)))
                self._n += int(np.count_nonzero(is_new))
        while self._blocks and self._n - len(self._blocks[0].stamps) >= self._keep:
            self._drop(self._blocks.popleft())

    def _drop(self, block: Block) -> None:
        n, last = len(block.stamps), block.fields[-1]
        self._n, self.n_dropped = self._n - n, self.n_dropped + n
        largest = np.abs(last).max(axis=0, initial=0.0)
        is_same = list(self.names) == list(block.names) and self.largest.shape == largest.shape
        self.names, self.largest = block.names, np.maximum(self.largest, largest) if is_same else largest


def _blocks(messages: list[bytes], names: Sequence[str]) -> Iterator[Block]:
    """Blocks of messages of one length, each of one layout."""
    while messages:
        layout = JointStateLayout.of(messages[0])
        rows = np.frombuffer(b"".join(messages), dtype=np.uint8).reshape(len(messages), layout.length)
        mask, common = (
            np.frombuffer(number.to_bytes(layout.length, "little"), dtype=np.uint8)
            for number in (layout.mask, layout.common)
        )
        others = np.flatnonzero(((rows & mask) != common).any(axis=1))
        n = int(others[0]) if len(others) else len(messages)
        order = layout.order
        stamps = rows[:n, START : START + 8].copy().view(_stamp_type(order))
        numbers = rows[:n, layout.numbers].copy().view(f"{order}f8").reshape(n, -1).astype(np.float64)
        fields = tuple(numbers[:, getattr(layout, name)] for name in names)
        yield Block(layout.name, _nanoseconds(stamps[:, 0]), fields)
        messages = messages[n:]


def _nanoseconds(stamps: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return stamps["sec"].astype(np.int64) * NANOSECONDS + stamps["nanosec"]


def _stamp_type(order: str) -> np.dtype[np.void]:
    return np.dtype([("sec", f"{order}i4"), ("nanosec", f"{order}u4")])


def _stamp_in(raw: bytes) -> int:
    """Stamp of a serialised message that begins with a header [ns]."""
    return int(_nanoseconds(np.frombuffer(raw, _stamp_type(ENCODINGS[raw[:2]]), count=1, offset=START))[0])
