"""Contact: the hand yields like a spring, presses with a force along some axes, or both; the rest is the law of motion.

Without contact the law of :mod:`~arm_control.control.osc.osc_law` asks for accelerations, so that a disturbing force
F moves the hand by ``Lambda^-1 F / k_p``: less for a heavier arm. A hand with a stiffness K in newtons per metre
leaves the inertia as it is. With the motion's share ``Omega = diag(1 - sigma)`` on the force axes, else 1,

    (1)  D = 2 zeta Lambda # K                                               critical damping where zeta = 1
    (2)  V_0 = s D^-1 K e + V_des,   s = min(1, V_max / |D^-1 K e|)          where the spring would lead
    (3)  F_hand = Omega (nu s K e + D (nu V_des - V))                        spring and damper
    (4)  A = Omega A_des - (1 - Omega) k_v V                                 damping along the force axes
    (5)  tau = J^T (F_hand + (1 - Omega) F) + M (J# (A - Jdot v) + N a_posture - (1 - N) a_dist) + h

and without ``impedance``, in place of (3) and (4), with A_cmd from the law of motion,

    (6)  F_hand = -(1 - Omega) Lambda (A_cmd - A_des),   A = Omega A_cmd - (1 - Omega) k_v V

where e, V, V_des and A_des count with their share Omega. ``A # B`` is the geometric mean of two positive definite
matrices: it damps every mode of ``Lambda x'' + D x' + K x = 0`` with the ratio zeta,

    (7)  A # B = L (L^-1 B L^-T)^(1/2) L^T,   A = L L^T

At rest the hand deflects by ``K^-1 F_ext`` under an external force, and along a force axis it exerts F exactly on a
plant that is the model, whatever the posture does: ``J N = 0``. In (6) the poses' feedback has no part along a force
axis: where friction of the surface holds the hand beside its target, it would add to F for good. A force axis has a
damper only, so that the hand stands still only against something; F grows slowly while it moves
(:mod:`~arm_control.control.osc.force_follower`). The spring pulls with ``D V_max`` at most. Several tasks: K, D and
F act through the part of the Jacobian that the tasks above leave free, ``J_k|`` in place of J.

    e, V, V_des, A_des   pose error; twist; desired twist and its derivative          [m, rad; m/s, rad/s; m/s^2]
    K, D, zeta           stiffness, damping, damping ratio                            [N/m, N m/rad; N s/m; -]
    F                    wrench that the hand exerts along the force axes             [N, N m]
    sigma, Omega         share of force control along them, of motion in all rows     [-]
    nu, N, J#, Lambda    as in the law of motion; Lambda without joint-limit weights  [-; kg, kg m^2]

Sources: N. Hogan, "Impedance control: an approach to manipulation", 1985, for (3); O. Khatib, "A unified approach for
motion and force control of robot manipulators", 1987, for Omega in (5) and (6), the generalized task specification
matrix of there; A. Albu-Schaeffer, C.
Ott, U. Frese, G. Hirzinger, "Cartesian impedance control of redundant robots", 2003, for damping from both matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.null_space import Level, dynamically_consistent_inverse
from arm_control.control.osc.osc_law import ANGULAR, LINEAR, LawStructure, Torque, limit, shortening
from arm_control.control.osc.osc_parameters import ContactNumbers, Gains
from arm_control.control.osc.posture import JointBounds, limit_zones, posture_acceleration, weighted_mass_matrix
from arm_control.control.osc.task import select_rows, task_motion
from arm_control.control.osc.task_inertia import TaskInertia, task_inertia
from arm_control.maths import Array, Scalar, geometric_mean, inverse, maximum, select, solve, sqrt
from arm_control.model import Terms
from arm_control.motion import Reference

SMALLEST_DAMPING = 1e-3
"""Lower bound of a chosen damping [N s/m, N m s/rad]: (2) divides by it."""


def torque(
    terms: Terms,
    reference: Reference,
    tau_dist: Array,
    gains: Gains,
    limits: JointBounds,
    structure: LawStructure,
    contact: ContactNumbers,
) -> Torque:
    """Joint torque for one state, equations (1) to (7)."""
    e, V, V_des, A_des, J, Jdot_v = task_motion(terms, reference, structure.frame, structure.rows)
    M, h, k_v = terms.M, terms.h, gains.k_v
    Omega = np.array([1.0 - contact.share if row in structure.force_rows else 1.0 for row in range(6)])
    e_m, V_m, V_des_m = Omega * e, Omega * V, Omega * V_des
    zones = limit_zones(terms.q, gains, limits)
    M_w = weighted_mass_matrix(M, gains, zones)
    a_spring, a_damper = posture_acceleration(terms, gains, limits, zones)
    a_dist = solve(M, tau_dist)

    J_sharp, N, N_fade = dynamically_consistent_inverse(J, M_w, gains, structure.tasks, structure.inertia)
    Lambda = task_inertias(J_sharp.levels, M, gains, structure.inertia)
    if structure.impedance:
        D = damping(Lambda, contact)  # (1)
        V_spring = D.solve(contact.K * e_m)
        s = speed_share(V_spring, gains.V_max)
        nu = shortening(J_sharp @ (s * V_spring + V_des_m), gains, limits)  # (2)
        F_hand = Omega * (nu * s * contact.K * e_m + D @ (nu * V_des_m - V_m))  # (3)
        A = Omega * A_des - (1.0 - Omega) * k_v * V  # (4)
    else:
        V_0 = limit(gains.k_p / k_v * e_m, gains.V_max, structure.limit_speed) + V_des_m
        nu = shortening(J_sharp @ V_0, gains, limits)
        A_feedback = limit(select_rows(k_v * (V_0 * nu - V_m), structure.rows), gains.A_max)
        F_hand = (Omega - 1.0) * (Lambda @ (Omega * A_feedback))
        A = Omega * (A_feedback + A_des) - (1.0 - Omega) * k_v * V  # (6)
    F = select_rows(F_hand + (1.0 - Omega) * contact.F, structure.rows)
    tau_hand = sum(level.J_free.T @ F[list(level.rows)] for level in J_sharp.levels)
    tau_task = tau_hand + M @ (J_sharp @ (A - Jdot_v))
    tau_posture = M @ (N @ a_spring + N_fade @ a_damper)
    tau_cancel = M @ (N @ a_dist - a_dist)
    tau = tau_task + tau_posture + tau_cancel + h  # (5)
    return Torque(tau, tau_task, tau_posture, tau_cancel, e, J_sharp)


class Blocks(NamedTuple):
    """A matrix on twists or accelerations (6,), symmetric, with a block for each task.

    Attributes
    ----------
    blocks : tuple of (tuple of int, array of shape (m, m))
        Rows of a twist, and their block.
    """

    blocks: tuple[tuple[tuple[int, ...], Array], ...]

    def __matmul__(self, x: Array) -> Array:
        """Product with x (6,); zero in rows of no task."""
        return _in_rows((rows, B @ x[list(rows)]) for rows, B in self.blocks)

    def solve(self, b: Array) -> Array:
        """Solution (6,) for a right-hand side b (6,); zero in rows of no task."""
        return _in_rows((rows, solve(B, b[list(rows)])) for rows, B in self.blocks)


def task_inertias(levels: Sequence[Level], M: Array, gains: Gains, inertia: TaskInertia) -> Blocks:
    """``Lambda`` of each task [kg, kg m, kg m^2]."""
    bounds, M_inv = (gains.length, gains.singular_value), inverse(M)
    return Blocks(
        tuple((x.rows, task_inertia(x.J_free, M, *bounds, M_inv=M_inv, rows=x.rows, inertia=inertia)) for x in levels)
    )


def damping(Lambda: Blocks, contact: ContactNumbers) -> Blocks:
    """``D`` of equation (1), or the chosen one [N s/m, N s, N m s/rad]."""
    blocks = []
    for rows, Lambda_k in Lambda.blocks:
        K, D = np.diag(contact.K[list(rows)]), np.diag(maximum(contact.D[list(rows)], SMALLEST_DAMPING))
        critical = 2.0 * contact.damping_ratio * geometric_mean(Lambda_k, K)  # (1)
        blocks.append((rows, select(contact.is_damping_chosen, D, critical)))
    return Blocks(tuple(blocks))


def speed_share(V: Array, V_max: Array) -> Array:
    """``s`` of equation (2), shape (6,): the linear part has one value, the angular part another."""
    speeds = [sqrt(V[part] @ V[part]) for part in (LINEAR, ANGULAR)]
    return np.repeat([x / maximum(speed, x) for x, speed in zip(V_max, speeds, strict=True)], 3)


def _in_rows(parts: Iterable[tuple[tuple[int, ...], Array]]) -> Array:
    """A vector (6,) from those of some rows; zero in the other ones."""
    values: list[Scalar] = [0.0] * 6
    for rows, part in parts:
        for row, value in zip(rows, part, strict=True):
            values[row] = value
    return np.array(values)
