"""A linear system as the activity of a population of spiking neurons.

    (1)  spikes of x_k  ->  d_k ~ x_k                          represented, and decoded
    (2)  x_{k+1} = a x_k + (1 - a) (A' d_k + B' u_k)           the synapse, with A' and B' that compensate it

With exact decoding, d = x, it is the wanted system itself (:mod:`~arm_control.neural.synapses`).

The entries of x must stay within about -1 and 1, where the neurons are tuned: choose the units of the state so
(:meth:`~arm_control.neural.linear_systems.LinearSystem.in_units`).

Source: C. Eliasmith, C. H. Anderson, "Neural engineering", MIT Press 2003, section 8.1.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array
from arm_control.neural.populations import Population
from arm_control.neural.synapses import Compensation, pole


class NeuralSystem:
    """Neurons whose feedback passes one synapse.

    Parameters
    ----------
    population : Population
        Neurons that represent the state.
    matrices : Compensation
        A' and B' of the wanted system, for one synapse.
    tau : float
        Time constant of the synapse [s].
    dt : float
        Duration of a step [s], that of the population.

    Attributes
    ----------
    population : Population
        The neurons.
    x : ndarray, shape (n,)
        State: the output of the synapse, which the neurons represent in the next step.
    """

    def __init__(self, population: Population, matrices: Compensation, tau: float, dt: float) -> None:
        a = pole(tau, dt)
        self.population = population
        self._both = np.hstack([a * np.eye(len(matrices.A)), (1.0 - a) * matrices.A])  # of x and d
        self._input = (1.0 - a) * matrices.B[0]
        self.x = np.zeros(len(matrices.A))

    def restart(self, x: Array) -> None:
        """Start from a state, shape (n,)."""
        self.x = np.array(x, dtype=float)
        self.population.restart()

    def hold(self, x: Array) -> None:
        """Represent a state, shape (n,), for a step without feedback: the neurons settle in it."""
        self.x = np.array(x, dtype=float)
        self.population.step(self.x)

    def step(self, u: Array) -> Array:
        """Equations (1) and (2), with an input of shape (m,); returns the new state."""
        self.population.step(self.x)
        self.x = self._both @ self.population.work + self._input @ u
        return self.x
