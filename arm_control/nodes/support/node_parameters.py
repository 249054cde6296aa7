"""Parameters of nodes from outside: the class of each node, and which names are refused.

A name under ``/**`` of a parameter file, or behind ``-p``, is for every node, as in ROS: those without it pass it over.
Unlike in ROS, at least one node of the package must have it, and a name under the name of a node must be its own.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from arm_control.control import ArmNodeParameters, resolve_parameters
from arm_control.controllers import CONTROLLERS
from arm_control.core import Parameters, file_parameters, node_names, refuse_unknown
from arm_control.exceptions import ParameterError

NODES = node_names()
"""Names of all nodes."""
ROS_OWN = ("use_sim_time", "start_type_description_service", "qos_overrides.")
"""How parameters begin that every node has by itself."""


def parameter_class(node: str) -> type[Parameters]:
    """Return the class of a node's parameters."""
    if node in CONTROLLERS:
        return CONTROLLERS[node].node_parameters
    return class_in(node, ArmNodeParameters)


def class_in(node: str, base: type[Any]) -> type[Any]:
    """Return the only subclass that the module of a node defines."""
    module = import_module(f"arm_control.nodes.{node}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    (kind,) = (kind for kind in kinds if issubclass(kind, base))
    return kind


@cache
def names_of_all_nodes() -> frozenset[str]:
    """Return the names of parameters that at least one node has."""
    return frozenset(itertools.chain.from_iterable(parameter_class(node).types() for node in NODES))


def own_parameters(values: Mapping[str, Any], known: Collection[str], node: str) -> dict[str, Any]:
    """Return the values that belong to a node, of those that ROS has given it.

    A ParameterError when no node has a parameter of some name, or a parameter file has it under the name of this node.
    """
    values = {name: value for name, value in values.items() if not name.startswith(ROS_OWN)}
    if foreign := values.keys() - set(known):
        foreign &= names_of_all_nodes()
        for word, path in itertools.pairwise(sys.argv):
            with contextlib.suppress(ParameterError):  # launch_ros writes tuples, which YAML knows of Python only
                foreign -= file_parameters(path, node, foreign).keys() if word == "--params-file" else set()
        values = {name: value for name, value in values.items() if name not in foreign}
    refuse_unknown(values, list(known), f"node {node}")
    return values


def check_node_parameters(nodes: Mapping[str, Mapping[str, Any]], params_file: str) -> None:
    """Refuse parameters with which a node would not start, before one does.

    Parameters
    ----------
    nodes : mapping of str to mapping
        Parameters of nodes, by the names of both.

    Raises
    ------
    ParameterError
        When a parameter is unknown, of a wrong type, or out of bounds.
    """
    for node, values in nodes.items():
        if node not in NODES:
            continue
        kind = parameter_class(node)
        where = f"{params_file}: {node}" if params_file else node
        file = file_parameters(params_file, node)
        if file.keys() - kind.types():
            file = file_parameters(params_file, node, names_of_all_nodes() - kind.types().keys())
        given = {**values, **file}
        given = {name: value for name, value in given.items() if not name.startswith(ROS_OWN)}
        if "propose_gains" in kind.types():
            resolve_parameters(kind, given, None, where)
        else:
            kind.from_mapping(given, where=where)
