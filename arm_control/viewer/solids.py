"""Triangles of spheres, boxes, cylinders, cones and capsules.

A solid of revolution about z is a profile: bands of points (r, z) from the lower to the upper end. Each band has its
own corners, so that a renderer shades a band smoothly and shows an edge between two bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Shape, Sphere

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
        """Return the mesh rotated, then translated.

        Parameters
        ----------
        R : ndarray, shape (3, 3)
            Rotation.
        p : ndarray, shape (3,)
            Translation [m].
        """
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
