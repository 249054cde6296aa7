"""Motions in columns of memory, as procedures check them (:mod:`arm_control.compiler.procedures`)."""

from __future__ import annotations

from typing import NamedTuple

from arm_control.collision.motion_law import PROGRESS, START
from arm_control.compiler import Floats, Rows, RunsCases, procedure

COVERED, HIT = PROGRESS.index("covered"), PROGRESS.index("hit")
ALL = len(START)


class MotionColumns(NamedTuple):
    """Memory for many motions, a column each, and the law that checks them.

    Attributes
    ----------
    a, b : ndarray, shape (n, size)
        Joint positions from which and to which they go [rad or m].
    times : ndarray, shape (2, size)
        Of both [s].
    progress, more : ndarray, shape (9, size) and (1, size)
        Results; see :mod:`arm_control.collision.motion_law`.
    start : ndarray, shape (9,)
        Progress before the first look.
    check : RunsCases
        The law.
    """

    a: Rows
    b: Rows
    times: Rows
    progress: Rows
    more: Rows
    start: Floats
    check: RunsCases


@procedure
def check_motions(motions: MotionColumns, n: int, most_looks: int) -> None:
    """Check the first n motions."""
    for i in range(ALL):
        for k in range(n):
            motions.progress[i, k] = motions.start[i]
    motions.check(n, most_looks)


@procedure
def is_contact(motions: MotionColumns, k: int) -> bool:
    """Whether a contact was seen."""
    return motions.progress[HIT, k] > 0.0


@procedure
def is_free(motions: MotionColumns, k: int) -> bool:
    """Whether a motion was proved free: its last output is not a number, and no contact was seen."""
    return motions.more[0, k] != motions.more[0, k] and not motions.progress[HIT, k] > 0.0


@procedure
def covered(motions: MotionColumns, k: int) -> float:
    """Share up to which a motion is free."""
    return motions.progress[COVERED, k]
