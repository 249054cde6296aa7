"""The point attractor in 1,000 spiking neurons: bounds of its error, in good and in bad units, and Nengo's neurons."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from nengo_network import nengo_system

from arm_control.exceptions import MissingExtra
from arm_control.maths import Array
from arm_control.neural import (
    LinearSystem,
    NeuralSystem,
    Population,
    compensate,
    decoders,
    follow_stepped_goals,
    point_attractor,
    points_in_cube,
    random_tuning,
    scaled_attractor,
)
from arm_control.neural.populations import CompileLoop

DT, TAU = 1e-3, 0.1
RANDOM = random_tuning(1000, 2, seed=0)
D_RANDOM = decoders(RANDOM, points_in_cube(2))


def neural(system: LinearSystem, compile_loop: CompileLoop) -> NeuralSystem:
    return NeuralSystem(
        Population(compile_loop, RANDOM, D_RANDOM, DT), compensate(system.discretized(DT), TAU), TAU, DT
    )


def goals(n: int) -> Array:
    """Steps from -1 to 1, one a second."""
    return np.floor(np.arange(n) * DT) / 5.0 * 2.0 - 1.0


def rms_error(system: LinearSystem, compile_loop: CompileLoop, compensation: str) -> float:
    """Of the decoded position behind a probe's synapse."""
    return follow_stepped_goals(system, RANDOM, compile_loop, compensations=[compensation]).errors[compensation]


@pytest.mark.parametrize("alpha", [10.0, 1000.0])
def test_neurons_with_a_scaled_state_follow_the_attractor(alpha: float, compile_loop: CompileLoop):
    assert rms_error(scaled_attractor(alpha), compile_loop, "discrete") <= 0.05


def test_the_discrete_compensation_serves_fast_attractors_and_the_continuous_one_does_not(compile_loop: CompileLoop):
    fast = point_attractor(1000.0)
    assert rms_error(fast, compile_loop, "discrete") < 0.06
    assert rms_error(fast, compile_loop, "continuous") > 0.2


def test_a_restart_starts_from_a_state(compile_loop: CompileLoop):
    neurons = neural(scaled_attractor(10.0), compile_loop)
    first = [neurons.step(np.ones(1)) for _ in range(50)]
    neurons.restart(np.zeros(2))
    assert np.array_equal(first, [neurons.step(np.ones(1)) for _ in range(50)])
    neurons.restart(np.array([0.5, 0.0]))
    held = [neurons.step(np.array([0.5]))[0] for _ in range(500)]
    assert np.abs(np.array(held) - 0.5).max() < 0.02


def test_the_same_neurons_in_nengo_fire_the_same_spikes(compile_loop: CompileLoop):
    nengo = pytest.importorskip("nengo")
    n, system = 300, scaled_attractor(10.0)
    built = nengo_system(system, TAU, DT, tuning=RANDOM, solver=nengo.solvers.NoSolver(D_RANDOM.T))
    with built.network:
        source = nengo.Node(lambda t: 2.0 * goals(n + 1)[round(t / DT) - 1] + 1.5)
        nengo.Connection(source, built.input, synapse=None)
        decoded = nengo.Probe(built.output, synapse=None)
        spikes = nengo.Probe(built.ensemble.neurons)
    with nengo.Simulator(built.network, dt=DT, progress_bar=False) as simulator:
        simulator.run_steps(n)
    neurons = neural(system, compile_loop)
    for k, goal in enumerate(goals(n)):
        neurons.step(np.array([2.0 * goal + 1.5]))
        assert np.array_equal(neurons.population.spikes, simulator.data[spikes][k] > 0.0)
        np.testing.assert_allclose(neurons.population.decoded, simulator.data[decoded][k], atol=1e-10)


def test_without_nengo_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "nengo", None)
    with pytest.raises(MissingExtra, match=r"arm_control\[nengo\]"):
        nengo_system(scaled_attractor(10.0), TAU, DT)
