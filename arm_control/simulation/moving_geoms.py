"""Obstacles that move as they are told, as bodies of a MuJoCo simulation: nothing stops them, and links touch them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.exceptions import MissingExtra
from arm_control.maths import Mover
from arm_control.simulation.tip_contact import MOVING, SURFACE, geom_of

try:
    import mujoco
except ImportError as error:
    raise MissingExtra("mujoco", "mujoco") from error

NAME = "moving obstacle"
"""First words of the bodies' names."""
AWAY = np.array([0.0, 0.0, -1e3])
"""Place of an obstacle in the time in which it is not there [m]."""


def add_movers(spec: mujoco.MjSpec, movers: Sequence[Mover]) -> None:
    """Add obstacles to an arm that is not compiled yet.

    Parameters
    ----------
    spec : mujoco.MjSpec
        The arm, with the capsules of its links.
    movers : sequence of Mover

    Raises
    ------
    ModelError
        For a shape that MuJoCo does not have.
    """
    for i, mover in enumerate(movers):
        kind, size = geom_of(mover.obstacle.shape)
        body = spec.worldbody.add_body(name=f"{NAME} {i}", mocap=True, pos=AWAY)
        body.add_geom(type=kind, size=size, contype=0, conaffinity=MOVING, **SURFACE)


class MovingGeoms:
    """The moving obstacles of one simulation.

    Parameters
    ----------
    mujoco_model : mujoco.MjModel
        An arm compiled after :func:`add_movers`.
    data : mujoco.MjData
        Its state.
    movers : sequence of Mover
    """

    def __init__(self, mujoco_model: mujoco.MjModel, data: mujoco.MjData, movers: Sequence[Mover]) -> None:
        self._data, self._movers = data, tuple(movers)
        self._bodies = [int(mujoco_model.body(f"{NAME} {i}").mocapid[0]) for i in range(len(movers))]

    def place(self, t: float) -> None:
        """Put all obstacles where they are told to be at a time [s]."""
        for mover, k in zip(self._movers, self._bodies, strict=True):
            if not mover.span.holds(t):
                self._data.mocap_pos[k] = AWAY
                continue
            X = mover.at(t).X_WO
            self._data.mocap_pos[k] = X.p
            mujoco.mju_mat2Quat(self._data.mocap_quat[k], X.R.ravel())
