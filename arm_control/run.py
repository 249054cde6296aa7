"""``arm_control run``: a scenario from start to report."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from arm_control.description.urdf import read_source
from arm_control.display import Console, Live, Progress, live_table
from arm_control.exceptions import ArmControlError, NodeDied
from arm_control.gate import GateParameters
from arm_control.model import RobotModel
from arm_control.nodes.base import ArmParameters, refuse_insecure
from arm_control.nodes.monitor import MonitorNode
from arm_control.parameters import Parameters
from arm_control.recording import Recording
from arm_control.report import Report, make_report
from arm_control.resources import urdf_path
from arm_control.run_options import RunOptions
from arm_control.runner import Processes, localhost_unless_told, recorder_arguments, wait_for_rest
from arm_control.scenario import Scenario
from arm_control.signals import StopRequest
from arm_control.spectator import Spectator, spectator
from arm_control.tuning import OscTuning, tuned
from arm_control.yaml_files import file_parameters

START_TIME = 30.0
"""Wall time within which the first state must have come [s]."""

DISCOVERY_TIME = 0.5
"""Wall time in which other nodes on this machine are found [s]."""

ARRIVAL_TIME = 5.0
"""Wall time that the last commands have, to arrive after their states; one that was lost is sent again [s]."""


def run_scenario(options: RunOptions, console: Console | None = None) -> int:
    """Run a scenario and report.

    Parameters
    ----------
    options : RunOptions
        What to run and how.
    console : rich.console.Console, optional
        Where to print.

    Returns
    -------
    int
        Exit status: 0 when every target was reached, 1 when not, 3 when a node died.
    """
    console = console or Console()
    scenario = options.load()
    if not options.cache:
        os.environ["ARM_CONTROL_CACHE"] = "off"  # for the nodes, too
    model = _model(scenario, options)
    refuse_insecure()
    localhost_unless_told()
    with _monitor(_awaited(scenario), options.namespace, scenario.simulator) as (monitor, executor):
        monitor.waits_for_recorder = bool(options.bag)
        if scenario.simulator:
            _refuse_company(monitor, executor)
        try:
            where = options.params_file, options.namespace, options.single_process
            with Processes(scenario, *where, recorder_arguments(scenario, options)) as processes, _gone_first(monitor):
                wanted = options.viewer and not options.headless
                with spectator(wanted, scenario.arm(), options.control, options.namespace) as page:
                    os.nice(10)  # watching must not cost the nodes time
                    _watch(processes, page, monitor, executor, options, console)
                end_ns = round(options.duration * 1e9) if options.duration else monitor.stamp_ns
                recording = monitor.recording(model).until(end_ns)
                for cause, count in monitor.left_out.items():
                    console.print(f"{count} messages left out: {cause}", markup=False, highlight=False)
        except NodeDied as died:
            console.print(f"[bold red]{died}[/]; the rest was braked and stopped")
            return 3
    return _conclude(scenario, model, recording, monitor.diagnostics, options, console)


def _model(scenario: Scenario, options: RunOptions) -> RobotModel:
    """The robot as the report sees it: the one of the controller."""
    arm = _own(ArmParameters, _parameters(scenario, options, scenario.controller))
    return ArmParameters.from_mapping(arm).model(read_source(urdf_path(scenario.robot))[0])


def _own(kind: type[Parameters], values: dict[str, Any]) -> dict[str, Any]:
    """Those of a node's parameters that belong to one class."""
    return {name: value for name, value in values.items() if name in kind.types()}


def _parameters(scenario: Scenario, options: RunOptions, node: str) -> dict[str, Any]:
    """Parameters of a node: the scenario's, then those of the user's file."""
    return {**scenario.nodes.get(node, {}), **file_parameters(options.params_file, node)}


@contextmanager
def _gone_first(monitor: MonitorNode) -> Iterator[None]:
    """Take the monitor away before the nodes: who watches others go may lock up in Fast DDS (its issue 6502)."""
    try:
        yield
    finally:
        monitor.destroy_node()


def _awaited(scenario: Scenario) -> dict[str, int]:
    """What the controller must know of before time starts: targets, and obstacles if it avoids them."""
    targets = scenario.nodes["targets"].get("count", 1) if "targets" in scenario.nodes else 0
    obstacles = sum(mover.span.holds(0.0) for mover in scenario.world.movers)
    avoids = any(parameters.get("avoid_obstacles") for parameters in scenario.nodes.values())
    avoids = avoids or "obstacle_avoidance" in scenario.nodes
    return {"targets": targets, **({"obstacles": obstacles} if avoids and obstacles else {})}


@contextmanager
def _monitor(
    awaited: Mapping[str, int], namespace: str, simulator: str
) -> Iterator[tuple[MonitorNode, SingleThreadedExecutor]]:
    arguments = ["--ros-args", "-r", f"__ns:=/{namespace.strip('/')}"] if namespace else None
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    monitor, executor = MonitorNode(awaited, simulator), SingleThreadedExecutor()
    executor.add_node(monitor)
    try:
        yield monitor, executor
    finally:
        monitor.destroy_node()
        rclpy.try_shutdown()


def _refuse_company(monitor: MonitorNode, executor: SingleThreadedExecutor) -> None:
    """Refuse to start where an arm is already being simulated or driven: the two would mix."""
    end = time.monotonic() + DISCOVERY_TIME
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
        if monitor.count_publishers("joint_states"):
            raise ArmControlError(
                "joint_states is published already: end the other run, or choose another ROS_DOMAIN_ID or --namespace"
            )


def _watch(
    processes: Processes,
    page: Spectator,
    monitor: MonitorNode,
    executor: SingleThreadedExecutor,
    options: RunOptions,
    console: Console,
) -> None:
    """Spin until the duration is over, Ctrl-C, or a node dies (then :class:`NodeDied`)."""
    stop, end = StopRequest(), End(options.duration)
    started = looked = time.monotonic()
    show = _headless_view if options.headless else _live_view
    with show(monitor, page, options, console) as refresh:
        while not stop.requested and not end.reached(monitor.stamp_ns, monitor.command_ns, time.monotonic()):
            try:
                executor.spin_once(timeout_sec=0.05)
            except ExternalShutdownException:
                break
            now = time.monotonic()
            if now - looked < 0.2:
                continue
            looked = now
            _show_output(processes, console, page.news())
            refresh()
            if dead := processes.dead():
                wait_for_rest()
                _show_output(processes, console)
                raise NodeDied(dead)
            if monitor.stamp_ns < 0 and now - started > START_TIME:
                raise NodeDied(f"no joint_states within {START_TIME:.0f} s")
        monitor.pause()
        _show_output(processes, console)
        refresh()


def _show_output(processes: Processes, console: Console, more: Sequence[str] = ()) -> None:
    """What the nodes have printed since the last call; above the live table, not through it."""
    for line in [*processes.new_output(), *more]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


class End:
    """When a run of some duration [s] is over: its states are here and so are their commands; 0: never."""

    def __init__(self, duration: float) -> None:
        self._end_ns = round(duration * 1e9) if duration else math.inf
        self._latest = math.inf

    def reached(self, state_ns: int, command_ns: int, now: float) -> bool:
        """Whether it is over, by the newest stamps [ns] and the steady clock [s]."""
        if state_ns < self._end_ns:
            return False
        self._latest = min(self._latest, now + ARRIVAL_TIME)
        return command_ns >= self._end_ns or now >= self._latest


@contextmanager
def _live_view(monitor: MonitorNode, page: Spectator, options: RunOptions, console: Console) -> Iterator[Any]:
    def table() -> Any:
        title = f"{options.scenario}, Ctrl-C ends it" + (f"\n{page.address}" if page.address else "")
        return live_table(title, monitor.stamp_ns, monitor.active_target, monitor.figures, monitor.diagnostics)

    with Live(table(), console=console, auto_refresh=False, transient=not console.is_terminal) as live:
        yield lambda: live.update(table(), refresh=True)


@contextmanager
def _headless_view(monitor: MonitorNode, _: Spectator, options: RunOptions, console: Console) -> Iterator[Any]:
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{options.scenario} in lock step", total=options.duration or None)
        yield lambda: progress.update(task, completed=max(monitor.stamp_ns, 0) * 1e-9)


def _conclude(
    scenario: Scenario,
    model: RobotModel,
    recording: Recording,
    diagnostics: dict[str, dict[str, str]],
    options: RunOptions,
    console: Console,
) -> int:
    """Print the report, write the pictures, and say whether the targets were reached."""
    if options.record:
        recording.save(options.record)
    target_list = scenario.targets()
    if target_list is None or recording.state_stamps.size < 2:
        console.print(f"{recording.state_stamps.size} states recorded; no targets of the scenario to report on")
        if options.report:
            console.print("no pictures were drawn for the same reason; --record FILE keeps the record")
        return 0
    values = _parameters(scenario, options, scenario.controller)
    osc = tuned(OscTuning, _own(OscTuning, values), model) if scenario.controller == "osc" else None
    gate = GateParameters.from_mapping(_own(GateParameters, values))
    report = make_report(recording, model, target_list, osc, gate)
    _print_report(report, recording, diagnostics, options, console)
    if options.report:
        from arm_control.pictures import draw_report

        for path in draw_report(Path(options.report), recording, model, target_list, osc, gate):
            console.print(f"wrote {path}")
    return 0 if report.success or not (options.duration or report.reaches) else 1


def _print_report(
    report: Report, recording: Recording, diagnostics: dict[str, dict[str, str]], options: RunOptions, console: Console
) -> None:
    mode = "lock step" if options.in_lock_step else "real time"
    console.print(f"\n{options.scenario}, {recording.duration:.3f} s of simulated time, {mode}\n", highlight=False)
    console.print(str(report), highlight=False, markup=False, soft_wrap=True)
    simulator = diagnostics.get("simulator", {})
    if not options.headless and "answered within 2 ms [%]" in simulator:
        console.print(
            f"\nstates answered within 2 ms: {simulator['answered within 2 ms [%]']} % of {simulator['states']}"
            f" (p50 {simulator['answer p50 [ms]']} ms, p99 {simulator['answer p99 [ms]']} ms)",
            highlight=False,
        )
    ends = {node: status["message"] for node, status in diagnostics.items()}
    if braking := [f"{node}: {message}" for node, message in ends.items() if "command for" in message]:
        console.print(f"[bold red]braked at the end[/] ({'; '.join(braking)})")
    console.print("every target was reached" if report.success else "[bold red]not every target was reached[/]")
