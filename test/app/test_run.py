"""When a run is over, what it refuses late, what it shows and says at the end; whole runs are in ``test/nodes``."""

from __future__ import annotations

import io
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.serialization import serialize_message

import arm_control.app.run
from arm_control import RobotModel, urdf_path
from arm_control.app import RunOptions
from arm_control.app.processes import recorder_arguments
from arm_control.app.run import (
    ARRIVAL_TIME,
    Console,
    RunEnd,
    is_enter_pressed,
    live_table,
    print_summary,
    unless_skipped,
)
from arm_control.bags import ReplayOptions, scenario_of
from arm_control.exceptions import ArmControlError, NodeDied
from arm_control.messages import JointStateLog
from arm_control.motion import Target
from arm_control.nodes import FIGURES, MonitorNode, ros, wrench_series
from arm_control.nodes.tools.command_line_node import _is_complete
from arm_control.simulation import Recording, Scenario

SECOND = 1_000_000_000
HOME = [0.0, -1.4, 1.9, -2.07, -1.5708, 0.0]


def paper() -> Console:
    return Console(file=io.StringIO(), width=100)


def written(console: Console) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_last_commands_are_waited_for():
    """A command that was lost on the way is sent again, later than its state and with those behind it."""
    end = RunEnd(4.0)
    assert not end.is_reached(4 * SECOND, 4 * SECOND - 1, now=10.0)
    assert not end.is_reached(5 * SECOND, 4 * SECOND - 1, now=10.0 + 0.99 * ARRIVAL_TIME)
    assert end.is_reached(5 * SECOND, 4 * SECOND, now=10.0 + 0.99 * ARRIVAL_TIME)


def test_each_enter_on_a_terminal_counts_once(monkeypatch: pytest.MonkeyPatch):
    keyboard, terminal = os.openpty()
    with open(terminal) as monkeypatched:
        monkeypatch.setattr(arm_control.app.run.sys, "stdin", monkeypatched)
        assert not is_enter_pressed()
        os.write(keyboard, b"\n\nwords\n\x04")  # the last one is Ctrl-D, which ends a file
        assert [is_enter_pressed() for _ in range(5)] == [True, True, True, False, False]
    os.close(keyboard)
    monkeypatch.setattr(arm_control.app.run.sys, "stdin", io.StringIO("\n"))
    assert not is_enter_pressed(), "no terminal"


# -- another run --------------------------------------------------------------------------------------


def monitor_beside(*names: str, **more: Any) -> Any:
    publishers = [SimpleNamespace(node_name=name) for name in names]
    return SimpleNamespace(_simulator="simulator", get_publishers_info_by_topic=lambda _: publishers, **more)


@pytest.mark.parametrize("simulator", ["simulator", ""])
def test_a_run_with_a_robot_begins_with_its_first_state(simulator: str):
    first = 1_700_000_000 * SECOND
    states = [ros.joint_state(["a"], first + n * SECOND, position=[0.0]) for n in (0, 3)]
    raw = [bytes(serialize_message(state)) for state in states]
    monitor: Any = SimpleNamespace(
        _simulator=simulator, state_log=JointStateLog(9, "position"), command_log=JointStateLog(9)
    )
    monitor.state_log.extend(raw)
    monitor.command_log.extend(raw[:1])
    for name in ("stamp_ns", "command_ns", "begin_ns", "newest_ns"):
        setattr(monitor, name, getattr(MonitorNode, name).fget(monitor))
    begin = first if simulator else 0
    assert monitor.newest_ns == (begin + 3 * SECOND, begin)


@pytest.mark.parametrize(
    ("names", "company"),
    [(["simulator"], False), (["viewer", "simulator"], False), (["simulator", "simulator"], True), ([], False)],
)
def test_a_second_simulator_is_company(names: list[str], company: bool):
    monitor = monitor_beside(*names, started=False, stamp_ns=-1)
    assert MonitorNode.has_company.fget(monitor) is company  # type: ignore[attr-defined]


@pytest.mark.parametrize("started", [False, True])
def test_a_state_before_the_own_simulator_is_started_is_company(started: bool):
    monitor = monitor_beside("simulator", started=started, stamp_ns=0)
    assert MonitorNode.has_company.fget(monitor) is not started  # type: ignore[attr-defined]


def test_another_run_that_is_found_late_is_refused_and_left_alone():
    called: list[Any] = []
    monitor = SimpleNamespace(
        started=False,
        has_company=True,
        stamp_ns=-1,
        refusal="",
        newest_ns=(-1, -1),
        _pause=SimpleNamespace(call_async=called.append),
    )
    monitor.pause = lambda: MonitorNode.pause(monitor)  # type: ignore[arg-type]
    quiet = SimpleNamespace(new_output=lambda: [], describe_ended=lambda: "")
    executor = SimpleNamespace(spin_once=lambda **_: None)
    options = RunOptions("ur5_osc", headless=True)
    given: Any = (Scenario.load("ur5_osc"), quiet, monitor, executor, options, paper())
    with pytest.raises(ArmControlError, match="joint_states is published already"):
        arm_control.app.run._watch(*given)
    monitor.pause()
    assert not called, "its simulator goes on"
    monitor.started = True
    monitor.pause()
    assert [request.data for request in called] == [True]


def test_a_run_whose_robot_a_node_refuses_ends():
    diagnostics = {"simulator": {"message": "running"}, "osc": {"message": "robot_description refused: posture has 2"}}
    monitor: Any = SimpleNamespace(started=True, has_company=False, stamp_ns=-1, diagnostics=diagnostics)
    monitor.refusal = MonitorNode.refusal.fget(monitor)  # type: ignore[attr-defined]
    quiet: Any = SimpleNamespace(new_output=lambda: [], describe_ended=lambda: "")
    with pytest.raises(NodeDied, match=r"^osc: robot_description refused: posture has 2$"):
        arm_control.app.run._raise_if_failed(Scenario.load("ur5_osc"), quiet, monitor, 1.0, paper())


def test_a_duration_counts_from_the_begin_of_a_run_whose_first_states_are_not_kept(ur5: RobotModel):
    first = 1_700_000_000 * SECOND
    kept = standing(ur5, 2100, Target(first, "base_link", ur5.pose(HOME)))
    stamps = kept.state_stamps + first + 600 * SECOND
    kept, options = replace(kept, state_stamps=stamps, command_stamps=stamps), RunOptions("ur5_osc", duration=602.0)
    scenario = Scenario.load("ur5_osc").with_options(simulator="none")
    for begin_ns, is_early in ((first, False), (first + SECOND, True)):
        console = paper()
        print_summary(scenario, ur5, kept, {}, options, console, None, begin_ns)
        assert ("ended early" in written(console)) == is_early


def test_a_second_ctrl_c_skips_the_report(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("arm_control.app.run.signal.signal", lambda *_: None)

    def interrupted() -> int:
        raise KeyboardInterrupt

    for signals, report, status in (([2], lambda: 1, 1), ([2], interrupted, 130), ([2, 2], lambda: 1, 130)):
        console = paper()
        assert unless_skipped(signals, report, console) == status
        assert ("no report" in written(console)) == (status == 130)


# -- what it shows and says ---------------------------------------------------------------------------


def test_the_table_has_the_address_in_one_piece_and_says_what_helps_a_braked_arm():
    address, console = f"viewer: http://127.0.0.1:8150/?token={'x' * 43}", paper()
    health = {"ilqr": {"rate [Hz]": "999"}, "simulator": {"message": "no command for 20 states", "braked": "True"}}
    figures = dict.fromkeys(FIGURES, math.nan)
    console.print(live_table("a run", 0, 1, figures, health, ("ilqr", "simulator"), address))
    assert address in written(console).splitlines()
    assert "999" in written(console)
    assert "no command for 20 states: braked, `arm_control enable`" in written(console)


def standing(ur5: RobotModel, n: int, *targets: Target) -> Recording:
    """A record of n ms in which the arm stands still and is held."""
    stamps, q = np.arange(n) * (SECOND // 1000), np.tile(HOME, (n, 1))
    return Recording(stamps, q, 0.0 * q, stamps, np.tile(ur5.gravity(HOME), (n, 1)), targets)


def said(ur5: RobotModel, n: int, diagnostics: dict[str, Any] | None = None, **options: Any) -> tuple[int, str]:
    """Exit status and words at the end of n ms in which the arm stands still and is held."""
    record, console = standing(ur5, n, Target(0, "base_link", ur5.pose(HOME))), paper()
    status = print_summary(
        Scenario.load("ur5_osc"), ur5, record, diagnostics or {}, RunOptions("ur5_osc", **options), console
    )
    return status, written(console)


def test_a_run_that_was_too_short_says_so_and_not_infinity(ur5: RobotModel):
    status, text = said(ur5, 11, duration=0.01)
    assert (status, "too short to judge: no target had its 2 s" in text) == (1, True)
    assert not [word for word in ("inf", "over", "ended early", "braked") if word in text]


def test_a_run_that_was_ended_early_is_no_success(ur5: RobotModel):
    for n in (0, 2100):
        status, text = said(ur5, n, duration=60.0, headless=True)
        assert (status, "ended early: 60 s were requested" in text) == (1, True)
    status, text = said(ur5, 2100)
    assert (status, "ended early" in text, "every target was reached" in text) == (0, False, True)


@pytest.mark.parametrize(
    ("options", "mode"),
    [({}, "real time"), ({"headless": True}, "lock step\n"), ({"paced": True}, "lock step at the pace of the clock")],
)
def test_the_mode_and_what_braked_are_said(ur5: RobotModel, options: dict[str, bool], mode: str):
    nodes = {
        "osc": {"message": "passing commands", "braked": "False"},
        "simulator": {"message": "lost", "braked": "True"},
    }
    status, text = said(ur5, 2100, nodes, **options)
    assert f"2.099 s of simulated time, {mode}" in text
    assert "MISS  braked at the end (simulator: lost)\n" in text
    assert (status, "no success: what is missed is marked MISS" in text) == (1, True)
    assert "every target was reached" not in text
    assert said(ur5, 1, nodes, **options)[0] == 1, "without figures, too"
    assert said(ur5, 11, nodes, **options)[0] == 1, "without a target that had its time, too"
    assert said(ur5, 2100, {"osc": nodes["osc"]}, **options)[0] == 0


def test_a_plant_that_has_started_over_is_no_success(ur5: RobotModel):
    """All targets were reached since; not asked of a person at the controls."""
    stamps, console = np.concatenate([np.arange(500), np.arange(2100)]) * (SECOND // 1000), paper()
    q, tau = np.tile(HOME, (2600, 1)), np.tile(ur5.gravity(HOME), (2600, 1))
    record = Recording(stamps, q, 0.0 * q, stamps, tau, (Target(0, "base_link", ur5.pose(HOME)),))
    given: Any = (Scenario.load("ur5_osc"), ur5, record, {}, RunOptions("ur5_osc"), console)
    assert print_summary(*given) == 1
    assert "MISS  times the plant has started over" in written(console)
    assert "\nno success: what is missed is marked MISS" in written(console)
    assert print_summary(*given, hand_ns=2 * SECOND) == 0


def test_a_brake_of_the_simulator_is_noted_before_the_next_diagnostics():
    monitor: Any = SimpleNamespace(_motors="simulator", diagnostics={"simulator": {"message": "running", "n": "3"}})
    noted, lost = [], (b"\x02", "braking: lost")
    for level, text in ((b"\x00", "passing"), lost, lost, (b"\x01", "holding")):
        MonitorNode._on_gate(monitor, SimpleNamespace(level=level, message=text))  # type: ignore[arg-type]
        noted.append(dict(monitor.diagnostics["simulator"]))
    braked = {"message": "braking: lost", "n": "3", "braked": "True"}
    assert noted == [
        {"message": "running", "n": "3"}, braked, braked, {"message": "holding", "n": "3", "braked": "False"}
    ]  # fmt: skip


# -- a person at the page -------------------------------------------------------------------------------


def pose_message(x: float, seconds: int = 0) -> PoseStamped:
    message = PoseStamped()
    message.pose.position.x, message.pose.orientation.w, message.header.stamp.sec = x, 1.0, seconds
    return message


@pytest.mark.parametrize("late", [-1e-9, 0.2])
def test_targets_by_hand_end_those_of_the_list_and_a_drag_is_one_target(ur5: RobotModel, late: float):
    """The list's first target is for now, too: heard late, on a busy machine, it is not one by hand."""
    values: dict[str, Any] = {"_target_messages": {}, "_known_targets": [], "hand_ns": None, "left_out": {}}
    monitor = SimpleNamespace(**values, stamp_ns=-1, _first_target=pose_message(0.0))

    def hear(message: PoseStamped, now: float) -> None:
        monitor.stamp_ns = round(now * SECOND)
        for _ in range(2):  # by both subscriptions
            MonitorNode._on_target(monitor, message)  # type: ignore[arg-type]

    for k in range(4):
        hear(pose_message(0.1 * k, seconds=2 * k), late)
    assert monitor.hand_ns is None
    for k in range(5):
        hear(pose_message(0.5 + 0.01 * k), 3.0 + 0.1 * k)
    hear(pose_message(0.7), 9.0)
    assert monitor.hand_ns == 3 * SECOND
    targets = MonitorNode._targets(monitor, ur5)  # type: ignore[arg-type]
    assert [(t.stamp_ns / SECOND, t.X_FT.p[0]) for t in targets] == [(0, 0), (2, 0.1), (3.4, 0.54), (9, 0.7)]


def test_a_run_that_somebody_played_with_is_no_error(ur5: RobotModel):
    """A target far away from where the arm stands: missed by a list, and by hand no error."""
    targets = (Target(k * 2 * SECOND, "base_link", ur5.pose(np.array(HOME) + 0.3 * k)) for k in (0, 1))
    record, scenario, console = standing(ur5, 4300, *targets), Scenario.load("ur5_osc"), paper()

    def status(hand_ns: int | None = None, **options: Any) -> int:
        return print_summary(scenario, ur5, record, {}, RunOptions("ur5_osc", **options), console, hand_ns)

    assert status() == 1
    assert status(hand_ns=2 * SECOND + 1) == 0
    assert "targets were set by hand from 2.0 s after the start on: figures until then" in written(console)
    assert "times of the pictures" not in written(console)
    print_summary(scenario, ur5, record, {}, RunOptions("ur5_osc"), console, 2 * SECOND, -3 * SECOND)
    assert "times of the pictures count from its first state, 3.000 s after the start\n" in written(console)
    assert "targets were set by hand from 5.0 s after the start on" in written(console)
    assert status(viewer=True, control=True) == 0
    assert status(viewer=True, control=True, duration=4.0) == 1


def test_obstacles_of_the_page_are_avoided_unless_the_scenario_has_its_own(tmp_path: Path):
    page = {"viewer": True, "control": True}
    assert RunOptions("ur5_osc", **page).load().nodes["osc"]["avoid_obstacles"] is True
    assert RunOptions("ur5_attractor", **page).load().nodes["attractor"]["avoid_obstacles"] is True
    bare = re.sub(r"<collision.*?</collision>", "", urdf_path("ur5").read_text(), flags=re.DOTALL)
    (tmp_path / "bare.urdf").write_text(bare)  # without shapes nothing can be avoided
    options = RunOptions("ur5_osc", robot=str(tmp_path / "bare.urdf"), targets=False, **page)
    assert "avoid_obstacles" not in options.load().nodes["osc"]
    assert "avoid_obstacles" not in RunOptions("ur5_osc").load().nodes["osc"]
    assert "avoid_obstacles" not in RunOptions("ur5_obstacle", variant="without", **page).load().nodes["osc"]


def test_a_bag_of_an_arm_by_itself_names_the_controller_for_a_replay():
    options = RunOptions("planar2_reach", bag="bag", arm={"tip": "hand"}, title="arm.urdf", is_own_arm=True)
    scenario = replace(options, bag="").load()
    words = recorder_arguments(scenario, options)
    custom = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--custom")
    replayed = scenario_of(SimpleNamespace(custom=custom, path="bag"), ReplayOptions())  # type: ignore[arg-type]
    assert replayed is not None
    assert (replayed.robot, replayed.nodes) == ("", {"osc": scenario.nodes["osc"] | {"tip": "hand"}})
    named = replace(options, is_own_arm=False)
    assert "scenario=planar2_reach" in recorder_arguments(scenario, named)


def test_nodes_that_are_known_by_their_names_only_are_waited_for():
    """Their services, the one that is searched among them, come later."""
    services = ["/left/osc/enable", "/left/osc2/enable", "/simulator/enable"]
    assert _is_complete(["/left/osc", "/simulator"], services)
    assert not _is_complete(["/left/osc", "/osc"], services)
    assert not _is_complete(["/left/os"], services)


def test_a_run_without_targets_of_its_own_has_figures_too(ur5: RobotModel):
    options, record, console = RunOptions("ur5_osc", targets=False), standing(ur5, 2100), paper()
    assert print_summary(options.load(), ur5, record, {}, options, console) == 0
    assert "torque, share of the joint's limit" in written(console)
    assert "no target had its 2 s" in written(console)
    home, away = (Target(0, "base_link", ur5.pose(np.array(HOME) + angle)) for angle in (0.0, 0.3))
    later = replace(home, stamp_ns=2 * SECOND + SECOND // 20)
    for targets, verdict in (
        ((home,), "\nevery target was reached"),
        ((away, later), "\nnot every target was reached"),
    ):
        assert print_summary(options.load(), ur5, replace(record, targets=targets), {}, options, console) == 0
        assert verdict in written(console)


@pytest.mark.parametrize(("variant", "status"), [("with", 0), ("without", 1)])
def test_targets_that_the_checks_of_a_scenario_leave_out_may_be_missed(ur5: RobotModel, variant: str, status: int):
    options, record, console = RunOptions("ur5_cell", variant=variant, duration=2.5), standing(ur5, 2600), paper()
    record = replace(record, targets=(Target(0, "base_link", ur5.pose(np.array(HOME) + 0.3)),))
    assert print_summary(options.load(), ur5, record, {}, options, console) == status
    assert ("reached: the scenario has targets to be missed" in written(console)) is (variant == "with")


def test_wrenches_of_a_run_are_those_that_are_numbers():
    messages = [ros.wrench_stamped([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "base_link", 7_000_000)]
    messages.append(ros.wrench_stamped([np.nan, *[0.0] * 5], "base_link", 8_000_000))
    series = wrench_series(messages)
    assert series.stamps.tolist() == [7_000_000]
    assert series.values.tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]
