"""Stops along a path: time goes on ever more slowly, as fast as torques and accelerations allow.

A trajectory q(s) has s = t_0 + t until a stop begins at t_0. During the stop, of duration T, with x = t / T,

    (1)  s' = 1 - 3 x^2 + 2 x^3,     s = t_0 + T (x - x^3 + x^4 / 2)
    (2)  v = q' s',                  a = q'' s'^2 + q' s''

so that the joints stay on their path, and their accelerations are continuous. The shortest T of a list is taken for
which all torques M a + h and all accelerations are within their limits. A stop takes the time T, and the path of T / 2.

Watches a motion among obstacles that may leave what was foretold: plans anew, stops along the path, or evades.

At each look the measured obstacles are compared with the foretold ones. Where they differ, what is measured is foretold
from now on: each obstacle goes on with its twist. Then the rest of the motion, and the rest of the arm at its end, are
checked for some time ahead. With the time P that a plan may take, where something is in the way:

    a stop at now + P is free       a motion to the goal is planned from the state at now + P; where there is none,
                                    the arm stops then, and is asked for a motion to the goal again later
    a stop now is free              the arm stops at once, and a motion is planned from its rest
    no stop is free                 a motion to some posture that stays free is planned from the state at now + P
    there is none either            the stop that is free for longest

Every motion begins with the position, velocity and acceleration that the one before has at that moment, and each one
that is called free has been proved free. Nothing here knows a clock: a caller says when it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import Told, from_time, present
from arm_control.core import Parameters, exclusive, parameter
from arm_control.maths import Array, Obstacle, rotation_vector
from arm_control.motion import JointTrajectory, stacked
from arm_control.planning.planner_in_time import (
    SPEEDS,
    TINY,
    LimitCheck,
    PlannerInTime,
    contact_time,
    rest_of,
    stay,
    through_states,
)
from arm_control.planning.space_time import Travel

DURATIONS = 0.1 * 1.12 ** np.arange(27)
"""Durations T that are tried [s]; shorter ones ask for steps of torque that a gate limits."""
SAMPLES = 25
"""Moments of a stop at which limits are looked at; the knots of its trajectory."""
FULL = 0.97
"""Share of the limits that is used at the knots; between them it is a little more."""
STILL = 1e-9
"""Speeds below this are none [rad/s or m/s]."""


def stop(check: LimitCheck, trajectory: JointTrajectory, t: float) -> JointTrajectory:
    """Return the shortest stop along a trajectory within limits, from its time t on [s]: the time 0 of the stop.

    Where none of the durations is within the limits, as where the trajectory is beyond them already, it is the one that
    exceeds them least.
    """
    if t >= trajectory.duration or np.abs(trajectory.sample(t).v_des).max() < STILL:
        return stay(trajectory.sample(t))
    q, v, a = _stops(trajectory, t)
    shape = q.shape
    shares = check.shares(*(x.reshape(-1, shape[-1]) for x in (q, v, a))).values()
    excess = np.max([share.reshape(len(DURATIONS), -1).max(axis=1) for share in shares], axis=0)
    within = np.flatnonzero(excess <= FULL)
    k = int(within[0]) if len(within) else int(excess.argmin())
    knots = DURATIONS[k] * np.linspace(0.0, 1.0, SAMPLES)
    return JointTrajectory.through_knots(knots, q[k], v[k], a[k])


def _stops(trajectory: JointTrajectory, t: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (2) of the stops of all durations, shape (k, SAMPLES, n)."""
    x = np.linspace(0.0, 1.0, SAMPLES)
    T = DURATIONS[:, None]
    s, rate, change = T * (x - x**3 + x**4 / 2.0), 1.0 - 3.0 * x**2 + 2.0 * x**3, (6.0 * x**2 - 6.0 * x) / T
    states = [trajectory.sample(t + float(way)) for way in s.ravel()]
    q, v, a = stacked(states)
    rate, change = np.broadcast_to(rate, s.shape).ravel()[:, None], change.ravel()[:, None]
    size = (*s.shape, q.shape[1])
    return q.reshape(size), (v * rate).reshape(size), (a * rate**2 + v * change).reshape(size)


REFUGES, NEAREST = 128, 8
"""Random postures that are looked at for one that stays free; the nearest ones of these that are planned to."""
RECHECK = 0.1
"""Time after which a motion is checked again though nothing has changed: it must be free for a time ahead [s]."""
NEAR, FAR = 0.3, 1.0
"""Standard deviations of these about the present posture [rad or m]."""


class Action(Enum):
    """What a look at the obstacles brings about."""

    KEPT = "kept"
    PLANNED = "planned anew"
    STOPPED = "stopped"
    EVADED = "evaded"
    EXPOSED = "exposed"


class Decision(NamedTuple):
    """Result of a look.

    Attributes
    ----------
    trajectory : JointTrajectory or None
        Motion from now on; None: as before.
    contact : float
        Time until which the motion is proved free; infinite for as long as is looked ahead [s].
    """

    action: Action
    trajectory: JointTrajectory | None = None
    begin: float = 0.0
    contact: float = np.inf


DISTANCE, ANGLE, SPEED, RATE = 5e-3, 0.02, 0.02, 0.05
"""Differences between an obstacle and what was told of it that do not count [m, rad, m/s, rad/s]."""


def agree(told: Sequence[Obstacle], measured: Sequence[Obstacle]) -> bool:
    """Return whether obstacles are where they were told to be, each one of them, in any order."""
    left = list(told)
    for obstacle in measured:
        k = next((k for k, other in enumerate(left) if _is_one(other, obstacle)), None)
        if k is None:
            return False
        left.pop(k)
    return not left


def _is_one(told: Obstacle, measured: Obstacle) -> bool:
    V = np.asarray(measured.V_WO, dtype=float) - np.asarray(told.V_WO, dtype=float)
    return (
        told.shape == measured.shape
        and float(np.linalg.norm(measured.X_WO.p - told.X_WO.p)) <= DISTANCE
        and float(np.linalg.norm(rotation_vector(measured.X_WO.R @ told.X_WO.R.T))) <= ANGLE
        and float(np.linalg.norm(V[:3])) <= SPEED
        and float(np.linalg.norm(V[3:])) <= RATE
    )


@dataclass(frozen=True)
class MonitorParameters(Parameters):
    """How a motion is watched."""

    planning_time: float = parameter(0.1, "time that a plan may take", unit="s", lower=0.0)
    reaction_time: float = parameter(0.0, "time from a look to the begin of a stop at once", unit="s", lower=0.0)
    look_ahead: float = parameter(3.0, "time for which a motion must be free", unit="s", lower=0.1)
    retry_period: float = parameter(0.2, "time between two plans of an arm that has been stopped", unit="s", lower=0.01)


class MotionMonitor:
    """Watches the motions of one arm to one goal (n,), or several (k, n) [rad or m].

    Attributes
    ----------
    begin : float
        Time of the begin of the motion that goes on [s].
    told : list of Obstacle, Mover or sequence of Mover
        Obstacles as they are foretold.
    """

    def __init__(
        self, planner: PlannerInTime, goals: npt.ArrayLike, parameters: MonitorParameters | None = None
    ) -> None:
        self._planner, self.lock = planner, planner.lock
        self._goals = np.atleast_2d(np.asarray(goals, dtype=float))
        self._parameters = parameters or MonitorParameters()
        self._travel = Travel(SPEEDS[0] * planner.limits.v_max, planner.horizon)
        self._rng = np.random.default_rng(planner.parameters.seed)

    def start(self, trajectory: JointTrajectory, begin: float, told: Sequence[Told]) -> None:
        """Watch a motion from its begin [s] on, to a goal or anywhere: to be at rest is a motion, too.

        Obstacles are those that are foretold, on the clock of the begin.
        """
        self.trajectory, self.begin, self.told = trajectory, begin, list(told)
        self._next_plan = self._next_check = begin

    @property
    def leads_to_goal(self) -> bool:
        """Whether the motion ends at a goal."""
        return bool((np.abs(self._goals - self.trajectory.end.q_des).max(axis=1) < TINY).any())

    @exclusive
    def look(self, now: float, measured: Sequence[Obstacle]) -> Decision:
        """Compare the measured obstacles, with their twists, with the foretold ones; change the motion if it must be.

        A time [s] is not before that of the look before.
        """
        if not agree(present(self.told, now), measured):
            self.told = from_time(measured, -now)
            self._next_check = now
        if now >= self._next_check:
            contact = self._contact(self._rest(now), now)
            self._next_check = now + (RECHECK if contact == np.inf else self._parameters.planning_time)
            if contact < np.inf:
                return self._react(now, contact)
        if not self.leads_to_goal and now >= max(self._next_plan, self.begin + self.trajectory.duration):
            self._next_plan = now + self._parameters.retry_period
            return self._plan(now, self._goals, Action.PLANNED) or Decision(Action.KEPT)
        return Decision(Action.KEPT)

    def _react(self, now: float, contact: float) -> Decision:
        """Change a motion that is free until some time only."""
        p = self._parameters
        has_time = contact > now + p.planning_time
        late, contact_late = self._stop(now + p.planning_time)
        contact_late = contact_late if has_time else contact
        if contact_late == np.inf:
            planned = self._plan(now, self._goals, Action.PLANNED)
            return planned or self._take(now, Action.STOPPED, late, now + p.planning_time)
        soon, contact_soon = self._stop(now + p.reaction_time)
        if contact_soon == np.inf:
            return self._take(now, Action.STOPPED, soon, now + p.reaction_time)
        if has_time and (evasion := self._plan(now, self._refuges(now), Action.EVADED)):
            return evasion
        if contact >= max(contact_soon, contact_late):
            return Decision(Action.EXPOSED, contact=contact)
        if contact_late > contact_soon:
            return self._take(now, Action.EXPOSED, late, now + p.planning_time, contact_late)
        return self._take(now, Action.EXPOSED, soon, now + p.reaction_time, contact_soon)

    def _stop(self, t: float) -> tuple[JointTrajectory, float]:
        """A stop that begins at a time, and the time until which it is free."""
        trajectory = stop(self._planner.check, self.trajectory, t - self.begin)
        return trajectory, self._contact(trajectory, t)

    def _plan(self, now: float, goals: Array, action: Action) -> Decision | None:
        """A motion to goals from the state at the end of the time for planning; None where there is none."""
        begin = now + self._parameters.planning_time
        if not len(goals):
            return None
        start = self.trajectory.sample(begin - self.begin)
        told, speeds = from_time(self.told, begin), SPEEDS if action is Action.PLANNED else SPEEDS[:1]
        timed = self._planner.plan(start, goals, told, hold=self._parameters.look_ahead, speeds=speeds)
        return None if timed.trajectory is None else self._take(now, action, timed.trajectory, begin)

    def _take(
        self, now: float, action: Action, trajectory: JointTrajectory, begin: float, contact: float = np.inf
    ) -> Decision:
        """Go on with the motion until a time, and then with another one."""
        old, t = self._rest(now), begin - now
        knots = old.knots[old.knots < t - TINY] if t > TINY else np.zeros(0)
        states = [old.sample(float(knot)) for knot in knots]
        states += [trajectory.sample(float(knot)) for knot in trajectory.knots[:-1]]
        self.trajectory = through_states([*states, trajectory.end], np.concatenate([knots, t + trajectory.knots]))
        self.begin = now
        return Decision(action, trajectory, begin, contact)

    def _rest(self, now: float) -> JointTrajectory:
        """What is left of the motion."""
        return rest_of(self.trajectory, max(now - self.begin, 0.0))

    def _contact(self, trajectory: JointTrajectory, begin: float) -> float:
        """Time until which a motion is free among the foretold obstacles."""
        self._planner.validity.place(self.told)
        return contact_time(self._planner.validity, trajectory, begin, begin + self._parameters.look_ahead)

    def _refuges(self, now: float) -> Array:
        """Postures that can be reached and stay free, the nearest first, shape (k, n)."""
        p, model = self._parameters, self._planner.validity.shape.model
        begin = now + p.planning_time
        q = self.trajectory.sample(begin - self.begin).q_des
        spread = np.where(np.arange(REFUGES) % 2, NEAR, FAR)[:, None]
        states = np.clip(q + spread * self._rng.normal(size=(REFUGES, len(q))), model.q_min, model.q_max)
        arrival = begin + 2.0 * self._planner.lead + self._travel.need(states - q)
        self._planner.validity.place(self.told)
        is_free = self._planner.validity.free_motions(states, states, arrival, arrival + p.look_ahead)
        order = np.argsort(np.where(is_free, arrival, np.inf), kind="stable")[: min(NEAREST, int(is_free.sum()))]
        return states[order]
