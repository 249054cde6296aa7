"""What decides about the physics in CoppeliaSim: set, read back, compared with the model.

Every refusal is a sentence that says what was found and what is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.exceptions import ModelError
from arm_control.model import RobotModel
from arm_control.spatial import Array

OLDEST, SIGNED_TORQUE = 40300, 40400
"""Versions of CoppeliaSim: the oldest whose joints are these; the first whose torque has a sign."""
ENGINES = ("bullet", "ode", "vortex", "newton", "mujoco")
ROUNDING = 1e-6
"""How much a time, a time step or a joint position that was set may differ when it is read back."""
MASS_TOLERANCE, GRAVITY_TOLERANCE = 1e-3, 1e-3
"""How much a mass may differ, relative; and gravity [m/s^2]."""


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
        When CoppeliaSim does not have the engine, or the engine no armature.
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


def check_masses(model: RobotModel, found: Sequence[float]) -> None:
    """Compare what each joint carries, and the whole arm, with the model.

    Raises
    ------
    ModelError
        When a mass differs by more than :data:`MASS_TOLERANCE`.
    """
    wanted = {body.name: float(body.inertia.m) for body in model.tree.bodies}
    pairs = [(f"what {name} carries", m, wanted[name]) for name, m in zip(model.joint_names, found, strict=True)]
    for what, theirs, ours in [*pairs, ("all that moves", sum(found), model.mass)]:
        if abs(theirs - ours) > MASS_TOLERANCE * ours:
            raise ModelError(
                f"{what} weighs {theirs:.6g} kg in CoppeliaSim and {ours:.6g} kg in the URDF"
                f" (allowed: {100 * MASS_TOLERANCE:g} %)"
            )


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
