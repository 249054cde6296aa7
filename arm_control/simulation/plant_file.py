"""Any MJCF as a simulated arm: joints matched by name, servos replaced by motors, differences to the model listed.

A joint of the file is one of the model where the names are equal, or where one of them is the end or the beginning of
the other, up to a ``_``, ``-`` or ``/`` (``joint1`` and ``panda_joint1``); or the names are given. All other joints of
the file are locked where they are; its actuators, sensors, couplings and keyframes go. Its bodies, armature, friction,
damping, springs, ranges and force limits stay. The file is put where the model has its base: with the axes a_i of the
joints at zero, and points p_i on them,

    (1)  R = argmin sum |R b_i - c_i|^2     b, c: axes, and offsets of parallel axes, of the file and of the model
    (2)  p = argmin sum |c_i x (p + R p_i - p_i')|^2

A file whose axes are more than 10 degrees off, or a tenth of the arm, is another arm, or has other zero positions, and
is refused.

Source: G. Wahba, "A least squares estimate of satellite attitude", 1965, for (1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import MissingExtra, ModelError
from arm_control.maths import Array, Obstacle, Pose, quaternion_from_rotation, skew
from arm_control.model import RobotModel
from arm_control.simulation.mujoco_simulator import make_changeable
from arm_control.simulation.tip_contact import add_ball, add_solids, remove_contacts

try:
    import mujoco
except ImportError as error:
    raise MissingExtra("mujoco", "mujoco") from error

SEPARATORS = "_-/"
"""Between the parts of a name."""
OTHER_ARM = np.radians(10.0)
"""Largest angle between the axes of a joint in the file and in the model [rad]."""
OTHER_SHARE = 0.1
"""Largest distance between them, as a share of the extent of the model's joints."""
NOTABLE = 0.01
"""Relative difference of a number that is listed."""
NOTABLE_WAY, NOTABLE_ANGLE = 1e-4, 1e-3
"""Difference of the axes that is listed [m, rad]."""


class Axes(NamedTuple):
    """Axes of joints at zero: a point on each, and its direction, shape (n, 3) each [m]."""

    p: Array
    a: Array

    def moved(self, X: Pose) -> Axes:
        """Return the axes after a motion."""
        return Axes(self.p @ X.R.T + X.p, self.a @ X.R.T)


def read_plant_file(
    path: str,
    model: RobotModel,
    timestep: float,
    names: Sequence[str] = (),
    solids: Sequence[Obstacle] = (),
    *,
    has_links: bool = False,
) -> tuple[mujoco.MjModel, tuple[str, ...]]:
    """Read an arm from an MJCF: one motor for each joint, by the names of the model; and how it differs, in lines.

    Parameters
    ----------
    timestep : float
        Duration of one step [s].
    names : sequence of str
        Names that the joints have in the file, in the model's order; empty: found by likeness.
    has_links : bool
        Whether the file's own shapes touch, too, as the file says.

    Raises
    ------
    ModelError
        When MuJoCo refuses the file, or it is not this arm: joints are missing, of another kind, or their axes differ.
    """
    try:
        spec = mujoco.MjSpec.from_file(path)
        make_changeable(spec)
        forces = _force_limits(spec)
        theirs = _match(path, spec, model, names)
        locked = _reduce(spec, model, theirs)
        compiled = spec.compile()
        X = _alignment(_axes_of_file(compiled, model), _axes_of_model(model))
        _move_base(spec, X)
        _add_motors(spec, model, {own: forces.get(name, 0.0) for own, name in theirs.items()})
        _set_options(spec, model, timestep, has_contacts=bool(solids) or has_links)
        if not has_links:
            remove_contacts(spec)
        compiled = spec.compile()
        if solids:
            body = spec.joint(model.urdf.chain(model.tip)[-1]).parent
            add_ball(spec, body, (_body_pose(compiled, body.name).inverse() @ model.pose(np.zeros(model.nq))).p)
            add_solids(spec, solids)
            compiled = spec.compile()
    except ModelError:
        raise
    except (ValueError, OSError) as error:
        raise ModelError(f"plant file {path}: {' '.join(str(error).split())}") from error
    lines = _differences(path, compiled, model)
    if locked:
        lines.append(f"joints that the model does not have, locked: {', '.join(locked)}")
    return compiled, tuple(lines)


def _match(path: str, spec: mujoco.MjSpec, model: RobotModel, names: Sequence[str]) -> dict[str, str]:
    """Name in the file of each joint of the model."""
    theirs = [joint.name for joint in spec.joints if joint.name]
    if names and len(names) != model.nq:
        raise ModelError(f"{len(names)} names of joints in plant file {path}: {model.nq} are needed")
    pairs = zip(model.joint_names, names or model.joint_names, strict=True)
    found = {own: _namesakes(name, theirs) for own, name in pairs}
    missing = [own for own, likely in found.items() if len(likely) != 1]
    if missing or len({likely[0] for likely in found.values()}) < len(found):
        wanted = ", ".join(missing or model.joint_names)
        raise ModelError(f"plant file {path} lacks the joints {wanted}; it has {', '.join(theirs) or 'none'}")
    kinds = {"prismatic": mujoco.mjtJoint.mjJNT_SLIDE}
    matches = {own: likely[0] for own, likely in found.items()}
    for own, name in matches.items():
        kind = model.urdf.robot.joint_map[own].type
        if spec.joint(name).type != kinds.get(kind, mujoco.mjtJoint.mjJNT_HINGE):
            raise ModelError(f"plant file {path}: joint {name} is not {kind}, as it is in the model")
    return matches


def _namesakes(name: str, others: Sequence[str]) -> list[str]:
    """Equal names; else those of which one is the end or the beginning of the other."""
    equal = [other for other in others if other == name]
    return equal or [other for other in others if _is_part(name, other) or _is_part(other, name)]


def _is_part(short: str, long: str) -> bool:
    return any(long.endswith(f"{mark}{short}") or long.startswith(f"{short}{mark}") for mark in SEPARATORS)


def _force_limits(spec: mujoco.MjSpec) -> dict[str, float]:
    """Largest force of each joint with a limit of it [N m or N]."""
    limits = {joint.name: float(joint.actfrcrange[1]) for joint in spec.joints if joint.actfrcrange[1] > 0.0}
    for actuator in spec.actuators:
        gear = abs(float(actuator.gear[0]))
        if actuator.trntype == mujoco.mjtTrn.mjTRN_JOINT and actuator.forcerange[1] > 0.0:
            limits.setdefault(actuator.target, gear * float(actuator.forcerange[1]))
    return limits


def _reduce(spec: mujoco.MjSpec, model: RobotModel, names: Mapping[str, str]) -> list[str]:
    """Take away all but the bodies and the model's joints, which get the model's names; return the locked joints."""
    for parts in (spec.actuators, spec.sensors, spec.keys, spec.equalities, spec.tendons):
        for part in list(parts):
            spec.delete(part)
    own_names = {theirs: own for own, theirs in names.items()}
    locked = []
    for joint in list(spec.joints):
        if joint.name in own_names:
            joint.name = own_names[joint.name]
        else:
            locked.append(joint.name or "one without a name")
            spec.delete(joint)
    for body in spec.bodies:
        body.gravcomp = 0.0
    return locked


def _add_motors(spec: mujoco.MjSpec, model: RobotModel, forces: Mapping[str, float]) -> None:
    for name, tau_max in zip(model.joint_names, model.tau_max, strict=True):
        limit = forces[name] or (tau_max if np.isfinite(tau_max) else 0.0)
        joint = spec.joint(name)
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_TRUE if limit else mujoco.mjtLimited.mjLIMITED_FALSE
        joint.actfrcrange = -limit, limit
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()


def _set_options(spec: mujoco.MjSpec, model: RobotModel, timestep: float, *, has_contacts: bool) -> None:
    spec.option.timestep = timestep
    spec.option.gravity = model.gravity_W
    spec.option.enableflags = 0
    spec.option.disableflags = 0 if has_contacts else int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


def _body_pose(compiled: mujoco.MjModel, name: str) -> Pose:
    """Pose of a body in the world with all joints at zero."""
    body = _at_zero(compiled).body(name)
    return Pose(body.xmat.reshape(3, 3).copy(), body.xpos.copy())


def _at_zero(compiled: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(compiled)
    data.qpos[:] = 0.0
    mujoco.mj_forward(compiled, data)
    return data


def _axes_of_file(compiled: mujoco.MjModel, model: RobotModel) -> Axes:
    data, joints = _at_zero(compiled), [compiled.joint(name).id for name in model.joint_names]
    return Axes(data.xanchor[joints].copy(), data.xaxis[joints].copy())


def _axes_of_model(model: RobotModel) -> Axes:
    q = np.zeros(model.nq)
    joints = [model.urdf.robot.joint_map[name] for name in model.joint_names]
    poses = [model.pose(q, joint.child) for joint in joints]
    axes = [X.R @ joint.axis for X, joint in zip(poses, joints, strict=True)]
    return Axes(np.array([X.p for X in poses]), np.array([a / np.linalg.norm(a) for a in axes]))


def _alignment(theirs: Axes, own: Axes) -> Pose:
    """Motion that brings the file's axes to the model's, equations (1) and (2)."""
    b, c = (np.vstack([axes.a, _offsets(axes)]) for axes in (theirs, own))
    U, _, Vt = np.linalg.svd(c.T @ b)
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt  # (1)
    turned = theirs.moved(Pose(R, np.zeros(3)))
    A = np.vstack([skew(a) for a in own.a])
    rhs = np.concatenate([np.cross(a, p - p_1) for a, p, p_1 in zip(own.a, own.p, turned.p, strict=True)])
    return Pose(R, np.linalg.lstsq(A, rhs, rcond=None)[0])  # (2)


def _offsets(axes: Axes) -> Array:
    """Offset of each axis from the one before where both are parallel, of length 1, else zero; shape (n - 1, 3)."""
    rows = []
    for i in range(1, len(axes.a)):
        d = axes.p[i] - axes.p[i - 1]
        d = d - (d @ axes.a[i]) * axes.a[i]
        length = np.linalg.norm(d)
        is_parallel = abs(axes.a[i] @ axes.a[i - 1]) > np.cos(OTHER_ARM) and length > NOTABLE_WAY
        rows.append(d / length if is_parallel else np.zeros(3))
    return np.array(rows).reshape(-1, 3)


def _move_base(spec: mujoco.MjSpec, X: Pose) -> None:
    """Move all that stands in the world."""
    x, y, z, w = quaternion_from_rotation(X.R)
    frame = spec.worldbody.add_frame(pos=X.p, quat=[w, x, y, z])
    for part in [*spec.worldbody.frames, *spec.worldbody.bodies, *spec.worldbody.geoms]:
        if part != frame and part.frame is None:
            part.set_frame(frame)


def _differences(path: str, compiled: mujoco.MjModel, model: RobotModel) -> list[str]:
    """Return one line for each kind of difference; where another arm is in the file, raise."""
    lines = _differing_axes(path, _axes_of_file(compiled, model), _axes_of_model(model), model)
    first = int(compiled.joint(model.joint_names[0]).bodyid[0])
    mass, own_mass = float(compiled.body_subtreemass[first]), sum(body.inertia.m for body in model.tree.bodies)
    if abs(mass - own_mass) > NOTABLE * own_mass:
        lines.append(f"mass of the moving links: {mass:.3g} kg instead of {own_mass:.3g} kg")
    dofs, joints = _dofs(compiled, model), [compiled.joint(name).id for name in model.joint_names]
    data, zero, weight = _at_zero(compiled), np.zeros(model.nv), model.gravity(np.zeros(model.nq))
    numbers = {
        "weight at zero [N m]": (_notable(data.qfrc_bias[dofs], weight, model.tau_max), weight),
        "armature [kg m^2]": (compiled.dof_armature[dofs], model.armature),
        "friction [N m]": (compiled.dof_frictionloss[dofs], zero),
        "damping [N m s/rad]": (compiled.dof_damping[dofs], zero),
        "stiffness of springs [N m/rad]": (compiled.jnt_stiffness[joints], zero),
        "effort limit [N m]": (compiled.jnt_actfrcrange[joints, 1], model.tau_max),
        **_ranges(compiled, model, joints),
    }
    return lines + [line for title, (theirs, own) in numbers.items() if (line := _line(title, theirs, own, model))]


def _notable(x: Array, own: Array, scale: Array) -> Array:
    """Numbers that differ from the model's by a share of a scale; in place of the others those of the model."""
    return np.where(np.abs(x - own) > NOTABLE * np.where(np.isfinite(scale), scale, 1.0), x, own)


def _ranges(compiled: mujoco.MjModel, model: RobotModel, joints: list[int]) -> dict[str, tuple[Array, Array]]:
    limited = compiled.jnt_limited[joints].astype(bool)
    low, high = (np.where(limited, compiled.jnt_range[joints, side], sign * np.inf) for side, sign in ((0, -1), (1, 1)))
    return {"lower limit [rad]": (low, model.q_min), "upper limit [rad]": (high, model.q_max)}


def _line(title: str, theirs: Array, own: Array, model: RobotModel) -> str:
    """Name the joints whose numbers differ; empty where none does."""
    scale = max(float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in (theirs, own))
    differs = [
        f"{name} {x:.3g} instead of {y:.3g}"
        for name, x, y in zip(model.joint_names, theirs, own, strict=True)
        if x != y and not abs(x - y) <= NOTABLE * max(abs(y) if np.isfinite(y) else 0.0, NOTABLE * scale)
    ]
    return f"{title}: {', '.join(differs)}" if differs else ""


def _differing_axes(path: str, theirs: Axes, own: Axes, model: RobotModel) -> list[str]:
    angles = np.arccos(np.clip(np.sum(theirs.a * own.a, axis=1), -1.0, 1.0))
    ways = np.linalg.norm(np.cross(own.a, theirs.p - own.p), axis=1)
    off = ""
    if angles.max() > OTHER_ARM:
        off = f"{model.joint_names[np.argmax(angles)]} is {np.degrees(angles.max()):.0f} degrees"
    elif ways.max() > OTHER_SHARE * np.ptp(own.p, axis=0).max() + NOTABLE_WAY:
        off = f"{model.joint_names[np.argmax(ways)]} is {1e3 * ways.max():.0f} mm"
    if off:
        raise ModelError(f"plant file {path} is another arm, or has another zero: the axis of {off} off the model's")
    if ways.max() < NOTABLE_WAY and angles.max() < NOTABLE_ANGLE:
        return []
    return [f"axes of the joints: up to {1e3 * ways.max():.2g} mm and {np.degrees(angles.max()):.2g} degrees off"]


def _dofs(compiled: mujoco.MjModel, model: RobotModel) -> list[int]:
    return [int(compiled.joint(name).dofadr[0]) for name in model.joint_names]
