"""Latency of a control loop at 1, 2 and 4 kHz: from a state of a driver to its torque; all in one run, in turns.

Each contender is a process with operational space control and gate of a UR5; a driver in C sends states at a fixed rate
and times the answers. ``objects``, ``bytes`` and ``native`` answer over ROS topics: the node ``osc`` with message
objects, as it is, and with ``loop: native`` where it has that. ``serve`` and ``c`` answer over UDP: ``arm_control
serve``, and the same law and gate in a loop in C. Busy: a thread of the process needs Python's lock all the time. Fifo:
SCHED_FIFO for all threads. Lost: overtaken by a newer state, whose answer counts. Quantiles are medians over turns.

python benchmark/loop.py [--json FILE] [--picture FILE] [--states N] [--turns N] [--rates HZ ...]
    [--contenders NAME ...] [--quick]
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from measure import processor, versions

# isort: split
import numpy as np
import rclpy
from loop_controllers import HOME, LISTENING, PERIOD, namespace_of
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from arm_control import RobotModel, urdf_path
from arm_control.controllers import OscNodeParameters
from arm_control.core import NANOSECONDS
from arm_control.messages import JointStateWriter
from arm_control.nodes import LATCHED, STATE
from arm_control.processes import HEAD
from arm_control.processes import STATE as STATE_MARK

HERE = Path(__file__).parent
CONTENDERS = ("objects", "bytes", "native", "serve", "c")
OVER_UDP = ("serve", "c")
RATES = (1000, 2000, 4000)
WARM_UP = 100
"""States before each turn that do not count."""
PRIORITY = 60
"""Of the driver: the controllers are measured, not it."""
DOMAIN = 88
FIRST_NS = 1000 * NANOSECONDS
"""First stamp over UDP: behind all targets of the arm that is served."""
NS, VOID = ctypes.c_int64, ctypes.c_void_p


# -- what the driver's functions in C take -------------------------------------------------------------


class Run(ctypes.Structure):
    """``Run`` of loop.c."""

    _fields_ = (*((name, NS) for name in ("n", "period", "next_at", "end_at", "k")), ("sent", VOID), ("took", VOID))


class Message(ctypes.Structure):
    """``rcutils_uint8_array_t``: data, length, capacity, and an allocator of five pointers."""

    _fields_ = (("data", VOID), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t), ("allocator", VOID * 5))


class Ros(ctypes.Structure):
    """``Ros`` of loop.c."""

    _fields_ = tuple(
        (name, VOID)
        for name in (
            *("subscription", "publisher", "info", "taken", "state"),
            *("listen", "take", "publish", "run"),
        )
    ) + (("first_ns", NS), ("step_ns", NS))


class Allocator(ctypes.Structure):
    """``rcutils_allocator_t``."""

    _fields_ = (("pointers", VOID * 5),)


def message_of(content: bytes, capacity: int = 65536) -> Message:
    """Return a message in memory of the middleware's allocator."""
    rcutils, message = ctypes.CDLL("librcutils.so"), Message()
    rcutils.rcutils_get_default_allocator.restype = Allocator
    allocator = rcutils.rcutils_get_default_allocator()
    rcutils.rcutils_uint8_array_init(ctypes.byref(message), ctypes.c_size_t(capacity), ctypes.byref(allocator))
    ctypes.memmove(message.data, content, len(content))
    message.length = len(content)
    return message


# -- one driver for each contender ---------------------------------------------------------------------


class Driver(Protocol):
    """Sends states to one controller."""

    process: subprocess.Popen[str]

    def drive(self, run: Run) -> None:
        """Send the states of a run, and time the answers."""


class RosDriver:
    """States and commands over topics, for a controller in a namespace.

    Parameters
    ----------
    node : Node
        The driver's node.
    library : CDLL
        The compiled loop.c.
    process : Popen
        The controller.
    namespace : str
        Its namespace.
    """

    def __init__(self, node: Node, library: ctypes.CDLL, process: subprocess.Popen[str], namespace: str) -> None:
        self.process, self._library = process, library
        self._publisher = node.create_publisher(JointState, f"/{namespace}/joint_states", STATE)
        topic = f"/{namespace}/joint_commands"
        self._subscription = node.create_subscription(JointState, topic, lambda _: None, STATE, raw=True)
        names = RobotModel.from_urdf(urdf_path("ur5")).joint_names
        state = JointStateWriter(names, ("position", "velocity")).message(0, HOME, np.zeros(len(HOME)))
        self._messages = message_of(b""), message_of(state)
        self._info = ctypes.create_string_buffer(512)
        rcl = ctypes.CDLL("librcl.so")
        functions = {
            "listen": rcl.rcl_subscription_set_on_new_message_callback,
            "take": rcl.rcl_take_serialized_message,
            "publish": rcl.rcl_publish_serialized_message,
        }
        taken, sent = map(ctypes.addressof, self._messages)
        self._ros = Ros(
            subscription=self._subscription.handle.pointer,
            publisher=self._publisher.handle.pointer,
            info=ctypes.addressof(self._info),
            taken=taken,
            state=sent,
            first_ns=NANOSECONDS,
            step_ns=round(PERIOD * NANOSECONDS),
            **{name: ctypes.cast(function, VOID).value for name, function in functions.items()},
        )

    def is_connected(self) -> bool:
        """Return whether the controller hears states, and is heard."""
        return self._publisher.get_subscription_count() > 0 and self._subscription.get_publisher_count() > 0

    def drive(self, run: Run) -> None:
        """Send the states of a run, and time the answers."""
        self._library.drive_ros(ctypes.byref(run), ctypes.byref(self._ros))
        self._ros.first_ns += self._ros.step_ns * run.n


class UdpDriver:
    """States and torque in datagrams.

    Parameters
    ----------
    library : CDLL
        The compiled loop.c.
    process : Popen
        The controller, which prints its port.
    datagrams : socket
        The driver's own socket.
    """

    def __init__(self, library: ctypes.CDLL, process: subprocess.Popen[str], datagrams: socket.socket) -> None:
        self.process, self._library, self._socket = process, library, datagrams
        line = next(line for line in process.stdout or () if line.startswith(LISTENING))
        datagrams.connect(("127.0.0.1", int(line.split()[-1])))
        self._state = HEAD.pack(STATE_MARK, len(HOME), 0, 0) + HOME.tobytes() + bytes(HOME.nbytes)
        self._first_ns, self._step_ns = FIRST_NS, round(PERIOD * NANOSECONDS)

    def drive(self, run: Run) -> None:
        """Send the states of a run, and time the answers."""
        numbers = map(NS, (len(HOME), self._first_ns, self._step_ns))
        self._library.drive_udp(ctypes.byref(run), self._socket.fileno(), self._state, *numbers)
        self._first_ns += self._step_ns * run.n


class Latencies(NamedTuple):
    """Times from states to their answers.

    Attributes
    ----------
    took : ndarray, shape (n,)
        Time from each state to the first answer to it or a later one [ns]; infinite where none came.
    is_lost : ndarray of bool, shape (n,)
        Whether the state itself has no answer.
    """

    took: np.ndarray
    is_lost: np.ndarray

    @classmethod
    def of(cls, sent: np.ndarray, took: np.ndarray) -> Latencies:
        """Return those of states that were sent then; ``took`` is -1 where a state itself has no answer [ns]."""
        is_lost = took < 0
        arrived = np.where(is_lost, np.inf, sent + took)
        next_arrived = np.minimum.accumulate(arrived[::-1])[::-1]
        return cls(np.where(is_lost, next_arrived - sent, took), is_lost)


def latencies(driver: Driver, rate: int, n: int) -> Latencies:
    """Return those of ``n`` states."""
    sent, took = np.zeros((2, WARM_UP + n), dtype=np.int64)
    run = Run(n=WARM_UP + n, period=NANOSECONDS // rate, sent=sent.ctypes.data, took=took.ctypes.data)
    driver.drive(run)
    return Latencies.of(sent[WARM_UP:], took[WARM_UP:])


# -- all of them ---------------------------------------------------------------------------------------


class Case(NamedTuple):
    """What is measured: a contender, beside a busy thread or not, with SCHED_FIFO or not, at a rate [Hz]."""

    contender: str
    is_fifo: bool
    is_busy: bool
    rate: int

    def key(self) -> str:
        """Return the key of its figures; the plain one is that of 1 kHz."""
        parts = [self.contender, "busy" if self.is_busy else "alone", *(["fifo"] if self.is_fifo else [])]
        return ".".join(parts + ([] if self.rate == RATES[0] else [f"{self.rate}hz"]))


def available(names: list[str]) -> list[str]:
    """Return the contenders that there are here."""
    missing = set() if "loop" in OscNodeParameters.types() else {"native"}
    return [name for name in names if name not in missing]


def use_scheduler(policy: int, priority: int) -> bool:
    """Take a scheduler for this thread, and those that it starts; return whether that is allowed."""
    try:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except PermissionError:
        return False
    return True


Kind = tuple[str, bool]
"""A contender, and whether it has SCHED_FIFO."""


@contextmanager
def drivers(kinds: list[Kind]) -> Iterator[dict[Kind, Driver]]:
    """Start a controller for each contender, with SCHED_FIFO or without, and yield its driver."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        library = Path(folder) / "loop.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "loop.c"], check=True)
        started = {kind: _start(kind, library, running) for kind in kinds}
        use_scheduler(os.SCHED_FIFO, PRIORITY)  # the middleware's threads inherit it
        rclpy.init()
        node, compiled = rclpy.create_node("driver"), ctypes.CDLL(str(library))
        description = node.create_publisher(String, "/robot_description", LATCHED)
        description.publish(String(data=urdf_path("ur5").read_text()))
        driver_of: dict[Kind, Driver] = {}
        for kind, (process, datagrams) in started.items():
            if kind[0] in OVER_UDP:
                driver_of[kind] = UdpDriver(compiled, process, datagrams)
            else:
                driver_of[kind] = RosDriver(node, compiled, process, namespace_of(*kind))
        while not all(one.is_connected() for one in driver_of.values() if isinstance(one, RosDriver)):
            time.sleep(0.1)
        yield driver_of


def _start(kind: Kind, library: Path, running: ExitStack) -> tuple[subprocess.Popen[str], socket.socket]:
    """Start a controller, which ends with the context; return it and a socket for its answers."""
    contender, is_fifo = kind
    datagrams = running.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    datagrams.bind(("127.0.0.1", 0))
    fifo, port = "fifo" if is_fifo else "other", str(datagrams.getsockname()[1])
    command = [sys.executable, str(HERE / "loop_controllers.py"), contender, fifo, str(library), port]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    running.callback(process.wait)
    running.callback(process.kill)
    return process, datagrams


def order(driver: Driver, word: str) -> None:
    """Tell a controller to be ``busy`` or ``idle``."""
    assert driver.process.stdin is not None
    print(word, file=driver.process.stdin, flush=True)


def measure(cases: list[Case], states: int, turns: int) -> dict[Case, list[Latencies]]:
    """Return the latencies of each case in each turn, in which every case has its part of the states."""
    kinds = list(dict.fromkeys((case.contender, case.is_fifo) for case in cases))
    taken: dict[Case, list[Latencies]] = {case: [] for case in cases}
    with drivers(kinds) as driver_of:
        for _, case in itertools.product(range(turns), cases):
            driver = driver_of[case.contender, case.is_fifo]
            order(driver, "busy" if case.is_busy else "idle")
            time.sleep(0.1)
            taken[case].append(latencies(driver, case.rate, states))
            order(driver, "idle")
    return taken


def figures_of(turns: list[Latencies]) -> dict[str, float]:
    """Return the median of each quantile over the turns [us], the largest time, and the states without an answer.

    A pause of the machine, which lasts longer than all that is measured here, is in one turn and not in its median.
    """
    shares = {"p50_us": 50.0, "p99_us": 99.0, "p999_us": 99.9}
    quantiles = np.percentile([turn.took for turn in turns], list(shares.values()), axis=1, method="higher") * 1e-3
    medians = dict(zip(shares, np.median(quantiles, axis=1).tolist(), strict=True))
    largest = max(float(turn.took.max()) for turn in turns) * 1e-3
    lost, states = (float(sum(map(count, turns))) for count in (lambda t: t.is_lost.sum(), lambda t: len(t.took)))
    return {"lost": lost, "states": states, **medians, "max_us": largest}


def print_table(results: dict[Case, dict[str, float]], rate: int) -> None:
    """Print the table of one rate."""
    print(f"\n{rate} Hz: from a state to its answer [us]")
    print(f"{'':28}{'p50':>9}{'p99':>9}{'p99.9':>9}{'largest':>9}{'lost':>7}")
    for case, figures in results.items():
        if case.rate == rate:
            name = f"{case.contender:8}{'busy' if case.is_busy else 'alone':6}{'fifo' if case.is_fifo else ''}"
            row = "".join(f"{figures.get(key, np.nan):9.0f}" for key in ("p50_us", "p99_us", "p999_us", "max_us"))
            print(f"{name:28}{row}{figures['lost']:7.0f}")


def draw(results: dict[Case, list[Latencies]], rate: int, path: Path) -> None:
    """Draw the share of states that are not answered within a time, at one rate."""
    import matplotlib.pyplot as plt

    panels = sorted({case[1:3] for case in results})
    figure, grid = plt.subplots(1, len(panels), figsize=(3.1 * len(panels), 3.2), sharey=True, layout="constrained")
    for axes, panel in zip(np.atleast_1d(grid), panels, strict=True):
        for case, turns in results.items():
            if case[1:] == (*panel, rate):
                t = np.sort(np.concatenate([turn.took for turn in turns])) * 1e-3
                axes.step(t, 1.0 - np.arange(len(t)) / len(t), where="post", label=case.contender)
        is_fifo, is_busy = panel
        axes.set_title(
            f"{'SCHED_FIFO' if is_fifo else 'usual scheduler'},\n{'busy' if is_busy else 'idle'} thread beside it"
        )
        axes.set(xscale="log", yscale="log", xlim=(20.0, 3e4), xlabel="time [us]")
        axes.grid(alpha=0.3)
    np.atleast_1d(grid)[0].set_ylabel(f"states not answered by then, {rate} Hz")
    np.atleast_1d(grid)[0].legend()
    figure.savefig(path, dpi=90)


def main() -> None:
    """Print the tables; with ``--json`` write the figures too, with ``--picture`` draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--states", type=int, default=1000, help="states of a case in each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rates", type=int, nargs="+", default=RATES)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--quick", action="store_true", help="few states, one rate: to see that it works")
    options = parser.parse_args()
    if shutil.which("cc") is None:
        raise SystemExit("cc is needed: the driver is written in C")
    states, turns, rates = (200, 1, RATES[:1]) if options.quick else (options.states, options.turns, options.rates)
    os.environ |= {"ROS_DOMAIN_ID": str(DOMAIN), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    schedulers = (False, True) if use_scheduler(os.SCHED_FIFO, PRIORITY) else (False,)
    use_scheduler(os.SCHED_OTHER, 0)
    print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {versions('ros-rclpy', 'llvmlite')}")
    contenders = available(options.contenders)
    cases = [Case(*x) for x in itertools.product(contenders, schedulers, (False, True), rates)]
    cases.sort(key=lambda case: (case.rate, case.is_fifo, case.is_busy))  # contenders take turns
    taken = measure(cases, states, turns)
    results = {case: figures_of(took) for case, took in taken.items()}
    if options.picture:
        draw(taken, rates[0], options.picture)
    for rate in rates:
        print_table(results, rate)
    if options.json:
        named = {f"{case.key()}.{name}": value for case, found in results.items() for name, value in found.items()}
        options.json.write_text(json.dumps(named, indent=1))


if __name__ == "__main__":
    main()
