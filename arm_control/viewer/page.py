"""The page: space, panel and plots on a guarded server; and a page with one arm by itself, without ROS."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.planning import PlanRecord
from arm_control.viewer.arm_shapes import MeshPart, arm_parts, mesh_roots
from arm_control.viewer.guard import Guard
from arm_control.viewer.panel import Line, PageCommand, PageCommandQueue, Panel
from arm_control.viewer.plan_view import PlanView
from arm_control.viewer.plots import NeuralPlots, Plots
from arm_control.viewer.server import address, close_server, name_of, open_server
from arm_control.viewer.space import Scene


class Page:
    """A page in the browser that shows an arm.

    Parameters
    ----------
    port : int
        Port on this machine, or the next free one; 0: any.

    Attributes
    ----------
    address : str
        Address with the token; it gives access to the page.
    """

    def __init__(self, control: bool = False, port: int = 0) -> None:
        self.guard = Guard(control)
        self.commands = PageCommandQueue(control)
        self.server = open_server(self.guard, port, "arm_control")
        self.address = address(self.server, self.guard)
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(25, 118, 210))
        self.scene = Scene(self.server, self.commands, control)
        self.panel = Panel(gui, self.commands, control)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)
        self._side_panel = gui.add_panel(visible=False)
        with self._side_panel.add_tab("Plots"):
            self.plots = Plots(gui)
            self.neurons = NeuralPlots(gui)
        self._side_panel.dock_left()
        self._side_panel.set_width(330)
        self.guard.harmless.add(name_of(self.plots.joint))
        self.plan = PlanView(self.server, self.panel.tabs.add_tab, self._allow)

    def _allow(self, control: Any) -> None:
        """Let a page without control change a control."""
        self.guard.harmless.add(name_of(control))

    @property
    def is_open(self) -> bool:
        """Whether a browser shows the page."""
        return bool(self.server.get_clients())

    def set_arm(self, model: RobotModel, parts: list[MeshPart]) -> None:
        """Show another arm."""
        self.guard.title = f"{model.urdf.robot.name} - arm_control"
        self.scene.set_arm(model, parts)
        lengths = {name for name in model.joint_names if model.urdf.robot.joint_map[name].type == "prismatic"}
        self.panel.set_joints(model.joint_names, model.q_min, model.q_max, lengths)
        self.guard.harmless |= {name_of(slider) for slider in self.panel.joints.values()}
        self.plots.set_joints(model.joint_names)
        self.plan.set_arm(model, parts)

    def offer(self, simulator: bool, gate: bool, target: bool) -> None:
        """Show the controls that have an effect, and hide the others."""
        self.panel.offer(simulator, gate, target)
        self.scene.offer_target(target)

    def plot(self, t: float, figures: Mapping[str, float], terms: Mapping[str, Mapping[str, float]]) -> None:
        """Add values to the plots, as in :meth:`.Plots.add`; they appear with the first ones."""
        self.plots.add(t, figures, terms)
        if not self._side_panel.visible:
            self._side_panel.visible = True

    def draw_plots(self) -> None:
        """Send what the plots have got."""
        self.plots.draw()
        self.neurons.draw()

    def close(self) -> None:
        """Stop the server."""
        close_server(self.server)


PERIOD = 1.0 / 30.0
"""Time between two updates of the page [s]."""


class ArmPage:
    """A page with one arm, moved by its sliders.

    Parameters
    ----------
    model : RobotModel
        The arm; kinematics are enough.
    file : Path
        Its URDF, beside which meshes are searched.
    port : int
        Port of the page, or the next free one; 0: any.

    Raises
    ------
    InputError
        When the plan is one of an arm with another number of joints.

    Attributes
    ----------
    q : ndarray, shape (nq,)
        Joint positions [rad or m].
    """

    def __init__(self, model: RobotModel, file: Path, port: int = 0, plan: PlanRecord | None = None) -> None:
        if plan is not None and plan.qs.shape[1] != model.nq:
            raise InputError(f"a plan of {plan.qs.shape[1]} joints; '{model.urdf.robot.name}' has {model.nq}")
        parts, self.notes = arm_parts(model, mesh_roots(file))
        self.page = Page(control=False, port=port)
        self.page.set_arm(model, parts)
        self.page.offer(simulator=False, gate=False, target=False)
        self.q: Array = np.clip(np.zeros(model.nq), model.q_min, model.q_max)
        if plan is not None:
            self.q = plan.qs[0].copy()
            self.page.plan.show(plan)
        self._model = model
        self._status = {"robot": Line(str(model.urdf.robot.name)), "moved by": Line("sliders")}

    def update(self) -> None:
        """Take the sliders' positions, and draw."""
        for command in self.page.commands.take():
            self._move(command)
        X_WE = self.page.scene.set_joints(self.q)
        position = ", ".join(f"{x:.3f}" for x in X_WE.p + 0.0)
        self._status["hand"] = Line(f"{self._model.tip} at", figure=f"{position} m")
        self.page.plan.update()
        self.page.panel.set_status(self._status)
        self.page.panel.show_joints(dict(zip(self._model.joint_names, self.q.tolist(), strict=True)), fixed=False)

    def run(self) -> None:
        """Update until an exception, such as that of Ctrl-C, and close the page."""
        try:
            while True:
                self.update()
                time.sleep(PERIOD)
        finally:
            self.page.close()

    def _move(self, command: PageCommand) -> None:
        if command.type == "joint" and command.name in self._model.joint_names and np.isfinite(command.value):
            i = self._model.joint_names.index(command.name)
            self.q[i] = np.clip(command.value, self._model.q_min[i], self._model.q_max[i])
