"""A planner of motions, from a posture at rest to joint positions or a pose of the end effector, on request.

Where all obstacles stand still, a path is searched, shortened, rounded and made as fast as the limits allow. Where one
of them moves, a motion among the foretold ones is searched in space-time and rounded
(:mod:`~arm_control.planning.planner_in_time`). The points of the answer, as a controller of joints follows
them, are proved free of contact.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from threading import RLock
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.collision import Validity
from arm_control.constraints import PlanBounds, bounds_of_file
from arm_control.core import Parameters, exclusive, parameter
from arm_control.exceptions import ArmControlError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.model import RobotModel, drawn_range
from arm_control.motion import JointReference, Waypoints
from arm_control.planning.blended_path import PlannedMotion, fastest_motion
from arm_control.planning.connect import RrtConnect
from arm_control.planning.joint_space import SearchParameters
from arm_control.planning.motion_monitor import Action, MonitorParameters, MotionMonitor
from arm_control.planning.plan_record import MotionPlan, are_moving, foretold, trajectory_of
from arm_control.planning.planner_in_time import PlannerInTime, points_of
from arm_control.planning.plans import Plan, SearchOutcome, no_path
from arm_control.planning.shortcuts import shorten
from arm_control.planning.space_time import TIMED, SpaceTimeRrt
from arm_control.planning.time_scaling import PathLimits, TimeScaler

STARTS = 32
"""Random starts from which postures of an arm with more joints than rows are searched."""


def goals_of_pose(inverse: InverseKinematics, start: npt.ArrayLike, X_WT: Pose, seed: int = 0) -> tuple[Array, str]:
    """Return postures of the arm at a pose of the end effector, or why there are none.

    Joint positions of shape (k, n), the nearest to the start (n,) first [rad or m]; and a sentence where k is 0, else
    empty. An arm with more joints than rows comes to the pose from random postures, of the seed.

    An InputError when the pose or the start is not valid.
    """
    nearest = inverse.solve(X_WT, start)
    if not nearest.converged:
        return np.zeros((0, len(nearest.q))), f"the goal cannot be reached: {nearest.why}"
    if len(inverse.rows.numbers) == len(nearest.q):
        return np.concatenate([nearest.q[None], inverse.all(X_WT, start).q]), ""
    low, high = drawn_range(inverse.q_min, inverse.q_max)
    starts = np.random.default_rng(seed).uniform(low, high, (STARTS, len(low)))
    batch = inverse.solve_batch([X_WT] * STARTS, starts)
    return np.concatenate([nearest.q[None], batch.q[batch.converged]]), ""


def plan_to_pose(
    planner: RrtConnect | SpaceTimeRrt, inverse: InverseKinematics, start: npt.ArrayLike, X_WT: Pose
) -> Plan:
    """Plan a path from joint positions (n,) to a pose of the end effector, to whichever posture is reached first.

    An InputError when the pose or the start is not valid.
    """
    goals, reason = goals_of_pose(inverse, start, X_WT, planner.parameters.seed)
    if reason:
        return no_path(SearchOutcome.UNREACHABLE, reason, goals.shape[1])
    return planner.plan(start, goals)


PERIOD = 0.05
"""Time between two points of a motion [s]."""
TORQUE_SHARE = 0.9
"""Share of the torque limits that a motion takes; feedback needs the rest."""
TIP_SHARE = 0.95
"""Share of a limit of the hand's speed that a path takes; between the points of a motion it is a little faster."""
STEP, BALL = 0.2, Obstacle(Sphere(0.1), Pose.at([100.0, 0.0, 0.0]))
"""Motion of the joints [rad or m] and obstacle for which a planner compiles beforehand."""
SHARES = (1.0, 0.5, 0.2, 0.1)
"""Shares of the margins: the largest at which the start is free is kept, the next one while the motion goes on, since
obstacles are not measured exactly."""
THERE = 1e-3
"""Distance of each joint from a goal at which the arm is there [rad or m]."""


@dataclass(frozen=True)
class MotionPlannerParameters(Parameters):
    """Distances, limits and effort of planned motions."""

    margin: float = parameter(0.02, "distance that is kept from obstacles", unit="m", lower=0.0, upper=1.0)
    link_margin: float = parameter(0.0, "distance that links keep from each other", unit="m", lower=0.0, upper=1.0)
    speed: float = parameter(0.5, "speed of the joints, as a share of their limits", lower=0.01, upper=1.0)
    acceleration: float = parameter(4.0, "acceleration of the joints", unit="rad/s^2", lower=1e-3)
    horizon: float = parameter(20.0, "latest arrival where obstacles move", unit="s", lower=0.1, upper=1000.0)
    look_ahead: float = parameter(
        2.0, "time for which a motion that goes on must stay free", unit="s", lower=0.1, upper=60.0
    )
    planning_time: float = parameter(
        0.3, "time until another motion takes over where something comes into the way", unit="s", lower=0.0, upper=10.0
    )
    reaction_time: float = parameter(
        0.1, "time until a stop begins where there is no time for another motion", unit="s", lower=0.0, upper=10.0
    )
    constraints: str = parameter(
        "", "file with constraints that motions are planned within, or a name in config/constraints; empty: none"
    )
    rounds: int = parameter(500, "rounds of random samples before the search is given up", lower=1)
    seed: int = parameter(0, "of the random samples; equal seeds, equal plans", lower=0)


def bounded_validity(
    model: RobotModel, margin: float, link_margin: float, bounds: PlanBounds, like: Validity | None = None
) -> Validity:
    """Return what checks motions within bounds, with margins beyond theirs [m].

    A distance that is kept by constraints is one of capsules, as in a tick, not of the meshes in them.
    """
    shape, allowed = (None, None) if like is None else (like.shape, like.allowed)
    distances = bounds.distance + margin, bounds.links + link_margin
    return Validity(model, shape, allowed, *distances, bounds.kept, margin, has_meshes=not bounds.distance)


def motion_limits(
    model: RobotModel, p: MotionPlannerParameters, bounds: PlanBounds, in_time: bool = False
) -> PathLimits:
    """Return the limits of motions within bounds: of paths, or of motions in time, in which joints limit the hand."""
    tau_max, a_max = TORQUE_SHARE * model.tau_max, np.full(model.nv, p.acceleration)
    if in_time:
        return PathLimits(p.speed * bounds.share_with_tip * model.v_max, tau_max, a_max)
    return PathLimits(p.speed * bounds.share * model.v_max, tau_max, a_max, TIP_SHARE * bounds.tip_speed)


class MotionRequest(NamedTuple):
    """Request for a motion.

    Attributes
    ----------
    number : int
        Of the request; the answer has it.
    start : ndarray, shape (nq,)
        Joint positions, at rest [rad or m].
    goal : Pose or ndarray, shape (nq,)
        Pose of the end effector, or joint positions [rad or m].
    obstacles : tuple of Obstacle
        Obstacles when the motion begins; each goes on with its twist.
    attempt : int
        Number of plans for this goal before this one: other samples each time.
    """

    number: int
    start: Array
    goal: Pose | Array
    obstacles: tuple[Obstacle, ...]
    attempt: int = 0


class MotionAnswer(NamedTuple):
    """A motion, or the reason why there is none.

    Attributes
    ----------
    reason : str
        Why there is none, in one sentence; empty where there is one.
    seconds : float
        Time that it took [s].
    """

    number: int
    plan: MotionPlan | None
    reason: str
    seconds: float


class WatchRequest(NamedTuple):
    """Request to look at the motion that goes on.

    Attributes
    ----------
    t : float
        Time since its begin [s].
    obstacles : tuple of Obstacle
        Obstacles now; each goes on with its twist.
    """

    number: int
    t: float
    obstacles: tuple[Obstacle, ...]


class WatchAnswer(NamedTuple):
    """What a look at the motion that goes on brings about.

    Attributes
    ----------
    plan : MotionPlan or None
        Motion from a moment on; None: as before.
    begin : float
        That moment, as time since the begin of the first motion [s].
    contact : float
        The same of the first contact; infinite where none is foreseen [s].
    """

    number: int
    action: Action
    plan: MotionPlan | None = None
    begin: float = 0.0
    contact: float = math.inf


PlannerRequest: TypeAlias = MotionRequest | WatchRequest
PlannerAnswer: TypeAlias = MotionAnswer | WatchAnswer


class MotionPlanner:
    """Plans motions of one arm, and looks at the last one while it goes on.

    Attributes
    ----------
    lock : RLock
        Held while a request is answered, and while a plan is made.

    Raises
    ------
    ArmControlError
        When the arm has no shape to check for contact, or cannot have the constraints.
    """

    alive = True

    def __init__(self, parameters: MotionPlannerParameters, model: RobotModel) -> None:
        p, self.lock = parameters, RLock()
        self._parameters = p
        bounds, whole = bounds_of_file(model, p.constraints), None
        self._validities: list[Validity] = []
        for share in SHARES:
            whole = bounded_validity(model, share * p.margin, share * p.link_margin, bounds, whole)
            self._validities.append(whole)
        self._scaler = TimeScaler(model, motion_limits(model, p, bounds))
        limits = motion_limits(model, p, bounds, in_time=True)
        self._in_time = [PlannerInTime(validity, limits, p.horizon) for validity in self._validities]
        self._inverse = InverseKinematics(model)
        self._monitor: MotionMonitor | None = None
        self._number, self._level = -1, 0
        self._answer: PlannerAnswer | None = None

    @exclusive
    def request(self, request: PlannerRequest) -> None:
        """See :class:`~arm_control.optimal.receding.Server`."""
        self._answer = self._look(request) if isinstance(request, WatchRequest) else self._respond(request)

    def _respond(self, request: MotionRequest) -> MotionAnswer:
        """Plan, whatever happens."""
        begin = time.perf_counter()
        plan, reason, self._monitor = None, "", None
        try:
            goals = self._goals(request)
            planned = self._plan(request, goals)
            self._monitor, plan = self._watch(planned, goals), planned
        except ArmControlError as error:
            reason = str(error)
        except Exception as error:  # any error: if the planner's process ended, no goal would be planned any more
            reason = f"{type(error).__name__}: {error}"
        self._number = request.number
        return MotionAnswer(request.number, plan, reason, time.perf_counter() - begin)

    def _look(self, request: WatchRequest) -> WatchAnswer:
        """Look at the motion that goes on, and change it where something comes into the way."""
        if self._monitor is None or self._number != request.number:
            return WatchAnswer(request.number, Action.KEPT)
        try:
            decision = self._monitor.look(max(request.t, 0.0), request.obstacles)
        except Exception:  # any error: the arm stops, and the next plan says what is wrong
            return WatchAnswer(request.number, Action.EXPOSED, contact=request.t)
        if decision.trajectory is None:
            return WatchAnswer(request.number, decision.action, contact=decision.contact)
        obstacles = foretold(request.obstacles, decision.begin - request.t)
        plan = MotionPlan(points_of(decision.trajectory), 0, obstacles)
        return WatchAnswer(request.number, decision.action, plan, decision.begin, decision.contact)

    def _watch(self, plan: MotionPlan, goals: Array) -> MotionMonitor:
        """A monitor of a motion, with the next smaller margin: obstacles are not measured exactly."""
        p = self._parameters
        parameters = MonitorParameters(p.planning_time, p.reaction_time, p.look_ahead)
        monitor = MotionMonitor(self._in_time[self._level + 1], goals, parameters)
        monitor.start(plan.motion, 0.0, plan.obstacles)
        return monitor

    def poll(self, wait: bool = False) -> PlannerAnswer | None:
        """See :class:`~arm_control.optimal.receding.Server`."""
        answer, self._answer = self._answer, None
        return answer

    @exclusive
    def plan(self, request: MotionRequest) -> MotionPlan:
        """Plan a motion; an ArmControlError, whose sentence says why, when there is none."""
        return self._plan(request, self._goals(request))

    def _plan(self, request: MotionRequest, goals: Array) -> MotionPlan:
        self._level = self._level_of(request)
        if are_moving(request.obstacles):
            return self._plan_in_time(request, goals)
        return self._plan_path(request, goals)

    def _goals(self, request: MotionRequest) -> Array:
        """Joint positions of the goal, shape (k, n)."""
        if not isinstance(request.goal, Pose):
            return np.atleast_2d(request.goal)
        goals, reason = goals_of_pose(self._inverse, request.start, request.goal, request.attempt)
        if reason:
            raise NoMotion(reason)
        return goals

    def _level_of(self, request: MotionRequest) -> int:
        """Number of the largest margins at which the start is free; 0 where it is in contact.

        An arm that was stopped near an obstacle gets away from it.
        """
        for level, validity in enumerate(self._validities[:-1]):
            validity.place(request.obstacles)
            start = np.atleast_2d(request.start)
            if validity.free_states(start)[0] or validity.free_by_shapes(start, start)[0]:
                return level
        return 0

    def _plan_path(self, request: MotionRequest, goals: Array) -> MotionPlan:
        """Plan among obstacles that stand still: as fast as the limits allow."""
        p, validity = self._parameters, self._validities[self._level]
        validity.place(request.obstacles)
        search = RrtConnect(validity, SearchParameters(rounds=p.rounds, seed=p.seed + request.attempt))
        plan = search.plan(request.start, goals)
        if not plan.is_found:
            raise NoMotion(plan.reason)
        tree = search.edges
        if np.abs(plan.path - plan.path[0]).max() < THERE:
            return MotionPlan(Waypoints(np.zeros(1), plan.path[:1]), 0, request.obstacles, tree)
        plan = shorten(validity, plan, seed=request.attempt)
        points = sampled(fastest_motion(self._scaler, validity, plan))
        _prove(validity, points)
        return MotionPlan(points, 0, request.obstacles, tree)

    def _plan_in_time(self, request: MotionRequest, goals: Array) -> MotionPlan:
        """Plan among obstacles that move."""
        p, planner = self._parameters, self._in_time[self._level]
        planner.parameters = replace(TIMED, rounds=p.rounds, seed=p.seed + request.attempt)
        timed = planner.plan(JointReference.at_rest(request.start), goals, request.obstacles)
        if timed.trajectory is None:
            raise NoMotion(timed.reason)
        return MotionPlan(points_of(timed.trajectory), 0, request.obstacles)


def _prove(validity: Validity, points: Waypoints) -> None:
    """Refuse points whose motion, as a controller interpolates it, is not proved free."""
    contact = validity.first_contact_of(trajectory_of(points))
    if contact is not None:
        if broken := validity.broken(contact.q):
            raise NoMotion(f"the motion cannot be proved to keep its constraints after {contact.t:.2f} s: {broken[0]}")
        what = f"'{contact.pairs[0].link}' and {contact.pairs[0].other}" if contact.pairs else "the arm"
        raise NoMotion(f"the motion cannot be proved free of contact after {contact.t:.2f} s: {what}")


def prepared_planner(parameters: MotionPlannerParameters, model: RobotModel) -> MotionPlanner:
    """Return a planner that has compiled what requests among balls need; for other shapes the first one compiles."""
    planner = MotionPlanner(parameters, model)
    q = np.clip(np.zeros(model.nq), model.q_min, model.q_max)
    there = np.clip(q + STEP, model.q_min, model.q_max)
    planner.request(MotionRequest(0, q, model.pose(q), ()))
    for obstacles in ((), (BALL,)):
        planner.request(MotionRequest(0, q, there, obstacles))
        planner.request(WatchRequest(0, 0.0, obstacles))
    planner.poll()
    return planner


class NoMotion(ArmControlError):
    """No motion has been found; the message says why."""


def sampled(motion: PlannedMotion) -> Waypoints:
    """Points of a motion with their velocities, from its start to its end, at rest."""
    n = max(2, math.ceil(motion.duration / PERIOD) + 1)
    times = np.linspace(0.0, motion.duration, n)
    references = [motion.sample(t) for t in times.tolist()]
    qs, vs = np.array([r.q_des for r in references]), np.array([r.v_des for r in references])
    vs[[0, -1]] = 0.0
    return Waypoints(times, qs, vs)
