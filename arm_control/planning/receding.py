"""Following plans while new ones are made: when to plan anew, and which torque until then.

A plan is asked for on a new target, when the arm has left the tube about its plan, after a solve that failed, in the
middle of a plan that does not go all the way, and, as long as there is a target, ``replan_rate`` times a second. The
plan in hand counts until the answer is there: that starts in a state that was measured, so nothing jumps far. Before
the first one the arm is held where it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.core.parameters import parameter
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.planning.reach import Plan, PlanTorque, ReachParameters, hold
from arm_control.planning.worker import Answer, Planning, Request

RETRY = 0.1
"""Time after which a solve that failed is tried again [s]."""
EARLY = 1e-6
"""Stamps so much before a new plan is due count as due [s]."""


@dataclass(frozen=True)
class RecedingParameters(ReachParameters):
    """A reach, and when to plan it anew."""

    tube: float = parameter(
        0.1, "distance of a joint from its plan at which a new one is made", unit="rad or m", lower=1e-6, live=True
    )
    replan_rate: float = parameter(
        0.0, "how often to plan anew; 0: only when it is needed", unit="Hz", lower=0.0, upper=1000.0, live=True
    )


class PlanFollower:
    """Torque state by state, from plans that somebody else makes.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : RecedingParameters
        May be replaced by others at any time.
    planner : Planning
        Who is asked.
    waits : bool
        Whether an answer is waited for, so that it counts from the state it starts in.

    Attributes
    ----------
    plan : Plan or None
        What is followed; None: the arm is held.
    newest : Answer or None
        The last answer.
    trouble : str
        Why the last solve failed; empty when it did not.
    """

    def __init__(self, model: RobotModel, parameters: RecedingParameters, planner: Planning, waits: bool) -> None:
        self.parameters, self._planner, self._waits = parameters, planner, waits
        self._limit = parameters.effort_share * model.tau_max
        self._held = np.zeros(model.nv)
        self._number, self._oldest, self._is_waiting = 0, 1, False
        self.plan: Plan | None = None
        self.newest: Answer | None = None
        self.let_go(self._held)

    def let_go(self, q: Array) -> None:
        """Forget every plan, also the one that was asked for, and hold the arm at q, shape (nv,) [rad or m]."""
        self.plan, self._held, self._oldest = None, q.copy(), self._number + 1
        self._asked_ns, self.trouble = 0, ""
        self._asked_for: object = None

    def tick(self, stamp_ns: int, t: Terms, target: object, X_WT: Pose) -> PlanTorque:
        """Torque in a state.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state [ns].
        t : Terms
            The arm in it.
        target : object
            What is to be reached: where it is another object than before, that is a new target. None: nothing.
        X_WT : Pose
            Where that is, in the world.
        """
        self._take()
        if target is not None and not self._is_waiting and self._is_due(stamp_ns, t, target):
            self._ask(stamp_ns, t, target, X_WT)
        if self.plan is None:
            return hold(t, self._held, self._limit)
        return self.plan.command(1e-9 * (stamp_ns - self.plan.stamp_ns), t)

    def tube_error(self, stamp_ns: int, t: Terms) -> float:
        """Largest distance of a joint from where it should be [rad or m]."""
        if self.plan is None:
            return float(np.abs(self._held - t.q).max())
        e = self.plan.error(1e-9 * (stamp_ns - self.plan.stamp_ns), np.concatenate([t.q, t.v]))
        return float(np.abs(e[: len(t.q)]).max())

    def _is_due(self, stamp_ns: int, t: Terms, target: object) -> bool:
        p = self.parameters
        if target is not self._asked_for or (p.replan_rate and self._is_next(stamp_ns, round(1e9 / p.replan_rate))):
            return True
        since = 1e-9 * (stamp_ns - self._asked_ns) + EARLY
        if self.trouble:
            return since >= RETRY
        if self.plan is not None and self.plan.goes_on and since >= 0.5 * self.plan.duration:
            return True
        return since >= p.step and self.tube_error(stamp_ns, t) > p.tube

    def _is_next(self, stamp_ns: int, period_ns: int) -> bool:
        """Whether a period has begun since the last plan was asked for: of a fixed grid: delays do not add up."""
        return stamp_ns // period_ns > self._asked_ns // period_ns

    def _ask(self, stamp_ns: int, t: Terms, target: object, X_WT: Pose) -> None:
        self._number, self._is_waiting = self._number + 1, True
        self._asked_ns, self._asked_for = stamp_ns, target
        x0 = np.concatenate([t.q, t.v])
        self._planner.ask(Request(self._number, stamp_ns, x0, X_WT, self.plan is not None))
        self._take()

    def _take(self) -> None:
        """Take an answer, if one has come; one to a question from before :meth:`let_go` is dropped."""
        answer = self._planner.poll(self._waits) if self._is_waiting else None
        if answer is None:
            return
        self._is_waiting = False
        if answer.number >= self._oldest:
            self.newest, self.trouble = answer, answer.trouble
            self.plan = answer.plan or self.plan
