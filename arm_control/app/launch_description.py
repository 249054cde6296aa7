"""Launch descriptions of the scenarios, for the files in ``launch/``.

Only this module and :mod:`arm_control.app.launch_nodes` import ``launch`` and ``launch_ros``; both are part of a ROS 2
installation. The nodes of a scenario are in ``config/scenarios``, so that ``ros2 launch`` and ``arm_control run`` start
the same nodes with the same parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch_ros.actions import Node

from arm_control.app.launch_nodes import foreign_node, on_exit_of, own_node, robot_state_publisher, rviz
from arm_control.app.torque_chain import DriverTopics, goal_remappings, torque_remappings, with_gates_behind
from arm_control.core import file_parameters
from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.model import find_description
from arm_control.nodes import check_environment, check_node_parameters, describe_reach, prefix_of, published_already
from arm_control.simulation import SIMULATORS, Scenario, check_parameter_file, planned

_BOOLEAN = ("true", "false", "True", "False")
_DRIVER = DriverTopics()


def scenario_launch_description(name: str = "", planner: bool = False) -> LaunchDescription:
    """Return the launch description of a scenario, with a process for each node.

    Invalid arguments are an error before anything starts. A node that ends by itself ends the launch,
    which then names the node and returns an exit status other than 0.

    Parameters
    ----------
    name : str
        Name of the scenario (``config/scenarios/<name>.yaml``), or its path; empty: from the launch argument
        ``scenario``.
    planner : bool
        Whether the node ``planner`` plans the motions, if the launch argument of that name says nothing.

    Returns
    -------
    LaunchDescription
        With the arguments that ``ros2 launch arm_control <name>.launch.py --show-args`` describes.

    Raises
    ------
    ArmControlError
        When there is no such scenario, or its file is invalid.

    Notes
    -----
    With ``simulator:=none``, ``joint_states`` and ``robot_description`` come from the robot's driver and
    from robot_state_publisher, or from another simulator. The nodes wait for both, and the node ``gate`` stands before
    the driver. Simulated time begins when the controller knows its targets. All nodes end with the launch.
    """
    scenario = Scenario.load(name, trust=True) if name else None  # a launch file is a program itself
    return LaunchDescription([*_arguments(scenario, planner), OpaqueFunction(function=_nodes, args=[scenario])])


def _arguments(scenario: Scenario | None, planner: bool) -> list[DeclareLaunchArgument]:
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
        DeclareLaunchArgument(
            "gate",
            default_value="auto",
            choices=("auto", *_BOOLEAN),
            description="Whether the node gate stands between controller and driver. auto: with simulator:=none.",
        ),
        DeclareLaunchArgument(
            "friction",
            default_value="auto",
            choices=("auto", *_BOOLEAN),
            description="Whether friction, payloads and rotors are compensated. auto: with simulator:=none, and where"
            " the simulated plant has them.",
        ),
        DeclareLaunchArgument(
            "command_topic",
            default_value=_DRIVER.commands,
            description="Topic on which the driver gets joint effort, with stamps; with simulator:=none.",
        ),
        DeclareLaunchArgument(
            "effort_topic",
            default_value=_DRIVER.efforts,
            description="Topic on which an effort controller of ros2_control gets its array; with simulator:=none.",
        ),
        *_name_arguments(),
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
        _switch("paced", "a late controller slows simulated time, as on a busy machine, or the arm brakes.", "true"),
        _switch("planner", "the node planner plans motions to the targets, for the node joint.", str(planner).lower()),
        _switch("proximity", "the node proximity publishes distances from obstacles and of links, and in_collision."),
        _switch("rviz", "to start RViz, robot_state_publisher, and the markers of the node visuals."),
        _switch("viewer", "to start the page in the browser; the node viewer prints the address."),
        _switch("trust", "a xacro file that the scenario names is expanded: it may run any code as you."),
        _switch("control", "the page may control the arm: targets, obstacles, gains, buttons."),
    ]


def _name_arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes; empty: none."),
        DeclareLaunchArgument(
            "frame_prefix",
            default_value="auto",
            description="Prefix of the frames in transforms and markers, as that of robot_state_publisher. auto: the"
            " namespace and a slash.",
        ),
    ]


def is_true(text: str) -> bool:
    """Return whether a launch argument is true."""
    return text.lower() == "true"


def _number(name: str, text: str) -> float:
    """Return the number that a launch argument is.

    Raises
    ------
    ParameterError
        When it is none.
    """
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{name}:={text}: a number is needed") from None


def _switch(name: str, purpose: str, default: str = "false") -> DeclareLaunchArgument:
    return DeclareLaunchArgument(name, default_value=default, choices=_BOOLEAN, description=f"Whether {purpose}")


def _nodes(context: LaunchContext, scenario: Scenario | None) -> list[LogInfo | Node]:
    """Return the scenario's nodes, with the launch arguments, after all checks that need no process of theirs."""
    values = context.launch_configurations
    trust = is_true(values["trust"])
    scenario = _with_arguments(scenario or Scenario.load(values["scenario"], trust=trust), values)
    if is_true(values["proximity"]):
        scenario.nodes.setdefault("proximity", scenario.arm())
    if values["params_file"]:
        check_parameter_file(values["params_file"], scenario.nodes, values["namespace"], trust=trust)
        check_node_parameters(scenario.nodes, values["params_file"])
    if scenario.simulator:
        find_description(scenario.robot)  # an error before the first process
    driver = _DRIVER if scenario.simulator else DriverTopics(values["command_topic"], values["effort_topic"])
    clock = {"use_sim_time": is_true(values["use_sim_time"])}
    files = [values["params_file"]] if values["params_file"] else []
    remappings = torque_remappings(scenario.nodes, driver)
    for name, renamed in goal_remappings(scenario.nodes).items():
        remappings[name] += renamed
    nodes = [
        own_node(name, values, parameters | clock, *files, on_exit=on_exit_of(name, scenario), renamed=remappings[name])
        for name, parameters in with_gates_behind(scenario.nodes).items()
    ]
    nodes += _display_nodes(scenario, values, clock)
    _require_packages(nodes)
    check_environment()
    _refuse_second_launch(scenario, values["namespace"], driver)
    return [LogInfo(msg=describe_reach()), *nodes]


def _with_arguments(scenario: Scenario, values: Mapping[str, str]) -> Scenario:
    """Return a scenario with the launch arguments."""
    has_gate = values["simulator"] == "none" if values["gate"] == "auto" else is_true(values["gate"])
    is_planned = is_true(values["planner"])
    scenario = planned(scenario, values["variant"]) if is_planned else scenario
    return scenario.with_options(
        variant="" if is_planned else values["variant"],
        robot=values["robot"],
        simulator=values["simulator"],
        targets=is_true(values["targets"]),
        real_time_factor=_number("real_time_factor", values["real_time_factor"] or "0"),
        paced=is_true(values["paced"]),
        gate=has_gate,
        awaits_controller=True,
        friction=values["friction"].lower(),
        plant=file_parameters(values["params_file"], "simulator"),
    )


def _require_packages(nodes: Iterable[Node]) -> None:
    """Refuse to start anything where a package is missing.

    Raises
    ------
    ArmControlError
        With the names of the packages.
    """
    missing = [name for name in dict.fromkeys(node.node_package for node in nodes) if not _is_installed(name)]
    if missing:
        packages = " ".join(f"ros-$ROS_DISTRO-{name.replace('_', '-')}" for name in missing)
        raise ArmControlError(f"nothing was started: not installed: {', '.join(missing)} (apt install {packages})")


def _is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _refuse_second_launch(scenario: Scenario, namespace: str, driver: DriverTopics) -> None:
    """Refuse to start where another node simulates or drives the arm: the messages would mix.

    Raises
    ------
    ArmControlError
        With the topic, and the nodes that publish it.
    """
    topics = ["joint_states"] if scenario.simulator else []
    topics += [*driver, "effort_in"] if scenario.controller or "gate" in scenario.nodes else []
    absolute = [topic if topic.startswith("/") else prefix_of(namespace) + topic for topic in topics]
    if found := published_already(absolute):
        raise ArmControlError(f"{found}: end it, or choose another ROS_DOMAIN_ID or namespace")


def _display_nodes(scenario: Scenario, values: Mapping[str, str], clock: dict[str, Any]) -> list[Node]:
    """Return the nodes that show the arm; the launch goes on when they end."""
    arm = scenario.arm()
    has_rviz = is_true(values["rviz"])
    has_viewer = is_true(values["viewer"])
    nodes = []
    if has_rviz and values["simulator"] != "none":
        nodes.append(robot_state_publisher(scenario.robot, values, {"use_sim_time": True}))
    if has_rviz or has_viewer:
        nodes.append(own_node("visuals", values, arm | clock))
    if has_rviz:
        nodes.append(rviz(values, {"use_sim_time": values["simulator"] != "none"}))
    if has_viewer:
        nodes.append(own_node("viewer", values, arm | {"control": is_true(values["control"])} | clock))
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
        *_name_arguments(),
        _switch("viewer", "to start the page in the browser, which has sliders when RViz is off."),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_view_nodes)])


def _view_nodes(context: LaunchContext) -> list[LogInfo | Node]:
    values = context.launch_configurations
    nodes = [robot_state_publisher(values["robot"], values, {})]
    if is_true(values["rviz"]):
        sliders = "joint_state_publisher_gui" if is_true(values["jsp_gui"]) else "joint_state_publisher"
        nodes.append(foreign_node(sliders, values))
        nodes.append(own_node("visuals", values, {}))
        nodes.append(rviz(values, {}, values["rviz_config"]))
    if is_true(values["viewer"]):
        nodes.append(own_node("viewer", values, {"control": True}))
    _require_packages(nodes)
    check_environment()
    return [LogInfo(msg=describe_reach()), *nodes]
