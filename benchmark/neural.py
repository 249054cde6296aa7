"""Point attractors in synapses and spiking neurons: error of both compensations, time of a step beside NumPy and Nengo.

    python benchmark/neural.py [--json FILE] [--quick]

A step is that of one attractor in 1,000 neurons. All contenders have the same neurons, and fire the same spikes; Nengo
takes part where it is installed. benchmark/primitives.py has these figures, too.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from measure import Contender, agree, processor, take_turns, versions

# isort: split
import numpy as np

from arm_control.compiler import compile_law, plain_compiler
from arm_control.maths import Array
from arm_control.neural import (
    TAU_RC,
    TAU_REF,
    LinearSystem,
    NeuralSystem,
    NeuronTuning,
    Population,
    compensate,
    decoders,
    point_attractor,
    points_in_cube,
    random_tuning,
    scaled_attractor,
)

sys.path.append(str(Path(__file__).parents[1] / "test" / "oracles"))
from lowpass import Lowpass

DT, TAU = 1e-3, 0.1
ALPHAS = (10.0, 100.0, 1000.0, 1900.0, 2100.0, 4100.0)
N_NEURONS, N_STEPS = 1000, 2000


def response(wanted: LinearSystem, compensated: LinearSystem, n: int = N_STEPS) -> tuple[Array, Array]:
    """Position after a unit step without noise: of a system behind a synapse, and of the wanted one, shape (n,)."""
    A, B = compensate(compensated, TAU)
    synapse, x = Lowpass(TAU, DT, 2), np.zeros(2)
    u, loop, exact = np.ones(1), np.zeros(n), np.zeros(n)
    for k in range(n):
        loop[k] = synapse.step(A @ synapse.output + B @ u)[0]
        x = wanted.step(x, u)
        exact[k] = x[0]
    return loop, exact


def compensation_errors() -> dict[str, float]:
    """Largest errors after a unit step."""
    errors = {}
    for alpha in ALPHAS:
        system = point_attractor(alpha)
        discrete = system.discretized(DT)
        for name, compensated in (("continuous", system), ("discrete", discrete)):
            loop, exact = response(discrete, compensated)
            errors[f"{name}_error.{alpha:g}"] = float(np.abs(loop - exact).max())
    errors["discrete_error"] = max(errors[f"discrete_error.{alpha:g}"] for alpha in ALPHAS)
    return errors


class NumpyPopulation:
    """The same neurons with NumPy: arrays for all of them, and the times of spikes for those that fire."""

    def __init__(self, tuning: NeuronTuning, D: Array) -> None:
        self._E, self._b, self._D = tuning.encoders * tuning.gains[:, None], tuning.biases, D / DT
        self._v, self._rho = tuning.v_start.copy(), np.zeros(len(tuning.gains))
        self.work = np.zeros(4)

    def step(self, x: Array) -> Array:
        """See :meth:`Population.step`."""
        self.work[:2] = x
        J = self._E @ x + self._b
        delta = np.clip(DT - self._rho, 0.0, DT)
        self._v -= (J - self._v) * np.expm1(-delta / TAU_RC)
        np.maximum(self._v, 0.0, out=self._v)
        self._rho -= DT
        fired = np.flatnonzero(self._v > 1.0)
        self._rho[fired] = TAU_REF - TAU_RC * np.log((J[fired] - 1.0) / (J[fired] - self._v[fired]))
        self._v[fired] = 0.0
        self.work[2:] = self._D[:, fired].sum(axis=1)
        return self.work[2:]


def step_times(rounds: int) -> dict[str, float]:
    """Microseconds of a step of one attractor, of contenders that take turns."""
    tuning, system = random_tuning(N_NEURONS, 2, seed=0), scaled_attractor(10.0)
    D = decoders(tuning, points_in_cube(2))
    matrices = compensate(system.discretized(DT), TAU)
    compiled = Population(partial(compile_law, plain_compiler()), tuning, D, DT)
    systems = {
        name: NeuralSystem(population, matrices, TAU, DT)
        for name, population in (("tick", compiled), ("numpy", NumpyPopulation(tuning, D)))
    }
    goals = [(np.array([goal]),) for goal in np.repeat([0.8, -0.8], 250)]
    for _ in range(2):
        for goal in goals:
            agree("neurons with NumPy", systems["numpy"].step(*goal), systems["tick"].step(*goal))
    contenders = {name: Contender(neurons.step, goals) for name, neurons in systems.items()}
    if find_spec("nengo"):
        contenders["nengo"] = Contender(_nengo_step(system, tuning, D), [()] * len(goals))
    return {f"{name}_us": times.median for name, times in take_turns(contenders, rounds).items()}


def _nengo_step(system: LinearSystem, tuning: NeuronTuning, D: Array):
    import nengo

    sys.path.append(str(Path(__file__).parents[1] / "examples"))
    from nengo_network import nengo_system

    built = nengo_system(system, TAU, DT, tuning=tuning, solver=nengo.solvers.NoSolver(D.T))
    with built.network:
        nengo.Connection(nengo.Node(0.8), built.input, synapse=None)
    return nengo.Simulator(built.network, dt=DT, progress_bar=False).step


def measure(*, is_quick: bool) -> dict[str, float]:
    """All figures; quick: to see that it works."""
    return compensation_errors() | step_times(1 if is_quick else 21)


def main() -> None:
    """Print the figures; with ``--json`` write them too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="one round: to see that it works")
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'nengo')}; {N_NEURONS} neurons")
    figures = measure(is_quick=options.quick)
    for name, value in figures.items():
        print(f"  {name:32} {value:12.4g}")
    if options.json:
        options.json.write_text(json.dumps({f"neural.{name}": value for name, value in figures.items()}, indent=1))


if __name__ == "__main__":
    main()
