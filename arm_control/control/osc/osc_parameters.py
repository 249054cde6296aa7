"""Parameters of operational space control, with and without contact, and their numbers in the law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.task import rows_of
from arm_control.core import Parameters, parameter
from arm_control.exceptions import ParameterError
from arm_control.kinematics import FRAMES, TWIST_ROWS
from arm_control.maths import Array, Scalar

SPEED_LIMIT_FORMS = ("magnitude", "scaled", "per_axis")
SINGULARITIES = ("fade", "truncate", "damp", "none")
NULL_SPACES = ("consistent", "pseudo_inverse")
"""Names of variants, the law's own first; :mod:`arm_control.control.osc.law_variants` has the others."""
PARTS = ("linear", "angular")
GAINS = (
    *("kp_linear", "kp_angular", "kv_linear", "kv_angular", "speed_limit_linear", "speed_limit_angular"),
    *("acceleration_limit_linear", "acceleration_limit_angular", "joint_speed_share", "characteristic_length"),
    *("singular_value", "kp_posture", "kv_posture", "kp_joint_limits", "joint_limit_zone", "joint_limit_weight"),
)
"""Numbers of the law in their order; behind the first eight each is a field of :class:`Gains`, and postures follow."""
FORCE_NUMBERS = 7
"""Last numbers of the contact: the share of force control, and the wrench of the hand."""


@dataclass(frozen=True)
class OscParameters(Parameters):
    """Gains, limits and structure of operational space control.

    The gains multiply the task inertia, so they are those of a unit mass, for any arm. The defaults suit an arm
    of the size of a UR5; :func:`~arm_control.control.osc.tuning.propose` finds them for any other one.
    """

    tasks: tuple[str, ...] = parameter(
        (),
        f"what is controlled, the most important first, each as rows of {' '.join(TWIST_ROWS)}; empty: all that the arm"
        " can move, position before orientation where there are too few joints for both",
    )
    task_frame: str = parameter("world", "whose axes the rows are along", choices=FRAMES)
    kp_linear: float = parameter(200.0, "stiffness of the position", unit="1/s^2", lower=1e-3, live=True)
    kp_angular: float = parameter(200.0, "stiffness of the orientation", unit="1/s^2", lower=1e-3, live=True)
    damping_ratio: float = parameter(1.0, "damping of both, 1 is critical", lower=0.1, upper=10.0, live=True)
    speed_limit_linear: float = parameter(0.5, "largest commanded speed", unit="m/s", lower=1e-3, live=True)
    speed_limit_angular: float = parameter(1.0, "largest commanded angular speed", unit="rad/s", lower=1e-3, live=True)
    speed_limit_form: str = parameter(
        "magnitude",
        "what is limited: the magnitude; its largest component, by scaling all; or each component by itself",
        choices=SPEED_LIMIT_FORMS,
    )
    acceleration_limit_linear: float = parameter(
        5.0, "largest commanded acceleration", unit="m/s^2", lower=1e-3, live=True
    )
    acceleration_limit_angular: float = parameter(
        12.0, "largest commanded angular acceleration", unit="rad/s^2", lower=1e-3, live=True
    )
    posture: tuple[float, ...] = parameter(
        (), "joint positions the null space pulls to; empty: the first measured ones", unit="rad", live=True
    )
    posture_joints: tuple[str, ...] = parameter((), "joints that are pulled there; empty: all", live=True)
    kp_posture: float = parameter(60.0, "stiffness of the posture task", unit="1/s^2", lower=0.0, live=True)
    kv_posture: float = parameter(
        60.0, "damping of the posture task, and of what fades out of the task", unit="1/s", lower=0.0, live=True
    )
    kp_joint_limits: float = parameter(
        100.0, "stiffness that keeps joints from their limits, in the null space", unit="1/s^2", lower=0.0, live=True
    )
    joint_limit_zone: float = parameter(
        0.2, "distance from a joint's limit at which that begins, at most 20 % of its range", unit="rad or m",
        lower=1e-3, live=True,
    )  # fmt: skip
    joint_limit_weight: float = parameter(
        10.0, "how much more a joint weighs in that zone, so that others are used; 0: as everywhere", lower=0.0,
        live=True,
    )  # fmt: skip
    joint_speed_share: float = parameter(
        0.5, "share of a joint's speed limit that the task may ask for", lower=0.01, upper=1.0, live=True
    )
    singularity: str = parameter(
        "fade", "what happens near a singularity; all but the first are there to compare", choices=SINGULARITIES
    )
    characteristic_length: float = parameter(
        0.3, "length that makes an angle comparable with a distance", unit="m", lower=1e-3, live=True
    )
    singular_value: float = parameter(
        0.07,
        "singular value of the Jacobian (angular rows times the characteristic length) below which a"
        " direction fades out of the task",
        unit="m",
        lower=1e-4,
        live=True,
    )
    null_space: str = parameter("consistent", "what filters the null space", choices=NULL_SPACES)

    def __post_init__(self) -> None:
        super().__post_init__()
        rows_of(self.tasks)
        for part in PARTS:
            braking = getattr(self, f"speed_limit_{part}") * math.sqrt(getattr(self, f"kp_{part}")) / 2
            braking /= self.damping_ratio
            if getattr(self, f"acceleration_limit_{part}") < braking:
                raise ParameterError(
                    f"acceleration_limit_{part} = {getattr(self, f'acceleration_limit_{part}')} is too small to"
                    f" stop from speed_limit_{part} with kp_{part}: at least {braking:.4g} is needed"
                )

    def numbers(self, joint_names: Sequence[str]) -> Array:
        """Gains as an array, shape (len(GAINS) + 2 n,), from which :meth:`Gains.of` reads them.

        A ParameterError when ``posture`` or ``posture_joints`` do not suit these joints.
        """
        if len(self.posture) != len(joint_names):
            counts = f"posture has {len(self.posture)} angles, the arm {len(joint_names)} joints"
            raise ParameterError(f"{counts}: one each is needed, of {', '.join(joint_names)}")
        if unknown := [name for name in self.posture_joints if name not in joint_names]:
            raise ParameterError(f"posture_joints: unknown {', '.join(unknown)}; allowed: {', '.join(joint_names)}")
        damping = {f"kv_{part}": 2.0 * self.damping_ratio * math.sqrt(getattr(self, f"kp_{part}")) for part in PARTS}
        values = {**vars(self), **damping}
        pulled = [float(not self.posture_joints or name in self.posture_joints) for name in joint_names]
        return np.array([*(values[name] for name in GAINS), *self.posture, *pulled])


class Gains(NamedTuple):
    """The law's numbers, of any scalars: they may change while the law runs. Units are in :class:`OscParameters`.

    Attributes
    ----------
    k_p, k_v : array, shape (6,)
        Stiffness [1/s^2] and damping [1/s] of each row of a twist.
    V_max, A_max : array, shape (2,)
        Largest commanded speed [m/s, rad/s] and acceleration [m/s^2, rad/s^2], linear and angular.
    joint_speed_share : float
        s_v [-].
    length, singular_value : float
        Characteristic length L and threshold s [m].
    kp_posture, kv_posture, kp_joint_limits, joint_limit_zone, joint_limit_weight : float
        Those of the posture task.
    posture : array, shape (n,)
        q_posture [rad or m].
    pulled : array, shape (n,)
        1 for joints that have a posture, else 0.
    """

    k_p: Array
    k_v: Array
    V_max: Array
    A_max: Array
    joint_speed_share: Scalar
    length: Scalar
    singular_value: Scalar
    kp_posture: Scalar
    kv_posture: Scalar
    kp_joint_limits: Scalar
    joint_limit_zone: Scalar
    joint_limit_weight: Scalar
    posture: Array
    pulled: Array

    @classmethod
    def of(cls, numbers: Array) -> Gains:
        """Return the gains in an array of :meth:`OscParameters.numbers`."""
        posture, pulled = np.split(numbers[len(GAINS) :], 2)
        k_p, k_v = np.repeat(numbers[:2], 3), np.repeat(numbers[2:4], 3)
        return cls._make((k_p, k_v, numbers[4:6], numbers[6:8], *numbers[8 : len(GAINS)], posture, pulled))


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
        f"axes of task_frame, out of {' '.join(TWIST_ROWS)}, along which target_wrench replaces the target pose;"
        " empty: none",
    )
    force_limit: float = parameter(50.0, "largest force of target_wrench", unit="N", lower=0.1, live=True)
    moment_limit: float = parameter(5.0, "largest moment of target_wrench", unit="N m", lower=0.01, live=True)
    approach_speed_linear: float = parameter(
        0.01,
        "speed at which the hand looks for contact; without a wrench sensor 0.01 at most",
        unit="m/s",
        lower=1e-3,
        live=True,
    )
    approach_speed_angular: float = parameter(
        0.1, "angular speed at which it does; without a wrench sensor 0.1 at most", unit="rad/s", lower=1e-3, live=True
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
        if unknown := [axis for axis in self.force_axes if axis not in TWIST_ROWS]:
            raise ParameterError(f"force_axes: unknown {', '.join(unknown)}; allowed: {' '.join(TWIST_ROWS)}")
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

    A ParameterError when there are neither two numbers nor six.
    """
    if len(values) not in (2, 6):
        raise ParameterError(f"{name} has {len(values)} numbers: two are needed, linear and angular, or six")
    return np.repeat(values, 6 // len(values)).astype(float)
