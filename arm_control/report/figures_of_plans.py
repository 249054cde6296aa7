"""Figures of plans, and the table that prints them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from arm_control.report.figures import text_table
from arm_control.simulation import FAR, PlanRun

MILLI = 1e3
PLAIN = 1000.0
"""Larger numbers have no decimals."""
HEADS: Mapping[str, str] = {
    "ms": "search [ms]",
    "rounds": "rounds",
    "size": "vertices",
    "duration": "takes [s]",
    "mean_error_mm": "mean error [mm]",
    "max_error_mm": "max error [mm]",
    "max_angle": "max angle [rad]",
    "clearance_mm": "clearance [mm]",
    "velocity_ratio": "speed / limit",
    "torque_ratio": "torque / limit",
}
"""Columns by the names of the figures."""

PlanFigures = dict[str, int | float | str | None]


def plan_figures(run: PlanRun) -> PlanFigures:
    """Return the figures of one seed by name; None where there is none.

    Distances are in mm; a clearance is that from obstacles or between links, the smaller one.
    """
    check = run.check
    measured: dict[str, float] = dict.fromkeys(list(HEADS)[3:], math.nan)
    if check is not None:
        measured = {
            "duration": check.duration,
            "mean_error_mm": MILLI * check.mean_error,
            "max_error_mm": MILLI * check.max_error,
            "max_angle": check.max_angle,
            "clearance_mm": MILLI * check.clearance if check.clearance < FAR else math.nan,
            "velocity_ratio": check.velocity_ratio,
            "torque_ratio": check.torque_ratio,
        }
    known = {name: value if math.isfinite(value) else None for name, value in measured.items()}
    plan, effort = run.plan, run.plan.effort
    head: PlanFigures = {"seed": run.seed, "outcome": plan.outcome.value, "reason": plan.reason, "valid": run.is_valid}
    size = effort.motions if plan.tree is None else effort.vertices
    return {**head, "ms": MILLI * effort.seconds, "rounds": effort.rounds, "size": size, **known}


def plan_table(runs: Sequence[PlanRun]) -> str:
    """Return the table of the seeds of a scene, with the medians of those that have a plan below."""
    figures = [plan_figures(run) for run in runs]
    rows = [("seed", "outcome", *HEADS.values())]
    rows += [(str(x["seed"]), _outcome(x), *(_cell(x[name]) for name in HEADS)) for x in figures]
    medians = [_median([x[name] for x in figures if x["valid"]]) for name in HEADS]
    valid = sum(run.is_valid for run in runs)
    rows.append(("median", f"{valid} of {len(runs)}", *map(_cell, medians)))
    return text_table(rows, n_left=2)


def plan_problems(runs: Sequence[PlanRun]) -> Iterator[str]:
    """Yield what went wrong, seed by seed."""
    for run in runs:
        problems = run.check.problems if run.check is not None else (run.plan.reason,)
        yield from (f"seed {run.seed}: {text}" for text in problems)


def _outcome(figures: PlanFigures) -> str:
    return "not allowed" if figures["outcome"] == "found" and not figures["valid"] else str(figures["outcome"])


def _median(values: Sequence[int | float | str | None]) -> float | None:
    numbers = [float(value) for value in values if value is not None]
    return float(np.median(numbers)) if numbers else None


def _cell(value: int | float | str | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, (int, str)):
        return str(value)
    return f"{value:.0f}" if value >= PLAIN else f"{value:.3g}"
