"""The controller of a scenario: its arm, and its parameters."""

from __future__ import annotations

from arm_control.control.laws import IlqrSimulation, JointSimulation, LawParameters, OscSimulation
from arm_control.control.osc.tuning import tuned
from arm_control.core.files import urdf_path
from arm_control.exceptions import ParameterError
from arm_control.model import RobotModel
from arm_control.model.urdf.load import read_source
from arm_control.simulation.scenario import Scenario

NODE_ONLY = ("lock_step", "robot_description", "publish_effort_array", "telemetry_every", "disturbance_timeout")
"""Parameters of a controller's node that say nothing about the control."""


def arm_and_parameters(scenario: Scenario, description: str = "") -> tuple[RobotModel, LawParameters]:
    """Return the arm of a scenario, and the parameters of its controller.

    Parameters
    ----------
    scenario : Scenario
        Its first controller among osc, joint and ilqr counts.
    description : str
        Text of another URDF than the scenario's; empty: that one.

    Raises
    ------
    ParameterError
        When it has no controller, or a parameter is unknown or not allowed.
    """
    description = description or read_source(urdf_path(scenario.robot))[0]
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
