"""Times of checks of motions and states, beside Pinocchio with coal; how many free postures of real arms are refused.

python benchmark/validity.py [--rounds 9] [--robot URDF] [--tip FRAME] [--robots DIR] [--states 1000] [--json FILE]

The times are among those of benchmark/planning.py; motions called free that are not are counted by false_free.py. For
the refused ones, postures are drawn within the limits, and coal says of the shapes in the URDF, meshes and all, whether
a pair of links that is checked touches: ``refused_free`` is the share of free postures that are called in contact,
``refused_by_shapes`` the share of those that are so by Validity.free_by_shapes, too, and ``false_free`` the number of
postures in contact that are called free by either. The arms are those of this package, of example-robot-data where that
is installed, and every URDF below ``--robots``, apart from those with more than 100 pairs of links, as humanoids have,
which take an hour to compile; each has its line, with its time. Below six arms the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measure import processor, versions

# isort: split
import numpy as np
from coal_arm import CoalArm
from motion_scenes import AROUND, SPREAD
from pinocchio_calls import EXAMPLES
from real_shapes import RealArm

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.exceptions import ArmControlError
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.model import add_package_path

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


PACKAGED = ("panda", "ur5", "ur5_lab", "ur4", "lwr", "arm6")
REAL = {
    "real_panda": ("panda_description/urdf/panda.urdf", {"tip": "panda_hand"}),
    "real_ur3": ("ur_description/urdf/ur3_robot.urdf", {}),
    "real_ur5": ("ur_description/urdf/ur5_robot.urdf", {}),
    "real_ur10": ("ur_description/urdf/ur10_robot.urdf", {}),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", {"tip": "link_eef"}),
    "kinova": ("kinova_description/robots/kinova.urdf", {"tip": "j2s6s200_end_effector"}),
    "z1": ("z1_description/urdf/z1.urdf", {}),
    "so100": ("so_arm_description/urdf/so100.urdf", {}),
    "so101": ("so_arm_description/urdf/so101.urdf", {}),
    "talos": ("talos_data/robots/talos_left_arm.urdf", {}),
}
"""Files below example-robot-data, and what they need."""
FEWEST, MOST_PAIRS = 6, 100
"""Arms that are needed, and pairs of links of one that may be."""


def arms(folder: Path | None) -> dict[str, RobotModel]:
    """The arms at hand whose shapes are complete, by name."""
    add_package_path([str(EXAMPLES), str(EXAMPLES.parents[1])])
    files = {name: (urdf_path(name), {}) for name in PACKAGED}
    files |= {name: (EXAMPLES / file, needs) for name, (file, needs) in REAL.items() if (EXAMPLES / file).is_file()}
    for path in sorted(folder.rglob("*.urdf")) if folder else ():
        files[path.stem if path.stem not in files else f"{path.parent.name}/{path.stem}"] = path, {}
    found = {}
    for name, (path, needs) in files.items():
        try:
            found[name] = RobotModel.from_urdf(path, kinematics_only=True, **needs)
        except ArmControlError as error:
            print(f"{name} is left out: {error}".splitlines()[0])
    return found


def mesh_arms(folder: Path | None) -> dict[str, RobotModel]:
    """Those of them whose links have meshes."""
    return {name: model for name, model in arms(folder).items() if name not in PACKAGED}


class Refused(NamedTuple):
    """Shares of free postures that are called in contact, and how many in contact are called free."""

    share: float
    by_shapes: float
    false_free: int


def count_refused(model: RobotModel, n: int) -> Refused:
    """Compare random postures with coal."""
    validity, real = Validity(model), RealArm(model)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    qs = np.random.default_rng(7).uniform(low, high, (n, model.nq))
    called_free = validity.free_states(qs)
    by_shapes = called_free.copy()
    by_shapes[~called_free] = validity.free_by_shapes(qs[~called_free], qs[~called_free])
    is_free = np.array([not real.touches(q, validity.link_pairs) for q in qs])
    refused = [float((is_free & ~free).sum() / max(is_free.sum(), 1)) for free in (called_free, by_shapes)]
    return Refused(*refused, int((by_shapes & ~is_free).sum()))


def n_pairs(model: RobotModel) -> int:
    """Number of pairs of links with shapes that are not fixed to each other."""
    bodies = [model.tree.frames[link.name].body for link in model.urdf.robot.links if link.collisions]
    return sum(one != other for one, other in combinations(bodies, 2))


def measure_refused(folder: Path | None, n: int) -> dict[str, float]:
    """Refused and false free postures of all arms."""
    figures: dict[str, float] = {}
    for name, model in arms(folder).items():
        if (pairs := n_pairs(model)) > MOST_PAIRS:
            print(f"{name:14} is left out: {pairs} pairs of links; at most {MOST_PAIRS}", flush=True)
            continue
        begin = time.process_time()
        try:
            refused = count_refused(model, n)
        except ArmControlError as error:
            print(f"{name:14} is left out: {error}".splitlines()[0], flush=True)
            continue
        of_arm = {
            "refused_free": refused.share,
            "refused_by_shapes": refused.by_shapes,
            "false_free": refused.false_free,
        }
        figures |= {f"{figure}.{name}": float(value) for figure, value in of_arm.items()}
        print(
            f"{name:14} refused {100 * refused.share:5.1f} %, by shapes {100 * refused.by_shapes:5.1f} %, false free"
            f" {refused.false_free}, {pairs} pairs of links, {time.process_time() - begin:.0f} s",
            flush=True,
        )
    shares = [value for name, value in figures.items() if name.startswith("refused_free")]
    return figures | {"refused_free.worst": max(shares, default=1.0), "refused_free.arms": float(len(shares))}


def main() -> None:
    """Print the times; with ``--json`` write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--robot", default=urdf_path("panda"))
    parser.add_argument("--tip")
    parser.add_argument("--robots", type=Path, help="folder with URDFs of makers")
    parser.add_argument("--states", type=int, default=1000, help="postures of each arm")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'pin', 'coal')}")
    figures = measure(RobotModel.from_urdf(options.robot, tip=options.tip), options.rounds)
    print("\n".join(f"{name:32} {value:.4g}" for name, value in figures.items()))
    figures |= measure_refused(options.robots, options.states)
    n_arms = int(figures["refused_free.arms"])
    print(f"refused_free.worst {figures['refused_free.worst']:.4f} of {n_arms} arms, {options.states} postures each")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    if n_arms < FEWEST:
        raise SystemExit(f"{n_arms} arms: {FEWEST} are needed; install example-robot-data, or name --robots")


if __name__ == "__main__":
    main()
