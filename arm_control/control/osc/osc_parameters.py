"""Gains, limits and structure of operational space control, and what of them an arm itself suggests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.limiting import SPEED_LIMITS
from arm_control.control.osc.task import FRAMES, ROWS, rows_of
from arm_control.control.osc.task_inertia import SINGULARITIES
from arm_control.core.parameters import Parameters, parameter
from arm_control.exceptions import ParameterError
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar
from arm_control.model import RobotModel

NULL_SPACES = ("consistent", "pseudo_inverse")
"""How what is below is kept from what is above: the second one only to see what it does wrong."""


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
        choices=tuple(SPEED_LIMITS),
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
        """What :class:`Gains` is made from, shape (16 + 2 n,): numbers of a law may change while it runs.

        Raises
        ------
        ParameterError
            When ``posture`` or ``posture_joints`` do not suit these joints.
        """
        if len(self.posture) != len(joint_names):
            raise ParameterError(f"posture has {len(self.posture)} angles, the arm {len(joint_names)} joints")
        if unknown := [name for name in self.posture_joints if name not in joint_names]:
            raise ParameterError(f"posture_joints: unknown {', '.join(unknown)}; allowed: {', '.join(joint_names)}")
        kv = [2.0 * self.damping_ratio * math.sqrt(kp) for kp in (self.kp_linear, self.kp_angular)]
        limits = [self.speed_limit_linear, self.speed_limit_angular]
        limits += [self.acceleration_limit_linear, self.acceleration_limit_angular, self.joint_speed_share]
        fading = [self.characteristic_length, self.singular_value]
        null_space = [self.kp_posture, self.kv_posture, self.kp_joint_limits, self.joint_limit_zone]
        null_space += [self.joint_limit_weight]
        pulled = [float(not self.posture_joints or name in self.posture_joints) for name in joint_names]
        return np.array([self.kp_linear, self.kp_angular, *kv, *limits, *fading, *null_space, *self.posture, *pulled])


class Gains(NamedTuple):
    """The law's numbers, as any scalars; see :class:`OscParameters`. ``pulled`` is 1 for joints with a posture."""

    kp: Array
    kv: Array
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
    def of(cls, x: Array) -> Gains:
        """Return the gains that :meth:`OscParameters.numbers` lists."""
        posture, pulled = np.split(x[16:], 2)
        kp, kv, limits = np.repeat(x[:2], 3), np.repeat(x[2:4], 3), (x[4:6], x[6:8])
        share, length, singular_value, kp_posture, kv_posture, kp_limits, zone, weight = x[8:16]
        fading, null_space = (length, singular_value), (kp_posture, kv_posture, kp_limits, zone, weight)
        return cls(kp, kv, *limits, share, *fading, *null_space, posture, pulled)


class Form(NamedTuple):
    """What of the law is not a number: other choices are another text, and another kernel.

    Attributes
    ----------
    levels : tuple of tuple of int
        Rows of each task, the most important task first.
    frame, singularity, speed_limit, null_space : str
        As in :class:`OscParameters`.
    """

    levels: tuple[tuple[int, ...], ...] = (tuple(range(6)),)
    frame: str = "world"
    singularity: str = "fade"
    speed_limit: str = "magnitude"
    null_space: str = "consistent"

    @classmethod
    def of(cls, p: OscParameters, model: RobotModel) -> Form:
        """Return the form that parameters ask for, for an arm."""
        levels = rows_of(p.tasks) or movable_rows(model)
        return cls(levels, p.task_frame, p.singularity, p.speed_limit_form, p.null_space)


SAMPLES, NOTHING = 20, 1e-9
"""Postures in which an arm's rows are looked at; what is smaller than this [m or 1] does not move."""


def movable_rows(model: RobotModel) -> tuple[tuple[int, ...], ...]:
    """Tasks for an arm that was given none: one, or position before orientation where joints are too few.

    Rows that no joint ever moves, such as those across the plane of a planar arm, are left out.
    """
    rng = np.random.default_rng(0)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    moved = np.max([np.abs(model.jacobian(q)).max(axis=1) for q in rng.uniform(low, high, (SAMPLES, model.nv))], axis=0)
    rows = tuple(int(row) for row in np.flatnonzero(moved > NOTHING))
    parts = [tuple(row for row in rows if (row < 3) is linear) for linear in (True, False)]
    return (rows,) if len(rows) <= model.nv else tuple(part for part in parts if part)
