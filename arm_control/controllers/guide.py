"""The node ``guide``: joint states in, torque that carries the arm out, so that a hand may move it.

The arm, its tool and its payload are carried; friction that is known, in part; axes of the hand are locked by choice:

    (1)  tau = g - d M v + s (c tanh(v / v_s) + b v) + J_l^T F
    (2)  F = Lambda_l (k_p e_l - 2 sqrt(k_p) V_l)

    q, v         joint positions, velocities                      [rad, rad/s; m, m/s if prismatic]
    M, g         mass matrix, gravity torque                      [kg m^2; N m]
    d            ``guide_damping``                                [1/s]
    s            ``guide_friction``                               [1]
    c, b         ``coulomb_friction``, ``viscous_friction``       [N m; N m s/rad]
    v_s          speed below which the compensation fades         [rad/s]
    e_l, V_l     error and velocity along the locked rows         [m, rad; m/s, rad/s]
    J_l, k_p     Jacobian of these rows; ``lock_stiffness``       [m, 1; 1/s^2]
    Lambda_l     inertia felt along them                          [kg, kg m^2]

At rest nothing of the friction is compensated, since no motion shows its direction: it holds the arm where it is let
go. In motion 1 - s of it brakes. While that is more than the weight that the model lacks, the arm cannot creep; a load
that nobody has told of is :mod:`~arm_control.control.load_watch`'s. A disturbance observer measures for that watch,
and compensates nothing, since it would compensate the hand.

Rows are locked at the pose in which the arm begins to float: one linear row leaves a plane, two a line, three turns
about a point. The spring (2) feels as stiff as the arm is heavy, with critical damping.

The arm floats from the first state on. After a brake it is held, as by every controller, until a number above 0.5 on
``guide/release`` lets it float again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.control import (
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    LawOutput,
    LoopParameters,
    Measurement,
    hand_wrench,
    rows_of,
    task_inertia,
    task_motion,
)
from arm_control.core import Parameters, group, parameter
from arm_control.exceptions import InputError, ParameterError
from arm_control.kinematics import FRAMES
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms
from arm_control.motion import Goal, GoalQueue, Modulation, Reference

SLOW = 0.01
"""v_s of (1) [rad/s or m/s]."""
HAND = ("hand_x", "hand_y", "hand_z", "hand_force")
"""Figures where an observer measures: place of the hand [m], force on it beside friction [N]."""
LENGTH, SINGULAR_VALUE = 0.3, 0.02
"""Characteristic length of Lambda_l, and the singular value below which a locked direction fades [m]."""


@dataclass(frozen=True)
class GuideParameters(Parameters):
    """How an arm that is carried resists a hand."""

    guide_damping: float = parameter(
        0.0, "damping of an arm that floats, times M(q)", unit="1/s", lower=0.0, upper=50.0, live=True
    )
    guide_friction: float = parameter(
        0.0,
        "share of the identified friction (coulomb_friction, viscous_friction) that is compensated in motion",
        lower=0.0,
        upper=0.9,
        live=True,
    )
    lock: str = parameter(
        "", "rows held where the arm begins to float, such as 'x y rx ry rz', a line; empty: the arm is free"
    )
    lock_frame: str = parameter(
        "world", "frame of the locked rows; target: the hand's where they were locked", choices=FRAMES
    )
    lock_stiffness: float = parameter(
        2500.0, "stiffness of a locked unit mass", unit="1/s^2", lower=1.0, upper=1e4, live=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.rows

    @property
    def rows(self) -> tuple[int, ...]:
        """Numbers of the locked rows."""
        return rows_of([self.lock])[0] if self.lock.strip() else ()


@dataclass(frozen=True)
class GuideLoopParameters(LoopParameters):
    """A carried arm behind a gate."""

    control: GuideParameters = group(GuideParameters)


@dataclass(frozen=True)
class GuideNodeParameters(GuideLoopParameters, ControllerNodeParameters):
    """Parameters of the node ``guide``."""


class GuideController(Controller):
    """Carries the arm while a hand moves it, equation (1).

    Raises
    ------
    ParameterError
        When a share of the friction is to be compensated, and none is known.
    """

    scales_with_inertia = False
    has_contact = True
    follows_hand = True

    def __init__(self, model: RobotModel, parameters: GuideParameters) -> None:
        self._model = model
        self._releases: GoalQueue[Modulation] = GoalQueue()
        self.configure(parameters)

    def configure(self, parameters: GuideParameters) -> None:
        self._parameters, self._rows = parameters, parameters.rows
        self._share, self._damping = parameters.guide_friction, parameters.guide_damping
        if self._share and not (self._model.coulomb.any() or self._model.viscous.any()):
            raise ParameterError("guide_friction: give coulomb_friction and viscous_friction, which `identify` finds")

    def add(self, goal: Goal) -> None:
        if not isinstance(goal, Modulation) or goal.quantity != "release":
            raise InputError("an arm that is guided follows a hand, and no goals but guide/release")
        self._releases.add(goal)

    def restart(self, q: Array) -> None:
        self._releases.restart()
        self._is_holding = False
        self._locked = Reference(self._model.pose(q))

    def hold(self, stamp_ns: int, q: Array) -> None:
        self._releases.end(stamp_ns)
        self._is_holding = True

    def tick(self, measurement: Measurement, tau_dist: Array | None, *_: Any) -> LawOutput:
        release = self._releases.active(measurement.stamp_ns)
        t = self._model.evaluate(measurement.q, measurement.v)
        if release is not None and release.value > 0.5 and self._is_holding:
            self._is_holding, self._locked = False, Reference(t.X_WE)
        damping = -self._damping * (t.M @ t.v)
        parts, friction = {"damping": damping, "gravity": t.g}, None
        tau = t.g + damping
        if self._share:
            m = self._model
            friction = parts["friction"] = self._share * (m.coulomb * np.tanh(t.v / SLOW) + m.viscous * t.v)
            tau = tau + friction
        if self._rows:
            parts["lock"] = self._lock(t)
            tau = tau + parts["lock"]
        return LawOutput(t, tau, lambda: parts, t.X_WE, lambda: self._figures(t), friction=friction)

    def _figures(self, t: Terms) -> dict[str, float]:
        figures = {"joint_speed": float(abs(t.v).max())}
        if self.felt is None:
            return figures
        force = float(np.linalg.norm(hand_wrench(t, self.felt)[:3]))
        return {**figures, **dict(zip(HAND, [*map(float, t.X_WE.p), force], strict=True))}

    def _lock(self, t: Terms) -> Array:
        """Torque of the spring in the locked rows, (2)."""
        p, rows = self._parameters, list(self._rows)
        motion = task_motion(t, self._locked, p.lock_frame, rows)
        J, k_p = motion.J[rows], p.lock_stiffness
        A = k_p * motion.e[rows] - 2.0 * np.sqrt(k_p) * motion.V[rows]
        F: Array = task_inertia(J, t.M, LENGTH, SINGULAR_VALUE, rows=rows) @ A  # (2)
        return J.T @ F


ROW = ControllerRow(
    name="guide",
    parameters=GuideLoopParameters,
    node_parameters=GuideNodeParameters,
    make=lambda model, parameters: GuideController(model, parameters.control),
    torque_terms=("damping", "gravity", "friction", "lock"),
    figures=("joint_speed", *HAND),
    numbers={"release": "more than 0.5: the arm floats again after a brake, until then it is held"},
)
