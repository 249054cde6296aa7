"""A synapse in steps, without noise: what a network of neurons with feedback through it is compared with."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array
from arm_control.neural.synapses import pole


class Lowpass:
    """A first-order synapse in steps of dt [s]; equation (3) of :mod:`arm_control.neural.synapses`."""

    def __init__(self, tau: float, dt: float, size: int) -> None:
        self._pole, self.output = pole(tau, dt), np.zeros(size)

    def step(self, u: Array) -> Array:
        """Take an input, shape (size,); returns the output after it."""
        self.output = self.output + (1.0 - self._pole) * (u - self.output)
        return self.output
