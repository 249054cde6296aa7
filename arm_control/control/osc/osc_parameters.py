"""Gains, limits and structure of operational space control as parameters, and the gains as numbers of the law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.task import rows_of
from arm_control.core import Parameters, parameter
from arm_control.exceptions import ParameterError
from arm_control.kinematics import FRAMES, ROWS
from arm_control.maths import Array, Scalar

SPEED_LIMIT_FORMS = ("magnitude", "scaled", "per_axis")
SINGULARITIES = ("fade", "truncate", "damp", "none")
NULL_SPACES = ("consistent", "pseudo_inverse")
"""Names of variants, the law's own first; :mod:`arm_control.control.osc.law_variants` has the others."""


@dataclass(frozen=True)
class OscParameters(Parameters):
    """Gains, limits and structure of operational space control.

    The gains multiply the task inertia, so they are those of a unit mass, for any arm. The defaults suit an arm
    of the size of a UR5; :func:`~arm_control.control.osc.proposal.propose` finds them for any other one.
    """

    tasks: tuple[str, ...] = parameter(
        (),
        f"what is controlled, the most important first, each as rows of {' '.join(ROWS)}; empty: all that the arm"
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
        for part in ("linear", "angular"):
            braking = getattr(self, f"speed_limit_{part}") * math.sqrt(getattr(self, f"kp_{part}")) / 2
            braking /= self.damping_ratio
            if getattr(self, f"acceleration_limit_{part}") < braking:
                raise ParameterError(
                    f"acceleration_limit_{part} = {getattr(self, f'acceleration_limit_{part}')} is too small to"
                    f" stop from speed_limit_{part} with kp_{part}: at least {braking:.4g} is needed"
                )

    def numbers(self, joint_names: Sequence[str]) -> Array:
        """Gains as an array, shape (16 + 2 n,), from which :meth:`Gains.of` reads them.

        Raises
        ------
        ParameterError
            When ``posture`` or ``posture_joints`` do not suit these joints.
        """
        if len(self.posture) != len(joint_names):
            raise ParameterError(f"posture has {len(self.posture)} angles, the arm {len(joint_names)} joints")
        if unknown := [name for name in self.posture_joints if name not in joint_names]:
            raise ParameterError(f"posture_joints: unknown {', '.join(unknown)}; allowed: {', '.join(joint_names)}")
        stiffness = [self.kp_linear, self.kp_angular]
        damping = [2.0 * self.damping_ratio * math.sqrt(kp) for kp in stiffness]
        limits = [self.speed_limit_linear, self.speed_limit_angular]
        limits += [self.acceleration_limit_linear, self.acceleration_limit_angular, self.joint_speed_share]
        fading = [self.characteristic_length, self.singular_value]
        null_space = [self.kp_posture, self.kv_posture, self.kp_joint_limits, self.joint_limit_zone]
        null_space += [self.joint_limit_weight]
        pulled = [float(not self.posture_joints or name in self.posture_joints) for name in joint_names]
        return np.array([*stiffness, *damping, *limits, *fading, *null_space, *self.posture, *pulled])


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
        k_p, k_v = np.repeat(numbers[:2], 3), np.repeat(numbers[2:4], 3)
        V_max, A_max = numbers[4:6], numbers[6:8]
        posture, pulled = np.split(numbers[16:], 2)
        share, length, singular_value, kp_posture, kv_posture, kp_joint_limits, zone, weight = numbers[8:16]
        fading = length, singular_value
        null_space = kp_posture, kv_posture, kp_joint_limits, zone, weight
        return cls(k_p, k_v, V_max, A_max, share, *fading, *null_space, posture, pulled)
