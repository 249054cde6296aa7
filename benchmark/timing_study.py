"""What a generated function costs, and what it costs to generate one: SymPy, hard-coded Python, our kernels.

    f1 = l0 cos q0
    f2 = l1 sin(q0 - l0 sin q1 cos q2 - l2 sin q2 - l0 sin q1 + q0 l0) cos q0 + l2 sin q0

Each is called a million times with fresh random arguments; drawing those is timed alone, too. Then the mass
matrix of the UR5: SymPy's matrices and ``lambdify`` against a tape and machine code.

python benchmark/timing_study.py [--json FILE] [--picture FILE] [--quick]
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from timeit import Timer
from typing import Any

import measure
import numpy as np
import sympy as sp
from measure import agree
from symbolic_mass_matrix import mass_matrix_study

from arm_control.compiler import (
    CallForm,
    KernelCall,
    Law,
    Loop,
    NumberArgument,
    NumberResult,
    OwnWork,
    Program,
    Tape,
    builtin_call,
    compile_law,
    plain_compiler,
    python_function,
)
from arm_control.core import progress_bar
from arm_control.maths import cos, sin

CALLS, BLOCKS = 1_000_000, 20
Figures = dict[str, Any]


def f1(q0: Any, l0: Any, sin: Any, cos: Any) -> Any:
    """The first function of the study, of any scalars."""
    return cos(q0) * l0


def f2(q0: Any, q1: Any, q2: Any, l0: Any, l1: Any, l2: Any, sin: Any, cos: Any) -> Any:
    """The second one: it looks like an entry of a Jacobian."""
    return l1 * sin(q0 - l0 * sin(q1) * cos(q2) - l2 * sin(q2) - l0 * sin(q1) + q0 * l0) * cos(q0) + l2 * sin(q0)


TEXTS = {
    "f1": "{0}cos(q0) * l0",
    "f2": (
        "l1 * {0}sin(q0 - l0 * {0}sin(q1) * {0}cos(q2) - l2 * {0}sin(q2)"
        " - l0 * {0}sin(q1) + q0 * l0) * {0}cos(q0) + l2 * {0}sin(q0)"
    ),
}
FUNCTIONS = {"f1": f1, "f2": f2}


def arguments(name: str) -> list[str]:
    """Names of a function's arguments."""
    return list(inspect.signature(FUNCTIONS[name]).parameters)[:-2]


def size(name: str) -> int:
    """How many they are."""
    return len(arguments(name))


def hard_coded(name: str, module: Any, prefix: str) -> Callable[..., float]:
    """Return the function as somebody would type it."""
    source = f"lambda {', '.join(arguments(name))}: {TEXTS[name].format(prefix)}"
    return eval(source, {prefix.rstrip("."): module})


def program(name: str) -> Program:
    """The function as a program."""
    tape = Tape()
    return tape.program({"y": FUNCTIONS[name](*tape.inputs("x", size(name)), sin=sin, cos=cos)})


def one_at_a_time(name: str, directory: Path) -> dict[str, Callable[..., Any]]:
    """Every way to get a function of numbers."""
    symbols = sp.symbols([f"x{i}" for i in range(size(name))])
    formula = FUNCTIONS[name](*symbols, sin=sp.sin, cos=sp.cos)
    return {
        "hard-coded, math": hard_coded(name, math, "math."),
        "hard-coded, numpy": hard_coded(name, np, "np."),
        "lambdify, math": sp.lambdify(symbols, formula, "math"),
        "lambdify, numpy": sp.lambdify(symbols, formula, "numpy"),
        "lambdify, math, simplified": sp.lambdify(symbols, sp.simplify(formula), "math"),
        "lambdify, numpy, simplified": sp.lambdify(symbols, sp.simplify(formula), "numpy"),
        **with_a_compiler(symbols, formula, directory),
        "tape, Python": from_tape(program(name)),
        "tape, LLVM": from_llvm(name),
    }


def with_a_compiler(symbols: list[Any], formula: Any, directory: Path) -> dict[str, Callable[..., Any]]:
    """SymPy's ``autowrap`` by Cython: needs Cython, setuptools and a C compiler."""
    from sympy.utilities.autowrap import autowrap

    try:
        return {"autowrap, Cython": autowrap(formula, args=symbols, backend="cython", tempdir=str(directory))}
    except Exception as error:
        print(f"autowrap is left out, it needs Cython and a C compiler: {type(error).__name__}")
        return {}


def from_tape(formula: Program) -> Callable[..., float]:
    """Return the generated Python function, of separate numbers."""
    function = python_function(formula)
    return lambda *x: function(x)[0]


def from_llvm(name: str) -> Callable[..., float]:
    """Return the machine code as a built-in function of separate numbers."""
    names = arguments(name)
    text = lambda x: {"y": [FUNCTIONS[name](*(x[one][0] for one in names), sin=sin, cos=cos)]}  # noqa: E731
    law = Law(name, text, dict.fromkeys(names, 1), has_masses=False)
    work = OwnWork(compile_law(plain_compiler(), law, {one: np.ones((1, 1)) for one in names}))
    form = CallForm(name, tuple(map(NumberArgument, names)), NumberResult("y"))
    call = KernelCall(form, work, work.inputs, work.outputs, {})
    return builtin_call(call, call.__call__) or call


def all_at_once(name: str) -> dict[str, Callable[[Any], Any]]:
    """Functions of an array with a row of arguments for each call."""
    law = Law(name, lambda x: {"y": [FUNCTIONS[name](*x["x"], sin=sin, cos=cos)]}, {"x": size(name)})
    kernel = compile_law(plain_compiler(), Loop(law, "rows"), {"x": np.ones((1, size(name)))})
    symbols = sp.symbols([f"x{i}" for i in range(size(name))])
    vectorised = sp.lambdify(symbols, FUNCTIONS[name](*symbols, sin=sp.sin, cos=sp.cos), "numpy")

    def batch(x: Any) -> Any:
        y = np.empty((len(x), 1))
        kernel.bind({"x": x, "y": y})()
        return y[:, 0]

    return {"all at once: lambdify, numpy": lambda x: vectorised(*x.T), "all at once: LLVM": batch}


def check(name: str, single: Mapping[str, Any], batch: Mapping[str, Any]) -> None:
    """Nothing is timed that does not compute the same."""
    x = np.random.default_rng(1).random((8 * 5, size(name)))
    expected = [FUNCTIONS[name](*row, sin=math.sin, cos=math.cos) for row in x.tolist()]
    values = {way: [function(*row) for row in x.tolist()] for way, function in single.items()}
    values |= {way: function(x) for way, function in batch.items()}
    for way, found in values.items():
        agree(f"{name}, {way}", found, expected, 1e-12)


def timers(name: str, single: Mapping[str, Any], batch: Mapping[str, Any], calls: int) -> dict[str, Callable[[], Any]]:
    """What is timed: this many calls by each way, random arguments included."""
    random = np.random.default_rng(0).random
    drawn, names = ", ".join(["random()"] * size(name)), ", ".join(arguments(name))

    def loop(statement: str, **names: Any) -> Callable[[], Any]:
        setup = "\n".join(["pass", *(f"{key} = {key}_" for key in names)])  # local names are found fastest
        timer = Timer(statement, setup, globals={f"{key}_": value for key, value in names.items()})
        return lambda: timer.timeit(calls)

    def at_once(function: Any) -> Callable[[], Any]:
        timer = Timer(lambda: function(random((calls, size(name)))))
        return lambda: timer.timeit(1)

    return {
        "random() alone": loop(f"({drawn},)", random=random),
        "in line, math": loop(f"{names} = {drawn}; {TEXTS[name].format('math.')}", random=random, math=math),
        "in line, numpy": loop(f"{names} = {drawn}; {TEXTS[name].format('np.')}", random=random, np=np),
        **{way: loop(f"f({drawn})", f=function, random=random) for way, function in single.items()},
        "all at once: random alone": at_once(lambda x: x),
        **{way: at_once(function) for way, function in batch.items()},
    }


def calls_study(directory: Path, calls: int) -> Figures:
    """Microseconds of a call, which is seconds of a million calls; the ways take turns block by block."""
    found: Figures = {}
    for name in FUNCTIONS:
        single, batch = one_at_a_time(name, directory), all_at_once(name)
        check(name, single, batch)
        block = max(8, calls // BLOCKS // 8 * 8)
        ways = timers(name, single, batch, block)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in progress_bar(range(BLOCKS), name):
            for way, timed in ways.items():
                seconds[way].append(timed())
        for way, values in seconds.items():
            found[f"{name}.{way}_us"] = median(values) / block * 1e6
            print(f"{name}  {way:32} {found[f'{name}.{way}_us']:8.4f} us", flush=True)
    return found


def draw(path: Path, figures: Mapping[str, Any]) -> None:
    """Bars of the calls' times; the grey part is the random arguments themselves."""
    from arm_control.report import GREY, new_figure, style

    figure = new_figure(12.0, 4.8)
    for axes, name in zip(figure.subplots(1, 2), FUNCTIONS, strict=True):
        times = {k[3:-3]: v for k, v in figures.items() if k.startswith(f"{name}.") and "alone" not in k}
        places = range(len(times))[::-1]
        axes.barh(places, list(times.values()), color=[_colour(way) for way in times])
        axes.barh(places, [figures[f"{name}.{_alone(way)}_us"] for way in times], color=GREY)
        axes.set_yticks(list(places), list(times))
        for place, value in zip(places, times.values(), strict=True):
            axes.text(value, place, f" {value:.{2 if value > 0.1 else 3}f}", va="center", fontsize=8)
        style(axes, f"{name}: a million calls", "time [s]; grey: drawing the random arguments")
        axes.set_xlim(right=1.12 * max(times.values()))
    figure.savefig(path)


def _alone(way: str) -> str:
    return "all at once: random alone" if way.startswith("all at once") else "random() alone"


def _colour(way: str) -> str:
    from arm_control.report import BLUE, GREEN, ORANGE

    if "LLVM" in way or "tape" in way:
        return GREEN
    return ORANGE if "lambdify" in way or "autowrap" in way else BLUE


def main() -> None:
    """Measure and print; write the figures and the picture where the options say."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--picture", type=Path, help="draw the bars, such as timing_study.png")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    options = parser.parse_args()
    figures: Figures = {
        "cpu": measure.processor(),
        "versions": measure.versions("numpy", "sympy", "llvmlite", "Cython"),
        "quick": options.quick,
    }
    print(f"{figures['cpu']}; {figures['versions']}")
    with tempfile.TemporaryDirectory() as directory:
        figures |= calls_study(Path(directory), 4_000 if options.quick else CALLS)
    if options.picture:
        draw(options.picture, figures)
    figures |= mass_matrix_study(2 if options.quick else 6, limit=1.0 if options.quick else 60.0)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
