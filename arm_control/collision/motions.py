"""Checks many straight motions at once: the compiled law of motions and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision.arm_text import ArmText
from arm_control.collision.kernel_samples import sample_states, sample_tables
from arm_control.collision.motion_columns import MotionColumns
from arm_control.collision.motion_law import PROGRESS, START, motion_law
from arm_control.collision.obstacle_rows import SPEED
from arm_control.compiler import BoundRepeat, RepeatKernel
from arm_control.maths import Array

FIRST_TOLERANCE = 1e-9
"""Share of a motion to which a first contact is found."""
CAPACITY = 64
"""Motions that memory is made for at first."""
_START = np.array(START)[:, None]


class Motions(NamedTuple):
    """Results for N motions.

    Attributes
    ----------
    is_free : ndarray of bool, shape (N,)
        Whether it was proved free.
    is_contact : ndarray of bool, shape (N,)
        Whether a contact was seen; where neither holds, the number of looks was not enough.
    covered : ndarray, shape (N,)
        The motion is free up to this share of it.
    contact : ndarray, shape (N,)
        Share of the motion at which the contact was seen; 1 where none was.
    looks : ndarray of int, shape (N,)
        Number of places looked at.
    """

    is_free: npt.NDArray[np.bool_]
    is_contact: npt.NDArray[np.bool_]
    covered: Array
    contact: Array
    looks: npt.NDArray[np.int_]


class MotionChecks:
    """Checks motions among obstacles; compiled for the kinds of obstacles there are.

    Parameters
    ----------
    arm : ArmText
    margins : ndarray, shape (2,)
        Smallest distances that count as free, to obstacles and between links [m].

    Attributes
    ----------
    memory : dict of str to ndarray
        Columns of the motions: inputs ``a``, ``b``, ``times``, ``deviation``; results.
    """

    def __init__(self, arm: ArmText, margins: Array) -> None:
        self._arm, self._n = arm, arm.shape.model.nq
        self._shared = {"margins": np.append(margins, 0.0), "tolerance": np.zeros(1), "nothing": np.full(1, np.nan)}
        self._kernels: dict[tuple[tuple[str, ...], bool], RepeatKernel] = {}
        self._calls: dict[tuple[tuple[str, ...], bool], BoundRepeat] = {}
        self.memory = {"a": np.zeros((self._n, 0))}
        self.place({})

    def place(self, tables: Mapping[str, Array]) -> None:
        """Check against the obstacles in these tables from now on."""
        self._tables = dict(tables)
        self._shared["margins"][2] = max((table[:, SPEED].max() for table in tables.values()), default=0.0)
        kinds = tuple(tables)
        for (bound_to, _), call in self._calls.items():
            if bound_to == kinds:
                for kind in kinds:
                    call.replace_table(kind, self._tables[kind])

    def reserve(self, n: int) -> dict[str, Array]:
        """Return memory for n motions or more, in its columns."""
        if self.memory["a"].shape[1] < n:
            size = CAPACITY
            while size < n:
                size *= 2
            rows = {"a": self._n, "b": self._n, "times": 2, "deviation": self._n, "progress": len(PROGRESS)}
            rows |= {"more": 1, "repetitions": 1}
            self.memory = {name: np.zeros((k, size)) for name, k in rows.items()}
            self._calls = {}
        return self.memory

    def check(self, n: int, has_deviation: bool, is_first: bool, most_looks: int) -> Motions:
        """Check the first n motions in the memory.

        Parameters
        ----------
        n : int
            How many.
        has_deviation : bool
            Whether joints deviate, by the numbers in the memory.
        is_first : bool
            Whether the first contact is searched for; else any.
        most_looks : int
            Largest number of places of one motion that are looked at.
        """
        self.memory["progress"][:, :n] = _START
        self._shared["tolerance"][0] = FIRST_TOLERANCE if is_first else np.inf
        self._bound(has_deviation)(n, most_looks)
        covered, _, end, hit, *_ = self.memory["progress"][:, :n].copy()
        is_contact = hit > 0.0
        is_free = np.isnan(self.memory["more"][0, :n]) & ~is_contact
        return Motions(is_free, is_contact, covered, end, self.memory["repetitions"][0, :n].astype(int))

    def columns(self, n: int) -> MotionColumns:
        """Return memory for n motions or more to procedures, which check them for any contact.

        It holds until other kinds of obstacles are placed, or more motions are checked at once.
        """
        memory = self.reserve(n)
        self._shared["tolerance"][0] = np.inf
        a, b, times, progress, more = (memory[name] for name in ("a", "b", "times", "progress", "more"))
        return MotionColumns(a, b, times, progress, more, np.array(START), self._bound(False))

    def _bound(self, has_deviation: bool) -> BoundRepeat:
        key = tuple(self._tables), has_deviation
        if key not in self._calls:
            arrays = {**self.memory, **self._shared, **self._tables}
            self._calls[key] = self._kernel(has_deviation).bind(arrays, 1)
        return self._calls[key]

    def _kernel(self, has_deviation: bool) -> RepeatKernel:
        kinds = tuple(self._tables)
        key = kinds, has_deviation
        if key not in self._kernels:
            n, model = 9, self._arm.shape.model
            a = sample_states(model, n)
            samples = {"a": a, "b": a[:, ::-1] * 0.9, "times": np.array([[0.0], [1.0]]) + np.linspace(0.0, 0.5, n)}
            samples |= {
                "progress": np.repeat(np.array(START)[:, None], n, axis=1),
                "deviation": np.full((self._n, n), 0.01),
            }
            samples |= self._shared | {"margins": np.array([0.01, 0.0, 1e13])}
            samples |= {"tolerance": np.array([0.01]), "nothing": np.array([-7.0])} | sample_tables(kinds)
            self._kernels[key] = model.compile_law(motion_law(self._arm, kinds, has_deviation), samples)
        return self._kernels[key]
