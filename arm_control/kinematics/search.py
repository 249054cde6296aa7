"""Search for a pose from several starts: the repeated damped step, compiled and bound to its arrays.

The starts are points of Sobol's sequence, which fill a cube evenly. The k-th point of a dimension is the exclusive or
of the direction numbers ``v_i = m_i / 2^i`` of the bits that are set in the Gray code of k. The numbers m follow from a
primitive polynomial over GF(2), another one for each dimension, and from odd first ones ``m_i < 2^i``, which may be
chosen.

Source: P. Bratley, B. L. Fox, "Algorithm 659: implementing Sobol's quasirandom sequence generator", 1988.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from arm_control.compiler import LoopKernel
from arm_control.kinematics.damped_step import TURN, Task, into_limits, repeated_posture_step, repeated_step
from arm_control.kinematics.task_errors import TaskError, task_error
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel, Tree

LIMIT = 20
"""Largest number of steps from one start."""
POLISH_LIMIT = 300
"""Largest number of steps from the best result of all starts: towards a singular posture convergence is linear."""
POSTURE_LIMIT = 300
"""Largest number of steps towards a posture."""
FEW = 16
"""Number of poses from which on all starts of one pose are tried at once, instead of one start of all poses."""
BITS = 30
"""Binary digits of a number of the sequence."""


class Attempts(NamedTuple):
    """The best attempt for each of N poses: joint positions (N, n) and errors of the rows (N, m) [m, rad]."""

    q: Array
    error: Array
    is_done: Array
    iterations: Array


class Search:
    """Searches joint positions for poses of one task.

    Parameters
    ----------
    q_min, q_max : ndarray, shape (n,)
        Limits [rad or m]; infinite for none.
    tolerance : float
        Largest error of a row [m, rad].
    n_starts : int
        Starts of a pose: the middle of the limits, or another one, then points of the sequence.
    posture : ndarray, shape (n,), optional
        Joint positions that results shall be near to, as far as the pose allows [rad or m].

    Attributes
    ----------
    target : ndarray, shape (12,)
        R_WT and p_WT of the pose that :meth:`first` is about.
    reference : ndarray, shape (n,)
        Joint positions that angles are turned near to [rad].
    low, high, middle : ndarray, shape (n,)
        Between which starts are, and their middle: the first start [rad or m].
    starts : ndarray, shape (n, n_starts)
        The starts, the middle first [rad or m].
    """

    def __init__(
        self,
        model: RobotModel,
        task: Task,
        q_min: Array,
        q_max: Array,
        tolerance: float,
        n_starts: int,
        posture: Array | None = None,
    ) -> None:
        self.model, self.task, self.n_starts = model, task, n_starts
        self.q_min, self.q_max, self.tolerance = q_min, q_max, tolerance
        self.low, self.high = _bounded(q_min, q_max, task.turning)
        self.middle = (self.low + self.high) / 2.0
        points = self.low + (self.high - self.low) * sobol_points(model.nq, n_starts)
        self.starts = np.ascontiguousarray(points.T)
        self.posture = posture
        self._shared = {"q_min": q_min, "q_max": q_max, "tolerance": np.array([tolerance]), "caution": np.zeros(1)}
        self._shared |= {} if posture is None else {"posture": posture}
        self.target, self.reference = np.zeros(12), np.zeros(model.nq)
        self._arrays = self._outputs(n_starts) | {
            "q": self.starts.copy(),
            "target": np.broadcast_to(self.target[:, None], (12, n_starts)),
            "reference": np.broadcast_to(self.reference[:, None], (model.nq, n_starts)),
        }
        self.q, self.error, self.count = (self._arrays[name] for name in ("q", "error", "repetitions"))
        self._tool: Array | None = None

    def follow_tool(self) -> None:
        """Compute with the tool that the model has now."""
        if self._tool is self.model.tool:
            return
        self._tool = self.model.tool
        has_tool = self.model.has_tool and self.task.frame is None
        self._shared |= {"tool": self._tool}
        repeat = repeated_step(self.model.tree, self.task, has_tool)
        self._kernel = self.model.compile_law(repeat, self._samples())
        self._call = self._kernel.bind({**self._arrays, **self._shared}, limit=LIMIT, is_first_enough=True)
        self._posture_kernel = None if self.posture is None else self._compile_posture_step(has_tool)

    def _compile_posture_step(self, has_tool: bool) -> LoopKernel:
        repeat = repeated_posture_step(self.model.tree, self.task, has_tool)
        return self.model.compile_law(repeat, {**self._samples(), "posture": self._shared["posture"]})

    def first(self, start: Array | None) -> int:
        """The first start that leads to ``target``; ``n_starts`` where none does.

        The results are the columns of ``q`` and ``error``; ``count`` holds how often the step was repeated. A start
        that is given takes the place of the first one, the middle of the limits.
        """
        self.q[...] = self.starts
        if start is not None:
            self.q[:, 0] = start
        return int(self._call())

    def all_poses(self, targets: Array, references: Array, starts: Array | None) -> Attempts:
        """The best attempt for each pose: one start of all poses after the other.

        Targets (N, 12) are R_WT and p_WT; angles are turned near to references (N, n) [rad]; the first starts are (N,
        n), by default the middle of the limits.
        """
        n, m = len(targets), len(self.task.rows)
        best = Attempts(np.zeros((n, self.model.nq)), np.full((n, m), np.inf), np.zeros(n, bool), np.zeros(n, int))
        left = np.arange(n)
        for k in range(self.n_starts):
            if len(left) <= FEW:
                break
            first = starts[left] if k == 0 and starts is not None else np.tile(self.starts[:, k], (len(left), 1))
            _keep_better(best, left, self.run(targets[left], references[left], first, LIMIT))
            left = left[~best.is_done[left]]
        for i in left.tolist():
            start = None if starts is None else starts[i]
            _put(best, i, self.one_pose(targets[i], references[i], start))
        return best if self._posture_kernel is None else self._to_posture(best, targets, references)

    def _to_posture(self, attempts: Attempts, targets: Array, references: Array) -> Attempts:
        """Move the results that are done along their poses, as near to the posture as steps lead."""
        near = self.run(targets, references, attempts.q, POSTURE_LIMIT, self._posture_kernel)
        back = self.run(targets, references, near.q, LIMIT)
        is_better = attempts.is_done & back.is_done
        q, error = (
            np.where(is_better[:, None], *pair) for pair in ((back.q, attempts.q), (back.error, attempts.error))
        )
        return Attempts(q, error, attempts.is_done, attempts.iterations + near.iterations + back.iterations)

    def one_pose(self, target: Array, reference: Array, start: Array | None) -> Attempts:
        """The best attempt for one pose, from all starts; arguments are rows of those of :meth:`all_poses`."""
        self.target[:], self.reference[:] = target, reference
        first = self.first(start)
        n_tried = min(first + 1, self.n_starts)
        is_done = np.array([first < self.n_starts])
        best = first if is_done[0] else int(np.argmin(np.square(self.error).sum(axis=0)))
        iterations = self.count[0, :n_tried].sum(dtype=int, keepdims=True) - is_done
        attempts = Attempts(self.q[:, [best]].T, self.error[:, [best]].T.copy(), is_done, iterations)
        return attempts if first < self.n_starts else self._polished(attempts, target, reference)

    def _polished(self, attempts: Attempts, target: Array, reference: Array) -> Attempts:
        """More steps from the best result of all starts."""
        self._shared["caution"][0] = _length(self.model.tree)
        more = self.run(target[None], reference[None], attempts.q, POLISH_LIMIT)
        self._shared["caution"][0] = 0.0
        q = np.array(into_limits(more.q[0], reference, self.q_min, self.q_max, self.task.turning), dtype=float)
        return more._replace(q=q[None], iterations=attempts.iterations + more.iterations)

    def run(
        self, targets: Array, references: Array, starts: Array, limit: int, kernel: LoopKernel | None = None
    ) -> Attempts:
        """Repeat the step, or another one, from one start for each pose, up to a limit of steps."""
        arrays: Mapping[str, Array] = self._outputs(len(targets)) | {
            "q": np.array(starts.T, order="C"),
            "target": targets.T,
            "reference": references.T,
        }
        (kernel or self._kernel).bind({**arrays, **self._shared}, limit=limit)()
        is_done = arrays["more"][0] <= 0.0
        iterations = arrays["repetitions"][0].astype(int) - is_done
        return Attempts(arrays["q"].T, arrays["error"].T, is_done, iterations)

    def along(self, targets: Array, start: Array) -> Array:
        """Joint positions along poses, each from those of the pose before; as many rows as poses are reached in turn.

        Parameters
        ----------
        targets : ndarray, shape (N, 12)
            R_WT and p_WT of each.
        start : ndarray, shape (n,)
            Joint positions before the first one [rad or m].
        """
        outputs, found = self._outputs(1), np.empty((len(targets), len(start)))
        q, target, reference = start[:, None].copy(), np.zeros((12, 1)), np.zeros((len(start), 1))
        seek = self.bind({**outputs, "q": q, "target": target, "reference": reference}, LIMIT)
        for k, numbers in enumerate(targets):
            reference[:], target[:, 0] = q, numbers
            seek()
            if outputs["more"][0, 0] > 0.0:
                return found[:k]
            found[k] = q[:, 0]
        return found

    def bind(self, arrays: Mapping[str, Array], limit: int) -> Callable[[], float]:
        """Bind the repeated step to arrays, with the limits and the tool; ``limit`` is the largest number of steps.

        The arrays are ``q``, ``target``, ``reference``, ``error``, ``more`` and ``repetitions``.
        """
        return self._kernel.bind({**arrays, **self._shared}, limit=limit)

    def task_error(self, q: Array, target: Array) -> TaskError:
        """Error of the rows and its derivative at joint positions; target: R_WT and p_WT, shape (12,)."""
        model, task = self.model, self.task
        X_WT = Pose(target[:9].reshape(3, 3), target[9:])
        return task_error(model.pose(q, task.frame), X_WT, model.jacobian(q, task.frame), task.rows, task.task_frame)

    def _outputs(self, n: int) -> dict[str, Array]:
        """Memory for the results of n cases."""
        sizes = {"error": len(self.task.rows), "more": 1, "repetitions": 1}
        return {name: np.zeros((size, n)) for name, size in sizes.items()}

    def _samples(self) -> dict[str, Array]:
        """Cases to compare a new kernel on: poses near the arm's, and far from them."""
        q = self.starts[:, :9]
        states = np.clip(q + np.linspace(0.0, 1.0, q.shape[1]), -4.0, 4.0)
        poses = [self.model.pose(x) for x in states.T]
        target = np.array([[*X.R.ravel(), *X.p] for X in poses]).T
        return {"q": q, "target": target, "reference": np.zeros_like(q), **self._shared}


def _length(tree: Tree) -> float:
    """An upper bound of the arm's length, at least 1 m, where an orientation counts, too [m]."""
    return max(1.0, sum(float(np.linalg.norm(body.X_PJ.p)) for body in tree.bodies))


def _keep_better(best: Attempts, left: Array, new: Attempts) -> None:
    """Take over the results that are done, or nearer than those before, of the poses ``left``."""
    is_better = np.square(new.error).sum(axis=1) < np.square(best.error[left]).sum(axis=1)
    is_better |= new.is_done
    for kept, values in zip(best[:3], new[:3], strict=True):
        kept[left[is_better]] = values[is_better]
    best.iterations[left] += new.iterations


def _put(best: Attempts, i: int, one: Attempts) -> None:
    for kept, values in zip(best, one, strict=True):
        kept[i] = values[0]


def _bounded(q_min: Array, q_max: Array, turning: tuple[bool, ...]) -> tuple[Array, Array]:
    """Limits between which starts are: a turn is enough for a joint that can turn."""
    is_range = np.isfinite(q_min) & np.isfinite(q_max)
    middle = np.where(is_range, (np.where(is_range, q_min, 0.0) + np.where(is_range, q_max, 0.0)) / 2.0, 0.0)
    middle = np.clip(middle, q_min, q_max)
    low, high = np.maximum(q_min, middle - TURN), np.minimum(q_max, middle + TURN)
    return np.where(turning, middle - TURN / 2, low), np.where(turning, middle + TURN / 2, high)


def sobol_points(n_dimensions: int, n_points: int) -> Array:
    """Points of the sequence, without its first one, the origin, shape (n_points, n_dimensions), from 0 to 1.

    Examples
    --------
    >>> sobol_points(2, 3)
    array([[0.5 , 0.5 ],
           [0.75, 0.25],
           [0.25, 0.75]])
    """
    directions = np.array(list(islice(_directions(), n_dimensions)), dtype=np.int64).reshape(n_dimensions, BITS)
    points = np.zeros((n_points + 1, n_dimensions), dtype=np.int64)
    for k in range(1, n_points + 1):
        lowest_zero = ((k - 1) ^ k).bit_length() - 1
        points[k] = points[k - 1] ^ directions[:, lowest_zero]
    return points[1:] / 2.0**BITS


def _directions() -> Iterator[list[int]]:
    """``v_i 2^BITS`` of one dimension after the other."""
    yield [1 << (BITS - i) for i in range(1, BITS + 1)]
    rng = np.random.default_rng(0)
    for polynomial in _primitive_polynomials():
        degree = polynomial.bit_length() - 1
        m = [int(2 * rng.integers(1 << i) + 1) for i in range(degree)]
        while len(m) < BITS:
            new = m[-degree] ^ (m[-degree] << degree)
            for i in range(1, degree):
                new ^= (m[-i] << i) * (polynomial >> (degree - i) & 1)
            m.append(new)
        yield [number << (BITS - i) for i, number in enumerate(m, start=1)]


def _primitive_polynomials() -> Iterator[int]:
    """Polynomials over GF(2), a bit for each coefficient, whose root generates all powers of its field."""
    yield 0b11
    for degree in count(2):
        for polynomial in range((1 << degree) + 1, 2 << degree, 2):
            if _order_of_root(polynomial, degree) == (1 << degree) - 1:
                yield polynomial


def _order_of_root(polynomial: int, degree: int) -> int:
    """Smallest k with ``x^k = 1`` modulo the polynomial."""
    power = 1
    for k in range(1, 1 << degree):
        power <<= 1
        power ^= polynomial * (power >> degree)
        if power == 1:
            return k
    return 0
