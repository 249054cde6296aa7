"""Random reaches of many arms with gains nobody tuned: how many targets are reached, and what happens to the rest?

    python benchmark/reach_campaign.py --pairs 200 [--arms ur5 panda] [--json FILE]

A pair is a start and a target whose straight way (position and orientation at the same pace) an arm can go within
its joint limits: inverse kinematics follows it in small steps, and a pair for which it fails is drawn again. Ways
through singularities are welcome. Simulated in MuJoCo at 1 kHz, through the gate.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import arms
import numpy as np

from arm_control import CompiledOsc, Pose, Reference, RobotModel
from arm_control.control import capability, pose_error, propose, propose_rate_limit
from arm_control.core import progress_bar
from arm_control.exceptions import ArmControlError
from arm_control.gate import EffortGate, GateParameters
from arm_control.maths import Array, rotation_from_vector
from arm_control.simulation import MujocoSimulator
from arm_control.sweeps import in_order

SECONDS, SETTLED, STEPS = 20.0, 1.0, 60
"""Time allowed; time for which a target must stay reached [s]; steps of the inverse kinematics."""
MARGIN = 0.1
"""Distance from the joint limits that the way keeps [rad]; the gate's own limits are 0.05 before them."""
POSITION, ORIENTATION = 1e-3, np.radians(0.2)
"""What counts as reached: share of the reach, angle."""


@dataclass(frozen=True)
class Outcome:
    """How a reach ended.

    Attributes
    ----------
    seed : int
    error, angle : float
        What was left [m], [rad].
    moving : float
        Speed of the end effector at the end [m/s].
    peak : float
        Largest torque, as a share of the limit; the gate's own.
    reached_after : float
        When it was near enough for good [s]; infinite where it was not.
    why : str
        Of a failure.
    """

    seed: int
    error: float
    angle: float
    moving: float
    peak: float
    reached_after: float
    why: str = ""


def draw(model: RobotModel, rows: list[int], seed: int) -> tuple[Array, Pose]:
    """A start and a target with a straight way between them that stays inside the joint limits."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    middle, half = (low + high) / 2, (high - low) / 2
    while True:
        q0 = middle + 0.9 * half * rng.uniform(-1, 1, model.nv)
        q1 = np.clip(q0 + rng.uniform(-1, 1, model.nv), low + MARGIN, high - MARGIN)
        X_WT = model.pose(q1)
        way = np.linalg.norm(X_WT.p - model.pose(q0).p)
        if 0.1 < way / capability(model)[0] < 0.7 and _passable(model, rows, q0, X_WT):
            return q0, X_WT


def _passable(model: RobotModel, rows: list[int], q: Array, X_WT: Pose) -> bool:
    """Whether inverse kinematics can follow the straight way within the joint limits."""
    start = model.pose(q)
    e = pose_error(start, X_WT)
    for s in np.linspace(0.0, 1.0, STEPS)[1:]:
        X = Pose(rotation_from_vector(s * e[3:]) @ start.R, start.p + s * e[:3])
        for _ in range(30):
            left = pose_error(model.pose(q), X)[rows]
            if np.abs(left).max() < 1e-5:
                break
            J = model.jacobian(q)[rows]
            q = q + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(len(rows)), left)
        else:
            return False
        if (q < model.q_min + MARGIN).any() or (q > model.q_max - MARGIN).any():
            return False
    return True


def reach(model: RobotModel, seed: int, seconds: float = SECONDS, **given: float) -> Outcome:
    """Simulate one pair, with proposed gains; the posture is where the arm starts."""
    p = propose(model, rate_limit=propose_rate_limit(model), posture=(0.0,) * model.nv, **given)
    osc = CompiledOsc(model, p)
    rows = _met(osc.structure.tasks, model.nv)
    q0, X_WT = draw(model, rows, seed)
    osc = CompiledOsc(model, p.replace(posture=tuple(q0)))
    gate = EffortGate(model, GateParameters(rate_limit=propose_rate_limit(model)))
    simulator = MujocoSimulator(model, q0)
    reference, tolerance = Reference(X_WT), POSITION * capability(model)[0]
    peak = moving = 0.0
    reached = np.inf
    steps = round(seconds * 1e3)
    for step in range(steps):
        try:
            output = osc.tick(simulator.q, simulator.v, reference)
            gate.offer(model.joint_names, output.tau.tolist())
            tau = gate.tick(output.state, 1e-3).tau
            simulator.step(tau)
        except ArmControlError as error:
            return Outcome(seed, np.nan, np.nan, np.nan, peak, np.inf, f"{type(error).__name__}: {error}")
        peak = max(peak, float(np.abs(tau / model.tau_max).max()))
        e = np.where(np.isin(range(6), rows), output.error, 0.0)
        near = e[:3] @ e[:3] < tolerance**2 and e[3:] @ e[3:] < ORIENTATION**2
        reached = min(reached, step * 1e-3) if near else np.inf
        moving = float(np.linalg.norm(output.state.V_WE[:3]))
        if step * 1e-3 > reached + SETTLED:
            break
    error, angle = (float(np.linalg.norm(part)) for part in (e[:3], e[3:]))
    return Outcome(seed, error, angle, moving, peak, reached, "" if reached < np.inf else _why(model, output, gate))


def _met(levels: tuple[tuple[int, ...], ...], n: int) -> list[int]:
    """Rows of the tasks that an arm of n joints can meet in full, the most important first."""
    rows: list[int] = []
    for level in levels:
        if len(rows) + len(level) <= n:
            rows += level
    return rows


def _why(model: RobotModel, output: object, gate: EffortGate) -> str:
    """What stands in the way where a target was not reached."""
    q, sigma = output.state.q, output.singular_values
    at_limit = np.minimum(q - model.q_min, model.q_max - q) < 0.08
    names = [name for name, at in zip(model.joint_names, at_limit, strict=True) if at]
    found = [f"at the limit of {', '.join(names)}"] if names else []
    found += ["braked: " + gate.reason] if gate.reason else []
    return "; ".join(found) or f"singular values {sigma.round(4).tolist()}"


def reach_of(case: tuple[str, int]) -> Outcome:
    """Simulate a pair of an arm."""
    return reach(arms.load(case[0]), case[1])


def main() -> None:
    """Print a table, and each failure; with ``--json`` write the figures too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first pair")
    parser.add_argument("--arms", nargs="*", default=list(arms.ARMS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures, seeds = {}, range(options.first, options.first + options.pairs)
    results = in_order(reach_of, [(name, seed) for name in options.arms for seed in seeds], options.jobs)
    for name in options.arms:
        outcomes = [next(results) for _ in progress_bar(seeds, name)]
        reached = [o for o in outcomes if not o.why]
        figures[name] = {
            "pairs": len(outcomes),
            "reached": len(reached) / len(outcomes),
            "median_seconds": float(np.median([o.reached_after for o in outcomes])),
            "peak_torque_share": max(o.peak for o in outcomes),
            "diverged": sum(bool(np.isnan(o.error)) for o in outcomes),
        }
        print(name, *(f"{key} {value:.4g}" for key, value in figures[name].items()), sep="   ")
        for o in outcomes:
            if o.why:
                print(f"   {o.seed}: {1e3 * o.error:.2f} mm, {np.degrees(o.angle):.2f} deg left, {o.why}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
