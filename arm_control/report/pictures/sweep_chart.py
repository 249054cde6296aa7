"""Pictures of a sweep: its Pareto front, the effects of its axes, and those of pairs of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.maths import Array
from arm_control.report.pictures.style import BLUE, GREY, INK, ORANGE, legend, new_figure, save_in_few_colours, style

Levels = tuple[list[Any], npt.NDArray[np.int64], bool]
"""Labels of an axis's levels, the level of each row, and whether the axis is logarithmic."""
CELL = 2.7
"""Width of a small chart [inch]."""
LONGEST = 14
"""Most letters of a level's label."""
MOST_TEXTS = 5
"""Of more levels every second one has its label."""


def draw_front(path: Path, points: tuple[Array, Array], front: Sequence[int], best: int, names: Sequence[str]) -> None:
    """Draw two figures of all rows, those of the front and the best one.

    Parameters
    ----------
    points : tuple of two ndarray, shape (n,)
        Both figures of all rows.
    front : sequence of int
        Rows of the front, in its order.
    """
    figure, (a, b) = new_figure(7.0, 4.4), points
    axes = figure.subplots()
    axes.scatter(a, b, s=16, color=GREY, alpha=0.6, linewidths=0, label="rows")
    chosen = list(front)
    axes.plot(a[chosen], b[chosen], "o-", color=BLUE, markersize=6, linewidth=1.3, label="Pareto front")
    axes.plot(a[best], b[best], "*", color=ORANGE, markersize=15, markeredgecolor=INK, label="best row")
    style(axes, "", *names)
    legend(axes)
    save_in_few_colours(figure, path)


def draw_effects(path: Path, axes_of: Mapping[str, Levels], figures: Mapping[str, Array]) -> None:
    """Draw a chart for each axis and figure: median and quartiles of the rows at each level."""
    figure = new_figure(CELL * max(len(axes_of), 2) + 0.6, 2.2 * len(figures) + 0.4)
    charts = figure.subplots(len(figures), len(axes_of), squeeze=False, sharey="row")
    for row, (name, values) in enumerate(figures.items()):
        for column, (axis, (labels, index, is_log)) in enumerate(axes_of.items()):
            axes = charts[row, column]
            low, middle, high = np.transpose([_quartiles(values[index == k]) for k in range(len(labels))])
            x = _places(labels)
            axes.fill_between(x, low, high, color=BLUE, alpha=0.18, linewidth=0)
            axes.plot(x, middle, "o-", color=BLUE, markersize=4)
            style(axes, "", axis if row == len(figures) - 1 else "", "" if column else name)
            _mark(axes.xaxis, axes.set_xscale, labels, is_log=is_log)
    save_in_few_colours(figure, path)


def draw_pairs(
    path: Path, axes_of: Mapping[str, Levels], pairs: Sequence[tuple[str, str]], values: Array, name: str
) -> None:
    """Draw a map for each pair of axes: the median of a figure for each two levels."""
    n_columns = min(3, len(pairs))
    n_rows = -(-len(pairs) // n_columns)
    figure = new_figure(3.6 * n_columns + 1.0, 3.0 * n_rows)
    charts = figure.subplots(n_rows, n_columns, squeeze=False)
    maps = {pair: _medians(values, axes_of[pair[0]], axes_of[pair[1]]) for pair in pairs}
    finite = np.concatenate([cells[np.isfinite(cells)] for cells in maps.values()])
    image: Any = None
    for axes, ((x, y), cells) in zip(charts.ravel(), maps.items(), strict=False):
        image = axes.imshow(
            cells.T, origin="lower", aspect="auto", cmap="cividis_r", vmin=finite.min(), vmax=finite.max()
        )
        style(axes, "", x, y)
        axes.grid(False)
        _mark_levels(axes.xaxis, axes_of[x][0])
        _mark_levels(axes.yaxis, axes_of[y][0])
    for axes in charts.ravel()[len(pairs) :]:
        axes.set_axis_off()
    figure.colorbar(image, ax=charts, label=name, shrink=0.8)
    save_in_few_colours(figure, path)


def _quartiles(values: Array) -> Array:
    finite = values[np.isfinite(values)]
    quartiles: Array = np.quantile(finite, [0.25, 0.5, 0.75]) if len(finite) else np.full(3, np.nan)
    return quartiles


def _medians(values: Array, x: Levels, y: Levels) -> Array:
    """Median for each two levels, shape (levels of x, levels of y)."""
    rows = [[_quartiles(values[(x[1] == i) & (y[1] == j)])[1] for j in range(len(y[0]))] for i in range(len(x[0]))]
    return np.array(rows)


def _places(labels: Sequence[Any]) -> Sequence[Any]:
    """Where levels stand on an axis: at their numbers, or one behind the other."""
    return labels if isinstance(labels[0], float) else range(len(labels))


def _mark(axis: Any, set_scale: Any, labels: Sequence[Any], *, is_log: bool) -> None:
    if not isinstance(labels[0], float):
        _mark_levels(axis, labels)
    elif is_log:
        set_scale("log")
        axis.set_major_formatter(lambda value, _: f"{value:.3g}")
        axis.set_minor_formatter(lambda *_: "")
        axis.set_ticks(labels if len(labels) <= 5 else labels[:: len(labels) // 3])


def _mark_levels(axis: Any, labels: Sequence[Any]) -> None:
    """Write the labels of levels that stand one behind the other."""
    texts = [f"{label:.3g}" if isinstance(label, float) else str(label)[:LONGEST] for label in labels]
    shown = range(0, len(labels), 2 if len(labels) > MOST_TEXTS else 1)
    axis.set_ticks(shown, labels=[texts[k].replace("$", r"\$") for k in shown])
