"""Stiffness that a policy changes while the arm moves, with energy that is accounted for.

Of the law's springs K and dampers D the shares s and d sqrt(s) act, so that s alone keeps the damping ratio. At an
error e the springs hold s U, U = e^T K e / 2: energy that a rising share adds, and that swings the arm up where it
rises behind each turn and falls before the next one. A tank with the energy T pays for that,

    (1)  T' = P - s' U,    0 <= T <= T_max        P: what the dampers take
    (2)  |s'| <= r

and a share does not rise while the tank is empty. So all changes of it together never add more than T_max to what
dampers have taken, whatever a policy asks for; with a constant share the law is as it was.

    e        desired - actual joint positions                   [rad or m]
    r        ``stiffness_rate``                                 [1/s]
    T_max    ``stiffness_energy``                               [J]

Source: F. Ferraguti, C. Secchi, C. Fantuzzi, "A tank-based approach to impedance control with variable stiffness",
2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from arm_control.core import Parameters, parameter

BOUNDS = {"stiffness": (0.01, 1.0), "damping": (0.1, 1.0)}
"""Smallest and largest share of each quantity."""


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
    wanted : dict of str to float
        Shares that a policy asks for, by the names of :data:`BOUNDS`.
    stiffness, energy : float
        ``s``, and ``T`` [J].

    Examples
    --------
    >>> tank = StiffnessTank(StiffnessParameters(stiffness_rate=1.0, stiffness_energy=0.0))
    >>> tank.wanted["stiffness"] = 0.5
    >>> for _ in range(1000):
    ...     tank.step(spring=1.0, power=0.0, dt=1e-3)
    >>> round(tank.stiffness, 3), tank.energy
    (0.5, 0.0)
    """

    def __init__(self, parameters: StiffnessParameters) -> None:
        self._parameters = parameters
        self.wanted = dict.fromkeys(BOUNDS, 1.0)
        self.stiffness = self._ratio = 1.0
        self.energy = parameters.stiffness_energy

    @property
    def damping(self) -> float:
        """Share of the dampers that acts, ``d sqrt(s)``."""
        return self._ratio * sqrt(self.stiffness)

    @property
    def rests(self) -> bool:
        """Whether :meth:`step` would change nothing."""
        is_full = self.energy == self._parameters.stiffness_energy
        return is_full and self.stiffness == self.wanted["stiffness"] and self._ratio == self.wanted["damping"]

    def step(self, spring: float, power: float, dt: float) -> None:
        """Move the shares towards what is wanted.

        Parameters
        ----------
        spring, power : float
            U [J], and what all of D would take [W].
        dt : float
            Time since the last step [s].
        """
        most = self._parameters.stiffness_rate * dt
        filled = self.energy + self.damping * power * dt
        change = max(min(self.wanted["stiffness"] - self.stiffness, most), -most)
        if change * spring > filled:
            change = filled / spring
        self.energy = min(max(filled - change * spring, 0.0), self._parameters.stiffness_energy)  # (1)
        self.stiffness += change
        self._ratio += max(min(self.wanted["damping"] - self._ratio, most), -most)
