"""What the node ``proximity`` publishes of a state, without ROS."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import Pose, RobotModel
from arm_control.bags import plain
from arm_control.collision import ContactMonitor
from arm_control.maths import Obstacle, Sphere
from arm_control.messages import ADD, DELETE, LINE_LIST
from arm_control.processes import ProximityParameters, ProximityProcess
from arm_control.processes.proximity_process import CONTACT_COLOUR, FREE_COLOUR

Q = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


@pytest.fixture(scope="module")
def monitor(ur5: RobotModel) -> ContactMonitor:
    return ContactMonitor(ur5)


def ball_below(monitor: ContactMonitor, gap: float) -> Obstacle:
    """A ball at a distance from the lowest point of the forearm's middle."""
    forearm = [c for c in monitor.proximity.capsules if c.link == "forearm_link"]
    capsule = max(forearm, key=lambda c: float(np.linalg.norm(c.b - c.a)))
    X_WL = monitor.model.pose(Q, capsule.link)
    middle = X_WL.R @ ((capsule.a + capsule.b) / 2) + X_WL.p
    along = X_WL.R @ (capsule.b - capsule.a)
    down = np.cross(along, [0.0, 1.0, 0.0])
    down /= -np.sign(down[2]) * np.linalg.norm(down)
    return Obstacle(Sphere(0.02), Pose(np.eye(3), middle + (capsule.radius + 0.02 + gap) * down))


def process(monitor: ContactMonitor, **values: float) -> ProximityProcess:
    return ProximityProcess(monitor, ProximityParameters(**values), plain)


@pytest.mark.parametrize(
    ("gap", "margin", "text"),
    [
        (-0.02, 0.0, "in contact: forearm_link - scene/3, 0.0200 m deep"),
        (0.001, 0.002, "within the margin: forearm_link - scene/3, 0.0010 m"),
        (0.001, 0.0, "free of contact: forearm_link - scene/3, 0.0010 m"),
    ],
)
def test_the_verdict_says_what_is_nearest(monitor: ContactMonitor, gap: float, margin: float, text: str):
    verdict = process(monitor, margin=margin).verdict(Q, [ball_below(monitor, gap)], ["scene/3"])
    assert verdict.text == text
    assert verdict.in_collision is (not text.startswith("free"))


def test_a_margin_beyond_the_reach_counts_and_nothing_within_reach_is_said(monitor: ContactMonitor):
    ball = ball_below(monitor, 0.05)
    assert process(monitor, margin=0.1, reach=0.0).verdict(Q, [ball], ["b"]).in_collision
    nothing = process(monitor, reach=0.0).verdict(Q, [ball], ["b"])
    assert (nothing.pairs, nothing.text) == ([], "free of contact: nothing within reach")


def test_distances_are_labelled_and_few(monitor: ContactMonitor):
    """Separators in the name of a marker do not end its label; a contact beyond the last row still counts."""
    balls = [ball_below(monitor, gap) for gap in (0.03, -0.01, 0.02)]
    measuring = process(monitor, most_pairs=2)
    verdict = measuring.verdict(Q, balls, ["a", "b, c;\n", "d"])
    message = measuring.distances(verdict, 1_500_000_000)
    (rows,) = message.layout.dim
    assert rows.label.endswith("; stamp: 1.500000000")
    labels = rows.label.removeprefix("rows: ").partition("; ")[0].split(", ")
    assert labels[0] == "forearm_link - b_ c_\\n"
    assert (rows.size, len(message.data), len(labels)) == (2, 2, 2)
    assert message.data[0] == pytest.approx(-0.01, abs=1e-6)
    assert list(message.data) == sorted(message.data)


def test_lines_go_from_surface_to_surface(monitor: ContactMonitor):
    measuring = process(monitor, reach=0.03)
    verdict = measuring.verdict(Q, [ball_below(monitor, -0.01), ball_below(monitor, 0.02)], ["a", "b"])
    markers = measuring.lines(verdict, "left/base_link", 10**9).markers
    drawn = []
    for number, (marker, colour) in enumerate(zip(markers, (CONTACT_COLOUR, FREE_COLOUR), strict=True)):
        assert (marker.type, marker.action, marker.id) == (LINE_LIST, ADD, number)
        assert marker.header.frame_id == "left/base_link"
        assert (marker.color.r, marker.color.g, marker.color.b, marker.color.a) == pytest.approx(colour)
        ends = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 2, 3)
        drawn += [np.linalg.norm(a - b) * (1 - 2 * (colour == CONTACT_COLOUR)) for a, b in ends]
    assert drawn == pytest.approx([pair.distance for pair in verdict.pairs])


def test_lines_are_deleted_where_nothing_is_near(monitor: ContactMonitor):
    measuring = process(monitor, reach=0.0)
    markers = measuring.lines(measuring.verdict(Q, [], []), "base_link", 10**9).markers
    assert [(marker.action, len(marker.points)) for marker in markers] == [(DELETE, 0)] * 2


def test_links_have_a_margin_of_their_own(monitor: ContactMonitor):
    """Two links of the wrist are 2.6 mm from each other in every state."""
    assert not process(monitor, margin=0.01).verdict(Q, [], []).in_collision
    verdict = process(monitor, link_margin=0.01).verdict(Q, [ball_below(monitor, 0.005)], ["b"])
    assert (verdict.contact.label, verdict.text) == (
        "wrist_1_link - wrist_3_link",
        "within the margin: wrist_1_link - wrist_3_link, 0.0026 m",
    )


def test_live_parameters_act_on_the_next_state(monitor: ContactMonitor):
    measuring, ball = process(monitor), [ball_below(monitor, 0.02)]
    assert not measuring.verdict(Q, ball, ["b"]).in_collision
    measuring.parameters = ProximityParameters(margin=0.05)
    assert measuring.verdict(Q, ball, ["b"]).in_collision
