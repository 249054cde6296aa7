"""Real processes for the node tests: each test has a domain of its own, on this machine only."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import rclpy
import yaml
from fork_server import ForkedProcess, ForkServer
from geometry_msgs.msg import PoseStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from arm_control import Pose
from arm_control.messages import nanoseconds
from arm_control.nodes import PolledGroup, poll, ros
from arm_control.nodes.support.qos import LOSSLESS

PATIENCE = 240.0
"""Longest wait for a process or a message [s]: a safety limit, far beyond what a busy machine needs."""
REPEAT = 10.0
"""Time after which a message without an answer is sent again [s]."""
SETTLED = 0.1
"""Time after which a publisher that has discovered its listener is discovered by it, too, as a rule [s]."""
HOME = [0.0, -1.4, 1.9, -2.07, -1.5708, 0.0]
POLL_PERIOD, EXECUTOR_PERIOD = 0.001, 0.02
"""Shortest time between two looks for messages, and time between two turns of the executor, which cost more [s]."""
BATCH = 100
"""Most messages of a topic that are taken at once: a topic that is quicker than the tests must not hide the others."""
CHECKED = {"ROS_PYTHON_CHECK_FIELDS": "1", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
"""Environment of every process: wrong types in messages are errors, output is there at once, a crash tells where."""
LATCHED = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

Process = ForkedProcess | subprocess.Popen  # what both of them offer is used


class Rig:
    """Nodes as processes, and a node of the test's own that watches them.

    Attributes
    ----------
    states, commands : list of JointState
        Everything heard on ``joint_states`` and ``joint_commands``.

    Parameters
    ----------
    folder : Path
        Folder for files of parameters and output.
    domain : int
        ROS domain.
    server : ForkServer or None
        Server that forks the processes; None starts a new interpreter for each.
    """

    def __init__(self, folder: Path, domain: int, server: ForkServer | None = None) -> None:
        self.folder, self.domain, self.server = folder, domain, server
        self.processes: dict[str, Process] = {}
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("test", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._heard: list[tuple[Any, list[Any]]] = []
        self._clients: dict[str, Any] = {}
        self.states: list[JointState] = []
        self.commands: list[JointState] = []
        self.hear(JointState, "joint_states", self.states)
        self.hear(JointState, "joint_commands", self.commands)

    def environment(self) -> dict[str, str]:
        """Environment of the processes: this domain, this machine only, messages checked, none outlives the tests."""
        own = {"ROS_DOMAIN_ID": str(self.domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        return {**os.environ, **CHECKED, **own, "ARM_CONTROL_PARENT": str(os.getpid())}

    def start(self, name: str, *arguments: str, **parameters: Any) -> Process:
        """Start a node of the package with these parameters; its output goes to a file."""
        given = self.folder / f"{name}.yaml"
        given.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}} if parameters else {}))
        options = ["--ros-args", "--params-file", str(given)] if parameters else ["--ros-args"]
        return self.run(name, "-m", f"arm_control.nodes.{name}", *options, *arguments)

    def run(self, name: str, *arguments: str, is_forked: bool = True) -> Process:
        """Run Python with these arguments; its output goes to a file.

        Parameters
        ----------
        name : str
            Name of the process in this rig.
        *arguments : str
            Command line of Python.
        is_forked : bool
            Whether a module (``-m``) is forked instead of being started by a new interpreter.

        Returns
        -------
        Process
            The process.
        """
        option, *rest = arguments
        with (self.folder / f"{name}.log").open("wb") as log:
            if is_forked and self.server is not None and option == "-m":
                module, *words = rest
                self.processes[name] = self.server.start(module, words, self.environment(), log.fileno())
            else:
                command = [sys.executable, *arguments]
                self.processes[name] = subprocess.Popen(
                    command, env=self.environment(), stdout=log, stderr=subprocess.STDOUT
                )
        return self.processes[name]

    def finish(self, name: str, *arguments: str, is_forked: bool = True) -> int:
        """Run Python with these arguments to its end and return its exit status."""
        self.run(name, *arguments, is_forked=is_forked)
        return self.wait(name)

    def wait(self, name: str) -> int:
        """Wait for the end of a process and return its exit status; fail, with every log, when it does not end."""
        try:
            return self.processes[name].wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return int(self._fail(f"the end of {name}"))

    def log(self, name: str) -> str:
        """What a process has printed so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _fail(self, what: str) -> NoReturn:
        logs = "\n".join(f"--- {name}\n{self.log(name)[-2000:]}" for name in self.processes)
        pytest.fail(f"waited {PATIENCE:.0f} s for {what}\n{logs}")

    def spin(self, done: Callable[[], Any], what: str = "") -> Any:
        """Handle messages until ``done()`` is true and return that; fail, with every log, when it takes too long."""
        end, executed, pause, n_heard = time.monotonic() + PATIENCE, 0.0, POLL_PERIOD, 0
        while not (result := done()):
            if (now := time.monotonic()) > end:
                self._fail(what or str(done))
            if now > executed + EXECUTOR_PERIOD:
                self.executor.spin_once(timeout_sec=0.0)
                executed = time.monotonic()
            elif n_heard < BATCH:
                time.sleep(pause)
            n_heard = sum(self._fetch(subscription, where) for subscription, where in self._heard)
            pause = POLL_PERIOD if n_heard else min(1.2 * pause, EXECUTOR_PERIOD)
        return result

    @staticmethod
    def _fetch(subscription: Any, where: list[Any]) -> int:
        """Append what a subscription has, but no more than a batch; return how many messages that are."""
        before = len(where)
        where.extend(message for message, _ in itertools.islice(poll(subscription), BATCH))
        return len(where) - before

    def hear(self, kind: Any, topic: str, where: list[Any], qos: Any = LOSSLESS, *, raw: bool = False) -> None:
        """Append every message of a topic to a list, as an object or raw, as bytes."""

        def unused(_: object) -> None:
            """Subscriptions apart call nobody: they are polled, which costs the other processes less."""

        subscription = self.node.create_subscription(kind, topic, unused, qos, callback_group=PolledGroup(), raw=raw)
        self._heard.append((subscription, where))

    def matched(self) -> list[bool]:
        """Whether somebody publishes the states, and the commands, that are heard here."""
        return [subscription.get_publisher_count() > 0 for subscription, _ in self._heard[:2]]

    def publisher(self, kind: Any, topic: str, qos: Any = 10) -> Any:
        """Return a publisher that somebody listens to."""
        publisher = self.node.create_publisher(kind, topic, qos)
        own = sum(subscription.topic_name == publisher.topic_name for subscription, _ in self._heard)
        self.spin(lambda: publisher.get_subscription_count() > own, what=f"a listener on {topic}")
        end = time.monotonic() + SETTLED
        self.spin(lambda: time.monotonic() > end)
        return publisher

    def state_publisher(self) -> Any:
        """Return a publisher of ``joint_states`` for a controller whose first answer is heard, too."""
        publisher = self.publisher(JointState, "joint_states")
        self.spin(lambda: all(self.matched()), what="the publisher of joint_commands")
        return publisher

    def answer(self, publisher: Any, state: Any, commands: list[Any] | None = None) -> Any:
        """Send a state and return the command for it, in lock step.

        A first state or its command may be lost, since one side may know the other before it is known itself; a state
        that comes again has its command again.
        """
        heard = self.commands if commands is None else commands
        n = len(heard)
        self.send(publisher, state, lambda: len(heard) > n, what="a command")
        assert len(heard) == n + 1
        return heard[-1]

    def send(self, publisher: Any, message: Any, done: Callable[[], Any], what: str) -> None:
        """Send a message, and again after a while, until ``done()`` is true: the first one may be lost."""
        self.spin(repeating(lambda: publisher.publish(message), done), what=what)

    def call(self, service: str, request: Any, kind: Any = SetBool) -> Any:
        """Call a service, and again after a while without a response: the first one may be lost; return it."""
        client = self._clients.get(service) or self.node.create_client(kind, service)
        self._clients[service] = client  # kept, since it takes a while to find a service
        self.spin(client.service_is_ready, what=service)
        responses: list[Any] = []

        def request_again() -> None:
            client.call_async(request).add_done_callback(lambda future: responses.append(future.result()))

        return self.spin(repeating(request_again, lambda: responses), what=service)[0]

    @property
    def time(self) -> float:
        """Simulated time of the newest state [s]."""
        return stamp(self.states[-1]) if self.states else -1.0

    def until(self, seconds: float) -> None:
        """Handle messages until this simulated time [s]."""
        self.spin(lambda: self.time >= seconds, f"t = {seconds} s")

    def close(self) -> None:
        """End the own node first: who watches others go may lock up in Fast DDS (its issue 6502)."""
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def repeating(send: Callable[[], Any], done: Callable[[], Any]) -> Callable[[], Any]:
    """Return the condition ``done`` that also calls ``send``, at once and again after a while, until it holds."""
    sent = -math.inf

    def is_done() -> Any:
        nonlocal sent
        if not (result := done()) and time.monotonic() > sent + REPEAT:
            send()
            sent = time.monotonic()
        return result

    return is_done


def spin_through_stalls(
    rig: Rig,
    done: Callable[[], Any],
    what: str,
    send_goal: Callable[[], object],
    nodes: Sequence[str] = ("simulator", "gate", "osc"),
) -> None:
    """Handle messages until ``done()`` is true; where the arm rests instead, a stall of the machine has tripped a gate.

    Parameters
    ----------
    rig : Rig
        Rig with an arm that is to move.
    done : callable
        Condition.
    what : str
        Its name in words.
    send_goal : callable
        Sends the goal of the motion again: enabled, an arm is held until a new goal acts.
    nodes : sequence of str
        Nodes with a gate; those that run are enabled again after 0.2 s of simulated time at rest.
    """
    moved_at = rig.time

    def done_or_enabled() -> bool:
        nonlocal moved_at
        if done():
            return True
        if max(map(abs, rig.states[-1].velocity), default=0.0) > 0.01 or rig.time < moved_at:
            moved_at = rig.time
        elif rig.time > moved_at + 0.2:
            moved_at = rig.time
            for node in nodes:
                if node in rig.processes:
                    rig.call(f"{node}/enable", SetBool.Request(data=True))
            send_goal()
        return False

    rig.spin(done_or_enabled, what)


def stamp(message: Any) -> float:
    """Stamp of a message [s]."""
    return nanoseconds(message.header.stamp) * 1e-9


def target(position: list[float], turn: Pose, seconds: float = 0.0, frame: str = "base_link") -> PoseStamped:
    """A target with the orientation of a pose."""
    return ros.pose_stamped(Pose(turn.R, np.array(position)), frame, round(seconds * 1e9))
