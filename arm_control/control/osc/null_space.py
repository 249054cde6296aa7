"""Tasks above each other: what is below moves only what all those above leave free.

In accelerations of the joints, with the Jacobians J_1, J_2, ... of tasks, the most important first,

    (1)  J_k| = J_k N_k,    N_k = (1 - J_1|# J_1|) ... (1 - J_k-1|# J_k-1|)         what the tasks above leave of J_k
    (2)  J_k|# = W J_k|^T Lambda_k,    Lambda_k = (J_k| W J_k|^T)^-1
    (3)  a_k = J_k|# (A_k - J_k (a_1 + ... + a_k-1))

so that ``J_k N_j = 0`` for every task k above j: an acceleration filtered by N_j is felt by nothing above it. Where a
direction fades out of a task near a singularity, what is below gets it only next to the singularity itself, where
the threshold of a singular value has fallen to a twentieth (J_firm#); nothing but damping gets it at once (J#). So
nothing holds the arm away from a target that it is still approaching. With
``W = M^-1`` this is the dynamically consistent inverse, and ``M a_k = J_k|^T Lambda_k (...)``. Near the limit of a
joint W is that of an arm in which the joint weighs more,

    (4)  W = (M + diag(M_ii k x_i^2 / (1 - x_i)^2))^-1        x_i: how far joint i is into the zone before its limit

so that an arm with joints to spare uses others. (An exact inverse stays exact whatever its weight.)

The pseudo-inverse, torque filtered by ``1 - J^T (J J^T)^-1 J``, looks alike and lets the torque through to the task:
it takes no account of the inertia that couples the joints. It is here only to be seen.

Sources: O. Khatib, "A unified approach for motion and force control of robot manipulators", 1987, eqs. 49 to 51,
for two; L. Sentis, O. Khatib, "Synthesis of whole-body behaviors through hierarchical control of behavioral
primitives", 2005, for several; T. Chan, R. Dubey, "A weighted least-norm solution based scheme for avoiding joint
limits for redundant joint manipulators", 1995, for the idea of (4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.osc_parameters import Form, Gains
from arm_control.control.osc.task_inertia import regularity, task_inertia
from arm_control.maths.linalg import inverse
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, select


class Level(NamedTuple):
    """One task among others.

    Attributes
    ----------
    rows : tuple of int
        Its rows of a twist.
    J, J_free : ndarray, shape (m, n)
        Its Jacobian, and what the tasks above leave of it.
    J_sharp, J_firm : ndarray, shape (n, m)
        Weighted inverses of ``J_free``, from which directions fade early and late.
    """

    rows: tuple[int, ...]
    J: Array
    J_free: Array
    J_sharp: Array
    J_firm: Array


FIRM = 0.05
"""Share of the threshold of a singular value down to which a task gives nothing to what is below it."""


def stack(J: Array, M: Array, form: Form, g: Gains, is_regular: bool) -> list[Level]:
    """Return the tasks above each other, equations (1) and (2).

    Parameters
    ----------
    J : array, shape (6, n)
        Jacobian of the whole twist.
    M : array, shape (n, n)
        Mass matrix, of an arm whose joints may weigh more than they do: the inverse of W.
    form : Form
    g : Gains
    is_regular : bool
        No singular value of any ``J_free`` is below the threshold.
    """
    levels: list[Level] = []
    W = inverse(M)

    def inverse_of(J_free: Array, threshold: Scalar, rows: tuple[int, ...]) -> Array:
        Lambda = task_inertia(
            J_free, M, g.length, threshold,
            M_inv=W, rows=rows, singularity=form.singularity, is_regular=is_regular,
        )  # fmt: skip
        return (W @ J_free.T) @ Lambda  # (2)

    for rows in form.levels:
        J_free = left_free(levels, J[list(rows)])  # (1)
        J_sharp = inverse_of(J_free, g.singular_value, rows)
        fades = form.singularity == "fade" and not is_regular
        J_firm = inverse_of(J_free, FIRM * g.singular_value, rows) if fades else J_sharp
        levels.append(Level(rows, J[list(rows)], J_free, J_sharp, J_firm))
    return levels


def left_free(levels: Sequence[Level], J: Array) -> Array:
    """Rows of a Jacobian (m, n) without what the levels take: ``J N``."""
    for level in levels:
        J = J - (J @ level.J_firm) @ level.J_free
    return J


def beneath(levels: Sequence[Level], a: Array, early: bool = False) -> Array:
    """Filter joint accelerations (n,) so that no task feels them: ``N a``; ``early``: they get what fades at once."""
    for level in levels:
        inverse_of_J = level.J_sharp if early else level.J_firm
        a = a - inverse_of_J @ (level.J_free @ a)
    return a


def beneath_pseudo(levels: Sequence[Level], torque: Array) -> Array:
    """Filter a torque (n,) by the pseudo-inverse, to see that the tasks do feel it."""
    for level in levels:
        J = level.J_free
        torque = torque - J.T @ (inverse(J @ J.T) @ (J @ torque))
    return torque


def joint_motion(levels: Sequence[Level], x: Array) -> Array:
    """Joint acceleration (n,) for that of a twist (6,), equation (3); or joint velocity for the twist itself."""
    found = np.zeros(levels[0].J.shape[1])
    for k, level in enumerate(levels):
        wanted = x[list(level.rows)]
        found = found + level.J_sharp @ (wanted - level.J @ found if k else wanted)
    return found


def smallest_regularity(levels: Sequence[Level], g: Gains) -> Scalar:
    """A number above zero exactly where no direction of any task fades."""
    found = [regularity(level.J_free, g.length, g.singular_value, level.rows) for level in levels]
    smallest = found[0]
    for x in found[1:]:
        smallest = select(smallest - x, x, smallest)
    return smallest
