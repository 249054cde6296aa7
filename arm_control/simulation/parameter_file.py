"""The parameter file of a run: ROS's own format, checked against the nodes of the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arm_control.core import as_mapping, read_yaml, refuse_unknown, ros_parameters
from arm_control.exceptions import ParameterError
from arm_control.model import refuse_xacro_in

ELSEWHERE = ("simulator", "coppeliasim_bridge", "gate")
"""Nodes for which a parameter file may have values where they do not run: one file serves simulation and hardware."""


def check_parameter_file(
    path: str | Path, nodes: Mapping[str, Any], namespace: str = "", *, trust: bool = False
) -> None:
    """Refuse a ROS parameter file that names a node outside the scenario, or without ``trust`` a xacro file.

    ROS ignores such an entry silently, so a misspelt name would have no effect. A name without a slash
    means the node at the root; ``/**/osc`` means the node in any namespace.

    Parameters
    ----------
    path : str or Path
        The file.
    nodes : mapping
        The scenario's nodes.
    namespace : str
        Namespace of the nodes; empty for the root.
    trust : bool
        As for :meth:`arm_control.simulation.scenario.Scenario.load`.

    Raises
    ------
    ParameterError
        When a key is neither a node (with or without a namespace) nor ROS's own ``/**``.
    """
    entries = read_yaml(Path(path))
    if not trust:
        refuse_xacro_in(entries, str(path))
    for key, content in entries.items():
        place, _, name = str(key).rpartition("/")
        if key != "/**" and name not in (*nodes, *ELSEWHERE, "*", "**"):
            raise ParameterError(f"{path}: '{key}' is not a node of the scenario; allowed: /**, {', '.join(nodes)}")
        if namespace.strip("/") and key != "/**" and place not in ("/**", "/" + namespace.strip("/")):
            raise ParameterError(f"{path}: '{key}' is not in the namespace {namespace}: write '/**/{name}'")
        refuse_unknown(as_mapping(content, f"{path}: {key}"), ("ros__parameters",), f"{path}: {key}")
        ros_parameters(content, f"{path}: {key}")
