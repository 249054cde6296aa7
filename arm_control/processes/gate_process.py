"""The gate as a process of its own, between a controller and a driver: states and commands come in, either may stop.

An effort controller of a driver holds the last torque that it got, so the gate answers every state, with a command or
without one, and goes on when states stop: then it brakes on a prediction of the state
(:mod:`arm_control.gate.state_prediction`), for at most a second, and carries the weight of the arm from then on. No
message ends it: what must not be used is refused and counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arm_control.control import Measurement
from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.gate import STATE_SILENCE, BlindBrake, EffortGate, GapWatch, GateOutput, GateParameters, is_at_rest
from arm_control.maths import Array, Obstacle
from arm_control.messages import (
    TIME_WENT_BACK,
    JointStateReader,
    PublisherLock,
    Refused,
    Repeated,
    brake_reason,
    nanoseconds,
)
from arm_control.model import RobotModel

LOOKS = 8
"""Looks at the clock within that time."""
OUT_OF_ORDER = "out of order: its stamp is not newer than that of the last command"
"""Why a command is refused that is repeated or late."""


class GateAnswer(NamedTuple):
    """What the driver gets.

    Attributes
    ----------
    output : GateOutput
        The torque, and the state of the gate.
    stamp_ns : int
        Stamp of the state that it answers, or of the last one [ns].
    g : ndarray, shape (nv,)
        Gravity torque in that state, for drivers that add it themselves [N m or N].
    """

    output: GateOutput
    stamp_ns: int
    g: Array


Answers = list[GateAnswer]
Refuse = Callable[[str, InputError], object]
"""Counts a refused message of a topic."""


class GateProcess:
    """A gate, the reader of its states and the lock on its commands.

    Parameters
    ----------
    lock_step : bool
        Whether each state waits for its command: nothing is stale then, and no clock counts.
    obstacles : callable, optional
        Returns the obstacles in a state; by default nobody knows any.
    clock : callable
        Returns the time of a steady clock [s].
    clock_ns : callable
        Returns the time of the middleware's clock [ns].
    """

    def __init__(
        self,
        model: RobotModel,
        parameters: GateParameters,
        refuse: Refuse,
        *,
        lock_step: bool = False,
        obstacles: Callable[[Measurement], Sequence[Obstacle]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.gate = EffortGate(model, parameters, knows_obstacles=obstacles is not None)
        self._obstacles = obstacles
        self._model = model
        self._refuse = refuse
        self._lock_step = lock_step
        self._clock = clock
        max_age = 0.0 if lock_step else parameters.max_age
        self._reader = JointStateReader(model, max_age, drives_arm=True, clock_ns=clock_ns)
        self._lock = PublisherLock(math.inf if lock_step else PublisherLock.SILENCE, clock)
        self._gaps = GapWatch(None if lock_step else parameters.max_missed)
        self._silence = parameters.max_age or STATE_SILENCE
        self._open: Measurement | None = None
        self._last: Measurement | None = None
        self._seen_at = self._ticked_at = 0.0
        self._period = 0.0
        self._early: tuple[Any, dict[str, Any]] | None = None
        self._answer: GateOutput | None = None
        self._g = np.zeros(model.nv)
        self._accepted_ns = -1
        self._blind = BlindBrake(model, self.gate, self._silence)

    @property
    def looking_period(self) -> float:
        """Time between two calls of :meth:`look` [s]."""
        return self._silence / LOOKS

    @property
    def is_blind(self) -> bool:
        """Whether it brakes on a predicted state."""
        return self._blind.is_blind

    @property
    def may_take_model(self) -> bool:
        """Whether the arm is braked and at rest, or has never been seen: another model may be taken."""
        is_seen = not self.is_blind or self._reader.is_silent  # after a second only its weight is carried
        return self._last is None or (self.gate.is_braked and is_seen and is_at_rest(self._last.v))

    def may_take(self, model: RobotModel) -> bool:
        """The same of one model: nobody would hold an arm that goes on, and whose joints are others."""
        return self.may_take_model and self._reader.may_take(model)

    def release(self) -> None:
        """Listen to whoever publishes states and commands next: the gate has been enabled."""
        self._lock.release()
        self._reader.release()

    def on_state(self, message: Any, info: dict[str, Any]) -> Answers:
        """Take a ``JointState`` of the driver, and answer the state before if nobody has."""
        reading = self._reader.read(message, info, is_braking=self.gate.is_braked)
        if isinstance(reading, Refused):
            self._refuse("joint_states", reading.error)
            if reading.is_fault and self._last is not None:
                return self._brake_blindly(str(reading.error), reading.doubt)
            return self._answer_open()
        if isinstance(reading, Repeated):
            return self._repeated()
        answers = self._answer_open(is_late=not self._lock_step)
        self._see(reading)
        if self._obstacles is not None:
            self.gate.place(self._obstacles(reading))
        if reading.fault:
            self.gate.brake(reading.fault)
        if reading.is_restart:
            if self._last is not None and not self._lock_step:
                self.gate.brake(TIME_WENT_BACK)
            self.gate.reset()
            self._gaps.restart()
            self._accepted_ns = -1
        elif fault := self._gaps.fault(reading.dt):
            self.gate.brake(fault)
        if self.gate.velocities is not None:
            reading = reading._replace(v=self.gate.filtered(reading.q, reading.v, reading.dt))
        if self.gate.is_braked:
            self.gate.lateness = reading.age
            if reading.age:
                q, v = self._blind.up_to_date(reading.q, reading.v, _ns(self._seen_at), reading.age)
                reading = reading._replace(q=q, v=v)
        self._open = self._last = reading
        answers += self._answer_open()
        early, self._early = self._early, None
        return answers if early is None else answers + self.on_effort(*early)

    def on_effort(self, message: Any, info: dict[str, Any]) -> Answers:
        """Let a command through for the open state; one that comes a period before its state waits for it."""
        stamp_ns = nanoseconds(message.header.stamp)
        self._early = None
        period = self.gate.period or self.gate.parameters.max_age
        try:
            self._lock.check(info)
            if self._last is None or 0 < stamp_ns - self._last.stamp_ns <= round(period * NANOSECONDS):
                self._early = (message, info)
            elif (reason := brake_reason(message)) and stamp_ns < self._accepted_ns and not self._lock_step:
                raise InputError(OUT_OF_ORDER)  # a brake that old has been ended since
            elif reason:
                self._lock.take(info)
                self._refuse_brake(reason)
                return self._answer_open(is_late=self._lock_step)
            elif self._open is None and stamp_ns <= self._last.stamp_ns:
                return self._repeated()
            elif stamp_ns <= self._accepted_ns:
                raise InputError(OUT_OF_ORDER)
            else:
                self.gate.offer(message.name, message.effort, (self._last.stamp_ns - stamp_ns) / NANOSECONDS)
                self._lock.take(info)
                self._accepted_ns = stamp_ns
                if self._open is not None:
                    return [self._tick(self._open)]
        except InputError as error:
            self._refuse("effort_in", error)
        return self._answer_open()

    def _refuse_brake(self, reason: str) -> None:
        """Brake with a controller that brakes: its torque is not accepted."""
        try:
            self.gate.offer_brake(reason)
        except InputError as error:
            self._refuse("effort_in", error)

    def look(self) -> Answers:
        """Look at the clock, every :attr:`looking_period`: brake when states have stopped.

        A gate that has been braked meanwhile answers the open state; in lock step no clock counts.
        """
        silence = self._clock() - self._seen_at
        is_silent = silence > self._longest_silence() or self.is_blind
        if self._last is None or self._lock_step or not is_silent:
            return self._answer_open()
        return self._brake_blindly(f"no state for {silence * 1e3:.0f} ms")

    # -- steps ------------------------------------------------------------------------------------

    def _longest_silence(self) -> float:
        """Time without a state after which it brakes; a gate that brakes already goes on when a few are missing [s]."""
        longest = self._silence * (1.0 - 1.0 / LOOKS)
        return min(longest, 3.0 * self._period) if self.gate.is_braked and self._period else longest

    def _see(self, state: Measurement) -> None:
        self._seen_at = self._clock()
        self._period = state.dt or self._period
        self._blind.end(_ns(self._seen_at))

    def _tick(self, state: Measurement) -> GateAnswer:
        """Answer a state: with the offered command, or without one."""
        now = self._clock()
        dt = state.dt
        if self._answer is not None and not self._lock_step:  # stamps alone do not let the torque change faster
            self.gate.elapsed = now - self._ticked_at
            dt = dt or self.gate.elapsed
        terms = self._model.evaluate(state.q, state.v)
        output = self.gate.tick(terms, dt)
        self._g = terms.g
        self._open, self._answer, self._ticked_at = None, output, now
        self._blind.note(_ns(self._seen_at), state.q, state.v, output.tau)
        return GateAnswer(output, state.stamp_ns, self._g)

    def _answer_open(self, *, is_late: bool = False) -> Answers:
        """Answer the open state, if there is one, where it waits for no command: it is too late, or the gate brakes."""
        if self._open is None or not (is_late or self.gate.is_braked):
            return []
        return [self._tick(self._open)]

    def _repeated(self) -> Answers:
        """The state is answered already: the same answer again, unless the gate has braked or was enabled since."""
        if self._open is not None:
            return self._answer_open()
        assert self._last is not None
        assert self._answer is not None, "a state that is not open has been answered"
        if self._answer.state is not self.gate.state:
            return [self._tick(self._last._replace(dt=0.0))]
        return [GateAnswer(self._answer, self._last.stamp_ns, self._g)]

    def _brake_blindly(self, reason: str, doubt: int = 0) -> Answers:
        """Brake on the predicted state; states younger than ``doubt`` [ns] are not trusted."""
        assert self._last is not None
        self.gate.brake(reason)
        now, self._open = self._clock(), None
        if self._answer is None:
            self._blind.note(_ns(self._seen_at), self._last.q, self._last.v, self._model.gravity(self._last.q))
        self._answer = self._blind.tick(_ns(now), now - self._ticked_at if self._answer else 0.0, doubt)
        self._ticked_at, self._g = now, self._blind.g
        return [GateAnswer(self._answer, self._last.stamp_ns, self._g)]


def _ns(t: float) -> int:
    """Return a time in nanoseconds."""
    return round(t * NANOSECONDS)
