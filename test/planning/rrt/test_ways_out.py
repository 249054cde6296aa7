"""Paths from and to states whose capsules touch though the meshes in them do not."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_arm import mesh_arm

from arm_control import RobotModel
from arm_control.collision import Validity
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.planning import (
    MotionPlanner,
    MotionPlannerParameters,
    MotionRequest,
    Plan,
    RrtConnect,
    SearchOutcome,
    rounded_paths,
    shorten,
)
from arm_control.planning.joint_space import SearchSpace
from arm_control.planning.ways_out import free_roots, ways_out

START, GOAL = np.array([0.0, 0.0]), np.array([1.2, 1.0])
END = Obstacle(Sphere(0.05), Pose.at([0.82 + 0.055, 0.0, 0.0]))
"""A ball 5 mm before the flat end of the blade at the start."""


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> RobotModel:
    return mesh_arm(tmp_path_factory.mktemp("mesh_arm"))


@pytest.fixture
def validity(arm: RobotModel) -> Validity:
    validity = Validity(arm)
    validity.place([END])
    return validity


def assert_is_proved(validity: Validity, path: Array) -> None:
    """Each segment by capsules or by shapes."""
    by_capsules = validity.free_motions(path[:-1], path[1:])
    by_shapes = validity.free_by_shapes(path[:-1], path[1:])
    assert (by_capsules | by_shapes).all()
    assert not by_capsules.all()


@pytest.mark.parametrize(("start", "goal"), [(START, GOAL), (GOAL, START)])
def test_a_path_begins_and_ends_where_only_meshes_are_free(validity: Validity, start: Array, goal: Array):
    assert validity.free_states([start, goal]).sum() == 1
    plan = RrtConnect(validity).plan(start, goal)
    assert plan.is_found
    np.testing.assert_array_equal(plan.path[[0, -1]], [start, goal])
    assert len(plan.times) == len(plan.path)
    assert (np.linalg.norm(np.diff(plan.path, axis=0), axis=1) > 0.0).all()
    assert_is_proved(validity, plan.path)


def test_both_ends_may_be_so(validity: Validity):
    """A second ball above the blade where it is lifted by a right angle; goals that are free come first."""
    lifted = np.array([-np.pi / 2, 0.0])
    validity.place([END, Obstacle(Sphere(0.05), Pose.at([0.1, 0.0, 0.72 + 0.055]))])
    assert not validity.free_states([START, lifted]).any()
    planner = RrtConnect(validity)
    plan = planner.plan(START, lifted)
    np.testing.assert_array_equal(plan.path[[0, -1]], [START, lifted])
    assert_is_proved(validity, plan.path)
    to_free = planner.plan(START, [lifted, GOAL])
    np.testing.assert_array_equal(to_free.path[-1], GOAL)


def test_a_shorter_path_keeps_its_ways_out_and_is_rounded(validity: Validity):
    found = RrtConnect(validity).plan(START, GOAL)
    bent = Plan(found.outcome, "", np.insert(found.path, -1, [0.3, -1.0], axis=0), np.zeros(len(found.path) + 1))
    plan = shorten(validity, bent)
    assert plan.length < bent.length - 0.1
    np.testing.assert_array_equal(plan.path[[0, -1]], [START, GOAL])
    assert_is_proved(validity, plan.path)
    for part in rounded_paths(validity, plan):
        assert validity.first_contact_of(part) is None


def test_a_planner_of_motions_starts_there_and_proves_its_points(arm: RobotModel, validity: Validity):
    planner = MotionPlanner(MotionPlannerParameters(margin=0.002), arm)
    plan = planner.plan(MotionRequest(0, START, GOAL, (END,)))
    np.testing.assert_allclose(plan.points.qs[[0, -1]], [START, GOAL], atol=1e-9)
    assert validity.first_contact_of(plan.motion) is None
    assert not validity.free_states(plan.points.qs).all()


def test_a_real_contact_is_named(validity: Validity):
    validity.place([Obstacle(Sphere(0.05), Pose.at([0.82 + 0.045, 0.0, 0.0]))])
    plan = RrtConnect(validity).plan(START, GOAL)
    assert plan.outcome is SearchOutcome.START_IN_CONTACT
    assert plan.reason.startswith("the start is in contact: 'blade' is")
    assert RrtConnect(validity).plan(GOAL, START).outcome is SearchOutcome.GOAL_IN_CONTACT


def test_without_a_way_out_the_sentence_says_so(validity: Validity, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("arm_control.planning.ways_out.RADII", ())
    plan = RrtConnect(validity).plan(START, GOAL)
    assert plan.outcome is SearchOutcome.START_IN_CONTACT
    assert plan.reason == (
        "the start is free by the meshes of its links only: no way out of the capsules around them was found"
    )


def test_ways_out_are_near_free_and_within_the_limits(validity: Validity):
    space = SearchSpace.of(validity)
    ways = ways_out(validity, space, START)
    assert 1 <= len(ways) <= 6
    assert validity.free_states(ways).all()
    assert validity.free_by_shapes(np.tile(START, (len(ways), 1)), ways).all()
    np.testing.assert_array_equal(ways, ways_out(validity, space, START))
    assert (ways != ways_out(validity, space, START, seed=1)).any()
    roots, origins = free_roots(validity, space, np.array([START, GOAL]))
    np.testing.assert_array_equal(roots, [GOAL])
    np.testing.assert_array_equal(origins, [GOAL])
