"""The rules of the gate: whether commands pass, how an arm is braked and held, and when a brake ends.

A gate is in one of three states:

    passing    commands pass, within the limits
    braking    no command passes until the gate is enabled; the arm is brought to rest, and held there
    holding    the arm is held until a command passes: at the start, and after a brake that was ended by *enable*

An arm that is braked or held gets the torque

    (1)  tau = g + c + M (-d v + d^2/4 (q_hold - q)),   d = min(brake_damping, D / lateness)
    (2)  q_hold = q   where tau has been reached, and max |v| < max(v_rest, v_peak / 10) or that was 3 / d ago;
                      after 0.3 s at most, and at once where the arm has not moved
    (3)  tau_1 = tau_0 + nu (clamp(tau, -tau_max, tau_max) - tau_0),   nu = min(1, rate_limit dt / max |tau - tau_0|)

gravity compensation, what was carried before the brake, and damping scaled by the mass matrix; the spring joins where
the arm is, not sooner: while the rate of torque is still limited it would throw the arm back. (A plain ``-b v`` would
be far too weak for the shoulder or unstable for the wrist; zero torque drops the arm.) (3) shortens a change of torque
as a whole: joint by joint, the torque that stops the shoulder later would throw the wrist now. Late states allow less
damping.

*Enable* ends a brake, and moves nothing: what the spring carries becomes part of c, and q_hold the measured position,

    (4)  c <- c + M d^2/4 (q_hold - q),   q_hold <- q

From then on a command passes only where it is the torque that holds the arm, but for a small acceleration:

    (5)  |tau_cmd - tau| <= |M| a_small,   joint by joint

A controller begins its first motion with what was carried; without an observer, which takes it over, that torque fades:

    (6)  c <- c T / (T + dt)

For the rate limit a tick counts with a time that is believed: 0.1 s at first, then a quarter more than a period p,
which follows these times and falls by a quarter of them, so that short ticks do not slow a brake. Where a clock
counts, too, states at one moment share the time since those before:

    (7)  dt_1 = B(min(dt, r_0 + t)),   B(x) = min(max(x, 0), 1.25 p_0)
    (8)  r_1 = B(r_0 + t) - dt_1,   p_1 = max(dt_1, p_0 - dt_1 / 4)

    q, v, q_hold     joint positions, velocities; where the arm is held    [rad, rad/s; m, m/s if prismatic]
    v_peak, v_rest   largest joint speed of this brake; 0.01               [rad/s]
    M, g             mass matrix, gravity torque                           [kg m^2; N m]
    tau_0, tau_1     torque before, torque that is applied                 [N m]
    c                torque that is carried beside the weight              [N m]
    lateness, D      delay of the states; 1.5                              [s; 1]
    a_small          1                                                     [rad/s^2 or m/s^2]
    T                0.5                                                   [s]
    dt, t            time since the tick before, by the stamps, the clock  [s]
    dt_1             time that counts                                      [s]
    r, p             time that the clock has left; period                  [s]

The rules are procedures (:mod:`arm_control.compiler.procedures`): a gate in Python calls them, an exported controller
has them in C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, Ints, procedure
from arm_control.maths import Array

MODE_HOLDING, MODE_PASSING, MODE_BRAKING = 0, 1, 2
"""Modes of a gate."""
LONGEST_DT = 0.1
"""Longest time between two ticks that is believed at first [s]."""
GROWTH = 1.25
"""Largest ratio of a tick's time to the period of the ticks before."""
AT_REST = 0.01
"""``v_rest``: largest joint speed of an arm that counts as being at rest [rad/s or m/s]."""
SLOW = 0.1
"""Share of the peak speed below which the spring joins, (2)."""
DAMPED = 3.0
"""Damping times the time in which it has stopped what it can stop, (2)."""
LONGEST_DAMPING = 0.3
"""Time after which the spring joins at the latest, (2) [s]."""
DELAYED_DAMPING = 1.5
"""``D``: largest product of damping and delay that is well damped, (1)."""
RESUMING_ACCELERATION = 1.0
"""``a_small`` [rad/s^2 or m/s^2]: with the spring of (1) that is less than 0.02 rad/s."""
FADING = 0.5
"""``T`` of (6) [s]."""
FADED = 1e-3
"""Carried torque that is left out, (6) [N m or N]."""
LARGEST = 1.7976931348623157e308
"""The largest number; an infinite one is larger."""

MODE, MISSED, HAS_HOLD, IS_REACHED, IS_RESUMING, IS_SATURATED, IS_RATE_LIMITED = 0, 1, 2, 3, 4, 5, 6
"""Entries of ``counts`` of :class:`GateMemory`."""
SINCE, REACHED, PEAK, DAMPING, LATENESS, RATE = 0, 1, 2, 3, 4, 5
"""Entries of ``times``."""


class GateMemory(NamedTuple):
    """What a gate knows.

    Attributes
    ----------
    counts : ndarray of int64, shape (7,)
        Mode; ticks without a command; whether the arm is held somewhere, the torque (1) has been reached, a brake has
        been ended by *enable* and no command has passed since; whether (3) has cut at the limits of effort, of rate.
    times : ndarray, shape (6,)
        Duration of the brake, time since (1) was reached [s], largest joint speed of the brake [rad/s or m/s],
        ``brake_damping`` [1/s], lateness [s], ``rate_limit`` [N m/s].
    q, v, g : ndarray, shape (n,)
        The state [rad or m; rad/s or m/s] and its gravity torque [N m or N].
    M : ndarray, shape (n * n,)
        Its mass matrix, row by row.
    command, asked, tau, tau_max : ndarray, shape (n,)
        Torque of a command, torque (1), the last torque, which (3) changes, and effort limits [N m or N].
    hold, spring, carried : ndarray, shape (n,)
        Where the arm is held [rad or m], acceleration of the spring [rad/s^2 or m/s^2], c of (1) [N m or N].
    """

    counts: Ints
    times: Floats
    q: Floats
    v: Floats
    g: Floats
    M: Floats
    command: Floats
    asked: Floats
    tau: Floats
    tau_max: Floats
    hold: Floats
    spring: Floats
    carried: Floats
    n: int


def new_gate_memory(tau_max: Floats, brake_damping: float, rate_limit: float) -> GateMemory:
    """Return the memory of a gate that holds an arm until the first command.

    Parameters
    ----------
    tau_max : ndarray, shape (n,)
        Effort limits [N m or N].
    brake_damping : float
        Largest d of (1) [1/s].
    rate_limit : float
        Largest rate of change of a torque [N m/s].
    """
    n = len(tau_max)
    rows = {name: np.zeros(n * n if name == "M" else n) for name in GateMemory._fields[2:-1]}
    times = np.array([0.0, 0.0, 0.0, brake_damping, 0.0, rate_limit])
    return GateMemory(np.zeros(7, dtype=np.int64), times, **{**rows, "tau_max": tau_max.copy()}, n=n)


@procedure
def believed_time(dt: float, period: float) -> float:
    """Return the time of a tick that is believed [s], B of (7); ``period`` is 0 before the first one."""
    if not dt > 0.0:
        return 0.0
    return min(dt, GROWTH * period if period > 0.0 else LONGEST_DT)


@procedure
def period_of_ticks(dt: float, period: float) -> float:
    """Return the period of the ticks after one that has counted ``dt`` [s], p of (8)."""
    return max(dt, period - (GROWTH - 1.0) * dt)


@procedure
def begin_brake(gate: GateMemory) -> None:
    """Brake from now on; an arm that is held after a brake goes on being carried."""
    if gate.counts[MODE] == MODE_PASSING:
        for i in range(gate.n):
            gate.carried[i] = 0.0
        forget_hold(gate)
    gate.counts[MODE] = MODE_BRAKING
    gate.counts[IS_RESUMING] = 0


@procedure
def forget_hold(gate: GateMemory) -> None:
    """Let the spring join anew, equation (2)."""
    gate.counts[HAS_HOLD] = 0
    gate.counts[IS_REACHED] = 0
    gate.times[SINCE] = 0.0
    gate.times[REACHED] = 0.0
    gate.times[PEAK] = 0.0
    for i in range(gate.n):
        gate.spring[i] = 0.0


@procedure
def end_brake(gate: GateMemory) -> None:
    """Enable: hold the arm where it is, equation (4)."""
    if gate.counts[MODE] != MODE_BRAKING:
        return
    gate.counts[MODE] = MODE_HOLDING
    gate.counts[IS_RESUMING] = 1
    for i in range(gate.n):
        gate.carried[i] = torque_beside_weight(gate, i)
    for i in range(gate.n):
        gate.spring[i] = 0.0
        gate.hold[i] = gate.q[i]


@procedure
def torque_beside_weight(gate: GateMemory, i: int) -> float:
    """Return the torque beside the weight that holds a joint: what is carried, and the spring's."""
    tau = gate.carried[i]
    for k in range(gate.n):
        tau += gate.M[gate.n * i + k] * gate.spring[k]
    return tau


@procedure
def left_after(dt: float) -> float:
    """Return the share of a carried torque that is left after a tick, equation (6)."""
    return FADING / (FADING + dt)


def worth_carrying(tau: Array) -> Array | None:
    """Return a carried torque, or None where equation (6) leaves it out."""
    return tau if np.abs(tau).max() > FADED else None


@procedure
def pass_command(gate: GateMemory) -> None:
    """A command passes: the arm is no longer held."""
    gate.counts[MODE] = MODE_PASSING
    gate.counts[IS_RESUMING] = 0
    gate.counts[MISSED] = 0
    gate.counts[HAS_HOLD] = 0


@procedure
def miss_command(gate: GateMemory, max_missed: int) -> bool:
    """Count a tick without a command; return whether so many make the gate brake."""
    if gate.counts[MODE] != MODE_PASSING:
        return False
    gate.counts[MISSED] += 1
    if gate.counts[MISSED] < max_missed:
        return False
    begin_brake(gate)
    return True


@procedure
def damping_of(brake_damping: float, lateness: float) -> float:
    """Return d of (1) [1/s]."""
    return min(brake_damping, DELAYED_DAMPING / lateness) if lateness > 0.0 else brake_damping


@procedure
def may_hold(gate: GateMemory, d: float, speed: float) -> bool:
    """Whether the spring joins now, equation (2)."""
    is_slow = speed < max(AT_REST, SLOW * gate.times[PEAK])
    is_damped = is_slow or gate.times[REACHED] * d >= DAMPED
    is_late = gate.times[SINCE] >= LONGEST_DAMPING
    return gate.times[PEAK] < AT_REST or (gate.counts[IS_REACHED] == 1 and is_damped) or is_late


@procedure
def hold_torque(gate: GateMemory, dt: float) -> None:
    """Compute the torque that brakes and holds the arm, equations (1) and (2), within the effort limits."""
    n = gate.n
    d = damping_of(gate.times[DAMPING], gate.times[LATENESS])
    speed = 0.0
    for i in range(n):
        speed = max(speed, abs(gate.v[i]))
    gate.times[SINCE] += dt
    gate.times[REACHED] += dt if gate.counts[IS_REACHED] == 1 else 0.0
    gate.times[PEAK] = max(gate.times[PEAK], speed)
    if gate.counts[HAS_HOLD] == 0 and may_hold(gate, d, speed):
        gate.counts[HAS_HOLD] = 1
        for i in range(n):
            gate.hold[i] = gate.q[i]  # (2)
    for i in range(n):
        gate.spring[i] = 0.25 * d * d * (gate.hold[i] - gate.q[i]) if gate.counts[HAS_HOLD] == 1 else 0.0
    gate.counts[IS_SATURATED] = 0
    for i in range(n):
        tau = gate.g[i] + gate.carried[i]
        for k in range(n):
            tau += gate.M[n * i + k] * (gate.spring[k] - d * gate.v[k])  # (1)
        tau = tau if abs(tau) <= LARGEST else gate.g[i]  # a state may be finite and yet absurd
        if abs(tau) > gate.tau_max[i]:
            gate.counts[IS_SATURATED] = 1
        gate.asked[i] = within_effort(gate, i, tau)


@procedure
def within_effort(gate: GateMemory, i: int, tau: float) -> float:
    """Return a torque of a joint, cut at its effort limit."""
    return min(max(tau, -gate.tau_max[i]), gate.tau_max[i])


@procedure
def apply_hold(gate: GateMemory, dt: float) -> None:
    """Bring the torque to the one that holds the arm, as fast as it may change, equation (3)."""
    step = gate.times[RATE] * dt
    change = 0.0
    for i in range(gate.n):
        change = max(change, abs(gate.asked[i] - gate.tau[i]))
    is_limited = change > step
    gate.counts[IS_RATE_LIMITED] = 1 if is_limited else 0
    gate.counts[IS_REACHED] = 0 if is_limited else 1
    for i in range(gate.n):
        if is_limited:
            gate.tau[i] += (gate.asked[i] - gate.tau[i]) * (step / change)
        else:
            gate.tau[i] = gate.asked[i]


@procedure
def unlike_joint(gate: GateMemory) -> int:
    """Return the first joint whose command is not the torque that holds the arm, equation (5); -1: none is."""
    n = gate.n
    for i in range(n):
        room = 0.0
        for k in range(n):
            room += abs(gate.M[n * i + k]) * RESUMING_ACCELERATION
        if not (abs(gate.command[i] - gate.asked[i]) <= room):
            return i
    return -1
