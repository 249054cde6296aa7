"""``arm_control identify``."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.app.commands.shared import positive
from arm_control.core import require_writable_folder, write_text

if TYPE_CHECKING:
    from arm_control.identification import Identified
    from arm_control.model import RobotModel


EXAMPLES = ("identify my_bag", "identify my_bag --inertias", "identify my_bag --robot my_arm.urdf --effort-scale")


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_bag_argument(parser)
    parser.add_argument("-o", "--output", default="", metavar="DIR", help="folder to write; default: BAG_identified")
    parser.add_argument("--topic", default="joint_states", help="topic of the joint states")
    parser.add_argument("--window", type=positive, default=0.2, metavar="S", help="torque is averaged over so much")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--no-payload", action="store_true", help="the arm is known to carry nothing")
    kinds.add_argument("--inertias", action="store_true", help="all links, too, in place of a payload")
    kinds.add_argument("--effort-scale", action="store_true", help="the effort is no torque (motor current)")
    parser.add_argument("--stribeck", action="store_true", help="friction that falls with speed, too")
    shared.add_json_option(parser)
    shared.add_recorded_arm_options(parser)


def run(options: argparse.Namespace) -> int:
    """Find friction, rotor inertia, offset and payload of an arm that moves in a bag; write parameters and a picture.

    Numbers have standard errors. A part of the recording is held out: errors [N m] and R^2 are those of its torque,
    while the joint moves.
    """
    from arm_control.bags import arm_of, require_states
    from arm_control.identification import LINKS, NOTHING, PAYLOAD, identify
    from arm_control.report import notes_on, recorded_motion

    folder = Path(options.output or shared.folder_beside(options.bag, "identified"))
    require_writable_folder(folder)
    aside = sys.stderr if options.json else sys.stdout
    with redirect_stdout(aside):
        bag = shared.open_bag(options)
    series = require_states(bag, options.topic).increasing()
    bodies = LINKS if options.inertias else NOTHING if options.no_payload or options.effort_scale else PAYLOAD
    arm = shared.replay_options(options)
    unloaded = replace(arm, changes={**arm.changes, "payload_mass": 0.0}) if bodies == PAYLOAD else arm
    model = arm_of(bag, unloaded, series.names)
    motion, about_velocities = recorded_motion(series, model)
    kinds = {"fits_scale": options.effort_scale, "fits_stribeck": options.stribeck}
    identified = identify(model, motion, bodies, **kinds, half=0.5 * options.window)
    is_missed = options.stribeck and identified.stribeck is None
    about_friction = "the recording tells no Stribeck friction" if is_missed else ""
    notes = [*filter(None, [about_velocities, about_friction]), *notes_on(identified, model)]
    written = _write(identified, model, folder)
    print((_as_json if options.json else _as_text)(identified, model, notes, written))
    with redirect_stdout(aside):
        shared.print_unread(bag)
    return 0


def _as_json(identified: Identified, model: RobotModel, notes: list[str], written: list[Path]) -> str:
    from arm_control.report import identified_values

    files = [str(path) for path in written]
    return json.dumps({**identified_values(identified, model), "notes": notes, "files": files}, indent=2)


def _as_text(identified: Identified, model: RobotModel, notes: list[str], written: list[Path]) -> str:
    from arm_control.report import identification_table, text_table

    n, n_held_out = len(identified.fit.t), identified.fit.is_held_out.sum()
    head = f"{n} windows, of which {n_held_out} were held out: errors [N m] and R^2 are those of their torque"
    table = text_table(identification_table(identified, model))
    return "\n".join([head, "", table, "", *notes, *(f"wrote {path}" for path in written)])


def _write(identified: Identified, model: RobotModel, folder: Path) -> list[Path]:
    from arm_control.identification import LINKS, identified_urdf
    from arm_control.report import draw_identification, identified_file

    picture = folder / "identification.png"
    draw_identification(picture, identified.fit, model, "[as recorded]" if identified.has_scale else "[N m]")
    written = [picture]
    if not identified.has_scale:
        written.append(folder / "identified.yaml")
        write_text(written[-1], identified_file(identified, model))
    if identified.bodies == LINKS:
        written.append(folder / "identified.urdf")
        write_text(written[-1], identified_urdf(model, identified))
    return written
