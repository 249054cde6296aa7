"""docs/topics.md is what the nodes really listen to, publish and serve."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from rig import Rig

from arm_control import urdf_path
from arm_control.controllers import CONTROLLERS
from arm_control.nodes import NODES
from arm_control.nodes.support.running import node_factory
from arm_control.processes import JOINTS, SINCE, STAMP, SUCCESS_RATE, TORQUE

PAGE = Path(__file__).parents[2] / "docs" / "topics.md"
EVERYWHERE = ("parameter_events", "rosout", "describe_parameters", "get_parameter", "list_parameters", "set_parameter",
              "get_type_description")  # fmt: skip
"""What every ROS node has."""
OPTIONAL = ("tf", "tf_static")
"""What depends on whether tf2_msgs is installed."""
TEXT = PAGE.read_text()
HEAD, *SECTIONS = re.split(r"^(?=## )", TEXT, flags=re.MULTILINE)
GATE_VALUES = SECTIONS.pop()
MEANING: dict[str, str] = {}
"""What the page says of a topic; a new one gets its words there, once."""
for name, text in re.findall(r"^\| \w+ \| `([^`]+)` \| \S+ \| (.*) \|$", TEXT, re.MULTILINE):
    plain = re.sub(r"; latched( or not)?$", "", text)
    MEANING[name] = re.sub(r"`\w+`(, `\w+`)*", "{}", plain, count=1) if "<" in name else plain
GROUPS = {
    "torque_terms": "<term>",
    "controller_state": "<figure>",
    "dynamics": "<matrix>",
    "avoidance": "<figure>",
    "range": "<name>",
}
"""Topics that share a line, by how they begin."""
BEHIND = "-p gates_behind:=[gate] -p driver_stop_topic:=driver/is_stopped"
ARGUMENTS = {
    "gate": ("-p driver_stop_topic:=driver/is_stopped",),
    "attractor": (f"{BEHIND} -p avoid_obstacles:=true -p disturbance_observer:=true",),
    "osc": (f"{BEHIND} -p avoid_obstacles:=true -p disturbance_observer:=true",),
    "simulator": ("-p world:=ur5_press", "-p world:=ur5_sensors -p wrench_rate:=100.0"),
    "primitive": (f"{BEHIND} -p file:=sweep -p avoid_obstacles:=true -p disturbance_observer:=true",),
    "targets": (
        "-p file:=ur5_press -p count:=1 -p world:=ur5_obstacle",
        "-p motion:=ur5_circle",
        "-p trajectory:=ur5_tour",
        "-p policy:=ur5_tour",
    ),
    "coppeliasim_bridge": ("-p port:=1 -p world:=ur5_sensors -p wrench_rate:=100.0 -p force_sensor:=/wrist",),
    "viewer": ("-p control:=true -p robot:=ur5 -p port:=0",),
}
"""Parameters with which a node has all that it may have; no CoppeliaSim answers at port 1."""


def endpoints(node: Node) -> Iterator[tuple[str, str, str, bool]]:
    """Direction, name, type, and whether it is latched, of everything that a node has."""
    for direction, found in (("in", node.subscriptions), ("out", node.publishers)):
        for end in found:
            kind = end.msg_type
            latched = end.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            yield direction, shown(node, end.topic_name if direction == "in" else end.topic), type_name(kind), latched
    for service in node.services:
        yield "service", shown(node, service.service_name), type_name(service.srv_type), False


def shown(node: Node, name: str) -> str:
    """A name as one would write it in the node: relative, but for what is global."""
    own = f"/{node.get_name()}/"
    if name.removeprefix("/") in MEANING:
        return name.removeprefix("/")
    if name.startswith(own):
        return f"~/{name.removeprefix(own)}"
    return name if name in MEANING else name.removeprefix("/")


def type_name(kind: Any) -> str:
    return f"{kind.__module__.split('.')[0]}/{kind.__name__}"


def groups(node: Node) -> Iterator[tuple[tuple[str, str, str], str, bool]]:
    """Line of the table, last part of the name, and whether it is latched; topics of a kind share a line."""
    for direction, name, kind, latched in endpoints(node):
        if name in OPTIONAL or any(part in name for part in EVERYWHERE):
            continue
        start, _, last = name.rpartition("/")
        line = name if name in MEANING else f"{start}/{GROUPS[start]}"
        yield (direction, line, kind), last, latched


def lines(found: dict[tuple[str, str, str], list[tuple[str, bool]]]) -> Iterator[str]:
    """The table's lines."""
    order = ("in", "out", "service")
    for (direction, name, kind), members in sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0])):
        latches = {latched for _, latched in members}
        latched = "" if latches == {False} else "; latched" if latches == {True} else "; latched or not"
        meaning = MEANING[name].format(", ".join(f"`{last}`" for last, _ in dict.fromkeys(members)))
        yield f"| {direction} | `{name}` | {kind} | {meaning}{latched} |"


def section(name: str, domain: int) -> str:
    """What the page says of a node."""
    make, found = node_factory(name), {}
    for arguments in ARGUMENTS.get(name, (BEHIND if name in CONTROLLERS else "",)):
        rclpy.init(args=["--ros-args", *arguments.split()], domain_id=domain)
        try:
            node = make()
            node.take_model(urdf_path("ur5").read_text())
            for line, last, latched in groups(node):
                found.setdefault(line, []).append((last, latched))
            node.destroy_node()
        finally:
            rclpy.try_shutdown()
    (first, *_) = inspect.getdoc(
        inspect.getmodule(make if inspect.isclass(make) else CONTROLLERS[name].make)
    ).splitlines()
    does = first.partition(": ")[2]
    head = f"## {name}\n\n{does[0].upper()}{does[1:]}\n\n| direction | name | type | what |\n|---|---|---|---|\n"
    return head + "\n".join(dict.fromkeys(lines(found))) + "\n"


@pytest.mark.parametrize("name", NODES)
def test_the_page_says_what_a_node_has(name: str, rig: Rig):
    """To write the page anew: python -c "from test_topics_page import *; write_topics_page()" in test/nodes/."""
    (found,) = (one for one in SECTIONS if one.startswith(f"## {name}\n"))
    assert section(name, rig.domain).splitlines() == found.rstrip("\n").splitlines()


def test_the_page_has_every_node_and_no_other():
    assert [one.splitlines()[0] for one in SECTIONS] == [f"## {name}" for name in NODES]
    assert re.findall(r"^\| `(.*?)` \|", GATE_VALUES, re.MULTILINE) == [SUCCESS_RATE, STAMP, SINCE, JOINTS, TORQUE]


def write_topics_page() -> None:
    """Write docs/topics.md."""
    PAGE.write_text(HEAD + "\n".join(section(name, 101) for name in NODES) + "\n" + GATE_VALUES)
