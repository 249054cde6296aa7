"""The control loop: the one tick of every node, simulation and replay, from a measured state to torque.

In each tick, in this order: a fault of the state or a gap before it brakes the gate; the controller follows its goals
and gives the torque of its law; avoidance changes it; adaptation and the disturbance observer add what the model does
not know; the gate lets through what may reach the actuators. The loop reads no message and no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from arm_control.control.adaptive_torque import AdaptationParameters, AdaptiveTorque
from arm_control.control.avoidance.avoidance_law import Avoidance, AvoidanceOutput
from arm_control.control.controllers import (
    Controller,
    LawOutput,
    Measurement,
    OscController,
)
from arm_control.control.disturbance_observer import DisturbanceObserver, ObserverParameters
from arm_control.control.effort_gate import BRAKED, EffortGate, GateOutput, GateParameters
from arm_control.control.osc.wrench_estimate import WrenchEstimate
from arm_control.control.primitive_controllers import (
    PosePrimitiveController,
)
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError, ParameterError
from arm_control.maths.obstacles import Obstacle
from arm_control.maths.poses import Array
from arm_control.model import RobotModel
from arm_control.motion.goals import Target

FIRST_DT = 1e-3
"""Time that the first state stands for, in the rate limit [s]."""
GAP = 1.5
"""A state is missing where the time between two states is longer than so many periods."""
SHORTER, LONGER = 0.99, 1.01
"""Least and largest factor of the period from a state to the next. So it is near the median of those times,
and some that have waited and come one behind the other do not make a gap of the time behind them."""
WITH_CONTACT = "adaptive_torque would learn the force of a contact: not with impedance or force_axes"


class TickResult(NamedTuple):
    """All that one tick has decided.

    Attributes
    ----------
    measurement : Measurement
        The measured state.
    law : LawOutput
        The law's own torque, and what it is made of.
    avoidance : AvoidanceOutput or None
        What avoidance adds; None without avoidance.
    tau : ndarray, shape (nv,)
        Torque offered to the gate [N m or N].
    gate : GateOutput
        Torque that passes the gate, and the state of the gate.
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

    Parameters
    ----------
    timeout : float
        Age at which it has ended, by the states' stamps [s].

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


class GapWatch:
    """Notices missing states: after too long a gap, the last torque fits no state any more.

    Parameters
    ----------
    max_missed : int or None
        Periods without a state after which the gate must brake; None: never, the states wait for their commands.

    Attributes
    ----------
    skipped : int
        States that were missing so far.
    period : float
        Usual time between two states [s]: that of before, within SHORTER and LONGER of it; 0: unknown.
    max_missed : int or None
        See the parameter.
    """

    def __init__(self, max_missed: int | None) -> None:
        self.max_missed = max_missed
        self.period = 0.0
        self.skipped = 0

    def restart(self) -> None:
        """Time has started over: the period is unknown."""
        self.period = 0.0

    def fault(self, dt: float) -> str:
        """Return why the gate must brake after ``dt`` seconds without a state; empty when it need not."""
        period = self.period or dt
        if dt > 0.0:
            self.period = min(max(dt, SHORTER * period), LONGER * period)
        if dt <= GAP * period:
            return ""
        self.skipped += round(dt / period) - 1
        if self.max_missed is None or dt <= self.max_missed * period:
            return ""
        return f"no state for {dt * 1e3:.0f} ms"


class ControlLoop:
    """A controller, avoidance and a gate.

    Parameters
    ----------
    model : RobotModel
        The arm.
    controller : Controller
        Follower and law.
    gate : GateParameters
        Limits of the gate.
    avoidance : Avoidance, optional
        Avoidance of obstacles; by default none.
    observer : ObserverParameters, optional
        Compensation of unknown torque; by default none.
    adaptation : AdaptationParameters, optional
        Learning of unknown torque; by default none.
    waits_for_commands : bool
        Whether each state waits for its command, so that a gap means nothing.

    Raises
    ------
    ParameterError
        When torque is to be learnt where the hand yields or presses.

    Attributes
    ----------
    controller : Controller
        Follower and law.
    avoidance : Avoidance or None
        Avoidance of obstacles.
    gate : EffortGate
        The gate behind them.
    goals : sequence of Target
        Goals whose stamps count from the first state [ns], and from each one with which time starts over.
    disturbance : KnownDisturbance
        Torque that something known exerts.
    observer : DisturbanceObserver or None
        Compensation of unknown torque; with adaptation alone it measures, and estimates nothing.
    adaptation : AdaptiveTorque or None
        Learning of unknown torque.
    wrench : WrenchEstimate
        What the observer knows of the wrench on the hand.
    gaps : GapWatch
        Missing states.
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
        self.gate = EffortGate(model, gate)
        self.goals: Sequence[Target] = ()
        self.disturbance = KnownDisturbance(timeout=0.1)
        observer = observer or ObserverParameters()
        self.observer: DisturbanceObserver | None = None
        self.adaptation: AdaptiveTorque | None = None
        if adaptation is not None and adaptation.adaptive_torque:
            if isinstance(controller, OscController) and controller.force is not None:
                raise ParameterError(WITH_CONTACT)
            self.adaptation = AdaptiveTorque(model, adaptation, learns_at_rest=not observer.disturbance_observer)
        if observer.disturbance_observer or self.adaptation is not None:
            shortens, estimates = avoidance is None and not controller.has_schedule, observer.disturbance_observer
            self.observer = DisturbanceObserver(model, observer, shortens=shortens, estimates=estimates)
        self.wrench = WrenchEstimate(model)
        self._none = np.zeros(model.nv)
        self._limited = self._with_limits(controller)
        self._guided = controller if isinstance(controller, PosePrimitiveController) else None
        self.gaps = GapWatch(None if waits_for_commands else gate.max_missed)

    def tick(self, measurement: Measurement, obstacles: Sequence[Obstacle] = ()) -> TickResult:
        """Decide on the torque of one state.

        Parameters
        ----------
        measurement : Measurement
            The measured state.
        obstacles : sequence of Obstacle
            The obstacles in this state.
        """
        if measurement.fault:
            self.gate.brake(measurement.fault)
        if measurement.is_restart:
            self._restart(measurement)
        elif fault := self.gaps.fault(measurement.dt):
            self.gate.brake(fault)
        tau_dist = None if self.disturbance.is_over else self.disturbance.at(measurement.stamp_ns)
        if self._guided is not None:
            self._guided.obstacles = obstacles
        dt = measurement.dt or FIRST_DT
        limits = None if self._limited is None else self.gate.next_limits(dt)
        if self._limited is None or limits is None:
            law = self.controller.tick(measurement, self.gate.state is BRAKED, tau_dist)
        else:
            law = self._limited.tick(measurement, False, tau_dist, limits, obstacles)
            if law.passed is not None:
                self.gate.take(law.passed, limits[1])
                tau = law.tau if law.avoidance is None else law.avoidance.tau_total
                return tuple.__new__(TickResult, (measurement, law, law.avoidance, tau, law.passed, None, None, None))
        avoidance = None if self.avoidance is None else self.avoidance.tick(law.terms, obstacles, law.tau)
        tau = law.tau if avoidance is None else avoidance.tau_total
        compensation = learnt = None
        known = self._none if tau_dist is None else tau_dist
        if self.observer is not None:
            compensation, learnt, known = self._compensation(self.observer, law, tau, known, measurement)
            tau = tau + compensation
        if law.fault:
            self.gate.brake(law.fault)
        refused = None
        try:
            self.gate.offer_in_order(tau)
        except InputError as error:
            refused = error.with_traceback(None)  # whose frames hold the results of before
        output = self.gate.tick(law.terms, dt)
        if self.observer is not None:
            self.observer.sent(output.tau, known, is_passing=output.is_passing)
        return TickResult(measurement, law, avoidance, tau, output, refused, compensation, learnt)

    def _with_limits(self, controller: Controller) -> OscController | None:
        """The controller, where it computes the limits of this gate, and all that comes before them."""
        if not isinstance(controller, OscController) or controller.limits is None:
            return None
        is_alone = self.avoidance is controller.avoidance and self.observer is None and controller.force is None
        return controller if is_alone and controller.limits.are_those_of(self.gate.limits) else None

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
        compensation = observer.tick(terms, asked, known, floor, state.dt) - tau
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
        self.gate.reset()
        self.gaps.restart()
        self.disturbance.clear()
        self.wrench.reset()
        if self.observer is not None:
            self.observer.reset()
        if self.adaptation is not None:
            self.adaptation.reset()
        self.controller.restart(measurement.q)
        for goal in self.goals:
            self.controller.add(replace(goal, stamp_ns=measurement.stamp_ns + goal.stamp_ns))
