"""Picture of point attractors in neurons that follow a goal in steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arm_control.neural import SteppedGoals
from arm_control.report.pictures.style import BLUE, GREY, INK, ORANGE, new_figure, save_in_few_colours, style, time_axis

COLOURS = {"continuous": ORANGE, "discrete": BLUE}
RANGE = 1.6
"""Of the shown positions, whose goals are from -1 to 0.6."""
SHOWN = 100
"""Neurons whose spikes are drawn."""


def draw_stepped_goals(path: Path, runs: dict[str, SteppedGoals]) -> None:
    """Draw a column a run, by its title: positions of each compensation, and spikes of the last one."""
    figure = new_figure(4.0 * len(runs), 5.6)
    charts = figure.subplots(2, len(runs), sharex="col", sharey="row", squeeze=False, height_ratios=(3, 2))
    for (above, below), (title, run) in zip(charts.T, runs.items(), strict=True):
        above.step(run.times, run.goals, color=GREY, linewidth=0.8, where="post", label="goal")
        for name, x in run.positions.items():
            label = f"{name}: error {run.errors[name]:.2g}"
            above.plot(run.times, x, color=COLOURS[name], linewidth=1.0, label=label)
        above.plot(run.times, run.wanted, color=INK, linewidth=1.0, linestyle=":", label="wanted")
        above.set_ylim(-RANGE, RANGE)
        above.legend(fontsize=8, frameon=False, loc="upper left")
        style(above, title)
        name, spikes = list(run.spikes.items())[-1]
        n = spikes.shape[1]
        step, row = np.nonzero(spikes[:, :: max(1, n // SHOWN)])
        below.plot(run.times[step], row, "|", color=INK, markersize=1.5, markeredgewidth=0.3)
        style(below, f"spikes, {name}")
        time_axis(below, run.times[-1])
    charts[0, 0].set_ylabel("position", fontsize=10, color=INK)
    charts[1, 0].set_ylabel("neuron", fontsize=10, color=INK)
    save_in_few_colours(figure, path)
