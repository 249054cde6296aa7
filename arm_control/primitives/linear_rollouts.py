"""Rollouts without coupling, many at once: one product of matrices.

    >>> rollouts = LinearRollouts(n_basis=25, times=np.linspace(0.0, 1.0, 101))
    >>> rng = np.random.default_rng(0)
    >>> y = rollouts.run(rng.normal(size=(1000, 7, 25)), start=np.zeros(7), goal=rng.normal(size=(1000, 7)))[0]
    >>> y.shape
    (1000, 7, 101)

The equation is (1) of :mod:`~arm_control.primitives.responses`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.primitives.responses import discrete_matrix


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
