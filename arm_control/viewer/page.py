"""The page: space, panel and plots on a guarded server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arm_control.model import RobotModel
from arm_control.viewer.arm_shapes import MeshPart
from arm_control.viewer.guard import Guard
from arm_control.viewer.page_commands import PageCommandQueue
from arm_control.viewer.panel import Panel
from arm_control.viewer.plan_view import PlanView
from arm_control.viewer.plots import Plots
from arm_control.viewer.raster import NeuralPlots
from arm_control.viewer.server import address, close_server, name_of, open_server
from arm_control.viewer.space import Scene


class Page:
    """A page in the browser that shows an arm.

    Parameters
    ----------
    control : bool
        Whether the page may control.
    port : int
        Port on this machine, or the next free one; 0: any.

    Attributes
    ----------
    address : str
        Address with the token; it gives access to the page.
    commands : PageCommandQueue
        Commands of the people at the page.
    scene, panel, plots, neurons, plan : Scene, Panel, Plots, NeuralPlots, PlanView
        Its parts.
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
        """Show another arm.

        Parameters
        ----------
        model : RobotModel
            The arm.
        parts : list of MeshPart
            Triangles of its links.
        """
        self.scene.set_arm(model, parts)
        lengths = {name for name in model.joint_names if model.urdf.robot.joint_map[name].type == "prismatic"}
        self.panel.set_joints(model.joint_names, model.q_min, model.q_max, lengths)
        self.guard.harmless |= {name_of(slider) for slider in self.panel.joints.values()}
        self.plots.set_joints(model.joint_names)
        self.plan.set_arm(model, parts)

    def offer(self, simulator: bool, gate: bool, target: bool) -> None:
        """Show the controls that have an effect, and hide the others.

        Parameters
        ----------
        simulator, gate, target : bool
            Whether a simulator is running, a gate, and a node that follows targets.
        """
        self.panel.offer(simulator, gate, target)
        self.scene.offer_target(target)

    def plot(self, t: float, figures: Mapping[str, float], terms: Mapping[str, Mapping[str, float]]) -> None:
        """Add values to the plots, which appear with the first ones.

        Parameters
        ----------
        t, figures, terms
            As in :meth:`.Plots.add`.
        """
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
