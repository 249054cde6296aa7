"""Exciting motions: periodic joint trajectories from which every identifiable parameter of an arm can be told.

    (1)  q_j(t) = c_j + sum_k (A_jk sin(k w t) + B_jk cos(k w t)),   w = 2 pi / period,   k = 1 to n_harmonics
    (2)  sum_k k A_jk = 0,   sum_k k^2 B_jk = 0                      at rest, without acceleration, at both ends

With the regressor Y of inertias and motors along the motion, rows divided by the torque limits and columns by those of
a first motion, an error of the torque reaches the parameters by

    (3)  cond(Y V) = largest / smallest singular value               V: what any motion can tell

The smallest (3) is looked for by random motions, then by random changes of the best one. Each is stretched to its
limits of range, speed and acceleration; one that needs more torque than allowed, or comes too near to the arm itself or
to the floor, is made smaller, or refused.

    q, c, A, B    position, centre, amplitudes      [rad or m]

Sources: J. Swevers et al., "Optimal robot excitation and identification", 1997, for (1); M. Gautier, W. Khalil,
"Exciting trajectories for the identification of base inertial parameters of robots", 1992, for (3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arm_control.core import Parameters, parameter, progress_bar
from arm_control.exceptions import InputError
from arm_control.identification.momentum_regressor import body_motions, momentum_terms, own_frame
from arm_control.maths import Array
from arm_control.model import RobotModel, drawn_range
from arm_control.motion import Waypoints

IsFree = Callable[[Array], bool]
"""Whether an arm at joint positions (nq,) is clear of itself and of its surroundings."""
SAMPLES = 160
"""States of a period in which (3), torque and distances are computed."""
SMALLEST_SHARE = 1e-7
"""Singular values below this share of the largest belong to what no motion can tell."""
SHRUNK, N_SHRUNK = 0.75, 6
"""Factor of the amplitudes of a motion that is not allowed, and sizes that are tried."""
FIRST_STEP, SHRINKING = 0.5, 0.97
"""Size of random changes relative to the amplitudes, and its factor after each refused one."""


@dataclass(frozen=True)
class ExcitationParameters(Parameters):
    """What an exciting motion may do."""

    period: float = parameter(10.0, "duration of a period", unit="s", lower=0.5, upper=1000.0)
    periods: int = parameter(2, "number of periods", lower=1, upper=100)
    lead_time: float = parameter(4.0, "time to the first point", unit="s", lower=0.1, upper=1000.0)
    n_harmonics: int = parameter(5, "harmonics of the series", lower=2, upper=50)
    posture: tuple[float, ...] = parameter((), "centre of the motion; empty: anywhere within the limits", unit="rad")
    swing: float = parameter(1.2, "largest distance of a joint from its centre", unit="rad or m", lower=1e-3)
    range_share: float = parameter(0.8, "of the range between the position limits", lower=0.01, upper=1.0)
    speed_share: float = parameter(0.5, "of the speed limits", lower=0.01, upper=1.0)
    acceleration: float = parameter(6.0, "largest acceleration", unit="rad/s^2 or m/s^2", lower=1e-3)
    torque_share: float = parameter(0.7, "of the effort limits", lower=0.01, upper=1.0)
    trials: int = parameter(120, "motions that are tried", lower=1, upper=100000)
    seed: int = parameter(0, "seed of all random numbers", lower=0)


@dataclass(frozen=True)
class Excitation:
    """An exciting motion of n joints.

    Attributes
    ----------
    points : Waypoints
        Its points; the first is at rest, after ``lead_time``.
    condition : float
        Equation (3).
    speed_share, torque_share : ndarray, shape (n,)
        Largest speed and torque, as shares of the limits.
    """

    points: Waypoints
    condition: float
    speed_share: Array
    torque_share: Array


@dataclass(frozen=True)
class _Series:
    """A series (1): centre (n,) and amplitudes A, B (n_harmonics, n)."""

    c: Array
    A: Array
    B: Array

    def motion(self, t: Array, period: float) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times, shape (len(t), n) each."""
        kw = 2.0 * np.pi / period * np.arange(1, len(self.A) + 1)
        s, c = np.sin(np.outer(t, kw)), np.cos(np.outer(t, kw))
        q = self.c + s @ self.A + c @ self.B
        v = (c * kw) @ self.A - (s * kw) @ self.B
        return q, v, -(s * kw**2) @ self.A - (c * kw**2) @ self.B


class _Candidates:
    """Motions of one arm within its limits, and how much they tell."""

    def __init__(self, model: RobotModel, parameters: ExcitationParameters, is_free: IsFree) -> None:
        self._model, self._p, self._is_free = model, parameters, is_free
        self._rng = np.random.default_rng(parameters.seed)
        self._t = parameters.period * np.arange(SAMPLES) / SAMPLES
        self._torque = model.batch("tau")
        low, high = drawn_range(model.q_min, model.q_max)
        self._middle, self._reach = 0.5 * (low + high), 0.5 * parameters.range_share * (high - low)
        self._basis: Array | None = None

    def draw(self) -> _Series:
        """Return a random motion."""
        n, k = self._model.nv, np.arange(1, self._p.n_harmonics + 1)[:, None]
        A, B = self._rng.normal(size=(2, len(k), n)) / k
        if self._p.posture:
            return self._within(_Series(np.array(self._p.posture), A, B))
        room = np.maximum(self._reach - self._p.swing, 0.0)
        return self._within(_Series(self._middle + room * self._rng.uniform(-1.0, 1.0, n), A, B))

    def changed(self, shape: _Series, size: float) -> _Series:
        """Return a motion near another one; the size is relative to its amplitudes."""
        spread = size * max(float(np.abs(shape.A).max()), float(np.abs(shape.B).max())) / len(shape.A)
        A, B = self._rng.normal(scale=spread, size=(2, *shape.A.shape))
        c = shape.c if self._p.posture else shape.c + self._rng.normal(scale=0.2 * size, size=shape.c.shape)
        return self._within(_Series(c, shape.A + A, shape.B + B))

    def _within(self, shape: _Series) -> _Series:
        """The motion with (2), stretched to its limits."""
        k = np.arange(1.0, len(shape.A) + 1)[:, None]
        A = shape.A - k * (k * shape.A).sum(axis=0) / (k**2).sum()
        B = shape.B - k**2 * (k**2 * shape.B).sum(axis=0) / (k**4).sum()
        c = np.clip(shape.c, self._middle - 0.95 * self._reach, self._middle + 0.95 * self._reach)
        q, v, a = _Series(0.0 * c, A, B).motion(self._t, self._p.period)
        room = np.minimum(self._reach - np.abs(c - self._middle), self._p.swing)
        uses = [
            np.abs(q).max(axis=0) / room,
            np.abs(v).max(axis=0) / (self._p.speed_share * self._model.v_max),
            np.abs(a).max(axis=0) / self._p.acceleration,
        ]
        stretch = 1.0 / np.maximum(np.max(uses, axis=0), 1e-9)
        return _Series(c, A * stretch, B * stretch)

    def shrunk(self, shape: _Series) -> _Series | None:
        """Return the motion around the same centre, as small as it must be to be allowed; None where it never is."""
        for share in SHRUNK ** np.arange(N_SHRUNK):
            smaller = _Series(shape.c, share * shape.A, share * shape.B)
            if self._is_allowed(smaller):
                return smaller
        return None

    def _is_allowed(self, shape: _Series) -> bool:
        q, v, a = shape.motion(self._t, self._p.period)
        tau = self._torque(q, v, a, np.zeros((SAMPLES, 6)))["tau"]
        is_weak = bool((np.abs(tau) <= self._p.torque_share * self._model.tau_max).all())
        return is_weak and all(map(self._is_free, q))

    def condition(self, shape: _Series) -> float:
        """Equation (3)."""
        Y = self._regressor(*shape.motion(self._t, self._p.period))
        if self._basis is None:
            size = np.linalg.norm(Y, axis=0)
            unit = 1.0 / np.where(size > 0.0, size, 1.0)
            _, s, rows = np.linalg.svd(Y * unit, full_matrices=False)
            self._basis = unit[:, None] * rows[s > SMALLEST_SHARE * s[0]].T
        s = np.linalg.svd(Y @ self._basis, compute_uv=False)
        return float(s[0] / s[-1])

    def _regressor(self, q: Array, v: Array, a: Array) -> Array:
        """Rows of all states and joints, columns of all links and motors."""
        tree, n = self._model.tree, self._model.nv
        motions = body_motions(tree, q, v)
        dt = self._p.period / SAMPLES
        parts = []
        for i in range(len(tree.bodies)):
            p, CTv, g = momentum_terms(tree, motions, own_frame(i))
            rate = (np.roll(p, -1, axis=0) - np.roll(p, 1, axis=0)) / (2.0 * dt)
            parts.append(rate - CTv + g)
        motor = np.stack([a, np.sign(v), v, np.ones_like(v)], axis=-1)
        parts.append((motor[:, :, None] * np.eye(n)[:, :, None]).reshape(SAMPLES, n, -1))
        limits = np.where(np.isfinite(self._model.tau_max), self._model.tau_max, 1.0)
        return (np.concatenate(parts, axis=2) / limits[:, None]).reshape(SAMPLES * n, -1)


def excite(
    model: RobotModel, parameters: ExcitationParameters, is_free: IsFree, title: str | None = None
) -> Excitation:
    """Return a motion of an arm that excites its parameters.

    Parameters
    ----------
    is_free : callable
        Whether the arm at joint positions (nq,) is clear of itself and of its surroundings.

    Raises
    ------
    InputError
        When the posture has a wrong length, or no motion that was tried is allowed.
    """
    if parameters.posture and len(parameters.posture) != model.nq:
        raise InputError(f"posture has {len(parameters.posture)} numbers, the arm {model.nq} joints")
    candidates = _Candidates(model, parameters, is_free)
    best, lowest, size = candidates.draw(), np.inf, FIRST_STEP
    for trial in progress_bar(range(parameters.trials), title):
        is_local = trial >= parameters.trials // 3 and np.isfinite(lowest)
        shape = candidates.shrunk(candidates.changed(best, size) if is_local else candidates.draw())
        condition = np.inf if shape is None else candidates.condition(shape)
        if shape is not None and condition < lowest:
            best, lowest = shape, condition
        elif is_local:
            size *= SHRINKING
    if not np.isfinite(lowest):
        raise InputError(
            f"none of {parameters.trials} motions keeps the torque limits and stays clear of arm and floor: give a"
            " posture, or less swing"
        )
    return _sampled(model, parameters, best, lowest)


def _sampled(model: RobotModel, p: ExcitationParameters, shape: _Series, condition: float) -> Excitation:
    t = p.period * np.arange(SAMPLES * p.periods + 1) / SAMPLES
    q, v, a = shape.motion(t, p.period)
    v[[0, -1]], a[[0, -1]] = 0.0, 0.0  # equation (2), without rounding
    tau = model.batch("tau")(q, v, a, np.zeros((len(t), 6)))["tau"]
    points = Waypoints(p.lead_time + t, q, v, a)
    return Excitation(points, condition, np.abs(v).max(axis=0) / model.v_max, np.abs(tau).max(axis=0) / model.tau_max)
