"""Neurons on the page: a raster of spikes, a row for each neuron, and the position decoded from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_control.maths import Array
from arm_control.viewer.plots import COLOURS, Plot

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


class Raster:
    """Spikes of the newest bins of time.

    Parameters
    ----------
    gui : viser.GuiApi
        The page's controls.
    """

    def __init__(self, gui: Any) -> None:
        self._gui = gui
        self._folder = gui.add_folder("spikes of neurons: x, y, z; 0.8 s", visible=False)
        self._counts = np.zeros((0, COLUMNS))
        self._is_outdated = False
        self.handle: Any = None

    def add(self, counts: Array) -> None:
        """Add the counts of the next bins, shape (neurons, bins); another number of neurons begins anew."""
        counts = counts[:MOST_ROWS, -COLUMNS:]
        if len(counts) != len(self._counts):
            self._counts = np.zeros((len(counts), COLUMNS))
        self._counts = np.hstack([self._counts[:, counts.shape[1] :], counts])
        self._is_outdated = True

    def draw(self) -> None:
        """Send the picture, if there are new spikes."""
        if not self._is_outdated:
            return
        self._is_outdated = False
        picture = self._picture()
        if self.handle is None:
            self._folder.visible = True
            with self._folder:
                self.handle = self._gui.add_image(picture, format="png")
        else:
            self.handle.image = picture

    def _picture(self) -> Array:
        """White, and the colour of the axis where a neuron fired."""
        n = len(self._counts)
        picture = np.full((n, ROW_HEIGHT, COLUMNS, 3), 255, dtype=np.uint8)
        for k, rows in enumerate(np.array_split(np.arange(n), GROUPS)):
            colour = [int(COLOURS[k][i : i + 2], 16) for i in (1, 3, 5)]
            fired = np.repeat(self._counts[rows, None] > 0.0, ROW_HEIGHT - 1, axis=1)
            picture[rows, : ROW_HEIGHT - 1] = np.where(fired[..., None], np.array(colour, dtype=np.uint8), 255)
        return picture.reshape(n * ROW_HEIGHT, COLUMNS, 3)


class NeuralPlots:
    """Raster and decoded position; both appear with the first message.

    Parameters
    ----------
    gui : viser.GuiApi
        The page's controls.
    """

    def __init__(self, gui: Any) -> None:
        labels = {f"{axis} {what}": f"{axis} {what}".removesuffix(" decoded") for what in PARTS for axis in "xyz"}
        self.position = Plot(gui, "decoded position, and the goal [m]", labels)
        self.raster = Raster(gui)

    def add_state(self, t: float, positions: Array) -> None:
        """Add positions at a time [s].

        Parameters
        ----------
        t : float
            Simulated time [s].
        positions : ndarray, shape (3, 2)
            Decoded position and goal [m].
        """
        values = {
            f"{axis} {what}": float(positions[i, k]) for i, axis in enumerate("xyz") for k, what in enumerate(PARTS)
        }
        self.position.add(t, values)

    def draw(self) -> None:
        """Send what is new."""
        self.position.draw()
        self.raster.draw()
