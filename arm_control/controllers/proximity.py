"""What is near an arm: for each link and obstacle, and each two links, the nearest points and how they move.

The arm is the capsules of :mod:`arm_control.description.capsules`. For nearest points p on the arm and p_O on
the other side, with the unit vector n from p_O to p,

    rho = |p - p_O| - radii,     d(rho)/dt = n^T (J_p v - V_O),     J_n = n^T J_p,

where J_p is the Jacobian of p as a point of its link, written down from the axes z_i and origins o_i of the
joints that carry it: column i is ``z_i x (p - o_i)``, or ``z_i`` for a prismatic joint. Between two links J_n is
the difference of both rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.description.capsules import link_capsules
from arm_control.exceptions import InputError
from arm_control.geometry import Capsule, Nearest, Shape, Sphere, between_segments, segments_to_shape
from arm_control.geometry.segments import closest_on_segments, cross_product
from arm_control.model import RobotModel
from arm_control.spatial import Array, Pose

SAMPLES, CLOSE_BY_DESIGN = 200, 0.05
"""Two links that are nearer than this [m] in half of so many postures are not watched."""
NOTHING, NOBODY = np.zeros(0, int), Nearest(np.zeros(0), *np.zeros((3, 0, 3)))


@dataclass(frozen=True)
class Obstacle:
    """Something to keep away from.

    Attributes
    ----------
    shape : Shape
        What it looks like.
    X_WO : Pose
        Where it is.
    V_WO : ndarray, shape (6,)
        How its origin moves: linear [m/s], angular [rad/s], world axes; at rest by default.
    """

    shape: Shape
    X_WO: Pose
    V_WO: Array | tuple[float, ...] = (0.0,) * 6

    def __post_init__(self) -> None:
        for name, values, shape in (("R", self.X_WO.R, (3, 3)), ("p", self.X_WO.p, (3,)), ("V_WO", self.V_WO, (6,))):
            if np.shape(values) != shape or not np.isfinite(values).all():
                raise InputError(f"obstacle: {name} is {values}; {shape} finite numbers are needed")


class Pairs(NamedTuple):
    """Nearest points of n pairs.

    Attributes
    ----------
    names : list of tuple of str
        The link, and the other link or ``obstacle i``.
    rho : ndarray, shape (n,)
        Distance between the surfaces, negative inside [m].
    n : ndarray, shape (n, 3)
        Unit vector towards the link.
    J_n : ndarray, shape (n, nv)
        Row of the Jacobian along n.
    v_n : ndarray, shape (n,)
        Speed of the obstacle's nearest point along n [m/s].
    is_self : ndarray of bool, shape (n,)
        Whether it is a pair of links.
    """

    names: list[tuple[str, str]]
    rho: Array
    n: Array
    J_n: Array
    v_n: Array
    is_self: Array


class Proximity:
    """Finds the near pairs of one arm.

    Two links are watched unless one joint connects them, or they are close by design: nearer than
    :data:`CLOSE_BY_DESIGN` in at least half of :data:`SAMPLES` random postures, as are the ends of a wrist.

    Parameters
    ----------
    model : RobotModel
        The arm.

    Attributes
    ----------
    capsules : tuple of LinkCapsule
        The arm.
    notes : tuple of str
        Collision shapes that were left out, and why.
    link_pairs : tuple of tuple of str
        The pairs of links that are watched.
    """

    def __init__(self, model: RobotModel) -> None:
        tree, (capsules, self.notes) = model.tree, link_capsules(model.urdf)
        self._frames = model.batch("frames")
        self.capsules = capsules
        self._frame = np.array([model.frames.index(c.link) for c in capsules], dtype=int)
        self._body = np.array([tree.frames[c.link].body for c in capsules], dtype=int)
        self._ends = np.array([(c.a, c.b) for c in capsules]).reshape(-1, 2, 3)
        self._radius = np.array([c.radius for c in capsules])
        self._moving = np.flatnonzero(self._body >= 0)
        bodies = range(len(tree.bodies))
        links = [next(name for name, frame in tree.frames.items() if frame.body == i) for i in bodies]
        placements = [tree.frames[link].placement for link in links]
        self._carrier = np.array([model.frames.index(link) for link in links], dtype=int)
        self._axis = np.array([np.asarray(X.R, float).T[:, 2] for X in placements]).reshape(-1, 3)
        self._origin = np.array([-np.asarray(X.R, float).T @ np.asarray(X.p, float) for X in placements])
        self._slides = np.array([body.is_prismatic for body in tree.bodies])
        self._gear = np.zeros((len(tree.bodies), model.nv))  # how each body's joint follows the joint positions
        self._carries = np.zeros((len(tree.bodies) + 1, len(tree.bodies)))  # the last row: the world
        for i, body in enumerate(tree.bodies):
            self._gear[i, body.coordinate] = body.ratio
            self._carries[i, tree.path(i)] = 1.0
        self._pairs = self._choose_link_pairs(model)
        self.link_pairs = tuple(dict.fromkeys((capsules[i].link, capsules[j].link) for i, j in self._pairs.tolist()))

    def near(self, q: Array, obstacles: Sequence[Obstacle], reach: float, reach_self: float) -> Pairs:
        """Pairs that are nearer than ``reach`` (obstacles) or ``reach_self`` (two links).

        Of several capsules of a link the nearest counts.

        Parameters
        ----------
        q : ndarray, shape (nq,)
            Joint positions.
        obstacles : sequence of Obstacle
            What is around.
        reach, reach_self : float
            Distances [m]; 0 for the second leaves pairs of links out.

        Returns
        -------
        Pairs
        """
        (frames,) = self._frames(q[None])["frames"]
        R, p = frames[:, :9].reshape(-1, 3, 3), frames[:, 9:]
        ends = p[self._frame, None] + np.einsum("nij,nkj->nki", R[self._frame], self._ends)
        i, k, near = self._to_obstacles(ends, obstacles, reach)
        if reach_self > 0.0 and len(self._pairs):
            i_self, j, near_self = self._between_links(ends)
            i, k = np.concatenate([i, i_self]), np.concatenate([k, -1 - j])
            near = Nearest(*map(np.concatenate, zip(near, near_self, strict=True)))
        keep = self._nearest_of_each(i, k, near.distance, np.where(k < 0, reach_self, reach))
        i, k, near = i[keep], k[keep], Nearest(*(values[keep] for values in near))
        other = np.where(k < 0, self._body[-1 - k], -1)
        axes = np.einsum("nij,nj->ni", R[self._carrier], self._axis)
        origins = p[self._carrier] + np.einsum("nij,nj->ni", R[self._carrier], self._origin)
        J_n = self._rows(self._body[i], near.p, near.normal, axes, origins)
        J_n -= self._rows(other, near.p_other, near.normal, axes, origins)
        names = [
            (self.capsules[a].link, self.capsules[-1 - b].link if b < 0 else f"obstacle {b}")
            for a, b in zip(i.tolist(), k.tolist(), strict=True)
        ]
        return Pairs(names, near.distance, near.normal, J_n, _obstacle_speeds(k, near, obstacles), k < 0)

    def _to_obstacles(self, ends: Array, obstacles: Sequence[Obstacle], reach: float) -> tuple[Array, Array, Nearest]:
        """Nearest points of capsules i and obstacles k whose surrounding balls are within reach."""
        if not obstacles:
            return NOTHING, NOTHING, NOBODY
        a, b = ends[self._moving, 0], ends[self._moving, 1]
        centres = np.array([o.X_WO.p for o in obstacles])[:, None]
        s = closest_on_segments(centres, a, b)[..., None]
        gap = np.linalg.norm(centres - a - s * (b - a), axis=-1) - self._radius[self._moving]
        k, i = np.nonzero(gap < reach + np.array([o.shape.extent for o in obstacles])[:, None])
        i = self._moving[i]
        is_round = np.array([isinstance(o.shape, Sphere | Capsule) for o in obstacles])
        groups = [k == index for index in np.unique(k) if not is_round[index]]
        if is_round[k].any():
            groups.insert(0, is_round[k])
        parts = [self._measure(ends[i[mine]], self._radius[i[mine]], k[mine], obstacles) for mine in groups]
        order = np.argsort(np.concatenate([NOTHING, *map(np.flatnonzero, groups)]))
        return i, k, Nearest(*(np.concatenate(values)[order] for values in zip(NOBODY, *parts, strict=True)))

    def _measure(self, ends: Array, radius: Array, k: Array, obstacles: Sequence[Obstacle]) -> Nearest:
        """Nearest points, in the world, of capsules and obstacles k: all round ones, or all the same one."""
        shape, X = obstacles[k[0]].shape, obstacles[k[0]].X_WO
        a, b = ends[:, 0], ends[:, 1]
        if isinstance(shape, Sphere | Capsule):
            c, d, radii = _segments([obstacles[index] for index in k])
            near = between_segments(a, b, c, d)
            p_other = near.p_other + radii[:, None] * near.normal
            return near._replace(distance=near.distance - radius - radii, p_other=p_other)
        near = segments_to_shape((a - X.p) @ X.R, (b - X.p) @ X.R, shape)
        p, p_other = (x @ X.R.T + X.p for x in (near.p, near.p_other))
        return Nearest(near.distance - radius, p, p_other, near.normal @ X.R.T)

    def _between_links(self, ends: Array) -> tuple[Array, Array, Nearest]:
        i, j = self._pairs.T
        near = between_segments(ends[i, 0], ends[i, 1], ends[j, 0], ends[j, 1])
        return i, j, near._replace(distance=near.distance - self._radius[i] - self._radius[j])

    def _nearest_of_each(self, i: Array, k: Array, rho: Array, reach: Array) -> Array:
        """Rows to keep: within reach, and of each link and what it is near, the nearest."""
        order = np.flatnonzero(rho < reach)
        order = order[np.argsort(rho[order], kind="stable")]
        other = np.where(k < 0, -1 - self._frame[-1 - k] if len(k) else k, k)
        return order[np.unique(np.stack([self._frame[i], other])[:, order], axis=1, return_index=True)[1]]

    def _rows(self, body: Array, p: Array, n: Array, axes: Array, origins: Array) -> Array:
        """``n^T J_p`` of points p on bodies (-1: the world, zero), shape (n, nv)."""
        moments = cross_product(axes, p[:, None] - origins)
        columns = np.where(self._slides[:, None], axes, moments)
        return (np.einsum("nij,nj->ni", columns, n) * self._carries[body]) @ self._gear

    def _choose_link_pairs(self, model: RobotModel) -> Array:
        """Capsules i, j of links that are watched, shape (n, 2)."""
        i, j = np.triu_indices(len(self.capsules), 1)
        parent = np.array([body.parent for body in model.tree.bodies] + [-2])
        a, b = self._body[i], self._body[j]
        i, j = (x[(a != b) & (parent[a] != b) & (parent[b] != a)] for x in (i, j))
        self._pairs = np.stack([i, j], axis=1)
        low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
        qs = np.random.default_rng(0).uniform(low, high, (SAMPLES, model.nq))
        frames = self._frames(qs)["frames"][:, self._frame]
        R, p = frames[..., :9].reshape(SAMPLES, -1, 3, 3), frames[..., 9:]
        ends = p[:, :, None] + np.einsum("snij,nkj->snki", R, self._ends)
        distances = [self._between_links(posture)[2].distance for posture in ends] if len(i) else np.zeros((1, 0))
        return self._pairs[np.median(distances, axis=0) >= CLOSE_BY_DESIGN]


def _segments(obstacles: Sequence[Obstacle]) -> tuple[Array, Array, Array]:
    """Ends of the segments inside spheres and capsules, and their radii."""
    p = np.array([o.X_WO.p for o in obstacles])
    half = np.array([o.X_WO.R[:, 2] * (o.shape.length / 2 if isinstance(o.shape, Capsule) else 0.0) for o in obstacles])
    radii = np.array([o.shape.radius for o in obstacles if isinstance(o.shape, Sphere | Capsule)])
    return p - half, p + half, radii


def _obstacle_speeds(k: Array, near: Nearest, obstacles: Sequence[Obstacle]) -> Array:
    speeds = np.zeros(len(k))
    for row in np.flatnonzero(k >= 0):
        obstacle = obstacles[k[row]]
        V = np.asarray(obstacle.V_WO)
        speeds[row] = near.normal[row] @ (V[:3] + np.cross(V[3:], near.p_other[row] - obstacle.X_WO.p))
    return speeds
