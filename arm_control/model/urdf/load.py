"""Load a URDF: check it and normalise it, so that every parser builds the same robot.

Parsers disagree about values that a file does not state: the default axis, an axis that is not of unit length, an
``<inertial>`` of zeros, the limits of a fixed joint. The normalised text states all of them, so Pinocchio, MuJoCo and
urdf_parser_py build the same robot from it. Units are SI: m, rad, kg, kg m^2, N m (N for a prismatic joint), rad/s
(m/s).

A robot is named by a name of the package, a file, or a xacro file with its arguments:
``arm.urdf.xacro name:=left gripper:=true`` names a xacro file and values of its arguments, as the command ``xacro``
takes them. It is one text, so every parameter, scenario and option that names a robot takes it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from urdf_parser_py.urdf import URDF

from arm_control.core import urdf_path
from arm_control.exceptions import FrameNotFound, InputError, JointNotFound, UrdfError
from arm_control.maths import Array, Pose, rotation_from_rpy
from arm_control.model.urdf.checks import Finding, find_findings, problems_of, structure_problems, warnings_of
from arm_control.model.urdf.facts import Facts, Part, read_facts, whole_robot
from arm_control.model.urdf.packages import folders_near
from arm_control.model.urdf.xacro import expand_xacro
from arm_control.model.urdf.xml import MAX_BYTES, MOVABLE, is_massless, numbers, quote, read_robot, read_robot_and_calls

LEFT_OUT = "xacro macro that nobody has expanded is left out, with all that it stands for"


@dataclass(frozen=True)
class Urdf:
    """A checked robot description.

    Attributes
    ----------
    text : str
        The normalised XML, core URDF only: the text for every other parser.
    robot : urdf_parser_py.urdf.URDF
        The same text as objects: links, joints, limits, geometry. Do not modify it.
    warnings : tuple of str
        What was wrong in the source without harm to the controlled part, a sentence for each cause.
    folders : tuple of Path
        Where its meshes and packages are searched first: those of ``package_path``, the file's and those above it.
    """

    text: str
    root: str
    robot: Any = field(repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), repr=False, compare=False)
    folders: tuple[Path, ...] = field(default=(), repr=False, compare=False)

    @property
    def movable_joints(self) -> tuple[str, ...]:
        """Names of the revolute, continuous and prismatic joints, also of those that mimic another one.

        Depth first, siblings in the order of the file.
        """
        return tuple(joint for joint, _ in self.below(self.root) if self._is_movable(joint))

    @property
    def leaves(self) -> tuple[str, ...]:
        """Names of the links without children, depth first: the candidates for an end effector."""
        links = (self.root, *(link for _, link in self.below(self.root)))
        return tuple(link for link in links if link not in self.robot.child_map)

    def chain(self, tip: str) -> tuple[str, ...]:
        """Movable joints from the root link to a tip; none when all joints between are fixed.

        Raises
        ------
        FrameNotFound
            No link has that name.
        """
        if tip not in self.robot.link_map:
            raise FrameNotFound(tip, self.robot.link_map)
        return tuple(joint for joint in self.above(tip) if self._is_movable(joint))

    def above(self, link: str) -> list[str]:
        """Every joint from the root to a link, in this order."""
        joints: list[str] = []
        while link != self.root:
            joint, link = self.robot.parent_map[link]
            joints.insert(0, joint)
        return joints

    def link_masses(self) -> dict[str, float]:
        """Mass [kg] of each link with an ``<inertial>``, in the order of the file."""
        return {link.name: link.inertial.mass for link in self.robot.links if link.inertial is not None}

    def without_meshes(self) -> str:
        """Return the XML without shapes and textures from files, for programs that cannot resolve ``package://``."""
        robot = read_robot(self.text)
        for link in robot.iterfind("link"):
            _remove(link, [part for part in link if part.find("geometry/mesh") is not None])
        for material in list(robot.iter("material")):
            _remove(material, material.findall("texture"))
        return write(robot)

    def below(self, link: str) -> Iterator[tuple[str, str]]:
        """Yield every (joint, child link) below a link, depth first, siblings in the order of the file."""
        pending = list(reversed(self.robot.child_map.get(link, [])))
        while pending:  # no recursion: a chain may be longer than Python's stack
            joint, child = pending.pop()
            yield joint, child
            pending += reversed(self.robot.child_map.get(child, []))

    def _is_movable(self, joint: str) -> bool:
        return self.robot.joint_map[joint].type in MOVABLE


def load_urdf(
    source: str | Path,
    *,
    effort_limits: Mapping[str, float] | None = None,
    velocity_limits: Mapping[str, float] | None = None,
    xacro_args: Mapping[str, str] | None = None,
    package_path: Sequence[str | Path] = (),
    choose: Callable[[Facts], Part] = whole_robot,
    needs_maxima: bool = True,
) -> Urdf:
    """Load a URDF and check it.

    The result describes a physically possible tree of rigid bodies. A movable joint that carries no mass is accepted,
    because kinematics needs no mass; the mass matrix is then singular.

    Parameters
    ----------
    source, effort_limits, velocity_limits, xacro_args, package_path
        As for :meth:`arm_control.RobotModel.from_urdf`; XML that is still a xacro program is refused.
    choose : callable
        Returns the part that is controlled; a defect elsewhere is a warning. By default every joint is controlled.
    needs_maxima : bool
        Whether a controlled joint must have limits of effort and velocity.

    Raises
    ------
    UrdfError
        The file cannot be read or has problems (the message lists them all), or a limit is not positive and finite.
    JointNotFound
        A limit names a joint that does not exist or is fixed.
    MissingExtra
        The file is a xacro file, and xacro is not installed.
    """
    return load_text(
        *read_source(source, xacro_args, package_path),
        folders_of(source, package_path),
        effort_limits=effort_limits,
        velocity_limits=velocity_limits,
        choose=choose,
        needs_maxima=needs_maxima,
    )


def load_text(
    text: str,
    name: str,
    folders: tuple[Path, ...],
    *,
    effort_limits: Mapping[str, float] | None = None,
    velocity_limits: Mapping[str, float] | None = None,
    choose: Callable[[Facts], Part] = whole_robot,
    needs_maxima: bool = True,
) -> Urdf:
    """:func:`load_urdf` of what :func:`read_source` and :func:`folders_of` return."""
    maxima = {"effort": dict(effort_limits or {}), "velocity": dict(velocity_limits or {})}
    robot, calls = read_robot_and_calls(text)
    if problems := structure_problems(robot):
        raise _refusal(problems, name)
    part = choose(read_facts(robot))
    supplied = maxima if needs_maxima else dict.fromkeys(maxima, part.joints)
    findings = find_findings(robot, part, supplied["effort"], supplied["velocity"])
    if problems := problems_of(findings):
        raise _refusal(problems, name)
    for finding in findings:
        finding.cure()
    _check_maxima(maxima, robot)
    normalise(robot, maxima)
    left = [Finding(place, f"<{quote(tag)[1:-1]}>", "", LEFT_OUT, is_problem=False) for place, tag in calls]
    return parse(write(robot), tuple(warnings_of([*findings, *left])), folders)


def folders_of(source: str | Path, package_path: Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the folders in which meshes of a description are looked for."""
    is_file = not (isinstance(source, str) and "<" in source)
    return (*map(Path, package_path), *(folders_near(Path(source)) if is_file else ()))


def parse(text: str, warnings: tuple[str, ...] = (), folders: tuple[Path, ...] = ()) -> Urdf:
    """Return the robot of a text that has been checked."""
    parsed = URDF.from_xml_string(text)
    return Urdf(text, parsed.get_root(), parsed, warnings, folders)


def _refusal(problems: list[str], name: str) -> UrdfError:
    return UrdfError(f"{len(problems)} problem(s) in {name}", problems)


def read_source(
    source: str | Path, xacro_args: Mapping[str, str] | None = None, package_path: Sequence[str | Path] = ()
) -> tuple[str, str]:
    """Return the XML, with xacro expanded, and a name for it in messages."""
    if isinstance(source, str) and "<" in source:
        if xacro_args:
            raise UrdfError("xacro_args need a xacro file, but the source is XML")
        return source, "the URDF text"
    name = str(source)[:200]
    try:
        path = Path(source)
        if not path.is_file():
            raise UrdfError(f"there is no URDF file {name!r}; allowed: a file or the XML itself")
        if is_xacro(path):
            return expand_xacro(path, xacro_args, package_path), name
        if xacro_args:
            raise UrdfError(f"xacro_args need a xacro file, but the source is {name!r}")
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1).decode("utf-8")
    except UrdfError:
        raise
    except (OSError, ValueError) as error:
        raise UrdfError(f"the URDF file {name!r} cannot be read: {error}") from None
    if "<" not in text:  # it would pass for the name of another file
        raise UrdfError(f"the URDF file {name!r} contains no XML")
    return text, name


def _check_maxima(maxima: Mapping[str, Mapping[str, float]], robot: Element) -> None:
    movable = [joint.attrib["name"] for joint in robot.iterfind("joint") if joint.get("type") in MOVABLE]
    for quantity, limits in maxima.items():
        for joint, value in limits.items():
            if joint not in movable:
                raise JointNotFound(joint, movable)
            if not (isinstance(value, Real) and 0.0 < value <= sys.float_info.max):
                raise UrdfError(f"{quantity}_limits of joint {joint!r} is {value!r}; allowed: a finite number above 0")


def normalise(robot: Element, maxima: Mapping[str, Mapping[str, float]]) -> None:
    """State every value for which parsers have different defaults.

    Parameters
    ----------
    robot : Element
        The robot; it is changed.
    maxima : mapping of str to mapping
        Limits from outside the file, by quantity (``effort``, ``velocity``) and joint.
    """
    for link in robot.iterfind("link"):
        _remove(link, [part for part in link.iterfind("inertial") if is_massless(part)])
    _remove(robot, [material for material in robot.iterfind("material") if not len(material)])
    for joint in robot.iterfind("joint"):
        _remove(joint, [part for part in joint.iterfind("dynamics") if not part.attrib])
        if joint.get("type") in MOVABLE:
            _normalise_axis(joint)
            _normalise_limit(joint, maxima)
        else:
            _remove(joint, [part for part in joint if part.tag not in ("origin", "parent", "child")])


def _normalise_axis(joint: Element) -> None:
    """State the axis, by default x, with unit length."""
    axis = joint.find("axis")
    if axis is None:
        axis = ElementTree.SubElement(joint, "axis", xyz="1 0 0")
    xyz = numbers(axis, "xyz") or (1.0, 0.0, 0.0)
    scale = max(map(abs, xyz))
    length = sum((x / scale) ** 2 for x in xyz) ** 0.5
    if abs(scale * length - 1.0) > 1e-15:
        axis.set("xyz", " ".join(repr(x / scale / length) for x in xyz))


def _normalise_limit(joint: Element, maxima: Mapping[str, Mapping[str, float]]) -> None:
    """Write the limits from outside the file; remove the range of a continuous joint."""
    limit = joint.find("limit")
    if limit is None:
        limit = ElementTree.SubElement(joint, "limit")
    for quantity, limits in maxima.items():
        if joint.attrib["name"] in limits:
            limit.set(quantity, repr(float(limits[joint.attrib["name"]])))
        elif quantity not in limit.attrib:  # of a joint that is not controlled; parsers need a number
            limit.set(quantity, "0")
    if joint.get("type") == "continuous":
        limit.attrib.pop("lower", None)
        limit.attrib.pop("upper", None)


def _remove(element: Element, children: list[Element]) -> None:
    for child in children:
        element.remove(child)


def write(robot: Element) -> str:
    """Return the XML of a robot, indented."""
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode")


def friction_in(urdf: Urdf, names: Sequence[str]) -> tuple[Array, Array]:
    """Return Coulomb and viscous friction that ``<dynamics>`` states for joints, zero for none.

    Most files have placeholders there: the same round number for every joint, often to keep another simulator quiet.
    So nothing takes them without being asked, and what takes them names them.

    Returns
    -------
    ndarray, shape (n,); ndarray, shape (n,)
        [N m or N], [N m s/rad or N s/m].
    """
    dynamics = [urdf.robot.joint_map[name].dynamics for name in names]
    coulomb, viscous = (
        np.array([getattr(entry, key, None) or 0.0 for entry in dynamics]) for key in ("friction", "damping")
    )
    return coulomb, viscous


def origin_pose(origin: Any) -> Pose:
    """Return the pose that a parsed ``<origin>`` says; the identity where there is none."""
    if origin is None:
        return Pose.identity()
    xyz, rpy = origin.xyz or (0.0, 0.0, 0.0), origin.rpy or (0.0, 0.0, 0.0)
    return Pose(rotation_from_rpy(rpy), np.array(xyz, dtype=float))


def is_xacro(path: Path) -> bool:
    """Whether a file is a xacro program: by the end of its name, or by xacro's elements and expressions in a URDF."""
    if path.suffix == ".xacro":
        return True
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES)
    except OSError:
        return False
    return b"xmlns:xacro" in text and _XACRO.search(_COMMENT.sub(b"", text)) is not None


_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_XACRO = re.compile(rb"<xacro:(include|macro|property|arg|if|unless)\b|=\s*[\"'][^\"'<]*\$[({]")
WITH_TRUST = "read it first, then allow it with --trust, in a launch trust:=true"
WITHOUT_XACRO = "name the URDF that it expands to"
"""Ways out where a xacro file is refused."""
_ARGUMENT = re.compile(r"\s+(\w+):=(\S*)$")


def read_description(robot: str) -> str:
    """Return the text of a robot's URDF, with xacro expanded.

    Parameters
    ----------
    robot : str
        A robot of the package, or a URDF or xacro file; after a xacro file, ``name:=value`` for its arguments.

    Raises
    ------
    ArmControlError
        When there is no such robot or file, or it cannot be read.
    """
    path, arguments = find_description(robot)
    return read_source(path, arguments)[0]


def find_description(robot: str) -> tuple[Path, dict[str, str]]:
    """Return the file that a robot's name means, and the arguments behind it."""
    name, arguments = split_arguments(robot)
    return urdf_path(name), arguments


def split_arguments(robot: str) -> tuple[str, dict[str, str]]:
    """Return a robot's name without the arguments behind it, and these."""
    name, arguments = robot.strip(), dict[str, str]()
    while match := _ARGUMENT.search(name):
        arguments = {match[1]: match[2], **arguments}
        name = name[: match.start()].rstrip()
    return name, arguments


def refuse_xacro(robot: str, where: str = "", way_out: str = WITH_TRUST) -> None:
    """Raise an InputError where a robot is a xacro file: only one that the user has named is known to be harmless.

    Parameters
    ----------
    where, way_out : str
        The file that names it and what to do about it, for the message.
    """
    name, _ = split_arguments(robot)
    if is_xacro(Path(name)):
        place = f"{where}: " if where else ""
        what = "a xacro file is a program, and expanding it may run any code as you"
        raise InputError(f"{place}{name}: {what}: {way_out}")


def refuse_xacro_in(content: Mapping[str, Any], where: str) -> None:
    """Raise an InputError where an entry ``robot`` of a file, also of its nodes and variants, names a xacro file."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            refuse_xacro_in(value, where)
        elif key == "robot":
            refuse_xacro(str(value), where)
