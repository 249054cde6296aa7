"""Procedures: machine code does what their text does in Python, to the last bit."""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest

from arm_control.compiler import (
    ArrayArgument,
    BoundProcedure,
    BoundResult,
    CallForm,
    CFunction,
    Floats,
    Ints,
    ItemsArgument,
    KernelCall,
    Law,
    Loop,
    LoopKernel,
    NumberResult,
    OwnWork,
    Rows,
    RunsKernel,
    RunsLoop,
    TupleResult,
    add_atomic,
    address_of,
    builtin_call,
    callback_of,
    compile_procedure,
    fence_acquire,
    fence_release,
    float_at,
    int32_at,
    int_at,
    load_acquire,
    load_relaxed,
    nearest,
    procedure,
    put_float,
    put_int,
    same_bits,
    store_relaxed,
    store_release,
)
from arm_control.compiler.procedures import NotSupported
from arm_control.model import RobotModel

LARGE = 1e300
LIMIT = 7


class Points(NamedTuple):
    x: Rows
    size: Ints
    n: int


class Case(NamedTuple):
    points: Points
    q: Floats
    distances: Floats
    scale: float
    out: Ints


@procedure
def squared_distance(points: Points, k: int, q: Floats) -> float:
    """Between a point and q."""
    total = 0.0
    for j in range(points.n):
        step = points.x[j, k] - q[j]
        total += step * step
    return total


@procedure
def measure(case: Case) -> None:
    """All distances."""
    for k in range(case.points.size[0]):
        case.distances[k] = sqrt(squared_distance(case.points, k, case.q))


@procedure
def survey(case: Case) -> float:
    """All that procedures can do."""
    measure(case)
    best = LARGE
    number = 0
    for k in range(1, case.points.size[0]):
        if case.distances[k] < best and not (k >= LIMIT and k <= LIMIT):
            best = case.distances[k]
            number = k
    case.out[0] = number
    k = 0
    while True:
        k += 1
        if k % 2 == 0:
            continue
        case.out[1] += k // 2 - 1
        if k >= 9 or case.out[1] > 100:
            break
    row = case.points.x[1]
    row[0] = -abs(row[0]) / 3
    case.out[2] = int(row[2] * 1000.0)
    return max(best * case.scale, 1) + min(float(number), 0.5) + (1 if number > LIMIT else 0.25)


@procedure
def powers(case: Case) -> float:
    """What procedures cannot do."""
    return case.scale**2


class Letters(NamedTuple):
    words: Ints
    count: CFunction
    kernel: RunsKernel


@procedure
def move_letters(letters: Letters) -> float:
    """Memory by its address, memory that threads share, a C function and a kernel."""
    at = address_of(letters.words)
    put_float(at + 4, float_at(at + 8) + 0.75)  # between two words
    store_release(letters.words, 3, load_acquire(letters.words, 2) + int_at(at + 16))
    fence_release()
    store_relaxed(letters.words, 4, int32_at(at + 20))
    fence_acquire()
    put_int(at + 40, same_bits(load_relaxed(letters.words, 2), 12) + add_atomic(letters.words, 0, 5))
    is_between = 0 < letters.count(at, 3) <= 8 and nearest(2.5) == 2 and nearest(-1.7) == -2
    return letters.kernel() + (1 if is_between else 0)


def new_letters(kernel: RunsKernel) -> Letters:
    words = np.array([1, 0, 2**40 + 7, 0, 0, 0])
    words[1:2].view(np.float64)[0] = 2.5
    count = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64)(
        lambda at, n: sum((ctypes.c_int64 * n).from_address(at)[k] > 0 for k in range(n))
    )
    function = CFunction(ctypes.cast(count, ctypes.c_void_p).value or 0, 2)
    function.kept = count  # type: ignore[attr-defined]
    return Letters(words, function, kernel)


def new_case() -> Case:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 20))
    return Case(Points(x, np.array([15]), 3), rng.normal(size=3), np.zeros(20), 2.5, np.zeros(3, np.int64))


def test_machine_code_does_what_the_text_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ARM_CONTROL_STRICT", "1")
    run, cases = compile_procedure(survey), (new_case(), new_case())
    assert run(cases[0]).function_address
    assert run(cases[0])() == survey(cases[1])
    assert cases[0].out.tolist() == cases[1].out.tolist()
    assert cases[0].out.any()
    assert np.array_equal(cases[0].distances, cases[1].distances)
    assert np.array_equal(cases[0].points.x, cases[1].points.x)


def test_operations_do_what_their_text_does(ur5: RobotModel):
    law = Law("twice", lambda x: {"y": 2.0 * x["a"]}, {"a": 3}, has_masses=False)
    kernel = OwnWork(ur5.compile_law(law, {"a": np.ones((1, 3))}))
    kernel.inputs["a"][:] = 1.0, 2.0, 3.0
    letters = new_letters(kernel), new_letters(kernel)
    assert move_letters(letters[0]) == 1.0
    np.testing.assert_array_equal(kernel.outputs["y"], [2.0, 4.0, 6.0])
    kernel.outputs["y"][:] = 0.0
    assert compile_procedure(move_letters)(letters[1])() == 1.0
    np.testing.assert_array_equal(kernel.outputs["y"], [2.0, 4.0, 6.0])
    assert letters[0].words.tolist() == letters[1].words.tolist() != new_letters(kernel).words.tolist()
    kernel.inputs["a"][0] = np.inf
    assert np.isnan(compile_procedure(move_letters)(letters[1])())


def test_what_cannot_be_compiled_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setenv("ARM_CONTROL_STRICT", "0")
    with caplog.at_level(logging.WARNING):
        assert [compile_procedure(powers)(new_case())() for _ in range(2)] == [6.25, 6.25]
    assert caplog.text.count("powers: cannot be compiled: case.scale ** 2") == 1
    monkeypatch.setenv("ARM_CONTROL_STRICT", "1")
    with pytest.raises(NotSupported, match="powers: cannot be compiled"):
        compile_procedure(powers)


class Count(NamedTuple):
    number: Ints
    n: int


@procedure
def count_up(count: Count) -> float:
    """Add one, as often as it is said."""
    for _ in range(count.n):
        add_atomic(count.number, 0, 1)
    return 0.0


def test_no_addition_of_two_threads_is_lost():
    count = Count(np.zeros(1, np.int64), 200_000)
    threads = [threading.Thread(target=compile_procedure(count_up)(count)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.number[0] == 400_000


def test_c_code_calls_a_procedure_of_the_record_it_has_now():
    count = Count(np.zeros(1, np.int64), 3)
    run = compile_procedure(count_up)(count)
    callback = callback_of(run)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(callback.function)
    call(callback.argument, 7)
    assert count.number[0] == 3
    run.replace(count._replace(n=10))
    call(callback.argument, 7)
    assert count.number[0] == 13
    with pytest.raises(TypeError, match="not machine code cannot be called by C code"):
        callback_of(BoundProcedure(count_up, None, count))


def test_arrays_that_do_not_fit_are_refused():
    run = compile_procedure(survey)
    with pytest.raises(ValueError, match=r"'q' of shape \(3,\) of float32 cannot be used by a procedure"):
        run(new_case()._replace(q=np.zeros(3, np.float32)))
    with pytest.raises(ValueError, match="'distances' of shape"):
        run(new_case()._replace(distances=np.zeros(40)[::2]))


class Sums(NamedTuple):
    """Twice the entries of columns, summed up."""

    inputs: Floats
    outputs: Floats
    twice: RunsLoop
    x: Rows
    y: Rows
    n: int


@procedure
def sum_up(sums: Sums) -> float:
    """The total; it does not count where it is below zero."""
    for i in range(sums.n):
        sums.x[0, i] = sums.inputs[i]
    sums.twice(8)
    sums.outputs[0] = 0.0
    for i in range(sums.n):
        sums.outputs[0] += sums.y[0, i]
    return 1.0 if sums.outputs[0] < 0.0 else 0.0


def new_sums(kernel: LoopKernel, n: int) -> Sums:
    x, y = np.zeros((2, 1, 16))
    return Sums(np.zeros(3), np.zeros(1), kernel.bind({"a": x, "y": y}), x, y, n)


SUM = CallForm(
    "sum_up",
    (ArrayArgument("a", (3,)), ItemsArgument("known", 1)),
    TupleResult(tuple, (NumberResult("total"), BoundResult("known", 0))),
)


def call_of(run: BoundProcedure[Sums], sums: Sums, known: object) -> KernelCall:
    return KernelCall(SUM, run, {"a": sums.inputs}, {"total": sums.outputs.reshape(())}, {"known": known})


@pytest.fixture
def twice(ur5: RobotModel) -> LoopKernel:
    loop = Loop(Law("twice", lambda x: {"y": 2.0 * x["a"]}, {"a": 1}, has_masses=False), "columns")
    return ur5.compile_law(loop, {"a": np.ones((1, 16))})


def test_a_procedure_has_a_built_in_call(twice: LoopKernel):
    items, slow = ("x", 1.5), []
    known = [object(), items]
    sums = new_sums(twice, 3)
    run = compile_procedure(sum_up, keeps_lock=True)(sums)
    plain = call_of(run, sums, known)
    call = builtin_call(plain, lambda *arguments: slow.append(arguments))
    a = np.array([1.0, 2.0, 3.0])
    for same in (items, list(items)):
        assert call(a, same) == plain(a, same) == (12.0, known[0])
    before = [sys.getrefcount(x) for x in (known[0], *items, a)]
    for _ in range(100):
        call(a, items)
    assert [sys.getrefcount(x) for x in (known[0], *items, a)] == before
    assert not slow
    for others in (("x",), ("x", 2.5), ("x", 1.5, 0), {}, None, "x1"):
        assert call(a, others) is plain(a, others) is None
    assert call(-a, items) is plain(-a, items) is None  # the result says that outputs do not count
    assert len(slow) == 7
    known[:] = ["new", ()]
    assert call(a, []) == (12.0, "new")
    run.replace(new_sums(twice, 2)._replace(inputs=sums.inputs, outputs=sums.outputs))
    assert call(a, ()) == plain(a, ()) == (6.0, "new")


def test_a_call_runs_as_it_stands_where_a_law_is_no_machine_code(load_robot: Callable[..., RobotModel]):
    loop = Loop(Law("twice", lambda x: {"y": 2.0 * x["a"]}, {"a": 1}, has_masses=False), "columns")
    kernel = load_robot("ur5", backend="python").compile_law(loop, {"a": np.ones((1, 16))})
    sums = new_sums(kernel, 3)
    run = compile_procedure(sum_up)(sums)
    call = call_of(run, sums, ["text", ()])
    assert builtin_call(call, print) is None
    assert call([1.0, 2.0, 3.0], []) == (12.0, "text")
    with pytest.raises(ValueError, match="17 cases; allowed: 1 to 16"):
        sums.twice(17)
    run.replace(new_sums(kernel, 3))
    run()
    assert sums.outputs[0] == 12.0, "the old record"


class Around(NamedTuple):
    """Another procedure, a kernel, and the memory of both."""

    sums: RunsKernel
    total: Floats
    double: RunsKernel
    a: Floats


@procedure
def sum_up_and_double(around: Around) -> float:
    """Twice the total."""
    if around.sums() != 0.0:
        return -1.0
    around.a[0] = around.total[0]
    return around.double()


@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_a_procedure_runs_another_one_on_whatever_record_that_has(backend: str, load_robot: Callable[..., RobotModel]):
    model = load_robot("ur5", backend=backend)
    loop = Loop(Law("twice", lambda x: {"y": 2.0 * x["a"]}, {"a": 1}, has_masses=False), "columns")
    columns = model.compile_law(loop, {"a": np.ones((1, 16))})
    kernel, work = model.compile_law(loop.law, {"a": np.ones((1, 1))}), np.zeros(2)
    double, total = OwnWork(kernel, work), np.zeros(1)
    records = [new_sums(columns, n)._replace(outputs=total, inputs=np.arange(1.0, 4.0)) for n in (3, 2)]
    inner = compile_procedure(sum_up)(records[0])
    outer = compile_procedure(sum_up_and_double)(Around(inner, total, double, double.inputs["a"]))
    assert (outer.function_address == 0) == (backend == "python")
    assert (outer(), work.tolist()) == (0.0, [12.0, 24.0])
    inner.replace(records[1])
    assert (outer(), work.tolist()) == (0.0, [6.0, 12.0])
    records[1].inputs[:] = -1.0
    assert outer() == -1.0, "the other one's result"
