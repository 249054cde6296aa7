"""``arm_control check``: facts against other parsers, warnings by name, and nothing but words for any bytes."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arm_control.app import main
from arm_control.app.commands.check_command import Check, as_text, check_file
from arm_control.exceptions import FrameNotFound, ModelError
from arm_control.model import describe, find_warnings, load_urdf, mesh_warnings, read_facts, read_robot
from arm_control.simulation import write_scenario

REPO = Path(__file__).parents[3]
UR5 = REPO / "urdf" / "ur5" / "ur5.urdf"
UR5_TEXT = UR5.read_text()

# A lever with a hand on a column; two fingers, of which one follows the other; a lamp that does not move.
INERTIA = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>'
ARM = f"""<robot name="arm"><link name="base"/><link name="lamp"/>
  <link name="lever"><inertial><mass value="2"/>{INERTIA}</inertial>
    <visual><geometry><cylinder radius="0.15" length="0.4"/></geometry></visual></link>
  <link name="hand"><inertial><mass value="1"/>{INERTIA}</inertial></link>
  <link name="left"><inertial><mass value="0.5"/>{INERTIA}</inertial></link>
  <link name="right"><inertial><mass value="0.5"/>{INERTIA}</inertial></link>
  <joint name="post" type="fixed"><parent link="base"/><child link="lamp"/></joint>
  <joint name="turn" type="revolute"><parent link="base"/><child link="lever"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" effort="5" velocity="3"/><dynamics damping="0.25"/></joint>
  <joint name="wrist" type="revolute"><parent link="lever"/><child link="hand"/><origin xyz="0 0 0.4"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/></joint>
  <joint name="grip" type="prismatic"><parent link="hand"/><child link="left"/>
    <limit lower="0" upper="0.04" effort="5" velocity="3"/></joint>
  <joint name="grip2" type="prismatic"><parent link="hand"/><child link="right"/>
    <limit lower="0" upper="0.04" effort="5" velocity="3"/><mimic joint="grip"/></joint>
</robot>"""


def checked(tmp_path: Path, text: str, **options: object) -> Check:
    (tmp_path / "arm.urdf").write_text(text)
    return check_file(str(tmp_path / "arm.urdf"), **options)


def edited(old: str, new: str, text: str = ARM) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


# -- facts ----------------------------------------------------------------------------------------


def test_the_facts_of_the_ur5_are_those_of_pinocchio():
    check = check_file("ur5")
    model = pin.buildModelFromXML(UR5_TEXT)
    facts = check.facts
    assert facts.moving_mass == pytest.approx(sum(inertia.mass for inertia in list(model.inertias)[1:]), rel=1e-12)
    assert facts.mass == pytest.approx(sum(load_urdf(UR5).link_masses().values()), rel=1e-12)
    assert [joint.name for joint in check.chain] == list(model.names[1:])
    np.testing.assert_allclose([joint.lower for joint in check.chain], model.lowerPositionLimit)
    np.testing.assert_allclose([joint.upper for joint in check.chain], model.upperPositionLimit)
    np.testing.assert_allclose([joint.effort for joint in check.chain], model.effortLimit)
    np.testing.assert_allclose([joint.velocity for joint in check.chain], model.velocityLimit)
    for link in facts.links:
        if link.moves and link.mass is not None:
            inertia = model.inertias[model.getJointId(link.joint.name)]
            moments = np.linalg.eigvalsh(inertia.inertia)
            np.testing.assert_allclose(link.principal_moments, moments, rtol=1e-9)
            assert link.radius_of_gyration == pytest.approx(np.sqrt(moments[-1] / inertia.mass))
    assert (check.base, check.tip) == ("base_link", "tool0")
    assert (check.problems, check.warnings, check.notes) == ((), (), ())


def test_the_facts_of_an_arm(tmp_path: Path):
    facts = checked(tmp_path, ARM).facts
    assert [(link.name, link.depth, link.moves) for link in facts.links] == [
        ("base", 0, False), ("lamp", 1, False), ("lever", 1, True),
        ("hand", 2, True), ("left", 3, True), ("right", 3, True),
    ]  # fmt: skip
    assert [joint.name for joint in facts.joints] == ["post", "turn", "wrist", "grip", "grip2"]
    assert (facts.mass, facts.moving_mass) == (4.0, 4.0)
    assert facts.leaves == ("lamp", "left", "right")
    assert facts.tip_candidates == ("left", "right")
    assert facts.joints[1].damping == 0.25
    assert facts.joints[0].axis is None
    assert facts.joints[2].axis == (1.0, 0.0, 0.0)
    assert facts.joints[4].mimic == "grip"
    lever, hand = facts.links[2], facts.links[3]
    assert (lever.size, lever.is_size_known) == (pytest.approx(0.5), True)
    assert (hand.size, hand.is_size_known) == (0.0, False)
    assert hand.radius_of_gyration == pytest.approx(0.1)
    continuous = checked(tmp_path, edited('"turn" type="revolute"', '"turn" type="continuous"')).facts.joints[1]
    assert (continuous.lower, continuous.upper, continuous.effort) == (None, None, 5.0)
    far = '<inertial><origin xyz="0 -0.3 0.4"/><mass value="1"/>'
    assert checked(tmp_path, edited('<inertial><mass value="1"/>', far)).facts.links[3].size == pytest.approx(0.5)
    still = as_text(checked(tmp_path, "<robot><link name='a'/><link name='b'/></robot>"))
    assert "robot (no name): 2 links" in still
    assert "Joints that can move" not in still


@pytest.mark.parametrize(
    ("options", "base", "tip", "chain"),
    [
        ({}, "base", "hand", ["turn", "wrist"]),
        ({"tip": "left"}, "base", "left", ["turn", "wrist", "grip"]),
        ({"tip": "right", "base": "lever"}, "lever", "right", ["wrist", "grip2"]),
        ({"tip": "lamp"}, "base", "lamp", []),
        ({"tip": "hand", "base": "hand"}, "hand", "hand", []),
        ({"base": "lever"}, "lever", None, []),
        ({"base": "left"}, "left", None, []),
    ],
)
def test_the_chain(options: dict[str, str], base: str, tip: str | None, chain: list[str], tmp_path: Path):
    check = checked(tmp_path, ARM, **options)
    assert (check.base, check.tip, [joint.name for joint in check.chain]) == (base, tip, chain)


def test_a_chain_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(FrameNotFound, match="unknown frame 'foot'"):
        checked(tmp_path, ARM, tip="foot")
    with pytest.raises(FrameNotFound, match="unknown frame 'foot'"):
        checked(tmp_path, ARM, base="foot")
    with pytest.raises(ModelError, match="link 'lamp' is not below 'lever'; above it are: base"):
        checked(tmp_path, ARM, tip="lamp", base="lever")


# -- warnings -------------------------------------------------------------------------------------


def warnings_of(text: str) -> list[str]:
    return find_warnings(read_facts(read_robot(text)))


HAND = f'<link name="hand"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
WARNINGS = {
    "shape without inertia": (
        (HAND, '<link name="hand"><visual><geometry><sphere radius="1"/></geometry></visual></link>'),
        "link moves and has a shape, but no <inertial>, and counts as massless: link 'hand'$",
    ),
    "no mass": (
        (f'<link name="left"><inertial><mass value="0.5"/>{INERTIA}</inertial></link>', '<link name="left"/>'),
        "joint moves no mass, .* torque cannot control it: joint 'grip'$",
    ),
    "no lower": (('lower="0" upper="0.04"', 'upper="0.04"'),
                 r"missing end of a joint's range counts as 0: joint 'grip' \(no lower limit\)"),
    "no upper": (('lower="-1" upper="1"', 'lower="-1"'), r"joint 'wrist' \(no upper limit\)"),
    "wide by its shape": ((INERTIA, INERTIA.replace('"0.01"', '"0.72"')),
                          r"larger than the link: link 'lever' \(.* 0.6 m, size of its shapes 0.5 m\)"),
    "wide by its joints": ((HAND, HAND.replace('"0.01"', '"0.1"')),
                           r"'hand' \(radius of gyration 0.316 m, distance between its joints 0 m\)"),
    "small": ((HAND, HAND.replace('"0.01"', '"1e-5"')),
              r"smaller than that of any body .* 'hand' \(radius .* 0.00316 m, of a ball of osmium 0.0139 m\)"),
    "heavy": (('<mass value="2"/>', '<mass value="2000"/>'),
              r"mass cannot be: no matter is that dense: link 'lever' \(2e\+03 kg within 0.5 m\)"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), WARNINGS.values(), ids=WARNINGS)
def test_each_warning_names_its_link_or_joint(change: tuple[str, str], message: str):
    found = "\n".join(warnings_of(edited(*change)))
    assert re.search(message, found, re.MULTILINE), found


# -- meshes ---------------------------------------------------------------------------------------


def with_mesh(*names: str) -> str:
    shapes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    return edited('<link name="lamp"/>', f'<link name="lamp">{shapes}</link>')


def meshes(folder: Path, *names: str, roots: tuple[Path, ...] = ()) -> tuple[list[str], list[str]]:
    return mesh_warnings(read_robot(with_mesh(*names)), folder / "arm.urdf", roots)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a URDF in a package with one mesh, and a secret outside of it."""
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    (tmp_path / "ws" / "my_arm" / "urdf").mkdir(parents=True)
    (tmp_path / "ws" / "my_arm" / "a.stl").write_text("solid")
    (tmp_path / "ws" / "my_arm" / "urdf" / "b.stl").write_text("solid")
    (tmp_path / "secret.stl").write_text("solid")
    return tmp_path / "ws" / "my_arm" / "urdf"


MISSING = "file does not exist: "
MESHES: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {  # names, warnings, notes
    "there": (("b.stl", "./b.stl", "package://my_arm/a.stl", "package://my_arm/urdf/b.stl"), [], []),
    "gone": (("c.stl", "c.stl", "package://my_arm/c.stl"), [f"{MISSING}'c.stl', 'package://my_arm/c.stl'"], []),
    "too long": (("x" * 5000,), [f"{MISSING}'{'x' * 60}"], []),
    "no package": (
        ("package://other/a.stl", "package://other/b.stl"),
        [], ["package 'other' was not found: 2 file(s) of it are not checked; --package-path names its folder"],
    ),
    "nowhere": (("package://", "package:///etc/passwd", "/etc/passwd", "../a.stl"), [], []),
}  # fmt: skip


@pytest.mark.parametrize(("names", "warnings", "notes"), MESHES.values(), ids=MESHES)
def test_meshes_are_looked_for(
    names: tuple[str, ...], warnings: list[str], notes: list[str], package: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(package)
    for folder in (package, Path()):
        found, noted = meshes(folder, *names)
        assert noted == notes
        assert len(found) == len(warnings)
        assert all(one.startswith(begin[:70]) for one, begin in zip(found, warnings, strict=True))


def test_a_link_out_of_the_folders_is_a_warning(package: Path):
    (package / "out.stl").symlink_to(package.parents[2] / "secret.stl")
    (package.parent / "out.stl").symlink_to(package.parents[2] / "secret.stl")
    warnings, notes = meshes(package, "out.stl", "package://my_arm/out.stl")
    (warning,) = warnings
    assert re.match(r"file is a link .*: 'out\.stl' \(to .*'\), 'package://my_arm/out\.stl' \(to", warning)
    assert notes == []
    assert meshes(package, "out.stl", roots=(package.parents[2],)) == ([], [])


# -- what is printed ------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str, str]:
    """Run the command; its exit status, and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["check", *arguments])
    return status, out.getvalue(), err.getvalue()


def test_the_text_tells_everything_in_100_columns():
    status, text, errors = run(str(UR5))
    assert (status, errors) == (0, "")
    assert max(map(len, text.splitlines())) <= 100
    for words in (
        "robot ur5: 12 links, 11 joints of which 6 can move, 21.049 kg of which 17.049 kg move",
        "shoulder_link, 3.7 kg  <- shoulder_pan_joint, revolute (0 0 1), -6.283 to 6.283 rad",
        "from base_link to tool0: shoulder_pan_joint, shoulder_lift_joint, elbow_joint",
        "  elbow_joint                      -3.142    3.142     -180      180      150",
        "\nusable\n",
    ):
        assert words in text


def test_problems_come_with_all_the_rest_and_status_1(tmp_path: Path):
    (tmp_path / "arm.urdf").write_text(edited('<mass value="2"/>', '<mass value="nan"/>'))
    status, text, _ = run(str(tmp_path / "arm.urdf"), "--tip", "left")
    assert status == 1
    assert "Problems (1)\n  - link 'lever': <mass value> is 'nan'; allowed:" in text
    assert "from base to left: turn, wrist, grip" in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        (b"", "contains no XML"),
        (b"<robot", "not well-formed"),
        (b"\xff\xfe", "cannot be read"),
        (b"<sdf/>", "root element is 'sdf'"),
        (b"<!DOCTYPE a><robot/>", "document type"),
    ],
)
def test_what_cannot_be_read_is_status_2(content: bytes | None, message: str, tmp_path: Path):
    if content is not None:
        (tmp_path / "a.urdf").write_bytes(content)
    for options in ([], ["--json"]):
        status, text, errors = run(str(tmp_path / "a.urdf"), *options)
        assert (status, text) == (2, "")
        assert message in errors


def test_a_xacro_file_is_expanded(tmp_path: Path):
    pytest.importorskip("xacro")
    arm = ARM.replace('"arm"', '"$(arg side)_${1 + 1}"').replace("<link", '<xacro:arg name="side" default=""/><link', 1)
    (tmp_path / "a.xacro").write_text(arm.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"'))
    trusted = "--trust", "--base", "base", "side:=left", "--tip", "hand"
    status, text, _ = run(str(tmp_path / "a.xacro"), *trusted)
    assert status == 0
    assert "robot left_2: 6 links" in text
    assert run(str(tmp_path / "a.xacro"), "side:=a b")[2].startswith("arm_control: 'side:=a b' is no argument")
    (tmp_path / "a.xacro").write_text('<robot name="${1 +}"/>')
    assert "cannot be expanded" in run(str(tmp_path / "a.xacro"), "--trust")[2]
    for untrusted in (["a.xacro"], ["a.xacro "], ["a.xacro side:=left"], ["a.xacro", "side:=left"]):
        assert "read it first" in run(str(tmp_path / untrusted[0]), *untrusted[1:])[2]


def test_a_urdf_with_xacro_inside_is_a_xacro_file(tmp_path: Path):
    pytest.importorskip("xacro")
    head = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"'
    for k, before in enumerate(('<xacro:property name="m" value="2"/>', "")):
        file = tmp_path / f"{k}.urdf"
        text = ARM.replace("<robot", head).replace('<mass value="2"/>', '<mass value="${1 + 1}"/>')
        file.write_text(text.replace("<link", f"{before}<link", 1))
        assert "read it first" in run(str(file))[2]
        status, text, _ = run(str(file), "--trust", "--tip", "hand")
        assert (status, "6 links" in text) == (0, True)
    comment = """<!-- <xacro:property name="m" value="${1 + 1}"/> -->"""
    file.write_text(ARM.replace("<robot", head).replace("<link", f"{comment}<link", 1))
    assert run(str(file), "--tip", "hand")[0] == 0, "neither the name space alone nor a comment makes a program"


def test_an_arm_that_cannot_carry_itself_is_refused(tmp_path: Path):
    robot = tmp_path / "weak.urdf"
    ur5 = UR5.read_text()
    shoulder = re.search(r'<joint name="shoulder_lift_joint".*?</joint>', ur5, re.DOTALL)
    assert shoulder is not None
    for effort, status in (("150", 0), ("35", 0), ("5", 1)):
        robot.write_text(ur5.replace(shoulder[0], re.sub(r'effort="[^"]*"', f'effort="{effort}"', shoulder[0])))
        found, text, _ = run(str(robot))
        assert found == status
        assert ("the arm cannot carry itself in" in " ".join(text.split())) == (effort != "150")
    assert "'shoulder_lift_joint' (up to 5" in " ".join(text.split())
    with pytest.raises(ModelError, match=r"cannot carry itself in .*: set limits with --effort-limits"):
        write_scenario(tmp_path, str(robot), {})


def test_json_tells_the_same(tmp_path: Path):
    (tmp_path / "arm.urdf").write_text(edited('<mass value="1"/>', '<mass value="-1"/>'))
    status, text, _ = run(str(tmp_path / "arm.urdf"), "--json", "--tip", "right", "--base", "lever")
    values = json.loads(text)
    assert status == 1
    assert (values["robot"], values["usable"], values["mass"]) == ("arm", False, 2.0)
    assert (values["base"], values["tip"], values["chain"]) == ("lever", "right", ["wrist", "grip2"])
    assert values["tip_candidates"] == ["left", "right"]
    assert [link["joint"] for link in values["links"]] == [None, "post", "turn", "wrist", "grip", "grip2"]
    assert values["joints"][3]["upper"] == 0.04
    assert len(values["problems"]) == 1
    assert len(values["notes"]) == 1


def write_files(folder: Path, text: str, parameters: str = "") -> str:
    (folder / "arm.urdf").write_text(text)
    (folder / "arm.yaml").write_text(f"/**:\n  ros__parameters:\n{parameters}")
    return str(folder / "arm.urdf")


def test_limits_come_from_options_and_parameter_files(tmp_path: Path):
    file = write_files(tmp_path, edited('effort="5" velocity="3"/><dynamics', 'effort="0"/><dynamics'), "    tip: left")
    status, text, _ = run(file)
    assert status == 1
    assert "joint 'turn': <limit effort> is 0" in text
    assert "joint 'turn': <limit> has no velocity" in text
    limits = ["--effort-limits", "turn:5", "--velocity-limits", "turn:3"]
    assert run(file, *limits)[0] == 0
    assert run(file, "--kinematics-only")[0] == 0
    values = """    tip: left\n    effort_limits: ["turn:5"]\n    velocity_limits: ["turn:3"]\n    rate_limit: 1.0\n"""
    write_files(tmp_path, Path(file).read_text(), values)
    status, text, _ = run(file, "--params-file", str(tmp_path / "arm.yaml"))
    assert status == 0
    assert "from base to left: turn, wrist, grip" in text
    assert run(file, "--params-file", str(tmp_path / "arm.yaml"), "--effort-limits", "turn:x")[0] == 2


NASTY = "\x9b31m\x7f\u202e\u2028"


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path):
    path = tmp_path / "arm.urdf"
    names = NASTY + "&#10;&#9;"
    path.write_text(re.sub('(name|link|type|joint)="([a-z0-9]+)"', rf'\1="\2{names}"', ARM), encoding="utf-8")
    calls = [run(str(path)), run(str(path), "--json"), run(str(path), "--tip", "none"), run(str(path), "--base", "no")]
    assert [status for status, _, _ in calls] == [1, 1, 2, 2]
    for _, text, errors in calls:
        assert (text + errors).replace("\n", "").isprintable()
        assert "\\u202e" in text + errors
    assert not any(line.startswith("\t") for _, text, _ in calls for line in text.splitlines())


def test_a_terminal_that_knows_only_ascii_gets_ascii(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "arm.urdf").write_text(edited('"lamp"', '"größe"', edited('"lamp"', '"größe"')), encoding="utf-8")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["check", str(tmp_path / "arm.urdf")]) == 0
    sys.stdout.flush()
    assert b"gr\\xf6\\xdfe" in raw.getvalue()


# -- any bytes ------------------------------------------------------------------------------------


def assert_only_words(content: bytes, folder: Path) -> None:
    path = folder / "fuzz.urdf"
    path.write_bytes(content)
    status, text, errors = run(str(path))
    assert status in (0, 1, 2)
    assert (text + errors).replace("\n", "").isprintable()
    assert (status == 2) == (text == "")
    as_json_status, as_json_text, _ = run(str(path), "--json")
    assert as_json_status == status
    if status < 2:
        assert json.loads(as_json_text, parse_constant=pytest.fail)["usable"] is (status == 0)
    if status == 0:
        describe(path)
    else:
        with pytest.raises(ModelError):
            describe(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


VALUES = st.sampled_from(
    ["", "nan", "1e308", "-1e308", "1e-320", "0 0 0", "1e308 1e308 1e308", "base", "left", "tool0", "continuous",
     "fixed", "floating", "package://", "package://a", "../a", "\x9b2J", "\n", "~", "ö" * 70, "1" * 400, "a" * 300]
)  # fmt: skip


@settings(max_examples=15)
@given(data=st.data())
def test_random_changes_of_a_urdf_give_words(data: st.DataObject, folder: Path):
    robot = ElementTree.fromstring(data.draw(st.sampled_from([ARM, UR5_TEXT])))
    for _ in range(data.draw(st.integers(1, 4))):
        element = data.draw(st.sampled_from(list(robot.iter())))
        others = list(robot.iter())
        match data.draw(st.sampled_from(["set", "drop", "remove", "copy", "tag"])):
            case "set" if element.attrib:
                element.set(data.draw(st.sampled_from(sorted(element.attrib))), data.draw(VALUES))
            case "drop" if element.attrib:
                del element.attrib[data.draw(st.sampled_from(sorted(element.attrib)))]
            case "remove" if len(element):
                element.remove(data.draw(st.sampled_from(list(element))))
            case "copy":
                copied = ElementTree.fromstring(ElementTree.tostring(data.draw(st.sampled_from(others))))
                element.append(copied)
            case "tag":
                element.tag = data.draw(st.sampled_from(["link", "joint", "origin", "geometry", "mesh", "robot", "x"]))
    assert_only_words(ElementTree.tostring(robot, encoding="utf-8"), folder)


# -- the other commands ---------------------------------------------------------------------------


def test_simulate_agrees_and_tells_the_same_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write_files(tmp_path, edited('radius="0.15"', 'radius="0"'))
    (tmp_path / "s.yaml").write_text(f"description: x\nrobot: {file}\nnodes: {{simulator: {{}}, osc: {{}}}}\n")
    assert main(["simulate", str(tmp_path / "s.yaml"), "--duration", "0.02"]) == 0
    (warning,) = check_file(file).warnings
    assert f"warning: {warning}\n" in capsys.readouterr().out
    write_files(tmp_path, edited('<mass value="2"/>', '<mass value="nan"/>'))
    assert main(["simulate", str(tmp_path / "s.yaml"), "--duration", "0.02"]) == 2
    assert check_file(file).problems[0] in capsys.readouterr().err
    assert main(["simulate", str(tmp_path / "s.yaml"), "side:=left"]) == 2
    assert "xacro_args need a xacro file" in capsys.readouterr().err


@pytest.mark.parametrize("none", ["", ' effort="0"'])
def test_limits_alone_that_are_missing_are_proposed(none: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = re.sub(r' effort="[^"]*"', none, (REPO / "urdf" / "planar2" / "planar2.urdf").read_text())
    (tmp_path / "arm.urdf").write_text(text)
    assert main(["check", str(tmp_path / "arm.urdf")]) == 1
    *before, intro, options = capsys.readouterr().out.splitlines()
    assert "  from base_link to ee_link: joint0, joint1" in before, "the chain is that of the other commands"
    assert intro.startswith("only limits are missing: `run` and `simulate` with --robot propose them")
    assert main(["check", str(tmp_path / "arm.urdf"), *options.split()]) == 0
    (tmp_path / "arm.urdf").write_text(text.replace("<mass value=", "<mass wrong="))
    assert main(["check", str(tmp_path / "arm.urdf")]) == 1
    assert "only limits" not in capsys.readouterr().out


def test_another_problem_than_missing_limits_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = re.sub(r' effort="[^"]*"', "", (REPO / "urdf" / "planar2" / "planar2.urdf").read_text())
    (tmp_path / "arm.urdf").write_text(re.sub(r'(mass value|i[xyz]{2})="[^"]*"', r'\1="1e-16"', text))
    assert main(["check", str(tmp_path / "arm.urdf")]) == 1
    assert "with limits there is another problem: joint 'joint0' moves no inertia" in capsys.readouterr().out


def test_a_speed_limit_that_only_fills_a_gap_is_a_warning(tmp_path: Path):
    file = tmp_path / "arm.urdf"
    text = (REPO / "urdf" / "planar2" / "planar2.urdf").read_text()
    file.write_text(re.sub(r' velocity="[^"]*"', ' velocity="10000"', text, count=1))
    (warning,) = check_file(str(file)).warnings
    assert warning.startswith("speed limit is implausible, no rotor is estimated from it")
    assert warning.endswith("joint 'joint0' (10000 rad/s or m/s)")
    assert check_file(str(file), velocity_limits={"joint0": 2.0}).warnings == ()


def test_a_last_joint_that_opens_a_gripper_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """As of an arm with one jaw that moves: its leaf is the jaw."""
    text = (REPO / "urdf" / "planar3" / "planar3.urdf").read_text()
    (tmp_path / "arm.urdf").write_text(text.replace('"joint2"', '"Gripper"'))
    assert main(["check", str(tmp_path / "arm.urdf")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "joint 'Gripper' seems to open a gripper, and would turn the hand: leave it out with the tip 'link1'" in out
    assert main(["check", str(tmp_path / "arm.urdf"), "--strict"]) == 1
    capsys.readouterr()
    assert main(["check", str(tmp_path / "arm.urdf"), "--tip", "link1"]) == 0
    assert "seems to open" not in capsys.readouterr().out


def test_packages_are_found_at_a_root_as_a_root_and_in_a_workspace(package: Path, monkeypatch: pytest.MonkeyPatch):
    far, packages, name = package.parents[2], package.parents[1], "package://my_arm/a.stl"
    assert meshes(far, name)[1] != []
    assert meshes(far, name, roots=(packages,)) == meshes(far, name, roots=(packages / "my_arm",)) == ([], [])
    (far / "install" / "share").mkdir(parents=True)
    (far / "install" / "share" / "my_arm").symlink_to(packages / "my_arm")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{far / 'install'}")
    assert meshes(far, name) == ([], [])


# -- constraints ----------------------------------------------------------------------------------

CELL = """
constraints:
  - {name: wall, kind: half_space, point: [0.42, 0, 0], normal: [-1, 0, 0]}
  - {name: low elbow, kind: half_space, of: link1, point: [0, 0, 0], normal: [0, -1, 0], level: clearance}
  - {name: people, kind: clearance}
"""
PLACES = """
{frame: base_link, period: 1, position_tolerance: 0.01, orientation_tolerance: 3.2, targets: [
  {position: [0.4, 0.05, 0], quat_xyzw: [0, 0, 0, 1]},
  {position: [0.45, 0, 0], quat_xyzw: [0, 0, 0, 1]},
  {position: [0.7, 0, 0], quat_xyzw: [0, 0, 0, 1]}]}
"""


@pytest.fixture
def cell(tmp_path: Path) -> list[str]:
    """Options with an elbow that is too high at the start; the hand gets to its targets with a low one."""
    (tmp_path / "cell.yaml").write_text(CELL)
    (tmp_path / "places.yaml").write_text(PLACES)
    start = ("--start", "1.0", "-1.5")
    return ["planar2", "--constraints", str(tmp_path / "cell.yaml"), *start, "--targets", str(tmp_path / "places.yaml")]


def test_constraints_are_listed_with_what_is_left_at_the_start_and_what_forbids_targets(cell: list[str]):
    status, text, errors = run(*cell)
    assert (status, errors) == (1, "")
    words = " ".join(text.split())
    x, y = 0.31 * np.cos(1.0) + 0.27 * np.cos(-0.5), 0.31 * np.sin(1.0)
    for row in (
        f"wall half_space hand workspace hand {1e3 * (0.42 - x):.3g} mm",
        f"low elbow half_space link1 clearance link1 {-1e3 * y:.3g} mm",
        "people clearance arm clearance nothing is near - ",
        "the start (joint0 1, joint1 -1.5) does not keep low elbow: it is refused",
        "Targets (3) 1 at 0.400 0.050 0.000: allowed",
        "2 at 0.450 0.000 0.000: forbidden by wall (hand) by 30 mm",
        "3 at 0.700 0.000 0.000: not reachable: ",
        "usable, but constraints forbid the start or a target",
    ):
        assert row in words


def test_constraints_are_part_of_the_json(cell: list[str]):
    values = json.loads(run(*cell, "--json")[1])["constraints"]
    elbow = values["constraints"][1]
    assert elbow.pop("left") == pytest.approx(-0.31 * np.sin(1.0))
    assert elbow == {"name": "low elbow", "kind": "half_space", "of": "link1", "level": "clearance", "unit": "m",
                     "at": "link1", "holds": False}  # fmt: skip
    assert [entry["holds"] for entry in values["constraints"]] == [True, False, True]
    assert values["start"] == {"joint0": 1.0, "joint1": -1.5}
    assert [[x["name"] for x in target["forbidden_by"]] for target in values["targets"]] == [[], ["wall"], []]
    assert [bool(target["why_unreachable"]) for target in values["targets"]] == [False, False, True]


def test_a_start_that_constraints_keep_or_lead_back_is_no_problem(cell: list[str]):
    options = [*cell[:3], "--start", "-1.0", "1.5"]
    status, text, _ = run(*options)
    assert status == 0
    assert "keeps all of them" in " ".join(text.split())
    with Path(cell[2]).open("a") as file:
        file.write("allow_recovery: true\n")
    status, text, _ = run(*cell[:6])
    assert (status, text.splitlines()[-1]) == (0, "usable")
    assert "does not keep low elbow; it is led back" in " ".join(text.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--start", "1.0"], "--start has 1 positions: 2 finite ones are needed, of joint0, joint1"),
        (["--targets", "nowhere"], "no 'nowhere' in config/targets"),
        (["--constraints", "nowhere"], "no 'nowhere' in config/constraints"),
        (["--constraints", ""], "--start and --targets say what is asked of constraints"),
        (["--kinematics-only"], "need masses, and the model was made for kinematics only"),
    ],
)
def test_what_cannot_be_asked_of_constraints_is_a_sentence(cell: list[str], options: list[str], message: str):
    status, text, errors = run(*cell, *options)
    assert (status, text) == (2, "")
    assert message in errors


def test_constraints_of_an_arm_with_problems_are_not_checked(cell: list[str], tmp_path: Path):
    file = write_files(tmp_path, edited('effort="5" velocity="3"/><dynamics', 'effort="0"/><dynamics'))
    status, text, _ = run(file, "--tip", "left", *cell[1:3])
    assert status == 1
    assert "Constraints of" not in text
    assert "constraints are not checked: the arm has problems" in text
