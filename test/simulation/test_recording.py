"""What a recording says of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arm_control.maths import Pose
from arm_control.motion import Target
from arm_control.simulation import Recording, WrenchSeries

MS = 1_000_000


@pytest.fixture
def recording() -> Recording:
    """Ten states a millisecond apart, one of them lost; a command for each but the last."""
    stamps = np.delete(np.arange(10), 4) * MS
    rows = np.arange(9.0)[:, None] * [1.0, 10.0]
    targets = tuple(Target(stamp * MS, "base", Pose(np.eye(3), np.zeros(3))) for stamp in (0, 5, 8))
    return Recording(stamps, rows, -rows, stamps[:-1], 2 * rows[:-1], targets)


def test_the_time_step_is_the_smallest_and_the_duration_the_whole(recording: Recording):
    assert recording.timestep_ns == MS
    assert recording.duration == pytest.approx(0.009, abs=1e-15)


def test_the_part_up_to_a_stamp_includes_it(recording: Recording):
    part = recording.until(5 * MS)
    np.testing.assert_array_equal(part.state_stamps, [0, MS, 2 * MS, 3 * MS, 5 * MS])
    np.testing.assert_array_equal(part.command_stamps, part.state_stamps)
    np.testing.assert_array_equal(part.q, recording.q[:5])
    np.testing.assert_array_equal(part.v, recording.v[:5])
    np.testing.assert_array_equal(part.tau, recording.tau[:5])
    assert [target.stamp_ns for target in part.targets] == [0, 5 * MS]


def test_what_is_saved_can_be_read_back_to_the_last_bit(recording: Recording, tmp_path: Path):
    recording.save(str(tmp_path / "run.npz"))
    with np.load(tmp_path / "run.npz") as saved:
        assert set(saved) == {"state_stamps", "q", "v", "command_stamps", "tau"}
        for name in saved:
            np.testing.assert_array_equal(saved[name], getattr(recording, name))
        assert saved["state_stamps"].dtype == np.int64


def test_wrenches_are_cut_with_the_rest_and_saved_by_their_topics(recording: Recording, tmp_path: Path):
    stamps = np.array([6, 8, 2, 4]) * MS  # time starts over
    series = WrenchSeries(stamps, np.arange(24.0).reshape(4, 6))
    whole = replace(recording, wrenches={"estimated_wrench": series})
    np.testing.assert_array_equal(whole.until(4 * MS).wrenches["estimated_wrench"].values, series.values[2:])
    np.testing.assert_array_equal(whole.since_restart().wrenches["estimated_wrench"].stamps, stamps[2:])
    whole.save(str(tmp_path / "run.npz"))
    with np.load(tmp_path / "run.npz") as saved:
        np.testing.assert_array_equal(saved["estimated_wrench_stamps"], stamps)
        np.testing.assert_array_equal(saved["estimated_wrench"], series.values)
