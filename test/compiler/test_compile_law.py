"""The way from a law to its kernel: what is compared, what is refused, what is kept, what runs instead."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arm_control.compiler import Law, LlvmCompiler, Loop, check_kernel, compile_law
from arm_control.compiler.compiled_law import STRICT
from arm_control.core import Cache
from arm_control.exceptions import ModelError
from arm_control.maths import Array, sqrt, stored

SAMPLES = {"a": np.array([[1.0, 2.0, 2.0], [0.5, -1.0, 3.0]]), "s": np.array([[2.0], [-1.0]])}
Inputs = Mapping[str, Array]


def text(x: Inputs) -> dict[str, Any]:
    return {"length": sqrt(x["a"] @ x["a"]), "scaled": x["s"][0] * x["a"], "outer": np.outer(x["a"], x["a"])}


LAW = Law("of a test", text, {"a": 3, "s": 1})


def mistaken(x: Inputs) -> dict[str, Any]:
    """A text with a mistake that shows on a tape only: a comparison of scalars."""
    return {"larger": max(x["a"].tolist())}


def rounded(x: Inputs) -> dict[str, Any]:
    """A text that takes a path of its own on floats."""
    return {"y": x["a"] * (1.0 if x["a"].dtype == object else 1.0 + 1e-8)}


@pytest.fixture
def compiler() -> LlvmCompiler:
    return LlvmCompiler("a robot", "robot", Cache(None))


@pytest.fixture(params=["compiled", "on floats"])
def some_compiler(request: pytest.FixtureRequest, compiler: LlvmCompiler) -> LlvmCompiler | None:
    return compiler if request.param == "compiled" else None


def test_a_kernel_has_a_work_space_of_named_inputs_and_outputs(some_compiler: LlvmCompiler | None):
    kernel = compile_law(some_compiler, LAW, SAMPLES)
    assert kernel.is_compiled == (some_compiler is not None)
    shapes = {name: view.shape for name, view in kernel.outputs.items()}
    assert shapes == {"length": (), "scaled": (3,), "outer": (3, 3)}
    kernel.inputs["a"][:], kernel.inputs["s"][:] = (3.0, 0.0, 4.0), 2.0
    assert kernel.call() is False
    assert kernel.outputs["length"] == 5.0
    np.testing.assert_array_equal(kernel.outputs["scaled"], [6.0, 0.0, 8.0])
    np.testing.assert_array_equal(kernel.outputs["outer"], [[9.0, 0.0, 12.0], [0.0, 0.0, 0.0], [12.0, 0.0, 16.0]])


@pytest.mark.parametrize(
    ("function", "message"), [(mistaken, "TypeError"), (rounded, r"ModelError: 'y' is \S+ off the float run")]
)
def test_a_mistake_is_a_warning_or_where_strict_an_error(
    function: Callable[[Inputs], dict[str, Any]],
    message: str,
    compiler: LlvmCompiler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    law = Law("of a test", function, {"a": 3})
    with pytest.raises((TypeError, ModelError)):
        compile_law(compiler, law, SAMPLES)
    assert not caplog.records
    monkeypatch.delenv(STRICT)
    kernel = compile_law(compiler, law, SAMPLES)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert re.match(f"of a test is not compiled: {message}", record.message)
    kernel.inputs["a"][:] = 3.0, 1.0, 2.0
    kernel.call()
    (output,) = kernel.outputs.values()
    np.testing.assert_array_equal(output, function(kernel.inputs)[next(iter(kernel.outputs))])


def test_every_sample_is_compared(compiler: LlvmCompiler):
    def wrong_in_the_second(x: Inputs) -> dict[str, Any]:
        return {"y": x["a"] * (2.0 if x["a"].dtype != object and x["a"][0] == 0.5 else 1.0)}

    with pytest.raises(ModelError, match="'y' is"):
        compile_law(compiler, Law("of a test", wrong_in_the_second, {"a": 3}), SAMPLES)
    first = {name: x[:1] for name, x in SAMPLES.items()}
    assert compile_law(compiler, Law("of a test", wrong_in_the_second, {"a": 3}), first).is_compiled


def test_an_output_that_is_nan_is_not_the_float_run():
    other = Law("of a test", lambda x: {"length": np.nan * x["s"][0], "scaled": x["a"], "outer": x["a"]}, LAW.inputs)
    with pytest.raises(ModelError, match="'length' is nan off the float run"):
        check_kernel(LAW, SAMPLES, compile_law(None, other, SAMPLES))


def variant(name: str = "of a test", scale: float = 1.0, structure: object = (), size: int = 3) -> Law:
    return Law(name, lambda x: {"y": scale * x["a"]}, {"a": size}, structure)


@pytest.mark.parametrize(
    "other",
    [
        variant("another"),
        variant(structure=[1.0]),
        variant(size=2),
        Loop(variant(), "rows"),
        Loop(variant(), "columns"),
    ],
    ids=["name", "structure", "inputs", "rows", "columns"],
)
def test_other_laws_share_no_kernel(other: Law | Loop, tmp_path):
    cache = Cache(tmp_path)
    samples = {"a": np.ones((3, 3))[:, : other.inputs["a"] if isinstance(other, Law) else 3]}
    for n, law in enumerate((variant(), other)):
        data = {"a": np.ones((1, 3))} if n == 0 else samples
        for _ in range(2):
            compile_law(LlvmCompiler("a robot", "robot", cache), law, data)
            assert len(cache.entries()) == n + 1


def test_laws_of_one_name_and_other_functions_share_no_kernel(tmp_path):
    """A function from outside of the package, whose sources are in no digest: a change in it outdates its kernel."""
    cache = Cache(tmp_path)
    for factor in (2.0, 3.0, 2.0):
        law = Law("times", lambda x, factor=factor: {"y": factor * x["a"]}, {"a": 3})
        kernel = compile_law(LlvmCompiler("a robot", "robot", cache), law, SAMPLES)
        kernel.inputs["a"][:] = 1.0
        kernel.call()
        np.testing.assert_array_equal(kernel.outputs["y"], [factor] * 3)
    assert len(cache.entries()) == 2
    assert replace(LAW, function=mistaken).key != LAW.key  # one that cannot be written down has a key, too


@pytest.mark.parametrize("structure", [np.ones(3), [object()], [lambda x: x]])
def test_a_structure_without_a_lasting_text_is_refused(structure: object, compiler: LlvmCompiler):
    with pytest.raises(ValueError, match="of a test: the structure has arrays, or objects without a text"):
        compile_law(compiler, variant(structure=structure), SAMPLES)


@pytest.mark.parametrize(
    ("layout", "choices", "message"),
    [
        ("rows", {"shared": ("b",)}, "has no input b"),
        ("columns", {"carried": ("a",)}, "columns carry nothing"),
        ("columns", {"backwards": True}, "columns carry nothing"),
        ("rows", {"totals": ("y",)}, "rows have no totals"),
    ],
)
def test_a_loop_that_cannot_be_is_refused(layout: Any, choices: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        Loop(variant(), layout, **choices)


def stored_product(x: Inputs) -> dict[str, Any]:
    a, b = x["a"][0], x["a"][1]
    return {"y": stored(a * a, a) - b, "one": b / stored(3.0, a)}


def test_what_is_stored_is_rounded_before_it_is_used(some_compiler: LlvmCompiler | None):
    """A product and a difference would be one operation otherwise, and a division by a constant a product."""
    kernel = compile_law(some_compiler, Law("of a test", stored_product, {"a": 2}), {"a": np.array([[1.0, 2.0]])})
    a, b = 1.0 + 2.0**-30, 5.0
    kernel.inputs["a"][:] = a, b
    kernel.call()
    assert (kernel.outputs["y"], kernel.outputs["one"]) == (a * a - b, b / 3.0)
    kernel.inputs["a"][:] = a, 1.0
    kernel.call()
    assert kernel.outputs["y"] == a * a - 1.0
