"""``arm_control distance``: pairs and depths in one state, in many and in a recording; files of allowed pairs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from mesh_arm import mesh_arm

from arm_control import Pose
from arm_control.app import cli
from arm_control.bags import BagWriter, plain
from arm_control.collision import AllowedPairs
from arm_control.maths import Obstacle, Sphere
from arm_control.messages import JOINT_STATE, MARKER_ARRAY
from arm_control.simulation import ObstacleUpdate

BALL = """\
obstacles:
  - {shape: sphere, size: 0.1, position: [0.3, 0.0, 0.0], from: 5.0}
  - {shape: sphere, size: 0.05, position: [-0.2, 0.6, 0.0], velocity: [0.1, 0.0, 0.0]}
"""
MOVED = [(0.0, 0.0), (0.5, 0.0), (np.pi / 2, 0.0)]
"""Joint positions of a recording; the arm reaches the second obstacle in the last one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_pictures: None) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball.yaml").write_text(BALL)
    return tmp_path


def distance(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, object]]:
    """Exit status and JSON of the command for the planar arm of two links."""
    status = cli.main(["distance", "planar2", "--json", *options])
    return status, json.loads(capsys.readouterr().out)


def test_pairs_of_a_state_are_labelled_and_say_how_deep_they_are(folder: Path, capsys: pytest.CaptureFixture[str]):
    """The first obstacle comes at 5 s; the second one moves."""
    at = ("--at", "0,0", "--obstacles", "ball.yaml")
    status, early = distance(capsys, *at)
    assert (status, early["states_in_contact"]) == (0, 0)
    assert {pair["other"] for pair in early["pairs"]} == {"obstacle 1"}
    status, late = distance(capsys, *at, "--time", "5")
    assert (status, late["states_in_contact"]) == (1, 1)
    (deepest, *_) = late["pairs"]
    assert (deepest["other"], deepest["states_in_contact"]) == ("obstacle 0", 1)
    assert deepest["depth"] == -deepest["distance"] > 0.1
    gap = np.subtract(*deepest["points"])
    assert np.linalg.norm(gap) == pytest.approx(deepest["depth"])
    before, after = (next(p for p in found["pairs"] if p["other"] == "obstacle 1") for found in (early, late))
    assert before["distance"] != after["distance"]


def test_the_margin_counts_as_contact_and_the_table_says_so(folder: Path, capsys: pytest.CaptureFixture[str]):
    command = ["distance", "planar2", "--at", "0", "0", "--obstacles", "ball.yaml", "--margin", "0.7"]
    assert cli.main(command) == 1
    out = capsys.readouterr().out
    assert "within the margin" in out
    assert out.endswith("\nin contact\n")
    assert cli.main([*command, "--reach", "0.01"]) == 1
    assert capsys.readouterr().out.endswith("\nin contact\n")
    assert cli.main([*command[:-2], "--report", "pictures"]) == 0
    assert "\nfree of contact\n" in capsys.readouterr().out
    assert (folder / "pictures" / "distance.png").stat().st_size > 5_000


def test_a_recording_is_checked_among_its_own_obstacles(folder: Path, capsys: pytest.CaptureFixture[str]):
    ball = Obstacle(Sphere(0.05), Pose.at([0.0, 0.4, 0.0]))
    with BagWriter(folder / "bag") as writer:
        writer.add("/joint_states", JOINT_STATE)
        writer.add("/obstacles", MARKER_ARRAY)
        writer.put("/obstacles", 1, plain.markers([ObstacleUpdate(7, ball)], "base_link", 0))
        for k, q in enumerate(MOVED):
            stamp_ns = (k + 1) * 10**9
            state = plain.joint_state(["joint0", "joint1"], stamp_ns, position=np.array(q), velocity=np.zeros(2))
            writer.put("/joint_states", stamp_ns, state)
    status, found = distance(capsys, "--bag", "bag")
    assert (status, found["states"], found["states_in_contact"]) == (1, 3, 1)
    (deepest, *_) = found["pairs"]
    assert deepest["other"].endswith("/7")
    assert (deepest["time"], deepest["joints"]) == (2.0, list(MOVED[2]))
    _, other = distance(capsys, "--bag", "bag", "--obstacles", "ball.yaml")
    assert {pair["other"] for pair in other["pairs"]} == {"obstacle 1"}


def test_allowed_pairs_are_written_and_read(folder: Path, capsys: pytest.CaptureFixture[str]):
    command = ["distance", "planar2", "--write-allowed", "allowed.yaml"]
    assert cli.main(command) == 0
    allowed = AllowedPairs.load(folder / "allowed.yaml")
    assert ("link0", "link1") in allowed.neighbours
    (folder / "none.yaml").write_text("robot: planar2\n")
    capsys.readouterr()
    _, strict = distance(capsys, "--allowed", "none.yaml")
    assert ("link0", "link1") in {(pair["link"], pair["other"]) for pair in strict["pairs"]}
    assert strict["not_checked"] == []
    (folder / "skip.yaml").write_text("robot: planar2\nskip_never: true\nnever: [[link0, link1]]\n")
    assert distance(capsys, "--allowed", "skip.yaml")[1]["not_checked"] == [["link0", "link1"]]
    assert cli.main(command) == 2
    assert capsys.readouterr().err == (
        "arm_control: allowed.yaml exists already: choose another name, or --force to overwrite it\n"
    )
    assert cli.main([*command, "--force"]) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--at", "0"], "--at has 1 positions: 2 finite ones are needed, of "),
        (["--at", "nan,0"], "--at has 2 positions: 2 finite ones are needed, of "),
        (["--at", "x", "0"], "--at x 0: numbers are needed [rad or m]"),
        (["--obstacles", "nowhere.yaml"], "there is no file nowhere.yaml"),
        (["--obstacles", "allowed.yaml"], "allowed.yaml: unknown by_hand; allowed: "),
        (["--obstacles", "bad.yaml"], "bad.yaml: obstacles: 0: shape = 'ball'; there are: "),
        (["--allowed", "other.yaml"], "allowed pairs of ur5: no link 'elbow'; allowed: "),
        (["--bag", "nowhere"], "there is no bag nowhere"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_a_sentence(
    folder: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
):
    (folder / "allowed.yaml").write_text("robot: planar2\nby_hand: []\n")
    (folder / "other.yaml").write_text("robot: ur5\nby_hand: [[wrist, elbow]]\n")
    (folder / "bad.yaml").write_text("obstacles: [{shape: ball, size: 1, position: [0, 0, 0]}]\n")
    assert cli.main(["distance", "planar2", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line


def test_random_states_count_contacts_by_pair(folder: Path, capsys: pytest.CaptureFixture[str]):
    """The same seed draws the same states."""
    options = ("--random", "60", "--obstacles", "ball.yaml", "--seed", "3", "--time", "5")
    _, first = distance(capsys, *options)
    distances = [pair["distance"] for pair in first["pairs"]]
    assert distances == sorted(distances)
    assert first["states"] == 60
    assert 0 < first["states_in_contact"] <= sum(pair["states_in_contact"] for pair in first["pairs"])
    assert cli.main(["distance", "planar2", *options]) == 1
    assert f"in contact: {first['states_in_contact']} of 60 states" in capsys.readouterr().out


def test_pairs_that_are_not_checked_are_named(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["distance", "--robot", "ur5"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("pairs of links"))
    assert "neighbours: base_link_inertia - shoulder_link, " in line
    assert line.endswith("; that overlap always: base_link_inertia - upper_arm_link, forearm_link - wrist_2_link")


def test_how_far_capsules_are_outside_of_meshes_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """By link; an arm without meshes has no such line."""
    mesh_arm(tmp_path)
    command = ["distance", str(tmp_path / "mesh_arm.urdf"), "--tip", "blade"]
    cli.main([*command, "--json"])
    found = json.loads(capsys.readouterr().out)["excess"]
    assert set(found) == {"beam", "blade"}
    assert all(0.0 < excess < 0.1 for excess in found.values())
    cli.main(command)
    line = f"capsules are outside of the meshes by [mm]: beam {1e3 * found['beam']:.0f}, "
    assert line in capsys.readouterr().out
    assert distance(capsys)[1]["excess"] == {}
    cli.main(["distance", "planar2"])
    assert "capsules are outside" not in capsys.readouterr().out
