"""Runs of an exported controller in Python: what the same calls in C must answer, on whatever processor.

:class:`PythonController` is the law, the gate and what is in front of it in the control loop, as Python runs them: the
bounds of a state and the gaps between states. Its runs pass the branches of the rules: waiting, passing, a state that
is no number, a brake, a singular posture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from arm_control.control import CompiledOsc
from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.export.c_pieces import ExportedController, numbers
from arm_control.export.tick_rules import ENDLESS, longest_blind_step
from arm_control.gate import (
    BELIEVED,
    RETURNED,
    BlindBrake,
    EffortGate,
    GapWatch,
    GateOutput,
    GateState,
    StateBounds,
    doubted_time,
    left_after,
    worth_carrying,
)
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel
from arm_control.motion import Reference

TICKS = 60
"""Ticks of a run."""
NONE, SET_REFERENCE, BRAKE, ENABLE = range(4)
"""What is called before a tick."""
CALLS = {5: SET_REFERENCE, 30: BRAKE, 45: ENABLE, 50: SET_REFERENCE}
"""Calls of a run, by the number of the tick."""
UNMEASURED = 20
"""Tick whose state could not be measured."""
SWING, TURN = 0.05, 8.0
"""Size and frequency of the motion of each joint [rad or m; rad/s]."""

NEAR = 0.01
"""Largest distance, angle, velocity and acceleration of a reference: the gains count, not only their limits."""


class PythonController:
    """The exported controller as Python runs it; the gate waits while ``reference`` is None."""

    def __init__(self, controller: ExportedController) -> None:
        model, gate = controller.model, controller.gate
        self.gate = EffortGate(model, gate, knows_obstacles=True)
        self.reference: Reference | None = None
        self.tau = np.zeros(model.nv)
        self._law = CompiledOsc(model, controller.law)
        self._bounds, self._gaps = StateBounds(model), GapWatch(gate.max_missed)
        self._blind = BlindBrake(model, self.gate, longest_blind_step(gate.max_missed, controller.period))
        self._hold, self._fading = Reference(Pose.identity()), np.zeros(model.nv)
        self._now_ns, self._state_ns, self._missed, self._is_first = 0, 0, 0, True
        self._usual_dt, self._timeless = controller.period, 0

    def brake(self, reason: str) -> None:
        """Brake; a reference is void."""
        self.gate.brake(reason)
        self.reference, self._fading = None, np.zeros_like(self.tau)

    def enable(self) -> None:
        """End a brake: the arm is held until a new reference."""
        if self.gate.is_braked:
            self.reference = None
        self.gate.enable()

    def tick(self, q: Array, v: Array, dt: float) -> GateOutput | None:
        """Answer a state; None where it is refused."""
        dt = self._time(dt)
        self._now_ns += round(NANOSECONDS * dt)
        max_missed = self.gate.parameters.max_missed
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            self._missed += max(round(dt / self._gaps.period), 1) if self._gaps.period else 1
            if self._missed > max_missed:
                self.brake("no state")
            self._do_without(dt, 0)
            return None
        q = self._bounds.unwrapped(q)
        since = 0.0 if self._is_first else (self._now_ns - self._state_ns) / NANOSECONDS
        result, reason = self._bounds.judge(q, v, since, dt)
        if result != BELIEVED:
            self.brake(reason)
        if result not in (BELIEVED, RETURNED):
            self._do_without(dt, doubted_time(self._bounds.memory, result, since))
            return None
        if not self._is_first and (gap := self._gaps.fault(since)):
            self.brake(gap)
        self._blind.end(self._now_ns)
        self._is_first, self._state_ns, self._missed = False, self._now_ns, 0
        output = self._law.tick(q, v, self.reference or self._hold)
        if self.reference is not None:
            with suppress(InputError):  # the gate misses a command
                self.gate.offer_in_order(output.tau + self._carried(dt))
        answer = self.gate.tick(output.state, dt)
        if answer.state is GateState.BRAKING:
            self.brake(answer.reason)
        self.tau = answer.tau
        self._blind.note(self._now_ns, q, v, self.tau)
        return answer

    def _time(self, dt: float) -> float:
        """Time of a tick [s]; too many without time brake, and count as a period."""
        if dt > 0.0:
            self._timeless = 0
            return min(dt, ENDLESS)
        self._timeless += 1
        if self._timeless <= self.gate.parameters.max_missed:
            return 0.0
        self.brake("no time")
        return self.gate.period or self._usual_dt

    def _carried(self, dt: float) -> Array:
        """What a brake has carried, which fades from the first motion on."""
        if self.gate.is_resuming:
            self._fading = self.gate.carried
            self.gate.begin()
        carried, self._fading = self._fading, self._fading * left_after(dt)
        if worth_carrying(self._fading) is None:
            self._fading = np.zeros_like(carried)
        return carried

    def _do_without(self, dt: float, doubt: int) -> None:
        """Go on braking without a state."""
        if self.gate.is_braked and not self._is_first:
            self.tau = self._blind.tick(self._now_ns, dt, doubt).tau


class CheckedTick(NamedTuple):
    """A call of a run, and the answer of Python.

    Attributes
    ----------
    reference : ndarray, shape (24,)
        Desired motion for :data:`SET_REFERENCE`.
    mode : int
        State of the gate: its place in :class:`~arm_control.gate.effort_gate.GateState`.
    """

    call: int
    reference: Array
    q: Array
    v: Array
    tau: Array
    mode: int


def checked_runs(controller: ExportedController) -> list[list[CheckedTick]]:
    """Return two runs, one from the start of the example and one from a posture that is singular in many arms."""
    model = controller.model
    straight = np.clip(np.zeros(model.nq), np.maximum(model.q_min, -1e3), np.minimum(model.q_max, 1e3))
    return [list(_run(controller, q)) for q in (controller.start, straight)]


def _run(controller: ExportedController, start: Array) -> Iterator[CheckedTick]:
    python, dt, model = PythonController(controller), controller.period, controller.model
    phases = np.arange(model.nv)
    for k in range(TICKS):
        angle = TURN * k * dt + phases
        q, v = start + SWING * (np.sin(angle) - np.sin(phases)), SWING * TURN * np.cos(angle)
        if k == UNMEASURED:
            q = np.full_like(q, np.nan)
        call, reference = CALLS.get(k, NONE), _reference(model, start, k)
        if call == SET_REFERENCE and not python.gate.is_braked:
            python.reference = reference
        elif call == BRAKE:
            python.brake("asked to")
        elif call == ENABLE:
            python.enable()
        python.tick(q, v, dt)
        X, twists = reference.X_WT, (reference.V_des, reference.A_des)
        row, mode = np.concatenate([X.R.ravel(), X.p, *twists]), list(GateState).index(python.gate.state)
        yield CheckedTick(call, row, q, v, python.tau, mode)


def _reference(model: RobotModel, q: Array, k: int) -> Reference:
    """A motion near the pose of a posture."""
    X, rng = model.pose(q), np.random.default_rng(k)
    turn, shift, V, A = rng.uniform(-NEAR, NEAR, (4, 3))
    return Reference(Pose(rotation_from_vector(turn) @ X.R, X.p + shift), np.tile(V, 2), np.tile(A, 2))


def check_pieces(runs: list[list[CheckedTick]]) -> dict[str, str]:
    """Return the text of runs for the check in C."""
    lines = [
        f"    {{{int(k == 0)}, {tick.call}, {tick.mode},\n     {', '.join(map(_row, tick[1:-1]))}}},"
        for run in runs
        for k, tick in enumerate(run)
    ]
    return {"CHECKED": "\n".join(lines), "CHECK_TICKS": str(len(lines))}


def _row(values: Array) -> str:
    return f"{{{numbers(values)}}}"
