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

The law, :func:`torque`, is written over any scalar: it runs on floats as it stands, and compiled with the
model's terms (:mod:`arm_control.controllers.compiled_osc`).

Near a singularity the inverse in (1) grows without bound. There, and only there, the directions in
which the arm cannot move fade out of the task, smoothly, and the posture task takes them over: see
:func:`~arm_control.controllers.task_inertia.task_inertia`.

Sources: O. Khatib, "A unified approach for motion and force control of robot manipulators", 1987,
eqs. 45 to 51, for (1), (4) and (5); O. Khatib, "Real-time obstacle avoidance for manipulators and mobile
robots", 1986, for the limit on the magnitude of the speed in (2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.controllers.task_inertia import scaled_jacobian, task_inertia
from arm_control.exceptions import ParameterError
from arm_control.matrices import inverse
from arm_control.model import RobotModel, Terms
from arm_control.parameters import Parameters, parameter
from arm_control.reference import Reference
from arm_control.scalars import Scalar, maximum, nearest, select
from arm_control.spatial import Array, Pose, limit_magnitude, rotation_vector

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

    def numbers(self) -> Array:
        """What :class:`Gains` is made from, shape (13 + n,): numbers of a law may change while it runs."""
        kv = [2.0 * self.damping_ratio * math.sqrt(kp) for kp in (self.kp_linear, self.kp_angular)]
        limits = [self.speed_limit_linear, self.speed_limit_angular]
        limits += [self.acceleration_limit_linear, self.acceleration_limit_angular, self.joint_speed_share]
        fading = [self.characteristic_length, self.singular_value]
        null_space = [self.kp_posture, self.kv_posture, *self.posture]
        return np.array([self.kp_linear, self.kp_angular, *kv, *limits, *fading, *null_space])


class Gains(NamedTuple):
    """The law's numbers, as any scalars; see :class:`OscParameters`."""

    kp: Array
    kv: Array
    V_max: Array
    A_max: Array
    joint_speed_share: Scalar
    length: Scalar
    singular_value: Scalar
    kp_posture: Scalar
    kv_posture: Scalar
    posture: Array

    @classmethod
    def of(cls, x: Array) -> Gains:
        """Return the gains that :meth:`OscParameters.numbers` lists."""
        share, length, singular_value, kp_posture, kv_posture = x[8:13]
        limits = x[4:6], x[6:8], share, length, singular_value
        return cls(np.repeat(x[:2], 3), np.repeat(x[2:4], 3), *limits, kp_posture, kv_posture, x[13:])


class Drive(NamedTuple):
    """What the law has to know of the joints: their speed limits (n,), and which go round and round."""

    v_max: Array
    is_continuous: Array


class Torque(NamedTuple):
    """Joint torque (n,): the sum, the terms it is made of; and the pose error (6,)."""

    tau: Array
    task: Array
    posture: Array
    error: Array


def torque(t: Terms, reference: Reference, g: Gains, drive: Drive, is_regular: bool = False) -> Torque:
    """Joint torque for one state, equations (1) to (5).

    Parameters
    ----------
    t : Terms
        The arm in the measured state.
    reference : Reference
        The motion wanted.
    g : Gains
    drive : Drive
    is_regular : bool
        No direction fades: every singular value is known to be above ``g.singular_value``.
    """
    e = pose_error(t.X_WE, reference.X_WT)
    M_inv = inverse(t.M)
    Lambda = task_inertia(t.J, M_inv, g.length, g.singular_value, is_regular)  # (1)
    J_bar_T = Lambda @ (t.J @ M_inv)  # transpose of the dynamically consistent inverse of J
    V_cmd = _limit(g.kp / g.kv * e, g.V_max) + reference.V_des
    V_cmd = V_cmd * _nu(J_bar_T.T @ V_cmd, g, drive)  # (2)
    A_cmd = _limit(g.kv * (V_cmd - t.V_WE), g.A_max) + reference.A_des  # (3)
    posture = posture_torque(t, g, drive)
    N_posture = posture - t.J.T @ (J_bar_T @ posture)  # (4)
    task = t.J.T @ (Lambda @ (A_cmd - t.Jdot_v))
    return Torque(task + N_posture + t.h, task, N_posture, e)  # (5)


def posture_torque(t: Terms, g: Gains, drive: Drive) -> Array:
    """Torque of the posture task before the null space filters it, shape (n,) [N m].

    A spring and a damper per joint, scaled by the mass matrix: ``M (k_p (q_posture - q) - k_v v)``; continuous
    joints take the short way round.
    """
    e = g.posture - t.q
    turns = [nearest(x / math.tau) if wraps else 0.0 for x, wraps in zip(e, drive.is_continuous, strict=True)]
    return t.M @ (g.kp_posture * (e - math.tau * np.array(turns)) - g.kv_posture * t.v)


def _nu(v_cmd: Array, g: Gains, drive: Drive) -> Scalar:
    """``nu`` of equation (2): 1, or what keeps every joint within its share of the speed limit."""
    share = g.joint_speed_share
    for v, v_max in zip(v_cmd, drive.v_max, strict=True):
        share = maximum(share, select(v, v, -v) / v_max)
    return g.joint_speed_share / share


def _limit(twist: Array, longest: Array) -> Array:
    """``limit`` of equations (2) and (3): position and orientation each for itself."""
    return np.concatenate([limit_magnitude(twist[LINEAR], longest[0]), limit_magnitude(twist[ANGULAR], longest[1])])


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


class OscOutput(NamedTuple):
    """What one tick gives.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Joint torque, the sum of the terms [N m].
    terms : dict of str to ndarray
        ``task``, ``posture`` and ``bias`` torque [N m].
    error : ndarray, shape (6,)
        Position error [m], rotation vector of the orientation error [rad], world axes.
    state : Terms
        The arm in the state this is for.
    length : float
        Characteristic length [m].
    """

    tau: Array
    terms: dict[str, Array]
    error: Array
    state: Terms
    length: float

    @property
    def singular_values(self) -> Array:
        """Singular values of the scaled Jacobian, largest first, shape (6,) [m]."""
        sigma = np.linalg.svd(scaled_jacobian(self.state.J, self.length), compute_uv=False)
        return np.pad(sigma, (0, 6 - sigma.size))


class OperationalSpaceController:
    """The law of this module for one arm, as it stands. Nothing in it changes from tick to tick.

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
        self.drive = Drive(model.v_max, np.isinf(model.q_max))
        self.numbers = parameters.numbers()
        self._gains = Gains.of(self.numbers)

    def posture_torque(self, t: Terms) -> Array:
        """Torque of the posture task before the null space filters it, shape (nv,) [N m]."""
        return posture_torque(t, self._gains, self.drive)

    def tick(self, t: Terms, reference: Reference) -> OscOutput:
        """Joint torque for one state.

        Parameters
        ----------
        t : Terms
            The arm in the measured state.
        reference : Reference
            The motion wanted.
        """
        p = self.parameters
        SJ = scaled_jacobian(t.J, p.characteristic_length)
        is_regular = bool(np.linalg.eigvalsh(SJ @ SJ.T)[0] > p.singular_value**2)
        x = torque(t, reference, self._gains, self.drive, is_regular)
        terms = {"task": x.task, "posture": x.posture, "bias": t.h}
        return OscOutput(x.tau, terms, x.error, t, p.characteristic_length)
