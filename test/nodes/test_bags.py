"""Recording and playing live topics: what was recorded in lock step replays to the same bits, latched stays latched."""

from __future__ import annotations

import itertools
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from rig import LATCHED, Rig
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String

from arm_control import RobotModel, urdf_path
from arm_control.app import cli
from arm_control.bags import (
    BagWriter,
    Publication,
    ReplayOptions,
    compare,
    controller_of,
    joint_series,
    plain,
    read_bag,
    recorded_commands,
    replayed_commands,
)
from arm_control.exceptions import BagError
from arm_control.messages import JOINT_STATE, STRING
from arm_control.nodes import PlaybackOptions, TopicSelection, ros
from arm_control.nodes.support.topics import LOSSLESS, message_class
from arm_control.nodes.tools import bag_recorder as recorder
from arm_control.nodes.tools.bag_player import PlayerNode, is_effort
from arm_control.nodes.tools.bag_recorder import RecorderNode

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000
GOAL_TOPICS = ("/target_pose", "/joint_trajectory")


@pytest.mark.parametrize(
    ("scenario", "seconds", "changed"),
    [
        ("ur5_osc", 0.3, {"osc": {"kp_linear": 120.0}}),
        pytest.param("ur5_joint", 0.2, {}, marks=pytest.mark.campaign),
        pytest.param("ur5_ilqr", 0.2, {}, marks=pytest.mark.campaign),
        pytest.param("ur5_attractor", 0.2, {}, marks=pytest.mark.campaign),
    ],
)
@pytest.mark.processes
def test_a_run_in_lock_step_replays_to_the_same_bits(
    rig: Rig, scenario: str, seconds: float, changed: dict[str, dict[str, float]]
):
    """Every state and every command of a real run of the nodes is in the bag, and the law gives each command again.

    With the values of a parameter file, too.
    """
    path, file = rig.folder / "bag", rig.folder / "changed.yaml"
    file.write_text(yaml.safe_dump({node: {"ros__parameters": values} for node, values in changed.items()}))
    command = [
        "-m",
        "arm_control.app.cli",
        "run",
        scenario,
        "--duration",
        str(seconds),
        "--headless",
        "--bag",
        str(path),
        *(["--params-file", str(file)] if changed else []),
    ]
    assert rig.finish("run", *command) in (0, 1), rig.log("run")
    bag = read_bag(path)
    assert not bag.damage
    model, parameters = controller_of(bag, ReplayOptions())
    for value in changed.get("osc", {}).values():
        assert parameters.control.law.kp_linear == value
    recorded, replayed = recorded_commands(bag, model), replayed_commands(bag, model, parameters)
    n = round(seconds * 1000)
    assert recorded.stamps[:n].tolist() == [k * MS for k in range(n)], f"something was lost: {rig.log('run')}"
    assert np.unique(joint_series(bag, "joint_states").stamps)[:n].tolist() == [k * MS for k in range(n)]
    assert any(message.topic.name in GOAL_TOPICS for message in bag.messages), "nothing was to be done"
    assert np.array_equal(replayed.stamps, recorded.stamps)
    assert np.array_equal(replayed.tau, recorded.tau), str(compare(recorded, replayed, model, 0.0))
    assert bag.custom["scenario"] == scenario
    assert {topic.name for topic in bag.topics if topic.latched} >= {"/robot_description"}
    assert not bag.malformed


def recording(rig: Rig, *topics: str) -> Path:
    """A recorder of these topics that has heard of both."""
    path = rig.folder / "bag"
    rig.run("recorder", "-m", "arm_control.app.cli", "record", "-o", str(path), *topics)
    begun = f"recording {', '.join(topics)} into the folder {path}; Ctrl-C ends it"
    rig.spin(lambda: begun in rig.log("recorder"), what="the recorder's first line")
    return path


@pytest.mark.processes
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_recording_can_be_read_however_it_ends(rig: Rig, ur5: RobotModel, ending: signal.Signals):
    """Ctrl-C gives a whole bag; a kill leaves what was handed over, here at least the first hundred states."""
    latched = rig.node.create_publisher(String, "robot_description", LATCHED)
    latched.publish(String(data="<robot/>"))
    path = recording(rig, "joint_states", "/robot_description")
    states = rig.node.create_publisher(JointState, "joint_states", LOSSLESS)
    rig.spin(lambda: states.get_subscription_count() == 2 and latched.get_subscription_count() == 1, what="recorder")
    rig.spin(lambda: rig.matched()[0], what="own subscription")
    for k in range(100):
        states.publish(ros.joint_state(ur5.joint_names, k * MS, position=np.full(6, 0.001 * k)))
    rig.spin(lambda: len(rig.states) == 100)

    def n_written() -> int:
        for file in path.glob("*.mcap"):
            copy = rig.folder / "copy.mcap"
            shutil.copy(file, copy)
            try:
                return sum(message.topic.name == "/joint_states" for message in read_bag(copy).messages)
            except ValueError:  # its header is not there yet
                return 0
        return 0

    rig.spin(lambda: n_written() == 100, what="a flush")
    process = rig.processes["recorder"]
    process.send_signal(ending)
    rig.wait("recorder")
    bag = read_bag(path)
    series = joint_series(bag, "joint_states")
    assert series.stamps.tolist() == [k * MS for k in range(100)]
    assert (np.diff(series.log) >= 0).all()
    assert [m.topic.latched for m in bag.messages if m.topic.name == "/robot_description"] == [True]
    assert bool(bag.damage) == (ending == signal.SIGKILL)
    if ending == signal.SIGINT:
        assert f"{path}: 101 messages" in rig.log("recorder")


def test_a_recorder_that_hears_nothing_says_where_to_look_and_leaves_nothing(rig: Rig):
    path = rig.folder / "bag"
    begun = lambda: "Ctrl-C ends it" in rig.log("record")  # noqa: E731
    assert rig.command("record", "-o", str(path), "nobody_says_this", interrupted_when=begun) == 1
    assert not path.exists()
    *_, last = rig.log("record").splitlines()
    assert last.startswith(f"no message was received, {path} was not written: does a node publish")
    assert f"ROS_DOMAIN_ID ({rig.domain}), ROS_AUTOMATIC_DISCOVERY_RANGE (LOCALHOST)" in last


@pytest.mark.parametrize("complete", [False, True])
def test_an_end_that_is_missing_is_said(complete: bool, capsys: pytest.CaptureFixture[str]):
    node = SimpleNamespace(is_complete=lambda _: complete, fetch=lambda: None)
    recorder._wait_for_lost(node, 0.02)
    assert ("the end of the recording may be missing" in capsys.readouterr().err) is not complete


def test_a_loop_is_heard_once_every_node_is_known():
    """Targets are told once, and latched: one whose node is not known yet would be missing from a short run."""
    published: list[bool] = []
    present = ["simulator", "osc"]
    node = SimpleNamespace(
        _selection=TopicSelection(nodes=("simulator", "osc", "targets")),
        _is_ready=False,
        _matched_at=1e-9,
        _is_subscribed=lambda _: True,
        _has_control_loop=lambda: RecorderNode._has_control_loop(node),
        _ready=SimpleNamespace(publish=published.append),
        get_topic_names_and_types=list,
        get_node_names=lambda: present,
    )
    RecorderNode.discover(node)
    assert not published
    present.append("targets")
    RecorderNode.discover(node)
    assert len(published) == 1


def test_a_latched_topic_that_says_nothing_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch):
    """A message that was lost comes again within some seconds; a publisher that has none is not waited for."""
    now, n_publishers = [100.0], [1]
    monkeypatch.setattr(recorder.time, "monotonic", lambda: now[0])
    subscription = SimpleNamespace(get_publisher_count=lambda: n_publishers[0])
    source = recorder._Source(Bool, subscriptions={True: subscription}, latched_at=99.0)
    node = SimpleNamespace(_sources={"/a": source}, _is_subscribed=lambda _: False)
    assert not RecorderNode.is_complete(node, 0)
    n_publishers[0] = 0
    assert RecorderNode.is_complete(node, 0)
    n_publishers[0], now[0] = 1, 99.0 + recorder.LATCHED_TIMEOUT + 0.1
    assert RecorderNode.is_complete(node, 0)
    now[0], source.newest_ns = 99.1, 5
    assert RecorderNode.is_complete(node, 0)


@pytest.mark.parametrize("kind", ["no_msgs/msg/None", ".rclpy/msg/None", "/msg/None", "std_msgs/msg/None", "x"])
def test_a_type_that_is_none_is_not_installed(kind: str):
    with pytest.raises(BagError, match="is not installed"):
        message_class(kind)


def test_torque_is_known_by_its_topic_however_it_is_written():
    assert all(map(is_effort, ("/joint_commands", "/a/Commands", "/Effort_controller/x", "/arm/effort_in")))
    assert not any(map(is_effort, ("/joint_states", "/target_pose", "/torque_terms/gate")))


def played(rig: Rig, path: Path, *options: str) -> str:
    """Play a bag in a process of its own: it has a clock of its own, and Ctrl-C reaches nothing else."""
    process = rig.run("replay", "-m", "arm_control.app.cli", "replay", str(path), *options)
    rig.spin(lambda: process.poll() is not None, what="the end of the replay")
    return rig.log("replay")


def made(rig: Rig) -> Path:
    """A bag of states every 5 ms, a latched description of before, and torque."""
    path = rig.folder / "made"
    with BagWriter(path) as bag:
        bag.add("/robot_description", STRING, Publication(latched=True, depth=1))
        bag.add("/joint_states", JOINT_STATE)
        bag.add("/joint_commands", JOINT_STATE)
        bag.add("/effort_controller/commands", "std_msgs/msg/Float64MultiArray")
        bag.put("/robot_description", 0, plain.string("<robot/>"))
        for k in range(60):
            values = {"position": np.array([0.1 * k]), "effort": np.array([1.0 * k])}
            for topic in ("/joint_states", "/joint_commands"):
                bag.put(topic, k * 5 * MS, plain.joint_state(["a"], k * 5 * MS, **values))
    return path


@pytest.mark.processes
def test_a_bag_is_played_in_its_own_time_and_torque_is_not(rig: Rig):
    """Latched messages of before the start are there too, for those who come later as well."""
    path, descriptions = made(rig), []
    rig.hear(String, "robot_description", descriptions, LATCHED)
    text = played(rig, path, "--start", "0.1", "--duration", "0.15", "--wait")
    assert [message.position[0] for message in rig.states] == [pytest.approx(0.1 * k) for k in range(20, 51)]
    assert not rig.commands
    for topic in ("/joint_commands", "/effort_controller/commands"):
        assert f"not played: {topic}: it may move an arm; --arm plays it all the same" in text
    assert [message.data for message in descriptions] == ["<robot/>"]
    assert "32 messages played" in text


def test_a_start_after_the_end_is_said():
    bag = read_bag(GOLDEN / "ur5_osc")
    publishers = {id(topic): None for topic in bag.topics}
    node = SimpleNamespace(_bag=bag, _options=PlaybackOptions(start=30.0), _publishers_of=publishers)
    with pytest.raises(BagError, match=r"ur5_osc has nothing to play after 30 s: it lasts 0\.332 s"):
        PlayerNode._selected_messages(node)


@pytest.mark.processes
def test_a_loop_ends_with_ctrl_c_and_counts(rig: Rig):
    """What no topic of ROS 2 can be called is left out, and said; the rest goes on."""
    path = rig.folder / "loop"
    with BagWriter(path) as bag:
        for topic in ("/joint_states", "/1cam"):
            bag.add(topic, JOINT_STATE)
            for k in range(5):
                bag.put(topic, k * MS, plain.joint_state(["a"], k * MS, position=np.zeros(1)))
    loop = ("--loop", "--rate", "0.1", "--wait")
    process = rig.run("replay", "-m", "arm_control.app.cli", "replay", str(path), *loop)
    rig.spin(lambda: len(rig.states) > 12, what="a third round")
    process.send_signal(signal.SIGINT)
    rig.wait("replay")
    text = rig.log("replay")
    assert "not played: /1cam: Invalid topic name" in text
    assert int(re.search(r"(\d+) messages played", text).group(1)) >= len(rig.states)


@pytest.mark.processes
def test_torque_is_played_when_it_is_said(rig: Rig):
    text = played(rig, made(rig), "--arm", "--topics", "/joint_commands", "--rate", "4", "--wait")
    assert [message.effort[0] for message in rig.commands] == [float(k) for k in range(60)]
    assert not rig.states
    assert "60 messages played" in text


def test_torque_that_is_asked_for_by_name_is_refused_without_it(rig: Rig):
    assert rig.command("replay", str(made(rig)), "--topics", "joint_commands") == 2
    assert "joint_commands is not played: it may move an arm; --arm plays it all the same" in rig.log("replay")


@pytest.mark.processes
def test_a_topic_that_a_gate_obeys_is_an_effort_topic_whatever_its_name(rig: Rig):
    path = rig.folder / "other"
    with BagWriter(path) as bag:
        bag.add("/mine", JOINT_STATE)
        bag.put("/mine", 0, plain.joint_state(["a"], 0, effort=np.ones(1)))
    rig.start("gate", "-r", "effort_in:=mine", robot_description=urdf_path("ur5").read_text())
    rig.spin(lambda: "gate" in {i.node_name for i in rig.node.get_subscriptions_info_by_topic("/mine")}, what="gate")
    assert "not played: /mine: it may move an arm" in played(rig, path, "--wait")


@pytest.mark.processes
def test_states_are_not_mixed_with_those_of_another_arm(rig: Rig):
    """Whether the other arm is seen before the replay or in it: it ends there."""
    rig.start("simulator", robot="ur5")
    rig.spin(lambda: rig.states)
    text = played(rig, made(rig), "--topics", "joint_states", "--wait", "--loop")
    assert "another node publishes it already: the messages would mix" in text


@pytest.mark.parametrize("options", [["--topics", "joint_states"], []], ids=["named", "all"])
def test_a_replay_ends_when_another_arm_takes_all_of_its_topics(rig: Rig, options: list[str]):
    """Seen only in the middle of the replay; all topics but one are left out from the start."""
    path = rig.folder / "only_states"
    with BagWriter(path) as bag:
        bag.add("/joint_states", JOINT_STATE)
        bag.add("/joint_commands", JOINT_STATE)
        for k in range(20):
            for topic in ("/joint_states", "/joint_commands"):
                bag.put(topic, k * 5 * MS, plain.joint_state(["a"], k * 5 * MS, position=np.zeros(1)))

    def another_arm() -> bool:
        """Start one in the middle of the first round; nobody presses Ctrl-C."""
        if rig.states and "simulator" not in rig.processes:
            rig.start("simulator", robot="ur5")
        return False

    status = rig.command("replay", str(path), "--loop", *options, interrupted_when=another_arm)
    assert "another node publishes it already: the messages would mix" in rig.log("replay"), status


@pytest.mark.processes
def test_ros_1_is_played_as_ros_2_and_the_clock_with_it(rig: Rig):
    path = Path(__file__).parents[1] / "data" / "bags" / "ubr1_calibration_poses.bag"
    heard: list[JointState] = []
    clock: list[Clock] = []
    rig.hear(JointState, "calibration_joint_states", heard)
    rig.hear(Clock, "/clock", clock)
    assert "61 messages played" in played(rig, path, "--rate", "2000", "--clock", "--wait")
    rig.spin(lambda: len(heard) == 61, what="what is still on its way")
    series = joint_series(read_bag(path), "calibration_joint_states")
    assert [list(message.position) for message in heard] == series.position.tolist()
    assert len(clock) > 10
    stamps = [message.clock.sec for message in clock]
    assert all(a <= b for a, b in itertools.pairwise(stamps))


@pytest.mark.processes
def test_offline_and_report_need_no_ros(tmp_path: Path):
    code = (
        "import sys; sys.modules['rclpy'] = None; from arm_control.app import cli;"
        f"a = cli.main(['replay', {str(GOLDEN / 'planar2_reach')!r}, '--offline']);"
        f"b = cli.main(['report', {str(GOLDEN / 'planar2_reach')!r}, '-o', {str(tmp_path)!r}]); sys.exit(a + b)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
    assert cli.main(["replay", str(GOLDEN / "planar2_reach"), "--offline", "--tolerance", "0"]) == 0
