"""What ``arm_control export`` says to somebody who asks for what it cannot export, and texts that enter C."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from exported_library import run

from arm_control.app import main
from arm_control.core import share_path, urdf_path
from arm_control.export import EXAMPLE_ARM
from arm_control.export.c_folder import MARK, SOURCES
from arm_control.export.c_pieces import comment, identifier, text_of

EXPORT = ("planar1", "--cpu", "x86-64-v2")
BINARIES = "planar1_osc_x86-64-v2.o", EXAMPLE_ARM
REFUSED = {
    ("ur5", "--controller", "joint"): "controller 'joint' cannot be exported, only osc",
    ("--scenario", "ur5_joint"): "ur5_joint: joint cannot be exported, only osc",
    ("--scenario", "ur5_attractor"): "ur5_attractor: attractor cannot be exported, only osc",
    ("--scenario", "ur5_obstacle"): "ur5_obstacle: avoid_obstacles cannot be exported: leave that out",
    ("--scenario", "ur5_press"): "ur5_press: force_axes, disturbance_observer cannot be exported: leave that out",
    ("--scenario", "ur5_osc", "--variant", "real"): (
        "ur5_osc: disturbance_observer, inertia_floor cannot be exported: leave that out"
    ),
    ("--scenario", "ur5_osc", "ur5"): "name a robot or, with --scenario, a scenario, which names its robot",
    ("ur5", "--variant", "real"): "'real' is a variant of no scenario: name it with --scenario",
    ("ur5", "--name", "left-arm"): "'left-arm' is no name in C; 'left_arm' would be one",
    ("ur5", "--name", "check"): "'check' is the name of another file that is exported: choose another one",
    (): "name a robot or, with --scenario, a scenario, which names its robot",
}


@pytest.mark.parametrize(("words", "sentence"), REFUSED.items(), ids=lambda x: " ".join(x) if type(x) is tuple else "")
def test_what_cannot_be_exported_is_refused_in_a_sentence(
    words: tuple[str, ...], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["export", *words, "--out", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err == f"arm_control: {sentence}\n"
    assert not (tmp_path / "new").exists()


def test_an_arm_without_machine_code_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys):
    monkeypatch.setattr("arm_control.model.RobotModel.backend", "python")
    assert main(["export", "planar1", "--out", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err.startswith("arm_control: planar1: machine code is not made here (")


def test_a_joint_that_mimics_another_one_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    follower = '<joint name="joint2" type="continuous">'
    text, mimic = Path(urdf_path("planar3")).read_text(), tmp_path / "mimic.urdf"
    mimic.write_text(text.replace(follower, f'{follower}<mimic joint="joint1"/>'))
    assert main(["export", str(mimic), "--out", str(tmp_path / "new")]) == 2
    sentence = "mimic joints cannot be exported: joint2: no driver knows that they follow"
    assert sentence in capsys.readouterr().err
    assert main(["check", "--robot", str(mimic)]) == 0
    assert "cannot be exported to C" in " ".join(capsys.readouterr().out.split())


def test_a_parameter_file_has_the_gains(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    gains = tmp_path / "gains.yaml"
    gains.write_text(
        "osc: {ros__parameters: {kp_linear: 77.0, rate_limit: 432.0, posture: [0.25]}}\n"
        "/**/gate: {ros__parameters: {driver_adds_gravity: true}}"
    )
    words = ["export", "planar1", "--out", str(tmp_path), "--params-file", str(gains)]
    assert main([*words, "--cpu", "x86-64-v2"]) == 0
    assert "planar1_osc_x86-64-v2.o" in capsys.readouterr().out
    source = (tmp_path / "planar1_osc.c").read_text()
    for line in (".kp_linear = 77.0,", ".rate_limit = 432.0,", ".posture = {0.25},", ".driver_adds_gravity = 1,"):
        assert line in source
    content = yaml.safe_load((tmp_path / "ros2_control" / "controllers.yaml").read_text())
    assert content["planar1_osc"]["ros__parameters"] == {"type": "planar1_osc/Controller"}
    assert content["controller_manager"]["ros__parameters"] == {"update_rate": 1000}
    if shutil.which("cmake") is not None:
        done = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-D", "PLANAR1_OSC_CPU=x86-64")
        assert done.returncode != 0
        assert "which was not exported: one of x86-64-v2 is needed" in " ".join(done.stderr.split())
    (tmp_path / BINARIES[0]).write_bytes(b"")
    assert main([*words, "--cpu", "x86-64-v2"]) == 0, "files of an earlier export are replaced"
    assert (tmp_path / BINARIES[0]).stat().st_size


def test_names_from_a_urdf_stay_in_their_places():
    evil = 'a*/"b\\\n'
    assert text_of(evil) == '"a\\052\\057\\042b\\134\\012"'
    assert comment(evil) == "a___b__"
    assert identifier("7-arm") == "arm_7_arm"


def test_every_text_has_the_mark_of_an_export():
    for template in SOURCES:
        assert MARK in share_path("export", f"{template}.in").read_text(), template


@pytest.mark.parametrize("name", ["package.xml", "ros2_control/plugin.xml", *BINARIES])
def test_a_file_that_no_export_has_written_is_not_replaced(name: str, tmp_path: Path, capsys):
    folder, own = tmp_path / "mine", tmp_path / "mine" / name
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine, \xff")
    assert main(["export", *EXPORT, "--out", str(folder)]) == 2
    sentence = f"{folder} has files that no export has written, {name}: name another folder with --out"
    assert capsys.readouterr().err == f"arm_control: {sentence}\n"
    assert [path for path in folder.rglob("*") if path.is_file()] == [own]
    assert own.read_bytes() == b"mine, \xff"
