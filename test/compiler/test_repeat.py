"""Repeated laws: compiled and as they stand, against Newton's iteration written out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arm_control.compiler import Law, LlvmCompiler, Loop, LoopKernel, compile_law
from arm_control.compiler.compiled_law import check_loop
from arm_control.core import Cache
from arm_control.exceptions import ModelError
from arm_control.maths import Array, select


def root_step(x: Mapping[str, Array]) -> dict[str, Any]:
    """A step of Newton's method for the square root."""
    a, y = x["a"][0], x["y"][0]
    error = y * y - a
    more = abs(error) - x["tolerance"][0]
    return {"y": [select(more, 0.5 * (y + a / y), y)], "error": [error, 2.0 * error], "more": [more]}


ROOT = Loop(
    Law("root", root_step, {"a": 1, "y": 1, "tolerance": 1}), "repeated", ("tolerance",), ("y",), goes_on="more"
)
LIMIT = 12


def arrays(a: Any) -> dict[str, Array]:
    a = np.atleast_2d(np.array(a, dtype=float))
    n = a.shape[1]
    results = {"error": np.full((2, n), 7.0), "more": np.full((1, n), 7.0), "repetitions": np.full((1, n), 7.0)}
    return {"a": a, "y": np.ones((1, n)), "tolerance": np.array([1e-9]), **results}


def newton(a: float) -> tuple[float, int]:
    y = 1.0
    for repetition in range(1, LIMIT + 1):
        if not abs(y * y - a) - 1e-9 > 0.0:
            return y, repetition
        y = 0.5 * (y + a / y)
    return y, LIMIT


@pytest.fixture(scope="module", params=[2, 0], ids=["2 lanes", "on floats"])
def kernel(request: pytest.FixtureRequest) -> LoopKernel:
    compiler = LlvmCompiler("a robot", "robot", Cache(None)) if request.param else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arm_control.compiler.llvm_compiler.lanes", lambda: request.param)
        kernel = compile_law(compiler, ROOT, arrays([2.0, 3.0, 4.0]))
    assert kernel.is_compiled == (compiler is not None)
    return kernel


@pytest.mark.parametrize("n", [1, 100])
def test_each_case_is_repeated_until_it_is_done(kernel: LoopKernel, n: int):
    given = arrays(np.random.default_rng(n).uniform(0.01, 1000.0, n))
    first = kernel.bind(given, limit=LIMIT)()
    y, repetitions = np.array([newton(a) for a in given["a"][0]]).T
    np.testing.assert_array_equal(given["y"][0], y)
    np.testing.assert_array_equal(given["repetitions"][0], repetitions)
    is_done = given["more"][0] <= 0.0
    assert 0 < is_done.sum() <= n
    assert first == np.argmax(is_done)
    np.testing.assert_allclose(given["error"][:, is_done], 0.0, rtol=0, atol=2e-9)
    np.testing.assert_array_equal(given["error"][1], 2.0 * given["error"][0])


def test_the_first_case_that_is_done_is_enough(kernel: LoopKernel):
    """Also where one behind it is done after fewer repetitions."""
    given = arrays([1e9] * 20 + [900.0, 1e9, 1.0] + [1e9] * 20 + [1.0] * 30)
    assert kernel.bind(given, limit=LIMIT, is_first_enough=True)() == 20
    assert given["y"][0, 20] == newton(900.0)[0]
    assert (given["repetitions"][0, :20] == LIMIT).all()
    none = arrays([1e9] * 11)
    assert kernel.bind(none, limit=LIMIT, is_first_enough=True)() == 11


def test_a_case_that_is_no_number_ends_and_is_not_done(kernel: LoopKernel):
    given = arrays([np.nan, 1e9, 2.0])
    assert kernel.bind(given, limit=LIMIT)() == 2
    assert given["repetitions"].tolist() == [[1.0, LIMIT, newton(2.0)[1]]]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("a", np.ones((2, 5))), ("y", np.ones((2, 5))), ("error", np.ones((2, 5), dtype=int)), ("tolerance", np.ones(2))],
)
def test_arrays_that_do_not_fit_are_refused(name: str, wrong: Array, kernel: LoopKernel):
    with pytest.raises(ValueError, match=f"root: '{name}' has shape"):
        kernel.bind({**arrays(np.ones(5)), name: wrong}, limit=LIMIT)
    missing = {key: x for key, x in arrays(np.ones(5)).items() if key != name}
    with pytest.raises(ValueError, match=f"root: '{name}' is missing"):
        kernel.bind(missing, limit=LIMIT)


def test_a_wrong_kernel_is_refused():
    def kernel_with(**outputs: Any) -> LoopKernel:
        law = replace(ROOT.law, function=lambda x: {**root_step(x), **outputs})
        return compile_law(None, replace(ROOT, law=law), samples)

    samples = arrays([2.0, 3.0])
    check_loop(ROOT, samples, kernel_with())
    with pytest.raises(ModelError, match=r"'error' is .* off the float run"):
        check_loop(ROOT, samples, kernel_with(error=[0.0, 0.0]))
    with pytest.raises(ModelError, match="case 0 is the first one done, in the float run case 2"):
        check_loop(ROOT, samples, kernel_with(more=[-1.0]))
