"""A brake without states: what it remembers, and what it predicts from that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.gate import (
    BELIEVED,
    DOUBTED,
    LONGEST_STEP,
    BlindBrake,
    EffortGate,
    GateParameters,
    StateBounds,
    doubted_time,
)
from arm_control.gate.blind_brake import new_moments
from arm_control.gate.state_bounds import DEVIATED, DISAGREES, IS_FROZEN, JOINT, JUMPED, OUTSIDE, TOO_FAST
from arm_control.model import RobotModel


@pytest.fixture(scope="module")
def double() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("planar2"), gravity=(0.0, -9.81, 0.0))


MS = 1_000_000
START = 7_000 * MS
# What docs/gate.md says: in numbers, so that a change of them is noticed.
DOUBT, SHORT_BLIND, LONGEST_BLIND, SPACING, N_MOMENTS = 25 * MS, 20 * MS, 1_000 * MS, 9 * MS // 10, 32


@pytest.mark.parametrize("start", [1, START])
def test_states_that_come_closely_replace_each_other(double: RobotModel, start: int):
    """What is remembered is what a list would be, at each distance of states and in each order of them."""
    brake, other = BlindBrake(double, EffortGate(double, GateParameters()), 0.02), Blind(double, 0.02)
    rng, t = np.random.default_rng(3), start
    for k in range(200):
        t += int(rng.choice([SPACING - 1, SPACING, SPACING + 1, MS // 10, 5 * MS])) if k > 1 else k * MS // 10
        moment = t, *rng.uniform(-1.0, 1.0, (3, 2))
        brake.note(*moment)
        other.note(*moment)
        moments = brake.moments
        order = np.argsort(moments.at)[N_MOMENTS - len(other.moments) :]
        np.testing.assert_array_equal(moments.at[order], [moment[0] for moment in other.moments])
        for column, values in enumerate((moments.q, moments.v, moments.tau), start=1):
            np.testing.assert_array_equal(values.reshape(N_MOMENTS, 2)[order], [m[column] for m in other.moments])
    assert [a.size for a in new_moments(2)[:-1]] == [2, N_MOMENTS, *[2 * N_MOMENTS] * 3]


def test_a_state_of_this_very_moment_is_the_one_that_counts(double: RobotModel):
    """Unless it is doubted: 1 ns is enough."""
    for doubt, newest in (({}, 1), ({"doubt": 0}, 1), ({"doubt": 1}, 0)):
        brake = BlindBrake(double, EffortGate(double, GateParameters()), 0.02)
        states = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 3, 2))
        states[:, 1] = 0.0
        brake.note(START, *states[0])
        brake.note(START + 1, *states[1])
        brake.tick(START + 1, 0.0, **doubt)
        np.testing.assert_allclose(brake._memory.prediction.q, states[newest][0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("period", [100_000, 250_000, 490_000, 500_000, 700_000, MS, 2 * MS])
def test_states_are_kept_as_long_as_they_may_be_doubted(ur5: RobotModel, period: int):
    """At any rate: the oldest of them is older than that, and none is missing for longer than 2 ms."""
    brake = BlindBrake(ur5, EffortGate(ur5, GateParameters()), 0.02)
    for k in range(100 * MS // period):
        t = START + k * period
        brake.note(t, *np.zeros((3, 6)))
        at = np.sort(brake.moments.at[brake.moments.at > 0])
        assert at[-1] == t
        assert k < 1.1 * DOUBT / period or at[0] <= t - DOUBT
        assert len(at) < 2 or np.diff(at).max() <= 2 * MS


# -- which states are trusted once one is wrong --------------------------------------------------------


def doubt_of(ur5: RobotModel, wrong: Any, period: float = 1e-3) -> tuple[int, int, int]:
    """Swing all joints, and let states be wrong from 0.3 s on.

    Returns the result of the bounds, the age of the first wrong state and that of the states that are not trusted [ns].
    """
    bounds, n_right = StateBounds(ur5), round(0.3 / period)
    for k in range(3 * n_right):
        t = k * period
        q, v = np.full(6, 0.3 * np.sin(3.0 * t)), np.full(6, 0.9 * np.cos(3.0 * t))
        if k >= n_right:
            q, v = wrong(t - n_right * period, q, v)
        dt = period if k else 0.0
        result, _ = bounds.judge(q, v, dt, dt)
        if result != BELIEVED:
            return result, round((k - n_right) * period * 1e9), doubted_time(bounds.memory, result, dt)
    raise AssertionError("nothing was found")


@pytest.mark.parametrize("period", [5e-4, 1e-3, 2e-3])
@pytest.mark.parametrize("speed", [1.5, 3.0, 5.0, 8.0])
@pytest.mark.parametrize("is_drift", [False, True])
def test_of_states_that_disagree_none_of_the_wrong_ones_is_trusted(
    ur5: RobotModel, speed: float, is_drift: bool, period: float
):
    """Wrong velocities; positions that drift, the velocities being right."""

    def wrong(t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (q + speed * (t + period), v) if is_drift else (q, v + speed)

    result, age, doubt = doubt_of(ur5, wrong, period)
    assert result == DISAGREES
    assert age < doubt <= min(DOUBT, 2 * age + 3e9 * period)


def test_slow_disagreement_casts_doubt_on_all_states_of_before(ur5: RobotModel):
    result, age, doubt = doubt_of(ur5, lambda t, q, v: (q, v + 0.3))
    assert (result, doubt) == (DISAGREES, DOUBT)
    assert age > DOUBT


def test_of_frozen_states_the_first_one_is_trusted(ur5: RobotModel):
    first: list[tuple[np.ndarray, np.ndarray]] = []

    def frozen(_: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first.append((q, v))
        return first[0]

    result, age, doubt = doubt_of(ur5, frozen)
    assert (result, doubt) == (IS_FROZEN, age)
    assert 5_000_000 < age < DOUBT


@pytest.mark.parametrize(("wrong", "result"), [((0.3, 0.0), JUMPED), ((1e6, 0.0), OUTSIDE), ((0.0, 1e4), TOO_FAST)])
def test_states_before_a_jump_and_before_an_absurd_one_are_trusted(
    ur5: RobotModel, wrong: tuple[float, float], result: int
):
    assert doubt_of(ur5, lambda t, q, v: (q + wrong[0], v + wrong[1])) == (result, 0, 0)


@pytest.mark.parametrize(("result", "e", "e_0", "dt", "doubt"), [
    (DOUBTED, 0.0, 0.0, 1e-3, DOUBT),  # says nothing
    (DOUBTED, 0.2, 0.1, 1e-3, DOUBT),
    (DISAGREES, 0.2, 0.0, 1e-3, 2 * MS),  # has grown by itself in one state
    (DISAGREES, 0.1, 0.2, 1e-3, DOUBT),  # shrinks
    (DISAGREES, 0.1, 0.1, 0.0, DOUBT),  # stays
])  # fmt: skip
def test_how_old_the_states_are_that_are_not_trusted(
    ur5: RobotModel, result: int, e: float, e_0: float, dt: float, doubt: int
):
    memory = StateBounds(ur5).memory
    memory.times[DEVIATED], memory.believed.e[memory.counts[JOINT]] = e, e_0
    assert doubted_time(memory, result, dt) == doubt


# -- the prediction, against another text --------------------------------------------------------------


class Blind:
    """States that are remembered as a list, and the model's equations on vectors."""

    def __init__(self, model: RobotModel, longest_step: float) -> None:
        self.model, self.longest_step = model, longest_step
        self.moments: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []

    def note(self, *moment: Any) -> None:
        is_dense = len(self.moments) > 1 and self.moments[-1][0] - self.moments[-2][0] < SPACING
        self.moments = [*(self.moments[:-1] if is_dense else self.moments), moment][-N_MOMENTS:]

    def begin(self, now: int, doubt: int, unknown: np.ndarray) -> None:
        trusted = [k for k, moment in enumerate(self.moments) if moment[0] <= now - doubt]
        last = max(trusted, default=0)
        at, v = [moment[0] for moment in self.moments], [moment[2] for moment in self.moments]
        ways = [k for k in range(1, last + 1) if at[k - 1] >= at[last] - DOUBT]
        jumps = [k - 1 for k in ways if np.abs(v[k] - v[k - 1]).max() > 0.3 + 100.0 * (at[k] - at[k - 1]) / 1e9]
        first = min(jumps, default=last)
        ends = [moment[0] for moment in self.moments[first + 1 :]] + [now]
        _, self.q, self.v, _ = self.moments[first]
        for (t, _, _, tau), end in zip(self.moments[first:], ends, strict=True):
            self.go_on(tau - unknown, end - t)

    def go_on(self, tau: np.ndarray, duration: int) -> None:
        rest = min(duration / 1e9, self.longest_step)
        while rest > 0.0:
            step, rest = min(rest, LONGEST_STEP), rest - min(rest, LONGEST_STEP)
            t = self.model.evaluate(self.q, self.v)
            self.v = self.v + np.linalg.solve(t.M, tau - t.h) * step
            self.q = self.q + self.v * step


@pytest.mark.parametrize(
    ("period", "doubt", "longest_step"),
    [
        (MS, 0, 0.02),
        (MS, DOUBT, 0.02),
        (200_000, DOUBT, 0.02),
        (5 * MS, DOUBT, 0.02),
        (5 * MS, 1_000 * MS, 2e-3),
        (200 * MS, 0, 0.02),
    ],
)
def test_it_brakes_on_what_the_model_says_of_the_last_states_that_are_trusted(
    double: RobotModel, period: int, doubt: int, longest_step: float
):
    """The torque that carries what the model does not know moves nothing."""
    rng, gate = np.random.default_rng(0), EffortGate(double, GateParameters())
    brake, other = BlindBrake(double, gate, longest_step), Blind(double, longest_step)
    gate.brake("no state")
    now = START
    for n_states in (1, 2, 60):
        for _ in range(n_states):
            now += int(period * rng.uniform(0.9, 1.1))
            moment = now, *rng.uniform(-1.0, 1.0, (3, 2))
            brake.note(*moment)
            other.note(*moment)
        assert not brake.is_blind
        before, seen = None, now
        for dt in (1_300_000, 4 * MS, MS, 0, 30 * MS):
            last, now = now, now + dt
            gate.memory.carried[:] = unknown = rng.uniform(-0.3, 0.3, 2)
            output = brake.tick(now, dt / 1e9, doubt)
            other.begin(now, doubt, unknown) if before is None else other.go_on(before - unknown, now - last)
            before, prediction = output.tau, brake._memory.prediction
            np.testing.assert_allclose(prediction.q, other.q, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(prediction.v, other.v, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(brake.g, double.gravity(other.q), rtol=1e-9, atol=1e-12)
            assert (brake.tau is output.tau, brake.is_blind) == (True, True)
        assert now - seen > SHORT_BLIND
        brake.end(now)
        assert not gate.is_held


@pytest.mark.parametrize("n_wrong", [1, 2, 20, 24])
@pytest.mark.parametrize("change", [0.39, 0.41])
def test_where_states_stop_none_from_a_jump_of_velocities_on_is_trusted(
    double: RobotModel, n_wrong: int, change: float
):
    brake = BlindBrake(double, EffortGate(double, GateParameters()), 0.02)
    q, v = np.array([0.3, 0.4]), np.zeros(2)
    for k in range(60):
        is_wrong = k >= 60 - n_wrong
        brake.note(START + k * MS, q, v + [0.0, change * is_wrong], double.gravity(q))
    brake.tick(START + 60 * MS, 1e-3)
    speed = np.abs(brake._memory.prediction.v).max()
    assert speed < 1e-9 if change > 0.4 else speed > 0.3


def test_a_state_of_long_before_is_not_trusted_more_than_one_behind_a_silence(double: RobotModel):
    brake, q = BlindBrake(double, EffortGate(double, GateParameters()), 0.02), np.array([0.3, 0.4])
    brake.note(START, q - 1.0, np.full(2, 20.0), double.gravity(q))
    for k in range(5):
        brake.note(START + (30 + k) * MS, q, np.zeros(2), double.gravity(q))
    brake.tick(START + 35 * MS, 1e-3)
    np.testing.assert_allclose(brake._memory.prediction.q, q, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("lateness", [0, MS, 20 * MS, 100 * MS])
def test_a_late_state_is_brought_up_to_date_under_the_torque_since_then(double: RobotModel, lateness: int):
    rng, gate = np.random.default_rng(1), EffortGate(double, GateParameters())
    brake, other = BlindBrake(double, gate, 0.02), Blind(double, 0.02)
    now = START
    for _ in range(N_MOMENTS):
        now += 5 * MS // 2
        brake.note(now, *(moment := rng.uniform(-1.0, 1.0, (3, 2))))
        other.note(now, *moment)
    gate.memory.carried[:] = unknown = rng.uniform(-0.3, 0.3, 2)
    late = rng.uniform(-1.0, 1.0, (2, 2))
    other.q, other.v = late
    begin, k = now - lateness, max((k for k, m in enumerate(other.moments) if m[0] <= now - lateness), default=0)
    ends = [moment[0] for moment in other.moments[k + 1 :]] + [now]
    for (_, _, _, tau), end in zip(other.moments[k:], ends, strict=True):
        other.go_on(tau - unknown, end - begin)
        begin = end
    q, v = brake.up_to_date(*late, now, lateness / 1e9)
    np.testing.assert_allclose([q, v], [other.q, other.v], rtol=1e-9, atol=1e-12)
    assert not brake.is_blind
    if lateness == 0:
        np.testing.assert_array_equal([q, v], late)


def test_after_a_second_the_arm_counts_as_standing_where_it_was_predicted(double: RobotModel):
    brake = BlindBrake(double, EffortGate(double, GateParameters()), 0.02)
    brake.note(START, *np.ones((2, 2)), np.zeros(2))
    prediction = brake._memory.prediction
    for now in (START, START + 990 * MS, START + LONGEST_BLIND - 1):
        brake.tick(now, 0.0)
        assert prediction.v.all()
    q = prediction.q.copy()
    for now in (START + LONGEST_BLIND, START + 1_500 * MS):
        brake.tick(now, 0.0)
        np.testing.assert_array_equal([prediction.q, prediction.v], [q, np.zeros(2)])


def test_an_arm_that_was_held_is_held_there_again_unless_many_states_were_missing(double: RobotModel):
    gate = EffortGate(double, GateParameters())
    brake = BlindBrake(double, gate, 0.02)
    brake.note(START, *np.zeros((3, 2)))
    gate.tick(double.evaluate(np.zeros(2), np.zeros(2)), 1e-3)
    brake.end(START + 2 * SHORT_BLIND)
    assert gate.is_held, "nothing was missing"
    brake.tick(START, 0.0)
    brake.end(START + SHORT_BLIND)
    assert (gate.is_held, brake.is_blind) == (True, False)
    brake.tick(START, 0.0)
    brake.end(START + SHORT_BLIND + 1)
    assert not gate.is_held
