"""Whether the masses of an arm fit its shapes: mass of each link per volume of the hulls of its collision shapes.

Of the links of nine makers' arms (UR3, UR5, UR10, Panda, xArm7, Kinova j2s6s200, Z1, SO-100, SO-101), in hulls of their
shapes, the lightest has 215 and the heaviest 2,760 kg/m^3; of whole arms the mean is 425 to 1,450. So a link below 150
or above 15,000 is implausible, and an arm below 350: a description with a part of the masses. Links without shapes,
with shapes that cannot be read, of at most 50 g in 0.33 l or below 50 cm^3 are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.maths import coal_hull
from arm_control.model import Arm, mesh_path

LIGHTEST, HEAVIEST, LIGHTEST_ARM = 150.0, 15_000.0, 350.0
"""Densities of links, and of whole arms [kg/m^3]."""
LEAST_MASS, LEAST_VOLUME = 0.05, 5e-5
"""Of a link that is looked at [kg, m^3]: one that has this mass, or a size for it."""
HEAVIER = "compare with the data sheet, find the masses with `identify --inertias`"


def density_warnings(arm: Arm, folders: Sequence[Path] = ()) -> list[str]:
    """List what is implausible about the masses of the links between base and tip, one sentence each.

    Parameters
    ----------
    folders : sequence of Path
        Where mesh files are searched, beside the folders of the URDF.
    """
    bodies = arm.tree.path(arm.tree.frames[arm.tip].body)
    masses, volumes, odd = 0.0, 0.0, []
    for link in arm.urdf.robot.links:
        mass = 0.0 if link.inertial is None else float(link.inertial.mass)
        if arm.tree.frames[link.name].body not in bodies or not mass:
            continue
        volume = _volume(link, (*folders, *arm.urdf.folders))
        if volume is None or volume < LEAST_VOLUME or max(mass, LIGHTEST * volume) < LEAST_MASS:
            continue
        masses, volumes = masses + mass, volumes + volume
        if not LIGHTEST <= mass / volume <= HEAVIEST:
            odd.append(f"'{link.name}' ({mass:.3g} kg in {1e3 * volume:.2g} l)")
    warnings = [f"mass is implausible for the size of the shapes: link {', '.join(odd)}"] if odd else []
    if volumes and masses / volumes < LIGHTEST_ARM:
        density = f"{masses:.3g} kg in {1e3 * volumes:.3g} l, {masses / volumes:.0f} kg/m^3; arms have 425 to 1450"
        warnings.append(f"the arm is too light for its size: {density}: {HEAVIER}")
    return warnings


def _volume(link: Any, folders: Sequence[Path]) -> float | None:
    """Volume of the hulls of a link's shapes [m^3]; None where there is none, or where one cannot be read."""
    volumes = [_shape_volume(collision.geometry, folders) for collision in link.collisions]
    return math.fsum(v for v in volumes if v is not None) if volumes and None not in volumes else None


def _shape_volume(g: Any, folders: Sequence[Path]) -> float | None:
    match type(g).__name__:
        case "Box":
            return float(np.prod(g.size))
        case "Sphere":
            return 4.0 / 3.0 * math.pi * float(g.radius) ** 3
        case "Cylinder":
            return math.pi * float(g.radius) ** 2 * float(g.length)
    path, scale = mesh_path(str(g.filename), folders), np.array(g.scale or [1.0] * 3, dtype=float)
    try:
        mesh = import_module("coal").MeshLoader().load(str(path), scale)
        return abs(float(coal_hull(np.array(mesh.vertices()).reshape(-1, 3)).computeVolume()))
    except Exception:  # the loader raises errors of many types, and a mesh may be flat
        return None
