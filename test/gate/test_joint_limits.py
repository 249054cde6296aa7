"""Joint limits: the law by its equations, and arms in MuJoCo that are driven into their limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from long_arm import long_arm
from scipy.optimize import minimize
from urdf_parts import joint, link, robot_of

from arm_control.constraints import LimitNumbers, joint_rows
from arm_control.exceptions import ParameterError
from arm_control.gate import EffortGate, GateOutput, GateParameters, JointLimits, compile_limits, joint_limits
from arm_control.gate.joint_limits import LimitParameters
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms
from arm_control.simulation import MujocoSimulator

RATE = 1000.0
SHARE = 0.25
"""Of the rate of torque, that one joint counts on."""
MS = 1e-3
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def pendulum(kind: str = "revolute", safety: str = "", **options: Any) -> RobotModel:
    rod = link("rod", 2, (0.01, 0.1, 0.1), "0.5 0 0")
    hinge = joint("hinge", "base", "rod", "0 1 0", kind, speed=3, effort=40, safety=safety)
    return RobotModel.from_urdf(robot_of(link("base"), rod, hinge), **options)


def limits(model: RobotModel, rate: float = RATE, **changes: float) -> JointLimits:
    return JointLimits(model, LimitParameters(**changes), rate)


def numbers(law: JointLimits) -> LimitNumbers:
    return LimitNumbers.of(law.numbers, law.is_unlimited)


def speed_bounds(law: JointLimits, terms: Terms) -> Array:
    return joint_rows.speed_bounds(terms, numbers(law))


def acceleration_bounds(law: JointLimits, terms: Terms, dt: float) -> Array:
    return joint_rows.acceleration_bounds(terms, dt, numbers(law))


# -- the law -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tau_max", "q"),
    [
        *((40.0, q) for q in (0.8, 0.9, 0.94, 0.9499)),
        (4e3, 0.93),  # brakes no harder than its stiffness asks for
        (5.0, 0.9),  # too weak for its weight: it may still move towards a limit
    ],
)
def test_the_speed_bound_is_the_braking_distance_solved_for_the_speed(tau_max: float, q: float):
    """d = v^2 / (2 alpha) + v / k."""
    model = pendulum(effort_limits={"hinge": tau_max})
    t = model.evaluate([q], [0.0])
    inertia, weight = t.M[0, 0], abs(t.g[0])
    alpha = min(0.5 * max(tau_max - weight, 0.05 * tau_max) / inertia, 25.0 * 3.0)
    delay = 1 / 25.0 + alpha * inertia / (2 * SHARE * RATE)
    v = speed_bounds(limits(model), t)[1, 0]
    assert v < 3.0
    assert v**2 / (2 * alpha) + v * delay == pytest.approx(0.95 - q, rel=1e-9)
    assert speed_bounds(limits(model), model.evaluate([-q], [0.0]))[0, 0] == pytest.approx(-v, rel=1e-9)


def test_the_speed_bound_is_below_the_speed_limit_and_a_tenth_of_it_on_the_way_back():
    model = pendulum()
    for q, bounds in ((0.0, [-3.0, 3.0]), (2.0, [-3.0, -0.3]), (-2.0, [0.3, 3.0])):
        assert speed_bounds(limits(model), model.evaluate([q], [0.0])).ravel() == pytest.approx(bounds, rel=1e-12)


def test_the_acceleration_bound_is_damping_that_can_be_taken_back_in_time():
    model = pendulum()
    law = limits(model)
    zeta = SHARE * RATE / model.mass_matrix([0.0])[0, 0]
    corner = zeta / 100.0**2
    for v in (3.0 - 0.5 * corner, 3.0 + 0.5 * corner):
        assert acceleration_bounds(law, model.evaluate([0.0], [v]), MS)[1, 0] == pytest.approx(100.0 * (3.0 - v))
    for v in (0.0, 2.0, 5.0):
        bent = np.sign(3.0 - v) * np.sqrt(2 * zeta * (abs(3.0 - v) - corner / 2))
        assert acceleration_bounds(law, model.evaluate([0.0], [v]), MS)[1, 0] == pytest.approx(bent)


def test_the_bounds_are_continuous_and_fall_towards_the_limit(ur5: RobotModel):
    law, q = limits(ur5), HOME.copy()
    for name, grid in (("q", np.linspace(2.5, 3.3, 4001)), ("v", np.linspace(-5.0, 5.0, 4001))):
        highest = []
        for x in grid:
            q[2], v = (x, 0.0) if name == "q" else (1.9, x)
            highest.append(acceleration_bounds(law, ur5.evaluate(q, v * (np.arange(6) == 2)), MS)[1, 2])
        steps = np.diff(highest)
        assert (steps <= 1e-9).all()
        assert np.abs(steps).max() < 0.02 * np.ptp(highest)


def test_a_sampled_loop_is_never_asked_for_more_than_it_can_follow():
    model, v = pendulum(), 3.0 + 1e-6
    bound = acceleration_bounds(limits(model, limit_damping=1e6), model.evaluate([0.0], [v]), MS)[1, 0]
    assert bound == pytest.approx(-500.0 * 1e-6, rel=1e-3)


def test_only_the_acceleration_towards_the_limit_is_cut(ur5: RobotModel):
    law, q = limits(ur5, rate=1e9), HOME.copy()
    q[2] = np.pi - 0.04
    t = ur5.evaluate(q, np.zeros(6))
    a = np.array([5.0, -5.0, 5.0, 5.0, -5.0, 5.0])
    found = law.limit_torque(t, t.h + t.M @ a, t.h, MS)
    cut = np.linalg.solve(t.M, found.tau - t.h)
    np.testing.assert_allclose(np.delete(cut, 2), np.delete(a, 2), rtol=0, atol=1e-9)
    assert cut[2] == pytest.approx(acceleration_bounds(law, t, MS)[1, 2])
    assert cut[2] < 0.0
    away = t.h + t.M @ (a - 35.0 * (np.arange(6) == 2))
    np.testing.assert_array_equal(law.limit_torque(t, away, t.h, MS).tau, away)


def test_no_other_solver_changes_a_torque_less(ur5: RobotModel):
    """Equation (7) beside SLSQP, from the torque that was found and from the last one."""
    law, rng, n_cut = limits(ur5, rate=1e9), np.random.default_rng(5), 0
    weights = ur5.tau_max / ur5.v_max
    for _ in range(60):
        v = np.where(rng.random(6) < 0.3, rng.choice([-3.1, 3.1], 6), rng.uniform(-0.3, 0.3, 6))
        t = ur5.evaluate(HOME, v)
        tau = t.h + t.M @ rng.uniform(-20.0, 20.0, 6)
        found = law.limit_torque(t, tau, t.h, MS)
        a_lo, a_hi = acceleration_bounds(law, t, MS)
        M_inv = np.linalg.inv(t.M)
        a, a_0 = M_inv @ (found.tau - t.h), M_inv @ (tau - t.h)
        if not found.limited or (a < a_lo - 1e-6).any() or (a > a_hi + 1e-6).any():
            continue  # nothing is cut, or not all can hold

        def change(a: Array, a_0: Array = a_0) -> float:
            return float(0.5 * weights @ (a - a_0) ** 2)

        rows, offsets = np.vstack([t.M, -t.M]), np.concatenate([t.h + ur5.tau_max, ur5.tau_max - t.h])
        inside = {"type": "ineq", "fun": lambda a, C=rows, b=offsets: C @ a + b, "jac": lambda a, C=rows: C}
        for start in (a, np.clip(np.zeros(6), a_lo, a_hi)):
            other = minimize(
                change, start, jac=lambda a, a_0=a_0: weights * (a - a_0),
                bounds=np.column_stack([a_lo, a_hi]), constraints=inside, method="SLSQP", options={"ftol": 1e-13},
            )  # fmt: skip
            assert change(a) <= other.fun * (1.0 + 1e-9) + 1e-9
        n_cut += 1
    assert n_cut > 20


def test_torque_and_its_rate_go_before_the_joints_limits(ur5: RobotModel):
    """A joint far too fast near its limit: the torque goes that way as fast as it may, and no further."""
    law, q = limits(ur5), HOME.copy()
    q[2] = np.pi - 0.06
    t = ur5.evaluate(q, 3.0 * (np.arange(6) == 2))
    found = law.limit_torque(t, t.h, t.h, MS)
    assert np.abs(found.tau - t.h).max() == pytest.approx(1.0, rel=1e-9)
    assert (np.abs(found.tau - t.h) <= 1.0).all()
    assert np.linalg.solve(t.M, found.tau - t.h)[2] > acceleration_bounds(law, t, MS)[1, 2]
    pressed = law.limit_torque(t, t.h, -ur5.tau_max, 1.0)
    assert (np.abs(pressed.tau) <= ur5.tau_max).all()


def test_parameters_have_the_documented_values_and_bounds():
    default = LimitParameters(joint_limits=True, limit_margin=0.05, limit_stiffness=25.0, limit_damping=100.0)
    assert LimitParameters() == default
    for name, low, high in (("margin", 0.0, 1e9), ("stiffness", 0.1, 200.0), ("damping", 1.0, 1e9)):
        for value in (low, high):
            default.replace(**{f"limit_{name}": value})
        with pytest.raises(ParameterError, match=name):
            default.replace(**{f"limit_{name}": low - 1e-6})
    with pytest.raises(ParameterError, match="stiffness"):
        default.replace(limit_stiffness=200.1)


@pytest.mark.parametrize(("size", "is_believed"), [(0.9e300, True), (1.1e300, False)])
def test_accelerations_of_1e300_in_all_are_absurd(size: float, is_believed: bool):
    model = pendulum()
    t = model.evaluate([0.0], [0.0])._replace(h=np.array([-size]), M=np.eye(1))
    found = limits(model).limit_torque(t, np.zeros(1), np.zeros(1), MS)
    assert (found.limited < joint_limits.HUGE) == is_believed
    np.testing.assert_allclose(found.tau, [0.0] if is_believed else np.clip(t.g, -1.0, 1.0))


def test_what_is_cut_is_counted_by_joints(ur5: RobotModel):
    law, q = limits(ur5), HOME.copy()
    q[2] = np.pi - 0.04
    t = ur5.evaluate(q, np.zeros(6))
    one, two = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]])
    assert law.limit_torque(t, t.h + t.M @ (5.0 * one), t.h, 1.0).limited == 1.0
    assert law.limit_torque(t, t.h + 500.0 * one, t.h, 1.0, 0.0)[1:] == (0.0, 1.0, 0.0)
    assert law.limit_torque(t, t.h + 500.0 * two, t.h, 1.0, 0.0)[1:] == (0.0, 2.0, 0.0)
    for sign in (1.0, -1.0):
        assert law.limit_torque(t, t.h + 5.0 * sign * two, t.h, MS, 0.0)[1:] == (0.0, 0.0, 2.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_torque_follows_within_its_step_joint_by_joint(ur5: RobotModel, sign: float):
    """Equation (6)."""
    law = limits(ur5, rate=2e3)
    t = ur5.evaluate(HOME, np.zeros(6))
    change = sign * np.array([5.0, -1.0, 0.5, 3.0, 0.0, -4.0])
    found = law.limit_torque(t, t.g + change, t.g, MS, 0.0)
    np.testing.assert_allclose(found.tau - t.g, np.clip(change, -2.0, 2.0), atol=1e-12)


@pytest.mark.parametrize("constraints", ["", "constraints: [{name: slow, kind: speed, limit: 9.0}]"])
def test_the_last_torque_again_keeps_the_joints_limits_with_constraints_too(ur5: RobotModel, constraints: str):
    gate, q = EffortGate(ur5, GateParameters(constraints=constraints)), HOME.copy()
    t = ur5.evaluate(q, np.zeros(6))
    gate.offer_in_order(t.h)
    tau_0 = gate.tick(t, MS).tau
    q[2] = np.pi - 0.06
    t = ur5.evaluate(q, 3.0 * (np.arange(6) == 2))
    output = gate.tick(t, MS)
    assert output.is_passing
    assert output.limited
    np.testing.assert_allclose(output.tau, gate.limits.limit_torque(t, tau_0, tau_0, MS).tau, atol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_torque_beyond_its_limit_comes_back_within_its_step(ur5: RobotModel, sign: float, is_cut: bool):
    """Limits of effort may become lower while an arm is held: the torque does not jump, whatever is cut."""
    law, q = limits(ur5), HOME.copy()
    q[2] = np.pi - 0.04 if is_cut else q[2]
    t = ur5.evaluate(q, np.zeros(6))
    tau_0 = sign * (ur5.tau_max + 10.0)
    for run in (compile_limits(ur5, law), law.limit_torque):
        found = run(t, t.h + 100.0 * is_cut * t.M[:, 2], tau_0, MS, 1.0 if is_cut else 0.0)
        assert (found.limited > 0.0) == is_cut
        np.testing.assert_allclose(found.tau, tau_0 - sign, rtol=0, atol=1e-12)


# -- what the URDF says --------------------------------------------------------------------------------


def test_soft_limits_lie_inside_the_hard_ones_and_continuous_joints_have_none():
    np.testing.assert_allclose(limits(pendulum()).q_soft.ravel(), [-0.95, 0.95])
    np.testing.assert_allclose(limits(pendulum(), limit_margin=0.5).q_soft.ravel(), [-0.9, 0.9])
    ranged = '<safety_controller k_velocity="0" soft_lower_limit="-1" soft_upper_limit="1"/>'
    for safety in ("", ranged):
        model = pendulum("continuous", safety)
        assert limits(model).q_soft.ravel().tolist() == [-np.inf, np.inf]
        for q in (-100.0, 0.0, 100.0):
            assert speed_bounds(limits(model), model.evaluate([q], [0.0])).ravel().tolist() == [-3.0, 3.0]


@pytest.mark.parametrize(
    ("soft", "expected"),
    [
        ('soft_lower_limit="-0.5" soft_upper_limit="0.7"', [-0.5, 0.7]),
        ('soft_lower_limit="-2" soft_upper_limit="0.99"', [-0.95, 0.95]),  # not tighter: the margin stays
        ("", [-0.95, 0.95]),  # left out is 0 to 0: no range
        ('soft_lower_limit="-0.5"', [-0.5, 0.0]),
        ('soft_upper_limit="0.5"', [0.0, 0.5]),
    ],
)
def test_soft_limits_of_the_urdf_hold_where_they_are_tighter(soft: str, expected: list[float]):
    model = pendulum(safety=f'<safety_controller k_velocity="0" {soft}/>')
    np.testing.assert_allclose(limits(model).q_soft.ravel(), expected)


def test_gains_of_the_urdf_are_used():
    plain, model = pendulum(), pendulum(safety='<safety_controller k_velocity="200" k_position="10"/>')
    t = model.evaluate([0.949], [0.0])
    speeds = [speed_bounds(limits(m, rate=1e9), t)[1, 0] for m in (plain, model)]
    assert speeds[1] / speeds[0] == pytest.approx(10.0 / 25.0, rel=1e-2)
    fast = model.evaluate([0.0], [3.1])
    bound = acceleration_bounds(limits(model, rate=1e9), fast, MS)[1, 0]
    assert bound == pytest.approx(-200.0 / fast.M[0, 0] * 0.1)


def test_a_safety_controller_without_gains_changes_none():
    for safety in ("", '<safety_controller k_velocity="0"/>'):
        np.testing.assert_array_equal(limits(pendulum(safety=safety)).numbers[:4], [RATE, 100.0, 25.0, 0.0])


def test_numbers_of_missing_limits_are_zero():
    law = limits(pendulum("continuous"))
    assert law.is_unlimited.tolist() == [True]
    np.testing.assert_array_equal(law.numbers, [RATE, 100.0, 25.0, 0.0, 3.0, 40.0, 0.0, 0.0])


def test_limits_are_the_same_where_all_numbers_are():
    law = limits(pendulum())
    assert law.are_those_of(limits(pendulum()))
    for other in (
        limits(pendulum("continuous")),
        limits(pendulum(), rate=2.0 * RATE),
        limits(pendulum(), limit_margin=0.0),
    ):
        assert not law.are_those_of(other)
        assert not other.are_those_of(law)


def test_a_stiff_urdf_is_held_to_critical_damping():
    model = pendulum(safety='<safety_controller k_velocity="1" k_position="100"/>')
    t = model.evaluate([0.949], [0.0])
    assert speed_bounds(limits(model), t)[1, 0] == pytest.approx(speed_bounds(limits(pendulum()), t)[1, 0])


# -- in simulation -------------------------------------------------------------------------------------


def drive(
    model: RobotModel, q: Array, command: Callable[..., Array], seconds: float = 4.0, v: Array | None = None
) -> tuple[Array, Array, list[GateOutput]]:
    """Positions, speeds and what the gate said, under a command ``f(terms)``."""
    gate, simulator = EffortGate(model, GateParameters()), MujocoSimulator(model, q)
    if v is not None:
        simulator.mujoco_data.qvel[:] = v
    qs, vs, outputs = [], [], []
    for _ in range(round(seconds / MS)):
        t = model.evaluate(simulator.q, simulator.v)
        gate.offer(model.joint_names, command(t).tolist())
        outputs.append(gate.tick(t, MS))
        simulator.step(outputs[-1].tau)
        qs.append(simulator.q)
        vs.append(simulator.v)
    return np.array(qs), np.array(vs), outputs


def push(model: RobotModel, q: Array, joint: int, sign: float) -> Callable[..., Array]:
    """Full torque at one joint; the others are held where they were."""

    def command(t) -> Array:
        tau = t.g + t.M @ (100.0 * (q - t.q) - 20.0 * t.v)
        tau[joint] = sign * model.tau_max[joint]
        return tau

    return command


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_full_torque_into_a_limit_stops_before_it(name: str, request: pytest.FixtureRequest):
    model: RobotModel = request.getfixturevalue(name)
    middle = (np.maximum(model.q_min, -6.3) + np.minimum(model.q_max, 6.3)) / 2
    for i in range(model.nv):
        for sign in (1.0, -1.0):
            start, end = middle.copy(), (model.q_max if sign > 0 else model.q_min)[i]
            start[i] = end - sign * min(abs(end - middle[i]), 1.2)
            qs, vs, outputs = drive(model, start, push(model, start, i, sign), 1.8)
            left = np.minimum(model.q_max - qs, qs - model.q_min)
            assert left.min() > 0.0, "no joint passes its hard limit; the others are thrown about too"
            assert (np.abs(vs[:, i]) < 1.8 * model.v_max[i]).all()
            assert any(output.limited for output in outputs)
            if name == "ur5":  # the Panda's first and third axis line up: one turns the other
                assert left[-1, i] == pytest.approx(0.05, abs=1e-3), "it rests at the soft limit"
                assert np.abs(vs[-300:, i]).max() < 0.01, "it rests quietly"


@pytest.mark.parametrize("joint", range(6))
def test_a_joint_faster_than_its_limit_is_braked_although_it_is_driven_on(ur5: RobotModel, joint: int):
    v = 1.5 * ur5.v_max * (np.arange(6) == joint)
    start = np.array([-3.0, -1.4, -2.0, -2.0, -3.0, -3.0])
    _, vs, outputs = drive(ur5, start, push(ur5, start, joint, 1.0), 0.5, v)
    assert outputs[0].limited
    assert np.abs(vs[300:, joint]).max() <= 1.01 * ur5.v_max[joint]


def test_weight_falls_on_a_limit_softly():
    """No torque at all: the rod falls from above the horizontal to its limit, and is held there."""
    model = pendulum()
    qs, vs, outputs = drive(model, np.array([-0.9]), lambda _: np.zeros(1), 6.0)
    assert qs.max() < 0.96
    assert qs[-1, 0] == pytest.approx(0.95, abs=1e-3)
    assert np.abs(vs[-500:]).max() < 1e-3
    weight = model.gravity(qs[-1])
    np.testing.assert_allclose(outputs[-1].tau, weight, rtol=0.05)
    steps = np.abs(np.diff([output.tau[0] for output in outputs[-500:]]))
    assert steps.max() < 0.01, "no chatter"


def test_outside_its_range_a_joint_is_led_back_slowly():
    model = pendulum()
    qs, vs, _ = drive(model, np.array([1.2]), lambda t: t.g - 20.0 * t.v, 3.0)
    assert qs[-1, 0] == pytest.approx(0.95, abs=2e-3)
    assert np.abs(vs).max() <= 0.1 * 3.0 * 1.02


@pytest.mark.parametrize("name", ["ur5", "panda", "arm of nine joints"])
def test_an_arm_whose_torques_jump_to_and_fro_keeps_its_limits(name: str, request: pytest.FixtureRequest):
    """All joints at full torque, of random signs that change over and over; the plant is the model."""
    model: RobotModel = long_arm(9) if name == "arm of nine joints" else request.getfixturevalue(name)
    law = limits(model)
    run, bounded = compile_limits(model, law), ~law.is_unlimited
    low, high = np.maximum(model.q_min, -3.0), np.minimum(model.q_max, 3.0)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        q, v = rng.uniform(low + 0.25 * (high - low), high - 0.25 * (high - low)), np.zeros(model.nv)
        tau_1, period = model.gravity(q), int(rng.integers(40, 300))
        for k in range(1200):
            if k % period == 0:
                tau = rng.choice([-3.0, 3.0], model.nv) * model.tau_max
            tau_1 = run(model.evaluate(q, v), tau, tau_1, MS, 1.0).tau
            for _ in range(4):
                v = v + model.forward_dynamics(q, v, tau_1) * (MS / 4)
                q = q + v * (MS / 4)
            assert (np.abs(v) <= 1.02 * model.v_max).all()
            assert (q - law.q_soft[1])[bounded].max() < 0.002
            assert (law.q_soft[0] - q)[bounded].max() < 0.002


@pytest.mark.parametrize("n", [8, 9])
def test_the_torque_of_many_joints_is_changed_least(n: int):
    """Equation (5) by the conditions of Karush, Kuhn and Tucker: y is a sum of active rows, of no weight below zero."""
    model, rng, n_active = long_arm(n), np.random.default_rng(0), []
    law = limits(model, rate=1e5)
    for _ in range(20):
        t = model.evaluate(np.where(np.isin(np.arange(n), (3, 6)), 1.94, rng.uniform(-1.9, 1.9, n)), np.zeros(n))
        tau = t.h + t.M @ rng.uniform(-30.0, 30.0, n)
        rows = joint_rows.rows_of_joints(t, tau, t.h, MS, numbers(law))
        for run in (compile_limits(model, law), law.limit_torque):
            y = np.linalg.solve(rows.T, run(t, tau, t.h, MS, 1.0).tau - tau)
            left = rows.G @ y - rows.need
            active = rows.G[left < 1e-9]
            weights = np.linalg.pinv(active.T) @ y
            assert min(*left, *weights) > -1e-9
            np.testing.assert_allclose(weights @ active, y, rtol=0, atol=1e-9)
            n_active.append(len(active))
    assert set(n_active) >= {0, 1, 2}


def test_where_the_rows_are_infinite_effort_and_rate_alone_count():
    model = long_arm(8, 1.0)
    law, t = limits(model), model.evaluate(np.full(8, 1.94), np.full(8, 3.0))._replace(M=1.7e308 * np.eye(8))
    for run in (compile_limits(model, law), law.limit_torque):
        found = run(t, np.full(8, 0.01), np.zeros(8), MS, 1.0)
        assert 0.0 < found.limited < joint_limits.HUGE
        np.testing.assert_array_equal(found.tau, 0.01)
