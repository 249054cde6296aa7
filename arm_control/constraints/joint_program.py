"""The least change of a torque for the limits of the joints, without constraints: rows of joints in one procedure."""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import Floats, RunsKernel, procedure
from arm_control.constraints.least_change import N_ROWS, NOT_FINITE, LeastDistance, new_least_distance, solve
from arm_control.maths import Array


class JointProgram(NamedTuple):
    """What :func:`keep_joints` works on; n joints.

    Attributes
    ----------
    rows : RunsKernel
        The law :func:`~arm_control.constraints.joint_rows.rows_of_joints`; its input, the torque that is asked for, and
        its outputs:
    tau : ndarray, shape (n,)
    G, need, T : ndarray, shape (4 n * n,), (4 n,), (n * n,)
        Row by row.
    limits : ndarray, shape (2 n,)
        The lowest and the highest torques [N m or N].
    """

    rows: RunsKernel
    tau: Floats
    G: Floats
    need: Floats
    T: Floats
    limits: Floats
    program: LeastDistance
    n: int


@procedure
def keep_joints(t: JointProgram, tau_1: Floats) -> None:
    """Write what is left of the torque; nothing where the numbers are not finite."""
    n = t.n
    t.rows()
    write_joint_rows(t.program, t.G, t.need, n)
    if solve(t.program) == NOT_FINITE:
        return
    for i in range(n):
        tau_1[i] = t.tau[i]
    add_change(t.program, t.T, tau_1, n)
    for i in range(n):
        tau_1[i] = min(max(tau_1[i], t.limits[i]), t.limits[n + i])  # rounding


@procedure
def write_joint_rows(program: LeastDistance, G: Floats, need: Floats, n: int) -> None:
    """Write the rows of torque, and behind them those of the joints, into a program that had none."""
    for i in range(4 * n):
        program.h[i] = need[i]
        program.level[i] = 0 if i < 2 * n else 1
        for k in range(n):
            program.G[k, i] = G[n * i + k]
    program.counts[N_ROWS] = 4 * n


@procedure
def add_change(program: LeastDistance, T: Floats, tau: Floats, n: int) -> None:
    """Change a torque by what a program has found, equation (9) of :mod:`arm_control.constraints.barriers`."""
    for i in range(n):
        for j in range(n):
            tau[i] += T[n * i + j] * program.y[j]


def new_joint_program(rows: RunsKernel, tau: Array, *, G: Array, need: Array, T: Array, limits: Array) -> JointProgram:
    """Return the record for arrays of any shape, and its memory."""
    n = len(tau)
    G, need, T, limits = (x.reshape(-1) for x in (G, need, T, limits))
    return JointProgram(rows, tau, G, need, T, limits, new_least_distance(n, 4 * n), n)
