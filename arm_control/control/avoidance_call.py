"""One tick of avoidance as one compiled call: from the arm's terms and a table of obstacles to the torque.

    find the near pairs; without any, there is no torque
    factor M; repulsion of each pair; sums over all pairs; no joint above its limit
    torque in the place of the task's, where the task fades; all of it together

The equations are those of :mod:`~arm_control.control.avoidance_law`; here is what is called when.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import NORMAL, POINT, RHO, CloseSearch, PairSearch, find_pairs, whole_blocks
from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    Binds,
    BoundProcedure,
    BoundResult,
    CallForm,
    Floats,
    ItemsArgument,
    Kernel,
    KernelCall,
    LoopKernel,
    NumberResult,
    OwnWork,
    Rows,
    RunsKernel,
    RunsLoop,
    TupleArgument,
    TupleResult,
    compile_procedure,
    procedure,
    split,
)
from arm_control.maths import Array
from arm_control.model import Terms

CALL = "tick"
"""Name of the built-in function."""
INFINITY = float("inf")


class AvoidanceLaws(NamedTuple):
    """The compiled laws of one arm.

    Attributes
    ----------
    factor : Kernel
        ``L^-1`` of M.
    repulsion : LoopKernel
        Of each pair.
    shorten : Kernel
        The sum within the limits.
    takeover : Kernel
        Torque in the place of the task's.
    n_numbers : int
        Size of the input ``numbers`` of the repulsion.
    output : type
        Named tuple of the results: torque of avoidance and of all, share of the task, distance, the arm's terms, the
        obstacles, the parameters, and what reads more out of them.
    """

    factor: Kernel
    repulsion: LoopKernel
    shorten: Kernel
    takeover: Kernel
    n_numbers: int
    output: type[tuple[object, ...]]


class Tick(NamedTuple):
    """All that a tick works with.

    Attributes
    ----------
    inputs : ndarray, shape (3 n + n n + n,)
        q, v, h and M of the arm's terms; torque of the task.
    outputs : ndarray, shape (3 n + 2,)
        Torque of avoidance, torque in the place of the task's, torque of all, share of the task, distance.
    factor, shorten, takeover : RunsKernel
        Laws of one case; their inputs and outputs are ``M`` to ``tau_takeover``.
    repulsion : RunsLoop
        The law of each near pair; its arrays are ``v``, ``pushes`` and ``share``.
    pushes : ndarray, shape (n + n (n + 1) / 2, N)
        Torque, then the term of E in (8).
    sums : ndarray, shape (lanes, n + n (n + 1) / 2)
        Of every pair whose place divided by ``lanes`` leaves the same; their sum is the first row.
    n, n_sums, lanes : int
        Joints; numbers that are summed up; sums of each.
    replaces_always : bool
        Whether the task's torque is replaced even where it does not fade.
    """

    inputs: Floats
    outputs: Floats
    search: CloseSearch
    factor: RunsKernel
    M: Floats
    repulsion: RunsLoop
    v: Floats
    pushes: Rows
    share: Rows
    sums: Rows
    shorten: RunsKernel
    sum: Floats
    tau: Floats
    takeover: RunsKernel
    M_takeover: Floats
    v_takeover: Floats
    h_takeover: Floats
    escape: Floats
    tau_takeover: Floats
    n: int
    n_sums: int
    lanes: int
    replaces_always: bool


@procedure
def avoid(t: Tick) -> float:
    """One tick: inputs to outputs; returns 1 where there is no room for all near pairs, else 0."""
    for i in range(t.n):
        t.search.arm.q[i] = t.inputs[i]
    n_near = int(find_pairs(t.search))
    if n_near > t.search.near.capacity:
        return 1.0
    n = t.n
    for i in range(2 * n):
        t.outputs[i] = 0.0
    for lane in range(t.lanes):
        for i in range(t.n_sums):
            t.sums[lane, i] = 0.0
    share = 1.0
    distance = INFINITY
    if n_near > 0:
        add_repulsion(t, n_near)
        for j in range(n_near):
            share = min(share, t.share[0, j])
            distance = min(distance, t.search.near.distance[0, j])
    if share < 1.0 or t.replaces_always:
        replace_task(t)
    for i in range(n):
        tau_task = t.inputs[3 * n + n * n + i]
        if share < 1.0:
            tau_task = share * tau_task + (1.0 - share) * t.outputs[n + i]
        t.outputs[2 * n + i] = tau_task + t.outputs[i]
    t.outputs[3 * n] = share
    t.outputs[3 * n + 1] = distance
    return 0.0


@procedure
def add_repulsion(t: Tick, n_near: int) -> None:
    """Torque of all near pairs, within the limits."""
    for i in range(t.n * t.n):
        t.M[i] = t.inputs[3 * t.n + i]
    for i in range(t.n):
        t.v[i] = t.inputs[t.n + i]
    t.factor()
    t.repulsion(whole_blocks(n_near))
    for j in range(n_near):
        lane = t.search.near.place[j] % t.lanes
        for i in range(t.n_sums):
            t.sums[lane, i] += t.pushes[i, j]
    for lane in range(1, t.lanes):
        for i in range(t.n_sums):
            t.sums[0, i] += t.sums[lane, i]
    for i in range(t.n):
        t.sum[i] = t.sums[0, i]
    t.shorten()
    for i in range(t.n):
        t.outputs[i] = t.tau[i]


@procedure
def replace_task(t: Tick) -> None:
    """Torque in the place of the task's."""
    for i in range(t.n * t.n):
        t.M_takeover[i] = t.inputs[3 * t.n + i]
    for i in range(t.n):
        t.v_takeover[i] = t.inputs[t.n + i]
        t.h_takeover[i] = t.inputs[2 * t.n + i]
    for i in range(t.n_sums - t.n):
        t.escape[i] = t.sums[0, t.n + i]
    t.takeover()
    for i in range(t.n):
        t.outputs[t.n + i] = t.tau_takeover[i]


@cache
def _compiled() -> Binds[Tick]:
    """Each arm's tick; while it runs, no other thread works on its memory."""
    return compile_procedure(avoid, keeps_lock=True)


def tick_form(n: int, output: type[tuple[object, ...]]) -> CallForm:
    """Return the form of a tick of terms and obstacles, for n joints."""
    q, v, h = (ArrayArgument("state", (n,), first) for first in (0, n, 2 * n))
    terms = TupleArgument(Terms, (q, v, None, None, None, None, ArrayArgument("state", (n, n), 3 * n), None, h))
    arguments = (terms, ItemsArgument("current"), ArrayArgument("tau_task", (n,)))
    return CallForm(CALL, arguments, result_form(output, "state"), n_required=2, takes_none=True)


def output_shapes(n: int) -> dict[str, tuple[int, ...]]:
    """Return name and shape of each part of the outputs of a tick, for n joints."""
    return {"tau_avoid": (n,), "replacement": (n,), "tau_total": (n,), "share": (), "distance": ()}


def result_form(output: type[tuple[object, ...]], state: str) -> TupleResult:
    """Return the form of a result.

    Parameters
    ----------
    output : type
        As :class:`AvoidanceLaws` says.
    state : str
        Name of the arm's terms in it.
    """
    torques, numbers = map(ArrayResult, ("tau_avoid", "tau_total")), map(NumberResult, ("share", "distance"))
    about = BoundResult("current", 0), BoundResult("current", 1), BoundResult("reader")
    return TupleResult(output, (*torques, *numbers, ArrayResult(state), *about))


class AvoidanceParts(NamedTuple):
    """What a procedure around a tick works with.

    Attributes
    ----------
    inputs, outputs : ndarray
        As :class:`Tick` says.
    current : list
        The obstacles of the search, the parameters.
    """

    run: BoundProcedure[Tick]
    inputs: Array
    outputs: Array
    current: list[object]
    reader: object


class AvoidanceTick:
    """A tick with memory of its own.

    Parameters
    ----------
    replaces_always : bool
        Whether the torque in the place of the task's is computed even where the task does not fade.
    """

    def __init__(
        self, search: PairSearch, laws: AvoidanceLaws, tau_max: Array, *, replaces_always: bool = False
    ) -> None:
        self.search, self._laws, self._replaces_always = search, laws, replaces_always
        self._n = n = len(tau_max)
        self._factor, self._shorten, self._takeover = (
            OwnWork(law) for law in (laws.factor, laws.shorten, laws.takeover)
        )
        self._shorten.inputs["tau_max"][:] = tau_max
        self._inputs, self._outputs, self._v = np.zeros(4 * n + n * n), np.zeros(3 * n + 2), np.zeros(n)
        self._numbers = np.zeros(laws.n_numbers)
        self._of, self._procedure = search.record, _compiled()(self._record())

    def set_numbers(self, numbers: Sequence[float], reach: Sequence[float], damping: float) -> None:
        """Set what the laws depend on, from the next run on.

        Parameters
        ----------
        numbers : sequence of float
            Of the law of repulsion.
        reach : sequence of float
            Distances that count as near: of obstacles, of links [m].
        damping : float
            Of the torque in the place of the task's [1/s].
        """
        self._numbers[:], self.search.reach[:], self._takeover.inputs["damping"][:] = numbers, reach, damping

    def call(self, current: list[object], reader: object) -> KernelCall:
        """Return the tick as a function of terms, obstacles and torque.

        Parameters
        ----------
        current : list
            The obstacles of the search, and what else belongs to a result.
        """
        n = self._n
        inputs = split(self._inputs, {"state": (3 * n + n * n,), "tau_task": (n,)})
        bound, form = {"current": current, "reader": reader}, tick_form(n, self._laws.output)
        return KernelCall(form, self._procedure, inputs, split(self._outputs, output_shapes(n)), bound)

    def parts(self, current: list[object], reader: object) -> AvoidanceParts:
        """Return what a procedure around it works with; parameters as those of :meth:`call`."""
        return AvoidanceParts(self._procedure, self._inputs, self._outputs, current, reader)

    def run(self, *inputs: npt.ArrayLike) -> Array:
        """Return the outputs of these inputs, as :class:`Tick` says."""
        self._inputs[:] = np.concatenate([np.ravel(x) for x in inputs])
        while self._procedure_now()() > 0.0:
            self.search.make_room()
        return self._outputs.copy()

    def _procedure_now(self) -> BoundProcedure[Tick]:
        """The procedure, on the search's memory as it is now."""
        if self.search.record is not self._of:
            self._of = self.search.record
            self._procedure.replace(self._record())
        return self._procedure

    def _record(self) -> Tick:
        search, repulsion, n = self.search.record, self._laws.repulsion, self._n
        near = search.near
        n_sums = n + n * (n + 1) // 2
        pushes, share = np.zeros((n_sums, near.capacity)), np.zeros((1, near.capacity))
        pair = {"rho": near.distance[RHO], "n": near.distance[NORMAL], "p": near.distance[POINT], "sign": near.sign}
        pair |= {"twist": near.twist, "is_self": near.is_self}
        arm = {"v": self._v, "axes": self.search.axes.reshape(-1), "numbers": self._numbers}
        results = {"tau": pushes[:n], "escape": pushes[n:], "share": share}
        factor, shorten, takeover = self._factor, self._shorten, self._takeover
        run = repulsion.bind({**pair, **arm, **results, "L_inv": factor.outputs["L_inv"]})
        x = takeover.inputs
        return Tick(
            self._inputs, self._outputs, search,
            factor, factor.inputs["M"],
            run, self._v, pushes, share, np.zeros((repulsion.width, n_sums)),
            shorten, shorten.inputs["sum"], shorten.outputs["tau"],
            takeover, x["M"], x["v"], x["h"], x["escape"], takeover.outputs["takeover"],
            n, n_sums, repulsion.width, self._replaces_always,
        )  # fmt: skip
