"""The node ``guide``: joint states in, torque that carries the arm out, so that a hand may move it.

The arm, its tool and its payload are carried, and nothing else:

    (1)  tau = g - d M v

    q, v    joint positions, velocities     [rad, rad/s; m, m/s if prismatic]
    M, g    mass matrix, gravity torque     [kg m^2; N m]
    d       ``guide_damping``               [1/s]

The arm floats from the first state on. After a brake it is held, as by every controller, until a number above 0.5 on
``guide/release`` lets it float again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arm_control.control import (
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    LawOutput,
    LoopParameters,
    Measurement,
)
from arm_control.core import Parameters, group, parameter
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import Goal, GoalQueue, Modulation


@dataclass(frozen=True)
class GuideParameters(Parameters):
    """How an arm that is carried resists a hand."""

    guide_damping: float = parameter(
        0.0, "damping of an arm that floats, times M(q)", unit="1/s", lower=0.0, upper=50.0, live=True
    )


@dataclass(frozen=True)
class GuideLoopParameters(LoopParameters):
    """A carried arm behind a gate."""

    control: GuideParameters = group(GuideParameters)


@dataclass(frozen=True)
class GuideNodeParameters(GuideLoopParameters, ControllerNodeParameters):
    """Parameters of the node ``guide``."""


class GuideController(Controller):
    """Carries the arm while a hand moves it, equation (1)."""

    scales_with_inertia = False
    has_contact = True

    def __init__(self, model: RobotModel, parameters: GuideParameters) -> None:
        self._model = model
        self._releases: GoalQueue[Modulation] = GoalQueue()
        self.configure(parameters)

    def configure(self, parameters: GuideParameters) -> None:
        self._damping = parameters.guide_damping

    def add(self, goal: Goal) -> None:
        if not isinstance(goal, Modulation) or goal.quantity != "release":
            raise InputError("an arm that is guided follows a hand, and no goals but guide/release")
        self._releases.add(goal)

    def restart(self, q: Array) -> None:
        self._releases.restart()
        self._is_holding = False

    def hold(self, stamp_ns: int, q: Array) -> None:
        self._releases.end(stamp_ns)
        self._is_holding = True

    def tick(self, measurement: Measurement, tau_dist: Array | None, *_: Any) -> LawOutput:
        release = self._releases.active(measurement.stamp_ns)
        if release is not None and release.value > 0.5:
            self._is_holding = False
        t = self._model.evaluate(measurement.q, measurement.v)
        damping = -self._damping * (t.M @ t.v)
        speed = float(abs(t.v).max())
        return LawOutput(
            t, t.g + damping, lambda: {"damping": damping, "gravity": t.g}, t.X_WE, lambda: {"joint_speed": speed}
        )


ROW = ControllerRow(
    name="guide",
    parameters=GuideLoopParameters,
    node_parameters=GuideNodeParameters,
    make=lambda model, parameters: GuideController(model, parameters.control),
    torque_terms=("damping", "gravity"),
    figures=("joint_speed",),
    numbers={"release": "more than 0.5: the arm floats again after a brake, until then it is held"},
)
