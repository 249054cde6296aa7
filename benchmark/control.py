"""Time of one control tick and of its parts, interleaved in one run.

python benchmark/control.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import processor, versions

from arm_control import OperationalSpaceController, OscParameters, Pose, Reference, RobotModel, urdf_path
from arm_control.gate import EffortGate, GateParameters

ROUNDS, STATES = 200, 50


def contenders(model: RobotModel, seed: int = 0) -> dict[str, Callable[[int], object]]:
    """Each takes the number of a state and does its part for it."""
    rng = np.random.default_rng(seed)
    q = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0]) + rng.uniform(-0.3, 0.3, (STATES, 6))
    v = rng.uniform(-0.5, 0.5, (STATES, 6))
    osc = OperationalSpaceController(model, OscParameters(posture=tuple(q[0])))
    gate = EffortGate(model, GateParameters())
    terms = [model.evaluate(*state) for state in zip(q, v, strict=True)]
    reference = Reference(Pose(terms[0].X_WE.R, terms[0].X_WE.p + [0.2, 0.1, 0.1]))
    torque = [osc.tick(t, reference).tau for t in terms]

    def through_the_gate(i: int) -> object:
        gate.offer(model.joint_names, torque[i].tolist())
        return gate.tick(terms[i], 1e-3)

    def all_of_it(i: int) -> object:
        t = model.evaluate(q[i], v[i])
        gate.offer(model.joint_names, osc.tick(t, reference).tau.tolist())
        return gate.tick(t, 1e-3)

    return {
        "evaluate": lambda i: model.evaluate(q[i], v[i]),
        "law": lambda i: osc.tick(terms[i], reference),
        "gate": through_the_gate,
        "tick": all_of_it,
    }


def measure(parts: dict[str, Callable[[int], object]]) -> dict[str, np.ndarray]:
    """Microseconds of each call; the parts take turns, state by state."""
    times: dict[str, list[float]] = {name: [] for name in parts}
    for round_ in range(ROUNDS):
        for i in range(STATES):
            for name, part in parts.items():
                begin = time.perf_counter_ns()
                part(i)
                if round_:  # the first round warms up
                    times[name].append((time.perf_counter_ns() - begin) * 1e-3)
    return {name: np.array(values) for name, values in times.items()}


def main() -> None:
    """Print the table; with ``--json`` write the figures too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"UR5 on {processor()}, {versions('numpy', 'pin')}")
    figures = {}
    for name, microseconds in measure(contenders(RobotModel.from_urdf(urdf_path("ur5")))).items():
        median, p99 = np.percentile(microseconds, [50, 99])
        figures |= {f"ur5.{name}_us": median, f"ur5.{name}_p99_us": p99}
        print(f"{name:10} median {median:7.1f} us   p99 {p99:7.1f} us")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
