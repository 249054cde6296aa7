"""The parameters of every node, by its name, and the check of what a node is to be started with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arm_control.control.osc.tuning import resolve_parameters
from arm_control.core.files import file_parameters
from arm_control.core.parameters import Parameters
from arm_control.nodes.attractor import AttractorNodeParameters
from arm_control.nodes.coppeliasim_bridge import CoppeliasimBridgeParameters
from arm_control.nodes.dynamics import DynamicsParameters
from arm_control.nodes.gate import GateNodeParameters
from arm_control.nodes.ilqr import IlqrNodeParameters
from arm_control.nodes.joint import JointNodeParameters
from arm_control.nodes.obstacle_avoidance import AvoidanceNodeParameters
from arm_control.nodes.osc import OscNodeParameters
from arm_control.nodes.planner import PlannerNodeParameters
from arm_control.nodes.primitive import PrimitiveNodeParameters
from arm_control.nodes.proximity import ProximityNodeParameters
from arm_control.nodes.simulator import SimulatorParameters
from arm_control.nodes.support.arm_node import ROS_OWN
from arm_control.nodes.targets import TargetsParameters
from arm_control.nodes.viewer import ViewerParameters
from arm_control.nodes.visuals import VisualsParameters

PARAMETER_CLASSES: Mapping[str, type[Parameters]] = {
    "osc": OscNodeParameters,
    "joint": JointNodeParameters,
    "primitive": PrimitiveNodeParameters,
    "ilqr": IlqrNodeParameters,
    "attractor": AttractorNodeParameters,
    "planner": PlannerNodeParameters,
    "dynamics": DynamicsParameters,
    "obstacle_avoidance": AvoidanceNodeParameters,
    "gate": GateNodeParameters,
    "proximity": ProximityNodeParameters,
    "simulator": SimulatorParameters,
    "coppeliasim_bridge": CoppeliasimBridgeParameters,
    "targets": TargetsParameters,
    "visuals": VisualsParameters,
    "viewer": ViewerParameters,
}


def check_node_parameters(nodes: Mapping[str, Mapping[str, Any]], params_file: str) -> None:
    """Refuse parameters with which a node would not start, before one does.

    Parameters
    ----------
    nodes : mapping of str to mapping
        Parameters of nodes, by the names of both.
    params_file : str
        A ROS parameter file, whose values replace theirs.

    Raises
    ------
    ParameterError
        When a parameter is unknown, of a wrong type, or out of bounds.
    """
    for node, values in nodes.items():
        if (kind := PARAMETER_CLASSES.get(node)) is None:
            continue
        given = {**values, **file_parameters(params_file, node)}
        given = {name: value for name, value in given.items() if not name.startswith(ROS_OWN)}
        where = f"{params_file}: {node}" if params_file else node
        if "propose_gains" in kind.types():
            resolve_parameters(kind, given, None, where)
        else:
            kind.from_mapping(given, where=where)
