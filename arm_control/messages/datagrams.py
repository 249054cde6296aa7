"""A controller for drivers that are not ROS: a datagram with a state in, one with the torque that answers it out.

All numbers are little endian, ``n`` joints are in the order of the model:

===========  ==========================================  ===========  ==========================================
offset       a state, ``24 + 16 n`` bytes                offset       an answer, ``24 + 8 n`` bytes
===========  ==========================================  ===========  ==========================================
0            ``ACS1``                                    0            ``ACT1``
4            n, uint32                                   4            n, uint32
8            sequence number, uint64                     8            sequence number of the state, uint64
16           stamp, int64 [ns]                           16           1: the gate brakes, 0: it does not, uint64
24           q, float64 [rad or m]                       24           tau, float64 [N m or N]
24 + 8 n     v, float64 [rad/s or m/s]
===========  ==========================================  ===========  ==========================================

The four bytes ``ACE1`` alone enable a gate that brakes. The states follow the rules of joint states on topics
(:mod:`arm_control.messages.joint_states`): they come from one sender, finite, believable, with growing stamps; after a
gap the gate brakes; a stamp of 0 starts over.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

import numpy as np

from arm_control.control.effort_gate import GateState
from arm_control.control.loop import ControlLoop
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.messages.controller_process import ControllerProcess
from arm_control.messages.joint_state_bytes import Header, JointStateFields, Stamp
from arm_control.model import RobotModel

STATE, ANSWER, ENABLE = b"ACS1", b"ACT1", b"ACE1"
"""How datagrams begin."""
HEAD = struct.Struct("<4sIQq")
NUMBER = np.dtype("<f8")
LARGEST_STAMP = 2**31 * NANOSECONDS


class DatagramProcess:
    """Answers states of a driver.

    Parameters
    ----------
    model : RobotModel
        The arm.
    loop : ControlLoop
        The control loop, whose gate decides about every torque.
    refuse : callable
        Counts a refused datagram: what it was, and why.
    clock_ns : callable
        Returns the time [ns].

    Attributes
    ----------
    loop : ControlLoop
        The control loop.
    answered : int
        States that have been answered.
    """

    def __init__(
        self,
        model: RobotModel,
        loop: ControlLoop,
        refuse: Callable[[str, Exception], object],
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.loop, self.answered = loop, 0
        self._n, self._names = model.nv, list(model.joint_names)
        self._process = ControllerProcess(model, loop, loop.gate.parameters.max_age, clock_ns)
        self._refuse, self._clock_ns = refuse, clock_ns
        self._nothing = np.zeros(0)

    def on_datagram(self, data: bytes, sender: str) -> bytes | None:
        """Return the answer to a datagram; None where there is none.

        Parameters
        ----------
        data : bytes
            The datagram.
        sender : str
            Who has sent it: another one than before is refused, until that one is silent or the gate is enabled.
        """
        if data == ENABLE:
            self.loop.gate.enable()
            self._process.release()
            return None
        try:
            number, message = self._state_of(data)
        except InputError as error:
            self._refuse("datagram", error)
            return None
        now_ns = self._clock_ns()
        info = {"source_timestamp": now_ns, "received_timestamp": now_ns, "publisher_gid": {"data": sender.encode()}}
        answer = self._process.on_state(message, info)
        if answer.refused is not None:
            self._refuse("state", answer.refused)
        if answer.command is None:
            return None
        self.answered += 1
        is_braking = self.loop.gate.state is GateState.BRAKED
        tau = np.asarray(answer.command.tau, NUMBER).tobytes()
        return HEAD.pack(ANSWER, self._n, number, is_braking) + tau

    def _state_of(self, data: bytes) -> tuple[int, JointStateFields]:
        """Sequence number and state of a datagram."""
        size = HEAD.size + 2 * NUMBER.itemsize * self._n
        if len(data) != size:
            raise InputError(f"wrong size: {len(data)} bytes, a state of {self._n} joints has {size}")
        mark, n, number, stamp_ns = HEAD.unpack_from(data)
        if mark != STATE or n != self._n:
            raise InputError(f"wrong head: it begins with {mark.hex()} and {n} joints, not {STATE.hex()} and {self._n}")
        if not -LARGEST_STAMP <= stamp_ns < LARGEST_STAMP:
            raise InputError(f"wrong stamp: {stamp_ns} ns, allowed below 2^31 s")
        header = Header(Stamp(*divmod(stamp_ns, NANOSECONDS)), "")
        q, v = np.frombuffer(data, NUMBER, offset=HEAD.size).astype(float).reshape(2, self._n)
        return number, JointStateFields(header, self._names, q, v, self._nothing)
