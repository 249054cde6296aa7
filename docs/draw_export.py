"""Draw the picture of docs/export.md.

``python docs/draw_export.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arm_control.export import PythonController, exported_controller
from arm_control.gate import GateState
from arm_control.maths import Array, Pose
from arm_control.motion import Reference
from arm_control.report import BLUE, GREEN, GREY, INK, ORANGE, RED, new_figure, style
from arm_control.simulation import MujocoSimulator, Scenario

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "export.png"
N, GOAL, BRAKE, ENABLE, LOST = 900, 100, 350, 550, (700, 715)
"""Ticks of the run, and when something happens: a reference, a brake, its end, and states that are lost."""
SHIFT = np.array([-0.1, 0.15, 0.1])
JOINTS = {0: BLUE, 1: ORANGE, 2: GREEN}
COLOURS = {GateState.HOLDING: GREY, GateState.PASSING: GREEN, GateState.BRAKING: RED}


class Run(NamedTuple):
    """Time (N,) [ms], torque (N, nv) [N m] and states of the gate."""

    t: Array
    tau: Array
    states: list[GateState]


def run() -> Run:
    """Run the exported controller of a UR5 in MuJoCo."""
    exported = exported_controller(Scenario.load("ur5_osc").variant(""))
    controller, model = PythonController(exported), exported.model
    simulator = MujocoSimulator(model, exported.start, timestep=exported.period)
    X, torques, states = model.pose(exported.start), [], []
    goal = Reference(Pose(X.R, X.p + SHIFT))
    for k in range(N):
        if k == GOAL:
            controller.reference = goal
        elif k == BRAKE:
            controller.gate.brake("asked to")
        elif k == ENABLE:
            controller.enable()
            controller.reference = goal
        q = np.full(model.nq, np.nan) if LOST[0] <= k < LOST[1] else simulator.q
        controller.tick(q, simulator.v, exported.period)
        simulator.step(controller.tau)
        torques.append(controller.tau)
        states.append(controller.gate.state)
    return Run(1e3 * exported.period * np.arange(N), np.array(torques), states)


def main() -> None:
    """Draw torque over time, the states of the gate behind it."""
    result = run()
    figure = new_figure(7.2, 3.4)
    axes = figure.subplots()
    for joint, colour in JOINTS.items():
        axes.plot(result.t, result.tau[:, joint], color=colour, linewidth=1.4, label=f"joint {joint + 1}")
    changes = [0, *(k for k in range(1, N) if result.states[k] is not result.states[k - 1]), N]
    top = axes.get_ylim()[1]
    for first, last in pairwise(changes):
        state = result.states[first]
        axes.axvspan(result.t[first], result.t[last - 1], color=COLOURS[state], alpha=0.1, linewidth=0.0)
        axes.text(result.t[first] + 8.0, top, state.value, va="bottom", fontsize=8, color=INK)
    axes.axvspan(*result.t[list(LOST)], color=INK, alpha=0.25, linewidth=0.0)
    axes.text(result.t[LOST[0]], axes.get_ylim()[0], "states lost ", ha="right", va="bottom", fontsize=8, color=INK)
    axes.margins(x=0.0)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    style(axes, "", "time [ms]", "torque [N m]")
    figure.savefig(PICTURE, dpi=110)
    print(f"wrote {PICTURE.name}")


if __name__ == "__main__":
    main()
