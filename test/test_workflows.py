"""The workflows of continuous integration: valid YAML, and commands that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from arm_control.app import main

ROOT = Path(__file__).parents[1]
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}


def load(name: str) -> dict[Any, Any]:
    return yaml.safe_load(WORKFLOWS[name].read_text())


def commands(name: str) -> list[str]:
    """Command lines of a workflow, those of its matrix too."""
    (job,) = load(name)["jobs"].values()
    own = [step["run"] for step in job["steps"] if "run" in step]
    of_matrix = job.get("strategy", {"matrix": {}})["matrix"].get("command", [])
    return [*of_matrix, *(line for line in own if not line.startswith("${{"))]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_command_exists(name: str, capsys: pytest.CaptureFixture[str]):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in commands(name):
        program, *words = command.split()
        if program == "make":
            assert words[0] in targets
        elif program == ".venv/bin/arm_control":
            with pytest.raises(SystemExit) as end:
                main([*words, "--help"])
            assert end.value.code == 0
        else:
            assert program == ".venv/bin/python"
            assert (ROOT / words[0]).is_file()


def test_a_push_tests_and_a_week_runs_the_campaigns():
    """YAML 1.1 reads ``on`` as true."""
    assert {"push", "pull_request"} == {*load("test")[True]}
    assert commands("test") == ["make test PYTHON=python"]
    assert load("campaign")[True]["schedule"] == [{"cron": "0 2 * * 0"}]
    assert {"make campaign", ".venv/bin/arm_control faults"} < {*commands("campaign")}


def test_both_releases_of_ros_are_tested_and_one_is_pinned():
    """A constraint that names no requirement of the package would leave the newer release in place."""
    (job,) = load("test")["jobs"].values()
    assert {job["strategy"]["matrix"]["ros"][0], job["strategy"]["matrix"]["include"][0]["ros"]} == {"kilted", "jazzy"}
    pinned = re.findall(r"^ros-([a-z-]+)==", (ROOT / ".github" / "jazzy.txt").read_text(), re.MULTILINE)
    assert sorted(pinned) == sorted(re.findall(r'^    "([a-z-]+)",$', (ROOT / "setup.py").read_text(), re.MULTILINE))
    assert "'.github/jazzy.txt'" in job["steps"][-1]["env"]["PIP_CONSTRAINT"]


def test_the_package_is_built_as_it_is_released():
    for name in ("package", "release"):
        assert commands(name) == ["make package PYTHON=python"]
    (release,) = load("release")["jobs"].values()
    assert release["steps"][-1]["with"] == {"packages-dir": "out/dist"}
    recipe = re.search(r"^package:\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    for line in re.findall(r"bin/arm[-_]control ([^&\n]*)", recipe[1]):
        with pytest.raises(SystemExit) as end:
            main([*line.split(), "--help"])
        assert end.value.code == 0
    assert recipe[1].endswith("\tout/empty/bin/python .github/readme_lines.py\n")


def test_the_lines_of_the_readme_are_run_with_the_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / ".github")
    readme_lines = importlib.import_module("readme_lines")
    assert [line[1] for line in readme_lines.lines()] == ["target", "run", "--help"]
    for line in readme_lines.lines():
        with pytest.raises(SystemExit) as end:
            main([*line[1:], "--help"])
        assert end.value.code == 0


def test_the_sdist_has_every_folder_that_setup_py_installs():
    grafted = set(re.findall(r"^graft (\w+)$", (ROOT / "MANIFEST.in").read_text(), re.MULTILINE))
    (installed,) = re.findall(r"\*share\(([^)]*)\)", (ROOT / "setup.py").read_text())
    assert {*installed.replace('"', "").split(", ")} | {"arm_control", "scripts", "resource"} <= grafted


def test_the_first_python_is_the_least_that_the_package_supports():
    (job,) = load("test")["jobs"].values()
    versions = job["strategy"]["matrix"]["python"]
    assert f'python_requires=">={versions[0]}"' in (ROOT / "setup.py").read_text()
    assert versions == [f"3.{minor}" for minor in range(10, 15)]
