"""Points that joints are to go through, each at its time, checked against the arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel
from arm_control.motion.references import JointReference

SLACK = 1e-6
"""What rounding may add to a limit."""


@dataclass(frozen=True)
class Waypoints:
    """Points to go through, in the model's joint order.

    Attributes
    ----------
    times : ndarray, shape (n,)
        When, from the start of the trajectory [s].
    qs : ndarray, shape (n, nv)
        Positions [rad or m].
    vs, as_ : ndarray, shape (n, nv), or None
        Velocities, and accelerations, where they are given.
    """

    times: Array
    qs: Array
    vs: Array | None = None
    as_: Array | None = None

    @classmethod
    def checked(
        cls,
        model: RobotModel,
        names: Sequence[str],
        times: Sequence[float],
        positions: npt.ArrayLike,
        velocities: npt.ArrayLike | None = None,
        accelerations: npt.ArrayLike | None = None,
    ) -> Waypoints:
        """Points as somebody sent them, refused where no arm should follow them.

        Parameters
        ----------
        model : RobotModel
            The arm.
        names : sequence of str
            Joint of each column, any order.
        times : sequence of float
            From the start [s].
        positions, velocities, accelerations : array_like, shape (n, len(names))
            One row for each point; accelerations only together with velocities.

        Raises
        ------
        InputError
            When a joint is missing or named twice, a number is not finite, a size is wrong, the times do not
            increase from 0, the last point is not after the start or not at rest, or a limit is broken.
        """
        moments = np.array(times, dtype=float)
        _refuse_times(moments)
        if accelerations is not None and velocities is None:
            raise InputError("accelerations without velocities: give both, or neither")
        qs = _rows(model, names, moments.size, positions, "positions")
        vs = None if velocities is None else _rows(model, names, moments.size, velocities, "velocities")
        as_ = None if accelerations is None else _rows(model, names, moments.size, accelerations, "accelerations")
        if vs is not None and np.abs(vs[-1]).max() > 0.0:
            raise InputError(f"the last point moves at {vs[-1].tolist()}: it must be at rest")
        refuse_beyond(model, qs, vs, moments)
        return cls(moments, qs, vs, as_)


def identification_sweep(q: Array, angle: float = np.pi / 4, time: float = 1.0) -> Waypoints:
    """Turn one joint after the other by an angle and back, so that one sees which motor is which.

    Parameters
    ----------
    q : ndarray, shape (nv,)
        Where the arm is [rad or m].
    angle : float
        How far [rad or m].
    time : float
        For each way [s].
    """
    qs = np.repeat(q[None].astype(float), 2 * q.size, axis=0)
    qs[2 * np.arange(q.size), np.arange(q.size)] += angle
    still = np.zeros_like(qs)
    return Waypoints(time * np.arange(1, 2 * q.size + 1), qs, still, still)


def refuse_beyond(
    model: RobotModel, qs: Array, vs: Array | None, times: Array, start: JointReference | None = None
) -> None:
    """Raise :class:`InputError` where positions or velocities, a row for each time, are beyond the arm's limits.

    A motion that starts beyond them may stay there, and go no further.
    """
    low, high, fast = model.q_min, model.q_max, model.v_max
    if start is not None:
        low, high = np.minimum(low, start.q_des), np.maximum(high, start.q_des)
        fast = np.maximum(fast, np.abs(start.v_des))
    for what, values, least, most in (("position", qs, low, high), ("velocity", vs, -fast, fast)):
        if values is None:
            continue
        bad = np.argwhere((values < least - SLACK) | (values > most + SLACK))
        if bad.size:
            row, j = bad[0]
            raise InputError(
                f"{what} beyond the limit: {model.joint_names[j]} at {values[row, j]:.4f} after {times[row]:.3f} s,"
                f" allowed {least[j]:.4f} to {most[j]:.4f}"
            )


def _refuse_times(times: Array) -> None:
    if times.ndim != 1 or not times.size:
        raise InputError("no points: at least one is needed")
    if not np.isfinite(times).all() or times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise InputError(f"times do not increase: {times.tolist()} s, each must be later, the first at 0 or later")
    if times[-1] == 0.0:
        raise InputError("no time: the last point must be later than the start")


def _rows(model: RobotModel, names: Sequence[str], n: int, values: Any, what: str) -> Array:
    """Rows by joint name in the model's order, shape (n, nv)."""
    if len(values) != n:
        raise InputError(f"{what} of {len(values)} points, times of {n}")
    return np.array([model.in_joint_order(names, row, what) for row in values])
