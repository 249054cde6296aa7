"""``arm_control learn`` and ``arm_control primitive``: from a bag to a file and its picture."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.app import cli
from arm_control.bags import BagWriter, plain
from arm_control.core import share_path
from arm_control.maths import Array
from arm_control.messages import JOINT_STATE, STRING
from arm_control.primitives import PrimitiveFile

pytestmark = pytest.mark.usefixtures("quick_pictures")

DATA = Path(__file__).parents[2] / "data" / "bags"
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
RATE = 50


def write_bag(path: Path, q: Array, names: tuple[str, ...], urdf: str = "") -> Path:
    with BagWriter(path) as writer:
        if urdf:
            writer.add("/robot_description", STRING)
            writer.put("/robot_description", 0, plain.string(urdf))
        writer.add("/joint_states", JOINT_STATE)
        for k, row in enumerate(q):
            writer.put("/joint_states", k * 20_000_000, plain.joint_state(names, round(k * 1e9 / RATE), position=row))
    return path


@pytest.fixture(scope="module")
def reach() -> Array:
    """Rest for 1 s, a motion of 2 s, rest for 1 s."""
    s = np.clip((np.arange(0.0, 4.0, 1.0 / RATE) - 1.0) / 2.0, 0.0, 1.0)
    rise = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    return HOME + rise[:, None] * [0.8, 0.2, -0.3, 0.1, 0.0, 0.4] + 0.1 * (np.sin(np.pi * s) ** 4)[:, None]


@pytest.fixture(scope="module")
def bag(ur5: RobotModel, reach: Array, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reach, with another joint beside those of the arm."""
    q = np.column_stack([np.zeros(len(reach)), reach])
    return write_bag(tmp_path_factory.mktemp("bags") / "reach", q, ("gripper", *ur5.joint_names), ur5.urdf.text)


def test_joints_of_a_part_are_learned_and_shown(
    bag: Path, reach: Array, ur5: RobotModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "reach.yaml"
    options = ["--start", "1", "--duration", "2", "-o", str(out)]
    assert cli.main(["learn", str(bag), *options]) == 0
    text = capsys.readouterr().out
    assert text.startswith("discrete primitive of 6 joints: 101 states, duration 2.000 s, 25 basis functions")
    assert "note" not in text
    primitive, description = PrimitiveFile.load(str(out))
    assert description == "learned from reach, 1 s to 3 s"
    assert primitive.names == ur5.joint_names
    found = primitive.rollout(np.arange(0.0, 2.01, 1.0 / RATE)).q
    np.testing.assert_allclose(found, reach[50:151], atol=2e-3)


def test_a_motion_that_rests_first_is_noted_and_may_be_faster(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "all.yaml"
    options = ["--rate", "2", "--basis", "40", "--method", "locally_weighted", "--joints", "elbow_joint", "gripper"]
    pictures = tmp_path / "learned.png", tmp_path / "shown.png"
    options += ["--description", "up", "--picture", str(pictures[0])]
    assert cli.main(["learn", str(bag), "-o", str(out), *options]) == 0
    text = capsys.readouterr().out
    assert re.search(r"note: at rest for 0\.\d+ s before the motion and 0\.\d+ s behind it: --start", text)
    primitive, description = PrimitiveFile.load(str(out))
    assert (primitive.names, primitive.n_basis, description) == (("elbow_joint", "gripper"), 40, "up")
    assert primitive.duration == pytest.approx(1.99)
    assert cli.main(["primitive", "show", str(out), "--out", str(pictures[1])]) == 0
    assert "gripper " in capsys.readouterr().out
    assert min(picture.stat().st_size for picture in pictures) > 5000


def test_the_end_effector_is_learned_by_the_description_in_the_bag(bag: Path, ur5: RobotModel, tmp_path: Path):
    out = tmp_path / "hand.yaml"
    options = ["--end-effector", "--start", "1", "--duration", "2"]
    assert cli.main(["learn", str(bag), "-o", str(out), *options]) == 0
    primitive = PrimitiveFile.load(str(out)).primitive
    assert (primitive.frame, primitive.names, primitive.size) == ("base_link", (), 6)
    X = ur5.pose(HOME + [0.8, 0.2, -0.3, 0.1, 0.0, 0.4])
    np.testing.assert_allclose(primitive.learned_goal().p, X.p, atol=1e-6)
    np.testing.assert_allclose(primitive.learned_goal().R, X.R, atol=1e-6)


def test_a_demonstration_in_a_file_is_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The gait of the package is made so."""
    gait, out = str(share_path("config", "demonstrations", "gait.yaml")), tmp_path / "gait.yaml"
    assert cli.main(["learn", gait, "--rhythmic", "-o", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("rhythmic primitive of 3 joints: 51 states, period 2.000 s, 25 basis functions")
    assert "note" not in text
    new, kept = PrimitiveFile.load(str(out)).primitive, PrimitiveFile.load("gait").primitive
    np.testing.assert_allclose(new.weights, kept.weights, rtol=0, atol=1e-6)
    assert cli.main(["learn", gait, "--rhythmic", "--rate", "2", "-o", str(out)]) == 0
    assert PrimitiveFile.load(str(out)).primitive.duration == 1.0
    assert cli.main(["learn", gait, "--joints", "joint0", "-o", str(out)]) == 2
    assert "--joints and --end-effector are for bags" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ("one", (), "a demonstration of 1 sample: at least 2 are needed"),
        ("still", (), "nothing moves in the demonstration"),
        ("turn", (), "a jumps by 6.27 rad at 1 s, about 2 pi"),
        ("reach", ("--start", "7"), "no state after 7 s: the recording has 1.980 s"),
        ("reach", ("--start", "1.97"), "a demonstration of 1 sample"),
        ("reach", ("--end-effector",), "has no robot_description of a: --robot FILE is needed"),
        ("reach", ("--joints", "b"), "unknown joint 'b'; the model has: a"),
        ("reach", ("--basis", "1"), "1 basis functions; allowed for a discrete primitive: 2 to 200"),
        ("nan", (), "malformed: /joint_states: 1 messages: position is not finite"),
        ("nothing", (), "has no joint_states that can be read"),
    ],
)
def test_bad_input_is_a_sentence(
    change: str, options: tuple[str, ...], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    t = np.arange(0.0, 2.0, 1.0 / RATE)
    q = np.sin(t)[:, None]
    if change == "turn":
        q[50:] -= 2.0 * np.pi
    q = {"one": q[:1], "still": 0.0 * q, "nothing": q[:0], "nan": q[:1] * np.nan}.get(change, q)
    path = write_bag(tmp_path / "bag", q, ("a",))
    assert cli.main(["learn", str(path), "-o", str(tmp_path / "x.yaml"), *options]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err + captured.out
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "x.yaml").exists()


def test_recordings_of_others_are_learned_or_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = str(tmp_path / "out.yaml")
    assert cli.main(["learn", str(DATA / "moredmps_C-Shape-1_joints.bag"), "-o", out, "--rate", "0.002"]) == 0
    text = capsys.readouterr().out
    assert "all stamps are the same: the times at which the messages were written count" in text
    assert PrimitiveFile.load(out).primitive.duration == pytest.approx(3.4, abs=0.1)
    calibration = str(DATA / "ubr1_calibration_poses.bag")
    options = ["--topic", "calibration_joint_states", "-o", out]
    assert cli.main(["learn", calibration, *options, "--joints", "elbow_flex_joint", "shoulder_lift_joint"]) == 0
    assert re.search(r"note: a gap of \d+\.\d+ s", capsys.readouterr().out)
