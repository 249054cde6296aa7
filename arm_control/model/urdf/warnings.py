"""Warnings about a usable URDF: implausible or missing values, and mesh files that do not exist.

The radius of gyration ``k = sqrt(I3 / m)`` of a body whose points are at most ``d`` apart cannot exceed
``d / sqrt(3)``. A link whose shapes are all boxes, cylinders and spheres gets a warning for k > d. The files of meshes
are not opened, so d is known from the joints only: such a link gets a warning for k > 3 d, with d at least 0.1 m, or
for k > 1 m. This detects the inertia of a copied unit box, and wrong units.

The other way round, of all bodies with a mass m and a density up to rho the ball has the smallest k^2, which is
0.4 (3 m / (4 pi rho))^(2/3): I3 is at least the mean of the moments, and that is smallest where all mass is near.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from arm_control.model.urdf.checks import Finding, is_contained, warnings_of
from arm_control.model.urdf.facts import Facts, JointFacts, LinkFacts, Part
from arm_control.model.urdf.packages import find_package, folders_near, mesh_path
from arm_control.model.urdf.xml import quote

MIN_SIZE = 0.1
"""Smallest size that a link with meshes is taken for [m]."""
SIZE_FACTOR = 3.0
"""Largest plausible radius of gyration of a link with meshes, per distance between its joints."""
MAX_RADIUS = 1.0
"""Largest plausible radius of gyration of a link with meshes [m]."""
DENSEST = 22_600.0
"""Density of osmium [kg/m^3], above that of any other matter of a robot."""

FASTEST = 60.0
"""Largest plausible speed limit of a joint behind a gear [rad/s or m/s]."""

GRIPPER = re.compile("grip|finger|jaw|claw", re.IGNORECASE)
"""Name of a joint that opens a gripper."""

MASSLESS = "link moves and has a shape, but no <inertial>, and counts as massless"
TOO_HEAVY = "mass cannot be: no matter is that dense"
SINGULAR = "joint moves no mass, so the mass matrix is singular and torque cannot control it"
TOO_LARGE = "inertia is implausible, larger than the link"
TOO_SMALL = "inertia is implausible, smaller than that of any body with this mass"
TOO_FAST = "speed limit is implausible, no rotor is estimated from it, and friction may hold the joint: give a true one"
NO_FILE = "file does not exist"
LINK_OUT = "file is a link out of its folder"
NO_END = "missing end of a joint's range counts as 0"


def find_warnings(facts: Facts, part: Part | None = None) -> list[str]:
    """List what is implausible about links and joints of a robot, one sentence for each cause.

    Parameters
    ----------
    part : Part, optional
        The part that is controlled, which alone counts; by default everything that can move.
    """
    moved = [link for link in facts.links if (link.moves if part is None else link.name in part.moved)]
    joints = [joint for joint in facts.joints if part is None or joint.name in part.driven]
    return warnings_of([*_mass_findings(facts, moved, joints), *_inertia_findings(moved), *_limit_findings(joints)])


def find_notes(facts: Facts) -> list[str]:
    """List what is worth knowing about the joints of a robot, and no defect."""
    endless = [quote(joint.name) for joint in facts.joints if joint.type == "continuous"]
    notes = []
    if endless:
        notes.append(
            f"continuous joint(s): {', '.join(endless)}; Pinocchio has two coordinates for each (nq is not nv)"
        )
    for joint in facts.joints:
        if joint.is_movable and joint.mimic is not None:
            what = f"joint {quote(joint.name)} mimics {quote(joint.mimic)}"
            notes.append(f"{what}: it takes no commands of its own, and an arm that it moves cannot be exported to C")
    return notes


def gripper_warnings(chain: Sequence[JointFacts]) -> list[str]:
    """Warn of an arm whose last joint seems to open a gripper, as with one jaw that moves.

    Parameters
    ----------
    chain : sequence of JointFacts
        The joints of the arm that move, from the base on.
    """
    if not chain or not GRIPPER.search(chain[-1].name):
        return []
    joint, link = quote(chain[-1].name), chain[-1].parent
    return [f"joint {joint} seems to open a gripper, and would turn the hand: leave it out with the tip {quote(link)}"]


def mesh_warnings(robot: Element, file: Path, roots: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Check that the mesh and texture files of a robot exist.

    Parameters
    ----------
    file : Path
        The URDF file; relative names start in its folder.
    roots : sequence of Path
        More folders that may contain packages, besides the folder of the file, the package that contains the
        file, and the packages of ``AMENT_PREFIX_PATH``.

    Returns
    -------
    warnings : list of str
        Files that do not exist, and symbolic links to places outside these folders.
    notes : list of str
        A sentence for each package that was not found.

    Notes
    -----
    Absolute names and names with ``..`` have a warning of their own, and are not looked for.
    """
    findings, missing = [], dict[str, int]()
    folders = [*roots, *folders_near(file)]
    names = [part.attrib["filename"] for part in robot.iter() if part.get("filename")]
    for name in dict.fromkeys(filter(is_contained, names)):
        package = name.removeprefix("package://").partition("/")[0] if name.startswith("package://") else ""
        found = find_package(package, file, roots) if package else None
        if package and found is None:
            missing[package] = missing.get(package, 0) + 1
        elif (path := mesh_path(name, folders)) is None:
            findings.append(Finding(quote(name), "", "", NO_FILE, is_problem=False))
        elif not any(path.resolve().is_relative_to(f.resolve()) for f in (found or path.parent, *roots)):
            what = f"to {quote(str(path.resolve()))}"
            findings.append(Finding(quote(name), what, "", LINK_OUT, is_problem=False))
    notes = [
        f"package {quote(name)} was not found: {n} file(s) of it are not checked; --package-path names its folder"
        for name, n in missing.items()
    ]
    return warnings_of(findings), notes


def _finding(part: LinkFacts | JointFacts, what: str, cause: str) -> Finding:
    tag = "link" if isinstance(part, LinkFacts) else "joint"
    return Finding(f"{tag} {quote(part.name)}", what, "", cause, is_problem=False)


def _mass_findings(facts: Facts, moved: Sequence[LinkFacts], joints: Sequence[JointFacts]) -> Iterator[Finding]:
    for link in moved:
        if link.has_geometry and link.mass is None:
            yield _finding(link, "", MASSLESS)
        elif link.is_size_known and (link.mass or 0.0) > DENSEST * math.pi / 6.0 * link.size * link.size * link.size:
            yield _finding(link, f"{link.mass:.3g} kg within {link.size:.3g} m", TOO_HEAVY)
    loaded = {joint.name for link in facts.links if link.mass for joint in facts.path(link.name)}
    for joint in joints:
        if joint.is_movable and joint.name not in loaded:
            yield _finding(joint, "", SINGULAR)


def _inertia_findings(moved: Sequence[LinkFacts]) -> Iterator[Finding]:
    for link in moved:
        k = link.radius_of_gyration
        if k is None or link.mass is None or k == 0.0:
            continue
        start = f"radius of gyration {k:.3g} m"
        if k > _largest_radius(link):
            size = "size of its shapes" if link.is_size_known else "distance between its joints"
            yield _finding(link, f"{start}, {size} {link.size:.3g} m", TOO_LARGE)
        elif k < (smallest := smallest_radius(link.mass)):
            yield _finding(link, f"{start}, of a ball of osmium {smallest:.3g} m", TOO_SMALL)


def smallest_radius(mass: float) -> float:
    """Radius of gyration [m] of the densest body of a mass [kg], a ball: no body has a smaller one."""
    return math.sqrt(0.4) * (3.0 * mass / (4.0 * math.pi * DENSEST)) ** (1.0 / 3.0)


def _largest_radius(link: LinkFacts) -> float:
    """Radius of gyration [m] above which an inertia is implausible."""
    if link.is_size_known:
        return link.size
    return min(MAX_RADIUS, SIZE_FACTOR * max(link.size, MIN_SIZE))


def _limit_findings(joints: Sequence[JointFacts]) -> Iterator[Finding]:
    for joint in joints:
        if joint.is_movable and joint.mimic is None and (joint.velocity or 0.0) > FASTEST:
            yield _finding(joint, f"{joint.velocity:g} rad/s or m/s", TOO_FAST)
        if joint.type in ("revolute", "prismatic") and joint.mimic is None and None in (joint.lower, joint.upper):
            yield _finding(joint, f"no {'lower' if joint.lower is None else 'upper'} limit", NO_END)
