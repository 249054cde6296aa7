"""Bags as rows: figures, damage, reasons. Nothing of the extra is needed."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_control.app import cli
from arm_control.exceptions import InputError
from arm_control.sweeps import BAG_FIGURES, Sweep, content_of_bags, run_row

pytestmark = pytest.mark.skipif(find_spec("rosbags") is None, reason="rosbags is of the extra 'bags'")
GOLDEN = Path(__file__).parents[1] / "golden"
BAG = GOLDEN / "planar2_reach" / "planar2_reach.mcap"


def rows(pattern: str, kind: str, robot: str = "") -> list[dict[str, Any]]:
    sweep = Sweep.from_content(content_of_bags(pattern, kind, robot), "bags", trust=True)
    return [run_row(sweep.plan, k, sweep.points[k]) for k in range(len(sweep.points))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole bag, one that was cut off, and one that is none."""
    for name in ("a", "b/c"):
        (tmp_path / name).mkdir(parents=True)
        shutil.copy(BAG, tmp_path / name / "whole.mcap")
    data = BAG.read_bytes()
    (tmp_path / "b/c/whole.mcap").rename(tmp_path / "b/c/cut.mcap").write_bytes(data[: 2 * len(data) // 3])
    (tmp_path / "z.mcap").write_text("text")
    return tmp_path


def test_a_report_has_a_row_for_each_bag_below_a_folder(folder: Path):
    whole, cut, none = rows(f"{folder}/**/*.mcap", "report")
    assert [Path(row["bag"]).name for row in (whole, cut, none)] == ["whole.mcap", "cut.mcap", "z.mcap"]
    assert whole["error"] == ""
    assert 0.0 < whole["torque_share"] <= 1.0
    assert whole["rate"] == pytest.approx(1000.0, rel=0.01)
    assert whole["malformed"] == 0.0
    assert cut["error"].startswith("damaged: ")
    assert cut["states"] == whole["states"]  # only what is behind them is cut off
    assert "z.mcap" in none["error"]
    assert np.isnan(none["states"])


def test_a_replay_says_how_far_commands_are_from_the_recorded_ones(folder: Path):
    (whole,) = rows(f"{BAG.parent}/*.mcap", "replay")
    assert whole["bag"] == str(BAG.parent)  # with the scenario that its metadata.yaml names
    assert (whole["identical"], whole["largest_difference"], whole["missing"]) == (1.0, 0.0, 0.0)
    assert whole["compared"] > 100
    *_, none = rows(f"{folder}/**/*.mcap", "replay")
    assert "z.mcap" in none["error"]


def test_a_recording_that_tells_nothing_is_a_row_with_the_reason():
    (row,) = rows(str(BAG), "identify")
    assert row["error"].startswith("no joint moves for 20 windows")


def test_a_bag_of_another_arm_is_a_row_with_the_reason():
    (row,) = rows(str(BAG), "report", "ur5")
    assert row["robot"] == "ur5"
    assert "shoulder_pan_joint" in row["error"]


def test_bags_have_addresses_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.pipe("/recorded/today/one.mcap", BAG.read_bytes())
    (row,) = rows("memory://recorded/**/*.mcap", "report")
    assert row["bag"] == "memory:///recorded/today/one.mcap"
    assert (row["error"], row["seconds"]) == ("", rows(str(BAG), "report")[0]["seconds"])


def test_what_is_no_kind_or_no_bag_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(InputError, match="no bag has the path"):
        content_of_bags(f"{tmp_path}/*.mcap", "report")
    assert cli.main(["sweep", "best", "--bags", str(BAG)]) == 2
    assert f"one of {', '.join(BAG_FIGURES)} is needed, not best" in capsys.readouterr().err
