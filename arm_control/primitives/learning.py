"""Learning: the weights of a primitive from a demonstration.

By least squares over the whole motion, in the positions: with the answers Phi of
:mod:`~arm_control.primitives.responses` and the reference r of the primitive's law,

    (1)  min_w  sum_j d_j (y_j - r_j - sum_i w_i Phi_i(t_j))^2 + lambda |w|^2

d_j is the time that sample j stands for. A discrete primitive also ends where and as it should,

    (2)  sum_i w_i Phi_i(1) = 0,      sum_i w_i Phi_i'(1) = 0

so that every goal is reached at the end of the motion, not some time after it. The usual way fits the force instead,
``f_j = tau^2 y'' + alpha tau y' + alpha beta (y - r)``, and needs the acceleration of the recording: noise of 1e-4 rad
at 1 kHz is 1e2 rad/s^2 there. It is available for comparison, function by function:

    (3)  w_i = sum_j psi_ij xi_j f_j / sum_j psi_ij xi_j^2                               locally weighted

with ``xi_j`` the factor of the force, 1 on a cycle (Ijspeert 2013).

Source: A. J. Ijspeert, J. Nakanishi, H. Hoffmann, P. Pastor, S. Schaal, "Dynamical movement primitives: learning
attractor models for motor behaviors", 2013.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.primitives.attractor import ALPHA, BETA
from arm_control.primitives.demonstration import Demonstration
from arm_control.primitives.discrete_law import gate, gaussians
from arm_control.primitives.responses import cycle_responses, discrete_matrix, discrete_responses
from arm_control.primitives.rhythmic_law import TURN, rhythmic_basis

RIDGE = 1e-9
"""lambda of (1), as a share of the mean of the diagonal."""


LARGEST_GAP = 0.2
"""Largest distance of the end of a cycle from its beginning, as a share of the largest way."""
SAMPLES = 4
"""Samples for each function at least: fewer are filled up."""
LARGEST_ROTATION = 1.9 * np.pi
"""Largest rotation from the first orientation [rad]."""


Learned: TypeAlias = tuple[Array, Array, Array, Array]
"""Start (n,), goal (n,), weights (n, n_basis), final velocity (n,); of a cycle its point at phase 0 and its centre."""


class Lesson(NamedTuple):
    """Coordinates y (N, n) to learn, and their times from the first one, t (N,) [s]; closed: it is whole cycles."""

    t: Array
    y: Array
    is_closed: bool = False

    def filled(self, n_basis: int, seconds: float) -> Lesson:
        """Return the lesson with at least :data:`SAMPLES` samples for each function in some seconds."""
        n = int(np.ceil(SAMPLES * n_basis * self.t[-1] / seconds)) + 1
        return self if len(self.t) >= n else self.even(n)

    def even(self, n: int) -> Lesson:
        """Return the lesson at n equally spaced times."""
        t = np.linspace(0.0, self.t[-1], n)
        return Lesson(t, self._curve(t), self.is_closed)

    def _curve(self, t: Array) -> Array:
        """Coordinates at some times; at the ends of whole cycles with the slopes of the cycles before and behind."""
        if not self.is_closed:
            return Demonstration(self.t, self.y).resample(t).positions
        T, jump = self.t[-1], self.y[-1] - self.y[0]
        times = np.concatenate([self.t[-3:-1] - T, self.t, self.t[1:3] + T])
        return Demonstration(times, np.vstack([self.y[-3:-1] - jump, self.y, self.y[1:3] + jump])).resample(t).positions


def learn_motion(lesson: Lesson, v_g: Array, n_basis: int, method: str) -> Learned:
    """Return what a discrete primitive learns, with a velocity v_g at the end, shape (n,)."""
    _check_rotation(lesson.y)
    T, start, goal = float(lesson.t[-1]), lesson.y[0], lesson.y[-1]
    known = np.array([start, goal, np.zeros_like(start), v_g])
    if method == "least_squares":
        t, y, _ = lesson.filled(n_basis, T)
        matrix = discrete_matrix(t, T, n_basis, 0)[0]
        ends = np.array([answers[0] for answers in discrete_responses(np.ones(1), n_basis, 1)])
        weights = fit_answers(matrix[:, 4:], y - matrix[:, :4] @ known, sample_seconds(t), ends)
        return start, goal, weights, v_g
    t, y, _ = lesson.even(max(len(lesson.t), 10 * n_basis))
    v, a = _derivatives(t, y)
    r, r_v, r_a = (matrix[:, :4] @ known for matrix in discrete_matrix(t, T, n_basis))
    s = t / T
    forces = T * T * (a - r_a) + ALPHA * (BETA * (y - r) + T * (v - r_v))
    weights = fit_locally(gaussians(s[:, None], n_basis), gate(s), forces, sample_seconds(t))
    return start, goal, weights, v_g


def learn_cycle(lesson: Lesson, P: float, n_basis: int, method: str) -> Learned:
    """Return what a rhythmic primitive of a period P [s] learns.

    An InputError when the lesson is shorter than the period, or a cycle does not end where it began.
    """
    _check_rotation(lesson.y)
    _check_cycle(lesson, P)
    lesson = lesson._replace(is_closed=abs(lesson.t[-1] / P - round(lesson.t[-1] / P)) < 1e-6)
    centre = 0.5 * (lesson.y.min(axis=0) + lesson.y.max(axis=0))
    if method == "least_squares":
        t, y, _ = lesson.filled(n_basis, P)
        answers = cycle_responses(TURN * t / P, n_basis, 0)[0]
        weights = fit_answers(answers, y - centre, sample_seconds(t))
    else:
        t, y, _ = lesson.even(max(len(lesson.t), 10 * n_basis))
        v, a = _derivatives(t, y)
        tau = P / TURN
        forces = tau * tau * a + ALPHA * (BETA * (y - centre) + tau * v)
        psi = rhythmic_basis(TURN * t[:, None] / P, n_basis)
        weights = fit_locally(psi, np.ones_like(t), forces, sample_seconds(t))
    start = centre + weights @ cycle_responses(np.zeros(1), n_basis, 0)[0][0]
    return start, centre, weights, np.zeros_like(centre)


def _check_rotation(y: Array) -> None:
    if y.shape[1] == 6 and np.linalg.norm(y[:, 3:], axis=1).max() > LARGEST_ROTATION:
        raise InputError("the orientation turns by more than 340 deg from the first one: learn it in parts")


def _check_cycle(lesson: Lesson, P: float) -> None:
    t, y = lesson.t, lesson.y
    if t[-1] < (1.0 - 1e-9) * P:
        raise InputError(f"the demonstration lasts {t[-1]:g} s, less than the period of {P:g} s")
    begin = np.array([np.interp(P, t, column) for column in y.T])
    gap, way = float(np.abs(begin - y[0]).max()), float(np.ptp(y, axis=0).max())
    if gap > LARGEST_GAP * way:
        raise InputError(
            f"after a period of {P:g} s the demonstration is {gap:.3g} away from its beginning, of a way of {way:.3g}:"
            f" give the period, or a part that is whole cycles"
        )


def _derivatives(t: Array, y: Array) -> tuple[Array, Array]:
    """Velocity and acceleration by central differences."""
    v = np.gradient(y, t, axis=0, edge_order=2)
    return v, np.gradient(v, t, axis=0, edge_order=2)


def fit_answers(answers: Array, rest: Array, seconds: Array, ends: Array | None = None) -> Array:
    """Return the weights of (1), shape (n, n_basis), and of (2) where the ends are given.

    ``answers`` (N, n_basis) are Phi at the times of the samples, ``rest`` (N, n) what of the positions the reference
    does not explain, ``seconds`` (N,) what a sample stands for [s], ``ends`` (2, n_basis) Phi and its rate at the end.
    """
    weighted = answers * seconds[:, None]
    system, right = weighted.T @ answers, weighted.T @ rest
    scale = float(np.mean(np.diag(system)))
    system[np.diag_indices_from(system)] += RIDGE * scale
    if ends is None:
        return np.linalg.solve(system, right).T
    n, k = len(system), len(ends)
    unit = np.abs(ends).max(axis=1, keepdims=True) / scale
    full = np.zeros((n + k, n + k))
    full[:n, :n], full[:n, n:], full[n:, :n] = system, (ends / unit).T, ends / unit
    return np.linalg.solve(full, np.vstack([right, np.zeros((k, rest.shape[1]))]))[:n].T


def fit_locally(psi: Array, xi: Array, forces: Array, seconds: Array) -> Array:
    """Return the weights of (3), shape (n, n_basis).

    ``psi`` (N, n_basis) are the basis functions at the times of the samples, normalised or not, ``xi`` (N,) the factor
    of the force, ``forces`` (N, n) those that the demonstration needs, ``seconds`` (N,) what a sample stands for.
    """
    factors = psi * (seconds * xi)[:, None]
    return ((factors.T @ forces) / (factors.T @ xi)[:, None]).T


def sample_seconds(times: Array) -> Array:
    """Return the time that each sample stands for, half of the way to its neighbours, shape (N,) [s]."""
    halves = 0.5 * np.diff(times)
    return np.append(halves, 0.0) + np.append(0.0, halves)
