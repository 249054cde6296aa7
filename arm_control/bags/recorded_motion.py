"""The part of a recording from which a motion is learnt: positions of joints over time, and what is odd about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arm_control.bags.bag import JointSeries
from arm_control.exceptions import BagError, JointNotFound
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel

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
        """Return a part of the path.

        Parameters
        ----------
        start : float
            Time to skip [s].
        duration : float
            Length of the part [s]; 0: to the end.
        rate : float
            Speed of the motion, as a factor: the times are divided by it.

        Raises
        ------
        BagError
            When no state is in the part.
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
    """Return a sentence for all that makes a path a poor demonstration.

    Parameters
    ----------
    path : RecordedPath
        The path; at least two states.
    """
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
