"""What a run of faults is made of: the arm, the messages on their way, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from arm_control.control.loop_parameters import LoopParameters
from arm_control.maths.poses import Array
from arm_control.messages.bags.message_definitions import plain
from arm_control.messages.fields import braked_frame, nanoseconds
from arm_control.model import RobotModel
from arm_control.motion.goals import JointGoal, Target
from arm_control.simulation.mujoco_simulator import MujocoSimulator

STEP = 1e-3
"""Time step of the arm [s]."""
OWN, OTHER = ({"data": bytes([number] * 16)} for number in (1, 2))
"""Publishers: the rightful one, and another one."""


class Delivery(NamedTuple):
    """A message on its way.

    Attributes
    ----------
    message : JointState
        The message.
    delay : float
        Time that it takes [s].
    publisher : dict
        Who sends it.
    """

    message: Any
    delay: float = 0.0
    publisher: dict[str, bytes] = OWN


Interference = Callable[[int, Any], Iterable[Delivery]]
"""From the number of a message since the fault begins, and the message, to what arrives."""


@dataclass(frozen=True)
class Plant:
    """How the arm differs from its model.

    Attributes
    ----------
    friction : float
        Coulomb friction of each joint, as a share of its effort limit.
    mass : float
        Factor of the masses and inertias of all links but the base.
    """

    friction: float = 0.0
    mass: float = 1.0

    def simulator(self, model: RobotModel, q: Array, timestep: float) -> MujocoSimulator:
        """Return the arm in MuJoCo.

        Parameters
        ----------
        model : RobotModel
            Its model.
        q : ndarray, shape (nq,)
            Initial positions [rad or m].
        timestep : float
            Time step [s].
        """
        friction = self.friction * model.tau_max if self.friction else None
        simulator = MujocoSimulator(model, q, timestep=timestep, friction=friction)
        simulator.mujoco_model.body_mass[:] *= self.mass
        simulator.mujoco_model.body_inertia[:] *= self.mass
        simulator.reset()
        return simulator


@dataclass
class Setup:
    """What is run.

    Attributes
    ----------
    model : RobotModel
        The arm.
    parameters : LoopParameters
        Controller and gate.
    q : ndarray, shape (nq,)
        Initial positions [rad or m].
    goal : Target or JointGoal
        Where to go from the start.
    is_hardware : bool
        The arrangement.
    plant : Plant
        How the arm differs from its model.
    states, commands : Interference
        What becomes of messages from the onset on.
    events : list of (float, callable)
        Time since the onset [s], and what is called with the chain then.
    onset : float
        When the fault begins [s].
    duration : float
        When the run ends [s].
    period : float
        Time between two states from the onset on [s].
    """

    model: RobotModel
    parameters: LoopParameters
    q: Array
    goal: Target | JointGoal
    is_hardware: bool
    plant: Plant = field(default_factory=Plant)
    states: Interference | None = None
    commands: Interference | None = None
    events: list[tuple[float, Callable[[Any], None]]] = field(default_factory=list)
    onset: float = 0.5
    duration: float = 2.0
    period: float = STEP


class Moment(NamedTuple):
    """One step of the arm; as a row of :class:`Record`."""

    t: float
    q: Array
    v: Array
    tau: Array
    is_braked: bool


class Record(NamedTuple):
    """A run, one row for each step of the arm.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time [s].
    q, v, tau : ndarray, shape (n, nv)
        Joint positions, velocities, and the torque that is applied [rad, rad/s, N m].
    is_braked : ndarray of bool, shape (n,)
        Whether the gate before the motors brakes.
    reason : str
        Why it does, the first time.
    said : dict of str to int
        Refusals, with their number.
    error : str
        What has ended a process; empty.
    """

    t: Array
    q: Array
    v: Array
    tau: Array
    is_braked: Array
    reason: str
    said: dict[str, int]
    error: str


def copied(message: Any) -> Any:
    """Return a message of its own with the same contents: a process may use its message again."""
    other = plain.joint_state(message.name, nanoseconds(message.header.stamp))
    other.header.frame_id = message.header.frame_id
    for name in ("position", "velocity", "effort"):
        setattr(other, name, np.array(getattr(message, name), dtype=float))
    return other


def braked(message: Any, reason: str) -> Any:
    """Return a command marked as one that brakes.

    Parameters
    ----------
    message : JointState
        The command.
    reason : str
        Why its sender brakes.
    """
    message.header.frame_id = braked_frame(reason)
    return message
