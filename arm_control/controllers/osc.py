"""Operational space control: the end effector goes where it should, the arm in between stays tidy.

With ``M a + h = tau``, the Jacobian ``V = J v`` and the pose error ``e`` (position, rotation vector),

    (1)  Lambda = (J M^-1 J^T)^-1                             inertia felt at the end effector
    (2)  V_cmd = nu (limit(k_p / k_v e, V_max) + V_des)       how fast to go: straight, never faster
    (3)  A_cmd = limit(k_v (V_cmd - V), A_max) + A_des        the acceleration that gets it there
    (4)  N = 1 - J^T Lambda J M^-1                            keeps what the end effector does not feel
    (5)  tau = J^T Lambda (A_cmd - Jdot v) + N tau_posture + h

``limit`` keeps the direction and shortens the length, position and orientation each for itself; ``nu``
shortens all of it, so that no joint has to turn faster than its share of its speed limit. Away from
singularities (5) gives ``dV/dt = A_cmd`` exactly, whatever the posture task does.

Near a singularity the inverse in (1) grows without bound. There, and only there, the directions in
which the arm cannot move fade out of the task, smoothly, and the posture task takes them over: see
:func:`task_inertia`.

Sources: O. Khatib, "A unified approach for motion and force control of robot manipulators", 1987,
eqs. 45 to 51, for (1), (4) and (5); O. Khatib, "Real-time obstacle avoidance for manipulators and mobile
robots", 1986, for the limit on the magnitude of the speed in (2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arm_control.exceptions import ParameterError
from arm_control.model import RobotModel, Terms
from arm_control.parameters import Parameters, parameter
from arm_control.reference import Reference
from arm_control.spatial import Array, Pose, limit_magnitude, rotation_vector, wrap_angle

LINEAR, ANGULAR = slice(0, 3), slice(3, 6)


@dataclass(frozen=True)
class OscParameters(Parameters):
    """Gains and limits of operational space control.

    The gains multiply the task inertia, so they are those of a unit mass, for any arm.
    """

    kp_linear: float = parameter(200.0, "stiffness of the position", unit="1/s^2", lower=1e-3, live=True)
    kp_angular: float = parameter(200.0, "stiffness of the orientation", unit="1/s^2", lower=1e-3, live=True)
    damping_ratio: float = parameter(1.0, "damping of both, 1 is critical", lower=0.1, upper=10.0, live=True)
    speed_limit_linear: float = parameter(0.5, "largest commanded speed", unit="m/s", lower=1e-3, live=True)
    speed_limit_angular: float = parameter(1.0, "largest commanded angular speed", unit="rad/s", lower=1e-3, live=True)
    acceleration_limit_linear: float = parameter(
        5.0, "largest commanded acceleration", unit="m/s^2", lower=1e-3, live=True
    )
    acceleration_limit_angular: float = parameter(
        12.0, "largest commanded angular acceleration", unit="rad/s^2", lower=1e-3, live=True
    )
    posture: tuple[float, ...] = parameter(
        (), "joint positions the null space pulls to; empty: the first measured ones", unit="rad", live=True
    )
    kp_posture: float = parameter(20.0, "stiffness of the posture task", unit="1/s^2", lower=0.0, live=True)
    kv_posture: float = parameter(
        25.0, "damping of the posture task, and of what fades out of the task", unit="1/s", lower=0.0, live=True
    )
    joint_speed_share: float = parameter(
        0.5, "share of a joint's speed limit that the task may ask for", lower=0.01, upper=1.0, live=True
    )
    characteristic_length: float = parameter(
        0.3, "length that makes an angle comparable with a distance", unit="m", lower=1e-3, live=True
    )
    singular_value: float = parameter(
        0.04,
        "singular value of the Jacobian (angular rows times the characteristic length) below which a"
        " direction fades out of the task",
        unit="m",
        lower=1e-4,
        live=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in ("linear", "angular"):
            braking = getattr(self, f"speed_limit_{part}") * math.sqrt(getattr(self, f"kp_{part}")) / 2
            braking /= self.damping_ratio
            if getattr(self, f"acceleration_limit_{part}") < braking:
                raise ParameterError(
                    f"acceleration_limit_{part} = {getattr(self, f'acceleration_limit_{part}')} is too small to"
                    f" stop from speed_limit_{part} with kp_{part}: at least {braking:.4g} is needed"
                )

    @property
    def kp(self) -> Array:
        """Stiffness of the six task rows [1/s^2]."""
        return np.repeat([self.kp_linear, self.kp_angular], 3)

    @property
    def kv(self) -> Array:
        """Damping of the six task rows [1/s]: ``2 damping_ratio sqrt(kp)``."""
        return 2.0 * self.damping_ratio * np.sqrt(self.kp)


@dataclass(frozen=True)
class OscOutput:
    """What one tick gives.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Joint torque, the sum of the terms [N m].
    terms : dict of str to ndarray
        ``task``, ``posture`` and ``bias`` torque [N m].
    error : ndarray, shape (6,)
        Position error [m], rotation vector of the orientation error [rad], world axes.
    singular_values : ndarray, shape (6,)
        Of the scaled Jacobian, largest first [m].
    """

    tau: Array
    terms: dict[str, Array]
    error: Array
    singular_values: Array


class OperationalSpaceController:
    """The law of this module for one arm. Nothing in it changes from tick to tick.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : OscParameters
        Gains and limits; a ``posture`` is needed here, one angle per joint.

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

    def __init__(self, model: RobotModel, parameters: OscParameters) -> None:
        if len(parameters.posture) != model.nv:
            raise ParameterError(f"posture has {len(parameters.posture)} angles, the arm {model.nv} joints")
        self.parameters = parameters
        self._kp, self._kv = parameters.kp, parameters.kv
        self._posture = np.array(parameters.posture)
        self._v_max = model.v_max
        self._continuous = np.isinf(model.q_max)

    def tick(self, t: Terms, reference: Reference) -> OscOutput:
        """Joint torque for one state, equations (1) to (5).

        Parameters
        ----------
        t : Terms
            The arm in the measured state.
        reference : Reference
            The motion wanted.

        Returns
        -------
        OscOutput
        """
        p, kp, kv = self.parameters, self._kp, self._kv
        V_max = p.speed_limit_linear, p.speed_limit_angular
        A_max = p.acceleration_limit_linear, p.acceleration_limit_angular
        e = pose_error(t.X_WE, reference.X_WT)
        M_inv = np.linalg.inv(t.M)
        Lambda, singular_values = task_inertia(t.J, M_inv, p.characteristic_length, p.singular_value)  # (1)
        J_bar_T = Lambda @ t.J @ M_inv  # transpose of the dynamically consistent inverse of J
        V_cmd = _limit(kp / kv * e, *V_max) + reference.V_des
        V_cmd = self._nu(J_bar_T.T @ V_cmd) * V_cmd  # (2)
        A_cmd = _limit(kv * (V_cmd - t.V_WE), *A_max) + reference.A_des  # (3)
        posture = self.posture_torque(t)
        N_posture = posture - t.J.T @ (J_bar_T @ posture)  # (4)
        task = t.J.T @ (Lambda @ (A_cmd - t.Jdot_v))
        tau = task + N_posture + t.h  # (5)
        return OscOutput(tau, {"task": task, "posture": N_posture, "bias": t.h}, e, singular_values)

    def posture_torque(self, t: Terms) -> Array:
        """Torque of the posture task before the null space filters it, shape (nv,) [N m].

        A spring and a damper per joint, scaled by the mass matrix: ``M (k_p (q_posture - q) - k_v v)``;
        continuous joints take the short way round.
        """
        p = self.parameters
        e = self._posture - t.q
        e = np.where(self._continuous, wrap_angle(e), e)
        return t.M @ (p.kp_posture * e - p.kv_posture * t.v)

    def _nu(self, v_cmd: Array) -> float:
        """``nu`` of equation (2): 1, or what keeps every joint within its share of the speed limit."""
        share = float(np.abs(v_cmd / self._v_max).max())
        return min(1.0, self.parameters.joint_speed_share / share) if share > 0.0 else 1.0


def _limit(twist: Array, linear: float, angular: float) -> Array:
    """``limit`` of equations (2) and (3): position and orientation each for itself."""
    return np.concatenate([limit_magnitude(twist[LINEAR], linear), limit_magnitude(twist[ANGULAR], angular)])


def pose_error(X_WE: Pose, X_WT: Pose) -> Array:
    """Error from the end effector to the target: desired minus actual.

    Parameters
    ----------
    X_WE, X_WT : Pose
        Pose of the end effector and of the target in the world.

    Returns
    -------
    ndarray, shape (6,)
        Position error [m] and rotation vector of ``R_WT R_WE^T`` [rad], world axes.
    """
    return np.concatenate([X_WT.p - X_WE.p, rotation_vector(X_WT.R @ X_WE.R.T)])


def task_inertia(J: Array, M_inv: Array, length: float, singular_value: float) -> tuple[Array, Array]:
    r"""Inertia at the end effector, equation (1), bounded at singularities.

    The Jacobian's rows are brought to metres (angular rows times ``length``) and decomposed,
    ``S J = U diag(sigma) V^T``. A direction ``u_i`` with ``sigma_i`` below ``singular_value`` gets the
    weight ``w_i = s^2 (3 - 2 s)``, ``s = sigma_i / singular_value``, through an extra compliance

        Lambda = S (A + sum_i (1 / w_i - 1) (u_i^T A u_i) u_i u_i^T)^-1 S,    A = S J M^-1 J^T S.

    Where all weights are 1 this is exactly (1); where ``w_i`` goes to 0 it becomes the inertia of the
    task without the direction ``u_i``. In between it is smooth, and the torque stays bounded, because
    ``u_i^T A u_i`` vanishes no faster than ``w_i``: it is ``sigma_i^2 v_i^T M^-1 v_i``, so the extra
    compliance is computed as ``(singular_value^2 / (3 - 2 s) - sigma_i^2) v_i^T M^-1 v_i``, which divides
    by nothing that can be small. An arm with fewer than six joints lacks some directions for good;
    for them ``sigma_i = 0``.

    Parameters
    ----------
    J : ndarray, shape (6, nv)
        Jacobian.
    M_inv : ndarray, shape (nv, nv)
        ``M^-1``.
    length : float
        Characteristic length [m].
    singular_value : float
        Where a direction begins to fade [m]; 0 switches the protection off.

    Returns
    -------
    Lambda : ndarray, shape (6, 6)
        Task inertia.
    singular_values : ndarray, shape (6,)
        ``sigma``, largest first [m].
    """
    S = np.array([1.0, 1.0, 1.0, length, length, length])
    A = S[:, None] * (J @ M_inv @ J.T) * S
    U, sigma, Vt = np.linalg.svd(S[:, None] * J)
    if sigma.size < 6:
        sigma, Vt = np.pad(sigma, (0, 6 - sigma.size)), np.pad(Vt, ((0, 6 - sigma.size), (0, 0)), mode="edge")
    fading = sigma < singular_value
    if fading.any():
        u, v, sigma_u = U[:, fading], Vt[:6][fading], sigma[fading]
        mobility = np.einsum("ki,ij,kj->k", v, M_inv, v)
        stretched = singular_value**2 / (3.0 - 2.0 * sigma_u / singular_value)
        A = A + (u * ((stretched - sigma_u**2) * mobility)) @ u.T
    return S[:, None] * np.linalg.inv(A) * S, sigma
