"""A point attractor in neurons whose goal goes from -1 to 1 in steps: how well it follows the wanted system.

The wanted system is discrete and has no neurons. What the neurons represent is read behind a probe's synapse, which
adds its delay to the error:

    (1)  goal(t) = 2 floor(5 t / duration) / 5 - 1
    (2)  error = rms(probe(decoded position) - wanted position)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from arm_control.maths import Array
from arm_control.neural.linear_systems import LinearSystem
from arm_control.neural.populations import CompileLoop, NeuralSystem, NeuronTuning, Population, decoders, points_in_cube
from arm_control.neural.synapses import compensate, pole

TAU, PROBE = 0.1, 0.01
"""Time constants of the feedback's synapse and of the probe's [s]."""
STEPS = 5
"""Values of the goal."""
DT = 1e-3
"""Duration of a step [s]."""
COMPENSATIONS: dict[str, Callable[[LinearSystem], LinearSystem]] = {
    "continuous": lambda system: system,
    "discrete": lambda system: system.discretized(DT),
}
"""The system whose matrices make up for the synapse."""


class SteppedGoals(NamedTuple):
    """Times [s], goals and wanted positions, shape (n,), and what each compensation makes of them."""

    times: Array
    goals: Array
    wanted: Array
    positions: dict[str, Array]
    spikes: dict[str, Array]
    """Shape (n, neurons): 1 where one fired; sorted by the axis, direction and value that they are tuned to."""

    @property
    def errors(self) -> dict[str, float]:
        """Equation (2) of each compensation."""
        return {name: float(np.sqrt(np.mean((x - self.wanted) ** 2))) for name, x in self.positions.items()}


def follow_stepped_goals(
    system: LinearSystem,
    tuning: NeuronTuning,
    compile_loop: CompileLoop,
    duration: float = 5.0,
    compensations: Sequence[str] = tuple(COMPENSATIONS),
) -> SteppedGoals:
    """Let a continuous system in neurons follow (1) for a duration [s], once with each compensation."""
    n, discrete, D = round(duration / DT), system.discretized(DT), decoders(tuning, points_in_cube(len(system.A)))
    goals = np.floor(np.arange(n) * STEPS / n) / STEPS * 2.0 - 1.0
    wanted, x = np.zeros(n), np.zeros(len(system.A))
    for k, goal in enumerate(goals):
        wanted[k] = x[0]
        x = discrete.step(x, np.array([goal]))
    positions, spikes = {}, {}
    for name in compensations:
        population = Population(compile_loop, tuning, D, DT)
        neurons = NeuralSystem(population, compensate(COMPENSATIONS[name](system), TAU), TAU, DT)
        decoded, fired = np.zeros(n), np.zeros((n, len(tuning.gains)))
        for k, goal in enumerate(goals):
            neurons.step(np.array([goal]))
            decoded[k], fired[k] = population.decoded[0], population.spikes[population.order]
        positions[name], spikes[name] = _behind_probe(decoded), fired
    return SteppedGoals(DT * np.arange(1, n + 1), goals, wanted, positions, spikes)


def _behind_probe(decoded: Array) -> Array:
    a, output, seen = pole(PROBE, DT), 0.0, np.zeros(len(decoded))
    for k, x in enumerate(decoded):
        output = a * output + (1.0 - a) * x
        seen[k] = output
    return seen
