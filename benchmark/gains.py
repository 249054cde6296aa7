"""Proposed gains beside those that a sweep finds, for eight arms with the friction, rotors and sensors of ``real``.

    python benchmark/gains.py [--samples 16] [--json FILE]

Each arm goes to targets for 6 s: with proposed gains, and with gains, damping ratios and speed limits by Sobol, whose
ranges do not depend on the proposal, so that a quicker proposal does not move the front. Distance of the proposal from
the Pareto front of two figures: the largest factor by which one row is better in both; 1 on the front. A row that
misses a target, brakes, or does so with encoders of 14 bits, is no part of it. What is faster by torque alone is no
better proposal: a second distance is that from rows with the torque of the proposal at most.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from itertools import combinations
from math import isfinite, pi
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import processor, versions
from plants import ARMS as OTHERS
from plants import draw_targets, file_of, load

from arm_control import RobotModel, urdf_path
from arm_control.control import capability, propose_rate_limit
from arm_control.core import progress_bar, read_yaml, yaml_document, yaml_path
from arm_control.motion import target_entry
from arm_control.sweeps import Sweep, run_row

ARMS = {"ur5": "ur5_osc", "panda": "panda_reach", "ur4": "ur4_reach", "arm6": "arm6_reach", "planar3": "planar3_reach"}
"""Scenario with start and targets of each arm; others have those of ``plants.py``."""
ALL = (*ARMS, *(name for name in OTHERS if name not in ARMS))
SECONDS, PERIOD = 6.0, 2.0
FIGURES = ("rms_error", "time_to_reach", "torque_share", "straightness")
CHECKED = ("reached", "braked")
COARSE = {"simulator.plant.encoder_resolution": 2.0 * pi / 2**14, "simulator.plant.velocity_from": "encoder"}
RANGES = {"kp_linear": (50.0, 800.0), "kp_angular": (50.0, 800.0), "damping_ratio": (0.5, 1.5)}
SPEEDS = {"speed_limit_linear": (0.3, 1.7), "speed_limit_angular": (0.6, 3.4)}
"""Ranges of speeds, the linear one per reach [1/s, rad/s]."""
NOISE = 1.02
"""Factor of a torque share that counts as the same: figures differ by 0.4 % from plant to plant."""
GIVEN = ("characteristic_length", "singular_value", "publish_effort_array", "tasks", "task_frame")
"""Parameters of a scenario that stay: lengths of the arm and tasks, no gains."""


def scene_of(arm: str, folder: Path) -> tuple[RobotModel, dict[str, Any], dict[str, Any]]:
    """An arm, entries of its scenario, and parameters that stay; targets that are drawn are written into the folder."""
    if arm in ARMS:
        content = read_yaml(yaml_path("scenarios", ARMS[arm]))
        nodes = content["nodes"]
        own = {name: value for name, value in nodes["osc"].items() if name in GIVEN}
        entries = {"robot": arm, "start": content["start"], "nodes": {"targets": nodes["targets"]}}
        return RobotModel.from_urdf(urdf_path(arm)), entries, own
    model, path = load(arm), folder / f"{arm}_targets.yaml"
    start, goals = draw_targets(model)
    listed = {"targets": [target_entry(goal, 0.0) for goal in goals[: round(SECONDS / PERIOD)]]}
    tolerances = {"position_tolerance": 1e-3, "orientation_tolerance": 8.73e-3}
    path.write_text(yaml_document({"frame": model.base, "period": PERIOD, **tolerances, **listed}))
    entries = {"robot": str(file_of(arm)), "arm": {"tip": model.tip}, "start": start.tolist()}
    return model, entries | {"nodes": {"targets": {"file": str(path)}}}, {}


def sweep_of(arm: str, n: int, folder: Path) -> Sweep:
    """The sweep of an arm; its file of a scenario is written into the folder."""
    model, entries, own = scene_of(arm, folder)
    rate_limit = propose_rate_limit(model)
    simulator = {"rate_limit": rate_limit, "plant.set": "real"}
    nodes = {"simulator": simulator, "dynamics": {}, "osc": own | {"rate_limit": rate_limit}, **entries["nodes"]}
    path = folder / f"{arm}.yaml"
    path.write_text(yaml_document({"description": arm, **entries, "nodes": nodes}))
    sizes = zip(SPEEDS.items(), (capability(model)[0], 1.0), strict=True)
    ranges = RANGES | {name: (low * size, high * size) for (name, (low, high)), size in sizes}
    axes = {f"osc.{name}": {"from": low, "to": high, "scale": "log"} for name, (low, high) in ranges.items()}
    sampled = {"axes": axes, "sampling": "sobol", "samples": n, "figures": [*FIGURES, *CHECKED]}
    return Sweep.from_content({"scenario": str(path), "duration": SECONDS, **sampled}, arm)


def is_good(row: Mapping[str, Any]) -> bool:
    """Whether a run reached all its targets without a brake."""
    return not row["error"] and row["reached"] == 1.0 and not row["braked"] and all(isfinite(row[x]) for x in FIGURES)


def is_robust(sweep: Sweep, row: Mapping[str, Any]) -> bool:
    """Whether it does so with encoders of 14 bits, too."""
    return is_good(run_row(sweep.plan, row["run"], {name: row[name] for name in sweep.kinds if name in row} | COARSE))


def distance_from_front(proposed: Mapping[str, float], rows: list[dict[str, Any]], pair: tuple[str, str]) -> float:
    """The largest factor by which a row is better than the proposal in both figures; at least 1."""
    return max([1.0, *(min(proposed[name] / row[name] for name in pair) for row in rows)])


def measure(arm: str, n: int, folder: Path) -> dict[str, float]:
    """Print an arm's proposal, the best of each figure and the distances; return the distances."""
    sweep, found = sweep_of(arm, n, folder), {}
    proposed = run_row(sweep.plan, -1, {})
    points = list(enumerate(sweep.points[k] for k in range(n)))
    rows = [run_row(sweep.plan, k, values) for k, values in progress_bar(points, arm)]
    good = [row for row in rows if is_good(row)]
    pairs = list(combinations(FIGURES, 2))
    better = [row for row in good if any(distance_from_front(proposed, [row], pair) > 1.0 for pair in pairs)]
    robust = [row for row in better if is_robust(sweep, row)]
    gentle = [row for row in robust if row["torque_share"] <= NOISE * proposed["torque_share"]]
    proposal = "robust" if is_robust(sweep, proposed) else "not robust"
    print(f"{arm}: {n - len(good)} of {n} rows failed or missed a target, {len(better) - len(robust)} of {len(better)}"
          f" better ones are not robust; the proposal is {proposal} {proposed['error']}")  # fmt: skip
    for name in FIGURES if good else ():
        best = min(good, key=lambda row: row[name])
        values = {axis: f"{best[axis]:.3g}" for axis in sweep.kinds}
        print(f"  {name:14} proposed {proposed[name]:.4g}, best {best[name]:.4g} with {values}")
    for pair in pairs:
        distances = [distance_from_front(proposed, chosen, pair) for chosen in (robust, gentle)]
        found |= {f"{arm}.{'.'.join(pair)}{end}": x for end, x in zip(("", ".gentle"), distances, strict=True)}
        print("  {:5.2f} from the front of {} and {}, {:.2f} from that without more torque".format(
            distances[0], *pair, distances[1]), flush=True)  # fmt: skip
    return found


def main() -> None:
    """Print the figures of all arms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=16, help="a power of two")
    parser.add_argument("--arms", nargs="+", choices=ALL, default=list(ALL))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'scipy', 'mujoco')}")
    figures: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        for arm in options.arms:
            figures |= measure(arm, options.samples, Path(folder))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
