"""Range sensors: distances in closed form, what is out of range, and entries of a scenario that are refused."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arm_control.exceptions import FrameNotFound, ParameterError
from arm_control.model import RobotModel
from arm_control.simulation import RangeSensor, Scenario, SimulatedSensors, World
from arm_control.simulation.sensors import range_sensors_of

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
DOWN = (0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5))
"""The axis x of the sensor along -z of its link."""
SECOND = 1_000_000_000


def measured(model: RobotModel, world: dict[str, Any], seconds: float = 0.0, **values: Any) -> float:
    """What a sensor at 1 m above the base reports, in the axes of the base."""
    given = {"name": "one", "link": "base_link", "position": (0.0, 0.0, 1.0), "quat_xyzw": DOWN, **values}
    sensor, around = RangeSensor(**given), World.from_mapping(world, "world")
    sensors = SimulatedSensors(model, around, [sensor])
    arm = SimpleNamespace(q=HOME, v=np.zeros(6), contact_wrench=np.zeros(6))
    sensors.observe(round(seconds * SECOND), arm)
    return sensors.distance(sensor)


def obstacle(shape: str, size: Any, position: list[float], **values: Any) -> dict[str, Any]:
    return {"obstacles": [{"shape": shape, "size": size, "position": position, **values}]}


def test_distances_are_those_of_closed_forms(ur5: RobotModel):
    ball = obstacle("sphere", 0.2, [0.1, 0.0, 0.4])
    assert measured(ur5, {}) == pytest.approx(1.0), "the floor"
    assert measured(ur5, {"floor": -0.3}) == pytest.approx(1.3)
    assert measured(ur5, obstacle("box", [0.4, 0.4, 0.1], [0.1, 0.0, 0.3])) == pytest.approx(0.65)
    assert measured(ur5, obstacle("box", [0.4, 0.4, 0.1], [0.3, 0.0, 0.3])) == pytest.approx(1.0), "beside it"
    assert measured(ur5, ball) == pytest.approx(0.6 - math.sqrt(0.04 - 0.01))
    slanted = (0.0, math.sin(0.35), 0.0, math.cos(0.35))  # 0.7 rad below the horizon
    assert measured(ur5, {}, quat_xyzw=slanted) == pytest.approx(1.0 / math.sin(0.7))
    wall = obstacle("box", [0.2, 5.0, 5.0], [1.1, 0.0, 1.0])
    assert measured(ur5, wall, quat_xyzw=(0.0, 0.0, 0.0, 1.0)) == pytest.approx(1.0), "along the axis x of the link"


def test_a_moving_obstacle_is_where_it_is_in_time(ur5: RobotModel):
    """It comes up with 0.1 m/s from 1 s on, and goes at 4 s."""
    ball = obstacle("sphere", 0.2, [0.0, 0.0, 0.3], velocity=[0.0, 0.0, 0.1], **{"from": 1.0, "until": 4.0})
    seen = {seconds: measured(ur5, ball, seconds) for seconds in (0.5, 1.0, 3.0, 4.0)}
    assert seen == pytest.approx({0.5: 1.0, 1.0: 0.5, 3.0: 0.3, 4.0: 1.0})


def test_a_cone_of_rays_measures_what_is_nearest_in_it(ur5: RobotModel):
    post = obstacle("cylinder", [0.05, 0.6], [0.2, 0.0, 0.3])  # 0.15 m beside the axis, its top 0.4 m below
    cone = {"field_of_view": 1.0, "rays": 400}
    assert measured(ur5, post) == pytest.approx(1.0)
    nearest = math.hypot(0.15, 0.4)  # the edge of its top
    assert nearest <= measured(ur5, post, **cone) == pytest.approx(nearest, rel=0.02)
    directions = RangeSensor(name="one", field_of_view=1.0, rays=400).directions
    angles = np.arccos(directions[:, 0])
    assert np.linalg.norm(directions, axis=1) == pytest.approx(np.ones(400))
    assert (angles[0], angles[-1]) == pytest.approx((0.0, 0.5))
    assert np.mean(angles < 0.25) == pytest.approx(0.25, abs=0.01), "evenly over the cone"


def test_what_is_out_of_range_is_infinite(ur5: RobotModel):
    """REP 117: -inf too near, +inf when nothing is within reach."""
    assert measured(ur5, {}, min_range=0.2, max_range=1.0) == pytest.approx(1.0)
    assert measured(ur5, {}, max_range=0.99) == math.inf
    assert measured(ur5, {}, min_range=1.01) == -math.inf
    assert measured(ur5, {"floor": -math.inf}) == math.inf
    assert measured(ur5, obstacle("sphere", 0.2, [0.0, 0.0, 0.95])) == -math.inf, "inside of it"


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"name": "1st"}, r"range sensor '1st': a name of letters, digits and '_' is needed"),
        ({"field_of_view": 0.3}, "one ray has a field of view of 0, a cone several rays"),
        ({"min_range": 3.0}, r"min_range = 3.0 must be below max_range = 2.0"),
        ({"position": [0.0, 1.0]}, "position needs three numbers"),
        ({"quat_xyzw": [0, 0, 0, 0]}, "quat_xyzw four that are not all 0"),
        ({"colour": "red"}, "here: unknown colour; allowed: field_of_view"),
        ("hand", "here: a list is needed, with a mapping for each sensor"),
    ],
)
def test_entries_that_cannot_be_are_refused(entry: Any, sentence: str):
    with pytest.raises(ParameterError, match=sentence):
        range_sensors_of([{"name": "one", **entry} if isinstance(entry, dict) else entry], "here")


def test_names_are_unique_links_exist_and_the_floor_is_a_height(ur5: RobotModel):
    assert range_sensors_of(None, "here") == ()
    with pytest.raises(ParameterError, match="here: one twice: each sensor needs a name of its own"):
        range_sensors_of([{"name": "one"}, {"name": "one", "link": "tool0"}], "here")
    with pytest.raises(FrameNotFound, match="gripper"):
        SimulatedSensors(ur5, World(), [RangeSensor(name="one", link="gripper")])
    for floor in (math.nan, math.inf, "wood"):
        with pytest.raises(ParameterError, match=r"floor|wood"):
            World.from_mapping({"floor": floor}, "world")


def test_the_simulator_of_a_scenario_with_sensors_knows_the_scenario():
    scenario = Scenario.load("ur5_sensors")
    assert [sensor.name for sensor in scenario.range_sensors] == ["hand"]
    nodes = scenario.with_options().nodes
    assert nodes["simulator"]["world"] == scenario.source
    assert nodes["simulator"]["wrench_rate"] == 100.0
    bridge = scenario.with_options(simulator="coppeliasim").nodes["coppeliasim_bridge"]
    assert (bridge["world"], bridge["wrench_rate"]) == (scenario.source, 100.0)
