"""The sensors of a simulated arm beside those of its joints, and when they measure; the same with ROS and without.

Range sensors measure the distance from a link to the nearest obstacle or the floor, along rays.
The axis x of a sensor is its direction, as sensor_msgs/Range has it. One ray goes along x. More rays fill the cone of
the field of view evenly, ray i of n at the angle theta_i from x and psi_i about it,

    (1)  theta_i = (field_of_view / 2) sqrt(i / (n - 1)),   psi_i = i pi (3 - sqrt 5)

and the smallest distance counts. The arm itself is not seen. Distances out of range are infinite (REP 117):

    (2)  -inf below min_range,   +inf above max_range

A force-torque sensor at the end effector E measures the wrench that all beyond it exerts on the arm, in the axes of E.
Beyond it are what the end effector touches, and the body that it carries: the links behind E, the payload of the model
and the payload of the plant. That body has the mass m, the first moment h = m c and the second moment J about E.

    (3)  f_E = R^T f_ext - m (a - g) - alpha x h - omega x (omega x h)
    (4)  n_E = R^T n_ext - J alpha - omega x J omega - h x (a - g)

So a payload at rest gives its weight, and a wall that is pressed gives its reaction.

    f_ext, n_ext    wrench of contacts and pushes on E, about its origin, world axes    [N, N m]
    a, alpha        acceleration of E's origin, and of E, in its axes                   [m/s^2, rad/s^2]
    omega, g        angular velocity of E, and gravity, in its axes                     [rad/s, m/s^2]
    R               orientation of E in the world

Source: R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, chapter 2, the equation
of motion of a rigid body by its rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS, Parameters, parameter
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Obstacle, Pose, floor_distances, ray_distances, rotation_from_quaternion
from arm_control.model import ArmParameters, Inertia, RobotModel, Terms, inertia_in, read_robot
from arm_control.simulation.engine import SimulatedArm
from arm_control.simulation.plant_properties import PlantProperties, tilted_gravity
from arm_control.simulation.scene import World


class Sampling:
    """Times of a sensor's measurements, at a rate [Hz]: the first state, and the first one in each period; 0: none."""

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
        terms = self._model.evaluate(self._arm.q, self._arm.v)
        F_push = self._world.wrench((self._stamp_ns - self._step_ns) / NANOSECONDS, terms)
        return wrist_wrench(terms, self._a, self._body, self._g_W, self._arm.contact_wrench + F_push)

    def distance(self, sensor: RangeSensor) -> float:
        """What a range sensor reports in the newest state [m]."""
        X_WL = self._model.pose(self._arm.q, sensor.link or self._model.tip)
        obstacles = self._world.obstacles(self._stamp_ns / NANOSECONDS)
        return sensor.reported(sensor.distance(X_WL, obstacles, self._world.floor))


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
        """Return the distance to what is nearest, or to the floor; 0 inside of it, infinite without anything [m]."""
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
    """Return the sensors of a scenario, from a list of mappings or None.

    A ParameterError where it is no list of mappings, a value is unknown or not allowed, or a name occurs twice.
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


def wrist_wrench(t: Terms, joint_acceleration: Array, body: Inertia, g_W: Array, F_ext: Array) -> Array:
    """What the sensor measures, equations (3) and (4).

    Parameters
    ----------
    joint_acceleration : ndarray, shape (nv,)
        [rad/s^2 or m/s^2].
    body : Inertia
        The body beyond E, in the frame of E.
    g_W : ndarray, shape (3,)
        Acceleration of free fall, world axes [m/s^2].
    F_ext : ndarray, shape (6,)
        Wrench of contacts and pushes on E, about its origin, world axes [N, N m].

    Returns
    -------
    ndarray, shape (6,)
        Force [N] and moment [N m] on the arm about the origin of E, in the axes of E.
    """
    A = t.J @ joint_acceleration + t.Jdot_v
    R_T, m, h, J = t.X_WE.R.T, body.m, body.h, body.J
    a_g, alpha, omega = R_T @ (A[:3] - g_W), R_T @ A[3:], R_T @ t.V_WE[3:]
    f = R_T @ F_ext[:3] - m * a_g - np.cross(alpha, h) - np.cross(omega, np.cross(omega, h))  # (3)
    n = R_T @ F_ext[3:] - J @ alpha - np.cross(omega, J @ omega) - np.cross(h, a_g)  # (4)
    return np.concatenate([f, n])


def carried_body(model: RobotModel, arm: ArmParameters, plant: PlantProperties) -> Inertia:
    """Return the body beyond the end effector, in its frame; links behind it have the masses of the model."""
    known = _point_mass(arm.payload_mass, arm.payload_centre)
    return _links_behind_tip(model) + known + _point_mass(plant.payload_mass, plant.payload_position)


def _links_behind_tip(model: RobotModel) -> Inertia:
    elements = {link.get("name"): link for link in read_robot(model.urdf.text).iterfind("link")}
    frames, tip = model.tree.frames, model.tree.frames[model.tip]
    total = Inertia.zero()
    for _, link in model.urdf.below(model.tip):
        if frames[link].body == tip.body:
            total += inertia_in(elements[link]).in_parent(tip.X_BF.inverse() @ frames[link].X_BF)
    return total


def _point_mass(mass: float, position: tuple[float, ...]) -> Inertia:
    return Inertia(mass, np.zeros(3), np.zeros((3, 3))).in_parent(Pose(np.eye(3), np.array(position)))
