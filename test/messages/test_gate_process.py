"""The gate's process, with states, commands and a clock of the test's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.control.effort_gate import GateParameters, GateState
from arm_control.messages.bags.message_definitions import plain
from arm_control.messages.fields import brake_reason, braked_frame
from arm_control.messages.gate_process import GateProcess

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1_000_000
OWN, OTHER = ({"data": bytes([k] * 16)} for k in (1, 2))


class Driver:
    """Sends states and commands to a gate, and keeps what it answers."""

    def __init__(self, model: RobotModel, **options: Any) -> None:
        self.model, self.t, self.stamp_ns = model, 0.0, 0
        self.refused: list[str] = []
        self.options = options
        self.process = self.make()
        self.answers: list[Any] = []

    def make(self) -> GateProcess:
        refuse = lambda what, error: self.refused.append(f"{what}: {error}")  # noqa: E731
        parameters = GateParameters(**self.options)
        return GateProcess(self.model, parameters, refuse, clock=lambda: self.t)

    def info(self, publisher: Any = OWN) -> dict[str, Any]:
        import time

        return {
            "source_timestamp": time.time_ns(),
            "received_timestamp": round(self.t * 1e9),
            "publisher_gid": publisher,
        }

    def state(self, q: Any = HOME, v: Any = None, publisher: Any = OWN, stamp_ns: int | None = None) -> None:
        v = np.zeros(6) if v is None else v
        stamp_ns = self.stamp_ns if stamp_ns is None else stamp_ns
        message = plain.joint_state(self.model.joint_names, stamp_ns, position=q, velocity=v)
        self.answers += self.process.on_state(message, self.info(publisher))

    def command(self, pan: float = 0.0, frame: str = "") -> None:
        effort = self.model.gravity(HOME) + [pan, 0.0, 0.0, 0.0, 0.0, 0.0]
        message = plain.joint_state(self.model.joint_names, self.stamp_ns, effort=effort)
        message.header.frame_id = frame
        self.answers += self.process.on_effort(message, self.info())

    def go_on(self, n: int = 1, **state: Any) -> None:
        """So many milliseconds with a state and a command each."""
        for _ in range(n):
            self.t += 1e-3
            self.stamp_ns += MS
            self.state(**state)
            self.command()

    def wait(self, seconds: float) -> None:
        """Only the clock goes on."""
        end = self.t + seconds
        while self.t < end:
            self.t += self.process.looking_period
            self.answers += self.process.look()

    @property
    def last(self) -> Any:
        return self.answers[-1].output


@pytest.fixture
def driver(ur5: RobotModel) -> Driver:
    return Driver(ur5)


def test_good_states_and_commands_pass(driver: Driver):
    driver.go_on(50)
    assert driver.last.state is GateState.PASSING
    assert not driver.refused
    assert [answer.stamp_ns for answer in driver.answers] == [k * MS for k in range(1, 51)]


@pytest.mark.parametrize("max_age", [0.02, 0.0])
def test_it_brakes_when_states_stop_and_says_for_how_long(ur5: RobotModel, max_age: float):
    driver = Driver(ur5, max_age=max_age)
    driver.go_on(30)
    driver.wait(0.0225)
    assert driver.last.state is GateState.BRAKED
    assert driver.last.reason.startswith("no state for ")
    assert driver.process.is_blind
    assert not driver.process.may_take_model


def test_what_it_predicts_comes_to_rest_and_is_forgotten_when_states_come_back(driver: Driver, ur5: RobotModel):
    v = np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(30):
        driver.go_on(q=HOME + v * k * 1e-3, v=v)
    driver.wait(0.8)
    q = driver.process._prediction.q
    assert 0.02 < q[0] - (HOME + 29e-3 * v)[0] < 0.2
    assert np.abs(driver.process._prediction.v).max() < 1e-2
    np.testing.assert_allclose(driver.last.tau, ur5.gravity(q), atol=0.1)
    stopped = q.copy()
    for _ in range(200):
        driver.go_on(q=stopped)
    assert not driver.process.is_blind
    assert driver.last.state is GateState.BRAKED
    np.testing.assert_allclose(driver.last.tau, ur5.gravity(stopped), atol=0.05)
    assert driver.process.may_take_model


@pytest.mark.parametrize("stamp_ns", [0, 5 * MS])
def test_no_stamp_releases_a_brake(driver: Driver, stamp_ns: int):
    driver.go_on(30)
    driver.process.gate.brake("a test")
    for k in range(25):
        driver.t += 1e-3
        driver.state(stamp_ns=stamp_ns + k)
    driver.go_on(5)
    assert driver.process.gate.reason == "a test"


def test_time_that_goes_back_brakes_and_changes_torque_slowly(driver: Driver):
    driver.go_on(30)
    driver.command(20.0)
    before = driver.last.tau
    driver.stamp_ns = 0
    driver.state()
    driver.stamp_ns = MS
    driver.state()
    assert driver.last.state is GateState.BRAKED
    assert "went back" in driver.last.reason
    assert np.abs(driver.last.tau - before).max() <= 1.25


def test_a_command_that_brakes_is_none(driver: Driver):
    driver.go_on(30)
    driver.stamp_ns += MS
    driver.state()
    driver.command(frame=braked_frame("a test"))
    assert driver.process.gate.reason == "the controller brakes: a test"
    assert driver.refused == ["effort_in: the controller brakes: a test"]


def test_an_older_command_is_refused(driver: Driver):
    driver.go_on(30)
    driver.t += 1e-3
    now = driver.stamp_ns + MS
    driver.state(stamp_ns=now)
    driver.command()  # that of the state before, again
    assert driver.refused == [f"effort_in: {driver.refused[0].removeprefix('effort_in: ')}"]
    assert "out of order" in driver.refused[0]


def test_states_of_a_second_publisher_count_after_a_second_of_silence(driver: Driver):
    driver.go_on(30)
    driver.state(HOME + 0.4, publisher=OTHER, stamp_ns=driver.stamp_ns + MS)
    assert "second publisher of joint states: 0202" in driver.refused[0]
    driver.wait(1.01)
    driver.stamp_ns += 1010 * MS
    driver.state(publisher=OTHER)
    assert len(driver.refused) == 1


def test_marks_of_a_brake_are_read_from_the_frame():
    message = plain.joint_state(["a"], 0)
    assert brake_reason(message) == ""
    message.header.frame_id = "base_link"
    assert brake_reason(message) == ""
    message.header.frame_id = braked_frame("no state")
    assert brake_reason(message) == "no state"
    message.header.frame_id = braked_frame("")
    assert brake_reason(message) == "no reason given"
