"""Capsules around the links of an arm, for obstacle avoidance.

A mesh gets a few capsules (:mod:`arm_control.model.urdf.mesh_capsules`), any other collision shape of the URDF one that
contains it. A sphere is a capsule already. The axis of any other capsule is that of the shape (a box's longest edge, a
cylinder's axis); its size follows from the profile: the places t of the shape's corners along the axis, and their
distances r from the axis. A capsule of radius R contains them all when its segment extends from t_low to t_high:

    t_high = max(t - sqrt(R^2 - r^2)),    t_low = min(t + sqrt(R^2 - r^2)).

R may lie between the largest r and the radius of the ball around all corners; the R with the smallest volume is used.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.exceptions import UrdfError
from arm_control.maths import Array, Pose
from arm_control.model.urdf.load import Urdf, origin_pose
from arm_control.model.urdf.mesh_capsules import FittedCapsule, enclosing_capsule, mesh_capsules
from arm_control.model.urdf.packages import mesh_path


@dataclass(frozen=True)
class LinkCapsule:
    """All points within ``radius`` of a segment fixed to a link.

    Attributes
    ----------
    a, b : ndarray, shape (3,)
        Ends of the segment in the link's frame [m].
    radius : float
        Radius [m].
    """

    link: str
    a: Array
    b: Array
    radius: float


def link_capsules(urdf: Urdf) -> tuple[tuple[LinkCapsule, ...], tuple[str, ...]]:
    """Capsules around the collision shapes of every link.

    Mesh files and packages are searched in the folders of the URDF, and packages where the environment says.

    Returns
    -------
    capsules : tuple of LinkCapsule
        Those of each shape, in the order of the file.
    notes : tuple of str
        A sentence for each reason why shapes have no capsule, with its cure: their meshes cannot be read.
    """
    capsules, places = [], {}  # type: list[LinkCapsule], dict[str, list[str]]
    for link in urdf.robot.links:
        for collision in link.collisions:
            try:
                capsules += _capsules(link.name, collision, urdf)
            except UrdfError as error:
                mesh = f"link '{link.name}': the mesh {collision.geometry.filename}"
                places.setdefault(str(error), []).append(mesh)
    return tuple(capsules), tuple(f"{', '.join(meshes)} has no capsule: {why}" for why, meshes in places.items())


def mesh_excesses(urdf: Urdf) -> dict[str, float]:
    """How far the capsules of each link with meshes are outside of these at most [m]; without what cannot be read."""
    found: dict[str, float] = {}
    for link in urdf.robot.links:
        for geometry in (c.geometry for c in link.collisions if type(c.geometry).__name__ == "Mesh"):
            with suppress(UrdfError):
                _, excess = _of_mesh(geometry, urdf)
                found[link.name] = max(found.get(link.name, 0.0), excess)
    return found


def _capsules(link: str, collision: Any, urdf: Urdf) -> list[LinkCapsule]:
    X_LS = shape_pose(collision)
    if type(collision.geometry).__name__ == "Mesh":
        fitted, _ = _of_mesh(collision.geometry, urdf)
        return [LinkCapsule(link, X_LS.R @ c.a + X_LS.p, X_LS.R @ c.b + X_LS.p, c.radius) for c in fitted]
    X, r, t = _profile(collision.geometry)
    X = X if collision.origin is None else X_LS @ X
    low, high, radius = enclosing_capsule(t, r)
    a, b = (X.p + X.R[:, 2] * end for end in (low, high))
    return [LinkCapsule(link, a, b, radius)]


def shape_pose(collision: Any) -> Pose:
    """Pose of a shape in the frame of its link."""
    return origin_pose(collision.origin)


def _profile(geometry: Any) -> tuple[Pose, Array, Array]:
    """Frame whose z is the axis, and distances r from the axis and places t along it of the corners."""
    shape = type(geometry).__name__
    if shape == "Sphere":
        return Pose.identity(), np.array([float(geometry.radius)]), np.zeros(1)
    if shape == "Cylinder":
        half = float(geometry.length) / 2
        return Pose.identity(), np.full(2, float(geometry.radius)), np.array([-half, half])
    size = np.array(geometry.size, dtype=float)
    R = np.roll(np.eye(3), int(size.argmax()) + 1, axis=1)  # its z is the longest edge of the box
    x, y, z = np.abs(R.T @ size) / 2
    return Pose(R, np.zeros(3)), np.full(2, np.hypot(x, y)), np.array([-z, z])


def _of_mesh(geometry: Any, urdf: Urdf) -> tuple[list[FittedCapsule], float]:
    """Capsules of a mesh file, in its frame, and their excess [m]; a UrdfError says why there are none."""
    path = mesh_path(str(geometry.filename), urdf.folders)
    if path is None:
        raise UrdfError("the file does not exist: name the folder of its meshes (package_path, --package-path)")
    try:
        return mesh_capsules(path, np.array(geometry.scale or [1.0, 1.0, 1.0], dtype=float))
    except ImportError:  # part of some versions of Pinocchio only
        raise UrdfError(f"coal is not installed: {sys.executable} -m pip install coal") from None
    except Exception as error:  # the loader raises errors of many types
        raise UrdfError(str(error)) from error
