"""Stiffness that a policy changes while the arm moves, with energy that is accounted for.

Of the law's springs and dampers the shares s and d sqrt(s) act, of all joints or of each, so that s alone keeps the
damping ratio. The springs hold an energy U(s), that of the present error: energy that a rising share adds, and that
swings the arm up where it rises behind each turn and falls before the next one. A tank with the energy T pays for that,

    (1)  T' = P - (dU/ds)^T s',    0 <= T <= T_max        P: what the dampers take
    (2)  |s'| <= r

and shares that add energy do not change while the tank is empty. So all changes together never add more than T_max to
what dampers have taken, whatever a policy asks for; with constant shares the law is as it was.

    U        springs' energy at the present error               [J]
    r        ``stiffness_rate``                                 [1/s]
    T_max    ``stiffness_energy``                               [J]

Source: F. Ferraguti, C. Secchi, C. Fantuzzi, "A tank-based approach to impedance control with variable stiffness",
2013.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arm_control.core import Parameters, parameter
from arm_control.maths import Array

BOUNDS = {"stiffness": (0.01, 1.0), "damping": (0.1, 1.0)}
"""Smallest and largest share of each quantity."""
ATTEMPTS, ROUNDING = (1.0, 0.5, 0.5, 0.0), 1e-9
"""Shares of the tank that smaller changes are to cost, one attempt after the other, since U bends; excess that is
rounding, as a share."""


@dataclass(frozen=True)
class StiffnessParameters(Parameters):
    """How the stiffness follows a policy."""

    stiffness_rate: float = parameter(
        2.0, "largest change of the shares follow/stiffness and follow/damping", unit="1/s", lower=0.01, upper=100.0
    )
    stiffness_energy: float = parameter(
        0.1, "energy that a rising stiffness may add to the arm, beyond what damping has taken", unit="J", lower=0.0
    )


class StiffnessTank:
    """The shares of stiffness and damping that act, and the tank that pays for them.

    Attributes
    ----------
    stiffness : float or ndarray, shape (nv,)
        ``s``; a number as long as all joints have the same.
    energy : float
        ``T`` [J].
    rests : bool
        Whether :meth:`step` would change nothing.

    Examples
    --------
    >>> tank = StiffnessTank(StiffnessParameters(stiffness_rate=1.0, stiffness_energy=0.0))
    >>> tank.ask("stiffness", 0.5)
    >>> for _ in range(1000):
    ...     tank.step(energy=lambda s: s * 1.0, power=0.0, dt=1e-3)
    >>> round(float(tank.stiffness), 3), float(tank.energy)
    (0.5, 0.0)
    """

    def __init__(self, parameters: StiffnessParameters) -> None:
        self._parameters = parameters
        self._wanted: dict[str, float | Array] = dict.fromkeys(BOUNDS, 1.0)
        self.stiffness: float | Array = 1.0
        self._ratio: float | Array = 1.0
        self.energy, self.rests = parameters.stiffness_energy, True

    @property
    def damping(self) -> float | Array:
        """Share of the dampers that acts, ``d sqrt(s)``."""
        damping: float | Array = self._ratio * np.sqrt(self.stiffness)
        return damping

    def ask(self, quantity: str, share: float | Array) -> None:
        """Want a share of a quantity, by its name in :data:`BOUNDS`, from now on."""
        self._wanted[quantity], self.rests = share, False

    def step(self, energy: Callable[[float | Array], float], power: float, dt: float) -> None:
        """Move the shares towards what is wanted.

        Parameters
        ----------
        energy : callable
            U, from s [J].
        power : float
            What the dampers take now [W].
        dt : float
            Time since the last step [s].
        """
        most, full = self._parameters.stiffness_rate * dt, self._parameters.stiffness_energy
        filled, held = self.energy + power * dt, energy(self.stiffness)
        change = np.clip(self._wanted["stiffness"] - self.stiffness, -most, most)
        added = energy(self.stiffness + change) - held
        for share in ATTEMPTS:
            if added <= filled * (1.0 + ROUNDING):
                break
            change = change * (share * filled / added)  # of all joints alike
            added = energy(self.stiffness + change) - held
        self.energy = min(max(filled - added, 0.0), full)  # (1)
        self.stiffness = self.stiffness + change
        self._ratio = self._ratio + np.clip(self._wanted["damping"] - self._ratio, -most, most)
        states = (self.stiffness, self._wanted["stiffness"]), (self._ratio, self._wanted["damping"])
        self.rests = self.energy == full and all(np.all(np.equal(*pair)) for pair in states)
