"""Simulated arms: the engines that compute them, behind one interface, and an arm that is not its model.

The engines are MuJoCo and the package's own rigid-body dynamics. A :class:`RealArm` has friction, rotors, masses,
payload, actuators and sensors of its own (:mod:`arm_control.simulation.plant_properties`). A controller sees measured
positions and velocities; the true ones are those of the attribute ``arm``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.core import Parameters, group, parameter
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Mover, Obstacle
from arm_control.model import RobotModel
from arm_control.simulation.plant_properties import PlantProperties, changed_model
from arm_control.simulation.rigid_body import PREFIX, RigidBodyParameters, RigidBodySimulator

if TYPE_CHECKING:
    from arm_control.simulation.mujoco_simulator import MujocoSimulator

ENGINES = ("mujoco", "rigid_body")


@dataclass(frozen=True)
class EngineParameters(Parameters):
    """What computes the motion of a simulated arm."""

    engine: str = parameter(
        "mujoco", "what computes the motion: MuJoCo, or the package's own dynamics without contacts", choices=ENGINES
    )
    rigid_body: RigidBodyParameters = group(RigidBodyParameters, PREFIX)


SimulatedArm: TypeAlias = "MujocoSimulator | RigidBodySimulator"
"""An arm in an engine."""


def engine_of(values: Mapping[str, Any], where: str) -> EngineParameters:
    """Return the engine among a simulator's parameters; a ParameterError where one is unknown or not allowed."""
    own = {name: value for name, value in values.items() if name == "engine" or name.startswith(PREFIX)}
    return EngineParameters.from_mapping(own, where=where)


def make_arm(
    model: RobotModel,
    q_initial: npt.ArrayLike | None,
    engine: EngineParameters,
    properties: PlantProperties,
    *,
    solids: Sequence[Obstacle] = (),
    movers: Sequence[Mover] = (),
    **options: Any,
) -> SimulatedArm:
    """Return an arm in an engine, with the masses, rotors, payload, base and contacts of its properties.

    A ParameterError where the links are to touch anything, or an arm is from a file, in another engine than MuJoCo.

    Parameters
    ----------
    q_initial : array_like, shape (nq,), or None
        Joint positions at the start [rad or m]; None for zero.
    properties : PlantProperties
        Ideal, or with a number for each joint in every list.
    movers : sequence of Mover
        What moves, or stands in the way: all links of the arm touch it, or nothing does.
    **options
        ``timestep``, ``damping`` and ``friction`` of a
        :class:`~arm_control.simulation.rigid_body.RigidBodySimulator`.
    """
    has_links, is_changed = properties.contacts == "arm", not properties.is_ideal
    solids = () if properties.contacts == "none" else solids
    if engine.engine == "rigid_body":
        if properties.file or has_links:
            what = "plant.file" if properties.file else "plant.contacts = 'arm'"
            raise ParameterError(f"{what} needs the engine mujoco")
        own = changed_model(model, properties) if is_changed else model
        return RigidBodySimulator(own, q_initial, **options, solids=solids, parameters=engine.rigid_body)
    from arm_control.simulation.mujoco_simulator import MujocoSimulator, change_bodies

    contacts: dict[str, Any] = {"solids": solids, "has_links": has_links}
    contacts["movers"] = [mover for mover in movers if has_links and not mover.is_solid]
    if properties.file:
        from arm_control.simulation.plant_file import read_plant_file

        given = properties.file, model, options["timestep"], properties.file_joints, solids
        compiled, differences = read_plant_file(*given, has_links=has_links)
        contacts |= {"mujoco_model": compiled, "differences": differences, "movers": ()}
    arm = MujocoSimulator(model, q_initial, **options, **contacts)
    if is_changed:
        change_bodies(arm, model, properties)
    return arm


class RealArm:
    """An arm that differs from its model, with the interface of :data:`~arm_control.simulation.engine.SimulatedArm`.

    Parameters
    ----------
    q_initial : array_like, shape (nq,), optional
        Joint positions at the start [rad or m]; zero by default.
    timestep : float
        Duration of one step [s].
    damping : float
        Viscous damping of every joint, beside that of the properties [N m s/rad].
    solids : sequence of Obstacle
        What the end effector touches; by default nothing.
    movers : sequence of Mover
        What all links touch, where the properties say that they touch anything.

    Attributes
    ----------
    properties : PlantProperties
        The differences, resolved for this arm.
    differences : tuple of str
        Differences of an arm from a file to the model, one line each.

    Raises
    ------
    ModelError
        When the engine refuses the arm, or its mass matrix differs from the model's before anything is changed;
        when a file has another arm.
    ParameterError
        When a list of the properties, or of the engine's parameters, does not suit the arm.
    """

    def __init__(
        self,
        model: RobotModel,
        q_initial: npt.ArrayLike | None = None,
        *,
        timestep: float = 1e-3,
        damping: float = 0.0,
        properties: PlantProperties,
        solids: Sequence[Obstacle] = (),
        movers: Sequence[Mover] = (),
        engine: EngineParameters | None = None,
    ) -> None:
        self.properties = p = properties.of(model)
        self._coulomb, self._stribeck = np.array(p.coulomb), np.array(p.stribeck)
        has_friction = bool(self._coulomb.any() or self._stribeck.any())
        friction = self._coulomb + self._stribeck if has_friction else None
        viscous = np.array(p.viscous) + damping
        options: dict[str, Any] = {"timestep": timestep, "damping": viscous, "friction": friction}
        options |= {"solids": solids, "movers": movers}
        self.arm: SimulatedArm = make_arm(model, q_initial, engine or EngineParameters(), p, **options)
        self.timestep, self.differences = timestep, self.arm.differences
        self._has_stribeck = bool(self._stribeck.any())
        self._resolution, self._ripple = np.array(p.torque_resolution), np.array(p.torque_ripple)
        self._lag = timestep / max(p.actuator_time_constant, timestep)
        self._delay = round(p.actuator_delay / timestep)
        self._tau: Array | None = None
        self.reset()

    @property
    def q(self) -> Array:
        """Measured joint positions, shape (nq,) [rad or m]."""
        return self._q.copy()

    @property
    def v(self) -> Array:
        """Measured joint velocities, shape (nv,) [rad/s or m/s]."""
        return self._v.copy()

    @property
    def steps(self) -> int:
        """Steps since the start or the last :meth:`reset`."""
        return self.arm.steps

    @property
    def contact_wrench(self) -> Array:
        """Wrench of solid obstacles on the end effector, shape (6,) [N, N m]."""
        return self.arm.contact_wrench

    @property
    def touching_steps(self) -> int:
        """Number of these in which anything touched."""
        return self.arm.touching_steps

    def step(self, tau: Array) -> None:
        """Command a torque, shape (nv,) [N m or N], for one time step.

        A SimulationDiverged when the state or the torque is not finite, or absurd.
        """
        if self._tau is None:
            self._tau = tau.copy()
            self._sent.extend([tau] * self._delay)
        self._sent.append(tau)
        self._tau += self._lag * (self._sent.popleft() - self._tau)
        if self._has_stribeck:
            share = np.exp(-np.square(self.arm.v / self.properties.stribeck_velocity))
            self.arm.set_friction(self._coulomb + self._stribeck * share)
        tau = _rounded(self._tau, self._resolution)
        if self._ripple.any():
            tau = tau + self._ripple * np.sin(self.properties.ripple_periods * self.arm.q)  # (3)
        self.arm.step(tau)
        self._measure()

    def load(self, tau: Array) -> None:
        """Set a torque on the joints beside that of the motors, shape (nv,) [N m or N], until the next call."""
        self.arm.load(tau)

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest, at time zero, at ``q``, shape (nq,) [rad or m], or the initial positions."""
        self.arm.reset(q)
        self._rng = np.random.default_rng(self.properties.seed)
        self._sent = deque[Array]()
        self._tau = None
        self._q: Array = self.arm.q
        self._measure()

    def _measure(self) -> None:
        p, v = self.properties, self.arm.v
        q = _rounded(self.arm.q, np.full(v.shape, p.encoder_resolution))
        if p.velocity_from == "encoder":
            v = (q - self._q) / self.timestep if self.arm.steps else np.zeros_like(v)
        elif p.velocity_noise:
            v = v + self._rng.normal(0.0, p.velocity_noise, v.shape)
        self._q, self._v = q, v


def make_simulator(
    model: RobotModel,
    q_initial: npt.ArrayLike | None,
    properties: PlantProperties,
    *,
    engine: EngineParameters | None = None,
    **options: Any,
) -> SimulatedArm | RealArm:
    """Return a simulated arm with properties: its model where nothing differs.

    The arguments, ``options`` among them, are those of :class:`RealArm`.
    """
    engine = engine or EngineParameters()
    if properties.is_ideal:
        return make_arm(model, q_initial, engine, properties, **options)
    return RealArm(model, q_initial, properties=properties, engine=engine, **options)


def true_arm(simulator: SimulatedArm | RealArm) -> SimulatedArm:
    """Return the arm without the errors of its joints' sensors."""
    return simulator.arm if isinstance(simulator, RealArm) else simulator


def _rounded(x: Array, steps: Array) -> Array:
    """Numbers rounded to whole steps; those whose step is 0 stay as they are."""
    return np.where(steps > 0.0, np.round(x / np.where(steps > 0.0, steps, 1.0)) * steps, x)
