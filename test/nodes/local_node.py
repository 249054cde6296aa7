"""Nodes of the package in the process of a test: what the tests use of a process, in simulated time."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partialmethod
from typing import Any
from unittest import mock

from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation as logging
from rclpy.node import Node

from arm_control.exceptions import ArmControlError
from arm_control.messages import JointStateReader
from arm_control.nodes import poll
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.running import node_factory
from arm_control.processes import ControllerProcess, GateProcess

TURN = 1e-3
"""Simulated time of a turn in which a node has something to do [s]."""
ON_REAL_TIME = ("node_process", "native_loop", "tools")
"""Modules of nodes that wait for the middleware or for a process, and commands."""


class SimulatedTime:
    """Takes the place of the module ``time`` in nodes: its clocks go only where :meth:`advance` lets them."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.has_native_loop = False
        self._written: dict[tuple[str, int], int] = {}
        self._patches = contextlib.ExitStack()

    def perf_counter(self) -> float:
        return self.now

    monotonic = perf_counter

    def time_ns(self) -> int:
        """Time of the middleware, which the native loop takes from the machine."""
        return time.time_ns() if self.has_native_loop else round(self.now * 1e9)

    def date(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return the info of a message that is taken now; one that is taken twice keeps its time of publication."""
        if self.has_native_loop:
            return info
        taken_ns, message = self.time_ns(), (str(info["publisher_gid"]), info["source_timestamp"])
        written_ns = self._written.setdefault(message, taken_ns + len(self._written) % 1000)
        return {**info, "source_timestamp": written_ns, "received_timestamp": taken_ns}

    def advance(self, until: float) -> None:
        """Go on to a time, at least a little."""
        self.now = max(until, self.now + 1e-6)

    def take_over(self) -> None:
        """Be the clock of all nodes that are imported by now."""
        for name, module in list(sys.modules.items()):
            is_node = name.startswith("arm_control.nodes.") and not any(
                part in ON_REAL_TIME for part in name.split(".")
            )
            if is_node and getattr(module, "time", None) is time:
                self._patches.enter_context(mock.patch.object(module, "time", self))

    def end(self) -> None:
        """Give the nodes the clock of the machine back."""
        self._patches.close()


class SimulatedTimer:
    """A timer of a node on its control path, whose clock is a :class:`SimulatedTime`."""

    def __init__(self, node: ArmNode[Any], period: float, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback
        node.control_path.every(period, self._call)

    def _call(self) -> None:
        if self._callback is not None:
            self._callback()

    def cancel(self) -> None:
        self._callback = None

    def is_canceled(self) -> bool:
        return self._callback is None


@contextlib.contextmanager
def local_nodes(clock: SimulatedTime, note: Callable[[str, str], None]) -> Iterator[None]:
    """Give the nodes that are made meanwhile a clock, and note what all nodes log, with the name of the logger."""
    log, create_timer = logging.rclpy_logging_rcutils_log, Node.create_timer

    def logged(severity: int, name: str, message: str, *where: Any) -> None:
        note(name, message)
        log(severity, name, message, *where)

    def timer(self: Node, period: float, callback: Callable[[], None], *others: Any, **options: Any) -> Any:
        if isinstance(self, ArmNode):
            return SimulatedTimer(self, period, callback)
        return create_timer(self, period, callback, *others, **options)

    with (
        mock.patch.object(logging, "rclpy_logging_rcutils_log", logged),
        mock.patch.object(Node, "create_timer", timer),
        mock.patch.dict(GateProcess.__init__.__kwdefaults__, clock=clock.monotonic, clock_ns=clock.time_ns),
        mock.patch.dict(JointStateReader.__init__.__kwdefaults__, clock_ns=clock.time_ns),
        mock.patch.object(ControllerProcess.__init__, "__defaults__", (clock.time_ns, None)),
    ):
        try:
            yield
        finally:
            clock.end()


class LocalNode:
    """A node of the package in this process.

    It can be stopped and go on, as a process can, and it ends as one does: with a sentence and status 2 where the
    package's own errors end it.

    Parameters
    ----------
    name : str
        The node.
    arguments : sequence of str
        Its arguments of ROS.
    context : Context
        Its context.
    clock : SimulatedTime
        Its clock.
    lines : dict of str to list of str
        What nodes log, by logger.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], context: Context, clock: SimulatedTime, lines: dict[str, list[str]]
    ) -> None:
        self.name, self.arguments, self.context = name, list(arguments), context
        self.returncode: int | None = None
        self.node: ArmNode[Any] | None = None
        self._lines, self._printed = lines, []
        self._is_stopped = self._is_ending = False
        self._clock, self.logger = clock, name

    def make(self) -> None:
        """Make the node; what refuses its parameters ends it."""
        factory = node_factory(self.name)
        self._clock.take_over()
        made = partialmethod(Node.__init__, context=self.context, cli_args=self.arguments)
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(Node, "__init__", made))
            if threading.current_thread() is threading.main_thread():  # else a command prints there
                stack.enter_context(contextlib.redirect_stdout(self))
            stack.enter_context(self._refused())
            self.node = factory()
        if self.node is not None:
            self.logger = self.node.get_logger().name

    @contextlib.contextmanager
    def _refused(self) -> Iterator[None]:
        """Note an error of the package, which ends the node."""
        try:
            yield
        except ArmControlError as error:
            self._printed.append(f"arm_control: {error}\n")
            self.end(2)

    def write(self, text: str) -> None:
        self._printed.append(text)

    def flush(self) -> None:
        """Do nothing: what is printed is there at once."""

    def log(self) -> str:
        return "".join(f"{line}\n" for line in self._lines.get(self.logger, [])) + "".join(self._printed)

    @property
    def is_served(self) -> bool:
        return self.node is not None and not self._is_stopped

    def serve(self) -> int:
        """Handle a message of each subscription, and the periodic calls that are due; return how many messages."""
        path, n = self.node.control_path, 0
        with self._refused():
            for subscription, callback in path.entries_in_turn():
                for message, info in itertools.islice(poll(subscription), 1):
                    callback(message, self._clock.date(info))
                    n += 1
            for call in path.periodic_calls:
                call.call_if_due()
            if self._is_ending and self.node.may_end():
                self.end(0)
        return n

    def next_call(self) -> float:
        """Time of the next periodic call."""
        return min((call.due for call in self.node.control_path.periodic_calls), default=float("inf"))

    def end(self, status: int) -> None:
        self.returncode = status
        node, self.node = self.node, None
        if node is not None:
            node.destroy_node()

    # -- as of a process -----------------------------------------------------------------------------

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, seconds: float = 0.0) -> int:
        """Wait for the end, which comes in another thread."""
        end = time.monotonic() + seconds
        while self.returncode is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.name, seconds)
            time.sleep(1e-3)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.node is None:
            return
        if number == signal.SIGKILL:
            self.end(-number)
        elif number in (signal.SIGSTOP, signal.SIGCONT):
            self._is_stopped = number == signal.SIGSTOP
        else:
            self._is_ending = True

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)
