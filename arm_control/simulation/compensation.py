"""Who compensates friction, payloads and rotors: parameters of the nodes, and when they have them without being asked.

An arm that is its model needs no compensation, and is better without: it gives way to a push as a spring, and a floor
of inertia that is not there makes its paths worse. Any other arm misses its targets without. So ``auto`` compensates
where the simulated arm is not its model (``plant.*``) and where no simulator is started: a real arm never is its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arm_control.controllers import CONTROLLERS
from arm_control.exceptions import ParameterError
from arm_control.simulation.plant_properties import properties_of

Nodes = dict[str, dict[str, Any]]
"""Parameters of each node, by its name."""
CHOICES = ("auto", "true", "false")
"""Whether friction is compensated."""
INERTIA_FLOOR = 0.02
"""The floor that suits the arms that were tried [s]."""
GATES = (*CONTROLLERS, "gate", "simulator")
"""Nodes with a gate: each needs the floor, or takes the torque against friction for an acceleration."""


def is_needed(simulator: str, plant: Mapping[str, Any], where: str) -> bool:
    """Return whether the arm is not its model.

    Parameters
    ----------
    simulator : str
        What moves it: ``mujoco``, ``coppeliasim``, or ``none`` for a real arm.
    plant : mapping of str to value
        Parameters of the node ``simulator``.
    where : str
        Source of these values, for the message.

    Raises
    ------
    ParameterError
        When a property of the plant is unknown or not allowed.
    """
    is_ideal = properties_of(plant, where).is_ideal
    return simulator == "none" or (simulator == "mujoco" and not is_ideal)


def with_compensation(nodes: Mapping[str, dict[str, Any]], friction: str, *, is_needed: bool) -> Nodes:
    """Return the nodes with compensation, or without.

    Parameters
    ----------
    nodes : mapping of str to dict
        Parameters of each node.
    friction : str
        ``true`` and ``false`` replace what the nodes have; ``auto`` does not.
    is_needed : bool
        Whether ``auto`` compensates.

    Raises
    ------
    ParameterError
        When ``friction`` is none of these.
    """
    if friction not in CHOICES:
        raise ParameterError(f"friction = {friction!r}, allowed {', '.join(CHOICES)}")
    is_auto, is_on = friction == "auto", friction != "false"
    if is_auto and not is_needed:
        return dict(nodes)
    result: Nodes = {}
    for node, own in nodes.items():
        values: dict[str, Any] = {"disturbance_observer": is_on} if node in CONTROLLERS else {}
        values |= {"inertia_floor": INERTIA_FLOOR if is_on else 0.0} if node in GATES else {}
        result[node] = {**values, **own} if is_auto else {**own, **values}
    return result
