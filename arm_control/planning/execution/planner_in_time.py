"""Plans in space-time that can be executed: from a motion or from rest to a goal, in time, within limits, proved free.

    1  the arm goes on with its velocity v for the time ``lead``:     q_0 = q + lead v
    2  from there a plan in space-time is searched and shortened, on a clock that begins at the lead
    3  its corners are rounded in time (:mod:`~arm_control.planning.execution.rounded_in_time`), each one over the
       least time that the limit of acceleration asks for; over longer times while accelerations or torques exceed
       their limits, where several corners are near each other
    4  the trajectory is proved free from its begin on, with the rest at its end as long as is asked for

Where 3 or 4 fail, a slower plan is searched: its steps of velocity are smaller, and with them the square of the way by
which corners are left. What is proved in 4 is the polynomials that a controller of joints follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import RLock

import numpy as np
import numpy.typing as npt

from arm_control.collision import Told, Validity
from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.motion import JointReference, JointTrajectory, Waypoints, stacked
from arm_control.planning.execution.motion_checks import LimitCheck, contact_time
from arm_control.planning.execution.rounded_in_time import TINY, Polyline, round_in_time, spreads
from arm_control.planning.execution.told_motion import from_time
from arm_control.planning.plans import Plan, SearchOutcome, no_path
from arm_control.planning.rrt.connect import SearchParameters
from arm_control.planning.rrt.shortcuts import shorten
from arm_control.planning.rrt.space_time import TIMED, SpaceTimeRrt, Travel
from arm_control.planning.time_scaling import PathLimits

SPEEDS = (0.9, 0.9, 0.6, 0.6, 0.4)
"""Share of the largest joint speeds in one search after the other."""
WIDER = (1.0, 1.3, 1.7, 2.2)
"""Factors of the least times over which corners are rounded, one after the other."""
GRID = 0.05
"""Times at which it is looked at whether a goal stays free; what is between them is proved afterwards [s]."""
SHORTEST_CORNER = 0.04
"""Least time over which a step of the velocity is spread, to each side: a gate limits steps of torque [s]."""


class PlannerInTime:
    """Plans motions of one arm that can be executed.

    Parameters
    ----------
    validity : Validity
        The arm; its margin has the error of the controller in it. Its obstacles change.
    limits : PathLimits
        Limits of speed, acceleration and torque.
    horizon : float
        Latest arrival after the begin [s].

    Attributes
    ----------
    lead : float
        Time that the first corner is rounded in, to each side [s].

    Raises
    ------
    InputError
        When accelerations are not limited, or the horizon is too short.
    """

    def __init__(
        self, validity: Validity, limits: PathLimits, horizon: float, parameters: SearchParameters = TIMED
    ) -> None:
        if limits.a_max is None:
            raise InputError("a_max is None: corners are rounded by a limit of acceleration")
        self.validity, self.limits, self.parameters = validity, limits, parameters
        self.check = LimitCheck(validity.shape.model, limits)
        self._a_max = limits.a_max
        self.lead = max(SHORTEST_CORNER, float((SPEEDS[0] * limits.v_max / limits.a_max).max()))
        self.horizon = horizon
        if not horizon > 2.0 * self.lead:
            raise InputError(f"horizon = {horizon} s; more than {2.0 * self.lead:.2g} s are needed for the corners")

    @property
    def lock(self) -> RLock:
        """That of the validity, in which obstacles are placed."""
        return self.validity.lock

    @exclusive
    def plan(
        self,
        start: JointReference,
        goals: npt.ArrayLike,
        obstacles: Sequence[Told],
        hold: float = 0.0,
        speeds: Sequence[float] = SPEEDS,
        title: str | None = None,
    ) -> Plan:
        """Plan a motion from a state at time 0.

        The plan has the motion, and the states in space-time that were rounded, on the clock of the motion.

        Parameters
        ----------
        start : JointReference
            State at the begin; at rest or not.
        goals : array_like, shape (n,) or (k, n)
            Joint positions of one goal, or of several [rad or m].
        obstacles : sequence of Obstacle, Mover or sequence of Mover
            On a clock that begins with the motion.
        hold : float
            Time up to which the rest at the goal must be free [s].
        speeds : sequence of float
            Share of the largest speeds in one search after the other.
        """
        q_0 = start.q_des + self.lead * start.v_des
        plan = no_path(SearchOutcome.LIMIT, "", len(q_0))
        goals, arrival = self._arrival(q_0, np.atleast_2d(np.asarray(goals, dtype=float)), obstacles, hold)
        for k, share in enumerate(speeds):
            self.validity.place(from_time(obstacles, self.lead))
            travel = Travel(share * self.limits.v_max, self.horizon - 2.0 * self.lead)
            search = SpaceTimeRrt(self.validity, travel, replace(self.parameters, seed=self.parameters.seed + k))
            try:
                plan = shorten(self.validity, search.plan(q_0, goals, arrival, title), seed=k)
            except InputError as error:  # the arm would go beyond a limit while it goes on
                return no_path(SearchOutcome.UNREACHABLE, str(error), len(q_0))
            if not plan.is_found:
                return plan
            self.validity.place(obstacles)
            trajectory, reason = self._rounded(plan, start, hold)
            if trajectory is not None:
                return replace(plan, times=plan.times + self.lead, trajectory=trajectory)
            plan = no_path(SearchOutcome.LIMIT, reason, len(q_0), plan.effort)
        return plan

    def _arrival(self, q_0: Array, goals: Array, obstacles: Sequence[Told], hold: float) -> tuple[Array, float | None]:
        """The goals that are free up to ``hold``; or the one that is free soonest, and when to arrive there."""
        if hold <= self.lead:
            return goals, None
        self.validity.place(from_time(obstacles, self.lead))
        times = np.arange(0.0, hold - self.lead, GRID)
        is_free = self.validity.free_states(np.repeat(goals, len(times), axis=0), np.tile(times, len(goals)))
        blocked = ~is_free.reshape(len(goals), len(times))
        free_from = np.where(blocked, times + GRID, 0.0).max(axis=1)
        if (free_from == 0.0).any():
            return goals[free_from == 0.0], None
        need = Travel(SPEEDS[-1] * self.limits.v_max, self.horizon).need(goals - q_0)
        arrival = np.maximum(free_from + self.lead, need)
        k = int(arrival.argmin())
        can_wait = arrival[k] <= self.horizon - 2.0 * self.lead
        return goals[[k]], float(arrival[k]) if can_wait else None

    def _rounded(self, plan: Plan, start: JointReference, hold: float) -> tuple[JointTrajectory | None, str]:
        """The rounded plan, proved free among the obstacles that have been placed; or why there is none."""
        line, reason = polyline_of(plan, start), ""
        least = np.maximum(spreads(line, self._a_max), SHORTEST_CORNER)
        room = np.minimum(line.times - line.times[0], line.times[-1] - line.times) + self.lead
        if (least > room + TINY).any():
            t = float(line.times[int((least - room).argmax())])
            return None, f"the corner after {t:.2f} s leaves no time to round it at the limit of acceleration"
        for factor in WIDER:
            h = np.minimum(factor * least, room)
            end = float(line.times[-1]) + self.lead
            trajectory = round_in_time(line, h, line.times[0] - self.lead, end, start.a_des)
            reason = self.check.excess(trajectory)
            if not reason:
                break
        if reason:
            return None, reason
        contact = contact_time(self.validity, trajectory, 0.0, max(hold, trajectory.duration))
        if contact < np.inf:
            return None, f"the rounded motion cannot be proved free after {contact:.2f} s"
        return trajectory, ""


def polyline_of(plan: Plan, start: JointReference) -> Polyline:
    """Return a plan in space-time as a polyline, without corners at which nothing changes.

    Parameters
    ----------
    start : JointReference
        State of the arm before it: its velocity counts.
    """
    qs, times = plan.path, plan.times
    if len(qs) < 2:
        qs, times = np.repeat(qs, 2, axis=0), np.array([0.0, SHORTEST_CORNER])
    line = Polyline(qs, times, start.v_des)
    is_corner = np.abs(line.steps).max(axis=1) > TINY
    is_corner[[0, -1]] = True
    return Polyline(qs[is_corner], times[is_corner], start.v_des)


def points_of(trajectory: JointTrajectory) -> Waypoints:
    """Return the points of a trajectory, with which a controller of joints follows the same polynomials.

    The first one, at time 0, is the state at the begin.
    """
    states = [trajectory.sample(float(t)) for t in trajectory.knots[:-1]] + [trajectory.end]
    return Waypoints(trajectory.knots.copy(), *stacked(states))
