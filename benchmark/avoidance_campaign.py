"""Scenes with an obstacle in the way of a UR5: does the arm touch it, without avoidance, with it, with a constraint?

    python benchmark/avoidance_campaign.py --scenes 500 --jobs 4

Each scene is a move of the end effector of 0.25 m to 0.5 m in a random direction, and a sphere, box, cylinder or
cone, or with ``--shapes H`` a convex hull, on its way, at rest or moving slowly across it (at most 0.2 m/s). The arm
starts and ends at least 5 cm clear. Contact is judged by coal, on the collision shapes of the URDF, not by the capsules
that the law knows. Scenes are numbered; each is drawn by its number alone, so any of them can be run again:
``--first 17 --scenes 1``. Each runs on an arm that is its model, and on one with the friction, rotors and sensors of
the set ``real``, with the disturbance observer and the floor of inertia that such an arm has. The constraint is a
clearance of 2 cm, without the avoidance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from pathlib import Path

import coal
import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.collision import coal_shape
from arm_control.control import Avoidance, AvoidanceParameters, ControlLoop, Measurement, OscParameters, OscTuning
from arm_control.controllers import OscController, OscLoopParameters
from arm_control.core import yaml_document
from arm_control.maths import (
    Array,
    Box,
    Cone,
    Cylinder,
    Hull,
    Obstacle,
    Pose,
    Sphere,
    rotation_from_rpy,
    rotation_from_vector,
)
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, make_simulator
from arm_control.sweeps import in_order

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
ON_THE_SPOT = "shoulder_link"
"""It only turns about its own axis: no motion of the arm keeps it clear of what comes for it."""
CLEAR, SECONDS, ARRIVED, AT_REST = 0.05, 3.0, 0.005, 0.02
LOOK = 10
"""Ticks between two looks at distances."""
CONSTRAINTS = yaml_document({"constraints": [{"name": "clear", "kind": "clearance", "distance": 0.02}]})
PLANTS: dict[str, dict[str, object]] = {
    "ideal": {},
    "real": {"disturbance_observer": True, "inertia_floor": 0.02},
}
"""By the set of plant properties: parameters of the loop, as the start of a scenario chooses them."""


@dataclass(frozen=True)
class Scene:
    """A move from ``q0`` to ``X_WT``, and an obstacle that is at its ``X_WO`` at the start."""

    q0: Array
    X_WT: Pose
    obstacle: Obstacle

    def at(self, seconds: float) -> Obstacle:
        """Where the obstacle is then; it stops after SECONDS."""
        V = np.asarray(self.obstacle.V_WO)
        moving = seconds < SECONDS
        X = Pose(self.obstacle.X_WO.R, self.obstacle.X_WO.p + V[:3] * min(seconds, SECONDS))
        return Obstacle(self.obstacle.shape, X, V if moving else np.zeros(6))


@dataclass(frozen=True)
class Outcome:
    """Smallest distance by capsules and by coal [m], remaining error [m], peak of |torque| / limit, rest at the end.

    Speeds are the largest ones of the hand, linear [m/s] and angular [rad/s].
    """

    distance: float
    clearance: float
    error: float
    peak: float
    rests: bool
    speeds: tuple[float, float]


class Contact:
    """Distance between the URDF's collision shapes and an obstacle, by coal."""

    def __init__(self, model: RobotModel) -> None:
        shapes = [
            (link.name, coal.Cylinder(c.geometry.radius, c.geometry.length), c.origin)
            for link in model.urdf.robot.links
            for c in link.collisions
            if model.tree.frames[link.name].body >= 0
        ]
        self._model = model
        self._shapes = [
            (model.frames.index(link), shape, Pose(rotation_from_rpy(origin.rpy), np.array(origin.xyz)))
            for link, shape, origin in shapes
        ]
        self._frames = model.batch("frames")

    def __call__(self, q: Array, obstacle: Obstacle) -> float:
        """Smallest distance in a posture [m], not above 0 on contact."""
        other, X_WO = coal_shape(obstacle.shape), coal.Transform3s(obstacle.X_WO.R, obstacle.X_WO.p)
        (frames,) = self._frames(q[None])["frames"]
        request, nearest = coal.DistanceRequest(), np.inf
        for frame, shape, X_FS in self._shapes:
            X = Pose(frames[frame, :9].reshape(3, 3), frames[frame, 9:]) @ X_FS
            place = coal.Transform3s(X.R, X.p)
            nearest = min(nearest, coal.distance(shape, place, other, X_WO, request, coal.DistanceResult()))
        return nearest


def scene(model: RobotModel, seed: int, moving: bool, kinds: str = "SBYC") -> Scene:
    """Draw a scene; one that starts, or would end, with less than CLEAR is drawn again."""
    rng = np.random.default_rng([seed, moving])
    avoidance = _avoidance(model, AvoidanceParameters())
    while True:
        q0 = HOME + rng.uniform(-0.4, 0.4, 6) * [3.0, 1.0, 1.0, 1.0, 0.5, 1.0]
        start = model.pose(q0)
        direction = rng.normal(size=3)
        way = direction / np.linalg.norm(direction) * rng.uniform(0.25, 0.5)
        p_T = start.p + way
        p_O = start.p + 0.5 * way + rng.uniform(-0.03, 0.03, 3)
        V = np.zeros(6)
        if moving:
            across = np.cross(way, rng.normal(size=3))
            V[:3] = across / np.linalg.norm(across) * rng.uniform(0.05, 0.2)
            p_O = p_O - V[:3] * np.linalg.norm(way)  # at 0.5 m/s it takes that long to come half the way
        size = rng.uniform(0.04, 0.07)
        shapes = {
            "S": Sphere(size),
            "B": Box(tuple((2.0 * rng.uniform(0.03, 0.06, 3)).tolist())),
            "Y": Cylinder(size, 3.0 * size),
            "C": Cone(size, 3.0 * size),
        }
        kind = kinds[rng.integers(len(kinds))]
        shape = shapes[kind] if kind in shapes else _stone(rng, size)
        drawn = Scene(q0, Pose(start.R, p_T), Obstacle(shape, Pose(rotation_from_vector(rng.normal(size=3)), p_O), V))
        if 0.35 < np.linalg.norm(p_T[:2]) < 0.75 and 0.1 < p_T[2] < 0.8 and _is_clear(model, avoidance, drawn):
            return drawn


def _stone(rng: np.random.Generator, size: float) -> Hull:
    """A hull of 8 to 40 points about as far from its middle as a size [m]."""
    points = rng.normal(size=(int(rng.integers(8, 41)), 3))
    return Hull.of_points(points / np.linalg.norm(points, axis=1)[:, None] * size * rng.uniform(0.6, 1.4, 3))


def _is_clear(model: RobotModel, avoidance: Avoidance, drawn: Scene) -> bool:
    """Whether the arm is clear at the start, and the obstacle leaves the target and what cannot move away free."""
    for seconds in np.linspace(0.0, SECONDS, 31) if any(drawn.obstacle.V_WO) else ():
        pairs = avoidance.tick(model.evaluate(drawn.q0, np.zeros(6)), [drawn.at(seconds)]).pairs
        if any(link == ON_THE_SPOT for link, _ in pairs.names):
            return False
    begin = avoidance.tick(model.evaluate(drawn.q0, np.zeros(6)), [drawn.at(0.0)]).pairs
    end = np.linalg.norm(drawn.at(SECONDS).X_WO.p - drawn.X_WT.p) - drawn.obstacle.shape.extent
    return bool((begin.rho[~begin.is_self] > CLEAR).all() and end > CLEAR)


def run(
    model: RobotModel,
    drawn: Scene,
    parameters: AvoidanceParameters | None,
    contact: Contact | None,
    plant: str = "ideal",
    constraints: str = "",
) -> Outcome:
    """Simulate the move, with avoidance or (None) without; distances are measured in both cases.

    The capsules hold the shapes, so coal is asked only where theirs is less than the smallest distance so far.
    """
    law = _avoidance(model, parameters or AvoidanceParameters(self_threshold=0.0))
    loop = _loop(model, drawn, None if parameters is None else law, plant, constraints)
    simulator = make_simulator(model, drawn.q0, PlantProperties(set=plant))
    distance = clearance = np.inf
    peak, speeds = 0.0, np.zeros(2)
    for step in range(round(SECONDS * 1e3)):
        obstacle = drawn.at(step * 1e-3)
        dt = 1e-3 if step else 0.0
        measurement = Measurement(step * 1_000_000, simulator.q, simulator.v, dt, is_restart=step == 0)
        result = loop.tick(measurement, [obstacle])
        speeds = np.maximum(speeds, np.linalg.norm(result.law.terms.V_WE.reshape(2, 3), axis=1))
        avoid = result.avoidance
        if parameters is None and step % LOOK == 0:
            avoid = law.tick(result.law.terms, [obstacle])
        if avoid is not None and avoid.distance < np.inf and step % LOOK == 0:
            rho = avoid.pairs.rho[~avoid.pairs.is_self].min(initial=np.inf)
            distance = min(distance, float(rho))
            if contact is not None and rho < min(clearance, CLEAR):
                clearance = min(clearance, contact(measurement.q, obstacle))
        tau = result.gate.tau
        peak = max(peak, float(np.abs(tau / model.tau_max).max()))
        simulator.step(tau)
    error = float(np.linalg.norm(model.pose(simulator.q).p - drawn.X_WT.p))
    linear, angular = speeds.tolist()
    return Outcome(distance, clearance, error, peak, float(np.abs(simulator.v).max()) < AT_REST, (linear, angular))


def _loop(model: RobotModel, drawn: Scene, law: Avoidance | None, plant: str, constraints: str) -> ControlLoop:
    """Operational space control towards the target, as a node or a simulation runs it on such a plant."""
    p = OscLoopParameters().replace(**PLANTS[plant])
    tuning = OscTuning(OscParameters(posture=tuple(drawn.q0)))
    if law is not None:
        tuning = tuning.replace(**law.parameters.values())
    controller = OscController(model, tuning, None, None, law)
    controller.add(Target(0, model.base, drawn.X_WT))
    gate = p.gate.replace(constraints=constraints)
    return ControlLoop(model, controller, gate, law, observer=p.observer, waits_for_commands=True)


_LAWS: dict[int, tuple[RobotModel, Avoidance]] = {}


def _avoidance(model: RobotModel, parameters: AvoidanceParameters) -> Avoidance:
    """The law for a model, made once: what takes time is not in its parameters."""
    if id(model) not in _LAWS:
        _LAWS[id(model)] = model, Avoidance(model, parameters)
    law = _LAWS[id(model)][1]
    law.parameters = parameters
    return law


@cache
def _arm() -> tuple[RobotModel, Contact]:
    model = RobotModel.from_urdf(urdf_path("ur5"))
    return model, Contact(model)


def one(case: tuple[AvoidanceParameters, str, bool, str, int]) -> tuple[Outcome, Outcome, Outcome]:
    """A scene without avoidance, with it, and with a constraint in its place."""
    model, contact = _arm()
    parameters, shapes, moving, plant, seed = case
    drawn = scene(model, seed, moving, shapes)
    without, with_it = run(model, drawn, None, contact, plant), run(model, drawn, parameters, contact, plant)
    return without, with_it, run(model, drawn, None, contact, plant, CONSTRAINTS)


def campaign(
    n: int,
    parameters: AvoidanceParameters,
    first: int = 0,
    jobs: int = 1,
    plants: Sequence[str] = tuple(PLANTS),
    shapes: str = "SBYC",
) -> dict[str, dict[str, float]]:
    """Run n scenes of both kinds on each plant, without and with avoidance; shares and clearances."""
    figures, kinds, seeds = {}, [*product(plants, (False, True))], range(first, first + n)
    outcomes = in_order(
        one, [(parameters, shapes, moving, plant, seed) for plant, moving in kinds for seed in seeds], jobs
    )
    for plant, moving in kinds:
        without, potential, constraint = zip(*islice(outcomes, n), strict=True)
        for what, with_it in (("", potential), (", constraint", constraint)):
            name = f"{plant} {'moving' if moving else 'static'}{what}"
            for line in _noteworthy(name, dict(zip(seeds, zip(without, with_it, strict=True), strict=True))):
                print(line)
            figures[name] = _figures(without, with_it)
    return figures


def _noteworthy(name: str, outcomes: dict[int, tuple[Outcome, Outcome]]) -> Iterator[str]:
    """A line for each scene in which avoidance failed."""
    for seed, (without, with_it) in outcomes.items():
        if with_it.clearance <= 0.0:
            yield f"{name} {seed}: TOUCHES: {with_it}; without: {without}"
        elif with_it.distance <= 0.0:
            yield f"{name} {seed}: capsules overlap: {with_it}; without: {without}"


def _figures(without: Sequence[Outcome], with_it: Sequence[Outcome]) -> dict[str, float]:
    touched = [b for a, b in zip(without, with_it, strict=True) if a.clearance <= 0.0]
    return {
        "scenes": len(without),
        "touch_without": float(np.mean([o.clearance <= 0.0 for o in without])),
        "touch_with": float(np.mean([o.clearance <= 0.0 for o in with_it])),
        "capsules_overlap_without": float(np.mean([o.distance < 0.0 for o in without])),
        "capsules_overlap_with": float(np.mean([o.distance < 0.0 for o in with_it])),
        "arrive_without": float(np.mean([o.error < ARRIVED for o in without])),
        "arrive_with": float(np.mean([o.error < ARRIVED for o in with_it])),
        "local_minimum_with": float(np.mean([o.rests and o.error >= ARRIVED for o in with_it])),
        "arrive_of_those_in_the_way": float(np.mean([o.error < ARRIVED for o in touched])) if touched else 1.0,
        "distance_least_mm": 1e3 * min(o.distance for o in with_it),
        "distance_median_mm": 1e3 * float(np.median([o.distance for o in with_it])),
        "clearance_least_mm": 1e3 * min(o.clearance for o in with_it),
        "peak_torque_share": max(o.peak for o in with_it),
        "speed_m_s": max(o.speeds[0] for o in with_it),
        "angular_speed_rad_s": max(o.speeds[1] for o in with_it),
    }


def main() -> None:
    """Print the figures, and write them as JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", type=int, default=20, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--plant", choices=PLANTS, action="append", help="default: all")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--shapes", default="SBYC", help="of spheres, boxes, cylinders (Y), cones and hulls (H)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    plants = options.plant or tuple(PLANTS)
    figures = campaign(options.scenes, AvoidanceParameters(), options.first, options.jobs, plants, options.shapes)
    for name, values in figures.items():
        print(name, *(f"  {key:28} {value:.4g}" for key, value in values.items()), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
