"""Closed-loop inverse kinematics as the Locosim lab has it: Gauss-Newton with a regularisation and a line search.

    (1)  e, J = error of the task, desired minus actual, and -de/dq
    (2)  g = J^T e                                         converged where |g| < eps
    (3)  dq = (J^T J + lambda 1)^-1 g
    (4)  q <- q + alpha dq, alpha = alpha_0 beta^k         the first k with |e| - |e_new| >= gamma alpha |e|

With gamma = 0 any step counts that does not increase the error; with gamma = 0.5, as in the lab's flow chart, a
regularised iteration ends before its minimum. Without line search alpha is alpha_0. Angles turn as often as they like:
:func:`~arm_control.maths.poses.wrap_angle` puts them back.

A redundant arm takes, of all its postures at the target, the one nearest to q_p, by a task that is put below the other:

    (5)  e = (e_x, w (q_p - q)),  J = (J_x, w 1)            so that J^T e = J_x^T e_x + w^2 (q_p - q)

Its gradient is w^2 small wherever the first task is done: eps has to be well below w^2, else the first posture that
reaches the target passes for the nearest one. There may be several minima, each with starts that lead to it. The middle
of the joints' ranges is one choice of q_p; the gravity torque may take the place of the posture.

This is the iteration to learn from. :class:`~arm_control.kinematics.inverse.InverseKinematics` is the one to use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, rpy_from_rotation
from arm_control.model import RobotModel

TaskFunction: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""From joint positions to equation (1)."""
SHORTEST_STEP = 1e-12
"""Step size at which a line search ends."""
POSTURE_SHARE = 0.01
"""Largest eps, as a part of w^2."""


class ClosedLoopResult(NamedTuple):
    """What an iteration came to.

    Attributes
    ----------
    q : ndarray, shape (n,)
        Joint positions, as often turned as the iteration turned them [rad or m].
    converged : bool
        Whether the gradient came below eps.
    iterations : int
        Number of steps.
    errors : ndarray, shape (iterations + 1,)
        ``|e|`` before each step and after the last one.
    """

    q: Array
    converged: bool
    iterations: int
    errors: Array


def closed_loop(
    task: TaskFunction,
    start: npt.ArrayLike,
    *,
    regularisation: float = 1e-8,
    tolerance: float = 1e-6,
    line_search: bool = True,
    step_size: float = 1.0,
    shrinking: float = 0.5,
    decrease: float = 0.0,
    max_iterations: int = 200,
) -> ClosedLoopResult:
    """Equations (1) to (4).

    Parameters
    ----------
    task : callable
        Equation (1).
    start : array_like, shape (n,)
        Joint positions [rad or m].
    regularisation : float
        lambda; it may be 0 where the task has as many independent rows as joints, or a posture.
    tolerance : float
        eps.
    line_search : bool
        Whether steps are shortened.
    step_size, shrinking : float
        alpha_0, and beta, between 0 and 1.
    decrease : float
        gamma.
    max_iterations : int
        Largest number of steps.

    Raises
    ------
    InputError
        When a number is out of bounds.
    """
    if not (tolerance > 0.0 and regularisation >= 0.0 and step_size > 0.0 and 0.0 < shrinking < 1.0):
        raise InputError(
            f"tolerance {tolerance}, regularisation {regularisation}, step_size {step_size}, shrinking {shrinking};"
            " allowed: above 0, at least 0, above 0, between 0 and 1"
        )
    q = np.array(start, dtype=float)
    e, J = task(q)
    errors = [float(np.linalg.norm(e))]
    for iteration in range(max_iterations):
        g = J.T @ e  # (2)
        if np.linalg.norm(g) < tolerance:
            return ClosedLoopResult(q, True, iteration, np.array(errors))
        dq = np.linalg.solve(J.T @ J + regularisation * np.eye(len(q)), g)  # (3)
        alpha = step_size
        q_new, (e, J) = q + alpha * dq, task(q + alpha * dq)
        while line_search and errors[-1] - np.linalg.norm(e) < decrease * alpha * errors[-1] and alpha > SHORTEST_STEP:
            alpha *= shrinking  # (4)
            q_new, (e, J) = q + alpha * dq, task(q + alpha * dq)
        q = q_new
        errors.append(float(np.linalg.norm(e)))
    is_done = bool(np.linalg.norm(J.T @ e) < tolerance)
    return ClosedLoopResult(q, is_done, max_iterations, np.array(errors))


def analytic_jacobian(J: Array, rpy: npt.ArrayLike) -> Array:
    """Jacobian of position and roll-pitch-yaw (3,) [rad], shape (6, n): the angular rows ``J_w`` become ``T^-1 J_w``.

    The columns of T are the axes of the three rates: of roll, the frame's own x; of pitch, the y turned by the yaw; of
    yaw, the world's z. Source: B. Siciliano et al., Robotics: Modelling, Planning and Control, 2009, section 3.6.

    Raises
    ------
    InputError
        When ``|cos(pitch)|`` is below 1e-6: roll and yaw turn about one axis, and their rates are unbounded.
    """
    _, pitch, yaw = np.asarray(rpy, dtype=float).tolist()
    if not abs(math.cos(pitch)) >= 1e-6:
        raise InputError(f"pitch is {pitch:.9g} rad: roll and yaw are not defined; allowed: |cos(pitch)| >= 1e-6")
    sine, cosine, secant = math.sin(yaw), math.cos(yaw), 1.0 / math.cos(pitch)
    tangent = math.sin(pitch) * secant
    T_inverse = [[cosine * secant, sine * secant, 0], [-sine, cosine, 0], [cosine * tangent, sine * tangent, 1]]
    return np.vstack([J[:3], np.array(T_inverse) @ J[3:]])


def position_and_roll(model: RobotModel, position: npt.ArrayLike, roll: float | None = None) -> TaskFunction:
    """The task of the lab: a position, and perhaps the roll of roll, pitch and yaw.

    Parameters
    ----------
    model : RobotModel
    position : array_like, shape (3,)
        Of the end effector in the world [m].
    roll : float, optional
        [rad]; free by default.
    """
    p_d = np.asarray(position, dtype=float)
    if p_d.shape != (3,) or not np.isfinite(p_d).all() or not (roll is None or np.isfinite(roll)):
        raise InputError(f"position {p_d.tolist()}, roll {roll}; allowed: three finite numbers [m], and an angle [rad]")

    def task(q: Array) -> tuple[Array, Array]:
        X, J = model.pose(q), model.jacobian(q)
        if roll is None:
            return p_d - X.p, J[:3]
        rpy = rpy_from_rotation(X.R)
        return np.array([*(p_d - X.p), roll - rpy[0]]), analytic_jacobian(J, rpy)[:4]

    return task


def with_posture(task: TaskFunction, posture: npt.ArrayLike, weight: float, tolerance: float = 1e-6) -> TaskFunction:
    """A task with a posture below it, equation (5).

    Parameters
    ----------
    task : callable
        The first task.
    posture : array_like, shape (n,)
        q_p [rad or m].
    weight : float
        w.
    tolerance : float
        eps of the iteration that it is for.

    Raises
    ------
    InputError
        When eps is not well below w^2.
    """
    q_p = np.asarray(posture, dtype=float)
    return _with_task_below(task, lambda q: (q_p - q, np.eye(len(q))), weight, tolerance)


def with_low_torque(task: TaskFunction, model: RobotModel, weight: float, tolerance: float = 1e-6) -> TaskFunction:
    """A task with the least gravity torque below it: ``e = (e_x, -w g(q))``, ``J = (J_x, w dg/dq)``.

    Parameters
    ----------
    task : callable
        The first task.
    model : RobotModel
    weight : float
        w [1/(N m)].
    tolerance : float
        eps of the iteration that it is for.

    Raises
    ------
    InputError
        When eps is not well below w^2.
    """
    rest = np.zeros(model.nv)

    def torque(q: Array) -> tuple[Array, Array]:
        return -model.gravity(q), model.torque_derivatives(q, rest, rest).tau_q

    return _with_task_below(task, torque, weight, tolerance)


def _with_task_below(task: TaskFunction, lower: TaskFunction, weight: float, tolerance: float) -> TaskFunction:
    """A task with another one below it: ``e = (e_x, w e_low)``, ``J = (J_x, w J_low)``."""
    if not 0.0 < tolerance < POSTURE_SHARE * weight * weight:
        raise InputError(
            f"tolerance is {tolerance:g} with a posture of weight {weight:g}; allowed: below {POSTURE_SHARE:g} weight^2"
            f" = {POSTURE_SHARE * weight * weight:g}"
        )

    def stacked(q: Array) -> tuple[Array, Array]:
        e, J = task(q)
        e_low, J_low = lower(q)
        return np.concatenate([e, weight * e_low]), np.vstack([J, weight * J_low])

    return stacked
