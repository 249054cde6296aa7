"""Compensated synapses: transfer identities, and simulated loops without noise against the wanted system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lowpass import Lowpass

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.neural import LinearSystem, compensate, point_attractor, scaled_attractor
from arm_control.neural.synapses import pole

DT, TAU = 1e-3, 0.1


def run(system: LinearSystem, taus: Sequence[float], inputs: Array) -> Array:
    """States of the loop x <- H (A' x + B' u), one a step."""
    matrices = compensate(system, taus)
    synapses = Lowpass(taus, DT, len(system.A))
    k = len(taus)
    for i in range(len(inputs) - k + 1):
        u = sum(B @ x for B, x in zip(matrices.B, inputs[i : i + k], strict=True))
        yield synapses.step(matrices.A @ synapses.output + u).copy()


def largest_error(system: LinearSystem, wanted: LinearSystem, taus: Sequence[float], inputs: Array) -> float:
    """Largest error of the first entry of the state."""
    x, error = np.zeros(len(wanted.A)), 0.0
    for state, u in zip(run(system, taus, inputs), inputs, strict=False):
        x = wanted.step(x, u)
        error = max(error, abs(state[0] - x[0]))
    return error


STEP = np.ones((2000, 1))


@pytest.mark.parametrize(("alpha", "error"), [(10.0, 0.0021), (1000.0, 0.0967), (2100.0, 0.471)])
def test_continuous_compensation_in_steps_has_the_error_of_eulers_method(alpha: float, error: float):
    system = point_attractor(alpha)
    assert largest_error(system, system.discretized(DT), [TAU], STEP) == pytest.approx(error, rel=0.01)
    h = (1.0 - pole(TAU, DT)) * TAU
    x = np.zeros(2)
    for state in run(system, [TAU], STEP[:200]):
        x = x + h * (system.A @ x + system.B[:, 0])
        np.testing.assert_allclose(state, x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("alpha", [10.0, 4100.0])
@pytest.mark.parametrize("attractor", [point_attractor, scaled_attractor])
def test_discrete_compensation_has_no_error(alpha: float, attractor):
    discrete = attractor(alpha).discretized(DT)
    assert largest_error(discrete, discrete, [TAU], STEP) <= 4e-14


def test_transfer_function_with_the_synapse_is_the_wanted_one():
    """F' at 1/H is F: continuous at s, discrete at z; and the matrices are (6) and (7)."""
    system = point_attractor(10.0)
    discrete = system.discretized(DT)
    a = pole(TAU, DT)
    for wanted, s, inverse_synapse, A in (
        (system, 2j, TAU * 2j + 1.0, TAU * system.A + np.eye(2)),
        (discrete, 0.9 + 0.3j, (0.9 + 0.3j - a) / (1.0 - a), (discrete.A - a * np.eye(2)) / (1.0 - a)),
    ):
        matrices = compensate(wanted, [TAU])
        np.testing.assert_allclose(matrices.A, A, atol=1e-12)
        compensated = LinearSystem(matrices.A, matrices.B[0])
        np.testing.assert_allclose(compensated.transfer(inverse_synapse), wanted.transfer(s), atol=4e-15)


@pytest.mark.parametrize("taus", [(0.02, 0.02), (0.1, 0.02, 0.005)])
def test_synapses_in_series_are_compensated_where_the_input_is_known_in_advance(taus: tuple[float, ...]):
    discrete = scaled_attractor(100.0).discretized(DT)
    inputs = np.random.default_rng(0).normal(size=(400, 1))
    inputs[: len(taus) - 1] = 0.0  # equation (1) holds at the start
    assert largest_error(discrete, discrete, taus, inputs) <= 1e-11
    constant = np.concatenate([np.zeros((len(taus), 1)), np.ones((50, 1))])
    assert largest_error(discrete, discrete, taus, constant) <= 1e-11


@pytest.mark.parametrize("taus", [[], [-0.1, 0.1], [np.nan]])
def test_what_is_no_synapse_is_refused(taus: list[float]):
    with pytest.raises(InputError, match="positive numbers"):
        compensate(point_attractor(1.0), taus)
