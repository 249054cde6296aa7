"""The node ``player``: a bag's messages onto live topics, at the times at which they were written.

The bytes go out as they are in the bag (those of ROS 1 are converted); what was latched is latched. Torque is not
played onto topics that may reach an actuator, unless the caller says that this is wanted.
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
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_full_topic_name import validate_full_topic_name
from rosgraph_msgs.msg import Clock

from arm_control.core.progress import progress_bar
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import BagError
from arm_control.messages.bags.bag import Bag, Message, Topic
from arm_control.model.urdf.xml import printable
from arm_control.nodes.support.arm_node import check_environment
from arm_control.nodes.support.conversions import message_class, ros
from arm_control.nodes.support.qos import LOSSLESS, STATE

DISCOVERY = 1.0
"""Wall time in which nodes find each other [s]."""
ARRIVAL = 5.0
"""Wall time that the last messages have to arrive [s]."""
PATIENCE = 60.0
"""Longest time that listeners are waited for [s]."""
CLOCK_NS = 1_000_000
"""Least time between two messages of the clock [ns]."""
EFFORT = ("joint_commands", "commands", "command", "effort_in", "effort_out")
"""How topics end that may reach an actuator; so may any with ``effort`` in its name."""
MAY_MOVE = "it may move an arm; --arm plays it all the same"
OBEYING = ("gate", "simulator", "coppeliasim_bridge", "obstacle_avoidance", "controller_manager")
"""Nodes that turn what they hear into torque, or pass it on."""
HARMLESS = ("joint_states", "robot_description", "clock", "obstacles", "tf", "tf_static")
"""How topics end that they hear and do not obey."""


@dataclass(frozen=True)
class Playing:
    """How a bag is played.

    Attributes
    ----------
    rate : float
        Speed, as a factor.
    start, duration : float
        From where, and how much of the recording [s]; 0: all of it.
    topics : tuple of str
        Names; empty: all.
    loop : bool
        Again and again.
    clock : bool
        Whether the time of the recording is published on ``/clock``.
    arm : bool
        Whether topics are played that may reach an actuator.
    wait : bool
        Whether to begin when every topic that is played has a listener.
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

    Parameters
    ----------
    bag : Bag
        What is played.
    playing : Playing
        How.

    Attributes
    ----------
    left_out : dict of str to str
        Topics that are not played, and why.
    count : int
        Messages that went out so far.

    Raises
    ------
    BagError
        When a topic that is asked for is not in the bag, or must not be played.
    """

    def __init__(self, bag: Bag, playing: Playing) -> None:
        super().__init__("player", start_parameter_services=False, enable_rosout=False)
        self._bag, self._playing = bag, playing
        self.left_out: dict[str, str] = {}
        self.count = 0
        self._publishers_of: dict[int, Any] = {}
        self._around: dict[str, int] = {}
        end = time.monotonic() + DISCOVERY
        while time.monotonic() < end:
            time.sleep(0.05)
        for topic in self._chosen():
            trouble = self._trouble(topic)
            if trouble and playing.topics:
                raise BagError(f"{topic.name} is not played: {trouble}")
            if trouble:
                self.left_out[topic.name] = trouble
            else:
                self._publishers_of[id(topic)] = self._publisher(topic)
        has_clock = any(topic.name == "/clock" for topic in bag.topics if id(topic) in self._publishers_of)
        self._clock = self.create_publisher(Clock, "/clock", STATE) if playing.clock and not has_clock else None
        if self._publishers_of:
            self._meet()

    def play(self) -> None:
        """Play."""
        first, rest = self._sorted_out()
        for message in first:
            self._send(message)
        while True:
            start = time.perf_counter()
            for message in self._in_time(rest, start):
                self._send(message)
            if not self._playing.loop or not rest:
                return

    def _meet(self) -> None:
        """Wait until listeners have found us: what is not latched would not reach them."""
        end = time.monotonic() + (PATIENCE if self._playing.wait else DISCOVERY)
        while time.monotonic() < end:
            time.sleep(0.05)
            silent = [p.topic for p in self._publishers_of.values() if not p.get_subscription_count()]
            if self._playing.wait and not silent:
                time.sleep(DISCOVERY)  # they are known here: now let them know us
                return
        if self._playing.wait:
            raise BagError(f"nobody listens to {', '.join(silent)} after {PATIENCE:.0f} s")

    def _chosen(self) -> list[Topic]:
        named = self._playing.topics
        for name in named:
            if not any(topic.name.strip("/") == name.strip("/") for topic in self._bag.topics):
                raise BagError(f"{self._bag.path} has no topic {name}: {', '.join(t.name for t in self._bag.topics)}")
        asked = {name.strip("/") for name in named}
        return [topic for topic in self._bag.topics if not asked or topic.name.strip("/") in asked]

    def _trouble(self, topic: Topic) -> str:
        """Why a topic is not played; empty when it is."""
        if topic.error:
            return topic.error
        try:
            message_class(topic.type_name)
            validate_full_topic_name(_absolute(topic.name))
        except (BagError, InvalidTopicNameException) as error:
            return printable(str(error))
        if not self._playing.arm and is_effort(topic.name):
            return MAY_MOVE
        return self._trouble_with_others(topic, 0)

    def _trouble_with_others(self, topic: Topic, own: int) -> str:
        """Why a topic is not played because of who else is there; so many publishers of it are our own."""
        if not self._playing.arm and self._is_obeyed(topic.name):
            return MAY_MOVE
        if topic.name.endswith("joint_states") and self.count_publishers(_absolute(topic.name)) > own:
            return "somebody publishes it already: the two would mix"
        return ""

    def _is_obeyed(self, topic: str) -> bool:
        """Whether a node listens that turns what it hears into torque; one without a name yet is waited for."""
        if topic.rpartition("/")[2] in HARMLESS:
            return False
        for _ in range(40):
            listeners = {info.node_name for info in self.get_subscriptions_info_by_topic(_absolute(topic))}
            if not any("UNKNOWN" in name for name in listeners):
                break
            time.sleep(0.05)
        return any(name in OBEYING or "UNKNOWN" in name for name in listeners)

    def _may_go_on(self, message: Message) -> bool:
        """Whether nobody has come to listen who must not hear this."""
        topic, publisher = message.topic, self._publishers_of[id(message.topic)]
        around = publisher.get_subscription_count()
        if topic.name.endswith("joint_states"):
            around += self.count_publishers(_absolute(topic.name))
        if around != self._around.get(topic.name):
            self._around[topic.name] = around
            if trouble := self._trouble_with_others(topic, 1):
                self.left_out[topic.name] = trouble
                print(f"not played: {topic.name}: {trouble}", flush=True)
        return topic.name not in self.left_out

    def _publisher(self, topic: Topic) -> Any:
        qos = QoSProfile(
            depth=LOSSLESS.depth,
            reliability=ReliabilityPolicy.RELIABLE if topic.reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE,
        )
        return self.create_publisher(message_class(topic.type_name), _absolute(topic.name), qos)

    def _sorted_out(self) -> tuple[list[Message], list[Message]]:
        """What was latched before the part that is played, and that part."""
        mine = [message for message in self._bag.messages if id(message.topic) in self._publishers_of]
        if not mine:
            return [], []
        p, origin_ns = self._playing, mine[0].log_ns
        start_ns = origin_ns + round(p.start * NANOSECONDS)
        end_ns = start_ns + round(p.duration * NANOSECONDS) if p.duration else mine[-1].log_ns
        if start_ns > self._bag.messages[-1].log_ns:
            lasts = self._bag.duration
            raise BagError(f"{self._bag.path} has nothing to play after {p.start:g} s: it lasts {lasts:.3f} s")
        before = [message for message in mine if message.log_ns < start_ns and message.topic.latched]
        return before, [message for message in mine if start_ns <= message.log_ns <= end_ns]

    def _in_time(self, messages: Sequence[Message], start: float) -> Iterator[Message]:
        """Yield each message when it is due."""
        if not messages:
            return
        origin_ns, told_ns = messages[0].log_ns, -CLOCK_NS
        size = max(1, len(messages) // 100)
        for begin in progress_bar(range(0, len(messages), size), "playing"):
            for message in messages[begin : begin + size]:
                early = (message.log_ns - origin_ns) * 1e-9 / self._playing.rate - (time.perf_counter() - start)
                if early > 0.0:
                    time.sleep(early)
                if self._clock is not None and message.log_ns - told_ns >= CLOCK_NS:
                    told_ns = message.log_ns
                    self._clock.publish(Clock(clock=ros.time(told_ns)))
                yield message

    def _send(self, message: Message) -> None:
        assert message.topic.decoder is not None
        if not self._may_go_on(message):
            return
        try:
            raw = message.topic.decoder.cdr(message.raw)
        except BagError as error:
            self._bag.malformed[message.topic.name, str(error)] += 1
            return
        self._publishers_of[id(message.topic)].publish(raw)
        self.count += 1

    def wait_for_listeners(self) -> None:
        """Wait until everybody has the last messages; for somebody who stands still not longer than ``ARRIVAL``."""
        end = time.monotonic() + ARRIVAL
        for publisher in self._publishers_of.values():
            publisher.wait_for_all_acked(Duration(seconds=max(0.0, end - time.monotonic())))


def _absolute(topic: str) -> str:
    return topic if topic.startswith("/") else f"/{topic}"


def play(bag: Bag, playing: Playing) -> int:
    """Play a bag until its end, or Ctrl-C; return how many messages went out.

    Raises
    ------
    BagError
        When a topic that is asked for is not in the bag, or must not be played.
    """
    check_environment()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = None
    try:
        node = PlayerNode(bag, playing)
        for topic, trouble in node.left_out.items():
            print(f"not played: {topic}: {trouble}")
        node.play()
        node.wait_for_listeners()
    except KeyboardInterrupt:
        pass
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return node.count if node is not None else 0
