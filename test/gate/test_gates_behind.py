"""Gates behind a controller: when one of them holds it, which one, and until when."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.gate import EffortGate, GateReport, GatesBehind
from arm_control.gate.gates_behind import GATE_SILENCE


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_nothing_holds_a_controller_before_anything_is_heard(clock: Clock):
    gates = GatesBehind(["gate"], clock)
    clock.now += 100.0
    assert gates.held_by == ""
    assert not gates.is_braking
    assert gates.tau(["a"]) is None


def test_a_brake_holds_until_the_gate_passes_commands_again(clock: Clock):
    gates = GatesBehind(["gate"], clock)
    heard = []
    for state in ("holding", "passing", "braking", "holding", "holding", "passing", "holding"):
        gates.hear(GateReport("gate", state, "disabled" if state == "braking" else ""))
        heard.append((gates.held_by, gates.is_braking))
    free, held = ("", False), ("gate: disabled", False)
    assert heard == [free, free, ("gate: disabled", True), held, held, free, free]


def test_the_newest_reason_of_a_brake_is_shown_and_one_without_has_the_state(clock: Clock):
    gates = GatesBehind(["gate"], clock)
    gates.hear(GateReport("gate", "braking", "no state"))
    gates.hear(GateReport("gate", "holding", "waiting"))
    gates.hear(GateReport("gate", "braking", "disabled"))
    assert gates.held_by == "gate: disabled"
    gates.hear(GateReport("gate", "braking"))
    assert gates.held_by == "gate: braking"


@pytest.mark.parametrize("state", ["passing", "holding"])
def test_a_gate_that_falls_silent_holds_until_it_is_heard(state: str, clock: Clock):
    gates = GatesBehind(["gate"], clock)
    gates.hear(GateReport("gate", state))
    clock.now += GATE_SILENCE
    assert (gates.held_by, gates.is_braking) == ("", False)
    clock.now += 1e-3
    assert (gates.held_by, gates.is_braking) == ("gate: silent for 1 s", True)
    gates.hear(GateReport("gate", state))
    assert (gates.held_by, gates.is_braking) == ("", False)


def test_a_silence_does_not_end_a_brake_and_is_shown_with_it(clock: Clock):
    gates = GatesBehind(["gate"], clock)
    gates.hear(GateReport("gate", "braking", "disabled"))
    clock.now += GATE_SILENCE + 1e-3
    assert gates.held_by == "gate: disabled, silent for 1 s"
    gates.hear(GateReport("gate", "holding"))
    assert (gates.held_by, gates.is_braking) == ("gate: disabled", False)


def test_in_lock_step_silence_does_not_count(clock: Clock):
    gates = GatesBehind(["gate"], clock, watches_silence=False)
    gates.hear(GateReport("gate", "passing"))
    clock.now += 1000.0
    assert (gates.held_by, gates.is_braking) == ("", False)


@pytest.mark.parametrize("names", [("gate", "simulator"), ("simulator", "gate")])
def test_of_two_the_one_that_braked_first_is_shown(names: tuple[str, str], clock: Clock):
    gates = GatesBehind(names, clock)
    gates.hear(GateReport("simulator", "braking", "the controller brakes", since_ns=2_000_000))
    gates.hear(GateReport("gate", "braking", "no state", since_ns=1_000_000))
    assert gates.held_by == "gate: no state"
    gates.hear(GateReport("gate", "passing"))
    assert (gates.held_by, gates.is_braking) == ("simulator: the controller brakes", True)
    gates.hear(GateReport("simulator", "passing"))
    assert gates.held_by == ""


def test_a_brake_comes_before_a_silence_and_of_silences_the_first(clock: Clock):
    gates = GatesBehind(["gate", "simulator"], clock)
    gates.hear(GateReport("simulator", "passing"))
    clock.now += 0.5
    gates.hear(GateReport("gate", "passing"))
    clock.now += 2.0
    assert gates.held_by == "simulator: silent for 1 s"
    gates.hear(GateReport("gate", "braking", "no state", since_ns=9))
    assert gates.held_by == "gate: no state"


def test_another_gate_is_ignored(clock: Clock):
    gates = GatesBehind(["gate"], clock)
    gates.hear(GateReport("simulator", "braking", "disabled"))
    assert gates.held_by == ""


def test_the_torque_is_the_newest_one_of_the_holding_gate_in_the_order_that_is_asked_for(clock: Clock):
    gates = GatesBehind(["gate", "simulator"], clock)
    joints = "a", "b", "c"
    gates.hear(GateReport("simulator", "passing", "", 0, np.array([7.0, 8.0, 9.0]), joints))
    assert gates.tau(joints) is None
    gates.hear(GateReport("gate", "braking", "disabled", 5, np.array([1.0, 2.0, 3.0]), joints))
    np.testing.assert_array_equal(gates.tau(["c", "a"]), [3.0, 1.0])
    gates.hear(GateReport("gate", "holding", "", 9, np.array([4.0, 5.0, 6.0]), joints))
    np.testing.assert_array_equal(gates.tau(joints), [4.0, 5.0, 6.0])
    assert gates.tau(["a", "d"]) is None
    gates.hear(GateReport("gate", "braking", "disabled"))
    assert gates.tau(joints) is None


def test_a_silent_gate_is_asked_for_its_last_torque(clock: Clock):
    gates = GatesBehind(["gate"], clock)
    gates.hear(GateReport("gate", "passing", "", 0, np.array([1.0]), ("a",)))
    clock.now += 2.0
    np.testing.assert_array_equal(gates.tau(["a"]), [1.0])


def test_gates_that_were_never_heard_are_named_after_a_while(clock: Clock):
    gates = GatesBehind(["gate", "simulator"], clock)
    clock.now += 0.9
    assert gates.unheard() == []
    assert gates.unheard(after=clock.now - 100.0) == gates.unheard(after=0.5) == ["gate", "simulator"]
    clock.now += 0.2
    gates.hear(GateReport("gate", "passing"))
    assert gates.unheard() == ["simulator"]
    clock.now += 100.0
    assert gates.unheard() == ["simulator"], "silence is something else"


def test_a_report_is_one_line():
    report = GateReport("/gate", "braking", "disabled", success_rate="98.5")
    assert str(report) == "/gate             braking  disabled  success rate 98.5 %"


def test_a_report_without_a_stamp_is_as_old_as_time(clock: Clock):
    gates = GatesBehind(["b", "a"], clock)
    for report in (GateReport("b", "braking", since_ns=1), GateReport("a", "braking")):
        gates.hear(report)
    assert gates.held_by == "a: braking"
    assert GateReport("a", "braking") == GateReport("a", "braking", "", 0, None, (), "")


def test_a_brake_that_has_ended_before_it_was_heard_holds_too(clock: Clock):
    """A new run of a simulator is none: its gate waits for the first command."""
    gates = GatesBehind(["gate"], clock)
    gates.hear(GateReport("gate", "passing"))
    gates.hear(GateReport("gate", "holding", EffortGate.WAITING_REASON))
    assert not gates.held_by
    gates.hear(GateReport("gate", "passing"))
    gates.hear(GateReport("gate", "holding", EffortGate.ENABLED_REASON))
    assert (gates.held_by, gates.is_braking) == (f"gate: {EffortGate.ENABLED_REASON}", False)
    gates.hear(GateReport("gate", "passing"))
    assert not gates.held_by
