"""Synapses in steps, without noise: what a network of neurons with feedback through them is compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.maths import Array
from arm_control.neural.synapses import pole


class Lowpass:
    """First-order synapses in series, in steps of dt [s]; equation (3) of :mod:`arm_control.neural.synapses`.

    Attributes
    ----------
    outputs : ndarray, shape (k, size)
        Output of each synapse.
    """

    def __init__(self, taus: Sequence[float], dt: float, size: int) -> None:
        self._poles = [pole(tau, dt) for tau in taus]
        self.outputs = np.zeros((len(taus), size))

    @property
    def output(self) -> Array:
        """Output of the last one, shape (size,)."""
        return self.outputs[-1]

    def step(self, u: Array) -> Array:
        """Take an input, shape (size,); returns the output after it. Each synapse takes the one before as it was."""
        inputs = [u, *self.outputs[:-1]]
        for k in reversed(range(len(inputs))):
            self.outputs[k] += (1.0 - self._poles[k]) * (inputs[k] - self.outputs[k])
        return self.output
