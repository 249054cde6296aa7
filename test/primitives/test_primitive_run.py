"""Primitives that run: equal to a rollout, changed on the way without a jump, waiting, passing obstacles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, rotation_from_vector, rotation_vector
from arm_control.primitives import Demonstration, ObstacleCoupling, Primitive, PrimitiveRun, obstacle_force
from arm_control.primitives.attractor import OMEGA


def follow(run: PrimitiveRun, n: int, dt: float = 1e-3, change: Callable[[int], None] = lambda _: None) -> list[Array]:
    """Positions, velocities and accelerations of n steps, each of shape (n, size)."""
    states = []
    for k in range(n):
        change(k)
        states.append(run.step(dt))
    return [np.array([getattr(x, name) for x in states]) for name in ("q_des", "v_des", "a_des")]


# -- equal to a rollout, and to the law on floats ----------------------------------------------------------


@pytest.mark.parametrize("is_on_cycle", [True, False])
def test_a_run_is_the_rollout(reach: Primitive, walk: Primitive, is_on_cycle: bool):
    far = {} if is_on_cycle else {"start_velocity": [0.3, -0.2, 0.1], "final_velocity": [0.1, 0.2, 0.3]}
    discrete = {"start": [1.0, 2.0, 3.0], "goal": [0.0, 1.0, 5.0], "duration": 1.5, "amplitude": 1.5, **far}
    rhythmic = {"goal": [1.0, 1.0], "duration": 1.5, "phase": 1.0, "amplitude": 0.5}
    rhythmic |= {} if is_on_cycle else {"start": [3.0, 2.0], "start_velocity": [1.0, 0.0]}
    for one, arguments in ((reach, discrete), (walk, rhythmic)):
        q, v, a = follow(PrimitiveRun(one, **arguments), 2000)
        wanted = one.rollout(1e-3 * np.arange(1, 2001), **arguments)
        np.testing.assert_allclose(q, wanted.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(v, wanted.v, rtol=0, atol=1e-8)
        np.testing.assert_allclose(a, wanted.a, rtol=0, atol=1e-6)


def test_a_pose_run_is_the_rollout(pose_demonstration: Demonstration):
    one = Primitive.learn(pose_demonstration)
    X_0 = Pose(rotation_from_vector([0.3, -1.0, 0.5]), np.array([0.1, 0.2, 0.3]))
    run = PrimitiveRun(one, start=X_0)
    wanted = one.rollout(np.linspace(0.0, 1.5, 16), start=X_0)
    for i in range(16):
        reference, expected = run.step(0.0), wanted.reference(i)
        np.testing.assert_allclose(reference.X_WT.R, expected.X_WT.R, atol=1e-9)
        np.testing.assert_allclose(reference.X_WT.p, expected.X_WT.p, atol=1e-9)
        np.testing.assert_allclose(reference.V_des, expected.V_des, atol=1e-7)
        np.testing.assert_allclose(reference.A_des, expected.A_des, atol=1e-5)
        for _ in range(100):
            run.step(1e-3)
    X_g = Pose(rotation_from_vector([0.0, 0.5, 2.0]), np.array([0.5, 0.5, 0.5]))
    run.set_goal(X_g)
    for _ in range(4000):
        at = run.step(1e-3).X_WT
    assert np.linalg.norm(rotation_vector(at.R @ X_g.R.T)) < 1e-6
    np.testing.assert_allclose(at.p, X_g.p, atol=1e-6)


# -- changed on the way ------------------------------------------------------------------------------------


def largest_jump(q: Array, v: Array, a: Array, dt: float) -> tuple[float, float]:
    """How far positions and velocities are from the integrals of velocities and accelerations, step by step."""
    q_jump = np.abs(np.diff(q, axis=0) - 0.5 * dt * (v[1:] + v[:-1])).max()
    v_jump = np.abs(np.diff(v, axis=0) - 0.5 * dt * (a[1:] + a[:-1])).max()
    return float(q_jump), float(v_jump)


def test_a_goal_moved_on_the_way_is_reached_without_a_jump(reach: Primitive):
    run, goal = PrimitiveRun(reach), np.array([-1.0, 2.0, 0.5])
    q, v, a = follow(run, 4000, 1e-3, lambda k: run.set_goal(goal) if k == 1000 else None)
    np.testing.assert_allclose(q[-1], goal, atol=1e-6)
    q_jump, v_jump = largest_jump(q, v, a, 1e-3)
    assert q_jump < 1e-4
    assert v_jump < 0.03  # one step of the acceleration, not of the velocity
    assert run.is_done


def test_acceleration_jumps_where_a_goal_moves(reach: Primitive):
    """By m omega^2 / T^2 of the way, and nothing else does: what the page says."""
    moved, T, s = np.array([0.3, -0.2, 0.1]), 2.0, 0.6
    runs = [PrimitiveRun(reach, duration=T) for _ in range(2)]
    for run in runs:
        follow(run, round(1000 * s * T))
    runs[1].set_goal(runs[1].goal + moved)
    before, after = (run.step(1e-7) for run in runs)
    m = 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
    np.testing.assert_allclose(after.a_des - before.a_des, m * OMEGA**2 / T**2 * moved, rtol=1e-3)
    np.testing.assert_allclose(after.v_des, before.v_des, rtol=0, atol=1e-5)
    np.testing.assert_allclose(after.q_des, before.q_des, rtol=0, atol=1e-9)


def test_the_phase_waits_while_the_arm_lags_behind(reach: Primitive, walk: Primitive):
    for one in (reach, walk):
        free, held = PrimitiveRun(one, phase_stopping=100.0), PrimitiveRun(one, phase_stopping=100.0)
        for k in range(1500):
            free.step(1e-3)
            held.step(1e-3, 1.0 if 300 <= k < 1300 else 0.0)
        lost = 1.0 / one.duration * (1.0 if one is reach else 2.0 * np.pi)  # a second's phase, but for a hundredth
        assert free.phase - held.phase == pytest.approx(lost * 100.0 / 101.0, rel=1e-6)
    late = follow(held, 3500)[0]
    np.testing.assert_allclose(late[500:1500], late[2500:], atol=1e-6)  # the cycle again


# -- obstacles ---------------------------------------------------------------------------------------------


def straight(n: int) -> Primitive:
    """A straight motion from 0 to (1, ..., 1), so that any obstacle on the diagonal is dead ahead."""
    return Primitive("discrete", 1.0, np.zeros(n), np.ones(n), np.zeros((n, 5)), np.zeros(n))


@pytest.mark.parametrize(("n", "aside"), [(2, 0.0), (3, 1e-12), (7, 0.02)])
def test_an_obstacle_dead_ahead_is_passed_and_the_goal_reached(n: int, aside: float):
    centre, radius = np.full(n, 0.5) + np.eye(n)[0] * aside, 0.1
    run = PrimitiveRun(straight(n), n_obstacles=2, duration=2.0)
    run.set_obstacles([centre], [radius])
    q, v, a = follow(run, 6000)
    assert np.linalg.norm(q - centre, axis=1).min() > radius
    np.testing.assert_allclose(q[-1], 1.0, atol=1e-5)
    assert largest_jump(q, v, a, 1e-3)[0] < 1e-5


def test_the_force_fades_with_the_distance_from_the_rim_and_is_bounded_within():
    v, coupling = np.array([0.0, 2.0]), ObstacleCoupling(reach=0.5)
    sizes = [
        float(np.linalg.norm(obstacle_force(np.zeros(2), v, np.array([[0.0, y, 0.2, 1.0]]), coupling.numbers(), 1.5)))
        for y in (0.1, 0.2, 0.7)
    ]
    assert sizes[0] == pytest.approx(2.0 * 1.5 * 1000.0 * np.pi / 20.0 / np.e)
    np.testing.assert_allclose(sizes, sizes[0] * np.exp([0.0, 0.0, -1.0]), rtol=1e-12)


def test_obstacles_do_not_turn_an_orientation(pose_demonstration: Demonstration):
    one = Primitive.learn(pose_demonstration)
    run, plain = PrimitiveRun(one, n_obstacles=1), PrimitiveRun(one)
    run.set_obstacles([pose_demonstration.positions[150]], [0.05])
    for _ in range(75):
        X, Y = run.step(0.01).X_WT, plain.step(0.01).X_WT
    assert np.linalg.norm(X.p - Y.p) > 0.02
    np.testing.assert_allclose(X.R, Y.R, atol=1e-12)


# -- refusals ----------------------------------------------------------------------------------------------


def test_what_is_not_allowed_is_refused_and_leaves_the_run_as_it_was(walk: Primitive):
    run = PrimitiveRun(walk, n_obstacles=1)
    before = run.step(0.01).q_des
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match="finite numbers are needed"):
            run.step(bad if np.isnan(bad) else 0.01, bad)
        with pytest.raises(InputError):
            run.set_amplitude(bad)
        with pytest.raises(InputError):
            run.set_duration(bad)
    for call in (
        lambda: run.set_goal([np.nan, 0.0]),
        lambda: run.set_duration(0.0),
        lambda: run.set_obstacles([[0.0, 0.0]] * 2, [0.1] * 2),
        lambda: run.set_obstacles([[0.0, np.inf]], [0.1]),
        lambda: run.set_obstacles([[0.0, 0.0]], [-0.1]),
        lambda: PrimitiveRun(walk, phase_stopping=-1.0),
        lambda: PrimitiveRun(walk, start=[0.0]),
        lambda: PrimitiveRun(straight(1), n_obstacles=1),
        lambda: PrimitiveRun(walk, coupling=ObstacleCoupling(gain=-1.0)),
    ):
        with pytest.raises(InputError):
            call()
    for dt in (0.0, -1.0):
        np.testing.assert_array_equal(run.step(dt).q_des, before)


def test_a_long_step_is_shortened(walk: Primitive):
    run, short = PrimitiveRun(walk), PrimitiveRun(walk)
    np.testing.assert_array_equal(run.step(1e9).q_des, short.step(1.0).q_des)
    assert 0.0 <= run.phase < 2.0 * np.pi
