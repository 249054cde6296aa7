"""The surroundings of a scenario: those of its entry ``world``, and the obstacles of the scene that is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arm_control.collision import Placed
from arm_control.core import as_mapping, read_yaml, yaml_path
from arm_control.exceptions import ParameterError
from arm_control.maths import Mover, Obstacle, Span
from arm_control.simulation.plan_scene import PlanFile
from arm_control.simulation.range_sensor import RangeSensor, range_sensors_of
from arm_control.simulation.world import World

OF_SCENARIOS = ("world", "nodes", "range_sensors")
"""Entries of a scenario; a file without them is read as the entries of a world."""


def load_world(name: str) -> World:
    """Read the surroundings of a scenario, by its name or path, or a file that has their entries by itself.

    Those of an empty name are empty.

    Raises
    ------
    ParameterError
        When there is no such file, or it has an unknown key or an invalid value.
    """
    if not name:
        return World()
    path = yaml_path("scenarios", name)
    content = read_yaml(path)
    if any(key in content for key in OF_SCENARIOS):
        return world_of(content, str(path))
    return World.from_mapping(content, str(path))


def range_sensors_in(name: str) -> tuple[RangeSensor, ...]:
    """Return the range sensors of a scenario, by its name or path; none for an empty name."""
    path = yaml_path("scenarios", name) if name else None
    return () if path is None else range_sensors_of(read_yaml(path).get("range_sensors"), f"{path}: range_sensors")


def world_of(content: Mapping[str, Any], where: str) -> World:
    """Return the surroundings of a scenario.

    Parameters
    ----------
    where : str
        The file, for the error message.

    Raises
    ------
    ParameterError
        When ``world`` or the scene of ``plan`` has an unknown key or an invalid value, or an obstacle is a mesh.
    """
    world = World.from_mapping(as_mapping(content.get("world"), f"{where}: world"), f"{where}: world")
    plan = as_mapping(content.get("plan"), f"{where}: plan")
    if "scene" not in plan:
        return world
    scene = PlanFile.load(str(plan["scene"]))
    parts = [part for told in scene.obstacles(str(plan.get("variant", ""))) for part in _parts(told, where)]
    return replace(world, movers=(*world.movers, *parts), told=(*world.told, *parts))


def _parts(told: Placed, where: str) -> tuple[Mover, ...]:
    """An obstacle in one span of time after the other."""
    if isinstance(told, Mover):
        return (told,)
    if isinstance(told, Obstacle):
        return (Mover(told, Span()),)
    if isinstance(told, (list, tuple)):
        return tuple(told)
    raise ParameterError(f"{where}: plan: an obstacle of the scene is a mesh, which cannot be simulated")
