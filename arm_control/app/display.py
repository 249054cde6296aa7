"""Output of a run in the terminal: a live table or a progress bar, then the summary at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arm_control.app.run_options import RunOptions
from arm_control.control import FAULT, OscTuning, resolve_parameters
from arm_control.exceptions import MissingExtra
from arm_control.gate import GateParameters
from arm_control.model import RobotModel
from arm_control.report import Report, hand_targets, make_report
from arm_control.simulation import Recording, Scenario

try:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise MissingExtra("rich", "demo") from error

__all__ = ["Console", "Group", "Live", "Progress", "live_table", "print_summary"]

Diagnostics = Mapping[str, Mapping[str, str]]
"""Newest ``/diagnostics`` by node: values by key."""


def live_table(
    title: str,
    stamp_ns: int,
    target: int,
    figures: Mapping[str, float],
    diagnostics: Mapping[str, Any],
    nodes: tuple[str, str],
    address: str = "",
) -> Group:
    """Return the table of a running scenario, below the address of its page.

    Parameters
    ----------
    title : str
        Title of the table.
    stamp_ns : int
        Simulated time [ns].
    target : int
        Number of the active target.
    figures : mapping
        Newest ``controller_state`` figures.
    diagnostics : mapping
        Newest diagnostics by node.
    nodes : tuple of str
        Names of the controller and of the simulator.
    address : str
        Address of the page, in one line however long, so that a terminal can open it.
    """
    controller, simulator = (diagnostics.get(node, {}) for node in nodes)
    rows = {
        "time [s]": f"{max(stamp_ns, 0) * 1e-9:.2f}",
        "target": str(target),
        "position error [mm]": f"{1e3 * figures['position_error']:.3f}",
        "orientation error [deg]": f"{57.29577951308232 * figures['orientation_error']:.3f}",
        "torque, share of the limit": f"{figures['saturation']:.2f}",
        "condition number": f"{figures['condition_number']:.1f}",
        "controller rate [Hz]": controller.get("rate [Hz]", "-"),
        "controller tick p50 / p99 [ms]": " / ".join(controller.get(f"tick {p} [ms]", "-") for p in ("p50", "p99")),
        "answered within 2 ms [%]": simulator.get("answered within 2 ms [%]", "-"),
        "overruns": simulator.get("overruns", "-"),
        "simulator": _status_text(simulator),
        "controller": _status_text(controller),
    }
    refused = {
        f"{node}: {key}": value
        for node, values in diagnostics.items()
        for key, value in values.items()
        if key.startswith("refused")
    }
    table = Table(title=title, show_header=False, min_width=58)
    for key, value in {**rows, **refused}.items():
        table.add_row(Text(key), Text(value))
    return Group(*([Text(address, no_wrap=True, overflow="ignore")] if address else []), table)


def _status_text(status: Mapping[str, str]) -> str:
    """Return a node's message, and the remedy while its gate brakes."""
    remedy = ": braked, `arm_control enable`" if status.get("braked") == "True" else ""
    return status.get("message", "starting") + remedy


def print_summary(
    scenario: Scenario,
    model: RobotModel,
    recording: Recording,
    diagnostics: Diagnostics,
    options: RunOptions,
    console: Console,
    hand_ns: int | None = None,
) -> int:
    """Print the report of a run; write its record and its pictures.

    Parameters
    ----------
    scenario : Scenario
        The scenario that ran.
    model : RobotModel
        The controller's model of the robot.
    recording : Recording
        States, commands and targets of the run.
    diagnostics : mapping
        Newest diagnostics by node.
    options : RunOptions
        The options of the run.
    console : rich.console.Console
        Output.
    hand_ns : int, optional
        Stamp from which a person set targets [ns]; a scenario's own targets are judged until then.

    Returns
    -------
    int
        Exit status: 1 when a target of the scenario was missed, or when the run was ended early; 0 when not, and when
        a person had the controls.
    """
    if options.record:
        recording.save(options.record)
    n_states = recording.state_stamps.size
    console.print(f"\n{options.title}, {recording.duration:.3f} s of simulated time, {_mode(options)}", highlight=False)
    is_early = options.duration > 0.0 and (not n_states or recording.state_stamps[-1] < round(options.duration * 1e9))
    if is_early:
        console.print(f"[bold]ended early[/]: {options.duration:g} s were requested", highlight=False)
    _print_brakes(diagnostics, console)
    _print_stalls(diagnostics, console)
    targets = scenario.targets()
    is_by_hand = targets is None or hand_ns is not None or (options.is_interactive and not options.duration)
    if targets is not None and hand_ns is not None:
        recording = recording.until(hand_ns)
        console.print(f"targets were set by hand from {hand_ns * 1e-9:.1f} s on: figures until then", highlight=False)
    if recording.state_stamps.size < 2:
        console.print(f"{n_states} states recorded: no figures", highlight=False)
        return int(is_early)
    targets = targets or hand_targets(model.base)
    osc = None
    if scenario.reaches_poses:
        osc = resolve_parameters(OscTuning, options.controller_parameters(OscTuning, scenario), model).law
    gate = GateParameters.from_mapping(options.controller_parameters(GateParameters, scenario))
    report = make_report(recording, model, targets, osc, gate)
    _print_report(report, targets.period, console)
    if not options.headless:
        _print_latency(diagnostics.get(scenario.simulator, {}), console)
    if options.report:
        _draw(report, options.report, (recording, model, targets, osc, gate), console)
    has_no_target_to_judge = not (options.duration or report.reaches)
    return int(is_early or not (report.success or has_no_target_to_judge or is_by_hand))


def _draw(report: Report, folder: str, content: tuple[Any, ...], console: Console) -> None:
    """Draw the pictures of a run, which are about its targets."""
    if not report.reaches:
        console.print("no pictures were drawn: no target had its time; --record FILE keeps the record")
        return
    from arm_control.report import draw_report

    for path in draw_report(Path(folder), *content):
        console.print(f"wrote {path}")


def _mode(options: RunOptions) -> str:
    if options.paced and not options.headless:
        return "lock step at the pace of the clock"
    return "lock step" if options.in_lock_step else "real time"


def _print_report(report: Report, period: float, console: Console) -> None:
    console.print(f"\n{report}\n", highlight=False, markup=False, soft_wrap=True)
    if report.reaches and any(not figure.kept and not figure.required for figure in report.figures):
        console.print("over: above the recommended value; the run can still succeed", highlight=False)
    if not report.reaches:
        console.print(f"too short to judge: no target had its {period:g} s", highlight=False)
    else:
        console.print("every target was reached" if report.success else "[bold red]not every target was reached[/]")


def _print_latency(simulator: Mapping[str, str], console: Console) -> None:
    if "answered within 2 ms [%]" in simulator:
        console.print(
            f"states answered within 2 ms: {simulator['answered within 2 ms [%]']} % of {simulator['states']}"
            f" (p50 {simulator['answer p50 [ms]']} ms, p99 {simulator['answer p99 [ms]']} ms)",
            highlight=False,
        )


def _print_brakes(diagnostics: Diagnostics, console: Console) -> None:
    brakes = [f"{node}: {status['message']}" for node, status in diagnostics.items() if status.get("braked") == "True"]
    if brakes:
        console.print(f"[bold red]braked at the end[/] ({'; '.join(brakes)}): `arm_control enable` while it runs")


def _print_stalls(diagnostics: Diagnostics, console: Console) -> None:
    for node, status in diagnostics.items():
        if stall := status.get(FAULT):
            console.print(f"{node}: {FAULT}: {stall}", highlight=False, markup=False, soft_wrap=True)
