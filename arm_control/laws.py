"""Controllers as a simulation calls them: one function from a state to torque, made from a scenario's parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from arm_control.arm_choices import ArmChoices
from arm_control.controllers import CompiledOsc, JointParameters, JointSpaceController
from arm_control.description.urdf import read_source
from arm_control.exceptions import ParameterError
from arm_control.following import Follower, FollowingParameters
from arm_control.gate import GateParameters
from arm_control.model import RobotModel, Terms
from arm_control.planners.reach import ReachPlanner
from arm_control.planners.receding import PlanFollower, RecedingParameters
from arm_control.planners.worker import InlinePlanner
from arm_control.pose_following import PoseFollower, PoseMotion
from arm_control.reference import Target
from arm_control.resources import urdf_path
from arm_control.scenario import Scenario
from arm_control.spatial import Array, Pose
from arm_control.targets import load_trajectory
from arm_control.tuning import OscTuning, tuned
from arm_control.waypoints import Waypoints

NODE_ONLY = ("lock_step", "robot_description", "publish_effort_array", "telemetry_every", "disturbance_timeout")
"""Parameters of a controller's node that say nothing about the control."""


@dataclass(frozen=True)
class OscSimulation(OscTuning, GateParameters, ArmChoices):
    """Parameters of operational space control in a simulation."""


@dataclass(frozen=True)
class JointSimulation(JointParameters, FollowingParameters, GateParameters, ArmChoices):
    """Parameters of joint space control in a simulation."""


@dataclass(frozen=True)
class IlqrSimulation(RecedingParameters, GateParameters, ArmChoices):
    """Parameters of planned reaches in a simulation."""


LawParameters = OscSimulation | JointSimulation | IlqrSimulation


class Tick(NamedTuple):
    """What a law says in one state: the state, torque and what it is made of, and where the end effector should be."""

    state: Terms
    tau: Array
    terms: dict[str, Array]
    X_WT: Pose


Law = Callable[[int, Array, Array], Tick]
"""From the stamp [ns], positions and velocities of a state."""


def arm_and_parameters(scenario: Scenario) -> tuple[RobotModel, LawParameters]:
    """Return the arm of a scenario, and the parameters of its controller.

    Raises
    ------
    ParameterError
        When it has no controller, or a parameter is unknown or not allowed.
    """
    description = read_source(urdf_path(scenario.robot))[0]
    plain: dict[str, type[JointSimulation | IlqrSimulation]] = {"joint": JointSimulation, "ilqr": IlqrSimulation}
    for node in ("osc", *plain):
        if node in scenario.nodes:
            given = {name: value for name, value in scenario.nodes[node].items() if name not in NODE_ONLY}
            where = f"{scenario.name}: {node}"
            if node in plain:
                parameters = plain[node].from_mapping(given, where=where)
                return parameters.model(description), parameters
            model = tuned(OscSimulation, given, None, where).model(description)
            return model, tuned(OscSimulation, given, model, where)
    raise ParameterError(f"{scenario.name} has no controller: a node osc, joint or ilqr is needed")


def law_of(
    model: RobotModel, parameters: LawParameters, q0: Array, queue: list[Target | PoseMotion], trajectory: str
) -> Law:
    """Return a controller, at rest at q0, shape (nv,).

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : OscSimulation, JointSimulation or IlqrSimulation
        They say which controller.
    q0 : ndarray, shape (nv,)
        Where the arm is [rad or m].
    queue : list of Target or PoseMotion
        What the end effector is to do.
    trajectory : str
        Name of what the joints are to do; empty: nothing.
    """
    if isinstance(parameters, OscSimulation):
        return _osc_law(model, parameters, q0, queue)
    if isinstance(parameters, IlqrSimulation):
        return _ilqr_law(model, parameters, q0, queue)
    return _joint_law(model, parameters, q0, trajectory)


def _osc_law(model: RobotModel, parameters: OscSimulation, q0: Array, queue: list[Target | PoseMotion]) -> Law:
    osc = CompiledOsc(model, parameters.replace(posture=parameters.posture or tuple(q0.tolist())))
    follower = _follower(model, q0, queue)

    def law(stamp_ns: int, q: Array, v: Array) -> Tick:
        reference = follower.reference(stamp_ns, q)
        output = osc.tick(q, v, reference)
        return Tick(output.state, output.tau, output.terms, reference.X_WT)

    return law


def _ilqr_law(model: RobotModel, parameters: IlqrSimulation, q0: Array, queue: list[Target | PoseMotion]) -> Law:
    follower = _follower(model, q0, queue)
    plans = PlanFollower(model, parameters, InlinePlanner(ReachPlanner(model, parameters)), True)
    plans.let_go(q0)

    def law(stamp_ns: int, q: Array, v: Array) -> Tick:
        state, X_WT = model.evaluate(q, v), follower.reference(stamp_ns, q).X_WT
        torque = plans.tick(stamp_ns, state, follower.active, X_WT)
        terms = {"feedforward": torque.feedforward, "feedback": torque.feedback}
        return Tick(state, torque.tau, terms, X_WT)

    return law


def _follower(model: RobotModel, q0: Array, queue: list[Target | PoseMotion]) -> PoseFollower:
    follower = PoseFollower(model)
    follower.restart(q0)
    for order in queue:
        follower.queue.add(order)
    return follower


def _joint_law(model: RobotModel, parameters: JointSimulation, q0: Array, trajectory: str) -> Law:
    controller, follower = JointSpaceController(model, parameters), Follower(model, parameters, q0)
    if trajectory:
        joints, points = load_trajectory(trajectory)
        follower.follow(Waypoints.checked(model, joints, points.times.tolist(), points.qs, points.vs, points.as_), 0)

    def law(stamp_ns: int, q: Array, v: Array) -> Tick:
        state, reference = model.evaluate(q, v), follower.tick(stamp_ns, q)
        output = controller.tick(state, reference)
        return Tick(state, output.tau, output.terms, model.pose(reference.q_des))

    return law
