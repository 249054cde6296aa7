"""Draw the README's picture from the record of a run.

arm_control run ur5_osc --duration 20 --headless --report report
python examples/overview_picture.py report/recording.npz docs/pictures/ur5_osc.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.motion import Target, TargetList
from arm_control.report import draw_overview
from arm_control.simulation import Recording, Scenario


def load_recording(path: Path, targets: TargetList) -> Recording:
    """Read states and commands; the targets are those of the list, one per period from time zero."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in ("state_stamps", "q", "v", "command_stamps", "tau")}
    period_ns = round(targets.period * 1e9)
    count = int(arrays["state_stamps"][-1] // period_ns)
    poses = [targets.targets[i % len(targets.targets)] for i in range(count)]
    return Recording(**arrays, targets=tuple(Target(i * period_ns, targets.frame, X) for i, X in enumerate(poses)))


def main() -> None:
    """Read the arguments, draw the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recording", type=Path, help="recording.npz of a report")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--scenario", default="ur5_osc", help="the scenario that was run")
    options = parser.parse_args()
    scenario = Scenario.load(options.scenario)
    targets = scenario.targets()
    if targets is None:
        parser.error(f"scenario '{scenario.name}' has no list of targets")
    model = RobotModel.from_urdf(urdf_path(scenario.robot), tip=scenario.nodes["osc"].get("tip") or None)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    draw_overview(options.picture, load_recording(options.recording, targets), model, targets)
    print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
