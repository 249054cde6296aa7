"""What an arm looks like: triangles for each link, from what its URDF has.

In this order, link by link: its visual shapes, mesh files among them where they can be found and read; capsules
around its collision shapes; a rod from the link's origin to those of its children. A mesh file is looked for below
folders that hold packages, and beside the URDF, and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arm_control.core.files import share_path
from arm_control.exceptions import UrdfError
from arm_control.maths.poses import Array, Pose, rotation_from_rpy, rotation_with_z
from arm_control.maths.shapes import Box, Capsule, Cylinder, Sphere
from arm_control.model import RobotModel
from arm_control.model.urdf.capsules import link_capsules
from arm_control.viewer.solids import Mesh, joined, mesh_of

try:
    import coal
except ImportError:  # it comes with Pinocchio, but not with every version of it
    coal = None

LARGEST, MANY = 50_000_000, 500_000
"""Bytes of a mesh file; triangles that a browser draws slowly."""
NO_FILE = "there is no such file"
METAL, JOINT = (0.76, 0.78, 0.81, 1.0), (0.36, 0.58, 0.74, 1.0)
ROD = 0.025
"""Radius of the rod that stands for a link without shapes [m]; also of the ball at its joint, 1.4 times."""


class Part(NamedTuple):
    """Triangles of a link, in the link's frame, in one colour (red, green, blue, opacity; 0 to 1)."""

    link: str
    mesh: Mesh
    rgba: tuple[float, ...]


def arm_parts(model: RobotModel, roots: Sequence[Path] = ()) -> tuple[list[Part], list[str]]:
    """Return what to draw of an arm.

    Parameters
    ----------
    model : RobotModel
        The arm.
    roots : sequence of Path
        Folders below which mesh files are, as ``package/rest`` or by the name that the URDF has.

    Returns
    -------
    parts : list of Part
        One for each link and colour.
    notes : list of str
        A sentence for each mesh that is not drawn, and why the page may be slow.
    """
    robot, notes = model.urdf.robot, []
    colours = {material.name: material.color for material in robot.materials if material.color is not None}
    parts = []
    for link in robot.links:
        drawn = []
        for visual in link.visuals or ():
            try:
                drawn.append(Part(link.name, _visual_mesh(visual, roots), _colour(visual, colours)))
            except UrdfError as error:
                notes.append(str(error))
        parts += drawn
    drawn_links = {part.link for part in parts}
    lacking = {link.name for link in robot.links if link.visuals or not drawn_links} - drawn_links
    parts += _stand_ins(model, lacking)
    if any(NO_FILE in note for note in notes):
        notes.append(f"meshes were looked for below {', '.join(map(str, dict.fromkeys(roots))) or 'no folder'}")
    if (n := sum(len(part.mesh.faces) for part in parts)) > MANY:
        notes.append(f"the meshes have {n} triangles: loading takes a while, and a browser may draw them slowly")
    return _merged(parts), list(dict.fromkeys(notes))


def mesh_roots(robot_file: Path | None = None) -> list[Path]:
    """Folders below which meshes may be: ROS packages, those above a URDF file, and example-robot-data."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    roots = [Path(prefix, "share") for prefix in prefixes if prefix]
    if coal is not None:
        roots.append(Path(coal.__file__).parents[4] / "share")
    if robot_file is not None:
        roots += list(robot_file.resolve().parents)[:4]
    return roots


def find_mesh(name: str, roots: Sequence[Path]) -> Path:
    """File of a mesh, by the name a URDF has for it.

    Raises
    ------
    UrdfError
        When there is none below the roots.
    """
    relative = os.path.normpath(name.removeprefix("package://"))
    if os.path.isabs(relative) or relative.startswith("..") or "://" in name.removeprefix("package://"):
        raise UrdfError(f"the mesh {name!r} is not drawn: it leads out of the folders for meshes")
    places = [root / relative for root in roots]
    if relative.startswith("arm_control" + os.sep):  # a source tree may have any name
        places.append(share_path("urdf").parent / relative.partition(os.sep)[2])
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise UrdfError(f"the mesh {name!r} is not drawn: {NO_FILE}")
    if found.stat().st_size > LARGEST:
        raise UrdfError(f"the mesh {name!r} is not drawn: it is larger than {LARGEST} bytes")
    return found


def _visual_mesh(visual: Any, roots: Sequence[Path]) -> Mesh:
    mesh, origin = _mesh(visual.geometry, roots), visual.origin
    if origin is None:
        return mesh
    return mesh.moved(rotation_from_rpy(origin.rpy or [0, 0, 0]), np.array(origin.xyz or [0, 0, 0], dtype=float))


def _mesh(geometry: Any, roots: Sequence[Path]) -> Mesh:
    kind = type(geometry).__name__
    if kind == "Sphere":
        return mesh_of(Sphere(float(geometry.radius)))
    if kind == "Cylinder":
        return mesh_of(Cylinder(float(geometry.radius), float(geometry.length)))
    if kind == "Box":
        x, y, z = geometry.size
        return mesh_of(Box((float(x), float(y), float(z))))
    return _read(find_mesh(str(geometry.filename), roots), geometry.scale or [1.0, 1.0, 1.0])


def _read(path: Path, scale: Sequence[float]) -> Mesh:
    if coal is None:
        raise UrdfError(
            f"the mesh {path.name!r} is not drawn: coal, which reads it, is not installed: pip install coal"
        )
    try:
        found = coal.MeshLoader().load(str(path), np.array(scale, dtype=float))
        faces = [[triangle[k] for k in range(3)] for triangle in map(found.tri_indices, range(found.num_tris))]
        corners = np.array(found.vertices()).reshape(-1, 3)
    except Exception as error:  # the loader has errors of its own, of many kinds
        raise UrdfError(f"the mesh {path.name!r} is not drawn: {_reason(error)}") from error
    if not faces or not np.isfinite(corners).all():
        raise UrdfError(f"the mesh {path.name!r} is not drawn: it has no triangles, or corners that are not finite")
    return Mesh(corners, np.array(faces))


def _reason(error: Exception) -> str:
    """What the loader says, without where in its own source it says so: the last line that is no hint."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Hint:")]
    return (lines or [type(error).__name__])[-1]


def _colour(visual: Any, colours: dict[str, Any]) -> tuple[float, ...]:
    material = visual.material
    colour = None if material is None else material.color or colours.get(material.name)
    return METAL if colour is None else tuple(float(min(max(x, 0.0), 1.0)) for x in colour.rgba)


def _stand_ins(model: RobotModel, lacking: set[str]) -> list[Part]:
    """Capsules, or rods, for links that have nothing to show."""
    capsules, _ = link_capsules(model.urdf)
    parts = [Part(c.link, _between(c.a, c.b, c.radius), METAL) for c in capsules if c.link in lacking]
    still = lacking - {part.link for part in parts}
    return parts + [part for link in model.frames if link in still for part in _rods(model, link)]


def _rods(model: RobotModel, link: str) -> list[Part]:
    children = model.urdf.robot.child_map.get(link, [])
    origins = [model.urdf.robot.joint_map[joint].origin for joint, _ in children]
    ends = [np.zeros(3) if origin is None else np.array(origin.xyz or [0, 0, 0], dtype=float) for origin in origins]
    rods = [Part(link, _between(np.zeros(3), end, ROD), METAL) for end in ends if np.linalg.norm(end) > ROD]
    balls = [Part(link, mesh_of(Sphere(1.4 * ROD)), JOINT)] if link != model.base else []
    return rods + balls


def _between(a: Array, b: Array, radius: float) -> Mesh:
    """A capsule between two points."""
    length = float(np.linalg.norm(b - a))
    X = Pose(rotation_with_z((b - a) / length) if length else np.eye(3), (a + b) / 2)
    return mesh_of(Capsule(radius, length) if length else Sphere(radius)).moved(X.R, X.p)


def _merged(parts: Sequence[Part]) -> list[Part]:
    """One part for each link and colour: fewer things to move."""
    by_key: dict[tuple[str, tuple[float, ...]], list[Mesh]] = {}
    for part in parts:
        by_key.setdefault((part.link, part.rgba), []).append(part.mesh)
    return [Part(link, joined(meshes), rgba) for (link, rgba), meshes in by_key.items()]
