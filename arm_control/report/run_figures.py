"""The report on a live run, or on a bag: targets reached, limits kept.

Nothing comes from the controller's own figures: poses are computed from the recorded joint positions, torque and its
rate are those of the recorded commands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.control import OscParameters
from arm_control.gate import GateParameters
from arm_control.model import RobotModel
from arm_control.motion import TargetList
from arm_control.report.figures import Reach, reaches, text_table, torque_rates, torque_shares
from arm_control.simulation import Recording, motion_record

LIMIT_TOLERANCE = 1.005
"""How far a speed may overshoot its limit."""
STRAIGHTNESS = 0.02
"""How far a path may leave the straight line, as a share of its length."""
HAND_PERIOD = 2.0
"""Time for a target that a person sets [s]."""
COLUMN_WIDTHS = (6, 9, 6, 11, 9, 10, 13, 8)
"""Of the table of targets."""


@dataclass(frozen=True)
class Figure:
    """One line of the report: a figure, its bound, and whether success requires the bound."""

    text: str
    value: float
    allowed: float
    unit: str
    required: bool = False

    @property
    def kept(self) -> bool:
        """Whether the figure is within its bound."""
        return self.value <= self.allowed

    def __str__(self) -> str:
        verdict = "ok  " if self.kept else "MISS" if self.required else "over"
        return f"{verdict}  {self.text:<44} {self.value:10.4g}  allowed {self.allowed:8.4g} {self.unit}"


@dataclass(frozen=True)
class Report:
    """The figures of a run.

    Attributes
    ----------
    reaches : tuple of Reach
        One for each target whose period ended within the run.
    figures : tuple of Figure
        The worst of each, with its bound.
    """

    reaches: tuple[Reach, ...]
    figures: tuple[Figure, ...]

    @property
    def success(self) -> bool:
        """Whether there were targets, all of them were reached, and nothing required is missing."""
        return bool(self.reaches) and all(figure.kept for figure in self.figures if figure.required)

    def __str__(self) -> str:
        head = ("target", "way [m]", "[deg]", "left [mm]", "[deg]", "off line", "speed [m/s]", "[rad/s]")
        reaches = text_table([head, *map(_cells, self.reaches)], COLUMN_WIDTHS, gap=" ", n_left=0)
        known = [str(figure) for figure in self.figures if np.isfinite(figure.value)]
        return "\n".join([reaches, "", *known])


def hand_targets(base: str) -> TargetList:
    """Return what is asked for of targets that a person sets, in the frame of the base."""
    return TargetList(base, HAND_PERIOD, 1e-3, float(np.radians(0.2)), ())


def make_report(
    recording: Recording, model: RobotModel, targets: TargetList, osc: OscParameters | None, gate: GateParameters
) -> Report:
    """Compute the figures of a run.

    Parameters
    ----------
    targets : TargetList
        What was to be reached, and how closely.
    osc : OscParameters or None
        The speed limits that held on straight lines; None for a controller without them.
    """
    reached = tuple(reaches(motion_record(recording, model), targets))
    return Report(reached, (*_reach_figures(reached, targets, osc), *_torque_figures(recording, model, gate)))


def _cells(reach: Reach) -> tuple[str, ...]:
    """The row of the report's table."""
    return (
        str(reach.number),
        f"{reach.length:.3f}",
        f"{np.degrees(reach.angle):.1f}",
        f"{1e3 * reach.position_error:.5f}",
        f"{np.degrees(reach.orientation_error):.5f}",
        f"{100 * reach.straightness:.2f} %",
        f"{reach.speed:.4f}",
        f"{reach.angular_speed:.4f}",
    )


def _reach_figures(reached: tuple[Reach, ...], targets: TargetList, osc: OscParameters | None) -> list[Figure]:
    def worst(name: str) -> float:
        return max((getattr(reach, name) for reach in reached), default=np.inf)

    after = f"{targets.period:g} s after a target was set" if targets.targets else "when the next target was set"
    degrees = float(np.degrees(targets.orientation_tolerance))
    errors = [
        Figure(f"position error {after}", 1e3 * worst("position_error"), 1e3 * targets.position_tolerance, "mm", True),
        Figure(f"orientation error {after}", np.degrees(worst("orientation_error")), degrees, "deg", True),
    ]
    if osc is None:
        return errors
    return [
        *errors,
        Figure("path off the straight line", 100 * worst("straightness"), 100 * STRAIGHTNESS, "% of its length"),
        Figure("speed", worst("speed"), osc.speed_limit_linear * LIMIT_TOLERANCE, "m/s"),
        Figure("angular speed", worst("angular_speed"), osc.speed_limit_angular * LIMIT_TOLERANCE, "rad/s"),
    ]


def _torque_figures(recording: Recording, model: RobotModel, gate: GateParameters) -> list[Figure]:
    if not recording.command_stamps.size or recording.state_stamps.size < 2:
        return [Figure("runs without a command", 1.0, 0.0, "", True)]
    rate = float(torque_rates(recording).max(initial=0.0))
    first = np.searchsorted(recording.state_stamps, recording.command_stamps[0])
    start = np.abs(recording.tau[0] - model.gravity(recording.q[min(first, len(recording.q) - 1)])).max()
    unanswered = np.setdiff1d(recording.state_stamps[:-1], recording.command_stamps).size
    stamps = np.unique(recording.state_stamps)
    missing = (stamps[-1] - stamps[0]) // np.diff(stamps).min() + 1 - stamps.size
    disordered = np.count_nonzero(np.diff(recording.state_stamps) <= 0)
    return [
        Figure("torque, share of the joint's limit", float(torque_shares(recording.tau, model).max()), 1.0, ""),
        Figure("change of torque", rate, gate.rate_limit * (1 + 1e-9), "N m/s"),
        Figure("first torque, away from gravity compensation", float(start), 1.0 + 1e-9, "N m"),
        Figure("states without a command", unanswered / recording.state_stamps.size * 100, 1.0, "%"),
        Figure("states missing from the record", float(missing), 0.0, ""),
        Figure("states out of order (two publishers?)", float(disordered), 0.0, ""),
    ]
