"""A share of the stiffness that changes brings no more energy into an arm than the tank holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.follow import StiffnessParameters, StiffnessTank
from arm_control.maths import Array

K, DT = 100.0, 1e-3


def tank(rate: float = 2.0, energy: float = 0.1) -> StiffnessTank:
    return StiffnessTank(StiffnessParameters(stiffness_rate=rate, stiffness_energy=energy))


def step(t: StiffnessTank, spring: float, power: float) -> None:
    """A step with one spring of this energy [J], and dampers that take this power with all of their share [W]."""
    t.step(lambda s: s * spring, t.damping * power, DT)


def test_shares_move_at_a_bounded_rate_and_damping_belongs_to_stiffness():
    t = tank()
    t.ask("stiffness", 0.25)
    t.ask("damping", 0.5)
    shares = []
    for _ in range(500):
        step(t, 0.0, 0.0)
        shares.append((t.stiffness, t.damping))
    assert np.abs(np.diff([s for s, _ in shares])).max() == pytest.approx(2e-3)
    assert shares[-1] == pytest.approx((0.25, 0.5 * 0.5))
    assert shares[100] == pytest.approx((1.0 - 0.202, (1.0 - 0.202) ** 1.5))
    assert t.rests


def test_a_spring_that_is_held_gets_what_the_tank_has_and_damping_fills_it():
    t = tank(energy=0.1)
    t.ask("stiffness", 0.1)
    for _ in range(1000):
        step(t, 0.0, 0.0)
    t.ask("stiffness", 1.0)
    for _ in range(1000):
        step(t, 0.5, 0.0)
    assert t.stiffness == pytest.approx(0.1 + 0.1 / 0.5)
    assert t.energy == pytest.approx(0.0)
    assert not t.rests
    damping = t.damping
    step(t, 0.5, 1.0)
    assert t.stiffness == pytest.approx(0.3 + damping * 1.0 * DT / 0.5)
    filled = t.stiffness
    t.ask("stiffness", 0.2)
    for _ in range(100):
        step(t, 0.5, 0.0)
    assert t.energy == pytest.approx(0.5 * (filled - 0.2)), "what the spring gives back"
    for _ in range(1000):
        step(t, 0.0, 1.0)
    assert t.energy == 0.1, "no more than it holds"


@pytest.mark.parametrize("energy", [0.0, 0.1])
def test_a_policy_that_pumps_a_mass_on_a_spring_gets_no_more_than_the_tank(energy: float):
    """Stiff towards the middle and soft away from it, with little damping: it would swing up for ever."""
    t, e, v, most, dt = tank(100.0, energy), 0.1, 0.0, 0.0, 2e-4
    begin = 0.5 * K * e**2
    t.ask("damping", 0.1)
    for _ in range(15_000):
        t.ask("stiffness", 1.0 if e * v < 0.0 else 0.2)
        t.step(lambda s: s * 0.5 * K * e**2, t.damping * 20.0 * v**2, dt)  # noqa: B023
        v -= dt * (t.stiffness * K * e + t.damping * 20.0 * v)
        e += dt * v
        most = max(most, 0.5 * v**2 + t.stiffness * 0.5 * K * e**2 + t.energy)
    assert most < 1.01 * (begin + energy)
    assert most > 0.5 * (begin + energy)


@pytest.mark.parametrize("energy", [0.0, 0.1])
def test_shares_of_coupled_joints_get_no_more_than_the_tank_whatever_a_policy_asks_for(energy: float):
    """Two joints on springs W M W: each share follows its own power, so that both would pump."""
    rng, M = np.random.default_rng(0), np.array([[1.0, 0.6], [0.6, 0.5]])
    t, e, v, dt, most = tank(100.0, energy), np.array([0.1, -0.2]), np.zeros(2), 2e-4, 0.0

    def held(s: Array | float) -> float:
        w = np.sqrt(s) * e
        return 0.5 * K * float(w @ M @ w)

    begin = held(1.0)
    t.ask("damping", np.array([0.1, 0.15]))
    for _ in range(6_000):
        t.ask("stiffness", np.where(e * v < 0.0, 1.0, rng.uniform(0.01, 0.4, 2)))
        w, d = np.sqrt(t.stiffness), np.sqrt(t.damping)
        t.step(held, 20.0 * float((d * v) @ M @ (d * v)), dt)
        w = np.sqrt(t.stiffness)
        v = v - dt * np.linalg.solve(M, K * w * (M @ (w * e)) + 20.0 * d * (M @ (d * v)))
        e = e + dt * v
        most = max(most, 0.5 * float(v @ M @ v) + held(t.stiffness) + t.energy)
    assert most < 1.01 * (begin + energy)
    assert most > 0.5 * (begin + energy)
    assert np.ptp(t.stiffness) > 0.0


@pytest.mark.parametrize(("held", "most"), [(np.sqrt, 0.1), (lambda s: float(s > 0.01), 0.0)])
def test_an_energy_that_bends_with_the_share_is_paid_for_in_whole(held: Callable[[float], float], most: float):
    """Coupled joints have terms as sqrt(s); where no change can be paid for, none is made."""
    t = tank(100.0, 0.1)
    t.ask("stiffness", 0.01)
    for _ in range(20):
        t.step(lambda s: 0.0, 0.0, DT)
    t.ask("stiffness", 1.0)
    for _ in range(20):
        t.step(lambda s: 10.0 * held(s), 0.0, DT)
    added = 10.0 * (held(t.stiffness) - held(0.01))
    assert 0.99 * most <= added <= most * (1.0 + 1e-6)


def test_a_tank_rests_where_each_joint_has_its_share():
    t = tank()
    t.ask("stiffness", np.array([0.5, 1.0]))
    for _ in range(250):
        assert not t.rests
        step_of_joints(t)
    step_of_joints(t)
    assert t.rests
    np.testing.assert_allclose(t.stiffness, [0.5, 1.0])
    np.testing.assert_allclose(t.damping, np.sqrt([0.5, 1.0]))


def step_of_joints(t: StiffnessTank) -> None:
    t.step(lambda s: 0.0, 0.0, DT)
