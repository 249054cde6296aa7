"""Reaches that iterative LQR plans: what the studywolf blog finds with it, as figures and pictures; no ROS.

python examples/ilqr_reaches.py --pictures docs/pictures

Nothing is random and every number is the model's: the same machine gives the same figures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from reach_pictures import draw_planar, draw_ur5

from arm_control import RobotModel, urdf_path
from arm_control.core import progress_bar
from arm_control.maths import Array
from arm_control.optimal import (
    ArmDynamics,
    Costs,
    Ilqr,
    IlqrParameters,
    IlqrResult,
    Term,
    barrier,
    control_error,
    obstacle_distance,
    position_error,
    state_error,
)
from arm_control.report import straightness

DT, N = 0.01, 100
"""Step of all plans [s], and their number where nothing else is said."""
START, TARGET = np.array([0.75613, 1.8553]), np.array([-0.2, 0.4, 0.0])
"""Of the two-link arm [rad], [m]; the angles are the blog's."""
NEW_TARGETS = np.array(
    [
        *([0.0, 0.45, 0.0], [0.1, 0.45, 0.0], [0.2, 0.45, 0.0]),
        *([0.1, 0.35, 0.0], [-0.1, 0.3, 0.0], [0.2, 0.3, 0.0]),
        *([0.3, 0.3, 0.0], [-0.3, 0.2, 0.0], [0.0, 0.25, 0.0]),
    ]
)
"""What the target may change to [m]; the first of them is drawn."""
START_3, RADIUS_3, TORQUE_3 = np.array([np.pi / 5.5, np.pi / 1.7, np.pi / 6]), 0.4, 1e-4
"""Of the three-link arm: angles, radius of its star [m], and weight of torque, which is 600 times as large here."""
RADIUS, ROTORS = 0.075, 100.0
"""Of the two-link arm's star [m]; inertia on every joint of the heavy arms [kg m^2]."""
HOME, WAY = np.array([0.0, -1.2, 1.2, -1.0, -1.57, 0.0]), np.array([-0.2, 0.28, 0.18])
"""Of the UR5: where it starts [rad], how far its target is from there [m]."""
QUICK, SHARE = 40, 0.3
"""Steps of its reach with tight limits, and the share of its effort limits that it may use."""
WEIGHT, ZONE = 100.0, 0.05
"""Of an obstacle's barrier, per second, and how far from the obstacle it begins [m]."""
PARAMETERS = IlqrParameters(max_iterations=1000)


@dataclass(frozen=True, eq=False)
class Reach:
    """A plan, and what it is for: target [m], an obstacle's centre and radius [m], limits of torque [N m]."""

    model: RobotModel
    plan: IlqrResult
    target: Array
    ball: tuple[Array, float] | None = None
    limit: Array | None = None

    @property
    def p(self) -> Array:
        """Path of the hand, shape (N + 1, 3) [m]."""
        return np.array([self.model.pose(x[: self.model.nv]).p for x in self.plan.xs])

    @property
    def off_line(self) -> float:
        """Largest distance of the path from the straight line to its target, as a share of that line's length."""
        return straightness(self.p, self.target)

    @property
    def clearance(self) -> float:
        """Smallest distance of the hand from the obstacle [m]; below zero it goes through."""
        centre, radius = self.ball or (np.full(3, np.inf), 0.0)
        return float(np.linalg.norm(self.p - centre, axis=1).min() - radius)

    def figures(self) -> dict[str, Any]:
        """What is measured of it."""
        vs, us = self.plan.xs[:, self.model.nv :], self.plan.us
        found = {
            "largest_control": float(np.abs(us).max()),
            "end_error": float(np.linalg.norm(self.p[-1] - self.target)),
            "end_speed": float(np.abs(vs[-1]).max()),
            "largest_speed": float(np.abs(vs).max()),
            "off_line": self.off_line,
            "iterations": self.plan.iterations,
            "cost": self.plan.cost,
            "converged": self.plan.converged,
        }
        if self.ball is not None:
            found["clearance"] = self.clearance
        if self.limit is not None:
            found["largest_share_of_limit"] = float((np.abs(us) / self.limit).max())
            found["knots_at_limit"] = int((np.abs(us) >= self.limit - 1e-9).any(axis=1).sum())
        return found


Reaches = dict[str, Reach]


def main() -> dict[str, Any]:
    """Plan everything, print the figures and draw what is asked for; returns the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pictures", type=Path, help="folder for the pictures; none are drawn by default")
    folder = parser.parse_args().pictures
    done = {study.__name__: study() for study in progress_bar(STUDIES, "planning")}
    stars = {name: star(*arm) for name, arm in progress_bar(arms().items(), "planning stars")}
    found: dict[str, Any] = {name: {key: x.figures() for key, x in reaches.items()} for name, reaches in done.items()}
    found["changed_targets"] = changed_targets()
    found["stars"] = {name: star_figures(reaches) for name, reaches in stars.items()}
    print(json.dumps(found, indent=1))
    if folder is not None:
        draw(folder, done, stars)
    return found


def draw(folder: Path, done: dict[str, Reaches], stars: dict[str, list[Reach]]) -> None:
    """Write both pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    planar = done["steps"], done["running_position"], done["changed_target"]
    draw_planar(folder / "ilqr_planar.png", *planar, stars)
    draw_ur5(folder / "ilqr_ur5.png", done["effort_limits"], done["ur5_obstacle"])
    print(f"wrote {folder / 'ilqr_planar.png'} and {folder / 'ilqr_ur5.png'}")


def steps() -> Reaches:
    """The same reach within 100, 50 and 10 steps."""
    return {str(n): reach(planar2(), START, TARGET, n) for n in (100, 50, 10)}


def running_position() -> Reaches:
    """Distance from the target counted on the way, with three weights."""
    return {f"{w:g}": reach(planar2(), START, TARGET, w_p=w) for w in (0.0, 10.0, 100.0)}


def changed_target(target: Array = NEW_TARGETS[0]) -> Reaches:
    """A target that changes half way: planned anew from where the arm is then, from the old plan and from nothing."""
    half, old = N // 2, planar_reach()
    model = old.model
    solver = Ilqr(ArmDynamics(model, DT), costs(2, target), N, parameters=PARAMETERS)
    warm = solver.solve(old.plan.xs[half], old.plan.shifted(half))
    cold = solver.solve(old.plan.xs[half], np.zeros((N, 2)))
    return {"old": old, "warm": Reach(model, warm, target), "cold": Reach(model, cold, target)}


def changed_targets() -> dict[str, int]:
    """To how many targets the warm start finds a plan that costs less than the cold start's, as much, or more."""
    found = {"less": 0, "as_much": 0, "more": 0}
    for target in NEW_TARGETS:
        reaches = changed_target(target)
        warm, cold = reaches["warm"].plan.cost, reaches["cold"].plan.cost
        found["as_much" if abs(warm - cold) < 0.01 * cold else "less" if warm < cold else "more"] += 1
    return found


def obstacle() -> Reaches:
    """A disc of 4 cm radius on the two-link arm's way, with and without its cost."""
    without = planar_reach()
    ball = without.p[N // 2], 0.04
    aware = reach(planar2(), START, TARGET, extra=(keep_away(*ball),))
    return {name: replace(x, ball=ball) for name, x in (("without", without), ("with", aware))}


def effort_limits() -> Reaches:
    """A UR5's quick reach, without limits and with tight ones."""
    model = ur5()
    limit = SHARE * model.tau_max
    free, limited = reach_ur5(model, QUICK), reach_ur5(model, QUICK, limit)
    return {name: replace(x, limit=limit) for name, x in (("free", free), ("limited", limited))}


def ur5_obstacle() -> Reaches:
    """A ball of 10 cm radius on the way of a UR5's tool, a little below the middle of it."""
    model = ur5()
    without = reach_ur5(model, N)
    way = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(without.p, axis=0), axis=1)))
    ball = without.p[np.searchsorted(way, 0.5 * way[-1])] - [0.0, 0.0, 0.02], 0.1
    aware = reach_ur5(model, N, extra=(keep_away(*ball),))
    return {name: replace(x, ball=ball) for name, x in (("without", without), ("with", aware))}


STUDIES: tuple[Callable[[], Reaches], ...] = (
    steps,
    running_position,
    changed_target,
    obstacle,
    effort_limits,
    ur5_obstacle,
)


def arms() -> dict[str, tuple[RobotModel, Array, float, dict[str, Any]]]:
    """Arms of two and three links: model, angles, radius of the star [m], weights."""
    light = {"w_u": TORQUE_3}
    return {
        "two_links": (planar2(), START, RADIUS, {}),
        "two_links_running": (planar2(), START, RADIUS, {"w_p": 10.0}),
        "three_links": (planar3(), START_3, RADIUS_3, light),
        "third_locked": (planar3(locked=True), START_3[:2], RADIUS_3, light),
        "three_links_heavy": (planar3(ROTORS), START_3, RADIUS_3, light),
        "third_locked_heavy": (planar3(ROTORS, locked=True), START_3[:2], RADIUS_3, light),
    }


def star(model: RobotModel, q: Array, radius: float, weights: dict[str, Any]) -> list[Reach]:
    """Reaches for eight targets about the hand, in the plane of the arm."""
    across = np.eye(3)[model.jacobian(q)[:3].any(axis=1)]
    turns = np.arange(8) * np.pi / 4
    targets = model.pose(q).p + radius * np.column_stack([np.cos(turns), np.sin(turns)]) @ across
    return [reach(model, q, p, **weights) for p in targets]


def star_figures(reaches: list[Reach]) -> dict[str, Any]:
    """What is measured of a star."""
    shares = [x.off_line for x in reaches]
    error = max(x.figures()["end_error"] for x in reaches)
    return {"median_off_line": float(np.median(shares)), "largest_off_line": max(shares), "end_error": error}


def costs(nv: int, target: Array, w_p: float = 0.0, w_u: float = 1.0, extra: tuple[Term, ...] = ()) -> Costs:
    """The blog's: ``(w_u u^2 + w_p e^2) dt`` on the way, ``1e4 (e^2 + v^2)`` at the end."""
    return Costs(
        Term(control_error(np.zeros(nv)), running=2.0 * w_u * DT),
        Term(position_error(target), running=2.0 * w_p * DT, terminal=2e4),
        Term(state_error(np.zeros(2 * nv)), terminal=2e4, scale=[0.0] * nv + [1.0] * nv),
        *extra,
    )


def reach(model: RobotModel, q: Array, target: Array, n: int = N, **weights: Any) -> Reach:
    """Of an arm that nothing pulls down, from rest; the solver begins with no torque."""
    solver = Ilqr(ArmDynamics(model, DT), costs(model.nv, target, **weights), n, parameters=PARAMETERS)
    plan = solver.solve(np.append(q, np.zeros(model.nv)), np.zeros((n, model.nv)))
    return Reach(model, plan, target)


@cache
def planar_reach() -> Reach:
    """The reach of the two-link arm, with which most studies begin."""
    return reach(planar2(), START, TARGET)


def reach_ur5(model: RobotModel, n: int, limit: Array | None = None, extra: tuple[Term, ...] = ()) -> Reach:
    """Of a UR5, from rest; the solver begins with the torque that holds it."""
    x0, target = np.append(HOME, np.zeros(6)), model.pose(HOME).p + WAY
    terms = Costs(
        Term(position_error(target), running=DT, terminal=1e3),
        Term(state_error(x0), running=DT, terminal=1.0, scale=[1e-3] * 6 + [1e-2] * 6),
        Term(control_error(np.zeros(6)), running=1e-4 * DT),
        *extra,
    )
    u_min, u_max = (None, None) if limit is None else (-limit, limit)
    solver = Ilqr(ArmDynamics(model, DT), terms, n, u_min, u_max, PARAMETERS)
    return Reach(model, solver.solve(x0, np.tile(model.gravity(HOME), (n, 1))), target)


def keep_away(centre: Array, radius: float) -> Term:
    """The hand from a ball."""
    return Term(obstacle_distance(centre, radius), running=WEIGHT * DT, form=barrier(ZONE))


def planar2() -> RobotModel:
    """The blog's arm of 0.58 m."""
    return RobotModel.from_urdf(urdf_path("planar2"))


def planar3(rotors: float = 0.0, locked: bool = False) -> RobotModel:
    """The blog's arm of 3.9 m, without gravity as there; its third joint may be locked where it starts."""
    choices: dict[str, Any] = {"joints": ["joint0", "joint1"], "locked": {"joint2": START_3[2]}} if locked else {}
    return RobotModel.from_urdf(urdf_path("planar3"), gravity=[0.0, 0.0, 0.0], armature=rotors, **choices)


def ur5() -> RobotModel:
    """The UR5, with gravity."""
    return RobotModel.from_urdf(urdf_path("ur5"))


if __name__ == "__main__":
    main()
