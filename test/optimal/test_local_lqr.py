"""Local LQR: against iterative LQR at rest, a dense quadratic problem in motion, and the figures of the page."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from any_system import ArmSystem, UserCosts
from file_modules import module_of

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal import (
    ArmDynamics,
    Costs,
    LocalLqr,
    ReachPlanner,
    RecedingParameters,
    Term,
    control_error,
    position_error,
    state_error,
)

ROOT = Path(__file__).parents[2]
HOME = np.array([0.0, -1.2, 1.2, -1.0, -1.57, 0.0])
N = 30


def problem(model: RobotModel) -> tuple[ArmSystem, Costs]:
    n, dt = model.nv, 0.02
    costs = Costs(
        Term(position_error(model.pose(HOME).p + [-0.2, 0.2, 0.1]), running=dt, terminal=100.0),
        Term(state_error(np.zeros(2 * n)), running=dt, terminal=1.0, scale=[0.0] * n + [0.1] * n),
        Term(control_error(model.gravity(HOME)), running=1e-4 * dt),
    )
    return ArmSystem(model, dt), costs


@pytest.mark.parametrize("left", [N, 7])
def test_in_motion_it_minimises_the_linear_quadratic_problem(ur5: RobotModel, left: int):
    """Against all controls at once, from one system of equations: drift, and linear terms of the cost, are in it."""
    dynamics, costs = problem(ur5)
    x0, u0 = np.append(HOME + 0.2, np.linspace(-1.0, 1.0, 6)), ur5.gravity(HOME)
    k, K = LocalLqr(dynamics, costs, N).gains(x0, u0, left)
    (A,), (B,), c = *dynamics.derivatives(x0[None], u0[None]), dynamics.step(x0[None], u0[None])[0] - x0
    dx, du = np.zeros(12), []
    for k_i, K_i in zip(k, K, strict=True):
        du.append(k_i + K_i @ dx)
        dx = c + A @ dx + B @ du[-1]
    np.testing.assert_allclose(np.ravel(du), dense_controls(dynamics, costs, x0, u0, A, B, c, left), atol=1e-6)


def dense_controls(
    dynamics: ArmSystem, costs: Costs, x0: Array, u0: Array, A: Array, B: Array, c: Array, n: int
) -> Array:
    """Changes of all controls that minimise the quadratic cost, in a row."""
    weights = costs.weights(N)[N - n :]
    knots = np.tile(x0, (n + 1, 1)), np.vstack([np.tile(u0, (n, 1)), np.zeros(6)])
    cost = UserCosts(others=costs).expansions(*knots, weights, dynamics.arm)
    S, s = np.zeros((12, 6 * n)), np.zeros(12)
    H, g = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
    for i in range(n + 1):
        H += S.T @ cost.l_xx[i] @ S
        g += S.T @ (cost.l_x[i] + cost.l_xx[i] @ s)
        if i < n:
            own = slice(6 * i, 6 * i + 6)
            H[own, own] += cost.l_uu[i]
            g[own] += cost.l_u[i]
            S, s = A @ S, c + A @ s
            S[:, own] += B
    return -np.linalg.solve(H, g)


def test_a_control_without_a_cost_is_refused():
    model = RobotModel.from_urdf(urdf_path("planar2"))
    lqr = LocalLqr(ArmDynamics(model, 0.02), Costs(Term(position_error([0.3, 0.3, 0.0]), terminal=1.0)), 3)
    with pytest.raises(InputError, match="each control needs a cost"):
        lqr.gains(np.zeros(4), np.zeros(2))


def test_a_reach_may_be_planned_by_it_within_the_limits():
    model = RobotModel.from_urdf(urdf_path("planar2"))
    parameters = {"orientation_weight": 0.0, "effort_share": 0.02}
    x0, goal = np.array([0.5, 1.0, 0.0, 0.0]), model.pose([0.8, 0.7])
    plans = {
        method: ReachPlanner(model, RecedingParameters(method=method, **parameters)).plan(0, x0, goal)
        for method in ("lqr", "ilqr")
    }
    assert (np.abs(plans["lqr"].us) <= 0.02 * model.tau_max + 1e-12).all()
    assert np.abs(plans["lqr"].us).max() == pytest.approx(0.02 * model.tau_max[0])
    assert plans["ilqr"].cost < plans["lqr"].cost
    states = plans["lqr"].xs
    for x, u, after in zip(states[:-1], plans["lqr"].us, states[1:], strict=True):
        np.testing.assert_allclose(ArmDynamics(model, 0.02).step(x[None], u[None])[0], after, rtol=0, atol=1e-9)


def test_a_motion_without_a_finite_cost_is_no_plan():
    model = RobotModel.from_urdf(urdf_path("planar2"))
    planner = ReachPlanner(model, RecedingParameters(method="lqr", orientation_weight=0.0))
    with pytest.raises(InputError, match="local LQR leads to no finite cost"):
        planner.plan(0, [0.5, 1.0, 100.0, 0.0], model.pose([0.8, 0.7]))


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return module_of(ROOT / "examples" / "lqr_reaches.py")


def test_the_page_has_the_figures_of_one_reach(example: ModuleType):
    page = (ROOT / "docs" / "ilqr.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (i?LQR[^|]*) \| ([\d.]+) \|", page, flags=re.MULTILINE))
    found = {name: example.cost_of(x) for name, x in example.one_reach().items()}
    assert rows.keys() == found.keys()
    for name, cost in found.items():
        assert float(rows[name]) == pytest.approx(cost, rel=6e-3), name
    costs = list(found.values())
    assert costs == sorted(costs)
