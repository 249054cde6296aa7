"""What the rows of a sweep say: the best ones, a Pareto front, effects of the axes, failures, how to repeat a row.

The effect of an axis on a figure is the share of the figure's variance that lies between the axis's levels:

    (1)  eta^2 = sum_l n_l (m_l - m)^2 / sum_i (y_i - m)^2

with the mean m of all rows that have the figure, and the means m_l of the n_l rows of each level. Levels are an axis's
values, or, of more than :data:`MOST_LEVELS` numbers, as many parts with equally many rows.
"""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.core import printable, refuse_unknown, yaml_text
from arm_control.exceptions import NUMBER, InputError
from arm_control.maths import Array
from arm_control.report import DEFINITIONS, Section, page, text_table

MORE_IS_BETTER = ("reached", "reached_share", "clearance", "margin")
"""Figures of ``simulate`` of which the largest is the best; ``max:NAME`` says so of any."""
LONGEST = 160
"""Most characters of a reason."""
MOST_LEVELS, MOST_AXES, MOST_PAIRED = 8, 6, 4
"""Levels of an axis; axes whose effects, and whose pairs, are drawn: those with the largest effects."""
WORLD_NODES = ("simulator", "targets")
"""Nodes whose parameters are no gains."""
Columns = Mapping[str, Sequence[Any]]


class SweepReport:
    """The report on the rows of :func:`~arm_control.sweeps.row_files.read_rows`.

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

    def __init__(
        self, sweep: Mapping[str, Any], columns: Columns, best: str = "", pareto: Sequence[str] = (), n_best: int = 5
    ) -> None:
        figures = sweep["plan"]["figures"]
        chosen = [best or figures[0], *(pareto or figures[:2])]
        refuse_unknown({name.partition(":")[2] or name: None for name in chosen}, figures, "figures")
        self.sweep, self.columns, self.best = sweep, columns, chosen[0]
        self.shown = list(dict.fromkeys(name.partition(":")[2] or name for name in chosen))
        costs = {name: _costs(columns, name) for name in chosen}
        best_costs = costs[self.best]
        self.order = [row for row in np.argsort(best_costs, kind="stable").tolist() if best_costs[row] < math.inf]
        self.n_best = n_best
        self.paired = chosen[1:3]
        self.front = pareto_front(*(costs[name] for name in self.paired)) if len(self.paired) == 2 else []
        self.n_failed = sum(map(bool, columns["error"]))

    @property
    def verdict(self) -> str:
        """Numbers of rows."""
        return f"{len(self.columns['run'])} rows, {self.n_failed} failed"

    def sections(self) -> list[Section]:
        """Return what there is, without pictures."""
        parts = []
        if self.order:
            parts.append(Section(f"best {self.best}", "", self._table(self.order[: self.n_best])))
        if self.front:
            parts.append(Section(f"Pareto front of {' and '.join(self.paired)}", "", self._table(self.front)))
        if self.order and (effects := self.effects()):
            rows = [
                (axis, *("-" if math.isnan(share) else f"{100 * share:.0f} %" for share in shares))
                for axis, shares in effects.items()
            ]
            parts.append(Section("share of the variance that an axis explains", "", (("axis", *self.shown), *rows)))
        if self.n_failed:
            parts.append(Section("failed", "", (("reason", "runs", "such as"), *_failures(self.columns))))
        if self.order:
            number, texts = self.columns["run"][self.order[0]], repeat_commands(self.sweep, self.columns, self.order[0])
            parts += map(Section, (f"run {number} again", f"run {number}, then in the viewer"), texts)
        return parts

    def text(self) -> str:
        """Return the report for a terminal."""
        parts = [self.verdict]
        for title, text, table, _ in self.sections():
            parts.append("\n".join(filter(None, [title, text_table(table) if table else "", text])))
        return "\n\n".join(parts)

    def effects(self) -> dict[str, list[float]]:
        """Return equation (1) of each axis on each figure shown, the largest ones first."""
        found = {}
        for axis in self.sweep["kinds"]:
            labels, index = levels(self.columns[axis])
            if 1 < len(labels) <= MOST_LEVELS:
                found[axis] = [explained_share(self._figure(name), index) for name in self.shown]
        return dict(sorted(found.items(), key=lambda item: -np.nan_to_num(item[1]).max()))

    def write(self, folder: Path, name: str) -> Path:
        """Write a page with pictures into a folder; return its path.

        An InputError when the folder cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            plan, path = self.sweep["plan"], folder / "index.html"
            facts = [(key, str(plan[key])) for key in ("scenario", "variant", "function", "seed") if plan[key] != ""]
            facts += [("runs", f"{len(self.columns['run'])}, sampling {self.sweep['sampling']}")]
            facts += [(key, _range(self.columns[key])) for key in self.sweep["kinds"]]
            sections = self._with_pictures(folder)
            text = page(f"Sweep {name}", facts, sections, f"{self.verdict}.")
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {error.strerror}") from None
        return path

    def _with_pictures(self, folder: Path) -> list[Section]:
        """The sections, with pictures of the front, of effects and of pairs of axes."""
        from arm_control.report import draw_effects, draw_front, draw_pairs

        sections = []
        for section in self.sections():
            if section.title.startswith("Pareto"):
                names = [name.rpartition(":")[2] for name in self.paired]
                points = self._figure(names[0]), self._figure(names[1])
                draw_front(folder / "front.png", points, self.front, self.order[0], [*map(_with_unit, names)])
                sections.append(section._replace(image="front.png"))
            elif section.title.startswith("share"):
                axes = list(self.effects())[:MOST_AXES]
                drawn = {axis: (*levels(self.columns[axis]), self._is_log(axis)) for axis in axes}
                figures = {_with_unit(name): self._figure(name) for name in self.shown}
                draw_effects(folder / "effects.png", drawn, figures)
                sections.append(section._replace(image="effects.png"))
                if pairs := list(combinations(axes[:MOST_PAIRED], 2)):
                    name, values = next(iter(figures.items()))
                    draw_pairs(folder / "pairs.png", drawn, pairs, values, name)
                    sections.append(Section("pairs of axes", f"Median of {name}.", (), "pairs.png"))
            else:
                sections.append(section)
        return sections

    def parameter_file(self, source: str) -> str:
        """Return the best row's parameters of controllers as a ROS parameter file.

        An InputError when no run has the figure, or no axis is a parameter of a controller.
        """
        if not self.order:
            raise InputError(f"{source}: no row has {self.best}")
        row = self.order[0]
        names = [axis.partition(".") for axis in self.sweep["kinds"]]
        nodes = dict.fromkeys(node for node, dot, _ in names if dot and node not in WORLD_NODES)
        if self.sweep["plan"]["function"] or not nodes:
            raise InputError(f"{source}: no axis is a parameter of a controller")
        figure = self.best.rpartition(":")[2]
        lines = [f"# Run {self.columns['run'][row]} of {source}, {figure} {_cell(self.columns[figure][row])}"]
        for chosen in nodes:
            lines += [f"/**/{chosen}:", "  ros__parameters:"]
            values = {name: self.columns[f"{node}.{name}"][row] for node, _, name in names if node == chosen}
            lines += [f"    {name}: {yaml_text(value)}" for name, value in values.items()]
        return "\n".join(lines) + "\n"

    def _figure(self, name: str) -> Array:
        """A figure of all rows; not a number where the run failed."""
        failed = np.array([bool(error) for error in self.columns["error"]])
        return np.where(failed, math.nan, np.array(self.columns[name], dtype=float))

    def _is_log(self, axis: str) -> bool:
        return any(own["name"] == axis and own["scale"] == "log" for own in self.sweep["axes"])

    def _table(self, rows: Sequence[int]) -> tuple[tuple[str, ...], ...]:
        names = ("run", *self.sweep["kinds"], *self.shown)
        return names, *(tuple(_cell(self.columns[name][row]) for name in names) for row in rows)


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


def levels(values: Sequence[Any]) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Return the levels of an axis, and that of each row; of numbers that are too many, middles of equal parts.

    Examples
    --------
    >>> labels, index = levels([2.0, 1.0, 2.0])
    >>> labels, index.tolist()
    ([1.0, 2.0], [1, 0, 1])
    """
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        x = np.array(values, dtype=float)
        distinct, index = np.unique(x, return_inverse=True)
        if len(distinct) > MOST_LEVELS:
            edges = np.quantile(x, np.linspace(0.0, 1.0, MOST_LEVELS + 1))[1:-1]
            _, index = np.unique(np.searchsorted(edges, x, side="left"), return_inverse=True)
            distinct = np.array([np.median(x[index == level]) for level in range(index.max() + 1)])
        return distinct.tolist(), index
    texts = [str(value) for value in values]
    labels = list(dict.fromkeys(texts))
    return labels, np.array([labels.index(text) for text in texts])


def explained_share(y: Array, index: npt.NDArray[np.int64]) -> float:
    """Return equation (1); not a number where the rows have one value, or none.

    Examples
    --------
    >>> explained_share(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    has_it = np.isfinite(y)
    y, index = y[has_it], index[has_it]
    total = float(((y - y.mean()) ** 2).sum()) if len(y) else 0.0
    if total == 0.0:
        return math.nan
    parts = [y[index == level] for level in np.unique(index)]
    return sum(len(part) * float(part.mean() - y.mean()) ** 2 for part in parts) / total  # (1)


def repeat_commands(sweep: Mapping[str, Any], columns: Columns, row: int) -> list[str]:
    """Return the commands that run a row again: with a bag, and with the viewer; or Python for a function."""
    plan, values = sweep["plan"], {name: columns[name][row] for name in sweep["kinds"]}
    if plan["function"]:
        module, _, name = plan["function"].partition(":")
        arguments = ", ".join(f"{axis}={value!r}" for axis, value in values.items())
        text = shlex.quote(f"from {module} import {name}; print({name}({arguments}))")
        return [f"python -c {text}  # seed={columns['seed'][row]}, where it takes one"]
    bag, variant = f"run_{columns['run'][row]}", plan["variant"]
    words = ["--variant", variant] if variant else []
    words += (duration := ["--duration", repr(plan["run_duration"])] if plan["run_duration"] else [])
    words += [word for name, value in values.items() for word in ("--set", f"{name}={yaml_text(value)}")]
    file = "_".join(filter(None, [Path(plan["scenario"]).stem, variant, "set.yaml"]))
    simulate = ["arm_control", "simulate", plan["scenario"], *words, "--bag", bag]
    return [*map(shlex.join, (simulate, ["arm_control", "run", f"{bag}/{file}", *duration, "--viewer"]))]


def _costs(columns: Columns, name: str) -> Array:
    """A figure of all rows with the best one least; infinite where the run failed or has none."""
    way, colon, own = name.rpartition(":")
    sign = -1.0 if way == "max" or (not colon and own in MORE_IS_BETTER) else 1.0
    values = sign * np.array(columns[own], dtype=float)
    return np.where(np.isnan(values) | np.array([bool(error) for error in columns["error"]]), math.inf, values)


def _cell(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else printable(str(value))


def _range(values: Sequence[Any]) -> str:
    """Values of an axis, or the ends of them."""
    labels, _ = levels(values)
    if len(set(map(str, values))) <= MOST_LEVELS:
        return ", ".join(map(_cell, labels))
    return f"{_cell(min(values))} to {_cell(max(values))}" if isinstance(labels[0], float) else f"{len(labels)} values"


def _with_unit(name: str) -> str:
    unit = DEFINITIONS.get(name, ("",))[0]
    return f"{name} [{unit}]" if unit else name


def _failures(columns: Columns) -> list[tuple[str, str, str]]:
    """A row for each reason, numbers apart, the most frequent first."""
    reasons: dict[str, list[int]] = defaultdict(list)
    for run, error in zip(columns["run"], columns["error"], strict=True):
        if error:
            reasons[NUMBER.sub("#", error.splitlines()[0])[:LONGEST]].append(run)
    ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
    return [(printable(reason), str(len(runs)), f"run {runs[0]}") for reason, runs in ordered]
