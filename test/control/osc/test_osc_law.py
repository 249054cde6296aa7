"""Operational space control: the law against its equations, then reaches and singularities in simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from arm_control.control import CompiledOsc, OperationalSpaceController, OscParameters, pose_error, task_inertia
from arm_control.exceptions import ParameterError
from arm_control.gate import EffortGate, GateParameters
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


def regular_cases(model: RobotModel, states: States, n: int = 15) -> list[tuple[Terms, Reference]]:
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
        {"joint_speed_share": 0.05},
    ],
    ids=["unlimited", "defaults", "slow joints"],
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


def test_a_continuous_joint_takes_the_short_way_to_its_posture(load_robot: Callable[..., RobotModel]):
    kinova = load_robot("kinova")
    q = np.array([0.1, 3.0, 2.0, 0.1, 2.0, 0.1])
    posture = q + 2 * np.pi * np.isinf(kinova.q_max) + 0.2
    torque = OperationalSpaceController(kinova, OscParameters(posture=tuple(posture))).posture_torque(
        kinova.evaluate(q, np.zeros(6))
    )
    np.testing.assert_allclose(np.linalg.solve(kinova.mass_matrix(q), torque), np.full(6, 60.0 * 0.2), rtol=1e-9)


def test_terms_add_up_to_the_torque(ur5: RobotModel, states: States):
    osc = OperationalSpaceController(ur5, OscParameters(posture=tuple(HOME)))
    for t, reference in regular_cases(ur5, states, 5):
        output = osc.tick(t, reference)
        assert set(output.terms) == {"task", "posture", "disturbance", "bias"}
        np.testing.assert_allclose(sum(output.terms.values()), output.tau, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(output.terms["bias"], t.h)
        np.testing.assert_array_equal(output.error, pose_error(t.X_WE, reference.X_WT))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acceleration_limit_linear": 3.5}, r"acceleration_limit_linear = 3.5 is too small to stop .* at least 3.536"),
        ({"acceleration_limit_angular": 7.0}, r"acceleration_limit_angular = 7.0 is too small .* at least 7.071"),
        ({"damping_ratio": 0.5}, "acceleration_limit_linear = 5.0 is too small"),
        ({"joint_speed_share": 1.1}, "joint_speed_share = 1.1 is out of bounds"),
    ],
)
def test_parameters_that_cannot_work_are_refused(options: dict[str, float], message: str):
    with pytest.raises(ParameterError, match=message):
        OscParameters(**options)


def test_a_posture_of_a_wrong_length_is_refused(ur5: RobotModel):
    with pytest.raises(ParameterError, match="posture has 5 angles, the arm 6 joints"):
        OperationalSpaceController(ur5, OscParameters(posture=(0.0,) * 5))


# -- singularities: the law ----------------------------------------------------------------------------


def inertia_of(model: RobotModel, q: Array, singular_value: float = 0.08) -> tuple[Array, Array, Terms]:
    t = model.evaluate(q, np.zeros(model.nv))
    Lambda = task_inertia(t.J, t.M, 0.3, singular_value)
    return Lambda, np.linalg.svd(SCALE[:, None] * t.J, compute_uv=False), t


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
    for x in np.geomspace(1e-12, 1.0, 100):
        Lambda, sigma, t = inertia_of(ur5, configuration(x))
        eigenvalues = np.linalg.eigvalsh((Lambda + Lambda.T) / 2)
        np.testing.assert_allclose(Lambda, Lambda.T, rtol=0, atol=1e-12 * eigenvalues[-1])
        assert eigenvalues[0] > 0.0
        assert np.abs(t.J.T @ Lambda).max() < 5.0
        change = np.linalg.norm(Lambda - before) / np.linalg.norm(Lambda)
        assert change < 250.0 * (x - x_before) + 3e-7, x  # sigma is the root of sigma^2: good to 1e-8
        x_before, before = x, Lambda


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
    for x in np.geomspace(0.5, 1e-12, 7):
        peak, missed = deviation(ur5, WAYS_IN[way](x), "fade")
        kept = np.linalg.svd(SCALE[:, None] * ur5.jacobian(WAYS_IN[way](x)), compute_uv=False) > 0.07
        assert np.abs(missed[:, kept]).max() < 1e-9
        assert np.abs(missed).max() < 1.0
        assert peak < 1.6 * calm
    assert deviation(ur5, WAYS_IN[way](1e-4), "none")[0] > 100 * calm


@pytest.mark.parametrize("singularity", ["truncate", "damp"])
def test_the_other_ways_are_bounded_too_but_jump_or_are_never_exact(ur5: RobotModel, singularity: str):
    calm, exact = deviation(ur5, stretched(1.0), singularity)
    assert (np.abs(exact).max() < 1e-9) == (singularity == "truncate")
    peaks = [deviation(ur5, stretched(x), singularity)[0] for x in np.geomspace(0.5, 1e-4, 64)]
    assert max(peaks) < 5.0 * calm
    steps = np.abs(np.diff(np.log(peaks)))
    assert (steps.max() > 0.4) == (singularity == "truncate")


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
BEYOND = 0.05
"""How far a target is out of reach [m]."""


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


def peak(model: RobotModel, run: Run) -> float:
    return float(np.abs(run.raw / model.tau_max).max())


def assert_reached(e: Array) -> None:
    assert np.linalg.norm(e[:3]) < 1e-3
    assert np.linalg.norm(e[3:]) < np.radians(0.2)


def test_stretching_out_takes_little_more_torque_than_the_same_move_further_in(ur5: RobotModel):
    """Behind it lies a target out of reach, in front of which the arm comes to rest."""
    run, away = stretching_run(ur5, BEYOND, 0.0), stretching_run(ur5, 0.0, 0.1)
    assert run.q[:, 2].min() < 0.45 < 0.9 < away.q[:, 2].min()
    assert peak(ur5, run) < 1.0
    assert peak(ur5, run) <= 1.5 * peak(ur5, away)
    assert_reached(run.e[-1])
    assert_reached(away.e[-1])
    assert_reached(away.e[2999])
    assert np.abs(run.v).max() < np.pi
    waiting = slice(2500, 3000)
    assert np.linalg.norm(run.e[2999, :3]) > 0.9 * BEYOND
    assert np.abs(run.v[waiting]).max() < 0.02
    assert np.abs(np.diff(run.raw[waiting], axis=0)).max() < 0.02
    np.testing.assert_allclose(run.raw[2999], ur5.gravity(run.q[2999]), rtol=0, atol=5.0)
