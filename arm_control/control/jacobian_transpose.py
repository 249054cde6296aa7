"""Stepping towards a target by the transposed Jacobian, for arms that take positions only.

With the position p of the end effector [m], its linear Jacobian ``J_p`` [m or 1], the step size alpha [-] and the
stiffness k_p [rad/m^2],

    (1)  dx = p_target - p(q)
    (2)  q <- q + alpha k_p J_p^T dx

is a gradient step down ``|dx|^2 / 2``. Where J_p changes little, ``dx <- (1 - alpha k_p J_p J_p^T) dx``: a step
brings the arm nearer only while

    (3)  alpha k_p lambda_max(J_p J_p^T) < 2.

The gain of each step is lowered to keep (3) with room to spare, so no choice of gains makes the arm swing. Near a
singularity a direction becomes slow; nothing grows.

Source: L. Sciavicco and B. Siciliano, "A solution algorithm to the inverse kinematic problem for redundant
manipulators", 1988.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.core import Parameters, parameter
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel


@dataclass(frozen=True)
class JacobianTransposeParameters(Parameters):
    """Gains of a step, and when stepping ends."""

    alpha: float = parameter(1e-3, "size of a step", lower=1e-9)
    kp: float = parameter(1000.0, "stiffness", unit="rad/m^2", lower=1e-3)
    stability: float = parameter(1.0, "largest alpha k_p lambda_max(J J^T); 2 is unstable", lower=0.01, upper=1.9)
    largest_step: float = parameter(0.05, "largest change of a joint in one step", unit="rad or m", lower=1e-6)
    tolerance: float = parameter(1e-3, "distance that counts as reached", unit="m", lower=1e-9)
    max_steps: int = parameter(10_000, "steps after which to give up", lower=1)


@dataclass(frozen=True)
class TransposeStep:
    """One step.

    Attributes
    ----------
    q_des : ndarray, shape (nq,)
        Joint positions to command [rad or m].
    distance : float
        Distance of the end effector from the target before the step [m].
    limited : bool
        Whether the gain was lowered to keep (3).
    """

    q_des: Array
    distance: float
    limited: bool


@dataclass(frozen=True)
class Stepping:
    """Result of stepping.

    Attributes
    ----------
    q : ndarray, shape (nq,)
        The last joint positions [rad or m].
    converged : bool
        Whether the target was reached.
    distance : float
        Remaining distance [m].
    """

    q: Array
    converged: bool
    steps: int
    distance: float


def step(model: RobotModel, q: npt.ArrayLike, p_target: npt.ArrayLike, p: JacobianTransposeParameters) -> TransposeStep:
    """One step, equations (1) to (3); joints stay within their limits.

    Parameters
    ----------
    q : array_like, shape (nq,)
        Measured, or last commanded, joint positions [rad or m].
    p_target : array_like, shape (3,)
        Target of the end effector in the world [m].

    Raises
    ------
    InputError
        When the target is not three finite numbers.
    """
    q, p_target = np.asarray(q, dtype=float), np.asarray(p_target, dtype=float)
    if p_target.shape != (3,) or not np.isfinite(p_target).all():
        raise InputError(f"target {p_target.tolist()}: three finite numbers are needed")
    dx = p_target - model.pose(q).p  # (1)
    J_p = model.jacobian(q)[:3]
    lambda_max = float(np.linalg.eigvalsh(J_p @ J_p.T)[-1])
    gain = min(p.alpha * p.kp, p.stability / max(lambda_max, 1e-12))  # (3)
    dq = gain * J_p.T @ dx  # (2)
    dq *= min(1.0, p.largest_step / max(float(np.abs(dq).max()), 1e-12))
    return TransposeStep(np.clip(q + dq, model.q_min, model.q_max), float(np.linalg.norm(dx)), gain < p.alpha * p.kp)


def solve(model: RobotModel, q: npt.ArrayLike, p_target: npt.ArrayLike, p: JacobianTransposeParameters) -> Stepping:
    """Step until the target is reached or ``max_steps`` are made; parameters of :func:`step`.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> result = solve(model, [0.0, -1.4, 1.9, -2.0, -1.5, 0.0], [0.4, 0.2, 0.4], JacobianTransposeParameters())
    >>> result.converged, result.distance < 1e-3
    (True, True)
    """
    q = np.asarray(q, dtype=float)
    steps = 0
    latest = step(model, q, p_target, p)
    while latest.distance >= p.tolerance and steps < p.max_steps:
        q = latest.q_des
        steps += 1
        latest = step(model, q, p_target, p)
    return Stepping(q, latest.distance < p.tolerance, steps, latest.distance)
