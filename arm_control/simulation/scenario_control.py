"""The controller of a scenario: its arm, and its parameters."""

from __future__ import annotations

from arm_control.control.loop_parameters import (
    AttractorLoopParameters,
    IlqrLoopParameters,
    JointLoopParameters,
    LoopParameters,
    OscLoopParameters,
    PrimitiveLoopParameters,
)
from arm_control.control.osc.tuning import resolve_parameters
from arm_control.exceptions import ParameterError
from arm_control.model import RobotModel
from arm_control.model.urdf.description import read_description
from arm_control.simulation.scenario import Scenario

NODE_ONLY = (
    *("lock_step", "loop", "robot_description", "frame_prefix"),
    *("publish_effort_array", "telemetry_every", "disturbance_timeout", "real_time_priority"),
)
"""Parameters of a controller's node that say nothing about the control."""
LOOPS: dict[str, type[LoopParameters]] = {
    "osc": OscLoopParameters,
    "joint": JointLoopParameters,
    "ilqr": IlqrLoopParameters,
    "primitive": PrimitiveLoopParameters,
    "attractor": AttractorLoopParameters,
}
"""Parameters of the control loop, by the controller's node."""


def arm_and_parameters(scenario: Scenario, description: str = "") -> tuple[RobotModel, LoopParameters]:
    """Return the arm of a scenario, and the parameters of its controller.

    Parameters
    ----------
    scenario : Scenario
        Its first controller counts.
    description : str
        Text of another URDF than the scenario's; empty: that one.

    Raises
    ------
    ParameterError
        When it has no controller, or a parameter is unknown or not allowed.
    """
    description = description or read_description(scenario.robot)
    for node, parameter_class in LOOPS.items():
        if node in scenario.nodes:
            values = {name: value for name, value in scenario.nodes[node].items() if name not in NODE_ONLY}
            where = f"{scenario.name}: {node}"
            if "propose_gains" not in parameter_class.types():
                parameters = parameter_class.from_mapping(values, where=where)
                return parameters.arm.model(description), parameters
            model = resolve_parameters(parameter_class, values, None, where).arm.model(description)
            return model, resolve_parameters(parameter_class, values, model, where)
    raise ParameterError(f"{scenario.name} has no controller: one of the nodes {', '.join(LOOPS)} is needed")


def node_of(parameters: LoopParameters) -> str:
    """Return the name of the controller's node that has these parameters."""
    return next(node for node, parameter_class in LOOPS.items() if type(parameters) is parameter_class)
