"""What is imported before a command does anything: nothing that takes long, and no clock is needed to see it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arm_control
from arm_control.app import cli

HEAVY = ("numpy", "yaml", "urdf_parser_py", "llvmlite", "pinocchio", "coal", "mujoco", "matplotlib", "rclpy", "sympy")
PROGRAM = """\
import contextlib, io, json, sys
from arm_control.app import cli
for command_lines in json.loads(sys.argv[1]):
    for words in command_lines:
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            cli.main(words)
    print(json.dumps([name for name in sys.modules if "." not in name]))
"""


@pytest.mark.processes
def test_help_needs_no_engine_and_the_list_of_commands_no_library():
    """The help of `excite` and `run` shows parameters and scenarios, which numpy and YAML come with."""
    groups = [[["--help"], ["--version"], ["watch", "--help"]], [[name, "--help"] for name in cli.COMMANDS]]
    command = [sys.executable, "-c", PROGRAM, json.dumps(groups)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    of_list, of_help = ({*json.loads(line)} & {*HEAVY} for line in done.stdout.splitlines())
    assert of_list == set()
    assert of_help <= {"numpy", "yaml", "urdf_parser_py"}


def test_every_command_has_a_line_and_a_module_and_no_module_is_left_out():
    folder = Path(cli.__file__).parent / "commands"
    assert {f"{name}_command.py" for name in cli.COMMANDS} == {path.name for path in folder.glob("*_command.py")}


def test_an_unknown_command_is_refused_with_the_list(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["simulat"]) == 2
    error = capsys.readouterr().err
    assert all(f"'{name}'" in error or f" {name}" in error for name in cli.COMMANDS)
    assert error.endswith("did you mean 'simulate'?\n")


def test_the_list_of_commands_has_groups_with_an_example_each(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    for title, commands in cli.GROUPS.items():
        first = lines.index(f"{title}:") + 1
        assert [line.split()[0] for line in lines[first : first + len(commands)]] == [*commands]
        example = cli.GROUP_EXAMPLES[title].split()
        assert lines[first + len(commands)] == f"  for example: arm_control {' '.join(example)}"
        assert cli.parser_for(example).parse_args(example).command


WITHOUT_ROS = """\
import sys
sys.modules["rclpy"] = None
import arm_control
print("numpy" in sys.modules)
from arm_control.app.cli import main
bag, urdf = sys.argv[1:]
print(main(["pose"]), main(["replay", bag, "--offline"]))
from pathlib import Path
from arm_control import RobotModel
from arm_control.viewer import ArmPage
view = ArmPage(RobotModel.from_urdf(urdf, kinematics_only=True), Path(urdf))
view.page.commands.put("joint", view._model.joint_names[0], 0.5)
view.page.commands.put("joint", view._model.joint_names[1], float("nan"))
view.update()
print(view.page.address, view.q.tolist())
view.page.close()
"""


@pytest.mark.processes
def test_without_ros_a_command_says_how_to_install_it_and_bags_and_the_page_do_without(tmp_path: Path):
    """Also for an arm without masses; and no library is imported before it is needed."""
    urdf, bag = tmp_path / "arm.urdf", Path(__file__).parents[1] / "golden" / "planar2_reach"
    text = arm_control.urdf_path("planar2").read_text()
    urdf.write_text(re.sub(r"<inertial>.*?</inertial>", "", text, flags=re.DOTALL))
    command = [sys.executable, "-c", WITHOUT_ROS, str(bag), str(urdf)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *_, statuses, page = (line for line in done.stdout.splitlines() if not line.startswith("  "))
    assert (first, statuses) == ("False", "2 0")
    assert page.startswith("http://127.0.0.1:")
    assert page.endswith(" [0.5, 0.0]")
    assert done.stderr.startswith("arm_control: ROS is not installed here, and this command needs it: source a ROS 2")
    assert "-m pip install 'arm_control[ros]'" in done.stderr


def test_public_names_are_those_of_the_package():
    assert {*arm_control.__all__} <= {*dir(arm_control)}
    assert arm_control.Pose is arm_control.Pose
    with pytest.raises(AttributeError, match="module 'arm_control' has no attribute 'Robot'"):
        _ = arm_control.Robot
