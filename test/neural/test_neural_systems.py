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
    Lowpass,
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
from arm_control.neural.populations import CompileLoop, even_tuning

DT, TAU, PROBE = 1e-3, 0.1, 0.01
RANDOM = random_tuning(1000, 2, seed=0)
D_RANDOM = decoders(RANDOM, points_in_cube(2))


def neural(
    system: LinearSystem, compile_loop: CompileLoop, tuning: NeuronTuning, D: Array, is_discrete: bool = True
) -> NeuralSystem:
    matrices = compensate(system.discretized(DT) if is_discrete else system, [TAU])
    return NeuralSystem(Population(compile_loop, tuning, D, DT), matrices, TAU, DT)


def goals(n: int) -> Array:
    """Steps from -1 to 1, one a second."""
    return np.floor(np.arange(n) * DT) / 5.0 * 2.0 - 1.0


def rms_error(system: LinearSystem, neurons: NeuralSystem) -> float:
    """Of the decoded position behind a probe's synapse."""
    discrete, probe, x = system.discretized(DT), Lowpass([PROBE], DT, 2), np.zeros(2)
    errors = []
    for goal in goals(5000):
        u = np.array([goal])
        neurons.step(u)
        errors.append(probe.step(neurons.population.decoded)[0] - x[0])
        x = discrete.step(x, u)
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize("alpha", [10.0, 100.0, 1000.0])
def test_neurons_with_a_scaled_state_follow_the_attractor(alpha: float, compile_loop: CompileLoop):
    system = scaled_attractor(alpha)
    assert rms_error(system, neural(system, compile_loop, RANDOM, D_RANDOM)) <= 0.05


def test_neurons_that_are_spread_evenly_do_as_well(compile_loop: CompileLoop):
    system, even = scaled_attractor(10.0), even_tuning(1000, 2)
    assert rms_error(system, neural(system, compile_loop, even, decoders(even, points_in_cube(2)))) <= 0.05


@pytest.mark.parametrize("is_discrete", [True, False])
def test_neurons_cannot_represent_the_plain_velocity(is_discrete: bool, compile_loop: CompileLoop):
    system = point_attractor(100.0)
    assert rms_error(system, neural(system, compile_loop, RANDOM, D_RANDOM, is_discrete)) >= 0.14


def test_a_restart_starts_from_a_state(compile_loop: CompileLoop):
    neurons = neural(scaled_attractor(10.0), compile_loop, RANDOM, D_RANDOM)
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
    neurons = neural(system, compile_loop, RANDOM, D_RANDOM)
    for k, goal in enumerate(goals(n)):
        neurons.step(np.array([2.0 * goal + 1.5]))
        assert np.array_equal(neurons.population.spikes, simulator.data[spikes][k] > 0.0)
        np.testing.assert_allclose(neurons.population.decoded, simulator.data[decoded][k], atol=1e-10)


def test_nengo_solves_for_the_same_decoders():
    nengo = pytest.importorskip("nengo")
    tuning, points = random_tuning(100, 2, seed=3), points_in_cube(2)
    with nengo.Network() as network:
        neurons = {"encoders": tuning.encoders, "gain": tuning.gains, "bias": tuning.biases}
        ensemble = nengo.Ensemble(100, 2, eval_points=points, **neurons)
        connection = nengo.Connection(ensemble, nengo.Node(size_in=2), solver=nengo.solvers.LstsqL2())
    with nengo.Simulator(network, progress_bar=False) as simulator:
        D = simulator.data[connection].weights
    np.testing.assert_allclose(decoders(tuning, points), D, atol=2e-5 * np.abs(D).max())


@pytest.mark.parametrize(("dt", "error"), [(DT, 4e-14), (None, 0.0054)])
def test_nengo_without_neurons_has_the_error_of_the_compensation(dt: float | None, error: float):
    nengo = pytest.importorskip("nengo")
    system = point_attractor(100.0)
    built = nengo_system(system, TAU, dt, is_direct=True)
    with built.network:
        nengo.Connection(nengo.Node(1.0), built.input, synapse=None)
        probe = nengo.Probe(built.output, synapse=None)
    with nengo.Simulator(built.network, dt=DT, progress_bar=False) as simulator:
        simulator.run_steps(300)
    x, largest = np.zeros(2), 0.0
    for row in simulator.data[probe]:
        largest = max(largest, abs(row[0] - x[0]))
        x = system.discretized(DT).step(x, np.ones(1))
    assert largest <= error * 1.01
    assert dt is not None or largest > 0.005


def test_nengo_draws_its_own_neurons_with_a_seed():
    nengo = pytest.importorskip("nengo")
    decoded = []
    for seed in (1, 1, 2):
        built = nengo_system(scaled_attractor(10.0), TAU, DT, n_neurons=100, seed=seed)
        with built.network:
            nengo.Connection(nengo.Node(0.5), built.input, synapse=None)
            probe = nengo.Probe(built.output, synapse=0.01)
        with nengo.Simulator(built.network, dt=DT, progress_bar=False) as simulator:
            simulator.run_steps(300)
        decoded.append(simulator.data[probe])
    np.testing.assert_allclose(decoded[0], decoded[1], atol=1e-9)
    assert not np.array_equal(decoded[0], decoded[2])
    assert 0.1 < decoded[0][-1, 0] < 0.5


def test_without_nengo_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "nengo", None)
    with pytest.raises(MissingExtra, match=r"arm_control\[nengo\]"):
        nengo_system(scaled_attractor(10.0), TAU, DT)
