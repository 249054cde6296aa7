"""Triangles of a cube, with a dent or without, and files of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arm_control.maths import Array

UNIT_CUBE = np.array(
    [[[0, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [1, 0, 0]],
     [[0, 0, 1], [1, 0, 1], [1, 1, 1]], [[0, 0, 1], [1, 1, 1], [0, 1, 1]],
     [[0, 0, 0], [1, 0, 0], [1, 0, 1]], [[0, 0, 0], [1, 0, 1], [0, 0, 1]],
     [[0, 1, 0], [0, 1, 1], [1, 1, 1]], [[0, 1, 0], [1, 1, 1], [1, 1, 0]],
     [[0, 0, 0], [0, 0, 1], [0, 1, 1]], [[0, 0, 0], [0, 1, 1], [0, 1, 0]],
     [[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 1], [1, 0, 1]]],
    dtype=float,
)  # fmt: skip
"""Of a cube of 1 m with a corner in the origin, anticlockwise seen from outside, shape (12, 3, 3)."""


def dented(depth: float = 0.1) -> Array:
    """The cube with a point below its top [m] instead of that."""
    ring = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], dtype=float)
    middle = np.array([0.5, 0.5, 1.0 - depth])
    dent = [(a, b, middle) for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True)]
    return np.concatenate([UNIT_CUBE[:2], UNIT_CUBE[4:], dent])


def write_stl(path: Path, triangles: Array) -> Path:
    """Write triangles, shape (k, 3, 3) [m], into a binary STL file, and return its path."""
    records = np.zeros(len(triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    records["corners"] = triangles
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(80) + np.uint32(len(triangles)).tobytes() + records.tobytes())
    return path
