"""A limit of the force of a hand that does not move where it is asked to: against a wall, say.

With a target behind something stiff the law pushes, and a disturbance observer pushes more and more, up to its bound.
The force that moves the hand is

    (1)  F = F_hat(tau - h + r_0),   f = |F_p|,   n = F_p / f    F_hat: equation (1) of the wrench estimate, F_p: force
    (2)  r_0 <- r_0 + (1 - exp(-dt / T)) (r - r_0)               while n . V > 20 mm/s: what free motion needs beside h

A hand *presses* after 16 / K, 0.2 s at most rates, in which n . V < 5 mm/s, |V| < 30 mm/s and the law asks it for 5 N
or more along n: by then the estimate has overcome the friction of joints. Then f is held at f_1: of what the observer
has learnt since the hand was free, the share gamma is left, and where that is none, the law's own force is cut,

    (3)  r <- r_0 + gamma (r - r_0)   with the largest gamma <= 1 that has f <= f_1,  tau <- tau - J_p^T F_p (1 - f_1/f)
    (4)  f_1 <- max(f_max, min(f_1, f) - c dt)   while it presses;   otherwise  f_1 <- f_1 + c dt, and no limit from the
                                                 first f <= f_1 on

so that the force falls to f_max, and grows again, at the rate c, and the hand keeps its orientation.

    tau, h, r, r_0   torque; bias; estimate of the observer, now and in free motion   [N m or N]
    f_max, c         push_limit, 200                                                  [N; N/s]
    K, T             bandwidth of the observer; 0.2                                   [1/s; s]
"""

from __future__ import annotations

import math

import numpy as np

from arm_control.control.osc.wrench_estimate import wrench_map
from arm_control.maths import Array
from arm_control.model import Terms

SLOW, PATIENCE = 5e-3, 16.0
"""Speed of a hand that stands still [m/s], and the time for which it must, times K."""
FREE, FAST = 0.02, 0.03
"""Speed of a hand that nothing holds, and of one that need not be looked at [m/s]."""
LEAST, SMALLEST = 0.005, 1e-9
"""Share of the effort limits below which a law asks for nothing; smallest force [N]."""
LOOK = 4.5e-3
"""Time between two looks at a hand that nothing limits [s]."""
ASKED = 5.0
"""Force that a law asks of a hand that presses, at least [N]."""
RATE = 200.0
"""``c`` [N/s]."""
FREE_TIME = 0.2
"""``T`` [s]."""


class PushLimit:
    """The limit of one hand, state by state.

    Parameters
    ----------
    tau_max : ndarray, shape (nv,)
        Effort limits [N m or N].
    largest : float
        f_max [N].

    Attributes
    ----------
    sentence : str
        What was cut last; empty where nothing ever was.
    """

    def __init__(self, tau_max: Array, largest: float) -> None:
        self._largest = largest
        self._n, self._least = len(tau_max), LEAST * tau_max
        self.sentence = ""
        self.restart()

    def restart(self) -> None:
        """A motion begins."""
        self._still, self._unseen, self._allowed = 0.0, 0.0, math.inf
        self._r_0 = np.zeros(self._n)

    def limited(self, t: Terms, law: Array, tau: Array, r: Array, K: float, dt: float) -> tuple[Array, Array]:
        """Return the torque within the limit, and the estimate that is left, shape (nv,) each [N m or N].

        Parameters
        ----------
        law, tau : ndarray, shape (nv,)
            Torque of the law alone, and with all that compensates [N m or N].
        r : ndarray, shape (nv,)
            The observer's estimate [N m or N].
        K : float
            Its bandwidth [1/s].
        """
        V, asked = t.V_WE[:3], law - t.h
        is_free = math.isinf(self._allowed)
        if is_free and (V @ V > FAST * FAST or (np.abs(asked) < self._least).all()):
            self._still = self._unseen = 0.0
            self._r_0 += -math.expm1(-dt / FREE_TIME) * (r - self._r_0)  # (2)
            return tau, r
        self._unseen += dt
        if is_free and self._unseen < LOOK:
            return tau, r
        dt, self._unseen = self._unseen, 0.0
        force_of = wrench_map(t)[:3]
        own, learnt = force_of @ (tau + r - t.h), force_of @ (self._r_0 - r)
        F = own + learnt  # (1)
        f = float(np.linalg.norm(F))
        along = float(V @ F) / max(f, SMALLEST)
        if along > FREE:
            self._r_0 += -math.expm1(-dt / FREE_TIME) * (r - self._r_0)  # (2)
        is_asked = float((force_of @ asked) @ F) > ASKED * f
        is_still = along < (SLOW if is_free else FREE) and V @ V < FAST * FAST
        self._still = self._still + dt if is_still and is_asked else 0.0
        self._follow(f, dt, presses=self._still >= PATIENCE / K)
        if f <= self._allowed:
            return tau, r
        gamma = share_within(own, learnt, self._allowed)
        left = self._r_0 + gamma * (r - self._r_0)
        tau, F = tau + r - left, own + gamma * learnt
        f = float(np.linalg.norm(F))
        return tau - t.J[:3].T @ F * max(1.0 - self._allowed / max(f, SMALLEST), 0.0), left  # (3)

    def _follow(self, f: float, dt: float, *, presses: bool) -> None:
        """Let the limit fall while the hand presses, and grow behind that, (4)."""
        if not presses:
            self._allowed = self._allowed + RATE * dt if f > self._allowed else math.inf
        elif f > self._largest or math.isfinite(self._allowed):
            if math.isinf(self._allowed):
                pressed = f"the hand presses with {f:.0f} N against something that does not give way"
                self.sentence = f"{pressed}: cut to push_limit = {self._largest:g} N"
            self._allowed = max(self._largest, min(self._allowed, f) - RATE * dt)


def share_within(own: Array, learnt: Array, largest: float) -> float:
    """Return the largest share x <= 1 with ``|own + x learnt| <= largest``; 0 where there is none.

    Examples
    --------
    >>> share_within(np.array([0.0, 0.0, 20.0]), np.array([0.0, 0.0, 60.0]), 50.0)
    0.5
    """
    a, b, c = float(learnt @ learnt), float(own @ learnt), float(own @ own) - largest * largest
    root = b * b - a * c
    return min(max((math.sqrt(root) - b) / a, 0.0), 1.0) if a > 0.0 and root > 0.0 else 0.0
