"""A compensated synapse: simulated loops without noise against the wanted system."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from lowpass import Lowpass

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.neural import LinearSystem, compensate, point_attractor, scaled_attractor
from arm_control.neural.synapses import pole

DT, TAU = 1e-3, 0.1


def run(system: LinearSystem, n: int) -> Iterator[Array]:
    """States of the loop x <- H (A' x + B' u), one a step, with an input of 1."""
    (A, B), synapse = compensate(system, TAU), Lowpass(TAU, DT, len(system.A))
    for _ in range(n):
        yield synapse.step(A @ synapse.output + B @ np.ones(1)).copy()


def largest_error(system: LinearSystem, wanted: LinearSystem) -> float:
    """Largest error of the first entry of the state."""
    x, error = np.zeros(len(wanted.A)), 0.0
    for state in run(system, 2000):
        x = wanted.step(x, np.ones(1))
        error = max(error, abs(state[0] - x[0]))
    return error


@pytest.mark.parametrize(("alpha", "error"), [(10.0, 0.0021), (1000.0, 0.0967), (2100.0, 0.471)])
def test_continuous_compensation_in_steps_has_the_error_of_eulers_method(alpha: float, error: float):
    system = point_attractor(alpha)
    assert largest_error(system, system.discretized(DT)) == pytest.approx(error, rel=0.01)
    h = (1.0 - pole(TAU, DT)) * TAU
    x = np.zeros(2)
    for state in run(system, 200):
        x = x + h * (system.A @ x + system.B[:, 0])
        np.testing.assert_allclose(state, x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("alpha", [10.0, 4100.0])
@pytest.mark.parametrize("attractor", [point_attractor, scaled_attractor])
def test_discrete_compensation_has_no_error(alpha: float, attractor):
    discrete = attractor(alpha).discretized(DT)
    assert largest_error(discrete, discrete) <= 4e-14


@pytest.mark.parametrize("tau", [0.0, -0.1, np.nan])
def test_what_is_no_synapse_is_refused(tau: float):
    with pytest.raises(InputError, match="positive number"):
        compensate(point_attractor(1.0), tau)
