"""The class of every node and that of its parameters, imported when asked for; the check of a start's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from arm_control.control.osc.tuning import resolve_parameters
from arm_control.core.files import file_parameters
from arm_control.core.parameters import Parameters
from arm_control.nodes.support.arm_node import ROS_OWN, ArmNode, ArmNodeParameters

NODE_CLASSES: Mapping[str, tuple[str, str]] = {
    "attractor": ("AttractorNode", "AttractorNodeParameters"),
    "coppeliasim_bridge": ("CoppeliasimBridgeNode", "CoppeliasimBridgeParameters"),
    "dynamics": ("DynamicsNode", "DynamicsParameters"),
    "gate": ("GateNode", "GateNodeParameters"),
    "ilqr": ("IlqrNode", "IlqrNodeParameters"),
    "joint": ("JointNode", "JointNodeParameters"),
    "obstacle_avoidance": ("ObstacleAvoidanceNode", "AvoidanceNodeParameters"),
    "osc": ("OscNode", "OscNodeParameters"),
    "planner": ("PlannerNode", "PlannerNodeParameters"),
    "primitive": ("PrimitiveNode", "PrimitiveNodeParameters"),
    "proximity": ("ProximityNode", "ProximityNodeParameters"),
    "simulator": ("SimulatorNode", "SimulatorParameters"),
    "targets": ("TargetsNode", "TargetsParameters"),
    "viewer": ("ViewerNode", "ViewerParameters"),
    "visuals": ("VisualsNode", "VisualsParameters"),
}
"""Names of the two classes of each node, in its module below ``arm_control.nodes``."""


def node_class(node: str) -> type[ArmNode[ArmNodeParameters]]:
    """Return the class of a node."""
    kind: type[ArmNode[ArmNodeParameters]] = getattr(_module(node), NODE_CLASSES[node][0])
    return kind


def parameter_class(node: str) -> type[Parameters]:
    """Return the class of a node's parameters."""
    kind: type[Parameters] = getattr(_module(node), NODE_CLASSES[node][1])
    return kind


def _module(node: str) -> Any:
    return import_module(f"arm_control.nodes.{node}")


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
        if node not in NODE_CLASSES:
            continue
        kind = parameter_class(node)
        given = {**values, **file_parameters(params_file, node)}
        given = {name: value for name, value in given.items() if not name.startswith(ROS_OWN)}
        where = f"{params_file}: {node}" if params_file else node
        if "propose_gains" in kind.types():
            resolve_parameters(kind, given, None, where)
        else:
            kind.from_mapping(given, where=where)
