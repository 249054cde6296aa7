"""Distances between capsules and hulls, in the search that avoidance and clearances have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from coal_scene import distance, placed, placed_capsule
from small_arm import random_pose, small_arm

from arm_control.collision import ArmShape, Pairs, Proximity, coal_shape
from arm_control.maths import Array, Box, Hull, Obstacle, Pose
from arm_control.model import LinkCapsule, State

CORNERS = np.stack(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5]), axis=-1).reshape(-1, 3)
CAPSULES = {
    "lower": LinkCapsule("lower", np.array([0.1, 0.0, 0.1]), np.array([0.0, 0.1, 0.4]), 0.03),
    "upper": LinkCapsule("upper", np.zeros(3), np.array([0.5, 0.0, 0.1]), 0.001),
    "tool": LinkCapsule("tool", np.zeros(3), np.zeros(3), 0.02),
}
FAR = 1e3
"""A reach that no pair is beyond [m]."""


@pytest.fixture(scope="module")
def arm() -> Proximity:
    """A thick segment, a thin one and a ball."""
    model = small_arm()
    return Proximity(model, (), ArmShape(model, list(CAPSULES.values())))


def stones(rng: np.random.Generator, n: int) -> list[Obstacle]:
    """From tetrahedra to hulls of fifty points, needles and plates, around their origins or beside them."""
    clouds = [rng.normal(size=(4 + 5 * k % 47, 3)) * 10.0 ** rng.uniform(-1.4, 0.0, 3) for k in range(n)]
    return [
        Obstacle(Hull.of_points(cloud + rng.choice([0.0, 0.4]) * rng.normal(size=3)), random_pose(rng, 0.3))
        for cloud in clouds
    ]


def drawn_state(rng: np.random.Generator) -> Array:
    return rng.uniform([-3.0, -2.5, 0.0], [3.0, 2.5, 0.3])


def measured(arm: Proximity, q: Array, told: list[Obstacle]) -> tuple[Pairs, Array]:
    """All pairs, and their normals."""
    pairs = arm.near(q, told, FAR, 0.0)
    assert len(pairs.rho) == len(CAPSULES) * len(told)
    return pairs, (pairs.p - pairs.p_other) / pairs.rho[:, None]


def test_distances_and_nearest_points_are_exact(arm: Proximity):
    """Outside as in coal, inside the signed distance of the deepest point."""
    rng, n_inside, s = np.random.default_rng(1), 0, np.linspace(0.0, 1.0, 41)[:, None]
    tree = small_arm().tree
    for told in (stones(rng, 60), stones(rng, 60), stones(rng, 60)):
        q = drawn_state(rng)
        X_W, (pairs, normals) = State(tree, {"q": q}).X_W, measured(arm, q, told)
        for (name, _), k, rho, n, p_other in zip(
            pairs.names, pairs.obstacle, pairs.rho, normals, pairs.p_other, strict=True
        ):
            c, X_WL = CAPSULES[name], X_W[tree.frames[name].body] @ tree.frames[name].X_BF
            hull, X, d = told[k].shape, told[k].X_WO, rho + CAPSULES[name].radius
            along = (c.a + s * (c.b - c.a)) @ X_WL.R.T + X_WL.p
            points = np.vstack([p_other, p_other + d * n, along])
            at_hull, at_segment, *sampled = hull.signed_distance((points - X.p) @ X.R).distance
            assert at_hull == pytest.approx(0.0, abs=1e-9)
            assert at_segment == pytest.approx(d, abs=1e-9)
            assert min(sampled) - 0.02 < d <= min(sampled) + 1e-9, "no sample of the segment is nearer"
            n_inside += d < 0.0
            if rho > 1e-3:
                of_coal = distance(placed_capsule(c, X_WL), placed(coal_shape(hull), X))
                assert of_coal == pytest.approx(rho, abs=3e-6)
    assert 50 < n_inside < 250


def test_the_normal_is_the_gradient_of_the_distance(arm: Proximity):
    rng, step = np.random.default_rng(2), 1e-7
    told, q = stones(rng, 40), drawn_state(rng)
    slopes = []
    for axis in np.eye(3):
        moved = [[replace(o, X_WO=Pose(o.X_WO.R, o.X_WO.p + sign * step * axis)) for o in told] for sign in (-1, 1)]
        before, after = (arm.near(q, some, FAR, 0.0).rho for some in moved)
        slopes.append((before - after) / (2.0 * step))
    pairs, normals = measured(arm, q, told)
    outside = pairs.rho > -1e-3  # of the thinnest capsule's segment, too
    error = np.abs(np.transpose(slopes) - normals)[outside].max(axis=1)
    assert outside.sum() > 60
    assert np.median(error) < 1e-6
    assert (error < 1e-4).mean() > 0.97, "apart from where another place becomes the nearest"


def test_the_hull_of_a_box_is_the_box_also_inside(arm: Proximity):
    rng, n_inside = np.random.default_rng(3), 0
    for size in ((0.3, 0.2, 0.5), (1.0, 1.0, 1.0), (2.0, 0.01, 0.4)):
        q, poses = drawn_state(rng), [random_pose(rng, 0.6) for _ in range(20)]
        hull = Hull.of_points(CORNERS * size)
        as_hulls, as_boxes = (arm.near(q, [Obstacle(shape, X) for X in poses], FAR, 0.0) for shape in (hull, Box(size)))
        np.testing.assert_allclose(as_hulls.rho, as_boxes.rho, rtol=0, atol=1e-9)
        n_inside += (as_boxes.rho < -0.03).sum()
    assert n_inside > 10


def test_hulls_come_go_and_move_among_others(arm: Proximity):
    """As in a search that has seen no others."""
    rng = np.random.default_rng(4)
    model, told, q, X = small_arm(), stones(rng, 20), drawn_state(rng), random_pose(rng)
    box = Obstacle(Box((0.1, 0.2, 0.3)), X)
    twin = Obstacle(Hull(told[0].shape.vertices.copy(), told[0].shape.triangles.copy()), X)
    moved = [replace(o, X_WO=random_pose(rng)) for o in told]
    for some in (
        told,
        [box, *told[:2]],
        [told[2], box, told[0], twin],
        [box],
        moved[::-1],
        [*moved, *told] * 40,
        told,
    ):
        fresh = Proximity(model, (), ArmShape(model, list(CAPSULES.values()))).near(q, some, FAR, 0.0)
        found = arm.near(q, some, FAR, 0.0)
        np.testing.assert_array_equal(found.rho, fresh.rho)
        for reach in (0.02, 0.1, 0.5):
            np.testing.assert_array_equal(arm.near(q, some, reach, 0.0).rho, found.rho[found.rho < reach])
        np.testing.assert_array_equal(found.p_other, fresh.p_other)
    assert twin.shape == told[0].shape != told[1].shape
    assert hash(twin.shape) == hash(told[0].shape)
    assert repr(told[0].shape) == f"Hull of {len(told[0].shape.vertices)} points"
