"""``arm_control attractor``: point attractors in spiking neurons, by ``neural/stepped_goals.py``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from arm_control.app.commands import shared

EXAMPLES = ("attractor", "attractor --alpha 10 100 1000 --state scaled", "attractor --alpha 400 --neurons 200 --json")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--alpha", nargs="+", type=shared.positive, default=[10.0, 100.0, 1000.0], metavar="A", help="damping [1/s]"
    )
    parser.add_argument(
        "--state",
        choices=("plain", "scaled"),
        default="plain",
        help="what the neurons represent: position and velocity, or position and velocity over alpha / 2",
    )
    parser.add_argument("--neurons", type=shared.count, default=1000, metavar="N", help="default: 1000")
    parser.add_argument("--seed", type=int, default=0, help="of the neurons that are drawn")
    parser.add_argument("--seconds", type=shared.positive, default=5.0, metavar="S", help="for the five goals [s]")
    parser.add_argument("-o", "--out", "--output", default="attractor.png", metavar="PNG", help="picture")
    shared.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Compare the continuous and the discrete compensation of a synapse in spiking neurons: figures and a picture.

    The goal goes from -1 to 1 in five steps; the error is the RMS distance from the wanted position.
    """
    from arm_control.compiler import compile_law, plain_compiler
    from arm_control.neural import SteppedGoals, follow_stepped_goals, point_attractor, random_tuning, scaled_attractor
    from arm_control.report import draw_stepped_goals, text_table

    system = scaled_attractor if options.state == "scaled" else point_attractor
    tuning = random_tuning(options.neurons, 2, options.seed)
    compiler = plain_compiler()

    def responses(alpha: float) -> SteppedGoals:
        return follow_stepped_goals(
            system(alpha), tuning, lambda loop, samples: compile_law(compiler, loop, samples), options.seconds
        )

    runs = {f"alpha = {alpha:g} 1/s": responses(alpha) for alpha in options.alpha}
    errors = {title: run.errors for title, run in runs.items()}
    draw_stepped_goals(Path(options.out), runs)
    if options.json:
        print(json.dumps({"error": errors, "picture": options.out}, indent=2))
        return 0
    head = ("RMS error of the position", "continuous", "discrete")
    rows = [(title, *(f"{error:.3g}" for error in row.values())) for title, row in errors.items()]
    print(text_table([head, *rows]))
    print(f"\nwrote {options.out}")
    return 0
