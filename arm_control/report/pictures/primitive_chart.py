"""Picture of a movement primitive: the motion of each coordinate, and the force that shapes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arm_control.maths import Array
from arm_control.primitives import POSITION, TURN, Primitive, Rollout, coordinate_names, gate, gaussians, rhythmic_basis
from arm_control.report.pictures.style import BLUE, GREY, INK, ORANGE, limit, new_figure, style
from arm_control.report.primitive_figures import motion_as_learned

HEIGHT = 1.9
"""Of a coordinate's charts [inch]."""
SHORTEST_AXIS = 0.02
"""Smallest range of an axis [rad or m]."""
POINTS = 801
"""Points of a force's curve."""


def draw_primitive(
    path: Path, primitive: Primitive, title: str, reproduction: tuple[Array, Rollout] | None = None
) -> None:
    """Draw two charts for each coordinate: its motion over time, and its force over the phase with all functions.

    A reproduction is the coordinates of a demonstration, shape (N, n), and the primitive's motion at the same times.
    """
    names = coordinate_names(primitive)
    figure = new_figure(12.0, 1.0 + HEIGHT * len(names))
    figure.suptitle(title, fontsize=13, color=INK, fontweight="bold")
    charts = np.atleast_2d(figure.subplots(len(names), 2, sharex="col", width_ratios=(3, 2)))
    demonstrated, motion = (None, motion_as_learned(primitive)) if reproduction is None else reproduction
    for i, name in enumerate(names):
        left, right = charts[i]
        if demonstrated is not None:
            left.plot(motion.times, demonstrated[:, i], color=GREY, linewidth=4.0, alpha=0.5, label="demonstration")
        left.plot(motion.times, motion.q[:, i], color=BLUE, linewidth=1.5, label="primitive")
        limit(left, float(primitive.goal[i]), "centre" if primitive.kind == "rhythmic" else "goal")
        style(left, name.replace("$", r"\$"), ylabel=_unit(primitive, i))
        _show_no_noise(left)
        _draw_force(right, primitive, primitive.weights[i])
    charts[0, 0].legend(loc="best", fontsize=9, frameon=False)
    charts[0, 1].legend(loc="best", fontsize=9, frameon=False)
    charts[-1, 0].set_xlabel("time [s]", fontsize=10, color=INK)
    charts[-1, 1].set_xlabel("phase", fontsize=10, color=INK)
    figure.savefig(path, dpi=80)


def _unit(primitive: Primitive, i: int) -> str:
    return "[rad or m]" if primitive.names else "[m]" if i < len(POSITION) else "[rad]"


def _show_no_noise(axes: Any) -> None:
    """Let a coordinate that hardly moves look like that."""
    low, high = axes.get_ylim()
    if high - low < SHORTEST_AXIS:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * SHORTEST_AXIS, middle + 0.5 * SHORTEST_AXIS)


def _draw_force(axes: Any, primitive: Primitive, weights: Array) -> None:
    """Draw what each function adds to a force, and their sum."""
    phase = np.linspace(0.0, 1.0, POINTS)
    parts = weights * _basis(primitive, phase)
    axes.plot(phase, parts, color=ORANGE, linewidth=0.6, alpha=0.7)
    axes.plot([], [], color=ORANGE, linewidth=0.6, label=f"{primitive.n_basis} functions")
    axes.plot(phase, parts.sum(axis=1), color=INK, linewidth=1.4, label="force")
    style(axes)


def _basis(primitive: Primitive, phase: Array) -> Array:
    """All functions at phases from 0 to 1, shape (N, n_basis)."""
    if primitive.kind == "rhythmic":
        return np.asarray(rhythmic_basis(TURN * phase[:, None], primitive.n_basis))
    psi = gaussians(phase[:, None], primitive.n_basis)
    return np.asarray(gate(phase)[:, None] * psi / psi.sum(axis=1, keepdims=True))
