"""Robots of the Locosim lab and of the studywolf blog against their sources: transforms, tables and closed forms.

Where a document is in error, the test holds the right value and shows that the printed one is not used.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from closed_loop import analytic_jacobian
from file_modules import module_of

from arm_control.core import urdf_path
from arm_control.maths import Array, rpy_from_rotation
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
G = 9.81


@cache
def model_of(name: str) -> RobotModel:
    return RobotModel.from_urdf(urdf_path(name))


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


# All of them


@pytest.mark.parametrize("name", TIPS)
def test_every_file_loads_with_its_tip_and_limits(name: str):
    model = model_of(name)
    assert model.tip == TIPS[name]
    assert (model.tau_max > 0).all()
    assert (model.v_max > 0).all()
    for dynamics in ElementTree.parse(urdf_path(name)).iter("dynamics"):
        assert set(dynamics.attrib.values()) == {"0"}


# UR4, the Locosim lab

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
    return model_of("ur4").jacobian(q), rpy_from_rotation(model_of("ur4").pose(q).R)


@pytest.mark.parametrize("pan", TABLES)
def test_ur4_geometric_jacobians_of_the_lab(pan: float):
    linear, angular = TABLES[pan]
    np.testing.assert_allclose(ur4_at(pan)[0], linear + LIFT + angular + YAW, rtol=0, atol=5e-6)


@pytest.mark.parametrize("pan", TABLES)
def test_ur4_analytic_jacobians_of_the_lab(pan: float):
    np.testing.assert_allclose(
        analytic_jacobian(*ur4_at(pan)), TABLES[pan][0] + LIFT + ROLL + NONE + YAW, rtol=0, atol=5e-6
    )


def test_ur4_pose_mass_matrix_gravity_and_free_fall(ur4: RobotModel):
    M = [
        [2.253540, -0.144764, -0.013414, 0],
        [-0.144764, 2.777012, 0.875683, 0.111173],
        [-0.013414, 0.875683, 0.490359, 0.111173],
        [0, 0.111173, 0.111173, 0.111173],
    ]
    X, t = ur4.pose(UR4_Q0), ur4.evaluate(UR4_Q0, np.zeros(4))
    np.testing.assert_allclose(X.p, [-0.685383, -0.110150, 0.521597], rtol=0, atol=1e-6)
    np.testing.assert_allclose(rpy_from_rotation(X.R), [2.225295, 0, -1.570796], rtol=0, atol=1e-6)
    np.testing.assert_allclose(t.M, M, rtol=0, atol=1e-6)
    np.testing.assert_allclose(t.g, [0, -41.009555, -6.252050, 0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        np.linalg.solve(t.M, -t.h), [1.425797, 25.409963, -34.692709, 9.282746], rtol=0, atol=1e-6
    )
    v = np.array([0.3, -0.5, 0.7, 1.0])
    coriolis = ur4.bias(UR4_Q0, v) - t.g
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


# The meshes of ur4_2links


def test_meshes_are_those_of_the_script_and_of_the_urdf():
    script = module_of(REPO / "urdf" / "ur4_2links" / "make_meshes.py")
    text = load_urdf(urdf_path("ur4_2links")).text
    for name, outline in script.OUTLINES.items():
        assert text.count(f'"package://arm_control/urdf/ur4_2links/{name}.stl"') == 2
        written = (REPO / "urdf" / "ur4_2links" / f"{name}.stl").read_bytes()
        assert len(written) == 84 + 50 * int.from_bytes(written[80:84], "little")
        assert script.stl(script.turned(outline)) == written


# The six-joint arm

L1, L3, L5 = 0.16, 0.14, 0.12


def arm6_transform(q: Array, sign_y: int = 1) -> Array:
    """Product of the document's six transforms; sign_y = -1 is what its text prints for joints 3 and 5."""
    X = transform(rotation("z", q[0]), (0, 0, 0))
    X = X @ transform(rotation("x", q[1]), (0, L1 * np.cos(q[1]), L1 * np.sin(q[1])))
    X = X @ transform(rotation("x", q[2]), (0, 0, 0))
    X = X @ transform(rotation("y", sign_y * q[3]), (0, L3, 0))
    X = X @ transform(rotation("x", q[4]), (0, 0, 0))
    return X @ transform(rotation("y", sign_y * q[5]), (0, L5, 0))


def test_arm6_pose_is_the_product_of_the_documents_transforms():
    for q in angles(6):
        X, expected = model_of("arm6").pose(q), arm6_transform(q)
        np.testing.assert_allclose(X.p, expected[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(X.R, expected[:3, :3], rtol=0, atol=1e-12)


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
    model, lengths, up = model_of(name), LENGTHS[name], UP[name]
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
    model, lengths, up = model_of(name), LENGTHS[name], UP[name]
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
