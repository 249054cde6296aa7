"""Operational space control with constraints and the limits of the gate: the procedure behind one call a tick.

    law and limits, one kernel; the constraints; where these change the torque, the limits of what they leave

These are the kernels of the separate calls, one behind the other: so the bits are the same. A state outside a
constraint is left to the gate: the torque counts as one that it does not believe.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from arm_control.compiler import Binds, BoundProcedure, Floats, Ints, OwnWork, RunsKernel, compile_procedure, procedure
from arm_control.constraints import IS_IDLE, MOST_OUTSIDE, ConstraintSet
from arm_control.gate import JointLimits, limit_samples, limits_law
from arm_control.model import RobotModel


class ConstrainedRecord(NamedTuple):
    """All that a step works with.

    Attributes
    ----------
    law : RunsKernel
        Law and limits; its memory:
    q, v, tool, tau_0, dt, is_on, limits, h, M, g, tau, passed, believable : ndarray
        ``passed`` is ``tau_1`` and ``cut``.
    constrain : RunsKernel
        The constraints, and their memory.
    limit : RunsKernel
        The limits by themselves, and their memory.
    """

    law: RunsKernel
    q: Floats
    v: Floats
    tool: Floats
    tau_0: Floats
    dt: Floats
    is_on: Floats
    limits: Floats
    h: Floats
    M: Floats
    g: Floats
    tau: Floats
    passed: Floats
    believable: Floats
    constrain: RunsKernel
    constrain_inputs: Floats
    tau_kept: Floats
    found: Ints
    limit: RunsKernel
    limit_inputs: Floats
    limit_outputs: Floats
    n: int
    n_tool: int
    n_limits: int


@procedure
def step_within(t: ConstrainedRecord) -> float:
    """One step: inputs to outputs; returns 0 where they count."""
    if t.law() != 0.0:
        return 1.0
    if not t.believable[0] > 0.0:
        return 0.0
    n = t.n
    x = t.constrain_inputs
    end = n * n + 6 * n + 1
    put(x, 0, t.q, n)
    put(x, n, t.v, n)
    put(x, 2 * n, t.h, n)
    put(x, 3 * n, t.M, n * n)
    put(x, n * n + 3 * n, t.tau, n)
    put(x, n * n + 4 * n, t.g, n)
    put(x, n * n + 5 * n, t.tau_0, n)
    put(x, end - 1, t.dt, 1)
    put(x, end + n, t.tool, t.n_tool)
    put(x, end + n + t.n_tool, t.limits, t.n_limits)
    if t.constrain() != 0.0:
        return 1.0
    if t.found[MOST_OUTSIDE] >= 0:
        t.believable[0] = 0.0
    if t.found[MOST_OUTSIDE] >= 0 or t.found[IS_IDLE] == 1:
        return 0.0
    y = t.limit_inputs
    put(y, 0, x, end)
    put(y, n * n + 3 * n, t.tau_kept, n)
    put(y, end, t.is_on, 1)
    put(y, end + 1, t.limits, t.n_limits)
    if t.limit() != 0.0:
        return 1.0
    put(t.passed, 0, t.limit_outputs, n + 3)
    return 0.0


@procedure
def put(target: Floats, first: int, source: Floats, n: int) -> None:
    """Copy n numbers to a place."""
    for i in range(n):
        target[first + i] = source[i]


@cache
def _compiled() -> Binds[ConstrainedRecord]:
    return compile_procedure(step_within, keeps_lock=True)


def constrained_run(
    model: RobotModel, law: RunsKernel, memory: OwnWork, rows: ConstraintSet, limits: JointLimits
) -> BoundProcedure[ConstrainedRecord]:
    """Return what computes law and limits with constraints between them, on the memory of the first two."""
    n, x, y, parts = model.nv, memory.inputs, memory.outputs, rows.parts
    limit = OwnWork(model.compile_law(limits_law(limits.is_unlimited), limit_samples(n)))
    n_inputs = sum(views.size for views in limit.inputs.values())
    tau_1 = sum(views.size for views in x.values()) + sum(y[name].size for name in list(y)[: list(y).index("tau_1")])
    return _compiled()(ConstrainedRecord(
        law, x["q"], x["v"], x["tool"], x["tau_0"], x["dt"], x["is_on"], x["limits"],
        y["h"], y["M"].reshape(-1), y["g"], y["tau"], memory.work[tau_1 : tau_1 + n + 3], y["believable"].reshape(1),
        parts.run, parts.inputs, parts.tau_1, parts.found,
        limit, limit.work[:n_inputs], limit.work[n_inputs:], n, len(x["tool"]), len(x["limits"]),
    ))  # fmt: skip
