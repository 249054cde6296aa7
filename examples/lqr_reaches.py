"""Local LQR beside iterative LQR on the studywolf blog's planar arms: the same cost, steps and limits (none).

python examples/lqr_reaches.py --picture docs/pictures/lqr.png

LQR takes arm and cost for what they are in the present state; ``every`` says after how many steps it does so anew. Its
horizon ends where that of iterative LQR does. Costs are those of the motions that the arm makes, not predicted ones.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from any_system import ArmSystem, UserCosts
from ilqr_reaches import DT, RADIUS, RADIUS_3, START, START_3, TARGET, TORQUE_3, Reach, costs, planar2, planar3, reach

from arm_control import RobotModel
from arm_control.core import progress_bar
from arm_control.maths import Array
from arm_control.optimal import LocalLqr

N = 100
"""Steps of 10 ms."""
EVERY = (1, 5, 20, N)
"""Steps after which LQR is computed anew; N: once."""
FACTORS = (0.5, 1.0, 2.0)
"""Distances of the stars' targets, in units of the blog's."""


@dataclass(frozen=True, eq=False)
class Motion:
    """What the arm does: states (n + 1, 2 nv), controls (n, nv), and the cost of that."""

    xs: Array
    us: Array
    costs: tuple[float, ...]


def lqr_motion(model: RobotModel, q: Array, target: Array, every: int = 1, **weights: Any) -> Motion:
    """The motion of an arm under local LQR, from rest.

    Parameters
    ----------
    model : RobotModel
        The arm.
    q : ndarray, shape (nq,)
        Where it starts [rad].
    target : ndarray, shape (3,)
        Where its hand is to go [m].
    every : int
        Steps after which the gains are computed anew.
    **weights
        Those of the cost.
    """
    n, dynamics, cost = model.nv, ArmSystem(model, DT), costs(model.nv, target, **weights)
    lqr = LocalLqr(dynamics, cost, N)
    xs, us = [np.append(q, np.zeros(n))], []
    for i in range(N):
        if i % every == 0:
            x0, u0, first = xs[-1], model.gravity(xs[-1][:n]), i
            k, K = lqr.gains(x0, u0, N - i)
        us.append(u0 + k[i - first] + K[i - first] @ (xs[-1] - x0))
        xs.append(dynamics.step(xs[-1][None], us[-1][None])[0])
    states, controls = np.array(xs), np.array(us)
    padded = np.vstack([controls, np.zeros((1, n))])
    total = float(UserCosts(others=cost).values(states, padded, cost.weights(N), dynamics.arm).sum())
    return Motion(states, controls, (total,))


def pair(model: RobotModel, q: Array, target: Array, **weights: Any) -> dict[str, Reach]:
    """The same reach by both, LQR computed anew in every step; parameters of :func:`lqr_motion`."""
    motion = lqr_motion(model, q, target, **weights)
    return {"iLQR": reach(model, q, target, N, **weights), "LQR": Reach(model, motion, target)}  # type: ignore[arg-type]


def cost_of(x: Reach) -> float:
    """Cost of a motion."""
    return float(x.plan.costs[-1])


def figures(x: Reach) -> dict[str, float]:
    """Cost, distance from the target at the end [m], largest torque [N m]."""
    end = float(np.linalg.norm(x.p[-1] - x.target))
    return {"cost": cost_of(x), "end_error": end, "largest_control": float(np.abs(x.plan.us).max())}


def _title(every: int) -> str:
    return {1: "LQR, anew in every step", N: "LQR, once"}.get(every, f"LQR, every {every} steps")


def one_reach() -> dict[str, Reach]:
    """The blog's reach of two links: by iterative LQR, and by LQR that is computed anew more and more rarely."""
    model = planar2()
    motions = {_title(every): lqr_motion(model, START, TARGET, every) for every in EVERY}
    reaches = {name: Reach(model, motion, TARGET) for name, motion in motions.items()}  # type: ignore[arg-type]
    return {"iLQR": reach(model, START, TARGET, N), **reaches}


def stars() -> dict[str, dict[float, list[dict[str, Reach]]]]:
    """Reaches for eight targets about the hand of both arms, at several distances, by both."""
    arms = {
        "two links": (planar2(), START, RADIUS, {}),
        "three links": (planar3(), START_3, RADIUS_3, {"w_u": TORQUE_3}),
    }
    turns = np.arange(8) * np.pi / 4
    circle = np.column_stack([np.cos(turns), np.sin(turns)])
    return {
        name: {
            factor: [
                pair(model, q, p, **weights)
                for p in model.pose(q).p + factor * radius * circle @ np.eye(3)[model.jacobian(q)[:3].any(axis=1)]
            ]
            for factor in progress_bar(FACTORS, name)
        }
        for name, (model, q, radius, weights) in arms.items()
    }


def star_figures(pairs: list[dict[str, Reach]]) -> dict[str, float]:
    """How much more LQR costs than iterative LQR, and how much more torque it takes."""
    ratios = [cost_of(both["LQR"]) / cost_of(both["iLQR"]) for both in pairs]
    torques = [np.abs(both["LQR"].plan.us).max() / np.abs(both["iLQR"].plan.us).max() for both in pairs]
    return {
        "median_cost_ratio": float(np.median(ratios)),
        "largest_cost_ratio": max(ratios),
        "median_torque_ratio": float(np.median(torques)),
        "largest_end_error_lqr": max(figures(both["LQR"])["end_error"] for both in pairs),
        "largest_end_error_ilqr": max(figures(both["iLQR"])["end_error"] for both in pairs),
    }


def main() -> dict[str, Any]:
    """Print the figures and draw what is asked for; returns the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--picture", type=Path, help="PNG file to draw; none is drawn by default")
    path = parser.parse_args().picture
    one, drawn = one_reach(), stars()
    found = {
        "one_reach": {name: figures(x) for name, x in one.items()},
        "stars": {name: {f"{f:g}": star_figures(x) for f, x in star.items()} for name, star in drawn.items()},
    }
    print(json.dumps(found, indent=1))
    if path is not None:
        from reach_pictures import draw_lqr  # noqa: PLC0415  only this needs matplotlib

        ratios = {
            name: {f: [cost_of(both["LQR"]) / cost_of(both["iLQR"]) for both in pairs] for f, pairs in star.items()}
            for name, star in drawn.items()
        }
        draw_lqr(path, one, drawn["three links"][1.0], ratios)
        print(f"wrote {path}")
    return found


if __name__ == "__main__":
    main()
