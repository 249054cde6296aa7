"""The disturbance observer against closed forms, and on arms that are not their model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.control import ControlLoop, Measurement, resolve_parameters
from arm_control.control.disturbance_observer import FORGETTING_TIME, DisturbanceObserver, ObserverParameters
from arm_control.controllers import JointLoopParameters, OscLoopParameters, control_loop
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import JointGoal, Target
from arm_control.simulation import PlantProperties, make_simulator

Load = Callable[..., RobotModel]
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
ON = ObserverParameters(disturbance_observer=True)
MS = 1e-3


def observe(
    model: RobotModel, q: Array, v: Array, tau_d: Array, K: float, n: int, tau_dist: Array | None = None
) -> list[Array]:
    """Estimates of a constant torque on an arm that moves by its own equations, finely integrated."""
    observer = DisturbanceObserver(model, ObserverParameters(observer_bandwidth=K, observer_share=1.0))
    known, estimates, fine = np.zeros(model.nv) if tau_dist is None else tau_dist, [], 20
    for k in range(n):
        terms = model.evaluate(q, v)
        observer.tick(terms, terms.h, known, np.zeros(model.nv), MS)
        estimates.append(observer.r.copy())
        tau = terms.g + 2.0 * np.sin(0.01 * k) * np.diag(terms.M)
        observer.sent(tau, known, is_passing=True)
        for _ in range(fine):
            v = v + MS / fine * model.forward_dynamics(q, v, tau + tau_d + known)
            q = q + MS / fine * v
    return estimates


def test_a_constant_torque_is_known_to_1_minus_exp_of_time(ur5: RobotModel):
    model = ur5
    q, v = np.linspace(0.3, 0.9, model.nv), np.linspace(-0.5, 0.5, model.nv)
    tau_d, K = 0.01 * model.tau_max * np.where(np.arange(model.nv) % 2, 1.0, -0.6), 30.0
    estimates = observe(model, q, v, tau_d, K, 150)
    for k in (1, 20, 60, 149):
        np.testing.assert_allclose(estimates[k], (1.0 - np.exp(-K * k * MS)) * tau_d, atol=4e-3 * abs(tau_d).max())


@pytest.mark.parametrize(("lag", "K"), [(0.0, 80.0), (0.004, 80.0), (0.0057, 0.4 / 0.0067), (0.016, 0.4 / 0.017)])
def test_behind_a_lag_the_estimate_is_slower(ur5: RobotModel, lag: float, K: float):
    """Velocities of 17 bits are 5.7 ms late, those of 14 bits 16 ms."""
    observer, terms, none = DisturbanceObserver(ur5, ON), ur5.evaluate(HOME, np.zeros(6)), np.zeros(6)
    for _ in range(51):
        observer.tick(terms, terms.h, none, none, MS, lag)
        observer.sent(terms.h + 1.0, none, is_passing=True)
    np.testing.assert_allclose(observer.r, -(1.0 - np.exp(-K * 50 * MS)) * np.ones(6), rtol=1e-6)


def rest(model: RobotModel, observer: DisturbanceObserver, tau: Array, n: int, *, is_passing: bool = True) -> None:
    terms, none = model.evaluate(HOME, np.zeros(6)), np.zeros(6)
    for _ in range(n):
        observer.tick(terms, terms.h, none, none, MS)
        observer.sent(terms.h + tau, none, is_passing=is_passing)


def test_the_estimate_is_bounded_by_a_share_of_the_effort_limit(ur5: RobotModel):
    observer = DisturbanceObserver(ur5, ObserverParameters(observer_share=0.1))
    rest(ur5, observer, np.array([100.0, 0, 0, 0, 0, -1.0]), 2000)
    np.testing.assert_allclose(observer.r, [-15.0, 0, 0, 0, 0, 1.0], atol=1e-6)


def test_it_only_shrinks_while_the_gate_brakes(ur5: RobotModel):
    observer = DisturbanceObserver(ur5, ON)
    rest(ur5, observer, np.array([10.0, 0, 0, 0, 0, 0]), 500)
    before = observer.r.copy()
    rest(
        ur5, observer, np.array([10.0, 50.0, 0, 0, 0, 0]), 1, is_passing=False
    )  # the tick still counts what came before
    rest(ur5, observer, np.array([10.0, 50.0, 0, 0, 0, 0]), 100, is_passing=False)
    np.testing.assert_allclose(observer.r, before * np.exp(-0.1 / FORGETTING_TIME), atol=1e-6)


def test_where_a_floor_is_taken_back_the_estimate_starts_again(ur5: RobotModel):
    observer, terms, none = DisturbanceObserver(ur5, ON), ur5.evaluate(HOME, np.zeros(6)), np.zeros(6)
    for floor in (np.full(6, 0.1), np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.01])):
        for _ in range(100):
            before = observer.r.copy()
            observer.tick(terms, terms.h, none, floor, MS)
            if floor[5] == 0.01:
                break
            observer.sent(terms.h + 1.0, none, is_passing=True)
    assert before[5] < -0.9
    assert observer.r[4] < -0.9
    assert observer.r[5] == pytest.approx(-(1.0 - np.exp(-0.08)))  # of this one tick


def test_a_law_gets_the_torque_for_the_rotors_as_well(ur5: RobotModel):
    """tau = (M + f) a + h without an estimate, also beside a known disturbance."""
    observer, a = DisturbanceObserver(ur5, ON), np.linspace(-3.0, 4.0, 6)
    terms, f, known = ur5.evaluate(HOME, np.full(6, 0.2)), np.linspace(0.1, 0.6, 6), np.linspace(1.0, 2.0, 6)
    tau = observer.tick(terms, terms.M @ a + terms.h - known, known, f, MS)
    np.testing.assert_allclose(tau, terms.M @ a + f * a + terms.h - known, atol=1e-9)


@pytest.mark.parametrize("braking", [False, True])
def test_an_acceleration_is_shortened_and_keeps_its_direction_where_a_joint_needs_too_much(
    ur5: RobotModel, *, braking: bool
):
    """The shoulder carries 80 N m of its 150 and may have 20 more; braked, it may have all."""
    observer = DisturbanceObserver(ur5, ObserverParameters(torque_share=100.0 / 150.0))
    v = np.array([0.0, -1.0 if braking else 1.0, 0.0, 0.0, 0.0, 0.0])
    terms, none = ur5.evaluate(HOME, v), np.zeros(6)
    c = np.array([10.0, 40.0, 0.0, -1.0, 0.2, 0.0])
    carried = np.array([0.0, 80.0, 0.0, 0.0, 0.0, 0.0])
    tau = observer.tick(terms, c + carried, terms.h - carried, none, MS)  # the rest of the weight is a known torque's
    np.testing.assert_allclose(tau - carried, c if braking else 0.5 * c, atol=1e-9)


def test_a_law_with_a_schedule_gets_all_its_acceleration(ur5: RobotModel):
    terms, none = ur5.evaluate(HOME, np.zeros(6)), np.zeros(6)
    tau = terms.h + np.array([140.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    shortened = DisturbanceObserver(ur5, ON).tick(terms, tau, none, none, MS)
    assert shortened[0] - terms.h[0] == pytest.approx(0.68 * 150.0)
    joint = control_loop(ur5, JointLoopParameters.from_mapping({"disturbance_observer": True})).observer
    np.testing.assert_allclose(joint.tick(terms, tau, none, none, MS), tau, atol=1e-9)


def osc_loop(model: RobotModel, rate: float = 1000.0, **changes: object) -> ControlLoop:
    values = {"disturbance_observer": True, "inertia_floor": 0.02, "rate": rate, **changes}
    return control_loop(model, resolve_parameters(OscLoopParameters, values, model))


def drive(model: RobotModel, loop: ControlLoop, simulator, seconds: float, restart: int = -1) -> list:
    rows, dt = [], simulator.timestep
    for k in range(round(seconds / dt)):
        is_restart = k in (0, restart)
        measurement = Measurement(round(k * dt * 1e9), simulator.q, simulator.v, 0.0 if is_restart else dt, is_restart)
        result = loop.tick(measurement)
        rows.append(result)
        simulator.step(result.gate.tau)
    return rows


def test_a_target_is_reached_against_friction_and_a_payload(ur5: RobotModel):
    """Without the observer the same arm ends more than 5 mm and 10 degrees off."""
    plant, rate = PlantProperties(set="real", payload_mass=1.0), 250.0
    goal = ur5.pose(HOME + np.array([0.4, 0.2, -0.3, 0.3, 0.3, 0.6]))
    errors = []
    for on in (True, False):
        loop = osc_loop(ur5, rate, **({} if on else {"disturbance_observer": False, "inertia_floor": 0.0}))
        loop.controller.add(Target(0, "base_link", goal))
        simulator = make_simulator(ur5, HOME, plant, timestep=1.0 / rate)
        drive(ur5, loop, simulator, 2.5)
        X = ur5.pose(simulator.arm.q)
        turn = np.arccos(np.clip((np.trace(X.R.T @ goal.R) - 1.0) / 2.0, -1.0, 1.0))
        errors.append((np.linalg.norm(X.p - goal.p), np.rad2deg(turn)))
    assert errors[0][0] < 1e-3
    assert errors[0][1] < 0.2
    assert errors[1][0] > 5e-3
    assert errors[1][1] > 10.0


def test_a_restart_forgets_the_estimate_and_the_torque_does_not_jump(ur5: RobotModel):
    loop = osc_loop(ur5, inertia_floor=0.02)
    rows = drive(ur5, loop, make_simulator(ur5, HOME, PlantProperties(payload_mass=2.0)), 1.5, restart=1400)
    assert np.abs(rows[1399].compensation).max() > 5.0
    assert np.abs(rows[1400].compensation).max() < 0.1  # without the estimate; what is left belongs to the floor
    taus = np.array([row.gate.tau for row in rows[1400:]])
    assert np.abs(np.diff(taus, axis=0)).max() <= 1.5 + 1e-9  # the rate limit proposed for 150 N m


def test_known_friction_is_not_compensated_twice(load_robot: Load):
    """Node joint adds it by the desired speed; the observer sees that the rest of the torque accelerates."""
    coulomb = [5.0, 5.0, 5.0, 1.0, 1.0, 1.0]
    model = load_robot("ur5", coulomb_friction=coulomb, armature=0.1)
    parameters = JointLoopParameters.from_mapping({"disturbance_observer": True})
    loop = control_loop(model, parameters)
    loop.controller.add(JointGoal(0, HOME + 0.4))
    simulator = make_simulator(model, HOME, PlantProperties(coulomb=tuple(coulomb)))
    results = drive(model, loop, simulator, 0.8)
    moving = [result for result in results[300:] if (np.abs(result.measurement.v) > 0.1).all()]
    assert len(moving) > 200
    assert max(np.abs(result.compensation / coulomb).max() for result in moving) < 0.2
    assert max(result.law.figures()["joint_error"] for result in moving) < 2e-3
