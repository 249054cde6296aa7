"""``arm_control guide`` and ``play``: what they start, the waypoints between them, and the bag that ``learn`` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.app.cli import main
from arm_control.app.run import write_waypoints
from arm_control.app.run_options import RunOptions
from arm_control.motion import JointReference, JointTrajectory, load_trajectory
from arm_control.simulation import Recording, Scenario

GUIDED = Path(__file__).parents[2] / "golden" / "ur5_guide"
Started = list[tuple[RunOptions, Scenario]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Started:
    """Options and scenario of each run, which is not started."""
    runs: Started = []

    def start(options: RunOptions) -> int:
        runs.append((options, options.load()))
        return 0

    monkeypatch.setattr("arm_control.app.run.run_scenario", start)
    monkeypatch.chdir(tmp_path)
    return runs


@pytest.mark.parametrize("words", [["planar2"], ["--robot", "planar2"], ["ur5_guide"]])
def test_an_arm_by_itself_or_a_scenario_is_guided_and_recorded(words: list[str], started: Started):
    assert main(["guide", *words]) == 0
    ((options, scenario),) = started
    assert scenario.controller == "guide"
    assert scenario.nodes["guide"]["disturbance_observer"]
    assert scenario.nodes["guide"]["guide_damping"] == 5.0
    assert "targets" not in scenario.nodes
    assert options.bag.startswith("guided_")
    assert options.waypoints == f"{options.bag}.yaml"


def recording_at(qs: Any) -> Recording:
    """A recording with a state at each millisecond."""
    q = np.array(qs)
    stamps = np.arange(len(q), dtype=np.int64) * 1_000_000
    return Recording(stamps, q, np.zeros_like(q), stamps, np.zeros_like(q), ())


def test_waypoints_are_played_within_the_limits_of_speed(started: Started, tmp_path: Path):
    model = RobotModel.from_urdf(urdf_path("planar2"))
    qs = [[0.0, 0.5], [0.4, 0.5], [0.4, 0.5], [0.4, -1.0]]
    path = str(tmp_path / "shown.yaml")
    said = write_waypoints(path, recording_at(qs), [500, 1_000_900, 2_000_000, 3_000_000], model, "planar2")
    assert said.startswith(f"wrote {path}: 3 waypoints")
    names, points = load_trajectory(path)
    assert names == model.joint_names
    np.testing.assert_allclose(points.qs, [qs[0], qs[1], qs[3]])
    motion = JointTrajectory.through(JointReference.at_rest(np.array([3.0, -2.5])), points)
    speeds = np.abs([motion.sample(t).v_des for t in np.linspace(0.0, points.times[-1], 500)])
    assert (speeds.max(axis=0) < 0.5 * model.v_max).all()

    assert main(["play", "shown.yaml"]) == 0
    ((options, scenario),) = started
    assert scenario.controller == "joint"
    assert scenario.robot == "planar2"
    assert scenario.nodes["targets"]["trajectory"] == path
    assert options.duration == pytest.approx(points.times[-1] + 1.0)


def test_one_waypoint_is_too_few(tmp_path: Path):
    model = RobotModel.from_urdf(urdf_path("planar2"))
    said = write_waypoints(str(tmp_path / "one.yaml"), recording_at([[0.0, 0.5]] * 3), [0, 2_000_000], model, "planar2")
    assert said.startswith("1 waypoints: two are needed")
    assert not list(tmp_path.iterdir())


def test_a_recording_of_a_guided_arm_is_learned_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "shown.yaml"
    assert main(["learn", str(GUIDED), "--out", str(file)]) == 0
    assert "discrete primitive of 6 joints" in capsys.readouterr().out
    assert file.is_file()
