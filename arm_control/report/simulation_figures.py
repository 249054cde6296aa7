"""Figures of simulated runs, side by side for the variants of a scenario, and the checks that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_control.core import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import Motion, TargetList
from arm_control.planning import TaskPath
from arm_control.report.figures import (
    SHORTEST,
    largest_offset,
    linear_angular_norms,
    reaches,
    text_table,
    torque_shares,
    torque_steps,
)
from arm_control.simulation import FreeTrace, Trace, nearest_distances

FiguresByName = dict[str, float]
SETTLED = 1.0
"""A motion's error counts for ``following_error`` from so long after its first point on [s]."""

DEFINITIONS = {
    "reached": ("", "every target within its tolerances at the end of its period, or the motion's end"),
    "reached_share": ("", "share of the targets that were within their tolerances then"),
    "rms_error": ("m", "root of the mean square of the distance to where the end effector should be"),
    "largest_error": ("m", "largest of these distances"),
    "following_error": ("m", f"the same from {SETTLED:g} s after the start of a motion on"),
    "task_error": ("m", "largest distance of the end effector from the task path that its motion was planned for"),
    "final_error": ("m", "the distance at the end"),
    "time_to_reach": ("s", "until it is within the tolerances for good, the slowest target"),
    "straightness": ("", "largest distance from the straight way, as a share of its length"),
    "torque_share": ("", "largest torque, as a share of the joint's limit"),
    "law_torque_share": (
        "",
        "the same of the law, before the gate; infinite where its torque is not finite",
    ),
    "braked": ("s", "how long the gate braked"),
    "top_speed": ("m/s", "largest speed of the end effector"),
    "top_speed_of_axis": ("m/s", "largest speed along one axis of the world"),
    "torque_step": ("N m", "largest change of a joint's torque in one tick"),
    "way": ("m", "length of the end effector's way along a joint trajectory"),
    "off_line": ("m", "largest distance of that way from the line through its ends"),
    "clearance": (
        "m",
        "smallest distance from an obstacle to the arm's capsules, which are a little thicker than it",
    ),
    "touches": ("", "whether that is below 0"),
    "touching_steps": ("", "steps of the simulation in which links touched obstacles or each other"),
    "margin": ("", "least value of a constraint: m, rad or m/s left, below 0 where it did not hold"),
    "excursion": ("rad", "largest way of a joint from where it started"),
    "last_excursion": ("rad", "the same at the end"),
    "condition_number": ("", "largest one of the Jacobian"),
    "force_error": (
        "",
        "largest difference of the force on solid obstacles from the wanted one, as a share of it, from"
        f" {SETTLED:g} s after its begin on",
    ),
    "largest_force": ("N", "largest force on solid obstacles"),
    "energy_change": ("J", "energy at the end of a motion without a controller, less that at its start"),
    "largest_energy_change": ("J", "largest difference of the energy from that at the start"),
    "kinetic_energy": ("J", "kinetic energy at the end"),
    "overshoot": ("rad", "how far a joint went beyond an end stop"),
    "diverged": ("", "whether the simulation ended in absurd numbers"),
}
"""Unit and definition of each figure. Yes is 1, no is 0; NaN where a figure has no meaning."""


def figures_of_simulation(
    trace: Trace,
    model: RobotModel,
    targets: TargetList | None,
    motion: Motion | None,
    task: TaskPath | None = None,
) -> FiguresByName:
    """Compute the figures of a run.

    Returns
    -------
    dict of str to float
        By the names of :data:`DEFINITIONS`.
    """
    distance, angle = linear_angular_norms(trace.error)
    is_late = trace.t >= (motion.points.times[0] + SETTLED if motion else np.inf)
    nearest = float(trace.distance.min(initial=np.inf))
    figures = dict.fromkeys(DEFINITIONS, float("nan"))
    figures |= {
        "rms_error": float(np.sqrt(np.mean(distance**2))),
        "largest_error": float(distance.max()),
        "final_error": float(distance[-1]),
        "torque_share": float(torque_shares(trace.tau, model).max()),
        "law_torque_share": _law_torque_share(trace, model),
        "braked": float(trace.braking.sum()) * 1e-9 * trace.timestep_ns,
        "torque_step": float(torque_steps(trace).max(initial=0.0)),
        "condition_number": float(trace.condition.max()),
    }
    figures |= {**_of_joints(trace), **_speeds(trace), **_forces(trace)}
    if is_late.any():
        figures["following_error"] = float(distance[is_late].max())
    if np.isfinite(nearest):
        figures |= {"clearance": nearest, "touches": float(nearest < 0.0)}
    if trace.margins:
        figures["margin"] = min(float(np.nanmin(margin)) for margin in trace.margins.values())
    if trace.touching is not None:
        figures["touching_steps"] = float(trace.touching)
    if task is not None:
        figures["task_error"] = float(nearest_distances(task, trace.p).max())
    if targets is not None:
        figures |= _of_targets(trace, targets)
    elif motion is not None:
        within = distance[-1] <= motion.position_tolerance and angle[-1] <= motion.orientation_tolerance
        figures["reached"] = float(within)
    else:
        figures |= _of_way(trace.p)
    return figures


def figures_of_free_motion(trace: FreeTrace) -> FiguresByName:
    """Compute the figures of an arm that moves without a controller, by the names of :data:`DEFINITIONS`."""
    return dict.fromkeys(DEFINITIONS, float("nan")) | {
        "energy_change": float(trace.energy_change[-1]),
        "largest_energy_change": float(np.abs(trace.energy_change).max()),
        "kinetic_energy": float(trace.kinetic[-1]),
        "overshoot": float(trace.beyond.max()) if trace.has_stops else float("nan"),
        **_of_joints(trace),
    }


def failed_checks(figures: FiguresByName, required: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each figure that does not meet its requirement.

    Parameters
    ----------
    required : mapping
        Requirements by name of the figure: true, false, or a mapping of ``most`` and ``least``.

    Raises
    ------
    ParameterError
        When a requirement names no figure, or is of another form.
    """
    refuse_unknown(required, DEFINITIONS, "checks")
    sentences = []
    for name, rule in required.items():
        value = figures[name]
        if isinstance(rule, bool):
            if value != float(rule):
                sentences.append(f"{name} is {_formatted(name, value)}, required is {'yes' if rule else 'no'}")
            continue
        if not isinstance(rule, Mapping) or not rule:
            raise ParameterError(f"checks: {name}: true, false, or most and least are needed, not {rule!r}")
        refuse_unknown(rule, ("most", "least"), f"checks: {name}")
        low, high = float(rule.get("least", -np.inf)), float(rule.get("most", np.inf))
        if not low <= value <= high:
            bounds = " and ".join(f"at {key} {bound:g}" for key, bound in rule.items())
            sentences.append(f"{name} is {_formatted(name, value)}, required is {bounds}")
    return sentences


def variants_table(by_variant: Mapping[str, FiguresByName]) -> str:
    """Return the figures as text, with a column for each variant; rows without a figure are left out."""
    rows = [["", *(name or "figure" for name in by_variant)]]
    for name, (unit, _) in DEFINITIONS.items():
        values = [figures[name] for figures in by_variant.values()]
        if not np.isnan(values).all():
            label = name.replace("_", " ") + (f" [{unit}]" if unit else "")
            rows.append([label, *(_formatted(name, value) for value in values)])
    return text_table(rows)


def _formatted(name: str, value: float) -> str:
    if np.isnan(value):
        return "-"
    if name in ("reached", "touches", "diverged"):
        return "yes" if value else "no"
    return f"{value:.4g}"


def _of_targets(trace: Trace, targets: TargetList) -> FiguresByName:
    """Whether, how fast and how straight targets were reached; only those whose period ended."""
    reached = reaches(trace, targets)
    done = bool(reached) and all(reach.is_reached for reach in reached)
    return {
        "reached": float(done),
        "reached_share": sum(reach.is_reached for reach in reached) / max(len(reached), 1),
        "time_to_reach": max(reach.time for reach in reached) if done else float("nan"),
        "straightness": max((reach.straightness for reach in reached), default=0.0),
    }


def _of_joints(trace: Trace | FreeTrace) -> FiguresByName:
    """How far joints went, and whether the run ended in absurd numbers."""
    ways = np.abs(trace.q - trace.q[0])
    return {
        "excursion": float(ways.max()),
        "last_excursion": float(ways[-1].max()),
        "diverged": float(bool(trace.end_reason)),
    }


def _law_torque_share(trace: Trace, model: RobotModel) -> float:
    share = torque_shares(trace.tau_asked, model)
    return float(np.where(np.isfinite(share), share, np.inf).max())


def _of_way(p: Array) -> FiguresByName:
    """Length of a way (n, 3) [m], and its largest distance from the line through its ends, where these differ."""
    figures = {"way": float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum())}
    if np.linalg.norm(p[-1] - p[0]) > SHORTEST:
        figures["off_line"] = largest_offset(p, p[-1])
    return figures


def _speeds(trace: Trace) -> FiguresByName:
    """Largest speed of the end effector, and along one axis."""
    v = trace.V[:, :3]
    return {"top_speed": float(linear_angular_norms(trace.V)[0].max()), "top_speed_of_axis": float(np.abs(v).max())}


def _forces(trace: Trace) -> FiguresByName:
    """Force on solid obstacles along the wanted one, and the largest force."""
    if not len(trace.contact):
        return {}
    figures = {"largest_force": float(np.linalg.norm(trace.contact[:, :3], axis=1).max())}
    if not len(trace.wanted):
        return figures
    wanted = np.linalg.norm(trace.wanted[:, :3], axis=1)
    is_wanted = wanted > 0.0
    begins = np.flatnonzero(is_wanted & ~np.append(False, is_wanted[:-1]))
    late = np.zeros_like(is_wanted)
    for begin, end in zip(begins, [*begins[1:], len(wanted)], strict=True):
        late[begin:end] = is_wanted[begin:end] & (trace.t[begin:end] >= trace.t[begin] + SETTLED)
    if late.any():
        figures["force_error"] = float(np.abs(exerted_force(trace)[late] / wanted[late] - 1.0).max())
    return figures


def exerted_force(trace: Trace) -> Array:
    """Force on solid obstacles along the wanted one, or all of it where none is wanted, shape (n,) [N]."""
    contact, force = trace.contact[:, :3], trace.wanted[:, :3]
    wanted = np.linalg.norm(force, axis=1)
    along = -(contact * force).sum(axis=1) / np.where(wanted > 0.0, wanted, 1.0)
    return np.where(wanted > 0.0, along, np.linalg.norm(contact, axis=1))
