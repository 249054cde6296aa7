"""Write base.stl and shoulder.stl: outlines (radius, height) [m], turned about z. Run it in its folder."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

SECTORS = 32
OUTLINES = {
    "base": ((0, 0), (0.068, 0), (0.068, 0.018), (0.06, 0.026), (0, 0.026)),
    "shoulder": ((0, -0.058), (0.056, -0.058), (0.06, -0.052), (0.06, 0.04), (0.045, 0.056), (0, 0.061)),
}


def turned(outline: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Triangles (n, 3, 3) of a closed outline that starts and ends on the axis; normals point outwards."""
    angles = 2 * np.pi * np.arange(SECTORS) / SECTORS
    directions = np.stack([np.cos(angles), np.sin(angles), np.zeros(SECTORS)], axis=1)
    rings = [r * directions + [0, 0, z] for r, z in outline]
    triangles = []
    for low, high in pairwise(rings):
        for i in range(SECTORS):
            j = (i + 1) % SECTORS
            if low[i][:2].any():  # not on the axis
                triangles.append((low[i], low[j], high[i]))
            if high[i][:2].any():
                triangles.append((low[j], high[j], high[i]))
    return np.array(triangles)


def stl(triangles: np.ndarray) -> bytes:
    """Binary STL: 80 bytes, the count, then normal, corners and two spare bytes for each triangle."""
    facets = np.zeros(len(triangles), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    facets["normal"] = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    facets["corners"] = triangles
    return b"arm_control".ljust(80) + np.uint32(len(facets)).astype("<u4").tobytes() + facets.tobytes()


if __name__ == "__main__":
    for name, outline in OUTLINES.items():
        Path(f"{name}.stl").write_bytes(stl(turned(outline)))
