"""Loops over rows: compiled and as they stand, against a loop in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arm_control.compiler import Law, Loop, compile_law
from arm_control.compiler.compiled_law import check_loop
from arm_control.exceptions import ModelError
from arm_control.maths import Array, atan2, cos, select, sin, sqrt


def text(x: Mapping[str, Array]) -> dict[str, Any]:
    s, a, c = x["s"], x["a"], x["c"][0]
    y = select(a[0] - a[1], sqrt(a[0] * a[0] + 1.0) * sin(s[1]), atan2(a[1], 2.0 + c) * cos(s[0]))
    return {"s": np.array([s[1], 0.5 * s[0] + y]), "y": np.array([y, s[0], -a[2]]), "on": [1.0 - a[2]]}


def expected(a: Array, s: Array, c: float, rows: Any) -> tuple[Array, Array, int]:
    """The same in plain NumPy."""
    ys, s, done = np.full((len(a), 3), 7.0), s.copy(), 0
    for i in rows:
        up = a[i, 0] > a[i, 1]
        y = np.sqrt(a[i, 0] ** 2 + 1) * np.sin(s[1]) if up else np.arctan2(a[i, 1], 2 + c) * np.cos(s[0])
        ys[i] = y, s[0], -a[i, 2]
        if not 1.0 - a[i, 2] > 0.0:
            break
        s, done = np.array([s[1], 0.5 * s[0] + y]), done + 1
    return ys, s, done


LAW = Law("of a test", text, {"a": 3, "s": 2, "c": 1})
LOOP = Loop(LAW, "rows", ("c",), carried=("s",), goes_on="on")


def arrays(n: int, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    wide = rng.uniform(-1, 1, (n, 5))  # rows that are part of longer ones
    return {"a": wide[:, 1:4], "s": np.array([0.3, -0.2]), "c": np.array([0.5])}


def outputs(n: int) -> dict[str, Array]:
    return {"y": np.full((n, 3), 7.0), "on": np.full((n, 1), 7.0)}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_it_does_what_a_loop_does(backend: str, backwards: bool, load_robot):
    loop = replace(LOOP, backwards=backwards)
    scan = load_robot("ur5", backend=backend).compile_law(loop, arrays(2))
    assert scan.is_compiled == (backend == "llvm")
    for ends_at in (None, 5):
        given, found = arrays(13, 1), outputs(13)
        if ends_at is not None:
            given["a"][ends_at, 2] = 1.5
        ys, s, done = expected(given["a"], given["s"], 0.5, reversed(range(13)) if backwards else range(13))
        assert scan.bind({**given, **found}, 13)() == done == (13 if ends_at is None else 7 if backwards else 5)
        np.testing.assert_allclose(found["y"], ys, rtol=0, atol=1e-13)
        np.testing.assert_allclose(given["s"], s, rtol=0, atol=1e-13)


@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_rows_that_carry_nothing_are_done_at_once(backend: str, load_robot):
    law = Law("rows of a test", lambda x: {k: v for k, v in text(x).items() if k == "y"}, LAW.inputs)
    samples = {**arrays(2), "s": np.array([[0.3, -0.2], [0.1, 0.9]])}
    scan = load_robot("ur5", backend=backend).compile_law(Loop(law, "rows", ("c",)), samples)
    n = 5 * scan.width
    given, y = {**arrays(n, 2), "s": np.random.default_rng(3).uniform(-1, 1, (n, 2))}, np.zeros((n, 3))
    assert scan.bind({**given, "y": y}, n)() == n
    given["a"][:, 2] = np.minimum(given["a"][:, 2], 0.9)
    for i in range(n):
        row, *_ = expected(given["a"][i : i + 1], given["s"][i], 0.5, [0])
        np.testing.assert_allclose(y[i, :2], row[0, :2], rtol=0, atol=1e-13)


def test_a_wrong_one_is_refused():
    def with_outputs(**outputs: Any) -> Loop:
        return replace(LOOP, law=replace(LAW, function=lambda x: {**text(x), **outputs}))

    check_loop(LOOP, arrays(2), compile_law(None, LOOP, arrays(2)))
    with pytest.raises(ModelError, match=r"'y' is .* off the float run"):
        check_loop(LOOP, arrays(2), compile_law(None, with_outputs(y=np.ones(3)), arrays(2)))
    with pytest.raises(ModelError, match="ends after 0 cases, the float run after 2"):
        check_loop(LOOP, arrays(2), compile_law(None, with_outputs(on=[-1.0]), arrays(2)))


def test_a_text_that_divides_by_zero_ends_the_loop():
    loop = Loop(Law("1 / x", lambda x: {"s": x["s"] / x["a"]}, {"a": 1, "s": 1}), "rows", carried=("s",))
    s = np.array([3.0])
    kernel = compile_law(None, loop, {"a": np.ones((2, 1)), "s": s})
    assert kernel.bind({"a": np.array([[2.0], [0.0], [1.0]]), "s": s}, 3)() == 1
    assert s == 1.5


@pytest.mark.parametrize("name", ["a", "y"])
def test_arrays_that_do_not_fit_are_refused(name: str, ur5):
    kernel = ur5.compile_law(LOOP, arrays(2))
    given = {**arrays(4), **outputs(4)}
    with pytest.raises(ValueError, match=f"'{name}' has"):
        kernel.bind({**given, name: given[name][..., :-1]}, 4)
    with pytest.raises(ValueError, match="needed is 5, a multiple of 1"):
        kernel.bind(given, 5)
