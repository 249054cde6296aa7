"""Rays against MuJoCo's, and against the signed distance of the shapes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from arm_control.maths import Box, Capsule, Cone, Cylinder, Hull, Shape, Sphere, floor_distances, ray_distances

GEOM = mujoco.mjtGeom
SHAPES = {
    "sphere": (Sphere(0.3), GEOM.mjGEOM_SPHERE, [0.3, 0.0, 0.0]),
    "box": (Box((0.2, 0.5, 0.8)), GEOM.mjGEOM_BOX, [0.1, 0.25, 0.4]),
    "capsule": (Capsule(0.1, 0.6), GEOM.mjGEOM_CAPSULE, [0.1, 0.3, 0.0]),
    "cylinder": (Cylinder(0.2, 0.5), GEOM.mjGEOM_CYLINDER, [0.2, 0.25, 0.0]),
}
EYE = np.eye(3)
HULLS = (
    Hull.of_points(0.4 * np.vstack([EYE, -EYE])),
    Hull.of_points(np.stack(np.meshgrid(*[[-0.1, 0.3]] * 3), -1).reshape(-1, 3)),
)


def rays(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around a shape, and directions some of which hit it."""
    rng = np.random.default_rng(0)
    p = rng.normal(size=(n, 3))
    p /= np.linalg.norm(p, axis=1)[:, None]
    d = 0.25 * rng.normal(size=(n, 3)) - p
    return p, d / np.linalg.norm(d, axis=1)[:, None]


@pytest.mark.parametrize("name", SHAPES)
def test_rays_hit_what_mujoco_s_rays_hit(name: str):
    shape, kind, size = SHAPES[name]
    ours, theirs = [], []
    for p, d in zip(*rays(200), strict=True):
        ours.append(ray_distances(shape, p, d[None])[0])
        theirs.append(mujoco.mju_rayGeom(np.zeros(3), EYE.ravel(), np.array(size), p, d, kind))
    hits = np.isfinite(ours)
    assert 20 < hits.sum() < 180
    assert ((np.array(theirs) >= 0.0) == hits).all()
    assert np.allclose(np.array(ours)[hits], np.array(theirs)[hits], atol=1e-9)


@pytest.mark.parametrize("shape", [Cone(0.3, 0.8), Cone(0.5, 0.1), *HULLS, *(one[0] for one in SHAPES.values())])
def test_a_ray_ends_at_the_first_point_of_the_shape(shape: Shape):
    """The signed distance is 0 there and positive before; a ray without a hit stays outside."""
    for p, d in zip(*rays(30), strict=True):
        (t,) = ray_distances(shape, p, d[None])
        way = np.linspace(0.0, min(t, 3.0), 400)[:, None]
        distances = shape.signed_distance(p + way * d).distance
        assert (distances[:-1] > 0.0).all()
        assert distances[-1] == pytest.approx(0.0, abs=1e-9) if np.isfinite(t) else distances[-1] > 0.0


@pytest.mark.parametrize("shape", [Cone(0.3, 0.8), *HULLS, *(one[0] for one in SHAPES.values())])
def test_rays_along_the_axes_and_from_inside(shape: Shape):
    directions = np.vstack([EYE, -EYE])
    assert (ray_distances(shape, np.zeros(3), directions) == 0.0).all()
    top = shape.signed_distance([0.0, 0.0, 2.0]).distance
    below, above = ray_distances(shape, np.array([0.0, 0.0, 2.0]), directions)[[5, 2]]
    assert below == pytest.approx(top, abs=1e-12)
    assert np.isinf(above)
    assert np.isinf(ray_distances(shape, np.array([2.0, 0.0, 0.0]), directions)[[0, 1, 2, 4, 5]]).all()


def test_the_floor_is_all_below_a_height():
    slanted = np.array([[0.6, 0.0, -0.8], [0.6, 0.0, 0.8], [1.0, 0.0, 0.0]])
    assert floor_distances(0.2, np.array([0.0, 0.0, 1.0]), slanted).tolist() == [1.0, np.inf, np.inf]
    assert not floor_distances(0.2, np.array([0.0, 0.0, 0.1]), slanted).any()
    assert np.isinf(floor_distances(-np.inf, np.array([0.0, 0.0, 1.0]), slanted)).all()
