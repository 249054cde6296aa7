"""A neuron against closed forms: series, rates, times of spikes, refractory time and tuning."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.neural import TAU_RC, TAU_REF
from arm_control.neural.lif_neurons import LONGEST_STEP, decay, firing_rate, gain_and_bias, lif_step, log_ratio


def run(J: float, dt: float, n: int, v: float = 0.0, rho: float = 0.0) -> list[tuple[float, float, float]]:
    """Membrane, refractory time and spike after each step with a constant current."""
    states = []
    for _ in range(n):
        x = {"represented": [1.0], "gain_encoder": [J], "bias": [0.0], "decoder": [2.0], "v": [v], "rho": [rho]}
        result = lif_step({name: np.array(values) for name, values in x.items()}, dt)
        v, rho, spike = (float(result[name][0]) for name in ("v_next", "rho_next", "spike"))
        assert float(result["decoded"][0]) == 2.0 * spike
        states.append((v, rho, spike))
    return states


def test_both_series_have_all_figures():
    for y in np.logspace(-12, np.log10(LONGEST_STEP / TAU_RC), 10):
        assert decay(float(y)) == pytest.approx(-np.expm1(-y), rel=4e-16)
        v, J = 1.0, 1.0 / -np.expm1(-y)  # the membrane reaches 1 after y tau_rc
        assert log_ratio(np.tanh(y / 2), 1.0) == pytest.approx(y, rel=1e-15)
        end = J * -np.expm1(-y)
        assert end == pytest.approx(v, rel=1e-15)


@pytest.mark.parametrize("J", [1.05, 60.0])
@pytest.mark.parametrize("dt", [3e-4, LONGEST_STEP])
def test_the_times_of_spikes_are_exact_within_a_step(J: float, dt: float):
    """Between two spikes is the refractory time and that of charging: equation (3), whatever the steps."""
    states = run(J, dt, round(0.2 / dt))
    times = [(k + 1) * dt - (TAU_REF - rho) for k, (_, rho, spike) in enumerate(states) if spike]
    period = TAU_REF + TAU_RC * np.log(J / (J - 1.0))
    assert times[0] == pytest.approx(period - TAU_REF, rel=1e-11)
    np.testing.assert_allclose(np.diff(times), period, rtol=1e-11)
    assert firing_rate(np.array([J]))[0] == pytest.approx(1.0 / period, rel=1e-14)


def test_a_neuron_below_its_threshold_never_fires_and_is_never_negative():
    assert firing_rate(np.array([0.2, 1.0, -3.0])).tolist() == [0.0, 0.0, 0.0]
    states = run(0.999, 1e-3, 300)
    assert not any(spike for *_, spike in states)
    assert states[-1][0] == pytest.approx(0.999, abs=1e-5)
    assert all(v == 0.0 for v, *_ in run(-5.0, 1e-3, 50, v=0.0))


def test_a_refractory_neuron_does_not_charge():
    (v, rho, _), (w, *_) = run(3.0, 1e-3, 2, rho=1.4e-3)
    assert v == 0.0
    assert rho == pytest.approx(0.4e-3, rel=1e-12)
    assert w == pytest.approx(3.0 * -np.expm1(-0.6e-3 / TAU_RC), rel=1e-12)


def test_gain_and_bias_give_the_rate_and_the_intercept():
    rates, intercepts = np.array([200.0, 400.0, 333.0]), np.array([-1.0, 0.9, 0.1])
    gain, bias = gain_and_bias(rates, intercepts)
    np.testing.assert_allclose(firing_rate(gain + bias), rates, rtol=1e-13)
    np.testing.assert_allclose(gain * intercepts + bias, 1.0, rtol=1e-13)
    with pytest.raises(InputError, match="less than 500 Hz"):
        gain_and_bias(np.array([500.0]), np.array([0.0]))
    with pytest.raises(InputError, match="more than 0"):
        gain_and_bias(np.array([0.0]), np.array([0.0]))
    with pytest.raises(InputError, match="intercept below 1"):
        gain_and_bias(np.array([200.0]), np.array([1.0]))
