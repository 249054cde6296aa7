"""Checks of shapes and colours.

A shape that cannot be read is left out, with a warning: it moves nothing. The name of its file must not lead out of the
folders with meshes.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from arm_control.model.urdf.defects import Defect, form_defects
from arm_control.model.urdf.findings import Finding, remover
from arm_control.model.urdf.structure import label_of
from arm_control.model.urdf.xml import CORE, quote

NO_SHAPE = "shape is left out: neither drawn nor avoided"
NO_COLOUR = "colour or texture is left out"


def shape_findings(link: Element) -> Iterator[Finding]:
    """Yield the defects of a link's visual and collision shapes, and of their colours."""
    for shape in [*link.findall("visual"), *link.findall("collision")]:
        materials = shape.findall("material")
        for material in materials:
            yield from material_findings(shape, material, label_of(link))
        if len(materials) > 1:
            what = f"<{shape.tag}> has {len(materials)} <material>"
            yield Finding(label_of(link), what, "allowed: one", NO_COLOUR, False, remover(shape, *materials[1:]))
        for what, allowed in _shape_defects(shape):
            yield Finding(label_of(link), what, allowed, NO_SHAPE, False, remover(link, shape))


def material_findings(parent: Element, material: Element, place: str) -> Iterator[Finding]:
    """Yield the defects of a colour.

    Parameters
    ----------
    parent, material : Element
        The robot or a shape, and the ``<material>`` in it.
    place : str
        Name of the link or material, for the message.
    """
    for what, allowed in [*form_defects(material), *_filename_defects(material)]:
        yield Finding(place, what, allowed, NO_COLOUR, False, remover(parent, material))


def _shape_defects(shape: Element) -> Iterator[Defect]:
    for part in shape:
        if part.tag != "material":
            yield from form_defects(part)
    geometries = shape.findall("geometry")
    if not geometries:
        yield Defect(f"<{shape.tag}> has no geometry", "which is required")
    elif len(geometries) > 1:
        yield Defect(f"<{shape.tag}> has {len(geometries)} <geometry>", "allowed: one")
    for geometry in geometries:
        if len(geometry) != 1:
            yield Defect(f"<geometry> has {len(geometry)} shapes", f"allowed: one of {', '.join(CORE['geometry'])}")
        yield from _filename_defects(geometry)


def _filename_defects(element: Element) -> Iterator[Defect]:
    for part in element.iter():
        name = part.get("filename")
        if name is not None and not is_contained(name):
            yield Defect(
                f"<{part.tag} filename> is {quote(name)}", "allowed: package:// or a relative path, without '..'"
            )


def is_contained(filename: str) -> bool:
    """Whether the name of a file leads to no place outside the folders with meshes."""
    path = filename.removeprefix("package://")
    leads_out = path.startswith("/") or ".." in path.split("/") or any(c in path for c in ":\\%")
    return bool(path) and not leads_out
