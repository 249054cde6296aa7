"""The gate's process, with states, commands and a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.bags import plain
from arm_control.gate import LONGEST_STEP, GateParameters, GateState, PredictedState
from arm_control.gate.velocity_filter import VelocityFilter
from arm_control.maths import Obstacle, Pose, Sphere
from arm_control.messages import brake_reason, braked_frame
from arm_control.processes import GateProcess

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1_000_000
OWN, OTHER = ({"data": bytes([k] * 16)} for k in (1, 2))


class Driver:
    """Sends states and commands to a gate, and keeps what it answers."""

    def __init__(self, model: RobotModel, *, lock_step: bool = False, obstacles: Any = None, **options: Any) -> None:
        self.model, self.t, self.stamp_ns = model, 0.0, 0
        self.refused: list[str] = []
        self.answers: list[Any] = []
        self.process = GateProcess(
            model,
            GateParameters(**options),
            lambda what, error: self.refused.append(f"{what}: {error}"),
            lock_step=lock_step,
            obstacles=obstacles,
            clock=lambda: self.t,
            clock_ns=lambda: round(self.t * 1e9),
        )

    def info(self, publisher: Any = OWN) -> dict[str, Any]:
        now_ns = round(self.t * 1e9)
        return {"source_timestamp": now_ns, "received_timestamp": now_ns, "publisher_gid": publisher}

    def state(self, q: Any = HOME, v: Any = None, publisher: Any = OWN, stamp_ns: int | None = None) -> list[Any]:
        v = np.zeros(6) if v is None else v
        stamp_ns = self.stamp_ns if stamp_ns is None else stamp_ns
        message = plain.joint_state(self.model.joint_names, stamp_ns, position=q, velocity=v)
        return self.noted(self.process.on_state(message, self.info(publisher)))

    def command(
        self, pan: float = 0.0, frame: str = "", publisher: Any = OWN, stamp_ns: int | None = None
    ) -> list[Any]:
        effort = self.model.gravity(HOME) + [pan, 0.0, 0.0, 0.0, 0.0, 0.0]
        stamp_ns = self.stamp_ns if stamp_ns is None else stamp_ns
        message = plain.joint_state(self.model.joint_names, stamp_ns, effort=effort)
        message.header.frame_id = frame
        return self.noted(self.process.on_effort(message, self.info(publisher)))

    def look(self, after: float = 0.0) -> list[Any]:
        """What the gate answers by itself after a time without messages [s]."""
        self.t += after
        return self.noted(self.process.look())

    def noted(self, answers: list[Any]) -> list[Any]:
        self.answers += answers
        return answers

    def next_state(self, q: Any = HOME, v: Any = None, publisher: Any = OWN) -> list[Any]:
        """A state a millisecond after the one before."""
        self.t, self.stamp_ns = self.t + 1e-3, self.stamp_ns + MS
        return self.state(q, v, publisher)

    def go_on(self, n: int = 1, **state: Any) -> None:
        """So many milliseconds with a state and a command each."""
        for _ in range(n):
            self.next_state(**state)
            self.command()

    def wait(self, seconds: float) -> None:
        """Only the clock goes on."""
        end = self.t + seconds
        while self.t < end:
            self.look(self.process.looking_period)

    @property
    def last(self) -> Any:
        return self.answers[-1].output

    @property
    def prediction(self) -> PredictedState:
        """The predicted state."""
        return self.process._blind._memory.prediction


@pytest.fixture
def driver(ur5: RobotModel) -> Driver:
    return Driver(ur5)


def test_each_answer_has_the_gravity_of_its_state(driver: Driver, ur5: RobotModel):
    """A driver that adds gravity gets the torque without it: also where the gate brakes on a predicted state."""
    driver.go_on(3)
    assert np.abs(driver.last.tau - driver.answers[-1].g).max() < 1e-9
    moved = HOME + 1e-4
    driver.next_state(q=moved, v=np.full(6, 0.1))
    driver.command()
    np.testing.assert_array_equal(driver.answers[-1].g, ur5.gravity(moved))
    driver.wait(0.2)
    assert driver.process.is_blind
    blind = driver.answers[-1]
    assert np.abs(blind.output.tau - blind.g).max() < 5.0
    assert np.abs(blind.g - ur5.gravity(HOME)).max() < 1.0


def test_good_states_and_commands_pass(driver: Driver):
    driver.go_on(50)
    assert driver.last.state is GateState.PASSING
    assert not driver.refused
    assert [answer.stamp_ns for answer in driver.answers] == [k * MS for k in range(1, 51)]


@pytest.mark.parametrize("lock_step", [True, False])
def test_no_command_is_answered_as_passing_by_a_gate_that_brakes(ur5: RobotModel, lock_step: bool):
    """Neither the old one again, nor the one of the next state; the torque leaves that of before as fast as it may."""
    driver = Driver(ur5, lock_step=lock_step)
    for _ in range(100):
        driver.next_state()
        assert [answer.output.state for answer in driver.command(5.0)] == [GateState.PASSING]
    driver.process.gate.brake("disabled")
    for send, pan in ((driver.command, 5.0), (driver.next_state, 4.0), (driver.command, 4.0)):
        (answer,) = send(5.0) if send == driver.command else send()
        assert (answer.output.state, answer.output.tau[0]) == (GateState.BRAKING, pytest.approx(pan))


@pytest.mark.parametrize("max_age", [0.02, 0.0])
def test_it_brakes_when_states_stop_and_says_for_how_long(ur5: RobotModel, max_age: float):
    driver = Driver(ur5, max_age=max_age)
    driver.go_on(30)
    driver.wait(0.0225)
    assert driver.last.state is GateState.BRAKING
    assert driver.last.reason.startswith("no state for ")
    assert driver.process.is_blind
    assert not driver.process.may_take_model


def test_what_it_predicts_comes_to_rest_and_is_forgotten_when_states_come_back(driver: Driver, ur5: RobotModel):
    v = np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(30):
        driver.go_on(q=HOME + v * k * 1e-3, v=v)
    driver.wait(0.8)
    q = driver.prediction.q
    np.testing.assert_array_equal(driver.answers[-1].g, ur5.gravity(q))
    assert 0.02 < q[0] - (HOME + 29e-3 * v)[0] < 0.2
    assert np.abs(driver.prediction.v).max() < 1e-2
    np.testing.assert_allclose(driver.last.tau, ur5.gravity(q), atol=0.1)
    stopped = q.copy()
    for _ in range(200):
        driver.go_on(q=stopped)
    assert not driver.process.is_blind
    assert driver.last.state is GateState.BRAKING
    np.testing.assert_allclose(driver.last.tau, ur5.gravity(stopped), atol=0.05)
    assert driver.process.may_take_model


def test_the_first_state_after_a_silence_may_change_the_torque_for_the_time_since_the_last_look(driver: Driver):
    v = np.full(6, 0.8)
    for k in range(30):
        driver.go_on(q=HOME + v * k * 1e-3, v=v)
    driver.wait(0.05)
    before = driver.last.tau
    driver.t += 1e-3
    driver.stamp_ns = round(driver.t * 1e9)
    driver.state(q=HOME + 0.08 * v, v=v)
    assert np.abs(driver.last.tau - before).max() == pytest.approx(1.0)


@pytest.mark.parametrize("is_braked", [True, False])
def test_states_that_arrive_together_share_the_time_of_one(driver: Driver, is_braked: bool):
    driver.go_on(5)
    if is_braked:
        driver.process.gate.brake("a test")
    v = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(6):
        driver.t += 2e-3 * (k % 2)
        before = driver.last.tau
        driver.stamp_ns += MS
        driver.state(q=HOME + v * k * 1e-3, v=v)
        driver.command(pan=100.0)
        change = np.abs(driver.last.tau - before).max()
        assert change == pytest.approx(1.0) if k % 2 else change < 0.25 + 1e-9


def test_stamps_back_and_forth_do_not_let_the_torque_change_faster(driver: Driver):
    driver.go_on(5)
    driver.process.gate.brake("a test")
    v = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    ways = [0.0]
    for k in range(15):
        driver.t += 1e-3
        driver.stamp_ns += MS
        before = driver.last.tau
        for stamp_ns in (driver.stamp_ns, 0):
            driver.state(q=HOME + (-1) ** k * 1e-3 * v, v=(-1) ** k * v, stamp_ns=stamp_ns)
        ways.append(ways[-1] + np.abs(driver.last.tau - before).max())
    assert np.diff(ways).max() <= 1.25 + 1e-9
    assert (np.array(ways) <= np.arange(16) + 0.25 + 1e-9).all()


@pytest.mark.parametrize("stamp_ns", [0, 5 * MS])
def test_no_stamp_releases_a_brake(driver: Driver, stamp_ns: int):
    driver.go_on(30)
    driver.process.gate.brake("a test")
    for k in range(25):
        driver.t += 1e-3
        driver.state(stamp_ns=stamp_ns + k)
    driver.go_on(5)
    assert driver.process.gate.reason == "a test"


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


# -- answers -------------------------------------------------------------------------------------------


def test_a_state_is_answered_once_and_the_same_again_when_it_or_its_command_is_repeated(driver: Driver):
    driver.state()
    driver.state()  # repeated, and not answered yet
    assert driver.answers == []
    driver.command(0.5)
    driver.state()
    driver.command(0.7)
    driver.command(0.7, stamp_ns=driver.stamp_ns - 1)
    first, *others = driver.answers
    assert len(others) == 3
    assert all(answer is first or answer == first for answer in others)
    assert (first.stamp_ns, first.output.state) == (0, GateState.PASSING)
    assert driver.refused == []


def test_a_state_without_a_command_is_answered_when_the_next_one_comes(driver: Driver):
    for k in range(1, 4):
        driver.t, driver.stamp_ns = k * 1e-3, k * MS
        driver.state()
        assert [answer.stamp_ns for answer in driver.answers] == [j * MS for j in range(1, k)]
    assert driver.last.state is GateState.HOLDING


@pytest.mark.parametrize(("ahead_ns", "is_kept"), [(1, True), (MS, True), (MS + 2, False)])
def test_a_command_that_comes_a_period_before_its_state_waits_for_it(driver: Driver, ahead_ns: int, is_kept: bool):
    driver.go_on(5)
    assert driver.command(0.5, stamp_ns=driver.stamp_ns + ahead_ns) == []
    assert len(driver.next_state()) == is_kept
    assert [reason.partition(":")[0] for reason in driver.refused] == [] if is_kept else ["effort_in"]
    driver.go_on()
    assert len(driver.answers) == 5 + 2  # it is used once


def test_a_command_before_the_first_state_waits_for_it(driver: Driver):
    driver.command(0.5)
    driver.state()
    assert driver.last.state is GateState.PASSING
    assert driver.refused == []


def test_before_the_second_state_a_command_may_be_max_age_ahead(driver: Driver):
    driver.state()
    driver.command(stamp_ns=20 * MS)
    assert driver.refused == []
    driver.command(stamp_ns=20 * MS + 1)
    assert "from the future" in driver.refused[0]


def test_of_two_commands_the_newest_message_counts(driver: Driver):
    driver.go_on(5)
    driver.command(0.5, stamp_ns=driver.stamp_ns + MS)
    driver.command()  # that of the state before, again: the early one is dropped
    assert driver.next_state() == []


def test_a_command_for_the_state_before_passes_while_it_is_fresh(driver: Driver):
    driver.go_on(5)
    for _ in range(2):
        driver.next_state()
    assert len(driver.command(stamp_ns=driver.stamp_ns - MS)) == 1
    assert driver.refused == []


@pytest.mark.parametrize(("lock_step", "n_refused"), [(False, 1), (True, 0)])
def test_a_state_that_was_written_long_ago_is_stale_but_in_lock_step(ur5: RobotModel, lock_step: bool, n_refused: int):
    driver = Driver(ur5, lock_step=lock_step)
    driver.state()
    message = plain.joint_state(ur5.joint_names, MS, position=HOME, velocity=np.zeros(6))
    driver.process.on_state(message, {**driver.info(), "source_timestamp": -1500 * MS})
    assert len(driver.refused) == n_refused


def test_commands_have_one_publisher_until_the_gate_is_released(driver: Driver):
    driver.go_on(3)
    driver.stamp_ns += MS
    driver.state()
    driver.command(publisher=OTHER)
    assert "second publisher on the topic" in driver.refused[0]
    driver.process.release()
    driver.command(publisher=OTHER)
    driver.state(publisher=OTHER, stamp_ns=driver.stamp_ns + MS)
    assert len(driver.refused) == 1
    assert driver.last.state is GateState.PASSING


def test_a_controller_that_brakes_from_the_start_owns_the_topic(driver: Driver):
    driver.state()
    driver.command(frame=braked_frame("a test"))
    assert driver.process.gate.state is GateState.HOLDING
    driver.command(publisher=OTHER)
    assert "second publisher" in driver.refused[1]


def test_commands_go_on_after_time_began_anew(driver: Driver):
    driver.go_on(30)
    driver.stamp_ns = 0
    driver.state()
    driver.process.gate.enable()
    driver.go_on(3)
    assert driver.last.state is GateState.PASSING


@pytest.mark.parametrize(("missing_ms", "is_braked"), [(20, False), (21, True)])
def test_it_brakes_when_more_than_20_states_are_missing(driver: Driver, missing_ms: int, is_braked: bool):
    driver.go_on(5)
    driver.stamp_ns += missing_ms * MS
    driver.state()
    assert driver.process.gate.is_braked == is_braked
    assert driver.process.gate.reason == (f"no state for {missing_ms} ms" if is_braked else "")


def test_in_a_new_run_the_period_of_the_states_is_unknown(driver: Driver):
    driver.go_on(5)
    driver.stamp_ns = 0
    driver.state()
    driver.process.gate.enable()
    driver.stamp_ns = 40 * MS
    driver.state()
    assert not driver.process.gate.is_braked


def test_a_gate_that_brakes_for_want_of_commands_answers_the_state_at_hand_too(ur5: RobotModel):
    driver = Driver(ur5, max_missed=2)
    driver.go_on(5)
    answers = [answer for _ in range(3) for answer in driver.next_state(v=np.full(6, 0.1))]
    assert [answer.stamp_ns // MS for answer in answers] == [6, 7, 8]
    assert [answer.output.state.name for answer in answers] == ["PASSING", "BRAKING", "BRAKING"]


@pytest.mark.parametrize("lock_step", [True, False])
def test_a_command_that_brakes_is_answered_with_the_torque_of_the_brake(ur5: RobotModel, lock_step: bool):
    driver = Driver(ur5, lock_step=lock_step)
    driver.go_on(30)
    driver.command(20.0)
    before, v = driver.last.tau, np.full(6, 0.1)
    driver.next_state(v=v)
    (answer,) = driver.command(frame=braked_frame("a test"))
    assert driver.process.gate.reason == "the controller brakes: a test"
    assert driver.refused == ["effort_in: the controller brakes: a test"]
    assert (answer.output.state, answer.stamp_ns) == (GateState.BRAKING, driver.stamp_ns)
    np.testing.assert_allclose(answer.output.tau, brake_torque(ur5, HOME, v, before, 1.0), rtol=0, atol=1e-9)


def test_states_without_commands_are_noted_as_of_when_they_came(driver: Driver, ur5: RobotModel):
    """The prediction begins with them then, not when the next one came: that would be a period too late."""
    for k in range(1, 31):
        driver.t, driver.stamp_ns = k * 1e-3, k * MS
        driver.state(HOME + V * driver.t, V)
    answered, at = driver.answers[-1], 29e-3
    assert answered.stamp_ns == 29 * MS
    driver.look(0.018)
    assert driver.last.reason == "no state for 18 ms"
    expected = Predicted(ur5, HOME + V * at, V)
    expected.go_on(answered.output.tau, driver.t - at)
    np.testing.assert_allclose(driver.prediction.q, expected.q, rtol=1e-12)


# -- lock step -----------------------------------------------------------------------------------------


WAYS_TO_ASK: dict[str, Callable[[Driver], list[Any]]] = {
    "its command": lambda driver: driver.command(20.0),
    "an old command": lambda driver: driver.command(20.0, stamp_ns=driver.stamp_ns - MS),
    "the state again": lambda driver: driver.state(v=np.full(6, 0.1)),
    "another state": lambda driver: driver.state(publisher=OTHER, stamp_ns=driver.stamp_ns + MS),
    "the clock": lambda driver: driver.look(),
}


@pytest.mark.parametrize("ask", WAYS_TO_ASK.values(), ids=WAYS_TO_ASK)
def test_in_lock_step_a_brake_answers_the_state_that_waits(ur5: RobotModel, ask: Callable[[Driver], list[Any]]):
    """Whoever waits for the answer would wait for ever: no command passes any more."""
    driver = Driver(ur5, lock_step=True)
    driver.go_on(5)
    driver.command(20.0)
    before, v = driver.last.tau, np.full(6, 0.1)
    driver.next_state(v=v)
    driver.process.gate.brake("a test")
    (answer,) = ask(driver)
    assert (answer.output.state, answer.stamp_ns) == (GateState.BRAKING, driver.stamp_ns)
    np.testing.assert_allclose(driver.last.tau, brake_torque(ur5, HOME, v, before, 1.0), rtol=0, atol=1e-9)


def test_in_lock_step_a_command_of_before_answers_no_other_state(ur5: RobotModel):
    driver = Driver(ur5, lock_step=True)
    driver.go_on(5)
    driver.next_state()
    assert driver.command(20.0, stamp_ns=driver.stamp_ns - MS) == []
    assert "out of order" in driver.refused[0]
    driver.command()
    assert driver.last.state is GateState.PASSING


def test_in_lock_step_nothing_is_late_and_no_clock_counts(ur5: RobotModel):
    driver = Driver(ur5, lock_step=True)
    driver.go_on(3)
    driver.wait(5.0)
    for _ in range(3):  # states without commands stay open
        driver.stamp_ns += MS
        driver.state()
    driver.stamp_ns += 500 * MS
    driver.state()
    assert len(driver.answers) == 3
    driver.command()
    assert (driver.last.state, driver.refused) == (GateState.PASSING, [])
    driver.t += 100.0
    driver.command(publisher=OTHER)
    assert "second publisher" in driver.refused[0]


def test_in_lock_step_a_new_run_brakes_nothing_and_its_commands_count(ur5: RobotModel):
    driver = Driver(ur5, lock_step=True)
    driver.go_on(30)
    driver.t += 5.0
    driver.stamp_ns = 0
    driver.state()
    assert driver.process.gate.state is GateState.HOLDING
    driver.command(5.0)
    assert driver.last.state is GateState.PASSING
    np.testing.assert_allclose(driver.last.tau, ur5.gravity(HOME), atol=1e-12)  # no time has passed
    driver.stamp_ns = MS
    driver.state()
    driver.command(5.0)
    np.testing.assert_allclose(driver.last.tau[0] - ur5.gravity(HOME)[0], 1.0, atol=1e-9)


def test_in_lock_step_a_braked_gate_answers_each_state_itself(ur5: RobotModel):
    """Its controller may brake, too, and send nothing; a command that comes gets the same answer again."""
    driver = Driver(ur5, lock_step=True)
    driver.go_on(3)
    before, v = driver.last.tau, np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    driver.process.gate.brake("a test")
    (answer,) = driver.next_state(v=v)
    assert (answer.output.state, answer.stamp_ns) == (GateState.BRAKING, driver.stamp_ns)
    np.testing.assert_allclose(answer.output.tau, brake_torque(ur5, HOME, v, before, 1.0), rtol=0, atol=1e-9)
    (again,) = driver.command(5.0)
    assert again.output is answer.output
    assert driver.refused == []


# -- without states ------------------------------------------------------------------------------------

V = np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])


def swing(driver: Driver, n: int) -> list[tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
    """So many milliseconds of a turn about the first axis; times, states, and torque from then on."""
    moments = []
    for _ in range(n):
        q, v = HOME + V * driver.t, V * (1.0 + 0.1 * driver.t)
        driver.go_on(q=q, v=v)
        moments.append((driver.t, q, v, driver.last.tau))
    return moments


class Predicted:
    """A state that goes on by the model, in equal steps of a millisecond at most, the last one shorter."""

    def __init__(self, model: RobotModel, q: np.ndarray, v: np.ndarray) -> None:
        self.model, self.q, self.v = model, q, v

    def go_on(self, tau: np.ndarray, rest: float) -> None:
        while rest > 0.0:
            dt = min(rest, LONGEST_STEP)
            t = self.model.evaluate(self.q, self.v)
            self.v = self.v + np.linalg.solve(t.M, tau - t.h) * dt
            self.q, rest = self.q + self.v * dt, rest - dt


def predicted(model: RobotModel, moments: list[Any], now: float) -> Predicted:
    """The state now, from the first moment on."""
    prediction = Predicted(model, *moments[0][1:3])
    for (t, _, _, tau), end in zip(moments, [moment[0] for moment in moments[1:]] + [now], strict=True):
        prediction.go_on(tau, end - t)
    return prediction


def brake_torque(model: RobotModel, q: np.ndarray, v: np.ndarray, before: np.ndarray, largest: float) -> np.ndarray:
    """The torque of damping alone, (1) of the gate's page, after a change as a whole of at most ``largest``, (3)."""
    t = model.evaluate(q, v)
    change = np.clip(t.g - 50.0 * t.M @ v, -model.tau_max, model.tau_max) - before
    return before + min(1.0, largest / np.abs(change).max()) * change


def test_it_predicts_from_the_last_state_and_the_torque_since_then(driver: Driver, ur5: RobotModel):
    moments = swing(driver, 30)
    driver.t += 0.018
    expected = predicted(ur5, moments[-1:], driver.t)
    before = driver.last.tau
    driver.look()
    assert driver.last.reason == "no state for 18 ms"
    largest = 1.25  # of one step: GROWTH times the period
    np.testing.assert_allclose(
        driver.last.tau, brake_torque(ur5, expected.q, expected.v, before, largest), rtol=0, atol=1e-9
    )
    for elapsed in (2.5e-3, 4.5e-3):
        tau = driver.last.tau
        driver.t += elapsed
        driver.look()
        expected.go_on(tau, elapsed)
        np.testing.assert_allclose(driver.prediction.q, expected.q, rtol=1e-12)
    assert driver.answers[-1].stamp_ns == driver.stamp_ns


def test_a_state_that_jumps_casts_no_doubt_on_those_before(driver: Driver, ur5: RobotModel):
    moments = swing(driver, 60)
    driver.t += 1e-3
    driver.state(HOME + 0.5, stamp_ns=driver.stamp_ns + MS)
    assert driver.last.reason.startswith("not believed: position has jumped")
    expected = predicted(ur5, moments[-1:], driver.t)
    np.testing.assert_allclose(driver.prediction.q, expected.q, rtol=1e-12)


def test_velocities_that_disagree_are_in_doubt_since_they_began_to(driver: Driver, ur5: RobotModel):
    """Two states are wrong, and as long before them is not trusted either."""
    moments = swing(driver, 60)
    driver.go_on(q=HOME + V * driver.t, v=np.full(6, -12.0))
    moments.append((driver.t, HOME, V, driver.last.tau))
    assert driver.last.state is GateState.PASSING
    driver.t += 1e-3
    driver.state(HOME + V * driver.t, np.full(6, -12.0), stamp_ns=driver.stamp_ns + MS)
    assert driver.last.reason.startswith("not believed: positions and velocities disagree")
    expected = predicted(ur5, moments[-3:], driver.t)
    np.testing.assert_allclose(driver.prediction.q, expected.q, rtol=1e-12)


def test_a_state_that_jumps_before_any_answer_is_predicted_from_under_gravity(driver: Driver, ur5: RobotModel):
    driver.state()
    driver.t += 1e-3
    driver.state(HOME + 0.5, stamp_ns=MS)
    assert driver.last.state is GateState.BRAKING
    np.testing.assert_allclose(driver.last.tau, ur5.gravity(HOME), atol=1e-6)


def test_where_states_stop_before_the_first_answer_the_torque_begins_with_the_weight(driver: Driver, ur5: RobotModel):
    driver.t = 1000.0  # the clock has run for long
    driver.state(v=np.full(6, 2.0))
    driver.wait(0.02)
    weight = ur5.gravity(HOME + 2.0 * (driver.t - 1000.0))
    assert driver.last.state is GateState.BRAKING
    step = 1000.0 * 2 * driver.process.looking_period
    np.testing.assert_allclose(driver.last.tau, weight, rtol=0, atol=step + 1.0)


def test_no_fault_of_a_first_state_brakes_on_nothing(driver: Driver):
    driver.state(np.full(6, 1e3))
    assert driver.answers == []
    assert driver.process.may_take_model
    assert len(driver.refused) == 1


def test_after_a_second_it_only_carries_the_weight(driver: Driver):
    swing(driver, 30)
    heavy = 0.05 * np.eye(6)[1]
    driver.wait(0.95)
    driver.prediction.v[:] = heavy
    driver.wait(0.01)
    assert driver.prediction.v.any()
    driver.wait(0.1)
    assert not driver.prediction.v.any()
    q = driver.prediction.q.copy()
    driver.wait(0.1)
    np.testing.assert_array_equal(driver.prediction.q, q)
    assert driver.process.gate.period == pytest.approx(driver.process.looking_period)


def test_a_braked_gate_goes_on_by_itself_after_three_periods(driver: Driver):
    driver.go_on(5)
    driver.process.gate.brake("a test")
    assert driver.look(after=2.9e-3) == []
    assert len(driver.look(after=0.2e-3)) == 1
    assert driver.process.is_blind


@pytest.mark.parametrize(("max_age", "silence"), [(0.02, 0.02), (10.0, 10.0), (0.0, 0.02)])
def test_a_gate_that_braked_before_its_second_state_waits_as_long_as_any(
    ur5: RobotModel, max_age: float, silence: float
):
    driver = Driver(ur5, max_age=max_age)
    assert driver.process.look() == []
    driver.state()
    driver.process.gate.brake("a test")
    assert driver.process.looking_period == silence / 8
    assert [answer.stamp_ns for answer in driver.process.look()] == [0]  # it waits for no command any more
    for share in (0.87, 1.0 - 1.0 / 8):
        driver.t = share * silence
        assert driver.process.look() == []
    driver.t = 0.88 * silence
    assert len(driver.process.look()) == 1


def test_another_model_may_be_taken_at_rest_and_braked_only(driver: Driver):
    assert driver.process.may_take_model
    driver.go_on(5)
    assert not driver.process.may_take_model
    driver.process.gate.brake("a test")
    assert driver.process.may_take_model
    driver.go_on(5, v=np.full(6, 0.02))
    assert not driver.process.may_take_model


def test_a_robot_with_other_joints_is_taken_once_the_states_of_this_one_have_stopped(driver: Driver, ur5: RobotModel):
    other = RobotModel.from_urdf(urdf_path("planar2"))
    assert driver.process.may_take(other)
    driver.go_on(5)
    assert not driver.process.may_take(ur5)
    driver.process.gate.brake("a test")
    assert driver.process.may_take(ur5)
    assert not driver.process.may_take(other)
    driver.wait(0.99)
    assert driver.process.is_blind
    assert not driver.process.may_take(other)
    driver.wait(0.02)
    assert driver.process.may_take(other)


def test_a_gate_enabled_while_states_are_doubted_brakes_again_when_they_are_believed(driver: Driver):
    driver.go_on(5)
    for _ in range(100):
        driver.next_state(HOME + 0.5)
    assert len(driver.refused) == 100
    driver.process.gate.enable()
    driver.stamp_ns += MS
    driver.state(HOME + 0.5)
    assert driver.process.gate.reason.startswith("the state has jumped (not believed: position has jumped")


def test_an_arm_that_was_not_seen_is_held_where_it_is_measured_next(driver: Driver, ur5: RobotModel):
    driver.go_on(30)
    driver.wait(0.03)
    driver.stamp_ns += 30 * MS
    q = HOME + 0.01
    for _ in range(30):
        driver.next_state(q)
    assert driver.refused == []
    np.testing.assert_allclose(driver.last.tau, ur5.gravity(q), atol=1e-9)


def test_where_time_goes_back_the_clock_says_how_much_torque_may_change(driver: Driver):
    swing(driver, 30)
    before = driver.last.tau
    driver.t += 0.9e-3
    driver.state(HOME + V * driver.t, V, stamp_ns=0)
    assert driver.last.state is GateState.BRAKING
    assert "went back" in driver.last.reason
    assert np.abs(driver.last.tau - before).max() == pytest.approx(0.9)


def test_the_age_of_doubtful_states_counts_to_the_bound(driver: Driver):
    moments = []
    for driver.t, driver.stamp_ns in ((-0.001, 0), (0.0, MS)):
        v = V * (1.0 + driver.t)
        driver.state(HOME + V * driver.t, v)
        driver.command()
        moments.append((driver.t, HOME + V * driver.t, v, driver.last.tau))
    driver.t = 0.025
    driver.state(HOME + 2.0, stamp_ns=26 * MS)
    expected = Predicted(driver.model, *moments[1][1:3])
    expected.go_on(moments[1][3], 0.02)
    np.testing.assert_allclose(driver.prediction.q, expected.q, rtol=1e-12)


def test_the_second_without_states_counts_to_its_end(driver: Driver):
    driver.state(v=V)
    driver.command()
    for now, moves in ((0.02, True), (1.0, False)):
        driver.look(after=now - driver.t)
        assert driver.prediction.v.any() == moves


def test_a_braked_gate_takes_a_late_state_for_where_the_arm_is_now(driver: Driver):
    """In time it is taken as it is; a gate that passes refuses late ones, and knows no lateness."""
    driver.go_on(5)
    assert driver.process.gate.lateness == 0.0
    driver.process.gate.brake("test")
    driver.go_on(1)
    assert driver.process.gate.lateness == 0.0
    np.testing.assert_array_equal(driver.process._last.q, HOME)
    driver.t += 10e-3
    driver.stamp_ns += MS
    v = np.full(6, 0.1)
    message = plain.joint_state(driver.model.joint_names, driver.stamp_ns, position=HOME + 1e-4, velocity=v)
    info = {**driver.info(), "source_timestamp": round((driver.t - 9e-3) * 1e9)}
    driver.answers += driver.process.on_state(message, info)
    assert driver.process.gate.lateness == pytest.approx(9e-3)
    assert (driver.process._last.q > HOME + 1e-4 + 2e-4).all(), "for 9 ms it has gone on, braked from 0.1 rad/s"


@pytest.mark.parametrize(("lock_step", "older", "brakes"), [
    (False, 1, False), (False, 0, True), (True, 1, True), (True, 0, True),
])  # fmt: skip
def test_a_brake_that_is_older_than_the_last_command_has_been_ended_since(
    ur5: RobotModel, lock_step: bool, older: int, brakes: bool
):
    driver = Driver(ur5, lock_step=lock_step)
    driver.go_on(5)
    n_answers = len(driver.answers)
    driver.command(frame=braked_frame("why"), stamp_ns=driver.stamp_ns - older)
    assert driver.process.gate.is_braked == brakes
    assert driver.refused[0].startswith("effort_in: the controller brakes" if brakes else "effort_in: out of order")
    assert len(driver.answers) == n_answers, "the state is answered already"


def test_a_gate_and_a_controller_find_the_same_steps_of_velocities(ur5: RobotModel):
    """Differences of 12 bits, as a driver sends them: both filter them to the same velocities, to the bit."""
    driver = Driver(ur5, inertia_floor=0.02)
    velocities, width, last, seen = VelocityFilter(6), 2.0 * np.pi / 2**12, np.round(HOME, 9), []
    tick = driver.process.gate.tick
    driver.process.gate.tick = lambda terms, dt: seen.append(terms.v) or tick(terms, dt)  # type: ignore[method-assign]
    for k in range(300):
        q = np.round((HOME + 0.3 * (1.0 - np.cos(0.002 * k))) / width) * width
        v = (q - last) / 1e-3 if k else np.zeros(6)
        last = q
        driver.go_on(q=q, v=v)
        np.testing.assert_array_equal(seen[-1], velocities.filtered(q, v, 1e-3 if k else 0.0))
    assert driver.process.gate.describe_velocities() == "velocities come in steps of 1.5 rad/s: filtered, 32 ms"
    assert not driver.refused


def test_a_gate_that_hears_obstacles_brakes_where_one_is_too_near(ur5: RobotModel, tmp_path: Path):
    (tmp_path / "kept.yaml").write_text("constraints: [{name: people, kind: clearance, distance: 0.05}]")
    obstacles: list[Obstacle] = []
    driver = Driver(ur5, obstacles=lambda _: obstacles, constraints=str(tmp_path / "kept.yaml"))
    driver.go_on(20)
    assert driver.process.gate.state is GateState.PASSING
    obstacles.append(Obstacle(Sphere(0.1), Pose(np.eye(3), ur5.pose(HOME).p)))
    driver.go_on(2)
    assert driver.process.gate.reason.startswith("constraint 'people' (")
