"""Figures of a run, each one function of its record, the same live, from a bag and simulated; and text tables.

    e_p = p_T - p_E,  e_R = rotation vector of R_T R_E^T          from the end effector E to the target T
    V = J v                                                       its twist, of the measured joint velocities
    straightness = max |(p - p_0) - ((p - p_0) . u) u| / |p_T - p_0|,  u = (p_T - p_0) / |p_T - p_0|
    torque share = |tau| / tau_max

A target's states are those from its stamp on, up to the end of its period, or up to the next target.

The report on a live run, or on a bag, says which targets were reached and which limits kept. Nothing comes from the
controller's own figures: poses are computed from the recorded joint positions, torque and its rate are those of the
recorded commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.control import OscParameters
from arm_control.gate import GateParameters
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import TargetList
from arm_control.simulation import MotionRecord, Recording, Stamps, motion_record

SHORTEST = 0.01
"""Ways shorter than this [m] count as straight."""


class Reach(NamedTuple):
    """How one target was reached.

    Attributes
    ----------
    number : int
        Which one, from 1.
    length, angle : float
        Distance [m] and angle [rad] from where it started.
    position_error, orientation_error : float
        Errors in its last state [m], [rad].
    time : float
        Time after which the errors stay within the tolerances [s].
    straightness : float
        Largest distance from the straight way, as a share of its length.
    speed, angular_speed : float
        Largest on the way [m/s], [rad/s].
    """

    number: int
    length: float
    angle: float
    position_error: float
    orientation_error: float
    is_reached: bool
    time: float
    straightness: float
    speed: float
    angular_speed: float


def reaches(record: MotionRecord, targets: TargetList) -> list[Reach]:
    """Return how each target was reached that is judged and had its whole period.

    Parameters
    ----------
    targets : TargetList
        Period and tolerances; without targets of its own those of the run are by hand, each up to the next one.
    """
    stamps, found = record.state_stamps, []
    begins = np.array([target.stamp_ns for target in record.targets], dtype=np.int64)
    ends = begins + round(targets.period * 1e9)
    following = np.append(begins[1:], stamps[-1] + 1)
    if not targets.targets:
        ends = np.maximum(ends, following)
    firsts, lasts = (np.searchsorted(stamps, x).tolist() for x in (begins, np.minimum(ends, following)))
    had_time = ends <= stamps[-1] + _usual_step(stamps)
    for k, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        if had_time[k] and first < last and targets.is_judged(k):
            found.append(_reach(k, record, targets, slice(first, last)))
    return found


def _usual_step(stamps: Stamps) -> float:
    """Time for which a state counts [ns]."""
    return float(np.median(np.diff(stamps))) if stamps.size > 1 else 0.0


def _reach(k: int, record: MotionRecord, targets: TargetList, states: slice) -> Reach:
    distances, angles = linear_angular_norms(record.error[states])
    speeds, angular_speeds = linear_angular_norms(record.V[states])
    is_within = (distances <= targets.position_tolerance) & (angles <= targets.orientation_tolerance)
    late = np.flatnonzero(~is_within)
    left = (record.state_stamps[states.start + late[-1:]] - record.targets[k].stamp_ns) * 1e-9
    return Reach(
        k + 1,
        float(distances[0]),
        float(angles[0]),
        float(distances[-1]),
        float(angles[-1]),
        bool(is_within[-1]),
        float(left.max(initial=0.0)),
        straightness(record.p[states], record.p[states.start] + record.error[states.start, :3]),
        float(speeds.max()),
        float(angular_speeds.max()),
    )


def linear_angular_norms(rows: Array) -> tuple[Array, Array]:
    """Return the norms, shape (n,) each, of the linear and of the angular part of twists or pose errors (n, 6)."""
    return np.linalg.norm(rows[:, :3], axis=1), np.linalg.norm(rows[:, 3:], axis=1)


def straightness(p: Array, goal: Array) -> float:
    """Return the largest distance of a path from the straight way to its goal, as a share of the way's length.

    Parameters
    ----------
    p : ndarray, shape (n, 3)
        Positions from the start on [m].
    goal : ndarray, shape (3,)
        End of the straight way [m]; one that is shorter than :data:`SHORTEST` counts as straight.
    """
    length = float(np.linalg.norm(goal - p[0]))
    return 0.0 if length < SHORTEST else largest_offset(p, goal) / length


def largest_offset(p: Array, goal: Array) -> float:
    """Return the largest distance [m] of positions (n, 3) from the line through the first one and a goal (3,) [m]."""
    way = goal - p[0]
    direction = way / np.linalg.norm(way)
    moved = p - p[0]
    off = moved - np.outer(moved @ direction, direction)
    return float(np.linalg.norm(off, axis=1).max())


def torque_shares(tau: Array, model: RobotModel) -> Array:
    """Return each torque (n, nv) [N m or N] as a share of its joint's limit, shape (n, nv)."""
    return np.abs(tau) / model.tau_max


def torque_steps(recording: Recording) -> Array:
    """Return the change of every joint's torque from command to command, shape (m - 1, nv) [N m or N]."""
    return np.abs(np.diff(recording.tau, axis=0))


def torque_rates(recording: Recording) -> Array:
    """Return the same per time, shape (m - 1, nv) [N m/s or N/s]."""
    return torque_steps(recording) / (np.diff(recording.command_stamps)[:, None] * 1e-9)


def text_table(rows: Sequence[Sequence[str]], widths: Sequence[int] = (), gap: str = "  ", n_left: int = 1) -> str:
    """Return rows of cells as lines with aligned columns.

    Parameters
    ----------
    rows : sequence of sequence of str
        The cells; all rows have the same length.
    n_left : int
        Number of columns that are aligned to the left; the others are aligned to the right.

    Examples
    --------
    >>> print(text_table([("joint", "torque"), ("elbow", "5"), ("wrist roll", "12.5")]))
    joint       torque
    elbow            5
    wrist roll    12.5
    """
    least = [*widths, *[0] * len(rows[0])]
    columns = zip(*rows, strict=True)
    used = [max(width, *map(len, column)) for width, column in zip(least, columns, strict=False)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < n_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, used, strict=True))
        ]
        lines.append(gap.join(cells).rstrip())
    return "\n".join(lines)


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
    """

    reaches: tuple[Reach, ...]
    figures: tuple[Figure, ...]

    @property
    def has_reached_all(self) -> bool:
        """Whether there were targets, and all of them were reached."""
        return bool(self.reaches) and all(reach.is_reached for reach in self.reaches)

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
    """Compute the figures of a run; where the plant has started over, targets are judged by the part since.

    Parameters
    ----------
    osc : OscParameters or None
        The speed limits that held on straight lines; None for a controller without them.
    """
    judged = recording.since_restart() if recording.restarts else recording
    reached = tuple(reaches(motion_record(judged, model), targets))
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
    restarts = recording.restarts
    disordered = np.count_nonzero(np.diff(recording.state_stamps) <= 0) - restarts
    first_torque = Figure("first torque, away from gravity compensation", float(start), 1.0 + 1e-9, "N m")
    started_over = [Figure("times the plant has started over", restarts, 0.0, "", True)] if restarts else []
    return [
        *started_over,
        Figure("torque, share of the joint's limit", float(torque_shares(recording.tau, model).max()), 1.0, ""),
        Figure("change of torque", rate, gate.rate_limit * (1 + 1e-9), "N m/s"),
        *([first_torque] if recording.has_first else []),
        Figure("states without a command", unanswered / recording.state_stamps.size * 100, 1.0, "%"),
        Figure("states missing from the record", float(missing), 0.0, ""),
        Figure("states out of order (two publishers?)", float(disordered), 0.0, ""),
    ]
