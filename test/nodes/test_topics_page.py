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
MEANING = {
    "joint_states": "the measured state; matched by name, in any order, with other joints among them",
    "joint_commands": "joint effort, with the stamp of the state that it answers",
    "effort_controller/commands": "the same without names, in the order of the joints, as ros2_control takes it",
    "effort_in": "joint effort that is to pass",
    "effort_out": "joint effort that has passed",
    "robot_description": "the URDF",
    "target_pose": "where the end effector is to go; `frame_id` any link, empty: the base; stamp 0: now, instead of"
    " those that wait",
    "target_joint": "where joints are to go",
    "target_twist": "how fast the end effector is to go, until `twist_timeout`; `frame_id` any link, empty: the base",
    "target_velocity": "how fast joints are to go, until `velocity_timeout`; joints without a name stand still",
    "pose_trajectory": "how the end effector is to move: one transform per point, of the tip",
    "joint_trajectory": "how the joints are to move",
    "obstacles": "what is around: sphere, box, cylinder, cone, capsule; what RViz shows is what is avoided",
    "disturbance": "known torque on the joints, cancelled for `disturbance_timeout`",
    "target_wrench": "what the hand exerts along `force_axes`, until `force_timeout`; `frame_id` any link, empty: the"
    " base",
    "measured_wrench": "what a sensor measures: wrench of the surroundings on the hand, along and about `frame_id`",
    "wrench": "what a force-torque sensor at the end effector measures: wrench of all beyond it, in its axes",
    "range/<name>": "what a range sensor measures: {}; -inf and +inf out of range",
    "commanded_wrench": "what the hand is to exert now, in the axes of the base",
    "estimated_wrench": "of the surroundings on the hand, as the observer knows it, in the axes of the base",
    "torque_terms/<term>": "what the torque is made of: {}",
    "controller_state/<figure>": "{}",
    "avoidance/<figure>": "{}",
    "controller_state/obstacles": "how many obstacles are known, where they are avoided",
    "controller_state/targets": "how many targets are known",
    "controller_state/figures": "all figures of one state, with their names and its stamp in the label",
    "avoidance/figures": "all figures of one command, with their names and its stamp in the label",
    "dynamics/<matrix>": "{}; row-major, with names of rows and columns and the state's stamp in the labels",
    "dynamics/pose": "of the end effector, in the base",
    "dynamics/twist": "of the end effector, linear before angular, in the base",
    "in_collision": "whether a link and an obstacle are nearer than `margin`, or two links than `link_margin`",
    "proximity/distances": "of pairs nearer than `reach`, the nearest first; link and link, or link and marker, and"
    " the state's stamp in the label",
    "proximity/lines": "lines between the nearest points; red in contact",
    "proximity/query": "joint positions to measure among the present obstacles",
    "proximity/answer": "their distances by pair, with the stamp of the query; OK: free, ERROR: in contact,"
    " WARN: no answer",
    "ik_target": "a pose for which joint positions are wanted; `frame_id` any link, empty: the base",
    "dynamics/ik": "joint positions for `ik_target`, near to the measured ones, with the stamp of the target",
    "dynamics/ik_failure": "why there are none",
    "planned_path": "poses of the end effector along the plan",
    "plan_markers": "the plan as a line; of `planner` also postures of the arm and obstacles later on",
    "markers": "target, shortest lines to obstacles, force, trace",
    "/clock": "simulated time",
    "/diagnostics": "rate, time, rejected messages by cause, what is wrong",
    "~/state": "what the gate does with commands, and why; OK `passing`, WARN `holding`, ERROR `braking`; with the"
    " [values below](#what-a-gate-reports)",
    "gate/state": "what each node in `gates_behind` reports; a brake there holds this controller",
    "driver/is_stopped": "the topic `driver_stop_topic`, by whatever name: the driver has stopped, and the gate brakes",
    "~/outcome": "how the newest trajectory or goal goes or has ended; ERROR: given up",
    "~/plan": "the newest plan, from its start on; the stamp is its begin",
    "~/scene": "obstacles that it was planned among; one that moves a second time 0.1 s later, from which its twist"
    " follows",
    "planner/plan": "the newest plan of `planner`",
    "planner/scene": "obstacles that it was planned among",
    "~/progress": "share of the time of a motion that is over",
    "~/cancel": "give the goal up: the arm stops on its path",
    "~/execute": "move along the plan that waits",
    "~/neural_state": "of neurons: rows x, y, z; columns decoded position, reference, goal",
    "~/spikes": "of some neurons: a row each, a column for each 2 ms; while somebody subscribes",
    "~/enable": "true: go on after a brake; false: brake",
    "~/pause": "true: stop time; false: go on",
    "~/step": "one step of a paused simulation",
    "~/reset": "to the initial position, at time 0",
}
for row in CONTROLLERS.values():
    MEANING |= dict(zip(row.number_topics, row.numbers.values(), strict=True))
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
    ),
    "coppeliasim_bridge": ("-p port:=1 -p world:=ur5_sensors -p wrench_rate:=100.0 -p force_sensor:=/wrist",),
    "viewer": ("-p control:=true -p robot:=ur5 -p port:=0",),
}
"""Parameters with which a node has all that it may have; no CoppeliaSim answers at port 1."""
HEAD = """# Topics

Made from the code. Names are relative: a namespace or a remapping changes them. `~/` is the node's own name.
The labels of an array have names and stamp: `rows: x, y, z, rx, ry, rz; stamp: 12.345000000`,
`cols: joint_1, joint_2`. The stamp is that of the joint state.

"""


GATE_VALUES = f"""
## What a gate reports

A node with a gate behind the controllers publishes a `DiagnosticStatus` on `~/state`, latched: at once when state or
reason change, and ten times a second of the steady clock. Its message is `<state>` or `<state>: <reason>`; the values:

| key | value |
|---|---|
| `{SUCCESS_RATE}` | share of accepted commands among the last 100 |
| `{STAMP}` | stamp of the newest state |
| `{SINCE}` | stamp of the state in which the gate began to do what it does |
| `{JOINTS}` | names of the joints, with commas between them |
| `{TORQUE}` | torque that it applies now, in their order, with commas [N m or N]; empty before the first |
"""


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


def on_the_page(name: str) -> list[str]:
    """Lines of the page's section on a node."""
    (_, *sections) = re.split(r"^(?=## )", PAGE.read_text().removesuffix(GATE_VALUES), flags=re.MULTILINE)
    (found,) = (text for text in sections if text.startswith(f"## {name}\n"))
    return found.rstrip("\n").splitlines()


@pytest.mark.parametrize("name", NODES)
def test_the_page_says_what_a_node_has(name: str, rig: Rig):
    """To write the page anew: python -c "from test_topics_page import *; write_topics_page()" in test/nodes/."""
    assert section(name, rig.domain).splitlines() == on_the_page(name)


def test_the_page_has_every_node_and_no_other():
    text = PAGE.read_text()
    assert text.endswith(GATE_VALUES)
    assert re.findall(r"^## (.*)$", text.removesuffix(GATE_VALUES), re.MULTILINE) == list(NODES)


def write_topics_page() -> None:
    """Write docs/topics.md."""
    PAGE.write_text(HEAD + "\n".join(section(name, 101) for name in NODES) + GATE_VALUES)
