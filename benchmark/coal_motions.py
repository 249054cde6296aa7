"""Contacts of motions by Pinocchio and coal, at a hundred times the resolution of a usual check.

coal looks at each pair of shapes at places k / n of a motion. A pair at a distance d is looked at again behind d / w of
the motion, where w is twice the largest relative speed of the pair between :data:`SAMPLES` places, but at the next
place of the resolution at the latest. Where balls around the pair are further apart than it can move between two
samples, coal is not asked. Capsules apart nothing is taken from what is tested: positions at the samples are products
of the transforms in Pinocchio's model, speeds are differences of positions.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from math import ceil, inf
from typing import NamedTuple

import coal
import numpy as np
import pinocchio as pin
from coal_arm import CoalArm

from arm_control.maths import Array, Pose
from arm_control.simulation import coal_distance

PER_UNIT = 3200
"""Places of a motion per rad or m of the arm, and per m of the fastest obstacle: a hundred times those of a check."""
SAMPLES = 17
"""Places of a motion between which speeds are measured."""
SAFETY = 2.0
"""Multiple of the measured speeds that counts."""
ALWAYS = (-inf, inf)
"""Begin and end of the time in which links are present [s]."""
NEVER = 2.0
"""Place at which a pair is looked at that need not be looked at."""


class Touch(NamedTuple):
    """What coal sees of a motion.

    Attributes
    ----------
    share : float
        First place with a contact; NaN where there is none.
    looks : int
        Number of distances that were measured.
    smallest : float
        The smallest one [m].
    """

    share: float
    looks: int
    smallest: float


class Frames(NamedTuple):
    """Rotations (..., 3, 3) and origins (..., 3) of the joints, one after the other."""

    R: list[Array]
    p: list[Array]


class CoalMotions:
    """Looks at motions of an arm among obstacles.

    Parameters
    ----------
    coal_arm : CoalArm
        Arm, obstacles and pairs.
    """

    def __init__(self, coal_arm: CoalArm) -> None:
        self._arm, self._first = coal_arm, coal_arm.first
        shapes = coal_arm.shapes
        self._balls = np.array([_ball_radius(g.geometry) for g in shapes.geometryObjects])
        self._pairs = [(pair.first, pair.second) for pair in shapes.collisionPairs]
        self._shapes = [g.geometry for g in shapes.geometryObjects]
        self._resting = [coal.Transform3s(np.array(X.R), np.array(X.p)) for X in _poses(coal_arm)]
        self._V = np.array([mover.obstacle.V_WO for mover in coal_arm.movers]).reshape(-1, 6)
        self._is_moving = self._V.any(axis=1).tolist()
        extents = self._balls[self._first :]
        self._speeds = np.linalg.norm(self._V[:, :3], axis=1) + extents * np.linalg.norm(self._V[:, 3:], axis=1)
        self._spans = [(mover.span.begin, mover.span.end) for mover in coal_arm.movers]

    def touches(self, a: Array, b: Array, times: Array) -> list[Touch]:
        """What coal sees of straight motions.

        Parameters
        ----------
        a, b : ndarray, shape (N, n)
            Joint positions [rad or m].
        times : ndarray, shape (N, 2)
            Times at both ends [s].
        """
        speeds, following = self._bounds(a, b, times)
        return [self._touch(*motion) for motion in zip(a, b, times, speeds, following, strict=True)]

    def distance(self, q: Array, t: float) -> float:
        """The smallest distance in a state [m].

        Parameters
        ----------
        q : ndarray, shape (n,)
            Joint positions [rad or m].
        t : float
            Time [s].
        """
        self._place(q, q, np.array([t, t]), 0.0)
        return min(self._distances(t), default=NEVER)

    def touch_everywhere(self, a: Array, b: Array, times: Array) -> Touch:
        """What coal sees of one motion when it looks at each pair at each place.

        Parameters
        ----------
        a, b : ndarray, shape (n,)
            Joint positions [rad or m].
        times : ndarray, shape (2,)
            Times at both ends [s].
        """
        n, looks, smallest = self._resolution(a, b, times), 0, np.inf
        for k in range(n + 1):
            t = self._place(a, b, times, k / n)
            distances = self._distances(t)
            looks, smallest = looks + len(distances), min([smallest, *distances])
            if smallest <= 0.0:
                return Touch(k / n, looks, smallest)
        return Touch(np.nan, looks, smallest)

    def _touch(self, a: Array, b: Array, times: Array, speeds: Array, following: Array) -> Touch:
        """One motion: speeds of its pairs, shape (P,), and ``following`` of :meth:`_bounds`, shape (P, SAMPLES - 1)."""
        n, looks, smallest = self._resolution(a, b, times), 0, np.inf
        due = [(_number(s, n), pair) for pair, s in enumerate(following[:, 0].tolist()) if s <= 1.0]
        heapify(due)
        k_last, t = -1, 0.0
        while due:  # pairs and the numbers of the places at which they are looked at next
            k, pair = due[0]
            if k != k_last:
                k_last, t = k, self._place(a, b, times, k / n)
            begin, end = self._span(pair)
            if begin <= t <= end:
                distance = self._distance(pair, t)
                looks, smallest = looks + 1, min(smallest, distance)
                if distance <= 0.0:
                    return Touch(k / n, looks, distance)
                s = max((k + 1) / n, k / n + distance / speeds[pair])
            else:
                comes = t < begin <= times[1]
                s = max((k + 1) / n, (begin - times[0]) / (times[1] - times[0]) - 1.0 / n) if comes else NEVER
            if s <= 1.0:
                s = max(s, float(following[pair, min(int(s * (SAMPLES - 1)), SAMPLES - 2)]))
            if s <= 1.0:
                heapreplace(due, (_number(s, n), pair))
            else:
                heappop(due)
        return Touch(np.nan, looks, smallest)

    def _resolution(self, a: Array, b: Array, times: Array) -> int:
        """Number of places of a motion."""
        way = self._speeds.max(initial=0.0) * (times[1] - times[0])
        return max(SAMPLES - 1, int(np.ceil(PER_UNIT * max(np.linalg.norm(b - a), way))))

    def _place(self, a: Array, b: Array, times: Array, s: float) -> float:
        """Place the arm at a place of a motion; returns the time [s]."""
        arm = self._arm
        q = arm.configuration(a + s * (b - a))
        pin.updateGeometryPlacements(arm.model, arm.data, arm.shapes, arm.placed, q)
        return times[0] + s * (times[1] - times[0])

    def _span(self, pair: int) -> tuple[float, float]:
        """Begin and end of the time in which both of a pair are present [s]."""
        k = self._pairs[pair][1] - self._first
        return ALWAYS if k < 0 else self._spans[k]

    def _distances(self, t: float) -> list[float]:
        """Distances of all pairs that are present at a time, the arm where it is placed [m]."""
        spans = [self._span(pair) for pair in range(len(self._pairs))]
        return [self._distance(pair, t) for pair, (begin, end) in enumerate(spans) if begin <= t <= end]

    def _distance(self, pair: int, t: float) -> float:
        """Distance of a pair by coal at a time, the arm where it is placed [m]."""
        (g, h), k = self._pairs[pair], self._pairs[pair][1] - self._first
        X = self._arm.placed.oMg[g]
        if k < 0:
            other = coal.Transform3s(self._arm.placed.oMg[h].rotation, self._arm.placed.oMg[h].translation)
        elif self._is_moving[k]:
            mover, V = self._arm.movers[k], self._V[k]
            tau, X_WO = t - mover.span.begin, mover.obstacle.X_WO
            other = coal.Transform3s(pin.exp3(tau * V[3:]) @ X_WO.R, X_WO.p + tau * V[:3])
        else:
            other = self._resting[k]
        here = coal.Transform3s(X.rotation, X.translation)
        return coal_distance(self._shapes[g], here, self._shapes[h], other)

    def _bounds(self, a: Array, b: Array, times: Array) -> tuple[Array, Array]:
        """Bounds of the pairs of N motions.

        Returns
        -------
        speeds : ndarray, shape (N, P)
            Of each pair, per motion [m].
        following : ndarray, shape (N, P, SAMPLES - 1)
            For each cell between two samples, the begin of the next one in which the pair may meet: 0 where it may in
            this one, :data:`NEVER` where it does not any more.
        """
        shares = np.linspace(0.0, 1.0, SAMPLES)[:, None]
        frames = self._frames(a[:, None] + shares * (b - a)[:, None])
        duration = times[:, 1] - times[:, 0]
        t = times[:, :1] + shares[:, 0] * duration[:, None]
        geometries = self._arm.shapes.geometryObjects
        ends = [_ends(g) for g in geometries]
        places = [frames.p[g.parentJoint][..., None, :] + e @ np.swapaxes(frames.R[g.parentJoint], -1, -2)
                  for g, e in zip(geometries[: self._first], ends, strict=False)]  # fmt: skip
        middles = [place.mean(axis=-2) for place in places]
        X = [np.array(X_WO.p) for X_WO in _poses(self._arm)]
        begins = [span[0] for span in self._spans]
        middles += [p + (t - begin)[..., None] * V[:3] for p, V, begin in zip(X, self._V, begins, strict=True)]
        speeds, meets = [], []
        for g, h in self._pairs:
            if h < self._first:
                joint = geometries[g].parentJoint
                seen = (places[h] - frames.p[joint][..., None, :]) @ frames.R[joint]
                speed = _largest_step(seen)
            else:
                speed = _largest_step(places[g]) + duration * self._speeds[h - self._first]
            gap = np.linalg.norm(middles[g] - middles[h], axis=-1) - self._balls[g] - self._balls[h]
            meets.append(np.minimum(gap[:, 1:], gap[:, :-1]) <= 0.5 * SAFETY * speed[:, None] / (SAMPLES - 1))
            speeds.append(SAFETY * speed + 1e-12)
        return np.stack(speeds, axis=1), _following(np.stack(meets, axis=1))

    def _frames(self, q: Array) -> Frames:
        """Poses of all joints at joint positions, shape (N, SAMPLES, n)."""
        model, lead = self._arm.model, q.shape[:-1]
        column = {place: k for k, place in enumerate(self._arm.order)}
        R, p = [np.broadcast_to(np.eye(3), (*lead, 3, 3))], [np.zeros((*lead, 3))]
        for j in range(1, model.njoints):
            X, parent = model.jointPlacements[j], model.parents[j]
            S = model.joints[j].createData()
            model.joints[j].calc(S, pin.neutral(model)[model.idx_qs[j] : model.idx_qs[j] + model.nqs[j]])
            S = np.ravel(S.S)
            position = q[..., column[model.idx_qs[j]]]
            R_here, p_here = R[parent] @ X.rotation, p[parent] + R[parent] @ X.translation
            p.append(p_here + R_here @ S[:3] * position[..., None])
            R.append(R_here @ _turns(S[3:], position))
        return Frames(R, p)


def _number(s: float, n: int) -> int:
    """Number of the first of n places that is not before s."""
    return ceil(s * n - 1e-9)


def _poses(arm: CoalArm) -> list[Pose]:
    """Poses of the obstacles at the begin of their spans."""
    return [mover.obstacle.X_WO for mover in arm.movers]


def _turns(axis: Array, angle: Array) -> Array:
    """Rotations about an axis, shape (..., 3, 3); none where the axis is 0."""
    K = pin.skew(axis)
    angle = angle[..., None, None]
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def _largest_step(places: Array) -> Array:
    """Largest way of points (N, SAMPLES, m, 3) between two samples, over a whole motion at that speed, shape (N,)."""
    return (SAMPLES - 1) * np.linalg.norm(np.diff(places, axis=1), axis=-1).max(axis=(1, 2))


def _following(meets: Array) -> Array:
    """See :meth:`CoalMotions._bounds`."""
    following = np.full(meets.shape, NEVER)
    n, following_one = meets.shape[2], np.full(meets.shape[:2], NEVER)
    for cell in reversed(range(n)):
        following_one = np.where(meets[..., cell], cell / n, following_one)
        following[..., cell] = np.where(meets[..., cell], 0.0, following_one)
    return following


def _ball_radius(geometry: coal.ShapeBase) -> float:
    """Radius of a ball around the origin of a shape of coal [m]."""
    if isinstance(geometry, coal.Sphere):
        return float(geometry.radius)
    if isinstance(geometry, coal.Capsule):
        return float(geometry.radius + geometry.halfLength)
    geometry.computeLocalAABB()
    box = geometry.aabb_local
    return float(np.linalg.norm(np.maximum(np.abs(box.min_), np.abs(box.max_))))


def _ends(geometry: pin.GeometryObject) -> Array:
    """Ends of the segment in a capsule, or the centre of a ball, in the frame of its joint, shape (1 or 2, 3) [m]."""
    shape, X = geometry.geometry, geometry.placement
    if isinstance(shape, coal.Capsule):
        half = shape.halfLength * X.rotation[:, 2]
        return np.array([X.translation - half, X.translation + half])
    return np.array([X.translation])
