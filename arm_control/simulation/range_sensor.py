"""Range sensors of a simulated arm: the distance from a link to the nearest obstacle or the floor, along rays.

The axis x of a sensor is its direction, as sensor_msgs/Range has it. One ray goes along x. More rays fill the cone of
the field of view evenly, ray i of n at the angle theta_i from x and psi_i about it,

    (1)  theta_i = (field_of_view / 2) sqrt(i / (n - 1)),   psi_i = i pi (3 - sqrt 5)

and the smallest distance counts. The arm itself is not seen. Distances out of range are infinite (REP 117):

    (2)  -inf below min_range,   +inf above max_range
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arm_control.core import Parameters, parameter
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Obstacle, Pose, floor_distances, ray_distances, rotation_from_quaternion

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""Names that may be part of a topic's name."""
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True)
class RangeSensor(Parameters):
    """A sensor, as a scenario describes it."""

    name: str = parameter("", "name of the sensor; its topic is range/<name>")
    link: str = parameter("", "link that carries it; empty: the tip")
    position: tuple[float, ...] = parameter((0.0, 0.0, 0.0), "its place in the frame of the link", unit="m")
    quat_xyzw: tuple[float, ...] = parameter((0.0, 0.0, 0.0, 1.0), "its orientation; the axis x is its direction")
    field_of_view: float = parameter(0.0, "full angle of its cone", unit="rad", lower=0.0, upper=3.1)
    rays: int = parameter(1, "rays in the cone", lower=1, upper=1000)
    min_range: float = parameter(0.02, "smallest distance that it measures", unit="m", lower=0.0)
    max_range: float = parameter(2.0, "largest distance that it measures", unit="m", lower=0.0)
    rate: float = parameter(50.0, "messages per second of simulated time", unit="Hz", lower=0.1, upper=1000.0)
    object: str = parameter(
        "", "path of its proximity sensor in CoppeliaSim's scene; empty: '/<name>', where there is one"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"range sensor '{self.name}'"
        if not NAME.fullmatch(self.name):
            raise ParameterError(f"{where}: a name of letters, digits and '_' is needed, with a letter first")
        if len(self.position) != 3 or len(self.quat_xyzw) != 4 or not any(self.quat_xyzw):
            raise ParameterError(f"{where}: position needs three numbers, quat_xyzw four that are not all 0")
        if not self.min_range < self.max_range:
            raise ParameterError(f"{where}: min_range = {self.min_range} must be below max_range = {self.max_range}")
        if (self.rays == 1) != (self.field_of_view == 0.0):
            given = f"field_of_view = {self.field_of_view}, rays = {self.rays}"
            raise ParameterError(f"{where}: {given}: one ray has a field of view of 0, a cone several rays")

    @cached_property
    def X_LS(self) -> Pose:
        """Pose of the sensor in the frame of its link."""
        return Pose(rotation_from_quaternion(self.quat_xyzw), np.array(self.position))

    @cached_property
    def is_at_link(self) -> bool:
        """Whether its frame is that of its link."""
        return bool(np.array_equal(self.X_LS.R, np.eye(3)) and not self.X_LS.p.any())

    def frame(self, tip: str) -> str:
        """Return the name of its frame: that of its link, the tip where it names none, or ``range_<name>``."""
        return (self.link or tip) if self.is_at_link else f"range_{self.name}"

    @cached_property
    def directions(self) -> Array:
        """Unit vectors (1) of the rays in the frame of the sensor, shape (n, 3)."""
        i = np.arange(self.rays)
        theta = 0.5 * self.field_of_view * np.sqrt(i / max(self.rays - 1, 1))
        psi = i * GOLDEN_ANGLE
        return np.column_stack([np.cos(theta), np.sin(theta) * np.cos(psi), np.sin(theta) * np.sin(psi)])

    def distance(self, X_WL: Pose, obstacles: Sequence[Obstacle], floor: float) -> float:
        """Return the distance to what is nearest; 0 inside of it, infinite without anything [m].

        Parameters
        ----------
        floor : float
            Height of the floor; ``-inf`` for none [m].
        """
        R, p = X_WL @ self.X_LS
        d = self.directions @ R.T
        distances = [floor_distances(floor, p, d)]
        for obstacle in obstacles:
            X_OW = obstacle.X_WO.inverse()
            distances.append(ray_distances(obstacle.shape, X_OW.R @ p + X_OW.p, d @ X_OW.R.T))
        return float(np.min(distances))

    def reported(self, distance: float) -> float:
        """Return what is published for a distance [m], equation (2)."""
        if distance < self.min_range:
            return -math.inf
        return distance if distance <= self.max_range else math.inf


def range_sensors_of(entries: Any, where: str) -> tuple[RangeSensor, ...]:
    """Return the sensors of a scenario.

    Parameters
    ----------
    entries : object
        A list of mappings, from YAML, or None.
    where : str
        The file and the entry, for the message.

    Raises
    ------
    ParameterError
        When it is no list of mappings, a value is unknown or not allowed, or a name occurs twice.
    """
    if entries is None:
        return ()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ParameterError(f"{where}: a list is needed, with a mapping for each sensor")
    sensors = tuple(RangeSensor.from_mapping(entry, where=where) for entry in entries)
    names = [sensor.name for sensor in sensors]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ParameterError(f"{where}: {', '.join(twice)} twice: each sensor needs a name of its own")
    return sensors
