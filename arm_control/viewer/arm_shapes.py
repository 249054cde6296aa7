"""Triangles of an arm's links, from its URDF, and of spheres, boxes, cylinders, cones and capsules.

For each link the first of these that exists: its visual shapes, with mesh files that can be found and read; its
collision shapes, likewise; capsules around these; a rod from the link's origin to those of its children. Mesh files are
searched only in folders with packages, and beside the URDF.

A solid of revolution about z is a profile: bands of points (r, z) from the lower to the upper end. Each band has its
own corners, so that a renderer shades a band smoothly and shows an edge between two bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arm_control.exceptions import UrdfError
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Hull,
    Pose,
    Shape,
    Sphere,
    loader_reason,
    rotation_from_rpy,
    rotation_with_z,
)
from arm_control.model import RobotModel, folders_near, link_capsules, mesh_path, package_folders

try:
    import coal
except ImportError:  # it comes with Pinocchio, but not with every version of it
    coal = None

MAX_FILE_SIZE = 50_000_000
"""Bytes of a mesh file; a larger one is not read."""
MANY_TRIANGLES = 500_000
"""Triangles of an arm, above which a browser is slow."""
NOT_DRAWN, NO_FILE = " is not drawn: ", "there is no such file"
METAL, JOINT = (0.76, 0.78, 0.81, 1.0), (0.36, 0.58, 0.74, 1.0)
ROD = 0.025
"""Radius of the rod of a link without shapes [m]; the ball at its joint has 1.4 times the radius."""


class MeshPart(NamedTuple):
    """Triangles of a link in one colour.

    Attributes
    ----------
    link : str
        The link, in whose frame the mesh is.
    rgba : tuple of float
        Red, green, blue and opacity, 0 to 1.
    """

    link: str
    mesh: Mesh
    rgba: tuple[float, ...]


def arm_parts(model: RobotModel, roots: Sequence[Path] = ()) -> tuple[list[MeshPart], list[str]]:
    """Return the triangles of an arm.

    Parameters
    ----------
    roots : sequence of Path
        Folders with mesh files, as ``package/rest`` or by the name in the URDF.

    Returns
    -------
    parts : list of MeshPart
        One for each link and colour.
    notes : list of str
        A sentence for each reason why meshes are not drawn, and a warning when the page will be slow.
    """
    robot, notes = model.urdf.robot, []
    colours = {material.name: material.color for material in robot.materials if material.color is not None}
    parts = []
    for link in robot.links:
        for visual in link.visuals or ():
            try:
                parts.append(MeshPart(link.name, _link_mesh(visual, roots), _colour(visual, colours)))
            except UrdfError as error:
                notes.append(str(error))
    links_with_parts = {part.link for part in parts}
    empty_links = {link.name for link in robot.links if link.visuals or not links_with_parts} - links_with_parts
    parts += _replacement_parts(model, empty_links, roots)
    notes = _one_each_reason(notes)
    if any(NO_FILE in note for note in notes):
        notes.append(f"meshes were searched in {', '.join(map(str, dict.fromkeys(roots))) or 'no folder'}")
    n_triangles = sum(len(part.mesh.faces) for part in parts)
    if n_triangles > MANY_TRIANGLES:
        notes.append(f"the meshes have {n_triangles} triangles: they load slowly, and a browser may draw them slowly")
    return _merged(parts), notes


def _one_each_reason(notes: Sequence[str]) -> list[str]:
    """Join the sentences about meshes that have one reason: the first mesh is named, the others are counted."""
    meshes: dict[str, list[str]] = {}
    for mesh, _, reason in (note.partition(NOT_DRAWN) for note in dict.fromkeys(notes)):
        meshes.setdefault(reason, []).append(mesh)
    return [
        f"{first}{NOT_DRAWN}{reason}{f'; the same for {len(others)} more' if others else ''}"
        for reason, (first, *others) in meshes.items()
    ]


def mesh_roots(robot_file: Path | None = None) -> list[Path]:
    """Return the folders to search for meshes: those with packages, and those above a URDF file."""
    return [*package_folders(), *(folders_near(robot_file) if robot_file is not None else ())]


def find_mesh(name: str, roots: Sequence[Path]) -> Path:
    """Return the file of a mesh; a UrdfError when there is no such file below the folders, or it is too large."""
    file = mesh_path(name, roots)
    if file is None:
        raise UrdfError(f"the mesh {name!r}{NOT_DRAWN}{NO_FILE}")
    if file.stat().st_size > MAX_FILE_SIZE:
        raise UrdfError(f"the mesh {name!r}{NOT_DRAWN}it is larger than {MAX_FILE_SIZE} bytes")
    return file


def _link_mesh(shape: Any, roots: Sequence[Path]) -> Mesh:
    """Return a visual or collision shape in the frame of its link."""
    mesh, origin = _mesh(shape.geometry, roots), shape.origin
    if origin is None:
        return mesh
    return mesh.moved(rotation_from_rpy(origin.rpy or [0, 0, 0]), np.array(origin.xyz or [0, 0, 0], dtype=float))


def _mesh(geometry: Any, roots: Sequence[Path]) -> Mesh:
    shape = type(geometry).__name__
    if shape == "Sphere":
        return mesh_of(Sphere(float(geometry.radius)))
    if shape == "Cylinder":
        return mesh_of(Cylinder(float(geometry.radius), float(geometry.length)))
    if shape == "Box":
        x, y, z = geometry.size
        return mesh_of(Box((float(x), float(y), float(z))))
    return _read(find_mesh(str(geometry.filename), roots), geometry.scale or [1.0, 1.0, 1.0])


def _read(path: Path, scale: Sequence[float]) -> Mesh:
    if coal is None:
        raise UrdfError(f"the mesh {path.name!r}{NOT_DRAWN}coal, which reads it, is not installed: pip install coal")
    try:
        loaded = coal.MeshLoader().load(str(path), np.array(scale, dtype=float))
        faces = [[triangle[k] for k in range(3)] for triangle in map(loaded.tri_indices, range(loaded.num_tris))]
        corners = np.array(loaded.vertices()).reshape(-1, 3)
    except Exception as error:  # the loader raises exceptions of many types
        raise UrdfError(f"the mesh {path.name!r}{NOT_DRAWN}{loader_reason(error)}") from error
    if not faces or not np.isfinite(corners).all():
        raise UrdfError(f"the mesh {path.name!r}{NOT_DRAWN}it has no triangles, or corners that are not finite")
    return Mesh(corners, np.array(faces))


def _colour(visual: Any, colours: dict[str, Any]) -> tuple[float, ...]:
    material = visual.material
    colour = None if material is None else material.color or colours.get(material.name)
    return METAL if colour is None else tuple(float(min(max(x, 0.0), 1.0)) for x in colour.rgba)


def _replacement_parts(model: RobotModel, links: set[str], roots: Sequence[Path]) -> list[MeshPart]:
    """Return collision shapes, capsules, or rods, for links without visual shapes."""
    parts = []
    for link in model.urdf.robot.links:
        if link.name in links:
            with suppress(UrdfError):  # one that cannot be read leaves the link to its capsules
                shapes = [_link_mesh(collision, roots) for collision in link.collisions or ()]
                parts += [MeshPart(link.name, mesh, METAL) for mesh in shapes]
    capsules, _ = link_capsules(model.urdf)
    links = links - {part.link for part in parts}
    parts += [MeshPart(c.link, _capsule_between(c.a, c.b, c.radius), METAL) for c in capsules if c.link in links]
    links = links - {part.link for part in parts}
    return parts + [part for link in model.frames if link in links for part in _rods(model, link)]


def _rods(model: RobotModel, link: str) -> list[MeshPart]:
    children = model.urdf.robot.child_map.get(link, [])
    origins = [model.urdf.robot.joint_map[joint].origin for joint, _ in children]
    ends = [np.zeros(3) if origin is None else np.array(origin.xyz or [0, 0, 0], dtype=float) for origin in origins]
    rods = [MeshPart(link, _capsule_between(np.zeros(3), end, ROD), METAL) for end in ends if np.linalg.norm(end) > ROD]
    balls = [MeshPart(link, mesh_of(Sphere(1.4 * ROD)), JOINT)] if link != model.base else []
    return rods + balls


def _capsule_between(a: Array, b: Array, radius: float) -> Mesh:
    """Return a capsule between two points, shape (3,) each [m]."""
    length = float(np.linalg.norm(b - a))
    X = Pose(rotation_with_z((b - a) / length) if length else np.eye(3), (a + b) / 2)
    return mesh_of(Capsule(radius, length) if length else Sphere(radius)).moved(X.R, X.p)


def _merged(parts: Sequence[MeshPart]) -> list[MeshPart]:
    """Merge the parts of each link and colour: fewer objects to move."""
    by_key: dict[tuple[str, tuple[float, ...]], list[Mesh]] = {}
    for part in parts:
        by_key.setdefault((part.link, part.rgba), []).append(part.mesh)
    return [MeshPart(link, joined(meshes), rgba) for (link, rgba), meshes in by_key.items()]


ROUND, ARC = 32, 9
"""Corners around an axis, and along a quarter of a circle."""


class Mesh(NamedTuple):
    """A triangle mesh.

    Attributes
    ----------
    corners : ndarray, shape (n, 3)
        Corners [m].
    faces : ndarray of int, shape (m, 3)
        Indices of each triangle's corners, counter-clockwise from outside.
    """

    corners: Array
    faces: Array

    def moved(self, R: Array, p: Array) -> Mesh:
        """Return the mesh rotated by R, then translated by p [m]."""
        return Mesh(self.corners @ R.T + p, self.faces)


def mesh_of(shape: Shape) -> Mesh:
    """Return the triangles of a shape with its axis along z and its middle at the origin."""
    match shape:
        case Sphere(radius):
            return revolved([_arc(radius, 0.0, -1.0, 1.0)])
        case Cylinder(radius, length):
            return revolved([*_disks(radius, length), [(radius, -length / 2), (radius, length / 2)]])
        case Capsule(radius, length):
            low, high = _arc(radius, -length / 2, -1.0, 0.0), _arc(radius, length / 2, 0.0, 1.0)
            return revolved([[*low, *high]])
        case Cone(radius, length):
            return revolved([_disks(radius, length)[0], [(radius, -length / 2), (0.0, length / 2)]])
        case Box(edges):
            return _box(np.array(edges))
        case Hull():
            corners = shape.corners.reshape(-1, 3)
            return Mesh(corners, np.arange(len(corners)).reshape(-1, 3))
    raise TypeError(f"no triangles for {shape!r}")


def revolved(bands: Sequence[Sequence[tuple[float, float]]]) -> Mesh:
    """Return the triangles of a solid of revolution about z, from bands of points (r, z) [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    meshes = []
    for band in bands:
        r, z = np.array(band).T
        corners = np.concatenate(
            [r[:, None, None] * ring, np.broadcast_to(z[:, None, None], (len(z), len(ring), 1))], 2
        )
        meshes.append(Mesh(corners.reshape(-1, 3), _between_rings(len(z))))
    return joined(meshes)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.corners) for mesh in meshes)])[:-1]
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.concatenate([mesh.corners for mesh in meshes]), np.concatenate(faces))


def _between_rings(n: int) -> Array:
    """Return two triangles for each square between neighbouring rings."""
    i, j = np.meshgrid(np.arange(n - 1), np.arange(ROUND), indexing="ij")
    a = (i * (ROUND + 1) + j).ravel()
    b, c, d = a + 1, a + ROUND + 2, a + ROUND + 1
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _arc(radius: float, z: float, low: float, high: float) -> list[tuple[float, float]]:
    """Return points of an arc around (0, z), at elevations from ``low`` to ``high`` quarter turns."""
    angles = np.linspace(low, high, round(ARC * (high - low))) * np.pi / 2
    return [(float(radius * np.cos(a)), float(z + radius * np.sin(a))) for a in angles]


def _disks(radius: float, length: float) -> list[list[tuple[float, float]]]:
    """Return the lower and the upper face of a cylinder."""
    return [[(0.0, -length / 2), (radius, -length / 2)], [(radius, length / 2), (0.0, length / 2)]]


def _box(edges: Array) -> Mesh:
    """Return a box of six faces, each with its own corners."""
    square = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    turns = [np.roll(np.eye(3), k, axis=1) * sign for k in range(3) for sign in (1.0, -1.0)]
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    return joined(
        [Mesh(square @ turn.T * edges / 2, faces if np.linalg.det(turn) > 0 else faces[:, ::-1]) for turn in turns]
    )
