"""Xacro files: what they become, and every way to fail as one sentence."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from arm_control.exceptions import MissingExtra, UrdfError
from arm_control.model import ArmParameters, describe, load_urdf, read_description
from arm_control.model.urdf.packages import find_package
from arm_control.model.urdf.xacro import expand_xacro

pytestmark = pytest.mark.skipif(find_spec("xacro") is None, reason="xacro is an extra of the package")

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
ROD = """<xacro:macro name="rod" params="name parent length"><link name="${name}"><inertial>
    <origin xyz="0 0 ${length / 2}"/><mass value="${2 * length}"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="${name}_joint" type="revolute"><parent link="${parent}"/><child link="${name}"/>
    <limit lower="-${pi}" upper="${pi}" effort="1" velocity="1"/></joint></xacro:macro>"""
BODY = """<xacro:include filename="parts/rod.xacro"/><xacro:arg name="length" default="0.5"/><link name="base"/>
  <xacro:rod name="rod" parent="base" length="$(arg length)"/></robot>"""


def written(folder: Path, body: str, name: str = "arm.urdf.xacro") -> Path:
    (folder / name).write_text(HEAD + body)
    return folder / name


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rod.xacro").write_text(f"{HEAD}<xacro:include filename='deeper.xacro'/></robot>")
    (tmp_path / "parts" / "deeper.xacro").write_text(f"{HEAD}{ROD}</robot>")
    return written(tmp_path, BODY)


def test_a_file_is_expanded_with_what_it_includes_from_any_folder(arm: Path, monkeypatch: pytest.MonkeyPatch):
    robot = load_urdf(arm)
    assert robot.link_masses() == {"rod": 1.0}
    assert robot.robot.joint_map["rod_joint"].limit.upper == pytest.approx(3.14159265358979)
    monkeypatch.chdir(arm.parent.parent)
    assert load_urdf(f"{arm.parent.name}/{arm.name}") == load_urdf(str(arm)) == robot


def test_the_name_of_a_file_is_no_description_and_no_content_of_a_urdf(arm: Path):
    """Else a topic, a bag or a plain URDF could have a xacro file expanded, which may run any code."""
    with pytest.raises(UrdfError, match=r"arm.urdf.xacro' is no URDF: its text is needed, not the name of a file"):
        ArmParameters().model(f"{arm.parent.name}/{arm.name}")
    plain = arm.with_name("plain.urdf")
    plain.write_text(str(arm))
    for read in (load_urdf, lambda path: read_description(str(path))):
        with pytest.raises(UrdfError, match=r"plain.urdf' contains no XML"):
            read(plain)


def test_arguments_replace_defaults_and_are_not_kept(arm: Path):
    given = {"length": 1.5}
    assert load_urdf(arm, xacro_args=given).link_masses() == {"rod": 3.0}
    assert load_urdf(arm, xacro_args={"length": "2"}).link_masses() == {"rod": 4.0}
    assert load_urdf(arm).link_masses() == {"rod": 1.0}
    assert given == {"length": 1.5}


def test_what_is_expanded_is_checked_like_any_other_file(arm: Path):
    with pytest.raises(UrdfError, match=r"1 problem.*\n- link 'rod': mass is -2 kg") as error:
        load_urdf(arm, xacro_args={"length": "-1"})
    assert str(arm) in str(error.value)


def test_text_is_never_expanded():
    text = f"{HEAD}<link name='base'/><xacro:property name='x' value='${{1}}'/></robot>"
    with pytest.raises(UrdfError, match="the xacro element 'xacro:property'; expand it"):
        load_urdf(text)
    assert load_urdf(f"{HEAD}<link name='${{1+1}}'/></robot>").root == "${1+1}"  # a name like any other


def test_arguments_for_what_is_not_xacro_are_refused(arm: Path):
    text = expand_xacro(arm)
    plain = arm.parent / "arm.urdf"
    plain.write_text(text)
    with pytest.raises(UrdfError, match=r"xacro_args need a xacro file, but the source is .*arm\.urdf'"):
        load_urdf(plain, xacro_args={"length": "1"})
    with pytest.raises(UrdfError, match="xacro_args need a xacro file, but the source is XML"):
        load_urdf(text, xacro_args={"length": "1"})


BROKEN = {
    "file": ("<xacro:include filename='none.xacro'/>", "No such file or directory"),
    "itself": ("<xacro:include filename='arm.urdf.xacro'/>", "maximum recursion depth"),
    "macro without end": ("<xacro:macro name='m'><xacro:m/></xacro:macro><xacro:m/>", "maximum recursion depth"),
    "argument": ("$(arg length)", "Undefined substitution argument"),
    "fatal": ("${xacro.fatal('no gripper')}", "no gripper"),
    "cut short": ("<link", "not well-formed"),
    "builtins": ("${().__class__}", "Use of invalid name"),
    "package": (
        "<xacro:include filename='$(find no_such_package)/a.xacro'/>",
        "package 'no_such_package' was not found: name its folder",
    ),
}


@pytest.mark.parametrize(("body", "message"), BROKEN.values(), ids=BROKEN)
def test_each_failure_is_one_sentence(body: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(UrdfError, match=r"arm\.urdf\.xacro' cannot be expanded.*" + message) as error:
        load_urdf(written(tmp_path, f"{body}</robot>"))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 900
    assert "<class" not in str(error.value)
    assert str(error.value).count("was not found") <= 1
    assert capfd.readouterr() == ("", "")


def test_a_failure_in_an_included_file_names_that_file(tmp_path: Path):
    (tmp_path / "part.xacro").write_text(f"{HEAD}<link name='${{x}}'/></robot>")
    with pytest.raises(UrdfError, match=r"arm\.urdf\.xacro' cannot be expanded, in '.*part\.xacro': name 'x'"):
        load_urdf(written(tmp_path, "<xacro:include filename='part.xacro'/></robot>"))


def test_warnings_go_to_the_log_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    path = written(tmp_path, "<link name='base'/>${xacro.warning('old style')}</robot>")
    with caplog.at_level(logging.WARNING, "arm_control.xacro"):
        assert load_urdf(path).root == "base"
    (record,) = caplog.records
    assert "warning: old style" in record.getMessage()
    assert record.getMessage().isprintable()
    assert capfd.readouterr() == ("", "")


def test_without_the_package_the_extra_is_named(arm: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(
        MissingExtra, match=r"'xacro' is not installed: .*python.* -m pip install 'arm_control\[xacro\]'"
    ):
        load_urdf(arm)
    (arm.parent / "arm.urdf").write_text("<robot name='a'><link name='base'/></robot>")
    assert load_urdf(arm.parent / "arm.urdf").root == "base"


# -- packages ---------------------------------------------------------------------------------------


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with an arm whose rod is in another package; that one's folder has another name."""
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    (tmp_path / "ws" / "rods-main" / "macros").mkdir(parents=True)
    (tmp_path / "ws" / "rods-main" / "package.xml").write_text("<package><name>rods</name></package>")
    (tmp_path / "ws" / "rods-main" / "macros" / "rod.xacro").write_text(f"{HEAD}{ROD}</robot>")
    (tmp_path / "my_arm" / "urdf").mkdir(parents=True)
    body = BODY.replace("parts/rod.xacro", "$(find rods)/macros/rod.xacro")
    shape = '<visual><geometry><mesh filename="file://$(find my_arm)/a.stl"/></geometry></visual>'
    body = body.replace('<link name="base"/>', f'<link name="base">{shape}</link>')
    return written(tmp_path / "my_arm" / "urdf", body)


def test_a_package_is_found_by_its_folder_and_by_the_environment(packages: Path, monkeypatch: pytest.MonkeyPatch):
    workspace = packages.parents[2] / "ws"
    with pytest.raises(UrdfError, match="package 'rods' was not found: name its folder"):
        load_urdf(packages)
    for folder in (workspace, workspace / "rods-main", str(workspace)):
        assert load_urdf(packages, package_path=[folder]).link_masses() == {"rod": 1.0}
    assert describe(packages, package_path=[workspace], xacro_args={"length": "1"}).tree.n == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(workspace))
    assert load_urdf(packages).link_masses() == {"rod": 1.0}


@pytest.mark.parametrize("start", ["file://", "file:///"])
def test_a_file_in_a_found_package_is_named_by_it(packages: Path, start: str):
    packages.write_text(packages.read_text().replace("file://", start))
    robot = load_urdf(packages, package_path=[packages.parents[2] / "ws"])
    assert robot.warnings == ()
    assert 'filename="package://my_arm/a.stl"' in robot.text


@pytest.mark.parametrize("package", ["", "..", "a/b", "x" * 5000])
def test_what_is_no_name_of_a_package_is_not_found(package: str, packages: Path):
    assert find_package(package, packages, [packages.parents[1]]) is None


def test_the_name_of_a_robot_carries_the_arguments_of_its_file(arm: Path):
    assert "4.0" in read_description(f"{arm} length:=2.0  width:=1").split('mass value="')[1][:4]
    with pytest.raises(UrdfError, match=r"xacro_args need a xacro file"):
        read_description("ur5 length:=2")
