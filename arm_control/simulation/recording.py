"""A recorded run as arrays: states, commands and targets with their stamps. No ROS here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.motion import Target

Stamps = npt.NDArray[np.int64]


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

    def part(self, which: Any) -> WrenchSeries:
        """Return those that a mask or a slice selects."""
        return WrenchSeries(self.stamps[which], self.values[which])


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
    """

    state_stamps: Stamps
    q: Array
    v: Array
    command_stamps: Stamps
    tau: Array
    targets: tuple[Target, ...]
    wrenches: dict[str, WrenchSeries] = field(default_factory=dict, kw_only=True)

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

    def until(self, stamp_ns: int) -> Recording:
        """Return the part up to and including a stamp [ns]."""
        states = self.state_stamps <= stamp_ns
        commands = self.command_stamps <= stamp_ns
        return Recording(
            self.state_stamps[states],
            self.q[states],
            self.v[states],
            self.command_stamps[commands],
            self.tau[commands],
            tuple(target for target in self.targets if target.stamp_ns <= stamp_ns),
            wrenches={name: series.part(series.stamps <= stamp_ns) for name, series in self.wrenches.items()},
        )

    def since_restart(self) -> Recording:
        """Return the part after the last time at which time has started over."""
        states, commands = (_since_restart(stamps) for stamps in (self.state_stamps, self.command_stamps))
        return Recording(
            self.state_stamps[states],
            self.q[states],
            self.v[states],
            self.command_stamps[commands],
            self.tau[commands],
            self.targets,
            wrenches={name: series.part(_since_restart(series.stamps)) for name, series in self.wrenches.items()},
        )

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
class Trace(Recording):
    """A simulated run, with quantities that the topics do not have in every tick.

    Attributes
    ----------
    p, p_des : ndarray, shape (n, 3)
        Position and desired position of the end effector in the world [m].
    error : ndarray, shape (n, 6)
        Position error [m] and rotation vector of the orientation error [rad], world axes.
    terms : dict of str to ndarray, shape (n, nv)
        Terms of the law's torque [N m or N].
    coarse_stamps : ndarray of int64, shape (m,)
        Stamps of the quantities with a lower rate [ns].
    condition : ndarray, shape (m,)
        Condition number of the Jacobian.
    distance : ndarray, shape (m,)
        Distance from the arm's capsules to the nearest obstacle [m], negative inside, infinite without obstacles.
    goals : tuple of Pose
        The targets in the world, in the order of ``targets``.
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
    """

    p: Array
    p_des: Array
    error: Array
    terms: dict[str, Array]
    coarse_stamps: Stamps
    condition: Array
    distance: Array
    goals: tuple[Pose, ...]
    tau_asked: Array
    braking: npt.NDArray[np.bool_]
    end_reason: str = ""
    contact: Array = field(default_factory=lambda: np.zeros((0, 6)))
    wanted: Array = field(default_factory=lambda: np.zeros((0, 6)))
    touching: int | None = None

    @property
    def t(self) -> Array:
        """Time of each state from the first one, shape (n,) [s]."""
        return (self.state_stamps - self.state_stamps[0]) * 1e-9

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
        return {**super().arrays(), **own, **{f"tau_{name}": tau for name, tau in self.terms.items()}}


def _since_restart(stamps: Stamps) -> slice:
    """Entries behind the last decrease of the stamps."""
    decreases = np.flatnonzero(np.diff(stamps) < 0)
    return slice(int(decreases[-1]) + 1 if decreases.size else 0, None)
