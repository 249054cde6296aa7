"""Capsules around the links of an arm, for obstacle avoidance.

Each collision shape of the URDF gets a capsule that contains it. A sphere is a capsule already. The axis of any other
capsule is that of the shape (a box's longest edge, a cylinder's axis, the principal axis of a mesh); its size follows
from the profile: the places t of the shape's corners along the axis, and their distances r from the axis. A capsule
of radius R contains them all when its segment extends from t_low to t_high:

    t_high = max(t - sqrt(R^2 - r^2)),    t_low = min(t + sqrt(R^2 - r^2)).

R may lie between the largest r and the radius of the ball around all corners; the R with the smallest volume is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.exceptions import UrdfError
from arm_control.maths import Array, Pose, rotation_from_rpy, rotation_with_z
from arm_control.model.urdf.load import Urdf
from arm_control.model.urdf.xacro import find_package


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


def link_capsules(urdf: Urdf, folder: Path | None = None) -> tuple[tuple[LinkCapsule, ...], tuple[str, ...]]:
    """Capsules around the collision shapes of every link.

    Parameters
    ----------
    folder : Path, optional
        Folder in which relative names of mesh files start; packages are searched where the environment says.

    Returns
    -------
    capsules : tuple of LinkCapsule
        One for each shape, in the order of the file.
    notes : tuple of str
        A sentence for each shape without a capsule, because its mesh cannot be read on this machine.
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
    X, r, t = _profile(link, collision.geometry, folder)
    origin = collision.origin
    if origin is not None:
        X = Pose(rotation_from_rpy(origin.rpy or [0, 0, 0]), np.array(origin.xyz or [0, 0, 0], dtype=float)) @ X
    low, high, radius = enclosing_capsule(t, r)
    a, b = (X.p + X.R[:, 2] * end for end in (low, high))
    return LinkCapsule(link, a, b, radius)


def enclosing_capsule(t: Array, r: Array) -> tuple[float, float, float]:
    """Capsule about an axis that contains a profile, with the smallest volume of 257 radii.

    Parameters
    ----------
    t, r : ndarray, shape (n,)
        Corners: their places along the axis and their distances from it [m].

    Returns
    -------
    low, high : float
        Beginning and end of its segment on the axis [m].
    radius : float
        Its radius [m].
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
    """Frame whose z is the axis, and distances r from the axis and places t along it of the corners."""
    shape = type(geometry).__name__
    if shape == "Sphere":
        return Pose.identity(), np.array([float(geometry.radius)]), np.zeros(1)
    if shape == "Cylinder":
        half = float(geometry.length) / 2
        return Pose.identity(), np.full(2, float(geometry.radius)), np.array([-half, half])
    if shape == "Box":
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
    try:
        import coal  # noqa: PLC0415  as slow to load as all else here, and few need it
    except ImportError:  # part of some versions of Pinocchio only
        coal = None
    path = _mesh_path(str(geometry.filename), folder)
    if coal is None or path is None:
        reason = "coal is not installed" if coal is None else "the file does not exist"
        raise UrdfError(f"link '{link}': the mesh {geometry.filename} has no capsule: {reason}")
    scale = np.array(geometry.scale or [1.0, 1.0, 1.0], dtype=float)
    try:
        points = np.array(coal.MeshLoader().load(str(path), scale).vertices())
    except Exception as error:  # the loader raises errors of many types
        raise UrdfError(f"link '{link}': the mesh {path} has no capsule: {error}") from error
    return points.reshape(-1, 3)


def _mesh_path(name: str, folder: Path | None) -> Path | None:
    """File of a mesh; its name in a checked URDF is relative, or begins with ``package://``."""
    if name.startswith("package://"):
        package, _, rest = name.removeprefix("package://").partition("/")
        candidates = [found / rest] if (found := find_package(package)) is not None else []
    else:
        candidates = [] if folder is None else [folder / name]
    return next((path for path in candidates if path.is_file()), None)
