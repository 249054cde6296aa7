"""Procedures in LLVM's intermediate language: each statement and expression of the text in its turn.

Names live on the stack, from where LLVM's optimiser takes them to registers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from arm_control.compiler.llvm_values import (
    NotSupported,
    Type,
    Value,
    fields_of,
    number,
    parts_of,
    result_type,
    type_named,
)
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.procedure import Procedure

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
_HEAD = "declare double @llvm.sqrt.f64(double)\ndeclare double @llvm.fabs.f64(double)"
_TAIL = "!0 = !{}"


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
        self._code, self._head = Writer(1), Writer(1)
        self._head.start(1_000_000)
        self._names: dict[str, Value] = {}
        self._loops: list[tuple[str, str]] = []
        self._result: Type = "None"
        self.called: list[Procedure[..., Any]] = []

    def write(self) -> str:
        """The function's text."""
        definition = self._procedure.tree
        parameters = []
        for argument in definition.args.args:
            of_type = self._type(argument.annotation)
            names = tuple(f"%{argument.arg}.{i}" for i in range(len(parts_of(of_type))))
            parameters += [f"{part} {name}" for part, name in zip(parts_of(of_type), names, strict=True)]
            self._assign(argument.arg, Value(of_type, names))
        self._result = self._type(definition.returns)
        self._block(definition.body)
        self._code.line("ret void" if self._result == "None" else "unreachable")
        result = result_type(self._result)
        head = f'define {self._linkage}{result} @"{self._name}"({", ".join(parameters)}) {{\nentry:'
        return "\n".join([head, *self._head.lines, "  br label %begin", "begin:", *self._code.lines, "}"])

    def _type(self, annotation: ast.expr | None) -> Type:
        return "None" if annotation is None else type_named(ast.unparse(annotation), self._procedure.look_up)

    def _refuse(self, node: ast.AST) -> NotSupported:
        return NotSupported(f"{self._procedure.key}: cannot be compiled: {ast.unparse(node)}")

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass  # a docstring
            case ast.Expr(value=call):
                self._expression(call)
            case ast.Assign(targets=[target], value=value):
                self._store(target, self._expression(value))
            case ast.AugAssign(target=target, op=operator, value=value):
                self._store(
                    target, self._arithmetic(operator, self._expression(_loaded(target)), self._expression(value), node)
                )
            case ast.If():
                self._if(node)
            case ast.While(test=test, body=body, orelse=[]):
                self._loop(lambda: self._condition(test), body, None)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds), orelse=[]):
                self._for(name, [self._expression(bound) for bound in bounds], node)
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
        result = self._converted(self._expression(value), self._result)
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

    def _for(self, name: str, bounds: Sequence[Value], node: ast.For) -> None:
        """A loop over a range; the name is a copy of its counter."""
        if len(bounds) not in (1, 2) or any(bound.type != "int" for bound in bounds):
            raise self._refuse(node.iter)
        code, counter = self._code, self._new_place("i64")
        first = bounds[0].parts[0] if len(bounds) == 2 else "0"
        code.line(f"store i64 {first}, ptr {counter}")

        def condition() -> str:
            now = code.op(f"load i64, ptr {counter}")
            self._assign(name, Value("int", (now,)))
            return code.op(f"icmp slt i64 {now}, {bounds[-1].parts[0]}")

        def step() -> None:
            now = code.op(f"load i64, ptr {counter}")
            code.line(f"store i64 {code.op(f'add i64 {now}, 1')}, ptr {counter}")

        self._loop(condition, node.body, step)

    def _store(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self._assign(name, value)
            case ast.Subscript():
                address, of_type = self._entry(target)
                converted = self._converted(value, of_type)
                self._code.line(f"store {parts_of(of_type)[0]} {converted.parts[0]}, ptr {address}, align 8")
            case _:
                raise self._refuse(target)

    def _assign(self, name: str, value: Value) -> None:
        """Put a value into a name; the first one decides its type."""
        if name not in self._names:
            places = tuple(self._new_place(part) for part in parts_of(value.type))
            self._names[name] = Value(value.type, places)
        of_type, places = self._names[name]
        parts = self._converted(value, of_type).parts
        for part, entry, place in zip(parts_of(of_type), parts, places, strict=True):
            self._code.line(f"store {part} {entry}, ptr {place}")

    def _new_place(self, part: str) -> str:
        return self._head.op(f"alloca {part}")

    # Expressions

    def _condition(self, node: ast.expr) -> str:
        value = self._expression(node)
        if value.type != "bool":
            raise self._refuse(node)
        return value.parts[0]

    def _expression(self, node: ast.expr) -> Value:  # noqa: PLR0911 - a table
        match node:
            case ast.Constant(value=value):
                return number(value)
            case ast.Name(id=name):
                return self._named(name)
            case ast.Attribute(value=base, attr=field):
                return self._field(self._expression(base), field)
            case ast.Subscript():
                return self._subscript(node)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._arithmetic(operator, self._expression(left), self._expression(right), node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(self._expression(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Value("bool", (self._code.op(f"xor i1 {self._condition(operand)}, true"),))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return self._comparison(operator, self._expression(left), self._expression(right))
            case ast.BoolOp(op=operator, values=values):
                return self._junction(isinstance(operator, ast.And), values)
            case ast.IfExp(test=test, body=yes, orelse=no):
                return self._choice(test, yes, no)
            case ast.Call():
                return self._call(node)
            case _:
                raise self._refuse(node)

    def _named(self, name: str) -> Value:
        if name not in self._names:
            return number(self._procedure.look_up(name))
        of_type, places = self._names[name]
        parts = (self._code.op(f"load {p}, ptr {x}") for p, x in zip(parts_of(of_type), places, strict=True))
        return Value(of_type, tuple(parts))

    def _field(self, record: Value, field: str) -> Value:
        """A field of a record: its slots, which never change."""
        fields = fields_of(record.type)  # type: ignore[arg-type]
        slot = sum(len(parts_of(of_type)) for of_type in list(fields.values())[: list(fields).index(field)])
        parts = []
        for i, part in enumerate(parts_of(fields[field])):
            address = self._code.op(f"getelementptr i64, ptr {record.parts[0]}, i64 {slot + i}")
            parts.append(self._code.op(f"load {part}, ptr {address}, align 8, !invariant.load !0"))
        return Value(fields[field], tuple(parts))

    def _subscript(self, node: ast.Subscript) -> Value:
        address, of_type = self._entry(node)
        if of_type == "Floats":
            return Value(of_type, (address,))
        return Value(of_type, (self._code.op(f"load {parts_of(of_type)[0]}, ptr {address}, align 8"),))

    def _entry(self, node: ast.Subscript) -> tuple[str, Type]:
        """Address and type of an entry of an array; a row of a table is an array."""
        base = self._expression(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        numbers = [self._expression(index) for index in indices]
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

    def _arithmetic(self, operator: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
        is_whole = a.type == b.type == "int" and not isinstance(operator, ast.Div)
        name = _ARITHMETIC.get(type(operator), ("", ""))[0 if is_whole else 1]
        if not name:
            raise self._refuse(node)
        of_type: Type = "int" if is_whole else "float"
        x, y = self._converted(a, of_type).parts[0], self._converted(b, of_type).parts[0]
        return Value(of_type, (self._code.op(f"{name} {parts_of(of_type)[0]} {x}, {y}"),))

    def _negative(self, a: Value) -> Value:
        text = f"sub i64 0, {a.parts[0]}" if a.type == "int" else f"fneg double {a.parts[0]}"
        return Value(a.type, (self._code.op(text),))

    def _comparison(self, operator: ast.cmpop, a: Value, b: Value) -> Value:
        is_whole = a.type == b.type == "int"
        name = _COMPARISONS[type(operator)][0 if is_whole else 1]
        of_type: Type = "int" if is_whole else "float"
        x, y = self._converted(a, of_type).parts[0], self._converted(b, of_type).parts[0]
        text = f"icmp {name} i64 {x}, {y}" if is_whole else f"fcmp {name} double {x}, {y}"
        return Value("bool", (self._code.op(text),))

    def _junction(self, is_and: bool, values: Sequence[ast.expr]) -> Value:
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
        return Value("bool", (code.op(f"load i1, ptr {place}"),))

    def _choice(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> Value:
        """``a if b else c``, of numbers; both are computed."""
        flag, a, b = self._condition(test), self._expression(yes), self._expression(no)
        of_type = a.type if a.type == b.type else "float"
        return self._select(flag, self._converted(a, of_type), self._converted(b, of_type))

    def _select(self, flag: str, a: Value, b: Value) -> Value:
        part = parts_of(a.type)[0]
        return Value(a.type, (self._code.op(f"select i1 {flag}, {part} {a.parts[0]}, {part} {b.parts[0]}"),))

    def _converted(self, value: Value, of_type: Type) -> Value:
        if value.type == of_type:
            return value
        if (value.type, of_type) != ("int", "float"):
            raise NotSupported(f"{self._procedure.key}: a value of type {value.type} where {of_type} is needed")
        return Value("float", (self._code.op(f"sitofp i64 {value.parts[0]} to double"),))

    # Calls

    def _call(self, node: ast.Call) -> Value:
        values = [self._expression(argument) for argument in node.args]
        match node.func:
            case ast.Name(id="min" | "max" as name):
                operator = ast.Lt() if name == "min" else ast.Gt()
                of_type = values[0].type if values[0].type == values[1].type else "float"
                a, b = (self._converted(value, of_type) for value in values)
                return self._select(self._comparison(operator, b, a).parts[0], b, a)
            case ast.Name(id="sqrt" | "abs" as name):
                x = self._converted(values[0], "float").parts[0]
                function = "sqrt" if name == "sqrt" else "fabs"
                return Value("float", (self._code.op(f"call double @llvm.{function}.f64(double {x})"),))
            case ast.Name(id="float"):
                return self._converted(values[0], "float")
            case ast.Name(id="int"):
                return Value("int", (self._code.op(f"fptosi double {values[0].parts[0]} to i64"),))
            case ast.Attribute():
                return self._run_cases(self._expression(node.func), values)
            case ast.Name(id=name):
                return self._call_procedure(name, values)
            case _:
                raise self._refuse(node)

    def _run_cases(self, cases: Value, values: Sequence[Value]) -> Value:
        """Call a repeated law: the number of cases and the limit are the first entries of its table."""
        code, (function, table) = self._code, cases.parts
        limit_at = code.op(f"getelementptr i64, ptr {table}, i64 1")
        for value, place in zip(values, (table, limit_at), strict=True):
            code.line(f"store i64 {value.parts[0]}, ptr {place}, align 8")
        return Value("float", (code.op(f"call double {function}(ptr {table})"),))

    def _call_procedure(self, name: str, values: Sequence[Value]) -> Value:
        called = self._procedure.look_up(name)
        if not isinstance(called, Procedure):
            raise NotSupported(f"{self._procedure.key}: {name} is no procedure")
        self.called.append(called)
        types = [type_named(ast.unparse(a.annotation), called.look_up) for a in called.tree.args.args]  # type: ignore[arg-type]
        arguments = [
            f"{part} {entry}"
            for value, of_type in zip(values, types, strict=True)
            for part, entry in zip(parts_of(of_type), self._converted(value, of_type).parts, strict=True)
        ]
        returns = called.tree.returns
        result: Type = "None" if returns is None else type_named(ast.unparse(returns), called.look_up)
        text = f'call {result_type(result)} @"{called.key}"({", ".join(arguments)})'
        if result == "None":
            self._code.line(text)
            return Value(result, ())
        return Value(result, (self._code.op(text),))


def _loaded(target: ast.expr) -> ast.expr:
    """The expression of a place that is assigned to."""
    return ast.parse(ast.unparse(target), mode="eval").body
