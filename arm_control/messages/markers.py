"""Shapes of obstacles in ``visualization_msgs/Marker`` messages. No ROS here.

| marker | obstacle |
|---|---|
| SPHERE, CUBE, CYLINDER | the shape, ``scale`` its diameters or edges |
| TRIANGLE_LIST | a cone: one point above a round, flat base; any other one: its convex hull |
| LINE_LIST, LINE_STRIP | capsules, ``scale.x`` thick |
| MESH_RESOURCE | the convex hull of a mesh file, found as those of a URDF |

:mod:`arm_control.messages.obstacle_tracker` keeps the obstacles of many markers over time.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Hull, Pose, Shape, Sphere, rotation_with_z
from arm_control.model import mesh_path, package_folders
from arm_control.motion import check_distance

LOG = logging.getLogger("arm_control.markers")

CUBE, SPHERE, CYLINDER, LINE_STRIP, LINE_LIST, MESH_RESOURCE, TRIANGLE_LIST = 1, 2, 3, 4, 5, 10, 11
"""Types of markers, by the numbers in the message."""
ADD, DELETE, DELETEALL = 0, 2, 3
"""Actions of markers, by the numbers in the message."""
ROUND_TOLERANCE = 0.02
"""Relative difference of diameters that count as equal."""
MOST = 1000
"""Bound on the obstacles at a time."""
MOST_AHEAD = 200
"""Bound on the poses ahead of time of one marker, and on those of its past."""
MOST_CORNERS = 200
"""Bound on the lines of one marker, and on the corners of a cone."""
MOST_POINTS = 6 * MOST_CORNERS
"""Bound on the points of one marker: a cone has 6 for each corner of its base."""
SCHEMES = ("package://", "file://")
"""Begins of a mesh file's name."""
MOST_SOLIDS = 100
"""Cones and hulls of markers that are kept."""
MOST_MARKERS, MOST_BYTES = 100, 65_536
"""Bounds on the markers and the bytes of one message, or of a mesh file: a controller reads it between two states."""
HEADER, BIG_ENDIAN_HEADER = struct.Struct("<4xI"), struct.Struct(">4xI")
"""Begin of a serialized ``MarkerArray``: the encoding, and the number of markers."""
CORNERS, LEAST_ROUND = 24, 8
"""Corners of the ring that represents a cone's base, and the least number of those that count as round."""


def check_size(n_markers: int, n_bytes: int = 0) -> None:
    """Refuse a message that takes too long to read.

    An InputError where it has more than :data:`MOST_MARKERS` markers or :data:`MOST_BYTES` bytes.

    Parameters
    ----------
    n_bytes : int
        Its size, where it is known [bytes].
    """
    if n_markers > MOST_MARKERS:
        raise InputError(f"{n_markers} markers in one message: at most {MOST_MARKERS}, send several messages")
    if n_bytes > MOST_BYTES:
        raise InputError(f"{n_bytes} bytes in one message: at most {MOST_BYTES}, send several messages")


def check_serialized_size(data: bytes) -> None:
    """Refuse a serialized ``MarkerArray`` that takes too long to read, before it is read.

    Raises
    ------
    InputError
        As :func:`check_size`, or when there is no number of markers in it.
    """
    if len(data) < HEADER.size:
        raise InputError(f"{len(data)} bytes in one message: no markers")
    is_little_endian = data[1] & 1
    check_size((HEADER if is_little_endian else BIG_ENDIAN_HEADER).unpack_from(data)[0], len(data))


def shapes_of(marker: Any, folders: tuple[Path, ...] = ()) -> list[tuple[Shape, Pose]]:
    """Return the shapes of a marker, and their poses in its own frame.

    Parameters
    ----------
    folders : tuple of Path
        Where mesh files may be, beside the packages that the environment names.

    Raises
    ------
    InputError
        When its type is no obstacle, or its values do not fit its type.
    """
    scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    identity = Pose.identity()
    if marker.type == SPHERE:
        _check_equal(marker, scale)
        return [(Sphere(float(scale.max()) / 2), identity)]
    if marker.type == CUBE:
        return [(Box(tuple(scale.tolist())), identity)]
    if marker.type == CYLINDER:
        _check_equal(marker, scale[:2])
        return [(Cylinder(float(scale[:2].max()) / 2, float(scale[2])), identity)]
    if marker.type == MESH_RESOURCE:
        check_distance(np.abs(scale).max(), f"scale of marker {name_of(marker)}")
        return [(_hull_of_file(marker, scale, folders), identity)]
    if len(marker.points) > MOST_POINTS:
        raise InputError(f"points of marker {name_of(marker)}: {len(marker.points)}; allowed: at most {MOST_POINTS}")
    points = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3)
    if not np.isfinite(points).all():
        raise InputError(f"points of marker {name_of(marker)} are not finite")
    if marker.type == TRIANGLE_LIST:
        points = points * scale
        check_distance(np.abs(points).max(initial=0.0), f"a corner of marker {name_of(marker)}")
        return [_solid(marker, points)]
    if marker.type in (LINE_LIST, LINE_STRIP):
        return _capsules(marker, points, float(scale[0]) / 2)
    raise InputError(
        f"type {marker.type} of marker {name_of(marker)} is no obstacle; allowed: SPHERE, CUBE, CYLINDER,"
        " TRIANGLE_LIST, MESH_RESOURCE (hulls), LINE_LIST and LINE_STRIP (capsules)"
    )


def marker_form(shape: Shape) -> tuple[int, tuple[float, float, float], Array]:
    """Return type, scale [m] and points (n, 3) [m] of a marker with this shape, the inverse of :func:`shapes_of`.

    Raises
    ------
    InputError
        When it is a hull with too many triangles for one.
    """
    no_points = np.zeros((0, 3))
    match shape:
        case Sphere(radius):
            return SPHERE, (2 * radius, 2 * radius, 2 * radius), no_points
        case Box(edges):
            return CUBE, edges, no_points
        case Cylinder(radius, length):
            return CYLINDER, (2 * radius, 2 * radius, length), no_points
        case Capsule(radius, length):
            return LINE_LIST, (2 * radius, 0.0, 0.0), np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]])
        case Cone(radius, length):
            return TRIANGLE_LIST, (1.0, 1.0, 1.0), _triangles(radius, length)
        case Hull(triangles=triangles) if 3 * len(triangles) > MOST_POINTS:
            raise InputError(
                f"a hull of {len(triangles)} triangles cannot be a marker: allowed are {MOST_POINTS // 3}, simplify the"
                " mesh"
            )
        case Hull():
            return TRIANGLE_LIST, (1.0, 1.0, 1.0), shape.corners.reshape(-1, 3)


def _triangles(radius: float, length: float) -> Array:
    """Corners of a cone's triangles, base and side."""
    angles = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    ring = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(CORNERS, -length / 2)], axis=1)
    tips = np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]])
    sides = [(tip, a, b) for tip in tips for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True)]
    return np.array(sides).reshape(-1, 3)


def _capsules(marker: Any, points: Array, radius: float) -> list[tuple[Shape, Pose]]:
    if marker.type == LINE_LIST and len(points) % 2 == 0:
        ends = points.reshape(-1, 2, 3)
    elif marker.type == LINE_STRIP:
        ends = np.stack([points[:-1], points[1:]], axis=1)
    else:
        raise InputError(f"LINE_LIST {name_of(marker)} has {len(points)} points: an even number is needed")
    if not 0 < len(ends) <= MOST_CORNERS:
        raise InputError(f"lines of marker {name_of(marker)}: {len(ends)}; allowed: 1 to {MOST_CORNERS}")
    return [_capsule(a, b, radius) for a, b in ends]


def _capsule(a: Array, b: Array, radius: float) -> tuple[Shape, Pose]:
    length = float(np.linalg.norm(b - a))
    shape: Shape = Capsule(radius, length) if length > 0.0 else Sphere(radius)
    return shape, Pose(_rotation_to(b - a), (a + b) / 2)


def _solid(marker: Any, points: Array) -> tuple[Shape, Pose]:
    """The cone or hull with these corners of triangles."""
    try:
        return _kept_solid(points.tobytes())
    except InputError as error:
        raise InputError(f"TRIANGLE_LIST {name_of(marker)}: {error}") from None


@lru_cache(MOST_SOLIDS)
def _kept_solid(points: bytes) -> tuple[Shape, Pose]:
    """The same, one and the same for the markers of an obstacle that moves."""
    corners = np.frombuffer(points).reshape(-1, 3)
    if (cone := _cone(np.unique(corners.round(9), axis=0))) is not None:
        return cone
    return _said(Hull.of_points(np.unique(corners, axis=0), "a TRIANGLE_LIST")), Pose.identity()


def _said(hull: Hull) -> Hull:
    """The hull, of which the log says how far it is from its mesh."""
    if hull.note:
        LOG.warning(hull.note)
    return hull


def _cone(corners: Array) -> tuple[Shape, Pose] | None:
    """The cone with these corners: an apex, a ring, and perhaps the ring's centre; None if it is none."""
    if LEAST_ROUND < len(corners) <= MOST_CORNERS:
        for apex in corners[_are_flat_without(corners)]:
            base = corners[(corners != apex).any(axis=1)]
            centre = (base.min(0) + base.max(0)) / 2 if len(base) < 3 else base.mean(0)
            axis = apex - centre
            height = float(np.linalg.norm(axis))
            r = np.linalg.norm(base - centre, axis=1)
            ring = r[r > ROUND_TOLERANCE * r.max()]
            flat = np.abs((base - centre) @ axis).max() <= ROUND_TOLERANCE * height * r.max()
            is_round = len(ring) >= LEAST_ROUND and np.ptp(ring) <= ROUND_TOLERANCE * r.max()
            if height > 0.0 and flat and is_round:
                return Cone(float(r.max()), height), Pose(_rotation_to(axis), (apex + centre) / 2)
    return None


def _are_flat_without(corners: Array) -> npt.NDArray[np.bool_]:
    """Which corners may be an apex: the others, all within 2 r of their mean, vary little along some direction."""
    n, away = len(corners) - 1, corners - corners.mean(axis=0)
    own, r = away[:, :, None] * away[:, None, :], np.linalg.norm(away, axis=1).max()
    variances = np.linalg.eigvalsh((own.sum(axis=0) - own * (1.0 + 1.0 / n)) / n)
    return np.asarray(variances[:, 0] <= (2.0 * ROUND_TOLERANCE * r) ** 2)


def _hull_of_file(marker: Any, scale: Array, folders: tuple[Path, ...]) -> Hull:
    """The hull of the mesh file of a marker."""
    found = _hull_or_reason(marker.mesh_resource, tuple(scale.tolist()), folders)
    if isinstance(found, str):
        raise InputError(f"MESH_RESOURCE {name_of(marker)}: {found}")
    return found


@lru_cache(MOST_SOLIDS)
def _hull_or_reason(name: str, scale: tuple[float, ...], folders: tuple[Path, ...]) -> Hull | str:
    """The hull of a mesh file, or why there is none; a file is looked for and read once."""
    if not name.startswith(SCHEMES):
        return f"its file is {name!r:.200}; {' or '.join(SCHEMES)} is needed"
    if (path := mesh_path(name, (*folders, *package_folders()))) is None:
        return f"there is no file {name!r:.200} in a package or near the robot's description"
    if (n := path.stat().st_size) > MOST_BYTES:
        return f"{path.name} has {n} bytes; allowed are {MOST_BYTES}: simplify the mesh"
    try:
        return _said(Hull.of_mesh(path, scale))
    except InputError as error:
        return str(error)


def _rotation_to(axis: Array) -> Array:
    """A rotation of z to this axis; the identity for one without length."""
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        return np.eye(3)
    return rotation_with_z(axis / length)


def _check_equal(marker: Any, diameters: Sequence[float] | Array) -> None:
    if np.ptp(diameters) > ROUND_TOLERANCE * np.max(diameters):
        raise InputError(
            f"diameters of marker {name_of(marker)} differ: {np.asarray(diameters).tolist()}; it must be round"
        )


def name_of(marker: Any) -> str:
    """Return namespace and number of a marker, for messages."""
    return f"'{marker.ns}' {marker.id}"
