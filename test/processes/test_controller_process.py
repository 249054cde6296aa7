"""The controller's process without a gate behind it: what its driver gets where states must not be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.bags import plain
from arm_control.control import Measurement
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.controllers.guide import GuideLoopParameters
from arm_control.maths import Array
from arm_control.messages import braked_frame
from arm_control.processes import ControllerProcess
from arm_control.processes.controller_process import AnsweredStates, ControllerAnswer

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1_000_000
MAX_MISSED = 20


class Driver:
    """Sends a state each millisecond, of an arm that turns slowly."""

    def __init__(self, model: RobotModel) -> None:
        parameters = OscLoopParameters.from_mapping({"posture": HOME.tolist(), "max_missed": MAX_MISSED})
        self.loop = control_loop(model, parameters, waits_for_commands=False)
        self.process = ControllerProcess(model, self.loop, 0.02, lambda: self.now_ns)
        self.model, self.now_ns = model, 0

    def send(self, n: int, change: Callable[[Any], None] = lambda message: None) -> list[ControllerAnswer]:
        return [self._send_one(change) for _ in range(n)]

    def _send_one(self, change: Callable[[Any], None]) -> ControllerAnswer:
        self.now_ns += MS
        v = np.full(6, 0.05)
        q = HOME + v * self.now_ns * 1e-9
        message = plain.joint_state(self.model.joint_names, self.now_ns, position=q, velocity=v)
        change(message)
        times = {"source_timestamp": self.now_ns, "received_timestamp": self.now_ns}
        return self.process.on_state(message, {**times, "publisher_gid": {"data": b"1" * 16}})


def lose_a_number(message: Any) -> None:
    message.position[1] = np.nan


def stand_still(message: Any) -> None:
    message.header.stamp.sec, message.header.stamp.nanosec = 0, 50 * MS


def torque(answer: ControllerAnswer) -> Array:
    assert answer.command is not None
    return answer.command.tau


@pytest.mark.parametrize("change", [lose_a_number, stand_still])
def test_after_so_many_states_that_must_not_be_used_it_sends_marked_torque_that_brakes(
    ur5: RobotModel, change: Callable[[Any], None]
):
    driver = Driver(ur5)
    *_, last = driver.send(50)
    assert last.command is not None
    assert last.command.frame_id == ""
    before = driver.send(MAX_MISSED - 1, change)
    assert not [answer for answer in before if answer.command is not None and answer.command.frame_id]
    assert not driver.loop.gate.is_braked
    answers = driver.send(500, change)
    assert driver.loop.gate.is_braked
    assert all(answer.command is not None and "in a row were refused" in answer.command.frame_id for answer in answers)
    taus = np.array([torque(last), *map(torque, answers)])
    assert np.abs(np.diff(taus, axis=0)).max(axis=1)[1:].max() <= 1.0 + 1e-9
    prediction = driver.process.blind._memory.prediction
    assert np.abs(prediction.v).max() < 1e-3, "it is brought to rest"
    np.testing.assert_allclose(taus[-1], ur5.gravity(prediction.q), rtol=0, atol=0.1)


# -- each rule by itself, on an arm with two joints whose law carries it -------------------------------

START = 7_000 * MS
ARM = "arm"


class Arm:
    """A double pendulum that is guided; says when a state comes, what it says, and what the loop was given."""

    def __init__(self, max_age: float = 0.02, **values: Any) -> None:
        self.model = RobotModel.from_urdf(urdf_path("planar2"), gravity=(0.0, -9.81, 0.0))
        parameters = GuideLoopParameters.from_mapping({"max_missed": 3, "joint_limits": False, **values})
        self.loop = control_loop(self.model, parameters, waits_for_commands=max_age == 0.0)
        self.gate, self.now_ns = self.loop.gate, START
        self.process = ControllerProcess(self.model, self.loop, max_age, lambda: self.now_ns)
        self.ticks: list[tuple[Measurement, Any]] = []
        self.elapsed: list[float] = []
        tick = self.loop.tick

        def spied(measurement: Measurement, obstacles: Any) -> Any:
            self.ticks.append((measurement, obstacles))
            self.elapsed.append(self.gate.elapsed)
            return tick(measurement, obstacles)

        self.loop.tick = spied  # type: ignore[method-assign]
        self.blind_ticks: list[tuple[int, float, int]] = []
        blind_tick = self.blind.tick

        def spied_blind(now: int, dt: float, doubt: int) -> Any:
            """Note when it brakes without a state, for how long, and how old doubted states are."""
            self.blind_ticks.append((now, dt, doubt))
            return blind_tick(now, dt, doubt)

        self.blind.tick = spied_blind

    def state(
        self,
        q: Any = (0.5, 0.5),
        v: Any = (0.0, 0.0),
        wait: int = MS,
        age: int = 0,
        stamp: int | None = None,
        sender: str = ARM,
        **more: Any,
    ) -> ControllerAnswer:
        """Send a state after ``wait`` [ns], written ``age`` [ns] ago."""
        self.now_ns += wait
        stamp = self.now_ns - age if stamp is None else stamp
        message = plain.joint_state(self.model.joint_names, stamp, position=np.array(q), velocity=np.array(v))
        info = {"source_timestamp": self.now_ns - age, "received_timestamp": self.now_ns}
        return self.process.on_state(message, {**info, "publisher_gid": {"data": sender.encode()}}, **more)

    def wrong(self, **more: Any) -> ControllerAnswer:
        """Send a state that is no number: refused, and no fault of the measurement."""
        return self.state(q=(np.nan, 0.0), **more)

    @property
    def blind(self) -> Any:
        return self.process.blind


def frame(answer: ControllerAnswer) -> str:
    assert answer.command is not None
    return answer.command.frame_id.removeprefix(braked_frame(""))


def test_a_good_state_is_answered_by_the_loop():
    arm = Arm()
    for k in range(3):
        answer = arm.state()
        assert (arm.process.last is answer.result, answer.refused) == (True, None)
        assert answer.result is not None
        assert answer.command is not None
        assert (answer.command.stamp_ns, answer.command.frame_id) == (arm.now_ns, "")
        assert answer.command.tau is answer.result.gate.tau
        assert arm.ticks[-1][1] == ()
        assert len(arm.ticks) == k + 1
    asked: list[Measurement] = []
    arm.state(obstacles=lambda measurement: asked.append(measurement) or ["one"])
    assert arm.ticks[-1][1] == ["one"]
    assert asked == [arm.ticks[-1][0]]


WRONG, OTHER, LATE, AGAIN = {"q": (np.nan, 0.0)}, {"sender": "other"}, {"age": 30 * MS}, {"stamp": START + MS}
SLOW = LATE | {"stamp": START + 2 * MS}
NO_NUMBER = "position is not finite: {'joint0': nan}"
SECOND = "second publisher of joint states: 6f74686572"
STALE = "stale: written 30.0 ms ago, allowed 20.0 ms"
TWICE = "repeated: stamp 7.001 s"
THREE = "3 states in a row were refused, the last one: "
Row = tuple[dict[str, Any], str | None, str, bool]
"""A state, the mark of its command (None: there is none), why it is refused, and whether the loop uses it."""
USED: Row = ({}, "", "", True)
DROPPED: Row = (WRONG, None, NO_NUMBER, False)
FOREIGN: Row = (OTHER, None, SECOND, False)
REPEATED: Row = (AGAIN, "", "", False)
STORIES: dict[str, tuple[float, list[Row]]] = {
    "before the first good state all others are only refused":
        (0.02, [DROPPED] * 10 + [(LATE, None, STALE, False)] * 5),
    "the last of so many brakes, and a good one between them begins the count anew":
        (0.02, [USED, DROPPED, DROPPED] * 2 + [(WRONG, THREE + NO_NUMBER, NO_NUMBER, False)]),
    "a repeated state has the same answer until so many are missing":
        (0.02, [USED, REPEATED, REPEATED, (AGAIN, THREE + TWICE, TWICE, False)]),
    "repeated and refused ones count together":
        (0.02, [USED, DROPPED, REPEATED, (WRONG, THREE + NO_NUMBER, NO_NUMBER, False)]),
    "those of another publisher are not missing ones":
        (0.02, [USED, *[FOREIGN] * 10, DROPPED]),
    "where only another publisher is heard they are missing":
        (0.02, [USED] * 2 + [FOREIGN] * 22 + [(OTHER, THREE + SECOND, SECOND, False)]),
    "but in lock step":
        (0.0, [USED] * 2 + [FOREIGN] * 23),
    "a late one is refused":
        (0.02, [USED, (SLOW | {"wait": 20 * MS}, None, STALE, False)]),
    "behind silence it brakes and is used":
        (0.02, [USED, (SLOW | {"wait": 20 * MS + 1}, f"no state for 20 ms, then one that is {STALE}", "", True)]),
    "silence is longer than the age that is allowed":
        (0.05, [USED, ({"wait": 30 * MS, "age": 60 * MS}, None, "stale: written 60.0 ms ago, allowed 50.0 ms", False)]),
    "behind silence a late one counts where others were refused, and a brake can use it":
        (0.02, [USED, DROPPED, (LATE | {"wait": 30 * MS}, None, STALE, False), (LATE, THREE + STALE, "", True)]),
}  # fmt: skip


@pytest.mark.parametrize(("max_age", "rows"), STORIES.values(), ids=STORIES)
def test_which_states_are_used_which_are_refused_and_which_brake(max_age: float, rows: list[Row]):
    arm, last, is_known = Arm(max_age), None, False
    for state, mark, refused, is_used in rows:
        answer = arm.state(**state)
        assert (str(answer.refused or ""), answer.result is not None) == (refused, is_used)
        stamp_ns = state.get("stamp", arm.now_ns - state.get("age", 0))
        sent = None if answer.command is None else (frame(answer), answer.command.stamp_ns)
        assert sent == (None if mark is None else (mark, stamp_ns))
        assert (arm.gate.is_braked, arm.blind.is_blind) == (bool(mark), bool(mark) and not is_used)
        assert (answer.command is not None and answer.command is last) == (mark == "" and not is_used), "repeated"
        last, is_known = answer.command or last, is_known or is_used
        assert (arm.process.last is not None) == is_known


def test_another_model_may_be_taken_before_the_first_state_and_of_a_braked_arm_at_rest():
    arm = Arm()
    assert arm.process.may_take_model
    arm.state()
    assert not arm.process.may_take_model, "the gate passes"
    arm.gate.brake("test")
    arm.state(v=(0.5, 0.5))
    assert not arm.process.may_take_model, "it moves"
    arm.state(v=(0.0, 0.0))
    assert arm.process.may_take_model


@pytest.mark.parametrize("max_age", [0.02, 0.0])
def test_a_robot_with_other_joints_is_taken_once_the_states_of_this_one_have_stopped(max_age: float, ur5: RobotModel):
    arm = Arm(max_age)
    same = RobotModel.from_urdf(arm.model.urdf.text)
    assert arm.process.may_take(ur5)
    arm.state()
    assert not arm.process.may_take(same), "the gate passes"
    arm.gate.brake("test")
    arm.state()
    assert arm.process.may_take(same)
    assert arm.process.may_take(ur5) == (max_age == 0.0)
    arm.now_ns += 1000 * MS
    assert arm.process.may_take(ur5) == (max_age == 0.0)
    arm.now_ns += 1
    assert arm.process.may_take(ur5)


def test_after_a_release_whoever_publishes_next_may():
    arm = Arm()
    for sender in (ARM, "other"):
        assert arm.state(sender=sender).result is not None
        arm.process.release()


def test_a_measurement_that_is_wrong_brakes_at_once_and_the_states_in_doubt_are_not_trusted():
    arm = Arm()
    arm.state()
    for k in range(30):
        arm.state(q=0.5 + 0.001 * k * np.ones(2), v=np.ones(2))
    answer = arm.state(q=(2.0, 2.0))
    assert arm.gate.is_braked
    assert frame(answer) == str(answer.refused) == arm.gate.reason
    assert arm.blind.is_blind
    # A jump is wrong alone: the state before is the one from which it is predicted.
    np.testing.assert_allclose(arm.blind._memory.prediction.q, 0.529 + 0.001, rtol=0, atol=2e-4)


def test_frozen_states_are_in_doubt_from_the_first_of_them_on():
    arm, answer = Arm(), ControllerAnswer()
    for k in range(40):
        arm.state(q=0.5 + 0.001 * k * np.ones(2), v=np.ones(2))
    while not arm.gate.is_braked:
        answer = arm.state(q=0.539 * np.ones(2), v=np.ones(2))
    assert answer.command is not None
    ((_, _, doubt),) = arm.blind_ticks
    assert 5 * MS < doubt <= 25 * MS


def test_in_lock_step_a_refused_state_has_the_last_torque_and_brakes_only_where_the_measurement_is_wrong():
    arm = Arm(max_age=0.0)
    last = arm.state()
    for k in range(10):
        answer = arm.wrong(wait=100 * MS)
        assert (torque(answer) is torque(last), frame(answer)) == (True, str(answer.refused))
        assert answer.command is not None
        assert answer.command.stamp_ns == arm.now_ns
        assert not arm.gate.is_braked, k
    for _ in range(10):
        answer = arm.state(stamp=START + MS)
        assert (answer.command, arm.gate.is_braked) == (last.command, False), "repeated"
    answer = arm.state(q=(3.0, 3.0), stamp=START + 2 * MS)
    assert (torque(answer) is torque(last), arm.gate.is_braked, arm.blind.is_blind) == (True, True, False)
    answer = arm.state(stamp=START + MS)
    assert (torque(answer) is torque(last), frame(answer)) == (True, arm.gate.reason), "braked since: marked"
    assert arm.state(stamp=START + MS).command is answer.command


def test_behind_a_gap_lock_step_believes_the_stamps():
    arm = Arm(max_age=0.0)
    for wait in (MS, MS, MS, 50 * MS):
        arm.state(wait=wait)
    assert arm.elapsed == [np.inf] * 4


def test_a_state_that_is_repeated_after_a_brake_is_answered_with_its_torque_once():
    arm = Arm(max_missed=10)
    last = arm.state(v=(0.3, 0.3))
    arm.gate.brake("test")
    answers = [arm.state(stamp=START + MS) for _ in range(3)]
    assert [frame(answer) for answer in answers] == ["test"] * 3
    assert not np.array_equal(torque(answers[0]), torque(last))
    assert answers[0].command is answers[1].command is answers[2].command
    assert answers[0].command is not None
    assert answers[0].command.stamp_ns == START + MS


def test_a_state_that_is_repeated_at_once_is_trusted():
    arm = Arm()
    arm.state(q=(0.1, 0.1))
    arm.state(q=(0.101, 0.101))
    arm.gate.brake("test")
    arm.state(wait=0, stamp=START + 2 * MS)
    np.testing.assert_allclose(arm.blind._memory.prediction.q, 0.101, rtol=0, atol=1e-9)


@pytest.mark.parametrize("wait", [MS, MS // 4, 0, -5 * MS])
@pytest.mark.parametrize("stamp", [MS, 1000, 50 * MS, -START - 4 * MS], ids=["usual", "near", "gap", "restart"])
def test_a_state_counts_for_no_more_than_the_time_since_the_last_torque_by_the_clock(wait: int, stamp: int):
    arm = Arm(max_missed=100)
    for _ in range(4):
        arm.state()
    arm.state(wait=wait, stamp=START + 4 * MS + stamp)
    assert arm.elapsed[1:] == [1e-3] * 3 + [wait / 1e9]


@pytest.mark.parametrize("wait", [MS // 4, 0, -MS])
def test_behind_a_prediction_a_state_counts_for_the_time_since_the_last_torque(wait: int):
    arm = Arm()
    arm.state(v=(0.3, 0.3))
    for _ in range(3):
        arm.wrong()
    assert arm.blind.is_blind
    arm.state(wait=wait, stamp=arm.now_ns + MS)
    assert (arm.elapsed[1:], arm.blind.is_blind) == ([wait / 1e9], False)


def test_the_torque_of_a_brake_without_states_counts_from_the_torque_before():
    arm = Arm()
    arm.state()
    for wait in (1, 2, 3, 4):
        arm.wrong(wait=wait * MS)
    assert [tick[:2] for tick in arm.blind_ticks] == [(START + 7 * MS, 6e-3), (START + 11 * MS, 4e-3)]


def test_a_braked_arm_is_seen_where_it_is_now():
    arm = Arm()
    for k in range(5):
        arm.state(q=0.5 + 0.001 * k * np.ones(2), v=np.ones(2))
    arm.gate.brake("test")
    late = 0.505 * np.ones(2)
    arm.state(q=late, v=np.ones(2))
    assert np.array_equal(arm.ticks[-1][0].q, late), "in time"
    arm.state(q=late + 1e-3, v=np.ones(2), wait=9 * MS, age=8 * MS, stamp=START + 7 * MS)
    measurement = arm.ticks[-1][0]
    assert measurement.age == pytest.approx(8e-3)
    assert (measurement.q > late + 5e-3).all(), "by 8 ms at 1 rad/s, braked"


def test_a_process_goes_on_behind_states_that_were_answered_elsewhere():
    first, arm = Arm(), Arm()
    for _ in range(3):
        answer, _ = first.state(), arm.state(sender=ARM)
    result = answer.result
    assert result is not None
    later = result._replace(measurement=result.measurement._replace(stamp_ns=START + 4 * MS))
    first.state(q=0.51 * np.ones(2))
    bounds, own = first.process.reader.bounds, arm.process.reader.bounds
    assert bounds is not None
    assert own is not None
    n_noted = arm.blind.moments.counts[1]
    arm.wrong()
    arm.process.resume(AnsweredStates(1, later, bounds.memory, START + 5 * MS, 123))
    assert (arm.process.last, arm.blind.moments.counts[1], arm.process.reader.least_delay_ns) == (later, n_noted, 123)
    np.testing.assert_array_equal(own.memory.believed.q, bounds.memory.believed.q)
    for _ in range(2):  # the count of missing states begins anew
        assert torque(arm.state(wait=0, stamp=START + 4 * MS)) is result.gate.tau
    assert not arm.gate.is_braked
    arm.now_ns = START + 8 * MS
    arm.wrong(wait=0)
    assert [dt for _, dt, _ in arm.blind_ticks] == [3e-3]


def test_states_are_noted_for_a_brake_but_in_lock_step():
    for max_age, n_noted, longest_step in ((0.02, 3, 0.02), (0.05, 3, 0.05), (0.0, 0, 0.02)):
        arm = Arm(max_age=max_age)
        for _ in range(3):
            arm.state()
        moments = arm.blind.moments
        assert (moments.counts[1], arm.blind._memory.longest_step) == (n_noted, longest_step)
        if n_noted:
            np.testing.assert_array_equal(moments.at[1:4], START + MS * np.arange(1, 4))
            np.testing.assert_array_equal(moments.q[2:8], 0.5)
            np.testing.assert_array_equal(moments.tau[2:4], arm.process.last.gate.tau)
