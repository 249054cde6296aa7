"""Contacts of all links of a simulated arm: with what is solid, and with each other."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Box, Hull, Mover, Obstacle, Pose, Span
from arm_control.model import RobotModel
from arm_control.simulation import EngineParameters, MujocoSimulator, PlantProperties, make_simulator
from arm_control.simulation.scenario import is_needed

HOME = np.array([0.0, -0.6, 1.2, -2.17, -1.5708, 0.0])


def under_the_elbow(model: RobotModel) -> Obstacle:
    """A box whose top is 10 cm below the elbow: no capsule touches it yet, and the hand never does."""
    p = model.pose(HOME, "forearm_link").p
    return Obstacle(Box((0.1, 0.5, 0.1)), Pose(np.eye(3), p - [0.0, 0.0, 0.2]))


def fallen(model: RobotModel, simulator: MujocoSimulator, tau: Array, seconds: float) -> MujocoSimulator:
    """The arm after a push against damping."""
    for _ in range(round(seconds / 1e-3)):
        t = model.evaluate(simulator.q, simulator.v)
        simulator.step(t.h + tau - 20.0 * t.M @ simulator.v)
    return simulator


@pytest.mark.parametrize(("contacts", "is_stopped"), [("arm", True), ("hand", False), ("none", False)])
def test_a_solid_stops_a_link(ur5: RobotModel, contacts: str, is_stopped: bool):
    solids = [under_the_elbow(ur5)]
    simulator = make_simulator(ur5, HOME, PlantProperties(contacts=contacts), solids=solids)
    assert isinstance(simulator, MujocoSimulator)
    height = ur5.pose(HOME, "forearm_link").p[2]
    push = np.array([0.0, 60.0, 0.0, 0.0, 0.0, 0.0])  # the shoulder lowers the upper arm
    fallen(ur5, simulator, push, 1.0)
    way = height - ur5.pose(simulator.q, "forearm_link").p[2]
    assert (way < 0.12) == is_stopped
    assert way > 0.01
    assert (simulator.mujoco_data.ncon > 0) == is_stopped
    assert not simulator.contact_wrench.any()  # it is not the end effector that touches


@pytest.mark.parametrize(("contacts", "is_stopped"), [("arm", True), ("hand", False)])
def test_links_stop_each_other(ur5: RobotModel, contacts: str, is_stopped: bool):
    q = np.array([0.0, -1.5, 2.6, 0.0, 0.0, 0.0])
    simulator = make_simulator(ur5, q, PlantProperties(contacts=contacts))
    fallen(ur5, simulator, np.array([0.0, 0.0, 40.0, 0.0, 0.0, 0.0]), 0.6)
    assert (simulator.q[2] < 3.1) == is_stopped


def test_a_hull_that_moves_pushes_a_link_as_the_box_of_its_corners_does(ur5: RobotModel):
    size, ways = np.array([0.1, 0.5, 0.1]), []
    corners = np.stack(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5]), axis=-1).reshape(-1, 3) * size
    below = ur5.pose(HOME, "forearm_link").p - [0.0, 0.0, 0.2]
    for shape, X in (
        (Box(tuple(size.tolist())), Pose(np.eye(3), below)),
        (Hull.of_points(corners + [0.3, 0.0, 0.0]), Pose(np.eye(3), below - [0.3, 0.0, 0.0])),
    ):
        mover = Mover(Obstacle(shape, X, (0.0, 0.0, 0.3, 0.0, 0.0, 0.0)), Span(0.0, 0.6))
        simulator = make_simulator(ur5, HOME, PlantProperties(contacts="arm"), movers=[mover])
        fallen(ur5, simulator, np.zeros(6), 0.5)
        ways.append(simulator.q - HOME)
        assert simulator.mujoco_data.ncon > 0
    assert np.abs(ways[0]).max() > 0.05
    np.testing.assert_allclose(ways[1], ways[0], rtol=0, atol=1e-3)


def test_contacts_alone_make_no_arm_that_needs_compensation(ur5: RobotModel):
    assert PlantProperties(contacts="arm").is_ideal
    assert not is_needed("mujoco", {"plant.contacts": "arm"}, "here")
    real = make_simulator(ur5, HOME, PlantProperties(contacts="arm", coulomb=(1.0,)))
    assert real.arm.mujoco_model.npair > 10


def test_other_engines_have_none(ur5: RobotModel):
    engine = EngineParameters(engine="rigid_body")
    with pytest.raises(ParameterError, match=r"plant\.contacts = 'arm' needs the engine mujoco"):
        make_simulator(ur5, HOME, PlantProperties(contacts="arm"), engine=engine)
    solids = [under_the_elbow(ur5)]
    assert make_simulator(ur5, HOME, PlantProperties(contacts="none"), solids=solids, engine=engine).steps == 0
