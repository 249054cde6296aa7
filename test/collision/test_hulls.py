"""Hulls as obstacles, against coal, boxes and sentences for meshes that cannot be used."""

from __future__ import annotations

import sys
from pathlib import Path

import coal
import numpy as np
import pytest
from coal_scene import distance, placed_capsule
from small_arm import random_pose, random_states

from arm_control.collision import Validity, coal_shape
from arm_control.exceptions import InputError
from arm_control.maths import Array, Box, Hull, Obstacle, Pose, rotation_from_vector

TURN = np.array([0.1, -0.2, 0.1, 1.0, 0.5, -0.7])
TETRAHEDRON = np.array([[3, 1, 0], [3, 0, 2], [3, 2, 1], [0, 1, 2]])
NO_HULLS = (
    (np.eye(4, 3), TETRAHEDRON[:3]),
    (np.eye(4, 3), TETRAHEDRON[:, ::-1]),
    (np.eye(4, 3) * np.nan, TETRAHEDRON),
    (np.vstack([np.eye(4, 3), [[1.0, 1.0, 1.0]]]), TETRAHEDRON),
)
"""Open, inside out, not finite, with a corner outside."""
CORNERS = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]), axis=-1).reshape(-1, 3)


def stones(twist: Array | None = None, n: int = 5) -> list[Obstacle]:
    """Hulls of random points, from a tetrahedron to 40 points, thin ones among them."""
    rng = np.random.default_rng(0)
    V = np.zeros(6) if twist is None else twist
    sizes = rng.uniform(0.01, 0.3, (n, 3))
    return [
        Obstacle(Hull.of_points(rng.normal(size=(4 + 9 * k, 3)) * size), random_pose(rng), V)
        for k, size in enumerate(sizes)
    ]


def coal_distances(validity: Validity, told: list[Obstacle], q: Array, t: float) -> Array:
    """Distances of the moving links by coal, shape (L, obstacles)."""
    shape = validity.shape
    links = [shape.links[k] for k in shape.moving]
    poses = [shape.model.pose(q, o.link) @ shape.model.tree.frames[o.link].X_BF.inverse() for o in links]
    placed = []
    for obstacle in told:
        V = np.asarray(obstacle.V_WO)
        X = coal.Transform3s(rotation_from_vector(t * V[3:]) @ obstacle.X_WO.R, obstacle.X_WO.p + t * V[:3])
        placed.append((coal_shape(obstacle.shape), X))
    return np.array(
        [[min(distance(placed_capsule(c, X), o) for c in link.whole.capsules) for o in placed]
         for link, X in zip(links, poses, strict=True)]
    )  # fmt: skip


@pytest.mark.parametrize("twist", [None, TURN], ids=["at rest", "turning"])
def test_distances_of_hulls_are_those_of_coal(validity: Validity, twist: Array | None):
    told, t = stones(twist), 0.4
    validity.place(told)
    qs = random_states(validity.shape.model, 12, 1)
    found = validity.distances(qs, t)
    n = 0
    for i, q in enumerate(qs):
        expected = coal_distances(validity, told, q, t)
        outside = expected.min(axis=1) > 0.0
        n += outside.sum()
        np.testing.assert_allclose(found.to_obstacles[i][outside], expected.min(axis=1)[outside], rtol=0, atol=1e-6)
        np.testing.assert_array_equal(found.nearest[i][outside], expected.argmin(axis=1)[outside])
        assert (found.to_obstacles[i][~outside] <= 1e-9).all()
    assert 20 < n < 36
    near = validity.pairs(qs[0], t, 5.0)
    assert len(near) == len({pair[:2] for pair in near}) == 3 * len(told) + len(validity.link_pairs)


def test_the_hull_of_a_box_is_the_box(validity: Validity):
    """Also inside, where a link is as deep as its radius, and for motions while both turn."""
    size, rng = np.array([0.3, 0.2, 0.5]), np.random.default_rng(2)
    hull = Hull.of_points(CORNERS * size / 2.0)
    poses = [random_pose(rng) for _ in range(4)]
    boxes = [Obstacle(Box(tuple(size)), X, TURN) for X in poses]
    a, b = (random_states(validity.shape.model, 150, seed) for seed in (3, 4))
    b = a + 0.3 * (b - a)
    validity.place(boxes)
    as_boxes, expected = validity.motions(a, b, 0.0, 0.5), validity.distances(a, 0.1)
    validity.place([Obstacle(hull, X, TURN) for X in poses])
    as_hulls, found = validity.motions(a, b, 0.0, 0.5), validity.distances(a, 0.1)
    outside = expected.to_obstacles > 0.0
    np.testing.assert_allclose(found.to_obstacles[outside], expected.to_obstacles[outside], rtol=0, atol=1e-9)
    assert (found.to_obstacles[~outside] <= 0.0).all()
    assert (~outside).sum() > 10
    decided = (as_boxes.is_free | as_boxes.is_contact) & (as_hulls.is_free | as_hulls.is_contact)
    np.testing.assert_array_equal(as_hulls.is_free[decided], as_boxes.is_free[decided])
    assert decided.mean() > 0.98


def test_a_link_deep_inside_a_hull_touches_it(validity: Validity):
    """Further from each triangle than its size."""
    validity.place([Obstacle(Hull.of_points(CORNERS * 5.0), Pose.at([0.3, 0.2, 0.1]))])
    qs = random_states(validity.shape.model, 50, 5)
    assert not validity.free_states(qs).any()
    assert (validity.distances(qs).to_obstacles < 0.0).all()


def write_obj(path: Path, points: Array, triangles: list[tuple[int, int, int]]) -> Path:
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {i + 1} {j + 1} {k + 1}" for i, j, k in triangles]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_mesh_is_read_and_its_hull_described(tmp_path: Path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    plain = Hull.of_mesh(write_obj(tmp_path / "plain.obj", corners, faces), scale=2.0)
    assert (len(plain.triangles), plain.note, plain.extent) == (4, "", 2.0)
    dented = np.concatenate([corners, [[0.2, 0.2, 0.2]]])
    faces = [*faces[:3], (1, 2, 4), (2, 3, 4), (3, 1, 4)]
    hollow = Hull.of_mesh(write_obj(tmp_path / "dented.obj", dented, faces))
    assert len(hollow.triangles) == 4
    assert hollow.note == "the mesh dented.obj is not convex: its hull is taken, up to 0.2 m outside of it"


def test_meshes_without_a_hull_are_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    ball = rng.normal(size=(800, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    flat = np.column_stack([rng.normal(size=(50, 2)), np.zeros(50)]) @ rotation_from_vector(np.ones(3))
    broken = tmp_path / "broken.stl"
    broken.write_text("solid")
    for call, message in (
        (lambda: Hull.of_points(ball), "the hull of points has 1596 triangles; allowed are 1000, .* simplify the mesh"),
        (lambda: Hull.of_points(flat), "hull of points is flat; a thin box is needed"),
        (lambda: Hull.of_points(np.eye(3)), r"four corners or more; their shape is \(3, 3\)"),
        (lambda: Hull.of_points(CORNERS * np.nan), "a corner is not finite"),
        (lambda: Hull.of_mesh(tmp_path / "none.stl"), "none.stl does not exist"),
        (lambda: Hull.of_mesh(broken), "broken.stl"),
        (lambda: Obstacle(Hull.of_points(CORNERS), Pose.identity(), (0.0,) * 5), "obstacle: V_WO is"),
        *(
            (lambda hull=hull: Hull(*hull), "must be the closed surface of a convex body, anticlockwise")
            for hull in NO_HULLS
        ),
    ):
        with pytest.raises(InputError, match=message):
            call()
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(InputError, match="needs coal, which is not installed"):
        Hull.of_points(CORNERS)
