"""Forms of built-in calls: what a function takes and returns, for the machine code that checks and makes it.

A kernel computes in a block of memory: all inputs, then all outputs. A form says how the objects of a call and that
block belong together:

    CallForm("mass_matrix", (ArrayArgument("q", (6,)),), ArrayResult("M"), bound=("tool",))

is a function of one array that returns an array. Inputs are taken from the arguments, or from an array that is bound
to the function (here the tool); all others are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

INTO = "into"
"""Keyword of an earlier result."""


class Block(Protocol):
    """What a kernel computes in: a :class:`~arm_control.compiler.program.Program`, or sizes and shapes alone."""

    @property
    def inputs(self) -> Mapping[str, int]:
        """Name and size of each input."""

    @property
    def outputs(self) -> Mapping[str, tuple[int, ...]]:
        """Name and shape of each output."""


@dataclass(frozen=True)
class ArrayArgument:
    """An array of floats for an input, or for a part of it.

    Attributes
    ----------
    input : str
        Name of the input.
    shape : tuple of int
        Shape of the array.
    first : int
        Entry of the input that its first entry becomes.
    """

    input: str
    shape: tuple[int, ...]
    first: int = 0


@dataclass(frozen=True)
class TargetArgument:
    """An array that is filled with an output, or with an input, by its name."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class NumberArgument:
    """A ``float`` for an input of size 1."""

    input: str


@dataclass(frozen=True)
class TupleArgument:
    """A tuple of exactly this type, and what is in it; None: an item that is not used."""

    type: type[tuple[object, ...]]
    items: tuple[Argument | None, ...]


@dataclass(frozen=True)
class ObjectArgument:
    """An object of exactly this type, and some of its attributes by name."""

    type: type
    attributes: tuple[tuple[str, Argument], ...]


@dataclass(frozen=True)
class ItemsArgument:
    """A list or tuple of the very objects, in their order, that are in a tuple in a list bound to the function.

    Attributes
    ----------
    name : str
        Name of the list.
    item : int
        Place of the tuple in the list.
    """

    name: str
    item: int = 0


Argument: TypeAlias = ArrayArgument | TargetArgument | NumberArgument | TupleArgument | ObjectArgument | ItemsArgument


@dataclass(frozen=True)
class ArrayResult:
    """A new array with an output."""

    output: str


@dataclass(frozen=True)
class InputResult:
    """A new array (size,) with an input."""

    input: str


@dataclass(frozen=True)
class NumberResult:
    """A new float: an entry of an output."""

    output: str
    entry: int = 0


@dataclass(frozen=True)
class FlagResult:
    """``True`` where an entry of an output is above zero, else ``False``."""

    output: str
    entry: int = 0


@dataclass(frozen=True)
class BoundResult:
    """An object that is bound to the function, the same in every call."""

    name: str


@dataclass(frozen=True)
class ItemResult:
    """The object that is at a place of a list bound to the function."""

    name: str
    item: int


@dataclass(frozen=True)
class TupleResult:
    """A new tuple of this type, and what is in it."""

    type: type[tuple[object, ...]]
    items: tuple[Result, ...]


Result: TypeAlias = ArrayResult | InputResult | NumberResult | FlagResult | BoundResult | ItemResult | TupleResult


@dataclass(frozen=True)
class CallForm:
    """What a built-in function takes and returns.

    Attributes
    ----------
    name : str
        Name of the function.
    arguments : tuple of Argument
        In their order.
    result : Result
        What is returned.
    n_required : int, optional
        Number of arguments that must be there; all by default. Inputs of those that are missing are zero.
    takes_none : bool
        Whether ``None`` counts as missing.
    fills : bool
        Whether an earlier result may be given by the keyword :data:`INTO`, which is filled and returned; the result
        consists of arrays and tuples.
    bound : tuple of str
        Inputs that are read from an array bound to the function.
    certificates : tuple of str
        Outputs of size 1 that must be above zero for the result to count.
    objection : str
        Output of size 1 that must not be above zero; empty: none.
    is_finite : bool
        Whether every output must be finite for the result to count.
    """

    name: str
    arguments: tuple[Argument, ...]
    result: Result
    n_required: int | None = None
    bound: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()
    objection: str = ""
    takes_none: bool = False
    fills: bool = False
    is_finite: bool = False

    @property
    def least(self) -> int:
        """Number of arguments that must be there."""
        return len(self.arguments) if self.n_required is None else self.n_required

    @property
    def filled_inputs(self) -> frozenset[str]:
        """Inputs that have numbers in every call."""
        needed = (name for argument in self.arguments[: self.least] for name in _inputs_of(argument))
        return frozenset((*self.bound, *needed))

    @property
    def bound_objects(self) -> tuple[str, ...]:
        """Names of all that is bound to the function: arrays first, then lists and objects that it returns."""
        names = [argument.name for argument in self.arguments if isinstance(argument, ItemsArgument)]
        names += [part.name for part in parts_of(self.result) if isinstance(part, BoundResult | ItemResult)]
        return (*self.bound, *dict.fromkeys(names))


def parts_of(result: Result) -> Iterator[Result]:
    """Yield a result and all that is in it: what a tuple holds comes before the tuple."""
    if isinstance(result, TupleResult):
        for item in result.items:
            yield from parts_of(item)
    yield result


def target_of(result: Result, shape_of: Callable[[ArrayResult | InputResult], tuple[int, ...]]) -> Argument:
    """Return an earlier result as an argument that is filled.

    Parameters
    ----------
    result : Result
        Of arrays and tuples.
    shape_of : callable
        Shape of an array in it.
    """
    if isinstance(result, TupleResult):
        return TupleArgument(result.type, tuple(target_of(item, shape_of) for item in result.items))
    if isinstance(result, ArrayResult):
        return TargetArgument(result.output, shape_of(result))
    if isinstance(result, InputResult):
        return TargetArgument(result.input, shape_of(result))
    raise TypeError(f"{result} cannot be filled")


def is_fillable(result: Result) -> bool:
    """Whether a result consists of arrays and tuples."""
    return all(isinstance(part, ArrayResult | InputResult | TupleResult) for part in parts_of(result))


def _inputs_of(argument: Argument | None) -> Iterator[str]:
    if isinstance(argument, ArrayArgument | NumberArgument):
        yield argument.input
    elif isinstance(argument, TupleArgument):
        for item in argument.items:
            yield from _inputs_of(item)
    elif isinstance(argument, ObjectArgument):
        for _, item in argument.attributes:
            yield from _inputs_of(item)
