"""Stepping by the transposed Jacobian: the law, its bound, and what the studywolf blog's gains do."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.control.jacobian_transpose import JacobianTransposeParameters, solve, step
from arm_control.exceptions import InputError, ParameterError
from arm_control.model import RobotModel

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
TARGET = np.array([0.4, 0.2, 0.4])
FREE = {"largest_step": 100.0}


def test_a_step_is_the_documents_law_where_it_is_stable(ur5: RobotModel):
    p = JacobianTransposeParameters(alpha=1e-3, kp=500.0, **FREE)
    now, J = step(ur5, HOME, TARGET, p), ur5.jacobian(HOME)[:3]
    dx = TARGET - ur5.pose(HOME).p
    np.testing.assert_allclose(now.q_des, HOME + 1e-3 * J.T @ (500.0 * dx), rtol=0, atol=1e-14)
    assert now.distance == pytest.approx(np.linalg.norm(dx), abs=1e-14)
    assert not now.limited


def test_the_gain_is_lowered_to_the_bound_and_no_further(ur5: RobotModel):
    J = ur5.jacobian(HOME)[:3]
    edge = 1.5 / np.linalg.eigvalsh(J @ J.T)[-1]
    at, above, far = (
        step(ur5, HOME, TARGET, JacobianTransposeParameters(alpha=1.0, kp=kp, stability=1.5, **FREE))
        for kp in (edge * (1 - 1e-12), edge * 1.01, 1e6)
    )
    assert [now.limited for now in (at, above, far)] == [False, True, True]
    np.testing.assert_allclose(above.q_des, at.q_des, rtol=0, atol=1e-10)
    np.testing.assert_allclose(far.q_des, at.q_des, rtol=0, atol=1e-10)


def stiffest(model: RobotModel, q: np.ndarray, gain: float) -> list[float]:
    """How an error in the stiffest direction grows when q <- q + gain J^T dx is repeated without the bound."""
    J = model.jacobian(q)[:3]
    u = np.linalg.eigh(J @ J.T)[1][:, -1]
    target, distances = model.pose(q).p + 1e-6 * u, []
    for _ in range(30):
        dx = target - model.pose(q).p
        distances.append(float(np.linalg.norm(dx)))
        q = q + gain * model.jacobian(q)[:3].T @ dx
    return distances


def test_two_is_the_edge_of_stability(ur5: RobotModel):
    """What the bound is there for: just below it an error shrinks, just above it grows."""
    J = ur5.jacobian(HOME)[:3]
    largest = np.linalg.eigvalsh(J @ J.T)[-1]
    below, above = (stiffest(ur5, HOME, product / largest) for product in (1.9, 2.1))
    assert below[-1] < 0.1 * below[0]
    assert above[-1] > 10 * above[0]


@pytest.mark.parametrize("stability", [1.0, 1.9])
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_whatever_the_gain_the_arm_comes_nearer_with_every_step(
    name: str, stability: float, request: pytest.FixtureRequest
):
    model = request.getfixturevalue(name)
    rng = np.random.default_rng(4)
    p = JacobianTransposeParameters(kp=1e9, stability=stability, largest_step=0.02)
    for _ in range(10):
        q = rng.uniform(np.maximum(model.q_min, -2.0) * 0.5, np.minimum(model.q_max, 2.0) * 0.5)
        target = model.pose(q + rng.uniform(-0.2, 0.2, model.nq)).p
        distances = []
        for _ in range(60):
            now = step(model, q, target, p)
            distances.append(now.distance)
            q = now.q_des
        assert (np.diff(distances) < 1e-5).all()
        assert distances[-1] < 0.2 * distances[0]


def test_the_documents_gains(ur5: RobotModel):
    """kp = 1 is far too slow, as measured for the blog's arm; 100 and 1000 take about ten times less each."""
    slow, fast, faster = (solve(ur5, HOME, TARGET, JacobianTransposeParameters(kp=kp)) for kp in (1.0, 100.0, 1000.0))
    assert (slow.converged, slow.steps) == (False, 10_000)
    assert slow.distance > 0.02
    assert fast.converged
    assert faster.converged
    assert 5 < fast.steps / faster.steps < 15
    assert np.linalg.norm(ur5.pose(faster.q).p - TARGET) == pytest.approx(faster.distance)
    assert faster.distance < 1e-3


def test_a_target_out_of_reach_is_given_up_with_joints_within_limits(ur5: RobotModel):
    result = solve(ur5, HOME, [3.0, 0.0, 0.5], JacobianTransposeParameters(kp=1e4, max_steps=500))
    assert (result.converged, result.steps) == (False, 500)
    assert result.distance < np.linalg.norm(ur5.pose(HOME).p - [3.0, 0.0, 0.5])
    assert ((ur5.q_min <= result.q) & (result.q <= ur5.q_max)).all()


def test_joints_stay_within_their_limits(ur5: RobotModel):
    q = HOME.copy()
    q[0] = ur5.q_max[0] - 1e-4
    target = ur5.pose(q + [0.5, 0, 0, 0, 0, 0]).p
    now = step(ur5, q, target, JacobianTransposeParameters())
    assert now.q_des[0] == ur5.q_max[0]


def test_a_step_is_never_larger_than_allowed(ur5: RobotModel):
    p = JacobianTransposeParameters(largest_step=0.01)
    now, free = step(ur5, HOME, TARGET, p), step(ur5, HOME, TARGET, JacobianTransposeParameters(**FREE))
    dq = now.q_des - HOME
    assert np.abs(dq).max() == pytest.approx(0.01)
    np.testing.assert_allclose(dq / np.linalg.norm(dq), (free.q_des - HOME) / np.linalg.norm(free.q_des - HOME))


def test_an_arm_that_cannot_move_its_end_effector_stays(ur5: RobotModel):
    """The first link turns about the axis that its origin is on: the Jacobian is zero."""
    model = RobotModel.from_urdf(ur5.urdf.text, tip="shoulder_link")
    assert not model.jacobian([0.3])[:3].any()
    np.testing.assert_array_equal(step(model, [0.3], TARGET, JacobianTransposeParameters()).q_des, [0.3])


@pytest.mark.parametrize("target", [[0.1, 0.2], [0.1, 0.2, np.nan], [[0.1, 0.2, 0.3]]])
def test_a_target_that_is_no_point_is_refused(target: list[float], ur5: RobotModel):
    with pytest.raises(InputError, match="three finite numbers"):
        step(ur5, HOME, target, JacobianTransposeParameters())


def test_the_bound_cannot_be_chosen_away():
    with pytest.raises(ParameterError, match="stability"):
        JacobianTransposeParameters(stability=2.0)
