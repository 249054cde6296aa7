"""Draw the README's picture from the record of a run.

arm_control run ur5_osc --duration 20 --headless --report report
python examples/overview_picture.py report/recording.npz docs/pictures/ur5_osc.png
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.motion import Target, TargetList
from arm_control.report import new_figure, style, time_axis
from arm_control.report.figures import linear_angular_norms
from arm_control.report.pictures.animation import make_shots, render_or_sketch
from arm_control.report.pictures.charts import MAX_SAMPLES, error_chart, torque_chart
from arm_control.report.pictures.rendering import Frames
from arm_control.report.pictures.style import legend_below, moments
from arm_control.simulation import MotionRecord, Recording, Scenario, motion_record


def draw_overview(path: Path, recording: Recording, model: RobotModel, targets: TargetList) -> str:
    """Draw one wide picture: the arm with its path and targets, the errors, the torque.

    Returns
    -------
    str
        How the arm was drawn.
    """
    record = motion_record(recording, model, MAX_SAMPLES)
    figure = new_figure(12.0, 5.2)
    panels: Any = figure.subfigures(1, 2, width_ratios=(1.0, 1.12))
    left, right = panels
    photograph, message = _photograph(record, model)
    image = left.add_axes((0.0, 0.0, 1.0, 1.0))
    image.imshow(photograph, interpolation="antialiased")
    image.set_axis_off()
    errors, shares = right.subplots(2, 1)
    distances, _ = linear_angular_norms(record.error)
    error_chart(errors, record, 1e3 * distances, 1e3 * targets.position_tolerance, targets.period)
    style(errors, "Position error", ylabel="error [mm]")
    torque_chart(shares, recording, model)
    moments(shares, record.target_times)
    time_axis(shares, recording.duration)
    style(shares, "Torque, share of the joint's limit", ylabel="torque / limit")
    legend_below(right, [errors, shares], most=5)
    figure.savefig(path, dpi=100)
    return message


def _photograph(record: MotionRecord, model: RobotModel) -> tuple[Frames, str]:
    """The arm at the end of a period, translucent at two others, with all targets and the whole path."""
    ends = record.at(np.append(record.target_times[1:] - 2e-3, record.t[-1]))
    chosen = [ends[np.argmax(np.linalg.norm(record.p[ends], axis=1))]]
    for _ in range(2):  # each as far as can be from those before
        away = np.linalg.norm(record.p[ends][:, None] - record.p[chosen], axis=2).min(axis=1)
        chosen.append(ends[np.argmax(away)])
    shots = make_shots(record, np.array(chosen[:1]), (1180, 1000))
    n_trail_points = np.array([len(shots.trail)])
    visible = np.ones_like(shots.visible)
    shots = replace(shots, ghosts=record.q[chosen[1:]], triad=0.06, n_trail_points=n_trail_points, visible=visible)
    frames, message = render_or_sketch(model, shots)
    return frames[0], message


def load_recording(path: Path, targets: TargetList) -> Recording:
    """Read states and commands; the targets are those of the list, one per period from time zero."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in ("state_stamps", "q", "v", "command_stamps", "tau")}
    period_ns = round(targets.period * 1e9)
    count = int(arrays["state_stamps"][-1] // period_ns)
    poses = [targets.targets[i % len(targets.targets)] for i in range(count)]
    return Recording(**arrays, targets=tuple(Target(i * period_ns, targets.frame, X) for i, X in enumerate(poses)))


def main() -> None:
    """Read the arguments, draw the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recording", type=Path, help="recording.npz of a report")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--scenario", default="ur5_osc", help="the scenario that was run")
    options = parser.parse_args()
    scenario = Scenario.load(options.scenario)
    targets = scenario.targets()
    if targets is None:
        parser.error(f"scenario '{scenario.name}' has no list of targets")
    model = RobotModel.from_urdf(urdf_path(scenario.robot), tip=scenario.nodes["osc"].get("tip") or None)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    draw_overview(options.picture, load_recording(options.recording, targets), model, targets)
    print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
