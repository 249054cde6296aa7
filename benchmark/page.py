"""Write the page about speed from the figures of three benchmarks.

python benchmark/page.py MODEL.json STUDY.json START.json docs/model_speed.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Figures = dict[str, Any]

CALLS = {  # method: Pinocchio's counterpart
    "mass_matrix": "crba",
    "gravity": "computeGeneralizedGravity",
    "bias": "nonLinearEffects",
    "pose": "forwardKinematics, updateFramePlacement",
    "jacobian": "computeFrameJacobian",
    "inverse_dynamics": "rnea",
    "forward_dynamics": "aba",
    "torque_derivatives": "computeRNEADerivatives",
    "acceleration_derivatives": "computeABADerivatives",
}
WAYS = {
    "separate_views": "separate algorithms, pose is a view",
    "separate_copies": "separate algorithms, all may be kept",
    "all_terms_views": "`computeAllTerms` and the frame's terms, views",
    "all_terms_copies": "`computeAllTerms` and the frame's terms, all may be kept",
}
NAMES = {"ur5": "UR5", "panda": "Panda"}


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines of a table."""
    lines = [f"| {' | '.join(map(str, row))} |".replace("|  |", "| |") for row in (head, *rows)]
    return ["", lines[0], f"|{'---|' * len(head)}", *lines[1:], ""]


def first_results(m: Figures, arms: Sequence[str]) -> list[str]:
    """Section about the way from a URDF to the first results."""
    rows = [
        [NAMES[arm], state, *(f"{m[f'{arm}.{state}{part}']:.3f}" for part in ("_s", "_with_imports_s", "_process_s"))]
        for arm in arms
        for state in ("cold", "cached")
    ]
    return [
        "## From a URDF to the first result of every kernel",
        "",
        "`from_urdf`, `prepare`, one `evaluate` and a batch, each time in a new process: with an empty cache (cold)",
        "and with a full one. Seconds; the last column is the whole process.",
        *table(["arm", "cache", "work", "with imports", "process"], rows),
        f"The back end `python` keeps nothing; for the UR5 it takes {m['ur5.python.cold_s']:.2f} s.",
        "",
    ]


def first_torque(t: Figures) -> list[str]:
    """Section about the first torque, from the figures of ``benchmark/start.py``."""
    rows = [
        [arm, text, f"{t[f'{key}.{case}_cpu_s']:.2f}", f"{t[f'{key}.{case}_process_cpu_s']:.2f}"]
        for key, arm in (("ur5", "UR5"), ("chain20", "chain of 20 joints"))
        for case, text in (("complete", "empty, no drafts"), ("cold", "empty"), ("cached", "full"))
    ]
    return [
        "## From a URDF to the first torque",
        "",
        "`from_urdf`, `CompiledOsc` and one `tick`, each time in a new process: CPU time [s].",
        *table(["arm", "cache", "URDF to torque", "process"], rows),
        "With an empty cache long kernels are [drafts](model.md#the-cache) first. A quarter of the rest is Python.",
        "",
        f"The node `osc` with a full cache sends its first command after {t['osc.start_cpu_s']:.2f} s of CPU time, "
        f"{t['osc.imports_cpu_s']:.2f} s of it for imports.",
        "",
    ]


def one_tick(m: Figures, arms: Sequence[str]) -> list[str]:
    """Section about the terms of a tick."""
    rows = [["`model.evaluate`", *_of_each(m, arms, "evaluate")]]
    rows += [[f"Pinocchio: {text}", *_of_each(m, arms, f"fused_{way}")] for way, text in WAYS.items()]
    backends = ", ".join(f"`{name}` {m[f'ur5.{name}.evaluate_us']:.1f} us" for name in ("llvm", "python"))
    head = ["", *(f"{NAMES[arm]} [us]" for arm in arms)]
    return [
        "## Every term of a control tick",
        "",
        "Pose, twist, Jacobian, `Jdot v`, M, g and h at once, from Python; medians, with p99 of single calls behind",
        "the stroke.",
        *table(head, rows),
        f"The kernel by itself takes {m['ur5.kernel_terms_us']:.2f} us for the UR5, that of M alone "
        f"{m['ur5.kernel_mass_matrix_us']:.2f} us; checks and new arrays take the rest",
        "([how](compiled_calls.md)).",
        f"The back ends, in turns with one another: {backends}.",
        "",
    ]


def _of_each(m: Figures, arms: Sequence[str], part: str) -> list[str]:
    return [f"{m[f'{arm}.{part}_us']:.2f} / {m[f'{arm}.{part}_p99_us']:.2f}" for arm in arms]


def single_calls(m: Figures, arms: Sequence[str]) -> list[str]:
    """Section about the other methods."""
    rows = [
        [
            f"`{method}`",
            f"`{counterpart}`",
            *(f"{m[f'{arm}.{method}_us']:.2f} / {m[f'{arm}.{method}_pinocchio_us']:.2f}" for arm in arms),
        ]
        for method, counterpart in CALLS.items()
    ]
    head = ["method", "Pinocchio", *(f"{NAMES[arm]} [us]" for arm in arms)]
    return [
        "## Single calls",
        "",
        f"Ours / Pinocchio's, from Python. A call of ours that computes nothing takes {m['ur5.empty_us']:.2f} us,",
        "for checks and the new array.",
        *table(head, rows),
    ]


def batches(m: Figures, arms: Sequence[str]) -> list[str]:
    """Section about many states."""
    parts = {
        "`batch`, new memory": "fresh",
        "`batch`, `out=` used again": "reused",
        "Pinocchio, `updateFramePlacement`": "by_update",
        "Pinocchio, `oMf[frame]`": "by_index",
    }
    rows = [[text, *(f"{1e3 * m[f'{arm}.batch_{part}_s']:.1f}" for arm in arms)] for text, part in parts.items()]
    reused, fresh = (
        " and ".join(f"{m[f'{arm}.{key}']:.1f}" for arm in arms)
        for key in ("batch_vs_pinocchio_loop", "batch_fresh_vs_pinocchio_loop")
    )
    return [
        "## Many states",
        "",
        f"Pose, Jacobian and mass matrix of {m['batch.states']:,} states on one thread, against a Python loop over",
        "Pinocchio that keeps nothing. Milliseconds:",
        *table(["", *(NAMES[arm] for arm in arms)], rows),
        f"Used again, `out=` is {reused} times as fast as the quicker loop; new memory {fresh} times.",
        "",
    ]


def growth(m: Figures) -> list[str]:
    """Section about chains."""
    keys = ("evaluate_us", "evaluate_pinocchio_us", "forward_dynamics_us", "forward_dynamics_pinocchio_us")
    rows = [
        [
            n,
            *(f"{m[f'chain{n}.{key}']:.2f}" for key in keys),
            m[f"chain{n}.operations"],
            f"{m[f'chain{n}.compile_s']:.2f}",
        ]
        for n in m["chain.sizes"]
    ]
    head = ["joints", "evaluate", "Pinocchio", "forward_dynamics", "Pinocchio", "operations", "first result [s]"]
    return [
        "## Growth with the number of joints",
        "",
        "Random chains without right angles; microseconds, Pinocchio's fastest way. The kernel of all terms is a",
        "straight program: its length, and the time to make it, grow about with the square.",
        "",
        "![Time of a call, operations, time to the first result, by number of joints](pictures/model_growth.png)",
        *table(head, rows),
    ]


def slower(m: Figures, arms: Sequence[str]) -> list[str]:
    """Section about what Pinocchio does faster."""
    lines = []
    for arm in arms:
        ratios = {call: m[f"{arm}.{call}_vs_pinocchio"] for call in ("fused", *CALLS)}
        ratios["evaluate"] = ratios.pop("fused")
        found = [f"`{call}` ({ratio:.2f})" for call, ratio in ratios.items() if ratio > 1.0]
        lines.append(f"- {NAMES[arm]}: {', '.join(found) or 'nothing'}")
    for call in ("evaluate", "forward_dynamics"):
        sizes = [n for n in m["chain.sizes"] if m[f"chain{n}.{call}_us"] > m[f"chain{n}.{call}_pinocchio_us"]]
        lines += [f"- `{call}` of random chains of {', '.join(map(str, sizes))} joints"] if sizes else []
    return [
        "## What is slower than Pinocchio",
        "",
        "These take longer than Pinocchio's counterpart (times as long in brackets). For more than one quantity of a",
        "state use `evaluate`.",
        "",
        *lines,
        "- The first use on a machine: Pinocchio compiles nothing.",
        "",
    ]


def study(s: Figures) -> list[str]:
    """Sections about the timing study."""
    ways = [key[3:-3] for key in s if key.startswith("f1.")]
    rows = [[way, *(f"{s[f'{name}.{way}_us']:.3f}" for name in ("f1", "f2"))] for way in ways]
    mass = {key.removeprefix("mass_matrix."): value for key, value in s.items() if key.startswith("mass_matrix.")}
    simplified = f"stopped after {mass['simplify_limit_s']:.0f} s"
    if mass["simplify_s"] is not None:
        simplified = f"{mass['simplify_s']:.0f} s"
    costs = [
        ["matrices or tape", f"{mass['sympy_build_s']:.2f} s", f"{mass['trace_s']:.3f} s"],
        ["`simplify`", simplified, "not needed"],
        ["`lambdify` or compile", f"{mass['sympy_lambdify_s']:.2f} s", f"{mass['compile_s']:.3f} s"],
        ["the same with `cse=True`", f"{mass['sympy_lambdify_cse_s']:.2f} s", ""],
        ["operations", f"{mass['sympy_operations']:,}", f"{mass['operations']:,}"],
        ["a call", f"{mass['sympy_call_us']:,.0f} us", f"{mass['call_us']:.1f} us"],
        ["the same with `cse=True`", f"{mass['sympy_cse_call_us']:,.0f} us", ""],
    ]
    return [
        "## What a generated function costs",
        "",
        "`f1 = l0 cos q0`, `f2 = l1 sin(q0 - l0 sin q1 cos q2 - l2 sin q2 - l0 sin q1 + q0 l0) cos q0 + l2 sin q0`:",
        "seconds of a million calls, drawing random arguments included. The last rows take all arguments at once. "
        f"Measured with {s['versions']}.",
        "",
        "![Bars: seconds of a million calls of f1 and f2](pictures/timing_study.png)",
        *table(["", "f1 [s]", "f2 [s]"], rows),
        "For one formula the call from Python costs more than the formula.",
        "",
        "## What it costs to generate one",
        "",
        "The mass matrix of the UR5, by SymPy's matrices and `lambdify`, and as it is done here.",
        *table(["", "SymPy", "arm_control"], costs),
    ]


def page(m: Figures, s: Figures, t: Figures) -> str:
    """The whole page."""
    arms = [arm for arm in NAMES if f"{arm}.cold_s" in m]
    head = [
        "# How fast the model is",
        "",
        f"Measured on: {m['cpu']}, {m['versions']}.",
        "One thread; contenders in turns; medians. To measure it on another machine and write this page:",
        "",
        "```sh",
        "python benchmark/model.py --json model.json --picture docs/pictures/model_growth.png",
        "python benchmark/timing_study.py --json study.json --picture docs/pictures/timing_study.png",
        "python benchmark/start.py --json start.json",
        "python benchmark/page.py model.json study.json start.json docs/model_speed.md",
        "```",
        "",
    ]
    parts = [*first_results(m, arms), *first_torque(t), *one_tick(m, arms), *single_calls(m, arms), *batches(m, arms)]
    lines = [*head, *parts, *growth(m), *slower(m, arms), *study(s)]
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


def main(model: str, timing_study: str, start: str, target: str) -> None:
    """Read three files, write one."""
    figures = [json.loads(Path(name).read_text()) for name in (model, timing_study, start)]
    Path(target).write_text(page(*figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
