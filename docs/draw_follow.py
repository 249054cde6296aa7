"""Draw the picture of docs/follow.md.

``python docs/draw_follow.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.follow import ChunkParameters
from arm_control.report import BLUE, GREEN, GREY, INK, ORANGE, new_figure, save_in_few_colours, style

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "benchmark"))
import chunks  # noqa: E402

PICTURE = DOCS / "pictures" / "follow.png"
JOINT, SEED, BEGIN, END = 1, 0, 1.0, 2.6


def draw(path: Path) -> None:
    """Draw position and speed of one joint, as four methods follow the same chunks."""
    stream, model = chunks.mild("ur5", SEED), RobotModel.from_urdf(urdf_path("ur5"))
    ticks = np.arange(0, stream.chunks[-1][0] // chunks.MS) / 1e3
    ours = chunks.ours(stream, ticks, model, ChunkParameters(newest_weight=0.5))
    methods: list[tuple[str, Any, str]] = [
        ("JointTrajectoryController, positions_upsampling", chunks.jtc(stream, ticks), ORANGE),
        ("LeRobot, weighted average", chunks.lerobot(stream, ticks), GREEN),
        ("follow", ours, BLUE),
    ]
    figure = new_figure(8.0, 5.0)
    above, below = figure.subplots(2, 1, sharex=True)
    for now_ns, chunk in stream.chunks:
        t = chunk.stamp_ns / 1e9 + chunk.times
        late = t >= now_ns / 1e9
        above.plot(t[late], chunk.positions[late, JOINT], color=GREY, linewidth=0.4)
    above.plot(ticks, stream.intent(ticks)[:, JOINT], color=INK, linewidth=0.8, linestyle=":", label="meant")
    for name, q, colour in methods:
        above.plot(ticks, q[:, JOINT], color=colour, linewidth=1.2, label=name)
        below.plot(ticks[1:], 1e3 * np.diff(q[:, JOINT]), color=colour, linewidth=1.0)
    above.set_ylim(*(np.array([-0.06, 0.06]) + np.percentile(ours[(ticks > BEGIN) & (ticks < END), JOINT], [0, 100])))
    below.set_ylim(-1.6, 1.6)
    style(above, f"{model.joint_names[JOINT]}: chunks in grey, from when they come", "", "position [rad]")
    style(below, "", "time [s]", "speed [rad/s]")
    below.set_xlim(BEGIN, END)
    above.legend(loc="best", fontsize=7, frameon=False)
    save_in_few_colours(figure, path)


if __name__ == "__main__":
    draw(PICTURE)
