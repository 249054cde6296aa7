"""The panel beside the space: status, buttons, sliders and gains.

Commands of the people at the page stand in a queue, in their order: the page's server has threads of its own.
"""

from __future__ import annotations

import html
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arm_control.core import Spec
from arm_control.maths import Array, Pose

HOLD_TIME = 0.4
"""Time for which a typed number stays, until the controller has received it [s]."""
TURN = 2.0 * math.pi
STEPS = 400
"""Steps of a gain's slider."""
NOTE_TIME = 5.0
"""Time for which a note is shown [s]."""
MIN_NOTE_TIME = 2.0
"""Time for which a note is shown when the status has changed since: long enough to be read [s]."""
GREEN, RED = "#2e7d32", "#c62828"
LEVEL_STYLES = ("", "color:#8a4b00;background:#fff3d6;font-weight:600", "color:#fff;background:#c62828;font-weight:600")
"""Styles of a line of the status: OK, a warning, an error."""


class Line(NamedTuple):
    """A line of the status.

    Attributes
    ----------
    level : int
        0: OK, 1: a warning, 2: an error.
    figure : str
        A number behind the text that changes all the time.
    """

    text: str
    level: int = 0
    figure: str = ""


class Panel:
    """Status, buttons, joints, target, obstacles and gains."""

    def __init__(self, gui: Any, commands: PageCommandQueue, control: bool) -> None:
        self._gui = gui
        self._commands = commands
        self._control = control
        self.joints: dict[str, Any] = {}
        self.gains: dict[str, Any] = {}
        self._status_html = ""
        self._status_lines: dict[str, tuple[str, int]] = {}
        self._note_time = -math.inf
        self._note_is_outdated = False
        self._note_is_error = False
        self._X_WT: Pose | None = None
        self._target_hold_end = 0.0
        self._status = gui.add_html("")
        self._note = gui.add_html("")
        if control:
            self._add_buttons()
        tabs = self.tabs = gui.add_tab_group()
        with tabs.add_tab("Arm"):
            self._joint_folder = gui.add_folder("Joints [rad]")
            self._target = gui.add_vector3("target x, y, z [m]", (0.0, 0.0, 0.0), step=0.001, disabled=not control,
                                            visible=False)  # fmt: skip
            self._target_hint = gui.add_markdown("Drag the arrows and arcs of the target, or type its position.",
                                                 visible=False)  # fmt: skip
            self._on_change(self._target, self._on_target)
        if control:
            with tabs.add_tab("Obstacles"):
                for label, command_type, name in (("add a ball", "add", "ball"), ("add a box", "add", "box"),
                                                  ("remove the last one", "remove", "")):  # fmt: skip
                    self._on_press(gui.add_button(label), command_type, name)
                gui.add_markdown("Drag the arrows of an obstacle to move it. The arm avoids obstacles if the"
                                 " controller's parameter `avoid_obstacles` is true.")  # fmt: skip
            with tabs.add_tab("Gains"):
                self._no_gains = gui.add_markdown("*no controller is running*")
                self._gain_folder = gui.add_folder("", visible=False)

    # -- status ------------------------------------------------------------------------------------

    def set_status(self, lines: Mapping[str, Line]) -> None:
        """Show lines of the status by their short names; an old or outdated note is removed."""
        text = f"<table style='font-size:13px;margin:2px 14px'>{''.join(map(_row, lines, lines.values()))}</table>"
        if text != self._status_html:
            self._status.content = self._status_html = text
        status_lines = {name: (line.text, line.level) for name, line in lines.items()}
        has_changed = status_lines != self._status_lines
        self._status_lines = status_lines
        self._note_is_outdated |= has_changed and not self._note_is_error
        if time.monotonic() - self._note_time >= (MIN_NOTE_TIME if self._note_is_outdated else NOTE_TIME):
            self.notify("")

    def notify(self, message: str, is_error: bool = False) -> None:
        """Show a note for a while; an empty one is none."""
        colour = RED if is_error else GREEN
        text = f"<div style='font-size:12px;margin:2px 16px;color:{colour}'>{html.escape(message)}</div>"
        self._note_time = time.monotonic() if message else math.inf
        self._note_is_error = is_error
        self._note_is_outdated = False
        self._note.content = text if message else ""

    # -- buttons -----------------------------------------------------------------------------------

    def _add_buttons(self) -> None:
        run_buttons = self._gui.add_button_group("run", ("go on", "pause", "step", "reset"), visible=False)

        async def on_click(_: Any) -> None:
            if run_buttons.value in ("step", "reset"):
                self._commands.put(run_buttons.value)
            else:
                self._commands.put("pause", value=run_buttons.value == "pause")

        run_buttons.on_click(on_click)
        self._enable = self._gui.add_button("enable", hint="let a braked arm move again", visible=False)
        self._on_press(self._enable, "enable", "")
        hint = "the hand goes to the target that is shown, and stays there: a list of targets ends"
        self._stop = self._gui.add_button("stop the targets", hint=hint, visible=False)

        async def on_stop(_: Any) -> None:
            if self._X_WT is not None:
                self._commands.put("target", "target", self._X_WT)

        self._stop.on_click(on_stop)
        hint = "simulated time per wall time; less than 1 is slow motion"
        self._speed = self._gui.add_slider("speed", 0.05, 1.0, 0.05, 1.0, hint=hint, visible=False)
        self._simulator_controls = run_buttons, self._speed
        self._on_change(self._speed, partial(self._put_value, "speed", "", self._speed))

    def offer(self, simulator: bool, gate: bool, target: bool) -> None:
        """Show the controls that have an effect, and hide the others.

        Parameters
        ----------
        simulator, gate, target : bool
            Whether a simulator is running, a gate, and a node that follows targets.
        """
        visibility = [(self._target, target)]
        if self._control:
            visibility += [(handle, simulator) for handle in self._simulator_controls]
            visibility += [(self._enable, gate), (self._target_hint, target), (self._stop, target)]
        for handle, is_visible in visibility:
            if handle.visible is not is_visible:
                handle.visible = is_visible

    def set_braked(self, braked: bool) -> None:
        """Activate the button that enables while a gate is braked."""
        if self._control and self._enable.disabled is braked:
            self._enable.disabled = not braked

    def set_speed(self, factor: float) -> None:
        """Show simulated time per wall time."""
        if self._control:
            self._show_extended(self._speed, factor)

    def _on_press(self, button: Any, command_type: str, name: str) -> None:
        """Put a command into the queue when a button is pressed."""

        async def on_click(_: Any) -> None:
            self._commands.put(command_type, name)

        button.on_click(on_click)

    def _on_change(self, handle: Any, action: Callable[[], None]) -> None:
        """Call a function when a person has changed a value; changes by this node come without a client."""

        async def on_update(event: Any) -> None:
            if event.client_id is not None:
                action()

        handle.on_update(on_update)

    def _put_value(self, command_type: str, name: str, slider: Any) -> None:
        self._commands.put(command_type, name, float(slider.value))

    def _show(self, handle: Any, value: Any) -> None:
        """Set a value, if it differs."""
        if not np.allclose(handle.value, value, rtol=0.0, atol=1e-6):
            handle.value = value

    def _show_extended(self, slider: Any, value: float) -> None:
        """Set a slider's value, and extend its range if necessary."""
        low = min(slider.min, value)
        high = max(slider.max, value)
        if (low, high) != (slider.min, slider.max):
            slider.min, slider.max = low, high
        self._show(slider, value)

    # -- joints and target ---------------------------------------------------------------------------

    def set_joints(self, names: Sequence[str], low: Array, high: Array, lengths: Collection[str] = ()) -> None:
        """Make a slider for each joint.

        Parameters
        ----------
        low, high : ndarray, shape (n,)
            Their limits [rad or m].
        """
        for slider in self.joints.values():
            slider.remove()
        self.joints = {}
        with self._joint_folder:
            for name, q_min, q_max in zip(names, low.tolist(), high.tolist(), strict=True):
                start, end = slider_ends(q_min, q_max)
                label = f"{name} [m]" if name in lengths else name
                slider = self._gui.add_slider(label, start, end, 0.001, min(max(0.0, start), end))
                self._on_change(slider, partial(self._put_value, "joint", name, slider))
                self.joints[name] = slider

    def show_joints(self, values: Mapping[str, float], fixed: bool) -> None:
        """Show joint positions on the sliders.

        Parameters
        ----------
        values : mapping of str to float
            Position of each joint [rad or m].
        fixed : bool
            Whether another node moves the arm: the sliders then follow it and cannot be moved.
        """
        for name, slider in self.joints.items():
            if slider.disabled is not fixed:
                slider.disabled = fixed
            value = float(np.clip(values[name], slider.min, slider.max))
            if fixed and abs(slider.value - value) > 2e-3:
                slider.value = round(value, 3)

    def show_target(self, X: Pose) -> None:
        """Show the target's position."""
        self._X_WT = X
        if time.monotonic() >= self._target_hold_end:
            self._show(self._target, tuple(np.round(X.p, 4).tolist()))

    def _on_target(self) -> None:
        p = np.array(self._target.value, dtype=float)
        if self._X_WT is not None and np.isfinite(p).all():
            self._target_hold_end = time.monotonic() + HOLD_TIME
            self._commands.put("target", "target", Pose(self._X_WT.R, p))

    # -- gains ---------------------------------------------------------------------------------------

    def set_gains(self, node: str, gains: Mapping[str, tuple[float, Spec | None]]) -> None:
        """Make a slider for each gain of a node.

        Parameters
        ----------
        gains : mapping
            Value of each gain, and its unit, bounds and text if they are known.
        """
        if not self._control:
            return
        for slider in self.gains.values():
            slider.remove()
        self.gains = {}
        self._no_gains.visible, self._gain_folder.visible = not gains, bool(gains)
        self._gain_folder.label = f"of the node {node}"
        with self._gain_folder:
            for name, (value, spec) in gains.items():
                low, high = slider_range(value, spec)
                label = f"{name} [{spec.unit}]" if spec is not None and spec.unit else name
                hint = str(spec) if spec is not None else None
                slider = self._gui.add_slider(label, low, high, (high - low) / STEPS, value, hint=hint)
                self._on_change(slider, partial(self._put_value, "gain", name, slider))
                self.gains[name] = slider

    def show_gain(self, name: str, value: float) -> None:
        """Show the value of a gain; an unknown one is ignored."""
        slider = self.gains.get(name)
        if slider is not None:
            self._show_extended(slider, value)


def _row(name: str, line: Line) -> str:
    """Return a line of the status as a row of an HTML table."""
    text, figure = html.escape(line.text), html.escape(line.figure)
    style = f"{LEVEL_STYLES[line.level]};padding:1px 6px;border-radius:3px" if line.level else "padding:1px 6px"
    return (
        f"<tr><td style='color:#777;padding-right:6px;vertical-align:top'>{html.escape(name)}</td>"
        f"<td style='{style}'>{text} <span style='font-weight:400'>{figure}</span></td></tr>"
    )


def slider_ends(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a joint's slider: its limits [rad or m] in whole steps, at most one turn from zero.

    Examples
    --------
    >>> slider_ends(-math.pi, math.inf)
    (-3.141, 6.283)
    """
    a, b = math.ceil(1e3 * max(low, -TURN)) / 1e3, math.floor(1e3 * min(high, TURN)) / 1e3
    return (a, b) if a < b else (low, high)


def slider_range(value: float, spec: Spec | None) -> tuple[float, float]:
    """Return the ends of a gain's slider: its bounds, as far as they are known, or four times its value.

    Examples
    --------
    >>> slider_range(200.0, Spec("stiffness", lower=0.001)), slider_range(0.5, Spec("share", lower=0.0, upper=1.0))
    ((0.001, 800.0), (0.0, 1.0))
    """
    lower, upper = (None, None) if spec is None else (spec.lower, spec.upper)
    low = lower if lower is not None else min(0.0, 4.0 * value)
    high = upper if upper is not None else (4.0 * value if value > low else low + 1.0)
    return float(min(low, value)), float(max(high, value))


COMMAND_TYPES = (
    *("joint", "target", "obstacle", "constraint", "add", "remove"),
    *("gain", "pause", "step", "reset", "speed", "enable"),
)
MOST_COMMANDS = 1000
"""Commands of a page that wait; the oldest are dropped when more come."""
VIEW_COMMANDS = ("joint",)
"""Commands of a page without control: they change the picture only."""


class PageCommand(NamedTuple):
    """A command of the page.

    Attributes
    ----------
    type : str
        One of :data:`COMMAND_TYPES`.
    name : str or tuple
        What it is about: a joint, a gain, an obstacle's namespace and number, a node and the drawing of a constraint.
    """

    type: str
    name: Any = ""
    value: Any = None


class PageCommandQueue:
    """A queue that the page fills and the node empties.

    Parameters
    ----------
    control : bool
        Whether commands are accepted that change more than the view.
    """

    def __init__(self, control: bool) -> None:
        self._control = control
        self._queue: deque[PageCommand] = deque(maxlen=MOST_COMMANDS)

    def put(self, command_type: str, name: Any = "", value: Any = None) -> None:
        """Append a command, see :class:`PageCommand`; a page without control gets those of :data:`VIEW_COMMANDS`."""
        if command_type not in COMMAND_TYPES:
            raise ValueError(f"no command '{command_type}'; there are: {', '.join(COMMAND_TYPES)}")
        if self._control or command_type in VIEW_COMMANDS:
            self._queue.append(PageCommand(command_type, name, value))

    def take(self) -> list[PageCommand]:
        """Return the commands since the last call."""
        taken = []
        while self._queue:
            taken.append(self._queue.popleft())
        return taken
