"""Draw the picture of docs/collision.md.

``python docs/draw_collision.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Circle, Polygon
from matplotlib.ticker import MaxNLocator

from arm_control import Pose, RobotModel, urdf_path
from arm_control.collision import (
    PROGRESS,
    ArmShape,
    ArmText,
    MotionChecks,
    Validity,
    find_allowed_pairs,
    obstacle_tables,
)
from arm_control.maths import Array, Box, Obstacle, Sphere
from arm_control.report import BLUE, GREEN, GREY, INK, ORANGE, RED, new_figure, style

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "collision.png"
START, FREE_END, HIT_END = np.array(
    [[0.0, -1.9, 1.6, -1.3, -1.57, 0.0], [0.0, -0.9, 1.9, -2.6, -1.57, 0.0], [0.0, -0.35, 1.0, -2.2, -1.57, 0.0]]
)
OBSTACLES = (
    Obstacle(Sphere(0.12), Pose.at([0.78, 0.1, 0.72])),
    Obstacle(Box((0.9, 0.8, 0.04)), Pose.at([0.65, 0.0, -0.12])),
    Obstacle(Sphere(0.08), Pose.at([0.1, 0.13, 0.85])),
)


def looks(shape: ArmShape, a: Array, b: Array) -> list[tuple[float, float]]:
    """Place and r of every look at a motion."""
    checks = MotionChecks(ArmText(shape, find_allowed_pairs(shape).checked(shape)), np.zeros(2))
    checks.place(obstacle_tables(OBSTACLES))
    columns = checks.reserve(1)
    columns["a"][:, 0], columns["b"][:, 0] = a, b
    found, place = [], 1.0
    n = int(checks.check(1, False, False, 1000).looks[0])
    for k in range(1, n + 1):
        checks.check(1, False, False, k)
        progress = dict(zip(PROGRESS, columns["progress"][:, 0].tolist(), strict=True))
        found.append((place, progress["seen"]))
        place = progress["covered"] + progress["half"]
    return found


def draw_looks(distance: Any, pieces: Any, validity: Validity, a: Array, b: Array) -> None:
    """The smallest distance from obstacles along a motion, and what each look proves free."""
    s = np.linspace(0.0, 1.0, 800)
    least = 1e3 * validity.distances(a + s[:, None] * (b - a)).to_obstacles.min(axis=1)
    distance.plot(s, least, color=BLUE, linewidth=1.6)
    for k, (place, r) in enumerate(looks(validity.shape, a, b), start=1):
        distance.plot(place, np.interp(place, s, least), "o", color=ORANGE, markersize=5)
        pieces.plot(np.clip([place - r, place + r], 0.0, 1.0), [k, k], color=ORANGE, linewidth=3, solid_capstyle="butt")
        pieces.plot(place, k, "o", color=INK, markersize=3)
    distance.set_ylim(bottom=0.0)
    pieces.invert_yaxis()
    pieces.yaxis.set_major_locator(MaxNLocator(integer=True))
    style(distance, "Looks at a motion", "", "from obstacles [mm]")
    style(pieces, "", "place s", "look")


def draw_arm(axes: Any, shape: ArmShape, q: Array, colour: str, alpha: float) -> None:
    """The capsules of the arm, seen along y."""
    for link in shape.links:
        X_WF = shape.model.pose(q, link.link) @ shape.model.tree.frames[link.link].X_BF.inverse()
        for capsule in link.whole.capsules:
            ends = np.array([X_WF.R @ end + X_WF.p for end in (capsule.a, capsule.b)])[:, [0, 2]]
            along = ends[1] - ends[0]
            turn = np.arctan2(along[1], along[0])
            angles = np.linspace(-np.pi / 2, np.pi / 2, 20)
            half = [end + capsule.radius * np.column_stack([np.cos(x), np.sin(x)]) for end, x in
                    ((ends[1], turn + angles), (ends[0], turn + np.pi + angles))]  # fmt: skip
            axes.add_patch(Polygon(np.concatenate(half), color=colour, alpha=alpha, linewidth=0))


def main() -> None:
    """Draw it."""
    shape = ArmShape(RobotModel.from_urdf(urdf_path("ur5")))
    validity = Validity(shape.model, shape)
    validity.place(OBSTACLES)
    figure = new_figure(10.5, 4.2)
    axes = figure.subplot_mosaic([["distance", "arm"], ["pieces", "arm"]])
    right = axes["arm"]
    draw_looks(axes["distance"], axes["pieces"], validity, START, FREE_END)
    contact = validity.first_contact([START, HIT_END])
    assert contact is not None
    draw_arm(right, shape, START, GREY, 0.35)
    draw_arm(right, shape, contact.q, BLUE, 0.55)
    for obstacle in OBSTACLES:
        x, _, z = obstacle.X_WO.p
        if isinstance(obstacle.shape, Sphere):
            right.add_patch(Circle((x, z), obstacle.shape.radius, color=GREEN, alpha=0.7))
        elif isinstance(obstacle.shape, Box):
            w, _, h = (0.5 * edge for edge in obstacle.shape.size)
            right.add_patch(Polygon([[x - w, z - h], [x + w, z - h], [x + w, z + h], [x - w, z + h]], color=GREEN))
    link, other, _ = contact.pairs[0]
    right.text(0.02, 0.02, f"{link} touches {other} at s = {contact.share:.3f}", transform=right.transAxes, color=RED)
    right.set_xlim(-0.3, 1.15)
    right.set_ylim(-0.35, 1.0)
    right.set_aspect("equal")
    style(right, "The first contact of another motion", "x [m]", "z [m]")
    right.tick_params(colors=INK)
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
