"""A page about a bag, with pictures: one HTML file that needs no script, and PNGs beside it.

Every section is there as far as the recording, and what is known of its arm, allow; what is missing is said. Nothing
from a bag reaches the page unescaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

import numpy as np

from arm_control.control.loop import OscLoopParameters
from arm_control.exceptions import ArmControlError, BagError
from arm_control.maths.poses import Array
from arm_control.messages.bags.bag import Bag, JointSeries, joint_series, require_states
from arm_control.messages.bags.replay import Commands, recorded_commands
from arm_control.messages.bags.replay_setup import ReplayOptions, arm_of, controller_of, scenario_of
from arm_control.model import RobotModel
from arm_control.report import bag_figures as analysis
from arm_control.report.html_page import Section, page
from arm_control.report.inverse_dynamics import WINDOW, inverse_dynamics, summary
from arm_control.report.pictures import bag_charts as pictures
from arm_control.report.run_figures import make_report

MILLI = 1e3
MILLENNIUM_NS = 946_684_800 * 10**9
"""The year 2000: times of before are those of a simulation [ns]."""
AS_RECORDED = "[as recorded]"
"""Unit of an effort, which is motor current on many arms."""


@dataclass
class _Draft:
    """What is being written: where, what of, and what it has become so far."""

    bag: Bag
    folder: Path
    series: JointSeries
    model: RobotModel | None
    choice: ReplayOptions
    sections: list[Section] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)

    @cached_property
    def commands(self) -> Commands | None:
        """Commanded torque, where the arm is known and there is any."""
        commands = None if self.model is None else recorded_commands(self.bag, self.model).once()
        return commands if commands is not None and len(commands.stamps) else None

    @cached_property
    def torque(self) -> tuple[Array, str, str]:
        """Torque of each state, what it is, and its unit: what was commanded, or else what was measured."""
        if self.model is not None and self.commands is not None:
            return analysis.commanded_torque(self.series, self.commands, self.model), "commanded torque", "[N m]"
        return self.series.effort, "recorded effort", AS_RECORDED

    def picture(self, name: str) -> Path:
        self.written.append(self.folder / name)
        return self.written[-1]

    def add(self, title: str, text: str = "", table: Sequence[Sequence[str]] = (), image: str = "") -> None:
        self.sections.append(Section(title, text, tuple(map(tuple, table)), image))


def write_report(bag: Bag, folder: Path, choice: ReplayOptions, topic: str = "joint_states") -> list[Path]:
    """Write the page and its pictures.

    Parameters
    ----------
    bag : Bag
        The recording.
    folder : Path
        Where to; made when it does not exist.
    choice : ReplayOptions
        What is known of the arm.
    topic : str
        Where the joints are.

    Returns
    -------
    list of Path
        The files that were written, the page first.

    Raises
    ------
    BagError
        When the bag has no joint states that can be read, or the folder cannot be written.
    """
    everything = require_states(joint_series(bag, topic), topic, bag)
    series = everything.increasing()
    model, why = _arm(bag, choice, series)
    draft = _Draft(bag, folder, series, model, choice)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _written(draft, everything, why)
    except OSError as error:
        raise BagError(f"{folder} cannot be written: {error.strerror}") from None


def _written(draft: _Draft, everything: JointSeries, why: str) -> list[Path]:
    bag, model = draft.bag, draft.model
    _add_joints(draft, everything)
    if model is None:
        draft.add("Without a model", f"Neither tracking nor the model's torque is shown: {why}")
    else:
        _add_figures(draft)
        _add_task(draft, model)
    _add_torque(draft)
    if model is not None:
        _add_dynamics(draft, model)
    _add_timing(draft)
    _add_power(draft)
    _add_contents(draft)
    path = draft.folder / "index.html"
    text = page(f"Report on {bag.path.resolve().name}", _head(bag, draft.series), draft.sections)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # a bag can name what is no text
    return [path, *draft.written]


def _arm(bag: Bag, choice: ReplayOptions, series: JointSeries) -> tuple[RobotModel | None, str]:
    """The arm, or why there is none. What the command line asks for must be there."""
    try:
        model = arm_of(bag, choice, series.names)
        if np.isnan(series.of(model, "position")).any():
            raise BagError("there are states without positions")
    except ArmControlError as error:
        if choice.urdf or choice.scenario or choice.controller:
            raise
        return None, str(error)
    return model, ""


def _head(bag: Bag, series: JointSeries) -> list[tuple[str, str]]:
    begin_ns = bag.messages[0].log_ns
    begin = datetime.fromtimestamp(begin_ns // 10**9, tz=timezone.utc)
    facts = [("begun", f"{begin:%Y-%m-%d %H:%M:%S} UTC")] if begin_ns > MILLENNIUM_NS else []
    facts += [("duration", f"{bag.duration:.3f} s"), ("messages", str(len(bag.messages))), ("storage", bag.storage)]
    facts += [("joints", ", ".join(series.names)), *(fact for fact in sorted(bag.custom.items()) if fact[1])]
    return facts + [("damage", text) for text in bag.damage]


def _add_joints(draft: _Draft, everything: JointSeries) -> None:
    s, times = draft.series, everything.times
    n_again = int((np.diff(times) == 0).sum())
    n_older = len(times) - len(s.times) - n_again
    moved = s.position - s.position[0]
    rows = {
        "Joint positions, from where they were first": (moved, "[rad or m]"),
        "Joint velocities": (s.velocity, "[rad/s or m/s]"),
    }
    there = {title: row for title, row in rows.items() if not np.isnan(row[0]).all()}
    if there:
        pictures.draw_lines(draft.picture("joints.png"), s.t, there, s.names)
    text = f"{len(s.stamps)} states of {len(s.names)} joints in {s.t[-1]:.3f} s."
    if s.times is s.log:
        text += " Their stamps are all the same: time is when they were written."
    if n_again:
        text += f" {n_again} came again, as while an arm is paused."
    if n_older:
        text += f" {n_older} more are left out, since they are not newer than all before: did time start over?"
    if np.isnan(s.velocity).all():
        text += " No velocities were recorded."
    if len(s.names) > pictures.MOST:
        text += f" Charts show the first {pictures.MOST} joints."
    draft.add("Joints", text, image="joints.png" if there else "")


def _add_figures(draft: _Draft) -> None:
    """The figures of ``arm_control run``, where the scenario has targets and its controller is known."""
    scenario = scenario_of(draft.bag, draft.choice)
    targets = scenario.targets() if scenario is not None else None
    if targets is None or draft.commands is None:
        return
    model, parameters = controller_of(draft.bag, draft.choice)
    recording = analysis.recording_of(draft.bag, draft.series, draft.commands, model)
    if recording.targets:
        osc = parameters.control.law if isinstance(parameters, OscLoopParameters) else None
        report = make_report(recording, model, targets, osc, parameters.gate)
        rows = [("figure", "value", "allowed", "")]
        for f in (figure for figure in report.figures if np.isfinite(figure.value)):
            verdict = "ok" if f.kept else "missed" if f.required else "over"
            rows.append((f.text, f"{f.value:.4g} {f.unit}", f"{f.allowed:.4g}", verdict))
        text = f"{len(report.reaches)} targets had their whole time within the recording."
        draft.add("Figures", text, rows)


def _add_task(draft: _Draft, model: RobotModel) -> None:
    done = analysis.task(draft.bag, draft.series, model)
    rows: dict[str, tuple[Array, str]] = {}
    if not np.isnan(done.position_error).all():
        rows["Distance to where the end effector should be"] = MILLI * done.position_error, "[mm]"
        rows["Angle to how it should be turned"] = np.degrees(done.orientation_error), "[deg]"
    if np.isfinite(done.distance).any():
        rows["Distance to the nearest obstacle"] = MILLI * done.distance, "[mm]"
    rows["Condition number of the Jacobian"] = done.condition, ""
    pictures.draw_task(draft.picture("tracking.png"), done.t, rows, done.goal_times)
    text = f"{len(done.goal_times)} targets or motions; end effector {model.tip}." if len(rows) > 1 else ""
    draft.add("Tracking, conditioning, distances", text, image="tracking.png")
    pictures.draw_path(draft.picture("path.png"), done.p, done.p_des)
    draft.add("Path", image="path.png")


def _limits(draft: _Draft) -> Array | None:
    """Torque limit of each recorded joint; NaN where the model has none."""
    if draft.model is None:
        return None
    known = dict(zip(draft.model.joint_names, draft.model.tau_max.tolist(), strict=True))
    return np.array([known.get(name, np.nan) for name in draft.series.names])


def _add_torque(draft: _Draft) -> None:
    torque, what, unit = draft.torque
    if np.isnan(torque).all():
        draft.add("Torque", "No torque was recorded.")
        return
    names, t0 = draft.series.names, draft.series.times[0]
    terms = {}
    for term, series in analysis.torque_terms(draft.bag).items():
        if set(names) <= set(series.names):
            columns = [series.names.index(name) for name in names]
            terms[term] = ((series.times - t0) * 1e-9, series.effort[:, columns])
    limits = _limits(draft)
    pictures.draw_torque(draft.picture("torque.png"), draft.series.t, torque, names, limits, terms, unit)
    largest = np.nanmax(np.abs(torque), axis=0)
    rows: list[tuple[str, ...]] = [("joint", "largest", "limit", "share")]
    for i, name in enumerate(names):
        bound = np.nan if limits is None else limits[i]
        cells = (f"{bound:.4g}", f"{100 * largest[i] / bound:.1f} %") if np.isfinite(bound) else ("-", "-")
        rows.append((name, f"{largest[i]:.4g}", *cells))
    draft.add("Torque", f"The {what}{', with the terms it is made of' if terms else ''}.", rows, "torque.png")


def _add_dynamics(draft: _Draft, model: RobotModel) -> None:
    try:
        found = inverse_dynamics(draft.series, model)
    except BagError as error:
        draft.add("Model", str(error))
        return
    rows = {"Torque by the model": (found.tau, "[N m]"), "Recorded effort": (found.effort, AS_RECORDED)}
    there = {title: row for title, row in rows.items() if not np.isnan(row[0]).all()}
    pictures.draw_lines(draft.picture("model.png"), found.t, there, model.joint_names)
    text = f"Inverse dynamics; accelerations are slopes of lines fitted to the velocities within {WINDOW:g} s."
    draft.add("Model", text, summary(found, model), "model.png")


def _add_timing(draft: _Draft) -> None:
    when = analysis.timing(draft.bag, draft.series)
    if not len(when.steps):
        return
    steps = {"as written": when.steps, "by stamps": when.stamp_steps}
    steps = {name: values for name, values in steps.items() if values.any()}
    answers = when.answers if when.answers.any() else when.answers[:0]
    pictures.draw_timing(draft.picture("timing.png"), when.t, steps, answers)
    rows: list[tuple[str, ...]] = [("time [ms]", "median", "99 %", "largest", "standard deviation")]
    parts = {f"between states, {name}": values for name, values in steps.items()}
    for name, values in {**parts, "from a state to its command": answers}.items():
        if len(values):
            x = MILLI * values
            numbers = (np.median(x), np.quantile(x, 0.99), x.max(), x.std())
            rows.append((name, *map(_number, numbers)))
    text = "" if len(answers) or not len(when.answers) else "Simulated: commands have the times of their states."
    draft.add("Rate and jitter", text, rows, "timing.png")


def _add_power(draft: _Draft) -> None:
    torque, what, unit = draft.torque
    if np.isnan(torque).all() or np.isnan(draft.series.velocity).all():
        return
    found = analysis.power(draft.series, torque)
    charts = {"Power of each joint": (found.power, "[W]")}
    pictures.draw_lines(draft.picture("power.png"), found.t, charts, draft.series.names)
    text = (
        f"Torque ({what}) times speed. Largest sum of all joints {np.abs(found.power.sum(axis=1)).max():.4g} W;"
        f" work until the end {found.energy[-1]:.4g} J, at most {found.energy.max():.4g} J."
    )
    if unit == AS_RECORDED:
        text += " That holds where the effort is a torque; on many arms it is motor current."
    draft.add("Power", text, image="power.png")


def _add_contents(draft: _Draft) -> None:
    head = ("topic", "type", "messages", "rate [Hz]", "longest gap [s]", "stamps 0", "not increasing", "malformed", "")
    rows = [head]
    for f in analysis.topic_figures(draft.bag):
        note = f.topic.error or ("latched" if f.topic.latched else "")
        counts = (str(f.no_stamp), str(f.not_increasing), str(f.malformed))
        rows.append((f.topic.name, f.topic.type_name, str(f.count), _number(f.rate), _number(f.gap), *counts, note))
    causes = "; ".join(f"{name}: {cause} ({n})" for (name, cause), n in draft.bag.malformed.items())
    draft.add("What is in the bag", f"Malformed: {causes}." if causes else "", rows)


def _number(x: float) -> str:
    """Four digits that count; no exponent where none is needed."""
    return "-" if np.isnan(x) else f"{x:.0f}" if 1e4 <= abs(x) < 1e9 else f"{x:.4g}"
