"""What procedures in C are made of: values as expressions, records as structures, and what procedures change."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arm_control.compiler.procedures import NotSupported, Procedure, Type, called_procedure, fields_of

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
            return f"{self._name_of(field)} {c_name(name)}"
        if field not in NUMBERS:
            return ""
        sizes = "".join(f"[{max(size, 1)}]" for size in self._shapes[of_type].get(name, ()))
        return f"{NUMBERS[field]} {c_name(name)}{sizes}"


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
