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

Source: G. Oriolo, M. Vendittelli, "A control-based approach to task-constrained motion planning", IROS 2009, for (3);
M. Cefalo, G. Oriolo, M. Vendittelli, "Task-constrained motion planning with moving obstacles", IROS 2013.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import Law, Loop
from arm_control.maths import Array, Scalar, largest, maximum, minimum, solve
from arm_control.model import TOOL, State, Tree

DAMPING = 1e-9
"""mu [m^2]."""
SMALLEST_SPEED = 1e-12
"""Added to |null_j|, so that what does not move is divided by something."""
DEGREE = 6
"""Coefficients of a piece of the path."""

Inputs = Mapping[str, Array]


class TaskPoint(NamedTuple):
    """The task path at one place.

    Attributes
    ----------
    y, y_s, y_ss : array, shape (m,)
        Position and its derivatives by s [m].
    """

    y: Array
    y_s: Array
    y_ss: Array


def path_point(coefficients: Array, u: Scalar) -> TaskPoint:
    """The task path at a place of a piece.

    Parameters
    ----------
    coefficients : array, shape (6 m,)
        Of the piece, degree 0 first.
    u : scalar
        Way from its begin.
    """
    c = coefficients.reshape(DEGREE, -1)
    y = c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * (c[4] + u * c[5]))))
    y_s = c[1] + u * (2.0 * c[2] + u * (3.0 * c[3] + u * (4.0 * c[4] + u * (5.0 * c[5]))))
    y_ss = 2.0 * c[2] + u * (6.0 * c[3] + u * (12.0 * c[4] + u * (20.0 * c[5])))
    return TaskPoint(y, y_s, y_ss)


class ArmTask(NamedTuple):
    """The arm's side of the task at one state.

    Attributes
    ----------
    e : array, shape (m,)
        Error [m].
    J : array, shape (m, n)
        Jacobian.
    """

    e: Array
    J: Array

    def lead(self, y_r: Array) -> Array:
        """``J# y_r``, shape (n,).

        Parameters
        ----------
        y_r : array, shape (m,)
            Derivative of the position [m].
        """
        JJ = self.J @ self.J.T
        return self.J.T @ solve(JJ + DAMPING * np.eye(len(JJ)), y_r)

    def project(self, w: Array) -> Array:
        """``P w``, shape (n,)."""
        return w - self.lead(self.J @ w)


def task_at(arm: State, rows: Sequence[int], y_d: Array) -> ArmTask:
    """Equation (2), and the Jacobian.

    Parameters
    ----------
    arm : State
    rows : sequence of int
        Coordinates of the position that count.
    y_d : array, shape (m,)
        Desired position [m].
    """
    return ArmTask(y_d - arm.p_WE[list(rows)], arm.J[list(rows)])


def slope(task: ArmTask, point: TaskPoint, i: Inputs) -> Array:
    """Equations (3) and (4): the derivative of q by r, shape (n,).

    Parameters
    ----------
    task : ArmTask
    point : TaskPoint
    i : mapping of str to array
        ``direction``, ``rate``, ``w`` (n), ``gain``, ``v_max`` (n).
    """
    lead = task.lead(i["direction"][0] * point.y_s + i["gain"][0] * task.e)
    return lead + residual(lead, task.project(i["w"]), i["v_max"] / i["rate"][0])  # (3)


def residual(lead: Array, null: Array, bound: Array) -> Array:
    """Equation (4): as much of a motion in the null space as speed limits leave, shape (n,).

    Parameters
    ----------
    lead, null : array, shape (n,)
        What the task needs, and the motion in the null space.
    bound : array, shape (n,)
        Of the sum, v / rate.
    """
    room = (bound - abs(lead)) / (abs(null) + SMALLEST_SPEED)
    return maximum(0.0, minimum(1.0, -largest(-room))) * null


def kinematic_loop(tree: Tree, rows: tuple[int, ...], has_tool: bool) -> Loop:
    """The law over one step of r, for many edges at once.

    Parameters
    ----------
    tree : Tree
        The arm.
    rows : tuple of int
        Coordinates of the position that count.
    has_tool : bool
        Whether there is a tool.

    Returns
    -------
    Loop
        Inputs in columns: ``q`` (n), ``u`` (way from the begin of the piece), ``piece`` (6 m), ``direction``, ``rate``
        and ``w`` (n); shared ``step``, ``gain``, ``v_max`` (n) and, with a tool, ``tool``. Outputs ``q_next`` and
        ``u_next``; ``q_r`` and ``q_r_next`` at both ends; ``error``, the largest at the end [m]; ``speed``, the largest
        share of a speed limit at both ends; ``cap``, the largest rate that the task leaves at the end.
    """
    n = tree.n
    columns = {"q": n, "u": 1, "piece": DEGREE * len(rows), "direction": 1, "rate": 1, "w": n}
    shared = {"step": 1, "gain": 1, "v_max": n} | ({"tool": TOOL} if has_tool else {})
    law = Law("task edge", partial(_step, tree, rows), {**columns, **shared}, [rows], has_masses=False)
    return Loop(law, "columns", shared=tuple(shared))


def _step(tree: Tree, rows: tuple[int, ...], i: Inputs) -> dict[str, Any]:
    """One step of Runge and Kutta's method."""
    h, ahead = i["step"][0], i["direction"][0] * i["step"][0]
    tool = {name: i[name] for name in ("tool",) if name in i}

    def place(q: Array, u: Scalar) -> tuple[ArmTask, TaskPoint]:
        point = path_point(i["piece"], u)
        return task_at(State(tree, {"q": q, **tool}), rows, point.y), point

    def q_r(q: Array, u: Scalar) -> Array:
        return slope(*place(q, u), i)

    q, u = i["q"], i["u"][0]
    k_1 = q_r(q, u)
    k_2 = q_r(q + 0.5 * h * k_1, u + 0.5 * ahead)
    k_3 = q_r(q + 0.5 * h * k_2, u + 0.5 * ahead)
    k_4 = q_r(q + h * k_3, u + ahead)
    q_next = q + h / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)
    task, point = place(q_next, u + ahead)
    k_next = slope(task, point, i)
    return {
        "q_next": q_next,
        "u_next": [u + ahead],
        "q_r": k_1,
        "q_r_next": k_next,
        "error": [largest(abs(task.e))],
        "speed": [i["rate"][0] * maximum(largest(abs(k_1) / i["v_max"]), largest(abs(k_next) / i["v_max"]))],
        "cap": [1.0 / (largest(abs(task.lead(point.y_s)) / i["v_max"]) + SMALLEST_SPEED)],
    }
