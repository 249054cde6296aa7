"""The lock on a command topic, with a clock of the test's own."""

import math

import pytest

from arm_control.exceptions import InputError
from arm_control.nodes.states import PublisherLock

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


def test_in_lock_step_silence_frees_nobody():
    now = [0.0]
    lock = PublisherLock(silence=math.inf, clock=lambda: now[0])
    lock.take(FIRST)
    now[0] = 1e9
    with pytest.raises(InputError):
        lock.check(SECOND)


def test_a_released_lock_is_free_at_once():
    lock = PublisherLock()
    lock.take(FIRST)
    with pytest.raises(InputError):
        lock.check(SECOND)
    lock.release()
    lock.check(SECOND)


def test_where_publishers_cannot_be_told_apart_nobody_is_obeyed():
    """An rclpy of before June 2025."""
    lock = PublisherLock()
    with pytest.raises(InputError, match=r"^this rclpy does not tell publishers apart"):
        lock.check({"source_timestamp": 1})
    assert not lock.held
