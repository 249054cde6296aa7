"""The arm that a URDF and a few options describe: base, tip, moving joints, and their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arm_control.compiler.sources import source_digest
from arm_control.exceptions import FrameNotFound, JointNotFound, ModelError, UrdfError
from arm_control.maths.poses import Array
from arm_control.model.quantities import reference
from arm_control.model.tree import GRAVITY, Tree, build_tree
from arm_control.model.urdf.load import Urdf, load_urdf
from arm_control.model.urdf.select import select

ALL = "all"


@dataclass(frozen=True)
class Arm:
    """A checked robot description with all options applied.

    Attributes
    ----------
    urdf : Urdf
        The base link and everything below it; only the selected joints move.
    tip : str
        Link of the end effector.
    tree : Tree
        The numbers of the URDF, for the recursions.
    q_min, q_max : ndarray, shape (n,)
        Position limits [rad or m]; infinite for continuous joints.
    v_max, tau_max : ndarray, shape (n,)
        Limits of speed [rad/s or m/s] and effort [N m or N].
    """

    urdf: Urdf
    tip: str
    tree: Tree
    q_min: Array
    q_max: Array
    v_max: Array
    tau_max: Array

    @property
    def identity(self) -> str:
        """Key of everything compiled for the arm: digests of URDF and sources, tip, armature and gravity."""
        numbers = [self.tree.armature.tolist(), self.tree.gravity.tolist()]
        urdf_digest = sha256(self.urdf.text.encode()).hexdigest()
        return f"{urdf_digest} to {self.tip!r}, armature and gravity {numbers}, made by {source_digest()}"


def describe(
    source: str | Path,
    *,
    base: str | None = None,
    tip: str | None = None,
    joints: Sequence[str] | str | None = None,
    locked: Mapping[str, float] | None = None,
    armature: Mapping[str, float] | Sequence[float] | float = 0.0,
    gravity: npt.ArrayLike = GRAVITY,
    effort_limits: Mapping[str, float] | None = None,
    velocity_limits: Mapping[str, float] | None = None,
) -> Arm:
    """Return the arm that a URDF describes.

    Parameters
    ----------
    source, base, tip, joints, locked, armature, gravity, effort_limits, velocity_limits
        As for :meth:`arm_control.RobotModel.from_urdf`.
    """
    whole = load_urdf(source, effort_limits=effort_limits, velocity_limits=velocity_limits)
    tip = _default_tip(whole, base) if tip is None else tip
    moving = _moving_joints(whole, base, tip, joints)
    selection = select(whole, base=base, joints=moving, locked=locked or {})
    urdf = selection.urdf
    if tip not in urdf.robot.link_map:
        raise FrameNotFound(tip, urdf.robot.link_map)
    if not urdf.chain(tip):
        raise ModelError(f"no joint moves '{tip}'; allowed as the tip: a link below a movable joint")
    names = [name for name in urdf.movable_joints if urdf.robot.joint_map[name].mimic is None]
    rotors = _per_joint(armature, names, "armature")
    tree = build_tree(urdf, tip, rotors, selection.R_root_base.T @ _gravity(gravity))
    _refuse_massless(tree)
    return Arm(urdf, tip, tree, *_limits(urdf, names))


def _default_tip(urdf: Urdf, base: str | None) -> str:
    if base is not None and base not in urdf.robot.link_map:
        raise FrameNotFound(base, urdf.robot.link_map)
    below = [link for _, link in urdf.below(urdf.root if base is None else base)]
    leaves = [link for link in below if link in urdf.leaves]
    if "tool0" in below:
        return "tool0"
    if len(leaves) == 1:
        return leaves[0]
    raise ModelError(f"the tip is ambiguous: choose 'tip' from {', '.join(leaves) or 'none'}")


def _moving_joints(urdf: Urdf, base: str | None, tip: str, joints: Sequence[str] | str | None) -> list[str]:
    """Names of the joints to move; by default those between base and tip."""
    base = urdf.root if base is None else base
    below = [name for name, _ in urdf.below(base)]
    if joints is None:
        chain = [name for name in urdf.chain(tip) if name in below]
        leaders = [urdf.robot.joint_map[name].mimic for name in chain]
        moving = [name if mimic is None else mimic.joint for name, mimic in zip(chain, leaders, strict=True)]
    elif isinstance(joints, str):
        if joints != ALL:
            raise ModelError(f"joints is '{joints}'; allowed: a list of names, or '{ALL}'")
        moving = [name for name in urdf.movable_joints if name in below and not urdf.robot.joint_map[name].mimic]
    else:
        moving = list(joints)
    return list(dict.fromkeys(moving))


def _limits(urdf: Urdf, names: Sequence[str]) -> tuple[Array, Array, Array, Array]:
    joints = [urdf.robot.joint_map[name] for name in names]
    ranges = [(-np.inf, np.inf) if j.type == "continuous" else (j.limit.lower, j.limit.upper) for j in joints]
    q_min, q_max = np.array(ranges, dtype=float).T
    return q_min, q_max, *(np.array([getattr(j.limit, x) for j in joints], float) for x in ("velocity", "effort"))


def _gravity(gravity: npt.ArrayLike) -> Array:
    vector = np.asarray(gravity, dtype=float)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(f"gravity is {vector.tolist()}; allowed: three finite numbers [m/s^2]")
    return vector


def _refuse_massless(tree: Tree) -> None:
    """Raise for joints without inertia, alone or in combination: their acceleration would be infinite."""
    M = reference(tree, ["M"], {"q": np.linspace(0.3, 1.2, tree.n)})["M"]
    for name, inertia in zip(tree.joint_names, np.diag(M), strict=True):
        if inertia <= 1e-12:
            raise UrdfError(f"joint '{name}' moves no inertia: give its links an <inertial>, or an armature")
    scale = np.sqrt(np.diag(M))
    values, motions = np.linalg.eigh(M / np.outer(scale, scale))
    if values[0] <= 1e-12:
        names = [name for name, x in zip(tree.joint_names, motions[:, 0], strict=True) if abs(x) > 1e-3]
        raise UrdfError(
            f"joints {', '.join(names)} together move no inertia: give each link an <inertial>, or an armature"
        )


def _per_joint(values: Mapping[str, float] | Sequence[float] | float, names: Sequence[str], quantity: str) -> Array:
    """A number per joint from a mapping by name, a sequence or one number for all; not negative."""
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                raise JointNotFound(name, names)
        values = [values.get(name, 0.0) for name in names]
    array = np.asarray(values, dtype=float)
    if array.shape not in ((), (len(names),)):
        raise ModelError(f"{quantity} has shape {array.shape}; allowed: one number, or {len(names)}")
    array = np.array(np.broadcast_to(array, (len(names),)))
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise ModelError(f"{quantity} is {array.tolist()}; allowed: finite numbers, 0 or more")
    return array
