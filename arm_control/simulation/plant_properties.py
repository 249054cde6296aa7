"""How a simulated arm differs from its model: friction, rotors, masses, payload, actuators, sensors.

By default nothing differs (``ideal``). A ``file`` has an arm of its own, to which all else is added
(:mod:`~arm_control.simulation.plant_file`). The set ``real`` has usual values for an arm with geared motors, from the
limits of its joints, the set ``urdf`` the friction that the URDF states; each of them can be replaced. Lists have one
number for all joints, or one for each joint.

    (1)  tau_friction = -(c + s exp(-(v / v_s)^2)) sign(v) - b v      Coulomb, Stribeck and viscous friction    [N m]
    (2)  T dtau/dt = tau_cmd(t - delay) - tau                         motor                                     [N m]
    (3)  tau_ripple = A sin(n q)                                      ripple of its torque, cogging             [N m]

    A, n              torque_ripple, ripple_periods                   [N m; -]
    c, s, v_s, b      coulomb, stribeck, stribeck_velocity, viscous   [N m; N m; rad/s; N m s/rad]
    T                 actuator_time_constant                          [s]

Source: B. Armstrong-Helouvry, P. Dupont, C. Canudas de Wit, "A survey of models, analysis tools and compensation
methods for the control of machines with friction", 1994, section 2, for (1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.core import Parameters, parameter
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import Arm, Inertia, RobotModel, build_tree, friction_in, with_inertias, with_payload

PREFIX = "plant."
"""Beginning of the parameters' names in a scenario and in ROS."""
COULOMB_SHARE, STRIBECK_SHARE, VISCOUS_SHARE = 0.03, 0.01, 0.05
"""Friction of the set ``real``, as shares of the effort limit; viscous: at the speed limit."""
ROTOR_TIME = 4e-3
"""Time [s] in which a motor at its effort limit brings its rotor to the joint's speed limit, in the set ``real``."""
STEPS_OF_TORQUE = 2048
"""Steps between zero and the effort limit, in the set ``real``."""
ENCODER_STEPS = 2**17
"""Steps of a turn, in the set ``real``."""


@dataclass(frozen=True)
class PlantProperties(Parameters):
    """Differences of a simulated arm from its model."""

    set: str = parameter(
        "ideal",
        "values of those that are not given: ideal, none differs; real, usual ones; urdf, friction of its <dynamics>",
        choices=("ideal", "real", "urdf"),
    )
    file: str = parameter("", "MJCF of the arm; its joints are matched by name, its servos replaced; empty: the model")
    file_joints: tuple[str, ...] = parameter(
        (), "names of the joints in that file, in the model's order; empty: found by likeness"
    )
    contacts: str = parameter(
        "hand",
        "what of the arm touches: hand, solid obstacles; arm, all links and each other, too; none, nothing",
        choices=("hand", "arm", "none"),
    )
    coulomb: tuple[float, ...] = parameter((), "Coulomb friction of the joints", unit="N m", lower=0.0)
    viscous: tuple[float, ...] = parameter((), "viscous friction of the joints", unit="N m s/rad", lower=0.0)
    stribeck: tuple[float, ...] = parameter((), "additional friction at rest", unit="N m", lower=0.0)
    stribeck_velocity: float = parameter(0.05, "speed at which most of that is gone", unit="rad/s", lower=1e-6)
    rotor_inertia: tuple[float, ...] = parameter(
        (), "inertia of the rotors that the model does not have", unit="kg m^2", lower=0.0
    )
    mass_error: float = parameter(0.0, "all masses and inertias: relative error", lower=-0.9, upper=10.0)
    com_error: float = parameter(0.0, "centres of mass: distance, in random directions", unit="m", lower=0.0)
    inertia_error: float = parameter(
        0.0, "inertias of the links: largest relative error, drawn for each link", lower=0.0, upper=0.9
    )
    payload_mass: float = parameter(0.0, "point mass that nobody has told the model of", unit="kg", lower=0.0)
    payload_position: tuple[float, ...] = parameter((0.0, 0.0, 0.0), "its place in the frame of the tip", unit="m")
    base_tilt: float = parameter(
        0.0, "base that is not level: turned about the x axis of the world", unit="rad", lower=-0.5, upper=0.5
    )
    actuator_time_constant: float = parameter(0.0, "lag of the motors", unit="s", lower=0.0, upper=0.1)
    actuator_delay: float = parameter(0.0, "dead time of the motors, in whole steps", unit="s", lower=0.0, upper=0.1)
    torque_resolution: tuple[float, ...] = parameter((), "steps of the motors' torque", unit="N m", lower=0.0)
    torque_ripple: tuple[float, ...] = parameter((), "ripple of the motors' torque: amplitude", unit="N m", lower=0.0)
    ripple_periods: int = parameter(100, "periods of the ripple in a turn of the joint", lower=1)
    encoder_resolution: float = parameter(0.0, "steps of the measured positions", unit="rad", lower=0.0)
    velocity_noise: float = parameter(
        0.0, "standard deviation of the measured velocities", unit="rad/s", lower=0.0, upper=1.0
    )
    velocity_from: str = parameter(
        "sensor",
        "what measured velocities are: sensor, the true ones and noise; encoder, differences of measured positions",
        choices=("sensor", "encoder"),
    )
    seed: int = parameter(0, "seed of all random numbers", lower=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.payload_position) != 3:
            raise ParameterError(f"payload_position = {list(self.payload_position)}: three numbers are needed")

    @property
    def is_ideal(self) -> bool:
        """Whether the arm is its model."""
        return self == PlantProperties(
            stribeck_velocity=self.stribeck_velocity,
            payload_position=self.payload_position,
            seed=self.seed,
            ripple_periods=self.ripple_periods,
            contacts=self.contacts,
        )

    def of(self, model: RobotModel) -> PlantProperties:
        """Return the properties of an arm: those of the set in place of the ones that are not given.

        Lists have one number for each joint.

        A ParameterError when a list has neither one number nor as many as the arm has joints.
        """
        default = PlantProperties()
        given = {name: value for name, value in self.values().items() if value != getattr(default, name)}
        values = {**SETS[self.set](model), **given}
        for name in ("coulomb", "viscous", "stribeck", "rotor_inertia", "torque_resolution", "torque_ripple"):
            values[name] = _per_joint(name, values.get(name, ()), model.nv)
        return PlantProperties.from_mapping(values)


def properties_of(values: Mapping[str, Any], where: str) -> PlantProperties:
    """Return the properties among a simulator's parameters, whose names begin with ``plant.``.

    A ParameterError where a property is unknown or not allowed.
    """
    own = {name.removeprefix(PREFIX): value for name, value in values.items() if name.startswith(PREFIX)}
    return PlantProperties.from_mapping(own, where=where)


def real_values(model: RobotModel) -> Mapping[str, Any]:
    """Return usual differences of an arm with geared motors, from the effort and speed limits of its joints."""
    return {
        "coulomb": COULOMB_SHARE * model.tau_max,
        "stribeck": STRIBECK_SHARE * model.tau_max,
        "viscous": VISCOUS_SHARE * model.tau_max / model.v_max,
        "rotor_inertia": ROTOR_TIME * model.tau_max / model.v_max,
        "mass_error": 0.05,
        "com_error": 0.005,
        "inertia_error": 0.2,
        "actuator_time_constant": 1e-3,
        "actuator_delay": 1e-3,
        "torque_resolution": model.tau_max / STEPS_OF_TORQUE,
        "encoder_resolution": 2.0 * np.pi / ENCODER_STEPS,
        "velocity_noise": 1e-3,
    }


def urdf_values(model: RobotModel) -> Mapping[str, Any]:
    """Return friction and damping that the URDF states, in many files placeholders."""
    return dict(zip(("coulomb", "viscous"), friction_in(model.urdf, model.joint_names), strict=True))


SETS: Mapping[str, Callable[[RobotModel], Mapping[str, Any]]] = {
    "ideal": lambda _: {},
    "real": real_values,
    "urdf": urdf_values,
}


def _per_joint(name: str, values: Array | tuple[float, ...], n: int) -> Array:
    numbers = np.asarray(values, dtype=float)
    if numbers.size not in (0, 1, n):
        raise ParameterError(f"{PREFIX}{name} has {numbers.size} numbers: one is needed, or one for each of {n} joints")
    return np.zeros(n) if numbers.size == 0 else np.array(np.broadcast_to(numbers, (n,)))


def body_errors(p: PlantProperties, n: int) -> tuple[Array, Array]:
    """Return the random errors of moving bodies: of their centres of mass, and factors of their inertia.

    Returns
    -------
    ndarray, shape (n, 3)
        Shift of each centre of mass in the frame of the body's first link [m].
    ndarray, shape (n,)
        Factor of each inertia about the centre of mass, that of the mass included.
    """
    rng = np.random.default_rng(p.seed)
    directions = rng.normal(size=(n + 1, 3))[1:]  # the world is body 0
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    factors = (1.0 + p.mass_error) * (1.0 + p.inertia_error * rng.uniform(-1.0, 1.0, n + 1)[1:])
    return p.com_error * directions, factors


def tilted_gravity(p: PlantProperties, gravity: Array) -> Array:
    """Return gravity, shape (3,) [m/s^2], as an arm feels it whose base is not level."""
    return rotation_from_vector(np.array([-p.base_tilt, 0.0, 0.0])) @ gravity


def changed_model(model: RobotModel, p: PlantProperties) -> RobotModel:
    """Return the model of the arm that has some properties, with a number for each joint in every list."""
    urdf = with_payload(with_inertias(model.urdf, _inertias(model, p)), model.tip, p.payload_mass, p.payload_position)
    armature = model.armature + np.array(p.rotor_inertia)
    tree = build_tree(urdf, model.tip, armature, tilted_gravity(p, model.gravity_W))
    limits = model.q_min, model.q_max, model.v_max, model.tau_max
    return RobotModel(Arm(urdf, model.tip, tree, *limits, model.coulomb, model.viscous))


def _inertias(model: RobotModel, p: PlantProperties) -> dict[str, Inertia]:
    """Inertia of every link of the changed arm: each body's in its first link."""
    bodies, frames = model.tree.bodies, model.tree.frames
    links = [model.urdf.robot.joint_map[body.name].child for body in bodies]
    inertias = {name: Inertia.zero() for name, frame in frames.items() if frame.body >= 0}
    for body, link, shift, factor in zip(bodies, links, *body_errors(p, len(bodies)), strict=True):
        inertias[link] = _changed(
            body.inertia.in_parent(frames[link].X_BF.inverse()), shift, 1.0 + p.mass_error, factor
        )
    return inertias


def _changed(inertia: Inertia, shift: Array, mass_factor: float, factor: float) -> Inertia:
    """An inertia with its centre of mass shifted, and mass and inertia about it multiplied."""
    if not inertia.m > 0.0:
        return inertia
    centre, J = about_centre(inertia)
    own = Inertia(mass_factor * inertia.m, np.zeros(3), factor * J)
    return own.in_parent(Pose(np.eye(3), centre + shift))


def about_centre(inertia: Inertia) -> tuple[Array, Array]:
    """Return the centre of mass, shape (3,) [m], and the inertia about it, shape (3, 3) [kg m^2]; 0 without mass."""
    c = inertia.h / inertia.m if inertia.m > 0.0 else np.zeros(3)
    return c, inertia.J - inertia.m * (c @ c * np.eye(3) - np.outer(c, c))
