"""Any scenario with goals, planned for: its arm is controlled in joint space, and moves along plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arm_control.exceptions import ParameterError
from arm_control.simulation.scenario import Scenario

FOLLOWED = ("osc", "joint")
"""Controllers whose goals the node ``planner`` takes."""
WAYS = ("trajectory", "motion")
"""Parameters of the node ``targets`` that are whole ways."""


def planned(scenario: Scenario, variant: str = "") -> Scenario:
    """Return a scenario whose goals the node ``planner`` takes, and whose controller is ``joint``.

    Parameters
    ----------
    variant : str
        One of its variants; empty: the first.

    Raises
    ------
    ParameterError
        When its controller has other goals, or its goals are whole ways.
    """
    chosen = scenario.variant(variant)
    controller = chosen.controller
    if controller not in FOLLOWED:
        raise ParameterError(
            f"{scenario.name} has {f'the controller {controller}' if controller else 'no controller'}, which follows no"
            f" plans; allowed: {', '.join(FOLLOWED)}"
        )
    if any(way in chosen.nodes.get("targets", {}) for way in WAYS):
        raise ParameterError(f"the targets of {scenario.name} are a way of their own, which cannot be planned for")
    own = chosen.nodes[controller] if controller == "joint" else {"publish_effort_array": False}
    joint = {**own, **chosen.arm()}
    nodes: dict[str, dict[str, Any]] = {}
    for name, values in chosen.nodes.items():
        nodes |= {"joint": joint, "planner": chosen.nodes.get("planner", {})} if name == controller else {name: values}
    nodes.pop("obstacle_avoidance", None)
    return replace(chosen, nodes=nodes, variants={})
