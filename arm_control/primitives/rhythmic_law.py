"""The rhythmic primitive: a cycle about a centre, one step of it over any scalar.

Every equation says which variant it is. P is the period, ``tau = P / (2 pi)``, y any coordinate.

Phase (the canonical system), Ijspeert 2013, with phase stopping by the tracking error e:

    (1)  tau dphi/dt = 1 / (1 + k_e e^2),      phi in [0, 2 pi)

Transformation system, Ijspeert 2013, as one equation in y: his ``z = tau y'`` would make the velocity jump where the
period changes.

    (2)  tau^2 y'' = alpha (beta (g - y) - tau y') + A f(phi) + C

g is the centre, ``(min + max) / 2`` of the demonstration (not its average: a curve that rests long at one end would lie
beside its centre); A is the amplitude, 1 as learned: f is not multiplied by a distance that may be zero.

Force. Von Mises functions at equal distances, normalised:

    (3)  f = sum_i psi_i w_i / sum_i psi_i,      psi_i = exp(h (cos(phi - c_i) - 1))
         c_i = 2 pi i / n,    h = (n / (2 pi 0.8))^2:    a standard deviation of 0.8 distances

The -1 belongs into the exponent: ``exp(h cos(phi - c_i) - 1)``, which is found in texts, is infinite for h = 1000, and
infinite by infinite is not a number. With the usual ``h = n`` the functions overlap the more the more there are; 0.8
distances are the same overlap for every n, and ``h = n`` at n = 25.

Changes on the way. Centre, amplitude and period follow what is wished by filters of first order (Ijspeert 2013, for
the amplitude and the goal), so that the acceleration does not jump, either:

    (4)  tau g' = omega / 4 (g_user - g),    the same for A and P

Source: A. J. Ijspeert, J. Nakanishi, H. Hoffmann, P. Pastor, S. Schaal, "Dynamical movement primitives: learning
attractor models for motor behaviors", 2013.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.maths import Array, Scalar, cos, exp, nearest
from arm_control.primitives.attractor import ALPHA, BETA, OMEGA, attract, normalised

TURN = 2.0 * np.pi
WIDTH = 0.8
"""Standard deviation of a function, in distances of two centres."""
FILTER = OMEGA / 4.0
"""Rate of (4) in scaled time."""


class RhythmicState(NamedTuple):
    """What one step hands to the next.

    Phase phi [rad] from 0 to 2 pi, position y, velocity v and filtered centre g (n,), amplitude A and period P [s].
    """

    phi: Scalar
    y: Array
    v: Array
    g: Array
    A: Scalar
    P: Scalar


class RhythmicTask(NamedTuple):
    """What is wished from outside.

    Attributes
    ----------
    goal : array, shape (n,)
        Centre.
    weights : array, shape (n, n_basis)
        Weights of the force.
    A, P : scalar
        Amplitude and period [s].
    """

    goal: Array
    weights: Array
    A: Scalar
    P: Scalar


def rhythmic_basis(phi: Scalar, n_basis: int) -> Array:
    """Return all functions of (3), normalised, at phases (..., 1) [rad], shape (..., n_basis); n_basis is 2 or more."""
    h = (n_basis / (TURN * WIDTH)) ** 2
    angles = phi - TURN * np.arange(n_basis) / n_basis
    return normalised(h * (_cosines(angles) - 1.0))  # (3)


def _cosines(angles: Array) -> Array:
    return np.cos(angles) if angles.dtype != object else np.array([cos(angle) for angle in angles])


def rhythmic_step(x: RhythmicState, task: RhythmicTask, dt: Scalar, slowing: Scalar, C: Array) -> RhythmicState:
    """Return the state after a time dt [s] above zero, equations (1) to (4).

    ``slowing`` is ``1 + k_e e^2`` of (1), which is 1 without phase stopping, and C, shape (n,), the coupling.
    """
    tau = (task.P + exp(-0.5 * FILTER * TURN * dt / x.P) * (x.P - task.P)) / TURN  # in the middle of the step
    kept = exp(-FILTER * dt / tau)
    A, P = task.A + kept * (x.A - task.A), task.P + kept * (x.P - task.P)
    g = task.goal + kept * (x.g - task.goal)  # (4)
    A_m, g_m = 0.5 * (x.A + A), 0.5 * (x.g + g)
    h, n_basis = dt / tau, task.weights.shape[1]
    phis = [x.phi + part * h / slowing for part in (0.0, 0.5, 1.0)]  # (1)
    forces = [B * (task.weights @ rhythmic_basis(phi, n_basis)) + C for B, phi in zip((x.A, A_m, A), phis, strict=True)]
    e, e_u = attract(x.y - g_m, tau * x.v, forces, h)  # (2)
    phi = phis[2] - TURN * nearest(phis[2] / TURN - 0.5)
    return RhythmicState(phi, g_m + e, e_u * (1.0 / tau), g, A, P)


def rhythmic_acceleration(x: RhythmicState, task: RhythmicTask, C: Array) -> Array:
    """Return ``y''`` of (2) in a state, shape (n,)."""
    tau, f = x.P / TURN, task.weights @ rhythmic_basis(x.phi, task.weights.shape[1])
    return (ALPHA * (BETA * (x.g - x.y) - tau * x.v) + x.A * f + C) * (1.0 / (tau * tau))  # (2)
