"""Forms of calls: what a function takes and returns, and how that belongs to the memory that a kernel works on.

    CallForm("mass_matrix", (ArrayArgument("q", (6,)),), ArrayResult("M"), bound=("tool",))

is a function of one array that returns an array. Inputs are taken from the arguments, or from an array that is bound to
the function (here the tool); all others are zero. A :class:`KernelCall` is such a function in Python;
:mod:`arm_control.compiler.builtin_calls` makes machine code of it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any, Literal, TypeAlias

import numpy as np

from arm_control.compiler.procedures import RunsKernel
from arm_control.maths import Array

INTO = "into"
"""Keyword of an earlier result."""


@dataclass(frozen=True)
class ArrayArgument:
    """An array of floats for an input, or for a part of it that begins at the entry ``first``."""

    input: str
    shape: tuple[int, ...]
    first: int = 0


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
    """A list or tuple of the very objects, in their order, of a tuple: the entry ``item`` of a bound list."""

    name: str
    item: int = 0


Argument: TypeAlias = ArrayArgument | NumberArgument | TupleArgument | ObjectArgument | ItemsArgument


@dataclass(frozen=True)
class ArrayResult:
    """A new array with an output, or with an input of shape (size,)."""

    name: str


@dataclass(frozen=True)
class NumberResult:
    """A new float, an entry of an output; of a flag ``True`` where it is above zero, else ``False``."""

    output: str
    entry: int = 0
    is_flag: bool = False


@dataclass(frozen=True)
class BoundResult:
    """An object that is bound to the function; with a place, what is there in a list that is bound."""

    name: str
    item: int | None = None


@dataclass(frozen=True)
class TupleResult:
    """A new tuple of this type, and what is in it."""

    type: type[tuple[object, ...]]
    items: tuple[Result, ...]


Result: TypeAlias = ArrayResult | NumberResult | BoundResult | TupleResult


@dataclass(frozen=True)
class CallForm:
    """What a function takes and returns.

    Attributes
    ----------
    n_required : int, optional
        Number of arguments that must be there; all by default. Inputs of those that are missing are zero.
    bound : tuple of str
        Inputs that are read from an array bound to the function.
    certificate : str
        Output of size 1 that must be above zero for the result to count; empty: none.
    takes_none : bool
        Whether ``None`` counts as missing.
    finite : "nothing", "inputs" or "all"
        What must be finite for the result to count.
    """

    name: str
    arguments: tuple[Argument | None, ...]
    result: Result
    n_required: int | None = None
    bound: tuple[str, ...] = ()
    certificate: str = ""
    takes_none: bool = False
    finite: Literal["nothing", "inputs", "all"] = "inputs"

    @property
    def least(self) -> int:
        """Number of arguments that must be there."""
        return len(self.arguments) if self.n_required is None else self.n_required

    @property
    def is_fillable(self) -> bool:
        """Whether an earlier result may be given by the keyword :data:`INTO`: it consists of arrays and tuples."""
        return all(isinstance(part, ArrayResult | TupleResult) for part in parts_of(self.result))

    @property
    def bound_objects(self) -> tuple[str, ...]:
        """Names of all that is bound to the function: arrays first, then lists and objects that it returns."""
        names = [argument.name for argument in self.arguments if isinstance(argument, ItemsArgument)]
        names += [part.name for part in parts_of(self.result) if isinstance(part, BoundResult)]
        return (*self.bound, *dict.fromkeys(names))


def parts_of(result: Result) -> Iterator[Result]:
    """Yield a result and all that is in it: what a tuple holds comes before the tuple."""
    if isinstance(result, TupleResult):
        for item in result.items:
            yield from parts_of(item)
    yield result


class KernelCall:
    """A function of a form around a kernel or a procedure. Threads may share it, if nothing else uses the memory.

    Parameters
    ----------
    run : RunsKernel
        Computes outputs from inputs and returns 0 where they count: a kernel on memory of its own, or a procedure.
    inputs, outputs : mapping of str to ndarray
        Its memory by name; inputs lie one behind the other, and so do outputs.
    bound : mapping of str to object
        What is bound to the function: for an input an array of floats, read in every call; for a result an object.
    """

    def __init__(
        self,
        form: CallForm,
        run: RunsKernel,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        bound: Mapping[str, object],
    ) -> None:
        self.form, self.run, self.inputs, self.outputs, self.bound = form, run, inputs, outputs, bound
        self._takers = [self._taker(argument) for argument in form.arguments]
        self._copies = [(inputs[name], bound[name]) for name in form.bound]
        self._certificate = outputs[form.certificate].item if form.certificate else lambda: 1.0
        self._make, self._lock = self._maker(form.result), RLock()

    def __call__(self, *arguments: Any) -> Any:
        """Return the result, for any array-like; None where arguments do not fit, or the result does not count."""
        with self._lock:
            for view in self.inputs.values():
                view[...] = 0.0
            for view, array in self._copies:
                view[...] = array
            return self._make() if self._is_taken(arguments) and self._counts() else None

    def _is_taken(self, arguments: tuple[Any, ...]) -> bool:
        """Copy arguments to the inputs; whether all of them fit."""
        if not self.form.least <= len(arguments) <= len(self._takers):
            return False
        try:
            return all(
                (value is None and self.form.takes_none and k >= self.form.least) or take(value)
                for k, (take, value) in enumerate(zip(self._takers, arguments, strict=False))
            )
        except (AttributeError, TypeError, ValueError):
            return False

    def _counts(self) -> bool:
        """Compute; whether the result counts."""
        finite = self.form.finite
        counts = (self.run() == 0.0 or finite == "nothing") and self._certificate() > 0.0
        return counts and (finite != "all" or all(np.isfinite(x).all() for x in self.outputs.values()))

    def _taker(self, argument: Argument | None) -> Callable[[Any], bool]:
        """Return what copies an argument to the inputs, and says whether it fits."""
        match argument:
            case ArrayArgument(name, shape, first):
                return partial(_copied, self.inputs[name][first : first + math.prod(shape)].reshape(shape))
            case NumberArgument(name):
                return partial(_copied, self.inputs[name].reshape(()))
            case ItemsArgument(name, item):
                of: Any = self.bound[name]
                return lambda value: len(value) == len(of[item]) and all(map(operator.is_, value, of[item]))
            case TupleArgument(_, items):
                takers = [self._taker(part) for part in items]
                return lambda value: len(value) == len(takers) and all(t(x) for t, x in zip(takers, value, strict=True))
            case ObjectArgument(_, attributes):
                named = [(name, self._taker(part)) for name, part in attributes]
                return lambda value: all(take(getattr(value, name)) for name, take in named)
        return lambda _: True

    def _maker(self, result: Result) -> Callable[[], Any]:
        """Return what makes a result."""
        match result:
            case ArrayResult(name):
                return (self.outputs[name] if name in self.outputs else self.inputs[name]).copy
            case NumberResult(name, entry, is_flag):
                number = partial(self.outputs[name].item, entry)
                return (lambda: number() > 0.0) if is_flag else number
            case BoundResult(name, item):
                of: Any = self.bound[name]
                return lambda: of if item is None else of[item]
            case TupleResult(kind, items):
                new, makers = tuple.__new__, [self._maker(part) for part in items]
                return lambda: new(kind, [make() for make in makers])


def _copied(view: Array, value: Any) -> bool:
    if np.shape(value) != view.shape:
        return False
    view[...] = value
    return True
