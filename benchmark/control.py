"""Time of one control tick, beside a careful NumPy version, and of a whole simulated loop; in one run.

python benchmark/control.py [--json FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from measure import Contender, Times, agree, processor, take_turns, versions

# isort: split
import numpy as np
from careful_limits import CarefulLimits
from careful_osc import careful_osc

from arm_control import CompiledOsc, OperationalSpaceController, OscParameters, Pose, Reference, RobotModel, urdf_path
from arm_control.control.effort_gate import EffortGate, GateParameters
from arm_control.maths.poses import rotation_from_vector
from arm_control.model import Terms
from arm_control.simulation.mujoco_simulator import MujocoSimulator

HOME = {"ur5": [0.0, -1.4, 1.9, -2.07, -1.57, 0.0], "panda": [0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8]}
STATES = 50


def contenders(name: str, model: RobotModel, seed: int = 0) -> dict[str, Contender]:
    """The law from joint positions and velocities to torque, in three ways; the gate; both."""
    rng = np.random.default_rng(seed)
    home = np.array(HOME[name])
    q, v = home + rng.uniform(-0.3, 0.3, (STATES, model.nv)), rng.uniform(-0.5, 0.5, (STATES, model.nv))
    p = OscParameters(posture=tuple(home))
    compiled, page, gate = (
        CompiledOsc(model, p),
        OperationalSpaceController(model, p),
        EffortGate(model, GateParameters()),
    )
    X = model.pose(home)
    X_WT = Pose(rotation_from_vector([0.2, -0.3, 0.1]) @ X.R, X.p + [0.2, 0.1, 0.1])
    reference = Reference(X_WT, np.full(6, 0.05), np.full(6, 0.1))
    careful = careful_osc(model, p, reference)
    for state in zip(q, v, strict=True):
        agree(f"{name}: compiled", compiled.tick(*state, reference).tau, careful(*state))

    def through_the_gate(q: np.ndarray, v: np.ndarray) -> object:
        output = compiled.tick(q, v, reference)
        gate.offer_in_order(output.tau)
        return gate.tick(output.state, 1e-3)

    states = list(zip(q, v, strict=True))
    return {
        "tick": Contender(lambda q, v: compiled.tick(q, v, reference), states),
        "text": Contender(lambda q, v: page.tick(model.evaluate(q, v), reference), states),
        "numpy": Contender(careful, states),
        "tick_and_gate": Contender(through_the_gate, states),
        "evaluate": Contender(model.evaluate, states),
    }


def measure(name: str, model: RobotModel, rounds: int) -> dict[str, Times]:
    """Median and p99 of every contender [us]."""
    return take_turns(contenders(name, model), rounds)


def gate_contenders(model: RobotModel, seed: int = 0) -> dict[str, Contender]:
    """The gate, a command offered and a tick; and its arithmetic alone with NumPy: states near limits and far."""
    rng, p = np.random.default_rng(seed), GateParameters()
    gate, careful = EffortGate(model, p), CarefulLimits(model, p)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    q, v = rng.uniform(low, high, (STATES, model.nv)), rng.uniform(-1.0, 1.0, (STATES, model.nv))
    terms = [model.evaluate(*state) for state in zip(q, v, strict=True)]
    commands = [(t, t.h + t.M @ rng.uniform(-20.0, 20.0, model.nv)) for t in terms]

    def tick(t: Terms, tau: np.ndarray) -> np.ndarray:
        gate.offer(model.joint_names, tau)
        return gate.tick(t, 1e-3).tau

    for command in commands:
        agree("gate", tick(*command), careful.tick(*command, 1e-3))
    return {"tick": Contender(tick, commands), "numpy": Contender(lambda t, tau: careful.tick(t, tau, 1e-3), commands)}


def realtime_factor(model: RobotModel, seconds: float, with_gate: bool) -> float:
    """Simulated time over time, of MuJoCo and the law at 1 kHz; with the gate between them, or without."""
    home = np.array(HOME["ur5"])
    simulator = MujocoSimulator(model, home)
    osc, gate = CompiledOsc(model, OscParameters(posture=tuple(home))), EffortGate(model, GateParameters())
    X = model.pose(home)
    reference = Reference(Pose(X.R, X.p + [0.1, 0.2, -0.1]))
    begin = time.perf_counter()
    for _ in range(round(seconds * 1e3)):
        output = osc.tick(simulator.q, simulator.v, reference)
        if with_gate:
            gate.offer_in_order(output.tau)
            simulator.step(gate.tick(output.state, 1e-3).tau)
        else:
            simulator.step(output.tau)
    factor = seconds / (time.perf_counter() - begin)
    agree("the loop's end", model.pose(simulator.q).p, reference.X_WT.p, 1e-3)
    return factor


def main() -> None:
    """Print the table; with ``--json`` write the figures too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works")
    options = parser.parse_args()
    from model import robots

    print(f"{processor()}, {versions('numpy', 'scipy', 'pin', 'mujoco', 'llvmlite')}")
    figures: dict[str, float] = {}
    for name, (path, tip) in robots().items():
        model = RobotModel.from_urdf(path, tip=tip)
        for part, times in measure(name, model, 3 if options.quick else 200).items():
            figures |= {f"{name}.{part}_us": times.median, f"{name}.{part}_p99_us": times.p99}
            print(f"{name:6} {part:14} median {times.median:7.2f} us   p99 {times.p99:7.2f} us")
        figures[f"{name}.tick_vs_numpy"] = figures[f"{name}.numpy_us"] / figures[f"{name}.tick_us"]
        print(f"{name:6} the compiled tick is {figures[f'{name}.tick_vs_numpy']:.1f} times as fast as careful NumPy")
    ur5 = RobotModel.from_urdf(urdf_path("ur5"))
    for part, times in take_turns(gate_contenders(ur5), 3 if options.quick else 200).items():
        figures |= {f"gate.{part}_us": times.median, f"gate.{part}_p99_us": times.p99}
        print(f"gate   {part:14} median {times.median:7.2f} us   p99 {times.p99:7.2f} us")
    for name, with_gate in (("loop.realtime_factor", False), ("loop.with_gate_realtime_factor", True)):
        figures[name] = realtime_factor(ur5, 3.0 if options.quick else 20.0, with_gate)
        parts = "MuJoCo, law and gate" if with_gate else "MuJoCo and law"
        print(f"{parts} at 1 kHz: {figures[name]:.0f} times real time")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
