"""``arm_control run``: a scenario from start to report, with its output in the terminal."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from arm_control.app.processes import (
    BRAKING_TIME,
    ScenarioProcesses,
    namespace_arguments,
    recorder_arguments,
    set_ros_defaults,
)
from arm_control.app.run_options import RunOptions
from arm_control.control import FAULT, OscTuning, resolve_parameters
from arm_control.core import write_text
from arm_control.exceptions import ArmControlError, MissingExtra, NodeDied
from arm_control.gate import GateParameters
from arm_control.model import (
    ArmParameters,
    RobotModel,
    add_package_path,
    find_description,
    folders_near,
    read_description,
)
from arm_control.motion import timed_waypoints, trajectory_text
from arm_control.nodes import MonitorNode, ProcessEnd, check_environment, check_node_parameters, ros
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

Diagnostics = Mapping[str, Mapping[str, str]]
"""Newest ``/diagnostics`` by node: values by key."""
START_TIME = 180.0
"""Longest wall time until the first state [s]: a busy machine compiles for a minute; nodes that end are noticed."""
DISCOVERY_TIME = 0.5
"""Wall time in which nodes on this machine usually find each other [s]."""
REFRESH_PERIOD = 0.2
"""Wall time between two updates of the display [s]."""
ARRIVAL_TIME = 5.0
"""Longest wall time between the last state and its command [s]; a lost command is sent again."""
SAME_POSTURE = 1e-3
"""Way of a joint from one waypoint to the next that counts as none [rad or m]."""
SKIP = "; Ctrl-C again skips it"
SECOND_RUN = "joint_states is published already: end the other run, or choose another ROS_DOMAIN_ID or --namespace"


def run_scenario(options: RunOptions) -> int:
    """Run a scenario and report.

    Returns
    -------
    int
        Exit status: 0 when every target was reached, 1 when not, or as :func:`print_summary` says, 3 when a node died.
    """
    console, scenario = Console(), options.load()
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
        recorder, viewer = recorder_arguments(scenario, options), {}
        arm = options.controller_parameters(ArmParameters, scenario)
        if options.viewer and not options.headless:
            viewer = {"viewer": {**arm, "control": options.control}, "visuals": arm}
        nodes = ScenarioProcesses(
            scenario, options.params_file, options.namespace, options.single_process, options.arm, recorder, viewer
        )
        try:
            with nodes as processes, _destroyed_first(monitor):
                os.nice(10)  # the nodes have priority over the display
                stop = _watch(scenario, processes, monitor, executor, options, console)
                monitor.fetch()
                console.print(f"the nodes end, then the report is made{'' if options.duration else SKIP}")
        except NodeDied as error:
            console.print(f"[bold red]{error}[/]; the arm braked and the other nodes were stopped")
            return 3
    return unless_skipped(stop.signals, lambda: _report(scenario, model, monitor, options, console), console)


def unless_skipped(signals: Sequence[int], report: Callable[[], int], console: Console) -> int:
    """Make a report, and return the exit status; 130 without one, where Ctrl-C is pressed again before its end."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if len(signals) < 2:
            return report()
    except KeyboardInterrupt:
        pass
    console.print("no report")
    return 130


def _report(scenario: Scenario, model: RobotModel, monitor: MonitorNode, options: RunOptions, console: Console) -> int:
    """Make the report of a run whose nodes have ended; return the exit status."""
    with console.status("the report is made"):
        recording = monitor.recording(model)
    if options.waypoints:
        console.print(write_waypoints(options.waypoints, recording, monitor.waypoints_ns, model, scenario.robot))
    end_ns = monitor.begin_ns + round(options.duration * 1e9) if options.duration else monitor.stamp_ns
    recording = (recording.since_restart() if options.is_interactive else recording).until(end_ns)
    for cause, count in monitor.left_out.items():
        console.print(f"{count} messages left out: {cause}", markup=False, highlight=False)
    if n_before := monitor.state_log.n_dropped:
        seconds = (
            (recording.state_stamps[0] - monitor.state_log.first_ns) * 1e-9 if recording.state_stamps.size else 0.0
        )
        largest = monitor.command_log.largest_dropped(model)
        share = "" if largest is None else f", torque at most {(largest / model.tau_max).max():.2f} of a limit"
        console.print(f"the last {recording.duration:.0f} s; before them {seconds:.0f} s, {n_before} states{share}")
    return print_summary(
        scenario, model, recording, monitor.diagnostics, options, console, monitor.hand_ns, monitor.begin_ns
    )


def write_waypoints(path: str, recording: Recording, stamps_ns: Sequence[int], model: RobotModel, robot: str) -> str:
    """Write a trajectory through the postures at some stamps [ns], without repeated ones; say what was written."""
    rows = np.searchsorted(recording.state_stamps, stamps_ns, "right") - 1
    qs = recording.q[np.maximum(rows, 0)] if recording.state_stamps.size else recording.q
    kept = [k for k in range(len(qs)) if not k or np.abs(qs[k] - qs[k - 1]).max() > SAME_POSTURE]
    if len(kept) < 2:
        return f"{len(kept)} waypoints: two are needed, {path} was not written"
    points = timed_waypoints(qs[kept], model.v_max)
    write_text(Path(path), trajectory_text("Waypoints that a hand has shown.", robot, model.joint_names, points))
    return f"wrote {path}: {len(kept)} waypoints, `arm_control play {path}` follows them"


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
    rclpy.init(args=["--ros-args", *namespace_arguments(namespace)], signal_handler_options=SignalHandlerOptions.NO)
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
    monitor: MonitorNode,
    executor: SingleThreadedExecutor,
    options: RunOptions,
    console: Console,
) -> ProcessEnd:
    """Show the run until its end or Ctrl-C; return what notes signals from then on.

    Raises
    ------
    NodeDied
        When a node has ended or refuses the robot, or no state comes.
    ArmControlError
        When another run has been discovered; it is left alone.
    """
    stop = ProcessEnd()
    end = RunEnd(options.duration)
    started = refreshed = time.monotonic()
    display = _headless_display if options.headless else _live_display
    with display(scenario, monitor, processes, options, console) as refresh:
        while not (stop.signals or end.is_reached(*monitor.newest_ns, time.monotonic())):
            try:
                executor.spin_once(timeout_sec=0.05)
            except ExternalShutdownException:
                break
            now = time.monotonic()
            if now - refreshed < REFRESH_PERIOD:
                continue
            refreshed = now
            if options.waypoints and is_enter_pressed():
                monitor.take_waypoint()
            _print_output(processes, console)
            refresh()
            _raise_if_failed(scenario, processes, monitor, now - started, console)
        monitor.pause()
        _print_output(processes, console)
        refresh()
    return stop


def is_enter_pressed() -> bool:
    """Whether Enter was pressed on the terminal, once for each time; not Ctrl-D, and not where there is none."""
    is_terminal = sys.stdin.isatty()
    return is_terminal and bool(select([sys.stdin], [], [], 0.0)[0]) and sys.stdin.readline().endswith("\n")


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
    if monitor.refusal:
        raise NodeDied(monitor.refusal)
    if monitor.stamp_ns < 0 and elapsed > START_TIME:
        raise NodeDied(f"no joint_states within {START_TIME:.0f} s")


def _print_output(processes: ScenarioProcesses, console: Console) -> None:
    """Print new lines of the nodes above the live table."""
    for line in processes.new_output():
        console.print(line, markup=False, highlight=False, soft_wrap=True)


class RunEnd:
    """The end of a run of so much simulated time [s], or of one without end (0): its last state has its command."""

    def __init__(self, duration: float) -> None:
        self._end_ns = round(duration * 1e9) if duration else math.inf
        self._deadline = math.inf

    def is_reached(self, state_ns: int, command_ns: int, now: float) -> bool:
        """Return whether the run is over; the last command is awaited for :data:`ARRIVAL_TIME` at most.

        By the newest state and command, from the begin of the run [ns], and the steady clock [s].
        """
        if state_ns < self._end_ns:
            return False
        self._deadline = min(self._deadline, now + ARRIVAL_TIME)
        return command_ns >= self._end_ns or now >= self._deadline


@contextmanager
def _live_display(
    scenario: Scenario, monitor: MonitorNode, processes: ScenarioProcesses, options: RunOptions, console: Console
) -> Iterator[Callable[[], None]]:
    """Show a live table; yields the function that updates it."""

    def table() -> Group:
        newest = monitor.stamp_ns, monitor.active_target, monitor.figures, monitor.diagnostics
        nodes = scenario.controller, scenario.simulator
        return live_table(f"{options.title}, Ctrl-C ends it", *newest, nodes, processes.address)

    with Live(table(), console=console, auto_refresh=False, transient=not console.is_terminal) as live:
        yield lambda: live.update(table(), refresh=True)


@contextmanager
def _headless_display(
    _: Scenario, monitor: MonitorNode, __: ScenarioProcesses, options: RunOptions, console: Console
) -> Iterator[Callable[[], None]]:
    """Show a progress bar; yields the function that updates it."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{options.title} in lock step", total=options.duration or None)
        yield lambda: progress.update(task, completed=max(monitor.stamp_ns, 0) * 1e-9)


# -- what is shown and said --------------------------------------------------------------------------------


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
        **_hand_rows(figures),
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


def _hand_rows(figures: Mapping[str, float]) -> dict[str, str]:
    """Place of a guided hand, and the force on it; nothing where no controller says them."""
    if math.isnan(force := figures.get("hand_force", math.nan)):
        return {}
    place = " ".join(f"{figures[f'hand_{axis}']:.3f}" for axis in "xyz")
    return {"hand [m]": place, "force on the hand [N]": f"{force:.1f}"}


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
    begin_ns: int = 0,
) -> int:
    """Print the report of a run; write its record and its pictures.

    Parameters
    ----------
    begin_ns : int
        Stamp from which the duration counts [ns].
    hand_ns : int, optional
        Stamp from which a person set targets [ns]; a scenario's own targets are judged until then.

    Returns
    -------
    int
        Exit status: 1 when a target was missed that the scenario does not mean to miss, the plant started over, the arm
        was braked at the end, or the run was ended early; 0 when not, and when a person had the controls.
    """
    if options.record:
        recording.save(options.record)
    n_states = recording.state_stamps.size
    console.print(f"\n{options.title}, {recording.duration:.3f} s of simulated time, {_mode(options)}", highlight=False)
    first = (recording.state_stamps[0] - begin_ns) * 1e-9 if n_states else 0.0
    if first > 0.01:
        console.print(
            f"times of the pictures count from its first state, {first:.3f} s after the start", highlight=False
        )
    last_ns = recording.state_stamps[-1] - begin_ns if n_states else -1
    is_early = options.duration > 0.0 and last_ns < round(options.duration * 1e9)
    if is_early:
        console.print(f"[bold]ended early[/]: {options.duration:g} s were requested", highlight=False)
    brakes = _brakes(diagnostics)
    if brakes:
        console.print(f"[bold red]MISS  braked at the end[/] ({'; '.join(brakes)})")
    _print_stalls(diagnostics, console)
    targets = scenario.targets()
    is_by_hand = targets is None or hand_ns is not None or (options.is_interactive and not options.duration)
    if targets is not None and hand_ns is not None:
        recording = recording.until(hand_ns)
        hand = f"{(hand_ns - begin_ns) * 1e-9:.1f} s after the start"
        console.print(f"targets were set by hand from {hand} on: figures until then", highlight=False)
    if recording.state_stamps.size < 2:
        console.print(f"{n_states} states recorded: no figures", highlight=False)
        return int(is_early or bool(brakes))
    targets = targets or hand_targets(model.base)
    osc = None
    if scenario.reaches_poses:
        osc = resolve_parameters(OscTuning, options.controller_parameters(OscTuning, scenario), model).law
    gate = GateParameters.from_mapping(options.controller_parameters(GateParameters, scenario))
    report = make_report(recording, model, targets, osc, gate)
    _print_report(report, targets.period, console, is_braked=bool(brakes), may_miss=scenario.expects_misses)
    if not options.headless:
        _print_latency(diagnostics.get(scenario.simulator, {}), console)
    if options.report:
        _draw(report, options.report, (recording, model, targets, osc, gate), console)
    has_no_target_to_judge = not (options.duration or report.reaches)
    is_fine = report.success or has_no_target_to_judge or scenario.expects_misses
    is_missed = bool(brakes or recording.restarts) or not is_fine
    return int(is_early or (is_missed and not is_by_hand))


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


def _print_report(report: Report, period: float, console: Console, *, is_braked: bool, may_miss: bool) -> None:
    console.print(f"\n{report}\n", highlight=False, markup=False, soft_wrap=True)
    if report.reaches and any(not figure.kept and not figure.required for figure in report.figures):
        console.print("over: above the recommended value; the run can still succeed", highlight=False)
    if not report.reaches:
        console.print(f"too short to judge: no target had its {period:g} s", highlight=False)
    elif not report.has_reached_all and may_miss:
        console.print("not every target was reached: the scenario has targets to be missed")
    elif not report.has_reached_all:
        console.print("[bold red]not every target was reached[/]")
    elif is_braked or not report.success:
        console.print("[bold red]no success[/]: what is missed is marked MISS")
    else:
        console.print("every target was reached")


def _print_latency(simulator: Mapping[str, str], console: Console) -> None:
    if "answered within 2 ms [%]" in simulator:
        console.print(
            f"states answered within 2 ms: {simulator['answered within 2 ms [%]']} % of {simulator['states']}"
            f" (p50 {simulator['answer p50 [ms]']} ms, p99 {simulator['answer p99 [ms]']} ms)",
            highlight=False,
        )


def _brakes(diagnostics: Diagnostics) -> list[str]:
    """What brakes at the end, and why."""
    return [f"{node}: {status['message']}" for node, status in diagnostics.items() if status.get("braked") == "True"]


def _print_stalls(diagnostics: Diagnostics, console: Console) -> None:
    for node, status in diagnostics.items():
        if stall := status.get(FAULT):
            console.print(f"{node}: {FAULT}: {stall}", highlight=False, markup=False, soft_wrap=True)
