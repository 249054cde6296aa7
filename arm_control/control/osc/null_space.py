"""Tasks in order of priority: a lower task moves only what all higher tasks leave free.

In joint accelerations, with the Jacobians J_1, J_2, ... of the tasks, the most important one first, and the weighted
mass matrix M_w (:mod:`~arm_control.control.osc.posture`, equal to M away from joint limits),

    (1)  J_k| = J_k N_1 ... N_{k-1},   N_j = 1 - J_j|# J_j|                        the part of J_k left free
    (2)  J_k|# = M_w^-1 J_k|^T Lambda_k,   Lambda_k = (J_k| M_w^-1 J_k|^T)^-1      the inverse of that part
    (3)  J# A = a_1 + a_2 + ...,   a_k = J_k|# (A_k - J_k (a_1 + ... + a_{k-1}))   joint acceleration for A
    (4)  N a = ... N_2 N_1 a                                                       the part of a that no task feels

so that ``J_k N = 0`` for every task k. Units: A [m/s^2, rad/s^2]; a [rad/s^2 or m/s^2]; J# [rad/m or 1]; Lambda [kg,
kg m^2]. With ``M_w = M`` and one task, ``M J# = J^T Lambda``, as Khatib writes it.

Near a singularity a direction fades out of a task where its singular value is below the threshold s
(:mod:`~arm_control.control.osc.task_inertia`). There are two inverses: J# fades below s, J_firm# below s / 20.

    (5)  N = 1 - J_firm# J,   N_fade = 1 - J# J

Springs and lower tasks go through N, which gives them a direction only next to the singularity itself: nothing holds
the arm away from a target that it is still approaching. Dampers go through N_fade, which gives it to them at once.
Away from singularities both are the N of (4).

Sources: O. Khatib, "A unified approach for motion and force control of robot manipulators", 1987, on redundant arms,
for one task and a posture (torque ``(1 - J^T Jbar^T) Gamma_0``, Jbar being J#); L. Sentis, O. Khatib, "Synthesis of
whole-body behaviors through hierarchical control of behavioral primitives", 2005, for several tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.osc_parameters import Gains
from arm_control.control.osc.task import Tasks
from arm_control.control.osc.task_inertia import TaskInertia, fading_inertia, regularity, task_inertia
from arm_control.maths import Array, Scalar, inverse, select, stored

FIRM = 0.05
"""Threshold of J_firm#, as a share of s."""


class Level(NamedTuple):
    """One task of the hierarchy.

    Attributes
    ----------
    rows : tuple of int
        Rows of a twist.
    J, J_free : ndarray, shape (m, n)
        ``J_k`` and ``J_k|``.
    J_sharp, J_firm : ndarray, shape (n, m)
        ``J_k|#`` and ``J_k|firm#``.
    """

    rows: tuple[int, ...]
    J: Array
    J_free: Array
    J_sharp: Array
    J_firm: Array


class TaskInverse(NamedTuple):
    """``J#``, an operator: ``J_sharp @ A`` is equation (3)."""

    levels: tuple[Level, ...]

    def __matmul__(self, A: Array) -> Array:
        """Joint acceleration (n,) for a task acceleration (6,); or joint velocity for a twist."""
        a = np.zeros(self.levels[0].J.shape[1])
        for k, level in enumerate(self.levels):
            A_k = A[list(level.rows)]
            a = a + level.J_sharp @ (A_k - level.J @ a if k else A_k)  # (3)
        return a


class NullSpace(NamedTuple):
    """``N``, an operator: ``N @ a`` is equation (4); for each task ``J_k|`` (m, n) and its inverse (n, m)."""

    factors: tuple[tuple[Array, Array], ...]

    def __matmul__(self, a: Array) -> Array:
        """The part of a joint acceleration (n,) that no task feels."""
        for J_free, J_inverse in self.factors:
            a = a - J_inverse @ (J_free @ a)
        return a


def dynamically_consistent_inverse(
    J: Array, M_w: Array, gains: Gains, tasks: Tasks, inertia: TaskInertia = fading_inertia
) -> tuple[TaskInverse, NullSpace, NullSpace]:
    """``J#``, ``N`` and ``N_fade`` of equations (3) to (5).

    Parameters
    ----------
    tasks : tuple of tuple of int
        Rows of each task, the most important task first.
    inertia : function
        Lambda_k of (2).
    """
    levels = build_hierarchy(J, M_w, gains, tasks, inertia)
    N = NullSpace(tuple((level.J_free, level.J_firm) for level in levels))
    N_fade = NullSpace(tuple((level.J_free, level.J_sharp) for level in levels))
    return TaskInverse(levels), N, N_fade


def build_hierarchy(
    J: Array, M_w: Array, gains: Gains, tasks: Tasks, inertia: TaskInertia = fading_inertia
) -> tuple[Level, ...]:
    """The tasks with their inverses, equations (1) and (2); see :func:`dynamically_consistent_inverse`."""
    M_w_inv = inverse(M_w)
    levels: list[Level] = []
    for rows in tasks:
        J_k = J[list(rows)]
        J_free = _free_part(levels, J_k)  # (1)

        def consistent_inverse(threshold: Scalar, J_free: Array = J_free, rows: tuple[int, ...] = rows) -> Array:
            Lambda = task_inertia(J_free, M_w, gains.length, threshold, M_inv=M_w_inv, rows=rows, inertia=inertia)
            return (M_w_inv @ J_free.T) @ Lambda  # (2)

        J_sharp = consistent_inverse(gains.singular_value)
        J_firm = consistent_inverse(FIRM * gains.singular_value) if inertia is fading_inertia else J_sharp
        levels.append(Level(rows, J_k, J_free, J_sharp, J_firm))
    return tuple(levels)


def _free_part(levels: Sequence[Level], J: Array) -> Array:
    """``J N``, shape (m, n): rows of a Jacobian without the part that the levels take."""
    for level in levels:
        J = J - (J @ level.J_firm) @ level.J_free
    return J


def smallest_regularity(levels: Sequence[Level], gains: Gains) -> Scalar:
    """Return a number above zero exactly where no direction of any task fades."""
    length, s = gains.length, gains.singular_value
    values = [regularity(stored(level.J_free, s), length, s, level.rows) for level in levels]
    smallest = values[0]
    for value in values[1:]:
        smallest = select(smallest - value, value, smallest)
    return smallest
