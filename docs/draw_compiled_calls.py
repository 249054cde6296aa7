"""Draw the picture of docs/compiled_calls.md.

``python docs/draw_compiled_calls.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.patches import FancyBboxPatch, Rectangle

from arm_control.compiler import builtin_calls as layout
from arm_control.report import BLUE, GREEN, GREY, INK, ORANGE, RED, new_figure, save_in_few_colours

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "compiled_calls.png"
ROW = 0.42
ARRAY = (
    (0, "count of references"),
    (layout.TYPE, "type: ndarray?"),
    (layout.DATA, "address of the numbers"),
    (layout.NDIM, "axes: 1?"),
    (layout.SHAPE, "shape: (6,)?"),
    (layout.DESCR, "type of numbers: float64?"),
    (layout.FLAGS, "flags: side by side?"),
)
"""What a built-in call reads of an array, and where: bytes from its beginning."""


def cell(axes: Any, x: float, y: float, width: float, text: str, colour: str = INK) -> None:
    """A piece of memory."""
    axes.add_patch(Rectangle((x, y), width, ROW, facecolor="white", edgecolor=colour, linewidth=1.2))
    axes.text(x + 0.08, y + 0.5 * ROW, text, va="center", fontsize=8.5, color=colour)


def step(axes: Any, x: float, y: float, number: str) -> None:
    """The number of a step in the page's list."""
    axes.text(
        x, y, number, ha="center", va="center", fontsize=8.5, color="white", weight="bold",
        bbox={"boxstyle": "circle", "facecolor": BLUE, "edgecolor": "none", "pad": 0.25},
    )  # fmt: skip


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], colour: str = GREY) -> None:
    """From one place to another."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.4})


def draw_arguments(axes: Any) -> None:
    """The row of arguments, and the array that its entry points to."""
    axes.text(0.0, 5.35, "model.mass_matrix(q)", fontsize=11, family="monospace", color=INK)
    axes.text(0.0, 4.85, "row of arguments", fontsize=9, color=GREY)
    cell(axes, 0.0, 4.3, 1.7, "address of q")
    arrow(axes, (1.7, 4.51), (2.75, 4.51))
    axes.text(3.2, 4.85, "the array q: bytes from its beginning", fontsize=9, color=GREY)
    for k, (offset, text) in enumerate(ARRAY):
        y = 4.3 - k * ROW
        axes.text(3.1, y + 0.5 * ROW, str(offset), ha="right", va="center", fontsize=8.5, color=GREY)
        cell(axes, 3.2, y, 2.6, text, BLUE if text.endswith("?") else INK)
    step(axes, 6.05, 2.62, "1")
    axes.text(6.75, 4.85, "the numbers of q", fontsize=9, color=GREY)
    arrow(axes, (5.8, 3.67), (6.7, 4.45))
    cell(axes, 6.75, 4.3, 2.6, "q1  q2  q3  q4  q5  q6")


def draw_stack(axes: Any) -> None:
    """The block on the stack, and the new array."""
    axes.text(6.75, 2.75, "block on the stack", fontsize=9, color=GREY)
    for k, (text, colour) in enumerate(
        (("6 numbers of q", INK), ("22 of the tool", INK), ("36 of the mass matrix", GREEN))
    ):
        cell(axes, 6.75, 2.25 - k * ROW, 2.6, text, colour)
    arrow(axes, (8.05, 4.3), (8.05, 2.98))
    step(axes, 8.4, 3.62, "2")
    axes.annotate(
        "", (9.35, 1.62), (9.35, 2.45),
        arrowprops={"arrowstyle": "-|>", "color": GREEN, "linewidth": 1.4, "connectionstyle": "arc3,rad=-0.9"},
    )  # fmt: skip
    step(axes, 10.05, 2.28, "3")
    axes.text(10.3, 2.28, "377 operations", fontsize=9, va="center", color=GREEN)
    step(axes, 10.05, 1.78, "4")
    axes.text(10.3, 1.78, "0 q1 + ... + 0 q6 = 0?", fontsize=9, va="center", color=BLUE)
    arrow(axes, (8.05, 1.41), (8.05, 0.5), GREEN)
    step(axes, 8.4, 0.95, "5")
    cell(axes, 6.75, 0.05, 2.6, "a new array of NumPy", GREEN)


def draw_slow_way(axes: Any) -> None:
    """What happens where a single answer is no."""
    box = FancyBboxPatch((0.0, 0.05), 4.6, 0.85, boxstyle="round,pad=0.05", facecolor="white", edgecolor=ORANGE)
    axes.add_patch(box)
    axes.text(2.3, 0.62, "the method in Python, with the arguments as they came:", ha="center", fontsize=8.5, color=INK)
    axes.text(2.3, 0.28, "converts a list, or says what is wrong", ha="center", fontsize=8.5, color=INK)
    arrow(axes, (3.9, 1.74), (3.1, 0.97), RED)
    axes.text(3.75, 1.3, "a single no", fontsize=9, color=RED)


def main() -> None:
    """Draw the picture."""
    figure = new_figure(10.5, 4.9)
    axes = figure.subplots()
    draw_arguments(axes)
    draw_stack(axes)
    draw_slow_way(axes)
    axes.set_xlim(-0.1, 12.2)
    axes.set_ylim(-0.15, 5.7)
    axes.axis("off")
    save_in_few_colours(figure, PICTURE)


if __name__ == "__main__":
    main()
