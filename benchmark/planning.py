"""Figures of planning: motions without a gap, beside Pinocchio with coal; searches, beside VAMP and OMPL; tasks.

python benchmark/planning.py [--vamp FOLDER] [--robots DIR] [--json FILE] [--quick]

The folder is a clone of https://github.com/KavrakiLab/vamp, for MotionBenchMaker's problems; by default that of the
environment variable VAMP.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from measure import processor, versions

# isort: split
import false_free
import searches
import task_scenes
import validity

from arm_control import RobotModel, urdf_path


def main() -> None:
    """Print the figures; with ``--json`` write them, too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vamp", type=Path, default=os.environ.get("VAMP"))
    parser.add_argument("--robots", type=Path, help="folder with URDFs of makers, for scenes of meshes")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="few motions: to see that it works")
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'pin', 'coal', 'ompl')}")
    figures: dict[str, float] = {}
    for group in (measure_validity, searches.measure_searches, measure_meshes, task_scenes.measure_tasks):
        figures |= group(options)
    for name, value in figures.items():
        print(f"{name:28} {value:10.3f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def measure_meshes(options: argparse.Namespace) -> dict[str, float]:
    """Solve scenes whose ends are free by the meshes, beside OMPL, where that is installed."""
    try:
        import mesh_scenes
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: scenes of meshes are left out")
        return {}
    models = validity.mesh_arms(options.robots)
    chosen = dict(list(models.items())[:1]) if options.quick else models
    return mesh_scenes.measure_scenes(chosen, range(1 if options.quick else 10), 10.0)


def measure_validity(options: argparse.Namespace) -> dict[str, float]:
    """Time and count motions that are proved free."""
    figures: dict[str, float] = validity.measure(RobotModel.from_urdf(urdf_path("panda")), 1 if options.quick else 9)
    tally = false_free.count(range(4 if options.quick else 80))
    return figures | {"validity.motions": tally.free, "validity.false_free": tally.false_free}


if __name__ == "__main__":
    main()
