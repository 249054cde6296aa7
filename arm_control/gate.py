"""The gate: the one place through which torque reaches an actuator.

A command passes when it is finite, names every joint, has one value per joint and is fresh. What passes
is cut to the joint's effort limit and may change by no more than ``rate_limit`` per second, so that a
step of a target or of a gain is never a step of the torque. When no command passes for ``max_missed``
ticks, the gate brakes,

    tau = g(q) + M(q) (-d v + d^2/4 (q_hold - q)),

gravity compensation and damping scaled by the mass matrix, with a spring to ``q_hold`` once the arm is
at rest; it stays braked until it is enabled again. (A plain ``-b v`` would be far too weak for the
shoulder or unstable for the wrist; zero torque drops the arm.)

The gate knows no clock: a tick is a measured state, and the caller says how old a command is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arm_control.exceptions import InputError
from arm_control.model import RobotModel, Terms
from arm_control.parameters import Parameters, parameter
from arm_control.spatial import Array

AT_REST = 0.01
"""Largest joint speed of an arm that counts as being at rest [rad/s or m/s]."""


@dataclass(frozen=True)
class GateParameters(Parameters):
    """Limits of the gate."""

    rate_limit: float = parameter(1000.0, "largest change of a joint's torque", unit="N m/s", lower=1.0)
    max_missed: int = parameter(20, "ticks without an accepted command after which the gate brakes", lower=1)
    max_age: float = parameter(0.02, "age above which a command is stale; 0: any age is fresh", unit="s", lower=0.0)
    brake_damping: float = parameter(20.0, "damping of the brake, times M(q)", unit="1/s", lower=1.0, upper=200.0)


@dataclass(frozen=True)
class GateOutput:
    """What the gate lets through in one tick.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Torque for the actuators [N m or N].
    braking : str
        Why the gate brakes; empty when it passes commands.
    saturated, rate_limited : bool
        Whether a joint's torque was cut by its effort limit, by the rate limit.
    """

    tau: Array
    braking: str
    saturated: bool
    rate_limited: bool


class EffortGate:
    """Checks, limits and, when nothing good comes, brakes. One for each path to an actuator.

    Parameters
    ----------
    model : RobotModel
        The arm: joint names, effort limits.
    parameters : GateParameters
        The gate's own limits.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> gate = EffortGate(model, GateParameters())
    >>> gate.offer(model.joint_names, [0.0, 150.0, 0.0, 0.0, 0.0, 0.0])
    >>> terms = model.evaluate(np.zeros(6), np.zeros(6))
    >>> (gate.tick(terms, 0.001).tau - terms.g).round(6) + 0.0
    array([0., 1., 1., 0., 0., 0.])
    """

    WAITING = "waiting for the first command"

    def __init__(self, model: RobotModel, parameters: GateParameters) -> None:
        self.parameters = parameters
        self._model = model
        self._command: Array | None = None
        self._tau: Array | None = None
        self._hold: Array | None = None
        self._missed = 0
        self._braking = self.WAITING

    @property
    def braking(self) -> str:
        """Why the gate brakes; empty when it passes commands."""
        return self._braking

    @property
    def latched(self) -> bool:
        """Whether the gate stays braked until :meth:`enable`."""
        return self._braking not in ("", self.WAITING)

    def offer(self, names: Sequence[str], effort: Sequence[float], age: float = 0.0) -> None:
        """Offer a command for the next tick.

        Parameters
        ----------
        names : sequence of str
            Joint names, any order.
        effort : sequence of float
            Torque of each [N m or N].
        age : float
            Age of the command, or of the state it answers [s].

        Raises
        ------
        InputError
            When the command must not pass: braked, stale, misnamed, wrong length or not finite.
        """
        if self.latched:
            raise InputError(f"braked ({self._braking}): enable first")
        if self.parameters.max_age and not abs(age) <= self.parameters.max_age:
            raise InputError(f"stale: {age * 1e3:.1f} ms old, allowed {self.parameters.max_age * 1e3:.1f} ms")
        self._command = self._model.in_joint_order(names, effort, "effort")

    def tick(self, t: Terms, dt: float) -> GateOutput:
        """Torque for the actuators in this state; takes the offered command, if there is one.

        Parameters
        ----------
        t : Terms
            The measured state.
        dt : float
            Time since the last tick [s], for the rate limit.

        Returns
        -------
        GateOutput
        """
        command, self._command = self._command, None
        limit, step = self._model.tau_max, self.parameters.rate_limit * dt
        if self._tau is None:
            self._tau = np.clip(t.g, -limit, limit)
        self._count(command)
        if self._braking:
            wanted = self._brake_torque(t)
        else:
            self._hold = None
            wanted = self._tau if command is None else command
        bounded = np.clip(wanted, -limit, limit)
        tau = np.clip(bounded, self._tau - step, self._tau + step)
        saturated, rate_limited = bool((bounded != wanted).any()), bool((tau != bounded).any())
        self._tau = tau
        return GateOutput(tau, self._braking, saturated, rate_limited)

    def brake(self, reason: str) -> None:
        """Brake from the next tick on, until :meth:`enable`; a gate that brakes already keeps its reason."""
        if not self.latched:
            self._braking, self._command = reason, None

    def enable(self) -> None:
        """Pass commands again. Until the first one the arm is held where it is; the torque does not jump."""
        if self.latched:
            self._braking = self.WAITING

    def reset(self) -> None:
        """Forget everything, as after a jump of the state: start again from gravity compensation."""
        self._command = self._tau = self._hold = None
        self._missed, self._braking = 0, self.WAITING

    def _count(self, command: Array | None) -> None:
        if command is not None:
            self._missed, self._braking = 0, ""
        elif not self._braking:
            self._missed += 1
            if self._missed >= self.parameters.max_missed:
                self.brake(f"no command for {self._missed} states")

    def _brake_torque(self, t: Terms) -> Array:
        d = self.parameters.brake_damping
        if self._hold is None and np.abs(t.v).max() < AT_REST:
            self._hold = t.q
        with np.errstate(over="ignore", invalid="ignore"):
            spring = 0.0 if self._hold is None else d * d / 4.0 * (self._hold - t.q)
            tau = t.g + t.M @ (spring - d * t.v)
        return np.where(np.isfinite(tau), tau, t.g)  # a state may be finite and yet absurd
