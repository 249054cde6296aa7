"""Operational space control towards poses (:mod:`arm_control.control.osc.osc_law`), with or without contact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from arm_control.constraints import ConstraintSet
from arm_control.control import (
    NO_FORCE,
    TERMS,
    Avoidance,
    CompiledOsc,
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    ForceFollower,
    LawOutput,
    LoopParameters,
    Measurement,
    OperationalSpaceController,
    OscOutput,
    OscTuning,
    between_law_and_gate,
    condition_number,
    pose_figures,
    pose_goal,
    step_limits,
)
from arm_control.core import group, parameter
from arm_control.exceptions import InputError, ParameterError
from arm_control.gate import JointLimits, NextLimits
from arm_control.kinematics import pose_rank
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel
from arm_control.motion import Goal, JogLimits, PoseFollower, Reference, ReferenceSource, WrenchGoal

JOGGING_SHARE = 0.5
"""Share of the acceleration limit that jogging may ask for; the rest is for the feedback."""
NATIVE = "native"
"""Name of the loop that answers without Python."""
NATIVE_ALONE = "loop: native serves operational space control alone, not"
FIGURES = ("position_error", "orientation_error", "condition_number", "nearest_distance", "task_share")


@dataclass(frozen=True)
class OscLoopParameters(LoopParameters):
    """Operational space control behind a gate."""

    control: OscTuning = group(OscTuning)


@dataclass(frozen=True)
class OscNodeParameters(OscLoopParameters, ControllerNodeParameters):
    """Parameters of the node ``osc``."""

    loop: str = parameter(
        "python",
        "what answers ordinary states: Python, or a compiled loop that needs nothing of it",
        choices=("python", NATIVE),
    )
    disturbance_timeout: float = parameter(
        0.1, "a disturbance that is older, by the states' stamps, has ended", unit="s", lower=0.0, live=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loop == NATIVE and (parts := between_law_and_gate(self)):
            raise ParameterError(f"{NATIVE_ALONE} {', '.join(parts)}")


class OscController(Controller):
    """Operational space control towards poses (:mod:`arm_control.control.osc.osc_law`), with or without contact.

    Parameters
    ----------
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
    force : ForceFollower or None
        The wrench of the hand; None without contact.
    """

    def __init__(
        self,
        model: RobotModel,
        parameters: OscTuning,
        follower: ReferenceSource | None = None,
        limits: JointLimits | None = None,
        avoidance: Avoidance | None = None,
    ) -> None:
        self._model, self.limits, self.avoidance = model, limits, avoidance
        self._rows: ConstraintSet | None = None
        self._follower: ReferenceSource = PoseFollower(model) if follower is None else follower
        self._posture: tuple[float, ...] = ()
        self._q_held: Array | None = None
        contact = parameters.contact
        self.force = ForceFollower(model, contact, parameters.law.task_frame) if contact.is_active else None
        self.has_contact = contact.is_active
        self.configure(parameters)

    def configure(self, parameters: OscTuning) -> None:
        self._parameters, p = parameters, parameters.law
        posture = p.posture or self._posture or (0.0,) * self._model.nv
        limits, avoidance, law = self.limits, self.avoidance, p.replace(posture=posture)
        between = self._rows if avoidance is None else avoidance
        self._law = CompiledOsc(self._model, law, parameters.contact, limits, between)
        if self._q_held is not None:
            self.page.take_posture(self._q_held)
        if avoidance is not None:
            avoidance.parameters = parameters.avoidance
            avoidance.speed_limits = self.page.speed_limits
        if self.force is not None:
            self.force.configure(parameters.contact)
        speed = np.array([p.speed_limit_linear, p.speed_limit_angular])
        acceleration = np.array([p.acceleration_limit_linear, p.acceleration_limit_angular])
        self._follower.jog_limits = JogLimits(speed, JOGGING_SHARE * acceleration, parameters.twist_timeout)

    def keep(self, rows: ConstraintSet | None) -> bool:
        if rows is not self._rows:
            self._rows = rows
            self.configure(self._parameters)
        return rows is None or self.avoidance is None

    @property
    def page(self) -> OperationalSpaceController:
        """The law on floats, with its present gains."""
        return self._law.page

    def steady_reference(self, stamp_ns: int) -> tuple[Reference, int] | None:
        """See :meth:`~arm_control.motion.pose_follower.PoseFollower.steady_reference`; None for other sources, too."""
        follower = self._follower
        return follower.steady_reference(stamp_ns) if isinstance(follower, PoseFollower) else None

    def add(self, goal: Goal) -> None:
        if not isinstance(goal, WrenchGoal):
            self._follower.add(pose_goal(goal))
        elif self.force is None:
            raise InputError(NO_FORCE)
        else:
            self.force.add(goal)

    def restart(self, q: Array) -> None:
        self._follower.restart(q)
        if self.force is not None:
            self.force.restart()
        if not self._posture:
            self._posture = tuple(q.tolist())
            self.configure(self._parameters)

    @property
    def is_holding(self) -> bool:
        return self._follower.is_holding and (self.force is None or self.force.is_holding)

    def hold(self, stamp_ns: int, q: Array) -> None:
        self._follower.hold(stamp_ns, q)
        if self.force is not None:
            self.force.hold(stamp_ns)
        self._q_held = q.copy()
        self.page.take_posture(q)

    def feel(self, *, is_measured: bool) -> None:
        if self.force is not None:
            self.force.is_measured = is_measured

    def tick(
        self,
        measurement: Measurement,
        tau_dist: Array | None,
        limits: NextLimits | None = None,
        obstacles: Sequence[Obstacle] = (),
    ) -> LawOutput:
        reference = self._follower.reference(measurement.stamp_ns, measurement.q)
        if self._q_held is not None and not self._follower.is_holding:
            self._q_held = None
            self.page.take_posture(self._law.parameters.posture)
        q, v, force, step, hand = measurement.q, measurement.v, self.force, None, None
        if force is not None:
            F = force.tick(measurement.stamp_ns, q, measurement.dt, reference.X_WT)
            self._law.exert(force.share, F)
        if limits is not None:
            step = self._law.step(q, v, reference, *limits, obstacles, tau_dist)
        output, passed, avoided = step or (self._law.tick(q, v, reference, tau_dist), None, None)
        if force is not None:
            force.observe(output.state)
            hand = force.hand_wrench()
        X_WT, refused = self._follower.goal or reference.X_WT, self._follower.refused
        figures = partial(self.figures_of, output)
        parts = output.state, output.tau, lambda: output.terms, X_WT, figures, "", refused, hand, None, passed, avoided
        return tuple.__new__(LawOutput, parts)

    def figures_of(self, output: OscOutput) -> dict[str, float]:
        """Return the figures of an output of the law."""
        condition = float(condition_number(output.state.J, self._rank, output.length))
        return {**pose_figures(output.error), "condition_number": condition}

    @cached_property
    def _rank(self) -> int:
        """Number of singular values that are zero in singular states only."""
        return pose_rank(self._model)


def make_osc(
    model: RobotModel, parameters: OscLoopParameters, follower: ReferenceSource | None = None
) -> OscController:
    """Return operational space control, and its avoidance where obstacles are avoided.

    Parameters
    ----------
    follower : ReferenceSource, optional
        Makes references of the goals; by default they are followed as they are.
    """
    limits = step_limits(model, parameters.gate, parameters)
    avoids = parameters.control.avoid_obstacles
    avoidance = Avoidance(model, parameters.control.avoidance) if avoids else None
    return OscController(model, parameters.control, follower, limits, avoidance)


ROW = ControllerRow(
    name="osc",
    parameters=OscLoopParameters,
    node_parameters=OscNodeParameters,
    make=make_osc,
    torque_terms=(*TERMS, "avoidance"),
    figures=FIGURES,
    goals=("target_pose", "pose_trajectory", "target_twist", "target_wrench"),
    sees_obstacles=lambda p: p.control.avoid_obstacles,
    at_rate=lambda rate: {"rate": rate},
)
