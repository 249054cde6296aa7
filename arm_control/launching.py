"""Launch descriptions of the scenarios, for the files in ``launch/``.

This is the only module that imports ``launch`` and ``launch_ros``; both are part of a ROS 2
installation. What a scenario consists of is in ``config/scenarios``, so that ``ros2 launch`` and
``arm_control run`` start the same nodes with the same parameters.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.events.process import ProcessExited
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from arm_control.exceptions import NodeDied
from arm_control.resources import urdf_path
from arm_control.scenario import SIMULATORS, Scenario, check_parameter_file

_BOOLEAN = ("true", "false", "True", "False")


def scenario_launch_description(name: str = "") -> LaunchDescription:
    """Return the launch description that starts a scenario, each node as a process of its own.

    What is wrong with the arguments is said before anything starts. A node that ends by itself ends
    the launch, which then says the node's name and returns an exit status that is not 0.

    Parameters
    ----------
    name : str
        Name of the scenario (``config/scenarios/<name>.yaml``), or its path; empty: the launch argument
        ``scenario`` says which.

    Returns
    -------
    LaunchDescription
        With the arguments ``robot``, ``simulator``, ``params_file``, ``namespace``, ``use_sim_time``,
        ``targets`` and ``variant``; ``ros2 launch arm_control <name>.launch.py --show-args`` describes them.

    Raises
    ------
    ArmControlError
        When there is no such scenario, or its file is not in order.

    Notes
    -----
    With ``simulator:=none``, ``joint_states`` and ``robot_description`` come from the robot's driver and
    from robot_state_publisher, or from another simulator. The nodes wait for both.
    """
    scenario = Scenario.load(name) if name else None
    return LaunchDescription([*_arguments(scenario), OpaqueFunction(function=_nodes, args=[scenario])])


def _arguments(scenario: Scenario | None) -> list[DeclareLaunchArgument]:
    which = DeclareLaunchArgument("scenario", description="Scenario: a name below config/scenarios, or a YAML file.")
    return [
        *([which] if scenario is None else []),
        DeclareLaunchArgument(
            "robot",
            default_value=scenario.robot if scenario is not None else "",
            description="Robot to simulate: a name below urdf/, or a URDF or xacro file. Unused with simulator:=none."
            " Empty: the scenario's own.",
        ),
        DeclareLaunchArgument(
            "variant", default_value="", description="One of the scenario's variants; empty: the first."
        ),
        DeclareLaunchArgument(
            "simulator",
            default_value="mujoco",
            choices=SIMULATORS,
            description="none: joint_states and robot_description come from a robot's driver and "
            "robot_state_publisher, or from another simulator.",
        ),
        DeclareLaunchArgument(
            "params_file",
            default_value="",
            description="ROS parameter file whose values replace the scenario's, such as config/osc.yaml; empty: none.",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes; empty: none."),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="false",
            choices=_BOOLEAN,
            description="Whether the nodes take their time from /clock, which the simulator publishes.",
        ),
        DeclareLaunchArgument(
            "targets",
            default_value="true",
            choices=_BOOLEAN,
            description="Whether the scenario's own targets are published. false: the arm holds until somebody "
            "publishes a target_pose.",
        ),
    ]


def _nodes(context: LaunchContext, scenario: Scenario | None) -> list[Node]:
    """The scenario's nodes as the launch arguments want them."""
    given = context.launch_configurations
    scenario = scenario or Scenario.load(given["scenario"])
    wanted = scenario.with_options(
        variant=given["variant"],
        robot=given["robot"],
        simulator=given["simulator"],
        targets=_is_true(given["targets"]),
    )
    if given["params_file"]:
        check_parameter_file(given["params_file"], wanted.nodes, given["namespace"])
    if "simulator" in wanted.nodes:
        urdf_path(wanted.robot)  # says what is wrong before a process does
    own_time = {"use_sim_time": _is_true(given["use_sim_time"])}
    return [
        Node(
            package="arm_control",
            executable=node,
            name=node,
            namespace=given["namespace"],
            parameters=[_launch_parameters(values) | own_time, *filter(None, [given["params_file"]])],
            output="screen",
            on_exit=_on_exit,
        )
        for node, values in wanted.nodes.items()
    ]


def _is_true(text: str) -> bool:
    return text.lower() == "true"


def _launch_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Parameters as launch_ros takes them: it cannot pass an empty list, and reads bare text as YAML."""
    return {
        key: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for key, value in values.items()
        if value not in ([], ())
    }


def _on_exit(event: ProcessExited, context: LaunchContext) -> None:
    """End the launch when a node has ended by itself; an exception, because only that gives an exit status."""
    if not context.is_shutdown:
        raise NodeDied(f"{event.action.node_name} ended with exit status {event.returncode}")
