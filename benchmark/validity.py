"""Validity of motions: what coal finds in those that are called free, and times beside Pinocchio with coal.

python benchmark/validity.py [--motions 100000] [--moving 10000] [--seed 0] [--json FILE]; its times are among those of
benchmark/planning.py.

A motion is drawn from a free state, 0.05 to 0.6 rad a joint; scenes have ten spheres and boxes within reach. coal
checks each motion that is called free at :data:`FINER` times the places of a usual check. Places that the distance at
the last one rules out are passed over, by a bound of its own: a joint moves no point further than the length of all
links behind it, on end, times its motion, and no obstacle moves further than its speed times the time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measure import processor, versions

# isort: split
import numpy as np
from coal_arm import CoalArm

from arm_control import RobotModel, urdf_path
from arm_control.core.progress import progress_bar
from arm_control.maths.obstacles import Obstacle
from arm_control.maths.poses import Array, Pose, rotation_from_vector
from arm_control.maths.shapes import Box, Sphere
from arm_control.planning.validity.validity import Validity

PER_RADIAN, FINER = 32, 100
"""Places of a usual check per rad, and how many times as many coal checks."""
PER_SCENE, N_OBSTACLES = 200, 10
AROUND, SPREAD = np.array([0.0, 0.0, 0.4]), 0.8
SKIP = 0.98
"""Share of the bound that is used."""


class Tally(NamedTuple):
    """Motions drawn, called free, not decided, called free in which coal finds a contact; places coal looked at."""

    drawn: int
    free: int
    undecided: int
    false_free: int
    looks: int


def scene(rng: np.random.Generator, is_moving: bool, n: int = N_OBSTACLES) -> list[Obstacle]:
    """Spheres and boxes around the arm; moving ones turn, too."""
    obstacles = []
    for k in range(n):
        shape = Sphere(rng.uniform(0.03, 0.12)) if k % 2 else Box(tuple(rng.uniform(0.05, 0.3, 3)))
        X = Pose(rotation_from_vector(rng.normal(size=3)), AROUND + rng.uniform(-SPREAD, SPREAD, 3))
        obstacles.append(Obstacle(shape, X, rng.uniform(-0.5, 0.5, 6) if is_moving else np.zeros(6)))
    return obstacles


def draw_motions(validity: Validity, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Starts (n, nq), ends and times (n, 2) of motions; the starts are free."""
    model = validity.shape.model
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    starts: list[Array] = []
    while sum(map(len, starts)) < n:
        q, t = rng.uniform(low, high, (2 * n, model.nq)), rng.uniform(0.0, 1.0, 2 * n)
        free = validity.free_states(q, t)
        starts.append(np.column_stack([q, t])[free])
    drawn = np.concatenate(starts)[:n]
    a = drawn[:, :-1]
    b = np.clip(a + rng.normal(size=a.shape) * rng.uniform(0.05, 0.6, (n, 1)), low, high)
    return a, b, np.column_stack([drawn[:, -1], drawn[:, -1] + rng.uniform(0.0, 0.5, n)])


def first_touch(coal_arm: CoalArm, a: Array, b: Array, times: Array, speed: float, lengths: Array) -> tuple[bool, int]:
    """Whether coal finds a contact in a motion, and at how many places it looked.

    ``speed`` is the largest of any obstacle [m/s], ``lengths`` are those of the arm behind each joint [m].
    """
    places = max(2, int(np.ceil(np.linalg.norm(b - a) * PER_RADIAN * FINER)))
    way = lengths @ np.abs(b - a) + speed * (times[1] - times[0]) + 1e-12
    k, looks = 0, 0
    while k <= places:
        s = k / places
        distance = coal_arm.distance(a + s * (b - a), times[0] + s * (times[1] - times[0]))
        looks += 1
        if distance <= 0.0:
            return True, looks
        k += max(1, int(SKIP * distance / way * places))
    return False, looks


def arm_lengths(validity: Validity) -> Array:
    """Length of all links behind each joint, on end, and of what is around the last one [m]."""
    bodies = validity.shape.model.tree.bodies
    last = max(float(np.linalg.norm(link.whole.centre)) + link.whole.radius for link in validity.shape.links)
    behind = [sum(float(np.linalg.norm(body.X_PJ.p)) for body in bodies[j + 1 :]) for j in range(len(bodies))]
    return np.array(behind) + last


def count_false_free(model: RobotModel, n: int, is_moving: bool, seed: int) -> Tally:
    """Draw n motions and let coal look at those that are called free."""
    rng, tally = np.random.default_rng(seed), Tally(0, 0, 0, 0, 0)
    validity = Validity(model)
    lengths = arm_lengths(validity)
    sizes = [min(PER_SCENE, n - k) for k in range(0, n, PER_SCENE)]
    for size in progress_bar(sizes, "scenes"):
        obstacles = scene(rng, is_moving)
        validity.place(obstacles)
        a, b, times = draw_motions(validity, size, rng)
        found = validity.motions(a, b, times[:, 0], times[:, 1])
        coal_arm = CoalArm(validity, obstacles)
        speed = max(_largest_speed(obstacle) for obstacle in obstacles)
        touches = [first_touch(coal_arm, a[i], b[i], times[i], speed, lengths) for i in np.flatnonzero(found.is_free)]
        undecided = int((~found.is_free & ~found.is_contact).sum())
        new = (size, len(touches), undecided, sum(x for x, _ in touches), sum(x for _, x in touches))
        tally = Tally(*(x + y for x, y in zip(tally, new, strict=True)))
    return tally


def _largest_speed(obstacle: Obstacle) -> float:
    """Of any point of an obstacle [m/s]."""
    V = np.asarray(obstacle.V_WO)
    return float(np.linalg.norm(V[:3]) + obstacle.shape.extent * np.linalg.norm(V[3:]))


def check_places(coal_arm: CoalArm, a: Array, b: Array) -> bool:
    """A usual check: places along a motion, none of them in contact for coal."""
    places = max(1, int(np.ceil(np.linalg.norm(b - a) * PER_RADIAN)))
    return not any(coal_arm.touches(a + k / places * (b - a)) for k in range(1, places + 1))


def cpu_medians(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Processor time of long calls that take turns [s]: medians; other processes do not count."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, function in contenders.items():
            begin = time.process_time()
            function()
            times[name].append(time.process_time() - begin)
    return {name: median(values) for name, values in times.items()}


def measure(model: RobotModel, rounds: int, n: int = 1024, n_obstacles: int = 20) -> dict[str, float]:
    """Processor times among spheres at rest: of a motion of 0.25 rad a joint, of a state, and beside coal."""
    rng = np.random.default_rng(3)
    centres = AROUND + rng.uniform(-SPREAD, SPREAD, (n_obstacles, 3))
    spheres = [Obstacle(Sphere(0.1), Pose(np.eye(3), centre)) for centre in centres]
    validity, empty = Validity(model), Validity(model)
    validity.place(spheres)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    qs = rng.uniform(low, high, (8 * n, model.nq))
    qs = qs[validity.free_states(qs)][:n]
    ends = np.clip(qs + rng.normal(size=qs.shape) * 0.25, low, high)
    coal_arm, few = CoalArm(validity, spheres), range(20)
    found = validity.motions(qs, ends)
    empty.free_states(qs)
    contenders = {
        "edge": lambda: validity.free_motions(qs, ends),
        "state": lambda: validity.free_states(qs),
        "state_alone": lambda: empty.free_states(qs),
        "one_edge": lambda: [validity.free_motions(qs[i : i + 1], ends[i : i + 1]) for i in few],
        "coal_state": lambda: [coal_arm.touches(qs[i]) for i in few],
        "coal_edge": lambda: [check_places(coal_arm, qs[i], ends[i]) for i in few],
    }
    counts = dict.fromkeys(("edge", "state", "state_alone"), len(qs))
    times = {name: seconds / counts.get(name, len(few)) for name, seconds in cpu_medians(contenders, rounds).items()}
    return {
        "validity.edge_us": 1e6 * times["edge"],
        "validity.edge_looks": float(found.looks.mean()),
        "validity.edge_free": float(found.is_free.mean()),
        "validity.one_edge_us": 1e6 * times["one_edge"],
        "validity.state_ns": 1e9 * times["state"],
        "validity.state_obstacle_ns": 1e9 * (times["state"] - times["state_alone"]) / n_obstacles,
        "validity.coal_state_us": 1e6 * times["coal_state"],
        "validity.coal_edge_us": 1e6 * times["coal_edge"],
        "validity.n_capsules": float(sum(len(link.whole.capsules) for link in validity.shape.links)),
    }


def main() -> None:
    """Print what was found; with ``--json`` write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--motions", type=int, default=100_000)
    parser.add_argument("--moving", type=int, default=10_000, help="as many more, among obstacles that move and turn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--robot", default=urdf_path("panda"))
    parser.add_argument("--tip")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'pin', 'coal')}")
    model, figures = RobotModel.from_urdf(options.robot, tip=options.tip), {}
    for name, n in (("rest", options.motions), ("moving", options.moving)):
        tally = count_false_free(model, n, name == "moving", options.seed)
        figures |= {f"validity.{name}.{key}": value for key, value in tally._asdict().items()}
        print(
            f"obstacles {name}: {tally.drawn} motions, {tally.free} called free, of which coal finds {tally.false_free}"
        )
        print(f"  in contact, at {tally.looks} places; not decided: {tally.undecided}")
    figures["validity.motions"] = figures["validity.rest.drawn"] + figures["validity.moving.drawn"]
    figures["validity.false_free"] = figures["validity.rest.false_free"] + figures["validity.moving.false_free"]
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
