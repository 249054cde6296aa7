"""``arm_control learn``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_control.app.commands import shared
from arm_control.app.commands.shared import count, not_negative, positive
from arm_control.exceptions import BagError, InputError

if TYPE_CHECKING:
    from arm_control.bags import Bag, JointSeries, RecordedPath
    from arm_control.model import RobotModel
    from arm_control.primitives import Demonstration, Primitive

METHODS = ("least_squares", "locally_weighted")
EXAMPLES = (
    "learn my_bag --out reach.yaml --start 1.2 --duration 2.5",
    "learn my_bag --out walk.yaml --rhythmic --joints hip knee ankle",
    "learn my_bag --out draw.yaml --end-effector --robot my_arm.urdf",
    "learn demonstration.yaml --out walk.yaml --rhythmic",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_bag_argument(parser)
    parser.epilog = "A YAML file, like those of config/demonstrations, may stand for the bag."
    parser.add_argument("-o", "--out", "--output", required=True, metavar="FILE", help="YAML file to write")
    parser.add_argument("--picture", default="", metavar="PNG", help="picture to draw, with the demonstration")
    parser.add_argument("--description", default="", metavar="TEXT", help="of the file; default: its origin")
    parser.add_argument("--topic", default="joint_states", help="topic of the joint states")
    space = parser.add_mutually_exclusive_group()
    space.add_argument(
        "--joints", nargs="+", default=[], metavar="NAME", help="these joints; default: those of the arm, or all"
    )
    space.add_argument("--end-effector", action="store_true", help="poses of the end effector instead of joints")
    parser.add_argument("--start", type=not_negative, default=0.0, metavar="S", help="seconds to skip")
    parser.add_argument("--duration", type=positive, default=0.0, metavar="S", help="seconds to learn from")
    parser.add_argument("--rate", type=positive, default=1.0, metavar="R", help="speed of the motion, as a factor")
    parser.add_argument(
        "--rhythmic",
        type=positive,
        nargs="?",
        const=0.0,
        metavar="S",
        help="a motion that repeats itself; S: its period, where the part has several",
    )
    parser.add_argument("--basis", type=count, default=25, metavar="N", help="basis functions; default: 25")
    parser.add_argument("--method", choices=METHODS, default=METHODS[0], help=f"default: {METHODS[0]}")
    shared.add_recorded_arm_options(parser)


def run(options: argparse.Namespace) -> int:
    """Learn a movement primitive from the motion in a bag; write its file, and say how well it reproduces the motion.

    Times count from the first state. What makes the part a poor demonstration is named.
    """
    from arm_control.bags import oddities_of_path
    from arm_control.primitives import Primitive, PrimitiveFile
    from arm_control.report import reproduce

    path, model, notes = _written(options) if Path(options.bag).suffix == ".yaml" else _recorded(options)
    is_rhythmic = options.rhythmic is not None
    demonstration = _demonstration(path, model, options)
    primitive = Primitive.learn(
        demonstration,
        "rhythmic" if is_rhythmic else "discrete",
        options.basis,
        options.method,
        period=options.rhythmic or None,
    )
    demonstrated, motion, rms = reproduce(primitive, demonstration)
    print(_summary(primitive, path, options))
    _print_figures(primitive, rms)
    for note in [*notes, *oddities_of_path(path, is_rhythmic=is_rhythmic)]:
        print(f"note: {note}")
    PrimitiveFile(primitive, _origin(options)).save(options.out)
    print(f"wrote {options.out}")
    if options.picture:
        from arm_control.report import draw_primitive

        draw_primitive(Path(options.picture), primitive, Path(options.out).stem, (demonstrated, motion))
        print(f"wrote {options.picture}")
    return 0


def _written(options: argparse.Namespace) -> tuple[RecordedPath, None, list[str]]:
    """The part of a demonstration's file to learn from, without an arm and notes."""
    from arm_control.bags import RecordedPath
    from arm_control.primitives import load_demonstration

    if options.joints or options.end_effector:
        raise InputError(f"--joints and --end-effector are for bags; {options.bag} names the joints that are learned")
    shown = load_demonstration(options.bag)
    path = RecordedPath(shown.names, shown.times, shown.positions)
    return path.part(options.start, options.duration, options.rate), None, []


def _recorded(options: argparse.Namespace) -> tuple[RecordedPath, RobotModel | None, list[str]]:
    """The part of a bag to learn from, its arm, and what is odd about its states."""
    from arm_control.bags import oddities_of_states, require_states

    bag = shared.open_bag(options)
    try:
        series = require_states(bag, options.topic)
    finally:
        shared.print_unread(bag)
    model = _arm(bag, series, options)
    return _path(series, model, options), model, oddities_of_states(series)


def _arm(bag: Bag, series: JointSeries, options: argparse.Namespace) -> RobotModel | None:
    """The arm of the recording; None where it is unknown, and not needed."""
    from arm_control.bags import arm_of

    try:
        return arm_of(bag, shared.replay_options(options), series.names)
    except BagError:
        if options.end_effector or options.robot or options.scenario:
            raise
        return None


def _path(series: JointSeries, model: RobotModel | None, options: argparse.Namespace) -> RecordedPath:
    """The part of the recording to learn from."""
    import numpy as np

    from arm_control.bags import recorded_path

    arm = () if model is None else model.joint_names
    path = recorded_path(series, options.joints or arm)
    continuous = () if model is None else tuple(np.array(arm)[np.isinf(model.q_max)].tolist())
    return path.unwrapped(continuous).part(options.start, options.duration, options.rate)


def _demonstration(path: RecordedPath, model: RobotModel | None, options: argparse.Namespace) -> Demonstration:
    import numpy as np

    from arm_control.maths import quaternion_from_rotation
    from arm_control.primitives import Demonstration

    if not options.end_effector:
        return Demonstration(path.t, path.q, names=path.names)
    if model is None:
        raise InputError("--end-effector needs the arm: --robot FILE")
    poses = path.poses(model)
    quats = np.array([quaternion_from_rotation(X.R) for X in poses])
    return Demonstration(path.t, np.array([X.p for X in poses]), quats, frame=model.base)


def _origin(options: argparse.Namespace) -> str:
    """Where a primitive comes from, in one sentence."""
    end = f"{options.start + options.duration:g} s" if options.duration else "the end"
    return options.description or f"learned from {Path(options.bag).resolve().name}, {options.start:g} s to {end}"


def _summary(primitive: Primitive, path: RecordedPath, options: argparse.Namespace) -> str:
    what = "the end effector" if options.end_effector else f"{len(path.names)} joints"
    word = "period" if primitive.kind == "rhythmic" else "duration"
    return (
        f"{primitive.kind} primitive of {what}: {len(path.t)} states, {word} {primitive.duration:.3f} s,"
        f" {primitive.n_basis} basis functions ({options.method})\n"
    )


def _print_figures(primitive: Primitive, rms: Any) -> None:
    from arm_control.report import poor_coordinates, primitive_table, text_table

    print(text_table(primitive_table(primitive, rms)))
    print()
    if poor := poor_coordinates(primitive, rms):
        print(f"note: {', '.join(poor)}: the reproduction is off by more than 2 % of the way; more --basis may help")
