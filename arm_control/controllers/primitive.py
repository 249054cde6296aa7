"""Controllers of movement primitives: a primitive gives the reference, a law makes torque of it.

A primitive of joints is followed by a law of joint space, one of the end effector by operational space control; the
file of the primitive says which. Goals of both kinds are taken: inverse kinematics makes joints of a pose, forward
kinematics a pose of joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.control import (
    Avoidance,
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    JointParameters,
    JointSpaceController,
    LawOutput,
    LoopParameters,
    Measurement,
    OscTuning,
)
from arm_control.controllers import joint, osc
from arm_control.controllers.osc import OscController
from arm_control.core import Parameters, group
from arm_control.exceptions import ParameterError
from arm_control.gate import NextLimits
from arm_control.maths import Array, Obstacle, Pose
from arm_control.model import RobotModel
from arm_control.motion import Goal, JogLimits, JointReference, Reference
from arm_control.primitives import (
    MOST_OBSTACLES,
    JointSpace,
    PoseSpace,
    Primitive,
    PrimitiveFile,
    PrimitiveFollower,
    PrimitiveParameters,
    check_frame,
    for_joints,
)


@dataclass(frozen=True)
class PrimitiveControlParameters(Parameters):
    """A primitive, and the law that follows it: operational space control, or that of the joints."""

    primitive: PrimitiveParameters = group(PrimitiveParameters)
    osc: OscTuning = group(OscTuning)
    joint: JointParameters = group(JointParameters, "joint.")


@dataclass(frozen=True)
class PrimitiveLoopParameters(LoopParameters):
    """A movement primitive behind a gate."""

    control: PrimitiveControlParameters = group(PrimitiveControlParameters)


@dataclass(frozen=True)
class PrimitiveNodeParameters(PrimitiveLoopParameters, ControllerNodeParameters):
    """Parameters of the node ``primitive``."""


class JointPrimitiveController(Controller):
    """A primitive of joints, followed by a law of joint space (:mod:`arm_control.control.joint_space`).

    Raises
    ------
    ParameterError
        When the primitive is not one of this arm's joints, or a parameter is not allowed for joints.
    """

    has_schedule = True

    def __init__(self, model: RobotModel, parameters: PrimitiveControlParameters, primitive: Primitive) -> None:
        if parameters.primitive.obstacle_gain:
            raise ParameterError("obstacle_gain: obstacles turn paths of the end effector, not those of joints")
        self._model = model
        self._space = JointSpace(model)
        own = for_joints(primitive, model.joint_names)
        self.follower: PrimitiveFollower[JointReference] = PrimitiveFollower(own, parameters.primitive, self._space)
        self.configure(parameters)

    def configure(self, parameters: PrimitiveControlParameters) -> None:
        """Take other gains; they act from the next tick on."""
        self._law = JointSpaceController(self._model, parameters.joint)
        self.scales_with_inertia = self._law.scales_with_inertia

    def prepare_poses(self) -> None:
        """Compile what a pose needs, which takes longer than a tick."""
        self._space.joints_of_pose.prepare()

    def add(self, goal: Goal) -> None:
        self.follower.add(goal)

    def restart(self, q: Array) -> None:
        self.follower.restart(q)

    @property
    def is_holding(self) -> bool:
        return self.follower.is_holding

    def hold(self, stamp_ns: int, q: Array) -> None:
        self.follower.hold(stamp_ns, q)

    def tick(self, measurement: Measurement, tau_dist: Array | None, *_: Any) -> LawOutput:
        reference = self.follower.reference(measurement.stamp_ns, measurement.q)
        phase = self.follower.phase
        terms = self._model.evaluate(measurement.q, measurement.v)
        return self._law.answer(terms, reference, lambda: {"phase": phase}, self.follower.refused)


class PosePrimitiveController(Controller):
    """A primitive of the end effector, followed by operational space control.

    Raises
    ------
    ParameterError
        When the primitive is not one of poses in the arm's base, or contact is asked for.
    """

    def __init__(self, model: RobotModel, parameters: PrimitiveControlParameters, primitive: Primitive) -> None:
        check_frame(primitive, model)
        if parameters.osc.contact.is_active:
            raise ParameterError("impedance and force_axes: the node osc presses, a primitive does not")
        self._bends = parameters.primitive.obstacle_gain > 0.0
        self.follower = _PoseSource(primitive, parameters.primitive, PoseSpace(model))
        self._osc = OscController(model, parameters.osc, self.follower)

    @property
    def speed_limits(self) -> tuple[float, float]:
        """Limits of the hand's speed [m/s, rad/s]."""
        return self._osc.page.speed_limits

    def configure(self, parameters: PrimitiveControlParameters) -> None:
        """Take other gains; they act from the next tick on."""
        self._osc.configure(parameters.osc)

    def add(self, goal: Goal) -> None:
        self.follower.add(goal)

    def restart(self, q: Array) -> None:
        self._osc.restart(q)

    @property
    def is_holding(self) -> bool:
        return self._osc.is_holding

    def hold(self, stamp_ns: int, q: Array) -> None:
        self._osc.hold(stamp_ns, q)

    def tick(
        self,
        measurement: Measurement,
        tau_dist: Array | None,
        limits: NextLimits | None = None,
        obstacles: Sequence[Obstacle] = (),
    ) -> LawOutput:
        if self._bends:
            self._see_nearest(obstacles)
        output = self._osc.tick(measurement, tau_dist)
        phase = self.follower.phase
        return output._replace(figures=lambda: {**output.figures(), "phase": phase})

    def _see_nearest(self, obstacles: Sequence[Obstacle]) -> None:
        """Let the spheres around the nearest obstacles bend the path."""
        centres = np.array([obstacle.X_WO.p for obstacle in obstacles]).reshape(-1, 3)
        extents = np.array([obstacle.shape.extent for obstacle in obstacles])
        distances = np.linalg.norm(centres - self.follower.now.X_WT.p, axis=1) - extents
        nearest = np.argsort(distances, kind="stable")[:MOST_OBSTACLES]
        self.follower.see(centres[nearest], extents[nearest])


class _PoseSource(PrimitiveFollower[Reference]):
    """A primitive as a source of references for operational space control, which has jogs to limit."""

    jog_limits = JogLimits(np.zeros(2), np.zeros(2), 0.0)
    goal: Pose | None = None


PrimitiveController = JointPrimitiveController | PosePrimitiveController


def load_primitive(file: str) -> Primitive:
    """Return the primitive in a file; a ParameterError when no file is named, or there is no primitive in it."""
    if not file:
        raise ParameterError("file: name the primitive, one of config/primitives or a YAML file")
    return PrimitiveFile.load(file).primitive


def primitive_controller(
    model: RobotModel, parameters: PrimitiveControlParameters, primitive: Primitive
) -> PrimitiveController:
    """Return the controller of a primitive: of joints, or of the end effector.

    A ParameterError when it is not one of this arm.
    """
    controller = JointPrimitiveController if primitive.names else PosePrimitiveController
    return controller(model, parameters, primitive)


def make_primitive(model: RobotModel, parameters: PrimitiveLoopParameters) -> PrimitiveController:
    """Return the controller of the primitive in a file; the arguments are those of a row's ``make``."""
    control = parameters.control
    controller = primitive_controller(model, control, load_primitive(control.primitive.file))
    if control.osc.avoid_obstacles:
        controller.avoidance = Avoidance(model, control.osc.avoidance)
        if isinstance(controller, PosePrimitiveController):
            controller.avoidance.speed_limits = controller.speed_limits
    return controller


ROW = ControllerRow(
    name="primitive",
    parameters=PrimitiveLoopParameters,
    node_parameters=PrimitiveNodeParameters,
    make=make_primitive,
    torque_terms=tuple(dict.fromkeys((*osc.ROW.torque_terms, *joint.ROW.torque_terms))),
    figures=(*osc.FIGURES, *joint.ROW.figures, "phase"),
    goals=("target_pose", "target_joint"),
    numbers={
        "amplitude": "factor of the shape of a primitive, from now on",
        "period": "duration of a primitive, or period of its rhythm, from now on [s]",
    },
    sees_obstacles=lambda p: p.control.osc.avoid_obstacles or p.control.primitive.obstacle_gain > 0.0,
    at_rate=lambda rate: {"rate": rate, "joint.period": 1.0 / rate},
)
