"""The native loop of a node: its thread, and librcl, whose functions it calls by their addresses.

Everything is made by rclpy, nodes, topics, qualities of service, wait sets; only the addresses of its handles go to
librcl. What C writes and reads is in two structures, whose layout belongs to a release of ROS:

    rcutils_uint8_array_t   data, length, capacity, allocator (five words)
    rmw_message_info_t      two times [ns], two sequence numbers, name of the middleware, 16 bytes of identity, ...

So :func:`check_layouts` sends a message to itself before they are used, and compares what arrives with rclpy.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState

from arm_control.compiler import Callback, CFunction, Kernel
from arm_control.control import ArmNodeParameters
from arm_control.messages import JointStateWriter
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.message_bytes import layout_differences
from arm_control.nodes.support.polling import ControlPath, polled_subscription
from arm_control.nodes.support.real_time import join_control_path
from arm_control.nodes.support.topics import COMMANDS, LATEST, STATE
from arm_control.processes import (
    DATA,
    LENGTH,
    NOT_TAKEN,
    PUBLISHER,
    REASON_SIZE,
    RECEIVED_NS,
    WRITTEN_NS,
    Middleware,
    NativeController,
    SerializedMessage,
    SystemClock,
    compile_loop,
)

CAPACITY = 4096
"""Bytes of a message for which memory is there from the beginning; the middleware makes more where it needs it."""
MESSAGE_WORDS, INFO_WORDS, GUARD_WORDS = 8, 64, 8
"""Words of 64 bits of the first structure; of a block that is large enough for the second; behind the first one."""
MIDDLEWARE = "rmw_fastrtps"
"""Middleware that calls back holding no lock that taking, publishing or ceasing to listen could wait for."""
NO_PIPE = -1
"""File descriptor of none."""
GUARD = 0x5A5A5A5A5A5A5A5A
"""Content of the words that nobody may write."""
PATIENCE = 2.0
"""Longest time that the check waits for its own message [s]."""


class _Allocator(ctypes.Structure):
    """``rcutils_allocator_t``."""

    _fields_ = (("pointers", ctypes.c_void_p * 5),)


class RclFunctions(NamedTuple):
    """Functions of librcl and of the C library; see :class:`Middleware`.

    Attributes
    ----------
    listen : CFunction
        ``rcl_subscription_set_on_new_message_callback``.
    """

    listen: CFunction
    take: CFunction
    publish: CFunction
    write: CFunction
    read_clock: CFunction

    @classmethod
    def load(cls) -> RclFunctions:
        """Find the functions in the libraries that rclpy has loaded.

        Raises
        ------
        OSError, AttributeError
            When there is no such library or function.
        """
        rcl, c_library = ctypes.CDLL("librcl.so"), ctypes.CDLL(None)
        return cls(
            CFunction.of(rcl.rcl_subscription_set_on_new_message_callback, 3),
            CFunction.of(rcl.rcl_take_serialized_message, 4),
            CFunction.of(rcl.rcl_publish_serialized_message, 3),
            CFunction.of(c_library.write, 3),
            CFunction.of(c_library.clock_gettime, 2),
        )


class TakenMessage:
    """Memory for a message that the middleware fills, and for what it says of it.

    Attributes
    ----------
    words : ndarray of int64, shape (8,)
        ``rcutils_uint8_array_t``.
    info : ndarray of int64, shape (64,)
        ``rmw_message_info_t``, and room behind it.
    """

    def __init__(self) -> None:
        rcutils = ctypes.CDLL("librcutils.so")
        default = rcutils.rcutils_get_default_allocator
        default.restype, default.argtypes = _Allocator, ()
        self._allocator = default()
        self._block = np.full(MESSAGE_WORDS + GUARD_WORDS, GUARD, dtype=np.int64)
        self.words = self._block[:MESSAGE_WORDS]
        self.words[:] = 0
        self.info = np.zeros(INFO_WORDS, dtype=np.int64)
        self._finish = rcutils.rcutils_uint8_array_fini
        pointer = ctypes.c_void_p(self.words.ctypes.data)
        result = rcutils.rcutils_uint8_array_init(pointer, ctypes.c_size_t(CAPACITY), ctypes.byref(self._allocator))
        if result != 0:
            raise OSError(f"rcutils_uint8_array_init returns {result}")

    @property
    def is_as_expected(self) -> bool:
        """Whether the structure, which is new, is laid out as this module says."""
        words = self.words.tolist()
        return words[DATA] != 0 and words[1:3] == [0, CAPACITY] and bool((self._block[MESSAGE_WORDS:] == GUARD).all())

    def close(self) -> None:
        """Give the memory back."""
        self._finish(ctypes.c_void_p(self.words.ctypes.data))


@contextlib.contextmanager
def held_middleware(
    node: Node, functions: RclFunctions, subscription: Any, publisher: Publisher, array_publisher: Publisher | None
) -> Iterator[Middleware]:
    """Keep entities of a node, and give the loop what it needs of them; without messages to publish, and a pipe."""
    with contextlib.ExitStack() as stack:
        taken = stack.enter_context(contextlib.closing(TakenMessage()))
        entities = (subscription, publisher, array_publisher)
        handles = [None if entity is None else entity.handle for entity in entities]
        for handle in (node.context.handle, *(one for one in handles if one is not None)):
            stack.enter_context(handle)
        none = np.zeros(MESSAGE_WORDS, dtype=np.int64)
        f = functions
        clock = SystemClock(f.read_clock, np.zeros(2, dtype=np.int64))
        take, publish, publish_array = (0 if handle is None else handle.pointer for handle in handles)
        yield Middleware(
            *(f.take, f.publish, f.write, clock, take, publish, publish_array, NO_PIPE),
            *(taken.words, taken.info, none, none, 0, 0),
        )


@contextlib.contextmanager
def listening(functions: RclFunctions, subscription: int, callback: Callback) -> Iterator[None]:
    """Let the middleware call a function for each new message of a subscription; behind this block it does not.

    The thread that has received a message calls, and so may the one that begins to listen; a number of messages is the
    second argument.

    An OSError when the middleware refuses.
    """
    if (result := functions.listen(subscription, *callback)) != 0:
        raise OSError(f"rcl_subscription_set_on_new_message_callback returns {result}")
    try:
        yield
    finally:
        functions.listen(subscription, 0, 0)  # waits for a call that has begun


def check_layouts(node: Node, functions: RclFunctions) -> str:
    """Send a message to oneself, on a topic for that, and return why the native loop cannot be used; empty: it can."""
    middleware = get_rmw_implementation_identifier()
    if not middleware.startswith(MIDDLEWARE):
        return f"{middleware} calls back, but may a callback publish? That is known of {MIDDLEWARE} only"
    if moved := layout_differences():
        return moved
    with contextlib.closing(TakenMessage()) as message:
        if not message.is_as_expected:
            return "another release of ROS: rcutils_uint8_array_t is laid out differently"
    topic = "~/_native_loop_check"
    publisher = node.create_publisher(JointState, topic, COMMANDS)
    subscriptions = [polled_subscription(node, JointState, topic, COMMANDS, raw=True) for _ in range(2)]
    try:
        with held_middleware(node, functions, subscriptions[0], publisher, None) as held:
            return _differences(functions, held, subscriptions[1])
    finally:
        for subscription in subscriptions:
            node.destroy_subscription(subscription)
        node.destroy_publisher(publisher)


def _differences(functions: RclFunctions, m: Middleware, other: Any) -> str:
    """Send a message, take it by the loop's functions and by rclpy, and compare."""
    stamp_ns = int.from_bytes(os.urandom(4), "little")
    sent = JointStateWriter(["a", "bcd"]).message(stamp_ns, np.array([1.5, -2.5]))
    message, has_come = SerializedMessage.of(sent), threading.Event()
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(lambda *_: has_come.set())
    end = time.monotonic() + PATIENCE
    with listening(functions, m.subscription, Callback(ctypes.cast(call, ctypes.c_void_p).value or 0, 0)):
        if m.publish(m.publisher, message.words.ctypes.data, 0) != 0:
            return "librcl does not publish bytes"
        if not has_come.wait(PATIENCE):
            return "the middleware does not call back"
    result = m.take(m.subscription, m.message.ctypes.data, m.info.ctypes.data, 0)
    if result != 0 or ctypes.string_at(int(m.message[DATA]), int(m.message[LENGTH])) != sent:
        return f"librcl does not take bytes: {result}"
    return _differences_of_info(m, other, sent, end)


def _differences_of_info(m: Middleware, other: Any, sent: bytes, end: float) -> str:
    """Compare what the middleware says of the message with what rclpy reads."""
    with other.handle:
        while time.monotonic() < end:
            taken = other.handle.take_message(JointState, True)
            if taken is not None and taken[0] == sent:
                break
        else:
            return "a message that this node sends to itself does not arrive"
    info = taken[1]
    if "publisher_gid" not in info:
        return "this release of ROS does not say who publishes a message"
    times = m.info[[WRITTEN_NS, RECEIVED_NS]].tolist()
    is_same = times[0] == info["source_timestamp"] and abs(times[1] - info["received_timestamp"]) < PATIENCE * 1e9
    is_same = is_same and m.info[PUBLISHER : PUBLISHER + 2].tobytes() == info["publisher_gid"]["data"][:16]
    return "" if is_same else "another release of ROS: rmw_message_info_t is laid out differently"


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
    Python by ``answer``. The loop itself needs no lock, and learns behind each callback what has changed.

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
        """Return the functions that the loop needs, or None and the reason why it cannot run."""
        compile_loop()  # before states come
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
        """Run a loop on the states from now on."""
        self.end()
        self._make, self._subscription = make, self._path.subscriptions[0][0]
        held = held_middleware(self._node, self._functions, self._subscription, *self._publishers)
        middleware = self._resources.enter_context(held)
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
