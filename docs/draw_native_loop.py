"""Draw the picture of docs/native_loop.md: the way of a state through the native loop, and what it leaves to Python.

``python docs/draw_native_loop.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from arm_control.report import BLUE, GREEN, GREY, ORANGE, new_figure, save_in_few_colours

ROOT = Path(__file__).resolve().parents[1]
STEPS = (
    ("take", "rcl_take: bytes, while there are any"),
    ("orders", "may it answer, until when, inputs"),
    ("the next state?", "layout, publisher, age, stamp, gap"),
    ("believed?", "finite, within bounds, no jump"),
    ("law and gate", "one kernel, 1 to 2 us"),
    ("a torque?", "the gate accepts it"),
    ("publish", "rcl_publish: bytes"),
    ("remember", "state, torque, result"),
)
"""Name of each step, and what it does."""
ASKING = range(1, 6)
"""Steps that may leave the state to Python."""
HEIGHT, WIDTH = 0.62, 3.3
LOOP, PYTHON = 0.0, 5.2
"""Left edges of the two columns."""


def box(axes: Axes, x: float, y: float, title: str, text: str, colour: str, height: float = HEIGHT) -> None:
    """Draw a box with a title and a line of text; ``y`` is its lower edge."""
    shape = FancyBboxPatch((x, y), WIDTH, height, boxstyle="round,pad=0.04", facecolor=colour, alpha=0.15, linewidth=0)
    axes.add_patch(shape)
    axes.add_patch(
        FancyBboxPatch((x, y), WIDTH, height, boxstyle="round,pad=0.04", fill=False, edgecolor=colour, linewidth=1.2)
    )
    axes.text(x + WIDTH / 2, y + height - 0.2, title, ha="center", va="center", fontsize=9, weight="bold")
    axes.text(x + WIDTH / 2, y + (height - 0.4) / 2 + 0.04, text, ha="center", va="center", fontsize=7.5)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, bend: float = 0.0) -> None:
    """Draw an arrow from one place to another."""
    shape = f"arc3,rad={bend}"
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.2, "connectionstyle": shape}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def caption(axes: Axes, x: float, y: float, text: str, colour: str, size: float = 7.5) -> None:
    """Write a line of text around a place."""
    axes.text(x, y, text, ha="center", fontsize=size, color=colour)


def draw_loop(axes: Axes, bottoms: list[int]) -> None:
    """Draw the steps of the loop, one below the other."""
    for (title, text), y in zip(STEPS, bottoms, strict=True):
        box(axes, LOOP, y, title, text, BLUE)
    for y in bottoms[:-1]:
        arrow(axes, (LOOP + WIDTH / 2, y - 0.05), (LOOP + WIDTH / 2, y - 1 + HEIGHT + 0.05), BLUE)
    arrow(axes, (LOOP - 0.06, bottoms[-1] + 0.3), (LOOP - 0.06, bottoms[0] + 0.3), BLUE, bend=-0.17)
    text = "machine code in the thread of the middleware\nthat has received a message"
    caption(axes, LOOP + WIDTH / 2, 0.95, text, BLUE, 9)


def main() -> None:
    """Draw the picture."""
    figure = new_figure(8.6, 6.4)
    axes = figure.subplots()
    axes.set_axis_off()
    bottoms = [-k for k in range(len(STEPS))]
    draw_loop(axes, bottoms)
    right, left, python = LOOP + WIDTH + 0.06, PYTHON - 0.06, PYTHON + WIDTH / 2
    middle = (right + left) / 2
    caption(axes, python, 0.95, "Python: one callback, or one state, at a time", ORANGE, 9)
    box(axes, PYTHON, -3.8, "Python answers this state", "take over, read, tick, publish, hand over", ORANGE)
    for k in ASKING:
        arrow(axes, (right, bottoms[k] + HEIGHT / 2), (left, -3.5), ORANGE)
    caption(axes, python, -4.15, "with a reason, through a pipe; nothing has changed yet", ORANGE)
    box(axes, PYTHON, -0.95, "callbacks of the node", "goals, gains, disturbance, enable", GREY)
    arrow(axes, (left, -0.65), (right, bottoms[1] + HEIGHT - 0.1), GREEN)
    caption(axes, middle, -0.35, "mailbox: orders", GREEN)
    box(axes, PYTHON, bottoms[-1], "reports, 50 a second", "diagnostics, errors, terms", GREY)
    arrow(axes, (right, bottoms[-1] + HEIGHT / 2), (left, bottoms[-1] + HEIGHT / 2), GREEN)
    caption(axes, middle, bottoms[-1] + 0.42, "mailbox: results", GREEN)
    axes.set_xlim(-1.1, PYTHON + WIDTH + 0.2)
    axes.set_ylim(bottoms[-1] - 0.2, 1.5)
    save_in_few_colours(figure, ROOT / "docs" / "pictures" / "native_loop.png")


if __name__ == "__main__":
    main()
