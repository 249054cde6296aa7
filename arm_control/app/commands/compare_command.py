"""``arm_control compare``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.app.commands.shared import count
from arm_control.core import printable
from arm_control.exceptions import ArmControlError
from arm_control.model import ArmParameters

if TYPE_CHECKING:
    from arm_control.model import RobotModel
    from arm_control.simulation import ComparedQuantity, Dynamics

EXAMPLES = ("compare --robot ur5", "compare --robot my_arm.urdf --tip flange --json")


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    shared.add_arm_options(parser)
    parser.add_argument("--states", type=count, default=100, metavar="N", help="number of random states; default: 100")
    parser.add_argument("--seed", type=int, default=0, metavar="SEED", help="seed of the random states; default: 0")
    shared.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Compare mass matrix, bias, gravity, Jacobian and forward dynamics with Pinocchio and MuJoCo: values and time.

    Exit status: 0 when all agree, 1 when not.
    """
    from arm_control.model import read_description
    from arm_control.simulation import compare_dynamics

    description = read_description(shared.chosen_robot(options))
    model = ArmParameters.from_mapping(shared.arm_of(options)).model(description)
    libraries, reasons = _libraries(model)
    rows = compare_dynamics(model, libraries, options.states, options.seed)
    print(_as_json(model, rows, reasons, options) if options.json else _as_text(model, rows, reasons, options))
    return 0 if all(row.agrees for row in rows) else 1


def _libraries(model: RobotModel) -> tuple[dict[str, Dynamics], dict[str, str]]:
    """The libraries that are installed and take the arm, with their versions; and why another one is not there."""
    from arm_control.simulation import LIBRARIES

    libraries, reasons = {}, {}
    for name, dynamics_of in LIBRARIES.items():
        try:
            version, dynamics = dynamics_of(model)
            libraries[f"{name} {version}"] = dynamics
        except ArmControlError as error:
            reasons[name] = str(error)
    return libraries, reasons


def _as_json(
    model: RobotModel, rows: Sequence[ComparedQuantity], reasons: Mapping[str, str], options: argparse.Namespace
) -> str:
    from arm_control.simulation import QUANTITIES, TOLERANCE

    quantities = {
        row.name: {
            "meaning": QUANTITIES[row.name][0],
            "largest": row.largest,
            "difference": row.differences,
            "microseconds": {library: 1e6 * duration for library, duration in row.durations.items()},
            "agrees": row.agrees,
        }
        for row in rows
    }
    about = {"robot": model.urdf.robot.name, "tip": model.tip, "joints": list(model.joint_names)}
    how = {"states": options.states, "seed": options.seed, "tolerance": TOLERANCE, "left_out": dict(reasons)}
    return json.dumps({**about, **how, "quantities": quantities}, indent=2)


def _as_text(
    model: RobotModel, rows: Sequence[ComparedQuantity], reasons: Mapping[str, str], options: argparse.Namespace
) -> str:
    from arm_control.report import text_table
    from arm_control.simulation import OURS, QUANTITIES

    others = list(rows[0].differences)
    values = [["largest difference", "unit", "largest entry", *others, "agree"]]
    times = [["time of a call [us]", OURS, *others]]
    for row in rows:
        name, unit = f"{row.name}, {QUANTITIES[row.name][0]}", QUANTITIES[row.name][1]
        differences = [f"{row.differences[library]:.1e}" for library in others]
        values.append([name, unit, f"{row.largest:.4g}", *differences, "yes" if row.agrees else "no"])
        times.append([name, *(f"{1e6 * row.durations[library]:.2f}" for library in (OURS, *others))])
    title = f"{model.urdf.robot.name} to {model.tip}, {model.nv} joints, {options.states} states, seed {options.seed}"
    left_out = [f"{library} is left out: {reason}" for library, reason in reasons.items()]
    tables = [text_table(values, n_left=2), text_table(times)]
    return "\n\n".join([printable(title), *tables, *map(printable, left_out)])
