"""Launch descriptions of the scenarios, for the files in ``launch/``.

Only this module imports ``launch`` and ``launch_ros``, which are part of a ROS 2 installation. The nodes of a scenario
are in ``config/scenarios``, so that ``ros2 launch`` and ``arm_control run`` start the same nodes with the same
parameters.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.events.process import ProcessExited
from launch.logging import get_logger
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from arm_control.app.torque_chain import DRIVER, Remapping, remappings_of, with_gates_behind
from arm_control.core import PARENT, file_parameters, share_path
from arm_control.exceptions import ArmControlError, NodeDied, ParameterError
from arm_control.model import find_description, read_description
from arm_control.nodes import check_environment, check_node_parameters, describe_reach, prefix_of, published_already
from arm_control.simulation import SIMULATORS, Scenario, check_parameter_file, planned

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
_BOOLEAN = ("true", "false", "True", "False")


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


def _argument(
    name: str, description: str, default: str | None = "", choices: Iterable[str] | None = None
) -> DeclareLaunchArgument:
    """Return a launch argument; None: it has no default."""
    return DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)


def _switch(name: str, purpose: str, default: str = "false") -> DeclareLaunchArgument:
    return _argument(name, f"Whether {purpose}", default, _BOOLEAN)


def _arguments(scenario: Scenario | None, planner: bool) -> list[DeclareLaunchArgument]:
    named = [_argument("scenario", "Scenario: a name below config/scenarios, or a YAML file.", None)]
    auto = ("auto", *_BOOLEAN)
    return [
        *(named if scenario is None else []),
        _argument(
            "robot",
            "Robot to simulate: a name below urdf/, or a URDF or xacro file. Unused with simulator:=none."
            " Empty: the scenario's own.",
            scenario.robot if scenario is not None else "",
        ),
        _argument("variant", "One of the scenario's variants; empty: the first."),
        _argument(
            "simulator",
            "coppeliasim: a running one, in lock step. none: joint_states and robot_description come from "
            "a robot's driver and robot_state_publisher, or from another simulator.",
            "mujoco",
            SIMULATORS,
        ),
        _argument(
            "params_file",
            "ROS parameter file, such as config/osc.yaml; it replaces the scenario's values. Empty: none.",
        ),
        _argument(
            "gate",
            "Whether the node gate stands between controller and driver. auto: with simulator:=none.",
            *("auto", auto),
        ),
        _argument(
            "friction",
            "Whether friction, payloads and rotors are compensated. auto: with simulator:=none, and where"
            " the simulated plant has them.",
            *("auto", auto),
        ),
        _argument(
            "command_topic",
            "Topic on which the driver gets joint effort, with stamps; with simulator:=none.",
            DRIVER[0],
        ),
        _argument(
            "effort_topic",
            "Topic on which an effort controller of ros2_control gets its array; with simulator:=none.",
            DRIVER[1],
        ),
        *_name_arguments(),
        _switch("use_sim_time", "the nodes take their time from /clock, which the simulator publishes."),
        _switch(
            "targets",
            "the scenario's own targets are published. false: the arm holds until a target_pose is published.",
            "true",
        ),
        _argument("real_time_factor", "Simulated time per wall time: 0.25 is slow motion. Empty: the scenario's own."),
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
        _argument("namespace", "Namespace of all nodes; empty: none."),
        _argument(
            "frame_prefix",
            "Prefix of the frames in transforms and markers, as that of robot_state_publisher. auto: the"
            " namespace and a slash.",
            "auto",
        ),
    ]


def is_true(text: str) -> bool:
    """Return whether a launch argument is true."""
    return text.lower() == "true"


def _number(name: str, text: str) -> float:
    """Return the number that a launch argument is; refuse any other text."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{name}:={text}: a number is needed") from None


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
        if "gate" not in scenario.nodes and not scenario.simulator:
            _refuse_gravity_of_gate(scenario.controller, values["params_file"])
    if scenario.simulator:
        find_description(scenario.robot)  # an error before the first process
    driver = DRIVER if scenario.simulator else (values["command_topic"], values["effort_topic"])
    clock = {"use_sim_time": is_true(values["use_sim_time"])}
    files = [values["params_file"]] if values["params_file"] else []
    remappings = remappings_of(scenario.nodes, driver)
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


def _refuse_gravity_of_gate(controller: str, params_file: str) -> None:
    """Refuse a launch without the gate that alone would take off gravity: the driver would add it a second time."""
    name = "driver_adds_gravity"
    if file_parameters(params_file, "gate").get(name) and not file_parameters(params_file, controller).get(name):
        raise ParameterError(f"{params_file}: {name} is of the gate, which does not run: write it under /**")


def _require_packages(nodes: Iterable[Node]) -> None:
    """Refuse to start anything where a package is missing."""
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


def _refuse_second_launch(scenario: Scenario, namespace: str, driver: tuple[str, str]) -> None:
    """Refuse to start where another node simulates or drives the arm: the messages would mix."""
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
    """Return the launch description that shows a robot with sliders for its joints, in RViz as in urdf_launch."""
    arguments = [
        _argument("robot", "Robot to show: a name below urdf/, or a URDF or xacro file.", "ur4"),
        _switch("jsp_gui", "joint_state_publisher_gui shows sliders; false: joint_state_publisher, no window.", "true"),
        _switch("rviz", "to start RViz and the nodes it needs.", "true"),
        _argument("rviz_config", "RViz file; empty: that of the package."),
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


# -- one node ----------------------------------------------------------------------------------------------


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
    *files : str
        Parameter files; their values replace those of ``values``.
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
    """Return a node of another package, which has its name and ends with this process where util-linux sees to that."""
    prefix = "setpriv --pdeathsig INT" if shutil.which("setpriv") else None
    namespace = launch["namespace"]
    return Node(package=package, executable=package, name=package, namespace=namespace, prefix=prefix, **details)


def robot_state_publisher(robot: str, launch: LaunchArguments, values: dict[str, Any]) -> Node:
    """Return robot_state_publisher."""
    description = ParameterValue(read_description(robot), value_type=str)
    prefix = ParameterValue(_frame_prefix(launch), value_type=str)
    parameters = {"robot_description": description, "frame_prefix": prefix, **values}
    return foreign_node("robot_state_publisher", launch, parameters=[parameters])


def rviz(launch: LaunchArguments, values: dict[str, Any], config: str = "") -> Node:
    """Return RViz; the topics of an ``.rviz`` file have no namespace, so they are remapped into this one.

    Parameters
    ----------
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
    """
    last = "gate" if "gate" in scenario.nodes else scenario.controller
    return end_launch if scenario.simulator or name == last else stay_beside_robot


def end_launch(event: ProcessExited, context: LaunchContext) -> None:
    """End the launch when a node has ended by itself; only an exception gives an exit status.

    Raises
    ------
    NodeDied
        Unless the launch is ending already.
    """
    if not context.is_shutdown:
        raise NodeDied(_describe_exit(event))


def stay_beside_robot(event: ProcessExited, context: LaunchContext) -> None:
    """Go on, and say so: the gate brakes where the controller has ended."""
    if not context.is_shutdown:
        get_logger("launch").error(
            f"{_describe_exit(event)}; the other nodes go on: end the launch with the arm at rest"
        )


def _describe_exit(event: ProcessExited) -> str:
    return f"{event.action.node_name} ended with exit status {event.returncode}"
