"""What is passed over is far enough: balls without slack among spheres, in groups, at rest and moving."""

from __future__ import annotations

import numpy as np
import pytest
from small_arm import random_states, small_arm

from arm_control import RobotModel, urdf_path
from arm_control.collision import AllowedPairs, ArmShape, Validity
from arm_control.maths import Array, Mover, Obstacle, Pose, Span, Sphere
from arm_control.model import LinkCapsule, State

PLACES = {
    "base": [(0.3, 0.0, 0.1)],
    "lower": [(0.3, 0.0, 0.1)],
    "upper": [(x, 0.0, 0.0) for x in (0.1, 0.15, 0.2, 0.25, 0.45, 0.5)],
    "tool": [(0.05, 0.0, 0.0)],
}
"""Balls of each link in its frame: those of ``upper`` are in two groups."""
RADIUS, N_PLACES = 0.02, 20


@pytest.fixture(scope="module")
def balls() -> Validity:
    """An arm of small balls."""
    model = small_arm()
    capsules = [LinkCapsule(name, np.array(p), np.array(p), RADIUS) for name, ps in PLACES.items() for p in ps]
    return Validity(model, ArmShape(model, capsules), AllowedPairs("small"))


def centres(validity: Validity, qs: Array) -> dict[str, Array]:
    """Centres of the balls of each link, shape (N, balls, 3), by the poses of the bodies alone."""
    X = [State(validity.shape.model.tree, {"q": q}).X_W for q in qs]
    poses = {link.link: [None if link.body < 0 else x[link.body] for x in X] for link in validity.shape.links}
    local = {link.link: [c.a for c in link.whole.capsules] for link in validity.shape.links}
    return {
        name: np.array([[p if Y is None else Y.R @ p + Y.p for p in local[name]] for Y in poses[name]], dtype=float)
        for name in local
    }


def smallest(validity: Validity, there: list[Obstacle], qs: Array) -> tuple[Array, Array]:
    """Smallest distance to the obstacles and between links in each state, by the balls' centres."""
    places = centres(validity, qs)
    moving = np.concatenate([places[name] for name in ("lower", "upper", "tool")], axis=1)
    to_one = [
        np.linalg.norm(moving - np.array(o.X_WO.p), axis=2).min(axis=1) - (o.shape.extent + RADIUS) for o in there
    ]
    between = [
        np.linalg.norm(places[one][:, :, None] - places[other][:, None], axis=3).min(axis=(1, 2)) - 2.0 * RADIUS
        for one, other in validity.link_pairs
    ]
    return np.min(to_one, axis=0), np.min(between, axis=0)


def spheres(speed: float) -> list[Obstacle]:
    """Some around the arm."""
    rng = np.random.default_rng(0)
    places = rng.uniform([-0.8, -0.8, 0.1], [0.8, 0.8, 1.2], (12, 3))
    V = speed * rng.normal(size=(12, 6)) * [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    return [Obstacle(Sphere(0.03), Pose.at(p), v) for p, v in zip(places, V, strict=True)]


@pytest.mark.parametrize("speed", [0.0, 2.0], ids=["at rest", "moving"])
def test_balls_that_pass_are_free_between_the_ends_too(balls: Validity, speed: float):
    """Long motions, of which many pass something within a centimetre."""
    balls.place(spheres(speed))
    model = balls.shape.model
    a, b = (random_states(model, 1000, seed) for seed in (1, 2))
    if speed:
        b = a + 0.1 * (b - a)
    free = balls.free_motions(a, b, 0.0, 0.5)
    a, b = a[free], b[free]
    least = []
    for share in np.linspace(0.0, 1.0, N_PLACES).tolist():
        there = [Mover(obstacle, Span()).at(0.5 * share) for obstacle in spheres(speed)]
        least.append(np.minimum(*smallest(balls, there, a + share * (b - a))))
    assert np.min(least) > 0.0
    assert (np.min(least, axis=0) < 0.01).sum() > 5


def test_distances_up_to_a_reach_are_those_of_the_centres(balls: Validity):
    there = spheres(0.0)
    balls.place(there)
    qs = random_states(balls.shape.model, 100, 3)
    to_obstacles, between = smallest(balls, there, qs)
    for reach in (0.01, 0.1, 10.0):
        found = balls.distances(qs, reach=reach)
        np.testing.assert_allclose(found.to_obstacles.min(axis=1), np.minimum(to_obstacles, reach), rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.between_links.min(axis=1), np.minimum(between, reach), rtol=0, atol=1e-12)


def test_balls_at_a_constant_distance_below_the_margin_are_not_free():
    """One on the axis between two links keeps its distance from the base in every motion."""
    at_base, on_axis, carried = (
        LinkCapsule(name, np.array(p), np.array(p), 0.01)
        for name, p in (("base", [0.0, 0.0, 0.0]), ("upper", [0.0, 0.0, 0.0]), ("upper", [0.3, 0.0, 0.0]))
    )
    model, q = small_arm(), np.array([[0.0, -1.5, 0.0]])
    shape = ArmShape(model, [at_base, on_axis, carried])
    for link_margin, is_free in ((0.52, True), (0.54, False)):
        checks = Validity(model, shape, AllowedPairs("small"), link_margin=link_margin)
        assert checks.distances(q).between_links[0, 0] == pytest.approx(0.53)
        assert checks.free_states(q)[0] == is_free


def test_a_link_that_stands_still_for_a_moment_is_seen_to_accelerate():
    """Two stretched links fold: in the middle of the motion the others stand still, at both ends they are inwards.

    With joint speeds (1, -2, 1, 0) the last two links keep their orientation, at cos of the first angle from the base.
    """
    model = RobotModel.from_urdf(urdf_path("planar4"))
    capsule = LinkCapsule("link2", np.zeros(3), np.array([0.5, 0.0, 0.0]), 0.03)
    validity = Validity(model, ArmShape(model, [capsule]), AllowedPairs("planar4"))
    middle, half = np.array([0.0, 0.0, 0.5 * np.pi, 0.0]), np.array([1.0, -2.0, 1.0, 0.0])
    inwards = model.pose(middle).p - [0.3, 0.75, 0.0]
    validity.place([Obstacle(Sphere(0.05), Pose.at(inwards))])
    path = middle + np.linspace(-1.0, 1.0, 101)[:, None] * half
    is_free = validity.free_states(path)
    assert is_free[[0, 50, -1]].all()
    assert not is_free.all()
    assert not validity.free_motions(path[[0, 0]], path[[-1, 50]], 0.0, 1.0).any()
    validity.place([Obstacle(Sphere(0.05), Pose.at(inwards + [0.6, 0.0, 0.0]))])
    assert validity.free_motions(path[:1], path[-1:], 0.0, 1.0).all()
