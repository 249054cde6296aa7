"""Braking without states, or with late ones: on a prediction from the last ones that were believed.

The model says how the arm goes on (:mod:`arm_control.gate.state_prediction`), for at most a second; from then on the
gate carries the weight of the arm. Once a state is found to be wrong, those before it may have been wrong, too. Not
trusted are, with the names of :mod:`arm_control.gate.state_bounds`,

    (1) to (3)   none: this state alone is wrong
    (4)          those of the last 2 dt e / (e - e_0 T / (T + dt)): growing as fast as now, e has needed half of that
    (5)          those that repeat an earlier one

and where this is not known, or more, those of the last 25 ms. Where states stop nothing says that the last ones were
wrong: not trusted are those from the first jump of a velocity on, |v - v_0| > w + a dt, in the last 25 ms. A late state
is brought up to date by the model first.

The rules are procedures (:mod:`arm_control.compiler.procedures`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, Ints, RunsKernel, compile_procedure, nearest, procedure
from arm_control.core import NANOSECONDS
from arm_control.gate.effort_gate import EffortGate, GateOutput
from arm_control.gate.state_bounds import (
    ACCELERATION,
    DEVIATED,
    DISAGREES,
    IS_FROZEN,
    JOINT,
    JUMPED,
    MEMORY,
    StateMemory,
    is_wrong_alone,
)
from arm_control.gate.state_prediction import LONGEST_STEP, PredictedState, new_prediction, predict
from arm_control.gate.torque_rules import GateMemory, forget_hold, torque_beside_weight
from arm_control.maths import Array
from arm_control.model import RobotModel

DOUBT = 25_000_000
"""Age of states that are not trusted once one is found to be wrong [ns]."""
SHORT_BLIND = 20_000_000
"""Time without states after which an arm that was held goes on being held there [ns]."""
LONGEST_BLIND = 1_000_000_000
"""Time after which a state is no longer predicted [ns]."""
STATE_SILENCE = 0.02
"""Time without a state after which the gate brakes, where ``max_age`` does not say it; so long one torque counts in a
prediction [s]."""
JUMP = 0.3
"""``w``: noise of velocities, and a little more [rad/s or m/s]."""
N_MOMENTS = 32
"""States that are remembered."""
SPACING = 900_000
"""Least time between two of them, the newest apart [ns]."""
HEAD, N_NOTED = 0, 1
"""Entries of ``counts`` of :class:`Moments`: place of the newest, and their number."""
IS_BLIND, PREDICTED = 0, 1
"""Entries of ``counts`` of :class:`BlindMemory`."""


class Moments(NamedTuple):
    """States that were believed, and the torque that was applied from then on.

    Attributes
    ----------
    counts : ndarray of int64, shape (2,)
        Place of the newest, and number of all.
    at : ndarray of int64, shape (N_MOMENTS,)
        When each came [ns].
    q, v, tau : ndarray, shape (N_MOMENTS * n,)
        Positions, velocities, torque, one state behind the other.
    """

    counts: Ints
    at: Ints
    q: Floats
    v: Floats
    tau: Floats
    n: int


class BlindMemory(NamedTuple):
    """What braking without states works on.

    Attributes
    ----------
    terms : RunsKernel
        Computes mass matrix and bias of the predicted state, into ``prediction``.
    predict : RunsKernel
        Lets the prediction go on by one step (:func:`arm_control.gate.state_prediction.predict`).
    counts : ndarray of int64, shape (2,)
        Whether the arm is braked on a predicted state; when it was predicted last [ns].
    unknown : ndarray, shape (n,)
        Part of the torque that carries what the model does not know [N m or N].
    longest_step : float
        Longest time for which one torque counts [s].
    """

    terms: RunsKernel
    predict: RunsKernel
    counts: Ints
    prediction: PredictedState
    unknown: Floats
    longest_step: float


def new_moments(n: int) -> Moments:
    """Return the memory of states of ``n`` joints."""
    q, v, tau = np.zeros((3, N_MOMENTS * n))
    counts, at = np.zeros(2, dtype=np.int64), np.zeros(N_MOMENTS, dtype=np.int64)
    return Moments(counts, at, q, v, tau, n)


@procedure
def note_moment(moments: Moments, t: int, q: Floats, v: Floats, tau: Floats) -> None:
    """Take note of a state that was believed."""
    head = moments.counts[HEAD]
    before = (head + N_MOMENTS - 1) % N_MOMENTS
    if moments.counts[N_NOTED] < 2 or moments.at[head] - moments.at[before] >= SPACING:
        head = (head + 1) % N_MOMENTS
        moments.counts[HEAD] = head
        moments.counts[N_NOTED] = min(moments.counts[N_NOTED] + 1, N_MOMENTS)
    moments.at[head] = t
    for i in range(moments.n):
        moments.q[head * moments.n + i] = q[i]
        moments.v[head * moments.n + i] = v[i]
        moments.tau[head * moments.n + i] = tau[i]


@procedure
def doubted_time(states: StateMemory, result: int, dt: float) -> int:
    """Return the age of the states that are not trusted after a result of ``judge_state``, with its ``dt`` [ns]."""
    if is_wrong_alone(result) or result == JUMPED:
        return 0
    if result == IS_FROZEN:
        return whole_nanoseconds(states.believed.unchanged[0] + dt)
    if result != DISAGREES:
        return DOUBT
    e = states.times[DEVIATED]
    change = e - states.believed.e[states.counts[JOINT]] * MEMORY / (MEMORY + dt)
    return whole_nanoseconds(2.0 * dt * e / change) if e * change > 0.0 else DOUBT


@procedure
def whole_nanoseconds(t: float) -> int:
    """Return the age of states in doubt [ns], from seconds; it is bounded."""
    return nearest(min(NANOSECONDS * t, DOUBT))


@procedure
def predict_state(blind: BlindMemory, moments: Moments, gate: GateMemory, now: int, doubt: int) -> None:
    """Predict the state now [ns]; states younger than ``doubt`` [ns] are not trusted."""
    for i in range(moments.n):
        blind.unknown[i] = gate.carried[i]
    if blind.counts[IS_BLIND] == 0:
        blind.counts[IS_BLIND] = 1
        begin_prediction(blind, moments, now, doubt)
    elif now - moments.at[moments.counts[HEAD]] < LONGEST_BLIND:
        for i in range(moments.n):
            blind.prediction.tau[i] = gate.tau[i] - blind.unknown[i]
        go_on(blind, seconds(now - blind.counts[PREDICTED]))
    else:
        for i in range(moments.n):
            blind.prediction.v[i] = 0.0
    blind.counts[PREDICTED] = now


@procedure
def begin_prediction(blind: BlindMemory, moments: Moments, now: int, doubt: int) -> None:
    """Predict the state now from the newest one that is trusted."""
    k = moment_before_jumps(moments, moment_before(moments, now - doubt))
    for i in range(moments.n):
        blind.prediction.q[i] = moments.q[k * moments.n + i]
        blind.prediction.v[i] = moments.v[k * moments.n + i]
    follow_moments(blind, moments, k, moments.at[k], now)


@procedure
def moment_before(moments: Moments, t: int) -> int:
    """Return the newest state that is not younger than this, or the oldest one."""
    k = moments.counts[HEAD]
    n_before = 0
    while n_before < moments.counts[N_NOTED] - 1 and moments.at[k] > t:
        k = (k + N_MOMENTS - 1) % N_MOMENTS
        n_before += 1
    return k


@procedure
def moment_before_jumps(moments: Moments, k: int) -> int:
    """Return the state before the first jump of a velocity, of those that lead to ``k``; without a jump, this one."""
    oldest = (moments.counts[HEAD] + N_MOMENTS + 1 - moments.counts[N_NOTED]) % N_MOMENTS
    begin = moments.at[k] - DOUBT
    following = k
    before = (following + N_MOMENTS - 1) % N_MOMENTS
    while following != oldest and moments.at[before] >= begin:
        if has_jumped(moments, before, following):
            k = before
        following = before
        before = (following + N_MOMENTS - 1) % N_MOMENTS
    return k


@procedure
def has_jumped(moments: Moments, before: int, following: int) -> bool:
    """Whether a velocity changes from one state to the next as that of no arm does."""
    largest = JUMP + ACCELERATION * seconds(moments.at[following] - moments.at[before])
    has = False
    for i in range(moments.n):
        has = has or abs(moments.v[following * moments.n + i] - moments.v[before * moments.n + i]) > largest
    return has


@procedure
def follow_moments(blind: BlindMemory, moments: Moments, k: int, begin: int, now: int) -> None:
    """Predict how the arm has moved from a time on, under the torque since the state ``k``."""
    is_last = False
    while not is_last:
        is_last = k == moments.counts[HEAD]
        following = (k + 1) % N_MOMENTS
        end = now if is_last else moments.at[following]
        for i in range(moments.n):
            blind.prediction.tau[i] = moments.tau[k * moments.n + i] - blind.unknown[i]
        go_on(blind, seconds(end - begin))
        begin = end
        k = following


@procedure
def end_prediction(blind: BlindMemory, moments: Moments, gate: GateMemory, now: int) -> None:
    """A state is measured again: unless only a few were missing, the arm is held where it comes to rest from now on."""
    if blind.counts[IS_BLIND] == 1:
        blind.counts[IS_BLIND] = 0
        if now - moments.at[moments.counts[HEAD]] > SHORT_BLIND:
            forget_hold(gate)


@procedure
def predict_late_state(blind: BlindMemory, moments: Moments, gate: GateMemory, now: int, lateness: int) -> None:
    """Bring the state in ``prediction``, which is late by so many ns, up to date; an arm at rest stays there."""
    for i in range(moments.n):
        blind.unknown[i] = torque_beside_weight(gate, i)
    begin = now - lateness
    follow_moments(blind, moments, moment_before(moments, begin), begin, now)


@procedure
def seconds(duration: int) -> float:
    """Return a time between two moments [s], from nanoseconds: so that all clocks round alike."""
    return duration / NANOSECONDS


@procedure
def go_on(blind: BlindMemory, duration: float) -> None:
    """Predict how the arm moves under a constant torque."""
    rest = min(duration, blind.longest_step)
    while rest > 0.0:
        step = min(rest, LONGEST_STEP)
        rest = rest - step
        blind.terms()
        blind.prediction.dt[0] = step
        blind.predict()


class _Noted(NamedTuple):
    """Record of the procedure that notes a state."""

    moments: Moments
    t: Ints
    q: Floats
    v: Floats
    tau: Floats


@procedure
def _note(noted: _Noted) -> float:
    note_moment(noted.moments, noted.t[0], noted.q, noted.v, noted.tau)
    return 0.0


class BlindBrake:
    """Brakes while no state is measured; only one thread at a time may use it.

    Parameters
    ----------
    longest_step : float
        Longest time for which one torque counts in a prediction [s].
    moments : Moments, optional
        The states before; by default none.

    Attributes
    ----------
    moments : Moments
        The states before; :meth:`note` adds to them.
    g, tau : ndarray, shape (nv,)
        Gravity torque in the state that was predicted last, and the torque in it [N m or N].
    """

    def __init__(
        self, model: RobotModel, gate: EffortGate, longest_step: float, moments: Moments | None = None
    ) -> None:
        self._model, self._gate = model, gate
        self.moments = new_moments(model.nv) if moments is None else moments
        self._noted = _Noted(self.moments, np.zeros(1, dtype=np.int64), *np.zeros((3, model.nv)))
        self._note = compile_procedure(_note)(self._noted)
        prediction = new_prediction(model.nv)
        run = compile_procedure(predict)(prediction)
        counts, unknown = np.zeros(2, dtype=np.int64), np.zeros(model.nv)
        self._memory = BlindMemory(self._terms, run, counts, prediction, unknown, longest_step)
        self.g = self.tau = np.zeros(model.nv)

    def _terms(self) -> float:
        state = self._memory.prediction
        terms = self._model.evaluate(state.q, state.v)
        state.h[:], state.M[:] = terms.h, terms.M.ravel()
        return 0.0

    @property
    def is_blind(self) -> bool:
        """Whether the arm is braked on a predicted state."""
        return bool(self._memory.counts[IS_BLIND])

    def note(self, t: int, q: Array, v: Array, tau: Array) -> None:
        """Take note of a state that was believed.

        Parameters
        ----------
        t : int
            When it came, by a steady clock [ns].
        q, v : ndarray, shape (nv,)
            The state [rad or m; rad/s or m/s].
        tau : ndarray, shape (nv,)
            Torque that is applied from then on [N m or N].
        """
        noted = self._noted
        noted.t[0], noted.q[:], noted.v[:], noted.tau[:] = t, q, v, tau
        self._note()

    def end(self, now: int) -> None:
        """A state is measured again at this time of the steady clock [ns]."""
        if self.is_blind:
            end_prediction(self._memory, self.moments, self._gate.memory, now)

    def up_to_date(self, q: Array, v: Array, now: int, lateness: float) -> tuple[Array, Array]:
        """Return a late state as it is now, by the model; at least one state was noted.

        Parameters
        ----------
        q, v : ndarray, shape (nv,)
            The state [rad or m; rad/s or m/s].
        now : int
            Time of the steady clock [ns].
        lateness : float
            Its delay [s].
        """
        predicted = self._memory.prediction
        predicted.q[:], predicted.v[:] = q, v
        predict_late_state(self._memory, self.moments, self._gate.memory, now, round(lateness * NANOSECONDS))
        return predicted.q.copy(), predicted.v.copy()

    def tick(self, now: int, dt: float, doubt: int = 0) -> GateOutput:
        """Return the torque of a gate that brakes; at least one state was noted.

        Parameters
        ----------
        now : int
            Time of the steady clock [ns].
        dt : float
            Time since the last torque [s].
        doubt : int
            Age of the states that are not trusted any more [ns].
        """
        state = self._memory.prediction
        predict_state(self._memory, self.moments, self._gate.memory, now, doubt)
        terms = self._model.evaluate(state.q.copy(), state.v.copy())
        output = self._gate.tick(terms, dt)
        self._gate.left = 0.0
        self.tau, self.g = output.tau, terms.g
        return output
