"""Random arms on random plants with random gains and rates: is the law with observer and floor stable on each?

    python benchmark/plant_draws.py [--draws 200] [--seed 0] [--jobs 1] [--json FILE]

Each draw has one of the five arms of ``plants.py``, a rate between 250 and 1000 Hz, a plant between nothing and twice
what is usual in friction, rotors, masses, motors and sensors, with up to 1 kg unknown, and gains with a damping between
14 1/s and 40 1/s, or a tenth of the rate. The arm goes to two targets, 5 s for each. Stable is an arm that its gate has
not braked and that comes to rest: in the last half second the rms of no joint's speed exceeds 2 % of its limit, and
that of the torque's change from tick to tick 3 %.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import plants

from arm_control import Pose, RobotModel
from arm_control.control import Measurement, pose_error, propose_rate_limit, resolve_parameters
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.core import progress_bar
from arm_control.exceptions import SimulationDiverged
from arm_control.maths import Array
from arm_control.motion import Target
from arm_control.simulation import PlantProperties
from arm_control.sweeps import in_order

SECONDS, LAST, N_TARGETS = 5.0, 0.5, 2
SPEED, CHANGE = 0.02, 0.03
"""At rest: largest rms of a joint's speed and of its torque's change in a tick, as shares of their limits."""


class Draw(NamedTuple):
    """An arm, a rate [Hz], gains and a plant."""

    arm: str
    rate: float
    gains: dict[str, float]
    plant: PlantProperties


class Result(NamedTuple):
    """What came of a draw: largest errors [m, rad]; speed, change of torque at rest, torque as shares of limits."""

    is_stable: bool
    position: float
    orientation: float
    speed: float
    change: float
    peak: float
    end: str


def draw(rng: np.random.Generator, models: dict[str, RobotModel]) -> Draw:
    """Draw one case.

    Parameters
    ----------
    rng : Generator
        Source of the numbers.
    models : dict of str to RobotModel
        The arms.
    """
    arm = str(rng.choice(list(models)))
    model, rate = models[arm], float(np.exp(rng.uniform(np.log(250.0), np.log(1000.0))))
    zeta = rng.uniform(0.7, 1.5)
    kv = rng.uniform(14.0, min(40.0, rate / 10.0), 2)
    kp = (kv / (2.0 * zeta)) ** 2
    gains = {"kp_linear": float(kp[0]), "kp_angular": float(kp[1]), "damping_ratio": float(zeta)}
    per_speed = model.tau_max / model.v_max
    plant = {
        "coulomb": rng.uniform(0.0, 0.05, model.nv) * model.tau_max,
        "stribeck": rng.uniform(0.0, 0.02, model.nv) * model.tau_max,
        "viscous": rng.uniform(0.0, 0.1, model.nv) * per_speed,
        "rotor_inertia": rng.uniform(0.0, 0.01, model.nv) * per_speed,
        "mass_error": rng.uniform(-0.1, 0.1),
        "com_error": rng.uniform(0.0, 0.01),
        "inertia_error": rng.uniform(0.0, 0.4),
        "payload_mass": rng.uniform(0.0, 1.0),
        "actuator_time_constant": rng.uniform(0.0, 2e-3),
        "actuator_delay": rng.uniform(0.0, 2e-3),
        "torque_resolution": rng.uniform(0.0, 1e-3) * model.tau_max,
        "encoder_resolution": rng.uniform(0.0, 1e-4),
        "velocity_noise": rng.uniform(0.0, 3e-3),
    }
    return Draw(arm, rate, gains, PlantProperties.from_mapping(plant))


@cache
def way_of(arm: str) -> tuple[RobotModel, Array, list[Pose]]:
    """An arm, where it starts [rad], and its targets."""
    model = plants.load(arm)
    start, goals = plants.draw_targets(model)
    return model, start, goals[:N_TARGETS]


def run(case: Draw) -> Result:
    """Drive one case."""
    model, start, goals = way_of(case.arm)
    dt = 1.0 / case.rate
    values = {"rate": case.rate, "rate_limit": propose_rate_limit(model), **case.gains}
    values |= {"disturbance_observer": True, "inertia_floor": 0.02}
    loop = control_loop(model, resolve_parameters(OscLoopParameters, values, model))
    arm = plants.arm_of(model, start, case.plant, case.rate)
    n, n_last = round(SECONDS / dt), round(LAST / dt)
    taus, vs = np.zeros((n * len(goals), model.nv)), np.zeros((n * len(goals), model.nv))
    errors = []
    try:
        for k in range(n * len(goals)):
            if k % n == 0:
                loop.controller.add(Target(round(k * dt * 1e9), model.frames[0], goals[k // n]))
            measurement = Measurement(round(k * dt * 1e9), arm.q, arm.v, dt if k else 0.0, is_restart=k == 0)
            output = loop.tick(measurement).gate
            if not output.is_passing:
                return failed(output.reason)
            taus[k], vs[k] = output.tau, arm.arm.v
            arm.step(output.tau)
            if k % n == n - 1:
                errors.append(pose_error(model.pose(arm.arm.q), goals[k // n]))
    except SimulationDiverged as error:
        return failed(str(error))
    rows = [slice((i + 1) * n - n_last, (i + 1) * n) for i in range(len(goals))]
    speed = max(float((rms(vs[row]) / model.v_max).max()) for row in rows)
    change = max(float((rms(np.diff(taus[row], axis=0)) / model.tau_max).max()) for row in rows)
    position, orientation = (max(float(np.linalg.norm(e[part])) for e in errors) for part in (slice(3), slice(3, 6)))
    peak = float((np.abs(taus) / model.tau_max).max())
    return Result(speed < SPEED and change < CHANGE, position, orientation, speed, change, peak, "")


def failed(end: str) -> Result:
    """Return the result of a draw that has ended early."""
    return Result(False, np.inf, np.inf, np.inf, np.inf, 1.0, end)


def rms(x: Array) -> Array:
    """Root mean square of each column."""
    return np.sqrt(np.mean(x * x, axis=0))


def figures_of(results: list[Result]) -> dict[str, float]:
    """Shares and worst figures of all draws."""
    reached = [r.position < plants.POSITION and r.orientation < plants.ORIENTATION for r in results]
    errors_mm, errors_deg = [1e3 * r.position for r in results], [np.degrees(r.orientation) for r in results]
    return {
        "draws": len(results),
        "failed": sum(bool(r.end) for r in results),
        "stable_share": float(np.mean([r.is_stable for r in results])),
        "reached_share": float(np.mean(reached)),
        "worst.speed": max(r.speed for r in results),
        "worst.change": max(r.change for r in results),
        "worst.peak": max(r.peak for r in results),
        **{f"q{q}.error_mm": float(np.quantile(errors_mm, q / 100)) for q in (50, 90, 100)},
        **{f"q{q}.error_deg": float(np.quantile(errors_deg, q / 100)) for q in (50, 90, 100)},
    }


def measure(n_draws: int, seed: int, jobs: int = 1) -> dict[str, float]:
    """Figures of random draws, on so many processes; prints each that is not stable."""
    models = {name: plants.load(name) for name in plants.ARMS}
    rng = np.random.default_rng(seed)
    cases = [draw(rng, models) for _ in range(n_draws)]
    results, outcomes = [], in_order(run, cases, jobs)
    for i, case in enumerate(progress_bar(cases, "draws")):
        results.append(next(outcomes))
        if not results[-1].is_stable:
            print(i, case, results[-1], flush=True)
    return figures_of(results)


def main() -> None:
    """Print shares of all draws, and their worst figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = measure(options.draws, options.seed, options.jobs)
    for name, value in figures.items():
        print(f"{name:20} {value:.4g}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
