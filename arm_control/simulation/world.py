"""The surroundings of an arm in a scenario: obstacles, which may move, appear and vanish, and pushes. From YAML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arm_control.core import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Mover,
    Obstacle,
    Pose,
    Shape,
    Span,
    Sphere,
    rotation_from_quaternion,
)

SHAPES: dict[str, Callable[..., Shape]] = {
    "sphere": Sphere,
    "box": lambda *size: Box(size),
    "cylinder": Cylinder,
    "cone": Cone,
    "capsule": Capsule,
}
"""Shapes by name; their arguments are ``size`` in a file: radius; three edges; radius and length [m]."""
ENTRIES = ("shape", "size", "position", "quat_xyzw", "velocity", "from", "until", "solid", "change")
"""Entries of an obstacle; ``change``: ``at`` a time it has another ``velocity``, of which nothing is told."""


@dataclass(frozen=True)
class Push:
    """A wrench on the end effector.

    Attributes
    ----------
    wrench : ndarray, shape (6,)
        Force [N] and moment [N m], in world axes.
    span : Span
        The time in which it acts.
    """

    wrench: Array
    span: Span


@dataclass(frozen=True)
class World:
    """The surroundings; empty by default.

    Attributes
    ----------
    pushes : tuple of Push
        Forces on the end effector.
    floor : float
        Height of the floor, which range sensors see and nothing touches [m]; ``-inf`` for none.
    told : tuple of Mover
        Obstacles as they are told: without the changes of their motion that a file has.
    """

    movers: tuple[Mover, ...] = ()
    pushes: tuple[Push, ...] = ()
    floor: float = 0.0
    told: tuple[Mover, ...] = ()

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any], where: str) -> World:
        """Return the surroundings of a scenario.

        Parameters
        ----------
        content : mapping
            The entry ``world`` of the scenario.
        where : str
            The file and the entry, for the error message.

        Raises
        ------
        ParameterError
            When it has an unknown key or an invalid value.
        """
        refuse_unknown(content, ("obstacles", "pushes", "floor"), where)
        try:
            told = tuple(map(_mover, entries := content.get("obstacles") or ()))
            movers = tuple(part for mover, entry in zip(told, entries, strict=True) for part in _parts(mover, entry))
            pushes = tuple(map(_push, content.get("pushes") or ()))
            return cls(movers, pushes, _floor(content.get("floor", 0.0)), told)
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"{where}: {type(error).__name__}: {error}") from error

    def __bool__(self) -> bool:
        return bool(self.movers or self.pushes)

    def obstacles(self, t: float) -> list[Obstacle]:
        """Return the obstacles that are present at a time [s], with their poses then."""
        return [mover.at(t) for mover in self.movers if mover.span.holds(t)]

    @property
    def solids(self) -> tuple[Obstacle, ...]:
        """The obstacles that the end effector touches."""
        return tuple(mover.obstacle for mover in self.movers if mover.is_solid)

    def wrench(self, t: float) -> Array:
        """Return force and moment on the end effector at a time [s], shape (6,) [N, N m]."""
        return sum((push.wrench for push in self.pushes if push.span.holds(t)), np.zeros(6))


def _parts(told: Mover, entry: Mapping[str, Any]) -> Iterator[Mover]:
    """An obstacle before and after the change of its motion, where it has one."""
    change = entry.get("change")
    if change is None:
        yield told
        return
    refuse_unknown(change, ("at", "velocity"), "change")
    t, V = float(change["at"]), _twist(change["velocity"])
    if not told.span.holds(t) or told.is_solid:
        raise ParameterError(f"change at {t}: a time from {told.span.begin} until {told.span.end} is needed")
    yield replace(told, span=Span(told.span.begin, t))
    yield Mover(replace(told.at(t), V_WO=V), Span(t, told.span.end))


def _twist(velocity: Sequence[float]) -> Array:
    """A twist, shape (6,), from its linear part or all of it."""
    return _numbers([*velocity, *[0.0] * (6 - len(velocity))], 6)


def _mover(entry: Mapping[str, Any]) -> Mover:
    refuse_unknown(entry, ENTRIES, "obstacle")
    if entry["shape"] not in SHAPES:
        raise ParameterError(f"shape = {entry['shape']!r}; there are: {', '.join(SHAPES)}")
    shape = SHAPES[entry["shape"]](*map(float, np.atleast_1d(entry["size"])))
    X = Pose(rotation_from_quaternion(entry.get("quat_xyzw", [0, 0, 0, 1])), _numbers(entry["position"], 3))
    V = _twist(entry.get("velocity", ()))
    is_solid = entry.get("solid", False)
    if not isinstance(is_solid, bool):
        raise ParameterError(f"solid = {is_solid!r}: true or false is needed")
    mover = Mover(Obstacle(shape, X, V), _span(entry), is_solid)
    if is_solid and (V.any() or mover.span != Span()):
        raise ParameterError("a solid obstacle must not move, appear or vanish")
    return mover


def _push(entry: Mapping[str, Any]) -> Push:
    refuse_unknown(entry, ("force", "moment", "from", "until"), "push")
    wrench = [_numbers(entry.get(key, [0.0] * 3), 3) for key in ("force", "moment")]
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


def _numbers(values: Any, n: int) -> Array:
    numbers = np.array(values, dtype=float)
    if numbers.shape != (n,) or not np.isfinite(numbers).all():
        raise ParameterError(f"{values}: {n} finite numbers are needed")
    return numbers
