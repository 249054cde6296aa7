"""``arm_control run``: a scenario from start to report."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from arm_control.app.display import Console, Group, Live, Progress, live_table, print_summary
from arm_control.app.processes import (
    BRAKING_TIME,
    ScenarioProcesses,
    ViewerProcess,
    recorder_arguments,
    set_ros_defaults,
    viewer_process,
)
from arm_control.app.run_options import RunOptions
from arm_control.exceptions import ArmControlError, NodeDied
from arm_control.model import (
    ArmParameters,
    RobotModel,
    add_package_path,
    find_description,
    folders_near,
    read_description,
)
from arm_control.nodes import MonitorNode, ProcessEnd, check_environment, check_node_parameters, ros
from arm_control.simulation import Scenario

START_TIME = 30.0
"""Longest wall time until the first state [s]."""
DISCOVERY_TIME = 0.5
"""Wall time in which nodes on this machine usually find each other [s]."""
REFRESH_PERIOD = 0.2
"""Wall time between two updates of the display [s]."""
ARRIVAL_TIME = 5.0
"""Longest wall time between the last state and its command [s]; a lost command is sent again."""
SECOND_RUN = "joint_states is published already: end the other run, or choose another ROS_DOMAIN_ID or --namespace"


def run_scenario(options: RunOptions, console: Console | None = None) -> int:
    """Run a scenario and report.

    Parameters
    ----------
    options : RunOptions
        The options of the command line.
    console : rich.console.Console, optional
        Output; standard output by default.

    Returns
    -------
    int
        Exit status: 0 when every target was reached, 1 when not, 3 when a node died.
    """
    console = console or Console()
    scenario = options.load()
    check_node_parameters(scenario.nodes, options.params_file)
    if not options.cache:
        os.environ["ARM_CONTROL_CACHE"] = "off"  # the nodes inherit it
    model = _model(scenario, options)
    add_package_path(list(map(str, folders_near(find_description(scenario.robot)[0]))))  # for the viewer's meshes
    check_environment()
    set_ros_defaults()
    with _monitor(scenario, options.namespace) as (monitor, executor):
        monitor.waits_for_recorder = bool(options.bag)
        if scenario.simulator:
            _refuse_second_run(monitor, executor)
        recorder = recorder_arguments(scenario, options)
        nodes = ScenarioProcesses(
            scenario, options.params_file, options.namespace, options.single_process, options.arm, recorder
        )
        try:
            with nodes as processes, _destroyed_first(monitor):
                arm = options.controller_parameters(ArmParameters, scenario)
                has_viewer = options.viewer and not options.headless
                with viewer_process(has_viewer, arm, options.control, options.namespace) as viewer:
                    os.nice(10)  # the nodes have priority over the display
                    _watch(scenario, processes, viewer, monitor, executor, options, console)
                console.print("the nodes end, then the report is made")
                end_ns = round(options.duration * 1e9) if options.duration else monitor.stamp_ns
                recording = monitor.recording(model)
                recording = (recording.since_restart() if options.is_interactive else recording).until(end_ns)
                for cause, count in monitor.left_out.items():
                    console.print(f"{count} messages left out: {cause}", markup=False, highlight=False)
        except NodeDied as error:
            console.print(f"[bold red]{error}[/]; the arm braked and the other nodes were stopped")
            return 3
    return print_summary(scenario, model, recording, monitor.diagnostics, options, console, monitor.hand_ns)


def _model(scenario: Scenario, options: RunOptions) -> RobotModel:
    """Return the controller's model of the robot."""
    arm = options.controller_parameters(ArmParameters, scenario)
    return ArmParameters.from_mapping(arm).model(read_description(scenario.robot))


@contextmanager
def _destroyed_first(monitor: MonitorNode) -> Iterator[None]:
    """Destroy the monitor before the nodes end.

    A participant that notices the end of others may lock up in Fast DDS (its issue 6502).
    """
    try:
        yield
    finally:
        monitor.destroy_node()


@contextmanager
def _monitor(scenario: Scenario, namespace: str) -> Iterator[tuple[MonitorNode, SingleThreadedExecutor]]:
    arguments = ["--ros-args", "-r", f"__ns:=/{namespace.strip('/')}"] if namespace else []
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    targets = scenario.targets()
    first = None if targets is None else ros.pose_stamped(targets.targets[0], targets.frame, 0)
    monitor = MonitorNode(scenario.awaited(), scenario.simulator, first_target=first)
    executor = SingleThreadedExecutor()
    executor.add_node(monitor)
    try:
        yield monitor, executor
    finally:
        monitor.destroy_node()
        rclpy.try_shutdown()


def _refuse_second_run(monitor: MonitorNode, executor: SingleThreadedExecutor) -> None:
    """Refuse to start where another node simulates or drives an arm: the messages would mix.

    A run that is discovered later is refused by :func:`_watch`.
    """
    end = time.monotonic() + DISCOVERY_TIME
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
        if monitor.count_publishers("joint_states"):
            raise ArmControlError(SECOND_RUN)


def _watch(
    scenario: Scenario,
    processes: ScenarioProcesses,
    viewer: ViewerProcess,
    monitor: MonitorNode,
    executor: SingleThreadedExecutor,
    options: RunOptions,
    console: Console,
) -> None:
    """Show the run until its end or Ctrl-C.

    Raises
    ------
    NodeDied
        When a node has ended, or no state comes.
    ArmControlError
        When another run has been discovered; it is left alone.
    """
    stop = ProcessEnd()
    end = RunEnd(options.duration)
    started = refreshed = time.monotonic()
    display = _headless_display if options.headless else _live_display
    with display(scenario, monitor, viewer, options, console) as refresh:
        while not stop.signals and not end.is_reached(monitor.stamp_ns, monitor.command_ns, time.monotonic()):
            try:
                executor.spin_once(timeout_sec=0.05)
            except ExternalShutdownException:
                break
            now = time.monotonic()
            if now - refreshed < REFRESH_PERIOD:
                continue
            refreshed = now
            _print_output(processes, console, viewer.new_output())
            refresh()
            _raise_if_failed(scenario, processes, monitor, now - started, console)
        monitor.pause()
        _print_output(processes, console)
        refresh()


def _raise_if_failed(
    scenario: Scenario, processes: ScenarioProcesses, monitor: MonitorNode, elapsed: float, console: Console
) -> None:
    """Raise the errors of :func:`_watch`; ``elapsed`` is the wall time since the start [s]."""
    if ended := processes.describe_ended():
        time.sleep(BRAKING_TIME)
        _print_output(processes, console)
        raise NodeDied(ended)
    if not monitor.started and scenario.simulator and monitor.has_company:
        raise ArmControlError(SECOND_RUN)
    if monitor.stamp_ns < 0 and elapsed > START_TIME:
        raise NodeDied(f"no joint_states within {START_TIME:.0f} s")


def _print_output(processes: ScenarioProcesses, console: Console, more: Sequence[str] = ()) -> None:
    """Print new lines of the nodes, and more lines, above the live table."""
    for line in [*processes.new_output(), *more]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


class RunEnd:
    """The end of a run: its last state and that state's command have come.

    Parameters
    ----------
    duration : float
        Simulated time [s]; 0: without end.
    """

    def __init__(self, duration: float) -> None:
        self._end_ns = round(duration * 1e9) if duration else math.inf
        self._deadline = math.inf

    def is_reached(self, state_ns: int, command_ns: int, now: float) -> bool:
        """Return whether the run is over; the last command is awaited for :data:`ARRIVAL_TIME` at most.

        Parameters
        ----------
        state_ns, command_ns : int
            Stamps of the newest state and command [ns].
        now : float
            Steady clock [s].
        """
        if state_ns < self._end_ns:
            return False
        self._deadline = min(self._deadline, now + ARRIVAL_TIME)
        return command_ns >= self._end_ns or now >= self._deadline


@contextmanager
def _live_display(
    scenario: Scenario, monitor: MonitorNode, viewer: ViewerProcess, options: RunOptions, console: Console
) -> Iterator[Callable[[], None]]:
    """Show a live table; yields the function that updates it."""

    def table() -> Group:
        newest = monitor.stamp_ns, monitor.active_target, monitor.figures, monitor.diagnostics
        nodes = scenario.controller, scenario.simulator
        return live_table(f"{options.title}, Ctrl-C ends it", *newest, nodes, viewer.address)

    with Live(table(), console=console, auto_refresh=False, transient=not console.is_terminal) as live:
        yield lambda: live.update(table(), refresh=True)


@contextmanager
def _headless_display(
    _: Scenario, monitor: MonitorNode, __: ViewerProcess, options: RunOptions, console: Console
) -> Iterator[Callable[[], None]]:
    """Show a progress bar; yields the function that updates it."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{options.title} in lock step", total=options.duration or None)
        yield lambda: progress.update(task, completed=max(monitor.stamp_ns, 0) * 1e-9)
