"""The command ``arm_control``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from arm_control import __version__
from arm_control.app.commands import (
    cache_command,
    check_command,
    compare_command,
    completion_command,
    distance_command,
    enable_command,
    excite_command,
    faults_command,
    identify_command,
    ik_command,
    learn_command,
    pose_command,
    primitive_command,
    record_command,
    replay_command,
    report_command,
    run_command,
    scenarios_command,
    simulate_command,
    target_command,
    tune_command,
    view_command,
    watch_command,
)
from arm_control.app.commands.argument_types import check_namespace
from arm_control.app.commands.robot_options import is_xacro_argument, take_robot_options
from arm_control.exceptions import ArmControlError
from arm_control.model.urdf.xml import printable

COMMANDS = (
    run_command,
    view_command,
    target_command,
    pose_command,
    ik_command,
    simulate_command,
    record_command,
    replay_command,
    report_command,
    excite_command,
    identify_command,
    learn_command,
    primitive_command,
    scenarios_command,
    check_command,
    distance_command,
    compare_command,
    enable_command,
    watch_command,
    faults_command,
    tune_command,
    cache_command,
    completion_command,
)
"""In the order of ``arm_control --help``."""
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
    xacro_args = [word for word in words if is_xacro_argument(word)]
    options = _parser().parse_args([word for word in words if word not in xacro_args])
    try:
        take_robot_options(options, xacro_args)
        check_namespace(getattr(options, "namespace", ""))
        return int(options.command(options))
    except KeyboardInterrupt:  # Ctrl-C is not an error
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        sys.stdout = None  # type: ignore[assignment]
        return 0
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ROS:
            raise
        print(f"arm_control: {NO_ROS}", file=sys.stderr)
        return 2
    except ArmControlError as error:
        lines = map(printable, f"arm_control: {error}".split("\n"))
        print("\n".join(lines), file=sys.stderr)
        return 2
    except OSError as error:  # such as a full disk
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(printable(f"arm_control: {what}"), file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="arm_control", description="Torque control of robot arms.")
    parser.add_argument("--version", action="version", version=f"arm_control {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_command(commands)
        *_, command = commands.choices.values()
        command.formatter_class = _HelpFormatter
        examples = "\n".join([EXAMPLES, *(f"  arm_control {example}" for example in module.EXAMPLES)])
        command.epilog = "\n\n".join(filter(None, [command.epilog, examples]))
    return parser


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of the examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(
            part if part.startswith(EXAMPLES) else super(_HelpFormatter, self)._fill_text(part, width, indent)
            for part in paragraphs
        )


if __name__ == "__main__":
    sys.exit(main())
