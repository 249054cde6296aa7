"""Mass and inertia of a link, as its XML states them."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from arm_control.model.urdf.xml import CORE, number

INERTIA = tuple(CORE["inertia"])
"""Attributes of ``<inertia>``."""


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
