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


PASSING, HOLDING, BRAKING = ("gate", "passing"), ("gate", "holding"), ("gate", "braking", "disabled")
FREE, HELD, BRAKED = ("", False), ("gate: disabled", False), ("gate: disabled", True)
SILENT = "silent for 1 s"
STORIES: dict[str, list[tuple[float, tuple | None, tuple[str, bool]]]] = {
    "nothing is heard": [(100.0, None, FREE)],
    "another gate is ignored": [(0.0, ("driver", "braking", "disabled"), FREE)],
    "a brake holds until the gate passes commands again": [
        *((0.0, HOLDING, FREE), (0.0, PASSING, FREE), (0.0, BRAKING, BRAKED), (0.0, HOLDING, HELD)),
        *((0.0, HOLDING, HELD), (0.0, PASSING, FREE), (0.0, HOLDING, FREE)),
    ],
    "the newest reason of a brake is shown, and one without has the state": [
        (0.0, ("gate", "braking", "no state"), ("gate: no state", True)),
        (0.0, ("gate", "holding", "waiting"), ("gate: no state", False)),
        (0.0, BRAKING, BRAKED),
        (0.0, ("gate", "braking"), ("gate: braking", True)),
    ],
    "a brake that has ended before it was heard holds, too, and a new run of a simulator is none": [
        (0.0, PASSING, FREE),
        (0.0, ("gate", "holding", EffortGate.WAITING_REASON), FREE),
        (0.0, PASSING, FREE),
        (0.0, ("gate", "holding", EffortGate.ENABLED_REASON), (f"gate: {EffortGate.ENABLED_REASON}", False)),
        (0.0, PASSING, FREE),
    ],
    **{
        f"a gate that was {state[1]} and falls silent holds until it is heard": [
            (0.0, state, FREE),
            (GATE_SILENCE, None, FREE),
            (1e-3, None, (f"gate: {SILENT}", True)),
            (0.0, state, FREE),
        ]
        for state in (PASSING, HOLDING)
    },
    "a silence does not end a brake and is shown with it": [
        (0.0, BRAKING, BRAKED),
        (GATE_SILENCE + 1e-3, None, (f"gate: disabled, {SILENT}", True)),
        (0.0, HOLDING, HELD),
    ],
    "of two the one that braked first is shown": [
        (0.0, ("simulator", "braking", "late", 2_000_000), ("simulator: late", True)),
        (0.0, ("gate", "braking", "no state", 1_000_000), ("gate: no state", True)),
        (0.0, PASSING, ("simulator: late", True)),
        (0.0, ("simulator", "passing"), FREE),
    ],
    "a brake comes before a silence, and of silences the first": [
        (0.0, ("simulator", "passing"), FREE),
        (0.5, PASSING, FREE),
        (2.0, None, (f"simulator: {SILENT}", True)),
        (0.0, ("gate", "braking", "no state", 9), ("gate: no state", True)),
    ],
}


@pytest.mark.parametrize("names", [("gate", "simulator"), ("simulator", "gate")])
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_who_holds_a_controller_and_whether_it_brakes(story: list, names: tuple[str, str], clock: Clock):
    """Row by row: after so many seconds, what is heard, and then by whom the controller is held."""
    gates = GatesBehind(names, clock)
    for seconds, heard, held in story:
        clock.now += seconds
        if heard:
            gates.hear(GateReport(*heard))
        assert (gates.held_by, gates.is_braking) == held


def test_before_anything_is_heard_there_is_no_torque_and_in_lock_step_silence_does_not_count(clock: Clock):
    gates = GatesBehind(["gate"], clock, watches_silence=False)
    assert gates.tau(["a"]) is None
    gates.hear(GateReport(*PASSING))
    clock.now += 1000.0
    assert (gates.held_by, gates.is_braking) == FREE


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
