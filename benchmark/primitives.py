"""Movement primitives: rollouts, live steps and learning, beside the library movement_primitives where it is installed.

python benchmark/primitives.py [--json FILE] [--quick]

One thread; contenders take turns; medians, and what one step in a hundred exceeds. Rollouts have 7 joints, 100 steps
and 25 weights each, with weights and goals of their own; the memory of the results is used again. Errors are those of
the same motion, learned with the same number of weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import measure
import neural
import numpy as np
from adaptation import error_ratio
from measure import Contender

from arm_control import RobotModel, urdf_path
from arm_control.maths import Array
from arm_control.primitives import Demonstration, Primitive, PrimitiveRun, load_demonstration

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from many_rollouts import CoupledRollouts, LinearRollouts

JOINTS, STEPS, WEIGHTS = 7, 100, 25
SAMPLES = 10_000
"""Samples of the demonstration that is learned."""
FEW = 1001
"""Samples of the demonstration that both libraries learn."""


class Sizes(NamedTuple):
    """How much is measured: rollouts in a block, live steps in a block, motions of the other library, blocks."""

    rollouts: int
    steps: int
    others: int
    blocks: int


FULL, QUICK = Sizes(2048, 1_000, 10, 40), Sizes(64, 100, 1, 2)
Figures = dict[str, Any]


def recording(n: int) -> Demonstration:
    """Seven joints that move at once, at rest at both ends."""
    t = np.linspace(0.0, 2.0, n)
    s = t / 2.0
    rise, lift = s**3 * (10.0 - 15.0 * s + 6.0 * s * s), np.sin(np.pi * s) ** 4
    joints = np.arange(1, JOINTS + 1)
    y = np.outer(rise, np.cos(joints)) + lift[:, None] * np.sin(3.0 * np.outer(s, joints) + joints)
    return Demonstration(t, y, names=tuple(f"joint_{k}" for k in joints))


def measure_primitives(sizes: Sizes) -> Figures:
    """Rollouts in a second, a live step, learning; they take turns."""
    rng, n = np.random.default_rng(0), sizes.rollouts
    weights, goals = 100.0 * rng.normal(size=(n, JOINTS, WEIGHTS)), rng.normal(size=(n, JOINTS))
    start, t = np.zeros(JOINTS), np.linspace(0.0, 1.0, STEPS + 1)[1:]
    contenders = {}
    for name, derivatives in (("rollouts", 0), ("rollouts_with_derivatives", 2)):
        linear = LinearRollouts(WEIGHTS, t, derivatives=derivatives)
        out = linear.run(weights, start, goals)
        contenders[name] = Contender(lambda linear=linear, out=out: linear.run(weights, start, goals, out=out), [()])
    obstacle = [*np.full(JOINTS, 0.3), 0.1]
    coupled = CoupledRollouts(JOINTS, WEIGHTS, STEPS, [obstacle], phase_stopping=10.0, lag=0.05)
    contenders["coupled_rollouts"] = Contender(lambda: coupled.run(weights, start, goals), [()])
    rollouts, steps = tuple(contenders), _live_steps(sizes)
    long = recording(SAMPLES)
    contenders |= steps | {"learn": Contender(lambda: Primitive.learn(long, n_basis=WEIGHTS), [()])}
    times = measure.take_turns(contenders, sizes.blocks)
    figures = {f"{name}_per_s": 1e6 * n / times[name].median for name in rollouts}
    for name in steps:
        figures |= {f"{name}_us": times[name].median, f"{name}_p99_us": times[name].p99}
    return figures | {"learn_ms": 1e-3 * times["learn"].median}


def _live_steps(sizes: Sizes) -> dict[str, Contender]:
    """A step: plain, and with an obstacle; of joints, and of a pose with an obstacle."""
    joints = Primitive.learn(recording(FEW), n_basis=WEIGHTS)
    t = np.linspace(0.0, 2.0, FEW)
    half = 0.5 * np.sin(np.pi * t / 4.0) ** 2
    quats = np.column_stack([np.sin(half), np.zeros((FEW, 2)), np.cos(half)])
    pose = Primitive.learn(Demonstration(t, recording(FEW).positions[:, :3], quats), n_basis=WEIGHTS)
    runs = {
        "step": PrimitiveRun(joints, phase_stopping=10.0),
        "step_obstacle": PrimitiveRun(joints, phase_stopping=10.0, n_obstacles=1),
        "step_pose_obstacle": PrimitiveRun(pose, phase_stopping=10.0, n_obstacles=1),
    }
    runs["step_obstacle"].set_obstacles([np.full(JOINTS, 0.3)], [0.1])
    runs["step_pose_obstacle"].set_obstacles([np.full(3, 0.3)], [0.1])
    dt = 1.0 / sizes.steps / sizes.blocks  # the motion lasts as long as the measurement, nearly
    return {name: Contender(run.step, [(dt, 0.01)] * sizes.steps) for name, run in runs.items()}


def measure_beside_movement_primitives(sizes: Sizes) -> Figures:
    """The same demonstration and number of weights with movement_primitives; nothing where it is missing."""
    try:
        from movement_primitives.dmp import DMP
    except ImportError:
        return {}
    shown, wide = recording(FEW), recording(STEPS + 1)
    t, y = np.array(shown.times), np.array(shown.positions)
    own = Primitive.learn(shown, n_basis=WEIGHTS)
    figures: Figures = {"own_error": _error(own.rollout(t).q, y)}
    contenders = {"own_learn": Contender(lambda: Primitive.learn(shown, n_basis=WEIGHTS), [()] * sizes.others)}
    contenders["own_rollout"] = Contender(lambda: own.rollout(wide.times), [()] * sizes.others)
    for name, is_smooth in (("other", False), ("other_smooth", True)):
        other = DMP(
            JOINTS, execution_time=2.0, dt=t[1], n_weights_per_dim=WEIGHTS, int_dt=t[1], smooth_scaling=is_smooth
        )
        other.imitate(t, y)
        figures[f"{name}_error"] = _error(other.open_loop()[1], y)
        contenders[f"{name}_learn"] = Contender(lambda other=other: other.imitate(t, y), [()] * sizes.others)
        coarse = DMP(JOINTS, 2.0, 2.0 / STEPS, WEIGHTS, int_dt=2.0 / STEPS, smooth_scaling=is_smooth)
        coarse.imitate(t, y)
        contenders[f"{name}_rollout"] = Contender(coarse.open_loop, [()] * sizes.others)
        figures |= {f"{name}_{key}": value for key, value in _scaled(other, y).items()}
    motion = own.rollout(t, goal=_moved(y))
    figures |= {"own_goal_error": float(np.abs(motion.q[-1] - _moved(y)).max()), "own_peak": _peak(motion.q, y)}
    times = measure.take_turns(contenders, sizes.blocks)
    return figures | {f"{name}_us": one.median for name, one in times.items()}


def _error(found: Array, wanted: Array) -> float:
    """Root mean square, as a share of each joint's range, of the worst joint."""
    return float((np.sqrt(np.mean((found - wanted) ** 2, axis=0)) / np.ptp(wanted, axis=0)).max())


def _moved(y: Array) -> Array:
    return y[-1] + 0.1


def _scaled(other: Any, y: Array) -> Figures:
    """What a goal that is 0.1 rad farther makes of the motion of the other library."""
    other.configure(start_y=y[0], goal_y=_moved(y))
    path = other.open_loop()[1]
    other.configure(start_y=y[0], goal_y=y[-1])
    return {"goal_error": float(np.abs(path[-1] - _moved(y)).max()), "peak": _peak(path, y)}


def _peak(path: Array, y: Array) -> float:
    """Largest range of a joint, as a multiple of the demonstrated one."""
    return float((np.ptp(path, axis=0) / np.ptp(y, axis=0)).max())


def measure_walking(_: Sizes) -> Figures:
    """Errors of a walking leg with 25 functions, in the third cycle from a standing leg, root mean square [deg]."""
    gait, standing = load_demonstration("gait"), np.radians([-90.0, 0.0, 90.0])
    times = 2.0 * gait.duration + gait.times[:-1]
    figures: Figures = {}
    for prefix, method in (("", "least_squares"), ("locally_weighted_", "locally_weighted")):
        walk = Primitive.learn(gait, "rhythmic", WEIGHTS, method).rollout(times, start=standing)
        errors = np.degrees(np.sqrt(np.mean((walk.q - gait.positions[:-1]) ** 2, axis=0)))
        names = (f"{prefix}{joint}_rms_deg" for joint in ("hip", "knee", "ankle"))
        figures |= dict(zip(names, errors.tolist(), strict=True))
        figures[f"{prefix}worst_rms_deg"] = float(errors.max())
    return figures


def measure_adaptation(sizes: Sizes) -> Figures:
    """Tracking error of a UR5 that holds 2 kg nobody knows of, with adaptation, as a share of that without."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    return {"error_ratio": error_ratio(model, 10 if sizes is FULL else 1)}


GROUPS: dict[str, Callable[[Sizes], Figures]] = {
    "": measure_primitives,
    "walk.": measure_walking,
    "neural.": lambda sizes: neural.measure(is_quick=sizes is QUICK),
    "adaptation.": measure_adaptation,
    "beside.": measure_beside_movement_primitives,
}
"""Prefix of the keys and the function of each group of figures."""


def main() -> None:
    """Measure and print; write the figures where the option says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="a second, to see that it works")
    options = parser.parse_args()
    figures: Figures = {
        "cpu": measure.processor(),
        "versions": measure.versions("numpy", "llvmlite", "movement_primitives", "nengo"),
        "quick": options.quick,
    }
    print(f"{figures['cpu']}; {figures['versions']}; one thread")
    for prefix, function in GROUPS.items():
        measured = {f"{prefix}{key}": value for key, value in function(QUICK if options.quick else FULL).items()}
        figures |= measured
        for key, value in measured.items():
            print(f"{key:32} {value:.4g}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
