"""Pose paths: lines, arcs and blends of the end effector by the length of their way, orientation included.

The parameter s of a path is the length of its way [m], so that its twist by s has a linear part of length 1; where the
position stays it is the angle [rad]. The orientation turns about one axis, evenly along a line or an arc:

    (1)  line    p = p_0 + d s,                                  R = exp(r s / L) R_0,      r = log(R_1 R_0^T)
    (2)  arc     p = c + rho (x cos(s/rho) + y sin(s/rho)),      the same R

Between a line and the next one a blend takes the place of the corner: the quintic that has position, direction and zero
curvature of both lines a distance away from the corner. Position, direction and curvature are continuous everywhere.

A path becomes a motion of the joints in :mod:`arm_control.motion.cartesian_motion`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, rotation_from_vector, rotation_vector
from arm_control.motion.pose_trajectory import LARGEST_TURN, PosePoints

SHORTEST = 1e-9
"""Length of a way below which there is none [m or rad]."""
ARC_STEP = 0.05
"""Angle between two points of an arc [rad]: the quintic between them is then off by less than 1e-12 of its radius."""


def line(X_0: Pose, X_1: Pose) -> PosePoints:
    """Return the straight path between two poses, equation (1).

    Raises
    ------
    InputError
        When they are one pose, or more than 175 degrees apart.
    """
    return blended((X_0, X_1), 0.0)


def blended(poses: Sequence[Pose], radius: float) -> PosePoints:
    """Return the path along straight lines with blends in place of the corners.

    Parameters
    ----------
    radius : float
        Distance of a blend's ends from its corner [m], at most half of the shorter line.

    Raises
    ------
    InputError
        When there are fewer than two poses, two neighbours are one, or more than 175 degrees apart, or there are
        corners and no radius.
    """
    if len(poses) < 2:
        raise InputError(f"a path of {len(poses)} poses: at least two are needed")
    if len(poses) > 2 and not radius > 0.0:
        raise InputError(f"radius = {radius}: a blend needs a positive distance from its corner [m]")
    lines = [_Line(k, a, b) for k, (a, b) in enumerate(itertools.pairwise(poses))]
    s, nodes, Vs = [0.0], [poses[0]], [lines[0].V]
    done = 0.0  # of the present line
    for before, after in itertools.pairwise(lines):
        r = min(radius, before.L / 2.0, after.L / 2.0)
        s += [s[-1] + before.L - r - done, s[-1] + before.L + r - done]
        nodes += [before.at(before.L - r), after.at(r)]
        Vs += [before.V, after.V]
        done = r
    s.append(s[-1] + lines[-1].L - done)
    nodes.append(poses[-1])
    Vs.append(lines[-1].V)
    distinct = [k for k in range(len(s)) if not k or s[k] - s[k - 1] > SHORTEST]
    return PosePoints(
        np.array(s)[distinct], tuple(nodes[k] for k in distinct), np.array(Vs)[distinct], np.zeros((len(distinct), 6))
    )


def arc(X_0: Pose, via: npt.ArrayLike, X_1: Pose) -> PosePoints:
    """Return the path on the circle through three places, equation (2).

    Parameters
    ----------
    via : array_like, shape (3,)
        A place in between [m].

    Raises
    ------
    InputError
        When the three places lie on a line, or the ends are turned by more than 175 degrees.
    """
    a, b = np.asarray(via, dtype=float) - X_0.p, X_1.p - X_0.p
    normal = np.cross(a, b)
    if a.shape != (3,) or not np.linalg.norm(normal) > SHORTEST * np.linalg.norm(a) * np.linalg.norm(b):
        raise InputError(f"{X_0.p.tolist()}, {np.asarray(via).tolist()} and {X_1.p.tolist()} lie on a line: no arc")
    to_center = np.cross((a @ a) * b - (b @ b) * a, normal) / (2.0 * normal @ normal)
    rho = float(np.linalg.norm(to_center))
    x, axis = -to_center / rho, normal / np.linalg.norm(normal)
    y = np.cross(axis, x)
    end = b - to_center
    angle = math.atan2(end @ y, end @ x) % (2.0 * math.pi)
    L, turn = rho * angle, _turn(0, X_0, X_1)
    s = np.linspace(0.0, L, math.ceil(angle / ARC_STEP) + 1)
    cosine, sine = np.cos(s / rho)[:, None], np.sin(s / rho)[:, None]
    out = cosine * x + sine * y
    spin = np.broadcast_to(turn / L, (len(s), 3))
    poses = tuple(
        Pose(rotation_from_vector(turn * share) @ X_0.R, X_0.p + to_center + rho * o)
        for share, o in zip(s / L, out, strict=True)
    )
    Vs, As = np.hstack([cosine * y - sine * x, spin]), np.hstack([-out / rho, np.zeros((len(s), 3))])
    return PosePoints(s, poses, Vs, As)


class _Line:
    """A straight piece of a path: its length and its twist by s."""

    def __init__(self, number: int, X_0: Pose, X_1: Pose) -> None:
        turn, way = _turn(number, X_0, X_1), X_1.p - X_0.p
        distance = float(np.linalg.norm(way))
        self.L = distance if distance > SHORTEST else float(np.linalg.norm(turn))
        if not self.L > SHORTEST:
            raise InputError(f"poses {number} and {number + 1} are one: leave one out")
        self.V = np.concatenate([way, turn]) / self.L
        self._X_0 = X_0

    def at(self, s: float) -> Pose:
        """The pose at a length of the way."""
        return Pose(rotation_from_vector(self.V[3:] * s) @ self._X_0.R, self._X_0.p + self.V[:3] * s)


def _turn(number: int, X_0: Pose, X_1: Pose) -> Array:
    """Rotation vector from one pose to the next."""
    turn = rotation_vector(X_1.R @ X_0.R.T)
    angle = float(np.linalg.norm(turn))
    if angle > LARGEST_TURN:
        raise InputError(f"poses {number} and {number + 1} are {math.degrees(angle):.0f} deg apart: put one in between")
    return turn
