"""One step of Levenberg and Marquardt towards a pose, over any scalar: the law that inverse kinematics repeats.

    (1)  q <- clip(q, q_min, q_max), each joint turned as near to a reference as its limits allow
    (2)  e, J = error of the selected rows and its derivative                 :mod:`arm_control.kinematics.task_errors`
    (3)  J_f = J without the columns of joints that are at a limit and are pressed against it, (J^T e)_i
    (4)  mu = d |e|^2 + c max |e_i| + 1e-10
    (5)  dq = J_f^T (J_f J_f^T + mu 1)^-1 e = (J_f^T J_f + mu 1)^-1 J_f^T e
    (6)  q <- q + dq min(1, r / max |dq_i|)                                   as long as max |e_i| > tolerance

Of the two forms of (5) the one with the smaller matrix is taken. Near the target mu vanishes with the square of the
error, and the steps become Newton's; far from it they are short, and follow the gradient. With c = 0 they overshoot
where the error cannot vanish: there the curvature of e counts, up to the arm's length times |e|, and c is that length.
Limits act inside the
iteration: a joint at a limit takes no part in the step, so that the others make up for it.

Source: S. K. Chan, P. D. Lawrence, "General inverse kinematics with the error damped pseudoinverse", 1988, for (4);
D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", 1982, for (3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from arm_control.compiler import Law, Repeat
from arm_control.kinematics.task_errors import TaskError, task_error
from arm_control.maths import Array, Pose, Scalar, clamp, largest, minimum, nearest, select
from arm_control.model import TOOL, State, Tree

DAMPING, LONGEST_STEP = 0.01, 2.0
"""d and r [rad or m] of equations (4) and (6)."""
LEAST_DAMPING, AT_LIMIT = 1e-10, 1e-9
TURN = 2.0 * math.pi


@dataclass(frozen=True)
class Task:
    """What is asked of a pose.

    Attributes
    ----------
    frame : str or None
        The link that is placed; None: the end effector, with its tool.
    rows : tuple of int
        The rows that count.
    task_frame : str
        Whose axes they are along, one of :data:`arm_control.kinematics.task_errors.FRAMES`.
    turning : tuple of bool
        Joints whose range is a whole turn or more: an angle beyond a limit is inside a turn away.
    """

    frame: str | None
    rows: tuple[int, ...]
    task_frame: str
    turning: tuple[bool, ...]


def repeated_step(tree: Tree, task: Task, has_tool: bool) -> Repeat:
    """The step as a law to be repeated.

    Parameters
    ----------
    tree : Tree
        The arm.
    task : Task
    has_tool : bool
        Whether there is a tool; without one the law is shorter.

    Returns
    -------
    Repeat
        Inputs ``q`` (carried), ``target`` (12: R_WT, p_WT), ``reference`` (n), shared: ``q_min``, ``q_max`` (n),
        ``tolerance``, ``caution`` (c) and, with a tool, ``tool``. Outputs ``q``, ``error`` and ``more``: how far from
        the tolerance.
    """
    n = tree.n
    inputs = {"q": n, "target": 12, "reference": n, "q_min": n, "q_max": n, "tolerance": 1, "caution": 1}
    inputs |= {"tool": TOOL} if has_tool else {}
    law = Law("inverse kinematics", partial(step, tree, task), inputs, [repr(task), DAMPING, LONGEST_STEP])
    return Repeat(law, ("q",), "more", tuple(name for name in list(inputs)[3:]))


def step(tree: Tree, task: Task, x: Mapping[str, Array]) -> dict[str, Array]:
    """Equations (1) to (6).

    Parameters
    ----------
    tree : Tree
    task : Task
    x : mapping of str to array
        See :func:`repeated_step`.
    """
    q = into_limits(x["q"], x["reference"], x["q_min"], x["q_max"], task.turning)  # (1)
    e, J = error_at(tree, task, q, x)  # (2)
    J_f = J * free_joints(q, J.T @ e, x["q_min"], x["q_max"], task.turning)  # (3)
    worst = largest(np.abs(e))
    mu = DAMPING * (e @ e) + x["caution"][0] * worst + LEAST_DAMPING  # (4)
    dq = damped_solution(J_f, e, mu)  # (5)
    more = worst - x["tolerance"][0]
    return {"q": moved(q, dq, more), "error": e, "more": np.array([more])}  # (6)


def error_at(tree: Tree, task: Task, q: Array, x: Mapping[str, Array]) -> TaskError:
    """Equation (2).

    Parameters
    ----------
    tree : Tree
    task : Task
    q : array, shape (n,)
        Joint positions [rad or m].
    x : mapping of str to array
        ``target`` and, with a tool, ``tool``.
    """
    state = State(tree, {"q": q, **{name: x[name] for name in ("tool",) if name in x}})
    X_WT = Pose(x["target"][:9].reshape(3, 3), x["target"][9:])
    return task_error(state.X_WF(task.frame), X_WT, state.J_WP(task.frame), task.rows, task.task_frame)


def moved(q: Array, dq: Array, more: Scalar) -> Array:
    """Equation (6), shape (n,).

    Parameters
    ----------
    q, dq : array, shape (n,)
        Joint positions and a step [rad or m].
    more : scalar
        Above zero as long as steps are to be made.
    """
    dq = dq * minimum(1.0, LONGEST_STEP / (largest(np.abs(dq)) + LEAST_DAMPING))
    return select(np.array([more] * len(q)), q + dq, q)


def into_limits(q: Array, reference: Array, q_min: Array, q_max: Array, turning: tuple[bool, ...]) -> Array:
    """Equation (1).

    Parameters
    ----------
    q, reference, q_min, q_max : array, shape (n,)
        Joint positions, where they should be near, and their limits [rad or m].
    turning : tuple of bool
        See :class:`Task`.
    """
    turned = [_nearest_turn(*numbers) if turns else numbers[0]
              for turns, *numbers in zip(turning, q, reference, q_min, q_max, strict=True)]  # fmt: skip
    return clamp(np.array(turned), q_min, q_max)


def _nearest_turn(q: Scalar, reference: Scalar, q_min: Scalar, q_max: Scalar) -> Scalar:
    near = q - TURN * nearest((q - clamp(reference, q_min, q_max)) * (1.0 / TURN))
    near = near + select(q_min - near, TURN, 0.0)
    return near - select(near - q_max, TURN, 0.0)


def free_joints(q: Array, gradient: Array, q_min: Array, q_max: Array, turning: tuple[bool, ...]) -> Array:
    """1 for each joint that may take part in a step, 0 for one that is pressed against a limit; shape (n,).

    Parameters
    ----------
    q, gradient, q_min, q_max : array, shape (n,)
        Joint positions, ``J^T e``, and the limits [rad or m].
    turning : tuple of bool
        See :class:`Task`.
    """
    is_low = select(q_min + AT_LIMIT - q, select(-gradient, 0.0, 1.0), 1.0)
    is_high = select(q - q_max + AT_LIMIT, select(gradient, 0.0, 1.0), 1.0)
    return np.where(turning, 1.0, is_low * is_high)


def damped_solution(J: Array, e: Array, mu: Scalar) -> Array:
    """Equation (5), shape (n,).

    Parameters
    ----------
    J : array, shape (m, n)
        Derivative of the error, with the opposite sign.
    e : array, shape (m,)
        Error.
    mu : scalar
        Damping, above zero.
    """
    m, n = J.shape
    if m <= n:
        return J.T @ _solve(J @ J.T + mu * np.eye(m), e)
    return _solve(J.T @ J + mu * np.eye(n), J.T @ e)


def _solve(S: Array, b: Array) -> Array:
    """As :func:`arm_control.maths.linalg.solve`, with a division for each row only: each costs ten products."""
    n = len(b)
    L, x = np.array(S, dtype=object), np.array(b, dtype=object)
    reciprocals = np.empty(n, dtype=object)
    for k in reversed(range(n)):
        reciprocals[k] = 1.0 / L[k, k]
        row = L[k, :k] * reciprocals[k]
        for i in range(k):
            L[i, : i + 1] = L[i, : i + 1] - row[i] * L[k, : i + 1]
        x[:k] = x[:k] - row * x[k]
        L[k, :k] = row
    x = x * reciprocals
    for i in range(1, n):
        x[i] = x[i] - L[i, :i] @ x[:i]
    return x
