"""A recorded run as arrays: states, commands and targets with their stamps; and the motion of its end effector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.control import error_rows
from arm_control.core import BEGINNING_NS
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion import Target

Stamps = npt.NDArray[np.int64]
PART = 20_000
"""States of a record whose errors are computed at once."""


class WrenchSeries(NamedTuple):
    """Wrenches over time.

    Attributes
    ----------
    stamps : ndarray of int64, shape (n,)
        Stamp of the state that each belongs to [ns].
    values : ndarray, shape (n, 6)
        Force and moment [N, N m].
    """

    stamps: Stamps
    values: Array


@dataclass(frozen=True)
class Recording:
    """States, commands and targets of a run.

    Attributes
    ----------
    state_stamps : ndarray of int64, shape (n,)
        Stamp of each state, without repeated ones [ns].
    q, v : ndarray, shape (n, nv)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    command_stamps : ndarray of int64, shape (m,)
        Stamp of each command: that of the state it answers [ns].
    tau : ndarray, shape (m, nv)
        Commanded torque [N m or N].
    targets : tuple of Target
        Targets in the order of their stamps.
    wrenches : dict of str to WrenchSeries
        Wrenches of the hand by their topics, where there are any.
    has_first : bool
        Whether the first command of the run is there: of a long one only the newest are.
    """

    state_stamps: Stamps
    q: Array
    v: Array
    command_stamps: Stamps
    tau: Array
    targets: tuple[Target, ...]
    wrenches: dict[str, WrenchSeries] = field(default_factory=dict, kw_only=True)
    has_first: bool = field(default=True, kw_only=True)

    @property
    def t(self) -> Array:
        """Time of each state from the first one, shape (n,) [s]."""
        return (self.state_stamps - self.state_stamps[0]) * 1e-9

    @property
    def target_times(self) -> Array:
        """Times from the first state at which targets became active, shape (k,) [s]."""
        stamps = np.array([target.stamp_ns for target in self.targets], dtype=np.int64)
        return np.maximum(stamps[stamps <= self.state_stamps[-1]] - self.state_stamps[0], 0) * 1e-9

    @property
    def timestep_ns(self) -> int:
        """Shortest time between two states [ns]."""
        if self.state_stamps.size < 2:
            raise InputError("a recording with fewer than two states has no time step")
        return int(np.diff(self.state_stamps).min())

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return float(self.state_stamps[-1] - self.state_stamps[0]) * 1e-9 if self.state_stamps.size else 0.0

    @property
    def restarts(self) -> int:
        """How often time has gone back to the record's beginning and on from there, not to and fro as of two clocks."""
        stamps = self.state_stamps
        steps, begin_ns = np.diff(stamps, append=stamps[-1:]), stamps[:1] + BEGINNING_NS
        is_new = (stamps[1:] < begin_ns) & (stamps[:-1] >= begin_ns) & (steps[1:] < BEGINNING_NS)
        return int(np.count_nonzero(is_new))

    def until(self, stamp_ns: int) -> Recording:
        """Return the part up to and including a stamp [ns]."""
        targets = tuple(target for target in self.targets if target.stamp_ns <= stamp_ns)
        return self._part(lambda stamps: stamps <= stamp_ns, targets)

    def since_restart(self) -> Recording:
        """Return the part after the last time at which time has started over."""
        return self._part(_since_restart, self.targets)

    def _part(self, select: Callable[[Stamps], Any], targets: tuple[Target, ...]) -> Recording:
        """The entries that a mask or a slice of their stamps selects."""
        states, commands = select(self.state_stamps), select(self.command_stamps)
        rows = self.state_stamps[states], self.q[states], self.v[states]
        wrenches = {
            name: WrenchSeries(*(column[select(series.stamps)] for column in series))
            for name, series in self.wrenches.items()
        }
        rest = self.command_stamps[commands], self.tau[commands], targets
        return Recording(*rows, *rest, wrenches=wrenches, has_first=self.has_first)

    def save(self, path: str) -> None:
        """Write the arrays, without the targets, to a NumPy file."""
        np.savez(path, **self.arrays())

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the NumPy file by name."""
        arrays = {name: getattr(self, name) for name in ("state_stamps", "q", "v", "command_stamps", "tau")}
        for name, series in self.wrenches.items():
            arrays |= {f"{name}_stamps": series.stamps, name: series.values}
        return arrays


@dataclass(frozen=True)
class MotionRecord(Recording):
    """A recorded run with the motion of its end effector: all that figures and pictures of a run are made from.

    Attributes
    ----------
    p : ndarray, shape (n, 3)
        Position of the end effector in the world [m].
    V : ndarray, shape (n, 6)
        Its twist ``J v``, of the recorded velocities, world axes [m/s, rad/s].
    error : ndarray, shape (n, 6)
        Position error [m] and rotation vector of the orientation error [rad], world axes; NaN before the first target.
    goals : tuple of Pose
        The targets in the world, in the order of ``targets``.
    """

    p: Array
    V: Array
    error: Array
    goals: tuple[Pose, ...]

    @property
    def active(self) -> npt.NDArray[np.int64]:
        """Index of the active target in each state, shape (n,); -1 before the first one."""
        return np.searchsorted([target.stamp_ns for target in self.targets], self.state_stamps, side="right") - 1

    def at(self, times: Array) -> npt.NDArray[np.int64]:
        """Index of the last state that is not after each time [s]."""
        return np.clip(np.searchsorted(self.t, times + 1e-9, side="right") - 1, 0, len(self.t) - 1)


def motion_record(recording: Recording, model: RobotModel, most: int = 0) -> MotionRecord:
    """Return a recorded run with the motion of its end effector, relative to the active target.

    Parameters
    ----------
    model : RobotModel
        The arm, with the tip of its controller.
    most : int
        Largest number of states: of a longer run every second, third ... one is taken; 0 for all.

    Raises
    ------
    InputError
        When the recording has no state.
    """
    if not recording.state_stamps.size:
        raise InputError("a recording without a state has no motion")
    states = slice(None, None, -(-recording.state_stamps.size // most) if most else 1)
    stamps, q, v = recording.state_stamps[states], recording.q[states], recording.v[states]
    targets = tuple(target for target in recording.targets if target.stamp_ns <= stamps[-1])
    motion = model.batch("R_WE", "p_WE", "V_WE")(q, v)
    goals = goal_poses(targets, recording.state_stamps, recording.q, model)
    record = MotionRecord(
        stamps,
        q,
        v,
        recording.command_stamps,
        recording.tau,
        targets,
        motion["p_WE"],
        motion["V_WE"],
        np.full((len(stamps), 6), np.nan),
        goals,
        wrenches=recording.wrenches,
    )
    if goals:
        R_WT, p_WT = np.array([X.R for X in goals]), np.array([X.p for X in goals])
        active = record.active
        due = np.flatnonzero(active >= 0)
        for part in np.array_split(due, max(1, len(due) // PART)):
            now = active[part]
            record.error[part] = error_rows(motion["R_WE"][part], record.p[part], R_WT[now], p_WT[now])
    return record


def goal_poses(targets: Sequence[Target], stamps: Stamps, q: Array, model: RobotModel) -> tuple[Pose, ...]:
    """Return the poses of targets in the world; one in the frame of a link is where that was when it became active.

    No target is after the last of the states, of which stamps (n,) [ns] and joint positions (n, nq) [rad or m] are
    given.
    """
    states = np.searchsorted(stamps, [target.stamp_ns for target in targets])
    return tuple(model.pose(q[k], target.frame) @ target.X_FT for k, target in zip(states, targets, strict=True))


@dataclass(frozen=True)
class Trace(MotionRecord):
    """A simulated run, with quantities that the topics do not have in every tick; errors are those of the law.

    Attributes
    ----------
    p_des : ndarray, shape (n, 3)
        Desired position of the end effector in the world [m].
    terms : dict of str to ndarray, shape (n, nv)
        Terms of the law's torque [N m or N].
    coarse_stamps : ndarray of int64, shape (m,)
        Stamps of the quantities with a lower rate [ns].
    condition : ndarray, shape (m,)
        Condition number of the Jacobian.
    distance : ndarray, shape (m,)
        Distance from the arm's capsules to the nearest obstacle [m], negative inside, infinite without obstacles.
    tau_asked : ndarray, shape (n, nv)
        Torque of the law, before the gate [N m or N].
    braking : ndarray of bool, shape (n,)
        Whether the gate braked.
    end_reason : str
        Reason for an early end; empty without one.
    contact : ndarray, shape (n, 6), or (0, 6)
        Wrench of solid obstacles on the end effector, world axes [N, N m]; empty without any.
    wanted : ndarray, shape (n, 6), or (0, 6)
        Wrench that the end effector is to exert, world axes [N, N m]; empty where the law has no contact.
    touching : int or None
        Number of steps in which anything touched; None where the links touch nothing.
    margins : dict of str to ndarray, shape (m,)
        What is left of each constraint of the gate, below zero where it did not hold [m, rad or m/s].
    """

    p_des: Array
    terms: dict[str, Array]
    coarse_stamps: Stamps
    condition: Array
    distance: Array
    tau_asked: Array
    braking: npt.NDArray[np.bool_]
    end_reason: str = ""
    contact: Array = field(default_factory=lambda: np.zeros((0, 6)))
    wanted: Array = field(default_factory=lambda: np.zeros((0, 6)))
    touching: int | None = None
    margins: dict[str, Array] = field(default_factory=dict)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the NumPy file by name; the torque's terms as ``tau_<term>``."""
        names = (
            "p",
            "p_des",
            "error",
            "coarse_stamps",
            "condition",
            "distance",
            "tau_asked",
            "braking",
            "contact",
            "wanted",
        )
        own = {name: getattr(self, name) for name in names}
        own |= {f"tau_{name}": tau for name, tau in self.terms.items()}
        own |= {f"margin_{name}": margin for name, margin in self.margins.items()}
        return {**super().arrays(), **own}


def _since_restart(stamps: Stamps) -> slice:
    """Entries behind the last decrease of the stamps."""
    decreases = np.flatnonzero(np.diff(stamps) < 0)
    return slice(int(decreases[-1]) + 1 if decreases.size else 0, None)
