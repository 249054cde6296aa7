"""The motion law of kinematic planning: along an edge the joints move so that the end effector keeps to the task path.

An edge is followed by the way r travelled along the path, in s; its rate dr/dt is constant. Its direction d is 1
forward, -1 backward, and 0 where the arm waits, while r goes on as a clock:

    (1)  s = s_k + d r                  dt = dr / rate                    s_dot = d rate
    (2)  e = y_d(s) - y(q)
    (3)  q_r = J# (d y_d'(s) + K e) + share P w                           J# = J^T (J J^T + mu 1)^-1,  P = 1 - J# J
    (4)  share = min(1, min_j (v_j / rate - |lead_j|) / |null_j|),        lead = J# (...),  null = P w
    (5)  q_dot = rate q_r

K e has the same sign in both directions: it leads back to the path whichever way it is followed. The residual w moves
the arm without moving the end effector, as far as the speed limits v leave room beside what the task needs. r is
integrated by the method of Runge and Kutta.

    q, w, q_r           joint positions; residual; derivative of q by r          [rad or m]
    y_d, y_d', e        position on the path, its derivative by s; error         [m]
    J, J#, P            Jacobian of the m rows of the task, its inverse, projector on its null space
    K, mu               gain of the error [1/s of the path]; damping [m^2]: what it takes from J# y_d', K e gives back

A prescribed orientation adds rows along the end effector's axes: all three, or the two across the axis whose direction
counts (:mod:`~arm_control.kinematics.task_errors`), so that turning about that axis is a null motion:

    (2a)  e_R = 2 sin(angle / 2) of the shortest rotation from E to T         R_WT = exp(angle(s) [axis]) R_WT(0)
    (3a)  y_d' = R_WE^T axis angle'(s)                                        J = R_WE^T J_w

Source: G. Oriolo, M. Vendittelli, "A control-based approach to task-constrained motion planning", IROS 2009, for (3);
M. Cefalo, G. Oriolo, M. Vendittelli, "Task-constrained motion planning with moving obstacles", IROS 2013.

The motion law of planning from rest to rest: joint accelerations that keep the end effector on the task path.

As with (1) to (5) of kinematic planning, an edge is followed by the way r travelled along the
path, in direction d. Its rate changes with a constant acceleration a:

    (1)  s = s_k + d r                  rate^2 = rate_k^2 + 2 a r         s_dot = d rate,  s_ddot = d a
    (2)  e = y_d(s) - y(q)              e_r = d y_d'(s) - J q_r
    (3)  q_rr = J# (d^2 y_d''(s) - J_r q_r + k_p e + k_d e_r) + P z
    (4)  z = k_n (share w - q_r)        share w: the residual of the kinematic law, which leaves room for the task
    (5)  q_dot = rate q_r               q_ddot = rate^2 q_rr + a q_r
    (6)  tau = M q_ddot + h(q, q_dot)               its limits, and those of q_ddot, as far as there are any

J_r q_r, the change of J along the motion times q_r, is taken off: it accelerates the end effector without q_rr. e and
e_r are fed back with one sign in both directions. In the null space q_r goes to the residual, instead of away with it.
Angular rows turn with the end effector, at w_E = J_w q_r, so theirs are

    (3b)  d^2 y_d'' - J_r q_r = R_WE^T (d^2 axis angle'' - J_w,r q_r - w_E x (d axis angle' - w_E))

    k_p, k_d, k_n       gains [1/s^2, 1/s, 1/s of the path]

Source: M. Cefalo, G. Oriolo, "Dynamically feasible task-constrained motion planning with moving obstacles", ICRA 2014.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arm_control.compiler import Law, Loop
from arm_control.kinematics import task_error
from arm_control.maths import Array, Pose, Scalar, cos, cross, largest, maximum, minimum, sin, skew, solve, sqrt
from arm_control.model import TOOL, State, Tree
from arm_control.planning.task_problem import PathPoints

DAMPING = 1e-9
"""mu [m^2]."""
SMALLEST_SPEED = 1e-12
"""Added to |null_j|, so that what does not move is divided by something."""
DEGREE = 6
"""Coefficients of a piece of the path."""

Inputs = Mapping[str, Array]


def path_point(coefficients: Array, u: Scalar) -> PathPoints:
    """A path at a place of a piece with these coefficients, shape (6 m,), degree 0 first."""
    c = coefficients.reshape(DEGREE, -1)
    y = c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * (c[4] + u * c[5]))))
    y_s = c[1] + u * (2.0 * c[2] + u * (3.0 * c[3] + u * (4.0 * c[4] + u * (5.0 * c[5]))))
    y_ss = 2.0 * c[2] + u * (6.0 * c[3] + u * (12.0 * c[4] + u * (20.0 * c[5])))
    return PathPoints(y, y_s, y_ss)


class ArmTask(NamedTuple):
    """The arm's side of the task at one state, m rows.

    Attributes
    ----------
    e : array, shape (m,)
        Error [m, rad].
    J : array, shape (m, n)
        Jacobian.
    y_s : array, shape (m,)
        Derivative of the desired rows by s [m, rad].
    """

    e: Array
    J: Array
    y_s: Array

    def lead(self, y_r: Array) -> Array:
        """``J# y_r``, shape (n,), for the derivative of the position, shape (m,) [m]."""
        JJ = self.J @ self.J.T
        return self.J.T @ solve(JJ + DAMPING * np.eye(len(JJ)), y_r)

    def project(self, w: Array) -> Array:
        """``P w``, shape (n,)."""
        return w - self.lead(self.J @ w)


def task_at(arm: State, rows: Sequence[int], point: PathPoints, i: Inputs) -> ArmTask:
    """Equations (2), (2a) and (3a), and the Jacobian.

    Rows are those of a twist that count: linear ones in world axes, then angular ones in the end effector's. With the
    latter, ``i`` has ``R_WT`` (9) and ``axis`` (3).
    """
    linear, angular = _split(rows)
    m = len(linear)
    e, J = point.y[:m] - arm.p_WE[linear], arm.J[linear]
    if not angular:
        return ArmTask(e, J, point.y_s)
    K, angle = skew(i["axis"]), point.y[m]
    R_WT = (np.eye(3) + sin(angle) * K + (1.0 - cos(angle)) * (K @ K)) @ i["R_WT"].reshape(3, 3)
    turned = task_error(arm.X_WE, Pose(R_WT, arm.p_WE), arm.J, angular, "end_effector")
    turn_s = (arm.R_WE.T @ i["axis"] * point.y_s[m])[[row - 3 for row in angular]]
    return ArmTask(*(np.concatenate(x) for x in ((e, turned.e), (J, turned.J), (point.y_s[:m], turn_s))))


def _split(rows: Sequence[int]) -> tuple[list[int], list[int]]:
    """Linear and angular rows."""
    return [row for row in rows if row < 3], [row for row in rows if row >= 3]


def slope(task: ArmTask, i: Inputs) -> Array:
    """Equations (3) and (4): the derivative of q by r, shape (n,).

    Of ``i`` it reads ``direction``, ``rate``, ``w`` (n), ``gain``, ``v_max`` (n).
    """
    lead = task.lead(i["direction"][0] * task.y_s + i["gain"][0] * task.e)
    return lead + residual(lead, task.project(i["w"]), i["v_max"] / i["rate"][0])  # (3)


def residual(lead: Array, null: Array, bound: Array) -> Array:
    """Equation (4): as much of a motion in the null space as speed limits leave, shape (n,).

    ``lead`` is what the task needs, ``bound`` that of the sum of both, v / rate.
    """
    room = (bound - abs(lead)) / (abs(null) + SMALLEST_SPEED)
    return maximum(0.0, minimum(1.0, -largest(-room))) * null


def _task_inputs(rows: Sequence[int], has_tool: bool) -> tuple[int, dict[str, int]]:
    """Size of a piece of the path, and the shared inputs of the task."""
    linear, angular = _split(rows)
    shared = ({"R_WT": 9, "axis": 3} if angular else {}) | ({"tool": TOOL} if has_tool else {})
    return DEGREE * (len(linear) + bool(angular)), shared


def kinematic_loop(tree: Tree, rows: tuple[int, ...], has_tool: bool) -> Loop:
    """The law over one step of r, for many edges at once.

    Inputs in columns: ``q`` (n), ``u`` (way from the begin of the piece), ``piece`` (6 m), ``direction``, ``rate`` and
    ``w`` (n); shared ``step``, ``gain``, ``v_max`` (n), with angular rows ``R_WT`` (9, at the begin of the path) and
    ``axis`` (3), with a tool ``tool``. Outputs ``q_next`` and ``u_next``; ``q_r`` and ``q_r_next`` at both ends;
    ``error``, the largest at the end [m, rad]; ``speed``, the largest share of a speed limit at both ends; ``cap``, the
    largest rate that the task leaves at the end.
    """
    n = tree.n
    size, task = _task_inputs(rows, has_tool)
    columns = {"q": n, "u": 1, "piece": size, "direction": 1, "rate": 1, "w": n}
    shared = {"step": 1, "gain": 1, "v_max": n} | task
    law = Law("task edge", partial(_step, tree, rows), {**columns, **shared}, [rows], has_masses=False)
    return Loop(law, "columns", shared=tuple(shared))


def _step(tree: Tree, rows: tuple[int, ...], i: Inputs) -> dict[str, Any]:
    """One step of Runge and Kutta's method."""
    h, ahead = i["step"][0], i["direction"][0] * i["step"][0]
    tool = {name: i[name] for name in ("tool",) if name in i}

    def task(q: Array, u: Scalar) -> ArmTask:
        return task_at(State(tree, {"q": q, **tool}), rows, path_point(i["piece"], u), i)

    q, u = i["q"], i["u"][0]
    k_1 = slope(task(q, u), i)
    k_2 = slope(task(q + 0.5 * h * k_1, u + 0.5 * ahead), i)
    k_3 = slope(task(q + 0.5 * h * k_2, u + 0.5 * ahead), i)
    k_4 = slope(task(q + h * k_3, u + ahead), i)
    q_next = q + h / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)
    end = task(q_next, u + ahead)
    k_next = slope(end, i)
    return {
        "q_next": q_next,
        "u_next": [u + ahead],
        "q_r": k_1,
        "q_r_next": k_next,
        "error": [largest(abs(end.e))],
        "speed": [i["rate"][0] * maximum(largest(abs(k_1) / i["v_max"]), largest(abs(k_next) / i["v_max"]))],
        "cap": [1.0 / (largest(abs(end.lead(end.y_s)) / i["v_max"]) + SMALLEST_SPEED)],
    }


SLOWEST = 1e-3
"""Smallest rate for which the room of the residual is computed [1/s]."""


Curve: TypeAlias = tuple[Array, Array, Scalar]
"""Second derivative of q, shape (n,) [rad or m]; error, shape (m,) [m, rad]; largest rate the task leaves [1/s]."""


def curvature(arm: State, point: PathPoints, q_r: Array, rate: Scalar, i: Inputs, rows: Sequence[int]) -> Curve:
    """Equations (2) to (4), with q_r (n,), at a place of an edge.

    Of ``i`` it reads ``direction``, ``w`` (n), ``v_max`` (n) and ``gains`` (k_p, k_d, k_n); with angular rows those of
    the task.
    """
    d, (k_p, k_d, k_n) = i["direction"][0], i["gains"]
    task = task_at(arm, rows, point, i)
    lead = task.lead(d * task.y_s)
    null = task.project(i["w"])
    e_r = d * task.y_s - task.J @ q_r
    z = k_n * (residual(lead, null, i["v_max"] / maximum(rate, SLOWEST)) - q_r)  # (4)
    q_rr = task.lead(_bend(arm, point, q_r, i, rows) + k_p * task.e + k_d * e_r) + task.project(z)  # (3)
    cap = 1.0 / (largest(abs(lead) / i["v_max"]) + SMALLEST_SPEED)
    return q_rr, task.e, cap


def _bend(arm: State, point: PathPoints, q_r: Array, i: Inputs, rows: Sequence[int]) -> Array:
    """``d^2 y_d'' - J_r q_r``, shape (m,), by (3b) for angular rows."""
    d, Jdot_v, (linear, angular) = i["direction"][0], arm.Jdot_v, _split(rows)
    m = len(linear)
    along = d * d * point.y_ss[:m] - Jdot_v[linear]
    if not angular:
        return along
    w_E = arm.J[3:] @ q_r
    ahead = d * point.y_s[m] * i["axis"] - w_E
    turned = arm.R_WE.T @ (d * d * point.y_ss[m] * i["axis"] - Jdot_v[3:] - cross(w_E, ahead))
    return np.concatenate([along, turned[[row - 3 for row in angular]]])


def dynamic_loop(tree: Tree, rows: tuple[int, ...], has_tool: bool, limited: tuple[str, ...] = ("tau_max",)) -> Loop:
    """The law over one step of r, for many edges at once; besides speeds ``tau_max``, ``a_max`` or both are limited.

    Inputs in columns: ``q``, ``q_r`` (n), ``u``, ``piece`` (6 m), ``direction``, ``rate``, ``thrust`` (a), ``w``;
    shared ``step``, ``gains`` (3), ``v_max`` and the other limits (n), and those of the task as in
    :func:`kinematic_loop`. Outputs ``q_next``, ``q_r_next``, ``u_next``, ``rate_next``; ``q_rr`` and ``q_rr_next`` at
    both ends; ``error``, the largest at the end [m, rad]; ``speed`` and ``load``, the largest shares of limits of
    speed, and of torque and acceleration, at both ends; ``cap`` at the end.
    """
    n = tree.n
    size, task = _task_inputs(rows, has_tool)
    columns = {"q": n, "q_r": n, "u": 1, "piece": size, "direction": 1, "rate": 1, "thrust": 1, "w": n}
    shared = {"step": 1, "gains": 3, "v_max": n} | dict.fromkeys(limited, n) | task
    compute = partial(_step_with_loads, tree, rows, limited)
    inputs, has_masses = {**columns, **shared}, "tau_max" in limited
    law = Law("task edge with loads", compute, inputs, [rows, limited], has_masses=has_masses)
    return Loop(law, "columns", shared=tuple(shared))


def _step_with_loads(tree: Tree, rows: tuple[int, ...], limited: tuple[str, ...], i: Inputs) -> dict[str, Any]:
    """One step of Runge and Kutta's method on q and q_r."""
    h, a = i["step"][0], i["thrust"][0]
    tool = {name: i[name] for name in ("tool",) if name in i}

    def rate(r: Scalar) -> Scalar:
        return sqrt(maximum(i["rate"][0] * i["rate"][0] + 2.0 * a * r, 0.0))

    def at(q: Array, q_r: Array, r: Scalar) -> Curve:
        arm = State(tree, {"q": q, "v": q_r, **tool})
        return curvature(arm, path_point(i["piece"], i["u"][0] + i["direction"][0] * r), q_r, rate(r), i, rows)

    def loads(q: Array, q_r: Array, q_rr: Array, rate: Scalar) -> list[Scalar]:
        motion = {"q": q, "v": rate * q_r, "a": rate * rate * q_rr + a * q_r}  # (5)
        arm = State(tree, {**motion, "F_E": np.zeros(6), **tool})
        values = {"tau_max": lambda: arm.tau, "a_max": lambda: motion["a"]}
        return [largest(abs(values[name]()) / i[name]) for name in limited]  # (6)

    q, v, half = i["q"], i["q_r"], 0.5 * h
    k_1, *_ = at(q, v, 0.0)
    k_2, *_ = at(q + half * v, v + half * k_1, half)
    k_3, *_ = at(q + half * v + half * half * k_1, v + half * k_2, half)
    k_4, *_ = at(q + h * v + h * half * k_2, v + h * k_3, h)
    q_next = q + h * v + h * h / 6.0 * (k_1 + k_2 + k_3)
    v_next = v + h / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)
    q_rr_next, e, cap = at(q_next, v_next, h)
    shares = loads(q, v, k_1, i["rate"][0]) + loads(q_next, v_next, q_rr_next, rate(h))
    speeds = abs(v) * i["rate"][0], abs(v_next) * rate(h)
    return {
        "q_next": q_next,
        "q_r_next": v_next,
        "u_next": [i["u"][0] + i["direction"][0] * h],
        "rate_next": [rate(h)],
        "q_rr": k_1,
        "q_rr_next": q_rr_next,
        "error": [largest(abs(e))],
        "speed": [maximum(*(largest(speed / i["v_max"]) for speed in speeds))],
        "load": [largest(np.array(shares))],
        "cap": [cap],
    }
