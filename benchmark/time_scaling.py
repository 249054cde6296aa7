"""Time scaling of paths: time of a call, limits between the points of the grid, duration; beside toppra, in one run.

    python benchmark/time_scaling.py [--json FILE] [--quick] [--paths N]

Paths are splines through six random points. Every motion is checked at 20 places between neighbouring points of its
grid, by Pinocchio: speed, acceleration, torque and speed of the tip, as shares of their limits. toppra takes part where
it is installed, with the same path, grid and limits, its torque from Pinocchio, and both ends of an interval
constrained (its interpolation scheme). It has no limit of the tip's speed: beside it the tip has none.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from measure import medians, processor, versions

# isort: split
import numpy as np
import pinocchio as pin
from pinocchio_calls import PinocchioArm

from arm_control import RobotModel, urdf_path
from arm_control.maths import Array
from arm_control.motion import JointTrajectory, powers, spline_path
from arm_control.planning import FREE, PathLimits, TimeScaler

N = 1000
FINE = 20
CALLS = 10
"""Calls in a block of ours, as a program makes them that plans one motion after the other."""
A_MAX = 15.0
TIP_SPEED = 1.5
MIDDLE = {"ur5": [0.0, -1.4, 1.9, -2.07, -1.57, 0.0], "panda": [0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8]}
SHARE = {"ur5": 0.45, "panda": 0.5}
"""Share of the speed and torque limits in use: so little that torque counts in a good part of the path."""


def paths(name: str, n: int) -> list[JointTrajectory]:
    """Splines through random points."""
    rng = np.random.default_rng(5)
    middle = np.array(MIDDLE[name])
    return [spline_path(middle + rng.uniform(-0.5, 0.5, (6, len(middle)))) for _ in range(n)]


def largest_shares(model: RobotModel, path: JointTrajectory, grid: tuple[Array, Array], limits: PathLimits) -> Array:
    """Speed, acceleration, torque and tip speed over their limits: the largest of a motion, by Pinocchio, shape (4,).

    ``grid`` is s and the square of its speed, which is linear between two points.
    """
    s, x = grid
    arm = PinocchioArm(model)
    tip = arm.tip
    a_max = np.full(model.nv, FREE) if limits.a_max is None else limits.a_max
    largest = np.zeros(4)
    shares = np.linspace(0.0, 1.0, FINE + 2)
    piece = np.clip(np.searchsorted(path.knots, 0.5 * (s[:-1] + s[1:]), side="right") - 1, 0, len(path.pieces) - 1)
    for i, k in enumerate(piece):
        t = s[i] + shares * (s[i + 1] - s[i]) - path.knots[k]
        q, dq, ddq = powers(t) @ path.pieces[k]
        x_t = np.maximum(x[i] + shares * (x[i + 1] - x[i]), 0.0)
        u = (x[i + 1] - x[i]) / (2.0 * (s[i + 1] - s[i]))
        v, a = dq * np.sqrt(x_t)[:, None], dq * u + ddq * x_t[:, None]
        tau = np.array([pin.rnea(arm.model, arm.data, *row) for row in zip(q, v, a, strict=True)])
        J = pin.computeFrameJacobian(arm.model, arm.data, q[0], tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        speeds = [np.linalg.norm(J[:3] @ v[0])]
        if limits.tip_speed < FREE:
            for q_t, v_t in zip(q, v, strict=True):
                pin.forwardKinematics(arm.model, arm.data, q_t, v_t)
                pin.updateFramePlacement(arm.model, arm.data, tip)
                twist = pin.getFrameVelocity(arm.model, arm.data, tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
                speeds.append(np.linalg.norm(twist.linear))
        parts = np.abs(v) / limits.v_max, np.abs(a) / a_max, np.abs(tau) / limits.tau_max
        largest = np.maximum(largest, [*(part.max() for part in parts), max(speeds) / limits.tip_speed])
    return largest


def toppra_solver(
    model: RobotModel, path: JointTrajectory, limits: PathLimits, grid: Array
) -> Callable[[], tuple[Array, Array] | None]:
    """The same problem for toppra; the function returns s and the square of its speed."""
    import toppra
    from scipy.interpolate import PPoly
    from toppra.algorithm import TOPPRA
    from toppra.constraint import (
        DiscretizationType,
        JointAccelerationConstraint,
        JointTorqueConstraint,
        JointVelocityConstraint,
    )

    toppra.setup_logging("ERROR")

    class Way(toppra.interpolator.AbstractGeometricPath):  # type: ignore[misc]
        """The path as toppra reads it."""

        def __init__(self) -> None:
            self._q = PPoly(np.moveaxis(path.pieces[:, ::-1], 1, 0), path.knots)

        dof = property(lambda self: model.nv)
        path_interval = property(lambda self: (path.knots[0], path.knots[-1]))
        waypoints = property(lambda self: (path.knots, self._q(path.knots)))

        def __call__(self, s: Array, order: int = 0) -> Array:
            return self._q(s, order)

    def both(limit: Array) -> Array:
        return np.stack([-limit, limit], axis=1)

    def solve() -> tuple[Array, Array] | None:
        arm = PinocchioArm(model)
        scheme = DiscretizationType.Interpolation
        constraints = [
            JointVelocityConstraint(both(limits.v_max)),
            JointTorqueConstraint(
                lambda q, v, a: pin.rnea(arm.model, arm.data, q, v, a), both(limits.tau_max), np.zeros(model.nv), scheme
            ),
        ]
        if limits.a_max is not None:
            constraints.append(JointAccelerationConstraint(both(limits.a_max), scheme))
        solver = TOPPRA(constraints, Way(), gridpoints=grid, solver_wrapper="seidel")
        _, speed, _ = solver.compute_parameterization(0.0, 0.0)
        return None if speed is None else (grid, speed**2)

    return solve


def duration(grid: tuple[Array, Array]) -> float:
    """Time of a motion [s]."""
    s, speed = grid[0], np.sqrt(grid[1])
    return float((2.0 * np.diff(s) / (speed[:-1] + speed[1:])).sum())


def measure(name: str, n_paths: int, rounds: int) -> dict[str, float]:
    """Figures of one arm."""
    model = RobotModel.from_urdf(urdf_path(name))
    limits = PathLimits.of(model, a_max=A_MAX, tip_speed=TIP_SPEED, share=SHARE[name])
    alike = PathLimits.of(model, a_max=A_MAX, share=SHARE[name])
    torque_only = PathLimits.of(model, share=SHARE[name])
    scaler, beside, torque = (TimeScaler(model, x, N) for x in (limits, alike, torque_only))
    ways = paths(name, n_paths)
    shares, ratios, theirs, times = [], [], [], []
    for way in ways:
        for chosen, bounds in ((scaler, limits), (torque, torque_only)):
            motion = chosen.fastest(way)
            shares.append(largest_shares(model, way, (motion.s, motion.x), bounds))

        def here(way: JointTrajectory = way) -> None:
            for _ in range(CALLS):
                beside.fastest(way)

        contenders = {"here": here}
        if find_spec("toppra"):
            mine = beside.fastest(way)
            solve = toppra_solver(model, way, alike, mine.s)
            result = solve()
            if result is not None:
                ratios.append(mine.duration / duration(result))
                theirs.append(largest_shares(model, way, result, alike)[:3].max())
            contenders["toppra"] = solve
        times.append(medians(contenders, rounds))
    figures = {"ms": 1e3 / CALLS * float(np.median([x["here"] for x in times])), "largest_share": float(np.max(shares))}
    figures |= {
        f"largest_{what}": float(x)
        for what, x in zip(("speed", "acceleration", "torque", "tip"), np.max(shares, axis=0), strict=True)
    }
    if ratios:
        figures |= {
            "toppra_ms": 1e3 * float(np.median([x["toppra"] for x in times])),
            "toppra_largest_share": float(np.max(theirs)),
            "duration_to_toppra_mean": float(np.mean(ratios)),
            "duration_to_toppra_max": float(np.max(ratios)),
            "toppra_solved": float(len(ratios)),
        }
    return figures


def main() -> None:
    """Print the figures; with ``--json`` write them too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="one path: to see that it works")
    parser.add_argument("--paths", type=int, default=10)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'pin', 'toppra', 'llvmlite')}; {N} intervals, {FINE} places in each")
    figures: dict[str, float] = {}
    for name in MIDDLE:
        found = measure(name, 1 if options.quick else options.paths, 1 if options.quick else 21)
        figures |= {f"{name}.{key}": value for key, value in found.items()}
        print(f"\n{name}")
        for key, value in found.items():
            print(f"  {key:26} {value:12.6f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
