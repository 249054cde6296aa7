"""Capsules of meshes: every triangle is inside, the excess is what is said, and the cache has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mesh_arm import box_triangles as box
from mesh_arm import mesh_arm

from arm_control.maths import Array
from arm_control.model import link_capsules, mesh_excesses
from arm_control.model.urdf import mesh_capsules as module
from arm_control.model.urdf.mesh_capsules import FittedCapsule, fit_capsules, mesh_capsules

BASE = Path(__file__).parents[3] / "urdf" / "ur4_2links" / "base.stl"


def elbow() -> Array:
    """Two bars at a right angle: not convex."""
    return np.concatenate([box(np.array([0.4, 0.06, 0.06])), box(np.array([0.06, 0.3, 0.06])) + [0.2, 0.15, 0.0]])


def outside(capsules: list[FittedCapsule], points: Array) -> Array:
    """How far points are outside of all capsules [m]."""
    return np.min([capsule.distances(points) - capsule.radius for capsule in capsules], axis=0)


def on_triangles(triangles: Array, n: int) -> Array:
    """Random points on each triangle."""
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (len(triangles), n))
    return np.einsum("tnk,tki->tni", weights, triangles).reshape(-1, 3)


@pytest.mark.parametrize("most", [1, 2, 6])
@pytest.mark.parametrize("triangles", [elbow(), box(np.array([0.2, 0.2, 0.05]))], ids=["elbow", "plate"])
def test_every_triangle_is_inside(triangles: Array, most: int):
    capsules, _ = fit_capsules(triangles, most, 0.0)
    assert len(capsules) == most
    assert outside(capsules, on_triangles(triangles, 200)).max() <= 0.0


def test_each_small_triangle_is_wholly_in_one_capsule():
    """What proves it: a capsule is convex."""
    triangles = module._cut(elbow(), module.EDGE)
    capsules, _ = fit_capsules(elbow(), 6, 0.0)
    holds = [(c.distances(triangles.reshape(-1, 3)) <= c.radius).reshape(-1, 3).all(axis=1) for c in capsules]
    assert np.any(holds, axis=0).all()


def test_triangles_are_cut_without_loss():
    triangles = module._cut(elbow(), 0.02)
    edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
    area = [
        np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1).sum() / 2 for t in (triangles, elbow())
    ]
    assert edges.max() <= 0.02
    assert area[0] == pytest.approx(area[1], rel=1e-12)


def test_the_excess_of_a_disc_is_the_radius_of_its_ball():
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    disc = 0.05 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    (flat,), excess = fit_capsules(np.stack([disc[:-2], disc[1:-1], disc[2:]], axis=1), 1)
    assert excess == pytest.approx(flat.radius, rel=0.03)


def test_more_capsules_come_only_as_long_as_the_excess_is_too_large():
    bar = box(np.array([0.5, 0.03, 0.03]))
    few, excess = fit_capsules(bar, 6, 0.03)
    assert (len(few), excess <= 0.03) == (1, True)
    volumes = [sum(c.volume for c in fit_capsules(elbow(), most, 0.0)[0]) for most in (1, 2, 3)]
    assert volumes[0] > 2.0 * volumes[1] > volumes[2]


def test_the_cache_has_the_capsules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("coal")
    monkeypatch.setenv("ARM_CONTROL_CACHE", str(tmp_path))
    one = np.ones(3)
    first, excess = mesh_capsules(BASE, one)
    monkeypatch.setattr(module, "fit_capsules", lambda *_: pytest.fail("made twice"))
    second, kept = mesh_capsules(BASE, one)
    assert kept == excess > 0.0
    for capsule, again in zip(first, second, strict=True):
        np.testing.assert_array_equal([*capsule.a, *capsule.b, capsule.radius], [*again.a, *again.b, again.radius])
    with pytest.raises(BaseException, match="made twice"):
        mesh_capsules(BASE, 2.0 * one)


def test_links_with_meshes_have_an_excess_and_several_capsules(tmp_path: Path):
    pytest.importorskip("coal")
    urdf = mesh_arm(tmp_path).urdf
    excesses = mesh_excesses(urdf)
    assert set(excesses) == {"beam", "blade"}
    assert min(excesses.values()) > 0.0
    links = [capsule.link for capsule in link_capsules(urdf)[0]]
    assert [links.count(link) for link in ("beam", "blade")] == [module.MOST] * 2
