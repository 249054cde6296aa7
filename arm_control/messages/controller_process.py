"""A controller as a process of its own: a joint state in, the command that answers it out.

Every state gets one answer: the torque of the control loop; the answer of before, to a state that is repeated; and
where somebody waits for it, or the measurement itself is wrong, the last torque with the reason of the refusal.
The command of a braked controller says so in its ``frame_id``: no gate takes it for the torque of a law.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from arm_control.control.controllers import Measurement
from arm_control.control.effort_gate import GateState
from arm_control.control.loop import ControlLoop, TickResult
from arm_control.control.state_bounds import BoundsMemory
from arm_control.control.state_prediction import is_at_rest
from arm_control.exceptions import InputError
from arm_control.maths.obstacles import Obstacle
from arm_control.maths.poses import Array
from arm_control.messages.fields import braked_frame, nanoseconds
from arm_control.messages.joint_states import JointStateReader, Refused, Repeated
from arm_control.model import RobotModel


class Command(NamedTuple):
    """What a command says.

    Attributes
    ----------
    stamp_ns : int
        Stamp of the state that it answers [ns].
    tau : ndarray, shape (nv,)
        Torque [N m or N].
    frame_id : str
        Why the controller brakes, as :func:`arm_control.messages.fields.braked_frame` writes it; empty: it does not.
    """

    stamp_ns: int
    tau: Array
    frame_id: str


class ControllerAnswer(NamedTuple):
    """What comes of one state.

    Attributes
    ----------
    command : Command or None
        The command to publish.
    result : TickResult or None
        What the loop has decided; None where it has not run.
    refused : InputError or None
        Why the state is refused.
    """

    command: Command | None = None
    result: TickResult | None = None
    refused: InputError | None = None


class ControllerProcess:
    """The reader of states, the control loop and its commands.

    Parameters
    ----------
    model : RobotModel
        The arm.
    loop : ControlLoop
        The control loop.
    max_age : float
        Age above which a state is refused [s]; 0: never.
    clock_ns : callable
        Returns the time of the middleware's clock [ns].

    Attributes
    ----------
    loop : ControlLoop
        The control loop.
    reader : JointStateReader
        The reader of states.
    """

    def __init__(
        self,
        model: RobotModel,
        loop: ControlLoop,
        max_age: float,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.loop = loop
        self.reader = JointStateReader(model, max_age, drives_arm=True, clock_ns=clock_ns)
        self._is_waited_for = max_age == 0.0
        self._command: Command | None = None
        self._last: TickResult | None = None

    @property
    def may_take_model(self) -> bool:
        """Whether the arm is braked and at rest, or has never been seen: another model may be taken."""
        last = self._last
        return last is None or (last.gate.state is GateState.BRAKED and is_at_rest(last.measurement.v))

    @property
    def last(self) -> TickResult | None:
        """The last answer of the control loop; None before the first one."""
        return self._last

    def resume(self, result: TickResult, memory: BoundsMemory, heard_ns: int) -> None:
        """Go on behind states that have been answered elsewhere; the control loop has been told.

        Parameters
        ----------
        result : TickResult
            The last answer.
        memory : BoundsMemory
            What the bounds know of these states.
        heard_ns : int
            When the last one was received [ns].
        """
        self.reader.resume(result.measurement, memory, heard_ns)
        self._command = Command(result.measurement.stamp_ns, result.gate.tau, "")
        self._last = result

    def release(self) -> None:
        """Listen to whoever publishes states next: the gate has been enabled."""
        self.reader.release()

    def on_state(
        self, message: Any, info: dict[str, Any], obstacles: Callable[[Measurement], Sequence[Obstacle]] | None = None
    ) -> ControllerAnswer:
        """Answer a ``JointState``.

        Parameters
        ----------
        message : JointState
            The message.
        info : dict
            Time stamps and publisher, from the middleware.
        obstacles : callable, optional
            Returns the obstacles at a measurement.
        """
        reading = self.reader.read(message, info)
        if isinstance(reading, Refused):
            return self._refused(message, reading)
        if isinstance(reading, Repeated):
            return ControllerAnswer(self._command)
        result = self.loop.tick(reading, () if obstacles is None else obstacles(reading))
        frame_id = braked_frame(result.gate.reason) if result.gate.state is GateState.BRAKED else ""
        self._command = Command(reading.stamp_ns, result.gate.tau, frame_id)
        self._last = result
        return ControllerAnswer(self._command, result)

    def _refused(self, message: Any, reading: Refused) -> ControllerAnswer:
        """Brake at once where the measurement itself is wrong."""
        if self._last is None:
            return ControllerAnswer(refused=reading.error)
        if reading.is_fault:
            self.loop.gate.brake(str(reading.error))
        elif not self._is_waited_for:
            return ControllerAnswer(refused=reading.error)
        command = Command(nanoseconds(message.header.stamp), self._last.gate.tau, braked_frame(str(reading.error)))
        return ControllerAnswer(command, refused=reading.error)
