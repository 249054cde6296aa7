"""Which defects break the controlled part, and which are warnings because they are elsewhere."""

from __future__ import annotations

import re

import numpy as np
import pytest

from arm_control.exceptions import ModelError, UrdfError
from arm_control.model import RobotModel, describe

INERTIAL = """<inertial><mass value="{mass}"/>
  <inertia ixx="{xx}" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>"""


def link(name: str, mass: str = "1", xx: str = "0.01", shape: str = "") -> str:
    return f'<link name="{name}">{INERTIAL.format(mass=mass, xx=xx)}{shape}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "", xyz: str = "0 0 0.3") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def turning(xyz: str = "0 1 0") -> str:
    return f'<axis xyz="{xyz}"/><limit lower="-2" upper="2" effort="9" velocity="3"/>'


def robot(**parts: str) -> str:
    """A cart on wheels that carries an arm of two joints with a gripper of two fingers, and a lamp."""
    standard = {
        "cart": link("cart"), "wheel": link("wheel"), "lamp": link("lamp"), "upper": link("upper"),
        "fore": link("fore"), "hand": link("hand"), "left": link("left"), "right": link("right"),
        "axle": joint("axle", "cart", "wheel", "continuous"), "post": joint("post", "cart", "lamp", "fixed"),
        "shoulder": joint("shoulder", "cart", "upper", inside=turning()),
        "elbow": joint("elbow", "upper", "fore", inside=turning()),
        "flange": joint("flange", "fore", "hand", "fixed"),
        "grip": joint("grip", "hand", "left", "prismatic"),
        "grip2": joint("grip2", "hand", "right", "prismatic", '<mimic joint="grip"/>'),
    }  # fmt: skip
    return f'<robot name="cart_with_arm">{"".join({**standard, **parts}.values())}</robot>'


NO_MASS = "mass or inertia is impossible, and counts as none because the arm does not move the link"
NOT_USED = "unreadable values are not used, because the joint is not controlled"
CAUSES = {
    "mass off the arm": ({"wheel": link("wheel", "nan")}, NO_MASS, "link 'wheel'"),
    "mass of the base": ({"cart": link("cart", "-5")}, NO_MASS, "link 'cart'"),
    "inertia off the arm": ({"lamp": link("lamp", xx="-0.5")}, NO_MASS, "link 'lamp'"),
    "inertia of a finger": ({"left": link("left", xx="-0.001")}, "inertia is not positive definite", "link 'left'"),
    "noise": ({"fore": link("fore", xx="-3.8e-24")}, "inertia is not positive definite", "link 'fore'"),
    "triangle": ({"fore": link("fore", xx="0.026")}, "largest principal moment of inertia", "link 'fore'"),
    "triangle of a finger": ({"right": link("right", xx="0.09")}, "largest principal moment", "link 'right'"),
    "place off the arm": ({"post": joint("post", "cart", "lamp", "fixed", xyz="nan 0 0")}, NOT_USED, "joint 'post'"),
    "limit off the arm": (
        {"axle": joint("axle", "cart", "wheel", "continuous", '<limit effort="x"/>')}, NOT_USED, "joint 'axle'"
    ),
    "axis off the arm": (
        {"axle": joint("axle", "cart", "wheel", "continuous", '<axis xyz="0 0 0"/>')}, NOT_USED, "joint 'axle'"
    ),
    "axis without xyz": (
        {"flange": joint("flange", "fore", "hand", "fixed"),
         "elbow": joint("elbow", "upper", "fore", inside=turning().replace(' xyz="0 1 0"', "", 1))},
        "axis without xyz counts as 1 0 0", "joint 'elbow'",
    ),
    "type off the arm": (
        {"axle": joint("axle", "cart", "wheel", "floating")}, "joint of a type that is not supported", "joint 'axle'"
    ),
    "type above the arm": (
        {"world": '<link name="world"/>', "float": joint("float", "world", "cart", "floating")},
        "joint of a type that is not supported counts as fixed", "joint 'float'",
    ),
    "mimic of a mimic": (
        {"grip": joint("grip", "hand", "left", "prismatic", '<mimic joint="grip2"/>')},
        "joint that mimics no joint with a motion of its own is locked", "joint 'grip'",
    ),
    "shape": (
        {"hand": link("hand", shape='<visual><geometry><box size="0 0 0"/></geometry></visual>')},
        "shape is left out", "link 'hand'",
    ),
    "file": (
        {"hand": link("hand", shape='<visual><geometry><mesh filename="file:///a.stl"/></geometry></visual>')},
        "shape is left out", "link 'hand'",
    ),
    "no name": ({}, "robot without a name is called 'robot'", "robot"),
    "too large": ({"fore": INERTIAL.format(mass="0.001", xx="0.01").join(['<link name="fore">', "</link>"])},
                  "inertia is implausible, larger than the link", "link 'fore'"),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "cause", "place"), CAUSES.values(), ids=CAUSES)
def test_a_defect_off_the_chain_is_a_warning_and_strict_refuses_it(parts: dict[str, str], cause: str, place: str):
    text = robot(**parts)
    if cause.startswith("robot without"):
        text = text.replace(' name="cart_with_arm"', "")
    arm = describe(text, base="cart", tip="hand")
    found = [warning for warning in arm.warnings if warning.startswith(cause)]
    assert len(found) == 1, arm.warnings
    assert place in found[0]
    assert arm.tree.joint_names == ("shoulder", "elbow")
    with pytest.raises(UrdfError, match=r"warning\(s\), which count as errors\n- ") as error:
        describe(text, base="cart", tip="hand", strict=True)
    assert set(error.value.problems) == set(arm.warnings)


def test_wheels_and_grippers_need_no_limits():
    assert describe(robot(), tip="hand", strict=True).warnings == ()


REFUSED = {
    "mass on the arm": ({"fore": link("fore", "nan")}, "link 'fore': <mass value> is 'nan'"),
    "mass of a finger": ({"left": link("left", "1,5")}, "link 'left': <mass value> is '1,5'"),
    "inertia on the arm": ({"fore": link("fore", xx="-0.001")}, "link 'fore': principal moments"),
    "triangle on the arm": ({"fore": link("fore", xx="0.0275")}, "'fore': principal moments .* must not exceed"),
    "place of a finger": ({"grip": joint("grip", "hand", "left", "prismatic", xyz="0 0")}, "'grip': <origin xyz>"),
    "place of the flange": ({"flange": joint("flange", "fore", "hand", "fixed", xyz="inf 0 0")}, "'flange': <orig"),
    "no effort": ({"elbow": joint("elbow", "upper", "fore", inside=turning().replace('effort="9"', ""))},
                  "joint 'elbow': <limit> has no effort"),
    "no range": ({"elbow": joint("elbow", "upper", "fore", inside=turning().replace("-2", "2"))},
                 "joint 'elbow': lower limit 2 is not below"),
    "type on the way": ({"flange": joint("flange", "fore", "hand", "floating")}, "joint 'flange': type 'floating'"),
    "type on the way to the base": (
        {"world": '<link name="world"/>', "float": joint("float", "world", "cart", "floating")}, "joint 'float': type"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "message"), REFUSED.values(), ids=REFUSED)
def test_a_defect_on_the_chain_is_refused(parts: dict[str, str], message: str):
    with pytest.raises(UrdfError, match=message):
        describe(robot(**parts), tip="hand")


def test_a_mass_matrix_that_is_not_positive_definite_somewhere_is_refused():
    """The finger's inertia about y is negative, and counts as cos(q_2)^2: by little in the first posture."""
    left = link("left").replace('iyy="0.01"', 'iyy="-9"')
    text = robot(elbow=joint("elbow", "upper", "fore", inside=turning("0 0 1")), left=left)
    with pytest.raises(UrdfError, match="joint 'shoulder' moves no inertia"):
        describe(text, tip="hand")
    assert describe(text.replace('lower="-2"', 'lower="1.2"'), tip="hand").tree.n == 2


def test_the_tip_is_the_hand_of_an_arm_with_a_gripper():
    text = robot(axle="", wheel="", post="", lamp="")
    assert describe(text).tip == "hand"
    with pytest.raises(ModelError, match="the tip is ambiguous: choose 'tip' from wheel, left, right"):
        describe(robot())
    with pytest.raises(ModelError, match="no joint below the base 'lamp' moves"):
        describe(robot(), base="lamp")


def test_kinematics_needs_no_masses_and_no_limits_of_torque():
    text = re.sub("<inertial>.*?</inertial>", "", robot(), flags=re.DOTALL)
    text = text.replace(' effort="9" velocity="3"', "")
    with pytest.raises(UrdfError, match="has no effort"):
        RobotModel.from_urdf(text, tip="hand")
    model = RobotModel.from_urdf(text, tip="hand", kinematics_only=True)
    whole = RobotModel.from_urdf(robot(), tip="hand")
    q = np.array([0.3, -0.7])
    np.testing.assert_array_equal(model.pose(q).p, whole.pose(q).p)
    np.testing.assert_array_equal(model.jacobian(q), whole.jacobian(q))
    np.testing.assert_array_equal(model.pose(q, "left").p, whole.pose(q, "left").p)
    assert np.isinf([*model.v_max, *model.tau_max]).all()
    for call in (model.mass_matrix, model.gravity, lambda q: model.evaluate(q, q), lambda _: model.batch("M")):
        with pytest.raises(ModelError, match="need masses, and the model was made for kinematics only"):
            call(q)
