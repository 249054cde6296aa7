"""The point attractor of several axes, each for itself, realised in one of four ways.

    ideal         x_{k+1} = A_d x_k + B_d u_k                                      the system itself
    discrete      x_{k+1} = a x_k + (1 - a) (A' x_k + B' u_k)                      a synapse, discrete compensation
    continuous    the same, A' and B' of the continuous compensation               Euler's method
    neurons       x_{k+1} = a x_k + (1 - a) (A' d_k + B' u_k),   d_k ~ x_k         decoded from spikes, discrete

The state is that of :func:`~arm_control.neural.linear_systems.scaled_attractor`: position and velocity / w, in units
of a radius, so that neurons can represent it. Every axis has neurons of its own: axes do not depend on each other, the
decoders of one are found in an eighth of the time of two together, and an axis more changes nothing for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arm_control.core import Parameters, parameter
from arm_control.maths import Array
from arm_control.neural.linear_systems import scaled_attractor
from arm_control.neural.populations import (
    CompileLoop,
    NeuralSystem,
    Population,
    decoders,
    even_tuning,
    points_in_cube,
    random_tuning,
)
from arm_control.neural.synapses import compensate, pole

NEURONS = "neurons"
NOISE = 0.02
"""Noise for which the decoders are solved: the synapse averages spikes over its time constant, and what is left of an
error of the decoders moves the attractor from its goal by 4 / (alpha tau) times as much."""
VARIANTS = (NEURONS, "discrete", "continuous", "ideal")


@dataclass(frozen=True)
class AttractorParameters(Parameters):
    """A point attractor, and how it is realised."""

    variant: str = parameter(
        NEURONS,
        "what the attractor consists of; all but neurons are the same equations without noise",
        choices=VARIANTS,
    )
    alpha: float = parameter(
        10.0, "damping of the attractor; a goal is reached after about 10 / alpha", unit="1/s", lower=0.5, upper=1000.0
    )
    synapse: float = parameter(0.1, "time constant of the synapse in the feedback", unit="s", lower=0.01, upper=1.0)
    neurons: int = parameter(1000, "number of neurons of each axis", lower=8, upper=20000)
    seed: int = parameter(0, "seed of the neurons; 0: spread evenly, not drawn", lower=0)
    radius: float = parameter(
        0.5, "largest distance from the start, along an axis, that the neurons represent", unit="m", lower=0.01
    )
    smoothing: float = parameter(
        0.05, "time constant with which the reference follows the noisy state of neurons", unit="s", lower=0.005
    )


class AttractorAxes(Protocol):
    """Point attractors side by side."""

    @property
    def x(self) -> Array:
        """Positions, and velocities over w, in units of the radius, shape (2, n)."""

    def restart(self, x: Array) -> None:
        """Start from a state, shape (2, n)."""

    def hold(self, x: Array) -> None:
        """Keep a state, shape (2, n), for a step."""

    def step(self, u: Array) -> None:
        """Go one step towards goals, shape (n,), in units of the radius."""


def make_axes(p: AttractorParameters, dt: float, n: int, compile_loop: CompileLoop) -> AttractorAxes:
    """Return the attractors of n axes, with steps of dt [s]."""
    system = scaled_attractor(p.alpha)
    discrete = system.discretized(dt)
    if p.variant == "ideal":
        return PlainAxes(discrete.A, discrete.B, n)
    matrices = compensate(system if p.variant == "continuous" else discrete, [p.synapse])
    if p.variant != NEURONS:
        a = pole(p.synapse, dt)
        return PlainAxes(a * np.eye(2) + (1.0 - a) * matrices.A, (1.0 - a) * matrices.B[0], n)
    tunings = [random_tuning(p.neurons, 2, p.seed + k) if p.seed else even_tuning(p.neurons, 2) for k in range(n)]
    points = points_in_cube(2)
    D = [decoders(tuning, points, NOISE) for tuning in (tunings if p.seed else tunings[:1])]
    populations = [Population(compile_loop, tuning, D[k % len(D)], dt) for k, tuning in enumerate(tunings)]
    return NeuralAxes([NeuralSystem(population, matrices, p.synapse, dt) for population in populations])


class PlainAxes:
    """Attractors that are their equations: ``x <- G x + H u``, with G (2, 2) and H (2, 1) of one axis."""

    def __init__(self, G: Array, H: Array, n: int) -> None:
        self._G, self._H = G, H
        self.x = np.zeros((2, n))

    def restart(self, x: Array) -> None:
        """See :class:`AttractorAxes`."""
        self.x = x

    def hold(self, x: Array) -> None:
        """See :class:`AttractorAxes`."""
        self.x = x

    def step(self, u: Array) -> None:
        """See :class:`AttractorAxes`."""
        self.x = self._G @ self.x + self._H * u


class NeuralAxes:
    """Attractors in spiking neurons, one system for each axis."""

    def __init__(self, axes: list[NeuralSystem]) -> None:
        self._axes = axes
        self.populations = [axis.population for axis in axes]

    @property
    def x(self) -> Array:
        """See :class:`AttractorAxes`."""
        return np.array([axis.x for axis in self._axes]).T

    def restart(self, x: Array) -> None:
        """See :class:`AttractorAxes`; the neurons begin as they did the first time."""
        for axis, start in zip(self._axes, x.T, strict=True):
            axis.restart(start)

    def hold(self, x: Array) -> None:
        """See :class:`AttractorAxes`."""
        for axis, state in zip(self._axes, x.T, strict=True):
            axis.hold(state)

    def step(self, u: Array) -> None:
        """See :class:`AttractorAxes`."""
        for axis, goal in zip(self._axes, u[:, None], strict=True):
            axis.step(goal)
