"""Sensors of force and distance in a scene of CoppeliaSim, against the stand-in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from lua_sim import C, Item
from stand_in import REAL, StandIn, stopped_api

from arm_control.exceptions import ModelError
from arm_control.maths import Pose, rotation_from_rpy
from arm_control.model import RobotModel
from arm_control.simulation import RangeSensor
from arm_control.simulation.coppeliasim.arm_scene import SceneSensors

only_stand_in = pytest.mark.skipif(bool(REAL), reason="the sensors are put into the stand-in's scene")
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
X_EF = Pose(rotation_from_rpy([0.0, np.pi / 2, 0.0]), np.array([0.0, 0.0, -0.05]))
"""Pose of the force sensor at the end effector: its axis x is the axis -z of the hand, 5 cm before it."""


def matrix(X: Pose) -> np.ndarray:
    return np.block([[X.R, X.p[:, None]], [np.zeros((1, 3)), 1.0]])


@pytest.fixture
def scene(ur5: RobotModel, connected: Callable, stand_in: Callable[..., StandIn]) -> StandIn:
    """A UR5 with sensors on its last link, and a table 0.2 m below the proximity sensor."""
    server = stand_in()
    builder = connected(ur5, HOME, server)
    builder.close()
    world, X_WE = server.world, ur5.pose(HOME)
    hand = world.sim_getObject("/wrist_3_joint_carries")
    at_hand = np.linalg.inv(world.inner(hand))
    world._new(Item("force sensor", "wrist", hand, at_hand @ matrix(X_WE @ X_EF)))
    world._new(Item("proximity sensor", "hand", hand, at_hand @ matrix(X_WE), size=(0.5,)))
    X_WO = matrix(Pose(np.eye(3), X_WE.p - [0.0, 0.0, 0.25]))
    world._new(Item("shape", "table", local=X_WO, size=(0.4, 0.4, 0.1), subtype=C.primitiveshape_cuboid))
    return server


@only_stand_in
def test_force_and_distance_are_read_with_the_state(ur5: RobotModel, connected: Callable, scene: StandIn):
    """A weight that hangs off the axis of the hand, as the sensor feels it, and as it is at the hand."""
    world, hand, other = scene.world, RangeSensor(name="hand"), RangeSensor(name="other")
    simulator = connected(ur5, HOME, scene, force_sensor="/wrist", ranges=(hand, other))
    assert simulator.unseen == ("other",)
    assert simulator.wrench() is None, "nothing is measured before the first step"
    assert simulator.distance(hand) is None
    f_E, c_E = np.array([3.0, -4.0, 19.62]), np.array([0.0, 0.02, 0.1])
    item = world.items[world.sim_getObject("/wrist")]
    f_F, n_F = X_EF.R.T @ f_E, X_EF.R.T @ np.cross(c_E - X_EF.p, f_E)
    item.size = (*f_F.tolist(), *n_F.tolist())
    simulator.step(ur5.gravity(HOME))
    expected = [*f_E, *np.cross(c_E, f_E)]
    assert simulator.wrench() == pytest.approx(expected, abs=1e-4), "about the end effector and along its axes"
    assert simulator.distance(hand) == pytest.approx(0.2, abs=1e-5)
    assert simulator.distance(other) is None
    assert simulator.X_BT is not None
    world.items[world.sim_getObject("/table")].local[:3, 3] += [1.0, 0.0, 0.0]
    item.size = (float("nan"), *item.size[1:])
    simulator.step(ur5.gravity(HOME))
    assert simulator.distance(hand) == np.inf, "nothing is detected"
    assert simulator.wrench() is None


@only_stand_in
def test_a_sensor_at_the_hand_does_not_see_the_arm_it_stands_in(ur5: RobotModel, simulate: Callable, scene: StandIn):
    """Neither the shape of its own link nor, turned back, those of the others; other properties stay."""
    world, eye = scene.world, scene.world.sim_getObject("/hand")
    shapes = [item for item in world.items.values() if item.kind == "shape" and item.alias != "table"]
    assert {item.properties for item in shapes} == {C.objectspecialproperty_collidable}
    assert len(shapes) == 1 + ur5.nv
    world.items[eye].local = world.items[eye].local @ np.diag([1.0, -1.0, -1.0, 1.0])
    assert world.sim_readProximitySensor(eye)[0] == 0
    for item in shapes:
        item.properties |= C.objectspecialproperty_detectable
    found, distance, *_ = world.sim_readProximitySensor(eye)
    assert (found, distance < 0.2) == (1, True)


def test_a_sensor_that_is_mounted_on_the_built_arm_looks_through_it(ur5: RobotModel, connected: Callable):
    """Back along the hand, where all its links are; it sees one of them when that is made detectable."""
    builder = connected(ur5, HOME)
    builder.close()
    sim = stopped_api(builder.parameters.host, builder.parameters.port)
    eye = sim.createProximitySensor(sim.proximitysensor_ray, 16, 0, [0] * 8, [0.0, 1.0, *[0.0] * 13])
    sim.setObjectAlias(eye, "hand")
    back = matrix(ur5.pose(HOME)) @ np.diag([1.0, -1.0, -1.0, 1.0])
    sim.setObjectMatrix(eye, back[:3].ravel().tolist(), sim.handle_world)
    link, hand = sim.getObject("/wrist_3_joint_carries"), RangeSensor(name="hand")
    sim.setObjectParent(eye, link, True)
    simulator = connected(ur5, HOME, ranges=(hand,))
    simulator.step(ur5.gravity(HOME))
    assert simulator.distance(hand) == np.inf
    sim.setObjectSpecialProperty(link, sim.objectspecialproperty_detectable)
    simulator.step(ur5.gravity(HOME))
    assert simulator.distance(hand) != np.inf


@only_stand_in
def test_an_object_that_is_named_is_there_and_is_a_sensor(ur5: RobotModel, simulate: Callable, scene: StandIn):
    for parameters, sentence in (
        ({"force_sensor": "/wrist_2"}, "the scene in CoppeliaSim lacks /wrist_2"),
        ({"force_sensor": "/table"}, "/table in CoppeliaSim is no force sensor"),
        ({"ranges": [RangeSensor(name="a", object="/eye")]}, "the scene in CoppeliaSim lacks /eye"),
        ({"ranges": [RangeSensor(name="table")]}, "/table in CoppeliaSim is no proximity sensor"),
    ):
        with pytest.raises(ModelError, match=sentence):
            simulate(ur5, HOME, scene, **parameters).connect()


def test_ranges_of_the_scenario_hold_for_what_is_detected(ur5: RobotModel):
    """REP 117, whatever the volume of the sensor in the scene is."""
    sensor = RangeSensor(name="hand", min_range=0.1, max_range=0.3)
    sensors = SceneSensors(ur5, "", [sensor])
    sensors._proximity = {"hand": 7}
    reported = []
    for distance in (-1.0, 0.05, 0.2, 0.4):
        sensors.take((), [distance])
        reported.append(sensors.distance(sensor))
    assert reported == [np.inf, -np.inf, 0.2, np.inf]
