"""A picture of an arm's capsules and obstacles in one state, from the side and from above, with the nearest points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Polygon

from arm_control.collision import ContactMonitor, Margins, NearPair
from arm_control.maths import Array, Sphere
from arm_control.report.contacts import ObservedState
from arm_control.report.pictures.in_space import HALO, View, hull, surface
from arm_control.report.pictures.style import BLUE, GREEN, INK, ORANGE, RED, new_figure, style

VIEWS: tuple[View, ...] = ((0, 2, False, "from the side"), (0, 1, False, "from above"))
DRAWN = 6
"""Largest number of pairs that are drawn."""
LETTERS = "xyz"


def draw_nearest_points(path: Path, monitor: ContactMonitor, state: ObservedState, margins: Margins) -> None:
    """Draw the nearest pairs of a state: red in contact, orange within the margin, else dark.

    Parameters
    ----------
    state : ObservedState
        The state, and the obstacles in it.
    """
    pairs = monitor.near(state.q, state.obstacles, state.names)[:DRAWN]
    arm = _capsules(monitor, state.q)
    obstacles = [surface(o.shape) @ o.X_WO.R.T + o.X_WO.p for o in state.obstacles]
    figure = new_figure(10.5, 5.0)
    for axes, view in zip(figure.subplots(1, len(VIEWS)), VIEWS, strict=True):
        for points, colour, alpha in (*((p, BLUE, 0.35) for p in arm), *((p, GREEN, 0.5) for p in obstacles)):
            axes.add_patch(Polygon(hull(points[:, list(view[:2])]), facecolor=colour, alpha=alpha, linewidth=0))
        lines = [_draw_pair(axes, view, pair, margins, number) for number, pair in enumerate(pairs, start=1)]
        axes.set_aspect("equal", adjustable="datalim")
        axes.autoscale_view()
        style(axes, view[3].capitalize(), f"{LETTERS[view[0]]} [m]", f"{LETTERS[view[1]]} [m]")
    texts = [f"{i}  {pair.label}: {1e3 * pair.distance:.0f} mm" for i, pair in enumerate(pairs, start=1)]
    figure.legend(lines, texts, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path)


def _capsules(monitor: ContactMonitor, q: Array) -> list[Array]:
    """Points in the world whose convex hulls are the capsules of the arm, shape (m, 3) each [m]."""
    poses = {capsule.link: monitor.model.pose(q, capsule.link) for capsule in monitor.proximity.capsules}
    return [
        np.concatenate([surface(Sphere(c.radius)) + poses[c.link].R @ end + poses[c.link].p for end in (c.a, c.b)])
        for c in monitor.proximity.capsules
    ]


def _draw_pair(axes: Any, view: View, pair: NearPair, margins: Margins, number: int) -> Any:
    """A numbered line between the nearest points of a pair."""
    colour = RED if pair.distance <= 0.0 else ORANGE if pair.is_contact(margins) else INK
    ends = np.array([pair.p, pair.p_other])[:, list(view[:2])]
    where = {"xytext": (5, 5), "textcoords": "offset points", "fontsize": 9, "color": colour, "zorder": 6}
    axes.annotate(str(number), ends[1], path_effects=HALO, **where)
    (line,) = axes.plot(*ends.T, "o-", color=colour, markersize=3, linewidth=1.6, zorder=5)
    return line
