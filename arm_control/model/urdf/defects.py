"""Form of core URDF: required and repeated parts, and the format of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from arm_control.model.urdf.xml import CORE, numbers, quote


class Defect(NamedTuple):
    """What is wrong with an element, and what is allowed; both are halves of a sentence."""

    what: str
    allowed: str


def form_defects(element: Element) -> Iterator[Defect]:
    """Yield the defects of form of an element and of everything in it."""
    for part in element.iter():
        yield from _element_defects(part)


def _element_defects(element: Element) -> Iterator[Defect]:
    children = Counter(child.tag for child in element)
    for name, part in CORE[element.tag].items():
        if part.is_required and name not in element.attrib and name not in children:
            yield Defect(f"<{element.tag}> has no {name}", "which is required")
        if children[name] > 1 and not part.may_repeat:
            yield Defect(f"<{element.tag}> has {children[name]} <{name}>", "allowed: one")
        if part.n_numbers and name in element.attrib:
            yield from _number_defects(element, name, part.n_numbers)


def _number_defects(element: Element, name: str, count: int) -> Iterator[Defect]:
    values = numbers(element, name)
    what = f"<{element.tag} {name}> is {quote(element.get(name))}"
    if values is None:
        yield Defect(what, f"allowed: {count} finite decimal number(s)")
    elif element.tag in ("box", "cylinder", "sphere") and min(values) <= 0:
        yield Defect(what, "allowed: more than 0 m")
    elif element.tag == "dynamics" and min(values) < 0:
        yield Defect(what, "allowed: 0 or more")
