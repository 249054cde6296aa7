"""Sobol's sequence: its first points, and that every dimension is filled evenly."""

from __future__ import annotations

import numpy as np

from arm_control.kinematics.search import sobol_points


def test_the_first_point_is_the_middle():
    np.testing.assert_array_equal(sobol_points(9, 1), np.full((1, 9), 0.5))


def test_every_interval_of_every_dimension_has_one_point():
    points = np.vstack([np.zeros(12), sobol_points(12, 255)])
    for values in points.T:
        assert sorted(np.floor(256 * values)) == list(range(256))


def test_dimensions_differ_and_fill_squares():
    points = np.vstack([np.zeros(8), sobol_points(8, 1023)])
    for i in range(8):
        for j in range(i):
            counts, _, _ = np.histogram2d(points[:, i], points[:, j], bins=8, range=[[0, 1], [0, 1]])
            assert counts.min() >= 8  # of 16 each; one of equal dimensions has 0
