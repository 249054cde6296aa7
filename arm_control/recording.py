"""A recorded run as arrays: states, commands and targets, each with its stamps. No ROS here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.reference import Target
from arm_control.spatial import Array

Stamps = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Recording:
    """What went over the topics.

    Attributes
    ----------
    state_stamps : ndarray of int64, shape (n,)
        Stamp of each state, repeated ones left out [ns].
    q, v : ndarray, shape (n, nv)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    command_stamps : ndarray of int64, shape (m,)
        Stamp of each command: that of the state it answers [ns].
    tau : ndarray, shape (m, nv)
        Commanded torque [N m or N].
    targets : tuple of Target
        Targets, by the moment they act from.
    """

    state_stamps: Stamps
    q: Array
    v: Array
    command_stamps: Stamps
    tau: Array
    targets: tuple[Target, ...]

    @property
    def timestep_ns(self) -> int:
        """Smallest time between two states [ns]."""
        if self.state_stamps.size < 2:
            raise InputError("a recording with fewer than two states has no time step")
        return int(np.diff(self.state_stamps).min())

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return float(self.state_stamps[-1] - self.state_stamps[0]) * 1e-9 if self.state_stamps.size else 0.0

    def until(self, stamp_ns: int) -> Recording:
        """The part up to a stamp, itself included [ns]."""
        states, commands = self.state_stamps <= stamp_ns, self.command_stamps <= stamp_ns
        return Recording(
            self.state_stamps[states],
            self.q[states],
            self.v[states],
            self.command_stamps[commands],
            self.tau[commands],
            tuple(target for target in self.targets if target.stamp_ns <= stamp_ns),
        )

    def save(self, path: str) -> None:
        """Write states and commands to a NumPy file."""
        arrays = {name: getattr(self, name) for name in ("state_stamps", "q", "v", "command_stamps", "tau")}
        np.savez(path, **arrays)
