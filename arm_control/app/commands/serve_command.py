"""``arm_control serve``: a controller for a driver that is not ROS, over UDP."""

from __future__ import annotations

import argparse
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.core import NANOSECONDS, printable
from arm_control.exceptions import InputError
from arm_control.messages import Rejections
from arm_control.processes import SILENCE, DatagramKey, OwnerConnection, bind, is_loopback, read_key

if TYPE_CHECKING:
    from arm_control.control import LoopParameters
    from arm_control.model import RobotModel
    from arm_control.processes import DatagramProcess, NativeDatagrams

    Served = tuple[RobotModel, LoopParameters, DatagramProcess]

EXAMPLES = (
    "serve ur5",
    "serve --scenario ur5_osc",
    "serve my_arm.urdf --params-file gains.yaml --port 7000 --real-time-priority 50",
)
PORT = 7301
"""Below 7400, where the ports begin on which the nodes of ROS find each other."""
LARGEST = 65_535
"""Bytes of the largest datagram."""
MOST_WAITING = 1000
"""Waiting datagrams that are looked at before an answer: more than the buffer of a socket holds."""
PERIOD = 1.0
"""Least time between two lines about one thing [s]."""
WITHOUT_KEY = (
    "arm_control: warning: whoever reaches this address may take the arm, or send states for its driver; "
    "--key-file keeps out whoever has no key"
)
"""Where others than this machine reach the socket."""
NATIVE, PYTHON = "native", "python"
"""What answers ordinary states."""


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    parser.add_argument("--scenario", default="", help="robot, controller, gains, limits and targets of a scenario")
    parser.add_argument("--params-file", default="", metavar="FILE", help="a ROS parameter file with the controller's")
    parser.add_argument("--port", type=int, default=PORT, help="UDP port to listen on; 0: any (default: %(default)s)")
    parser.add_argument("--address", default="127.0.0.1", help="address to listen on; default: this machine only")
    parser.add_argument(
        "--key-file", default="", metavar="FILE", help="key of all datagrams, 32 bytes that you alone can read"
    )
    parser.add_argument("--real-time-priority", type=int, default=0, metavar="N", help="SCHED_FIFO; 0: usual scheduler")
    parser.add_argument(
        "--loop", choices=(NATIVE, PYTHON), default=NATIVE, help="what answers ordinary states (default: %(default)s)"
    )
    parser.add_argument("--states", type=int, default=0, metavar="N", help="end after N answers; 0: never")
    shared.add_gravity_option(parser)
    shared.add_arm_options(parser)
    shared.add_trust_option(parser)


def run(options: argparse.Namespace) -> int:
    """Answer the states of a driver with torque, behind a gate, in datagrams.

    Their bytes: docs/serve.md, or the module arm_control.processes.datagrams.
    """
    from arm_control.control import RealTimeParameters
    from arm_control.nodes import take_real_time_priority

    if options.states < 0:
        raise InputError(f"--states {options.states}: a number of answers, or 0 for no end")
    if not options.address:  # the system takes that for all addresses
        raise InputError("--address is empty: 0.0.0.0 stands for all addresses of this machine")
    real_time = RealTimeParameters.from_mapping({"real_time_priority": options.real_time_priority})
    key = read_key(options.key_file) if options.key_file else None
    served = _served(options, key)
    process = served[2]
    changes = Changes(lambda text: print(text, flush=True))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, signals() as waker:
        try:
            bind(datagrams, options.address, options.port)
        except (OSError, OverflowError, TypeError) as error:  # TypeError: a name that cannot be encoded
            raise InputError(f"{options.address} port {options.port}: {error}") from error
        process.are_strangers_near = key is None and not is_loopback(datagrams)
        native = _native(options, served, datagrams, waker)
        print(f"listening on {options.address} port {datagrams.getsockname()[1]}", flush=True)
        if process.are_strangers_near:
            print(WITHOUT_KEY, file=sys.stderr, flush=True)
        if real_time.real_time_priority:
            print(take_real_time_priority(real_time.real_time_priority), flush=True)
        answer_states(datagrams, process, native, changes, options.states or sys.maxsize)
    return 0


def answer_states(
    datagrams: socket.socket,
    process: DatagramProcess,
    native: NativeDatagrams | None,
    changes: Changes,
    n_most: int,
) -> None:
    """Answer states until so many have been answered."""
    connection = OwnerConnection(datagrams)
    look_at = changes.look(process)
    while process.answered < n_most:
        connection.follow(process.heard_owner)
        if native is None:
            answer_newest(datagrams, process)
        elif native.wait(n_most - process.answered, _nanoseconds(look_at)):
            answer_waiting(datagrams, process)
        look_at = changes.look(process)


def answer_newest(datagrams: socket.socket, process: DatagramProcess) -> None:
    """Wait for datagrams, ``SILENCE`` at most, and answer the newest state of the owner: an older one is past."""
    if select.select([datagrams], [], [], SILENCE)[0]:
        answer_waiting(datagrams, process)


def answer_waiting(datagrams: socket.socket, process: DatagramProcess) -> None:
    """Take the datagrams that wait, and answer the newest state of the owner."""
    for _ in range(MOST_WAITING):
        try:
            process.take(*datagrams.recvfrom(LARGEST, socket.MSG_DONTWAIT))
        except BlockingIOError:
            break
        except ConnectionRefusedError:  # the owner has closed its port: an answer has come back
            continue
    answer = process.answer()
    if answer is not None and process.owner is not None:
        with suppress(OSError):  # the driver is out of reach
            datagrams.sendto(answer, process.owner)


@contextmanager
def signals() -> Iterator[int]:
    """Yield the end of a pipe that can be read once a signal has come, whatever Python does meanwhile."""
    waker, written = os.pipe()
    for end in (waker, written):
        os.set_blocking(end, False)
    is_main = threading.current_thread() is threading.main_thread()  # elsewhere no handler runs
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False) if is_main else -1
    try:
        yield waker
    finally:
        if is_main:
            signal.set_wakeup_fd(before)
        os.close(waker)
        os.close(written)


class Changes:
    """Says who sends states, and whether the gate brakes: one line a change, at most one in ``PERIOD`` about each."""

    def __init__(self, say: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._said: dict[str, tuple[object, float]] = {"owner": (None, -PERIOD), "gate": ("", -PERIOD)}

    def look(self, process: DatagramProcess) -> float:
        """Say what has changed; return the time for another look [s], infinite where there is nothing left to say."""
        gate, owner = process.loop.gate, process.owner
        reason = gate.reason if gate.is_braked or gate.is_resuming else ""
        text = f"{gate.state.value}: {printable(reason)}" if reason else "enabled: torque passes"
        return min(
            self._say_once("owner", owner, f"states come from {process.owner_name}"),
            self._say_once("gate", reason, text),
        )

    def _say_once(self, what: str, value: object, text: str) -> float:
        """Say a value that is new, unless the last line is too young; return when it may be said."""
        said, said_at = self._said[what]
        if value == said:
            return math.inf
        now = self._clock()
        if now - said_at < PERIOD:
            return said_at + PERIOD
        self._said[what] = value, now
        self._say(text)
        return math.inf


def _served(options: argparse.Namespace, key: DatagramKey | None) -> Served:
    """The arm of the options, parameters of its control loop, and the controller of a driver."""
    from arm_control.controllers import FollowController, OscLoopParameters, control_loop
    from arm_control.motion import Target
    from arm_control.processes import DatagramProcess
    from arm_control.simulation import arm_and_parameters

    scenario = shared.scenario_to_run(options)
    if not scenario.controller:
        raise InputError(f"{scenario.name} has no controller")
    model, parameters = arm_and_parameters(scenario)
    loop = control_loop(model, parameters, waits_for_commands=False)
    if isinstance(loop.controller, FollowController):
        loop.controller.prepare_poses()
    targets = scenario.targets() if isinstance(parameters, OscLoopParameters) else None
    if targets is not None:
        loop.goals = [
            Target(round(k * targets.period * NANOSECONDS), targets.frame, X, is_immediate=k == 0)
            for k, X in enumerate(targets.targets)
        ]
    is_weightless = shared.driver_adds_gravity(options, scenario.nodes)
    said = "torque without gravity, which the driver adds" if is_weightless else "torque carries the arm's weight, too"
    print(said, flush=True)
    log = SimpleNamespace(warning=lambda text: print(f"arm_control: {text}", file=sys.stderr, flush=True))
    refuse = Rejections(log).add
    process = DatagramProcess(model, loop, refuse, driver_adds_gravity=is_weightless, key=key)
    return model, parameters, process


def _native(
    options: argparse.Namespace, served: Served, datagrams: socket.socket, waker: int
) -> NativeDatagrams | None:
    """What answers ordinary states without Python, if that is chosen and possible; a line says so."""
    from arm_control.control import between_law_and_gate
    from arm_control.controllers import OscController, OscLoopParameters
    from arm_control.processes import NativeDatagrams, network_of, step_kernels_of, why_not_native

    model, parameters, process = served
    controller = process.loop.controller
    if options.loop == PYTHON:
        reason = "--loop python"
    elif options.key_file:
        reason = "--key-file"
    elif type(parameters) is not OscLoopParameters or not isinstance(controller, OscController):
        reason = "only operational space control can do without it"
    elif not (reason := ", ".join(between_law_and_gate(parameters))):
        kernels = step_kernels_of(model, process.loop, controller)
        if not (reason := why_not_native(kernels)):
            print("ordinary states are answered without Python", flush=True)
            network = network_of(datagrams, waker)
            return NativeDatagrams(model, process, controller, kernels, network)
    print(f"Python answers all states: {reason}", flush=True)
    return None


def _nanoseconds(t: float) -> int:
    """A time in nanoseconds, rounded up; the largest number of 64 bits for an infinite one."""
    return math.ceil(t * NANOSECONDS) if math.isfinite(t) else sys.maxsize
