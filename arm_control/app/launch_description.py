"""Launch descriptions of the scenarios, for the files in ``launch/``.

This is the only module that imports ``launch`` and ``launch_ros``; both are part of a ROS 2
installation. The nodes of a scenario are in ``config/scenarios``, so that ``ros2 launch`` and
``arm_control run`` start the same nodes with the same parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.events.process import ProcessExited
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from arm_control.core.files import share_path
from arm_control.exceptions import NodeDied
from arm_control.model.urdf.description import find_description, read_description
from arm_control.simulation.scenario import SIMULATORS, Scenario, check_parameter_file

_BOOLEAN = ("true", "false", "True", "False")
_RVIZ_TOPICS = ("robot_description", "markers", "obstacles", "plan_markers", "planned_path", "dynamics/pose")
"""Topics in the package's RViz file."""


def scenario_launch_description(name: str = "") -> LaunchDescription:
    """Return the launch description of a scenario, with a process for each node.

    Invalid arguments are an error before anything starts. A node that ends by itself ends the launch,
    which then names the node and returns an exit status other than 0.

    Parameters
    ----------
    name : str
        Name of the scenario (``config/scenarios/<name>.yaml``), or its path; empty: from the launch argument
        ``scenario``.

    Returns
    -------
    LaunchDescription
        With the arguments ``robot``, ``simulator``, ``params_file``, ``namespace``, ``use_sim_time``,
        ``targets``, ``variant``, ``real_time_factor``, ``paced``, ``rviz``, ``viewer`` and ``control``;
        ``ros2 launch arm_control <name>.launch.py --show-args`` describes them.

    Raises
    ------
    ArmControlError
        When there is no such scenario, or its file is invalid.

    Notes
    -----
    With ``simulator:=none``, ``joint_states`` and ``robot_description`` come from the robot's driver and
    from robot_state_publisher, or from another simulator. The nodes wait for both.
    """
    scenario = Scenario.load(name) if name else None
    return LaunchDescription([*_arguments(scenario), OpaqueFunction(function=_nodes, args=[scenario])])


def _arguments(scenario: Scenario | None) -> list[DeclareLaunchArgument]:
    scenario_argument = DeclareLaunchArgument(
        "scenario", description="Scenario: a name below config/scenarios, or a YAML file."
    )
    return [
        *([scenario_argument] if scenario is None else []),
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
            description="coppeliasim: a running one, in lock step. none: joint_states and robot_description come from "
            "a robot's driver and robot_state_publisher, or from another simulator.",
        ),
        DeclareLaunchArgument(
            "params_file",
            default_value="",
            description="ROS parameter file, such as config/osc.yaml; it replaces the scenario's values. Empty: none.",
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
            description="Whether the scenario's own targets are published. false: the arm holds until a target_pose is "
            "published.",
        ),
        DeclareLaunchArgument(
            "real_time_factor",
            default_value="",
            description="Simulated time per wall time: 0.25 is slow motion. Empty: the scenario's own.",
        ),
        _switch("paced", "a late controller slows simulated time instead of braking the arm: for busy machines."),
        _switch("rviz", "to start RViz, robot_state_publisher, and the markers of the node visuals."),
        _switch("viewer", "to start the page in the browser; the node viewer prints the address."),
        _switch("control", "the page may control the arm: targets, obstacles, gains, buttons."),
    ]


def _switch(name: str, purpose: str) -> DeclareLaunchArgument:
    return DeclareLaunchArgument(name, default_value="false", choices=_BOOLEAN, description=f"Whether {purpose}")


def _nodes(context: LaunchContext, scenario: Scenario | None) -> list[Node]:
    """Return the scenario's nodes, with the launch arguments."""
    values = context.launch_configurations
    scenario = scenario or Scenario.load(values["scenario"])
    scenario = scenario.with_options(
        variant=values["variant"],
        robot=values["robot"],
        simulator=values["simulator"],
        targets=_is_true(values["targets"]),
        real_time_factor=float(values["real_time_factor"] or 0.0),
        paced=_is_true(values["paced"]),
    )
    if values["params_file"]:
        check_parameter_file(values["params_file"], scenario.nodes, values["namespace"])
    if scenario.simulator:
        find_description(scenario.robot)  # an error before the first process
    clock = {"use_sim_time": _is_true(values["use_sim_time"])}
    files = [values["params_file"]] if values["params_file"] else []
    nodes = [
        _own_node(node, values["namespace"], parameters | clock, *files, on_exit=_on_exit)
        for node, parameters in scenario.nodes.items()
    ]
    return [*nodes, *_display_nodes(scenario, values, clock)]


def _display_nodes(scenario: Scenario, values: Mapping[str, str], clock: dict[str, Any]) -> list[Node]:
    """Return the nodes that show the arm; the launch goes on when they end."""
    namespace = values["namespace"]
    arm = scenario.arm()
    has_rviz = _is_true(values["rviz"])
    has_viewer = _is_true(values["viewer"])
    nodes = []
    if has_rviz and values["simulator"] != "none":
        nodes += _robot_state_publisher(scenario.robot, namespace, {"use_sim_time": True})
    if has_rviz or has_viewer:
        nodes.append(_own_node("visuals", namespace, arm | clock))
    if has_rviz:
        nodes.append(_rviz(namespace, {"use_sim_time": values["simulator"] != "none"}))
    if has_viewer:
        nodes.append(_own_node("viewer", namespace, arm | {"control": _is_true(values["control"])} | clock))
    return nodes


def view_launch_description() -> LaunchDescription:
    """Return the launch description that shows a robot with sliders for its joints, in RViz as in urdf_launch.

    Returns
    -------
    LaunchDescription
        With the arguments ``robot``, ``jsp_gui``, ``rviz``, ``rviz_config``, ``viewer`` and ``namespace``.
    """
    arguments = [
        DeclareLaunchArgument(
            "robot", default_value="ur4", description="Robot to show: a name below urdf/, or a URDF or xacro file."
        ),
        DeclareLaunchArgument(
            "jsp_gui",
            default_value="true",
            choices=_BOOLEAN,
            description="Whether joint_state_publisher_gui shows sliders; false: joint_state_publisher, no window.",
        ),
        DeclareLaunchArgument(
            "rviz", default_value="true", choices=_BOOLEAN, description="Whether to start RViz and the nodes it needs."
        ),
        DeclareLaunchArgument("rviz_config", default_value="", description="RViz file; empty: that of the package."),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes; empty: none."),
        _switch("viewer", "to start the page in the browser, which has sliders when RViz is off."),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_view_nodes)])


def _view_nodes(context: LaunchContext) -> list[Node]:
    values = context.launch_configurations
    namespace = values["namespace"]
    nodes = _robot_state_publisher(values["robot"], namespace, {})
    if _is_true(values["rviz"]):
        sliders = "joint_state_publisher_gui" if _is_true(values["jsp_gui"]) else "joint_state_publisher"
        nodes.append(Node(package=sliders, executable=sliders, name=sliders, namespace=namespace))
        nodes.append(_own_node("visuals", namespace, {}))
        nodes.append(_rviz(namespace, {}, values["rviz_config"]))
    if _is_true(values["viewer"]):
        nodes.append(_own_node("viewer", namespace, {"control": True}))
    return nodes


def _own_node(
    name: str, namespace: str, values: dict[str, Any], *files: str, on_exit: Callable[..., Any] | None = None
) -> Node:
    """Return a node of this package, with its parameters and parameter files."""
    return Node(
        package="arm_control",
        executable=name,
        name=name,
        namespace=namespace,
        parameters=[_launch_parameters(values), *files],
        output="screen",
        on_exit=on_exit,
    )


def _robot_state_publisher(robot: str, namespace: str, values: dict[str, Any]) -> list[Node]:
    description = ParameterValue(read_description(robot), value_type=str)
    name = "robot_state_publisher"
    parameters = [{"robot_description": description, **values}]
    return [Node(package=name, executable=name, name=name, namespace=namespace, parameters=parameters)]


def _rviz(namespace: str, values: dict[str, Any], config: str = "") -> Node:
    """Return RViz; the topics of an ``.rviz`` file have no namespace, so they are remapped into this one."""
    return Node(
        package="rviz2",
        executable="rviz2",
        name="rviz2",
        namespace=namespace,
        arguments=["-d", config or str(share_path("rviz", "arm.rviz"))],
        parameters=[values],
        remappings=[(f"/{topic}", topic) for topic in _RVIZ_TOPICS],
    )


def _is_true(text: str) -> bool:
    return text.lower() == "true"


def _launch_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Return parameters for launch_ros, which cannot pass an empty list and reads plain text as YAML."""
    return {
        key: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for key, value in values.items()
        if value not in ([], ())
    }


def _on_exit(event: ProcessExited, context: LaunchContext) -> None:
    """End the launch when a node has ended by itself; only an exception gives an exit status."""
    if not context.is_shutdown:
        raise NodeDied(f"{event.action.node_name} ended with exit status {event.returncode}")
