"""What a raster is made of: spikes of some neurons, counted in bins."""

from __future__ import annotations

import numpy as np

from arm_control.neural import Population, SpikeRecord, decoders, points_in_cube
from arm_control.neural.populations import MOST_BINS, CompileLoop, even_tuning

DT = 1e-3


def test_spikes_are_counted_while_somebody_wants_them(compile_loop: CompileLoop):
    tuning = even_tuning(40, 2)
    populations = [Population(compile_loop, tuning, decoders(tuning, points_in_cube(2)), DT) for _ in range(2)]
    record = SpikeRecord(populations, 10, DT)
    shown = tuning.order[np.linspace(0, 39, 10).round().astype(int)]
    expected = np.zeros((20, 25))
    for is_on in (False, True):
        record.is_on = is_on
        for k in range(50):
            for i, population in enumerate(populations):
                population.step(np.array([0.9 - i, 0.2]))
                expected[10 * i : 10 * i + 10, k // 2] += is_on * population.spikes[shown]
            record.add()
    assert record.n_bins == 25
    assert np.array_equal(record.take(), expected)
    assert expected.sum() > 50
    assert record.n_bins == 0
    for _ in range(3 * MOST_BINS):
        record.add()
    assert record.take().shape == (20, MOST_BINS), "older ones are forgotten"


def test_neurons_are_sorted_by_axis_direction_and_intercept():
    tuning = even_tuning(24, 2)
    order = tuning.order
    axes = np.argmax(np.abs(tuning.encoders[order]), axis=1)
    signs = tuning.encoders[order].sum(axis=1)
    groups = list(dict.fromkeys(zip(axes.tolist(), signs.tolist(), strict=True)))
    assert len(groups) == 4, "neurons of a kind are neighbours"
    intercepts = ((1.0 - tuning.biases) / tuning.gains)[order].reshape(4, 6)
    assert (np.diff(intercepts, axis=1) > 0.0).all()
