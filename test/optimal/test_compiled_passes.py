"""The compiled passes of an arm: the same as NumPy's, with every kind of cost, limits, tools and regularisation."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from any_system import ArmSystem, NumpyPasses
from problems import UR5_HOME, everything, planar

from arm_control import Pose
from arm_control.model import Tool
from arm_control.optimal import ArmDynamics, Costs, Ilqr, IlqrParameters, Term, control_error, position_error
from arm_control.optimal import compiled_passes as passes_module
from arm_control.optimal import riccati as riccati_module
from arm_control.optimal.compiled_passes import CompiledPasses

N = 21
X0 = np.concatenate([UR5_HOME, np.full(6, 0.1)])


def both(model, costs, n=N, limit=None, **parameters):
    """The same problem solved compiled and in NumPy, from the same start."""
    dynamics, p = ArmSystem(model, 0.02), IlqrParameters(max_iterations=8, **parameters)
    compiled = Ilqr(dynamics, costs, n, *(() if limit is None else (-limit, limit)), parameters=p)
    plain = Ilqr(dynamics, costs, n, *(() if limit is None else (-limit, limit)), parameters=p)
    plain.passes = NumpyPasses(dynamics, costs, n, plain.u_min, plain.u_max)
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


@pytest.mark.parametrize("is_limited", [False, True])
def test_they_do_what_numpy_does(is_limited, ur5):
    limit = np.array([30.0, 60.0, 25.0, 5.0, 2.0, 0.3]) if is_limited else None
    costs = everything(ur5, "wrist_1_link")
    (a, b), solver = both(ur5, costs, limit=limit, lambda_start=0.1)
    assert solver.passes.is_compiled
    assert a.costs[-1] < 0.6 * a.costs[0]
    equal(a, b)
    if is_limited:
        assert (np.abs(a.us) <= limit).all()
    assert is_limited == bool(a.held.any())


def test_a_tool_is_known():
    model = planar(2)
    costs = Costs(Term(control_error(np.zeros(2)), running=1e-4), Term(position_error([0.6, 0.2, 0.0]), terminal=10.0))
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


def test_where_nothing_compiles_the_text_runs(load_robot):
    model = load_robot("double_pendulum", backend="python")
    costs = Costs(Term(control_error(np.zeros(2)), running=0.01), Term(position_error([0.1, 0.0, 0.1]), terminal=5.0))
    (a, b), solver = both(model, costs, n=4)
    assert not solver.passes.is_compiled
    equal(a, b)


def test_what_is_compiled_is_kept(tmp_path, caplog):
    from arm_control import RobotModel, urdf_path
    from arm_control.compiler import llvm_compiler
    from arm_control.core import Cache

    costs = Costs(Term(control_error(np.zeros(2)), running=0.01))
    for is_first in (True, False):
        model = RobotModel.from_urdf(urdf_path("planar2"), cache=Cache(tmp_path))
        with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
            if not is_first:
                patch.setattr(llvm_compiler, "compile_code", None)
            assert Ilqr(ArmDynamics(model, 0.02), costs, 5).passes.is_compiled
    assert not caplog.records
