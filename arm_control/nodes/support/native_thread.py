"""The thread of the native loop in a node, and the turns that it takes with everything else in the node."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from arm_control.compiler import Kernel
from arm_control.control import ArmNodeParameters
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.polling import ControlPath
from arm_control.nodes.support.qos import LATEST, STATE
from arm_control.nodes.support.rcl_functions import (
    Endpoints,
    RclFunctions,
    check_layouts,
    held_middleware,
    listening,
)
from arm_control.nodes.support.real_time import join_control_path
from arm_control.processes import (
    NOT_TAKEN,
    REASON_SIZE,
    Middleware,
    NativeController,
    compile_end_of_turn,
    compile_loop,
)

TOPIC = "joint_states"
END = 0
"""Written to the pipe instead of a reason: there will be none."""
LOCK_PERIOD = 0.02
"""Time between two looks of a waiting thread for its end [s]."""
LONGEST_END = 2.0
"""Longest time that the end of the thread is waited for [s]."""

MakeController = Callable[[Middleware], NativeController]
Answer = Callable[[bytes, dict[str, Any]], None]


class NativeThread:
    """Runs the native loop of a node, and answers the states that it leaves to Python.

    The node's own callbacks run within ``with thread:``. One lock: either one of them runs, or a state is answered in
    Python. The loop itself needs no lock, and learns behind each callback what has changed.

    Parameters
    ----------
    node : ArmNode
        The node.
    functions : RclFunctions
        Functions of librcl, which have been checked.
    publishers : sequence of Publisher or None
        Those of commands, and of commands as an array.
    answer : callable
        Answers a message, bytes and info, in the ordinary way.

    Attributes
    ----------
    native : NativeController or None
        The loop; None before :meth:`start`.
    """

    def __init__(
        self,
        node: ArmNode[ArmNodeParameters],
        functions: RclFunctions,
        publishers: tuple[Publisher, Publisher | None],
        answer: Answer,
    ) -> None:
        self.native: NativeController | None = None
        self._node, self._functions, self._publishers, self._answer = node, functions, publishers, answer
        self._lock = threading.RLock()
        self._path = ControlPath(node)
        self._path.subscribe(JointState, TOPIC, answer, STATE if node.parameters.lock_step else LATEST, raw=True)
        self._resources, self._listening = contextlib.ExitStack(), contextlib.ExitStack()
        self._pipe = -1
        self._thread: threading.Thread | None = None
        self._make: MakeController | None = None
        self._is_ending = threading.Event()
        self._error: Exception | None = None

    @classmethod
    def needed_functions(
        cls, node: ArmNode[ArmNodeParameters], kernels: Sequence[Kernel]
    ) -> tuple[RclFunctions | None, str]:
        """Return the functions that the loop needs, or None and the reason why it cannot run.

        Parameters
        ----------
        node : ArmNode
            The node.
        kernels : sequence of Kernel
            Those of law and gate.
        """
        compile_loop(), compile_end_of_turn()  # before states come
        if not all(kernel.address for kernel in kernels):
            return None, "no machine code can be made"
        try:
            functions = RclFunctions.load()
        except (OSError, AttributeError) as error:
            return None, f"librcl is not as expected: {error}"
        reason = check_layouts(node, functions)
        return (None, reason) if reason else (functions, "")

    def __enter__(self) -> None:
        """Begin a turn of the node."""
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """End it: the loop learns what has changed."""
        try:
            if self.native is not None:
                self.native.refresh()
        finally:
            self._lock.release()

    def start(self, make: MakeController) -> None:
        """Run a loop on the states from now on.

        Parameters
        ----------
        make : callable
            Makes it, of the middleware.
        """
        self.end()
        self._make, self._subscription = make, self._path.subscriptions[0][0]
        endpoints = Endpoints(self._subscription, *self._publishers)
        middleware = self._resources.enter_context(held_middleware(self._node, endpoints, self._functions))
        reasons, self._pipe = os.pipe()
        for end in (reasons, self._pipe):
            self._resources.callback(os.close, end)
        self.native = native = make(middleware._replace(pipe=self._pipe))
        self._listening.enter_context(listening(self._functions, middleware.subscription, native.callback))
        self._is_ending = is_ending = threading.Event()
        arguments = native, reasons, is_ending
        self._thread = threading.Thread(target=self._run, args=arguments, name="native loop", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the loop, and its thread."""
        self._is_ending.set()
        self._listening.close()
        if self._thread is not None:
            os.write(self._pipe, END.to_bytes(REASON_SIZE, sys.byteorder))
            self._thread.join(LONGEST_END)
            if self._thread.is_alive():
                return  # it still uses the handles and the pipe: they stay
        self._thread = None
        self._resources.close()

    def watch(self) -> None:
        """Raise what has ended the thread; listen to another subscription where a publisher has asked for one."""
        if self._error is not None:
            raise self._error
        if self._make is not None and self._path.subscriptions[0][0] is not self._subscription:
            self.start(self._make)

    # -- the thread ----------------------------------------------------------------------------------

    def _run(self, native: NativeController, reasons: int, is_ending: threading.Event) -> None:
        """Take the turns of Python; ``reasons`` is the end of the pipe at which they are read."""
        join_control_path(self._node.parameters)
        try:
            native.end_turn()
            while (reason := int.from_bytes(os.read(reasons, REASON_SIZE), sys.byteorder)) != END:
                if reason == NOT_TAKEN:
                    raise RuntimeError("the middleware gives the native loop no messages")
                if not self._take_turn(native, reason, is_ending):
                    return
                native.end_turn()
        except Exception as error:  # shown, and raised, by the node's own thread
            if rclpy.ok() and not is_ending.is_set():
                self._error = error

    def _take_turn(self, native: NativeController, reason: int, is_ending: threading.Event) -> bool:
        """Answer a state in Python; return whether the loop goes on."""
        while not self._lock.acquire(timeout=LOCK_PERIOD):
            if is_ending.is_set():
                return False
        try:
            native.take_over(reason)
            data, info = native.message()
            self._answer(data, info)
            native.hand_over(data, info)
        finally:
            self._lock.release()
        return True
