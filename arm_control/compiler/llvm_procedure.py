"""Procedures in LLVM's intermediate language: each statement and expression of the text in its turn.

Names live on the stack, from where LLVM's optimiser takes them to registers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from arm_control.compiler.llvm_writer import Writer, constant
from arm_control.compiler.procedures import (
    DECLARATIONS,
    MachineOperation,
    NotSupported,
    Procedure,
    Type,
    all_procedures,
    fields_of,
    parts_of,
    slot_of,
)


class LlvmValue(NamedTuple):
    """A value: its type, and the names of its parts."""

    type: Type
    parts: tuple[str, ...]


def result_type(of_type: Type) -> str:
    """LLVM's type of what a procedure returns."""
    parts = parts_of(of_type)
    return parts[0] if parts else "void"


def number(value: object) -> LlvmValue:
    """The value of a number; a NotSupported for anything else."""
    if isinstance(value, bool):
        return LlvmValue("bool", ("true" if value else "false",))
    if isinstance(value, int):
        return LlvmValue("int", (str(value),))
    if isinstance(value, float):
        return LlvmValue("float", (constant(value),))
    raise NotSupported(f"{value!r:.80} is no number")


_ARITHMETIC = {
    ast.Add: ("add", "fadd"),
    ast.Sub: ("sub", "fsub"),
    ast.Mult: ("mul", "fmul"),
    ast.FloorDiv: ("sdiv", ""),
    ast.Mod: ("srem", ""),
    ast.Div: ("", "fdiv"),
}
_COMPARISONS = {
    ast.Lt: ("slt", "olt"),
    ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"),
    ast.Eq: ("eq", "oeq"),
    ast.NotEq: ("ne", "une"),
}


_HEAD = f"declare double @llvm.sqrt.f64(double)\ndeclare double @llvm.fabs.f64(double)\n{DECLARATIONS}"
_TAIL = "!9 = !{}"


def procedure_code(entry: Procedure[..., Any], name: str) -> str:
    """Intermediate code of a procedure and of all that it calls."""
    first, *others = all_procedures([entry])
    texts = [
        _ProcedureWriter(first, name, "").write(),
        *(_ProcedureWriter(one, one.key, "internal ").write() for one in others),
    ]
    return "\n\n".join([_HEAD, *texts, _TAIL])


class _ProcedureWriter:
    """Writes one procedure: its statements, then their expressions."""

    def __init__(self, procedure: Procedure[..., Any], name: str, linkage: str) -> None:
        self._procedure, self._name, self._linkage = procedure, name, linkage
        self._code, self._head = Writer(1), Writer(1)  # the second one takes places on the stack
        self._head.start(1_000_000)
        self._names: dict[str, LlvmValue] = {}
        self._loops: list[tuple[str, str]] = []
        self._result = procedure.result

    def write(self) -> str:
        """The function's text."""
        definition = self._procedure.tree
        parameters = []
        for argument, of_type in zip(definition.args.args, self._procedure.types, strict=True):
            names = tuple(f"%{argument.arg}.{i}" for i in range(len(parts_of(of_type))))
            parameters += [f"{part} {name}" for part, name in zip(parts_of(of_type), names, strict=True)]
            self._assign(argument.arg, LlvmValue(of_type, names))
        self._block(definition.body)
        self._code.line("ret void" if self._result == "None" else "unreachable")
        result = result_type(self._result)
        head = f'define {self._linkage}{result} @"{self._name}"({", ".join(parameters)}) {{\nentry:'
        return "\n".join([head, *self._head.lines, "  br label %begin", "begin:", *self._code.lines, "}"])

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass  # a docstring
            case ast.Expr(value=call):
                self._value(call)
            case ast.Assign(targets=[target], value=value):
                self._store(target, self._value(value))
            case ast.AugAssign(target=target, op=operator, value=value):
                change = ast.BinOp(left=_loaded(target), op=operator, right=value)
                self._store(target, self._value(change))
            case ast.If():
                self._if(node)
            case ast.While(test=test, body=body, orelse=[]):
                self._loop(lambda: self._condition(test), body, None)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds), orelse=[]):
                self._for(name, [self._value(bound) for bound in bounds], node)
            case ast.Break():
                self._leave(f"br label %{self._loops[-1][1]}")
            case ast.Continue():
                self._leave(f"br label %{self._loops[-1][0]}")
            case ast.Return(value=value):
                self._return(value)
            case _:
                raise self._refuse(node)

    def _leave(self, text: str) -> None:
        """Write the end of a block, and begin one for what is behind it, which nothing reaches."""
        self._code.line(text)
        self._code.begin(self._code.label("behind"))

    def _return(self, value: ast.expr | None) -> None:
        if value is None:
            self._leave("ret void")
            return
        result = self._converted(self._value(value), self._result)
        self._leave(f"ret {result_type(self._result)} {result.parts[0]}")

    def _if(self, node: ast.If) -> None:
        code = self._code
        yes, no, after = (code.label(name) for name in ("yes", "no", "after"))
        code.line(f"br i1 {self._condition(node.test)}, label %{yes}, label %{no}")
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
            raise self._refuse(node.iter)
        code, counter = self._code, self._new_place("i64")
        first = bounds[0].parts[0] if len(bounds) == 2 else "0"
        code.line(f"store i64 {first}, ptr {counter}")

        def condition() -> str:
            now = code.op(f"load i64, ptr {counter}")
            self._assign(name, LlvmValue("int", (now,)))
            return code.op(f"icmp slt i64 {now}, {bounds[-1].parts[0]}")

        def step() -> None:
            now = code.op(f"load i64, ptr {counter}")
            code.line(f"store i64 {code.op(f'add i64 {now}, 1')}, ptr {counter}")

        self._loop(condition, node.body, step)

    def _store(self, target: ast.expr, value: LlvmValue) -> None:
        match target:
            case ast.Name(id=name):
                self._assign(name, value)
            case ast.Subscript():
                address, of_type = self._entry(target)
                converted = self._converted(value, of_type)
                self._code.line(f"store {parts_of(of_type)[0]} {converted.parts[0]}, ptr {address}, align 8")
            case _:
                raise self._refuse(target)

    # Expressions

    def _refuse(self, node: ast.AST) -> NotSupported:
        """Return the error that a part of the text cannot be compiled."""
        return NotSupported(f"{self._procedure.key}: cannot be compiled: {ast.unparse(node)}")

    def _assign(self, name: str, value: LlvmValue) -> None:
        """Put a value into a name; the first one decides its type."""
        if name not in self._names:
            places = tuple(self._new_place(part) for part in parts_of(value.type))
            self._names[name] = LlvmValue(value.type, places)
        of_type, places = self._names[name]
        parts = self._converted(value, of_type).parts
        for part, entry, place in zip(parts_of(of_type), parts, places, strict=True):
            self._code.line(f"store {part} {entry}, ptr {place}")

    def _new_place(self, part: str) -> str:
        """Return the address of a new place on the stack, for a part of a value."""
        return self._head.op(f"alloca {part}")

    def _condition(self, node: ast.expr) -> str:
        """Write an expression that is true or false, and return its part."""
        value = self._value(node)
        if value.type != "bool":
            raise self._refuse(node)
        return value.parts[0]

    def _value(self, node: ast.expr) -> LlvmValue:  # noqa: PLR0911 - a table
        """Write an expression, and return its value."""
        match node:
            case ast.Constant(value=value):
                return number(value)
            case ast.Name(id=name):
                return self._named(name)
            case ast.Attribute(value=base, attr=field):
                return self._field(self._value(base), field)
            case ast.Subscript():
                return self._subscript(node)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._arithmetic(operator, self._value(left), self._value(right), node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(self._value(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return LlvmValue("bool", (self._code.op(f"xor i1 {self._condition(operand)}, true"),))
            case ast.Compare(left=left, ops=operators, comparators=others):
                return self._chain(operators, [self._value(part) for part in (left, *others)])
            case ast.BoolOp(op=operator, values=values):
                return self._junction(isinstance(operator, ast.And), values)
            case ast.IfExp(test=test, body=yes, orelse=no):
                return self._choice(test, yes, no)
            case ast.Call():
                return self._call(node)
            case _:
                raise self._refuse(node)

    def _named(self, name: str) -> LlvmValue:
        if name not in self._names:
            return number(self._procedure.look_up(name))
        of_type, places = self._names[name]
        parts = (self._code.op(f"load {p}, ptr {x}") for p, x in zip(parts_of(of_type), places, strict=True))
        return LlvmValue(of_type, tuple(parts))

    def _field(self, record: LlvmValue, field: str) -> LlvmValue:
        """A field of a record: its slots, which never change."""
        if isinstance(record.type, str):
            raise NotSupported(f"{self._procedure.key}: field {field} of {record.type}")
        of_type, slot = fields_of(record.type)[field], slot_of(record.type, field)
        parts = []
        for i, part in enumerate(parts_of(of_type)):
            address = self._code.op(f"getelementptr i64, ptr {record.parts[0]}, i64 {slot + i}")
            parts.append(self._code.op(f"load {part}, ptr {address}, align 8, !invariant.load !9"))
        return LlvmValue(of_type, tuple(parts))

    def _subscript(self, node: ast.Subscript) -> LlvmValue:
        address, of_type = self._entry(node)
        if of_type == "Floats":
            return LlvmValue(of_type, (address,))
        return LlvmValue(of_type, (self._code.op(f"load {parts_of(of_type)[0]}, ptr {address}, align 8"),))

    def _entry(self, node: ast.Subscript) -> tuple[str, Type]:
        """Address and type of an entry of an array; a row of a table is an array."""
        base = self._value(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        numbers = [self._value(index) for index in indices]
        if any(number.type != "int" for number in numbers):
            raise self._refuse(node)
        place, element = numbers[-1].parts[0], "i64" if base.type == "Ints" else "double"
        of_type: Type = "int" if base.type == "Ints" else "float"
        if base.type == "Rows":
            row = self._code.op(f"mul i64 {numbers[0].parts[0]}, {base.parts[1]}")
            place = row if len(numbers) == 1 else self._code.op(f"add i64 {row}, {place}")
            of_type = "Floats" if len(numbers) == 1 else "float"
        elif base.type not in ("Floats", "Ints") or len(numbers) != 1:
            raise self._refuse(node)
        return self._code.op(f"getelementptr {element}, ptr {base.parts[0]}, i64 {place}"), of_type

    def _arithmetic(self, operator: ast.operator, a: LlvmValue, b: LlvmValue, node: ast.AST) -> LlvmValue:
        is_whole = a.type == b.type == "int" and not isinstance(operator, ast.Div)
        name = _ARITHMETIC.get(type(operator), ("", ""))[0 if is_whole else 1]
        if not name:
            raise self._refuse(node)
        of_type: Type = "int" if is_whole else "float"
        x, y = self._converted(a, of_type).parts[0], self._converted(b, of_type).parts[0]
        return LlvmValue(of_type, (self._code.op(f"{name} {parts_of(of_type)[0]} {x}, {y}"),))

    def _negative(self, a: LlvmValue) -> LlvmValue:
        text = f"sub i64 0, {a.parts[0]}" if a.type == "int" else f"fneg double {a.parts[0]}"
        return LlvmValue(a.type, (self._code.op(text),))

    def _chain(self, operators: Sequence[ast.cmpop], values: Sequence[LlvmValue]) -> LlvmValue:
        """``a < b < c``; all values are computed."""
        flags = [self._comparison(*link) for link in zip(operators, values, values[1:], strict=False)]
        both = flags[0]
        for flag in flags[1:]:
            both = LlvmValue("bool", (self._code.op(f"and i1 {both.parts[0]}, {flag.parts[0]}"),))
        return both

    def _comparison(self, operator: ast.cmpop, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        is_whole = a.type == b.type == "int"
        name = _COMPARISONS[type(operator)][0 if is_whole else 1]
        of_type: Type = "int" if is_whole else "float"
        x, y = self._converted(a, of_type).parts[0], self._converted(b, of_type).parts[0]
        text = f"icmp {name} i64 {x}, {y}" if is_whole else f"fcmp {name} double {x}, {y}"
        return LlvmValue("bool", (self._code.op(text),))

    def _junction(self, is_and: bool, values: Sequence[ast.expr]) -> LlvmValue:
        """``and`` or ``or``: the first value that decides is the last one computed."""
        code, place = self._code, self._new_place("i1")
        end = code.label("decided")
        for value in values:
            flag, following = self._condition(value), code.label("following")
            code.line(f"store i1 {flag}, ptr {place}")
            yes, no = (following, end) if is_and else (end, following)
            code.line(f"br i1 {flag}, label %{yes}, label %{no}")
            code.begin(following)
        code.line(f"br label %{end}")
        code.begin(end)
        return LlvmValue("bool", (code.op(f"load i1, ptr {place}"),))

    def _choice(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> LlvmValue:
        """``a if b else c``, of numbers; both are computed."""
        flag, a, b = self._condition(test), self._value(yes), self._value(no)
        of_type = a.type if a.type == b.type else "float"
        return self._select(flag, self._converted(a, of_type), self._converted(b, of_type))

    def _select(self, flag: str, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        part = parts_of(a.type)[0]
        return LlvmValue(a.type, (self._code.op(f"select i1 {flag}, {part} {a.parts[0]}, {part} {b.parts[0]}"),))

    def _converted(self, value: LlvmValue, of_type: Type) -> LlvmValue:
        """Return a value as one of another type: a whole number may become a float."""
        if value.type == of_type:
            return value
        if (value.type, of_type) != ("int", "float"):
            raise NotSupported(f"{self._procedure.key}: a value of type {value.type} where {of_type} is needed")
        return LlvmValue("float", (self._code.op(f"sitofp i64 {value.parts[0]} to double"),))

    # Calls

    def _call(self, node: ast.Call) -> LlvmValue:
        values = [self._value(argument) for argument in node.args]
        match node.func:
            case ast.Name(id="min" | "max" as name):
                operator = ast.Lt() if name == "min" else ast.Gt()
                of_type = values[0].type if values[0].type == values[1].type else "float"
                a, b = (self._converted(value, of_type) for value in values)
                return self._select(self._comparison(operator, b, a).parts[0], b, a)
            case ast.Name(id="sqrt" | "abs" as name):
                x = self._converted(values[0], "float").parts[0]
                function = "sqrt" if name == "sqrt" else "fabs"
                return LlvmValue("float", (self._code.op(f"call double @llvm.{function}.f64(double {x})"),))
            case ast.Name(id="float"):
                return self._converted(values[0], "float")
            case ast.Name(id="int"):
                return LlvmValue("int", (self._code.op(f"fptosi double {values[0].parts[0]} to i64"),))
            case ast.Attribute():
                return self._call_field(self._value(node.func), values)
            case ast.Name(id=name):
                return self._call_named(name, values)
            case _:
                raise self._refuse(node)

    def _call_field(self, function: LlvmValue, values: Sequence[LlvmValue]) -> LlvmValue:
        """Call a function that is a field of a record."""
        if function.type == "CFunction":
            numbers = ", ".join(f"i64 {self._converted(value, 'int').parts[0]}" for value in values)
            result = self._code.op(f"call i32 {function.parts[0]}({numbers})")
            return LlvmValue("int", (self._code.op(f"sext i32 {result} to i64"),))
        if function.type == "RunsKernel":
            return LlvmValue("float", (self._code.op(f"call double {function.parts[0]}(ptr {function.parts[1]})"),))
        return self._run_loop(function, values)

    def _run_loop(self, loop: LlvmValue, values: Sequence[LlvmValue]) -> LlvmValue:
        """Call a loop: the number of cases, and the limit of a repeated law, are the first entries of its table."""
        code, (function, table) = self._code, loop.parts
        if loop.type != "RunsLoop" or len(values) not in (1, 2):
            raise NotSupported(f"{self._procedure.key}: {loop.type} with {len(values)} arguments")
        for k, value in enumerate(values):
            place = code.op(f"getelementptr i64, ptr {table}, i64 {k}")
            code.line(f"store i64 {value.parts[0]}, ptr {place}, align 8")
        return LlvmValue("float", (code.op(f"call double {function}(ptr {table})"),))

    def _call_named(self, name: str, values: Sequence[LlvmValue]) -> LlvmValue:
        called = self._procedure.look_up(name)
        if isinstance(called, MachineOperation):
            return self._call_operation(called, values)
        if isinstance(called, Procedure):
            return self._call_procedure(called, values)
        raise NotSupported(f"{self._procedure.key}: {name} is no procedure")

    def _call_operation(self, called: MachineOperation[..., Any], values: Sequence[LlvmValue]) -> LlvmValue:
        """Write the lines of an operation; its types have one part each."""
        *types, result = called.function.__annotations__.items()
        words = {
            name: self._converted(value, of_type).parts[0] for (name, of_type), value in zip(types, values, strict=True)
        }
        last = len(called.lines) - 1
        for k, line in enumerate(called.lines):
            text = line.format(**words)
            if k == last and result[1] == "None":
                self._code.line(text)
            else:
                words[f"line_{k}"] = self._code.op(text)
        return LlvmValue(result[1], (words[f"line_{last}"],) if result[1] != "None" else ())

    def _call_procedure(self, called: Procedure[..., Any], values: Sequence[LlvmValue]) -> LlvmValue:
        arguments = [
            f"{part} {entry}"
            for value, of_type in zip(values, called.types, strict=True)
            for part, entry in zip(parts_of(of_type), self._converted(value, of_type).parts, strict=True)
        ]
        result = called.result
        text = f'call {result_type(result)} @"{called.key}"({", ".join(arguments)})'
        if result == "None":
            self._code.line(text)
            return LlvmValue(result, ())
        return LlvmValue(result, (self._code.op(text),))


def _loaded(target: ast.expr) -> ast.expr:
    """The expression of a place that is assigned to."""
    return ast.parse(ast.unparse(target), mode="eval").body
