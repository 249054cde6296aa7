"""Identification of an arm from a recording: what is searched for, and what is written down of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from arm_control.core import SavedParameter
from arm_control.exceptions import InputError
from arm_control.identification.momentum_regressor import (
    N_PARAMETERS,
    BodyParameters,
    LinkInertias,
    PointMass,
    inertia_of,
    own_frame,
)
from arm_control.identification.stribeck_friction import SPEEDS, StribeckFit, StribeckFriction, stribeck_fit
from arm_control.identification.torque_fit import TorqueFit, fit_torque
from arm_control.identification.torque_rows import JointRecording, torque_rows
from arm_control.maths import Array
from arm_control.model import Frame, Inertia, RobotModel, with_inertias

HALF = 0.1
"""Half of a window [s]."""
PAYLOAD, LINKS, NOTHING = "payload", "links", "nothing"
BODIES = (PAYLOAD, LINKS, NOTHING)
"""What may be searched for among the inertias."""
SIGNIFICANT = 2.0
"""A payload whose mass is fewer standard errors than this is none; Stribeck friction, by the mean of all joints."""


@dataclass(frozen=True)
class Identified:
    """An identified arm.

    Attributes
    ----------
    bodies : str
        One of :data:`BODIES`.
    has_scale : bool
        Whether the effort is no torque.
    stribeck : StribeckFit, optional
        Stribeck friction; None where there is none, or it was not searched for.
    """

    fit: TorqueFit
    bodies: str
    has_scale: bool
    stribeck: StribeckFit | None = None


class Payload(NamedTuple):
    """A payload: mass [kg], centre of mass in the tip's frame (3,) [m], and their standard errors."""

    mass: float
    centre: Array
    mass_error: float
    centre_errors: Array


def identify(
    model: RobotModel,
    recording: JointRecording,
    bodies: str = PAYLOAD,
    *,
    fits_scale: bool = False,
    fits_stribeck: bool = False,
    half: float = HALF,
) -> Identified:
    """Identify the motors of an arm, and a payload or its links.

    Parameters
    ----------
    bodies : str
        One of :data:`BODIES`. A payload that is not significant is left out.
    fits_scale : bool
        Whether the effort is no torque; then the inertias are those of the URDF.
    fits_stribeck : bool
        Whether Stribeck friction is searched for; what is not significant is left out.

    Raises
    ------
    InputError
        When the recording is too short, no joint moves, or a scale is searched for beside bodies or Stribeck friction.
    """
    if fits_scale and bodies != NOTHING:
        raise InputError(f"an effort of unknown scale tells no masses: {bodies} cannot be identified from it")
    if fits_scale and fits_stribeck:
        raise InputError("an effort of unknown scale tells no Stribeck friction")
    search = partial(_fit, model, recording, half, fits_stribeck)
    if bodies == LINKS:
        links = LinkInertias([body.inertia for body in model.tree.bodies])
        fit, stribeck = search([own_frame(i) for i in range(len(model.tree.bodies))], links, is_whole=True)
        return Identified(fit, bodies, False, stribeck)
    if bodies == PAYLOAD:
        fit, stribeck = search([model.tree.tip], PointMass())
        if fit.x[0] > SIGNIFICANT * fit.x_errors[0]:
            return Identified(fit, bodies, False, stribeck)
    fit, stribeck = search([], LinkInertias([]), fits_scale=fits_scale)
    return Identified(fit, NOTHING, fits_scale, stribeck)


def _fit(
    model: RobotModel,
    recording: JointRecording,
    half: float,
    fits_stribeck: bool,
    frames: list[Frame],
    bodies: BodyParameters,
    *,
    is_whole: bool = False,
    fits_scale: bool = False,
) -> tuple[TorqueFit, StribeckFit | None]:
    """Return a fit whose x are those of the bodies, and the Stribeck friction."""
    if fits_stribeck:
        rows = torque_rows(model, recording, frames, half, has_stribeck=True)
        sizes = np.sqrt(np.square(rows.tau).mean(axis=0))
        fit = fit_torque(rows, StribeckFriction(sizes, bodies), is_whole=is_whole, slow=0.0)
        stribeck = stribeck_fit(fit.x, fit.x_errors, sizes)
        n, own = 1 + len(sizes), len(sizes) * len(SPEEDS)
        if np.square(stribeck.friction / stribeck.friction_errors).sum() > n * SIGNIFICANT**2:
            return replace(fit, x=fit.x[n:], x_errors=fit.x_errors[n:], bodies=fit.bodies[own:]), stribeck
    rows = torque_rows(model, recording, frames, half)
    return fit_torque(rows, bodies, is_whole=is_whole, fits_scale=fits_scale), None


def payload_of(identified: Identified) -> Payload | None:
    """Return the payload; None where there is none."""
    fit = identified.fit
    if identified.bodies != PAYLOAD:
        return None
    return Payload(float(fit.x[0]), fit.x[1:], float(fit.x_errors[0]), fit.x_errors[1:])


def links_of(identified: Identified) -> list[Inertia]:
    """Return the identified inertia of each body, in its own frame; none where they were not searched for."""
    if identified.bodies != LINKS:
        return []
    return [inertia_of(parameters) for parameters in identified.fit.bodies.reshape(-1, N_PARAMETERS)]


def identified_urdf(model: RobotModel, identified: Identified) -> str:
    """Return the URDF of the arm with the identified links.

    Each body's inertia is that of the link that its joint carries; links fixed to it have none.
    """
    carriers = [model.urdf.robot.joint_map[body.name].child for body in model.tree.bodies]
    inertias = {name: Inertia.zero() for name, frame in model.tree.frames.items() if frame.body >= 0}
    for link, inertia in zip(carriers, links_of(identified), strict=True):
        inertias[link] = inertia.in_parent(model.tree.frames[link].X_BF.inverse())
    return with_inertias(model.urdf, inertias).text


def parameters_of_arm(model: RobotModel, identified: Identified) -> list[SavedParameter]:
    """Return parameters of all nodes of the arm; what was not identified is as in the model."""
    fit = identified.fit
    before = np.stack([model.armature, model.coulomb, model.viscous], axis=1)
    motor = np.where(fit.is_identified[:, :3], fit.motor[:, :3], before)
    rotors, coulomb, viscous = ([_rounded(x) for x in column] for column in motor.T)
    parameters = [
        SavedParameter("armature", rotors, f"rotor inertia [kg m^2 or kg] of {', '.join(model.joint_names)}"),
        SavedParameter("coulomb_friction", coulomb, "[N m or N]"),
        SavedParameter("viscous_friction", viscous, "[N m s/rad or N s/m]"),
    ]
    payload = payload_of(identified)
    if payload is not None:
        centre = [_rounded(x) for x in payload.centre]
        parameters.append(SavedParameter("payload_mass", _rounded(payload.mass), "[kg]"))
        parameters.append(SavedParameter("payload_centre", centre, f"in the frame of {model.tip} [m]"))
    return parameters


def parameters_of_plant(identified: Identified, parameters: list[SavedParameter]) -> list[SavedParameter]:
    """Return parameters of the simulator, so that the simulated arm has the friction of the real one."""
    names = {"coulomb_friction": "plant.coulomb", "viscous_friction": "plant.viscous"}
    plant = [SavedParameter(names[one.name], one.value, one.text) for one in parameters if one.name in names]
    if (stribeck := identified.stribeck) is not None and stribeck.is_identified.any():
        friction = [_rounded(x) for x in np.where(stribeck.is_identified, stribeck.friction, 0.0)]
        plant.append(SavedParameter("plant.stribeck", friction, "[N m or N]"))
        plant.append(SavedParameter("plant.stribeck_velocity", _rounded(stribeck.velocity), "[rad/s or m/s]"))
    return plant


def _rounded(x: float) -> float:
    """Five significant digits: more than any recording tells."""
    return float(f"{x:.5g}")
