"""What is imported before a command does anything: nothing that takes long, and no clock is needed to see it."""

from __future__ import annotations

import json
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
    with pytest.raises(SystemExit):
        cli.main(["walk"])
    error = capsys.readouterr().err
    assert all(f"'{name}'" in error or f" {name}" in error for name in cli.COMMANDS)


@pytest.mark.processes
def test_public_names_are_imported_when_they_are_asked_for():
    program = "import sys, arm_control; print('numpy' in sys.modules); arm_control.Pose; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert {*arm_control.__all__} <= {*dir(arm_control)}
    assert arm_control.Pose is arm_control.Pose
    with pytest.raises(AttributeError, match="module 'arm_control' has no attribute 'Robot'"):
        _ = arm_control.Robot
