"""The control loop: one thread that serves the control path at once and everything else every 50 ms.

rclpy's executor builds its wait set anew, from every entity of every node, two times per message: at a
thousand states a second that alone costs a third of a core and most of the latency. Here the few
subscriptions of the control path have a small wait set of their own. They are in the callback group
:class:`Apart`, so that the single-threaded executor, which serves services, parameters, timers and
everything else between two rounds, leaves them alone.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node

ROUND = 0.05
"""Time after which the executor has its turn [s]."""


class Apart(CallbackGroup):
    """Callback group of subscriptions that the executor leaves alone: take their messages with :func:`poll`."""

    def can_execute(self, entity: Any) -> bool:
        """Never by an executor."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never by an executor."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing was begun."""


def subscribed_apart(node: Node, kind: Any, topic: str, qos: Any, *, raw: bool = False) -> Any:
    """Return a subscription of a node that calls nobody; ``raw``: its messages stay as they go over the wire."""

    def unused(_: object) -> None:
        """Nobody is called."""

    return node.create_subscription(kind, topic, unused, qos, callback_group=Apart(), raw=raw)


def poll(subscription: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the messages that wait in a subscription of the group :class:`Apart`, with their info."""
    with subscription.handle:
        while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            yield taken


@dataclass
class Pace:
    """Something to do at a fixed period of the steady clock.

    Attributes
    ----------
    period : float
        Time between two calls [s].
    callback : callable
        What to do.
    due : float
        When to do it next, on ``time.perf_counter`` [s].
    """

    period: float
    callback: Callable[[], None]
    due: float


class ControlPath:
    """The subscriptions and the pace of one node that must not wait."""

    def __init__(self, node: Node) -> None:
        self._node, self._group = node, Apart()
        self.subscriptions: list[tuple[Any, Callable[[Any, dict[str, Any]], None]]] = []
        self.paces: list[Pace] = []

    def subscribe(self, kind: Any, topic: str, callback: Callable[[Any, dict[str, Any]], None], qos: Any) -> Any:
        """Subscribe; the callback gets message and info, as soon as the message is there."""
        subscription = self._node.create_subscription(kind, topic, callback, qos, callback_group=self._group)
        self.subscriptions.append((subscription, callback))
        return subscription

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Call something at a fixed period [s] of the steady clock; calls that were missed are not made up for."""
        self.paces.append(Pace(period, callback, time.perf_counter() + period))


class ControlLoop:
    """Runs the control paths of some nodes, and the executor in between.

    Parameters
    ----------
    executor : SingleThreadedExecutor
        Has the nodes.
    paths : sequence of ControlPath
        The nodes' control paths.
    """

    def __init__(self, executor: SingleThreadedExecutor, paths: Sequence[ControlPath]) -> None:
        self._executor, self._paths = executor, paths

    def spin(self) -> None:
        """Run until the context is shut down."""
        while rclpy.ok():
            if any(path.subscriptions or path.paces for path in self._paths):
                self._executor.spin_once(timeout_sec=0)
                self._round(time.perf_counter() + ROUND)
            else:
                self._executor.spin_once(timeout_sec=ROUND)

    def _round(self, end: float) -> None:
        subscriptions = [entry for path in self._paths for entry in path.subscriptions]
        paces = [pace for path in self._paths for pace in path.paces]
        with _Waiter(subscriptions) as waiter:
            while (now := time.perf_counter()) < end:
                until = min([end, *(pace.due for pace in paces)])
                for subscription, callback in waiter.wait(until - now):
                    for message, info in itertools.islice(poll(subscription), 1):
                        callback(message, info)
                for pace in paces:
                    _keep(pace)


def _keep(pace: Pace) -> None:
    now = time.perf_counter()
    if now >= pace.due:
        pace.due = max(pace.due + pace.period, now)
        pace.callback()


class _Waiter:
    """Waits for messages in some subscriptions, with one wait set for many waits."""

    def __init__(self, subscriptions: list[Any]) -> None:
        self._subscriptions = subscriptions

    def __enter__(self) -> _Waiter:
        self._held = contextlib.ExitStack()
        context = rclpy.get_default_context()
        for handle in (context.handle, *(subscription.handle for subscription, _ in self._subscriptions)):
            self._held.enter_context(handle)
        if self._subscriptions:
            self._wait_set = rclpy_implementation.WaitSet(len(self._subscriptions), 0, 0, 0, 0, 0, context.handle)
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def wait(self, timeout: float) -> list[Any]:
        """Return those of the subscriptions in which a message waits, after at most ``timeout`` [s]."""
        if not self._subscriptions:
            time.sleep(max(0.0, timeout))
            return []
        self._wait_set.clear_entities()
        for subscription, _ in self._subscriptions:
            self._wait_set.add_subscription(subscription.handle)
        self._wait_set.wait(max(0, round(timeout * 1e9)))
        ready = self._wait_set.get_ready_entities("subscription")
        return [entry for entry in self._subscriptions if entry[0].handle.pointer in ready]
