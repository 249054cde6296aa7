"""Reading, writing and judging bags: recordings that nobody here made, bags of our own, and damaged ones."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from arm_control import urdf_path
from arm_control.app import cli
from arm_control.bags import BagWriter, Commands, compare, joint_series, plain, read_bag
from arm_control.exceptions import BagError
from arm_control.messages import JOINT_STATE, POSE_STAMPED, STRING
from arm_control.model import RobotModel
from arm_control.report import Reach, Report, fitted, pose_goals, topic_table

REPO = Path(__file__).parents[2]
DATA, GOLDEN = REPO / "test" / "data" / "bags", REPO / "test" / "golden"
MS = 1_000_000
UR5_JOINTS = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]


# -- recordings of real arms ----------------------------------------------------------------------


def test_a_tiago_is_read_as_its_tables_say():
    series = joint_series(read_bag(DATA / "tiago"), "joint_states")
    assert len(series.stamps) == 8022
    assert series.names == ("torso_lift_joint", *(f"arm_{i}_joint" for i in range(1, 8)))
    table = np.loadtxt(DATA / "tiago" / "every_80th_sample.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(series.t[::80], table[:, 0], rtol=0, atol=1e-6)
    for field, columns in zip(("position", "velocity", "effort"), np.split(table[:, 1:], 3, axis=1), strict=True):
        np.testing.assert_array_equal(getattr(series, field)[::80], columns)


@pytest.mark.usefixtures("quick_pictures")
def test_a_ubr1_is_read_from_ros_1(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    path = DATA / "ubr1_calibration_poses.bag"
    assert cli.main(["report", str(path), "-o", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "no joint_states that can be read; --topic names another: calibration_joint_states" in error
    assert not (tmp_path / "none").exists()
    bag = read_bag(path)
    series = joint_series(bag, "calibration_joint_states")
    assert (bag.storage, len(series.stamps), len(series.names)) == ("ROS 1", 61, 15)
    assert bag.duration == pytest.approx(617.3, abs=0.1)
    assert np.isfinite(series.effort).all()
    converted = bag.messages[0].topic.decoder.cdr(bag.messages[0].raw)
    message = get_typestore(Stores.ROS2_KILTED).deserialize_cdr(converted, JOINT_STATE)
    np.testing.assert_array_equal(message.position, series.position[0])
    assert cli.main(["report", str(path), "--topic", "/calibration_joint_states", "-o", str(tmp_path)]) == 0
    assert "61 states of 15 joints" in (tmp_path / "index.html").read_text()


# -- bags of our own ------------------------------------------------------------------------------


Message = tuple[str, int, Any]


def written(path: Path, topics: dict[str, str], messages: Iterable[Message], **options: Any) -> Path:
    """A bag of topics with their types, latched where they are descriptions; times of messages in ms."""
    with BagWriter(path, **options) as bag:
        for topic, kind in topics.items():
            bag.add(topic, kind, latched=kind == STRING, depth=1 if kind == STRING else 10)
        for topic, ms, message in messages:
            bag.put(topic, ms * MS, message)
    return path


def state(names: Sequence[str], ms: int, **fields: Any) -> Any:
    return plain.joint_state(names, ms * MS, **fields)


def filled(path: Path, storage: str = "mcap", n: int = 5) -> Path:
    states = [("/joint_states", k, state(["a", "b"], k, position=np.array([0.1 * k, 1.0]))) for k in range(n)]
    topics = {"/robot_description": STRING, "/joint_states": JOINT_STATE}
    description = ("/robot_description", 0, plain.string("<robot/>"))
    return written(path, topics, [description, *states], storage=storage, custom={"note": "x"})


def begun(*_: object, **__: object) -> None:
    pytest.fail("something was started")


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_bag_has_what_ros2_bag_needs(storage: str, tmp_path: Path):
    path = filled(tmp_path / "bag", storage)
    with Reader(path) as reader:
        connections = {c.topic: c for c in reader.connections}
        assert reader.message_count == 6
    text = (path / "metadata.yaml").read_text()
    assert f"storage_identifier: {storage}" in text
    assert "version: 9" in text
    assert "durability: transient_local" in text
    assert "RIHS01_" in text
    assert connections["/joint_states"].msgdef.data.startswith("std_msgs/Header header")
    bag = read_bag(path)
    assert (bag.storage, bag.custom["note"], "arm_control" in bag.custom) == (storage, "x", True)
    assert [topic.latched for topic in bag.topics] == [False, True]
    np.testing.assert_array_equal(joint_series(bag, "joint_states").position[:, 0], [0.1 * k for k in range(5)])


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_messages_are_read_where_metadata_and_file_differ_in_qos(storage: str, tmp_path: Path):
    """As in recordings of rosbag2's own tests, of which rosbags 0.11 yields no message."""
    path = filled(tmp_path / "bag", storage)
    text = (path / "metadata.yaml").read_text()
    changed = text.replace("depth: 10", "depth: 7")
    assert changed != text
    (path / "metadata.yaml").write_text(changed)
    bag = read_bag(path)
    assert (len(bag.messages), [topic.name for topic in bag.topics]) == (6, ["/joint_states", "/robot_description"])


def test_a_bag_that_is_there_is_not_overwritten_and_an_unknown_type_refused(tmp_path: Path):
    path = filled(tmp_path / "bag")
    with pytest.raises(BagError, match=r"bag exists already: choose another name, or remove it$"):
        BagWriter(path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BagError, match="link exists already"):
        BagWriter(tmp_path / "link")
    with BagWriter(tmp_path / "other") as bag, pytest.raises(BagError, match="unknown type no_msgs/msg/None"):
        bag.add("/x", "no_msgs/msg/None")
    assert read_bag(tmp_path / "other").messages == []


@pytest.mark.parametrize("command", ["run ur5_osc --bag BAG", "record -o BAG", "simulate ur5_osc --bag FOLDER"])
def test_a_bag_that_is_there_is_said_before_anything_starts(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """One sentence: neither ROS nor a simulation has begun, and what is there is as it was."""
    path = filled(tmp_path / "ur5_osc")
    before = {file: file.read_bytes() for file in path.iterdir()}

    monkeypatch.setattr("rclpy.init", begun)
    monkeypatch.setattr("arm_control.simulation.offline.Simulation", begun)
    words = command.replace("BAG", str(path)).replace("FOLDER", str(tmp_path)).split()
    assert cli.main(words) == 2
    assert capfd.readouterr() == ("", f"arm_control: {path} exists already: choose another name, or remove it\n")
    assert {file: file.read_bytes() for file in path.iterdir()} == before


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_bag_that_is_removed_takes_nothing_else_along(storage: str, tmp_path: Path):
    for name in ("own", "shared"):
        with BagWriter(tmp_path / name, storage) as bag:
            bag.flush()
        note = tmp_path / "shared" / "note.txt"
        if name == "shared":
            note.touch()
        bag.remove()
    assert [path.name for path in tmp_path.rglob("*")] == ["shared", "note.txt"]


def test_what_was_flushed_survives_a_kill(tmp_path: Path):
    """The file as it is before the writer's end: no index, no metadata."""
    writer = BagWriter(tmp_path / "bag")
    writer.add("/joint_states", JOINT_STATE)
    for k in range(10):
        state = plain.joint_state(["a"], k * MS, position=np.array([float(k)]))
        writer.put("/joint_states", k * MS, state)
        if k == 6:
            writer.flush()
    killed = tmp_path / "killed" / "bag.mcap"
    killed.parent.mkdir()
    shutil.copy(tmp_path / "bag" / "bag.mcap", killed)
    writer.close()
    for path in (killed, killed.parent):
        bag = read_bag(path)
        assert joint_series(bag, "joint_states").position[:, 0].tolist() == [float(k) for k in range(7)]
        assert bag.damage


def test_messages_that_make_no_sense_are_counted_by_cause(tmp_path: Path):
    good = plain.joint_state(["a", "b"], 1, position=np.zeros(2))
    bad = {
        "position is not one value per joint": plain.joint_state(["a", "b"], 2, position=np.zeros(3)),
        "velocity is not finite": plain.joint_state(["a", "b"], 3, velocity=np.array([0.0, np.nan])),
        "other joints than in the first message": plain.joint_state(["c"], 4, position=np.zeros(1)),
        "no joint, or one twice": plain.joint_state(["a", "a"], 5, position=np.zeros(2)),
    }
    with BagWriter(tmp_path / "bag") as writer:
        writer.add("/joint_states", JOINT_STATE)
        for k, message in enumerate([good, *bad.values()]):
            writer.put("/joint_states", k, message)
        writer.write("/joint_states", 9, b"\x00\x01\x00\x00\xff\xff\xff\xff")
    bag = read_bag(tmp_path / "bag")
    for _ in range(2):  # however often it is read
        assert len(joint_series(bag, "joint_states").stamps) == 1
    unreadable = ("/joint_states", "not readable as sensor_msgs/msg/JointState: SerdeError")
    assert bag.malformed == {unreadable: 1, **{("/joint_states", cause): 1 for cause in bad}}


@pytest.mark.parametrize("source", ["mcap", "sqlite3", "ros1"])
def test_damage_is_told_and_nothing_else_is_raised(source: str, tmp_path: Path):
    """Files cut off anywhere, and with bytes changed anywhere."""
    if source == "ros1":
        file = DATA / "moredmps_C-Shape-1_joints.bag"
    else:
        file = next(path for path in filled(tmp_path / "whole", source).iterdir() if path.suffix != ".yaml")
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    broken = tmp_path / f"broken{file.suffix}"
    read = 0
    for round_ in range(60):
        content = bytearray(whole[: rng.integers(len(whole))] if round_ % 2 else whole)
        for at in rng.integers(len(content), size=0 if round_ % 4 == 1 else 6) if content else ():
            content[at] ^= 1 << rng.integers(8)
        broken.write_bytes(content)
        try:
            bag = read_bag(broken)
            joint_series(bag, "joint_states")
            topic_table(bag)
            read += 1
        except BagError:
            pass
    assert read > 2


NO_BAG = {
    **{f"replay {name} --offline": "" for name in ("nothing", "empty", "text.mcap", "folders")},
    "replay unnamed --offline": "names no scenario",
    **{f"replay parameters{k} --offline": "its parameters are not those of nodes" for k in range(3)},
    "replay ur5_osc --scenario ur5_osc": (
        "a replay onto live topics does not take --scenario; --offline or --model is missing"
    ),
    "replay ur5_osc -o out --params-file x": (
        "a replay onto live topics does not take --output, --params-file; --offline or --model"
    ),
    "replay ur5_osc --tolerance 0": "a replay onto live topics does not take --tolerance; --offline",
    "replay ur5_osc --offline --arm": "a replay with --offline does not take --arm",
    "replay ur5_osc --model -o out": "a replay with --model does not take --output",
    "replay ur5_osc --offline -o empty": "empty exists already: choose another name, or remove it",
}


@pytest.mark.parametrize(("command", "sentence"), NO_BAG.items())
def test_what_cannot_be_replayed_is_one_sentence_and_moves_no_arm(
    command: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rclpy.init", begun)
    Path("empty").mkdir()
    Path("folders", "one.mcap").mkdir(parents=True)
    Path("text.mcap").write_text("hello")
    Path("ur5_osc").symlink_to(GOLDEN / "ur5_osc")
    filled(Path("unnamed"))
    for k, text in enumerate(["{", "[1]", '{"osc": 5}']):
        BagWriter(Path(f"parameters{k}"), custom={"scenario": "ur5_osc", "parameters": text}).close()
    assert cli.main(command.split()) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert sentence in output.err


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        (("report", "bag", "-o", "page"), "scenario"),
        *((("replay", "bag", "--offline"), notes) for notes in ("robot", "scenario", "description")),
        (("replay", "bag", "--model"), "robot"),
        (("identify", "bag"), "description"),
        (("learn", "bag", "-o", "p.yaml", "--end-effector"), "robot"),
    ],
)
@pytest.mark.usefixtures("blank_pictures")
def test_a_bag_has_no_file_expanded(
    words: tuple[str, ...], notes: str, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
):
    """A bag may come from anyone, and a xacro file beside it, too: expanding one may run any code."""
    monkeypatch.setattr("arm_control.model.urdf.load.expand_xacro", lambda *_: pytest.fail("it was expanded"))
    monkeypatch.chdir(tmp_path)
    custom = {"robot": {"scenario": "ur5_osc", "robot": "bag/arm.urdf.xacro"}, "scenario": {"scenario": "bag/own.yaml"}}
    with BagWriter("bag", custom=custom.get(notes, {"scenario": "ur5_osc"})) as writer:
        writer.add("/joint_states", JOINT_STATE)
        for k in range(200):
            q = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0]) + 1e-4 * np.sin(0.01 * k)
            states = {"position": q, "velocity": np.zeros(6), "effort": np.zeros(6)}
            writer.put("/joint_states", k * MS, plain.joint_state(UR5_JOINTS, k * MS, **states))
        if notes == "description":
            writer.add("/robot_description", STRING)
            writer.put("/robot_description", 0, plain.string("bag/arm.urdf.xacro"))
    Path("bag", "arm.urdf.xacro").write_text("<robot/>")
    Path("bag", "own.yaml").write_text("{robot: bag/arm.urdf.xacro, nodes: {osc: {}}}")
    status = cli.main(list(words))
    said = capsys.readouterr().err if words[0] != "report" else (tmp_path / "page" / "index.html").read_text()
    expected = "is no URDF: its text is needed" if notes == "description" else "--robot FILE is needed"
    assert (status, expected in said) == (0 if words[0] == "report" else 2, True)
    assert words[0] == "report" or said.count("\n") == 1


def test_a_cause_has_nothing_that_a_terminal_acts_upon(tmp_path: Path, ur5: RobotModel):
    target = ("/target_pose", 0, plain.pose_stamped(ur5.pose(np.zeros(6)), "\x1b[2J", 0))
    bag = read_bag(written(tmp_path / "bag", {"/target_pose": POSE_STAMPED}, [target]))
    assert pose_goals(bag, joint_series(bag, "joint_states"), ur5) == []
    ((_, cause),) = bag.malformed
    assert "\\x1b[2J" in cause
    assert cause.isprintable()


def two_arms(path: Path) -> Path:
    """A bag of two arms, in namespaces, with a joint each."""
    messages = [
        (f"/{arm}/joint_states", k, state([f"{arm}_joint"], k, position=np.array([0.1 * k])))
        for arm in ("left", "right")
        for k in range(5)
    ]
    return written(path, dict.fromkeys([topic for topic, _, _ in messages], JOINT_STATE), messages)


@pytest.mark.usefixtures("blank_pictures")
def test_whose_topics_are_meant_can_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, page = two_arms(tmp_path / "bag"), tmp_path / "page"
    assert cli.main(["report", str(path), "-o", str(page)]) == 2
    error = capsys.readouterr().err
    assert "more than one topic: /left/joint_states, /right/joint_states; --namespace selects one" in error
    assert cli.main(["report", str(path), "-o", str(page), "--namespace", "/right"]) == 0
    text = (page / "index.html").read_text()
    assert "<dd>right_joint&nbsp;</dd>" in text
    assert "left_joint" not in text


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("arm_control.bags.reader.read_bag", interrupted)
    assert cli.main(["report", str(GOLDEN / "ur5_osc")]) == 130


FULL_DISK = """
import resource, signal, sys
from arm_control.bags.message_definitions import plain
from arm_control.messages.build import STRING
from arm_control.bags.writer import BagWriter
from arm_control.exceptions import BagError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with BagWriter(*sys.argv[1:]) as bag:
        bag.add("/x", STRING)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        for k in range(10_000):
            bag.put("/x", k, plain.string("y" * 100))
            if k % 100 == 0:
                bag.flush()
except BagError as error:
    print(error)
"""


@pytest.mark.processes
def test_a_full_disk_ends_a_recording_with_a_sentence(tmp_path: Path):
    """A limit on the size of files stands for the disk; what was written before can be read."""
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path / "bag"), "mcap"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert not done.stderr
    assert done.stdout.startswith(f"{tmp_path / 'bag'} ends early, and can be read up to there: ")
    assert len(read_bag(tmp_path / "bag").messages) > 500


LITTLE_MEMORY = """
import resource, sys
from arm_control.exceptions import BagError
from arm_control.bags import reader

bounds, free_memory = resource.getrlimit(resource.RLIMIT_AS), reader.free_memory
reader.free_memory = lambda: 1 << 24
try:
    reader.read_bag(sys.argv[1])
except BagError as error:
    print(error)
assert resource.getrlimit(resource.RLIMIT_AS) == bounds
reader.free_memory = free_memory
print(len(reader.read_bag(sys.argv[1]).messages))
reader.free_memory = lambda: 1 << 24
try:
    reader.read_bag(sys.argv[2])
except BagError as error:
    print(error)
"""


@pytest.mark.processes
def test_what_unpacks_into_more_than_is_free_is_refused(tmp_path: Path):
    """A few kilobytes that would become 64 MB where 16 MB are free; also in a file without its end.

    In a process of its own, which has no memory that others have freed.
    """
    with BagWriter(tmp_path / "bag", compressed=True) as writer:
        writer.add("/x", STRING)
        writer.write("/x", 0, bytes(1 << 26))
    file, cut = tmp_path / "bag" / "bag.mcap", tmp_path / "cut.mcap"
    assert file.stat().st_size < 100_000
    cut.write_bytes(file.read_bytes()[:-20])
    command = [sys.executable, "-c", LITTLE_MEMORY, str(file), str(cut)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert not done.stderr
    of_whole, n_messages, of_cut = done.stdout.splitlines()
    assert "takes more memory than is free" in of_whole
    assert re.search("more memory|can be read", of_cut)
    assert n_messages == "1"


def test_a_damaged_chunk_costs_its_own_messages(tmp_path: Path):
    writer = BagWriter(tmp_path / "bag", compressed=True)
    writer.add("/x", STRING)
    for chunk in range(3):
        for k in range(20):
            writer.put("/x", 20 * chunk + k, plain.string(f"{chunk} of 3, {k} " * 20))
        writer.flush()
    writer.close()
    file = tmp_path / "bag" / "bag.mcap"
    content = bytearray(file.read_bytes())
    starts = [match.start() for match in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), content)]
    assert len(starts) == 3, "each chunk begins with the magic number of zstd"
    content[starts[1]] = 0
    file.write_bytes(content)
    bag = read_bag(tmp_path / "bag")
    assert [message.log_ns for message in bag.messages] == [*range(20), *range(40, 60)]
    assert any("a chunk of" in text for text in bag.damage)


# -- what is computed -----------------------------------------------------------------------------


def test_slopes_of_lines_are_those_of_numpy_also_late_in_a_long_recording():
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.uniform(0.005, 0.015, 2500))
    t[1500:] += 1e6
    x = np.stack([np.sin(3 * (t % 100.0)), rng.normal(size=len(t))], axis=1)
    value, slope = fitted(t, x)
    for k in (0, 1, 999, 1000, 1234, 2499):
        near = np.abs(t - t[k]) <= 0.1
        line = np.polyfit(t[near] - t[k], x[near], 1)
        np.testing.assert_allclose([slope[k], value[k]], line, rtol=1e-6, atol=1e-6)


def test_the_first_difference_is_the_first_one_above_the_tolerance(ur5: RobotModel):
    stamps, tau = np.arange(5) * MS, np.zeros((5, 6))
    other = tau.copy()
    other[2, 1], other[3, 0], other[1, 4] = 1e-3, 5.0, 1e-9
    found = compare(Commands(stamps, tau), Commands(stamps[:4], other[:4]), ur5, 1e-9)
    assert (found.compared, found.missing, found.identical) == (4, 1, False)
    assert found.first == "joint_commands at 0.002000000 s: effort[shoulder_lift_joint] was 0 and is 0.001"
    np.testing.assert_allclose(found.largest * ur5.tau_max, np.abs(other).max(axis=0))
    nothing = compare(Commands(stamps, tau), Commands(stamps, tau * np.nan), ur5, 1e-9)
    assert nothing.first, "what is no number is a difference"


# -- the page -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick_pictures")
def test_nothing_from_a_bag_reaches_the_page_unescaped(tmp_path: Path):
    evil = "<script>alert(1)</script>"
    states = [state([evil, "_$x_$"], k, position=np.zeros(2), effort=np.ones(2)) for k in range(20)]
    messages = [("/joint_states", k, message) for k, message in enumerate(states)]
    written(tmp_path / "bag", {"/joint_states": JOINT_STATE}, messages, custom={evil: evil})
    assert cli.main(["report", str(tmp_path / "bag"), "-o", str(tmp_path / "page")]) == 0
    text = (tmp_path / "page" / "index.html").read_text()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.usefixtures("blank_pictures")
def test_a_report_can_be_written_whatever_a_bag_and_its_folder_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    path = filled(tmp_path / "run_1.5")
    metadata = path / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("note: x", 'note: "\\ud800"'))
    assert read_bag(path).custom["note"] == "\ud800", "which no file can hold as text"
    monkeypatch.chdir(path)
    assert cli.main(["report", "."]) == 0
    assert "\\ud800" in (tmp_path / "run_1.5_report" / "index.html").read_text()
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert cli.main(["report", "run_1.5"]) == 0
    assert "wrote run_1.5_report/index.html" in capsys.readouterr().out
    assert cli.main(["report", str(path), "-o", str(metadata)]) == 2
    assert "cannot be written: File exists" in capsys.readouterr().err


@pytest.mark.usefixtures("blank_pictures")
def test_a_report_is_about_the_time_before_it_starts_over(tmp_path: Path, ur5: RobotModel):
    """A second round has the same stamps: its states are left out, and so is its torque."""
    messages: list[Message] = [("/robot_description", 0, plain.string(urdf_path("ur5").read_text()))]
    for k in [0, 0, 0, *range(1, 20)]:
        ms, effort = k % 10, np.full(6, 1.0 if k < 10 else 100.0)
        messages.append(("/joint_states", k, state(ur5.joint_names, ms, position=np.zeros(6), velocity=np.zeros(6))))
        messages.append(("/joint_commands", k, state(ur5.joint_names, ms, effort=effort)))
    topics = {"/robot_description": STRING, "/joint_states": JOINT_STATE, "/joint_commands": JOINT_STATE}
    written(tmp_path / "bag", topics, messages)
    assert cli.main(["report", str(tmp_path / "bag"), "-o", str(tmp_path / "page")]) == 0
    text = (tmp_path / "page" / "index.html").read_text()
    said = "10 states of 6 joints in 0.009 s. 2 came again, as while an arm is paused. 10 more are left out, since"
    assert f"{said} they are not newer than all before" in text
    assert "<td>shoulder_pan_joint</td><td>1</td><td>150</td>" in text


@pytest.mark.usefixtures("quick_pictures")
def test_a_report_of_a_scenario_has_every_section(tmp_path: Path):
    assert cli.main(["report", str(GOLDEN / "ur5_moving_obstacle"), "-o", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text()
    assert "<strong>No targets to judge; largest torque 21 % of a limit.</strong>" in text
    assert "<dt>times</dt><dd>since the first state, which has the stamp 0.000000000 s&nbsp;</dd>" in text
    anchors, titles = zip(*re.findall('<h2 id="(.*?)">(.*?)</h2>', text), strict=True)
    assert re.findall('<a href="#(.*?)">(.*?)</a>', text) == [*zip(anchors, titles, strict=True)]
    titles = list(titles)
    assert titles[:4] == ["Joints", "Figures", "Tracking, conditioning, distances", "Path"]
    assert titles[4:] == ["Torque", "Model", "Rate and jitter", "Power", "What is in the bag"]
    images = re.findall('<img src="(.*?)"', text)
    assert len(images) == 7
    for image in images:
        header = (tmp_path / image).read_bytes()[:24]
        assert header.startswith(b"\x89PNG")
        assert min(struct.unpack(">II", header[16:24])) > 150


@pytest.mark.usefixtures("blank_pictures")
def test_a_report_says_which_targets_were_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("arm_control.report.bag_figures.MAX_SAMPLES", 10)
    for is_reached, verdict in ((True, "Every target was reached"), (False, "Targets missed: 2")):
        reaches = tuple(Reach(n, *[0.0] * 4, n == 1 or is_reached, *[0.0] * 4) for n in (1, 2))
        monkeypatch.setattr("arm_control.report.bag_report.make_report", lambda *_, r=reaches: Report(r, ()))
        assert cli.main(["report", str(GOLDEN / "ur5_moving_obstacle"), "-o", str(tmp_path)]) == 0
        assert f"<strong>{verdict}; largest torque" in (tmp_path / "index.html").read_text()


@pytest.mark.usefixtures("blank_pictures")
def test_lines_of_the_log_have_the_time_of_the_states(tmp_path: Path):
    messages: list[Message] = []
    for k in range(20):
        stamp = SimpleNamespace(sec=1_795_786_088, nanosec=0)
        line = {"stamp": stamp, "level": 20 + 10 * (k == 12), "name": "osc", "msg": "<late>"}
        messages.append(("/joint_states", 7000 + k, state(["a"], 500 + k, position=np.zeros(1))))
        messages.append(("/rosout", 7000 + k, SimpleNamespace(**line, file="", function="", line=0)))
    topics = {"/joint_states": JOINT_STATE, "/rosout": "rcl_interfaces/msg/Log"}
    written(tmp_path / "bag", topics, messages)
    assert cli.main(["report", str(tmp_path / "bag"), "-o", str(tmp_path / "page")]) == 0
    text = (tmp_path / "page" / "index.html").read_text()
    assert "since the first state, which has the stamp 0.500000000 s" in text
    assert "<td>0.012</td><td>warning</td><td>osc</td><td>&lt;late&gt;</td>" in text
    assert text.count("&lt;late&gt;") == 1
    assert "<strong>No targets to judge.</strong>" in text


@pytest.mark.usefixtures("quick_pictures")
def test_a_recording_without_stamps_and_velocities_is_counted_and_named(tmp_path: Path):
    path = DATA / "moredmps_C-Shape-1_joints.bag"
    _, (*_, count, _, _, n_zero, n_not_increasing, _, _) = topic_table(read_bag(path))
    assert (count, n_zero, n_not_increasing) == ("150", "150", "149")
    assert cli.main(["report", str(path), "-o", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text()
    assert "Their stamps are all the same" in text
    assert "between states, as written" in text
    assert "between states, by stamps" not in text
    assert "No velocities were recorded" in text
    assert "No torque was recorded" in text
