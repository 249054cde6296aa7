"""Built-in calls: what they take, what they hand on, and what they leave behind."""

from __future__ import annotations

import ctypes
import gc
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from memory_and_threads import resident, run_in_threads

from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundResult,
    CallForm,
    FlagResult,
    InputResult,
    Kernel,
    Law,
    LlvmCompiler,
    NumberArgument,
    NumberResult,
    ObjectArgument,
    TupleArgument,
    TupleResult,
    compile_law,
    llvm_compiler,
    llvm_kernels,
    object_layouts,
)
from arm_control.compiler.call_table import MAKE_ARRAY, TABLE
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
            InputResult("x"),
            TupleResult(Pair, (ArrayResult("B"), ArrayResult("nothing"))),
            NumberResult("y", 2),
            TupleResult(Pair, (FlagResult("y", 2), FlagResult("zero"))),
            BoundResult("label"),
        ),
    ),
    n_required=3,
    bound=("scale",),
    certificates=("sign",),
    objection="objection",
    takes_none=True,
)


def function(x: Mapping[str, np.ndarray]) -> dict[str, Any]:
    s, extra = x["scale"][0], x["extra"]
    y = s * x["x"] + x["t"][0] * x["A"][4] + extra[0] - extra[1]
    signs = {"sign": x["t"][0] + 100.0, "zero": 0.0 * s, "objection": x["t"][0] - 1e9}
    return {"y": y, "B": s * x["A"][:4].reshape(2, 2), "nothing": x["A"][5], **signs}


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    law = Law("report", function, SIZES, calls=(FORM,))
    samples = {name: np.ones((1, size)) for name, size in SIZES.items()}
    return compile_law(LlvmCompiler("test", "test", Cache(None)), law, samples)


SCALE = np.array([2.0])
X = np.array([1.0, 2.0, 3.0])
WISH = Wish(Pair(np.array([[1.0, 2.0], [3.0, 4.0]]), None), np.array([10.0, 20.0]))


@pytest.fixture
def handed_on() -> list[tuple[object, ...]]:
    """Arguments that the slow function got."""
    return []


@pytest.fixture
def call(kernel: Kernel, handed_on: list[tuple[object, ...]]) -> Callable[..., Any]:
    def slow(*arguments: object, **named: object) -> str:
        handed_on.append((*arguments, *named))
        return "slow"

    return kernel.calls["report"].bind(slow, {"scale": SCALE, "label": "a label"}, "report(x, t, wish)\n--\n\nReport.")


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


def test_what_is_left_out_is_zero_whatever_the_stack_holds():
    """Call after call at one place on the stack: what the one before wrote there must not count."""
    form = CallForm("total", (ArrayArgument("x", (1,)), ArrayArgument("many", (200,))), ArrayResult("y"), n_required=1)
    law = Law("total", lambda x: {"y": x["x"] + sum(x["many"])}, {"x": 1, "many": 200}, calls=(form,))
    samples = {name: np.ones((1, size)) for name, size in law.inputs.items()}
    kernel = compile_law(LlvmCompiler("test", "test", Cache(None)), law, samples)
    call = kernel.calls["total"].bind(lambda *_: "slow", {})
    one, many = np.ones(1), np.full(200, 7.0)
    results = [call(*arguments) for arguments in [(one, many), (one,)] * 5]
    assert [result.tolist() for result in results] == [[1401.0], [1.0]] * 5


def test_what_is_bound_is_read_in_every_call(kernel: Kernel):
    scale = np.array([3.0])
    call = kernel.calls["report"].bind(lambda *_: None, {"scale": scale, "label": None})
    first = call(X, 0.5, WISH)
    scale[0] = 4.0
    assert (call(X, 0.5, WISH).y - first.y).tolist() == X.tolist()
    assert call.__doc__ is None


@pytest.mark.parametrize(
    "scale", [np.ones(2), np.ones(1, np.float32), [1.0], np.ones(1, ">f8"), np.ones((1, 1)), np.broadcast_to(1.0, (1,))]
)
def test_what_does_not_fit_cannot_be_bound(kernel: Kernel, scale: object):
    with pytest.raises(ValueError, match="scale"):
        kernel.calls["report"].bind(print, {"scale": scale, "label": ""})


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
    "certificate": (X, -100.0, WISH), "objection": (X, 2e9, WISH),
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


def test_keywords_are_handed_on(call: Callable[..., Any], handed_on: list[tuple[object, ...]]):
    assert call(X, 0.5, wish=WISH) == "slow"
    assert call(x=X, t=0.5, wish=WISH) == "slow"
    assert call(X, 0.5, WISH, extra=np.zeros(2)) == "slow"
    assert [got[-1] for got in handed_on] == ["wish", "wish", "extra"]


FILLING = CallForm(
    "fill",
    (ArrayArgument("x", (3,)),),
    TupleResult(Pair, (ArrayResult("square"), InputResult("x"))),
    fills=True,
)


def test_an_earlier_result_is_filled(handed_on: list[tuple[object, ...]]):
    """Where all of it fits; else nothing is written, and the slow function gets it."""
    law = Law("square", lambda x: {"square": np.outer(x["x"], x["x"])}, {"x": 3}, calls=(FILLING,))
    maker = compile_law(LlvmCompiler("test", "test", Cache(None)), law, {"x": np.ones((1, 3))}).calls["fill"]
    call = maker.bind(lambda *arguments, **named: handed_on.append((*arguments, named)), {})
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


def test_the_slow_function_raises_what_it_likes(kernel: Kernel):
    def slow(*_: object) -> None:
        raise KeyError("on purpose")

    call = kernel.calls["report"].bind(slow, {"scale": SCALE, "label": ""})
    for arguments in ((), (X, 0.5, without("pair")), (X, 0.5, None)):
        with pytest.raises(KeyError, match="on purpose"):
            call(*arguments)


def test_an_attribute_that_raises_is_left_to_the_slow_function(kernel: Kernel):
    class Broken:
        def __getattr__(self, name: str) -> object:
            raise ZeroDivisionError(name)

    form = CallForm("report", (ObjectArgument(Broken, (("x", ArrayArgument("x", (3,))),)),), ArrayResult("y"))
    law = Law("twice", lambda x: {"y": 2.0 * x["x"]}, {"x": 3}, calls=(form,))
    maker = compile_law(LlvmCompiler("test", "test", Cache(None)), law, {"x": np.ones((1, 3))}).calls["report"]
    call = maker.bind(lambda broken: "slow", {})
    assert call(Broken()) == "slow"


PROTOTYPES: dict[str, tuple[Any, ...]] = {
    MAKE_ARRAY: (
        *[ctypes.c_void_p] * 2,
        ctypes.c_int,
        *[ctypes.c_void_p] * 3,
        ctypes.c_int,
        ctypes.c_void_p,
    ),
    "PyType_GenericAlloc": (ctypes.c_void_p, ctypes.c_ssize_t),
    "PyFloat_FromDouble": (ctypes.c_double,),
}
"""What the functions take that make objects."""


@contextmanager
def without_memory(maker: Any, name: str, nth: int) -> Iterator[None]:
    """Let a function that makes objects fail, the nth time in a call; no exception is set, which Python notices."""
    library, table = maker._kept
    entry = ctypes.c_uint64.from_address(library.variable(TABLE) + 8 * table.place(name))
    kind, own, count = ctypes.PYFUNCTYPE(ctypes.c_void_p, *PROTOTYPES[name]), entry.value, itertools.count(1)

    def make(*arguments: Any) -> int | None:
        nonlocal count
        if next(count) < nth:
            return kind(own)(*arguments)
        count = itertools.count(1)
        if name == MAKE_ARRAY:  # it takes over a reference in any case
            ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(arguments[1]))
        return None

    replacement = kind(make)
    entry.value = ctypes.cast(replacement, ctypes.c_void_p).value
    try:
        yield
    finally:
        entry.value = own


@pytest.mark.parametrize(
    ("name", "nth"),
    [
        *((MAKE_ARRAY, k) for k in (1, 2, 3, 4)),
        ("PyFloat_FromDouble", 1),
        *(("PyType_GenericAlloc", k) for k in (1, 2)),
    ],
)
def test_without_memory_it_is_an_error_and_nothing_is_kept(kernel: Kernel, name: str, nth: int):
    maker, label = kernel.calls["report"], f"the label of {name} {nth}"
    call = maker.bind(lambda *_: "slow", {"scale": SCALE, "label": label})
    watched = [np.dtype(float), np.ndarray, Report, Pair, X, WISH.pair, WISH.shift, SCALE, label]
    with without_memory(maker, name, nth):
        before = [sys.getrefcount(x) for x in watched]
        for _ in range(100):
            with pytest.raises(SystemError, match="without"):
                call(X, 0.5, WISH)
        assert [sys.getrefcount(x) for x in watched] == before
    assert type(call(X, 0.5, WISH)) is Report


def test_nothing_grows(call: Callable[..., Any], handed_on: list[object]):
    """References to what is shared, and memory, after many calls of every kind."""
    watched = [np.dtype(float), np.ndarray, Report, Pair, Wish, None, "a label", X, WISH, WISH.pair, WISH.shift, SCALE]
    cases = [*BAD.values(), *[(X, 0.5, WISH)] * 20]

    def growth() -> list[int]:
        """Growth of the numbers of references, and of the memory, in 300 rounds: a leak of one a round is 300."""
        before = [*map(sys.getrefcount, watched), resident()]
        for _ in range(300):
            for arguments in cases:
                call(*arguments)
            handed_on.clear()
        gc.collect()
        after = [*map(sys.getrefcount, watched), resident()]
        return [abs(now - then) for now, then in zip(after, before, strict=True)]

    growth()
    *references, memory = np.min([growth() for _ in range(3)], axis=0)  # others hold None, too, and let it go at times
    assert max(references) < 20
    assert memory < 2**20


def test_threads_share_a_function(call: Callable[..., Any]):
    wrong: list[float] = []

    def beat(seed: int) -> None:
        for k in range(2000):
            t = float(seed * 10_000 + k)
            report = call(X, t, WISH)
            if report.y[0] != 2.0 + 10.0 * t:
                wrong.append(t)

    run_in_threads(beat)
    assert wrong == []


def test_help_knows_signature_and_text(call: Callable[..., Any]):
    assert (call.__name__, call.__doc__) == ("report", "Report.")
    assert str(inspect.signature(call)) == "(x, t, wish)"


def test_a_function_outlives_its_kernel():
    law = Law(
        "twice",
        lambda x: {"y": 2.0 * x["x"]},
        {"x": 3},
        calls=(CallForm("twice", (ArrayArgument("x", (3,)),), ArrayResult("y")),),
    )
    call = (
        compile_law(LlvmCompiler("test", "test", Cache(None)), law, {"x": np.ones((1, 3))}).calls["twice"].bind(sum, {})
    )
    del law
    gc.collect()
    assert call(X).tolist() == [2.0, 4.0, 6.0]


def test_a_definition_outlives_all_modules():
    """At the end of a process modules are cleared first, functions in cycles later."""
    for k in range(3):
        llvm_compiler._definition(b"outlives", k, 0, None)
    llvm_compiler._definition.cache_clear()
    gc.collect()
    alive = [x for x in gc.get_objects() if type(x) is llvm_compiler.MethodDefinition]
    assert sum(x.name == b"outlives" for x in alive) == 3


def test_the_code_is_the_same_after_the_cache(tmp_path: Any):
    form = CallForm("twice", (ArrayArgument("x", (3,)),), ArrayResult("y"))
    law = Law("twice", lambda x: {"y": 2.0 * x["x"]}, {"x": 3}, calls=(form,))
    cache = Cache(tmp_path / "cache")
    for _ in range(2):
        kernel = compile_law(LlvmCompiler("test", "test", cache), law, {"x": np.ones((1, 3))})
        assert kernel.calls["twice"].bind(sum, {})(X).tolist() == [2.0, 4.0, 6.0]
    assert len(cache.entries()) == 1


# -- layouts -----------------------------------------------------------------------------------------


def test_layouts_are_as_expected_here():
    assert object_layouts.unsupported() == ""


@pytest.mark.parametrize("name", ["NDIM", "DESCR", "ITEMS", "TUPLE_SIZE", "NEW_FROM_DESCR"])
def test_another_layout_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch):
    offset = getattr(object_layouts, name)
    monkeypatch.setattr(object_layouts, name, offset + (8 if name != "NEW_FROM_DESCR" else 0))
    if name == "NEW_FROM_DESCR":
        monkeypatch.setattr(object_layouts, "array_maker", make_nothing)
    assert object_layouts.unsupported.__wrapped__().endswith(("differently", "is another one"))


def make_nothing() -> int:
    """Address of a function that returns what it is given first."""
    return int(ctypes.cast(IDENTITY, ctypes.c_void_p).value or 0)


IDENTITY = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(lambda x: x)


def test_other_pythons_are_refused(monkeypatch: pytest.MonkeyPatch):
    ask = object_layouts.unsupported.__wrapped__
    with monkeypatch.context() as patch:
        patch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
        assert ask() == "a free-threaded Python"
    with monkeypatch.context() as patch:
        patch.setattr(object_layouts, "HEAD", 32)
        assert ask() == "a free-threaded Python"
    with monkeypatch.context() as patch:
        patch.setattr(sys.implementation, "name", "pypy")
        assert ask() == "pypy is not CPython"
    with monkeypatch.context() as patch:
        patch.setattr(ctypes, "sizeof", lambda _: 4)
        assert ask() == "not 64 bits"


def test_without_support_there_are_no_builtin_calls(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(llvm_kernels, "unsupported", lambda: "for a test")
    law = Law("report", function, SIZES, calls=(FORM,))
    kernel = LlvmCompiler("test", "test", Cache(None)).kernel(law, lambda _: None)
    assert kernel.calls == {}
    kernel.inputs["x"][:] = X
    assert kernel.call() is False
