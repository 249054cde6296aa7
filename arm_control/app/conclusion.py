"""What ``arm_control run`` says at the end: figures, pictures, and whether the targets were reached."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arm_control.app.display import Console
from arm_control.app.run_options import RunOptions
from arm_control.control.effort_gate import GateParameters
from arm_control.control.osc.tuning import OscTuning, tuned
from arm_control.core.parameters import Parameters
from arm_control.core.yaml_files import file_parameters
from arm_control.model import RobotModel
from arm_control.report.run_figures import Report, make_report
from arm_control.simulation.recording import Recording
from arm_control.simulation.scenario import Scenario

Diagnostics = Mapping[str, Mapping[str, str]]


def parameters_of(kind: type[Parameters], scenario: Scenario, options: RunOptions) -> dict[str, Any]:
    """Those of one class among the controller's parameters: the scenario's, then those of the user's file."""
    node = scenario.controller
    values = {**scenario.nodes.get(node, {}), **file_parameters(options.params_file, node)}
    return {name: value for name, value in values.items() if name in kind.types()}


def conclude(
    scenario: Scenario,
    model: RobotModel,
    recording: Recording,
    diagnostics: Diagnostics,
    options: RunOptions,
    console: Console,
) -> int:
    """Print the report, and write the record and the pictures.

    Returns
    -------
    int
        Exit status: 0 when every target was reached, or none had to be, 1 when not, or when it was ended early.
    """
    if options.record:
        recording.save(options.record)
    n, target_list = recording.state_stamps.size, scenario.targets()
    console.print(
        f"\n{options.scenario}, {recording.duration:.3f} s of simulated time, {_mode(options)}", highlight=False
    )
    is_early = options.duration > 0.0 and (not n or recording.state_stamps[-1] < round(options.duration * 1e9))
    if is_early:
        console.print(f"[bold]ended early[/]: {options.duration:g} s were asked for", highlight=False)
    _print_brakes(diagnostics, console)
    if target_list is None or n < 2:
        console.print(f"{n} states recorded; no targets of the scenario to report on", highlight=False)
        if options.report:
            console.print("no pictures were drawn for the same reason; --record FILE keeps the record")
        return int(is_early)
    osc = None
    if scenario.controller == "osc":
        osc = tuned(OscTuning, parameters_of(OscTuning, scenario, options), model)
    gate = GateParameters.from_mapping(parameters_of(GateParameters, scenario, options))
    report = make_report(recording, model, target_list, osc, gate)
    _print_report(report, target_list.period, console)
    if not options.headless:
        _print_answers(diagnostics.get(scenario.simulator, {}), console)
    if options.report:
        from arm_control.report.pictures import draw_report

        for path in draw_report(Path(options.report), recording, model, target_list, osc, gate):
            console.print(f"wrote {path}")
    return int(is_early or not (report.success or not (options.duration or report.reaches)))


def _mode(options: RunOptions) -> str:
    if options.paced and not options.headless:
        return "lock step at the pace of the clock"
    return "lock step" if options.in_lock_step else "real time"


def _print_report(report: Report, period: float, console: Console) -> None:
    console.print(f"\n{report}\n", highlight=False, markup=False, soft_wrap=True)
    if report.reaches and any(not figure.kept and not figure.required for figure in report.figures):
        console.print("over: more than is aimed at, which does not count against the run", highlight=False)
    if not report.reaches:
        console.print(f"too short to judge: no target had its {period:g} s", highlight=False)
    else:
        console.print("every target was reached" if report.success else "[bold red]not every target was reached[/]")


def _print_answers(simulator: Mapping[str, str], console: Console) -> None:
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
