"""The node ``recorder``: every topic of a known type into a bag, as the bytes go over the wire.

Topics are subscribed as they appear, with the QoS of their publishers, so latched messages from before are recorded
too. The time of a message in the bag is that of its publisher's call. The bag is flushed every second: a MCAP file of a
killed recorder can be read up to there.
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
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from std_msgs.msg import Bool

from arm_control.bags import STORAGES, BagWriter, local_types
from arm_control.core import die_with_parent
from arm_control.exceptions import ArmControlError, BagError
from arm_control.nodes.support.node_process import ProcessEnd, check_environment
from arm_control.nodes.support.polling import poll, polled_subscription
from arm_control.nodes.support.subscriptions import DuplicateFilter
from arm_control.nodes.support.topics import LATCHED, message_class, recorded_qos
from arm_control.nodes.tools.run_monitor import RECORDER_READY

DISCOVERY_PERIOD = 0.1
"""Time between two searches for new topics [s]."""
SETTLING_TIME = 0.3
"""Time from discovering publishers to reporting ready: they must discover this node, too [s]."""
LINGER = 10.0
"""Longest wait for lost messages at the end [s]."""
LATCHED_TIMEOUT = 4.0
"""Time in which a latched message arrives, if there is one [s]: publishers look for lost ones every 3 s."""
CONTROL = ("joint_states", "joint_commands")
"""Topics of a control loop; both are repeated while the simulator is paused."""
FLUSH_PERIOD = 1.0
"""Time between two flushes of the bag [s]."""
GLOBAL_TOPICS = ("/clock", "/diagnostics", "/rosout", "/tf", "/tf_static")
"""Topics that are recorded with any namespace."""


@dataclass(frozen=True)
class TopicSelection:
    """Topics to record.

    Attributes
    ----------
    topics : tuple of str
        Names; empty: all.
    namespace : str
        Only topics below it; empty: all.
    nodes : tuple of str
        Nodes that must be present before the recorder is ready: one may publish its targets only once.
    """

    topics: tuple[str, ...] = ()
    namespace: str = ""
    nodes: tuple[str, ...] = ()

    def includes(self, topic: str) -> bool:
        """Whether a topic is selected."""
        if self.topics:
            return topic.strip("/") in {name.strip("/") for name in self.topics}
        return not self.namespace or topic in GLOBAL_TOPICS or topic.startswith(f"/{self.namespace.strip('/')}/")


@dataclass
class _Source:
    """Subscriptions of a topic by durability: latched and other publishers may share it."""

    message_class: Any
    duplicates: DuplicateFilter = field(default_factory=DuplicateFilter)
    subscriptions: dict[bool, Any] = field(default_factory=dict)
    newest_ns: int = 0
    latched_at: float = 0.0

    @property
    def may_be_late(self) -> bool:
        """Whether a latched message may still be on its way; not every publisher has one."""
        if self.newest_ns or time.monotonic() - self.latched_at > LATCHED_TIMEOUT:
            return False
        return True in self.subscriptions and self.subscriptions[True].get_publisher_count() > 0


class RecorderNode(Node):
    """Writes the messages of topics into a bag."""

    def __init__(self, bag: BagWriter, selection: TopicSelection) -> None:
        super().__init__("recorder", start_parameter_services=False, enable_rosout=False)
        self._bag = bag
        self._selection = selection
        self._sources: dict[str, _Source] = {}
        self._start_ns = time.time_ns()
        self._matched_at = 0.0
        self.unknown: dict[str, str] = {}
        self._ready = self.create_publisher(Bool, RECORDER_READY, LATCHED)
        self._is_ready = False

    @property
    def n_topics(self) -> int:
        """Number of recorded topics."""
        return len(self._sources)

    def discover(self) -> None:
        """Subscribe to new topics, and publish once that a control loop is recorded."""
        for topic, type_names in self.get_topic_names_and_types():
            if not self._is_selected(topic):
                continue
            try:
                self._subscribe_new(topic, type_names)
            except ArmControlError as error:
                self.unknown[topic] = str(error)
                print(f"arm_control: not recorded: {topic}: {error}", file=sys.stderr)
        if not self._is_ready and self._has_control_loop():
            self._matched_at = self._matched_at or time.monotonic()
            self._is_ready = time.monotonic() - self._matched_at > SETTLING_TIME
            if self._is_ready:
                self._ready.publish(Bool(data=True))

    def _is_selected(self, topic: str) -> bool:
        if topic in self.unknown or topic.endswith(f"/{RECORDER_READY}"):
            return False
        return self._selection.includes(topic)

    def _has_control_loop(self) -> bool:
        """Whether states and commands are recorded, and all nodes of the selection are present."""
        return all(map(self._is_subscribed, CONTROL)) and {*self._selection.nodes} <= {*self.get_node_names()}

    def fetch(self) -> None:
        """Write the messages that have arrived."""
        for topic, source in self._sources.items():
            for subscription in source.subscriptions.values():
                for raw, info in poll(subscription):
                    if len(source.subscriptions) == 1 or not source.duplicates.is_duplicate(info):
                        written_ns = source.newest_ns = info["source_timestamp"] or info["received_timestamp"]
                        self._bag.write(topic, max(written_ns, self._start_ns), raw)

    def is_complete(self, until_ns: int) -> bool:
        """Whether states and commands newer than a time [ns] have arrived, and the message of every latched topic.

        Messages arrive in order: a lost one, until it is sent again, holds up those behind it.
        """
        if any(source.may_be_late for source in self._sources.values()):
            return False
        sources = [self._sources.get(self.resolve_topic_name(name)) for name in CONTROL if self._is_subscribed(name)]
        return all(source is not None and source.newest_ns > until_ns for source in sources)

    def _is_subscribed(self, name: str) -> bool:
        source = self._sources.get(self.resolve_topic_name(name))
        return source is not None and any(s.get_publisher_count() for s in source.subscriptions.values())

    def _subscribe_new(self, topic: str, type_names: list[str]) -> None:
        publishers = self.get_publishers_info_by_topic(topic)
        if len(type_names) != 1:
            raise BagError(f"more than one type: {', '.join(type_names)}")
        latched = {info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for info in publishers}
        reliable = all(info.qos_profile.reliability != ReliabilityPolicy.BEST_EFFORT for info in publishers)
        source = self._sources.get(topic)
        if source is None and publishers:
            type_class = message_class(type_names[0])
            self._bag.add(topic, type_names[0], latched=any(latched), reliable=reliable)
            source = self._sources[topic] = _Source(type_class)
        for is_latched in latched - set(source.subscriptions if source else ()):
            assert source is not None
            qos = recorded_qos(latched=is_latched, reliable=reliable)
            source.subscriptions[is_latched] = polled_subscription(self, source.message_class, topic, qos, raw=True)
            source.latched_at = time.monotonic()


def record(
    path: str,
    storage: str,
    selection: TopicSelection,
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
    linger : float
        Longest wait for lost states and commands at the end [s].

    Raises
    ------
    BagError
        When the bag cannot be written.
    """
    check_environment()
    stop = ProcessEnd()
    with BagWriter(path, storage, {"recorded": "topics", **custom}, types=local_types()) as bag:
        rclpy.init(args=list(arguments or ()), signal_handler_options=SignalHandlerOptions.NO)
        node = RecorderNode(bag, selection)
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


def _spin(node: RecorderNode, bag: BagWriter, stop: ProcessEnd) -> None:
    started = discovered = flushed = time.monotonic()
    node.discover()
    while not stop.signals:
        node.fetch()
        now = time.monotonic()
        if now - discovered >= DISCOVERY_PERIOD:
            discovered = now
            node.discover()
            _print_status(f"{bag.count} messages of {node.n_topics} topics, {now - started:.0f} s; Ctrl-C ends it")
        if now - flushed >= FLUSH_PERIOD:
            flushed = now
            bag.flush()
        time.sleep(0.004)
    node.fetch()
    _print_status("")


def _wait_for_lost(node: RecorderNode, linger: float) -> None:
    """Record until all messages from before now have arrived, but not longer than ``linger`` [s]."""
    stopped_ns, end = time.time_ns(), time.monotonic() + linger
    while time.monotonic() < end and not node.is_complete(stopped_ns):
        time.sleep(0.01)
        node.fetch()
    if linger and not node.is_complete(stopped_ns):
        print(f"arm_control: the end of the recording may be missing: {linger:g} s were not enough", file=sys.stderr)


def _print_status(text: str) -> None:
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
    parser.add_argument("--node", dest="nodes", action="append", default=[], help="wait for this node")
    options = parser.parse_args(remove_ros_args(sys.argv)[1:])
    custom = dict(entry.partition("=")[::2] for entry in options.custom)
    nodes = tuple(options.nodes)
    os.nice(5)
    try:
        selection = TopicSelection((), options.namespace, nodes)
        record(options.path, options.storage, selection, custom, sys.argv, linger=LINGER)
    except ArmControlError as error:
        print(f"arm_control: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
