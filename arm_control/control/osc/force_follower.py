"""The wrench of a hand along its force axes, state by state: it grows slowly, backs off where nothing resists, ends.

Along each axis, with the target F, its sign n and the speed V of the hand along it,

    (1)  df/dt = n r min(1, 1 - n V / V_a),   |f| <= |F|           r = limit / rise time: no jump
    (2)  dsigma/dt = +-1 / T                                       sigma: share of force control

Without contact f stays where the damper of the law balances it: the hand looks for contact at the speed V_a, whatever F
is. What it hits is felt late without a sensor of the wrench: V_a is 10 mm/s or 0.1 rad/s then at most. When the target
is too old or zero, f falls to zero by (1); then sigma falls and poses count again. A brake ends both at once: while it
lasts, no torque of the law acts.

    f, F     force of the hand; its target                      [N, N m]
    V, V_a   speed of the hand; speed of the approach           [m/s, rad/s]
    r, T     rate of the force; time of the changeover          [N/s, N m/s; s]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.control.osc.osc_parameters import ContactParameters
from arm_control.control.osc.task import rotate_to, select_rows
from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.motion import GoalQueue, WrenchGoal

NO_FORCE = "target_wrench: force_axes is empty, so no axis is controlled by force"
CHANGEOVER = 0.2
"""T [s]."""
UNFELT = np.repeat([0.01, 0.1], 3)
"""Largest V_a without a sensor [m/s, rad/s]."""
LONGEST_STEP = 0.02
"""Time between two states counts up to this [s]."""


class HandWrench(NamedTuple):
    """How the hand yields in one state.

    Attributes
    ----------
    shares : ndarray, shape (6,)
        By row of the task's frame: 1 where a force from outside may move the hand, 0 where a pose holds it.
    R_WF : ndarray, shape (3, 3)
        Axes of the rows.
    F, F_target : ndarray, shape (6,)
        Wrench that the hand is to exert now, and in the end, along these axes [N, N m].
    is_measured : bool
        Whether a sensor measures the wrench.
    """

    shares: Array
    R_WF: Array
    F: Array
    F_target: Array
    is_measured: bool

    def yielding(self, F: Array) -> Array:
        """The part of a wrench (6,), in world axes, that may move the hand."""
        return self.in_world(self.shares * rotate_to(self.R_WF, F))

    def in_world(self, F: Array) -> Array:
        """A wrench (6,) along these axes, in world axes."""
        return rotate_to(self.R_WF.T, F)


class ForceFollower:
    """The wrench of the hand, equations (1) and (2).

    Parameters
    ----------
    frame : str
        Frame of the axes, one of :data:`~arm_control.kinematics.task_errors.FRAMES`.

    Attributes
    ----------
    share : float
        sigma of (2).
    is_holding : bool
        Whether no target has acted since :meth:`hold`.
    is_measured : bool
        Whether a sensor measures the wrench.
    """

    def __init__(self, model: RobotModel, parameters: ContactParameters, frame: str) -> None:
        self.queue: GoalQueue[WrenchGoal] = GoalQueue()
        self._model, self._frame, self.is_measured = model, frame, False
        self.configure(parameters)
        self.restart()

    def configure(self, parameters: ContactParameters) -> None:
        """Take other limits; the axes stay."""
        self._parameters = p = parameters
        self._rows = p.force_rows
        self._yields = np.full(6, float(p.impedance))
        limits = np.repeat([p.force_limit, p.moment_limit], 3)
        self._rate = limits / p.force_rise_time
        self._speed = np.repeat([p.approach_speed_linear, p.approach_speed_angular], 3)

    def restart(self) -> None:
        """Begin without force: a run begins."""
        self.queue.restart()
        self._release()
        self.is_holding = False

    def hold(self, stamp_ns: int) -> None:
        """Exert nothing, and end all targets up to a stamp [ns], and those that only go on behind it."""
        self.queue.end(stamp_ns)
        self._release()
        self.is_holding = True

    def _release(self) -> None:
        self.share = 0.0
        self._active: WrenchGoal | None = None
        self._target, self._f, self._V = (np.zeros(6) for _ in range(3))
        self._R_WF = np.eye(3)

    def add(self, goal: WrenchGoal) -> None:
        """Add a target; an InputError when no axis is controlled by force, or the wrench is above its limits."""
        p = self._parameters
        if not self._rows:
            raise InputError(NO_FORCE)
        for part, limit, unit in ((goal.wrench[:3], p.force_limit, "N"), (goal.wrench[3:], p.moment_limit, "N m")):
            if not np.linalg.norm(part) <= limit:
                raise InputError(f"target_wrench: {np.linalg.norm(part):.4g} {unit}, and the limit is {limit:g} {unit}")
        self.queue.add(goal)

    def tick(self, stamp_ns: int, q: Array, dt: float, X_WT: Pose) -> Array:
        """Return the wrench along the axes of the task's frame, shape (6,) [N, N m]; zero in the other rows."""
        if self._frame != "world":
            self._R_WF = X_WT.R if self._frame == "target" else self._model.pose(q).R
        step = min(dt, LONGEST_STEP)
        target = self._due_target(stamp_ns, q)
        for row in self._rows:
            self._f[row] = self._grown(row, float(target[row]), step)
        is_pressing = bool(target.any() or self._f.any())
        change = step / CHANGEOVER
        self.share = min(self.share + change, 1.0) if is_pressing else max(self.share - change, 0.0)
        return self._f

    def observe(self, terms: Terms) -> None:
        """Take note of the hand's speed in a state, for the next one."""
        self._V = terms.V_WE if self._frame == "world" else rotate_to(self._R_WF, terms.V_WE)

    def hand_wrench(self) -> HandWrench:
        """How the hand yields in the newest state."""
        shares = self._yields.copy()
        for row in self._rows:
            shares[row] = max(shares[row], self.share)
        return HandWrench(shares, self._R_WF, self.share * self._f, self._target, self.is_measured)

    def _due_target(self, stamp_ns: int, q: Array) -> Array:
        """Target along the axes of the task's frame; zero where none is due."""
        timeout_ns = int(self._parameters.force_timeout * NANOSECONDS)
        self.queue.end_stream(stamp_ns, timeout_ns)
        due = self.queue.active(stamp_ns)
        if due is None or stamp_ns - due.stamp_ns > timeout_ns:
            self._active, self._target = None, np.zeros(6)
        elif due is not self._active:
            self._active, self.is_holding = due, False
            self._target = self._in_task_frame(due, q)
        return self._target

    def _in_task_frame(self, goal: WrenchGoal, q: Array) -> Array:
        """Components of a target along the force axes."""
        R_FL = self._R_WF.T @ self._model.pose(q, goal.frame).R
        F = rotate_to(R_FL.T, np.array(goal.wrench))
        return select_rows(F, self._rows)

    def _grown(self, row: int, F: float, step: float) -> float:
        """``f`` of (1) after a step [s]."""
        f, rate = float(self._f[row]), float(self._rate[row]) * step
        if F == 0.0 or abs(f) > abs(F):
            return _nearer(f, F, rate)
        n = 1.0 if F > 0.0 else -1.0
        backing = max(-1.0, min(1.0, 1.0 - n * float(self._V[row]) / self._approach_speed(row)))
        return n * max(-abs(F), min(n * f + rate * backing, abs(F)))

    def _approach_speed(self, row: int) -> float:
        speed = float(self._speed[row])
        return speed if self.is_measured else min(speed, float(UNFELT[row]))


def _nearer(x: float, target: float, step: float) -> float:
    """A number that is a step nearer to a target."""
    return target if abs(target - x) <= step else x + (step if target > x else -step)
