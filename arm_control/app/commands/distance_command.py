"""``arm_control distance``: how near an arm is to obstacles and to itself, pair by pair."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arm_control.app.commands import shared
from arm_control.app.commands.shared import count, not_negative, positive
from arm_control.core import printable, require_writable_folder
from arm_control.maths import Array

if TYPE_CHECKING:
    from arm_control.collision import AllowedPairs, ContactMonitor, Margins, NearPair
    from arm_control.model import RobotModel
    from arm_control.report import Contacts, ObservedState
    from arm_control.simulation import World

EXAMPLES = (
    "distance ur5 --at 0 -1.4 1.9 -2.07 -1.57 0 --obstacles ur5_obstacle",
    "distance my_arm.urdf --random 1000 --write-allowed allowed.yaml",
    "distance my_arm.urdf --bag my_bag --allowed allowed.yaml --margin 0.02 --report pictures",
)
SHOWN = 20
"""Largest number of pairs in the table; JSON has all."""
REACH = 10.0
"""Pairs that are farther away are left out, if nothing else is asked [m]."""


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    states = parser.add_mutually_exclusive_group()
    states.add_argument(
        "--at",
        nargs="+",
        metavar="Q",
        help="joint positions in their order, with spaces or commas between them [rad|m]; default: zero",
    )
    states.add_argument("--random", type=count, metavar="N", help="so many random states within the limits")
    states.add_argument("--bag", default="", help="the states of a recording, and its obstacles")
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="of the random states")
    parser.add_argument(
        "--obstacles", default="", metavar="FILE", help="YAML file with obstacles as in a scenario, or a scenario"
    )
    parser.add_argument(
        "--time",
        type=not_negative,
        default=0.0,
        metavar="S",
        help="time at which the obstacles are shown; default: 0",
    )
    parser.add_argument(
        "--margin",
        type=not_negative,
        default=0.0,
        metavar="M",
        help="distance from obstacles that is contact [m]",
    )
    parser.add_argument(
        "--link-margin",
        type=not_negative,
        default=0.0,
        metavar="M",
        help="the same between links [m]; both default: 0",
    )
    parser.add_argument(
        "--reach",
        type=positive,
        default=REACH,
        metavar="M",
        help=f"largest distance of interest [m]; default: {REACH}",
    )
    parser.add_argument(
        "--allowed", default="", metavar="FILE", help="pairs of links that may touch; default: found by sampling"
    )
    parser.add_argument("--write-allowed", default="", metavar="FILE", help="write these pairs there")
    shared.add_force_option(parser)
    parser.add_argument("--report", default="", metavar="DIR", help="draw the nearest state there")
    shared.add_json_option(parser)
    shared.add_chain_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print how near an arm is to obstacles and to itself, pair by pair, in one state or in many.

    Exit status: 0 free of contact, 1 in contact.
    """
    from arm_control.collision import ContactMonitor, Margins
    from arm_control.report import find_contacts

    _check_files(options)
    model = shared.arm_for_kinematics(shared.chosen_robot(options), options)
    states = _states(options, model)
    monitor = ContactMonitor(model, _allowed(options.allowed))
    margins = Margins(options.margin, options.link_margin)
    contacts = find_contacts(monitor, states, margins, options.reach)
    if options.json:
        print(_as_json(contacts, monitor, margins))
    else:
        print(_as_text(contacts, monitor, margins, is_recorded=bool(options.bag)))
    written = _write(contacts, monitor, margins, options)
    if not options.json:
        print("".join(f"wrote {path}\n" for path in written), end="")
    return 1 if contacts.n_in_contact else 0


def _check_files(options: argparse.Namespace) -> None:
    """Refuse files that could not be written, before anything is computed."""
    path = Path(options.write_allowed)
    if options.write_allowed:
        shared.refuse_existing_file(path, options)
        require_writable_folder(path.parent)
    if options.report:
        require_writable_folder(options.report)


def _allowed(file: str) -> AllowedPairs | None:
    from arm_control.collision import AllowedPairs

    return AllowedPairs.load(Path(file)) if file else None


# -- states --------------------------------------------------------------------------------------------


def _states(options: argparse.Namespace, model: RobotModel) -> list[ObservedState]:
    from arm_control.model import drawn_range
    from arm_control.simulation import scenario_in

    world = scenario_in(options.obstacles).world if options.obstacles else None
    if options.bag:
        return _recorded_states(options.bag, model, world)
    low, high = drawn_range(model.q_min, model.q_max)
    if options.random:
        qs = np.random.default_rng(options.seed).uniform(low, high, (options.random, model.nq))
    else:
        qs = (np.clip(0.0, low, high) if options.at is None else shared.positions_of(options.at, model, "--at"))[None]
    return [_observed(options.time, q, world) for q in qs]


def _observed(t: float, q: Array, world: World | None) -> ObservedState:
    """A state among the obstacles of a file at a time [s]."""
    from arm_control.report import ObservedState

    movers = [] if world is None else [(i, m) for i, m in enumerate(world.movers) if m.span.holds(t)]
    return ObservedState(t, q, [mover.at(t) for _, mover in movers], [f"obstacle {i}" for i, _ in movers])


def _recorded_states(path: str, model: RobotModel, world: World | None) -> list[ObservedState]:
    """The states of a recording; without obstacles of a file, among those that it has."""
    from arm_control.bags import read_bag, require_states
    from arm_control.report import ObservedState, track_obstacles

    bag = read_bag(path)
    series = require_states(bag, "joint_states").increasing()
    qs, times = series.of(model, "position"), series.t.tolist()
    if world is not None:
        return [_observed(t, q, world) for t, q in zip(times, qs, strict=True)]
    trackers = zip(
        times, qs, series.stamps.tolist(), track_obstacles(bag, series, model, np.arange(len(qs))), strict=True
    )
    return [ObservedState(t, q, tracker.obstacles(stamp, q), tracker.names) for t, q, stamp, tracker in trackers]


# -- output --------------------------------------------------------------------------------------------


def _write(contacts: Contacts, monitor: ContactMonitor, margins: Margins, options: argparse.Namespace) -> list[Path]:
    """Write the files that are asked for, and return their paths."""
    written = []
    if options.write_allowed:
        written.append(Path(options.write_allowed))
        monitor.allowed.save(written[-1])
    if options.report:
        from arm_control.report import draw_nearest_points

        written.append(Path(options.report) / "distance.png")
        draw_nearest_points(written[-1], monitor, contacts.worst, margins)
    return written


def _as_json(contacts: Contacts, monitor: ContactMonitor, margins: Margins) -> str:
    pairs = [
        {
            "link": pair.nearest.link,
            "other": pair.nearest.other,
            "distance": pair.nearest.distance,
            "depth": max(0.0, -pair.nearest.distance),
            "states_in_contact": pair.n_contacts,
            "time": pair.state.t,
            "joints": pair.state.q.tolist(),
            "points": [pair.nearest.p.tolist(), pair.nearest.p_other.tolist()],
        }
        for pair in contacts.pairs
    ]
    model = monitor.model
    values = {
        "robot": model.urdf.robot.name,
        "joint_names": list(model.joint_names),
        "margin": margins.obstacles,
        "link_margin": margins.links,
        "states": contacts.n_states,
        "states_in_contact": contacts.n_in_contact,
        "pairs": pairs,
        "not_checked": [pair for pairs in _not_checked(monitor.allowed).values() for pair in pairs],
        "excess": monitor.shape.excesses,
    }
    return json.dumps(values, indent=2)


def _as_text(contacts: Contacts, monitor: ContactMonitor, margins: Margins, *, is_recorded: bool) -> str:
    from arm_control.report import text_table

    is_one = contacts.n_states == 1
    rows = [("pair", "distance [mm]", "" if is_one else "states in contact", "at time [s]" if is_recorded else "")]
    for pair in contacts.pairs[:SHOWN]:
        how = _how(pair.nearest, margins) if is_one else str(pair.n_contacts)
        time = f"{pair.state.t:.3f}" if is_recorded else ""
        rows.append((printable(pair.nearest.label), f"{1e3 * pair.nearest.distance:.1f}", how, time))
    hidden = len(contacts.pairs) - SHOWN
    lines = [text_table(rows), *([f"... and {hidden} pairs more, farther away"] if hidden > 0 else []), ""]
    if not is_one:
        joints = zip(map(printable, monitor.model.joint_names), contacts.worst.q.tolist(), strict=True)
        lines.append("nearest at " + ", ".join(f"{name} {position:.4f}" for name, position in joints))
    left_out = [f"{why}: {_named(pairs)}" for why, pairs in _not_checked(monitor.allowed).items() if pairs]
    lines.append(f"pairs of links that are not checked: {'; '.join(left_out) or 'none'}")
    if excesses := [f"{printable(link)} {1e3 * excess:.0f}" for link, excess in monitor.shape.excesses.items()]:
        lines.append(f"capsules are outside of the meshes by [mm]: {', '.join(excesses)}")
    return "\n".join([*lines, _conclusion(contacts)])


def _how(pair: NearPair, margins: Margins) -> str:
    if pair.distance <= 0.0:
        return f"in contact, {-1e3 * pair.distance:.1f} mm deep"
    return "within the margin" if pair.is_contact(margins) else ""


def _named(pairs: Sequence[Sequence[str]]) -> str:
    return ", ".join(" - ".join(pair) for pair in pairs)


def _not_checked(allowed: AllowedPairs) -> dict[str, tuple[tuple[str, str], ...]]:
    """Pairs of links that are not checked, by the reason."""
    return {
        "neighbours": allowed.neighbours,
        "that overlap always": allowed.always,
        "by hand": allowed.by_hand,
        "that never touched": allowed.never if allowed.skip_never else (),
    }


def _conclusion(contacts: Contacts) -> str:
    if not contacts.n_in_contact:
        return "free of contact"
    states = f": {contacts.n_in_contact} of {contacts.n_states} states" if contacts.n_states > 1 else ""
    return f"in contact{states}"
