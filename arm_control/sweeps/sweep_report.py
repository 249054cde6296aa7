"""What the rows of a sweep say, as text: the best ones, a Pareto front, the reasons of failures, how to repeat one."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.core import refuse_unknown, yaml_text
from arm_control.exceptions import NUMBER
from arm_control.maths import Array
from arm_control.report import text_table

MORE_IS_BETTER = ("reached", "reached_share", "clearance", "margin")
"""Figures of ``simulate`` of which the largest is the best; ``max:NAME`` says so of any."""
LONGEST = 160
"""Most characters of a reason."""
Columns = Mapping[str, Sequence[Any]]


def report_text(
    sweep: Mapping[str, Any], columns: Columns, best: str = "", pareto: Sequence[str] = (), n_best: int = 5
) -> str:
    """Return the report on the rows of :func:`~arm_control.sweeps.row_files.read_rows`.

    Parameters
    ----------
    best : str
        Figure that orders the rows, ``max:NAME`` where more is better; empty: the first one.
    pareto : sequence of two str
        Figures of the front, as that one; empty: the first two.

    Raises
    ------
    ParameterError
        When there is no such figure.
    """
    figures = sweep["plan"]["figures"]
    chosen = [best or figures[0], *(pareto or figures[:2])]
    refuse_unknown({name.partition(":")[2] or name: None for name in chosen}, figures, "figures")
    costs = {name: _costs(columns, name) for name in chosen}
    order = [row for row in np.argsort(costs[chosen[0]], kind="stable").tolist() if costs[chosen[0]][row] < math.inf]
    shown = list(dict.fromkeys(name.partition(":")[2] or name for name in chosen))
    n_failed = sum(map(bool, columns["error"]))
    parts = [f"{len(columns['run'])} rows, {n_failed} failed"]
    if order:
        parts.append(f"best {chosen[0]}\n{_table(sweep, columns, order[:n_best], shown)}")
    if len(chosen) > 2 and (front := pareto_front(costs[chosen[1]], costs[chosen[2]])):
        parts.append(f"Pareto front of {chosen[1]} and {chosen[2]}\n{_table(sweep, columns, front, shown)}")
    if n_failed:
        parts.append("failed\n" + "\n".join(_failures(columns)))
    if order:
        parts.append(f"run {columns['run'][order[0]]} again\n{repeat_command(sweep, columns, order[0])}")
    return "\n\n".join(parts)


def pareto_front(a: npt.ArrayLike, b: npt.ArrayLike) -> list[int]:
    """Return the indices of the pairs that no other pair is below in one number without being above in the other.

    Examples
    --------
    >>> pareto_front([1.0, 2.0, 3.0, 2.0], [3.0, 2.0, 2.5, 1.0])
    [0, 3]
    """
    costs, front, least = np.array([a, b], dtype=float), [], math.inf
    for k in np.lexsort(costs[::-1]).tolist():
        if costs[1, k] < least and costs[0, k] < math.inf:
            front.append(k)
            least = costs[1, k]
    return front


def repeat_command(sweep: Mapping[str, Any], columns: Columns, row: int) -> str:
    """Return the command that runs a row again: ``simulate``, or Python for a function."""
    plan, values = sweep["plan"], {name: columns[name][row] for name in sweep["kinds"]}
    if plan["function"]:
        module, _, name = plan["function"].partition(":")
        arguments = ", ".join(f"{axis}={value!r}" for axis, value in values.items())
        return f"python -c {shlex.quote(f'from {module} import {name}; print({name}({arguments}))')}" + (
            f"  # seed={columns['seed'][row]}, where it takes one"
        )
    words = ["arm_control", "simulate", plan["scenario"]]
    words += ["--variant", plan["variant"]] if plan["variant"] else []
    words += ["--duration", repr(plan["run_duration"])] if plan["run_duration"] else []
    words += [word for name, value in values.items() for word in ("--set", f"{name}={yaml_text(value)}")]
    return shlex.join(words)


def _costs(columns: Columns, name: str) -> Array:
    """A figure of all rows with the best one least; infinite where the run failed or has none."""
    way, colon, own = name.rpartition(":")
    sign = -1.0 if way == "max" or (not colon and own in MORE_IS_BETTER) else 1.0
    values = sign * np.array(columns[own], dtype=float)
    return np.where(np.isnan(values) | np.array([bool(error) for error in columns["error"]]), math.inf, values)


def _table(sweep: Mapping[str, Any], columns: Columns, rows: Sequence[int], figures: Sequence[str]) -> str:
    names = ["run", *sweep["kinds"], *figures]
    cells = [[_cell(columns[name][row]) for name in names] for row in rows]
    return text_table([names, *cells])


def _cell(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _failures(columns: Columns) -> list[str]:
    """A line for each reason, numbers apart, the most frequent first."""
    reasons: dict[str, list[int]] = defaultdict(list)
    for run, error in zip(columns["run"], columns["error"], strict=True):
        if error:
            reasons[NUMBER.sub("#", error.splitlines()[0])[:LONGEST]].append(run)
    ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
    return [f"  {len(runs)}  {reason} (such as run {runs[0]})" for reason, runs in ordered]
