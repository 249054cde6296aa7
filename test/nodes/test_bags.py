"""Recording and playing live topics: what was recorded in lock step replays to the same bits, latched stays latched."""

from __future__ import annotations

import itertools
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rig import LATCHED, Rig
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String

from arm_control import RobotModel, urdf_path
from arm_control.bags import BagWriter, joint_series, plain, read_bag
from arm_control.exceptions import BagError
from arm_control.messages import JOINT_STATE, STRING
from arm_control.nodes import PlaybackOptions, TopicSelection, ros
from arm_control.nodes.support.topics import LOSSLESS, message_class
from arm_control.nodes.tools import bag_recorder as recorder
from arm_control.nodes.tools.bag_player import PlayerNode, is_effort
from arm_control.nodes.tools.bag_recorder import RecorderNode

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000


@pytest.mark.processes
def test_a_recording_can_be_read_however_it_ends(rig: Rig, ur5: RobotModel):
    """Ctrl-C gives a whole bag; a kill leaves what was handed over, here at least the first hundred states."""
    latched = rig.node.create_publisher(String, "robot_description", LATCHED)
    latched.publish(String(data="<robot/>"))
    paths = {ending: rig.folder / ending.name for ending in (signal.SIGINT, signal.SIGKILL)}
    for ending, path in paths.items():
        topics = ("joint_states", "/robot_description")
        rig.run(ending.name, "-m", "arm_control.app.cli", "record", "-o", str(path), *topics)
        begun = f"recording {', '.join(topics)} into the folder {path}; Ctrl-C ends it"
        rig.spin(lambda name=ending.name, begun=begun: begun in rig.log(name), what="the recorder's first line")
    states = rig.node.create_publisher(JointState, "joint_states", LOSSLESS)
    rig.spin(lambda: states.get_subscription_count() == 3 and latched.get_subscription_count() == 2, what="recorders")
    rig.spin(lambda: rig.matched()[0], what="own subscription")
    for k in range(100):
        states.publish(ros.joint_state(ur5.joint_names, k * MS, position=np.full(6, 0.001 * k)))
    rig.spin(lambda: len(rig.states) == 100)

    def n_written(path: Path) -> int:
        copy = rig.folder / "copy.mcap"
        try:
            shutil.copy(next(path.glob("*.mcap")), copy)
            return sum(message.topic.name == "/joint_states" for message in read_bag(copy).messages)
        except (StopIteration, ValueError):  # its header is not there yet
            return 0

    for ending, path in paths.items():
        rig.spin(lambda path=path: n_written(path) == 100, what="a flush")
        rig.processes[ending.name].send_signal(ending)
        rig.wait(ending.name)
        bag = read_bag(path)
        series = joint_series(bag, "joint_states")
        assert series.stamps.tolist() == [k * MS for k in range(100)]
        assert (np.diff(series.log) >= 0).all()
        assert [m.topic.latched for m in bag.messages if m.topic.name == "/robot_description"] == [True]
        assert bool(bag.damage) == (ending == signal.SIGKILL)
    assert f"{paths[signal.SIGINT]}: 101 messages" in rig.log("SIGINT")


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


def played(rig: Rig, path: Path, *options: str, until: Callable[[], Any] = lambda: False) -> str:
    """Play a bag; what is printed."""
    rig.command("replay", str(path), *options, interrupted_when=until)
    return rig.log("replay")


def made(rig: Rig) -> Path:
    """A bag of states every 5 ms, a latched description of before, and torque."""
    path = rig.folder / "made"
    with BagWriter(path) as bag:
        bag.add("/robot_description", STRING, latched=True, depth=1)
        bag.add("/joint_states", JOINT_STATE)
        bag.add("/joint_commands", JOINT_STATE)
        bag.add("/effort_controller/commands", "std_msgs/msg/Float64MultiArray")
        bag.put("/robot_description", 0, plain.string("<robot/>"))
        for k in range(60):
            values = {"position": np.array([0.1 * k]), "effort": np.array([1.0 * k])}
            for topic in ("/joint_states", "/joint_commands"):
                bag.put(topic, k * 5 * MS, plain.joint_state(["a"], k * 5 * MS, **values))
    return path


def test_a_bag_is_played_in_its_own_time_and_torque_is_not(rig: Rig):
    """Latched messages of before the start are there too, for those who come later as well."""
    path = made(rig)
    descriptions = rig.hear(String, "robot_description", LATCHED)
    text = played(rig, path, "--start", "0.1", "--duration", "0.15", "--wait")
    rig.spin(lambda: len(rig.states) >= 31, "the last state")
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


def test_a_loop_ends_with_ctrl_c_and_counts(rig: Rig):
    """What no topic of ROS 2 can be called is left out, and said; the rest goes on."""
    path = rig.folder / "loop"
    with BagWriter(path) as bag:
        for topic in ("/joint_states", "/1cam"):
            bag.add(topic, JOINT_STATE)
            for k in range(5):
                bag.put(topic, k * MS, plain.joint_state(["a"], k * MS, position=np.zeros(1)))
    text = played(rig, path, "--loop", "--rate", "0.1", "--wait", until=lambda: len(rig.states) > 12)
    assert "not played: /1cam: Invalid topic name" in text
    assert int(re.search(r"(\d+) messages played", text).group(1)) >= len(rig.states)


def test_torque_is_played_when_it_is_said(rig: Rig):
    text = played(rig, made(rig), "--arm", "--topics", "/joint_commands", "--rate", "4", "--wait")
    rig.spin(lambda: len(rig.commands) >= 60, "the last torque")
    assert [message.effort[0] for message in rig.commands] == [float(k) for k in range(60)]
    assert not rig.states
    assert "60 messages played" in text


def test_torque_that_is_asked_for_by_name_is_refused_without_it(rig: Rig):
    assert rig.command("replay", str(made(rig)), "--topics", "joint_commands") == 2
    assert "joint_commands is not played: it may move an arm; --arm plays it all the same" in rig.log("replay")


def test_a_topic_that_a_gate_obeys_is_an_effort_topic_whatever_its_name(rig: Rig):
    path = rig.folder / "other"
    with BagWriter(path) as bag:
        bag.add("/mine", JOINT_STATE)
        bag.put("/mine", 0, plain.joint_state(["a"], 0, effort=np.ones(1)))
    rig.start("gate", "-r", "effort_in:=mine", robot_description=urdf_path("ur5").read_text())
    rig.spin(lambda: "gate" in {i.node_name for i in rig.node.get_subscriptions_info_by_topic("/mine")}, what="gate")
    assert "not played: /mine: it may move an arm" in played(rig, path, "--wait")


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


def test_ros_1_is_played_as_ros_2_and_the_clock_with_it(rig: Rig):
    path = Path(__file__).parents[1] / "data" / "bags" / "ubr1_calibration_poses.bag"
    heard = rig.hear(JointState, "calibration_joint_states")
    clock = rig.hear(Clock, "/clock")
    assert "61 messages played" in played(rig, path, "--rate", "2000", "--clock", "--wait")
    rig.spin(lambda: len(heard) == 61, what="what is still on its way")
    series = joint_series(read_bag(path), "calibration_joint_states")
    assert [list(message.position) for message in heard] == series.position.tolist()
    assert len(clock) > 10
    stamps = [message.clock.sec for message in clock]
    assert all(a <= b for a, b in itertools.pairwise(stamps))
