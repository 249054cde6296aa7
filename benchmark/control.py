"""Time of one control tick, beside a careful NumPy version, and of a whole simulated loop; in one run.

python benchmark/control.py [--json FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from measure import Contender, Times, agree, processor, take_turns, versions

# isort: split
import numpy as np
from careful_limits import CarefulLimits
from careful_osc import careful_osc

from arm_control import CompiledOsc, OperationalSpaceController, OscParameters, Pose, Reference, RobotModel, urdf_path
from arm_control.control import ControlLoop, Measurement, OscTuning, StepOutput, step_limits
from arm_control.controllers import OscController, OscLoopParameters
from arm_control.gate import EffortGate, GateParameters
from arm_control.maths import rotation_from_vector
from arm_control.model import Terms
from arm_control.simulation import MujocoSimulator

HOME = {"ur5": [0.0, -1.4, 1.9, -2.07, -1.57, 0.0], "panda": [0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8]}
STATES = 50


def contenders(name: str, model: RobotModel, seed: int = 0) -> dict[str, Contender]:
    """The law from joint positions and velocities to torque, in three ways; with the gate in one call and in two.

    ``tick_fading`` is the law where a direction fades, ``loop`` a tick of the whole control loop, ``evaluate_into`` the
    model's terms in an earlier result.
    """
    rng = np.random.default_rng(seed)
    home = np.array(HOME[name])
    q, v = home + rng.uniform(-0.3, 0.3, (STATES, model.nv)), rng.uniform(-0.5, 0.5, (STATES, model.nv))
    p = OscParameters(posture=tuple(home))
    gates = [EffortGate(model, GateParameters()) for _ in range(2)]
    compiled, page = CompiledOsc(model, p), OperationalSpaceController(model, p)
    with_limits = CompiledOsc(model, p, limits=gates[0].limits)
    X = model.pose(home)
    X_WT = Pose(rotation_from_vector([0.2, -0.3, 0.1]) @ X.R, X.p + [0.2, 0.1, 0.1])
    reference = Reference(X_WT, np.full(6, 0.05), np.full(6, 0.1))
    careful = careful_osc(model, p, reference)
    for state in zip(q, v, strict=True):
        agree(f"{name}: compiled", compiled.tick(*state, reference).tau, careful(*state))

    def in_one_call(q: np.ndarray, v: np.ndarray) -> StepOutput:
        tau_0, dt, is_on = gates[0].next_limits(1e-3)
        step = with_limits.step(q, v, reference, tau_0, dt, is_on)
        gates[0].take(step.gate, dt)
        return step

    def in_two_calls(q: np.ndarray, v: np.ndarray) -> StepOutput:
        output = compiled.tick(q, v, reference)
        gates[1].offer_in_order(output.tau)
        return StepOutput(output, gates[1].tick(output.state, 1e-3))

    states = list(zip(q, v, strict=True))
    model.prepare("terms", progress=False)  # from now on ``model.evaluate`` is a built-in function
    for gate in gates:  # the first command finds it waiting
        output = compiled.tick(*states[0], reference)
        gate.offer_in_order(output.tau)
        gate.tick(output.state, 1e-3)
    for state in states:
        one, two = in_one_call(*state), in_two_calls(*state)
        agree(f"{name}: law and gate", np.append(one.gate.tau, one.law.tau), np.append(two.gate.tau, two.law.tau), 0.0)
    return {
        "tick": Contender(lambda q, v: compiled.tick(q, v, reference), states),
        "text": Contender(lambda q, v: page.tick(model.evaluate(q, v), reference), states),
        "numpy": Contender(careful, states),
        "tick_and_gate": Contender(in_one_call, states),
        "tick_then_gate": Contender(in_two_calls, states),
        "tick_fading": fading_contender(model, p, reference),
        "loop": loop_contender(model, p, states),
        "evaluate": Contender(model.evaluate, states),
        "evaluate_into": Contender(partial(model.evaluate, into=model.evaluate(*states[0])), states),
    }


def fading_contender(model: RobotModel, parameters: OscParameters, reference: Reference) -> Contender:
    """The law near a singularity, where one kernel runs tick after tick."""
    osc, rng = CompiledOsc(model, parameters), np.random.default_rng(0)
    states = [(0.05 * rng.uniform(-1.0, 1.0, model.nv), rng.uniform(-0.5, 0.5, model.nv)) for _ in range(STATES)]
    for state in states:
        osc.tick(*state, reference)
    return Contender(lambda q, v: osc.tick(q, v, reference), states)


def loop_contender(model: RobotModel, parameters: OscParameters, states: list[tuple[np.ndarray, ...]]) -> Contender:
    """A tick of the control loop of nodes, simulations and replays."""
    gate, tuning = GateParameters(), OscTuning(law=parameters)
    limits = step_limits(model, gate, OscLoopParameters(control=tuning, gate=gate))
    loop = ControlLoop(model, OscController(model, tuning, limits=limits), gate)
    measurements = [(Measurement(k * 1_000_000, *state, 1e-3),) for k, state in enumerate(states)]
    loop.tick(measurements[0][0]._replace(is_restart=True))
    return Contender(loop.tick, measurements)


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


def simulations(model: RobotModel) -> tuple[dict[str, Callable[[int], None]], Callable[[], None]]:
    """MuJoCo and the law, without a gate and with one: functions of a number of steps; and a check of their end."""
    home = np.array(HOME["ur5"])
    X = model.pose(home)
    reference = Reference(Pose(X.R, X.p + [0.1, 0.2, -0.1]))
    simulators = [MujocoSimulator(model, home) for _ in range(2)]
    gate, p = EffortGate(model, GateParameters()), OscParameters(posture=tuple(home))
    osc, with_limits = CompiledOsc(model, p), CompiledOsc(model, p, limits=gate.limits)
    first = osc.tick(home, np.zeros(model.nv), reference)
    gate.offer_in_order(first.tau)
    gate.tick(first.state, 1e-3)

    def without_gate(n: int) -> None:
        simulator = simulators[0]
        for _ in range(n):
            simulator.step(osc.tick(simulator.q, simulator.v, reference).tau)

    def with_gate(n: int) -> None:
        simulator = simulators[1]
        for _ in range(n):
            tau_0, dt, is_on = gate.next_limits(1e-3)
            passed = with_limits.step(simulator.q, simulator.v, reference, tau_0, dt, is_on).gate
            gate.take(passed, dt)
            simulator.step(passed.tau)

    def check() -> None:
        for simulator in simulators:
            agree("the loop's end", model.pose(simulator.q).p, reference.X_WT.p, 1e-3)

    return {"loop.realtime_factor": without_gate, "loop.with_gate_realtime_factor": with_gate}, check


def realtime_factors(model: RobotModel, seconds: int) -> dict[str, float]:
    """Simulated time over this process's time: medians of blocks of 0.1 s, in turns."""
    factors: dict[str, list[float]] = {}
    runs, check = simulations(model)
    for _ in range(10 * seconds):
        for name, run in runs.items():
            begin = time.process_time()
            run(100)
            factors.setdefault(name, []).append(0.1 / (time.process_time() - begin))
    check()
    return {name: median(values) for name, values in factors.items()}


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
    for name, factor in realtime_factors(ur5, 3 if options.quick else 20).items():
        figures[name] = factor
        parts = "MuJoCo, law and gate" if "gate" in name else "MuJoCo and law"
        print(f"{parts} at 1 kHz: {factor:.0f} times real time")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
