"""One tick of an exported controller: law and gate in a measured state, or without one.

The rules are those of :mod:`arm_control.gate`; this module puts them in order, as the control loop does
(:mod:`arm_control.control.loop`) for the nodes:

    time     a tick whose time is not above zero counts as none; too many of them in a row brake
    state    judged; one that is no number is missing, one that is not believed brakes, and so does a gap
    law      model, law and limits in one function, which the export compiles
    torque   the law's, with what a brake carried, changed for constraints; or the last one again; or that of the brake
    blind    a braked arm without states is braked on a prediction, for a second

A reference is a goal: a brake ends it, and after *enable* the arm is held until there is a new one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, Ints, RunsKernel, nearest, procedure
from arm_control.constraints import (
    IS_BROKEN,
    MOST_OUTSIDE,
    N_FOUND,
    JointProgram,
    keep_joints,
    new_joint_program,
)
from arm_control.core import LARGEST_STAMP, NANOSECONDS
from arm_control.gate import (
    BELIEVED,
    FADED,
    IS_RATE_LIMITED,
    IS_RESUMING,
    IS_SATURATED,
    LARGEST_SHARE,
    MODE,
    MODE_BRAKING,
    MODE_PASSING,
    N_NOTED,
    NOT_FINITE,
    RETURNED,
    BlindMemory,
    GateMemory,
    GateParameters,
    Moments,
    NewState,
    StateMemory,
    apply_hold,
    begin_brake,
    believed_time,
    doubted_time,
    end_brake,
    end_prediction,
    has_long_gap,
    hold_torque,
    is_changed,
    judge_state,
    left_after,
    miss_command,
    new_gate_memory,
    new_memory,
    new_moments,
    new_prediction,
    new_state,
    note_moment,
    pass_command,
    period_after,
    period_of_ticks,
    predict_state,
    seconds,
    torque_beside_weight,
    unwrap,
    within_effort,
)
from arm_control.model import RobotModel

NO_CAUSE, NO_COMMAND, NO_STATE, IMPOSSIBLE_STATE, ASKED, NO_TIME, BROKEN_CONSTRAINT = 0, 1, 2, 3, 4, 5, 6
"""Why the gate brakes."""
ENDLESS = 1e6
"""Longer times between two states make no difference [s]."""

CAUSE, HAS_REFERENCE, HAS_TORQUE, MISSED_TIMES, DOUBTED, IS_CARRYING = 0, 1, 2, 3, 4, 5
"""Entries of ``counts``: the controller; ``DOUBTED`` is the age of the states that are not trusted [ns]."""
STATE_REFUSED, COMMAND_REFUSED, LIMITED, SATURATED, RATE_LIMITED = 6, 7, 8, 9, 10
"""Entries of ``counts``: what was done in this tick."""
NOW, STATE_AT = 11, 12
"""Entries of ``counts``: time since the start, and when the last state came that was believed [ns]."""
IS_RECOVERING, N_COUNTS = 13, 14
"""An entry of ``counts``, whether the arm comes back from outside a constraint; number of entries."""
SPARE_PERIODS = 2
"""Periods beyond ``max_missed`` for which one torque counts in a prediction."""
DT, PERIOD, STATE_PERIOD, MISSED_STATES = 0, 1, 2, 3
"""Entries of ``times``."""


class LawMemory(NamedTuple):
    """The compiled laws.

    Attributes
    ----------
    run : RunsKernel
        Model, law and limits in the state; fills in all outputs.
    limit : RunsKernel
        Limits of the torque ``tau`` in the state that was computed last; fills in ``tau_1`` and ``cut``.
    constrain : RunsKernel
        Changes ``tau`` in that state for the constraints, and fills in ``found``.
    dt, is_on : ndarray, shape (1,)
        Time of the tick [s]; whether limits of position and speed count.
    M : ndarray, shape (n * n,)
        Mass matrix, row by row.
    g, h, tau, tau_1 : ndarray, shape (n,)
        Gravity torque, bias, torque of the law, and what of it may pass [N m or N].
    cut : ndarray, shape (3,)
        Above zero: limited, saturated, rate limited.
    believable : ndarray, shape (1,)
        Above zero: the torque of the law is one that the gate believes.
    found : ndarray of int, shape (N_FOUND,)
        What the constraints have found.
    """

    run: RunsKernel
    limit: RunsKernel
    constrain: RunsKernel
    q: Floats
    v: Floats
    tau_0: Floats
    dt: Floats
    is_on: Floats
    M: Floats
    g: Floats
    h: Floats
    tau: Floats
    tau_1: Floats
    cut: Floats
    believable: Floats
    found: Ints


class TickMemory(NamedTuple):
    """All that a controller knows.

    Attributes
    ----------
    joints : JointProgram
        What changes a torque that the limits of the joints do not let pass.
    times : ndarray, shape (4,)
        Time of this tick as it is given, that of the last one as it is believed, usual time between two states [s];
        states that were missing since the last one.
    blind : BlindMemory
        The prediction for a braked arm that is not measured.
    fading : ndarray, shape (n,)
        Torque that is carried on from a brake [N m or N].
    usual_dt : float
        Time between two ticks, where they do not say it [s].
    is_constrained, may_recover : int
        Whether there are constraints; whether the arm is led back that starts outside of one.
    """

    counts: Ints
    times: Floats
    states: StateMemory
    state: NewState
    gate: GateMemory
    moments: Moments
    blind: BlindMemory
    law: LawMemory
    joints: JointProgram
    fading: Floats
    max_missed: int
    joint_limits: int
    usual_dt: float
    is_constrained: int
    may_recover: int
    n: int


@procedure
def answer(c: TickMemory) -> float:
    """Answer the state at hand, or do without it; return 0."""
    for k in range(STATE_REFUSED, NOW):
        c.counts[k] = 0
    dt = take_time(c)
    c.counts[NOW] = min(c.counts[NOW] + nearest(NANOSECONDS * dt), LARGEST_STAMP)
    c.counts[DOUBTED] = 0
    if take_state(c, dt):
        answer_state(c, dt)
    else:
        c.counts[STATE_REFUSED] = 1
        answer_without_state(c, dt)
    return 0.0


@procedure
def has_answered(c: TickMemory) -> bool:
    """Whether a state has been answered, so that there is a torque."""
    return c.moments.counts[N_NOTED] > 0


@procedure
def brake_for(c: TickMemory, cause: int) -> None:
    """Brake; the first cause is kept. A goal is void."""
    if c.gate.counts[MODE] != MODE_BRAKING:
        begin_brake(c.gate)
        c.counts[CAUSE] = cause
    c.counts[HAS_REFERENCE] = 0
    c.counts[IS_CARRYING] = 0


@procedure
def enable_gate(c: TickMemory) -> None:
    """End a brake: hold the arm until there is a new reference."""
    if c.gate.counts[MODE] == MODE_BRAKING:
        end_brake(c.gate)
        c.counts[CAUSE] = NO_CAUSE
        c.counts[HAS_REFERENCE] = 0


@procedure
def take_reference(c: TickMemory) -> bool:
    """Let the arm follow a reference; return whether it may: none acts that is set while the gate brakes."""
    if c.gate.counts[MODE] == MODE_BRAKING:
        return False
    c.counts[HAS_REFERENCE] = 1
    return True


@procedure
def take_torque(c: TickMemory) -> None:
    """Go on from the torque that the gate has been given as the one of the motors."""
    c.counts[HAS_TORQUE] = 1
    for i in range(c.n):
        c.gate.tau[i] = within_effort(c.gate, i, c.gate.tau[i])


@procedure
def take_time(c: TickMemory) -> float:
    """Return the time of a tick [s]; 0 where it is not above zero, and a period in too many such ticks, which brake."""
    if c.times[DT] > 0.0:
        c.counts[MISSED_TIMES] = 0
        return min(c.times[DT], ENDLESS)
    if c.counts[MISSED_TIMES] < c.max_missed:
        c.counts[MISSED_TIMES] += 1
        return 0.0
    brake_for(c, NO_TIME)
    return c.times[PERIOD] if c.times[PERIOD] > 0.0 else c.usual_dt


@procedure
def take_state(c: TickMemory, dt: float) -> bool:
    """Judge the state at hand; return whether it is believed."""
    is_first = not has_answered(c)
    unwrap(c.states, c.state)
    since = 0.0 if is_first else seconds(c.counts[NOW] - c.counts[STATE_AT])
    result = judge_state(c.states, c.state, since, dt)
    if result == NOT_FINITE:
        miss_state(c, dt)
        return False
    if result != BELIEVED:
        brake_for(c, IMPOSSIBLE_STATE)
        c.counts[DOUBTED] = doubted_time(c.states, result, since)
        if result != RETURNED:
            return False
    if not is_first:
        watch_gap(c, since)
    c.counts[STATE_AT] = c.counts[NOW]
    c.times[MISSED_STATES] = 0.0
    return True


@procedure
def miss_state(c: TickMemory, dt: float) -> None:
    """Count a state that is missing; in a long time several are."""
    period = c.times[STATE_PERIOD]
    c.times[MISSED_STATES] += max(float(nearest(dt / period)), 1.0) if period > 0.0 else 1.0
    if c.times[MISSED_STATES] > c.max_missed:
        brake_for(c, NO_STATE)


@procedure
def watch_gap(c: TickMemory, since: float) -> None:
    """Brake where states were missing for too long before this one."""
    period = c.times[STATE_PERIOD]
    c.times[STATE_PERIOD] = period_after(period, since)
    if has_long_gap(period, since, c.max_missed):
        brake_for(c, NO_STATE)


@procedure
def run_law(c: TickMemory, q: Floats, v: Floats, dt: float) -> None:
    """Model, law and limits in a state; the gate gets the model's terms."""
    for i in range(c.n):
        c.law.q[i] = q[i]
        c.law.v[i] = v[i]
        c.law.tau_0[i] = c.gate.tau[i]
    c.law.dt[0] = dt
    c.law.is_on[0] = float(c.joint_limits) if c.is_constrained == 0 else 0.0
    c.law.run()
    for i in range(c.n):
        c.gate.q[i] = q[i]
        c.gate.v[i] = v[i]
        c.gate.g[i] = c.law.g[i]
    for i in range(c.n * c.n):
        c.gate.M[i] = c.law.M[i]


@procedure
def begin_torque(c: TickMemory) -> None:
    """Before the first state the motors have the torque that they were said to have, or the arm's weight."""
    if c.counts[HAS_TORQUE] == 0:
        run_law(c, c.state.q, c.state.v, 0.0)
        for i in range(c.n):
            c.gate.tau[i] = c.law.g[i]
        take_torque(c)


@procedure
def take_period(c: TickMemory, dt: float) -> float:
    """Return the time of a tick that counts [s], and note it; ``dt`` is how long it takes."""
    believed = believed_time(dt, c.times[PERIOD])
    c.times[PERIOD] = period_of_ticks(believed, c.times[PERIOD])
    return believed


@procedure
def answer_state(c: TickMemory, dt: float) -> None:
    """The torque in a state that is believed."""
    end_prediction(c.blind, c.moments, c.gate, c.counts[NOW])
    believed = take_period(c, dt)
    begin_torque(c)
    is_offered = c.counts[HAS_REFERENCE] == 1
    if is_offered and c.gate.counts[IS_RESUMING] == 1:
        begin_motion(c)
    run_law(c, c.state.q, c.state.v, believed)
    is_passing = is_offered and c.law.believable[0] > 0.0 and is_carried_believed(c)
    if is_passing:
        add_carried(c)
        is_passing = keep_constraints(c)
    if is_passing:
        pass_command(c.gate)
        pass_torque(c)
    else:
        c.counts[COMMAND_REFUSED] = 1 if is_offered else 0
        answer_without_command(c, believed)
    if c.counts[IS_CARRYING] == 1:
        fade(c, dt)
    note_moment(c.moments, c.counts[NOW], c.state.q, c.state.v, c.gate.tau)


@procedure
def answer_without_command(c: TickMemory, dt: float) -> None:
    """The last torque again; or the torque that brakes or holds the arm."""
    if miss_command(c.gate, c.max_missed):
        c.counts[CAUSE] = NO_COMMAND
        c.counts[HAS_REFERENCE] = 0
        c.counts[IS_CARRYING] = 0
    if c.gate.counts[MODE] == MODE_PASSING:
        c.law.is_on[0] = float(c.joint_limits)  # without a command no constraints are kept
        for i in range(c.n):
            c.law.tau[i] = c.gate.tau[i]
        c.law.limit()
        note_limited(c)
    else:
        hold(c, dt)


@procedure
def begin_motion(c: TickMemory) -> None:
    """Begin the first motion after a brake with the torque that has held the arm."""
    c.gate.counts[IS_RESUMING] = 0
    c.counts[IS_CARRYING] = 1
    for i in range(c.n):
        c.fading[i] = torque_beside_weight(c.gate, i)


@procedure
def is_carried_believed(c: TickMemory) -> bool:
    """Whether the torque of the law is one that the gate believes with what a brake carried, too."""
    is_believed = True
    for i in range(c.n):
        carried = c.fading[i] if c.counts[IS_CARRYING] == 1 else 0.0
        is_believed = is_believed and abs(c.law.tau[i] + carried) <= LARGEST_SHARE * c.gate.tau_max[i]
    return is_believed


@procedure
def add_carried(c: TickMemory) -> None:
    """Add what a brake carried to the law's torque."""
    if c.counts[IS_CARRYING] == 1:
        for i in range(c.n):
            c.law.tau[i] += c.fading[i]


@procedure
def keep_constraints(c: TickMemory) -> bool:
    """Change the law's torque for the constraints; return whether it may pass: a gate brakes outside of them."""
    if c.is_constrained == 0:
        return True
    c.law.constrain()
    starts = c.gate.counts[MODE] != MODE_PASSING
    is_outside = c.law.found[MOST_OUTSIDE] >= 0
    recovers = is_outside and c.may_recover == 1 and (starts or c.counts[IS_RECOVERING] == 1)
    c.counts[IS_RECOVERING] = 1 if recovers else 0
    if not is_outside or recovers or not (starts or c.law.found[IS_BROKEN] == 1):
        return True
    brake_for(c, BROKEN_CONSTRAINT)
    return False


@procedure
def pass_torque(c: TickMemory) -> None:
    """Let the law's torque pass, within its limits: where only the law is in it, these are computed."""
    if c.counts[IS_CARRYING] == 1 or c.is_constrained == 1:
        c.law.limit()
    note_limited(c)


@procedure
def fade(c: TickMemory, dt: float) -> None:
    """What a brake carried fades from the first motion on."""
    largest = 0.0
    for i in range(c.n):
        c.fading[i] *= left_after(dt)
        largest = max(largest, abs(c.fading[i]))
    c.counts[IS_CARRYING] = 1 if largest > FADED else 0


@procedure
def note_limited(c: TickMemory) -> None:
    """The torque within the limits is that of the motors."""
    if is_changed(c.law.cut):
        for i in range(c.n):
            c.joints.tau[i] = c.law.tau[i]
        keep_joints(c.joints, c.law.tau_1)
    for i in range(c.n):
        c.gate.tau[i] = c.law.tau_1[i]
    c.counts[LIMITED] = 1 if c.law.cut[0] > 0.0 else 0
    c.counts[SATURATED] = 1 if c.law.cut[1] > 0.0 else 0
    c.counts[RATE_LIMITED] = 1 if c.law.cut[2] > 0.0 else 0


@procedure
def hold(c: TickMemory, dt: float) -> None:
    """Brake or hold the arm in the state whose law was computed."""
    hold_torque(c.gate, dt)
    apply_hold(c.gate, dt)
    c.counts[SATURATED] = c.gate.counts[IS_SATURATED]
    c.counts[RATE_LIMITED] = c.gate.counts[IS_RATE_LIMITED]


@procedure
def answer_without_state(c: TickMemory, dt: float) -> None:
    """The last torque again; a gate that brakes goes on, on a predicted state."""
    if c.gate.counts[MODE] != MODE_BRAKING or not has_answered(c):
        return
    believed = take_period(c, dt)
    predict_state(c.blind, c.moments, c.gate, c.counts[NOW], c.counts[DOUBTED])
    run_law(c, c.blind.prediction.q, c.blind.prediction.v, believed)
    hold(c, believed)


@procedure
def longest_blind_step(max_missed: int, usual_dt: float) -> float:
    """Return the longest time for which one torque counts in a prediction [s]: until missing states brake."""
    return (max_missed + SPARE_PERIODS) * usual_dt


def new_tick_memory(model: RobotModel, gate: GateParameters, usual_dt: float) -> TickMemory:
    """Return the memory of a controller that has seen no state; functions of the export take the places of its own."""
    n, unset = model.nv, float
    q, v, tau_0, g, h, tau, tau_1, fading = np.zeros((8, n))
    dt, is_on, believable = np.zeros((3, 1))
    M, cut, found = np.zeros(n * n), np.zeros(3), np.zeros(N_FOUND, dtype=np.int64)
    law = LawMemory(unset, unset, unset, q, v, tau_0, dt, is_on, M, g, h, tau, tau_1, cut, believable, found)
    sizes = {"G": 4 * n * n, "need": 4 * n, "T": n * n, "limits": 2 * n}
    joints = new_joint_program(unset, np.zeros(n), **{name: np.zeros(size) for name, size in sizes.items()})
    prediction = new_prediction(n)
    counts = np.zeros(2, dtype=np.int64)
    longest_step = longest_blind_step(gate.max_missed, usual_dt)
    blind = BlindMemory(unset, unset, counts, prediction, np.zeros(n), longest_step)
    return TickMemory(
        np.zeros(N_COUNTS, dtype=np.int64),
        np.zeros(4),
        new_memory(model),
        new_state(n),
        new_gate_memory(model.tau_max, gate.brake_damping, gate.rate_limit),
        new_moments(n),
        blind,
        law,
        joints,
        fading,
        gate.max_missed,
        int(gate.joint_limits),
        usual_dt,
        0,
        0,
        n,
    )
