"""A joint that is asked to move and does not: a torque cap, a gain or an observer too small for what holds it.

A law asks the joints of an arm at rest for an acceleration, ``M a = tau + tau_dist - h`` without what an observer adds.
A joint that is free follows, so that the speed

    (1)  T du_i/dt = T a_i - u_i                from 0, where the joint last moved by 2e-3 rad or m   [rad/s or m/s]
    (2)  T dw_i/dt = T (M a)_i / M_ii - w_i     the same for a joint that moves alone                 [rad/s or m/s]

stay small. Where both exceed 0.1 rad/s, a time T has passed and the target is missed, something holds the joint: (1)
alone would also name joints that a held one keeps still, (2) alone those that a law keeps still. On an arm that is its
model, and that no gate cuts, that cannot be: at rest a is zero, also out of reach. An observer that is not at its bound
goes on to push, so that only bounds are named beside one. The watch looks every few ticks, and reads no clock.

Avoidance of obstacles, and of the arm's own links, holds an arm that is its model, too. Of the law's torque tau_law - h
its change tau_avoid takes away the share

    (3)  s = - <a . tau_avoid> / <a . (tau_law - h)>    a = M^-1 (tau_law - h),  <x>: T d<x>/dt = T x - <x>

Where s exceeds a half, avoidance is the cause and nothing else; it is named when the error e of the target has not gone
below 0.95 <e>/T for a time T.

A hand that presses without a sensor of its wrench, and has not moved by 2 mm since it began, may be held by friction or
by what it touches. For the arm both are the same, so that the sentence names both.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arm_control.control.avoidance_law import AvoidanceOutput
from arm_control.control.controller import LawOutput
from arm_control.control.loop import TickResult
from arm_control.core import NANOSECONDS
from arm_control.gate import GateOutput
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms

FAULT = "asked to move, does not move"
"""Name of the fault."""
BOUND = "what the observer compensates is at its bound"
"""How the sentence begins about a target that is missed because an estimate is at its bound."""
MOVED = 2e-3
"""Way by which a joint counts as moved [rad or m]."""
SPEED = 0.1
"""Speed that a free joint would have [rad/s or m/s]."""
PATIENCE = 1.0
"""T [s]."""
MISSED: Mapping[str, float] = {"position_error": 1e-3, "orientation_error": 3.5e-3, "joint_error": 3.5e-3}
"""Figures of a law above which a target counts as missed [m, rad, rad]."""
UNFELT = "do not overcome friction, or it touches already: see measured_wrench"
"""What holds a hand without a sensor."""
NEARLY = 0.98
"""Share of a bound that counts as the bound."""
NEAR_LIMIT = 0.06
"""Distance from a limit of position that counts as at the limit [rad or m]."""
CUT = 0.1
"""Share of the asked torque that the gate takes away, from which on it is the cause."""
HALF = 0.5
"""Share (3) from which on avoidance is the cause."""
PROGRESS = 0.95
"""Share of its mean to which the error of a target falls while an arm gets nearer."""


class StallWatch:
    """Notices joints that do not move.

    Parameters
    ----------
    observer_share : float or ndarray, shape (nv,)
        Bound of a disturbance observer as a share of the effort limit; 0 without one.

    Attributes
    ----------
    sentence : str
        What is wrong now; empty when nothing is.
    last : str
        What was wrong last; empty when nothing ever was.
    """

    def __init__(self, model: RobotModel, observer_share: float | Array) -> None:
        self._model = model
        self._r_max = NEARLY * observer_share * model.tau_max
        self._has_observer = bool(np.any(self._r_max > 0.0))
        self.sentence = self.last = ""
        self._stamp_ns = -1
        self._q = np.full(model.nv, np.nan)
        self._u = np.zeros((3, model.nv))
        self._since_ns, self._at_bound = np.zeros(model.nv), np.zeros(model.nv)
        self._means, self._avoided_for, self._pair = np.zeros(3), 0.0, ""
        self._pressing: tuple[float, Array] | None = None

    def look(self, result: TickResult, tau_dist: Array | None = None) -> None:
        """Look at the result of a tick, with the known disturbance in it, shape (nv,) [N m or N]."""
        law, tau, gate, stamp_ns = result.law, result.tau, result.gate, result.measurement.stamp_ns
        compensation = np.zeros_like(tau) if result.compensation is None else result.compensation
        terms, figures = law.terms, law.figures()
        dt = (stamp_ns - self._stamp_ns) / NANOSECONDS
        is_missed = any(figures.get(name, 0.0) > error for name, error in MISSED.items())
        unmoved = self._unmoved(law, stamp_ns)
        if not gate.is_passing or not is_missed or not 0.0 < dt < 1.0:
            self._restart(stamp_ns, terms.q)
            self.sentence = unmoved
            self.last = self.sentence or self.last
            return
        asked = tau - compensation - terms.h
        if tau_dist is not None:
            asked = asked + tau_dist
        passed = asked + compensation + gate.tau - tau
        free = np.linalg.solve(terms.M, np.stack([asked, passed], axis=1))
        a = np.stack([free[:, 0], asked / terms.M.diagonal(), free[:, 1]])
        has_moved = ~(np.abs(terms.q - self._q) <= MOVED)
        self._u = np.where(has_moved, 0.0, np.exp(-dt / PATIENCE) * self._u + dt * a)  # (1), (2), (1) behind the gate
        self._q = np.where(has_moved, terms.q, self._q)
        self._since_ns = np.where(has_moved, stamp_ns, self._since_ns)
        self._stamp_ns = stamp_ns
        is_held = (np.abs(self._u[:2]).min(axis=0) > SPEED) & (stamp_ns - self._since_ns >= PATIENCE * NANOSECONDS)
        causes = {j: self._cause(j, terms, asked, compensation, tau, gate) for j in np.flatnonzero(is_held).tolist()}
        self._at_bound = np.where(np.abs(compensation) >= self._r_max, self._at_bound + dt, 0.0)
        held = [f"{self._model.joint_names[j]} ({cause})" for j, cause in causes.items() if cause]
        self.sentence = f"{FAULT}: {', '.join(held)}" if held else self._bound() or unmoved
        if result.avoidance is not None:
            error = sum(figures.get(name, 0.0) for name in MISSED)
            self._look_for_avoidance(dt, law, tau - compensation - law.tau, result.avoidance, error)
        self.last = self.sentence or self.last

    def _look_for_avoidance(
        self, dt: float, law: LawOutput, avoided: Array, avoidance: AvoidanceOutput, error: float
    ) -> None:
        """Name the pair whose avoidance takes what the law asks for, (3)."""
        asked = law.tau - law.terms.h
        a = np.linalg.solve(law.terms.M, asked)
        self._means = np.exp(-dt / PATIENCE) * self._means + dt * np.array([a @ asked, -a @ avoided, error])
        if self._means[1] <= HALF * self._means[0]:
            self._avoided_for = 0.0
            return
        is_nearing = error < PROGRESS * self._means[2] / PATIENCE
        self._avoided_for = 0.0 if is_nearing else self._avoided_for + dt
        pairs = avoidance.pairs
        if len(pairs.rho):
            i = int(np.argmin(pairs.rho))
            see = "self_threshold" if pairs.is_self[i] else "threshold"
            near = f"{1e3 * pairs.rho[i]:.0f} mm between {' and '.join(pairs.names[i])}"
            self._pair = f"{FAULT}: {self._model.tip} (avoidance holds it, {near}: see {see})"
        self.sentence = self._pair if self._avoided_for >= PATIENCE else ""

    def _bound(self) -> str:
        """What is more than an observer may compensate; empty without such a joint."""
        names = [self._model.joint_names[j] for j in np.flatnonzero(self._at_bound >= PATIENCE)]
        if not names or not self._has_observer:
            return ""
        return f"{BOUND}: {', '.join(names)}: see observer_share and rated_payload"

    def _unmoved(self, law: LawOutput, stamp_ns: int) -> str:
        """What holds a hand without a sensor that has not moved since it began to press; empty where it has."""
        hand, p = law.hand, law.terms.X_WE.p
        if hand is None or hand.is_measured or not hand.F[:3].any():
            self._pressing = None
            return ""
        since_ns, p_0 = self._pressing or (float(stamp_ns), p)
        self._pressing = (since_ns if np.linalg.norm(p - p_0) <= MOVED else np.inf), p_0
        if stamp_ns - since_ns < PATIENCE * NANOSECONDS or (hand.F_target - hand.F).any():
            return ""
        return f"{FAULT}: {self._model.tip} ({np.linalg.norm(hand.F[:3]):.2g} N {UNFELT})"

    def _restart(self, stamp_ns: int, q: Array) -> None:
        self._stamp_ns, self._q = stamp_ns, q
        self._u, self._at_bound = np.zeros_like(self._u), np.zeros_like(q)
        self._since_ns = np.full(q.shape, float(stamp_ns))
        self._means, self._avoided_for, self.sentence = np.zeros(3), 0.0, ""

    def _cause(self, j: int, terms: Terms, asked: Array, r: Array, tau: Array, gate: GateOutput) -> str:
        """What is too small for a joint; empty where an observer still pushes."""
        model, toward = self._model, self._u[1, j]
        room = model.q_max[j] - terms.q[j] if toward > 0.0 else terms.q[j] - model.q_min[j]
        if room < NEAR_LIMIT:
            return "at its limit of position"
        if abs(gate.tau[j]) >= NEARLY * model.tau_max[j]:
            return f"at its effort limit of {model.tau_max[j]:g} N m"
        if abs(gate.tau[j] - tau[j]) > CUT * abs(asked[j]):
            is_pushed = abs(self._u[2, j]) > SPEED  # else the gate holds it itself
            return "the gate cuts its torque: see inertia_floor" if is_pushed else ""
        if not self._has_observer:
            return f"{abs(asked[j]):.2g} N m does not overcome what holds it: see disturbance_observer"
        return "what holds it is more than observer_share of its effort limit" if abs(r[j]) >= self._r_max[j] else ""
