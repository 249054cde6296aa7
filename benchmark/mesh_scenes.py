"""How many random scenes are solved of those that OMPL solves on the meshes, and how many paths touch something there?

python benchmark/mesh_scenes.py [--scenes 10] [--first 0] [--seconds 10] [--robots DIR] [--arm NAME] [--json FILE]

Scenes of an arm are numbered; a number gives the same obstacles, start and goal again. Start and goal are free by the
shapes in the URDF, meshes and all. OMPL's RRTConnect asks Pinocchio and coal of these shapes, 32 places per rad; the
planner here has its own ones around them. Both have the same processor time at most, and start anew with other samples
as long as it lasts. Each path is looked at by coal at a hundred times that resolution: ``false`` are those in contact.
Below six arms the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from measure import processor, versions

# isort: split
import numpy as np
import validity as refused
from coal_arm import CoalArm
from coal_motions import CoalMotions
from ompl import base, geometric, util

from arm_control import RobotModel
from arm_control.collision import Validity
from arm_control.maths import Array, Box, Obstacle, Pose, Sphere, rotation_from_vector
from arm_control.planning import RrtConnect

PER_RADIAN = 32
"""Places of a usual check per rad."""
N_OBSTACLES, SIZES, SPREAD = 10, (0.06, 0.3), 0.9
"""Obstacles of a scene, their edges or diameters, and largest distance from the middle: shares of the arm's reach."""
SCENES, DRAWS = 50, 200
"""Scenes that are drawn until in one of them two of so many states are free."""


class Drawn(NamedTuple):
    """Obstacles, and two states that are free by the meshes."""

    obstacles: list[Obstacle]
    start: Array
    goal: Array


class Found(NamedTuple):
    """A path, shape (m, n) and m = 0 where there is none; processor time [s]; and why there is none."""

    path: Array
    seconds: float
    reason: str = ""


class MeshArm:
    """An arm of makers' meshes, and what plans for it."""

    def __init__(self, model: RobotModel) -> None:
        self.model, self.validity = model, Validity(model)
        self.planner = RrtConnect(self.validity)
        self.low, self.high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
        qs = np.random.default_rng(0).uniform(self.low, self.high, (200, model.nq))
        tips = np.array([model.pose(q).p for q in qs])
        self.middle = tips.mean(axis=0)
        self.reach = float(np.linalg.norm(tips - self.middle, axis=1).max())

    def draw(self, rng: np.random.Generator) -> Drawn | None:
        """Boxes and balls around the arm, a start and a goal; None where hardly any state is free."""
        for _ in range(SCENES):
            obstacles = [self._obstacle(rng, k) for k in range(N_OBSTACLES)]
            meshes, qs = (
                CoalArm(self.validity, obstacles, is_real=True),
                rng.uniform(self.low, self.high, (DRAWS, self.model.nq)),
            )
            free = islice((q for q in qs if not meshes.touches(q)), 2)
            if len(ends := list(free)) == 2:
                return Drawn(obstacles, ends[0], ends[1])
        return None

    def _obstacle(self, rng: np.random.Generator, k: int) -> Obstacle:
        edges, place = self.reach * rng.uniform(*SIZES, 3), self.reach * rng.uniform(-SPREAD, SPREAD, 3)
        X = Pose(rotation_from_vector(rng.normal(size=3)), self.middle + place)
        return Obstacle(Sphere(edges[0] / 2.0) if k % 2 else Box(tuple(edges)), X)

    def solve(self, drawn: Drawn, seconds: float) -> Found:
        """Plan here, with one seed after the other."""
        self.validity.place(drawn.obstacles)
        self.validity.free_states(drawn.start[None])  # compiles
        begin, seed = time.process_time(), 0
        while True:
            plan = self.planner.plan(drawn.start, drawn.goal, seed=seed)
            spent = time.process_time() - begin
            if plan.is_found and spent <= seconds:
                return Found(plan.path, spent)
            if spent > seconds or "contact" in plan.reason:
                return Found(plan.path[:0], spent, plan.reason)
            seed += 1

    def solve_on_meshes(self, drawn: Drawn, seconds: float) -> Found:
        """Plan with OMPL, on the meshes."""
        meshes, n = CoalArm(self.validity, drawn.obstacles, is_real=True), self.model.nq
        space = base.RealVectorStateSpace(n)
        bounds = base.RealVectorBounds(n)
        for joint, (low, high) in enumerate(zip(self.low.tolist(), self.high.tolist(), strict=True)):
            bounds.setLow(joint, low)
            bounds.setHigh(joint, high)
        space.setBounds(bounds)
        information = base.SpaceInformation(space)

        class Checker(base.StateValidityChecker):
            def isValid(self, state: object) -> bool:
                return not meshes.touches(np.array(state[0:n]))

        information.setStateValidityChecker(Checker(information))
        information.setStateValidityCheckingResolution(1.0 / PER_RADIAN / space.getMaximumExtent())
        information.setup()
        problem = base.ProblemDefinition(information)
        problem.setStartAndGoalStates(*(state_of(information, q) for q in (drawn.start, drawn.goal)))
        planner = geometric.RRTConnect(information)
        planner.setProblemDefinition(problem)
        planner.setup()
        begin = time.process_time()
        planner.solve(base.PlannerTerminationCondition(lambda: time.process_time() - begin > seconds))
        spent = time.process_time() - begin
        if not problem.hasExactSolution():
            return Found(np.zeros((0, n)), spent)
        return Found(np.array([state[0:n] for state in problem.getSolutionPath().getStates()]), spent)

    def is_false(self, path: Array, obstacles: list[Obstacle]) -> bool:
        """Whether a path touches something by the meshes."""
        motions = CoalMotions(CoalArm(self.validity, obstacles, is_real=True))
        return any(not np.isnan(t.share) for t in motions.touches(path[:-1], path[1:], np.zeros((len(path) - 1, 2))))


def state_of(information: base.SpaceInformation, q: Array) -> base.State:
    """A state of OMPL."""
    state = information.allocState()
    state[0 : len(q)] = q.tolist()
    return state


def main() -> None:
    """Print the shares; with ``--json`` write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=10, help="of each arm")
    parser.add_argument("--first", type=int, default=0, help="number of the first scene")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--robots", type=Path, help="folder with URDFs of makers")
    parser.add_argument("--arm", action="append", help="only this one")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'pin', 'coal', 'ompl')}")
    models = refused.mesh_arms(options.robots)
    models = {name: model for name, model in models.items() if not options.arm or name in options.arm}
    figures = measure_scenes(models, range(options.first, options.first + options.scenes), options.seconds)
    print("\n".join(f"{name:24} {value:.4g}" for name, value in figures.items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    if (n := figures["mesh_scenes.arms"]) < refused.FEWEST:
        raise SystemExit(f"{n:.0f} arms: {refused.FEWEST} are needed; install example-robot-data, or name --robots")


def measure_scenes(models: dict[str, RobotModel], numbers: range, seconds: float) -> dict[str, float]:
    """Solve scenes of arms by both, each in so much processor time [s]; counts, and the share of those OMPL solves."""
    util.setLogLevel(util.LogLevel.LOG_NONE)
    util.RNG.setSeed(1)
    counts: dict[str, Counter[str]] = {}
    for name, model in models.items():
        arm = MeshArm(model)
        try:
            CoalArm(arm.validity, [], is_real=True)
        except ValueError as error:  # Pinocchio refuses links and joints of one name
            print(f"{name} is left out: {error}", flush=True)
            continue
        counts[name] = sum((count(arm, name, number, seconds) for number in numbers), Counter())
    total = sum(counts.values(), Counter())
    print("\n".join(f"{name:14} {dict(count)}" for name, count in {**counts, "all": total}.items()))
    figures = {f"mesh_scenes.{key}": float(total[key]) for key in ("scenes", "ompl", "both", "own", "false")}
    return figures | {"mesh_scenes.share": total["both"] / max(total["ompl"], 1), "mesh_scenes.arms": len(counts)}


def count(arm: MeshArm, name: str, number: int, seconds: float) -> Counter[str]:
    """Solve one scene by both."""
    drawn = arm.draw(np.random.default_rng([number, 23]))
    if drawn is None:
        return Counter(left_out=1)
    own, ompl = arm.solve(drawn, seconds), arm.solve_on_meshes(drawn, seconds)
    is_own, is_false = bool(len(own.path)), bool(len(own.path)) and arm.is_false(own.path, drawn.obstacles)
    is_ompl = bool(len(ompl.path)) and not arm.is_false(ompl.path, drawn.obstacles)
    print(
        f"{number:4} {name:12} own {is_own:d} {own.seconds:5.2f} s, OMPL {is_ompl:d} {ompl.seconds:5.2f} s",
        "FALSE" if is_false else own.reason,
        flush=True,
    )
    return Counter(scenes=1, ompl=is_ompl, own=is_own, both=is_own and is_ompl, false=is_false)


if __name__ == "__main__":
    main()
