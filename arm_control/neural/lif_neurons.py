"""Leaky integrate-and-fire neurons: one step of one neuron, and how it is tuned.

The current of a neuron grows along its encoder e, and charges its membrane. At v = 1 the neuron fires; then v stays 0
for the refractory time.

    (1)  J = g e^T x + b
    (2)  tau_rc dv/dt = J - v
    (3)  rate = 1 / (tau_ref + tau_rc log(J / (J - 1)))    of a constant J > 1; 0 of a smaller one

Gain and bias follow from the rate r at e^T x = 1 and from the value xi of e^T x where the neuron begins to fire:

    (4)  J_1 = 1 / (1 - e^{(tau_ref - 1 / r) / tau_rc}),    g = (J_1 - 1) / (1 - xi),    b = 1 - g xi

A step of dt, up to tau_ref, with constant J is exact, the time of a spike within it included. rho is the refractory
time that is left:

    (5)  delta = min(max(dt - rho, 0), dt),    v+ = v + (J - v) (1 - e^{-delta / tau_rc})
    (6)  v+ > 1: a spike; t_s = tau_rc log((J - 1) / (J - v+)) is the time since then,   v = 0,   rho = tau_ref - t_s
    (7)  else:   v = max(v+, 0),   rho = rho - dt

Both functions of (5) and (6) are series with arguments up to dt / tau_rc, so the step runs on any scalar and compiles:

    (8)  1 - e^{-y} = y - y^2 / 2! + y^3 / 3! - ..
    (9)  log((J - 1) / (J - v)) = 2 (z + z^3 / 3 + z^5 / 5 + ..),    z = (v - 1) / (2 J - 1 - v) <= tanh(y / 2)

Sources: C. Eliasmith, C. H. Anderson, "Neural engineering", MIT Press 2003, section 2.1 and appendix B, for (1) to (4);
T. Bekolay et al., "Nengo: a Python tool for building large-scale functional brain models", Frontiers in
Neuroinformatics 7, 2014: its neurons are these, with which they are compared.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array, Scalar, clamp, maximum, select

TAU_RC, TAU_REF = 0.02, 0.002
"""Time constant of the membrane and refractory time [s]."""
LONGEST_STEP = TAU_REF
"""Longest step in which a neuron fires once at most, so that (6) is exact [s]."""
EXPONENTIAL_TERMS, LOGARITHM_TERMS = 10, 6
"""Terms of (8) and (9): what is left out is below the rounding of a double."""


def lif_step(x: Mapping[str, Array], dt: float) -> dict[str, Array]:
    """Equations (1) and (5) to (7) for one neuron and a step of dt [s], with its share of the decoded values.

    A law of ``represented`` and ``gain_encoder`` (d,), ``bias``, ``v`` and ``rho`` (1,), and ``decoder`` (p,). It gives
    ``v_next``, ``rho_next``, ``spike``, 1 or 0, and ``decoded`` (p,).
    """
    v, rho = x["v"][0], x["rho"][0]
    J = x["gain_encoder"] @ x["represented"] + x["bias"][0]  # (1)
    delta = clamp(dt - rho, 0.0, dt)  # (5)
    v_plus = v + (J - v) * decay(delta / TAU_RC)
    excess = v_plus - 1.0  # (6)
    spike = select(excess, 1.0, 0.0)
    t_s = TAU_RC * log_ratio(excess, select(excess, 2.0 * J - 1.0 - v_plus, 1.0))
    return {
        "v_next": np.array([select(excess, 0.0, maximum(v_plus, 0.0))]),
        "rho_next": np.array([select(excess, TAU_REF - t_s, rho - dt)]),
        "spike": np.array([spike]),
        "decoded": x["decoder"] * spike,
    }


def decay(y: Scalar) -> Scalar:
    """Equation (8), for y up to :data:`LONGEST_STEP` / :data:`TAU_RC`."""
    series: Scalar = 1.0
    for k in range(EXPONENTIAL_TERMS, 1, -1):
        series = 1.0 - y / k * series
    return y * series


def log_ratio(numerator: Scalar, denominator: Scalar) -> Scalar:
    """Equation (9): ``2 artanh z`` of a fraction z."""
    z = numerator / denominator
    square = z * z
    series: Scalar = 1.0 / (2 * LOGARITHM_TERMS + 1)
    for k in range(2 * LOGARITHM_TERMS - 1, 0, -2):
        series = 1.0 / k + square * series
    return 2.0 * z * series


def firing_rate(J: Array) -> Array:
    """Equation (3): rate [Hz] of every entry of an array of constant currents."""
    rates = np.zeros_like(J)
    fires = J > 1.0
    rates[fires] = 1.0 / (TAU_REF + TAU_RC * np.log1p(1.0 / (J[fires] - 1.0)))
    return rates


def gain_and_bias(max_rates: Array, intercepts: Array) -> tuple[Array, Array]:
    """Equation (4), for rates (n,) where ``e^T x = 1`` [Hz] and values (n,) of ``e^T x`` where neurons begin to fire.

    An InputError when a rate is not between 0 and 1 / tau_ref, or an intercept not below 1.
    """
    if not ((max_rates > 0.0) & (max_rates < 1.0 / TAU_REF)).all():
        raise InputError(f"a neuron fires with more than 0 and less than {1.0 / TAU_REF:g} Hz")
    if not (intercepts < 1.0).all():
        raise InputError("a neuron begins to fire at an intercept below 1")
    J_1 = 1.0 / -np.expm1((TAU_REF - 1.0 / max_rates) / TAU_RC)
    gain = (J_1 - 1.0) / (1.0 - intercepts)
    return gain, 1.0 - gain * intercepts
