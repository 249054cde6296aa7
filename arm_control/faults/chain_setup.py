"""What a run of faults is made of: the arm, the messages on their way, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arm_control.control import LoopParameters
from arm_control.core import NANOSECONDS
from arm_control.maths import Array
from arm_control.messages import braked_frame
from arm_control.model import RobotModel
from arm_control.motion import Goal
from arm_control.simulation import PlantProperties

STEP = 1e-3
"""Time step of the arm [s]."""
OWN, OTHER = ({"data": bytes([number] * 16)} for number in (1, 2))
"""Publishers: the rightful one, and another one."""
EXACT = "exact"
PLANTS: Mapping[str, PlantProperties] = {
    EXACT: PlantProperties(),
    "heavier": PlantProperties(mass_error=0.05),
    "real": PlantProperties(set="real"),
    "real-1-kg": PlantProperties(set="real", payload_mass=1.0),
}
"""How the arm differs from its model: not at all; links 5 % heavier; the set ``real``; that with 1 kg at the tip."""


NO_NUMBERS = np.zeros(0)


def joint_state(
    names: Sequence[str],
    stamp_ns: int,
    *,
    position: Array = NO_NUMBERS,
    velocity: Array = NO_NUMBERS,
    effort: Array = NO_NUMBERS,
    frame_id: str = "",
) -> Any:
    """Return a ``JointState`` with a stamp [ns] and numbers [rad or m; rad/s or m/s; N m or N]."""
    header = SimpleNamespace(stamp=_time(stamp_ns), frame_id=frame_id)
    return SimpleNamespace(header=header, name=names, position=position, velocity=velocity, effort=effort)


def joint_trajectory(names: Sequence[str], stamp_ns: int, times: Array, positions: Array) -> Any:
    """Return a ``JointTrajectory`` with a stamp [ns], times (k,) [s] and positions (k, n) [rad or m]."""
    header = SimpleNamespace(stamp=_time(stamp_ns), frame_id="")
    points = [
        SimpleNamespace(positions=q, time_from_start=_time(round(t * NANOSECONDS)))
        for t, q in zip(times, positions, strict=True)
    ]
    return SimpleNamespace(header=header, joint_names=names, points=points)


def _time(t_ns: int) -> Any:
    sec, nanosec = divmod(t_ns, NANOSECONDS)
    return SimpleNamespace(sec=sec, nanosec=nanosec)


class Delivery(NamedTuple):
    """A message on its way.

    Attributes
    ----------
    delay : float
        Time that it takes [s].
    """

    message: Any
    delay: float = 0.0
    publisher: dict[str, bytes] = OWN


Interference = Callable[[int, Any], Iterable[Delivery]]
"""From the number of a message since the fault begins, and the message, to what arrives."""
STATES, COMMANDS = "states", "commands"
"""Messages of every run, beside those of :data:`Source`."""
OBSTACLES, CONSTRAINTS = "obstacles", "constraints"
"""Inputs of a controller that events send."""
GOAL = "goal: "
"""How the reason begins for which a controller has refused a goal."""


Source: TypeAlias = tuple[float, Callable[[int], Any]]
"""Somebody who sends a controller messages of a topic: time between two [s], and the message at a time [ns]."""


@dataclass
class Setup:
    """What is run.

    Attributes
    ----------
    q : ndarray, shape (nq,)
        Initial positions [rad or m].
    goal : Goal
        Where the arm is to be at the end.
    is_told : bool
        Whether the controller is given the goal at first; else inputs lead there.
    arrangement : str
        One of :data:`arm_control.faults.chain.ARRANGEMENTS`.
    interferences : dict of str to Interference
        What becomes of messages from the onset on, by topic.
    events : list of (float, callable)
        Time since the onset [s], and what is called with the chain then.
    onset : float
        When the fault begins [s].
    period : float
        Time between two states from the onset on [s].
    """

    model: RobotModel
    parameters: LoopParameters
    q: Array
    goal: Goal
    robot: str
    arrangement: str
    plant: PlantProperties = field(default_factory=PlantProperties)
    is_told: bool = True
    inputs: Mapping[str, Source] = field(default_factory=dict)
    interferences: dict[str, Interference] = field(default_factory=dict)
    events: list[tuple[float, Callable[[Any], None]]] = field(default_factory=list)
    onset: float = 0.5
    period: float = STEP


class Record(NamedTuple):
    """A run, one row for each step of the arm.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time [s].
    q, v, tau : ndarray, shape (n, nv)
        True joint positions and velocities, and the torque that is commanded [rad, rad/s, N m].
    is_braked : ndarray of bool, shape (n,)
        Whether the last gate before the motors brakes.
    left : ndarray, shape (n,)
        What is left of the constraint that holds least [m].
    reason : str
        Why it does, the first time.
    error : str
        What has ended a process; empty.
    """

    t: Array
    q: Array
    v: Array
    tau: Array
    is_braked: Array
    left: Array
    reason: str
    said: dict[str, int]
    error: str


def braked(message: Any, reason: str) -> Any:
    """Return a command marked as one that brakes."""
    message.header.frame_id = braked_frame(reason)
    return message
