"""Plots of the newest values over simulated time: figures, torque, spikes of neurons and the position they code."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.control import TERM_WORDS
from arm_control.maths import Array

COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00", "#7f7f7f", "#8c564b", "#4b0082")
"""Colours of curves; the first seven, of Okabe and Ito, are distinct for the colour-blind, too."""
FONT, HEIGHT = "11px sans-serif", 146
"""Font and height of a plot [px]."""


class History:
    """The newest values over time, by name.

    Parameters
    ----------
    seconds : float
        Time for which values are kept [s].
    step : float
        Least time between two values [s]; others are left out.
    """

    def __init__(self, seconds: float = 12.0, step: float = 0.03) -> None:
        self._step = step
        self._seconds = seconds
        self._rows = deque[tuple[float, dict[str, float]]](maxlen=math.ceil(seconds / step))

    def add(self, t: float, values: Mapping[str, float]) -> None:
        """Add values at a time [s]; when time goes back, all before are removed."""
        if self._rows and t < self._rows[-1][0]:
            self._rows.clear()
        if not self._rows or t >= self._rows[-1][0] + self._step:
            self._rows.append((t, {**(self._rows[-1][1] if self._rows else {}), **values}))
            while self._rows[0][0] < t - self._seconds:
                self._rows.popleft()

    def curves(self, names: Sequence[str]) -> tuple[Array, ...]:
        """Return times, shape (n,) [s], and the values of each name, likewise: the last known, or the first, or 0."""
        times = np.array([t for t, _ in self._rows])
        first = {name: x for _, row in reversed(self._rows) for name, x in row.items()}
        return times, *(np.array([row.get(name, first.get(name, 0.0)) for _, row in self._rows]) for name in names)


class Plot:
    """A plot with some curves.

    Parameters
    ----------
    gui : viser.GuiApi
        The page's controls; the plot is put into the container that is open now.
    labels : mapping
        Label in the legend of each value, by its name.
    """

    def __init__(self, gui: Any, title: str, labels: Mapping[str, str]) -> None:
        self.history = History()
        self._names = tuple(labels)
        self._is_outdated = False
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
        """Add values at a time [s]; those of other plots are ignored."""
        own = {name: values[name] for name in self._names if math.isfinite(values.get(name, math.nan))}
        if own:
            self.history.add(t, own)
            self._is_outdated = True
            if not self.handle.visible:
                self.handle.visible = True

    def draw(self) -> None:
        """Send the curves, if there are new values."""
        if self._is_outdated:
            self.handle.data, self._is_outdated = self._data(), False

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
        self.joint.on_update(self._on_joint)

    async def _on_joint(self, _: Any) -> None:
        """Begin a new plot for the selected joint."""
        self._terms = ()

    def set_joints(self, names: Sequence[str]) -> None:
        """Set the joints to select from."""
        self.joint.options = tuple(names)
        self.joint.value = names[min(1, len(names) - 1)]

    def add(self, t: float, figures: Mapping[str, float], terms: Mapping[str, Mapping[str, float]]) -> None:
        """Add the newest values.

        Parameters
        ----------
        t : float
            Simulated time [s].
        terms : mapping
            Torque of each joint [N m], by the name of the torque's term.
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
        """Send new values."""
        for plot in (self._error, self._torque, self._condition, self._distance):
            if plot is not None:
                plot.draw()

    def _new_torque_plot(self, names: tuple[str, ...]) -> None:
        if self._torque is not None:
            self._torque.handle.remove()
        self._terms, self._folder.visible = names, True
        with self._folder:
            self._torque = Plot(self._gui, "", {name: TERM_WORDS.get(name, name) for name in names})


COLUMNS = 400
"""Bins of time in the picture, of 2 ms each."""
MOST_ROWS = 120
"""Rows that are shown; more would not fit."""
GROUPS = 3
"""Axes of the position: equal parts of the rows, each of one colour."""
PARTS = ("decoded", "goal")
"""Curves of each axis."""
ROW_HEIGHT = 3
"""Height of a neuron [px]; the lowest line is blank."""


class NeuralPlots:
    """Decoded position, and the spikes of the newest bins of time; both appear with the first message."""

    def __init__(self, gui: Any) -> None:
        labels = {f"{axis} {what}": f"{axis} {what}".removesuffix(" decoded") for what in PARTS for axis in "xyz"}
        self.position = Plot(gui, "decoded position, and the goal [m]", labels)
        self._gui = gui
        self._folder = gui.add_folder("spikes of neurons: x, y, z; 0.8 s", visible=False)
        self._counts = np.zeros((0, COLUMNS))
        self._is_outdated = False
        self.picture: Any = None

    def add_state(self, t: float, positions: Array) -> None:
        """Add decoded position and goal, shape (3, 2) [m], at a simulated time [s]."""
        values = {
            f"{axis} {what}": float(positions[i, k]) for i, axis in enumerate("xyz") for k, what in enumerate(PARTS)
        }
        self.position.add(t, values)

    def add_spikes(self, counts: Array) -> None:
        """Add the counts of the next bins, shape (neurons, bins); another number of neurons begins anew."""
        counts = counts[:MOST_ROWS, -COLUMNS:]
        if len(counts) != len(self._counts):
            self._counts = np.zeros((len(counts), COLUMNS))
        self._counts = np.hstack([self._counts[:, counts.shape[1] :], counts])
        self._is_outdated = True

    def draw(self) -> None:
        """Send what is new."""
        self.position.draw()
        if not self._is_outdated:
            return
        self._is_outdated = False
        picture = self._spikes()
        if self.picture is None:
            self._folder.visible = True
            with self._folder:
                self.picture = self._gui.add_image(picture, format="png")
        else:
            self.picture.image = picture

    def _spikes(self) -> Array:
        """White, and the colour of the axis where a neuron fired."""
        n = len(self._counts)
        picture = np.full((n, ROW_HEIGHT, COLUMNS, 3), 255, dtype=np.uint8)
        for k, rows in enumerate(np.array_split(np.arange(n), GROUPS)):
            colour = [int(COLOURS[k][i : i + 2], 16) for i in (1, 3, 5)]
            fired = np.repeat(self._counts[rows, None] > 0.0, ROW_HEIGHT - 1, axis=1)
            picture[rows, : ROW_HEIGHT - 1] = np.where(fired[..., None], np.array(colour, dtype=np.uint8), 255)
        return picture.reshape(n * ROW_HEIGHT, COLUMNS, 3)
