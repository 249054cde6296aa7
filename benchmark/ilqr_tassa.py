"""The two problems of Tassa 2014 with limits in the backward pass and with naive clamping: table of docs/ilqr.md.

python benchmark/ilqr_tassa.py [--seeds N]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from arm_control.optimal import IlqrParameters

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "optimal"))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from any_system import ilqr
from problems import CAR_LIMITS, CAR_START, car, random_linear

MOST = 500


def problem(name: str, seed: int) -> tuple:
    """Dynamics, costs, limits, initial state and controls."""
    rng = np.random.default_rng(seed)
    if name == "car":
        return *car(), CAR_LIMITS, CAR_START, 0.1 * rng.standard_normal((500, 2))
    dynamics, costs, _, _ = random_linear(seed)
    rng = np.random.default_rng(seed + 100)
    return dynamics, costs, np.full(2, 0.6), rng.standard_normal(10), 0.1 * rng.standard_normal((1000, 2))


def main() -> None:
    """Print a row for each problem, seed and kind of limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    print("| problem | seed | limits | iterations | final cost | length of the final state | share at limits |")
    print("|---|---|---|---|---|---|---|")
    for name in ("linear", "car"):
        for seed in range(seeds):
            for limiting in ("box", "clamp"):
                dynamics, costs, limit, x0, us = problem(name, seed)
                p = IlqrParameters(max_iterations=MOST, lambda_start=1.0)
                begin = time.perf_counter()
                result = ilqr(dynamics, costs, len(us), -limit, limit, p, limiting == "clamp").solve(x0, us)
                seconds = time.perf_counter() - begin
                share = ", ".join(f"{x:.0%}" for x in (np.abs(result.us) >= limit).mean(0))
                count = f"{result.iterations}" if result.converged else f"{result.iterations}, not converged"
                row = [name, seed, limiting, count, f"{result.cost:.4f}", f"{np.linalg.norm(result.xs[-1]):.3f}", share]
                print(f"| {' | '.join(map(str, row))} |", flush=True)
                print(f"{name} {seed} {limiting}: {seconds:.0f} s, {result.reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
