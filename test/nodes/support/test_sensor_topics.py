"""Topics of the sensors of a simulated arm: their frames, their times, and what a bag has of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Range

from arm_control.bags import SimulatedBag, read_bag
from arm_control.messages import nanoseconds
from arm_control.model import RobotModel
from arm_control.nodes.support import plant_node
from arm_control.nodes.support.plant_node import SensorTopics
from arm_control.simulation import RangeSensor, Scenario, Simulation

MS = 1_000_000
F_E = np.array([1.0, 2.0, 3.0, 0.4, 0.5, 0.6])


class Node:
    """A node that only has a model, and what its publishers have sent."""

    def __init__(self, model: RobotModel) -> None:
        self.model, self.sent = model, {}
        self.state_qos = lambda: 1

    def frame(self, link: str) -> str:
        return f"left_{link}"

    def create_publisher(self, kind: Any, topic: str, _: Any) -> Any:
        self.sent[topic] = []
        return SimpleNamespace(publish=lambda message: self.sent[topic].append(kind and message))


def test_each_topic_has_its_rate_its_frame_and_its_type(ur5: RobotModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plant_node, "TFMessage", SimpleNamespace)
    node, cone = Node(ur5), {"field_of_view": 0.5, "rays": 9, "max_range": 3.0}
    ranges = RangeSensor(name="a", rate=500.0), RangeSensor(name="b", position=(0.0, 0.0, 0.1), rate=200.0, **cone)
    topics = SensorTopics(node, ranges, 250.0)  # type: ignore[arg-type]
    distances: dict[str, float | None] = {}
    sensors = SimpleNamespace(wrench=lambda: F_E, distance=lambda sensor: distances[sensor.name])
    for k in range(12):
        distances |= {"a": 0.1 * k, "b": None if k > 5 else np.inf}
        topics.publish(k * MS, sensors)
    wrenches, a, b = node.sent["wrench"], node.sent["range/a"], node.sent["range/b"]
    assert [nanoseconds(message.header.stamp) // MS for message in wrenches] == [0, 4, 8]
    assert [nanoseconds(message.header.stamp) // MS for message in a] == [0, 2, 4, 6, 8, 10]
    assert [nanoseconds(message.header.stamp) // MS for message in b] == [0, 5], "nothing without a measurement"
    assert isinstance(wrenches[0], WrenchStamped)
    assert wrenches[0].header.frame_id == "left_tool0"
    assert (wrenches[0].wrench.force.y, wrenches[0].wrench.torque.z) == (2.0, 0.6)
    assert isinstance(a[1], Range)
    assert (a[0].header.frame_id, a[0].radiation_type, a[1].range) == ("left_tool0", Range.INFRARED, pytest.approx(0.2))
    assert (b[0].header.frame_id, b[0].radiation_type, b[0].range) == ("left_range_b", Range.ULTRASOUND, np.inf)
    assert (b[0].field_of_view, b[0].max_range) == pytest.approx((0.5, 3.0))
    ((message,),) = [node.sent["/tf_static"]]
    (transform,) = message.transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ("left_tool0", "left_range_b")
    assert transform.transform.translation.z == 0.1


def test_a_bag_has_what_the_sensors_measure(tmp_path: Path):
    """Of 1 kg at rest, its weight; of the hand's height, the distance; REP 117 where the floor is too far."""
    scenario = Scenario.load("ur5_sensors")
    simulation = Simulation(scenario)
    with SimulatedBag(tmp_path / "bag", simulation, scenario) as recorder:
        trace = simulation.run(0.1, recorder=recorder)
    bag = read_bag(tmp_path / "bag")
    wrenches = [message for _, _, message in bag.contents("wrench")]
    distances = [message for _, _, message in bag.contents("range/hand")]
    assert [nanoseconds(message.header.stamp) for message in wrenches] == [k * 10 * MS for k in range(10)]
    assert wrenches[0].wrench.force.z == pytest.approx(9.81, rel=1e-5)
    assert [message.range for message in distances] == pytest.approx(trace.p[::20, 2], rel=1e-4)
    assert distances[0].header.frame_id == "range_hand"
