"""Adaptive torque against closed forms, and on arms that are not their model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from driven_arm import driven

from arm_control import urdf_path
from arm_control.control import AdaptationParameters, AdaptiveTorque, LoopParameters, TickResult, resolve_parameters
from arm_control.control.adaptive_torque import FADING_TIME, LARGEST_WEIGHTS, tuning_curves
from arm_control.controllers import JointLoopParameters, OscLoopParameters, control_loop
from arm_control.exceptions import ParameterError
from arm_control.gate import GateState
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms
from arm_control.motion import JointGoal, Waypoints
from arm_control.simulation import PlantProperties, RealArm, make_simulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1e-3
FEW = AdaptationParameters(adaptive_torque=True, adaptation_neurons=64, learning_rate=20.0)


def state(model: RobotModel, q: Array, v: Array) -> Terms:
    """Terms of a state, of which only positions and speeds count."""
    return model.evaluate(HOME, np.zeros(6))._replace(q=q, v=v)


def learn(adaptation: AdaptiveTorque, terms: Terms, y: Array, n: int) -> None:
    for _ in range(n):
        adaptation.tick(terms)
        adaptation.learn(y, MS)


def test_a_torque_that_lasts_is_known_to_1_minus_exp_of_time(ur5: RobotModel):
    adaptation, terms = AdaptiveTorque(ur5, FEW.replace(learning_rate=30.0)), state(ur5, HOME, np.zeros(6))
    y = np.array([5.0, -4.0, 3.0, 2.0, -1.0, 0.5])
    adaptation.tick(terms)
    for k in range(1, 120):
        learn(adaptation, terms, y, 1)
        np.testing.assert_allclose(adaptation.tau, (1.0 - np.exp(-30.0 * (k - 1) * MS)) * y, atol=1e-9)


def test_a_torque_that_is_linear_in_the_rates_is_found_and_the_weights_never_lose_ground(ur5: RobotModel):
    """Equation (6): the distance to the ideal weights falls by mu (2 - mu) |epsilon|^2 / |phi_m|^2."""
    adaptation = AdaptiveTorque(ur5, FEW.replace(learning_rate=100.0))
    rng = np.random.default_rng(3)
    ideal = rng.normal(0.0, 2.0, adaptation.W.shape)
    encoders, (a, b) = tuning_curves(ur5, FEW)
    mu, before = 1.0 - np.exp(-100.0 * MS), np.linalg.norm(ideal) ** 2
    rates, epsilon, size, largest, start = np.zeros(64), np.zeros(6), 1.0, 0.0, before
    for k in range(3000):
        q, v = HOME + 0.8 * rng.uniform(-1.0, 1.0, 6), 1.5 * rng.uniform(-1.0, 1.0, 6)
        adaptation.tick(state(ur5, q, v))
        distance = np.linalg.norm(adaptation.W - ideal) ** 2
        if k > 1:
            assert before - distance == pytest.approx(mu * (2.0 - mu) * epsilon @ epsilon / size, abs=1e-9)
        before, last = distance, rates
        rates = a * np.cos(np.concatenate([q, v, v / np.hypot(v, 0.05)]) @ encoders + b)
        mean = 0.5 * (last + rates)
        size, epsilon = mean @ mean, (ideal - adaptation.W) @ mean
        largest = max(largest, np.abs(epsilon).max())
        adaptation.learn(ideal @ mean if k else None, MS)
    assert before < 0.02 * start
    assert np.abs(epsilon).max() < 0.2 * largest


def test_the_torque_is_bounded(ur5: RobotModel):
    adaptation, terms = AdaptiveTorque(ur5, FEW.replace(adaptation_share=0.2)), state(ur5, HOME, np.zeros(6))
    learn(adaptation, terms, np.array([1e6, 0.0, 0.0, 0.0, 0.0, -3.0]), 1000)
    np.testing.assert_allclose(adaptation.tau, [30.0, 0.0, 0.0, 0.0, 0.0, -3.0], atol=1e-6)
    assert np.linalg.norm(adaptation.W[0]) < 2.0 * 150.0  # what is learnt is at most the effort limit


def test_weights_are_bounded(ur5: RobotModel):
    adaptation, terms = AdaptiveTorque(ur5, FEW), state(ur5, HOME, np.zeros(6))
    rng, sizes = np.random.default_rng(0), np.array([0.5, 0.9, 1.1, 2.0, 5.0, 0.0]) * LARGEST_WEIGHTS * ur5.tau_max
    adaptation.W[:] = rng.normal(0.0, 1.0, adaptation.W.shape)
    adaptation.W[:] *= (sizes / np.linalg.norm(adaptation.W, axis=1))[:, None]
    for _ in range(2):
        adaptation.tick(terms)
    expected = np.minimum(sizes, LARGEST_WEIGHTS * ur5.tau_max)
    np.testing.assert_allclose(np.linalg.norm(adaptation.W, axis=1), expected, rtol=1e-12)


def test_a_share_that_changes_fades(ur5: RobotModel):
    adaptation, terms = AdaptiveTorque(ur5, FEW), state(ur5, HOME, np.zeros(6))
    learn(adaptation, terms, 0.25 * ur5.tau_max, 500)
    known = adaptation.tau.copy()
    taus = []
    for share in (0.0, 0.3):
        adaptation.configure(FEW.replace(adaptation_share=share))
        for _ in range(300):
            taus.append(adaptation.tick(terms))
            adaptation.learn(0.25 * ur5.tau_max, MS)
        if share == 0.0:
            assert not taus[-1].any()
    np.testing.assert_allclose(taus[-1], known, rtol=1e-3)
    assert (np.abs(np.diff(taus, axis=0)) <= MS / FADING_TIME * ur5.tau_max + 1e-9).all()


def test_beside_an_observer_it_learns_in_motion_only(ur5: RobotModel):
    """At v_s the rate is halved."""
    y, mu = np.array([5.0, -4.0, 3.0, 2.0, -1.0, 0.5]), 1.0 - np.exp(-20.0 * MS)
    for speed, share in ((0.0, 0.0), (0.05, 0.5), (-0.05, 0.5)):
        adaptation = AdaptiveTorque(ur5, FEW, learns_at_rest=False)
        terms = state(ur5, HOME, np.array([0.0, 0.01, speed, 0.0, 0.0, 0.0]) if speed else np.zeros(6))
        adaptation.tick(terms)
        learn(adaptation, terms, y, 51)
        np.testing.assert_allclose(adaptation.tau, (1.0 - (1.0 - share * mu) ** 50) * y, atol=1e-9)


# -- in the loop -------------------------------------------------------------------------------


def joint_parameters(**values: Any) -> JointLoopParameters:
    return JointLoopParameters.from_mapping({"adaptive_torque": True, "adaptation_neurons": 256, **values})


def swing(model: RobotModel, cycles: int, period: float = 1.0) -> JointGoal:
    """All joints swing to and fro."""
    times = np.linspace(0.0, cycles * period, 40 * cycles + 1)[1:]
    w = 2.0 * np.pi / period
    size = np.array([0.2, 0.15, 0.2, 0.3, 0.3, 0.3])
    rows = (np.outer(f, size) for f in (1.0 - np.cos(w * times), w * np.sin(w * times), w * w * np.cos(w * times)))
    qs, vs, as_ = rows
    vs[-1] = 0.0
    return JointGoal(0, Waypoints.checked(model, model.joint_names, times.tolist(), HOME + qs, vs, as_))


def drive(
    model: RobotModel,
    parameters: LoopParameters,
    simulator: RealArm | Any,
    seconds: float,
    goal: JointGoal,
) -> list[TickResult]:
    loop = control_loop(model, parameters)
    loop.controller.add(goal)
    return list(driven(loop, simulator, seconds))


def joint_errors(rows: list[TickResult], seconds: float, timestep: float = MS) -> float:
    """Largest error of a joint in the last seconds [rad]."""
    return max(row.law.figures()["joint_error"] for row in rows[-round(seconds / timestep) :])


def test_a_motion_that_repeats_is_followed_with_friction_and_2_kg_that_nobody_knows_of(ur5: RobotModel):
    """The error is less than a third of that without; observer and adaptation together beat the observer alone."""
    properties, errors, timestep = PlantProperties(set="real", payload_mass=2.0), {}, 4 * MS
    for name, values in (
        ("none", {"adaptive_torque": False}),
        ("observer", {"adaptive_torque": False, "disturbance_observer": True}),
        ("adaptation", {}),
        ("both", {"disturbance_observer": True}),
    ):
        parameters = joint_parameters(inertia_floor=0.02, **values)
        simulator = make_simulator(ur5, HOME, properties, timestep=timestep)
        rows = drive(ur5, parameters, simulator, 4.0, swing(ur5, 5, 0.8))
        errors[name] = joint_errors(rows, 0.8, timestep)
        assert all(row.gate.is_passing for row in rows)
        assert max(np.abs(row.gate.tau / ur5.tau_max).max() for row in rows) < 0.95
    assert errors["adaptation"] < errors["none"] / 3.0
    assert errors["both"] < 0.7 * errors["observer"]


@pytest.mark.parametrize("has_observer", [False, True])
def test_a_brake_ends_what_is_learnt_and_nothing_is_learnt_until_a_new_goal_acts(ur5: RobotModel, has_observer: bool):
    """The torque that holds an arm says nothing of the law; the gate carries what it holds."""
    loop = control_loop(ur5, joint_parameters(disturbance_observer=has_observer))
    simulator = make_simulator(ur5, HOME, PlantProperties(payload_mass=2.0))
    rows, weights, estimates = [], [], []
    for k, row in enumerate(driven(loop, simulator, 0.4), 1):
        rows.append(row)
        if k == 100:
            loop.gate.brake("test")
        if k == 200:
            loop.gate.enable()
        if k == 300:
            loop.controller.add(JointGoal(300_000_000, HOME + 0.1))
        weights.append(np.abs(loop.adaptation.W).max())
        estimates.append(np.abs(loop.unknown_torque).max())
    for first, state in ((1, GateState.PASSING), (100, GateState.BRAKING), (200, GateState.HOLDING)):
        assert {row.gate.state for row in rows[first : first + 99]} == {state}
    assert {row.gate.state for row in rows[300:]} == {GateState.PASSING}
    assert estimates[99] > 1.0
    assert (weights[99] > 1.0) is not has_observer, "an observer knows what lasts"
    assert not np.any(weights[100:300])
    assert not np.any(estimates[100:300])
    assert all(row.compensation is None and row.adaptation is None for row in rows[100:300])
    assert weights[398] > 0.0
    assert estimates[398] > 1.0


def test_a_gate_that_cuts_teaches_nothing_wrong(ur5: RobotModel):
    """A law asks for far more than the effort limits; the torque that was sent is what counts."""
    parameters = joint_parameters(rate_limit=150.0)
    rows = drive(ur5, parameters, make_simulator(ur5, HOME, PlantProperties()), 0.8, swing(ur5, 2, 0.6))
    assert sum(row.gate.saturated or row.gate.rate_limited for row in rows) > 50
    assert max(np.abs(row.adaptation / ur5.tau_max).max() for row in rows) < 0.01


def test_a_restart_forgets_and_a_run_is_repeated_to_the_last_bit(ur5: RobotModel):
    properties, parameters = PlantProperties(payload_mass=2.0, velocity_noise=1e-3), joint_parameters()
    loop, runs = control_loop(ur5, parameters), []
    for _ in range(2):
        simulator = make_simulator(ur5, HOME, properties)
        rows = list(driven(loop, simulator, 0.15))
        assert np.abs(rows[-1].adaptation).max() > 5.0
        runs.append([row.gate.tau for row in rows])
    np.testing.assert_array_equal(runs[0], runs[1])


def test_a_contact_is_not_learnt():
    model, values = RobotModel.from_urdf(urdf_path("planar2")), {"adaptive_torque": True, "force_axes": ["x"]}
    with pytest.raises(ParameterError, match="the force of a contact"):
        control_loop(model, resolve_parameters(OscLoopParameters, values, model))
