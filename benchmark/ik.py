"""Inverse kinematics: success and time for poses of random postures, beside other solvers that are installed.

python benchmark/ik.py [--json FILE] [--quick]

Each of five seeds draws 10,000 postures within the limits; their poses are to be reached within the limits, from the
middle of the limits, to 1e-5 in every component. Every answer is checked by forward kinematics. No seed was used to
choose a setting. Solvers take turns, block by block of poses; each has one thread, and its time is that of the
processor in its fastest block. EAIK, dynibo and Pinocchio are measured where they can be imported.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import measure
import numpy as np
from measure import Contender
from pinocchio_calls import EXAMPLES

from arm_control import Pose, RobotModel, urdf_path
from arm_control.kinematics import IkResult, InverseKinematics
from arm_control.maths import Array, quaternion_from_rotation, wrap_angle

TOLERANCE = 1e-5
SEEDS = (101, 102, 103, 104, 105)
ARMS = {
    "ur5": (urdf_path("ur5"), "tool0"),
    "ur10": (EXAMPLES / "ur_description" / "urdf" / "ur10_robot.urdf", "tool0"),
    "panda": (urdf_path("panda"), None),
    "xarm7": (EXAMPLES / "xarm_description" / "urdf" / "xarm7.urdf", "link7"),
    "ur4": (urdf_path("ur4"), None),
    "so101": (EXAMPLES / "so_arm_description" / "urdf" / "so101.urdf", None),
    "jaco": (EXAMPLES / "kinova_description" / "robots" / "kinova.urdf", "j2s6s200_end_effector"),
}
"""Robots; ur10, xarm7, so101 and jaco from example-robot-data. Those of four and five joints: the rows they serve."""


class Sizes(NamedTuple):
    """How much is measured: poses of a seed, seeds, poses that are solved singly, repetitions."""

    poses: int
    seeds: int
    singles: int
    rounds: int


FULL, QUICK = Sizes(10_000, 5, 2_000, 7), Sizes(200, 1, 50, 2)
Figures = dict[str, Any]
Solver = Callable[[Pose], Array | None]


def fastest_blocks(contenders: Mapping[str, Contender], rounds: int) -> dict[str, float]:
    """Microseconds of processor time of a call, in the fastest of some blocks; contenders take turns."""
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, (function, arguments) in contenders.items():
            begin = time.process_time_ns()
            for values in arguments:
                function(*values)
            best[name] = min(best[name], 1e-3 * (time.process_time_ns() - begin) / len(arguments))
    return best


def random_poses(model: RobotModel, n: int, seed: int) -> tuple[Array, list[Pose]]:
    """Postures within the limits, whole turns for joints without, and their poses."""
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    is_limited = np.isfinite(model.q_min)
    low, high = np.where(is_limited, model.q_min, low), np.where(is_limited, model.q_max, high)
    qs = np.random.default_rng(seed).uniform(low, high, (n, model.nq))
    results = model.batch("R_WE", "p_WE")(qs)
    return qs, [Pose(R, p) for R, p in zip(results["R_WE"].copy(), results["p_WE"].copy(), strict=True)]


def is_reached(model: RobotModel, q: Array, poses: Sequence[Pose]) -> Array:
    """Which postures are at their poses, within the limits."""
    results = model.batch("R_WE", "p_WE")(q)
    R, p = np.array([X.R for X in poses]), np.array([X.p for X in poses])
    turn = R @ results["R_WE"].transpose(0, 2, 1)
    angles = (
        np.stack([turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], 1) / 2
    )
    error = np.abs(np.concatenate([p - results["p_WE"], angles], axis=1)).max(axis=1)
    is_turned = np.trace(turn, axis1=1, axis2=2) < 2.0
    return (error <= TOLERANCE) & ~is_turned & ((q >= model.q_min) & (q <= model.q_max)).all(axis=1)


def are_rows_reached(ik: InverseKinematics, q: Array, poses: Sequence[Pose]) -> Array:
    """The same for an arm that serves some rows only."""
    errors = np.array([np.abs(ik.error(x, X)).max() for x, X in zip(q, poses, strict=True)])
    return (errors <= TOLERANCE) & ((q >= ik.q_min) & (q <= ik.q_max)).all(axis=1)


def success(model: RobotModel, ik: InverseKinematics, sizes: Sizes) -> Figures:
    """Share of poses that are reached, every failure, and time of a batch."""
    rates, times, failures = [], [], []
    for seed in SEEDS[: sizes.seeds]:
        qs, poses = random_poses(model, sizes.poses, seed)
        begin = time.process_time()
        batch = ik.solve_batch(poses)
        times.append(time.process_time() - begin)
        is_good = (
            is_reached(model, batch.q, poses) if len(ik.rows.numbers) == 6 else are_rows_reached(ik, batch.q, poses)
        )
        is_good &= batch.converged
        rates.append(float(is_good.mean()))
        failures += [{"seed": seed, "q": qs[i].tolist()} for i in np.flatnonzero(~is_good)]
    return {
        "success": float(np.mean(rates)),
        "failures": failures,
        "batch_ms": 1e3 * median(times),
        "batch_us_per_pose": 1e6 * median(times) / sizes.poses,
    }


def single(model: RobotModel, ik: InverseKinematics, sizes: Sizes) -> Figures:
    """Time of one pose from Python: of the best of a few calls for each, with all starts and with eight."""
    _, poses = random_poses(model, sizes.singles, SEEDS[0])
    figures: Figures = {}
    for name, solver in (("single", ik), ("single8", InverseKinematics(model, tolerance=TOLERANCE, n_starts=8))):
        best = np.full(len(poses), np.inf)
        solver.solve(poses[0])
        results: list[IkResult] = []
        for _ in range(3):
            results = []
            for i, pose in enumerate(poses):
                begin = time.perf_counter_ns()
                results.append(solver.solve(pose))
                best[i] = min(best[i], 1e-3 * (time.perf_counter_ns() - begin))
        done = np.array([result.converged for result in results])
        figures |= {
            f"{name}_us": float(np.median(best)),
            f"{name}_p98_us": float(np.quantile(best, 0.98)),
            f"{name}_max_us": float(best.max()),
            f"{name}_success": float(done.mean()),
        }
    return figures


def branches(model: RobotModel, ik: InverseKinematics, sizes: Sizes) -> Figures:
    """Time of all postures of a pose, and whether they are as many as EAIK finds."""
    if model.nq != 6:
        return {}
    _, poses = random_poses(model, sizes.singles, SEEDS[0])
    contenders = {"all": Contender(ik.all, [(pose,) for pose in poses])}
    eaik = eaik_solver(model)
    if eaik:
        matrices = [(pose.matrix(),) for pose in poses]
        contenders["eaik_all"] = Contender(eaik, matrices)
    figures: Figures = {f"{name}_us": us for name, us in fastest_blocks(contenders, sizes.rounds).items()}
    if eaik:
        numbers = [
            (len(ik.all(pose)), _number(eaik(matrix), model)) for pose, (matrix,) in zip(poses, matrices, strict=True)
        ]
        figures |= {"all_as_many_as_eaik": sum(a == b for a, b in numbers), "all_poses": len(numbers)}
        figures |= {"all_found": sum(a for a, _ in numbers), "eaik_found": sum(b for _, b in numbers)}
    return figures


def _number(solution: Any, model: RobotModel) -> int:
    """Exact solutions of EAIK that are within the limits, perhaps some turns away; equal ones counted once."""
    distinct: list[Array] = []
    for q in (
        np.asarray(q) for q, is_approximate in zip(solution.Q, solution.is_LS, strict=True) if not is_approximate
    ):
        turns = np.where(np.isfinite(model.q_min), np.ceil((model.q_min - q) / (2.0 * np.pi)), 0.0)
        is_within = (q + 2.0 * np.pi * turns <= model.q_max).all()
        if is_within and all(np.abs(wrap_angle(q - x)).max() > 1e-3 for x in distinct):
            distinct.append(q)
    return len(distinct)


def eaik_solver(model: RobotModel) -> Callable[[Array], Any] | None:
    """EAIK's analytic solver of this arm; None where it is not installed."""
    try:
        from eaik.pybindings.EAIK import Robot
    except ImportError:
        return None
    from arm_control.model import State

    state = State(model.tree, {"q": np.zeros(6)})
    axes = np.array([X.R[:, 2] for X in state.X_W]).T
    places = np.array([np.zeros(3), *[X.p for X in state.X_W], state.p_WE], dtype=float)
    robot = Robot(axes, np.diff(places, axis=0).T, np.asarray(state.R_WE, dtype=float), [], True)
    return robot.calculate_IK


def pinocchio_loop(model: RobotModel, starts: Array) -> Solver:
    """The same steps in Python with Pinocchio, from the same starts."""
    import pinocchio as pin
    from pinocchio_calls import PinocchioArm

    arm = PinocchioArm(model)
    low, high, eye = model.q_min, model.q_max, np.eye(6)
    home = model.pose(np.zeros(model.nq))
    pin.framesForwardKinematics(arm.model, arm.data, np.zeros(model.nq))
    offset = pin.SE3(home.R, home.p) * arm.data.oMf[arm.tip].inverse()

    def solve(X_WT: Pose) -> Array | None:
        target = offset.inverse() * pin.SE3(X_WT.R, X_WT.p)
        for start in starts:
            q = start.copy()
            for _ in range(20):
                pin.forwardKinematics(arm.model, arm.data, q)
                pin.updateFramePlacement(arm.model, arm.data, arm.tip)
                e = pin.log6(arm.data.oMf[arm.tip].actInv(target)).vector
                if np.abs(e).max() <= 0.9 * TOLERANCE:
                    return q
                J = pin.computeFrameJacobian(arm.model, arm.data, q, arm.tip, pin.LOCAL)
                g = J.T @ e
                J = J * ~(((q <= low) & (g < 0.0)) | ((q >= high) & (g > 0.0)))
                dq = J.T @ np.linalg.solve(J @ J.T + (0.01 * (e @ e) + 1e-10) * eye, e)
                q = np.clip(q + dq * min(1.0, 2.0 / max(np.abs(dq).max(), 1e-9)), low, high)
        return None

    return solve


def dynibo_solver(path: Path, tip: str, starts: Array) -> Solver | None:
    """The solver of dynibo, from the same starts; None where it is not installed."""
    try:
        import dynibo
    except ImportError:
        return None
    robot = dynibo.Robot.from_urdf(str(path))
    link = robot.link_id(tip)
    options = dynibo.IkOptions(max_iterations=30, translation_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE)

    def solve(X_WT: Pose) -> Array | None:
        target = dynibo.Pose(tuple(X_WT.p), tuple(quaternion_from_rotation(X_WT.R)))
        for start in starts:
            try:
                found = robot.inverse_kinematics(start, link, target, options)
            except dynibo.SolverError:
                continue
            return np.asarray(getattr(found, "q", found), dtype=float).ravel()[: len(start)]
        return None

    return solve


def others(path: Path, model: RobotModel, ik: InverseKinematics, sizes: Sizes) -> Figures:
    """Time for a pose of other solvers beside this one, in turns, and the share that they reach."""
    _, poses = random_poses(model, max(20, sizes.singles // 10), SEEDS[1])
    starts = np.ascontiguousarray(ik._search.starts[:, :40].T)
    solvers = {"pinocchio": pinocchio_loop(model, starts), "dynibo": dynibo_solver(path, model.tip, starts)}
    contenders = {"beside": Contender(ik.solve, [(pose,) for pose in poses])}
    contenders |= {name: Contender(solver, [(pose,) for pose in poses]) for name, solver in solvers.items() if solver}
    figures: Figures = {f"{name}_us": us for name, us in fastest_blocks(contenders, 3).items()}
    for name, solver in solvers.items():
        if solver:
            found = [solver(pose) for pose in poses]
            good = [
                q is not None and is_reached(model, q[None], [pose])[0] for q, pose in zip(found, poses, strict=True)
            ]
            figures[f"{name}_success"] = float(np.mean(good))
    return figures


def measure_arm(name: str, sizes: Sizes) -> Figures:
    """All figures of one arm, by name."""
    path, tip = ARMS[name]
    model = RobotModel.from_urdf(path, tip=tip)
    ik = InverseKinematics(model, tolerance=TOLERANCE)
    ik.solve_batch(random_poses(model, 100, 0)[1])
    figures = success(model, ik, sizes) | single(model, ik, sizes) | branches(model, ik, sizes)
    if len(ik.rows.numbers) == 6:
        figures |= others(Path(path), model, ik, sizes)
    else:
        figures["rows"] = str(ik.rows)
    return {f"{name}.{key}": value for key, value in figures.items()}


def main() -> None:
    """Measure and print; write the figures where the option says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    figures: Figures = {
        "cpu": measure.processor(),
        "versions": measure.versions("numpy", "llvmlite", "pin", "eaik", "dynibo"),
        "quick": options.quick,
    }
    print(f"{figures['cpu']}; {figures['versions']}; one thread")
    for name, (path, _) in ARMS.items():
        if not Path(path).is_file():
            print(f"{name}: {path} is not on this machine")
            continue
        measured = measure_arm(name, sizes)
        figures |= measured
        for key, value in measured.items():
            print(f"{key:28} {value:.4g}" if isinstance(value, float) else f"{key:28} {value}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
