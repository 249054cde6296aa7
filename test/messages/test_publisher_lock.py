"""The lock on a command topic and the count of what was refused, with a clock of the test's own."""

import math
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from std_srvs.srv import Trigger

from arm_control.exceptions import FrameNotFound, InputError, cause_of
from arm_control.messages import (
    ONLY_PUBLISHER,
    UNKNOWN_PUBLISHER,
    JointStateReader,
    PublisherLock,
    Rejections,
    brake_reason,
    publisher_of,
)
from arm_control.messages.joint_states import Measurement
from arm_control.model import RobotModel
from arm_control.nodes import MonitorNode, PlantNode, ros

FIRST, SECOND = ({"publisher_gid": {"data": [number] * 16}} for number in (1, 2))


def test_a_second_publisher_is_refused_until_the_first_is_silent():
    now = [0.0]
    lock = PublisherLock(silence=1.0, clock=lambda: now[0])
    assert not lock.held
    lock.check(SECOND)  # nobody owns it yet
    lock.take(FIRST)
    for now[0] in (0.9, 1.8):
        with pytest.raises(InputError, match=r"^second publisher on the topic: 0202"):
            lock.check(SECOND)
        lock.check(FIRST)
        lock.take(FIRST)
    assert lock.held
    now[0] = 2.81
    assert not lock.held
    lock.check(SECOND)
    lock.take(SECOND)
    with pytest.raises(InputError):
        lock.check(FIRST)


@pytest.mark.parametrize(
    ("options", "seconds", "is_held"), [({}, 1.0, True), ({}, 1.001, False), ({"silence": math.inf}, 1e9, True)]
)
def test_an_owner_may_be_silent_for_a_second_and_in_lock_step_for_ever(options: dict, seconds: float, is_held: bool):
    now = [5.0]
    lock = PublisherLock(clock=lambda: now[0], **options)
    lock.take(FIRST)
    now[0] += seconds
    assert lock.held == is_held
    with pytest.raises(InputError) if is_held else nullcontext():
        lock.check(SECOND)


def test_a_released_lock_is_free_at_once():
    lock = PublisherLock()
    lock.take(FIRST)
    with pytest.raises(InputError):
        lock.check(SECOND)
    lock.release()
    lock.check(SECOND)


def test_one_of_several_publishers_that_cannot_be_told_apart_is_refused_and_the_only_one_is_obeyed(ur5: RobotModel):
    """Releases of ROS before Kilted give no GID."""
    lock, several = PublisherLock(), {"publisher_gid": UNKNOWN_PUBLISHER, "received_timestamp": 0}
    with pytest.raises(InputError, match=r"^several publishers on the topic"):
        lock.check(several)
    assert not lock.held
    reader = JointStateReader(ur5, 0.0, drives_arm=True)
    message = ros.joint_state(ur5.joint_names, 1, position=np.zeros(6), velocity=np.zeros(6))
    assert "several publishers on the topic" in str(reader.read(message, several).error)
    only = {"publisher_gid": ONLY_PUBLISHER, "received_timestamp": 0}
    lock.check(only)
    lock.take(only)
    with pytest.raises(InputError, match=r"^several publishers"):
        lock.check(several)
    assert isinstance(reader.read(message, only), Measurement)


class Refused:
    """Rejections with the lines they logged, and a clock."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 0.0
        logger = SimpleNamespace(warning=self.lines.append)
        self.rejections = Rejections(logger, clock=lambda: self.now)


def test_a_cause_that_lasts_has_fewer_and_fewer_lines():
    refused, times = Refused(), []
    for refused.now in range(400):
        n = len(refused.lines)
        refused.rejections.add("what", InputError("no"))
        times += [refused.now] * (len(refused.lines) - n)
    assert np.diff(times).tolist() == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]


def test_a_thousand_stamps_of_a_second_publisher_are_one_cause_and_two_lines(ur5: RobotModel):
    reader, refused = JointStateReader(ur5, 0.0), Refused()
    reader.PATIENCE = 10_000
    reader.read(ros.joint_state(ur5.joint_names, 2_501_000_000, position=np.zeros(6)), {"source_timestamp": 0})
    for k in range(1, 1001):
        refused.now = 0.0025 * k
        message = ros.joint_state(ur5.joint_names, 2_500_000 * k % 2_500_000_000 + 1, position=np.zeros(6))
        refused.rejections.add("joint_states", reader.read(message, {"source_timestamp": 0}).error)
    assert refused.rejections.figures() == {"refused joint_states: out of order": 1000}
    assert [line.rpartition("(")[2] for line in refused.lines] == ["1 so far)", "401 so far)"]
    assert refused.lines[0].startswith(
        "joint_states refused: out of order: stamp 0.003 s is older than the last, 2.501 s; the plant has started over"
    )


@pytest.mark.parametrize(
    ("last", "stamp", "cause"),
    [(2.5, 0.099, "the plant has started over"), (2.5, 0.1, "two publishers?"), (0.099, 0.05, "two publishers?")],
)
def test_the_first_stamps_behind_later_ones_are_a_plant_that_has_started_over(
    last: float, stamp: float, cause: str, ur5: RobotModel
):
    reader = JointStateReader(ur5, 0.0)
    for t in (last, stamp):
        message = ros.joint_state(ur5.joint_names, round(t * 1e9), position=np.zeros(6))
        reading = reader.read(message, {"source_timestamp": 0})
    assert str(reading.error) == f"out of order: stamp {stamp:.3f} s is older than the last, {last:.3f} s; {cause}"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("stamp 0.025 s is older than the last, -2.5e-03 s (4)", "stamp # s is older than the last, # s (#)"),
        ("position [nan, 0.25, -inf] is not finite", "position [#, #, #] is not finite"),
        ("no value for joint shoulder_1, ur5.joint3 or 2nd: 0.5", "no value for joint shoulder_1, ur5.joint3 or 2nd"),
        ("effort has shape (5,), allowed (6,)", "effort has shape (#,), allowed (#,)"),
    ],
)
def test_a_cause_has_names_and_no_numbers(text: str, cause: str):
    assert cause_of(InputError(text)) == cause


def test_there_is_an_end_to_causes():
    """Names come from outside: whoever sends a new one each time fills neither memory nor log."""
    refused = Refused()
    for k in range(1000):
        refused.rejections.add("target_pose", InputError(f"unknown frame 'a{k}'"))
    counts = refused.rejections.counts
    assert len(refused.lines) == len(counts) == 33
    assert counts["for other causes"] == 1000 - 32
    refused.rejections.add("target_pose", InputError("unknown frame 'a0'"))
    assert counts["target_pose: unknown frame 'a0'"] == 2


def test_a_run_keeps_the_targets_that_make_sense_and_counts_the_others(ur5: RobotModel):
    """No node followed one without a rotation, and the report is not lost by it."""
    good, bad = (ros.pose_stamped(ur5.pose(np.zeros(6)), "base_link", 7) for _ in range(2))
    bad.pose.orientation.w = bad.pose.orientation.x = bad.pose.orientation.y = bad.pose.orientation.z = 0.0
    monitor = SimpleNamespace(left_out=Counter(), _target_messages={6: bad, 7: good})
    (target,) = MonitorNode._targets(monitor, ur5)  # type: ignore[arg-type]
    assert target.stamp_ns == 7
    ((cause, count),) = monitor.left_out.items()
    assert cause.startswith("target_pose: ")
    assert count == 1


@pytest.mark.parametrize(
    ("failure", "message"), [("", "at 1.000 s"), ("stopped: it fell apart", "stopped: it fell apart")]
)
def test_a_step_that_failed_is_not_called_done(failure: str, message: str):
    arm = SimpleNamespace(ready=True, paused=True, failure="", stamp_ns=1_000_000_000)
    arm.advance = lambda: setattr(arm, "failure", failure)
    answer = PlantNode._on_step(arm, None, Trigger.Response())  # type: ignore[arg-type]
    assert (answer.success, answer.message) == (not failure, message)


def test_control_characters_do_not_reach_the_log():
    refused = Refused()
    refused.rejections.add("joint_states", FrameNotFound("\x1b[2J\n\u202e" + "x" * 10_000, ["base"]))
    refused.rejections.add("joint_states", InputError("\x9b31m: no such joint"))
    texts = [*refused.lines, *map(str, refused.rejections.counts)]
    assert len(texts) == 4
    assert all(text.isprintable() and len(text) < 1200 for text in texts)
    message = SimpleNamespace(header=SimpleNamespace(frame_id="braked: \x1b[2J" + "x" * 10_000))
    assert brake_reason(message).startswith("\\x1b[2J")
    assert len(brake_reason(message)) < 520


def test_a_cause_and_its_line_have_an_end():
    refused = Refused()
    refused.rejections.add("what", InputError("x" * 5000))
    assert [len(cause) for cause in refused.rejections.counts] == [1000]
    assert refused.lines == [f"what refused: {'x' * 1000} (1 so far)"]


def test_the_only_publisher_has_a_gid_of_the_usual_length():
    assert len(publisher_of({"publisher_gid": ONLY_PUBLISHER})) == 16
