"""The readable Newton-Euler algorithms: the two variants, the lab's exercise, Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from newton_euler import gravity_torque, mass_matrix_by_columns, rnea, rnea_world, velocity_torque

from arm_control import RobotModel, urdf_path
from arm_control.maths import Array

G0 = (0.0, 0.0, -9.81)
States = Callable[..., list[tuple[Array, Array]]]

SLIDERS = """<robot name="sliders"><link name="base"/>
  <link name="cart"><inertial><origin xyz="0.1 0.2 -0.1"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.3 0 0.1"/><mass value="1.5"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>
  <link name="ram"><inertial><origin xyz="0 0.1 0.4"/><mass value="0.7"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 2 -1"/>
    <origin xyz="0.1 0 0.2" rpy="0.3 -0.2 0.5"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
  <joint name="swing" type="revolute"><parent link="cart"/><child link="arm"/><axis xyz="1 1 0"/>
    <origin xyz="0 0.3 0" rpy="-0.4 0.1 0.2"/><limit lower="-3" upper="3" effort="10" velocity="1"/></joint>
  <joint name="lift" type="prismatic"><parent link="arm"/><child link="ram"/><axis xyz="0 -1 0"/>
    <origin xyz="0.4 0 0.1" rpy="0 0.7 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
</robot>"""


@pytest.fixture(params=["ur5", "ur4", "arm6", "planar3", "sliders"])
def model(request: pytest.FixtureRequest) -> RobotModel:
    return RobotModel.from_urdf(SLIDERS if request.param == "sliders" else urdf_path(request.param))


def motion(model: RobotModel, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q, v, a = rng.uniform(-2.0, 2.0, (3, model.nv))
    return q, v, a, rng.uniform(-5.0, 5.0, 6)


def test_both_variants_and_the_compiled_one_agree(model: RobotModel):
    for seed in range(5):
        q, v, a, F_E = motion(model, seed)
        tau = rnea(model.tree, model.gravity_W, q, v, a, F_E)
        np.testing.assert_allclose(rnea_world(model.tree, model.gravity_W, q, v, a, F_E), tau, rtol=0, atol=1e-11)
        np.testing.assert_allclose(model.inverse_dynamics(q, v, a, F_E), tau, rtol=0, atol=1e-11)


def test_it_agrees_with_pinocchio(model: RobotModel):
    arm = pin.buildModelFromXML(model.urdf.text.replace('type="continuous"', 'type="revolute"'))
    g0 = np.array([0.4, -1.0, -9.0])
    arm.gravity.linear = g0
    for seed in range(5):
        q, v, a, _ = motion(model, seed)
        expected = pin.rnea(arm, arm.createData(), q, v, a)
        np.testing.assert_allclose(rnea(model.tree, g0, q, v, a), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(rnea_world(model.tree, g0, q, v, a), expected, rtol=0, atol=1e-10)


def test_a_wrench_costs_its_image_under_the_jacobian(model: RobotModel):
    q, v, a, F_E = motion(model)
    R = model.pose(q).R
    F_W = np.concatenate([R @ F_E[:3], R @ F_E[3:]])
    without, held = (rnea(model.tree, G0, q, v, a, F) for F in (np.zeros(6), F_E))
    np.testing.assert_allclose(held - without, model.jacobian(q).T @ F_W, rtol=0, atol=1e-11)


def test_the_exercise_of_the_lab_puts_the_pieces_together(model: RobotModel):
    q, v, a, _ = motion(model)
    M, c, g = (
        mass_matrix_by_columns(model.tree, q),
        velocity_torque(model.tree, q, v),
        gravity_torque(model.tree, G0, q),
    )
    np.testing.assert_allclose(M, model.mass_matrix(q), rtol=0, atol=1e-11)
    np.testing.assert_allclose(g, model.gravity(q), rtol=0, atol=1e-11)
    np.testing.assert_allclose(c + g, model.bias(q, v), rtol=0, atol=1e-11)
    np.testing.assert_allclose(M @ a + c + g, rnea(model.tree, G0, q, v, a), rtol=0, atol=1e-11)


def test_armature_is_the_motors_and_not_the_bodies():
    geared = RobotModel.from_urdf(urdf_path("ur5"), armature=0.3)
    q, v, a, _ = motion(geared)
    difference = geared.inverse_dynamics(q, v, a) - rnea(geared.tree, G0, q, v, a)
    np.testing.assert_allclose(difference, 0.3 * a, rtol=0, atol=1e-11)


def test_gravity_is_an_argument_and_the_tree_keeps_its_own():
    model = RobotModel.from_urdf(urdf_path("ur4"))
    q = np.array([np.pi, -np.pi / 8, -np.pi / 6, 0.0])
    expected = [0.0, -41.009555, -6.252050, 0.0]
    np.testing.assert_allclose(gravity_torque(model.tree, G0, q), expected, rtol=0, atol=1e-6)
    weightless = replace(model.tree, gravity=np.zeros(3))
    np.testing.assert_allclose(gravity_torque(weightless, G0, q), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(gravity_torque(model.tree, (0, 0, 0), q), 0.0, rtol=0, atol=1e-12)
