"""Many expansions at once: chains of edges along the task path, one in each lane, step by step.

Each lane starts at a vertex of the tree and follows pieces of the path in one direction, or waits, with one residual;
its rate may change from piece to piece. All lanes take a step in one call of the compiled law. The ends of steps lie
in one block of memory, so that the motions between them are checked in one call, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.maths import Array
from arm_control.planning.motion_laws import dynamic_loop, kinematic_loop
from arm_control.planning.task_problem import TaskConstrainedProblem, TaskParameters

Integers = npt.NDArray[np.int_]
Flags = npt.NDArray[np.bool_]
SPEED_SHARE, LOAD_SHARE = 0.98, 0.97
"""Shares of the limits that may be used at the ends of steps: between them there is a little more."""
LOADS = ("tau_max", "a_max")
"""Limits of a problem besides that of speed."""
DAMPING_RATIO = 2.0
"""k_d / sqrt(k_p) of the dynamic law."""
WITHIN = 1.0 + 1e-9
"""Largest share of a limit that the law keeps itself, with rounding."""
STANDSTILL = 1e-9
"""Smallest rate with which a time is computed [1/s]."""
Pace = Callable[[int, Array, Array], Array]
"""See :meth:`Edges.follow`."""


class Start(NamedTuple):
    """Where the chains of a round begin, and how they go on.

    Attributes
    ----------
    q, q_r : ndarray, shape (W, n)
        Joint positions and their derivative by the way [rad or m].
    level : ndarray of int, shape (W,)
        Number of the sample of the path.
    rate, t : ndarray, shape (W,)
        Rate [1/s] and time [s].
    direction : ndarray of int, shape (W,)
        1, -1, or 0 for waiting.
    w : ndarray, shape (W, n)
        Residual.
    """

    q: Array
    q_r: Array
    level: Integers
    rate: Array
    t: Array
    direction: Integers
    w: Array


class Chains(NamedTuple):
    """Chains of L edges of M steps each.

    Attributes
    ----------
    q, q_r, q_rr : ndarray, shape (L, M + 1, n, W)
        At the ends of steps; q_rr of a kinematic chain is zero.
    rates : ndarray, shape (L, M + 1, W)
        [1/s].
    t : ndarray, shape (L, M + 1, W)
        [s].
    thrust : ndarray, shape (L, W)
        Acceleration of the rate [1/s^2].
    cap : ndarray, shape (L, W)
        Largest rate that the task leaves at the end of each edge [1/s].
    is_valid : ndarray of bool, shape (L, W)
        Whether limits and task are kept; without a look at obstacles.
    """

    q: Array
    q_r: Array
    q_rr: Array
    rates: Array
    t: Array
    thrust: Array
    cap: Array
    is_valid: Flags


class Edges:
    """The compiled motion law of one problem, and its memory; no edge ends after the ``horizon`` [s]."""

    def __init__(self, problem: TaskConstrainedProblem, parameters: TaskParameters) -> None:
        model, self._parameters = problem.model, parameters
        self._problem, self.is_dynamic, self.horizon = problem, problem.is_dynamic, problem.horizon
        L, M = parameters.chain, parameters.steps
        task = model.tree, problem.path.task_rows, model.has_tool
        self._loads = {name: getattr(problem, name) for name in LOADS if getattr(problem, name) is not None}
        loop = dynamic_loop(*task, tuple(self._loads)) if self.is_dynamic else kinematic_loop(*task)
        self.pieces = problem.path.pieces(parameters.levels).reshape(parameters.levels, -1)
        self._step = 1.0 / (parameters.levels * M)
        shared = self._shared()
        kernel = model.compile_law(loop, _samples(problem, self.pieces, shared))
        self.width = parameters.lanes + -parameters.lanes % kernel.width
        W, n = self.width, model.nq
        self._memory = {name: np.zeros((L, M + 1, n, W)) for name in ("q", "q_r", "q_rr")}
        self._memory |= {name: np.zeros((L, M + 1, 1, W)) for name in ("u", "rate", "t")}
        self._memory |= {name: np.zeros((L, M, 1, W)) for name in ("error", "speed", "load", "cap")}
        self._shares = np.linspace(0.0, 1.0, M + 1)[:, None]
        self._piece = np.zeros((L, self.pieces.shape[1], W))
        self._thrust = np.zeros((L, 1, W))
        self._w, self._direction = np.zeros((n, W)), np.zeros((1, W))
        self._shared_arrays = shared
        self._calls = [[kernel.bind(self._arrays(l, i)) for i in range(M)] for l in range(L)]

    def _shared(self) -> dict[str, Array]:
        k, turned = self._parameters.gain / self._step, self._problem.path.orientation
        shared = {"step": np.array([self._step]), "v_max": SPEED_SHARE * self._problem.speed_limits}
        if self.is_dynamic:
            shared |= {"gains": np.array([k**2, DAMPING_RATIO * k, k])}
            shared |= {name: np.array(values, dtype=float) for name, values in self._loads.items()}
        else:
            shared |= {"gain": np.array([k])}
        if turned is not None:
            shared |= {"R_WT": turned.R.ravel(), "axis": turned.turning_axis}
        return shared | ({"tool": self._problem.model.tool} if self._problem.model.has_tool else {})

    def _arrays(self, l: int, i: int) -> dict[str, Array]:
        """Arrays of step i of edge l."""
        m = self._memory
        arrays = {"piece": self._piece[l], "direction": self._direction, "w": self._w, "thrust": self._thrust[l]}
        arrays |= {name: m[name][l, i] for name in ("q", "u", "rate", "error", "speed", "load", "cap")}
        arrays |= {f"{name}_next": m[name][l, i + 1] for name in ("q", "u", "q_r")} | {"q_r": m["q_r"][l, i]}
        if self.is_dynamic:
            arrays |= {"rate_next": m["rate"][l, i + 1], "q_rr": m["q_rr"][l, i], "q_rr_next": m["q_rr"][l, i + 1]}
        return arrays | self._shared_arrays

    def follow(self, start: Start, pace: Pace, length: int, cap: Array) -> Chains:
        """Follow chains of edges; returns views of the memory, until the next call.

        Parameters
        ----------
        pace : callable
            From the number of the edge, the rate at its begin and the largest rate that the task leaves there, shape
            (W,), to the rate at its end; a kinematic edge has that rate all along [1/s].
        length : int
            Number of edges, at most ``chain``.
        cap : ndarray, shape (W,)
            Largest rate that the task leaves at the start [1/s].
        """
        m, N, direction = self._memory, self._parameters.levels, start.direction
        is_valid = np.zeros((length, self.width), bool)
        self._w[:], self._direction[0] = start.w.T, direction
        q, q_r, t, rate, level = start.q.T, start.q_r.T, start.t, start.rate, start.level
        for l in range(length):
            piece = np.clip(np.minimum(level, level + direction), 0, N - 1)
            self._piece[l] = self.pieces[piece].T
            m["q"][l, 0], m["q_r"][l, 0], m["u"][l, 0, 0] = q, q_r, (level - piece) / N
            self._set_rates(l, rate, pace(l, rate, cap), t)
            for call in self._calls[l]:
                call()
            level = level + direction
            is_valid[l] = self._keeps_limits(l) & (level >= 0) & (level <= N)
            q, q_r, t, rate, cap = (m[name][l, -1] for name in ("q", "q_r", "t", "rate", "cap"))
            t, rate, cap = t[0], rate[0], cap[0]
        is_valid &= m["t"][:length, -1, 0] <= self.horizon
        return Chains(
            m["q"][:length],
            m["q_r"][:length],
            m["q_rr"][:length],
            m["rate"][:length, :, 0],
            m["t"][:length, :, 0],
            self._thrust[:length, 0],
            m["cap"][:length, -1, 0],
            np.logical_and.accumulate(is_valid),
        )

    def _set_rates(self, l: int, begin: Array, end: Array, t: Array) -> None:
        """Rates and times along edge l, shape (W,) each at its ends; a kinematic edge has its rate all along."""
        begin = begin if self.is_dynamic else end
        square = begin**2 + self._shares * (end**2 - begin**2)
        rates = self._memory["rate"][l, :, 0]
        rates[...] = np.sqrt(square)
        self._thrust[l, 0] = (end**2 - begin**2) * (0.5 * self._parameters.levels)
        times = self._memory["t"][l, :, 0]
        times[0] = t
        times[1:] = t + np.cumsum(2.0 * self._step / np.maximum(rates[:-1] + rates[1:], STANDSTILL), axis=0)

    def _keeps_limits(self, l: int) -> Flags:
        """Whether limits and task are kept along edge l, shape (W,)."""
        m, model = self._memory, self._problem.model
        with np.errstate(invalid="ignore"):
            q = m["q"][l, 1:]
            is_good = (q >= model.q_min[:, None]) & (q <= model.q_max[:, None])
            is_kept = np.logical_and.reduce(is_good, axis=(0, 1))
            for name, most in (("error", self._parameters.tolerance), ("speed", WITHIN), ("load", LOAD_SHARE)):
                is_kept &= np.logical_and.reduce(m[name][l, :, 0] <= most, axis=0)
        return is_kept


def _samples(problem: TaskConstrainedProblem, pieces: Array, shared: Mapping[str, Array]) -> dict[str, Array]:
    """Cases to compare a new kernel on."""
    n, k = problem.model.nq, 9
    rng = np.random.default_rng(0)
    own = {"q": rng.uniform(0.2, 1.0, (n, k)), "q_r": rng.normal(size=(n, k)), "w": rng.normal(size=(n, k))}
    own |= {"u": np.zeros((1, k)), "piece": pieces[np.arange(k) % len(pieces)].T.copy()}
    own |= {"direction": np.resize([1.0, -1.0, 0.0], (1, k)), "rate": np.linspace(0.1, 0.3, k)[None]}
    return own | {"thrust": np.linspace(0.0, 0.2, k)[None], **shared}
