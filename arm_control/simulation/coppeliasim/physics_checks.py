"""What decides about the physics in CoppeliaSim: set, read back, compared with the model.

Every refusal is a sentence that says what was found and what is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.exceptions import ModelError
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel
from arm_control.model.spatial_vectors import Inertia
from arm_control.model.tree import Body

OLDEST, SIGNED_TORQUE = 40300, 40400
"""Versions of CoppeliaSim: the oldest whose joints are these; the first whose torque has a sign."""
ENGINES = ("bullet", "ode", "vortex", "newton", "mujoco")
ROUNDING = 1e-6
"""How much a time, a time step or a joint position that was set may differ when it is read back."""
MASS_TOLERANCE, GRAVITY_TOLERANCE = 1e-3, 1e-3
"""How much a mass may differ, relative; and gravity [m/s^2]."""
PLACE_TOLERANCE, DIRECTION_TOLERANCE, INERTIA_TOLERANCE = 1e-3, 1e-3, 1e-2
"""How much a centre of mass and an axis may be aside [m]; an axis turned; an inertia differ, of its trace."""


def checked_version(sim: Any) -> int:
    """Return CoppeliaSim's version, such as 40900.

    Raises
    ------
    ModelError
        When it is too old, or cannot create scripts.
    """
    version = int(sim.getInt32Param(sim.intparam_program_version))
    if version < OLDEST:
        raise ModelError(f"this is CoppeliaSim {_dotted(version)}; {_dotted(OLDEST)} or later is needed")
    if not hasattr(sim, "createScript"):
        raise ModelError(
            f"CoppeliaSim {_dotted(version)} cannot create the script that moves the arm:"
            " use a later one, or the script coppeliasim/ros2_bridge.lua"
        )
    return version


def set_engine(sim: Any, name: str, joints: Sequence[int], armature: Array) -> None:
    """Choose the physics engine, and give the joints their armature.

    Raises
    ------
    ModelError
        When CoppeliaSim does not have the engine, or the engine no armature, or keeps another one.
    """
    engines = {getattr(sim, f"physics_{engine}", None): engine for engine in ENGINES}
    wanted = getattr(sim, f"physics_{name}")
    sim.setInt32Param(sim.intparam_dynamic_engine, wanted)
    found = sim.getInt32Param(sim.intparam_dynamic_engine)
    if found != wanted:
        raise ModelError(f"CoppeliaSim stays with the engine {engines.get(found, found)}; {name} is wanted")
    if name != "mujoco":
        if armature.any():
            raise ModelError(f"the engine {name} knows no armature: use mujoco, or a model without")
        return
    for joint, inertia in zip(joints, armature.tolist(), strict=True):
        sim.setEngineFloatParam(sim.mujoco_joint_armature, joint, inertia)
        kept = float(sim.getEngineFloatParam(sim.mujoco_joint_armature, joint))
        if abs(kept - inertia) > ROUNDING * max(1.0, inertia):
            raise ModelError(f"CoppeliaSim keeps an armature of {kept:g} kg m^2; {inertia:g} kg m^2 is wanted")


def set_timestep(sim: Any, seconds: float) -> None:
    """Make a step of the simulation, and one of the engine, this long [s]; not tied to the wall clock.

    Raises
    ------
    ModelError
        When CoppeliaSim keeps another one.
    """
    sim.setBoolParam(sim.boolparam_realtime_simulation, False)
    for name in ("simulation_time_step", "dynamic_step_size"):
        place = getattr(sim, f"floatparam_{name}")
        sim.setFloatParam(place, seconds)
        found = float(sim.getFloatParam(place))
        if abs(found - seconds) > ROUNDING:
            raise ModelError(f"CoppeliaSim keeps {name} at {found:g} s; {seconds:g} s is wanted")


def set_torque_mode(sim: Any, joints: Mapping[str, int], version: int) -> None:
    """Put joints under torque; before 4.4 under velocity, with the torque as its limit.

    Raises
    ------
    ModelError
        When one of them stays as it is.
    """
    mode = sim.jointdynctrl_force if version >= SIGNED_TORQUE else sim.jointdynctrl_velocity
    for name, joint in joints.items():
        sim.setJointMode(joint, sim.jointmode_dynamic, 0)
        found = sim.getJointMode(joint)
        if (found[0] if isinstance(found, (tuple, list)) else found) != sim.jointmode_dynamic:
            raise ModelError(f"the joint {name} is not dynamic in CoppeliaSim")
        sim.setObjectInt32Param(joint, sim.jointintparam_dynctrlmode, mode)
        if sim.getObjectInt32Param(joint, sim.jointintparam_dynctrlmode) != mode:
            raise ModelError(f"the joint {name} is not under torque in CoppeliaSim")


def check_links(model: RobotModel, found: Sequence[Any], q: Sequence[float]) -> None:
    """Compare each joint's axis and what it carries with the model, all seen from the arm's frame F.

    Parameters
    ----------
    model : RobotModel
        The arm.
    found : sequence
        Of each joint what ``arm_links`` of ``coppeliasim/bridge.lua`` tells.
    q : sequence of float
        Joint positions in CoppeliaSim [rad or m].

    Raises
    ------
    ModelError
        When an axis, a mass, a centre of mass or an inertia differs by more than is allowed.
    """
    places: list[Pose] = []
    for body, (joint, *shapes) in zip(model.tree.bodies, found, strict=True):
        X_FP = places[body.parent] if body.parent >= 0 else Pose.identity()
        places.append(X_FP @ body.X_PB(np.asarray(q, dtype=float)))
        _check_axis(body, _transform(joint), places[-1])
        theirs = sum((_inertia(*shape) for shape in shapes), Inertia.zero())
        _check_inertia(f"what {body.name} carries", theirs, body.inertia.in_parent(places[-1]))


def _check_axis(body: Body, theirs: Pose, ours: Pose) -> None:
    z = ours.R[:, 2]
    aside = np.zeros(3) if body.is_prismatic else np.cross(theirs.p - ours.p, z)
    if np.abs(theirs.R[:, 2] - z).max() < DIRECTION_TOLERANCE and np.abs(aside).max() < PLACE_TOLERANCE:
        return
    motion = "slides along" if body.is_prismatic else "turns about"
    raise ModelError(
        f"{body.name} {motion} {_said(theirs.R[:, 2])} through {_said(theirs.p)} m in CoppeliaSim,"
        f" {_said(z)} through {_said(ours.p)} m in the URDF: another arm, or another base_object is meant"
    )


def _check_inertia(what: str, theirs: Inertia, ours: Inertia) -> None:
    if abs(theirs.m - ours.m) > MASS_TOLERANCE * ours.m:
        raise ModelError(
            f"{what} weighs {theirs.m:.6g} kg in CoppeliaSim and {ours.m:.6g} kg in the URDF"
            f" (allowed: {100 * MASS_TOLERANCE:g} %)"
        )
    (c_theirs, J_theirs), (c_ours, J_ours) = _about_centre(theirs), _about_centre(ours)
    if np.abs(c_theirs - c_ours).max() > PLACE_TOLERANCE:
        raise ModelError(
            f"{what} has its centre of mass at {_said(c_theirs)} m in CoppeliaSim and at {_said(c_ours)} m in the URDF"
            f" (allowed: {1e3 * PLACE_TOLERANCE:g} mm)"
        )
    if np.abs(J_theirs - J_ours).max() > INERTIA_TOLERANCE * np.trace(J_ours):
        raise ModelError(
            f"{what} has the inertia {_six(J_theirs)} kg m^2 in CoppeliaSim and {_six(J_ours)} kg m^2 in the URDF"
            f" (xx, yy, zz, xy, xz, yz; allowed: {100 * INERTIA_TOLERANCE:g} % of the sum of the first three)"
        )


def _inertia(m: float, J_c: Sequence[float], centre: Sequence[float], place: Sequence[float]) -> Inertia:
    """Inertia of a shape, seen from the frame in which it is at ``place``."""
    own = Inertia(m, np.zeros(3), np.reshape(np.array(J_c, dtype=float), (3, 3)))
    return own.in_parent(_transform(place) @ _transform(centre))


def _about_centre(inertia: Inertia) -> tuple[Array, Array]:
    """Centre of mass, and inertia about it."""
    c = inertia.h / inertia.m
    return c, inertia.in_parent(Pose(np.eye(3), -c)).J


def _transform(rows: Sequence[float]) -> Pose:
    matrix = np.reshape(np.array(rows, dtype=float), (3, 4))
    return Pose(matrix[:, :3], matrix[:, 3])


def _said(values: Array) -> list[float]:
    return (values.round(4) + 0.0).tolist()


def _six(J: Array) -> str:
    J = J.round(9) + 0.0
    return "[" + ", ".join(f"{J[i, j]:.4g}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))) + "]"


def check_gravity(model: RobotModel, g: Sequence[float], R_WF: Array) -> None:
    """Compare gravity, seen from the arm's frame F, with the model's.

    Raises
    ------
    ModelError
        When it differs by more than :data:`GRAVITY_TOLERANCE`.
    """
    seen = R_WF.T @ np.array(g, dtype=float)
    if np.abs(seen - model.gravity_W).max() > GRAVITY_TOLERANCE:
        raise ModelError(
            f"gravity is {seen.round(4).tolist()} m/s^2 in CoppeliaSim and {model.gravity_W.tolist()} in the model"
        )


def _dotted(version: int) -> str:
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"
