"""Subscriptions without callbacks of the executor, and the loop that serves a control path at once.

rclpy's executor builds its wait set again, from every entity of every node, two times per message: at a
thousand states a second that alone takes a third of a core and most of the latency. Here the few
subscriptions of the control path have a small wait set of their own (:func:`spin`). Their callback group
:class:`PolledGroup` keeps the executor away from them; it serves services, parameters, timers and
everything else every 50 ms.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec

import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import qos_policy_name_from_kind

from arm_control.messages import ONLY_PUBLISHER, UNKNOWN_PUBLISHER
from arm_control.nodes.support.topics import LATEST

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

NO_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
EXECUTOR_PERIOD = 0.05
"""Time between two turns of the executor [s]."""

P = ParamSpec("P")
Callback = Callable[[Any, dict[str, Any]], None]
"""Takes a message and its info: source and reception time stamps."""


# -- polled subscriptions ------------------------------------------------------------------------------


class PolledGroup(CallbackGroup):
    """Callback group of subscriptions without callbacks: take their messages with :func:`poll`."""

    def can_execute(self, entity: Any) -> bool:
        """Return False: no executor takes the messages."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return False: no executor takes the messages."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing."""


def polled_subscription(node: Node, message_type: Any, topic: str, qos: Any, *, raw: bool = False) -> Any:
    """Return a subscription without a callback."""

    def unused(_: object) -> None:
        """Never called."""

    subscription = node.create_subscription(message_type, topic, unused, qos, callback_group=PolledGroup(), raw=raw)
    return _counting(node, subscription)


def _counting(node: Node, subscription: Any) -> Any:
    """Return a subscription that counts its publishers, which those of Humble do not: there all of the topic count."""
    if not hasattr(subscription, "get_publisher_count"):
        subscription.get_publisher_count = partial(node.count_publishers, subscription.topic_name)
    return subscription


def poll(subscription: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the waiting messages of a polled subscription, with their info.

    The releases of ROS before Kilted do not say who published a message: there a topic may have one publisher.
    """
    with subscription.handle:
        while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            if "publisher_gid" not in taken[1]:
                is_only_one = subscription.get_publisher_count() == 1
                taken[1]["publisher_gid"] = ONLY_PUBLISHER if is_only_one else UNKNOWN_PUBLISHER
            yield taken


class LatestMessages:
    """Polled subscriptions by topic, of which only the latest message counts."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._subscriptions: dict[str, Any] = {}

    def subscribe(self, message_type: Any, topic: str, qos: Any = LATEST) -> None:
        """Subscribe to a topic, unless it is subscribed already."""
        if topic not in self._subscriptions:
            self._subscriptions[topic] = polled_subscription(self._node, message_type, topic, qos)

    def keep_only(self, topics: Collection[str] = ()) -> None:
        """End the subscriptions to all other topics: their publishers need not send to this node."""
        for topic in set(self._subscriptions) - set(topics):
            self._node.destroy_subscription(self._subscriptions.pop(topic))

    def poll(self) -> Iterator[tuple[str, Any]]:
        """Yield the messages since the last call, with their topic."""
        for topic, subscription in list(self._subscriptions.items()):
            for message, _ in poll(subscription):
                yield topic, message


# -- the control path ----------------------------------------------------------------------------------


@dataclass
class PeriodicCall:
    """A function that is called at a fixed period of the steady clock.

    Attributes
    ----------
    due : float
        Time of the next call, on ``time.perf_counter`` [s].
    """

    period: float
    callback: Callable[[], None]
    due: float

    def call_if_due(self) -> None:
        """Call the function if its time has come; missed calls are not made up for."""
        now = time.perf_counter()
        if now >= self.due:
            self.due = max(self.due + self.period, now)
            self.callback()


class ControlPath:
    """The subscriptions and periodic calls of a node that must not wait for the executor.

    Attributes
    ----------
    subscriptions : list of (subscription, callable)
        Each subscription with its callback.
    turn : context manager or None
        The callbacks of the node run within it, those of the executor, too; None where no other thread runs any.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = PolledGroup()
        self.turn: contextlib.AbstractContextManager[object] | None = None
        self.subscriptions: list[tuple[Any, Callback]] = []
        self.periodic_calls: list[PeriodicCall] = []

    def subscribe(self, message_type: Any, topic: str, callback: Callback, qos: Any, *, raw: bool = False) -> Any:
        """Subscribe to a topic; the callback is called as soon as a message is there.

        Parameters
        ----------
        callback : callable
            Takes the message and its info.

        Returns
        -------
        Subscription
        """
        subscription = self._node.create_subscription(
            message_type, topic, callback, qos, callback_group=self._group, event_callbacks=NO_EVENTS, raw=raw
        )
        _counting(self._node, subscription)
        self.subscriptions.append((subscription, callback))
        self._watch_publishers(subscription, callback)
        return subscription

    def _watch_publishers(self, subscription: Any, callback: Callback) -> None:
        """Notice best-effort publishers, which a reliable subscription does not hear.

        Where only the newest message counts, a best-effort subscription, which hears both, takes the place of one
        that is reliable.
        """

        def on_incompatible_qos(event: Any) -> None:
            if qos_policy_name_from_kind(event.last_policy_kind) != "RELIABILITY":
                return  # a latched subscription has another one beside it that is not
            topic, logger = subscription.topic_name, self._node.get_logger()
            if subscription.qos_profile.depth > 1:
                logger.error(f"{topic} has a best-effort publisher that is not heard: a reliable one is needed")
                return
            logger.info(f"{topic} has a best-effort publisher: messages that are lost are not sent again")
            self.subscriptions.remove((subscription, callback))
            self._node.destroy_subscription(subscription)
            self.subscribe(subscription.msg_type, topic, callback, LATEST, raw=subscription.raw)

        events = SubscriptionEventCallbacks(incompatible_qos=on_incompatible_qos, use_default_callbacks=False)
        group = self._node.default_callback_group  # the executor serves it
        handlers = events.create_event_handlers(group, subscription.handle, subscription.topic_name)
        subscription.event_handlers.extend(handlers)
        for handler in handlers:
            self._node.add_waitable(handler)

    def entries_in_turn(self) -> list[tuple[Any, Callback]]:
        """Return the subscriptions, each with its callback, which runs within the node's turn."""
        return [(subscription, self.in_turn(callback)) for subscription, callback in self.subscriptions]

    def in_turn(self, callback: Callable[P, None]) -> Callable[P, None]:
        """Return a callback that runs within the node's turn."""
        turn = self.turn
        if turn is None:
            return callback

        def within(*args: P.args, **kwargs: P.kwargs) -> None:
            with turn:
                callback(*args, **kwargs)

        return within

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Call a function at a fixed period of the steady clock."""
        self.periodic_calls.append(PeriodicCall(period, self.in_turn(callback), time.perf_counter() + period))


def spin(
    executor: SingleThreadedExecutor, paths: Sequence[ControlPath], is_over: Callable[[], bool] = lambda: False
) -> None:
    """Serve the control paths of some nodes, and their executor in between.

    It ends when the context is shut down, or ``is_over`` returns True; that is asked every 50 ms.
    """
    while rclpy.ok() and not is_over():
        if any(path.subscriptions or path.periodic_calls for path in paths):
            with contextlib.ExitStack() as turns:
                for path in paths:
                    turns.enter_context(path.turn or contextlib.nullcontext())
                executor.spin_once(timeout_sec=0)
            _serve(paths, time.perf_counter() + EXECUTOR_PERIOD)
        else:
            executor.spin_once(timeout_sec=EXECUTOR_PERIOD)


def _serve(paths: Sequence[ControlPath], end: float) -> None:
    """Serve control paths until ``end``, on ``time.perf_counter`` [s]."""
    subscriptions = [entry for path in paths for entry in path.entries_in_turn()]
    periodic_calls = [call for path in paths for call in path.periodic_calls]
    with _waiting(subscriptions) as wait:
        while (now := time.perf_counter()) < end:
            until = min([end, *(call.due for call in periodic_calls)])
            for subscription, callback in wait(until - now):
                for message, info in itertools.islice(poll(subscription), 1):
                    callback(message, info)
            for call in periodic_calls:
                call.call_if_due()


@contextlib.contextmanager
def _waiting(subscriptions: list[tuple[Any, Callback]]) -> Iterator[Callable[[float], list[tuple[Any, Callback]]]]:
    """Yield what returns the subscriptions with a message, after at most so long [s]; one wait set serves all calls."""
    context = rclpy.get_default_context()
    with contextlib.ExitStack() as handles:
        for handle in (context.handle, *(subscription.handle for subscription, _ in subscriptions)):
            handles.enter_context(handle)
        n = len(subscriptions)
        wait_set = rclpy_implementation.WaitSet(n, 0, 0, 0, 0, 0, context.handle) if n else None

        def wait(timeout: float) -> list[tuple[Any, Callback]]:
            if wait_set is None:
                time.sleep(max(0.0, timeout))
                return []
            wait_set.clear_entities()
            for subscription, _ in subscriptions:
                wait_set.add_subscription(subscription.handle)
            wait_set.wait(max(0, round(timeout * 1e9)))
            ready = wait_set.get_ready_entities("subscription")
            return [entry for entry in subscriptions if entry[0].handle.pointer in ready]

        yield wait
