"""Planning scenes: an arm, its task, and obstacles that move, from YAML.

A file below ``config/plans`` says where the arm starts, and where it shall go: along a task path of the end effector
(``task``), to joint positions (``goal``) or to a pose (``pose``).

    robot: planar4
    start: [-1.07, 0.48, 1.01, 1.01]          # [rad]
    task: {line: {start: [1.2, -0.7], end: [1.2, 0.7]}}
    obstacles:
      - {shape: sphere, size: 0.15, position: [1.9, 0.25, 0.0], velocity: [-0.25, -0.05, 0.0]}
    horizon: 12.0                             # [s]

Obstacles are those of the world of a scenario (:mod:`arm_control.simulation.world`), or go from sample to sample:
``positions`` at ``times``. One may have a ``mesh`` and its ``scale`` instead of a shape: its convex hull counts.
Variants of a scene replace some of its entries.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision import Hull, HullObstacle, Placed, course
from arm_control.core import as_mapping, file_names, read_yaml, refuse_unknown, urdf_path, yaml_path
from arm_control.exceptions import ArmControlError, InputError, ParameterError
from arm_control.maths import Array, Mover, Obstacle, Pose, Span, rotation_from_quaternion
from arm_control.model import WITHOUT_XACRO, RobotModel, refuse_xacro
from arm_control.planning import TaskPath, circle, ellipse, line
from arm_control.simulation.world import World

ENTRIES = (
    *("description", "robot", "tip", "kind", "start", "task", "goal", "pose"),
    *("obstacles", "horizon", "limits", "tolerance", "margin"),
)
"""Entries of a scene; ``variants`` of a file has others of them."""
TARGETS = ("task", "goal", "pose")
"""Entries of which a scene has one."""
KINDS = ("kinematic", "dynamic")
PATHS: dict[str, Callable[..., TaskPath]] = {"line": line, "ellipse": ellipse, "circle": circle}
"""Task paths by name; what they need is the arguments of these functions."""
LIMITS = ("velocity", "acceleration", "torque")
HORIZON, TOLERANCE = 20.0, 1e-3
"""Latest arrival [s], and largest distance from the task path [m], where the file says nothing."""


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
    has_orientation : bool
        Whether the orientation of the pose counts.
    kind : str
        ``kinematic``: joint speeds are limited; ``dynamic``: torques, too, and the motion starts and ends at rest.
    obstacles : tuple of Placed
        They move as told from time 0 on.
    a_max : ndarray, shape (n,)
        Largest joint accelerations on the way to a goal or a pose; infinite without limits [rad/s^2 or m/s^2].
    horizon : float
        Latest arrival [s].
    tolerance : float
        Largest distance from the task path [m].
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
    obstacles: tuple[Placed, ...]
    a_max: Array
    horizon: float
    tolerance: float
    margin: float

    @property
    def is_moving(self) -> bool:
        """Whether an obstacle moves, appears or vanishes."""
        return any(not is_at_rest(told) for told in self.obstacles)


class PlanFile(NamedTuple):
    """A file of scenes.

    Attributes
    ----------
    entries : dict of str to object
        What all its scenes have.
    variants : dict of str to dict
        Entries that replace those, for each variant by its name; empty for a file of one scene.
    where : str
        Path of the file, for messages.
    """

    name: str
    description: str
    entries: dict[str, Any]
    variants: dict[str, dict[str, Any]]
    where: str

    @classmethod
    def load(cls, name: str) -> PlanFile:
        """Read a file by name (``config/plans/<name>.yaml``) or path.

        Raises
        ------
        ParameterError
            When there is no such file, or it has an unknown key.
        """
        path = yaml_path("plans", name)
        content = read_yaml(path)
        refuse_unknown(content, (*ENTRIES, "variants"), str(path))
        variants = as_mapping(content.pop("variants", None), f"{path}: variants")
        for variant, entries in variants.items():
            refuse_unknown(as_mapping(entries, f"{path}: {variant}"), ENTRIES, f"{path}: {variant}")
        return cls(path.stem, str(content.get("description", "")), content, variants, str(path))

    def scene(self, variant: str = "") -> PlanScene:
        """Return a scene of the file: a variant, or the first one for an empty name.

        Raises
        ------
        ParameterError
            When there is no such variant, or an entry is missing or not valid.
        """
        name, entries, where = self._chosen(variant)
        return scene_of(entries, f"{self.name} {name}".strip(), where)

    def obstacles(self, variant: str = "") -> tuple[Placed, ...]:
        """Return the obstacles of a variant, or of the first one for an empty name, without a model of its arm.

        Raises
        ------
        ParameterError
            When there is no such variant, or an obstacle is not valid.
        """
        _, entries, where = self._chosen(variant)
        return _obstacles(entries.get("obstacles"), f"{where}: obstacles")

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
    """Return the scene that entries describe.

    Raises
    ------
    ParameterError
        When an entry is missing or not valid.
    """
    targets = [key for key in TARGETS if entries.get(key) is not None]
    if len(targets) != 1:
        raise ParameterError(f"{where}: {' and '.join(targets) or 'none'} of {', '.join(TARGETS)}: one is needed")
    for key in ("robot", "start"):
        if key not in entries and (key == "robot" or targets != ["task"]):
            raise ParameterError(f"{where}: '{key}' is missing")
    kind = entries.get("kind", KINDS[0])
    if kind not in KINDS:
        raise ParameterError(f"{where}: kind = {kind!r}; allowed: {', '.join(KINDS)}")
    model, a_max = _arm(entries, where)
    if np.isfinite(a_max).all() and (kind == "kinematic" or targets == ["task"]):
        raise ParameterError(f"{where}: limits: acceleration counts for a goal or a pose of kind dynamic only")
    pose, has_orientation = _pose(entries.get("pose"), f"{where}: pose")
    start, goal = entries.get("start"), entries.get("goal")
    return PlanScene(
        name,
        str(entries.get("description", "")),
        model,
        None if start is None else _numbers(start, model.nq, f"{where}: start"),
        _task(entries.get("task"), f"{where}: task"),
        None if goal is None else _numbers(goal, model.nq, f"{where}: goal"),
        pose,
        has_orientation,
        kind,
        _obstacles(entries.get("obstacles"), f"{where}: obstacles"),
        a_max,
        _positive(entries.get("horizon", HORIZON), f"{where}: horizon"),
        _positive(entries.get("tolerance", TOLERANCE), f"{where}: tolerance"),
        _margin(entries.get("margin", 0.0), f"{where}: margin"),
    )


def is_at_rest(told: Placed) -> bool:
    """Whether an obstacle stays where it is from time 0 on."""
    if isinstance(told, HullObstacle):
        return told.span in (None, Span()) and not np.any(told.V_WO)
    if isinstance(told, Mover):
        return told.span == Span() and is_at_rest(told.obstacle)
    return isinstance(told, Obstacle) and not np.any(told.V_WO)


def _arm(entries: Mapping[str, Any], where: str) -> tuple[RobotModel, Array]:
    """The arm with the limits of a scene, and its largest accelerations."""
    limits = as_mapping(entries.get("limits"), f"{where}: limits")
    refuse_unknown(limits, LIMITS, f"{where}: limits")
    refuse_xacro(str(entries["robot"]), where, WITHOUT_XACRO)
    path = urdf_path(str(entries["robot"]))
    choices: dict[str, Any] = {"tip": entries.get("tip")}
    model = RobotModel.from_urdf(path, **choices)
    values = {key: _limits(limits.get(key), model, f"{where}: limits: {key}") for key in LIMITS}
    for key, name in (("velocity", "velocity_limits"), ("torque", "effort_limits")):
        if (given := values[key]) is not None:
            choices[name] = dict(zip(model.joint_names, given.tolist(), strict=True))
    if len(choices) > 1:
        model = RobotModel.from_urdf(path, **choices)
    a_max = values["acceleration"]
    return model, np.full(model.nv, math.inf) if a_max is None else a_max


def _limits(value: Any, model: RobotModel, where: str) -> Array | None:
    """One limit for each joint; None where there is none."""
    if value is None:
        return None
    values = _numbers([value] * model.nv if np.ndim(value) == 0 else value, model.nv, where)
    if not (values > 0.0).all():
        raise ParameterError(f"{where} = {value}: limits must be above zero")
    return values


def _task(entry: Any, where: str) -> TaskPath | None:
    if entry is None:
        return None
    content = as_mapping(entry, where)
    if len(content) != 1 or not content.keys() <= PATHS.keys():
        raise ParameterError(
            f"{where} has {', '.join(map(str, content)) or 'nothing'}; allowed: one of {', '.join(PATHS)}"
        )
    ((name, given),) = content.items()
    where = f"{where}: {name}"
    arguments, allowed = as_mapping(given, where), inspect.signature(PATHS[name]).parameters
    refuse_unknown(arguments, tuple(allowed), where)
    missing = [
        key for key, parameter in allowed.items() if parameter.default is parameter.empty and key not in arguments
    ]
    if missing:
        raise ParameterError(f"{where}: '{missing[0]}' is missing")
    try:
        return PATHS[name](**arguments)
    except (ArmControlError, TypeError, ValueError) as error:
        raise ParameterError(f"{where}: {error}") from None


def _pose(entry: Any, where: str) -> tuple[Pose | None, bool]:
    """A pose, and whether its orientation counts."""
    if entry is None:
        return None, False
    content = as_mapping(entry, where)
    refuse_unknown(content, ("position", "quat_xyzw"), where)
    if "position" not in content:
        raise ParameterError(f"{where}: 'position' is missing")
    p = _numbers(content["position"], 3, f"{where}: position")
    if "quat_xyzw" not in content:
        return Pose(np.eye(3), p), False
    try:
        return Pose(rotation_from_quaternion(content["quat_xyzw"]), p), True
    except ValueError as error:
        raise ParameterError(f"{where}: {error}") from None


def _obstacles(entries: Any, where: str) -> tuple[Placed, ...]:
    if not isinstance(entries, (list, tuple, type(None))):
        raise ParameterError(f"{where}: a list is needed, not {type(entries).__name__}")
    return tuple(_obstacle(as_mapping(entry, where), f"{where}: {k}") for k, entry in enumerate(entries or ()))


def _obstacle(entry: dict[str, Any], where: str) -> Placed:
    """An obstacle as the world of a scenario has it, the hull of a mesh, or one that goes from sample to sample."""
    if "mesh" in entry:
        return _hull(entry, where)
    if "positions" not in entry and "times" not in entry:
        return _mover(entry, where)
    for key, other in (("positions", "times"), ("times", "positions")):
        if key not in entry:
            raise ParameterError(f"{where}: '{other}' without '{key}': an obstacle's positions need their times")
    for key in ("position", "velocity", "from", "until"):
        if key in entry:
            raise ParameterError(f"{where}: '{key}' does not go with 'positions', which say where the obstacle is")
    times, positions = entry.pop("times"), entry.pop("positions")
    try:
        places = np.array(positions, dtype=float).reshape(-1, 3)
        mover = _mover(entry | {"position": places[0].tolist()}, where)
        obstacle = mover.obstacle
        return course(obstacle.shape, np.array(times, dtype=float), [Pose(obstacle.X_WO.R, p) for p in places])
    except (IndexError, TypeError, ValueError) as error:
        raise ParameterError(f"{where}: {error}") from None


def _hull(entry: dict[str, Any], where: str) -> HullObstacle:
    """The hull of a mesh file, which moves as an obstacle of another shape."""
    file, scale = Path(str(entry.pop("mesh"))), _positive(entry.pop("scale", 1.0), f"{where}: scale")
    if "shape" in entry or "size" in entry:
        raise ParameterError(f"{where}: a mesh has neither 'shape' nor 'size'")
    mover = _mover(entry | {"shape": "sphere", "size": 1.0}, where)
    try:
        return HullObstacle(Hull.of_mesh(file, scale), mover.obstacle.X_WO, mover.obstacle.V_WO, mover.span)
    except InputError as error:
        raise ParameterError(f"{where}: {error}") from None


def _mover(entry: dict[str, Any], where: str) -> Mover:
    for key in ("shape", "size", "position"):
        if key not in entry:
            raise ParameterError(f"{where}: '{key}' is missing")
    return World.from_mapping({"obstacles": [entry]}, where).movers[0]


def _numbers(value: Any, n: int, where: str) -> Array:
    try:
        numbers = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(f"{where} = {value!r}: {n} numbers are needed") from None
    if numbers.shape != (n,) or not np.isfinite(numbers).all():
        raise ParameterError(f"{where} = {value!r}: {n} finite numbers are needed")
    return numbers


def _positive(value: Any, where: str) -> float:
    number = _margin(value, where)
    if not number > 0.0:
        raise ParameterError(f"{where} = {value!r}: a number above zero is needed")
    return number


def _margin(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{where} = {value!r}: a number is needed") from None
    if not 0.0 <= number < math.inf:
        raise ParameterError(f"{where} = {value!r}: a finite number, 0 or more, is needed")
    return number
