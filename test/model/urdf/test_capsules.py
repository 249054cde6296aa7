"""Capsules around links: every shape is inside, and the closed forms."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from arm_control.maths import Array, Pose, rotation_from_rpy
from arm_control.model import LinkCapsule, RobotModel, link_capsules, load_urdf

REPO = Path(__file__).parents[3]


def urdf(*shapes: str) -> str:
    parts = "".join(
        f'<collision><origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><geometry>{shape}</geometry></collision>'
        for shape in shapes
    )
    return f'<robot name="r"><link name="a">{parts}</link></robot>'


def outside(capsule: LinkCapsule, points: Array) -> Array:
    """How far points of the link are outside its capsule."""
    d = capsule.b - capsule.a
    s = np.clip((points - capsule.a) @ d / max(d @ d, 1e-24), 0.0, 1.0)[:, None]
    return np.linalg.norm(points - capsule.a - s * d, axis=1) - capsule.radius


def placed(points: Array) -> Array:
    X = Pose(rotation_from_rpy([0.4, -0.5, 0.6]), np.array([0.1, -0.2, 0.3]))
    return points @ X.R.T + X.p


def rim(radius: float, length: float) -> Array:
    angle = np.linspace(0, 2 * np.pi, 100)
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
    return np.concatenate([ring + [0, 0, length / 2], ring - [0, 0, length / 2]])


CORNERS = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, -1).T


@pytest.mark.parametrize(
    ("shape", "points"),
    [
        ('<cylinder radius="0.04" length="0.4"/>', rim(0.04, 0.4)),
        ('<box size="0.1 0.2 0.7"/>', CORNERS * [0.1, 0.2, 0.7]),
        ('<box size="0.1 0.7 0.2"/>', CORNERS * [0.1, 0.7, 0.2]),
        ('<sphere radius="0.2"/>', np.eye(3) * 0.2),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_shape_is_inside_its_capsule_and_touches_it(shape: str, points: Array):
    (capsule,), notes = link_capsules(load_urdf(urdf(shape)))
    gap = outside(capsule, placed(points))
    assert gap.max() == pytest.approx(0.0, abs=1e-12)
    assert notes == ()


def test_a_sphere_is_exact_and_several_shapes_give_several_capsules():
    capsules, _ = link_capsules(load_urdf(urdf('<sphere radius="0.2"/>', '<box size="1 1 1"/>')))
    assert [c.link for c in capsules] == ["a", "a"]
    np.testing.assert_allclose([capsules[0].a, capsules[0].b], [[0.1, -0.2, 0.3]] * 2, rtol=0, atol=1e-12)
    assert capsules[0].radius == 0.2
    assert link_capsules(load_urdf(urdf())) == ((), ())


def test_a_mesh_is_inside_its_capsules(tmp_path: Path):
    coal = pytest.importorskip("coal")
    path = REPO / "urdf" / "ur4_2links" / "base.stl"
    description = tmp_path / "mesh.urdf"
    description.write_text(urdf(f'<mesh filename="{path.name}" scale="1 2 1"/>'))
    (tmp_path / path.name).write_bytes(path.read_bytes())
    capsules, _ = link_capsules(load_urdf(description))
    points = np.array(coal.MeshLoader().load(str(path), np.array([1.0, 2.0, 1.0])).vertices())
    gap = np.min([outside(capsule, placed(points)) for capsule in capsules], axis=0)
    assert gap.max() == pytest.approx(0.0, abs=1e-9)
    assert max(capsule.radius for capsule in capsules) < np.linalg.norm(np.ptp(points, axis=0))


@pytest.mark.parametrize("name", ["package://nowhere/a.stl", "a.stl"])
def test_a_mesh_that_is_not_there_is_a_note(name: str):
    capsules, notes = link_capsules(load_urdf(urdf(f'<mesh filename="{name}"/>', '<sphere radius="0.2"/>')))
    assert len(capsules) == 1
    assert "link 'a'" in notes[0]
    assert "has no capsule: the file does not exist: name the folder" in notes[0]


def test_one_note_names_all_meshes_that_one_thing_keeps_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "base.stl").write_bytes((REPO / "urdf" / "ur4_2links" / "base.stl").read_bytes())
    description = tmp_path / "mesh.urdf"
    description.write_text(urdf(*['<mesh filename="base.stl" scale="7 1 1"/>'] * 2))
    monkeypatch.setitem(sys.modules, "coal", None)
    mesh = r"link 'a': the mesh base.stl"
    assert re.fullmatch(rf"{mesh}, {mesh} has no capsule: coal is not installed: \S+ -m pip install coal",
                        *link_capsules(load_urdf(description))[1])  # fmt: skip


def test_a_package_is_looked_for_where_ament_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("coal")
    target = tmp_path / "share" / "p" / "base.stl"
    target.parent.mkdir(parents=True)
    target.write_bytes((REPO / "urdf" / "ur4_2links" / "base.stl").read_bytes())
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    capsules, _ = link_capsules(load_urdf(urdf('<mesh filename="package://p/base.stl"/>')))
    assert {capsule.link for capsule in capsules} == {"a"}


def test_the_ur5_has_a_capsule_for_each_shape(ur5: RobotModel):
    capsules, notes = link_capsules(ur5.urdf)
    assert len(capsules) == sum(len(link.collisions) for link in ur5.urdf.robot.links) == 14
    assert notes == ()
