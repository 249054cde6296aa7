"""The weight that an arm carries beside what its model says, at rest and in the first second of a motion.

A description with masses that are too small makes a controller carry an arm that is heavier: the observer's estimate
goes to its bound, and what the law asks for goes wrong. So what it carries is compared with the model's weight, in the
directions of both, each joint by its effort limit,

    (1)  s = -(g . r) / (g . g),    m = -(w . r) / (w . w),    w = -J_p^T g_0,    x . y = sum_i x_i y_i / tau_max_i^2
    (2)  r = u' / (1 - exp(-K t)),   u <- u + (1 - exp(-K dt)) (y - u),   u' = u - clamp(u, -tau_f, tau_f)

and an arm is stopped that carries more than (1 + s_max) times the weight of its model for 0.03 s in that second: what
friction may be, tau_f, does not count, and a usual payload is less. The observer's own estimate is bounded, and would
hide it. A motion hides it, too:

    (3)  y = (g - g') - (M' - M) a - D v - f

so that of an arm that is asked to go down, inertia and damping take away what its weight g' has beside g. At rest dry
friction f is all that is left, and that is small: an arm that is held for ``weighing_time`` before a first motion is
stopped before that. Behind it the second begins again, for a posture without weight may have none to show. After a
brake y is what the gate carries while it holds the arm at rest, with the sign turned.

    g, y     gravity torque, torque that the model lacks between two states  [N m or N]
    g', M'   gravity torque, mass matrix of the arm                          [N m or N; kg m^2 or kg]
    D, f     damping, dry friction of the arm                                [N m s/rad or N s/m; N m or N]
    r, u     its estimate, before it is scaled for the time t of the motion  [N m or N]
    K, tau_f bandwidth, 50; 0.06 tau_max                                     [1/s; N m or N]
    s, m     share of the weight that is carried beside it; payload at the tip with such a torque   [-; kg]
    w, g_0   torque that carries a payload of 1 kg; acceleration of free fall   [N m/kg; m/s^2]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from arm_control.maths import Array
from arm_control.model import RobotModel, Terms

FIRST = 1.0
"""Time of a motion in which the weight is compared [s]."""
PATIENCE = 0.03
"""Time for which it must be too large [s]."""
BANDWIDTH = 50.0
"""``K`` [1/s]."""
FRICTION = 0.06
"""Share of an effort limit that may be friction."""
SMALLEST = 1e-9
"""Smallest share of (2)."""
LOADED = 0.1
"""Share of the largest weight of a joint from which on a joint is named."""
LEAST = 0.01
"""Share of an effort limit that the weight must have at some joint: below it says nothing."""


class WeightWatch:
    """Compares the weight that is carried with that of the model.

    Parameters
    ----------
    largest : float
        Largest s, s_max.
    payload : float
        Payload that is allowed beside it [kg]: its weight does not count, like friction.

    Attributes
    ----------
    u : ndarray, shape (nv,)
        See (2) [N m or N].

    Examples
    --------
    >>> import numpy as np
    >>> from arm_control import RobotModel, urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> terms, watch = model.evaluate(np.zeros(6), np.zeros(6)), WeightWatch(model, 1.5)
    >>> for _ in range(60):
    ...     sentence = watch.look(terms, -3.0 * terms.g, 1e-3)  # three times the weight pulls beside it
    >>> sentence.partition(":")[0]
    'joints 2 to 3 carry at least 3.8 times what the model says'
    """

    def __init__(self, model: RobotModel, largest: float, payload: float = 0.0) -> None:
        self._model, self._largest, self._payload = model, largest, payload
        self._weights, self._friction = 1.0 / np.square(model.tau_max), FRICTION * model.tau_max
        self.carried: Array | None = None
        self.restart()

    def restart(self) -> None:
        """A motion begins."""
        self._time = self._heavy = 0.0
        self.u = np.zeros(self._model.nv)

    def look(self, terms: Terms, y: Array, dt: float) -> str:
        """Look at a state of the motion; return why the arm must stop, empty where it need not."""
        if self._time > FIRST:
            return ""
        self._time += dt
        self.u += -math.expm1(-BANDWIDTH * dt) * (y - self.u)
        known = self._friction
        if self._payload:
            known = known + self._payload * np.abs(terms.J[:3].T @ self._model.gravity_W)
        u = self.u - np.clip(self.u, -known, known)
        r = u / max(-math.expm1(-BANDWIDTH * self._time), SMALLEST)  # (2)
        g, weighted = terms.g, self._weights * terms.g
        is_loaded = np.abs(g * np.sqrt(self._weights)).max() > LEAST
        s = -float(weighted @ r) / float(weighted @ g) if is_loaded else 0.0  # (1)
        self._heavy = self._heavy + dt if s > self._largest else 0.0
        return self._describe(terms, r, 1.0 + s) if self._heavy > PATIENCE else ""

    def _describe(self, terms: Terms, r: Array, times: float) -> str:
        w = -terms.J[:3].T @ self._model.gravity_W
        payload = -float((self._weights * w) @ r) / float((self._weights * w) @ w)
        loaded = np.flatnonzero(np.abs(terms.g) > LOADED * np.abs(terms.g).max())
        carry = f"{numbered(loaded.tolist())} at least {times:.2g} times what the model says"
        causes = f"the description is too light, or a payload of {payload:.2g} kg or more"
        return f"{carry}: {causes}; compare with `check`, find the masses with `identify --inertias`"


def numbered(joints: Sequence[int]) -> str:
    """Return joints by number from 1 on, with what they do.

    Examples
    --------
    >>> numbered([1, 2, 3]), numbered([1]), numbered([0, 2])
    ('joints 2 to 4 carry', 'joint 2 carries', 'joints 1 and 3 carry')
    """
    numbers = [joint + 1 for joint in joints]
    if len(numbers) == 1:
        return f"joint {numbers[0]} carries"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"joints {numbers[0]} to {numbers[-1]} carry"
    return f"joints {', '.join(map(str, numbers[:-1]))} and {numbers[-1]} carry"
