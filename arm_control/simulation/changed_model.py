"""The model of an arm with the masses, rotors, payload and base of :mod:`arm_control.simulation.plant_properties`."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import Arm, Inertia, RobotModel, build_tree, with_inertias, with_payload
from arm_control.simulation.plant_properties import PlantProperties


def body_errors(p: PlantProperties, n: int) -> tuple[Array, Array]:
    """Return the random errors of moving bodies: of their centres of mass, and factors of their inertia.

    Parameters
    ----------
    p : PlantProperties
        Sizes of the errors, and the seed.
    n : int
        Number of moving bodies.

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
    """Return gravity as an arm feels it whose base is not level.

    Parameters
    ----------
    gravity : ndarray, shape (3,)
        Acceleration of free fall where it is level [m/s^2].
    """
    return rotation_from_vector(np.array([-p.base_tilt, 0.0, 0.0])) @ gravity


def changed_model(model: RobotModel, p: PlantProperties) -> RobotModel:
    """Return the model of the arm that has some properties.

    Parameters
    ----------
    p : PlantProperties
        Its properties, with a number for each joint in every list.
    """
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
