"""What a running node's live parameters are, asked from a command line."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python

from arm_control.control.osc.tuning import Saved
from arm_control.exceptions import InputError
from arm_control.nodes.support.arm_node import ROS_OWN
from arm_control.nodes.tools.command_line_node import Client


def live_parameters(node: str = "osc", namespace: str = "", seconds: float = 4.0) -> list[Saved]:
    """Ask a node for the parameters that may change while it runs.

    Parameters
    ----------
    node : str
        Its name.
    namespace : str
        Where it is; empty for the root.
    seconds : float
        Wall time to look for it [s].

    Raises
    ------
    InputError
        When there is no such node, or it does not answer.
    """
    path = "/".join(filter(None, [*namespace.split("/"), *node.split("/")]))
    with Client("arm_control_tune") as client:
        there = client.owners("get_parameters", "rcl_interfaces/srv/GetParameters", "", seconds)
        if (full := f"/{path}") not in there:
            raise InputError(f"no node {full} is running; there are: {', '.join(there) or 'none'}")
        names = _asked(client, ListParameters, full, "list", ListParameters.Request()).result.names
        names = sorted(name for name in names if not name.startswith(ROS_OWN))
        kinds = _asked(client, DescribeParameters, full, "describe", DescribeParameters.Request(names=names))
        saved = [_saved(client, full, kind) for kind in kinds.descriptors if not kind.read_only]
    return [one for one in saved if one is not None]


def _saved(client: Client, node: str, kind: ParameterDescriptor) -> Saved | None:
    """A parameter with its value; None when it has none. Asked alone: of several with one unset ROS tells nothing."""
    answer = _asked(client, GetParameters, node, "get", GetParameters.Request(names=[kind.name]))
    values = [value for value in answer.values if value.type != ParameterType.PARAMETER_NOT_SET]
    return Saved(kind.name, _plain(parameter_value_to_python(values[0])), kind.description) if values else None


def _asked(client: Client, kind: Any, node: str, what: str, request: Any) -> Any:
    answer = client.call(kind, f"{node}/{what}_parameters", request)
    if answer is None:
        raise InputError(f"{node} does not answer: is it still running?")
    return answer


def _plain(value: Any) -> Any:
    """Arrays as lists."""
    return value if isinstance(value, (str, bool, int, float)) else list(value)
