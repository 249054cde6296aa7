"""Reading joint states: what becomes a measurement, and what is refused."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from arm_control.control import Measurement, resolve_parameters
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.messages import TIME_WENT_BACK, JointStateReader, Refused, Repeated
from arm_control.messages.joint_states import Reading
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.simulation import MujocoSimulator

INFO = {"source_timestamp": 0}


def message(names, position, velocity=(), stamp_ns: int = 0) -> SimpleNamespace:
    header = SimpleNamespace(stamp=SimpleNamespace(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9))
    return SimpleNamespace(header=header, name=list(names), position=list(position), velocity=list(velocity))


def test_a_message_without_joints_is_refused_first_and_later(ur5: RobotModel):
    reader, names = JointStateReader(ur5, 0.0), ur5.joint_names
    for stamp_ns in (0, 1, 2):
        reading = reader.read(message([], [], [], stamp_ns), INFO)
        assert isinstance(reading, Refused)
        assert "no position for joint shoulder_pan_joint" in str(reading.error)
    assert isinstance(reader.read(message(names, range(6), range(6), 3), INFO), Measurement)
    assert isinstance(reader.read(message([], [], [], 4), INFO), Refused)


def test_joints_are_matched_by_name_whenever_their_order_changes(ur5: RobotModel):
    reader, rng = JointStateReader(ur5, 0.0), np.random.default_rng(0)
    names = [*ur5.joint_names, "finger"]
    for k in range(20):
        order = rng.permutation(7)
        q, v = np.arange(7.0) + k, np.arange(7.0) - k
        reading = reader.read(message([names[i] for i in order], q[order], v[order], k), INFO)
        assert isinstance(reading, Measurement)
        np.testing.assert_array_equal(reading.q, q[:6])
        np.testing.assert_array_equal(reading.v, v[:6])
        assert reading.is_restart == (k == 0)


@pytest.mark.parametrize("field", ["position", "velocity"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_only_the_numbers_of_the_arm_must_be_finite(ur5: RobotModel, field: str, value: float):
    reader, names = JointStateReader(ur5, 0.0), [*ur5.joint_names, "finger"]
    for bad, expected in ((6, Measurement), (2, Refused)):
        values = {"position": np.zeros(7), "velocity": np.zeros(7)}
        values[field][bad] = value
        reading = reader.read(message(names, values["position"], values["velocity"], bad), INFO)
        if bad == 2:
            reading = reader.read(message(names, values["position"], values["velocity"], 7), INFO)
            assert f"{field} is not finite: {{'elbow_joint'" in str(reading.error)
        assert isinstance(reading, expected)


@pytest.mark.parametrize(("n_q", "n_v", "what"), [(5, 6, "5 position"), (7, 6, "7 position"), (6, 5, "5 velocity")])
def test_one_value_for_each_name_is_needed(ur5: RobotModel, n_q: int, n_v: int, what: str):
    reader = JointStateReader(ur5, 0.0)
    reading = reader.read(message(ur5.joint_names, np.zeros(n_q), np.zeros(n_v), 1), INFO)
    assert isinstance(reading, Refused)
    assert f"6 joint names with {what} values" in str(reading.error)


def test_finite_numbers_whose_sum_is_not_are_read_without_a_warning(ur5: RobotModel):
    reader, huge = JointStateReader(ur5, 0.0), np.full(6, 1e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reading = reader.read(message(ur5.joint_names, huge, -huge, 1), INFO)
    np.testing.assert_array_equal(reading.q, huge)


def test_a_repeated_stamp_an_older_one_and_a_new_run(ur5: RobotModel):
    reader, q = JointStateReader(ur5, 0.0), np.zeros(6)
    reader.read(message(ur5.joint_names, q, q, 5_000_000), INFO)
    second = reader.read(message(ur5.joint_names, q + 0.002, (), 7_000_000), INFO)
    np.testing.assert_allclose(second.v, (1.0 - np.exp(-0.002 / reader.LAG)) * np.ones(6))
    assert second.dt == 0.002
    assert reader.read(message(ur5.joint_names, q, q, 7_000_000), INFO) == Repeated(7_000_000)
    assert isinstance(reader.read(message(ur5.joint_names, q, q, 6_000_000), INFO), Refused)
    assert reader.read(message(ur5.joint_names, q, q, 0), INFO).is_restart


def test_a_stale_message_is_refused_and_says_how_old_it_is(ur5: RobotModel):
    reader = JointStateReader(ur5, 0.02, clock_ns=lambda: 5_020_000_000)
    state = message(ur5.joint_names, np.zeros(6), np.zeros(6), 1)
    reading = reader.read(state, {"source_timestamp": 4_999_900_000})
    assert isinstance(reading, Refused)
    assert str(reading.error) == "stale: written 20.1 ms ago, allowed 20.0 ms"
    assert (reading.is_fault, reading.doubt) == (False, 0)
    assert isinstance(reader.read(state, {"source_timestamp": 5_000_000_000}), Measurement)


@pytest.mark.parametrize(
    ("max_age", "written_ms", "age_ms"), [(0.02, None, 8), (0.02, 6, 6), (0.02, 10, 8), (0.02, -1, 0), (0.0, 6, 0)]
)
def test_a_state_that_brakes_is_as_old_as_the_middleware_says_but_no_older_than_it_is_late(
    ur5: RobotModel, max_age: float, written_ms: int | None, age_ms: int
):
    """In lock step, without a limit, it is of no age."""
    now_ns, q = 5_000_000_000, np.zeros(6)
    reader = JointStateReader(ur5, max_age, drives_arm=True, clock_ns=lambda: now_ns)

    def read(stamp_ns: int, source_ns: int | None) -> Reading:
        info = {"source_timestamp": source_ns, "received_timestamp": now_ns, "publisher_gid": {"data": b"a"}}
        return reader.read(message(ur5.joint_names, q, q, stamp_ns), info, is_braking=True)

    assert read(1_000_000_000, now_ns).age == 0.0
    now_ns += 9_000_000
    reading = read(1_001_000_000, None if written_ms is None else now_ns - 1_000_000 * written_ms)
    assert reading.age == pytest.approx(1e-3 * age_ms)


def test_without_a_limit_no_age_is_stale(ur5: RobotModel):
    state, info = message(ur5.joint_names, np.zeros(6), np.zeros(6)), {"source_timestamp": 0}
    assert isinstance(JointStateReader(ur5, 0.0, clock_ns=lambda: 10**18).read(state, info), Measurement)
    reading = JointStateReader(ur5, 0.5, clock_ns=lambda: 10**9).read(state, info)
    assert isinstance(reading, Refused)
    assert str(reading.error) == "stale: written 1000.0 ms ago, allowed 500.0 ms"


def test_the_twentieth_older_stamp_in_a_row_is_believed_as_a_fault(ur5: RobotModel):
    reader, q = JointStateReader(ur5, 0.0), np.zeros(6)

    def read(stamp_ns: int) -> Reading:
        return reader.read(message(ur5.joint_names, q, q, stamp_ns), INFO)

    assert read(1000).dt == 0.0
    for k in range(1, 20):
        assert isinstance(read(k), Refused)
    assert read(1001).fault == ""  # one that is newer: the count starts again
    for k in range(1, 20):
        assert isinstance(read(k), Refused)
    back = read(20)
    assert (back.fault, back.is_restart, back.dt) == (TIME_WENT_BACK, True, 0.0)
    for k in range(1, 20):
        assert isinstance(read(k), Refused)
    assert read(1002).fault == ""


@pytest.mark.parametrize(("stamps", "waits", "moved", "speed", "is_read"), [
    ([2.0], [0.001], 0.5, 3.0, False),  # ahead of the clock
    ([2.0], [0.001], 0.0, 0.0, True),
    ([2.0], [1.000], 0.5, 1.0, True),  # a gap
    ([1.3, 1.6], [0.6, 0.0], 0.3, 1.0, True),  # behind one that was late
    ([0.9] * 20, [0.001] * 20, 0.5, 3.0, False),  # back
    ([0.9] * 20, [0.001] * 20, 0.02, 1.0, True),
    ([0.0], [0.001], 0.5, 3.0, False),
    ([0.0], [0.001], 0.5, 0.0, False),  # as a simulation that is reset
    ([0.0], [0.001], 0.001, 1.0, True),
])  # fmt: skip
@pytest.mark.parametrize("is_live", [True, False])
def test_an_arm_moves_no_farther_than_in_the_time_of_the_clock(
    ur5: RobotModel, stamps: list, waits: list, moved: float, speed: float, *, is_read: bool, is_live: bool
):
    """In lock step, where no clock counts, only the bounds of a state alone are left behind stamps that went back."""
    reader = JointStateReader(ur5, 0.02 if is_live else 0.0, drives_arm=True)
    now = 5.0

    def read(stamp: float, q: float, v: float) -> Reading:
        info = {"source_timestamp": None, "received_timestamp": round(1e9 * now), "publisher_gid": {"data": b"a"}}
        state = message(ur5.joint_names, np.full(6, q), np.full(6, v), round(1e9 * stamp))
        return reader.read(state, info)

    start = speed if moved < 0.5 else 0.0  # of the states before
    for stamp in (0.999, 1.0):
        read(stamp, start * (stamp - 1.0), start)
        now += 0.001
    now -= 0.001
    for k, (stamp, wait) in enumerate(zip(stamps, waits, strict=True)):
        now += wait
        share = (k + 1) / len(stamps)
        reading = read(stamp, share * moved, speed)
    assert isinstance(reading, Measurement if is_read or not is_live else Refused)
    if isinstance(reading, Refused):
        assert reading.is_fault
        assert str(reading.error).startswith("not believed: position")


def test_a_new_run_has_no_fault_no_time_and_velocity_0_where_none_is_sent(ur5: RobotModel):
    reader = JointStateReader(ur5, 0.0)
    for stamp_ns in (0, 5_000_000, 0):
        reading = reader.read(message(ur5.joint_names, np.full(6, 0.5), (), stamp_ns), INFO)
    assert (reading.is_restart, reading.dt, reading.fault) == (True, 0.0, "")
    np.testing.assert_array_equal(reading.v, np.zeros(6))


def test_velocity_from_positions_is_their_difference_or_an_error(ur5: RobotModel):
    reader = JointStateReader(ur5, 0.0)
    huge = 1e300 * np.eye(6)[2]
    reader.read(message(ur5.joint_names, huge + 1.0, np.zeros(6), 0), INFO)
    reading = reader.read(message(ur5.joint_names, huge + 1.5, (), 10**9), INFO)
    np.testing.assert_allclose(np.delete(reading.v, 2), np.full(5, 0.5))
    reading = reader.read(message(ur5.joint_names, 3.0 * huge, (), 10**9 + 1), INFO)
    assert isinstance(reading, Refused)
    assert str(reading.error) == "position is absurd: it differs by 2e+300 from the last"


def test_velocity_from_a_coarse_encoder_is_no_train_of_impulses(ur5: RobotModel):
    """A step of 12 bits in a millisecond is 1.5 rad/s; behind the lag it is that of the motion, 0.7 rad/s."""
    reader, step, speed = JointStateReader(ur5, 0.0), 2 * np.pi / 2**12, 0.7
    vs = [
        read_plain(reader, ur5, step * np.round(speed * k * 1e-3 / step) * np.ones(6), k * 1_000_000).v[0]
        for k in range(300)
    ]
    assert np.abs(np.array(vs[100:]) - speed).max() < 0.15
    smooth = JointStateReader(ur5, 0.0)
    for k in range(300):
        v = read_plain(smooth, ur5, np.full(6, speed * k * 1e-3), k * 1_000_000).v
    np.testing.assert_allclose(v, speed, rtol=1e-9)


def test_no_velocity_is_left_of_the_time_before_a_restart(ur5: RobotModel):
    reader = JointStateReader(ur5, 0.0)
    for k in range(100):
        assert read_plain(reader, ur5, np.full(6, 0.7e-3 * k), k * 1_000_000).is_restart == (k == 0)
    restart = read_plain(reader, ur5, np.zeros(6), 0)
    assert restart.is_restart
    np.testing.assert_array_equal(restart.v, 0.0)


def test_an_arm_with_coarse_encoders_and_no_velocities_comes_to_its_target(ur5: RobotModel):
    q0, step, n = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0]), 2 * np.pi / 2**12, 2500
    loop = control_loop(ur5, resolve_parameters(OscLoopParameters, {}, ur5))
    X_WT = ur5.pose(q0 + 0.2)
    loop.controller.add(Target(0, "base_link", X_WT))
    reader, simulator = JointStateReader(ur5, 0.0), MujocoSimulator(ur5, q0)
    taus = np.zeros((n, 6))
    for k in range(n):
        taus[k] = loop.tick(read_plain(reader, ur5, step * np.round(simulator.q / step), k * 1_000_000)).gate.tau
        simulator.step(taus[k])
    assert np.linalg.norm(ur5.pose(simulator.q).p - X_WT.p) < 2e-3
    assert np.abs(taus).max() < 0.5 * ur5.tau_max.max()


def read_plain(reader: JointStateReader, model: RobotModel, q: np.ndarray, stamp_ns: int) -> Measurement:
    """Read a state without velocities."""
    reading = reader.read(message(model.joint_names, q, (), stamp_ns), INFO)
    assert isinstance(reading, Measurement)
    return reading


class Feed:
    """States of an arm that a gate drives, each a number of nanoseconds after the one before."""

    def __init__(self, model: RobotModel) -> None:
        self.model, self.stamp_ns = model, 0
        self.reader = JointStateReader(model, 0.0, drives_arm=True)
        for _ in range(5):
            assert isinstance(self.read(0.0), Measurement)

    def read(self, q: float, after_ns: int = 1_000_000, v: float = 0.0, gid: int = 1) -> Reading:
        self.stamp_ns += after_ns
        state = message(self.model.joint_names, np.full(6, q), np.full(6, v), self.stamp_ns)
        return self.reader.read(
            state, {"received_timestamp": 10**10 + self.stamp_ns, "publisher_gid": {"data": bytes([gid])}}
        )

    def doubted(self, q: float, after_ns: int = 1_000_000, v: float = 0.0) -> int:
        """Read states until one is believed; return how many were not."""
        reason = ""
        for n in range(200):
            reading = self.read(q, after_ns, v)
            if isinstance(reading, Measurement):
                assert reading.fault == f"the state has jumped ({reason})"
                assert self.read(q, after_ns, v).fault == ""
                return n
            assert reading.is_fault
            reason = reason or str(reading.error)
            assert str(reading.error) == reason
            assert reason.startswith("not believed: position has jumped")
        raise AssertionError("never believed")


@pytest.mark.parametrize(("after_ns", "n"), [(1_000_000, 100), (10_000_000, 19)])
def test_states_after_a_jump_are_believed_after_twenty_of_them_and_a_tenth_of_a_second(
    ur5: RobotModel, after_ns: int, n: int
):
    feed = Feed(ur5)
    assert feed.doubted(0.5, after_ns) == n
    assert feed.doubted(0.0) == 100  # and again, not sooner


def test_the_tenth_of_a_second_is_counted_to_two_nanoseconds(ur5: RobotModel):
    """It is a sum of intervals, so the last of its digits counts for nothing."""
    feed = Feed(ur5)
    readings = [feed.read(0.5, after_ns) for after_ns in (1_000_000, *[5_000_000] * 19, 4_999_998, 2)]
    assert [isinstance(reading, Measurement) for reading in readings] == [False] * 21 + [True]


@pytest.mark.parametrize(("q", "after_ns"), [(0.6, 1_000_000), (0.5, 0), (0.5, -1_000_000)])
def test_what_does_not_follow_from_the_states_after_a_jump_starts_the_count_again(
    ur5: RobotModel, q: float, after_ns: int
):
    feed, v = Feed(ur5), 0.02
    for _ in range(50):
        assert isinstance(feed.read(0.5, v=v), Refused)
    assert feed.read(q, after_ns, v).is_fault
    assert feed.doubted(0.5, v=v) == 100


def test_another_publisher_may_take_over_after_more_than_a_second_or_when_released(ur5: RobotModel):
    feed = Feed(ur5)
    reading = feed.read(0.0, 10**9, gid=2)
    assert isinstance(reading, Refused)
    assert "second publisher of joint states" in str(reading.error)
    assert not reading.is_fault
    assert isinstance(feed.read(0.0, 1, gid=2), Measurement)
    assert isinstance(feed.read(0.0, gid=1), Refused)
    feed.reader.release()
    assert isinstance(feed.read(0.0, gid=1), Measurement)
