"""Robots of the Locosim lab and of the studywolf blog against their sources: transforms, tables and closed forms.

Where a document is in error, the test holds the right value and shows that the printed one is not used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

from arm_control.core import urdf_path
from arm_control.maths import Array, analytic_jacobian, rpy_from_rotation
from arm_control.model import RobotModel, load_urdf

REPO = Path(__file__).parents[2]
TIPS = {
    "ur4": "ee_link",
    "ur5": "tool0",
    "ur5_lab": "tool0",
    "arm6": "ee_link",
    "planar1": "ee_link",
    "planar2": "ee_link",
    "planar3": "ee_link",
    "planar4": "ee_link",
    "vrep_two_link": "hand",
    "studywolf_ur5": "EE",
    "simple_geometry": "shoulder_link",
    "ur4_2links": "shoulder_link",
}
MODELS = {name: RobotModel.from_urdf(urdf_path(name)) for name in TIPS}
G = 9.81


def angles(n_joints: int, n: int = 10) -> Array:
    return np.random.default_rng(7).uniform(-np.pi, np.pi, (n, n_joints))


def rotation(axis: str, angle: complex) -> Array:
    """Right-handed turn about x, y or z; also of a complex angle."""
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    R = np.eye(3, dtype=np.asarray(angle).dtype)
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i], R[i, j] = np.sin(angle), -np.sin(angle)
    return R


def transform(R: Array, p: tuple[float, float, float]) -> Array:
    return np.block([[R, np.array(p)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def derivatives(values: Callable[[Array], Array], q: Array) -> list[Array]:
    """Partial derivatives by the complex step: exact to rounding."""
    return [values(q + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(q))]


# All of them


@pytest.mark.parametrize("name", TIPS)
def test_every_file_loads_with_its_tip_and_limits(name: str):
    model = MODELS[name]
    assert model.tip == TIPS[name]
    assert (model.tau_max > 0).all()
    assert (model.v_max > 0).all()
    for dynamics in ElementTree.parse(urdf_path(name)).iter("dynamics"):
        assert set(dynamics.attrib.values()) == {"0"}


@pytest.mark.parametrize("name", TIPS)
def test_mujoco_reads_the_same_dynamics(name: str):
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjModel.from_xml_string(load_urdf(urdf_path(name)).without_meshes())
    spec.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data, model = mujoco.MjData(spec), MODELS[name]
    torque, acceleration = np.zeros(model.nv), np.linspace(-1, 2, model.nv)
    for q in angles(model.nv, 5):
        v = q[::-1] / 3
        data.qpos, data.qvel = q, v
        mujoco.mj_forward(spec, data)
        mujoco.mj_mulM(spec, data, torque, acceleration)
        np.testing.assert_allclose(model.mass_matrix(q) @ acceleration, torque, rtol=0, atol=1e-10)
        np.testing.assert_allclose(model.bias(q, v), data.qfrc_bias, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("ur4", [np.pi, -np.pi / 8, -np.pi / 6, 0]),
        ("ur4", [0.5, -1.5, 1, -np.pi]),
        ("ur5", [0] * 6),
        ("ur5", [0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0]),
        ("arm6", [0] * 6),
        ("arm6", [0.3, 1.0, -1.4, 0.5, 1.5, 0]),
        ("studywolf_ur5", [0] * 6),
        ("studywolf_ur5", [0.1, np.pi / 4, -np.pi / 2, np.pi / 4, np.pi / 2, np.pi / 2]),
        ("simple_geometry", [0.4]),
    ],
)
def test_collision_shapes_do_not_touch_in_the_poses_of_the_documents(name: str, q: list[float]):
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjModel.from_xml_string(load_urdf(urdf_path(name)).text)
    data = mujoco.MjData(spec)
    data.qpos = q
    mujoco.mj_forward(spec, data)
    assert spec.ngeom >= 2
    assert data.ncon == 0


# UR4, the Locosim lab

UR4 = MODELS["ur4"]
UR4_Q0 = np.array([np.pi, -np.pi / 8, -np.pi / 6, 0])
LIFT = [[0, -0.68538, -0.29273, -0.05395]]  # the same in all of the lab's tables
ROLL, NONE, YAW = [[0, 1, 1, 1]], [[0, 0, 0, 0]], [[1, 0, 0, 0]]
MINUS_ROLL = [[0, -1, -1, -1]]
SLANTED = [[0, -0.70711, -0.70711, -0.70711]]
TABLES = {  # pan: two rows of x and y, then two geometric angular rows; as printed
    np.pi: ([[0.11015, -0.43244, -0.2698, 0.0414], [-0.68538, 0, 0, 0]], NONE + MINUS_ROLL),
    np.pi / 2: ([[-0.68538, 0, 0, 0], [-0.11015, 0.43244, 0.2698, -0.0414]], MINUS_ROLL + NONE),
    3 * np.pi / 4: (
        [[-0.40675, -0.30578, -0.19078, 0.02927], [-0.56253, 0.30578, 0.19078, -0.02927]],
        SLANTED + SLANTED,
    ),
}


def ur4_at(pan: float) -> tuple[Array, Array]:
    """Geometric Jacobian and roll-pitch-yaw at the lab's pose, with another pan angle."""
    q = np.array([pan, *UR4_Q0[1:]])
    return UR4.jacobian(q), rpy_from_rotation(UR4.pose(q).R)


@pytest.mark.parametrize("pan", TABLES)
def test_ur4_geometric_jacobians_of_the_lab(pan: float):
    linear, angular = TABLES[pan]
    np.testing.assert_allclose(ur4_at(pan)[0], linear + LIFT + angular + YAW, rtol=0, atol=5e-6)


@pytest.mark.parametrize("pan", TABLES)
def test_ur4_analytic_jacobians_of_the_lab(pan: float):
    np.testing.assert_allclose(
        analytic_jacobian(*ur4_at(pan)), TABLES[pan][0] + LIFT + ROLL + NONE + YAW, rtol=0, atol=5e-6
    )


def test_ur4_analytic_jacobian_takes_the_inverse_of_what_the_lab_prints():
    """J_a = T_RPY J, as printed, gives zero rates of roll where the lab's own table has ones."""
    J, (_, pitch, yaw) = ur4_at(3 * np.pi / 4)
    R = rotation("z", yaw)
    T = np.column_stack([R @ rotation("y", pitch)[:, 0], R[:, 1], [0, 0, 1]])
    np.testing.assert_allclose(T @ J[3:], NONE + ROLL + YAW, rtol=0, atol=1e-12)
    np.testing.assert_allclose(analytic_jacobian(J, [0, pitch, yaw])[3:], np.linalg.solve(T, J[3:]), rtol=0, atol=1e-12)


def test_ur4_zero_rows_are_where_the_tables_have_them():
    """Rows count from 0 here: 3 and 4 (the lab's text says third and fourth)."""
    geometric = {pan: np.flatnonzero(np.abs(ur4_at(pan)[0]).max(axis=1) < 1e-12).tolist() for pan in TABLES}
    assert list(geometric.values()) == [[3], [4], []]
    for pan in TABLES:
        assert np.flatnonzero(np.abs(analytic_jacobian(*ur4_at(pan))).max(axis=1) < 1e-12).tolist() == [4]


def test_ur4_never_pitches_because_its_hand_keeps_x_horizontal():
    """Roll is about the hand's x and yaw about the world's z, so no rate is about all three axes of the hand."""
    for q in angles(4, 40):
        R, J = UR4.pose(q).R, UR4.jacobian(q)
        assert abs(R[2, 0]) < 1e-12
        rpy = rpy_from_rotation(R)
        rates = analytic_jacobian(J, rpy)[3:]
        assert np.abs(rates[1]).max() < 1e-12
        np.testing.assert_allclose(J[3:], np.outer(R[:, 0], rates[0]) + np.outer([0, 0, 1], rates[2]), atol=1e-12)


def test_ur4_pose_mass_matrix_gravity_and_free_fall():
    M = [
        [2.253540, -0.144764, -0.013414, 0],
        [-0.144764, 2.777012, 0.875683, 0.111173],
        [-0.013414, 0.875683, 0.490359, 0.111173],
        [0, 0.111173, 0.111173, 0.111173],
    ]
    X, t = UR4.pose(UR4_Q0), UR4.evaluate(UR4_Q0, np.zeros(4))
    np.testing.assert_allclose(X.p, [-0.685383, -0.110150, 0.521597], rtol=0, atol=1e-6)
    np.testing.assert_allclose(rpy_from_rotation(X.R), [2.225295, 0, -1.570796], rtol=0, atol=1e-6)
    np.testing.assert_allclose(t.M, M, rtol=0, atol=1e-6)
    np.testing.assert_allclose(t.g, [0, -41.009555, -6.252050, 0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        np.linalg.solve(t.M, -t.h), [1.425797, 25.409963, -34.692709, 9.282746], rtol=0, atol=1e-6
    )
    v = np.array([0.3, -0.5, 0.7, 1.0])
    coriolis = UR4.bias(UR4_Q0, v) - t.g
    np.testing.assert_allclose(coriolis, [-0.012087, -0.154165, -0.105977, -0.004705], rtol=0, atol=1e-6)


def test_masses_of_the_documents():
    links = {
        "base_link": 4.0,
        "shoulder_link": 3.7,
        "upper_arm_link": 8.393,
        "forearm_link": 2.275,
        "wrist_1_link": 1.219,
    }
    assert load_urdf(urdf_path("ur4")).link_masses() == links
    assert load_urdf(urdf_path("ur4_2links")).link_masses() == {link: links[link] for link in list(links)[:2]}
    assert load_urdf(urdf_path("simple_geometry")).link_masses() == {"base_link": 10.0, "shoulder_link": 3.7}
    assert sum(load_urdf(urdf_path("studywolf_ur5")).link_masses().values()) == pytest.approx(18.8, rel=1e-12)


def test_ur4_limits():
    np.testing.assert_array_equal(UR4.tau_max, [150, 150, 150, 28])
    np.testing.assert_array_equal(UR4.v_max, [3.15, 3.15, 3.15, 3.2])
    np.testing.assert_array_equal(UR4.q_max, np.full(4, np.pi))
    np.testing.assert_array_equal(UR4.q_min, np.full(4, -np.pi))


def test_ur4_reaches_the_labs_target_in_its_four_ways():
    """Position and roll of (-0.5, -0.2, 0.5, pi/3), where roll is read with the pitch of zero."""
    for q in (
        [-2.96708, 0.03058, -1.49041, -0.63457],
        [-2.96708, -1.38591, 1.49041, -2.19890],
        [0.58650, -3.09602, 1.10098, -0.09936],
        [0.58650, -2.04422, -1.10098, 1.05080],
    ):
        X = UR4.pose(q)
        np.testing.assert_allclose(X.p, [-0.5, -0.2, 0.5], rtol=0, atol=1e-5)
        assert rpy_from_rotation(X.R)[0] == pytest.approx(np.pi / 3, abs=1e-5)


def test_a_joint_axis_is_written_in_the_frame_of_the_joint_not_of_the_parent():
    text = """<robot name="r"><link name="base"/><link name="rod"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
        <origin rpy="0 1.5707963267948966 0"/><axis xyz="1 0 0"/><limit effort="1" velocity="1"/></joint></robot>"""
    np.testing.assert_allclose(RobotModel.from_urdf(text).jacobian([0.3])[3:, 0], [0, 0, -1], rtol=0, atol=1e-15)


def test_simple_geometry_and_ur4_2links_turn_about_the_vertical():
    for name, height, inertia in (("simple_geometry", 0.1, 0.006), ("ur4_2links", 0.089159, 0.00666)):
        t = MODELS[name].evaluate([0.3], [2.0])
        np.testing.assert_allclose(t.X_WE.p, [0, 0, height], rtol=0, atol=1e-15)
        np.testing.assert_allclose(t.J[:, 0], [0, 0, 0, 0, 0, 1], rtol=0, atol=1e-15)
        np.testing.assert_allclose(t.M, [[inertia]], rtol=1e-12)
        np.testing.assert_allclose(t.h, [0], rtol=0, atol=1e-12)


# The meshes of ur4_2links


def mesh_script() -> ModuleType:
    path = REPO / "urdf" / "ur4_2links" / "make_meshes.py"
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_meshes_are_those_of_the_script_and_of_the_urdf():
    script, text = mesh_script(), load_urdf(urdf_path("ur4_2links")).text
    for name, outline in script.OUTLINES.items():
        assert text.count(f'"package://arm_control/urdf/ur4_2links/{name}.stl"') == 2
        written = (REPO / "urdf" / "ur4_2links" / f"{name}.stl").read_bytes()
        assert len(written) == 84 + 50 * int.from_bytes(written[80:84], "little")
        assert script.stl(script.turned(outline)) == written


@pytest.mark.parametrize("name", ["base", "shoulder"])
def test_a_mesh_is_closed_and_faces_outwards(name: str):
    """Volume by the divergence theorem, against a stack of frusta with regular polygons for circles."""
    script = mesh_script()
    outline, corners = script.OUTLINES[name], script.turned(script.OUTLINES[name])
    frusta = sum((zb - za) * (a * a + a * b + b * b) / 3 for (a, za), (b, zb) in pairwise(outline))
    polygon = script.SECTORS / 2 * np.sin(2 * np.pi / script.SECTORS)  # area of one with radius 1
    volume = np.linalg.det(corners).sum() / 6
    assert volume == pytest.approx(polygon * frusta, rel=1e-12)
    edges = [tuple(map(tuple, (t[i].round(9), t[i - 1].round(9)))) for t in corners + 0.0 for i in range(3)]
    assert len(set(edges)) == len(edges)
    assert {(b, a) for a, b in edges} == set(edges), "an edge without its neighbour"


# UR5 of the studywolf blog

SW5 = MODELS["studywolf_ur5"]
SW5_L = (0.0935, 0.13453, 0.4251, 0.12, 0.3921, 0.0935, 0.0935, 0.0935)
SW5_Q = np.array([0.1, -0.4, 0.7, -0.3, 0.5, 0.2])
SW5_POINTS = [(f"link{i}", f"joint{i}") for i in range(6)] + [("EE", "EE")]
SW5_MASSES = (1.0, 2.5, 5.7, 3.9, 2.5, 2.5, 0.7)
SW5_MOMENTS = (
    [0.02] * 3,
    [0.04] * 3,
    [0.06, 0.06, 0.04],
    [0.055, 0.055, 0.04],
    [0.04] * 3,
    [0.04] * 3,
    [0.01] * 3,
)
SW5_J = [
    [0.112999, -0.085820, -0.046731, -0.009334, 0.052794, 0],
    [-0.179701, 0.855336, 0.465749, 0.093033, -0.077169, 0],
    [0, 0.094495, -0.071047, 0.044826, 0, 0],
]


def sw5_transforms(q: Array) -> dict[str, Array]:
    """The blog's nine transforms, chained: joint0 to joint5, EE, and the centres of mass of links 2 and 3.

    That of joint 4 is kept as it is, a reflection.
    """
    L, right = SW5_L, np.pi / 2
    a = -q[4] - right
    mirror = np.array([[np.sin(a), np.cos(a), 0], [np.cos(a), -np.sin(a), 0], [0, 0, 1]])
    steps = (
        transform(rotation("z", q[0]), (0, 0, L[0])),
        transform(rotation("x", right - q[1]), (-L[1], 0, 0)),
        transform(rotation("x", -q[2]), (0, L[2], 0)),
        transform(rotation("x", -q[3] - right), (L[3], L[4], 0)),
        transform(mirror, (-L[5], 0, 0)),
        transform(rotation("x", q[5]), (0, 0, L[6])),
        transform(np.eye(3), (L[7], 0, 0)),
    )
    chained: dict[str, Array] = {}
    X = np.eye(4)
    for (_, name), step in zip(SW5_POINTS, steps, strict=True):
        X = X @ step
        chained[name] = X
    chained["link2"] = chained["joint1"] @ transform(rotation("x", -q[2]), (0, L[2] / 2, 0))
    chained["link3"] = chained["joint2"] @ transform(rotation("x", -q[3] - right), (L[3], L[4] / 2, 0))
    return chained


SW5_BODIES = ("joint0", "joint1", "link2", "link3", "joint4", "joint5", "EE")


def sw5_body_jacobians(q: Array) -> list[tuple[Array, Array, Array]]:
    """Rotation, linear and angular Jacobian of each of the seven masses, from the blog's transforms alone."""
    result = []
    for name in SW5_BODIES:
        X = sw5_transforms(q)[name]
        dX = derivatives(lambda q, name=name: sw5_transforms(q)[name], q)
        spins = [dX_i[:3, :3] @ X[:3, :3].T for dX_i in dX]
        angular = np.array([[S[2, 1], S[0, 2], S[1, 0]] for S in spins]).T
        result.append((X[:3, :3], np.array([dX_i[:3, 3] for dX_i in dX]).T, angular))
    return result


def test_sw5_stands_upright_at_zero():
    heights = [0.0935, 0.0935, 0.5186, 0.9107, 0.9107, 1.0042, 1.0042]
    forward = [0, -0.13453, -0.13453, -0.01453, -0.10803, -0.10803, -0.20153]
    for (frame, _), x, z in zip(SW5_POINTS, forward, heights, strict=True):
        np.testing.assert_allclose(SW5.pose(np.zeros(6), frame).p, [x, 0, z], rtol=0, atol=1e-12)


def test_sw5_hand_and_its_jacobian():
    np.testing.assert_allclose(SW5.pose(SW5_Q).p, [-0.179701, -0.112999, 0.953130], rtol=0, atol=1e-6)
    np.testing.assert_allclose(SW5.jacobian(SW5_Q)[:3], SW5_J, rtol=0, atol=1e-6)


def test_sw5_frames_are_those_of_the_blog_with_the_mirrored_ones_put_right():
    for q in angles(6):
        for i, (frame, name) in enumerate(SW5_POINTS):
            X, seed = SW5.pose(q, frame), sw5_transforms(q)[name]
            mirror = np.diag([1, -1, 1]) if i >= 4 else np.eye(3)
            assert np.linalg.det(seed[:3, :3]) == pytest.approx(-1 if i >= 4 else 1, abs=1e-12)
            assert np.linalg.det(X.R) == pytest.approx(1, abs=1e-12)
            np.testing.assert_allclose(X.p, seed[:3, 3], rtol=0, atol=1e-12)
            np.testing.assert_allclose(X.R, seed[:3, :3] @ mirror, rtol=0, atol=1e-12)


def test_sw5_centres_of_mass_of_the_arm_segments():
    for q in angles(6, 10):
        bodies = sw5_body_jacobians(q)
        for i, parent, point in ((2, "link1", (0, SW5_L[2] / 2, 0)), (3, "link2", (SW5_L[3], SW5_L[4] / 2, 0))):
            X = SW5.pose(q, parent)
            seed = sw5_transforms(q)[f"link{i}"][:3, 3]
            np.testing.assert_allclose(X.p + X.R @ point, seed, rtol=0, atol=1e-12)
            np.testing.assert_allclose(SW5.jacobian(q, parent, point)[:3], bodies[i][1], rtol=0, atol=1e-12)


def test_sw5_jacobian_turns_with_the_frames_not_about_fixed_axes():
    """Column i is the axis in the world; the blog's constant rows and its later R z for all are neither."""
    J = SW5.jacobian(SW5_Q)[3:]
    X = sw5_transforms(SW5_Q)
    signs = (1, -1, -1, -1, 1, 1)  # the mirrored frame of joint 4 turns the sign of joint 5
    axes = [X[f"joint{i}"][:3, 2 if i in (0, 4) else 0] for i in range(6)]
    expected = np.array(axes).T * signs
    expected[:, 5] *= -1  # a turn by +q5 in a left-handed frame is one about minus its axis
    np.testing.assert_allclose(J, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(J, sw5_body_jacobians(SW5_Q)[6][2], rtol=0, atol=1e-12)
    along_z = np.array([X[f"joint{i}"][:3, 2] for i in range(6)]).T
    np.testing.assert_allclose([J[:, i] @ along_z[:, i] for i in (1, 2, 3, 5)], 0, rtol=0, atol=1e-12)


def test_sw5_mass_matrix_is_that_of_seven_masses_and_their_turned_moments():
    for q in angles(6, 10):
        M, g = np.zeros((6, 6)), np.zeros(6)
        for mass, moments, (R, J_v, J_w) in zip(SW5_MASSES, SW5_MOMENTS, sw5_body_jacobians(q), strict=True):
            M += mass * J_v.T @ J_v + J_w.T @ R @ np.diag(moments) @ R.T @ J_w
            g += mass * G * J_v[2]
        np.testing.assert_allclose(SW5.mass_matrix(q), M, rtol=0, atol=1e-12)
        np.testing.assert_allclose(SW5.gravity(q), g, rtol=0, atol=1e-12)


def test_sw5_known_values_and_not_those_of_the_blogs_errors():
    M, g = SW5.mass_matrix(SW5_Q), SW5.gravity(SW5_Q)
    right = [0.583921, 5.705033, 1.477494, 0.174382, 0.096120, 0.05]
    np.testing.assert_allclose(np.diag(M), right, rtol=0, atol=1e-6)
    assert abs(M[0, 0] - 0.565668) > 0.01  # with the constant orientation rows
    np.testing.assert_allclose(g, [0, 11.830281, -8.388076, 0.307822, 0, 0], rtol=0, atol=1e-6)
    without_the_hand = -np.array([0, -11.181387, 7.900195, 0, 0, 0])  # six of the seven links
    np.testing.assert_allclose(g - without_the_hand, 0.7 * G * np.array(SW5_J)[2], rtol=0, atol=1e-5)


def test_sw5_last_joint_moves_no_point_of_the_axis():
    for q in angles(6, 5):
        np.testing.assert_allclose(SW5.jacobian(q)[:3, 5], 0, rtol=0, atol=1e-12)


# The six-joint arm

ARM6 = MODELS["arm6"]
L1, L3, L5 = 0.16, 0.14, 0.12


def arm6_transform(q: Array, sign_y: int = 1) -> Array:
    """Product of the document's six transforms; sign_y = -1 is what its text prints for joints 3 and 5."""
    X = transform(rotation("z", q[0]), (0, 0, 0))
    X = X @ transform(rotation("x", q[1]), (0, L1 * np.cos(q[1]), L1 * np.sin(q[1])))
    X = X @ transform(rotation("x", q[2]), (0, 0, 0))
    X = X @ transform(rotation("y", sign_y * q[3]), (0, L3, 0))
    X = X @ transform(rotation("x", q[4]), (0, 0, 0))
    return X @ transform(rotation("y", sign_y * q[5]), (0, L5, 0))


def arm6_jacobian(q: Array) -> Array:
    """The document's 3 x 7 position Jacobian, by reach, side and height in the plane turned by q0."""
    (s0, s1, _, s3, s4, _), (c0, c1, _, c3, c4, _) = np.sin(q), np.cos(q)
    s12, c12 = np.sin(q[1] + q[2]), np.cos(q[1] + q[2])
    hand_reach, hand_height = L5 * (c4 * c12 - s4 * c3 * s12), L5 * (c4 * s12 + s4 * c3 * c12)
    reach, side, height = L1 * c1 + L3 * c12 + hand_reach, L5 * s3 * s4, L1 * s1 + L3 * s12 + hand_height
    in_plane = np.array(  # rates of reach, side, height for q1 to q4
        [
            [-height, 0, reach],
            [-L3 * s12 - hand_height, 0, L3 * c12 + hand_reach],
            [L5 * s3 * s4 * s12, L5 * c3 * s4, -L5 * s3 * s4 * c12],
            [-L5 * (s4 * c12 + c4 * c3 * s12), L5 * s3 * c4, L5 * (c4 * c3 * c12 - s4 * s12)],
        ]
    ).T
    J = np.zeros((3, 7))  # the last two columns, wrist and gripper, stay zero
    J[:, 0] = [-c0 * reach - s0 * side, c0 * side - s0 * reach, 0]
    J[:, 1:5] = np.array([[-s0, c0, 0], [c0, s0, 0], [0, 0, 1]]) @ in_plane
    return J


def test_arm6_pose_is_the_product_of_the_documents_transforms():
    for q in angles(6):
        X, expected = ARM6.pose(q), arm6_transform(q)
        np.testing.assert_allclose(X.p, expected[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(X.R, expected[:3, :3], rtol=0, atol=1e-12)


def test_arm6_jacobian_is_the_one_written_by_hand():
    for q in angles(6):
        np.testing.assert_allclose(ARM6.jacobian(q)[:3], arm6_jacobian(q)[:, :6], rtol=0, atol=1e-12)
        exact = np.array(derivatives(lambda q: arm6_transform(q)[:3, 3], q)).T
        np.testing.assert_allclose(arm6_jacobian(q)[:, :6], exact, rtol=0, atol=1e-12)


def test_arm6_turns_about_y_as_the_documents_code_not_as_its_text():
    q = np.array([0.2, 0.4, -0.5, 0.9, 1.1, 0.3])
    printed = arm6_transform(q, sign_y=-1)
    assert np.linalg.norm(ARM6.pose(q).p - printed[:3, 3]) > 0.1
    assert np.abs(ARM6.pose(q).R - printed[:3, :3]).max() > 0.1


# Planar arms

LENGTHS: dict[str, tuple[float, ...]] = {"planar1": (0.8,), "planar2": (0.31, 0.27), "planar3": (2.0, 1.2, 0.7)}
LENGTHS |= {"planar4": (0.5,) * 4, "vrep_two_link": (0.42, 0.225)}
MASSES: dict[str, tuple[float, ...]] = {"planar1": (1.0,), "planar2": (1.98, 1.32), "planar3": (10.0,) * 3}
MASSES |= {"planar4": (1.0,) * 4, "vrep_two_link": (1.171, 0.329)}
UP = {"planar1": 1, "planar2": 1, "planar3": 2, "planar4": 1, "vrep_two_link": 2}  # index of the plane's second axis
BASE = {"vrep_two_link": 0.15}


def planar_jacobian(q: Array, lengths: tuple[float, ...]) -> Array:
    """Rates of cos and sin of the chain: shape (2, n), zero for the joints behind its end."""
    J, heading = np.zeros((2, len(q))), np.cumsum(q)
    for i, length in enumerate(lengths):
        J[:, : i + 1] += length * np.array([[-np.sin(heading[i])], [np.cos(heading[i])]])
    return J


@pytest.mark.parametrize("name", LENGTHS)
def test_planar_hand_and_jacobian(name: str):
    model, lengths, up = MODELS[name], LENGTHS[name], UP[name]
    for q in angles(model.nv):
        p, heading = np.zeros(3), np.cumsum(q)
        p[0], p[up] = lengths @ np.cos(heading), lengths @ np.sin(heading) + BASE.get(name, 0)
        np.testing.assert_allclose(model.pose(q).p, p, rtol=0, atol=1e-12)
        J = np.zeros((6, model.nv))
        J[[0, up]] = planar_jacobian(q, lengths)
        J[6 - up] = 1 if up == 1 else -1  # about z, or about -y: from x to z
        np.testing.assert_allclose(model.jacobian(q), J, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LENGTHS)
def test_planar_centres_of_mass(name: str):
    """Each at the same fraction of its own link, along the summed angle, in both rows."""
    model, lengths, up = MODELS[name], LENGTHS[name], UP[name]
    fraction = 1.0 if name == "vrep_two_link" else 0.5
    links = [link for link in model.frames if link in ("upper_arm", "forearm", *(f"link{i}" for i in range(4)))]
    assert len(links) == model.nv
    for q in angles(model.nv, 10):
        M = np.zeros((model.nv, model.nv))
        g = np.zeros(model.nv)
        for i, link in enumerate(links):
            point = (fraction * lengths[i], 0, 0)
            J = planar_jacobian(q, (*lengths[:i], point[0]))
            np.testing.assert_allclose(model.jacobian(q, link, point)[[0, up]], J, rtol=0, atol=1e-12)
            rod = MASSES[name][i] * lengths[i] ** 2 / 12
            turning = np.arange(model.nv) <= i
            M += MASSES[name][i] * J.T @ J + np.outer(turning, turning) * (rod if fraction < 1 else (0.008, 0.0005)[i])
            g += MASSES[name][i] * G * J[1] * (up == 2)
        np.testing.assert_allclose(model.mass_matrix(q), M, rtol=0, atol=1e-11)
        np.testing.assert_allclose(model.gravity(q), g, rtol=0, atol=1e-11)


def test_planar1_is_a_rod_about_its_end():
    np.testing.assert_allclose(MODELS["planar1"].mass_matrix([0.7]), [[0.8**2 / 3]], rtol=1e-14)


def test_planar2_equations_of_motion_are_those_of_two_rods():
    K1 = (1.98 / 3 + 1.32) * 0.31**2 + 1.32 * 0.27**2 / 3
    K2, K3 = 1.32 * 0.31 * 0.27, 1.32 * 0.27**2 / 3
    K4 = K2 / 2
    model = MODELS["planar2"]
    for q in angles(2):
        v = np.array([0.7, -1.3])
        c, s = np.cos(q[1]), np.sin(q[1])
        M = [[K1 + K2 * c, K3 + K4 * c], [K3 + K4 * c, K3]]
        h = [-K2 * s * v[0] * v[1] - K4 * s * v[1] ** 2, K4 * s * v[0] ** 2]
        np.testing.assert_allclose(model.mass_matrix(q), M, rtol=0, atol=1e-14)
        np.testing.assert_allclose(model.bias(q, v), h, rtol=0, atol=1e-14)


def test_planar2_is_the_simulated_arm_not_the_one_its_controller_assumed():
    q = [0.75613, 1.8553]
    M = MODELS["planar2"].mass_matrix(q)
    assert M[0, 0] == pytest.approx(0.191, abs=5e-4)
    J = [planar_jacobian(np.array(q), (0.155,)), planar_jacobian(np.array(q), (0.31, 0.135))]
    assumed = 15 + 8 + sum(m * J_i[:, 0] @ J_i[:, 0] for m, J_i in zip(MASSES["planar2"], J, strict=True))
    assert assumed / M[0, 0] == pytest.approx(121, abs=0.5)


def test_planar2_is_singular_when_stretched_or_folded():
    """det J = L0 L1 sin q1, also at q1 = pi, where the document's printed matrix is regular."""
    for q in [*angles(2), np.array([0.8, 0.0]), np.array([0.8, np.pi])]:
        J = MODELS["planar2"].jacobian(q)[:2]
        assert np.linalg.det(J) == pytest.approx(0.31 * 0.27 * np.sin(q[1]), abs=1e-15)


@pytest.mark.parametrize("name", ["planar3", "vrep_two_link"])
def test_gravity_torque_is_the_slope_of_the_potential_energy(name: str):
    """M a + c + g = tau: what holds the arm still is +g, and a stretched arm is held by positive torque."""
    model, lengths = MODELS[name], np.array(LENGTHS[name])
    at = 1.0 if name == "vrep_two_link" else 0.5

    def energy(q: Array) -> Array:
        heights = lengths * np.sin(np.cumsum(q))
        centres = np.cumsum(heights) - (1 - at) * heights
        return G * np.array(MASSES[name]) @ centres

    for q in angles(model.nv, 10):
        np.testing.assert_allclose(model.gravity(q), derivatives(energy, q), rtol=0, atol=1e-11)
    assert (model.gravity(np.zeros(model.nv)) > 0).all()
