"""Populations: decoders against least squares, compiled neurons against NumPy, what they represent."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from arm_control.compiler import compile_law
from arm_control.exceptions import InputError
from arm_control.neural import NeuronTuning, Population, decoders, points_in_cube, random_tuning
from arm_control.neural.populations import NOISE, CompileLoop, even_tuning

DT = 1e-3
TUNINGS = {"even": even_tuning(200, 2), "random": random_tuning(200, 2, seed=4)}


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
def test_neurons_are_tuned_to_one_axis_within_the_ranges(tuning: NeuronTuning):
    assert sorted(set(map(tuple, tuning.encoders))) == [(-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, 0.0)]
    rates = tuning.rates(tuning.encoders)[np.arange(200), np.arange(200)]
    assert 200.0 <= rates.min() < 210.0
    assert 390.0 < rates.max() <= 400.0
    intercepts = (1.0 - tuning.biases) / tuning.gains
    assert -1.0 <= intercepts.min() < -0.95
    assert 0.85 < intercepts.max() <= 0.9
    assert 0.0 <= tuning.v_start.min() < 0.1 < 0.9 < tuning.v_start.max() < 1.0


def test_decoders_are_those_of_least_squares_with_noise():
    tuning, points = random_tuning(40, 2, seed=4), points_in_cube(2)
    D = decoders(tuning, points)
    A = tuning.rates(points)
    extended = np.vstack([A, NOISE * A.max() * np.sqrt(len(points)) * np.eye(40)])
    expected, *_ = np.linalg.lstsq(extended, np.vstack([points, np.zeros((40, 2))]), rcond=None)
    np.testing.assert_allclose(D.T, expected, atol=2e-5 * np.abs(D).max())
    assert np.sqrt(np.mean((A @ D.T - points) ** 2)) < 0.15


def test_decoders_do_not_show_the_rounding_of_their_equations():
    """As another number of threads makes it."""
    tuning, points = TUNINGS["even"], points_in_cube(2)
    order = np.random.default_rng(0).permutation(len(points))
    assert np.array_equal(decoders(tuning, points), decoders(tuning, points[order]))


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
def test_compiled_neurons_fire_as_those_in_numpy(tuning: NeuronTuning, compile_loop: CompileLoop):
    """Also a number of neurons that fills no vector register."""
    tuning = NeuronTuning(*(part[:-3] for part in vars(tuning).values()))
    D = decoders(tuning, points_in_cube(2))
    compiled, plain = Population(compile_loop, tuning, D, DT), Population(partial(compile_law, None), tuning, D, DT)
    n_spikes = 0
    for k in range(60):
        x = np.array([np.sin(k / 20.0), 0.3])
        np.testing.assert_allclose(compiled.step(x), plain.step(x), atol=1e-11)
        assert np.array_equal(compiled.spikes, plain.spikes)
        n_spikes += int(compiled.spikes.sum())
    assert n_spikes > 1000


def test_too_few_neurons_and_too_long_steps_are_refused(compile_loop: CompileLoop):
    with pytest.raises(InputError, match="at least four"):
        even_tuning(7, 2)
    with pytest.raises(InputError, match="at least four"):
        random_tuning(3, 1, seed=0)
    tuning = TUNINGS["even"]
    for dt in (0.0, 0.0021, float("nan")):
        with pytest.raises(InputError, match=r"allowed: up to 0\.002 s"):
            Population(compile_loop, tuning, np.zeros((2, 200)), dt)
