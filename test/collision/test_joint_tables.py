"""Tables of the postures in which two links touch: cells against coal, boxes, distances, motions."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pytest
from coal_scene import real_links, smallest_distance
from mesh_arm import box_triangles, write_stl

from arm_control import RobotModel, urdf_path
from arm_control.collision import ArmShape, Validity, joint_tables
from arm_control.collision.allowed_pairs import contact_tables
from arm_control.collision.joint_tables import (
    JointTable,
    LinkPlane,
    RealShape,
    cells_in_contact,
    cover,
    joint_table,
    link_plane,
    real_shapes,
    revolved,
)
from arm_control.maths import Array, Pose


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("panda"), kinematics_only=True)


@pytest.fixture(scope="module")
def plane(panda: RobotModel) -> LinkPlane:
    plane = link_plane(panda, ("panda_link5", "panda_hand"))
    assert plane is not None
    return plane


def real_distance(model: RobotModel, names: tuple[str, str], q: Array) -> float:
    """Distance of the shapes of the URDF in coal."""
    return smallest_distance(*real_links(model, names, q))


def random_postures(model: RobotModel, n: int) -> Array:
    return np.random.default_rng(0).uniform(model.q_min, model.q_max, (n, model.nq))


@pytest.mark.parametrize(
    ("robot", "names", "refused"),
    [
        ("panda", ("panda_link5", "panda_hand"), 0.05),
        pytest.param("ur5", ("forearm_link", "wrist_2_link"), 0.05, marks=pytest.mark.campaign),
        ("ur5", ("forearm_link", "wrist_3_link"), 0.25),  # a solid of revolution is larger
    ],
)
def test_what_a_table_calls_free_is_free_for_coal(robot: str, names: tuple[str, str], refused: float):
    """With other joints anywhere, also the one that was taken out; and it calls most of it free."""
    model = RobotModel.from_urdf(urdf_path(robot), kinematics_only=True)
    plane = link_plane(model, names)
    table = joint_table(plane)
    qs = random_postures(model, 200)
    is_free = table.distance(qs.T) > 0.0
    really_free = np.array([real_distance(model, names, q) > 0.0 for q in qs])
    assert really_free[is_free].all()
    assert 0.0 < is_free.mean() < 1.0
    assert (really_free & ~is_free).mean() < refused


def test_cells_are_proved_with_reach_and_margin(plane: LinkPlane, monkeypatch: pytest.MonkeyPatch):
    """A free cell is free at its corners, the farthest from where it was measured, by the margin."""
    monkeypatch.setattr(joint_tables, "DIVISIONS", 5)
    cells = cells_in_contact(plane, 0.01)
    low, high = plane.ends.T
    edge = (high - low) / len(cells)
    assert 0.05 < cells.mean() < 0.5
    assert cells.sum() > cells_in_contact(plane).sum()
    for i, j in np.argwhere(~cells):
        for corner in ([0, 0], [0, 1], [1, 0], [1, 1]):
            assert not plane.near(low + (np.array([[i, j]]) + corner) * edge, 0.01).any()


def test_hulls_of_meshes_change_no_cell(tmp_path: Path):
    """They only tell more quickly what is far; meshes with many corners are divided less often."""
    write_stl(tmp_path / "beam.stl", box_triangles(np.array([0.3, 0.1, 0.1])))
    write_stl(tmp_path / "hook.stl", hook())
    plane = link_plane(folding_arm(tmp_path), ("beam", "hook"))
    assert plane is not None
    assert all(shape.hull is not None for shape in (*plane.first, *plane.second))
    bare = plane._replace(**{k: [s._replace(hull=None) for s in getattr(plane, k)] for k in ("first", "second")})
    x = np.random.default_rng(0).uniform(-3.0, 3.0, (400, 2))
    for distance in (0.0, 0.01, 0.03):
        near = plane.near(x, distance)
        np.testing.assert_array_equal(near, bare.near(x, distance))
        assert 0.0 < near.mean() < 1.0
    hulls = plane._replace(second=[s._replace(shape=s.hull) for s in plane.second])
    assert hulls.near(x, 0.0).sum() > plane.near(x, 0.0).sum()
    many = [plane.first[0]._replace(corners=np.zeros((n, 3))) for n in (100, 10_000, 20_000)]
    assert [plane._replace(first=[one]).divisions for one in many] == [10, 9, 8]


def hook() -> Array:
    """A bar with a bar across its end: not convex."""
    bars = box_triangles(np.array([0.3, 0.03, 0.03])), box_triangles(np.array([0.03, 0.03, 0.2]))
    return np.concatenate([bars[0], bars[1] + [0.15, 0.0, 0.1]])


def folding_arm(folder: Path) -> RobotModel:
    """A beam and a hook, with two joints between them."""
    mesh = '<collision><origin xyz="0.15 0 0"/><geometry><mesh filename="{}.stl"/></geometry></collision>'
    links = {"base": "", "beam": mesh.format("beam"), "between": "", "hook": mesh.format("hook")}
    joints = [
        f'<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0"/>'
        f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
        for k, (parent, child, x, axis) in enumerate(
            (("base", "beam", 0, "0 0 1"), ("beam", "between", 0.32, "0 1 0"), ("between", "hook", 0.03, "0 0 1"))
        )
    ]
    text = "".join(f'<link name="{name}">{shape}</link>' for name, shape in links.items()) + "".join(joints)
    file = folder / "folding.urdf"
    file.write_text(f'<robot name="folding">{text}</robot>')
    return RobotModel.from_urdf(file, tip="hook", kinematics_only=True)


def test_boxes_cover_a_mask_and_little_else():
    rows, columns = np.indices((64, 64))
    mask = (rows < 8) | ((columns % 16 < 4) & (rows < 40))  # a comb: the first cuts leave nothing out
    boxes = cover(mask, 12)
    covered = np.zeros_like(mask)
    for i, j, k, m in boxes:
        covered[i:k, j:m] = True
    np.testing.assert_array_equal(covered, mask)
    assert len(boxes) <= 9
    assert cover(np.zeros((4, 4), bool), 3) == []
    assert cover(mask, 1) == [(0, 0, 40, 64)]
    assert len(cover(mask, 12, waste=64 * 64)) == 1


def test_the_distance_from_boxes():
    table = JointTable((2, 0), ((1.0, -1.0, 0.5, 0.25), (3.0, 0.0, 0.1, 0.1)), ((-2.0, 4.0), None))
    assert table.distance(np.array([-1.0, 9.0, 1.0])) == -0.25
    assert table.distance(np.array([-1.0, 9.0, 2.0])) == 0.5
    assert table.distance(np.array([-1.0 + 2.0 * np.pi, 9.0, 2.0])) == pytest.approx(0.5)  # it may turn around
    assert table.distance(np.array([1.5, 0.0, -1.9])) == pytest.approx(0.1)  # from the wall
    assert JointTable((0, 1), (), (None, None)).distance(np.zeros(2)) > 0.0


def test_a_solid_of_revolution_contains_the_link_at_every_angle(panda: RobotModel):
    shapes = real_shapes(panda, "panda_hand")
    axis = Pose(np.eye(3), np.array([0.01, -0.02, 0.0]))
    solids = revolved(shapes, axis)
    points = (np.concatenate([s.corners for s in shapes]) - axis.p) @ axis.R
    probe = coal.Sphere(1e-6)
    for angle in np.linspace(0.0, 6.0, 7):
        c, s = np.cos(angle), np.sin(angle)
        for p in points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ axis.R.T + axis.p:
            assert any(holds(solid, coal.Transform3s(np.eye(3), p), probe) for solid in solids)


def holds(solid: RealShape, place: object, probe: object) -> bool:
    pose, result = coal.Transform3s(solid.X_BS.R, solid.X_BS.p), coal.DistanceResult()
    return coal.distance(solid.shape, pose, probe, place, coal.DistanceRequest(), result) <= 1e-6


def test_links_with_more_joints_between_them_have_no_plane(panda: RobotModel):
    assert link_plane(panda, ("panda_link0", "panda_link5")) is None
    assert link_plane(panda, ("panda_link4", "panda_link5")) is None


def test_an_arm_of_given_capsules_has_no_tables(panda: RobotModel):
    shape = ArmShape(panda)
    assert contact_tables(shape)
    assert contact_tables(ArmShape(panda, shape.capsules)) == {}


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_few_free_postures_are_refused_and_none_in_contact_is_called_free(robot: str):
    """By the shapes of the URDF, of the pairs that are checked."""
    model = RobotModel.from_urdf(urdf_path(robot), kinematics_only=True)
    validity, qs = Validity(model), random_postures(model, 120)
    called_free = validity.free_states(qs)
    free = np.array([min(real_distance(model, pair, q) for pair in validity.link_pairs) > 0.0 for q in qs])
    assert not (called_free & ~free).any()
    assert (free & ~called_free).sum() <= 0.05 * free.sum()


def test_motions_stay_out_of_the_boxes(panda: RobotModel):
    """Where only the table keeps a motion from being refused, a motion through a box is seen, with the pair's name."""
    validity = Validity(panda)
    pair = frozenset(("panda_link5", "panda_hand"))
    table, qs = validity.tables[pair], random_postures(panda, 2000)
    a, b = qs[:1000], qs[1000:]
    found = validity.motions(a, b)
    share = np.linspace(0.0, 1.0, 300)[:, None]
    for k in np.flatnonzero(found.is_free):
        along = a[k] + share * (b[k] - a[k])
        distance = table.distance(along.T)
        if distance.min() <= 0.0:  # then the capsules are apart there
            near = [p.distance for q in along[distance <= 0.0] for p in validity.pairs(q, 0.0, 1.0) if {*p[:2]} == pair]
            assert min(near, default=1.0) > 0.0
    assert found.is_free.sum() > 50
    contacts = [validity.first_contact(np.stack([a[k], b[k]])) for k in np.flatnonzero(found.is_contact)[:40]]
    assert all(contact.pairs for contact in contacts)
    assert any({*p[:2]} == pair for contact in contacts for p in contact.pairs)
