"""Paths of a planar arm among plates whose solutions are known, against coal."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from planar_arm import planar_validity, plate, small_arm, smallest_distance, wall_with_gap

from arm_control.collision import AllowedPairs, Validity
from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Box, Obstacle, Pose
from arm_control.planning import RrtConnect, SearchOutcome, SearchParameters, connect, shorten
from arm_control.planning.joint_space import SearchSpace
from arm_control.planning.motion_planner import plan_to_pose
from arm_control.planning.trees import ROOM

THROUGH, OUTSIDE = np.array([0.0, 0.0]), np.array([1.6, 0.0])
"""The stretched arm through the gap, and beside the wall: the lower link must be drawn back in between."""
SHORTEST = 3.5871
"""Length of the shortest way between them by Dijkstra's method on a grid of 0.05 rad, of 16 neighbours each [rad]."""


@pytest.fixture(scope="module")
def validity() -> Validity:
    return planar_validity()


def test_the_arm_draws_back_through_a_gap(validity: Validity):
    validity.place(wall_with_gap())
    plan = RrtConnect(validity).plan(THROUGH, OUTSIDE)
    assert plan.outcome is SearchOutcome.FOUND
    assert plan.reason == ""
    assert plan.effort.rounds > 0
    assert np.allclose(plan.path[[0, -1]], [THROUGH, OUTSIDE])
    assert not plan.times.any()
    assert validity.free_motions(plan.path[:-1], plan.path[1:]).all()
    assert smallest_distance(validity, plan, wall_with_gap()) > 0.0
    assert np.abs(plan.path[:, 1]).max() > 0.5  # the elbow bends
    assert repr(plan).startswith(f"<Plan found: {len(plan.path)} states, length {plan.length:.4g}, without times\n ")


def test_the_compiled_search_is_that_of_the_text(validity: Validity, monkeypatch: pytest.MonkeyPatch):
    validity.place(wall_with_gap())
    planner = RrtConnect(validity, SearchParameters(samples=2, connections=2))
    compiled = planner.plan(THROUGH, OUTSIDE)
    monkeypatch.setattr(connect, "compile_procedure", lambda entry: partial(partial, entry))
    interpreted = RrtConnect(validity, SearchParameters(samples=2, connections=2)).plan(THROUGH, OUTSIDE)
    assert compiled.effort.motions == interpreted.effort.motions
    assert np.array_equal(compiled.path, interpreted.path)


def test_memory_grows_with_the_trees(validity: Validity, monkeypatch: pytest.MonkeyPatch):
    validity.place(wall_with_gap())
    path = RrtConnect(validity).plan(THROUGH, OUTSIDE).path
    monkeypatch.setattr(connect, "CAPACITY", ROOM + 4)
    monkeypatch.setattr(connect, "FEWEST_SAMPLES", 1)
    planner = RrtConnect(validity)
    assert np.array_equal(planner.plan(THROUGH, OUTSIDE).path, path)
    assert np.array_equal(planner.plan(THROUGH, OUTSIDE).path, path)


def test_the_nearest_of_several_goals_that_are_free_is_enough(validity: Validity):
    validity.place(wall_with_gap())
    goals = [[0.6, 0.0], [0.1, 0.0], [-1.6, 0.0]]  # the first is in contact, the second is at hand
    plan = RrtConnect(validity).plan(THROUGH, goals)
    assert np.array_equal(plan.path, [THROUGH, [0.1, 0.0]])
    assert np.array_equal(shorten(validity, plan).path, plan.path)
    assert plan.effort.rounds == 0


def test_a_shorter_path_stays_free(validity: Validity):
    validity.place(wall_with_gap())
    plan = RrtConnect(validity).plan(THROUGH, OUTSIDE)
    better = shorten(validity, plan)
    assert smallest_distance(validity, better, wall_with_gap()) > 0.0
    assert np.array_equal(better.path[[0, -1]], [THROUGH, OUTSIDE])
    assert better.length < min(plan.length, 1.3 * SHORTEST)


def test_an_arm_that_is_caged_finds_no_path_within_its_limit(validity: Validity):
    validity.place([plate(1.25, 0.15, 2.0, 0.1), plate(1.25, -0.15, 2.0, 0.1)])
    plan = RrtConnect(validity, SearchParameters(rounds=20)).plan(THROUGH, OUTSIDE)
    assert plan.outcome is SearchOutcome.LIMIT
    assert plan.path.shape == (0, 2)
    assert not plan.is_found
    assert plan.reason == "no path was found in 20 rounds of samples"
    assert plan.effort.rounds == 20
    assert repr(plan).startswith("<Plan limit reached: no path was found in 20 rounds of samples\n ")
    assert shorten(validity, plan) is plan


def test_a_joint_that_slides_stays_within_its_limits():
    arm = small_arm()
    sliding = Validity(arm, allowed=AllowedPairs("small", (("base", "lower"), ("lower", "upper"), ("upper", "tool"))))
    sliding.place([Obstacle(Box((0.1, 0.1, 1.0)), Pose(np.eye(3), np.array([0.9, 0.0, 0.5])))])
    start, goal = np.array([-0.6, 0.0, 0.3]), np.array([0.6, 0.0, 0.3])
    plan = shorten(sliding, RrtConnect(sliding).plan(start, goal))
    assert plan.is_found
    assert len(plan.path) > 2
    assert (plan.path >= arm.q_min).all()
    assert (plan.path <= arm.q_max).all()
    furthest = 0.5 + 0.3 + 0.1  # of the middle of the ball at the end from the axes that turn
    assert SearchSpace.of(sliding).weights == pytest.approx([1.0, 1.0, 1.0 / furthest], rel=0.01)


def test_contact_at_the_ends_is_named(validity: Validity):
    validity.place([plate(1.5, 0.0, 0.2, 0.1), plate(-1.5, 0.0, 0.2, 0.1)])
    planner = RrtConnect(validity)
    plan = planner.plan(THROUGH, OUTSIDE)
    assert plan.outcome is SearchOutcome.START_IN_CONTACT
    assert plan.reason == "the start is in contact: 'lower' is 80 mm deep in obstacle 0"
    assert plan.contacts[0].distance == pytest.approx(-0.08, abs=1e-9)  # half of the plate and the radius
    plan = planner.plan(OUTSIDE, [THROUGH, [3.0, 0.4]])
    assert plan.outcome is SearchOutcome.GOAL_IN_CONTACT
    assert plan.reason.startswith("the first of 2 goals, none of which is free, is in contact: 'lower' is 80 mm deep")
    careful = planar_validity(margin=0.2)
    careful.place([plate(1.5, 0.15, 0.2, 0.1)])
    assert "mm from obstacle 0, nearer than the margin" in RrtConnect(careful).plan(THROUGH, OUTSIDE).reason


def test_a_pose_is_a_goal(validity: Validity):
    validity.place(wall_with_gap())
    inverse = InverseKinematics(validity.shape.model)
    planner = RrtConnect(validity)
    X = validity.shape.model.pose(np.array([1.2, 0.8]))
    plan = plan_to_pose(planner, inverse, THROUGH, X)
    assert plan.is_found
    assert np.allclose(validity.shape.model.pose(plan.path[-1]).p, X.p, atol=1e-5)
    far = plan_to_pose(planner, inverse, THROUGH, Pose(np.eye(3), np.array([2.5, 0.0, 0.0])))
    assert far.outcome is SearchOutcome.UNREACHABLE
    assert far.reason.startswith("the goal cannot be reached: ")


@pytest.mark.parametrize(
    ("start", "goal", "sentence"),
    [
        ([0.0], [0.0, 0.0], r"start has shape \(1,\); needed are 2 joint positions"),
        ([0.0, np.nan], [0.0, 0.0], "start has an entry that is not finite"),
        ([0.0, 0.0], [0.0, 3.5], "goal is beyond the limits: 'elbow' at 3.5, allowed from -3 to 3"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(validity: Validity, start, goal, sentence):
    with pytest.raises(InputError, match=sentence):
        RrtConnect(validity).plan(start, goal)


def test_bad_parameters_are_refused_with_a_sentence():
    with pytest.raises(InputError, match="rounds is 0; 1 or more is needed"):
        SearchParameters(rounds=0)
    with pytest.raises(InputError, match="needed: 0 < least_step <= step"):
        SearchParameters(step=0.01)
