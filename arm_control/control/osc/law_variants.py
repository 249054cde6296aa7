"""Variants of operational space control, for comparison only, by the names that parameters choose them with.

``speed_limit_form``: three ways to limit a speed,

    magnitude    x min(1, largest / |x|)            straight, at most ``largest`` fast (O. Khatib, 1986)
    scaled       x min(1, largest / max_i |x_i|)    straight, faster along the diagonals: up to sqrt(3) ``largest``
    per_axis     x_i clamped to +-largest           along the diagonal first, then along one axis: not straight

``singularity``: four ways to invert the mobility A of :mod:`~arm_control.control.osc.task_inertia`, with the threshold
s [m] and the mean inertia ``m = tr(M) / n`` [kg m^2] of the joints,

    fade         Lambda = S (A + sum_i c_i u_i u_i^T)^-1 S   bounded, smooth, and exact where no sigma_i < s
    truncate     Lambda = S A^+ S                            eigenvalues of A below s^2 / m are left out: it jumps
    damp         Lambda = S (A + s^2 / m 1)^-1 S             bounded, but inexact everywhere
    none         Lambda = S A^-1 S                           without bound at a singularity

``null_space``: two ways to filter the torque of the posture, ``tau_0 = M (a_spring + a_damper)``,

    consistent        M (N a_spring + N_fade a_damper)       no task feels it
    pseudo_inverse    (1 - J^T (J J^T)^-1 J) tau_0           looks alike; the task feels it, as the joints are coupled
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from arm_control.control.osc.null_space import Level
from arm_control.control.osc.osc_law import LawStructure, TaskLaw, Torque, torque
from arm_control.control.osc.osc_parameters import Gains
from arm_control.control.osc.posture import JointBounds, limit_zones, posture_acceleration
from arm_control.control.osc.task_inertia import Mobility, TaskInertia, fading_inertia, plain_inertia
from arm_control.maths import TINY, Array, Scalar, eigen_symmetric, inverse, limit_magnitude, maximum, select
from arm_control.model import Terms
from arm_control.motion import Reference


def limit_scaled(vector: Array, largest: Scalar) -> Array:
    """The vector, or its direction with a largest component of ``largest``; arguments of ``limit_magnitude``."""
    size = TINY
    for x in vector:
        size = maximum(size, select(x, x, -x))
    return vector * (largest / maximum(size, largest))


def limit_per_axis(vector: Array, largest: Scalar) -> Array:
    """Each component for itself, cut to ``largest``; arguments of ``limit_magnitude``."""
    return np.array([-maximum(-maximum(x, -largest), -largest) for x in vector])


def truncated_inertia(mobility: Mobility) -> Array:
    """Lambda with ``A^+``."""
    smallest = _mobility_threshold(mobility)
    values, U = eigen_symmetric(mobility.A)
    kept = [select(value - smallest, 1.0 / select(value - smallest, value, 1.0), 0.0) for value in values]
    S = mobility.S
    return S[:, None] * ((U * np.array(kept)) @ U.T) * S


def damped_inertia(mobility: Mobility) -> Array:
    """Lambda with ``(A + s^2 / m 1)^-1``."""
    S, A = mobility.S, mobility.A
    return S[:, None] * inverse(A + _mobility_threshold(mobility) * np.eye(len(A))) * S


def _mobility_threshold(mobility: Mobility) -> Scalar:
    """``s^2 / m``."""
    s, M = mobility.s, mobility.M
    return s * s / (np.trace(M) / len(M))


def project_by_pseudo_inverse(levels: Sequence[Level], tau: Array) -> Array:
    """Filter a torque (n,) by ``1 - J^T (J J^T)^-1 J``, task after task."""
    for level in levels:
        J = level.J_free
        tau = tau - J.T @ (inverse(J @ J.T) @ (J @ tau))
    return tau


def pseudo_inverse_torque(
    terms: Terms, reference: Reference, tau_dist: Array, gains: Gains, limits: JointBounds, structure: LawStructure
) -> Torque:
    """The law with the pseudo-inverse in its null space; see :func:`~arm_control.control.osc.osc_law.torque`."""
    consistent = torque(terms, reference, tau_dist, gains, limits, structure)
    a_spring, a_damper = posture_acceleration(terms, gains, limits, limit_zones(terms.q, gains, limits))
    posture = project_by_pseudo_inverse(consistent.J_sharp.levels, terms.M @ (a_spring + a_damper))
    tau = consistent.task + posture + consistent.disturbance + terms.h
    return consistent._replace(tau=tau, posture=posture)


SPEED_LIMITS: dict[str, Callable[[Array, Scalar], Array]] = {
    "magnitude": limit_magnitude,
    "scaled": limit_scaled,
    "per_axis": limit_per_axis,
}
"""By ``speed_limit_form``."""
INERTIAS: dict[str, TaskInertia] = {
    "fade": fading_inertia,
    "truncate": truncated_inertia,
    "damp": damped_inertia,
    "none": plain_inertia,
}
"""By ``singularity``."""
LAWS: dict[str, TaskLaw] = {"consistent": torque, "pseudo_inverse": pseudo_inverse_torque}
"""By ``null_space``."""
