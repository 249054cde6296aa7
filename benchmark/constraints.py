"""Do constraints hold against commands that want to break them?

    python benchmark/constraints.py --scenes 200 --jobs 2 --json FILE      (--full: 100,000 scenes)

A scene is an arm, a few constraints drawn at random around its start (planes for the hand, a box, a cone, a limit of
speed, an obstacle at rest or in motion), and a second and a half of targets behind what is forbidden: steps, and
oscillations. Scenes are numbered; each is drawn by its number alone. The plant is the model, and is judged at ten times
the rate of the ticks, by rows with memory of their own.

A row counts as *servable* when, at the first tick at which it acts, the arm can be stopped within its limits of torque
and rate before the row is broken: that is simulated on a copy of the plant. Violations are counted among those; the
worst of all rows is stated, too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.constraints import ConstraintSet, constraints_of
from arm_control.control import ControlLoop, Measurement, OscParameters, OscTuning
from arm_control.controllers import OscController
from arm_control.core import yaml_document
from arm_control.gate import GateParameters, JointLimits
from arm_control.maths import Array, Obstacle, Pose, Sphere, rotation_from_vector
from arm_control.model import drawn_range
from arm_control.motion import Target
from arm_control.sweeps import in_order

ARMS = {
    "ur5": {"armature": [0.5, 0.5, 0.5, 0.1, 0.1, 0.1]},
    "panda": {"armature": [0.3, 0.3, 0.3, 0.3, 0.05, 0.05, 0.05]},
    "planar3": {},
    "lwr": {"armature": [0.3, 0.3, 0.3, 0.3, 0.05, 0.05, 0.05]},
}
"""Packaged arms, with rotors: bare, a wrist weighs next to nothing."""
TICK, SUB = 1e-3, 10
BRAKE = 100.0
"""Damping of the stopping motion that decides what is servable, times the mass matrix [1/s]."""
SECONDS = 1.5
NEAR = 0.02
"""A state is judged between two ticks where a row is nearer to zero than this."""
MARGIN = {"m": 5e-4, "rad": 1.75e-3, "m/s": 5e-3}
"""What a tick costs: half a millimetre, 0.1 degrees, 5 mm/s."""


@dataclass(frozen=True)
class Outcome:
    """Of one scene: rows that acted, those of these that were servable and broken, the worst of all; brakes."""

    acted: int
    servable: int
    violations: int
    worst: float
    worst_speed: float
    braked: bool
    capped: int


@cache
def arm(name: str) -> RobotModel:
    """An arm, read once."""
    return RobotModel.from_urdf(urdf_path(name), **ARMS[name])


def rate_limit(model: RobotModel) -> float:
    """Largest rate of torque [N m/s]: the gate's, or from zero to the largest effort limit in 0.1 s."""
    return max(1000.0, 10.0 * float(model.tau_max.max()))


def scene(name: str, seed: int) -> tuple[Array, dict[str, Any], list[Obstacle]]:
    """Start, constraints and obstacles: all hold at the start."""
    model, rng = arm(name), np.random.default_rng([seed, len(name)])
    low, high = drawn_range(model.q_min, model.q_max)
    while True:
        q = low + (high - low) * rng.uniform(0.25, 0.75, model.nq)
        p = model.pose(q).p
        entries: list[dict[str, Any]] = []
        for k in range(int(rng.integers(1, 4))):
            n = rng.normal(size=3)
            n /= np.linalg.norm(n)
            gap = float(rng.uniform(0.05, 0.25))
            entries.append(
                {"name": f"plane {k}", "kind": "half_space", "point": (p - gap * n).tolist(), "normal": n.tolist()}
            )
        size = (2.0 * rng.uniform(0.1, 0.4, 3)).tolist()
        entries += [{"name": "box", "kind": "box", "centre": p.tolist(), "size": size}] * int(rng.integers(2))
        limit = float(rng.uniform(0.2, 1.0))
        entries += [{"name": "slow", "kind": "speed", "limit": limit}] * int(rng.integers(2))
        z = model.pose(q).R[:, 2]
        angle = float(rng.uniform(0.2, 0.8))
        entries += [{"name": "glass", "kind": "upright", "up": z.tolist(), "angle": angle}] * int(rng.integers(2))
        obstacles = []
        if name != "planar3" and rng.integers(2):
            entries.append({"name": "clear", "kind": "clearance", "distance": 0.02})
            V = np.zeros(6)
            V[:3] = rng.normal(size=3) * rng.choice([0.0, 0.1])
            place = p + rng.normal(size=3) * 0.3
            obstacles = [Obstacle(Sphere(0.06), Pose(np.eye(3), place), V)]
        content = {"constraints": entries}
        rows = judge(model, content)
        rows.place(obstacles)
        h = measured(rows, model, q, np.zeros(model.nv))
        if len(h) == 0 or h.min() > 0.03:
            return q, content, obstacles


def judge(model: RobotModel, content: dict[str, Any]) -> ConstraintSet:
    """Rows of their own memory."""
    limits = JointLimits(model, GateParameters(), rate_limit(model))
    made = constraints_of(content, "scene").constraints
    return ConstraintSet(model, made, limits.numbers, limits.is_unlimited)


def measured(rows: ConstraintSet, model: RobotModel, q: Array, v: Array) -> Array:
    """The constraints in a state."""
    terms = model.evaluate(q, v)
    rows.limit(terms, terms.g, terms.g, TICK)
    return rows.h


def moved(obstacles: Sequence[Obstacle], t: float) -> list[Obstacle]:
    """Where the obstacles are at a time [s]."""
    return [Obstacle(o.shape, Pose(o.X_WO.R, o.X_WO.p + np.asarray(o.V_WO)[:3] * t), o.V_WO) for o in obstacles]


def hostile(model: RobotModel, q: Array, rng: np.random.Generator) -> list[Target]:
    """Targets that want to break the constraints: far steps, and oscillations across what is forbidden."""
    start, t, targets = model.pose(q), 0.0, []
    while t < SECONDS:
        direction, far = rng.normal(size=3), float(rng.uniform(0.1, 0.5))
        direction /= np.linalg.norm(direction)
        turn = rotation_from_vector(rng.normal(size=3) * rng.choice([0.0, 0.5]))
        oscillates, period = bool(rng.integers(2)), float(rng.uniform(0.02, 0.3))
        for k in range(int(rng.integers(1, 5))):
            p = start.p + (far + 0.05 * (-1.0) ** k * oscillates) * direction
            targets.append(Target(round(t * 1e9), model.base, Pose(turn @ start.R, p)))
            t += period if oscillates else float(rng.uniform(0.1, 0.6))
    return targets


class Situation(NamedTuple):
    """Time [s], and obstacles at time 0."""

    t: float
    obstacles: list[Obstacle]


class Plant:
    """The model itself, ten steps a tick."""

    def __init__(self, model: RobotModel, q: Array, v: Array) -> None:
        self.model, self.q, self.v = model, q.copy(), v.copy()

    def step(self, tau: Array) -> Iterator[tuple[Array, Array]]:
        """Go on for a tick; yields the states on the way."""
        for _ in range(SUB):
            self.v = self.v + self.model.forward_dynamics(self.q, self.v, tau) * (TICK / SUB)
            self.q = self.q + self.v * (TICK / SUB)
            yield self.q, self.v


def labelled(rows: ConstraintSet) -> dict[tuple[str, str], float]:
    """The constraints in the last state, by name and part of the arm."""
    return dict(zip(rows.labels, rows.h.tolist(), strict=True))


def is_servable(rows: ConstraintSet, plant: Plant, tau: Array, begin: Situation, row: tuple[str, str]) -> bool:
    """Whether braking from here, after a torque, keeps a constraint."""
    model, copy = plant.model, Plant(plant.model, plant.q, plant.v)
    step_size = rate_limit(model) * TICK
    for step in range(300):
        rows.place(moved(begin.obstacles, begin.t + step * TICK))
        measured(rows, model, copy.q, copy.v)
        if labelled(rows).get(row, 1.0) < 0.0:
            return False
        terms = model.evaluate(copy.q, copy.v)
        change = np.clip(terms.h - BRAKE * terms.M @ copy.v, -model.tau_max, model.tau_max) - tau
        tau = tau + change * min(1.0, step_size / max(float(np.abs(change).max()), step_size))
        for _ in copy.step(tau):
            pass
        if np.abs(copy.v).max() < 0.01 and not begin.obstacles:
            return True
    return True


def loop_of(model: RobotModel, q: Array, content: dict[str, Any], targets: Sequence[Target]) -> ControlLoop:
    """Operational space control behind a gate with constraints."""
    controller = OscController(model, OscTuning(OscParameters(posture=tuple(q))), None, None, None)
    for target in targets:
        controller.add(target)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(yaml_document(content))
        file.flush()
        gate = GateParameters(constraints=file.name, rate_limit=rate_limit(model))
        return ControlLoop(model, controller, gate, None, waits_for_commands=True)


def run(name: str, seed: int) -> Outcome:
    """One scene."""
    model = arm(name)
    q, content, obstacles = scene(name, seed)
    loop = loop_of(model, q, content, hostile(model, q, np.random.default_rng([seed, 1])))
    acting, rows = loop.gate.constraints, judge(model, content)
    assert acting is not None
    units = {c.name: c.unit for c in acting.constraints}
    plant = Plant(model, q, np.zeros(model.nv))
    servable: dict[tuple[str, str], bool] = {}
    last_seen: dict[tuple[str, str], int] = {}
    worst: dict[tuple[str, str], float] = {}
    acted = n_servable = capped = 0
    tau, braked = model.evaluate(q, plant.v).g, False
    for step in range(round(SECONDS / TICK)):
        begin = Situation(step * TICK, obstacles)
        state = Measurement(step * 1_000_000, plant.q, plant.v, TICK if step else 0.0, is_restart=step == 0)
        before, tau = tau, loop.tick(state, moved(obstacles, begin.t)).gate.tau
        if loop.gate.is_braked:
            braked = True
            break
        capped += acting.is_capped
        labels = acting.labels
        for row in (labels[i] for i in acting.acting if i >= 0):
            if step - last_seen.get(row, -100) > 50:
                servable[row] = is_servable(rows, plant, before, begin, row)
                acted, n_servable = acted + 1, n_servable + servable[row]
            last_seen[row] = step
        is_near = min(acting.h, default=1.0) < NEAR
        for k, (q_k, v_k) in enumerate(plant.step(tau)):
            if is_near or k == SUB - 1:
                rows.place(moved(obstacles, begin.t + (k + 1) * TICK / SUB))
                measured(rows, model, q_k, v_k)
                for row, h in labelled(rows).items():
                    worst[row] = min(worst.get(row, 0.0), h)
    bad = [row for row, h in worst.items() if servable.get(row) and h < -MARGIN[units[row[0]]]]
    places = [h for row, h in worst.items() if units[row[0]] != "m/s"]
    speeds = [h for row, h in worst.items() if units[row[0]] == "m/s"]
    return Outcome(acted, n_servable, len(bad), min(places, default=0.0), min(speeds, default=0.0), braked, capped)


def run_pair(pair: tuple[str, int]) -> Outcome:
    """A scene of an arm, by its seed."""
    return run(*pair)


def campaign(n: int, first: int, jobs: int, arms: Sequence[str]) -> dict[str, Any]:
    """Run n scenes, shared out among the arms; figures of all."""
    pairs = [(arms[k % len(arms)], first + k) for k in range(n)]
    outcomes = list(in_order(run_pair, pairs, jobs))
    for (name, seed), o in zip(pairs, outcomes, strict=True):
        if o.violations:
            print(f"{name} {seed}: {o}")
    acted, servable = sum(o.acted for o in outcomes), sum(o.servable for o in outcomes)
    return {
        "scenes": n,
        "acted": acted,
        "servable_share": servable / max(acted, 1),
        "violations": sum(o.violations for o in outcomes),
        "worst_mm": -1e3 * min(o.worst for o in outcomes),
        "worst_speed": -min(o.worst_speed for o in outcomes),
        "braked_share": float(np.mean([o.braked for o in outcomes])),
        "capped": sum(o.capped for o in outcomes),
    }


def times() -> dict[str, float]:
    """Median time of the constraints of a UR5 in a tick: none near, some acting [us]."""
    model = arm("ur5")
    q = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
    p = model.pose(q).p
    near = [Obstacle(Sphere(0.05), Pose(np.eye(3), p + [0.9, 0.1 * k - 1.0, 0.8]), np.zeros(6)) for k in range(20)]
    box = {"name": "box", "kind": "box", "centre": p.tolist(), "size": [1.0, 1.0, 1.0]}
    rows = judge(model, {"constraints": [box, {"name": "clear", "kind": "clearance"}]})
    rows.place(near)
    terms, v = model.evaluate(q, np.zeros(6)), np.array([0.5, 0.2, 0.2, 0.0, 0.0, 0.0])
    tight = judge(
        model, {"constraints": [box | {"size": [0.02, 0.02, 0.02]}, {"name": "slow", "kind": "speed", "limit": 0.1}]}
    )
    moving = model.evaluate(q, v)
    hostile_tau = moving.g + 0.5 * model.tau_max
    return {
        "idle_us": clock(partial(rows.limit, terms, terms.g, terms.g, TICK)),
        "active_us": clock(partial(tight.limit, moving, hostile_tau, moving.g, TICK)),
        "active_rows": float(len(tight.acting)),
    }


def clock(call: Any, n: int = 2000) -> float:
    """Median of single calls [us]."""
    taken = []
    for _ in range(n):
        begin = perf_counter()
        call()
        taken.append(perf_counter() - begin)
    return 1e6 * median(taken)


def main() -> None:
    """Print the figures, and write them as JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", type=int, default=400)
    parser.add_argument("--full", action="store_true", help="100,000 scenes")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = campaign(100_000 if options.full else options.scenes, options.first, options.jobs, options.arms) | times()
    for key, value in figures.items():
        print(f"{key:16} {value:.4g}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
