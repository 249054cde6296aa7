"""Reports of gates: read from their messages, kept by node, told when something changes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from arm_control.app import main
from arm_control.exceptions import InputError
from arm_control.gate import GateReport
from arm_control.processes import GateWatch, gate_values, read_gate_report

OK, WARN, ERROR = b"\x00", b"\x01", b"\x02"


def status(name: str, message: str, level: bytes = OK, **values: str) -> SimpleNamespace:
    items = [SimpleNamespace(key=key.replace("_rate", " rate [%]"), value=value) for key, value in values.items()]
    return SimpleNamespace(name=name, message=message, level=level, values=items)


def test_a_state_is_told_when_it_or_its_reason_changes():
    watch = GateWatch()
    braked = GateReport("/gate", "braking", "the controller brakes: no state", success_rate="98.5")
    assert watch.on_state(status("/gate", "passing", success_rate="99")) == GateReport(
        "/gate", "passing", success_rate="99"
    )
    assert watch.on_state(status("/gate", "passing", success_rate="98")) is None
    assert watch.reports["/gate"].success_rate == "98"
    message = "braking: the controller brakes: no state"
    assert watch.on_state(status("/gate", message, ERROR, success_rate="98.5")) == braked
    assert watch.on_state(status("/gate", message, ERROR, success_rate="98.5")) is None
    assert watch.on_state(status("/gate", "braking: disabled", ERROR)).reason == "disabled"
    assert str(braked) == "/gate             braking  the controller brakes: no state  success rate 98.5 %"
    assert str(GateReport("/gate", "passing")) == "/gate             passing"


def test_what_a_gate_writes_is_what_is_read():
    tau, joints = np.array([0.1 + 0.2, -1e-17, 87.0]), ("a", "b", "c")
    written = status("/gate", "braking: no state: late")
    written.values = [SimpleNamespace(key=k, value=v) for k, v in gate_values(0.5, 2, 2**60 + 1, tau, joints).items()]
    report = read_gate_report(written)
    np.testing.assert_array_equal(report.tau, tau)
    assert report._replace(tau=None) == GateReport(
        "/gate", "braking", "no state: late", 2**60 + 1, None, joints, success_rate="50"
    )
    written.values = [SimpleNamespace(key=k, value=v) for k, v in gate_values(1.0, 0, 0, None, joints).items()]
    assert read_gate_report(written) == GateReport("/gate", "braking", "no state: late", 0, None, joints, "100")
    assert read_gate_report(status("/gate", "holding")) == GateReport("/gate", "holding")


@pytest.mark.parametrize(
    ("message", "values", "reason"),
    [
        ("moving: fast", {}, "state 'moving' of a gate, allowed holding, passing, braking"),
        ("passing", {"torque": "1.0,2.0", "joints": "a"}, "torque 1.0,2.0 of 1 joints"),
        ("passing", {"torque": "nan", "joints": "a"}, "torque nan of 1 joints"),
        ("passing", {"torque": "x", "joints": "a"}, "could not convert"),
        ("passing", {"since [ns]": "now"}, "invalid literal"),
    ],
)
def test_a_state_that_cannot_be_is_refused_and_no_gate_to_watch(message: str, values: dict[str, str], reason: str):
    wrong = status("/camera", message)
    wrong.values = [SimpleNamespace(key=key, value=value) for key, value in values.items()]
    with pytest.raises(InputError, match=reason):
        read_gate_report(wrong)
    watch = GateWatch()
    assert watch.on_state(wrong) is None
    assert watch.reports == {}


@pytest.mark.parametrize(
    ("level", "braked", "state", "reason"),
    [
        (OK, "False", "passing", ""),
        (WARN, "False", "holding", "a reason"),
        (WARN, "True", "braking", "a reason"),
        (ERROR, "True", "braking", "a reason"),
    ],
)
def test_diagnostics_say_whether_a_gate_brakes(level: bytes, braked: str, state: str, reason: str):
    watch = GateWatch()
    assert watch.on_diagnostics(status("/osc", "a reason", level, braked=braked)) == GateReport("/osc", state, reason)
    assert watch.on_diagnostics(status("/dynamics", "publishing")) is None
    assert list(watch.reports) == ["/osc"]


def test_what_a_gate_says_itself_counts_more_than_its_diagnostics():
    watch = GateWatch()
    watch.on_state(status("/gate", "braking: disabled", ERROR))
    assert watch.on_diagnostics(status("/gate", "passing commands", braked="False")) is None
    assert watch.reports["/gate"].state == "braking"


def test_a_gate_that_says_nothing_for_three_seconds_is_silent_until_it_speaks():
    now = [0.0]
    watch = GateWatch(lambda: now[0])
    watch.on_state(status("/gate", "passing"))
    now[0] = 2.0
    watch.on_diagnostics(status("/osc", "passing commands", braked="False"))
    for now[0], silent in ((3.0, []), (3.1, ["/gate"]), (4.0, []), (5.1, ["/osc"])):
        reports = watch.look()
        assert [report.name for report in reports] == silent
        assert {(report.state, report.reason) for report in reports} <= {("silent", "no message for 3 s")}
    assert watch.on_state(status("/gate", "passing")).is_passing
    assert not watch.reports["/osc"].is_passing


@pytest.mark.parametrize(
    ("states", "exit_status"), [(("passing", "passing"), 0), (("passing", "braking"), 1), (("holding",), 1), ((), 2)]
)
def test_the_exit_status_of_one_look(
    states: tuple[str, ...], exit_status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    reports = [GateReport(f"/gate\x1b{k}", state) for k, state in enumerate(states)]
    monkeypatch.setattr("arm_control.nodes.tools.gate_commands.current_gates", lambda namespace: reports)
    assert main(["watch", "--once"]) == exit_status
    lines = capsys.readouterr().out.splitlines()
    assert "\x1b" not in "".join(lines)
    assert [line.split()[-1] for line in lines] == (list(states) or ["heard"])
