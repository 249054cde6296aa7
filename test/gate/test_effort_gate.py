"""The gate: each guard by itself, the brake in simulation, and random offers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arm_control import urdf_path
from arm_control.exceptions import InputError, ParameterError
from arm_control.gate import EffortGate, GateOutput, GateParameters, GateState
from arm_control.model import RobotModel, Terms
from arm_control.simulation import MujocoSimulator

UR5 = Path(__file__).parents[2] / "urdf" / "ur5" / "ur5.urdf"
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1e-3
FAST = GateParameters(rate_limit=1e9, joint_limits=False)
"""One guard by itself: torque may jump, and joint limits, which test_joint_limits.py is about, are off."""
JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint")
OFFERS = (lambda gate, tau: gate.offer(JOINTS, tau), EffortGate.offer_in_order)
"""Ways to offer a torque."""


@pytest.fixture
def gate(ur5: RobotModel) -> EffortGate:
    return EffortGate(ur5, FAST)


def terms(model: RobotModel, q: Any = HOME, v: Any = 0.0) -> Terms:
    return model.evaluate(q, np.broadcast_to(np.asarray(v, dtype=float), (6,)))


def answer(gate: EffortGate, model: RobotModel, effort: Any, v: Any = 0.0, dt: float = MS) -> GateOutput:
    """Offer a torque and tick."""
    gate.offer(model.joint_names, effort)
    return gate.tick(terms(model, v=v), dt)


# -- what passes ---------------------------------------------------------------------------------------


def test_a_good_command_passes_in_any_joint_order(gate: EffortGate, ur5: RobotModel):
    tau, order = np.array([10.0, -20.0, 30.0, 4.0, -5.0, 6.0]), [3, 0, 5, 1, 4, 2]
    gate.offer([JOINTS[i] for i in order], tau[order])
    output = gate.tick(terms(ur5), MS)
    np.testing.assert_array_equal(output.tau, tau)
    assert (output.reason, output.saturated, output.rate_limited) == ("", False, False)
    gate.offer_in_order(-tau)
    np.testing.assert_array_equal(gate.tick(terms(ur5), MS).tau, -tau)


REFUSED: list[tuple[dict[str, Any], str]] = [  # what is unlike a good command, and the sentence
    ({"effort": np.zeros(5)}, "6 joint names with 5 effort values"),
    ({"names": [*JOINTS[:2], "elbow", *JOINTS[3:]]}, "no effort for joint elbow_joint"),
    ({"names": [*JOINTS, "elbow_joint"], "effort": np.zeros(7)}, "joint named twice: elbow_joint"),
    *(
        ({"effort": np.where(np.arange(6) == k, bad, 1.0)}, f"effort is not finite: .*{JOINTS[k]}")
        for k in range(6)
        for bad in (np.nan, np.inf, -np.inf)
    ),
    ({"age": 0.0201}, r"^stale: 20\.1 ms old, allowed 20\.0 ms$"),
    ({"age": 1.0}, r"^stale: 1000\.0 ms old, allowed 20\.0 ms$"),
    ({"age": np.nan}, r"^stale: nan ms old, allowed 20\.0 ms$"),
    ({"age": np.inf}, r"^stale: inf ms old, allowed 20\.0 ms$"),
    ({"age": np.nan, "max_age": 0.0}, "from the future"),
    ({"age": -MS}, r"from the future: 1\.0 ms ahead, allowed 0\.0 ms"),
    ({"age": -MS, "max_age": 0.0}, r"from the future: 1\.0 ms ahead, allowed 0\.0 ms"),
    ({"age": -1.001e-9}, "from the future"),
]


@pytest.mark.parametrize(("bad", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_a_bad_command_is_refused_and_replaces_no_good_one(ur5: RobotModel, bad: dict[str, Any], sentence: str):
    names, effort, age, max_age = ({"names": JOINTS, "effort": np.zeros(6), "age": 0.0, "max_age": 0.02} | bad).values()
    gate = EffortGate(ur5, FAST.replace(max_age=max_age))
    gate.offer(JOINTS, np.full(6, 7.0))
    with pytest.raises(InputError, match=sentence):
        gate.offer(names, effort, age)
    np.testing.assert_array_equal(gate.tick(terms(ur5), MS).tau, np.full(6, 7.0))


@pytest.mark.parametrize(("age", "max_age"), [(0.02, 0.02), (1e6, 0.0), (-1e-9, 0.02)])
def test_a_command_may_be_so_old_and_a_nanosecond_ahead(ur5: RobotModel, age: float, max_age: float):
    gate = EffortGate(ur5, FAST.replace(max_age=max_age))
    gate.offer(JOINTS, np.zeros(6), age)
    assert gate.tick(terms(ur5), MS).is_passing


@pytest.mark.parametrize("max_age", [0.0, 0.02])
def test_a_stamp_may_be_one_period_ahead(ur5: RobotModel, max_age: float):
    gate = EffortGate(ur5, FAST.replace(max_age=max_age))
    gate.tick(terms(ur5), 2 * MS)
    gate.tick(terms(ur5), 0.0)  # no time has passed: the period is still known
    gate.offer(JOINTS, np.zeros(6), -2 * MS)
    for ahead in (2.1 * MS, 1.0, np.inf):
        with pytest.raises(InputError, match=r"from the future: .* ms ahead, allowed 2.0 ms"):
            gate.offer(JOINTS, np.zeros(6), -ahead)


def test_torque_is_cut_to_the_effort_limits(gate: EffortGate, ur5: RobotModel):
    for sign in (1.0, -1.0):
        output = answer(gate, ur5, sign * np.array([1e3, 149.0, 151.0, 2e4, 28.0, -1e3]))
        np.testing.assert_array_equal(output.tau, sign * np.array([150.0, 149.0, 150.0, 28.0, 28.0, -28.0]))
        assert output.saturated
        assert not output.rate_limited


def test_torque_changes_by_no_more_than_the_rate_limit(ur5: RobotModel):
    gate = EffortGate(ur5, GateParameters(rate_limit=500.0, joint_limits=False))
    before = terms(ur5).g
    for dt, counted in ((MS, MS), (1.25 * MS, 1.25 * MS), (0.5 * MS, 0.5 * MS), (5 * MS, 1.40625 * MS)):
        output = answer(gate, ur5, [140.0, -140.0, 140.0, *before[3:]], dt=dt)
        expected = before + [500 * counted, -500 * counted, 500 * counted, 0.0, 0.0, 0.0]
        np.testing.assert_allclose(output.tau, expected, rtol=0, atol=1e-12)
        assert output.rate_limited
        assert not output.saturated
        before = output.tau


@pytest.mark.parametrize("dt", [-1.0, -0.5, np.nan, -np.inf, 0.0])
def test_a_tick_without_a_time_changes_no_torque(ur5: RobotModel, dt: float):
    gate = EffortGate(ur5, GateParameters())
    before = answer(gate, ur5, np.zeros(6)).tau
    np.testing.assert_array_equal(answer(gate, ur5, np.full(6, 20.0), dt=dt).tau, before)
    assert gate.period == MS


@pytest.mark.parametrize("is_braked", [False, True])
def test_states_at_one_moment_share_the_time_of_one(ur5: RobotModel, is_braked: bool):
    gate = EffortGate(ur5, GateParameters(joint_limits=False))
    before = answer(gate, ur5, np.zeros(6)).tau
    assert gate.left == 0.0
    if is_braked:
        gate.brake("a test")
    for elapsed, counted in ((1.0, 1.0), (1.0, 1.0), (3.0, 1.0), (0.0, 0.25), (0.0, 0.0), (-9.0, 0.0), (1.0, 1.0)):
        gate.elapsed = elapsed * MS
        assert (gate.next_limits(MS) is None) == (is_braked or counted < 1.0)
        with suppress(InputError):
            gate.offer_in_order(np.full(6, 25.0))
        output = gate.tick(terms(ur5, v=0.5), MS)
        assert np.abs(output.tau - before).max() == pytest.approx(counted, abs=1e-12)
        assert gate.elapsed == np.inf, "a tick forgets it"
        before = output.tau


def test_a_law_that_computes_limits_leaves_the_clock_what_a_tick_does(ur5: RobotModel):
    gates = [EffortGate(ur5, GateParameters(joint_limits=False)) for _ in range(2)]
    for gate in gates:
        answer(gate, ur5, np.zeros(6))
    steps = (1.0, 1.0), (1.0, 1.3), (0.5, 0.7), (5.0, 30.0), (1.0, 1.1), (0.8, 0.8), (1.0, 0.4), (1.0, 0.0)
    for dt, elapsed in steps:
        for gate in gates:
            gate.elapsed = elapsed * MS
        limits = gates[0].next_limits(dt * MS)
        output = answer(gates[1], ur5, np.zeros(6), dt=dt * MS)
        if limits is None:
            answer(gates[0], ur5, np.zeros(6), dt=dt * MS)
        else:
            gates[0].take(output, limits[1])
        assert (gates[0].left, gates[0].period) == (gates[1].left, gates[1].period)
        assert (limits is None) == (elapsed in (0.4, 0.0))


@pytest.mark.parametrize("dt", [1.0, 3600.0, np.inf])
def test_a_gap_does_not_lift_the_rate_limit(ur5: RobotModel, dt: float):
    """One step of 20 N m after a gap of 20 ms would be as bad as one at once."""
    gate = EffortGate(ur5, GateParameters(joint_limits=False))
    before = answer(gate, ur5, np.zeros(6)).tau
    output = answer(gate, ur5, np.full(6, 25.0), dt=dt)
    assert np.abs(output.tau - before).max() <= 1.25 + 1e-9
    first = EffortGate(ur5, GateParameters(joint_limits=False))
    assert np.abs(answer(first, ur5, np.full(6, 1e3), dt=dt).tau - terms(ur5).g).max() <= 100.0 + 1e-9


@pytest.mark.parametrize("offer", OFFERS, ids=["by name", "in order"])
def test_a_command_up_to_a_thousand_times_the_limit_is_cut_and_no_more_is_believed(ur5: RobotModel, offer: Any):
    for value, sentence in ((1e308, "absurd"), (-2.9e4, "absurd"), (np.inf, "not finite"), (np.nan, "not finite")):
        gate = EffortGate(ur5, FAST)
        offer(gate, 1e3 * ur5.tau_max)
        np.testing.assert_array_equal(gate.tick(terms(ur5), MS).tau, ur5.tau_max)
        with pytest.raises(InputError, match=f"{sentence}.*wrist_2_joint"):
            offer(gate, np.array([0.0, 0.0, 0.0, 0.0, value, 0.0]))
        assert gate.tick(terms(ur5), MS).success_rate == 0.5


def test_a_controller_that_brakes_makes_a_passing_gate_brake_and_never_passes(ur5: RobotModel):
    gate = EffortGate(ur5, GateParameters())
    with pytest.raises(InputError, match="the controller brakes: no state"):
        gate.offer_brake("no state")
    assert gate.state is GateState.HOLDING  # as after `enable`, in whichever order gates are enabled
    answer(gate, ur5, np.zeros(6))
    with pytest.raises(InputError):
        gate.offer_brake("no state")
    assert gate.is_braked
    assert gate.tick(terms(ur5), MS).reason == "the controller brakes: no state"


def test_the_first_tick_starts_from_gravity_compensation(ur5: RobotModel):
    for q in (HOME, np.zeros(6)):
        gate = EffortGate(ur5, GateParameters())
        gate.offer(ur5.joint_names, np.zeros(6))
        np.testing.assert_allclose(gate.tick(terms(ur5, q), 0.0).tau, ur5.gravity(q), rtol=0, atol=1e-12)


def test_an_arm_too_weak_for_its_weight_still_gets_no_more_than_its_limits():
    weak = RobotModel.from_urdf(UR5, effort_limits={"shoulder_lift_joint": 20.0})
    gate = EffortGate(weak, GateParameters())
    for _ in range(5):
        assert (np.abs(gate.tick(terms(weak, np.zeros(6)), MS).tau) <= weak.tau_max).all()


BOUNDS: dict[str, tuple[float, float]] = {
    **{"rate_limit": (1.0, np.inf), "max_missed": (1, np.inf), "max_age": (0.0, np.inf)},
    **{"brake_damping": (1.0, 200.0), "inertia_floor": (0.0, 0.1)},
}


@pytest.mark.parametrize("name", BOUNDS)
def test_parameters_have_the_documented_bounds(name: str):
    for bound, beyond in zip(BOUNDS[name], (-1, 1), strict=True):
        if np.isfinite(bound):
            assert getattr(GateParameters(**{name: bound}), name) == bound
            with pytest.raises(ParameterError, match=name):
                GateParameters(**{name: bound + beyond * (1 if name == "max_missed" else 1e-9)})


def test_parameters_have_the_documented_values():
    assert GateParameters() == GateParameters(rate_limit=1000.0, max_missed=20, max_age=0.02, brake_damping=50.0)


def test_an_output_says_whether_commands_pass():
    for state in GateState:
        output = GateOutput(np.zeros(6), state, "", False, False)
        assert output.is_passing is (state is GateState.PASSING)
        assert (output.limited, output.success_rate) == (False, 1.0)


def test_one_joint_is_enough_to_be_cut(ur5: RobotModel):
    before = terms(ur5).g
    one = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    output = answer(EffortGate(ur5, FAST), ur5, before + 200.0 * one)
    assert (output.saturated, output.rate_limited, output.limited) == (True, False, False)
    output = answer(EffortGate(ur5, FAST.replace(rate_limit=1e3)), ur5, before + 5.0 * one)
    assert (output.saturated, output.rate_limited, output.limited) == (False, True, False)
    gate, t = EffortGate(ur5, FAST.replace(joint_limits=True)), terms(ur5, HOME + 6.232 * one)
    gate.offer(ur5.joint_names, t.g + t.M @ (20.0 * one))
    output = gate.tick(t, MS)
    assert (output.saturated, output.rate_limited, output.limited) == (False, False, True)


# -- missing commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize("max_missed", [1, 2, 20])
def test_it_brakes_after_exactly_so_many_missed_ticks(ur5: RobotModel, max_missed: int):
    gate = EffortGate(ur5, FAST.replace(max_missed=max_missed))
    for _ in range(2):  # a command in between starts the count again
        answer(gate, ur5, np.full(6, 3.0))
        for _ in range(max_missed - 1):
            output = gate.tick(terms(ur5), MS)
            assert output.reason == ""
            np.testing.assert_array_equal(output.tau, np.full(6, 3.0))
    output = gate.tick(terms(ur5), MS)
    assert output.reason == gate.reason == f"no command for {max_missed} states"
    np.testing.assert_allclose(output.tau, terms(ur5).g, rtol=0, atol=1e-12)
    assert gate.is_braked


def test_it_stays_braked_for_the_first_reason_until_it_is_enabled(gate: EffortGate, ur5: RobotModel):
    """The command before the brake is dropped; all others, bad ones too, are told of the brake, and do not count."""
    answer(gate, ur5, np.zeros(6))
    gate.offer(JOINTS, np.full(6, 5.0))
    gate.brake("disabled")
    gate.brake("no state")
    for k in range(50):
        for offer in OFFERS:
            with pytest.raises(InputError, match=r"^braked \(disabled\): enable first$"):
                offer(gate, np.full(6, np.nan if k % 2 else 5.0))
        output = gate.tick(terms(ur5), MS)
        assert (output.state, output.reason, output.success_rate) == (GateState.BRAKING, "disabled", 1.0)
        np.testing.assert_allclose(output.tau, terms(ur5).g, rtol=0, atol=1e-12)
    gate.enable()
    assert not gate.is_braked
    gate.begin()
    np.testing.assert_array_equal(answer(gate, ur5, np.full(6, 5.0)).tau, np.full(6, 5.0))


def test_waiting_for_the_first_command_holds_and_never_latches(ur5: RobotModel):
    gate = EffortGate(ur5, FAST.replace(max_missed=2))
    for _ in range(50):
        output = gate.tick(terms(ur5), MS)
        assert output.reason == EffortGate.WAITING_REASON
        np.testing.assert_allclose(output.tau, terms(ur5).g, rtol=0, atol=1e-12)
    assert not gate.is_braked
    assert answer(gate, ur5, np.zeros(6)).reason == ""


def test_after_enable_it_waits_again_and_counts_again(ur5: RobotModel):
    gate = EffortGate(ur5, FAST.replace(max_missed=2))
    answer(gate, ur5, np.zeros(6))
    gate.tick(terms(ur5), MS)
    assert gate.tick(terms(ur5), MS).reason == "no command for 2 states"
    gate.enable()
    for _ in range(5):
        assert gate.tick(terms(ur5), MS).reason == EffortGate.ENABLED_REASON
    answer(gate, ur5, terms(ur5).g)
    assert [gate.tick(terms(ur5), MS).reason for _ in range(2)] == ["", "no command for 2 states"]


def test_enable_leaves_an_open_gate_as_it_is(ur5: RobotModel):
    gate = EffortGate(ur5, FAST.replace(max_missed=3))
    answer(gate, ur5, np.zeros(6))
    gate.tick(terms(ur5), MS)
    gate.tick(terms(ur5), MS)
    gate.enable()
    assert gate.reason == ""
    assert gate.tick(terms(ur5), MS).reason == "no command for 3 states"


def test_enable_does_not_make_the_torque_jump(ur5: RobotModel):
    p = GateParameters()
    gate = EffortGate(ur5, p)
    before = answer(gate, ur5, [100.0, 100.0, 100.0, 20.0, 20.0, 20.0]).tau
    for action in (lambda: gate.brake("disabled"), gate.enable, lambda: None):
        action()
        tau = gate.tick(terms(ur5, v=0.5), MS).tau
        assert np.abs(tau - before).max() <= p.rate_limit * MS + 1e-12
        before = tau
    tau = answer(gate, ur5, np.full(6, -28.0)).tau
    assert np.abs(tau - before).max() == pytest.approx(p.rate_limit * MS, rel=1e-12)


def test_reset_forgets_the_place_it_held_the_period_and_a_command_and_waits(gate: EffortGate, ur5: RobotModel):
    gate.tick(terms(ur5), MS)  # holds HOME
    assert gate.period == MS
    gate.offer(JOINTS, np.full(6, 20.0))
    gate.reset()
    assert (gate.reason, gate.period) == (EffortGate.WAITING_REASON, 0.0)
    with pytest.raises(InputError, match=r"from the future: 1\.0 ms ahead, allowed 0\.0 ms"):
        gate.offer(JOINTS, np.zeros(6), -MS)
    output = gate.tick(terms(ur5, np.zeros(6)), 0.0)
    assert output.reason == EffortGate.WAITING_REASON
    np.testing.assert_allclose(output.tau, ur5.gravity(np.zeros(6)), rtol=0, atol=1e-12)


def test_reset_releases_no_brake_and_keeps_its_torque(ur5: RobotModel):
    gate = EffortGate(ur5, GateParameters())
    answer(gate, ur5, np.full(6, 20.0))
    gate.brake("disabled")
    before = gate.tick(terms(ur5), MS).tau
    gate.reset()
    output = gate.tick(terms(ur5, np.zeros(6)), MS)
    assert output.state is GateState.BRAKING
    assert output.reason == "disabled"
    assert np.abs(output.tau - before).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("is_braked", [True, False])
def test_a_gate_for_a_new_model_goes_on_where_the_old_one_was(ur5: RobotModel, is_braked: bool):
    old, new = EffortGate(ur5, GateParameters()), EffortGate(ur5, GateParameters())
    before = answer(old, ur5, np.full(6, 20.0)).tau
    if is_braked:
        old.brake("disabled")
    new.succeed(old)
    output = new.tick(terms(ur5, np.zeros(6)), MS)
    assert (output.state, output.reason) == (
        (GateState.BRAKING, "disabled") if is_braked else (GateState.HOLDING, EffortGate.WAITING_REASON)
    )
    assert np.abs(output.tau - before).max() <= 1.0 + 1e-9


def test_torque_is_taken_over_by_the_names_of_the_joints(ur5: RobotModel):
    a, b, between = "shoulder_lift_joint", "elbow_joint", "another_joint"
    text = urdf_path("ur5").read_text().replace(a, between).replace(b, a).replace(between, b)
    exchanged = RobotModel.from_urdf(text)
    old, new = EffortGate(ur5, GateParameters()), EffortGate(exchanged, GateParameters())
    before = answer(old, ur5, np.arange(6.0)).tau
    old.brake("disabled")
    new.succeed(old)
    output = new.tick(terms(exchanged, np.zeros(6)), MS)
    assert np.abs(exchanged.in_joint_order(ur5.joint_names, before) - output.tau).max() <= 1.0 + 1e-9
    assert exchanged.joint_names != ur5.joint_names


def test_torque_of_another_arm_or_of_none_is_not_taken_over(ur5: RobotModel, planar2: RobotModel):
    unused, used = EffortGate(ur5, GateParameters()), EffortGate(planar2, GateParameters())
    used.tick(planar2.evaluate(np.zeros(2), np.zeros(2)), MS)
    used.brake("disabled")
    for old in (unused, used):
        new = EffortGate(ur5, GateParameters())
        new.succeed(old)
        assert new.is_braked is old.is_braked
        np.testing.assert_allclose(new.tick(terms(ur5), 0.0).tau, terms(ur5).g, rtol=0, atol=1e-12)


def test_reset_forgets_where_a_braked_arm_is_held(gate: EffortGate, ur5: RobotModel):
    there = terms(ur5, HOME + 0.1)
    gate.brake("disabled")
    gate.tick(terms(ur5), MS)
    gate.reset()
    np.testing.assert_allclose(gate.tick(there, MS).tau, there.g, rtol=0, atol=1e-9)


# -- how much gets through -----------------------------------------------------------------------------


def test_the_success_rate_counts_the_last_hundred_offered_or_missed(gate: EffortGate, ur5: RobotModel):
    assert gate.tick(terms(ur5), MS).success_rate == 1.0  # waiting: nothing is missed yet
    outcomes = [True]
    answer(gate, ur5, np.zeros(6))
    rng = np.random.default_rng(0)
    for _ in range(300):
        kind = rng.choice(["good", "good", "good", "missed", "refused", "refused and good"])
        if "refused" in kind:
            with pytest.raises(InputError):
                gate.offer(ur5.joint_names, np.full(6, np.nan))
            outcomes.append(False)
        if "good" in kind:
            gate.offer(ur5.joint_names, np.zeros(6))
            outcomes.append(True)
        if kind == "missed":
            outcomes.append(False)
        output = gate.tick(terms(ur5), MS)
        assert output.success_rate == gate.success_rate == np.mean(outcomes[-100:])
    assert not gate.is_braked


def test_a_braked_gate_counts_no_commands_and_reset_forgets_them(ur5: RobotModel):
    gate = EffortGate(ur5, FAST.replace(max_missed=3))
    for _ in range(3):
        answer(gate, ur5, np.zeros(6))
    for _ in range(10):
        output = gate.tick(terms(ur5), MS)
        with pytest.raises(InputError):
            gate.offer(ur5.joint_names, np.full(6, np.nan))
    assert gate.is_braked
    assert output.success_rate == 3 / (3 + 1 + 2)  # one missed, two refused: then it braked
    gate.reset()
    gate.enable()
    assert gate.success_rate == 1.0
    with pytest.raises(InputError):
        gate.offer(ur5.joint_names, np.full(6, np.nan))
    assert gate.success_rate == 0.0


# -- the brake -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_brake_stops_the_arm_within_half_a_second(ur5: RobotModel, seed: int):
    rng = np.random.default_rng(seed)
    p = GateParameters()
    gate, simulator = EffortGate(ur5, p), MujocoSimulator(ur5, HOME + rng.uniform(-0.5, 0.5, 6))
    simulator.mujoco_data.qvel[:] = rng.choice([-1.0, 1.0], 6)
    gate.brake("test")
    before = None
    for _ in range(500):
        tau = gate.tick(ur5.evaluate(simulator.q, simulator.v), MS).tau
        assert (np.abs(tau) <= ur5.tau_max).all()
        if before is not None:
            assert np.abs(tau - before).max() <= p.rate_limit * MS + 1e-9
        before = tau
        simulator.step(tau)
    assert np.abs(simulator.v).max() < 0.01


def test_the_brake_stops_a_joint_before_its_limit_harder_than_the_limits_ask_for(ur5: RobotModel):
    gate, q = EffortGate(ur5, FAST.replace(joint_limits=True)), HOME + 3.0 * (np.arange(6) == 5)
    gate.brake("test")
    t = terms(ur5, q, 0.5)
    output = gate.tick(t, MS)
    np.testing.assert_allclose(output.tau, t.g - 50.0 * t.M @ t.v, rtol=0, atol=1e-9)
    t = terms(ur5, HOME + 10.0, 0.0)  # and far outside it lets nothing go
    output = gate.tick(t, MS)
    np.testing.assert_allclose(output.tau, t.g, rtol=0, atol=1e-9)
    assert not output.limited


def test_late_states_allow_less_damping(ur5: RobotModel):
    for lateness, d in ((0.0, 50.0), (0.005, 50.0), (0.03, 50.0), (0.05, 30.0)):
        gate, t = EffortGate(ur5, FAST), terms(ur5, v=0.5)
        gate.brake("test")
        gate.lateness = lateness
        assert gate.lateness == lateness
        np.testing.assert_allclose(gate.tick(t, MS).tau, t.g - d * t.M @ t.v, rtol=0, atol=1e-9)


def test_an_arm_that_moved_between_two_stops_is_held_at_the_second(gate: EffortGate, ur5: RobotModel):
    there = HOME + 0.5
    gate.tick(terms(ur5), MS)  # waits, holds HOME
    answer(gate, ur5, np.zeros(6))
    gate.brake("test")
    t = terms(ur5, there)
    np.testing.assert_allclose(gate.tick(t, MS).tau, t.g, rtol=0, atol=1e-9)


def test_enabling_moves_nothing_and_carries_what_the_spring_carried(gate: EffortGate, ur5: RobotModel):
    """A payload, or a hand, has moved the arm away from where it was held: the same torque holds it there."""
    there = HOME + 0.01
    gate.brake("test")
    gate.tick(terms(ur5), MS)  # holds HOME
    t = terms(ur5, there)
    before = gate.tick(t, MS).tau
    np.testing.assert_allclose(before, t.g - 625.0 * t.M @ np.full(6, 0.01), atol=1e-9)
    np.testing.assert_allclose(gate.carried, before - t.g, rtol=0, atol=1e-9)
    gate.enable()
    np.testing.assert_allclose(gate.carried, before - t.g, rtol=0, atol=1e-9)
    assert (gate.state, gate.reason, gate.is_resuming) == (GateState.HOLDING, EffortGate.ENABLED_REASON, True)
    np.testing.assert_allclose(gate.tick(t, MS).tau, before, rtol=0, atol=1e-9)
    np.testing.assert_allclose(gate.carried, before - t.g, rtol=0, atol=1e-9)
    moved = terms(ur5, there + 0.001)
    expected = moved.g + (before - t.g) - 625.0 * moved.M @ np.full(6, 0.001)
    np.testing.assert_allclose(gate.tick(moved, MS).tau, expected, rtol=0, atol=1e-9)


def test_after_a_brake_only_the_torque_that_holds_the_arm_passes(ur5: RobotModel):
    t = terms(ur5)
    room = np.abs(t.M).sum(axis=1)  # of 1 rad/s^2
    for joint in range(6):
        for share, passes in ((0.999, True), (-0.999, True), (1.001, False), (-1.001, False)):
            gate = EffortGate(ur5, FAST)
            answer(gate, ur5, t.g)
            gate.brake("test")
            gate.tick(t, MS)
            gate.enable()
            gate.tick(t, MS)
            command = t.g + share * room * (np.arange(6) == joint)
            output = answer(gate, ur5, command)
            assert output.is_passing is passes
            np.testing.assert_allclose(output.tau, command if passes else t.g, rtol=0, atol=1e-9)
            if not passes:
                assert f"more at joint '{ur5.joint_names[joint]}' than holds the arm" in output.reason
                assert output.success_rate < 1.0
            assert gate.is_resuming is not passes


def test_a_gate_that_refuses_to_jump_goes_on_holding_for_ever(gate: EffortGate, ur5: RobotModel):
    t = terms(ur5)
    gate.brake("test")
    gate.enable()
    for _ in range(100):
        output = answer(gate, ur5, t.g + 20.0)
        assert output.state is GateState.HOLDING
        np.testing.assert_allclose(output.tau, t.g, rtol=0, atol=1e-9)
    assert answer(gate, ur5, t.g).is_passing
    assert answer(gate, ur5, t.g + 20.0).is_passing


def test_a_command_that_is_refused_says_how_much_it_asks_for(gate: EffortGate, ur5: RobotModel):
    t = terms(ur5)
    gate.brake("test")
    gate.enable()
    reasons = [answer(gate, ur5, t.g + excess * (np.arange(6) == 1)).reason for excess in (20.0, -30.0)]
    words = "enabled; a command asks for +20 more at joint 'shoulder_lift_joint' than holds the arm"
    assert abs(t.g[1]) > 10.0
    assert reasons == [words, words], "the first one"


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_brake_goes_on_carrying_what_was_carried(ur5: RobotModel, is_asked: bool):
    """Asked to brake, or for want of commands; an arm that was not moved since goes by the first estimate."""
    gate, t, c = EffortGate(ur5, FAST.replace(max_missed=2)), terms(ur5), np.array([0.0, 8.0, 4.0, 1.0, 0.0, 0.0])
    answer(gate, ur5, t.g + c)
    gate.estimate = c
    if is_asked:
        gate.brake("test")
    else:
        assert [gate.tick(t, MS).is_passing for _ in range(2)] == [True, False]
    np.testing.assert_allclose(gate.tick(t, MS).tau, t.g + c, rtol=0, atol=1e-9)
    gate.enable()
    gate.tick(t, MS)
    gate.estimate = np.zeros(6)
    gate.brake("again")
    np.testing.assert_allclose(gate.tick(t, MS).tau, t.g + c, rtol=0, atol=1e-9)
    gate.enable()
    gate.begin()
    answer(gate, ur5, t.g)
    gate.brake("third")
    np.testing.assert_allclose(gate.tick(t, MS).tau, t.g, rtol=0, atol=1e-9)


@pytest.mark.parametrize("v", [0.0, 0.5])
def test_an_arm_is_held_with_the_torque_of_another_gate_where_it_is(gate: EffortGate, ur5: RobotModel, v: float):
    """At rest where this gate has held it; in motion it is braked with that torque, and held where it stops."""
    t, there = terms(ur5, v=v), terms(ur5, HOME + 0.002)
    gate.brake("test")
    gate.tick(t, MS)
    if not v:
        gate.enable()
    gate.hold_with(t.g + 3.0)
    if v:
        np.testing.assert_allclose(gate.tick(t, MS).tau, t.g + 3.0 - 50.0 * t.M @ t.v, rtol=0, atol=1e-9)
        expected = there.g + 3.0 - 625.0 * there.M @ np.full(6, 0.002)
    else:
        expected = t.g + 3.0
    for _ in range(2):
        np.testing.assert_allclose(gate.tick(there, MS).tau, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("extreme", [1e3, 1e300, 1.7e308])
def test_an_absurd_state_gives_no_absurd_torque_and_leaves_no_trace(ur5: RobotModel, extreme: float):
    gate = EffortGate(ur5, GateParameters())
    before = gate.tick(terms(ur5), MS).tau
    absurd = terms(ur5)._replace(v=extreme * np.array([1, -1, 1, -1, 1, -1]), q=-extreme * np.ones(6))
    for _ in range(3):
        tau = gate.tick(absurd, MS).tau
        assert np.abs(tau - before).max() <= 1.0 + 1e-12
        before = tau
    for _ in range(300):
        tau = gate.tick(terms(ur5), MS).tau
    np.testing.assert_allclose(tau, terms(ur5).g, rtol=0, atol=1e-9)


# -- commands that are limited elsewhere ----------------------------------------------------------------


def test_taking_what_has_passed_the_limits_stands_for_an_offer_and_a_tick(ur5: RobotModel):
    rng = np.random.default_rng(0)
    gates = [EffortGate(ur5, GateParameters()) for _ in range(2)]
    for gate in gates:
        answer(gate, ur5, terms(ur5).g)
    for dt in (MS, 1.2 * MS, 0.5 * MS, 0.6 * MS, 1.0, 0.0, -0.5, -2.0, np.nan, MS):
        t, tau = terms(ur5, HOME + rng.uniform(-0.1, 0.1, 6)), rng.uniform(-28.0, 28.0, 6)
        gates[0].offer_in_order(tau)
        expected = gates[0].tick(t, dt)
        limits = gates[1].next_limits(dt)
        assert limits is not None
        passed = gates[1].limits.limit_torque(t, tau, *limits)
        gates[1].take(expected._replace(tau=passed.tau), limits[1])
        np.testing.assert_allclose(passed.tau, expected.tau, rtol=0, atol=1e-12)
        assert gates[1].period == gates[0].period
    with pytest.raises(InputError):
        gates[1].offer(ur5.joint_names, np.full(6, np.nan))
    assert gates[1].success_rate == 11 / 12
    assert gates[1].take(expected, MS, 8) is expected
    assert gates[1].success_rate == 19 / 20


def test_where_a_tick_does_more_than_limit_nothing_is_limited_elsewhere(gate: EffortGate, ur5: RobotModel):
    t = terms(ur5)
    assert gate.next_limits(MS) is None
    answer(gate, ur5, t.g)
    tau, dt, is_on = gate.next_limits(MS) or (None, None, None)
    np.testing.assert_array_equal(tau, t.g)
    assert (dt, is_on) == (MS, 0.0)
    gate.tick(t, MS)
    assert gate.next_limits(MS) is None, "a command was missed"
    gate.reset()
    answer(gate, ur5, t.g)
    gate.brake("test")
    assert gate.next_limits(MS) is None
    floored = EffortGate(ur5, FAST.replace(inertia_floor=0.02))
    answer(floored, ur5, t.g)
    assert floored.next_limits(MS) is None


# -- whatever comes ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arms(ur5: RobotModel) -> list[RobotModel]:
    return [ur5, RobotModel.from_urdf(UR5, effort_limits=dict.fromkeys(ur5.joint_names, 2.0))]


MAGNITUDE = st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 30.0, 1e3, 1e9, 1e300])


COMMANDS_AND_A_BRAKE = given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(MAGNITUDE, MAGNITUDE, MAGNITUDE),
    dt=st.sampled_from([0.0, 1e-4, MS, 0.02, 1.0]),
    rate=st.sampled_from([1.0, 1e3, 1e7]),
    stiffness=st.floats(0.1, 200.0),
    damping=st.floats(1.0, 1e6),
    margin=st.floats(0.0, 10.0),
    arm=st.sampled_from([0, 1]),
)


def check_torque(arms, seed, sizes, dt, rate, stiffness, damping, margin, arm):
    """Two commands and a brake; state and command of any size, any parameters."""
    model, rng = arms[arm], np.random.default_rng(seed)
    p = GateParameters(
        rate_limit=rate, limit_stiffness=stiffness, limit_damping=damping, limit_margin=margin, max_missed=1
    )
    gate, before = EffortGate(model, p), None
    for command in (True, True, False):
        q, v, effort = (size * rng.standard_normal(6) for size in sizes)
        if command:
            with suppress(InputError):  # absurd
                gate.offer(model.joint_names, effort)
        output = gate.tick(model.evaluate(q, np.clip(v, -1e150, 1e150)), dt)
        assert np.isfinite(output.tau).all()
        assert (np.abs(output.tau) <= model.tau_max).all()
        if before is not None:
            assert np.abs(output.tau - before).max() <= rate * dt * (1 + 1e-12) + 1e-12
        before = output.tau
    assert gate.state is not GateState.PASSING


test_torque_is_finite_and_within_limits_and_rate = settings(max_examples=100, derandomize=True)(
    COMMANDS_AND_A_BRAKE(check_torque)
)
test_torque_is_finite_and_within_limits_and_rate_5000_times = pytest.mark.campaign(
    settings(max_examples=5000, derandomize=True)(COMMANDS_AND_A_BRAKE(check_torque))
)
