"""Gains and limits proposed for an arm, from its mass matrix, its limits of effort and the rate of its states.

In postures all over the arm's range that it can hold, away from singularities, for position and orientation, i, each

    (0)  tau_able = min(1/2 (tau_max - |g|), rate_limit T)        torque to accelerate with            [N m]
    (1)  a_i = Q_0.2 min_j tau_able_j / |(J^T Lambda)_j|_i        acceleration in the worst direction  [m/s^2, rad/s^2]
    (2)  k_v = min(k_v0, rate / 10),  k_p = (k_v / (2 zeta))^2    damping and stiffness                [1/s], [1/s^2]
    (3)  v = 2 zeta a / sqrt(k_p) / 1.25                          speed that can be stopped from       [m/s, rad/s]

Q_0.2 is the quantile over postures: what four postures in five allow is proposed. A torque that the gate lets through
later than T is a delay of the control loop, in which a heavy arm would swing. A fast sampled loop allows high gains;
above ``k_v0`` they would only amplify noise. zeta is the damping ratio.

The node ``osc``, a simulation and the report of a run resolve their parameters here, and so use the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from arm_control.control.avoidance_law import AvoidanceParameters
from arm_control.control.osc.osc_parameters import NULL_SPACES, PARTS, ContactParameters, OscParameters
from arm_control.control.osc.task_inertia import scaled_jacobian, task_inertia
from arm_control.core import Parameters, group, parameter
from arm_control.exceptions import ParameterError
from arm_control.gate import GateParameters
from arm_control.model import RobotModel, drawn_range

SAMPLES, QUANTILE, SHARE = 100, 0.2, 0.5
SMALLEST_REACH = 0.05
"""Reach of an arm that turns its tip on the spot [m]."""
REACH_PER_LENGTH, REACH_PER_SINGULAR_VALUE = 0.35, 0.08
"""Characteristic length and threshold of a singular value, as shares of the reach."""
POSTURE_DAMPING = 60.0
"""Damping of the posture, where the rate allows it [1/s]; with less, directions fade sooner out of the task."""
HIGHEST_DAMPING = 2.0 * math.sqrt(200.0)
"""k_v0 of (2) [1/s]."""
RAMP_TIME = 0.1
"""T of (0) [s]."""
LIVELY = (6.0, 12.0)
"""Largest proposed acceleration: per reach [1/s^2], and of the orientation [rad/s^2]."""
QUICK = (0.6, 1.0)
"""Largest proposed speed: per reach [1/s], and of the orientation [rad/s]."""


PROPOSED = (
    *(f"{what}_{part}" for what in ("kp", "speed_limit", "acceleration_limit") for part in PARTS),
    *("kp_posture", "kv_posture", "characteristic_length", "singular_value"),
)
"""Parameters proposed for an arm."""
OF_ONE_ARM = (*PROPOSED, "posture", "posture_joints", "armature")
"""Parameters of a controller that mean nothing for another arm."""
LOOSE = {
    **{f"speed_limit_{part}": 1e-3 for part in PARTS},
    **{f"acceleration_limit_{part}": 1e6 for part in PARTS},
}
"""Stand-ins for limits that nobody gives while the arm is unknown: they are consistent with any gain."""


@dataclass(frozen=True)
class OscTuning(Parameters):
    """Operational space control with its avoidance, and whether gains are proposed for the arm."""

    law: OscParameters = group(OscParameters)
    contact: ContactParameters = group(ContactParameters)
    avoidance: AvoidanceParameters = group(AvoidanceParameters)
    propose_gains: bool = parameter(
        True, "gains and limits that are not given are those that suit the arm, not the defaults"
    )
    rate: float = parameter(1000.0, "rate of the states that they are proposed for", unit="Hz", lower=1.0)
    twist_timeout: float = parameter(
        0.1, "a target_twist that is older, by the states' stamps, has ended", unit="s", lower=0.01, live=True
    )
    avoid_obstacles: bool = parameter(False, "whether obstacles, and the arm itself, are avoided")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contact.is_active and self.law.null_space != NULL_SPACES[0]:
            raise ParameterError(f"impedance and force_axes need null_space = {NULL_SPACES[0]}")


P = TypeVar("P", bound=Parameters)


def resolve_parameters(
    parameter_class: type[P], overrides: Mapping[str, Any], model: RobotModel | None, where: str = ""
) -> P:
    """Return parameters, with proposals for the gains and limits that nobody gives.

    Parameters
    ----------
    parameter_class : type
        A class of parameters with those of :class:`OscTuning` among them.
    model : RobotModel or None
        The arm; None while it is unknown: then only the given values are checked.

    Raises
    ------
    ParameterError
        When a name is unknown, a value is not allowed, or the given values are inconsistent.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("planar2"))
    >>> p = resolve_parameters(OscTuning, {"kp_linear": 50.0}, model).law
    >>> p.kp_linear, p.speed_limit_linear == propose(model, kp_linear=50.0).speed_limit_linear
    (50.0, True)
    """
    if overrides.get("propose_gains") is False:
        return parameter_class.from_mapping(overrides, where=where)
    loose = parameter_class.from_mapping({**LOOSE, **overrides}, where=where)
    if model is None:
        return loose
    values = loose.values()
    given = {name: values[name] for name in overrides if name in OscParameters.types()}
    rate_limit = values.get("rate_limit", GateParameters().rate_limit)
    try:
        proposal = propose(model, values["rate"], rate_limit, **given)
    except ParameterError as error:
        cure = "compare its masses and limits with the data sheet, see `arm_control check`, or set the value"
        raise ParameterError(f"proposed for this arm: {error}; {cure}") from None
    return parameter_class.from_mapping({**proposal.values(), **overrides}, where=where)


def describe_proposals(parameters: OscTuning, overrides: Collection[str]) -> str:
    """Return one line with the proposed values; empty when there are none."""
    if not parameters.propose_gains:
        return ""
    values = parameters.values()
    return ", ".join(f"{name} = {values[name]:.4g}" for name in PROPOSED if name not in overrides)


def propose(model: RobotModel, rate: float = 1000.0, rate_limit: float = 1000.0, **overrides: Any) -> OscParameters:
    """Return parameters for an arm: overrides, and proposals for the rest.

    Parameters
    ----------
    rate : float
        Rate of the states [Hz].
    rate_limit : float
        The gate's, for the torque of each joint [N m/s].

    Raises
    ------
    ParameterError
        When the overrides cannot work together.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> p = propose(RobotModel.from_urdf(urdf_path("ur5")), kp_linear=100.0)
    >>> p.kp_linear, round(p.kp_angular), round(p.speed_limit_linear, 1)
    (100.0, 200, 0.5)
    """
    reach, accelerations = capability(model, rate_limit)
    zeta = float(overrides.get("damping_ratio", 1.0))
    kv, kv_posture = (min(k_v, rate / 10.0) for k_v in (HIGHEST_DAMPING, POSTURE_DAMPING))  # (2)
    values: dict[str, Any] = {
        "characteristic_length": REACH_PER_LENGTH * reach,
        "singular_value": REACH_PER_SINGULAR_VALUE * reach * math.sqrt(POSTURE_DAMPING / kv_posture),
        "kp_posture": kv_posture,
        "kv_posture": kv_posture,
    }
    for part, able, lively, quick in zip(PARTS, accelerations, LIVELY, QUICK, strict=True):
        size = reach if part == "linear" else 1.0
        kp = float(overrides.get(f"kp_{part}", (kv / (2.0 * zeta)) ** 2))
        a = float(overrides.get(f"acceleration_limit_{part}", min(able, lively * size)))
        v = min(quick * size, 2.0 * zeta * a / math.sqrt(kp) / 1.25)  # (3)
        v = float(overrides.get(f"speed_limit_{part}", v))
        a = max(a, 1.001 * v * math.sqrt(kp) / (2.0 * zeta))  # an overridden speed must be stopped from
        values |= {f"kp_{part}": kp, f"acceleration_limit_{part}": a, f"speed_limit_{part}": v}
    rounded = {name: float(f"{value:.4g}") for name, value in values.items()}
    return OscParameters.from_mapping({**rounded, **overrides})


def propose_rate_limit(model: RobotModel) -> float:
    """Proposed rate limit of a gate [N m/s]: the largest effort limit within a tenth of a second.

    In a heavy arm a slower gate would be a delay in the control loop.
    """
    return max(1000.0, 10.0 * float(model.tau_max.max()))


@lru_cache(maxsize=8)
def capability(model: RobotModel, rate_limit: float = 1000.0) -> tuple[float, tuple[float, float]]:
    """Reach and acceleration of an arm, equations (0) and (1), from SAMPLES random postures.

    Parameters
    ----------
    rate_limit : float
        The gate's, for the torque of each joint [N m/s].
    """
    rng = np.random.default_rng(0)
    low, high = drawn_range(model.q_min, model.q_max)
    states = [model.evaluate(q, np.zeros(model.nv)) for q in rng.uniform(low, high, (SAMPLES, model.nv))]
    reach = max(float(np.ptp([t.X_WE.p for t in states], axis=0).max() / 2.0), SMALLEST_REACH)
    length, threshold = REACH_PER_LENGTH * reach, REACH_PER_SINGULAR_VALUE * reach
    sigmas = [np.linalg.svd(scaled_jacobian(t.J, length), compute_uv=False) for t in states]
    rank = max(1, int((np.max(sigmas, axis=0) > threshold).sum()))  # of a planar arm at most 3
    accelerations = []
    for t, sigma in zip(states, sigmas, strict=True):
        per_newton = np.abs(t.J.T @ task_inertia(t.J, t.M, length, threshold))
        tau_able = np.minimum(SHARE * (model.tau_max - np.abs(t.g)), RAMP_TIME * rate_limit)  # (0)
        parts = [np.linalg.norm(per_newton[:, part], axis=1) for part in (slice(0, 3), slice(3, 6))]
        if sigma[rank - 1] > threshold and tau_able.min() > 0.0:
            accelerations.append([float((tau_able / np.maximum(part, 1e-9)).min()) for part in parts])  # (1)
    linear, angular = np.quantile(accelerations or [[SHARE, SHARE]], QUANTILE, axis=0)
    return reach, (float(linear), float(angular))
