"""Operational space control of one arm on floats: parameters in, the page of the law as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.control.osc import contact_law
from arm_control.control.osc.law_variants import INERTIAS, LAWS, SPEED_LIMITS
from arm_control.control.osc.osc_law import LawStructure, Torque
from arm_control.control.osc.osc_parameters import (
    FORCE_NUMBERS,
    ContactNumbers,
    ContactParameters,
    Gains,
    OscParameters,
)
from arm_control.control.osc.posture import JointBounds, limit_zones, posture_acceleration
from arm_control.control.osc.task import Tasks, rows_of
from arm_control.control.osc.task_inertia import ALL, scaled_jacobian
from arm_control.exceptions import InputError, ParameterError
from arm_control.kinematics import TWIST_ROWS, sampled_jacobians
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms
from arm_control.motion import Reference

TERMS = ("task", "posture", "disturbance", "bias")
"""Terms of a torque."""
UNLIMITED = 1e6
"""A speed that no hand has [m/s, rad/s]."""
SAMPLES = 20
"""Random postures in which :func:`movable_rows` looks at the Jacobian."""
SMALLEST_MOTION = 1e-9
"""Entries of a Jacobian below this count as zero [m or 1]."""
WITHOUT_CONTACT = ContactParameters()


class OscOutput(NamedTuple):
    """Result of one tick.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Joint torque, the sum of the terms [N m or N].
    parts : ndarray, shape (4, nv)
        The terms, in the order of :data:`TERMS` [N m or N].
    error : ndarray, shape (6,)
        Position error [m], rotation vector of the orientation error [rad], along the axes of the task; 0 in rows
        that belong to no task.
    length : float
        Characteristic length [m].
    """

    tau: Array
    parts: Array
    error: Array
    state: Terms
    length: float

    @property
    def terms(self) -> dict[str, Array]:
        """Torque by term, shape (nv,) each [N m or N]."""
        return dict(zip(TERMS, self.parts, strict=True))

    @property
    def singular_values(self) -> Array:
        """Singular values of the scaled Jacobian, largest first, shape (6,) [m]."""
        sigma = np.linalg.svd(scaled_jacobian(self.state.J, self.length), compute_uv=False)
        return np.pad(sigma, (0, 6 - sigma.size))


class OperationalSpaceController:
    """The law of :mod:`arm_control.control.osc.osc_law` for one arm, on floats; without state.

    Parameters
    ----------
    parameters : OscParameters
        Gains, limits and structure; a ``posture`` is needed here, one angle per joint.

    Attributes
    ----------
    numbers : ndarray, shape (len(GAINS) + 2 nv,), more with contact
        Gains as an array, see :meth:`~arm_control.control.osc.osc_parameters.OscParameters.numbers`; those of the
        contact follow.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> q = np.array([0.0, -1.6, 1.8, -1.8, -1.57, 0.0])
    >>> osc = OperationalSpaceController(model, OscParameters(posture=tuple(q)))
    >>> terms = model.evaluate(q, np.zeros(6))
    >>> output = osc.tick(terms, Reference(terms.X_WE))
    >>> bool(np.allclose(output.tau, terms.g))
    True
    """

    def __init__(
        self, model: RobotModel, parameters: OscParameters, contact: ContactParameters = WITHOUT_CONTACT
    ) -> None:
        self.parameters = parameters
        self.law = LAWS[parameters.null_space]
        self.structure = structure_of(parameters, model, contact)
        self.limits = JointBounds.of(model)
        gains = parameters.numbers(model.joint_names)
        self.numbers = np.concatenate([gains, contact.numbers(parameters.damping_ratio)])
        self._n_gains = len(gains)
        self._gains = Gains.of(self.numbers[: len(gains)])
        self._no_disturbance = np.zeros(model.nv)

    @property
    def speed_limits(self) -> tuple[float, float]:
        """Limits of the hand's speed, linear [m/s] and angular [rad/s]; UNLIMITED where no task has such rows."""
        parts, p = {row // 3 for row in self.structure.rows}, self.parameters
        return p.speed_limit_linear if 0 in parts else UNLIMITED, p.speed_limit_angular if 1 in parts else UNLIMITED

    def exert(self, share: float, F: Array) -> None:
        """Exert a wrench along the force axes from the next state on; only with contact."""
        self.numbers[-FORCE_NUMBERS], self.numbers[1 - FORCE_NUMBERS :] = share, F

    def take_posture(self, q: Sequence[float] | Array) -> None:
        """Pull the joints to other positions, shape (nv,) [rad or m], from the next state on."""
        self._gains.posture[:] = q

    def gains(self, numbers: Array) -> Gains:
        """Gains in an array like :attr:`numbers`, of any scalars."""
        return Gains.of(numbers[: self._n_gains])

    def torque(
        self, terms: Terms, reference: Reference, tau_dist: Array, numbers: Array, structure: LawStructure
    ) -> Torque:
        """Torque of the law, or of the law of contact, over any scalars."""
        gains = self.gains(numbers)
        if not structure.has_contact:
            return self.law(terms, reference, tau_dist, gains, self.limits, structure)
        contact = ContactNumbers.of(numbers[self._n_gains :])
        return contact_law.torque(terms, reference, tau_dist, gains, self.limits, structure, contact)

    def posture_torque(self, terms: Terms) -> Array:
        """Torque of the posture task before the null space filters it, shape (nv,) [N m]."""
        zones = limit_zones(terms.q, self._gains, self.limits)
        return terms.M @ sum(posture_acceleration(terms, self._gains, self.limits, zones))

    def tick(self, terms: Terms, reference: Reference, tau_dist: Array | None = None) -> OscOutput:
        """Joint torque for one state; an InputError for what is no reference."""
        if not isinstance(reference, Reference):
            what = f"{type(reference).__name__}; allowed: Reference(pose or matrix), Reference.at(position, quaternion)"
            raise InputError(f"reference is a {what}")
        structure = self.structure.regular if self._is_regular(terms.J) else self.structure
        disturbance = self._no_disturbance if tau_dist is None else tau_dist
        result = self.torque(terms, reference, disturbance, self.numbers, structure)
        parts = np.array([result.task, result.posture, result.disturbance, terms.h])
        return OscOutput(result.tau, parts, result.error, terms, self.parameters.characteristic_length)

    def _is_regular(self, J: Array) -> bool:
        """Whether no direction of the only task fades."""
        SJ = scaled_jacobian(J, self.parameters.characteristic_length)
        is_whole = self.structure.tasks == (ALL,)
        return is_whole and bool(np.linalg.eigvalsh(SJ @ SJ.T)[0] > self.parameters.singular_value**2)


def structure_of(
    parameters: OscParameters, model: RobotModel, contact: ContactParameters = WITHOUT_CONTACT
) -> LawStructure:
    """Return the structure of the law that parameters choose.

    A ParameterError when a force axis is no row of a task.
    """
    tasks = rows_of(parameters.tasks) or movable_rows(model)
    inertia = INERTIAS[parameters.singularity]
    structure = LawStructure(tasks, parameters.task_frame, inertia, SPEED_LIMITS[parameters.speed_limit_form])
    if free := [TWIST_ROWS[row] for row in contact.force_rows if row not in structure.rows]:
        raise ParameterError(f"force_axes: {', '.join(free)} belongs to no task; the tasks have {_names(structure)}")
    return structure._replace(impedance=contact.impedance, force_rows=contact.force_rows)


def _names(structure: LawStructure) -> str:
    return " ".join(TWIST_ROWS[row] for row in sorted(structure.rows))


def movable_rows(model: RobotModel) -> Tasks:
    """Default tasks of an arm: one, or position before orientation where joints are too few for both.

    Rows that no joint ever moves, such as those across the plane of a planar arm, are left out.
    """
    motion = np.abs(sampled_jacobians(model, SAMPLES)[1]).max(axis=(0, 2))
    rows = tuple(int(row) for row in np.flatnonzero(motion > SMALLEST_MOTION))
    if len(rows) <= model.nv:
        return (rows,)
    parts = tuple(row for row in rows if row < 3), tuple(row for row in rows if row >= 3)
    return tuple(part for part in parts if part)
