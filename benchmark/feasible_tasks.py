"""Which task-constrained scenes can be solved? A search without the planner, by Pinocchio and coal.

    (1)  q'(s) = J# (y_d'(s) + k e) + (I - J# J) w(s)        from the start, w constant on each half of the path
    (2)  (s, t): free where the arm at q(s) keeps from the obstacles of that time
    (3)  from (s, t) to (s + ds, t + j dt), within the joint speeds, or to (s, t + dt): the arm waits

For each w of a grid, (3) is searched from (0, 0) to s = 1: constant speeds and waits. What is found is checked every
millisecond, and written to a file with w and the times at which places are passed. A scene counts as one where the arm
must wait if nothing is found without waits, at speeds of 0.04 of the path per second or more.

    python benchmark/feasible_tasks.py [SCENE ...] --out test/simulation/feasible_tasks.yaml
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arm_control.collision import Told, Validity
from arm_control.core import progress_bar
from arm_control.maths import Array, Mover, Obstacle, Span, rotation_vector
from arm_control.planning import TaskPath
from arm_control.simulation import IndependentArm, PlanFile, PlanScene, check_plan

CELLS, DT = 50, 0.025
"""Places on the path, and time between two looks [s]."""
FINE = 8
"""Steps of integration in a cell."""
GAIN = 30.0
"""k, by s."""
SHARE = 0.9
"""Share of the speed limits that is used."""
GUARD = 0.01
"""Distance that counts as free at a look, beside what moves until the next one [m]."""
SLOWEST = 0.04
"""Slowest motion without waits, of the path per second."""
NEVER, START = -2, -1
"""Origin of what has not been reached, and of the begin."""
DURATIONS = (2.0, 3.0, 4.0, 6.0)
"""Of smooth motions that are tried [s]."""
PLACES = 501
"""On a path of which is shown that no posture can follow it."""
FEASIBLE = ("planar4_disc", "planar3_ellipse", "lwr_circle", "lwr_circle_dynamic", "panda_pen")
HEAD = """\
# Solutions of the scenes below config/plans that were found without the planner, by benchmark/feasible_tasks.py:
# null motions w on both halves of the path, and a law of times [s] and places on the path, straight between two.
"""
SIZES = (0.0, 1.5, 4.0)
"""Of w [rad by s]."""


class NullMotion(NamedTuple):
    """A path in joint space, and when its places are passed.

    Attributes
    ----------
    qs, q_ss : ndarray, shape (k + 1, n)
        Joint positions at equally spaced s, and their derivatives.
    law : ndarray, shape (m, 2)
        Times [s] and places; straight between two of them, or smooth, with rest at both.
    is_smooth : bool
        Which of the two.
    """

    qs: Array
    q_ss: Array
    law: Array
    is_smooth: bool

    @property
    def duration(self) -> float:
        """Time at which the last place is reached [s]."""
        return float(self.law[-1, 0])

    def at(self, times: Array) -> tuple[Array, Array]:
        """Joint positions and places at times."""
        s = self._places(times)
        n = len(self.qs) - 1
        k = np.clip((s * n).astype(int), 0, n - 1)
        u = (s * n - k)[:, None]
        a, b, da, db = self.qs[k], self.qs[k + 1], self.q_ss[k] / n, self.q_ss[k + 1] / n
        return a + u * (da + u * (3 * (b - a) - 2 * da - db + u * (2 * (a - b) + da + db))), s

    def _places(self, times: Array) -> Array:
        t, s = self.law.T
        k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
        u = np.clip((times - t[k]) / (t[k + 1] - t[k]), 0.0, 1.0)
        share = u**3 * (10.0 + u * (6.0 * u - 15.0)) if self.is_smooth else u
        return s[k] + share * (s[k + 1] - s[k])


class Proof(NamedTuple):
    """What shows that a scene can be solved."""

    w: tuple[Array, Array]
    law: Array
    must_wait: bool


def follow(arm: IndependentArm, scene: PlanScene, w: tuple[Array, Array]) -> tuple[Array, Array]:
    """Equation (1): joint positions at CELLS * FINE + 1 places, and their derivatives.

    Parameters
    ----------
    arm : IndependentArm
    scene : PlanScene
    w : tuple of ndarray, shape (n,)
        On both halves of the path.
    """
    n = CELLS * FINE
    h = 1.0 / n

    def slope(q: Array, s: float) -> Array:
        J, e, y_s = _rows(arm, scene.task, q, s)
        residual = w[0] + (w[1] - w[0]) * np.clip(10.0 * (s - 0.45), 0.0, 1.0)
        return J.T @ np.linalg.solve(J @ J.T + 1e-9 * np.eye(len(e)), y_s + GAIN * e - J @ residual) + residual

    q, qs, slopes = scene.start, [scene.start], [slope(scene.start, 0.0)]
    for k in range(n):
        s = k * h
        k_2 = slope(q + 0.5 * h * slopes[-1], s + 0.5 * h)
        k_3 = slope(q + 0.5 * h * k_2, s + 0.5 * h)
        q = q + h / 6.0 * (slopes[-1] + 2.0 * k_2 + 2.0 * k_3 + slope(q + h * k_3, s + h))
        qs.append(q)
        slopes.append(slope(q, s + h))
    return np.array(qs), np.array(slopes)


def _rows(arm: IndependentArm, task: TaskPath, q: Array, s: float) -> tuple[Array, Array, Array]:
    """Jacobian, error and derivative by s of the prescribed rows, in world axes: of a direction z the rows of z x."""
    point, X, J = task.at([s]), arm.pose(q), arm.jacobian(q)
    J_p, e_p, y_s = J[task.numbers], point.y[0] - X.p[task.numbers], point.y_s[0]
    if (turned := task.orientation) is None:
        return J_p, e_p, y_s
    R_WT = turned.at([s])[0]
    if turned.axis:
        z, d = (R[:, "xyz".index(turned.axis)] for R in (X.R, R_WT))
        across = np.linalg.svd(z[None])[2][1:]  # two directions across the axis
        angular = across @ J[3:], across @ np.cross(z, d), across @ turned.turn
    else:
        angular = J[3:], rotation_vector(R_WT @ X.R.T), turned.turn
    return tuple(np.concatenate(pair) for pair in zip((J_p, e_p, y_s), angular, strict=True))


def free_map(arm: IndependentArm, scene: PlanScene, qs: Array, times: Array) -> Array:
    """Equation (2), shape (CELLS + 1, len(times)) of bool.

    Parameters
    ----------
    arm : IndependentArm
    scene : PlanScene
    qs : ndarray, shape (CELLS + 1, n)
        Joint positions [rad or m].
    times : ndarray, shape (k,)
        [s].
    """
    is_free = np.zeros((len(qs), len(times)), bool)
    speed = max(_largest_speed(told) for told in scene.obstacles) if scene.obstacles else 0.0
    for i, q in enumerate(qs):
        k = 0 if ((q > scene.model.q_min) & (q < scene.model.q_max)).all() else len(times)
        while k < len(times):
            obstacles, links = arm.distances(q, times[k])
            room = obstacles - GUARD - scene.margin
            if links <= 0.0:
                break
            if room <= 0.0:
                k += 1
                continue
            n = int(min(room / max(speed * DT, 1e-9), len(times))) + 1
            is_free[i, k : k + n] = True
            k += n
    return is_free


def _largest_speed(told: Told) -> float:
    """Of any point of an obstacle [m/s]; infinite where it appears or vanishes."""
    obstacles = [told] if isinstance(told, Obstacle) else [told.obstacle] if isinstance(told, Mover) else []
    if isinstance(told, Mover) and told.span != Span():
        return np.inf
    obstacles = obstacles or [mover.obstacle for mover in told]
    return max(np.linalg.norm(o.V_WO[:3]) + o.shape.extent * np.linalg.norm(o.V_WO[3:]) for o in obstacles)


def earliest_law(is_free: Array, steps: Array, slowest: int, may_wait: bool) -> Array:
    """Equation (3): times and places of the earliest arrival, shape (m, 2); none: shape (0, 2).

    Parameters
    ----------
    is_free : ndarray of bool, shape (CELLS + 1, k)
    steps : ndarray of int, shape (CELLS,)
        Fewest steps of time that each cell takes.
    slowest : int
        Most steps of time for a cell.
    may_wait : bool
    """
    n_s, n_t = is_free.shape
    origin = np.full((n_s, n_t), NEVER)
    origin[0, 0] = START if is_free[0, 0] else NEVER
    run = _steps_free(is_free)
    for i in range(n_s):
        if may_wait:
            _wait(origin[i], is_free[i], i * n_t)
        if i + 1 == n_s:
            break
        for j in range(int(steps[i]), max(slowest, int(steps[i])) + 1):
            goes = (origin[i] != NEVER) & (np.minimum(run[i], run[i + 1]) > j)
            goes[n_t - j :] = False
            k = np.flatnonzero(goes)
            k = k[origin[i + 1, k + j] == NEVER]
            origin[i + 1, k + j] = i * n_t + k
    reached = np.flatnonzero(origin[-1] != NEVER)
    if not reached.size:
        return np.zeros((0, 2))
    node, nodes = (n_s - 1) * n_t + int(reached[0]), []
    while node >= 0:
        nodes.append(node)
        node = int(origin.flat[node])
    i, k = np.divmod(np.array(nodes[::-1]), n_t)
    return _corners(np.column_stack([k * DT, i / (n_s - 1)]))


def _steps_free(is_free: Array) -> Array:
    """Number of looks in a row from each one on that are free, of the same shape."""
    run = np.zeros(is_free.shape, int)
    run[:, -1] = is_free[:, -1]
    for k in range(is_free.shape[1] - 2, -1, -1):
        run[:, k] = np.where(is_free[:, k], run[:, k + 1] + 1, 0)
    return run


def _wait(origin: Array, is_free: Array, first: int) -> None:
    """Let the arm wait at one place: ``origin`` of its later times, where it is free until then."""
    for k in range(1, len(origin)):
        if origin[k] == NEVER and origin[k - 1] != NEVER and is_free[k]:
            origin[k] = first + k - 1


def _corners(law: Array) -> Array:
    """A law without the places between which it is straight."""
    slopes = np.diff(law[:, 1]) / np.diff(law[:, 0])
    keep = np.concatenate([[True], np.abs(np.diff(slopes)) > 1e-9, [True]])
    return law[keep]


def residuals(n: int) -> Iterator[tuple[Array, Array]]:
    """Pairs of w, those that change less first."""
    single = [np.zeros(n)]
    single += [sign * size * axis for size in SIZES[1:] for axis in np.eye(n) for sign in (1.0, -1.0)]
    yield from ((w, w) for w in single)
    yield from ((a, b) for a, b in product(single, single) if a is not b)


def prove(scene: PlanScene, most: int, title: str | None = None) -> Proof | None:
    """Search for a solution; None where the grid has none.

    Parameters
    ----------
    scene : PlanScene
    most : int
        Number of w that are tried.
    title : str, optional
        Title of a progress bar.
    """
    arm = IndependentArm(scene.model, scene.obstacles, Validity(scene.model).link_pairs)
    times, found = np.arange(0.0, scene.horizon - 1e-9, DT), None
    pairs = [pair for pair, _ in zip(residuals(scene.model.nq), range(most), strict=False)]
    for w in progress_bar(pairs, title):
        qs, slopes = follow(arm, scene, w)
        per_cell = np.abs(slopes / scene.model.v_max).max(axis=1)[:-1].reshape(CELLS, FINE).max(axis=1) / CELLS
        if not np.isfinite(per_cell).all() or per_cell.max() > SHARE * scene.horizon:
            continue
        steps = np.maximum(1, np.ceil(per_cell / (SHARE * DT))).astype(int)
        is_free = free_map(arm, scene, qs[::FINE], times)
        if not is_free.any(axis=1).all():
            continue
        if scene.rest:
            if (law := smooth_law(arm, scene, (qs, slopes), is_free)) is not None:
                return Proof(w, law, must_wait=False)
            continue
        for may_wait in (False, True) if found is None else (False,):
            law = earliest_law(is_free, steps, round(1.0 / (CELLS * SLOWEST * DT)), may_wait)
            if len(law) and check_plan(NullMotion(qs, slopes, law, is_smooth=False), scene, arm=arm).is_valid:
                found = Proof(w, law, may_wait)
                break
        if found is not None and not found.must_wait:
            return found
    return found


def smooth_law(arm: IndependentArm, scene: PlanScene, path: tuple[Array, Array], is_free: Array) -> Array | None:
    """Wait, and then go from rest to rest: times and places of the first such law that is valid, or None.

    Parameters
    ----------
    arm : IndependentArm
    scene : PlanScene
    path : tuple of ndarray, shape (k, n)
        Joint positions and their derivatives.
    is_free : ndarray of bool, shape (CELLS + 1, k)
    """
    for wait, duration in product(np.arange(0.0, scene.horizon, 0.5), DURATIONS):
        if wait + duration >= scene.horizon:
            continue
        law = np.array([[0.0, 0.0], [wait, 0.0], [wait + duration, 1.0]][int(wait == 0.0) :])
        law[0] = 0.0
        motion = NullMotion(*path, law, is_smooth=True)
        looks = np.arange(0.0, motion.duration, DT)
        _, s = motion.at(looks)
        cells = np.round(s * CELLS).astype(int), np.round(looks / DT).astype(int)
        if is_free[cells].all() and check_plan(motion, scene, arm=arm).is_valid:
            return law
    return None


def blocked_places(scene: PlanScene) -> float | None:
    """Show that no posture can follow the path, by the end effector alone: time up to which it is possible [s].

    The end effector is a point of the arm: at s it must be outside of all obstacles. All it reaches at any speed, with
    waits, forward and backward, is an interval of s at each time; None where s = 1 is among it within the horizon.

    Parameters
    ----------
    scene : PlanScene
        With spheres only.
    """
    path = scene.task.at(np.linspace(0.0, 1.0, PLACES)).y
    reached = np.zeros(PLACES, bool)
    reached[0] = True
    for t in np.arange(0.0, scene.horizon, DT / 5.0):
        free = np.ones(PLACES, bool)
        for told in scene.obstacles:
            mover = next(mover for mover in (told if isinstance(told, tuple) else (told,)) if mover.span.holds(t))
            away = np.linalg.norm(path - mover.at(t).X_WO.p[scene.task.numbers], axis=1)
            free &= away > mover.obstacle.shape.radius
        ends = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]])))
        for begin, end in zip(ends[::2], ends[1::2], strict=True):
            free[begin:end] = reached[begin:end].any()
        reached = free
        if reached[-1] or not reached.any():
            return None if reached[-1] else float(t)
    return scene.horizon


def main() -> None:
    """Prove scenes, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("scenes", nargs="*", default=FEASIBLE, help="names below config/plans")
    parser.add_argument("--most", type=int, default=169, help="number of w that are tried")
    parser.add_argument("--out", type=Path, default=Path("feasible_tasks.yaml"))
    options = parser.parse_args()
    text = [HEAD]
    for name in options.scenes:
        file = PlanFile.load(name)
        for variant in file.variants or ("",):
            proof = prove(file.scene(variant), options.most, f"{name} {variant}")
            text.append(_entry(f"{name} {variant}".strip(), proof))
            print(text[-1], flush=True)
    options.out.write_text("".join(text), encoding="utf-8")


def _entry(name: str, proof: Proof | None) -> str:
    if proof is None:
        return f"{name}: {{}}\n"
    w = [half.tolist() for half in proof.w]
    return f"{name}:\n  w: {w}\n  law: {proof.law.round(6).tolist()}\n  must_wait: {str(proof.must_wait).lower()}\n"


if __name__ == "__main__":
    main()
