"""Plans of a scene, seed by seed, and whether each is what the scene asks for.

Plans are checked every millisecond by Pinocchio and coal, without what planners compute with; where these are not
installed, by the model that made them:

    v(t) = (q(t + h) - q(t)) / h        a(t) = (q(t + h) - 2 q(t) + q(t - h)) / h^2        h = 1 ms

from positions alone: speeds or accelerations that a plan claims do not count, and a jump of q or v shows in the ratios.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from arm_control.collision import Told, Validity
from arm_control.constraints import bounds_of_file
from arm_control.exceptions import InputError
from arm_control.kinematics import TWIST_ROWS, InverseKinematics, served_rows
from arm_control.maths import Array, Pose, rotation_vector
from arm_control.model import RobotModel
from arm_control.planning import (
    TIMED,
    PathLimits,
    Plan,
    PlannedMotion,
    RrtConnect,
    SearchParameters,
    SpaceTimeRrt,
    TaskConstrainedProblem,
    TaskParameters,
    TaskPath,
    TaskPlanner,
    TimeScaler,
    Travel,
    bounded_validity,
    fastest_motion,
    plan_to_pose,
    shorten,
)
from arm_control.simulation.plan_scene import PlanScene
from arm_control.simulation.scene import FAR

if TYPE_CHECKING:
    from arm_control.simulation.independent_arm import IndependentArm

LOG = logging.getLogger("arm_control.plans")
OWN = "Pinocchio and coal are not installed (pip install pin): plans are checked by the model that made them"
STEP = 1e-3
"""Time between two samples [s]."""
NEAR = 1e-6
"""Largest distance of the start and of a goal [rad, m]."""
REST = 0.002
"""Largest share of a speed limit at which a motion counts as at rest."""
WITHIN = 1.0 + 1e-6
"""Largest ratio, with rounding."""
SAMPLES = 400
"""Samples of a path, from which the search for the nearest place begins."""
NEWTON_STEPS = 3
"""To the nearest place of a path."""
MILLI = 1e3


TimedPath: TypeAlias = Plan | PlannedMotion
"""A motion in time."""


class OwnArm:
    """The model itself among obstacles that move as told, with the capsules around its shapes."""

    def __init__(self, model: RobotModel, obstacles: Sequence[Told]) -> None:
        self._model, self._validity = model, Validity(model)
        self._validity.place(obstacles)

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        """Torque of positions, velocities and accelerations of the joints, shape (n,) each [N m or N]."""
        return self._model.inverse_dynamics(q, v, a)

    def pose(self, q: Array) -> Pose:
        """Pose of the end effector at joint positions, shape (n,) [rad or m]."""
        return self._model.pose(q)

    def distances(self, q: Array, t: float) -> tuple[float, float]:
        """Smallest distance from obstacles at a time [s], and of links that must not touch [m]; negative within."""
        pairs = self._validity.pairs(q, t, FAR)
        smallest = [min((p.distance for p in pairs if p.is_self == is_self), default=FAR) for is_self in (False, True)]
        return smallest[0], smallest[1]


CheckingArm: TypeAlias = "OwnArm | IndependentArm"


def checking_arm(
    model: RobotModel, obstacles: Sequence[Told], link_pairs: Sequence[tuple[str, str]] = ()
) -> CheckingArm:
    """Return an arm for checks; one that does not check independently says so in the log.

    Parameters
    ----------
    link_pairs : sequence of tuple of str
        Names of links that must not touch each other.
    """
    if find_spec("pinocchio") is None or find_spec("coal") is None:
        LOG.warning(OWN)
        return OwnArm(model, obstacles)
    from arm_control.simulation.independent_arm import IndependentArm  # noqa: PLC0415  only with Pinocchio

    return IndependentArm(model, obstacles, link_pairs)


class Samples(NamedTuple):
    """What was measured of a plan, over time.

    Attributes
    ----------
    times : ndarray, shape (k,)
        [s].
    q, v, tau : ndarray, shape (k, n)
        Joint positions, velocities and torque [rad or m, s, N m or N]; torque is zero where the scene is kinematic.
    s : ndarray, shape (k,)
        Places on the task path.
    p : ndarray, shape (k, 3)
        Positions of the end effector [m].
    errors, angles : ndarray, shape (k,)
        Distance from the task path [m] and angle from its orientation [rad]; zero without one.
    clearances : ndarray, shape (k, 2)
        Distance from obstacles, and between links that must not touch [m].
    """

    times: Array
    q: Array
    v: Array
    tau: Array
    s: Array
    p: Array
    errors: Array
    angles: Array
    clearances: Array


class PlanCheck(NamedTuple):
    """What was found of a plan.

    Attributes
    ----------
    problems : tuple of str
        What the scene does not allow, a sentence each; empty for a valid plan.
    velocity_ratio, acceleration_ratio, torque_ratio : float
        Largest shares of the limits; that of torque is NaN where the scene is kinematic.
    mean_error, max_error : float
        Distance from the task path [m].
    max_angle : float
        Largest angle from its orientation [rad]; NaN where it has none.
    clearance, link_clearance : float
        Smallest distance from obstacles, and between links [m]; 10 m where there is nothing.
    limit_distance : float
        Smallest distance of a joint from its limits; negative beyond them [rad or m].
    """

    problems: tuple[str, ...]
    duration: float
    velocity_ratio: float
    acceleration_ratio: float
    torque_ratio: float
    mean_error: float
    max_error: float
    max_angle: float
    clearance: float
    link_clearance: float
    limit_distance: float
    samples: Samples

    @property
    def is_valid(self) -> bool:
        """Whether nothing was found against it."""
        return not self.problems


def check_plan(plan: TimedPath, scene: PlanScene, step: float = STEP, arm: CheckingArm | None = None) -> PlanCheck:
    """Check a plan against its scene.

    Parameters
    ----------
    step : float
        Time between samples [s].
    arm : CheckingArm, optional
        Of the scene; by default a new one, where all links may not touch each other that a Validity keeps apart.
    """
    model = scene.model
    arm = arm or checking_arm(model, scene.obstacles, Validity(model).link_pairs)
    x = _measure(plan, scene, arm, step)
    a = np.diff(x.v[:-1], axis=0) / x.times[1]
    clearance, link_clearance = x.clearances.min(axis=0).tolist()
    found = PlanCheck(
        (),
        float(plan.duration),
        float(np.abs(x.v / model.v_max).max()),
        float(np.abs(a / scene.a_max).max(initial=0.0)),
        float(np.abs(x.tau / model.tau_max).max()) if scene.kind == "dynamic" else np.nan,
        float(x.errors.mean()),
        float(x.errors.max()),
        float(x.angles.max()) if scene.task is not None and scene.task.orientation is not None else np.nan,
        clearance,
        link_clearance,
        float(np.minimum(x.q - model.q_min, model.q_max - x.q).min()),
        x,
    )
    return found._replace(problems=(*_problems(found, scene), *_wrong_ends(found, scene, arm)))


def _measure(plan: TimedPath, scene: PlanScene, arm: CheckingArm, step: float) -> Samples:
    """Sample a plan; the last velocity and the first and last torque are those beside them."""
    n = max(3, int(np.ceil(plan.duration / step)))
    times = np.linspace(0.0, plan.duration, n + 1)
    q, s = plan.at(times)
    v = np.diff(q, axis=0) / times[1]
    tau = np.zeros_like(q)
    if scene.kind == "dynamic":
        a, middle = np.diff(v, axis=0) / times[1], (v[1:] + v[:-1]) / 2
        tau[1:-1] = [arm.torque(*state) for state in zip(q[1:-1], middle, a, strict=True)]
        tau[0], tau[-1] = tau[1], tau[-2]
    poses = [arm.pose(state) for state in q]
    p, errors, angles = np.array([X.p for X in poses]), np.zeros(n + 1), np.zeros(n + 1)
    if scene.task is not None:
        near, errors = _nearest(scene.task, p, s)
        if scene.task.orientation is not None:
            angles = scene.task.orientation.angles(near, [X.R for X in poses])
    clearances = np.array([arm.distances(state, t) for state, t in zip(q, times.tolist(), strict=True)])
    return Samples(times, q, np.concatenate([v, v[-1:]]), tau, s, p, errors, angles, clearances)


def _nearest(task: TaskPath, p: Array, near: Array) -> tuple[Array, Array]:
    """Places on the path nearest to positions, from given ones on, and the distances [m], shape (k,) each."""
    for _ in range(NEWTON_STEPS):
        point = task.at(near)
        squared = np.einsum("ki,ki->k", point.y_s, point.y_s)
        along = np.einsum("ki,ki->k", point.y_s, p[:, task.numbers] - point.y) / np.where(squared > 0.0, squared, 1.0)
        near = np.clip(near + along, 0.0, 1.0)
    return near, np.linalg.norm(task.at(near).y - p[:, task.numbers], axis=1)


def nearest_distances(task: TaskPath, p: Array) -> Array:
    """Distances of positions, shape (k, 3) [m], from a task path, wherever it is nearest, shape (k,) [m].

    The search begins at the two nearest samples: where a closed path begins, one of them is its end.
    """
    s, y = np.linspace(0.0, 1.0, SAMPLES), p[:, task.numbers]
    samples = task.at(s).y
    nearest = np.array([np.argsort(np.square(samples - place).sum(axis=1))[:2] for place in y])
    return np.minimum(*(_nearest(task, p, s[k])[1] for k in nearest.T))


def _problems(found: PlanCheck, scene: PlanScene) -> Iterator[str]:
    """What is not allowed anywhere on the way."""
    x, names = found.samples, scene.model.joint_names
    if found.duration > scene.horizon * WITHIN:
        yield f"it takes {found.duration:.4g} s, the horizon is {scene.horizon:.4g} s"
    if not found.limit_distance >= -NEAR:
        j = int(np.minimum(x.q - scene.model.q_min, scene.model.q_max - x.q).min(axis=0).argmin())
        yield f"joint '{names[j]}' goes {-found.limit_distance:.3g} rad or m beyond its limits"
    if not found.velocity_ratio <= WITHIN:
        k, j = _largest(np.abs(x.v / scene.model.v_max))
        yield f"joint '{names[j]}' moves at {found.velocity_ratio:.4g} times its speed limit at {x.times[k]:.3f} s"
    if not found.acceleration_ratio <= WITHIN:
        yield f"a joint accelerates at {found.acceleration_ratio:.4g} times its limit"
    if scene.kind == "dynamic" and not found.torque_ratio <= WITHIN:
        k, j = _largest(np.abs(x.tau / scene.model.tau_max))
        yield f"joint '{names[j]}' needs {found.torque_ratio:.4g} times its torque limit at {x.times[k]:.3f} s"
    if not found.max_error <= scene.tolerance:
        limit = f"{MILLI * scene.tolerance:.4g} mm are allowed"
        yield f"the end effector is {MILLI * found.max_error:.4g} mm off the task path, {limit}"
    if scene.task is not None and scene.task.orientation is not None and not found.max_angle <= scene.angle_tolerance:
        t, limit = x.times[x.angles.argmax()], f"{scene.angle_tolerance:.4g} rad are allowed"
        yield f"the end effector is turned by {found.max_angle:.4g} rad from the task at {t:.3f} s, {limit}"
    for number, (distance, what) in enumerate(((found.clearance, "an obstacle"), (found.link_clearance, "itself"))):
        least = scene.margin if number == 0 else 0.0
        if not distance > least:
            t = x.times[x.clearances[:, number].argmin()]
            yield f"the arm is {MILLI * distance:.4g} mm from {what} at {t:.3f} s; needed: above {MILLI * least:.4g} mm"


def _wrong_ends(found: PlanCheck, scene: PlanScene, arm: CheckingArm) -> Iterator[str]:
    """What is wrong at the start and at the end."""
    x = found.samples
    if scene.start is not None and not np.abs(x.q[0] - scene.start).max() <= NEAR:
        yield f"it starts {np.abs(x.q[0] - scene.start).max():.3g} rad or m from the start"
    if scene.task is not None and not np.abs(x.s[[0, -1]] - [0.0, 1.0]).max() <= NEAR:
        yield f"it goes from {x.s[0]:.6g} to {x.s[-1]:.6g} on the task path, not from 0 to 1"
    if scene.goal is not None and not np.abs(x.q[-1] - scene.goal).max() <= NEAR:
        yield f"it ends {np.abs(x.q[-1] - scene.goal).max():.3g} rad or m from the goal"
    if scene.pose is not None:
        X = arm.pose(x.q[-1])
        away = float(np.linalg.norm(X.p - scene.pose.p))
        turned = float(np.linalg.norm(rotation_vector(scene.pose.R @ X.R.T))) if scene.has_orientation else 0.0
        if not away <= scene.tolerance or not turned <= scene.angle_tolerance:
            yield f"it ends {MILLI * away:.3g} mm and {turned:.3g} rad from the pose"
    if scene.rest:
        for name, v in (("starts", x.v), ("ends", x.v[-2::-1])):
            share = np.abs((1.5 * v[0] - 0.5 * v[1]) / scene.model.v_max).max()  # from the middles of two steps
            if not share <= REST:
                yield f"it {name} at {share:.3g} of a speed limit, not at rest"


def _largest(values: Array) -> tuple[int, int]:
    """Row and column of the largest value."""
    k, j = np.unravel_index(values.argmax(), values.shape)
    return int(k), int(j)


WARM_UP = 20
"""Rounds before time is measured."""


class PlanRun(NamedTuple):
    """Result of one seed.

    Attributes
    ----------
    plan : Plan
        Its effort counts all that the motion took.
    check : PlanCheck or None
        None where there is no plan.
    """

    seed: int
    plan: Plan
    motion: TimedPath | None
    check: PlanCheck | None

    @property
    def is_valid(self) -> bool:
        """Whether there is a plan, and nothing was found against it."""
        return self.check is not None and self.check.is_valid


class ScenePlanner:
    """Plans for one scene, within the constraints of a file if one is named.

    Raises
    ------
    InputError
        When the start is beyond the limits or not at the begin of the task path, or nothing plans such a scene.
    ArmControlError
        When the constraints cannot be read, or the arm cannot have them.
    """

    def __init__(self, scene: PlanScene, constraints: str = "") -> None:
        self.scene, self._bounds = scene, bounds_of_file(scene.model, constraints)
        self._validity = bounded_validity(scene.model, scene.margin, 0.0, self._bounds)
        self._validity.place(scene.obstacles)
        self._checker = checking_arm(scene.model, scene.obstacles, self._validity.link_pairs)
        self._tasks = None if scene.task is None else self._task_planner(scene.task)
        if self._tasks is None and scene.kind == "dynamic" and scene.is_moving:
            raise InputError(f"{scene.name}: torques are limited among obstacles that move along a task path only")

    def plan(self, seed: int) -> PlanRun:
        """Plan with the random numbers of a seed, and check the plan."""
        plan, motion = self._plan_path(seed) if self._tasks is None else self._plan_task(self._tasks, seed)
        check = None if motion is None else check_plan(motion, self.scene, arm=self._checker)
        return PlanRun(seed, plan, motion, check)

    @property
    def _v_max(self) -> Array:
        """Joint speeds at which no point is faster than constraints allow [rad/s or m/s]."""
        return self._bounds.share_with_tip * self.scene.model.v_max

    def _task_planner(self, task: TaskPath) -> TaskPlanner:
        """Return the planner, after some rounds of another one, which compile what is not in the cache."""
        scene = self.scene
        tau_max = scene.model.tau_max if scene.kind == "dynamic" else None
        problem = TaskConstrainedProblem(
            self._validity, task, scene.horizon, scene.start, self._v_max, tau_max, scene.acceleration_limits
        )
        first = TaskPlanner(problem, TaskParameters(rounds=WARM_UP))
        first.improve(first.plan(0), rounds=1)
        return TaskPlanner(problem)

    def _plan_task(self, planner: TaskPlanner, seed: int) -> tuple[Plan, TimedPath | None]:
        plan = planner.improve(planner.plan(seed), seed=seed)
        return plan, plan if plan.is_found else None

    def _plan_path(self, seed: int) -> tuple[Plan, TimedPath | None]:
        """Plan to joint positions or to a pose; in time where obstacles move."""
        begin, scene = time.perf_counter(), self.scene
        travel = Travel(self._v_max, scene.horizon)
        if scene.is_moving:
            plan = self._to_goal(SpaceTimeRrt(self._validity, travel, replace(TIMED, seed=seed)))
        else:
            plan = self._to_goal(RrtConnect(self._validity, SearchParameters(seed=seed)))
        motion = self._in_time(plan, travel, seed) if plan.is_found else None
        return replace(plan, effort=replace(plan.effort, seconds=time.perf_counter() - begin)), motion

    def _to_goal(self, planner: RrtConnect | SpaceTimeRrt) -> Plan:
        scene = self.scene
        if scene.start is None:
            raise InputError(f"{scene.name}: joint positions at the start are missing")
        if scene.pose is None:
            return planner.plan(scene.start, np.zeros((0, scene.model.nq)) if scene.goal is None else scene.goal)
        served = served_rows(scene.model).numbers
        rows = None if scene.has_orientation else " ".join(TWIST_ROWS[row] for row in served if row < 3)
        return plan_to_pose(planner, InverseKinematics(scene.model, rows), scene.start, scene.pose)

    def _in_time(self, plan: Plan, travel: Travel, seed: int) -> TimedPath:
        """Give a path its times: those it has, or as fast as the limits allow."""
        if self.scene.is_moving:
            return plan
        short = shorten(self._validity, plan, seed=seed)
        if self.scene.kind == "dynamic":
            model, bounds = self.scene.model, self._bounds
            limits = PathLimits.of(model, a_max=self.scene.acceleration_limits, tip_speed=bounds.tip_speed)
            limits = replace(limits, v_max=bounds.share * limits.v_max)
            return fastest_motion(TimeScaler(model, limits), self._validity, short)
        times = np.concatenate([[0.0], np.cumsum(travel.need(np.diff(short.path, axis=0)))])
        return replace(short, times=times)
