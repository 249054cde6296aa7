"""``arm_control serve``: a controller for a driver that is not ROS, over UDP."""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arm_control.app.commands.robot_options import (
    add_gravity_option,
    add_robot_option,
    add_xacro_options,
    chosen_robot,
    driver_adds_gravity,
)
from arm_control.core.files import file_parameters
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.messages.publisher_lock import Rejections
from arm_control.model.urdf.xml import printable

if TYPE_CHECKING:
    from arm_control.messages.datagrams import DatagramProcess
    from arm_control.simulation.scenario import Scenario

EXAMPLES = (
    "serve ur5",
    "serve --scenario ur5_osc",
    "serve my_arm.urdf --params-file gains.yaml --port 7000 --real-time-priority 50",
)
"""For the help."""
PORT = 7301
"""Below 7400, where the ports begin on which the nodes of ROS find each other."""
LARGEST = 65_535
"""Bytes of the largest datagram."""
MOST_WAITING = 1000
"""Waiting datagrams that are looked at before an answer: more than the buffer of a socket holds."""
PERIOD = 1.0
"""Least time between two lines about one thing [s]."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of ``arm_control``."""
    serve = commands.add_parser("serve", description=_serve.__doc__)
    add_robot_option(serve)
    serve.add_argument("--scenario", default="", help="robot, controller, gains, limits and targets of a scenario")
    serve.add_argument("--params-file", default="", metavar="FILE", help="a ROS parameter file with the controller's")
    serve.add_argument("--port", type=int, default=PORT, help="UDP port to listen on; 0: any (default: %(default)s)")
    serve.add_argument("--address", default="127.0.0.1", help="address to listen on; default: this machine only")
    serve.add_argument("--real-time-priority", type=int, default=0, metavar="N", help="SCHED_FIFO; 0: usual scheduler")
    serve.add_argument("--states", type=int, default=0, metavar="N", help="end after N answers; 0: never")
    add_gravity_option(serve)
    add_xacro_options(serve)
    serve.set_defaults(command=_serve)


def _serve(options: argparse.Namespace) -> int:
    """Answer the states of a driver with torque, behind a gate, in datagrams.

    Their bytes: docs/real_robot.md, or the module arm_control.messages.datagrams.
    """
    from arm_control.nodes.support.real_time import RealTimeParameters, take_real_time_priority

    if options.states < 0:
        raise InputError(f"--states {options.states}: a number of answers, or 0 for no end")
    real_time = RealTimeParameters.from_mapping({"real_time_priority": options.real_time_priority})
    process = _process(options)
    changes = Changes(lambda text: print(text, flush=True))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        try:
            datagrams.bind((options.address, options.port))
        except (OSError, OverflowError) as error:
            raise InputError(f"{options.address} port {options.port}: {error}") from error
        print(f"listening on {options.address} port {datagrams.getsockname()[1]}", flush=True)
        if real_time.real_time_priority:
            print(take_real_time_priority(real_time.real_time_priority), flush=True)
        while not options.states or process.answered < options.states:
            answer_newest(datagrams, process)
            changes.look(process)
    return 0


def answer_newest(datagrams: socket.socket, process: DatagramProcess) -> None:
    """Wait for datagrams, and answer the newest state of the owner: an older one is not true any more.

    Parameters
    ----------
    datagrams : socket
        The socket that listens.
    process : DatagramProcess
        The controller.
    """
    process.take(*datagrams.recvfrom(LARGEST))
    for _ in range(MOST_WAITING):
        try:
            process.take(*datagrams.recvfrom(LARGEST, socket.MSG_DONTWAIT))
        except BlockingIOError:
            break
    answer = process.answer()
    if answer is not None and process.owner is not None:
        with suppress(OSError):  # the driver is out of reach
            datagrams.sendto(answer, process.owner)


class Changes:
    """Says who sends states, and whether the gate brakes: one line for a change, at most one in ``PERIOD`` about each.

    Parameters
    ----------
    say : callable
        Prints a line.
    clock : callable
        Returns the time of a steady clock [s].
    """

    def __init__(self, say: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._said: dict[str, tuple[object, float]] = {"owner": (None, -PERIOD), "gate": ("", -PERIOD)}

    def look(self, process: DatagramProcess) -> None:
        """Say what has changed.

        Parameters
        ----------
        process : DatagramProcess
            The controller.
        """
        gate, owner = process.loop.gate, process.owner
        if owner != self._said["owner"][0]:
            self._say_once("owner", owner, f"states come from {process.owner_name}")
        reason = gate.reason if gate.is_braked else ""
        if reason != self._said["gate"][0]:
            self._say_once("gate", reason, f"braking: {printable(reason)}" if reason else "enabled: torque passes")

    def _say_once(self, what: str, value: object, text: str) -> None:
        now = self._clock()
        if now - self._said[what][1] >= PERIOD:
            self._said[what] = value, now
            self._say(text)


class _Printer:
    """Prints what is refused, as a node logs it."""

    def warning(self, text: str) -> None:
        print(f"arm_control: {text}", file=sys.stderr, flush=True)


def _process(options: argparse.Namespace) -> DatagramProcess:
    """The controller of the options."""
    from arm_control.control.loop_parameters import OscLoopParameters, control_loop
    from arm_control.messages.datagrams import DatagramProcess
    from arm_control.motion.goals import Target
    from arm_control.simulation.scenario_control import arm_and_parameters

    scenario = _scenario(options)
    model, parameters = arm_and_parameters(scenario)
    loop = control_loop(model, parameters, waits_for_commands=False)
    targets = scenario.targets() if isinstance(parameters, OscLoopParameters) else None
    if targets is not None:
        for k, X in enumerate(targets.targets):
            loop.controller.add(Target(round(k * targets.period * NANOSECONDS), targets.frame, X))
    is_weightless = driver_adds_gravity(options, scenario.nodes)
    print("torque without gravity, which the driver adds" if is_weightless else "torque with gravity", flush=True)
    return DatagramProcess(model, loop, Rejections(_Printer()).add, driver_adds_gravity=is_weightless)


def _scenario(options: argparse.Namespace) -> Scenario:
    """The scenario of the options; a robot by itself has operational space control."""
    from arm_control.simulation.own_arm import bare_scenario
    from arm_control.simulation.scenario import Scenario

    if bool(options.scenario) == bool(options.robot or options.file):
        raise InputError("name a robot or, with --scenario, a scenario")
    scenario = Scenario.load(options.scenario).variant("") if options.scenario else bare_scenario(chosen_robot(options))
    if not (name := scenario.controller):
        raise InputError(f"{scenario.name} has no controller")
    values = {**scenario.nodes[name], **file_parameters(options.params_file, name)}
    return replace(scenario, nodes={**scenario.nodes, name: values})
