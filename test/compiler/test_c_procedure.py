"""Procedures in C do what their text does in Python, and what their machine code does, to the last bit."""

from __future__ import annotations

import copy
import ctypes
import importlib
import shutil
import subprocess
import textwrap
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from arm_control.compiler import (
    CFunction,
    Floats,
    Ints,
    Procedure,
    Rows,
    RunsKernel,
    RunsLoop,
    address_of,  # noqa: F401 (in a text below)
    c_parts,
    compile_procedure,
    nearest,
    procedure,
    same_bits,
)
from arm_control.compiler.c_expressions import c_name
from arm_control.compiler.procedures import NotSupported, fields_of


def c_text(*arguments: Any, prefix: str = "") -> str:
    """All parts of procedures in C."""
    return "\n\n".join(part for part in c_parts(*arguments, prefix=prefix) if part) + "\n"


CC = shutil.which("gcc") or shutil.which("clang") or ""
FLAGS = (
    *("-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"),
)
needs_compiler = pytest.mark.skipif(not CC, reason="there is no gcc, and no clang")

LIMIT, MANY, FAR = 7, 1_000_000_000, 2**40
HALF, ENDLESS, IS_ON = 0.5, float("inf"), True
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -2.2e-308, 1.7976931348623157e308, 0.5, 1.5, -2.5])


class Pair(NamedTuple):
    """Numbers of one side."""

    q: Floats
    number: Ints
    size: int


class Work(NamedTuple):
    """All that a record may have."""

    x: Floats
    short: Ints
    t: Rows
    left: Pair
    right: Pair
    scale: float
    n: int
    is_on: bool


def new_work(rng: np.random.Generator) -> Work:
    def numbers(*shape: int) -> Any:
        return np.where(rng.random(shape) < 0.15, rng.choice(SPECIAL, shape), rng.normal(size=shape))

    def pair(size: int) -> Pair:
        return Pair(numbers(3), rng.integers(-9, 9, 2), size)

    whole = rng.integers(-100, 100, 5)
    return Work(numbers(5), whole, numbers(3, 4), pair(2), pair(3), float(rng.normal()), 5, bool(rng.random() < 0.5))


@procedure
def arithmetic(w: Work) -> float:
    """Operators and how closely they bind.

    See :mod:`arm_control.compiler.procedures` and :func:`~arm_control.compiler.c_procedure.c_text`.
    """
    a = w.x[0]
    b = w.x[1]
    w.x[2] = a - (b - w.x[3]) + -(a * b) - -b  # */ not the end
    w.x[3] = a / (b * w.scale) / HALF - (a + b) * (a - b)
    w.x[4] = -a * -w.scale + 3 * a - w.short[0] + 2
    i = (w.short[0] + 200) // 3 * 2 - (w.short[1] + 200) % LIMIT
    w.short[0] = -i + (LIMIT - (2 - i)) - -1
    w.short[1] = LIMIT * MANY * MANY + FAR - MANY * 3
    w.short[2] = (LIMIT if w.is_on else MANY) * MANY
    w.x[0] += 1
    w.x[1] *= w.x[0] - 1.5
    w.x[2] -= a - b
    w.x[3] /= w.short[3]
    w.short[3] -= 4 * LIMIT
    w.short[4] = (w.short[4] + 100) % 9
    return w.short[1] / w.short[2] + ENDLESS * w.scale


@procedure
def numbers(w: Work) -> float:
    """Functions of numbers."""
    total = 0.0
    for i in range(w.n):
        low = min(w.x[i], w.scale)
        high = max(w.x[i], -0.0)
        w.x[i] = max(low, high) + min(1, high) + abs(w.x[i]) + sqrt(abs(low))
        if w.x[i] == w.x[i]:
            bounded = min(max(w.x[i], -1e6), 1e6)
            w.short[i] = int(bounded * 3) + nearest(bounded) + min(i, 2) * max(w.short[i], 0)
        total += 1.0 / (1.0 + abs(w.x[i]))
    w.short[0] = same_bits(w.short[0] + 1, 12) + same_bits(w.short[1], LIMIT)
    total -= abs(w.short[2])
    return total + float(w.short[0]) + nearest(2.5) - nearest(-3.5)


@procedure
def flags(w: Work) -> float:
    """Comparisons, and what is made of them."""
    count = 0
    for i in range(1, w.n):
        a = w.x[i - 1]
        b = w.x[i]
        count += 1 if a < b else 0
        count += 2 if a <= b <= w.scale < 3 else 0
        count += 4 if not (a > b or (a >= 0.5 and w.is_on)) else 0
        count += 8 if (a == b or a != b) and IS_ON else 16
        is_more = not w.is_on and a != w.x[0]
        is_less = is_more if w.short[i] > i else w.short[i] != 3
        if is_less:
            count += 32
    return float(count)


@procedure
def branches(w: Work) -> float:
    """Loops, branches, and how far names reach."""
    found = 0
    for i in range(w.n):
        if w.x[i] > 1.0:
            w.short[2] = i
        elif w.x[i] > 0.5:  # behind a branch
            if w.is_on:
                continue
            last = w.x[i]
            found += 10
        elif w.x[i] < -1.0:
            last = w.scale
        else:
            pass
        if i > 0:
            found += 1
            before = w.x[i - 1]
        else:
            before = 0.25
        w.short[i] += found
        w.x[i] += before
    # above a loop
    k = 0
    while True:
        k += 1
        if k % 2 == 0:
            continue
        if k > w.n + found:
            break
        w.short[0] += k
    for _ in range(2):
        for _ in range(k):
            w.short[1] += 1
    end = 2
    for j in range(end):
        end += 1
        w.short[2] += end
        for k in range(j, w.short[3] - w.short[3] + 3):
            w.short[3] += 1
            k += 5  # noqa: PLW2901
            w.short[4] += k
    k = 5
    while k > 0 and w.is_on:
        k -= 1
    if w.is_on:
        last = 2.0
        unread = k  # noqa: F841
    else:
        last = 3.0
    return last + k + found


@procedure
def is_above(q: Floats, limit: float) -> bool:
    """Whether any number is."""
    for i in range(3):
        if q[i] > limit:
            break
        if i == 2:
            return False
    return True


@procedure
def choose(w: Work, is_left: bool) -> Pair:
    return w.left if is_left else w.right


@procedure
def other(w: Work, is_left: bool, unused: int) -> Pair:
    return choose(w, not is_left)


@procedure
def add(pair: Pair, row: Floats, factor: float) -> None:
    """Add a row."""
    if pair.size > 2 and factor == 3.0:
        return
    for double in range(pair.size):
        pair.q[double] += factor * row[double]


@procedure
def trace(t: Rows, first: int) -> float:
    """Sum, and halve what was summed up."""
    total = 0.0
    for i in range(3):
        total += t[i, first]
        t[i, first] = 0.5 * t[i, first]
    return total


@procedure
def _last(t: Rows) -> float:
    row = t[2]
    return row[3]


@procedure
def records(w: Work) -> float:
    """Records, arrays and tables, by other names and in other procedures."""
    is_left = is_above(w.left.q, 0.5)
    pair = choose(w, is_left)
    pair.number[0] = 7
    add(pair, w.t[1], 2)
    add(other(w, is_left, 1), w.x, 3)
    table = w.t
    row = table[w.left.size]
    row[1] = w.scale
    total = trace(w.t, 1)
    table[0, 2] = total + trace(table, 0)
    best = pair.q if w.is_on else w.x
    numbers = w.short if w.is_on else pair.number
    side = w.left
    if side.size < 3:
        side = w.right
    numbers[1] += 1
    best[1] = row[2] + _last(table)
    n = side.number[0]
    return choose(w, True).q[0] + n + (w.left if w.is_on else w.right).q[2]


@procedure
def long_lines(w: Work) -> float:
    """Lines that are broken."""
    if (w.x[0] + w.x[1] * w.scale > 0.25 and w.x[2] < w.scale) or (
        w.t[0, 1] + w.t[1, 2] + w.t[2, 3] > 0.5 and w.t[0, 0] + w.t[1, 0] + w.t[2, 1] > 0.25 and w.short[0] > 3
    ):  # a long comment
        return add_all(
            w.x[0] + w.x[1] * w.scale, w.t[0, 1] + w.t[1, 2] + w.t[2, 3], w.x[2] * w.x[2] * 3.0 + HALF * 25.0
        )
    return w.x[0] * w.x[1] * w.x[2] * w.x[3] - w.t[0, 0] * w.t[0, 1] * w.t[0, 2] + w.t[1, 0] * w.t[1, 1] * 123.0 + 12.0


@procedure
def add_all(a: float, b: float, c: float) -> float:
    """The sum."""
    return a + b + c


PROCEDURES = (arithmetic, numbers, flags, branches, records, long_lines)


def compiled(text: str, directory: Path, *options: str) -> ctypes.CDLL:
    source = directory / "text.c"
    source.write_text(text)
    library = directory / "text.so"
    command = [CC, *FLAGS, *options, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return ctypes.CDLL(str(library))


def structure(of_type: type, example: tuple[Any, ...]) -> type[ctypes.Structure]:
    """The structure of a record."""
    scalars: dict[object, Any] = {"int": ctypes.c_int64, "float": ctypes.c_double, "bool": ctypes.c_bool}
    members = []
    for (name, field), value in zip(fields_of(of_type).items(), example, strict=True):
        member = scalars.get(field)
        if isinstance(value, tuple) and isinstance(field, type):
            member = structure(field, value)
        elif isinstance(value, np.ndarray):
            member = (ctypes.c_int64 if field == "Ints" else ctypes.c_double) * value.size
        if member is not None:
            members.append((c_name(name), member))
    return type(of_type.__name__, (ctypes.Structure,), {"_fields_": members})


def write(record: tuple[Any, ...], place: Any) -> None:
    for name, value in record._asdict().items():  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            write(value, getattr(place, c_name(name)))
        elif isinstance(value, np.ndarray):
            getattr(place, c_name(name))[:] = value.ravel().tolist()
        elif isinstance(value, (int, float)):
            setattr(place, c_name(name), value)


def read(place: Any, record: tuple[Any, ...]) -> None:
    for name, value in record._asdict().items():  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            read(getattr(place, c_name(name)), value)
        elif isinstance(value, np.ndarray):
            value[...] = np.array(getattr(place, c_name(name))[:]).reshape(value.shape)


def bits(value: Any) -> list[Any]:
    """All numbers of a result or a record, each as its bits; what is not a number is one of them."""
    if isinstance(value, tuple):
        return [entry for field in value for entry in bits(field)]
    if not isinstance(value, np.ndarray):
        value = np.array([value])
    if value.dtype == np.float64:
        value = np.where(np.isnan(value), np.nan, value).view(np.int64)
    return value.ravel().tolist()


def called(text: str, name: str, parameters: str, arguments: str, directory: Path) -> Any:
    """A function of a text, compiled; what it returns is a double."""
    head = f"double call_{name}({parameters})"
    body = f"{{\n    return (double){name}({arguments});\n}}\n"
    call = getattr(compiled(f"{text}{head};\n{head}\n{body}", directory), f"call_{name}")
    call.restype = ctypes.c_double
    return call


@needs_compiler
@pytest.mark.parametrize("entry", PROCEDURES, ids=lambda entry: entry.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_text_machine_code_and_c_have_the_same_bits(
    entry: Procedure[[Work], float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ARM_CONTROL_STRICT", "1")
    rng = np.random.default_rng(0)
    text = c_text([entry], {Work: new_work(rng)}, prefix="arm_")
    call = called(text, f"arm_{entry.__name__}", "arm_Work *w", "w", tmp_path)
    bind = compile_procedure(entry)
    place = structure(Work, new_work(rng))()
    results = set()
    for _ in range(100):
        python = new_work(rng)
        machine, in_c = copy.deepcopy(python), copy.deepcopy(python)
        expected = [*bits(float(entry(python))), *bits(python)]
        assert [*bits(bind(machine)()), *bits(machine)] == expected
        write(in_c, place)
        result = call(ctypes.byref(place))
        read(place, in_c)
        assert [*bits(result), *bits(in_c)] == expected
        results.add(tuple(expected))
    assert len(results) == 100


def test_comments_and_long_lines():
    examples = {Work: new_work(np.random.default_rng(0))}
    text, parts = c_text(list(PROCEDURES), examples), c_parts(list(PROCEDURES), examples, prefix="ur5_")
    assert "static const double HALF = 0.5;" in parts.constants
    assert "    LIMIT = 7," in parts.constants
    assert "    double t[3][4];\n" in parts.records
    assert parts.prototypes.count(";") == 13
    assert max(map(len, text.splitlines())) <= 120
    assert "} else if (w->x[i] > 0.5) { /* behind a branch */" in text
    assert "    /* above a loop */\n    int64_t k = 0;" in text
    assert "/* * / not the end */" in text
    assert "/* a long comment */\n" in text
    assert "noqa" not in text
    assert " * See arm_control.compiler.procedures and c_text.\n */\nstatic" in text
    assert "ENDLESS = INFINITY;" in text


class Kernel(NamedTuple):
    run: RunsKernel
    q: Floats


class Kernels(NamedTuple):
    first: Kernel
    second: Kernel
    columns: RunsLoop
    read: CFunction


@procedure
def run_one(kernel: Kernel) -> float:
    """Run a kernel."""
    return kernel.run()


@procedure
def run_both(kernels: Kernels) -> float:
    """Run kernels."""
    is_well = kernels.first.run() == 0.0 and run_one(kernels.second) == 0.0
    return kernels.second.q[0] if is_well else -1.0


def new_kernels() -> Kernels:
    nothing: Any = None
    return Kernels(Kernel(nothing, np.zeros(2)), Kernel(nothing, np.zeros(2)), nothing, nothing)


@needs_compiler
def test_hooks_stand_for_kernels(tmp_path: Path):
    text = c_text([run_both], {Kernels: new_kernels()}, {"Kernel.run": "double_q"}, prefix="arm_")
    hook = "static double double_q(arm_Kernel *record)\n{\n    record->q[0] *= 2.0;\n    return 0.0;\n}\n"
    call = called(text + hook, "arm_run_both", "arm_Kernels *kernels", "kernels", tmp_path)
    place = structure(Kernels, new_kernels())()
    place.first.q[0], place.second.q[0] = 3.0, 4.0
    assert call(ctypes.byref(place)) == 8.0
    assert (place.first.q[0], place.second.q[0]) == (6.0, 8.0)


@needs_compiler
def test_hooks_stand_for_loops(tmp_path: Path):
    text = c_text([run_columns], {Kernels: new_kernels()}, {"Kernels.columns": "add_up"})
    hook = "static double add_up(Kernels *record, int64_t n)\n{\n    return record->first.q[0] + (double)n;\n}\n"
    call = called(text + hook, "run_columns", "Kernels *kernels", "kernels", tmp_path)
    place = structure(Kernels, new_kernels())()
    place.first.q[0] = 0.5
    assert call(ctypes.byref(place)) == 3.5


MAIN = """
int main(int argc, char **argv)
{
    (void)argv;
    static Work w = {.left = {.size = 2}, .right = {.size = 3}, .x = {0.25, -3.0, 0.75}, .scale = 1.5};
    w.n = argc == 1 ? 5 : 6;
    double total = 0.0;
    for (int k = 0; k < 2; k++) {
        w.is_on = k;
        w.short_[3] = 5;
        @CALLS@
    }
    return total == 12345.0;
}
"""


@needs_compiler
def test_behaviour_is_defined(tmp_path: Path):
    """Of all procedures, and a loop beyond an array is noticed."""
    calls = " ".join(f"total += {entry.__name__}(&w);" for entry in PROCEDURES)
    text = c_text(list(PROCEDURES), {Work: new_work(np.random.default_rng(0))})
    (tmp_path / "main.c").write_text(text + MAIN.replace("@CALLS@", calls))
    sanitizers = "-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-fno-sanitize=float-divide-by-zero"
    command = [CC, "-std=c11", "-ffp-contract=off", "-O1", *sanitizers, "main.c", "-o", "main", "-lm"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "cannot find" in built.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    for more, is_allowed in ([], True), (["6"], False):
        run = subprocess.run([tmp_path / "main", *more], capture_output=True, text=True, check=False)
        assert (run.returncode == 0) == is_allowed, run.stderr
        assert is_allowed or "out of bounds for type" in run.stderr


# -- what is refused


@procedure
def bump(w: Work) -> float:
    """Change something."""
    w.x[0] += 1.0
    return w.x[0]


@procedure
def bump_again(w: Work) -> float:
    """Change something in another procedure."""
    return bump(w)


OPEN = "one part changes what another one may read; use a name for it"
REFUSED = [
    ("power", "return w.scale**2", "power: cannot be written in C: w.scale ** 2"),
    ("sum_in_open_order", "return w.x[0] + bump_again(w)", f"w.x[0] + bump_again(w): {OPEN}"),
    ("store_in_open_order", "w.x[w.short[0]] = bump(w)\nreturn 0.0", OPEN),
    ("change_in_open_order", "w.x[1] += bump(w)\nreturn 0.0", OPEN),
    ("arguments_in_open_order", "return add_all(1.0, bump(w), bump(w))", OPEN),
    ("compare_in_open_order", "return 1.0 if w.x[0] < bump(w) else 2.0", OPEN),
    (
        "middle_that_changes",
        "return 1.0 if 0.0 < bump(w) < 3.0 else 2.0",
        "the middle of a comparison changes something",
    ),
    (
        "address",
        "return float(address_of(w.short))",
        "address_of(w.short): C has no operation address_of",
    ),
    ("other_type", "k = 1\nk = w.scale\nreturn k + 1.0", "k = w.scale: a value of type float where int is needed"),
    ("whole_of_float", "w.short[0] += w.scale\nreturn 0.0", "a value of type float where int is needed"),
    ("number_as_flag", "return 1.0 if w.n else 0.0", "cannot be written in C: w.n"),
    ("keyword", "return min(1.0, w.scale, key=abs)", "min(1.0, w.scale, key=abs)"),
    ("flag_negated", "return 1.0 if -w.is_on else 0.0", "-w.is_on"),
    ("no_procedure", "return new_work(w.scale).scale", "new_work is no procedure"),
    ("no_function", "return len(w.x)", "cannot be written in C: len(w.x)"),
    ("index_that_is_no_number", "return w.x[w.scale]", "w.x[w.scale]"),
    ("record_assigned", "w.t[0] = w.x\nreturn 0.0", "w.t[0]"),
    ("is_same", "return 1.0 if w.scale is w.scale else 0.0", "w.scale is w.scale"),
    ("nothing_used", "k = add(w.left, w.x, 1.0)\nreturn 0.0 if k else 1.0", "k = add(w.left, w.x, 1.0)"),
    ("loop_with_else", "while w.is_on:\n    break\nelse:\n    return 1.0\nreturn 0.0", "while w.is_on:"),
    ("nothing_returned", "return None", "cannot be written in C: None"),
    ("change_of_field", "w.scale += 1.0\nreturn 0.0", "w.scale"),
]
HEADS = [  # arguments, result, body, words
    ("w: Work", "Rows", "return w.t", "refused: cannot be written in C: a result of type Rows"),
    ("w: Work", "None", "return w.scale", "return w.scale"),
    ("read: CFunction", "float", "return 0.0", "refused: cannot be written in C: read of type CFunction"),
    ("t: Rows", "float", "return t[0, 0]", "refused: cannot be written in C: t of type Rows"),
]


def procedure_of(name: str, body: str, arguments: str = "w: Work", result: str = "float") -> Procedure[..., Any]:
    """A procedure of this module with such a body."""
    text = f"def {name}({arguments}) -> {result}:\n{textwrap.indent(body, '    ')}\n"
    names = dict(globals())
    exec(text, names)
    entry = procedure(names[name])
    entry.source = text  # there is no file to read it from
    return entry


def assert_refused(entry: Procedure[..., Any], words: str) -> None:
    with pytest.raises(NotSupported) as error:
        c_text([entry], {Work: new_work(np.random.default_rng(0))})
    assert words in str(error.value)
    assert entry.__name__ in str(error.value)


@pytest.mark.parametrize(("name", "body", "words"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_what_cannot_be_written_in_c_is_refused(name: str, body: str, words: str):
    assert_refused(procedure_of(name, body), words)


@pytest.mark.parametrize(("arguments", "result", "body", "words"), HEADS)
def test_arguments_and_results_without_a_type_in_c_are_refused(arguments: str, result: str, body: str, words: str):
    assert_refused(procedure_of("refused", body, arguments, result), words)


def test_functions_of_records_are_refused():
    with pytest.raises(NotSupported, match=r"kernels.first.run\(\): hooks name no function for Kernel.run"):
        c_text([run_both], {Kernels: new_kernels()})
    with pytest.raises(NotSupported, match=r"kernels.columns\(3\): hooks name no function for Kernels.columns"):
        c_text([run_columns], {Kernels: new_kernels()})
    with pytest.raises(NotSupported, match=r"kernels.read\(3\)"):
        c_text([read_function], {Kernels: new_kernels()}, {"Kernels.read": "read"})


@procedure
def run_columns(kernels: Kernels) -> float:
    return kernels.columns(3)


@procedure
def read_function(kernels: Kernels) -> float:
    return float(kernels.read(3))


class Tables(NamedTuple):
    a: Rows
    b: Rows


class Same(NamedTuple):
    a: Pair
    b: Pair


class Nothing(NamedTuple):
    run: RunsKernel


@procedure
def both_traces(tables: Tables) -> float:
    """Tables of two sizes."""
    return 1.0 if trace(tables.a, 0) > 0.0 or trace(tables.b, 0) > 0.0 else 0.0


@procedure
def either_table(tables: Tables) -> float:
    table = tables.a if tables.a[0, 0] > 0.0 else tables.b
    return table[0, 0]


@procedure
def other_table(tables: Tables) -> float:
    table = tables.a
    if table[0, 0] > 0.0:
        table = tables.b
    return table[0, 0]


@procedure
def first_of(same: Same) -> float:
    return same.a.q[0]


def test_sizes_that_do_not_fit_are_refused():
    def pair(n: int) -> Pair:
        return Pair(np.zeros(n), np.zeros(2, np.int64), n)

    tables = Tables(np.zeros((3, 2)), np.zeros((3, 4)))
    words = {both_traces: "trace: .*different numbers of columns", either_table: "tables.a if", other_table: "table = "}
    for entry, text in words.items():
        with pytest.raises(NotSupported, match=text):
            c_text([entry], {Tables: tables})
    with pytest.raises(NotSupported, match=r"Pair.q has shapes \(3,\) and \(4,\), one is allowed"):
        c_text([first_of], {Same: Same(pair(3), pair(4))})
    with pytest.raises(NotSupported, match=r"Pair.q has shape \(2, 2\), and is Floats"):
        c_text([first_of], {Pair: pair(2)._replace(q=np.zeros((2, 2)))})
    one = pair(3)
    with pytest.raises(NotSupported, match=r"Same.a.q and Same.b.q share memory, and would not in C"):
        c_text([first_of], {Same: Same(one, one)})
    with pytest.raises(NotSupported, match="Same: no example of this record"):
        c_text([first_of], {Pair: one})
    nothing: Any = None
    with pytest.raises(NotSupported, match="Nothing has no numbers, arrays or records"):
        c_text([], {Nothing: Nothing(nothing)})


MODULE = """
from __future__ import annotations

from arm_control.compiler.procedures import Floats, procedure
{imports}
SAME, FACTOR = 4, {factor}


@procedure
def scaled(q: Floats, _k: float) -> float:
    k = SAME * _k
    factor = FACTOR * {inner}
    return factor * k
"""


@needs_compiler
def test_names_that_two_modules_have_get_that_of_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "first_text.py").write_text(MODULE.format(imports="", factor=2.0, inner="q[0]"))
    imports = "from first_text import scaled as inner\n"
    (tmp_path / "second_text.py").write_text(MODULE.format(imports=imports, factor=3.0, inner="inner(q, 5)"))
    entry = importlib.import_module("second_text").scaled
    text = c_text([entry], {})
    assert text.count("SAME = 4") == 1
    for name in ("first_text_FACTOR = 2.0;", "second_text_FACTOR = 3.0;"):
        assert f"static const double {name}" in text
    call = called(text, "second_text_scaled", "const double *q, double k", "q, k", tmp_path)
    q = (ctypes.c_double * 1)(7.0)
    assert call(q, ctypes.c_double(2.0)) == entry(list(q), 2.0) == 3.0 * 2.0 * 7.0 * 20.0 * 8.0
    monkeypatch.setattr(entry, "__module__", "other.first_text")
    with pytest.raises(NotSupported, match="two things have one name in C"):
        c_text([entry], {})
