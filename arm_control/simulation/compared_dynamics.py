"""The same quantities of an arm from several libraries: how far they differ, and how long they take.

Every library reads the same URDF. A quantity is a function of joint positions q, velocities v and torque tau, all in
the model's order, and called from Python; its result is an array of its own.

    M    mass matrix; its upper triangle counts        h    bias C v + g
    J    Jacobian of the tip                           g    gravity torque
    a    forward dynamics, M^-1 (tau - h)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from arm_control.maths import Array
from arm_control.model import RobotModel

QUANTITIES = {
    "M": ("mass matrix", "kg m^2"),
    "h": ("bias C v + g", "N m"),
    "g": ("gravity torque", "N m"),
    "J": ("Jacobian of the tip", "m"),
    "a": ("forward dynamics", "rad/s^2"),
}
"""Name and unit of each quantity; those of a revolute arm."""
OURS = "arm_control"
N_ROUNDS = 21
"""Measurements of time, of all libraries in turns; their median counts."""
TOLERANCE = 1e-6
"""Largest difference that counts as agreement, as a share of the largest entry."""

ROUNDING = 1e-12
"""Difference that always counts as agreement: of a quantity that is zero."""

Dynamics = Mapping[str, Callable[[Array, Array, Array], Array]]
"""Functions of q, v and tau, by the names of :data:`QUANTITIES`."""


@dataclass(frozen=True)
class ComparedQuantity:
    """One quantity.

    Attributes
    ----------
    name : str
        One of :data:`QUANTITIES`.
    largest : float
        Largest entry, by this package.
    differences : dict of str to float
        Largest difference of an entry from this package's, by library.
    durations : dict of str to float
        Median time of a call [s], by library; this package's among them.
    """

    name: str
    largest: float
    differences: dict[str, float]
    durations: dict[str, float]

    @property
    def agrees(self) -> bool:
        """Whether all libraries compute the same."""
        return all(difference <= TOLERANCE * self.largest + ROUNDING for difference in self.differences.values())


def random_states(model: RobotModel, n: int, seed: int) -> list[tuple[Array, Array, Array]]:
    """Return positions within the limits, velocities and torque, shape (nv,) each.

    Parameters
    ----------
    model : RobotModel
        The arm.
    n : int
        Number of states.
    seed : int
        Seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    v_max, tau_max = (np.where(np.isfinite(limit), limit, 1.0) for limit in (model.v_max, model.tau_max))
    return [(rng.uniform(low, high), rng.uniform(-v_max, v_max), rng.uniform(-tau_max, tau_max)) for _ in range(n)]


def own_dynamics(model: RobotModel) -> Dynamics:
    """Return the functions of this package."""
    return {
        "M": lambda q, v, tau: model.mass_matrix(q),
        "h": lambda q, v, tau: model.bias(q, v),
        "g": lambda q, v, tau: model.gravity(q),
        "J": lambda q, v, tau: model.jacobian(q),
        "a": model.forward_dynamics,
    }


def compare_dynamics(
    model: RobotModel, libraries: Mapping[str, Dynamics], n: int = 100, seed: int = 0
) -> list[ComparedQuantity]:
    """Compare libraries at random states.

    Parameters
    ----------
    model : RobotModel
        The arm.
    libraries : mapping of str to Dynamics
        The other libraries, by name.
    n : int
        Number of states.
    seed : int
        Seed of the random numbers.
    """
    states, ours = random_states(model, n, seed), own_dynamics(model)
    rows = []
    for name in QUANTITIES:
        expected = _values(name, ours, states)
        differences = {
            library: float(np.abs(_values(name, functions, states) - expected).max())
            for library, functions in libraries.items()
        }
        contenders = {OURS: ours[name], **{library: functions[name] for library, functions in libraries.items()}}
        rows.append(ComparedQuantity(name, float(np.abs(expected).max()), differences, _durations(contenders, states)))
    return rows


def _values(name: str, functions: Dynamics, states: list[tuple[Array, Array, Array]]) -> Array:
    """One quantity in every state, shape (n, ...)."""
    values = np.array([functions[name](*state) for state in states])
    return np.triu(values) if name == "M" else values


def _durations(
    contenders: Mapping[str, Callable[[Array, Array, Array], Array]], states: list[tuple[Array, Array, Array]]
) -> dict[str, float]:
    """Median time of a call [s]; the contenders take turns."""
    rounds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(N_ROUNDS):
        for name, function in contenders.items():
            begin = perf_counter()
            for q, v, tau in states:
                function(q, v, tau)
            rounds[name].append((perf_counter() - begin) / len(states))
    return {name: float(np.median(durations)) for name, durations in rounds.items()}
