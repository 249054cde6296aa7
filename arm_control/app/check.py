"""``arm_control check``: what is in a URDF, and what is wrong with it, as text or as JSON.

Everything a file says reaches the terminal with its control characters escaped.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arm_control.core.files import urdf_path
from arm_control.exceptions import FrameNotFound, ModelError
from arm_control.model.urdf.checks import find_problems
from arm_control.model.urdf.facts import Facts, JointFacts, LinkFacts, read_facts
from arm_control.model.urdf.load import read_source
from arm_control.model.urdf.warnings import find_warnings, mesh_warnings
from arm_control.model.urdf.xml import printable, read_robot

WIDTH, NAME_WIDTH, DEEPEST = 100, 30, 16


@dataclass(frozen=True)
class Check:
    """What was found.

    Attributes
    ----------
    file : str
        The file that was read.
    facts : Facts
        What it says.
    base, tip : str or None
        The chain that is to move; None when the tip is to be named.
    problems, warnings, notes : tuple of str
        A file with problems is refused by :func:`arm_control.model.load_urdf`.
    """

    file: str
    facts: Facts
    base: str | None
    tip: str | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def chain(self) -> tuple[JointFacts, ...]:
        """The joints between base and tip that can move."""
        path = self.facts.path(self.tip) if self.tip is not None else ()
        parents = [joint.parent for joint in path]
        start = parents.index(self.base) if self.base in parents else len(path)
        return tuple(joint for joint in path[start:] if joint.is_movable)


def check_file(
    file: str, *, tip: str | None = None, base: str | None = None, mesh_roots: Sequence[str | Path] = ()
) -> Check:
    """Look a URDF or xacro file through.

    Parameters
    ----------
    file : str
        A file, or the name of a robot that comes with the package.
    tip, base : str, optional
        Links between which the arm is; by default the root, and ``tool0`` or the only leaf.
    mesh_roots : sequence of str or Path
        Folders in which packages with meshes may be.

    Returns
    -------
    Check

    Raises
    ------
    UrdfError
        The file cannot be read or expanded, or is not XML of a robot.
    FrameNotFound, ModelError
        There is no such link, or the tip is not below the base.
    """
    path = Path(file) if Path(file).is_file() else urdf_path(file)
    text, name = read_source(path)
    robot = read_robot(text)
    facts = read_facts(robot)
    base, tip = _chain_ends(facts, base, tip)
    of_meshes, notes = mesh_warnings(robot, path, [Path(root) for root in mesh_roots])
    warnings = (*find_warnings(facts), *of_meshes)
    return Check(name, facts, base, tip, tuple(find_problems(text)), warnings, tuple(notes))


def _chain_ends(facts: Facts, base: str | None, tip: str | None) -> tuple[str | None, str | None]:
    links = [link.name for link in facts.links]
    for name in (base, tip):
        if name is not None and name not in links:
            raise FrameNotFound(name, links)
    if tip is None:
        below = [name for name in links if base in (None, name, *(joint.parent for joint in facts.path(name)))]
        leaves = [name for name in facts.leaves if name in below]
        tip = "tool0" if "tool0" in below else leaves[0] if len(leaves) == 1 else None
    path = [] if tip is None else [joint.parent for joint in facts.path(tip)]
    if tip is not None and base not in (None, tip, *path):
        raise ModelError(f"link {tip!r} is not below {base!r}; above it are: {', '.join(path) or 'no links'}")
    return base or (path[0] if path else links[0] if links else None), tip


def as_json(check: Check) -> str:
    """Write what was found as JSON; a number that is missing or not finite is null."""
    facts = check.facts
    links = [asdict(link) | {"joint": link.joint.name if link.joint else None} for link in facts.links]
    values = {
        "file": check.file,
        "robot": facts.name,
        "usable": not check.problems,
        "problems": check.problems,
        "warnings": check.warnings,
        "notes": check.notes,
        "base": check.base,
        "tip": check.tip,
        "chain": [joint.name for joint in check.chain],
        "tip_candidates": facts.tip_candidates,
        "mass": facts.mass,
        "moving_mass": facts.moving_mass,
        "links": links,
        "joints": [asdict(joint) for joint in facts.joints],
    }
    return json.dumps(_finite(values), indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_text(check: Check) -> str:
    """Write what was found for a reader: at most 100 columns, except where a name is longer."""
    facts = check.facts
    movable = [joint for joint in facts.joints if joint.is_movable]
    counts = f"{len(facts.links)} links, {len(facts.joints)} joints of which {len(movable)} can move"
    head = f"robot {_name(facts.name)}: {counts}, {facts.mass:.5g} kg of which {facts.moving_mass:.5g} kg move"
    sections = [
        [printable(check.file), *_wrapped(head)],
        ["Tree", *_tree(facts)],
        ["Joints that can move", *_joint_table(movable)] if movable else [],
        ["Chain", *_chain(check)],
        ["Inertia of the links that move", *_inertia_table(facts)] if facts.moving_mass else [],
        *(_listing(title, getattr(check, title)) for title in ("notes", "warnings", "problems")),
        [f"not usable: {len(check.problems)} problem(s)" if check.problems else "usable"],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _name(name: str) -> str:
    return printable(name) or "(no name)"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _wrapped(text: str, indent: int = 0) -> list[str]:
    first, rest = " " * indent, " " * (indent + 4)
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _tree(facts: Facts) -> Iterator[str]:
    for link in facts.links:
        joint = "" if link.joint is None else f"  <- {_joint_words(link.joint)}"
        mass = "" if link.mass is None else f", {link.mass:.4g} kg"
        yield from _wrapped(f"{_name(link.name)}{mass}{joint}", 2 + 2 * min(link.depth, DEEPEST))


def _joint_words(joint: JointFacts) -> str:
    words = f"{_name(joint.name)}, {printable(joint.type)}"
    if not joint.is_movable:
        return words
    axis = "-" if joint.axis is None else " ".join(map(_number, joint.axis))
    unit = "m" if joint.type == "prismatic" else "rad"
    ends = "" if joint.type == "continuous" else f", {_number(joint.lower)} to {_number(joint.upper)} {unit}"
    return f"{words} ({axis}){ends}" + (f", mimics {_name(joint.mimic)}" if joint.mimic is not None else "")


def _joint_table(joints: Iterable[JointFacts]) -> Iterator[str]:
    yield _row("", "lower", "upper", "lower", "upper", "effort", "speed", "damping")
    yield _row("name", "[rad|m]", "[rad|m]", "[deg]", "[deg]", "[N m|N]", "[1/s]", "[SI]")
    for joint in joints:
        ends = (joint.lower, joint.upper)
        degrees = (None if end is None or joint.type == "prismatic" else math.degrees(end) for end in ends)
        yield _row(_name(joint.name), *map(_number, (*ends, *degrees, joint.effort, joint.velocity, joint.damping)))


def _inertia_table(facts: Facts) -> Iterator[str]:
    yield _row("", "mass", "I1", "I2", "I3", "k", "size")
    yield _row("name", "[kg]", "[kg m^2]", "[kg m^2]", "[kg m^2]", "[m]", "[m]")
    for link in facts.links:
        if link.moves and link.mass is not None:
            yield _inertia_row(link)
    yield "  k: radius of gyration sqrt(I3 / mass); size: of shapes and joints, ~ where meshes count too"


def _inertia_row(link: LinkFacts) -> str:
    moments = link.principal_moments or (None, None, None)
    size = ("" if link.is_size_known else "~") + _number(link.size)
    return _row(_name(link.name), *map(_number, (link.mass, *moments, link.radius_of_gyration)), size)


def _row(name: str, *cells: str) -> str:
    name = name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 3] + "..."
    return f"  {name:{NAME_WIDTH}}" + "".join(f" {cell:>8}" for cell in cells)


def _chain(check: Check) -> list[str]:
    candidates = ", ".join(map(_name, check.facts.tip_candidates)) or "none"
    if check.tip is None:
        return _wrapped(f"which link is the tip? Name it with --tip; candidates: {candidates}", 2)
    joints = ", ".join(_name(joint.name) for joint in check.chain) or "no joint that can move"
    others = _wrapped(f"candidates for the tip: {candidates}", 2)
    return [*_wrapped(f"from {_name(check.base or '')} to {_name(check.tip)}: {joints}", 2), *others]


def _listing(title: str, sentences: Sequence[str]) -> list[str]:
    lines = [line for sentence in sentences for line in _wrapped(f"- {printable(sentence)}", 2)]
    return [f"{title.capitalize()} ({len(sentences)})", *lines] if sentences else []
