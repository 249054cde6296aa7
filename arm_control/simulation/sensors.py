"""The sensors of a simulated arm beside those of its joints, and when they measure; the same with ROS and without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.maths import Array
from arm_control.model import ArmParameters, RobotModel
from arm_control.simulation.changed_model import tilted_gravity
from arm_control.simulation.engine import SimulatedArm
from arm_control.simulation.plant_properties import PlantProperties
from arm_control.simulation.range_sensor import RangeSensor
from arm_control.simulation.scene import World
from arm_control.simulation.wrist_sensor import carried_body, wrist_wrench


class Sampling:
    """Times of a sensor's measurements: the first state, and the first state in each period.

    Parameters
    ----------
    rate : float
        Measurements per second [Hz]; 0: none.
    """

    def __init__(self, rate: float) -> None:
        self._period_ns = round(NANOSECONDS / rate) if rate else 0
        self._last_ns = -1

    def is_due(self, stamp_ns: int) -> bool:
        """Whether the state with this stamp [ns] is measured; asked once for each state."""
        if not self._period_ns:
            return False
        last_ns, self._last_ns = self._last_ns, stamp_ns
        is_first = last_ns < 0 or stamp_ns < last_ns
        return is_first or stamp_ns // self._period_ns != last_ns // self._period_ns


class SimulatedSensors:
    """A sensor of force at the end effector, and range sensors.

    Parameters
    ----------
    plant : PlantProperties
        The payload that it does not know, and the tilt of the base.

    Raises
    ------
    FrameNotFound
        When the arm lacks the link of a sensor.
    """

    def __init__(
        self,
        model: RobotModel,
        world: World,
        ranges: Sequence[RangeSensor] = (),
        arm: ArmParameters | None = None,
        plant: PlantProperties | None = None,
    ) -> None:
        self._model, self._world = model, world
        plant = plant or PlantProperties()
        self._body = carried_body(model, arm or ArmParameters(), plant)
        self._g_W = tilted_gravity(plant, model.gravity_W)
        for sensor in ranges:
            model.pose(np.zeros(model.nq), sensor.link or model.tip)
        self._stamp_ns, self._v, self._a = -1, np.zeros(model.nv), np.zeros(model.nv)
        self._step_ns = 0

    def observe(self, stamp_ns: int, arm: SimulatedArm) -> None:
        """Take note of a state; every state is needed for the acceleration.

        Parameters
        ----------
        stamp_ns : int
            Its stamp [ns].
        arm : SimulatedArm
            The arm as it is, without errors of its own sensors.
        """
        self._arm, v = arm, arm.v
        self._step_ns = max(stamp_ns - self._stamp_ns, 0) if self._stamp_ns >= 0 else 0
        self._a = (v - self._v) * (NANOSECONDS / self._step_ns) if self._step_ns else np.zeros_like(v)
        self._stamp_ns, self._v = stamp_ns, v

    def wrench(self) -> Array:
        """Force and moment at the end effector in the last step, in its axes, shape (6,) [N, N m]."""
        F_push = self._world.wrench((self._stamp_ns - self._step_ns) / NANOSECONDS)
        terms = self._model.evaluate(self._arm.q, self._arm.v)
        return wrist_wrench(terms, self._a, self._body, self._g_W, self._arm.contact_wrench + F_push)

    def distance(self, sensor: RangeSensor) -> float:
        """What a range sensor reports in the newest state [m]."""
        X_WL = self._model.pose(self._arm.q, sensor.link or self._model.tip)
        obstacles = self._world.obstacles(self._stamp_ns / NANOSECONDS)
        return sensor.reported(sensor.distance(X_WL, obstacles, self._world.floor))
