"""The arm at a state, and its distances from the rows of obstacle tables and between links, over any scalar.

Each function is the text for one kind of obstacle; compiled, a link's numbers are constants of the program. Squared
distances of a ball's centre decide which pairs may be near at all.

    kind, row, t    kind of an obstacle; its numbers (:mod:`~arm_control.collision.obstacle_rows`); time    [-; -; s]
    X_WB, capsules  pose of a link's body; its capsules, in the body's frame
    p, a, b         a point; ends of a segment                                                              [m]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision.arm_shape import ArmShape, Cluster
from arm_control.collision.joint_tables import JointTable
from arm_control.collision.kept_points import KeptPoints
from arm_control.collision.obstacle_rows import (
    AXIS,
    BALL,
    BALL_RADIUS,
    CORNERS,
    MIDDLE,
    N_ROW,
    RATE,
    ROTATION,
    TIMES,
    VELOCITY,
)
from arm_control.collision.pair_distances import SEARCHED
from arm_control.maths import (
    CENTRE,
    SIZE,
    Array,
    Pose,
    Scalar,
    SignedDistance,
    clamp,
    closest_on_segment,
    cos,
    cross,
    dot,
    maximum,
    minimum,
    segment_to_shape,
    sin,
    sqrt,
    squared_between_segments,
    squared_segment_to_box,
    squared_segment_to_facet,
)
from arm_control.model import LinkCapsule, State


class Squares(NamedTuple):
    """Squared distances of segments from an obstacle's core, or from other segments.

    Attributes
    ----------
    radii : list of float
        Radius of each capsule, or of both [m].
    radius : scalar
        What is added to all of them, the radius around the obstacle's core [m].
    """

    squared: list[Scalar]
    radii: list[float]
    radius: Scalar


def in_frame(kind: str, row: Array, t: Scalar, p: Array) -> Array:
    """A point in an obstacle's frame at a time, shape (3,) [m].

    For spheres and facets the axes of this frame are those of the world at the reference time.
    """
    tau = t - row[TIMES][0]
    gap = p - row[CENTRE] - tau * row[VELOCITY]
    if kind == "sphere":
        return gap
    if kind.startswith("turning"):
        gap = _turned_back(gap, row[AXIS], row[RATE] * tau)
    if kind.endswith("facet"):
        return gap
    return row[ROTATION].reshape(3, 3).T @ gap


def _turned_back(v: Array, axis: Array, angle: Scalar) -> Array:
    """A vector, turned by an angle about a unit axis, backwards."""
    c, s = cos(angle), sin(angle)
    return c * v - s * cross(axis, v) + (1.0 - c) * dot(axis, v) * axis


def core(kind: str, row: Array, p: Array) -> tuple[Scalar, Scalar]:
    """Squared distance of a point from what an obstacle's radius is around [m^2], and that radius [m].

    A cone counts as the cylinder around it, a facet as the ball around its tetrahedron.
    """
    size = row[SIZE]
    if kind == "sphere":
        return dot(p, p), size[0]
    if kind.endswith("facet"):
        gap = p - row[BALL]
        return dot(gap, gap), row[BALL_RADIUS]
    if kind.endswith("capsule"):
        z = p[2] - clamp(p[2], -size[1], size[1])
        return p[0] * p[0] + p[1] * p[1] + z * z, size[0]
    if kind.endswith("box"):
        outside = p - clamp(p, -size, size)
        return dot(outside, outside), 0.0
    across = maximum(sqrt(p[0] * p[0] + p[1] * p[1]) - maximum(size[0], size[1]), 0.0)
    along = p[2] - clamp(p[2], -size[2], size[2])
    return across * across + along * along, 0.0


def _ends_in_frame(kind: str, row: Array, t: Scalar, X_WB: Pose, capsule: LinkCapsule) -> tuple[Array, Array]:
    """Ends of a capsule's segment in an obstacle's frame; those of a ball are one array."""
    a = in_frame(kind, row, t, X_WB.R @ capsule.a + X_WB.p)
    is_ball = (capsule.a == capsule.b).all()
    return a, a if is_ball else in_frame(kind, row, t, X_WB.R @ capsule.b + X_WB.p)


def _one_square(kind: str, row: Array, a: Array, b: Array) -> Scalar:
    size = row[SIZE]
    if kind.endswith("turned"):
        outside = maximum(_signed_distance(kind, size, a, b), 0.0)
        return outside * outside
    if kind.endswith("facet"):
        return squared_segment_to_facet(a, b, row[CORNERS].reshape(3, 3), row[MIDDLE])
    if a is b:
        return core(kind, row, a)[0]
    if kind == "sphere":
        nearest = a + closest_on_segment(np.zeros(3), a, b) * (b - a)
        return dot(nearest, nearest)
    if kind.endswith("box"):
        return squared_segment_to_box(a, b, size)
    half = np.array([0.0, 0.0, 1.0]) * size[1]
    return squared_between_segments(a, b, -half, half)


def _square_between(c: LinkCapsule, p: tuple[Array, Array], d: LinkCapsule, q: tuple[Array, Array]) -> Scalar:
    """Squared distance of two segments, in the shortest text there is for balls and capsules [m^2]."""
    c_is_ball, d_is_ball = (bool((x.a == x.b).all()) for x in (c, d))
    if not (c_is_ball or d_is_ball):
        return squared_between_segments(*p, *q)
    if not c_is_ball:
        p, q, d_is_ball = q, p, False
    gap = p[0] - q[0] if d_is_ball else p[0] - (q[0] + closest_on_segment(p[0], *q) * (q[1] - q[0]))
    return dot(gap, gap)


def clearance(squares: Squares, gap: Scalar) -> Scalar:
    """A lower bound of the distance less a gap, of the right sign, with one square root for all capsules [m].

    With the sum S of the radii and the gap, a distance D of the segments leaves ``D - S = m / (D + S)``, where
    ``m = D^2 - S^2``, and that falls with S: the smallest m and the largest S give the bound
    ``m / (sqrt(m + S^2) + S)``.
    """
    sums = [radius + squares.radius + gap for radius in squares.radii]
    m = _least([squared - S * S for squared, S in zip(squares.squared, sums, strict=True)])
    largest = max(squares.radii) + squares.radius + gap
    return m / (sqrt(maximum(m + largest * largest, 0.0)) + largest)


def _signed_distance(kind: str, size: Array, a: Array, b: Array) -> Scalar:
    """Signed distance of a segment, or of a point given twice, from a box, a cylinder or a cone in its frame [m]."""
    of_shape = SEARCHED[kind.removeprefix("turning ")]

    def of_point(p: Array) -> SignedDistance:
        return of_shape(p, size)

    return of_point(a).distance if a is b else segment_to_shape(a, b, of_point).distance


def _least(values: list[Scalar]) -> Scalar:
    """The smallest one, pairwise: a short chain."""
    while len(values) > 2:
        paired = [minimum(x, y) for x, y in zip(values[::2], values[1::2], strict=False)]
        values = paired + values[len(paired) * 2 :]
    return reduce(minimum, values)


Entries = Mapping[str, Array]


@dataclass(frozen=True)
class ArmText:
    """The arm in the laws.

    Attributes
    ----------
    pairs : tuple of tuple of int
        Numbers of the links that must not touch each other.
    link_margin : float
        Smallest distance between them that counts as free [m].
    tables : mapping of tuple of int to JointTable
        Of some of these pairs the postures in which they touch.
    kept : KeptPoints, optional
        Points that functions keep to their places.
    """

    shape: ArmShape
    pairs: tuple[tuple[int, int], ...]
    link_margin: float = 0.0
    tables: Mapping[tuple[int, int], JointTable] = field(default_factory=dict)
    kept: KeptPoints | None = None

    @property
    def moving(self) -> list[int]:
        """Numbers of the links that obstacles may touch."""
        return self.shape.moving

    def values(self, state: State) -> dict[str, Any]:
        """``poses`` of all bodies (12 each), ``centres`` of the balls around all links (3 each), and ``speeds``.

        A speed is the largest one of a point of the segments in a moving link's capsules. The state has velocities.
        """
        rates = [sqrt(dot(V.w, V.w)) for V in state.V]
        speeds = []
        for ball in (self.shape.links[k].whole for k in self.moving):
            V = state.V[ball.body]
            at_centre = V.v + cross(V.w, ball.centre)
            speeds.append(sqrt(dot(at_centre, at_centre)) + rates[ball.body] * ball.segment_radius)
        X_W = state.X_W
        poses = [entry for X in X_W for entry in (*X.R.ravel(), *X.p)]
        balls = [link.whole for link in self.shape.links]
        centres = [b.centre if b.body < 0 else X_W[b.body].R @ b.centre + X_W[b.body].p for b in balls]
        return {"poses": poses, "centres": np.ravel(centres), "speeds": speeds}

    def centre(self, x: Entries, cluster: Cluster) -> Array:
        """Centre of the ball around some capsules in the world, shape (3,) [m]."""
        for k, link in enumerate(self.shape.links):
            if link.whole is cluster:
                return x["centres"][3 * k : 3 * k + 3]
        X_WB = self.X_WB(x, cluster)
        return X_WB.R @ cluster.centre + X_WB.p

    def X_WB(self, x: Entries, cluster: Cluster) -> Pose:
        """Pose of the body that some capsules are on."""
        if cluster.body < 0:
            return Pose.identity()
        pose = x["poses"][12 * cluster.body : 12 * cluster.body + 12]
        return Pose(pose[:9].reshape(3, 3), pose[9:])

    def obstacle_is_near(self, x: Entries, kind: str, t: Scalar, cluster: Cluster, reach: Scalar) -> Scalar:
        """Above zero where the ball around capsules may be nearer to an obstacle than ``reach``, which is >= 0 [m]."""
        squared, radius = core(kind, x[kind], in_frame(kind, x[kind], t, self.centre(x, cluster)))
        within = cluster.radius + radius + reach
        return within * within - squared

    def clusters_are_near(self, x: Entries, first: Cluster, second: Cluster, reach: Scalar) -> Scalar:
        """Above zero where the balls around capsules may be nearer to each other than ``reach``, which is >= 0 [m]."""
        gap = self.centre(x, first) - self.centre(x, second)
        within = first.radius + second.radius + reach
        return within * within - dot(gap, gap)

    def obstacle_squares(self, x: Entries, kind: str, t: Scalar, cluster: Cluster) -> Squares:
        """Squared distances of the segments of capsules from an obstacle's core."""
        row, X_WB, capsules = x[kind], self.X_WB(x, cluster), cluster.capsules
        squared = [_one_square(kind, row, *_ends_in_frame(kind, row, t, X_WB, capsule)) for capsule in capsules]
        has_radius = kind == "sphere" or kind.endswith("capsule")
        return Squares(squared, [c.radius for c in capsules], row[SIZE][0] if has_radius else 0.0)

    def cluster_squares(self, x: Entries, first: Cluster, second: Cluster) -> Squares:
        """Squared distances between the segments of capsules."""
        ends = [
            [(c, (X.R @ c.a + X.p, X.R @ c.b + X.p)) for c in cluster.capsules]
            for X, cluster in ((self.X_WB(x, first), first), (self.X_WB(x, second), second))
        ]
        of_pairs = list(product(*ends))
        squared = [_square_between(c, p, d, q) for (c, p), (d, q) in of_pairs]
        return Squares(squared, [c.radius + d.radius for (c, _), (d, _) in of_pairs], 0.0)

    @property
    def made_from(self) -> list[object]:
        """All that programs depend on."""
        tables = [[pair, table.made_from] for pair, table in self.tables.items()]
        kept = [] if self.kept is None else [self.kept.made_from]
        return [self.shape.made_from, self.pairs, self.link_margin, *([tables] if tables else []), *kept]


def table_inputs(kinds: tuple[str, ...]) -> dict[str, int]:
    """Tables of a law and the sizes of their rows."""
    return dict.fromkeys(kinds, N_ROW)
