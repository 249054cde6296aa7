"""Other inertias for the links of a checked URDF: a payload at one of them, or what was identified."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from arm_control.exceptions import ModelError
from arm_control.maths import Array, Pose, rotation_from_rpy
from arm_control.model.spatial_vectors import Inertia
from arm_control.model.urdf.load import Urdf, parse, write
from arm_control.model.urdf.xml import number, numbers, read_robot

MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Attributes of ``<inertia>``: the upper triangle, row by row."""

ROUNDING = 1e-12
"""Entries of an inertia about the centre of mass that are smaller, relative to that about the frame, are 0.

MuJoCo refuses them, and takes none."""


def with_payload(urdf: Urdf, link: str, mass: float, centre: Sequence[float]) -> Urdf:
    """Return the robot with a point mass at a link.

    Parameters
    ----------
    urdf : Urdf
        The robot.
    link : str
        Name of the link.
    mass : float
        Mass [kg]; 0 for the robot as it is.
    centre : sequence of float, shape (3,)
        Centre of mass in the link's frame [m].

    Raises
    ------
    ModelError
        When the mass is negative, or a number is not finite.
    """
    if not (math.isfinite(mass) and mass >= 0.0) or len(centre) != 3 or not np.isfinite(centre).all():
        raise ModelError(f"payload of {mass!r} kg at {list(centre)}; allowed: 0 kg or more, three finite numbers")
    if mass == 0.0:
        return urdf
    element = _link(read_robot(urdf.text), link)
    point = Inertia(mass, np.zeros(3), np.zeros((3, 3))).in_parent(Pose(np.eye(3), np.array(centre, dtype=float)))
    return with_inertias(urdf, {link: inertia_in(element) + point})


def with_inertias(urdf: Urdf, inertias: Mapping[str, Inertia]) -> Urdf:
    """Return the robot with other inertias.

    Parameters
    ----------
    urdf : Urdf
        The robot.
    inertias : mapping of str to Inertia
        Mass, first and second moment about the frame of each of these links; without mass the link has none.
    """
    robot = read_robot(urdf.text)
    for name, inertia in inertias.items():
        _set(_link(robot, name), inertia)
    text = write(robot)
    return replace(parse(text), warnings=urdf.warnings)


def inertia_in(link: Element) -> Inertia:
    """Return the inertia that the XML of a link states, about the link's frame."""
    inertial = link.find("inertial")
    if inertial is None:
        return Inertia.zero()
    origin = inertial.find("origin")
    xyz, rpy = (numbers(origin, name) or (0.0, 0.0, 0.0) for name in ("xyz", "rpy"))
    J = np.zeros((3, 3))
    J[np.triu_indices(3)] = [number(inertial.find("inertia"), name) or 0.0 for name in MOMENTS]
    own = Inertia(number(inertial.find("mass"), "value") or 0.0, np.zeros(3), J + J.T - np.diag(J.diagonal()))
    return own.in_parent(Pose(rotation_from_rpy(rpy), np.array(xyz, dtype=float)))


def _link(robot: Element, name: str) -> Element:
    return next(link for link in robot.iterfind("link") if link.get("name") == name)


def _set(link: Element, inertia: Inertia) -> None:
    for old in link.findall("inertial"):
        link.remove(old)
    if not inertia.m > 0.0:
        return
    c = inertia.h / inertia.m
    J = inertia.J - inertia.m * (c @ c * np.eye(3) - np.outer(c, c))
    J = np.where(np.abs(J) < ROUNDING * np.abs(inertia.J).max(), 0.0, J)
    inertial = ElementTree.Element("inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_words(c), rpy="0 0 0")
    ElementTree.SubElement(inertial, "mass", value=repr(float(inertia.m)))
    moments = dict(zip(MOMENTS, map(repr, J[np.triu_indices(3)].tolist()), strict=True))
    ElementTree.SubElement(inertial, "inertia", moments)
    link.insert(0, inertial)


def _words(values: Array) -> str:
    return " ".join(map(repr, values.tolist()))
