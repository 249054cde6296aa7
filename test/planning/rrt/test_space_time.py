"""Motions of a planar arm among plates that move, appear and vanish: what must be waited for is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planar_arm import planar_validity, plate, smallest_distance

from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.maths import Mover, Obstacle, Pose, Span, Sphere
from arm_control.planning import TIMED, Plan, SearchOutcome, SearchParameters, SpaceTimeRrt, Travel

START, GOAL = np.array([0.0, 0.0]), np.array([1.0, 0.0])
TRAVEL = Travel(np.array([2.0, 2.0]), 5.0)
FEW = SearchParameters(rounds=20, samples=16, connections=8)
VANISHES = 2.0
"""When the plate that blocks the upper link vanishes [s]."""


@pytest.fixture(scope="module")
def validity() -> Validity:
    return planar_validity()


@pytest.fixture(scope="module")
def gate() -> Mover:
    """A plate across the way of the upper link: no posture of the elbow passes it, and the joint cannot turn around."""
    return Mover(plate(0.6 * np.cos(0.5), 0.6 * np.sin(0.5), 0.2, 0.2), Span(0.0, VANISHES))


def assert_within_limits(plan: Plan) -> None:
    steps, durations = np.abs(np.diff(plan.path, axis=0)), np.diff(plan.times)
    assert plan.times[0] == 0.0
    assert (durations > 0.0).all()
    assert (steps <= TRAVEL.v_max * durations[:, None] + 1e-9).all()


def nearest_angle(validity: Validity, gate: Mover) -> float:
    """The largest angle of the stretched arm before the plate, by bisection [rad]."""
    validity.place([gate])
    low, high = 0.0, 0.5
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if validity.free_states([[middle, 0.0]])[0] else (low, middle)
    return low


def test_the_arm_waits_until_the_way_is_free(validity: Validity, gate: Mover):
    validity.place([gate])
    plan = SpaceTimeRrt(validity, TRAVEL, FEW).plan(START, GOAL)
    assert plan.is_found
    assert np.allclose(plan.path[[0, -1]], [START, GOAL])
    assert_within_limits(plan)
    before = plan.times < VANISHES
    assert plan.path[before, 0].max() < 0.5
    assert validity.first_contact(plan.path, plan.times) is None
    earliest = VANISHES + (GOAL[0] - nearest_angle(validity, gate)) / TRAVEL.v_max[0]
    assert plan.times[-1] >= earliest - 1e-6


def test_waiting_is_an_edge_of_its_own(validity: Validity, gate: Mover):
    validity.place([gate])
    plan = SpaceTimeRrt(validity, TRAVEL).plan(START, GOAL, arrival=2.6)  # no constant speed arrives then
    assert plan.is_found
    assert plan.times[-1] == 2.6
    steps = np.abs(np.diff(plan.path, axis=0)).max(axis=1)
    assert (steps == 0.0).any()


def test_the_goal_stays_free_as_long_as_it_must(validity: Validity):
    """A plate comes to the goal after a second, and vanishes after two."""
    visitor = Mover(plate(1.5 * np.cos(GOAL[0]), 1.5 * np.sin(GOAL[0]), 0.2, 0.2), Span(1.0, VANISHES))
    validity.place([visitor])
    brief = SpaceTimeRrt(validity, TRAVEL).plan(START, GOAL)
    assert brief.times[-1] < 1.0
    staying = SpaceTimeRrt(validity, replace(TRAVEL, stays=1.5))
    plan = staying.plan(START, GOAL)
    assert plan.times[-1] > VANISHES
    assert validity.free_motions(GOAL[None], GOAL[None], plan.times[-1], plan.times[-1] + 1.5).all()
    refused = staying.plan(START, GOAL, arrival=0.8)
    assert refused.outcome is SearchOutcome.GOAL_IN_CONTACT
    assert refused.reason.startswith("the goal at 0.8 s is in contact 0.2 s later: 'lower' is ")


def test_spheres_that_pass_by_are_not_touched(validity: Validity):
    rng, solved = np.random.default_rng(0), 0
    for seed in range(3):
        places = rng.uniform([0.8, -2.5, 0.0], [2.0, -1.5, 0.0], (4, 3))
        velocities = rng.uniform([-0.2, 0.5, 0.0], [0.2, 1.0, 0.0], (4, 3))
        obstacles = [
            Obstacle(Sphere(0.1), Pose(np.eye(3), p), np.array([*v, 0.0, 0.0, 0.0]))
            for p, v in zip(places, velocities, strict=True)
        ]
        validity.place(obstacles)
        plan = SpaceTimeRrt(validity, TRAVEL, replace(FEW, seed=seed)).plan([1.0, 0.5], [-1.0, 0.0])
        if plan.is_found:
            solved += 1
            assert_within_limits(plan)
            assert smallest_distance(validity, plan, obstacles, step=0.02) > 0.0
    assert solved >= 2


def test_why_there_is_no_motion(validity: Validity, gate: Mover):
    validity.place([gate.obstacle])
    planner = SpaceTimeRrt(validity, TRAVEL)
    plan = planner.plan([0.5, 0.0], GOAL)
    assert plan.outcome is SearchOutcome.START_IN_CONTACT
    assert plan.reason.startswith("the start is in contact: 'upper' is ")
    plan = planner.plan(START, [2.5, 0.0], arrival=1.0)
    assert plan.outcome is SearchOutcome.UNREACHABLE
    assert plan.reason == "the goal cannot be reached: the way takes 1.25 s at least, 1 s are allowed"
    validity.place([plate(1.5 * np.cos(1.0), 1.5 * np.sin(1.0), 0.2, 0.2)])
    plan = planner.plan(START, GOAL)
    assert plan.outcome is SearchOutcome.GOAL_IN_CONTACT
    assert plan.reason.startswith("the goal at 5 s is in contact: 'lower' is ")


def test_bad_input_is_refused_with_a_sentence(validity: Validity):
    with pytest.raises(InputError, match=r"v_max = .*: positive, finite speeds are needed"):
        Travel(np.array([1.0, 0.0]), 5.0)
    with pytest.raises(InputError, match=r"horizon = 0\.0: a positive time is needed"):
        Travel(np.ones(2), 0.0)
    with pytest.raises(InputError, match=r"stays = -1\.0: a time of 0 or more is needed"):
        Travel(np.ones(2), 5.0, -1.0)
    with pytest.raises(InputError, match=r"v_max has shape \(3,\); allowed: \(2,\)"):
        SpaceTimeRrt(validity, Travel(np.ones(3), 5.0), TIMED)
    with pytest.raises(InputError, match=r"arrival = 6.0; allowed: above 0 and up to the horizon of 5.0 s"):
        SpaceTimeRrt(validity, TRAVEL).plan(START, GOAL, arrival=6.0)
