"""Operational space control: the end effector goes where it should, the arm in between stays tidy.

With ``M a + h = tau``, the Jacobian ``V = J v`` and the pose error ``e`` (position, rotation vector),

    (1)  J# = M^-1 J^T Lambda,   Lambda = (J M^-1 J^T)^-1     Lambda: inertia felt at the end effector
    (2)  V_cmd = nu (limit(k_p / k_v e, V_max) + V_des)       how fast to go: straight, never faster
    (3)  A_cmd = limit(k_v (V_cmd - V), A_max) + A_des        the acceleration that gets it there
    (4)  N = 1 - J# J                                         keeps what the end effector does not feel
    (5)  tau = M (J# (A_cmd - Jdot v) + N a_posture - (1 - N) a_dist) + h

``limit`` keeps the direction and shortens the length, position and orientation each for itself; ``nu``
shortens all of it, so that no joint has to turn faster than its share of its speed limit. Away from
singularities (5) gives ``dV/dt = A_cmd`` exactly, whatever the posture task does, and whatever a disturbance
``M a_dist`` that is known (a cable, a spring) does; of that, only what the end effector feels is cancelled.
(O. Khatib writes ``M J# = J^T Lambda`` and ``M N M^-1`` for torque. Accelerations go on to hold where J# is another
inverse of J, such as one that spares joints at their limits.)

The law, :func:`torque`, is written over any scalar: it runs on floats as it stands, and compiled with the
model's terms (:mod:`arm_control.control.osc.compiled_osc`). What may vary has a page of its own:

    :mod:`~arm_control.control.osc.task`            which rows of the twist, along whose axes, and their error e
    :mod:`~arm_control.control.osc.task_inertia`    (1) near a singularity, where the inverse grows without bound
    :mod:`~arm_control.control.osc.null_space`      (1) and (4) of several tasks, and at joint limits
    :mod:`~arm_control.control.osc.limiting`        what ``limit`` means in (2)

Sources: O. Khatib, "A unified approach for motion and force control of robot manipulators", 1987,
eqs. 45 to 51, for (1), (4) and (5); O. Khatib, "Real-time obstacle avoidance for manipulators and mobile
robots", 1986, for the limit on the magnitude of the speed in (2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.limiting import SPEED_LIMITS
from arm_control.control.osc.null_space import beneath, beneath_pseudo, joint_motion, smallest_regularity, stack
from arm_control.control.osc.osc_parameters import Form, Gains, OscParameters
from arm_control.control.osc.task import along, axes, chosen, pose_error
from arm_control.control.osc.task_inertia import scaled_jacobian
from arm_control.maths.linalg import is_numeric, solve
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, maximum, minimum, nearest, select
from arm_control.model import RobotModel, Terms
from arm_control.motion.references import Reference

LINEAR, ANGULAR = slice(0, 3), slice(3, 6)
LEFT = 0.2
"""Share of its zone that a joint is always thought to have left before its limit."""
Zones = list[tuple[Scalar, Scalar, Scalar]]
"""For each joint: its share of the way into the zone before its lower and its upper limit; and that zone."""
TERMS = ("task", "posture", "disturbance", "bias")
"""What a torque is made of."""


class Drive(NamedTuple):
    """What the law has to know of the joints: limits of speed and of position, shape (n,); infinite for none."""

    v_max: Array
    q_min: Array
    q_max: Array

    @classmethod
    def of(cls, model: RobotModel) -> Drive:
        """Return that of an arm."""
        return cls(model.v_max, model.q_min, model.q_max)


class Torque(NamedTuple):
    """Joint torque (n,): the sum, the terms it is made of; the error (6,); and how regular the state is.

    ``regularity`` is above zero where no direction fades out of a task; it is only computed where that is taken
    for granted.
    """

    tau: Array
    task: Array
    posture: Array
    disturbance: Array
    error: Array
    regularity: Scalar


def torque(
    t: Terms, reference: Reference, tau_dist: Array, g: Gains, drive: Drive, form: Form, is_regular: bool = False
) -> Torque:
    """Joint torque for one state, equations (1) to (5).

    Parameters
    ----------
    t : Terms
        The arm in the measured state.
    reference : Reference
        The motion wanted.
    tau_dist : array, shape (n,)
        Torque that a known disturbance exerts on the joints [N m or N].
    g : Gains
    drive : Drive
    form : Form
    is_regular : bool
        No direction fades: every singular value is known to be above ``g.singular_value``.
    """
    R_WF, rows = axes(form.frame, t.X_WE, reference.X_WT), [row for level in form.levels for row in level]
    e = pose_error(t.X_WE, reference.X_WT, rows, R_WF)
    V, V_des, A_des, Jdot_v, J = (along(R_WF, x) for x in (t.V_WE, reference.V_des, reference.A_des, t.Jdot_v, t.J))
    zones = _in_zone(t.q, g, drive)
    M = t.M + np.diag(_extra_inertia(t, g, zones))
    levels = stack(J, M, form, g, is_regular)  # (1)
    V_cmd = _limit(g.kp / g.kv * e, g.V_max, form.speed_limit) + V_des
    V_cmd = V_cmd * _nu(joint_motion(levels, V_cmd), g, drive)  # (2)
    A_cmd = _limit(chosen(g.kv * (V_cmd - V), rows), g.A_max) + A_des  # (3)
    spring, damper = posture_acceleration(t, g, drive, zones)
    posture = t.M @ (beneath(levels, spring) + beneath(levels, damper, early=True))  # (4)
    if form.null_space == "pseudo_inverse":
        posture = beneath_pseudo(levels, t.M @ (spring + damper))
    a_dist = solve(t.M, tau_dist)
    task, cancelled = t.M @ joint_motion(levels, A_cmd - Jdot_v), t.M @ (beneath(levels, a_dist) - a_dist)
    certificate = smallest_regularity(levels, g) if is_regular and not is_numeric(J) else 0.0
    return Torque(task + posture + cancelled + t.h, task, posture, cancelled, e, certificate)  # (5)


def posture_acceleration(t: Terms, g: Gains, drive: Drive, zones: Zones) -> tuple[Array, Array]:
    """Acceleration that the posture task asks for: springs and dampers, shape (n,) each [rad/s^2 or m/s^2].

    ``k_p (q_posture - q) + a_limits`` and ``-k_v v``; continuous joints take the short way round, and ``a_limits``,
    ``k x^2 zone``, pushes joints away from a limit into whose zone they have come the share x.
    """
    turns = [nearest(x / math.tau) if np.isinf(b) else 0.0 for x, b in zip(g.posture - t.q, drive.q_max, strict=True)]
    e = g.pulled * (g.posture - t.q - math.tau * np.array(turns))
    push = [zone * (x * x - y * y) for x, y, zone in zones]
    return g.kp_posture * e + g.kp_joint_limits * np.array(push), -g.kv_posture * t.v


def _extra_inertia(t: Terms, g: Gains, zones: Zones) -> Array:
    """What joints near a limit weigh more, shape (n,): equation (4) of the null space."""
    extra = []
    for M_ii, (x, y, _) in zip(t.M.diagonal(), zones, strict=True):
        z = minimum(maximum(x, y), 1.0)
        left = maximum(1.0 - z, LEFT)
        extra.append(M_ii * g.joint_limit_weight * (z * z) / (left * left))
    return np.array(extra)


def _in_zone(q: Array, g: Gains, drive: Drive) -> Zones:
    """Share of the zone before its lower and its upper limit that each joint has come into; and that zone."""
    found = []
    for q_i, low, high in zip(q, drive.q_min, drive.q_max, strict=True):
        zone = minimum(g.joint_limit_zone, 0.2 * float(high - low)) if np.isfinite(high) else 1.0
        x, y = (maximum(1.0 - left / zone, 0.0) if np.isfinite(high) else 0.0 for left in (q_i - low, high - q_i))
        found.append((x, y, zone))
    return found


def _nu(v_cmd: Array, g: Gains, drive: Drive) -> Scalar:
    """``nu`` of equation (2): 1, or what keeps every joint within its share of the speed limit."""
    share = g.joint_speed_share
    for v, v_max in zip(v_cmd, drive.v_max, strict=True):
        share = maximum(share, select(v, v, -v) / v_max)
    return g.joint_speed_share / share


def _limit(twist: Array, longest: Array, form: str = "magnitude") -> Array:
    """``limit`` of equations (2) and (3): position and orientation each for itself."""
    limit = SPEED_LIMITS[form]
    return np.concatenate([limit(twist[LINEAR], longest[0]), limit(twist[ANGULAR], longest[1])])


class OscOutput(NamedTuple):
    """What one tick gives.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Joint torque, the sum of the terms [N m or N].
    parts : ndarray, shape (4, nv)
        The terms, by row those of :data:`TERMS` [N m or N].
    error : ndarray, shape (6,)
        Position error [m], rotation vector of the orientation error [rad], along the axes of the task; 0 in rows
        that belong to no task.
    state : Terms
        The arm in the state this is for.
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
    """The law of this module for one arm, as it stands. Nothing in it changes from tick to tick.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : OscParameters
        Gains, limits and structure; a ``posture`` is needed here, one angle per joint.

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
        self.parameters, self.drive, self.form = parameters, Drive.of(model), Form.of(parameters, model)
        self.numbers = parameters.numbers(model.joint_names)
        self._gains, self._calm = Gains.of(self.numbers), np.zeros(model.nv)

    def posture_torque(self, t: Terms) -> Array:
        """Torque of the posture task before the null space filters it, shape (nv,) [N m]."""
        zones = _in_zone(t.q, self._gains, self.drive)
        return t.M @ sum(posture_acceleration(t, self._gains, self.drive, zones))

    def tick(self, t: Terms, reference: Reference, tau_dist: Array | None = None) -> OscOutput:
        """Joint torque for one state.

        Parameters
        ----------
        t : Terms
            The arm in the measured state.
        reference : Reference
            The motion wanted.
        tau_dist : ndarray, shape (nv,), optional
            Torque that a known disturbance exerts on the joints [N m or N]; none by default.
        """
        disturbance = self._calm if tau_dist is None else tau_dist
        x = torque(t, reference, disturbance, self._gains, self.drive, self.form, self._is_regular(t.J))
        parts = np.array([x.task, x.posture, x.disturbance, t.h])
        return OscOutput(x.tau, parts, x.error, t, self.parameters.characteristic_length)

    def _is_regular(self, J: Array) -> bool:
        """Whether no direction of the only task can fade: then the law is as quick as it can be."""
        SJ = scaled_jacobian(J, self.parameters.characteristic_length)
        whole = self.form.levels == (tuple(range(6)),)
        return whole and bool(np.linalg.eigvalsh(SJ @ SJ.T)[0] > self.parameters.singular_value**2)
