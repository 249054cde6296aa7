"""Scenes to check motions in: random ones, and such as are hard for a proof.

In a grazing scene motions come to within :data:`NEAREST` to :data:`FARTHEST` of obstacles of every kind, from thin to
large, at rest or moving and turning, up to 5 m/s and 5 rad/s along each axis and there for a while only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arm_control.collision import Validity
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Hull,
    Mover,
    Obstacle,
    Pose,
    Shape,
    Span,
    Sphere,
    rotation_from_vector,
    rotation_with_z,
)
from arm_control.model import RobotModel, State

N_AROUND, AROUND, SPREAD = 10, np.array([0.0, 0.0, 0.4]), 0.8
"""Obstacles of a random scene, their middle and largest distance from it along each axis [m]."""
DRAWS = 3
"""How often twice as many starts as are needed are drawn."""
N_OBSTACLES, N_KINDS = 4, 5
"""Obstacles that a motion grazes, and kinds of obstacles."""
NEAREST, FARTHEST = -4.0, -2.0
"""Logarithms of the smallest distances that are aimed at [m]."""
IN_CONTACT = 0.15
"""Share of obstacles that are placed that deep instead."""
PLACES, CORRECTIONS = 65, 3
"""Places of a motion that an obstacle's distance is corrected at, and how often."""
FAR_AWAY = 1000.0
"""Where an obstacle of each kind stands that keeps the kinds the same [m]."""


class Scene(NamedTuple):
    """Obstacles, and motions that come near to them: a and b (N, n), times (N, 2)."""

    told: list[Obstacle | Mover]
    a: Array
    b: Array
    times: Array


def limits(model: RobotModel) -> tuple[Array, Array]:
    """Lower and upper bounds of the joint positions that are drawn [rad or m]."""
    return np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)


def draw_shape(rng: np.random.Generator, kind: int) -> Shape:
    """A sphere, capsule, box, cylinder, cone or hull; every size from thin to large.

    Parameters
    ----------
    rng : Generator
    kind : int
        0 to 4; 3 is a cylinder or a cone.
    """
    sizes = 10.0 ** rng.uniform(-3.0, -0.6, 3)
    makers: tuple[Callable[[], Shape], ...] = (
        lambda: Sphere(sizes[0]),
        lambda: Capsule(sizes[0], sizes[1] + 0.02),
        lambda: Box(tuple(sizes)),
        lambda: (Cylinder if rng.random() < 0.5 else Cone)(sizes[0], sizes[1]),
        lambda: Hull.of_points(rng.normal(size=(int(rng.integers(4, 40)), 3)) * sizes / 2.0),
    )
    return makers[kind]()


def support(shape: Shape, d: Array) -> float:
    """How far a shape extends in a direction, seen from its frame [m].

    Parameters
    ----------
    shape : Shape
    d : ndarray, shape (3,)
        Unit vector.
    """
    across = float(np.hypot(d[0], d[1]))
    match shape:
        case Sphere(radius):
            return radius
        case Capsule(radius, length):
            return radius + length / 2 * abs(float(d[2]))
        case Box(size):
            return float(np.abs(d) @ np.array(size)) / 2
        case Cylinder(radius, length):
            return length / 2 * abs(float(d[2])) + radius * across
        case Cone(radius, length):
            return max(length / 2 * float(d[2]), radius * across - length / 2 * float(d[2]))
        case Hull(vertices):
            return float((vertices @ d).max())


def obstacles_around(rng: np.random.Generator, is_moving: bool, n: int = N_AROUND) -> list[Obstacle]:
    """Spheres and boxes around the arm; moving ones turn, too."""
    obstacles = []
    for k in range(n):
        shape = Sphere(rng.uniform(0.03, 0.12)) if k % 2 else Box(tuple(rng.uniform(0.05, 0.3, 3)))
        X = Pose(rotation_from_vector(rng.normal(size=3)), AROUND + rng.uniform(-SPREAD, SPREAD, 3))
        obstacles.append(Obstacle(shape, X, rng.uniform(-0.5, 0.5, 6) if is_moving else np.zeros(6)))
    return obstacles


def draw_motions(validity: Validity, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Starts (n, nq), ends and times (n, 2) of motions from free states; less than n where few states are free."""
    model = validity.shape.model
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    starts: list[Array] = []
    for _ in range(DRAWS):
        q, t = rng.uniform(low, high, (2 * n, model.nq)), rng.uniform(0.0, 1.0, 2 * n)
        starts.append(np.column_stack([q, t])[validity.free_states(q, t)])
    drawn = np.concatenate(starts)[:n]
    a, n = drawn[:, :-1], len(drawn)
    b = np.clip(a + rng.normal(size=a.shape) * rng.uniform(0.05, 0.6, (n, 1)), low, high)
    return a, b, np.column_stack([drawn[:, -1], drawn[:, -1] + rng.uniform(0.0, 0.5, n)])


def random_scene(validity: Validity, rng: np.random.Generator, n: int, is_moving: bool) -> Scene:
    """Ten spheres and boxes around the arm, and n motions from free states.

    Parameters
    ----------
    validity : Validity
        Places the obstacles.
    rng : Generator
    n : int
        Number of motions.
    is_moving : bool
        Whether obstacles move and turn.
    """
    told = obstacles_around(rng, is_moving)
    validity.place(told)
    return Scene([*told], *draw_motions(validity, n, rng))


def grazing_scene(validity: Validity, rng: np.random.Generator, n: int, is_moving: bool) -> Scene:
    """Obstacles that one motion grazes, and n motions near it.

    Parameters
    ----------
    validity : Validity
        Places obstacles; what is there in the end is to be placed anew.
    rng : Generator
    n : int
        Number of motions.
    is_moving : bool
        Whether obstacles move and turn, and are there for a while only.
    """
    model = validity.shape.model
    kinds = [_remote(kind, is_moving) for kind in range(N_KINDS)]
    validity.place(kinds)
    a, b, times = _free_motion(validity, rng, is_moving)
    told: list[Obstacle | Mover] = [*kinds]
    for kind in rng.permutation(N_KINDS)[:N_OBSTACLES].tolist():
        told.append(_grazing(validity, (a, b, times), kinds, draw_shape(rng, kind), rng, is_moving))
    low, high = limits(model)
    scales = 10.0 ** rng.uniform(-5.0, -2.0, (n, 1))
    scales[0] = 0.0
    others = [np.clip(q + scales * rng.normal(size=(n, len(q))), low, high) for q in (a, b)]
    return Scene(told, *others, np.repeat(times[None], n, axis=0))


def _remote(kind: int, is_moving: bool) -> Obstacle:
    """An obstacle far away."""
    turn = (0.0, 0.0, 0.0, 0.0, 0.0, 1e-6 * is_moving)
    return Obstacle(draw_shape(np.random.default_rng(0), kind), Pose.at([0.0, 0.0, FAR_AWAY]), turn)


def _free_motion(validity: Validity, rng: np.random.Generator, is_moving: bool) -> tuple[Array, Array, Array]:
    """A motion whose links do not touch each other, and its times."""
    model = validity.shape.model
    low, high = limits(model)
    while True:
        a = rng.uniform(low, high, (32, model.nq))
        b = np.clip(a + rng.normal(size=a.shape) * rng.uniform(0.02, 0.6, (32, 1)), low, high)
        free = np.flatnonzero(validity.free_motions(a, b))
        if len(free):
            begin = rng.uniform(0.0, 1.0) * is_moving
            return a[free[0]], b[free[0]], np.array([begin, begin + rng.uniform(0.05, 1.0) * is_moving])


def _grazing(
    validity: Validity,
    motion: tuple[Array, Array, Array],
    kinds: list[Obstacle],
    shape: Shape,
    rng: np.random.Generator,
    is_moving: bool,
) -> Obstacle | Mover:
    """An obstacle beside a motion, at a distance that is drawn."""
    a, b, times = motion
    s = rng.uniform()
    t = float(times[0] + s * (times[1] - times[0]))
    V = rng.normal(size=6) * np.repeat(10.0 ** rng.uniform(-2.0, 0.7, 2), 3) * is_moving
    p, normal = _beside(validity, a, b, s, V[:3] * (times[1] - times[0]), rng)
    tilt = float(rng.choice([0.0, np.pi / 2, rng.uniform(0.0, np.pi)]))
    R = rotation_with_z(normal) @ rotation_from_vector(np.array([tilt, 0.0, 0.0]))
    if rng.random() < 0.5:
        R = rotation_from_vector(rng.normal(size=3) * 2.0)
    aim = 10.0 ** rng.uniform(NEAREST, FARTHEST) * (-1.0 if rng.random() < IN_CONTACT else 1.0)
    centre = p + normal * (support(shape, -R.T @ normal) + aim)
    span = Span(float(t * rng.uniform()), t + 0.2 * rng.uniform() if rng.random() < 0.3 else np.inf)
    shares = np.linspace(0.0, 1.0, PLACES)
    qs, ts = a + shares[:, None] * (b - a), times[0] + shares * (times[1] - times[0])
    for correction in range(CORRECTIONS + 1):
        told = _at(shape, Pose(R, centre), V, t, span) if is_moving else Obstacle(shape, Pose(R, centre), V)
        if correction < CORRECTIONS:
            validity.place([*kinds, told])
            centre = centre + normal * (aim - validity.distances(qs, ts).to_obstacles.min())
    return told


def _beside(
    validity: Validity, a: Array, b: Array, s: float, way: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """A point on a capsule at a place of a motion, and its normal, across the motion against what goes ``way`` [m]."""
    shape = validity.shape
    link = shape.links[int(rng.choice(shape.moving))].whole
    capsule, share = link.capsules[int(rng.integers(len(link.capsules)))], rng.uniform()
    X = [State(shape.model.tree, {"q": a + x * (b - a)}).X_W[link.body] for x in (s, s + 1e-5)]
    ends = [[Y.R @ end + Y.p for end in (capsule.a, capsule.b)] for Y in X]
    p, p_next = ((1.0 - share) * np.array(e[0], dtype=float) + share * np.array(e[1], dtype=float) for e in ends)
    velocity, axis = (p_next - p) / 1e-5 - way, np.array(ends[0][1] - ends[0][0], dtype=float)
    normal = np.cross(axis if np.linalg.norm(axis) > 1e-9 else rng.normal(size=3), velocity)
    length = float(np.linalg.norm(normal))
    normal = normal / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    normal = normal * float(rng.choice([-1.0, 1.0]))
    return p + capsule.radius * normal, normal


def _at(shape: Shape, X: Pose, V: Array, t: float, span: Span) -> Mover:
    """An obstacle in a span of time that is at a pose at a time."""
    back = (span.begin - t) * V
    X_begin = Pose(rotation_from_vector(back[3:]) @ X.R, X.p + back[:3])
    return Mover(Obstacle(shape, X_begin, V), span)
