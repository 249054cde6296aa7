"""Choosing joints: the reduced robot against Pinocchio's, and every refusal."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
import pytest

from arm_control.exceptions import FrameNotFound, JointNotFound, ModelError
from arm_control.maths import Array
from arm_control.model import load_urdf
from arm_control.model.urdf.changes import select
from arm_control.model.urdf.load import Urdf

# A sliding column with a turning shoulder; on it a lever, a slide that follows the lever, and a wheel.
INERTIAL = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 0 0.1"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0.01" izz="0.25"/></inertial>"""
ARM = f"""<robot name="arm"><link name="ground"/>
  {"".join(f'<link name="{name}">{INERTIAL}</link>' for name in ("column", "shoulder", "lever", "slide", "wheel"))}
  <link name="tip"/>
  <joint name="lift" type="prismatic"><parent link="ground"/><child link="column"/><axis xyz="1 2 3"/>
    <origin xyz="0.1 0 0.2" rpy="0.4 0.5 0.6"/><limit lower="0.2" upper="1" effort="9" velocity="1"/></joint>
  <joint name="yaw" type="continuous"><parent link="column"/><child link="shoulder"/><axis xyz="1 -1 0.5"/>
    <origin xyz="0 0.3 0" rpy="0 1.5707963267948966 0"/><limit effort="9" velocity="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="shoulder"/><child link="lever"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="9" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><parent link="lever"/><child link="slide"/><axis xyz="0 0 1"/>
    <origin xyz="0 0 0.5"/><limit upper="1" effort="9" velocity="1"/>
    <mimic joint="elbow" multiplier="-0.5" offset="0.25"/></joint>
  <joint name="spin" type="continuous"><parent link="slide"/><child link="wheel"/><axis xyz="0 0 1"/>
    <limit effort="9" velocity="1"/><mimic joint="yaw"/></joint>
  <joint name="tool" type="fixed"><parent link="slide"/><child link="tip"/><origin xyz="0 0.1 0"/></joint>
</robot>"""
LOCKED = {"lift": 0.7, "yaw": 2.5, "elbow": -1.1}
FOLLOWERS = {"follow": ("elbow", -0.5, 0.25), "spin": ("yaw", 1.0, 0.0)}


def pinocchio(text: str) -> pin.Model:
    return pin.buildModelFromXML(text.replace('type="continuous"', 'type="revolute"'))


def assert_the_same(urdf: Urdf, part: tuple[Urdf, Array], positions: dict[str, float]) -> None:
    """Compare with Pinocchio's reduction of the whole robot, seen from the base, at random states.

    The masses of links that are neither below the base nor moved by it must not count.
    """
    full, reduced = pinocchio(urdf.text), pinocchio(part[0].text)
    q_full = np.array([positions.get(name, 0.0) for name in full.names[1:]])
    chosen = set(part[0].movable_joints)
    oracle = pin.buildReducedModel(full, [i for i in range(1, full.njoints) if full.names[i] not in chosen], q_full)
    assert set(oracle.names[1:]) == set(reduced.names[1:]) == chosen
    order = [oracle.getJointId(name) - 1 for name in reduced.names[1:]]
    data, oracle_data = reduced.createData(), oracle.createData()
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = rng.uniform(-1, 1, oracle.nq)
        pin.framesForwardKinematics(oracle, oracle_data, q)
        pin.framesForwardKinematics(reduced, data, q[order])
        base = oracle_data.oMf[oracle.getFrameId(part[0].root)]
        np.testing.assert_allclose(part[1], base.rotation, atol=1e-12)
        for link in part[0].robot.link_map:
            X = base.inverse() * oracle_data.oMf[oracle.getFrameId(link, pin.BODY)]
            mine = data.oMf[reduced.getFrameId(link, pin.BODY)]
            np.testing.assert_allclose(mine.homogeneous, X.homogeneous, atol=1e-12)
        M = pin.crba(oracle, oracle_data, q)[np.ix_(order, order)]
        np.testing.assert_allclose(pin.crba(reduced, data, q[order]), M, atol=1e-12, rtol=1e-12)
        g = pin.computeGeneralizedGravity(oracle, oracle_data, q)[order]
        reduced.gravity.linear = part[1].T @ oracle.gravity.linear
        np.testing.assert_allclose(pin.computeGeneralizedGravity(reduced, data, q[order]), g, atol=1e-11, rtol=1e-12)


def mimicked(positions: dict[str, float], followers: dict[str, tuple[str, float, float]]) -> dict[str, float]:
    return positions | {name: k * positions.get(leader, 0.0) + b for name, (leader, k, b) in followers.items()}


@pytest.mark.parametrize(
    ("base", "joints", "movable"),
    [
        (None, ["lift", "yaw", "elbow"], ("lift", "yaw", "elbow", "follow", "spin")),
        (None, ["lift"], ("lift",)),
        ("ground", ["elbow", "lift"], ("lift", "elbow", "follow")),
        ("column", ["elbow"], ("elbow", "follow")),
    ],
)
def test_the_part_is_the_one_that_pinocchio_reduces_to(base: str | None, joints: list[str], movable: tuple[str, ...]):
    urdf = load_urdf(ARM)
    part = select(urdf, base=base, joints=joints, locked={n: s for n, s in LOCKED.items() if n not in joints})
    assert part[0].root == (base or "ground")
    assert part[0].movable_joints == movable
    assert_the_same(urdf, part, mimicked(LOCKED, FOLLOWERS))


def test_a_base_beyond_followers_stands_where_the_leaders_put_it():
    part = select(load_urdf(ARM), base="slide", joints=[], locked=LOCKED)
    assert (part[0].root, part[0].movable_joints, part[0].leaves) == ("slide", (), ("wheel", "tip"))
    assert_the_same(load_urdf(ARM), part, mimicked(LOCKED, FOLLOWERS))
    tip = select(load_urdf(ARM), base="wheel", joints=[], locked=LOCKED)
    assert_the_same(load_urdf(ARM), tip, mimicked(LOCKED, FOLLOWERS))


def test_where_nothing_is_said_a_joint_stands_at_zero_and_its_origin_keeps_its_digits():
    urdf = load_urdf(ARM.replace('rpy="0 1.5707963267948966 0"', 'rpy="3.5 0.1 -7"'))
    part = select(urdf, base=None, joints=["lift"], locked={})
    yaw = part[0].robot.joint_map["yaw"]
    assert (yaw.type, yaw.origin.xyz, yaw.origin.rpy) == ("fixed", [0, 0.3, 0], [3.5, 0.1, -7])
    assert yaw.axis is yaw.limit is None
    assert part[0].robot.joint_map["follow"].origin.xyz == [0, 0, 0.75]  # the offset is the follower's own


def test_materials_and_meshes_stay():
    look = '<visual><geometry><mesh filename="package://a/b.stl"/></geometry><material name="grey"/></visual>'
    text = ARM.replace('<link name="tip"/>', f'<link name="tip">{look}</link>')
    text = text.replace("<link", '<material name="grey"><color rgba="1 1 1 1"/></material><link', 1)
    part = select(load_urdf(text), base="lever", joints=[], locked={"lift": 0.5})
    assert "package://a/b.stl" in part[0].text
    assert 'rgba="1 1 1 1"' in part[0].text


@pytest.mark.parametrize("pitch", [s * (np.pi / 2 - away) for s in (-1, 1) for away in (0.0, 1e-6)])
def test_nothing_is_lost_where_roll_and_yaw_are_not_unique(pitch: float):
    position = -2.0
    origin = f'rpy="0.4 {pitch!r} -1.2"'
    text = ARM.replace('<axis xyz="1 -1 0.5"/>', '<axis xyz="0 1 0"/>')
    urdf = load_urdf(text.replace('rpy="0 1.5707963267948966 0"', origin))
    baked = select(urdf, base=None, joints=["lift"], locked={"yaw": position})[0].robot.joint_map["yaw"].origin.rpy
    expected = pin.rpy.rpyToMatrix(0.4, pitch, -1.2) @ pin.exp3(np.array([0.0, position, 0.0]))
    np.testing.assert_allclose(pin.rpy.rpyToMatrix(*baked), expected, rtol=0, atol=3e-15)


# -- what is refused ------------------------------------------------------------------------------

REFUSED = {
    "unknown base": ({"base": "hand"}, FrameNotFound, "unknown frame 'hand'; the model has: ground, column"),
    "unknown joint": ({"joints": ["hip"]}, JointNotFound, "unknown joint 'hip'; the model has: lift, yaw"),
    "fixed joint": ({"joints": ["tool"]}, JointNotFound, "unknown joint 'tool'"),
    "mimic joint": ({"joints": ["follow"]}, ModelError, "'follow' mimics 'elbow' .* name 'elbow'"),
    "moves and locked": (
        {"joints": ["lift"]}, ModelError, "joint 'lift' is selected to move and locked at 0.5; allowed: one of the two"
    ),
    "above the base": (
        {"base": "column", "joints": ["lift"], "locked": {}}, ModelError,
        "'lift' is not below the base 'column'; the movable joints there are: yaw, elbow, follow, spin",
    ),
    "nothing below": ({"base": "tip", "joints": ["yaw"]}, ModelError, "the movable joints there are: none"),
    "nan": ({"locked": {"lift": 0.5, "yaw": np.nan}}, ModelError, "'yaw' is locked at nan; allowed: a finite number"),
    "below its range": ({"locked": {"lift": 0.1}}, ModelError, "'lift' is locked at 0.1; its limits allow 0.2 to 1.0"),
    "above its range": ({"locked": {"lift": 0.5, "elbow": 2.1}}, ModelError, "'elbow' is locked at 2.1; its limits"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_each_refusal_says_why(options: dict[str, object], error: type[ModelError], message: str):
    arguments = {"base": None, "joints": [], "locked": {"lift": 0.5}} | options
    with pytest.raises(error, match=message) as caught:
        select(load_urdf(ARM), **arguments)
    assert type(caught.value) is error


def test_a_leader_below_the_base_must_not_move_the_base_through_a_follower():
    text = re.sub('<mimic joint="yaw"/>', "", ARM).replace('name="yaw" type', 'name="yaw" old', 1)
    text = text.replace('old="continuous"', 'type="continuous"').replace(
        '<origin xyz="0 0.3 0" rpy="0 1.5707963267948966 0"/>', '<mimic joint="elbow"/>'
    )
    with pytest.raises(ModelError, match="joint 'yaw' mimics 'elbow' and so moves the base 'shoulder'"):
        select(load_urdf(text), base="shoulder", joints=["elbow"], locked={"lift": 0.5})


def test_without_a_word_a_joint_stands_at_zero_or_the_limit_nearest_to_it():
    for lower, upper, nearest in (("1", "2", 1.0), ("-2", "-1", -1.0), ("-1", "2", 0.0)):
        text = re.sub(r'lower="0.2" upper="1"', f'lower="{lower}" upper="{upper}"', ARM)
        assert text != ARM
        default, told = (select(load_urdf(text), base=None, joints=["yaw"], locked=x) for x in ({}, {"lift": nearest}))
        assert default[0].text == told[0].text
