"""Steps towards a pose, over any scalar: the laws that inverse kinematics repeats.

A step of Levenberg and Marquardt:

    (1)  q <- clip(q, q_min, q_max), each joint turned as near to a reference as its limits allow
    (2)  e, J = error of the selected rows and its derivative                 :mod:`arm_control.kinematics.task_errors`
    (3)  J_f = J without the columns of joints that are at a limit and are pressed against it, (J^T e)_i
    (4)  mu = d |e|^2 + c max |e_i| + 1e-10
    (5)  dq = J_f^T (J_f J_f^T + mu 1)^-1 e = (J_f^T J_f + mu 1)^-1 J_f^T e
    (6)  q <- q + dq min(1, r / max |dq_i|)                                   as long as max |e_i| > tolerance

Of the two forms of (5) the one with the smaller matrix is taken. Near the target mu vanishes with the square of the
error, and the steps become Newton's; far from it they are short, and follow the gradient. With c = 0 they overshoot
where the error cannot vanish: there the curvature of e counts, up to the arm's length times |e|, and c is that length.
Limits act inside the iteration: a joint at a limit takes no part in the step, so that the others make up for it.

A redundant arm goes on to the nearest of all postures at the pose, from one that is there, with the joints that the
pose leaves free:

    minimise |q_p - q|^2 over all q at the pose

    (7)  d = q_p - q
    (8)  n = d - J^T (J J^T + mu 1)^-1 J d                 the part of d that leaves the pose as it is
    (9)  q <- q + J^T (J J^T + mu 1)^-1 e + n / 2          as long as an entry of e or of n is above its tolerance

with the columns of (3). This is the limit w -> 0 of the Locosim lab's two tasks in one (``examples/closed_loop.py``),
whose posture moves the end effector off its target by some w^2. It ends in a local minimum: another start may lead to a
nearer one.

Source: S. K. Chan, P. D. Lawrence, "General inverse kinematics with the error damped pseudoinverse", 1988, for (4);
D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", 1982, for (3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from arm_control.compiler import Law, Loop
from arm_control.kinematics.task_errors import TaskError, task_error
from arm_control.maths import Array, Pose, Scalar, clamp, largest, maximum, minimum, nearest, select
from arm_control.model import TOOL, State, Tree

DAMPING, LONGEST_STEP = 0.01, 2.0
"""d and r [rad or m] of equations (4) and (6)."""
LEAST_DAMPING, AT_LIMIT = 1e-10, 1e-9
SHARE, POSTURE_TOLERANCE = 0.5, 1e-5
"""Share of n in a step, and its largest entry at the end [rad or m]."""
TURN = 2.0 * math.pi


@dataclass(frozen=True)
class Task:
    """What is asked of a pose.

    Attributes
    ----------
    frame : str or None
        The link that is placed; None: the end effector, with its tool.
    task_frame : str
        Whose axes they are along, one of :data:`arm_control.kinematics.task_errors.FRAMES`.
    turning : tuple of bool
        Joints whose range is a whole turn or more: an angle beyond a limit is inside a turn away.
    """

    frame: str | None
    rows: tuple[int, ...]
    task_frame: str
    turning: tuple[bool, ...]


def repeated_step(tree: Tree, task: Task, has_tool: bool) -> Loop:
    """The step as a law to be repeated; without a tool the law is shorter.

    Inputs ``q`` (carried), ``target`` (12: R_WT, p_WT), ``reference`` (n), shared: ``q_min``, ``q_max`` (n),
    ``tolerance``, ``caution`` (c) and, with a tool, ``tool``. Outputs ``q``, ``error`` and ``more``: how far from the
    tolerance.
    """
    n = tree.n
    inputs = {"q": n, "target": 12, "reference": n, "q_min": n, "q_max": n, "tolerance": 1, "caution": 1}
    inputs |= {"tool": TOOL} if has_tool else {}
    structure = [repr(task), DAMPING, LONGEST_STEP]
    law = Law("inverse kinematics", partial(step, tree, task), inputs, structure, has_masses=False)
    return Loop(law, "repeated", tuple(list(inputs)[3:]), ("q",), goes_on="more")


def step(tree: Tree, task: Task, x: Mapping[str, Array]) -> dict[str, Array]:
    """Equations (1) to (6); inputs and outputs are those of :func:`repeated_step`."""
    q = into_limits(x["q"], x["reference"], x["q_min"], x["q_max"], task.turning)  # (1)
    e, J = error_at(tree, task, q, x)  # (2)
    J_f = J * free_joints(q, J.T @ e, x["q_min"], x["q_max"], task.turning)  # (3)
    worst = largest(np.abs(e))
    mu = DAMPING * (e @ e) + x["caution"][0] * worst + LEAST_DAMPING  # (4)
    dq = damped_solution(J_f, e, mu)  # (5)
    more = worst - x["tolerance"][0]
    return {"q": moved(q, dq, more), "error": e, "more": np.array([more])}  # (6)


def repeated_posture_step(tree: Tree, task: Task, has_tool: bool) -> Loop:
    """Equations (7) to (9) as a law to be repeated: one more shared input, ``posture`` (n), than the other step."""
    plain = repeated_step(tree, task, has_tool)
    inputs = {**plain.law.inputs, "posture": tree.n}
    structure = [repr(task), DAMPING, LONGEST_STEP, SHARE]
    law = Law("nearest posture", partial(posture_step, tree, task), inputs, structure, has_masses=False)
    return replace(plain, law=law, shared=(*plain.shared, "posture"))


def posture_step(tree: Tree, task: Task, x: Mapping[str, Array]) -> dict[str, Array]:
    """Equations (7) to (9)."""
    q = into_limits(x["q"], x["reference"], x["q_min"], x["q_max"], task.turning)
    e, J = error_at(tree, task, q, x)
    d = x["posture"] - q  # (7)
    is_free = free_joints(q, J.T @ e + d, x["q_min"], x["q_max"], task.turning)
    J_f, d = J * is_free, d * is_free
    mu = DAMPING * (e @ e) + LEAST_DAMPING
    n = d - damped_solution(J_f, J_f @ d, mu)  # (8)
    dq = damped_solution(J_f, e, mu) + SHARE * n  # (9)
    more = maximum(largest(np.abs(e)) - x["tolerance"][0], largest(np.abs(n)) - POSTURE_TOLERANCE)
    return {"q": moved(q, dq, more), "error": e, "more": np.array([more])}


def error_at(tree: Tree, task: Task, q: Array, x: Mapping[str, Array]) -> TaskError:
    """Equation (2) at joint positions q; of x it reads ``target`` and, with a tool, ``tool``."""
    state = State(tree, {"q": q, **{name: x[name] for name in ("tool",) if name in x}})
    X_WT = Pose(x["target"][:9].reshape(3, 3), x["target"][9:])
    return task_error(state.X_WF(task.frame), X_WT, state.J_WP(task.frame), task.rows, task.task_frame)


def moved(q: Array, dq: Array, more: Scalar) -> Array:
    """Equation (6), shape (n,); ``more`` is above zero as long as steps are to be made."""
    dq = dq * minimum(1.0, LONGEST_STEP / (largest(np.abs(dq)) + LEAST_DAMPING))
    return select(np.array([more] * len(q)), q + dq, q)


def into_limits(q: Array, reference: Array, q_min: Array, q_max: Array, turning: tuple[bool, ...]) -> Array:
    """Equation (1): q within the limits, each joint that turns near to a reference."""
    turned = [_nearest_turn(*numbers) if turns else numbers[0]
              for turns, *numbers in zip(turning, q, reference, q_min, q_max, strict=True)]  # fmt: skip
    return clamp(np.array(turned), q_min, q_max)


def _nearest_turn(q: Scalar, reference: Scalar, q_min: Scalar, q_max: Scalar) -> Scalar:
    near = q - TURN * nearest((q - clamp(reference, q_min, q_max)) * (1.0 / TURN))
    near = near + select(q_min - near, TURN, 0.0)
    return near - select(near - q_max, TURN, 0.0)


def free_joints(q: Array, gradient: Array, q_min: Array, q_max: Array, turning: tuple[bool, ...]) -> Array:
    """1 for each joint that may take part in a step, 0 for one that ``J^T e`` presses against a limit; shape (n,)."""
    is_low = select(q_min + AT_LIMIT - q, select(-gradient, 0.0, 1.0), 1.0)
    is_high = select(q - q_max + AT_LIMIT, select(gradient, 0.0, 1.0), 1.0)
    return np.where(turning, 1.0, is_low * is_high)


def damped_solution(J: Array, e: Array, mu: Scalar) -> Array:
    """Equation (5), shape (n,), for a damping mu above zero."""
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
