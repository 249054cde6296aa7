"""Figures of planning: motions checked without a gap, and how long that takes, beside Pinocchio with coal in one run.

python benchmark/planning.py [--json FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from measure import processor, versions

# isort: split
import validity

from arm_control import RobotModel, urdf_path


def main() -> None:
    """Print the figures; with ``--json`` write them, too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="few motions: to see that it works")
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite', 'pin', 'coal')}")
    panda = RobotModel.from_urdf(urdf_path("panda"))
    figures: dict[str, float] = validity.measure(panda, 1 if options.quick else 9)
    tally = validity.count_false_free(panda, 100 if options.quick else 3000, False, 0)
    figures |= {"validity.motions": tally.drawn, "validity.false_free": tally.false_free}
    for name, value in figures.items():
        print(f"{name:28} {value:10.2f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
