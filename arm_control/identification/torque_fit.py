"""Motors, payload and links that explain the torque of a recording: weighted least squares with bounds.

With rows of :mod:`~arm_control.identification.torque_rows`, joint j has in window k

    (1)  tau_jk = Y_jk pi(x) + I_j a_jk + c_j sign(v)_jk + b_j v_jk + o_j + e_jk

pi are the inertias of the links: those of the URDF, with a payload beside them or deformed by x
(:mod:`~arm_control.identification.momentum_regressor`). The smallest

    (2)  E = sum_jk e_jk^2 / s_j^2 + sum_i ((z_i - z_i0) / d_i)^2      I, c, b, m >= 0,    z = (I, c, b, o, x)

is found by Gauss-Newton steps in the box, each a box problem. Errors of neighbouring windows are alike, so that they
tell less than their number: with the autocorrelation rho_l of joint j's errors,

    (3)  s_j^2 = mean e_j^2 (1 + 2 sum_l rho_l)           sum over lags until rho_l falls below 0.1
    (4)  standard errors: roots of the diagonal of (1/2 d^2 E / dz^2)^-1

s_j is at least BEST of the joint's torque: no motor is that much like (1), and a joint that seems to be would bend the
parameters of all others. d_i is so large that it decides only what the recording does not tell; such a number has a
standard error near d_i and is not identified. A joint's windows in which it rests, turns round or is slow do not count
for it: friction at rest is any torque, and just above it more than c (Stribeck, a
:mod:`friction <arm_control.identification.stribeck_friction>` of its own, with which slow windows count).

An effort that is no torque (motor current, other units, another sign) is k_j tau_j. With the scale k_j fitted, the
whole right side of (1) but the model's part is in units of the effort. Friction, which opposes motion, tells the sign
of k_j, which I, c and b must have, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arm_control.exceptions import InputError
from arm_control.identification.momentum_regressor import BodyParameters
from arm_control.identification.torque_rows import TorqueRows
from arm_control.maths import Array
from arm_control.optimal import box_qp

MOTOR = ("rotor inertia", "Coulomb friction", "viscous friction", "offset")
"""Columns of a joint's own motor."""
N_MOTOR = len(MOTOR)
WEAK = 10.0
"""d_i of the motors: this many times the torque of the recording would be theirs."""
BEST = 0.001
"""Least s_j, as a share of the joint's torque."""
SLOW, STILL = 0.2, 0.01
"""A window counts for a joint above this share of its speed, and above this speed [rad/s or m/s]."""
BLOCKS, HELD_OUT = 20, 4
"""The recording has so many blocks; each HELD_OUT-th is held out."""
ROUNDS, ITERATIONS = 4, 30
"""Estimates of s_j, and steps for each at most."""
FEWEST_ROWS = 20
"""Windows that count for some joint, without which there is nothing to fit."""


@dataclass(frozen=True)
class TorqueFit:
    """Result of :func:`fit_torque` for n joints.

    Attributes
    ----------
    motor, motor_errors : ndarray, shape (n, 4)
        I, c, b and o of each joint, and their standard errors.
    is_identified : ndarray of bool, shape (n, 4)
        Whether the recording tells them.
    scale, scale_errors : ndarray, shape (n,)
        Effort per torque, 1 where it is not fitted, and its standard error.
    x, x_errors : ndarray, shape (k,)
        Parameters of the bodies, and their standard errors.
    bodies : ndarray, shape (10 n_bodies,)
        m, h and J of the bodies.
    t : ndarray, shape (m,)
        Middle of each window [s].
    tau, model, fitted : ndarray, shape (m, n)
        Torque of the windows: measured, by the model alone, and by the fit.
    is_moving : ndarray of bool, shape (m, n)
        Windows in which the joint moves one way.
    r2_model, r2 : ndarray, shape (n,)
        Share of the variance of the torque that model and fit explain, in windows held out in which the joint moves.
    error_model, error, error_used : ndarray, shape (n,)
        Root mean square of the error of the torque by model and fit in those windows, and of the fit in windows that
        were used [N m or N]; NaN without any.
    """

    motor: Array
    motor_errors: Array
    is_identified: Array
    scale: Array
    scale_errors: Array
    x: Array
    x_errors: Array
    bodies: Array
    t: Array
    tau: Array
    model: Array
    fitted: Array
    is_moving: Array
    is_held_out: Array
    r2_model: Array
    r2: Array
    error_model: Array
    error: Array
    error_used: Array


@dataclass(frozen=True)
class _Problem:
    """Design matrix (m, n, p), torque (m, n), and which entries count (m, n); p = 4 n, n scales or none, bodies."""

    A: Array
    y: Array
    is_used: Array
    bodies: BodyParameters
    start: Array
    low: Array
    high: Array
    deviation: Array

    @property
    def n_linear(self) -> int:
        """Number of parameters that are coefficients themselves: all but those of the bodies."""
        return len(self.start) - len(self.bodies.start)

    def coefficients(self, z: Array) -> Array:
        """Return the coefficients of the columns."""
        return np.concatenate([z[: self.n_linear], self.bodies.numbers(z[self.n_linear :])])

    def jacobian(self, z: Array) -> Array:
        """Return the derivative of the coefficients."""
        D = self.bodies.jacobian(z[self.n_linear :])
        result = np.zeros((self.A.shape[2], len(z)))
        result[: self.n_linear, : self.n_linear] = np.eye(self.n_linear)
        result[self.n_linear :, self.n_linear :] = D
        return result

    def errors(self, z: Array) -> Array:
        """Return e of (1), shape (m, n)."""
        return self.y - self.A @ self.coefficients(z)


def fit_torque(
    rows: TorqueRows,
    bodies: BodyParameters,
    *,
    is_whole: bool = False,
    fits_scale: bool = False,
    slow: float = SLOW,
) -> TorqueFit:
    """Fit (1) to the windows that are not held out.

    An InputError where no joint moves long enough.

    Parameters
    ----------
    rows : TorqueRows
        Windows of a recording; its columns of bodies are those of ``bodies``.
    is_whole : bool
        Whether the bodies are the whole arm, in place of the model's links.
    fits_scale : bool
        Whether the effort is no torque.
    slow : float
        Share of a joint's speed above which a window counts for it.
    """
    is_held_out = _held_out(rows.t)
    sizes = np.maximum(np.sqrt(np.square(rows.tau[~is_held_out]).mean(axis=0)), 1e-9)
    problem = _problem(rows, bodies, sizes, is_whole=is_whole, fits_scale=fits_scale, slow=slow)
    used = problem.is_used & ~is_held_out[:, None]
    if used.sum(axis=0).max(initial=0) < FEWEST_ROWS:
        raise InputError(f"no joint moves for {FEWEST_ROWS} windows: the recording tells nothing about its motors")
    z, noise = problem.start, np.maximum(problem.y[~is_held_out].var(axis=0), 1e-18)
    for k in range(ROUNDS):
        z = _minimum(problem, used, noise, z)
        noise = np.maximum(_noise(problem.errors(z), used, noise), (BEST * sizes) ** 2)
        if fits_scale and k == 0:
            problem = _with_signs(problem, z, rows.tau.shape[1])
    z_errors = _standard_errors(problem, used, noise, z)
    n = rows.tau.shape[1]
    fitted = problem.A @ problem.coefficients(z) + (rows.tau - problem.y)
    alone = _model_alone(rows, ~is_held_out) if fits_scale else rows.model
    counts = problem.is_used & is_held_out[:, None]
    motor = slice(0, N_MOTOR * n)
    scale = slice(N_MOTOR * n, problem.n_linear)
    return TorqueFit(
        motor=z[motor].reshape(n, N_MOTOR),
        motor_errors=z_errors[motor].reshape(n, N_MOTOR),
        is_identified=(z_errors < 0.5 * problem.deviation)[motor].reshape(n, N_MOTOR),
        scale=z[scale] if fits_scale else np.ones(n),
        scale_errors=z_errors[scale] if fits_scale else np.zeros(n),
        x=z[problem.n_linear :],
        x_errors=z_errors[problem.n_linear :],
        bodies=problem.coefficients(z)[problem.n_linear :],
        t=rows.t,
        tau=rows.tau,
        model=alone,
        fitted=fitted,
        is_moving=problem.is_used,
        is_held_out=is_held_out,
        r2_model=explained(rows.tau, alone, counts),
        r2=explained(rows.tau, fitted, counts),
        error_model=_size(rows.tau - alone, counts),
        error=_size(rows.tau - fitted, counts),
        error_used=_size(rows.tau - fitted, used),
    )


def explained(tau: Array, predicted: Array, counts: Array) -> Array:
    """Return R^2 of each joint, the share of the variance that a prediction explains, shape (n,); NaN without any.

    Examples
    --------
    >>> explained(np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [1.0], [1.0]]), np.ones((3, 1), dtype=bool))
    array([0.5])
    """
    n = np.maximum(counts.sum(axis=0), 1)
    squares = np.square(tau - (tau * counts).sum(axis=0) / n) * counts
    errors = (np.square(tau - predicted) * counts).sum(axis=0)
    variance = squares.sum(axis=0)
    is_varied = variance > 1e-24 * n
    return np.where(is_varied, 1.0 - errors / np.where(is_varied, variance, 1.0), np.nan)


def _size(errors: Array, counts: Array) -> Array:
    """Root mean square of the errors that count, shape (n,); NaN without any."""
    n = counts.sum(axis=0)
    squares = (np.square(errors) * counts).sum(axis=0)
    return np.where(n > 0, np.sqrt(squares / np.maximum(n, 1)), np.nan)


def _problem(
    rows: TorqueRows, bodies: BodyParameters, sizes: Array, *, is_whole: bool, fits_scale: bool, slow: float
) -> _Problem:
    """The problem for rows; ``sizes`` (n,) are usual torques of the joints."""
    m, n, _ = rows.motor.shape
    motor = np.zeros((m, n, n, N_MOTOR))
    motor[:, np.arange(n), np.arange(n)] = rows.motor
    scale = rows.model[:, :, None] * np.eye(n) if fits_scale else np.zeros((m, n, 0))
    n_scale = scale.shape[2]
    A = np.concatenate([motor.reshape(m, n, -1), scale, rows.bodies], axis=2)
    y = rows.tau if fits_scale or is_whole else rows.tau - rows.model
    deviation = WEAK * sizes[:, None] / np.maximum(np.sqrt(np.square(rows.motor).mean(axis=0)), 1e-6)
    scale_deviation = WEAK * sizes / np.maximum(np.sqrt(np.square(rows.model).mean(axis=0)), 1e-6)
    lowest = np.array([-np.inf] * N_MOTOR) if fits_scale else np.array([0.0, 0.0, 0.0, -np.inf])
    speed = np.quantile(np.abs(rows.motor[:, :, 2]), 0.95, axis=0)
    return _Problem(
        A,
        y,
        rows.slowest > np.maximum(slow * speed, STILL),
        bodies,
        np.concatenate([np.zeros(N_MOTOR * n + n_scale), bodies.start]),
        np.concatenate([np.tile(lowest, n), np.full(n_scale, -np.inf), bodies.low]),
        np.concatenate([np.full(N_MOTOR * n + n_scale, np.inf), bodies.high]),
        np.concatenate([deviation.ravel(), scale_deviation[:n_scale], bodies.deviation]),
    )


def _with_signs(problem: _Problem, z: Array, n: int) -> _Problem:
    """The problem with I, c, b and k of each joint of the sign of its friction c."""
    is_positive = z[: N_MOTOR * n].reshape(n, N_MOTOR)[:, 1] >= 0.0
    low, high = np.where(is_positive, 0.0, -np.inf), np.where(is_positive, np.inf, 0.0)
    free = np.full(n, np.inf)
    return replace(
        problem,
        low=np.concatenate([np.stack([low, low, low, -free], axis=1).ravel(), low]),
        high=np.concatenate([np.stack([high, high, high, free], axis=1).ravel(), high]),
    )


def _held_out(t: Array) -> Array:
    """Windows in each HELD_OUT-th block; their neighbours overlap by half a window."""
    block = np.floor(BLOCKS * (t - t[0]) / max(t[-1] - t[0], 1e-9))
    return block % HELD_OUT == HELD_OUT - 1


def _minimum(problem: _Problem, used: Array, noise: Array, z: Array) -> Array:
    """Smallest (2) for given s_j^2, from z on."""
    N, r = _normal_equations(problem, used, noise)
    weight = 1.0 / problem.deviation**2

    def cost(z: Array) -> float:
        k, d = problem.coefficients(z), z - problem.start
        return float(k @ (N @ k) - 2.0 * (r @ k) + weight @ (d * d))

    z = np.clip(z, problem.low, problem.high)
    for _ in range(ITERATIONS):
        k, D = problem.coefficients(z), problem.jacobian(z)
        H = D.T @ N @ D + np.diag(weight)
        slope = D.T @ (N @ k - r) + weight * (z - problem.start)
        unit = 1.0 / np.sqrt(H.diagonal())
        low, high = ((bound - z) / unit for bound in (problem.low, problem.high))
        step = unit * box_qp(H * np.outer(unit, unit), slope * unit, low, high).x
        share, now = 1.0, cost(z)
        while share > 1e-3 and cost(z + share * step) > now:
            share *= 0.5
        z = np.clip(z + share * step, problem.low, problem.high)
        if np.abs(share * step / unit).max() < 1e-6:
            break
    return z


def _normal_equations(problem: _Problem, used: Array, noise: Array) -> tuple[Array, Array]:
    """Matrix (p, p) and right side (p,) of the sum of squares in (2)."""
    weight = used / noise
    p = problem.A.shape[2]
    A = (problem.A * np.sqrt(weight)[..., None]).reshape(-1, p)
    y = (problem.y * np.sqrt(weight)).ravel()
    return A.T @ A, A.T @ y


def _noise(errors: Array, used: Array, before: Array) -> Array:
    """s_j^2 of (3), shape (n,)."""
    noise = before.copy()
    for j in range(errors.shape[1]):
        e = np.where(used[:, j], errors[:, j], 0.0)
        if used[:, j].sum() < FEWEST_ROWS:
            continue
        power, total, lag = float(e @ e), 1.0, 1
        while lag < len(e) // 4 and (rho := float(e[lag:] @ e[:-lag]) / max(power, 1e-300)) > 0.1:
            total, lag = total + 2.0 * rho, lag + 1
        noise[j] = max(power / used[:, j].sum() * total, 1e-18)
    return noise


def _standard_errors(problem: _Problem, used: Array, noise: Array, z: Array) -> Array:
    """Equation (4), shape of z."""
    N, _ = _normal_equations(problem, used, noise)
    D = problem.jacobian(z)
    H = D.T @ N @ D + np.diag(1.0 / problem.deviation**2)
    unit = 1.0 / np.sqrt(H.diagonal())
    errors: Array = unit * np.sqrt(np.linalg.inv(H * np.outer(unit, unit)).diagonal())
    return errors


def _model_alone(rows: TorqueRows, used: Array) -> Array:
    """Torque by the model with the scale and offset that suit the effort best, shape (m, n)."""
    result = np.empty_like(rows.model)
    for j, (model, tau) in enumerate(zip(rows.model.T, rows.tau.T, strict=True)):
        A = np.stack([model, np.ones_like(model)], axis=1)
        result[:, j] = A @ np.linalg.lstsq(A[used], tau[used], rcond=None)[0]
    return result
