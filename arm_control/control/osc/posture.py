"""The posture task: what the joints do where no task needs them, and how joints near a limit are spared.

For each joint, with its limits q_min, q_max and the width d of the zone before them, ``d = min(joint_limit_zone, 0.2
(q_max - q_min))`` [rad or m],

    (1)  x = max(1 - (q - q_min) / d, 0),   y = max(1 - (q_max - q) / d, 0)          depth in the two zones, 0 to 1 [-]
    (2)  a_spring = kp_posture e_q + kp_joint_limits d (x^2 - y^2),   e_q = q_posture - q      [rad/s^2 or m/s^2]
    (3)  a_damper = -kv_posture v                                                              [rad/s^2 or m/s^2]
    (4)  M_w = M + diag(M_ii w z^2 / (1 - z)^2),   z = min(max(x, y), 1)                       [kg m^2 or kg]

(2): the gains are [1/s^2]; ``e_q`` is 0 for joints that are not among ``posture_joints``, and the short way round for
continuous joints, which have no zones. (3): kv_posture [1/s]. (4): with the weight w = ``joint_limit_weight`` a joint
near its limit counts as heavier, so that an arm with joints to spare uses others. An inverse that is exact stays exact
whatever its weight, so the task does not feel it. ``1 - z`` counts as 0.2 at least, so that M_w stays finite.

Source: T. Chan, R. Dubey, "A weighted least-norm solution based scheme for avoiding joint limits for redundant joint
manipulators", 1995, for the idea of (4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from arm_control.control.osc.osc_parameters import Gains
from arm_control.maths import Array, Scalar, maximum, minimum, nearest
from arm_control.model import RobotModel, Terms

SMALLEST_REMAINDER = 0.2
"""Lower bound of ``1 - z`` in equation (4); keeps the weight finite."""
LARGEST_ZONE = 0.2
"""Largest zone, as a share of the joint's range."""


class JointBounds(NamedTuple):
    """Bounds of the joints, shape (n,) each: speed [rad/s or m/s] and position [rad or m]; infinite for none."""

    v_max: Array
    q_min: Array
    q_max: Array

    @classmethod
    def of(cls, model: RobotModel) -> JointBounds:
        """Return those of an arm."""
        return cls(model.v_max, model.q_min, model.q_max)


LimitZone: TypeAlias = tuple[Scalar, Scalar, Scalar]
"""Depth of a joint in the zones of its lower and upper limit, x and y of equation (1) [-]; width d [rad or m]."""


def limit_zones(q: Array, gains: Gains, limits: JointBounds) -> list[LimitZone]:
    """Depth of each joint in the zones of its limits, equation (1)."""
    zones = []
    for q_i, q_min, q_max in zip(q, limits.q_min, limits.q_max, strict=True):
        if np.isfinite(q_max):
            d = minimum(gains.joint_limit_zone, LARGEST_ZONE * float(q_max - q_min))
            x = maximum(1.0 - (q_i - q_min) / d, 0.0)
            y = maximum(1.0 - (q_max - q_i) / d, 0.0)
            zones.append((x, y, d))
        else:
            zones.append((0.0, 0.0, 1.0))
    return zones


def posture_acceleration(
    terms: Terms, gains: Gains, limits: JointBounds, zones: Sequence[LimitZone]
) -> tuple[Array, Array]:
    """``a_spring`` and ``a_damper`` of equations (2) and (3), shape (n,) each [rad/s^2 or m/s^2].

    Parameters
    ----------
    limits : JointBounds
        Joints without limits of position are continuous.
    """
    e_q = gains.posture - terms.q
    turns = [nearest(e_i / math.tau) if np.isinf(q_max) else 0.0 for e_i, q_max in zip(e_q, limits.q_max, strict=True)]
    e_q = gains.pulled * (e_q - math.tau * np.array(turns))
    repulsion = [d * (x * x - y * y) for x, y, d in zones]
    a_spring = gains.kp_posture * e_q + gains.kp_joint_limits * np.array(repulsion)  # (2)
    return a_spring, -gains.kv_posture * terms.v  # (3)


def weighted_mass_matrix(M: Array, gains: Gains, zones: Sequence[LimitZone]) -> Array:
    """``M_w`` of equation (4), shape (n, n) [kg m^2 or kg]."""
    extra = []
    for M_ii, (x, y, _) in zip(M.diagonal(), zones, strict=True):
        z = minimum(maximum(x, y), 1.0)
        remainder = maximum(1.0 - z, SMALLEST_REMAINDER)
        extra.append(M_ii * gains.joint_limit_weight * (z * z) / (remainder * remainder))
    return M + np.diag(np.array(extra))  # (4)
