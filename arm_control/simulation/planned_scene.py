"""The motion of a scenario along the task path of a planning scene.

    plan:
      scene: lwr_circle_dynamic                    a file below config/plans with a task
      variant: ""                                  of that file; the first one by default

Arm, task path, limits and horizon are those of the scene. The arm starts where the simulator has it, and obstacles are
those of the scenario's world, which has the ones of the scene (:mod:`arm_control.simulation.scenario_world`). The plan
is a dynamic one, from rest to rest, for kinematic scenes too: speeds of a kinematic plan jump.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from arm_control.collision import Validity
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Mover
from arm_control.model import RobotModel
from arm_control.motion import JointTrajectory
from arm_control.planning import (
    TORQUE_SHARE,
    MotionPlannerParameters,
    NoMotion,
    TaskConstrainedProblem,
    TaskPath,
    TaskPlanner,
)
from arm_control.simulation.plan_scene import PlanFile, PlanScene


class SceneMotion(NamedTuple):
    """A motion along a task path.

    Attributes
    ----------
    trajectory : JointTrajectory
        From rest to rest.
    task : TaskPath
    """

    trajectory: JointTrajectory
    task: TaskPath


def plan_scene_motion(
    content: Mapping[str, Any],
    model: RobotModel,
    told: Sequence[Mover],
    q_start: Array,
    parameters: MotionPlannerParameters,
    where: str,
) -> SceneMotion:
    """Plan the motion of a scene.

    Parameters
    ----------
    content : mapping
        The entry ``plan``, with ``scene``.
    model : RobotModel
        The arm that moves.
    told : sequence of Mover
        Obstacles as they are told.
    q_start : ndarray, shape (n,)
        Joint positions at the start [rad or m].
    parameters : MotionPlannerParameters
        Margins, the share of the joint speeds, and the seed.
    where : str
        The scenario and the entry, for messages.

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
    validity = Validity(scene.model, margin=parameters.margin, link_margin=parameters.link_margin)
    validity.place(told)
    v_max, tau_max = parameters.speed * scene.model.v_max, TORQUE_SHARE * scene.model.tau_max
    problem = TaskConstrainedProblem(validity, task, scene.horizon, q_start, v_max=v_max, tau_max=tau_max)
    plan = TaskPlanner(problem).plan(parameters.seed)
    if plan.trajectory is None:
        raise NoMotion(plan.reason)
    return SceneMotion(plan.trajectory, task)


def _task(scene: PlanScene, model: RobotModel, where: str) -> TaskPath:
    """The task path of a scene that an arm can execute."""
    if scene.task is None:
        raise ParameterError(f"{where}: {scene.name} has no task: use goal or pose")
    if (scene.model.joint_names, scene.model.tip) != (model.joint_names, model.tip):
        raise ParameterError(f"{where}: {scene.name} is for another arm, which ends at '{scene.model.tip}'")
    return scene.task
