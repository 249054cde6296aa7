"""The compiled passes of an arm: the same as NumPy's, with every kind of cost, limits, tools and regularisation."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from problems import UR5_HOME, everything, planar, reach
from runge_kutta_arm import RungeKuttaArm

from arm_control import Pose
from arm_control.model import Tool
from arm_control.optimal import (
    ArmDynamics,
    ControlError,
    Costs,
    Ilqr,
    IlqrParameters,
    NumpyPasses,
    PositionError,
    Term,
)
from arm_control.optimal import compiled_passes as passes_module
from arm_control.optimal import riccati as riccati_module
from arm_control.optimal.compiled_passes import CompiledPasses

N = 21
X0 = np.concatenate([UR5_HOME, np.full(6, 0.1)])


def both(model, costs, n=N, limit=None, **parameters):
    """The same problem solved compiled and in NumPy, from the same start."""
    dynamics, p = ArmDynamics(model, 0.02), IlqrParameters(max_iterations=8, **parameters)
    compiled = Ilqr(dynamics, costs, n, *(() if limit is None else (-limit, limit)), parameters=p)
    plain = Ilqr(dynamics, costs, n, *(() if limit is None else (-limit, limit)), parameters=p)
    clamps, by_state = p.limiting == "clamp", p.regularization == "state"
    plain.passes = NumpyPasses(dynamics, costs, n, plain.u_min, plain.u_max, clamps, by_state)
    assert isinstance(compiled.passes, CompiledPasses)
    us = np.tile(model.gravity(X0[: model.nv]), (n, 1))
    return [solver.solve(X0[: 2 * model.nv], us) for solver in (compiled, plain)], compiled


def equal(a, b, tolerance=1e-8):
    for name in ("xs", "us", "k", "K", "held"):
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max()), err_msg=name)
    np.testing.assert_allclose(a.costs, b.costs, rtol=1e-9)
    assert a.alphas == b.alphas
    assert a.lambdas == b.lambdas


@pytest.mark.parametrize(("limiting", "regularization"), [(None, "control"), ("box", "state"), ("clamp", "control")])
def test_they_do_what_numpy_does(limiting, regularization, ur5):
    limit = None if limiting is None else np.array([30.0, 60.0, 25.0, 5.0, 2.0, 0.3])
    more = {"limiting": limiting} if limiting else {}
    costs = everything(ur5, "wrist_1_link")
    (a, b), solver = both(ur5, costs, limit=limit, lambda_start=0.1, regularization=regularization, **more)
    assert solver.passes.is_compiled
    assert a.costs[-1] < 0.6 * a.costs[0]
    equal(a, b)
    if limiting:
        assert (np.abs(a.us) <= limit).all()
    assert (limiting == "box") == bool(a.held.any())


def test_a_tool_is_known():
    model = planar(2)
    costs = Costs(Term(ControlError(np.zeros(2)), running=1e-4), Term(PositionError([0.6, 0.2, 0.0]), terminal=10.0))
    (without, _), _ = both(model, costs)
    model.attach(Tool(mass=2.0, centre=(0.1, 0.0, 0.0), X_ET=Pose(np.eye(3), np.array([0.2, 0.0, 0.0]))))
    (a, b), _ = both(model, costs)
    equal(a, b)
    assert abs(a.cost - without.cost) > 1e-3


def test_boxes_that_compiled_code_leaves_are_solved_to_the_end(ur5, load_robot, monkeypatch):
    """One set only is tried in compiled code: nearly every knot at a limit is finished on floats."""
    limit = np.array([30.0, 60.0, 25.0, 5.0, 2.0, 0.3])
    solved = []
    whole = CompiledPasses._solve_knot
    monkeypatch.setattr(CompiledPasses, "_solve_knot", lambda self, row: solved.append(row) or whole(self, row))
    monkeypatch.setattr(riccati_module, "PASSES", 1)
    monkeypatch.setattr(passes_module, "TRIES", 1)
    monkeypatch.setattr("arm_control.model.arm.source_digest", lambda: "one pass")
    (found, expected), _ = both(load_robot("ur5"), everything(ur5, "wrist_1_link"), limit=limit)
    assert len(solved) > 10
    equal(found, expected)


@pytest.mark.parametrize("backend", ["python", "pinocchio"])
def test_where_nothing_compiles_the_text_runs(backend, load_robot):
    model = load_robot("double_pendulum", backend=backend)
    costs = Costs(Term(ControlError(np.zeros(2)), running=0.01), Term(PositionError([0.1, 0.0, 0.1]), terminal=5.0))
    (a, b), solver = both(model, costs, n=4)
    assert not solver.passes.is_compiled
    equal(a, b)


def test_what_is_compiled_is_kept(tmp_path, caplog):
    from arm_control import RobotModel, urdf_path
    from arm_control.compiler import llvm_compiler
    from arm_control.core import Cache

    costs = Costs(Term(ControlError(np.zeros(2)), running=0.01))
    for is_first in (True, False):
        model = RobotModel.from_urdf(urdf_path("planar2"), cache=Cache(tmp_path))
        with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
            if not is_first:
                patch.setattr(llvm_compiler, "compile_code", None)
            assert Ilqr(ArmDynamics(model, 0.02), costs, 5).passes.is_compiled
    assert not caplog.records


def test_targets_and_weights_are_not_compiled():
    names, model = [], planar(2)
    for target in ([0.4, 0.2, 0.3], [0.1, 0.5, 0.2]):
        costs = Costs(Term(PositionError(target), terminal=target[0]), Term(ControlError(np.zeros(2)), running=0.1))
        solver = Ilqr(ArmDynamics(model, 0.02), costs, 5)
        names.append([loop.key for loop in solver.passes._loops.values()])
    assert names[0] == names[1]


def test_a_warm_start_from_another_state(ur5):
    costs = everything(ur5, "wrist_1_link")
    solver = Ilqr(ArmDynamics(ur5, 0.02), costs, N)
    first = solver.solve(X0, np.tile(ur5.gravity(UR5_HOME), (N, 1)))
    moved = X0 + 0.01
    warm = solver.solve(moved, first.us, (first.xs, first.K))
    np.testing.assert_array_equal(warm.xs[0], moved)
    assert warm.costs[0] < solver.solve(moved, first.us).costs[0]
    x = moved
    for u, after in zip(warm.us, warm.xs[1:], strict=True):
        x = solver.dynamics.step(x[None], u[None])[0]
        np.testing.assert_allclose(x, after, atol=1e-9)
    again = solver.solve(X0, np.tile(ur5.gravity(UR5_HOME), (N, 1)))
    np.testing.assert_array_equal(again.us, first.us)


def test_a_user_cost_and_an_integrator_of_fourth_order(ur5):
    from arm_control.optimal import UserCosts

    dynamics = RungeKuttaArm(ur5, 0.05)
    terms = Costs(Term(PositionError(ur5.pose(UR5_HOME).p + [0.1, 0.1, 0.0]), terminal=1000.0))
    costs = UserCosts(lambda xs, us, knots: 1e-4 * (us * us).sum(-1) + 1e-3 * (xs[:, 6:] ** 2).sum(-1), terms)
    solver = Ilqr(dynamics, costs, 10)
    assert isinstance(solver.passes, NumpyPasses)
    result = solver.solve(np.concatenate([UR5_HOME, np.zeros(6)]), np.tile(ur5.gravity(UR5_HOME), (10, 1)))
    assert result.converged
    assert np.linalg.norm(ur5.pose(result.xs[-1, :6]).p - terms.numbers[3:6]) < 0.03


START = np.array([0.75613, 1.8553])
TARGET = np.array([-0.2, 0.4, 0.0])


def planar_reach(n, joints=2, w_p=0.0, target=TARGET, q0=START):
    model = planar(joints)
    dynamics, costs, x0 = reach(model, n, q0, target, w_p)
    result = Ilqr(dynamics, costs, n).solve(x0, np.zeros((n, joints)))
    assert result.converged, result.reason
    return result, np.array([model.pose(x[:joints]).p for x in result.xs])


def bend(path, target=TARGET):
    """Largest distance of a path from the straight line to its target."""
    way = (target - path[0]) / np.linalg.norm(target - path[0])
    offset = path - path[0]
    return np.linalg.norm(offset - np.outer(offset @ way, way), axis=1).max()


def test_half_the_time_takes_four_times_the_control_and_a_tenth_is_not_enough():
    found = {n: planar_reach(n) for n in (100, 50, 10)}
    miss = {n: np.linalg.norm(path[-1] - TARGET) for n, (_, path) in found.items()}
    effort = {n: np.abs(result.us).max() for n, (result, _) in found.items()}
    assert miss[100] < 1e-3
    assert miss[50] < 1e-3
    assert miss[10] > 0.03
    assert effort[50] / effort[100] == pytest.approx(4.0, rel=0.05)
    result, path = found[10]
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert speed[-1] < 0.5 * speed.max()  # it slows down where it is
    assert np.abs(result.xs[-1, 2:]).max() < 0.01


def test_position_in_the_running_cost_straightens_the_path():
    bends = [bend(planar_reach(100, w_p=w)[1]) for w in (0.0, 10.0, 100.0)]
    assert bends[0] > 0.05
    assert bends[1] < 0.6 * bends[0]
    assert bends[2] < 0.3 * bends[0]
