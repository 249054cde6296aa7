"""The command ``arm_control``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from arm_control import __version__
from arm_control.app.commands.shared import check_namespace, is_xacro_argument, take_robot_options
from arm_control.core import printable, refuse_unknown
from arm_control.exceptions import ArmControlError

GROUPS = {
    "every day": {
        "demo": "show a UR5 in simulation, in the browser",
        "run": "run a scenario: simulator, controller and all",
        "simulate": "run a scenario without ROS",
        "sweep": "run a scenario many times, on many cores",
        "scenarios": "list the scenarios",
        "view": "show a robot in the browser",
        "target": "send the hand of a running arm somewhere",
        "pose": "print where the hand of a running arm is, or of any arm",
        "ik": "joint positions that put the hand at a pose",
        "check": "print a URDF's content and problems",
        "completion": "print a script with which Tab completes",
    },
    "motions": {
        "plan": "plan motions among obstacles, and check them",
        "distance": "distances of an arm from obstacles and itself",
        "guide": "let a hand move an arm, and record it",
        "play": "follow waypoints that a hand has shown",
        "learn": "a movement primitive from a bag",
        "primitive": "show a movement primitive, or list them",
        "attractor": "point attractors in spiking neurons: figures and a picture",
    },
    "bags": {
        "record": "record topics into a bag",
        "replay": "play a bag, live or offline",
        "report": "a page and pictures of a bag",
    },
    "a real arm": {
        "gate": "run the gate between a controller and a driver",
        "node": "run nodes by name",
        "topics": "list topics, or print the messages of one",
        "watch": "show what gates do with commands",
        "enable": "let gates pass commands again after a brake",
        "tune": "change or save the gains of a running node",
        "excite": "a trajectory to identify an arm with",
        "identify": "friction, rotors and payload from a bag",
        "serve": "answer the states of a driver that is not ROS, over UDP",
        "export": "write a controller as C, for programs without Python",
    },
    "development": {
        "formula": "formulas of a small arm as Python, C or LaTeX",
        "compare": "compare an arm's dynamics with Pinocchio's and MuJoCo's",
        "faults": "simulate faults of messages and processes",
        "cache": "list or clear the cache",
    },
}
"""What each command does, in the order of ``arm_control --help``; its module is imported when it is chosen."""
GROUP_EXAMPLES = {
    "every day": "run --robot my_arm.urdf --viewer --control",
    "motions": "plan planar4_disc --seeds 10 --report pictures",
    "bags": "replay my_bag --offline",
    "a real arm": "run ur5_osc --simulator none --no-targets --params-file my_arm.yaml",
    "development": "compare ur5",
}
COMMANDS = {name: does for commands in GROUPS.values() for name, does in commands.items()}
OF_ROS = ("gate", "node")
"""Commands for which ``name:=value`` is an argument of ROS, not of a xacro file."""
EXAMPLES = "examples:"
ROS = (
    "rclpy",
    *(f"{name}_msgs" for name in ("sensor", "std", "geometry", "trajectory", "visualization", "diagnostic")),
)
"""Modules of ROS without which its commands do not start."""
NO_ROS = (
    "ROS is not installed here, and this command needs it: source a ROS 2 installation,"
    f" or {sys.executable} -m pip install 'arm_control[ros]'"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_of_ros = bool(words) and words[0] in OF_ROS
    xacro_args = [word for word in words if is_xacro_argument(word) and not is_of_ros]
    words = [word for word in words if word not in xacro_args]
    try:
        options = parser_for(words).parse_args(words)
        take_robot_options(options, xacro_args)
        check_namespace(getattr(options, "namespace", ""))
        return int(options.command(options))
    except KeyboardInterrupt:  # Ctrl-C is not an error
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        sys.stdout = None  # type: ignore[assignment]
        return 0
    except ArmControlError as error:  # some of them are an ImportError, too
        lines = [printable(line) for line in f"arm_control: {error}".split("\n")]
    except (ImportError, RuntimeError) as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # in the middle of loading rclpy, or of making a class
            return 130
        if not isinstance(error, ModuleNotFoundError) or (error.name or "").partition(".")[0] not in ROS:
            raise
        lines = [f"arm_control: {NO_ROS}"]
    except OSError as error:  # such as a full disk
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        lines = [printable(f"arm_control: {what}")]
    print("\n".join(lines), file=sys.stderr)
    return 2


def parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for a command line: with all options of the command that it begins with, else with the list."""
    description = "Torque control of robot arms. Each command has examples: arm_control COMMAND --help."
    parser = argparse.ArgumentParser(
        prog="arm_control", description=description, epilog=_listed(), formatter_class=_HelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"arm_control {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", help="one of those below")
    chosen = next((word for word in words if not word.startswith("-")), "")
    if chosen in COMMANDS:
        add_command(chosen, commands)
    elif chosen:
        refuse_unknown({chosen: None}, COMMANDS, "COMMAND")
    return parser


def _listed() -> str:
    """The commands in groups, each with an example."""
    width = max(map(len, COMMANDS))
    groups = [
        "\n".join([f"{title}:", *(f"  {name:{width}}  {does}" for name, does in commands.items())])
        + f"\n  for example: arm_control {GROUP_EXAMPLES[title]}"
        for title, commands in GROUPS.items()
    ]
    return "\n\n".join(groups)


def add_command(name: str, commands: Any) -> None:
    """Add a command with its options to subparsers."""
    module = import_module(f"arm_control.app.commands.{name}_command")
    command = commands.add_parser(name, description=module.run.__doc__, formatter_class=_HelpFormatter)
    module.add_options(command)
    command.set_defaults(command=module.run)
    examples = "\n".join([EXAMPLES, *(f"  arm_control {example}" for example in module.EXAMPLES)])
    command.epilog = "\n\n".join(filter(None, [command.epilog, examples]))


def all_parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all commands by their names."""
    commands: Any = argparse.ArgumentParser(prog="arm_control").add_subparsers()
    for name in COMMANDS:
        add_command(name, commands)
    return dict(commands.choices)


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of examples and lists."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(
            part if "\n  " in part else super(_HelpFormatter, self)._fill_text(part, width, indent)
            for part in paragraphs
        )


if __name__ == "__main__":
    sys.exit(main())
