"""Draw the picture of docs/primitive_law.md.

``python docs/draw_primitives.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.maths import Array
from arm_control.primitives import (
    ALPHA,
    BETA,
    Demonstration,
    DiscreteState,
    DiscreteTask,
    ObstacleCoupling,
    Primitive,
    PrimitiveRun,
    discrete_step,
    obstacle_force,
)
from arm_control.report import BLUE, DASHES, GREEN, GREY, INK, ORANGE, RED, new_figure, style

PICTURE = Path(__file__).resolve().parent / "pictures" / "primitives.png"
T = np.linspace(0.0, 1.0, 2001)
GOAL = 0.01
COUPLING = ObstacleCoupling()


def demonstrated() -> Array:
    """A motion from 0 to 0.01 by way of 0.28."""
    return GOAL * T**3 * (10.0 - 15.0 * T + 6.0 * T * T) + 0.28 * np.sin(np.pi * T) ** 4


def textbook(goal: float) -> Array:
    """The form whose force is multiplied by ``g - y_0``, with the exact force of the demonstration."""
    y_d, dt = demonstrated(), T[1]
    v_d = np.gradient(y_d, T)
    force = np.gradient(v_d, T) - ALPHA * (BETA * (GOAL - y_d) - v_d)
    y, v, path = 0.0, 0.0, []
    for f in force * goal / GOAL:
        path.append(y)
        v += dt * (ALPHA * (BETA * (goal - y) - v) + f)
        y += dt * v
    return np.array(path)


def draw_scaling(axes: Any, learned: Primitive, goal: float, title: str) -> None:
    """Draw what another goal makes of the two forms."""
    old = textbook(goal)
    axes.plot(T, old, color=RED, label=f"force times (g - y0): {old[np.abs(old).argmax()]:.2f}")
    new = learned.rollout(T, goal=[goal]).q[:, 0]
    axes.plot(T, new, color=BLUE, label=f"here: {new.max():.2f}")
    axes.plot(T, demonstrated(), color=INK, linestyle=DASHES, linewidth=1.0, label="demonstration")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.45 * (high - low))
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    style(axes, title, "time [s]", "y")


def draw_moved_goal(axes: Any) -> None:
    """Draw a goal that moves when half of the time is over."""
    rise = T**3 * (10.0 - 15.0 * T + 6.0 * T * T)
    learned = Primitive.learn(
        Demonstration(T, (rise + 0.3 * np.sin(2.0 * np.pi * T) * np.sin(np.pi * T) ** 2)[:, None])
    )
    for k, (goal, colour) in enumerate(((1.0, INK), (1.6, BLUE), (0.2, GREEN))):
        run, path = PrimitiveRun(learned), []
        for i in range(1800):
            if i == 500:
                run.set_goal([goal])
            path.append(run.step(1e-3).q_des[0])
        axes.plot(1e-3 * np.arange(1800), path, color=colour, linestyle="-" if k else DASHES)
        axes.plot(1.8, goal, "s", color=colour, markersize=4)
    axes.axvline(0.5, color=GREY, linewidth=0.8)
    style(axes, "Goal moved at 0.5 s", "time [s]", "y")


def draw_cycle(axes: Any) -> None:
    """Draw a cycle whose period, amplitude and centre change."""
    phi = 2.0 * np.pi * T
    learned = Primitive.learn(Demonstration(T, (np.sin(phi) + 0.4 * np.cos(2.0 * phi))[:, None]), "rhythmic")
    run, path = PrimitiveRun(learned), []
    changes: dict[int, Callable[[], None]] = {
        2000: lambda: run.set_duration(0.5),
        3500: lambda: run.set_amplitude(0.4),
        5000: lambda: run.set_goal([2.0]),
    }
    for i in range(6500):
        changes.get(i, lambda: None)()
        path.append(run.step(1e-3).q_des[0])
    axes.plot(1e-3 * np.arange(6500), path, color=BLUE, linewidth=1.0)
    for i, text in zip(changes, ("P / 2", "A = 0.4", "centre 2"), strict=True):
        axes.axvline(1e-3 * i, color=GREY, linewidth=0.8)
        axes.text(1e-3 * i + 0.06, 2.55, text, fontsize=7, color=INK)
    axes.set_ylim(-2.0, 2.8)
    style(axes, "A cycle, changed on the way", "time [s]", "y")


def hoffmann(y: Array, v: Array, obstacle: Array) -> Array:
    """The coupling of Hoffmann 2009 for a point obstacle."""
    d, speed = obstacle - y, float(np.linalg.norm(v))
    if speed < 1e-9:
        return np.zeros(2)
    across = d - (d @ v) / speed**2 * v
    theta = np.arctan2(np.linalg.norm(across), d @ v / speed)
    away = -across / max(float(np.linalg.norm(across)), 1e-12)
    return COUPLING.gain * speed * theta * np.exp(-COUPLING.sharpness * theta) * away


def draw_obstacle(axes: Any) -> None:
    """Draw ways round an obstacle that is dead ahead."""
    centre, zero = np.array([0.5, 0.0]), np.zeros(2)
    task = DiscreteTask(zero, zero, zero, np.array([1.0, 0.0]), np.zeros((2, 5)), 1.0, 1.0)
    row = np.array([[*centre, 0.06, 1.0]])
    forces: dict[str, tuple[Callable[[Array, Array], Array], str, Any]] = {
        "Hoffmann 2009": (lambda y, v: hoffmann(y, v, centre), RED, "-"),
        "the same, 5 mm aside": (lambda y, v: hoffmann(y, v, centre + [0.0, 0.005]), ORANGE, DASHES),
        "here": (lambda y, v: obstacle_force(y, v, row, np.array(COUPLING.numbers()), 1.0), BLUE, "-"),
    }
    for name, (force, colour, line) in forces.items():
        state, path = DiscreteState(0.0, zero, zero, task.goal, zero, zero), []
        for _ in range(2000):
            state = discrete_step(state, task, 1e-3, 1.0, force(state.y, state.v))
            path.append(state.y)
        axes.plot(*np.array(path).T, color=colour, linestyle=line, label=name)
    circle = np.linspace(0.0, 2.0 * np.pi, 100)
    axes.fill(centre[0] + 0.06 * np.cos(circle), 0.06 * np.sin(circle), color=GREY)
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    style(axes, "An obstacle dead ahead", "x [m]", "y [m]")


def draw_errors(axes: Any) -> None:
    """Draw how well a motion and a cycle are reproduced by a number of functions."""
    rng, t = np.random.default_rng(0), T[::4]
    harmonics = sum(np.sin(2.0 * np.pi * k * t + rng.uniform(0.0, 6.0)) / k**2 for k in range(1, 7))
    numbers = (5, 8, 12, 18, 25, 35, 50, 70, 100)
    shown = (("motion", "discrete", np.sin(np.pi * t) ** 3 * harmonics, BLUE), ("cycle", "rhythmic", harmonics, GREEN))
    for name, kind, y, colour in shown:
        recording = Demonstration(t, y[:, None])
        for method, line in (("least_squares", "-"), ("locally_weighted", DASHES)):
            errors = [
                np.sqrt(np.mean((Primitive.learn(recording, kind, n, method).rollout(t).q[:, 0] - y) ** 2)) / np.ptp(y)
                for n in numbers
            ]
            axes.loglog(numbers, errors, color=colour, linestyle=line, label=f"{name}, {method.replace('_', ' ')}")
    axes.set_xticks([5, 10, 25, 50, 100], ["5", "10", "25", "50", "100"])
    axes.minorticks_off()
    axes.legend(fontsize=7, frameon=False)
    style(axes, "Error of the reproduction", "basis functions", "RMS / range")


def main() -> None:
    """Draw all of it."""
    learned = Primitive.learn(Demonstration(T, demonstrated()[:, None]))
    figure = new_figure(10.0, 6.0)
    axes = figure.subplots(2, 3)
    draw_scaling(axes[0, 0], learned, 0.11, "Goal 0.11 in place of 0.01")
    draw_scaling(axes[0, 1], learned, -GOAL, "Goal -0.01 in place of 0.01")
    draw_moved_goal(axes[0, 2])
    draw_cycle(axes[1, 0])
    draw_obstacle(axes[1, 1])
    draw_errors(axes[1, 2])
    figure.savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    main()
