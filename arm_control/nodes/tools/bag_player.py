"""The node ``player``: a bag's messages onto live topics, at the times at which they were written.

The bytes go out as they are in the bag (those of ROS 1 are converted); latched topics are latched again. Topics that
may reach an actuator are left out, unless the caller asks for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import rclpy
from rclpy.duration import Duration
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_full_topic_name import validate_full_topic_name
from rosgraph_msgs.msg import Clock

from arm_control.bags import Bag, Message, Topic
from arm_control.core import NANOSECONDS, die_with_parent, printable, progress_bar
from arm_control.exceptions import BagError
from arm_control.nodes.support.node_process import check_environment
from arm_control.nodes.support.topics import STATE, message_class, recorded_qos, ros

DISCOVERY = 1.0
"""Wall time in which nodes discover each other [s]."""
ARRIVAL_TIMEOUT = 5.0
"""Longest wait for the arrival of the last messages, by the wall clock [s]."""
SUBSCRIBER_TIMEOUT = 60.0
"""Longest wait for subscribers [s]."""
CLOCK_NS = 1_000_000
"""Least time between two messages on ``/clock`` [ns]."""
EFFORT = ("joint_commands", "commands", "command", "effort_in", "effort_out")
"""Last names of topics that may reach an actuator, as may any with ``effort`` in its name."""
MAY_MOVE = "it may move an arm; --arm plays it all the same"
"""Reason for leaving a topic out."""
ACTING_NODES = ("gate", "simulator", "coppeliasim_bridge", "obstacle_avoidance", "controller_manager")
"""Nodes that turn messages into torque, or pass them on."""
HARMLESS = ("joint_states", "robot_description", "clock", "obstacles", "tf", "tf_static")
"""Last names of topics to which these nodes subscribe without acting on them."""


@dataclass(frozen=True)
class PlaybackOptions:
    """Options of a playback.

    Attributes
    ----------
    rate : float
        Speed, as a factor.
    start, duration : float
        Begin and length of the part to play [s]; 0: the whole recording.
    loop : bool
        Whether to start over at the end.
    clock : bool
        Whether to publish the time of the recording on ``/clock``.
    wait : bool
        Whether to wait until every played topic has a subscriber.
    """

    rate: float = 1.0
    start: float = 0.0
    duration: float = 0.0
    topics: tuple[str, ...] = ()
    loop: bool = False
    clock: bool = False
    arm: bool = False
    wait: bool = False


def is_effort(topic: str) -> bool:
    """Whether a topic's name says that it may reach an actuator."""
    name = topic.lower()
    return name.rpartition("/")[2] in EFFORT or "effort" in name


class PlayerNode(Node):
    """Publishes the messages of a bag.

    Attributes
    ----------
    left_out : dict of str to str
        Topics that are not played, with the reason.
    count : int
        Number of published messages.

    Raises
    ------
    BagError
        When a named topic is not in the bag, or must not be played.
    """

    def __init__(self, bag: Bag, options: PlaybackOptions) -> None:
        super().__init__("player", start_parameter_services=False, enable_rosout=False)
        self._bag = bag
        self._options = options
        self.left_out: dict[str, str] = {}
        self.count = 0
        self._publishers_of: dict[int, Any] = {}
        self._n_others: dict[str, int] = {}
        end = time.monotonic() + DISCOVERY
        while time.monotonic() < end:
            time.sleep(0.05)
        for topic in self._selected_topics():
            reason = self._refusal(topic)
            if reason and options.topics:
                raise BagError(f"{topic.name} is not played: {reason}")
            if reason:
                self.left_out[topic.name] = reason
            else:
                self._publishers_of[id(topic)] = self._publisher(topic)
        has_clock = any(topic.name == "/clock" for topic in bag.topics if id(topic) in self._publishers_of)
        self._clock = self.create_publisher(Clock, "/clock", STATE) if options.clock and not has_clock else None
        if self._publishers_of:
            self._wait_for_subscribers()

    def play(self) -> None:
        """Publish the messages."""
        first, rest = self._selected_messages()
        for message in first:
            self._send(message)
        while True:
            start = time.perf_counter()
            for message in self._in_time(rest, start):
                self._send(message)
            if not self._options.loop or all(message.topic.name in self.left_out for message in rest):
                return

    def _wait_for_subscribers(self) -> None:
        """Wait for subscribers: messages that are not latched would not reach them later."""
        end = time.monotonic() + (SUBSCRIBER_TIMEOUT if self._options.wait else DISCOVERY)
        while time.monotonic() < end:
            time.sleep(0.05)
            silent = [p.topic for p in self._publishers_of.values() if not p.get_subscription_count()]
            if self._options.wait and not silent:
                time.sleep(DISCOVERY)  # they must discover this node, too
                return
        if self._options.wait:
            raise BagError(f"no node subscribes to {', '.join(silent)} after {SUBSCRIBER_TIMEOUT:.0f} s")

    def _selected_topics(self) -> list[Topic]:
        named = self._options.topics
        for name in named:
            if not any(topic.name.strip("/") == name.strip("/") for topic in self._bag.topics):
                raise BagError(f"{self._bag.path} has no topic {name}: {', '.join(t.name for t in self._bag.topics)}")
        selected = {name.strip("/") for name in named}
        return [topic for topic in self._bag.topics if not selected or topic.name.strip("/") in selected]

    def _refusal(self, topic: Topic) -> str:
        """Why a topic is not played; empty when it is."""
        if topic.error:
            return topic.error
        try:
            message_class(topic.type_name)
            validate_full_topic_name(_absolute(topic.name))
        except (BagError, InvalidTopicNameException) as error:
            return printable(str(error))
        if not self._options.arm and is_effort(topic.name):
            return MAY_MOVE
        return self._refusal_by_others(topic, 0)

    def _refusal_by_others(self, topic: Topic, own: int) -> str:
        """Why a topic is not played because of other nodes; ``own`` publishers of it are of this node."""
        if not self._options.arm and self._may_be_acted_on(topic.name):
            return MAY_MOVE
        if topic.name.endswith("joint_states") and self.count_publishers(_absolute(topic.name)) > own:
            return "another node publishes it already: the messages would mix"
        return ""

    def _may_be_acted_on(self, topic: str) -> bool:
        """Whether a subscriber turns messages into torque; wait for those without a name yet."""
        if topic.rpartition("/")[2] in HARMLESS:
            return False
        for _ in range(40):
            subscribers = {info.node_name for info in self.get_subscriptions_info_by_topic(_absolute(topic))}
            if not any("UNKNOWN" in name for name in subscribers):
                break
            time.sleep(0.05)
        return any(name in ACTING_NODES or "UNKNOWN" in name for name in subscribers)

    def _may_publish(self, message: Message) -> bool:
        """Whether no node that must not get this message has subscribed."""
        topic = message.topic
        n_others = self._publishers_of[id(topic)].get_subscription_count()
        if topic.name.endswith("joint_states"):
            n_others += self.count_publishers(_absolute(topic.name))
        if n_others != self._n_others.get(topic.name):
            self._n_others[topic.name] = n_others
            if reason := self._refusal_by_others(topic, 1):
                if self._options.topics:
                    raise BagError(f"{topic.name} is not played any more: {reason}")
                self.left_out[topic.name] = reason
                print(f"not played: {topic.name}: {reason}", flush=True)
        return topic.name not in self.left_out

    def _publisher(self, topic: Topic) -> Any:
        qos = recorded_qos(latched=topic.latched, reliable=topic.reliable)
        return self.create_publisher(message_class(topic.type_name), _absolute(topic.name), qos)

    def _selected_messages(self) -> tuple[list[Message], list[Message]]:
        """Latched messages from before the selected part, and the messages of that part."""
        selected = [message for message in self._bag.messages if id(message.topic) in self._publishers_of]
        if not selected:
            return [], []
        options = self._options
        start_ns = selected[0].log_ns + round(options.start * NANOSECONDS)
        end_ns = start_ns + round(options.duration * NANOSECONDS) if options.duration else selected[-1].log_ns
        if start_ns > self._bag.messages[-1].log_ns:
            message = f"nothing to play after {options.start:g} s: it lasts {self._bag.duration:.3f} s"
            raise BagError(f"{self._bag.path} has {message}")
        before = [message for message in selected if message.log_ns < start_ns and message.topic.latched]
        return before, [message for message in selected if start_ns <= message.log_ns <= end_ns]

    def _in_time(self, messages: Sequence[Message], start: float) -> Iterator[Message]:
        """Yield each message when it is due."""
        if not messages:
            return
        origin_ns = messages[0].log_ns
        clock_ns = -CLOCK_NS
        size = max(1, len(messages) // 100)
        for begin in progress_bar(range(0, len(messages), size), "playing"):
            for message in messages[begin : begin + size]:
                early = (message.log_ns - origin_ns) * 1e-9 / self._options.rate - (time.perf_counter() - start)
                if early > 0.0:
                    time.sleep(early)
                if self._clock is not None and message.log_ns - clock_ns >= CLOCK_NS:
                    clock_ns = message.log_ns
                    self._clock.publish(Clock(clock=ros.time(clock_ns)))
                yield message

    def _send(self, message: Message) -> None:
        assert message.topic.decoder is not None
        if not self._may_publish(message):
            return
        try:
            raw = message.topic.decoder.cdr(message.raw)
        except BagError as error:
            self._bag.malformed[message.topic.name, str(error)] += 1
            return
        self.count += 1  # before publishing, so that no published message is missing when Ctrl-C comes between the two
        self._publishers_of[id(message.topic)].publish(raw)

    def wait_for_arrival(self) -> None:
        """Wait until all subscribers have the last messages, but not longer than :data:`ARRIVAL_TIMEOUT`."""
        end = time.monotonic() + ARRIVAL_TIMEOUT
        for publisher in self._publishers_of.values():
            publisher.wait_for_all_acked(Duration(seconds=max(0.0, end - time.monotonic())))


def _absolute(topic: str) -> str:
    return topic if topic.startswith("/") else f"/{topic}"


def play(bag: Bag, options: PlaybackOptions) -> int:
    """Play a bag until its end, or Ctrl-C; return the number of published messages.

    A BagError when a named topic is not in the bag, or must not be played.
    """
    check_environment()
    die_with_parent()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = None
    try:
        node = PlayerNode(bag, options)
        for topic, reason in node.left_out.items():
            print(f"not played: {topic}: {reason}")
        node.play()
        node.wait_for_arrival()
    except KeyboardInterrupt:
        pass
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return node.count if node is not None else 0
