"""The commands ``arm_control record``, ``replay`` and ``report``."""

from __future__ import annotations

import argparse
import os
import re
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_control.exceptions import ArmControlError, InputError

if TYPE_CHECKING:
    from arm_control.messages.bags.reader import Bag
    from arm_control.messages.bags.replay import Comparison
    from arm_control.messages.bags.replay_setup import Choice
    from arm_control.model import RobotModel

TOLERANCE = 1e-9
"""How far a replayed torque may be from the recorded one, as a share of the joint's limit."""
THE_ARM = ("namespace", "scenario", "variant", "params_file", "urdf", "tip", "base")
WAYS = {
    "onto live topics": ("rate", "start", "duration", "topics", "loop", "clock", "arm", "wait"),
    "with --offline": ("offline", "tolerance", "output", "controller", *THE_ARM),
    "with --model": ("model", "topic", *THE_ARM),
}
"""Which options each way of replaying takes."""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of ``arm_control``."""
    record = commands.add_parser("record", help="record topics into a bag", description=_record.__doc__)
    record.add_argument("topics", nargs="*", help="names of topics; all of known types, if not given")
    record.add_argument("-o", "--output", default="", metavar="FOLDER", help="the bag; a name with the time by default")
    record.add_argument("--storage", default="mcap", choices=("mcap", "sqlite3"))
    record.add_argument("--namespace", default="", help="only topics below it")
    record.set_defaults(command=_record)
    _add_replay(commands.add_parser("replay", help="play a bag, live or offline", description=_replay.__doc__))
    report = commands.add_parser("report", help="a page and pictures of a bag", description=_report.__doc__)
    report.add_argument("bag", help="folder with metadata.yaml, or a file .mcap, .db3 or .bag")
    report.add_argument("-o", "--output", default="", metavar="DIR", help="where to; BAG_report by default")
    report.add_argument("--topic", default="joint_states", help="where the joints are")
    _add_arm(report)
    report.set_defaults(command=_report)


def _add_replay(replay: argparse.ArgumentParser) -> None:
    replay.add_argument("bag", help="folder with metadata.yaml, or a file .mcap, .db3 or .bag")
    live = replay.add_argument_group("onto live topics")
    live.add_argument("--rate", type=positive, default=1.0, metavar="R", help="speed, as a factor")
    live.add_argument("--start", type=not_negative, default=0.0, metavar="S", help="seconds to skip")
    live.add_argument("--duration", type=positive, default=0.0, metavar="S", help="seconds to play")
    live.add_argument("--topics", nargs="+", default=[], metavar="TOPIC", help="only these")
    live.add_argument("--loop", action="store_true", help="again and again")
    live.add_argument("--clock", action="store_true", help="publish the recording's time on /clock")
    live.add_argument("--arm", action="store_true", help="also topics from which torque may reach an arm")
    live.add_argument("--wait", action="store_true", help="begin when every topic that is played has a listener")
    offline = replay.add_argument_group("without ROS")
    way = offline.add_mutually_exclusive_group()
    way.add_argument("--offline", action="store_true", help="recorded states through a controller, and compare")
    way.add_argument("--model", action="store_true", help="inverse dynamics instead, beside recorded effort")
    offline.add_argument("--tolerance", type=not_negative, default=TOLERANCE, help="share of a joint's torque limit")
    offline.add_argument("-o", "--output", default="", metavar="FOLDER", help="write the new commands there, as a bag")
    offline.add_argument("--topic", default="joint_states", help="with --model: where the joints are")
    offline.add_argument("--controller", default="", choices=("osc", "joint", "ilqr"), help="instead of a scenario's")
    _add_arm(replay)
    replay.set_defaults(command=_replay, defaults=vars(replay.parse_args(["BAG"])))


def _add_arm(parser: argparse.ArgumentParser) -> None:
    arm = parser.add_argument_group("the arm; what is not given is what the bag says")
    arm.add_argument("--namespace", default="", help="whose topics, in a recording of several arms")
    arm.add_argument("--scenario", default="", help="name, or path of a YAML file")
    arm.add_argument("--variant", default="", help="one of the scenario's variants")
    arm.add_argument("--params-file", default="", metavar="FILE", help="a ROS parameter file; its values come last")
    arm.add_argument("--urdf", default="", metavar="FILE", help="a robot's name, or a URDF or xacro file")
    arm.add_argument("--tip", default="", metavar="LINK", help="end of the chain that moved")
    arm.add_argument("--base", default="", metavar="LINK", help="start of the chain")


def positive(text: str) -> float:
    """Number of a command line that is above zero."""
    if not 0.0 < _number(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return _number(text)


def not_negative(text: str) -> float:
    """Number of a command line that is not below zero."""
    if not 0.0 <= _number(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is negative, or not a number")
    return _number(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def refuse_namespace(namespace: str) -> None:
    """Refuse what ROS takes for no namespace, before it does so in many words; a slash at its ends is not needed."""
    inner = namespace.removeprefix("/").removesuffix("/")
    if inner and not re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", inner, re.ASCII):
        raise InputError(f"'{namespace}' is no namespace; allowed: letters, digits and _, in words that a / joins")


def _record(options: argparse.Namespace) -> int:
    """Record topics until Ctrl-C: all of known types, as they appear, or those that are named.

    Exit status: 0, or 1 when nothing was heard.
    """
    from arm_control.nodes.tools.bag_recorder import Wanted, record

    path = options.output or time.strftime("bag_%Y_%m_%d-%H_%M_%S")
    wanted = Wanted(tuple(options.topics), options.namespace)
    which = ", ".join(wanted.topics) or "all topics"
    greeting = f"recording {which} into the folder {path}; Ctrl-C ends it"
    count = record(path, options.storage, wanted, {}, greeting=greeting)
    print(f"{path}: {count} messages" if count else _nothing_heard(path))
    return 0 if count else 1


def _nothing_heard(path: str) -> str:
    names = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE")
    here = ", ".join(f"{name} ({os.environ.get(name) or 'not set'})" for name in names)
    return f"nothing was heard, {path} was not written: is anything published, with the same {here} as here?"


def _replay(options: argparse.Namespace) -> int:
    """Play a bag onto live topics, or, without ROS, put its states through a controller and compare its torque.

    Exit status of --offline: 0 when the recorded commands are met, 1 when not.
    """
    _refuse_options_of_another_way(options)
    bag = _opened(options)
    if options.model:
        status = _replay_model(bag, options)
    elif options.offline:
        status = _replay_offline(bag, options)
    else:
        status = _replay_live(bag, options)
    _tell_malformed(bag)
    return status


def _refuse_options_of_another_way(options: argparse.Namespace) -> None:
    """Who forgets ``--offline`` must not move an arm by it."""
    way = "with --model" if options.model else "with --offline" if options.offline else "onto live topics"
    given = [name for name, default in options.defaults.items() if name != "bag" and getattr(options, name) != default]
    stray = ", ".join(f"--{name.replace('_', '-')}" for name in given if name not in WAYS[way])
    if stray:
        hint = "" if options.model or options.offline else "; --offline or --model is missing"
        raise ArmControlError(f"a replay {way} does not take {stray}{hint}")


def _opened(options: argparse.Namespace) -> Bag:
    """Read the bag, and say what is damaged."""
    from arm_control.messages.bags.reader import read_bag

    bag = read_bag(options.bag)
    bag.namespace = options.namespace
    for damage in bag.damage:
        print(f"damaged: {damage}")
    return bag


def _replay_live(bag: Bag, options: argparse.Namespace) -> int:
    from arm_control.nodes.tools.bag_player import Playing, play

    names = [field.name for field in fields(Playing)]
    values = {name: getattr(options, name) for name in names}
    count = play(bag, Playing(**{**values, "topics": tuple(options.topics)}))
    print(f"{count} messages played")
    return 0


def _replay_offline(bag: Bag, options: argparse.Namespace) -> int:
    from arm_control.messages.bags.replay import compare, recorded_commands, replayed_commands
    from arm_control.messages.bags.replay_setup import controller_of
    from arm_control.messages.bags.writer import refuse_existing

    if options.output:
        refuse_existing(options.output)
    model, parameters = controller_of(bag, _choice(options))
    recorded = recorded_commands(bag, model)
    replayed = replayed_commands(bag, model, parameters)
    print(f"{len(replayed.stamps)} states answered by {type(parameters).__name__.removesuffix('Simulation').lower()}")
    if options.output:
        _write_commands(options.output, model, replayed)
    if not len(recorded.stamps):
        print("the bag has no commands to compare with")
        return 0
    comparison = compare(recorded, replayed, model, options.tolerance)
    print(_compared(comparison, model, options.tolerance))
    return 1 if comparison.first or comparison.missing else 0


def _compared(comparison: Comparison, model: RobotModel, tolerance: float) -> str:
    lines = [f"{'joint':28}{'largest difference':>20}{'of its limit':>16}"]
    for name, share, limit in zip(model.joint_names, comparison.largest, model.tau_max, strict=True):
        lines.append(f"{name:28}{share * limit:20.3g}{share:16.3g}")
    same = "the same to the last bit" if comparison.identical else f"largest {comparison.largest.max():.3g} of a limit"
    lines.append(f"{comparison.compared} commands compared: {same}")
    if comparison.missing:
        lines.append(f"MISS  {comparison.missing} recorded commands answer no recorded state")
    if comparison.first:
        lines.append(f"MISS  first difference above {tolerance:g}: {comparison.first}")
    return "\n".join(lines)


def _write_commands(path: str, model: RobotModel, commands: Any) -> None:
    from arm_control.messages.bags.message_definitions import plain
    from arm_control.messages.bags.writer import BagWriter
    from arm_control.messages.build import JOINT_STATE

    with BagWriter(path, custom={"recorded": "replay"}) as bag:
        bag.add("/joint_commands", JOINT_STATE)
        for stamp_ns, tau in zip(commands.stamps.tolist(), commands.tau, strict=True):
            bag.put("/joint_commands", stamp_ns, plain.joint_state(model.joint_names, stamp_ns, effort=tau))
    print(f"wrote {path}")


def _replay_model(bag: Bag, options: argparse.Namespace) -> int:
    from arm_control.messages.bags.contents import joint_series, need
    from arm_control.messages.bags.replay_setup import arm_of
    from arm_control.report.inverse_dynamics import WINDOW, inverse_dynamics, summary

    series = need(joint_series(bag, options.topic), options.topic, bag).increasing()
    model = arm_of(bag, _choice(options), series.names)
    print(f"{len(series.stamps)} states; accelerations by lines fitted to the velocities within {WINDOW:g} s\n")
    for name, *cells in summary(inverse_dynamics(series, model), model):
        print(f"{name:28}" + "".join(f"{cell:>14}" for cell in cells))
    return 0


def _report(options: argparse.Namespace) -> int:
    """Write a page about a bag, with pictures: what is in it, tracking, torque, timing, power."""
    from arm_control.report.bag_report import write_report

    bag = _opened(options)
    path = Path(options.bag)
    path = path if path.name not in ("", "..") else path.resolve()
    name = path.stem if path.is_file() else path.name
    folder = Path(options.output or path.with_name(f"{name}_report"))
    for written in write_report(bag, folder, _choice(options), options.topic):
        print(f"wrote {written}")
    _tell_malformed(bag)
    return 0


def _choice(options: argparse.Namespace) -> Choice:
    from arm_control.messages.bags.replay_setup import Choice

    if options.scenario and getattr(options, "controller", ""):
        raise ArmControlError("--scenario and --controller: one of them")
    changes = {name: getattr(options, name) for name in ("tip", "base") if getattr(options, name)}
    controller = getattr(options, "controller", "")
    return Choice(options.scenario, options.variant, controller, options.params_file, options.urdf, changes)


def _tell_malformed(bag: Bag) -> None:
    for topic in bag.topics:
        if topic.trouble:
            print(f"not read: {topic.name}: {topic.trouble}")
    for (topic_name, cause), count in bag.malformed.items():
        print(f"malformed: {topic_name}: {count} messages: {cause}")
