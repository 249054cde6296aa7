"""Plans in space-time that can be executed: from a motion or from rest to a goal, in time, within limits, proved free.

    1  the arm goes on with its velocity v for the time ``lead``:     q_0 = q + lead v
    2  from there a plan in space-time is searched and shortened, on a clock that begins at the lead
    3  its corners are rounded in time by (2), each one over the least time that the limit of acceleration asks for;
       over longer times while accelerations or torques exceed their limits, where several corners are near each other
    4  the trajectory is proved free from its begin on, with the rest at its end as long as is asked for

Where 3 or 4 fail, a slower plan is searched: its steps of velocity are smaller, and with them the square of the way by
which corners are left. What is proved in 4 is the polynomials that a controller of joints follows.

A plan in space-time goes straight from q_i at t_i to q_{i+1} at t_{i+1}: before t_0 with the velocity v_0 of the arm,
from t_m on at rest. With ``dv_i`` for the step of its velocity at t_i, and (x)_+ for the larger one of x and 0,

    (1)  q(t) = q_0 + v_0 (t - t_0) + sum_i dv_i (t - t_i)_+

Each step is spread over a time h_i to both sides, by the weights of a triangle:

    (2)  q~(t) = q_0 + v_0 (t - t_0) + sum_i dv_i h_i psi((t - t_i) / h_i)

         psi(x) = 0 for x < -1,   (1 + x)^3 / 6 up to 0,   x + (1 - x)^3 / 6 up to 1,   x from there on

so that position, velocity and acceleration are continuous, the pieces are cubic, and path and times are kept: at t_i,
where no other step is near, q~ is off the corner by ``dv_i h_i / 6``, and back on the polyline at t_i + h_i. A step
that stands alone has

    (3)  max |q~''| = |dv_i| / h_i

An acceleration a_0 that the arm has at the beginning fades in a polynomial of degree 5, which is added.

    h       time over which a step is spread, to each side      [s]
    psi     twice integrated triangle: psi'' = 1 - |x|
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import DEVIATIONS, Told, Validity, chords, from_time
from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import JointReference, JointTrajectory, Waypoints, powers, quintic, stacked
from arm_control.planning.joint_space import SearchParameters
from arm_control.planning.plans import Plan, SearchOutcome, no_path
from arm_control.planning.shortcuts import shorten
from arm_control.planning.space_time import TIMED, SpaceTimeRrt, Travel
from arm_control.planning.time_scaling import PathLimits

ROUNDING = 1e-6
"""Share of a limit that counts as rounding."""
LOOKS = 2000
"""Largest number of places of one chord that are looked at."""


class LimitCheck:
    """Checks trajectories of one arm, with what is attached to it now, against limits; torque by inverse dynamics.

    The tip's speed is not checked.
    """

    def __init__(self, model: RobotModel, limits: PathLimits) -> None:
        self.model, self.limits = model, limits
        self._torque = model.batch("tau")

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Torque of positions, velocities and accelerations, shape (k, n) each [N m or N]."""
        return self._torque(q, v, a, np.zeros((len(q), 6)))["tau"]

    def shares(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Speed, acceleration and torque of motions (k, n) as shares of their limits, shape (k, n) each."""
        limits = self.limits
        shares = {"speed": v / limits.v_max, "torque": self.torques(q, v, a) / limits.tau_max}
        if limits.a_max is not None:
            shares["acceleration"] = a / limits.a_max
        return {name: np.abs(share) for name, share in shares.items()}

    def excess(self, trajectory: JointTrajectory) -> str:
        """Return which limit a trajectory exceeds most, in a sentence; empty for none.

        Looked at are 33 moments of each piece, its ends among them: where a rounded plan has its largest accelerations.
        """
        times, q, v, a = trajectory.samples()
        model = self.model
        beyond = np.maximum(model.q_min - q, q - model.q_max).max(axis=0)
        if (beyond > ROUNDING).any():
            worst_joint = int(beyond.argmax())
            return f"'{model.joint_names[worst_joint]}' goes {beyond[worst_joint]:.3g} beyond its limits of position"
        shares = self.shares(q, v, a)
        name = max(shares, key=lambda key: float(shares[key].max()))
        worst = shares[name]
        if worst.max() <= 1.0 + ROUNDING:
            return ""
        k, j = (int(i) for i in np.unravel_index(int(worst.argmax()), worst.shape))
        return f"'{model.joint_names[j]}' needs {worst[k, j]:.2f} of its largest {name} after {times[k]:.2f} s"


@exclusive
def contact_time(validity: Validity, trajectory: JointTrajectory, begin: float, until: float) -> float:
    """Time until which a trajectory, and the rest after it, is proved free; infinite where there is nothing in the way.

    The obstacles are on the clock of its begin [s]; it rests at its end until a time: what comes later is of no
    interest [s].
    """
    free_until = np.inf
    for largest in DEVIATIONS:
        qs, times, deviations = chords(trajectory, largest)
        stamps = begin + times
        found = validity.motions(qs[:-1], qs[1:], stamps[:-1], stamps[1:], deviations, most_looks=LOOKS)
        is_blocked = ~found.is_free & (stamps[:-1] <= until)
        if not is_blocked.any():
            free_until = np.inf
            break
        k = int(is_blocked.argmax())
        free_until = float(stamps[k] + found.covered[k] * (stamps[k + 1] - stamps[k]))
    if free_until < np.inf or until <= (end := begin + trajectory.duration):
        return free_until
    q = trajectory.end.q_des[None]
    rest = validity.motions(q, q, end, until, is_first=True)
    return np.inf if rest.is_free[0] else float(end + rest.covered[0] * (until - end))


TINY = 1e-9
"""Knots that are nearer to each other are one [s]; steps of the velocity that are smaller are none [rad/s or m/s]."""


class Polyline(NamedTuple):
    """A motion of straight pieces in time.

    Attributes
    ----------
    qs : ndarray, shape (m + 1, n)
        Corners [rad or m].
    times : ndarray, shape (m + 1,)
        Their times, increasing [s].
    v_start : ndarray, shape (n,)
        Velocity before the first one [rad/s or m/s].
    """

    qs: Array
    times: Array
    v_start: Array

    @property
    def steps(self) -> Array:
        """Steps of the velocity at the corners, shape (m + 1, n) [rad/s or m/s]."""
        v = np.diff(self.qs, axis=0) / np.diff(self.times)[:, None]
        return np.diff(np.concatenate([self.v_start[None], v, 0.0 * v[:1]]), axis=0)


def round_in_time(line: Polyline, h: Array, begin: float, end: float, a_start: Array | None = None) -> JointTrajectory:
    """Return the trajectory (2), whose time 0 is the begin; begin and end are on the clock of the polyline [s].

    Each step is spread over a time h (m + 1,) to each side [s]; the first one begins at ``begin`` or later, the last
    one ends at ``end`` or earlier. An acceleration at the begin (n,) fades until as long after the first corner
    [rad/s^2 or m/s^2].
    """
    fade = min(2.0 * (line.times[0] - begin), end - begin)
    inner = np.concatenate([line.times - h, line.times, line.times + h, [begin + fade]])
    knots = np.unique(np.concatenate([[begin], inner[(inner > begin + TINY) & (inner < end - TINY)], [end]]))
    knots = knots[np.concatenate([[True], np.diff(knots) > TINY])]
    knots[-1] = end
    q, v, a = _motion(line, h, knots)
    if a_start is not None and a_start.any():
        zero = np.zeros_like(a_start)
        dq, dv, da = _fading(quintic(zero, zero, a_start, zero, zero, zero, fade), knots - begin, fade)
        q, v, a = q + dq, v + dv, a + da
    T = np.diff(knots)[:, None]
    return JointTrajectory(knots - begin, quintic(q[:-1], v[:-1], a[:-1], q[1:], v[1:], a[1:], T))


def _motion(line: Polyline, h: Array, t: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of (2) at times, shape (k, n)."""
    x, dv = (t[:, None] - line.times) / h, line.steps
    rising, falling = np.clip(1.0 + x, 0.0, 1.0), np.clip(1.0 - x, 0.0, 1.0)
    psi = np.where(x < 0.0, rising**3 / 6.0, x + falling**3 / 6.0)
    slope = np.where(x < 0.0, rising**2 / 2.0, 1.0 - falling**2 / 2.0)
    triangle = np.maximum(1.0 - np.abs(x), 0.0)
    q = line.qs[0] + (t - line.times[0])[:, None] * line.v_start + (h * psi) @ dv
    return q, line.v_start + slope @ dv, (triangle / h) @ dv


def _fading(piece: Array, t: Array, duration: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of one piece at times, shape (k, n); zero behind its end."""
    motion = np.einsum("dkc,cn->dkn", powers(np.minimum(t, duration)), piece)
    motion[:, t >= duration] = 0.0
    return motion[0], motion[1], motion[2]


def spreads(line: Polyline, a_max: Array) -> Array:
    """Least times over which the steps are spread, by (3), shape (m + 1,) [s], with accelerations up to a_max (n,)."""
    return (np.abs(line.steps) / a_max).max(axis=1)


def rest_of(trajectory: JointTrajectory, t: float) -> JointTrajectory:
    """Return what is left of a trajectory from a time on, which becomes its time 0."""
    if t >= trajectory.duration - TINY:
        return stay(trajectory.end)
    knots = np.concatenate([[t], trajectory.knots[trajectory.knots > t + TINY]])
    return through_states([trajectory.sample(float(knot)) for knot in knots[:-1]] + [trajectory.end], knots - t)


def through_states(states: list[JointReference], times: Array) -> JointTrajectory:
    """Return the trajectory of degree 5 through states at times from 0 on, shape (k,) [s]; the last one is at rest."""
    return JointTrajectory.through_knots(times, *stacked(states))


STAY = 1e-3
"""Duration of a trajectory that stays where it is [s]."""


def stay(state: JointReference) -> JointTrajectory:
    """Return the trajectory that rests at the joint positions of a state."""
    at_rest = JointReference.at_rest(state.q_des)
    return through_states([at_rest, at_rest], np.array([0.0, STAY]))


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
        self.lock = validity.lock
        self.check = LimitCheck(validity.shape.model, limits)
        self._a_max = limits.a_max
        self.lead = max(SHORTEST_CORNER, float((SPEEDS[0] * limits.v_max / limits.a_max).max()))
        self.horizon = horizon
        if not horizon > 2.0 * self.lead:
            raise InputError(f"horizon = {horizon} s; more than {2.0 * self.lead:.2g} s are needed for the corners")

    @exclusive
    def plan(
        self,
        start: JointReference,
        goals: npt.ArrayLike,
        obstacles: Sequence[Told],
        hold: float = 0.0,
        speeds: Sequence[float] = SPEEDS,
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
                plan = shorten(self.validity, search.plan(q_0, goals, arrival), seed=k)
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

    Of the state of the arm before it the velocity counts.
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
