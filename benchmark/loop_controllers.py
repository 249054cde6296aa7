"""The controllers whose latency ``loop.py`` measures, each in a process of its own.

``python loop_controllers.py CONTENDER FIFO LIBRARY [PORT]``; ``busy`` and ``idle`` on standard input start and stop a
thread that needs Python's lock all the time.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import tempfile
import threading
from array import array
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arm_control import OscParameters, RobotModel, urdf_path
from arm_control.app import cli
from arm_control.control import OperationalSpaceController, kernels_of
from arm_control.core import NANOSECONDS
from arm_control.gate import GateParameters, JointLimits
from arm_control.maths import Array
from arm_control.nodes import STATE, OscNode, doubles, ros, run

LISTENING = "listening on "
"""How the line begins whose last word is a port."""
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
PRIORITY = 50
PERIOD = 1e-3
ENOUGH = 1_000_000
"""Ticks without a state, or between figures, that do not come: the arm does not brake between two turns."""


class ObjectNode(OscNode):
    """The node with message objects, as it was before it read bytes."""

    def on_model(self, first: bool) -> None:
        """Listen to message objects instead."""
        super().on_model(first)
        path, pipeline = self.control_path, self.pipeline
        entry = next(x for x in path.subscriptions if x[0].topic_name.endswith("joint_states"))
        path.subscriptions.remove(entry)
        self.destroy_subscription(entry[0])
        self._command = ros.joint_state(self.model.joint_names, 0)
        self._process, self._publishers = pipeline._process, (pipeline._commands, pipeline._array)
        path.subscribe(JointState, "joint_states", self._on_object, STATE)

    def _on_object(self, message: JointState, info: dict[str, Any]) -> None:
        command, result, _ = self._process.on_state(message, info, None)
        if command is None or result is None:
            return
        header, (commands, efforts) = self._command.header, self._publishers
        header.stamp.sec, header.stamp.nanosec = divmod(command.stamp_ns, NANOSECONDS)
        header.frame_id = command.frame_id
        self._command.effort = array("d", doubles(command.tau))
        commands.publish(self._command)
        efforts.publish(Float64MultiArray(data=self._command.effort))


def run_node(contender: str, is_fifo: bool) -> None:
    """Run the node ``osc`` in a namespace of its own."""
    p = {
        "max_missed": ENOUGH,
        "telemetry_every": ENOUGH,
        "real_time_priority": PRIORITY if is_fifo else 0,
        **({"loop": "native"} if contender == "native" else {}),
    }
    arguments = [part for name, value in p.items() for part in ("-p", f"{name}:={value}")]
    names = (f"__ns:=/{namespace_of(contender, is_fifo)}", "robot_description:=/robot_description")
    arguments += [part for name in names for part in ("-r", name)]
    node = ObjectNode if contender == "objects" else OscNode
    run(node, arguments=["osc", "--ros-args", "--log-level", "error", *arguments])


def namespace_of(contender: str, is_fifo: bool) -> str:
    """Return the namespace of a contender's topics."""
    return f"{contender}_{'fifo' if is_fifo else 'other'}"


def run_c(library: str, port: int, is_fifo: bool) -> None:
    """Run law and gate in C on datagrams; the socket's own port is printed."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    page = OperationalSpaceController(model, OscParameters(posture=tuple(HOME)))
    p = GateParameters()
    limits = JointLimits(model, p, p.rate_limit)
    kernel, *_ = kernels_of(model, page, limits)
    X = model.pose(HOME)
    own = {"reference": [*X.R.ravel(), *X.p], "numbers": page.numbers, "limits": limits.numbers, "dt": [PERIOD]}
    for name, values in own.items():
        kernel.inputs[name][: len(values)] = values
    kernel.inputs["tau_0"][:] = model.gravity(HOME)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))
    datagrams.connect(("127.0.0.1", port))
    print(f"{LISTENING}127.0.0.1 port {datagrams.getsockname()[1]}", flush=True)
    if is_fifo:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    addresses = [ctypes.c_void_p(x) for x in (kernel.address, *map(_address, ("q", "tau_0"), [kernel] * 2))]
    tau_1 = ctypes.c_void_p(kernel.outputs["tau_1"].ctypes.data)
    ctypes.CDLL(library).control_udp(datagrams.fileno(), *addresses, tau_1, ctypes.c_int64(model.nv))


def run_serve(is_fifo: bool) -> None:
    """Run ``arm_control serve``; it prints the socket's port. No gap is too long for it."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as parameters:
        parameters.write(f"/**/osc:\n  ros__parameters:\n    max_missed: {ENOUGH}\n")
        parameters.flush()
        fifo = ["--real-time-priority", str(PRIORITY)] if is_fifo else []
        cli.main(["serve", "ur5", "--port", "0", "--params-file", parameters.name, *fifo])


def _address(name: str, kernel: Any) -> int:
    values: Array = kernel.inputs[name]
    return int(values.ctypes.data)


def obey(is_busy: threading.Event) -> None:
    """Take orders from standard input, and end with it."""
    for line in sys.stdin:
        (is_busy.set if line.strip() == "busy" else is_busy.clear)()
    os._exit(0)


def burn(is_busy: threading.Event) -> None:
    """Keep Python's lock busy, with the usual scheduler: with a higher one nothing else would run."""
    while is_busy.wait():
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        x = 0
        while is_busy.is_set():
            x += 1


def main() -> None:
    """Run one controller."""
    contender, is_fifo, library = sys.argv[1], sys.argv[2] == "fifo", sys.argv[3]
    is_busy = threading.Event()
    for work in (obey, burn):
        threading.Thread(target=work, args=(is_busy,), daemon=True).start()
    if contender == "c":
        run_c(library, int(sys.argv[4]), is_fifo)
    elif contender == "serve":
        run_serve(is_fifo)
    else:
        run_node(contender, is_fifo)


if __name__ == "__main__":
    main()
