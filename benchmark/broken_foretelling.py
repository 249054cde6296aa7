"""Obstacles that leave what was foretold, while a Panda moves among them in MuJoCo: contacts, and what was done.

python benchmark/broken_foretelling.py [--scenes N] [--seed N] [--json FILE]

In each scene, balls fly as told until one of them turns towards where the arm will be, accelerates or stops. Scenes
count where the motion that goes on as planned would be hit, and where an arm can stop in time: along its path from the
instant of the change on, within its limits, and rests without contact from then on, by MuJoCo's own tests of contact.
The others are counted, but not run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from measure import processor, versions

# isort: split
import mujoco
import numpy as np

from arm_control import RobotModel
from arm_control.collision import Validity, present
from arm_control.control import LoopParameters, Measurement
from arm_control.controllers import control_loop
from arm_control.core import progress_bar
from arm_control.maths import Array, Mover, Obstacle, Pose, Span, Sphere
from arm_control.motion import JointGoal, JointReference, JointTrajectory
from arm_control.planning import (
    Action,
    MotionMonitor,
    PathLimits,
    PlannerInTime,
    SearchParameters,
    contact_time,
    points_of,
    rest_of,
    stop,
)
from arm_control.simulation import MujocoSimulator, Scenario, arm_and_parameters

N_BALLS, RADIUS, SPEED = 6, 0.08, 0.3
"""Number of balls, their radius [m] and the largest of each component of their velocity [m/s]."""
AFTER = 3.5
"""Time after the change that counts [s]."""
LOOK, STEP = 0.01, 1e-3
"""Time between two looks at the obstacles, and between two states [s]."""
MARGIN, LIMIT_MARGIN = 0.02, 0.06
"""Distance that plans keep from obstacles [m], and that starts and goals keep from joint limits [rad].

The gate keeps 0.05 rad from joint limits, so an arm never gets to a goal that is nearer."""


class Scene(NamedTuple):
    """A motion, the balls as they are told, and as they fly."""

    trajectory: JointTrajectory
    goal: Array
    told: list[Obstacle]
    movers: list[Mover]
    change: float


class Run(NamedTuple):
    """What came of a scene."""

    touching: int
    braked: int
    error: float
    torque: float
    actions: Counter[str]
    is_at_goal: bool
    look_ms: float


def scenes(planner: PlannerInTime, rng: np.random.Generator) -> Iterator[Scene]:
    """Scenes in which the motion that goes on as planned would be hit, one after the other.

    Parameters
    ----------
    planner : PlannerInTime
        Plans the motions.
    rng : numpy.random.Generator
    """
    model = planner.validity.shape.model
    exact = Validity(model, planner.validity.shape, planner.validity.allowed)
    while True:
        places = rng.uniform(-0.8, 0.8, (N_BALLS, 3)) + [0.0, 0.0, 0.5]
        velocities = rng.uniform(-SPEED, SPEED, (N_BALLS, 3))
        told = [
            Obstacle(Sphere(RADIUS), Pose(np.eye(3), p), (*v, 0.0, 0.0, 0.0))
            for p, v in zip(places, velocities, strict=True)
        ]
        start, goal = rng.uniform(model.q_min + LIMIT_MARGIN, model.q_max - LIMIT_MARGIN, (2, model.nq))
        timed = planner.plan(JointReference.at_rest(start), goal, told, speeds=(0.9,))
        if timed.trajectory is None:
            continue
        change = float(rng.uniform(0.1, 0.8)) * timed.trajectory.duration
        change = round(change / LOOK) * LOOK
        movers = _changed(model, timed.trajectory, told, change, rng)
        exact.place(movers)
        rest = rest_of(timed.trajectory, change)
        if contact_time(exact, rest, change, change + AFTER) < np.inf:
            yield Scene(timed.trajectory, goal, told, movers, change)


def _changed(
    model: RobotModel, trajectory: JointTrajectory, told: Sequence[Obstacle], t: float, rng: np.random.Generator
) -> list[Mover]:
    """The balls, one of which changes its velocity at a time: it turns towards the arm, accelerates or stops."""
    k, kind = int(rng.integers(len(told))), rng.choice(["turn", "turn", "turn", "accelerate", "stop"])
    now = present(told, t)[k]
    v = np.asarray(now.V_WO[:3])
    if kind == "turn":
        there = model.pose(trajectory.sample(t + float(rng.uniform(0.3, 2.0))).q_des).p - now.X_WO.p
        v = there / max(float(np.linalg.norm(there)), 1e-3) * rng.uniform(0.2, 0.9)
    else:
        v = v * (rng.uniform(1.5, 3.0) if kind == "accelerate" else 0.0)
    after = Mover(Obstacle(now.shape, now.X_WO, (*v, 0.0, 0.0, 0.0)), Span(t))
    others = [Mover(ball, Span()) for i, ball in enumerate(told) if i != k]
    return [Mover(told[k], Span(0.0, t)), after, *others]


def can_stop(model: RobotModel, planner: PlannerInTime, scene: Scene) -> bool:
    """Whether an arm that stops from the change on is never touched, by MuJoCo's tests of contact.

    Parameters
    ----------
    model : RobotModel
    planner : PlannerInTime
        Its limits count.
    scene : Scene
    """
    braking, end = stop(planner.check, scene.trajectory, scene.change), scene.change + AFTER
    arm = MujocoSimulator(model, timestep=STEP, has_links=True, movers=scene.movers)
    for t in np.arange(scene.change, end, 2e-3).tolist():
        arm.mujoco_data.qpos[: model.nq] = braking.sample(t - scene.change).q_des
        arm.place_movers(t)
        mujoco.mj_forward(arm.mujoco_model, arm.mujoco_data)
        if arm.mujoco_data.ncon:
            return False
    return True


def run(model: RobotModel, parameters: LoopParameters, planner: PlannerInTime, scene: Scene) -> Run:
    """Move in MuJoCo under computed torque and the gate, watched; until some time after the change.

    Parameters
    ----------
    model : RobotModel
    parameters : LoopParameters
        Of the controller of joints.
    planner : PlannerInTime
    scene : Scene
    """
    start = scene.trajectory.sample(0.0).q_des
    arm = MujocoSimulator(model, start, timestep=STEP, has_links=True, movers=scene.movers)
    monitor = MotionMonitor(planner, scene.goal)
    monitor.start(scene.trajectory, 0.0, scene.told)
    loop = control_loop(model, parameters)
    loop.controller.add(JointGoal(0, points_of(scene.trajectory)))
    actions, braked, error, torque, looks = Counter[str](), 0, 0.0, 0.0, []
    every, n = round(LOOK / STEP), round((scene.change + AFTER) / STEP)
    for k in range(n):
        t, stamp_ns = k * STEP, round(k * STEP * 1e9)
        if k % every == 0:
            begin = time.process_time()
            decision = monitor.look(t, present(scene.movers, t))
            looks.append(time.process_time() - begin)
            if decision.action is not Action.KEPT:
                actions[decision.action.value] += 1
            if decision.trajectory is not None:
                begin_ns = round(decision.begin * 1e9)
                loop.controller.add(JointGoal(begin_ns, points_of(decision.trajectory), is_immediate=True))
        result = loop.tick(Measurement(stamp_ns, arm.q, arm.v, STEP if k else 0.0, is_restart=k == 0), [])
        braked += not result.gate.is_passing
        torque = max(torque, float((np.abs(result.gate.tau) / model.tau_max).max()))
        error = max(error, float(np.abs(arm.q - monitor.trajectory.sample(t - monitor.begin).q_des).max()))
        arm.step(result.gate.tau)
    is_at_goal = bool(np.abs(arm.q - scene.goal).max() < 0.01)
    return Run(arm.touching_steps, braked, error, torque, actions, is_at_goal, 1e3 * max(looks))


def measure(n: int, seed: int = 0) -> dict[str, float]:
    """Figures of scenes in which an arm can stop in time.

    Parameters
    ----------
    n : int
        How many.
    seed : int
        Of the scenes.
    """
    model, parameters = arm_and_parameters(Scenario.load("panda_moving_plan"))
    limits = PathLimits(0.7 * model.v_max, 0.9 * model.tau_max, np.full(model.nv, 10.0))
    few = SearchParameters(rounds=40, samples=16, connections=8)
    planner = PlannerInTime(Validity(model, margin=MARGIN), limits, 8.0, few)
    drawn, runs, n_hit_anyway = scenes(planner, np.random.default_rng(seed)), [], 0
    for _ in progress_bar(range(n), "scenes"):
        while not can_stop(model, planner, scene := next(drawn)):
            n_hit_anyway += 1
        runs.append(run(model, parameters, planner, scene))
        if runs[-1].touching:
            print(f"contact in scene {len(runs)}: {runs[-1]}")
    return {
        "broken.scenes": n,
        "broken.hit_though_stopped": n_hit_anyway,
        "broken.without_contact": sum(run.touching == 0 for run in runs),
        "broken.planned_anew_only": sum(set(run.actions) <= {Action.PLANNED.value} for run in runs),
        "broken.stopped": sum(Action.STOPPED.value in run.actions for run in runs),
        "broken.evaded": sum(Action.EVADED.value in run.actions for run in runs),
        "broken.exposed": sum(Action.EXPOSED.value in run.actions for run in runs),
        "broken.at_goal": sum(run.is_at_goal for run in runs),
        "broken.braked_by_gate": sum(run.braked > 0 for run in runs),
        "broken.tracking_error_mrad": 1e3 * max(run.error for run in runs),
        "broken.torque_share": max(run.torque for run in runs),
        "broken.slowest_look_median_ms": float(np.median([run.look_ms for run in runs])),
        "broken.slowest_look_ms": max(run.look_ms for run in runs),
    }


def main() -> None:
    """Print the figures; with ``--json`` write them, too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the scenes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'mujoco')}")
    figures = measure(options.scenes, options.seed)
    for name, value in figures.items():
        print(f"{name:32} {value:10.3f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
