"""Choices: base, tip, joints, locked joints, gravity; what comes out, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from urdf_parts import joint, link, robot_of

from arm_control import urdf_path
from arm_control.exceptions import FrameNotFound, JointNotFound, ModelError, UrdfError
from arm_control.model import Arm, describe, reference

UR5 = urdf_path("ur5")
UR5_JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", *(f"wrist_{i}_joint" for i in (1, 2, 3)))


@pytest.fixture(scope="module")
def branches(small_arm: Callable[[str], Arm]) -> str:
    """A trunk with a left arm of two joints, whose end is the tip, and a right arm of two."""
    return small_arm("branches").urdf.text


@pytest.fixture(scope="module")
def mimic(small_arm: Callable[[str], Arm]) -> str:
    """Joints 1 and 3; "follows 3" and "tool" are on the way to the tip, "slides" is on a branch."""
    return small_arm("mimic").urdf.text


def M_and_g(arm: Arm, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = reference(arm.tree, ["M", "g"], {"q": q})
    return values["M"], values["g"]


def test_joints_are_those_on_the_way_to_the_tip(branches: str):
    arm = describe(branches, tip="tip")
    assert arm.tree.joint_names == ("trunk", "left", "slide")
    assert describe(branches, tip="d").tree.joint_names == ("trunk", "right")
    assert arm.tip == "tip"
    assert set(arm.tree.frames) == {"base", "a", "b", "c", "d", "e", "tip"}


def test_all_joints_or_some_of_them(branches: str):
    every = describe(branches, tip="tip", joints="all")
    assert every.tree.joint_names == ("trunk", "left", "slide", "right", "out")
    some = describe(branches, tip="tip", joints=["out", "left", "left"])
    assert some.tree.joint_names == ("left", "out")
    q = np.array([0.3, -0.4])
    full = np.array([0.0, 0.3, 0.0, 0.0, -0.4])
    for ours, whole in zip(M_and_g(some, q), M_and_g(every, full), strict=True):
        np.testing.assert_allclose(ours, whole[np.ix_(*[[1, 4]] * whole.ndim)], rtol=0, atol=1e-13)


def test_locked_joints_stand_where_they_are_told_and_weigh(branches: str):
    every = describe(branches, tip="tip", joints="all")
    arm = describe(branches, tip="tip", locked={"right": 1.2, "out": 0.4})
    q = np.array([0.5, -0.7, 0.2])
    for ours, whole in zip(M_and_g(arm, q), M_and_g(every, np.array([*q, 1.2, 0.4])), strict=True):
        np.testing.assert_allclose(ours, whole[tuple([slice(3)] * whole.ndim)], rtol=0, atol=1e-13)


def test_a_joint_that_mimics_moves_with_its_leader(mimic: str):
    arm = describe(mimic, tip="tip")
    assert arm.tree.joint_names == ("1", "3")
    assert arm.tree.has_mimic
    assert sorted(body.name for body in arm.tree.bodies) == ["1", "3", "follows 3", "slides", "tool"]
    follower = next(body for body in arm.tree.bodies if body.name == "follows 3")
    assert (follower.coordinate, follower.ratio, follower.offset) == (1, -0.5, 0.2)
    assert describe(mimic, tip="d").tree.joint_names == ("1",)
    assert describe(mimic, tip="d", joints="all").tree.joint_names == ("1", "3")
    only = describe(mimic, tip="tip", joints=["3"], locked={"1": 0.3})
    assert sorted(body.name for body in only.tree.bodies) == ["3", "follows 3"]


def test_limits_are_the_files_or_those_given():
    arm = describe(UR5, effort_limits={"elbow_joint": 12.0}, velocity_limits={"wrist_1_joint": 0.5})
    np.testing.assert_allclose(arm.q_max, np.array([2, 2, 1, 2, 2, 2]) * np.pi)
    np.testing.assert_allclose(arm.q_min, -arm.q_max)
    np.testing.assert_allclose(arm.tau_max, [150, 150, 12, 28, 28, 28])
    np.testing.assert_allclose(arm.v_max, [*[np.pi] * 3, 0.5, *[np.pi] * 2])


def test_rotors_by_name_by_order_or_one_for_all(branches: str):
    for given, taken in (
        (0.5, [0.5] * 3), ([1, 2, 3], [1, 2, 3]), ({"slide": 2.0}, [0, 0, 2]), ({}, [0, 0, 0]), (0, [0, 0, 0])
    ):  # fmt: skip
        np.testing.assert_array_equal(describe(branches, tip="tip", armature=given).tree.armature, taken)


def test_the_identity_is_that_of_the_numbers():
    assert describe(UR5).identity == describe(UR5.read_text()).identity == describe(UR5, tip="tool0").identity
    others = [{"tip": "forearm_link"}, {"armature": 1e-12}, {"gravity": (0, 0, -9.8)}, {"base": "shoulder_link"},
              {"joints": UR5_JOINTS[:3], "locked": {}}, {"locked": {"wrist_3_joint": 0.1}, "joints": UR5_JOINTS[:5]},
              {"locked": {"wrist_3_joint": 0.2}, "joints": UR5_JOINTS[:5]}]  # fmt: skip
    identities = {describe(UR5, **choices).identity for choices in [{}, *others]}
    assert len(identities) == 1 + len(others)


REFUSED: dict[str, tuple[dict[str, object], type[Exception], str]] = {
    "unknown tip": ({"tip": "hand"}, FrameNotFound, "unknown frame 'hand'"),
    "no tip": ({"tip": None}, ModelError, "the tip is ambiguous: choose 'tip' from"),
    "tip beside the base": ({"base": "b", "tip": "e"}, ModelError, "unknown frame 'e'"),
    "tip is the base": ({"tip": "base"}, ModelError, "no joint moves 'base'"),
    "no joints": ({"joints": []}, ModelError, "no joint moves 'tip'"),
    "joint above the base": ({"base": "a", "joints": ["trunk", "left"]}, ModelError, "'trunk' is not below the base"),
    "gravity of two": ({"gravity": (0, -9.81)}, ModelError, "allowed: three finite numbers"),
    "rotor unknown": ({"armature": {"right": 1.0}}, JointNotFound, "unknown joint 'right'"),
}


@pytest.mark.parametrize(("choices", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_choice_that_cannot_be_is_refused(
    branches: str, choices: dict[str, object], error: type[Exception], message: str
):
    with pytest.raises(error, match=message):
        describe(branches, **{"tip": "tip", **choices})


@pytest.mark.parametrize("armature", [[1.0], np.zeros((1, 3))])
def test_a_rotor_list_of_the_wrong_length_is_refused(branches: str, armature: object):
    with pytest.raises(ModelError, match=r"armature has shape .*; allowed: one number, or 3"):
        describe(branches, tip="tip", armature=armature)


def point_masses(x: float) -> str:
    """Two links in the plane, each a point mass: 1 kg at 0.5 m, and x metres from the second joint."""
    return robot_of(
        *(link("base"), link("a", 1, 0.0, "0.5 0 0"), link("tip", 1, 0.0, f"{x} 0 0")),
        joint("1", "base", "a", travel=(-3, 3)),
        joint("2", "a", "tip", xyz="0.7 0 0", travel=(-3, 3)),
    )


def test_a_point_mass_on_its_own_axis_cannot_be_accelerated():
    with pytest.raises(UrdfError, match="joint '2' moves no inertia"):
        describe(point_masses(0.0))
    assert M_and_g(describe(point_masses(0.0), armature={"2": 0.1}), np.zeros(2))[0][1, 1] == pytest.approx(0.1)


def test_joints_that_move_no_inertia_together_are_refused():
    """Joints 3 and 2 turn about one axis, with nothing between them; not so when 2 is tilted."""
    text = point_masses(0.3).replace('<parent link="a"/>', '<parent link="between"/>')
    text = text.replace("</robot>", link("between") + joint("3", "a", "between", travel=(-3, 3)) + "</robot>")
    assert describe(text.replace('xyz="0.7 0 0"', 'xyz="0.7 0 0" rpy="1 0 0"')).tree.n == 3
    text = text.replace('<child link="tip"/><origin xyz="0.7 0 0"/>', '<child link="tip"/>')
    with pytest.raises(UrdfError, match="joints 3, 2 together move no inertia: give each link an <inertial>"):
        describe(text)
    assert describe(text, armature={"3": 1e-3}).tree.n == 3


def test_an_arm_beyond_the_range_of_numbers_is_refused():
    with pytest.raises(UrdfError, match="too large: the mass matrix has no finite numbers"):
        describe(point_masses(0.3).replace('xyz="0.7 0 0"', 'xyz="1e200 0 0"'))


def test_what_a_text_has_described_is_kept_and_nobody_s_numbers_are_another_s(branches: str, tmp_path: Path):
    file = tmp_path / "arm.urdf"
    file.write_text(branches)
    one, other = describe(file, tip="tip"), describe(file, tip="tip")
    assert other.tree is one.tree
    one.q_max[0] = 17.0
    assert describe(file, tip="tip").q_max[0] != 17.0
    assert describe(file, tip="tip", payload_mass=1.0).tree is not one.tree
    file.write_text(branches.replace("</robot>", '<material name="red"><color rgba="1 0 0 1"/></material></robot>'))
    assert describe(file, tip="tip").urdf.text != one.urdf.text
    views = describe(file, tip="tip", joints=dict.fromkeys(one.tree.joint_names).keys())  # cannot be kept
    assert views.tree.joint_names == one.tree.joint_names
