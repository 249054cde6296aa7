"""Nodes for the tests: in this process and in simulated time, or as processes where a test is about those.

Each test has a domain of its own, on this machine only.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import numpy as np
import pytest
import rclpy
import rclpy.subscription
import yaml
from geometry_msgs.msg import PoseStamped
from local_node import TURN, LocalNode, SimulatedTime, local_nodes
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool

from arm_control import Pose, RobotModel
from arm_control.app import main as arm_control
from arm_control.app import processes
from arm_control.core import PARENT
from arm_control.messages import nanoseconds
from arm_control.nodes import PolledGroup, poll, ros
from arm_control.nodes.support.topics import LOSSLESS
from arm_control.nodes.tools import bag_player, command_line_node

tells_publishers_apart = pytest.mark.skipif(
    not hasattr(rclpy.subscription, "MessageInfo"), reason="this release of ROS does not say who published a message"
)
"""A mark of tests of two publishers, and of `loop: native`, which must know who sends."""
PATIENCE = 240.0
"""Longest wait for a process or a message [s]: a safety limit, far beyond what a busy machine needs."""
REPEAT = 10.0
"""Time after which a message without an answer is sent again [s]."""
LOOKED = 0.5
"""Time without news after which a command has found the nodes of this process [s]."""
SETTLED = 0.1
"""Time after which a publisher that has discovered its listener is discovered by it, too, as a rule [s]."""
HOME = [0.0, -1.4, 1.9, -2.07, -1.5708, 0.0]
POLL_PERIOD, EXECUTOR_PERIOD = 0.001, 0.02
"""Shortest time between two looks for messages, and time between two turns of the executor, which cost more [s]."""
MOST_A_TURN = 0.02
"""Most that time goes on for the nodes of this process from a turn to the next, beside the machine's clock [s]."""
BATCH = 100
"""Most messages of a topic that are taken at once: a topic that is quicker than the tests must not hide the others."""
CHECKED = {"ROS_PYTHON_CHECK_FIELDS": "1", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
"""Environment of every process: wrong types in messages are errors, output is there at once, a crash tells where."""
LATCHED = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

Process = subprocess.Popen | LocalNode  # what all of them offer is used

SECOND_CTRL_C = 20.0
"""Time after which Ctrl-C is pressed again [s]."""


class Rig:
    """Nodes, and a node of the test's own that watches them.

    Nodes in this process are served by :meth:`spin`. Their clock stands still while they have something to do, so the
    speed of the machine does not matter. Beside processes it keeps to the clock of the machine.

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
    """

    def __init__(self, folder: Path, domain: int) -> None:
        self.folder, self.domain = folder, domain
        self.processes: dict[str, Process] = {}
        self.clock, self._lines = SimulatedTime(), dict[str, list[str]]()
        self.keeps_real_time = False
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("test", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._local = contextlib.ExitStack()
        self._local.enter_context(local_nodes(self.clock, self._note))
        self._output: Path | None = None
        self._turned_at = 0.0
        self._executed, self._lock, self._printed = (0.0, 0.0), threading.Lock(), dict[str, io.StringIO]()
        self._heard: list[tuple[Any, list[Any]]] = []
        self._clients: dict[str, Any] = {}
        self.states = self.hear(JointState, "joint_states")
        self.commands = self.hear(JointState, "joint_commands")

    def environment(self) -> dict[str, str]:
        """Environment of the processes: this domain, this machine only, messages checked, none outlives the tests."""
        own = {"ROS_DOMAIN_ID": str(self.domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        return {**os.environ, **CHECKED, **own, PARENT: str(os.getpid())}

    def start(self, name: str, *arguments: str, label: str = "", **parameters: Any) -> LocalNode:
        """Make a node of the package in this process, with these parameters.

        Parameters
        ----------
        name : str
            The node.
        *arguments : str
            More arguments of ROS, such as remappings.
        label : str
            Its name in this rig, by default that of the node.
        """
        self.clock.has_native_loop |= parameters.get("loop") == "native"
        self.keeps_real_time |= self.clock.has_native_loop
        return self._make(label or name, name, ["--ros-args", *self._file_of(label or name, parameters), *arguments])

    def _make(self, label: str, name: str, arguments: Sequence[str]) -> LocalNode:
        with self._lock:
            if isinstance(before := self.processes.get(label), LocalNode):
                self._lines.pop(before.logger, None)
            self.processes[label] = node = LocalNode(name, arguments, self.context, self.clock, self._lines)
            node.make()
            if node.node is not None:
                self.executor.add_node(node.node)
        return node

    def command(self, *words: str, label: str = "", interrupted_when: Callable[[], Any] = lambda: False) -> int:
        """Run ``arm_control`` with these words in this process, beside the nodes, and return its exit status.

        Nodes that it starts are made in this process, too.

        Parameters
        ----------
        *words : str
            Its command line.
        label : str
            Its name in this rig, by default the first of the words.
        interrupted_when : callable
            Condition, asked for in another thread, with which Ctrl-C is pressed.
        """
        text = self._printed[label or words[0]] = io.StringIO()
        kept, self.keeps_real_time = self.keeps_real_time, True
        environment = {name: value for name, value in self.environment().items() if name != PARENT}
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a new process: nodes here may have taken it
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(os, "nice", return_value=0),
            mock.patch.object(command_line_node, "SETTLED", LOOKED),
            mock.patch.object(bag_player, "DISCOVERY", LOOKED),
            mock.patch.object(os, "getloadavg", return_value=(0.0,) * 3),
            mock.patch.object(processes, "start_module", self._start_module),
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(text),
            self._served(interrupted_when),
        ):
            try:
                status = arm_control(list(words))
            except SystemExit as end:
                status = end.code
            finally:
                self.keeps_real_time = kept
                for number, handler in handlers.items():
                    signal.signal(number, handler)
        return status

    def _note(self, name: str, message: str) -> None:
        """Note a line that a node has logged."""
        self._lines.setdefault(name, []).append(message)
        if self._output is not None and self._output.exists():
            with self._output.open("a") as file:
                file.write(f"[{name}]: {message}\n")

    def _start_module(self, module: str, arguments: Sequence[str], output: Path) -> LocalNode:
        """Make the node of which ``arm_control run`` wants a process."""
        name, *options = arguments
        assert (module, options[0]) == ("arm_control.nodes", "--ros-args")
        self._output = output
        self._output.touch()
        return self._make(name, name, options)

    @contextlib.contextmanager
    def _served(self, interrupted_when: Callable[[], Any]) -> Iterator[None]:
        """Serve the nodes in another thread meanwhile."""
        is_over = threading.Event()

        def serve() -> None:
            next_interrupt = -math.inf
            try:
                while not is_over.is_set():
                    if not self._turn():
                        time.sleep(POLL_PERIOD)
                    if time.monotonic() > next_interrupt and interrupted_when():
                        next_interrupt = (
                            time.monotonic() + SECOND_CTRL_C
                        )  # a signal is lost where an exception is ignored
                        interrupt()
            except BaseException:
                interrupt()
                raise

        def interrupt() -> None:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        with ThreadPoolExecutor(1) as pool:
            serving = pool.submit(serve)
            try:
                yield
            finally:
                is_over.set()
        serving.result()

    def start_process(self, name: str, *arguments: str, **parameters: Any) -> Process:
        """Start a node of the package as a process, with these parameters; its output goes to a file."""
        options = ["--ros-args", *self._file_of(name, parameters)]
        return self.run(name, "-m", "arm_control.nodes", name, *options, *arguments)

    def _file_of(self, name: str, parameters: dict[str, Any]) -> list[str]:
        """Arguments that name a file with parameters."""
        if not parameters:
            return []
        given = self.folder / f"{name}.yaml"
        given.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
        return ["--params-file", str(given)]

    def run(self, name: str, *arguments: str) -> Process:
        """Run Python with these arguments, as a process of that name; its output goes to a file."""
        self.keeps_real_time = True
        with (self.folder / f"{name}.log").open("wb") as log:
            options: dict[str, Any] = {"env": self.environment(), "stdout": log, "stderr": subprocess.STDOUT}
            self.processes[name] = subprocess.Popen([sys.executable, *arguments], **options)
        return self.processes[name]

    def finish(self, name: str, *arguments: str) -> int:
        """Run Python with these arguments to its end and return its exit status."""
        self.run(name, *arguments)
        return self.wait(name)

    def wait(self, name: str) -> int:
        """Wait for the end of a process and return its exit status; fail, with every log, when it does not end."""
        process = self.processes[name]
        if isinstance(process, LocalNode):
            self.spin(lambda: process.poll() is not None, f"the end of {name}")
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return int(self._fail(f"the end of {name}"))

    def log(self, name: str) -> str:
        """What a node, a process or a command has printed so far."""
        if name in self._printed:
            return self._printed[name].getvalue()
        process = self.processes[name]
        if isinstance(process, LocalNode):
            return process.log()
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _fail(self, what: str) -> NoReturn:
        logs = "\n".join(f"--- {name}\n{self.log(name)[-2000:]}" for name in self.processes)
        pytest.fail(f"waited {PATIENCE:.0f} s for {what}\n{logs}")

    def spin(self, done: Callable[[], Any], what: str = "") -> Any:
        """Handle messages until ``done()`` is true and return that; fail, with every log, when it takes too long."""
        end, pause = time.monotonic() + PATIENCE, POLL_PERIOD
        while not (result := done()):
            if time.monotonic() > end:
                self._fail(what or str(done))
            n_handled = self._turn()
            if not n_handled and self._is_real:
                time.sleep(pause)
            pause = POLL_PERIOD if n_handled else min(1.2 * pause, EXECUTOR_PERIOD)
        return result

    @property
    def _is_real(self) -> bool:
        """Whether the clock of the machine counts."""
        return self.keeps_real_time or not any(isinstance(process, LocalNode) for process in self.processes.values())

    def _turn(self) -> int:
        """Serve the nodes of this process once, and hear what there is; return how many messages that were."""
        with self._lock:
            return self._turn_of_all()

    def _turn_of_all(self) -> int:
        nodes = [one for one in self.processes.values() if isinstance(one, LocalNode) and one.is_served]
        n_handled = sum(node.serve() for node in nodes)
        n_handled += sum(self._fetch(subscription, where) for subscription, where in self._heard)
        elapsed, self._turned_at = time.monotonic() - self._turned_at, time.monotonic()
        if self._is_real:  # no faster than these nodes keep up with
            self.clock.advance(self.clock.now + min(elapsed, MOST_A_TURN))
        elif n_handled:
            self.clock.advance(self.clock.now + TURN)
        else:
            due = min((node.next_call() for node in nodes if node.is_served), default=math.inf)
            self.clock.advance(min(due, self.clock.now + EXECUTOR_PERIOD))
        now = time.monotonic(), self.clock.now
        if any(a > b + EXECUTOR_PERIOD for a, b in zip(now, self._executed, strict=True)):
            self._executed = now
            with contextlib.ExitStack() as turns:
                for node in nodes:
                    if node.node is not None:
                        turns.enter_context(node.node.control_path.turn or contextlib.nullcontext())
                self.executor.spin_once(timeout_sec=0.0)
        return n_handled

    @staticmethod
    def _fetch(subscription: Any, where: list[Any]) -> int:
        """Append what a subscription has, but no more than a batch; return how many messages that are."""
        before = len(where)
        where.extend(message for message, _ in itertools.islice(poll(subscription), BATCH))
        return len(where) - before

    def hear(self, kind: Any, topic: str, qos: Any = LOSSLESS, *, raw: bool = False) -> list[Any]:
        """The messages of a topic, as objects or raw, as bytes: a list that grows."""

        def unused(_: object) -> None:
            """Subscriptions apart call nobody: they are polled, which costs the other processes less."""

        subscription = self.node.create_subscription(kind, topic, unused, qos, callback_group=PolledGroup(), raw=raw)
        self._heard.append((subscription, []))
        return self._heard[-1][1]

    def matched(self) -> list[bool]:
        """Whether somebody publishes the states, and the commands, that are heard here."""
        return [subscription.get_publisher_count() > 0 for subscription, _ in self._heard[:2]]

    def publisher(self, kind: Any, topic: str, qos: Any = 10) -> Any:
        """Return a publisher that somebody listens to."""
        publisher = self.node.create_publisher(kind, topic, qos)
        own = sum(subscription.topic_name == publisher.topic_name for subscription, _ in self._heard)
        self.spin(lambda: publisher.get_subscription_count() > own, what=f"a listener on {topic}")
        if self._is_real:
            end = time.monotonic() + SETTLED
            self.spin(lambda: time.monotonic() > end)
        return publisher

    def state_publisher(self) -> Any:
        """Return a publisher of ``joint_states`` for a controller whose first answer is heard, too."""
        publisher = self.publisher(JointState, "joint_states")
        self.spin(lambda: all(self.matched()), what="the publisher of joint_commands")
        return publisher

    def answer(self, publisher: Any, state: Any, commands: list[Any] | None = None) -> Any:
        """Send a state and return the command for it, in lock step; both may be bytes.

        A first state or its command may be lost, since one side may know the other before it is known itself; a state
        that comes again has its command again.
        """
        heard = self.commands if commands is None else commands
        n, stamp = len(heard), stamp_of(state)

        def mine() -> list[Any]:
            return [command for command in heard[n:] if stamp_of(command) == stamp]

        self.send(publisher, state, mine, what="a command")
        return mine()[0]

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
        for process in self.processes.values():
            if isinstance(process, LocalNode) and process.poll() is None:
                process.kill()
        self._local.close()
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


class Driver:
    """Shows states to a controller in lock step, one by one, each after the answer to the one before.

    Parameters
    ----------
    rig : Rig
        Rig in which the node starts.
    model : RobotModel
        The arm.
    node : str
        The controller.
    **parameters : object
        Its parameters.
    """

    def __init__(self, rig: Rig, model: RobotModel, node: str, **parameters: Any) -> None:
        self.rig, self.model, self.node, self.ms = rig, model, node, 0
        given = {"lock_step": True, "publish_effort_array": False, "robot_description": model.urdf.text}
        rig.start(node, **{**given, **parameters})
        self.known = rig.hear(Float64, "controller_state/targets", LATCHED)
        self.states = rig.state_publisher()

    def answers(self, n: int = 1, q: Any = HOME, v: Any = (0.0,) * 6) -> np.ndarray:
        """Torque for the next n states, all at q, shape (n, 6)."""
        efforts = []
        for _ in range(n):
            state = ros.joint_state(self.model.joint_names, self.ms * 1_000_000, position=np.array(q), velocity=v)
            efforts.append(self.rig.answer(self.states, state).effort)
            self.ms += 1
        return np.array(efforts)

    def until(self, done: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Show states until a torque is as wanted; return it."""
        efforts: list[np.ndarray] = []

        def is_done() -> Any:
            efforts.append(self.answers()[0])
            return done(efforts[-1])

        self.rig.spin(is_done, what="another torque")
        return efforts[-1]

    def wait_for_targets(self, n: int) -> None:
        """Wait until the node knows so many."""
        self.rig.spin(lambda: self.known and self.known[-1].data == n, what=f"{n} targets")

    def logged(self, what: str) -> None:
        """Wait for a sentence."""
        self.rig.spin(lambda: what in self.rig.log(self.node), what=what)

    def shown(self, *names: str) -> list[float]:
        """Values of parameters, as ROS shows them."""
        request = GetParameters.Request(names=list(names))
        return [value.double_value for value in self.call("get_parameters", request, GetParameters).values]

    def set(self, **values: float) -> list[Any]:
        """Set parameters while the node runs; return a result for each."""
        parameters = [Parameter(name=k, value=ParameterValue(type=3, double_value=x)) for k, x in values.items()]
        return self.call("set_parameters", SetParameters.Request(parameters=parameters), SetParameters).results

    def call(self, service: str, request: Any, kind: Any = SetBool) -> Any:
        """Call a service of the node."""
        return self.rig.call(f"{self.node}/{service}", request, kind)


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


def in_motion(rig: Rig, model: RobotModel) -> Rig:
    """Send a target and wait for full speed; gates that a stall of the machine has tripped are enabled again.

    A target may be lost, and a motion may be over before it is seen: the arm then goes back, and once more.
    """
    rig.until(0.02)
    start = model.pose(HOME)
    away = target((start.p + np.array([-0.1, -0.3, 0.15])).tolist(), start)
    goals, sent = itertools.cycle([away, target(start.p.tolist(), start)]), itertools.count(1)
    rig.target_publisher = rig.publisher(PoseStamped, "target_pose")

    def send_next() -> None:
        rig.target_publisher.publish(next(goals))
        if next(sent) % 3 == 0:  # seldom, a publisher that was found is not heard
            rig.node.destroy_publisher(rig.target_publisher)
            rig.target_publisher = rig.node.create_publisher(PoseStamped, "target_pose", 10)

    def fast() -> bool:
        return max(map(abs, rig.states[-1].velocity)) > 0.5

    spin_through_stalls(rig, repeating(send_next, fast), "motion", send_next)
    return rig


def stamp_of(message: Any) -> Any:
    """The stamp of a message with a header, or of its bytes."""
    return message[4:12] if isinstance(message, bytes) else message.header.stamp


def stamp(message: Any) -> float:
    """Stamp of a message [s]."""
    return nanoseconds(message.header.stamp) * 1e-9


def target(position: list[float], turn: Pose, seconds: float = 0.0, frame: str = "base_link") -> PoseStamped:
    """A target with the orientation of a pose."""
    return ros.pose_stamped(Pose(turn.R, np.array(position)), frame, round(seconds * 1e9))
