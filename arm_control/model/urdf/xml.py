"""Safe reading of a URDF's XML, and the core of the format: its elements, their attributes and children.

Robotics libraries trust their input: one expands XML entities, another recurses along the chain of links until the
process crashes. Therefore expat reads the XML here first, with limits. Everything outside core URDF (``<gazebo>``,
``<transmission>``, ``<mujoco>``, comments, unknown attributes) is dropped: neither checked nor passed on.
:mod:`arm_control.model.urdf.checks` checks the values.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from arm_control.exceptions import UrdfError
from arm_control.maths import Pose, rotation_from_rpy

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_ELEMENTS = 20_000
PARTS_DEPTH = 2
"""Depth of links and joints."""
MAX_LINKS = 500  # parsers recurse along the chain: a chain of a few thousand links crashes the process

MOVABLE = ("revolute", "continuous", "prismatic")
"""Types of joints that move."""

# Core URDF: an element, its @attributes (#n: n numbers) and children; !: required, *: may repeat.
_CORE = """
robot @name! link* joint* material*
link @name inertial visual* collision*
joint @name @type origin parent! child! axis limit dynamics mimic safety_controller
origin @xyz#3 @rpy#3
parent @link!
child @link!
axis @xyz#3
limit @lower#1 @upper#1 @effort#1 @velocity#1
dynamics @damping#1 @friction#1
mimic @joint! @multiplier#1 @offset#1
safety_controller @k_velocity#1! @k_position#1 @soft_lower_limit#1 @soft_upper_limit#1
inertial origin mass! inertia!
mass @value#1!
inertia @ixx#1! @ixy#1! @ixz#1! @iyy#1! @iyz#1! @izz#1!
visual origin geometry! material
collision origin geometry!
geometry box cylinder sphere mesh
box @size#3!
cylinder @radius#1! @length#1!
sphere @radius#1!
mesh @filename! @scale#3
material @name! color texture
color @rgba#4!
texture @filename!
"""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class _Part(NamedTuple):
    """An attribute or child of an element, with its count of numbers (0: text)."""

    is_attribute: bool
    n_numbers: int
    is_required: bool
    may_repeat: bool


def _parts(entries: str) -> dict[str, _Part]:
    matches = re.findall(r"(@?)(\w+)(?:#(\d))?([!*]?)", entries)
    return {name: _Part(at == "@", int(n or 0), mark == "!", mark == "*") for at, name, n, mark in matches}


CORE = {line.split()[0]: _parts(line.partition(" ")[2]) for line in _CORE.strip().splitlines()}
XACRO = ("arg", "attribute", "call", "element", "if", "include", "insert_block", "macro", "property", "unless")
"""Elements of xacro's own language: with one of them a file is a program; any other is a call that nobody defines."""
INERTIA = tuple(CORE["inertia"])
"""Attributes of ``<inertia>``: the upper triangle, row by row."""


def read_robot(text: str) -> Element:
    """Read a URDF's XML safely and keep the core of the format; the values are not checked.

    Raises
    ------
    UrdfError
        The XML is too large, nested too deep, not well-formed or not a robot, or contains a DTD or xacro.
    """
    return read_robot_and_calls(text)[0]


def read_robot_and_calls(text: str) -> tuple[Element, list[tuple[str, str]]]:
    """Return the same, and calls of xacro macros that an expansion has left: the place of each, and its tag."""
    data = text.encode(errors="surrogatepass")
    if len(data) > MAX_BYTES:
        raise UrdfError(f"the URDF has {len(data)} bytes; allowed: {MAX_BYTES}")
    reader = _Reader()
    root = reader.read(data)
    if root.tag != "robot":
        raise UrdfError(f"the root element is {quote(root.tag)}; allowed: 'robot'")
    robot = _core(root)
    n_links = len(robot.findall("link"))
    if n_links > MAX_LINKS:
        raise UrdfError(f"the robot has {n_links} links; allowed: {MAX_LINKS}")
    return robot, reader.calls


class _Reader:
    """Builds the elements from expat's events, up to the first event that is not allowed."""

    def __init__(self) -> None:
        self._builder = TreeBuilder()
        self._depth = 0
        self._n_elements = 0
        self._place = ""
        self.calls: list[tuple[str, str]] = []
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.StartDoctypeDeclHandler = self._refuse_dtd
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise UrdfError(f"the XML is not well-formed: {error}") from None
        return self._builder.close()

    def _refuse_dtd(self, *_: object) -> NoReturn:
        raise UrdfError("the XML has a document type (DTD), which could define entities; allowed: no DTD")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._n_elements += 1
        if self._depth > MAX_DEPTH:
            raise UrdfError(f"the elements nest deeper than {MAX_DEPTH} levels")
        if self._n_elements > MAX_ELEMENTS:
            raise UrdfError(f"the XML has more than {MAX_ELEMENTS} elements")
        if self._depth <= PARTS_DEPTH:
            self._place = f"{tag} {quote(attributes.get('name'))}"
        prefix, _, name = tag.partition(":")
        if prefix == "xacro" and name in XACRO:
            raise UrdfError(f"the XML contains the xacro element {quote(tag)}; expand it to plain URDF first")
        if prefix == "xacro":
            self.calls.append((self._place if self._depth > PARTS_DEPTH else "robot", tag))
        self._builder.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self._builder.end(tag)


def _core(element: Element) -> Element:
    attributes = [name for name, part in CORE[element.tag].items() if part.is_attribute]
    copy = Element(element.tag, {name: value for name, value in element.items() if name in attributes})
    children = CORE[element.tag].keys() - attributes
    copy.extend(_core(child) for child in element if child.tag in children)
    return copy


def numbers(element: Element | None, attribute: str) -> tuple[float, ...] | None:
    """Return the numbers of an attribute.

    None when the element or the attribute is missing, or is not the right count of finite decimal numbers.
    """
    if element is None or attribute not in element.attrib:
        return None
    words = [word for word in element.attrib[attribute].split(" ") if word]
    if len(words) != CORE[element.tag][attribute].n_numbers or not all(map(_NUMBER.fullmatch, words)):
        return None
    values = tuple(map(float, words))
    return values if all(map(math.isfinite, values)) else None  # 1e999 is inf


def number(element: Element | None, attribute: str) -> float | None:
    """Return the single number of an attribute, or None: see :func:`numbers`."""
    values = numbers(element, attribute)
    return None if values is None else values[0]


def quote(text: str | None) -> str:
    """Quote a file's text for a message, cut to 60 characters."""
    text = text or ""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def pose_in(element: Element) -> Pose:
    """Return the pose that the ``<origin>`` of an element states; what is missing is zero."""
    xyz, rpy = (numbers(element.find("origin"), name) or (0.0, 0.0, 0.0) for name in ("xyz", "rpy"))
    return Pose(rotation_from_rpy(rpy), np.array(xyz, dtype=float))


def is_massless(inertial: Element) -> bool:
    """Whether mass [kg] and inertia [kg m^2] are all stated and all zero."""
    values = [number(inertial.find("mass"), "value")]
    values += [number(inertial.find("inertia"), name) for name in INERTIA]
    return all(value == 0.0 for value in values)


def principal_moments(inertia: Element | None) -> list[float] | None:
    """Principal moments of inertia [kg m^2], ascending; None when an entry is missing."""
    values = [number(inertia, name) for name in INERTIA]
    entries = [value for value in values if value is not None]
    if len(entries) < len(INERTIA):
        return None
    xx, xy, xz, yy, yz, zz = entries
    moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return [float(moment) for moment in moments]


# -- form ----------------------------------------------------------------------------------------------


def form_defects(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the defects of form of an element and of everything in it: what is wrong, and what is allowed."""
    for part in element.iter():
        yield from _element_defects(part)


def _element_defects(element: Element) -> Iterator[tuple[str, str]]:
    children = Counter(child.tag for child in element)
    for name, part in CORE[element.tag].items():
        if part.is_required and name not in element.attrib and name not in children:
            yield f"<{element.tag}> has no {name}", "which is required"
        if children[name] > 1 and not part.may_repeat:
            yield f"<{element.tag}> has {children[name]} <{name}>", "allowed: one"
        if part.n_numbers and name in element.attrib:
            yield from _number_defects(element, name, part.n_numbers)


def _number_defects(element: Element, name: str, count: int) -> Iterator[tuple[str, str]]:
    values = numbers(element, name)
    what = f"<{element.tag} {name}> is {quote(element.get(name))}"
    if values is None:
        yield what, f"allowed: {count} finite decimal number(s)"
    elif element.tag in ("box", "cylinder", "sphere") and min(values) <= 0:
        yield what, "allowed: more than 0 m"
    elif element.tag == "dynamics" and min(values) < 0:
        yield what, "allowed: 0 or more"
