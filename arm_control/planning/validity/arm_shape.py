"""The shape of an arm for collision checks: capsules on links, a ball around each link, and how far joints move them.

A joint j that turns by dq moves no point of a link further than reach_j |dq|, where reach_j is the largest distance
between the joint's axis and the link, in any posture. From the link inwards, a ball of radius rho around c, both seen
from the body that joint j carries, with c_xy the part of c across the axis z:

    reach_j = |c_xy| + rho,       then the ball around all turned balls:  c <- (0, 0, c_z),  rho <- reach_j,

seen from the body before. A prismatic joint has reach 1; the ball grows by half of its travel.

Source: F. Schwarzer, M. Saha, J.-C. Latombe, "Adaptive dynamic collision checking for single and multiple articulated
robots in complex environments", IEEE Trans. Robotics 21 (2005), section IV.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import FrameNotFound, ModelError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel
from arm_control.model.tree import Tree
from arm_control.model.urdf.capsules import LinkCapsule, link_capsules

BALL_STEPS = 2000
"""Steps of the search for a small ball around a link."""
CLUSTER = 4
"""Most capsules of a link that share a ball of their own."""


class Cluster(NamedTuple):
    """Capsules next to each other on one body, and a ball around them.

    Attributes
    ----------
    body : int
        The body; -1 for the world.
    capsules : tuple of LinkCapsule
        In its frame.
    centre : ndarray, shape (3,)
        Of the ball, in its frame [m].
    radius : float
        Of the ball [m].
    """

    body: int
    capsules: tuple[LinkCapsule, ...]
    centre: Array
    radius: float


@dataclass(frozen=True)
class LinkShape:
    """The capsules of one link.

    Attributes
    ----------
    link : str
        Its name.
    whole : Cluster
        All its capsules; those of a ball have a segment without length.
    clusters : tuple of Cluster
        The same in smaller groups.
    reach : ndarray, shape (n_bodies,)
        Largest distance of a point of the link from the axis of each body's joint [m]; 1 for a prismatic joint, 0
        where the joint does not carry the link.
    """

    link: str
    whole: Cluster
    clusters: tuple[Cluster, ...]
    reach: Array

    @property
    def body(self) -> int:
        """The body it is fixed to; -1 for the world."""
        return self.whole.body


class ArmShape:
    """The shape of an arm.

    Parameters
    ----------
    model : RobotModel
        The arm.
    capsules : sequence of LinkCapsule, optional
        Its shape; by default capsules around the collision shapes of the URDF. A grasped object is a capsule more.
    folder : Path, optional
        Folder in which relative names of mesh files start.
    is_partial : bool
        Whether collision shapes that cannot be read are left out; else they are an error.

    Attributes
    ----------
    model : RobotModel
    links : tuple of LinkShape
        The links with a shape.
    notes : tuple of str
        Collision shapes that are left out, with the reason of each.

    Raises
    ------
    ModelError
        When no link has a shape, a collision shape cannot be read, or a joint that turns carries a prismatic joint
        without limits.
    FrameNotFound
        When a capsule is on a link that the arm does not have.
    """

    def __init__(
        self,
        model: RobotModel,
        capsules: Sequence[LinkCapsule] | None = None,
        folder: Path | None = None,
        is_partial: bool = False,
    ) -> None:
        self.model, self.notes = model, ()  # type: RobotModel, tuple[str, ...]
        if capsules is None:
            capsules, self.notes = link_capsules(model.urdf, folder)
        if self.notes and not is_partial:
            raise ModelError(f"the shape of '{model.urdf.robot.name}' is not complete: {'; '.join(self.notes)}")
        if unknown := [c.link for c in capsules if c.link not in model.tree.frames]:
            raise FrameNotFound(unknown[0], model.frames)
        names = list(dict.fromkeys(c.link for c in capsules))
        if not names:
            raise ModelError(f"'{model.urdf.robot.name}' has no collision shapes: {'; '.join(self.notes) or 'none'}")
        self.links = tuple(self._link(name, [c for c in capsules if c.link == name]) for name in names)

    def _link(self, name: str, capsules: list[LinkCapsule]) -> LinkShape:
        tree, frame = self.model.tree, self.model.tree.frames[name]
        local = tuple(
            LinkCapsule(name, frame.X_BF.R @ c.a + frame.X_BF.p, frame.X_BF.R @ c.b + frame.X_BF.p, float(c.radius))
            for c in capsules
        )
        balls = [(end, c.radius) for c in local for end in (c.a, c.b)]
        travel = np.stack([self.model.q_min, self.model.q_max], axis=1)
        reach = np.max([reach_of_ball(tree, travel, frame.body, end, r) for end, r in balls], axis=0)
        if not np.isfinite(reach).all():
            joints = [body.name for body in tree.bodies if body.is_prismatic]
            raise ModelError(f"prismatic joints {', '.join(joints)}: limits are needed, to know how far '{name}' moves")
        clusters = tuple(_cluster(frame.body, group) for group in _split(local))
        return LinkShape(name, _cluster(frame.body, local), clusters, reach)

    @property
    def moving(self) -> list[int]:
        """Numbers of the links that move."""
        return [k for k, link in enumerate(self.links) if link.body >= 0]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Numbers of two links that are not fixed to each other."""
        return tuple(
            (g, h) for g, h in combinations(range(len(self.links)), 2) if self.links[g].body != self.links[h].body
        )

    def are_neighbours(self, g: int, h: int) -> bool:
        """Whether one joint connects two links.

        Parameters
        ----------
        g, h : int
            Their numbers.
        """
        parents = [*(body.parent for body in self.model.tree.bodies), -2]
        a, b = self.links[g].body, self.links[h].body
        return parents[a] == b or parents[b] == a

    def reach(self, k: int) -> Array:
        """How far a link moves at most per motion of each joint, shape (n,) [m/rad or 1].

        Parameters
        ----------
        k : int
            Number of the link.
        """
        return self._by_coordinate(self.links[k].reach)

    def pair_reach(self, g: int, h: int) -> Array:
        """How far two links move against each other per motion of each joint, shape (n,) [m/rad or 1].

        Only joints between them count.

        Parameters
        ----------
        g, h : int
            Numbers of the links.
        """
        a, b = (set(self.model.tree.path(self.links[k].body)) for k in (g, h))
        of_g, of_h = (np.isin(np.arange(len(self.model.tree.bodies)), list(own)) for own in (a - b, b - a))
        return self._by_coordinate(self.links[g].reach * of_g + self.links[h].reach * of_h)

    def _by_coordinate(self, reach: Array) -> Array:
        result = np.zeros(self.model.nq)
        for body, distance in zip(self.model.tree.bodies, reach, strict=True):
            result[body.coordinate] += abs(body.ratio) * distance
        return result

    @property
    def made_from(self) -> list[object]:
        """All numbers of the shape, for the cache's key."""
        return [
            [link.link, link.reach.tolist()]
            + [
                [
                    cluster.centre.tolist(),
                    cluster.radius,
                    [[c.a.tolist(), c.b.tolist(), c.radius] for c in cluster.capsules],
                ]
                for cluster in (link.whole, *link.clusters)
            ]
            for link in self.links
        ]


def _cluster(body: int, capsules: tuple[LinkCapsule, ...]) -> Cluster:
    ends = np.array([end for c in capsules for end in (c.a, c.b)])
    return Cluster(body, capsules, *enclosing_ball(ends, np.repeat([c.radius for c in capsules], 2)))


def _split(capsules: tuple[LinkCapsule, ...]) -> list[tuple[LinkCapsule, ...]]:
    """Groups of CLUSTER capsules at most, halved along the direction in which they lie farthest apart."""
    if len(capsules) <= CLUSTER:
        return [capsules]
    middles = np.array([(c.a + c.b) / 2.0 for c in capsules])
    along = np.linalg.svd(middles - middles.mean(axis=0), full_matrices=False)[2][0]
    order = np.argsort(middles @ along, kind="stable").tolist()
    half = len(order) // 2
    return [group for part in (order[:half], order[half:]) for group in _split(tuple(capsules[k] for k in part))]


def reach_of_ball(tree: Tree, travel: Array, body: int, centre: Array, radius: float) -> Array:
    """Largest distance of a ball's points from the axis of each joint that carries it, in any posture.

    Parameters
    ----------
    tree : Tree
    travel : ndarray, shape (n, 2)
        Limits of the joint positions [rad or m].
    body : int
        The body it is fixed to; -1 for the world.
    centre : ndarray, shape (3,)
        In the body's frame [m].
    radius : float
        [m].

    Returns
    -------
    ndarray, shape (n_bodies,)
        [m]; 1 for a prismatic joint.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("planar2"))
    >>> travel = np.stack([model.q_min, model.q_max], axis=1)
    >>> reach_of_ball(model.tree, travel, 1, np.array([0.5, 0.0, 0.0]), 0.1).round(6).tolist()
    [0.91, 0.6]
    """
    reach = np.zeros(len(tree.bodies))
    while body >= 0:
        joint = tree.bodies[body]
        if joint.is_prismatic:
            reach[body] = 1.0
            low, high = sorted(travel[joint.coordinate] * joint.ratio + joint.offset)
            centre, radius = centre + np.array([0.0, 0.0, _middle(low, high)]), radius + (high - low) / 2.0
        else:
            radius += float(np.hypot(centre[0], centre[1]))
            reach[body] = radius
            centre = np.array([0.0, 0.0, centre[2]])
        centre = joint.X_PJ.R @ centre + joint.X_PJ.p
        body = joint.parent
    return reach


def _middle(low: float, high: float) -> float:
    return (low + high) / 2.0 if np.isfinite(low + high) else 0.0


def enclosing_ball(points: Array, radii: Array) -> tuple[Array, float]:
    """A small ball around balls: its centre moves towards the farthest one, in shorter and shorter steps.

    Parameters
    ----------
    points : ndarray, shape (m, 3)
        Centres [m].
    radii : ndarray, shape (m,)
        [m].

    Returns
    -------
    centre : ndarray, shape (3,)
        [m].
    radius : float
        [m].

    Examples
    --------
    >>> centre, radius = enclosing_ball(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([0.1, 0.1]))
    >>> centre.round(3).tolist(), round(radius, 3)
    ([0.5, 0.0, 0.0], 0.6)
    """
    centre = (points.min(axis=0) + points.max(axis=0)) / 2.0
    best, radius = centre, np.inf
    for k in range(BALL_STEPS):
        distances = np.linalg.norm(points - centre, axis=1) + radii
        farthest = int(distances.argmax())
        if distances[farthest] < radius:
            best, radius = centre, float(distances[farthest])
        centre = centre + (points[farthest] - centre) / (k + 2.0)
    return best, radius
