"""Checks of mass and inertia of a link.

Physically possible means a mass above 0 and principal moments of inertia I1 <= I2 <= I3 with

    I1 > 1e-12 I3                     (1)  positive definite
    I1 + I2 >= (1 - 1e-3) I3          (2)  triangle inequality, with a tolerance for rounded exports

A deviation from these two is a problem on the chain only: from (1) when it is more than the rounding of a file, from
(2) when it is more than 25 %: makers' files and identified sets go up to 23 %, and the mass matrix stays positive
definite, since (1) holds. An ``<inertial>`` of zeros is how
exporters write "no mass", and allowed. So is a point mass: a mass above 0 with an inertia of exactly six zeros.
Source: P. Wensing, S. Kim, J.-J. Slotine, IEEE RA-L 3(1), 2018, on (2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from arm_control.model.urdf.defects import Defect, form_defects
from arm_control.model.urdf.findings import Finding, remover
from arm_control.model.urdf.inertials import is_massless, principal_moments
from arm_control.model.urdf.part import Part
from arm_control.model.urdf.structure import label_of
from arm_control.model.urdf.xml import number

DEFINITE_TOLERANCE = 1e-12
"""Smallest principal moment of inertia, per largest: equation (1)."""
ROUNDING_TOLERANCE = 1e-6
"""Largest negative moment that counts as rounding, per largest moment."""
ROUNDING_LENGTH = 1e-6
"""Radius of gyration below which a negative moment counts as rounding [m]."""
TRIANGLE_TOLERANCE = 1e-3
"""Share of the largest principal moment by which it may exceed the sum of the others: equation (2)."""
PUBLISHED_TOLERANCE = 0.25
"""Such a share above which an inertia on the chain is refused."""
HEAVIEST = 1e6
"""Mass of a link above which it is no robot's [kg]."""

NO_INERTIAL = "mass or inertia is impossible, and counts as none because the arm does not move the link"
INDEFINITE = "inertia is not positive definite, and used as it is"
TRIANGLE = "largest principal moment of inertia exceeds the sum of the others, and is used as it is"


def inertial_findings(link: Element, part: Part) -> list[Finding]:
    """List the defects of a link's mass and inertia.

    Parameters
    ----------
    link : Element
        The link.
    part : Part
        The part of the robot that is controlled.
    """
    inertials = link.findall("inertial")
    defects = [Defect(f"<link> has {len(inertials)} <inertial>", "allowed: one")] if len(inertials) > 1 else []
    for inertial in inertials[:1]:
        defects += [*form_defects(inertial), *_mass_defects(inertial)]
    is_moved = link.get("name") in part.moved
    cure = remover(link, *inertials)
    if defects or not inertials:
        return [Finding(label_of(link), *defect, NO_INERTIAL, is_moved, cure) for defect in defects]
    return _moment_findings(link, inertials[0], part)


def _mass_defects(inertial: Element) -> Iterator[Defect]:
    mass = number(inertial.find("mass"), "value")
    if mass is None or is_massless(inertial):
        return
    if mass <= 0:
        yield Defect(f"mass is {mass:g} kg", "allowed: more than 0 (or no <inertial>)")
    elif mass > HEAVIEST:
        yield Defect(f"mass is {mass:g} kg", f"allowed: up to {HEAVIEST:g}")


def _moment_findings(link: Element, inertial: Element, part: Part) -> list[Finding]:
    """Check equations (1) and (2)."""
    moments = principal_moments(inertial.find("inertia"))
    if moments is None or moments == [0.0, 0.0, 0.0]:
        return []
    low, middle, high = moments
    what = f"principal moments of inertia are {low:g}, {middle:g}, {high:g} kg m^2"
    place, is_on_chain = label_of(link), link.get("name") in part.chain
    if not low > DEFINITE_TOLERANCE * high:
        mass = number(inertial.find("mass"), "value") or 0.0
        noise = max(ROUNDING_TOLERANCE * high, mass * ROUNDING_LENGTH**2)
        if link.get("name") not in part.moved:
            return [Finding(place, what, "all must be positive", NO_INERTIAL, False, remover(link, inertial))]
        is_problem = is_on_chain and not (low >= -noise and math.isfinite(high))
        return [Finding(place, what, "all must be positive", INDEFINITE, is_problem)]
    excess = 1.0 - (low + middle) / high
    if excess <= TRIANGLE_TOLERANCE:
        return []
    is_problem = is_on_chain and excess > PUBLISHED_TOLERANCE
    what = what if is_problem else f"by {100.0 * excess:.2g} % of itself"
    return [Finding(place, what, "the largest must not exceed the sum of the others", TRIANGLE, is_problem)]
