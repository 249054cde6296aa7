"""The node ``recorder``: every topic of a known type into a bag, as the bytes go over the wire.

Topics are taken up as they appear, with the QoS they are published with, so latched messages of before are heard too.
A message's time in the bag is that of its publisher's call. The bag is handed to the operating system every second:
when this process is killed, a MCAP file is readable up to there.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from std_msgs.msg import Bool

from arm_control.exceptions import ArmControlError, BagError
from arm_control.messages.bags.message_definitions import local_types
from arm_control.messages.bags.writer import STORAGES, BagWriter, Publication
from arm_control.nodes.support.arm_node import check_environment, die_with_parent
from arm_control.nodes.support.conversions import message_class
from arm_control.nodes.support.goal_subscription import DuplicateFilter
from arm_control.nodes.support.polling import poll, polled_subscription
from arm_control.nodes.support.qos import LATCHED, LOSSLESS
from arm_control.nodes.tools.command_line_node import StopRequest
from arm_control.nodes.tools.run_monitor import RECORDER_READY

LOOK = 0.1
"""Time between two looks for new topics [s]."""
SETTLE = 0.3
"""Time from hearing publishers to saying so: until they know of us, too [s]."""
LINGER = 10.0
"""Longest time that lost messages are waited for at the end [s]."""
LATCHED_COMES = 4.0
"""Time in which a latched message comes, if there is one [s]: a publisher notices every 3 s that one was lost."""
CONTROL = ("joint_states", "joint_commands")
"""Topics of a control loop; both are repeated while the simulator is paused."""
FLUSH = 1.0
"""Time between two moments at which the bag is safe from a kill [s]."""
ALWAYS = ("/clock", "/diagnostics", "/rosout", "/tf", "/tf_static")
"""Topics that are recorded also where a namespace is asked for."""


@dataclass(frozen=True)
class Wanted:
    """What is to be recorded.

    Attributes
    ----------
    topics : tuple of str
        Names; empty: all.
    namespace : str
        Only topics below it; empty: all.
    nodes : tuple of str
        Nodes that are waited for before a control loop counts as heard: one may tell its targets only once.
    """

    topics: tuple[str, ...] = ()
    namespace: str = ""
    nodes: tuple[str, ...] = ()

    def holds(self, topic: str) -> bool:
        """Whether a topic is wanted."""
        if self.topics:
            return topic.strip("/") in {name.strip("/") for name in self.topics}
        return not self.namespace or topic in ALWAYS or topic.startswith(f"/{self.namespace.strip('/')}/")


@dataclass
class _Source:
    """A topic that is heard, by durability: a latched publisher and one that is not may share it."""

    kind: Any
    duplicates: DuplicateFilter = field(default_factory=DuplicateFilter)
    subscriptions: dict[bool, Any] = field(default_factory=dict)
    newest_ns: int = 0
    latched_at: float = 0.0

    @property
    def may_be_late(self) -> bool:
        """Whether somebody may have latched a message that has not come yet; not every publisher has one."""
        if self.newest_ns or time.monotonic() - self.latched_at > LATCHED_COMES:
            return False
        return True in self.subscriptions and self.subscriptions[True].get_publisher_count() > 0


class RecorderNode(Node):
    """Writes what it hears into a bag.

    Parameters
    ----------
    bag : BagWriter
        Where to.
    wanted : Wanted
        What of all there is.

    Attributes
    ----------
    unknown : dict of str to str
        Topics that cannot be recorded, and why.
    """

    def __init__(self, bag: BagWriter, wanted: Wanted) -> None:
        super().__init__("recorder", start_parameter_services=False, enable_rosout=False)
        self._bag, self._wanted = bag, wanted
        self._sources: dict[str, _Source] = {}
        self._start_ns, self._matched_at = time.time_ns(), 0.0
        self.unknown: dict[str, str] = {}
        self._ready = self.create_publisher(Bool, RECORDER_READY, LATCHED)
        self._is_ready = False

    @property
    def n_topics(self) -> int:
        """Topics that are recorded."""
        return len(self._sources)

    def look(self) -> None:
        """Take up topics that are new, and say so once the ones of a control loop are heard."""
        for topic, kinds in self.get_topic_names_and_types():
            if self._wanted.holds(topic) and topic not in self.unknown and not topic.endswith(f"/{RECORDER_READY}"):
                try:
                    self._take_up(topic, kinds)
                except ArmControlError as error:
                    self.unknown[topic] = str(error)
                    print(f"arm_control: not recorded: {topic}: {error}", file=sys.stderr)
        if not self._is_ready and all(map(self._hears, CONTROL)) and {*self._wanted.nodes} <= {*self.get_node_names()}:
            self._matched_at = self._matched_at or time.monotonic()
            self._is_ready = time.monotonic() - self._matched_at > SETTLE
            if self._is_ready:
                self._ready.publish(Bool(data=True))

    def fetch(self) -> None:
        """Write what has come."""
        for topic, source in self._sources.items():
            for subscription in source.subscriptions.values():
                for raw, info in poll(subscription):
                    if len(source.subscriptions) == 1 or not source.duplicates.is_duplicate(info):
                        written_ns = source.newest_ns = info["source_timestamp"] or info["received_timestamp"]
                        self._bag.write(topic, max(written_ns, self._start_ns), raw)

    def is_complete(self, until_ns: int) -> bool:
        """Whether states and commands have come that are younger than a time [ns], and every latched topic's message.

        Messages come in order: one that was lost, and is sent again later, holds up those behind it.
        """
        if any(source.may_be_late for source in self._sources.values()):
            return False
        sources = [self._sources.get(self.resolve_topic_name(name)) for name in CONTROL if self._hears(name)]
        return all(source is not None and source.newest_ns > until_ns for source in sources)

    def _hears(self, name: str) -> bool:
        source = self._sources.get(self.resolve_topic_name(name))
        return source is not None and any(s.get_publisher_count() for s in source.subscriptions.values())

    def _take_up(self, topic: str, kinds: list[str]) -> None:
        publishers = self.get_publishers_info_by_topic(topic)
        if len(kinds) != 1:
            raise BagError(f"more than one type: {', '.join(kinds)}")
        latched = {info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for info in publishers}
        reliable = all(info.qos_profile.reliability != ReliabilityPolicy.BEST_EFFORT for info in publishers)
        source = self._sources.get(topic)
        if source is None and publishers:
            type_class = message_class(kinds[0])
            self._bag.add(topic, kinds[0], Publication(any(latched), reliable))
            source = self._sources[topic] = _Source(type_class)
        for is_latched in latched - set(source.subscriptions if source else ()):
            assert source is not None
            source.subscriptions[is_latched] = self._subscribed(source.kind, topic, is_latched, reliable)
            source.latched_at = time.monotonic()

    def _subscribed(self, kind: Any, topic: str, latched: bool, reliable: bool) -> Any:
        qos = QoSProfile(
            depth=LOSSLESS.depth,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        return polled_subscription(self, kind, topic, qos, raw=True)


def record(
    path: str,
    storage: str,
    wanted: Wanted,
    custom: dict[str, str],
    arguments: Sequence[str] | None = None,
    *,
    linger: float = 0.0,
    greeting: str = "",
) -> int:
    """Record until a signal ends it; return the number of messages. A bag without a message is removed.

    Parameters
    ----------
    path : str
        The bag's folder; it must not be there yet.
    storage : str
        ``mcap`` or ``sqlite3``.
    wanted : Wanted
        What of all there is.
    custom : dict of str to str
        What is to be known of the recording.
    arguments : sequence of str, optional
        ROS arguments.
    linger : float
        Time that lost states and commands are waited for at the end [s].
    greeting : str
        What to print once a signal is waited for.

    Raises
    ------
    BagError
        When the bag cannot be written.
    """
    check_environment()
    stop = StopRequest()
    with BagWriter(path, storage, {"recorded": "topics", **custom}, types=local_types()) as bag:
        rclpy.init(args=list(arguments or ()), signal_handler_options=SignalHandlerOptions.NO)
        node = RecorderNode(bag, wanted)
        try:
            if greeting:
                print(greeting, flush=True)
            _spin(node, bag, stop)
            _wait_for_lost(node, linger)
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    if not bag.count:
        bag.remove()
    return bag.count


def _spin(node: RecorderNode, bag: BagWriter, stop: StopRequest) -> None:
    started = looked = flushed = time.monotonic()
    node.look()
    while not stop.requested:
        node.fetch()
        now = time.monotonic()
        if now - looked >= LOOK:
            looked = now
            node.look()
            _show(f"{bag.count} messages of {node.n_topics} topics, {now - started:.0f} s; Ctrl-C ends it")
        if now - flushed >= FLUSH:
            flushed = now
            bag.flush()
        time.sleep(0.004)
    node.fetch()
    _show("")


def _wait_for_lost(node: RecorderNode, linger: float) -> None:
    """Go on until what was written before now has come, but not longer than that [s]."""
    stopped_ns, end = time.time_ns(), time.monotonic() + linger
    while time.monotonic() < end and not node.is_complete(stopped_ns):
        time.sleep(0.01)
        node.fetch()
    if linger and not node.is_complete(stopped_ns):
        print(f"arm_control: the end of the recording may be missing: {linger:g} s were not enough", file=sys.stderr)


def _show(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:70}\r" if not text else f"\r{text}", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Entry point of ``python -m arm_control.nodes.tools.bag_recorder``."""
    die_with_parent()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", dest="path", required=True)
    parser.add_argument("--storage", default="mcap", choices=tuple(STORAGES))
    parser.add_argument("--custom", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--namespace", default="")
    parser.add_argument("--node", dest="nodes", action="append", default=[], help="wait until it is there")
    options = parser.parse_args(remove_ros_args(sys.argv)[1:])
    custom, nodes = dict(entry.partition("=")[::2] for entry in options.custom), tuple(options.nodes)
    os.nice(5)
    try:
        record(options.path, options.storage, Wanted((), options.namespace, nodes), custom, sys.argv, linger=LINGER)
    except ArmControlError as error:
        print(f"arm_control: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
