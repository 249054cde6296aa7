"""Values of procedures as expressions of C: numbers, names, parentheses, types."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from arm_control.compiler.procedures import MachineOperation, NotSupported, Procedure, Type, fields_of, type_named

CHOICE, OR, AND, EQUALITY, ORDER, SUM, PRODUCT, UNARY, ATOM = range(9)
"""How closely the operators of an expression bind."""
INT_MAX = 2**31 - 1
"""Largest ``int`` of C; whole numbers of procedures have 64 bits."""

_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true
false NULL NAN INFINITY HUGE_VAL"""
_FUNCTIONS = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim
floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan
nearbyint nextafter pow remainder remquo rint round scalbn sin sinh sqrt tan tanh tgamma trunc isfinite isinf isnan
isnormal signbit"""
_TAKEN = frozenset(_KEYWORDS.split() + _FUNCTIONS.split())


class CValue(NamedTuple):
    """An expression.

    Attributes
    ----------
    type : str or type
        Its type in the text; an array is a pointer.
    level : int
        How closely it binds.
    columns : int
        Of a table.
    largest : int or None
        Bound on a whole number that is an ``int`` in C; None: it has 64 bits.
    is_struct : bool
        Whether it is a record itself, and not its address.
    """

    type: Type
    text: str
    level: int = ATOM
    columns: int = 0
    largest: int | None = None
    is_struct: bool = False

    def within(self, level: int) -> str:
        """Text of an operand of an operator that binds so closely."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def pointer(self) -> str:
        """Text of an argument or of a value to assign: of a record, its address."""
        return f"&{self.text}" if self.is_struct else self.text

    @property
    def as_float(self) -> CValue:
        """A whole number as a float."""
        if self.text.lstrip("-").isdigit():
            return CValue("float", number(float(self.text)), self.level)
        return CValue("float", f"(double){self.within(UNARY)}", UNARY)


def number(value: float) -> str:
    """Return a number as C reads it back to the last bit.

    Examples
    --------
    >>> number(0.1), number(2.0), number(-math.inf)
    ('0.1', '2.0', '-INFINITY')
    """
    value = float(value)
    if math.isnan(value):
        return "NAN"
    return repr(value) if math.isfinite(value) else "-INFINITY" if value < 0.0 else "INFINITY"


def whole_number(value: int) -> str:
    """Return a whole number of at most 64 bits in C.

    Examples
    --------
    >>> whole_number(7), whole_number(2**40), whole_number(-(2**63))
    ('7', 'INT64_C(1099511627776)', 'INT64_MIN')
    """
    if value == -(2**63):
        return "INT64_MIN"
    sign = "-" if value < 0 else ""
    return f"{sign}{abs(value)}" if abs(value) <= INT_MAX else f"{sign}INT64_C({abs(value)})"


def constant(value: object) -> CValue | None:
    """Return the value of a number; None for anything else."""
    if isinstance(value, bool):
        return CValue("bool", "true" if value else "false")
    level = UNARY if str(value).startswith("-") else ATOM
    if isinstance(value, int):
        return CValue("int", whole_number(value), level, largest=abs(value) if abs(value) <= INT_MAX else None)
    return CValue("float", number(value), level) if isinstance(value, float) else None


def c_name(name: str) -> str:
    """Return a name as C allows it.

    Examples
    --------
    >>> c_name("q"), c_name("_shift"), c_name("short"), c_name("round")
    ('q', 'shift', 'short_', 'round_')
    """
    word = name.lstrip("_") or "k"
    return f"{word}_" if word in _TAKEN else word


def unused(name: str, taken: Collection[str]) -> str:
    """Return a name like another one that is not among those that are taken."""
    while name in taken:
        name += "_"
    return name


# -- records


NUMBERS = {"int": "int64_t", "float": "double", "bool": "bool", "Floats": "double", "Ints": "int64_t", "Rows": "double"}
"""Type of a number, and of the numbers of an array."""
DIMENSIONS = {"Floats": 1, "Ints": 1, "Rows": 2}
"""Of arrays."""


class Structures:
    """The structures of records.

    Parameters
    ----------
    examples : mapping of type to record
        A record of each type; those of the records in it follow from it.
    name_of : callable
        Takes a type of records, and returns its name in C.
    """

    def __init__(self, examples: Mapping[type, tuple[Any, ...]], name_of: Callable[[type], str]) -> None:
        self._name_of = name_of
        self._shapes: dict[type, dict[str, tuple[int, ...]]] = {}
        for of_type, example in examples.items():
            self._add(of_type, example)
            _check_sharing(of_type, example)

    def _add(self, of_type: type, example: tuple[Any, ...]) -> None:
        """Note the shapes of a record, after those of the records in it."""
        shapes = {}
        for (name, field), value in zip(fields_of(of_type).items(), example, strict=True):
            if not isinstance(field, str):
                self._add(field, value)
            elif field in DIMENSIONS:
                shapes[name] = np.shape(value)
                if len(shapes[name]) != DIMENSIONS[field]:
                    raise NotSupported(f"{of_type.__name__}.{name} has shape {shapes[name]}, and is {field}")
        known = self._shapes.setdefault(of_type, shapes)
        for name, shape in shapes.items():
            if known[name] != shape:
                raise NotSupported(f"{of_type.__name__}.{name} has shapes {known[name]} and {shape}, one is allowed")

    def columns(self, of_type: type, field: str) -> int:
        """Number of columns of a table."""
        return self._shapes[of_type][field][1]

    def check(self, of_type: type) -> None:
        """Raise a NotSupported for a type of which there was no example."""
        if of_type not in self._shapes:
            raise NotSupported(f"{of_type.__name__}: no example of this record")

    @property
    def text(self) -> str:
        """All structures, those that others contain first."""
        return "\n\n".join(map(self._structure, self._shapes))

    def _structure(self, of_type: type) -> str:
        members = [self._member(of_type, name, field) for name, field in fields_of(of_type).items()]
        lines = [f"    {member};" for member in members if member]
        if not lines:
            raise NotSupported(f"{of_type.__name__} has no numbers, arrays or records")
        return "\n".join(["typedef struct {", *lines, f"}} {self._name_of(of_type)};"])

    def _member(self, of_type: type, name: str, field: Type) -> str:
        if not isinstance(field, str):
            return f"{self._name_of(field)} {member_name(name)}"
        if field not in NUMBERS:
            return ""
        sizes = "".join(f"[{max(size, 1)}]" for size in self._shapes[of_type].get(name, ()))
        return f"{NUMBERS[field]} {member_name(name)}{sizes}"


def member_name(name: str) -> str:
    """Return the name of a field in C."""
    return c_name(name)


def _check_sharing(of_type: type, example: tuple[Any, ...]) -> None:
    """Refuse arrays in shared memory: in C each has its own."""
    arrays = [(name, array) for name, array in _arrays(of_type.__name__, example) if math.prod(array.shape)]
    for i, (name, array) in enumerate(arrays):
        for other, values in arrays[:i]:
            if np.may_share_memory(array, values):
                raise NotSupported(f"{other} and {name} share memory, and would not in C")


def _arrays(name: str, record: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for field, value in zip(record._fields, record, strict=True):  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            yield from _arrays(f"{name}.{field}", value)
        elif isinstance(value, np.ndarray):
            yield f"{name}.{field}", value


# -- effects


Place: TypeAlias = tuple[str, str]
"""A procedure's key, and one of its names; its result is the empty name."""


def called_procedure(procedure: Procedure[..., Any], node: ast.AST) -> Procedure[..., Any] | None:
    """Return the procedure that an expression calls; None where it is no such call."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            try:
                called = procedure.look_up(name)
            except KeyError:
                return None  # a function of Python itself
            return called if isinstance(called, Procedure) else None
    return None


def all_procedures(entries: Iterable[Procedure[..., Any]]) -> list[Procedure[..., Any]]:
    """Return procedures and all that they call, each once."""
    known: dict[str, Procedure[..., Any]] = {}
    waiting = list(entries)
    while waiting:
        one = waiting.pop(0)
        if one.key not in known:
            known[one.key] = one
            waiting += [called for node in ast.walk(one.tree) if (called := called_procedure(one, node))]
    return list(known.values())


class Effects:
    """What procedures do to memory.

    Parameters
    ----------
    procedures : iterable of Procedure
        Procedures, with all that they call.
    also : iterable of Place
        Places that count as written.

    Attributes
    ----------
    written : set of Place
        What is written through.
    changing : set of str
        Keys of procedures that write anything, or call what may.
    """

    def __init__(self, procedures: Iterable[Procedure[..., Any]], also: Iterable[Place] = ()) -> None:
        self._sources: dict[Place, set[Place]] = {}
        self._callers: dict[str, set[str]] = {}
        self.written: set[Place] = set()
        self.changing: set[str] = set()
        waiting = list(also)
        for one in procedures:
            for node in ast.walk(one.tree):
                waiting += self._writes(one, node)
                self._note_flow(one, node)
        while waiting:
            place = waiting.pop()
            if place not in self.written:
                self.written.add(place)
                waiting += self._sources.get(place, ())
        keys = list(self.changing)
        while keys:
            new = self._callers.get(keys.pop(), set()) - self.changing
            self.changing |= new
            keys += new

    def _writes(self, one: Procedure[..., Any], node: ast.AST) -> list[Place]:
        """What a statement or a call of a record's function writes through."""
        match node:
            case ast.Assign(targets=[ast.Subscript(value=base)]) | ast.AugAssign(target=ast.Subscript(value=base)):
                pass
            case ast.Call(func=ast.Attribute(value=base)):
                pass
            case _:
                return []
        self.changing.add(one.key)
        return list(_roots(one, base))

    def _note_flow(self, one: Procedure[..., Any], node: ast.AST) -> None:
        """Note which places a name stands for."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._join((one.key, name), one, value)
            case ast.Return(value=ast.expr() as value):
                self._join((one.key, ""), one, value)
        if called := called_procedure(one, node):
            assert isinstance(node, ast.Call)
            self._callers.setdefault(called.key, set()).add(one.key)
            for parameter, value in zip(called.tree.args.args, node.args, strict=False):
                self._join((called.key, parameter.arg), one, value)

    def _join(self, place: Place, one: Procedure[..., Any], value: ast.expr) -> None:
        self._sources.setdefault(place, set()).update(_roots(one, value))

    def are_in_order(self, one: Procedure[..., Any], values: Iterable[ast.expr | None]) -> bool:
        """Whether the order of expressions makes no difference: what one of them changes, no other one reads."""
        trees = [list(ast.walk(value)) for value in values if value is not None]
        changes = [any(self._is_change(one, node) for node in tree) for tree in trees]
        reads = [any(isinstance(x, ast.Subscript) or called_procedure(one, x) for x in tree) for tree in trees]
        return not any(
            changes[i] and (changes[j] or reads[j]) for i in range(len(trees)) for j in range(len(trees)) if i != j
        )

    def is_change(self, one: Procedure[..., Any], value: ast.expr) -> bool:
        """Whether an expression changes anything."""
        return any(self._is_change(one, node) for node in ast.walk(value))

    def _is_change(self, one: Procedure[..., Any], node: ast.AST) -> bool:
        called = called_procedure(one, node)
        is_of_record = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        return is_of_record or (called is not None and called.key in self.changing)


def _roots(one: Procedure[..., Any], node: ast.expr) -> Iterator[Place]:
    """Names, or results of calls, that an array or a record may be a part of."""
    match node:
        case ast.Name(id=name):
            yield one.key, name
        case ast.Attribute(value=base) | ast.Subscript(value=base):
            yield from _roots(one, base)
        case ast.IfExp(body=yes, orelse=no):
            yield from _roots(one, yes)
            yield from _roots(one, no)
        case ast.Call():
            if called := called_procedure(one, node):
                yield called.key, ""


# -- expressions


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
        """Raise a NotSupported where the order of expressions makes a difference."""
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
        """Return the value of an operation."""
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
        """Return a value as one of another type: a whole number may become a float."""
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
