"""Gaps between states: the usual time between two, and from which one on a state is missing."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.gate import GapWatch, has_gap, period_after


def test_a_state_is_missing_after_more_than_one_and_a_half_periods():
    for period in (1e-3, 0.5, 2.0):
        assert not has_gap(period, 1.5 * period)
        assert has_gap(period, np.nextafter(1.5 * period, 9.0))
    assert not has_gap(0.0, 1.0), "the period is unknown"


def test_the_period_follows_by_one_per_cent_a_state_at_most():
    """(1 + 1 %)^n and (1 - 1 %)^n on the way, and no further than the time between the states."""
    for begin, dt, ratio in ((1e-3, 1.3e-3, 1.01), (1e-3, 0.8e-3, 0.99), (2.0, 3.0, 1.01), (2.0, 1.5, 0.99)):
        period = begin
        for n in range(1, 60):
            period = period_after(period, dt)
            expected = begin * ratio**n
            assert period == pytest.approx(min(expected, dt) if ratio > 1.0 else max(expected, dt), rel=1e-12)
        assert period == dt


def test_the_first_time_is_the_period_and_one_that_is_none_changes_nothing():
    assert period_after(0.0, 0.02) == 0.02
    for dt in (0.0, -0.5, -2.0, np.nan, -np.inf):
        assert [period_after(period, dt) for period in (0.0, 0.01, 3.0)] == [0.0, 0.01, 3.0]


def test_a_watch_counts_the_states_that_are_missing():
    gaps = GapWatch(max_missed=3)
    assert (gaps.period, gaps.skipped, gaps.max_missed) == (0.0, 0, 3)
    assert gaps.fault(0.5) == ""  # nobody knows whether one is missing before the first
    assert (gaps.period, gaps.skipped) == (0.5, 0)
    for dt, missing in ((1.0, 1), (0.5, 0), (1.5, 2)):
        gaps.period, before = 0.5, gaps.skipped
        assert gaps.fault(dt) == ""
        assert gaps.skipped - before == missing
    gaps.period = 0.5
    assert gaps.fault(1.501) == "no state for 1501 ms"


def test_where_states_wait_for_their_commands_no_gap_is_a_fault():
    gaps = GapWatch(max_missed=None)
    assert [gaps.fault(dt) for dt in (1e-3, 1e-3, 10.0)] == [""] * 3
    assert gaps.skipped == 9999


def test_a_new_run_has_no_period():
    gaps = GapWatch(max_missed=3)
    assert [gaps.fault(1e-3), gaps.restart(), gaps.period] == ["", None, 0.0]
    assert gaps.fault(2.0) == ""
    assert (gaps.period, gaps.skipped) == (2.0, 0)


def test_the_period_is_the_usual_time_between_two_states():
    gaps = GapWatch(max_missed=2)
    assert [gaps.fault(dt) for dt in (0.0, 0.01, *[0.001] * 300, 0.0014)] == [""] * 303
    assert gaps.skipped == 0
    assert gaps.fault(0.0021) == "no state for 2 ms"


@pytest.mark.parametrize("n_waiting", [1, 2, 4])
def test_states_that_come_in_a_bunch_make_no_gap_of_the_time_behind_them(n_waiting: int):
    """A driver that was held up for some periods makes up for them, with stamps 10 us apart."""
    gaps = GapWatch(max_missed=20)
    bunch = [1e-3 * (n_waiting + 1), *[1e-5] * n_waiting, 1e-3 - 1e-5 * n_waiting]
    assert not any(gaps.fault(dt) for dt in [1e-3] * 10 + bunch * 20 + [1e-3] * 300)
    assert gaps.period == 1e-3
    assert gaps.fault(0.0205) == "no state for 20 ms"


def test_a_slower_stream_is_a_new_period_after_seconds_only():
    gaps = GapWatch(max_missed=20)
    assert not any(gaps.fault(dt) for dt in [1e-3] * 10 + [10e-3] * 100)
    assert gaps.fault(0.06) == "no state for 60 ms"
    assert not any(gaps.fault(dt) for dt in [10e-3] * 250)
    assert not gaps.fault(0.06)


def test_a_clock_says_the_same_and_notes_nothing():
    """With one period at most a state that is late by less than half of one is none that is missing."""
    gaps = GapWatch(max_missed=1)
    assert gaps.clock_fault(9.0) == ""  # nobody knows how long a period is
    gaps.fault(1e-3)
    assert [gaps.clock_fault(dt) for dt in (1.4e-3, 1.5e-3, 1.6e-3)] == ["", "", "no state for 2 ms"]
    assert (gaps.period, gaps.skipped) == (1e-3, 0)
    gaps.max_missed = 20
    assert [gaps.clock_fault(dt) for dt in (20e-3, 20.1e-3)] == ["", "no state for 20 ms"]
    gaps.max_missed = None
    assert gaps.clock_fault(9.0) == ""
