"""``arm_control run``: a scenario from start to report."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from arm_control.app.conclusion import conclude, parameters_of
from arm_control.app.display import Console, Live, Progress, live_table
from arm_control.app.run_options import RunOptions
from arm_control.app.runner import Processes, localhost_unless_told, recorder_arguments, wait_for_rest
from arm_control.app.spectator import Spectator, spectator
from arm_control.core.files import urdf_path
from arm_control.core.signals import StopRequest
from arm_control.exceptions import ArmControlError, NodeDied
from arm_control.model import RobotModel
from arm_control.model.arm_parameters import ArmChoices
from arm_control.model.urdf.load import read_source
from arm_control.nodes.support.arm_node import ArmParameters, check_environment
from arm_control.nodes.tools.run_monitor import MonitorNode
from arm_control.simulation.scenario import Scenario

START_TIME = 30.0
"""Wall time within which the first state must have come [s]."""

DISCOVERY_TIME = 0.5
"""Wall time in which other nodes on this machine are found, as a rule [s]; who is found later is refused, too."""

COMPANY = "joint_states is published already: end the other run, or choose another ROS_DOMAIN_ID or --namespace"

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
    check_environment()
    localhost_unless_told()
    with _monitor(_awaited(scenario), options.namespace, scenario.simulator) as (monitor, executor):
        monitor.waits_for_recorder = bool(options.bag)
        if scenario.simulator:
            _refuse_company(monitor, executor)
        try:
            where = options.params_file, options.namespace, options.single_process
            with Processes(scenario, *where, recorder_arguments(scenario, options)) as processes, _gone_first(monitor):
                wanted = options.viewer and not options.headless
                arm = parameters_of(ArmChoices, scenario, options)
                with spectator(wanted, arm, options.control, options.namespace) as page:
                    os.nice(10)  # watching must not cost the nodes time
                    _watch(scenario, processes, page, monitor, executor, options, console)
                end_ns = round(options.duration * 1e9) if options.duration else monitor.stamp_ns
                recording = monitor.recording(model).until(end_ns)
                for cause, count in monitor.left_out.items():
                    console.print(f"{count} messages left out: {cause}", markup=False, highlight=False)
        except NodeDied as died:
            console.print(f"[bold red]{died}[/]; the rest was braked and stopped")
            return 3
    return conclude(scenario, model, recording, monitor.diagnostics, options, console)


def _model(scenario: Scenario, options: RunOptions) -> RobotModel:
    """The robot as the report sees it: the one of the controller."""
    arm = parameters_of(ArmParameters, scenario, options)
    return ArmParameters.from_mapping(arm).model(read_source(urdf_path(scenario.robot))[0])


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
            raise ArmControlError(COMPANY)


def _watch(
    scenario: Scenario,
    processes: Processes,
    page: Spectator,
    monitor: MonitorNode,
    executor: SingleThreadedExecutor,
    options: RunOptions,
    console: Console,
) -> None:
    """Spin until the duration is over, Ctrl-C, or a node dies (then :class:`NodeDied`).

    Another run that was found late is left alone, by an error.
    """
    stop, end = StopRequest(), End(options.duration)
    started = looked = time.monotonic()
    show = _headless_view if options.headless else _live_view
    with show(scenario, monitor, page, options, console) as refresh:
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
            if not monitor.started and scenario.simulator and monitor.has_company:
                raise ArmControlError(COMPANY)
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
def _live_view(
    scenario: Scenario, monitor: MonitorNode, page: Spectator, options: RunOptions, console: Console
) -> Iterator[Any]:
    def table() -> Any:
        newest = monitor.stamp_ns, monitor.active_target, monitor.figures, monitor.diagnostics
        nodes = scenario.controller, scenario.simulator
        return live_table(f"{options.scenario}, Ctrl-C ends it", *newest, nodes, page.address)

    with Live(table(), console=console, auto_refresh=False, transient=not console.is_terminal) as live:
        yield lambda: live.update(table(), refresh=True)


@contextmanager
def _headless_view(
    _: Scenario, monitor: MonitorNode, __: Spectator, options: RunOptions, console: Console
) -> Iterator[Any]:
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{options.scenario} in lock step", total=options.duration or None)
        yield lambda: progress.update(task, completed=max(monitor.stamp_ns, 0) * 1e-9)
