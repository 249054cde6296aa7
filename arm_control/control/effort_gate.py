"""The gate: the one place through which torque reaches an actuator.

A command passes when it is finite, names every joint, has one value per joint, is fresh and not from the
future. What passes may drive no joint into its limits of position and speed, is cut to the joint's effort
limit and may change by no more than ``rate_limit`` per second, so that a step of a target or of a gain is
never a step of the torque: the equations are those of :mod:`arm_control.control.joint_limits`, compiled. When no
command passes for ``max_missed`` ticks, the gate brakes,

    tau = g(q) + M(q) (-d v + d^2/4 (q_hold - q)),

gravity compensation and damping scaled by the mass matrix, with a spring to ``q_hold`` once the arm is
at rest; it stays braked until it is enabled again. (A plain ``-b v`` would be far too weak for the
shoulder or unstable for the wrist; zero torque drops the arm.)

The gate knows no clock: a tick is a measured state, and the caller says how old a command is. The time of a tick
counts in the rate limit, so it is bounded: 0.1 s at first, then a quarter more than the tick before, and a time that
is negative or no number counts as none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from arm_control.control.compiled_limits import compile_limits, compile_size_check
from arm_control.control.inertia_floor import InertiaFloor
from arm_control.control.joint_limits import LARGEST_SHARE, JointLimits, LimitParameters, NextLimits
from arm_control.control.state_prediction import AT_REST
from arm_control.control.success_rate import SuccessRate
from arm_control.core.parameters import parameter
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel, Terms

ROUNDING = 1e-9
"""Resolution of stamps [s]."""
LONGEST_DT = 0.1
"""Longest time between two ticks that is believed at first [s]."""
GROWTH = 1.25
"""Largest ratio of a tick's time to that of the tick before."""


@dataclass(frozen=True)
class GateParameters(LimitParameters):
    """Limits of the gate."""

    rate_limit: float = parameter(1000.0, "largest change of a joint's torque", unit="N m/s", lower=1.0)
    max_missed: int = parameter(20, "ticks without an accepted command after which the gate brakes", lower=1)
    max_age: float = parameter(0.02, "age above which a command is stale; 0: any age is fresh", unit="s", lower=0.0)
    inertia_floor: float = parameter(
        0.0,
        "time in which a motor at its effort limit brings its own rotor to the speed limit: a floor of joint inertia"
        " that is taken back where a joint chatters; 0: none",
        unit="s",
        lower=0.0,
        upper=0.1,
    )
    brake_damping: float = parameter(20.0, "damping of the brake, times M(q)", unit="1/s", lower=1.0, upper=200.0)


class GateState(Enum):
    """What a gate does with commands."""

    WAITING = "waiting"
    """It holds the arm until the first command."""
    PASSING = "passing"
    """It passes commands, within the limits."""
    BRAKED = "braked"
    """It brakes, and refuses commands until it is enabled."""


class GateOutput(NamedTuple):
    """Torque that passes the gate in one tick.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Torque for the actuators [N m or N].
    state : GateState
        What the gate does with commands.
    reason : str
        Why it does not pass them; empty when it does.
    saturated, rate_limited : bool
        Whether a joint's torque was cut by its effort limit, by the rate limit.
    limited : bool
        Whether a command was cut because of a joint's limit of position or speed.
    success_rate : float
        Share of accepted commands among the last 100 that were offered or missed; 1 when there were none.
    """

    tau: Array
    state: GateState
    reason: str
    saturated: bool
    rate_limited: bool
    limited: bool = False
    success_rate: float = 1.0

    @property
    def is_passing(self) -> bool:
        """Whether commands pass."""
        return self.state is GateState.PASSING


PASSING, BRAKED = GateState.PASSING, GateState.BRAKED  # looking up a member takes as long as a kernel


class EffortGate:
    """Checks, limits and, when nothing good comes, brakes. One for each path to an actuator.

    Parameters
    ----------
    model : RobotModel
        The arm: joint names, limits.
    parameters : GateParameters
        The gate's own limits.

    Attributes
    ----------
    limits : JointLimits
        Limits of a command.
    state : GateState
        What the gate does with commands.
    reason : str
        Why it does not pass them; empty when it does.
    period : float
        Time between the last two ticks [s]: a stamp may be so far ahead; 0 before there were two.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> gate = EffortGate(model, GateParameters())
    >>> terms = model.evaluate(np.zeros(6), np.zeros(6))
    >>> gate.offer(model.joint_names, terms.g + [0.0, 5.0, 0.0, 0.0, 0.0, 0.0])
    >>> (gate.tick(terms, 0.001).tau - terms.g).round(6) + 0.0
    array([0., 1., 0., 0., 0., 0.])
    """

    WAITING_REASON = "waiting for the first command"

    def __init__(self, model: RobotModel, parameters: GateParameters) -> None:
        self.parameters = parameters
        self._model = model
        self.limits = JointLimits(model, parameters, parameters.rate_limit)
        self._pass = compile_limits(model, self.limits)
        self._are_joint_limits_on = float(parameters.joint_limits)
        self._max_age = parameters.max_age or np.inf
        self._largest = LARGEST_SHARE * model.tau_max
        self._is_believable = compile_size_check(model, self._largest)
        self._floor = InertiaFloor(model, parameters.inertia_floor) if parameters.inertia_floor else None
        self._command: Array | None = None
        self._tau: Array | None = None
        self._hold: Array | None = None
        self._missed = 0
        self._rate = SuccessRate()
        self._refused = False
        self.state = GateState.WAITING
        self.reason = self.WAITING_REASON
        self.period = 0.0

    @property
    def is_braked(self) -> bool:
        """Whether the gate stays braked until :meth:`enable`."""
        return self.state is BRAKED

    @property
    def inertia(self) -> Array:
        """Floor of joint inertia, shape (nv,) [kg m^2 or kg]; zero without one."""
        return np.zeros(self._model.nv) if self._floor is None else self._floor.inertia

    def describe_floor(self) -> str:
        """Return one line with the largest floor of each joint; empty without one."""
        return "" if self._floor is None else self._floor.describe(self._model.joint_names)

    @property
    def success_rate(self) -> float:
        """Share of accepted commands among the last 100 that were offered or missed; 1 when there were none."""
        return self._rate.share

    def offer(self, names: Sequence[str], effort: Sequence[float] | Array, age: float = 0.0) -> None:
        """Offer a command for the next tick.

        Parameters
        ----------
        names : sequence of str
            Joint names, any order.
        effort : sequence of float, or ndarray
            Torque of each [N m or N].
        age : float
            Age of the command, or of the state it answers [s]; negative: its stamp is ahead.

        Raises
        ------
        InputError
            When the command must not pass: braked, stale, from the future, misnamed, wrong length, not finite or
            absurdly large.
        """
        if self.is_braked:
            raise InputError(f"braked ({self.reason}): enable first")
        try:
            if not -self.period - ROUNDING <= age <= self._max_age:
                self._refuse_out_of_time(age)
            tau = self._model.in_joint_order(names, effort, "effort")
            if not self._is_believable(tau):
                self._refuse_absurd(tau)
            self._command = tau
        except InputError:
            self._rate.fail()
            self._refused = True
            raise

    def offer_in_order(self, tau: Array) -> None:
        """Offer a command of this very tick, in the model's joint order.

        Parameters
        ----------
        tau : ndarray, shape (nv,)
            Torque [N m or N].

        Raises
        ------
        InputError
            When the command must not pass: braked, not finite or absurdly large.
        """
        if self.state is BRAKED or not self._is_believable(tau):
            self.offer(self._model.joint_names, tau)  # raises the error
        self._command = tau

    def offer_brake(self, reason: str) -> None:
        """Take note that the controller brakes: its torque is no command, and an arm in motion must brake here, too.

        Parameters
        ----------
        reason : str
            Why it brakes.

        Raises
        ------
        InputError
            Always.
        """
        if self.state is PASSING:
            self.brake(f"the controller brakes: {reason}")
        raise InputError(f"the controller brakes: {reason}")

    def tick(self, t: Terms, dt: float) -> GateOutput:
        """Torque for the actuators in this state; takes the offered command, if there is one.

        Parameters
        ----------
        t : Terms
            The measured state.
        dt : float
            Time since the last tick [s], for the rate limit; bounded as the module says.
        """
        command, self._command = self._command, None
        if self._tau is None:
            self._tau = np.clip(t.g, -self._model.tau_max, self._model.tau_max)
        dt = self._believed(dt)
        self.period = dt or self.period
        if self._floor is not None:
            t = self._floor.add_to(t, self._tau, dt)
        if command is None:
            self._miss()
        else:
            self._rate.n += 1
            self._missed = 0
            self._refused = False
            if self.state is not PASSING:
                self._set(PASSING, "")
        if self.state is PASSING:
            tau = self._tau if command is None else command
            are_limits_on = self._are_joint_limits_on
            self._hold = None
        else:
            tau = self._brake_torque(t)
            are_limits_on = 0.0
        self._tau, limited, saturated, rate_limited = self._pass(t, tau, self._tau, dt, are_limits_on)
        rate = self._rate.share if self._rate.failures else 1.0
        cuts = saturated > 0.0, rate_limited > 0.0, limited > 0.0
        return tuple.__new__(GateOutput, (self._tau, self.state, self.reason, *cuts, rate))

    def next_limits(self, dt: float) -> NextLimits | None:
        """Return what the limits of a command offered now depend on, for a law that is compiled with them.

        Its answer is for :meth:`take`, which stands for an offer and a tick. None where a tick does more than limit a
        command: before the first one, after a brake, after commands that were missed or refused, with a floor of
        inertia.

        Parameters
        ----------
        dt : float
            Time since the last tick [s].
        """
        if self.state is not PASSING or self._rate.failures or self._floor is not None or self._tau is None:
            return None
        return self._tau, dt if 0.0 < dt <= self.period else self._believed(dt), self._are_joint_limits_on

    def take(self, output: GateOutput, dt: float, n: int = 1) -> None:
        """Take note of commands that have passed :attr:`limits` in a compiled law.

        Parameters
        ----------
        output : GateOutput
            What has passed, of the last one.
        dt : float
            Time of its tick, as :meth:`next_limits` says [s].
        n : int
            Number of commands.
        """
        self._tau, self.period = output.tau, dt or self.period
        self._rate.n += n

    def _believed(self, dt: float) -> float:
        return min(dt, GROWTH * self.period or LONGEST_DT) if dt > 0.0 else 0.0

    def brake(self, reason: str) -> None:
        """Brake from the next tick on, until :meth:`enable`; a gate that brakes already keeps its reason."""
        if not self.is_braked:
            self._set(BRAKED, reason)
            self._command = None

    def enable(self) -> None:
        """Pass commands again. Until the first one the arm is held where it is measured to rest from now on.

        The torque does not jump: it goes on from the last one, within the rate limit.
        """
        if self.is_braked:
            self._set(GateState.WAITING, self.WAITING_REASON)
            self._hold = None

    def reset(self) -> None:
        """Start again from gravity compensation, as at time 0; a braked gate stays braked and keeps its torque."""
        self._command = self._hold = None
        self._rate.clear()
        if not self.is_braked:
            self._tau = None
            self.period = 0.0
            if self._floor is not None:
                self._floor.restart()
            self._set(GateState.WAITING, self.WAITING_REASON)

    def succeed(self, other: EffortGate) -> None:
        """Take over from a gate of the same joints or of other ones: braked if it was, with the same torque.

        Parameters
        ----------
        other : EffortGate
            The gate that worked until now.
        """
        if other.is_braked:
            self._set(BRAKED, other.reason)
        names = other._model.joint_names
        if other._tau is not None and set(names) == set(self._model.joint_names):
            self._tau = self._model.in_joint_order(names, other._tau)

    def forget_hold(self) -> None:
        """Hold a braked arm where it is measured to rest from now on."""
        self._hold = None

    def _set(self, state: GateState, reason: str) -> None:
        self.state = state
        self.reason = reason

    def _refuse_out_of_time(self, age: float) -> None:
        allowed = self.parameters.max_age
        if allowed and not age <= allowed:
            raise InputError(f"stale: {age * 1e3:.1f} ms old, allowed {allowed * 1e3:.1f} ms")
        if not age >= -self.period - ROUNDING:
            raise InputError(f"from the future: {-age * 1e3:.1f} ms ahead, allowed {self.period * 1e3:.1f} ms")

    def _refuse_absurd(self, tau: Array) -> None:
        j = int(np.argmax(np.abs(tau) / self._largest))
        name, largest = self._model.joint_names[j], self._largest[j]
        raise InputError(f"absurd: effort {tau[j]:g} of joint '{name}', largest that is believed {largest:g}")

    def _miss(self) -> None:
        """Count a tick without a command; one whose command was refused is in the success rate already."""
        refused = self._refused
        self._refused = False
        if self.state is PASSING:
            if not refused:
                self._rate.fail()
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
