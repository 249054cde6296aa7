"""A controller for drivers that are not ROS: a datagram with a state in, one with the torque that answers it out.

All numbers are little endian, ``n`` joints are in the order of the model:

===========  ==========================================  ===========  ==========================================
offset       a state, ``24 + 16 n`` bytes                offset       an answer, ``24 + 8 n`` bytes
===========  ==========================================  ===========  ==========================================
0            ``ACS1``                                    0            ``ACT1``
4            n, uint32                                   4            n, uint32
8            sequence number, uint64                     8            sequence number of the state, uint64
16           stamp, int64 [ns]                           16           gate: 0 passing, 1 braking, 2 holding, uint64
24           q, float64 [rad or m]                       24           tau, float64 [N m or N]
24 + 8 n     v, float64 [rad/s or m/s]
===========  ==========================================  ===========  ==========================================

The four bytes ``ACE1`` alone enable a gate that brakes. ``ACC1``, k, a number and a stamp begin a chunk of a policy
(:mod:`arm_control.follow`): k times from the stamp on, then k rows of n positions; ``ACP1`` one of poses, k rows of x,
y, z and a quaternion x, y, z, w in the frame of the base, ``ACR1`` in that of the end effector at the stamp. ``ACO1``,
m and a number begin the m obstacles that are there from the next state on, none for m = 0: rows of 17 numbers, the
place of the shape in :data:`SHAPES`, its three sizes (radius and length, or three edges; the rest is 0), position [m],
quaternion x y z w, velocity [m/s] and angular velocity [rad/s], all in the world. The states follow the rules of joint
states on topics (:mod:`arm_control.messages.joint_states`), and no second gate stands behind this one, so it does what
the node ``gate`` does (:mod:`arm_control.processes.gate_process`), with states and stamps in the place of its clock:

- The sender of the first state owns the arm. Datagrams of others count for nothing until it has been silent for
  ``SILENCE``; then the next state has a new owner, and the gate brakes. Where strangers may send, an enabled arm goes
  to no other address.
- A state that is refused has no answer while the gate passes torque; ``max_missed`` of them in a row brake, one that
  is not believed brakes at once, and so does time that starts over.
- A gate that brakes answers all states of the owner, refused ones on a prediction from the last one that was believed.

While the owner is heard, the system drops the datagrams of all others, however many there are: they take no time of the
controller, and no room where the owner's wait. Linux only: elsewhere the socket is never connected, and the controller
refuses them.

With a key that driver and command share, nobody else sends states, orders or torque. A datagram then ends with a *tag*,
the first ``TAG_SIZE`` bytes of HMAC-SHA256 (RFC 2104) of all bytes before it. A state has its usual bytes before that.
An order to enable has ``ORDER_SIZE`` bytes: its mark, four zeros, and a number, uint64.

The number of each state and order is larger than all before it, and than the Unix time [ns] at which the command has
started: a recorded datagram is refused, in the run that it was recorded in and in later ones. A driver takes the Unix
time, or the number before plus one, whichever is larger. Nothing is encrypted, and a key is for one arm: the number is
compared with those of one command only.
"""

from __future__ import annotations

import ctypes
import hmac
import ipaddress
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from arm_control.control import ControlLoop, TickResult
from arm_control.core import LARGEST_STAMP, NANOSECONDS, UnsafeFile, read_secret
from arm_control.exceptions import InputError
from arm_control.gate import GateState, new_moments
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Obstacle, Pose, Shape, Sphere
from arm_control.messages import (
    ONLY_PUBLISHER,
    TIME_WENT_BACK,
    Header,
    JointStateFields,
    JointStateReader,
    Refused,
    Stamp,
)
from arm_control.model import RobotModel
from arm_control.motion import Chunk, ChunkGoal, PoseChunk, check_distance
from arm_control.processes.controller_process import AnsweredStates, Command, ControllerAnswer, ControllerProcess

KEY_SIZE, TAG_SIZE, ORDER_SIZE = 32, 16, 16
"""Bytes of a key, of a tag, and of an order before its tag."""
SEQUENCE = slice(8, 16)
"""Place of the number in states, orders and answers."""
SILENCE = 1.0
"""Time without a state of the owner after which another sender may take over [s]."""
Sender = tuple[str, int]
"""Address and port."""
UNSPECIFIED = bytes(16)
"""``sockaddr`` of the family AF_UNSPEC: to connect with it disconnects; Python's ``connect`` knows only addresses."""


def bind(datagrams: socket.socket, address: str, port: int) -> None:
    """Bind a socket to a port, 0 for any, that it keeps when it is disconnected."""
    datagrams.bind((address, port))
    if sys.platform == "linux" and port == 0:  # Linux keeps only a port that was asked for
        port = datagrams.getsockname()[1]
        _disconnect(datagrams)
        datagrams.bind((address, port))


def is_loopback(datagrams: socket.socket) -> bool:
    """Whether only this machine reaches the address of a socket."""
    return ipaddress.ip_address(datagrams.getsockname()[0]).is_loopback


class OwnerConnection:
    """Connects a socket that :func:`bind` has bound with the owner, and disconnects it."""

    def __init__(self, datagrams: socket.socket) -> None:
        self._socket = datagrams
        self._peer: Sender | None = None

    def follow(self, owner: Sender | None) -> None:
        """Connect with the owner; None: nobody is heard, and everybody may send."""
        if sys.platform != "linux" or owner == self._peer:
            return
        if self._peer is not None:
            _disconnect(self._socket)
        self._peer = None
        if owner is not None:
            with suppress(OSError):  # out of reach
                self._socket.connect(owner)
                self._peer = owner


def _disconnect(datagrams: socket.socket) -> None:
    ctypes.CDLL(None).connect(datagrams.fileno(), UNSPECIFIED, len(UNSPECIFIED))


class DatagramKey:
    """Signs answers, and checks tags and numbers of datagrams; the clock has the Unix time [ns]."""

    def __init__(self, key: bytes, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._key = key
        self._number = clock_ns()

    def sign(self, data: bytes) -> bytes:
        """Return a datagram with its tag."""
        return data + self._tag(data)

    def check(self, data: bytes) -> bytes:
        """Return a datagram without its tag.

        Raises
        ------
        InputError
            The tag is not that of the key, or the number is not larger than those before.
        """
        content, tag = data[:-TAG_SIZE], data[-TAG_SIZE:]
        if len(content) < ORDER_SIZE or not hmac.compare_digest(tag, self._tag(content)):
            raise InputError("wrong tag: the sender does not have the key")
        number = int.from_bytes(content[SEQUENCE], "little")
        if number <= self._number:
            raise InputError(
                f"repeated number: {number}, allowed above {self._number}; numbers follow the Unix time [ns]"
            )
        self._number = number
        return content

    def _tag(self, data: bytes) -> bytes:
        return hmac.digest(self._key, data, "sha256")[:TAG_SIZE]


def read_key(path: str) -> DatagramKey:
    """Read a key from a file that nobody else may read.

    Raises
    ------
    InputError
        There is no such file, others may read it, or it is no key.
    """
    try:
        key = read_secret(Path(path), KEY_SIZE)
    except (UnsafeFile, OSError) as error:
        raise InputError(f"--key-file {path}: {error}") from error
    if len(key) != KEY_SIZE:
        raise InputError(f"--key-file {path}: it has {len(key)} bytes; a key has {KEY_SIZE}")
    return DatagramKey(key)


# -- the controller


STATE, ANSWER, ENABLE, CHUNK, OBSTACLES = b"ACS1", b"ACT1", b"ACE1", b"ACC1", b"ACO1"
POSES, RELATIVE_POSES = b"ACP1", b"ACR1"
"""How datagrams begin."""
HEAD = struct.Struct("<4sIQq")
OBSTACLES_HEAD, OBSTACLE = 16, 17
"""Bytes before the rows of obstacles, and numbers of a row."""
SHAPES: tuple[Callable[[float, float, float], Shape], ...] = (
    lambda radius, *_: Sphere(radius),
    lambda radius, length, _: Capsule(radius, length),
    lambda *edges: Box(edges),
    lambda radius, length, _: Cylinder(radius, length),
    lambda radius, length, _: Cone(radius, length),
)
"""Shapes of obstacles, by their numbers."""
GATE_NUMBERS = {GateState.PASSING: 0, GateState.BRAKING: 1, GateState.HOLDING: 2}
"""What an answer says of the gate."""
NUMBER = np.dtype("<f8")
POSE_SIZE = 7
"""Numbers of a pose."""


class DatagramProcess:
    """Answers states of a driver: all datagrams that wait are taken, then the newest state of the owner is answered.

    Its gate is the last one before the driver.

    Parameters
    ----------
    loop : ControlLoop
        The control loop, whose gate decides about every torque.
    refuse : callable
        Counts a refused datagram: what it was, and why.
    clock_ns : callable
        Returns the time of a steady clock [ns]: how far a prediction goes, and how far the braking torque may change.
    driver_adds_gravity : bool
        Whether the driver adds gravity torque itself: answers are without it.
    key : DatagramKey or None
        Key of all datagrams; None: they have no tags.

    Attributes
    ----------
    owner : tuple or None
        Address and port of the sender whose states are answered.
    answered : int
        States that have been answered.
    are_strangers_near : bool
        Whether others than the driver may send, who need no key.
    heard_ns : int
        Time of the last state of the owner [ns].
    moments : Moments
        The states before, for a brake without states; the same for all owners.
    """

    def __init__(
        self,
        model: RobotModel,
        loop: ControlLoop,
        refuse: Callable[[str, Exception], object],
        clock_ns: Callable[[], int] = time.monotonic_ns,
        *,
        driver_adds_gravity: bool = False,
        key: DatagramKey | None = None,
    ) -> None:
        self.loop, self.answered = loop, 0
        self.owner: Sender | None = None
        self._model, self._names = model, list(model.joint_names)
        self._refuse, self._clock_ns, self.driver_adds_gravity = refuse, clock_ns, driver_adds_gravity
        self.moments = new_moments(model.nv)
        self._key, self.are_strangers_near = key, False
        self._newest: bytes | None = None
        self._obstacles: tuple[Obstacle, ...] = ()
        self.heard_ns = 0
        self._nothing = np.zeros(0)
        self._begin()

    def _begin(self) -> None:
        """Begin with a new owner."""
        max_age = self.loop.gate.parameters.max_age
        self._process = ControllerProcess(self._model, self.loop, max_age, self._clock_ns, self.moments)
        self._looked_ns = 0

    @property
    def owner_name(self) -> str:
        """Address and port of the owner as text."""
        return _name_of(self.owner)

    @property
    def heard_owner(self) -> Sender | None:
        """The owner, unless it has been silent for longer than ``SILENCE``."""
        is_heard = self._clock_ns() - self.heard_ns <= SILENCE * NANOSECONDS
        return self.owner if is_heard else None

    @property
    def last(self) -> TickResult | None:
        """What was done with the last state of the owner that was believed; None before one."""
        return self._process.last

    @property
    def reader(self) -> JointStateReader:
        """The reader of the owner's states."""
        return self._process.reader

    def resume(self, answered: AnsweredStates) -> None:
        """Go on behind states of the owner that have been answered without Python."""
        self.heard_ns = self._looked_ns = answered.heard_ns
        self.answered += answered.n
        self._process.resume(answered)

    def take(self, data: bytes, sender: Sender) -> None:
        """Look at a datagram: a state of the owner waits for :meth:`answer`, an order of the owner is obeyed."""
        now_ns = self._clock_ns()
        try:
            self._check_sender(sender)
            if self._key is not None:
                data = self._key.check(data)
            if data == ENABLE or (self._key is not None and data.startswith(ENABLE)):
                self._enable(sender)
                return
            if data.startswith((CHUNK, POSES, RELATIVE_POSES)):
                self._add_chunk(data, sender)
                return
            if data.startswith(OBSTACLES):
                self._place(data, sender)
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
            command = self._on_state(self._state_of(data, stamp_ns), stamp_ns)
        else:
            command = self._miss(InputError(f"wrong stamp: {stamp_ns} ns, allowed below 2^31 s"))
        if command is None:
            return None
        self.answered += 1
        tau = command.tau - command.g if self.driver_adds_gravity else command.tau
        head = HEAD.pack(ANSWER, self._model.nv, number, GATE_NUMBERS[self.loop.gate.state])
        data = head + np.asarray(tau, NUMBER).tobytes()
        return data if self._key is None else self._key.sign(data)

    def _on_state(self, message: JointStateFields, stamp_ns: int) -> Command | None:
        """Return the command that answers a state; None while a state is refused and the gate does not brake."""
        last, now_ns = self._process.last, self._clock_ns()
        if last is not None and stamp_ns == 0 < last.measurement.stamp_ns:
            self.loop.gate.brake(TIME_WENT_BACK)  # a gate that passes would start over from the weight, in one step
        self._look_for_gap(now_ns)
        info = {"source_timestamp": None, "received_timestamp": now_ns, "publisher_gid": ONLY_PUBLISHER}
        if last is not None and stamp_ns == last.measurement.stamp_ns:
            return self._miss(InputError(f"repeated: stamp {stamp_ns / NANOSECONDS:.3f} s"), stamp_ns)
        return self._command_of(self._process.on_state(message, info, lambda _: self._obstacles))

    def _look_for_gap(self, now_ns: int) -> None:
        """Brake where nothing has come for too long by the clock, whatever the stamps say."""
        silence, looked_ns = (now_ns - self._looked_ns) / NANOSECONDS, self._looked_ns
        self._looked_ns = now_ns
        if looked_ns and (gap := self.loop.gaps.clock_fault(silence)):
            self.loop.gate.brake(gap)

    def _miss(self, error: InputError, stamp_ns: int = 0) -> Command | None:
        """Count a state that must not be used; return the command of a gate that brakes."""
        return self._command_of(self._process.miss(stamp_ns, Refused(error)))

    def _command_of(self, answer: ControllerAnswer) -> Command | None:
        """The command of an answer; a refused state, or goal, is counted."""
        if answer.refused is not None:
            self._refuse("state", answer.refused)
        if answer.result is not None and answer.result.law.refused is not None:
            self._refuse("goal", answer.result.law.refused)
        return answer.command

    def _check_sender(self, sender: Sender) -> None:
        """Refuse what another sender than the owner sends, while the owner is heard or nobody may take the arm over."""
        if sender == self.owner or self.owner is None:
            return
        if self.heard_owner is not None:
            raise self._other(sender)
        if self.are_strangers_near and sender[0] != self.owner[0] and not self.loop.gate.is_braked:
            raise self._other(sender, ", and the arm is enabled: without a key it goes to no other address")

    def _enable(self, sender: Sender) -> None:
        if sender != self.owner:
            raise self._other(sender)
        self.loop.gate.enable()

    def _add_chunk(self, data: bytes, sender: Sender) -> None:
        """Give a chunk of the owner to the controller; it is joined in the next state."""
        if sender != self.owner:
            raise self._other(sender)
        mark, k = data[: len(CHUNK)], int.from_bytes(data[4:8], "little")
        n = self._model.nv if mark == CHUNK else POSE_SIZE
        if len(data) != HEAD.size + NUMBER.itemsize * k * (1 + n):
            raise InputError(f"wrong size: {len(data)} bytes; a chunk of {k} points of {n} numbers has another one")
        numbers = np.frombuffer(data, NUMBER, offset=HEAD.size).astype(float)
        stamp_ns, times, rows = HEAD.unpack_from(data)[3], numbers[:k], numbers[k:].reshape(k, n)
        chunk: Chunk | PoseChunk = Chunk(stamp_ns, times, rows)
        if mark != CHUNK:
            chunk = PoseChunk(stamp_ns, times, rows, self._model.tip if mark == RELATIVE_POSES else "")
        now_ns = 0 if self.last is None else self.last.measurement.stamp_ns
        self.loop.controller.add(ChunkGoal(now_ns, chunk))

    def _place(self, data: bytes, sender: Sender) -> None:
        """Let the obstacles of a datagram of the owner be those that are there."""
        if sender != self.owner:
            raise self._other(sender)
        m = int.from_bytes(data[4:8], "little")
        if len(data) != OBSTACLES_HEAD + NUMBER.itemsize * m * OBSTACLE:
            raise InputError(f"wrong size: {len(data)} bytes; {m} obstacles have another one")
        rows = np.frombuffer(data, NUMBER, offset=OBSTACLES_HEAD).astype(float).reshape(m, OBSTACLE)
        self._obstacles = tuple(map(_obstacle, rows))

    def _other(self, sender: Sender, why: str = "") -> InputError:
        return InputError(f"another sender: {_name_of(sender)}; states come from {self.owner_name}{why}")

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
            self.moments.counts[:] = 0
            self._begin()
        self.owner, self._newest, self._obstacles = sender, None, ()

    def _state_of(self, data: bytes, stamp_ns: int) -> JointStateFields:
        header = Header(Stamp(*divmod(stamp_ns, NANOSECONDS)), "")
        q, v = np.frombuffer(data, NUMBER, offset=HEAD.size).astype(float).reshape(2, self._model.nv)
        return JointStateFields(header, self._names, q, v, self._nothing)


def _obstacle(row: Array) -> Obstacle:
    """The obstacle of a row of numbers."""
    check_distance(np.abs(row).max(), "an obstacle")
    kind, *sizes = row[:4].tolist()
    if kind not in range(len(SHAPES)):
        raise InputError(f"shape {kind:g} of an obstacle; allowed: 0 to {len(SHAPES) - 1}")
    return Obstacle(SHAPES[int(kind)](*sizes), Pose.at(row[4:7], row[7:11]), row[11:])


def _is_newer(data: bytes, waiting: bytes) -> bool:
    """Whether a state replaces one that waits: it is not older, or the stamp of the other one must not be used.

    A stamp of 0 is newer than a larger one: time starts over.
    """
    stamp_ns, waiting_ns = (HEAD.unpack_from(state)[3] for state in (data, waiting))
    return stamp_ns >= waiting_ns or stamp_ns == 0 or waiting_ns >= LARGEST_STAMP


def _name_of(sender: Sender | None) -> str:
    """Return address and port of a sender as text."""
    return "nobody" if sender is None else f"{sender[0]}:{sender[1]}"
