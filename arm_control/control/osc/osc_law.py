"""Operational space control: the end effector follows its reference, the posture uses the joints that are left free.

With ``M a + h = tau``, the twist ``V = J v`` and the pose error ``e`` (position, rotation vector),

    (1)  J# = M^-1 J^T Lambda,   Lambda = (J M^-1 J^T)^-1     Lambda: inertia felt at the end effector
    (2)  V_cmd = nu (limit(k_p / k_v e, V_max) + V_des)       how fast to go: straight, never faster
    (3)  A_cmd = limit(k_v (V_cmd - V), A_max) + A_des        the acceleration that gets it there
    (4)  N = 1 - J# J                                         keeps what the end effector does not feel
    (5)  tau = M (J# (A_cmd - Jdot v) + N a_posture - (1 - N) a_dist) + h

where, with the known torque tau_dist of a disturbance (a cable, a spring),

    (6)  nu = s_v / max(s_v, max_i |(J# V_0)_i| / v_max_i)    V_0: what nu shortens in (2); no joint is too fast
    (7)  N a_posture = N a_spring + N_fade a_damper           N_fade = N away from singularities
    (8)  a_dist = M^-1 tau_dist                               of it, only the part felt by the end effector is cancelled

Away from singularities (5) gives ``J a + Jdot v = A_cmd`` exactly, whatever posture and disturbance do: the hand's
acceleration along the rows of the task. Where all three turns are rows, V is the hand's twist. Where one or two are, V
and V_des are the rates of their error (:mod:`~arm_control.maths.free_axes`), however far off the free axes are: within
the limits the error of one turn obeys ``e'' + k_v e' + k_p e = 0``. ``limit`` shortens a twist and keeps its direction,
linear and angular part each for itself. (Khatib writes ``M J# = J^T Lambda`` and ``M N M^-1`` for torque. In
accelerations (5) also holds where J# is another inverse of J: M_w, in which joints near their limits are heavier, takes
the place of M in (1).)

    q, v, a             joint positions, velocities, accelerations     [rad, rad/s, rad/s^2; m, m/s, m/s^2 if prismatic]
    M, M_w, h           mass matrix, weighted one; bias C v + g        [kg m^2; N m]
    J, Jdot_v           Jacobian of the twist; its derivative times v  [m, 1; m/s^2, rad/s^2]
    e                   pose error, desired minus actual               [m, rad]
    V, V_des, V_cmd     twist: actual, desired, commanded (V_0: before it is shortened)   [m/s, rad/s]
    A_des, A_cmd        its derivative: desired, commanded             [m/s^2, rad/s^2]
    V_max, A_max        limits of (2) and (3)                          [m/s, rad/s; m/s^2, rad/s^2]
    k_p, k_v            stiffness and damping                          [1/s^2; 1/s]
    nu, s_v, v_max      shortening; joint_speed_share; speed limits    [-; -; rad/s, m/s]
    tau, tau_dist       torque: of the law, of the disturbance         [N m, N]
    Lambda, J#, N       task inertia; inverse of J; null space         [kg, kg m^2; operators]

All twists and J are along the axes of the task's frame, apart from turns with a free axis. Pages that this one rests
on:

    :mod:`~arm_control.control.osc.task`            rows, frames and error of a task: e, V, V_des, A_des, J
    :mod:`~arm_control.control.osc.task_inertia`    Lambda near a singularity, where (1) grows without bound
    :mod:`~arm_control.control.osc.null_space`      J#, N and N_fade of one task or several in order of priority
    :mod:`~arm_control.control.osc.posture`         a_spring, a_damper, M_w: the posture and the limits of joints

The law is written over any scalar: it runs on floats as it stands, and compiled
(:mod:`arm_control.control.osc.compiled_osc`).

Sources: O. Khatib, "A unified approach for motion and force control of robot manipulators", 1987, for (1), (4) and (5):
there Lambda, the inverse ``A^-1 J^T Lambda`` and the torque ``J^T F + (1 - J^T Jbar^T) Gamma_0`` of redundant arms, A
being M and Jbar that inverse; O. Khatib, "Real-time obstacle avoidance for manipulators and mobile robots", 1986, for
the limit on the magnitude of the speed in (2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from arm_control.control.osc.null_space import TaskInverse, dynamically_consistent_inverse
from arm_control.control.osc.osc_parameters import Gains
from arm_control.control.osc.posture import JointBounds, limit_zones, posture_acceleration, weighted_mass_matrix
from arm_control.control.osc.task import Tasks, select_rows, task_motion
from arm_control.control.osc.task_inertia import ALL, TaskInertia, fading_inertia, plain_inertia
from arm_control.maths import Array, Scalar, limit_magnitude, maximum, select, solve
from arm_control.model import Terms
from arm_control.motion import Reference

LINEAR, ANGULAR = slice(0, 3), slice(3, 6)


class LawStructure(NamedTuple):
    """Compile-time structure of the law; each combination is compiled separately.

    Attributes
    ----------
    tasks : tuple of tuple of int
        Rows of each task, the most important task first.
    frame : str
        Frame of the rows, one of :data:`~arm_control.kinematics.task_errors.FRAMES`.
    inertia : function
        Lambda of (1).
    limit_speed : function
        ``limit`` of (2), for a linear or angular velocity (3,).
    impedance : bool
        Whether the hand is a spring (:mod:`~arm_control.control.osc.contact_law`).
    force_rows : tuple of int
        Rows along which a wrench may take the place of the pose, there.
    """

    tasks: Tasks = (ALL,)
    frame: str = "world"
    inertia: TaskInertia = fading_inertia
    limit_speed: Callable[[Array, Scalar], Array] = limit_magnitude
    impedance: bool = False
    force_rows: tuple[int, ...] = ()

    @property
    def rows(self) -> list[int]:
        """Rows of all tasks."""
        return [row for task in self.tasks for row in task]

    @property
    def has_contact(self) -> bool:
        """Whether the law of contact takes the place of this one."""
        return self.impedance or bool(self.force_rows)

    @property
    def regular(self) -> LawStructure:
        """The same structure for states in which no direction fades: cheaper, with the same result."""
        return self._replace(inertia=plain_inertia) if self.inertia is fading_inertia else self

    def __repr__(self) -> str:
        contact = f", impedance {self.impedance}, force {self.force_rows}" if self.has_contact else ""
        functions = f"{self.inertia.__name__}, {self.limit_speed.__name__}"
        return f"LawStructure({self.tasks}, {self.frame}, {functions}{contact})"


class Torque(NamedTuple):
    """Joint torque (n,) [N m or N]: the sum and its terms; the error e (6,) [m, rad]; and J# of (1)."""

    tau: Array
    task: Array
    posture: Array
    disturbance: Array
    error: Array
    J_sharp: TaskInverse


TaskLaw: TypeAlias = Callable[[Terms, Reference, Array, Gains, JointBounds, LawStructure], Torque]
"""A law with the arguments of :func:`torque`."""


def torque(
    terms: Terms, reference: Reference, tau_dist: Array, gains: Gains, limits: JointBounds, structure: LawStructure
) -> Torque:
    """Joint torque for one state, equations (1) to (8).

    Parameters
    ----------
    terms : Terms
        The arm in the measured state.
    reference : Reference
        Desired motion of the end effector.
    tau_dist : array, shape (n,)
        Torque that a known disturbance exerts on the joints [N m or N].
    gains : Gains
        Gains and limits of the law.
    limits : JointBounds
        Limits of the joints.
    structure : LawStructure
        Tasks and their frame.
    """
    e, V, V_des, A_des, J, Jdot_v = task_motion(terms, reference, structure.frame, structure.rows)
    M, h, k_p, k_v = terms.M, terms.h, gains.k_p, gains.k_v
    zones = limit_zones(terms.q, gains, limits)
    M_w = weighted_mass_matrix(M, gains, zones)
    a_spring, a_damper = posture_acceleration(terms, gains, limits, zones)
    a_dist = solve(M, tau_dist)  # (8)

    J_sharp, N, N_fade = dynamically_consistent_inverse(J, M_w, gains, structure.tasks, structure.inertia)  # (1), (4)
    V_0 = limit(k_p / k_v * e, gains.V_max, structure.limit_speed) + V_des
    nu = shortening(J_sharp @ V_0, gains, limits)  # (6)
    V_cmd = V_0 * nu  # (2)
    A_cmd = limit(select_rows(k_v * (V_cmd - V), structure.rows), gains.A_max) + A_des  # (3)
    tau_task = M @ (J_sharp @ (A_cmd - Jdot_v))
    tau_posture = M @ (N @ a_spring + N_fade @ a_damper)  # (7)
    tau_cancel = M @ (N @ a_dist - a_dist)
    tau = tau_task + tau_posture + tau_cancel + h  # (5)
    return Torque(tau, tau_task, tau_posture, tau_cancel, e, J_sharp)


def limit(twist: Array, largest: Array, limit_vector: Callable[[Array, Scalar], Array] = limit_magnitude) -> Array:
    """``limit`` of equations (2) and (3): linear and angular part each for itself.

    Parameters
    ----------
    twist : array, shape (6,)
        Velocity or acceleration.
    largest : array, shape (2,)
        Largest linear and angular magnitude, in the units of the twist.
    limit_vector : function
        Limit of one part.
    """
    return np.concatenate([limit_vector(twist[LINEAR], largest[0]), limit_vector(twist[ANGULAR], largest[1])])


def shortening(v_cmd: Array, gains: Gains, limits: JointBounds) -> Scalar:
    """``nu`` of equation (6): 1, or less where a joint would exceed its share of its speed limit.

    Parameters
    ----------
    v_cmd : array, shape (n,)
        Joint velocities ``J# V_0`` [rad/s or m/s].
    gains : Gains
        Its ``joint_speed_share`` is s_v.
    limits : JointBounds
        Speed limits of the joints.
    """
    share = gains.joint_speed_share
    for v, v_max in zip(v_cmd, limits.v_max, strict=True):
        share = maximum(share, select(v, v, -v) / v_max)
    return gains.joint_speed_share / share  # (6)
