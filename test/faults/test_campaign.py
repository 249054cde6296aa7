"""Faults in simulated time: a telling part of them in the suite, all of them in the campaign."""

from __future__ import annotations

import dataclasses
import json
import os
import signal

import numpy as np
import pytest

from arm_control.app import cli
from arm_control.faults import schedules
from arm_control.faults.campaign import CONTROLLERS, campaign, run_fault, setup_of
from arm_control.faults.catalogue import BRAKES, Fault, all_faults
from arm_control.faults.chain import Chain
from arm_control.faults.fault_table import page
from arm_control.faults.interferences import lost
from arm_control.faults.schedules import Part, Schedule, draw, run_schedules, shortened, tried
from arm_control.gate import effort_gate

FAULTS = {fault.name: fault for fault in all_faults()}
TELLING = (
    *("states:19-lost", "states:21-lost", "states:stopped", "states:stamp-0", "states:backwards", "states:frozen"),
    *("states:velocity-20", "states:position-1e308-no-velocity", "states:second-publisher", "commands:stamp-repeated"),
    *("commands:effort-1e308", "commands:second-publisher", "commands:of-a-braked-controller", "controller:killed"),
    *("braked:stamp-0-in-motion", "braked:20-older-at-rest", "braked:other-masses-in-motion", "model:panda"),
)


def test_names_are_unique_and_every_fault_says_what_happens():
    assert len(FAULTS) == len(all_faults()) >= 60
    assert all(fault.what for fault in all_faults())


@pytest.mark.parametrize("arrangement", ["simulator", "hardware"])
@pytest.mark.parametrize("name", TELLING)
def test_the_gate_does_what_it_must(name: str, arrangement: str):
    row = run_fault(FAULTS[name], arrangement, "osc")
    assert row.passed, row


@pytest.mark.campaign
@pytest.mark.parametrize(("fault", "arrangement", "controller"), campaign(all_faults(), CONTROLLERS))
def test_every_fault_in_both_arrangements_with_every_controller(fault: Fault, arrangement: str, controller: str):
    row = run_fault(fault, arrangement, controller)
    assert row.passed, row


def test_a_gate_that_never_brakes_fails_in_the_campaign(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(effort_gate.EffortGate, "brake", lambda self, reason, carried=None: None)
    monkeypatch.setattr(effort_gate, "miss_command", lambda memory, max_missed: False)
    for name in ("states:stopped", "controller:killed"):
        assert not run_fault(FAULTS[name], "hardware", "osc").passed


@pytest.mark.parametrize("arrangement", ["simulator", "hardware"])
def test_without_a_fault_nothing_is_refused(arrangement: str):
    row = run_fault(Fault("none", "nothing", "goes on"), arrangement, "osc")
    assert row.passed, row
    assert not row.said
    assert row.speed > 0.9


def test_the_same_run_twice_is_the_same_to_the_last_bit():
    first, second = (Chain(setup_of(FAULTS["states:10-percent-lost"], "hardware", "osc")).run() for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.tau, second.tau)


def test_random_schedules_hold():
    assert not [str(outcome) for outcome in run_schedules(range(20), n_processes=1) if outcome.failure]


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(100))
def test_ten_thousand_random_schedules_hold(block: int):
    outcomes = run_schedules(range(100 * block, 100 * (block + 1)), n_processes=1)
    assert not [str(outcome) for outcome in outcomes if outcome.failure]


def test_schedules_go_on_from_a_fork_at_the_onset_as_from_the_start(monkeypatch: pytest.MonkeyPatch):
    def last_state(chain: Chain, schedule: Schedule) -> str:
        wrong = failure(chain, schedule)
        if schedule.seed == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return wrong + str(chain.record().q[-1]) + str(len(chain.record().t))

    failure = schedules._failure
    monkeypatch.setattr(schedules, "_failure", last_state)
    forked = list(run_schedules(range(4), n_processes=2))
    assert [outcome.seed for outcome in forked] == [0, 1, 2, 3]
    assert [outcome.failure for outcome in forked[:3]] == [tried(draw(seed)).failure for seed in range(3)]
    assert forked[3].failure == "its process ended with 9"


def test_a_failing_schedule_is_shortened_to_what_it_needs(monkeypatch: pytest.MonkeyPatch):
    names = ("states:3-ms-late", "commands:effort-nan", "states:reordered")

    def fake(schedule: Schedule) -> Schedule:
        """Fails where a torque is NaN, whatever else there is."""
        is_failing = any(part.fault.name == "commands:effort-nan" for part in schedule.parts)
        return dataclasses.replace(schedule, failure="a test" if is_failing else "")

    monkeypatch.setattr(schedules, "tried", fake)
    schedule = dataclasses.replace(draw(0), parts=tuple(Part(FAULTS[name], 0, 50) for name in names), failure="a test")
    assert [part.fault.name for part in shortened(schedule).parts] == ["commands:effort-nan"]


def test_the_command_prints_rows_and_writes_them(tmp_path, capsys: pytest.CaptureFixture[str]):
    file, markdown = tmp_path / "rows.json", tmp_path / "faults.md"
    arguments = ["faults", "commands:21-lost", "--controller", "joint", "--schedules", "2"]
    assert cli.main([*arguments, "--json", str(file), "--page", str(markdown)]) == 0
    content = json.loads(file.read_text())
    assert (len(content["rows"]), content["failed_rows"]) == (2, 0)
    assert (content["schedules"], content["failed_schedules"]) == (2, 0)
    assert "2 rows, 0 failed; 2 schedules, 0 failed" in capsys.readouterr().out
    assert markdown.read_text().count("`commands:21-lost`") == 2
    assert cli.main(["faults", "no such fault"]) == 2


def test_a_row_that_fails_stands_on_the_page_and_in_the_exit_status(monkeypatch: pytest.MonkeyPatch):
    fault = Fault("states:3-lost", "three states are lost", BRAKES, states=lambda: lost(3))
    row = run_fault(fault, "hardware", "osc")
    assert not row.passed
    assert "no braking torque in time" in page([row])
