"""A node of a command line, which asks other nodes and goes away again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from arm_control.nodes.support.arm_node import check_environment

ROUNDS, WAIT = 10, 10.0
"""Looks at what is there, until two see the same; time for an answer [s]: a busy machine is slow in both."""


class Client:
    """A node of its own context; use it in a ``with`` statement."""

    def __init__(self, name: str) -> None:
        check_environment()
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node(name, context=self._context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def owners(self, service: str, kind: str, namespace: str, seconds: float) -> list[str]:
        """Nodes with a service of this name and type, in order; discovery is given its time.

        Parameters
        ----------
        service, kind : str
            Such as ``enable`` and ``std_srvs/srv/SetBool``.
        namespace : str
            Only nodes in it; empty for all.
        seconds : float
            Wall time to look for them [s]; longer while more of them appear.
        """
        inside = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
        names: set[str] | None = None
        for _ in range(ROUNDS):
            before = names
            self.spin(lambda: False, seconds / 2.0)
            services = [(*name.rpartition("/"), kinds) for name, kinds in self._node.get_service_names_and_types()]
            names = {owner for owner, _, last, kinds in services if last == service and kind in kinds}
            if names == before:
                break
        return sorted(name for name in names or () if f"{name}/".startswith(inside))

    def call(self, kind: Any, service: str, request: Any, seconds: float = WAIT) -> Any:
        """Answer of a service, or None when there is none in time [s]."""
        client = self._node.create_client(kind, service)
        try:
            if not self.spin(client.service_is_ready, seconds):
                return None
            future = client.call_async(request)
            return future.result() if self.spin(future.done, seconds) else None
        finally:
            self._node.destroy_client(client)

    def spin(self, done: Callable[[], bool], seconds: float) -> bool:
        """Serve the node until something is done, or the time is over; return whether it is."""
        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)
        return done()
