"""The shape of an arm: capsules on links, balls around them, and how fast joints change the distance of a link.

Everything that measures an arm takes its capsules from here: avoidance, contact monitor, and checks of motions.

The distance of a capsule from anything is that of its segment, less its radius. A joint j that turns by dq moves no
point of the segment further than reach_j |dq|, where reach_j is the largest distance of the joint's axis from an end of
the segment, in any posture. From an end inwards, a ball of radius rho around c, at first the end itself, seen from the
body that joint j carries, with c_xy the part of c across the axis z:

    (1)  reach_j = |c_xy| + rho,       then the ball around all turned balls:  c <- (0, 0, c_z),  rho <- reach_j,

seen from the body before. A prismatic joint has reach 1; the ball grows by half of its travel.

Between two links it does not matter which of them moves: seen from link g, joint j moves link h, seen from link h it
moves link g. Their distance changes by the smaller one of both:

    (2)  reach_j = min(reach_j of g, reach_j of h)

Source for (1): F. Schwarzer, M. Saha, J.-C. Latombe, "Adaptive dynamic collision checking for single and multiple
articulated robots in complex environments", IEEE Trans. Robotics 21 (2005), section IV.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arm_control.collision.obstacle_rows import LARGEST_LINK
from arm_control.exceptions import FrameNotFound, ModelError
from arm_control.maths import Array, Pose, Scalar, squared_between_segments
from arm_control.model import Body, LinkCapsule, RobotModel, State, Tree, link_capsules, mesh_excesses

WORLD = -1
"""Number of the body that everything else moves against."""


def joint_reach(tree: Tree, travel: Array, body: int, point: Array, other: int = WORLD) -> Array:
    """Largest distance of a body's point from the axis of each joint between two, in any posture (n_bodies,) [m].

    It is 1 for a prismatic joint, 0 for a joint that is not between the bodies; -1 is the world. Travel (n, 2) is the
    limits of the joint positions [rad or m], the point (3,) in the body's frame [m].

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("planar2"))
    >>> travel = np.stack([model.q_min, model.q_max], axis=1)
    >>> joint_reach(model.tree, travel, 1, np.array([0.5, 0.0, 0.0])).round(6).tolist()
    [0.81, 0.5]
    """
    reach = np.zeros(len(tree.bodies))
    of_body, of_other = tree.path(body), tree.path(other)
    centre, radius = point, 0.0  # of the ball with all places of the point
    for k in of_body:
        if k not in of_other:
            joint = tree.bodies[k]
            reach[k], centre, radius = _across(joint, travel, centre, radius, 1.0)
            centre = joint.X_PJ.R @ centre + joint.X_PJ.p
    for k in reversed(of_other):
        if k not in of_body:
            joint = tree.bodies[k]
            centre = joint.X_PJ.R.T @ (centre - joint.X_PJ.p)
            reach[k], centre, radius = _across(joint, travel, centre, radius, -1.0)
    return reach


def _across(joint: Body, travel: Array, centre: Array, radius: float, direction: float) -> tuple[float, Array, float]:
    """Equation (1): the reach of one joint, and the ball on its other side, outwards where the direction is -1."""
    x, y, z = centre
    if not joint.is_prismatic:
        reach = radius + float(np.hypot(x, y))
        return reach, np.array([0.0, 0.0, z]), reach
    low, high = sorted(travel[joint.coordinate] * joint.ratio + joint.offset)
    middle = (low + high) / 2.0 if np.isfinite(low + high) else 0.0
    return 1.0, np.array([x, y, z + direction * middle]), radius + (high - low) / 2.0


def point_reach(model: RobotModel, body: int, point: Array, other: int = WORLD) -> Array:
    """:func:`joint_reach` within the limits of an arm's joint positions."""
    travel = np.stack([model.q_min - SLIDING_TOLERANCE, model.q_max + SLIDING_TOLERANCE], axis=1)
    return joint_reach(model.tree, travel, body, point, other)


def by_coordinate(tree: Tree, reach: Array) -> Array:
    """What a motion of each body's joint brings about, shape (n_bodies,), per motion of the arm's joints, (n,)."""
    result = np.zeros(tree.n)
    for body, distance in zip(tree.bodies, reach, strict=True):
        result[body.coordinate] += abs(body.ratio) * distance
    return result


def turning(tree: Tree, bodies: Container[int]) -> Array:
    """Angle that the joints of some bodies turn by per motion of the arm's joints, shape (n,)."""
    return by_coordinate(tree, np.array([k in bodies and not x.is_prismatic for k, x in enumerate(tree.bodies)], float))


BALL_STEPS = 2000
"""Steps of the search for a small ball around a link."""
SLIDING_TOLERANCE = 1e-6
"""How far a prismatic joint may be beyond its limits [m]: rounding, for which the reach of other joints has room."""
CLUSTER = 4
"""Most capsules of a link that share a ball of their own."""


STILL, LEAST_STILL = 1e-9, 1e-6
"""A reach that counts as none, and what a distance that does not change is above the margin at least [m]."""


class Cluster(NamedTuple):
    """Capsules next to each other on one body, and a ball around them.

    Attributes
    ----------
    capsules : tuple of LinkCapsule
        In the frame of the body, as is the centre of the ball [m].
    """

    body: int
    capsules: tuple[LinkCapsule, ...]
    centre: Array
    radius: float

    @property
    def segment_radius(self) -> float:
        """Largest distance of the capsules' segments from the centre [m]."""
        return max(float(np.linalg.norm(end - self.centre)) for c in self.capsules for end in (c.a, c.b))


@dataclass(frozen=True)
class LinkShape:
    """The capsules of one link.

    Attributes
    ----------
    whole : Cluster
        All its capsules; those of a ball have a segment without length.
    reach : ndarray, shape (n_bodies,)
        Largest distance of the segments in its capsules from the axis of each body's joint [m]; 1 for a prismatic
        joint, 0 where the joint does not carry the link.
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
    capsules : sequence of LinkCapsule, optional
        By default capsules around the collision shapes of the URDF. A grasped object is a capsule more.
    is_partial : bool
        Whether collision shapes that cannot be read are left out, and links without a known reach are allowed; else
        both are errors.

    Attributes
    ----------
    capsules, in_bodies : tuple of LinkCapsule
        All capsules, in the frames of their links and of the bodies that carry these.
    bodies : tuple of int
        The body of each capsule; -1 for the world.
    notes : tuple of str
        Collision shapes that are left out, with the reason of each.
    is_described : bool
        Whether the capsules are those around the shapes of the URDF.

    Raises
    ------
    ModelError
        When no link has a shape, a collision shape cannot be read, a capsule has numbers that cannot be checked, or a
        joint that turns carries a prismatic joint without limits.
    FrameNotFound
        When a capsule is on a link that the arm does not have.
    """

    def __init__(
        self,
        model: RobotModel,
        capsules: Sequence[LinkCapsule] | None = None,
        is_partial: bool = False,
    ) -> None:
        self.model, self.notes = model, ()  # type: RobotModel, tuple[str, ...]
        self.is_described = capsules is None
        if capsules is None:
            capsules, self.notes = link_capsules(model.urdf)
        if self.notes and not is_partial:
            raise ModelError(f"the shape of '{model.urdf.robot.name}' is not complete: {'; '.join(self.notes)}")
        for c in capsules:
            if not (np.abs([*c.a, *c.b, c.radius]) <= LARGEST_LINK).all() or c.radius < 0.0:
                raise ModelError(
                    f"capsule of '{c.link}': ends {c.a} and {c.b}, radius {c.radius}; needed are finite numbers up to"
                    f" {LARGEST_LINK:g} m, and a radius of 0 or more"
                )
        if unknown := [c.link for c in capsules if c.link not in model.tree.frames]:
            raise FrameNotFound(unknown[0], model.frames)
        self.capsules = tuple(capsules)
        self.names = tuple(dict.fromkeys(c.link for c in capsules))
        self.bodies = tuple(model.tree.frames[c.link].body for c in capsules)
        self.in_bodies = tuple(self._in_body(c) for c in capsules)
        if not is_partial:
            _ = self.links

    def _in_body(self, c: LinkCapsule) -> LinkCapsule:
        X = self.model.tree.frames[c.link].X_BF
        return LinkCapsule(c.link, X.R @ c.a + X.p, X.R @ c.b + X.p, float(c.radius))

    @cached_property
    def links(self) -> tuple[LinkShape, ...]:
        """The links with a shape, with their balls and reaches."""
        if not self.names:
            notes = "; ".join(self.notes) or "none"
            raise ModelError(f"'{self.model.urdf.robot.name}' has no collision shapes: {notes}")
        return tuple(self._link(name) for name in self.names)

    def _link(self, name: str) -> LinkShape:
        tree = self.model.tree
        body, local = tree.frames[name].body, tuple(c for c in self.in_bodies if c.link == name)
        reach = self._largest_reach(body, local)
        if not np.isfinite(reach).all():
            joints = [body.name for body in tree.bodies if body.is_prismatic]
            raise ModelError(f"prismatic joints {', '.join(joints)}: limits are needed, to know how far '{name}' moves")
        return LinkShape(name, _cluster(body, local), tuple(_clusters(body, local)), reach)

    def _largest_reach(self, body: int, capsules: tuple[LinkCapsule, ...], other: int = WORLD) -> Array:
        """Reach of the joints between two bodies for capsules on the first one, shape (n_bodies,) [m]."""
        ends = [end for c in capsules for end in (c.a, c.b)]
        return np.max([point_reach(self.model, body, end, other) for end in ends], axis=0)

    @cached_property
    def excesses(self) -> dict[str, float]:
        """Of links with meshes: how far their capsules are outside of these at most [m]."""
        return mesh_excesses(self.model.urdf) if self.is_described else {}

    @cached_property
    def _link_bodies(self) -> list[int]:
        """The body of each link."""
        return [self.model.tree.frames[name].body for name in self.names]

    @property
    def moving(self) -> list[int]:
        """Numbers of the links that move."""
        return [k for k, body in enumerate(self._link_bodies) if body >= 0]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Numbers of two links that are not fixed to each other."""
        bodies = self._link_bodies
        return tuple((g, h) for g, h in combinations(range(len(bodies)), 2) if bodies[g] != bodies[h])

    def names_of(self, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[str, str], ...]:
        """Names of the links of pairs."""
        return tuple((self.names[g], self.names[h]) for g, h in pairs)

    def are_neighbours(self, g: int, h: int) -> bool:
        """Whether one joint connects the links with these numbers."""
        parents = [*(body.parent for body in self.model.tree.bodies), -2]
        a, b = self._link_bodies[g], self._link_bodies[h]
        return parents[a] == b or parents[b] == a

    def has_mesh(self, *links: int) -> bool:
        """Whether one of the links with these numbers has a mesh in the URDF."""
        shapes = (collision for k in links for collision in self.model.urdf.robot.link_map[self.names[k]].collisions)
        return any(type(collision.geometry).__name__ == "Mesh" for collision in shapes)

    def reach(self, k: int) -> Array:
        """How much a link's distance changes at most per motion of each joint, shape (n,) [m/rad or 1]."""
        return by_coordinate(self.model.tree, self.links[k].reach)

    def moving_clusters(self, g: int, h: int, margin: float = 0.0) -> tuple[tuple[Cluster, ...], tuple[Cluster, ...]]:
        """Clusters of two links without capsules that keep a distance above a margin [m] from all of the other link.

        Such as balls on the axes of the joints between the links. Where all capsules do, none is left out.
        """
        one, other = self._touching_capsules(g, h, margin), self._touching_capsules(h, g, margin)
        if not one or not other:
            return self.links[g].clusters, self.links[h].clusters
        return tuple(_clusters(self.links[g].body, one)), tuple(_clusters(self.links[h].body, other))

    def _touching_capsules(self, g: int, h: int, margin: float) -> tuple[LinkCapsule, ...]:
        """Capsules of link g whose distance from some of link h can change, or is not above the margin."""
        one, other = self.links[g].whole, self.links[h].whole
        of_other = [self._largest_reach(other.body, (c,), one.body) for c in other.capsules]
        X_one, X_other = (self._pose_at_zero(body) for body in (one.body, other.body))

        def touches(capsule: LinkCapsule) -> bool:
            own = self._largest_reach(one.body, (capsule,), other.body)
            moves = any(np.minimum(own, reach).sum() > STILL for reach in of_other)
            return moves or _distance(X_one, capsule, X_other, other.capsules) <= margin + LEAST_STILL

        return tuple(filter(touches, one.capsules))

    def _pose_at_zero(self, body: int) -> Pose:
        """Pose of a body where all joint positions are 0; -1 for the world."""
        if body < 0:
            return Pose.identity()
        return State(self.model.tree, {"q": np.zeros(self.model.nq)}).X_W[body]

    def acceleration(self, k: int, moved: Array) -> Scalar:
        """Largest acceleration of a link's segments in a motion at constant joint velocities, in any posture [m].

        The joints move so far, shape (n,), 0 or more [rad or m]; the motion takes a time of 1.
        """
        total, inner = 0.0, 0.0  # type: Scalar, Scalar
        for b in reversed(self.model.tree.path(self.links[k].body)):
            body = self.model.tree.bodies[b]
            x = abs(body.ratio) * moved[body.coordinate]
            total = total + self.links[k].reach[b] * x * (x + 2.0 * inner)
            inner = inner + x
        return total

    def pair_reach(self, g: int, h: int) -> Array:
        """How much the distance of two links changes at most per motion of each joint, shape (n,) [m/rad or 1].

        Only joints between them count.
        """
        one, other = self.links[g].whole, self.links[h].whole
        reach_of_one = self._largest_reach(one.body, one.capsules, other.body)
        return by_coordinate(
            self.model.tree, np.minimum(reach_of_one, self._largest_reach(other.body, other.capsules, one.body))
        )

    def turning(self, g: int, h: int | None = None) -> Array:
        """Angle by which each joint turns link g against link h, or the world, per motion of the joint, shape (n,)."""
        tree, of_other = self.model.tree, [] if h is None else self.model.tree.path(self._link_bodies[h])
        return turning(tree, set(tree.path(self._link_bodies[g])) ^ set(of_other))

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
    centre, radius = _ball(ends.tobytes(), tuple(c.radius for c in capsules))
    return Cluster(body, capsules, np.array(centre), radius)


@lru_cache(maxsize=10_000)
def _ball(ends: bytes, radii: tuple[float, ...]) -> tuple[tuple[float, ...], float]:
    """The ball around capsules; links, clusters and every object of an arm ask for the same ones."""
    centre, radius = enclosing_ball(np.frombuffer(ends).reshape(-1, 3), np.repeat(radii, 2))
    return tuple(centre.tolist()), radius


def _distance(X_one: Pose, capsule: LinkCapsule, X_other: Pose, others: Sequence[LinkCapsule]) -> float:
    """Smallest distance of a capsule from others [m]."""
    a, b = (X_one.R @ end + X_one.p for end in (capsule.a, capsule.b))
    squares = [
        squared_between_segments(a, b, X_other.R @ other.a + X_other.p, X_other.R @ other.b + X_other.p)
        for other in others
    ]
    return min(
        float(np.sqrt(square)) - capsule.radius - other.radius for square, other in zip(squares, others, strict=True)
    )


def _clusters(body: int, capsules: tuple[LinkCapsule, ...]) -> list[Cluster]:
    return [_cluster(body, group) for group in _split(capsules)]


def _split(capsules: tuple[LinkCapsule, ...]) -> list[tuple[LinkCapsule, ...]]:
    """Groups of CLUSTER capsules at most, halved along the direction in which they lie farthest apart."""
    if len(capsules) <= CLUSTER:
        return [capsules]
    middles = np.array([(c.a + c.b) / 2.0 for c in capsules])
    along = np.linalg.svd(middles - middles.mean(axis=0), full_matrices=False)[2][0]
    order = np.argsort(middles @ along, kind="stable").tolist()
    half = len(order) // 2
    return [group for part in (order[:half], order[half:]) for group in _split(tuple(capsules[k] for k in part))]


def enclosing_ball(points: Array, radii: Array) -> tuple[Array, float]:
    """A small ball around balls (m, 3), (m,) [m]: its centre (3,) moves towards the farthest in ever shorter steps.

    Examples
    --------
    >>> centre, radius = enclosing_ball(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([0.1, 0.1]))
    >>> centre.round(3).tolist(), round(radius, 3)
    ([0.5, 0.0, 0.0], 0.6)
    """
    centre = (points.min(axis=0) + points.max(axis=0)) / 2.0
    best, radius = centre, np.inf
    for k in range(BALL_STEPS):
        away = points - centre
        distances = np.sqrt((away * away).sum(axis=1)) + radii
        farthest = int(distances.argmax())
        if distances[farthest] < radius:
            best, radius = centre, float(distances[farthest])
        centre = centre + away[farthest] / (k + 2.0)
    return best, radius
