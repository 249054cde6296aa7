"""Payloads and identified inertias in a URDF: every library sees the same arm."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import ModelError
from arm_control.model import Inertia, Tool, inertia_in, load_urdf, read_robot, with_inertias
from arm_control.simulation import MujocoSimulator

PAYLOAD = {"payload_mass": 2.0, "payload_centre": (0.1, -0.05, 0.2)}


@pytest.mark.parametrize(("robot", "backend"), [("ur5", "llvm"), ("panda", "python")])
def test_a_payload_of_the_arm_is_a_point_mass_at_its_tip(robot: str, backend: str):
    loaded = RobotModel.from_urdf(urdf_path(robot), backend=backend, **PAYLOAD)
    held = RobotModel.from_urdf(urdf_path(robot), backend=backend)
    held.attach(Tool(mass=PAYLOAD["payload_mass"], centre=PAYLOAD["payload_centre"]))
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, held.nv))
    np.testing.assert_allclose(loaded.mass_matrix(q), held.mass_matrix(q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(loaded.bias(q, v), held.bias(q, v), rtol=0, atol=1e-11)
    if backend == "llvm":
        assert MujocoSimulator(loaded).mass_matrix(q) == pytest.approx(held.mass_matrix(q), abs=1e-6)


@pytest.mark.parametrize("centre", [(0.02, 1.7e-6, 0.05), (0.0, 0.0, 0.0)])
def test_mujoco_simulates_a_payload_on_a_link_without_mass(centre: tuple[float, ...]):
    """Rounding gives a point mass an inertia of 1e-19 kg m^2 of any sign about its own centre, which it refuses."""
    model = RobotModel.from_urdf(urdf_path("ur5"), payload_mass=0.9986, payload_centre=centre)
    own = inertia_in(next(x for x in read_robot(model.urdf.text).iterfind("link") if x.get("name") == "tool0"))
    assert own.m == 0.9986
    MujocoSimulator(model)  # compares the mass matrices


def test_without_a_payload_the_description_is_as_it_was():
    plain, none = RobotModel.from_urdf(urdf_path("ur5")), RobotModel.from_urdf(urdf_path("ur5"), payload_mass=0.0)
    assert none.urdf.text == plain.urdf.text


@pytest.mark.parametrize(
    "payload",
    [
        {"payload_mass": -1.0},
        {"payload_mass": 1.0, "payload_centre": (0.0, 1.0, np.inf)},
    ],
)
def test_a_payload_that_cannot_be_is_refused(payload: dict[str, object]):
    with pytest.raises(ModelError, match="allowed: 0 kg or more, three finite numbers"):
        RobotModel.from_urdf(urdf_path("ur5"), **payload)


def test_inertias_go_into_a_urdf_and_back():
    urdf = load_urdf(urdf_path("ur5"))
    turned = Inertia(
        2.0, np.array([0.1, 0.2, -0.1]), np.array([[0.5, 0.02, 0.01], [0.02, 0.4, 0.03], [0.01, 0.03, 0.3]])
    )
    changed = with_inertias(urdf, {"forearm_link": turned, "wrist_1_link": Inertia.zero()})
    links = {link.get("name"): link for link in read_robot(changed.text).iterfind("link")}
    back = inertia_in(links["forearm_link"])
    assert back.m == 2.0
    np.testing.assert_allclose(back.h, turned.h, atol=1e-15)
    np.testing.assert_allclose(back.J, turned.J, atol=1e-15)
    assert links["wrist_1_link"].find("inertial") is None
    before = {link.get("name"): inertia_in(link) for link in read_robot(urdf.text).iterfind("link")}
    assert inertia_in(links["upper_arm_link"]).m == before["upper_arm_link"].m


def test_friction_is_kept_with_the_arm():
    model = RobotModel.from_urdf(urdf_path("ur5"), coulomb_friction=[1.0] * 6, viscous_friction={"elbow_joint": 2.0})
    assert model.coulomb.tolist() == [1.0] * 6
    assert model.viscous.tolist() == [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    with pytest.raises(ModelError, match=r"coulomb_friction is \[-1.0"):
        RobotModel.from_urdf(urdf_path("ur5"), coulomb_friction=-1.0)
