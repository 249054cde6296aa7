"""The motion that a scenario asks for: planned before the run, and watched during it.

    goal: [0.8, -1.2, 1.5, -1.9, -1.57, 0.0]       joint positions [rad or m]; or a pose of the end effector:
    pose: {position: [0.4, 0.3, 0.4], quat_xyzw: [1.0, 0.0, 0.0, 0.0]}
    task: {line: {...}}                            or a task path
    margin: 0.02                                   [m]
    plan:
      scene: lwr_circle_dynamic                    or the task of a scene below config/plans
      variant: ""                                  of that file; the first one by default
      speed: 0.9                                   and other parameters of the planner
      watch: true                                  obstacles that leave what is told are planned around, or stopped for

The obstacles are those of the scenario's world, as they are told: a change of their motion is not known to the plan.

Of a scene arm, task path, limits and horizon count. The arm starts where the simulator has it, and the scenario's world
has the obstacles of the scene. The plan is a dynamic one, from rest to
rest, for kinematic scenes too: speeds of a kinematic plan jump. With ``improvements`` it is made shorter in so many
rounds, whatever time they take: it is the same on each machine. Its torque then has steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arm_control.constraints import bounds_of_file
from arm_control.control import Controller
from arm_control.core import NANOSECONDS, group, parameter
from arm_control.exceptions import ParameterError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Mover, Obstacle, Pose
from arm_control.model import RobotModel
from arm_control.motion import JointGoal, JointReference, JointTrajectory, Waypoints
from arm_control.planning import (
    TIMED,
    Action,
    MonitorParameters,
    MotionMonitor,
    MotionPlanner,
    MotionPlannerParameters,
    MotionRequest,
    NoMotion,
    PlannerInTime,
    TaskConstrainedProblem,
    TaskPath,
    TaskPlanner,
    bounded_validity,
    motion_limits,
    points_of,
    trajectory_of,
)
from arm_control.simulation.plan_scene import PlanFile, PlanScene
from arm_control.simulation.scenario import Scenario
from arm_control.simulation.scene import World, numbers, pose_in

LOOK = 0.01
"""Time between two looks at the obstacles [s]."""
GOALS = ("goal", "pose", "scene")
"""Entries of which one is needed."""
OWN = (*GOALS, "variant")
"""Entries that are not parameters."""


@dataclass(frozen=True)
class PlanParameters(MotionPlannerParameters):
    """How a scenario's motion is planned and watched."""

    hold: float = parameter(
        0.0,
        "time from the begin up to which the rest at the goal must be free, where obstacles move",
        unit="s",
        lower=0.0,
    )
    improvements: int = parameter(
        0, "rounds in which a motion along a task path is made shorter, such as 60; 0: the first one", lower=0
    )
    watch: bool = parameter(False, "whether the motion is changed where obstacles leave what was told")
    monitor: MonitorParameters = group(MonitorParameters, "monitor.")


class PlannedScenarioMotion:
    """The motion of one scenario, from the joint positions ``q_start``, shape (nq,) [rad or m].

    Attributes
    ----------
    counts : dict of str to int
        How often the motion was changed in the run, by the name of the :class:`Action`.

    Raises
    ------
    ParameterError
        When the entry has an unknown key or a value that is not allowed.
    NoMotion
        When there is no motion; the message says why.
    """

    def __init__(self, model: RobotModel, content: Mapping[str, Any], world: World, q_start: Array, where: str) -> None:
        values = {name: value for name, value in content.items() if name not in OWN}
        self._parameters = p = PlanParameters.from_mapping(values, where=where)
        self._model, self._told, self._start = model, world.told, q_start
        self._monitor: MotionMonitor | None = None
        self.counts: dict[str, int] = {}
        self.task: TaskPath | None = None
        if _target(content, where) == "scene":
            if p.watch:
                raise ParameterError(f"{where}: watch: a motion along a task path is not changed on its way")
            trajectory, self.task = plan_scene_motion(content, model, world.told, q_start, p, where)
            points = points_of(trajectory)  # where accelerations of an improved motion jump: no one is right
            self.points = replace(points, as_=None) if p.improvements else points
            return
        goal = _goal(content, model, where)
        self._moves = any(np.any(mover.obstacle.V_WO) or mover.span.begin > 0.0 for mover in world.told) or p.watch
        if self._moves:
            self._planner = self._in_time()
            self._goals = _postures(model, goal, q_start)
            self.points = points_of(self._trajectory())
        else:
            request = MotionRequest(0, q_start, goal, tuple(mover.obstacle for mover in world.told))
            self.points = MotionPlanner(p, model).plan(request).points

    def _in_time(self) -> PlannerInTime:
        p, model = self._parameters, self._model
        bounds = bounds_of_file(model, p.constraints)
        search = replace(TIMED, rounds=p.rounds, seed=p.seed)
        validity = bounded_validity(model, p.margin, p.link_margin, bounds)
        return PlannerInTime(validity, motion_limits(model, p, bounds, in_time=True), p.horizon, search)

    def _trajectory(self) -> JointTrajectory:
        start = JointReference.at_rest(self._start)
        timed = self._planner.plan(start, self._goals, self._told, self._parameters.hold)
        if timed.trajectory is None:
            raise NoMotion(timed.reason)
        return timed.trajectory

    @property
    def history(self) -> str:
        """What became of the motion in the last run, in words."""
        changes = ", ".join(f"{name} {count} times" for name, count in self.counts.items())
        return f"planned for {self.points.times[-1]:.2f} s{', ' if changes else ''}{changes}"

    def goal(self) -> JointGoal:
        """Return the goal of the controller: the motion from time 0 on."""
        return JointGoal(0, Waypoints.checked(self._model, self._model.joint_names, *vars(self.points).values()))

    def begin(self) -> None:
        """Begin to watch; at the start of each run."""
        self.counts = {}
        self._next_look = 0.0
        if self._parameters.watch:
            self._monitor = MotionMonitor(self._planner, self._goals, self._parameters.monitor)
            self._monitor.start(trajectory_of(self.points), 0.0, self._told)

    def look(self, t: float, obstacles: Sequence[Obstacle], controller: Controller) -> None:
        """Look at the obstacles, if it is time, and give the controller another motion where one is needed."""
        if self._monitor is None or t < self._next_look:
            return
        self._next_look = t + 0.999 * LOOK
        decision = self._monitor.look(t, obstacles)
        if decision.action is not Action.KEPT:
            self.counts[decision.action.value] = self.counts.get(decision.action.value, 0) + 1
        if decision.trajectory is not None:
            stamp_ns = round(decision.begin * NANOSECONDS)
            controller.add(JointGoal(stamp_ns, points_of(decision.trajectory), is_immediate=True))


def planned_motion_of(scenario: Scenario, model: RobotModel) -> PlannedScenarioMotion | None:
    """Return the planned motion of a scenario for an arm; None where it has none.

    An ArmControlError when there is no motion, or the entry is not valid.
    """
    if not scenario.plan:
        return None
    q_start = np.array(scenario.nodes["simulator"]["initial_position"], dtype=float)
    return PlannedScenarioMotion(model, scenario.plan, scenario.world, q_start, f"{scenario.name}: plan")


def _target(content: Mapping[str, Any], where: str) -> str:
    """Name of the entry that says where to go."""
    targets = [name for name in GOALS if name in content]
    if len(targets) != 1:
        raise ParameterError(f"{where}: one of {', '.join(GOALS)} is needed")
    if "variant" in content and targets != ["scene"]:
        raise ParameterError(f"{where}: variant: of a scene only")
    return targets[0]


def _goal(content: Mapping[str, Any], model: RobotModel, where: str) -> Pose | Array:
    """The goal of an entry: a pose, or joint positions."""
    if "goal" in content:
        return numbers(content["goal"], model.nq, f"{where}: goal")
    X, has_orientation = pose_in(content["pose"], f"{where}: pose")
    if not has_orientation:
        raise ParameterError(f"{where}: pose: 'quat_xyzw' is missing")
    return X


def _postures(model: RobotModel, goal: Pose | Array, q_start: Array) -> Array:
    """Joint positions of a goal, shape (k, n); of a pose those that are found from the start."""
    if not isinstance(goal, Pose):
        return goal[None]
    found = InverseKinematics(model).solve(goal, q_start)
    if not found.converged:
        raise NoMotion(f"the goal cannot be reached: {found.why}")
    return found.q[None]


def plan_scene_motion(
    content: Mapping[str, Any],
    model: RobotModel,
    told: Sequence[Mover],
    q_start: Array,
    parameters: PlanParameters,
    where: str,
) -> tuple[JointTrajectory, TaskPath]:
    """Plan the motion of a scene, from rest to rest along its task path.

    Parameters
    ----------
    content : mapping
        The entry ``plan``, with ``scene``.
    q_start : ndarray, shape (n,)
        Joint positions at the start [rad or m].
    parameters : PlanParameters
        Margins, the share of the joint speeds, the seed, and the rounds of improvement.

    Raises
    ------
    ParameterError
        When there is no such scene, or it has another arm, no task.
    InputError
        When the start is not at the begin of the task path.
    NoMotion
        When there is no motion; the message says why.
    """
    scene = PlanFile.load(str(content["scene"])).scene(str(content.get("variant", "")))
    task = _task(scene, model, where)
    bounds = bounds_of_file(scene.model, parameters.constraints)
    validity = bounded_validity(scene.model, parameters.margin, parameters.link_margin, bounds)
    validity.place(told)
    limits = motion_limits(scene.model, parameters, bounds, in_time=True)
    v_max, tau_max = limits.v_max, limits.tau_max
    problem = TaskConstrainedProblem(validity, task, scene.horizon, q_start, v_max, tau_max, scene.acceleration_limits)
    planner = TaskPlanner(problem)
    plan = planner.plan(parameters.seed)
    if parameters.improvements:
        plan = planner.improve(plan, parameters.improvements, parameters.seed)
    if plan.trajectory is None:
        raise NoMotion(plan.reason)
    return plan.trajectory, task


def _task(scene: PlanScene, model: RobotModel, where: str) -> TaskPath:
    """The task path of a scene that an arm can execute."""
    if scene.task is None:
        raise ParameterError(f"{where}: {scene.name} has no task: use goal or pose")
    if (scene.model.joint_names, scene.model.tip) != (model.joint_names, model.tip):
        raise ParameterError(f"{where}: {scene.name} is for another arm, which ends at '{scene.model.tip}'")
    return scene.task


FOLLOWED = ("osc", "joint")
"""Controllers whose goals the node ``planner`` takes."""
WAYS = ("trajectory", "motion")
"""Parameters of the node ``targets`` that are whole ways."""


def planned(scenario: Scenario, variant: str = "") -> Scenario:
    """Return a variant, or the first, whose goals the node ``planner`` takes, and whose controller is ``joint``.

    A ParameterError when its controller has other goals, or its goals are whole ways.
    """
    chosen = scenario.variant(variant)
    controller = chosen.controller
    if controller not in FOLLOWED:
        raise ParameterError(
            f"{scenario.name} has {f'the controller {controller}' if controller else 'no controller'}, which follows no"
            f" plans; allowed: {', '.join(FOLLOWED)}"
        )
    if any(way in chosen.nodes.get("targets", {}) for way in WAYS):
        raise ParameterError(f"the targets of {scenario.name} are a way of their own, which cannot be planned for")
    own = chosen.nodes[controller] if controller == "joint" else {"publish_effort_array": False}
    joint = {**own, **chosen.arm()}
    nodes: dict[str, dict[str, Any]] = {}
    for name, values in chosen.nodes.items():
        nodes |= {"joint": joint, "planner": chosen.nodes.get("planner", {})} if name == controller else {name: values}
    nodes.pop("obstacle_avoidance", None)
    return replace(chosen, nodes=nodes, variants={})
