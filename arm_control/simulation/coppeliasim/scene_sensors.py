"""Sensors of force and distance in a scene of CoppeliaSim: found, checked, and read in the axes of the arm.

A force sensor of CoppeliaSim gives force and moment *on the sensor* by what hangs on it, about its origin and along its
axes. With its pose X_EF at the end effector E that is the wrench of :mod:`arm_control.simulation.sensors`,

    (1)  f_E = R_EF f_F,   n_E = R_EF n_F + p_EF x f_E
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arm_control.exceptions import ModelError
from arm_control.maths import Array, Pose
from arm_control.model import Force, RobotModel
from arm_control.simulation.coppeliasim.arm_scene import find, find_object
from arm_control.simulation.sensors import RangeSensor

NONE = -1
"""Handle of no object; distance to nothing."""


class SceneSensors:
    """The sensors of one arm.

    Parameters
    ----------
    force_path : str
        Path of the force sensor; empty: none.
    ranges : sequence of RangeSensor
        Range sensors; each names a proximity sensor, or is left out where the scene has none of its name.

    Attributes
    ----------
    force_handle : int
        Handle of the force sensor; -1 for none.
    unseen : tuple of str
        Names of the range sensors that are left out.
    """

    def __init__(self, model: RobotModel, force_path: str, ranges: Sequence[RangeSensor]) -> None:
        self._model, self._force_path, self._ranges = model, force_path, ranges
        self.force_handle = NONE
        self.unseen: tuple[str, ...] = ()
        self._proximity: dict[str, int] = {}
        self.take((), ())

    def find(self, sim: Any) -> None:
        """Find the sensors in the open scene of CoppeliaSim's API ``sim``.

        Raises
        ------
        ModelError
            When one that is named is missing, or is another object.
        """
        if self._force_path:
            self.force_handle = find_object(sim, self._force_path)
            _require(sim, self._force_path, self.force_handle, sim.object_forcesensor_type, "force sensor")
        handles = {sensor: _proximity_sensor(sim, sensor) for sensor in self._ranges}
        self.unseen = tuple(sensor.name for sensor, handle in handles.items() if handle == NONE)
        self._proximity = {sensor.name: handle for sensor, handle in handles.items() if handle != NONE}

    @property
    def handles(self) -> tuple[int, list[int]]:
        """Handle of the force sensor, and those of the proximity sensors."""
        return self.force_handle, list(self._proximity.values())

    def take(self, force: Sequence[float], distances: Sequence[float]) -> None:
        """Take note of what was read.

        Parameters
        ----------
        force : sequence of float
            Force [N] and moment [N m] on the force sensor, six numbers; empty before it has measured.
        distances : sequence of float
            Distance of each proximity sensor in :attr:`handles` [m]; below 0 for nothing.

        Raises
        ------
        ModelError
            When there are more or fewer numbers.
        """
        if len(force) not in (0, 6) or len(distances) != len(self._proximity):
            given = f"{len(force)} numbers of force and {len(distances)} distances"
            raise ModelError(f"CoppeliaSim tells {given} of {len(self._proximity)} proximity sensors")
        self._force = np.array(force, dtype=float)
        self._distances = dict(zip(self._proximity, map(float, distances), strict=True))

    def wrench(self, q: Array, X_BF: Pose) -> Array | None:
        """Equation (1), shape (6,) [N, N m]; None without a measurement.

        Parameters
        ----------
        q : ndarray, shape (nq,)
            Joint positions [rad or m].
        X_BF : Pose
            Pose of the force sensor in the arm's base.
        """
        if not self._force.size or not np.isfinite(self._force).all():
            return None
        X_EF = self._model.pose(q).inverse() @ X_BF
        return Force(self._force[:3], self._force[3:]).in_parent(X_EF).vector()

    def distance(self, sensor: RangeSensor) -> float | None:
        """What a range sensor reports [m]; None for one without a proximity sensor."""
        distance = self._distances.get(sensor.name)
        return None if distance is None else sensor.reported(np.inf if distance < 0.0 else distance)


def _proximity_sensor(sim: Any, sensor: RangeSensor) -> int:
    path = sensor.object or f"/{sensor.name}"
    handle = find_object(sim, path) if sensor.object else find(sim, path)
    if handle != NONE:
        _require(sim, path, handle, sim.object_proximitysensor_type, "proximity sensor")
    return handle


def _require(sim: Any, path: str, handle: int, kind: int, name: str) -> None:
    if sim.getObjectType(handle) != kind:
        raise ModelError(f"{path} in CoppeliaSim is no {name}")
