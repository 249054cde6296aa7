"""Expressions of procedures in C: values of the text, and calls.

C leaves the order open in which operands are computed. So an expression is refused in which one operand changes what
another one reads.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arm_control.compiler.c_effects import Effects
from arm_control.compiler.c_records import Structures, member_name
from arm_control.compiler.c_values import (
    AND,
    CHOICE,
    EQUALITY,
    INT_MAX,
    OR,
    ORDER,
    PRODUCT,
    SUM,
    UNARY,
    CValue,
    constant,
)
from arm_control.compiler.llvm_values import NotSupported, Type, fields_of, type_named
from arm_control.compiler.machine_operations import MachineOperation
from arm_control.compiler.procedures import Procedure

_ARITHMETIC = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.FloorDiv: ("/", PRODUCT),
    ast.Mod: ("%", PRODUCT),
}
_COMPARISONS = {
    ast.Lt: ("<", ORDER),
    ast.LtE: ("<=", ORDER),
    ast.Gt: (">", ORDER),
    ast.GtE: (">=", ORDER),
    ast.Eq: ("==", EQUALITY),
    ast.NotEq: ("!=", EQUALITY),
}
_OPERATIONS = {
    "exp": ("float", "exp({})"),
    "nearest": ("int", "(int64_t)nearbyint({})"),
    "same_bits": ("int", "({} & {})"),
}
"""Operations: the type of the result, and its text."""
HELPERS = {
    "min_double": "static double {name}(double a, double b)\n{{\n    return b < a ? b : a;\n}}",
    "max_double": "static double {name}(double a, double b)\n{{\n    return b > a ? b : a;\n}}",
    "min_int64": "static int64_t {name}(int64_t a, int64_t b)\n{{\n    return b < a ? b : a;\n}}",
    "max_int64": "static int64_t {name}(int64_t a, int64_t b)\n{{\n    return b > a ? b : a;\n}}",
}
"""Functions of C: the smaller and the larger number as in Python, which is neither ``fmin`` nor ``fmax``."""


class CFunctions(Protocol):
    """What the texts of all procedures share."""

    effects: Effects
    structures: Structures
    hooks: Mapping[str, str]

    def name_of(self, procedure: Procedure[..., Any], name: str) -> str:
        """Name in C of what a name of the module stands for."""

    def helper(self, name: str) -> str:
        """Name in C of one of :data:`HELPERS`, which is needed from now on."""

    def hook(self, record: type, field: str) -> str:
        """Name in C of the function for a field of a record, which is needed from now on."""

    def call(self, called: Procedure[..., Any], columns: Sequence[int]) -> str:
        """Name in C of a procedure that is called with tables of so many columns."""


class CExpressionWriter:
    """Writes the expressions of one procedure.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    program : CFunctions
        What all share.

    Attributes
    ----------
    names : dict of str to CValue
        Names of the procedure, as far as its text has been written.
    """

    def __init__(self, procedure: Procedure[..., Any], program: CFunctions) -> None:
        self._procedure, self._program = procedure, program
        self.names: dict[str, CValue] = {}

    def type_of(self, annotation: ast.expr | None) -> Type:
        """Return the type that an annotation names."""
        return type_of(self._procedure, annotation)

    def refuse(self, node: ast.AST, why: str = "") -> NotSupported:
        """Return the error that a part of the text cannot be written in C."""
        text = f"{self._procedure.key}: cannot be written in C: {ast.unparse(node)}"
        return NotSupported(f"{text}: {why}" if why else text)

    def check_order(self, node: ast.AST, values: Sequence[ast.expr | None]) -> None:
        """Raise a NotSupported where the order of expressions makes a difference.

        Parameters
        ----------
        node : ast.AST
            What they are part of.
        values : sequence of ast.expr
            The expressions; those that are None do not count.
        """
        if not self._program.effects.are_in_order(self._procedure, values):
            raise self.refuse(node, "one part changes what another one may read; use a name for it")

    def condition(self, node: ast.expr) -> CValue:
        """Return an expression that is true or false."""
        value = self.write(node)
        if value.type != "bool":
            raise self.refuse(node)
        return value

    def write(self, node: ast.expr) -> CValue:  # noqa: PLR0911 - a table
        """Return the value of an expression."""
        match node:
            case ast.Constant(value=value):
                return constant(value) or self._raise(node)
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Attribute(value=base, attr=field):
                return self._field(node, self.write(base), field)
            case ast.Subscript():
                return self.entry(node)
            case ast.BinOp(left=left, op=operator, right=right):
                self.check_order(node, [left, right])
                return self.arithmetic(operator, self.write(left), self.write(right), node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(node, self.write(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return CValue("bool", f"!{self.condition(operand).within(UNARY)}", UNARY)
            case ast.Compare():
                return self._chain(node)
            case ast.BoolOp(op=operator, values=values):
                return self._junction(isinstance(operator, ast.And), values)
            case ast.IfExp(test=test, body=yes, orelse=no):
                return self._choice(node, self.condition(test), self.write(yes), self.write(no))
            case ast.Call():
                return self._call(node)
            case _:
                raise self.refuse(node)

    def _raise(self, node: ast.AST) -> CValue:
        raise self.refuse(node)

    def _named(self, node: ast.expr, name: str) -> CValue:
        if name in self.names:
            return self.names[name]
        try:
            value = constant(self._procedure.look_up(name))
        except KeyError:
            value = None
        if value is None:
            raise self.refuse(node)
        return CValue(value.type, self._program.name_of(self._procedure, name), largest=value.largest)

    def _field(self, node: ast.AST, record: CValue, field: str) -> CValue:
        if isinstance(record.type, str):
            raise self.refuse(node)
        of_type = fields_of(record.type)[field]
        dot = "." if record.is_struct else "->"
        columns = self._program.structures.columns(record.type, field) if of_type == "Rows" else 0
        is_struct = not isinstance(of_type, str)
        text = f"{record.within(UNARY + 1)}{dot}{member_name(field)}"
        return CValue(of_type, text, columns=columns, is_struct=is_struct)

    def entry(self, node: ast.Subscript) -> CValue:
        """Return an entry of an array; a row of a table is an array."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        self.check_order(node, indices)
        base, numbers = self.write(node.value), [self.write(index) for index in indices]
        most = {"Floats": 1, "Ints": 1, "Rows": 2}.get(base.type if isinstance(base.type, str) else "", 0)
        if not 0 < len(numbers) <= most or any(number.type != "int" for number in numbers):
            raise self.refuse(node)
        text = base.within(UNARY + 1) + "".join(f"[{number.text}]" for number in numbers)
        if base.type == "Rows":
            return CValue("Floats" if len(numbers) == 1 else "float", text)
        return CValue("int" if base.type == "Ints" else "float", text)

    def arithmetic(self, operator: ast.operator, a: CValue, b: CValue, node: ast.AST) -> CValue:
        """Return the value of an operation.

        Parameters
        ----------
        operator : ast.operator
            The operation.
        a, b : CValue
            Its operands.
        node : ast.AST
            All of it.
        """
        if type(operator) not in _ARITHMETIC:
            raise self.refuse(node)
        sign, level = _ARITHMETIC[type(operator)]
        is_whole = a.type == b.type == "int" and not isinstance(operator, ast.Div)
        if not is_whole:
            if isinstance(operator, (ast.FloorDiv, ast.Mod)):
                raise self.refuse(node)
            a, b = self.converted(node, a, "float"), self.converted(node, b, "float")
            return CValue("float", f"{a.within(level)} {sign} {b.within(level + 1)}", level)
        largest = _largest(operator, a.largest, b.largest)
        if largest is not None and largest > INT_MAX:
            a, largest = CValue("int", f"(int64_t){a.within(UNARY)}", UNARY), None
        return CValue("int", f"{a.within(level)} {sign} {b.within(level + 1)}", level, largest=largest)

    def _negative(self, node: ast.AST, a: CValue) -> CValue:
        if a.type not in ("int", "float"):
            raise self.refuse(node)
        text = f"-{a.within(UNARY)}" if not a.text.startswith("-") else f"-({a.text})"
        return CValue(a.type, text, UNARY, largest=a.largest)

    def _chain(self, node: ast.Compare) -> CValue:
        """``a < b < c``: the expressions in the middle stand there twice."""
        parts = [node.left, *node.comparators]
        self.check_order(node, parts)
        if any(self._program.effects.is_change(self._procedure, part) for part in parts[1:-1]):
            raise self.refuse(node, "the middle of a comparison changes something; use a name for it")
        values = [self.write(part) for part in parts]
        links = [self._comparison(node, *link) for link in zip(node.ops, values, values[1:], strict=False)]
        if len(links) == 1:
            return links[0]
        return CValue("bool", " && ".join(link.within(AND + 1) for link in links), AND)

    def _comparison(self, node: ast.AST, operator: ast.cmpop, a: CValue, b: CValue) -> CValue:
        if type(operator) not in _COMPARISONS:
            raise self.refuse(node)
        sign, level = _COMPARISONS[type(operator)]
        if not a.type == b.type == "int":
            a, b = self.converted(node, a, "float"), self.converted(node, b, "float")
        return CValue("bool", f"{a.within(ORDER + 1)} {sign} {b.within(ORDER + 1)}", level)

    def _junction(self, is_and: bool, nodes: Sequence[ast.expr]) -> CValue:
        sign, level = (" && ", AND) if is_and else (" || ", OR)
        return CValue("bool", sign.join(self.condition(node).within(AND + 1) for node in nodes), level)

    def _choice(self, node: ast.AST, test: CValue, a: CValue, b: CValue) -> CValue:
        of_type = a.type if a.type == b.type else "float"
        a, b = self.converted(node, a, of_type), self.converted(node, b, of_type)
        if a.columns != b.columns:
            raise self.refuse(node)
        largest = None if a.largest is None or b.largest is None else max(a.largest, b.largest)
        yes, no = (CValue(of_type, value.pointer, value.level).within(CHOICE + 1) for value in (a, b))
        return CValue(of_type, f"{test.within(AND + 1)} ? {yes} : {no}", CHOICE, a.columns, largest)

    def converted(self, node: ast.AST, value: CValue, of_type: Type) -> CValue:
        """Return a value as one of another type: a whole number may become a float.

        Parameters
        ----------
        node : ast.AST
            What needs it.
        value : CValue
            The value.
        of_type : str or type
            The type.
        """
        if value.type == of_type:
            return value
        if (value.type, of_type) != ("int", "float"):
            raise self.refuse(node, f"a value of type {type_name(value.type)} where {type_name(of_type)} is needed")
        return value.as_float

    # Calls

    def _call(self, node: ast.Call) -> CValue:
        if node.keywords:
            raise self.refuse(node)
        self.check_order(node, node.args)
        match node.func:
            case ast.Attribute(value=base, attr=field):
                return self._call_field(node, self.write(base), field)
            case ast.Name(id="min" | "max" as name) if len(node.args) == 2:
                return self._call_extreme(node, name, [self.write(argument) for argument in node.args])
            case ast.Name(id="sqrt" | "abs" | "float" | "int" as name) if len(node.args) == 1:
                return self._call_number(node, name, self.write(node.args[0]))
            case ast.Name(id=name) if name not in ("min", "max", "sqrt", "abs", "float", "int"):
                return self._call_named(node, name, [self.write(argument) for argument in node.args])
            case _:
                raise self.refuse(node)

    def _call_extreme(self, node: ast.AST, name: str, values: Sequence[CValue]) -> CValue:
        of_type = values[0].type if values[0].type == values[1].type else "float"
        if of_type not in ("int", "float"):
            raise self.refuse(node)
        a, b = (self.converted(node, value, of_type).text for value in values)
        function = self._program.helper(f"{name}_{'int64' if of_type == 'int' else 'double'}")
        return CValue(of_type, f"{function}({a}, {b})")

    def _call_number(self, node: ast.AST, name: str, x: CValue) -> CValue:
        if name == "int":
            if x.type != "float":
                raise self.refuse(node)
            return CValue("int", f"(int64_t){x.within(UNARY)}", UNARY)
        x = self.converted(node, x, "float")
        if name == "float":
            return x
        return CValue("float", f"{'sqrt' if name == 'sqrt' else 'fabs'}({x.text})")

    def _call_field(self, node: ast.Call, record: CValue, field: str) -> CValue:
        """Call a function that is a field of a record."""
        if isinstance(record.type, str) or fields_of(record.type).get(field) != "RunsKernel" or node.args:
            raise self.refuse(node)
        if f"{record.type.__name__}.{field}" not in self._program.hooks:
            raise self.refuse(node, f"hooks name no function for {record.type.__name__}.{field}")
        return CValue("float", f"{self._program.hook(record.type, field)}({record.pointer})")

    def _call_named(self, node: ast.Call, name: str, values: Sequence[CValue]) -> CValue:
        try:
            called = self._procedure.look_up(name)
        except KeyError:
            raise self.refuse(node) from None
        if isinstance(called, MachineOperation):
            return self._call_operation(node, called, values)
        if isinstance(called, Procedure):
            return self._call_procedure(node, called, values)
        raise self.refuse(node, f"{name} is no procedure")

    def _call_operation(self, node: ast.Call, called: MachineOperation[..., Any], values: Sequence[CValue]) -> CValue:
        if called.__name__ not in _OPERATIONS:
            raise self.refuse(node, f"C has no operation {called.__name__}")
        of_type, text = _OPERATIONS[called.__name__]
        types = [of_type for name, of_type in called.function.__annotations__.items() if name != "return"]
        self._check_number(node, values, types)
        words = [self.converted(node, value, to) for value, to in zip(values, types, strict=True)]
        operands = [word.within(UNARY) if called.__name__ == "same_bits" else word.text for word in words]
        return CValue(of_type, text.format(*operands), UNARY if text.startswith("(int64_t)") else UNARY + 1)

    def _check_number(self, node: ast.Call, values: Sequence[CValue], types: Sequence[Type]) -> None:
        if len(values) != len(types):
            raise self.refuse(node, f"{len(values)} arguments, {len(types)} allowed")

    def _call_procedure(self, node: ast.Call, called: Procedure[..., Any], values: Sequence[CValue]) -> CValue:
        types = [type_of(called, argument.annotation) for argument in called.tree.args.args]
        self._check_number(node, values, types)
        arguments = [self.converted(node, value, to) for value, to in zip(values, types, strict=True)]
        function = self._program.call(called, [argument.columns for argument in arguments])
        return CValue(type_of(called, called.tree.returns), f"{function}({', '.join(x.pointer for x in arguments)})")


def _largest(operator: ast.operator, a: int | None, b: int | None) -> int | None:
    """Bound on the result of whole numbers that are ``int`` in C; None where one of them is not."""
    if a is None or b is None:
        return None
    match operator:
        case ast.Add() | ast.Sub():
            return a + b
        case ast.Mult():
            return a * b
    return a


def type_of(procedure: Procedure[..., Any], annotation: ast.expr | None) -> Type:
    """Return the type that an annotation of a procedure names."""
    return "None" if annotation is None else type_named(ast.unparse(annotation), procedure.look_up)


def type_name(of_type: Type) -> str:
    """Return the name of a type in messages."""
    return of_type if isinstance(of_type, str) else of_type.__name__
