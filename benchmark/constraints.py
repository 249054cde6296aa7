"""Do constraints hold against commands that want to break them?

    python benchmark/constraints.py --scenes 200 --jobs 2 --json FILE      (--full: 100,000 references)

A scene is an arm, a few constraints drawn at random around its start (planes for the hand, a box, a cone, a limit of
speed, an obstacle at rest or in motion), and a second and a half of references, about three, behind what is forbidden:
steps, and oscillations. Scenes are numbered; each is drawn by its number alone. The plant is the model, and is judged
at ten times the rate of the ticks, by rows with memory of their own.

A row counts as *servable* when, at the first tick at which it acts, the arm can be stopped within its limits of torque
and rate before the row, another one or a joint's limit is broken: a few brakes are simulated on a copy of the plant.
A row that acts beside one of a more important level that is not servable, yields to it, however little that
one can be kept: so it is not servable, either, from then on until both have not acted for a while, and what it was
before is judged by itself. Violations are counted among those that are, and among rows that never act, if they hold
while the arm stays where it begins; the worst of all rows is stated, too. Other libraries: ``constraint_libraries.py``.

``real``: scenes of a UR5 from seed 50000 on a plant with friction, rotors, wrong masses and coarse sensors (the set
``real`` of the simulator), with the observer and the inertia floor that such an arm gets; the true state is judged at
each tick, and the worst of all rows counts, whether they could be kept or not.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from measure import Contender, processor, take_turns, versions

# isort: split
import numpy as np
from arms import EXAMPLES
from constraint_libraries import BOX, LIBRARIES, Q, ours, states
from least_change import times as solves

# isort: split
from arm_control import RobotModel, urdf_path
from arm_control.compiler import Floats, Ints, OwnWork, RunsKernel, compile_procedure, procedure
from arm_control.constraints import ConstraintSet, constraints_of
from arm_control.constraints.constraint_set import ConstraintTick, find_pair_rows
from arm_control.control import ControlLoop, Measurement, OscParameters, OscTuning
from arm_control.controllers import OscController, control_loop
from arm_control.core import yaml_document
from arm_control.gate import GateParameters, JointLimits
from arm_control.maths import Array, Obstacle, Pose, Sphere, rotation_from_vector
from arm_control.model import drawn_range, quantity_law, tool_numbers
from arm_control.model.quantities import sample_states
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, Scenario, arm_and_parameters, make_simulator, true_arm
from arm_control.sweeps import in_order

ARMS = {
    "ur5": {"armature": [0.5, 0.5, 0.5, 0.1, 0.1, 0.1]},
    "panda": {"armature": [0.3, 0.3, 0.3, 0.3, 0.05, 0.05, 0.05]},
    "planar3": {},
    "so101": {"armature": [0.028] * 5},
    "lwr": {"armature": [0.3, 0.3, 0.3, 0.3, 0.05, 0.05, 0.05]},
}
"""Arms, with rotors: bare, a wrist weighs next to nothing. That of five joints is from example-robot-data."""
EXAMPLE = EXAMPLES / "so_arm_description" / "urdf" / "so101.urdf"
TICK, SUB = 1e-3, 10
BRAKES = 100.0, 50.0, 20.0
"""Dampings of the stopping motions that decide what is servable, times the mass matrix [1/s]."""
SECONDS = 1.5
FULL = 33_000
"""Scenes with 100,000 references."""
PAUSE = 50
"""A row that has not acted for so many ticks begins another episode."""
NEAR = 0.02
"""A state is judged between two ticks where a row is nearer to zero than this."""
MARGIN = {"m": 5e-4, "rad": 1.75e-3, "m/s": 5e-3}
"""What a tick costs: half a millimetre, 0.1 degrees, 5 mm/s."""


@dataclass(frozen=True)
class Outcome:
    """Of one scene: references; rows that acted, those that were servable, and broken; the worst of all; brakes."""

    references: int
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
    return RobotModel.from_urdf(EXAMPLE if name == "so101" else urdf_path(name), **ARMS[name])


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
        rows = rows_of(model, content)
        rows.place(obstacles)
        h = measured(rows, model, q, np.zeros(model.nv))
        if len(h) == 0 or h.min() > 0.03:
            return q, content, obstacles


def rows_of(model: RobotModel, content: dict[str, Any]) -> ConstraintSet:
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
    return [
        Obstacle(o.shape, Pose(o.X_WO.R, o.X_WO.p + np.asarray(o.V_WO)[:3] * t), o.V_WO) if np.any(o.V_WO) else o
        for o in obstacles
    ]


def hostile(model: RobotModel, q: Array, rng: np.random.Generator) -> tuple[list[Target], int]:
    """References that want to break the constraints: far steps, and oscillations across what is forbidden.

    Returns their targets, and how many references that are.
    """
    start, t, targets, n = model.pose(q), 0.0, [], 0
    while t < SECONDS:
        n += 1
        direction, far = rng.normal(size=3), float(rng.uniform(0.1, 0.5))
        direction /= np.linalg.norm(direction)
        turn = rotation_from_vector(rng.normal(size=3) * rng.choice([0.0, 0.5]))
        oscillates, period = bool(rng.integers(2)), float(rng.uniform(0.02, 0.3))
        for k in range(int(rng.integers(1, 5))):
            p = start.p + (far + 0.05 * (-1.0) ** k * oscillates) * direction
            targets.append(Target(round(t * 1e9), model.base, Pose(turn @ start.R, p)))
            t += period if oscillates else float(rng.uniform(0.1, 0.6))
    return targets, n


class Situation(NamedTuple):
    """Time [s], and obstacles at time 0."""

    t: float
    obstacles: list[Obstacle]


class SubSteps(NamedTuple):
    """A plant, and rows of their own memory that judge it.

    Attributes
    ----------
    step : RunsKernel
        The dynamics; ``tau`` is an input, ``a`` the output.
    q, v, tau, a : ndarray, shape (n,)
        Its arrays.
    rows : ConstraintTick
        What judges; ``rows_q``, ``rows_v`` are inputs of its state.
    least : ndarray, shape (n_points + n_links,)
        The least value of each point, and of the pairs of each link, since it was infinite.
    place : ndarray of int, shape (n_capsules,)
        Where in ``least`` a capsule counts.
    n_steps, judges_all : ndarray of int, shape (1,)
        Steps to take; whether all of them are judged, or the last one only.
    """

    step: RunsKernel
    q: Floats
    v: Floats
    tau: Floats
    a: Floats
    rows: ConstraintTick
    rows_q: Floats
    rows_v: Floats
    least: Floats
    place: Ints
    n_steps: Ints
    judges_all: Ints


@procedure
def run_steps(t: SubSteps) -> float:
    """Go on, and judge on the way."""
    for k in range(t.n_steps[0]):
        t.step()
        for i in range(t.rows.rows.n):
            t.v[i] += t.a[i] * (TICK / SUB)
            t.q[i] += t.v[i] * (TICK / SUB)
        if t.judges_all[0] == 1 or k == t.n_steps[0] - 1:
            measure(t)
    if t.n_steps[0] == 0:
        measure(t)
    return 0.0


@procedure
def measure(t: SubSteps) -> None:
    """Lower the least values to those of this state."""
    points = t.rows.rows
    for i in range(points.n):
        t.rows_q[i] = t.q[i]
        t.rows_v[i] = t.v[i]
    points.state()
    points.points()
    for j in range(points.n_points):
        t.least[j] = min(t.least[j], points.point_h[0, j])
    if t.rows.pair_level >= 0:
        for j in range(find_pair_rows(t.rows)):
            k = t.place[t.rows.search.near.capsule[j]]
            t.least[k] = min(t.least[k], t.rows.pair_h[0, j])


class Plant:
    """The model itself, ten steps a tick, and the least values of its constraints.

    Attributes
    ----------
    labels : list of (str, str)
        The constraint of each of ``least``, and what of the arm it is about.
    units, margins : list of str, ndarray
        Their units, and what of them a tick costs.
    """

    def __init__(self, model: RobotModel, content: dict[str, Any]) -> None:
        self.model, self.rows = model, rows_of(model, content)
        law = quantity_law(model.tree, ["a"])
        step, rows = OwnWork(model.compile_law(law, sample_states(model.tree, law))), self.rows
        step.inputs["tool"][:] = tool_numbers(model.tree)
        self.q, self.v, self._tau = (step.inputs[name] for name in ("q", "v", "tau"))
        judge, state = rows._record(), rows._state.inputs
        terms = model.evaluate(np.zeros(model.nq), np.zeros(model.nv))
        rows.limit(terms, terms.g, terms.g, TICK)  # numbers of what only rows need
        links = [(rows._pair_name, x.link) for x in rows._proximity.capsules]
        self.labels = rows.labels + list(dict.fromkeys(links))
        self.repeats = [label in self.labels[:i] for i, label in enumerate(self.labels)]
        unit = {c.name: c.unit for c in rows.constraints}
        self.units = [unit[name] for name, _ in self.labels]
        self.margins = np.array([MARGIN[x] for x in self.units])
        place = np.array([*map(self.labels.index, links), 0], np.int64)
        self.least, self._n, self._all = np.full(len(self.labels), np.inf), *np.zeros((2, 1), np.int64)
        record = SubSteps(
            step, self.q, self.v, self._tau, step.outputs["a"], judge, state["q"], state["v"],
            self.least, place, self._n, self._all,
        )  # fmt: skip
        self._run = compile_procedure(run_steps, keeps_lock=True)(record)

    def go(self, tau: Array, n_steps: int = SUB, judges_all: bool = False) -> None:
        """Take steps with a torque; with none, judge the state."""
        self._tau[:], self._n[0], self._all[0] = tau, n_steps, judges_all
        self._run()

    def least_at(self, q: Array, v: Array, obstacles: Sequence[Obstacle]) -> Array:
        """Return the values in a state, and be there."""
        self.rows.place(obstacles)
        self.q[:], self.v[:], self.least[:] = q, v, np.inf
        self.go(v, 0)
        return self.least


def is_servable(copy: Plant, q: Array, v: Array, tau: Array, begin: Situation, row: tuple[str, str]) -> bool:
    """Whether one of some stopping motions from a state, after a torque, keeps a constraint.

    Nor may it break any other one by more than its margin, or a joint's limit: where not all can hold, some yield. An
    obstacle that moves goes on to the end of the scene, as the row does: one that comes to where the arm has stopped
    breaks the row later. To other rows that is nothing that the stop has done.
    """
    return any(_can_stop(copy, q, v, tau, begin, row, damping) for damping in BRAKES)


def _can_stop(
    copy: Plant, q: Array, v: Array, tau: Array, begin: Situation, row: tuple[str, str], damping: float
) -> bool:
    """Whether one stopping motion does: all joints are slowed alike, so that the arm stays on its way."""
    model, step_size, which = copy.model, rate_limit(copy.model) * TICK, copy.labels.index(row)
    least = np.minimum(copy.least_at(q, v, moved(begin.obstacles, begin.t)), 0.0) - copy.margins
    least[which], v_max = 0.0, np.maximum(model.v_max, np.abs(v)) * (1.0 + 1e-6)
    is_moving = any(np.any(obstacle.V_WO) for obstacle in begin.obstacles)
    for step in range(round((SECONDS - begin.t) / TICK) if is_moving else 300):
        copy.rows.place(moved(begin.obstacles, begin.t + step * TICK))
        terms = model.evaluate(copy.q, copy.v)
        brake = -damping * terms.M @ copy.v
        room = (model.tau_max - np.sign(brake) * terms.h) / np.maximum(np.abs(brake), 1e-9)
        change = terms.h + brake * np.clip(room.min(), 0.0, 1.0) - tau
        tau = tau + change * min(1.0, step_size / max(float(np.abs(change).max()), step_size))
        copy.go(tau)
        if (copy.least < least).any() or (np.abs(copy.v) > v_max).any():
            return False
        if not ((copy.q >= model.q_min) & (copy.q <= model.q_max)).all():
            return False
        if np.abs(copy.v).max() < 0.01:
            if not is_moving:
                return True
            least = np.where(np.arange(len(least)) == which, 0.0, -np.inf)
    return True


def kept_at_rest(copy: Plant, q: Array, obstacles: Sequence[Obstacle]) -> list[bool]:
    """Which constraints hold to the end of the scene while the arm stays where it begins.

    A row that never acts is servable if so: what no joint moves is up to the obstacles alone.
    """
    copy.least_at(q, np.zeros(copy.model.nv), obstacles)
    for step in range(round(SECONDS / TICK) if any(np.any(x.V_WO) for x in obstacles) else 0):
        copy.rows.place(moved(obstacles, step * TICK))
        copy.go(q, 0)
    return [bool(h >= 0.0) for h in copy.least]


class Episodes:
    """When each row acts, whether it could be kept then, and how far it was broken before it acts anew.

    That some rows yield to others is known from the levels in the file, and from what this judge holds for servable.
    """

    def __init__(self, plant: Plant, servable: list[bool]) -> None:
        self._plant = plant
        self._worst, self._servable = np.zeros(len(plant.labels)), servable
        level = {c.name: int(c.level) for c in plant.rows.constraints}
        self._level = {row: level[row[0]] for row in plant.labels}
        self._last_seen: dict[tuple[str, str], tuple[int, bool]] = {}
        self._acted = self._n_servable = self._violations = 0

    def begun(self, rows: set[tuple[str, str]], step: int) -> Iterator[tuple[str, str]]:
        """Rows of this tick that have not acted for a while, or have begun to yield or ended it.

        Each episode has to begin before the next one is asked for: more important levels come first.
        """
        for row in sorted(rows, key=lambda row: (self._level[row], row)):
            last, did_yield = self._last_seen.get(row, (-100, False))
            yields = self._yields(row, step)
            self._last_seen[row] = step, yields
            if step - last > PAUSE or yields != did_yield:
                yield row

    def _yields(self, row: tuple[str, str], step: int) -> bool:
        """Whether a row of a more important level that could not be kept acts, or has not long ago."""
        return any(
            self._level[other] < self._level[row]
            and step - last <= PAUSE
            and not self._servable[self._plant.labels.index(other)]
            for other, (last, _) in self._last_seen.items()
        )

    def begin(self, row: tuple[str, str], servable: bool) -> None:
        """Begin another episode of a row, which a stop would keep or not."""
        which = self._plant.labels.index(row)
        self._end(which)
        self._servable[which] = servable and not self._last_seen[row][1]
        self._acted, self._n_servable = self._acted + 1, self._n_servable + self._servable[which]

    def _end(self, which: int) -> None:
        """Count a violation of the last episode, or of a row that did not act at all."""
        h = np.inf if self._plant.repeats[which] else self._plant.least[which]
        self._worst[which] = min(self._worst[which], h)
        self._violations += bool(self._servable[which] and h < -self._plant.margins[which])
        self._plant.least[which] = np.inf

    def outcome(self, references: int, braked: bool, capped: int) -> Outcome:
        """End all episodes."""
        for which in range(len(self._worst)):
            self._end(which)
        is_speed = np.array(self._plant.units) == "m/s"
        worst, worst_speed = (float(self._worst[some].min(initial=0.0)) for some in (~is_speed, is_speed))
        figures = references, self._acted, self._n_servable, self._violations
        return Outcome(*figures, worst, worst_speed, braked, capped)


def loop_of(model: RobotModel, q: Array, content: dict[str, Any], targets: Sequence[Target]) -> ControlLoop:
    """Operational space control behind a gate with constraints."""
    controller = OscController(model, OscTuning(OscParameters(posture=tuple(q))), None, None, None)
    for target in targets:
        controller.add(target)
    gate = GateParameters(constraints=yaml_document(content), rate_limit=rate_limit(model))
    return ControlLoop(model, controller, gate, None, waits_for_commands=True)


def run(name: str, seed: int) -> Outcome:
    """One scene."""
    model = arm(name)
    q, content, obstacles = scene(name, seed)
    targets, n_references = hostile(model, q, np.random.default_rng([seed, 1]))
    loop = loop_of(model, q, content, targets)
    acting, plant, copy = loop.gate.constraints, Plant(model, content), Plant(model, content)
    assert acting is not None
    plant.least_at(q, np.zeros(model.nv), obstacles)
    episodes = Episodes(plant, kept_at_rest(copy, q, obstacles))
    capped = 0
    tau, braked = model.evaluate(q, plant.v).g, False
    for step in range(round(SECONDS / TICK)):
        there = moved(obstacles, step * TICK)
        state = Measurement(
            step * 1_000_000, plant.q.copy(), plant.v.copy(), TICK if step else 0.0, is_restart=step == 0
        )
        before, tau = tau, loop.tick(state, there).gate.tau
        if loop.gate.is_braked:
            braked = True
            break
        capped += acting.is_capped
        if entries := [i for i in acting.acting if i >= 0]:
            labels = acting.labels
            begin = Situation(step * TICK, obstacles)
            rows = {(labels[i][0], labels[i][1].partition(" at obstacle")[0]) for i in entries}
            for row in episodes.begun(rows, step):
                episodes.begin(row, is_servable(copy, state.q, state.v, before, begin, row))
        plant.rows.place(there)
        plant.go(tau, judges_all=min(acting.h, default=1.0) < NEAR)
    return episodes.outcome(n_references, braked, capped)


def run_real(seed: int) -> tuple[dict[str, float], bool]:
    """One scene of a UR5 that is not its model: the worst of all rows by unit, above zero; whether it was braked."""
    q, content, obstacles = scene("ur5", seed)
    osc = {"constraints": yaml_document(content), "rate_limit": rate_limit(arm("ur5")), "posture": q.tolist()}
    simulator = {"plant.set": "real", "initial_position": q.tolist()}
    scenario = Scenario("real", "", "ur5", {"osc": osc | ARMS["ur5"], "simulator": simulator}).variant("")
    model, parameters = arm_and_parameters(scenario)
    loop = control_loop(model, parameters)
    for target in hostile(arm("ur5"), q, np.random.default_rng([seed, 1]))[0]:
        loop.controller.add(target)
    plant, judge = make_simulator(model, q, PlantProperties(set="real"), timestep=TICK), Plant(arm("ur5"), content)
    worst = dict.fromkeys(MARGIN, 0.0)
    for step in range(round(SECONDS / TICK)):
        there = moved(obstacles, step * TICK)
        dt = TICK if step else 0.0
        result = loop.tick(Measurement(step * 1_000_000, plant.q, plant.v, dt, is_restart=step == 0), there)
        if loop.gate.is_braked:
            return worst, True
        true = true_arm(plant)
        for unit, h in zip(judge.units, judge.least_at(true.q, true.v, there), strict=True):
            worst[unit] = max(worst[unit], -float(h))
        plant.step(result.gate.tau)
    return worst, False


def real(n: int, jobs: int) -> dict[str, float]:
    """Figures of n scenes on a plant that is not the model."""
    outcomes = list(in_order(run_real, range(50_000, 50_000 + n), jobs))
    most = {unit: max((worst[unit] for worst, _ in outcomes), default=0.0) for unit in MARGIN}
    return {
        "real.scenes": n,
        "real.worst_mm": 1e3 * most["m"],
        "real.worst_degrees": float(np.degrees(most["rad"])),
        "real.worst_speed": most["m/s"],
        "real.braked_share": float(np.mean([braked for _, braked in outcomes])),
    }


def run_pair(pair: tuple[str, int]) -> Outcome:
    """A scene of an arm, by its seed."""
    return run(*pair)


def campaign(n: int, first: int, jobs: int, arms: Sequence[str], seconds: float = np.inf) -> dict[str, Any]:
    """Figures of n scenes, shared out among the arms, or of those of some time."""
    pairs = [(arms[k % len(arms)], first + k) for k in range(n)]
    outcomes: dict[str, list[Outcome]] = {name: [] for name in arms}
    begin = perf_counter()
    for (name, seed), outcome in zip(pairs, in_order(run_pair, pairs, jobs), strict=True):
        outcomes[name].append(outcome)
        if outcome.violations:
            print(f"{name} {seed}: {outcome}", flush=True)
        if perf_counter() - begin > seconds:
            break
    violations = {f"violations of {name}": sum(o.violations for o in some) for name, some in outcomes.items()}
    return totals([o for some in outcomes.values() for o in some]) | violations


def totals(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Figures of all scenes."""
    acted, servable = sum(o.acted for o in outcomes), sum(o.servable for o in outcomes)
    return {
        "scenes": len(outcomes),
        "references": sum(o.references for o in outcomes),
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
    rows = rows_of(model, {"constraints": [box, {"name": "clear", "kind": "clearance"}]})
    rows.place(near)
    terms, v = model.evaluate(q, np.zeros(6)), np.array([0.5, 0.2, 0.2, 0.0, 0.0, 0.0])
    tight = rows_of(
        model, {"constraints": [box | {"size": [0.02, 0.02, 0.02]}, {"name": "slow", "kind": "speed", "limit": 0.1}]}
    )
    moving = model.evaluate(q, v)
    hostile_tau = moving.g + 0.5 * model.tau_max
    return {
        "idle_us": clock(partial(rows.limit, terms, terms.g, terms.g, TICK)),
        "active_us": clock(partial(tight.limit, moving, hostile_tau, moving.g, TICK)),
        "active_rows": float(len(tight.acting)),
    }


def beside_libraries(rounds: int) -> dict[str, Any]:
    """Time of a tick of a Panda with joints, box and spheres [us], and as a share of that of other libraries."""
    model = arm("panda")
    box = {"name": "box", "kind": "box", "centre": model.pose(Q).p.tolist(), "size": (2.0 * BOX).tolist()}
    content = {"constraints": [box, {"name": "clear", "kind": "clearance", "distance": 0.01}], "allow_recovery": True}
    ticks = {"ours": ours(loop_of(model, Q, content, ()), model)}
    for name, make in LIBRARIES.items():
        try:
            ticks[name] = make(model)
        except ImportError as error:
            print(f"{name} is left out: {error}")
    taken = take_turns({name: Contender(tick, states(50)) for name, tick in ticks.items()}, rounds)
    figures = {f"tick_{name}_us": x.median for name, x in taken.items()}
    figures |= {f"tick_{name}_p99_us": x.p99 for name, x in taken.items()}
    return figures | {f"vs_{name}": x.median / taken["ours"].median for name, x in taken.items() if name != "ours"}


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
    parser.add_argument("--full", action="store_true", help="100,000 references")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS)[:4])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--real", type=int, default=60, help="scenes on a plant that is not the model")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so long")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    n = FULL if options.full else options.scenes
    figures = campaign(n, options.first, options.jobs, options.arms, 60.0 * options.minutes) | times()
    figures |= real(options.real, options.jobs) | {"rows400_us": solves(400, 1.0, 20, 20)["from Python"]["median"]}
    figures |= beside_libraries(20) | {"processor": processor()}
    figures["versions"] = versions("numpy", "llvmlite", "pin-pink", "mink", "mujoco", "daqp", "jax", "cbfpy", "tsid")
    for key, value in figures.items():
        print(f"{key:16} {value if isinstance(value, str) else format(value, '.4g')}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
