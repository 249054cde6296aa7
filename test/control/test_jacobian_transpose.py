"""Stepping by the transposed Jacobian: the law, its bound, and what the studywolf blog's gains do."""

from __future__ import annotations

import jacobian_transpose as example
import numpy as np
import pytest

from arm_control.model import RobotModel

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
TARGET = np.array([0.4, 0.2, 0.4])


def test_a_step_is_the_law_up_to_its_bound_and_no_step_is_larger_than_allowed(ur5: RobotModel):
    J, dx = ur5.jacobian(HOME)[:3], TARGET - ur5.pose(HOME).p
    edge = 1.5 / np.linalg.eigvalsh(J @ J.T)[-1]
    for gain in (0.5, 0.99 * edge, 1.01 * edge, 1e6):
        q = example.step(ur5, HOME, TARGET, gain / example.ALPHA, stability=1.5, largest_step=100.0)
        np.testing.assert_allclose(q, HOME + min(gain, edge) * J.T @ dx, rtol=0, atol=1e-12)
    short = example.step(ur5, HOME, TARGET, 1e9, stability=1.5, largest_step=0.01) - HOME
    np.testing.assert_allclose(short, (q - HOME) * 0.01 / np.abs(q - HOME).max(), rtol=0, atol=1e-12)


def test_the_gains_of_the_page(ur5: RobotModel):
    """kp = 1 is far too slow, as measured for the blog's arm; 100 and 1000 take about ten times less each."""
    (_, steps, left), fast, (q, steps_of_more, _), most = (
        example.solve(ur5, HOME, TARGET, kp) for kp in (1.0, 100.0, 1e3, 1e5)
    )
    assert (steps, fast[1], steps_of_more, most[1]) == (10_000, 442, 44, 23)
    assert left == pytest.approx(0.023, abs=5e-4)
    assert np.linalg.norm(ur5.pose(q).p - TARGET) < 1e-3
