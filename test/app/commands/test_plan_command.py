"""``arm_control plan``: tables, pictures and the exit status, of task paths, joint positions and poses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from arm_control.app import main
from arm_control.core import urdf_path
from arm_control.simulation import plan_names

WALL = [{"shape": "box", "size": [0.03, 0.9, 0.3], "position": [0.44, y, 0.0]} for y in (0.51, -0.51)]
"""With a gap, through which the arm must draw back."""
GAP: dict[str, Any] = {"robot": "planar2", "start": [0.0, 0.0], "goal": [1.6, 0.0], "obstacles": WALL}
BALL = {"shape": "sphere", "size": 0.1, "position": [0.5, 0.4, 0.0], "velocity": [0.0, -0.1, 0.0]}


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Plan a scene of entries with options; returns status, output and errors."""

    def run(entries: dict[str, Any], *options: str) -> tuple[int, str, str]:
        file = tmp_path / "mine.yaml"
        file.write_text(yaml.safe_dump(entries, sort_keys=False))
        status = main(["plan", str(file), *options])
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


KINDS: dict[str, dict[str, Any]] = {
    "rests": GAP,
    "smooth": GAP | {"kind": "dynamic", "limits": {"acceleration": 10.0}},
    "moves": GAP | {"obstacles": [BALL], "goal": [1.2, 0.2], "horizon": 5.0},
    "pose": {"robot": "planar2", "start": [0.0, 0.5], "pose": {"position": [0.2, 0.4, 0.0]}},
    "arrives": {"robot": "planar2", "start": [0.0, 0.5], "pose": {"position": [0.2, 0.4, 0.0]}, "obstacles": [BALL]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_joint_positions_and_poses_are_planned(kind: str, plan: Any):
    status, text, errors = plan(KINDS[kind], "--seeds", "2", "--json")
    assert (status, errors) == (0, "")
    figures = json.loads(text)["mine"]
    assert [x["seed"] for x in figures] == [0, 1]
    for x in figures:
        assert x["outcome"] == "found"
        assert x["valid"]
        assert x["duration"] > 0.0
        assert x["velocity_ratio"] <= 1.0 + 1e-6
        assert (x["torque_ratio"] is None) == (kind != "smooth")
        assert (x["clearance_mm"] is None) == (kind == "pose")


@pytest.mark.usefixtures("quick_pictures")
def test_a_task_is_planned_drawn_and_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert main(["plan", "planar4_disc", "--variant", "parked", "--report", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "planar4_disc parked"
    assert lines[3].split()[:2] == ["seed", "outcome"]
    assert [line.split()[:2] for line in lines[4:5]] == [["0", "found"]]
    assert lines[5].startswith("median  1 of 1")
    picture = tmp_path / "planar4_disc_parked.png"
    assert lines[6] == f"wrote {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["plan", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(plan_names())


def test_a_scene_without_a_plan_gets_status_1_and_the_reason(plan: Any):
    status, text, _ = plan(GAP | {"goal": [0.0, 3.0], "obstacles": [*WALL, BALL | {"position": [0.1, 0.0, 0.0]}]})
    assert status == 1
    assert "seed 0: the start is in contact: 'link0' is 1" in text
    assert "median  0 of 1" in text
    inside = BALL | {"position": [0.0, 0.5, 0.0], "velocity": []}
    status, text, _ = plan({"robot": "planar2", "start": [0.0, 0.0], "goal": [1.57, 0.0], "obstacles": [inside]})
    assert status == 1
    assert "seed 0: the goal is in contact: 'link1' is" in text
    assert "mm deep in" in text
    status, text, _ = plan({"robot": "planar2", "start": [0.0, 0.0], "pose": {"position": [2.0, 0.0, 0.0]}})
    assert status == 1
    assert "seed 0: the goal cannot be reached" in text


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "task start": (
        {"robot": "planar4", "start": [0.0] * 4, "task": {"line": {"start": [1.2, -0.7], "end": [1.2, 0.7]}}},
        "start",
    ),
    "dynamic": (
        KINDS["moves"] | {"kind": "dynamic"},
        "torques are limited among obstacles that move along a task path only",
    ),
    "start": (
        GAP | {"robot": "lwr", "start": [9.0] * 7, "goal": [0.0] * 7},
        "start is beyond the limits: 'joint2' at 9",
    ),
}


def test_a_plan_within_constraints_goes_another_way_or_says_which_forbids_it(plan: Any, tmp_path: Path):
    """The hand goes over an angle of 1.6 rad, around a ball, 0.6 m away at the begin and at the end."""
    file = tmp_path / "cell.yaml"

    def within(x: float, **more: object) -> tuple[int, str, float]:
        wall = {"name": "wall", "kind": "half_space", "point": [x, 0.0, 0.0], "normal": [1.0, 0.0, 0.0], **more}
        slow = {"name": "slow", "kind": "speed", "limit": 0.5}
        file.write_text(yaml.safe_dump({"constraints": [wall, slow]}))
        status, text, _ = plan(GAP, "--constraints", str(file), "--json")
        return status, text, 0.0

    assert within(-1.0)[0] == 0
    status, text, _ = within(0.1)
    assert status == 1
    assert "constraint 'wall' (hand) is violated by" in text


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_planned_is_one_sentence(case: str, plan: Any):
    entries, sentence = REFUSED[case]
    status, _, errors = plan(entries)
    assert status == 2
    assert errors.startswith("arm_control: ")
    assert sentence in errors
    assert errors.count("\n") == 1


def test_meshes_of_a_scene_are_found_below_the_package_path(plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")  # and what the command adds to it goes with the test
    (tmp_path / "urdf").mkdir()
    (tmp_path / "away" / "my_shapes").mkdir(parents=True)
    cylinder = '<cylinder radius="0.013" length="0.27"/>'
    text = urdf_path("planar2").read_text()
    assert cylinder in text
    arm = tmp_path / "urdf" / "arm.urdf"
    arm.write_text(text.replace(cylinder, '<mesh filename="package://my_shapes/base.stl" scale="0.1 0.1 0.1"/>'))
    shutil.copy(urdf_path("ur4_2links").parent / "base.stl", tmp_path / "away" / "my_shapes")
    scene = GAP | {"robot": str(arm), "obstacles": []}
    status, _, errors = plan(scene)
    assert (status, "name the folder of its meshes (package_path, --package-path)" in errors) == (2, True)
    assert plan(scene, "--package-path", str(tmp_path / "away"))[0] == 0


def test_a_scene_must_be_named(capsys: pytest.CaptureFixture[str]):
    assert main(["plan"]) == 2
    assert "name a scene" in capsys.readouterr().err
    assert main(["plan", "planar5"]) == 2
    assert "no 'planar5' in config/plans" in capsys.readouterr().err
