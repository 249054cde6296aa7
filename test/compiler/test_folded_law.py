"""Laws with folds: compiled and as they stand, against NumPy written out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arm_control.compiler import Fold, Law, LlvmCompiler, Loop, compile_law
from arm_control.core import Cache
from arm_control.maths import Array, maximum, minimum, sin, sqrt


def start(x: Mapping[str, Array]) -> dict[str, Any]:
    """Two points, at p and mirrored at p + (sin a, 0)."""
    shift = np.array([sin(x["angle"][0]), 0.0])
    return {"points": [x["p"], shift - x["p"]], "best": [x["reach"][0], x["reach"][0]], "n": [0.0 * x["angle"][0]]}


def near(x: Mapping[str, Array]) -> dict[str, Any]:
    gaps = x["points"].reshape(2, 2) - x["rows"][:2]
    return {"near": [best + x["rows"][2] - sqrt(gap @ gap) for best, gap in zip(x["best"], gaps, strict=True)]}


def part(k: int) -> Any:
    def nearer(x: Mapping[str, Array]) -> dict[str, Any]:
        gap = x["points"].reshape(2, 2)[k] - x["rows"][:2]
        best = [x["best"][0], x["best"][1]]
        best[k] = minimum(best[k], sqrt(gap @ gap) - x["rows"][2])
        return {"best": best}

    return nearer


def finish(x: Mapping[str, Array]) -> dict[str, Any]:
    return {"distance": x["best"] + x["n"][0], "sum": [x["best"][0] + x["best"][1] + x["angle"][0]]}


INPUTS = {"p": 2, "angle": 1, "reach": 1, "rows": 3}
FOLDS = (Fold((part(0), part(1)), near, "rows"), Fold((lambda x: {"n": x["n"]},)))
LAW = Law("nearest", finish, INPUTS, before=start, folds=FOLDS, tables=("rows",), carried=("best", "n"))
LOOP = Loop(LAW, "columns", shared=("reach", "rows"))


def arrays(n: int, m: int, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    inputs = {"p": rng.uniform(-1.0, 1.0, (2, n)), "angle": rng.uniform(-3.0, 3.0, (1, n)), "reach": np.array([0.7])}
    rows = np.column_stack([rng.uniform(-1.0, 1.0, (m, 2)), rng.uniform(0.0, 0.2, m)])
    return {**inputs, "rows": rows, "distance": np.full((2, n), 7.0), "sum": np.full((1, n), 7.0)}


def expected(given: Mapping[str, Array]) -> Array:
    p, shift = given["p"].T, np.column_stack([np.sin(given["angle"][0]), np.zeros(given["p"].shape[1])])
    rows = given["rows"]
    gaps = np.array([[np.linalg.norm(point - rows[:, :2], axis=1) - rows[:, 2] for point in x] for x in (p, shift - p)])
    return np.minimum(gaps.min(axis=2, initial=0.7), 0.7)


@pytest.fixture(params=[8, 0], ids=["8 lanes", "on floats"])
def compiler(request: pytest.FixtureRequest) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arm_control.compiler.llvm_compiler.lanes", lambda: request.param)
        yield LlvmCompiler("a robot", "robot", Cache(None)) if request.param else None


@pytest.mark.parametrize("is_nested", [False, True], ids=["flat", "nested"])
def test_a_table_may_have_any_number_of_rows(compiler: LlvmCompiler | None, is_nested: bool):
    inner = Fold((Fold((part(0),)), Fold((part(1),), lambda x: {"near": near(x)["near"][1:]})))
    nested = replace(LAW, folds=(Fold((inner,), lambda x: {"near": [maximum(*near(x)["near"])]}, "rows"),))
    kernel = compile_law(compiler, replace(LOOP, law=nested) if is_nested else LOOP, arrays(8, 12))
    assert kernel.is_compiled == (compiler is not None)
    for m in (0, 1, 5, 100):
        given = arrays(24, m, m)
        kernel.bind(given)()
        np.testing.assert_allclose(given["distance"], expected(given), rtol=0, atol=1e-14)
        np.testing.assert_allclose(given["sum"], given["distance"].sum(axis=0) + given["angle"], rtol=0, atol=1e-14)


def count(x: Mapping[str, Array]) -> dict[str, Any]:
    return {"n": [x["n"][0] + 1.0], "left": [x["left"][0] - x["rows"][0]]}


@pytest.mark.parametrize("compiler", [8, 2], indirect=True)
def test_rows_behind_the_end_are_left_out(compiler: LlvmCompiler):
    """Each row takes something away; no lane has anything left after the third row, or one has in all."""
    law = Law(
        "count",
        lambda x: {"n": x["n"]},
        {"start": 1, "rows": 1},
        before=lambda x: {"left": x["start"] + 0.0 * x["start"], "n": 0.0 * x["start"]},
        folds=(Fold((count,), table="rows"), Fold((lambda x: {"n": x["n"] + 100.0},))),
        tables=("rows",),
        carried=("left", "n"),
        goes_on="left",
    )
    always = {"start": np.full((1, 8), 50.0), "rows": np.ones((5, 1)), "n": np.zeros((1, 8))}
    kernel = compile_law(compiler, Loop(law, "columns", shared=("rows",)), always)
    for begin, n in ((3.0, 3.0), (4.0, 4.0), (5.0, 5.0), (6.0, 105.0)):
        start = np.full((1, kernel.width), 2.0)
        start[0, -1] = begin
        given = {"start": start, "rows": np.ones((5, 1)), "n": np.zeros((1, kernel.width))}
        kernel.bind(given)()
        assert (given["n"] == n).all()


def test_a_repeated_law_with_folds(compiler: LlvmCompiler | None):
    """Halve a length until no row lies within it; each case on its own."""
    law = Law(
        "halves",
        lambda x: {"length": [0.5 * x["goal"][0]], "more": [x["goal"][0] - x["free"][0]], "free": x["free"]},
        {"p": 1, "length": 1, "reach": 1, "rows": 1},
        before=lambda x: {"free": [x["reach"][0]], "goal": [x["length"][0]]},
        folds=(Fold((lambda x: {"free": [minimum(x["free"][0], abs(x["p"][0] - x["rows"][0]))]},), table="rows"),),
        tables=("rows",),
        carried=("free",),
    )
    repeat = Loop(law, "repeated", ("reach", "rows"), ("length",), goes_on="more")
    rng = np.random.default_rng(3)

    def cases(n: int, m: int) -> dict[str, Array]:
        given = {"p": rng.uniform(-1.0, 1.0, (1, n)), "length": np.ones((1, n)), "reach": np.array([0.5])}
        results = {name: np.zeros((1, n)) for name in ("more", "free", "repetitions")}
        return {**given, "rows": rng.uniform(-1.0, 1.0, (m, 1)), **results}

    kernel = compile_law(compiler, repeat, cases(9, 3))
    given = cases(37, 11)
    assert kernel.bind(given, limit=60)(30) == 0
    free = np.minimum(np.abs(given["p"][0, :, None] - given["rows"][:, 0]).min(axis=1), 0.5)
    np.testing.assert_allclose(given["free"][0, :30], free[:30], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(given["repetitions"][0, :30], np.ceil(-np.log2(free[:30])) + 1)
    assert (given["length"][0, 30:] == 1.0).all()
    with pytest.raises(ValueError, match="38 cases; allowed: 1 to 37"):
        kernel.bind(given, limit=60)(38)


def test_a_part_changes_nothing_where_it_does_not_count(compiler: LlvmCompiler | None):
    """Lane by lane, also in a fold in a fold: points on the left are measured, and of these those below."""

    def on_the_left(x: Mapping[str, Array]) -> dict[str, Any]:
        return {"near": [-x["p"][0]]}

    def below(x: Mapping[str, Array]) -> dict[str, Any]:
        return {"near": [-x["p"][1]]}

    for fold, counts in (
        (Fold((part(0),), on_the_left, "rows"), lambda p: p[0] < 0.0),
        (Fold((Fold((part(0),), below),), on_the_left, "rows"), lambda p: (p < 0.0).all(axis=0)),
    ):
        kernel = compile_law(compiler, replace(LOOP, law=replace(LAW, folds=(fold,))), arrays(8, 12))
        given = arrays(64, 9, 5)
        kernel.bind(given)()
        assert 0 < counts(given["p"]).sum() < 64
        np.testing.assert_allclose(
            given["distance"][0], np.where(counts(given["p"]), expected(given)[0], 0.7), rtol=0, atol=1e-14
        )


def exchange(x: Mapping[str, Array]) -> dict[str, Any]:
    """Newton's step for a square root, and two numbers that change places."""
    return {"root": [0.5 * (x["root"][0] + x["a"][0] / x["root"][0])], "pair": [x["pair"][1], x["pair"][0] + x["a"][0]]}


@pytest.mark.parametrize("times", [1, 7])
def test_a_fold_without_a_table_runs_so_many_times(compiler: LlvmCompiler | None, times: int):
    law = Law(
        "times",
        lambda x: {"root": [x["root"][0]], "pair": x["pair"]},
        {"a": 1},
        before=lambda x: {
            "root": [1.0 + 0.0 * x["a"][0]],
            "pair": [0.0 * x["a"][0], x["a"][0]],
            "fixed": [2.0 * x["a"][0]],
        },
        folds=(
            Fold((exchange,), times=times),
            Fold((lambda x: {"root": [x["root"][0] + x["fixed"][0]]},) * 2, times=3),
        ),
        carried=("root", "pair"),
    )
    given = {"a": np.random.default_rng(1).uniform(1.0, 4.0, (1, 16)), "root": np.zeros((1, 16))}
    given["pair"] = np.zeros((2, 16))
    kernel = compile_law(compiler, Loop(law, "columns"), given)
    assert kernel.is_compiled == (compiler is not None)
    kernel.bind(given)()
    (a,), root, pair = given["a"], np.ones(16), [np.zeros(16), given["a"][0]]
    for _ in range(times):
        root, pair = (root + a / root) / 2.0, [pair[1], pair[0] + a]
    np.testing.assert_allclose(given["root"][0], root + 12.0 * a, rtol=0, atol=1e-13)
    np.testing.assert_allclose(given["pair"], pair, rtol=0, atol=1e-13)
    keys = {replace(law, folds=(Fold((exchange,), times=k),)).key for k in (times, times + 1)}
    assert len(keys) == 2


@pytest.mark.parametrize(
    "table", [np.ones(3), np.ones((4, 2)), np.ones((4, 3), dtype=int), np.ones((3, 4)).T], ids=["1-D", "2", "int", "T"]
)
def test_tables_that_do_not_fit_are_refused(compiler: LlvmCompiler | None, table: Array):
    kernel = compile_law(compiler, LOOP, arrays(8, 12))
    with pytest.raises(ValueError, match="nearest: 'rows' has shape"):
        kernel.bind({**arrays(8, 12), "rows": table})


def test_laws_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="nearest has no input rest"):
        replace(LAW, tables=("rest",))
    with pytest.raises(ValueError, match="the table rows must be shared"):
        Loop(LAW, "columns", shared=("reach",))
    with pytest.raises(ValueError, match="the table rows must be shared"):
        Loop(LAW, "repeated", ("reach",), goes_on="sum")
    with pytest.raises(ValueError, match="rows have no totals and no folds"):
        Loop(LAW, "rows", shared=("reach", "rows"))
    with pytest.raises(ValueError, match="a part changes best, which is not carried"):
        replace(LAW, carried=("n",)).flat_program()
    with pytest.raises(ValueError, match=r"near is .* an entry for each of 1 parts"):
        replace(LAW, folds=(Fold((part(0),), near, "rows"),)).flat_program()
    with pytest.raises(ValueError, match="a fold in a fold has no table"):
        Fold((Fold((part(0),), table="rows"),))
    for refused in ({"times": 0}, {"times": 2, "table": "rows"}, {"times": 2, "near": near}):
        with pytest.raises(ValueError, match=f"a fold runs {refused['times']} times"):
            Fold((part(0),), **refused)
    with pytest.raises(ValueError, match="a fold runs 2 times"):
        Fold((Fold((part(0),)),), times=2)
    with pytest.raises(ValueError, match="p cannot be an input and a value"):
        replace(LAW, before=lambda x: {"p": x["p"]}).flat_program()
    with pytest.raises(ValueError, match="nearest has tables, and no program for one case"):
        LAW.program()
    with pytest.raises(ValueError, match="has arrays"):
        _ = replace(LAW, structure=np.zeros(2)).key
