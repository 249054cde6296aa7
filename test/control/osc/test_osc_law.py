"""Operational space control: the law against its equations, then reaches and singularities in simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from arm_control.control import (
    CompiledOsc,
    OperationalSpaceController,
    OscParameters,
    pose_error,
    task_inertia,
    task_rotation,
)
from arm_control.control.osc.osc_parameters import Gains
from arm_control.exceptions import ParameterError
from arm_control.gate import EffortGate, GateParameters
from arm_control.kinematics import FRAMES
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel, Terms
from arm_control.motion import Reference
from arm_control.simulation import MujocoSimulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
UNLIMITED = {
    "speed_limit_linear": 1e3,
    "speed_limit_angular": 1e3,
    "acceleration_limit_linear": 1e5,
    "acceleration_limit_angular": 1e5,
    "joint_speed_share": 1.0,
}
SCALE = np.array([1, 1, 1, 0.3, 0.3, 0.3])

States = Callable[..., list[tuple[Array, Array]]]


def regular_cases(model: RobotModel, states: States, n: int = 50) -> list[tuple[Terms, Reference]]:
    """States away from singularities, with a moving target near the end effector of each."""
    rng = np.random.default_rng(11)
    cases = []
    for q, v in states(model, 20 * n, seed=12):
        t = model.evaluate(q, v)
        if np.linalg.svd(SCALE[:, None] * t.J, compute_uv=False)[-1] > 0.085:
            X_WT = Pose(rotation_from_vector(rng.uniform(-1, 1, 3)) @ t.X_WE.R, t.X_WE.p + rng.uniform(-0.5, 0.5, 3))
            cases.append((t, Reference(X_WT, rng.uniform(-0.3, 0.3, 6), rng.uniform(-1, 1, 6))))
    assert len(cases) >= n
    return cases[:n]


def task_acceleration(t: Terms, tau: Array) -> Array:
    """Acceleration of the end effector under a torque: ``J M^-1 (tau - h) + Jdot v``."""
    return t.J @ np.linalg.solve(t.M, tau - t.h) + t.Jdot_v


def cut(vector: Array, maximum: float) -> Array:
    return vector * min(1.0, maximum / np.linalg.norm(vector))


def commanded_acceleration(t: Terms, reference: Reference, p: OscParameters, v_max: Array) -> Array:
    """Equations (2) and (3), written once more."""
    e = np.concatenate(
        [
            reference.X_WT.p - t.X_WE.p,
            (Rotation.from_matrix(reference.X_WT.R) * Rotation.from_matrix(t.X_WE.R).inv()).as_rotvec(),
        ]
    )
    V, A = np.zeros(6), np.zeros(6)
    parts = (
        (slice(0, 3), p.kp_linear, p.speed_limit_linear, p.acceleration_limit_linear),
        (slice(3, 6), p.kp_angular, p.speed_limit_angular, p.acceleration_limit_angular),
    )
    for part, kp, speed, _ in parts:
        V[part] = cut(kp / (2 * p.damping_ratio * np.sqrt(kp)) * e[part], speed) + reference.V_des[part]
    joint_speed = np.linalg.solve(t.M, t.J.T) @ np.linalg.pinv(t.J @ np.linalg.solve(t.M, t.J.T)) @ V
    V *= min(1.0, p.joint_speed_share / np.abs(joint_speed / v_max).max())
    for part, kp, _, acceleration in parts:
        A[part] = cut(2 * p.damping_ratio * np.sqrt(kp) * (V - t.V_WE)[part], acceleration) + reference.A_des[part]
    return A


@pytest.mark.parametrize(
    "options",
    [
        UNLIMITED,
        {},
        {"damping_ratio": 0.7, "kp_linear": 80.0, "kp_angular": 300.0, "acceleration_limit_angular": 13.0},
        {"joint_speed_share": 0.05},
    ],
    ids=["unlimited", "defaults", "other gains", "slow joints"],
)
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_the_end_effector_accelerates_as_commanded(
    name: str, options: dict[str, float], request: pytest.FixtureRequest, states: States
):
    model = request.getfixturevalue(name)
    p = OscParameters(posture=(0.5,) * model.nv, joint_limit_weight=0.0, **options)
    osc = OperationalSpaceController(model, p)
    for t, reference in regular_cases(model, states):
        expected = commanded_acceleration(t, reference, p, model.v_max)
        actual = task_acceleration(t, osc.tick(t, reference).tau)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * max(1.0, np.abs(expected).max()))


def test_without_limits_it_is_a_spring_and_a_damper(ur5: RobotModel, states: States):
    options = {**UNLIMITED, "speed_limit_linear": 1e6, "speed_limit_angular": 1e6}
    options |= {"acceleration_limit_linear": 1e8, "acceleration_limit_angular": 1e8}
    fast = RobotModel.from_urdf(ur5.urdf.text, tip="tool0", velocity_limits=dict.fromkeys(ur5.joint_names, 1e6))
    osc = OperationalSpaceController(fast, OscParameters(posture=tuple(HOME), **options))
    for t, reference in regular_cases(ur5, states):
        still = Reference(reference.X_WT)
        e = pose_error(t.X_WE, still.X_WT)
        expected = 200.0 * e - 2 * np.sqrt(200.0) * t.V_WE
        np.testing.assert_allclose(task_acceleration(t, osc.tick(t, still).tau), expected, rtol=0, atol=1e-8)


def test_pose_error_leads_from_the_actual_to_the_desired_pose():
    X_WE = Pose(rotation_from_vector([0.3, -0.2, 0.1]), np.array([1.0, 2.0, 3.0]))
    turn = np.array([0.1, 0.2, -0.3])
    X_WT = Pose(rotation_from_vector(turn) @ X_WE.R, X_WE.p + [0.1, 0.0, -0.1])
    np.testing.assert_allclose(pose_error(X_WE, X_WT), [0.1, 0, -0.1, *turn], rtol=0, atol=1e-14)
    np.testing.assert_allclose(pose_error(X_WT, X_WE), [-0.1, 0, 0.1, *-turn], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_the_end_effector_does_not_feel_the_posture(name: str, request: pytest.FixtureRequest, states: States):
    model = request.getfixturevalue(name)
    one, other = (OperationalSpaceController(model, OscParameters(posture=(x,) * model.nv)) for x in (-1.0, 2.0))
    for t, reference in regular_cases(model, states):
        a, b = one.tick(t, reference).tau, other.tick(t, reference).tau
        assert np.abs(one.posture_torque(t) - other.posture_torque(t)).max() > 0.5
        np.testing.assert_allclose(task_acceleration(t, a), task_acceleration(t, b), rtol=0, atol=1e-9)


def test_the_posture_moves_the_joints_of_a_redundant_arm(panda: RobotModel, states: States):
    one, other = (OperationalSpaceController(panda, OscParameters(posture=(x,) * 7)) for x in (-1.0, 2.0))
    for t, reference in regular_cases(panda, states, 20):
        a = np.linalg.solve(t.M, one.tick(t, reference).tau - other.tick(t, reference).tau)
        assert np.linalg.norm(a) > 1.0
        assert np.linalg.norm(t.J @ a) < 1e-9


def test_a_redundant_arm_drifts_to_its_posture_while_the_end_effector_stays(panda: RobotModel):
    q0 = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.8])
    posture = q0 + [0.4, 0.0, -0.4, 0.0, 0.0, 0.0, 0.0]
    run = simulate(panda, OscParameters(posture=tuple(posture)), q0, [(2.0, panda.pose(q0))])
    assert np.linalg.norm(run.e[:, :3], axis=1).max() < 1e-4
    assert np.linalg.norm(run.e[:, 3:], axis=1).max() < 1e-3
    assert abs(run.q[-1] - q0).max() > 0.1
    assert np.linalg.norm(posture - run.q[-1]) < 0.8 * np.linalg.norm(posture - q0)


def test_a_continuous_joint_takes_the_short_way_to_its_posture(load_robot: Callable[..., RobotModel]):
    kinova = load_robot("kinova")
    q = np.array([0.1, 3.0, 2.0, 0.1, 2.0, 0.1])
    posture = q + 2 * np.pi * np.isinf(kinova.q_max) + 0.2
    torque = OperationalSpaceController(kinova, OscParameters(posture=tuple(posture))).posture_torque(
        kinova.evaluate(q, np.zeros(6))
    )
    np.testing.assert_allclose(np.linalg.solve(kinova.mass_matrix(q), torque), np.full(6, 60.0 * 0.2), rtol=1e-9)


def test_posture_torque_is_a_spring_and_a_damper_for_each_joint(ur5: RobotModel, states: States):
    osc = OperationalSpaceController(
        ur5, OscParameters(posture=tuple(HOME), kp_posture=7.0, kv_posture=3.0, kp_joint_limits=0.0)
    )
    for q, v in states(ur5, 10):
        t = ur5.evaluate(q, v)
        acceleration = np.linalg.solve(t.M, osc.posture_torque(t))
        np.testing.assert_allclose(acceleration, 7.0 * (HOME - q) - 3.0 * v, rtol=0, atol=1e-9)


def test_terms_add_up_to_the_torque(ur5: RobotModel, states: States):
    osc = OperationalSpaceController(ur5, OscParameters(posture=tuple(HOME)))
    for t, reference in regular_cases(ur5, states, 5):
        output = osc.tick(t, reference)
        assert set(output.terms) == {"task", "posture", "disturbance", "bias"}
        np.testing.assert_allclose(sum(output.terms.values()), output.tau, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(output.terms["bias"], t.h)
        np.testing.assert_array_equal(output.error, pose_error(t.X_WE, reference.X_WT))


def test_it_does_not_accelerate_beyond_the_speed_limit(ur5: RobotModel):
    """At the limit's speed towards a far target nothing is left to accelerate; below it, there is."""
    osc = OperationalSpaceController(ur5, OscParameters(posture=tuple(HOME), joint_speed_share=1.0))
    start = ur5.evaluate(HOME, np.zeros(6))
    way, axis = np.array([0.6, 0.0, -0.8]), np.array([0.0, 1.0, 0.0])
    target = Reference(Pose(rotation_from_vector(axis) @ start.X_WE.R, start.X_WE.p + way))
    for share in (1.0, 0.5):
        V = share * np.concatenate([0.5 * way, 1.0 * axis])
        t = ur5.evaluate(HOME, np.linalg.solve(start.J, V))
        A = task_acceleration(t, osc.tick(t, target).tau)
        expected = np.concatenate(
            [
                cut((1 - share) * 2 * np.sqrt(200) * 0.5 * way, 5.0) if share < 1 else 0 * way,
                cut((1 - share) * 2 * np.sqrt(200) * axis, 12.0) if share < 1 else 0 * axis,
            ]
        )
        np.testing.assert_allclose(A, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("frame", FRAMES)
def test_the_error_of_one_turn_obeys_its_equation_however_far_off_the_free_axes_are(ur5: RobotModel, frame: str):
    """``e'' + k_v e' + k_p e = 0``, by finite differences of the error along the motion that the torque causes."""
    row, h, rng = 3, 2e-3, np.random.default_rng(4)
    gains = {"kp_linear": 4.0, "kp_angular": 4.0, "tasks": ("x y z rx",), "task_frame": frame}
    osc = OperationalSpaceController(ur5, OscParameters(posture=tuple(HOME), **{**UNLIMITED, **gains}))
    largest = 0.0
    osc.limits = osc.limits._replace(v_max=np.full(6, 1e6))
    for _ in range(12):
        t = ur5.evaluate(HOME + rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.3, 0.3, 6))
        X_WT = Pose(rotation_from_vector(rng.uniform(-0.8, 0.8, 3)) @ t.X_WE.R, t.X_WE.p)
        reference = Reference(X_WT, rng.uniform(-0.3, 0.3, 6), rng.uniform(-1, 1, 6))
        a = np.linalg.solve(t.M, osc.tick(t, reference).tau - t.h)

        def error(s: float, t: Terms = t, a: Array = a, reference: Reference = reference) -> float:
            w, alpha = reference.V_des[3:], reference.A_des[3:]
            R = rotation_from_vector(w * s + alpha * s * s / 2) @ reference.X_WT.R
            X_WE, X_WT = ur5.pose(t.q + t.v * s + a * s * s / 2), Pose(R, reference.X_WT.p)
            return pose_error(X_WE, X_WT, (row,), task_rotation(frame, X_WE, X_WT))[row]

        e = np.array([error(i * h) for i in range(-3, 4)])
        rate = e @ [-1, 9, -45, 0, 45, -9, 1] / (60 * h)
        bend = e @ [2, -27, 270, -490, 270, -27, 2] / (180 * h * h)
        assert bend + 4.0 * rate + 4.0 * e[3] == pytest.approx(0.0, abs=1e-6)
        axes = np.eye(3)[0] if frame == "world" else t.X_WE.R[:, 0]
        there = reference.X_WT.R @ t.X_WE.R.T @ axes
        largest = max(largest, np.arccos(axes @ there))
    assert largest > 0.9


def test_a_hand_asked_to_roll_rolls_although_its_axis_is_off(ur5: RobotModel):
    """One radian between the axes: 1 rad/s^2 is what the angle gets, where a projection had its cosine, 0.54."""
    osc = OperationalSpaceController(
        ur5, OscParameters(posture=tuple(HOME), **{**UNLIMITED, "tasks": ("x y z rx",), "task_frame": "end_effector"})
    )
    t = ur5.evaluate(HOME, np.zeros(6))
    R = t.X_WE.R @ rotation_from_vector([0.0, 1.0, 0.0])
    roll = Reference(Pose(R, t.X_WE.p), np.zeros(6), np.concatenate([np.zeros(3), R[:, 0]]))
    alpha = task_acceleration(t, osc.tick(t, roll).tau)[3:]
    s = (t.X_WE.R[:, 0] + R[:, 0]) / (1.0 + np.cos(1.0))
    assert s @ alpha == pytest.approx(s @ R[:, 0], abs=1e-9)
    assert s @ alpha == pytest.approx(1.0, abs=1e-9)


def test_no_joint_is_asked_for_more_than_its_share_of_its_speed_limit(ur5: RobotModel, states: States):
    free = {**UNLIMITED, "acceleration_limit_linear": 1e6, "acceleration_limit_angular": 1e6}
    slowed = 0
    for t, reference in regular_cases(ur5, states):
        at_rest, still = ur5.evaluate(t.q, np.zeros(6)), Reference(reference.X_WT)
        for share in (0.02, 0.1, 1.0):
            p = OscParameters(posture=tuple(HOME), **{**free, "joint_speed_share": share})
            osc, g = OperationalSpaceController(ur5, p), Gains.of(p.numbers(ur5.joint_names))
            V_cmd = task_acceleration(at_rest, osc.tick(at_rest, still).tau) / g.k_v
            largest = np.abs(np.linalg.solve(t.J, V_cmd) / ur5.v_max).max()
            unlimited = g.k_p / g.k_v * pose_error(t.X_WE, still.X_WT)
            nu = np.linalg.norm(V_cmd) / np.linalg.norm(unlimited)
            np.testing.assert_allclose(V_cmd, nu * unlimited, rtol=0, atol=1e-9)
            if nu < 1 - 1e-9:
                assert largest == pytest.approx(share, rel=1e-8)
                slowed += 1
            else:
                assert largest <= share
    assert slowed > 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acceleration_limit_linear": 3.5}, r"acceleration_limit_linear = 3.5 is too small to stop .* at least 3.536"),
        ({"acceleration_limit_angular": 7.0}, r"acceleration_limit_angular = 7.0 is too small .* at least 7.071"),
        ({"kp_linear": 500.0}, "acceleration_limit_linear = 5.0 is too small"),
        ({"damping_ratio": 0.5}, "acceleration_limit_linear = 5.0 is too small"),
        ({"kp_linear": 0.0}, "kp_linear = 0.0 is out of bounds"),
        ({"damping_ratio": 0.05}, "damping_ratio = 0.05 is out of bounds"),
        ({"joint_speed_share": 1.1}, "joint_speed_share = 1.1 is out of bounds"),
        ({"singular_value": -0.1}, "singular_value = -0.1 is out of bounds"),
    ],
)
def test_parameters_that_cannot_work_are_refused(options: dict[str, float], message: str):
    with pytest.raises(ParameterError, match=message):
        OscParameters(**options)


def test_an_acceleration_limit_that_can_just_stop_is_taken():
    p = OscParameters(acceleration_limit_linear=0.5 * np.sqrt(200.0) / 2)
    assert p.acceleration_limit_linear < 3.54


@pytest.mark.parametrize("n", [0, 5, 7])
def test_a_posture_of_a_wrong_length_is_refused(ur5: RobotModel, n: int):
    with pytest.raises(ParameterError, match=f"posture has {n} angles, the arm 6 joints"):
        OperationalSpaceController(ur5, OscParameters(posture=(0.0,) * n))


# -- singularities: the law ----------------------------------------------------------------------------


def inertia_of(model: RobotModel, q: Array, singular_value: float = 0.08) -> tuple[Array, Array, Terms]:
    t = model.evaluate(q, np.zeros(model.nv))
    Lambda = task_inertia(t.J, t.M, 0.3, singular_value)
    return Lambda, np.linalg.svd(SCALE[:, None] * t.J, compute_uv=False), t


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_task_inertia_is_exact_away_from_singularities(name: str, request: pytest.FixtureRequest, states: States):
    model = request.getfixturevalue(name)
    for t, _ in regular_cases(model, states):
        Lambda, sigma, _ = inertia_of(model, t.q)
        identity = Lambda @ t.J @ np.linalg.solve(t.M, t.J.T)
        np.testing.assert_allclose(identity, np.eye(6), rtol=0, atol=1e-9)
        np.testing.assert_allclose(sigma, np.linalg.svd(SCALE[:, None] * t.J, compute_uv=False), rtol=1e-12)


def stretched(x: float) -> Array:
    return np.array([0.2, -0.6, x, -1.9, -1.57, 0.0])


def wrist(x: float) -> Array:
    return np.array([0.1, -1.6, 1.9, -0.3, x, 0.3])


@pytest.mark.parametrize("configuration", [stretched, wrist])
def test_task_inertia_is_bounded_and_continuous_on_the_way_into_a_singularity(
    ur5: RobotModel, configuration: Callable[[float], Array]
):
    at_it, sigma, t = inertia_of(ur5, configuration(0.0))
    x_before, before = 0.0, at_it
    assert sigma[-1] < 1e-9
    for x in np.geomspace(1e-12, 1.0, 1200):
        Lambda, sigma, t = inertia_of(ur5, configuration(x))
        eigenvalues = np.linalg.eigvalsh((Lambda + Lambda.T) / 2)
        np.testing.assert_allclose(Lambda, Lambda.T, rtol=0, atol=1e-12 * eigenvalues[-1])
        assert eigenvalues[0] > 0.0
        assert np.abs(t.J.T @ Lambda).max() < 5.0
        change = np.linalg.norm(Lambda - before) / np.linalg.norm(Lambda)
        assert change < 250.0 * (x - x_before) + 3e-7, x  # sigma is the root of sigma^2: good to 1e-8
        x_before, before = x, Lambda


@pytest.mark.parametrize("configuration", [stretched, wrist])
def test_in_a_singularity_the_task_goes_on_without_the_lost_direction(
    ur5: RobotModel, configuration: Callable[[float], Array]
):
    Lambda, _, t = inertia_of(ur5, configuration(1e-9))
    kept = np.linalg.svd(SCALE[:, None] * t.J)[0][:, :5]
    J_kept = kept.T @ (SCALE[:, None] * t.J)
    expected = np.linalg.inv(J_kept @ np.linalg.solve(t.M, J_kept.T))
    actual = (kept / SCALE[:, None]).T @ Lambda @ (kept / SCALE[:, None])
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("configuration", [stretched, wrist])
def test_singular_value_zero_switches_the_protection_off(ur5: RobotModel, configuration: Callable[[float], Array]):
    q = configuration(1e-3)
    Lambda, _, t = inertia_of(ur5, q, singular_value=0.0)
    bare = np.linalg.inv(t.J @ np.linalg.solve(t.M, t.J.T))
    np.testing.assert_allclose(Lambda, bare, rtol=0, atol=1e-8 * np.abs(bare).max())
    assert np.linalg.norm(Lambda) > 100 * np.linalg.norm(inertia_of(ur5, q)[0])


SINGULAR = [np.zeros(6), stretched(0.0), wrist(0.0), np.array([0.3, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0])]


@pytest.mark.parametrize("q", SINGULAR)
def test_the_torque_stays_within_the_limits_exactly_in_a_singularity(ur5: RobotModel, q: Array):
    osc = OperationalSpaceController(ur5, OscParameters(posture=tuple(q)))
    t = ur5.evaluate(q, np.zeros(6))
    for way in (*np.eye(6), *-np.eye(6)):
        X_WT = Pose(rotation_from_vector(way[3:]) @ t.X_WE.R, t.X_WE.p + 0.3 * way[:3])
        output = osc.tick(t, Reference(X_WT))
        assert np.abs(output.tau / ur5.tau_max).max() < 1.0


WAYS_IN = {
    "stretched": stretched,
    "wrist": wrist,
    "shoulder": lambda x: np.array([0.3, -np.pi / 2, x, -np.pi / 2, x, 0.0]),
}


def deviation(ur5: RobotModel, q: Array, singularity: str) -> tuple[float, Array]:
    """Torque share, and what is missed of accelerations of 1 m/s^2 along the scaled singular directions (20, 6)."""
    osc = OperationalSpaceController(ur5, OscParameters(posture=tuple(q), singularity=singularity, **UNLIMITED))
    t, rng, missed, peak = ur5.evaluate(q, np.zeros(6)), np.random.default_rng(0), [], 0.0
    U = np.linalg.svd(SCALE[:, None] * t.J)[0]
    for direction in rng.normal(size=(20, 6)):
        A = direction / np.linalg.norm(direction)
        tau = osc.tick(t, Reference(t.X_WE, np.zeros(6), A)).tau
        peak = max(peak, np.abs((tau - t.h) / ur5.tau_max).max())
        missed.append(U.T @ (SCALE * (task_acceleration(t, tau) - A)))
    return peak, np.array(missed)


@pytest.mark.parametrize("way", WAYS_IN)
def test_only_lost_directions_give_way_and_the_torque_stays_small(ur5: RobotModel, way: str):
    """At log-spaced distances: exact outside the zone, and inside it in the directions that are not lost."""
    calm, exact = deviation(ur5, WAYS_IN[way](1.0), "fade")
    assert np.abs(exact).max() < 1e-9
    for x in np.geomspace(0.5, 1e-12, 40):
        peak, missed = deviation(ur5, WAYS_IN[way](x), "fade")
        kept = np.linalg.svd(SCALE[:, None] * ur5.jacobian(WAYS_IN[way](x)), compute_uv=False) > 0.07
        assert np.abs(missed[:, kept]).max() < 1e-9
        assert np.abs(missed).max() < 1.0
        assert peak < 1.6 * calm
    assert deviation(ur5, WAYS_IN[way](1e-4), "none")[0] > 100 * calm


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("singularity", ["truncate", "damp"])
def test_the_other_ways_are_bounded_too_but_jump_or_are_never_exact(ur5: RobotModel, way: str, singularity: str):
    calm, exact = deviation(ur5, WAYS_IN[way](1.0), singularity)
    assert (np.abs(exact).max() < 1e-9) == (singularity == "truncate")
    peaks = [deviation(ur5, WAYS_IN[way](x), singularity)[0] for x in np.geomspace(0.5, 1e-4, 64)]
    assert max(peaks) < 5.0 * calm
    steps = np.abs(np.diff(np.log(peaks)))
    assert (steps.max() > 0.4) == (singularity == "truncate")


@pytest.mark.parametrize("name", ["koch", "double_pendulum"])
def test_an_arm_with_fewer_than_six_joints_does_what_it_can(name: str, load_robot: Callable[..., RobotModel]):
    """It holds still where it is, and the six singular values tell that directions are missing."""
    model = load_robot(name)
    q = np.full(model.nv, 0.7)
    osc = OperationalSpaceController(model, OscParameters(posture=tuple(q)))
    t = model.evaluate(q, np.zeros(model.nv))
    held = osc.tick(t, Reference(t.X_WE))
    np.testing.assert_allclose(held.tau, t.g, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(held.singular_values[model.nv :], np.zeros(6 - model.nv))
    away = osc.tick(t, Reference(Pose(t.X_WE.R, t.X_WE.p + [0.01, 0.02, 0.03])))
    assert away.error @ task_acceleration(t, away.tau) > 0.0
    assert np.isfinite(away.tau).all()


# -- in simulation -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What happened at each millisecond; ``raw`` is the torque before the gate."""

    q: Array
    v: Array
    V: Array
    e: Array
    raw: Array
    tau: Array


def simulate(model: RobotModel, p: OscParameters, q0: Array, moves: list[tuple[float, Pose]]) -> Run:
    """Move to poses, each for some time [s], by the compiled law: it gives the torque of the law's text."""
    osc, gate, simulator = CompiledOsc(model, p), EffortGate(model, GateParameters()), MujocoSimulator(model, q0)
    rows = []
    for duration, target in moves:
        for _ in range(round(duration * 1e3)):
            output = osc.tick(simulator.q, simulator.v, Reference(target))
            t = output.state
            gate.offer(model.joint_names, output.tau)
            tau = gate.tick(t, 1e-3).tau
            rows.append((t.q, t.v, t.V_WE, output.error, output.tau, tau))
            simulator.step(tau)
    return Run(*map(np.array, zip(*rows, strict=True)))


def solve_ik(model: RobotModel, X_WT: Pose, q: Array) -> Array:
    for _ in range(300):
        e = pose_error(model.pose(q), X_WT)
        if np.linalg.norm(e) < 1e-10:
            return q
        J = model.jacobian(q)
        q = q + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), e)
    raise AssertionError("the start of the move is out of reach")


def test_a_target_is_reached_within_two_seconds_and_the_speed_limits(ur5: RobotModel):
    start = ur5.pose(HOME)
    target = Pose(rotation_from_vector([0.5, -0.4, 0.6]) @ start.R, start.p + [-0.15, 0.3, 0.2])
    run = simulate(ur5, OscParameters(posture=tuple(HOME)), HOME, [(2.0, target)])
    assert np.linalg.norm(run.e[-1, :3]) < 1e-3
    assert np.linalg.norm(run.e[-1, 3:]) < np.radians(0.2)
    assert np.linalg.norm(run.V[:, :3], axis=1).max() <= 0.5 * 1.005
    assert np.linalg.norm(run.V[:, 3:], axis=1).max() <= 1.0 * 1.005


REACH = 0.425 + 0.39225
"""Distance from the UR5's shoulder to its wrist when the elbow is straight [m]."""


@cache
def stretching_run(model: RobotModel, beyond: float, back: float) -> Run:
    """Outward by 0.25 m along the line from the shoulder to the wrist and back; the wrist would come
    ``beyond`` out of reach, had the move not been shifted ``back`` inward."""
    q = np.array([0.2, -0.6, 1.0, -1.9, -1.57, 0.0])
    X = model.pose(q)
    out = model.pose(q, "wrist_1_link").p - model.pose(q, "upper_arm_link").p
    across = np.array([-np.sin(q[0]), np.cos(q[0]), 0.0])
    out -= across * (across @ out)
    distance = np.linalg.norm(out)
    out /= distance
    near = Pose(X.R, X.p + out * (REACH + beyond - back - 0.25 - distance))
    far = Pose(X.R, near.p + 0.25 * out)
    q0 = solve_ik(model, near, q)
    return simulate(model, OscParameters(posture=tuple(q0)), q0, [(0.5, near), (2.5, far), (2.5, near)])


@cache
def wrist_run(model: RobotModel, aside: float) -> Run:
    """Sideways by 0.2 m and back, with the tool across the arm; in the middle, shifted by ``aside``,
    the axes of joints 4 and 6 would be in line."""
    q = wrist(0.0)
    X, across = model.pose(q), np.array([-np.sin(q[0]), np.cos(q[0]), 0.0])
    left, right = (Pose(X.R, X.p + across * (aside + half)) for half in (0.1, -0.1))
    q0 = solve_ik(model, left, wrist(0.15))
    return simulate(model, OscParameters(posture=tuple(q0)), q0, [(0.5, left), (2.5, right), (2.5, left)])


def peak(model: RobotModel, run: Run) -> float:
    return float(np.abs(run.raw / model.tau_max).max())


def assert_reached(e: Array) -> None:
    assert np.linalg.norm(e[:3]) < 1e-3
    assert np.linalg.norm(e[3:]) < np.radians(0.2)


@pytest.mark.parametrize("beyond", [0.0, 0.05, 0.2])
def test_stretching_out_takes_little_more_torque_than_the_same_move_further_in(ur5: RobotModel, beyond: float):
    run, away = stretching_run(ur5, beyond, 0.0), stretching_run(ur5, 0.0, 0.1)
    assert run.q[:, 2].min() < 0.45 < 0.9 < away.q[:, 2].min()
    assert peak(ur5, run) < 1.0
    assert peak(ur5, run) <= 1.5 * peak(ur5, away)
    assert_reached(run.e[-1])
    assert_reached(away.e[-1])
    assert_reached(away.e[2999])
    assert np.abs(run.v).max() < np.pi


def test_crossing_the_wrist_singularity_takes_little_more_torque_than_the_same_move_aside(ur5: RobotModel):
    run, away = wrist_run(ur5, 0.0), wrist_run(ur5, 0.2)
    assert run.q[:, 4].min() < -0.1 < 0.1 < run.q[:, 4].max()
    assert np.abs(away.q[:, 4]).min() > 0.1
    assert peak(ur5, run) < 1.0
    assert peak(ur5, run) <= 1.5 * peak(ur5, away)
    assert_reached(run.e[-1])
    assert_reached(away.e[-1])


@pytest.mark.parametrize("aside", [0.0, 0.2])
def test_a_target_within_reach_beside_the_wrist_singularity_is_reached(ur5: RobotModel, aside: float):
    assert_reached(wrist_run(ur5, aside).e[2999])


def test_in_front_of_an_unreachable_target_the_arm_comes_to_rest(ur5: RobotModel):
    for beyond in (0.05, 0.2):
        run = stretching_run(ur5, beyond, 0.0)
        waiting = slice(2500, 3000)
        assert np.linalg.norm(run.e[2999, :3]) > 0.9 * beyond
        assert np.abs(run.v[waiting]).max() < 0.02
        assert np.abs(np.diff(run.raw[waiting], axis=0)).max() < 0.02
        np.testing.assert_allclose(run.raw[2999], ur5.gravity(run.q[2999]), rtol=0, atol=5.0)
