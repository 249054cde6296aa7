"""The control loop: the one tick of every node, simulation and replay, from a measured state to torque.

In each tick, in this order: a fault of the state, a gap before it, or another gate behind this one brakes the gate; the
controller follows its goals and gives the torque of its law; avoidance changes it; adaptation and the disturbance
observer add what the model does not know; the gate lets through what may reach the actuators. The loop reads no message
and no clock.

A brake ends all goals, and observer and adaptation forget what they have learnt. After *enable* the gate holds the arm
until a new goal acts; then the law begins with what the gate carried, as the observer's first estimate. Without an
observer that torque fades, equation (6) of :mod:`arm_control.gate.torque_rules`.

Where ``weighing_time`` is given, a run begins with the arm held for that time, so that its weight is compared without
the friction of a motion (:mod:`~arm_control.control.weight_watch`); goals wait until then. After *enable* it is
compared by what the gate carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from arm_control.control.adaptive_torque import AdaptationParameters, AdaptiveTorque
from arm_control.control.avoidance_law import Avoidance, AvoidanceOutput
from arm_control.control.controller import Controller, LawOutput, Measurement
from arm_control.control.disturbance_observer import DisturbanceObserver, ObserverParameters
from arm_control.control.load_watch import LoadWatch
from arm_control.control.osc.wrench_estimate import WrenchEstimate
from arm_control.control.push_limit import PushLimit
from arm_control.control.weight_watch import WeightWatch
from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError, ParameterError
from arm_control.gate import (
    EffortGate,
    GapWatch,
    GateOutput,
    GateParameters,
    GatesBehind,
    GateState,
    is_at_rest,
    left_after,
    worth_carrying,
)
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel, Terms
from arm_control.motion import Target

HELD = "held: "
"""How the reason begins of a brake that follows another gate."""
FIRST_DT = 1e-3
"""Time that the first state stands for, in the rate limit [s]."""
WITH_CONTACT = "adaptive_torque would learn the force of a contact: not with impedance or force_axes"


class TickResult(NamedTuple):
    """All that one tick has decided.

    Attributes
    ----------
    refused : ArmControlError or None
        Why the gate refused ``tau``.
    compensation : ndarray, shape (nv,), or None
        What disturbance observer and adaptation add [N m or N]; None without them.
    adaptation : ndarray, shape (nv,), or None
        The learnt part of that [N m or N]; None without adaptation.
    """

    measurement: Measurement
    law: LawOutput
    avoidance: AvoidanceOutput | None
    tau: Array
    gate: GateOutput
    refused: ArmControlError | None
    compensation: Array | None = None
    adaptation: Array | None = None

    @property
    def torque_terms(self) -> dict[str, Array]:
        """The terms of ``tau``, each of shape (nv,), by name; that of avoidance is all that it changes [N m or N]."""
        terms = self.law.split()
        tau = self.tau
        if self.compensation is not None:
            terms = {**terms, "observer": self.compensation}
            tau = tau - self.compensation
        if self.adaptation is not None:
            terms |= {"observer": terms["observer"] - self.adaptation, "adaptation": self.adaptation}
        return terms if self.avoidance is None else {**terms, "avoidance": tau - self.law.tau}


class KnownDisturbance:
    """Torque that something known exerts on the arm; it ends when nobody repeats it.

    Attributes
    ----------
    is_over : bool
        Whether there is none.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.clear()

    def set(self, stamp_ns: int, tau_dist: Array) -> None:
        """Set the torque, shape (nv,) [N m or N], that holds from the state with this stamp [ns] on."""
        self._since_ns = stamp_ns
        self._tau_dist = tau_dist
        self.is_over = False

    def clear(self) -> None:
        """Forget it: time has started over."""
        self.is_over = True

    @property
    def until_ns(self) -> int:
        """First stamp at which it is over, unless it is set again [ns]."""
        return self._since_ns + int(self.timeout * NANOSECONDS) + 1

    def at(self, stamp_ns: int) -> Array | None:
        """Return the torque that holds in the state with this stamp [ns]; None when there is none."""
        if not self.is_over and stamp_ns - self._since_ns > self.timeout * NANOSECONDS:
            self.is_over = True
        return None if self.is_over else self._tau_dist


class ControlLoop:
    """A controller, avoidance and a gate.

    Parameters
    ----------
    waits_for_commands : bool
        Whether each state waits for its command, so that a gap means nothing.

    Raises
    ------
    ParameterError
        When torque is to be learnt where the hand yields or presses.

    Attributes
    ----------
    goals : sequence of Target
        Goals whose stamps count from the first state [ns], and from each one with which time starts over.
    observer : DisturbanceObserver or None
        Compensation of unknown torque; with adaptation alone it measures, and estimates nothing.
    wrench : WrenchEstimate
        What the observer knows of the wrench on the hand.
    push : PushLimit or None
        Limit of the force of a hand that stands still; None without an observer, and for a hand that is to press.
    gates_behind : GatesBehind or None
        What the gates between this one and the motors do; None: there are none, or nobody says.
    """

    def __init__(
        self,
        model: RobotModel,
        controller: Controller,
        gate: GateParameters,
        avoidance: Avoidance | None = None,
        *,
        observer: ObserverParameters | None = None,
        adaptation: AdaptationParameters | None = None,
        waits_for_commands: bool = False,
    ) -> None:
        self.controller = controller
        self.avoidance = avoidance
        self.gate = EffortGate(model, gate, knows_obstacles=True)
        self.goals: Sequence[Target] = ()
        self.disturbance = KnownDisturbance(timeout=0.1)
        observer = observer or ObserverParameters()
        self.observer: DisturbanceObserver | None = None
        self.adaptation: AdaptiveTorque | None = None
        if adaptation is not None and adaptation.adaptive_torque:
            if controller.has_contact:
                raise ParameterError(WITH_CONTACT)
            self.adaptation = AdaptiveTorque(model, adaptation, learns_at_rest=not observer.disturbance_observer)
        if observer.disturbance_observer or self.adaptation is not None:
            shortens = avoidance is None and not controller.has_schedule and not controller.follows_hand
            estimates = observer.disturbance_observer and not controller.follows_hand
            self.observer = DisturbanceObserver(model, observer, shortens=shortens, estimates=estimates)
        self._weight: WeightWatch | LoadWatch | None = None
        if self.observer is not None and controller.follows_hand:
            self._weight = LoadWatch(model)
        elif self.observer is not None and observer.weight_share:
            self._weight = WeightWatch(model, observer.weight_share, observer.rated_payload)
        is_weighed = isinstance(self._weight, WeightWatch)
        self._weighing_time, self._weighing = observer.weighing_time if is_weighed else 0.0, 0.0
        pushes = self.observer is not None and observer.push_limit and not controller.has_contact
        self.push = PushLimit(model.tau_max, observer.push_limit) if pushes else None
        self.wrench = WrenchEstimate(model)
        sees = self.gate.constraints is not None and self.gate.constraints.sees_obstacles
        self._senses = self.gate.velocities is not None or controller.has_contact or sees
        self._none = np.zeros(model.nv)
        self._joint_names = model.joint_names
        self._is_resuming = self._is_held = self._was_braking = False
        self._held_with: Array | None = None
        self._carried: Array | None = None
        self._limits_with_law = self._computes_limits(controller)
        self.gaps = GapWatch(None if waits_for_commands else gate.max_missed)
        self.gates_behind: GatesBehind | None = None

    def tick(self, measurement: Measurement, obstacles: Sequence[Obstacle] = ()) -> TickResult:
        """Decide on the torque of one state."""
        if measurement.fault or measurement.is_restart or self.gates_behind is not None or self._weighing > 0.0:
            self._begin_state(measurement)
        if not measurement.is_restart and (gap := self.gaps.fault(measurement.dt)):
            self.gate.brake(gap)
        if self._senses:
            measurement = self._sensed(measurement, obstacles)
        is_resting = (self.gate.state is not GateState.PASSING or self._is_held) and self._rest(measurement)
        tau_dist = None if self.disturbance.is_over else self.disturbance.at(measurement.stamp_ns)
        dt = measurement.dt or FIRST_DT
        may_limit = self._limits_with_law and self._carried is None
        limits = self.gate.next_limits(dt) if may_limit else None
        law = self.controller.tick(measurement, tau_dist, limits, obstacles)
        if is_resting:
            is_resting = self._rests_on(law.terms, dt)
        avoidance = law.avoidance
        if avoidance is None and self.avoidance is not None:
            avoidance = self.avoidance.tick(law.terms, obstacles, law.tau)
        tau = law.tau if avoidance is None else avoidance.tau_total
        compensation = learnt = refused = None
        known = self._none if tau_dist is None else tau_dist
        if self.observer is not None and not is_resting:
            tau, compensation, learnt, known = self._compensated(self.observer, law, tau, known, measurement)
        if self._carried is not None:
            tau = tau + self._fading(dt)
        if law.fault:
            self.gate.brake(law.fault)
        if law.passed is not None and limits is not None:
            output = self.gate.take(law.passed, limits[1])
        else:
            if not is_resting or self.gate.state is GateState.BRAKING:
                refused = self._offer(tau)
            output = self.gate.tick(law.terms, dt)
        if self.observer is not None:
            self.observer.sent(output.tau, known, is_passing=output.is_passing)
            self.gate.estimate = -self.unknown_torque
        parts = measurement, law, avoidance, tau, output, refused, compensation, learnt
        return tuple.__new__(TickResult, parts)  # a named tuple's own function costs half a microsecond

    def _sensed(self, measurement: Measurement, obstacles: Sequence[Obstacle]) -> Measurement:
        """The state with velocities that the gate has filtered, where they come in steps.

        The gate knows the obstacles, and a hand its sensor.
        """
        self.gate.place(obstacles)
        if self.controller.has_contact:
            self.controller.feel(is_measured=self.wrench.is_measured(measurement.stamp_ns))
        v = self.gate.filtered(measurement.q, measurement.v, measurement.dt)
        return measurement if v is measurement.v else measurement._replace(v=v)

    def _begin_state(self, measurement: Measurement) -> None:
        """Brake where the state or a gate behind this one asks for it, begin a run, and weigh the arm."""
        if measurement.fault:
            self.gate.brake(measurement.fault)
        if measurement.is_restart:
            self._restart(measurement)
            if self.avoidance is not None:
                self.avoidance.begin(measurement.q)
        if self.gates_behind is not None:
            self._follow_gates_behind(self.gates_behind)
        if self._weighing > 0.0:
            self._weigh(measurement)

    def _offer(self, tau: Array) -> InputError | None:
        """Offer a torque to the gate; return why it is refused."""
        try:
            self.gate.offer_in_order(tau)
        except InputError as error:
            return error.with_traceback(None)  # whose frames hold the results of before
        return None

    def _follow_gates_behind(self, behind: GatesBehind) -> None:
        """Brake with a gate behind this one, and hold with it when it is enabled."""
        held_by, gate = behind.held_by, self.gate
        if not gate.is_braked and (behind.is_braking or (held_by and gate.state is GateState.PASSING)):
            gate.brake(f"{HELD}{held_by}")
        elif not behind.is_braking and gate.is_braked and gate.reason.startswith(HELD):
            gate.enable()
        self._is_held = bool(held_by)

    def _rest(self, measurement: Measurement) -> bool:
        """End all goals while the arm is braked, or must not move yet; return whether the law gives no torque."""
        gate, stamp_ns = self.gate, measurement.stamp_ns
        is_enabled = gate.is_resuming and not self._is_resuming
        if is_enabled and not self._was_braking:  # the brake has begun and ended since the last state
            stamp_ns -= round(measurement.dt * NANOSECONDS)
        if gate.state is GateState.BRAKING or self._is_held or (is_enabled and not self._was_braking):
            if gate.state is GateState.BRAKING:
                gate.lateness = measurement.age
            self.controller.hold(stamp_ns, measurement.q)
            self._forget_estimates()
        if is_enabled:
            self._held_with = None
        if self.gates_behind is not None and gate.is_resuming and is_at_rest(measurement.v):
            self._hold_with(self.gates_behind)
        self._is_resuming, self._was_braking = gate.is_resuming, gate.is_braked
        return self._is_held or gate.state is GateState.BRAKING or gate.is_resuming

    def _hold_with(self, behind: GatesBehind) -> None:
        """Hold an arm at rest with the torque of a gate behind this one, until that passes it."""
        tau, before = behind.tau(self._joint_names), self._held_with
        if tau is not None and (before is None or (self._is_held and not np.array_equal(tau, before))):
            self.gate.hold_with(tau)
            self._held_with = tau

    def _rests_on(self, terms: Terms, dt: float) -> bool:
        """Go on to hold the arm, and weigh it after a brake; return False where a new goal acts."""
        if self._is_resuming and not self._is_held and not self.controller.is_holding:
            return self._resume()
        if self.gate.is_resuming and is_at_rest(terms.v) and isinstance(self._weight, WeightWatch):
            self._watch_weight(self._weight, terms, -self.gate.carried, dt)
        return True

    def _resume(self) -> bool:
        """Begin the motion to a new goal with the torque that holds the arm; return False: it rests no more."""
        carried = self.gate.carried
        self.gate.begin()
        self._is_resuming = False
        if self._weight is not None:
            self._weight.restart()
        if self.observer is not None and self.observer.begin_with(-carried):
            carried = carried + self.observer.r
        self._carried = worth_carrying(carried)
        return False

    @property
    def is_carrying(self) -> bool:
        """Whether what a brake has carried is still part of the torque."""
        return self._carried is not None

    def _fading(self, dt: float) -> Array:
        """Torque that is carried on from a brake."""
        assert self._carried is not None
        carried = self._carried
        self._carried = worth_carrying(carried * left_after(dt))
        return carried

    def _weigh(self, measurement: Measurement) -> None:
        """Hold an arm where the run has begun, while its weight is compared; then its goals may act."""
        self._weighing -= measurement.dt
        if self._weighing > 0.0:
            self.controller.hold(measurement.stamp_ns, self._start)
        else:
            self.controller.begin(self._start)
            if self._weight is not None:
                self._weight.restart()

    def _forget_estimates(self) -> None:
        self._carried, self._weighing = None, 0.0
        if self._weight is not None:
            self._weight.restart()
        if self.push is not None:
            self.push.restart()
        if self.observer is not None:
            self.observer.reset()
        if self.adaptation is not None:
            self.adaptation.reset()

    def _computes_limits(self, controller: Controller) -> bool:
        """Whether a controller computes the limits of this gate, and all that comes between its law and them."""
        limits = controller.limits
        is_alone = self.avoidance is controller.avoidance and self.observer is None and not controller.has_contact
        are_same = limits is not None and is_alone and limits.are_those_of(self.gate.limits)
        return are_same and controller.keep(self.gate.constraints)

    def _compensated(
        self, observer: DisturbanceObserver, law: LawOutput, tau: Array, known: Array, state: Measurement
    ) -> tuple[Array, Array, Array | None, Array]:
        """A torque with what is added to it, that, the learnt part of it, and what is known beside it."""
        compensation, learnt, known = self._compensation(observer, law, tau, known, state)
        tau, dt = tau + compensation, state.dt or FIRST_DT
        if self.push is not None:
            before = tau
            tau, observer.r[:] = self.push.limited(law.terms, law.tau, tau, observer.r, observer.bandwidth, dt)
            compensation = compensation + tau - before
        if self._weight is not None and observer.is_residual_valid:
            self._watch_weight(self._weight, law.terms, observer.residual, dt)
        return tau, compensation, learnt, known

    def _watch_weight(self, weight: WeightWatch | LoadWatch, terms: Terms, y: Array, dt: float) -> None:
        """Brake an arm that carries too much, by the torque y, shape (nv,), that its model lacks [N m or N]."""
        heavy = weight.look(terms, y, dt)
        self.controller.felt = weight.u
        if heavy:
            self.gate.estimate = self.gate.estimate if weight.carried is None else weight.carried
            self.gate.brake(heavy)

    def _compensation(
        self, observer: DisturbanceObserver, law: LawOutput, tau: Array, known: Array, state: Measurement
    ) -> tuple[Array, Array | None, Array]:
        """What is added to a torque that a law, and avoidance, ask for; the learnt part; what is known beside that."""
        floor = self.gate.inertia if self.controller.scales_with_inertia else self._none
        terms, hand, F_meas = law.terms, law.hand, None
        if law.friction is not None:
            known = known - law.friction
        if hand is not None and (F_meas := self.wrench.measured(state.stamp_ns, terms)) is not None:
            known = known + self.wrench.known(terms, hand, F_meas)
        asked, learnt = tau, None
        if self.adaptation is not None:
            before, tau_a = self.adaptation.tau, self.adaptation.tick(terms)
            learnt, known, asked = -tau_a, known + tau_a, tau - tau_a
        if hand is not None and F_meas is None and floor.any():
            tau_F = terms.J.T @ hand.in_world(hand.F)  # (5) of the wrench estimate
            asked, tau = asked - tau_F, tau - tau_F
        compensation = observer.tick(terms, asked, known, floor, state.dt, self.gate.velocity_lag) - tau
        if self.adaptation is not None:
            self.adaptation.learn(observer.residual + before if observer.is_residual_valid else None, state.dt)
        if hand is not None:
            compensation += self.wrench.released(terms, observer.r, hand, is_measured=F_meas is not None)
        return compensation, learnt, known

    @property
    def unknown_torque(self) -> Array:
        """All that is compensated, learnt and estimated, shape (nv,) [N m or N]; zero without either."""
        r = self._none if self.observer is None else self.observer.r
        return r if self.adaptation is None else r + self.adaptation.tau

    def _restart(self, measurement: Measurement) -> None:
        self.gate.reset(keeps_torque=self.gaps.max_missed is not None)  # in lock step a simulation may be anywhere
        self.gaps.restart()
        self.disturbance.clear()
        self.wrench.reset()
        self._forget_estimates()
        self.controller.restart(measurement.q)
        self._weighing, self._start = self._weighing_time, measurement.q.copy()
        for goal in self.goals:
            self.controller.add(replace(goal, stamp_ns=measurement.stamp_ns + goal.stamp_ns))
