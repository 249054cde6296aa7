"""The model of every robot: its links against Pinocchio, its terms against single calls, what it is given.

Identities are tested on the recursions (test_recursions.py), kernels against other libraries (test_backends.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from urdf_parts import joint, link, robot_of

from arm_control.exceptions import FrameNotFound, InputError, JointNotFound, ParameterError
from arm_control.maths import Array
from arm_control.model import RobotModel

REPO = Path(__file__).parents[2]
UR5 = REPO / "urdf" / "ur5" / "ur5.urdf"

States = Callable[..., list[tuple[Array, Array]]]


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
        (lambda names, values: (names[:5], values[:5]), "^no effort for joint wrist_3_joint; got shoulder_pan_joint, "),
        (lambda names, values: ([], []), "^no effort for joint shoulder_pan_joint, .*; got none"),
        (lambda names, values: ([*names, names[2]], [*values, 0.0]), "^joint named twice: elbow_joint$"),
        (lambda names, values: (names, [*values[:5], np.nan]), r"^effort is not finite: \{'wrist_3_joint': nan\}"),
    ],
)
def test_values_that_do_not_fit_the_joints_are_refused(ur5: RobotModel, change: Callable, message: str):
    names, values = change(list(ur5.joint_names), [0.0] * 6)
    with pytest.raises(InputError, match=message):
        ur5.in_joint_order(names, values, "effort")
    if tuple(names) == ur5.joint_names:  # the model's own order has a way of its own
        with pytest.raises(InputError, match=message):
            ur5.in_joint_order(ur5.joint_names, values, "effort")


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


def pendulum(*extra: str) -> str:
    hinge = joint("hinge", "base", "rod", "0 1 0", speed=3, effort=5)
    return robot_of(link("base"), link("rod", 2), hinge, *extra)


def leaf(name: str) -> str:
    """A frame that hangs on the rod."""
    return link(name) + joint(f"to_{name}", "rod", name, kind="fixed")


def test_it_shows_what_it_is_and_which_options_make_it(ur5: RobotModel):
    head, joints = repr(ur5).splitlines()
    assert head.startswith("<RobotModel ur5: 6 joints from base_link to tool0, 17.05 kg moved, ")
    assert joints == f" joints: {', '.join(ur5.joint_names)}>"
    assert {"tip", "payload_mass", "gravity", "backend"} <= set(inspect.signature(RobotModel.from_urdf).parameters)
    with pytest.raises(ParameterError, match=r"from_urdf: unknown tipp; allowed: .*; did you mean 'tip'\?"):
        RobotModel.from_urdf(UR5, tipp="tool0")


@pytest.mark.parametrize(
    ("leaves", "asked", "tip"),
    [
        ([], None, "rod"),
        (["hand"], None, "hand"),
        (["left", "right"], None, "rod"),
        (["left", "right"], "right", "right"),
        (["left", "tool0"], None, "tool0"),
    ],
)
def test_the_tip_is_the_only_leaf_or_tool0_or_what_all_leaves_hang_on(leaves: list[str], asked: str | None, tip: str):
    assert RobotModel.from_urdf(pendulum(*map(leaf, leaves)), tip=asked).tip == tip
