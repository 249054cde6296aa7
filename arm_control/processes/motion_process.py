"""Motions that are planned and executed: a state in, points for the controller of joints out. No ROS here.

    a goal is due     once the arm is at rest, a motion from its posture among the obstacles of then is requested
    the answer        the motion is sent, to begin now; among moving obstacles at the moment that it was planned for
    moving            the planner looks ahead, and changes the motion where something has come into the way; an arm that
                      leaves its plan is stopped, and the goal given up
    another goal      the arm stops along its path, then the motion to the new goal is planned
    cancel            the arm stops along its path

The planner works elsewhere and never keeps a state waiting. A plan among moving obstacles that comes after the moment
that it was planned for is made anew, with more time; one that fails is tried again as long as patience lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, TypeAlias

import numpy as np

from arm_control.control import Measurement
from arm_control.core import NANOSECONDS, Parameters, parameter
from arm_control.gate import is_at_rest
from arm_control.maths import Array, Obstacle, Pose, wrap_angle
from arm_control.model import RobotModel
from arm_control.motion import GoalQueue, JointGoal, Target, Waypoints
from arm_control.optimal import Server
from arm_control.planning import (
    Action,
    LimitCheck,
    MotionAnswer,
    MotionPlan,
    MotionRequest,
    PathLimits,
    PlannerAnswer,
    PlannerRequest,
    WatchAnswer,
    WatchRequest,
    are_moving,
    foretold,
    points_of,
    stop,
)

STOP_LEAD = 0.05
"""Time from the newest state to the begin of a stop, for messages on their way [s]."""
FIRST_POINT = 0.05
"""Time from the begin of a command to an arm in motion to its first point [s]."""
MORE_TIME = 2.0
"""Factor of the time for planning after a plan that came too late."""
REASONS = {
    Action.PLANNED: "something came into the way: planned anew",
    Action.STOPPED: "something came into the way: stopped",
    Action.EVADED: "something comes at the arm: it gives way",
    Action.EXPOSED: "something comes at the arm, which cannot get away in time: stopped",
}
"""What is said of a motion that was changed."""
DIED = "the planner's process has ended"
MOVES = "the arm moves; a plan begins at rest"

MotionClient = Server[PlannerRequest, PlannerAnswer]
"""A planner of motions."""
PlannerGoal = JointGoal | Target


class Phase(Enum):
    """What becomes of a goal."""

    IDLE = "no goal"
    PLANNING = "planning"
    PLANNED = "planned"
    MOVING = "moving"
    STOPPING = "stopping"
    REACHED = "reached"
    CANCELED = "canceled"
    NO_PLAN = "no plan"
    OFF_PATH = "off the path"
    MISSED = "goal missed"

    @property
    def has_failed(self) -> bool:
        """Whether the goal has been given up."""
        return self in (Phase.NO_PLAN, Phase.OFF_PATH, Phase.MISSED)

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to the goal."""
        return self.has_failed or self in (Phase.IDLE, Phase.REACHED, Phase.CANCELED)


@dataclass(frozen=True)
class ExecutionParameters(Parameters):
    """How plans are executed."""

    execute: bool = parameter(True, "move along each plan; false: only after a call of ~/execute", live=True)
    lead: float = parameter(
        0.3, "time for planning, after which a motion among moving obstacles begins", unit="s", lower=0.01, live=True
    )
    patience: float = parameter(
        5.0, "time for which a goal without a plan is tried again while obstacles move", unit="s", lower=0.0, live=True
    )
    watch_period: float = parameter(
        0.05, "time between two looks at what has come into the way of a motion", unit="s", lower=0.0, live=True
    )
    answer_time: float = parameter(
        1.0, "time without an answer of the planner after which a motion is stopped", unit="s", lower=0.1, live=True
    )
    path_tolerance: float = parameter(
        0.1, "joint error at which a motion is given up; 0: no limit", unit="rad or m", lower=0.0, live=True
    )
    goal_tolerance: float = parameter(
        0.01, "largest joint error that counts as reached", unit="rad or m", lower=1e-9, live=True
    )
    goal_time: float = parameter(
        2.0, "time after a motion within which its goal must be reached", unit="s", lower=0.0, live=True
    )
    stop_acceleration: float = parameter(
        10.0, "largest acceleration of the joints in a stop", unit="rad/s^2 or m/s^2", lower=1e-3
    )


class MotionStatus(NamedTuple):
    """What becomes of the newest goal.

    Attributes
    ----------
    reason : str
        Why it is given up, or waits; a sentence, or empty.
    progress : float
        Share of the motion's time that is over.
    """

    phase: Phase
    reason: str = ""
    progress: float = 0.0

    def __str__(self) -> str:
        return f"{self.phase.value}: {self.reason}" if self.reason else self.phase.value


MotionCommand: TypeAlias = tuple[Waypoints, int]
"""What the controller of joints is to follow, and the stamp of its time 0 [ns]; 0: at once."""


class Step(NamedTuple):
    """What a state brings about."""

    plan: MotionPlan | None = None
    command: MotionCommand | None = None


NOTHING = Step()


class MotionProcess:
    """Goals, a planner, and the motion that goes on.

    Attributes
    ----------
    seconds : float
        Time that the planner took for its last answer [s].
    """

    def __init__(
        self,
        model: RobotModel,
        parameters: ExecutionParameters,
        planner: MotionClient,
        goals: GoalQueue[PlannerGoal] | None = None,
    ) -> None:
        self.parameters = parameters
        self._model, self._planner = model, planner
        self._goals: GoalQueue[PlannerGoal] = GoalQueue() if goals is None else goals
        self._is_continuous = np.isinf(model.q_max)
        a_max = np.full(model.nv, parameters.stop_acceleration)
        self._check = LimitCheck(model, PathLimits(model.v_max, model.tau_max, a_max))
        self._single: list[PlannerGoal] = []
        self._number, self._is_busy = 0, False
        self._has_run, self.seconds = False, 0.0
        self._restart()

    def _restart(self) -> None:
        """Forget everything but the goals: they act again when time has started over."""
        self._goals.discard(lambda goal: any(goal is other for other in self._single))
        self._single.clear()
        self.goal: PlannerGoal | None = None
        self.plan: MotionPlan | None = None
        self.status, self._ending = MotionStatus(Phase.IDLE), None  # type: MotionStatus, MotionStatus | None
        self._requested: MotionPlan | None = None
        self._answer: MotionAnswer | None = None
        self._number += 1  # an answer on its way is out of date
        self._next, self._change = None, None  # type: MotionPlan | None, WatchAnswer | None
        self._reason, self._leads_to_goal = "", True
        self._since_ns = self._stop_end_ns = self._next_look_ns = self._epoch_ns = self._asked_ns = 0
        self._attempts, self._lead, self._may_execute = 0, self.parameters.lead, False

    def add(self, goal: PlannerGoal, is_single: bool = False) -> None:
        """Add a goal, which acts from its stamp on; a single one does not act again when time starts over."""
        self._goals.add(goal)
        if is_single:
            self._single.append(goal)

    def cancel(self) -> bool:
        """Give the goal up: the arm stops along its path. Returns whether there was one."""
        if self.status.phase.is_over:
            return False
        self._ending = MotionStatus(Phase.CANCELED)
        return True

    def execute(self) -> bool:
        """Move along the plan that waits; from another posture, or among moving obstacles, a new one is made first.

        Returns whether there was one.
        """
        if self.status.phase is not Phase.PLANNED:
            return False
        self._may_execute = True
        return True

    def on_state(self, state: Measurement, obstacles: Sequence[Obstacle]) -> Step:
        """Go on."""
        if state.is_restart and self._has_run:
            self._restart()
        self._has_run = True
        self._take_due_goal(state)
        self._take_answer()
        if self._ending is not None:
            return self._end(state, self._ending)
        match self.status.phase:
            case Phase.PLANNING:
                return self._go_on_planning(state, obstacles)
            case Phase.PLANNED:
                return self._execute(state)
            case Phase.MOVING:
                step = self._change_motion(state)
                self._look(state, obstacles)
                self._compare(state)
                return step
        return NOTHING

    # -- begin and end of a goal ------------------------------------------------------------------

    def _take_due_goal(self, state: Measurement) -> None:
        due = self._goals.active(state.stamp_ns)
        if due is None or due is self.goal:
            return
        self.goal = due
        self._attempts, self._lead = 0, self.parameters.lead
        self._may_execute = False
        self._ending = MotionStatus(Phase.PLANNING)

    def _end(self, state: Measurement, ending: MotionStatus) -> Step:
        """Let a goal end, or give way to another one, once the arm is at rest."""
        if self.status.phase is Phase.MOVING:
            return self._stop(state, ending)
        is_moving = state.stamp_ns < self._stop_end_ns or not is_at_rest(state.v)
        if self.status.phase is Phase.STOPPING and is_moving:
            return NOTHING
        self.status, self._ending = ending, None
        self._requested = self._answer = None
        self._number, self._since_ns = self._number + 1, state.stamp_ns
        return NOTHING

    def _stop(self, state: Measurement, ending: MotionStatus) -> Step:
        """Stop along the path; a motion that has not begun is replaced by none."""
        assert self.plan is not None
        t = self.plan.time(state.stamp_ns) + STOP_LEAD
        begin_ns = state.stamp_ns + round(STOP_LEAD * NANOSECONDS)
        points = behind_begin(points_of(stop(self._check, self.plan.motion, t)))
        self._stop_end_ns = begin_ns + round(float(points.times[-1]) * NANOSECONDS)
        self.status = MotionStatus(Phase.STOPPING, ending.reason)
        begins_later = t > 0.0 and self._next is None  # a command that begins at once replaces those that wait
        self._next = self._change = None
        return Step(command=(points, begin_ns if begins_later else 0))

    # -- planning ---------------------------------------------------------------------------------

    def _take_answer(self) -> None:
        """Take the planner's answer; one that is out of date is dropped."""
        answer = self._planner.poll() if self._is_busy else None
        if answer is not None:
            self._is_busy = False
        if isinstance(answer, MotionAnswer):
            self.seconds = answer.seconds
            self._answer = answer if answer.number == self._number else None
        elif isinstance(answer, WatchAnswer):
            self._heed(answer)
        elif self._is_busy and not self._planner.alive:
            self._is_busy = False

    def _heed(self, answer: WatchAnswer) -> None:
        """Keep what the planner has decided about the motion."""
        is_of_motion = answer.number == self._number and self.status.phase is Phase.MOVING
        if not is_of_motion or self._ending is not None:
            return
        if answer.action is Action.EXPOSED:
            self._ending = MotionStatus(Phase.PLANNING, REASONS[answer.action])
        elif answer.plan is not None:
            self._change = answer

    def _go_on_planning(self, state: Measurement, obstacles: Sequence[Obstacle]) -> Step:
        answer, requested = self._answer, self._requested
        self._answer = None
        if not self._planner.alive:
            self.status = MotionStatus(Phase.NO_PLAN, DIED)
        elif answer is None or requested is None:
            self._request(state, obstacles)
        elif answer.plan is None:
            self._fail(state, requested, answer.reason)
        else:
            return self._take_plan(state, replace(answer.plan, begin_ns=requested.begin_ns))
        return NOTHING

    def _request(self, state: Measurement, obstacles: Sequence[Obstacle]) -> None:
        """Request a plan, unless one is on its way, or the arm moves."""
        if self._is_busy or self.goal is None:
            return
        if not is_at_rest(state.v):
            self.status = MotionStatus(Phase.PLANNING, MOVES)
            return
        ahead = self._lead if are_moving(obstacles) else 0.0
        begin_ns = state.stamp_ns + round(ahead * NANOSECONDS)
        start = Waypoints(np.zeros(1), state.q[None])
        self._requested = MotionPlan(start, begin_ns, foretold(obstacles, ahead))
        self._number += 1
        goal = _destination(self._model, self.goal, state.q)
        self._planner.request(MotionRequest(self._number, state.q, goal, self._requested.obstacles, self._attempts))
        self._is_busy, self._attempts = True, self._attempts + 1
        self.status = MotionStatus(Phase.PLANNING, self.status.reason if self._attempts > 1 else "")

    def _fail(self, state: Measurement, requested: MotionPlan, reason: str) -> None:
        """Give the goal up, or try again where obstacles move and patience lasts."""
        waited = (state.stamp_ns - self._since_ns) / NANOSECONDS
        may_change = requested.has_moving_obstacles and waited < self.parameters.patience
        self._requested = None
        self.status = MotionStatus(Phase.PLANNING if may_change else Phase.NO_PLAN, reason)

    def _take_plan(self, state: Measurement, plan: MotionPlan) -> Step:
        """Take a plan that has come in time; it begins now where nothing moves."""
        self._requested = None
        if plan.has_moving_obstacles and plan.begin_ns <= state.stamp_ns:
            self._lead *= MORE_TIME
            self.status = MotionStatus(Phase.PLANNING, f"the plan came too late; the next one has {self._lead:.2g} s")
            return NOTHING
        if not plan.has_moving_obstacles:
            plan = replace(plan, begin_ns=state.stamp_ns)
        self.plan = plan
        if plan.duration == 0.0:
            self.status = MotionStatus(Phase.REACHED, "", 1.0)
            return Step(plan)
        if not (self.parameters.execute or self._may_execute):
            self.status = MotionStatus(Phase.PLANNED)
            return Step(plan)
        return self._start(plan)

    # -- moving -----------------------------------------------------------------------------------

    def _start(self, plan: MotionPlan) -> Step:
        self.plan, self.status, self._epoch_ns = plan, MotionStatus(Phase.MOVING), plan.begin_ns
        self._next, self._change, self._reason, self._leads_to_goal = None, None, "", True
        return Step(plan, (plan.points, plan.begin_ns if plan.has_moving_obstacles else 0))

    def _execute(self, state: Measurement) -> Step:
        """Move along the plan that has waited, once that is asked for."""
        plan = self.plan
        if not self._may_execute or plan is None:
            return NOTHING
        is_at_start = np.abs(self._error(plan.points.qs[0], state.q)).max() <= self.parameters.goal_tolerance
        if plan.has_moving_obstacles or not is_at_start:
            self.status, self._since_ns = MotionStatus(Phase.PLANNING), state.stamp_ns
            return NOTHING
        return self._start(replace(plan, begin_ns=state.stamp_ns))

    def _look(self, state: Measurement, obstacles: Sequence[Obstacle]) -> None:
        """Have the planner look ahead among the present obstacles, now and then."""
        assert self.plan is not None
        if not self._planner.alive:
            self._ending = self._ending or MotionStatus(Phase.NO_PLAN, DIED)
        t = (state.stamp_ns - self._epoch_ns) / NANOSECONDS
        waits = (state.stamp_ns - self._asked_ns) / NANOSECONDS if self._is_busy else 0.0
        if waits > self.parameters.answer_time:
            self._ending = self._ending or MotionStatus(
                Phase.PLANNING, f"the planner has not answered for {waits:.1f} s"
            )
        if self._is_busy or self._change is not None or t < 0.0 or state.stamp_ns < self._next_look_ns:
            return
        self._next_look_ns = state.stamp_ns + round(self.parameters.watch_period * NANOSECONDS)
        self._planner.request(WatchRequest(self._number, t, tuple(obstacles)))
        self._is_busy, self._asked_ns = True, state.stamp_ns

    def _change_motion(self, state: Measurement) -> Step:
        """Go over to the motion that the planner has decided on, at its time."""
        if self._next is not None and state.stamp_ns >= self._next.begin_ns:
            self.plan, self._next = self._next, None
        change, self._change = self._change, None
        if change is None or change.plan is None:
            return NOTHING
        begin_ns = self._epoch_ns + round(change.begin * NANOSECONDS)
        if state.stamp_ns - begin_ns > round(STOP_LEAD * NANOSECONDS):
            self._ending = MotionStatus(Phase.PLANNING, f"{REASONS[change.action]}, but too late")
            return NOTHING
        self._next, self._reason = replace(change.plan, begin_ns=begin_ns), REASONS[change.action]
        self._leads_to_goal = change.action is Action.PLANNED
        return Step(self._next, (behind_begin(change.plan.points), begin_ns))

    def _compare(self, state: Measurement) -> None:
        """Compare the arm with its plan."""
        plan, p = self.plan, self.parameters
        assert plan is not None
        t = plan.time(state.stamp_ns)
        errors = np.abs(self._error(plan.motion.sample(t).q_des, state.q))
        worst = int(errors.argmax())
        where = f"{self._model.joint_names[worst]} is {errors[worst]:.3f} away"
        if 0.0 < p.path_tolerance < errors[worst]:
            self._ending = MotionStatus(Phase.OFF_PATH, where)
        elif self._next is None and self._leads_to_goal and t >= plan.duration and errors[worst] <= p.goal_tolerance:
            self.status = MotionStatus(Phase.REACHED, "", 1.0)
        elif self._next is None and self._leads_to_goal and t > plan.duration + p.goal_time:
            self._ending = MotionStatus(Phase.MISSED, where)
        elif self._next is None and not self._leads_to_goal and t > plan.duration + p.patience:
            self._ending = MotionStatus(Phase.NO_PLAN, f"{self._reason}; since then there is no way")
        else:
            self.status = MotionStatus(Phase.MOVING, self._reason, float(np.clip(t / plan.duration, 0.0, 1.0)))

    def _error(self, q_des: Array, q: Array) -> Array:
        """Joint errors, shape (nq,); of continuous joints the short way [rad or m]."""
        e = q_des - q
        return np.where(self._is_continuous, wrap_angle(e), e)


def behind_begin(points: Waypoints) -> Waypoints:
    """Points a little behind the first one, to which the arm goes from where it is then, ahead or behind a little."""
    first = min(int(np.searchsorted(points.times, FIRST_POINT)), len(points.times) - 1)
    vs, as_ = (None if x is None else x[first:] for x in (points.vs, points.as_))
    return Waypoints(np.maximum(points.times[first:], FIRST_POINT), points.qs[first:], vs, as_)


def _destination(model: RobotModel, goal: PlannerGoal, q: Array) -> Pose | Array:
    """Pose of the end effector, or joint positions, of a goal; q is the posture, for the frame of a pose."""
    if isinstance(goal, Target):
        return model.pose(q, goal.frame) @ goal.X_FT
    return goal.destination.qs[-1] if isinstance(goal.destination, Waypoints) else goal.destination
