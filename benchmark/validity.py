"""Times of checks of motions and states, beside Pinocchio with coal.

python benchmark/validity.py [--rounds 9] [--robot URDF] [--tip FRAME] [--json FILE]; its figures are among those of
benchmark/planning.py. How many motions are called free that are not, benchmark/false_free.py counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from measure import processor, versions

# isort: split
import numpy as np
from coal_arm import CoalArm
from motion_scenes import AROUND, SPREAD

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.maths import Array, Obstacle, Pose, Sphere

PER_RADIAN = 32
"""Places of a usual check per rad."""


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
    """Print the times; with ``--json`` write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--robot", default=urdf_path("panda"))
    parser.add_argument("--tip")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'pin', 'coal')}")
    figures = measure(RobotModel.from_urdf(options.robot, tip=options.tip), options.rounds)
    print("\n".join(f"{name:32} {value:.4g}" for name, value in figures.items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
