"""The engines that simulate an arm, behind one interface: MuJoCo, and the package's own rigid-body dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from arm_control.core import Parameters, group, parameter
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Mover, Obstacle
from arm_control.model import RobotModel
from arm_control.simulation.changed_model import changed_model
from arm_control.simulation.plant_properties import PlantProperties
from arm_control.simulation.rigid_body import PREFIX, RigidBodyParameters, RigidBodySimulator

ENGINES = ("mujoco", "rigid_body")


@dataclass(frozen=True)
class EngineParameters(Parameters):
    """What computes the motion of a simulated arm."""

    engine: str = parameter(
        "mujoco", "what computes the motion: MuJoCo, or the package's own dynamics without contacts", choices=ENGINES
    )
    rigid_body: RigidBodyParameters = group(RigidBodyParameters, PREFIX)


class SimulatedArm(Protocol):
    """What every simulated arm can do; see :class:`~arm_control.simulation.rigid_body.RigidBodySimulator`."""

    steps: int
    touching_steps: int
    timestep: float
    differences: tuple[str, ...]

    @property
    def q(self) -> Array:
        """Joint positions, shape (nq,) [rad or m]."""

    @property
    def v(self) -> Array:
        """Joint velocities, shape (nv,) [rad/s or m/s]."""

    @property
    def contact_wrench(self) -> Array:
        """Wrench of solid obstacles on the end effector, shape (6,) [N, N m]."""

    def step(self, tau: Array) -> None:
        """Apply a torque, shape (nv,) [N m or N], for one time step."""

    def load(self, tau: Array) -> None:
        """Set a torque beside that of the motors, shape (nv,) [N m or N]."""

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest."""

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix, shape (nv, nv) [kg m^2 or kg]."""

    def set_friction(self, friction: Array) -> None:
        """Set the Coulomb friction, shape (nv,) [N m or N], of an arm that was made with some."""


def engine_of(values: Mapping[str, Any], where: str) -> EngineParameters:
    """Return the engine among a simulator's parameters.

    Parameters
    ----------
    where : str
        Source of the values, for the message.

    Raises
    ------
    ParameterError
        When one is unknown or not allowed.
    """
    own = {name: value for name, value in values.items() if name == "engine" or name.startswith(PREFIX)}
    return EngineParameters.from_mapping(own, where=where)


def make_arm(
    model: RobotModel, q_initial: npt.ArrayLike | None, engine: EngineParameters, **options: Any
) -> SimulatedArm:
    """Return an arm that is its model, in an engine.

    Parameters
    ----------
    q_initial : array_like, shape (nq,), or None
        Joint positions at the start [rad or m]; None for zero.
    **options
        ``timestep``, ``damping``, ``friction`` and ``solids`` of a
        :class:`~arm_control.simulation.rigid_body.RigidBodySimulator`, and those of :func:`contact_options`.

    Raises
    ------
    ParameterError
        When the links of an arm in another engine than MuJoCo are to touch anything.
    """
    if engine.engine == "rigid_body":
        options.pop("movers", None)
        if options.pop("has_links", False):
            raise ParameterError("plant.contacts = 'arm' needs the engine mujoco")
        return RigidBodySimulator(model, q_initial, **options, parameters=engine.rigid_body)
    from arm_control.simulation.mujoco_simulator import MujocoSimulator

    return MujocoSimulator(model, q_initial, **options)


def contact_options(
    properties: PlantProperties, solids: Sequence[Obstacle], movers: Sequence[Mover] = ()
) -> dict[str, Any]:
    """Return which parts of an arm touch what, as options of :func:`make_arm`.

    Parameters
    ----------
    movers : sequence of Mover
        What moves, or stands in the way: all links of the arm touch it, or nothing does.
    """
    has_links = properties.contacts == "arm"
    return {
        "solids": () if properties.contacts == "none" else solids,
        "has_links": has_links,
        "movers": [mover for mover in movers if has_links and not mover.is_solid],
    }


def make_changed_arm(
    model: RobotModel,
    q_initial: npt.ArrayLike | None,
    engine: EngineParameters,
    properties: PlantProperties,
    **options: Any,
) -> SimulatedArm:
    """Return an arm with other masses, rotors, payload and base than its model.

    Parameters
    ----------
    model, q_initial, engine, **options
        As for :func:`make_arm`.
    properties : PlantProperties
        The differences, with a number for each joint in every list.

    Raises
    ------
    ParameterError
        When an arm from a file is to be simulated by another engine than MuJoCo.
    """
    if engine.engine == "rigid_body":
        if properties.file:
            raise ParameterError("plant.file needs the engine mujoco")
        return make_arm(changed_model(model, properties), q_initial, engine, **options)
    from arm_control.simulation.mujoco_simulator import MujocoSimulator, change_bodies

    if properties.file:
        from arm_control.simulation.plant_file import read_plant_file

        given = properties.file, model, options["timestep"], properties.file_joints, options["solids"]
        read = read_plant_file(*given, has_links=options["has_links"])
        options |= {"mujoco_model": read.mujoco_model, "differences": read.differences, "movers": ()}
    arm = MujocoSimulator(model, q_initial, **options)
    change_bodies(arm, model, properties)
    return arm
