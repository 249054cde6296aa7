"""Following plans while new ones are computed: when to plan again, and the torque until then.

A plan is requested for a new target, when the arm has left the tube about its plan, after a failed solve, in the
middle of a partial plan, and, as long as there is a target, ``replan_rate`` times a second. The present plan is
followed until the answer arrives; the new plan starts from a measured state, so the torque jumps little. Before the
first plan the arm holds its position.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.optimal.reach import PlanTorque, ReachPlan, RecedingParameters, hold
from arm_control.optimal.worker import Answer, PlannerClient, Request

RETRY = 0.1
"""Time after which a failed solve is repeated [s]."""
EARLY = 1e-6
"""Tolerance of the time at which a new plan is due [s]."""


class PlanFollower:
    """Torque state by state, from plans of a planner.

    Parameters
    ----------
    parameters : RecedingParameters
        May be replaced at any time.
    waits : bool
        Whether each answer is waited for, so that a plan is followed from its first state on.

    Attributes
    ----------
    plan : ReachPlan or None
        The present plan; None: the arm holds its position.
    failure : str
        Why the last solve failed; empty when it did not.
    """

    def __init__(self, model: RobotModel, parameters: RecedingParameters, planner: PlannerClient, waits: bool) -> None:
        self.parameters = parameters
        self._planner = planner
        self._waits = waits
        self._limit = parameters.effort_share * model.tau_max
        self._number = 0
        self._is_waiting = False
        self.last_answer: Answer | None = None
        self.hold(np.zeros(model.nv))

    def hold(self, q: Array) -> None:
        """Drop every plan, also the requested one, and hold the arm at q, shape (nv,) [rad or m]."""
        self.plan: ReachPlan | None = None
        self.failure = ""
        self._q_hold = q.copy()
        self._first_valid = self._number + 1
        self._requested_ns = 0
        self._requested_target: object = None

    def tick(self, stamp_ns: int, t: Terms, target: object, X_WT: Pose) -> PlanTorque:
        """Torque in a state.

        Parameters
        ----------
        target : object
            Identity of the target: another object than before is a new target. None: no target.
        """
        self._take()
        if target is not None and not self._is_waiting and self._is_due(stamp_ns, t, target):
            self._request(stamp_ns, t, target, X_WT)
        if self.plan is None:
            return hold(t, self._q_hold, self._limit)
        return self.plan.command(1e-9 * (stamp_ns - self.plan.stamp_ns), t)

    def tube_error(self, stamp_ns: int, t: Terms) -> float:
        """Largest distance of a joint from its desired position [rad or m]."""
        if self.plan is None:
            return float(np.abs(self._q_hold - t.q).max())
        e = self.plan.error(1e-9 * (stamp_ns - self.plan.stamp_ns), np.concatenate([t.q, t.v]))
        return float(np.abs(e[: len(t.q)]).max())

    def _is_due(self, stamp_ns: int, t: Terms, target: object) -> bool:
        p = self.parameters
        if target is not self._requested_target:
            return True
        if p.replan_rate and self._is_next(stamp_ns, round(1e9 / p.replan_rate)):
            return True
        since = 1e-9 * (stamp_ns - self._requested_ns) + EARLY
        if self.failure:
            return since >= RETRY
        if self.plan is not None and self.plan.is_partial and since >= 0.5 * self.plan.duration:
            return True
        return since >= p.step and self.tube_error(stamp_ns, t) > p.tube

    def _is_next(self, stamp_ns: int, period_ns: int) -> bool:
        """Whether a period has begun since the last request; periods lie on a fixed grid, so delays do not add up."""
        return stamp_ns // period_ns > self._requested_ns // period_ns

    def _request(self, stamp_ns: int, t: Terms, target: object, X_WT: Pose) -> None:
        self._number += 1
        self._is_waiting = True
        self._requested_ns = stamp_ns
        self._requested_target = target
        x0 = np.concatenate([t.q, t.v])
        self._planner.request(Request(self._number, stamp_ns, x0, X_WT, self.plan is not None))
        self._take()

    def _take(self) -> None:
        """Take an answer, if there is one; an answer to a request from before :meth:`hold` is dropped."""
        answer = self._planner.poll(self._waits) if self._is_waiting else None
        if answer is None:
            return
        self._is_waiting = False
        if answer.number >= self._first_valid:
            self.last_answer = answer
            self.failure = answer.failure
            self.plan = answer.plan or self.plan
