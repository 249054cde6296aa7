"""All postures of a six-joint arm at a pose, in closed form, for the two kinds that most arms belong to.

    three parallel axes    2, 3 and 4 parallel, 5 and 6 meet in c: Universal Robots and their likes
    spherical wrist        2 and 3 parallel, 4, 5 and 6 meet in c: most industrial robots

h_i is the axis of joint i at q = 0 and a_i a point on it, h the common direction of the parallel ones. R is the
rotation of the end effector from its pose at q = 0, c' the place where it takes c, R_i the rotation about h_i by q_i,
and R_h that about h by the sum of the parallel joints. Each equation has the form A cos q + B sin q = C, with two
solutions, or turns one vector into another, with one:

    (1)  h . R_1^T (c' - a_1) = h . (c - a_1)                   q_1: shoulder left and right
    (2)  |l_1 + R_3 l_2|^2 = |s|^2                              q_3: elbow up and down; l_1, l_2, s across h:
             l_1 from axis 2 to axis 3, l_2 from axis 3 to axis 4 or to c, s from axis 2 to where l_2 ends
    (3)  R_2 (l_1 + R_3 l_2) = s                                q_2
    three parallel axes:
    (4)  h . R_5 h_6 = h . R_1^T R h_6                          q_5: wrist with and without flip
    (5)  R_6^T R_5^T h = R^T R_1 h                              q_6
    (6)  R_h = R_1^T R R_6^T R_5^T                              q_2 + q_3 + q_4, and s = c' - R_h (c - a_4) - a_2
    spherical wrist, M = (R_1 R_h)^T R:
    (7)  h_4 . R_5 h_6 = h_4 . M h_6                            q_5: wrist with and without flip
    (8)  R_4 R_5 h_6 = M h_6,  R_6^T R_5^T h_4 = M^T h_4        q_4, q_6

These are starts, which steps of :mod:`arm_control.kinematics.damped_step` complete and check: an arm whose axes were
calibrated, and are nearly parallel, has all its postures, too.

Source: D. L. Pieper, "The kinematics of manipulators under computer control", 1968;
A. J. Elias, J. T. Wen, "IK-Geo: unified robot inverse kinematics using subproblem decomposition", 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from arm_control.compiler import Law
from arm_control.maths import Array, Scalar, atan2, cos, cross, dot, maximum, minimum, select, sin, sqrt
from arm_control.model import State, Tree

PARALLEL, MEETING = 0.02, 0.01
"""Sine of the angle between axes that count as parallel, and distance of axes that count as meeting [m]."""
SHOULDERS, ELBOWS, WRISTS = ("right", "left"), ("up", "down"), ("no flip", "flip")
"""A left shoulder has c on the left of axis 2, seen along it with axis 1 upwards; the upper elbow is the higher one in
the world; a flip is the second solution for joint 5."""
NAMES = tuple(f"shoulder {s}, elbow {e}, wrist {w}" for s, w, e in product(SHOULDERS, WRISTS, ELBOWS))
"""Names of the eight postures, in the order of the law's output."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """Axes of a six-joint arm that has a closed form, at q = 0.

    Attributes
    ----------
    h, a : ndarray, shape (6, 3)
        Direction of each axis and a point on it [m].
    signs : list of float
        1 where axes 2 to 4 point the same way as axis 2, else -1.
    c : ndarray, shape (3,)
        Where the last axes meet [m].
    has_spherical_wrist : bool
        Whether three axes meet; else three are parallel.
    """

    h: Array
    a: Array
    signs: list[float]
    c: Array
    has_spherical_wrist: bool

    def structure(self) -> list[object]:
        """All numbers, for the key of a law."""
        return [self.h.tolist(), self.a.tolist(), self.signs, self.c.tolist(), self.has_spherical_wrist]


def geometry_of(tree: Tree, body: int) -> Geometry | None:
    """The axes of an arm whose body is placed; None where it is of another kind."""
    path = tree.path(body)[::-1]
    bodies = [tree.bodies[i] for i in path]
    is_chain = tree.n == 6 and [b.coordinate for b in bodies] == list(range(6))
    if not is_chain or any(b.is_prismatic or b.ratio != 1 for b in bodies):
        return None
    X_W = State(tree, {"q": np.zeros(6)}).X_W
    h, a = np.array([X_W[i].R[:, 2] for i in path], dtype=float), np.array([X_W[i].p for i in path], dtype=float)
    if not _are_parallel(h[1], h[2]):
        return None
    signs = np.sign(h[1:4] @ h[1]).tolist()
    wrist, gap = _meeting_point(h[4], a[4], h[5], a[5])
    if np.linalg.norm(np.cross(h[3], wrist - a[3])) < MEETING > gap:
        return Geometry(h, a, signs, wrist, True)
    if _are_parallel(h[1], h[3]) and gap < MEETING:
        return Geometry(h, a, signs, wrist, False)
    return None


def _are_parallel(x: Array, y: Array) -> bool:
    return bool(np.linalg.norm(np.cross(x, y)) < PARALLEL)


def _meeting_point(h: Array, a: Array, k: Array, b: Array) -> tuple[Array, float]:
    """Middle of the shortest connection of two lines, and its length; infinite for parallel lines."""
    if _are_parallel(h, k):
        return a, np.inf
    s, t, _ = np.linalg.solve(np.column_stack([h, -k, np.cross(h, k)]), b - a)
    x, y = a + s * h, b + t * k
    return (x + y) / 2.0, float(np.linalg.norm(x - y))


def closed_form_law(geometry: Geometry) -> Law:
    """The law of all postures.

    Inputs ``target`` and ``home`` (12 each: R and p of the end effector, wanted and at q = 0); outputs ``q``, (8, 6),
    and ``slack``, (8,): below zero where an equation has no solution, 0 where its two solutions are one.
    """
    inputs = {"target": 12, "home": 12}
    return Law("all postures", partial(_all_postures, geometry), inputs, geometry.structure(), has_masses=False)


def _all_postures(arm: Geometry, x: Mapping[str, Array]) -> dict[str, Array]:
    R_0, p_0 = x["home"][:9].reshape(3, 3), x["home"][9:]
    R = x["target"][:9].reshape(3, 3) @ R_0.T
    c = R @ (arm.c - p_0) + x["target"][9:]
    shoulders, slack_1 = _solve_sinusoid(*_shoulder_terms(arm, c))  # (1)
    complete = _spherical_wrist if arm.has_spherical_wrist else _three_parallel
    postures = []
    for q_1 in shoulders:
        postures += [(q, minimum(slack_1, slack)) for q, slack in complete(arm, R, c, q_1)]
    return {"q": np.array([q for q, _ in postures]), "slack": np.array([slack for _, slack in postures])}


def _shoulder_terms(arm: Geometry, c: Array) -> tuple[Scalar, Scalar, Scalar]:
    h, k, y = arm.h[1], arm.h[0], c - arm.a[0]
    along = dot(h, k) * dot(k, y)
    return dot(h, y) - along, -dot(h, cross(k, y)), dot(h, arm.c - arm.a[0]) - along


def _three_parallel(arm: Geometry, R: Array, c: Array, q_1: Scalar) -> list[tuple[list[Scalar], Scalar]]:
    h, (h_5, h_6) = arm.h[1], arm.h[4:]
    R_1 = _rotation(arm.h[0], q_1)
    R_1R, c_1 = R_1.T @ R, R_1.T @ (c - arm.a[0]) + arm.a[0]
    postures = []
    along = dot(h, h_5) * dot(h_5, h_6)
    wrists, slack_5 = _solve_sinusoid(dot(h, h_6) - along, dot(h, cross(h_5, h_6)), dot(h, R_1R @ h_6) - along)  # (4)
    for q_5 in wrists:
        u = _rotation(h_5, q_5).T @ h
        q_6 = _angle_between(h_6, R_1R.T @ h, u)  # (5)
        R_h = R_1R @ _rotation(h_6, q_6).T @ _rotation(h_5, q_5).T  # (6)
        w = arm.h[0] - dot(arm.h[0], h) * h
        theta = _angle_between(h, w, R_h @ w)
        s = c_1 - _rotation(h, theta) @ (arm.c - arm.a[3]) - arm.a[1]
        elbows, slack_3 = _elbow(arm, s, arm.a[3] - arm.a[2], R_1)
        for turn_2, turn_3 in elbows:
            turn_4 = theta - turn_2 - turn_3
            q = [q_1, turn_2, arm.signs[1] * turn_3, arm.signs[2] * turn_4, q_5, q_6]
            postures.append((q, minimum(slack_5, slack_3)))
    return postures


def _spherical_wrist(arm: Geometry, R: Array, c: Array, q_1: Scalar) -> list[tuple[list[Scalar], Scalar]]:
    h, (h_4, h_5, h_6) = arm.h[1], arm.h[3:]
    R_1 = _rotation(arm.h[0], q_1)
    c_1 = R_1.T @ (c - arm.a[0]) + arm.a[0]
    elbows, slack_3 = _elbow(arm, c_1 - arm.a[1], arm.c - arm.a[2], R_1)
    along = dot(h_4, h_5) * dot(h_5, h_6)
    by_wrist: dict[int, list[tuple[list[Scalar], Scalar]]] = {0: [], 1: []}
    for turn_2, turn_3 in elbows:
        M = _rotation(h, turn_2 + turn_3).T @ R_1.T @ R
        wrists, slack_5 = _solve_sinusoid(
            dot(h_4, h_6) - along, dot(h_4, cross(h_5, h_6)), dot(h_4, M @ h_6) - along
        )  # (7)
        for k, q_5 in enumerate(wrists):
            R_5 = _rotation(h_5, q_5)
            q_4 = _angle_between(h_4, R_5 @ h_6, M @ h_6)  # (8)
            q_6 = _angle_between(h_6, M.T @ h_4, R_5.T @ h_4)
            by_wrist[k].append(([q_1, turn_2, arm.signs[1] * turn_3, q_4, q_5, q_6], minimum(slack_3, slack_5)))
    return by_wrist[0] + by_wrist[1]


def _elbow(arm: Geometry, s: Array, l_2: Array, R_1: Array) -> tuple[list[tuple[Scalar, Scalar]], Scalar]:
    """Equations (2) and (3): turns about h of joints 2 and 3, the upper elbow first."""
    h = arm.h[1]
    l_1, l_2, s = (_across(h, x) for x in (arm.a[2] - arm.a[1], l_2, s))
    C = 0.5 * (dot(s, s) - dot(l_1, l_1) - dot(l_2, l_2))
    elbows, slack = _solve_sinusoid(dot(l_1, l_2), dot(l_1, cross(h, l_2)), C)
    turns = [(_angle_between(h, l_1 + _rotation(h, turn) @ l_2, s), turn) for turn in elbows]
    heights = [(R_1 @ (_rotation(h, turn_2) @ l_1))[2] for turn_2, _ in turns]
    is_first_higher = heights[0] - heights[1]
    first = tuple(select(is_first_higher, x, y) for x, y in zip(*turns, strict=True))
    second = tuple(select(is_first_higher, y, x) for x, y in zip(*turns, strict=True))
    return [(first[0], first[1]), (second[0], second[1])], slack


def _across(h: Array, x: Array) -> Array:
    return x - dot(h, x) * h


def _solve_sinusoid(A: Scalar, B: Scalar, C: Scalar) -> tuple[list[Scalar], Scalar]:
    """Both solutions of ``A cos q + B sin q = C``, and how far it is from having one only, as a part of A^2 + B^2."""
    squared = A * A + B * B
    middle, half = atan2(B, A), atan2(sqrt(maximum(squared - C * C, 0.0)), C)
    return [middle + half, middle - half], (squared - C * C) / maximum(squared, 1e-12)


def _angle_between(k: Array, x: Array, y: Array) -> Scalar:
    """Angle of the rotation about k that turns x, across k, towards y."""
    return atan2(dot(k, cross(x, y)), dot(_across(k, x), y))


def _rotation(k: Array, q: Scalar) -> Array:
    """Rotation matrix about a unit vector (O. Rodrigues)."""
    s, c = sin(q), cos(q)
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    return np.eye(3) + s * K + (1.0 - c) * (K @ K)
