"""The part of a recording from which a motion is learnt, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arm_control.bags import JointSeries, RecordedPath, oddities_of_path, oddities_of_states, recorded_path
from arm_control.exceptions import BagError, JointNotFound

NS = 1_000_000_000


def series(t: np.ndarray, q: np.ndarray) -> JointSeries:
    stamps = np.round(t * NS).astype(np.int64)
    none = np.full_like(q, np.nan)
    return JointSeries(("a", "b"), stamps, stamps + 5, q, none, none)


def path(q: np.ndarray, seconds: float = 4.0) -> RecordedPath:
    return RecordedPath(("a",), np.linspace(0.0, seconds, len(q)), q[:, None])


def reach(n: int = 401) -> np.ndarray:
    s = np.linspace(0.0, 1.0, n)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def test_joints_are_matched_by_name_and_states_that_are_not_newer_left_out():
    t = np.array([0.0, 0.1, 0.1, 0.2])
    states = series(t, np.arange(8.0).reshape(4, 2))
    found = recorded_path(states, ["b"])
    assert found.names == ("b",)
    np.testing.assert_allclose(found.t, [0.0, 0.1, 0.2])
    assert found.q.ravel().tolist() == [1.0, 3.0, 7.0]
    assert oddities_of_states(states) == ["1 of 4 states are not newer than those before, and left out"]
    assert recorded_path(states, []).names == ("a", "b")
    with pytest.raises(JointNotFound, match="'c'"):
        recorded_path(states, ["c"])


def test_states_without_stamps_count_by_the_time_at_which_they_were_written():
    t = np.linspace(0.0, 1.0, 5)
    states = replace(series(t, np.zeros((5, 2))), stamps=np.zeros(5, dtype=np.int64), log=np.arange(5) * NS)
    assert oddities_of_states(states) == ["all stamps are the same: the times at which the messages were written count"]
    assert recorded_path(states, []).t[-1] == 4.0


def test_missing_positions_are_refused():
    q = np.zeros((4, 2))
    q[2, 1] = np.nan
    with pytest.raises(BagError, match="1 of 4 states have no position"):
        recorded_path(series(np.arange(4.0), q), [])


def test_a_part_begins_at_time_0_and_may_be_faster():
    part = path(reach()).part(1.0, 2.0, rate=2.0)
    assert (part.t[0], part.t[-1], len(part.t)) == (0.0, 1.0, 201)
    assert path(reach()).part(1.0, 0.0).t[-1] == 3.0
    with pytest.raises(BagError, match="no state after 5 s: the recording has 4"):
        path(reach()).part(5.0, 0.0)


def test_whole_turns_are_removed_from_continuous_joints_only():
    q = np.linspace(3.0, 3.4, 9)
    wrapped = path((q + np.pi) % (2 * np.pi) - np.pi)
    assert np.abs(np.diff(wrapped.q, axis=0)).max() > 6.0
    np.testing.assert_allclose(wrapped.unwrapped(["a"]).q.ravel(), q)
    np.testing.assert_array_equal(wrapped.unwrapped(["other"]).q, wrapped.q)


@pytest.mark.parametrize(
    ("recorded", "is_rhythmic", "sentence"),
    [
        (
            path(np.concatenate([np.zeros(100), reach(201), np.ones(100)])),
            False,
            "at rest for 1.08 s before the motion and 1.08 s behind it: --start 1.08 and --duration 1.84",
        ),
        (path(np.sin(np.linspace(0.0, 1.57, 101))), False, "in motion at its begin, with 100 % of its largest speed"),
        (path(-np.cos(np.linspace(0.0, 1.57, 101))), False, "in motion at its end, with 100 % of its largest speed"),
        (path(np.sin(np.linspace(0.0, 5.0, 101))), True, "its ends do not meet: a differs by 0.959"),
        (RecordedPath(("a",), np.array([0.0, 0.1, 1.1]), np.zeros((3, 1))), True, "a gap of 1.00 s after 0.10 s"),
        (path(np.zeros(9), 0.8), False, "nothing moves"),
    ],
)
def test_a_poor_demonstration_is_named(recorded: RecordedPath, is_rhythmic: bool, sentence: str):
    (found,) = oddities_of_path(recorded, is_rhythmic=is_rhythmic)
    assert found.startswith(sentence)
