"""The model of every robot: its links against Pinocchio, its terms against single calls, what it is given.

Identities are tested on the recursions (test_recursions.py), kernels against other libraries (test_backends.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from arm_control.exceptions import FrameNotFound, InputError, JointNotFound, ModelError, UrdfError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.simulation import MujocoSimulator

REPO = Path(__file__).parents[2]
UR5 = REPO / "urdf" / "ur5" / "ur5.urdf"

States = Callable[..., list[tuple[Array, Array]]]
Load = Callable[..., RobotModel]


def test_pose_of_every_link_agrees_with_the_unreduced_model(robot: RobotModel, states: States):
    """With all joints of the URDF, as Pinocchio reads it; continuous joints as one number each, locked ones at zero."""
    full = pin.buildModelFromXML(robot.urdf.text.replace('type="continuous"', 'type="revolute"'))
    data, all_q = full.createData(), np.zeros(full.nv)
    where = [full.joints[full.getJointId(name)].idx_v for name in robot.joint_names]
    for q, _ in states(robot, 3):
        all_q[where] = q
        pin.framesForwardKinematics(full, data, all_q)
        for frame in robot.frames:
            X = data.oMf[full.getFrameId(frame)]
            np.testing.assert_allclose(robot.pose(q, frame).p, X.translation, rtol=0, atol=1e-12)
            np.testing.assert_allclose(robot.pose(q, frame).R, X.rotation, rtol=0, atol=1e-12)


def test_masses_add_up(robot: RobotModel):
    masses = robot.urdf.link_masses()
    fixed = {link for link in masses if not robot.urdf.chain(link)}
    assert robot.mass == pytest.approx(sum(mass for link, mass in masses.items() if link not in fixed), rel=1e-12)


def test_terms_agree_with_the_single_methods(robot: RobotModel, states: States):
    for q, v in states(robot, 3):
        t = robot.evaluate(q, v)
        np.testing.assert_array_equal(t.q, q)
        np.testing.assert_array_equal(t.v, v)
        np.testing.assert_allclose(t.J, robot.jacobian(q), rtol=0, atol=1e-14)
        np.testing.assert_allclose(t.V_WE, t.J @ v, rtol=0, atol=1e-14)
        np.testing.assert_allclose(t.X_WE.p, robot.pose(q).p, rtol=0, atol=1e-14)
        np.testing.assert_allclose(t.X_WE.R, robot.pose(q).R, rtol=0, atol=1e-14)
        np.testing.assert_allclose(t.M, robot.mass_matrix(q), rtol=0, atol=1e-13)
        np.testing.assert_allclose(t.g, robot.gravity(q), rtol=0, atol=1e-12)
        np.testing.assert_allclose(t.h, robot.bias(q, v), rtol=0, atol=1e-12)
        np.testing.assert_allclose(robot.bias(q, np.zeros(robot.nv)), t.g, rtol=0, atol=1e-12)


def test_armature_adds_to_the_diagonal_of_the_mass_matrix_and_to_nothing_else(
    load_robot: Load, ur5: RobotModel, states: States
):
    armature = {"wrist_3_joint": 0.3, "elbow_joint": 1.5}
    geared = load_robot("ur5", armature=armature)
    np.testing.assert_array_equal(geared.armature, [0, 0, 1.5, 0, 0, 0.3])
    for q, v in states(ur5, 10):
        plain, heavy = ur5.evaluate(q, v), geared.evaluate(q, v)
        np.testing.assert_allclose(heavy.M - plain.M, np.diag([0, 0, 1.5, 0, 0, 0.3]), rtol=0, atol=1e-12)
        for name in ("h", "g", "J", "Jdot_v"):
            np.testing.assert_allclose(getattr(heavy, name), getattr(plain, name), rtol=0, atol=1e-12)


def test_a_turn_of_a_continuous_joint_changes_nothing(load_robot: Load, states: States):
    for name in ("kinova", "double_pendulum"):
        model = load_robot(name)
        continuous = np.isinf(model.q_max)
        assert continuous.any()
        np.testing.assert_array_equal(continuous, np.isinf(model.q_min))
        assert model.nq == model.nv == len(model.joint_names)
        for q, v in states(model, 5):
            t, turned = model.evaluate(q, v), model.evaluate(q + 2 * np.pi * continuous, v)
            np.testing.assert_allclose(turned.X_WE.p, t.X_WE.p, rtol=0, atol=1e-12)
            np.testing.assert_allclose(turned.X_WE.R, t.X_WE.R, rtol=0, atol=1e-12)
            np.testing.assert_allclose(turned.h, t.h, rtol=0, atol=1e-12)


# -- MuJoCo ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("armature", [0.0, 0.1])
def test_acceleration_agrees_with_mujoco(load_robot: Load, states: States, armature: float):
    for name in ("ur5", "panda", "double_pendulum"):
        model = load_robot(name, armature=armature)
        simulator = MujocoSimulator(model, timestep=1e-6)
        for q, v in states(model, 5):
            simulator.reset(q)
            simulator.mujoco_data.qvel[:] = v
            tau = np.linspace(-1.0, 1.0, model.nv)
            t = model.evaluate(q, v)
            simulator.step(tau)
            expected = np.linalg.solve(t.M, tau - t.h)
            a = (simulator.v - v) / 1e-6
            np.testing.assert_allclose(a, expected, rtol=0, atol=1e-6 * (1 + np.abs(expected).max()))


# -- what it is given --------------------------------------------------------------------------------


def test_values_are_brought_into_joint_order(ur5: RobotModel):
    values = {name: float(i) for i, name in enumerate(ur5.joint_names)}
    for seed in range(5):
        names = [*np.random.default_rng(seed).permutation(ur5.joint_names), "finger"]
        ordered = ur5.in_joint_order(names, [values.get(name, np.nan) for name in names])
        np.testing.assert_array_equal(ordered, range(6))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda names, values: (names, values[:5]), "^6 joint names with 5 effort values"),
        (lambda names, values: (names[:5], values), "^5 joint names with 6 effort values"),
        (lambda names, values: (names[:5], values[:5]), "^no effort for joint wrist_3_joint; got shoulder_pan_joint, "),
        (lambda names, values: ([], []), "^no effort for joint shoulder_pan_joint, .*; got none"),
        (lambda names, values: ([*names, names[2]], [*values, 0.0]), "^joint named twice: elbow_joint$"),
        (lambda names, values: (names, [*values[:5], np.nan]), r"^effort is not finite: \{'wrist_3_joint': nan\}"),
        (lambda names, values: (names, [np.inf, *values[1:]]), r"^effort is not finite: \{'shoulder_pan_joint': inf\}"),
    ],
)
def test_values_that_do_not_fit_the_joints_are_refused(ur5: RobotModel, change: Callable, message: str):
    names, values = change(list(ur5.joint_names), [0.0] * 6)
    with pytest.raises(InputError, match=message):
        ur5.in_joint_order(names, values, "effort")
    if tuple(names) == ur5.joint_names:  # the model's own order has a way of its own
        with pytest.raises(InputError, match=message):
            ur5.in_joint_order(ur5.joint_names, values, "effort")


def test_values_in_the_models_own_order_are_copied(ur5: RobotModel):
    for values in (np.arange(6.0), [1e308] * 6):
        found = ur5.in_joint_order(ur5.joint_names, values)
        np.testing.assert_array_equal(found, values)
        found[0] = -1.0
        assert values[0] >= 0.0
    with pytest.raises(InputError, match=r"^effort has shape \(6, 1\)"):
        ur5.in_joint_order(ur5.joint_names, np.zeros((6, 1)), "effort")


def test_an_unknown_frame_is_named_with_those_there_are(ur5: RobotModel):
    for call in (ur5.pose, ur5.jacobian):
        with pytest.raises(FrameNotFound, match="unknown frame 'tool1'; the model has: base_link, ") as caught:
            call(np.zeros(6), "tool1")
        assert caught.value.name == "tool1"
        assert caught.value.available == ur5.frames
    with pytest.raises(FrameNotFound, match="tool1"):
        RobotModel.from_urdf(UR5, tip="tool1")


@pytest.mark.parametrize("option", ["armature", "effort_limits", "velocity_limits"])
def test_an_unknown_joint_is_named(option: str):
    with pytest.raises(JointNotFound, match="unknown joint 'elbow'; the model has: shoulder_pan_joint"):
        RobotModel.from_urdf(UR5, **{option: {"elbow": 1.0}})


def pendulum(*extra: str, inertial: str = '<inertial><mass value="2"/>{}</inertial>') -> str:
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    return (
        f'<robot name="p"><link name="base"/><link name="rod">{inertial.format(inertia)}</link>'
        '<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="5" velocity="3"/></joint>' + "".join(extra) + "</robot>"
    )


def link(name: str, parent: str) -> str:
    joint = f'<joint name="to_{name}" type="fixed"><parent link="{parent}"/><child link="{name}"/></joint>'
    return f'<link name="{name}"/>{joint}'


def test_the_only_leaf_is_the_tip():
    assert RobotModel.from_urdf(pendulum()).tip == "rod"
    assert RobotModel.from_urdf(pendulum(link("hand", "rod"))).tip == "hand"


def test_the_tip_is_tool0_or_what_all_leaves_hang_on():
    assert RobotModel.from_urdf(pendulum(link("left", "rod"), link("right", "rod"))).tip == "rod"
    assert RobotModel.from_urdf(pendulum(link("left", "rod"), link("right", "rod")), tip="right").tip == "right"
    assert RobotModel.from_urdf(pendulum(link("left", "rod"), link("tool0", "rod"))).tip == "tool0"


def test_a_tip_that_no_joint_moves_is_refused():
    with pytest.raises(ModelError, match="no joint moves 'base'"):
        RobotModel.from_urdf(pendulum(), tip="base")


def test_a_joint_that_moves_no_inertia_is_refused_unless_it_has_an_armature():
    massless = pendulum(inertial="")
    with pytest.raises(UrdfError, match="joint 'hinge' moves no inertia"):
        RobotModel.from_urdf(massless)
    np.testing.assert_allclose(RobotModel.from_urdf(massless, armature=0.2).mass_matrix([0.3]), [[0.2]])


def test_an_arm_of_one_joint_is_a_pendulum():
    """A rod of 2 kg whose centre is 0.4 m from the hinge, its end 0.8 m."""
    text = pendulum(link("end", "rod"), inertial='<inertial><origin xyz="0.4 0 0"/><mass value="2"/>{}</inertial>')
    model = RobotModel.from_urdf(text.replace('<child link="end"/>', '<child link="end"/><origin xyz="0.8 0 0"/>'))
    q, v = np.array([0.3]), np.array([-1.5])
    t = model.evaluate(q, v)
    np.testing.assert_allclose(t.M, [[0.1 + 2 * 0.4**2]], rtol=1e-14)
    np.testing.assert_allclose(t.g, [-2 * 9.81 * 0.4 * np.cos(0.3)], rtol=1e-14)
    np.testing.assert_allclose(t.h, t.g, rtol=1e-14)
    np.testing.assert_allclose(t.X_WE.p, [0.8 * np.cos(0.3), 0, -0.8 * np.sin(0.3)], atol=1e-15)
    expected = [[-0.8 * np.sin(0.3)], [0], [-0.8 * np.cos(0.3)], [0], [1], [0]]
    for J in (t.J, model.jacobian(q), model.jacobian(q, "rod", (0.8, 0, 0))):
        np.testing.assert_allclose(J, expected, rtol=0, atol=1e-15)
    towards_the_hinge = -(1.5**2) * t.X_WE.p
    np.testing.assert_allclose(t.Jdot_v, [*towards_the_hinge, 0, 0, 0], rtol=0, atol=1e-14)
