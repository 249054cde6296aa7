"""The tape: what it folds, what it shares, and that every way to run a program gives the same numbers."""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_runs import run

from arm_control.compiler import Library, Program, Tape, compile_code, python_function, scalar_code
from arm_control.maths import cos, sin

CONSTANTS = [0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 4.0]
BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "sin": sin, "cos": cos, "sqrt": lambda x: np.sqrt(x * x + 1.0)
}  # fmt: skip


@pytest.fixture
def tape() -> Tape:
    return Tape()


def test_products_with_zero_and_one_vanish(tape: Tape):
    (x,) = tape.inputs("x", 1)
    for zero in (x * 0.0, 0.0 * x, 0 * x, -0.0 * x, 0.0 / x):
        assert zero == 0.0
        assert isinstance(zero, float)
    for same in (x * 1.0, 1 * x, x + 0.0, 0 + x, x - 0.0, x / 1.0, np.float64(1.0) * x, operator.neg(-x)):
        assert same.index == x.index
    assert len(tape.lines) == 1 + 1  # the input, and its negation


def test_what_no_output_needs_is_dropped_and_counted_out(tape: Tape):
    x, y = tape.inputs("x", 2)
    unused = sin(x) * y
    program = tape.program({"y": x + 1.0})
    assert [line.name for line in program.lines] == ["input", "constant", "add"]
    assert program.n_operations == 1
    assert program.inputs == {"x": 2}
    assert unused.index < len(tape.lines)


def test_outputs_keep_their_shapes_and_inputs_their_order(tape: Tape):
    a, b = tape.inputs("a", 2), tape.inputs("b", 1)
    outputs = {"scalar": a[1], "number": 3, "matrix": np.array([[a[0], b[0]], [0.0, 1.0]]), "none": np.zeros((0, 3))}
    program = tape.program(outputs)
    assert program.inputs == {"a": 2, "b": 1}
    assert program.outputs == {"scalar": (), "number": (), "matrix": (2, 2), "none": (0, 3)}
    results = run(program, {"b": [5.0], "a": [1.0, 2.0]})
    assert results["scalar"] == 2.0
    assert results["number"] == 3.0
    np.testing.assert_array_equal(results["matrix"], [[1, 5], [0, 1]])
    assert results["none"].shape == (0, 3)


def test_division_by_a_constant_zero_is_refused(tape: Tape):
    with pytest.raises(ZeroDivisionError):
        tape.inputs("x", 1)[0] / 0.0


def trees() -> st.SearchStrategy[Any]:
    """Expressions of two inputs: ('+', a, b), ('sin', a), a number, or the name of an input."""
    leaves = st.sampled_from(["x", "y", *CONSTANTS])
    return st.recursive(
        leaves,
        lambda inner: (
            st.tuples(st.sampled_from(sorted(BINARY)), inner, inner) | st.tuples(st.sampled_from(sorted(UNARY)), inner)
        ),
        max_leaves=25,
    )


def value(expression: Any, x: Any, y: Any) -> Any:
    if isinstance(expression, tuple):
        operands = [value(operand, x, y) for operand in expression[1:]]
        if expression[0] == "/":  # a denominator that is never small
            operands[1] = operands[1] * operands[1] + 1.5
        return ({**BINARY, **UNARY}[expression[0]])(*operands)
    return {"x": x, "y": y}.get(expression, expression) if isinstance(expression, str) else expression


@given(st.lists(trees(), min_size=1, max_size=4), st.floats(-2, 2), st.floats(-2, 2))
def test_any_expression_has_the_value_that_floats_give(expressions: list[Any], x: float, y: float):
    tape = Tape()
    node_x, node_y = tape.inputs("in", 2)
    program = tape.program({"out": [value(e, node_x, node_y) for e in expressions]})
    expected = np.array([value(e, x, y) for e in expressions], dtype=float)
    scale = 1.0 + np.abs(expected)
    results = run(program, {"in": [x, y]})["out"]
    assert (np.abs(results - expected) <= 1e-9 * scale * (1 + np.abs(expected))).all()


def machine(program: Program) -> Callable[[list[float]], np.ndarray]:
    n = sum(program.inputs.values())
    work = np.full(n + len(program.results), np.nan)
    function = Library(compile_code(scalar_code(program, "f"))).function("f", ctypes.c_void_p)

    def call(values: list[float]) -> np.ndarray:
        work[:n], work[n:] = values, np.nan
        assert function(work.ctypes.data) == 0.0
        return work[n:]

    return call


def random_expression(rng: np.random.Generator, depth: int) -> Any:
    if depth == 0:
        return rng.choice(["x", "y"]) if rng.random() < 0.7 else float(rng.choice(CONSTANTS))
    if rng.random() < 0.3:
        return (str(rng.choice(sorted(UNARY))), random_expression(rng, depth - 1))
    return (str(rng.choice(sorted(BINARY))), random_expression(rng, depth - 1), random_expression(rng, depth - 1))


def test_machine_code_gives_what_python_gives():
    rng = np.random.default_rng(2)
    tape = Tape()
    x, y = tape.inputs("in", 2)
    program = tape.program({"out": [value(random_expression(rng, 4), x, y) for _ in range(60)]})
    assert {line.name for line in program.lines} >= {"add", "sub", "mul", "div", "neg", "sin", "cos", "sqrt"}
    function, generated = machine(program), python_function(program)
    for _ in range(20):
        values = rng.uniform(-1.0, 1.0, 2).tolist()
        np.testing.assert_allclose(function(values), generated(values), rtol=2e-14, atol=2e-14)


def test_machine_code_of_exact_arithmetic_is_exact(tape: Tape):
    x, y = tape.inputs("x", 2)
    outputs = [x + y, x - y, y - x, x * y, x / y, -x, np.sqrt(x), x + 0.1, x * math.pi, 1 / y, y, -0.1]
    program = tape.program({"y": np.array([*outputs, 5e-324, 1e308], dtype=object)})
    for values in ([2.0, 3.0], [0.1, 1e-300], [1e300, -7.0]):
        np.testing.assert_array_equal(machine(program)(values), run(program, {"x": values})["y"])
