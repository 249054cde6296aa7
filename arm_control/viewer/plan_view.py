"""A plan on the page: the arm along it, obstacles over time, the end effector's line, the trees; with a slider of time.

The planned arm is drawn apart from the measured one, in translucent blue; obstacles at the slider's time in translucent
orange. The slider and the boxes change the picture only, so that a page without control has them, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arm_control.model import RobotModel
from arm_control.planning import PlanRecord
from arm_control.viewer.arm_shapes import MeshPart, mesh_of
from arm_control.viewer.space import draw_arm, draw_mesh, move

LINE_COLOUR, TREE_COLOUR = (13, 71, 161), (140, 140, 140)
OPACITY = 0.45
ARM_COLOUR = (25 / 255, 118 / 255, 210 / 255, OPACITY)
OBSTACLE_COLOUR = (230 / 255, 120 / 255, 0.0, OPACITY)
LINE_POINTS = 120
"""Points of the end effector's line."""
MOST_EDGES = 3000
"""Edges of the trees that are drawn: the first ones."""
STEPS = 400
"""Steps of the slider."""
PAUSE = 1.0
"""Rest at the end of a plan before it begins again [s]."""
NOTE = "Blue: the arm along the plan. Orange: the obstacles that it was made for, at this time."


class PlanView:
    """Shows one plan; without one, nothing.

    Parameters
    ----------
    add_tab : callable
        Adds a tab with this label to the panel, and returns it.
    allow : callable
        Called with each control that changes the picture only.
    """

    def __init__(self, server: Any, add_tab: Callable[[str], Any], allow: Callable[[Any], None]) -> None:
        self._server, self._draw, self._gui = server, server.scene, server.gui
        self._add_tab, self._allow = add_tab, allow
        self._record: PlanRecord | None = None
        self._model: RobotModel | None = None
        self._parts: Sequence[MeshPart] = ()
        self._root: Any = None
        self._time: Any = None
        self._links: dict[str, Any] = {}
        self._obstacles: list[Any] = []
        self._tree: list[Any] = []
        self._since, self._shown = 0.0, -1.0

    def set_arm(self, model: RobotModel, parts: Sequence[MeshPart]) -> None:
        """Take the arm of the next plans; the present plan goes."""
        self.show(None)
        self._model, self._parts = model, parts

    def show(self, record: PlanRecord | None) -> None:
        """Show a plan instead of the one before; None: no plan."""
        if self._root is not None:
            self._root.remove()
        self._record, self._root, self._links, self._obstacles, self._tree = None, None, {}, [], []
        if record is None or self._model is None:
            return
        self._record, self._since, self._shown = record, time.monotonic(), -1.0
        if self._time is None:
            self._add_controls()
        self._time.max = max(record.duration, 1e-3)
        self._time.step = self._time.max / STEPS
        with self._server.atomic():
            self._root = self._draw.add_frame("/plan", show_axes=False)
            self._links = draw_arm(self._draw, "/plan", self._parts, ARM_COLOUR)
            self._draw_lines(self._model, record)
            self._draw_obstacles(record)

    def update(self, t: float | None = None) -> None:
        """Draw the time of the slider, which moves while the plan is played.

        Parameters
        ----------
        t : float, optional
            Time since the begin of the plan, where it is executed [s]; by default the plan is played again and again.
        """
        record, model = self._record, self._model
        if record is None or model is None:
            return
        if self._play.value:
            played = (time.monotonic() - self._since) % (record.duration + PAUSE) if t is None else t
            self._show_time(float(np.clip(played, 0.0, record.duration)))
        chosen = min(float(self._time.value), record.duration)
        if chosen != self._shown:
            self._shown = chosen
            self._draw_at(model, record, chosen)
        _show(self._links.values(), bool(self._has_arm.value))
        _show(self._tree, bool(self._has_tree.value))

    def stop_at(self, t: float) -> None:
        """Stop the plan that is played at a time [s]."""
        self._play.value = False
        self._time.value = t

    def _show_time(self, t: float) -> None:
        """Move the slider, in whole steps."""
        step = self._time.step
        t = min(round(t / step) * step, self._time.max)
        if abs(t - self._time.value) > 0.5 * step:
            self._time.value = t

    def _add_controls(self) -> None:
        with self._add_tab("Plan"):
            self._time = self._gui.add_slider("time [s]", 0.0, 1.0, 1.0 / STEPS, 0.0)
            self._play = self._gui.add_checkbox("play", True)
            self._has_arm = self._gui.add_checkbox("arm", True)
            self._has_tree = self._gui.add_checkbox("trees", True)
            self._gui.add_markdown(NOTE)
        for control in (self._time, self._play, self._has_arm, self._has_tree):
            self._allow(control)

    # -- drawings ---------------------------------------------------------------------------------

    def _draw_lines(self, model: RobotModel, record: PlanRecord) -> None:
        """The end effector's line, and its places at both ends of each edge of the trees."""
        times = np.linspace(0.0, record.duration, LINE_POINTS)
        line = np.array([model.pose(record.at(t)).p for t in times.tolist()])
        segments = np.stack([line[:-1], line[1:]], axis=1)
        self._draw.add_line_segments("/plan/line", segments, LINE_COLOUR, thickness=0.006)
        if len(record.tree):
            ends = np.array([[model.pose(q).p for q in edge] for edge in record.tree[:MOST_EDGES]])
            self._tree = [self._draw.add_line_segments("/plan/tree", ends, TREE_COLOUR, thickness=0.002)]

    def _draw_obstacles(self, record: PlanRecord) -> None:
        for k, mover in enumerate(record.obstacles):
            mesh, name = mesh_of(mover.obstacle.shape), f"/plan/obstacle_{k}"
            self._obstacles.append(self._draw.add_frame(name, show_axes=False))
            draw_mesh(self._draw, f"{name}/shape", mesh, OBSTACLE_COLOUR)

    def _draw_at(self, model: RobotModel, record: PlanRecord, t: float) -> None:
        """Move arm and obstacles to a time [s]."""
        q = record.at(t)
        with self._server.atomic():
            for link, frame in self._links.items():
                move(frame, model.pose(q, link))
            for frame, obstacle in zip(self._obstacles, record.obstacles_at(t), strict=True):
                _show([frame], obstacle is not None)
                if obstacle is not None:
                    move(frame, obstacle.X_WO)


def _show(handles: Any, is_visible: bool) -> None:
    """Show or hide objects, where that differs."""
    for handle in handles:
        if handle.visible is not is_visible:
            handle.visible = is_visible
