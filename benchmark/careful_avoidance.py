"""Obstacle avoidance as careful NumPy on whole arrays of pairs: what the compiled law is measured against.

The same equations as in arm_control/control/avoidance_law.py, all pairs at once: candidates by balls,
closed forms for segments, a search along the segments in 17 samples at a time for boxes, cylinders, cones and hulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control import RobotModel
from arm_control.collision import Proximity
from arm_control.constraints import floor_of_inertia
from arm_control.control import AvoidanceParameters
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Hull, Obstacle, Shape, Sphere
from arm_control.model import Terms

TINY, PIECES, ROUNDS = 1e-12, 16, 10
HORIZON, DAMPED, LINEAR, ANGULAR = 0.01, 1e-6, 0.5, 1.0
NOTHING = np.zeros(0, int)


class Nearest(NamedTuple):
    """Distances (n,), points on the link and the other side, and unit vectors, (n, 3) each."""

    distance: Array
    p: Array
    p_other: Array
    normal: Array


NOBODY = Nearest(np.zeros(0), *np.zeros((3, 0, 3)))


class Output(NamedTuple):
    """Torque of avoidance, that for the gate, the share of the task's, the nearest distance."""

    tau: Array
    tau_total: Array
    task_share: float
    distance: float


class CarefulAvoidance:
    """Avoidance of one arm."""

    def __init__(self, model: RobotModel, parameters: AvoidanceParameters) -> None:
        self.parameters, self._tau_max, tree = parameters, model.tau_max, model.tree
        self._floor = np.diag(floor_of_inertia(model.tau_max, model.v_max))
        proximity = Proximity(model)
        capsules, self._pairs = proximity.capsules, proximity.capsule_pairs
        self._frames = model.batch("frames")
        self._frame = np.array([model.frames.index(c.link) for c in capsules], dtype=int)
        self._body = np.array([tree.frames[c.link].body for c in capsules], dtype=int)
        self._ends = np.array([(c.a, c.b) for c in capsules]).reshape(-1, 2, 3)
        self._radius = np.array([c.radius for c in capsules])
        self._moving = np.flatnonzero(self._body >= 0)
        bodies = range(len(tree.bodies))
        links = [next(name for name, frame in tree.frames.items() if frame.body == i) for i in bodies]
        placements = [tree.frames[link].X_BF for link in links]
        self._carrier = np.array([model.frames.index(link) for link in links], dtype=int)
        self._axis = np.array([np.asarray(X.R, float).T[:, 2] for X in placements]).reshape(-1, 3)
        self._origin = np.array([-np.asarray(X.R, float).T @ np.asarray(X.p, float) for X in placements])
        self._slides = np.array([body.is_prismatic for body in tree.bodies])
        self._gear = np.zeros((len(tree.bodies), model.nv))  # how each body's joint follows the joint positions
        self._carries = np.zeros((len(tree.bodies) + 1, len(tree.bodies)))  # the last row: the world
        for i, body in enumerate(tree.bodies):
            self._gear[i, body.coordinate] = body.ratio
            self._carries[i, tree.path(i)] = 1.0

    def near(self, q: Array, obstacles: Sequence[Obstacle], reach: float, reach_self: float) -> tuple[Array, ...]:
        """Distances (n,), rows J_n (n, nv), speeds of the obstacles (n,), and whether both are links (n,)."""
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
        other = np.where(k < 0, self._body[np.maximum(-1 - k, 0)], -1)
        axes = np.einsum("nij,nj->ni", R[self._carrier], self._axis)
        origins = p[self._carrier] + np.einsum("nij,nj->ni", R[self._carrier], self._origin)
        J_n = self._rows(self._body[i], near.p, near.normal, axes, origins)
        J_n -= self._rows(other, near.p_other, near.normal, axes, origins)
        return near.distance, J_n, _obstacle_speeds(k, near, obstacles), k < 0

    def tick(self, t: Terms, obstacles: Sequence[Obstacle], tau_task: Array) -> Output:
        """Avoidance in one state."""
        p = self.parameters
        near_rho, J_n, v_n, is_self = self.near(t.q, obstacles, p.threshold, p.self_threshold)
        rho0 = np.where(is_self, p.self_threshold, p.threshold)
        rho = np.maximum(near_rho, np.minimum(p.smallest_distance, rho0))
        rho_dot = J_n @ t.v - v_n
        M_inv = np.linalg.inv(t.M)
        H_inv = np.linalg.inv(t.M + self._floor)
        mobility, felt = (np.einsum("ni,ij,nj->n", J_n, inverse, J_n) for inverse in (M_inv, H_inv))
        m = 1.0 / (np.where(is_self, mobility, felt) + 1.0 / p.mass_limit)
        f = p.eta * (1.0 / rho - 1.0 / rho0) / rho**2
        d = p.approach_damping * (1.0 - rho / rho0) * np.maximum(0.0, -rho_dot)
        push = m * (f + d)
        share = self._task_share(near_rho, mobility)
        alone = t.h - damping_but_of_an_escape(J_n[rho_dot > 0.0], M_inv, p.takeover_damping * (t.M @ t.v))
        task = share * tau_task + (1.0 - share) * alone
        v_0 = t.v + HORIZON * (M_inv @ (task - t.h))
        links = _within_speeds(t, M_inv, v_0, J_n.T @ (is_self * push))
        v_0 = v_0 + HORIZON * (M_inv @ links)
        tau = links + t.M @ (H_inv @ _within_speeds(t, H_inv, v_0, J_n.T @ (~is_self * push)))
        tau /= max(1.0, float(np.abs(tau / self._tau_max).max()))
        nearest = float(near_rho.min(initial=np.inf))
        return Output(tau, task + tau, share, nearest)

    def _task_share(self, near_rho: Array, mobility: Array) -> float:
        """Share s of the task in (6); a pair that the arm cannot pull apart has no say."""
        a = self.parameters.takeover_distance
        can_move = np.clip(2.0 * mobility * self.parameters.mass_limit - 1.0, 0.0, 1.0)
        x = np.clip((near_rho - a) / max(a, 1e-6), 0.0, 1.0)
        return float((1.0 - can_move * (1.0 - x * x * (3.0 - 2.0 * x))).min(initial=1.0))

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
        other = np.where(k < 0, -1 - self._frame[np.maximum(-1 - k, 0)] if len(k) else k, k)
        return order[np.unique(np.stack([self._frame[i], other])[:, order], axis=1, return_index=True)[1]]

    def _rows(self, body: Array, p: Array, n: Array, axes: Array, origins: Array) -> Array:
        """``n^T J_p`` of points p on bodies (-1: the world, zero), shape (n, nv)."""
        moments = cross_product(axes, p[:, None] - origins)
        columns = np.where(self._slides[:, None], axes, moments)
        return (np.einsum("nij,nj->ni", columns, n) * self._carries[body]) @ self._gear


def _within_speeds(t: Terms, H_inv: Array, v_0: Array, tau: Array) -> Array:
    """A push that does not make the hand faster than its limits, or than without it."""
    for J, limit in zip(np.reshape(t.J, (2, 3, -1)), (LINEAR, ANGULAR), strict=True):
        W = J @ (v_0 + HORIZON * (H_inv @ tau))
        excess = 1.0 - max(limit, float(np.linalg.norm(J @ v_0))) / max(float(np.linalg.norm(W)), TINY)
        if excess > 0.0:
            K = J @ H_inv @ J.T
            K = K + (DAMPED * np.trace(K) + TINY) * np.eye(3)
            tau = tau - J.T @ np.linalg.solve(K, W * (excess / HORIZON))
    return tau


def damping_but_of_an_escape(J_e: Array, M_inv: Array, damping: Array) -> Array:
    """Damping torque without what would slow an escape."""
    if not len(J_e):
        return damping
    A = J_e @ M_inv @ J_e.T
    return damping - J_e.T @ (np.linalg.pinv(A, rcond=1e-9, hermitian=True) @ (J_e @ (M_inv @ damping)))


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


def closest_on_segments(p: Array, a: Array, b: Array) -> Array:
    """Where on segments a to b the points nearest to p are: 0 at a, 1 at b; 0 for a segment without length."""
    d = b - a
    squared = np.einsum("...i,...i->...", d, d)
    along = np.einsum("...i,...i->...", p - a, d)
    return np.clip(along / np.where(squared > TINY**2, squared, np.inf), 0.0, 1.0)


def between_segments(a0: Array, a1: Array, b0: Array, b1: Array) -> Nearest:
    """Nearest points of segments a and b, pair by pair."""
    da, db, ab = a1 - a0, b1 - b0, b0 - a0
    cross = cross_product(da, db)
    squared = np.einsum("ij,ij->i", cross, cross)
    skew = squared > TINY * np.einsum("ij,ij->i", da, da) * np.einsum("ij,ij->i", db, db)
    middle = np.einsum("ij,ij->i", cross_product(ab, db), cross) / np.where(skew, squared, np.inf)
    s = np.stack([np.clip(middle, 0.0, 1.0), np.zeros(len(a0)), np.ones(len(a0))])
    t = closest_on_segments(a0 + s[..., None] * da, b0, b1)
    u = np.stack([np.zeros(len(a0)), np.ones(len(a0))])
    s = np.concatenate([s, closest_on_segments(b0 + u[..., None] * db, a0, a1)])
    t = np.concatenate([t, u])
    pa, pb = a0 + s[..., None] * da, b0 + t[..., None] * db
    gap = pa - pb
    best = np.einsum("kij,kij->ki", gap, gap).argmin(0), np.arange(len(a0))
    distance, normal = length_and_direction(gap[best])
    touching = distance <= TINY
    if touching.any():
        normal[touching] = [_across(x, y) for x, y in zip(da[touching], db[touching], strict=True)]
    return Nearest(distance, pa[best], pb[best], normal)


def segments_to_shape(a: Array, b: Array, shape: Shape) -> Nearest:
    """Nearest points of segments and one shape."""
    d = b - a
    low, high = np.zeros(len(a)), np.ones(len(a))
    grid, rows = np.linspace(0.0, 1.0, PIECES + 1), np.arange(len(a))
    for _ in range(ROUNDS):
        s = low[:, None] + (high - low)[:, None] * grid
        slope = np.einsum("nki,ni->nk", _signed_distance(shape, a[:, None] + s[..., None] * d[:, None])[1], d)
        falling = (slope < 0.0).sum(1)
        low, high = s[rows, np.maximum(falling - 1, 0)], s[rows, np.minimum(falling, PIECES)]
    p = a + np.stack([low, high])[..., None] * d
    distance, normal = _signed_distance(shape, p)
    best = distance.argmin(0), rows
    return Nearest(distance[best], p[best], p[best] - distance[best][:, None] * normal[best], normal[best])


def cross_product(a: Array, b: Array) -> Array:
    """``a x b`` of vectors, shape (..., 3), which broadcast; several times as fast as NumPy's."""
    (ax, ay, az), (bx, by, bz) = (np.moveaxis(x, -1, 0) for x in (a, b))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _across(a: Array, b: Array) -> Array:
    """A unit vector perpendicular to a and b, which may be parallel or without length."""
    null = np.linalg.svd(np.stack([a, b]))[2]
    return null[2]


def _signed_distance(shape: Shape, p: Array) -> tuple[Array, Array]:
    """Signed distances of points p, shape (..., 3), and their gradients."""
    if isinstance(shape, Box):
        return _to_box(shape.size, p)
    if isinstance(shape, Hull):
        return shape.signed_distance(p)
    if isinstance(shape, Cylinder | Cone):
        r, h = shape.radius, shape.length / 2
        corners = [[0, -h], [r, -h], [0, h]] if isinstance(shape, Cone) else [[0, -h], [r, -h], [r, h], [0, h]]
        return _revolved(p, np.array(corners))
    raise TypeError(shape)


def _to_box(size: Sequence[float], p: Array) -> tuple[Array, Array]:
    sign = np.where(p < 0.0, -1.0, 1.0)
    over = np.abs(p) - np.array(size) / 2
    face = np.eye(3)[over.argmax(-1)]
    distance, direction = length_and_direction(np.maximum(over, 0.0))
    outside = distance > TINY
    gradient = sign * np.where(outside[..., None], direction, face)
    return np.where(outside, distance, over.max(-1)), gradient


def length_and_direction(x: Array) -> tuple[Array, Array]:
    """Lengths of vectors, shape (..., 3), and their directions; of one without length, the x axis."""
    length = np.sqrt(np.einsum("...i,...i->...", x, x))
    has_one = length > TINY
    direction = x / np.where(has_one, length, 1.0)[..., None]
    return length, np.where(has_one[..., None], direction, (1.0, 0.0, 0.0))


def _revolved(p: Array, corners: Array) -> tuple[Array, Array]:
    """Signed distance to the solid that a convex profile makes as it turns about z.

    ``corners``, shape (k, 2), are radius and height, from the axis below round to the axis above. In the
    half plane of the point the nearest point is on one of the edges; inside, the nearest edge's line counts.
    """
    r = np.hypot(p[..., 0], p[..., 1])
    along = np.diff(corners, axis=0)
    lengths = np.hypot(*along.T)
    along = along / lengths[:, None]
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    x = np.stack([r, p[..., 2]], axis=-1)[..., None, :] - corners[:-1]
    height = (x * normals).sum(-1)
    x = x - np.clip((x * along).sum(-1), 0.0, lengths)[..., None] * along
    distance = np.hypot(x[..., 0], x[..., 1])
    inside = (height <= 0.0).all(-1)
    edge = np.where(inside, height.argmax(-1), distance.argmin(-1))[..., None]
    height, distance = (np.take_along_axis(values, edge, -1)[..., 0] for values in (height, distance))
    x = np.take_along_axis(x, edge[..., None], -2)[..., 0, :]
    flat = inside | (distance <= TINY)
    slope = np.where(flat[..., None], normals[edge[..., 0]], x / np.where(flat, 1.0, distance)[..., None])
    off_axis = r > TINY
    radial = np.where(off_axis[..., None], p[..., :2] / np.where(off_axis, r, 1.0)[..., None], (1.0, 0.0))
    gradient = np.concatenate([slope[..., :1] * radial, slope[..., 1:]], axis=-1)
    return np.where(inside, height, distance), gradient
