"""A synapse as the memory of a dynamical system: how to choose the feedback so that it is the wanted system.

A population of neurons represents x; what it sends back to itself, and its input, pass a synapse H on the way,

    (1)  x = H (A' x + B' u)

so the synapse takes the place of the integrator, and A', B' have to be chosen so that (1) is the wanted system:

    (2)  H(s) = 1 / (tau s + 1),                             A' = tau A + I,                B' = tau B
    (3)  H(z) = (1 - a) / (z - a),   a = e^{-dt / tau},      A' = (A_d - a I) / (1 - a),    B' = B_d / (1 - a)

(2) is for a continuous system, (3) for a discrete one, as a simulation in steps is: A_d and B_d are those of equation
(4) of :mod:`~arm_control.neural.linear_systems`. (2) in a simulation with steps dt is Euler's method with steps
(1 - a) tau: its error grows with the speed of the system, up to instability. (3) has no error.

Sources: A. R. Voelker, C. Eliasmith, "Improving spiking dynamical networks: accurate delays, higher-order synapses,
and time cells", Neural Computation 30(3), 2018, section 3, for (3); C. Eliasmith, C. H. Anderson, "Neural
engineering", MIT Press 2003, section 8.1, for (2).
"""

from __future__ import annotations

import math

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.neural.linear_systems import LinearSystem


def pole(tau: float, dt: float) -> float:
    """Share a of its output that a discrete synapse keeps from one step to the next, ``e^{-dt / tau}``."""
    return math.exp(-dt / tau)


def compensate(system: LinearSystem, tau: float) -> tuple[Array, Array]:
    """Return A' (n, n) and B' (n, m) that make a system of a synapse: (2) of a continuous one, (3) of a discrete one.

    An InputError where its time constant [s] is not positive.
    """
    if not 0.0 < tau < math.inf:
        raise InputError(f"a synapse with the time constant {tau} s; allowed: a positive number")
    a = 0.0 if system.dt is None else pole(tau, system.dt)
    kept, factor = (1.0, tau) if system.dt is None else (-a / (1.0 - a), 1.0 / (1.0 - a))
    return factor * system.A + kept * np.eye(len(system.A)), factor * system.B
