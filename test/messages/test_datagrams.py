"""States and torque in datagrams: the bytes, the rules of states, and the gate."""

from __future__ import annotations

import socket
import struct

import numpy as np
import pytest

from arm_control.app.commands.serve_command import answer_newest
from arm_control.control.loop_parameters import JointLoopParameters, control_loop
from arm_control.messages.datagrams import ENABLE, DatagramProcess
from arm_control.model import RobotModel

MS = 1_000_000
Q = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])


def state(number: int, stamp_ns: int, q: np.ndarray = Q, *, mark: bytes = b"ACS1", n: int = 6) -> bytes:
    """The bytes of a state at rest, as the page has them."""
    return struct.pack(f"<4sIQq{2 * len(q)}d", mark, n, number, stamp_ns, *q, *np.zeros(len(q)))


class Driver:
    """Sends datagrams to a controller that holds the arm."""

    def __init__(self, model: RobotModel) -> None:
        self.refused: list[str] = []
        loop = control_loop(model, JointLoopParameters(), waits_for_commands=False)
        refuse = lambda what, error: self.refused.append(f"{what}: {error}")  # noqa: E731
        self.process = DatagramProcess(model, loop, refuse, lambda: self.now_ns)
        self.now_ns = 0

    def send(self, data: bytes, sender: str = "127.0.0.1:5") -> tuple[int, bool, np.ndarray] | None:
        """Number, whether the gate brakes, and torque of the answer."""
        self.now_ns += MS
        answer = self.process.on_datagram(data, sender)
        if answer is None:
            return None
        mark, n, number, is_braking, *tau = struct.unpack("<4sIQQ6d", answer)
        assert (mark, n) == (b"ACT1", 6)
        return number, bool(is_braking), np.array(tau)


def test_every_state_is_answered_with_its_number_and_the_weight_of_the_arm(ur5: RobotModel):
    driver = Driver(ur5)
    for k in range(20):
        number, is_braking, tau = driver.send(state(1000 + k, k * MS))
        assert (number, is_braking) == (1000 + k, False)
    np.testing.assert_allclose(tau, ur5.gravity(Q), atol=1e-9)
    repeated = driver.send(state(7, 19 * MS))
    assert repeated[:2] == (7, False)
    assert driver.process.answered == 21
    assert not driver.refused


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "datagram: wrong size: 0 bytes, a state of 6 joints has 120"),
        (state(1, MS)[:-1], "datagram: wrong size: 119 bytes, a state of 6 joints has 120"),
        (state(1, MS) + b"x", "datagram: wrong size: 121 bytes, a state of 6 joints has 120"),
        (state(1, MS, mark=b"ACT1"), "datagram: wrong head: it begins with 41435431 and 6 joints, not 41435331 and 6"),
        (state(1, MS, n=7), "datagram: wrong head: it begins with 41435331 and 7 joints, not 41435331 and 6"),
        (state(1, 2**62), f"datagram: wrong stamp: {2**62} ns, allowed below 2^31 s"),
        (state(1, MS, Q * np.nan), "state: position is not finite: {'shoulder_pan_joint': nan, "),
    ],
)
def test_what_is_no_state_is_refused_and_the_next_state_is_answered(ur5: RobotModel, data: bytes, why: str):
    driver = Driver(ur5)
    driver.send(state(0, 0))
    assert driver.send(data) is None
    assert driver.refused[0].startswith(why)
    assert driver.send(state(2, 2 * MS))[:2] == (2, False)


def test_noise_never_raises(ur5: RobotModel):
    driver, rng = Driver(ur5), np.random.default_rng(0)
    for _ in range(300):
        noise = bytearray(state(1, MS))
        noise[int(rng.integers(4, 120))] = int(rng.integers(256))
        driver.send(bytes(noise))
        driver.send(rng.bytes(int(rng.integers(0, 200))))
    assert driver.refused


def test_after_a_gap_the_gate_brakes_until_it_is_enabled(ur5: RobotModel):
    driver = Driver(ur5)
    for k in range(5):
        driver.send(state(k, k * MS))
    assert driver.send(state(5, 100 * MS))[1]
    assert driver.send(state(6, 101 * MS))[1]
    assert driver.send(ENABLE) is None
    for k in range(7, 12):
        _, is_braking, _ = driver.send(state(k, (95 + k) * MS))
    assert not is_braking


def test_a_second_sender_is_refused(ur5: RobotModel):
    driver = Driver(ur5)
    driver.send(state(0, 0))
    assert driver.send(state(1, MS), "127.0.0.1:6") is None
    assert driver.refused[0].startswith("state: second publisher of joint states")


def test_of_several_datagrams_the_newest_state_is_answered_and_none_that_enables_is_missed(ur5: RobotModel):
    driver = Driver(ur5)
    driver.send(state(0, 0))
    driver.process.loop.gate.brake("a test")
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        own.bind(("127.0.0.1", 0))
        for data in (state(1, MS), ENABLE, state(2, 2 * MS), state(3, 3 * MS)):
            other.sendto(data, own.getsockname())
        answer_newest(own, driver.process)
        other.setblocking(False)
        number, is_braking = struct.unpack_from("<QQ", other.recv(1000), 8)
        assert (number, is_braking) == (3, 0)
        with pytest.raises(BlockingIOError):
            other.recv(1000)
