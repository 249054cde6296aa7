"""Statements of procedures in C: one function for each procedure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from arm_control.compiler import c_expressions
from arm_control.compiler.c_effects import Place
from arm_control.compiler.c_expressions import CExpressionWriter
from arm_control.compiler.c_layout import Comments, doc_comment, is_single, shifted, wrapped
from arm_control.compiler.c_values import SUM, UNARY, CValue, unused
from arm_control.compiler.c_variables import Variables
from arm_control.compiler.procedures import Procedure

_OPERATORS = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/=", ast.FloorDiv: "/=", ast.Mod: "%="}
_NOTHING = {"int": "0", "float": "0.0", "bool": "false"}
"""First values of variables that are declared in front of their first assignment."""
_LATE = re.compile("\0(.*)\0")
"""What stands for such a declaration."""


class CProgram(c_expressions.CFunctions, Protocol):
    """What the texts of all procedures share."""

    def name_of_procedure(self, procedure: Procedure[..., Any]) -> str:
        """Name in C of a procedure."""

    def variable_names(self, names: Iterable[str]) -> dict[str, str]:
        """Names in C of the variables of a procedure: different ones, and none of a constant or a function."""

    def declaration(self, value: CValue, name: str, place: Place) -> str:
        """Declaration of a variable, a parameter or a function, which is the place of the result.

        Parameters
        ----------
        value : CValue
            Something of its type.
        name : str
            Its name in C.
        place : Place
            What it is in the procedure.
        """


class FunctionWriter:
    """Writes one procedure.

    Attributes
    ----------
    head : str
        The function without its body.
    tables : list of Place
        Its names that are tables.
    """

    def __init__(self, procedure: Procedure[..., Any], program: CProgram, columns: Sequence[int]) -> None:
        self._procedure, self._program = procedure, program
        self._expressions = CExpressionWriter(procedure, program)
        self._variables = Variables(procedure.tree)
        self._words = program.variable_names(self._variables.names)
        self._taken = set(self._words.values())
        self._comments = Comments(procedure.source, procedure.tree.body[0].lineno)
        self._result = CValue(self._expressions.type_of(procedure.tree.returns), "")
        self._late: dict[str, str] = {}
        self.tables: list[Place] = []
        parameters = []
        for argument, n in zip(procedure.tree.args.args, columns, strict=True):
            of_type = self._expressions.type_of(argument.annotation)
            parameters.append(self._declare(argument.arg, CValue(of_type, "", columns=n)))
        declaration = program.declaration(self._result, program.name_of_procedure(procedure), (procedure.key, ""))
        self.head = f"static {declaration}({', '.join(parameters) or 'void'})"

    def write(self) -> str:
        """The function's text."""
        definition = self._procedure.tree
        unread = [one.arg for one in definition.args.args if one.arg not in self._variables.read]
        lines = [f"(void){self._words[name]};" for name in unread] + self._block(definition.body)
        body = [_LATE.sub(lambda place: self._late.get(place[1], ""), line) for line in shifted(lines)]
        texts = [*doc_comment(self._procedure.__doc__), self.head, "{", *(line for line in body if line.strip()), "}"]
        return "\n".join(piece for line in texts for piece in wrapped(line))

    def _declare(self, name: str, value: CValue) -> str:
        """Let a name have the type of a value; returns its declaration."""
        if value.type == "Rows":
            self.tables.append((self._procedure.key, name))
        self._expressions.names[name] = CValue(value.type, self._words[name], columns=value.columns)
        return self._program.declaration(value, self._words[name], (self._procedure.key, name))

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> list[str]:
        return [line for statement in statements for line in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[str]:
        """The lines of a statement, with its comments and what is declared in front of it."""
        above = self._comments.above(node)
        late = [f"\0{name}\0" for name in self._variables.declared_before(node)]
        match node:
            case ast.If():
                lines = self._if(node)
            case ast.While(test=test, body=body, orelse=[]):
                lines = self._loop(node, f"while ({self._expressions.condition(test).text})", self._block(body))
            case ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range")), orelse=[]):
                lines = self._for(node)
            case _:
                lines = [line + self._comments.behind(node) for line in self._simple(node)]
        return [*above, *late, *lines]

    def _simple(self, node: ast.stmt) -> list[str]:  # noqa: PLR0911 - a table
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []  # a docstring
            case ast.Expr(value=ast.Call() as call):
                return [f"{self._expressions.write(call).text};"]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return [self._assign(node, name, self._expressions.write(value))]
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return [self._store(node, target, value)]
            case ast.AugAssign():
                return [self._change(node)]
            case ast.Break():
                return ["break;"]
            case ast.Continue():
                return ["continue;"]
            case ast.Return(value=None | ast.Constant(value=None)) if self._result.type == "None":
                return ["return;"]
            case ast.Return(value=ast.expr() as value) if self._result.type != "None":
                result = self._expressions.converted(node, self._expressions.write(value), self._result.type)
                return [f"return {result.pointer};"]
            case _:
                raise self._expressions.refuse(node)

    def _assign(self, node: ast.stmt, name: str, value: CValue) -> str:
        """Assign to a name; the first value decides its type."""
        known = self._expressions.names.get(name)
        if value.type == "None" or (known and known.columns != value.columns):
            raise self._expressions.refuse(node)
        if name not in self._variables.read and known is None:
            return f"(void){value.within(UNARY)};"
        if known is None:
            declaration = self._declare(name, value)
            if self._variables.declared_with(node) == name:
                return f"{declaration} = {value.pointer};"
            self._late[name] = f"{declaration} = {_NOTHING.get(str(value.type), 'NULL')};"
        value = self._expressions.converted(node, value, self._expressions.names[name].type)
        return f"{self._words[name]} = {value.pointer};"

    def _store(self, node: ast.stmt, target: ast.Subscript, value: ast.expr) -> str:
        self._expressions.check_order(node, [target.value, target.slice, value])
        place = self._place(target)
        return f"{place.text} = {self._expressions.converted(node, self._expressions.write(value), place.type).text};"

    def _place(self, target: ast.expr) -> CValue:
        """What is assigned to: a number."""
        place = self._expressions.write(target)
        if not isinstance(target, (ast.Name, ast.Subscript)) or place.type not in ("int", "float"):
            raise self._expressions.refuse(target)
        return place

    def _change(self, node: ast.AugAssign) -> str:
        self._expressions.check_order(node, [node.target, node.value])
        place, value = self._place(node.target), self._expressions.write(node.value)
        result = self._expressions.arithmetic(node.op, place, value, node)
        self._expressions.converted(node, result, place.type)
        value = self._expressions.converted(node, value, place.type)
        return f"{place.text} {_OPERATORS[type(node.op)]} {value.text};"

    def _if(self, node: ast.If) -> list[str]:
        """``if``, ``else if`` and ``else``: with braces where one of the blocks needs them."""
        arms: list[tuple[str, list[str], str]] = []
        word, rest = "if", [node]  # type: str, list[ast.stmt]
        while (
            len(rest) == 1 and isinstance(rest[0], ast.If) and not (arms and self._variables.declared_before(rest[0]))
        ):
            one = rest[0]
            behind = self._comments.behind(one)
            head = f"{word} ({self._expressions.condition(one.test).text})"
            arms.append((head, self._block(one.body), behind))
            word, rest = "else if", one.orelse
        if otherwise := self._block(rest):
            arms.append(("else", otherwise, ""))
        if all(is_single(lines) for _, lines, _ in arms):
            return [line for head, lines, behind in arms for line in (head + behind, *shifted(lines))]
        result: list[str] = []
        for head, lines, behind in arms:
            result[-1:] = [f"{'} ' if result else ''}{head} {{{behind}", *shifted(lines), "}"]
        return result

    def _loop(self, node: ast.stmt, head: str, body: list[str]) -> list[str]:
        behind = self._comments.behind(node)
        if is_single(body):
            return [head + behind, *shifted(body)]
        return [f"{head} {{{behind}", *shifted(body), "}"]

    def _for(self, node: ast.For) -> list[str]:
        """A loop over a range, whose ends are computed once."""
        assert isinstance(node.target, ast.Name)
        assert isinstance(node.iter, ast.Call)
        name, arguments = node.target.id, node.iter.args
        self._expressions.check_order(node.iter, arguments)
        bounds = [self._expressions.write(bound) for bound in arguments]
        if len(bounds) not in (1, 2) or any(bound.type != "int" for bound in bounds):
            raise self._expressions.refuse(node.iter)
        first, end, before = bounds[0].text if len(bounds) == 2 else "0", bounds[-1].within(SUM), []
        if not _is_fixed(arguments[-1], node):
            before = [f"const int64_t {(new := self._new_name(f'{self._words[name]}_end'))} = {end};"]
            end = new
        copies: list[str] = []
        counter = self._words[name]
        if name in self._variables.counters:
            self._expressions.names[name] = CValue("int", counter)
        else:
            counter = self._new_name(f"{counter}_now")
            if name in self._variables.read:
                copies = [self._assign(node, name, CValue("int", counter))]
        head = f"for (int64_t {counter} = {first}; {counter} < {end}; {counter}++)"
        return [*before, *self._loop(node, head, [*copies, *self._block(node.body)])]

    def _new_name(self, name: str) -> str:
        new = unused(name, self._taken)
        self._taken.add(new)
        return new


def _is_fixed(node: ast.expr, loop: ast.For) -> bool:
    """Whether an expression has the same value all through a loop: numbers, fields of records, names left alone."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return all(
                use.id != name or isinstance(use.ctx, ast.Load) for use in ast.walk(loop) if isinstance(use, ast.Name)
            )
        case ast.Attribute(value=base):
            return _is_fixed(base, loop)
        case ast.BinOp(left=left, right=right):
            return _is_fixed(left, loop) and _is_fixed(right, loop)
        case _:
            return False
