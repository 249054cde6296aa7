"""A built-in call of a procedure in LLVM's intermediate language.

Arguments are copied to a block on the stack (:mod:`arm_control.compiler.llvm_calls`), from there to the record's array
``inputs``; then the procedure runs, and the record's array ``outputs`` is copied back. Python's lock is held all the
time: no other thread calls with the same record.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from arm_control.compiler.call_forms import CallForm
from arm_control.compiler.llvm_calls import COMPUTE, WORD, call_functions
from arm_control.compiler.llvm_procedure import procedure_code
from arm_control.compiler.llvm_values import slot_of, type_named
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.procedures import Procedure


class _Block(NamedTuple):
    """Names, sizes and shapes of what is in the block on the stack."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, tuple[int, ...]]


def record_call_code(
    entry: Procedure[..., Any],
    name: str,
    form: CallForm,
    inputs: Mapping[str, int],
    outputs: Mapping[str, tuple[int, ...]],
) -> str:
    """Intermediate code of a procedure and of a built-in call of it.

    Parameters
    ----------
    entry : Procedure
        Of one record; returns 0 where its outputs count.
    name : str
        Name of its function.
    form : CallForm
        What the call takes and returns.
    inputs : mapping of str to int
        Name and size of each input, the last of which is the record.
    outputs : mapping of str to shape
        Name and shape of each output.
    """
    n_inputs = sum(inputs.values()) - 1
    n_outputs = sum(math.prod(shape) for shape in outputs.values())
    (argument,) = entry.tree.args.args
    record = type_named(ast.unparse(argument.annotation), entry.look_up)  # type: ignore[arg-type]
    if isinstance(record, str):
        raise TypeError(f"{entry.key} takes no record")
    code = Writer(1)
    slots = code.op(f"load ptr, ptr {code.address('%w', str(n_inputs))}")
    its_inputs, its_outputs = (
        code.op(f"load ptr, ptr {code.address(slots, str(slot_of(record, field)))}") for field in ("inputs", "outputs")
    )
    _copy(code, its_inputs, "%w", n_inputs)
    code.line(f'%result = call double @"{name}"(ptr {slots})')
    _copy(code, code.address("%w", str(n_inputs + 1)), its_outputs, n_outputs)
    code.line("ret double %result")
    compute = [f"define internal double @{COMPUTE}(ptr %w) {{", *code.lines, "}"]
    return "\n".join([procedure_code(entry, name), *compute, *call_functions(_Block(inputs, outputs), (form,))])


def _copy(code: Writer, target: str, source: str, n: int) -> None:
    code.line(f"call void @llvm.memcpy.inline.p0.p0.i64(ptr {target}, ptr {source}, i64 {WORD * n}, i1 false)")
