"""Launch descriptions of the scenarios, for the files in ``launch/``.

This is the only module that imports ``launch`` and ``launch_ros``; both are part of a ROS 2
installation. What a scenario consists of is in ``config/scenarios``, so that ``ros2 launch`` and
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

from arm_control.core.files import share_path, urdf_path
from arm_control.exceptions import NodeDied
from arm_control.model.urdf.load import read_source
from arm_control.simulation.scenario import SIMULATORS, Scenario, check_parameter_file

_BOOLEAN = ("true", "false", "True", "False")
_SHOWN = ("robot_description", "markers", "obstacles", "plan_markers", "planned_path", "dynamics/pose")
"""Topics of the package's own RViz file."""


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
        ``targets``, ``variant``, ``real_time_factor``, ``paced``, ``rviz``, ``viewer`` and ``control``;
        ``ros2 launch arm_control <name>.launch.py --show-args`` describes them.

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
            description="coppeliasim: one that runs already, in lock step. none: joint_states and "
            "robot_description come from a robot's driver and "
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
        DeclareLaunchArgument(
            "real_time_factor",
            default_value="",
            description="Simulated time per wall time: 0.25 is slow motion. Empty: the scenario's own.",
        ),
        _switch("paced", "a late controller slows simulated time, in place of a brake: for busy machines."),
        _switch("rviz", "to start RViz, robot_state_publisher, and the markers of the node visuals."),
        _switch("viewer", "to start the page in the browser; the node viewer prints the address."),
        _switch("control", "that page may do more than look: targets, gains, buttons."),
    ]


def _switch(name: str, what: str) -> DeclareLaunchArgument:
    return DeclareLaunchArgument(name, default_value="false", choices=_BOOLEAN, description=f"Whether {what}")


def _nodes(context: LaunchContext, scenario: Scenario | None) -> list[Node]:
    """The scenario's nodes as the launch arguments want them."""
    given = context.launch_configurations
    scenario = scenario or Scenario.load(given["scenario"])
    wanted = scenario.with_options(
        variant=given["variant"],
        robot=given["robot"],
        simulator=given["simulator"],
        targets=_is_true(given["targets"]),
        real_time_factor=float(given["real_time_factor"] or 0.0),
        paced=_is_true(given["paced"]),
    )
    if given["params_file"]:
        check_parameter_file(given["params_file"], wanted.nodes, given["namespace"])
    if wanted.simulator:
        urdf_path(wanted.robot)  # says what is wrong before a process does
    own_time = {"use_sim_time": _is_true(given["use_sim_time"])}
    nodes = [
        _own_node(node, given["namespace"], values | own_time, *filter(None, [given["params_file"]]), on_exit=_on_exit)
        for node, values in wanted.nodes.items()
    ]
    return [*nodes, *_spectators(wanted, given, own_time)]


def _spectators(scenario: Scenario, given: Mapping[str, str], own_time: dict[str, Any]) -> list[Node]:
    """What only looks on: it may end without ending the launch."""
    namespace, arm = given["namespace"], scenario.arm()
    shown, nodes = _is_true(given["rviz"]), []
    if shown and given["simulator"] != "none":
        nodes += _robot_state_publisher(scenario.robot, namespace, {"use_sim_time": True})
    if shown or _is_true(given["viewer"]):
        nodes.append(_own_node("visuals", namespace, arm | own_time))
    if shown:
        nodes.append(_rviz(namespace, {"use_sim_time": given["simulator"] != "none"}))
    if _is_true(given["viewer"]):
        nodes.append(_own_node("viewer", namespace, arm | {"control": _is_true(given["control"])} | own_time))
    return nodes


def view_launch_description() -> LaunchDescription:
    """Return the launch description that shows a robot with sliders for its joints: RViz as in urdf_launch.

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
            "rviz", default_value="true", choices=_BOOLEAN, description="Whether to start RViz, and what it needs."
        ),
        DeclareLaunchArgument("rviz_config", default_value="", description="RViz file; empty: the package's own."),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes; empty: none."),
        _switch("viewer", "to start the page in the browser; without RViz it has the sliders itself."),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_viewing)])


def _viewing(context: LaunchContext) -> list[Node]:
    given = context.launch_configurations
    namespace, nodes = given["namespace"], _robot_state_publisher(given["robot"], given["namespace"], {})
    if _is_true(given["rviz"]):
        sliders = "joint_state_publisher_gui" if _is_true(given["jsp_gui"]) else "joint_state_publisher"
        nodes.append(Node(package=sliders, executable=sliders, name=sliders, namespace=namespace))
        nodes.append(_own_node("visuals", namespace, {}))
        nodes.append(_rviz(namespace, {}, given["rviz_config"]))
    if _is_true(given["viewer"]):
        nodes.append(_own_node("viewer", namespace, {"control": True}))
    return nodes


def _own_node(
    name: str, namespace: str, values: dict[str, Any], *files: str, on_exit: Callable[..., Any] | None = None
) -> Node:
    """A node of this package, with its parameters and files of more."""
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
    description = ParameterValue(read_source(urdf_path(robot))[0], value_type=str)
    name = "robot_state_publisher"
    parameters = [{"robot_description": description, **values}]
    return [Node(package=name, executable=name, name=name, namespace=namespace, parameters=parameters)]


def _rviz(namespace: str, values: dict[str, Any], config: str = "") -> Node:
    """RViz; an ``.rviz`` file names topics without a namespace, so they are renamed into this one."""
    return Node(
        package="rviz2",
        executable="rviz2",
        name="rviz2",
        namespace=namespace,
        arguments=["-d", config or str(share_path("rviz", "arm.rviz"))],
        parameters=[values],
        remappings=[(f"/{topic}", topic) for topic in _SHOWN],
    )


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
