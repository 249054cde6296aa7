"""The native loops beside Python: written sequences of states, for which both ways answer alike, byte for byte.

Random ones are in ``test_random_messages``; these reach every reason for which a loop leaves a state to Python, and
what the bytes of messages and datagrams may be.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_messages import MS, START_NS, DatagramWay, NativeDatagramWay, NativeWay, Order, Step, Way

from arm_control import Pose, RobotModel
from arm_control.control import OscParameters, OscTuning
from arm_control.gate import GateParameters
from arm_control.maths import Obstacle, Sphere
from arm_control.messages import JointStateBytes, JointStateWriter
from arm_control.model import Tool
from arm_control.motion import Goal, PoseMotion, PosePoints, Target, TwistJog
from arm_control.processes import ENABLE, NOT_TAKEN
from arm_control.processes.native_controller import REASONS
from arm_control.processes.native_datagrams import OTHER_DATAGRAM
from arm_control.processes.native_step import (
    CLOSED,
    EXPIRED,
    MISSING_STATES,
    NO_TORQUE,
    NOT_BELIEVABLE,
    NOT_BELIEVED,
    NOT_FINITE,
    NOT_SENT,
    OTHER_LAYOUT,
    OTHER_PUBLISHER,
    OTHER_TIME,
    STALE,
)

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
NOTHING, PLAIN = Order("", np.zeros(6)), GateParameters()
MESSAGES, DATAGRAMS = (Way, NativeWay), (DatagramWay, NativeDatagramWay)

Event = Callable[[Any], object]
Change = Callable[[bytes], bytes]
Item = Step | Event | tuple[Change, Step] | float
"""A state, or what happens to a way between two, or a state whose bytes are changed, or a time to wait [s]."""


def step(k: int, q: Any, v: Any, sender: int = 0) -> Step:
    return Step(NOTHING, 0, k * MS, np.array(q), np.array(v), sender, 0)


def states(n: int, start: int = 0, sender: int = 0) -> list[Step]:
    """States of an arm in motion, 1 ms apart."""
    speed, phase = np.random.default_rng(0).uniform(0.5, 2.0, (2, 6))
    t = 1e-3 * (np.arange(start, start + n)[:, None] + 1)
    qs, vs = HOME + 0.3 * np.sin(speed * t + phase) / speed, 0.3 * np.cos(speed * t + phase)
    return [step(start + k + 1, qs[k], vs[k], sender) for k in range(n)]


def ramp(joint: int, start: float, speed: float, acceleration: float = 0.0) -> list[Step]:
    """One joint in steady or accelerated motion, all others at rest."""
    t, moves = 1e-3 * np.arange(1, 201)[:, None], np.eye(6)[joint]
    qs = np.where(moves, start + speed * t + 0.5 * acceleration * t * t, HOME)
    return [step(k + 1, qs[k], (speed + acceleration * t[k]) * moves) for k in range(200)]


def changed(change: Callable[[Step], Iterable[Item]]) -> list[Item]:
    """States of which one is changed, or has others beside it."""
    before, (one, *after) = states(50), states(100, start=50)
    return [*before, *change(one), *after]


def first_is(one: Step, x: float) -> Step:
    return one._replace(q=np.where(np.eye(6)[0], x, one.q))


def add(goal: Goal) -> Event:
    return lambda way: way.controller.add(goal)


def enable(model: RobotModel, at_ms: int) -> list[Event]:
    """The gate is enabled, and a new goal comes, without which the arm would be held."""
    return [lambda way: way.loop.gate.enable(), add(Target((at_ms + 1) * MS, "base_link", model.pose(HOME)))]


def brake(way: Any) -> None:
    way.loop.gate.brake("a test")


def disturb(k: int, tau: float) -> Event:
    return lambda way: way.loop.disturbance.set(k * MS, np.full(6, tau))


def irregular(model: RobotModel) -> list[Item]:
    """Times between states that change, while the torque is limited in its rate; some states are missing."""
    X, all_states = model.pose(HOME), states(400)
    kept = [k for k in range(400) if k % 10 not in (3, 4, 7) and not 100 < k < 105]
    return [add(Target(40 * MS, "base_link", Pose(X.R, X.p + [0.0, 0.3, 0.0]))), *(all_states[k] for k in kept)]


def goals(model: RobotModel) -> list[Item]:
    """A target for later, a motion behind it, a velocity, and a target again."""
    X = model.pose(HOME)
    there = Pose(X.R, X.p + [0.0, 0.1, 0.05])
    motion = PosePoints(np.array([0.0, 0.03]), (X, there), np.zeros((2, 6)), np.zeros((2, 6)))
    given = {
        20: Target(30 * MS, "base_link", there),
        40: PoseMotion(60 * MS, "base_link", motion),
        120: TwistJog(120 * MS, 120 * MS, "base_link", np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])),
        170: Target(170 * MS, "tool0", Pose(np.eye(3), np.array([0.0, 0.0, 0.02]))),
    }
    return [item for k, one in enumerate(states(200)) for item in ([add(given[k])] if k in given else []) + [one]]


def gap(model: RobotModel) -> list[Item]:
    return [*states(50), *states(20, 90), *enable(model, 110), *states(50, 110)]


def rivals(model: RobotModel) -> list[Item]:
    """A second sender beside the first one, and after it; then the first one again."""
    own, other = states(150), states(150, sender=1)
    beside = [one for pair in zip(other[30:40], own[30:40], strict=True) for one in pair]
    return [*own[:30], *beside, *own[40:50], 2.0, *other[60:80], *enable(model, 80), *other[80:130], *own[130:133]]


CASES: dict[str, tuple[Callable[[RobotModel], list[Item]], set[int], int]] = {
    # sequence, reasons, states of which Python answers at most so many
    "nothing special": (lambda _: [*states(300)], {CLOSED}, 3),
    "missing states": (gap, {MISSING_STATES}, 25),
    "few missing states": (lambda _: [*states(50), *states(20, 60), *states(20, 81)], {CLOSED}, 3),
    "a stamp again": (lambda _: changed(lambda one: [one, one]), {OTHER_TIME}, 5),
    "a stuck stamp": (lambda _: changed(lambda one: [one] * 40), {OTHER_TIME}, 180),
    "an old stamp": (lambda _: changed(lambda one: [one, *states(1)]), {OTHER_TIME}, 5),
    "a restart": (lambda m: [*states(50), *states(1, -1), *enable(m, 0), *states(60)], {OTHER_TIME}, 70),
    "not a number": (lambda _: changed(lambda one: [first_is(one, np.nan)]), {NOT_FINITE}, 7),
    "an infinite velocity": (
        lambda _: changed(lambda one: [one._replace(v=np.full(6, -np.inf)), one]), {NOT_FINITE}, 7
    ),
    "a jump": (lambda _: changed(lambda one: [first_is(one, 1.0)]), {NOT_BELIEVED}, 200),
    "a jump, enabled": (
        lambda m: [*states(50), first_is(*states(1, 50), 1.0), *states(9, 51), *enable(m, 60), *states(90, 60)],
        {NOT_BELIEVED}, 130,
    ),
    "a frozen arm": (
        lambda _: [*states(50), *(states(1, 49)[0]._replace(stamp_ns=(51 + k) * MS) for k in range(40))],
        {NOT_BELIEVED}, 60,
    ),
    "false speeds": (
        lambda _: [*states(30), *(one._replace(v=one.v - 0.4) for one in states(170, 30))], {NOT_BELIEVED}, 200
    ),
    "far outside": (lambda _: [*ramp(2, 3 * np.pi - 0.02, 0.5)], {NOT_BELIEVED}, 200),
    "too fast": (lambda _: [*ramp(0, 0.0, 0.0, 200.0)], {NOT_BELIEVED}, 200),
    "a stretched arm": (lambda _: [*ramp(2, 0.3, -4.0)], {CLOSED}, 3),
    "irregular states": (irregular, {EXPIRED}, 20),
    "goals": (goals, {EXPIRED}, 130),
    "a disturbance": (lambda _: [*states(30), disturb(30, 2.0), *states(150, 30)], {EXPIRED}, 6),
    "an absurd torque": (lambda _: [*states(30), disturb(30, 1e9), *states(150, 30)], {NOT_BELIEVABLE}, 180),
    "an absurd torque for a while": (
        lambda _: [*states(30), disturb(30, 1e9), *states(12, 30), disturb(42, 0.0), *states(60, 42)],
        {NOT_BELIEVABLE}, 80,
    ),
    "other gains": (
        lambda _: [*states(30), lambda way: way.controller.configure(OscTuning(OscParameters(kp_linear=300.0))),
                   *states(30, 30)],
        {CLOSED}, 3,
    ),
    "a brake": (lambda m: [*states(30), brake, *states(9, 30), *enable(m, 39), *states(60, 39)], {CLOSED}, 15),
    "another sender": (rivals, set(), 170),
}  # fmt: skip


def run(way: Any, sequence: Sequence[Item]) -> list[tuple[Any, ...]]:
    """The answers to a sequence, and what the way knows then; a state comes a millisecond after the one before."""
    now_ns, verdicts, unchanged = START_NS, [], way.change
    for item in sequence:
        if isinstance(item, float):
            now_ns += round(item * 1e9)
        elif callable(item):
            way.answers.clear()
            way.now_ns = now_ns
            item(way)
            way.refresh()
            verdicts.append((way.answers.copy(), way.loop.gate.state))
        else:
            change, one = item if isinstance(item[0], Callable) else (unchanged, item)
            now_ns += MS
            way.change = change
            verdicts.append(way.take(one._replace(now_ns=now_ns)))
            way.change = unchanged
    if isinstance(way, NativeWay):
        way.native.take_over(NOT_TAKEN)
    gate = way.loop.gate
    return [*verdicts, (gate.success_rate, gate.is_braked, way.loop.gaps.skipped)]


def beside(
    model: RobotModel, ways: tuple[type[Any], type[Any]], sequence: list[Item], gate: GateParameters = PLAIN
) -> tuple[Any, int]:
    """Show a sequence to both ways, which must agree; return the native one, and how many states Python answered."""
    python, native = (way(model, gate) for way in ways)
    expected, verdicts = run(python, sequence), run(native, sequence)
    for k, (one, other) in enumerate(zip(verdicts, expected, strict=True)):
        assert one == other, k
    return native, sum(len(verdict[0]) for verdict in expected[:-1]) - native.n_native


@pytest.mark.parametrize("ways", [MESSAGES, DATAGRAMS], ids=["messages", "datagrams"])
@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_python(ur5: RobotModel, name: str, ways: tuple[type[Any], type[Any]]):
    make, reasons, n_most = CASES[name]
    native, n_python = beside(ur5, ways, make(ur5))
    assert 0 < n_python <= n_most
    assert native.n_native > 0
    named = reasons if ways is DATAGRAMS else {REASONS[reason] for reason in reasons}
    assert named <= native.native.reasons.keys(), native.native.reasons


@pytest.mark.parametrize("ways", [MESSAGES, DATAGRAMS], ids=["messages", "datagrams"])
def test_a_payload_is_carried(ur5: RobotModel, ways: tuple[type[Any], type[Any]]):
    bare = run(ways[0](ur5, GateParameters()), states(50))
    ur5.attach(Tool(mass=2.0, centre=(0.0, 0.0, 0.1)))
    try:
        native, _ = beside(ur5, ways, [*states(50)])
        assert run(ways[0](ur5, GateParameters()), states(50)) != bare
    finally:
        ur5.attach(None)
    assert native.n_native > 40


KEPT = """
constraints:
  - {name: wall, kind: half_space, point: [0, 0.127, 0], normal: [0, -1, 0]}
  - {name: slow, kind: speed, limit: 0.1}
  - {name: glass, kind: upright, up: [0, 0, -1], angle: 0.6}
"""


@pytest.mark.parametrize("ways", [MESSAGES, DATAGRAMS], ids=["messages", "datagrams"])
def test_constraints_are_kept_as_python_keeps_them(ur5: RobotModel, ways: tuple[type[Any], type[Any]], tmp_path: Path):
    """The hand is too fast in all states; in the last ones it is outside, and Python brakes it."""
    (tmp_path / "kept.yaml").write_text(KEPT)
    gate = GateParameters(constraints=str(tmp_path / "kept.yaml"))
    native, n_python = beside(ur5, ways, [*ramp(0, 0.0, 0.5)], gate)
    assert native.n_native > 70
    assert native.loop.gate.reason.startswith("constraint 'wall'")
    assert n_python > 0


@pytest.mark.parametrize("ways", [MESSAGES, DATAGRAMS], ids=["messages", "datagrams"])
def test_a_clearance_is_kept_as_python_keeps_it(ur5: RobotModel, ways: tuple[type[Any], type[Any]], tmp_path: Path):
    """A ball appears beside a hand that comes to it, moves away and back; two of its poses are known ahead of time."""
    (tmp_path / "kept.yaml").write_text("constraints: [{name: ball, kind: clearance, distance: 0.05}]")
    gate = GateParameters(constraints=str(tmp_path / "kept.yaml"))
    moving, X = ramp(0, 0.0, 1.0), ur5.pose(HOME)

    def ball(y: float, k: int) -> Event:
        return lambda way: way.place(Obstacle(Sphere(0.05), Pose.at(X.p + [0.0, y, 0.0])), k * MS)

    told = {30: ball(0.25, 30), 60: ball(0.3, 80), 90: ball(0.24, 95), 120: ball(0.245, 120)}
    sequence = [item for k, one in enumerate(moving) for item in ([told[k]] if k in told else []) + [one]]
    beyond = add(Target(MS, "base_link", Pose(X.R, X.p + [0.0, 0.5, 0.0])))
    native, n_python = beside(ur5, ways, [beyond, *sequence], gate)
    assert native.n_native > 150
    assert n_python < 20
    assert "ball" in native.loop.gate.constraints.active


# -- bytes ---------------------------------------------------------------------------------------------


def in_other_words(data: bytes) -> bytes:
    """The same stamp with more nanoseconds than a second has."""
    seconds, nanoseconds = struct.unpack_from("<iI", data, 4)
    return data[:4] + struct.pack("<iI", seconds - 1, nanoseconds + 1_000_000_000) + data[12:]


def with_joints(names: Sequence[str]) -> Change:
    """The same state with its joints in another order, or more of them."""

    def change(data: bytes) -> bytes:
        message = JointStateBytes().read(data)
        places = [message.name.index(name) if name in message.name else 0 for name in names]
        stamp = message.header.stamp
        writer = JointStateWriter(names, ("position", "velocity"))
        return writer.message(stamp.sec * 10**9 + stamp.nanosec, message.position[places], message.velocity[places])

    return change


def mangled(change: Change) -> list[Item]:
    """A state whose bytes are changed among others, and all later ones."""
    return [*changed(lambda one: [(change, one), one]), *((change, one) for one in states(20, 150))]


def test_messages_of_other_bytes_are_answered_as_python_does(ur5: RobotModel):
    stale = [one._replace(age_ns=30 * MS) for one in states(1, 50)]
    names = ur5.joint_names
    for sequence, reason in (
        (mangled(in_other_words), OTHER_TIME),
        (mangled(lambda data: data[:-8]), OTHER_LAYOUT),
        (mangled(with_joints(names[::-1])), OTHER_LAYOUT),
        (mangled(with_joints(["finger", *names])), OTHER_LAYOUT),
        ([*states(50), *stale, *states(50, 50)], STALE),
        (rivals(ur5), OTHER_PUBLISHER),
    ):
        native, _ = beside(ur5, MESSAGES, sequence)
        assert native.native.reasons[REASONS[reason]] > 0
        assert native.n_native > 90


def test_datagrams_of_other_bytes_are_answered_as_python_does(ur5: RobotModel):
    for change in (
        lambda data: data + b"x",
        lambda data: data[:-8],
        lambda data: b"",
        lambda data: data + bytes(60_000),
        lambda data: b"ACT1" + data[4:],
        lambda data: b"ACS1\7" + data[5:],
        lambda data: ENABLE,
    ):
        native, _ = beside(ur5, DATAGRAMS, mangled(change))
        assert native.native.reasons[OTHER_DATAGRAM] > 0
        assert native.n_native > 100


def test_of_datagrams_that_wait_together_the_newest_state_is_answered(ur5: RobotModel):
    """Two, three and more, an order between them, noise, older ones and bad ones behind them."""
    own, groups = states(200), list[Event]()
    bad = [lambda data: data + b"x", lambda data: data[:16] + struct.pack("<q", 2**62) + data[24:], lambda _: ENABLE]

    def together(*members: Step | tuple[Change, Step]) -> Event:
        def show(way: Any) -> None:
            datagrams = []
            for member in members:
                change, one = member if callable(member[0]) else (lambda data: data, member)
                datagrams.append((change(way.datagram(one)), one.sender))
            way.now_ns += MS
            way.show_together(*datagrams)

        return show

    for k in range(0, 200, 10):
        change = bad[k // 10 % 3]
        groups += [together(one) for one in own[k : k + 4]]
        groups += [together(own[k + 4], own[k + 5]), together(own[k + 8], own[k + 6], own[k + 7])]
        groups.append(together((change, own[k + 8]), own[k + 9]) if k % 20 else together(own[k + 9], (change, own[k])))
    native, n_python = beside(ur5, DATAGRAMS, groups)
    assert {OTHER_DATAGRAM} <= native.native.reasons.keys()
    assert native.n_native > 60
    assert n_python > 0


# -- what the loop cannot do ---------------------------------------------------------------------------


def fail_to_send(native: Any) -> int:
    fails = native.middleware.fails if isinstance(native, NativeWay) else native.network.fails
    fails |= {"publish", "send"}
    return NOT_SENT


def meddle(native: Any) -> int:
    """Limits that are no numbers, in the native loop alone."""
    native.native._inputs["limits"][:] = np.nan
    return NO_TORQUE


@pytest.mark.parametrize(
    ("kind", "spoil"), [(NativeWay, fail_to_send), (NativeDatagramWay, fail_to_send), (NativeDatagramWay, meddle)]
)
def test_a_state_that_the_loop_cannot_answer_is_python_s(ur5: RobotModel, kind: Any, spoil: Callable[[Any], int]):
    native, (*before, last) = kind(ur5, GateParameters()), states(11)
    run(native, before)
    n, reason = native.n_native, spoil(native)
    native.take(last._replace(now_ns=native.now_ns + MS))
    assert native.n_native == n
    assert native.native.reasons[REASONS[reason] if kind is NativeWay else reason] == 1
    assert native.process.last.measurement.stamp_ns == 11 * MS
