"""The UR5's mass matrix by SymPy's matrices, and by a tape and machine code: how long it takes to get there.

    M = sum_i m_i J_i^T J_i + W_i^T R_i I_i R_i^T W_i

with the Jacobian J_i of link i's centre of mass, W_i of its rotation, and its inertia I_i about that centre.
"""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from measure import Contender, agree, take_turns

from arm_control import RobotModel, urdf_path
from arm_control.compiler import llvm_compiler as llvm
from arm_control.compiler import scalar_code
from arm_control.model import Tree, describe, quantity_law, reference


def mass_matrix_study(n: int, limit: float) -> dict[str, Any]:
    """Seconds to a function of the first n joints' mass matrix; ``simplify`` is stopped after ``limit`` [s]."""
    tree = _first_joints(n)
    found: dict[str, Any] = {"mass_matrix.joints": n}
    begin = time.perf_counter()
    q, M = symbolic_mass_matrix(tree)
    found["mass_matrix.sympy_build_s"] = time.perf_counter() - begin
    found["mass_matrix.sympy_operations"] = int(sum(sp.count_ops(entry) for entry in M))
    begin = time.perf_counter()
    function = sp.lambdify(q, M, "numpy")
    found["mass_matrix.sympy_lambdify_s"] = time.perf_counter() - begin
    begin = time.perf_counter()
    shared = sp.lambdify(q, M, "numpy", cse=True)
    found["mass_matrix.sympy_lambdify_cse_s"] = time.perf_counter() - begin
    begin = time.perf_counter()
    program = quantity_law(tree, ["M"]).program()
    found["mass_matrix.trace_s"] = time.perf_counter() - begin
    found["mass_matrix.operations"] = program.n_operations
    begin = time.perf_counter()
    llvm.Library(llvm.compile_code(scalar_code(program, "M")))
    found["mass_matrix.compile_s"] = time.perf_counter() - begin
    found |= _evaluation(tree, {"sympy": function, "sympy_cse": shared})
    found["mass_matrix.simplify_limit_s"] = limit
    found["mass_matrix.simplify_s"] = _simplify_time(M, limit)
    for key, value in found.items():
        print(f"{key:36} {value if value is None or isinstance(value, int) else f'{value:.4g}'}", flush=True)
    return found


def _first_joints(n: int) -> Tree:
    """The UR5's tree, cut after n bodies: what hangs behind is left out."""
    tree = describe(urdf_path("ur5")).tree
    tip = replace(tree.tip, body=n - 1) if n < tree.n else tree.tip
    return replace(tree, bodies=tree.bodies[:n], joint_names=tree.joint_names[:n], tip=tip, armature=tree.armature[:n])


def symbolic_mass_matrix(tree: Tree) -> tuple[list[Any], Any]:
    """Joint positions as symbols, and M by chained transforms, derivatives and sums, nothing simplified."""
    q = list(sp.symbols([f"q{i}" for i in range(tree.n)]))
    M, X, axes = sp.zeros(tree.n), sp.eye(4), []
    for i, body in enumerate(tree.bodies):  # a chain of revolute joints: each hangs on the one before it
        X = X * _transform(body.X_PJ.R, body.X_PJ.p) * _turn(q[i])
        R, c = X[:3, :3], body.inertia.h / body.inertia.m
        axes.append(R[:, 2])
        J = (X * sp.Matrix([*map(float, c), 1]))[:3, :].jacobian(q)
        W = sp.Matrix.hstack(*axes, *[sp.zeros(3, 1)] * (tree.n - i - 1))
        about_c = body.inertia.J - body.inertia.m * (c @ c * np.eye(3) - np.outer(c, c))
        M += body.inertia.m * J.T * J + W.T * R * sp.Matrix(about_c.tolist()) * R.T * W
    return q, M


def _transform(R: Any, p: Any) -> Any:
    rows = [[*row, x] for row, x in zip(R.tolist(), p.tolist(), strict=True)]
    return sp.Matrix([[int(x) if x.is_integer() else x for x in row] for row in rows] + [[0, 0, 0, 1]])


def _turn(q: Any) -> Any:
    s, c = sp.sin(q), sp.cos(q)
    return sp.Matrix([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def _evaluation(tree: Tree, functions: dict[str, Any]) -> dict[str, float]:
    """Microseconds of a call, after a look whether all compute the same."""
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (20, tree.n)).tolist()
    expected = reference(tree, ["M"], {"q": states[0]})["M"] - np.diag(tree.armature)
    for name, function in functions.items():
        agree(f"the mass matrix of {name} and of the recursions", function(*states[0]), expected)
    contenders = {f"{name}_call_us": Contender(function, states) for name, function in functions.items()}
    model = RobotModel.from_urdf(urdf_path("ur5"))
    contenders["call_us"] = Contender(model.mass_matrix, [(np.array((q * 3)[:6]),) for q in states * 10])
    return {f"mass_matrix.{key}": times.median for key, times in take_turns(contenders, 10).items()}


def _simplify_time(M: Any, limit: float) -> float | None:
    """Seconds of ``simplify``, entry by entry in a process of its own; None when it was stopped."""
    begin = time.perf_counter()
    process = multiprocessing.get_context("fork").Process(target=partial(M.applyfunc, sp.simplify))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    return time.perf_counter() - begin
