"""A controller as a process of its own: a joint state in, the command that answers it out.

A state gets one answer: the torque of the control loop; the answer of before, to a state that is repeated. A state that
is refused gets none at first. After ``max_missed`` of them in a row, and at once where the measurement itself is wrong,
the controller brakes, on a prediction while it has no better state; where somebody waits for the answer (lock step) it
is the last torque. The command of a braked controller says so in its ``frame_id``: no gate takes it for the torque of a
law, and a driver without a gate gets torque that stops the arm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from arm_control.control import ControlLoop, Measurement, TickResult
from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.gate import STATE_SILENCE, BlindBrake, GateState, Moments, StateMemory, is_at_rest
from arm_control.maths import Array, Obstacle
from arm_control.messages import JointStateReader, Refused, Repeated, braked_frame, nanoseconds
from arm_control.model import RobotModel


class Command(NamedTuple):
    """What a command says.

    Attributes
    ----------
    stamp_ns : int
        Stamp of the state that it answers [ns].
    frame_id : str
        Why the controller brakes, as :func:`arm_control.messages.fields.braked_frame` writes it; empty: it does not.
    g : ndarray, shape (nv,)
        Gravity torque in that state, for drivers that add it themselves [N m or N].
    """

    stamp_ns: int
    tau: Array
    frame_id: str
    g: Array


class ControllerAnswer(NamedTuple):
    """What comes of one state.

    Attributes
    ----------
    result : TickResult or None
        What the loop has decided; None where it has not run.
    refused : InputError or None
        Why the state is refused.
    """

    command: Command | None = None
    result: TickResult | None = None
    refused: InputError | None = None


class AnsweredStates(NamedTuple):
    """States that a loop has answered without Python.

    Attributes
    ----------
    n : int
        How many, since the last time; at least one.
    """

    n: int
    result: TickResult
    states: StateMemory
    heard_ns: int
    least_delay_ns: int


class ControllerProcess:
    """The reader of states, the control loop and its commands.

    Parameters
    ----------
    max_age : float
        Age above which a state is refused [s]; 0: never.
    clock_ns : callable
        Returns the time of the middleware's clock [ns].
    moments : Moments, optional
        Where states are noted for a brake without states; by default its own.
    """

    def __init__(
        self,
        model: RobotModel,
        loop: ControlLoop,
        max_age: float,
        clock_ns: Callable[[], int] = time.time_ns,
        moments: Moments | None = None,
    ) -> None:
        self.loop = loop
        self.reader = JointStateReader(model, max_age, drives_arm=True, clock_ns=clock_ns)
        self._is_waited_for = max_age == 0.0
        self._clock_ns = clock_ns
        self._command: Command | None = None
        self._last: TickResult | None = None
        self._missed = 0
        self._was_blind = False
        self._answered_ns = 0
        self._silence = max_age or STATE_SILENCE
        self.blind = BlindBrake(model, loop.gate, self._silence, moments)

    @property
    def may_take_model(self) -> bool:
        """Whether the arm is braked and at rest, or has never been seen: another model may be taken."""
        last = self._last
        return last is None or (last.gate.state is GateState.BRAKING and is_at_rest(last.measurement.v))

    def may_take(self, model: RobotModel) -> bool:
        """The same of one model: nobody would hold an arm that goes on, and whose joints are others."""
        return self.may_take_model and self.reader.may_take(model)

    @property
    def last(self) -> TickResult | None:
        """The last answer of the control loop; None before the first one."""
        return self._last

    def resume(self, answered: AnsweredStates) -> None:
        """Go on behind states that have been answered elsewhere; the control loop has been told."""
        _, result, memory, heard_ns, least_delay_ns = answered
        self.reader.resume(result.measurement, memory, heard_ns, least_delay_ns)
        self._answer(result, heard_ns, is_noted=False)

    def release(self) -> None:
        """Listen to whoever publishes states next: the gate has been enabled."""
        self.reader.release()

    def on_state(
        self, message: Any, info: dict[str, Any], obstacles: Callable[[Measurement], Sequence[Obstacle]] | None = None
    ) -> ControllerAnswer:
        """Answer a ``JointState``; ``obstacles`` returns those at a measurement."""
        gate = self.loop.gate
        reading = self.reader.read(message, info, is_braking=gate.state is GateState.BRAKING)
        if isinstance(reading, Refused) and reading.is_stale and (why := self._late_brake(reading, info)):
            gate.brake(why)
            reading = self.reader.read(message, info, is_braking=True)  # a brake can use it
        if isinstance(reading, Refused):
            return self.miss(nanoseconds(message.header.stamp), reading)
        if isinstance(reading, Repeated):
            return self._repeat(reading)
        if reading.age and self._last is not None:
            q, v = self.blind.up_to_date(reading.q, reading.v, info["received_timestamp"], reading.age)
            reading = reading._replace(q=q, v=v)
        if self._last is not None and not self._is_waited_for:
            gate.elapsed = (info["received_timestamp"] - self._answered_ns) / NANOSECONDS
            if self._was_blind:
                self._was_blind = False
                self.blind.end(info["received_timestamp"])
        result = self.loop.tick(reading, () if obstacles is None else obstacles(reading))
        return ControllerAnswer(self._answer(result, info["received_timestamp"]), result)

    def miss(self, stamp_ns: int, refused: Refused) -> ControllerAnswer:
        """Count a state that must not be used, unless of another publisher; answer it where the controller brakes."""
        gate, last, error = self.loop.gate, self._last, refused.error
        if last is None or refused.is_foreign:
            return ControllerAnswer(refused=error)
        self._missed += 1
        if refused.is_fault:
            gate.brake(str(error))
        if self._is_waited_for:
            command = Command(stamp_ns, last.gate.tau, braked_frame(str(error)), last.law.terms.g)
            return ControllerAnswer(command, refused=error)
        if self._missed >= gate.parameters.max_missed:
            gate.brake(f"{self._missed} states in a row were refused, the last one: {error}")
        if not gate.is_braked:
            return ControllerAnswer(refused=error)
        return ControllerAnswer(self._blind_command(stamp_ns, refused.doubt), refused=error)

    def _late_brake(self, stale: Refused, info: dict[str, Any]) -> str:
        """Why the gate must brake at a state that is only too old: nothing has come before, or too many; or empty."""
        silence_ns = info["received_timestamp"] - self._answered_ns
        if self._last is not None and silence_ns > self._silence * NANOSECONDS and not self._missed:
            return f"no state for {silence_ns / 1e6:.0f} ms, then one that is {stale.error}"
        if self._misses_too_many():
            return f"{self._missed + 1} states in a row were refused, the last one: {stale.error}"
        return ""

    def _misses_too_many(self) -> bool:
        """Whether one more state that must not be used makes the gate brake."""
        is_last = self._missed + 1 >= self.loop.gate.parameters.max_missed
        return is_last and self._last is not None and not self._is_waited_for

    def _blind_command(self, stamp_ns: int, doubt: int = 0) -> Command:
        """Brake on a predicted state; states younger than ``doubt`` [ns] are not trusted."""
        now_ns = self._clock_ns()
        dt, self._answered_ns = (now_ns - self._answered_ns) / NANOSECONDS, now_ns
        output, self._was_blind = self.blind.tick(now_ns, dt, doubt), True
        return Command(stamp_ns, output.tau, braked_frame(self.loop.gate.reason), self.blind.g)

    def _answer(self, result: TickResult, now_ns: int, *, is_noted: bool = True) -> Command:
        """Take note of a state that has been answered at this time [ns], and return its command."""
        state, gate = result.measurement, result.gate
        if not self._is_waited_for:
            self._answered_ns = now_ns
            if is_noted:
                self.blind.note(now_ns, state.q, state.v, gate.tau)
        self._missed, self._last = 0, result
        frame_id = braked_frame(gate.reason) if gate.state is GateState.BRAKING else ""
        self._command = Command(state.stamp_ns, gate.tau, frame_id, result.law.terms.g)
        return self._command

    def _repeat(self, reading: Repeated) -> ControllerAnswer:
        """Answer a state as before, unless the gate has braked since; a state that is repeated for ever is missing."""
        assert self._command is not None
        gate = self.loop.gate
        if self._misses_too_many():
            seconds = reading.stamp_ns / NANOSECONDS
            return self.miss(reading.stamp_ns, Refused(InputError(f"repeated: stamp {seconds:.3f} s")))
        self._missed += 1
        if gate.is_braked and not self._command.frame_id:
            marked = self._command._replace(frame_id=braked_frame(gate.reason))
            self._command = marked if self._is_waited_for else self._blind_command(reading.stamp_ns)
        return ControllerAnswer(self._command)
