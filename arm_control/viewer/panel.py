"""The panel beside the space: what is going on, and what can be done about it."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from arm_control.core.parameters import Spec
from arm_control.maths.poses import Array, Pose
from arm_control.viewer.page_commands import Wishes

HELD = 0.4
"""Time after a number was typed in which it stays, until others have heard of it [s]."""
TURN = 2.0 * math.pi
STEPS = 400
"""Places of a slider."""
NOTE, READ = 5.0, 2.0
"""How long a note is shown, and how long when it says what was so before: long enough to be read [s]."""
GOOD, BAD = "#2e7d32", "#c62828"
LOOKS = ("", "color:#8a4b00;background:#fff3d6;font-weight:600", "color:#fff;background:#c62828;font-weight:600")
"""Of a line of the status: all well, a warning, an error."""


class Line(NamedTuple):
    """A line of the status.

    Attributes
    ----------
    words : str
        What is so.
    level : int
        0: well, 1: a warning, 2: an error.
    figure : str
        A number behind the words that changes all the time.
    """

    words: str
    level: int = 0
    figure: str = ""


class Panel:
    """Status, buttons, joints, target, obstacles and gains.

    Parameters
    ----------
    gui : viser.GuiApi
        Where to put them.
    wishes : Wishes
        Where to say what is wanted.
    control : bool
        Whether more is offered than to look.
    """

    def __init__(self, gui: Any, wishes: Wishes, control: bool) -> None:
        self._gui, self._wishes, self._control = gui, wishes, control
        self.joints: dict[str, Any] = {}
        self.gains: dict[str, Any] = {}
        self._shown = ""
        self._told: dict[str, tuple[str, int]] = {}
        self._note_since, self._is_out_of_date = -math.inf, False
        self._note_is_bad = False
        self._X_WT: Pose | None = None
        self._target_held = 0.0
        self._status = gui.add_html("")
        self._message = gui.add_html("")
        if control:
            self._add_buttons()
        tabs = gui.add_tab_group()
        with tabs.add_tab("Arm"):
            self._joint_folder = gui.add_folder("Joints [rad]")
            self._target = gui.add_vector3("target x, y, z [m]", (0.0, 0.0, 0.0), step=0.001, disabled=not control,
                                            visible=False)  # fmt: skip
            self._target_hint = gui.add_markdown("Drag the arrows and arcs of the target, or type where it is to be.",
                                                 visible=False)  # fmt: skip
            self._on(self._target, self._on_target)
        if control:
            with tabs.add_tab("Obstacles"):
                for label, kind, name in (("add a ball", "add", "ball"), ("add a box", "add", "box"),
                                          ("remove the last one", "remove", "")):  # fmt: skip
                    self._press(gui.add_button(label), kind, name)
                gui.add_markdown("Drag the arrows of an obstacle to move it. Obstacles are avoided where the controller"
                                 " has `avoid_obstacles`.")  # fmt: skip
            with tabs.add_tab("Gains"):
                self._no_gains = gui.add_markdown("*no controller is running*")
                self._gain_folder = gui.add_folder("", visible=False)

    # -- status ------------------------------------------------------------------------------------

    def set_status(self, lines: Mapping[str, Line]) -> None:
        """Show what is going on, by short names; a note that is old, or says what was so before, goes away."""
        text = f"<table style='font-size:13px;margin:2px 14px'>{''.join(map(_row, lines, lines.values()))}</table>"
        if text != self._shown:
            self._status.content = self._shown = text
        told = {name: (line.words, line.level) for name, line in lines.items()}
        is_news, self._told = told != self._told, told
        self._is_out_of_date |= is_news and not self._note_is_bad
        if time.monotonic() - self._note_since >= (READ if self._is_out_of_date else NOTE):
            self.say("")

    def say(self, sentence: str, is_bad: bool = False) -> None:
        """Show what came of a wish, for a while."""
        colour = BAD if is_bad else GOOD
        text = f"<div style='font-size:12px;margin:2px 16px;color:{colour}'>{html.escape(sentence)}</div>"
        self._note_since, self._note_is_bad = time.monotonic() if sentence else math.inf, is_bad
        self._is_out_of_date = False
        self._message.content = text if sentence else ""

    # -- buttons -----------------------------------------------------------------------------------

    def _add_buttons(self) -> None:
        flow = self._gui.add_button_group("run", ("go on", "pause", "step", "reset"), visible=False)

        async def run(_: Any) -> None:
            if flow.value in ("step", "reset"):
                self._wishes.put(flow.value)
            else:
                self._wishes.put("pause", value=flow.value == "pause")

        flow.on_click(run)
        self._enable = self._gui.add_button("enable", hint="let a braked arm go on", visible=False)
        self._press(self._enable, "enable", "")
        hint = "simulated time per wall time; less than 1 is slow motion"
        self._speed = self._gui.add_slider("speed", 0.05, 1.0, 0.05, 1.0, hint=hint, visible=False)
        self._run = flow, self._speed
        self._on(self._speed, lambda: self._wishes.put("speed", value=float(self._speed.value)))

    def offer(self, simulator: bool, gate: bool, target: bool) -> None:
        """Show what has an effect, and hide the rest: where nobody simulates, brakes, or follows a target."""
        shown = [(self._target, target)]
        if self._control:
            shown += [*((handle, simulator) for handle in self._run), (self._enable, gate)]
            shown.append((self._target_hint, target))
        for handle, is_there in shown:
            if handle.visible is not is_there:
                handle.visible = is_there

    def set_braked(self, braked: bool) -> None:
        """Let the button stand out that enables, where there is something to enable; else it cannot be pressed."""
        if self._control and self._enable.disabled is braked:
            self._enable.disabled = not braked

    def set_speed(self, factor: float) -> None:
        """Show how fast simulated time goes."""
        if self._control:
            self._show_wider(self._speed, factor)

    def _press(self, button: Any, kind: str, name: str) -> None:
        async def pressed(_: Any) -> None:
            self._wishes.put(kind, name)

        button.on_click(pressed)

    def _on(self, handle: Any, act: Any) -> None:
        """Do something when a person has changed a value; not when we have, which comes without a client."""

        async def changed(event: Any) -> None:
            if event.client_id is not None:
                act()

        handle.on_update(changed)

    def _show(self, handle: Any, value: Any) -> None:
        """Set a value, if it is another one."""
        if not np.allclose(handle.value, value, rtol=0.0, atol=1e-6):
            handle.value = value

    def _show_wider(self, slider: Any, value: float) -> None:
        """Set a slider's value, and let it reach so far."""
        low, high = min(slider.min, value), max(slider.max, value)
        if (low, high) != (slider.min, slider.max):
            slider.min, slider.max = low, high
        self._show(slider, value)

    # -- joints and target ---------------------------------------------------------------------------

    def set_joints(self, names: Sequence[str], low: Array, high: Array, lengths: Collection[str] = ()) -> None:
        """Offer a slider for each joint, between its limits [rad]; for those whose value is a length, in [m]."""
        for slider in self.joints.values():
            slider.remove()
        self.joints = {}
        with self._joint_folder:
            for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True):
                a, b = slider_ends(a, b)  # noqa: PLW2901
                label = f"{name} [m]" if name in lengths else name
                self.joints[name] = slider = self._gui.add_slider(label, a, b, 0.001, min(max(0.0, a), b))
                self._on(slider, lambda n=name, s=slider: self._wishes.put("joint", n, float(s.value)))

    def show_joints(self, values: Mapping[str, float], fixed: bool) -> None:
        """Let the sliders follow the arm; ``fixed`` where somebody else moves it."""
        for name, slider in self.joints.items():
            if slider.disabled is not fixed:
                slider.disabled = fixed
            value = float(np.clip(values[name], slider.min, slider.max))
            if fixed and abs(slider.value - value) > 2e-3:
                slider.value = round(value, 3)

    def show_target(self, X: Pose) -> None:
        """Show where the target is."""
        self._X_WT = X
        if time.monotonic() >= self._target_held:
            self._show(self._target, tuple(np.round(X.p, 4).tolist()))

    def _on_target(self) -> None:
        p = np.array(self._target.value, dtype=float)
        if self._X_WT is not None and np.isfinite(p).all():
            self._target_held = time.monotonic() + HELD
            self._wishes.put("target", "target", Pose(self._X_WT.R, p))

    # -- gains ---------------------------------------------------------------------------------------

    def set_gains(self, node: str, gains: Mapping[str, tuple[float, Spec | None]]) -> None:
        """Offer a slider for each gain of a node: its value, and what is known of it."""
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
                step, hint = (high - low) / STEPS, str(spec) if spec is not None else None
                self.gains[name] = slider = self._gui.add_slider(label, low, high, step, value, hint=hint)
                self._on(slider, lambda n=name, s=slider: self._wishes.put("gain", n, float(s.value)))

    def show_gain(self, name: str, value: float) -> None:
        """Show what a gain is now."""
        slider = self.gains.get(name)
        if slider is not None:
            self._show_wider(slider, value)


def _row(name: str, line: Line) -> str:
    """A row of the status as a table."""
    words, figure = html.escape(line.words), html.escape(line.figure)
    look = f"{LOOKS[line.level]};padding:1px 6px;border-radius:3px" if line.level else "padding:1px 6px"
    return (
        f"<tr><td style='color:#777;padding-right:6px;vertical-align:top'>{html.escape(name)}</td>"
        f"<td style='{look}'>{words} <span style='font-weight:400'>{figure}</span></td></tr>"
    )


def slider_ends(low: float, high: float) -> tuple[float, float]:
    """Between which values a joint's slider goes: its limits, in whole steps, and not farther than a turn from zero.

    Examples
    --------
    >>> slider_ends(-math.pi, math.inf)
    (-3.141, 6.283)
    """
    a, b = math.ceil(1e3 * max(low, -TURN)) / 1e3, math.floor(1e3 * min(high, TURN)) / 1e3
    return (a, b) if a < b else (low, high)


def slider_range(value: float, spec: Spec | None) -> tuple[float, float]:
    """Between which values a gain's slider goes: its bounds, or four times what it is.

    Examples
    --------
    >>> slider_range(200.0, Spec("stiffness", lower=0.001)), slider_range(0.5, Spec("share", lower=0.0, upper=1.0))
    ((0.001, 800.0), (0.0, 1.0))
    """
    lower, upper = (None, None) if spec is None else (spec.lower, spec.upper)
    low = lower if lower is not None else min(0.0, 4.0 * value)
    high = upper if upper is not None else (4.0 * value if value > low else low + 1.0)
    return float(min(low, value)), float(max(high, value))
