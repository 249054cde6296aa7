"""The order in which targets take effect."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Pose
from arm_control.motion import FARTHEST, GoalQueue, Reference, Target, check_distance

HERE = Pose(np.eye(3), np.zeros(3))


def target(stamp_ns: int, frame: str = "base") -> Target:
    return Target(stamp_ns, frame, HERE)


def queue_of(*stamps: int, capacity: int = 100) -> GoalQueue:
    queue = GoalQueue(capacity)
    for stamp in stamps:
        queue.add(target(stamp))
    return queue


def active(queue: GoalQueue, now_ns: int) -> int | None:
    found = queue.active(now_ns)
    return None if found is None else found.stamp_ns


def test_the_newest_that_is_due_is_active_whatever_the_order_of_arrival():
    queue = queue_of(30, 10, 20)
    assert [active(queue, now) for now in (9, 10, 19, 20, 29, 30, 1000)] == [None, 10, 10, 20, 20, 30, 30]


def test_targets_take_effect_again_when_time_starts_over():
    queue = queue_of(10, 20)
    assert [active(queue, now) for now in (25, 12, 0, 12, 25)] == [20, 10, None, 10, 20]


def test_ended_targets_do_not_act_until_time_starts_over():
    queue = queue_of(10, 20, 30)
    for _ in range(2):
        queue.end(20)
        assert [active(queue, now) for now in (10, 20, 29, 30, 31)] == [None, None, None, 30, 30]
    queue.end(15)
    assert active(queue, 20) is None, "what is ended stays so"
    queue.add(target(19))
    assert active(queue, 20) is None
    queue.add(target(20, "tool"))
    assert queue.active(20).frame == "tool", "a new target for the newest state"
    assert active(queue, 19) is None
    queue.end(20)
    assert active(queue, 20) is None
    queue.restart()
    assert [active(queue, now) for now in (10, 19, 20)] == [10, 19, 20]


@pytest.mark.parametrize("looks", [(100,), range(0, 100, 7)])
def test_what_goes_on_behind_the_end_is_ended_too_until_a_pause(looks: Iterable[int]):
    queue = queue_of(5, 15, 25, 35, 46, 50, 90)
    for now in looks:
        queue.end_stream(now, 10)
    assert active(queue, 15) == 15, "nothing has been ended"
    queue.end(20)
    for now in looks:
        queue.end_stream(now, 10)
    assert [active(queue, now) for now in (25, 35, 46, 50, 90)] == [None, None, 46, 50, 90]
    queue.end(60)
    queue.end_stream(85, 30)
    assert active(queue, 90) == 90, "later than the state"
    queue.end_stream(90, 30)
    assert active(queue, 90) is None
    queue.end(100)
    queue.restart()
    queue.add(target(101))
    queue.end_stream(101, 30)
    assert active(queue, 101) == 101


def test_the_oldest_targets_are_dropped_beyond_the_capacity():
    queue = queue_of(10, 20, 30, 40, capacity=2)
    assert len(queue) == 2
    assert active(queue, 29) is None
    assert [active(queue, now) for now in (30, 40)] == [30, 40]


@pytest.mark.parametrize("distance", [1e6, np.nan])
def test_a_goal_out_of_this_world_is_refused(distance: float):
    check_distance(np.nextafter(FARTHEST, 0.0), "it")
    with pytest.raises(InputError, match=r"it is .* m away; allowed: less than 1e\+06 m"):
        check_distance(distance, "it")


# -- what a reference and a pose are made of -------------------------------------------------------------


def test_a_reference_is_made_of_a_matrix_or_of_position_and_quaternion():
    X = Pose.at([0.4, 0.2, 0.1], [1, 0, 0, 1])
    assert X.R[2].tolist() == pytest.approx([0.0, 1.0, 0.0])
    for made in (Reference(X), Reference(X.matrix()), Reference.at([0.4, 0.2, 0.1], [2, 0, 0, 2])):
        np.testing.assert_allclose(made.X_WT.matrix(), X.matrix(), atol=1e-15)
        assert made.V_des.tolist() == [0.0] * 6
    np.testing.assert_allclose(eval(repr(X)).matrix(), X.matrix(), atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Reference(np.eye(3)), r"pose has shape \(3, 3\); allowed: \(4, 4\), or Pose.at"),
        (lambda: Reference(np.diag([1.0, 1.0, -1.0, 1.0])), "is not a rotation and a translation"),
        (lambda: Reference("here"), "pose 'here' is not an array of numbers"),
        (lambda: Reference(Pose(np.eye(4), np.zeros(3))), r"have the shapes \(\(4, 4\), \(3,\), "),
        (lambda: Reference(HERE, V_des=np.zeros(3)), r"have the shapes \(\(3, 3\), \(3,\), \(3,\), "),
        (lambda: Reference.at([1.0, 2.0]), "allowed are three finite numbers"),
        (lambda: Reference.at([1.0, 2.0, 3.0], [0, 0, 0]), "is not a rotation"),
    ],
)
def test_wrong_shapes_are_refused(make, message: str):
    with pytest.raises(InputError, match=message):
        make()
