"""Figures of task-constrained plans of the scenes below config/plans, the first ones checked by Pinocchio and coal."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from arm_control.collision import Validity
from arm_control.planning import TaskConstrainedProblem, TaskPlanner
from arm_control.simulation import PlanCheck, PlanFile, PlanScene, check_plan

DISCS, ELLIPSE, SPATIAL = "planar4_disc", "planar3_ellipse", ("lwr_circle", "lwr_circle_dynamic", "panda_pen")
IMPROVED = 10
"""Seeds whose motions are improved."""
MILLI = 1e3


class Tally(NamedTuple):
    """Plans of one scene.

    Attributes
    ----------
    solved : int
        How many were found, and are valid as far as they were checked.
    seeds : int
        How many were asked for.
    seconds, improved_seconds : list of float
        Processor time of each, and together with that of its improvement [s].
    durations : list of float
        Of the improved motions [s].
    checks : list of PlanCheck
        Of the first improved ones.
    """

    solved: int
    seeds: int
    seconds: list[float]
    improved_seconds: list[float]
    durations: list[float]
    checks: list[PlanCheck]


def measure_tasks(options: argparse.Namespace) -> dict[str, float]:
    """Solved shares and times of all scenes, and errors of the ellipse; of a few where it is quick."""
    seeds, checks = (2, 1) if options.quick else (100, 3)
    file = PlanFile.load(DISCS)
    names = list(file.variants)[: 2 if options.quick else None]
    figures = _figures("tcmp", [plans_of(file.scene(name), seeds, checks) for name in names])
    ellipse = plans_of(PlanFile.load(ELLIPSE).scene(), min(seeds, 20), checks)
    figures |= _figures("ellipse", [ellipse])
    figures["ellipse.mean_error_mm"] = MILLI * max(check.mean_error for check in ellipse.checks)
    figures["ellipse.max_error_mm"] = MILLI * max(check.max_error for check in ellipse.checks)
    for name in () if options.quick else SPATIAL:
        figures |= _figures(name, [plans_of(PlanFile.load(name).scene(), min(seeds, 10), checks)])
    return figures


def plans_of(scene: PlanScene, seeds: int, checks: int) -> Tally:
    """Plan one scene.

    Parameters
    ----------
    scene : PlanScene
    seeds, checks : int
        How many plans, and how many of them are checked.
    """
    model = scene.model
    validity = Validity(model, margin=scene.margin)
    validity.place(scene.obstacles)
    problem = TaskConstrainedProblem(validity, scene.task, scene.horizon, scene.start)
    planner = TaskPlanner(replace(problem, tau_max=model.tau_max if scene.kind == "dynamic" else None))
    planner.improve(planner.plan(seeds), 1)  # makes room in the memory
    tally = Tally(0, seeds, [], [], [], [])
    for seed in range(seeds):
        begin = time.process_time()
        plan = planner.plan(seed)
        tally.seconds.append(time.process_time() - begin)
        if seed < IMPROVED:
            plan = planner.improve(plan, seed=seed)
            tally.improved_seconds.append(time.process_time() - begin)
            tally.durations.append(plan.duration)
        is_good = plan.is_found
        if is_good and len(tally.checks) < checks:
            tally.checks.append(check_plan(plan, scene))
            is_good = tally.checks[-1].is_valid
        tally = tally._replace(solved=tally.solved + is_good)
    return tally


def _figures(name: str, tallies: list[Tally]) -> dict[str, float]:
    seconds = np.concatenate([tally.seconds for tally in tallies])
    solved = sum(tally.solved for tally in tallies) / sum(tally.seeds for tally in tallies)
    return {
        f"{name}.solved_share": solved,
        f"{name}.median_ms": MILLI * float(np.median(seconds)),
        f"{name}.slowest_scene_ms": MILLI * max(float(np.median(tally.seconds)) for tally in tallies),
        f"{name}.longest_s": max(max(tally.durations) for tally in tallies),
        f"{name}.improved_ms": MILLI * max(max(tally.improved_seconds) for tally in tallies),
    }
