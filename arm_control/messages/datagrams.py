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
(:mod:`arm_control.messages.joint_states`), and no second gate stands behind this one, so it does what the node ``gate``
does (:mod:`arm_control.messages.gate_process`), with states and stamps in the place of its clock:

- The sender of the first state owns the arm. Datagrams of others count for nothing until it has been silent for
  ``SILENCE``; then the next state has a new owner, and the gate brakes.
- A state that is refused has no answer while the gate passes torque; ``max_missed`` of them in a row brake, one that
  is not believed brakes at once, and so does time that starts over.
- A gate that brakes answers all states of the owner, refused ones on a prediction from the last one that was believed.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arm_control.control.effort_gate import BRAKED
from arm_control.control.loop import ControlLoop, TickResult
from arm_control.control.state_bounds import StateBounds
from arm_control.control.state_prediction import StatePrediction
from arm_control.core.time import LARGEST_STAMP, NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.messages.controller_process import ControllerProcess
from arm_control.messages.gate_process import LONGEST_BLIND
from arm_control.messages.joint_state_bytes import Header, JointStateFields, Stamp
from arm_control.messages.joint_states import TIME_WENT_BACK
from arm_control.messages.native_turns import AnsweredStates
from arm_control.messages.publisher_lock import ONLY_PUBLISHER
from arm_control.model import RobotModel

STATE, ANSWER, ENABLE = b"ACS1", b"ACT1", b"ACE1"
"""How datagrams begin."""
HEAD = struct.Struct("<4sIQq")
NUMBER = np.dtype("<f8")
SILENCE = 1.0
"""Time without a state of the owner after which another sender may take over [s]."""
Sender = tuple[str, int]
"""Address and port."""


class Torque(NamedTuple):
    """What a state is answered with.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Torque that the arm shall feel [N m or N].
    g : ndarray, shape (nv,)
        The part of it that carries the weight [N m or N].
    """

    tau: Array
    g: Array


class LastGate:
    """A controller whose gate is the last one before a driver, for the states of one owner.

    Parameters
    ----------
    model : RobotModel
        The arm.
    loop : ControlLoop
        The control loop with that gate.
    refuse : callable
        Counts a refused state: what it was, and why.
    clock_ns : callable
        Returns the time of a steady clock [ns]: how far a prediction goes, and how far the braking torque may change.
    """

    def __init__(
        self,
        model: RobotModel,
        loop: ControlLoop,
        refuse: Callable[[str, Exception], object],
        clock_ns: Callable[[], int],
    ) -> None:
        self._model, self._loop, self._refuse, self._clock_ns = model, loop, refuse, clock_ns
        self._process = ControllerProcess(model, loop, loop.gate.parameters.max_age, clock_ns)
        self._missed = 0
        self._prediction: StatePrediction | None = None
        self._tau = np.zeros(model.nv)
        self._believed_ns = self._ticked_ns = 0

    def on_state(self, message: JointStateFields, stamp_ns: int) -> Torque | None:
        """Return the torque that answers a state; None while a state is refused and the gate does not brake.

        Parameters
        ----------
        message : JointStateFields
            The state.
        stamp_ns : int
            Its stamp [ns].
        """
        last = self._process.last
        if last is not None and stamp_ns == 0 < last.measurement.stamp_ns:
            self._loop.gate.brake(TIME_WENT_BACK)  # a gate that passes would start over from the weight, in one step
        now_ns = self._clock_ns()
        info = {"source_timestamp": now_ns, "received_timestamp": now_ns, "publisher_gid": ONLY_PUBLISHER}
        answer = self._process.on_state(message, info)
        if answer.result is None:
            return self.miss(answer.refused or InputError(f"repeated: stamp {stamp_ns / NANOSECONDS:.3f} s"))
        return self._believe(answer.result, now_ns)

    @property
    def last(self) -> TickResult | None:
        """What was done with the last state that was believed; None before the first one."""
        return self._process.last

    @property
    def bounds(self) -> StateBounds:
        """Bounds of a state."""
        bounds = self._process.reader.bounds
        assert bounds is not None
        return bounds

    def resume(self, answered: AnsweredStates) -> None:
        """Go on behind states that have been answered without Python."""
        self._process.resume(answered.result, answered.bounds, answered.heard_ns)
        self._believe(answered.result, answered.heard_ns)

    def miss(self, error: InputError) -> Torque | None:
        """Count a state that must not be used; return the torque of a gate that brakes.

        Parameters
        ----------
        error : InputError
            Why it must not be used.
        """
        self._refuse("state", error)
        self._missed += 1
        gate, last = self._loop.gate, self._process.last
        if last is None:
            return None
        if self._missed >= gate.parameters.max_missed:
            gate.brake(f"{self._missed} states in a row were refused, the last one: {error}")
        return self._brake_blindly(last) if gate.is_braked else None

    def _believe(self, result: TickResult, now_ns: int) -> Torque:
        self._missed, self._prediction = 0, None
        self._believed_ns = self._ticked_ns = now_ns
        self._tau = result.gate.tau
        return Torque(self._tau, result.law.terms.g)

    def _brake_blindly(self, last: TickResult) -> Torque:
        """Brake on the predicted state, without the spring of the brake: nobody measures where the arm rests."""
        gate, now_ns, state = self._loop.gate, self._clock_ns(), last.measurement
        dt = (now_ns - self._ticked_ns) / NANOSECONDS
        if self._prediction is None:
            self._prediction = StatePrediction(self._model, state.q, state.v)
        if now_ns - self._believed_ns < LONGEST_BLIND * NANOSECONDS:
            self._prediction.go_on(self._tau, min(dt, gate.parameters.max_missed * gate.period))
        else:
            self._prediction.v = np.zeros_like(state.v)
        terms = self._model.evaluate(self._prediction.q, self._prediction.v)
        self._tau = gate.tick(terms, dt).tau
        gate.forget_hold()
        self._ticked_ns = now_ns
        return Torque(self._tau, terms.g)


class DatagramProcess:
    """Answers states of a driver: all datagrams that wait are taken, then the newest state of the owner is answered.

    Parameters
    ----------
    model : RobotModel
        The arm.
    loop : ControlLoop
        The control loop, whose gate decides about every torque.
    refuse : callable
        Counts a refused datagram: what it was, and why.
    clock_ns : callable
        Returns the time of a steady clock [ns].
    driver_adds_gravity : bool
        Whether the driver adds gravity torque itself: answers are without it.

    Attributes
    ----------
    loop : ControlLoop
        The control loop.
    owner : tuple or None
        Address and port of the sender whose states are answered.
    answered : int
        States that have been answered.
    driver_adds_gravity : bool
        See the parameter.
    heard_ns : int
        Time of the last state of the owner [ns].
    """

    def __init__(
        self,
        model: RobotModel,
        loop: ControlLoop,
        refuse: Callable[[str, Exception], object],
        clock_ns: Callable[[], int] = time.monotonic_ns,
        *,
        driver_adds_gravity: bool = False,
    ) -> None:
        self.loop, self.answered = loop, 0
        self.owner: Sender | None = None
        self._model, self._names = model, list(model.joint_names)
        self._refuse, self._clock_ns, self.driver_adds_gravity = refuse, clock_ns, driver_adds_gravity
        self._gate = LastGate(model, loop, refuse, clock_ns)
        self._newest: bytes | None = None
        self.heard_ns = 0
        self._nothing = np.zeros(0)

    @property
    def owner_name(self) -> str:
        """Address and port of the owner as text."""
        return _name_of(self.owner)

    @property
    def last(self) -> TickResult | None:
        """What was done with the last state of the owner that was believed; None before one."""
        return self._gate.last

    @property
    def bounds(self) -> StateBounds:
        """Bounds of a state, with what they know of the owner's."""
        return self._gate.bounds

    def resume(self, answered: AnsweredStates) -> None:
        """Go on behind states of the owner that have been answered without Python."""
        self.heard_ns = answered.heard_ns
        self.answered += answered.n
        self._gate.resume(answered)

    def take(self, data: bytes, sender: Sender) -> None:
        """Look at a datagram: a state of the owner waits for :meth:`answer`, an order of the owner is obeyed.

        Parameters
        ----------
        data : bytes
            The datagram.
        sender : tuple
            Address and port of its sender.
        """
        now_ns = self._clock_ns()
        try:
            self._check_sender(data, sender, now_ns)
            if data == ENABLE:
                self.loop.gate.enable()
                return
            self._check_form(data)
        except InputError as error:
            self._refuse("datagram", error)
            return
        if sender != self.owner:
            self._change_owner(sender)
        self.heard_ns = now_ns
        if self._newest is None or _is_newer(data, self._newest):
            self._newest = data

    def answer(self) -> bytes | None:
        """Return the answer to the newest state that was taken, for the owner; None where there is none."""
        data, self._newest = self._newest, None
        if data is None:
            return None
        _, _, number, stamp_ns = HEAD.unpack_from(data)
        if -LARGEST_STAMP <= stamp_ns < LARGEST_STAMP:
            torque = self._gate.on_state(self._state_of(data, stamp_ns), stamp_ns)
        else:
            torque = self._gate.miss(InputError(f"wrong stamp: {stamp_ns} ns, allowed below 2^31 s"))
        if torque is None:
            return None
        self.answered += 1
        tau = torque.tau - torque.g if self.driver_adds_gravity else torque.tau
        is_braking = self.loop.gate.state is BRAKED
        return HEAD.pack(ANSWER, self._model.nv, number, is_braking) + np.asarray(tau, NUMBER).tobytes()

    def _check_sender(self, data: bytes, sender: Sender, now_ns: int) -> None:
        """Refuse what another sender than the owner sends: all of it while the owner is heard, orders always."""
        is_heard = self.owner is not None and now_ns - self.heard_ns <= SILENCE * NANOSECONDS
        if sender != self.owner and (is_heard or data == ENABLE):
            raise InputError(f"another sender: {_name_of(sender)}; states come from {self.owner_name}")

    def _check_form(self, data: bytes) -> None:
        """Refuse what has not size and head of a state."""
        size = HEAD.size + 2 * NUMBER.itemsize * self._model.nv
        mark, n = data[: len(STATE)], int.from_bytes(data[4:8], "little")
        if len(data) >= HEAD.size and mark == STATE and n != self._model.nv:
            raise InputError(f"wrong number of joints: {n}; this arm has {self._model.nv}")
        if len(data) != size:
            raise InputError(f"wrong size: {len(data)} bytes; a state of {self._model.nv} joints has {size}")
        if mark != STATE:
            raise InputError(f"wrong head: it begins with {mark!r}; a state begins with {STATE!r}")

    def _change_owner(self, sender: Sender) -> None:
        """Go on with the states of another sender, whose stamps and postures have nothing to do with those before."""
        if self.owner is not None:
            self.loop.gate.brake(f"states come from another sender: {_name_of(sender)}")
            self._gate = LastGate(self._model, self.loop, self._refuse, self._clock_ns)
        self.owner, self._newest = sender, None

    def _state_of(self, data: bytes, stamp_ns: int) -> JointStateFields:
        header = Header(Stamp(*divmod(stamp_ns, NANOSECONDS)), "")
        q, v = np.frombuffer(data, NUMBER, offset=HEAD.size).astype(float).reshape(2, self._model.nv)
        return JointStateFields(header, self._names, q, v, self._nothing)


def _is_newer(data: bytes, waiting: bytes) -> bool:
    """Whether a state replaces one that waits: it is not older, or the stamp of the other one must not be used.

    A stamp of 0 is newer than a larger one: time starts over.
    """
    stamp_ns, waiting_ns = (HEAD.unpack_from(state)[3] for state in (data, waiting))
    return stamp_ns >= waiting_ns or stamp_ns == 0 or waiting_ns >= LARGEST_STAMP


def _name_of(sender: Sender | None) -> str:
    """Return address and port of a sender as text."""
    return "nobody" if sender is None else f"{sender[0]}:{sender[1]}"
