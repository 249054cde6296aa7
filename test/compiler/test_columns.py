"""Loops over columns: compiled and as they stand, against NumPy on whole arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arm_control.compiler import Law, Loop, compile_law
from arm_control.compiler.compiled_law import check_loop
from arm_control.exceptions import ModelError
from arm_control.maths import Array, atan2, cos, maximum, nearest, select, sin, sqrt


def text(x: Mapping[str, Array]) -> dict[str, Any]:
    a, b, c = x["a"][0], x["a"][1], x["c"][0]
    y = select(a - b, sqrt(maximum(a, 0.0)) + sin(b) * cos(a), atan2(a, b) - nearest(3.0 * b)) / (2.0 + c * c)
    return {"y": np.array([y, -a]), "total": np.array([y, 1.0 - y])}


LAW = Law("of a test", text, {"a": 2, "c": 1})
LOOP = Loop(LAW, "columns", ("c",), totals=("total",))


def arrays(n: int, seed: int = 0) -> dict[str, Array]:
    return {"a": np.random.default_rng(seed).uniform(-1, 1, (2, n)), "c": np.array([0.5])}


def outputs(n: int) -> dict[str, Array]:
    return {"y": np.full((2, n), 7.0), "total": np.full(2, 7.0)}


@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_it_computes_what_numpy_does(backend: str, load_robot):
    columns = load_robot("ur5", backend=backend).compile_law(LOOP, arrays(16))
    assert columns.is_compiled == (backend == "llvm")
    given, found = arrays(64, 1), outputs(64)
    call = columns.bind({**given, **found})
    for _ in range(2):  # totals begin anew
        assert call() == 64
        a, b = given["a"]
        y = np.where(a > b, np.sqrt(np.maximum(a, 0)) + np.sin(b) * np.cos(a), np.arctan2(a, b) - np.rint(3 * b)) / 2.25
        np.testing.assert_allclose(found["y"], [y, -a], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found["total"], [y.sum(), (1.0 - y).sum()], rtol=0, atol=1e-12)
        given["a"] *= -0.5  # what it is bound to is read again


@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_arrays_that_do_not_fit_are_refused(backend: str, load_robot):
    columns, arrays_16 = load_robot("ur5", backend=backend).compile_law(LOOP, arrays(16)), {**arrays(16), **outputs(16)}
    message = r"of a test: 'y' has shape .*; columns of 2 floats side by side are needed"
    for wrong in (np.zeros((16, 2)).T, np.zeros((2, 16), int), np.zeros((3, 16)), np.zeros(2)):
        with pytest.raises(ValueError, match=message):
            columns.bind({**arrays_16, "y": wrong})
    with pytest.raises(ValueError, match="needed is the same number in each"):
        columns.bind({**arrays_16, "a": np.zeros((2, 8))})
    with pytest.raises(ValueError, match="'total' has shape"):
        columns.bind({**arrays_16, "total": np.zeros((1, 16))})
    with pytest.raises(ValueError, match="'c' is missing"):
        columns.bind({name: x for name, x in arrays_16.items() if name != "c"})


def test_what_computes_something_else_is_refused():
    wrong = replace(LOOP, law=replace(LAW, function=lambda x: {**text(x), "total": [*x["c"], 0.0]}))
    check_loop(LOOP, arrays(16), compile_law(None, LOOP, arrays(16)))
    with pytest.raises(ModelError, match="'total' is"):
        check_loop(LOOP, arrays(16), compile_law(None, wrong, arrays(16)))
