"""A small arm of meshes with flat ends: a beam that is lifted, and a blade at its end that rolls about its length."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arm_control.maths import Array
from arm_control.model import RobotModel

BEAM, BLADE = (0.4, 0.12, 0.12), (0.3, 0.2, 0.02)
"""Sizes of both [m]; each begins at its joint and goes along x."""
INERTIAL = (
    '<inertial><origin xyz="0.15 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>'
)
TRAVEL = 3.0
"""Largest position of each joint [rad]."""


def box_triangles(size: Array) -> Array:
    """Triangles of a box around the origin, outwards, shape (12, 3, 3) [m]."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([corners[[f[0], f[k], f[k + 1]]] for f in faces for k in (1, 2)])


def write_stl(path: Path, triangles: Array) -> None:
    """Write triangles, shape (m, 3, 3), to a file."""
    lines = ["solid mesh"]
    for triangle in triangles:
        vertices = [f"vertex {x:.9g} {y:.9g} {z:.9g}" for x, y, z in triangle]
        lines += ["facet normal 0 0 0", "outer loop", *vertices, "endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid mesh\n"]))


def mesh_arm(folder: Path) -> RobotModel:
    """The arm, its files in a folder."""
    links = ['<link name="base"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>']
    for name, size in (("beam", BEAM), ("blade", BLADE)):
        write_stl(folder / f"{name}.stl", box_triangles(np.array(size)))
        links.append(
            f'<link name="{name}">{INERTIAL}<collision><origin xyz="{size[0] / 2} 0 0"/><geometry>'
            f'<mesh filename="{name}.stl"/></geometry></collision></link>'
        )
    joints = [
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0"/>'
        f'<axis xyz="{axis}"/><limit lower="-{TRAVEL}" upper="{TRAVEL}" effort="30" velocity="9"/></joint>'
        for name, parent, child, x, axis in (
            ("lift", "base", "beam", 0.1, "0 1 0"),
            ("roll", "beam", "blade", BEAM[0] + 0.02, "1 0 0"),
        )
    ]
    file = folder / "mesh_arm.urdf"
    file.write_text(f'<robot name="mesh_arm">{"".join([*links, *joints])}</robot>')
    return RobotModel.from_urdf(file, tip="blade")
