"""Values of procedures as expressions of C: numbers, names, parentheses, types."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from arm_control.compiler.llvm_values import Type

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
    text : str
        Its text.
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
