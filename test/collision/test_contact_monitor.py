"""Labelled distances and nearest points against those of motion checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from arm_control import Pose, RobotModel
from arm_control.collision import AllowedPairs, ContactMonitor, NearPair, Validity
from arm_control.exceptions import InputError
from arm_control.maths import Array, Box, Hull, Obstacle, Sphere, rotation_from_vector

OBSTACLES = (Obstacle(Sphere(0.1), Pose.at([0.5, 0.1, 0.3])), Obstacle(Box((0.5, 0.5, 0.1)), Pose.at([0.4, 0.0, 0.0])))


@pytest.fixture(scope="module")
def monitor(ur5: RobotModel) -> ContactMonitor:
    return ContactMonitor(ur5)


def checked_pairs(monitor: ContactMonitor, obstacles: Sequence[Obstacle], qs: Array) -> list[NearPair]:
    """What is near in some states, after a comparison with motion checks."""
    validity, found = Validity(monitor.model, allowed=monitor.allowed), []
    validity.place(obstacles)
    for q in qs:
        near = monitor.near(q, obstacles)
        expected = {(pair.link, pair.other): pair.distance for pair in validity.pairs(q, 0.0, 10.0)}
        assert {(pair.link, pair.other): pair.distance for pair in near} == pytest.approx(expected, abs=1e-9)
        assert all(a.distance <= b.distance for a, b in pairwise(near))
        for pair in near:
            assert np.linalg.norm(pair.p - pair.p_other) == pytest.approx(abs(pair.distance), abs=1e-9)
        found += near
    return found


def test_pairs_and_distances_are_those_of_motion_checks(monitor: ContactMonitor, states):
    found = checked_pairs(monitor, OBSTACLES, [q for q, _ in states(monitor.model, 10)])
    assert sum(pair.distance < 0.0 for pair in found) > 1


def test_a_pair_is_measured_where_its_list_says_so(monitor: ContactMonitor):
    """Links that a joint connects are left out by default, not by a list without them."""
    neighbours = ("upper_arm_link", "forearm_link")
    assert neighbours not in monitor.link_pairs
    strict = ContactMonitor(monitor.model, AllowedPairs("ur5"))
    near = strict.near(np.zeros(6))
    assert neighbours in {(pair.link, pair.other) for pair in near}
    assert len(near) == len(strict.link_pairs) > len(monitor.link_pairs)


def test_obstacles_have_the_names_that_are_given(monitor: ContactMonitor):
    near = monitor.near(np.zeros(6), OBSTACLES, ("ball", "table"), 3.0)
    assert {"ball", "table"} < {pair.other for pair in near}
    assert all(pair.distance < 0.2 for pair in monitor.near(np.zeros(6), OBSTACLES, reach=0.2))


def test_hulls_are_measured_as_motion_checks_do(monitor: ContactMonitor, states):
    """Among other obstacles; and one with more triangles than are measured at a time."""
    rng = np.random.default_rng(0)
    stone = Hull.of_points(rng.normal(size=(12, 3)) * [0.1, 0.05, 0.2])
    round_one = rng.normal(size=(90, 3))
    ball = Hull.of_points(0.1 * round_one / np.linalg.norm(round_one, axis=1, keepdims=True))
    turn = Pose(rotation_from_vector(np.array([0.3, -1.0, 0.5])), np.array([0.3, 0.3, 0.4]))
    obstacles = [Obstacle(ball, Pose.at([-0.5, 0.2, 0.6])), *OBSTACLES, Obstacle(stone, turn)]
    found = checked_pairs(monitor, obstacles, [q for q, _ in states(monitor.model, 6)])
    assert any(pair.distance < 0.0 for pair in found if pair.other in ("obstacle 0", "obstacle 3"))


@pytest.mark.parametrize("q", [np.zeros(5), np.full(6, np.nan)])
def test_positions_that_are_none_are_refused(monitor: ContactMonitor, q: np.ndarray):
    with pytest.raises(InputError, match="6 finite numbers are needed"):
        monitor.near(q)
