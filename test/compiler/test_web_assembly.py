"""Without fused operations and libraries: sines, exponentials and arc tangents, and modules of WebAssembly."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arm_control.compiler import Library, PlacedProgram, Tape, machine_module, web_module
from arm_control.compiler.web_assembly import arc_tangent
from arm_control.maths import atan2, cos, exp, sin

FUNCTIONS = {"sin": math.sin, "cos": math.cos, "exp": math.exp, "tan": lambda x: math.atan2(x, -1.0)}


def placed() -> PlacedProgram:
    """Functions of the number at 1, whose results go to the places from 3 on."""
    tape = Tape()
    (x,) = tape.inputs("x", 1)
    outputs = {"sin": sin(x), "cos": cos(x), "exp": exp(x), "tan": atan2(x, -1.0)}
    return PlacedProgram(tape.program(outputs), (1,), (3, 4, 5, 6))


def test_functions_without_fused_operations_are_those_of_the_library():
    call = Library(machine_module({"some": placed()})).function("some", ctypes.c_void_p)
    rng, work = np.random.default_rng(0), np.zeros(7)
    quarters = np.arange(-200, 201) * (math.pi / 2)
    for x in [*rng.uniform(-700.0, 700.0, 20_000), *quarters, *np.nextafter(quarters, 9e9), *np.logspace(-300, 0, 301)]:
        work[1] = x
        call(work.ctypes.data)
        for value, function in zip(work[3:].tolist(), FUNCTIONS.values(), strict=True):
            assert abs(value - (expected := function(x))) <= 2.0 * np.spacing(max(abs(expected), 0.25)), (x, function)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
@example(0.0, 0.0)
@example(0.0, -1.0)
@example(-1.0, 0.0)
@example(0.0, -0.0)
def test_arc_tangents_are_those_of_the_library(y: float, x: float):
    """A negative zero counts as zero."""
    y, x = y + 0.0, x + 0.0
    assert arc_tangent(y, x) == pytest.approx(math.atan2(y, x), rel=5e-16, abs=1e-300)


def test_a_module_exports_its_functions_and_nothing_for_a_linker():
    module = web_module({"some": placed(), "other": placed()}, {})
    assert module.startswith(b"\0asm\1\0\0\0")
    assert b"\x04some\x00" in module
    assert b"\x05other\x00" in module
    assert b"linking" not in module
    assert b"reloc" not in module
