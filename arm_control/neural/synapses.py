"""Synapses as the memory of a dynamical system: how to choose the feedback so that it is the wanted system.

A population of neurons represents x; what it sends back to itself, and its input, pass a synapse H on the way,

    (1)  x = H (A' x + B' u)

so the synapse takes the place of the integrator, and A', B' have to be chosen so that (1) is dx/dt = A x + B u.
First-order synapses, one or several in series, are

    (2)  H(s) = prod_i 1 / (tau_i s + 1)                     continuous
    (3)  H(z) = prod_i (1 - a_i) / (z - a_i),   a_i = e^{-dt / tau_i}     discrete, as a simulation in steps has them

and 1/H is a polynomial, ``sum_i c_i s^i`` or ``sum_i c_i z^i``. With s^i x = A^i x + sum_{j<i} A^{i-1-j} B s^j u

    (4)  A' = sum_i c_i A^i
    (5)  B'_j = sum_{i>j} c_i A^{i-1-j} B,     j = 0 .. k-1    matrix of the input's j-th derivative, or of u_{k+j}

where A and B are those of the discrete system (equation 5 of :mod:`~arm_control.neural.linear_systems`) for (3). One
synapse gives the well-known

    (6)  A' = tau A + I,    B' = tau B                                      continuous
    (7)  A' = (A_d - a I) / (1 - a),    B' = B_d / (1 - a)                  discrete

What can be realised: one synapse, always. k synapses in series need k - 1 derivatives of the input, or its next k - 1
values. Where the future of the input is not known, the input is delayed by k - 1 steps, and so is the state; a
constant input needs ``B'_0`` alone, continuous, and the sum of all ``B'_j``, discrete. A' grows as the k-th power of
tau / dt, and so does the noise of neurons. And k synapses have k - 1 poles more than the system for each of its own, of
motions that only a start off (1), or noise, excites. For two synapses and a pole lambda of the system they are

    (8)  -lambda - 1/tau_1 - 1/tau_2    continuous,     a_1 + a_2 - lambda    discrete

so two synapses can be any system that is slower than both of them together, and no faster one.

(6) in a simulation with steps dt is Euler's method with steps (1 - a) tau: its error grows with the speed of the
system, up to instability. (7) has no error.

Sources: A. R. Voelker, C. Eliasmith, "Improving spiking dynamical networks: accurate delays, higher-order synapses,
and time cells", Neural Computation 30(3), 2018, sections 3 and 4; C. Eliasmith, C. H. Anderson, "Neural engineering",
MIT Press 2003, section 8.1, for (6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.neural.linear_systems import LinearSystem


def pole(tau: float, dt: float) -> float:
    """Share a of its output that a discrete synapse keeps from one step to the next, ``e^{-dt / tau}``."""
    return math.exp(-dt / tau)


class Compensation(NamedTuple):
    """Matrices of equation (1).

    Attributes
    ----------
    A : ndarray, shape (n, n)
        Feedback, equation (4).
    B : ndarray, shape (k, n, m)
        Input, equation (5): of its derivatives of order 0 to k - 1, or of its present and next k - 1 values.
    """

    A: Array
    B: Array


def compensate(system: LinearSystem, taus: Sequence[float]) -> Compensation:
    """Return the matrices that make a system of synapses: equations (4) and (5), by Horner's rule.

    Parameters
    ----------
    system : LinearSystem
        The wanted system, continuous for (2), discrete for (3).
    taus : sequence of float
        Time constant of each synapse in series [s].

    Raises
    ------
    InputError
        When there is no synapse, or a time constant is not positive.
    """
    if not len(taus) or not all(0.0 < tau < math.inf for tau in taus):
        raise InputError(f"synapses with the time constants {list(taus)} s; allowed: one or more positive numbers")
    coefficients = np.ones(1)
    for tau in taus:
        coefficients = np.convolve(coefficients, _inverse_synapse(tau, system.dt))
    identity = np.eye(len(system.A))
    A, inputs = coefficients[-1] * identity, []
    for c in coefficients[-2::-1]:
        inputs.append(A @ system.B)
        A = A @ system.A + c * identity
    return Compensation(A, np.array(inputs[::-1]))


def _inverse_synapse(tau: float, dt: float | None) -> Array:
    """Coefficients c_0 and c_1 of 1/H of one synapse."""
    if dt is None:
        return np.array([1.0, tau])
    a = pole(tau, dt)
    return np.array([-a, 1.0]) / (1.0 - a)
