"""Faults in simulated time: a telling part of them in the suite, all of them in the campaign."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arm_control.app import cli
from arm_control.app.commands import faults_command
from arm_control.constraints import ConstraintSet
from arm_control.exceptions import ArmControlError
from arm_control.faults import (
    Case,
    all_cases,
    all_faults,
    campaign,
    can_compile,
    page,
    plants_of,
    run_on,
    run_schedules,
    schedules,
    shortened,
    some_cases,
    summary,
)
from arm_control.faults.campaign import Row, fall_of, run_case, setup_of
from arm_control.faults.catalogue import BRAKES, EVERYWHERE, GOES_ON, HOLDS, Fault, disable
from arm_control.faults.chain import ARRANGEMENTS, Chain
from arm_control.faults.chain_setup import OTHER, OWN, PLANTS, Delivery, joint_state
from arm_control.faults.interferences import lost
from arm_control.faults.schedules import Schedule, TimedFault, draw, tried
from arm_control.gate import effort_gate
from arm_control.maths import Array
from arm_control.model import Terms

FAULTS = {fault.name: fault for fault in all_faults()}
TELLING = (
    *("states:19-lost", "states:21-lost", "states:stopped", "states:stamp-0", "states:30-ms-late", "states:frozen"),
    *("states:velocity-20", "states:position-1e308-once", "states:second-publisher", "commands:stamp-repeated"),
    *("commands:30-ms-late", "commands:second-publisher", "commands:of-a-braked-controller", "controller:killed"),
    *("braked:stamp-0-in-motion", "braked:20-older-at-rest", "braked:other-masses-in-motion", "model:other"),
)
SOME = [case for case in some_cases([FAULTS[name] for name in TELLING]) if case.arrangement != "exported"][::13]
"""Each thirteenth one: of six arrangements they take turns."""


def arrangement(name: str) -> object:
    """An arrangement as a parameter; an exported controller needs a compiler."""
    return pytest.param(
        name, marks=pytest.mark.skipif(name == "exported" and not can_compile(), reason="no C compiler")
    )


known = cache(run_on)
"""Short runs, each of them made once: what bounds and verdicts say of it is computed anew."""


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two plants of four, and a quarter of a second at rest instead of three."""
    monkeypatch.setattr(campaign, "STANDSTILL", 0.25)
    monkeypatch.setattr(campaign, "PLANTS", {name: PLANTS[name] for name in ("exact", "real-1-kg")})
    monkeypatch.setattr(campaign, "run_on", known)


def text_of(case: Case) -> str:
    return "-".join([case.fault.name, *case[1:]])


def test_names_are_unique_and_every_fault_says_what_happens():
    assert len(FAULTS) == len(all_faults()) >= 60
    assert all(fault.what for fault in all_faults())
    assert set(EVERYWHERE) == set(ARRANGEMENTS) == set(faults_command.ARRANGEMENTS)


def test_every_fault_is_run_in_each_of_its_arrangements():
    faults = list(FAULTS.values())
    cases = list(some_cases(faults))
    assert [case[:2] for case in cases] == [(fault, where) for fault in faults for where in fault.arrangements]
    assert {case[1:] for case in cases} == {case[1:] for case in all_cases(faults)}
    assert plants_of(FAULTS["states:21-lost"]) == tuple(PLANTS)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("case", SOME, ids=text_of)
def test_the_gates_do_what_they_must(case: Case):
    for row in run_case(case):
        assert row.passed, row


OF_CONSTRAINTS = {
    "constraints:start-outside": "constraint 'wall' (hand) is violated by 50 mm; allow_recovery leads the arm back",
    "constraints:recovery": "",
    "constraints:appears": "",
    "constraints:contradict": "constraint 'wall' (hand) is violated by 100 mm",
    "constraints:nan": "constraint 'wall' point is [nan, 0, 0]; 3 finite numbers are needed",
    "constraints:negative-size": "constraint 'wall' size is -1.0; a finite number above zero is needed",
    "constraints:unknown-frame": "unknown frame 'x'; the model has",
    "obstacles:appears": "",
    "obstacles:at-the-hand": "constraint 'people' (wrist_3_link at obstacle 0) is violated by 93.6 mm",
    "obstacles:10,000": "too many obstacles",
    "obstacles:nan": "position [nan, nan, nan] is not finite",
    "obstacles:unknown-frame": "unknown frame 'x'; the model has",
    "obstacles:negative-size": "diameters of marker '' 0 differ",
}
"""Reason of each."""


def test_reasons_of_constraints_are_known():
    assert [fault.name for fault in all_faults() if fault.kept] == list(OF_CONSTRAINTS)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", OF_CONSTRAINTS)
def test_constraints_and_obstacles_do_what_they_must(name: str):
    row, *_ = run_case(Case(FAULTS[name], "controller", "ur5", "osc"))
    assert row.passed, row
    assert row.reason == OF_CONSTRAINTS[name]


@pytest.mark.parametrize(
    ("left", "is_kept"),
    [
        ([0.1, 0.0, -4e-4], True),
        ([0.1, -6e-4, 0.0], False),
        ([-0.05, -0.0504, 0.0], True),
        ([-0.05, -0.051, 0.0], False),
        ([-0.05, -0.01, -6e-4], False),
        ([np.inf, np.inf], False),
    ],
)
def test_constraints_are_kept_where_nothing_is_farther_outside_than_at_the_start(left: list[float], is_kept: bool):
    run: Any = SimpleNamespace(record=SimpleNamespace(left=np.array(left)))
    assert (campaign._failure_to_keep(run) == "") == is_kept


def test_a_gate_that_keeps_no_constraints_fails_in_the_campaign(monkeypatch: pytest.MonkeyPatch):
    def ignored(rows: ConstraintSet, terms: Terms, tau: Array, *others: Any) -> Array:
        rows._limited(terms, tau, *others)
        return tau

    monkeypatch.setattr(ConstraintSet, "limit", ignored)
    (row,) = run_case(Case(FAULTS["constraints:appears"], "controller", "ur5", "joint"))
    assert "constraint 'wall' (hand) is violated by 2" in row.failure


@pytest.mark.campaign
@pytest.mark.parametrize("case", all_cases(all_faults()), ids=text_of)
def test_every_fault_in_every_arrangement(case: Case):
    for row in run_case(case):
        assert row.passed, row


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("where", map(arrangement, ARRANGEMENTS))
def test_a_brake_by_hand_stops_a_payload_that_nobody_has_told(where: str):
    rows = {row.plant: row for row in run_case(Case(FAULTS["braked:by-hand"], where, "ur5", "osc"))}
    for row in rows.values():
        assert row.passed, row
        assert row.brake_ms == 0.0
        assert row.rest_ms is not None
        assert row.rest_ms < 260.0
    assert rows["exact"].sunk_mm == 0.0
    assert 1.0 < (rows["real-1-kg"].sunk_mm or 0.0) < 10.0


@pytest.mark.usefixtures("short")
def test_a_gate_that_never_brakes_fails_in_the_campaign(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(campaign, "run_on", run_on)
    monkeypatch.setattr(effort_gate.EffortGate, "brake", lambda self, reason: None)
    monkeypatch.setattr(effort_gate, "miss_command", lambda memory, max_missed: False)
    rows = run_case(Case(FAULTS["controller:killed"], "gate", "ur5", "osc"))
    assert {row.failure for row in rows} == {"no braking torque in time"}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("name", "where", "reason"),
    [
        ("stopped", "controller", ""),
        ("frozen", "gate", ""),
        ("10-khz", "simulator", ""),
        ("of-another-arm-in-turn", "gate", "it has the joints shoulder_pan_joint"),
        ("of-another-arm", "serve", ""),
        ("nan", "controller", "shoulder_pan_joint has a position that is no number"),
        ("hour-ahead", "simulator", "it was observed 3599.950 s after now"),
    ],
)
def test_whatever_a_policy_sends_the_arm_goes_on_or_stops_on_its_way(name: str, where: str, reason: str):
    (row,) = run_case(Case(FAULTS[f"joint_chunk:{name}"], where, "ur5", "follow"))
    assert row.passed, row
    assert row.brake_ms is None
    assert row.reason.startswith(reason)
    assert bool(row.reason) == bool(reason)
    assert 0.3 < row.speed < 1.0


def row_of(fault: Fault, plant: str, monkeypatch: pytest.MonkeyPatch, **bounds: float) -> Row:
    """What is said of a fault behind a gate, under other bounds."""
    for bound, value in bounds.items():
        monkeypatch.setattr(campaign, bound, value)
    return next(row for row in run_case(Case(fault, "gate", "ur5", fault.controller or "osc")) if row.plant == plant)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("fault", "bounds", "failure"),
    [
        (FAULTS["commands:19-lost"], {"NEAR": 0.0}, "from the goal at the end"),
        (replace(FAULTS["commands:21-lost"], verdict=GOES_ON), {}, "braked: no command for 20 states"),
        (FAULTS["commands:100-newton-metres"], {"LIMITED_SPEED": 0.5}, "times the limit of speed"),
        (FAULTS["commands:100-newton-metres"], {"LARGEST_LIMITED_SPEED": 0.9}, "times the limit of speed"),
        (FAULTS["commands:100-newton-metres"], {"EFFORT_SHARE": 0.5}, "the torque was above its limit"),
        (FAULTS["commands:100-newton-metres"], {"RATE_SHARE": 0.2}, "the torque changed by 1.0 N m in one step"),
        (FAULTS["joint_chunk:frozen"], {"HOVER": 0.0}, "in the end"),
        (FAULTS["joint_chunk:frozen"], {"NEAR": -0.1}, "away from its way"),
        (replace(FAULTS["joint_chunk:stopped"], verdict=GOES_ON), {}, "from the goal at the end"),
        (Fault("released", "", HOLDS, events=((0.0, disable), (0.1, Chain.enable))), {}, "the brake was released"),
        (FAULTS["braked:by-hand"], {"LATEST_REST_EXACT": 0.1}, "not at rest in time"),
        (FAULTS["braked:by-hand"], {"SPEED_AFTER_ENABLE": 0.0}, "after it was enabled"),
    ],
)
def test_each_verdict_can_fail(fault: Fault, bounds: dict[str, float], failure: str, monkeypatch: pytest.MonkeyPatch):
    row = row_of(fault, "exact", monkeypatch, **bounds)
    assert failure in row.failure
    assert not row.passed


def test_a_process_that_ends_is_a_failure():
    row = run_case(Case(FAULTS["controller:killed"], "serve", "ur5", "osc"))[0]
    assert row.failure == "ArmControlError: nothing watches a controller of datagrams"


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("name", "bound", "failure"),
    [("states:position-nan", {"FALL_FACTOR": 0.3}, "fell by"), ("braked:by-hand", {"LARGEST_SINK": 1e-3}, "sunk by")],
)
def test_an_arm_with_a_payload_may_fall_as_far_as_computed_and_sink_a_little(
    name: str, bound: dict[str, float], failure: str, monkeypatch: pytest.MonkeyPatch
):
    assert row_of(FAULTS[name], "real-1-kg", monkeypatch).failure == ""
    assert failure in row_of(FAULTS[name], "real-1-kg", monkeypatch, **bound).failure


def test_the_computed_fall_is_that_of_the_weight_that_is_missing():
    """Half of 5 % of the acceleration of gravity for 0.6 s is 9 cm, at an arm that would fall freely."""
    assert 5e-3 < fall_of("ur5", "osc", "heavier", 20, 0) < 0.2
    assert fall_of("ur5", "osc", "heavier", 20, 0) != fall_of("ur5", "osc", "heavier", 0, 0)
    assert fall_of("ur5", "osc", "exact", 20, 0) == 0.0


@pytest.mark.parametrize("where", map(arrangement, ARRANGEMENTS))
def test_without_a_fault_nothing_is_refused(where: str):
    row = run_case(Case(Fault("none", "nothing", "goes on"), where, "ur5", "osc"))[0]
    assert row.passed, row
    assert not row.said
    assert row.speed > 0.9


def test_the_same_run_twice_is_the_same_to_the_last_bit():
    case = Case(FAULTS["states:10-percent-lost"], "gate", "ur5", "osc")
    first, second = (run_on(case, "real").record for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.tau, second.tau)
    assert setup_of(case).interferences["states"] is not setup_of(case).interferences["states"]


@pytest.mark.processes
def test_random_schedules_hold():
    assert not [str(outcome) for outcome in run_schedules(range(2, 4), n_processes=1) if outcome.failure]


@pytest.mark.parametrize(
    "parts",
    [
        (TimedFault(FAULTS["states:30-ms-late"], 20, 48),),
        (TimedFault(FAULTS["states:30-ms-late"], 20, 59),),
        (TimedFault(FAULTS["states:backwards"], 287, 343), TimedFault(FAULTS["states:position-jumps"], 290, 404)),
        (TimedFault(FAULTS["states:position-jumps"], 200, 404), TimedFault(FAULTS["states:stamp-0"], 200, 300)),
        (TimedFault(FAULTS["states:velocity-20"], 100, 200), TimedFault(FAULTS["states:velocity-nan"], 101, 200)),
        (TimedFault(FAULTS["states:velocity-inf-once"], 8, 22), TimedFault(FAULTS["states:hour-ahead-in-turn"], 9, 23)),
    ],
)
def test_schedules_that_have_failed_hold(parts: tuple[TimedFault, ...]):
    """Two answers at one moment, twice; an arm elsewhere where stamps go back, twice; a speed that no state denies;
    a state from the future.
    """
    assert tried(Schedule(0, "osc", "serve", "exact", parts, -1.0)).failure == ""


def test_a_second_publisher_stays_another_one_where_its_states_are_changed_as_well():
    parts = [TimedFault(FAULTS[f"states:{name}"], 0, 1) for name in ("second-publisher", "position-nan")]
    interfere = schedules._combined(parts)["states"]
    deliveries = list(interfere(0, joint_state(["a", "b"], 0, position=np.zeros(2), velocity=np.zeros(2))))
    assert [delivery.publisher for delivery in deliveries] == [OWN, OTHER]
    assert all(np.isnan(delivery.message.position[1]) for delivery in deliveries)


@pytest.mark.parametrize("near_ns", [0, 999_000])
@pytest.mark.parametrize("where", [name for name in ARRANGEMENTS if name != "exported"])
def test_states_at_one_moment_change_the_torque_as_one_on_every_path(where: str, near_ns: int):
    """Their stamps are a period apart, or nearly the same; passing, then braking."""

    def in_pairs(k: int, message: Any) -> list[Delivery]:
        is_early = 1 - k % 2
        message.header.stamp.nanosec += near_ns * is_early
        return [Delivery(message, 1e-3 * is_early)]

    setup = setup_of(Case(Fault("none", "nothing"), where, "ur5", "osc"))
    setup.onset, setup.interferences = 0.01, {"states": in_pairs}
    setup.events = [(0.1, lambda chain: chain.arrangement.brake("a test"))]
    chain = Chain(setup)
    chain.advance(0.25)
    record = chain.record()
    assert campaign.failure_of_torque(record, setup) == ""
    steps = np.abs(np.diff(record.tau, axis=0)).max(axis=1)
    assert (steps[record.t[1:] > setup.onset + 0.1] > 0.9).sum() > 5, "the limit acts"


@pytest.mark.parametrize("where", [name for name in ARRANGEMENTS if name != "exported"])
def test_no_stamp_of_0_lets_an_arm_that_rests_elsewhere_be_believed(where: str):
    """As that of a simulation that was reset: half a radian away, at rest, in the middle of a reach."""

    def reset(k: int, message: Any) -> list[Delivery]:
        if k == 0:
            message.header.stamp.nanosec = 0
            message.position, message.velocity = np.add(message.position, 0.5), np.zeros(6)
        return [Delivery(message)]

    setup = setup_of(Case(Fault("none", "nothing"), where, "ur5", "osc"))
    setup.onset, setup.interferences = 0.15, {"states": reset}
    chain = Chain(setup)
    chain.advance(0.4)
    record = chain.record()
    speed = np.abs(record.v).max(axis=1)
    assert campaign.failure_of_torque(record, setup) == ""
    assert record.is_braked[-1]
    assert speed[record.t > 0.15].max() < 1.2 * speed[record.t <= 0.15].max()


@pytest.mark.parametrize("arrangement", ["controller", "gate"])
@pytest.mark.parametrize("model", ["other", "exchanged"])
def test_a_braked_arm_is_held_whatever_model_comes(model: str, arrangement: str):
    parts = (TimedFault(FAULTS["braked:by-hand"], 0, 10), TimedFault(FAULTS[f"model:{model}"], 320, 330))
    assert tried(Schedule(0, "osc", arrangement, "exact", parts, -1.0)).failure == ""


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(100))
def test_ten_thousand_random_schedules_hold(block: int):
    outcomes = run_schedules(range(100 * block, 100 * (block + 1)), n_processes=1)
    assert not [str(outcome) for outcome in outcomes if outcome.failure]


@pytest.mark.processes
def test_schedules_go_on_from_a_fork_at_the_onset_as_from_the_start(monkeypatch: pytest.MonkeyPatch):
    def last_state(chain: Chain, schedule: Schedule) -> str:
        wrong = failure(chain, schedule)
        if schedule.seed == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return wrong + str(chain.record().q[-1]) + str(len(chain.record().t))

    failure = schedules._failure
    monkeypatch.setattr(schedules, "_failure", last_state)
    outcomes = list(run_schedules(range(3), n_processes=2))
    assert [outcome.seed for outcome in outcomes] == [0, 1, 2]
    assert [outcome.failure for outcome in outcomes[:2]] == [tried(draw(seed)).failure for seed in range(2)]
    assert outcomes[2].failure == "its process ended with 9"
    with pytest.raises(ArmControlError, match="its process ended with 9"):
        schedules.schedule_figures(2)
    monkeypatch.setattr(schedules, "_failure", lambda *_: "")
    assert schedules.schedule_figures(0) == {"faults": len(draw(0).parts)}


@pytest.mark.parametrize(("bound", "failure"), [("SPEED_AFTER_ENABLE", "moves with"), ("CREEP", "sinks by")])
def test_a_schedule_fails_where_the_arm_moves_or_sinks(bound: str, failure: str, monkeypatch: pytest.MonkeyPatch):
    schedule = Schedule(0, "osc", "controller", "real-1-kg", (TimedFault(FAULTS["states:21-lost"], 0, 30),), -1.0)
    assert tried(schedule).failure == ""
    monkeypatch.setattr(schedules, bound, -1.0)
    assert failure in tried(schedule).failure


def test_a_failing_schedule_is_shortened_to_what_it_needs(monkeypatch: pytest.MonkeyPatch):
    names = ("states:3-ms-late", "commands:effort-nan", "states:reordered")

    def fake(schedule: Schedule) -> Schedule:
        """Fails where a torque is NaN, whatever else there is."""
        is_failing = any(part.fault.name == "commands:effort-nan" for part in schedule.parts)
        return replace(schedule, failure="a test" if is_failing else "")

    monkeypatch.setattr(schedules, "tried", fake)
    schedule = replace(draw(0), parts=tuple(TimedFault(FAULTS[name], 0, 50) for name in names), failure="a test")
    assert [part.fault.name for part in shortened(schedule).parts] == ["commands:effort-nan"]


@pytest.mark.processes
def test_the_command_prints_rows_and_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file, markdown = tmp_path / "rows.json", tmp_path / "faults.md"
    arguments = ["faults", "commands:19-lost", "--controller", "joint", "--arrangement", "gate", "--schedules", "1"]
    assert cli.main([*arguments, "--json", str(file), "--page", str(markdown)]) == 0
    content = json.loads(file.read_text())
    rows = [(row["arrangement"], row["plant"], row["robot"]) for row in content["rows"]]
    assert rows == [("gate", "exact", "ur5"), ("gate", "exact", "panda")]
    assert (content["failed_rows"], content["worst_sink_mm"], content["worst_speed_after_enable"]) == (0, 0.0, 0.0)
    assert (content["schedules"], content["failed_schedules"]) == (1, 0)
    assert "2 rows, 0 failed" in capsys.readouterr().out
    assert markdown.read_text().count("`commands:19-lost`") == 1
    assert cli.main(["faults", "no such fault"]) == 2


@pytest.mark.usefixtures("short")
def test_a_row_that_fails_stands_on_the_page_and_in_the_summary():
    fault = Fault("states:3-lost", "three states are lost", BRAKES, "states", lambda: lost(3))
    rows = run_case(Case(fault, "gate", "ur5", "osc"))
    assert not any(row.passed for row in rows)
    assert page(rows).count("no braking torque in time") == len(rows) == 2
    assert summary(rows)["failed_rows"] == 2
    held = replace(rows[0], sunk_mm=7.0, speed_after_enable=0.01)
    assert [*summary([held]).values()] == [1, 7.0, 0.01]
    assert [*summary([replace(held, is_blind=True)]).values()] == [1, 0.0, 0.01]
