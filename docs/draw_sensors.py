"""Draw the picture of docs/sensors.md: force and distance in scenario ``ur5_sensors``.

``python docs/draw_sensors.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from arm_control.bags import Bag, SimulatedBag, read_bag
from arm_control.maths import Array
from arm_control.messages import nanoseconds
from arm_control.report import BLUE, DASHES, GREEN, GREY, ORANGE, RED, new_figure, style
from arm_control.simulation import Scenario, Simulation, Trace

ROOT = Path(__file__).resolve().parents[1]
WEIGHT = 9.81
"""Of the payload [N]."""


def recorded() -> tuple[Trace, Bag]:
    """Return the run of the scenario, and its bag."""
    scenario = Scenario.load("ur5_sensors")
    simulation = Simulation(scenario)
    with tempfile.TemporaryDirectory() as folder:
        with SimulatedBag(Path(folder) / "bag", simulation, scenario) as bag:
            trace = simulation.run(recorder=bag)
        return trace, read_bag(Path(folder) / "bag")


def series(bag: Bag, topic: str, *fields: str) -> tuple[Array, Array]:
    """Return times [s] and values, shape (n, len(fields)), of a topic."""
    messages = [message for _, _, message in bag.contents(topic)]
    times = [1e-9 * nanoseconds(message.header.stamp) for message in messages]
    rows = []
    for message in messages:
        source = message.wrench.force if topic == "wrench" else message
        rows.append([getattr(source, field) for field in fields])
    return np.array(times), np.array(rows)


def main() -> None:
    """Draw the picture."""
    trace, bag = recorded()
    figure = new_figure(9.0, 3.4)
    distance, force = figure.subplots(1, 2)
    t, measured = series(bag, "range/hand", "range")
    distance.plot(trace.t, trace.p[:, 2], color=GREY, linestyle=DASHES, label="height of the hand")
    distance.plot(t, measured[:, 0], ".", color=BLUE, markersize=4, label="range/hand")
    distance.legend(fontsize=8, frameon=False)
    style(distance, "Distance downwards, above floor and box", "time [s]", "[m]")
    t, forces = series(bag, "wrench", "x", "y", "z")
    for values, colour, name in zip((forces - [0.0, 0.0, WEIGHT]).T, (RED, GREEN, ORANGE), "xyz", strict=True):
        force.plot(t, values, color=colour, label=f"{name} of the tool", linewidth=1.2)
    force.legend(fontsize=8, frameon=False)
    style(force, "Force beside the weight of 9.81 N", "time [s]", "[N]")
    figure.savefig(ROOT / "docs" / "pictures" / "sensors.png")


if __name__ == "__main__":
    main()
