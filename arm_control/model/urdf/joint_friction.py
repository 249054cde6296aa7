"""Friction and damping that a URDF states in ``<dynamics>``: what they are, and whether they look measured.

Most files have placeholders there: the same round number for every joint, often to keep another simulator quiet. So
nothing takes them without being asked, and what takes them names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.maths import Array
from arm_control.model.urdf.load import Urdf


class UrdfFriction(NamedTuple):
    """Coulomb and viscous friction of joints, shape (n,) each [N m or N], [N m s/rad or N s/m]; zero for none."""

    coulomb: Array
    viscous: Array


def friction_in(urdf: Urdf, names: Sequence[str]) -> UrdfFriction:
    """Read the friction of joints.

    Parameters
    ----------
    urdf : Urdf
        The description.
    names : sequence of str
        The joints.
    """
    dynamics = [urdf.robot.joint_map[name].dynamics for name in names]
    rows = [[getattr(entry, key, None) or 0.0 for entry in dynamics] for key in ("friction", "damping")]
    return UrdfFriction(*map(np.array, rows))


def describe_friction(friction: UrdfFriction, names: Sequence[str]) -> str:
    """Return a sentence on friction that is taken from a URDF.

    Parameters
    ----------
    friction : UrdfFriction
        The friction.
    names : sequence of str
        The joints.
    """
    if not any(row.any() for row in friction):
        return "its <dynamics> states no friction"
    joints = ", ".join(
        f"{name} {c:g} N m, {b:g} N m s/rad"
        for name, c, b in zip(names, friction.coulomb, friction.viscous, strict=True)
    )
    is_equal = len(names) > 1 and all(np.ptp(row) == 0.0 for row in friction)
    doubt = "; equal for all joints, as placeholders are" if is_equal else ""
    return f"friction of its <dynamics> counts as known: {joints}{doubt}"
