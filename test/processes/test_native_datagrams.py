"""The native loop over datagrams: for one sequence of datagrams the same answers, byte for byte, as Python alone."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from arm_control import Pose, RobotModel
from arm_control.app import Changes, answer_newest, answer_states, answer_waiting
from arm_control.compiler import CFunction
from arm_control.controllers import OscController, OscLoopParameters, control_loop
from arm_control.gate import GateParameters
from arm_control.maths import Array
from arm_control.model import Tool
from arm_control.motion import PoseMotion, PosePoints, Target
from arm_control.processes import (
    ENABLE,
    SILENCE,
    DatagramProcess,
    NativeDatagrams,
    SystemClock,
    network_of,
    step_kernels_of,
)
from arm_control.processes.native_datagrams import (
    ENOUGH,
    MOST_WAITING,
    NO_DATAGRAM,
    OTHER_DATAGRAM,
    WOKEN,
)
from arm_control.processes.native_step import (
    CLOSED,
    EXPIRED,
    MISSING_STATES,
    MONOTONIC,
    NO_TORQUE,
    NOT_BELIEVABLE,
    NOT_BELIEVED,
    NOT_FINITE,
    NOT_SENT,
    OTHER_TIME,
)

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
OWN, OTHER = 0, 1
"""Senders."""
NEVER = 2**62
ANSWERED_BY_PYTHON = 2
"""States that Python answers at the beginning: until then the time between two is unknown."""

Datagrams = list[tuple[int, bytes]]
"""Senders and datagrams that wait together."""
Event = Callable[["PythonRun"], object]


class PythonRun:
    """The ordinary way: every datagram through the process.

    Attributes
    ----------
    answers : list of (int, bytes)
        What the senders have received.
    refused : list of str
        What has been refused.
    """

    def __init__(self, model: RobotModel, *, adds_gravity: bool = False, **gate: float) -> None:
        self.answers: Datagrams = []
        self.refused: list[str] = []
        self.now_ns = 0
        self.loop = control_loop(model, OscLoopParameters(gate=GateParameters(**gate)), waits_for_commands=False)
        assert isinstance(self.loop.controller, OscController)
        self.controller = self.loop.controller
        refuse = lambda what, error: self.refused.append(f"{what}: {error}")  # noqa: E731
        clock = lambda: self.now_ns  # noqa: E731
        self.process = DatagramProcess(model, self.loop, refuse, clock, driver_adds_gravity=adds_gravity)
        self.resources = ExitStack()
        self.own, *self.senders = (self._socket() for _ in range(3))
        for sender in self.senders:
            sender.connect(self.own.getsockname())

    def show(self, datagrams: Datagrams) -> None:
        """Let datagrams come, a millisecond after those before."""
        self.now_ns += MS
        for sender, data in datagrams:
            self.senders[sender].send(data)
        self.work()
        self.read()

    def read(self) -> None:
        """Let the senders read their answers."""
        for k, sender in enumerate(self.senders):
            while (data := received(sender)) is not None:
                self.answers.append((k, data))

    def work(self) -> None:
        """Answer what waits."""
        answer_newest(self.own, self.process)

    def _socket(self) -> socket.socket:
        one = self.resources.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        one.bind(("127.0.0.1", 0))
        return one


class NativeRun(PythonRun):
    """The same with the native loop, which does not wait where nothing is there.

    Attributes
    ----------
    coming : list of list of (int, bytes)
        Datagrams that come while the loop waits, a millisecond after those before.
    on_receive : callable
        Called before a datagram is received.
    """

    def __init__(self, model: RobotModel, *, adds_gravity: bool = False, **gate: float) -> None:
        super().__init__(model, adds_gravity=adds_gravity, **gate)
        library, self._kept = ctypes.CDLL(None), list[Any]()
        self.coming: list[Datagrams] = []
        self.longest_wait_ms = 0
        self.fails, self.on_receive = False, lambda: None
        self.waker, self.wakes = os.pipe()
        os.set_blocking(self.waker, False)
        for end in (self.waker, self.wakes):
            self.resources.callback(os.close, end)
        self._c = {"poll": CFunction.of(library.poll, 3)}
        self._c |= {name: CFunction.of(getattr(library, name), 6) for name in ("recvfrom", "sendto")}
        self.network = network_of(self.own, self.waker)._replace(
            poll=self._function(self._poll, 3),
            clock=SystemClock(self._function(self._read_clock, 2), np.zeros(2, dtype=np.int64)),
            receive=self._function(self._receive, 6),
            send=self._function(lambda *words: -1 if self.fails else self._c["sendto"](*words), 6),
        )
        kernels = step_kernels_of(model, self.loop, self.controller)
        self.native = NativeDatagrams(model, self.process, self.controller, kernels, self.network)

    def work(self) -> None:
        """Answer what waits, without Python where that is possible."""
        while self.native.wait(NEVER, NEVER):
            answer_waiting(self.own, self.process)

    def stream(self) -> None:
        """Let all that is coming come."""
        if self.coming:
            self.work()
            self.read()

    def _function(self, function: Callable[..., int], n: int) -> CFunction:
        pointer = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * n)(function)
        self._kept.append(pointer)
        return CFunction.of(pointer, n)

    def _read_clock(self, number: int, time: int) -> int:
        assert number == MONOTONIC
        words = (ctypes.c_int64 * 2).from_address(time)
        words[0], words[1] = divmod(self.now_ns, 1_000_000_000)
        return 0

    def _poll(self, polled: int, n: int, limit_ms: int) -> int:
        self.longest_wait_ms = limit_ms
        self.read()
        if self.coming:
            self.now_ns += MS
            for sender, data in self.coming.pop(0):
                self.senders[sender].send(data)
        return self._c["poll"](polled, n, 0)

    def _receive(self, *words: int) -> int:
        self.on_receive()
        return self._c["recvfrom"](*words)


def received(sender: socket.socket) -> bytes | None:
    try:
        return sender.recv(1000, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None


@pytest.fixture
def runs(ur5: RobotModel) -> Iterator[Callable[..., tuple[PythonRun, NativeRun]]]:
    """Makes both, which end with the test."""
    with ExitStack() as made:

        def make(**options: Any) -> tuple[PythonRun, NativeRun]:
            python, native = PythonRun(ur5, **options), NativeRun(ur5, **options)
            for run in (python, native):
                made.enter_context(run.resources)
            return python, native

        yield make


def show(
    runs: tuple[PythonRun, NativeRun], sequence: Iterable[Datagrams | Event], *, streams: bool = False
) -> tuple[PythonRun, NativeRun]:
    """Show datagrams and events to both; return them, who must agree in all they have sent and know.

    Where they stream the loop without Python answers as many states in a row as it may.
    """
    python, native = runs
    for item in sequence:
        for run in runs:
            if callable(item):
                native.stream()
                item(run)
            elif run is native and streams:
                native.coming.append(item)
            else:
                run.show(item)
    native.stream()
    assert native.answers == python.answers
    assert what_is_known(native) == what_is_known(python)
    return python, native


def what_is_known(run: PythonRun) -> dict[str, Any]:
    """All that the next answers depend on."""
    process, loop, last = run.process, run.loop, run.process.last
    gate, known = loop.gate, run.process._process
    return {
        "process": (process.answered, process.heard_ns),
        "refused": [re.sub(r":\d{4,5}\b", ":port", why) for why in run.refused],
        "last gate": (known._missed, known._answered_ns, known.blind.is_blind, str(known.blind.moments)),
        "gate": (gate.state, gate.period, gate.success_rate, gate.is_braked),
        "gaps": (loop.gaps.period, loop.gaps.skipped),
        "reader": (str(process.reader.bounds.memory), process.reader.least_delay_ns),
        "last": None if last is None else (last.measurement.stamp_ns, last.measurement.dt, last.gate.tau.tolist()),
    }


# -- datagrams -----------------------------------------------------------------------------------------


def state(number: int, stamp_ns: int, q: Array, v: Array, mark: bytes = b"ACS1") -> bytes:
    return struct.pack(f"<4sIQq{2 * len(q)}d", mark, len(q), number, stamp_ns, *q, *v)


def motion(n: int) -> tuple[Array, Array]:
    """Positions and velocities of an arm in motion, 1 ms apart."""
    speed, phase = np.random.default_rng(0).uniform(0.5, 2.0, (2, 6))
    t = 1e-3 * (np.arange(n)[:, None] + 1)
    return HOME + 0.3 * np.sin(speed * t + phase) / speed, 0.3 * np.cos(speed * t + phase)


def states(n: int, start: int = 0, sender: int = OWN, after_ns: int = 0) -> list[Datagrams]:
    """States one behind the other, each alone."""
    qs, vs = motion(start + n)
    return [[(sender, state(k, (k + 1) * MS + after_ns, qs[k], vs[k]))] for k in range(start, start + n)]


def with_stamp(one: Datagrams, stamp_ns: int) -> Datagrams:
    ((sender, data),) = one
    return [(sender, data[:16] + struct.pack("<q", stamp_ns) + data[24:])]


def with_number(one: Datagrams, place: int, x: float) -> Datagrams:
    """A state of which one position or velocity is another one."""
    ((sender, data),) = one
    return [(sender, data[: 24 + 8 * place] + struct.pack("<d", x) + data[32 + 8 * place :])]


def changed(change: Callable[[Datagrams], Iterable[Datagrams]]) -> list[Datagrams | Event]:
    """States of which one is changed, or has others beside it."""
    before, (one, *after) = states(50), states(100, start=50)
    return [*before, *change(one), *after]


def later(seconds: float) -> Event:
    def wait(run: PythonRun) -> None:
        run.now_ns += round(1e9 * seconds)

    return wait


def enable(at: int) -> list[Datagrams | Event]:
    """The owner enables the gate, and a new goal comes, without which the arm would be held."""

    def add_goal(run: PythonRun) -> None:
        X_WE = run.process._model.pose(HOME)
        run.loop.controller.add(Target((at + 1) * MS, "base_link", X_WE))

    return [[(OWN, ENABLE)], add_goal]


def ramp(joint: int, start: float, speed: float, acceleration: float = 0.0) -> list[Datagrams]:
    """One joint in steady or accelerated motion, all others at rest."""
    t = 1e-3 * np.arange(1, 201)
    qs, vs = np.tile(HOME, (200, 1)), np.zeros((200, 6))
    qs[:, joint] = start + speed * t + 0.5 * acceleration * t * t
    vs[:, joint] = speed + acceleration * t
    return [[(OWN, state(k, (k + 1) * MS, qs[k], vs[k]))] for k in range(200)]


def false_speeds() -> list[Datagrams]:
    """Velocities that are not those of the positions."""
    qs, vs = motion(200)
    return [*states(30), *([(OWN, state(k, (k + 1) * MS, qs[k], vs[k] - 0.4))] for k in range(30, 200))]


def frozen() -> list[Datagrams]:
    """One state with new stamps, again and again."""
    *before, one = states(50)
    return [*before, *(with_stamp(one, (50 + k) * MS) for k in range(40))]


def together(*parts: list[Datagrams]) -> list[Datagrams]:
    """Datagrams that wait together."""
    return [[datagram for one in group for datagram in one] for group in zip(*parts, strict=True)]


def rivals() -> list[Datagrams | Event]:
    """Another sender beside the owner, with it, and after it; then the first one again."""
    own, other = states(60), states(200, sender=OTHER)
    return [
        *own[:30],
        *itertools.chain(*zip(other[30:40], own[30:40], strict=True)),
        *together(own[40:50], other[40:50]),
        *together(other[50:60], own[50:60]),
        later(2.0),
        *other[60:80],
        [(OTHER, ENABLE)],
        *other[80:140],
        *states(3, start=140),
    ]


def jumping_clock() -> list[Datagrams | Event]:
    """A gap in which the owner is nearly silent for too long, with other senders in it."""
    own = states(150)
    return [*own[:50], later(0.99), [(OTHER, own[50][0][1])], *own[50:100], later(1.0), [(OTHER, own[0][0][1])]]


def add_goal(run: PythonRun) -> None:
    """A target for later, a motion behind it, and one more target."""
    X = run.loop.controller._follower.model.pose(HOME)
    there = Pose(X.R, X.p + [0.0, 0.1, 0.05])
    points = PosePoints(np.array([0.0, 0.03]), (X, there), np.zeros((2, 6)), np.zeros((2, 6)))
    run.controller.add(Target(30 * MS, "base_link", there))
    run.controller.add(PoseMotion(60 * MS, "base_link", points))
    run.controller.add(Target(130 * MS, "tool0", Pose(np.eye(3), np.array([0.0, 0.0, 0.02]))))


def far_target(run: PythonRun) -> None:
    X = run.loop.controller._follower.model.pose(HOME)
    run.controller.add(Target(40 * MS, "base_link", Pose(X.R, X.p + [0.0, 0.3, 0.0])))


def irregular() -> list[Datagrams | Event]:
    """Times between states that change, while the torque is limited in its rate; some states are missing."""
    kept = [k for k in range(400) if k % 10 not in (3, 4, 7) and not 100 < k < 105]
    all_states = states(400)
    return [far_target, *(all_states[k] for k in kept)]


def disturb(run: PythonRun) -> None:
    """A known torque that no gate believes."""
    run.loop.disturbance.set(30 * MS, np.full(6, 1e9))


def longer(one: Datagrams, extra: bytes = b"x") -> Datagrams:
    return [(sender, data + extra) for sender, data in one]


def shorter(one: Datagrams) -> Datagrams:
    return [(sender, data[:-8]) for sender, data in one]


def headed(one: Datagrams, head: bytes) -> Datagrams:
    return [(sender, head + data[len(head) :]) for sender, data in one]


def crowded() -> list[Datagrams]:
    """Two, three and more states that wait together, an order between them, and noise behind them."""
    own = states(200)
    groups = [*own[:50]]
    for k, size in zip(range(50, 160, 5), itertools.cycle([2, 3, 5]), strict=False):
        groups.append([datagram for one in own[k : k + size] for datagram in one])
    groups.append([*own[161], (OWN, ENABLE), *own[162], *own[163]])
    groups += own[164:170]
    groups.append([*own[170], *own[171], (OWN, b"noise")])
    return [*groups, *own[172:]]


def crowded_and_bad() -> list[Datagrams]:
    """Two, three and more states that wait together, the last one of which must not be used."""
    own, bad = states(200), [lambda one: with_number(one, 0, np.nan), lambda one: with_stamp(one, MS), longer]
    groups = [*own[:50]]
    for k, size, change in zip(range(50, 200, 10), itertools.cycle([2, 3, 5, 6]), itertools.cycle(bad), strict=False):
        waiting = [*own[k : k + size], change(own[k + size])]
        groups += [[datagram for one in waiting for datagram in one], *own[k + size + 1 : k + 10]]
    return groups


def old_now_and_then() -> list[Datagrams]:
    """As many old stamps as would be believed in a row, each alone."""
    old = states(1)[0]
    return [part for k, one in enumerate(states(200)) for part in ([one, old] if k % 8 == 7 else [one])]


def in_another_order() -> list[Datagrams]:
    """States that wait together with older ones behind them, with one again, with a restart and wrong stamps."""
    own, groups = states(300), list[Datagrams]()
    for k in range(0, 300, 10):
        late = [*own[k + 4], *own[k + 6], *own[k + 5]]
        again = [*own[k + 7], *own[k + 6]]
        wrong = [*own[k + 8], *with_stamp(own[k + 8], 2**62), *own[k + 9]]
        groups += [*own[k : k + 4], late, again, wrong]
    return [*groups, [*states(1, 300)[0], *with_stamp(states(1, 301)[0], 0)], *states(5, 301)]


Sequence = list[Datagrams | Event]
CASES: dict[str, tuple[Callable[[], Sequence], int, set[int], dict[str, float]]] = {
    # sequence, states of which Python answers at most so many, reasons, the gate's parameters
    "nothing special": (lambda: [*states(300)], 2, {CLOSED}, {}),
    "missing states": (
        lambda: [*states(50), *states(20, 90), *enable(110), *states(50, 110)], 24, {MISSING_STATES}, {}
    ),
    "few missing states": (lambda: [*states(50), *states(20, 60), *states(20, 81)], 2, {CLOSED}, {}),
    "a stamp again": (lambda: changed(lambda one: [one, one]), 4, {OTHER_TIME}, {}),
    "a stuck stamp": (lambda: changed(lambda one: [one] * 40), 180, {OTHER_TIME}, {}),
    "an old stamp": (lambda: changed(lambda one: [one, *states(1)]), 4, {OTHER_TIME}, {}),
    "old stamps now and then": (lambda: [*old_now_and_then()], 30, {OTHER_TIME}, {}),
    "a stamp of 0": (lambda: changed(lambda one: [with_stamp(one, 0), one]), 180, {OTHER_TIME}, {}),
    "a restart": (lambda: [*states(50), *states(50, after_ns=-MS), *enable(50), *states(50, 50)], 60, {OTHER_TIME}, {}),
    "negative stamps": (lambda: [*states(200, after_ns=-101 * MS)], 2, {CLOSED}, {}),
    "a stamp of the far future": (
        lambda: changed(lambda one: [with_stamp(one, 2**62), one]), 4, {OTHER_TIME}, {"max_missed": 10**15}
    ),
    "not a number": (lambda: changed(lambda one: [with_number(one, 0, np.nan), one]), 4, {NOT_FINITE}, {}),
    "an infinite velocity": (lambda: changed(lambda one: [with_number(one, 11, -np.inf), one]), 4, {NOT_FINITE}, {}),
    "many that are no numbers": (
        lambda: changed(lambda one: [with_number(with_stamp(one, (51 + k) * MS), 2, np.nan) for k in range(30)]),
        200, {NOT_FINITE}, {},
    ),
    "a jump": (lambda: changed(lambda one: [with_number(one, 0, 1.0)]), 200, {NOT_BELIEVED}, {}),
    "a jump, enabled": (
        lambda: [*states(50), with_number(*states(1, 50), 0, 1.0), *states(9, 51), *enable(60), *states(90, 60)],
        130, {NOT_BELIEVED}, {},
    ),
    "a frozen arm": (lambda: [*frozen()], 60, {NOT_BELIEVED}, {}),
    "false speeds": (lambda: [*false_speeds()], 200, {NOT_BELIEVED}, {}),
    "far outside": (lambda: [*ramp(2, 3 * np.pi - 0.02, 0.5)], 200, {NOT_BELIEVED}, {}),
    "too fast": (lambda: [*ramp(0, 0.0, 0.0, 200.0)], 200, {NOT_BELIEVED}, {}),
    "a stretched arm": (lambda: [*ramp(2, 0.3, -4.0)], 2, {CLOSED}, {}),
    "irregular states": (irregular, 20, {EXPIRED}, {}),
    "goals": (lambda: [add_goal, *states(200)], 60, {EXPIRED}, {}),
    "an absurd torque": (lambda: [*states(30), disturb, *states(150, 30)], 180, {NOT_BELIEVABLE}, {}),
    "a longer datagram": (lambda: changed(lambda one: [longer(one), one]), 4, {OTHER_DATAGRAM}, {}),
    "a shorter datagram": (lambda: changed(lambda one: [shorter(one), one]), 4, {OTHER_DATAGRAM}, {}),
    "an empty datagram": (lambda: changed(lambda one: [[(OWN, b"")], one]), 4, {OTHER_DATAGRAM}, {}),
    "a large datagram": (
        lambda: changed(lambda one: [longer(one, bytes(60_000)), one]), 4, {OTHER_DATAGRAM}, {}
    ),
    "another head": (lambda: changed(lambda one: [headed(one, b"ACT1"), one]), 4, {OTHER_DATAGRAM}, {}),
    "another arm": (lambda: changed(lambda one: [headed(one, b"ACS1\7"), one]), 4, {OTHER_DATAGRAM}, {}),
    "an order": (lambda: changed(lambda one: [[(OWN, ENABLE)], one]), 4, {OTHER_DATAGRAM}, {}),
    "a brake": (lambda: [*states(30), brake, *states(9, 30), *enable(39), *states(60, 39)], 15, {CLOSED}, {}),
    "another sender": (rivals, 170, {OTHER_DATAGRAM}, {}),
    "a slow owner": (jumping_clock, 60, {OTHER_DATAGRAM}, {}),
    "several that wait": (lambda: [*crowded()], 10, {OTHER_DATAGRAM}, {}),
    "several that wait in another order": (lambda: [*in_another_order()], 170, {OTHER_DATAGRAM}, {}),
    "several that wait, a bad one last": (
        lambda: [*crowded_and_bad()], 40, {OTHER_DATAGRAM, NOT_FINITE}, {}
    ),
}  # fmt: skip


def brake(run: PythonRun) -> None:
    run.loop.gate.brake("a test")


@pytest.mark.parametrize(
    ("adds_gravity", "streams"), [(False, True), (True, False)], ids=["in a stream", "one by one, without gravity"]
)
@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_python(runs: Callable[..., Any], name: str, adds_gravity: bool, streams: bool):
    sequence, n_python, reasons, gate = CASES[name]
    python, native = show(runs(adds_gravity=adds_gravity, **gate), sequence(), streams=streams)
    assert python.process.answered > 0
    assert native.native.n_answered >= len(python.answers) - n_python
    assert native.native.n_answered > 0
    assert reasons <= native.native.reasons.keys(), native.native.reasons


def test_a_payload_is_carried(ur5: RobotModel, runs: Callable[..., Any]):
    bare, _ = show(runs(), [*states(50)])
    ur5.attach(Tool(mass=2.0, centre=(0.0, 0.0, 0.1)))
    try:
        python, native = show(runs(), [*states(50)])
    finally:
        ur5.attach(None)
    assert python.answers != bare.answers
    assert native.native.n_answered == 50 - ANSWERED_BY_PYTHON


def started(run: NativeRun, n: int = 10) -> NativeRun:
    """A run whose loop is open."""
    for datagrams in states(n):
        run.show(datagrams)
    assert run.native.n_answered == n - ANSWERED_BY_PYTHON
    return run


def fail_to_send(run: PythonRun) -> None:
    if isinstance(run, NativeRun):
        run.fails = not run.fails


def meddle(run: PythonRun) -> None:
    """Limits that are no numbers, in the native loop alone."""
    if isinstance(run, NativeRun):
        run.native._inputs["limits"][:] = np.nan


@pytest.mark.parametrize(("event", "reason"), [(fail_to_send, NOT_SENT), (meddle, NO_TORQUE)])
def test_a_state_that_the_loop_cannot_answer_is_python_s(runs: Callable[..., Any], event: Event, reason: int):
    sequence = states(20)
    _, native = show(runs(), [*sequence[:10], event, *sequence[10:]])
    assert native.native.reasons[reason] > 0
    assert native.native.n_answered == 10 - ANSWERED_BY_PYTHON


def test_as_many_states_are_answered_as_were_asked_for(runs: Callable[..., Any]):
    _, native = runs()
    started(native)
    native.coming = states(20, start=10)
    assert not native.native.wait(7, NEVER)
    assert native.native.reasons[ENOUGH] == 1
    assert (native.process.answered, len(native.coming)) == (17, 13)
    assert not native.native.wait(1, NEVER)
    assert (native.process.answered, len(native.coming)) == (18, 12)


def test_the_loop_ends_at_the_time_of_another_look(runs: Callable[..., Any]):
    _, native = runs()
    started(native)
    native.coming = states(20, start=10)
    assert not native.native.wait(NEVER, native.now_ns + 5 * MS)
    assert (native.process.answered, len(native.coming)) == (15, 15)
    assert not native.native.wait(NEVER, NEVER)
    assert native.process.answered == 30
    assert native.native.reasons[CLOSED] == ANSWERED_BY_PYTHON, "a look changes nothing"


def test_python_looks_whether_the_owner_is_silent(runs: Callable[..., Any]):
    _, native = runs()
    started(native)
    assert not native.native.wait(NEVER, NEVER)
    assert native.native.reasons[WOKEN] > 0
    assert 0 < native.longest_wait_ms <= 1e3 * SILENCE


def test_a_change_that_could_not_be_said_at_once_is_said_a_second_later(runs: Callable[..., Any]):
    _, native = runs()
    said: list[tuple[int, str]] = []
    changes = Changes(
        lambda text: said.append((native.now_ns // MS, text.partition(":")[0])), lambda: native.now_ns * 1e-9
    )
    native.loop.controller.add(Target(101 * MS, "base_link", native.process._model.pose(HOME)))
    native.coming = [*states(50), *states(1, start=99), [(OWN, ENABLE)], *states(1700, start=100)]
    answer_states(native.own, native.process, native.native, changes, 1700)
    assert said == [(1, "states come from 127.0.0.1"), (51, "braking"), (1051, "enabled")]
    assert native.native.reasons[ENOUGH] == 2
    assert native.process.answered == 1700
    assert native.native.n_answered > 1690


def test_what_wakes_the_loop_comes_before_states_and_wakes_it_once(runs: Callable[..., Any]):
    _, native = runs()
    started(native)
    native.coming = states(3, start=10)
    os.write(native.wakes, b"!")
    assert not native.native.wait(NEVER, NEVER)
    assert (native.native.reasons[WOKEN], native.process.answered) == (11, 10)  # once behind each state before
    assert not native.native.wait(NEVER, NEVER)
    assert native.process.answered == 12, "the first two waited together"
    assert native.native.reasons[CLOSED] == ANSWERED_BY_PYTHON


def test_where_there_is_no_datagram_python_looks_and_nothing_changes(runs: Callable[..., Any]):
    _, native = runs()
    started(native)
    before = what_is_known(native)
    native.coming = states(1, start=10)
    native.on_receive = lambda: received(native.own)  # somebody else takes it
    assert native.native.wait(NEVER, NEVER)
    assert native.native.reasons[NO_DATAGRAM] == 1
    answer_waiting(native.own, native.process)
    assert what_is_known(native) == before


def test_states_that_never_end_are_answered_meanwhile(runs: Callable[..., Any]):
    _, native = runs()
    started(native)
    ((_, data),) = states(1, start=10)[0]
    n_received = 0

    def flood() -> None:
        nonlocal n_received
        n_received += 1
        native.senders[OWN].send(data)

    native.on_receive = flood
    native.coming = states(1, start=10)
    assert not native.native.wait(1, NEVER)
    assert n_received == MOST_WAITING
    assert native.process.answered == 11


def test_an_address_is_that_of_the_sender_to_the_last_bit(runs: Callable[..., Any]):
    """Another port, and another address of this machine with the same port."""
    _, native = runs()
    started(native)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as elsewhere:
        elsewhere.bind(("127.0.0.2", native.process.owner[1]))
        elsewhere.sendto(states(1, start=10)[0][0][1], native.own.getsockname())
        native.work()
    assert native.process.answered == 10
    assert native.refused == [
        f"datagram: another sender: 127.0.0.2:{native.process.owner[1]}; states come from {native.process.owner_name}"
    ]
