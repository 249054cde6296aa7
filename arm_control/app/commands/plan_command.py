"""``arm_control plan``: plan a scene with several seeds, and check every plan."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.app.commands.shared import count
from arm_control.core import printable, progress_bar, require_writable_folder
from arm_control.exceptions import InputError

if TYPE_CHECKING:
    from arm_control.simulation import PlanRun, PlanScene

EXAMPLES = (
    "plan planar4_disc --seeds 10 --report pictures",
    "plan my_scene.yaml --variant slow --constraints cell.yaml",
    "plan --list",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scene", nargs="?", default="", help="name below config/plans, or a YAML file")
    parser.add_argument("--list", action="store_true", help="list the scenes that come with the package")
    parser.add_argument("--variant", action="append", default=[], help="one variant; repeatable; default: all")
    parser.add_argument(
        "--seeds", type=count, default=1, metavar="N", help="plan with the seeds 0 to N - 1; default: 1"
    )
    parser.add_argument(
        "--constraints", default="", metavar="FILE", help="plan within these constraints: a file, or a name"
    )
    parser.add_argument("--report", default="", metavar="DIR", help="draw the first plan of each variant there")
    shared.add_package_path_option(parser)
    shared.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Plan a scene with several seeds, check each plan every millisecond, and print figures.

    Exit status: 0 when every seed has a plan that the scene allows, 1 when not.
    """
    from arm_control.simulation import PlanFile

    if options.list:
        return _list()
    if not options.scene:
        raise InputError("name a scene, or a YAML file: `arm_control plan --list` has those of the package")
    if options.report:
        require_writable_folder(options.report)
    file = PlanFile.load(options.scene)
    scenes = [file.scene(name) for name in options.variant or file.variants or ("",)]
    runs = {scene.name: _runs(scene, options.seeds, options.constraints) for scene in scenes}
    print(_as_json(runs) if options.json else f"{printable(file.description)}\n\n{_as_text(runs)}")
    if options.report:
        written = [_draw(scene, runs[scene.name], options.report) for scene in scenes]
        print("".join(f"wrote {path}\n" for path in written if path and not options.json), end="")
    return 0 if all(run.is_valid for some in runs.values() for run in some) else 1


def _list() -> int:
    from arm_control.simulation import PlanFile, plan_names

    for name in plan_names():
        print(f"{name:20} {PlanFile.load(name).description}")
    return 0


def _runs(scene: PlanScene, n_seeds: int, constraints: str) -> list[PlanRun]:
    from arm_control.simulation import ScenePlanner

    planner = ScenePlanner(scene, constraints)
    return _kept(scene, [planner.plan(seed) for seed in progress_bar(range(n_seeds), scene.name)], constraints)


def _kept(scene: PlanScene, runs: list[PlanRun], constraints: str) -> list[PlanRun]:
    """Add what a file of constraints has against each plan, by the rows of a tick."""
    from arm_control.constraints import read_constraints
    from arm_control.report import KeptConstraints

    if not constraints:
        return runs
    kept = KeptConstraints(scene.model, read_constraints(constraints).constraints)

    def checked(run: PlanRun) -> PlanRun:
        if run.check is None:
            return run
        x = run.check.samples
        return run._replace(check=run.check._replace(problems=(*run.check.problems, *kept.along(x.times, x.q, x.v))))

    return [checked(run) for run in runs]


def _as_json(runs: Mapping[str, Sequence[PlanRun]]) -> str:
    from arm_control.report import plan_figures

    return json.dumps({name: [plan_figures(run) for run in some] for name, some in runs.items()}, indent=2)


def _as_text(runs: Mapping[str, Sequence[PlanRun]]) -> str:
    from arm_control.report import plan_problems, plan_table

    lines = []
    for name, some in runs.items():
        lines += [printable(name), plan_table(some), *(f"  {printable(text)}" for text in plan_problems(some)), ""]
    return "\n".join(lines).rstrip()


def _draw(scene: PlanScene, runs: Sequence[PlanRun], folder: str) -> Path | None:
    """Draw the first seed that has a plan; None where no one has."""
    from arm_control.report import draw_plan

    run = next((run for run in runs if run.check is not None), None)
    if run is None:
        return None
    path = Path(folder) / f"{scene.name.replace(' ', '_')}.png"
    draw_plan(path, scene, run)
    return path
