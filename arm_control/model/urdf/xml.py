"""Safe reading of a URDF's XML, and the core of the format: its elements, their attributes and children.

Robotics libraries trust their input: one expands XML entities, another recurses along the chain of links until the
process crashes. Therefore expat reads the XML here first, with limits. Everything outside core URDF (``<gazebo>``,
``<transmission>``, ``<mujoco>``, comments, unknown attributes) is dropped: neither checked nor passed on.
:mod:`arm_control.model.urdf.checks` checks the values.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from arm_control.exceptions import UrdfError

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_ELEMENTS = 20_000
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


def read_robot(text: str) -> Element:
    """Read a URDF's XML safely and keep the core of the format.

    Parameters
    ----------
    text : str
        The XML.

    Returns
    -------
    Element
        The ``<robot>`` with the elements and attributes of core URDF; its values are not checked.

    Raises
    ------
    UrdfError
        The XML is too large, nested too deep, not well-formed or not a robot, or contains a DTD or xacro.
    """
    data = text.encode(errors="surrogatepass")
    if len(data) > MAX_BYTES:
        raise UrdfError(f"the URDF has {len(data)} bytes; allowed: {MAX_BYTES}")
    root = _Reader().read(data)
    if root.tag != "robot":
        raise UrdfError(f"the root element is {quote(root.tag)}; allowed: 'robot'")
    robot = _core(root)
    n_links = len(robot.findall("link"))
    if n_links > MAX_LINKS:
        raise UrdfError(f"the robot has {n_links} links; allowed: {MAX_LINKS}")
    return robot


class _Reader:
    """Builds the elements from expat's events, up to the first event that is not allowed."""

    def __init__(self) -> None:
        self._builder = TreeBuilder()
        self._depth = 0
        self._n_elements = 0
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
        if tag.startswith("xacro:"):
            raise UrdfError(f"the XML contains the xacro element {quote(tag)}; expand it to plain URDF first")
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

    Parameters
    ----------
    element : Element or None
        An element of core URDF.
    attribute : str
        Name of an attribute that holds numbers.

    Returns
    -------
    tuple of float or None
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
    """Return the single number of an attribute, or None.

    Parameters
    ----------
    element, attribute
        As for :func:`numbers`.
    """
    values = numbers(element, attribute)
    return None if values is None else values[0]


def quote(text: str | None) -> str:
    """Quote a file's text for a message, cut to 60 characters."""
    text = text or ""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def printable(text: str) -> str:
    """Escape characters that a terminal interprets: control characters, line breaks, changes of direction."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
