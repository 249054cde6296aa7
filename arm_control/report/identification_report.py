"""What an identification found, as a table, and as a parameter file that every node takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_control.bags import JointSeries
from arm_control.core import SavedParameter, yaml_text
from arm_control.exceptions import BagError
from arm_control.identification import (
    LINKS,
    MOTOR,
    Identified,
    JointRecording,
    links_of,
    motion_of_states,
    parameters_of_arm,
    parameters_of_plant,
    payload_of,
)
from arm_control.model import RobotModel

POOR = 0.5
"""A fit that explains less of a joint's torque is named."""
DOUBTFUL = 3.0
"""A fit whose error is so many times larger where it was held out than where it was fitted is named."""


def recorded_motion(series: JointSeries, model: RobotModel) -> tuple[JointRecording, str]:
    """Return the states of a series that have an effort, and a sentence where velocities are those of the positions.

    Parameters
    ----------
    series : JointSeries
        Joint states with increasing times.

    Raises
    ------
    BagError
        When joints of the model are missing, or there is no effort.
    """
    q, v, tau = (series.of(model, field) for field in ("position", "velocity", "effort"))
    known = np.isfinite(tau).all(axis=1) & np.isfinite(q).all(axis=1)
    if not known.any():
        raise BagError("the recording has no effort of all joints of the arm: nothing can be identified")
    t = series.t[known]
    q, v, sentence = motion_of_states(t, q[known], v[known])
    return JointRecording(t, q, v, tau[known]), sentence


def identification_table(identified: Identified, model: RobotModel) -> list[tuple[str, ...]]:
    """Return a table, its head first, with a row per joint; errors and R^2 are those of the part that was held out."""
    rows: list[tuple[str, ...]] = []
    for name, values in identified_values(identified, model)["joints"].items():
        judged = values.pop("held_out")
        if not rows:
            heads = (column.replace("_", " ") for column in values)
            rows.append(("joint", *heads, "error model", "error fit", "R^2 model", "R^2 fit"))
        cells = ("-" if x is None else _measured(x["value"], x["standard_error"]) for x in values.values())
        numbers = (judged[key] for key in ("error_of_model", "error", "r2_of_model", "r2"))
        formats = (".3g", ".3g", ".3f", ".3f")
        of_fit = ("-" if x is None else format(x, digits) for x, digits in zip(numbers, formats, strict=True))
        rows.append((name, *cells, *of_fit))
    return rows


def notes_on(identified: Identified, model: RobotModel) -> list[str]:
    """Return sentences beside the table: payload, links, and what to doubt."""
    fit, notes = identified.fit, []
    if (payload := payload_of(identified)) is not None:
        centre = ", ".join(map(_measured, payload.centre, payload.centre_errors))
        notes.append(f"payload {_measured(payload.mass, payload.mass_error)} kg at ({centre}) m in {model.tip}")
    if (stribeck := identified.stribeck) is not None and stribeck.is_identified.any():
        notes.append(f"Stribeck velocity {_measured(stribeck.velocity, stribeck.velocity_error)} rad/s")
    for body, link in zip(model.tree.bodies, links_of(identified), strict=identified.bodies == LINKS):
        notes.append(f"{body.name} carries {link.m:.4g} kg; {body.inertia.m:.4g} kg by the URDF")
    if identified.has_scale:
        notes.append("the effort is no torque: friction, inertia and offset are in its units")
    poor = [name for name, share in zip(model.joint_names, fit.r2, strict=True) if share < POOR]
    if poor:
        hint = "" if identified.has_scale else "; --effort-scale where the effort is no torque"
        notes.append(f"the fit explains less than {100 * POOR:.0f} % of the effort of {', '.join(poor)}{hint}")
    for name, error, used in zip(model.joint_names, fit.error, fit.error_used, strict=True):
        if error > DOUBTFUL * used:
            notes.append(
                f"{name}: its torque is {error / used:.2g} times as far off where it was held out as elsewhere"
            )
    resting = [name for name, is_known in zip(model.joint_names, fit.is_identified, strict=True) if not is_known.all()]
    if resting:
        notes.append(f"the recording does not tell all of {', '.join(resting)}: '-'")
    return notes


def identified_values(identified: Identified, model: RobotModel) -> dict[str, Any]:
    """Return all numbers with their standard errors, and how far off the held-out part is, for JSON."""
    fit = identified.fit
    joints = {}
    for i, name in enumerate(model.joint_names):
        motor: dict[str, Any] = {}
        if identified.has_scale:
            motor["effort_per_torque"] = _with_error(fit.scale[i], fit.scale_errors[i])
        for of, x, error, is_known in zip(MOTOR, fit.motor[i], fit.motor_errors[i], fit.is_identified[i], strict=True):
            motor[of.replace(" ", "_")] = _with_error(x, error) if is_known else None
        if (stribeck := identified.stribeck) is not None:
            number = _with_error(stribeck.friction[i], stribeck.friction_errors[i])
            motor["Stribeck_friction"] = number if stribeck.is_identified[i] else None
        judged = {
            name: float(values[i]) if np.isfinite(values[i]) else None
            for name, values in (
                ("error", fit.error),
                ("error_of_model", fit.error_model),
                ("r2", fit.r2),
                ("r2_of_model", fit.r2_model),
            )
        }
        joints[name] = motor | {"held_out": judged}
    result: dict[str, Any] = {"windows": len(fit.t), "held_out": int(fit.is_held_out.sum()), "joints": joints}
    if (payload := payload_of(identified)) is not None:
        centre = [_with_error(x, error) for x, error in zip(payload.centre, payload.centre_errors, strict=True)]
        result["payload"] = {"mass": _with_error(payload.mass, payload.mass_error), "centre": centre}
    if identified.stribeck is not None:
        result["Stribeck_velocity"] = _with_error(identified.stribeck.velocity, identified.stribeck.velocity_error)
    return result


def _with_error(x: float, error: float) -> dict[str, float]:
    return {"value": float(x), "standard_error": float(error)}


def identified_file(identified: Identified, model: RobotModel) -> str:
    """Return a ROS parameter file for all nodes of the arm."""
    parameters = parameters_of_arm(model, identified)
    lines = ["# An identified arm; --params-file takes it.", *_section("/**", parameters)]
    lines.append("# A simulated arm has this friction, too.")
    return "\n".join([*lines, *_section("/**/simulator", parameters_of_plant(identified, parameters))]) + "\n"


def _section(node: str, parameters: list[SavedParameter]) -> list[str]:
    entries = [f"    {one.name}: {yaml_text(one.value)}  # {one.text}" for one in parameters]
    return [f"{node}:", "  ros__parameters:", *entries]


def _measured(x: float, error: float) -> str:
    """A number with its standard error, to two digits of the error."""
    if not error > 0.0:
        return f"{x:.4g}"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{x:.{digits}f} ± {error:.{digits}f}"
