"""Formulas: they are the numbers, they stay small, they can be printed, differentiated and kept."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sympy

from arm_control import RobotModel, urdf_path
from arm_control.core import Cache
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.maths import Array
from arm_control.model import State, reference
from arm_control.model.quantities import INPUTS
from arm_control.model.symbolic import Formula, Symbolic


def load(name: str, cache: Cache | None = None) -> RobotModel:
    return RobotModel.from_urdf(urdf_path(name), cache=Cache(None) if cache is None else cache)


@pytest.fixture(scope="module")
def ur5_formulas() -> Symbolic:
    return load("ur5").symbolic()


def numbers(model: RobotModel, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    values = {name: rng.uniform(-2.0, 2.0, model.nv) for name in ("q", "v", "a", "tau")}
    return values | {"F_E": rng.uniform(-2.0, 2.0, 6), "point": rng.uniform(-0.5, 0.5, 3)}


def arguments(quantity: str, values: dict[str, Array]) -> list[Array]:
    return [values[name] for name in INPUTS[quantity] if name != "tool"]


@pytest.mark.parametrize("quantity", sorted(INPUTS.keys() - {"J_point"}))
def test_a_formula_is_what_the_float_run_computes(quantity: str):
    model = load("ur4")
    values = numbers(model)
    expected = reference(model.tree, [quantity], values)[quantity]
    found = model.symbolic().formula(quantity).lambdify()(*arguments(quantity, values))
    np.testing.assert_allclose(np.reshape(found, expected.shape), expected, rtol=1e-12, atol=1e-12)


def test_the_recursions_run_on_symbols_directly_and_give_the_textbook_formula():
    """Two uniform rods: K1 + 2 K2' c2, K3 + K2' c2 (planar arm of the studywolf blog)."""
    model = load("planar2")
    q = sympy.symbols("q1 q2", real=True)
    M = sympy.Matrix(State(model.tree, {"q": np.array(q, dtype=object)}).M)
    l1, l2, m1, m2 = 0.31, 0.27, 1.98, 1.32
    K1 = (m1 / 3 + m2) * l1**2 + m2 * l2**2 / 3
    K2, K3 = m2 * l1 * l2, m2 * l2**2 / 3
    c2 = sympy.cos(q[1])
    expected = sympy.Matrix([[K1 + K2 * c2, K3 + K2 / 2 * c2], [K3 + K2 / 2 * c2, K3]])
    difference = sympy.expand(M - expected)
    assert max(abs(term) for entry in difference for term in entry.as_coefficients_dict().values()) < 1e-12
    assert (load("planar2").symbolic().formula("M").expanded() - expected).free_symbols <= set(q)


@pytest.mark.parametrize("quantity", ["M", "h", "a_q"])
def test_intermediates_are_shared_so_that_nothing_swells(ur5_formulas: Symbolic, quantity: str):
    formula = ur5_formulas.formula(quantity)
    largest = max(sympy.count_ops(expression) for _, expression in formula.shared)
    assert largest <= 120
    used = {s for _, e in formula.shared for s in e.free_symbols} | formula.matrix.free_symbols
    assert {symbol for symbol, _ in formula.shared} <= used
    known: set[object] = {symbol for group in formula.arguments for symbol in group}
    for symbol, expression in formula.shared:
        assert expression.free_symbols <= known, "a definition uses only what comes before it"
        known.add(symbol)


def test_derivative_agrees_with_differences(ur5_formulas: Symbolic):
    step, values = 1e-4, numbers(load("ur5"))
    for quantity in ("M", "h"):
        formula = ur5_formulas.formula(quantity)
        slope = formula.diff(ur5_formulas.q[4]).lambdify()
        function, unit = formula.lambdify(), np.eye(6)[4] * step
        q, *rest = arguments(quantity, values)
        expected = (np.array(function(q + unit, *rest)) - function(q - unit, *rest)) / (2 * step)
        np.testing.assert_allclose(slope(q, *rest), expected, rtol=0, atol=30 * step**2 + 1e-9)


def test_jacobian_of_a_point_is_a_function_of_q_and_x(ur5_formulas: Symbolic):
    model = load("ur5")
    values = numbers(model)
    for frame in ("base_link", "forearm_link", "tool0"):
        found = ur5_formulas.jacobian(frame).lambdify()(values["q"], values["point"])
        np.testing.assert_allclose(found, model.jacobian(values["q"], frame, values["point"]), rtol=0, atol=1e-12)
    assert ur5_formulas.jacobian("shoulder_link").expanded().free_symbols == {ur5_formulas.q[0], *ur5_formulas.x[:2]}


def test_transforms(ur5_formulas: Symbolic):
    model = load("ur5")
    q = numbers(model)["q"]
    for frame, base in (("tool0", None), ("forearm_link", "shoulder_link"), ("shoulder_link", "tool0")):
        X = ur5_formulas.transform(frame, base).lambdify()(q)
        X_WA = model.pose(q, base or model.base)
        expected = X_WA.inverse() @ model.pose(q, frame)
        np.testing.assert_allclose(X[:3, :3], expected.R, rtol=0, atol=1e-12)
        np.testing.assert_allclose(X[:3, 3], expected.p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("quantity", ["M", "tau", "a"])
def test_printed_python_runs_on_its_own(quantity: str):
    model = load("ur4")
    values = numbers(model)
    names: dict[str, object] = {}
    exec(model.symbolic().formula(quantity).python("f"), names)
    expected = reference(model.tree, [quantity], values)[quantity]
    found = names["f"](*arguments(quantity, values))
    np.testing.assert_allclose(np.reshape(found, expected.shape), expected, rtol=1e-12, atol=1e-12)


def test_printed_latex_defines_what_it_uses():
    text = load("planar2").symbolic().formula("M").latex()
    assert text.splitlines()[0] == r"t_{1} &= 0.055242 \cos{\left(q_{2} \right)} \\"
    assert text.splitlines()[-1].startswith(r"&\left[\begin{matrix}")


def test_a_formula_is_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache = Cache(tmp_path / "cache")
    first = load("planar3", cache).symbolic().formula("M")
    assert [entry.title for entry in cache.entries()] == ["planar3: M (formula)"]
    monkeypatch.setattr(Symbolic, "_make", None)  # nothing is made again
    again = load("planar3", cache).symbolic().formula("M")
    assert again == first
    assert isinstance(again, Formula)


def test_unknown_names_are_refused(ur5_formulas: Symbolic):
    with pytest.raises(InputError, match="there is no formula 'mass'; allowed: C, "):
        ur5_formulas.formula("mass")
    with pytest.raises(InputError, match="no formula 'J_point'"):
        ur5_formulas.formula("J_point")
    for ask in (ur5_formulas.transform, ur5_formulas.jacobian):
        with pytest.raises(FrameNotFound, match="hand"):
            ask("hand")


def test_the_c_source_computes_it(tmp_path: Path):
    """With shared definitions and without, of one argument and of two; no variable in it is unused."""
    model = load("planar3")
    values, M, h = numbers(model), *map(model.symbolic().formula, ("M", "h"))
    for quantity, formula in (("M", M), ("M", M.simplified()), ("h", h)):
        source, library = tmp_path / "formula.c", tmp_path / f"{quantity}{len(formula.shared)}.so"
        source.write_text(formula.c("evaluate"))
        options = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-shared", "-fPIC")
        subprocess.run(["cc", *options, source, "-o", library, "-lm"], check=True)
        out = np.full(formula.matrix.shape, np.nan)
        given = [np.ascontiguousarray(x) for x in arguments(quantity, values)]
        ctypes.CDLL(str(library)).evaluate(*(ctypes.c_void_p(x.ctypes.data) for x in (*given, out)))
        expected = reference(model.tree, [quantity], values)[quantity]
        np.testing.assert_allclose(out.reshape(expected.shape), expected, rtol=1e-12, atol=1e-12)


def test_a_simplified_formula_has_no_shared_definitions_and_is_the_textbook_s():
    J = load("planar2").symbolic().formula("J").simplified()
    q1, q2 = J.arguments[0]
    assert J.shared == ()
    assert J.matrix[0, 1] == -0.27 * sympy.sin(q1 + q2)
    assert J.matrix[1, 0] == 0.31 * sympy.cos(q1) + 0.27 * sympy.cos(q1 + q2)
