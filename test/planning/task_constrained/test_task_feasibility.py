"""Reasons why no motion along a task is possible: what is said, and that it is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from line_task import START, check_blocked, least_share

from arm_control import RobotModel, urdf_path
from arm_control.collision import Told, Validity, is_at_rest
from arm_control.maths import Hull, Mover, Obstacle, Pose, Span, Sphere
from arm_control.planning import TaskConstrainedProblem, TaskParameters, TaskPlanner, ellipse, line
from arm_control.planning import task_feasibility as feasibility
from arm_control.planning.task_feasibility import (
    how_far,
    known_points,
    new_posture_search,
    positions_on,
    why_blocked,
    why_too_weak,
)

STANDING = np.array([1.421884638, -1.493607747, -1.346537693])
DOWN = (0.0, -0.2, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def weighty() -> TaskConstrainedProblem:
    """An arm in the plane of x and z, which holds its weight."""
    validity = Validity(RobotModel.from_urdf(urdf_path("planar3")))
    path = ellipse([2.2, 1.2], [0.6, 0.0], [0.0, 0.35], turns=-1.0, phase=np.pi, rows="x z")
    return TaskConstrainedProblem(validity, path, 20.0, STANDING, tau_max=np.full(3, 1e3))


def disc(y: float, radius: float = 0.15, V: tuple[float, ...] = (0.0,) * 6, x: float = 1.2) -> Obstacle:
    return Obstacle(Sphere(radius), Pose.at([x, y, 0.0]), V)


CORNERS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, -1.0]])
LEAVES = [Mover(disc(0.2), Span(0.0, 11.95))]
CASES: dict[str, tuple[Told, str]] = {
    "rests": (disc(0.2), "from s = 0.51 to 0.775 the task path lies in obstacle 0"),
    "end": (disc(0.7), "the end of the task path, from s = 0.87 on, lies in obstacle 0"),
    "begin": (disc(-0.7), "the begin of the task path lies in obstacle 0"),
    "sweeps": (disc(0.75, V=DOWN), "obstacle 0 sweeps over all of the task path that can be reached: at 6."),
    "creeps": (
        disc(0.2, V=(0.0, -0.05, *[0.0] * 4)),
        "from s = 0.085 to 0.345 the task path lies in obstacle 0 at the",
    ),
    "leaves late": (Mover(disc(0.2), Span(0.0, 13.0)), "from s = 0.51 to 0.775 the task path lies in obstacle 0"),
    "leaves": (LEAVES, ""),
    "beside": (disc(0.2, x=1.5), ""),
    "small": (disc(0.2, radius=1e-4), "from s = 0.62 to 0.665 the task path lies in obstacle 0"),
    "hull": (
        Obstacle(Hull.of_points(0.3 * CORNERS), Pose.at([1.2, 0.0, 0.0])),
        "from s = 0.42 to 0.58 the task path lies",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_blocks_the_path_is_named(name: str, problem: TaskConstrainedProblem):
    obstacle, sentence = CASES[name]
    problem.validity.place([obstacle])
    reason = why_blocked(problem)
    assert reason.startswith(sentence)
    assert bool(reason) == bool(sentence)


def test_every_posture_at_a_blocked_place_is_in_contact(problem: TaskConstrainedProblem):
    """On the edges of random discs, too, and never one step before the cells that count as blocked."""
    rng, search = np.random.default_rng(3), new_posture_search(problem)
    n_blocked = 0
    for _ in range(12):
        told = disc(rng.uniform(-0.6, 0.6), rng.uniform(0.02, 0.2), x=1.2 + rng.uniform(-0.2, 0.2))
        problem.validity.place([told])
        n_blocked += check_blocked(problem, search, rng, 10)
    assert n_blocked >= 20


def test_an_end_effector_outside_of_its_link_blocks_nothing(problem: TaskConstrainedProblem):
    assert known_points(problem)[1] == pytest.approx([0.0373], abs=1e-3)
    lwr = RobotModel.from_urdf(urdf_path("lwr"), payload_mass=1.0)
    path = line([0.5, 0.0, 0.5], [0.5, 0.1, 0.5])
    spatial = TaskConstrainedProblem(Validity(lwr), path, 5.0)
    assert len(known_points(spatial)[0]) == 1
    partial = replace(spatial, path=line([0.5, 0.0], [0.5, 0.1]))
    assert positions_on(partial, np.array([0.5])) is None  # z is free
    partial.validity.place([Obstacle(Sphere(0.5), Pose.at([0.5, 0.0, 0.5]))])
    assert why_blocked(partial) == ""
    assert why_blocked(spatial) == "the begin of the task path lies in obstacle 0"
    np.testing.assert_allclose(positions_on(problem, np.array([0.5])), [[1.2, 0.0, problem.model.pose(START).p[2]]])


def test_what_rests_is_known():
    still, told = disc(0.0), Mover(disc(0.0), Span())
    assert is_at_rest(still)
    assert is_at_rest(told)
    assert not is_at_rest(disc(0.0, V=DOWN))
    assert not is_at_rest(Mover(disc(0.0), Span(1.0)))
    assert is_at_rest(CASES["hull"][0])
    assert not is_at_rest(replace(CASES["hull"][0], V_WO=DOWN))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_torque_at_the_start_is_a_linear_program(share: float, weighty: TaskConstrainedProblem):
    tau_max = share * np.abs(weighty.model.gravity(STANDING)) + 0.1
    y_s = weighty.path.at([0.0]).y_s[0]
    expected = least_share(weighty, weighty.model.jacobian(STANDING)[weighty.path.numbers], y_s, tau_max)
    computed = feasibility._share_at_start(weighty, tau_max)
    assert computed <= expected + 1e-9
    assert computed == pytest.approx(expected, rel=0.02)


def test_torque_that_is_too_small_is_named(weighty: TaskConstrainedProblem, problem: TaskConstrainedProblem):
    search, g = new_posture_search(weighty), np.abs(weighty.model.gravity(STANDING))
    assert why_too_weak(weighty, search) == ""
    assert why_too_weak(replace(weighty, tau_max=None), search) == ""
    at_start = why_too_weak(replace(weighty, tau_max=0.05 * g), search)
    assert at_start.startswith("torque is too small at the start: 'joint")
    at_end = why_too_weak(replace(weighty, q_start=None, tau_max=0.05 * g), search)
    assert at_end.startswith("torque is too small at the end: in each of ")
    light = replace(problem, tau_max=np.full(4, 1e-5))  # in the plane of x and y nothing holds a weight
    reason = why_too_weak(light, new_posture_search(light))
    assert reason.startswith("torque is too small for the horizon of 12 s: from rest to rest the path takes about ")
    problem.validity.place([])
    plan = TaskPlanner(light, TaskParameters(rounds=1)).plan()
    assert plan.reason == reason


def test_links_that_touch_at_every_posture_are_found_by_samples(problem: TaskConstrainedProblem):
    """A wall of discs between base and path: the end effector is free everywhere, the links are not."""
    wall = [disc(y, 0.1, x=0.75) for y in np.arange(-1.1, 1.2, 0.15)]
    problem.validity.place(wall)
    assert why_blocked(problem) == ""
    text = how_far(problem, new_posture_search(problem), 4, 40)
    assert text.startswith("it came up to s = 0.1; from s = 0.125 to 1 each of 64 postures touches obstacle ")
    problem.validity.place([])
    free = how_far(problem, new_posture_search(problem), 4, 40)
    assert free == "it came up to s = 0.1; each place behind it has postures that are free at some time"
