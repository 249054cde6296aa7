"""Parameters of a hand that yields or presses, and their numbers in the law of contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.task import rows_of
from arm_control.core import Parameters, parameter
from arm_control.exceptions import ParameterError
from arm_control.kinematics import ROWS
from arm_control.maths import Array, Scalar

FORCE_NUMBERS = 7
"""Last numbers of the contact: the share of force control, and the wrench of the hand."""


@dataclass(frozen=True)
class ContactParameters(Parameters):
    """Impedance and force of the hand (:mod:`arm_control.control.osc.contact_law`); by default neither."""

    impedance: bool = parameter(
        False, "whether the hand is a spring: hand_stiffness in place of kp_linear and kp_angular"
    )
    hand_stiffness: tuple[float, ...] = parameter(
        (400.0, 40.0),
        "stiffness of that spring, linear and angular, or of each of its six axes (those of task_frame)",
        unit="N/m, N m/rad", lower=1e-3, live=True,
    )  # fmt: skip
    hand_damping: tuple[float, ...] = parameter(
        (),
        "its damping, in the same way; empty: damping_ratio times the critical one of the arm's inertia",
        unit="N s/m, N m s/rad", lower=0.0, live=True,
    )  # fmt: skip
    force_axes: tuple[str, ...] = parameter(
        (),
        f"axes of task_frame, out of {' '.join(ROWS)}, along which target_wrench replaces the target pose; empty: none",
    )
    force_limit: float = parameter(50.0, "largest force of target_wrench", unit="N", lower=0.1, live=True)
    moment_limit: float = parameter(5.0, "largest moment of target_wrench", unit="N m", lower=0.01, live=True)
    approach_speed_linear: float = parameter(
        0.01, "speed at which the hand looks for contact", unit="m/s", lower=1e-3, live=True
    )
    approach_speed_angular: float = parameter(
        0.1, "angular speed at which the hand looks for contact", unit="rad/s", lower=1e-3, live=True
    )
    force_rise_time: float = parameter(
        1.0, "time in which a force rises from zero to its limit, or falls", unit="s", lower=0.01, live=True
    )
    force_timeout: float = parameter(
        0.5, "a target_wrench that is older, by the states' stamps, has ended", unit="s", lower=0.0, live=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        per_axis("hand_stiffness", self.hand_stiffness)
        if self.hand_damping:
            per_axis("hand_damping", self.hand_damping)
        if unknown := [axis for axis in self.force_axes if axis not in ROWS]:
            raise ParameterError(f"force_axes: unknown {', '.join(unknown)}; allowed: {' '.join(ROWS)}")
        if len(set(self.force_axes)) < len(self.force_axes):
            raise ParameterError(f"force_axes = {list(self.force_axes)}: no axis may come twice")

    @property
    def is_active(self) -> bool:
        """Whether the law of contact takes the place of the law without it."""
        return self.impedance or bool(self.force_axes)

    @property
    def force_rows(self) -> tuple[int, ...]:
        """Rows of a wrench that may be controlled."""
        return rows_of([" ".join(self.force_axes)])[0] if self.force_axes else ()

    def numbers(self, damping_ratio: float) -> Array:
        """Numbers of the law, shape (21,), as :meth:`ContactNumbers.of` reads them; none where it is not active."""
        if not self.is_active:
            return np.zeros(0)
        stiffness = per_axis("hand_stiffness", self.hand_stiffness)
        damping = per_axis("hand_damping", self.hand_damping) if self.hand_damping else np.zeros(6)
        is_chosen = float(bool(self.hand_damping))
        return np.array([*stiffness, *damping, is_chosen, damping_ratio, *np.zeros(FORCE_NUMBERS)])


class ContactNumbers(NamedTuple):
    """The contact's numbers, of any scalars: they may change while the law runs.

    Attributes
    ----------
    K, D : array, shape (6,)
        Diagonals of stiffness [N/m, N m/rad] and chosen damping [N s/m, N m s/rad].
    is_damping_chosen : float
        1 where D counts, 0 where the damping follows from the inertia.
    damping_ratio : float
        zeta [-].
    share : float
        sigma: 0 where only poses are controlled, 1 where the force axes have a wrench.
    F : array, shape (6,)
        Wrench that the hand exerts along the force axes [N, N m].
    """

    K: Array
    D: Array
    is_damping_chosen: Scalar
    damping_ratio: Scalar
    share: Scalar
    F: Array

    @classmethod
    def of(cls, numbers: Array) -> ContactNumbers:
        """Return the contact in an array of :meth:`ContactParameters.numbers`."""
        return cls(numbers[:6], numbers[6:12], numbers[12], numbers[13], numbers[14], numbers[15:])


def per_axis(name: str, values: tuple[float, ...]) -> Array:
    """Return six numbers for two, linear and angular, or six.

    Parameters
    ----------
    name : str
        Name of the parameter, for the message.

    Raises
    ------
    ParameterError
        When there are neither two numbers nor six.
    """
    if len(values) not in (2, 6):
        raise ParameterError(f"{name} has {len(values)} numbers: two are needed, linear and angular, or six")
    return np.repeat(values, 6 // len(values)).astype(float)
