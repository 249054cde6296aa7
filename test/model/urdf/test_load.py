"""The URDF guard: every refusal by its message, every good file, and random damage."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arm_control.exceptions import FrameNotFound, JointNotFound, UrdfError
from arm_control.model import load_urdf
from arm_control.model.urdf.load import Urdf, load_text
from arm_control.model.urdf.xml import INERTIA, MAX_BYTES, MAX_LINKS, XACRO

REPO = Path(__file__).parents[3]
UR5 = (REPO / "urdf" / "ur5" / "ur5.urdf").read_text()
DATA = REPO / "test" / "data" / "urdf"

# A sliding carriage, a lever on it, a wheel that follows the lever, and a fixed tip.
ARM = """<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"><visual><geometry><mesh filename="package://arm/base.stl" scale="1 1 1"/></geometry>
    <material name="grey"/></visual></link>
  <link name="carriage"><inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>
    <collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link>
  <link name="lever"><inertial><mass value="1.5"/>
    <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial>
    <collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision></link>
  <link name="wheel"><inertial><mass value="1"/>
    <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="tip"/>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="carriage"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="50" velocity="2"/></joint>
  <joint name="turn" type="revolute"><parent link="carriage"/><child link="lever"/>
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="5" velocity="3"/>
    <dynamics damping="0.1" friction="0"/><safety_controller k_velocity="4"/></joint>
  <joint name="roll" type="continuous"><parent link="carriage"/><child link="wheel"/>
    <axis xyz="0 0 1"/><limit effort="6" velocity="3"/><mimic joint="turn" multiplier="2"/></joint>
  <joint name="tool" type="fixed"><parent link="lever"/><child link="tip"/></joint>
</robot>"""


def find_problems(text: str, **limits: dict[str, float]) -> list[str]:
    """Why a robot is refused of which every joint is controlled."""
    try:
        load_text(text, "the text", (), **limits)
    except UrdfError as error:
        return list(error.problems)
    return []


def edited(*changes: tuple[str, str], text: str = ARM) -> str:
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def test_the_arm_that_the_cases_damage_is_accepted():
    assert find_problems(ARM) == []


XML_CASES = {
    "size": (ARM + " " * MAX_BYTES, "bytes; allowed: 10000000"),
    "dtd": ('<!DOCTYPE robot [<!ENTITY a "aaaa">]>' + ARM, r"document type \(DTD\)"),
    "external dtd": ('<!DOCTYPE robot SYSTEM "http://x/y.dtd">' + ARM, r"document type \(DTD\)"),
    "entity": (edited(('name="arm"', 'name="&a;"')), "not well-formed: undefined entity"),
    "depth": ("<robot>" + "<a>" * 64 + "</a>" * 64 + "</robot>", "deeper than 64"),
    "elements": ("<robot>" + "<a/>" * 20_000 + "</robot>", "more than 20000 elements"),
    "cut short": (ARM[:300], "not well-formed"),
    "empty": ("", "not well-formed: no element found"),
    "surrogate": (edited(('"arm"', '"\ud800"')), "not well-formed"),
    "root": ("<sdf/>", "root element is 'sdf'; allowed: 'robot'"),
    "xacro": (edited(('<link name="tip"/>', '<xacro:if/><link name="tip"/>')), "'xacro:if'; expand"),
    "links": ("<robot>" + '<link name="a"/>' * (MAX_LINKS + 1) + "</robot>", "501 links; allowed: 500"),
}


@pytest.mark.parametrize(("text", "message"), XML_CASES.values(), ids=XML_CASES)
def test_unreadable_xml_is_refused(text: str, message: str):
    (problem,) = find_problems(text)
    assert re.search(message, problem)


def inertia(ixx: float, iyy: float, izz: float) -> tuple[str, str]:
    return 'ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"', (
        f'ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"'
    )


def mesh(filename: str) -> tuple[str, str]:
    return "package://arm/base.stl", filename


LIMIT = '<limit lower="-2" upper="2" effort="5" velocity="3"/>'
CASES = {
    "link name": ([('<link name="tip"/>', '<link name="tip"/><link/>')], r"1 link\(s\) have no name"),
    "joint name": ([('name="tool" ', "")], r"1 joint\(s\) have no name"),
    "link twice": ([('<link name="tip"/>', '<link name="tip"/><link name="tip"/>')],
                   "link name 'tip' is used 2"),
    "joint twice": ([('"tool"', '"slide"')], "joint name 'slide' is used 2 times"),
    "no parent link": ([('<parent link="base"/>', "<parent/>")], "joint 'slide': <parent> has no link"),
    "unknown parent": ([('<parent link="lever"/>', '<parent link="x"/>')],
                       "joint 'tool': link 'x' does not exist"),
    "unknown child": ([('<child link="tip"/>', '<child link="x"/>')],
                      "joint 'tool': link 'x' does not exist"),
    "two parents": ([('<child link="tip"/>', '<child link="wheel"/>')],
                    "link 'wheel' is the child of 2 joints"),
    "two roots": ([('<link name="tip"/>', '<link name="tip"/><link name="x"/>')],
                  r"the links without a parent joint are \['base', 'x'\]; allowed: exactly one"),
    "no root": ([('<child link="tip"/>', '<child link="base"/>')], r"links \[.*\] are on or below a cycle"),
    "loop apart": ([('<parent link="base"/>', '<parent link="lever"/>')],
                   r"links \['carriage', 'lever', 'wheel', 'tip'\] are on or below a cycle"),
    "no link at all": ([(ARM, '<robot name="r"/>')], "there is no link; of xacro, name the file that calls the macros"),
    "two limits": ([(LIMIT, LIMIT + LIMIT)], "joint 'turn': <joint> has 2 <limit>; allowed: one"),
    "two inertials": ([("<inertial><mass", '<inertial><mass value="1"/></inertial><inertial><mass')],
                      "link 'lever': <link> has 2 <inertial>"),
    "type": ([('"revolute"', '"hinge"')], "joint 'turn': type 'hinge' is unknown; allowed: revolute"),
    "floating": ([('"revolute"', '"floating"')], "joint 'turn': type 'floating' is not supported"),
    "planar": ([('"revolute"', '"planar"')], "joint 'turn': type 'planar' is not supported"),
    "no type": ([('type="revolute"', "")], "joint 'turn': type '' is unknown"),
    "zero axis": ([('<axis xyz="0 1 0"/>', '<axis xyz="0 -0 0"/>')], "joint 'turn': <axis xyz> is zero"),
    "no mass": ([('<mass value="2"/>', "")], "link 'carriage': <inertial> has no mass"),
    "no inertia": ([(f"<inertia {inertia(0, 0, 0)[0]}/>", "")], "link 'carriage': <inertial> has no inertia"),
    "no iyy": ([(' iyy="0.2"', "")], "link 'carriage': <inertia> has no iyy"),
    "zero mass": ([('<mass value="2"/>', '<mass value="0"/>')],
                  "link 'carriage': mass is 0 kg; allowed: more"),
    "negative mass": ([('<mass value="2"/>', '<mass value="-2"/>')], "link 'carriage': mass is -2 kg"),
    "underflow": ([('<mass value="2"/>', '<mass value="1e-400"/>')], "link 'carriage': mass is 0 kg"),
    "negative": ([inertia(-1, -1, -1)], "'carriage': principal moments .* must be positive"),
    "off-diagonal": ([('ixy="0"', 'ixy="0.15"')], "'carriage': principal moments .* must be positive"),
    "huge inertia": ([inertia(1e308, 1e308, -1e308)], "'carriage': principal moments .* must be positive"),
    "overflowing inertia": ([(inertia(0, 0, 0)[0], " ".join(f'{i}="1e308"' for i in INERTIA))],
                            "must be positive"),
    "no limit": ([(LIMIT, "")], "joint 'turn': a revolute joint needs a <limit>"),
    "no limit to slide": ([('<limit lower="-1" upper="1" effort="50" velocity="2"/>', "")],
                          "a prismatic joint needs"),
    "equal range": ([('lower="-2"', 'lower="2"')], "joint 'turn': lower limit 2 is not below upper limit 2"),
    "no upper": ([('lower="-2" upper="2"', 'lower="1"')],
                 "joint 'turn': lower limit 1 is not below upper limit 0"),
    "no effort": ([(' effort="5"', "")], "joint 'turn': <limit> has no effort; .* effort_limits"),
    "zero effort": ([('effort="5"', 'effort="0"')],
                    "joint 'turn': <limit effort> is 0; allowed: more than 0"),
    "negative effort": ([('effort="5"', 'effort="-1"')], "joint 'turn': <limit effort> is -1"),
    "no velocity": ([(' effort="5" velocity="3"', ' effort="5"')], "joint 'turn': <limit> has no velocity"),
    "zero velocity": ([('effort="5" velocity="3"', 'effort="5" velocity="0"')],
                      "joint 'turn': <limit velocity> is 0"),
    "negative damping": ([('damping="0.1"', 'damping="-0.1"')],
                         "'turn': <dynamics damping> is '-0.1'; allowed: 0"),
    "negative friction": ([('friction="0"', 'friction="-1"')],
                          "'turn': <dynamics friction> is '-1'; allowed: 0"),
    "mimic nobody": ([('mimic joint="turn"', 'mimic joint="x"')],
                     "joint 'roll': mimics 'x'; allowed: another"),
    "mimic itself": ([('mimic joint="turn"', 'mimic joint="roll"')], "joint 'roll': mimics 'roll'"),
    "mimic fixed": ([('mimic joint="turn"', 'mimic joint="tool"')], "joint 'roll': mimics 'tool'"),
    "mimic unnamed": ([('mimic joint="turn"', "mimic")], "joint 'roll': <mimic> has no joint"),
    "triangle": ([inertia(0.1, 0.2, 0.41)], "'carriage': .* largest must not exceed the sum"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), CASES.values(), ids=CASES)
def test_each_problem_is_found_and_named(changes: list[tuple[str, str]], message: str):
    with pytest.raises(UrdfError, match=message):
        load_urdf(edited(*changes))


SHAPE = "shape is left out: neither drawn nor avoided: link "
COLOUR = "colour or texture is left out: material 'grey' "
INDEFINITE = "inertia is not positive definite, and used as it is: link 'carriage' "
WARNED = {
    "degrees": ([('lower="-2"', 'lower="-170"'), ('upper="2"', 'upper="170"')],
                r"limits beyond 4 turns .* in degrees\?: joint 'turn' \(-170 to 170\)$"),
    "millimetres": ([('xyz="0 0 1"', 'xyz="0 300 400"'), ('lower="-1"', 'lower="-700"')],
                    r"lengths beyond 10 m .* in millimetres\?: joint 'slide' \(-700 to 1\), joint 'turn' \(500 from"),
    "robot name": ([(' name="arm"', "")], "robot without a name is called 'robot': robot$"),
    "no xyz": ([('<axis xyz="0 1 0"/>', "<axis/>")], "axis without xyz counts as 1 0 0: joint 'turn'$"),
    "semidefinite": ([inertia(0, 0.2, 0.2)], INDEFINITE + r"\(principal moments of inertia are 0, 0.2, 0.2"),
    "nearly singular": ([inertia(1e-13, 0.2, 0.2)], INDEFINITE),
    "rounding noise": ([inertia(-3.8e-24, 1e-8, 1e-8)], INDEFINITE + r"\(.* -3.8e-24, 1e-08, 1e-08 kg"),
    "triangle": ([inertia(0.1, 0.2, 0.39)],
                 r"largest principal moment .* link 'carriage' \(by 23 % of itself\)"),
    "no geometry": ([('<geometry><sphere radius="0.1"/></geometry>', "")],
                    SHAPE + r"'wheel' \(<collision> has no geometry"),
    "no shape": ([('<sphere radius="0.1"/>', "<capsule/>")], SHAPE + r"'wheel' \(<geometry> has 0 shapes"),
    "two shapes": ([('<sphere radius="0.1"/>', '<sphere radius="1"/><box size="1 1 1"/>')],
                   SHAPE + r"'wheel' \(<geometry> has 2 shapes"),
    "flat box": ([('"0.1 0.2 0.3"', '"0.1 0 0.3"')], SHAPE + r"'carriage' \(<box size> is '0.1 0 0.3'\)"),
    "negative radius": ([('<sphere radius="0.1"/>', '<sphere radius="-1"/>')],
                        SHAPE + r"'wheel' \(<sphere radius> is '-1'\)"),
    "zero length": ([('length="0.4"', 'length="0"')], SHAPE + r"'lever' \(<cylinder length> is '0'\)"),
    "place of a shape": ([("<collision><geometry><sphere", '<collision><origin xyz="nan 0 0"/><geometry><sphere')],
                         SHAPE + r"'wheel' \(<origin xyz> is 'nan 0 0'\)"),
    "mesh by file url": ([mesh("file:///etc/passwd")],
                         SHAPE + r"'base' \(<mesh filename> is 'file:///etc/passwd'\)"),
    "mesh by web url": ([mesh("http://x/y.stl")], SHAPE + r"'base' \(<mesh filename> is 'http"),
    "mesh by drive": ([mesh("C:/y.stl")], SHAPE + "'base'"),
    "mesh absolute": ([mesh("/etc/passwd")], SHAPE + "'base'"),
    "mesh absolute in package": ([mesh("package:///etc/passwd")], SHAPE + "'base'"),
    "mesh upwards": ([mesh("package://arm/../../x.stl")], SHAPE + "'base'"),
    "mesh backslash": ([mesh("..\\x.stl")], SHAPE + "'base'"),
    "mesh escaped": ([mesh("%2e%2e/x.stl")], SHAPE + "'base'"),
    "mesh unnamed": ([mesh("")], SHAPE + "'base'"),
    "texture": ([('<color rgba="0.5 0.5 0.5 1"/>', '<texture filename="/x"/>')],
                COLOUR + r"\(<texture filename> is '/x'\)"),
    "no texture": ([('<color rgba="0.5 0.5 0.5 1"/>', "<texture/>")], COLOUR + r"\(<texture> has no filename\)"),
    "bad colour": ([('rgba="0.5 0.5 0.5 1"', 'rgba="0.5"')], COLOUR + r"\(<color rgba> is '0.5'\)"),
    "two colours": ([('<material name="grey"/></visual>', '<material name="grey"/><material name="b"/></visual>')],
                    r"colour or texture is left out: link 'base' \(<visual> has 2 <material>\)"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), WARNED.values(), ids=WARNED)
def test_what_harms_no_arm_is_a_warning_with_its_place(changes: list[tuple[str, str]], message: str):
    assert find_problems(edited(*changes)) == []
    robot = load_urdf(edited(*changes))
    (warning,) = robot.warnings
    assert re.match(message, warning)
    assert parsers_agree(robot)


def parsers_agree(robot: Urdf) -> bool:
    """Whether the text needs no more cure, and Pinocchio reads it."""
    assert_pinocchio_agrees(robot)
    return find_problems(robot.text) == []


def test_a_cause_is_one_warning_for_all_its_places():
    text = edited(('"0.1 0.2 0.3"', '"0.1 0 0.3"'), ('<sphere radius="0.1"/>', '<sphere radius="0"/>'))
    assert load_urdf(text).warnings == (
        "shape is left out: neither drawn nor avoided: link 'carriage' (<box size> is '0.1 0 0.3'), "
        "link 'wheel' (<sphere radius> is '0')",
    )


def test_a_joint_that_mimics_needs_no_limits():
    robot = load_urdf(edited(('<limit effort="6" velocity="3"/>', "")))
    assert robot.warnings == ()
    assert robot.robot.joint_map["roll"].limit.effort == 0.0


BAD_NUMBERS = ["nan", "inf", "-Infinity", "1,5", "0x10", "1_000", "\u0661", "1e999", "1 2", "", "1e", "--1",
               "1\u00a0", "&#9;1", "${m}", "1.0f", "."]  # fmt: skip


@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_a_number_that_parsers_would_misread_is_refused(value: str):
    problems = find_problems(edited(('<mass value="2"/>', f'<mass value="{value}"/>')))
    assert len(problems) == 1
    assert re.match(r"link 'carriage': <mass value> is .*; allowed: 1 finite decimal number", problems[0])


@pytest.mark.parametrize("value", ["2", "+2.", ".5", "2e-1", "1E+2", " 2 ", "007"])
def test_plain_decimal_numbers_are_accepted(value: str):
    robot = load_urdf(edited(('<mass value="2"/>', f'<mass value="{value}"/>')))
    assert robot.link_masses()["carriage"] == float(value)


NUMBER_PLACES = {
    "origin xyz": 'xyz="0 0 1"', "origin rpy": 'rpy="0 0 0"', "axis xyz": 'xyz="0 1 0"',
    "inertia ixy": 'ixy="0"', "limit lower": 'lower="-2"', "limit upper": 'upper="2"',
    "limit effort": 'effort="5"', "mass value": 'value="2"', "limit velocity": 'velocity="3"',
    "dynamics damping": 'damping="0.1"', "dynamics friction": 'friction="0"',
    "safety_controller k_velocity": 'k_velocity="4"',
    "mimic multiplier": 'multiplier="2"', "mesh scale": 'scale="1 1 1"', "box size": 'size="0.1 0.2 0.3"',
    "cylinder radius": 'radius="0.1"', "color rgba": 'rgba="0.5 0.5 0.5 1"',
}  # fmt: skip


@pytest.mark.parametrize(("place", "attribute"), NUMBER_PLACES.items())
@pytest.mark.parametrize("damage", ["nan", "1,5", "1 1 1 1 1"])
def test_every_number_is_read_strictly(place: str, attribute: str, damage: str):
    text = edited((attribute, f'{attribute.split("=", maxsplit=1)[0]}="{damage}"'))
    if place.split(maxsplit=1)[0] in ("mesh", "box", "cylinder", "color"):
        assert any(f"(<{place}> is '{damage}')" in warning for warning in load_urdf(text).warnings)
    else:
        assert any(f"<{place}> is '{damage}'; allowed:" in problem for problem in find_problems(text))


def test_all_problems_are_listed_under_the_name_of_the_file(tmp_path: Path):
    path = tmp_path / "arm.urdf"
    path.write_text(edited(('<mass value="2"/>', '<mass value="-1"/>'), ('"revolute"', '"planar"')))
    with pytest.raises(UrdfError) as error:
        load_urdf(path)
    first, *rest = str(error.value).splitlines()
    assert first == f"3 problem(s) in {path}"
    assert [line.split(":")[0] for line in rest] == ["- link 'carriage'", "- joint 'turn'", "- joint 'roll'"]


def test_a_message_stays_short_and_on_its_line():
    (problem,) = find_problems(edited(('<mass value="2"/>', f'<mass value="&#10;{"9" * 5000}"/>')))
    assert len(problem) < 200
    assert "\n" not in problem


@pytest.mark.parametrize("source", ["no/such.urdf", Path("no/such.urdf"), "", "."])
def test_a_source_that_is_no_file_is_refused(source: str | Path):
    with pytest.raises(UrdfError, match=r"there is no URDF file .* allowed: a file or the XML itself"):
        load_urdf(source)


@pytest.mark.parametrize("source", ["a\0b", "x" * 5000, "\ud800"])
def test_a_source_that_cannot_be_a_path_is_refused(source: str):
    with pytest.raises(UrdfError, match=r"no URDF file|cannot be read"):
        load_urdf(source)


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path):
    (tmp_path / "a.urdf").write_bytes(b"<robot name='\xff'/>")
    with pytest.raises(UrdfError, match="cannot be read"):
        load_urdf(tmp_path / "a.urdf")


def test_path_string_and_text_give_the_same_robot(tmp_path: Path):
    path = tmp_path / "arm.urdf"
    path.write_bytes(b"\xef\xbb\xbf" + ARM.encode())
    assert load_urdf(path) == load_urdf(str(path)) == load_urdf(ARM)


def test_limits_given_replace_those_of_the_file():
    given = {"turn": 7, "roll": np.float64(8.0)}
    robot = load_urdf(edited((' effort="5"', ""), ('effort="6"', 'effort="0"')), effort_limits=given)
    assert [robot.robot.joint_map[name].limit.effort for name in ("slide", "turn", "roll")] == [50, 7, 8]
    robot = load_urdf(ARM, velocity_limits={"slide": 0.5})
    assert robot.robot.joint_map["slide"].limit.velocity == 0.5


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 10**400, "5", None])
@pytest.mark.parametrize("quantity", ["effort_limits", "velocity_limits"])
def test_a_limit_that_is_not_positive_and_finite_is_refused(quantity: str, value: object):
    with pytest.raises(UrdfError, match=rf"{quantity} of joint 'turn' is .*; allowed: a finite"):
        load_urdf(ARM, **{quantity: {"turn": value}})


@pytest.mark.parametrize("joint", ["elbow", "tool"])
def test_a_limit_for_a_joint_that_does_not_move_is_refused(joint: str):
    with pytest.raises(JointNotFound, match=f"unknown joint '{joint}'; the model has: slide, turn, roll"):
        load_urdf(ARM, effort_limits={joint: 5.0})


def test_the_tree_is_told():
    robot = load_urdf(ARM)
    assert robot.root == "base"
    assert robot.movable_joints == ("slide", "turn", "roll")
    assert robot.leaves == ("tip", "wheel")
    assert robot.chain("tip") == ("slide", "turn")
    assert robot.chain("wheel") == ("slide", "roll")
    assert robot.chain("base") == ()
    assert robot.link_masses() == {"carriage": 2.0, "lever": 1.5, "wheel": 1.0}
    with pytest.raises(FrameNotFound, match="unknown frame 'hand'; the model has: base, carriage"):
        robot.chain("hand")


def test_what_is_not_core_urdf_is_dropped_in_silence(capfd: pytest.CaptureFixture[str]):
    extra = """<gazebo><plugin filename="/x.so"/></gazebo><mujoco><compiler/></mujoco><!-- note -->
      <transmission name="t"><joint name="slide"/></transmission><material name="bare"/>"""
    text = edited(('<link name="tip"/>', '<link name="tip"/>' + extra), ("<dynamics ", '<dynamics D="1" '))
    assert load_urdf(text) == load_urdf(ARM)
    assert capfd.readouterr() == ("", "")


def test_calls_of_macros_that_an_expansion_has_left_are_a_warning_that_names_them():
    """As in Valkyrie's URDF. What another program would make of them is unknown, so nothing is."""
    text = edited(
        ('<material name="grey"/></visual>', "<xacro:grey/></visual>"),
        ('<link name="tip"/>', '<link name="tip"/><xacro:sensors port="/dev/usb"><link name="x"/></xacro:sensors>'),
        ('<joint name="tool"', '<!-- <xacro:note/> --><joint name="tool"'),
    )
    robot = load_urdf(text)
    assert robot.warnings == (
        "xacro macro that nobody has expanded is left out, with all that it stands for:"
        " link 'base' (<xacro:grey>), robot (<xacro:sensors>)",
    )
    assert robot.leaves == load_urdf(ARM).leaves
    assert parsers_agree(robot)


@pytest.mark.parametrize("name", XACRO)
def test_a_program_of_xacro_is_refused_wherever_it_stands(name: str):
    with pytest.raises(UrdfError, match=f"contains the xacro element 'xacro:{name}'; expand it to plain URDF first"):
        load_urdf(edited(('<material name="grey"/></visual>', f"<xacro:{name}/></visual>")))


def test_normalised_text_leaves_nothing_to_guess():
    moments = " ".join(f'{name}="0.0"' for name in INERTIA)
    zeros = f'<inertial><mass value="0"/><inertia {moments}/></inertial>'
    text = edited(
        ('<axis xyz="1 0 0"/>', ""),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 3e200 -4e200"/>'),
        ('<link name="tip"/>', f'<link name="tip">{zeros}</link>'),
        ('<limit effort="6"', '<limit lower="0" upper="0" effort="6"'),
        ('<child link="tip"/>', '<child link="tip"/><axis xyz="0 0 0"/><limit effort="0" velocity="0"/>'),
    )
    robot = load_urdf(text)
    joints = robot.robot.joint_map
    assert joints["slide"].axis == [1, 0, 0]
    np.testing.assert_allclose(joints["turn"].axis, [0, 0.6, -0.8], rtol=1e-15)
    assert robot.robot.link_map["tip"].inertial is None
    assert joints["tool"].limit is joints["tool"].axis is None
    assert "lower" not in robot.text.split('name="roll"')[1]
    assert load_urdf(robot.text) == robot


def test_continuous_joint_without_limit_gets_the_ones_given():
    text = edited(('<limit effort="6" velocity="3"/>', ""))
    robot = load_urdf(text, effort_limits={"roll": 1.0}, velocity_limits={"roll": 2.0})
    limit = robot.robot.joint_map["roll"].limit
    assert (limit.effort, limit.velocity) == (1.0, 2.0)


def test_without_meshes_keeps_shapes_and_dynamics():
    robot = load_urdf(edited(('<color rgba="0.5 0.5 0.5 1"/>', '<texture filename="grey.png"/>')))
    text = robot.without_meshes()
    assert not re.search("mesh|texture", text)
    assert all(shape in text for shape in ("<box", "<cylinder", "<sphere"))
    assert load_urdf(text).link_masses() == robot.link_masses()
    assert "mesh" in robot.text


def test_a_point_mass_is_six_zeros_and_nothing_near():
    moments, zeros = inertia(0, 0, 0)
    assert find_problems(edited((moments, zeros))) == []
    assert load_urdf(edited((moments, zeros))).link_masses()["carriage"] == 2.0
    for name in INERTIA:
        text = edited((moments, zeros.replace(f'{name}="0"', f'{name}="1e-9"')))
        if name[1] == name[2]:
            assert "not positive definite" in load_urdf(text).warnings[0]
        else:
            assert "must be positive" in find_problems(text)[0]
    (problem,) = find_problems(edited((moments, zeros), ('<mass value="2"/>', '<mass value="-2"/>')))
    assert "mass is -2 kg" in problem


def test_rounded_plate_passes_the_triangle_inequality():
    assert find_problems(edited(inertia(0.1, 0.2, 0.3002))) == []


@pytest.mark.parametrize(
    ("name", "n_joints", "unlimited"),
    [
        ("kinova.urdf", 6, []),
        ("panda.urdf", 9, []),
        ("ur5_ros2.urdf", 6, []),
        ("koch.urdf", 6, [f"joint_{i}" for i in range(1, 7)]),
        ("double_pendulum.urdf", 2, ["joint1", "joint2"]),
    ],
)
def test_robots_of_other_makers(name: str, n_joints: int, unlimited: list[str], capfd: pytest.CaptureFixture[str]):
    path = DATA / name
    limits = dict.fromkeys(unlimited, 1.0)
    text = path.read_text()
    for joint, problem in zip(unlimited, find_problems(text, velocity_limits=limits), strict=True):
        assert re.match(rf"joint '{joint}': <limit.* effort", problem)
    for joint, problem in zip(unlimited, find_problems(text, effort_limits=limits), strict=True):
        assert re.match(rf"joint '{joint}': <limit.* velocity", problem)
    robot = load_urdf(path, effort_limits=limits, velocity_limits=limits)
    assert len(robot.movable_joints) == pin.buildModelFromXML(robot.text).nv == n_joints
    assert_pinocchio_agrees(robot)
    assert capfd.readouterr() == ("", "")


def assert_pinocchio_agrees(robot: Urdf):
    """The trap this guard is for: another parser must see the same mass, not 0."""
    model = pin.buildModelFromXML(robot.text)
    total = sum(inertia.mass for inertia in model.inertias)
    assert total == pytest.approx(sum(robot.link_masses().values()), rel=1e-9, abs=1e-12)
    assert set(model.names[1:]) == set(robot.movable_joints)


def accepts_or_refuses(text: str) -> None:
    try:
        robot = load_urdf(text)
    except UrdfError:
        return
    assert_pinocchio_agrees(robot)
    assert load_urdf(robot.text) == robot


@settings(max_examples=30)
@given(st.text(max_size=200))
@example("<")
@example("<robot name='a'/>")
def test_random_text_raises_nothing_but_urdf_error(text: str):
    accepts_or_refuses(text)


TOKENS = [
    "nan", "1,5", "", "0", "-1", "1e308", "1e-320", '"', "<", "/>", "<link/>", 'name="base_link"', "&#0;",
    "&lt;", "\x00", "\ud800", "continuous", "fixed", "base_link", "tool0", "é", " ", "<inertial/>",
    "<limit/>", "-->",
]  # fmt: skip
CUTS = st.tuples(st.integers(0, len(UR5)), st.integers(0, 30), st.sampled_from(TOKENS))


@settings(max_examples=60)
@given(st.lists(CUTS, min_size=1, max_size=3))
def test_damaged_ur5_raises_nothing_but_urdf_error(cuts: list[tuple[int, int, str]]):
    text = UR5
    for start, length, token in cuts:
        text = text[:start] + token + text[start + length :]
    accepts_or_refuses(text)


@settings(max_examples=60)
@given(st.data())
def test_ur5_with_an_attribute_replaced_raises_nothing_but_urdf_error(data: st.DataObject):
    spans = [match.span(1) for match in re.finditer(r'="([^"]*)"', UR5)]
    start, end = data.draw(st.sampled_from(spans))
    value = data.draw(st.sampled_from(TOKENS) | st.floats().map(repr) | st.text(max_size=8))
    accepts_or_refuses(UR5[:start] + value + UR5[end:])
