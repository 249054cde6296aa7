"""The arm that a URDF and a few options describe: base, tip, moving joints, and their limits."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.compiler import source_digest
from arm_control.exceptions import FrameNotFound, JointNotFound, ModelError, UrdfError
from arm_control.maths import Array
from arm_control.model.quantities import reference
from arm_control.model.tree import GRAVITY, Tree, build_tree
from arm_control.model.urdf.changes import select, with_payload
from arm_control.model.urdf.facts import Facts, Part, choose_part, read_facts
from arm_control.model.urdf.load import Urdf, folders_of, friction_in, load_text, read_source
from arm_control.model.urdf.warnings import find_warnings
from arm_control.model.urdf.xml import read_robot

PerJoint: TypeAlias = Mapping[str, float] | Sequence[float] | float
"""A number for each joint: by name, in the order of the joints, or one for all."""
NUMBERS = ("q_min", "q_max", "v_max", "tau_max", "coulomb", "viscous")
"""Arrays of an arm that belong to who asked for it."""
N_POSTURES = 9
"""Postures in which the mass matrix is checked."""


@dataclass(frozen=True)
class Arm:
    """A checked robot description with all options applied.

    Attributes
    ----------
    urdf : Urdf
        The base link and everything below it; only the selected joints move.
    q_min, q_max : ndarray, shape (n,)
        Position limits [rad or m]; infinite for continuous joints.
    v_max, tau_max : ndarray, shape (n,)
        Limits of speed [rad/s or m/s] and effort [N m or N].
    coulomb, viscous : ndarray, shape (n,)
        Friction of the joints [N m or N], [N m s/rad or N s/m].
    has_dynamics : bool
        Whether masses and these limits count; false for kinematics alone.
    warnings : tuple of str
        What is wrong in the description without harm, or implausible; a sentence for each cause.
    """

    urdf: Urdf
    tip: str
    tree: Tree
    q_min: Array
    q_max: Array
    v_max: Array
    tau_max: Array
    coulomb: Array
    viscous: Array
    has_dynamics: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """Key of everything compiled for the arm: digests of URDF and sources, tip, armature and gravity."""
        numbers = [self.tree.armature.tolist(), self.tree.gravity.tolist()]
        urdf_digest = sha256(self.urdf.text.encode()).hexdigest()
        return f"{urdf_digest} to {self.tip!r}, armature and gravity {numbers}, made by {source_digest()}"


def describe(
    source: str | Path,
    *,
    xacro_args: Mapping[str, str] | None = None,
    package_path: Sequence[str | Path] = (),
    **choices: Any,
) -> Arm:
    """Return the arm that a URDF describes; the arguments are those of :meth:`arm_control.RobotModel.from_urdf`.

    What a text has given with the same folders and choices is kept.
    """
    text, name = read_source(source, xacro_args, package_path)
    folders = folders_of(source, package_path)
    try:
        chosen = pickle.dumps(choices)
    except (TypeError, AttributeError, pickle.PicklingError):  # a view of a dict, an iterator
        return describe_text(text, name, folders, **choices)
    arm = _kept(text, name, folders, chosen)
    return replace(arm, **{key: getattr(arm, key).copy() for key in NUMBERS})


@lru_cache(maxsize=32)
def _kept(text: str, name: str, folders: tuple[Path, ...], choices: bytes) -> Arm:
    return describe_text(text, name, folders, **pickle.loads(choices))


def describe_text(
    text: str,
    name: str,
    folders: tuple[Path, ...],
    *,
    base: str | None = None,
    tip: str | None = None,
    joints: Sequence[str] | str | None = None,
    locked: Mapping[str, float] | None = None,
    armature: PerJoint = 0.0,
    coulomb_friction: PerJoint = 0.0,
    viscous_friction: PerJoint = 0.0,
    urdf_friction: bool = False,
    payload_mass: float = 0.0,
    payload_centre: Sequence[float] = (0.0, 0.0, 0.0),
    gravity: npt.ArrayLike = GRAVITY,
    effort_limits: Mapping[str, float] | None = None,
    velocity_limits: Mapping[str, float] | None = None,
    strict: bool = False,
    kinematics_only: bool = False,
) -> Arm:
    """:func:`describe` of what :func:`read_source` and :func:`folders_of` return."""
    whole, part = _load(
        (text, name, folders),
        lambda facts: choose_part(facts, base, tip, joints),
        kinematics_only,
        effort_limits=effort_limits,
        velocity_limits=velocity_limits,
    )
    warnings = (*whole.warnings, *find_warnings(read_facts(read_robot(whole.text)), part))
    if strict and warnings:
        raise UrdfError(f"{len(warnings)} warning(s), which count as errors", warnings)
    urdf, R_root_base = select(whole, base=base, joints=part.joints, locked=locked or {})
    tip = part.tip
    if tip not in urdf.robot.link_map:
        raise FrameNotFound(tip, urdf.robot.link_map)
    if not urdf.chain(tip):
        raise ModelError(f"no joint moves '{tip}'; allowed as the tip: a link below a movable joint")
    urdf = with_payload(urdf, tip, payload_mass, payload_centre)
    names = [name for name in urdf.movable_joints if urdf.robot.joint_map[name].mimic is None]
    rotors = _per_joint(armature, names, "armature")
    tree = build_tree(urdf, tip, rotors, R_root_base.T @ _gravity(gravity))
    if urdf_friction:
        stated = friction_in(urdf, names)
        coulomb_friction = stated[0].tolist() if _is_none(coulomb_friction) else coulomb_friction
        viscous_friction = stated[1].tolist() if _is_none(viscous_friction) else viscous_friction
        warnings = (*warnings, _described_friction(names, *stated))
    coulomb = _per_joint(coulomb_friction, names, "coulomb_friction")
    viscous = _per_joint(viscous_friction, names, "viscous_friction")
    arm = Arm(urdf, tip, tree, *_limits(urdf, names), coulomb, viscous, not kinematics_only, warnings)
    if arm.has_dynamics:
        _refuse_massless(arm)
    return arm


def _load(
    text: tuple[str, str, tuple[Path, ...]],
    choose: Callable[[Facts], Part],
    kinematics_only: bool,
    **options: Any,
) -> tuple[Urdf, Part]:
    """Load a URDF, and return the part of it that is controlled, too."""
    chosen: list[Part] = []

    def part_that_counts(facts: Facts) -> Part:
        part = choose(facts)
        chosen.append(replace(part, moved=frozenset(), chain=frozenset()) if kinematics_only else part)
        return chosen[0]

    urdf = load_text(*text, **options, needs_maxima=not kinematics_only, choose=part_that_counts)
    return urdf, chosen[0]


def _limits(urdf: Urdf, names: Sequence[str]) -> tuple[Array, Array, Array, Array]:
    joints = [urdf.robot.joint_map[name] for name in names]
    ranges = [(-np.inf, np.inf) if j.type == "continuous" else (j.limit.lower, j.limit.upper) for j in joints]
    q_min, q_max = np.array(ranges, dtype=float).T
    maxima = [np.array([getattr(j.limit, x) for j in joints], float) for x in ("velocity", "effort")]
    return q_min, q_max, *(np.where(values > 0.0, values, np.inf) for values in maxima)


def _gravity(gravity: npt.ArrayLike) -> Array:
    vector = np.asarray(gravity, dtype=float)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(f"gravity is {vector.tolist()}; allowed: three finite numbers [m/s^2]")
    return vector


def _refuse_massless(arm: Arm) -> None:
    """Raise where the mass matrix is not positive definite: an acceleration would be infinite, or of the wrong sign."""
    for q in _postures(arm):
        with np.errstate(over="ignore", invalid="ignore"):
            M = reference(arm.tree, ["M"], {"q": q})["M"]
        if not np.isfinite(M).all():
            raise UrdfError("lengths or masses are too large: the mass matrix has no finite numbers")
        for name, inertia in zip(arm.tree.joint_names, np.diag(M), strict=True):
            if not inertia > 1e-12:
                raise UrdfError(f"joint '{name}' moves no inertia: give its links an <inertial>, or an armature")
        scale = np.sqrt(np.diag(M))
        values, motions = np.linalg.eigh(M / np.outer(scale, scale))
        if not values[0] > 1e-12:
            names = [name for name, x in zip(arm.tree.joint_names, motions[:, 0], strict=True) if abs(x) > 1e-3]
            raise UrdfError(
                f"joints {', '.join(names)} together move no inertia: give each link an <inertial>, or an armature"
            )


def drawn_range(q_min: Array, q_max: Array) -> tuple[Array, Array]:
    """Ends of the ranges in which random postures are drawn, shape (n,): at most half a turn from zero [rad or m]."""
    return np.maximum(q_min, -np.pi), np.minimum(q_max, np.pi)


def _postures(arm: Arm) -> Iterator[Array]:
    """Yield postures within the limits: one that no axis is aligned in, and random ones."""
    yield np.linspace(0.3, 1.2, arm.tree.n)
    low, high = drawn_range(arm.q_min, arm.q_max)
    for share in np.random.default_rng(0).random((N_POSTURES - 1, arm.tree.n)):
        yield low + share * (high - low)


def _described_friction(names: Sequence[str], coulomb: Array, viscous: Array) -> str:
    """A sentence on friction that is taken from a URDF."""
    if not (coulomb.any() or viscous.any()):
        return "its <dynamics> states no friction"
    joints = ", ".join(f"{name} {c:g} N m, {b:g} N m s/rad" for name, c, b in zip(names, coulomb, viscous, strict=True))
    is_equal = len(names) > 1 and np.ptp(coulomb) == np.ptp(viscous) == 0.0
    doubt = "; equal for all joints, as placeholders are" if is_equal else ""
    return f"friction of its <dynamics> counts as known: {joints}{doubt}"


def _is_none(values: PerJoint) -> bool:
    return isinstance(values, int | float) and values == 0.0


def _per_joint(values: PerJoint, names: Sequence[str], quantity: str) -> Array:
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
