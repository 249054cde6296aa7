"""Curves over simulated time: what was heard is kept for a while, and drawn a few times a second."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.maths.poses import Array

COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00", "#7f7f7f", "#8c564b", "#4b0082")
"""Of curves; the first seven, of Okabe and Ito, are told apart by the colour-blind too."""
FONT, HEIGHT = "11px sans-serif", 146
"""Of a plot [px]."""


class History:
    """Numbers over time, by name; the newest ones are kept.

    Parameters
    ----------
    seconds : float
        For how long [s].
    step : float
        What follows within this time [s] is left out.
    """

    def __init__(self, seconds: float = 12.0, step: float = 0.03) -> None:
        self._step, self._rows = step, deque[tuple[float, dict[str, float]]](maxlen=math.ceil(seconds / step))
        self._seconds = seconds

    def add(self, t: float, values: Mapping[str, float]) -> None:
        """Keep numbers of a time [s]; when time goes back, everything before is forgotten."""
        if self._rows and t < self._rows[-1][0]:
            self._rows.clear()
        if not self._rows or t >= self._rows[-1][0] + self._step:
            self._rows.append((t, {**(self._rows[-1][1] if self._rows else {}), **values}))
            while self._rows[0][0] < t - self._seconds:
                self._rows.popleft()

    def curves(self, names: Sequence[str]) -> tuple[Array, ...]:
        """Times, shape (n,), and numbers of each name, likewise: the last one known, or the first, or 0."""
        times = np.array([t for t, _ in self._rows])
        first = {name: x for _, row in reversed(self._rows) for name, x in row.items()}
        return times, *(np.array([row.get(name, first.get(name, 0.0)) for _, row in self._rows]) for name in names)


class Plot:
    """One picture with some curves.

    Parameters
    ----------
    gui : viser.GuiApi
        Where it is put: into the container that is open now.
    title : str
        Above it.
    labels : mapping
        By the name of each number, what the legend calls it.
    """

    def __init__(self, gui: Any, title: str, labels: Mapping[str, str]) -> None:
        self.history, self._names, self._is_old = History(), tuple(labels), False
        series: list[dict[str, Any]] = [{"label": "time [s]"}]
        series += [
            {"label": label, "stroke": colour, "width": 2, "spanGaps": True, "points": {"show": False}}
            for label, colour in zip(labels.values(), COLOURS, strict=False)
        ]
        font, below = {"font": FONT}, {"label": "time [s]", "labelSize": 12, "labelGap": -5, "labelFont": FONT}
        self.handle = gui.add_uplot(
            data=self._data(),
            series=tuple(series[: len(self._names) + 1]),
            title=title,
            scales={"x": {"time": False}},
            axes=({"size": 30, "ticks": {"size": 4}, **font, **below}, {"size": 44, **font}),
            legend={"show": len(self._names) > 1, "live": False},
            height=HEIGHT,
            padding=(6, 12, 0, 0),
            visible=False,
        )

    def add(self, t: float, values: Mapping[str, float]) -> None:
        """Keep numbers of a time [s]; those of other plots may be among them."""
        own = {name: values[name] for name in self._names if math.isfinite(values.get(name, math.nan))}
        if own:
            self.history.add(t, own)
            self._is_old = True
            if not self.handle.visible:
                self.handle.visible = True

    def draw(self) -> None:
        """Send the curves, if there is something new and somebody ever told of one of them."""
        if self._is_old:
            self.handle.data, self._is_old = self._data(), False

    def _data(self) -> tuple[Array, ...]:
        curves = self.history.curves(self._names)
        return curves if curves[0].size else tuple(np.zeros(1) for _ in curves)


ERRORS = {"position_error": "position [mm]", "orientation_error": "orientation [deg]"}
SCALES = {"position_error": 1e3, "orientation_error": 180.0 / math.pi}


class Plots:
    """The page's plots: error, torque of one joint by its terms, condition number, nearest distance."""

    def __init__(self, gui: Any) -> None:
        self._gui = gui
        self._error = Plot(gui, "error at the target", ERRORS)
        self._folder = gui.add_folder("torque, by term [N m]", expand_by_default=True)
        with self._folder:
            self.joint = gui.add_dropdown("joint", ("-",), initial_value="-")
        self._torque: Plot | None = None
        self._terms: tuple[str, ...] = ()
        self._condition = Plot(gui, "condition number of the Jacobian", {"condition_number": ""})
        self._distance = Plot(gui, "nearest distance [m]", {"nearest_distance": ""})
        self._folder.visible = False
        self.joint.on_update(self._begin_anew)

    async def _begin_anew(self, _: Any) -> None:
        """Another joint has been chosen."""
        self._terms = ()

    def set_joints(self, names: Sequence[str]) -> None:
        """Let one of these joints be chosen."""
        self.joint.options = tuple(names)
        self.joint.value = names[min(1, len(names) - 1)]

    def add(self, t: float, figures: Mapping[str, float], terms: Mapping[str, Mapping[str, float]]) -> None:
        """Take what was heard.

        Parameters
        ----------
        t : float
            Simulated time [s].
        figures : mapping of str to float
            Figures of the controller.
        terms : mapping
            By the name of a torque's term, torque by joint [N m].
        """
        finite = {name: SCALES.get(name, 1.0) * x for name, x in figures.items() if math.isfinite(x)}
        for plot in (self._error, self._condition, self._distance):
            plot.add(t, finite)
        names = tuple(sorted(terms))[: len(COLOURS)]
        if names and names != self._terms:
            self._new_torque_plot(names)
        if self._torque is not None:
            joint = self.joint.value
            self._torque.add(t, {name: float(tau.get(joint, math.nan)) for name, tau in terms.items()})

    def draw(self) -> None:
        """Send what is new."""
        for plot in (self._error, self._torque, self._condition, self._distance):
            if plot is not None:
                plot.draw()

    def _new_torque_plot(self, names: tuple[str, ...]) -> None:
        if self._torque is not None:
            self._torque.handle.remove()
        self._terms, self._folder.visible = names, True
        with self._folder:
            self._torque = Plot(self._gui, "", {name: name.replace("_", " ") for name in names})
