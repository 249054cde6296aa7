"""Bounds of measured states: what an arm does passes, what it cannot do is named with its joint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from urdf_parts import joint, link, robot_of

from arm_control.gate import BELIEVED, DOUBTED, NOT_FINITE, RETURNED, VIOLATION, StateBounds, describe_outside
from arm_control.gate.state_bounds import (
    AGREEING,
    DISAGREES,
    IS_FROZEN,
    JUMPED,
    LARGEST_POSITION,
    OUTSIDE,
    TOO_FAST,
    copy_memory,
    new_memory,
    new_state,
    unwrap,
)
from arm_control.model import RobotModel

MS = 1e-3
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def fault_of(bounds: StateBounds, q: np.ndarray, v: np.ndarray, dt: float) -> str:
    """Judge a state by the bounds alone: one that is not believed begins no doubt of those behind it."""
    result, reason = bounds.judge(q, v, dt, dt)
    assert (result == BELIEVED) == (reason == "")
    bounds.memory.counts[VIOLATION] = 0
    return reason


def moving(t: float, w: float = 8.0) -> tuple[np.ndarray, np.ndarray]:
    """A swing of all joints, three times as fast as they may [rad, rad/s]."""
    return HOME + 1.2 * np.sin(w * t), np.full(6, 1.2 * w * np.cos(w * t))


@pytest.mark.parametrize("dt", [MS / 8, MS, 10 * MS, 20 * MS, 0.1])
def test_a_fast_swing_is_believed_with_noise_and_delay(ur5: RobotModel, dt: float):
    """Encoders of 0.003 rad, velocities that are 2 ms late and noisy."""
    bounds, rng = StateBounds(ur5), np.random.default_rng(0)
    for k in range(round(2.0 / dt)):
        q, _ = moving(k * dt)
        _, v = moving(k * dt - 2 * MS)
        q = np.round(q / 0.003) * 0.003
        assert not fault_of(bounds, q, v + 3e-3 * rng.standard_normal(6), dt if k else 0.0)


def test_states_at_rest_and_states_that_are_sent_eight_times_are_believed(ur5: RobotModel):
    bounds = StateBounds(ur5)
    assert not any(fault_of(bounds, HOME, np.zeros(6), MS) for _ in range(200))
    for k in range(4000):
        q, v = moving(k // 8 * MS, w=1.0)
        assert not fault_of(bounds, q, v, MS / 8 if k else 0.0)


# -- the bounds, by their equations --------------------------------------------------------------------


def one_joint(kind: str = "revolute", lower: float = -0.5, upper: float = 1.5) -> StateBounds:
    hinge = joint("hinge", "base", "rod", "0 1 0", kind, travel=(lower, upper), speed=3, effort=40)
    return StateBounds(RobotModel.from_urdf(robot_of(link("base"), link("rod", 2), hinge)))


def fault(bounds: StateBounds, q: float, v: float, dt: float = 0.0) -> str:
    return fault_of(bounds, np.array([q]), np.array([v]), dt)


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "low", "high"),
    [
        ("revolute", -0.5, 1.5, -2.5, 3.5),  # as far outside as the range is wide
        ("revolute", -0.0625, 0.0625, -1.0625, 1.0625),  # and at least 1 rad
        ("continuous", 0.0, 0.0, -1e4, 1e4),
    ],
)
def test_positions_count_up_to_their_bounds(kind: str, lower: float, upper: float, low: float, high: float):
    for q, is_believed in ((low, True), (low - 1e-3, False), (high, True), (high + 1e-3, False)):
        reason = fault(one_joint(kind, lower, upper), q, 0.0)
        words = f"not believed: position {q:g} is far outside its limits, joint 'hinge'"
        assert reason == ("" if is_believed else words)


def test_velocities_count_up_to_ten_times_their_limit():
    for v in (30.0, -30.0):
        assert fault(one_joint(), 0.0, v) == ""
        words = f"not believed: velocity {1.001 * v:g} is far above its limit, joint 'hinge'"
        assert fault(one_joint(), 0.0, 1.001 * v) == words


@pytest.mark.parametrize(("v", "dt", "largest"), [(0.0, MS, 13.6), (-2.0, MS, 11.6), (0.5, 0.004, 8.775)])
def test_a_velocity_changes_by_twice_its_limit_and_some_counts_of_an_encoder(v: float, dt: float, largest: float):
    """2 v_max + a dt + d / (2 dt); a state with another velocity counts as missing, and the next one as usual."""
    for change, is_believed in ((0.999, True), (1.001, False)):
        bounds, fast = one_joint(), v + change * (largest - v)
        assert fault(bounds, 0.0, v) == ""
        words = f"not believed: velocity {fast:g} is far above its limit, joint 'hinge'"
        assert fault(bounds, 0.5 * dt * (v + fast), fast, dt) == ("" if is_believed else words)
        assert fault(bounds, 2.0 * dt * v, v, 2.0 * dt) == "" or is_believed


@pytest.mark.parametrize(("kind", "unit"), [("revolute", "rad"), ("prismatic", "m")])
def test_a_position_may_change_by_what_ten_times_the_speed_allows_and_15_mrad(kind: str, unit: str):
    for change, excess in ((0.0449, ""), (0.0451, "1e-04")):
        bounds = one_joint(kind)
        assert fault(bounds, 0.0, 30.0) == ""
        reason = fault(bounds, change, 30.0, MS)
        words = f"not believed: position has jumped by {change} {unit}, allowed 0.045 {unit}, joint 'hinge'"
        assert reason == (excess and words)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_positions_may_deviate_by_15_mrad_and_what_the_acceleration_allows(sign: float):
    for change, is_believed in ((0.5149, True), (0.5151, False)):
        bounds = one_joint()
        assert fault(bounds, 0.5, 0.0) == ""
        reason = fault(bounds, 0.5 + sign * change, 0.0, 0.1)
        words = "not believed: positions and velocities disagree by 0.5151 rad, allowed 0.515 rad, joint 'hinge'"
        assert reason == ("" if is_believed else words)


def test_a_deviation_is_remembered_for_a_tenth_of_a_second():
    """Positions that creep while the velocity is 0: their sum over 0.1 s counts, c (1 + T / dt)."""
    for step, is_believed in ((1.4e-4, True), (1.6e-4, False)):
        bounds = one_joint()
        reasons = [fault(bounds, step * k, 0.0, MS if k else 0.0) for k in range(1000)]
        found = next((k for k, reason in enumerate(reasons) if reason), 0)
        assert found == 0 if is_believed else 270 <= found <= 290


def test_frozen_states_are_noticed_when_5_mrad_are_missing():
    bounds = one_joint()
    reasons = [fault(bounds, 0.2, 0.3, MS) for _ in range(18)]
    assert reasons[:17] == [""] * 17
    assert reasons[17] == "not believed: positions and velocities have not changed for 17 ms"
    bounds = one_joint()
    assert [fault(bounds, 0.2, 1.0, dt) for dt in (0.0, 0.015 / 3.0)] == ["", ""]
    assert fault(bounds, 0.2, 1.0, MS).endswith("for 6 ms")


def test_what_is_just_as_large_as_it_may_be_is_believed():
    bounds = one_joint()
    assert [fault(bounds, q, 0.0, dt) for q, dt in ((0.0, 0.0), (0.015, 1e-30))] == ["", ""]


def test_a_deviation_is_forgotten_in_a_gap_of_more_than_a_tenth_of_a_second():
    for dt, is_believed in ((0.1, False), (0.1001, True)):
        bounds = one_joint()
        assert [fault(bounds, 0.0, 0.0), fault(bounds, 0.5, 0.0, dt)] == ["", ""]
        assert (fault(bounds, 0.5, 0.0, MS) == "") == is_believed


def test_the_largest_number_is_finite_and_results_have_the_numbers_of_exported_c():
    largest = np.finfo(float).max
    assert one_joint().judge(np.array([largest]), np.zeros(1), 0.0, 0.0)[0] == OUTSIDE
    assert one_joint().judge(np.zeros(1), np.array([-largest]), 0.0, 0.0)[0] == TOO_FAST
    numbers = (BELIEVED, OUTSIDE, TOO_FAST, JUMPED, DISAGREES, IS_FROZEN, DOUBTED, RETURNED, NOT_FINITE)
    assert numbers == tuple(range(9))


def test_joints_outside_their_limits_are_described(ur5: RobotModel):
    q = ur5.q_max.copy()
    q[1] = ur5.q_min[1]
    assert describe_outside(ur5, q) == ""
    q[1] -= 0.1
    q[2] += 0.1
    name, elbow = ur5.joint_names[1:3]
    low, high = ur5.q_min, ur5.q_max
    assert describe_outside(ur5, q) == (
        f"{name} at {q[1]:.4f}, allowed {low[1]:.4f} to {high[1]:.4f};"
        f" {elbow} at {q[2]:.4f}, allowed {low[2]:.4f} to {high[2]:.4f}"
    )


# -- continuous joints, doubts -------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [2.0, -2.0, 9.0])
def test_a_continuous_joint_that_a_driver_wraps_goes_on(speed: float):
    bounds = one_joint("continuous", 0.0, 0.0)
    for k in range(2000):
        turned = speed * k * MS
        wrapped = np.array([(turned + np.pi) % (2.0 * np.pi) - np.pi])
        q = bounds.unwrapped(wrapped)
        np.testing.assert_allclose(q, turned, atol=1e-9)
        assert bounds.judge(q, np.array([speed]), MS if k else 0.0, MS) == (BELIEVED, "")


def test_a_joint_that_is_not_continuous_is_not_unwrapped():
    bounds = one_joint("revolute", -3.0, 3.0)
    assert fault(bounds, 2.9, 0.0) == ""
    np.testing.assert_array_equal(bounds.unwrapped(np.array([-2.9])), [-2.9])


def test_a_position_that_is_not_wrapped_keeps_its_bits_and_an_absurd_one_is_left_alone():
    bounds = one_joint("continuous", 0.0, 0.0)
    assert fault(bounds, 7.3, 0.0) == ""
    for q in (7.3 + 1e-3, 7.3 + 3.1, 1e308, np.nan):
        np.testing.assert_array_equal(bounds.unwrapped(np.array([q])), [q])


def test_a_first_state_is_not_unwrapped_nor_one_beyond_the_largest_position():
    np.testing.assert_array_equal(one_joint("continuous", 0.0, 0.0).unwrapped(np.array([7.3])), [7.3])
    for q, is_unwrapped in ((LARGEST_POSITION, True), (LARGEST_POSITION + 1.0, False)):
        bounds = one_joint("continuous", 0.0, 0.0)
        assert fault(bounds, 0.0, 0.0) == ""
        assert (abs(bounds.unwrapped(np.array([q]))[0]) < 4.0) == is_unwrapped


def test_the_text_of_unwrapping_runs_in_python_and_divides_by_no_zero(mixed: RobotModel):
    memory, state = new_memory(mixed), new_state(3)
    unwrap(memory, state)
    memory.counts[:], memory.believed.q[:], state.q[:] = 1, [0.5, 3.0, 0.1], [0.6, -3.0, 0.2]
    memory.doubted.q[:] = memory.believed.q
    unwrap(memory, state)
    np.testing.assert_allclose(state.q, [0.6, 2.0 * np.pi - 3.0, 0.2])


def test_positions_in_doubt_are_unwrapped_near_those_in_doubt_and_later_near_those_believed():
    bounds, turn = one_joint("continuous", 0.0, 0.0), 2.0 * np.pi
    assert fault(bounds, 0.0, 0.0) == ""
    assert bounds.judge(np.array([3.0]), np.zeros(1), MS, MS)[0] == JUMPED
    np.testing.assert_allclose(bounds.unwrapped(np.array([3.3 - turn])), [3.3])
    results = [bounds.judge(np.array([3.0]), np.zeros(1), (k + 2) * MS, MS)[0] for k in range(100)]
    assert results[-1] == RETURNED
    for k in range(1, 985):  # two turns
        q = bounds.unwrapped(np.array([(3.0 + 0.013 * k + np.pi) % turn - np.pi]))
        assert bounds.judge(q, np.array([13.0]), MS, MS)[0] in (BELIEVED, DISAGREES)
        np.testing.assert_allclose(q, [3.0 + 0.013 * k], atol=1e-9)


def test_a_copied_memory_judges_as_the_other_one():
    bounds, other = one_joint(), one_joint()
    assert fault(bounds, 0.4, 0.0) == ""
    assert bounds.judge(np.array([0.9]), np.zeros(1), MS, MS)[0] == JUMPED
    copy_memory(other.memory, bounds.memory)
    results = [
        [one.judge(np.array([0.9]), np.zeros(1), (k + 2) * MS, MS) for k in range(120)] for one in (bounds, other)
    ]
    assert [result for result, _ in results[0]] == [result for result, _ in results[1]]
    for name in ("believed", "doubted"):
        for one, two in zip(getattr(bounds.memory, name), getattr(other.memory, name), strict=True):
            np.testing.assert_array_equal(one, two)


def test_after_a_violation_twenty_states_of_a_tenth_of_a_second_must_follow_from_each_other():
    for interval, needed in ((MS, 101), (0.01, AGREEING), (0.004, 26)):
        bounds = one_joint()
        assert fault(bounds, 0.0, 0.0) == ""
        results = [bounds.judge(np.array([0.5]), np.zeros(1), k * interval, interval)[0] for k in range(1, 200)]
        assert results[0] not in (BELIEVED, DOUBTED, RETURNED)
        assert results[1 : needed - 1] == [DOUBTED] * (needed - 2)
        assert results[needed - 1 : needed + 1] == [RETURNED, BELIEVED]


def test_states_that_do_not_follow_from_each_other_start_the_count_again():
    bounds = one_joint()
    assert fault(bounds, 0.0, 0.0) == ""
    places = [0.5] * 60 + [-0.3] + [0.5] * 200
    results = [bounds.judge(np.array([q]), np.zeros(1), (k + 1) * MS, MS)[0] for k, q in enumerate(places)]
    assert results.index(RETURNED) > 60 + 100


def test_a_doubt_names_the_violation_that_began_it(ur5: RobotModel):
    bounds = StateBounds(ur5)
    assert not fault_of(bounds, HOME, np.zeros(6), 0.0)
    elsewhere = HOME.copy()
    elsewhere[2] += 0.5
    reasons = {bounds.judge(elsewhere, np.zeros(6), k * MS, MS)[1] for k in range(1, 50)}
    assert reasons == {"not believed: position has jumped by 0.5 rad, allowed 0.04642 rad, joint 'elbow_joint'"}


# -- all of them, against another text -----------------------------------------------------------------

MIXED = robot_of(
    *(link("base"), link("a", 2), link("b", 2), link("c", 2)),
    joint("hinge", "base", "a", "0 1 0", travel=(-0.5, 1.5), speed=3, effort=40),
    joint("spin", "a", "b", "0 0 1", "continuous", speed=2, effort=40),
    joint("slide", "b", "c", "1 0 0", "prismatic", travel=(0.0, 0.25), effort=40),
)
LOW, HIGH = np.array([-2.5, -1e4, -1.0]), np.array([3.5, 1e4, 1.25])
FASTEST = np.array([30.0, 20.0, 10.0])


class Judged(NamedTuple):
    """A state with which the next one is compared."""

    q: np.ndarray
    v: np.ndarray
    e: np.ndarray
    unchanged: float


class Judge:
    """Equations (0) to (5) and the doubt, on vectors."""

    def __init__(self) -> None:
        self.believed: Judged | None = None
        self.is_in_doubt = False
        self.chain: list[Judged] = []
        self.times: list[float] = []

    def unwrapped(self, q: np.ndarray) -> np.ndarray:
        if self.believed is None:
            return q
        near = (self.chain[-1] if self.chain else self.believed).q[1]
        turns = 2.0 * np.pi * np.round((near - q[1]) / (2.0 * np.pi)) if abs(q[1]) <= 1e4 else 0.0
        return q + [0.0, turns, 0.0]

    @staticmethod
    def compare(last: Judged | None, q: np.ndarray, v: np.ndarray, dt: float) -> tuple[int, Judged]:
        """First equation that the first joint violates, and the state with what is compared next."""
        violations = np.zeros((3, 4), dtype=bool)
        violations[:, 0] = (q < LOW) | (q > HIGH)
        violations[:, 1] = np.abs(v) > FASTEST
        e, unchanged = np.zeros(3), 0.0
        if last is not None and dt > 0.0:
            violations[:, 1] |= np.abs(v - last.v) > 0.2 * FASTEST + 100.0 * dt + 0.0075 / dt
            e = last.e * 0.1 / (0.1 + dt) + (q - last.q) - (v + last.v) * dt / 2.0
            violations[:, 2] = np.abs(q - last.q) > FASTEST * dt + 0.015
            violations[:, 3] = np.abs(e) > 0.015 + 100.0 * dt**2 / 2.0
            is_same = np.array_equal(q, last.q) and np.array_equal(v, last.v)
            unchanged = last.unchanged + dt if is_same else 0.0
        is_frozen = np.abs(v).max() * unchanged > 0.015 / 3.0
        first = next((int(np.argmax(row)) + 1 for row in violations if row.any()), 5 * is_frozen)
        return first, Judged(q, v, e, unchanged)

    def judge(self, q: np.ndarray, v: np.ndarray, dt: float, interval: float) -> int:
        if not np.isfinite([q, v]).all():
            return NOT_FINITE
        if not self.is_in_doubt:
            violation, state = self.compare(self.believed, q, v, dt)
            if not violation:
                self.believed = state if dt <= 0.1 else state._replace(e=np.zeros(3))
                return BELIEVED
            if violation in (OUTSIDE, TOO_FAST):
                return violation
            self.is_in_doubt, self.chain = True, []
            self.follow(q, v, interval)
            return violation
        return self.follow(q, v, interval)

    def follow(self, q: np.ndarray, v: np.ndarray, interval: float) -> int:
        last = self.chain[-1] if self.chain else None
        violation, state = self.compare(last, q, v, interval)
        if violation or (self.chain and interval <= 0.0):
            self.chain = []
            return DOUBTED
        self.times = [*self.times, interval] if self.chain else []
        self.chain.append(state)
        if len(self.chain) < 20 or sum(self.times) < 0.1 - 1e-9:
            return DOUBTED
        self.is_in_doubt, self.chain = False, []
        self.believed = Judged(q, v, np.zeros(3), 0.0)
        return RETURNED


@pytest.fixture(scope="module")
def mixed() -> RobotModel:
    return RobotModel.from_urdf(MIXED)


def disturbed(rng: np.random.Generator, q: np.ndarray, v: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Something is wrong with one joint, and mostly just a little more or less than is allowed."""
    i, near = rng.integers(3), rng.choice([-1.0, 1.0]) * rng.choice([0.97, 1.03])
    one = np.eye(3)[i]
    kind = rng.choice(["jump", "deviation", "outside", "fast", "bad", "wild"], p=[0.2, 0.3, 0.1, 0.1, 0.1, 0.2])
    if kind == "jump":
        return q + one * near * (FASTEST[i] * dt + 0.015), v
    if kind == "deviation":
        return q + one * near * (0.015 + 50.0 * dt**2), v
    if kind == "outside":
        return np.where(one > 0.0, np.where(near > 0.0, HIGH, LOW) + 0.01 * (abs(near) - 1.0) * near, q), v
    if kind == "fast":
        return q, np.where(one > 0.0, near * FASTEST, v)
    if kind == "bad":
        bad = rng.choice([np.nan, np.inf, -np.inf])
        return (np.where(one > 0.0, bad, q), v) if rng.random() < 0.5 else (q, np.where(one > 0.0, bad, v))
    return q + rng.normal(0.0, 0.02, 3), v + rng.normal(0.0, 1.0, 3)


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_states_is_judged_as_the_equations_say(mixed: RobotModel, seed: int):
    rng, bounds, judge = np.random.default_rng(seed), StateBounds(mixed), Judge()
    q, v, since, last, results = np.array([0.5, 3.0, 0.1]), np.zeros(3), 0.0, (np.zeros(3), np.zeros(3)), []
    n_left = 0
    for k in range(600):
        if k % 25 == 0:
            n_left = 25 if rng.random() < 0.1 else 0  # frozen
            v = rng.choice([0.0, 0.1, 1.0]) * rng.uniform(-1.0, 1.0, 3) - (q - [0.5, 0.0, 0.1])
        is_doubted = judge.is_in_doubt
        dt = rng.choice([0.0, 1e-3, 5e-3, 0.02], p=[0.02, 0.08, 0.8, 0.1] if is_doubted else [0.02, 0.58, 0.3, 0.1])
        q, since = q + v * dt, since + dt
        sent = last if n_left > 0 else (q, v)
        if rng.random() < (0.015 if is_doubted else 0.06):
            sent = disturbed(rng, q, v, dt)
        n_left, last = n_left - 1, sent
        with np.errstate(invalid="ignore"):  # infinite
            wrapped = np.array([sent[0][0], (sent[0][1] + np.pi) % (2.0 * np.pi) - np.pi, sent[0][2]])
        found = bounds.unwrapped(wrapped)
        np.testing.assert_allclose(found, judge.unwrapped(wrapped), rtol=1e-13, atol=1e-13)
        results.append(bounds.judge(found, sent[1], since, dt)[0])
        assert results[-1] == judge.judge(found, sent[1], since, dt), (k, results[-5:])
        since = 0.0 if results[-1] in (BELIEVED, RETURNED) else since
    assert {BELIEVED, DOUBTED, RETURNED} <= set(results)
