"""What a controller is: a follower of goals and a law, from a measured state to the law's torque; and its row.

Each is at rest when it is made, and holds the arm where :meth:`Controller.restart` finds it until a goal acts. A brake
ends every goal: behind :meth:`Controller.hold` the arm is held where it is until a new one acts. The controllers are in
:mod:`arm_control.controllers`; what stands between their torque and an actuator is in :mod:`arm_control.control.loop`.
Parameters of a loop count in simulation and replay, too; those of its node alone say how it fits into a robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from arm_control.constraints import ConstraintSet
from arm_control.control.adaptive_torque import AdaptationParameters
from arm_control.control.avoidance_law import Avoidance, AvoidanceOutput
from arm_control.control.disturbance_observer import ObserverParameters
from arm_control.control.osc.force_follower import HandWrench
from arm_control.core import Parameters, group, parameter
from arm_control.exceptions import ArmControlError, InputError
from arm_control.gate import GateOutput, GateParameters, JointLimits, NextLimits
from arm_control.maths import Array, Obstacle, Pose
from arm_control.model import ArmParameters, RobotModel, Terms
from arm_control.motion import ChunkGoal, Goal, JointGoal, JointJog, JointStiffness, Modulation, PoseGoal, WrenchGoal


@dataclass(frozen=True)
class LoopParameters(Parameters):
    """What every control loop has beside its controller."""

    observer: ObserverParameters = group(ObserverParameters)
    adaptation: AdaptationParameters = group(AdaptationParameters)
    gate: GateParameters = group(GateParameters)
    arm: ArmParameters = group(ArmParameters)


@dataclass(frozen=True)
class ArmNodeParameters(Parameters):
    """Parameters of every node."""

    arm: ArmParameters = group(ArmParameters)
    robot_description: str = parameter("", "text of the URDF; empty: taken from the topic robot_description")
    frame_prefix: str = parameter("", "prefix of the frames in messages, as that of robot_state_publisher")
    lock_step: bool = parameter(False, "each state waits for its command: nothing is stale, no clock matters")


@dataclass(frozen=True)
class DriverParameters(Parameters):
    """What the last node before a driver knows of it; gravity is that node's alone, not of one with gates behind it."""

    driver_stop_topic: str = parameter(
        "", "topic (std_msgs/Bool) with true while the driver has stopped the arm: the gate brakes; empty: none"
    )
    driver_adds_gravity: bool = parameter(
        False, "whether the driver adds gravity torque itself: what is published for it is without it"
    )
    publish_effort_array: bool = parameter(
        True, "also publish effort_controller/commands, for ros2_control's effort controllers"
    )


@dataclass(frozen=True)
class RealTimeParameters(Parameters):
    """Scheduling of a node with a control loop."""

    real_time_priority: int = parameter(
        0, "SCHED_FIFO priority of the process, on Linux and with rights; 0: the usual scheduler", lower=0, upper=99
    )


@dataclass(frozen=True)
class ControllerNodeParameters(LoopParameters, ArmNodeParameters):
    """Parameters of every node with a controller."""

    driver: DriverParameters = group(DriverParameters)
    gates_behind: tuple[str, ...] = parameter(
        (), "nodes with a gate between controller and motors, such as gate and simulator: their brakes hold it, too"
    )
    real_time: RealTimeParameters = group(RealTimeParameters)
    telemetry_every: int = parameter(20, "states between two sets of torque_terms and controller_state", lower=15)


# -- controllers

TERM_WORDS = {
    "bias": "gravity, Coriolis",
    "disturbance": "known disturbance",
    "observer": "unknown torque",
    "adaptation": "learnt torque",
    "gate": "change by the gate",
}
"""Terms of a torque in words, for legends, by their names; other names are words."""


P = TypeVar("P", bound=LoopParameters)


class Measurement(NamedTuple):
    """A measured state in the model's joint order.

    Attributes
    ----------
    dt : float
        Time since the measurement before [s]; 0 for the first one.
    is_restart : bool
        Whether a run begins: the first measurement, or time has started over.
    fault : str
        Why the gate must brake in this state; empty when it need not.
    age : float
        Delay of the measurement, known for a braked arm only [s].
    """

    stamp_ns: int
    q: Array
    v: Array
    dt: float
    is_restart: bool = False
    fault: str = ""
    age: float = 0.0


class LawOutput(NamedTuple):
    """Torque of a law in one state.

    Attributes
    ----------
    split : callable
        Returns the terms of the torque, each of shape (nv,), by name; computed only when it is called.
    figures : callable
        Returns the law's own figures by name; computed only when they are published.
    fault : str
        Why the gate must brake; empty when it need not.
    refused : ArmControlError or None
        Why a goal that became due is passed over.
    hand : HandWrench or None
        How the hand yields to forces from outside; None where a law without contact holds it.
    friction : ndarray, shape (nv,), or None
        Part of the torque that overcomes known friction, and accelerates nothing [N m or N].
    passed : GateOutput or None
        What of the torque passes the gate, where that was computed with it.
    avoidance : AvoidanceOutput or None
        What avoidance makes of the torque, where that was computed with it.
    """

    terms: Terms
    tau: Array
    split: Callable[[], dict[str, Array]]
    X_WT: Pose
    figures: Callable[[], dict[str, float]]
    fault: str = ""
    refused: ArmControlError | None = None
    hand: HandWrench | None = None
    friction: Array | None = None
    passed: GateOutput | None = None
    avoidance: AvoidanceOutput | None = None


class Controller:
    """From goals and measurements to torque: what all controllers have, and the defaults of what they may have.

    Attributes
    ----------
    scales_with_inertia : bool
        Whether the law asks for accelerations, so that its torque grows with the inertia of the model.
    has_schedule : bool
        Whether its motion has times to keep, so that it must not accelerate less than it asks for.
    has_contact : bool
        Whether the hand yields or presses, so that torque which the model lacks may be wanted.
    follows_hand : bool
        Whether a person moves the arm: torque which the model lacks is that person's, and nothing compensates it.
    felt : ndarray, shape (nv,), or None
        That torque in the last state, filtered [N m or N]; None where nothing measures it.
    limits : JointLimits or None
        Limits of a gate that are computed with the law; None: the gate computes them by itself.
    avoidance : Avoidance or None
        Avoidance of obstacles behind the law; with :attr:`limits` it is computed between the two.
    """

    scales_with_inertia = True
    has_schedule = False
    has_contact = False
    follows_hand = False
    felt: Array | None = None
    limits: JointLimits | None = None
    avoidance: Avoidance | None = None
    _is_holding = False

    def keep(self, rows: ConstraintSet | None) -> bool:
        """Compute constraints between law and :attr:`limits`; return whether that is possible, or there are none."""
        return rows is None

    def feel(self, *, is_measured: bool) -> None:
        """Take note of whether a sensor measures the wrench on the hand; called before each tick with contact."""

    @property
    def is_holding(self) -> bool:
        """Whether no goal has acted since :meth:`hold`; False before the first one, and after :meth:`restart`."""
        return self._is_holding

    def configure(self, parameters: Any) -> None:
        """Take other parameters of this controller; they act from the next tick on."""
        raise NotImplementedError

    def add(self, goal: Goal) -> None:
        """Add a goal, which acts from its stamp on; an InputError when this controller cannot follow such a goal."""
        raise NotImplementedError

    def restart(self, q: Array) -> None:
        """Hold the arm at q, shape (nv,) [rad or m]: time has started over, and past goals act again."""
        raise NotImplementedError

    def begin(self, q: Array) -> None:
        """Hold the arm at q, shape (nq,) [rad or m], from where goals that :meth:`hold` has ended act after all.

        The arm has been weighed: what is timed begins now.
        """
        self.restart(q)

    def hold(self, stamp_ns: int, q: Array) -> None:
        """End all goals up to a state, and hold the arm at q where it is until a new one acts: the gate brakes.

        It is called in each state of a brake, before :meth:`tick`. Goals with a later stamp act when they are due. A
        stream of velocities or wrenches that only goes on moves nothing: they count again when none has come for longer
        than their time-out.
        """
        raise NotImplementedError

    def tick(
        self,
        measurement: Measurement,
        tau_dist: Array | None,
        limits: NextLimits | None = None,
        obstacles: Sequence[Obstacle] = (),
        /,
    ) -> LawOutput:
        """Return the torque of the law.

        Parameters
        ----------
        tau_dist : ndarray, shape (nv,), or None
            Known torque that something else exerts [N m or N].
        limits : NextLimits, optional
            With them the output may say what passes the gate; only for a controller with :attr:`limits`.
        """
        raise NotImplementedError


def pose_figures(error: Array) -> dict[str, float]:
    """Return the figures of a pose error, shape (6,) [m, rad]."""
    return {
        "position_error": float(np.linalg.norm(error[:3])),
        "orientation_error": float(np.linalg.norm(error[3:])),
    }


def pose_goal(goal: Goal) -> PoseGoal:
    """Return a goal of the end effector, or raise an InputError."""
    if isinstance(goal, JointGoal | JointJog | ChunkGoal | JointStiffness | WrenchGoal | Modulation):
        raise InputError("this controller follows poses, not joints, wrenches or primitives")
    return goal


@dataclass(frozen=True)
class ControllerRow(Generic[P]):
    """A controller as nodes, scenarios, launch files, the command line, bags and pages see it.

    Attributes
    ----------
    name : str
        Name of the controller, of its module, and of its node.
    node_parameters : type
        Class of the parameters of its node: those, and what only a node has.
    make : callable
        Returns the controller of an arm with parameters of its loop, for simulation and replay.
    numbers : dict of str to str
        Quantities that topics ``<controller>/<quantity>`` set, and what each is.
    sees_obstacles : callable
        Whether it needs the obstacles around, with parameters of its loop.
    at_rate : callable
        Returns the parameters that say the rate of the states [Hz].
    """

    name: str
    parameters: type[P]
    node_parameters: type[ControllerNodeParameters]
    make: Callable[[RobotModel, P], Controller]
    torque_terms: tuple[str, ...]
    figures: tuple[str, ...]
    goals: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    sees_obstacles: Callable[[P], bool] = lambda _: False
    at_rate: Callable[[float], Mapping[str, float]] = lambda _: {}

    @property
    def number_topics(self) -> tuple[str, ...]:
        """Topics with numbers."""
        return tuple(f"{self.name}/{quantity}" for quantity in self.numbers)

    @property
    def proposes_gains(self) -> bool:
        """Whether gains that nobody gives are proposed for the arm."""
        return "propose_gains" in self.parameters.types()

    @property
    def node_only(self) -> frozenset[str]:
        """Names of the parameters of its node that say nothing about the control."""
        return frozenset(self.node_parameters.types()) - frozenset(self.parameters.types())
