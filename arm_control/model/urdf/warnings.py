"""What looks wrong in a URDF that may be used: warnings, and notes on what a user should know.

The radius of gyration ``k = sqrt(I3 / m)`` of a body whose points are at most ``d`` apart cannot exceed
``d / sqrt(3)``. Where every shape of a link is a box, a cylinder or a sphere, k above d is reported. Where
there are meshes, which are not opened, d is known from the joints only, so k above 3 d, with d at least
0.1 m, or above 1 m is. An inertia of a copied unit box, or in wrong units, is found this way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from arm_control.model.urdf.facts import Facts, LinkFacts
from arm_control.model.urdf.xml import quote

SMALLEST_GUESS, LARGEST_GUESS, GUESS_FACTOR = 0.1, 1.0, 3.0


def find_warnings(facts: Facts) -> list[str]:
    """List what looks wrong with links and joints, one sentence for each.

    Parameters
    ----------
    facts : Facts
        The robot.

    Returns
    -------
    list of str
    """
    return [*_mass_warnings(facts), *_inertia_warnings(facts), *_joint_warnings(facts)]


def mesh_warnings(robot: Element, file: Path, roots: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Look for the mesh and texture files that a robot names.

    Parameters
    ----------
    robot : Element
        The robot's XML.
    file : Path
        The URDF file; a relative name starts in its folder.
    roots : sequence of Path
        More folders in which packages may be. The folder of the file, a package it lies in, and the
        packages of ``AMENT_PREFIX_PATH`` are looked at without being named.

    Returns
    -------
    tuple of two lists of str
        Warnings: a file is missing, or is a link that leads out of these folders. Notes: a package is not
        there.

    Notes
    -----
    Names that are refused (absolute, or with ``..``) are :func:`find_problems`' business.
    """
    warnings, missing = [], dict[str, int]()
    for name in dict.fromkeys(part.attrib["filename"] for part in robot.iter() if part.get("filename")):
        package, _, rest = name.removeprefix("package://").partition("/")
        is_package = name.startswith("package://")
        folders = _package_folders(package, file, roots) if is_package else [file.resolve().parent, *roots]
        found = [path for folder in folders if _exists(path := folder / (rest if is_package else name))]
        if is_package and not folders:
            missing[package] = missing.get(package, 0) + 1
        elif not found:
            warnings.append(f"file {quote(name)} does not exist")
        elif not any(path.resolve().is_relative_to(folder.resolve()) for path in found for folder in folders):
            warnings.append(f"file {quote(name)} is a link to {quote(str(found[0].resolve()))}, outside its folder")
    notes = [f"package {quote(name)} is not found, {n} file(s) of it are not checked" for name, n in missing.items()]
    return warnings, notes


def _package_folders(package: str, file: Path, roots: Sequence[Path]) -> list[Path]:
    """Folders of a package: above the file, below or at a root, in a ROS 2 workspace."""
    above = [folder for folder in file.resolve().parents if folder.name == package]
    shares = [Path(prefix) / "share" for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    named = [root for root in roots if root.resolve().name == package]
    candidates = [*above, *named, *(root / package for root in [*roots, *shares])]
    return [folder for folder in candidates if package and _exists(folder)]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or one that no file can have
        return False


def _mass_warnings(facts: Facts) -> Iterator[str]:
    for link in facts.links:
        if link.moves and link.has_geometry and link.mass is None:
            yield f"link {quote(link.name)} moves and has a shape, but no <inertial>: it counts as massless"
    loaded = {joint.name for link in facts.links if link.mass for joint in facts.path(link.name)}
    for joint in facts.joints:
        if joint.is_movable and joint.name not in loaded:
            yield f"joint {quote(joint.name)} moves no mass: the mass matrix is singular, torque cannot control it"


def _inertia_warnings(facts: Facts) -> Iterator[str]:
    for link in facts.links:
        k = link.radius_of_gyration
        if link.moves and k is not None and k > _largest_radius(link):
            size = (
                f"is {link.size:.3g} m large" if link.is_size_known else f"spans {link.size:.3g} m between its joints"
            )
            yield f"link {quote(link.name)}: implausible inertia, a radius of gyration of {k:.3g} m; the link {size}"


def _largest_radius(link: LinkFacts) -> float:
    """Radius of gyration [m] above which an inertia is implausible."""
    if link.is_size_known:
        return link.size
    return min(LARGEST_GUESS, GUESS_FACTOR * max(link.size, SMALLEST_GUESS))


def _joint_warnings(facts: Facts) -> Iterator[str]:
    endless = [quote(joint.name) for joint in facts.joints if joint.type == "continuous"]
    if endless:
        yield f"continuous: {', '.join(endless)}; such a joint has two coordinates in Pinocchio (nq is not nv)"
    for joint in facts.joints:
        if joint.is_movable and joint.mimic is not None:
            yield f"joint {quote(joint.name)} mimics {quote(joint.mimic)}: it cannot be commanded by itself"
        if joint.type in ("revolute", "prismatic") and None in (joint.lower, joint.upper):
            end = "lower" if joint.lower is None else "upper"
            yield f"joint {quote(joint.name)} states no {end} limit, which then counts as 0"
