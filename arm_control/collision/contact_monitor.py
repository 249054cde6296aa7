"""Distances of an arm in one state, labelled by pair, with the nearest points: link and obstacle, link and link.

The pairs of links are those that :mod:`~arm_control.collision.allowed_pairs` leaves; distances and points are
those that avoidance works with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.collision.allowed_pairs import AllowedPairs, find_allowed_pairs
from arm_control.collision.arm_shape import ArmShape
from arm_control.collision.distances import REACH
from arm_control.collision.hulls import HullObstacle
from arm_control.collision.near_pairs import Proximity
from arm_control.exceptions import InputError
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel


class Margins(NamedTuple):
    """Distances that count as contact.

    Attributes
    ----------
    obstacles, links : float
        From obstacles, and between links [m].
    """

    obstacles: float = 0.0
    links: float = 0.0


class NearPair(NamedTuple):
    """A link, and what it is near to.

    Attributes
    ----------
    link, other : str
        The link, and another link or the name of an obstacle.
    distance : float
        Between their surfaces, below zero inside [m].
    p, p_other : ndarray, shape (3,)
        Nearest points of both, in the world [m].
    is_self : bool
        Whether it is a pair of links.
    """

    link: str
    other: str
    distance: float
    p: Array
    p_other: Array
    is_self: bool

    @property
    def label(self) -> str:
        """Both names."""
        return f"{self.link} - {self.other}"

    def is_contact(self, margins: Margins) -> bool:
        """Whether it is in contact."""
        return self.distance <= (margins.links if self.is_self else margins.obstacles)


class ContactMonitor:
    """Measures the pairs of an arm that may touch each other.

    Parameters
    ----------
    allowed : AllowedPairs, optional
        Pairs of links that may touch; by default found by sampling.

    Attributes
    ----------
    link_pairs : tuple of tuple of str
        The pairs of links that are measured.
    proximity : Proximity
        Measures them, and has the capsules of the arm.

    Raises
    ------
    ModelError
        When a collision shape cannot be read, or there is none.
    ParameterError
        When an allowed pair names a link without a shape.

    Examples
    --------
    >>> from arm_control import Pose, RobotModel, urdf_path
    >>> from arm_control.maths.shapes import Sphere
    >>> monitor = ContactMonitor(RobotModel.from_urdf(urdf_path("planar2")))
    >>> (nearest, *_) = monitor.near(np.zeros(2), [Obstacle(Sphere(0.1), Pose.at([0.45, 0.2, 0.0]))])
    >>> nearest.label, round(nearest.distance, 3)
    ('link1 - obstacle 0', 0.087)
    """

    def __init__(self, model: RobotModel, allowed: AllowedPairs | None = None) -> None:
        self.model, shape = model, ArmShape(model)
        self.allowed = find_allowed_pairs(shape) if allowed is None else allowed
        self.link_pairs = shape.names_of(self.allowed.checked(shape))
        self.proximity = Proximity(model, self.link_pairs, shape)

    def near(
        self,
        q: Array,
        obstacles: Sequence[Obstacle | HullObstacle] = (),
        names: Sequence[str] = (),
        reach: float = REACH,
    ) -> list[NearPair]:
        """The pairs that are nearer than the reach, the nearest first.

        Parameters
        ----------
        q : ndarray, shape (n,)
            Joint positions [rad or m].
        names : sequence of str
            Theirs; by default ``obstacle i``.
        reach : float
            Largest distance [m].

        Raises
        ------
        InputError
            When there are not as many positions as joints, or one is not finite.
        """
        if np.shape(q) != (self.model.nq,) or not np.isfinite(q).all():
            raise InputError(f"joint positions {np.asarray(q).tolist()}: {self.model.nq} finite numbers are needed")
        pairs = self.proximity.near(q, obstacles, reach, reach)
        order = np.argsort(pairs.rho, kind="stable").tolist()
        numbers, distances = pairs.obstacle.tolist(), pairs.rho.tolist()
        others = [names[k] if names and k >= 0 else b for (_, b), k in zip(pairs.names, numbers, strict=True)]
        return [
            NearPair(pairs.names[i][0], others[i], distances[i], pairs.p[i], pairs.p_other[i], numbers[i] < 0)
            for i in order
        ]
