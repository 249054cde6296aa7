"""Chains of edges: which of them keep the path, the limits and the horizon; and proofs of motions, piece by piece."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from line_task import START, TAU_MAX, task_problem

from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.motion import JointTrajectory
from arm_control.planning import TaskConstrainedProblem, TaskParameters, circle
from arm_control.planning.edges import Chains, Edges, Start
from arm_control.planning.task_tree import first_unproved, is_free, keeps_limits

N = 40


@pytest.fixture(scope="module")
def problem() -> TaskConstrainedProblem:
    return task_problem(circle([1.0, -0.7], 0.2))


@pytest.fixture(scope="module")
def kinematic(problem: TaskConstrainedProblem) -> Edges:
    return Edges(problem, TaskParameters(lanes=8))


@pytest.fixture(scope="module")
def dynamic(problem: TaskConstrainedProblem) -> Edges:
    return Edges(replace(problem, tau_max=TAU_MAX), TaskParameters(lanes=8))


def follow(
    edges: Edges,
    length: int,
    *,
    q: Array = START,
    q_r: Array | None = None,
    level: int = 0,
    direction: int = 1,
    t: float = 0.0,
    w: Array | None = None,
    rates: tuple[float, ...] = (0.2,) * 8,
) -> Chains:
    """The same chain in all lanes; the rates are those at the ends of its edges [1/s]."""
    W = edges.width
    start = Start(
        np.tile(q, (W, 1)),
        np.tile(np.zeros(4) if q_r is None else q_r, (W, 1)),
        np.full(W, level),
        np.zeros(W),
        np.full(W, t),
        np.full(W, direction),
        np.tile(np.zeros(4) if w is None else w, (W, 1)),
    )
    return edges.follow(start, lambda edge, *_: np.full(W, rates[edge]), length, np.ones(W))


def ahead(edges: Edges, length: int) -> Array:
    """Joint positions some pieces further on."""
    return follow(edges, length).q[length - 1, -1, :, 0].copy()


def test_chains_lead_along_the_path_and_back(kinematic: Edges, problem: TaskConstrainedProblem):
    q = ahead(kinematic, 3)
    np.testing.assert_allclose(problem.model.pose(q).p[:2], problem.path.at([3 / N]).y[0], atol=1e-5)
    back = follow(kinematic, 4, q=q, level=3, direction=-1)
    assert back.is_valid[:, 0].tolist() == [True, True, True, False]  # the path ends
    np.testing.assert_allclose(problem.model.pose(back.q[2, -1, :, 0]).p[:2], [1.2, -0.7], atol=1e-5)
    np.testing.assert_allclose(back.t[2, -1, 0], 3 / N / 0.2)  # time goes on


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_chains_end_at_the_limits_of_the_joints(
    kinematic: Edges, problem: TaskConstrainedProblem, sign: float, monkeypatch: pytest.MonkeyPatch
):
    model = problem.model
    monkeypatch.setattr(model, "q_min", np.full(4, -2.0))
    monkeypatch.setattr(model, "q_max", np.full(4, 2.0))
    q, w = START, np.array([0.0, sign * 6.0, 0.0, 0.0])
    for _ in range(20):
        chains = follow(kinematic, 4, q=q, direction=0, w=w, rates=(0.05,) * 4)
        ends = chains.q[:, -1, :, 0].copy()
        is_inside = ((ends >= model.q_min) & (ends <= model.q_max)).all(axis=1)
        assert chains.is_valid[:, 0].tolist() == is_inside.tolist()
        if not is_inside.all():
            break
        q = ends[-1]
    assert not is_inside.all()
    np.testing.assert_allclose(model.pose(ends[-1]).p[:2], [1.2, -0.7], atol=1e-5)  # the task is held there


def test_chains_end_where_the_task_is_too_fast(kinematic: Edges):
    assert follow(kinematic, 1, rates=(0.15,)).is_valid.all()
    assert not follow(kinematic, 1, rates=(1.0,)).is_valid.any()


def test_chains_end_where_torque_is_not_enough(dynamic: Edges, kinematic: Edges, problem: TaskConstrainedProblem):
    q_r = follow(kinematic, 1).q_r[0, 0, :, 0].copy()
    gentle = follow(dynamic, 2, q_r=q_r, rates=(0.05, 0.07))
    assert gentle.is_valid.all()
    np.testing.assert_allclose(gentle.thrust[:, 0], [0.05**2 * N / 2, (0.07**2 - 0.05**2) * N / 2])
    weak = Edges(replace(problem, tau_max=0.003 * TAU_MAX), TaskParameters(lanes=8))
    assert not follow(weak, 1, q_r=q_r, rates=(0.05,)).is_valid.any()


@pytest.mark.parametrize("share", [1.01, 0.99])
@pytest.mark.parametrize(
    ("tau_max", "is_enough"), [(None, True), (TAU_MAX, True), (0.003 * TAU_MAX, False)], ids=["free", "strong", "weak"]
)
def test_chains_end_where_a_joint_accelerates_too_much(
    share: float, tau_max: Array | None, is_enough: bool, kinematic: Edges, problem: TaskConstrainedProblem
):
    """Of accelerations by differences of speeds, at most 0.97 of a limit are used."""
    q_r, large = follow(kinematic, 1).q_r[0, 0, :, 0].copy(), np.full(4, 9.0)
    unlimited = Edges(replace(problem, a_max=large), TaskParameters(lanes=8))
    chains = follow(unlimited, 1, q_r=q_r, rates=(0.05,))
    v = chains.rates[0, :, :1] * chains.q_r[0, :, :, 0]
    a = np.abs(chains.rates[0, :, :1] ** 2 * chains.q_rr[0, :, :, 0] + chains.thrust[0, 0] * chains.q_r[0, :, :, 0])
    measured = np.abs(np.diff(v, axis=0)) / np.diff(chains.t[0, :, 0])[:, None]
    np.testing.assert_allclose(measured, 0.5 * (a[:-1] + a[1:]), rtol=0.1, atol=2e-3)
    j = int(a.max(axis=0).argmax())
    limits = np.where(np.arange(4) == j, share * a[:, j].max() / 0.97, large)
    edges = Edges(replace(problem, a_max=limits, tau_max=tau_max), TaskParameters(lanes=8))
    assert follow(edges, 1, q_r=q_r, rates=(0.05,)).is_valid.all() == (is_enough and share > 1.0)


def bump(height: float, joint: int = 0, T: float = 2.0) -> JointTrajectory:
    """From START there and back within one piece, after a piece at rest; the chord of both is START."""
    half = np.zeros(4)
    half[joint] = height
    c = np.zeros((2, 6, 4))
    c[:, 0] = START
    c[1, 2] = 16.0 * half / T**2
    c[1, 3] = -32.0 * half / T**3
    c[1, 4] = 16.0 * half / T**4
    return JointTrajectory(np.array([0.0, 1.0, 1.0 + T]), c)


def test_limits_are_checked_within_pieces(problem: TaskConstrainedProblem):
    assert keeps_limits(problem, bump(0.2)).tolist() == [True, True]
    assert keeps_limits(problem, bump(0.6)).tolist() == [True, False]  # too fast
    unlimited = replace(problem, v_max=np.full(4, 100.0))
    assert keeps_limits(unlimited, bump(0.6)).tolist() == [True, True]
    assert keeps_limits(unlimited, bump(6.0)).tolist() == [True, False]  # beyond its range
    weak = replace(unlimited, tau_max=TAU_MAX)
    assert keeps_limits(weak, bump(0.2)).tolist() == [True, True]
    assert keeps_limits(weak, bump(0.2, T=0.3)).tolist() == [True, False]  # too much torque
    slow = replace(unlimited, a_max=np.array([1.7, 9.0, 9.0, 9.0]))
    assert keeps_limits(slow, bump(0.2)).tolist() == [True, True]
    assert keeps_limits(slow, bump(0.22)).tolist() == [True, False]  # 32 times its height by T^2


def test_curves_are_proved_free_not_chords(problem: TaskConstrainedProblem):
    validity, motion = problem.validity, bump(0.4)
    aside = problem.model.pose(START + [0.35, 0.0, 0.0, 0.0]).p
    validity.place([Obstacle(Sphere(0.05), Pose.at(aside))])
    assert is_free(validity, motion).tolist() == [True, False]
    assert is_free(validity, bump(0.1)).tolist() == [True, True]
    assert first_unproved(replace(problem, v_max=np.full(4, 9.0)), motion) == 1
    assert first_unproved(problem, bump(0.1)) is None
    assert first_unproved(problem, bump(0.6)) == 1
