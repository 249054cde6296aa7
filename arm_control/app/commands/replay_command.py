"""``arm_control replay``: a bag onto live topics, through a controller, or through the model."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from arm_control.app.commands import shared
from arm_control.app.commands.shared import not_negative, positive
from arm_control.controllers import CONTROLLERS
from arm_control.exceptions import ArmControlError

if TYPE_CHECKING:
    from arm_control.bags import Bag, Comparison
    from arm_control.model import RobotModel

TOLERANCE = 1e-9
"""Largest difference between a replayed and a recorded torque, as a share of the joint's limit."""
MODE_OPTIONS = {
    "onto live topics": ("rate", "start", "duration", "topics", "loop", "clock", "arm", "wait"),
    "with --offline": ("offline", "tolerance", "output", "controller", *shared.RECORDED_ARM_OPTIONS),
    "with --model": ("model", "topic", *shared.RECORDED_ARM_OPTIONS),
}
"""Options that each mode of a replay accepts."""

EXAMPLES = ("replay my_bag --offline", "replay my_bag --rate 0.5", "replay my_bag --model")


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_bag_argument(parser)
    live = parser.add_argument_group("onto live topics")
    live.add_argument("--rate", type=positive, default=1.0, metavar="R", help="speed, as a factor")
    live.add_argument("--start", type=not_negative, default=0.0, metavar="S", help="seconds to skip")
    live.add_argument("--duration", type=positive, default=0.0, metavar="S", help="seconds to play")
    live.add_argument("--topics", nargs="+", default=[], metavar="TOPIC", help="only these")
    live.add_argument("--loop", action="store_true", help="repeat until Ctrl-C")
    live.add_argument("--clock", action="store_true", help="publish the recording's time on /clock")
    live.add_argument("--arm", action="store_true", help="also topics from which torque may reach an arm")
    live.add_argument("--wait", action="store_true", help="begin when every played topic has a subscriber")
    offline = parser.add_argument_group("without ROS")
    mode = offline.add_mutually_exclusive_group()
    mode.add_argument("--offline", action="store_true", help="recorded states through a controller, and compare")
    mode.add_argument("--model", action="store_true", help="inverse dynamics, compared with the recorded effort")
    offline.add_argument("--tolerance", type=not_negative, default=TOLERANCE, help="share of a joint's torque limit")
    offline.add_argument("-o", "--output", default="", metavar="FOLDER", help="write the new commands there, as a bag")
    offline.add_argument("--topic", default="joint_states", help="with --model: topic of the joint states")
    offline.add_argument("--controller", default="", choices=CONTROLLERS, help="a controller instead of a scenario's")
    shared.add_recorded_arm_options(parser)
    parser.set_defaults(defaults=vars(parser.parse_args(["BAG"])))


def run(options: argparse.Namespace) -> int:
    """Play a bag onto live topics; or, without ROS, pass its states through a controller and compare the torque.

    Exit status of --offline: 0 when the commands agree with the recorded ones, 1 when not.
    """
    _refuse_options_of_another_mode(options)
    bag = shared.open_bag(options)
    if options.model:
        status = _replay_model(bag, options)
    elif options.offline:
        status = _replay_offline(bag, options)
    else:
        status = _replay_live(bag, options)
    shared.print_unread(bag)
    return status


def _refuse_options_of_another_mode(options: argparse.Namespace) -> None:
    """Refuse options that another mode needs: a forgotten ``--offline`` must not move an arm."""
    mode = "with --model" if options.model else "with --offline" if options.offline else "onto live topics"
    changed = [name for name, value in options.defaults.items() if name != "bag" and getattr(options, name) != value]
    refused = ", ".join(f"--{name.replace('_', '-')}" for name in changed if name not in MODE_OPTIONS[mode])
    if refused:
        hint = "" if options.model or options.offline else "; --offline or --model is missing"
        raise ArmControlError(f"a replay {mode} does not take {refused}{hint}")


def _replay_live(bag: Bag, options: argparse.Namespace) -> int:
    from arm_control.nodes import PlaybackOptions, play

    values = {field.name: getattr(options, field.name) for field in fields(PlaybackOptions)}
    count = play(bag, PlaybackOptions(**{**values, "topics": tuple(options.topics)}))
    print(f"{count} messages played")
    return 0


def _replay_offline(bag: Bag, options: argparse.Namespace) -> int:
    from arm_control.bags import compare, controller_of, recorded_commands, refuse_existing, replayed_commands
    from arm_control.controllers import row_of

    if options.output:
        refuse_existing(options.output)
    model, parameters = controller_of(bag, shared.replay_options(options))
    recorded = recorded_commands(bag, model)
    replayed = replayed_commands(bag, model, parameters)
    print(f"{len(replayed.stamps)} states answered by the controller {row_of(parameters).name}")
    if options.output:
        _write_commands(options.output, model, replayed)
    if not len(recorded.stamps):
        print("the bag has no commands to compare with")
        return 0
    comparison = compare(recorded, replayed, model, options.tolerance)
    print(_comparison_table(comparison, model, options.tolerance))
    return 1 if comparison.first or comparison.missing else 0


def _comparison_table(comparison: Comparison, model: RobotModel, tolerance: float) -> str:
    from arm_control.report import text_table

    rows = [("joint", "largest difference", "of its limit")]
    for name, share, limit in zip(model.joint_names, comparison.largest, model.tau_max, strict=True):
        rows.append((name, f"{share * limit:.3g}", f"{share:.3g}"))
    lines = [text_table(rows, (28, 20, 16), gap="")]
    same = "the same to the last bit" if comparison.identical else f"largest {comparison.largest.max():.3g} of a limit"
    lines.append(f"{comparison.compared} commands compared: {same}")
    if comparison.missing:
        lines.append(f"MISS  {comparison.missing} recorded commands answer no recorded state")
    if comparison.first:
        lines.append(f"MISS  first difference above {tolerance:g}: {comparison.first}")
    return "\n".join(lines)


def _write_commands(path: str, model: RobotModel, commands: Any) -> None:
    from arm_control.bags import BagWriter, plain
    from arm_control.messages import JOINT_STATE

    with BagWriter(path, custom={"recorded": "replay"}) as bag:
        bag.add("/joint_commands", JOINT_STATE)
        for stamp_ns, tau in zip(commands.stamps.tolist(), commands.tau, strict=True):
            bag.put("/joint_commands", stamp_ns, plain.joint_state(model.joint_names, stamp_ns, effort=tau))
    print(f"wrote {path}")


def _replay_model(bag: Bag, options: argparse.Namespace) -> int:
    from arm_control.bags import arm_of, require_states
    from arm_control.report import WINDOW, inverse_dynamics, summary, text_table

    series = require_states(bag, options.topic).increasing()
    model = arm_of(bag, shared.replay_options(options), series.names)
    print(f"{len(series.stamps)} states; accelerations from lines fitted to the velocities within {WINDOW:g} s\n")
    rows = summary(series, model, *inverse_dynamics(series, model))
    print(text_table(rows, (28, *[14] * len(rows[0][1:])), gap=""))
    return 0
