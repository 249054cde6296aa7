"""Figures of a live run, or of a bag, from its messages: targets reached, limits kept.

Nothing comes from the controller's own figures: poses are computed from the recorded joint positions, torque and its
rate are those of the recorded commands. :mod:`arm_control.report.figures` has what simulations share, and says where
they differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.control import OscParameters, pose_error
from arm_control.gate import GateParameters
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion import TargetList
from arm_control.report.figures import (
    end_effector_motion,
    goal_pose,
    linear_angular_norms,
    straightness,
    text_table,
    torque_shares,
)
from arm_control.simulation import Recording

LIMIT_TOLERANCE = 1.005
"""How far a speed may overshoot its limit."""
STRAIGHTNESS = 0.02
"""How far a path may leave the straight line, as a share of its length."""
HAND_PERIOD = 2.0
"""Time for a target that a person sets [s]."""
COLUMN_WIDTHS = (6, 9, 6, 11, 9, 10, 13, 8)
"""Of the table of targets."""


@dataclass(frozen=True)
class Reach:
    """How one target was reached.

    Attributes
    ----------
    number : int
        Which one, from 1.
    length, angle : float
        Distance [m] and angle [rad] from where it started.
    position_error, orientation_error : float
        What was left at the end of its period [m], [rad].
    deviation : float
        Largest distance from the straight line, as a share of the length.
    speed, angular_speed : float
        Largest on the way [m/s], [rad/s].
    """

    number: int
    length: float
    angle: float
    position_error: float
    orientation_error: float
    deviation: float
    speed: float
    angular_speed: float

    def cells(self) -> tuple[str, ...]:
        """Return the row of the report's table."""
        return (
            str(self.number),
            f"{self.length:.3f}",
            f"{np.degrees(self.angle):.1f}",
            f"{1e3 * self.position_error:.5f}",
            f"{np.degrees(self.orientation_error):.5f}",
            f"{100 * self.deviation:.2f} %",
            f"{self.speed:.4f}",
            f"{self.angular_speed:.4f}",
        )


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
        reaches = text_table([head, *(reach.cells() for reach in self.reaches)], COLUMN_WIDTHS, gap=" ", n_left=0)
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
    recording : Recording
        What went over the topics.
    model : RobotModel
        The arm.
    targets : TargetList
        What was to be reached, and how closely.
    osc : OscParameters or None
        The speed limits that held on straight lines; None for a controller without them.
    gate : GateParameters
        The rate limit that held.

    Returns
    -------
    Report
    """
    poses, twists = end_effector_motion(recording.q, recording.v, model)
    reaches = []
    for number, (target, end_ns) in enumerate(zip(recording.targets, _ends(recording, targets), strict=True), start=1):
        begin, end = np.searchsorted(recording.state_stamps, (target.stamp_ns, end_ns))
        if end < recording.state_stamps.size and targets.is_judged(number - 1):
            goal = goal_pose(target, recording, model)
            reaches.append(_reach(number, poses[begin : end + 1], twists[begin : end + 1], goal))
    figures = (*_reach_figures(reaches, targets, osc), *_torque_figures(recording, model, gate))
    return Report(tuple(reaches), figures)


def _ends(recording: Recording, targets: TargetList) -> list[int]:
    """Stamps at which the errors of the targets count: after the period of a list, or before the next one by hand."""
    period_ns = round(targets.period * 1e9)
    earliest = [target.stamp_ns + period_ns for target in recording.targets]
    if targets.targets:
        return earliest
    last_ns = int(recording.state_stamps[-1]) if recording.state_stamps.size else 0
    following = [*(target.stamp_ns for target in recording.targets[1:]), last_ns]
    return [max(end_ns, next_ns) for end_ns, next_ns in zip(earliest, following, strict=False)]


def _reach(number: int, poses: list[Pose], twists: Array, goal: Pose) -> Reach:
    errors = np.array([pose_error(poses[0], goal), pose_error(poses[-1], goal)])
    (length, position_error), (angle, orientation_error) = linear_angular_norms(errors)
    speeds, angular_speeds = linear_angular_norms(twists)
    return Reach(
        number,
        float(length),
        float(angle),
        float(position_error),
        float(orientation_error),
        straightness(np.array([X.p for X in poses]), goal.p),
        float(speeds.max()),
        float(angular_speeds.max()),
    )


def _reach_figures(reaches: list[Reach], targets: TargetList, osc: OscParameters | None) -> list[Figure]:
    def worst(name: str) -> float:
        return max((getattr(reach, name) for reach in reaches), default=np.inf)

    after = f"{targets.period:g} s after a target was set" if targets.targets else "when the next target was set"
    degrees = float(np.degrees(targets.orientation_tolerance))
    reached = [
        Figure(f"position error {after}", 1e3 * worst("position_error"), 1e3 * targets.position_tolerance, "mm", True),
        Figure(f"orientation error {after}", np.degrees(worst("orientation_error")), degrees, "deg", True),
    ]
    if osc is None:
        return reached
    return [
        *reached,
        Figure("path off the straight line", 100 * worst("deviation"), 100 * STRAIGHTNESS, "% of its length"),
        Figure("speed", worst("speed"), osc.speed_limit_linear * LIMIT_TOLERANCE, "m/s"),
        Figure("angular speed", worst("angular_speed"), osc.speed_limit_angular * LIMIT_TOLERANCE, "rad/s"),
    ]


def _torque_figures(recording: Recording, model: RobotModel, gate: GateParameters) -> list[Figure]:
    if not recording.command_stamps.size or recording.state_stamps.size < 2:
        return [Figure("runs without a command", 1.0, 0.0, "", True)]
    seconds = np.diff(recording.command_stamps)[:, None] * 1e-9
    rate = np.abs(np.diff(recording.tau, axis=0)) / seconds if len(seconds) else np.zeros((1, 1))
    first = np.searchsorted(recording.state_stamps, recording.command_stamps[0])
    start = np.abs(recording.tau[0] - model.gravity(recording.q[min(first, len(recording.q) - 1)])).max()
    unanswered = np.setdiff1d(recording.state_stamps[:-1], recording.command_stamps).size
    stamps = np.unique(recording.state_stamps)
    missing = (stamps[-1] - stamps[0]) // np.diff(stamps).min() + 1 - stamps.size
    disordered = np.count_nonzero(np.diff(recording.state_stamps) <= 0)
    return [
        Figure("torque, share of the joint's limit", float(torque_shares(recording.tau, model).max()), 1.0, ""),
        Figure("change of torque", float(np.max(rate)), gate.rate_limit * (1 + 1e-9), "N m/s"),
        Figure("first torque, away from gravity compensation", float(start), 1.0 + 1e-9, "N m"),
        Figure("states without a command", unanswered / recording.state_stamps.size * 100, 1.0, "%"),
        Figure("states missing from the record", float(missing), 0.0, ""),
        Figure("states out of order (two publishers?)", float(disordered), 0.0, ""),
    ]
