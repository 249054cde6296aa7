"""Controllers: a follower of goals and a law, from a measured state to the law's torque.

Each is at rest when it is made, and holds the arm where :meth:`Controller.restart` finds it until a goal acts. A brake
ends every goal: behind :meth:`Controller.hold` the arm is held where it is until a new one acts. What
stands between their torque and an actuator is in :mod:`arm_control.control.loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np

from arm_control.control.avoidance.avoidance_law import Avoidance, AvoidanceOutput
from arm_control.control.avoiding_step import AvoidingStep
from arm_control.control.osc.compiled_osc import CompiledOsc
from arm_control.control.osc.force_follower import NO_FORCE, ForceFollower, HandWrench
from arm_control.control.osc.osc_controller import OperationalSpaceController, OscOutput
from arm_control.control.osc.task_inertia import condition_number
from arm_control.control.osc.tuning import OscTuning
from arm_control.exceptions import ArmControlError, InputError
from arm_control.gate.effort_gate import GateOutput
from arm_control.gate.joint_limits import JointLimits, NextLimits
from arm_control.kinematics.served_rows import pose_rank
from arm_control.maths.obstacles import Obstacle
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.motion.goals import Goal, JointGoal, JointJog, Modulation, PoseGoal, WrenchGoal
from arm_control.motion.jogging import JogLimits
from arm_control.motion.pose_follower import PoseFollower, ReferenceSource
from arm_control.motion.references import Reference

JOGGING_SHARE = 0.5
"""Share of the acceleration limit that jogging may ask for; the rest is for the feedback."""


class Measurement(NamedTuple):
    """A measured state in the model's joint order.

    Attributes
    ----------
    stamp_ns : int
        Time of the measurement [ns].
    q, v : ndarray, shape (nv,)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    dt : float
        Time since the measurement before [s]; 0 for the first one.
    is_restart : bool
        Whether a run begins: the first measurement, or time has started over.
    fault : str
        Why the gate must brake in this state; empty when it need not.
    age : float
        Delay of the measurement, known for a braked arm only [s].
    stays : bool
        Whether time has started over, and the arm is where it was.
    """

    stamp_ns: int
    q: Array
    v: Array
    dt: float
    is_restart: bool = False
    fault: str = ""
    age: float = 0.0
    stays: bool = False


class LawOutput(NamedTuple):
    """Torque of a law in one state.

    Attributes
    ----------
    terms : Terms
        Model terms of the measured state.
    tau : ndarray, shape (nv,)
        Torque [N m or N].
    split : callable
        Returns the terms of the torque, each of shape (nv,), by name; computed only when it is called.
    X_WT : Pose
        Desired pose of the end effector.
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


class Controller(Protocol):
    """From goals and measurements to torque.

    Attributes
    ----------
    scales_with_inertia : bool
        Whether the law asks for accelerations, so that its torque grows with the inertia of the model.
    has_schedule : bool
        Whether its motion has times to keep, so that it must not accelerate less than it asks for.
    is_holding : bool
        Whether no goal has acted since :meth:`hold`; False before the first one, and after :meth:`restart`.
    """

    @property
    def scales_with_inertia(self) -> bool: ...  # noqa: D102

    @property
    def has_schedule(self) -> bool: ...  # noqa: D102

    @property
    def is_holding(self) -> bool: ...  # noqa: D102

    def add(self, goal: Goal) -> None:
        """Add a goal, which acts from its stamp on.

        Raises
        ------
        InputError
            When this controller cannot follow such a goal.
        """

    def restart(self, q: Array) -> None:
        """Hold the arm at q, shape (nv,) [rad or m]: time has started over, and past goals act again."""

    def hold(self, stamp_ns: int, q: Array) -> None:
        """End all goals up to a state, and hold the arm where it is until a new one acts: the gate brakes.

        It is called in each state of a brake, before :meth:`tick`. Goals with a later stamp act when they are due. A
        stream of velocities or wrenches that only goes on moves nothing: they count again when none has come for longer
        than their time-out.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state [ns].
        q : ndarray, shape (nv,)
            Measured positions [rad or m].
        """

    def tick(self, measurement: Measurement, tau_dist: Array | None) -> LawOutput:
        """Return the torque of the law.

        Parameters
        ----------
        measurement : Measurement
            The measured state.
        tau_dist : ndarray, shape (nv,), or None
            Known torque that something else exerts [N m or N].
        """


class OscController:
    """Operational space control towards poses (:mod:`arm_control.control.osc.osc_law`), with or without contact.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : OscTuning
        The posture is that of the first restart where it gives none.
    follower : ReferenceSource, optional
        Makes references of the goals; by default a :class:`PoseFollower` without a goal.
    limits : JointLimits, optional
        Limits of the gate, to be computed with the law; by default the gate computes them by itself.
    avoidance : Avoidance, optional
        Avoidance of obstacles, to be computed between the two.

    Attributes
    ----------
    limits : JointLimits or None
        Limits that are computed with the law.
    avoidance : Avoidance or None
        Avoidance that is computed with both.
    force : ForceFollower or None
        The wrench of the hand; None without contact.
    """

    scales_with_inertia = True
    has_schedule = False

    def __init__(
        self,
        model: RobotModel,
        parameters: OscTuning,
        follower: ReferenceSource | None = None,
        limits: JointLimits | None = None,
        avoidance: Avoidance | None = None,
    ) -> None:
        self._model, self.limits, self.avoidance = model, limits, avoidance
        self._follower: ReferenceSource = PoseFollower(model) if follower is None else follower
        self._posture: tuple[float, ...] = ()
        self._q_held: Array | None = None
        contact = parameters.contact
        self.force = ForceFollower(model, contact, parameters.law.task_frame) if contact.is_active else None
        self.configure(parameters)

    def configure(self, parameters: OscTuning) -> None:
        """Take other parameters; they act from the next tick on."""
        self._parameters, p = parameters, parameters.law
        posture = p.posture or self._posture or (0.0,) * self._model.nv
        limits, avoidance, law = self.limits, self.avoidance, p.replace(posture=posture)
        self._law = CompiledOsc(self._model, law, parameters.contact, limits if avoidance is None else None)
        if self._q_held is not None:
            self.page.take_posture(self._q_held)
        self._among_obstacles = None
        if limits is not None and avoidance is not None:
            self._among_obstacles = AvoidingStep(self._model, self._law, avoidance, limits)
        if self.force is not None:
            self.force.configure(parameters.contact)
        speed = np.array([p.speed_limit_linear, p.speed_limit_angular])
        acceleration = np.array([p.acceleration_limit_linear, p.acceleration_limit_angular])
        self._follower.jog_limits = JogLimits(speed, JOGGING_SHARE * acceleration, parameters.twist_timeout)

    @property
    def page(self) -> OperationalSpaceController:
        """The law on floats, with its present gains."""
        return self._law.page

    def steady_reference(self, stamp_ns: int) -> tuple[Reference, int] | None:
        """See :meth:`~arm_control.motion.pose_follower.PoseFollower.steady_reference`; None for other sources, too."""
        follower = self._follower
        return follower.steady_reference(stamp_ns) if isinstance(follower, PoseFollower) else None

    def add(self, goal: Goal) -> None:
        """See :class:`Controller`."""
        if not isinstance(goal, WrenchGoal):
            self._follower.add(pose_goal(goal))
        elif self.force is None:
            raise InputError(NO_FORCE)
        else:
            self.force.add(goal)

    def restart(self, q: Array) -> None:
        """See :class:`Controller`."""
        self._follower.restart(q)
        if self.force is not None:
            self.force.restart()
        if not self._posture:
            self._posture = tuple(q.tolist())
            self.configure(self._parameters)

    @property
    def is_holding(self) -> bool:
        """See :class:`Controller`."""
        return self._follower.is_holding and (self.force is None or self.force.is_holding)

    def hold(self, stamp_ns: int, q: Array) -> None:
        """See :class:`Controller`; until a new goal acts, the posture is the one that is held."""
        self._follower.hold(stamp_ns, q)
        if self.force is not None:
            self.force.hold(stamp_ns)
        self._q_held = q.copy()
        self.page.take_posture(q)

    def tick(
        self,
        measurement: Measurement,
        tau_dist: Array | None,
        limits: NextLimits | None = None,
        obstacles: Sequence[Obstacle] = (),
    ) -> LawOutput:
        """See :class:`Controller`; the law depends on the present state only.

        Parameters
        ----------
        measurement, tau_dist
            See :class:`Controller`.
        limits : NextLimits, optional
            With them the output says what passes the gate, if that can be computed at once.
        obstacles : sequence of Obstacle
            The obstacles in this state; they count with :attr:`avoidance` only.
        """
        reference = self._follower.reference(measurement.stamp_ns, measurement.q)
        if self._q_held is not None and not self._follower.is_holding:
            self._q_held = None
            self.page.take_posture(self._law.parameters.posture)
        if self.force is not None:
            return self._tick_with_contact(self.force, measurement, reference, tau_dist)
        q, v, step = measurement.q, measurement.v, None
        if limits is not None and self._among_obstacles is not None:
            step = self._among_obstacles.step(q, v, reference, *limits, obstacles, tau_dist)
        elif limits is not None:
            step = self._law.step(q, v, reference, *limits, tau_dist)
        output, passed, avoided = step or (self._law.tick(q, v, reference, tau_dist), None, None)
        X_WT, refused = self._follower.goal or reference.X_WT, self._follower.refused
        figures = partial(self.figures_of, output)
        parts = output.state, output.tau, lambda: output.terms, X_WT, figures, "", refused, None, None, passed, avoided
        return tuple.__new__(LawOutput, parts)

    def figures_of(self, output: OscOutput) -> dict[str, float]:
        """Return the figures of an output of the law."""
        condition = condition_number(output.state.J, self._rank, output.length)
        return {**pose_figures(output.error), "condition_number": condition}

    def _tick_with_contact(
        self, force: ForceFollower, state: Measurement, reference: Reference, tau_dist: Array | None
    ) -> LawOutput:
        F = force.tick(state.stamp_ns, state.q, state.dt, reference.X_WT)
        self._law.exert(force.share, F)
        output = self._law.tick(state.q, state.v, reference, tau_dist)
        force.observe(output.state)
        X_WT, refused = self._follower.goal or reference.X_WT, self._follower.refused
        hand = force.hand_wrench()
        return LawOutput(
            output.state, output.tau, lambda: output.terms, X_WT, lambda: self.figures_of(output), "", refused, hand
        )

    @cached_property
    def _rank(self) -> int:
        """Number of singular values that are zero in singular states only."""
        return pose_rank(self._model)


def pose_figures(error: Array) -> dict[str, float]:
    """Return the figures of a pose error, shape (6,) [m, rad]."""
    return {
        "position_error": float(np.linalg.norm(error[:3])),
        "orientation_error": float(np.linalg.norm(error[3:])),
    }


def pose_goal(goal: Goal) -> PoseGoal:
    """Return a goal of the end effector, or raise an InputError."""
    if isinstance(goal, JointGoal | JointJog | WrenchGoal | Modulation):
        raise InputError("this controller follows poses, not joints, wrenches or primitives")
    return goal
