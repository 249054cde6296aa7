"""The whole page: space, panel and plots on a guarded server."""

from __future__ import annotations

from collections.abc import Mapping

from arm_control.model import RobotModel
from arm_control.viewer.arm_shapes import Part
from arm_control.viewer.guard import Guard
from arm_control.viewer.page_commands import Wishes
from arm_control.viewer.panel import Panel
from arm_control.viewer.plots import Plots
from arm_control.viewer.server import address, close_server, name_of, open_server
from arm_control.viewer.space import Scene


class Page:
    """What a browser shows of an arm.

    Parameters
    ----------
    control : bool
        Whether the page may do more than look.
    port : int
        Where to listen on this machine, or the next free port after it; 0: any.

    Attributes
    ----------
    address : str
        Where to open it; whoever has this has the page.
    wishes : Wishes
        What people want who look at it.
    scene, panel, plots : Scene, Panel, Plots
        Its parts.
    """

    def __init__(self, control: bool = False, port: int = 0) -> None:
        self.guard, self.wishes = Guard(control), Wishes(control)
        self.server = open_server(self.guard, port, "arm_control")
        self.address = address(self.server, self.guard)
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(25, 118, 210))
        self.scene = Scene(self.server, self.wishes, control)
        self.panel = Panel(gui, self.wishes, control)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)
        self._side = side = gui.add_panel(visible=False)
        with side.add_tab("Plots"):
            self.plots = Plots(gui)
        side.dock_left()
        side.set_width(330)
        self.guard.harmless.add(name_of(self.plots.joint))

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks."""
        return bool(self.server.get_clients())

    def set_arm(self, model: RobotModel, parts: list[Part]) -> None:
        """Show another arm."""
        self.scene.set_arm(model, parts)
        lengths = {name for name in model.joint_names if model.urdf.robot.joint_map[name].type == "prismatic"}
        self.panel.set_joints(model.joint_names, model.q_min, model.q_max, lengths)
        self.guard.harmless |= {name_of(slider) for slider in self.panel.joints.values()}
        self.plots.set_joints(model.joint_names)

    def offer(self, simulator: bool, gate: bool, target: bool) -> None:
        """Show what has an effect: a simulator's buttons, a gate's, a target; hide what nobody would hear."""
        self.panel.offer(simulator, gate, target)
        self.scene.offer_target(target)

    def plot(self, t: float, figures: Mapping[str, float], terms: Mapping[str, Mapping[str, float]]) -> None:
        """Take numbers of a time [s]: what :meth:`.Plots.add` takes; the plots are there from the first ones on."""
        self.plots.add(t, figures, terms)
        if not self._side.visible:
            self._side.visible = True

    def close(self) -> None:
        """End the server."""
        close_server(self.server)
