"""Turns with a free axis: the rates of an orientation error that leaves one or two of three turns free.

The hand has axes E, its target has axes T. Of the relative rotation R an error counts that some turns do not change:
the twist about one axis k, or the angle between k and ``u = R k``. Its rate is no projection of ``w_T - w_E`` on the
hand's axes. With all vectors in axes in which ``R' = [W] R`` and k is at rest, ``W = w_T - w_E`` and ``c = k^T u``,

one turn, the twist psi about k:

    (1)  psi' = s^T W,   s = (k + u) / (1 + c)
    (2)  psi'' = s^T W' + psi' (k x u)^T W / (1 + c)

two turns, the angle theta between k and u, n the unit vector along ``k x u``; Q is the shortest rotation from u to k:

    (3)  theta' = n^T W = n^T y,   y = P (Q w_T - w_E),   P = 1 - k k^T
    (4)  y' = P (Q w_T' + Q' w_T - w_E')
    (5)  Q = 1 + [a] + [a]^2 / (1 + c),   a = u x k

A law that makes ``psi'' = -k_v psi' - k_p psi`` is exact at any distance. In (4) components are along axes that spin
with the hand, at ``k^T w_E``; the law that does not feel its spin has ``y' + k^T w_E k x y = -k_v y - k_p e``.

The axes are those of the hand, where ``W' = alpha_T - alpha_E + w_T x w_E``. For turns about the world's axes they are
those of the world, with the hand's quantities turned by R, and ``W' = alpha_T - R alpha_E - w_T x w_E``.

    w, alpha    angular velocities and accelerations of E and T      [rad/s, rad/s^2]
    s, Q, P     row of one turn; rotation and projection of two      [-]

Where u = -k the error itself has no direction; ``1 + c`` is bounded below there.

Sources: P. Dobrowolski, "Swing-twist decomposition in Clifford algebra", 2015, for the twist; F. Bullo, R. Murray,
"Tracking for fully actuated mechanical systems: a geometric framework", 1999, for a velocity carried from one
direction to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.maths.linalg import cross, dot, skew
from arm_control.maths.scalars import Array, maximum

SMALLEST = 0.01
"""Lower bound of ``1 + c`` [-]: reached where the free axes are 172 degrees apart."""


class Turns(NamedTuple):
    """Rates of a partial orientation error: ``e' = V_des - V``, as a task of the hand has them.

    Attributes
    ----------
    E : array, shape (3, 3)
        From angular quantities of the hand in the world to the task: ``V = E w_E``.
    V_des : array, shape (3,)
        The target's part [rad/s].
    A_des : array, shape (3,)
        Acceleration ``E alpha_E`` at which ``e'`` is constant [rad/s^2].
    """

    E: Array
    V_des: Array
    A_des: Array


def partial_turns(
    R_WE: Array, R_WT: Array, rates: tuple[Array, Array, Array], axes: Sequence[int], *, in_world: bool
) -> Turns:
    """Rates of the error of one or two turns, equations (1) to (5); 0 in the rows that do not count.

    Parameters
    ----------
    R_WE, R_WT : array, shape (3, 3)
        Axes of the hand and of its target, in the world.
    rates : tuple of array, shape (3,)
        ``w_E`` [rad/s], ``w_T`` [rad/s] and ``alpha_T`` [rad/s^2], in the world.
    axes : sequence of int
        The one or two of the axes 0, 1, 2 about which turns count.
    in_world : bool
        Whether the axes are those of the world; else they are those of the hand, and of the target.

    Examples
    --------
    >>> turning = np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3)
    >>> partial_turns(np.eye(3), np.eye(3), turning, [2], in_world=False).V_des
    array([0., 0., 1.])
    """
    G_E, G_T = (R_WT @ R_WE.T, np.eye(3)) if in_world else (R_WE.T, R_WE.T)
    R = G_E if in_world else R_WE.T @ R_WT
    w_E, w_T, alpha_T = G_E @ rates[0], G_T @ rates[1], G_T @ rates[2]
    if len(axes) == 1:
        return _one_turn(R, G_E, w_E, w_T, alpha_T, axes[0], in_world)
    free = next(axis for axis in range(3) if axis not in axes)
    return _two_turns(R, G_E, w_E, w_T, alpha_T, free, in_world)


def _one_turn(R: Array, G_E: Array, w_E: Array, w_T: Array, alpha_T: Array, axis: int, in_world: bool) -> Turns:
    k, u, W = np.eye(3)[axis], R[:, axis], w_T - w_E
    divisor = maximum(1.0 + u[axis], SMALLEST)
    s = (k + u) / divisor  # (1)
    coupling = cross(w_E, w_T) if in_world else cross(w_T, w_E)
    drift = dot(s, coupling) + dot(s, W) * dot(cross(k, u), W) / divisor  # (2)
    return Turns(np.outer(k, s) @ G_E, k * dot(s, w_T), k * (dot(s, alpha_T) + drift))


def _two_turns(R: Array, G_E: Array, w_E: Array, w_T: Array, alpha_T: Array, free: int, in_world: bool) -> Turns:
    k, u = np.eye(3)[free], R[:, free]
    P = np.eye(3) - np.outer(k, k)
    divisor = maximum(1.0 + u[free], SMALLEST)
    a, u_dot = cross(u, k), cross(w_T - w_E, u)
    A, A_dot = skew(a), skew(cross(u_dot, k))
    Q = np.eye(3) + A + A @ A / divisor  # (5)
    Q_dot = A_dot + (A_dot @ A + A @ A_dot - A @ A * (u_dot[free] / divisor)) / divisor
    coupling = cross(w_T, w_E)
    y_T = P @ (Q @ w_T)
    change = Q_dot @ w_T + (Q @ alpha_T - coupling if in_world else Q @ (alpha_T + coupling))  # (4)
    return Turns(P @ G_E, y_T, P @ change + w_E[free] * cross(k, y_T - P @ w_E))
