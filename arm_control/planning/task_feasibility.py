"""Postures along a task path, and why a path cannot be followed: what is certain, what samples show, how far it went.

    (1)  the end effector is a point of the last link, rho inside its capsule: at y_d(s) the arm touches every obstacle
         nearer to y_d(s) than rho; with a direction so do points on that axis, with an orientation all of the link
    (2)  the way s(t) is continuous: it passes no place of the path while (1) holds there, at no speed
    (3)  l . J M^-1 (tau - g) = (l . y_d') s_ddot >= 0      at rest at the start, for every l with l . y_d' >= 0
    (4)  l . J M^-1 (tau - g) = s_ddot                      at rest anywhere, for every l with l . y_d' = 1

(1) to (3) are certain: (2) is decided on cells of place and time, and a cell counts as blocked where all of it is. (4)
bounds the acceleration in one posture; the largest bound among random postures is an estimate, as is the time of the
fastest of some ways from the start: limits count as too small only far below what follows from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.collision import is_at_rest, movers_of
from arm_control.kinematics import TWIST_ROWS, InverseKinematics, Search, Task
from arm_control.maths import Array, Pose
from arm_control.model import drawn_range
from arm_control.planning.task_problem import AXES, TURN, TaskConstrainedProblem, TaskPath

LIMIT = 12
"""Largest number of steps of inverse kinematics."""
TOLERANCE = 1e-4
"""Of a posture that a chain is led towards [m]."""
Flags = npt.NDArray[np.bool_]


# -- postures


def new_posture_search(problem: TaskConstrainedProblem) -> Search:
    """Return what finds postures of a problem."""
    model, rows = problem.model, problem.path.task_rows
    task = Task(None, rows, axes_of(problem.path), (False,) * model.nq)
    search = Search(model, task, model.q_min, model.q_max, TOLERANCE, 1)
    search.follow_tool()
    return search


def axes_of(path: TaskPath) -> str:
    """Whose axes the rows of a task path are along: with an orientation all coordinates count, along any axes."""
    return "world" if path.orientation is None else "end_effector"


def postures_near(search: Search, starts: Array, targets: Array) -> tuple[Array, Flags]:
    """Postures near starts, shape (k, n) [rad or m], and whether they are at targets on the path, shape (k, 12)."""
    attempts = search.run(targets, starts, starts, LIMIT)
    return attempts.q.copy(), attempts.is_done


def random_postures(problem: TaskConstrainedProblem, search: Search, targets: Array, rng: np.random.Generator) -> Array:
    """Postures within the limits at targets on the path, shape (k, 12), from random starts, shape (j, n)."""
    model = problem.model
    low, high = drawn_range(model.q_min, model.q_max)
    q, is_done = postures_near(search, rng.uniform(low, high, (len(targets), model.nq)), targets)
    return q[is_done & ((q >= model.q_min) & (q <= model.q_max)).all(axis=1)]


def why_unreachable(problem: TaskConstrainedProblem, levels: int) -> str:
    """Which sample of the path no posture reaches, in a sentence; empty where all are reached."""
    s, path = np.linspace(0.0, 1.0, levels + 1), problem.path
    rows = " ".join(TWIST_ROWS[row] for row in path.task_rows)
    solver = InverseKinematics(problem.model, rows, task_frame=axes_of(path), tolerance=TOLERANCE)
    targets = path.targets(s)
    batch = solver.solve_batch([Pose(target[:9].reshape(3, 3), target[9:]) for target in targets])
    if batch.converged.all():
        return ""
    i = int(np.argmin(batch.converged))
    position = ", ".join(f"{row} = {value:.4g}" for row, value in zip(path.rows, path.at(s[[i]]).y[0], strict=True))
    held = "" if path.orientation is None else " with its orientation"
    return f"the task cannot be held{held} at s = {s[i]:.4g}, {position} m: {batch[i].why}"


# -- obstacles on the path

CELLS, SLABS = 200, 120
"""Cells of the path, and of the time up to the horizon."""
STEEPER = 1.1
"""Factor of the largest derivative of the path among the middles of the cells."""
OFF = 1e-4
"""Distance from the path that motions may have [m]."""
SAME = 1e-9
"""Largest change of a coordinate that counts as constant [m]."""


BlockedCells: TypeAlias = tuple[Array, npt.NDArray[np.int_]]
"""Ends of cells of time, shape (k + 1,) [s]; obstacle for which (1) holds all over a cell, (k, CELLS), -1: none."""


def known_points(problem: TaskConstrainedProblem) -> tuple[Array, Array]:
    """Points for (1): the end effector, those on the axis of a direction, or with an orientation on all capsules.

    Their places on the path are known, p_WT + R_WT c: c, shape (k, 3) [m], and how deep each is inside a capsule of the
    last link, rho of (1), shape (k,) [m].
    """
    model, shape, turned = problem.model, problem.validity.shape, problem.path.orientation
    q, body = np.zeros(model.nq), model.tree.frames[model.tip].body
    X_EW, capsules = model.pose(q).inverse(), []
    for capsule, of in zip(shape.capsules, shape.bodies, strict=True):
        if of == body:
            X = X_EW @ model.pose(q, capsule.link)
            capsules.append((X.R @ capsule.a + X.p, X.R @ capsule.b + X.p, capsule.radius))
    c = [np.zeros((1, 3))]
    if turned is not None:
        ends = [(a, b) for a, b, _ in capsules]
        is_known = np.array([turned.axis in ("", axis) for axis in AXES])
        c += [(a + np.linspace(0.0, 1.0, PLACES)[:, None] * (b - a)) * is_known for a, b in ends]
    points = np.concatenate(c)
    depth = np.full(len(points), -1.0)
    for a, b, radius in capsules:
        share = np.clip((points - a) @ (b - a) / max(float((b - a) @ (b - a)), SAME**2), 0.0, 1.0)
        depth = np.maximum(depth, radius - np.linalg.norm(points - a - share[:, None] * (b - a), axis=1))
    return points[depth >= 0.0], depth[depth >= 0.0]


def positions_on(problem: TaskConstrainedProblem, s: Array) -> Array | None:
    """Positions on the path, shape (k, 3) [m]; None where a coordinate that is not prescribed may change."""
    rng, free = np.random.default_rng(0), [k for k in range(3) if k not in problem.path.numbers]
    p = np.array([problem.model.pose(q).p for q in rng.uniform(-1.0, 1.0, (32 if free else 1, problem.model.nq))])
    if np.ptp(p[:, free], axis=0).max(initial=0.0) > SAME:
        return None
    positions = np.tile(p[0], (len(s), 1))
    positions[:, problem.path.numbers] = problem.path.at(s).y
    return positions


def blocked_cells(problem: TaskConstrainedProblem) -> BlockedCells | None:
    """Where (1) holds for whole cells; None where no point's place in its link or the world is known."""
    s = (np.arange(CELLS) + 0.5) / CELLS
    (c, depth), p = known_points(problem), positions_on(problem, s)
    if not len(c) or p is None:
        return None
    turned, speed = problem.path.orientation, np.linalg.norm(problem.path.at(s).y_s, axis=1).max()
    arms = np.linalg.norm(c, axis=1)
    speeds = speed + (0.0 if turned is None else turned.angle) * arms
    depths = depth - (OFF * (1.0 + arms) + 0.5 / CELLS * STEEPER * speeds)
    places = p[None] if turned is None else p + np.einsum("sij,kj->ksi", turned.at(s), c)
    is_moving = not all(is_at_rest(placed) for placed in problem.obstacles)
    times = np.linspace(0.0, problem.horizon, SLABS + 1) if is_moving else np.array([0.0, problem.horizon])
    by = np.full((len(times) - 1, CELLS), -1)
    for number, placed in enumerate(problem.obstacles):
        for mover in movers_of(placed):
            V, shape = np.asarray(mover.obstacle.V_WO, dtype=float), mover.obstacle.shape
            speed = np.linalg.norm(V[:3]) + shape.extent * np.linalg.norm(V[3:])
            is_there = (times[:-1] >= mover.span.begin) & (times[1:] <= mover.span.end)
            whens = np.flatnonzero(is_there)
            for k in whens.tolist():
                if speed > 0.0 or k == whens[0]:
                    X = mover.at(0.5 * (times[k] + times[k + 1])).X_WO
                    rooms = depths[:, None] - 0.5 * speed * (times[k + 1] - times[k])
                    gaps = np.linalg.norm(places - X.p, axis=2) - shape.extent  # a bound, where that is enough
                    near = gaps < rooms
                    gaps[near] = shape.signed_distance((places[near] - X.p) @ X.R).distance
                    is_in = (gaps < rooms).any(axis=0)
                by[k, is_in] = number
    return times, by


def why_blocked(problem: TaskConstrainedProblem) -> str:
    """Equation (2): which obstacle blocks the path up to the horizon, in a sentence; empty where none is seen to."""
    cells = blocked_cells(problem)
    if cells is None or not (cells[1] >= 0).any():
        return ""
    reached, at = np.arange(CELLS) == 0, np.arange(CELLS)
    for k, by in enumerate(cells[1]):
        blocked_before = np.maximum.accumulate(np.where(by >= 0, at + 1, 0))
        free_run = np.where(by < 0, blocked_before, -1)  # its first cell, for each free cell
        now = (by < 0) & np.isin(free_run, free_run[reached & (by < 0)])
        if now[-1]:
            return ""
        if not now.any():
            number = int(by[np.flatnonzero(reached)[-1]])
            return (
                _swept(float(cells[0][k + 1]), number) if k else f"the begin of the task path lies in obstacle {number}"
            )
        reached = now
    return _stopped(cells[1], int(np.flatnonzero(reached)[-1]), problem.horizon)


def _swept(t: float, number: int) -> str:
    return f"obstacle {number} sweeps over all of the task path that can be reached: at {t:.3g} s no place is left"


def _stopped(cells: npt.NDArray[np.int_], last: int, horizon: float) -> str:
    """What is behind the last cell that is reached up to the horizon."""
    by = cells[-1]
    number, end = int(by[last + 1]), last + 1
    while end < CELLS and by[end] == number:
        end += 1
    always = (cells[:, last + 1 : end] == number).all()
    when = "" if always else f" at the horizon, {horizon:.4g} s"
    if end == CELLS:
        return f"the end of the task path, from s = {(last + 1) / CELLS:.3g} on, lies in obstacle {number}{when}"
    return f"from s = {(last + 1) / CELLS:.3g} to {end / CELLS:.3g} the task path lies in obstacle {number}{when}"


# -- speed and torque

PLACES, SAMPLES = 9, 32
"""Places of the path at which postures are sampled, and starts of inverse kinematics at each."""
DIRECTIONS, SPREAD, SLANT = 200, 10, 0.1
"""Number of vectors l, factor of it in more than three dimensions, and smallest part of them along the path in (4)."""
GOLDEN = np.pi * (3.0 - np.sqrt(5.0))
"""Angle between two points of a spiral that covers a sphere evenly [rad]."""
SURE_TORQUE = 0.5
"""Share of the estimated time below which torque is too small: it leaves out what speed adds to torque."""
TOO_MUCH = 1.0 + 1e-6
"""Smallest share of a torque limit that is too much, with rounding."""


def _postures_at(s: Array, problem: TaskConstrainedProblem, search: Search) -> list[Array]:
    """Random postures (k, n) at places of the path, the same ones for the same problem; the start is one of them."""
    rng = np.random.default_rng(0)
    q = [random_postures(problem, search, np.tile(target, (SAMPLES, 1)), rng) for target in problem.path.targets(s)]
    if problem.q_start is not None:
        q[0] = np.asarray(problem.q_start, dtype=float)[None]
    return q


def _unit_vectors(m: int) -> Array:
    """Directions all around in m dimensions, shape (k, m)."""
    if m == 1:
        return np.array([[1.0], [-1.0]])
    turn = TURN * np.arange(DIRECTIONS) / DIRECTIONS
    if m == 2:
        return np.column_stack([np.cos(turn), np.sin(turn)])
    if m > 3:
        l = np.random.default_rng(0).normal(size=(SPREAD * DIRECTIONS, m))
        return l / np.linalg.norm(l, axis=1)[:, None]
    z = (2.0 * np.arange(DIRECTIONS) + 1.0) / DIRECTIONS - 1.0
    spiral, across = GOLDEN * np.arange(DIRECTIONS), np.sqrt(1.0 - z**2)
    return np.column_stack([across * np.cos(spiral), across * np.sin(spiral), z])


def why_too_weak(problem: TaskConstrainedProblem, search: Search) -> str:
    """Where torque is too small to be at rest, or to get along the path within the horizon; empty where it is not seen.

    Only a dynamic problem has limits of torque.
    """
    if problem.tau_max is None:
        return ""
    model, tau_max, s = problem.model, np.asarray(problem.tau_max), np.linspace(0.0, 1.0, PLACES)
    postures = _postures_at(s, problem, search)
    if problem.q_start is not None and (share := _share_at_start(problem, tau_max)) > TOO_MUCH:
        g = model.gravity(np.asarray(problem.q_start, dtype=float))
        j = int((np.abs(g) / tau_max).argmax())
        return (
            f"torque is too small at the start: '{model.joint_names[j]}' holds {abs(g[j]):.3g} N m or N, allowed are"
            f" {tau_max[j]:.3g}, and any motion from there takes {share:.3g} times a limit or more"
        )
    if not all(len(q) for q in postures):
        return ""
    shares = [np.abs(model.gravity(q)) / tau_max for q in postures[-1]]
    least = min(shares, key=lambda share: float(share.max()))
    if least.max() > 1.0:
        return (
            f"torque is too small at the end: in each of {len(shares)} postures there a joint cannot hold the arm, in"
            f" the best one '{model.joint_names[int(least.argmax())]}' with {least.max():.3g} times its limit"
        )
    rates = [max(_largest_acceleration(problem, x, q, tau_max) for q in qs) for x, qs in zip(s, postures, strict=True)]
    time = 2.0 / np.sqrt(max(rates))
    if problem.horizon < SURE_TORQUE * time:
        return (
            f"torque is too small for the horizon of {problem.horizon:.3g} s: from rest to rest the path takes about"
            f" {time:.3g} s"
        )
    return ""


def _share_at_start(problem: TaskConstrainedProblem, tau_max: Array) -> float:
    """Equation (3): share of the torque limits that every motion from rest at the start takes at least."""
    q = np.asarray(problem.q_start, dtype=float)
    J, y_s = task_rates(problem, q, 0.0)
    l = _unit_vectors(len(y_s))
    by_torque = _accelerations(problem, q, J, l[l @ y_s >= 0.0])
    pull = by_torque @ problem.model.gravity(q)
    return float((pull / (np.abs(by_torque) @ tau_max)).max())


def _largest_acceleration(problem: TaskConstrainedProblem, s: float, q: Array, tau_max: Array) -> float:
    """A bound of s_ddot at rest, by (4) [1/s^2]."""
    J, y_s = task_rates(problem, q, s)
    l = _unit_vectors(len(y_s))
    along = l @ y_s
    is_ahead = along > SLANT * np.linalg.norm(y_s)
    by_torque = _accelerations(problem, q, J, l[is_ahead])
    most = np.abs(by_torque) @ tau_max - by_torque @ problem.model.gravity(q)
    return float((most / along[is_ahead]).min())


def task_rates(problem: TaskConstrainedProblem, q: Array, s: float) -> tuple[Array, Array]:
    """Jacobian of the prescribed rows in a posture, shape (m, n), and their derivatives by s there, shape (m,)."""
    path, J = problem.path, problem.model.jacobian(q)
    J_p, y_s = J[path.numbers], path.at([s]).y_s[0]
    if path.orientation is None:
        return J_p, y_s
    R_EW, axes = problem.model.pose(q).R.T, [row - 3 for row in path.orientation.rows]
    turn = R_EW @ path.orientation.turn
    return np.concatenate([J_p, (R_EW @ J[3:])[axes]]), np.concatenate([y_s, turn[axes]])


def _accelerations(problem: TaskConstrainedProblem, q: Array, J: Array, l: Array) -> Array:
    """Rows l J M^-1 for vectors l, shape (k, m)."""
    return np.asarray(l @ np.linalg.solve(problem.model.mass_matrix(q), J.T).T)


# -- how far a search came

NEAR_POSTURES, MOMENTS = 64, 5
"""Starts of inverse kinematics at each sample behind the last one reached, and moments at which these are looked at."""


def how_far(problem: TaskConstrainedProblem, search: Search, last: int, levels: int) -> str:
    """How far a search came and what touches the arm behind it, as the end of a sentence.

    ``last`` is the number of the last sample of the path that was reached, ``levels`` that of its pieces.
    """
    reached, rng = f"it came up to s = {last / levels:.3g}", np.random.default_rng(0)
    times = np.linspace(0.0, problem.horizon, MOMENTS)
    blocked: list[int] = []
    touching: Counter[str] = Counter()
    for level in range(last + 1, levels + 1):
        target = problem.path.targets([level / levels])
        q = random_postures(problem, search, np.repeat(target, NEAR_POSTURES, axis=0), rng)
        states, t = np.repeat(q, MOMENTS, axis=0), np.tile(times, len(q))
        if len(q) and not (is_free := problem.validity.free_states(states, t)).any():
            blocked.append(level)
            touching.update(_touched(problem, states[~is_free][::MOMENTS], t[~is_free][::MOMENTS]))
        elif blocked:
            break
    if not blocked:
        return f"{reached}; each place behind it has postures that are free at some time"
    what = touching.most_common(1)[0][0] if touching else "something"
    return (
        f"{reached}; from s = {blocked[0] / levels:.3g} to {blocked[-1] / levels:.3g} each of {NEAR_POSTURES} postures"
        f" touches {what}"
    )


def _touched(problem: TaskConstrainedProblem, qs: Array, times: Array) -> Iterator[str]:
    """What the deepest contact of each state is with."""
    for q, t in zip(qs[:8], times[:8].tolist(), strict=True):
        if pairs := problem.validity.pairs(q, t):
            yield pairs[0].other if not pairs[0].is_self else "the arm itself"
