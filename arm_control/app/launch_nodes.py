"""The nodes of the launch descriptions: how one is started, and what happens when it ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.events.process import ProcessExited
from launch.logging import get_logger
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from arm_control.app.torque_chain import Remapping
from arm_control.core import PARENT, share_path
from arm_control.exceptions import NodeDied
from arm_control.model import read_description
from arm_control.simulation import Scenario

LaunchArguments = Mapping[str, str]
"""Values of the launch arguments; ``namespace`` and ``frame_prefix`` are among them."""
RVIZ_TOPICS = (
    "robot_description",
    "markers",
    "obstacles",
    "proximity/lines",
    "plan_markers",
    "planned_path",
    "dynamics/pose",
)
"""Topics in the package's RViz file."""
NO_TF_PREFIX = 'TF Prefix: ""'
"""Line of the package's RViz file for the prefix of the robot's frames."""


def own_node(
    name: str,
    launch: LaunchArguments,
    values: dict[str, Any],
    *files: str,
    on_exit: Callable[..., Any] | None = None,
    renamed: Sequence[Remapping] = (),
) -> Node:
    """Return a node of this package, with its parameters and parameter files; it ends with this process.

    Parameters
    ----------
    name : str
        Name of the node, and of its executable.
    launch : mapping of str to str
        The launch arguments.
    values : dict
        Parameters.
    *files : str
        Parameter files; their values replace those of ``values``.
    on_exit : callable, optional
        What happens when it ends.
    renamed : sequence of (str, str)
        Remappings of topics.
    """
    prefix = _frame_prefix(launch)
    return Node(
        package="arm_control",
        executable=name,
        name=name,
        namespace=launch["namespace"],
        parameters=[_launch_parameters({**values, **({"frame_prefix": prefix} if prefix else {})}), *files],
        remappings=renamed,
        additional_env={PARENT: str(os.getpid())},
        output="screen",
        on_exit=on_exit,
    )


def foreign_node(package: str, launch: LaunchArguments, **details: Any) -> Node:
    """Return a node of another package, which ends with this process where util-linux can see to that.

    Parameters
    ----------
    package : str
        Name of the package, of its executable and of the node.
    launch : mapping of str to str
        The launch arguments.
    **details
        More arguments of the class ``Node``.
    """
    prefix = "setpriv --pdeathsig INT" if shutil.which("setpriv") else None
    namespace = launch["namespace"]
    return Node(package=package, executable=package, name=package, namespace=namespace, prefix=prefix, **details)


def robot_state_publisher(robot: str, launch: LaunchArguments, values: dict[str, Any]) -> Node:
    """Return robot_state_publisher.

    Parameters
    ----------
    robot : str
        Name of a robot, or path of its file.
    launch : mapping of str to str
        The launch arguments.
    values : dict
        More parameters.
    """
    description = ParameterValue(read_description(robot), value_type=str)
    prefix = ParameterValue(_frame_prefix(launch), value_type=str)
    parameters = {"robot_description": description, "frame_prefix": prefix, **values}
    return foreign_node("robot_state_publisher", launch, parameters=[parameters])


def rviz(launch: LaunchArguments, values: dict[str, Any], config: str = "") -> Node:
    """Return RViz; the topics of an ``.rviz`` file have no namespace, so they are remapped into this one.

    Parameters
    ----------
    launch : mapping of str to str
        The launch arguments.
    values : dict
        Parameters.
    config : str
        Its file; empty: that of the package.
    """
    return foreign_node(
        "rviz2",
        launch,
        arguments=["-d", config or _rviz_file(_frame_prefix(launch))],
        parameters=[values],
        remappings=[(f"/{topic}", topic) for topic in RVIZ_TOPICS],
    )


def _rviz_file(frame_prefix: str) -> str:
    """Return the path of the package's RViz file, or of a copy for frames with a prefix."""
    path = share_path("rviz", "arm.rviz")
    if not frame_prefix:
        return str(path)
    copy = Path(tempfile.mkdtemp(prefix="arm_control_")) / path.name
    copy.write_text(path.read_text().replace(NO_TF_PREFIX, f"TF Prefix: {frame_prefix.rstrip('/')}"))
    return str(copy)


def _frame_prefix(launch: LaunchArguments) -> str:
    namespace = launch["namespace"].strip("/")
    if launch["frame_prefix"] != "auto":
        return launch["frame_prefix"]
    return f"{namespace}/" if namespace else ""


def _launch_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Return parameters for launch_ros, which cannot pass an empty list and reads plain text as YAML."""
    return {
        key: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for key, value in values.items()
        if value not in ([], ())
    }


# -- the end of a node ---------------------------------------------------------------------------------


def on_exit_of(name: str, scenario: Scenario) -> Callable[[ProcessExited, LaunchContext], None]:
    """Return what happens when a node ends by itself.

    In a simulation, the launch ends. With a robot, it ends with the last node before the driver only: a node that looks
    on must not end the controller, and the controller not the gate, which brakes the arm and carries its weight.

    Parameters
    ----------
    name : str
        Name of the node.
    scenario : Scenario
        All nodes.
    """
    last = "gate" if "gate" in scenario.nodes else scenario.controller
    return end_launch if scenario.simulator or name == last else stay_beside_robot


def end_launch(event: ProcessExited, context: LaunchContext) -> None:
    """End the launch when a node has ended by itself; only an exception gives an exit status.

    Parameters
    ----------
    event : ProcessExited
        The end of the node.
    context : LaunchContext
        The launch.

    Raises
    ------
    NodeDied
        Unless the launch is ending already.
    """
    if not context.is_shutdown:
        raise NodeDied(_describe_exit(event))


def stay_beside_robot(event: ProcessExited, context: LaunchContext) -> None:
    """Go on, and say so: the gate brakes where the controller has ended.

    Parameters
    ----------
    event : ProcessExited
        The end of a node.
    context : LaunchContext
        The launch.
    """
    if not context.is_shutdown:
        get_logger("launch").error(
            f"{_describe_exit(event)}; the other nodes go on: end the launch with the arm at rest"
        )


def _describe_exit(event: ProcessExited) -> str:
    return f"{event.action.node_name} ended with exit status {event.returncode}"
