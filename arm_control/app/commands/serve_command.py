"""``arm_control serve``: a controller for a driver that is not ROS, over UDP."""

from __future__ import annotations

import argparse
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arm_control.app.commands.robot_options import add_robot_option, add_xacro_options, chosen_robot
from arm_control.core.files import file_parameters
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.messages.publisher_lock import Rejections

if TYPE_CHECKING:
    from arm_control.messages.datagrams import DatagramProcess
    from arm_control.simulation.scenario import Scenario

EXAMPLES = (
    "serve ur5",
    "serve --scenario ur5_osc",
    "serve my_arm.urdf --params-file gains.yaml --port 7000 --real-time-priority 50",
)
"""For the help."""
PORT = 7601
LARGEST = 65_535
"""Bytes of the largest datagram."""
MOST_WAITING = 100
"""Waiting datagrams of which the newest is answered."""


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
    add_xacro_options(serve)
    serve.set_defaults(command=_serve)


def _serve(options: argparse.Namespace) -> int:
    """Answer the states of a driver with torque, behind a gate, in datagrams.

    Their bytes: docs/real_robot.md, or the module arm_control.messages.datagrams.
    """
    from arm_control.nodes.support.real_time import RealTimeParameters, take_real_time_priority

    real_time = RealTimeParameters.from_mapping({"real_time_priority": options.real_time_priority})
    process = _process(options)
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
    return 0


def answer_newest(datagrams: socket.socket, process: DatagramProcess) -> None:
    """Wait for datagrams, and answer the newest one: an older state is not true any more.

    Parameters
    ----------
    datagrams : socket
        The socket that listens.
    process : DatagramProcess
        The controller.
    """
    from arm_control.messages.datagrams import ENABLE

    data, sender = datagrams.recvfrom(LARGEST)
    for _ in range(MOST_WAITING):
        try:
            newer = datagrams.recvfrom(LARGEST, socket.MSG_DONTWAIT)
        except BlockingIOError:
            break
        if data == ENABLE:
            process.on_datagram(data, _name(sender))
        data, sender = newer
    answer = process.on_datagram(data, _name(sender))
    if answer is not None:
        with suppress(OSError):  # the driver is out of reach
            datagrams.sendto(answer, sender)


def _name(sender: tuple[str, int]) -> str:
    return f"{sender[0]}:{sender[1]}"


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
    return DatagramProcess(model, loop, Rejections(_Printer()).add)


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
