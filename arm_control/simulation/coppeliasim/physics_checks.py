"""Settings of CoppeliaSim that affect the physics: written, read back, compared with the model.

Every error has both values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.exceptions import ModelError
from arm_control.maths import Array, Pose
from arm_control.model import Body, Inertia, RobotModel
from arm_control.simulation.plant_properties import about_centre

MIN_VERSION = 40600
"""Oldest version of CoppeliaSim that creates scripts for other programs."""
ENGINES = ("bullet", "ode", "vortex", "newton", "mujoco")
ROUNDING = 1e-6
"""Largest difference of a time [s], a time step [s] or a joint position [rad or m] that is read back."""
MASS_TOLERANCE = 1e-3
"""Largest relative difference of a mass."""
GRAVITY_TOLERANCE = 1e-3
"""Largest difference of gravity [m/s^2]."""
POSITION_TOLERANCE = 1e-3
"""Largest difference of a centre of mass or the position of an axis [m]."""
DIRECTION_TOLERANCE = 1e-3
"""Largest difference of an axis' unit vector."""
INERTIA_TOLERANCE = 1e-2
"""Largest difference of an inertia, as a share of its trace."""


def checked_version(sim: Any) -> int:
    """Return CoppeliaSim's version, such as 40900; a ModelError where it cannot create scripts."""
    version = int(sim.getInt32Param(sim.intparam_program_version))
    if version < MIN_VERSION or not hasattr(sim, "createScript"):
        raise ModelError(
            f"this is CoppeliaSim {_dotted(version)}, which cannot create the script that moves the arm:"
            f" {_dotted(MIN_VERSION)} or later is needed, or the script coppeliasim/ros2_bridge.lua"
        )
    return version


def set_engine(sim: Any, name: str, joints: Sequence[int], armature: Array) -> None:
    """Set the physics engine, and the armature of the joints.

    A ModelError where CoppeliaSim does not have the engine, the engine has no armature, or another value is read back.

    Parameters
    ----------
    name : str
        The engine, one of :data:`ENGINES`.
    armature : ndarray, shape (nv,)
        Armature of the joints [kg m^2 or kg].
    """
    engines = {getattr(sim, f"physics_{engine}", None): engine for engine in ENGINES}
    number = getattr(sim, f"physics_{name}")
    sim.setInt32Param(sim.intparam_dynamic_engine, number)
    active = sim.getInt32Param(sim.intparam_dynamic_engine)
    if active != number:
        raise ModelError(f"CoppeliaSim keeps the engine {engines.get(active, active)}; needed: {name}")
    if name != "mujoco":
        if armature.any():
            raise ModelError(f"the engine {name} has no armature: use mujoco, or a model without armature")
        return
    for joint, inertia in zip(joints, armature.tolist(), strict=True):
        sim.setEngineFloatParam(sim.mujoco_joint_armature, joint, inertia)
        kept = float(sim.getEngineFloatParam(sim.mujoco_joint_armature, joint))
        if abs(kept - inertia) > ROUNDING * max(1.0, inertia):
            raise ModelError(f"CoppeliaSim keeps an armature of {kept:g} kg m^2; needed: {inertia:g} kg m^2")


def set_timestep(sim: Any, seconds: float) -> None:
    """Set the time step of the simulation and of the engine [s], and switch real time off.

    A ModelError where another value is read back.
    """
    sim.setBoolParam(sim.boolparam_realtime_simulation, False)
    for name in ("simulation_time_step", "dynamic_step_size"):
        parameter = getattr(sim, f"floatparam_{name}")
        sim.setFloatParam(parameter, seconds)
        kept = float(sim.getFloatParam(parameter))
        if abs(kept - seconds) > ROUNDING:
            raise ModelError(f"CoppeliaSim keeps {name} at {kept:g} s; needed: {seconds:g} s")


def set_torque_mode(sim: Any, joints: Mapping[str, int]) -> None:
    """Put joints under torque control; a ModelError where another mode is read back."""
    mode = sim.jointdynctrl_force
    for name, joint in joints.items():
        sim.setJointMode(joint, sim.jointmode_dynamic, 0)
        kept = sim.getJointMode(joint)
        if (kept[0] if isinstance(kept, (tuple, list)) else kept) != sim.jointmode_dynamic:
            raise ModelError(f"the joint {name} is not dynamic in CoppeliaSim")
        sim.setObjectInt32Param(joint, sim.jointintparam_dynctrlmode, mode)
        if sim.getObjectInt32Param(joint, sim.jointintparam_dynctrlmode) != mode:
            raise ModelError(f"the joint {name} is not under torque in CoppeliaSim")


def check_simulated(sim: Any, joints: Mapping[str, int]) -> None:
    """Check, after a step, that the engine moves the joints.

    CoppeliaSim keeps an engine whose plugin is missing; nothing moves then, and nothing is an error.

    A ModelError where some of them stand still.
    """
    still = [name for name, joint in joints.items() if not sim.isDynamicallyEnabled(joint)]
    if still:
        raise ModelError(
            f"CoppeliaSim does not simulate {', '.join(still)}: the plugin of its engine is missing, its dynamics"
            " are switched off, or the joint is not between two shapes of which the second is dynamic"
        )


def check_links(model: RobotModel, links: Sequence[Any], q: Sequence[float]) -> None:
    """Compare each joint's axis, and the inertia of its link, with the model, in the arm's frame F.

    A ModelError where an axis, a mass, a centre of mass or an inertia differs by more than is allowed.

    Parameters
    ----------
    links : sequence
        Result of ``arm_links`` of ``coppeliasim/bridge.lua`` for each joint.
    q : sequence of float
        Joint positions in CoppeliaSim [rad or m].
    """
    X_FBs: list[Pose] = []
    for body, (joint, *shapes) in zip(model.tree.bodies, links, strict=True):
        X_FP = X_FBs[body.parent] if body.parent >= 0 else Pose.identity()
        X_FBs.append(X_FP @ body.X_PB(np.asarray(q, dtype=float)))
        _check_axis(body, _transform(joint), X_FBs[-1])
        theirs = sum((_inertia(*shape) for shape in shapes), Inertia.zero())
        _check_inertia(f"what {body.name} carries", theirs, body.inertia.in_parent(X_FBs[-1]))


def _check_axis(body: Body, theirs: Pose, ours: Pose) -> None:
    z = ours.R[:, 2]
    aside = np.zeros(3) if body.is_prismatic else np.cross(theirs.p - ours.p, z)
    if np.abs(theirs.R[:, 2] - z).max() < DIRECTION_TOLERANCE and np.abs(aside).max() < POSITION_TOLERANCE:
        return
    motion = "slides along" if body.is_prismatic else "turns about"
    raise ModelError(
        f"{body.name} {motion} {_rounded(theirs.R[:, 2])} through {_rounded(theirs.p)} m in CoppeliaSim,"
        f" {_rounded(z)} through {_rounded(ours.p)} m in the URDF: is it another arm, or is base_object wrong?"
    )


def _check_inertia(what: str, theirs: Inertia, ours: Inertia) -> None:
    if abs(theirs.m - ours.m) > MASS_TOLERANCE * ours.m:
        raise ModelError(
            f"{what} weighs {theirs.m:.6g} kg in CoppeliaSim and {ours.m:.6g} kg in the URDF"
            f" (allowed: {100 * MASS_TOLERANCE:g} %)"
        )
    (c_theirs, J_theirs), (c_ours, J_ours) = about_centre(theirs), about_centre(ours)
    if np.abs(c_theirs - c_ours).max() > POSITION_TOLERANCE:
        raise ModelError(
            f"{what} has its centre of mass at {_rounded(c_theirs)} m in CoppeliaSim"
            f" and at {_rounded(c_ours)} m in the URDF"
            f" (allowed: {1e3 * POSITION_TOLERANCE:g} mm)"
        )
    if np.abs(J_theirs - J_ours).max() > INERTIA_TOLERANCE * np.trace(J_ours):
        raise ModelError(
            f"{what} has the inertia {_six(J_theirs)} kg m^2 in CoppeliaSim and {_six(J_ours)} kg m^2 in the URDF"
            f" (xx, yy, zz, xy, xz, yz; allowed: {100 * INERTIA_TOLERANCE:g} % of the sum of the first three)"
        )


def _inertia(m: float, J_c: Sequence[float], centre: Sequence[float], place: Sequence[float]) -> Inertia:
    """Return the inertia of a shape in the frame F, from its mass [kg] and J_c about its centre of mass [kg m^2].

    J_c is 3 x 3, row by row; the poses of the centre in the shape's frame, and of the shape in F, three rows of four.
    """
    own = Inertia(m, np.zeros(3), np.reshape(np.array(J_c, dtype=float), (3, 3)))
    return own.in_parent(_transform(place) @ _transform(centre))


def _transform(rows: Sequence[float]) -> Pose:
    matrix = np.reshape(np.array(rows, dtype=float), (3, 4))
    return Pose(matrix[:, :3], matrix[:, 3])


def _rounded(values: Array) -> list[float]:
    return (values.round(4) + 0.0).tolist()


def _six(J: Array) -> str:
    J = J.round(9) + 0.0
    return "[" + ", ".join(f"{J[i, j]:.4g}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))) + "]"


def check_gravity(model: RobotModel, g: Sequence[float], R_WF: Array) -> None:
    """Compare gravity in the arm's frame F with the model's.

    A ModelError where it differs by more than :data:`GRAVITY_TOLERANCE`.

    Parameters
    ----------
    g : sequence of float
        Gravity in CoppeliaSim's world [m/s^2].
    R_WF : ndarray, shape (3, 3)
        Orientation of F in that world.
    """
    g_F = R_WF.T @ np.array(g, dtype=float)
    if np.abs(g_F - model.gravity_W).max() > GRAVITY_TOLERANCE:
        raise ModelError(
            f"gravity is {g_F.round(4).tolist()} m/s^2 in CoppeliaSim and {model.gravity_W.tolist()} in the model"
        )


def _dotted(version: int) -> str:
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"
