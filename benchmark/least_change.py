"""Time and accuracy of the least change under rows, beside daqp, quadprog and ProxQP where they are installed.

python benchmark/least_change.py [--json FILE] [--full]

Ours is measured as a controller calls it: from machine code, on memory that is filled already, the mean of ten
solves; "from Python" is one call of it through ctypes. The others are functions of arrays. Mass matrices are those of a
Panda.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from ctypes import c_int
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from measure import Contender, agree, processor, take_turns, versions

# isort: split
import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.compiler import compile_procedure, direct_call, procedure
from arm_control.constraints import HOLDS, LeastChange, LeastDistance, Solver, solve
from arm_control.maths import Array

REPEATS = 10


class Repeated(NamedTuple):
    """A problem."""

    problem: LeastDistance


@procedure
def repeat(t: Repeated) -> float:
    """Solve it ten times."""
    for _ in range(REPEATS):
        solve(t.problem)
    return 0.0


Problem = tuple[Array, Array]
ROUNDS, PROBLEMS = 20, 100
COMPARED = 2000
"""Problems that the other libraries solve, too."""
CASES = {"60 rows, idle": (60, 0.0), "60 rows": (60, 1.0), "400 rows, idle": (400, 0.0), "400 rows": (400, 1.0)}


def metrics(rng: np.random.Generator, n: int) -> list[Array]:
    """L^-T of mass matrices of a Panda, of 7 joints."""
    model = RobotModel.from_urdf(urdf_path("panda"))
    return [np.linalg.inv(np.linalg.cholesky(model.mass_matrix(rng.uniform(-1.5, 1.5, model.nq)))).T for _ in range(n)]


def draw(rng: np.random.Generator, S: Array, m: int, asked: float) -> Problem:
    """Limits of accelerations and of torques, and directions as those of obstacles; a point satisfies all of them."""
    d = len(S)
    M = np.linalg.inv(S @ S.T)
    C = np.vstack([np.eye(d), -np.eye(d), M, -M, rng.normal(size=(m - 4 * d, d))])
    inside = rng.normal(size=d)
    room = rng.uniform(0.05, 2.0, m) * np.linalg.norm(C, axis=1)
    h = C @ inside - room
    return C @ S, h if asked else np.minimum(h, -1e-3)


def residual(G: Array, h: Array, answer: LeastChange) -> float:
    """Largest violation of the conditions of an optimum, each relative to what it is computed from."""
    y, u, active, length = answer.y, answer.u, answer.active, np.linalg.norm(G, axis=1)
    size, miss = max(np.linalg.norm(y), 1e-300), (h - G @ y) / np.where(length > 0.0, length, 1.0)
    stationary = np.abs(y - G[active].T @ u).max() / max(size, np.abs(u) @ length[active])
    return max(stationary, max(miss.max(), np.abs(miss[active]).max(initial=0.0)) / size, -u.min(initial=0.0))


def add_dependent(rng: np.random.Generator, G: Array, h: Array) -> Problem:
    """Rows that follow from others: copies, multiples, sums with weights; many of them hold just so where others do."""
    weights = rng.uniform(size=(10, len(h))) * (rng.random((10, len(h))) < 3.0 / len(h))
    copies = rng.integers(len(h), size=10)
    factors = 10.0 ** rng.uniform(-3.0, 3.0, 10)
    return np.vstack([G, factors[:, None] * G[copies], weights @ G]), np.r_[h, factors * h[copies], weights @ h]


def problems_of(n: int) -> Iterator[Problem]:
    """Random problems, those of an arm and such with metrics of condition up to 1e8; a third has dependent rows."""
    rng = np.random.default_rng(2)
    of_arm = metrics(rng, 50)
    for k in range(n):
        d = 7 if k % 2 else int(rng.integers(1, 9))
        basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
        S = of_arm[k % 50] if k % 2 else basis * np.geomspace(1.0, 10.0 ** -rng.uniform(0.0, 4.0), d) @ basis.T
        problem = draw(rng, S, int(rng.integers(4 * d, 120)), 1.0)
        yield add_dependent(rng, *problem) if k % 3 == 0 else problem


def accuracy(n: int) -> dict[str, float]:
    """Largest residual, and share of the problems that each library solves."""
    solvers, contenders = {d: Solver(d, 140) for d in range(1, 9)}, others()
    residuals, steps, n_unsolved, compared = [], 0, 0, min(n, COMPARED)
    solved = dict.fromkeys(contenders, 0)
    for k, (G, h) in enumerate(problems_of(n)):
        answer = solvers[G.shape[1]].solve(G, h)
        residuals.append(residual(G, h, answer))
        steps = max(steps, answer.steps)
        n_unsolved += answer.status != HOLDS or answer.capped
        for name in contenders if k < compared else ():
            solved[name] += is_solved(contenders[name], G, h, answer.y)
    found = {"problems": n, "unsolved": n_unsolved, "residual": float(np.max(residuals)), "steps": steps}
    found["above 1e-9"] = int(np.sum(np.array(residuals) > 1e-9))
    return found | {f"solved by {name}": count / compared for name, count in solved.items()}


def is_solved(other: Callable[[Array, Array], Any], G: Array, h: Array, expected: Array) -> bool:
    """Whether a library finds the answer, to a millionth of its length."""
    try:
        y = np.asarray(other(G, h), float)
    except ValueError:  # quadprog says so
        return False
    return bool(np.linalg.norm(y - expected) <= 1e-6 * np.linalg.norm(expected))


@cache
def others() -> dict[str, Callable[[Array, Array], Any]]:
    """What the other libraries call for a problem."""
    found: dict[str, Callable[[Array, Array], Any]] = {}
    for name in ("daqp", "quadprog", "proxsuite"):
        try:
            library = import_module(name)
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        if name == "daqp":

            def other(G: Array, h: Array, library: Any = library) -> Any:
                m, d = G.shape
                return library.solve(np.eye(d), np.zeros(d), G, np.full(m, 1e30), h, np.zeros(m, dtype=c_int))[0]
        elif name == "quadprog":

            def other(G: Array, h: Array, library: Any = library) -> Any:
                return library.solve_qp(np.eye(G.shape[1]), np.zeros(G.shape[1]), G.T, h)[0]
        else:

            def other(G: Array, h: Array, library: Any = library) -> Any:
                d = G.shape[1]
                return library.proxqp.dense.solve(np.eye(d), np.zeros(d), None, None, G, h, None, eps_abs=1e-9).x

        found[name] = other
    return found


def times(m: int, asked: float, rounds: int, problems: int) -> dict[str, Any]:
    """Times [us] of a call, and those of the other libraries; steps and active rows."""
    rng, bind = np.random.default_rng(1), compile_procedure(repeat, keeps_lock=True)
    drawn = [draw(rng, S, m, asked) for S in metrics(rng, problems)]
    solvers = [Solver(7, m) for _ in drawn]
    answers = [Solver(7, m).solve(*problem) for problem in drawn]
    for solver, problem in zip(solvers, drawn, strict=True):
        solver.solve(*problem)
    bound = [bind(Repeated(s.record)) for s in solvers]  # what is called does not keep its memory
    contenders = {
        "in machine code": Contender(lambda run: run(), [(direct_call(one),) for one in bound]),
        "from Python": Contender(lambda run: run(), [(s.run,) for s in solvers]),
    }
    for name, other in others().items():
        for (G, h), answer in zip(drawn, answers, strict=True):
            agree(name, other(G, h), answer.y, 1e-5)
        contenders[name] = Contender(other, drawn)
    taken = take_turns(contenders, rounds)
    shares = {name: REPEATS if name == "in machine code" else 1 for name in taken}
    found = {name: {"median": x.median / shares[name], "p99": x.p99 / shares[name]} for name, x in taken.items()}
    return found | {
        "steps": median(a.steps for a in answers),
        "most steps": max(a.steps for a in answers),
        "active": median(len(a.active) for a in answers),
    }


def main(arguments: list[str] | None = None) -> int:
    """Print the figures, and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--full", action="store_true", help="accuracy of 100,000 problems")
    parser.add_argument("--quick", action="store_true", help="few problems: do all parts run?")
    options = parser.parse_args(arguments)
    rounds, problems, n = (2, 3, 20) if options.quick else (ROUNDS, PROBLEMS, 100_000 if options.full else 10_000)
    report: dict[str, Any] = {
        "processor": processor(),
        "versions": versions("numpy", "llvmlite", "daqp", "quadprog", "proxsuite"),
    }
    print(report["processor"], report["versions"], sep="\n")
    report["accuracy"] = accuracy(n)
    print(report["accuracy"])
    for name, (m, asked) in CASES.items():
        report[name] = times(m, asked, rounds, problems)
        for key, value in report[name].items():
            print(f"{name}: {key}: {value}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
