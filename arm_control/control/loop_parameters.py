"""Parameters of the control loop of each controller, and the loop that simulation and replay make of them."""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.control.adaptive_torque import AdaptationParameters
from arm_control.control.avoidance.avoidance_law import Avoidance
from arm_control.control.compiled_step import step_limits
from arm_control.control.controllers import Controller, OscController
from arm_control.control.disturbance_observer import ObserverParameters
from arm_control.control.ilqr_controller import IlqrController
from arm_control.control.joint_controller import JointController, JointControlParameters
from arm_control.control.loop import ControlLoop
from arm_control.control.osc.tuning import OscTuning
from arm_control.control.primitive_controllers import (
    PrimitiveControlParameters,
    load_primitive,
    primitive_controller,
)
from arm_control.core.parameters import Parameters, group
from arm_control.gate.effort_gate import GateParameters
from arm_control.model import RobotModel
from arm_control.model.arm_parameters import ArmParameters
from arm_control.motion.attractor_follower import AttractorFollower
from arm_control.neural.attractor_axes import AttractorParameters
from arm_control.planning.reach import ReachPlanner
from arm_control.planning.receding import RecedingParameters
from arm_control.planning.worker import InlinePlanner


@dataclass(frozen=True)
class LoopParameters(Parameters):
    """What every control loop has beside its controller."""

    observer: ObserverParameters = group(ObserverParameters)
    adaptation: AdaptationParameters = group(AdaptationParameters)
    gate: GateParameters = group(GateParameters)
    arm: ArmParameters = group(ArmParameters)


@dataclass(frozen=True)
class OscLoopParameters(LoopParameters):
    """Operational space control behind a gate."""

    control: OscTuning = group(OscTuning)


@dataclass(frozen=True)
class AttractorLoopParameters(OscLoopParameters):
    """Operational space control behind a gate, its reference from a point attractor."""

    attractor: AttractorParameters = group(AttractorParameters, "attractor.")


@dataclass(frozen=True)
class JointLoopParameters(LoopParameters):
    """Joint space control behind a gate."""

    control: JointControlParameters = group(JointControlParameters)


@dataclass(frozen=True)
class IlqrLoopParameters(LoopParameters):
    """Planned reaches behind a gate."""

    control: RecedingParameters = group(RecedingParameters)


@dataclass(frozen=True)
class PrimitiveLoopParameters(LoopParameters):
    """A movement primitive behind a gate."""

    control: PrimitiveControlParameters = group(PrimitiveControlParameters)


def control_loop(model: RobotModel, parameters: LoopParameters, *, waits_for_commands: bool = True) -> ControlLoop:
    """Return the loop that simulation and replay run.

    Plans are made in this process, and waited for.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : LoopParameters
        Their class says which controller.
    waits_for_commands : bool
        Whether gaps mean nothing: each state waits for its command, or the gaps of a recording may be its recorder's.
    """
    avoidance = None
    controller: Controller
    if isinstance(parameters, OscLoopParameters):
        limits = step_limits(model, parameters.gate, parameters)
        if parameters.control.avoid_obstacles:
            avoidance = Avoidance(model, parameters.control.avoidance)
        controller = OscController(model, parameters.control, _attractor(model, parameters), limits, avoidance)
    elif isinstance(parameters, IlqrLoopParameters):
        planner = InlinePlanner(ReachPlanner(model, parameters.control))
        controller = IlqrController(model, parameters.control, planner, waits=True)
    elif isinstance(parameters, JointLoopParameters):
        controller = JointController(model, parameters.control)
    elif isinstance(parameters, PrimitiveLoopParameters):
        controller = primitive_controller(model, parameters.control, load_primitive(parameters.control.primitive.file))
        if parameters.control.osc.avoid_obstacles:
            avoidance = Avoidance(model, parameters.control.osc.avoidance)
    else:
        raise TypeError(f"{type(parameters).__name__} are parameters of no control loop")
    return ControlLoop(
        model,
        controller,
        parameters.gate,
        avoidance,
        observer=parameters.observer,
        adaptation=parameters.adaptation,
        waits_for_commands=waits_for_commands,
    )


def _attractor(model: RobotModel, parameters: OscLoopParameters) -> AttractorFollower | None:
    """What makes references of goals; None where a goal is the reference."""
    if not isinstance(parameters, AttractorLoopParameters):
        return None
    return AttractorFollower(model, parameters.attractor, parameters.control.rate)
