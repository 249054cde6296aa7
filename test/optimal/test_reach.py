"""Plans to reach a pose: that they get there within the limits, and what following one gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import UR5_HOME, planar

from arm_control import Pose, RobotModel, urdf_path
from arm_control.exceptions import InputError
from arm_control.maths import rotation_from_vector, rotation_vector
from arm_control.optimal import ArmDynamics, ReachPlan, ReachPlanner
from arm_control.optimal.reach import KP, KV, RecedingParameters, hold

START = np.concatenate([UR5_HOME, np.zeros(6)])
WAY = (-0.1, -0.3, 0.15)


@pytest.fixture(scope="module")
def planner() -> ReachPlanner:
    return ReachPlanner(RobotModel.from_urdf(urdf_path("ur5")), RecedingParameters())


@pytest.fixture(scope="module")
def plan(planner: ReachPlanner) -> ReachPlan:
    return planner.plan(7, START, goal(planner.model, *WAY))


def goal(model: RobotModel, *way: float) -> Pose:
    X = model.pose(UR5_HOME)
    return Pose(rotation_from_vector([0.3, -0.2, 0.4]) @ X.R, X.p + way)


def left(model: RobotModel, plan: ReachPlan, X_WT: Pose) -> tuple[float, float]:
    """Distance and angle at the end of a plan."""
    X = model.pose(plan.xs[-1, : model.nv])
    return float(np.linalg.norm(X_WT.p - X.p)), float(np.linalg.norm(rotation_vector(X_WT.R @ X.R.T)))


def at(model: RobotModel, x: np.ndarray):
    return model.evaluate(x[: model.nv], x[model.nv :])


def test_a_plan_reaches_and_comes_to_rest(planner: ReachPlanner, plan: ReachPlan):
    distance, angle = left(planner.model, plan, goal(planner.model, *WAY))
    assert distance < 0.003
    assert angle < 0.003
    assert np.abs(plan.xs[-1, 6:]).max() < 0.05
    assert np.abs(plan.xs[:, 6:]).max() > 1.0
    assert (plan.stamp_ns, plan.duration) == (7, pytest.approx(1.0))
    np.testing.assert_array_equal(plan.xs[0], START)
    steps = ArmDynamics(planner.model, 0.02).step(plan.xs[:-1], plan.us)
    np.testing.assert_allclose(plan.xs[1:], steps, rtol=0, atol=1e-9)


def test_effort_limits_hold_and_bind(planner: ReachPlanner):
    X_WT, tight = goal(planner.model, -0.2, -0.5, 0.1), RecedingParameters(effort_share=0.3)
    free = planner.plan(0, START, X_WT)
    limit = 0.3 * planner.model.tau_max
    assert (np.abs(free.us) > limit).any()
    plan = ReachPlanner(planner.model, tight).plan(0, START, X_WT)
    assert (np.abs(plan.us) <= limit).all()
    assert (np.abs(plan.us) == limit).sum() > 3
    assert left(planner.model, plan, X_WT)[0] < 0.02
    wanted = plan.us + plan.K @ np.full(12, 0.3)
    assert (np.abs(wanted) > 1.1 * limit).any()
    for k in range(0, 50, 5):
        astray = at(planner.model, plan.xs[k] + 0.3)
        assert (np.abs(plan.command(k * plan.dt, astray).tau) <= limit * (1.0 + 1e-12)).all()


def test_limits_of_position_and_speed_are_kept_away_from(planner: ReachPlanner):
    X_WT = goal(planner.model, -0.9, 0.1, 0.0)
    pair = (ReachPlanner(planner.model, RecedingParameters(limit_weight=w, far=2.0)) for w in (0.0, 1e4))
    careless, careful = (one.plan(0, START, X_WT) for one in pair)
    fast, slow = (np.abs(p.xs[:, 6:] / planner.model.v_max).max() for p in (careless, careful))
    assert fast > 1.15
    assert slow < 1.05
    model = planar(2)
    model.q_min[:], model.q_max[:] = [-1.0, -3.0], [1.0, 3.0]
    near = ReachPlanner(model, RecedingParameters(orientation_weight=0.0, limit_weight=1e6))
    plan = near.plan(0, [0.5, 1.0, 0.0, 0.0], model.pose([1.5, 0.3]))
    assert 0.7 < plan.xs[:, 0].max() < 1.0


def test_its_own_trajectory_gets_its_own_torque(planner: ReachPlanner, plan: ReachPlan):
    for k in range(0, 50, 7):
        for s in (0.0, 0.4, 0.99):
            x = plan.state((k + s) * plan.dt)
            np.testing.assert_allclose(plan.error((k + s) * plan.dt, x), 0.0, atol=1e-12)
            np.testing.assert_allclose(plan.command((k + s) * plan.dt, at(planner.model, x)).tau, plan.us[k], atol=1e-9)
        np.testing.assert_array_equal(plan.state(k * plan.dt), plan.xs[k])
        almost = plan.state((k + 1 - 1e-5) * plan.dt)
        np.testing.assert_allclose(almost, plan.xs[k + 1], rtol=0, atol=1e-4)


def test_beside_it_the_gains_act(planner: ReachPlanner, plan: ReachPlan):
    off = np.linspace(-0.01, 0.02, 12)
    torque = plan.command(0.205, at(planner.model, plan.state(0.205) + off))
    np.testing.assert_allclose(torque.feedback, plan.K[10] @ off, atol=1e-9)
    np.testing.assert_array_equal(torque.feedforward, plan.us[10])
    assert np.abs(torque.feedback).max() > 0.1


def test_after_the_end_the_arm_is_held_there(planner: ReachPlanner, plan: ReachPlan):
    x = plan.xs[-1] + np.linspace(-0.02, 0.02, 12)
    for seconds in (1.0, 50.0):
        tau = plan.command(seconds, at(planner.model, x)).tau
        a = planner.model.forward_dynamics(x[:6], x[6:], tau)
        np.testing.assert_allclose(a, KP * (plan.xs[-1, :6] - x[:6]) - KV * x[6:], atol=1e-6)
        np.testing.assert_array_equal(plan.state(seconds), plan.xs[-1])


def test_holding_stays_within_its_limit(planner: ReachPlanner):
    t, limit = planner.model.evaluate(UR5_HOME, np.zeros(6)), 0.1 * planner.model.tau_max
    assert (np.abs(hold(t, UR5_HOME + 1.0, limit).tau) <= limit * (1.0 + 1e-12)).all()


def test_a_joint_that_turns_on_and_on_goes_the_short_way(planner: ReachPlanner, plan: ReachPlan):
    turns = replace(plan, is_continuous=np.arange(6) == 2)
    x = plan.state(0.5)
    x[2] += 2.0 * np.pi + 0.01
    assert plan.error(0.5, x)[2] == pytest.approx(2.0 * np.pi + 0.01)
    assert turns.error(0.5, x)[2] == pytest.approx(0.01)
    end = plan.xs[-1] + 2.0 * np.pi * (np.arange(12) == 2)
    np.testing.assert_allclose(turns.command(2.0, at(planner.model, end)).feedback, -planner.model.mass_matrix(
        end[:6]) @ (KV * end[6:]), atol=1e-6)  # fmt: skip


def test_what_is_left_of_a_plan_is_a_better_start_than_none(planner: ReachPlanner):
    X_WT = goal(planner.model, -0.2, -0.4, 0.15)
    first = planner.plan(0, START, X_WT)
    x = first.state(0.1) + 0.001
    cold, warm = planner.plan(100_000_000, x, X_WT), planner.plan(100_000_000, x, X_WT, first)
    assert warm.iterations < cold.iterations
    assert warm.cost == pytest.approx(cold.cost, rel=0.01)
    gone = planner.plan(1_000_000_000, x, X_WT, first)
    np.testing.assert_array_equal(gone.us, planner.plan(1_000_000_000, x, X_WT).us)
    earlier = planner.plan(-20_000_000, x, X_WT, first)
    np.testing.assert_array_equal(earlier.us, planner.plan(-20_000_000, x, X_WT).us)


def test_out_of_reach_it_stretches_towards_the_target_and_stays_there(planner: ReachPlanner):
    model, direction = planner.model, np.array([0.6, -0.5, 0.3])
    X_WT = Pose(model.pose(UR5_HOME).R, 5.0 * direction)
    plans = receding(planner, START, X_WT, 9)
    assert all(plan.is_partial and (np.abs(plan.us) <= planner.limit).all() for plan in plans)
    along = [X_WT.p @ model.pose(plan.xs[-1, :6]).p / np.linalg.norm(X_WT.p) for plan in plans]
    assert along[0] < along[-2] == pytest.approx(along[-1], abs=2e-3)
    assert along[-1] > 0.88
    assert np.abs(plans[-1].xs[:, 6:]).max() < 0.1


def receding(planner: ReachPlanner, x: np.ndarray, X_WT: Pose, n: int) -> list[ReachPlan]:
    """Plans that begin 0.4 s after each other, each in the state that the one before wanted by then."""
    plans = [planner.plan(0, x, X_WT)]
    for k in range(1, n):
        plans.append(planner.plan(round(0.4e9 * k), plans[-1].state(0.4), X_WT, plans[-1]))
    return plans


def test_what_is_not_finite_is_refused_and_the_next_plan_is_as_good(planner: ReachPlanner, plan: ReachPlan):
    X_WT = goal(planner.model, *WAY)
    with pytest.raises(InputError, match=r"the start is .* 12 finite numbers are needed"):
        planner.plan(0, START * np.nan, X_WT)
    with pytest.raises(InputError, match="12 finite numbers are needed"):
        planner.plan(0, START[:6], X_WT)
    with pytest.raises(InputError, match=r"the target at .* is nan m away"):
        planner.plan(0, START, Pose(X_WT.R, X_WT.p * np.nan))
    with pytest.raises(InputError, match="rotation matrix"):
        planner.plan(0, START, Pose(X_WT.R * np.nan, X_WT.p))
    np.testing.assert_array_equal(planner.plan(0, START, X_WT).us, plan.us)


def test_a_warm_start_that_leads_astray_is_left_alone(planner: ReachPlanner, plan: ReachPlan):
    X_WT = goal(planner.model, *WAY)
    wild = replace(plan, stamp_ns=0, K=plan.K * 1e200)
    found = planner.plan(0, START + 0.01, X_WT, wild)
    np.testing.assert_array_equal(found.us, planner.plan(0, START + 0.01, X_WT).us)


def test_a_target_far_away_is_planned_for_in_pieces(planner: ReachPlanner):
    near, start = goal(planner.model, -0.3, -0.4, 0.0), planner.model.pose(UR5_HOME)
    assert not planner.plan(0, START, near).is_partial
    short = ReachPlanner(planner.model, RecedingParameters(far=0.2)).plan(0, START, near)
    assert short.is_partial
    way = planner.model.pose(short.xs[-1, :6]).p - start.p
    np.testing.assert_allclose(way, 0.4 * (near.p - start.p), atol=0.003)


def test_a_solver_that_never_found_gains_has_no_plan(planner: ReachPlanner, monkeypatch: pytest.MonkeyPatch):
    """Torque without feedback would let the arm drift away."""
    solve = planner._solver.solve

    def without_gains(*arguments: object):
        found = solve(*arguments)
        return replace(found, K=0.0 * found.K, reason="Q_uu is not positive definite")

    monkeypatch.setattr(planner._solver, "solve", without_gains)
    with pytest.raises(InputError, match="no plan was found: Q_uu is not positive definite"):
        planner.plan(0, START, goal(planner.model, *WAY))
