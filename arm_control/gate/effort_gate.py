"""The gate: the one place through which torque reaches an actuator.

A command passes when it is finite, names every joint, has one value per joint, is fresh and not from the
future. What passes may drive no joint into its limits of position and speed, is cut to the joint's effort
limit and may change by no more than ``rate_limit`` per second, so that a step of a target or of a gain is
never a step of the torque: the equations are those of :mod:`arm_control.gate.joint_limits`, compiled. When no
command passes for ``max_missed`` ticks, the gate brakes, and it stays braked until it is enabled. Then it holds the arm
until a command passes; how, and which one does, is in :mod:`arm_control.gate.torque_rules`.

The gate knows no clock: a tick is a measured state, and the caller says how old a command is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import le
from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, compile_procedure, procedure
from arm_control.constraints import Constraints, ConstraintSet, in_words, read_constraints
from arm_control.core import parameter
from arm_control.exceptions import InputError, ParameterError
from arm_control.gate.gates_behind import BRAKING, ENABLED, HOLDING, PASSING, STATES, GateState
from arm_control.gate.inertia_floor import InertiaFloor
from arm_control.gate.joint_limits import LARGEST_SHARE, JointLimits, LimitParameters, NextLimits, compile_limits
from arm_control.gate.torque_rules import (
    GROWTH,
    HAS_HOLD,
    IS_RATE_LIMITED,
    IS_RESUMING,
    IS_SATURATED,
    LATENESS,
    MISSED,
    MODE,
    GateMemory,
    apply_hold,
    begin_brake,
    believed_time,
    end_brake,
    forget_hold,
    hold_torque,
    miss_command,
    new_gate_memory,
    pass_command,
    period_of_ticks,
    unlike_joint,
)
from arm_control.gate.velocity_filter import VelocityFilter
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel, Terms

UNLIKE = f"{ENABLED}a command asks for"
"""How the reason begins of a gate that goes on holding."""
LAG_COUNTS = 2.5
"""How much more a lag of velocities counts than a delay of states, in the damping of a brake."""
COUNTED = 100
"""Commands over which the share of accepted ones is taken."""
ROUNDING = 1e-9
"""Resolution of stamps [s]."""


@dataclass(frozen=True)
class GateParameters(LimitParameters):
    """Limits of the gate."""

    rate_limit: float = parameter(1000.0, "largest change of a joint's torque", unit="N m/s", lower=1.0)
    max_missed: int = parameter(20, "ticks without an accepted command after which the gate brakes", lower=1)
    max_age: float = parameter(0.02, "age above which a command is stale; 0: any age is fresh", unit="s", lower=0.0)
    inertia_floor: float = parameter(
        0.0,
        "time a motor needs to accelerate its own rotor to the speed limit at full effort; sets a lower bound on joint"
        " inertia, removed where a joint chatters; 0: none",
        unit="s",
        lower=0.0,
        upper=0.1,
    )
    brake_damping: float = parameter(50.0, "damping of the brake, times M(q)", unit="1/s", lower=1.0, upper=200.0)
    constraints: str = parameter(
        "",
        "what changes commands: a file with constraints, its text, or a name in config/constraints; empty: nothing",
        live=True,
    )


class GateOutput(NamedTuple):
    """Torque that passes the gate in one tick.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        Torque for the actuators [N m or N].
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


class EffortGate:
    """Checks, limits and, when nothing good comes, brakes. One for each path to an actuator.

    Parameters
    ----------
    knows_obstacles : bool
        Whether the caller says where obstacles are (:meth:`place`).

    Raises
    ------
    ParameterError
        When constraints cannot be read, or need obstacles that nobody tells of.

    Attributes
    ----------
    joint_limits : float
        1 where limits of joint positions and speeds count in what commands pass by themselves; 0 where they are off, or
        among constraints.
    reason : str
        Why it does not pass them; empty when it does.
    period : float
        Usual time between two ticks [s]: a stamp may be so far ahead; 0 before there were two.
    elapsed : float
        Time from the last tick to the next one by a clock [s]; infinite: no clock counts. A tick forgets it.
    left : float
        Time that the clock has left over [s], equation (8) of :mod:`arm_control.gate.torque_rules`.
    estimate : ndarray, shape (nv,), or None
        Torque beside the weight that a brake goes on to carry, an observer's estimate [N m or N]; None: none.
    constraints : ConstraintSet or None
        What every command is changed for.

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
    ENABLED_REASON = f"{ENABLED}waiting for a new goal"

    def __init__(self, model: RobotModel, parameters: GateParameters, *, knows_obstacles: bool = False) -> None:
        self.parameters = parameters
        self._model = model
        self.limits = JointLimits(model, parameters, parameters.rate_limit)
        self._pass = compile_limits(model, self.limits)
        self._max_age = parameters.max_age or np.inf
        self._largest: list[float] = (LARGEST_SHARE * model.tau_max).tolist()
        self._floor = InertiaFloor(model, parameters.inertia_floor) if parameters.inertia_floor else None
        self.velocities = VelocityFilter(model.nv) if parameters.inertia_floor else None
        self._knows_obstacles, asked = knows_obstacles, self._asked(parameters.constraints, knows_obstacles)
        self._may_start_outside, self._recovers = asked.allow_recovery, False
        self.constraints: ConstraintSet | None = None
        if asked.constraints:
            self.constraints = ConstraintSet(model, asked.constraints, self.limits.numbers, self.limits.is_unlimited)
        self.joint_limits = float(parameters.joint_limits and self.constraints is None)
        self._command: Array | None = None
        self._tau: Array | None = None
        self._memory = new_gate_memory(model.tau_max, parameters.brake_damping, parameters.rate_limit)
        self._tick = _Tick(self._memory, np.zeros(1))
        self._hold_arm = compile_procedure(_hold_arm)(self._tick)
        self._rebased: Array | None = None
        self._lateness = 0.0
        self.estimate: Array | None = None
        self._rate = SuccessRate()
        self._refused = False
        self.state = HOLDING
        self.reason = self.WAITING_REASON
        self.period = 0.0
        self.elapsed, self.left = np.inf, 0.0

    @staticmethod
    def _asked(file: str, knows_obstacles: bool) -> Constraints:
        asked = read_constraints(file) if file else Constraints()
        if asked.sees_obstacles and not knows_obstacles:
            raise ParameterError(f"{asked.where}: this gate is not told of obstacles")
        return asked

    def change_constraints(self, file: str) -> None:
        """Let the constraints of a file take the place of those before, from the next tick on.

        The torque does not jump: limits of its rate are among the rows, and the arm slows as they allow.

        Parameters
        ----------
        file : str
            As the parameter ``constraints``; the same file is read anew.

        Raises
        ------
        ParameterError
            Before anything has changed: as for a new gate, for constraints where there were none, and as for
            :meth:`~arm_control.constraints.constraint_set.ConstraintSet.change`.
        """
        asked = self._asked(file, self._knows_obstacles)
        if self.constraints is not None:
            self.constraints.change(asked.constraints)
        elif asked.constraints:
            raise ParameterError(f"{asked.where}: constraints come while a gate runs only where it began with some")
        self._may_start_outside, self.parameters = asked.allow_recovery, self.parameters.replace(constraints=file)

    @property
    def is_braked(self) -> bool:
        """Whether the gate stays braked until :meth:`enable`."""
        return self.state is BRAKING

    @property
    def is_resuming(self) -> bool:
        """Whether a brake was ended by :meth:`enable`, and no command has passed since."""
        return bool(self._memory.counts[IS_RESUMING])

    @property
    def inertia(self) -> Array:
        """Floor of joint inertia, shape (nv,) [kg m^2 or kg]; zero without one."""
        return np.zeros(self._model.nv) if self._floor is None else self._floor.inertia

    def describe_floor(self) -> str:
        """Return one line with the largest floor of each joint; empty without one."""
        return "" if self._floor is None else self._floor.describe(self._model.joint_names)

    def filtered(self, q: Array, v: Array, dt: float) -> Array:
        """Return the velocities that count in a state, shape (nv,) [rad/s or m/s]: filtered where they come in steps.

        Parameters
        ----------
        dt : float
            Time since the state before [s].
        """
        if self.velocities is None:
            return v
        assert self._floor is not None
        is_still = self.state is HOLDING or (self.is_braked and self.is_held)
        v = self.velocities.filtered(q, v, dt, is_held=is_still)
        if self.velocities.doubts:
            self._floor.restart()
        if self.velocities.lag:
            self._floor.expect(self.velocities.left)
            self.lateness = self._lateness
            if fault := self.velocities.fault:
                self.brake(fault)
        return v

    @property
    def velocity_lag(self) -> float:
        """Lag of the velocities behind their filter [s]; 0 where none is filtered."""
        return 0.0 if self.velocities is None else self.velocities.lag

    def describe_velocities(self) -> str:
        """Return one line on velocities that are filtered; empty where they are used as they come."""
        return "" if self.velocities is None else self.velocities.sentence

    @property
    def success_rate(self) -> float:
        """Share of accepted commands among the last 100 that were offered or missed; 1 when there were none."""
        return self._rate.share

    def constraint_figures(self) -> dict[str, object]:
        """Return for ``/diagnostics`` what constraints do to the last command; empty where there are none."""
        if self.constraints is None:
            return {}
        worst, active = self.constraints.worst, ", ".join(self.constraints.active)
        if self.state is not PASSING:
            worst, active = None, ""
        margin = "" if worst is None else f"{in_words(worst.left, worst.unit)}: {worst.name} ({worst.what})"
        return {"active constraints": active, "smallest margin": margin}

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be the obstacles, from the next tick on, for constraints that see them."""
        if self.constraints is not None:
            self.constraints.place(obstacles)

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
        """Offer a command of this very tick, in the model's joint order, shape (nv,) [N m or N].

        Raises
        ------
        InputError
            When the command must not pass: braked, not finite or absurdly large.
        """
        if self.state is BRAKING or not self._is_believable(tau):
            self.offer(self._model.joint_names, tau)  # raises the error
        self._command = tau

    def offer_brake(self, reason: str) -> None:
        """Refuse the torque of a controller that reports a brake; a passing gate brakes as well.

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
        dt : float
            Time since the last tick [s], for the rate limit; bounded as the module says.
        """
        command, self._command = self._command, None
        if self._tau is None:
            self._tau = np.clip(t.g, -self._model.tau_max, self._model.tau_max)
        by_clock, self.elapsed = self.left + self.elapsed, np.inf
        dt = believed_time(min(dt, by_clock), self.period)
        self.left = believed_time(by_clock, self.period) - dt if self.period else 0.0
        self.period = period_of_ticks(dt, self.period)
        if self._floor is not None:
            t = self._floor.add_to(t, self._tau, dt)
            if self._floor.shakes and self.state is PASSING:
                self._brake_shaking()
                command = None
        if command is None:
            self._miss()
        elif self.constraints is not None:
            command = self._constrained(self.constraints, t, command, dt)
        if self.state is not PASSING and (held := self._hold(t, dt, command)) is not None:
            return held
        if command is not None:
            self._memory.counts[MISSED] = 0
            self._rate.n += 1
            self._refused = False
        tau, is_on = (self._tau, self.parameters.joint_limits) if command is None else (command, self.joint_limits)
        self._tau, limited, saturated, rate_limited = self._pass(t, tau, self._tau, dt, float(is_on))
        cuts = saturated > 0.0, rate_limited > 0.0, limited > 0.0
        return tuple.__new__(GateOutput, (self._tau, self.state, self.reason, *cuts, self._rate.share))

    def _constrained(self, constraints: ConstraintSet, t: Terms, command: Array, dt: float) -> Array | None:
        """The command changed for the constraints; None, and a brake, where one of them does not hold."""
        assert self._tau is not None
        command = constraints.limit(t, command, self._tau, dt, self.estimate)
        outside, starts = constraints.outside, self.state is not PASSING
        self._recovers = outside is not None and self._may_start_outside and (starts or self._recovers)
        if outside is None or self._recovers or not (starts or constraints.is_broken):
            return command
        self.brake(f"{outside}; allow_recovery leads the arm back" if starts else str(outside))
        return None

    def _brake_shaking(self) -> None:
        """Brake an arm that shakes, and say at which joint."""
        assert self._floor is not None
        joint = self._model.joint_names[self._floor.shaking_joint()]
        cause = f"; {velocities}" if (velocities := self.describe_velocities()) else ""
        self.brake(f"the arm shakes: the torque of joint '{joint}' changes its sign over and over at speed{cause}")

    def _hold(self, t: Terms, dt: float, command: Array | None) -> GateOutput | None:
        """Brake or hold the arm; None where the command passes instead."""
        m = self._memory
        m.q[:], m.v[:], m.g[:], m.M[:], m.tau[:], self._tick.dt[0] = t.q, t.v, t.g, t.M.ravel(), self._tau, dt
        if command is not None:
            m.command[:] = command
        if self._rebased is not None:
            m.carried[:], m.hold[:], m.counts[HAS_HOLD], self._rebased = self._rebased - t.g, t.q, 1, None
        unlike = int(self._hold_arm())
        if command is not None and (unlike < 0 or not self.is_resuming):
            pass_command(m)
            self._show("")
            return None
        if command is not None:
            self._refuse_unlike(unlike, float(command[unlike] - m.asked[unlike]))
        self._tau = m.tau.copy()
        cuts = bool(m.counts[IS_SATURATED]), bool(m.counts[IS_RATE_LIMITED])
        return GateOutput(self._tau, self.state, self.reason, *cuts, success_rate=self._rate.share)

    def _refuse_unlike(self, joint: int, excess: float) -> None:
        """Go on holding: a command would move the arm; the first one says why."""
        self._rate.fail()
        if self.reason == self.ENABLED_REASON:
            name = self._model.joint_names[joint]
            self.reason = f"{UNLIKE} {excess:+.3g} more at joint '{name}' than holds the arm"

    def next_limits(self, dt: float) -> NextLimits | None:
        """Return what the limits of a command offered now depend on, for a law that computes them and the constraints.

        Its answer is for :meth:`take`, which stands for an offer and a tick. None where a tick does more than limit a
        command: before the first one, after a brake, after commands that were missed or refused, where the clock cuts
        its time, with a floor of inertia.

        Parameters
        ----------
        dt : float
            Time since the last tick [s].
        """
        if self.state is not PASSING or self._rate.failures or self._floor is not None or self._tau is None:
            return None
        dt = dt if 0.0 < dt <= self.period else believed_time(dt, self.period)
        return (self._tau, dt, self.joint_limits) if dt <= self.left + self.elapsed else None

    def take(self, output: GateOutput, dt: float, n: int = 1) -> GateOutput:
        """Take note of commands that have passed :attr:`limits` in a compiled law; return what has passed.

        Parameters
        ----------
        output : GateOutput
            What has passed, of the last one.
        dt : float
            Time of its tick, as :meth:`next_limits` says [s].
        """
        self.left = min(self.left + self.elapsed, GROWTH * self.period) - dt  # equations (8), without a call
        self.period = max(dt, self.period - (GROWTH - 1.0) * dt)
        self._tau, self.elapsed, self._recovers = output.tau, np.inf, False
        self._rate.n += n
        return output

    def brake(self, reason: str) -> None:
        """Brake from the next tick on, until :meth:`enable`; a gate that brakes already keeps its reason."""
        if not self.is_braked:
            begin_brake(self._memory)
            self._carry_estimate()
            self._show(reason)
            self._command = None

    def _carry_estimate(self) -> None:
        """Go on to carry what was compensated while commands passed."""
        if self.estimate is not None and self.state is PASSING:
            self._memory.carried[:] = self.estimate

    def enable(self) -> None:
        """End a brake: hold the arm where it is until a command passes.

        The torque does not jump, and nothing moves: only the torque that holds the arm passes at first, see
        :mod:`arm_control.gate.torque_rules`, unless :meth:`begin` says that a new motion begins.
        """
        if self.is_braked:
            end_brake(self._memory)
            self._show(self.ENABLED_REASON)

    def begin(self) -> None:
        """Let any command pass: a new goal has come, and its motion begins with the torque that holds the arm."""
        self._memory.counts[IS_RESUMING] = 0

    def hold_with(self, tau: Array) -> None:
        """Hold the arm with the torque of another gate, which holds it now, from the next tick on.

        Parameters
        ----------
        tau : ndarray, shape (nv,)
            Torque of the actuators [N m or N].
        """
        self._rebased = tau

    @property
    def is_held(self) -> bool:
        """Whether the arm is held by the spring of the brake."""
        return bool(self._memory.counts[HAS_HOLD])

    @property
    def carried(self) -> Array:
        """Torque beside the weight that holds the arm: the spring's, and what was carried before [N m or N]."""
        m, n = self._memory, self._model.nv
        return m.carried + m.M.reshape(n, n) @ m.spring

    @property
    def lateness(self) -> float:
        """Delay of the states that brake the arm [s]; may be set. A filter of velocities adds to it."""
        return self._lateness

    @lateness.setter
    def lateness(self, lateness: float) -> None:
        self._lateness = lateness
        self._memory.times[LATENESS] = lateness + LAG_COUNTS * self.velocity_lag

    def reset(self, *, keeps_torque: bool = False) -> None:
        """Start again from gravity compensation, as at time 0; a braked gate stays braked and keeps its torque.

        Parameters
        ----------
        keeps_torque : bool
            Whether the arm goes on feeling the last torque, as one does that is not simulated anew.
        """
        self._command = None
        forget_hold(self._memory)
        self._rate.clear()
        if not self.is_braked:
            self._rebased = None
            self._tau = self._tau if keeps_torque else None
            self.period = 0.0
            if self._floor is not None:
                self._floor.restart()
            if self.velocities is not None:
                self.velocities.reset()
            self._memory.counts[:], self._memory.carried[:] = 0, 0.0
            self._show(self.WAITING_REASON)

    def succeed(self, other: EffortGate) -> None:
        """Take over from a gate of the same joints or of other ones: braked at rest if it was, with the same torque."""
        if other.is_braked:
            self.brake(other.reason)
        names = other._model.joint_names
        if other._tau is not None and set(names) == set(self._model.joint_names):
            self._tau = self._model.in_joint_order(names, other._tau)
            if other.is_braked:
                self.hold_with(self._tau)  # whatever the model says, which may be wrong

    @property
    def memory(self) -> GateMemory:
        """What the rules work on."""
        return self._memory

    def _show(self, reason: str) -> None:
        """Let everybody see the mode."""
        self.state = STATES[self._memory.counts[MODE]]
        self.reason = reason

    def _refuse_out_of_time(self, age: float) -> None:
        allowed = self.parameters.max_age
        if allowed and not age <= allowed:
            raise InputError(f"stale: {age * 1e3:.1f} ms old, allowed {allowed * 1e3:.1f} ms")
        if not age >= -self.period - ROUNDING:
            raise InputError(f"from the future: {-age * 1e3:.1f} ms ahead, allowed {self.period * 1e3:.1f} ms")

    def _is_believable(self, tau: Array) -> bool:
        return all(map(le, map(abs, tau.tolist()), self._largest))

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
            if miss_command(self._memory, self.parameters.max_missed):
                self._carry_estimate()
                self._show(f"no command for {self._memory.counts[MISSED]} states")


class SuccessRate:
    """Counts commands, and remembers which of the last 100 failed.

    Attributes
    ----------
    n : int
        Commands so far; one that is accepted is counted here.
    failures : deque of int
        Numbers of the commands that failed; :attr:`share` forgets the old ones.
    """

    def __init__(self) -> None:
        self.failures = deque[int](maxlen=COUNTED)
        self.n = 0

    def fail(self) -> None:
        """Count a command that was refused, or missed."""
        self.n += 1
        self.failures.append(self.n)

    def clear(self) -> None:
        """Start again."""
        self.failures.clear()
        self.n = 0

    @property
    def share(self) -> float:
        """Share of accepted commands among the last 100; 1 when there were none."""
        if not self.failures:
            return 1.0
        n, failures = min(self.n, COUNTED), self.failures
        while failures and failures[0] <= self.n - COUNTED:
            failures.popleft()
        return (n - len(failures)) / n


class _Tick(NamedTuple):
    """Record of the procedure that a tick calls: the gate, and the time of the tick [s]."""

    gate: GateMemory
    dt: Floats


@procedure
def _hold_arm(tick: _Tick) -> float:
    hold_torque(tick.gate, tick.dt[0])
    unlike = unlike_joint(tick.gate)
    apply_hold(tick.gate, tick.dt[0])
    return float(unlike)
