"""Scenes with an obstacle in the way of a UR5: does the arm touch it, without avoidance and with it?

    python benchmark/avoidance_campaign.py --scenes 200

Each scene is a move of the end effector of 0.25 m to 0.5 m in a random direction, and a sphere, box, cylinder or
cone on its way, at rest or moving slowly across it (at most 0.2 m/s). The arm starts and ends at least 5 cm
clear. Contact is judged by coal, on the collision shapes of the URDF, not by the capsules that the law knows.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.controllers import OperationalSpaceController, OscParameters
from arm_control.controllers.avoidance import Avoidance, AvoidanceParameters
from arm_control.controllers.proximity import Obstacle
from arm_control.gate import EffortGate, GateParameters
from arm_control.geometry import Box, Capsule, Cone, Cylinder, Sphere
from arm_control.reference import Reference
from arm_control.simulators.mujoco_simulator import MujocoSimulator
from arm_control.spatial import Array, Pose, rotation_from_rpy, rotation_from_vector

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
CLEAR, SECONDS, ARRIVED = 0.05, 3.0, 0.005


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
    """Smallest distance by the capsules and by coal [m], remaining error [m], peak of |torque| / limit."""

    distance: float
    clearance: float
    error: float
    peak: float


class Contact:
    """Distance between the URDF's collision shapes and an obstacle, by coal."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._shapes = [
            (link.name, coal.Cylinder(c.geometry.radius, c.geometry.length), c.origin)
            for link in model.urdf.robot.links
            for c in link.collisions
            if model.tree.frames[link.name].body >= 0
        ]

    def __call__(self, q: Array, obstacle: Obstacle) -> float:
        """Smallest distance in a posture [m], not above 0 on contact."""
        other, X_WO = coal_shape(obstacle.shape), coal.Transform3s(obstacle.X_WO.R, obstacle.X_WO.p)
        nearest = np.inf
        for link, shape, origin in self._shapes:
            X = self._model.pose(q, link) @ Pose(rotation_from_rpy(origin.rpy), np.array(origin.xyz))
            result = coal.DistanceResult()
            nearest = min(
                nearest, coal.distance(shape, coal.Transform3s(X.R, X.p), other, X_WO, coal.DistanceRequest(), result)
            )
        return nearest


def coal_shape(shape: Sphere | Box | Cylinder | Cone | Capsule) -> coal.ShapeBase:
    """Return the same shape in coal."""
    match shape:
        case Sphere(radius):
            return coal.Sphere(radius)
        case Box(size):
            return coal.Box(*size)
        case Cylinder(radius, length):
            return coal.Cylinder(radius, length)
        case Cone(radius, length):
            return coal.Cone(radius, length)
        case Capsule(radius, length):
            return coal.Capsule(radius, length)


def scene(model: RobotModel, seed: int, moving: bool, kinds: str = "SBYC") -> Scene:
    """Draw a scene; one that starts, or would end, with less than CLEAR is drawn again."""
    rng = np.random.default_rng([seed, moving])
    avoidance = Avoidance(model, AvoidanceParameters())
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
        shape = shapes[kinds[rng.integers(len(kinds))]]
        drawn = Scene(q0, Pose(start.R, p_T), Obstacle(shape, Pose(rotation_from_vector(rng.normal(size=3)), p_O), V))
        if 0.35 < np.linalg.norm(p_T[:2]) < 0.75 and 0.1 < p_T[2] < 0.8 and _is_clear(model, avoidance, drawn):
            return drawn


def _is_clear(model: RobotModel, avoidance: Avoidance, drawn: Scene) -> bool:
    """Whether the arm is clear at the start, and the obstacle leaves the target's surroundings free."""
    begin = avoidance.tick(model.evaluate(drawn.q0, np.zeros(6)), [drawn.at(0.0)]).pairs
    end = np.linalg.norm(drawn.at(SECONDS).X_WO.p - drawn.X_WT.p) - drawn.obstacle.shape.extent
    return bool((begin.rho[~begin.is_self] > CLEAR).all() and end > CLEAR)


def run(model: RobotModel, drawn: Scene, parameters: AvoidanceParameters | None, contact: Contact | None) -> Outcome:
    """Simulate the move, with avoidance or (None) without; distances are measured in both cases."""
    osc = OperationalSpaceController(model, OscParameters(posture=tuple(drawn.q0)))
    avoidance = Avoidance(model, parameters or AvoidanceParameters(self_threshold=0.0))
    gate, simulator = EffortGate(model, GateParameters()), MujocoSimulator(model, drawn.q0)
    distance = clearance = np.inf
    peak, output = 0.0, None
    for step in range(round(SECONDS * 1e3)):
        t, obstacle = model.evaluate(simulator.q, simulator.v), drawn.at(step * 1e-3)
        output = osc.tick(t, Reference(drawn.X_WT))
        tau = output.tau
        if parameters is not None or step % 10 == 0:
            avoid = avoidance.tick(t, [obstacle])
            distance = min(distance, float(avoid.pairs.rho[~avoid.pairs.is_self].min(initial=np.inf)))
        if parameters is not None:
            tau = avoid.combined(tau)
        if contact is not None and step % 20 == 0 and distance < CLEAR:
            clearance = min(clearance, contact(t.q, obstacle))
        gate.offer(model.joint_names, tau.tolist())
        tau = gate.tick(t, 1e-3).tau
        peak = max(peak, float(np.abs(tau / model.tau_max).max()))
        simulator.step(tau)
    return Outcome(distance, clearance, float(np.linalg.norm(output.error[:3])), peak)


def campaign(n: int, parameters: AvoidanceParameters, first: int = 0) -> dict[str, dict[str, float]]:
    """Run scenes of both kinds, without and with avoidance; shares and clearances."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    contact, figures = Contact(model), {}
    for name, moving in (("static", False), ("moving", True)):
        scenes = [scene(model, seed, moving) for seed in range(first, first + n)]
        without = [run(model, drawn, None, contact) for drawn in scenes]
        with_it = [run(model, drawn, parameters, contact) for drawn in scenes]
        for seed, (a, b) in enumerate(zip(without, with_it, strict=True), first):
            if b.clearance <= 0.0:
                print(f"{name} {seed}: touches: {b}, {scenes[seed - first].obstacle.shape}; without: {a}")
        figures[name] = {
            "scenes": n,
            "touch_without": float(np.mean([o.clearance <= 0.0 for o in without])),
            "touch_with": float(np.mean([o.clearance <= 0.0 for o in with_it])),
            "capsules_overlap_without": float(np.mean([o.distance < 0.0 for o in without])),
            "capsules_overlap_with": float(np.mean([o.distance < 0.0 for o in with_it])),
            "arrive_without": float(np.mean([o.error < ARRIVED for o in without])),
            "arrive_with": float(np.mean([o.error < ARRIVED for o in with_it])),
            "distance_least_mm": 1e3 * min(o.distance for o in with_it),
            "distance_median_mm": 1e3 * float(np.median([o.distance for o in with_it])),
            "peak_torque_share": max(o.peak for o in with_it),
        }
    return figures


def main() -> None:
    """Print the figures, and write them as JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", type=int, default=20, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = campaign(options.scenes, AvoidanceParameters(), options.first)
    for name, values in figures.items():
        print(name, *(f"  {key:28} {value:.4g}" for key, value in values.items()), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
