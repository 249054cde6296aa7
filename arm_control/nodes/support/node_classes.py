"""The class of every node and that of its parameters, imported when asked for; the check of a start's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from arm_control.control import ArmNodeParameters, resolve_parameters
from arm_control.controllers import CONTROLLERS
from arm_control.core import Parameters, file_parameters, module_names, node_names
from arm_control.nodes.support.arm_node import ROS_OWN, ArmNode

NodeFactory = Callable[[], ArmNode[ArmNodeParameters]]
NODES = node_names()
"""Names of all nodes."""


def node_factory(node: str) -> NodeFactory:
    """Return what makes a node: its class, or for a controller without one the common class."""
    if node not in module_names("nodes"):
        from arm_control.nodes.support.controller_node import controller_node

        return partial(controller_node, node)
    return _class_in(node, ArmNode)


def parameter_class(node: str) -> type[Parameters]:
    """Return the class of a node's parameters."""
    if node in CONTROLLERS:
        return CONTROLLERS[node].node_parameters
    return _class_in(node, ArmNodeParameters)


def _class_in(node: str, base: type[Any]) -> type[Any]:
    """The only subclass that the module of a node defines."""
    module = import_module(f"arm_control.nodes.{node}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    (kind,) = (kind for kind in kinds if issubclass(kind, base))
    return kind


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
        if node not in NODES:
            continue
        kind = parameter_class(node)
        given = {**values, **file_parameters(params_file, node)}
        given = {name: value for name, value in given.items() if not name.startswith(ROS_OWN)}
        where = f"{params_file}: {node}" if params_file else node
        if "propose_gains" in kind.types():
            resolve_parameters(kind, given, None, where)
        else:
            kind.from_mapping(given, where=where)
