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
        ("as it comes", chunks.linear(stream, ticks), INK),
        ("JointTrajectoryController,\npositions_upsampling", chunks.jtc(stream, ticks), ORANGE),
        ("LeRobot,\nweighted average", chunks.lerobot(stream, ticks), GREEN),
        ("follow", ours, BLUE),
    ]
    figure = new_figure(10.0, 4.6)
    rows = figure.subplots(2, len(methods), sharex=True, sharey="row")
    for (name, q, colour), above, below in zip(methods, *rows, strict=True):
        for now_ns, chunk in stream.chunks:
            t = chunk.stamp_ns / 1e9 + chunk.times
            late = t >= now_ns / 1e9
            above.plot(t[late], chunk.positions[late, JOINT], color=GREY, linewidth=0.3)
        above.plot(ticks, stream.intent(ticks)[:, JOINT], color=INK, linewidth=0.8, linestyle=":")
        above.plot(ticks, q[:, JOINT], color=colour, linewidth=1.1)
        below.plot(ticks[1:], 1e3 * np.diff(q[:, JOINT]), color=colour, linewidth=0.9)
        style(above, name, "", "")
        style(below, "", "time [s]", "")
    rows[0, 0].set_ylabel("position [rad]")
    rows[1, 0].set_ylabel("speed [rad/s]")
    rows[0, 0].set_ylim(
        *(np.array([-0.06, 0.06]) + np.percentile(ours[(ticks > BEGIN) & (ticks < END), JOINT], [0, 100]))
    )
    rows[1, 0].set_ylim(-1.6, 1.6)
    rows[1, 0].set_xlim(BEGIN, END)
    save_in_few_colours(figure, path)


if __name__ == "__main__":
    draw(PICTURE)
