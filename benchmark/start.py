"""How long the first torque takes: from a URDF in a new process, and from the start of the node ``osc``.

python benchmark/start.py [--json FILE] [--quick]

The URDF is that of the UR5, or of a chain of 20 joints; the cache is empty, with drafts of long kernels and without, or
full. Nothing of this is timed by the clock alone: the CPU time of a process hardly depends on what else the computer
does. The node is measured where ROS is there (``benchmark/node_start.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from growth import chain

from arm_control import urdf_path

HERE, ROUNDS = Path(__file__).parent, 5
CASES = (("cold", "on"), ("complete", "off"), ("cached", "on"))
"""Cases of the cache, and whether there are drafts: empty; empty, all code complete at once; full."""


def first_torque(urdf: Path, tip: str, cache: str, drafts: str) -> dict[str, float]:
    """Times of a new process [s].

    Parameters
    ----------
    urdf : Path
    tip : str
        Name of the last link.
    cache : str
        Folder of the cache.
    drafts : "on" or "off"
    """
    environment = {**os.environ, "ARM_CONTROL_CACHE": cache, "ARM_CONTROL_DRAFTS": drafts}
    command = [sys.executable, str(HERE / "first_torque.py"), str(urdf), tip]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(run.stdout)
    return figures


def first_torques(rounds: int) -> dict[str, float]:
    """Medians of all cases, by name [s]."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        long = Path(folder, "chain20.urdf")
        long.write_text(chain(20))
        for k in range(rounds):
            for name, urdf, tip in (("ur5", urdf_path("ur5"), "tool0"), ("chain20", long, "link20")):
                for case, drafts in CASES:
                    cache = str(Path(folder, f"{name}{k}{'complete' if case == 'cached' else case}"))
                    for key, seconds in first_torque(urdf, tip, cache, drafts).items():
                        found.setdefault(f"{name}.{case}_{key}", []).append(seconds)
    return {key: median(values) for key, values in found.items()}


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="one round, to see that it works")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else ROUNDS
    figures = first_torques(rounds)
    if find_spec("rclpy"):
        from node_start import node_start

        figures |= node_start(rounds)
    print(json.dumps(figures, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
