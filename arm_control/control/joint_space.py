"""Joint space control: every joint follows its own reference.

With ``M a + h = tau`` and the error ``e = q_des - q``, the short way round for continuous joints,

    (1)  a_cmd = a_des + k_v (v_des - v) + k_p e,    k_v = 2 damping_ratio sqrt(k_p)
    (2)  tau = M a_cmd + h                           computed torque
    (3)  tau = K_p e + K_v (v_des - v) + g           PD with gravity compensation

Computed torque gives ``a = a_cmd`` exactly: each joint is a unit mass on a spring and a damper, whatever the
others do, so two gains serve any arm. PD needs less of the model, only g, and a gain for each joint:

    (4)  K_p = k_p D,  K_v = k_v D,    D_i = max over poses of sum_j |M_ij|

``D - M`` is diagonally dominant, so D is at least M in every direction, and every mode of (3) is damped at least
as (1) is. Its price is speed: a light wrist sees a ``D`` far above its own inertia, and torque that is held for a
time ``dt`` is stable only while

    (5)  k_v lambda_max(M^-1 D) dt < 2

(4) keeps it at 1 and lowers ``k_p`` for that. Friction that is known, of an identified arm, is added by the desired
speed: the measured one would make a joint at rest tremble.

    (6)  tau += c tanh(v_des / v_s) + b v_des

Where shares s of each joint differ, the springs of (1) stay springs, and its dampers take power only:

    (7)  M k_p e  becomes  W M W k_p e,    W = diag(sqrt(s))

    q, v, a              joint positions, velocities, accelerations   [rad, rad/s, rad/s^2; m if prismatic]
    M, h, g              mass matrix, bias, gravity torque            [kg m^2; N m; N m]
    k_p, k_v             gains of a unit mass                         [1/s^2; 1/s]
    K_p, K_v, D          gains of each joint, its bound of inertia    [N m/rad; N m s/rad; kg m^2]
    c, b                 ``coulomb_friction``, ``viscous_friction``   [N m; N m s/rad]
    v_s                  speed below which (6) fades                  [rad/s]
    dt                   time between two states (``period``)         [s]

Sources: B. Siciliano et al., "Robotics: modelling, planning and control", 2009, sections 8.5.1 and 8.5.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arm_control.control.controller import LawOutput
from arm_control.core import Parameters, parameter
from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.maths import Array, wrap_angle
from arm_control.model import RobotModel, Terms, drawn_range
from arm_control.motion import JointReference

JOINT_TERMS = ("feedback", "feedforward", "bias")
"""Terms of the torque."""
POSES = 256
"""Number of random poses over which (4) takes its maximum."""

FRICTION_SPEED = 0.02
"""v_s of (6) [rad/s or m/s]."""
HELD = 1.0
"""Value of (5) for proposed gains; 2 would be the edge of stability."""


@dataclass(frozen=True)
class JointParameters(Parameters):
    """Gains of joint space control."""

    law: str = parameter("computed_torque", "the law", choices=("computed_torque", "pd"))
    kp: float = parameter(
        100.0, "stiffness of a unit mass; proposed PD gains are made of it", unit="1/s^2", lower=1e-3, live=True
    )
    damping_ratio: float = parameter(1.0, "damping, 1 is critical", lower=0.1, upper=10.0, live=True)
    stiffness: tuple[float, ...] = parameter(
        (), "K_p of each joint for PD; empty: proposed from M", unit="N m/rad", lower=0.0
    )
    damping: tuple[float, ...] = parameter(
        (), "K_v of each joint for PD; empty: proposed from M", unit="N m s/rad", lower=0.0
    )
    period: float = parameter(1e-3, "time between two states that proposed PD gains are made for", unit="s", lower=1e-5)

    @property
    def kv(self) -> float:
        """Damping of a unit mass [1/s]."""
        return 2.0 * self.damping_ratio * math.sqrt(self.kp)


@dataclass(frozen=True)
class JointOutput:
    """Result of one tick.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Joint torque, the sum of the terms [N m].
    terms : dict of str to ndarray
        ``feedback``, ``feedforward`` and ``bias`` torque [N m].
    error : ndarray, shape (nv,)
        ``q_des - q`` [rad or m].
    friction : ndarray, shape (nv,), or None
        The part of (6), which is in the torque; None where no friction is known [N m].
    """

    tau: Array
    terms: dict[str, Array]
    error: Array
    friction: Array | None = None


class JointSpaceController:
    """The laws of this module for one arm; without state.

    Raises
    ------
    ParameterError
        When there are not as many PD gains as joints, or only one of stiffness and damping is set.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> terms = model.evaluate(np.zeros(6), np.ones(6))
    >>> rest = np.zeros(6)
    >>> output = JointSpaceController(model, JointParameters()).tick(terms, JointReference(rest, rest, rest))
    >>> model.forward_dynamics(terms.q, terms.v, output.tau).round(9)
    array([-20., -20., -20., -20., -20., -20.])
    """

    def __init__(self, model: RobotModel, parameters: JointParameters) -> None:
        self._model, self.parameters = model, parameters
        self.scales_with_inertia = parameters.law == "computed_torque"
        self._continuous = np.isinf(model.q_max)
        self._coulomb, self._viscous = model.coulomb, model.viscous
        self._has_friction = bool(model.coulomb.any() or model.viscous.any())
        gains = (parameters.kp, parameters.kv) if self.scales_with_inertia else pd_gains(model, parameters)
        self._kp: float | Array = gains[0]
        self._kv: float | Array = gains[1]

    def tick(
        self, t: Terms, reference: JointReference, stiffness: float | Array = 1.0, damping: float | Array = 1.0
    ) -> JointOutput:
        """Joint torque for one state, with shares of the gains of position and of velocity, of each joint or of all."""
        e = self._error(t, reference)
        e_v = reference.v_des - t.v
        if self.scales_with_inertia and isinstance(stiffness, float) and isinstance(damping, float):
            feedback = t.M @ (damping * self.parameters.kv * e_v + stiffness * self.parameters.kp * e)  # (1)
        else:
            feedback = self._felt(t, stiffness, self._kp * e) + self._felt(t, damping, self._kv * e_v)  # (3), (7)
        if self.scales_with_inertia:
            feedforward, bias = t.M @ reference.a_des, t.h  # (2)
        else:
            feedforward, bias = np.zeros_like(e), t.g
        friction = None
        if self._has_friction:
            v_des = reference.v_des
            friction = self._coulomb * np.tanh(v_des / FRICTION_SPEED) + self._viscous * v_des  # (6)
            feedforward = feedforward + friction
        terms = {"feedback": feedback, "feedforward": feedforward, "bias": bias}
        return JointOutput(feedback + feedforward + bias, terms, e, friction)

    def answer(
        self,
        t: Terms,
        reference: JointReference,
        figures: Callable[[], dict[str, float]] = dict,
        refused: ArmControlError | None = None,
        shares: tuple[float | Array, float | Array] = (1.0, 1.0),
    ) -> LawOutput:
        """Answer a state; ``figures`` are those of the controller beside the error, shares as of :meth:`tick`."""
        output = self.tick(t, reference, *shares)
        error = float(abs(output.error).max())
        return LawOutput(
            t,
            output.tau,
            lambda: output.terms,
            self._model.pose(reference.q_des),
            lambda: {"joint_error": error, **figures()},
            refused=refused,
            friction=output.friction,
        )

    def energy(self, t: Terms, reference: JointReference, stiffness: float | Array) -> float:
        """Energy that the springs hold with a share of the stiffness [J]."""
        e = self._error(t, reference)
        return 0.5 * float(e @ self._felt(t, stiffness, self._kp * e))

    def power(self, t: Terms, reference: JointReference, damping: float | Array) -> float:
        """Power that a share of the damping takes [W]."""
        e_v = reference.v_des - t.v
        return float(e_v @ self._felt(t, damping, self._kv * e_v))

    def _felt(self, t: Terms, share: float | Array, x: Array) -> Array:
        """A share of the torque that gains times an error, x, make: (7), or each joint by itself."""
        if not self.scales_with_inertia:
            return share * x
        root: float | Array = np.sqrt(share)
        return root * (t.M @ (root * x))

    def _error(self, t: Terms, reference: JointReference) -> Array:
        e = reference.q_des - t.q
        return np.where(self._continuous, wrap_angle(e), e)  # the short way round


def pd_gains(model: RobotModel, parameters: JointParameters) -> tuple[Array, Array]:
    """PD gains: those of the parameters, or those of equation (4).

    Parameters
    ----------
    parameters : JointParameters
        ``stiffness`` and ``damping``, or ``kp``, ``damping_ratio`` and ``period`` to propose them from.

    Returns
    -------
    K_p, K_v : ndarray, shape (nv,)
        Stiffness [N m/rad] and damping [N m s/rad] of each joint.

    Raises
    ------
    ParameterError
        When there are not as many as joints, or only one of stiffness and damping is set.
    """
    stated = parameters.stiffness, parameters.damping
    if any(stated):
        for name, gains in zip(("stiffness", "damping"), stated, strict=True):
            if len(gains) != model.nv:
                raise ParameterError(f"{name} has {len(gains)} gains, the arm {model.nv} joints")
        return np.array(parameters.stiffness), np.array(parameters.damping)
    D, fastest = _dominating_diagonal(model)
    k_v = min(parameters.kv, HELD / (fastest * parameters.period))
    k_p = (k_v / (2.0 * parameters.damping_ratio)) ** 2
    return k_p * D, k_v * D


def _dominating_diagonal(model: RobotModel) -> tuple[Array, float]:
    """``D`` of (4), shape (nv,) [kg m^2], and the largest ``lambda_max(M^-1 D)`` over all poses."""
    low, high = drawn_range(model.q_min, model.q_max)
    qs = np.random.default_rng(0).uniform(low, high, (POSES, model.nq))
    Ms = np.array([model.mass_matrix(q) for q in qs])
    D = np.abs(Ms).sum(axis=2).max(axis=0)
    root = np.sqrt(D)
    slowest = np.linalg.eigvalsh(Ms / np.outer(root, root))[:, 0].min()  # those of D^-1/2 M D^-1/2
    return D, float(1.0 / slowest)
