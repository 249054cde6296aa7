"""Capsules around the links: what of an arm keeps away from obstacles.

Each collision shape of the URDF gets a capsule that holds all of it. A sphere is one already. For the rest
the axis is the shape's own (a box's longest edge, a cylinder's axis, the principal axis of a mesh) and what
counts is the profile: how far along the axis (t) and how far from it (r) its corners are. A capsule of radius
R holds them all when its segment reaches to

    t_high = max(t - sqrt(R^2 - r^2)),    t_low = min(t + sqrt(R^2 - r^2)).

R is free between the largest r and the ball around everything; the R with the least volume is taken.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.exceptions import UrdfError
from arm_control.maths.poses import Array, Pose, rotation_from_rpy, rotation_with_z
from arm_control.model.urdf.load import Urdf

try:
    import coal
except ImportError:  # it comes with Pinocchio, but not with every version of it
    coal = None


@dataclass(frozen=True)
class LinkCapsule:
    """All points within ``radius`` of a segment that is fixed to a link.

    Attributes
    ----------
    link : str
        The link.
    a, b : ndarray, shape (3,)
        Ends of the segment in the link's frame [m].
    radius : float
        Radius [m].
    """

    link: str
    a: Array
    b: Array
    radius: float


def link_capsules(urdf: Urdf, folder: Path | None = None) -> tuple[tuple[LinkCapsule, ...], tuple[str, ...]]:
    """Capsules around the collision shapes of every link; a link without any has none.

    Parameters
    ----------
    urdf : Urdf
        The robot.
    folder : Path, optional
        Where relative names of mesh files begin; those of packages are found by AMENT_PREFIX_PATH.

    Returns
    -------
    capsules : tuple of LinkCapsule
        One for each shape, in the order of the file.
    notes : tuple of str
        A sentence for each shape that could not be read (a mesh that is not on this machine) and is left out.
    """
    capsules, notes = [], []
    for link in urdf.robot.links:
        for collision in link.collisions:
            try:
                capsules.append(_capsule(link.name, collision, folder))
            except UrdfError as error:
                notes.append(str(error))
    return tuple(capsules), tuple(notes)


def _capsule(link: str, collision: Any, folder: Path | None) -> LinkCapsule:
    (X, r, t), shape = _profile(link, collision.geometry, folder), collision.origin
    if shape is not None:
        X = Pose(rotation_from_rpy(shape.rpy or [0, 0, 0]), np.array(shape.xyz or [0, 0, 0], dtype=float)) @ X
    low, high, radius = enclosing_capsule(t, r)
    a, b = (X.p + X.R[:, 2] * end for end in (low, high))
    return LinkCapsule(link, a, b, radius)


def enclosing_capsule(t: Array, r: Array) -> tuple[float, float, float]:
    """Capsule about an axis that holds a profile, the one with the least volume (of 257 radii).

    Parameters
    ----------
    t, r : ndarray, shape (n,)
        Corners: how far along the axis, and how far from it [m].

    Returns
    -------
    low, high : float
        Where its segment begins and ends on the axis [m].
    radius : float
        Its radius [m].

    Examples
    --------
    >>> enclosing_capsule(np.zeros(1), np.ones(1))
    (0.0, 0.0, 1.0)
    """
    middle = (t.min() + t.max()) / 2
    ball = np.hypot(t - middle, r).max()
    R = np.hypot(r.max(), np.linspace(0.0, 1.0, 257) ** 2 * np.sqrt(max(ball**2 - r.max() ** 2, 0.0)))
    reach = np.sqrt(np.maximum(R[:, None] ** 2 - r**2, 0.0))
    low, high = (t + reach).min(1), (t - reach).max(1)
    low, high = np.where(low < high, low, (low + high) / 2), np.where(low < high, high, (low + high) / 2)
    best = int((R**2 * (high - low) + 4.0 / 3.0 * R**3).argmin())
    return float(low[best]), float(high[best]), float(R[best])


def _profile(link: str, geometry: Any, folder: Path | None) -> tuple[Pose, Array, Array]:
    """Frame whose z is the axis, distances r from the axis and places t along it, of the corners."""
    kind = type(geometry).__name__
    if kind == "Sphere":
        return Pose(np.eye(3), np.zeros(3)), np.array([float(geometry.radius)]), np.zeros(1)
    if kind == "Cylinder":
        half = float(geometry.length) / 2
        return Pose(np.eye(3), np.zeros(3)), np.full(2, float(geometry.radius)), np.array([-half, half])
    if kind == "Box":
        size = np.array(geometry.size, dtype=float)
        R = np.roll(np.eye(3), int(size.argmax()) + 1, axis=1)  # its z is the longest edge
        x, y, z = np.abs(R.T @ size) / 2
        return Pose(R, np.zeros(3)), np.full(2, np.hypot(x, y)), np.array([-z, z])
    points = _mesh_points(link, geometry, folder)
    centre = (points.min(0) + points.max(0)) / 2
    axis = np.linalg.svd(points - points.mean(0), full_matrices=False)[2][0]
    t = (points - centre) @ axis
    r = np.linalg.norm(points - centre - t[:, None] * axis, axis=1)
    return Pose(rotation_with_z(axis), centre), r, t


def _mesh_points(link: str, geometry: Any, folder: Path | None) -> Array:
    """Corners of a mesh file, shape (n, 3) [m]."""
    path = _mesh_path(str(geometry.filename), folder)
    if coal is None or path is None:
        why = "coal is not installed" if coal is None else "there is no such file"
        raise UrdfError(f"link '{link}': the mesh {geometry.filename} is left out of the capsules: {why}")
    scale = np.array(geometry.scale or [1.0, 1.0, 1.0], dtype=float)
    try:
        points = np.array(coal.MeshLoader().load(str(path), scale).vertices())
    except Exception as error:  # the loader has errors of its own, of many kinds
        raise UrdfError(f"link '{link}': the mesh {path} is left out of the capsules: {error}") from error
    return points.reshape(-1, 3)


def _mesh_path(name: str, folder: Path | None) -> Path | None:
    """File of a mesh; a checked URDF names it relative, or as ``package://``."""
    if name.startswith("package://"):
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        candidates = [Path(prefix, "share", name.removeprefix("package://")) for prefix in prefixes if prefix]
    else:
        candidates = [] if folder is None else [folder / name]
    return next((path for path in candidates if path.is_file()), None)
