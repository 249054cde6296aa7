"""States and orders as they may come over a wire, drawn at random; and the ways in which a controller answers them.

The ways are those that people run: the controller's process behind a topic, the same with the native loop, the process
behind datagrams, the same with its native loop. Nothing of ROS, no socket and no clock is used.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from exported_library import Walk
from native_rig import FakeMiddleware, FakeNetwork

from arm_control.bags import plain
from arm_control.control import ControlLoop, OscTuning
from arm_control.controllers import OscController
from arm_control.core import LARGEST_STAMP, NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.faults import MANY
from arm_control.gate import GateParameters, JointLimits
from arm_control.maths import Array, Obstacle, Pose
from arm_control.messages import JointStateBytes, JointStateWriter, ObstacleTracker
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.processes import (
    HEAD,
    STATE,
    ControllerProcess,
    DatagramProcess,
    NativeController,
    NativeDatagrams,
    step_kernels_of,
)
from arm_control.simulation import ObstacleUpdate

MS = 1_000_000
START_NS = 1_700_000_000 * NANOSECONDS + 123_456_789
"""Time of the clock at the beginning: a number of seconds that a float does not hold to the nanosecond [ns]."""
SOCKETS = [("127.0.0.1", 40_001), ("127.0.0.1", 40_002)]
"""Addresses of the senders."""


class Order(NamedTuple):
    """What is asked for before a state.

    Attributes
    ----------
    name : str
        ``brake``, ``enable``, ``goal``, ``disturb`` or nothing.
    shift : ndarray, shape (6,)
        Goal, from where the hand is [m], with its time from now on [s]; or torque of a disturbance [N m].
    """

    name: str
    shift: Array


class Step(NamedTuple):
    """One state as it comes.

    Attributes
    ----------
    order : Order
        What is asked for before.
    now_ns, stamp_ns : int
        When it comes, and its stamp [ns].
    q, v : ndarray, shape (n,)
        The state.
    sender : int
        Number of its publisher.
    age_ns : int
        Its age as the middleware says it [ns].
    """

    order: Order
    now_ns: int
    stamp_ns: int
    q: Array
    v: Array
    sender: int
    age_ns: int

    @property
    def posture(self) -> Array:
        """A posture of the arm near the state, whose numbers may be none, shape (n,)."""
        return np.nan_to_num(self.q, nan=0.0, posinf=0.0, neginf=0.0).clip(-10.0, 10.0)


class Wire(NamedTuple):
    """How often something is wrong.

    Attributes
    ----------
    stamps : float
        Stamps again, older ones, those of another time.
    numbers : float
        Jumps, frozen states, states that are no numbers or no velocities.
    times : float
        Gaps, bursts, silence.
    delays : float
        States that come late, and then at once.
    senders : float
        Other publishers.
    ages : float
        Messages that the middleware calls old.
    """

    stamps: float = 0.002
    numbers: float = 0.002
    times: float = 0.002
    delays: float = 0.002
    senders: float = 0.001
    ages: float = 0.002


def steps(model: RobotModel, seed: int, n: int, wire: Wire) -> Iterator[Step]:
    """Draw states of an arm that swings, each a millisecond or so after the other."""
    rng = np.random.default_rng(seed)
    stream = _Stream(model, rng, wire if seed % 4 else Wire(*[0.0] * 6))
    for _ in range(n):
        yield stream.step()


class _Stream:
    def __init__(self, model: RobotModel, rng: np.random.Generator, wire: Wire) -> None:
        self._rng, self._wire, self._n = rng, wire, model.nv
        joints = model.urdf.robot.joint_map
        self._turns = np.array([2.0 * np.pi * (joints[name].type == "continuous") for name in model.joint_names])
        self._walk = Walk(rng, model.nv)
        self._now_ns = self._due_ns = START_NS
        self._offset_ns = int(rng.choice([0, START_NS, START_NS - 5 * NANOSECONDS]))
        self._q, self._v = self._walk.after(0.0)
        self._frozen = self._q, self._v
        self._shift, self._n_frozen, self._n_bad = np.zeros(model.nv), 0, 0
        self._bad, self._bad_stamp = np.zeros(model.nv), 0
        self._stamp_ns, self._n_wrong_stamps, self._n_foreign, self._n_late = 0, 0, 0, 0
        self._kind, self._n_old, self._age_ns = 0, 0, 0
        self._is_begun = False

    def step(self) -> Step:
        rng = self._rng
        order = self._order()
        self._wait()
        q, v = self._state()
        stamp_ns = self._stamp()
        if self._n_foreign:
            self._n_foreign -= 1
        elif rng.random() < self._wire.senders:
            self._n_foreign = int(rng.choice([1, 3, 30]))
        if self._n_old:
            self._n_old -= 1
        elif rng.random() < self._wire.ages:
            self._n_old, self._age_ns = int(rng.choice([1, 30, 200])), int(rng.choice([5, 19, 20, 21, 60])) * MS
        age_ns = self._age_ns + int(rng.integers(-2, 3)) if self._n_old else 0
        return Step(order, self._now_ns, stamp_ns, q, v, int(self._n_foreign > 0), age_ns)

    def _order(self) -> Order:
        names = ("brake", "enable", "goal", "disturb", "")
        name = "goal" if not self._is_begun else str(self._rng.choice(names, p=[0.002, 0.04, 0.04, 0.002, 0.916]))
        self._is_begun = True
        shift = self._rng.uniform(-0.1, 0.1, 6)
        if name == "disturb":
            shift = shift * self._rng.choice([10.0, 1e3, 1e10])
        return Order(name, shift)

    def _wait(self) -> None:
        """Let time go on until the next state."""
        rng = self._rng
        period = int(rng.uniform(0.8, 1.2) * MS) if rng.random() < 0.5 else MS
        if rng.random() < self._wire.times:
            period = int(period * rng.choice([2.0, 3.0, 8.0, 19.0, 22.0, 50.0, 1500.0]))
            self._n_late = int(rng.choice([0, 0, 5])) if self._wire.delays else 0
        dt = period / NANOSECONDS
        self._due_ns += period
        if self._n_late:  # they come later, and then at once
            self._n_late -= 1
        elif rng.random() < self._wire.delays:
            self._now_ns = self._due_ns + int(rng.uniform(0.0, 40.0) * MS)
        delay_ns = int(rng.integers(0, MS // 2)) if self._wire.delays and rng.random() < 0.1 else 0
        self._now_ns = max(self._now_ns + 10_000, self._due_ns + delay_ns)
        self._q, self._v = self._walk.after(dt)

    def _state(self) -> tuple[Array, Array]:
        rng, wire, n = self._rng, self._wire, self._n
        q, v = self._q + self._shift, self._v
        if self._n_frozen:
            self._n_frozen -= 1
            q, v = self._frozen
        elif rng.random() < wire.numbers:
            self._n_frozen, self._frozen = int(rng.integers(2, 60)), (q, v)
        if rng.random() < wire.numbers:
            which = rng.random(n) < 0.3
            self._shift = rng.choice([0.01, 0.1, 1.0]) * rng.standard_normal(n) * which
        q = q + self._turns * rng.integers(-2, 3, n) * (rng.random() < 0.1)
        if rng.random() < wire.numbers:
            v = v * rng.choice([-1.0, 1e3])
        if self._n_bad:
            self._n_bad -= 1
        elif rng.random() < wire.numbers:
            self._n_bad = int(rng.choice([1, 3, 25]))
            number = rng.choice([np.nan, np.inf, -np.inf, 1e300, 0.0])
            self._bad = np.where(np.arange(n) == rng.integers(n), number, 0.0)
        if self._n_bad:
            q, v = (q + self._bad, v) if rng.random() < 0.5 else (q, v + self._bad)
        return q, v

    def _stamp(self) -> int:
        rng, last_ns = self._rng, self._stamp_ns
        self._stamp_ns = stamp_ns = self._due_ns - self._offset_ns
        if self._n_wrong_stamps:
            self._n_wrong_stamps -= 1
        elif rng.random() < self._wire.stamps:
            self._kind, self._bad_stamp = int(rng.integers(5)), last_ns
            self._n_wrong_stamps = int(rng.choice([1, 3, 25], p=[0.7, 0.2, 0.1]))
        if not self._n_wrong_stamps:
            return stamp_ns
        match self._kind:
            case 0:
                return self._bad_stamp
            case 1:
                return stamp_ns - 30 * MS
            case 2:  # time starts over
                self._offset_ns, self._n_wrong_stamps, self._stamp_ns = self._due_ns, 0, 0
                return 0
            case 3:
                return LARGEST_STAMP - 1 - 10 * MS + stamp_ns % MS
            case _:
                return stamp_ns + int(rng.integers(-2 * MS, 2 * MS))


def gate_parameters(rng: np.random.Generator) -> GateParameters:
    """Draw limits of a gate."""
    return GateParameters(
        rate_limit=float(rng.choice([300.0, 1e3, 1e5])),
        max_missed=int(rng.choice([1, 2, 4, 20])),
        joint_limits=bool(rng.random() < 0.8),
        brake_damping=float(rng.choice([20.0, 50.0])),
    )


class Verdict(NamedTuple):
    """What comes of one state.

    Attributes
    ----------
    answers : list of bytes
        What was sent.
    state, reason : str
        Of the gate.
    """

    answers: list[bytes]
    state: str
    reason: str

    def decision(self, n: int) -> Verdict:
        """The same without a reason, and with the torques of ``n`` joints alone, with which answers of any kind end."""
        return self._replace(answers=[answer[-8 * n :] for answer in self.answers], reason="")


class Way:
    """A way to answer states: the process behind a topic.

    Attributes
    ----------
    change : callable
        What becomes of the bytes of a state on their way.
    """

    def __init__(self, model: RobotModel, gate: GateParameters) -> None:
        self.model = model
        limits = JointLimits(model, gate, gate.rate_limit)
        self.controller = OscController(model, OscTuning(), limits=limits)
        self.loop = ControlLoop(model, self.controller, gate)
        self.now_ns, self.stamp_ns, self.answers = START_NS, 0, list[bytes]()
        self.change: Callable[[bytes], bytes] = lambda data: data
        self.tracker = ObstacleTracker(model)
        self._writer = JointStateWriter(model.joint_names, ("position", "velocity"))
        self._reader, self._commands = JointStateBytes(), JointStateWriter(model.joint_names)
        self.make(gate)

    def make(self, gate: GateParameters) -> None:
        self.process = ControllerProcess(self.model, self.loop, gate.max_age, lambda: self.now_ns)

    def obey(self, order: Order, q: Array) -> None:
        """Do what is asked for."""
        if order.name == "brake":
            self.loop.gate.brake("asked to")
        elif order.name == "enable":
            self.loop.gate.enable()
        elif order.name == "goal":
            stamp_ns = max(0, self.stamp_ns + round(order.shift[3] * NANOSECONDS))
            X = self.model.pose(q)
            self.controller.add(Target(stamp_ns, self.model.base, Pose(X.R, X.p + order.shift[:3])))
        elif order.name == "disturb":
            self.loop.disturbance.set(self.stamp_ns, np.resize(order.shift, self.model.nv))

    def take(self, step: Step) -> Verdict:
        """Answer a state."""
        self.now_ns = step.now_ns
        if order := step.order:
            self.obey(order, step.posture)
        self.stamp_ns = step.stamp_ns
        self.answers.clear()
        self.show(step)
        gate = self.loop.gate
        return Verdict(self.answers.copy(), gate.state.value, gate.reason)

    @property
    def n_native(self) -> int:
        """Number of states that were answered without Python."""
        return 0

    def show(self, step: Step) -> None:
        self.answer(*self.message(step))

    def message(self, step: Step) -> tuple[bytes, dict[str, Any]]:
        times = {"source_timestamp": step.now_ns - step.age_ns, "received_timestamp": step.now_ns}
        gid = {"data": bytes([1 + step.sender]) * 16}
        data = self.change(self._writer.message(step.stamp_ns, step.q, step.v))
        return data, {**times, "publisher_gid": gid}

    def refresh(self) -> None:
        """Notice that goals or parameters have changed."""

    def place(self, obstacle: Obstacle, stamp_ns: int) -> None:
        """Say where the one obstacle is from a stamp on [ns]."""
        assert not self.tracker.update(plain.markers([ObstacleUpdate(0, obstacle)], "", stamp_ns))

    def answer(self, data: bytes, info: dict[str, Any]) -> None:
        try:
            message = self._reader.read(data)
        except InputError:
            return
        command = self.process.on_state(message, info, lambda m: self.tracker.obstacles(m.stamp_ns, m.q)).command
        if command is not None:
            self.answers.append(self._commands.message(command.stamp_ns, command.tau, frame_id=command.frame_id))


class NativeWay(Way):
    """The process behind a topic, with the native loop."""

    def make(self, gate: GateParameters) -> None:
        super().make(gate)
        self.middleware = FakeMiddleware()
        self.answers = self.middleware.commands
        kernels = step_kernels_of(self.model, self.loop, self.controller)
        middleware = self.middleware.record(has_array=False)
        self.native = NativeController(
            *(self.model, self.process, self.controller, kernels, middleware, gate.max_age),
            obstacles_until_ns=lambda: self.tracker.until_ns,
        )
        self.native.end_turn()

    @property
    def n_native(self) -> int:
        return self.native.n_answered

    def obey(self, order: Order, q: Array) -> None:
        super().obey(order, q)
        if order.name:
            self.refresh()

    def refresh(self) -> None:
        self.native.refresh()

    def place(self, obstacle: Obstacle, stamp_ns: int) -> None:
        newest = self.native.newest_state
        assert newest is not None
        assert newest.stamp_ns == self.stamp_ns
        self.tracker.set_state(newest.stamp_ns, newest.q)
        super().place(obstacle, stamp_ns)

    def show(self, step: Step) -> None:
        self.come(step)
        self.take_turns()

    def come(self, step: Step) -> None:
        """Let a state come, in the middleware's thread."""
        self.now_ns = self.middleware.now_ns = step.now_ns
        self.middleware.waiting.append(self.message(step))
        self.middleware.call(self.native.callback)

    def take_turns(self) -> None:
        """Answer what is left to Python."""
        while reason := self.middleware.reason():
            self.native.take_over(reason)
            data, info = self.native.message()
            self.answer(data, info)
            self.native.hand_over(data, info)
            self.native.end_turn()


class DatagramWay(Way):
    """The process behind datagrams."""

    def make(self, gate: GateParameters) -> None:
        self.refused: list[str] = []
        self._number = 0
        self.datagrams = DatagramProcess(self.model, self.loop, lambda *_: None, lambda: self.now_ns)

    @property
    def process(self) -> ControllerProcess:  # type: ignore[override]
        return self.datagrams._process

    def datagram(self, step: Step) -> bytes:
        self._number += 1
        head = HEAD.pack(STATE, self.model.nv, self._number, step.stamp_ns)
        return self.change(head + struct.pack(f"<{2 * self.model.nv}d", *step.q, *step.v))

    def show(self, step: Step) -> None:
        self.show_together((self.datagram(step), step.sender))

    def show_together(self, *datagrams: tuple[bytes, int]) -> None:
        """Answer datagrams that wait together, with the numbers of their senders."""
        for data, sender in datagrams:
            self.datagrams.take(data, SOCKETS[sender])
        self.send_answer()

    def place(self, obstacle: Obstacle, stamp_ns: int) -> None:
        """Say where the one obstacle, a ball, is from the next state on."""
        numbers = [0, obstacle.shape.radius, 0, 0, *obstacle.X_WO.p, 0, 0, 0, 1, *obstacle.V_WO]
        self.show_together((struct.pack("<4sIQ17d", b"ACO1", 1, 0, *numbers), 0))

    def send_answer(self) -> None:
        answer = self.datagrams.answer()
        if answer is not None:
            self.answers.append(answer)


class NativeDatagramWay(DatagramWay):
    """The process behind datagrams, with the native loop."""

    def make(self, gate: GateParameters) -> None:
        super().make(gate)
        self.network = FakeNetwork(lambda: self.now_ns)
        self.network.sent = self.answers
        kernels = step_kernels_of(self.model, self.loop, self.controller)
        self.native = NativeDatagrams(self.model, self.datagrams, self.controller, kernels, self.network.record())

    @property
    def n_native(self) -> int:
        return self.native.n_answered

    def show_together(self, *datagrams: tuple[bytes, int]) -> None:
        waiting = self.network.waiting
        waiting.extend((data, SOCKETS[sender]) for data, sender in datagrams)
        while self.native.wait(MANY, MANY):
            while waiting:
                self.datagrams.take(*waiting.popleft())
            self.send_answer()
