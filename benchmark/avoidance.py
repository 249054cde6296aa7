"""Time of one tick of obstacle avoidance, beside careful NumPy on arrays of pairs, and with law and gate; in one run.

python benchmark/avoidance.py [--json FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from measure import Contender, Times, agree, processor, take_turns, versions

# isort: split
import numpy as np
from careful_avoidance import CarefulAvoidance

from arm_control import CompiledOsc, OscParameters, Reference, RobotModel, urdf_path
from arm_control.control import (
    Avoidance,
    AvoidanceParameters,
    ControlLoop,
    Measurement,
    OscTuning,
    StepOutput,
)
from arm_control.controllers import OscController
from arm_control.gate import EffortGate, GateParameters
from arm_control.maths import Box, Capsule, Cone, Cylinder, Hull, Obstacle, Pose, Shape, Sphere, rotation_from_vector
from arm_control.model import Terms

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
STATES, OBSTACLES, CROWD, AROUND, SPREAD = 50, 20, 1000, np.array([0.3, 0.1, 0.4]), 0.6
SHAPES: dict[str, Shape | None] = {
    "sphere": Sphere(0.05),
    "capsule": Capsule(0.05, 0.2),
    "box": Box((0.1, 0.12, 0.1)),
    "cylinder": Cylinder(0.05, 0.2),
    "cone": Cone(0.05, 0.2),
    "self": None,
}
"""``self``: no obstacle, so that the pairs of links are what is left."""


def scene(shape: Shape | None, rng: np.random.Generator, n: int = OBSTACLES) -> list[Obstacle]:
    """So many obstacles of a shape around the arm; none of them for None."""
    return [
        Obstacle(
            shape,
            Pose(rotation_from_vector(rng.normal(size=3)), AROUND + rng.uniform(-SPREAD, SPREAD, 3)),
            rng.uniform(-0.2, 0.2, 6),
        )
        for _ in range(n if shape else 0)
        if shape
    ]


def measure(model: RobotModel, shape: Shape | None, rounds: int) -> tuple[dict[str, Times], float]:
    """Times of a tick with both [us], and how many pairs are near on average."""
    rng, p = np.random.default_rng(1), AvoidanceParameters()
    obstacles = scene(shape, rng)
    law, careful = Avoidance(model, p), CarefulAvoidance(model, p)
    drawn = [(HOME + rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.5, 0.5, 6)) for _ in range(STATES)]
    terms = [model.evaluate(*state) for state in drawn]
    for t in terms:
        found, expected = law.tick(t, obstacles, t.h), careful.tick(t, obstacles, t.h)
        agree("distance", min(found.distance, 1.0), min(expected.distance, 1.0))
        agree("share", found.task_share, expected.task_share)
        if found.distance > 0.0:  # inside, where two faces are equally near, each takes its own
            agree("tau", found.tau, expected.tau)
            agree("total", found.tau_total, expected.tau_total, 1e-6)
    near = float(np.mean([len(law.tick(t, obstacles).pairs.rho) for t in terms]))

    def ours(t: Terms) -> object:
        return law.tick(t, obstacles, t.h).tau_total

    def in_numpy(t: Terms) -> object:
        return careful.tick(t, obstacles, t.h).tau_total

    functions: dict[str, Callable[[Terms], object]] = {"": ours, "_numpy": in_numpy}
    return take_turns({name: Contender(f, [(t,) for t in terms]) for name, f in functions.items()}, rounds), near


def measure_crowds(model: RobotModel, rounds: int) -> dict[str, Times]:
    """Times of a tick [us] with a thousand obstacles of each shape at rest, in turns."""
    rng = np.random.default_rng(2)
    contenders = {}
    for name, shape in SHAPES.items():
        if shape is None:
            continue
        law, obstacles = Avoidance(model, AvoidanceParameters()), scene(shape, rng, CROWD)
        drawn = [(HOME + rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.5, 0.5, 6)) for _ in range(STATES)]

        def whole(t: Terms, law: Avoidance = law, obstacles: list[Obstacle] = obstacles) -> object:
            return law.tick(t, obstacles, t.h).tau_total

        contenders[name] = Contender(whole, [(model.evaluate(*state),) for state in drawn])
    return take_turns(contenders, rounds)


def measure_hulls(model: RobotModel, rounds: int) -> dict[str, Times]:
    """Times of a tick [us] with one hull of 50 triangles in the arm's middle and with many, in turns."""
    rng, p = np.random.default_rng(0), AvoidanceParameters()
    points = rng.normal(size=(27, 3))
    hull = Hull.of_points(points / np.linalg.norm(points, axis=1)[:, None] * [0.06, 0.08, 0.06])
    scenes = {1: [Obstacle(hull, Pose.at([0.45, 0.1, 0.4]))], OBSTACLES: scene(hull, np.random.default_rng(1))}
    careful, contenders = CarefulAvoidance(model, p), {}
    drawn = [(HOME + rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.5, 0.5, 6)) for _ in range(STATES)]
    terms = [model.evaluate(*state) for state in drawn]
    for n, obstacles in scenes.items():
        law = Avoidance(model, p)
        for t in terms[:5]:
            found, expected = law.tick(t, obstacles, t.h), careful.tick(t, obstacles, t.h)
            agree("distance", min(found.distance, 1.0), min(expected.distance, 1.0))
            agree("total", found.tau_total, expected.tau_total, 1e-6)

        def whole(t: Terms, law: Avoidance = law, obstacles: list[Obstacle] = obstacles) -> object:
            return law.tick(t, obstacles, t.h).tau_total

        contenders[f"hulls_{n}"] = Contender(whole, [(t,) for t in terms])
    return take_turns(contenders, rounds)


def step_contenders(model: RobotModel, obstacles: list[Obstacle]) -> dict[str, Contender]:
    """Law, avoidance and gate in one call and in three; a tick of the control loop that makes them."""
    rng, home, reference = np.random.default_rng(1), OscParameters(posture=tuple(HOME)), Reference(model.pose(HOME))
    states = [(HOME + rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.5, 0.5, 6)) for _ in range(STATES)]
    osc, gates = CompiledOsc(model, home), [EffortGate(model, GateParameters()) for _ in range(2)]
    laws = [Avoidance(model, AvoidanceParameters()) for _ in range(4)]
    step = CompiledOsc(model, home, limits=gates[0].limits, between=laws[0]).step

    def together(q: np.ndarray, v: np.ndarray) -> StepOutput:
        tau_0, dt, is_on = gates[0].next_limits(1e-3)
        output = step(q, v, reference, tau_0, dt, is_on, obstacles)
        gates[0].take(output.gate, dt)
        return output

    def apart(q: np.ndarray, v: np.ndarray, k: int = 1) -> StepOutput:
        law = osc.tick(q, v, reference)
        avoided = laws[k].tick(law.state, obstacles, law.tau)
        gates[k].offer_in_order(avoided.tau_total)
        return StepOutput(law, gates[k].tick(law.state, 1e-3), avoided)

    for k in range(2):  # the first command finds the gate waiting
        apart(*states[0], k)
    for state in states:
        one, three = together(*state), apart(*state)
        agree("law, avoidance and gate", one.gate.tau, three.gate.tau, 0.0)
    measurements = [(Measurement(k * 1_000_000, *state, 1e-3), obstacles) for k, state in enumerate(states)]
    loops = {"loop": gates[0].limits, "loop_three": None}
    contenders = {"one_call": Contender(together, states), "three_calls": Contender(apart, states)}
    for (name, limits), law in zip(loops.items(), laws[2:], strict=True):
        controller = OscController(model, OscTuning(law=home), None, limits, law)
        loop = ControlLoop(model, controller, GateParameters(), law)
        loop.tick(measurements[0][0]._replace(is_restart=True), obstacles)
        contenders[name] = Contender(loop.tick, measurements)
    return contenders


def main() -> None:
    """Print the table; with ``--json`` write the figures too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works")
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'llvmlite')}; UR5, {OBSTACLES} obstacles")
    model, figures = RobotModel.from_urdf(urdf_path("ur5")), {}
    for name, shape in SHAPES.items():
        times, near = measure(model, shape, 1 if options.quick else 15)
        key = "avoidance." if name == "sphere" else f"avoidance.{name}_"
        figures |= {f"{key}tick_us": times[""].median, f"{key}tick_p99_us": times[""].p99, f"{key}near": near}
        figures |= {f"{key}numpy_us": times["_numpy"].median, f"{key}numpy_p99_us": times["_numpy"].p99}
        figures[f"{key}vs_numpy"] = times["_numpy"].median / times[""].median
        print(
            f"{name:9} median {times[''].median:6.1f} us   p99 {times[''].p99:6.1f} us   NumPy"
            f" {times['_numpy'].median:7.1f} us   {figures[f'{key}vs_numpy']:5.1f} times   {near:.1f} pairs near"
        )
    for name, times in measure_crowds(model, 1 if options.quick else 15).items():
        figures |= {f"avoidance.crowd_{name}_us": times.median, f"avoidance.crowd_{name}_p99_us": times.p99}
        print(f"{CROWD} of {name:9} median {times.median:6.1f} us   p99 {times.p99:6.1f} us")
    for name, times in measure_hulls(model, 1 if options.quick else 15).items():
        figures |= {f"avoidance.{name}_us": times.median, f"avoidance.{name}_p99_us": times.p99}
        print(f"{name:9} median {times.median:6.1f} us   p99 {times.p99:6.1f} us")
    for name in ("sphere", "box"):
        contenders = step_contenders(model, scene(SHAPES[name], np.random.default_rng(1)))
        for part, times in take_turns(contenders, 1 if options.quick else 200).items():
            figures |= {f"step.{name}_{part}_us": times.median, f"step.{name}_{part}_p99_us": times.p99}
            print(f"{name:6} law, avoidance, gate: {part:11} median {times.median:6.2f} us   p99 {times.p99:6.2f} us")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
