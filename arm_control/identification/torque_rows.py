"""Torque averaged over short windows of a recording, and what it is made of: the rows of a least squares problem.

Equation (1) of :mod:`~arm_control.identification.momentum_regressor` holds a derivative. A smooth window phi, zero at
both ends, moves it away from what was measured:

    (1)  integral phi tau dt = - integral dphi/dt p dt - integral phi (C^T v - g) dt
    (2)  phi(s) ~ (1 - s^2)^3,   s = (t - t_m) / T,   |s| < 1,   integral phi dt = 1

so that (1) is the torque at t_m, averaged without delay, and no acceleration is computed: noise of the velocities is
divided by T, not by the time between two states. Sums over the recorded states stand for the integrals; their weights
are exact for lines, however the states lie in time. The same windows average what a motor adds at a joint,

    (3)  tau_motor = I a + c sign(v) + b v + o           a from the velocities by -dphi/dt

    I, c, b, o    rotor inertia, Coulomb and viscous friction, offset      [kg m^2; N m; N m s/rad; N m]
    T             half of a window                                         [s]

Source: M. Preisig, D. Rippin, "Theory and application of the modulating function method", 1993, for (1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.identification.momentum_regressor import (
    BodyMotions,
    body_motions,
    momentum_terms,
    own_frame,
    parameters_of,
)
from arm_control.identification.stribeck_friction import stribeck_columns
from arm_control.maths import Array
from arm_control.model import Frame, RobotModel

STEP = 5e-3
"""States closer than this are averaged first [s]."""
LONGEST_GAP = 0.5
"""Largest time between two states of a window, as a share of T."""
AT_ONCE = 2000
"""States whose regressor is in memory at once, about."""


class JointRecording(NamedTuple):
    """States and torques of an arm.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Times, increasing [s].
    q, v, tau : ndarray, shape (N, n)
        Joint positions [rad or m], velocities [rad/s or m/s] and measured torques [N m or N].
    """

    t: Array
    q: Array
    v: Array
    tau: Array


@dataclass(frozen=True)
class TorqueRows:
    """Averages over m windows.

    Attributes
    ----------
    t : ndarray, shape (m,)
        Middle of each window [s].
    tau : ndarray, shape (m, n)
        Measured torque [N m or N].
    model : ndarray, shape (m, n)
        Torque by the model without rotors [N m or N].
    motor : ndarray, shape (m, n, 4)
        Columns of I, c, b and o of the joint's own motor, equation (3).
    bodies : ndarray, shape (m, n, k)
        Columns of Stribeck friction, if any, by joint and grid speed; then of rigid bodies, ten for each.
    slowest : ndarray, shape (m, n)
        Smallest speed within the window [rad/s or m/s].
    """

    t: Array
    tau: Array
    model: Array
    motor: Array
    bodies: Array
    slowest: Array


def torque_rows(
    model: RobotModel, recording: JointRecording, frames: Sequence[Frame], half: float, *, has_stribeck: bool = False
) -> TorqueRows:
    """Average a recording and its regressor.

    Parameters
    ----------
    recording : JointRecording
        At least a few windows long.
    frames : sequence of Frame
        Frames of the rigid bodies whose parameters are columns.
    half : float
        T, half of a window [s].
    has_stribeck : bool
        Whether columns of Stribeck friction stand before those of the bodies.

    Raises
    ------
    InputError
        When the recording is shorter than a window, or has gaps in all of them.
    """
    x = _thinned(recording, STEP)
    parts = [
        _part(model, JointRecording(*(values[states] for values in x)), frames, middles, half, has_stribeck)
        for middles, states in _parts(x.t, half)
    ]
    parts = [part for part in parts if len(part.t)]
    if not parts:
        raise InputError(
            f"{x.t[-1] - x.t[0]:.2f} s with {len(x.t)} states: no window of {2 * half:g} s is without a gap"
        )
    fields = TorqueRows.__dataclass_fields__
    return TorqueRows(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


def _thinned(x: JointRecording, step: float) -> JointRecording:
    """Means over spans of time."""
    span = np.floor((x.t - x.t[0]) / step)
    begins = np.flatnonzero(np.r_[True, np.diff(span) > 0])
    counts = np.diff(np.r_[begins, len(x.t)])
    if len(begins) == len(x.t):
        return x
    return JointRecording(*(np.add.reduceat(values, begins) / _column(counts, values) for values in x))


def _column(counts: Array, values: Array) -> Array:
    return counts.reshape(-1, *[1] * (values.ndim - 1))


def _parts(t: Array, half: float) -> list[tuple[Array, slice]]:
    """Middles of windows that lie within the recording, in groups, with the states that each group needs."""
    middles = np.arange(t[0] + half, t[-1] - half + 1e-9, half)
    low, high = np.searchsorted(t, middles - half, "left"), np.searchsorted(t, middles + half, "right")
    groups, begin = [], 0
    for k in range(len(middles)):
        if k + 1 == len(middles) or high[k + 1] - low[begin] > AT_ONCE:
            groups.append((middles[begin : k + 1], slice(int(low[begin]), int(high[k]))))
            begin = k + 1
    return groups


def _part(
    model: RobotModel, x: JointRecording, frames: Sequence[Frame], middles: Array, half: float, has_stribeck: bool
) -> TorqueRows:
    """Rows of some windows, from the states within them."""
    middles, inside = _complete(x.t, middles, half)
    mean, slope = _weights(x.t, middles, half)
    motions = body_motions(model.tree, x.q, x.v)
    known = _model_terms(model, motions)
    bodies = [_averaged(momentum_terms(model.tree, motions, frame), mean, slope) for frame in frames]
    n = model.nv
    if has_stribeck:
        bodies.insert(0, _per_joint(np.tensordot(mean, stribeck_columns(x.v), axes=1)))
    slowest = np.array([np.abs(x.v[i]).min(axis=0) for i in inside]).reshape(-1, n)
    motor = [slope @ x.v, mean @ np.sign(x.v), mean @ x.v, np.ones((len(middles), n))]
    return TorqueRows(
        middles,
        mean @ x.tau,
        _averaged(known, mean, slope)[..., 0],
        np.stack(motor, axis=-1),
        np.concatenate([np.zeros((len(middles), n, 0)), *bodies], axis=-1),
        slowest,
    )


def _complete(t: Array, middles: Array, half: float) -> tuple[Array, list[slice]]:
    """Windows without a gap, and the states within each."""
    kept, inside = [], []
    for middle in middles.tolist():
        i = slice(*np.searchsorted(t, (middle - half, middle + half)).tolist())
        times = np.r_[middle - half, t[i], middle + half]
        if np.diff(times).max() < LONGEST_GAP * half:
            kept.append(middle)
            inside.append(i)
    return np.array(kept), inside


def _weights(t: Array, middles: Array, half: float) -> tuple[Array, Array]:
    """Weights of a mean and of its derivative, (1) and (2), shape (m, N): exact for a constant and for a line."""
    dt = np.gradient(t)
    s = np.clip((t - middles[:, None]) / half, -1.0, 1.0)
    phi, rate = (1.0 - s * s) ** 3 * dt, 6.0 * s * (1.0 - s * s) ** 2 * dt
    mean = phi / phi.sum(axis=1, keepdims=True)
    slope = rate - mean * rate.sum(axis=1, keepdims=True)
    return mean, slope / (slope * (t - middles[:, None])).sum(axis=1, keepdims=True)


def _averaged(terms: Array, mean: Array, slope: Array) -> Array:
    """Right side of (1), shape (m, n, k)."""
    p, rest = (np.reshape(x, (len(x), -1)) for x in (terms[0], terms[2] - terms[1]))
    return (slope @ p + mean @ rest).reshape(-1, *terms.shape[2:])


def _per_joint(columns: Array) -> Array:
    """Columns (m, n, K) of each joint as columns of all joints, shape (m, n, n K), zero at the others."""
    m, n, _ = columns.shape
    return (columns[:, :, None] * np.eye(n)[:, :, None]).reshape(m, n, -1)


def _model_terms(model: RobotModel, motions: BodyMotions) -> Array:
    """Sum over the model's own bodies, one column."""
    own = [
        momentum_terms(model.tree, motions, own_frame(i), parameters_of(body.inertia)[:, None])
        for i, body in enumerate(model.tree.bodies)
    ]
    return np.sum(own, axis=0)
