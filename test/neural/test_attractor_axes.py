"""Attractors side by side: the four ways to realise one, each against the system itself."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import ParameterError
from arm_control.neural import AttractorParameters, scaled_attractor
from arm_control.neural.attractor_follower import VARIANTS, NeuralAxes, make_axes
from arm_control.neural.populations import CompileLoop

DT = 1e-3
GOALS = np.array([0.6, -0.4])
BOUNDS = {"ideal": 1e-15, "discrete": 1e-12, "continuous": 2e-3, "neurons": 0.02}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_follows_the_system(variant: str, compile_loop: CompileLoop):
    axes = make_axes(AttractorParameters(variant=variant), DT, 2, compile_loop)
    system, x, error = scaled_attractor(10.0).discretized(DT), np.zeros((2, 2)), 0.0
    axes.restart(x)
    for k in range(600):
        u = GOALS if k < 300 else -GOALS
        axes.step(u)
        x = system.A @ x + system.B * u
        error = max(error, np.abs(axes.x - x).max())
    assert error <= BOUNDS[variant]
    assert variant in ("ideal", "discrete") or error > 1e-4, "it is not the system itself"
    axes.hold(np.full((2, 2), 0.1))
    assert np.array_equal(axes.x, np.full((2, 2), 0.1))


def run(axes: NeuralAxes) -> np.ndarray:
    axes.restart(np.zeros((2, 2)))
    for _ in range(30):
        axes.step(GOALS)
    return axes.x


def test_seeds_draw_neurons_and_a_restart_repeats_them(compile_loop: CompileLoop):
    axes = {seed: make_axes(AttractorParameters(seed=seed, neurons=80), DT, 2, compile_loop) for seed in (0, 1, 2)}
    x = {seed: run(axes[seed]) for seed in axes}
    assert np.array_equal(x[1], run(axes[1]))
    assert not np.array_equal(x[1], x[2])
    same_goals = axes[1]
    same_goals.restart(np.zeros((2, 2)))
    same_goals.step(np.ones(2))
    assert not np.array_equal(*same_goals.x.T), "each axis has neurons of its own"
    assert not np.array_equal(x[0], x[1])
    again = make_axes(AttractorParameters(seed=1, neurons=80), DT, 2, compile_loop)
    assert np.array_equal(x[1], run(again))


def test_the_parameters_check_themselves():
    for name, value in (("variant", "spiking"), ("alpha", 0.0), ("synapse", 0.0), ("neurons", 4), ("radius", 0.0)):
        with pytest.raises(ParameterError, match=name):
            AttractorParameters(**{name: value})
