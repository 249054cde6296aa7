"""Motions proved by the shapes of the URDF: against coal, at the flat ends of meshes, inside of them, beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from coal_scene import placed, real_links, smallest_distance
from mesh_arm import BEAM, BLADE, box_triangles, mesh_arm
from small_arm import random_states, small_arm

from arm_control import RobotModel
from arm_control.collision import ArmShape, Validity, coal_shape
from arm_control.collision.shape_proof import winding_number
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Hull,
    Mover,
    Obstacle,
    Pose,
    Span,
    Sphere,
    rotation_from_vector,
)
from arm_control.model import LinkCapsule

ROUNDING = 2e-5
FLAT, END = np.array([0.0, 0.0]), 0.1 + BEAM[0] + 0.02 + BLADE[0]
"""Beam and blade along x, the blade horizontal; and where it ends then [m]."""


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> RobotModel:
    return mesh_arm(tmp_path_factory.mktemp("mesh_arm"))


@pytest.fixture(scope="module")
def validity(arm: RobotModel) -> Validity:
    return Validity(arm)


def real_distance(validity: Validity, obstacles: list[Obstacle], q: Array) -> float:
    """Smallest distance of links that move from obstacles, by coal [m]."""
    shape = validity.shape
    links = real_links(shape.model, [shape.names[k] for k in shape.moving], q)
    there = [placed(coal_shape(obstacle.shape), obstacle.X_WO) for obstacle in obstacles]
    return min(smallest_distance(link, there) for link in links)


def obstacles_around(rng: np.random.Generator) -> list[Obstacle]:
    """One of each kind, within reach."""
    shapes = (Sphere(0.06), Box((0.2, 0.1, 0.05)), Cylinder(0.05, 0.2), Capsule(0.03, 0.2), Cone(0.08, 0.2))
    return [
        Obstacle(shape, Pose(rotation_from_vector(rng.normal(size=3)), rng.uniform(-0.6, 0.6, 3))) for shape in shapes
    ]


def test_states_are_as_coal_has_them(validity: Validity):
    """Also those that the capsules refuse, and with margins."""
    rng, n_regained = np.random.default_rng(0), 0
    for margin in (0.0, 0.02):
        checked = Validity(validity.shape.model, margin=margin)
        for _ in range(4):
            obstacles = obstacles_around(rng)
            checked.place(obstacles)
            qs = random_states(validity.shape.model, 60, int(rng.integers(1000)))
            by_shapes, free = checked.free_by_shapes(qs, qs), checked.free_states(qs)
            distances = np.array([real_distance(checked, obstacles, q) for q in qs])
            assert (distances[by_shapes] > margin).all()
            assert by_shapes[distances > margin + ROUNDING].all()
            assert by_shapes[free].all()
            n_regained += int((by_shapes & ~free).sum())
    assert n_regained > 4


def test_motions_that_are_called_free_are_free_all_along(validity: Validity):
    rng, n_free, n_touching = np.random.default_rng(1), 0, 0
    for _ in range(6):
        obstacles = obstacles_around(rng)
        validity.place(obstacles)
        a = random_states(validity.shape.model, 20, int(rng.integers(1000)))
        b = np.clip(a + rng.normal(size=a.shape) * 0.5, -3.0, 3.0)
        for one, other, is_free in zip(a, b, validity.free_by_shapes(a, b), strict=True):
            shares = np.linspace(0.0, 1.0, 24)[:, None]
            nearest = min(real_distance(validity, obstacles, q) for q in one + shares * (other - one))
            assert nearest > 0.0 or not is_free
            n_free, n_touching = n_free + is_free, n_touching + (nearest <= 0.0)
    assert n_free > 20
    assert n_touching > 20


def test_a_turn_about_the_axis_of_a_capsule_moves_the_link(arm: RobotModel, validity: Validity):
    """The blade is horizontal at both ends of half a turn, and passes a ball between."""
    ball = Obstacle(Sphere(0.02), Pose.at([0.67, 0.0, 0.08]))
    validity.place([ball])
    a, b = np.array([[0.0, -1.2]]), np.array([[0.0, 1.2]])
    upright = np.array([[0.0, np.pi / 2]])
    assert validity.free_by_shapes(FLAT[None], FLAT[None])[0]
    assert not validity.free_by_shapes(upright, upright)[0]
    assert not validity.free_by_shapes(FLAT[None], [[0.0, 2.8]])[0]
    assert validity.free_by_shapes(a * 0.5, b * 0.5)[0]
    turning = validity.shape.turning
    blade, beam = (validity.shape.names.index(name) for name in ("blade", "beam"))
    np.testing.assert_array_equal(turning(blade), [1.0, 1.0])
    np.testing.assert_array_equal(turning(blade, beam), [0.0, 1.0])
    np.testing.assert_array_equal(turning(beam), [1.0, 0.0])


def test_all_within_a_deviation_is_free(arm: RobotModel, validity: Validity):
    """A ball 12 mm above the blade's rim, which 0.1 rad of roll would bring to it."""
    ball = Obstacle(Sphere(0.02), Pose.at([0.57, 0.1, 0.042]))
    validity.place([ball])
    q = FLAT[None]
    assert validity.free_by_shapes(q, q, [0.0, 0.03])[0]
    assert not validity.free_by_shapes(q, q, [0.0, 0.13])[0]
    assert not validity.free_by_shapes(q, q, [0.03, 0.0])[0]


def test_what_is_inside_of_a_mesh_is_in_contact(validity: Validity):
    """For coal a mesh is a surface."""
    for obstacle in (
        Obstacle(Sphere(0.01), Pose.at([0.3, 0.0, 0.0])),
        Obstacle(Hull.of_points(0.01 * np.eye(4, 3)), Pose.at([0.3, 0.0, 0.0])),
    ):
        validity.place([obstacle])
        assert not validity.free_by_shapes(FLAT[None], FLAT[None])[0]
    validity.place([Obstacle(Sphere(0.01), Pose.at([0.3, 0.0, 0.08]))])
    assert validity.free_by_shapes(FLAT[None], FLAT[None])[0]


def test_a_winding_number_tells_inside_from_outside():
    box = box_triangles(np.array([0.4, 0.2, 0.1]))
    inside = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 3)) * [0.39, 0.19, 0.09]
    np.testing.assert_allclose([winding_number(box, p) for p in inside], 1.0, atol=1e-9)
    np.testing.assert_allclose([winding_number(box, p) for p in inside + [0.0, 0.3, 0.0]], 0.0, atol=1e-9)
    np.testing.assert_allclose([winding_number(box[:, ::-1], p) for p in inside], -1.0, atol=1e-9)


def test_the_first_contact_is_that_of_the_shapes(validity: Validity):
    """At the flat end of the blade, where its capsules are too long."""
    q = np.array([FLAT, FLAT])
    validity.place([Obstacle(Sphere(0.05), Pose.at([END + 0.055, 0.0, 0.0]))])
    assert not validity.free_states(q).any()
    assert validity.first_contact(q) is None
    assert validity.first_contact(q, deviation=[0.0, 0.001]) is None
    assert validity.first_contact(q, deviation=[0.1, 0.1]) is not None
    validity.place([Obstacle(Sphere(0.05), Pose.at([END + 0.045, 0.0, 0.0]))])
    contact = validity.first_contact(q)
    assert contact is not None
    assert contact.pairs[0].link == "blade"


def test_links_are_compared_by_their_shapes(tmp_path: Path):
    """The pairs of a validity, with its margin."""
    model = mesh_arm(tmp_path)
    pairs = Validity(model, margin=0.0, link_margin=0.05).link_pairs
    assert pairs == (("base", "blade"),)
    q = np.array([[2.9, 0.0]])
    found = [Validity(model, link_margin=margin).free_by_shapes(q, q)[0] for margin in (0.0, 0.2, 0.5)]
    assert found == [True, True, False]


def test_there_is_no_proof_without_meshes_or_among_what_moves(arm: RobotModel, validity: Validity):
    q = FLAT[None]
    validity.place([])
    assert validity.free_by_shapes(q, q)[0]
    X, plain = Pose.at([3.0, 0.0, 0.0]), Validity(small_arm())
    for told in (
        Obstacle(Sphere(0.1), X, (0.1, 0.0, 0.0, 0.0, 0.0, 0.0)),
        Mover(Obstacle(Sphere(0.1), X), Span(0.0, 1.0)),
        Mover(Obstacle(Hull.of_points(0.01 * np.eye(4, 3)), X), Span(0.0, 1.0)),
    ):
        validity.place([told])
        assert not validity.free_by_shapes(q, q)[0]
    assert not plain.free_by_shapes(np.zeros((1, 3)), np.zeros((1, 3)))[0]
    own = ArmShape(arm, [LinkCapsule("blade", np.zeros(3), np.array([0.3, 0.0, 0.0]), 0.1)])
    assert not Validity(arm, own).free_by_shapes(q, q)[0]
