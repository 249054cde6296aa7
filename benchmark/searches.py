"""Searches by random trees: problems of MotionBenchMaker, beside VAMP's and OMPL's RRT-Connect, and moving spheres.

The folder of VAMP is a clone of https://github.com/KavrakiLab/vamp, with arms and problems. All planners have the same
balls as arm, and solve one problem after the other. VAMP, where its Python module is there, checks every edge at a
fixed resolution in single precision; this package proves the path that it returns free without a gap; OMPL, where it is
installed, has the motion checks of this package, one motion at a time, on some of the problems. Times are processor
times of one thread, without placing the obstacles.

Moving scenes count as feasible where the planner, whose motions are proved, or a roadmap in space-time has a solution
(see moving_scenes.py).
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from maker_problems import Problem, maker_arm, maker_problems
from moving_scenes import HORIZON, random_scenes, roadmap_reaches

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.core import progress_bar
from arm_control.maths import Box, Obstacle, Sphere, rpy_from_rotation
from arm_control.planning import Plan, RrtConnect, SpaceTimeRrt, Travel

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from ompl_planning import ompl_space, ompl_state

VERIFIED_LOOKS = 100_000
"""Largest number of places of one motion that are looked at when a plan is verified."""
EVERY_OF_OMPL, SECONDS_OF_OMPL = 10, 5.0
"""OMPL solves one problem of so many, in so much time at most [s]."""
Figures = dict[str, float]


class Solved(NamedTuple):
    """Whether a problem was solved, and the time it took [ms]."""

    is_solved: bool
    ms: float


def measure_maker(folder: Path, robot: str, every: int) -> Figures:
    """Solve problems of MotionBenchMaker whose start and goal are free.

    Parameters
    ----------
    folder : Path
        Of VAMP's repository.
    robot : str
        ``panda`` or ``ur5``.
    every : int
        1 for all problems, 2 for every second one, and so on.
    """
    model = maker_arm(folder, robot)
    validity, vamp, has_ompl = Validity(model), _module("vamp"), _module("ompl") is not None
    planner = RrtConnect(validity)
    own: list[Solved] = []
    others: dict[str, list[Solved]] = {"vamp": [], "ompl": []}
    problems = maker_problems(folder, robot, model.joint_names, every)
    for i, problem in enumerate(progress_bar(problems, robot)):
        validity.place(problem.obstacles)
        if not validity.free_states([problem.start, problem.goal]).all():
            continue
        own.append(_solve(planner, problem))
        if vamp is not None:
            others["vamp"].append(_solve_with_vamp(vamp, robot, problem))
        if has_ompl and i % EVERY_OF_OMPL == 0:
            others["ompl"].append(_solve_with_ompl(validity, problem))
    name = f"mbm.{robot}"
    figures = _figures(name, own)
    for other, solved in others.items():
        figures |= _figures(f"{name}.{other}", solved) if solved else {}
    if vamp is not None:
        figures[f"{name}.vs_vamp"] = figures[f"{name}.median_ms"] / figures[f"{name}.vamp.median_ms"]
    return figures


def _solve(planner: RrtConnect, problem: Problem) -> Solved:
    begin = time.process_time()
    plan = planner.plan(problem.start, problem.goal)
    ms = 1e3 * (time.process_time() - begin)
    return Solved(_is_verified(planner.validity, plan), ms)


def _is_verified(validity: Validity, plan: Plan) -> bool:
    """Whether there is a path, and all of it is free, also in small pieces that are checked one by one."""
    if not plan.is_found:
        return False
    shares = np.linspace(0.0, 1.0, 9)[:, None, None]
    cuts = plan.path[:-1] + shares * np.diff(plan.path, axis=0)
    times = plan.times[:-1] + shares[..., 0] * np.diff(plan.times)
    n = plan.path.shape[1]
    ends = cuts[:-1].reshape(-1, n), cuts[1:].reshape(-1, n)
    found = validity.motions(*ends, times[:-1].ravel(), times[1:].ravel(), most_looks=VERIFIED_LOOKS)
    return bool(found.is_free.all())


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        print(f"{name} is not installed: its figures are left out")
        return None


def _solve_with_ompl(validity: Validity, problem: Problem) -> Solved:
    """Solve with OMPL's RRT-Connect and the motion checks of this package."""
    base, geometric = import_module("ompl.base"), import_module("ompl.geometric")
    import_module("ompl.util").noOutputHandler()
    space = ompl_space(validity)
    definition = base.ProblemDefinition(space)
    definition.setStartAndGoalStates(ompl_state(space, problem.start), ompl_state(space, problem.goal))
    planner = geometric.RRTConnect(space)
    planner.setProblemDefinition(definition)
    planner.setup()
    begin = time.process_time()
    is_solved = bool(planner.solve(base.timedPlannerTerminationCondition(SECONDS_OF_OMPL)))
    return Solved(is_solved, 1e3 * (time.process_time() - begin))


def _solve_with_vamp(vamp: ModuleType, robot: str, problem: Problem) -> Solved:
    """Solve with VAMP's RRT-Connect; cylinders are capsules there, which are larger."""
    arm, scene = getattr(vamp, robot), vamp.Environment()
    for obstacle in problem.obstacles:
        _add(vamp, scene, obstacle)
    result = arm.rrtc(problem.start.tolist(), problem.goal.tolist(), scene, vamp.RRTCSettings(), arm.halton())
    return Solved(bool(result.solved), 1e-6 * result.nanoseconds)


def _add(vamp: ModuleType, scene: object, obstacle: Obstacle) -> None:
    R, p, shape = obstacle.X_WO.R, obstacle.X_WO.p.tolist(), obstacle.shape
    if isinstance(shape, Sphere):
        scene.add_sphere(vamp.Sphere(p, shape.radius))
    elif isinstance(shape, Box):
        scene.add_cuboid(vamp.Cuboid(p, list(rpy_from_rotation(R)), [edge / 2 for edge in shape.size]))
    else:
        scene.add_capsule(vamp.Cylinder(p, list(rpy_from_rotation(R)), shape.radius, shape.length))


def measure_moving(n: int) -> Figures:
    """Solve random scenes of moving spheres with a Panda.

    Parameters
    ----------
    n : int
        Number of scenes.
    """
    model = RobotModel.from_urdf(urdf_path("panda"))
    validity, travel = Validity(model), Travel(model.v_max, HORIZON)
    planner, results, n_undecided = SpaceTimeRrt(validity, travel), [], 0
    for scene in progress_bar(random_scenes(model, validity, travel, n), "scenes"):
        validity.place(scene.spheres)
        begin = time.process_time()
        plan = planner.plan(scene.start, scene.goal)
        solved = Solved(_is_verified(validity, plan), 1e3 * (time.process_time() - begin))
        is_reached, last = (True, 0.0) if solved.is_solved else roadmap_reaches(validity, travel, scene)
        n_undecided += not is_reached and last == travel.horizon
        if is_reached:
            results.append(solved)
    return _figures("moving", results) | {"moving.scenes": float(n), "moving.undecided": float(n_undecided)}


def _figures(name: str, results: list[Solved]) -> Figures:
    ms = [result.ms for result in results]
    return {
        f"{name}.problems": float(len(results)),
        f"{name}.solved_share": float(np.mean([result.is_solved for result in results])),
        f"{name}.median_ms": float(np.median(ms)),
        f"{name}.p95_ms": float(np.percentile(ms, 95.0)),
    }


def measure_searches(options: Namespace) -> Figures:
    """All figures; those of MotionBenchMaker where its problems are.

    Parameters
    ----------
    options : Namespace
        ``vamp``, the folder of VAMP's repository or None, and ``quick``: whether few problems are enough.
    """
    figures = measure_moving(2 if options.quick else 200)
    for robot in () if options.vamp is None else ("panda", "ur5"):
        figures |= measure_maker(options.vamp, robot, 100 if options.quick else 1)
    return figures
