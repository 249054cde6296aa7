"""Gains and limits proposed for an arm, from its mass matrix, its limits of effort and the rate of its states.

In postures all over the arm's range that it can hold, away from singularities, for position and orientation, i, each

    (0)  tau_able = min(1/2 (tau_max - |g|), rate_limit T)        torque to accelerate with            [N m]
    (1)  a_i = Q_0.2 min_j tau_able_j / |(J^T Lambda)_j|_i        acceleration in the worst direction  [m/s^2, rad/s^2]
    (2)  k_v = min(k_v0, rate / 10),  k_p = (k_v / (2 zeta))^2    damping and stiffness                [1/s], [1/s^2]
    (3)  v = 2 zeta a / sqrt(k_p) / 1.25                          speed that can be stopped from       [m/s, rad/s]

Q_0.2 is the quantile over postures: what four postures in five allow is proposed. A torque that the gate lets through
later than T is a delay of the control loop, in which a heavy arm would swing. A fast sampled loop allows high gains;
above ``k_v0`` they would only amplify noise. zeta is the damping ratio.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from arm_control.control.osc.osc_parameters import OscParameters
from arm_control.control.osc.task_inertia import scaled_jacobian, task_inertia
from arm_control.model import RobotModel

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


class Capability(NamedTuple):
    """Reach of an arm [m], and its acceleration by (1), linear and angular [m/s^2, rad/s^2]."""

    reach: float
    acceleration: tuple[float, float]


def propose(model: RobotModel, rate: float = 1000.0, rate_limit: float = 1000.0, **overrides: Any) -> OscParameters:
    """Return parameters for an arm: overrides, and proposals for the rest.

    Parameters
    ----------
    rate : float
        Rate of the states [Hz].
    rate_limit : float
        The gate's, for the torque of each joint [N m/s].
    **overrides
        Parameters that are not proposed but set.

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
    for part, able, lively, quick in zip(("linear", "angular"), accelerations, LIVELY, QUICK, strict=True):
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
def capability(model: RobotModel, rate_limit: float = 1000.0) -> Capability:
    """Reach and acceleration of an arm, equations (0) and (1), from SAMPLES random postures.

    Parameters
    ----------
    rate_limit : float
        The gate's, for the torque of each joint [N m/s].
    """
    rng = np.random.default_rng(0)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
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
    return Capability(reach, (float(linear), float(angular)))
