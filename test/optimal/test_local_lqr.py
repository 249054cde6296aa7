"""Local LQR: against iterative LQR at rest, a dense quadratic problem in motion, and the figures of the page."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import reach_pictures
from linear_quadratic import finite_horizon
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal import (
    ArmDynamics,
    ControlError,
    Costs,
    Ilqr,
    LocalLqr,
    PositionError,
    ReachPlanner,
    RecedingParameters,
    StateError,
    Term,
)

ROOT = Path(__file__).parents[2]
HOME = np.array([0.0, -1.2, 1.2, -1.0, -1.57, 0.0])
N = 30


def problem(model: RobotModel) -> tuple[ArmDynamics, Costs]:
    n, dt = model.nv, 0.02
    costs = Costs(
        Term(PositionError(model.pose(HOME).p + [-0.2, 0.2, 0.1]), running=dt, terminal=100.0),
        Term(StateError(np.zeros(2 * n)), running=dt, terminal=1.0, scale=[0.0] * n + [0.1] * n),
        Term(ControlError(model.gravity(HOME)), running=1e-4 * dt),
    )
    return ArmDynamics(model, dt), costs


def test_at_rest_it_is_the_first_iteration_of_iterative_lqr(ur5: RobotModel):
    """There the arm stays, so that every knot of the first plan is the first state."""
    dynamics, costs = problem(ur5)
    x0, u0 = np.append(HOME, np.zeros(6)), ur5.gravity(HOME)
    k, K = LocalLqr(dynamics, costs, N).gains(x0, u0)
    passes = Ilqr(dynamics, costs, N).passes
    passes.start(x0, np.tile(u0, (N, 1)), None)
    passes.expand()
    passes.backward(0.0)
    np.testing.assert_allclose(passes.xs[-1], x0, rtol=0, atol=1e-12)
    for ours, theirs in ((k, passes.k), (K, passes.K)):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())


def test_the_feedback_is_that_of_the_riccati_recursion(ur5: RobotModel):
    dynamics, costs = problem(ur5)
    x0, u0 = np.append(HOME, 0.5 * np.ones(6)), ur5.gravity(HOME)
    (A,), (B,) = dynamics.derivatives(x0[None], u0[None])
    knots = np.tile(x0, (N + 1, 1)), np.vstack([np.tile(u0, (N, 1)), np.zeros(6)])
    cost = costs.expansions(*knots, costs.weights(N), dynamics.arm)
    expected, _ = finite_horizon(A, B, cost.l_xx[0], cost.l_uu[0], cost.l_xx[N], N)
    _, K = LocalLqr(dynamics, costs, N).gains(x0, u0)
    np.testing.assert_allclose(K, -expected, rtol=0, atol=1e-9 * np.abs(expected).max())


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
    dynamics: ArmDynamics, costs: Costs, x0: Array, u0: Array, A: Array, B: Array, c: Array, n: int
) -> Array:
    """Changes of all controls that minimise the quadratic cost, in a row."""
    weights = costs.weights(N)[N - n :]
    knots = np.tile(x0, (n + 1, 1)), np.vstack([np.tile(u0, (n, 1)), np.zeros(6)])
    cost = costs.expansions(*knots, weights, dynamics.arm)
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
    lqr = LocalLqr(ArmDynamics(model, 0.02), Costs(Term(PositionError([0.3, 0.3, 0.0]), terminal=1.0)), 3)
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
def example() -> Iterator[ModuleType]:
    specification = importlib.util.spec_from_file_location("lqr_reaches", ROOT / "examples" / "lqr_reaches.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["lqr_reaches"] = module
    specification.loader.exec_module(module)
    yield module
    del sys.modules["lqr_reaches"], sys.modules["ilqr_reaches"]


def test_the_page_has_the_figures_of_one_reach(example: ModuleType):
    page = (ROOT / "docs" / "ilqr.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (i?LQR[^|]*) \| ([\d.]+) \|", page, flags=re.MULTILINE))
    found = {name: example.cost_of(x) for name, x in example.one_reach().items()}
    assert rows.keys() == found.keys()
    for name, cost in found.items():
        assert float(rows[name]) == pytest.approx(cost, rel=6e-3), name
    costs = list(found.values())
    assert costs == sorted(costs)


def test_on_three_links_it_costs_tens_of_times_as_much(example: ModuleType):
    q, model = example.START_3, example.planar3()
    both = example.pair(model, q, model.pose(q).p + [example.RADIUS_3, 0.0, 0.0], w_u=example.TORQUE_3)
    assert example.cost_of(both["LQR"]) > 10.0 * example.cost_of(both["iLQR"])
    found = example.star_figures([both])
    assert found["median_cost_ratio"] == pytest.approx(27.0, rel=0.01)
    assert found["largest_end_error_lqr"] > 10.0 * found["largest_end_error_ilqr"]


def test_both_are_drawn(example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda *_: None)  # most of the time; nobody looks here
    one = example.one_reach()
    pairs = [{"iLQR": one["iLQR"], "LQR": one["LQR, anew in every step"]}]
    reach_pictures.draw_lqr(tmp_path / "lqr.png", one, pairs, {"two links": {1.0: [1.1], 2.0: [4.0]}})
    with Image.open(tmp_path / "lqr.png") as picture:
        assert picture.width > 2000
