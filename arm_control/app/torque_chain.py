"""The way of goals and of torque through the nodes of a scenario, as remappings, and that of a brake back.

Goals: planner, controller. Torque: controller, avoidance, gate, driver. A controller listens to all gates behind it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import Any

from arm_control.controllers import CONTROLLERS
from arm_control.gate import GATES_BEHIND

Remapping = tuple[str, str]
"""A topic, and its new name."""

PLANNED_GOALS = ("target_pose", "target_joint")
"""Goals of the node ``planner``, which ``joint`` without one takes itself."""


DRIVER = ("joint_commands", "effort_controller/commands")
"""Topics of commands and of efforts that a simulator listens to."""


def remappings_of(nodes: Collection[str], driver: tuple[str, str] = DRIVER) -> dict[str, list[Remapping]]:
    """Return the remappings with which each node hears the one before it, and the last one alone the driver.

    A planner alone hears the goals that it plans for.
    """
    outputs = dict.fromkeys(CONTROLLERS, "joint_commands") | {"obstacle_avoidance": "effort_out"}
    outputs["gate"] = "joint_commands"
    chain = [node for node in outputs if node in nodes]
    remappings: dict[str, list[Remapping]] = {node: [] for node in nodes}
    for node, after in itertools.pairwise(chain):
        link = "effort_out" if node == "obstacle_avoidance" else "effort_in"
        remappings[node] += _renamed(outputs[node], link)
        remappings[after] += _renamed("effort_in", link)
    if chain:
        for topic, name in zip((outputs[chain[-1]], DRIVER[1]), driver, strict=True):
            remappings[chain[-1]] += _renamed(topic, name)
    if "planner" in nodes and "joint" in nodes:
        remappings["joint"] += [(topic, f"joint/{topic}") for topic in PLANNED_GOALS]
    return remappings


def with_gates_behind(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return nodes and their parameters, with the gates behind each controller that does not name them itself."""
    gates = [name for name in GATES_BEHIND if name in nodes]
    heard = {"gates_behind": gates} if gates else {}
    return {name: {**(heard if name in CONTROLLERS else {}), **values} for name, values in nodes.items()}


def _renamed(topic: str, name: str) -> list[Remapping]:
    return [(topic, name)] if topic != name else []
