"""What has to be known of a CoppeliaSim."""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.core.parameters import Parameters, parameter
from arm_control.simulation.coppeliasim.physics_checks import ENGINES


@dataclass(frozen=True)
class CoppeliasimParameters(Parameters):
    """Where CoppeliaSim is, and what of its scene is meant."""

    host: str = parameter("127.0.0.1", "where CoppeliaSim runs; its ZMQ remote API has no password")
    port: int = parameter(23000, "port of its ZMQ remote API", lower=1, upper=65535)
    scene: str = parameter("", "scene to load (.ttt), a path on its machine; empty: the open one, or built in it")
    engine: str = parameter("mujoco", "physics engine", choices=ENGINES)
    joint_paths: tuple[str, ...] = parameter((), "objects of joints that are not at '/name', as 'name:path'")
    base_object: str = parameter("", "object that is the arm's base frame; empty: the origin of the scene")
    target_object: str = parameter("/target", "object whose motions become targets; empty: none")
    obstacle_objects: tuple[str, ...] = parameter((), "primitive shapes that are obstacles, by path")
    watchdog_time: float = parameter(
        0.5, "wall time after which CoppeliaSim ends what we no longer control", unit="s", lower=0.2, upper=10.0
    )
