"""The page on real ROS: what is dragged and pressed in a browser arrives; what only looks publishes nothing."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rig import HOME, Rig, spin_through_stalls
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from arm_control import RobotModel, urdf_path
from arm_control.control import FAULT
from arm_control.core import yaml_document
from arm_control.maths import Pose
from arm_control.messages import pose_from_message
from arm_control.motion import Target
from arm_control.nodes import ros
from arm_control.nodes.support.page_requests import may_be_braked, status_line
from arm_control.nodes.viewer import ViewerNode
from arm_control.viewer import FIELD_OF_VIEW, Line, MarkerStore, PageCommand, arm_parts, camera_of, mesh_roots
from arm_control.viewer.constraint_drawings import ACTING

sys.path.insert(0, str(Path(__file__).parents[1] / "viewer"))
from browser import drag, middle, opened, projection

PATIENT = {"max_missed": 1000, "max_age": 5.0}
"""Gates that a stall of the machine does not trip: the browser draws in software."""


def address(rig: Rig) -> str:
    """Where the page is, once it is there."""
    return rig.spin(lambda: re.search(r"http://\S+", rig.log("viewer")), "the page's address").group()


def published_by(rig: Rig, node: str) -> set[str]:
    """Topics of a node, without those that every node has."""
    topics = {name for name, _ in rig.node.get_publisher_names_and_types_by_node(node, "/")}
    return topics - {"/rosout", "/parameter_events"}


# -- in a browser -------------------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.real_time
def test_a_slider_in_the_page_moves_the_joint(rig: Rig, ur5: RobotModel):
    rig.start_process("viewer", robot="ur5", control=True, port=0)
    with opened(address(rig)) as page:
        rig.spin(lambda: rig.states, what="joint_states of the viewer, which is alone")
        assert list(rig.states[-1].name) == list(ur5.joint_names)
        assert rig.states[-1].position[2] == 0.0
        elbow = page.get_by_role("slider").nth(2)  # behind those of two joints

        def pull() -> bool:
            """Pull the slider; one that was not free to be moved yet, or was just moved on the page, stays."""
            thumb, end = middle(page, elbow), time.monotonic() + 3.0
            drag(page, thumb, thumb + [40.0, 0.0])
            rig.spin(lambda: rig.states[-1].position[2] > 0.3 or time.monotonic() > end)
            return rig.states[-1].position[2] > 0.3

        rig.spin(pull, "the elbow's joint state")
        others = np.delete(rig.states[-1].position, 2)
        np.testing.assert_allclose(others, 0.0)
        assert rig.states[-1].position[2] <= ur5.q_max[2]
        assert "/joint_states" in published_by(rig, "viewer")
        rig.node.create_publisher(JointState, "joint_commands", 1)  # a controller, which waits for a real arm
        rig.spin(lambda: "/joint_states" not in published_by(rig, "viewer"), what="the viewer to make way")


@pytest.mark.campaign
@pytest.mark.processes
@pytest.mark.real_time
def test_a_target_that_is_dragged_in_the_page_is_followed(rig: Rig, ur5: RobotModel):
    targets = rig.hear(PoseStamped, "target_pose")
    rig.start_process("osc", publish_effort_array=False, speed_limit_linear=0.5, rate=200.0, **PATIENT)
    rig.start_process("simulator", robot="ur5", initial_position=HOME, timestep=0.005, **PATIENT)
    rig.start_process("viewer", control=True, port=0)
    start = ur5.pose(HOME)
    with opened(address(rig)) as page:
        rig.until(0.1)
        page.get_by_text("passing commands").wait_for()
        page.get_by_text("error at the target").wait_for()  # the plots take their room when there are some
        page.wait_for_timeout(500)
        project = projection(page, *camera_of(ur5, arm_parts(ur5, mesh_roots())[0]), FIELD_OF_VIEW)
        along = start.R[:, 0]  # the red arrow of the target

        def pull_target() -> bool:
            """Pull the arrow; a browser that had not drawn it yet has missed that."""
            end = time.monotonic() + 3.0
            drag(page, project(start.p + 0.1 * along), project(start.p + 0.25 * along))
            rig.spin(lambda: targets or time.monotonic() > end)
            return bool(targets)

        rig.spin(pull_target, what="a target_pose")
        wanted = start.p + 0.15 * along
        rig.spin(lambda: np.allclose(pose_from_message(targets[-1]).p, wanted, atol=0.03), what="the end of the drag")
        page.wait_for_timeout(500)
        rig.spin(lambda: True)
        goal = pose_from_message(targets[-1])
        assert (targets[-1].header.frame_id, targets[-1].header.stamp.sec) == ("base_link", 0)
        np.testing.assert_allclose(goal.p, start.p + 0.15 * along, atol=0.03)
        np.testing.assert_allclose(goal.R, start.R, atol=1e-5)
        goals = rig.publisher(PoseStamped, "target_pose")
        spin_through_stalls(  # on a busy machine the browser tells the end of the drag late
            rig,
            lambda: distance(ur5, rig.states[-1], pose_from_message(targets[-1])) < 0.002,
            "the end effector at the target",
            lambda: goals.publish(targets[-1]),
        )
        assert published_by(rig, "viewer") == {"/target_pose", "/obstacles"}, "somebody else has the joints"

        page.reload()
        page.get_by_text("passing commands").wait_for()
        assert "token" not in page.url
        local = ("http://127.0.0.1:", "ws://127.0.0.1:", "blob:http://127.0.0.1:", "data:")
        assert page.requests
        assert not [url for url in page.requests if not url.startswith(local)], "no request leaves the machine"

        page.get_by_text("Gains", exact=True).click()
        row = page.get_by_text("acceleration_limit_linear [m/s^2]", exact=True)
        row.wait_for()
        field = row.locator("xpath=ancestor::*[.//input][1]").locator("input").last
        field.fill("0.01")
        field.press("Enter")
        page.get_by_text("is too small to stop from speed_limit_linear").wait_for()

        page.get_by_text("pause", exact=True).click()
        page.get_by_text("pause: paused").wait_for()

        def step() -> bool:
            """Press the button; its note stays for 2 s, which a browser on a busy machine may miss."""
            page.get_by_text("step", exact=True).click()
            end, note = time.monotonic() + 3.0, page.get_by_text(re.compile(r"step: at \d"))
            return bool(rig.spin(lambda: note.count() or time.monotonic() > end) and note.count())

        rig.spin(step, what="the note of a step")


def distance(model: RobotModel, state: JointState, goal: Pose) -> float:
    return float(np.linalg.norm(model.pose(model.in_joint_order(state.name, state.position)).p - goal.p))


# -- without one --------------------------------------------------------------------------------------


def test_what_only_looks_has_nothing_to_publish_with(rig: Rig):
    rig.start("viewer", robot="ur5", port=0)
    address(rig)
    rig.spin(lambda: "viewer" in rig.node.get_node_names(), what="the node")
    assert published_by(rig, "viewer") == set()
    rig.start("dynamics", robot_description=urdf_path("ur5").read_text())
    rig.spin(lambda: "dynamics" in rig.node.get_node_names(), what="another node")
    assert published_by(rig, "viewer") == set()
    clients = {name for name, _ in rig.node.get_client_names_and_types_by_node("viewer", "/")}
    assert clients == set(), "nobody is there whom it might ask"


def obstacle(number: int, x: float) -> Marker:
    marker = Marker(ns="scenario", id=number, type=Marker.SPHERE, action=Marker.ADD)
    marker.pose.position.x, marker.pose.orientation.w = x, 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 0.1
    return marker


@pytest.fixture
def looking(rig: Rig) -> Iterator[ViewerNode]:
    """The node in this process, in a namespace and with a topic of another name; nobody spins it."""
    renamed = ["-r", "__ns:=/left", "-r", "joint_states:=/driver/states"]
    given = ["-p", "robot:=ur5", "-p", "control:=true", "-p", "port:=0"]
    rclpy.init(args=["viewer", "--ros-args", *renamed, *given], domain_id=rig.domain)
    node = ViewerNode()
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def test_who_drives_the_arm_is_seen_under_the_names_that_count(looking: ViewerNode, rig: Rig):
    def seen(here: bool) -> bool:
        looking.service_clients.discover()
        return looking.has_company() is here

    assert not looking.has_company()
    rig.node.create_publisher(JointState, "/left/joint_states", 1)  # that name is another topic here
    states = rig.node.create_publisher(JointState, "/driver/states", 1)
    rig.spin(lambda: seen(True), what="the driver's states")
    rig.node.destroy_publisher(states)
    rig.spin(lambda: seen(False), what="nobody")
    gate = Node("gate", namespace="/left", context=rig.context)
    rig.spin(lambda: seen(True), what="a gate, whatever its topics are called")
    gate.destroy_node()


def test_what_other_arms_say_of_themselves_is_not_shown(looking: ViewerNode, rig: Rig):
    said = rig.publisher(DiagnosticArray, "/diagnostics")
    names = ("/right/simulator", "/left/simulator", "/right/osc", "/osc")
    said.publish(DiagnosticArray(status=[DiagnosticStatus(name=name, message=name) for name in names]))

    def shown() -> set[str]:
        looking._read_slow_topics()
        return {status.message for status in looking._diagnostics.values()}

    rig.spin(shown, what="a status")
    assert shown() == {"/left/simulator"}


@pytest.mark.parametrize(
    ("name", "level", "braked", "message", "control", "expected"),
    [
        ("osc", 0, False, "passing commands", True, ("passing commands", 0)),
        ("osc", 1, False, "waiting for the first command", True, ("waiting for the first command", 1)),
        ("ilqr", 1, False, "no plan: too far", True, ("no plan: too far", 1)),
        ("joint", 1, False, "tolerance violated", True, ("tolerance violated", 1)),
        ("osc", 1, False, "held: gate: no state", True, ("held: gate: no state", 1)),
        ("osc", 1, True, "no state for 500 ms", True, ("BRAKED: no state for 500 ms: press enable", 2)),
        ("gate", 1, True, "disabled", False, ("BRAKED: disabled: call gate/enable", 2)),
        ("visuals", 1, None, "late", True, ("late", 1)),
        ("simulator", 2, True, "it exploded", True, ("it exploded", 2)),
        ("osc", 3, None, "stale", True, ("stale", 2)),
    ],
)
def test_what_a_braked_gate_says_is_what_to_do(
    name: str, level: int, braked: bool | None, message: str, control: bool, expected: tuple[str, int]
):
    values = [KeyValue(key="rate [Hz]", value="99.6")]
    values += [] if braked is None else [KeyValue(key="braked", value=str(braked))]
    status = DiagnosticStatus(level=bytes([level]), message=message, values=values)
    assert status_line(name, status, control) == (*expected, "100 Hz")
    assert may_be_braked(status) is (braked is not False)
    assert may_be_braked(None), "who says nothing"


def test_obstacles_have_the_time_of_the_states_when_nobody_looks(looking: ViewerNode, rig: Rig, ur5: RobotModel):
    """Else the last speed of one that was dragged would stay: its stamp would not go on."""
    heard = rig.hear(MarkerArray, "/left/obstacles")
    states = rig.node.create_publisher(JointState, "/driver/states", 1)

    def told(seconds: int) -> bool:
        states.publish(ros.joint_state(ur5.joint_names, seconds * 1_000_000_000, position=np.array(HOME)))
        looking._on_round()
        return bool(heard) and heard[-1].markers[0].header.stamp.sec == seconds

    looking.page.commands.put("add", "ball")
    for seconds in (3, 4):
        rig.spin(partial(told, seconds), what=f"the obstacle, told at {seconds} s")
    looking.page.commands.put("remove")
    looking._on_round()
    looking._on_round()
    topics = [topic.topic_name for topic in looking.subscriptions]
    assert "/driver/states" not in topics, "there is nothing to be told any more"


def test_a_target_out_of_reach_is_red_and_the_status_says_why(looking: ViewerNode, ur5: RobotModel):
    looking._has_state, looking.q, looking.now_ns = True, np.array(HOME), 1_000_000
    X = ur5.pose(HOME)
    for p, is_red, said in ((X.p + [0.0, 0.05, 0.0], False, "on the way"), ([3.0, 0.0, 0.0], True, "out of reach")):
        looking._goals.add(Target(looking.now_ns, "base_link", Pose(X.R, np.array(p)), True))
        looking._round = 0
        looking._draw()
        assert looking.page.scene._unreachable.visible is is_red
        line = looking._target_line()
        assert line is not None
        assert line.text.startswith(said)
        looking.now_ns += 1_000_000


def test_the_pace_of_simulated_time_is_shown(looking: ViewerNode, monkeypatch: pytest.MonkeyPatch):
    wall, shown = iter((10.0, 12.0, 14.0, 15.0)), []
    clock = SimpleNamespace(monotonic=lambda: next(wall))  # of this module, not of the page's thread
    monkeypatch.setattr("arm_control.nodes.viewer.time", clock)
    for seconds in (5, 6, 6, 7):  # two wall seconds for one, then a pause
        looking.now_ns = seconds * 1_000_000_000
        shown.append(looking.status()["time"].figure)
    assert shown == ["5.00 s", "6.00 s, 0.50 times real time", "6.00 s", "7.00 s, 1.00 times real time"]


def test_a_target_that_is_missed_shows_what_the_controller_says_of_it(looking: ViewerNode, ur5: RobotModel):
    looking._has_state, looking.q, looking.now_ns = True, np.array(HOME), 1_000_000
    X, why = ur5.pose(HOME), "tool0 (avoidance holds it, 40 mm between wrist_3_link and obstacle 0: see threshold)"
    looking._goals.add(Target(looking.now_ns, "base_link", Pose(X.R, X.p + [0.0, 0.05, 0.0]), True))
    for seconds in (0, 10):
        looking.now_ns = 1_000_000 + seconds * 1_000_000_000
        looking._round = 0
        looking._draw()
    for message, said in (("passing commands", "by friction or a payload"), (f"{FAULT}: {why}", why)):
        looking.service_clients.controller = "osc"
        looking._diagnostics["osc"] = DiagnosticStatus(name="osc", message=message)
        line = looking._target_line()
        assert line is not None
        assert line.text.startswith(f"within reach, but held: {said}")


def test_constraints_of_the_controller_are_drawn_and_those_that_act_stand_out(looking: ViewerNode, tmp_path: Path):
    wall = {"name": "wall", "kind": "half_space", "point": [0.5, 0, 0], "normal": [-1, 0, 0]}
    glass = {"name": "glass", "kind": "upright", "angle": 0.3}
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(yaml_document({"constraints": [wall, glass]}))
    bad.write_text(yaml_document({"constraints": [wall, {**glass, "points": [[0.0, 1.0]]}]}))
    figures = {"active constraints": "joint limits, wall", "smallest margin": "2 mm: wall (hand)"}
    values = [KeyValue(key=key, value=value) for key, value in figures.items()]
    looking._diagnostics["osc"] = DiagnosticStatus(name="osc", values=values)
    looking.service_clients.constraints = {"gate": "", "simulator": str(bad), "osc": str(good)}
    looking._draw()
    drawn = {key: drawing for key, (drawing, _) in looking.page.scene._drawings.items()}
    assert [key for key, drawing in drawn.items() if drawing.rgba == ACTING] == [("osc", ("constraint", "wall", 0))]
    assert len(drawn) == 3, "one wall, a cone and an axis; nothing of the file that cannot be drawn"
    assert looking.status()["constraints"] == Line("joint limits, wall acting, least", figure="2 mm: wall (hand)")
    looking.service_clients.constraints = {"gate": ""}
    looking._draw()
    assert not looking.page.scene._drawings
    assert "constraints" not in looking.status()


class Recorder:
    """In the place of the node ``viewer``: keeps what is published, by topic."""

    def __init__(self, model: RobotModel) -> None:
        from arm_control.nodes.support.page_requests import PageCommandRunner

        self.model, self.q, self.now_ns, self.alone = model, np.array(HOME), 5_000_000_000, False
        self.sent: dict[str, list[Any]] = {}
        self.said: list[str] = []
        self.obstacles = MarkerStore(lambda frame: model.pose(HOME, frame or model.base))
        notify = lambda text, is_error: self.said.append(text)  # noqa: E731
        self.runner = PageCommandRunner(self, SimpleNamespace(), self.obstacles, notify)  # type: ignore[arg-type]

    @property
    def is_alone(self) -> bool:
        return self.alone

    def has_company(self) -> bool:
        return not self.alone

    def frame(self, link: str) -> str:
        return link

    def create_publisher(self, _: Any, topic: str, __: Any) -> Any:
        return SimpleNamespace(publish=lambda message: self.sent.setdefault(topic, []).append(message))

    def destroy_publisher(self, _: Any) -> None:
        del self.sent["joint_states"]

    def publish_joints(self, publisher: Any) -> None:
        publisher.publish(self.q)

    def do(self, *commands: PageCommand) -> None:
        for command in commands:
            self.runner.run(command)
        self.runner.publish()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("arm_control.nodes.support.page_requests.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def node(ur5: RobotModel, clock: list[float]) -> Recorder:
    return Recorder(ur5)


def place(x: float) -> Pose:
    return Pose(np.eye(3), np.array([x, 0.1, 0.2]))


def test_a_target_is_told_at_most_twenty_times_a_second_the_newest_one(node: Recorder, clock: list[float]):
    for i in range(100):  # a drag of one second
        node.do(PageCommand("target", "target", place(0.01 * i)))
        clock[0] += 0.01
    clock[0] += 1.0
    node.do()
    xs = [message.pose.position.x for message in node.sent["target_pose"]]
    assert 18 <= len(xs) <= 21
    assert xs == sorted(xs)
    assert xs[-1] == pytest.approx(0.99), "the last place is told in any case"
    node.do()
    assert len(node.sent["target_pose"]) == len(xs)


def test_obstacles_are_added_moved_told_again_and_removed(node: Recorder, clock: list[float]):
    node.do(PageCommand("add", "ball"), PageCommand("add", "box"))
    (first,) = node.sent["obstacles"]
    assert [(m.ns, m.id, m.type) for m in first.markers] == [("viewer", 1, Marker.SPHERE), ("viewer", 2, Marker.CUBE)]
    assert first.markers[0].header.frame_id == "base_link"
    away = [first.markers[0].pose.position.x, first.markers[0].pose.position.y]
    assert np.hypot(*away) == pytest.approx(np.hypot(*node.model.pose(HOME).p[:2]) + 0.3)
    clock[0] += 0.1
    node.do(PageCommand("obstacle", ("viewer", 1), place(0.5)))
    assert [(m.id, m.pose.position.x, m.header.stamp.sec) for m in node.sent["obstacles"][1].markers] == [(1, 0.5, 5)]
    clock[0] += 1.0
    node.do()
    assert [m.id for m in node.sent["obstacles"][2].markers] == [1, 2], "all of them, for those who come later"
    node.do(PageCommand("remove"), PageCommand("remove"), PageCommand("remove"))
    gone = [(m.id, m.action) for message in node.sent["obstacles"][3:] for m in message.markers]
    assert gone == [(2, Marker.DELETE), (1, Marker.DELETE)]
    assert node.said == ["no obstacle was added here"]


def test_an_obstacle_of_others_is_told_here_once_it_is_moved(node: Recorder, clock: list[float]):
    theirs = obstacle(3, 0.9)
    theirs.lifetime.sec, theirs.header.frame_id = 2, "tool0"
    node.obstacles.update(MarkerArray(markers=[theirs]), 0)
    node.do(PageCommand("obstacle", ("scenario", 3), place(0.5)), PageCommand("obstacle", ("scenario", 99), place(0.5)))
    (message,) = node.sent["obstacles"]
    (marker,) = message.markers
    assert (marker.ns, marker.id, marker.scale.x) == ("scenario", 3, 0.1)
    assert (marker.pose.position.x, marker.header.frame_id, marker.lifetime.sec) == (0.5, "base_link", 0)
    assert (theirs.header.frame_id, theirs.lifetime.sec) == ("tool0", 2), "what was heard stays as it was"


def test_joints_are_told_only_where_nobody_else_does(node: Recorder):
    node.do()
    assert "joint_states" not in node.sent
    node.alone = True
    node.do()
    assert len(node.sent["joint_states"]) == 1
    node.alone = False
    node.do()
    assert "joint_states" not in node.sent
