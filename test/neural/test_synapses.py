"""Compensated synapses: transfer identities, and simulated loops without noise against the wanted system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.neural import LinearSystem, Lowpass, compensate, point_attractor, scaled_attractor
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


@pytest.mark.parametrize(
    ("alpha", "error"), [(10.0, 0.0021), (100.0, 0.0054), (1000.0, 0.0967), (1900.0, 0.327), (2100.0, 0.471)]
)
def test_continuous_compensation_in_steps_has_the_error_of_eulers_method(alpha: float, error: float):
    system = point_attractor(alpha)
    assert largest_error(system, system.discretized(DT), [TAU], STEP) == pytest.approx(error, rel=0.01)
    h = (1.0 - pole(TAU, DT)) * TAU
    x = np.zeros(2)
    for state in run(system, [TAU], STEP[:200]):
        x = x + h * (system.A @ x + system.B[:, 0])
        np.testing.assert_allclose(state, x, rtol=1e-9, atol=1e-9)


def test_continuous_compensation_diverges_where_eulers_method_does():
    system = point_attractor(4100.0)
    a = pole(TAU, DT)
    loop = a * np.eye(2) + (1.0 - a) * compensate(system, [TAU]).A
    assert np.abs(np.linalg.eigvals(loop)).max() == pytest.approx(1.04, abs=0.005)
    assert largest_error(system, system.discretized(DT), [TAU], STEP) > 1e30


@pytest.mark.parametrize("alpha", [10.0, 100.0, 1000.0, 1900.0, 2100.0, 4100.0])
@pytest.mark.parametrize("attractor", [point_attractor, scaled_attractor])
def test_discrete_compensation_has_no_error(alpha: float, attractor):
    discrete = attractor(alpha).discretized(DT)
    assert largest_error(discrete, discrete, [TAU], STEP) <= 4e-14


def test_a_system_with_a_singular_matrix_is_compensated():
    discrete = LinearSystem([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]]).discretized(DT)
    assert largest_error(discrete, discrete, [TAU], np.sin(np.arange(2000) / 50.0)[:, None]) <= 1e-12


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


@pytest.mark.parametrize("taus", [(0.1, 0.005), (0.02, 0.02), (0.1, 0.02, 0.005)])
def test_synapses_in_series_are_compensated_where_the_input_is_known_in_advance(taus: tuple[float, ...]):
    discrete = scaled_attractor(100.0).discretized(DT)
    inputs = np.random.default_rng(0).normal(size=(400, 1))
    inputs[: len(taus) - 1] = 0.0  # equation (1) holds at the start
    assert largest_error(discrete, discrete, taus, inputs) <= 1e-11
    constant = np.concatenate([np.zeros((len(taus), 1)), np.ones((50, 1))])
    matrices = compensate(discrete, taus)
    np.testing.assert_allclose(matrices.of_constant_input, sum(matrices.B), rtol=1e-12)
    assert largest_error(discrete, discrete, taus, constant) <= 1e-11


def test_a_continuous_chain_is_a_polynomial_in_the_system():
    """The transfer function of u with its derivatives, B'_0 + s B'_1, behind two synapses is the wanted one."""
    system, taus, s = point_attractor(30.0), (0.1, 0.02), 3.0 + 7j
    matrices = compensate(system, taus)
    inverse_synapse = (0.1 * s + 1.0) * (0.02 * s + 1.0)
    x = np.linalg.solve(inverse_synapse * np.eye(2) - matrices.A, matrices.B[0] + s * matrices.B[1])
    np.testing.assert_allclose(x, system.transfer(s), atol=1e-14)
    tau_1, tau_2 = taus
    A = system.A
    np.testing.assert_allclose(matrices.A, tau_1 * tau_2 * A @ A + (tau_1 + tau_2) * A + np.eye(2), atol=1e-14)


@pytest.mark.parametrize("decay", [5.0, 200.0, 220.0])
def test_two_synapses_can_be_systems_that_are_slower_than_both_together(decay: float):
    """The additional pole of equation (8)."""
    tau_1, tau_2 = 0.1, 0.005
    discrete = LinearSystem([[-decay]], [[1.0]]).discretized(DT)
    feedback = float(compensate(discrete, [tau_1, tau_2]).A[0, 0])
    a, b = pole(tau_1, DT), pole(tau_2, DT)
    loop = np.array([[a, (1.0 - a) * feedback], [1.0 - b, b]])
    lam = float(discrete.A[0, 0])
    np.testing.assert_allclose(sorted(np.linalg.eigvals(loop).real), sorted([lam, a + b - lam]), atol=1e-9)
    assert (a + b - lam < 1.0) == (decay < 1.0 / tau_1 + 1.0 / tau_2)


def test_a_synapse_lets_1_minus_a_through_in_the_first_step():
    assert Lowpass([TAU], DT, 1).step(np.ones(1))[0] == pytest.approx(1.0 - np.exp(-DT / TAU), rel=1e-12)
    both = Lowpass([TAU, 0.02], DT, 1)
    assert both.step(np.ones(1))[0] == 0.0
    assert both.step(np.ones(1))[0] == pytest.approx((1.0 - pole(TAU, DT)) * (1.0 - pole(0.02, DT)), rel=1e-12)


@pytest.mark.parametrize("taus", [[], [0.0], [-0.1, 0.1], [np.nan]])
def test_what_is_no_synapse_is_refused(taus: list[float]):
    with pytest.raises(InputError, match="positive numbers"):
        compensate(point_attractor(1.0), taus)
    with pytest.raises(InputError, match="positive numbers"):
        Lowpass(taus, DT, 1)
