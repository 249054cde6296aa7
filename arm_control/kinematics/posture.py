"""The nearest of all postures at a pose: what a redundant arm does with the joints that the pose leaves free.

    minimise |q_p - q|^2 over all q at the pose, from a posture that is there:

    (1)  d = q_p - q
    (2)  n = d - J^T (J J^T + mu 1)^-1 J d                 the part of d that leaves the pose as it is
    (3)  q <- q + J^T (J J^T + mu 1)^-1 e + n / 2          as long as an entry of e or of n is above its tolerance

e and J are those of the selected rows, without the columns of joints that are pressed against a limit. This is the
limit w -> 0 of the Locosim lab's two tasks in one (``examples/closed_loop.py``), whose posture moves the
end effector off its target by some w^2. It ends in a local minimum: another start may lead to a nearer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from arm_control.compiler import Law, Repeat
from arm_control.kinematics.damped_step import (
    DAMPING,
    LEAST_DAMPING,
    LONGEST_STEP,
    Task,
    damped_solution,
    error_at,
    free_joints,
    into_limits,
    moved,
    repeated_step,
)
from arm_control.maths import Array, largest, maximum
from arm_control.model import Tree

SHARE, POSTURE_TOLERANCE = 0.5, 1e-5
"""Share of n in a step, and its largest entry at the end [rad or m]."""
POSTURE_LIMIT = 300
"""Largest number of steps."""


def repeated_posture_step(tree: Tree, task: Task, has_tool: bool) -> Repeat:
    """Equations (1) to (3) as a law to be repeated.

    Parameters
    ----------
    tree, task, has_tool
        As for :func:`~arm_control.kinematics.damped_step.repeated_step`; the law has one more shared input,
        ``posture`` (n).
    """
    step = repeated_step(tree, task, has_tool)
    inputs = {**step.law.inputs, "posture": tree.n}
    structure = [repr(task), DAMPING, LONGEST_STEP, SHARE]
    law = Law("nearest posture", partial(posture_step, tree, task), inputs, structure)
    return Repeat(law, step.carried, step.goes_on, (*step.shared, "posture"))


def posture_step(tree: Tree, task: Task, x: Mapping[str, Array]) -> dict[str, Array]:
    """Equations (1) to (3).

    Parameters
    ----------
    tree : Tree
    task : Task
    x : mapping of str to array
        See :func:`repeated_posture_step`.
    """
    q = into_limits(x["q"], x["reference"], x["q_min"], x["q_max"], task.turning)
    e, J = error_at(tree, task, q, x)
    d = x["posture"] - q  # (1)
    is_free = free_joints(q, J.T @ e + d, x["q_min"], x["q_max"], task.turning)
    J_f, d = J * is_free, d * is_free
    mu = DAMPING * (e @ e) + LEAST_DAMPING
    n = d - damped_solution(J_f, J_f @ d, mu)  # (2)
    dq = damped_solution(J_f, e, mu) + SHARE * n  # (3)
    more = maximum(largest(np.abs(e)) - x["tolerance"][0], largest(np.abs(n)) - POSTURE_TOLERANCE)
    return {"q": moved(q, dq, more), "error": e, "more": np.array([more])}
