"""Proposed gains beside those that a sweep finds, for five arms with the friction, rotors and sensors of ``real``.

    python benchmark/gains.py [--samples 16] [--json FILE]

Each arm goes to targets for 6 s: with proposed gains, and with gains from a quarter to four times as large, damping
ratios from 0.5 to 2, speed limits from half to double, by Sobol. Distance of the proposal from the Pareto front of two
figures: the largest factor by which one row is better in both; 1 on the front.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from itertools import combinations
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import processor, versions

from arm_control import RobotModel, urdf_path
from arm_control.control import propose, propose_rate_limit
from arm_control.core import progress_bar, read_yaml, yaml_document, yaml_path
from arm_control.sweeps import Sweep, run_row

ARMS = {"ur5": "ur5_osc", "panda": "panda_reach", "ur4": "ur4_reach", "arm6": "arm6_reach", "planar3": "planar3_reach"}
"""Scenario with start and targets of each arm."""
SECONDS = 6.0
FIGURES = ("rms_error", "final_error", "time_to_reach", "torque_share", "straightness")
GIVEN = ("characteristic_length", "singular_value", "publish_effort_array", "tasks", "task_frame")
"""Parameters of a scenario that stay: lengths of the arm and tasks, no gains."""


def sweep_of(arm: str, n: int, folder: str) -> Sweep:
    """The sweep of an arm; its file of a scenario is written into the folder."""
    content = read_yaml(yaml_path("scenarios", ARMS[arm]))
    nodes, model = content["nodes"], RobotModel.from_urdf(urdf_path(arm))
    rate_limit = propose_rate_limit(model)
    own = {name: value for name, value in nodes["osc"].items() if name in GIVEN} | {"rate_limit": rate_limit}
    simulator = {"rate_limit": rate_limit, "plant.set": "real"}
    chosen = {"simulator": simulator, "dynamics": {}, "osc": own, "targets": nodes["targets"]}
    path = Path(folder, f"{arm}.yaml")
    path.write_text(yaml_document({"description": arm, "robot": arm, "start": content["start"], "nodes": chosen}))
    p = propose(model, rate_limit=rate_limit)
    axes: dict[str, Any] = {
        f"osc.{name}": {"from": value / factor, "to": factor * value, "scale": "log"}
        for name, value, factor in (
            ("kp_linear", p.kp_linear, 4.0),
            ("kp_angular", p.kp_angular, 4.0),
            ("damping_ratio", p.damping_ratio, 2.0),
            ("speed_limit_linear", p.speed_limit_linear, 2.0),
        )
    }
    sampled = {"axes": axes, "sampling": "sobol", "samples": n, "figures": list(FIGURES)}
    return Sweep.from_content({"scenario": str(path), "duration": SECONDS, **sampled}, arm)


def distance_from_front(proposed: Mapping[str, float], rows: list[dict[str, Any]], pair: tuple[str, str]) -> float:
    """The largest factor by which a row is better than the proposal in both figures; at least 1."""
    return max(1.0, *(min(proposed[name] / row[name] for name in pair) for row in rows))


def main() -> None:
    """Print the proposal, the best of each figure and the distances."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=16, help="a power of two")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'scipy', 'mujoco')}")
    figures: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        for arm in options.arms:
            sweep = sweep_of(arm, options.samples, folder)
            proposed = run_row(sweep.plan, -1, {})
            points = list(enumerate(sweep.points[k] for k in range(options.samples)))
            rows = [run_row(sweep.plan, k, values) for k, values in progress_bar(points, arm)]
            good = [row for row in rows if not row["error"] and all(isfinite(row[name]) for name in FIGURES)]
            print(f"{arm}: {len(rows) - len(good)} of {len(rows)} rows failed or missed a target {proposed['error']}")
            for name in FIGURES:
                best = min(good, key=lambda row, name=name: row[name])
                values = {axis: f"{best[axis]:.3g}" for axis in sweep.kinds}
                print(f"  {name:14} proposed {proposed[name]:.4g}, best {best[name]:.4g} with {values}")
            for pair in combinations(FIGURES, 2):
                figures[f"{arm}.{'.'.join(pair)}"] = found = distance_from_front(proposed, good, pair)
                print(f"  {found:5.2f} from the front of {' and '.join(pair)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
