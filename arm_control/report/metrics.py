"""Figures of simulated runs, side by side for the variants of a scenario, and whether they are what they must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_control.core.parameters import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel
from arm_control.motion.target_files import Motion, TargetList
from arm_control.simulation.recording import Trace

Figures = dict[str, float]
SETTLED = 1.0
"""A motion's error counts for ``following_error`` from so long after its first point on [s]."""
SHORT = 0.01
"""Ways shorter than this [m] have no straightness."""

MEANING = {
    "reached": ("", "every target within its tolerances at the end of its period, or the motion's end"),
    "reached_share": ("", "share of the targets that were within their tolerances then"),
    "rms_error": ("m", "root of the mean square of the distance to where the end effector should be"),
    "largest_error": ("m", "largest of these distances"),
    "following_error": ("m", f"the same from {SETTLED:g} s after the start of a motion on"),
    "final_error": ("m", "the distance at the end"),
    "time_to_reach": ("s", "until it is within the tolerances for good, the slowest target"),
    "straightness": ("", "largest distance from the straight way, as a share of its length"),
    "torque_share": ("", "largest torque, as a share of the joint's limit"),
    "law_torque_share": ("", "the same of what the law asked for, before the gate; infinite where that was no number"),
    "braked": ("s", "how long the gate braked"),
    "top_speed": ("m/s", "largest speed of the end effector"),
    "top_speed_of_axis": ("m/s", "largest speed along one axis of the world"),
    "torque_step": ("N m", "largest change of a joint's torque in one tick"),
    "clearance": (
        "m",
        "smallest distance from an obstacle to the arm's capsules, which are a little thicker than it",
    ),
    "touches": ("", "whether that is below 0"),
    "excursion": ("rad", "largest way of a joint from where it started"),
    "last_excursion": ("rad", "the same at the end"),
    "condition_number": ("", "largest one of the Jacobian"),
    "diverged": ("", "whether the simulation ended in absurd numbers"),
}
"""Unit of each figure, and what it is. Yes is 1, no is 0; NaN where a figure has no meaning."""


def figures_of(trace: Trace, model: RobotModel, targets: TargetList | None, motion: Motion | None) -> Figures:
    """Compute the figures of a run.

    Parameters
    ----------
    trace : Trace
        The run.
    model : RobotModel
        The arm.
    targets : TargetList or None
        What was to be reached.
    motion : Motion or None
        What was to be followed.

    Returns
    -------
    dict of str to float
        By the names of :data:`MEANING`.
    """
    distance = np.linalg.norm(trace.error[:, :3], axis=1)
    is_late = trace.t >= (motion.points.times[0] + SETTLED if motion else np.inf)
    nearest = float(trace.distance.min(initial=np.inf))
    figures = dict.fromkeys(MEANING, float("nan"))
    figures |= {
        "rms_error": float(np.sqrt(np.mean(distance**2))),
        "largest_error": float(distance.max()),
        "final_error": float(distance[-1]),
        "torque_share": float(np.max(np.abs(trace.tau) / model.tau_max)),
        "law_torque_share": _law_torque_share(trace, model),
        "braked": float(trace.braking.sum()) * 1e-9 * trace.timestep_ns,
        "torque_step": float(np.abs(np.diff(trace.tau, axis=0)).max(initial=0.0)),
        "excursion": float(np.abs(trace.q - trace.q[0]).max()),
        "last_excursion": float(np.abs(trace.q[-1] - trace.q[0]).max()),
        "condition_number": float(trace.condition.max()),
        "diverged": float(bool(trace.end_reason)),
    }
    figures |= _speeds(trace)
    if is_late.any():
        figures["following_error"] = float(distance[is_late].max())
    if np.isfinite(nearest):
        figures |= {"clearance": nearest, "touches": float(nearest < 0.0)}
    if targets is not None:
        figures |= _of_targets(trace, targets)
    elif motion is not None:
        figures["reached"] = float(bool(_within(trace, motion)[-1]))
    return figures


def failures(figures: Figures, required: Mapping[str, Any], where: str = "checks") -> list[str]:
    """Sentences about the figures that are not as required; none when all are.

    Parameters
    ----------
    figures : dict of str to float
        Those of a run.
    required : mapping
        By name true, false, or a mapping of ``most`` and ``least``.

    Raises
    ------
    ParameterError
        When a requirement names no figure, or is of another form.
    """
    refuse_unknown(required, MEANING, where)
    found = []
    for name, rule in required.items():
        value = figures[name]
        if isinstance(rule, bool):
            if value != float(rule):
                found.append(f"{name} is {_shown(name, value)}, required is {'yes' if rule else 'no'}")
            continue
        if not isinstance(rule, Mapping) or not rule:
            raise ParameterError(f"{where}: {name}: true, false, or most and least are needed, not {rule!r}")
        refuse_unknown(rule, ("most", "least"), f"{where}: {name}")
        low, high = float(rule.get("least", -np.inf)), float(rule.get("most", np.inf))
        if not low <= value <= high:
            bounds = " and ".join(f"at {key} {bound:g}" for key, bound in rule.items())
            found.append(f"{name} is {_shown(name, value)}, required is {bounds}")
    return found


def table(by_variant: Mapping[str, Figures]) -> str:
    """The figures as text, a column for each variant; rows in which nobody has a figure are left out."""
    heads = [name or "figure" for name in by_variant]
    rows = [["", *heads]]
    for name in MEANING:
        values = [figures[name] for figures in by_variant.values()]
        if not np.isnan(values).all():
            unit = MEANING[name][0]
            label = name.replace("_", " ") + (f" [{unit}]" if unit else "")
            rows.append([label, *(_shown(name, value) for value in values)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [[cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])] for cells in rows]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def _shown(name: str, value: float) -> str:
    if np.isnan(value):
        return "-"
    if name in ("reached", "touches", "diverged"):
        return "yes" if value else "no"
    return f"{value:.4g}"


def _of_targets(trace: Trace, targets: TargetList) -> Figures:
    """Whether, how fast and how straight targets were reached; only those whose period ended."""
    good, t = _within(trace, targets), trace.t
    reached, times, off = [], [], [0.0]
    for target in trace.targets:
        begin, end = target.stamp_ns * 1e-9, target.stamp_ns * 1e-9 + targets.period
        if end > t[-1] + 2e-3:
            continue
        mine = np.flatnonzero((t >= begin - 1e-9) & (t < end - 1e-9))
        bad = np.flatnonzero(~good[mine])
        reached.append(bool(good[mine[-1]]))
        times.append(float(t[mine[bad[-1]]] - begin) if bad.size else 0.0)
        off.append(_off_line(trace.p[mine], trace.p_des[mine[0]]))
    done = bool(reached) and all(reached)
    return {
        "reached": float(done),
        "reached_share": sum(reached) / max(len(reached), 1),
        "time_to_reach": max(times) if done else float("nan"),
        "straightness": max(off),
    }


def _law_torque_share(trace: Trace, model: RobotModel) -> float:
    share = np.abs(trace.tau_asked) / model.tau_max
    return float(np.where(np.isfinite(share), share, np.inf).max())


def _speeds(trace: Trace) -> Figures:
    """Largest speed of the end effector, from where it was."""
    v = np.diff(trace.p, axis=0) / np.diff(trace.t)[:, None]
    return {
        "top_speed": float(np.linalg.norm(v, axis=1).max(initial=0.0)),
        "top_speed_of_axis": float(np.abs(v).max(initial=0.0)),
    }


def _within(trace: Trace, wanted: TargetList | Motion) -> Array:
    position, orientation = (np.linalg.norm(trace.error[:, part], axis=1) for part in (slice(3), slice(3, 6)))
    return (position <= wanted.position_tolerance) & (orientation <= wanted.orientation_tolerance)


def _off_line(p: Array, goal: Array) -> float:
    """Largest distance from the straight line, as a share of its length."""
    way = goal - p[0]
    length = float(np.linalg.norm(way))
    if length < SHORT:
        return 0.0
    along = (p - p[0]) @ way / length
    return float(np.linalg.norm(p - p[0] - np.outer(along, way / length), axis=1).max()) / length
