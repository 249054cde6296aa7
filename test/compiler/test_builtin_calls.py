"""Built-in calls: what they take, what they hand on, and what they leave behind."""

from __future__ import annotations

import ctypes
import gc
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import pytest

from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundResult,
    CallForm,
    KernelCall,
    Law,
    LlvmCompiler,
    NumberArgument,
    NumberResult,
    ObjectArgument,
    OwnWork,
    TupleArgument,
    TupleResult,
    builtin_call,
    builtin_calls,
    compile_law,
    in_machine_code,
)
from arm_control.core import Cache


class Pair(NamedTuple):
    """A matrix and a row."""

    matrix: object
    row: object


class Report(NamedTuple):
    """Every kind of result."""

    y: np.ndarray
    x: np.ndarray
    pair: Pair
    number: float
    flags: Pair
    label: str


@dataclass(frozen=True)
class Wish:
    """An object with attributes."""

    pair: Pair
    shift: np.ndarray


SIZES = {"x": 3, "t": 1, "A": 6, "extra": 2, "scale": 1}
FORM = CallForm(
    "report",
    (
        ArrayArgument("x", (3,)),
        NumberArgument("t"),
        ObjectArgument(
            Wish,
            (("pair", TupleArgument(Pair, (ArrayArgument("A", (2, 2)), None))), ("shift", ArrayArgument("A", (2,), 4))),
        ),
        ArrayArgument("extra", (2,)),
    ),
    TupleResult(
        Report,
        (
            ArrayResult("y"),
            ArrayResult("x"),
            TupleResult(Pair, (ArrayResult("B"), ArrayResult("nothing"))),
            NumberResult("y", 2),
            TupleResult(Pair, (NumberResult("y", 2, is_flag=True), NumberResult("zero", is_flag=True))),
            BoundResult("label"),
        ),
    ),
    n_required=3,
    bound=("scale",),
    certificate="sign",
    takes_none=True,
)


def function(x: Mapping[str, np.ndarray]) -> dict[str, Any]:
    s, extra = x["scale"][0], x["extra"]
    y = s * x["x"] + x["t"][0] * x["A"][4] + extra[0] - extra[1]
    signs = {"sign": x["t"][0] + 100.0, "zero": 0.0 * s}
    return {"y": y, "B": s * x["A"][:4].reshape(2, 2), "nothing": x["A"][5], **signs}


def work_of(text: Callable[..., Any], sizes: Mapping[str, int], cache: Cache | None = None) -> OwnWork:
    """A law, compiled."""
    samples = {name: np.ones((1, size)) for name, size in sizes.items()}
    return OwnWork(compile_law(LlvmCompiler("test", "test", cache or Cache(None)), Law("a law", text, sizes), samples))


def call_of(form: CallForm, work: OwnWork, **bound: object) -> KernelCall:
    return KernelCall(form, work, work.inputs, work.outputs, bound)


def twice(x: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {"y": 2.0 * x["x"]}


TWICE = CallForm("twice", (ArrayArgument("x", (3,)),), ArrayResult("y"))


@pytest.fixture(scope="module")
def work() -> OwnWork:
    return work_of(function, SIZES)


SCALE = np.array([2.0])
X = np.array([1.0, 2.0, 3.0])
WISH = Wish(Pair(np.array([[1.0, 2.0], [3.0, 4.0]]), None), np.array([10.0, 20.0]))


@pytest.fixture
def handed_on() -> list[tuple[object, ...]]:
    """Arguments that the slow function got."""
    return []


@pytest.fixture
def call(work: OwnWork, handed_on: list[tuple[object, ...]]) -> Callable[..., Any]:
    def slow(*arguments: object, **named: object) -> str:
        handed_on.append((*arguments, *named))
        return "slow"

    return builtin_call(call_of(FORM, work, scale=SCALE, label="a label"), slow, "report(x, t, wish)\n--\n\nReport.")


def test_every_kind_of_argument_and_result(call: Callable[..., Any], handed_on: list[object]):
    report = call(X, 0.5, WISH)
    assert (type(report), type(report.pair), report.label, handed_on) == (Report, Pair, "a label", [])
    np.testing.assert_array_equal(report.y, [7.0, 9.0, 11.0])
    np.testing.assert_array_equal(report.x, X)
    np.testing.assert_array_equal(report.pair.matrix, [[2.0, 4.0], [6.0, 8.0]])
    assert report.pair.row.shape == ()
    assert (float(report.pair.row), type(report.number), report.number) == (20.0, float, 11.0)
    assert report.flags == (True, False)
    assert [type(flag) for flag in report.flags] == [bool, bool]
    for array in (report.y, report.x, *report.pair):
        assert array.flags.owndata
        assert array.flags.carray
        assert not np.shares_memory(array, X)
    with pytest.raises(TypeError, match="unhashable"):
        hash(report)
    assert gc.is_tracked(report)


def test_what_is_missing_or_none_is_zero(call: Callable[..., Any], handed_on: list[object]):
    extra = np.array([5.0, 1.0])
    np.testing.assert_array_equal(call(X, 0.5, WISH, extra).y, [11.0, 13.0, 15.0])
    np.testing.assert_array_equal(call(X, 0.5, WISH, None).y, [7.0, 9.0, 11.0])
    assert handed_on == []


def test_what_is_bound_is_read_in_every_call(work: OwnWork):
    scale = np.array([3.0])
    call = builtin_call(call_of(FORM, work, scale=scale, label=None), lambda *_: None)
    first = call(X, 0.5, WISH)
    scale[0] = 4.0
    assert (call(X, 0.5, WISH).y - first.y).tolist() == X.tolist()
    assert call.__doc__ is None


@pytest.mark.parametrize("scale", [np.ones(2), np.ones(1, np.float32), [1.0], np.broadcast_to(1.0, (1,))])
def test_what_does_not_fit_cannot_be_bound(work: OwnWork, scale: object):
    with pytest.raises(ValueError, match="scale"):
        builtin_call(call_of(FORM, work, scale=scale, label=""), print)


class Subclass(np.ndarray):
    """No plain array."""


class Liar:
    """Says that it is a Wish."""

    __class__ = Wish  # type: ignore[assignment]
    pair, shift = WISH.pair, WISH.shift


def crooked(values: np.ndarray) -> np.ndarray:
    """An array that is not aligned."""
    x = np.zeros(8 * values.size + 1, dtype=np.uint8)[1:].view(float)
    x[:] = values
    return x


def without(name: str) -> Wish:
    """A wish without one of its attributes."""
    wish = Wish(WISH.pair, WISH.shift)
    object.__delattr__(wish, name)
    return wish


BAD_X = {
    "list": X.tolist(), "float32": X.astype(np.float32), "int": X.astype(int), "big endian": X.astype(">f8"),
    "short": X[:2], "long": np.zeros(4), "flat": np.array(1.0), "column": X[:, None], "row": X[None],
    "every second": np.repeat(X, 2)[::2], "backwards": X[::-1], "not aligned": crooked(X), "subclass": X.view(Subclass),
    "nan": np.array([np.nan, 0, 0]), "infinite": np.array([0, 0, -np.inf]), "none": None, "text": "xyz", "number": 1.0,
    "object": X.astype(object), "complex": X.astype(complex), "type": np.ndarray, "empty": np.zeros(0),
    "structured": np.zeros(3, dtype=[("x", float)]), "huge": np.zeros(10**6), "class": int, "tuple": (1.0, 2.0, 3.0),
}  # fmt: skip
BAD_WISH = {
    "none": None, "liar": Liar(), "no pair": without("pair"), "no shift": without("shift"),
    "a short pair": Wish(tuple.__new__(Pair, (WISH.pair.matrix,)), WISH.shift),
    "a long pair": Wish(tuple.__new__(Pair, (*WISH.pair, None)), WISH.shift),
    "a plain tuple": Wish((WISH.pair.matrix, None), WISH.shift),
    "no array": Wish(Pair([[1, 2], [3, 4]], 0), WISH.shift),
    "Fortran order": Wish(Pair(np.asfortranarray(WISH.pair.matrix), 0), WISH.shift),
    "nan": Wish(WISH.pair, np.array([np.nan, 0.0])), "wrong shift": Wish(WISH.pair, np.zeros(3)), "type": Wish,
}  # fmt: skip
BAD = {
    **{f"x {name}": (x, 0.5, WISH) for name, x in BAD_X.items()},
    **{f"wish {name}": (X, 0.5, wish) for name, wish in BAD_WISH.items()},
    **{f"t {t!r}": (X, t, WISH) for t in (1, True, None, np.float64(0.5), "0.5", np.array(0.5), float("nan"), 10**400)},
    "certificate": (X, -100.0, WISH),
    "nothing": (), "one": (X,), "two": (X, 0.5), "five": (X, 0.5, WISH, None, None),
    "extra list": (X, 0.5, WISH, [1.0, 2.0]), "extra nan": (X, 0.5, WISH, np.array([np.nan, 0.0])),
}  # fmt: skip


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_all_else_is_handed_on_as_it_came(
    call: Callable[..., Any], handed_on: list[tuple[object, ...]], arguments: tuple[object, ...]
):
    watched = [x for x in arguments if isinstance(x, np.ndarray | Wish)] + [WISH.pair, WISH.shift]
    before = [sys.getrefcount(x) for x in watched]
    assert call(*arguments) == "slow"
    (got,) = handed_on
    assert len(got) == len(arguments)
    assert all(x is y for x, y in zip(got, arguments, strict=True))
    del got
    handed_on.clear()
    assert [sys.getrefcount(x) for x in watched] == before


IN_PYTHON = ("list", "float32", "int", "big endian", "every second", "backwards", "not aligned", "subclass", "object")
"""Arrays that only Python takes."""


def flat(item: object) -> list[object]:
    """Types and bits of a result."""
    if isinstance(item, tuple):
        return [type(item), *(x for part in item for x in flat(part))]
    return [(item.shape, item.tobytes()) if isinstance(item, np.ndarray) else item]


def test_python_gives_the_same_bits_for_any_array_like(work: OwnWork, call: Callable[..., Any]):
    plain = call_of(FORM, work, scale=SCALE, label="a label")
    for extra in ((), (None,), (np.array([5.0, 1.0]),)):
        assert flat(plain(X, 0.5, WISH, *extra)) == flat(call(X, 0.5, WISH, *extra))
    for name in IN_PYTHON:
        assert flat(plain(BAD_X[name], 0.5, WISH)) == flat(call(np.array(BAD_X[name], float), 0.5, WISH))
    refused = [x for name, x in BAD_X.items() if name not in (*IN_PYTHON, "tuple", "structured", "complex")]
    assert [plain(x, 0.5, WISH) for x in refused] == [None] * len(refused)
    others = "certificate", "nothing", "one", "two", "five", "extra nan", "wish wrong shift", "wish a short pair"
    assert [plain(*BAD[name]) for name in others] == [None] * len(others)


def test_keywords_are_handed_on(call: Callable[..., Any], handed_on: list[tuple[object, ...]]):
    assert call(X, 0.5, wish=WISH) == "slow"
    assert call(x=X, t=0.5, wish=WISH) == "slow"
    assert call(X, 0.5, WISH, extra=np.zeros(2)) == "slow"
    assert [got[-1] for got in handed_on] == ["wish", "wish", "extra"]


FILLING = CallForm(
    "fill",
    (ArrayArgument("x", (3,)),),
    TupleResult(Pair, (ArrayResult("square"), ArrayResult("x"))),
)


def test_an_earlier_result_is_filled(handed_on: list[tuple[object, ...]]):
    """Where all of it fits; else nothing is written, and the slow function gets it."""
    work = work_of(lambda x: {"square": np.outer(x["x"], x["x"])}, {"x": 3})
    call = builtin_call(call_of(FILLING, work), lambda *arguments, **named: handed_on.append((*arguments, named)))
    into = Pair(np.zeros((3, 3)), np.zeros(3))
    assert call(X, into=into) is into
    np.testing.assert_array_equal(into.matrix, np.outer(X, X))
    np.testing.assert_array_equal(into.row, X)
    assert call(X) is not into
    assert handed_on == []
    locked = np.zeros(3)
    locked.flags.writeable = False
    unfit = [
        Pair(into.matrix, row) for row in (np.zeros(2), np.zeros(3, np.float32), np.zeros(6)[::2], locked, None, "xyz")
    ]
    others = [tuple(into), (into,), into.matrix, Pair, 1.0, "xyz"]
    np.asarray(into.matrix)[:] = 0.0
    for item in (*unfit, *others):
        before = sys.getrefcount(item)
        call(X, into=item)
        ((x, named),) = handed_on
        assert x is X
        assert named["into"] is item
        del named
        handed_on.clear()
        assert sys.getrefcount(item) == before
    call(X, into=None)
    call(X, to=into)
    call(X, into=into, to=into)
    call(np.full(3, np.nan), into=into)
    assert [list(named) for *_, named in handed_on] == [["into"], ["to"], ["into", "to"], ["into"]]
    assert not np.any(into.matrix), "nothing is written"


def test_the_code_is_the_same_after_the_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ARM_CONTROL_CACHE", str(tmp_path / "cache"))
    for _ in range(2):
        builtin_calls._machine_code.cache_clear()
        assert builtin_call(call_of(TWICE, work_of(twice, {"x": 3})), sum)(X).tolist() == [2.0, 4.0, 6.0]
    assert len(Cache(tmp_path / "cache").entries()) == 1


class Doubler:
    """Has a method with machine code."""

    def __init__(self, work: OwnWork | None) -> None:
        self._call = None if work is None else call_of(TWICE, work)

    @in_machine_code(lambda doubler: doubler._call)
    def twice(self, x: Any) -> np.ndarray:
        """Twice an array."""
        return 2.0 * np.asarray(x) if self._call is None else self._call(x)


class Loud(Doubler):
    """Has a method of its own."""

    def twice(self, x: Any) -> np.ndarray:
        """Twice an array, and then some."""
        return super().twice(x) + 1.0


def test_a_builtin_function_takes_the_place_of_a_method():
    work = work_of(twice, {"x": 3})
    doubler, without, loud = Doubler(work), Doubler(None), Loud(work)
    assert isinstance(doubler.twice, BuiltinFunctionType)
    assert doubler.twice is doubler.twice
    assert "twice" not in {**vars(without), **vars(loud)}
    for call in (doubler.twice, partial(Doubler.twice, doubler), without.twice):
        assert call(X).tobytes() == call(X.tolist()).tobytes() == (2.0 * X).tobytes()
    assert loud.twice(X).tolist() == [3.0, 5.0, 7.0]
    assert "twice" not in vars(loud)
    assert (doubler.twice.__doc__, str(inspect.signature(doubler.twice))) == ("Twice an array.", "(x)")
    gone = ref(doubler)
    del doubler, call
    assert gone() is None, "it does not refer to itself"


# -- layouts -----------------------------------------------------------------------------------------


def test_layouts_are_as_expected_here():
    assert builtin_calls.unsupported() == ""


@pytest.mark.parametrize("name", ["NDIM", "DESCR", "ITEMS", "TUPLE_SIZE", "NEW_FROM_DESCR"])
def test_another_layout_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch):
    offset = getattr(builtin_calls, name)
    monkeypatch.setattr(builtin_calls, name, offset + (8 if name != "NEW_FROM_DESCR" else 0))
    if name == "NEW_FROM_DESCR":
        monkeypatch.setattr(builtin_calls, "address_of_function", lambda _: make_nothing())
    assert builtin_calls.unsupported.__wrapped__().endswith(("differently", "is another one"))


def make_nothing() -> int:
    """Address of a function that returns what it is given first."""
    return int(ctypes.cast(IDENTITY, ctypes.c_void_p).value or 0)


IDENTITY = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(lambda x: x)


def test_other_pythons_are_refused(monkeypatch: pytest.MonkeyPatch):
    ask = builtin_calls.unsupported.__wrapped__
    with monkeypatch.context() as patch:
        patch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
        assert ask() == "a free-threaded Python"
    with monkeypatch.context() as patch:
        patch.setattr(builtin_calls, "HEAD", 32)
        assert ask() == "a free-threaded Python"
    with monkeypatch.context() as patch:
        patch.setattr(sys.implementation, "name", "pypy")
        assert ask() == "pypy is not CPython"
    with monkeypatch.context() as patch:
        patch.setattr(ctypes, "sizeof", lambda _: 4)
        assert ask() == "not 64 bits"


def test_without_support_there_are_no_builtin_calls(work: OwnWork, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(builtin_calls, "unsupported", lambda: "for a test")
    plain = call_of(FORM, work, scale=SCALE, label="")
    assert builtin_call(plain, print) is None
    assert type(plain(X, 0.5, WISH)) is Report
