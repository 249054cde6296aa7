"""What commands share: types of arguments, options of robots and bags, and what these name."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_control.core import printable
from arm_control.exceptions import ArmControlError, InputError, ParameterError

MOST = 1_000_000
"""Largest count that is taken."""


def positive(text: str) -> float:
    """Read a positive, finite number; an argument type of argparse."""
    if not 0.0 < _number(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return _number(text)


def count(text: str) -> int:
    """Read a whole number from 1 to a million; an argument type of argparse."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to {MOST}")
    return int(text)


def not_negative(text: str) -> float:
    """Read a finite number that is zero or positive; an argument type of argparse."""
    if not 0.0 <= _number(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is negative, or not a number")
    return _number(text)


def named_value(text: str) -> tuple[str, Any]:
    """Return name and value of a text such as ``osc.kp_linear=150.0``; the value is YAML.

    A ParameterError when it has no ``=``, or the value is no YAML.
    """
    from arm_control.core import yaml_value

    name, equals, value = text.partition("=")
    if not equals:
        raise ParameterError(f"'{text}': NAME=VALUE is needed")
    return name, yaml_value(value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def check_namespace(namespace: str) -> None:
    """Refuse an invalid ROS namespace with one sentence; ROS itself raises a long exception.

    A slash at the begin or at the end is optional.
    """
    inner = namespace.removeprefix("/").removesuffix("/")
    if inner and not re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", inner, re.ASCII):
        raise InputError(f"'{namespace}' is not a namespace; allowed: words of letters, digits and _, joined by /")


def is_xacro_argument(word: str) -> bool:
    """Whether a word of the command line has the form ``name:=value``."""
    return re.match(r"\w+:=", word) is not None


def option(default: Any, text: str, **how: Any) -> Any:
    """Return a field of a dataclass that is an option of a command, too, with how argparse reads it."""
    return field(default=default, metadata={"option": {"default": default, "help": text, **how}})


def add_options_of(parser: argparse.ArgumentParser, kind: type[Any]) -> None:
    """Add the options of a dataclass by their names; one that is true by default is ``--no-NAME``."""
    for one in fields(kind):
        if how := one.metadata.get("option"):
            is_on = one.default is True
            switch = {"action": f"store_{str(not is_on).lower()}"} if isinstance(one.default, bool) else {}
            name = one.name.replace("_", "-")
            parser.add_argument(f"--{'no-' * is_on}{name}", dest=one.name, **{**switch, **how})


if TYPE_CHECKING:
    from arm_control.maths import Array
    from arm_control.model import RobotModel
    from arm_control.simulation import Scenario

ARM_OPTIONS = ("tip", "base", "effort_limits", "velocity_limits")
"""Names of the options of :func:`add_arm_options`."""


def add_robot_option(parser: argparse._ActionsContainer, *names: str) -> None:
    """Add ``--robot``, which may have other names, too."""
    help_ = "a URDF or xacro file, or a name below urdf/"
    parser.add_argument("--robot", *names, default="", metavar="FILE", help=help_)


def add_chosen_robot(parser: argparse.ArgumentParser) -> None:
    """Add ``--robot`` and what a xacro file needs; the robot may stand without it, too, see :func:`chosen_robot`."""
    add_robot_option(parser)
    parser.add_argument("file", nargs="?", default="", help=argparse.SUPPRESS)
    add_xacro_options(parser)


def add_gravity_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--driver-adds-gravity``; see :func:`driver_adds_gravity`."""
    parser.add_argument(
        "--driver-adds-gravity",
        action="store_true",
        help="the driver adds gravity torque itself, and gets torque without it; as that parameter of the node gate",
    )


def driver_adds_gravity(options: argparse.Namespace, nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the driver adds gravity: by the option, or by the parameter of the node ``gate``.

    A ParameterError when the parameter is neither true nor false.
    """
    from arm_control.core import file_parameters

    name = "driver_adds_gravity"
    value = {**nodes.get("gate", {}), **file_parameters(options.params_file, "gate")}.get(name, False)
    if not isinstance(value, bool):
        raise ParameterError(f"{name} = {value!r}: true or false is needed")
    return value or bool(options.driver_adds_gravity)


def chosen_robot(options: argparse.Namespace) -> str:
    """Return the one robot of :func:`add_chosen_robot`, with the arguments of its xacro file."""
    if bool(options.robot) == bool(options.file):
        what = f"{options.robot} and {options.file}: one robot only" if options.robot else "name the robot"
        raise InputError(f"{what}, with --robot FILE: a URDF or xacro file, or a name below urdf/")
    return robot_of(options, options.robot or options.file)


def take_robot_for_scenario(options: argparse.Namespace) -> None:
    """Take a URDF or xacro file that stands where a scenario may stand for ``--robot``."""
    if Path(options.scenario).suffix in (".urdf", ".xacro"):
        if options.robot:
            raise InputError(f"{options.robot} and {options.scenario}: one robot only, with --robot FILE")
        options.scenario, options.robot = "", options.scenario


def add_package_path_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--package-path``."""
    parser.add_argument(
        "--package-path",
        "--mesh-root",
        action="append",
        default=[],
        metavar="DIR",
        help="folder that is a ROS package or contains some, for $(find ...) and meshes; repeatable",
    )


def add_xacro_options(parser: argparse.ArgumentParser) -> None:
    """Add what a xacro file needs: folders with packages, and in the help its arguments."""
    add_package_path_option(parser)
    parser.epilog = "Arguments of a xacro file stand anywhere, as NAME:=VALUE."
    parser.set_defaults(xacro_args=[])


def add_trust_option(parser: argparse.ArgumentParser, what: str = "a xacro file that a scenario names") -> None:
    """Add ``--trust``; ``what`` is not expanded without it."""
    parser.add_argument("--trust", action="store_true", help=f"expand {what}: it may run any code as you")


def add_chain_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the chain in a URDF."""
    parser.add_argument("--tip", default="", metavar="LINK", help="end of the chain that moves")
    parser.add_argument("--base", default="", metavar="LINK", help="start of the chain; default: the root")


def add_orientation_options(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--rpy`` and ``--quat``, of which one may be given; the default is the orientation without, in words."""
    orientation = parser.add_mutually_exclusive_group()
    orientation.add_argument(
        "--rpy", nargs=3, type=float, metavar=("ROLL", "PITCH", "YAW"), help=f"orientation [deg]; default: {default}"
    )
    orientation.add_argument("--quat", nargs=4, type=float, metavar=("X", "Y", "Z", "W"), help="orientation")


def orientation_of(options: argparse.Namespace) -> Array | None:
    """Rotation matrix of the options of :func:`add_orientation_options`; None where there is none."""
    from arm_control.maths import rotation_from_quaternion, rotation_from_rpy

    if options.rpy is not None:
        return rotation_from_rpy([math.radians(angle) for angle in options.rpy])
    return None if options.quat is None else rotation_from_quaternion(options.quat)


def arm_for_kinematics(robot: str, options: argparse.Namespace) -> RobotModel:
    """Return the model of a robot whose masses and limits of effort and speed may be missing."""
    from arm_control.model import RobotModel, find_description

    (path, arguments), tip, base = find_description(robot), options.tip or None, options.base or None
    return RobotModel.from_urdf(path, xacro_args=arguments or None, tip=tip, base=base, kinematics_only=True)


def positions_of(words: Sequence[str | float], model: RobotModel, option: str) -> Array:
    """Return the joint positions that are given with an option [rad or m].

    Parameters
    ----------
    words : sequence of str or float
        Numbers, with spaces or commas between them.

    Raises
    ------
    InputError
        When they are not one finite number for each joint.
    """
    import numpy as np

    text = " ".join(map(str, words))
    try:
        q = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise InputError(f"{option} {printable(text)}: numbers are needed [rad or m]") from None
    if len(q) != model.nq or not np.isfinite(q).all():
        names = ", ".join(map(printable, model.joint_names))
        raise InputError(f"{option} has {len(q)} positions: {model.nq} finite ones are needed, of {names}")
    return q


def add_arm_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the arm in a URDF; they take precedence over a parameter file."""
    add_chain_options(parser)
    for quantity, unit in (("effort", "N m"), ("velocity", "rad/s")):
        parser.add_argument(
            f"--{quantity}-limits",
            nargs="+",
            action="extend",
            default=[],
            metavar="JOINT:LIMIT",
            help=f"{quantity} limits to use [{unit}]",
        )


def arm_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the options of :func:`add_arm_options` say, as parameters of a node."""
    return {name: getattr(options, name) for name in ARM_OPTIONS if getattr(options, name)}


@contextmanager
def scenario_of(
    options: argparse.Namespace,
    *,
    proposes_limits: bool = True,
    nodes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[str]:
    """Yield the scenario of a command: the named one, or one that is written for ``--robot`` and removed at the end.

    Parameters
    ----------
    options : Namespace
        The options of the command line, with ``scenario``, ``robot`` and those about the arm.
    proposes_limits : bool
        Whether missing limits are proposed: only where the arm is simulated.
    nodes : mapping of str to mapping, optional
        Controller of a scenario that is written, and what sends it goals; by default ``osc`` with targets.

    Raises
    ------
    ArmControlError
        When there is neither a scenario nor a robot.
    """
    if options.scenario:
        yield options.scenario
        return
    if not options.robot:
        raise ArmControlError("name a scenario (`arm_control scenarios` lists them), or an arm with --robot FILE")
    from tempfile import TemporaryDirectory

    import numpy as np

    from arm_control.core import file_parameters
    from arm_control.model import ArmParameters, add_package_path, find_description, folders_near
    from arm_control.simulation import proposed_limits, write_scenario

    add_package_path(list(map(str, folders_near(find_description(options.robot)[0]))))  # for meshes
    params_file = getattr(options, "params_file", "")
    given = file_parameters(params_file, next(iter(nodes or {"osc": {}})))
    arm = {name: value for name, value in given.items() if name in ArmParameters.types()} | arm_of(options)
    if proposes_limits and (limits := proposed_limits(options.robot, arm)):
        arm |= limits
        print(f"not in the URDF, proposed for this simulation: {as_options(limits)}; give yours with these options")
    for name in ("effort_limits", "velocity_limits"):
        setattr(options, name, arm.get(name, []))
    start = file_parameters(params_file, "simulator").get("initial_position")
    with TemporaryDirectory(prefix="arm_control_") as folder:
        q = None if start is None else np.array(start)
        yield str(write_scenario(Path(folder), options.robot, arm, q, nodes))


def scenario_to_run(options: argparse.Namespace) -> Scenario:
    """Return the named scenario, or one of a robot by itself with operational space control, without targets.

    Values of the parameter file and of the options about the arm replace those of the scenario.

    An InputError when there is neither a robot nor a scenario, or there are both.
    """
    from dataclasses import replace

    from arm_control.controllers import CONTROLLERS, controller_file
    from arm_control.core import file_parameters
    from arm_control.simulation import Scenario, bare_scenario

    variant = getattr(options, "variant", "")
    if bool(options.scenario) == bool(options.robot or options.file):
        raise InputError("name a robot or, with --scenario, a scenario, which names its robot")
    if options.scenario:
        scenario = Scenario.load(options.scenario, trust=options.trust).variant(variant)
    elif variant:
        raise InputError(f"'{variant}' is a variant of no scenario: name it with --scenario")
    else:
        scenario = bare_scenario(chosen_robot(options))
    nodes = {
        node: {**values, **(controller_file if node in CONTROLLERS else file_parameters)(options.params_file, node)}
        for node, values in scenario.nodes.items()
    }
    if scenario.controller:
        nodes[scenario.controller] |= arm_of(options)
    return replace(scenario, nodes=nodes)


def as_options(limits: dict[str, list[str]]) -> str:
    """Return limits, by the names of their parameters, as options of a command."""
    return " ".join(f"--{name.replace('_', '-')} {' '.join(values)}" for name, values in limits.items())


def take_robot_options(options: argparse.Namespace, xacro_args: list[str]) -> None:
    """Give the arguments of a xacro file to the command, and make the folders with packages known.

    An InputError when the command reads no robot, or a value has a space.
    """
    for argument in xacro_args:
        if "xacro_args" not in options:
            raise InputError(f"'{argument}': this command takes no arguments of a xacro file")
        if not re.fullmatch(r"\w+:=\S*", argument):
            raise InputError(f"'{argument}' is no argument of a xacro file; allowed: name:=value, without spaces")
    if "xacro_args" in options:
        options.xacro_args = xacro_args
    if getattr(options, "package_path", None):
        from arm_control.model import add_package_path

        add_package_path(options.package_path)


def robot_of(options: argparse.Namespace, robot: str) -> str:
    """Return a robot's name with the arguments of its xacro file."""
    if options.xacro_args and not robot:
        raise InputError(f"'{options.xacro_args[0]}' is for a xacro file: name it with --robot")
    return " ".join([robot, *options.xacro_args])


if TYPE_CHECKING:
    from arm_control.bags import Bag, ReplayOptions

RECORDED_ARM_OPTIONS = ("namespace", "scenario", "variant", "params_file", "robot", "tip", "base", "trust")
"""Names of the options of :func:`add_recorded_arm_options`."""


def add_bag_argument(parser: argparse.ArgumentParser) -> None:
    """Add the bag as a positional argument."""
    parser.add_argument("bag", help="folder with metadata.yaml, or a file .mcap, .db3 or .bag")


def add_recorded_arm_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the arm and its scenario; the defaults are in the bag."""
    arm = parser.add_argument_group("the arm; by default as recorded in the bag")
    arm.add_argument("--namespace", default="", help="namespace of the arm, in a recording of several arms")
    arm.add_argument("--scenario", default="", help="name, or path of a YAML file")
    arm.add_argument("--variant", default="", help="one of the scenario's variants")
    arm.add_argument(
        "--params-file", default="", metavar="FILE", help="a ROS parameter file; replaces the recorded values"
    )
    add_robot_option(arm, "--urdf")
    add_xacro_options(parser)
    add_trust_option(parser)
    arm.add_argument("--tip", default="", metavar="LINK", help="end of the chain that moved")
    arm.add_argument("--base", default="", metavar="LINK", help="start of the chain")


def replay_options(options: argparse.Namespace) -> ReplayOptions:
    """Return the arm, scenario and controller that the options name.

    An ArmControlError when a scenario and a controller are both named.
    """
    from arm_control.bags import ReplayOptions

    controller = getattr(options, "controller", "")
    if options.scenario and controller:
        raise ArmControlError("--scenario and --controller: only one of them is allowed")
    changes = {name: getattr(options, name) for name in ("tip", "base") if getattr(options, name)}
    robot = robot_of(options, options.robot)
    return ReplayOptions(
        options.scenario, options.variant, controller, options.params_file, robot, changes, options.trust
    )


def open_bag(options: argparse.Namespace) -> Bag:
    """Read the bag of the options, and print its damage."""
    from arm_control.bags import read_bag

    bag = read_bag(options.bag)
    bag.namespace = options.namespace
    for damage in bag.damage:
        print(f"damaged: {damage}")
    return bag


def print_unread(bag: Bag) -> None:
    """Print the topics that could not be read, and the count of malformed messages."""
    for topic in bag.topics:
        if topic.error:
            print(f"not read: {topic.name}: {topic.error}")
    for (topic_name, cause), count in bag.malformed.items():
        print(f"malformed: {topic_name}: {count} messages: {cause}")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_force_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--force``; see :func:`refuse_existing_file`."""
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def refuse_existing_file(path: Path, options: argparse.Namespace) -> None:
    """Refuse to overwrite a file without ``--force``."""
    if path.exists() and not options.force:
        raise InputError(f"{path} exists already: choose another name, or --force to overwrite it")


def folder_beside(bag: str, ending: str) -> Path:
    """Return the path of a folder beside a bag, named after it."""
    path = Path(bag)
    path = path if path.name not in ("", "..") else path.resolve()
    return path.with_name(f"{path.stem if path.is_file() else path.name}_{ending}")
