"""A distance that the arm keeps from obstacles, and from itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arm_control.collision import distance_rate
from arm_control.constraints.barriers import ConstraintRow, obstacle_speed
from arm_control.constraints.constraint import Constraint, Priority, motion_at, size
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, select

WITHIN = 0.3
"""Pairs that are farther apart than this beyond the distance have no rows [m]."""
WITHIN_LINKS = 0.1
"""The same between two links [m]."""


@dataclass(frozen=True)
class ClearanceConstraint(Constraint):
    """Each link keeps a distance from each obstacle, and from other links: ``h = rho - distance``.

    Each capsule of a link has a row: in motion another one becomes the nearest. Obstacles keep their velocities. The
    links' pairs are those of :class:`~arm_control.collision.Proximity`.

    Attributes
    ----------
    distance : float
        From obstacles [m].
    links : float
        Between two links [m]; 0: they keep none.
    """

    distance: float = 0.02
    links: float = 0.0
    level: Priority = field(default=Priority.CLEARANCE, kw_only=True)

    sees_obstacles = True

    @property
    def numbers(self) -> list[list[float]]:
        """Both distances."""
        links = float(self.links)
        if not 0.0 <= links < float("inf"):
            raise ParameterError(f"links is {self.links!r}; a finite number, zero or above, is needed")
        return [[size("distance", self.distance), links]]

    @property
    def reach(self) -> tuple[float, float]:
        """Distances within which pairs have rows, from obstacles and between links [m]; 0: none."""
        return self.distance + WITHIN, self.links + WITHIN_LINKS if self.links > 0.0 else 0.0


def pair_row(x: Mapping[str, Array], v: Array, v_max: Array, axes: Array, joint_coupling: Array) -> ConstraintRow:
    """Return the row of one pair of a link and an obstacle, or of two links.

    The second derivative of rho is that of the nearest points where they are now; what slides along a capsule is left
    out.

    Parameters
    ----------
    v, v_max, axes : array, shape (n,), (n,), (6, n_bodies)
        Joint velocities and their limits, and axes of the joints as factors of n and of p x n.
    joint_coupling : ndarray, shape (n_bodies, n)
        Motion of each body's joint per motion of each joint of the arm.
    """
    p = x["p"]
    J_n, rho_dot = distance_rate(x, axes, v, joint_coupling)
    drift = x["n"] @ (motion_at(x["motion"], p)[1] - motion_at(x["other"], p)[1])
    distance, links = x["distances"]
    h_dot = J_n @ v + obstacle_speed(rho_dot - J_n @ v, J_n, v_max)
    return ConstraintRow(x["rho"][0] - select(x["is_self"][0], links, distance), J_n, drift, h_dot)
