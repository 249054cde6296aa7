"""Reports of gates: read from their messages, kept by node, told when something changes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arm_control.app.cli import main
from arm_control.messages.gate_watch import GateReport, GateWatch

OK, WARN, ERROR = b"\x00", b"\x01", b"\x02"


def status(name: str, message: str, level: bytes = OK, **values: str) -> SimpleNamespace:
    items = [SimpleNamespace(key=key.replace("_rate", " rate [%]"), value=value) for key, value in values.items()]
    return SimpleNamespace(name=name, message=message, level=level, values=items)


def test_a_state_is_told_when_it_or_its_reason_changes():
    watch = GateWatch()
    braked = GateReport("/gate", "braked", "the controller brakes: no state", "98.5")
    assert watch.on_state(status("/gate", "passing", success_rate="99")) == GateReport("/gate", "passing", "", "99")
    assert watch.on_state(status("/gate", "passing", success_rate="98")) is None
    assert watch.reports["/gate"].success_rate == "98"
    message = "braked: the controller brakes: no state"
    assert watch.on_state(status("/gate", message, ERROR, success_rate="98.5")) == braked
    assert watch.on_state(status("/gate", message, ERROR, success_rate="98.5")) is None
    assert watch.on_state(status("/gate", "braked: disabled", ERROR)).reason == "disabled"
    assert str(braked) == "/gate             braked   the controller brakes: no state  success rate 98.5 %"
    assert str(GateReport("/gate", "passing")) == "/gate             passing"


@pytest.mark.parametrize(
    ("level", "braked", "state", "reason"),
    [
        (OK, "False", "passing", ""),
        (WARN, "False", "waiting", "a reason"),
        (WARN, "True", "braked", "a reason"),
        (ERROR, "True", "braked", "a reason"),
    ],
)
def test_diagnostics_say_whether_a_gate_brakes(level: bytes, braked: str, state: str, reason: str):
    watch = GateWatch()
    assert watch.on_diagnostics(status("/osc", "a reason", level, braked=braked)) == GateReport("/osc", state, reason)
    assert watch.on_diagnostics(status("/dynamics", "publishing")) is None
    assert list(watch.reports) == ["/osc"]


def test_what_a_gate_says_itself_counts_more_than_its_diagnostics():
    watch = GateWatch()
    watch.on_state(status("/gate", "braked: disabled", ERROR))
    assert watch.on_diagnostics(status("/gate", "passing commands", braked="False")) is None
    assert watch.reports["/gate"].state == "braked"


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
    ("states", "exit_status"), [(("passing", "passing"), 0), (("passing", "braked"), 1), (("waiting",), 1), ((), 2)]
)
def test_the_exit_status_of_one_look(
    states: tuple[str, ...], exit_status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    reports = [GateReport(f"/gate\x1b{k}", state) for k, state in enumerate(states)]
    monkeypatch.setattr("arm_control.nodes.tools.gate_listener.current_gates", lambda namespace: reports)
    assert main(["watch", "--once"]) == exit_status
    lines = capsys.readouterr().out.splitlines()
    assert "\x1b" not in "".join(lines)
    assert [line.split()[-1] for line in lines] == (list(states) or ["heard"])
