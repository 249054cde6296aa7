"""Obstacles and pushes of a scenario: where and when they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.control import pose_error
from arm_control.exceptions import ParameterError
from arm_control.maths import Box, Capsule, Cone, Cylinder, Sphere, rotation_vector
from arm_control.motion import Motion, PoseTrajectory
from arm_control.simulation import World

BALL = {"shape": "sphere", "size": 0.1, "position": [1, 2, 3]}


def world(*obstacles: dict[str, Any], pushes: tuple[dict[str, Any], ...] = ()) -> World:
    return World.from_mapping({"obstacles": obstacles, "pushes": pushes}, "here")


def test_an_obstacle_moves_and_turns_from_when_it_appears():
    moving = {**BALL, "velocity": [0.1, 0, 0, 0, 0, 0.5], "from": 2, "until": 4.0}
    there = world(moving, BALL)
    assert [len(there.obstacles(t)) for t in (0.0, 1.999, 2.0, 3.999, 4.0)] == [1, 1, 2, 2, 1]
    for t in (2.0, 3.5):
        seen = there.obstacles(t)[0]
        np.testing.assert_allclose(seen.X_WO.p, [1 + 0.1 * (t - 2), 2, 3], rtol=1e-12)
        np.testing.assert_allclose(rotation_vector(seen.X_WO.R), [0, 0, 0.5 * (t - 2)], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(seen.V_WO, [0.1, 0, 0, 0, 0, 0.5])
    assert there.obstacles(0.0)[0] is there.obstacles(1.0)[0], "what rests is one object"


@pytest.mark.parametrize(
    ("entry", "shape"),
    [
        ({"shape": "sphere", "size": 0.1}, Sphere(0.1)),
        ({"shape": "box", "size": [0.1, 0.2, 0.3]}, Box((0.1, 0.2, 0.3))),
        ({"shape": "cylinder", "size": [0.1, 0.2]}, Cylinder(0.1, 0.2)),
        ({"shape": "cone", "size": [0.1, 0.2]}, Cone(0.1, 0.2)),
        ({"shape": "capsule", "size": [0.1, 0.2]}, Capsule(0.1, 0.2)),
    ],
)
def test_every_shape_is_made_from_its_sizes(entry: dict[str, Any], shape: object):
    assert world({**entry, "position": [0, 0, 0]}).obstacles(0.0)[0].shape == shape


def test_pushes_add_up_while_they_last():
    pushes = ({"force": [1, 0, 0], "until": 2}, {"force": [2, 0, 0], "moment": [0, 3, 0], "from": 1})
    pushed = world(pushes=pushes)
    terms = RobotModel.from_urdf(urdf_path("planar2")).evaluate([0.3, 0.5], [0.0, 1.0])
    for t, x, m in ((0.0, 1, 0), (1.0, 3, 3), (2.0, 2, 3)):
        np.testing.assert_array_equal(pushed.wrench(t, terms), [x, 0, 0, 0, m, 0])
    assert pushed
    assert not World()
    np.testing.assert_array_equal(World().wrench(1.0, terms), np.zeros(6))


def test_a_hand_pulls_towards_its_motion_and_with_it():
    hand = {"motion": "ur5_circle", "stiffness": [100, 7], "damping": [10, 3], "from": 1}
    at = Motion.load("ur5_circle").points.poses[0]
    terms = RobotModel.from_urdf(urdf_path("planar2")).evaluate([0.3, 0.5], [0.0, 1.0])
    K, D = np.repeat([100.0, 7.0], 3), np.repeat([10.0, 3.0], 3)
    wrench = world(pushes=(hand,)).wrench(1.0, terms)  # before it begins to move
    np.testing.assert_allclose(wrench, K * pose_error(terms.X_WE, at) - D * terms.V_WE, rtol=0, atol=1e-12)
    moving = world(pushes=(hand,)).wrench(5.0, terms._replace(V_WE=np.zeros(6)))
    V_des = PoseTrajectory(Motion.load("ur5_circle").points).sample(4.0)
    expected = K * pose_error(terms.X_WE, V_des.X_WT) + D * V_des.V_des
    np.testing.assert_allclose(moving, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"walls": []}, "here: unknown walls; allowed: floor, obstacles, pushes"),
        ({"obstacles": [{**BALL, "shape": "ball"}]}, "shape = 'ball'; there are: sphere"),
        ({"obstacles": [{**BALL, "size": [1, 2, 3]}]}, r"here: obstacles: 0: size of a sphere = \[1, 2, 3\]: 1 finite"),
        ({"obstacles": [{"shape": "sphere", "size": 1}]}, "here: obstacles: 0: 'position' is missing"),
        ({"obstacles": [{**BALL, "position": [0, 0]}]}, "3 finite numbers"),
        ({"obstacles": [{**BALL, "from": 2, "until": 1}]}, "from 2.0 until 1.0"),
        ({"pushes": [{"power": [1, 2, 3]}]}, "push: unknown power"),
    ],
)
def test_a_world_that_makes_no_sense_is_refused(content: dict[str, Any], message: str):
    with pytest.raises(ParameterError, match=message):
        World.from_mapping(content, "here")
