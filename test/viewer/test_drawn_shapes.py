"""Triangles: volumes in closed form, arms as their URDFs have them, meshes from allowed folders only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from urdf_parts import joint, link, robot_of

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import UrdfError
from arm_control.maths import Box, Capsule, Cone, Cylinder, Hull, Sphere
from arm_control.viewer import arm_parts, mesh_roots
from arm_control.viewer.arm_shapes import Mesh, find_mesh, mesh_of

VOLUMES = {
    Sphere(0.5): 4 / 3 * np.pi * 0.5**3,
    Cylinder(0.5, 2.0): np.pi * 0.5**2 * 2.0,
    Capsule(0.5, 2.0): np.pi * 0.5**2 * (2.0 + 4 / 3 * 0.5),
    Cone(0.5, 2.0): np.pi * 0.5**2 * 2.0 / 3,
    Box((1.0, 2.0, 3.0)): 6.0,
    Hull.of_points([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]): 1.0,
}

CUBE_STL = """solid cube
facet normal 0 0 1
 outer loop
  vertex 0 0 1
  vertex 1 0 1
  vertex 0 2 1
 endloop
endfacet
endsolid cube
"""


def volume(mesh: Mesh) -> float:
    """Of what the triangles enclose; positive when they are seen from outside against the clock."""
    a, b, c = (mesh.corners[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


@pytest.mark.parametrize("shape", VOLUMES, ids=lambda shape: type(shape).__name__)
def test_triangles_enclose_the_shape(shape):
    mesh = mesh_of(shape)
    assert volume(mesh) == pytest.approx(VOLUMES[shape], rel=0.02)
    distances = np.array([shape.signed_distance(p).distance for p in mesh.corners])
    assert np.abs(distances).max() < 1e-9, "corners are on the surface"
    turned = mesh.moved(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([5.0, 6.0, 7.0]))
    assert volume(turned) == pytest.approx(volume(mesh))


def robot(body: str) -> RobotModel:
    parts = link("base"), link("rod", 1, 1, shapes=body), joint("hinge", "base", "rod", xyz="0 0 0.5")
    return RobotModel.from_urdf(robot_of(*parts))


def visual(geometry: str, extra: str = "") -> str:
    return f'<visual><origin xyz="1 2 3"/><geometry>{geometry}</geometry>{extra}</visual>'


def test_a_visual_shape_is_where_the_urdf_says_in_its_colour():
    red = '<material name="red"><color rgba="1 0 0 0.5"/></material>'
    ((part,), notes) = arm_parts(robot(visual('<box size="2 4 6"/>', red)))
    assert (part.link, part.rgba, notes) == ("rod", (1.0, 0.0, 0.0, 0.5), [])
    np.testing.assert_allclose([part.mesh.corners.min(0), part.mesh.corners.max(0)], [[0, 0, 0], [2, 4, 6]])


@pytest.mark.parametrize("name", ["ur5", "panda", "ur4", "planar3", "vrep_two_link"])
def test_an_arm_of_this_package_looks_like_one(name: str):
    model = RobotModel.from_urdf(urdf_path(name))
    parts, notes = arm_parts(model, mesh_roots(urdf_path(name)))
    assert not notes
    moving = {model.urdf.robot.joint_map[joint].child for joint in model.joint_names}
    assert len(moving & {part.link for part in parts}) >= model.nv - 1


def test_a_mesh_beside_the_urdf_is_drawn(tmp_path: Path):
    (tmp_path / "cube.stl").write_text(CUBE_STL)
    mesh = '<mesh filename="cube.stl" scale="1 10 1"/>'
    ((part,), notes) = arm_parts(robot(visual(mesh)), [tmp_path])
    assert not notes
    np.testing.assert_allclose(part.mesh.corners.max(0), [2, 22, 4])


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ("", "rod"),
        ('<visual><geometry><mesh filename="gone.stl"/></geometry></visual>', "rod"),
        ('<visual><geometry><mesh filename="gone.stl"/></geometry></visual>'
         '<collision><geometry><sphere radius="0.3"/></geometry></collision>', "capsule"),
    ],
)  # fmt: skip
def test_a_link_without_anything_to_show_is_a_rod_or_its_capsule(body: str, size: str):
    parts, notes = arm_parts(robot(body))
    where = "meshes were searched in no folder"
    assert notes == (["the mesh 'gone.stl' is not drawn: there is no such file", where] if "gone" in body else [])
    if size == "capsule":
        (part,) = (part for part in parts if part.link == "rod")
        np.testing.assert_allclose(np.linalg.norm(part.mesh.corners, axis=1), 0.3)
    else:
        assert any(np.ptp(part.mesh.corners[:, 2]) > 0.5 for part in arm_parts(robot(""))[0] if part.link == "base")


def test_a_link_whose_visual_mesh_cannot_be_read_shows_its_collision_mesh(tmp_path: Path):
    (tmp_path / "cube.stl").write_text(CUBE_STL)
    cube = '<collision><geometry><mesh filename="cube.stl" scale="1 10 1"/></geometry></collision>'
    parts, notes = arm_parts(robot(visual('<mesh filename="gone.stl"/>') + cube), [tmp_path])
    (part,) = (part for part in parts if part.link == "rod")
    np.testing.assert_allclose(part.mesh.corners.max(0), [1, 20, 1])
    assert "gone.stl" in notes[0]


OUTSIDE = (
    *("../secret.stl", "package://../secret.stl", "/etc/hostname", "package:///etc/hostname", "a/../../secret.stl"),
    *("file:///etc/hostname", "http://evil.example/a.stl"),
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_mesh_outside_of_the_folders_is_not_opened(name: str, tmp_path: Path):
    (tmp_path / "secret.stl").write_text(CUBE_STL)
    (tmp_path / "inside").mkdir()
    with pytest.raises(UrdfError, match="there is no such file"):
        find_mesh(name, [tmp_path / "inside"])


def test_a_mesh_that_is_no_mesh_is_said(tmp_path: Path):
    (tmp_path / "bad.stl").write_text("nothing")
    _, (note,) = arm_parts(robot(visual('<mesh filename="bad.stl"/>') * 2), [tmp_path])
    assert note == "the mesh 'bad.stl' is not drawn: File is too small", "once, and without the loader's own source"


def test_where_meshes_were_looked_for_is_said_once(tmp_path: Path):
    both = visual('<mesh filename="package://mine/a.stl"/>') + visual('<mesh filename="b.stl"/>')
    _, notes = arm_parts(robot(both), [tmp_path, tmp_path / "share", tmp_path])
    assert notes == [
        "the mesh 'package://mine/a.stl' is not drawn: there is no such file; the same for 1 more",
        f"meshes were searched in {tmp_path}, {tmp_path / 'share'}",
    ]


def test_a_mesh_that_is_too_large_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "cube.stl").write_text(CUBE_STL)
    monkeypatch.setattr("arm_control.viewer.arm_shapes.MAX_FILE_SIZE", 10)
    with pytest.raises(UrdfError, match="larger than 10 bytes"):
        find_mesh("cube.stl", [tmp_path])


@pytest.mark.parametrize(
    "name", ["../meshes/cube.stl", "meshes/../../meshes/cube.stl", "package://mine/meshes/cube.stl"]
)
def test_meshes_beside_the_folder_of_a_urdf_are_found(name: str, tmp_path: Path):
    (tmp_path / "mine" / "meshes").mkdir(parents=True)
    (tmp_path / "mine" / "urdf").mkdir()
    file = tmp_path / "mine" / "meshes" / "cube.stl"
    file.write_text(CUBE_STL)
    roots = mesh_roots(tmp_path / "mine" / "urdf" / "arm.urdf")
    assert find_mesh(name, roots).resolve() == file
    assert find_mesh(f"file://{file}", roots) == file
    assert Path("/") not in roots


def test_more_triangles_than_a_browser_draws_at_ease_are_said(monkeypatch: pytest.MonkeyPatch):
    ball = robot(visual('<sphere radius="1"/>'))
    n = sum(len(part.mesh.faces) for part in arm_parts(ball)[0])
    for most, expected in ((n, 0), (n - 1, 1)):
        monkeypatch.setattr("arm_control.viewer.arm_shapes.MANY_TRIANGLES", most)
        notes = arm_parts(ball)[1]
        assert [f"have {n} triangles" in note for note in notes] == [True] * expected
