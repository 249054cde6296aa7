"""Time of an iteration of iterative LQR, and to 0.1 % of the optimum, beside crocoddyl's solvers; in one run.

python benchmark/ilqr.py [--json FILE] [--quick] [--alone]

A UR5 reaches a point within N = 100 steps of 10 ms, once without limits, once with effort limits that hold it back.
Crocoddyl gets an environment of its own, ``.venv-crocoddyl``, which is made by pip when it is first needed (its wheel
does not work with Pinocchio 4.1, so not in ours); without a network its figures are missing. All begin with the same
controls, have the same costs and steps, and one thread; they must agree on the optimum to be compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from pathlib import Path
from statistics import median
from typing import Any

from measure import processor, versions

# isort: split
import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.core import Cache
from arm_control.optimal import (
    ArmDynamics,
    Costs,
    Ilqr,
    IlqrParameters,
    Term,
    control_error,
    position_error,
    state_error,
)

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from any_system import ArmSystem, UserDynamics, ilqr

ROOT = Path(__file__).parents[1]
WHEELS = ("crocoddyl==3.2.1", "pin==4.0.0")
HOME = np.array([0.0, -1.2, 1.2, -1.0, -1.57, 0.0])
MOVE = np.array([-0.2, 0.28, 0.18])
N, DT = 100, 0.01
W_P, W_X, W_U, W_P_LAST, W_X_LAST = 1.0, 1.0, 1e-4, 1e3, 1.0
SCALE = [1e-3] * 6 + [1e-2] * 6
LIMITS = np.array([30.0, 60.0, 20.0, 4.0, 1.0, 1.0])
TOLERANCE = 1e-9
"""Fall of the cost at which the solvers stop when they look for the optimum."""
NEVER = 1e-30
AGREEMENT = 1e-3
"""Relative difference of two optima that counts as the same."""


def reach(model: RobotModel) -> tuple[Costs, np.ndarray, np.ndarray]:
    """Costs, initial state and controls."""
    x0 = np.concatenate([HOME, np.zeros(6)])
    costs = Costs(
        Term(position_error(model.pose(HOME).p + MOVE), running=DT * W_P, terminal=W_P_LAST),
        Term(state_error(x0), running=DT * W_X, terminal=W_X_LAST, scale=SCALE),
        Term(control_error(np.zeros(6)), running=DT * W_U),
    )
    return costs, x0, np.tile(model.gravity(HOME), (N, 1))


class Crocoddyl:
    """The other process; asked and answered line by line."""

    def __init__(self, model: RobotModel) -> None:
        costs, x0, us = reach(model)
        del costs
        problem = {
            "urdf": str(urdf_path("ur5")),
            "frame": model.tip,
            "target": (model.pose(HOME).p + MOVE).tolist(),
            "x0": x0.tolist(),
            "u0": us[0].tolist(),
            "n": N,
            "dt": DT,
            "scale": SCALE,
            "limits": LIMITS.tolist(),
            **{"w_p": W_P, "w_x": W_X, "w_u": W_U, "w_p_last": W_P_LAST, "w_x_last": W_X_LAST},
        }
        command = [str(_environment()), str(Path(__file__).with_name("ilqr_crocoddyl.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self._ask(problem)["versions"]

    def solve(self, solver: str, iterations: int, tolerance: float) -> dict[str, Any]:
        """Seconds, iterations and cost of a solution."""
        return self._ask({"solver": solver, "iterations": iterations, "tolerance": tolerance})

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def _ask(self, what: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def _environment() -> Path:
    """Python of the environment with crocoddyl, which is made where it is missing."""
    directory = ROOT / ".venv-crocoddyl"
    python = directory / "bin" / "python"
    works = [str(python), "-c", "import crocoddyl"]
    if not python.exists() or subprocess.run(works, check=False, capture_output=True).returncode:
        venv.create(directory, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *WHEELS], check=True, capture_output=True)
    return python


class Ours:
    """Our solver, with and without limits, and with finite differences."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._costs, self._x0, self._us = reach(model)
        begin = time.perf_counter()
        self._solvers = {False: self._made(False), True: self._made(True)}
        self.seconds_to_make = time.perf_counter() - begin
        self._slow = self._with_differences()

    def _made(self, has_limits: bool) -> Ilqr:
        limits = (-LIMITS, LIMITS) if has_limits else ()
        return Ilqr(ArmDynamics(self._model, DT), self._costs, N, *limits, parameters=_parameters(100, TOLERANCE))

    def _with_differences(self) -> Ilqr:
        """The same steps, one by one in Python, their derivatives by central differences."""
        model, n = self._model, 6

        def step(x: np.ndarray, u: np.ndarray) -> np.ndarray:
            found = np.empty_like(x)
            for row, x_i, u_i in zip(found, x, u, strict=True):
                v = x_i[n:] + DT * model.forward_dynamics(x_i[:n], x_i[n:], u_i)
                row[:n], row[n:] = x_i[:n] + DT * v, v
            return found

        dynamics = UserDynamics(step, 12, 6)
        dynamics.arm = ArmSystem(model, DT).arm
        return ilqr(dynamics, self._costs, N, parameters=_parameters(100, TOLERANCE))

    def solve(self, solver: str, iterations: int, tolerance: float) -> dict[str, Any]:
        """Seconds, iterations and cost of a solution."""
        ilqr = self._slow if solver == "differences" else self._solvers[solver == "box"]
        ilqr.parameters = _parameters(iterations, tolerance)
        begin = time.perf_counter()
        result = ilqr.solve(self._x0, self._us)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "iterations": result.iterations, "cost": result.cost}


def _parameters(iterations: int, tolerance: float) -> IlqrParameters:
    return IlqrParameters(max_iterations=iterations, cost_tolerance=tolerance, gradient_tolerance=0.0)


def measured(contenders: dict[str, tuple[Any, str]], rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds per iteration and to 0.1 % of the optimum, contenders taking turns; and the optimum."""
    found: dict[str, dict[str, float]] = {}
    for name, (who, solver) in contenders.items():
        most = 30 if solver == "differences" else 200
        optimum = who.solve(solver, most, TOLERANCE)
        needed = next(
            n for n in range(1, most + 1) if who.solve(solver, n, TOLERANCE)["cost"] <= optimum["cost"] * 1.001
        )
        found[name] = {"optimum": optimum["cost"], "iterations": optimum["iterations"], "iterations_to_0.1%": needed}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for round_ in range(rounds):
        for name, (who, solver) in contenders.items():
            if solver == "differences" and round_ >= 3:
                continue
            n = int(found[name]["iterations_to_0.1%"])
            who.solve(solver, n, NEVER)  # the others had the cache
            for _ in range(1 if solver == "differences" else 4):
                some = who.solve(solver, n, NEVER)
                times[name].append((some["seconds"] * 1e3 / some["iterations"], some["seconds"] * 1e3))
    for name, rows in times.items():
        found[name]["iteration_ms"], found[name]["to_0.1%_ms"] = (median(column) for column in zip(*rows, strict=True))
    return found


def report(figures: dict[str, Any], found: dict[str, dict[str, float]]) -> None:
    """Print a table."""
    print(f"{figures['processor']}; {figures['versions']}; {figures.get('crocoddyl', 'no crocoddyl')}")
    print(f"made in {figures['ur5.n100.compile_s']:.2f} s, from the cache in {figures['ur5.n100.cached_s']:.3f} s")
    for name, x in found.items():
        print(
            f"{name:24s} {x['iteration_ms']:9.3f} ms per iteration {x['to_0.1%_ms']:9.2f} ms to 0.1 % "
            f"({x['iterations_to_0.1%']:3.0f} iterations)   optimum {x['optimum']:.6f}"
        )
    for key in ("vs_fddp", "box_vs_boxfddp", "vs_finite_differences"):
        value = figures.get(f"ur5.n100.{key}")
        print(f"ur5.n100.{key}: {'missing: no crocoddyl here' if value is None else f'{value:.1f}'}")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--quick", action="store_true", help="a few rounds")
    parser.add_argument("--alone", action="store_true", help="without crocoddyl")
    choices = parser.parse_args()
    cold = Ours(RobotModel.from_urdf(urdf_path("ur5"), cache=Cache(None)))
    Ours(RobotModel.from_urdf(urdf_path("ur5")))  # fills the cache
    ours = Ours(RobotModel.from_urdf(urdf_path("ur5")))
    model = ours._model
    contenders: dict[str, tuple[Any, str]] = {"ours": (ours, "free"), "ours, limits": (ours, "box")}
    contenders["ours, differences"] = (ours, "differences")
    figures: dict[str, Any] = {"processor": processor(), "versions": versions("numpy", "llvmlite")}
    figures |= {"ur5.n100.compile_s": cold.seconds_to_make / 2, "ur5.n100.cached_s": ours.seconds_to_make / 2}
    if not choices.alone:
        try:
            other = Crocoddyl(model)
            contenders |= {"crocoddyl FDDP": (other, "FDDP"), "crocoddyl BoxFDDP": (other, "BoxFDDP")}
            figures["crocoddyl"] = other.versions
        except (OSError, subprocess.CalledProcessError, json.JSONDecodeError) as error:
            print(f"crocoddyl is not here: {error}", file=sys.stderr)
    found = measured(contenders, 3 if choices.quick else 41)
    ms = {name: x["iteration_ms"] for name, x in found.items()}
    figures |= {
        "ur5.n100.iteration_ms": ms["ours"],
        "ur5.n100.box_iteration_ms": ms["ours, limits"],
        "ur5.n100.to_0.1_percent_ms": found["ours"]["to_0.1%_ms"],
        "ur5.n100.box_to_0.1_percent_ms": found["ours, limits"]["to_0.1%_ms"],
        "ur5.n100.vs_finite_differences": ms["ours, differences"] / ms["ours"],
        "contenders": found,
    }
    for key, mine, other_name in (("vs_fddp", "ours", "FDDP"), ("box_vs_boxfddp", "ours, limits", "BoxFDDP")):
        theirs = found.get(f"crocoddyl {other_name}")
        if theirs is None:
            continue
        figures[f"ur5.n100.{key}"] = theirs["iteration_ms"] / ms[mine]
        figures[f"ur5.n100.{key}_to_0.1_percent"] = theirs["to_0.1%_ms"] / found[mine]["to_0.1%_ms"]
        if abs(theirs["optimum"] / found[mine]["optimum"] - 1.0) > AGREEMENT:
            print(f"{mine} and {other_name} found different optima", file=sys.stderr)
    report(figures, found)
    if choices.json:
        choices.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
