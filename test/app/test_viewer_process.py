"""The page beside a run: its address is passed on, its death is said once, and nothing of it stays behind."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import arm_control.app.processes
import arm_control.app.run
from arm_control.app import RunOptions
from arm_control.app.processes import ScenarioProcesses
from arm_control.app.run import run_scenario
from arm_control.simulation import Scenario

SCENARIO = Scenario.load("ur5_obstacle")


def news_of(page: ScenarioProcesses, last: str) -> list[str]:
    """Everything until a line that begins like this."""
    lines: list[str] = []
    end = time.monotonic() + 120.0
    while not any(line.startswith(last) for line in lines):
        assert time.monotonic() < end, lines
        lines += page.new_output()
    return lines


class Process:
    """What a run uses of the viewer's process: it ends by itself, or by a signal."""

    def __init__(self, code: int | None) -> None:
        self.code = code

    def poll(self) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        self.code = -number if self.code is None else self.code

    def wait(self, _: float) -> int:
        assert self.code is not None, "nobody ends it"
        return self.code


def instead(monkeypatch: pytest.MonkeyPatch, text: str, code: int | None) -> list[list[str]]:
    """Let a process print this in the viewer's place, and end with this status; returns the options it was given."""
    given: list[list[str]] = []

    def start(module: str, arguments: list[str], output: Path) -> Process:
        with output.open("a") as file:
            if arguments[0] != "viewer":
                return Process(None)
            file.write(text)
        given.append([module, *arguments, Path(arguments[4]).read_text()])
        return Process(code)

    monkeypatch.setattr(arm_control.app.processes, "start_module", start)
    return given


def test_what_a_viewer_prints_is_passed_on_and_its_end_is_said_once(monkeypatch: pytest.MonkeyPatch):
    given = instead(monkeypatch, "viewer: http://127.0.0.1:1/?token=x\n", 7)
    viewer = {"viewer": {"tip": "tool0", "control": True}, "visuals": {"tip": "tool0"}}
    with ScenarioProcesses(SCENARIO, namespace="left", viewer=viewer) as page:
        lines = news_of(page, "the viewer ended")
        assert page.new_output() == []
        assert page.address == "", "it has ended"
        assert page.describe_ended() == "", "the run goes on"
    assert lines == ["viewer: http://127.0.0.1:1/?token=x", "the viewer ended (exit status 7); the run goes on"]
    ((*command, _, option, name, text),) = given
    assert command == ["arm_control.nodes", "viewer", "visuals", "--ros-args", "--params-file"]
    assert (option, name) == ("-r", "__ns:=/left")
    told = yaml.safe_load(text)
    assert told["/**/viewer"]["ros__parameters"] == {"tip": "tool0", "control": True}
    assert told["/**/visuals"]["ros__parameters"] == {"tip": "tool0"}


def test_the_address_of_the_page_is_known_while_it_is_open(monkeypatch: pytest.MonkeyPatch):
    instead(monkeypatch, "viewer: http://127.0.0.1:1/?token=x\n", None)
    with ScenarioProcesses(SCENARIO, viewer={"viewer": {}, "visuals": {}}) as page:
        assert page.new_output() == [page.address] == ["viewer: http://127.0.0.1:1/?token=x"]
        assert page.new_output() == []
        assert page.address


def test_what_both_nodes_are_told_is_a_file_that_ros_reads(monkeypatch: pytest.MonkeyPatch):
    """ROS reads no YAML with an alias in it: a list for both nodes must be there twice."""
    given = instead(monkeypatch, "", 0)
    with ScenarioProcesses(SCENARIO, viewer=dict.fromkeys(("viewer", "visuals"), SCENARIO.arm())) as page:
        news_of(page, "the viewer ended")
    ((*_, text),) = given
    told = yaml.safe_load(text)
    armature = [told[f"/**/{node}"]["ros__parameters"]["armature"] for node in ("viewer", "visuals")]
    assert armature == [[0.5, 0.5, 0.5, 0.1, 0.1, 0.1]] * 2
    assert not [token for token in yaml.scan(text) if isinstance(token, yaml.AliasToken)]


@pytest.mark.parametrize(("wanted", "said"), [(True, ["no viewer: 'viser' is not installed"]), (False, [])])
def test_without_viser_there_is_a_sentence_and_no_viewer(
    wanted: bool, said: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(arm_control.app.processes, "find_spec", lambda _: None)
    instead(monkeypatch, "", None)
    with ScenarioProcesses(SCENARIO, viewer={"viewer": {}} if wanted else {}) as page:
        assert [line.partition(f": {sys.executable}")[0] for line in page.new_output()] == said
        assert page.new_output() == []


@pytest.mark.parametrize(
    ("options", "wanted"),
    [({"viewer": True}, True), ({"viewer": True, "headless": True}, False), ({}, False)],
)
@pytest.mark.parametrize("arm", [{}, {"tip": "wrist_3_link"}], ids=["scenario", "parameter file"])
def test_a_run_has_a_page_when_it_is_asked_for_and_can_be_seen(
    options: Any, wanted: bool, arm: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The page knows of the arm what the controller knows."""
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump({"/**": {"ros__parameters": arm}}))
    asked: list[Any] = []
    gone: list[bool] = []
    monitor = SimpleNamespace(destroy_node=lambda: gone.append(True))

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    class Nothing:
        def __init__(self, *arguments: Any) -> None:
            asked.append(arguments[-1])

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            gone.append(False)

    monkeypatch.setattr(arm_control.app.run, "_watch", interrupted)
    monkeypatch.setattr(arm_control.app.run, "ScenarioProcesses", Nothing)
    monkeypatch.setattr(arm_control.app.run, "_refuse_second_run", lambda *_: None)
    monkeypatch.setattr(arm_control.app.run.os, "nice", lambda _: None)
    monkeypatch.setattr(arm_control.app.run, "_monitor", lambda *_: _context(monitor))
    with pytest.raises(KeyboardInterrupt):
        run_scenario(RunOptions("ur5_osc", control=True, params_file=str(tmp_path / "arm.yaml"), **options))
    assert asked == [{"viewer": {**arm, "control": True}, "visuals": arm} if wanted else {}]
    assert gone == [True, False], "before the nodes end"


def _context(monitor: Any) -> Any:
    from contextlib import nullcontext

    return nullcontext((monitor, None))
