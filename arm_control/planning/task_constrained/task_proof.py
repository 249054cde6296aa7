"""Proof of a motion in time: limits at places of each piece, and freedom from contact without a gap."""

from __future__ import annotations

from math import comb

import numpy as np

from arm_control.collision import Validity
from arm_control.maths import Array
from arm_control.motion import JointTrajectory, powers
from arm_control.planning.task_constrained.edges import Flags
from arm_control.planning.task_constrained.problem import TaskConstrainedProblem

PLACES = np.linspace(0.0, 1.0, 9)
"""Shares of each piece at which limits are checked."""
DEGREE = 3
"""Of the acceleration of a piece."""


def first_unproved(problem: TaskConstrainedProblem, motion: JointTrajectory) -> int | None:
    """The first piece of a motion that is not proved; None where all of it is.

    Parameters
    ----------
    problem : TaskConstrainedProblem
    motion : JointTrajectory
    """
    is_good = keeps_limits(problem, motion)
    if is_good.all():
        is_good = is_free(problem.validity, motion)
    return None if is_good.all() else int(is_good.argmin())


def keeps_limits(problem: TaskConstrainedProblem, motion: JointTrajectory) -> Flags:
    """Whether each piece keeps the limits of position, speed and torque at its :data:`PLACES`, shape (m,).

    Parameters
    ----------
    problem : TaskConstrainedProblem
    motion : JointTrajectory
    """
    model, T = problem.model, np.diff(motion.knots)
    q, v, a = np.einsum("dmpk,mkn->dmpn", powers(T[:, None] * PLACES), motion.pieces)
    is_kept = (q >= model.q_min) & (q <= model.q_max) & (np.abs(v) <= problem.speed_limits)
    if problem.tau_max is not None:
        rows = [x.reshape(-1, model.nq) for x in (q, v, a)]
        tau = model.batch("tau")(*rows, np.zeros((len(rows[0]), 6)))["tau"].reshape(q.shape)
        is_kept &= np.abs(tau) <= problem.tau_max
    return np.logical_and.reduce(is_kept, axis=(1, 2))


def is_free(validity: Validity, motion: JointTrajectory) -> Flags:
    """Whether each piece is proved free of contact, shape (m,); behind the first one that is not some are left open.

    The chord of each piece is checked with the deviation of the piece from it; a piece that fails is divided.

    Parameters
    ----------
    validity : Validity
    motion : JointTrajectory
    """
    qs, times = np.concatenate([motion.pieces[:, 0], motion.end.q_des[None]]), motion.knots
    is_good = validity.motions(qs[:-1], qs[1:], times[:-1], times[1:], deviations(motion)).is_free
    for k in np.flatnonzero(~is_good).tolist():
        piece = JointTrajectory(times[k : k + 2], motion.pieces[k : k + 1])
        is_good[k] = validity.first_contact_of(piece) is None
        if not is_good[k]:
            break
    return is_good


def deviations(motion: JointTrajectory) -> Array:
    """Largest distance of each joint from the chord of each piece, shape (m, n): max |q_ddot| T^2 / 8.

    q_ddot is a cubic: it lies between its Bernstein coefficients.
    """
    T = np.diff(motion.knots)
    degrees = np.arange(2, DEGREE + 3)
    c = (degrees * (degrees - 1))[:, None] * motion.pieces[:, 2:] * T[:, None, None] ** np.arange(DEGREE + 1)[:, None]
    bernstein = [sum(comb(i, j) / comb(DEGREE, j) * c[:, j] for j in range(i + 1)) for i in range(DEGREE + 1)]
    return np.abs(np.array(bernstein)).max(axis=0) * T[:, None] ** 2 / 8.0
