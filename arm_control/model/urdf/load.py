"""Load a URDF: check it, normalise it, and hand every parser the same text.

Parsers disagree about what a file leaves open: the default axis, an axis that is not of unit length,
an ``<inertial>`` of zeros, the limits of a fixed joint. The normalised text leaves nothing open, so
Pinocchio, MuJoCo and urdf_parser_py build the same robot from it. Units are SI: m, rad, kg, kg m^2,
N m (N for a prismatic joint), rad/s (m/s).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from urdf_parser_py.urdf import URDF

from arm_control.exceptions import FrameNotFound, JointNotFound, UrdfError
from arm_control.model.urdf.checks import MOVABLE, find_problems, is_massless
from arm_control.model.urdf.xacro import expand_xacro
from arm_control.model.urdf.xml import MAX_BYTES, numbers, read_robot


@dataclass(frozen=True)
class Urdf:
    """A robot description that has been checked.

    Attributes
    ----------
    text : str
        The normalised XML, core URDF only; what every other parser gets.
    root : str
        The root link.
    robot : urdf_parser_py.urdf.URDF
        The same text as objects: links, joints, limits, geometry. Do not modify it.
    """

    text: str
    root: str
    robot: Any = field(repr=False, compare=False)

    @property
    def movable_joints(self) -> tuple[str, ...]:
        """Names of the revolute, continuous and prismatic joints: depth first, siblings as in the file.

        A joint that mimics another one is among them.
        """
        return tuple(joint for joint, _ in self.below(self.root) if self._is_movable(joint))

    @property
    def leaves(self) -> tuple[str, ...]:
        """Names of the links without children, depth first: the candidates for an end effector."""
        links = (self.root, *(link for _, link in self.below(self.root)))
        return tuple(link for link in links if link not in self.robot.child_map)

    def chain(self, tip: str) -> tuple[str, ...]:
        """List the movable joints between the root link and a tip.

        Parameters
        ----------
        tip : str
            A link.

        Returns
        -------
        tuple of str
            Joint names from the root to the tip; empty when only fixed joints lie between.

        Raises
        ------
        FrameNotFound
            No link has that name.
        """
        if tip not in self.robot.link_map:
            raise FrameNotFound(tip, self.robot.link_map)
        joints = []
        while tip != self.root:
            joint, tip = self.robot.parent_map[tip]
            joints.append(joint)
        return tuple(joint for joint in reversed(joints) if self._is_movable(joint))

    def link_masses(self) -> dict[str, float]:
        """Mass [kg] of each link that has one, in the order of the file."""
        return {link.name: link.inertial.mass for link in self.robot.links if link.inertial is not None}

    def without_meshes(self) -> str:
        """Write the XML without what refers to a mesh or a texture file.

        Returns
        -------
        str
            URDF in which every shape is a box, a cylinder or a sphere, for programs that cannot
            resolve ``package://``. Kinematics and inertias are unchanged.
        """
        robot = read_robot(self.text)
        for link in robot.iterfind("link"):
            _remove(link, [part for part in link if part.find("geometry/mesh") is not None])
        for material in list(robot.iter("material")):
            _remove(material, material.findall("texture"))
        return _write(robot)

    def below(self, link: str) -> Iterator[tuple[str, str]]:
        """Yield every (joint, child link) below a link: depth first, siblings as in the file."""
        pending = list(reversed(self.robot.child_map.get(link, [])))
        while pending:  # not by recursion: a chain may be longer than Python's stack
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
) -> Urdf:
    """Check a URDF and load it.

    Parameters
    ----------
    source : str or Path
        A file, or the XML itself (a str with a ``<`` in it, as in ``robot_description``). A file whose
        name ends in ``.xacro`` is expanded first; XML with xacro in it is refused.
    effort_limits : mapping of str to float, optional
        Largest effort [N m or N] by joint name; replaces what the file states or leaves out.
    velocity_limits : mapping of str to float, optional
        Largest speed [rad/s or m/s] by joint name; likewise.
    xacro_args : mapping of str to str, optional
        Values of the ``<xacro:arg>`` of a xacro file.

    Returns
    -------
    Urdf
        The checked robot description.

    Raises
    ------
    UrdfError
        The file cannot be read or is wrong (all problems are listed), or a limit is not positive and
        finite.
    JointNotFound
        A limit is given for a joint which the robot does not have or which does not move.
    MissingExtra
        A xacro file is given, and xacro is not installed.

    Notes
    -----
    The result stands for a tree of rigid bodies that physics allows. A movable joint that carries no
    mass passes, because kinematics can be computed without; its mass matrix is singular.

    Examples
    --------
    >>> robot = load_urdf('''<robot name="pendulum"><link name="base"/><link name="rod">
    ...   <inertial><mass value="1"/>
    ...     <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/></joint></robot>''',
    ...   effort_limits={"hinge": 5.0}, velocity_limits={"hinge": 3.0})
    >>> robot.chain("rod"), robot.link_masses()
    (('hinge',), {'rod': 1.0})
    """
    maxima = {"effort": dict(effort_limits or {}), "velocity": dict(velocity_limits or {})}
    text, name = read_source(source, xacro_args)
    problems = find_problems(text, maxima["effort"], maxima["velocity"])
    if problems:
        raise UrdfError("\n- ".join([f"{len(problems)} problem(s) in {name}", *problems]))
    robot = read_robot(text)
    _check_maxima(maxima, robot)
    _normalise(robot, maxima)
    text = _write(robot)
    parsed = URDF.from_xml_string(text)
    return Urdf(text, parsed.get_root(), parsed)


def read_source(source: str | Path, xacro_args: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return the XML, xacro expanded, and what to call it in a message; see :func:`load_urdf`."""
    if isinstance(source, str) and "<" in source:
        if xacro_args:
            raise UrdfError("xacro_args are given with XML; only a file is expanded")
        return source, "the URDF text"
    name = str(source)[:200]
    try:
        path = Path(source)
        if not path.is_file():
            raise UrdfError(f"there is no URDF file {name!r}; allowed is a file or the XML itself")
        if path.suffix == ".xacro":
            return expand_xacro(path, xacro_args), name
        if xacro_args:
            raise UrdfError(f"xacro_args are given with {name!r}; allowed is a file whose name ends in .xacro")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1).decode("utf-8"), name
    except UrdfError:
        raise
    except (OSError, ValueError) as error:
        raise UrdfError(f"the URDF file {name!r} cannot be read: {error}") from None


def _check_maxima(maxima: Mapping[str, Mapping[str, float]], robot: Element) -> None:
    movable = [joint.attrib["name"] for joint in robot.iterfind("joint") if joint.get("type") in MOVABLE]
    for quantity, limits in maxima.items():
        for joint, value in limits.items():
            if joint not in movable:
                raise JointNotFound(joint, movable)
            if not (isinstance(value, Real) and 0.0 < value <= sys.float_info.max):
                found = f"{quantity}_limits of joint {joint!r} is {value!r}"
                raise UrdfError(f"{found}, allowed is a finite number above 0")


def _normalise(robot: Element, maxima: Mapping[str, Mapping[str, float]]) -> None:
    """Write out what the parsers would guess differently."""
    for link in robot.iterfind("link"):
        _remove(link, [part for part in link.iterfind("inertial") if is_massless(part)])
    _remove(robot, [material for material in robot.iterfind("material") if not len(material)])
    for joint in robot.iterfind("joint"):
        if joint.get("type") in MOVABLE:
            _normalise_axis(joint)
            _normalise_limit(joint, maxima)
        else:
            _remove(joint, [part for part in joint if part.tag not in ("origin", "parent", "child")])


def _normalise_axis(joint: Element) -> None:
    """Give the axis unit length; the format's default is x."""
    axis = joint.find("axis")
    if axis is None:
        axis = ElementTree.SubElement(joint, "axis", xyz="1 0 0")
    xyz = numbers(axis, "xyz") or (1.0, 0.0, 0.0)
    scale = max(map(abs, xyz))
    length = sum((x / scale) ** 2 for x in xyz) ** 0.5
    if abs(scale * length - 1.0) > 1e-15:
        axis.set("xyz", " ".join(repr(x / scale / length) for x in xyz))


def _normalise_limit(joint: Element, maxima: Mapping[str, Mapping[str, float]]) -> None:
    """Write the maxima that were given; a continuous joint has no range."""
    limit = joint.find("limit")
    if limit is None:
        limit = ElementTree.SubElement(joint, "limit")
    for quantity, limits in maxima.items():
        if joint.attrib["name"] in limits:
            limit.set(quantity, repr(float(limits[joint.attrib["name"]])))
    if joint.get("type") == "continuous":
        limit.attrib.pop("lower", None)
        limit.attrib.pop("upper", None)


def _remove(element: Element, children: list[Element]) -> None:
    for child in children:
        element.remove(child)


def _write(robot: Element) -> str:
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode")
