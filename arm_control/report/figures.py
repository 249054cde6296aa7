"""Figures of a run, each one function of its record, the same live, from a bag and simulated; and text tables.

    e_p = p_T - p_E,  e_R = rotation vector of R_T R_E^T          from the end effector E to the target T
    V = J v                                                       its twist, of the measured joint velocities
    straightness = max |(p - p_0) - ((p - p_0) . u) u| / |p_T - p_0|,  u = (p_T - p_0) / |p_T - p_0|
    torque share = |tau| / tau_max

A target's states are those from its stamp on, up to the end of its period, or up to the next target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import TargetList
from arm_control.simulation import MotionRecord, Recording, Stamps

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
    widths : sequence of int
        Least widths of the first columns.
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
