"""Draw the picture of docs/primitive_law.md, and write its table of errors.

``python docs/draw_walking.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from arm_control import RobotModel, urdf_path
from arm_control.maths import Array
from arm_control.primitives import Demonstration, Method, Primitive, load_demonstration
from arm_control.report import BLUE, GREEN, INK, ORANGE, new_figure, style

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "walking.png"
PAGE = ROOT / "docs" / "primitive_law.md"
BEGIN, END = "<!-- errors: begin -->\n", "<!-- errors: end -->\n"
HEAD = """| functions | all weights together | one by one | largest acceleration [rad/s²] |
|---|---|---|---|
"""
STANDING = np.radians([-90.0, 0.0, 90.0])
"""The leg straight down, the foot forward [rad]."""
CYCLES, FIGURES = 3, 22
"""Cycles of the picture, and stick figures in one of them."""
STRIDE = 6.0
"""Way of the hip in one cycle, as drawn [m]."""
ANGLES = (("hip", 1.0, 90.0, BLUE), ("knee", -1.0, 0.0, ORANGE), ("ankle", 1.0, -90.0, GREEN))
"""Each angle [deg] from the position of its joint: name, factor, offset, colour."""


def third_cycle(demonstration: Demonstration, n_basis: int, method: Method) -> tuple[Array, float]:
    """Return the root of the mean square of each joint's error in the third cycle, and the largest acceleration.

    Parameters
    ----------
    demonstration : Demonstration
    n_basis : int
        Number of basis functions.
    method : "least_squares" or "locally_weighted"

    Returns
    -------
    ndarray, shape (3,)
        From a leg that stands at the start [deg].
    float
        Of any joint on the cycle [rad/s^2].
    """
    primitive = Primitive.learn(demonstration, "rhythmic", n_basis, method)
    cycle = primitive.rollout(2.0 * demonstration.duration + demonstration.times[:-1], start=STANDING)
    error = cycle.q - demonstration.positions[:-1]
    fine = primitive.rollout(np.linspace(0.0, demonstration.duration, 2001))
    return np.degrees(np.sqrt(np.mean(error**2, axis=0))), float(np.abs(fine.a).max())


def table(demonstration: Demonstration) -> str:
    """Return the rows of the page's table."""
    rows = []
    for n_basis in (10, 25, 50, 100, 1000):
        together, acceleration = third_cycle(demonstration, n_basis, "least_squares")
        alone, _ = third_cycle(demonstration, n_basis, "locally_weighted")
        cells = (" / ".join(f"{x:.2g}" if x >= 0.0005 else "0" for x in errors) for errors in (together, alone))
        rows.append(f"| {n_basis} | {' | '.join(cells)} | {acceleration:.0f} |\n")
    return "".join(rows)


def draw_angles(charts: tuple[Axes, ...], demonstration: Demonstration, primitive: Primitive) -> None:
    """Draw the demonstration, round and round, and the primitive that starts from a standing leg."""
    t = np.linspace(0.0, CYCLES * primitive.duration, 301 * CYCLES)
    motion = np.degrees(primitive.rollout(t, start=STANDING).q)
    points = np.degrees(demonstration.positions)
    for k, (axes, (name, factor, offset, colour)) in enumerate(zip(charts, ANGLES, strict=True)):
        axes.plot(t, factor * motion[:, k] + offset, color=colour, linewidth=1.6)
        for cycle in range(CYCLES):
            times = demonstration.times + cycle * primitive.duration
            axes.plot(times[::2], factor * points[::2, k] + offset, ".", color=INK, markersize=2.5)
        style(axes, f"{name} [deg]", "time [s]")


def places(model: RobotModel, q: Array) -> Array:
    """Return hip, knee, ankle and toes in the arm's plane, shape (4, 2) [m]."""
    frames = (*(f"link{k}" for k in range(model.nv)), model.tip)
    return np.array([model.pose(q, frame).p[[0, 2]] for frame in frames])


def draw_leg(axes: Axes, model: RobotModel, primitive: Primitive) -> None:
    """Draw the leg in one cycle, its hip as far forward as a walker's would be."""
    t = np.linspace(0.0, primitive.duration, FIGURES + 1)
    ways = STRIDE * t / primitive.duration
    legs = [places(model, q) + [way, 0.0] for q, way in zip(primitive.rollout(t).q, ways, strict=True)]
    for k, (_, _, _, colour) in enumerate(ANGLES):
        axes.add_collection(LineCollection([leg[k : k + 2] for leg in legs], colors=colour, linewidths=1.2))
    fine = np.linspace(0.0, primitive.duration, 200)
    hips = STRIDE * fine / primitive.duration
    toes = np.array([places(model, q)[3] + [x, 0.0] for q, x in zip(primitive.rollout(fine).q, hips, strict=True)])
    axes.plot(toes[:, 0], toes[:, 1], color=INK, linewidth=0.8, linestyle=":")
    axes.set_aspect("equal")
    axes.autoscale_view()
    style(axes, "One cycle of the arm, its shoulder moved along", "x [m]", "z [m]")


def main() -> None:
    """Learn, draw, and write the table."""
    demonstration = load_demonstration("gait")
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + HEAD + table(demonstration) + END + rest.split(END)[1], encoding="utf-8")
    primitive = Primitive.learn(demonstration, "rhythmic", n_basis=25)
    figure = new_figure(9.0, 6.4)
    grid = figure.add_gridspec(2, 3, height_ratios=(1.7, 1.0))
    draw_leg(figure.add_subplot(grid[0, :]), RobotModel.from_urdf(urdf_path("planar3")), primitive)
    draw_angles(tuple(figure.add_subplot(grid[1, k]) for k in range(3)), demonstration, primitive)
    figure.savefig(PICTURE, dpi=96)


if __name__ == "__main__":
    main()
