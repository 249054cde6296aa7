"""Enable every gate that runs, from a command line: the services ``~/enable`` of nodes that have a gate."""

from __future__ import annotations

from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from std_srvs.srv import SetBool

from arm_control.exceptions import InputError
from arm_control.nodes.tools.command_line_node import Client

GATE = ["rate_limit", "max_missed", "brake_damping"]
"""Parameters by which a node with a gate is known: others have an ``enable`` too, for other things."""


def enable_gates(namespace: str = "", seconds: float = 4.0) -> list[tuple[str, bool, str]]:
    """Call ``~/enable`` of every gate below a namespace.

    Parameters
    ----------
    namespace : str
        Only gates in it; empty for all.
    seconds : float
        Wall time to look for them [s]; longer while more of them appear.

    Returns
    -------
    list of (str, bool, str)
        Node, whether it is enabled, and what it says.

    Raises
    ------
    InputError
        When no gate was found.
    """
    with Client("arm_control_enable") as client:
        names = client.owners("enable", "std_srvs/srv/SetBool", namespace, seconds)
        found = [name for name in names if _is_gate(client, name)]
        if not found:
            raise InputError(f"no gate is running{' below ' + namespace if namespace else ''}: nothing to enable")
        return [(gate, *_enable(client, gate)) for gate in found]


def _is_gate(client: Client, name: str) -> bool:
    answer = client.call(GetParameters, f"{name}/get_parameters", GetParameters.Request(names=GATE))
    types = [] if answer is None else [value.type for value in answer.values]
    return len(types) == len(GATE) and ParameterType.PARAMETER_NOT_SET not in types


def _enable(client: Client, gate: str) -> tuple[bool, str]:
    answer = client.call(SetBool, f"{gate}/enable", SetBool.Request(data=True))
    return (False, "no answer") if answer is None else (bool(answer.success), str(answer.message))
