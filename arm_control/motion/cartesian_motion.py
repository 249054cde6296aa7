"""Paths of the end effector by the length of their way, and motions of the joints along them.

The parameter s of a path is the length of its way [m], so that its twist by s has a linear part of length 1; where the
position stays it is the angle [rad]. The orientation turns about one axis, evenly along a line or an arc:

    (1)  line    p = p_0 + d s,                                  R = exp(r s / L) R_0,      r = log(R_1 R_0^T)
    (2)  arc     p = c + rho (x cos(s/rho) + y sin(s/rho)),      the same R

Between a line and the next one a blend takes the place of the corner: the quintic that has position, direction and zero
curvature of both lines a distance away from the corner. Position, direction and curvature are continuous everywhere.

The joints keep the end effector on a path by inverse kinematics at all three levels. At points of the path, with the
rows of a task that the inverse kinematics serves,

    (3)  e(q) = 0                              position, from the one before: the branch is kept
    (4)  E J v = V_des                         velocity
    (5)  E J a = A_des - E Jdot v              acceleration

where E takes the rows; for a turn with a free axis it is the exact row of :mod:`~arm_control.maths.free_axes`. Between
two points the joints follow the quintic with position, velocity and acceleration of both. It leaves the path by a term
of sixth order in their distance, which is measured in the middle of every piece: where it is too large, the branch
cannot be kept, or the points are too few. A path through a singularity of the task is refused as well.

The parameter may be time, for a motion, or the length of the way, for a path that
:class:`~arm_control.planning.time_scaling.TimeScaler` makes a motion of.

    >>> from arm_control import Pose, RobotModel, urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> start = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
    >>> X = model.pose(start)
    >>> way = line(X, Pose(X.R, X.p + [0.0, 0.3, 0.1]))
    >>> joints = follow_path(InverseKinematics(model), PoseTrajectory(way), start)
    >>> float(np.abs(model.pose(joints.end.q_des).p - X.p - [0.0, 0.3, 0.1]).max()) < 1e-12
    True

Source: B. Siciliano et al., "Robotics: modelling, planning and control", 2009, sections 3.7 and 4.3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics, task_error
from arm_control.maths import Array, Pose, partial_turns, rotation_from_vector, rotation_vector
from arm_control.motion.joint_trajectory import JointTrajectory, powers
from arm_control.motion.pose_trajectory import LARGEST_TURN, PosePoints, PoseTrajectory
from arm_control.motion.references import Reference

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
    """Return the path on the circle through three places, ``via`` (3,) [m] in between, equation (2).

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


SMALLEST_SINGULAR_VALUE = 1e-3
"""Of the Jacobian of the selected rows [m or 1], below which a path counts as singular."""
OFF_PATH = 1e-6
"""Largest error between two points [m or rad]."""
NEWTON_STEPS = 2
"""Steps that take the rows of a solution from the solver's tolerance to rounding."""
START = 1e-3
"""Largest distance of the start from the first pose [m or rad]."""


def follow_path(ik: InverseKinematics, path: PoseTrajectory, start: npt.ArrayLike, n: int = 100) -> JointTrajectory:
    """Return the motion of the joints along a path of the end effector.

    Parameters
    ----------
    ik : InverseKinematics
        Of the arm, with the rows that are to follow; of the end effector.
    path : PoseTrajectory
        Poses, twists and accelerations by time or length of the way, in the world.
    start : array_like, shape (nv,)
        Joint positions at its first pose: they choose the branch [rad or m].
    n : int
        Smallest number of pieces.

    Raises
    ------
    InputError
        When the start is not at the first pose, a pose cannot be reached, the path leads through a singularity, or the
        branch ends.
    """
    rows = ik.rows
    q = np.asarray(start, dtype=float)
    if ik.frame is not None:
        raise InputError("the inverse kinematics is of another frame: a path is one of the end effector")
    if rows.frame != "world" and len([row for row in rows.numbers if row < 3]) in (1, 2):
        raise InputError(f"rows {rows}: one or two places along axes that turn cannot follow a path; allowed: x y z")
    distance = float(np.abs(ik.error(q, path.sample(float(path.points.times[0])).X_WT)).max())
    if not distance < START:
        raise InputError(f"the start is {distance:.4g} m or rad from the first pose; allowed: {START:g}")
    times = _points(path.points.times, n)
    states: list[tuple[Array, Array, Array]] = []
    for k, t in enumerate(times):
        reference = path.sample(min(float(t), np.nextafter(path.duration, -np.inf)))
        if k:
            q, v, a = states[-1]
            h = t - times[k - 1]
            q = q + h * (v + 0.5 * h * a)
        states.append(_state(ik, reference, q, float(t)))
    qs, vs, as_ = (np.array(parts) for parts in zip(*states, strict=True))
    joints = JointTrajectory.through_knots(times, qs, vs, as_)
    _check_branch(ik, path, joints)
    return joints


def task_rates(ik: InverseKinematics, q: Array, v: Array, reference: Reference) -> tuple[Array, Array, Array]:
    """Equations (4) and (5) in one state, ``J v = V`` and ``J a = A``: J, V, and A, which holds for the velocity v."""
    terms = ik.model.evaluate(q, v)
    linear = [row for row in ik.rows.numbers if row < 3]
    axes = [row - 3 for row in ik.rows.numbers if row >= 3]
    J, V, A = terms.J, reference.V_des, reference.A_des - terms.Jdot_v
    if len(axes) in (1, 2):
        rates = terms.V_WE[3:], reference.V_des[3:], reference.A_des[3:]
        in_world = ik.rows.frame == "world"
        E, V_turn, A_turn = partial_turns(terms.X_WE.R, reference.X_WT.R, rates, axes, in_world=in_world)
        J, V = np.vstack([J[:3], E @ J[3:]]), np.concatenate([V[:3], V_turn])
        A = np.concatenate([A[:3], A_turn - E @ terms.Jdot_v[3:]])
    chosen = [*linear, *(axis + 3 for axis in axes)]
    return J[chosen], V[chosen], A[chosen]


def _points(knots: Array, n: int) -> Array:
    """Points that include all knots, evenly between them."""
    spans = np.diff(knots)
    counts = np.maximum(np.ceil(n * spans / spans.sum() - 1e-9), 1).astype(int)
    parts = [a + (b - a) * np.arange(m) / m for a, b, m in zip(knots[:-1], knots[1:], counts, strict=True)]
    return np.concatenate([*parts, knots[-1:]])


def _state(ik: InverseKinematics, reference: Reference, near: Array, t: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations at a point of the path."""
    model = ik.model
    result = ik.solve(reference.X_WT, near)
    if not result.converged:
        raise InputError(f"the path cannot be followed at {t:.4g}: {result.why}")
    q = result.q
    for _ in range(NEWTON_STEPS):
        task = task_error(model.pose(q), reference.X_WT, model.jacobian(q), ik.rows.numbers, ik.rows.frame)
        q = q + _inverse(task.J, t) @ task.e  # (3)
    J, V, _ = task_rates(ik, q, np.zeros(model.nv), reference)
    J_inverse = _inverse(J, t)
    v = J_inverse @ V  # (4)
    _, _, A = task_rates(ik, q, v, reference)
    return q, v, J_inverse @ A  # (5)


def _inverse(J: Array, t: float) -> Array:
    """Return the pseudo-inverse of the Jacobian at a parameter t of the path, shape (nv, m)."""
    U, sigma, V = np.linalg.svd(J, full_matrices=False)
    if sigma[-1] < SMALLEST_SINGULAR_VALUE or len(sigma) < len(J):
        raise InputError(
            f"the path leads through a singularity at {t:.4g}: the smallest singular value is {sigma[-1]:.2g},"
            f" allowed are {SMALLEST_SINGULAR_VALUE:g} and more"
        )
    return (V.T / sigma) @ U.T


def _check_branch(ik: InverseKinematics, path: PoseTrajectory, joints: JointTrajectory) -> None:
    """Refuse pieces that leave the path."""
    halves = 0.5 * np.diff(joints.knots)
    for t, half, piece in zip(joints.knots[:-1] + halves, halves, joints.pieces, strict=True):
        q = powers(half)[0] @ piece
        error = float(np.abs(ik.error(q, path.sample(float(t)).X_WT)).max())
        if not error <= OFF_PATH:
            raise InputError(
                f"the joints leave the path by {error:.2g} m or rad near {t:.4g}: the branch of the inverse kinematics"
                f" ends there, or {len(joints.pieces)} pieces are too few; allowed: {OFF_PATH:g}"
            )
