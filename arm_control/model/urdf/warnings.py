"""Warnings about a usable URDF: implausible or missing values, and mesh files that do not exist.

The radius of gyration ``k = sqrt(I3 / m)`` of a body whose points are at most ``d`` apart cannot exceed
``d / sqrt(3)``. A link whose shapes are all boxes, cylinders and spheres gets a warning for k > d. The files of meshes
are not opened, so d is known from the joints only: such a link gets a warning for k > 3 d, with d at least 0.1 m, or
for k > 1 m. This detects the inertia of a copied unit box, and wrong units.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from arm_control.model.urdf.facts import Facts, LinkFacts
from arm_control.model.urdf.xml import quote

MIN_SIZE = 0.1
"""Smallest size that a link with meshes is taken for [m]."""
SIZE_FACTOR = 3.0
"""Largest plausible radius of gyration of a link with meshes, per distance between its joints."""
MAX_RADIUS = 1.0
"""Largest plausible radius of gyration of a link with meshes [m]."""


def find_warnings(facts: Facts) -> list[str]:
    """List the warnings about links and joints of a robot, one sentence each."""
    return [*_mass_warnings(facts), *_inertia_warnings(facts), *_joint_warnings(facts)]


def mesh_warnings(robot: Element, file: Path, roots: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Check that the mesh and texture files of a robot exist.

    Parameters
    ----------
    robot : Element
        The robot's XML.
    file : Path
        The URDF file; relative names start in its folder.
    roots : sequence of Path
        More folders that may contain packages, besides the folder of the file, the package that contains the
        file, and the packages of ``AMENT_PREFIX_PATH``.

    Returns
    -------
    warnings : list of str
        A sentence for each file that does not exist, or is a symbolic link to a place outside these folders.
    notes : list of str
        A sentence for each package that was not found.

    Notes
    -----
    :func:`~arm_control.model.urdf.checks.find_problems` refuses absolute names and names with ``..``.
    """
    warnings, missing = [], dict[str, int]()
    for name in dict.fromkeys(part.attrib["filename"] for part in robot.iter() if part.get("filename")):
        package, _, rest = name.removeprefix("package://").partition("/")
        is_package = name.startswith("package://")
        folders = _package_folders(package, file, roots) if is_package else [file.resolve().parent, *roots]
        paths = [path for folder in folders if _exists(path := folder / (rest if is_package else name))]
        if is_package and not folders:
            missing[package] = missing.get(package, 0) + 1
        elif not paths:
            warnings.append(f"file {quote(name)} does not exist")
        elif not any(path.resolve().is_relative_to(folder.resolve()) for path in paths for folder in folders):
            warnings.append(f"file {quote(name)} is a link to {quote(str(paths[0].resolve()))}, outside its folder")
    notes = [f"package {quote(name)} was not found: {n} file(s) of it are not checked" for name, n in missing.items()]
    return warnings, notes


def _package_folders(package: str, file: Path, roots: Sequence[Path]) -> list[Path]:
    """Existing folders of a package: above the file, at or below a root, in a ROS 2 workspace."""
    above = [folder for folder in file.resolve().parents if folder.name == package]
    shares = [Path(prefix) / "share" for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    named = [root for root in roots if root.resolve().name == package]
    candidates = [*above, *named, *(root / package for root in [*roots, *shares])]
    return [folder for folder in candidates if package and _exists(folder)]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the name is too long, or not allowed for a file
        return False


def _mass_warnings(facts: Facts) -> Iterator[str]:
    for link in facts.links:
        if link.moves and link.has_geometry and link.mass is None:
            yield f"link {quote(link.name)} moves and has a shape, but no <inertial>: it counts as massless"
    loaded = {joint.name for link in facts.links if link.mass for joint in facts.path(link.name)}
    for joint in facts.joints:
        if joint.is_movable and joint.name not in loaded:
            yield f"joint {quote(joint.name)} moves no mass: the mass matrix is singular, and torque cannot control it"


def _inertia_warnings(facts: Facts) -> Iterator[str]:
    for link in facts.links:
        k = link.radius_of_gyration
        if link.moves and k is not None and k > _largest_radius(link):
            size = "the size of its shapes" if link.is_size_known else "the distance between its joints"
            start = f"link {quote(link.name)}: implausible inertia, with a radius of gyration of {k:.3g} m"
            yield f"{start}; {size} is {link.size:.3g} m"


def _largest_radius(link: LinkFacts) -> float:
    """Radius of gyration [m] above which an inertia is implausible."""
    if link.is_size_known:
        return link.size
    return min(MAX_RADIUS, SIZE_FACTOR * max(link.size, MIN_SIZE))


def _joint_warnings(facts: Facts) -> Iterator[str]:
    endless = [quote(joint.name) for joint in facts.joints if joint.type == "continuous"]
    if endless:
        yield f"continuous joint(s): {', '.join(endless)}; Pinocchio has two coordinates for each (nq is not nv)"
    for joint in facts.joints:
        if joint.is_movable and joint.mimic is not None:
            yield f"joint {quote(joint.name)} mimics {quote(joint.mimic)}: it takes no commands of its own"
        if joint.type in ("revolute", "prismatic") and None in (joint.lower, joint.upper):
            end = "lower" if joint.lower is None else "upper"
            yield f"joint {quote(joint.name)} has no {end} limit: it counts as 0"
