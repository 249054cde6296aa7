"""One file format for scenarios and planning scenes: its entries, their old words, and the surroundings of the arm.

A file has any of :data:`ENTRIES`. ``arm_control simulate`` needs ``nodes``, ``arm_control plan`` needs ``task``,
``goal`` or ``pose``; a node that is told a world needs ``obstacles``, ``pushes``, ``floor`` or ``range_sensors`` only.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.collision import Told, course, movers_of
from arm_control.control import pose_error
from arm_control.core import as_mapping, read_yaml, refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Hull,
    Mover,
    Obstacle,
    Pose,
    Shape,
    Span,
    Sphere,
    rotation_from_quaternion,
)
from arm_control.model import Terms, folders_near, mesh_path
from arm_control.motion import Motion, PoseTrajectory

LOG = logging.getLogger("arm_control.scene")

SURROUNDINGS = ("obstacles", "pushes", "floor")
"""Entries of a :class:`World`."""
GOALS = ("task", "goal", "pose")
"""Entries of which a plan needs one."""
FAR = 10.0
"""Distance where there is nothing [m]."""
ENTRIES = (
    *("description", "robot", "arm", "start", *SURROUNDINGS, "variants"),
    *(*GOALS, "kind", "limits", "rest", "horizon", "tolerance", "angle_tolerance", "margin", "plan"),
    *("nodes", "duration", "checks", "range_sensors"),
)
"""Entries of a file."""
OLD_WORDS = {
    **{f"world.{name}": name for name in SURROUNDINGS},
    **{f"plan.{name}": name for name in ("goal", "pose", "margin", "horizon")},
    "nodes.simulator.initial_position": "start",
    "tip": "arm.tip",
}
"""Present words by the old ones, which are still read."""
SHAPES: dict[str, tuple[Callable[..., Shape], int]] = {
    "sphere": (Sphere, 1),
    "box": (lambda *size: Box(size), 3),
    "cylinder": (Cylinder, 2),
    "cone": (Cone, 2),
    "capsule": (Capsule, 2),
}
"""Shapes by name, and how many numbers their ``size`` has in a file: radius; three edges; radius and length [m]."""
OBSTACLE = (
    *("shape", "size", "mesh", "scale", "position", "quat_xyzw", "positions", "times"),
    *("velocity", "from", "until", "solid", "change"),
)
"""Entries of an obstacle; ``change``: ``at`` a time it has another ``velocity``, of which nothing is told."""
NOT_BESIDE_POSITIONS = ("position", "velocity", "from", "until", "solid", "change")
"""Entries of an obstacle that goes from sample to sample."""


def read_scene(path: Path) -> dict[str, Any]:
    """Read a file, with the present words for its entries, and the paths of meshes; ``variants``: mapping of mappings.

    A ParameterError when there is no such file, it has an unknown entry, one under its old word and its present one, or
    the name of a mesh that is found neither from the folder of the file on, or from one above it, nor in a package.
    """
    content = read_yaml(path)
    variants = as_mapping(content.get("variants"), f"{path}: variants")
    content["variants"] = {name: as_mapping(changes, f"{path}: {name}") for name, changes in variants.items()}
    for old, new in OLD_WORDS.items():
        _rename(content, old, new, str(path))
        for name, changes in content["variants"].items():
            _rename(changes, old.removeprefix("nodes."), new, f"{path}: {name}")
    refuse_unknown(as_mapping(content.pop("world", None), f"{path}: world"), SURROUNDINGS, f"{path}: world")
    refuse_unknown(content, ENTRIES, str(path))
    for entries in (content, *content["variants"].values()):
        if isinstance(obstacles := entries.get("obstacles"), list):
            entries["obstacles"] = [_with_mesh_path(entry, path, k) for k, entry in enumerate(obstacles)]
    return content


def _with_mesh_path(entry: Any, file: Path, number: int) -> Any:
    """An obstacle of a file with the path of its mesh, where it has one."""
    if not isinstance(entry, dict) or "mesh" not in entry:
        return entry
    if (found := mesh_path(str(entry["mesh"]), folders_near(file))) is None:
        raise ParameterError(
            f"{file}: obstacles: {number}: the mesh {entry['mesh']} does not exist in the folder of the file or one"
            " above it; package:// begins the name of one in a package"
        )
    return {**entry, "mesh": str(found)}


def _rename(content: dict[str, Any], old: str, new: str, where: str) -> None:
    """Move an entry from its old word to its present one, and warn."""
    place = content
    *outer, key = old.split(".")
    for name in outer:
        if not isinstance(place.get(name), dict):
            return
        place[name] = dict(place[name])  # an alias in YAML is the same object
        place = place[name]
    if key not in place:
        return
    value, before, now = place.pop(key), old.replace(".", ": "), new.replace(".", ": ")
    *outer, key = new.split(".")
    target = content
    for name in outer:
        target[name] = as_mapping(target.get(name), f"{where}: {name}")
        target = target[name]
    if key in target:
        raise ParameterError(f"{where}: '{before}' is the old word for '{now}', which is there, too")
    target[key] = value
    _warn(f"{where}: '{before}' is an old word: write '{now}'")


@cache
def _warn(sentence: str) -> None:
    """Warn once."""
    LOG.warning(sentence)


@dataclass(frozen=True)
class Push:
    """A wrench on the end effector: force [N] and moment [N m] in world axes, shape (6,)."""

    wrench: Array
    span: Span

    def acts(self, _t: float, _terms: Terms) -> Array:
        """Return the wrench at a time [s] in a state, shape (6,) [N, N m]."""
        return self.wrench


@dataclass(frozen=True)
class GuidingHand:
    """A hand that holds the end effector and pulls it along a motion: a spring and a damper.

    Attributes
    ----------
    motion : PoseTrajectory
        Where the hand is, in the world, from the begin of the span on.
    stiffness, damping : ndarray, shape (6,)
        In world axes [N/m, N m/rad; N s/m, N m s/rad].
    """

    motion: PoseTrajectory
    stiffness: Array
    damping: Array
    span: Span

    def acts(self, t: float, terms: Terms) -> Array:
        """Return the wrench at a time [s] in a state, shape (6,) [N, N m]."""
        at = self.motion.sample(t - self.span.begin)
        return self.stiffness * pose_error(terms.X_WE, at.X_WT) + self.damping * (at.V_des - terms.V_WE)


@dataclass(frozen=True)
class World:
    """The surroundings; empty by default.

    Attributes
    ----------
    floor : float
        Height of the floor, which range sensors see and nothing touches [m]; ``-inf`` for none.
    told : tuple of Mover
        Obstacles as they are told: without the changes of their motion that a file has.
    """

    movers: tuple[Mover, ...] = ()
    pushes: tuple[Push | GuidingHand, ...] = ()
    floor: float = 0.0
    told: tuple[Mover, ...] = ()

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any], where: str) -> World:
        """Return the surroundings that a file has under :data:`SURROUNDINGS`.

        A ParameterError when it has an unknown key or an invalid value.
        """
        refuse_unknown(content, SURROUNDINGS, where)
        told: list[Mover] = []
        movers: list[Mover] = []
        entries = content.get("obstacles") or ()
        for placed, entry in zip(obstacles_in(entries, f"{where}: obstacles"), entries, strict=True):
            parts = movers_of(placed)
            told += parts
            movers += parts if entry.get("change") is None else _changed(parts[0], entry["change"], where)
        try:
            pushes = tuple(map(_push, content.get("pushes") or ()))
            return cls(tuple(movers), pushes, _floor(content.get("floor", 0.0)), tuple(told))
        except (TypeError, ValueError) as error:
            raise ParameterError(f"{where}: {error}") from error

    def __bool__(self) -> bool:
        return bool(self.movers or self.pushes)

    def beside(self, obstacles: Sequence[Told]) -> World:
        """Return these surroundings with more obstacles."""
        parts = [part for placed in obstacles for part in movers_of(placed)]
        return replace(self, movers=(*self.movers, *parts), told=(*self.told, *parts))

    def obstacles(self, t: float) -> list[Obstacle]:
        """Return the obstacles that are present at a time [s], with their poses then."""
        return [mover.at(t) for mover in self.movers if mover.span.holds(t)]

    @property
    def solids(self) -> tuple[Obstacle, ...]:
        """The obstacles that the end effector touches."""
        return tuple(mover.obstacle for mover in self.movers if mover.is_solid)

    def wrench(self, t: float, terms: Terms) -> Array:
        """Return force and moment on the end effector at a time [s] in a state, shape (6,) [N, N m]."""
        return sum((push.acts(t, terms) for push in self.pushes if push.span.holds(t)), np.zeros(6))


def obstacles_in(entries: Any, where: str) -> tuple[Told, ...]:
    """Return the obstacles of a file as they are told: without the changes of their motion.

    A ParameterError when an entry is missing, unknown or not valid.
    """
    if not isinstance(entries, (list, tuple, type(None))):
        raise ParameterError(f"{where}: a list is needed, not {type(entries).__name__}")
    return tuple(_placed(as_mapping(entry, f"{where}: {k}"), f"{where}: {k}") for k, entry in enumerate(entries or ()))


def _placed(entry: Mapping[str, Any], where: str) -> Told:
    """An obstacle in a motion, or one that goes from sample to sample."""
    refuse_unknown(entry, OBSTACLE, where)
    is_course = "positions" in entry or "times" in entry
    _refuse_mixture(entry, where, is_course=is_course)
    for key in ("position",) * (not is_course) + ("shape", "size") * ("mesh" not in entry):
        if key not in entry:
            raise ParameterError(f"{where}: '{key}' is missing")
    try:
        if is_course:
            poses = [_pose({**entry, "position": p}) for p in np.array(entry["positions"], dtype=float).reshape(-1, 3)]
            return course(_shape(entry), np.array(entry["times"], dtype=float), poses)
        return _mover(entry)
    except (IndexError, TypeError, ValueError) as error:
        raise ParameterError(f"{where}: {error}") from None


def _refuse_mixture(entry: Mapping[str, Any], where: str, *, is_course: bool) -> None:
    """Refuse entries of an obstacle that do not go together."""
    if "mesh" in entry and not {"shape", "size"}.isdisjoint(entry):
        raise ParameterError(f"{where}: a mesh has neither 'shape' nor 'size'")
    if "scale" in entry and "mesh" not in entry:
        raise ParameterError(f"{where}: 'scale' without 'mesh'")
    if not is_course:
        return
    for key, other in (("positions", "times"), ("times", "positions")):
        if key not in entry:
            raise ParameterError(f"{where}: '{other}' without '{key}': an obstacle's positions need their times")
    for key in NOT_BESIDE_POSITIONS:
        if key in entry:
            raise ParameterError(f"{where}: '{key}' does not go with 'positions', which say where the obstacle is")


def _mover(entry: Mapping[str, Any]) -> Mover:
    is_solid = entry.get("solid", False)
    if not isinstance(is_solid, bool):
        raise ParameterError(f"solid = {is_solid!r}: true or false is needed")
    mover = Mover(Obstacle(_shape(entry), _pose(entry), _twist(entry.get("velocity", ()))), _span(entry), is_solid)
    if is_solid and (np.any(mover.obstacle.V_WO) or mover.span != Span()):
        raise ParameterError("a solid obstacle must not move, appear or vanish")
    return mover


def _shape(entry: Mapping[str, Any]) -> Shape:
    if "mesh" in entry:
        hull = Hull.of_mesh(Path(str(entry["mesh"])), positive(entry.get("scale", 1.0), "scale"))
        if hull.note:
            _warn(hull.note)
        return hull
    if entry["shape"] not in SHAPES:
        raise ParameterError(f"shape = {entry['shape']!r}; there are: {', '.join(SHAPES)}")
    shape, n = SHAPES[entry["shape"]]
    size = entry["size"] if isinstance(entry["size"], list | tuple) else [entry["size"]]
    return shape(*numbers(size, n, f"size of a {entry['shape']}").tolist())


def _pose(entry: Mapping[str, Any]) -> Pose:
    R = rotation_from_quaternion(entry.get("quat_xyzw", [0, 0, 0, 1]))
    return Pose(R, numbers(entry["position"], 3, "position"))


def pose_in(entry: Any, where: str) -> tuple[Pose, bool]:
    """Return the pose of an entry, and whether it has an orientation.

    A ParameterError when the position is missing, or an entry is unknown or not valid.
    """
    content = as_mapping(entry, where)
    refuse_unknown(content, ("position", "quat_xyzw"), where)
    if "position" not in content:
        raise ParameterError(f"{where}: 'position' is missing")
    try:
        return _pose(content), "quat_xyzw" in content
    except ValueError as error:
        raise ParameterError(f"{where}: {error}") from None


def _changed(told: Mover, change: Any, where: str) -> Iterator[Mover]:
    """An obstacle before and after the change of its motion."""
    refuse_unknown(as_mapping(change, f"{where}: change"), ("at", "velocity"), f"{where}: change")
    try:
        t, V = float(change["at"]), _twist(change["velocity"])
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(f"{where}: change: {type(error).__name__}: {error}") from error
    if not told.span.holds(t) or told.is_solid:
        message = f"a time from {told.span.begin} until {told.span.end} is needed"
        raise ParameterError(f"{where}: change at {t}: {message}")
    yield replace(told, span=Span(told.span.begin, t))
    yield Mover(replace(told.at(t), V_WO=V), Span(t, told.span.end))


def _twist(velocity: Sequence[float]) -> Array:
    """A twist, shape (6,), from its linear part or all of it."""
    return numbers([*velocity, *[0.0] * (6 - len(velocity))], 6, "velocity")


def _push(entry: Mapping[str, Any]) -> Push | GuidingHand:
    if "motion" in entry:
        refuse_unknown(entry, ("motion", "stiffness", "damping", "from", "until"), "push")
        stiffness, damping = (np.repeat(numbers(entry[key], 2, key), 3) for key in ("stiffness", "damping"))
        motion = PoseTrajectory(Motion.load(str(entry["motion"])).points)
        return GuidingHand(motion, stiffness, damping, _span(entry))
    refuse_unknown(entry, ("force", "moment", "from", "until"), "push")
    wrench = [numbers(entry.get(key, [0.0] * 3), 3, key) for key in ("force", "moment")]
    return Push(np.concatenate(wrench), _span(entry))


def _span(entry: Mapping[str, Any]) -> Span:
    span = Span(float(entry.get("from", 0.0)), float(entry.get("until", math.inf)))
    if not 0.0 <= span.begin < span.end:
        raise ParameterError(f"from {span.begin} until {span.end}: 0 <= from < until is needed")
    return span


def _floor(value: Any) -> float:
    height = float(value)
    if not height < math.inf:
        raise ParameterError(f"floor = {value!r}: a height [m] is needed, or -.inf for none")
    return height


def numbers(value: Any, n: int, where: str) -> Array:
    """Return finite numbers, shape (n,); a ParameterError when the value is something else."""
    try:
        result = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(f"{where} = {value!r}: {n} numbers are needed") from None
    if result.shape != (n,) or not np.isfinite(result).all():
        raise ParameterError(f"{where} = {value!r}: {n} finite numbers are needed")
    return result


def positive(value: Any, where: str, *, or_zero: bool = False) -> float:
    """Return a finite number above zero; or zero, where that is allowed.

    A ParameterError when the value is something else.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{where} = {value!r}: a number is needed") from None
    if not 0.0 <= number < math.inf:
        raise ParameterError(f"{where} = {value!r}: a finite number, 0 or more, is needed")
    if not (number or or_zero):
        raise ParameterError(f"{where} = {value!r}: a number above zero is needed")
    return number
