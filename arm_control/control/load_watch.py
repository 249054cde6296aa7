"""A load that nobody has told of, on an arm that follows a hand: it sinks from rest, and is held before it sinks far.

A hand and a load look the same in one state. They differ in how a motion begins: a load that nothing holds any more
pulls straight down, and as strongly in the first millimetre as later; a hand begins to pull. The torque y that the
model lacks is compared with that of a payload at the tip,

    (1)  m = -(w . u) / (w . w),   f = (w . u)^2 / ((w . w) (u . u)),   w = J_p^T (a - g_0)
    (2)  u <- u + (1 - exp(-K dt)) (y - u),   a <- a + (1 - exp(-K dt)) (dV_p / dt - a)

with x . y = sum x_i y_i / tau_max_i^2, while the tip sinks from 1.5 to 5 mm below where the arm rested last, within a
second. The arm is held where all of this time m was at least 0.5 kg and changed by no more than a quarter, and f was at
least 0.8.

    y, u       torque that the model lacks between two states; filtered        [N m or N]
    m, f       payload at the tip with such a torque; its share of the torque  [kg; 1]
    w          torque that moves a payload of 1 kg along                       [N m/kg]
    g_0, a, K  acceleration of free fall, of the tip; 80                       [m/s^2; m/s^2; 1/s]

Where it ends: a load that a hand lets go over more than about 0.1 s is followed, as the hand is; so is one below 0.5
kg, or one that friction lets sink more slowly than 5 mm in a second. A hand that jerks an arm at rest straight down,
with its whole force at once, is taken for a load.
"""

from __future__ import annotations

import math

import numpy as np

from arm_control.gate import is_at_rest
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms

BANDWIDTH = 80.0
"""``K`` [1/s]."""
BEGIN, END = 0.0015, 0.005
"""How far the tip has sunk where the comparison begins, and where it ends [m]."""
LONGEST = 1.0
"""Time of a motion after which it is a hand's [s]."""
LEAST = 0.5
"""Smallest load that counts [kg]."""
SHORTEST = 1e-6
"""Shortest time between two states [s]."""
STEADY, FIT = 0.75, 0.8
"""Least m as a share of the largest, and least f."""


class LoadWatch:
    """Looks at each motion that begins from rest.

    Attributes
    ----------
    u : ndarray, shape (nv,)
        See (2) [N m or N].
    carried : ndarray, shape (nv,), or None
        Torque that carries the load found last [N m or N].

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> q, watch = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0]), LoadWatch(model)
    >>> pull = model.jacobian(q)[:3].T @ model.gravity_W  # of 1 kg at the tip
    >>> sentences = []
    >>> for q[1] in np.arange(-1.4, -1.38, 0.0002):  # the shoulder falls
    ...     sentences.append(watch.look(model.evaluate(q, [0.0, 0.2, 0.0, 0.0, 0.0, 0.0]), pull, 1e-3))
    >>> max(sentences).partition(":")[0]
    '1 kg or more pull the arm down, and no hand has begun to move it'
    """

    def __init__(self, model: RobotModel) -> None:
        self._gravity, self._weights = model.gravity_W, 1.0 / np.square(model.tau_max)
        self._down = model.gravity_W / max(float(np.linalg.norm(model.gravity_W)), 1e-9)
        self.carried: Array | None = None
        self.restart()

    def restart(self) -> None:
        """The next state is one at rest."""
        self.u: Array = np.zeros_like(self._weights)
        self._a, self._V, self._since = np.zeros(3), np.zeros(3), -1.0

    def look(self, terms: Terms, y: Array, dt: float) -> str:
        """Look at a state; return why the arm must be held, empty where it need not."""
        gain = -math.expm1(-BANDWIDTH * dt)
        self.u += gain * (y - self.u)
        self._a += gain * ((terms.V_WE[:3] - self._V) / max(dt, SHORTEST) - self._a)  # (2)
        self._V = terms.V_WE[:3]
        height = -float(terms.X_WE.p @ self._down)
        if self._since < 0.0 or is_at_rest(terms.v):
            self._since, self._height, self._least, self._most = 0.0, height, np.inf, 0.0
            return ""
        self._since += dt
        sunk = self._height - height
        if sunk < BEGIN or self._since > LONGEST:
            return ""
        w = terms.J[:3].T @ (self._a - self._gravity)
        ww, wu, uu = (float(a @ (self._weights * b)) for a, b in ((w, w), (w, self.u), (self.u, self.u)))
        m = -wu / ww if wu * wu >= FIT * ww * uu else 0.0  # (1)
        self._least, self._most = min(self._least, m), max(self._most, m)
        if self._least < max(LEAST, STEADY * self._most):
            self._since = LONGEST  # a hand's
        if sunk < END or self._since > LONGEST:
            return ""
        self.carried = -m * terms.J[:3].T @ self._gravity
        return (
            f"{m:.2g} kg or more pull the arm down, and no hand has begun to move it: set payload_mass, or find it with"
            " `identify`; enable and release the arm for a hand to go on"
        )
