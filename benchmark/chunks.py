"""Chunks of a policy, followed: violations of limits, and jerk, error and delay beside what others do with chunks.

python benchmark/chunks.py [--json FILE] [--chunks N | --full]

Streams of 50 chunks for a UR5 and a Panda. `violations` counts moments beyond a limit of speed, acceleration, jerk,
position or torque, at 20 kHz, in hostile streams: intents too fast, jitter, latency, drops, repeats, contradictions,
steps, chunks that are refused. The others follow the same milder streams: 15 to 50 points a second, chunks at 15 Hz
with 30 % jitter, 0 to 300 ms late, 10 % dropped or repeated, each beside the intent by up to 20 mm at 0.5 m.

jtc         JointTrajectoryController, `positions_upsampling` of pull request 2491, ros2_controllers at 94e74de3: a
            cubic spline through the points of a chunk that are not past, at rest at the first and the last; a cubic
            from the present reference to the first point
jtc_joined  the same as pull request 2573 changes it: the spline begins with the present position and velocity
lerobot     LeRobot at 7427f318, `async_inference`: actions of one time step are 0.3 old + 0.7 new; linear in between

`braked` counts streams, of the milder kind, in which the gate of the node `follow` brakes.

Each is written anew from its documented behaviour. Jerk is the third difference of the reference at 1 kHz, the error
the RMS distance from the intent, delayed by the mean delay of the method itself: the one that makes it smallest.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from measure import Contender, processor, take_turns, versions

# isort: split
import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.compiler import Floats, OwnWork, Rows, RunsKernel, compile_procedure, procedure
from arm_control.control import Measurement
from arm_control.controllers import FollowLoopParameters, control_loop
from arm_control.follow import REFUSE, ChunkFollower, ChunkParameters, Script, scripted_chunks
from arm_control.follow.chunk_follower import KNOT_NS
from arm_control.follow.chunk_plan import SplineMemory, read_spline
from arm_control.follow.torque_bound import torque_law, torque_samples
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Box, Obstacle, Pose, quaternion_from_rotation
from arm_control.motion import Chunk, ChunkGoal, PoseChunk, powers
from arm_control.simulation import MujocoSimulator

MS = 1_000_000
CHUNKS = 50
"""Chunks in a stream."""
HOME = {"ur5": (0.0, -1.4, 1.9, -2.07, -1.5708, 0.0), "panda": (0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.7)}
OFFSET = 0.04
"""Largest contradiction, 20 mm at 0.5 m [rad]."""
DENSE = 50_000
"""Time between two moments at which limits are checked [ns]: 20 in a millisecond."""
SLACK = 1e-6
"""Excess over a limit that is rounding, as a share of it."""


class Stream(NamedTuple):
    """Chunks with the times at which they come [ns], and the intent behind them: a function of time [s]."""

    home: Array
    chunks: list[tuple[int, Chunk]]
    intent: Callable[[Array], Array]


def mild(arm: str, seed: int) -> Stream:
    """A stream of a policy that means what can be done."""
    rng, home = np.random.default_rng(seed), np.array(HOME[arm])
    n = len(home)
    rates, phases = rng.uniform(0.3, 2.5, (3, n)), rng.uniform(0.0, 6.3, (3, n))
    sizes = rng.uniform(0.0, 0.25, (3, n)) / rates

    def intent(t: Array) -> Array:
        return home + (sizes * (np.sin(rates * t[..., None, None] + phases) - np.sin(phases))).sum(axis=-2)

    point_rate = float(rng.choice([15.0, 30.0, 50.0]))
    script = Script(point_rate=point_rate, n_points=int(point_rate * rng.uniform(0.6, 1.2)), offset=OFFSET)
    return Stream(home, scripted_chunks(intent, CHUNKS / script.rate, seed, script), intent)


def hostile(arm: str, seed: int, model: RobotModel) -> Stream:
    """A stream of a policy that asks for anything."""
    rng, home = np.random.default_rng(seed), np.array(HOME[arm])
    n, speed = len(home), rng.uniform(0.5, 6.0, len(home))
    size, phase = rng.uniform(0.0, rng.choice([0.2, 1.0]), n), rng.uniform(0.0, 6.3, n)

    def intent(t: Array) -> Array:
        points = home + size * (np.sin(speed * t[:, None] + phase) - np.sin(phase))
        points += rng.normal(0.0, rng.choice([0.0, 0.01, 0.05]), points.shape)
        if rng.uniform() < 0.1:
            points[int(rng.integers(len(points))) :] += rng.uniform(-0.4, 0.4)
        if rng.uniform() < 0.02:
            points[0, 0] = rng.choice([np.nan, np.inf, 9.0])
        return np.clip(points, model.q_min, model.q_max)

    script = Script(rng.uniform(10.0, 50.0), rng.uniform(10.0, 100.0), int(rng.integers(1, 51)), offset=0.1)
    chunks = scripted_chunks(intent, CHUNKS / script.rate, seed, script)
    torn = [(t, Chunk(c.stamp_ns, np.cumsum(rng.uniform(0.1, 2.0, len(c.times))) / script.point_rate, c.positions))
            for t, c in chunks]  # fmt: skip
    return Stream(home, torn if rng.uniform() < 0.3 else chunks, intent)


# -- limits of ours --------------------------------------------------------------------------------------


class Check(NamedTuple):
    """A plan, read at many moments, and speed, acceleration, jerk and torque as shares of their limits."""

    spline: SplineMemory
    run: RunsKernel
    q: Floats
    v: Floats
    a: Floats
    tau: Floats
    before: Floats
    limits: Rows
    times: Floats
    worst: Floats


@procedure
def check(c: Check) -> float:
    """Read the plan from a time on, in steps; the acceleration before is that of the moment before."""
    s = c.spline
    for i in range(int(c.times[2])):
        s.t[0] = c.times[0] + c.times[1] * i
        read_spline(s)
        for j in range(s.n):
            c.q[j] = s.q[j]
            c.v[j] = s.v[j]
            c.a[j] = s.a[j]
        c.run()
        beyond = 0.0
        for j in range(s.n):
            jerk = abs(s.a[j] - c.before[j]) / c.times[1]
            c.worst[0] = max(c.worst[0], abs(s.v[j]) / c.limits[0, j])
            c.worst[1] = max(c.worst[1], abs(s.a[j]) / c.limits[1, j])
            c.worst[2] = max(c.worst[2], jerk / c.limits[2, j])
            c.worst[3] = max(c.worst[3], abs(c.tau[j]) / c.limits[3, j])
            c.before[j] = s.a[j]
            is_in = s.q[j] >= c.limits[4, j] - 1e-8 and s.q[j] <= c.limits[5, j] + 1e-8
            beyond = beyond if is_in else 1.0
        for k in range(4):
            beyond = beyond if c.worst[k] <= 1.0 + SLACK else 1.0
        c.worst[4] += beyond
        c.worst[5] += 1.0
    return 0.0


def violations(arm: str, n_streams: int, first: int) -> dict[str, float]:
    """Check the limits of hostile streams at 20 kHz."""
    model = RobotModel.from_urdf(urdf_path(arm))
    kernel = OwnWork(model.compile_law(torque_law(model), torque_samples(model)))
    binds = compile_procedure(check)
    counts, worst = {"pass": 0, "slew": 0, "refuse": 0}, np.zeros(6)
    for k in range(n_streams):
        rng, stream = np.random.default_rng(first + k), hostile(arm, first + k, model)
        p = ChunkParameters(
            follow_speed=rng.uniform(0.1, 1.0),
            follow_acceleration=rng.uniform(2.0, 15.0),
            follow_jerk=10.0 ** rng.uniform(1.5, 3.5),
            join_time=rng.uniform(0.12, 0.6),
            newest_weight=rng.choice([1.0, 0.7]),
            max_jump=rng.uniform(0.2, 1.5),
        )
        f = ChunkFollower(model, p, stream.home, 0)
        m, n = f._memory, model.nv
        rows = p.follow_speed * model.v_max, [p.follow_acceleration] * n, [p.follow_jerk] * n
        limits = np.array([*rows, p.follow_torque * model.tau_max, model.q_min, model.q_max])
        spline = SplineMemory(m.plan, np.zeros(1), *np.zeros((3, n)), KNOT_NS / 1e9, m.capacity - 4, n)
        inputs = [kernel.inputs[name] for name in ("q", "v", "a")]
        times, moment = np.array([0.0, DENSE / 1e9, 0.0]), 0
        kernel.inputs["tool"][:] = model.tool
        run = binds(Check(spline, kernel, *inputs, kernel.outputs["tau"], np.zeros(n), limits, times, worst))
        for now_ns, chunk in [*stream.chunks, (stream.chunks[-1][0] + 3_000 * MS, stream.chunks[0][1])]:
            moments = -(-now_ns // DENSE)
            times[0], times[2] = (moment * DENSE - f._base_ns) / 1e9, moments - moment
            run()
            moment = moments
            f.take(chunk, moment * DENSE)
        counts = {band: counts[band] + number for band, number in f.counts.items()}
    names = ("worst_speed", "worst_acceleration", "worst_jerk", "worst_torque", "violations", "moments")
    return dict(zip(names, worst.tolist(), strict=True)) | {f"n_{band}": float(x) for band, x in counts.items()}


# -- what others do ------------------------------------------------------------------------------------


def upsampled(times: Array, q: Array, v_first: Array | float = 0.0) -> Array:
    """Velocities at the points of a cubic spline that ends at rest, (k, n): continuous second derivatives."""
    k, gaps = len(times), np.diff(times)
    system, right = np.eye(k), np.zeros_like(q)
    right[0] = v_first
    for i in range(1, k - 1):
        before, behind = 1.0 / gaps[i - 1], 1.0 / gaps[i]
        system[i, i - 1 : i + 2] = before, 2.0 * (before + behind), behind
        right[i] = 3.0 * ((q[i + 1] - q[i]) * behind**2 + (q[i] - q[i - 1]) * before**2)
    return np.linalg.solve(system, right)


def hermite(times: Array, q: Array, v: Array, t: Array) -> tuple[Array, Array]:
    """Positions and velocities of cubics between states, shape (len(t), n) each; at rest behind the last one."""
    i = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    T, D = (times[i + 1] - times[i])[:, None], q[i + 1] - q[i]
    c = [q[i], v[i], 3 * D / T**2 - (2 * v[i] + v[i + 1]) / T, -2 * D / T**3 + (v[i] + v[i + 1]) / T**2]
    rows = powers(np.minimum(t, times[-1]) - times[i])[..., :4]
    found = [sum(row[:, k, None] * c[k] for k in range(4)) for row in rows[:2]]
    return found[0], np.where((t >= times[-1])[:, None], 0.0, found[1])


def jtc(stream: Stream, ticks: Array, is_joined: bool = False) -> Array:
    """Reference of JointTrajectoryController; the policy's client leaves out the points of the past."""
    knots, q, v = np.array([0.0, 1.0]), np.tile(stream.home, (2, 1)), np.zeros((2, len(stream.home)))
    out, begin = [], 0
    for now_ns, chunk in [*stream.chunks, (int(ticks[-1] * 1e9) + MS, None)]:
        end = int(np.searchsorted(ticks, now_ns / 1e9))
        out.append(hermite(knots, q, v, ticks[begin:end])[0])
        begin = end
        if chunk is None or end >= len(ticks):
            break
        now = ticks[end]
        times = chunk.stamp_ns / 1e9 + chunk.times
        ahead = times > now + 0.5 * chunk.times[0]
        if ahead.sum() < 2:
            continue
        q_now, v_now = hermite(knots, q, v, np.array([now]))
        knots, q = np.concatenate([[now], times[ahead]]), np.vstack([q_now, chunk.positions[ahead]])
        v = upsampled(knots, q, v_now[0]) if is_joined else np.vstack([v_now, upsampled(knots[1:], q[1:])])
    return np.vstack(out)


def jtc_joined(stream: Stream, ticks: Array) -> Array:
    """The same with a spline that begins as the reference goes."""
    return jtc(stream, ticks, is_joined=True)


def lerobot(stream: Stream, ticks: Array) -> Array:
    """Reference of LeRobot's client: a queue of actions by time step, one executed in each."""
    step = float(stream.chunks[0][1].times[0])
    waiting, executed, latest = {}, [stream.home], 0
    chunks = iter([*stream.chunks, (2**62, None)])
    now_ns, chunk = next(chunks)
    for k in range(1, int(ticks[-1] / step) + 2):
        while now_ns / 1e9 < k * step:
            first = round(chunk.stamp_ns / 1e9 / step) + 1
            new = {first + i: q for i, q in enumerate(chunk.positions) if first + i > latest}
            waiting = {i: 0.3 * waiting[i] + 0.7 * q if i in waiting else q for i, q in new.items()}
            now_ns, chunk = next(chunks)
        latest = k if k in waiting else latest
        executed.append(waiting.pop(k, executed[-1]))
    grid = step * np.arange(len(executed))
    return np.stack([np.interp(ticks, grid, column) for column in np.array(executed).T], axis=-1)


def linear(stream: Stream, ticks: Array) -> Array:
    """Reference of the newest chunk as it comes, straight between its points."""
    out, newest = np.empty((len(ticks), len(stream.home))), None
    chunks = iter([*stream.chunks, (2**62, None)])
    now_ns, chunk = next(chunks)
    for i, t in enumerate(ticks):
        while now_ns / 1e9 <= t:
            newest, (now_ns, chunk) = chunk, next(chunks)
        at = None if newest is None else t - newest.stamp_ns / 1e9
        out[i] = stream.home if at is None else [np.interp(at, newest.times, x) for x in newest.positions.T]
    return out


def ours(stream: Stream, ticks: Array, model: RobotModel, p: ChunkParameters) -> Array:
    """Reference of a chunk follower."""
    f, out, counts = ChunkFollower(model, p, stream.home, 0), [], iter([*stream.chunks, (2**62, None)])
    now_ns, chunk = next(counts)
    for t in np.round(ticks * 1e9).astype(int):
        while now_ns <= t:
            f.take(chunk, int(t))
            now_ns, chunk = next(counts)
        out.append(f.at(int(t)).q_des)
    return np.array(out)


class Tracking(NamedTuple):
    """Third differences [rad/s^3], squares of errors at each delay [rad^2], and their number."""

    jerks: list[Array]
    squares: Array
    n: int


DELAYS = np.arange(-50, 251, 5)
"""Delays among which the mean delay of a method is sought [ms]."""


OURS = {
    f"ours_{1e3 * T:.0f}_{100 * w:.0f}": ChunkParameters(join_time=T, newest_weight=w)
    for T, w in ((0.15, 0.5), (0.3, 1.0), (0.3, 0.5), (0.3, 0.3), (0.45, 0.5))
}
"""Followers by join time [ms] and weight of the newest chunk [%]."""
BEST = "ours_300_50"
"""The one that others are compared with."""


def compare(n_streams: int) -> dict[str, float]:
    """Jerk, error and delay of all methods in the same streams."""
    models = {arm: RobotModel.from_urdf(urdf_path(arm)) for arm in HOME}
    methods: dict[str, Any] = {"jtc": jtc, "jtc_joined": jtc_joined, "lerobot": lerobot, "linear": linear, **OURS}
    found: dict[str, Tracking] = {name: Tracking([], np.zeros(len(DELAYS)), 0) for name in methods}
    for k in range(n_streams):
        arm = list(HOME)[k % 2]
        stream = mild(arm, k)
        ticks = np.arange(0, stream.chunks[-1][0] // MS) / 1e3
        meant, kept = stream.intent(ticks - DELAYS[:, None] / 1e3), ticks > 0.6  # behind the first join
        for name, method in methods.items():
            if isinstance(method, ChunkParameters):
                q = ours(stream, ticks, models[arm], method)
            else:
                q = method(stream, ticks)
            jerk = np.abs(np.diff(q, 3, axis=0)[kept[3:]]) * 1e9
            squares = ((q - meant)[:, kept] ** 2).sum(axis=(1, 2))
            old = found[name]
            found[name] = Tracking(
                [*old.jerks, jerk.ravel()], old.squares + squares, old.n + int(kept.sum()) * q.shape[1]
            )
    return dict(_figures(found))


def _figures(found: dict[str, Tracking]) -> Iterator[tuple[str, float]]:
    jerks = {name: float(np.percentile(np.concatenate(t.jerks), 99.9)) for name, t in found.items()}
    for name, t in found.items():
        best = int(t.squares.argmin())
        yield f"jerk_{name}", jerks[name]
        yield f"error_mrad_{name}", 1e3 * float(np.sqrt(t.squares[best] / t.n))
        yield f"delay_ms_{name}", float(DELAYS[best])
    for other in ("jtc", "jtc_joined", "lerobot"):
        yield f"jerk_vs_{other}", jerks[BEST] / jerks[other]


def check_upsampling() -> None:
    """Hold the spline of JointTrajectoryController against the numbers of its own unit tests."""
    v = upsampled(np.array([0.0, 0.1, 0.2]), np.array([[0.0], [0.1], [0.3]]))[:, 0]
    np.testing.assert_allclose(v, [0.0, 2.25, 0.0], atol=1e-9)
    np.testing.assert_allclose(upsampled(np.array([0.0, 0.1]), np.array([[0.0], [0.5]])), 0.0, atol=1e-9)
    times = 0.1 * np.arange(7)
    q = np.stack([0.1 + 0.4 * np.sin(np.pi * times), 0.5 - times], axis=-1)
    v, D, T = upsampled(times, q), np.diff(q, axis=0), 0.1
    arrive, leave = (2 * v[:-1] + 4 * v[1:] - 6 * D / T) / T, (6 * D / T - 4 * v[:-1] - 2 * v[1:]) / T
    np.testing.assert_allclose(arrive[:-1], leave[1:], atol=1e-6)


# -- the gate ------------------------------------------------------------------------------------------


def brakes(n_streams: int) -> dict[str, float]:
    """Streams of a UR5 in MuJoCo, 2 s each, in which the gate brakes; and the largest joint error [rad]."""
    model, braked, error = RobotModel.from_urdf(urdf_path("ur5")), 0, 0.0
    for seed in range(n_streams):
        stream = mild("ur5", seed)
        loop, simulator = control_loop(model, FollowLoopParameters()), MujocoSimulator(model, stream.home)
        for now_ns, chunk in stream.chunks:
            loop.controller.add(ChunkGoal(now_ns, chunk))
        for k in range(2000):
            result = loop.tick(Measurement(k * MS, simulator.q, simulator.v, 1e-3 if k else 0.0, k == 0))
            simulator.step(result.gate.tau)
            error = max(error, result.law.figures()["joint_error"])
        braked += not result.gate.is_passing
    return {"streams": float(n_streams), "braked": float(braked), "joint_error": error}


def hit(stiffness: float) -> float:
    """Largest force on a table that the hand hits at 0.3 m/s, sent 20 mm into it, at a stiffness of a unit mass [N]."""
    model, q = RobotModel.from_urdf(urdf_path("ur5")), np.array(HOME["ur5"])
    X, ik, times = model.pose(q), InverseKinematics(model), np.arange(1, 31) / 30.0
    table = Obstacle(Box((1.0, 1.0, 0.1)), Pose(np.eye(3), X.p - [0.0, 0.0, 0.15]), np.zeros(6))
    depths = np.linspace(0.0, 0.12, 49)
    joints = np.array([ik.solve(Pose(X.R, X.p - [0.0, 0.0, depth]), q).q for depth in depths])
    loop = control_loop(model, FollowLoopParameters.from_mapping({"kp": stiffness}))
    simulator, force = MujocoSimulator(model, q, solids=(table,)), 0.0
    for k in range(1500):
        if k % 66 == 0:
            t = np.clip((k - 50) / 1e3 + times - 0.3, 0.0, 0.4)
            positions = np.stack([np.interp(0.3 * t, depths, column) for column in joints.T], axis=-1)
            loop.controller.add(ChunkGoal(k * MS, Chunk((k - 50) * MS, times, positions)))
        result = loop.tick(Measurement(k * MS, simulator.q, simulator.v, 1e-3 if k else 0.0, k == 0))
        simulator.step(result.gate.tau)
        force = max(force, float(np.linalg.norm(simulator.contact_wrench[:3])))
    return force


# -- time ------------------------------------------------------------------------------------------------


def times() -> dict[str, float]:
    """Median time to take and join a chunk of 50 points and 7 joints, also with the torque's bound; of a tick [us]."""
    model, t = RobotModel.from_urdf(urdf_path("panda")), np.arange(1, 51) / 50.0
    home, figures = np.array(HOME["panda"]), {}
    for name, share in (("join_us", 0.0), ("join_torque_us", 0.8)):
        f, taken = ChunkFollower(model, ChunkParameters(follow_torque=share), home, 0), []
        for k in range(1, 1001):
            now_ns = 20 * k * MS
            points = home + 0.1 * np.sin(2.0 * (now_ns / 1e9 + t))[:, None] + 0.02 * np.sin(7 * k)
            chunk = Chunk(now_ns - 5 * MS, t, points)
            begin = perf_counter()
            report = f.take(chunk, now_ns)
            taken.append(perf_counter() - begin)
            if report.band == REFUSE:
                raise SystemExit(report.reason)
        figures[name] = 1e6 * median(taken)
    figures["join_poses_us"] = pose_time()
    ticks = Contender(f.at, [(now_ns + k * MS,) for k in range(1000)])
    return figures | {"tick_us": take_turns({"tick": ticks}, 30)["tick"].median}


def pose_time() -> float:
    """Median time to take and join a chunk of 50 poses of a UR5, with the torque's bound [us]."""
    model, t = RobotModel.from_urdf(urdf_path("ur5")), np.arange(1, 51) / 50.0
    home, taken = np.array(HOME["ur5"]), []
    f, X = ChunkFollower(model, ChunkParameters(), home, 0), model.pose(home)
    quat = quaternion_from_rotation(X.R)
    for k in range(1, 301):
        now_ns = 20 * k * MS
        rows = [[*X.p + [0.0, 0.1 * np.sin(2.0 * (now_ns / 1e9 + s)), 0.0], *quat] for s in t]
        chunk = PoseChunk(now_ns - 5 * MS, t, np.array(rows))
        begin = perf_counter()
        report = f.take(chunk, now_ns)
        taken.append(perf_counter() - begin)
        if report.band == REFUSE:
            raise SystemExit(report.reason)
    return 1e6 * median(taken)


def main() -> None:
    """Print the figures, and write them as JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--full", action="store_true", help="10^6 chunks")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    n = (1_000_000 if options.full else options.chunks) // CHUNKS
    check_upsampling()
    figures: dict[str, float] = {}
    for arm in HOME:
        for key, value in violations(arm, -(-n // 2), 0).items():
            old = figures.get(key, 0.0)
            figures[key] = max(old, value) if key.startswith("worst") else old + value
    figures |= compare(min(n, 60)) | brakes(10_000 if options.full else min(n, 100)) | times()
    figures |= {f"hit_{kp:g}": hit(kp) for kp in (25.0, 100.0, 400.0, 10_000.0)}
    for key, value in figures.items():
        print(f"{key:24} {value:.4g}")
    print(f"{processor()}; {versions('numpy', 'llvmlite')}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
