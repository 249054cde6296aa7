"""Many motions of discrete primitives at once: to choose among goals, weights or obstacle gains before one is run.

Without coupling a rollout is one product of matrices, equation (1) of :mod:`arm_control.primitives.responses`:

    >>> rollouts = LinearRollouts(n_basis=25, times=np.linspace(0.0, 1.0, 101))
    >>> rng = np.random.default_rng(0)
    >>> y = rollouts.run(rng.normal(size=(1000, 7, 25)), start=np.zeros(7), goal=rng.normal(size=(1000, 7)))[0]
    >>> y.shape
    (1000, 7, 101)

With obstacles, or with a phase that waits, a primitive is not linear and has to be integrated: :class:`CoupledRollouts`
runs the same step as live (:mod:`arm_control.primitives.discrete_law`), several motions side by side in the lanes of
the vector registers. The robot is a first-order lag, ``y_m' = (y - y_m) / lag``; its distance from the reference,
``e = |y - y_m|``, is what slows the phase down.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Law, Loop, compile_law, plain_compiler
from arm_control.exceptions import InputError
from arm_control.maths import Array, exp
from arm_control.primitives import (
    DiscreteState,
    DiscreteTask,
    ObstacleCoupling,
    discrete_matrix,
    discrete_step,
    obstacle_force,
)

CHUNK = 64
"""Motions that are integrated together: their weights fit into the processor's second cache."""
SHORTEST_LAG = 1e-6
"""Shortest lag of a robot [s]."""


class LinearRollouts:
    """Rolls out discrete primitives of any size at the same times.

    Parameters
    ----------
    n_basis : int
        Number of basis functions.
    times : array_like, shape (K,)
        Times from the start of the motion [s].
    duration : float
        Duration [s].
    derivatives : int
        0 for positions only, 1 with velocities, 2 with accelerations.

    Raises
    ------
    InputError
        When a number is not finite, or not allowed.
    """

    def __init__(self, n_basis: int, times: npt.ArrayLike, duration: float = 1.0, derivatives: int = 0) -> None:
        t = np.asarray(times, dtype=float)
        if t.ndim != 1 or not np.isfinite(t).all() or not 0.0 < duration < np.inf or derivatives not in (0, 1, 2):
            raise InputError(
                f"times of shape {t.shape}, duration = {duration}, derivatives = {derivatives}: finite times in a row,"
                " a positive duration, and 0, 1 or 2 are needed"
            )
        matrices = discrete_matrix(t, float(duration), n_basis, derivatives)
        self._matrices = [np.ascontiguousarray(matrix.T) for matrix in matrices]
        self._n_basis = n_basis
        self._columns = np.empty((0, 0, 0))  # new memory costs time

    def run(
        self,
        weights: npt.ArrayLike,
        start: npt.ArrayLike,
        goal: npt.ArrayLike,
        start_velocity: npt.ArrayLike = 0.0,
        final_velocity: npt.ArrayLike = 0.0,
        out: list[Array] | None = None,
    ) -> list[Array]:
        """Return positions, and as many derivatives as asked for, each of shape (N, n, K).

        Parameters
        ----------
        weights : array_like, shape (N, n, n_basis) or (n, n_basis)
            Weights of the force; what has no axis of the motions is the same for all.
        start, goal : array_like, shape (N, n) or (n,)
        start_velocity, final_velocity : array_like, shape (N, n) or (n,), or one number
            Velocities at both ends [1/s].
        out : list of ndarray, shape (N, n, K), optional
            Memory to use again: new memory costs time.

        Raises
        ------
        InputError
            When a shape does not fit or a number is not finite.
        """
        n = np.shape(goal)[-1] if np.ndim(goal) else 1
        v_0, v_g = (np.broadcast_to(v, n) if not np.ndim(v) else v for v in (start_velocity, final_velocity))
        wanted = {("weights", (n, self._n_basis)): weights, ("start", (n,)): start, ("goal", (n,)): goal}
        wanted |= {("start_velocity", (n,)): v_0, ("final_velocity", (n,)): v_g}
        w, y_0, y_g, v_0, v_g = motions_in_rows(wanted)
        N = len(w)
        if self._columns.shape != (N, n, 4 + self._n_basis):
            self._columns = np.empty((N, n, 4 + self._n_basis))
        columns = self._columns
        columns[..., 0], columns[..., 1], columns[..., 2], columns[..., 3] = y_0, y_g, v_0, v_g
        columns[..., 4:] = w
        flat = columns.reshape(N * n, -1)
        if out is None:
            return [(flat @ matrix).reshape(N, n, -1) for matrix in self._matrices]
        for matrix, array in zip(self._matrices, out, strict=True):
            np.matmul(flat, matrix, out=array.reshape(N * n, -1))
        return out


def motions_in_rows(wanted: Mapping[tuple[str, tuple[int, ...]], npt.ArrayLike]) -> list[Array]:
    """Return arrays of N motions, each of shape (N, ...), from arrays of which some are the same for all.

    Parameters
    ----------
    wanted : mapping from a name and the shape of one motion to an array

    Raises
    ------
    InputError
        When a shape does not fit or a number is not finite.
    """
    arrays, N = [], 1
    for (name, shape), values in wanted.items():
        array = np.asarray(values, dtype=float)
        if array.shape[-len(shape) or array.ndim :] != shape or array.ndim > len(shape) + 1:
            raise InputError(f"{name} has shape {array.shape}; allowed: {shape}, or (N, ...) of it")
        if not np.isfinite(array).all():
            raise InputError(f"{name} is not finite")
        if array.ndim > len(shape):
            if len(array) != N and N != 1:
                raise InputError(f"{name} of {len(array)} motions, others of {N}")
            N = len(array)
        arrays.append((array, shape))
    return [np.broadcast_to(array, (N, *shape)) for array, shape in arrays]


class CoupledRollouts:
    """Integrates discrete motions of one size among obstacles.

    Parameters
    ----------
    n, n_basis : int
        Number of coordinates, at least 2, and of basis functions.
    n_steps : int
        Number of steps.
    obstacles : array_like, shape (k, n + 1)
        Centre and radius of each obstacle.
    coupling : ObstacleCoupling
        How strongly they turn the motions.
    phase_stopping : float
        k_e: the phase runs at ``1 / (1 + k_e e^2)`` of its speed.
    lag : float
        Time constant of the robot [s].

    Raises
    ------
    InputError
        When a size or a number is not allowed.
    """

    def __init__(
        self,
        n: int,
        n_basis: int,
        n_steps: int,
        obstacles: npt.ArrayLike,
        coupling: ObstacleCoupling = ObstacleCoupling(),  # noqa: B008 - frozen
        phase_stopping: float = 0.0,
        lag: float = SHORTEST_LAG,
    ) -> None:
        places = np.asarray(obstacles, dtype=float)
        has_shape = places.ndim == 2 and places.shape[1] == n + 1 and bool(np.isfinite(places).all())
        if n < 2 or n_steps < 1 or not has_shape or not (phase_stopping >= 0.0 and lag > 0.0):
            raise InputError(
                f"n = {n}, n_steps = {n_steps}, obstacles of shape {places.shape}, phase_stopping = {phase_stopping},"
                f" lag = {lag}: two coordinates and one step at least, finite obstacles (k, n + 1), and a positive lag"
                " are needed"
            )
        self._n, self._n_basis, self._n_steps = n, n_basis, n_steps
        sizes = n, n_basis, len(places)
        kernel = compile_law(plain_compiler(), _loop(*sizes), _samples(*sizes))
        rows = {name: np.zeros((size, CHUNK)) for name, size in _own_inputs(n, n_basis).items()}
        rows["task"][:] = 1.0  # of lanes without a motion, too
        shared = {
            "obstacles": np.column_stack([places, np.ones(len(places))]).ravel(),
            "coupling": np.array(coupling.numbers()),
            "numbers": np.array([phase_stopping, max(lag, SHORTEST_LAG)]),
        }
        self._task, self._weights = rows["task"], rows["weights"]
        self._states = rows["state"], np.zeros_like(rows["state"])
        self._path = np.zeros((n_steps, n, CHUNK))
        self._calls = [
            kernel.bind(
                {**shared, **rows, "state": self._states[k % 2], "after": self._states[1 - k % 2], "y": self._path[k]}
            )
            for k in range(n_steps)
        ]

    def run(
        self, weights: npt.ArrayLike, start: npt.ArrayLike, goal: npt.ArrayLike, duration: npt.ArrayLike = 1.0
    ) -> Array:
        """Return the positions at the start and after every step, shape (N, n_steps + 1, n).

        Parameters
        ----------
        weights : array_like, shape (N, n, n_basis) or (n, n_basis)
            Weights of the force; what has no axis of the motions is the same for all.
        start, goal : array_like, shape (N, n) or (n,)
        duration : array_like, shape (N,), or float
            Durations [s]; a step is ``duration / n_steps``.

        Raises
        ------
        InputError
            When a shape does not fit, a number is not finite, or a duration is not positive.
        """
        n = self._n
        shapes = ("weights", (n, self._n_basis)), ("start", (n,)), ("goal", (n,)), ("duration", ())
        arrays = motions_in_rows(dict(zip(shapes, (weights, start, goal, duration), strict=True)))
        if not (arrays[3] > 0.0).all():
            raise InputError("a duration is not positive")
        N = len(arrays[0])
        columns = [x.reshape(N, -1).T for x in arrays]
        paths = np.empty((self._n_steps + 1, n, N))
        paths[0] = columns[1]
        for first in range(0, N, CHUNK):
            self._run_chunk([x[:, first : first + CHUNK] for x in columns], paths[1:, :, first : first + CHUNK])
        return paths.transpose(2, 0, 1)

    def _run_chunk(self, arrays: list[Array], paths: Array) -> None:
        n, m = self._n, paths.shape[2]
        weights, start, goal, (T,) = arrays
        self._weights[:, :m] = weights
        state = self._states[0]
        state[:] = 0.0
        state[1 : 1 + n, :m] = state[1 + 5 * n :, :m] = start
        state[1 + 2 * n : 1 + 3 * n, :m] = goal
        self._task[:n, :m], self._task[n : 2 * n, :m] = start, goal
        self._task[-2, :m], self._task[-1, :m] = T, T / self._n_steps
        for call in self._calls:
            call()
        paths[:] = self._path[:, :, :m]


def _own_inputs(n: int, n_basis: int) -> dict[str, int]:
    """Inputs that each motion has: state with the robot's position, start, goal, duration and step, weights."""
    return {"state": 1 + 6 * n, "task": 2 * n + 2, "weights": n * n_basis}


def _loop(n: int, n_basis: int, n_obstacles: int) -> Loop:
    shared = {"numbers": 2}
    if n_obstacles:
        shared |= {"obstacles": n_obstacles * (n + 2), "coupling": 3}
    inputs = {**_own_inputs(n, n_basis), **shared}
    law = Law("coupled rollouts", partial(_step, n), inputs, [n, n_basis, n_obstacles], has_masses=False)
    return Loop(law, "columns", tuple(shared))


def _step(n: int, x: Mapping[str, Array]) -> dict[str, Any]:
    """One step of one motion."""
    k_e, lag = x["numbers"]
    start, goal = x["task"][: 2 * n].reshape(2, n)
    T, dt = x["task"][2 * n :]
    zero = np.zeros(n)
    task = DiscreteTask(start, zero, zero, goal, x["weights"].reshape(n, -1), T, 1.0)
    before = DiscreteState(x["state"][0], *x["state"][1 : 1 + 5 * n].reshape(5, n))
    measured = x["state"][1 + 5 * n :]
    e = before.y - measured
    C = zero
    if "obstacles" in x:
        C = obstacle_force(before.y, before.v, x["obstacles"].reshape(-1, n + 2), x["coupling"], T)
    after = discrete_step(before, task, dt, 1.0 + k_e * (e @ e), C)
    measured = after.y + exp(-dt / lag) * (measured - after.y)
    return {"after": np.concatenate([[after.s], *after[1:], measured]), "y": after.y}


def _samples(n: int, n_basis: int, n_obstacles: int) -> dict[str, Array]:
    """Inputs to compare the kernel on."""
    rng, k = np.random.default_rng(0), 8
    samples = {name: rng.uniform(-1.0, 1.0, (size, k)) for name, size in _own_inputs(n, n_basis).items()}
    samples["state"][0] = np.linspace(0.0, 1.0, k)
    samples["task"][-2:] = rng.uniform(0.5, 1.5, k), rng.uniform(0.01, 0.02, k)
    samples["numbers"] = np.array([10.0, 0.1])
    if n_obstacles:
        samples |= {"obstacles": rng.uniform(0.1, 1.0, n_obstacles * (n + 2)), "coupling": np.array([1000.0, 6.0, 0.3])}
    return samples
