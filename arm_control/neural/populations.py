"""Populations of spiking neurons: they represent a vector, and linear decoders read it from their spikes.

Each neuron is tuned to one axis of the vector, in one of its directions. The decoders D are those that reproduce
points from the neurons' rates, by least squares with a term for noise:

    (1)  x ~ D a(x),    D^T = (A^T A + m sigma^2 I)^-1 A^T X,    sigma = noise max A

A (m, n) has the rates of all neurons at m points, X (m, d) the points. A spike of a neuron counts as 1/dt in one step:

    (2)  decoded = sum_i D_i spike_i / dt

With a synapse in the feedback, and A' and B' that compensate it, a population is a linear system
(:mod:`~arm_control.neural.synapses`); with exact decoding, d = x, the wanted one:

    (3)  spikes of x_k  ->  d_k ~ x_k                          represented, and decoded
    (4)  x_{k+1} = a x_k + (1 - a) (A' d_k + B' u_k)           the synapse

The entries of x must stay within about -1 and 1, where the neurons are tuned: choose the units of the state so
(:func:`~arm_control.neural.linear_systems.scaled_attractor`).

One machine-code loop does a step of all neurons and the sum (2); in a tick of 1 ms it takes a few us for 1,000 neurons.

Source: C. Eliasmith, C. H. Anderson, "Neural engineering", MIT Press 2003, sections 2.2, 4.1 and 8.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from arm_control.compiler import Law, Loop, LoopKernel, Samples
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.neural.lif_neurons import LONGEST_STEP, firing_rate, gain_and_bias, lif_step
from arm_control.neural.synapses import pole

CompileLoop: TypeAlias = Callable[[Loop, Samples], LoopKernel]
"""Makes a kernel, such as ``RobotModel.compile_law`` or ``partial(compile_law, compiler)``."""
LANES = 8
"""Neurons are filled up to a multiple, with silent ones."""
MAX_RATES, INTERCEPTS = (200.0, 400.0), (-1.0, 0.9)
"""Ranges of the rates at the end of the range [Hz], and of the values at which neurons begin to fire."""
NOISE = 0.1
"""The usual noise of (1): that of spikes within a few ms."""
DECODER_BITS = 16
"""Bits of the largest decoder."""
POINTS = 1000
"""Number m of points, at least."""
BIN = 2e-3
"""Duration of a bin [s]."""
MOST_BINS = 100
"""Bins that are kept; older ones are forgotten."""


@dataclass(frozen=True, eq=False)
class NeuronTuning:
    """What distinguishes the neurons of a population.

    Attributes
    ----------
    encoders : ndarray, shape (n, d)
        Direction of each neuron, a unit vector.
    gains, biases : ndarray, shape (n,)
        Of its current.
    v_start : ndarray, shape (n,)
        Membrane at the start, from 0 to 1, so that the neurons do not fire together.
    """

    encoders: Array
    gains: Array
    biases: Array
    v_start: Array

    @property
    def order(self) -> Array:
        """Numbers of the neurons, sorted by their axis, its direction, and the value at which they begin to fire."""
        return np.lexsort(((1.0 - self.biases) / self.gains, *self.encoders.T))

    def rates(self, points: Array) -> Array:
        """Rates of all neurons [Hz], shape (m, n), at points, shape (m, d)."""
        return firing_rate(points @ self.encoders.T * self.gains + self.biases)


def even_tuning(n: int, d: int) -> NeuronTuning:
    """N neurons for a vector of size d, spread evenly: no draw, and less noise than that of a random population.

    An InputError where there are fewer than four neurons for each axis.
    """
    groups = _axis_encoders(n, d)
    spread = _spread(-(-n // len(groups)), 2)
    place = np.arange(n) // len(groups)
    intercepts = _between(INTERCEPTS, (place + 0.5) / len(spread))
    gains, biases = gain_and_bias(_between(MAX_RATES, spread[place, 0]), intercepts)
    return NeuronTuning(groups[np.arange(n) % len(groups)], gains, biases, spread[place, 1])


def random_tuning(n: int, d: int, seed: int) -> NeuronTuning:
    """Neurons drawn at random, from the same ranges; equal seeds give equal neurons."""
    groups = _axis_encoders(n, d)
    rng = np.random.default_rng(seed)
    encoders = groups[rng.integers(len(groups), size=n)]
    gains, biases = gain_and_bias(rng.uniform(*MAX_RATES, n), rng.uniform(*INTERCEPTS, n))
    return NeuronTuning(encoders, gains, biases, rng.uniform(size=n))


def decoders(tuning: NeuronTuning, points: Array, noise: float = NOISE) -> Array:
    """Equation (1): decoders D, shape (d, n) [s], rounded to 2^-16 of the largest one's power of two.

    The last bits of the solution of many equations depend on the threads that solve them. Rounded, the decoders do not,
    and a recording is replayed to the same bits by a process with other threads. Points are (m, d); more noise, a share
    of the largest rate, makes decoded values calmer, and less exact.
    """
    A = tuning.rates(points)
    sigma = noise * A.max()
    G = A.T @ A + len(points) * sigma**2 * np.eye(A.shape[1])
    D = np.linalg.solve(G, A.T @ points).T
    grid = 2.0 ** (np.ceil(np.log2(np.abs(D).max())) - DECODER_BITS)
    return np.round(D / grid) * grid


def points_in_cube(d: int) -> Array:
    """Points spread evenly over [-1, 1]^d, shape (m, d)."""
    return 2.0 * _spread(POINTS * d, d) - 1.0


class Population:
    """Neurons that represent a vector, and the values decoded from their spikes.

    Parameters
    ----------
    D : ndarray, shape (p, n)
        Decoders [s].
    dt : float
        Duration of a step [s].

    Attributes
    ----------
    work : ndarray, shape (d + p,)
        The represented vector, then the decoded values of the last step.
    decoded : ndarray, shape (p,)
        Equation (2), of the last step: a part of ``work``.
    spikes : ndarray, shape (n,)
        1 for each neuron that fired in the last step, else 0.
    order : ndarray, shape (n,)
        See :attr:`NeuronTuning.order`.

    Raises
    ------
    InputError
        When the step is too long for neurons.
    """

    def __init__(self, compile_loop: CompileLoop, tuning: NeuronTuning, D: Array, dt: float) -> None:
        if not 0.0 < dt <= LONGEST_STEP:
            raise InputError(f"neurons with steps of {dt:g} s; allowed: up to {LONGEST_STEP:g} s")
        n, d = tuning.encoders.shape
        n_filled = n + -n % LANES
        self._v_start, self.order = tuning.v_start, tuning.order
        sizes = {"represented": d, "gain_encoder": d, "bias": 1, "decoder": len(D), "v": 1, "rho": 1}
        arrays = {name: np.zeros((size, n_filled)) for name, size in sizes.items()}
        self.work = np.zeros(d + len(D))
        arrays["represented"] = self.work[:d]
        arrays["gain_encoder"][:, :n] = (tuning.encoders * tuning.gains[:, None]).T
        arrays["bias"][0, :n] = tuning.biases
        arrays["decoder"][:, :n] = D / dt
        arrays["v"][0, :n] = tuning.v_start
        law = Law("LIF neurons", partial(lif_step, dt=dt), sizes, structure=[dt], has_masses=False)
        loop = Loop(law, "columns", shared=("represented",), totals=("decoded",))
        kernel = compile_loop(loop, _samples(sizes, dt))
        results = {"v_next": arrays["v"], "rho_next": arrays["rho"]}  # a step replaces the state
        results |= {"spike": np.zeros((1, n_filled)), "decoded": self.work[d:]}
        self._represented, self._v, self._rho = arrays["represented"], arrays["v"][0, :n], arrays["rho"][0, :n]
        self.decoded, self.spikes = results["decoded"], results["spike"][0, :n]
        self._run = kernel.bind(arrays | results)

    def restart(self) -> None:
        """Take the membranes of the start."""
        self._v[:] = self._v_start
        self._rho[:] = 0.0
        self.spikes[:] = 0.0
        self.decoded[:] = 0.0

    def step(self, x: Array) -> Array:
        """Represent x, shape (d,), for one step; returns the decoded values, which the next step replaces."""
        self._represented[:] = x
        self._run()
        return self.decoded


class NeuralSystem:
    """Neurons whose feedback passes one synapse.

    Parameters
    ----------
    matrices : tuple of ndarray, shape (n, n) and (n, m)
        A' and B' of the wanted system.
    tau, dt : float
        Time constant of the synapse, and duration of a step, that of the population [s].

    Attributes
    ----------
    x : ndarray, shape (n,)
        State: the output of the synapse, which the neurons represent in the next step.
    """

    def __init__(self, population: Population, matrices: tuple[Array, Array], tau: float, dt: float) -> None:
        a, (A, B) = pole(tau, dt), matrices
        self.population = population
        self._both = np.hstack([a * np.eye(len(A)), (1.0 - a) * A])  # of x and d
        self._input = (1.0 - a) * B
        self.x = np.zeros(len(A))

    def restart(self, x: Array) -> None:
        """Start from a state, shape (n,)."""
        self.x = np.array(x, dtype=float)
        self.population.restart()

    def hold(self, x: Array) -> None:
        """Represent a state, shape (n,), for a step without feedback: the neurons settle in it."""
        self.x = np.array(x, dtype=float)
        self.population.step(self.x)

    def step(self, u: Array) -> Array:
        """Equations (3) and (4), with an input of shape (m,); returns the new state."""
        self.population.step(self.x)
        self.x = self._both @ self.population.work + self._input @ u
        return self.x


class SpikeRecord:
    """Spikes of n neurons of each population, counted in bins of time while ``is_on``: what a raster shows."""

    def __init__(self, populations: Sequence[Population], n: int, dt: float) -> None:
        self._populations = populations
        self._shown = [_evenly(population.order, n) for population in populations]
        self._steps_per_bin = max(1, round(BIN / dt))
        self._counts = np.zeros(sum(map(len, self._shown)))
        self._n_steps = 0
        self._bins: deque[Array] = deque(maxlen=MOST_BINS)
        self.is_on = False

    def add(self) -> None:
        """Count the spikes of the last step."""
        if not self.is_on:
            return
        self._counts += np.concatenate(
            [population.spikes[shown] for population, shown in zip(self._populations, self._shown, strict=True)]
        )
        self._n_steps += 1
        if self._n_steps == self._steps_per_bin:
            self._bins.append(self._counts.copy())
            self._counts[:], self._n_steps = 0.0, 0

    @property
    def n_bins(self) -> int:
        """Number of whole bins since the last :meth:`take`."""
        return len(self._bins)

    def take(self) -> Array:
        """Return the counts since the last call, shape (neurons, bins), and forget them."""
        counts = np.array(self._bins).reshape(-1, len(self._counts)).T
        self._bins.clear()
        return counts


def _samples(sizes: dict[str, int], dt: float) -> dict[str, Array]:
    """Neurons that rest, charge, fire and are refractory, for the check of a new kernel."""
    rng = np.random.default_rng(0)
    n = 4 * LANES
    samples = {name: rng.uniform(-1.0, 1.0, (size, n)) for name, size in sizes.items()}
    samples["represented"] = rng.uniform(-1.0, 1.0, sizes["represented"])
    samples["gain_encoder"] *= 20.0
    samples["v"] = rng.uniform(0.0, 1.0, (1, n))
    samples["rho"] = rng.uniform(-2.0 * dt, 2.0 * dt, (1, n))
    return samples


def _axis_encoders(n: int, d: int) -> Array:
    """Both directions of each axis, shape (2 d, d)."""
    if d < 1 or n < 4 * d:
        raise InputError(f"{n} neurons for a vector of {d}; allowed: at least four for each of its entries")
    axes = np.eye(d)
    return np.stack([axes, 0.0 - axes], axis=1).reshape(2 * d, d)


def _between(ends: tuple[float, float], share: Array) -> Array:
    return ends[0] + (ends[1] - ends[0]) * share


def _spread(n: int, d: int) -> Array:
    """Points spread evenly over the unit cube, shape (n, d): multiples of the powers of an irrational number.

    Source: M. Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018.
    """
    phi = 2.0
    for _ in range(60):
        phi = (1.0 + phi) ** (1.0 / (d + 1))
    return (0.5 + np.arange(1, n + 1)[:, None] * phi ** -np.arange(1.0, d + 1.0)) % 1.0


def _evenly(order: Array, n: int) -> Array:
    """Up to n entries of an array, evenly spread."""
    return order[np.linspace(0, len(order) - 1, min(n, len(order))).round().astype(int)]
