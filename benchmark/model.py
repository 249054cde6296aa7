"""Time of the model: from a URDF to the first result, of single calls and of batches; Pinocchio beside.

python benchmark/model.py [--json FILE] [--picture FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import measure
import numpy as np
from growth import draw, measure_chains
from measure import Contender, agree, medians, take_turns
from pinocchio_calls import EXAMPLES, PinocchioArm, first_numbers

from arm_control import RobotModel, urdf_path
from arm_control.compiler import ArrayArgument, ArrayResult, CallForm, KernelCall, Law, OwnWork, builtin_call
from arm_control.core import Cache, progress_bar
from arm_control.model import BACKENDS, TERMS

ARGUMENTS = {  # how many of q, v and a (or tau) a method takes
    "mass_matrix": 1,
    "gravity": 1,
    "jacobian": 1,
    "pose": 1,
    "bias": 2,
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "torque_derivatives": 3,
    "acceleration_derivatives": 3,
}
BARE = {"terms": TERMS, "mass_matrix": ("M",)}
BATCH = ("R_WE", "p_WE", "J", "M")
Figures = dict[str, Any]


class Sizes(NamedTuple):
    """How much is measured."""

    rounds: int
    processes: int
    states: int
    batches: int
    chains: tuple[int, ...]


FULL = Sizes(200, 9, 100_000, 11, (2, 4, 6, 8, 10, 12, 15, 20, 25, 30))
QUICK = Sizes(2, 1, 1_000, 2, (2, 4))


def robots() -> dict[str, tuple[Path, str]]:
    """File and tip of the arms that are measured; the Panda where the package example-robot-data is."""
    found = {"ur5": (urdf_path("ur5"), "tool0")}
    panda = EXAMPLES / "panda_description" / "urdf" / "panda.urdf"
    if panda.is_file():
        return {**found, "panda": (panda, "panda_hand")}
    print("no Panda: its URDF comes with the package example-robot-data")
    return found


def first_results(arms: Mapping[str, tuple[Path, str]], sizes: Sizes) -> Figures:
    """Seconds until every kernel has given a result, each time in a new process: without and with a cache."""
    found: dict[str, list[float]] = {}
    for _ in progress_bar(range(sizes.processes), "new processes"):
        for name, arm in arms.items():
            with tempfile.TemporaryDirectory() as cache:
                for state in ("cold", "cached"):
                    for key, seconds in _in_a_new_process(*arm, "llvm", cache).items():
                        found.setdefault(f"{name}.{state}{key}", []).append(seconds)
    return {key: median(values) for key, values in found.items()}


def first_results_of_others(sizes: Sizes) -> Figures:
    """The same for the other back ends, which keep nothing."""
    found: dict[str, list[float]] = {}
    for _ in progress_bar(range(min(sizes.processes, 3)), "new processes, other back ends"):
        for backend in BACKENDS[1:]:
            seconds = _in_a_new_process(urdf_path("ur5"), "tool0", backend, "off")
            found.setdefault(f"ur5.{backend}.cold_s", []).append(seconds["_s"])
    return {key: median(values) for key, values in found.items()}


def _in_a_new_process(urdf: Path, tip: str, backend: str, cache: str) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).with_name("first_result.py")), str(urdf), tip, backend]
    begin = time.perf_counter()
    environment = {**os.environ, "ARM_CONTROL_CACHE": cache, "ARM_CONTROL_DRAFTS": "on"}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    whole, inside = time.perf_counter() - begin, json.loads(run.stdout)
    return {"_s": inside["work_s"], "_with_imports_s": inside["work_s"] + inside["imports_s"], "_process_s": whole}


def single_calls(name: str, model: RobotModel, sizes: Sizes) -> Figures:
    """Microseconds of every call: ours, Pinocchio's, and of a call with nothing to compute."""
    rng = np.random.default_rng(0)
    states = list(zip(*rng.uniform(-1.0, 1.0, (3, 100, model.nq)), strict=True))

    def contender(function: Callable[..., Any], n: int) -> Contender:
        return Contender(function, [state[:n] for state in states])

    arm = PinocchioArm(model)
    ours = {method: contender(getattr(model, method), n) for method, n in ARGUMENTS.items()}
    theirs = {f"{method}_pinocchio": contender(arm.calls()[method], n) for method, n in ARGUMENTS.items()}
    fused = {f"fused_{way}": contender(function, 2) for way, function in arm.fused().items()}
    contenders = {"evaluate": contender(model.evaluate, 2), **fused, **ours, **theirs}
    _check(contenders, list(fused))
    contenders["empty"] = contender(empty_call(model), 2)
    contenders |= {f"kernel_{part}": _bare(model, quantities) for part, quantities in BARE.items()}
    figures: Figures = {}
    for part, times in take_turns(contenders, sizes.rounds).items():
        figures |= {f"{name}.{part}_us": times.median, f"{name}.{part}_p99_us": times.p99}
    return figures | _ratios(name, figures, list(fused))


def _bare(model: RobotModel, quantities: tuple[str, ...]) -> Contender:
    """A kernel by itself, without checks and copies: always of the same state."""
    kernel = model._calls.kernel(quantities)
    kernel.inputs["q"][:] = 0.5
    return Contender(kernel.call, [()] * 100)


def _ratios(name: str, figures: Figures, fused: list[str]) -> Figures:
    def ratio(one: str, other: str) -> float:
        return float(figures[f"{name}.{one}_us"] / figures[f"{name}.{other}_us"])

    found = {f"{name}.vs_{way}": ratio("evaluate", way) for way in fused}
    found[f"{name}.fused_vs_pinocchio"] = max(found.values())  # against the fastest way
    singles = {f"{name}.{method}_vs_pinocchio": ratio(method, f"{method}_pinocchio") for method in ARGUMENTS}
    return {**found, **singles, f"{name}.worst_single_vs_pinocchio": max(singles.values())}


def _check(contenders: Mapping[str, Contender], fused: list[str]) -> None:
    """Nothing is timed that does not compute the same."""
    pairs = [("evaluate", way) for way in fused] + [(method, f"{method}_pinocchio") for method in ARGUMENTS]
    for pair in pairs:
        agree(" and ".join(pair), *first_numbers(*(contenders[name] for name in pair)))


def empty_call(model: RobotModel) -> Callable[..., Any]:
    """Return a built-in call that checks q and v and returns one number of them: all but the arithmetic."""
    form = CallForm("nothing", (ArrayArgument("q", (model.nq,)), ArrayArgument("v", (model.nv,))), ArrayResult("first"))
    law = Law("nothing", lambda x: {"first": x["q"][:1]}, {"q": model.nq, "v": model.nv})
    work = OwnWork(model.compile_law(law, {name: np.zeros((1, size)) for name, size in law.inputs.items()}))
    return builtin_call(KernelCall(form, work, work.inputs, work.outputs, {}), model.bias)


def back_ends(arm: tuple[Path, str], sizes: Sizes) -> Figures:
    """Microseconds of ``evaluate`` for each back end."""
    path, tip = arm
    models = {name: RobotModel.from_urdf(path, tip=tip, backend=name) for name in BACKENDS}
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 50, 6))
    contenders = {name: Contender(model.evaluate, list(zip(q, v, strict=True))) for name, model in models.items()}
    times = take_turns(contenders, max(2, sizes.rounds // 4))
    return {f"ur5.{name}.evaluate_us": found.median for name, found in times.items()}


def batches(name: str, model: RobotModel, sizes: Sizes) -> Figures:
    """Seconds for pose, Jacobian and mass matrix of many states; the loops are Pinocchio's."""
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (sizes.states, model.nq))
    rows, batch = list(q), model.batch(*BATCH)
    out = np.empty((sizes.states, batch.n_results))
    loops = PinocchioArm(model).loops()
    contenders = {
        "fresh": lambda: batch(q),
        "reused": lambda: batch(q, out=out),
        **{loop: lambda function=function: function(rows) for loop, function in loops.items()},
    }
    times = medians(contenders, sizes.batches)
    fastest = min(times[loop] for loop in loops)
    return {
        "batch.states": sizes.states,
        **{f"{name}.batch_{part}_s": seconds for part, seconds in times.items()},
        f"{name}.batch_vs_pinocchio_loop": fastest / times["reused"],  # neither side takes new memory
        f"{name}.batch_fresh_vs_pinocchio_loop": fastest / times["fresh"],
        f"{name}.batch_vs_pinocchio_loop_by_index": times["by_index"] / times["reused"],
        f"{name}.batch_fresh_vs_pinocchio_loop_by_index": times["by_index"] / times["fresh"],
    }


def everything(sizes: Sizes) -> Figures:
    """Every figure by name."""
    arms = robots()
    figures: Figures = {
        "cpu": measure.processor(),
        "versions": measure.versions("numpy", "pin", "llvmlite"),
        "quick": sizes is QUICK,
    }
    print(f"{figures['cpu']}; {figures['versions']}; one thread")
    figures |= _shown(first_results(arms, sizes)) | _shown(first_results_of_others(sizes))
    with tempfile.TemporaryDirectory() as directory:
        for name, (path, tip) in progress_bar(arms.items(), "calls and batches"):
            model = RobotModel.from_urdf(path, tip=tip, backend="llvm", cache=Cache(Path(directory)))
            model.prepare(progress=False)
            figures |= _shown(single_calls(name, model, sizes)) | _shown(batches(name, model, sizes))
    figures |= _shown(back_ends(arms["ur5"], sizes))
    figures["chain.sizes"] = list(sizes.chains)
    return figures | _shown(measure_chains(sizes.chains, max(2, sizes.rounds // 2)))


def _shown(figures: Figures) -> Figures:
    for key, value in figures.items():
        if not key.endswith("p99_us"):
            print(f"{key:48} {value:.4g}" if isinstance(value, float) else f"{key:48} {value}", flush=True)
    return figures


def main() -> None:
    """Measure and print; write the figures and the picture where the options say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--picture", type=Path, help="draw growth with the number of joints, such as model_growth.png")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    figures = everything(sizes)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    if options.picture:
        draw(options.picture, sizes.chains, figures)


if __name__ == "__main__":
    main()
