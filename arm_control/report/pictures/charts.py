"""Charts of a run, and all its pictures in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arm_control.control import OscParameters
from arm_control.gate import GateParameters
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import TargetList
from arm_control.report.figures import linear_angular_norms, torque_rates
from arm_control.report.pictures.animation import draw_animation
from arm_control.report.pictures.sketch import draw_path
from arm_control.report.pictures.style import (
    BLUE,
    DASHES,
    GREY,
    INK,
    JOINT_COLOURS,
    joint_colour,
    legend_below,
    limit,
    log_axis,
    moments,
    new_figure,
    style,
    time_axis,
)
from arm_control.simulation import MotionRecord, Recording, motion_record

LOWEST = 1e-4
"""Where a logarithmic axis ends, as a share of the tolerance or limit it shows."""
BINS = 2000
"""Columns of a chart in which the largest value stands for all: no peak is lost."""
MAX_SAMPLES = 25_000
"""States a picture is drawn from; of a longer recording every second, third ... one is taken."""


def draw_report(
    folder: Path,
    recording: Recording,
    model: RobotModel,
    targets: TargetList,
    osc: OscParameters | None,
    gate: GateParameters,
) -> list[Path]:
    """Write the record and the pictures of a run.

    Parameters
    ----------
    folder : Path
        Folder of the files; made when it does not exist.
    osc : OscParameters or None
        Speed limits; None for a controller without them.

    Returns
    -------
    list of Path
        ``recording.npz``, ``tracking.png``, ``torque.png``, ``path.png``, ``arm.gif``; with wrenches ``force.png``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = ("recording.npz", "tracking.png", "torque.png", "path.png", "arm.gif")
    file, tracking, torque, path, gif = paths = [folder / name for name in names]
    record = motion_record(recording, model, MAX_SAMPLES)
    recording.save(str(file))
    draw_tracking(tracking, record, targets, osc)
    draw_torque(torque, recording, model, gate)
    draw_path(path, record, model)
    draw_animation(gif, record, model)
    if recording.wrenches:
        paths.append(folder / "force.png")
        draw_force(paths[-1], recording)
    return paths


def draw_tracking(path: Path, record: MotionRecord, targets: TargetList, osc: OscParameters | None) -> None:
    """Draw errors against tolerances, and speeds against limits, over time."""
    figure = new_figure(12.0, 6.4)
    (position, orientation), (speed, angular) = figure.subplots(2, 2, sharex=True)
    degrees = np.degrees(targets.orientation_tolerance)
    (distances, angles), (speeds, angular_speeds) = map(linear_angular_norms, (record.error, record.V))
    error_chart(position, record, 1e3 * distances, 1e3 * targets.position_tolerance, targets.period)
    error_chart(orientation, record, np.degrees(angles), float(degrees), targets.period)
    style(position, "Position error", ylabel="error [mm]")
    style(orientation, "Orientation error", ylabel="error [deg]")
    _speed(speed, record, speeds, osc.speed_limit_linear if osc else None)
    _speed(angular, record, angular_speeds, osc.speed_limit_angular if osc else None)
    style(speed, "Speed of the end effector", "time [s]", "speed [m/s]")
    style(angular, "Angular speed of the end effector", "time [s]", "angular speed [rad/s]")
    legend_below(figure, [position], most=4)
    figure.savefig(path)


def draw_torque(path: Path, recording: Recording, model: RobotModel, gate: GateParameters) -> None:
    """Draw every joint's torque as a share of its limit, how fast it changes, and the extremes of both."""
    figure = new_figure(12.0, 6.4)
    (shares, extremes), (rates, peaks) = figure.subplots(2, 2, width_ratios=(3, 1))
    torque_chart(shares, recording, model)
    style(shares, "Commanded torque, share of the joint's limit", ylabel="torque / limit")
    _torque_rates(rates, recording, gate)
    style(rates, "Change of torque, the joint that changes most", ylabel="change [N m/ms]")
    for axes in (shares, rates):
        moments(axes, recording.target_times, "new target")
        time_axis(axes, recording.duration)
    share = recording.tau / model.tau_max if len(recording.tau) else np.zeros((1, model.nv))
    _bars(extremes, model, share.min(axis=0), share.max(axis=0), (-1.0, 1.0))
    style(extremes, "Its range", "torque / limit")
    change = 1e-3 * torque_rates(recording).max(axis=0, initial=0.0)
    _bars(peaks, model, np.zeros(model.nv), change, (1e-3 * gate.rate_limit,))
    style(peaks, "Largest change", "change [N m/ms]")
    legend_below(figure, [shares, rates], most=model.nv + 2)
    figure.savefig(path)


def draw_force(path: Path, recording: Recording) -> None:
    """Draw force and moment of the hand over time: estimated by the disturbance observer, and commanded."""
    figure = new_figure(12.0, 4.8)
    force, moment = figure.subplots(2, 1, sharex=True)
    start_ns = int(recording.state_stamps[0]) if recording.state_stamps.size else 0
    for colour, (name, series) in zip((BLUE, GREY), recording.wrenches.items(), strict=False):
        t = 1e-9 * (series.stamps - start_ns)
        for axes, columns in ((force, slice(0, 3)), (moment, slice(3, 6))):
            size = np.linalg.norm(series.values[:, columns], axis=1)
            axes.plot(t, size, color=colour, linewidth=1.2, label=name.replace("_", " "))
    for axes in (force, moment):
        moments(axes, recording.target_times, "new target")
        time_axis(axes, recording.duration)
    style(force, "Force of the hand", ylabel="force [N]")
    style(moment, "Moment of the hand", "time [s]", "moment [N m]")
    legend_below(figure, [force], most=3)
    figure.savefig(path)


def _bars(axes: Any, model: RobotModel, low: Array, high: Array, limits: tuple[float, ...]) -> None:
    """A bar per joint from its smallest to its largest value; limits as dashed lines."""
    rows = np.arange(model.nv)
    axes.barh(rows, high - low, left=low, height=0.62, color=[*map(joint_colour, range(model.nv))])
    axes.set_yticks(rows, [name.removesuffix("_joint") for name in model.joint_names])
    axes.invert_yaxis()
    for value in limits:
        axes.axvline(value, color=INK, linewidth=1.3, linestyle=DASHES)
    axes.axvline(0.0, color=GREY, linewidth=0.8)


def error_chart(axes: Any, record: MotionRecord, error: Array, tolerance: float, period: float) -> None:
    """Draw an error on a logarithmic axis; dots where a period ends and the report judges it."""
    lowest = LOWEST * tolerance
    moments(axes, record.target_times, "new target")
    limit(axes, tolerance, "tolerance, limit")
    axes.plot(record.t, np.maximum(error, 1e-3 * lowest), color=BLUE, linewidth=1.5)
    ends = record.target_times + period
    at_ends = record.at(ends[ends <= record.t[-1] + 1e-9] - 2e-3)
    dots = {"marker": "o", "markersize": 6, "markeredgecolor": "white", "color": INK, "linestyle": ""}
    label = "end of period"
    if at_ends.size:  # an empty line that is not clipped upsets the layout
        axes.plot(record.t[at_ends], np.maximum(error[at_ends], lowest), label=label, zorder=4, clip_on=False, **dots)
    log_axis(axes, lowest, max(tolerance, float(np.nan_to_num(error).max())))
    time_axis(axes, float(record.t[-1]), "")


def _speed(axes: Any, record: MotionRecord, values: Array, most: float | None) -> None:
    moments(axes, record.target_times)
    if most is not None:
        limit(axes, most)
    axes.plot(record.t, values, color=BLUE, linewidth=1.5)
    axes.set_ylim(0.0, 1.15 * max(most or 0.0, float(values.max())))
    time_axis(axes, float(record.t[-1]))


def torque_chart(axes: Any, recording: Recording, model: RobotModel) -> None:
    """Draw a line per joint; the limits are within sight only when the torque comes near them."""
    seconds = _seconds(recording)
    stride = max(1, len(seconds) // 10_000)
    for i, name in enumerate(model.joint_names):
        share, label = recording.tau[::stride, i] / model.tau_max[i], name.removesuffix("_joint")
        dashes = "-" if i < len(JOINT_COLOURS) else "--"
        axes.plot(seconds[::stride], share, dashes, color=joint_colour(i), linewidth=1.5, label=label)
    low, high = axes.get_ylim()
    limit(axes, 1.0)
    limit(axes, -1.0)
    axes.set_ylim(max(low, -1.1), min(high, 1.1))


def _torque_rates(axes: Any, recording: Recording, gate: GateParameters) -> None:
    seconds, rate = _seconds(recording)[1:], 1e-3 * torque_rates(recording).max(axis=1)
    if len(seconds):
        first = np.arange(0, len(rate), max(1, len(rate) // BINS))
        seconds, rate = seconds[first], np.maximum.reduceat(rate, first)
    most = 1e-3 * gate.rate_limit
    axes.plot(seconds, np.maximum(rate, 1e-3 * LOWEST * most), color=BLUE, linewidth=1.3)
    limit(axes, most, "limit")
    log_axis(axes, LOWEST * most, max(most, float(rate.max(initial=0.0))))


def _seconds(recording: Recording) -> Array:
    """Time of each command since the first state [s]."""
    return (recording.command_stamps - recording.state_stamps[0]) * 1e-9
