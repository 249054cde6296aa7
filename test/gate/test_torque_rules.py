"""The rules of the gate, each by its equation; and all of them against another text on random sequences."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from arm_control.gate import IS_RATE_LIMITED, IS_RESUMING, IS_SATURATED, MODE, GateMemory, new_gate_memory
from arm_control.gate import torque_rules as rules
from arm_control.gate.torque_rules import (
    DAMPING,
    DELAYED_DAMPING,
    HAS_HOLD,
    IS_REACHED,
    LATENESS,
    MISSED,
    MODE_BRAKING,
    MODE_HOLDING,
    MODE_PASSING,
    PEAK,
    REACHED,
    SINCE,
)
from arm_control.maths import Array

N, D, RATE = 3, 50.0, 1000.0
TAU_MAX = np.array([150.0, 40.0, 8.0])


def inertia(rng: np.random.Generator) -> Array:
    A = rng.uniform(-1.0, 1.0, (N, N))
    return A @ A.T + 0.1 * np.eye(N)


def random_gate(seed: int, **fields: Array) -> GateMemory:
    """A gate whose every number is drawn."""
    rng = np.random.default_rng(seed)
    gate = new_gate_memory(TAU_MAX, D, RATE)
    for name in ("q", "v", "g", "command", "asked", "tau", "hold", "spring", "carried"):
        getattr(gate, name)[:] = fields.get(name, rng.uniform(-3.0, 3.0, N))
    gate.M[:] = inertia(rng).ravel()
    return gate


def test_a_new_gate_holds_and_knows_its_limits():
    gate = new_gate_memory(TAU_MAX, 40.0, 500.0)
    np.testing.assert_array_equal(gate.counts, [MODE_HOLDING, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(gate.times, [0.0, 0.0, 0.0, 40.0, 0.0, 500.0])
    np.testing.assert_array_equal(gate.tau_max, TAU_MAX)
    assert gate.n == 3
    assert gate.M.shape == (9,)
    assert not np.concatenate([gate.q, gate.v, gate.g, gate.M, gate.tau, gate.asked, gate.carried, gate.spring]).any()


def test_the_believed_time_is_a_tenth_of_a_second_at_first_and_then_a_quarter_more():
    for dt, period, believed in (
        (0.0625, 0.0, 0.0625),
        (0.5, 0.0, 0.1),
        (0.5, 0.25, 0.3125),
        (0.25, 0.25, 0.25),
        (8.0, 4.0, 5.0),
        (1e-3, 0.25, 1e-3),
    ):
        assert rules.believed_time(dt, period) == believed
    for dt in (0.0, -0.5, -2.0, np.nan, -np.inf):
        assert rules.believed_time(dt, 1e-3) == rules.believed_time(dt, 0.0) == 0.0


def test_the_period_of_ticks_follows_longer_ones_and_falls_by_a_quarter_of_shorter_ones():
    for dt, period, expected in (
        *((1.25, 1.0, 1.25), (1.0, 1.0, 1.0), (0.875, 1.0, 0.875), (0.5, 1.0, 0.875), (0.0, 1.0, 1.0)),
        *((1.0, 2.0, 1.75), (0.5, 0.0, 0.5), (0.0, 0.0, 0.0)),
    ):
        assert rules.period_of_ticks(dt, period) == expected


def test_late_states_lower_the_damping():
    """d = min(brake_damping, D / lateness)."""
    assert [rules.damping_of(50.0, lateness) for lateness in (0.0, -1.0, 1e-9)] == [50.0] * 3
    for lateness in (0.25, 2.0):
        assert rules.damping_of(50.0, lateness) == DELAYED_DAMPING / lateness
        assert rules.damping_of(1e-3, lateness) == 1e-3


@pytest.mark.parametrize(
    ("peak", "speed", "is_reached", "reached", "since", "may_hold"),
    [
        (0.0099, 0.0099, 0, 0.0, 0.0, True),  # the arm has not moved
        (0.01, 0.01, 0, 0.0, 0.0, False),
        (0.01, 0.0, 0, 0.0, 0.0, False),
        (0.05, 0.0099, 1, 0.0, 0.0, True),  # below v_rest
        (0.05, 0.01, 1, 0.0, 0.0, False),
        (0.05, 0.0099, 0, 0.0, 0.0, False),
        (2.0, 0.1999, 1, 0.0, 0.0, True),  # below a tenth of the peak
        (2.0, 0.2, 1, 0.0, 0.0, False),
        (2.0, 0.1999, 0, 0.0, 0.0, False),
        (2.0, 1.0, 1, 0.09375, 0.0, True),  # 3 / d behind the braking torque
        (2.0, 1.0, 1, 0.0937, 0.0, False),
        (2.0, 1.0, 0, 0.125, 0.0, False),
        (2.0, 1.0, 0, 0.0, 0.3, True),  # at the latest
        (2.0, 1.0, 0, 0.0, 0.2999, False),
    ],
)
def test_the_spring_joins_when_equation_2_says_so(
    peak: float, speed: float, is_reached: int, reached: float, since: float, may_hold: bool
):
    gate = new_gate_memory(TAU_MAX, D, RATE)
    gate.times[[PEAK, REACHED, SINCE]] = peak, reached, since
    gate.counts[IS_REACHED] = is_reached
    assert bool(rules.may_hold(gate, 32.0, speed)) is may_hold


@pytest.mark.parametrize("seed", range(20))
def test_the_torque_of_a_held_arm_is_equation_1(seed: int):
    gate = random_gate(seed)
    gate.counts[HAS_HOLD] = 1
    gate.times[LATENESS] = DELAYED_DAMPING / (8.0 if seed % 2 else 100.0)
    d, M = (8.0 if seed % 2 else D), gate.M.reshape(N, N)
    tau = gate.g + gate.carried + M @ (-d * gate.v + d * d / 4.0 * (gate.hold - gate.q))
    rules.hold_torque(gate, 1e-3)
    np.testing.assert_allclose(gate.asked, np.clip(tau, -TAU_MAX, TAU_MAX), rtol=1e-13, atol=1e-11)
    np.testing.assert_allclose(gate.spring, d * d / 4.0 * (gate.hold - gate.q), rtol=1e-13)
    assert gate.counts[IS_SATURATED] == (np.abs(tau) > TAU_MAX).any()


def test_a_torque_at_the_limit_is_not_cut_and_one_that_is_not_finite_is_the_weight():
    still = {name: np.zeros(N) for name in ("q", "v", "hold", "carried")}
    for sign in (1.0, -1.0):
        gate = random_gate(0, **still, g=sign * TAU_MAX)
        rules.hold_torque(gate, 1e-3)
        np.testing.assert_array_equal(gate.asked, sign * TAU_MAX)
        assert gate.counts[IS_SATURATED] == 0
        gate.g[1] *= 1.001
        rules.hold_torque(gate, 1e-3)
        np.testing.assert_array_equal(gate.asked, sign * TAU_MAX)
        assert gate.counts[IS_SATURATED] == 1
    largest = np.finfo(float).max
    for tau, asked in ((np.inf, 1.0), (-np.inf, 1.0), (np.nan, 1.0), (largest, TAU_MAX[1]), (-largest, -TAU_MAX[1])):
        gate = random_gate(0, **still, g=np.arange(3.0))
        gate.carried[1] = tau
        rules.hold_torque(gate, 1e-3)
        np.testing.assert_array_equal(gate.asked, [0.0, asked, 2.0])


def test_what_is_cut_is_known_by_its_limit():
    """Effort and rate, each by itself, and no longer than it lasts."""
    still = {name: np.zeros(N) for name in ("q", "v", "hold", "carried")}
    gate, cuts = random_gate(0, **still), []
    for g, dt in ((2.0 * TAU_MAX, 1.0), (0.5 * TAU_MAX, 1e-3), (0.5 * TAU_MAX, 1.0), (2.0 * TAU_MAX, 1e-3)):
        gate.g[:] = g
        rules.hold_torque(gate, dt)
        rules.apply_hold(gate, dt)
        cuts.append((gate.counts[IS_SATURATED], gate.counts[IS_RATE_LIMITED]))
    assert cuts == [(1, 0), (0, 1), (0, 0), (1, 1)]


def test_a_place_that_is_forgotten_leaves_nothing_behind():
    gate = random_gate(0)
    gate.counts[:], gate.times[:] = [MODE_BRAKING, 2, 1, 1, 1, 1, 1], [3.0, 2.0, 1.0, D, 0.1, RATE]
    rules.forget_hold(gate)
    np.testing.assert_array_equal(gate.counts, [MODE_BRAKING, 2, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(gate.times, [0.0, 0.0, 0.0, D, 0.1, RATE])
    assert not gate.spring.any()


def test_what_the_spring_carried_is_carried_once():
    """Enabled, braked and enabled again before a state has come."""
    gate = random_gate(0)
    carried = gate.carried + gate.M.reshape(N, N) @ gate.spring
    gate.counts[MODE] = MODE_BRAKING
    for _ in range(2):
        rules.end_brake(gate)
        np.testing.assert_allclose(gate.carried, carried, rtol=1e-14)
        rules.begin_brake(gate)


def test_a_command_that_passes_ends_the_count_of_those_that_are_missed():
    gate = new_gate_memory(TAU_MAX, D, RATE)
    gate.counts[[MODE, HAS_HOLD, IS_RESUMING]] = MODE_HOLDING, 1, 1
    for _ in range(2):
        rules.pass_command(gate)
        np.testing.assert_array_equal(gate.counts[[MODE, MISSED, HAS_HOLD, IS_RESUMING]], [MODE_PASSING, 0, 0, 0])
        assert [rules.miss_command(gate, 3) for _ in range(2)] == [False, False]


def test_a_torque_changes_as_a_whole_along_a_straight_line():
    """Equation (3): the largest change is the step, the others in proportion."""
    gate = random_gate(0, tau=np.array([1.0, 2.0, 3.0]), asked=np.array([1.5, -6.0, 3.0]))
    rules.apply_hold(gate, 2e-3)
    np.testing.assert_allclose(gate.tau, [1.0 + 0.5 / 4.0, 0.0, 3.0], rtol=1e-15)
    assert (gate.counts[IS_RATE_LIMITED], gate.counts[IS_REACHED]) == (1, 0)
    gate.asked[:] = gate.tau + [-0.5, 0.25, 0.0]
    rules.apply_hold(gate, 0.5 / RATE)  # just as far as it may
    np.testing.assert_array_equal(gate.tau, gate.asked)
    assert (gate.counts[IS_RATE_LIMITED], gate.counts[IS_REACHED]) == (0, 1)


@pytest.mark.parametrize("seed", range(20))
def test_a_command_may_ask_for_one_radian_per_second_squared(seed: int):
    """|tau_cmd - tau| <= sum_k |M_ik| 1 rad/s^2, joint by joint; the first joint above it is named."""
    gate, rng = random_gate(seed), np.random.default_rng(seed)
    room = np.abs(gate.M.reshape(N, N)).sum(axis=1)
    share = rng.choice([-1.5, -1.0001, -0.9999, 0.0, 0.9999, 1.0001, 1.5], N)
    gate.command[:] = gate.asked + share * room
    above = np.flatnonzero(np.abs(share) > 1.0)
    assert rules.unlike_joint(gate) == (above[0] if above.size else -1)
    gate.command[2] = np.nan
    assert rules.unlike_joint(gate) == (above[0] if above.size else 2)


def test_a_command_just_as_far_away_as_allowed_passes():
    gate = random_gate(0, asked=np.zeros(N))
    gate.M[:] = np.array([[2.0, -1.0, 0.5], [-1.0, 1.0, 0.25], [0.5, 0.25, 1.0]]).ravel()
    gate.command[:] = 3.5, -2.25, 1.75
    assert rules.unlike_joint(gate) == -1


# -- all of them, against another text -----------------------------------------------------------------


@dataclass
class Gate:
    """The gate as docs/gate.md describes it, on vectors."""

    tau: Array
    mode: str = "holding"
    is_resuming: bool = False
    missed: int = 0
    c: Array = field(default_factory=lambda: np.zeros(N))
    spring: Array = field(default_factory=lambda: np.zeros(N))
    q_hold: Array | None = None
    is_reached: bool = False
    since: float = 0.0
    since_reached: float = 0.0
    peak: float = 0.0
    lateness: float = 0.0
    last: tuple[Array, Array] | None = None

    def brake(self) -> None:
        if self.mode == "passing":
            self.c = np.zeros(N)
            self.forget()
        self.mode, self.is_resuming = "braking", False

    def forget(self) -> None:
        self.q_hold, self.spring, self.is_reached = None, np.zeros(N), False
        self.since = self.since_reached = self.peak = 0.0

    def enable(self) -> None:
        if self.mode == "braking":
            self.mode, self.is_resuming = "holding", True
            if self.last is not None:
                q, M = self.last
                self.c = self.c + M @ self.spring  # (4)
                self.q_hold = None if self.q_hold is None else q
            self.spring = np.zeros(N)

    def command(self, tau: Array, wanted: Array, M: Array) -> bool:
        """Whether a command passes, which is asked for in each tick with one."""
        is_like = bool((np.abs(tau - wanted) <= np.abs(M).sum(axis=1)).all())  # (5)
        if self.mode == "braking" or (self.is_resuming and not is_like):
            return False
        self.mode, self.is_resuming, self.missed, self.q_hold = "passing", False, 0, None
        return True

    def miss(self, max_missed: int) -> None:
        self.missed += self.mode == "passing"
        if self.mode == "passing" and self.missed >= max_missed:
            self.brake()

    def hold(self, q: Array, v: Array, g: Array, M: Array, dt: float) -> Array:
        d = min(D, DELAYED_DAMPING / self.lateness) if self.lateness else D
        speed = np.abs(v).max()
        self.since, self.since_reached = self.since + dt, self.since_reached + dt * self.is_reached
        self.peak, self.last = max(self.peak, speed), (q, M)
        is_stopped = speed < max(0.01, self.peak / 10.0) or self.since_reached >= 3.0 / d
        if self.peak < 0.01 or self.since >= 0.3 or (self.is_reached and is_stopped):
            self.q_hold = q if self.q_hold is None else self.q_hold  # (2)
        self.spring = np.zeros(N) if self.q_hold is None else d * d / 4.0 * (self.q_hold - q)
        wanted = np.clip(g + self.c + M @ (self.spring - d * v), -TAU_MAX, TAU_MAX)  # (1)
        nu = min(1.0, RATE * dt / max(np.abs(wanted - self.tau).max(), 1e-300))
        self.is_reached = nu == 1.0
        self.tau = self.tau + nu * (wanted - self.tau)  # (3)
        return wanted


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_calls_is_answered_as_the_page_says(seed: int):
    rng = np.random.default_rng(seed)
    gate, other = new_gate_memory(TAU_MAX, D, RATE), Gate(np.zeros(N))
    modes, q, v = {MODE_HOLDING: "holding", MODE_PASSING: "passing", MODE_BRAKING: "braking"}, np.zeros(N), np.zeros(N)
    for k in range(300):
        if k % 20 == 0:
            v = rng.choice([0.0, 1e-3, 0.03, 1.0]) * rng.uniform(-1.0, 1.0, N)
            other.lateness = gate.times[LATENESS] = rng.choice([0.0, 0.005, 0.05])
        dt = rng.choice([0.0, 1e-3, 7e-3])
        q, g, M = q + v * dt, rng.uniform(-5.0, 5.0, N), inertia(np.random.default_rng(seed + k // 30))
        event = rng.choice(["brake", "enable", "forget", "miss", ""], p=[0.02, 0.05, 0.005, 0.1, 0.825])
        if event == "brake":
            rules.begin_brake(gate), other.brake()
        elif event == "enable":
            rules.end_brake(gate), other.enable()
        elif event == "forget":
            rules.forget_hold(gate), other.forget()
        elif event == "miss":
            was_passing = gate.counts[MODE] == MODE_PASSING
            has_braked = rules.miss_command(gate, 3)
            other.miss(3)
            assert has_braked == (was_passing and other.mode == "braking")
        if other.mode != "passing":
            gate.q[:], gate.v[:], gate.g[:], gate.M[:] = q, v, g, M.ravel()
            rules.hold_torque(gate, dt)
            before = other.tau
            wanted = other.hold(q, v, g, M, dt)
            if rng.random() < 0.05:
                gate.command[:] = wanted + rng.choice([0.0, 0.5, 2.0]) * rng.uniform(-1.0, 1.0, N)
                is_like = rules.unlike_joint(gate) < 0
                passes = other.command(gate.command.copy(), wanted, M)
                assert passes == (gate.counts[MODE] != MODE_BRAKING and (is_like or not gate.counts[IS_RESUMING]))
                if passes:
                    rules.pass_command(gate)
            rules.apply_hold(gate, dt)
            np.testing.assert_allclose(gate.asked, wanted, rtol=1e-12, atol=1e-11)
            np.testing.assert_allclose(gate.tau, other.tau, rtol=1e-12, atol=1e-11)
            assert gate.counts[IS_RATE_LIMITED] == (not other.is_reached), (before, wanted)
        assert modes[gate.counts[MODE]] == other.mode
        assert (gate.counts[IS_RESUMING], gate.counts[MISSED]) == (other.is_resuming, other.missed)
        assert gate.counts[HAS_HOLD] == (other.q_hold is not None)
        np.testing.assert_allclose(gate.carried, other.c, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(gate.spring, other.spring, rtol=1e-12, atol=1e-11)
        assert gate.times[DAMPING] == D


def test_a_carried_torque_fades_with_a_time_constant_of_half_a_second():
    """Equation (6) is the implicit Euler step of x' = -x / T: it is stable for any dt."""
    assert rules.left_after(0.0) == 1.0
    assert rules.left_after(0.5) == 0.5
    assert rules.left_after(1e-4) ** 5000 == pytest.approx(np.exp(-1.0), rel=1e-3)
    assert 0.0 < rules.left_after(1e9) < 1e-8


def test_a_carried_torque_counts_above_a_thousandth():
    tau = np.array([0.0, -1e-3])
    assert rules.worth_carrying(tau) is None
    assert rules.worth_carrying(tau - 1e-15) is not None


def test_a_carried_torque_of_20_newton_metres_is_left_out_after_five_seconds():
    dt, tau, t = 1e-3, 20.0, 0.0
    while rules.worth_carrying(np.array([0.0, -tau])) is not None:
        tau, t = tau * rules.left_after(dt), t + dt
    assert t == pytest.approx(4.95, abs=0.02)
