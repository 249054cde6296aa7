"""States and torque in datagrams: the bytes, the rules of states, their owner, and the last gate before a driver."""

from __future__ import annotations

import gc
import hashlib
import hmac
import itertools
import math
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_control.app import Changes, answer_newest
from arm_control.control import TickResult
from arm_control.controllers import FollowLoopParameters, JointLoopParameters, control_loop
from arm_control.gate import GateParameters
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Pose, Sphere, quaternion_from_rotation
from arm_control.model import RobotModel
from arm_control.motion import JointGoal
from arm_control.processes import ENABLE, DatagramKey, DatagramProcess, OwnerConnection, Sender, bind, is_loopback

MS = 1_000_000
Q = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
GOAL = Q + [0.6, 0.4, -0.5, 0.3, 0.2, 0.5]
OWN, OTHER = ("127.0.0.1", 5), ("127.0.0.1", 6)
Answer = tuple[int, bool, Array] | None


def state(
    number: int, stamp_ns: int, q: Array = Q, v: Array | None = None, *, mark: bytes = b"ACS1", n: int = 6
) -> bytes:
    """The bytes of a state, at rest by default, as the page has them."""
    return struct.pack(f"<4sIQq{2 * len(q)}d", mark, n, number, stamp_ns, *q, *(np.zeros(len(q)) if v is None else v))


class Driver:
    """Sends datagrams, a millisecond apart, to a controller that moves the arm to ``GOAL``, or holds it."""

    def __init__(
        self,
        model: RobotModel,
        *,
        moves: bool = False,
        adds_gravity: bool = False,
        follows: bool = False,
        **gate: Any,
    ) -> None:
        self.refused: list[str] = []
        kind = FollowLoopParameters if follows else JointLoopParameters
        loop = control_loop(model, kind(gate=GateParameters(**gate)), waits_for_commands=False)
        if moves:
            loop.controller.add(JointGoal(0, GOAL))
        refuse = lambda what, error: self.refused.append(f"{what}: {error}")  # noqa: E731
        clock = lambda: self.now_ns  # noqa: E731
        self.process = DatagramProcess(model, loop, refuse, clock, driver_adds_gravity=adds_gravity)
        self.gate, self.gate_loop = loop.gate, loop
        self.now_ns = 0

    def send(self, data: bytes, sender: Sender = OWN) -> Answer:
        """Number, whether the gate brakes, and torque of the answer."""
        self.now_ns += MS
        self.process.take(data, sender)
        answer = self.answer()
        if answer is None:
            return None
        mark, n, number, is_braking, *tau = struct.unpack("<4sIQQ6d", answer)
        assert (mark, n) == (b"ACT1", 6)
        return number, is_braking == 1, np.array(tau)

    def answer(self) -> bytes | None:
        """Return the answer of the process."""
        return self.process.answer()

    def run(self, stamps_ms: range, sender: Sender = OWN) -> list[Answer]:
        """The answers to states at rest."""
        return [self.send(state(k, k * MS), sender) for k in stamps_ms]


def test_every_state_is_answered_with_its_number_and_the_weight_of_the_arm(ur5: RobotModel):
    driver = Driver(ur5)
    for k in range(20):
        number, is_braking, tau = driver.send(state(1000 + k, k * MS))
        assert (number, is_braking) == (1000 + k, False)
    np.testing.assert_allclose(tau, ur5.gravity(Q), atol=1e-9)
    assert driver.process.answered == 20
    assert not driver.refused


def test_a_driver_that_adds_gravity_gets_torque_without_it(ur5: RobotModel):
    whole, part = Driver(ur5, moves=True), Driver(ur5, moves=True, adds_gravity=True)
    for k in range(100):
        q = Q + 1e-4 * k
        data = state(k, k * MS, q * (np.nan if k > 60 else 1.0), np.full(6, 0.1))
        a, b = whole.send(data), part.send(data)
        if a is None or k > 60:
            continue
        np.testing.assert_allclose(b[2], a[2] - ur5.gravity(q), atol=1e-9)
    assert a[1], "it brakes"
    np.testing.assert_allclose(a[2] - b[2], ur5.gravity(Q + 6e-3), atol=1.0)  # the weight in the predicted state


def test_where_no_state_is_too_old_a_refused_one_has_the_last_torque_without_the_gravity_that_a_driver_adds(
    ur5: RobotModel,
):
    whole, part = (Driver(ur5, adds_gravity=adds_gravity, max_age=0.0) for adds_gravity in (False, True))
    for k in range(3):
        data = state(k, k * MS, Q * (np.nan if k == 2 else 1.0))
        a, b = whole.send(data), part.send(data)
    np.testing.assert_allclose(a[2] - b[2], ur5.gravity(Q), atol=1e-9)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "datagram: wrong size: 0 bytes; a state of 6 joints has 120"),
        (state(1, MS)[:-1], "datagram: wrong size: 119 bytes; a state of 6 joints has 120"),
        (state(1, MS) + b"x", "datagram: wrong size: 121 bytes; a state of 6 joints has 120"),
        (state(1, MS, mark=b"ACT1"), "datagram: wrong head: it begins with b'ACT1'; a state begins with b'ACS1'"),
        (state(1, MS, n=7), "datagram: wrong number of joints: 7; this arm has 6"),
        (state(1, MS, np.zeros(7), n=7), "datagram: wrong number of joints: 7; this arm has 6"),
        (state(1, 2**62), f"state: wrong stamp: {2**62} ns, allowed below 2^31 s"),
        (state(1, MS, Q * np.nan), "state: position is not finite: {'shoulder_pan_joint': nan, "),
        (state(1, 0), "state: repeated: stamp 0.000 s"),
        (state(1, -1), "state: out of order: stamp -0.000 s is older"),
    ],
)
def test_what_is_no_state_is_refused_and_the_next_state_is_answered(ur5: RobotModel, data: bytes, why: str):
    driver = Driver(ur5)
    driver.send(state(0, 0))
    assert driver.send(data) is None
    assert driver.refused[0].startswith(why)
    assert driver.send(state(2, 2 * MS))[:2] == (2, False)


def chunk(stamp_ns: int, times: Array, rows: Array, k: int = 30, mark: bytes = b"ACC1") -> bytes:
    """The bytes of a chunk, as the page has them."""
    return struct.pack("<4sIQq", mark, k, 0, stamp_ns) + np.concatenate([times, rows.ravel()]).tobytes()


def test_a_chunk_of_the_owner_is_followed(ur5: RobotModel):
    driver, times = Driver(ur5, follows=True), np.arange(1, 31) / 30.0
    right = chunk(80 * MS, times, Q + 0.1 * times[:, None])
    assert driver.send(right) is None
    assert driver.refused.pop().startswith("datagram: another sender")
    driver.run(range(100))
    for data, why in ((right[:-1], "wrong size: 1703 bytes"), (b"ACC1", "wrong size: 4 bytes")):
        assert driver.send(data) is None
        assert driver.refused.pop().startswith(f"datagram: {why}; a chunk of ")
    driver.send(right, OTHER)
    assert driver.refused.pop().startswith("datagram: another sender")
    driver.send(right)
    assert driver.refused == []
    driver.run(range(106, 400))
    reference = driver.gate_loop.controller.follower.at(399 * MS)
    np.testing.assert_allclose(reference.v_des, 0.1, atol=5e-3)
    np.testing.assert_allclose(reference.q_des, Q + 0.1 * (0.399 - 0.08), atol=2e-3)


@pytest.mark.parametrize("mark", [b"ACP1", b"ACR1"])
def test_chunks_of_poses_lead_the_hand_and_what_is_refused_is_said(ur5: RobotModel, mark: bytes):
    driver, times = Driver(ur5, follows=True), np.arange(1, 31) / 30.0
    driver.run(range(100))
    X_WE, way = ur5.pose(Q), np.outer(0.1 * times, [0.0, 1.0, 0.0])
    X_WF = ur5.pose(Q, ur5.base) if mark == b"ACP1" else X_WE
    rows = np.hstack([X_WF.inverse().p + (X_WE.p + way) @ X_WF.R, np.tile(quat(X_WF.inverse() @ X_WE), (30, 1))])
    driver.send(chunk(80 * MS, times, rows, mark=mark))
    driver.send(chunk(80 * MS, times, rows[:, :6], mark=mark))
    assert driver.refused.pop() == "datagram: wrong size: 1704 bytes; a chunk of 30 points of 7 numbers has another one"
    driver.run(range(106, 400))
    reached = ur5.pose(driver.gate_loop.controller.follower.at(399 * MS).q_des)
    np.testing.assert_allclose(reached.p, X_WE.p + [0.0, 0.0319, 0.0], atol=1e-3)
    np.testing.assert_allclose(reached.R, X_WE.R, atol=2e-3)
    driver.send(chunk(90 * MS, times, rows * np.nan, mark=mark))
    driver.run(range(406, 408))
    assert [why[:18] for why in driver.refused] == ["goal: pose 0 is [n"]


def quat(X: Pose) -> Array:
    return quaternion_from_rotation(X.R)


def test_a_chunk_needs_a_controller_that_follows_chunks(ur5: RobotModel):
    driver = Driver(ur5)
    driver.run(range(5))
    driver.send(chunk(0, np.ones(30), np.tile(Q, (30, 1))))
    assert driver.refused == [
        "datagram: joint space control follows joints and single poses, not motions of the hand or wrenches"
    ]


BALL = [0.0, 0.05, 0.0, 0.0]
"""Shape and sizes of a ball in a datagram."""


def obstacles(*rows: Sequence[float], m: int = -1) -> bytes:
    """The bytes of obstacles, as the page has them."""
    return struct.pack("<4sIQ", b"ACO1", len(rows) if m < 0 else m, 0) + np.array(rows, float).tobytes()


def test_obstacles_of_the_owner_are_kept_clear_of(ur5: RobotModel, tmp_path: Path):
    (tmp_path / "kept.yaml").write_text("constraints: [{name: people, kind: clearance, distance: 0.05}]")
    driver = Driver(ur5, constraints=str(tmp_path / "kept.yaml"))
    place = [*ur5.pose(Q).p, 0.0, 0.0, 0.0, 2.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]
    shapes = [BALL, [1, 0.1, 0.3, 0], [2, 0.1, 0.2, 0.3], [3, 0.1, 0.3, 0], [4, 0.1, 0.3, 0]]
    all_of_them = obstacles(*([*shape, *place] for shape in shapes))
    driver.send(all_of_them)
    assert driver.refused.pop().startswith("datagram: another sender")
    driver.run(range(20))
    for data, why in (
        (all_of_them[:-1], "wrong size: 695 bytes; 5 obstacles have another one"),
        (obstacles([*BALL, *place], m=2), "wrong size: 152 bytes; 2 obstacles have another one"),
        (obstacles([5.0, *BALL[1:], *place]), "shape 5 of an obstacle; allowed: 0 to 4"),
        (obstacles([0.5, *BALL[1:], *place]), "shape 0.5 of an obstacle"),
        (obstacles([0.0, -0.05, 0.0, 0.0, *place]), "Sphere(radius=-0.05): every size must be finite and above 0"),
        (obstacles([*BALL, *place[:-1], np.nan]), "an obstacle is nan m away"),
        (obstacles([*BALL, 1e6, *place[1:]]), "an obstacle is 1e+06 m away"),
        (obstacles([*BALL, *place[:3], 0, 0, 0, 0, *place[7:]]), "quaternion [0.0, 0.0, 0.0, 0.0] is not a rotation"),
    ):
        driver.send(data)
        assert driver.refused.pop().startswith(f"datagram: {why}")
    driver.send(all_of_them, OTHER)
    assert driver.refused.pop().startswith("datagram: another sender")
    driver.run(range(20, 40))
    driver.send(all_of_them)
    driver.send(obstacles())  # they are gone before the next state
    assert not any(answer[1] for answer in driver.run(range(40, 60)))
    driver.send(all_of_them)
    there = driver.process._obstacles
    assert [type(one.shape) for one in there] == [Sphere, Capsule, Box, Cylinder, Cone]
    np.testing.assert_array_equal([one.numbers[:12] for one in there], [[*np.eye(3).ravel(), *place[:3]]] * 5)
    np.testing.assert_array_equal([one.V_WO for one in there], [place[7:]] * 5)
    driver.run(range(60, 62))
    assert driver.gate.reason.startswith("constraint 'people' (")
    driver.now_ns += 2_000_000_000
    driver.send(state(0, 0), OTHER)
    assert driver.process._obstacles == ()


def test_no_result_of_before_is_kept_while_the_gate_brakes(ur5: RobotModel):
    """Not even where nobody looks for cycles: a chain of tracebacks would never end."""
    driver = Driver(ur5)
    driver.run(range(5))
    driver.gate.brake("a test")
    n_before = n_results()
    gc.disable()
    try:
        assert all(answer[1] for answer in driver.run(range(5, 105)))
        assert n_results() <= n_before + 1
    finally:
        gc.enable()


def n_results() -> int:
    return sum(isinstance(one, TickResult) for one in gc.get_objects())


# -- the owner -----------------------------------------------------------------------------------------


def test_another_sender_is_refused_and_may_not_enable(ur5: RobotModel):
    driver = Driver(ur5)
    driver.send(state(0, 0))
    assert driver.send(state(1, MS), OTHER) is None
    assert driver.refused == ["datagram: another sender: 127.0.0.1:6; states come from 127.0.0.1:5"]
    driver.gate.brake("a test")
    for data, sender in ((ENABLE, OTHER), (ENABLE + b"1", OWN)):
        driver.send(data, sender)
        assert driver.gate.is_braked
    driver.send(ENABLE)
    assert not driver.gate.is_braked


def test_nobody_enables_before_the_first_state(ur5: RobotModel):
    driver = Driver(ur5)
    driver.send(ENABLE)
    assert driver.refused == ["datagram: another sender: 127.0.0.1:5; states come from nobody"]
    assert driver.process.owner is None


def test_another_sender_takes_over_after_a_second_of_silence_and_the_gate_brakes_until_it_enables(ur5: RobotModel):
    driver = Driver(ur5)
    driver.run(range(100))
    driver.now_ns += 999 * MS  # and one for the next datagram
    assert driver.send(state(0, 5 * MS), OTHER) is None
    driver.send(ENABLE, OTHER)
    n_refused = len(driver.refused)
    answers = driver.run(range(5, 105), OTHER)
    assert driver.process.owner == OTHER
    assert len(driver.refused) == n_refused, "its stamps have nothing to do with those before"
    assert [answer[1] for answer in answers] == [True] * 100
    assert driver.send(state(100, 100 * MS)) is None, "the owner of before"
    driver.send(ENABLE)
    assert driver.gate.is_braked
    driver.send(ENABLE, OTHER)
    assert not any(answer[1] for answer in driver.run(range(107, 120), OTHER))


@pytest.fixture
def sockets():
    """A socket that listens, the owner's and another one."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as owner,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        for one in (own, owner, other):
            bind(one, "127.0.0.1", 0)
        for one in (owner, other):
            one.connect(own.getsockname())
            one.setblocking(False)
        yield own, owner, other


def test_of_several_datagrams_the_newest_state_is_answered_and_none_that_enables_is_missed(ur5: RobotModel, sockets):
    own, owner, _ = sockets
    driver = Driver(ur5)
    driver.send(state(0, 0), owner.getsockname())
    driver.gate.brake("a test")
    for data in (state(1, MS), ENABLE, state(2, 2 * MS), state(3, 3 * MS)):
        owner.send(data)
    answer_newest(own, driver.process)
    assert struct.unpack_from("<QQ", owner.recv(1000), 8) == (3, 2), "it holds the arm"
    with pytest.raises(BlockingIOError):
        owner.recv(1000)


@pytest.mark.parametrize(
    ("stamps_ms", "newest"),
    [((1, 3, 2), 3), ((1, -5, 0), 0), ((2, 0), 0), ((0, 2), 2), ((9 * 10**12, 1), 1), ((1, -(10**12)), 1)],
)
def test_the_newest_state_is_answered_where_the_network_has_changed_their_order(
    ur5: RobotModel, stamps_ms: tuple[int, ...], newest: int
):
    driver = Driver(ur5)
    for k in (0, 1):
        driver.send(state(k, (k - 2) * MS))
    for stamp_ms in stamps_ms:
        driver.process.take(state(abs(stamp_ms), stamp_ms * MS), OWN)
    assert struct.unpack_from("<QQ", driver.process.answer(), 8) == (newest, 0)
    assert not driver.refused


def test_the_datagrams_of_others_do_not_displace_the_state_of_the_owner(ur5: RobotModel, sockets):
    own, owner, other = sockets
    driver = Driver(ur5)
    driver.send(state(0, 0), owner.getsockname())
    owner.send(state(1, MS))
    for data in (state(7, 7 * MS), *[b"hello"] * 50, ENABLE):
        other.send(data)
    owner.send(b"hello")
    answer_newest(own, driver.process)
    assert struct.unpack_from("<QQ", owner.recv(1000), 8) == (1, 0)
    with pytest.raises(BlockingIOError):
        other.recv(1000)
    assert len(driver.refused) == 53, "every one is counted"
    for data in (b"hello", state(8, 8 * MS)):
        other.send(data)
    answer_newest(own, driver.process)
    for one in (owner, other):
        with pytest.raises(BlockingIOError):
            one.recv(1000)


# -- the socket ----------------------------------------------------------------------------------------

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the socket is connected on Linux only")


@only_linux
def test_after_the_owners_silence_another_sender_is_heard_on_the_same_port(ur5: RobotModel, sockets):
    own, owner, other = sockets
    port = own.getsockname()[1]
    driver, connection = Driver(ur5), OwnerConnection(own)
    for one, before in ((owner, other), (other, owner)):
        connection.follow(driver.process.heard_owner)
        one.send(state(1, MS))
        answer_newest(own, driver.process)
        assert driver.process.owner == one.getsockname()
        connection.follow(driver.process.heard_owner)
        before.send(state(2, 2 * MS))
        with pytest.raises(ConnectionRefusedError):  # by the datagram before
            before.send(state(3, 3 * MS))
        driver.now_ns += 1001 * MS
    connection.follow(driver.process.heard_owner)
    assert own.getsockname() == ("127.0.0.1", port)
    assert not driver.refused


@only_linux
def test_a_driver_that_has_ended_ends_nothing(ur5: RobotModel, sockets):
    """The answer to its last state comes back as an error of the socket."""
    own, owner, _ = sockets
    driver, connection, address = Driver(ur5), OwnerConnection(own), owner.getsockname()
    for k in range(3):
        owner.send(state(k, k * MS))
        if k == 2:
            owner.close()
        answer_newest(own, driver.process)
        connection.follow(driver.process.heard_owner)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(address)
        again.sendto(state(3, 3 * MS), own.getsockname())
        answer_newest(own, driver.process)
        assert struct.unpack_from("<Q", again.recv(1000, socket.MSG_DONTWAIT), 8) == (3,)


@pytest.mark.parametrize(("address", "expected"), [("127.0.0.1", True), ("127.9.9.9", True), ("0.0.0.0", False)])
def test_only_this_machine_reaches_a_loopback_address(address: str, expected: bool):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        bind(one, address, 0)
        assert is_loopback(one) == expected


def test_where_strangers_are_near_silence_does_not_free_an_enabled_arm(ur5: RobotModel):
    driver, elsewhere, stranger = Driver(ur5), Driver(ur5), ("127.0.0.2", 6)
    driver.process.are_strangers_near = True
    for one in (driver, elsewhere):
        one.run(range(10))
        one.now_ns += 2000 * MS
    assert elsewhere.send(state(0, 0), stranger)[:2] == (0, True)
    assert driver.send(state(0, 0), stranger) is None
    assert driver.refused == [
        "datagram: another sender: 127.0.0.2:6; states come from 127.0.0.1:5, and the arm is enabled: "
        "without a key it goes to no other address"
    ]
    assert driver.send(state(0, 0), OTHER)[:2] == (0, True), "the driver that starts again, on another port"
    driver.now_ns += 2000 * MS
    assert driver.send(state(0, 0), stranger)[:2] == (0, True), "the gate brakes"


# -- the key -------------------------------------------------------------------------------------------

KEY, START = bytes(range(32)), 1000
"""A key, and the Unix time at which the controller has started [ns]."""


def signed(data: bytes, key: bytes = KEY) -> bytes:
    return data + hmac.new(key, data, hashlib.sha256).digest()[:16]


def order(number: int) -> bytes:
    return struct.pack("<4sIQ", b"ACE1", 0, number)


class KeyedDriver(Driver):
    """A driver with a key; answers are checked, and given without their tags."""

    def __init__(self, model: RobotModel) -> None:
        super().__init__(model)
        clock = lambda: self.now_ns  # noqa: E731
        refuse = lambda what, error: self.refused.append(f"{what}: {error}")  # noqa: E731
        key = DatagramKey(KEY, lambda: START)
        self.process = DatagramProcess(model, self.gate_loop, refuse, clock, key=key)

    def answer(self) -> bytes | None:
        """Return an answer whose tag is right."""
        answer = self.process.answer()
        assert answer is None or answer == signed(answer[:-16])
        return None if answer is None else answer[:-16]


def test_with_a_key_states_and_orders_are_obeyed_and_answers_have_a_tag(ur5: RobotModel):
    driver = KeyedDriver(ur5)
    assert driver.send(signed(state(START + 1, MS)))[:2] == (START + 1, False)
    driver.gate.brake("a test")
    driver.send(signed(order(START + 2)))
    assert driver.send(signed(state(START + 3, 2 * MS)))[:2] == (START + 3, False)
    assert not driver.refused


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "wrong tag"),
        (ENABLE, "wrong tag"),
        (signed(b"ACE1"), "wrong tag"),
        (state(START + 9, 2 * MS), "wrong tag"),
        (signed(state(START + 9, 2 * MS), bytes(32)), "wrong tag"),
        (signed(order(START + 9))[:-1] + b"x", "wrong tag"),
        (signed(state(START + 2, 2 * MS)), f"repeated number: {START + 2}, allowed above {START + 2}"),
        (signed(order(START + 1)), f"repeated number: {START + 1}, allowed above {START + 2}"),
        (signed(state(START + 9, 2 * MS)[:-8]), "wrong size"),
    ],
    ids=itertools.count(),
)
def test_with_a_key_other_datagrams_are_refused(ur5: RobotModel, data: bytes, why: str):
    driver = KeyedDriver(ur5)
    driver.send(signed(state(START + 2, MS)))
    driver.gate.brake("a test")
    assert driver.send(data) is None
    assert driver.refused[0].startswith(f"datagram: {why}")
    assert driver.gate.is_braked
    assert driver.send(signed(state(START + 10, 3 * MS)))[:2] == (START + 10, True)


def test_datagrams_recorded_before_the_start_are_refused(ur5: RobotModel):
    driver = KeyedDriver(ur5)
    assert driver.send(signed(state(START, MS))) is None
    assert driver.process.owner is None
    assert driver.send(signed(state(START + 1, MS))) is not None


# -- what is printed -----------------------------------------------------------------------------------


def test_owner_brake_and_enabling_are_said_once_and_at_most_once_a_second(ur5: RobotModel):
    driver, lines, now = Driver(ur5), list[str](), 0.0
    changes = Changes(lines.append, lambda: now)
    driver.send(state(0, 0))
    for _ in range(3):
        assert changes.look(driver.process) == math.inf
    assert lines == ["states come from 127.0.0.1:5"]
    driver.gate.brake("a test")
    changes.look(driver.process)
    for _ in range(3):
        driver.gate.enable()
        changes.look(driver.process)
        driver.gate.brake("another test")
        assert changes.look(driver.process) == 1.0, "there is something left to say"
    assert lines[1:] == ["braking: a test"]
    now = 1.0
    for _ in range(3):
        changes.look(driver.process)
    assert lines[2:] == ["braking: another test"]
    driver.gate.enable()
    now = 2.0
    changes.look(driver.process)
    assert lines[3:] == ["holding: enabled; waiting for a new goal"]
