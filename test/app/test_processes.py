"""Processes of modules: what they print comes line by line, they end when they should, and it is said how."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from arm_control.app import processes
from arm_control.app.processes import describe_exit, interrupt, wait_or_kill
from arm_control.app.run_options import RunOptions
from arm_control.simulation import Scenario


def test_a_line_waits_for_its_end(monkeypatch: pytest.MonkeyPatch):
    files: list[Path] = []

    def start(_: str, __: list[str], output: Path) -> Any:
        files.append(output)
        output.touch()
        return SimpleNamespace(poll=lambda: 0, wait=lambda _: 0)

    monkeypatch.setattr(processes, "start_module", start)
    with processes.ScenarioProcesses(Scenario.load("ur5_osc")) as running, files[0].open("a") as file:
        for text, lines in (("one\ntw", ["one"]), ("o", []), ("\n\nthree\n", ["two", "", "three"]), ("", [])):
            file.write(text)
            file.flush()
            assert running.new_output() == lines


def test_a_run_with_a_gate_has_it_between_controller_and_motors(monkeypatch: pytest.MonkeyPatch):
    written: list[dict[str, Any]] = []
    commands: list[list[str]] = []

    def start(module: str, arguments: list[str], output: Path) -> Any:
        written.append(yaml.safe_load(Path(arguments[arguments.index("--params-file") + 1]).read_text()))
        commands.append(arguments)
        output.touch()
        return SimpleNamespace(poll=lambda: 0, wait=lambda _: 0)

    monkeypatch.setattr(processes, "start_module", start)
    scenario = Scenario.load("ur5_osc").with_options(gate=True)
    with processes.ScenarioProcesses(scenario):
        pass
    assert written[0]["/**/osc"]["ros__parameters"]["gates_behind"] == ["gate", "simulator"]
    assert "gates_behind" not in written[0]["/**/simulator"]["ros__parameters"]
    assert all("osc:joint_commands:=effort_in" in words for words in commands)
    assert {words[0] for words in commands} >= {"osc", "gate", "simulator"}
    commands.clear()
    with processes.ScenarioProcesses(scenario, single=True):
        pass
    assert [words[: words.index("--ros-args")] for words in commands] == [[*scenario.nodes]]
    commands.clear()
    with processes.ScenarioProcesses(RunOptions("ur5_osc", simulator="none", targets=False).load()):
        pass
    assert {words[0] for words in commands} == {"dynamics", "osc", "gate"}, "a robot has it by itself"


@pytest.mark.processes
def test_one_that_does_not_listen_is_killed_and_one_that_was_stopped_hears_it_too():
    deaf = (
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    interrupt(process)
    wait_or_kill(process, 0.1)
    process.stdout.close()
    assert describe_exit(process.poll()) == "killed by SIGKILL"
    process = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    interrupt(process)
    wait_or_kill(process, 120.0)
    process.stdout.close()
    assert process.returncode in (1, -signal.SIGINT), "by KeyboardInterrupt, not by SIGKILL"
