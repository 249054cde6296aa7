"""Programs run on floats."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arm_control.compiler import Law, Library, Loop, Program, compile_code, loop_code, python_function, split
from arm_control.maths import Array


def run(program: Program, inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Every output by name, in its shape."""
    values = np.concatenate([np.ravel(inputs[name]) for name in program.inputs])
    return split(np.array(python_function(program)(values.tolist())), program.outputs)


def in_lanes(law: Law, width: int) -> Callable[[Array], Array]:
    """A law of one input and one output as machine code, so many states at once: from rows to rows, shape (N, size)."""
    program = law.flat_program()
    code = compile_code(loop_code(program, "f", width, Loop(law, "rows")))
    call = Library(code).function("f", ctypes.c_void_p)
    (n_x,), ((n_y,),) = program.inputs.values(), program.outputs.values()

    def compute(x: Array) -> Array:
        n = len(x) + -len(x) % width
        rows, out = np.zeros((n, n_x)), np.full((n, n_y), np.nan)
        rows[: len(x)] = x
        table = np.array([n, 1, 0, rows.ctypes.data, n_x, 1, out.ctypes.data, n_y, 1])
        assert call(table.ctypes.data) == n
        return out[: len(x)]

    return compute
