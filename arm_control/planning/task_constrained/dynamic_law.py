"""The motion law of dynamic planning: joint accelerations that keep the end effector on the task path.

As in :mod:`~arm_control.planning.task_constrained.kinematic_law` an edge is followed by the way r travelled along the
path, in direction d. Its rate changes with a constant acceleration a:

    (1)  s = s_k + d r                  rate^2 = rate_k^2 + 2 a r         s_dot = d rate,  s_ddot = d a
    (2)  e = y_d(s) - y(q)              e_r = d y_d'(s) - J q_r
    (3)  q_rr = J# (d^2 y_d''(s) - J_r q_r + k_p e + k_d e_r) + P z
    (4)  z = k_n (share w - q_r)        share w: the residual of the kinematic law, which leaves room for the task
    (5)  q_dot = rate q_r               q_ddot = rate^2 q_rr + a q_r
    (6)  tau = M q_ddot + h(q, q_dot)

J_r q_r, the change of J along the motion times q_r, is taken off: it accelerates the end effector without q_rr. e and
e_r are fed back with one sign in both directions. In the null space q_r goes to the residual, instead of away with it.

    k_p, k_d, k_n       gains [1/s^2, 1/s, 1/s of the path]

Source: M. Cefalo, G. Oriolo, "Dynamically feasible task-constrained motion planning with moving obstacles", ICRA 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import Law, Loop
from arm_control.maths import Array, Scalar, largest, maximum, sqrt
from arm_control.model import TOOL, State, Tree
from arm_control.planning.task_constrained.kinematic_law import (
    DEGREE,
    SMALLEST_SPEED,
    TaskPoint,
    path_point,
    residual,
    task_at,
)

SLOWEST = 1e-3
"""Smallest rate for which the room of the residual is computed [1/s]."""

Inputs = Mapping[str, Array]


class Curve(NamedTuple):
    """Derivatives of q at a place of an edge, and how far the place is off the path.

    Attributes
    ----------
    q_rr : array, shape (n,)
        [rad or m].
    e : array, shape (m,)
        [m].
    cap : scalar
        Largest rate that the task leaves [1/s].
    """

    q_rr: Array
    e: Array
    cap: Scalar


def curvature(arm: State, point: TaskPoint, q_r: Array, rate: Scalar, i: Inputs, rows: list[int]) -> Curve:
    """Equations (2) to (4).

    Parameters
    ----------
    arm : State
        With ``v`` = q_r.
    point : TaskPoint
    q_r : array, shape (n,)
    rate : scalar
        [1/s].
    i : mapping of str to array
        ``direction``, ``w`` (n), ``v_max`` (n) and ``gains`` (k_p, k_d, k_n).
    rows : list of int
        Coordinates of the position that count.
    """
    d, (k_p, k_d, k_n) = i["direction"][0], i["gains"]
    task = task_at(arm, rows, point.y)
    lead = task.lead(d * point.y_s)
    null = task.project(i["w"])
    e_r = d * point.y_s - task.J @ q_r
    z = k_n * (residual(lead, null, i["v_max"] / maximum(rate, SLOWEST)) - q_r)  # (4)
    q_rr = task.lead(d * d * point.y_ss - arm.Jdot_v[rows] + k_p * task.e + k_d * e_r) + task.project(z)  # (3)
    cap = 1.0 / (largest(abs(lead) / i["v_max"]) + SMALLEST_SPEED)
    return Curve(q_rr, task.e, cap)


def dynamic_loop(tree: Tree, rows: tuple[int, ...], has_tool: bool) -> Loop:
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
        Inputs in columns: ``q``, ``q_r`` (n), ``u``, ``piece`` (6 m), ``direction``, ``rate``, ``thrust`` (a), ``w``;
        shared ``step``, ``gains`` (3), ``v_max``, ``tau_max`` (n) and, with a tool, ``tool``. Outputs ``q_next``,
        ``q_r_next``, ``u_next``, ``rate_next``; ``q_rr`` and ``q_rr_next`` at both ends; ``error``, the largest at the
        end [m]; ``speed`` and ``torque``, the largest shares of their limits at both ends; ``cap`` at the end.
    """
    n = tree.n
    columns = {"q": n, "q_r": n, "u": 1, "piece": DEGREE * len(rows), "direction": 1, "rate": 1, "thrust": 1, "w": n}
    shared = {"step": 1, "gains": 3, "v_max": n, "tau_max": n} | ({"tool": TOOL} if has_tool else {})
    law = Law("task edge with torque", partial(_step, tree, list(rows)), {**columns, **shared}, [rows])
    return Loop(law, "columns", shared=tuple(shared))


def _step(tree: Tree, rows: list[int], i: Inputs) -> dict[str, Any]:
    """One step of Runge and Kutta's method on q and q_r."""
    h, a = i["step"][0], i["thrust"][0]
    tool = {name: i[name] for name in ("tool",) if name in i}

    def rate(r: Scalar) -> Scalar:
        return sqrt(maximum(i["rate"][0] * i["rate"][0] + 2.0 * a * r, 0.0))

    def at(q: Array, q_r: Array, r: Scalar) -> Curve:
        arm = State(tree, {"q": q, "v": q_r, **tool})
        return curvature(arm, path_point(i["piece"], i["u"][0] + i["direction"][0] * r), q_r, rate(r), i, rows)

    def torque(q: Array, q_r: Array, q_rr: Array, rate: Scalar) -> Array:
        motion = {"q": q, "v": rate * q_r, "a": rate * rate * q_rr + a * q_r}  # (5)
        return State(tree, {**motion, "F_E": np.zeros(6), **tool}).tau  # (6)

    q, v, half = i["q"], i["q_r"], 0.5 * h
    k_1 = at(q, v, 0.0)
    k_2 = at(q + half * v, v + half * k_1.q_rr, half)
    k_3 = at(q + half * v + half * half * k_1.q_rr, v + half * k_2.q_rr, half)
    k_4 = at(q + h * v + h * half * k_2.q_rr, v + h * k_3.q_rr, h)
    q_next = q + h * v + h * h / 6.0 * (k_1.q_rr + k_2.q_rr + k_3.q_rr)
    v_next = v + h / 6.0 * (k_1.q_rr + 2.0 * k_2.q_rr + 2.0 * k_3.q_rr + k_4.q_rr)
    end = at(q_next, v_next, h)
    taus = torque(q, v, k_1.q_rr, i["rate"][0]), torque(q_next, v_next, end.q_rr, rate(h))
    speeds = abs(v) * i["rate"][0], abs(v_next) * rate(h)
    return {
        "q_next": q_next,
        "q_r_next": v_next,
        "u_next": [i["u"][0] + i["direction"][0] * h],
        "rate_next": [rate(h)],
        "q_rr": k_1.q_rr,
        "q_rr_next": end.q_rr,
        "error": [largest(abs(end.e))],
        "speed": [maximum(*(largest(speed / i["v_max"]) for speed in speeds))],
        "torque": [maximum(*(largest(abs(tau) / i["tau_max"]) for tau in taus))],
        "cap": [end.cap],
    }
