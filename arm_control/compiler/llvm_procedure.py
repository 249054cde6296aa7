"""Procedures in LLVM's intermediate language: each statement and expression of the text in its turn.

Names live on the stack, from where LLVM's optimiser takes them to registers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from arm_control.compiler.llvm_expressions import ExpressionWriter
from arm_control.compiler.llvm_values import LlvmValue, Type, parts_of, result_type
from arm_control.compiler.machine_operations import DECLARATIONS
from arm_control.compiler.procedures import Procedure

_HEAD = f"declare double @llvm.sqrt.f64(double)\ndeclare double @llvm.fabs.f64(double)\n{DECLARATIONS}"
_TAIL = "!9 = !{}"


def procedure_code(entry: Procedure[..., Any], name: str) -> str:
    """Intermediate code of a procedure and of all that it calls.

    Parameters
    ----------
    entry : Procedure
        Of one record; returns a float.
    name : str
        Name of its function, which takes the record's address.
    """
    texts: dict[str, str] = {}
    waiting: list[Procedure[..., Any]] = [entry]
    while waiting:
        one = waiting.pop()
        if one.key not in texts:
            writer = _FunctionWriter(one, name if one is entry else one.key, "" if one is entry else "internal ")
            texts[one.key] = writer.write()
            waiting += writer.called
    return "\n\n".join([_HEAD, *texts.values(), _TAIL])


class _FunctionWriter:
    """Writes one procedure."""

    def __init__(self, procedure: Procedure[..., Any], name: str, linkage: str) -> None:
        self._procedure, self._name, self._linkage = procedure, name, linkage
        self._expressions = ExpressionWriter(procedure)
        self._code = self._expressions.code
        self._loops: list[tuple[str, str]] = []
        self._result: Type = "None"

    @property
    def called(self) -> list[Procedure[..., Any]]:
        """The procedures that it calls."""
        return self._expressions.called

    def write(self) -> str:
        """The function's text."""
        definition = self._procedure.tree
        parameters = []
        for argument in definition.args.args:
            of_type = self._expressions.type_of(argument.annotation)
            names = tuple(f"%{argument.arg}.{i}" for i in range(len(parts_of(of_type))))
            parameters += [f"{part} {name}" for part, name in zip(parts_of(of_type), names, strict=True)]
            self._expressions.assign(argument.arg, LlvmValue(of_type, names))
        self._result = self._expressions.type_of(definition.returns)
        self._block(definition.body)
        self._code.line("ret void" if self._result == "None" else "unreachable")
        result = result_type(self._result)
        head = f'define {self._linkage}{result} @"{self._name}"({", ".join(parameters)}) {{\nentry:'
        return "\n".join([head, *self._expressions.head.lines, "  br label %begin", "begin:", *self._code.lines, "}"])

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass  # a docstring
            case ast.Expr(value=call):
                self._expressions.write(call)
            case ast.Assign(targets=[target], value=value):
                self._store(target, self._expressions.write(value))
            case ast.AugAssign(target=target, op=operator, value=value):
                change = ast.BinOp(left=_loaded(target), op=operator, right=value)
                self._store(target, self._expressions.write(change))
            case ast.If():
                self._if(node)
            case ast.While(test=test, body=body, orelse=[]):
                self._loop(lambda: self._expressions.condition(test), body, None)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds), orelse=[]):
                self._for(name, [self._expressions.write(bound) for bound in bounds], node)
            case ast.Break():
                self._leave(f"br label %{self._loops[-1][1]}")
            case ast.Continue():
                self._leave(f"br label %{self._loops[-1][0]}")
            case ast.Return(value=value):
                self._return(value)
            case _:
                raise self._expressions.refuse(node)

    def _leave(self, text: str) -> None:
        """Write the end of a block, and begin one for what is behind it, which nothing reaches."""
        self._code.line(text)
        self._code.begin(self._code.label("behind"))

    def _return(self, value: ast.expr | None) -> None:
        if value is None:
            self._leave("ret void")
            return
        result = self._expressions.converted(self._expressions.write(value), self._result)
        self._leave(f"ret {result_type(self._result)} {result.parts[0]}")

    def _if(self, node: ast.If) -> None:
        code = self._code
        yes, no, after = (code.label(name) for name in ("yes", "no", "after"))
        code.line(f"br i1 {self._expressions.condition(node.test)}, label %{yes}, label %{no}")
        for label, body in ((yes, node.body), (no, node.orelse)):
            code.begin(label)
            self._block(body)
            code.line(f"br label %{after}")
        code.begin(after)

    def _loop(self, condition: Callable[[], str], body: Sequence[ast.stmt], step: Callable[[], None] | None) -> None:
        code = self._code
        test, inside, following, after = (code.label(name) for name in ("test", "inside", "following", "after"))
        code.line(f"br label %{test}")
        code.begin(test)
        code.line(f"br i1 {condition()}, label %{inside}, label %{after}")
        code.begin(inside)
        self._loops.append((following, after))
        self._block(body)
        self._loops.pop()
        code.line(f"br label %{following}")
        code.begin(following)
        if step is not None:
            step()
        code.line(f"br label %{test}")
        code.begin(after)

    def _for(self, name: str, bounds: Sequence[LlvmValue], node: ast.For) -> None:
        """A loop over a range; the name is a copy of its counter."""
        if len(bounds) not in (1, 2) or any(bound.type != "int" for bound in bounds):
            raise self._expressions.refuse(node.iter)
        code, counter = self._code, self._expressions.new_place("i64")
        first = bounds[0].parts[0] if len(bounds) == 2 else "0"
        code.line(f"store i64 {first}, ptr {counter}")

        def condition() -> str:
            now = code.op(f"load i64, ptr {counter}")
            self._expressions.assign(name, LlvmValue("int", (now,)))
            return code.op(f"icmp slt i64 {now}, {bounds[-1].parts[0]}")

        def step() -> None:
            now = code.op(f"load i64, ptr {counter}")
            code.line(f"store i64 {code.op(f'add i64 {now}, 1')}, ptr {counter}")

        self._loop(condition, node.body, step)

    def _store(self, target: ast.expr, value: LlvmValue) -> None:
        match target:
            case ast.Name(id=name):
                self._expressions.assign(name, value)
            case ast.Subscript():
                address, of_type = self._expressions.entry(target)
                converted = self._expressions.converted(value, of_type)
                self._code.line(f"store {parts_of(of_type)[0]} {converted.parts[0]}, ptr {address}, align 8")
            case _:
                raise self._expressions.refuse(target)


def _loaded(target: ast.expr) -> ast.expr:
    """The expression of a place that is assigned to."""
    return ast.parse(ast.unparse(target), mode="eval").body
