"""Report on a bag: one HTML page without scripts, and PNG files beside it.

Every section is there as far as the recording, and what is known of its arm, allow; the page says what is missing. All
text from a bag is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

import numpy as np

from arm_control.bags import (
    Bag,
    Commands,
    JointSeries,
    ReplayOptions,
    arm_of,
    controller_of,
    recorded_commands,
    require_states,
    scenario_of,
)
from arm_control.control import TERM_WORDS
from arm_control.controllers import OscLoopParameters
from arm_control.exceptions import ArmControlError, BagError
from arm_control.maths import Array
from arm_control.messages import nanoseconds
from arm_control.model import RobotModel
from arm_control.report import bag_figures
from arm_control.report.bag_figures import WINDOW, inverse_dynamics, summary
from arm_control.report.figures import make_report
from arm_control.report.html_page import Section, page
from arm_control.report.pictures import bag_charts

MILLI = 1e3
YEAR_2000_NS = 946_684_800 * 10**9
"""Times before it are those of a simulation [ns]."""
MOST_LINES = 50
"""Lines of the log that are shown."""
LEVELS = {30: "warning", 40: "error", 50: "fatal"}
"""Levels of rcl_interfaces/Log that are shown."""
AS_RECORDED = "[as recorded]"
"""Unit of an effort, which is motor current on many arms."""


@dataclass
class _Draft:
    """A report that is being written; times count from its first state."""

    bag: Bag
    folder: Path
    series: JointSeries
    model: RobotModel | None
    options: ReplayOptions
    sections: list[Section] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    verdict: str = "No targets to judge"

    @cached_property
    def commands(self) -> Commands | None:
        """Commands; None where the arm is unknown or there are none."""
        commands = None if self.model is None else recorded_commands(self.bag, self.model).once()
        return commands if commands is not None and len(commands.stamps) else None

    @cached_property
    def torque(self) -> tuple[Array, str, str]:
        """Torque of each state, its name and its unit: the commanded torque, or else the recorded effort."""
        if self.model is not None and self.commands is not None:
            return bag_figures.commanded_torque(self.series, self.commands, self.model), "commanded torque", "[N m]"
        return self.series.effort, "recorded effort", AS_RECORDED

    def picture(self, name: str) -> Path:
        self.written.append(self.folder / name)
        return self.written[-1]

    def add(self, title: str, text: str = "", table: Sequence[Sequence[str]] = (), image: str = "") -> None:
        self.sections.append(Section(title, text, tuple(map(tuple, table)), image))


def write_report(bag: Bag, folder: Path, options: ReplayOptions, topic: str = "joint_states") -> list[Path]:
    """Write the page and its pictures.

    Parameters
    ----------
    folder : Path
        Folder of the page; made when it does not exist.

    Returns
    -------
    list of Path
        The written files, the page first.

    Raises
    ------
    BagError
        When the bag has no joint states that can be read, or the folder cannot be written.
    """
    everything = require_states(bag, topic)
    series = everything.increasing()
    model, reason = _arm(bag, options, series)
    draft = _Draft(bag, folder, series, model, options)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _written(draft, everything, reason)
    except OSError as error:
        raise BagError(f"{folder} cannot be written: {error.strerror}") from None


def _written(draft: _Draft, everything: JointSeries, reason: str) -> list[Path]:
    bag, model = draft.bag, draft.model
    _add_joints(draft, everything)
    if model is None:
        draft.add("Without a model", f"Neither tracking nor the model's torque is shown: {reason}")
    else:
        _add_figures(draft)
        _add_task(draft, model)
    _add_torque(draft)
    if model is not None:
        _add_dynamics(draft, model)
    _add_timing(draft)
    _add_power(draft)
    _add_log(draft)
    _add_contents(draft)
    path = draft.folder / "index.html"
    text = page(f"Report on {bag.path.resolve().name}", _head(bag, draft.series), draft.sections, _verdict(draft))
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # a bag can name what is no text
    return [path, *draft.written]


def _arm(bag: Bag, options: ReplayOptions, series: JointSeries) -> tuple[RobotModel | None, str]:
    """The arm, or the reason why there is none; an arm of the command line must be usable."""
    try:
        model = arm_of(bag, options, series.names)
        if np.isnan(series.of(model, "position")).any():
            raise BagError("there are states without positions")
    except ArmControlError as error:
        if options.urdf or options.scenario or options.controller:
            raise
        return None, str(error)
    return model, ""


def _head(bag: Bag, series: JointSeries) -> list[tuple[str, str]]:
    begin_ns = bag.messages[0].log_ns
    begin = datetime.fromtimestamp(begin_ns // 10**9, tz=timezone.utc)
    facts = [("begun", f"{begin:%Y-%m-%d %H:%M:%S} UTC")] if begin_ns > YEAR_2000_NS else []
    facts += [("times", f"since the first state, which has the stamp {_stamp(series.times[0])}")]
    facts += [("duration", f"{bag.duration:.3f} s"), ("messages", str(len(bag.messages))), ("storage", bag.storage)]
    facts += [("joints", ", ".join(series.names)), *(fact for fact in sorted(bag.custom.items()) if fact[1])]
    return facts + [("damage", text) for text in bag.damage]


def _stamp(ns: int) -> str:
    """A stamp in seconds, digit by digit."""
    return f"{ns // 10**9}.{ns % 10**9:09d} s"


def _verdict(draft: _Draft) -> str:
    """The report in one line."""
    torque, limits = draft.torque[0], _limits(draft)
    parts = [draft.verdict]
    if limits is not None and draft.commands is not None and np.isfinite(limits).any():
        parts.append(f"largest torque {100 * np.nanmax(np.abs(torque) / limits):.0f} % of a limit")
    n_malformed = sum(draft.bag.malformed.values())
    parts += [f"{n_malformed} messages malformed"] if n_malformed else []
    return "; ".join([*parts, *(["the bag is damaged"] if draft.bag.damage else [])]) + "."


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
        bag_charts.draw_lines(draft.picture("joints.png"), s.t, there, s.names)
    text = f"{len(s.stamps)} states of {len(s.names)} joints in {s.t[-1]:.3f} s."
    if s.times is s.log:
        text += " Their stamps are all the same: time is when they were written."
    if n_again:
        text += f" {n_again} came again, as while an arm is paused."
    if n_older:
        text += f" {n_older} more are left out, since they are not newer than all before: did time start over?"
    if np.isnan(s.velocity).all():
        text += " No velocities were recorded."
    if len(s.names) > bag_charts.MOST:
        text += f" Charts show the first {bag_charts.MOST} joints."
    draft.add("Joints", text, image="joints.png" if there else "")


def _add_figures(draft: _Draft) -> None:
    """The figures of ``arm_control run``, where the scenario has targets and its controller is known."""
    scenario = scenario_of(draft.bag, draft.options)
    targets = scenario.targets() if scenario is not None else None
    if targets is None or draft.commands is None:
        return
    model, parameters = controller_of(draft.bag, draft.options)
    recording = bag_figures.recording_of(draft.bag, draft.series, draft.commands, model)
    if recording.targets:
        osc = parameters.control.law if isinstance(parameters, OscLoopParameters) else None
        report = make_report(recording, model, targets, osc, parameters.gate)
        rows = [("figure", "value", "allowed", "")]
        for f in (figure for figure in report.figures if np.isfinite(figure.value)):
            verdict = "ok" if f.kept else "missed" if f.required else "over"
            rows.append((f.text, f"{f.value:.4g} {f.unit}", f"{f.allowed:.4g}", verdict))
        missed = [str(reach.number) for reach in report.reaches if not reach.is_reached]
        if report.reaches:
            draft.verdict = f"Targets missed: {', '.join(missed)}" if missed else "Every target was reached"
        text = f"{len(report.reaches)} targets had their whole time within the recording."
        draft.add("Figures", text, rows)


def _add_task(draft: _Draft, model: RobotModel) -> None:
    motion = bag_figures.task(draft.bag, draft.series, model)
    rows: dict[str, tuple[Array, str]] = {}
    if not np.isnan(motion.position_error).all():
        rows["Distance to where the end effector should be"] = MILLI * motion.position_error, "[mm]"
        rows["Angle to how it should be turned"] = np.degrees(motion.orientation_error), "[deg]"
    if np.isfinite(motion.distance).any():
        rows["Distance to the nearest obstacle"] = MILLI * motion.distance, "[mm]"
    rows["Condition number of the Jacobian"] = motion.condition, ""
    bag_charts.draw_lines(draft.picture("tracking.png"), motion.t, rows, goal_times=motion.goal_times)
    text = f"{len(motion.goal_times)} targets or motions; end effector {model.tip}." if len(rows) > 1 else ""
    draft.add("Tracking, conditioning, distances", text, image="tracking.png")
    bag_charts.draw_path(draft.picture("path.png"), motion.p, motion.p_des)
    draft.add("Path", image="path.png")


def _limits(draft: _Draft) -> Array | None:
    """Torque limit of each recorded joint; NaN where the model has none."""
    if draft.model is None:
        return None
    known = dict(zip(draft.model.joint_names, draft.model.tau_max.tolist(), strict=True))
    return np.array([known.get(name, np.nan) for name in draft.series.names])


def _add_torque(draft: _Draft) -> None:
    torque, torque_name, unit = draft.torque
    if np.isnan(torque).all():
        draft.add("Torque", "No torque was recorded.")
        return
    names, t0 = draft.series.names, draft.series.times[0]
    terms = {}
    for term, series in bag_figures.torque_terms(draft.bag).items():
        if set(names) <= set(series.names):
            columns = [series.names.index(name) for name in names]
            terms[TERM_WORDS.get(term, term)] = ((series.times - t0) * 1e-9, series.effort[:, columns])
    limits = _limits(draft)
    bag_charts.draw_torque(draft.picture("torque.png"), draft.series.t, torque, names, limits, terms, unit)
    largest = np.nanmax(np.abs(torque), axis=0)
    rows: list[tuple[str, ...]] = [("joint", "largest", "limit", "share")]
    for i, name in enumerate(names):
        bound = np.nan if limits is None else limits[i]
        cells = (f"{bound:.4g}", f"{100 * largest[i] / bound:.1f} %") if np.isfinite(bound) else ("-", "-")
        rows.append((name, f"{largest[i]:.4g}", *cells))
    draft.add("Torque", f"The {torque_name}{', with the terms it is made of' if terms else ''}.", rows, "torque.png")


def _add_dynamics(draft: _Draft, model: RobotModel) -> None:
    try:
        tau, gravity = inverse_dynamics(draft.series, model)
    except BagError as error:
        draft.add("Model", str(error))
        return
    effort = draft.series.of(model, "effort")
    rows = {"Torque by the model": (tau, "[N m]"), "Recorded effort": (effort, AS_RECORDED)}
    there = {title: row for title, row in rows.items() if not np.isnan(row[0]).all()}
    bag_charts.draw_lines(draft.picture("model.png"), draft.series.t, there, model.joint_names)
    text = f"Inverse dynamics; accelerations are slopes of lines fitted to the velocities within {WINDOW:g} s."
    draft.add("Model", text, summary(draft.series, model, tau, gravity), "model.png")


def _add_timing(draft: _Draft) -> None:
    t, written, stamped, all_answers = bag_figures.timing(draft.bag, draft.series)
    if not len(t):
        return
    steps = {"as written": written, "by stamps": stamped}
    steps = {name: values for name, values in steps.items() if values.any()}
    answers = all_answers if all_answers.any() else all_answers[:0]
    bag_charts.draw_timing(draft.picture("timing.png"), t, steps, answers)
    rows: list[tuple[str, ...]] = [("time [ms]", "median", "99 %", "largest", "standard deviation")]
    parts = {f"between states, {name}": values for name, values in steps.items()}
    for name, values in {**parts, "from a state to its command": answers}.items():
        if len(values):
            x = MILLI * values
            numbers = (np.median(x), np.quantile(x, 0.99), x.max(), x.std())
            rows.append((name, *map(_number, numbers)))
    text = "" if len(answers) or not len(all_answers) else "Simulated: commands have the times of their states."
    draft.add("Rate and jitter", text, rows, "timing.png")


def _add_power(draft: _Draft) -> None:
    torque, torque_name, unit = draft.torque
    if np.isnan(torque).all() or np.isnan(draft.series.velocity).all():
        return
    watts, energy = bag_figures.power(draft.series, torque)
    charts = {"Power of each joint": (watts, "[W]")}
    bag_charts.draw_lines(draft.picture("power.png"), draft.series.t, charts, draft.series.names)
    text = (
        f"Torque ({torque_name}) times speed. Largest sum of all joints {np.abs(watts.sum(axis=1)).max():.4g} W;"
        f" work until the end {energy[-1]:.4g} J, at most {energy.max():.4g} J."
    )
    if unit == AS_RECORDED:
        text += " That holds where the effort is a torque; on many arms it is motor current."
    draft.add("Power", text, image="power.png")


def _add_contents(draft: _Draft) -> None:
    rows = topic_table(draft.bag)
    causes = "; ".join(f"{name}: {cause} ({n})" for (name, cause), n in draft.bag.malformed.items())
    draft.add("What is in the bag", f"Malformed: {causes}." if causes else "", rows)


def topic_table(bag: Bag) -> list[tuple[str, ...]]:
    """Return a row for each topic, below the names of the columns.

    The rate is the median by the times at which messages were written. Stamps that are 0 count where there are several;
    an increasing stamp is later than that of the message before.
    """
    head = ("topic", "type", "messages", "rate [Hz]", "longest gap [s]", "stamps 0", "not increasing", "malformed", "")
    rows: list[tuple[str, ...]] = [head]
    logs: dict[int, list[int]] = {id(topic): [] for topic in bag.topics}
    stamps: dict[int, list[int]] = {id(topic): [] for topic in bag.topics}
    for message in bag.messages:
        logs[id(message.topic)].append(message.log_ns)
    for message, content in bag.read(*bag.topics):
        if (header := getattr(content, "header", None)) is not None:
            stamps[id(message.topic)].append(nanoseconds(header.stamp))
    for topic in bag.topics:
        log, of_headers = logs[id(topic)], stamps[id(topic)]
        steps = np.diff(np.array(log, dtype=np.int64)) * 1e-9
        median = float(np.median(steps)) if len(steps) else 0.0
        rate = 1.0 / median if median > 0.0 else float("nan")
        n_zero = of_headers.count(0)
        n_not_increasing = int((np.diff(np.array(of_headers, dtype=np.int64)) <= 0).sum())
        n_malformed = sum(count for (name, _), count in bag.malformed.items() if name == topic.name)
        counts = (n_zero if n_zero > 1 else 0, n_not_increasing, n_malformed)
        note = topic.error or ("latched" if topic.latched else "")
        times = _number(rate), _number(float(steps.max(initial=0.0)))
        rows.append((topic.name, topic.type_name, str(len(log)), *times, *map(str, counts), note))
    return rows


def _add_log(draft: _Draft) -> None:
    """Warnings and errors of the nodes, where /rosout was recorded."""
    first_ns, rows = int(draft.series.log[0]), [("time [s]", "level", "node", "what it says")]
    for _, log_ns, line in draft.bag.contents("rosout"):
        if level := LEVELS.get(int(line.level)):
            rows.append((f"{(log_ns - first_ns) * 1e-9:.3f}", level, str(line.name), str(line.msg)))
    if len(rows) > 1:
        more = f" The first {MOST_LINES} of {len(rows) - 1} lines." if len(rows) > MOST_LINES + 1 else ""
        draft.add("Log", f"Warnings and errors.{more}", rows[: MOST_LINES + 1])


def _number(x: float) -> str:
    """Four significant digits; an exponent only for large numbers."""
    return "-" if np.isnan(x) else f"{x:.0f}" if 1e4 <= abs(x) < 1e9 else f"{x:.4g}"
