"""Topics: their quality of service, messages from arrays, and who publishes them.

Each publisher and subscription takes one of these profiles.

joint_states, joint_commands, figures, terms      STATE; publishers in lock step LOSSLESS
joint_states, of the native loop in real time     LATEST
joint_commands, at a simulated arm                COMMANDS
target_pose, pose_trajectory, joint_trajectory    EVENTS and LATCHED_EVENTS, two subscriptions
obstacles                                         EVENTS
robot_description, counts of goals and obstacles  LATCHED
target_pose of the page, motions of the planner   TARGETS
what the page and RViz's markers only display     LATEST

The way from messages to arrays, which needs no ROS, is in :mod:`arm_control.messages.fields`.
"""

from __future__ import annotations

import importlib
from array import array
from functools import cache
from typing import Any

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from arm_control.exceptions import BagError
from arm_control.maths import Array
from arm_control.messages import MessageBuilder

RELIABLE, LATCHING = ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL

STATE = QoSProfile(depth=1, reliability=RELIABLE)
"""Only the newest message counts."""
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""The same for displays: no publisher waits for this subscriber, and nothing is sent again."""
LOSSLESS = QoSProfile(depth=20_000, reliability=RELIABLE)
"""No message may be missing: a lost one is sent again after up to 3 s, and so many others wait for it."""
COMMANDS = QoSProfile(depth=10, reliability=RELIABLE)
"""A few commands may wait, so that each is counted; the newest one acts."""
EVENTS = QoSProfile(depth=1000, reliability=RELIABLE)
"""Every message counts."""
LATCHED = QoSProfile(depth=1, reliability=RELIABLE, durability=LATCHING)
"""The newest message, also for subscribers that come later."""
LATCHED_EVENTS = QoSProfile(depth=1000, reliability=RELIABLE, durability=LATCHING)
"""Every message, also for subscribers that come later."""
TARGETS = QoSProfile(depth=1, reliability=RELIABLE, durability=LATCHING, lifespan=Duration(seconds=1.0))
"""For latched subscriptions, too; but a node that starts later must not follow an old target."""
REPEAT_TIME = 2.0
"""A request to a service without a response is sent again after so long [s]: a service that has not yet discovered its
client carries the request out and drops the response."""


def recorded_qos(*, latched: bool, reliable: bool) -> QoSProfile:
    """Return the QoS of a topic that is recorded or played: no message is missing."""
    return QoSProfile(
        depth=LOSSLESS.depth,
        reliability=RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=LATCHING if latched else DurabilityPolicy.VOLATILE,
    )


@cache
def message_class(type_name: str) -> Any:
    """Return the class of a type, by its name, such as ``sensor_msgs/msg/JointState``.

    A BagError when it is not installed.
    """
    package, _, name = type_name.partition("/msg/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise BagError(f"type {type_name} is not installed") from error


def doubles(values: Array) -> array[float]:
    """Return the value of a ``float64[]`` field, without a check of each element."""
    result: array[float] = array("d")
    result.frombytes(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return result


ros = MessageBuilder(lambda type_name: message_class(type_name)(), doubles)
"""Builds messages of ROS."""

UNKNOWN = "_NODE_NAME_UNKNOWN_"
"""Name of a node of which the middleware knows a publisher already, and nothing else."""


def full_names(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, as far as ``node`` knows them by now, sorted."""
    known = [one for one in node.get_publishers_info_by_topic(topic) if one.node_name != UNKNOWN]
    return sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in known)
