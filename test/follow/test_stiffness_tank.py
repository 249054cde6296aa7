"""A share of the stiffness that changes brings no more energy into an arm than the tank holds."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.follow import StiffnessParameters, StiffnessTank

K, DT = 100.0, 1e-3


def tank(rate: float = 2.0, energy: float = 0.1) -> StiffnessTank:
    return StiffnessTank(StiffnessParameters(stiffness_rate=rate, stiffness_energy=energy))


def test_shares_move_at_a_bounded_rate_and_damping_belongs_to_stiffness():
    t = tank()
    t.wanted.update(stiffness=0.25, damping=0.5)
    shares = []
    for _ in range(500):
        t.step(0.0, 0.0, DT)
        shares.append((t.stiffness, t.damping))
    assert np.abs(np.diff([s for s, _ in shares])).max() == pytest.approx(2e-3)
    assert shares[-1] == pytest.approx((0.25, 0.5 * 0.5))
    assert shares[100] == pytest.approx((1.0 - 0.202, (1.0 - 0.202) ** 1.5))
    assert t.rests


def test_a_spring_that_is_held_gets_what_the_tank_has_and_damping_fills_it():
    t = tank(energy=0.1)
    t.wanted["stiffness"] = 0.1
    for _ in range(1000):
        t.step(0.0, 0.0, DT)
    t.wanted["stiffness"] = 1.0
    for _ in range(1000):
        t.step(0.5, 0.0, DT)
    assert t.stiffness == pytest.approx(0.1 + 0.1 / 0.5)
    assert t.energy == pytest.approx(0.0)
    assert not t.rests
    damping = t.damping
    t.step(0.5, 1.0, DT)
    assert t.stiffness == pytest.approx(0.3 + damping * 1.0 * DT / 0.5)
    filled = t.stiffness
    t.wanted["stiffness"] = 0.2
    for _ in range(100):
        t.step(0.5, 0.0, DT)
    assert t.energy == pytest.approx(0.5 * (filled - 0.2)), "what the spring gives back"
    for _ in range(1000):
        t.step(0.0, 1.0, DT)
    assert t.energy == 0.1, "no more than it holds"


@pytest.mark.parametrize("energy", [0.0, 0.1])
def test_a_policy_that_pumps_a_mass_on_a_spring_gets_no_more_than_the_tank(energy: float):
    """Stiff towards the middle and soft away from it, with little damping: it would swing up for ever."""
    t, e, v, most, dt = tank(100.0, energy), 0.1, 0.0, 0.0, 2e-4
    begin = 0.5 * K * e**2
    t.wanted["damping"] = 0.1
    for _ in range(15_000):
        t.wanted["stiffness"] = 1.0 if e * v < 0.0 else 0.2
        t.step(0.5 * K * e**2, 20.0 * v**2, dt)
        v -= dt * (t.stiffness * K * e + t.damping * 20.0 * v)
        e += dt * v
        most = max(most, 0.5 * v**2 + t.stiffness * 0.5 * K * e**2 + t.energy)
    assert most < 1.01 * (begin + energy)
    assert most > 0.5 * (begin + energy)
