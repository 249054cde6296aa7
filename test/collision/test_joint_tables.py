"""Tables of the postures in which two links touch: cells against coal, boxes, distances, motions."""

from __future__ import annotations

import coal
import numpy as np
import pytest

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
from arm_control.model import State


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("panda"), kinematics_only=True)


@pytest.fixture(scope="module")
def plane(panda: RobotModel) -> LinkPlane:
    plane = link_plane(panda, ("panda_link5", "panda_hand"))
    assert plane is not None
    return plane


def real_distance(model: RobotModel, names: tuple[str, str], q: Array) -> float:
    """Distance of the shapes of the URDF in coal, by the model's own kinematics."""
    placed, X_W = [], [*State(model.tree, {"q": q}).X_W, Pose.identity()]  # the last one is the world's
    for name in names:
        X_WB = X_W[model.tree.frames[name].body]
        placed.append([(s.shape, X_WB @ s.X_BS) for s in real_shapes(model, name)])
    request = coal.DistanceRequest()
    return min(
        coal.distance(
            one, coal.Transform3s(X.R, X.p), other, coal.Transform3s(Y.R, Y.p), request, coal.DistanceResult()
        )
        for one, X in placed[0]
        for other, Y in placed[1]
    )


def random_postures(model: RobotModel, n: int) -> Array:
    return np.random.default_rng(0).uniform(model.q_min, model.q_max, (n, model.nq))


@pytest.mark.parametrize(
    ("robot", "names", "refused"),
    [
        ("panda", ("panda_link5", "panda_hand"), 0.05),
        ("ur5", ("forearm_link", "wrist_2_link"), 0.05),
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
