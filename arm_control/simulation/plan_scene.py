"""Planning scenes: an arm, its task, and obstacles that move, from YAML.

A file below ``config/plans`` (:mod:`arm_control.simulation.scene`) says where the arm starts, and where it shall go:
along a task path of the end effector (``task``), to joint positions (``goal``) or to a pose (``pose``).

    robot: planar4
    start: [-1.07, 0.48, 1.01, 1.01]          # [rad]
    task: {line: {start: [1.2, -0.7], end: [1.2, 0.7]}}      # beside it: orientation or direction
    obstacles:
      - {shape: sphere, size: 0.15, position: [1.9, 0.25, 0.0], velocity: [-0.25, -0.05, 0.0]}
    horizon: 12.0                             # [s]

Variants of a scene replace some of its entries.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from arm_control.collision import Told, is_at_rest
from arm_control.core import as_mapping, file_names, node_names, refuse_unknown, urdf_path, yaml_path
from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.maths import Array, Pose
from arm_control.model import WITHOUT_XACRO, ArmParameters, RobotModel, refuse_xacro
from arm_control.planning import TaskOrientation, TaskPath, circle, direction, ellipse, line, orientation
from arm_control.simulation.scene import ENTRIES, GOALS, numbers, obstacles_in, pose_in, positive, read_scene

Made = TypeVar("Made")
KINDS = ("kinematic", "dynamic")
PATHS: dict[str, Callable[..., TaskPath]] = {"line": line, "ellipse": ellipse, "circle": circle}
"""Task paths by name; what they need is the arguments of these functions."""
ORIENTATIONS: dict[str, Callable[..., TaskOrientation]] = {"orientation": orientation, "direction": direction}
"""The same of orientations along them."""
LIMITS = ("velocity", "acceleration", "torque")
HORIZON, TOLERANCE, ANGLE_TOLERANCE, MARGIN = 20.0, 1e-3, 1e-3, 2e-3
"""Latest arrival [s], largest distance [m] and angle [rad] from the task, smallest distance from obstacles [m]."""


@dataclass(frozen=True)
class PlanScene:
    """A planning problem.

    Attributes
    ----------
    model : RobotModel
        The arm, with the limits of the scene.
    start : ndarray, shape (n,), or None
        Joint positions at time 0; None: any at the begin of the task path [rad or m].
    task : TaskPath or None
        Path of the end effector, from its begin to its end.
    goal : ndarray, shape (n,), or None
        Joint positions to reach [rad or m].
    pose : Pose or None
        Pose of the end effector to reach; of a position alone ``has_orientation`` is false.
    kind : str
        ``kinematic``: joint speeds are limited; ``dynamic``: torques, too.
    rest : bool
        Whether the motion starts and ends at rest: each of kind ``dynamic``, a kinematic one with an entry ``rest``.
    obstacles : tuple of Told
        They move as told from time 0 on.
    a_max : ndarray, shape (n,)
        Largest joint accelerations of a motion from rest to rest; infinite without limits [rad/s^2 or m/s^2].
    horizon : float
        Latest arrival [s].
    tolerance, angle_tolerance : float
        Largest distance from the task path or the pose [m], and angle from their orientation [rad].
    margin : float
        Smallest distance from obstacles that counts as free [m].
    """

    name: str
    description: str
    model: RobotModel = field(compare=False)
    start: Array | None
    task: TaskPath | None
    goal: Array | None
    pose: Pose | None
    has_orientation: bool
    kind: str
    rest: bool
    obstacles: tuple[Told, ...]
    a_max: Array
    horizon: float
    tolerance: float
    angle_tolerance: float
    margin: float

    @property
    def acceleration_limits(self) -> Array | None:
        """``a_max`` for a task; None without limits."""
        return self.a_max if np.isfinite(self.a_max).all() else None

    @property
    def is_moving(self) -> bool:
        """Whether an obstacle moves, appears or vanishes."""
        return any(not is_at_rest(told) for told in self.obstacles)


class PlanFile(NamedTuple):
    """A file of scenes.

    Attributes
    ----------
    variants : dict of str to dict
        Entries that replace those, for each variant by its name; empty for a file of one scene.
    """

    name: str
    description: str
    entries: dict[str, Any]
    variants: dict[str, dict[str, Any]]
    where: str

    @classmethod
    def load(cls, name: str) -> PlanFile:
        """Read a file by name (``config/plans/<name>.yaml``) or path.

        A ParameterError when there is no such file, or it has an unknown key.
        """
        path = yaml_path("plans", name)
        content = read_scene(path)
        variants = content.pop("variants")
        for variant, entries in variants.items():
            refuse_unknown(entries, (*ENTRIES, *node_names()), f"{path}: {variant}")
        return cls(path.stem, str(content.get("description", "")), content, variants, str(path))

    def scene(self, variant: str = "") -> PlanScene:
        """Return a scene of the file: a variant, or the first one for an empty name.

        A ParameterError when there is no such variant, or an entry is missing or not valid.
        """
        name, entries, where = self._chosen(variant)
        return scene_of(entries, f"{self.name} {name}".strip(), where)

    def obstacles(self, variant: str = "") -> tuple[Told, ...]:
        """Return the obstacles of a variant, or of the first one for an empty name, without a model of its arm.

        A ParameterError when there is no such variant, or an obstacle is not valid.
        """
        _, entries, where = self._chosen(variant)
        return obstacles_in(entries.get("obstacles"), f"{where}: obstacles")

    def _chosen(self, variant: str) -> tuple[str, dict[str, Any], str]:
        """The name of a variant, its entries, and their place for messages."""
        name = variant or next(iter(self.variants), "")
        if name and name not in self.variants:
            raise ParameterError(f"no variant '{name}' of {self.name}; there are: {', '.join(self.variants)}")
        return name, self.entries | self.variants.get(name, {}), f"{self.where}: {name}".removesuffix(": ")


def plan_names() -> tuple[str, ...]:
    """Return the names of the planning scenes that come with the package."""
    return file_names("config/plans", ".yaml")


def scene_of(entries: Mapping[str, Any], name: str, where: str) -> PlanScene:
    """Return the scene that entries describe; a ParameterError where an entry is missing or not valid."""
    targets = [key for key in GOALS if entries.get(key) is not None]
    if len(targets) != 1:
        raise ParameterError(f"{where}: {' and '.join(targets) or 'none'} of {', '.join(GOALS)}: one is needed")
    for key in ("robot", "start"):
        if key not in entries and (key == "robot" or targets != ["task"]):
            raise ParameterError(f"{where}: '{key}' is missing")
    kind = entries.get("kind", KINDS[0])
    if kind not in KINDS:
        raise ParameterError(f"{where}: kind = {kind!r}; allowed: {', '.join(KINDS)}")
    model, a_max = _arm(entries, where)
    rest = _rest(entries, kind, targets == ["task"], bool(np.isfinite(a_max).all()), where)
    pose, has_orientation = pose_in(entries["pose"], f"{where}: pose") if targets == ["pose"] else (None, False)
    start, goal = entries.get("start"), entries.get("goal")
    return PlanScene(
        name,
        str(entries.get("description", "")),
        model,
        None if start is None else numbers(start, model.nq, f"{where}: start"),
        _task(entries.get("task"), f"{where}: task"),
        None if goal is None else numbers(goal, model.nq, f"{where}: goal"),
        pose,
        has_orientation,
        kind,
        rest,
        obstacles_in(entries.get("obstacles"), f"{where}: obstacles"),
        a_max,
        positive(entries.get("horizon", HORIZON), f"{where}: horizon"),
        positive(entries.get("tolerance", TOLERANCE), f"{where}: tolerance"),
        positive(entries.get("angle_tolerance", ANGLE_TOLERANCE), f"{where}: angle_tolerance"),
        positive(entries.get("margin", MARGIN), f"{where}: margin", or_zero=True),
    )


def _rest(entries: Mapping[str, Any], kind: str, has_task: bool, has_acceleration: bool, where: str) -> bool:
    """Whether a motion starts and ends at rest."""
    rest = entries.get("rest", kind == "dynamic")
    if not isinstance(rest, bool):
        raise ParameterError(f"{where}: rest = {rest!r}; allowed: true, false")
    if rest != (kind == "dynamic") and not (has_task and kind == "kinematic"):
        raise ParameterError(f"{where}: rest: of a task of kind kinematic; motions of kind dynamic have it always")
    if rest and kind == "kinematic" and not has_acceleration:
        raise ParameterError(f"{where}: rest: 'limits: acceleration' is missing")
    if has_acceleration and not rest:
        raise ParameterError(f"{where}: limits: acceleration counts for kind dynamic and for a task with rest only")
    return rest


def _arm(entries: Mapping[str, Any], where: str) -> tuple[RobotModel, Array]:
    """The arm with the limits of a scene, and its largest accelerations."""
    limits = as_mapping(entries.get("limits"), f"{where}: limits")
    refuse_unknown(limits, LIMITS, f"{where}: limits")
    refuse_xacro(str(entries["robot"]), where, WITHOUT_XACRO)
    path = urdf_path(str(entries["robot"]))
    arm = ArmParameters.from_mapping(as_mapping(entries.get("arm"), f"{where}: arm"), where=f"{where}: arm")
    choices = arm.choices() | {"backend": arm.backend}
    model = RobotModel.from_urdf(path, **choices)
    values = {key: _limits(limits.get(key), model, f"{where}: limits: {key}") for key in LIMITS}
    for key, name in (("velocity", "velocity_limits"), ("torque", "effort_limits")):
        if (given := values[key]) is not None:
            choices[name] |= dict(zip(model.joint_names, given.tolist(), strict=True))
    a_max = values["acceleration"]
    return RobotModel.from_urdf(path, **choices), np.full(model.nv, math.inf) if a_max is None else a_max


def _limits(value: Any, model: RobotModel, where: str) -> Array | None:
    """One limit for each joint; None where there is none."""
    if value is None:
        return None
    values = numbers([value] * model.nv if np.ndim(value) == 0 else value, model.nv, where)
    if not (values > 0.0).all():
        raise ParameterError(f"{where} = {value}: limits must be above zero")
    return values


def _task(entry: Any, where: str) -> TaskPath | None:
    if entry is None:
        return None
    content = as_mapping(entry, where)
    paths, turns = ([name for name in content if name in allowed] for allowed in (PATHS, ORIENTATIONS))
    if len(paths) != 1 or len(turns) > 1 or len(content) != len(paths) + len(turns):
        raise ParameterError(
            f"{where} has {', '.join(map(str, content)) or 'nothing'}; allowed: one of {', '.join(PATHS)}, and beside"
            f" it one of {', '.join(ORIENTATIONS)}"
        )
    path = _made(PATHS[paths[0]], content[paths[0]], f"{where}: {paths[0]}")
    if not turns:
        return path
    where = f"{where}: {turns[0]}"
    turn = _made(ORIENTATIONS[turns[0]], content[turns[0]], where)
    try:
        return replace(path, orientation=turn)
    except ArmControlError as error:
        raise ParameterError(f"{where}: {error}") from None


def _made(function: Callable[..., Made], given: Any, where: str) -> Made:
    """What a function returns for arguments by name."""
    arguments, allowed = as_mapping(given, where), inspect.signature(function).parameters
    refuse_unknown(arguments, tuple(allowed), where)
    missing = [
        key for key, parameter in allowed.items() if parameter.default is parameter.empty and key not in arguments
    ]
    if missing:
        raise ParameterError(f"{where}: '{missing[0]}' is missing")
    try:
        return function(**arguments)
    except (ArmControlError, TypeError, ValueError) as error:
        raise ParameterError(f"{where}: {error}") from None
