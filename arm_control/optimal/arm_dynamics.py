"""Discrete dynamics ``x_{k+1} = f(x_k, u_k)`` of an arm, and their derivatives by state and control.

An arm has x = (q, v) [rad, rad/s; m, m/s if prismatic] and u = tau [N m; N]. A step of dt [s] with the acceleration
``a = M^-1 (tau - h)`` [rad/s^2; m/s^2] is one of semi-implicit Euler,

    (1)  v' = v + dt a(q, v, tau),    q' = q + dt v'

    (2)  f_x = 1 + dt [[dt a_q, 1 + dt a_v], [a_q, a_v]],    f_u = dt [[dt a_tau], [a_tau]]

Other dynamics are functions of a user, with derivatives by finite differences where none are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel, State

Arm = Callable[[Array, Array], State] | None
"""From x and u, arrays of scalars, to the arm in that state; None where the dynamics are not those of an arm."""


FIRST, SECOND = 6e-6, 1e-4
"""Steps of central differences of first and second order: cube and fourth root of the rounding error."""


class ArmDynamics:
    """Dynamics of an arm, equations (1) and (2).

    Parameters
    ----------
    dt : float
        Step [s].
    """

    def __init__(self, model: RobotModel, dt: float) -> None:
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"dt is {dt}; it must be above zero")
        self.model = model
        self.dt = float(dt)
        self.n_x = 2 * model.nv
        self.n_u = model.nv
        self._acceleration = model.batch("a")
        self._derivatives = model.batch("a_solved", "a_q", "a_v", "a_tau")

    @property
    def tool(self) -> Array:
        """Numbers of the tool at the tip when these dynamics were made."""
        return self._acceleration.tool

    def arm(self, x: Array, u: Array) -> State:
        """The arm in a state, over any scalar.

        Parameters
        ----------
        x : array, shape (n_x,)
            State.
        u : array, shape (n_u,)
            Torque [N m or N].
        """
        n = self.n_u
        tool = np.array(self.tool, dtype=object)
        return State(self.model.tree, {"q": x[:n], "v": x[n:], "tau": u, "tool": tool})

    def step(self, xs: Array, us: Array) -> Array:
        """Return the next states, shape (N, n_x)."""
        n, dt = self.n_u, self.dt
        v = xs[:, n:] + dt * self.acceleration(xs, us)
        return np.hstack([xs[:, :n] + dt * v, v])  # (1)

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """Return ``f_x`` (N, n_x, n_x) and ``f_u`` (N, n_x, n_u)."""
        n, dt = self.n_u, self.dt
        _, A, B = self.slope_derivatives(xs, us)
        f_x, f_u = np.eye(self.n_x) + dt * A, dt * B
        f_x[:, :n, n:] = 0.0
        f_x[:, :n] += dt * f_x[:, n:]
        f_u[:, :n] = dt * f_u[:, n:]  # (2)
        return f_x, f_u

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """None: they are left out (Gauss-Newton)."""
        return None

    def acceleration(self, xs: Array, us: Array) -> Array:
        """Accelerations a, shape (N, n_u) [rad/s^2 or m/s^2]; arguments of :meth:`step`."""
        n = self.n_u
        return self._acceleration(xs[:, :n], xs[:, n:], us)["a"]

    def slope_derivatives(self, xs: Array, us: Array) -> tuple[Array, Array, Array]:
        """``(v, a)``, shape (N, n_x), and its derivatives by x and u; arguments of :meth:`step`."""
        n = self.n_u
        d = self._derivatives(xs[:, :n], xs[:, n:], us)
        A, B = np.zeros((len(xs), 2 * n, 2 * n)), np.zeros((len(xs), 2 * n, n))
        A[:, :n, n:] = np.eye(n)
        A[:, n:, :n] = d["a_q"]
        A[:, n:, n:] = d["a_v"]
        B[:, n:] = d["a_tau"]
        return np.hstack([xs[:, n:], d["a_solved"]]), A, B


class UserDynamics:
    """Dynamics given by any function.

    Parameters
    ----------
    function : callable
        From x (..., n_x) and u (..., n_u) to the next x, for any leading axes.
    derivatives : callable, optional
        From xs (N, n_x) and us (N, n_u) to f_x and f_u; finite differences by default.
    second_order : bool
        Whether second derivatives are used as well (differential dynamic programming in full).
    """

    arm: Arm = None

    def __init__(
        self,
        function: Callable[[Array, Array], Array],
        n_x: int,
        n_u: int,
        derivatives: Callable[[Array, Array], tuple[Array, Array]] | None = None,
        second_order: bool = False,
    ) -> None:
        self.n_x = n_x
        self.n_u = n_u
        self._function = function
        self._derivatives = derivatives
        self._second_order = second_order

    def step(self, xs: Array, us: Array) -> Array:
        """Return the next states, shape (N, n_x)."""
        next_xs = np.asarray(self._function(xs, us), dtype=float)
        if next_xs.shape != xs.shape:
            raise InputError(f"the dynamics give shape {next_xs.shape} for states of shape {xs.shape}")
        return next_xs

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """Return ``f_x`` (N, n_x, n_x) and ``f_u`` (N, n_x, n_u)."""
        if self._derivatives is not None:
            return self._derivatives(xs, us)
        f_xu = differences(self._joined, np.hstack([xs, us]))
        return f_xu[..., : self.n_x], f_xu[..., self.n_x :]

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """Return second derivatives by (x, u), shape (N, n_x, n_x + n_u, n_x + n_u); None: they are left out."""
        return second_differences(self._joined, np.hstack([xs, us])) if self._second_order else None

    def _joined(self, xus: Array) -> Array:
        return self._function(xus[..., : self.n_x], xus[..., self.n_x :])


def differences(function: Callable[[Array], Array], xs: Array, step: float = FIRST) -> Array:
    """First derivatives, shape (N, ..., n), of a function from rows (N, n) to (N, ...), by central differences.

    ``step`` is half the distance of their two points, relative to the size of an entry where that is above 1.
    """
    h = step * np.maximum(np.abs(xs), 1.0)
    moves = h[:, None, :] * np.eye(xs.shape[1])
    columns = [function(xs + moves[:, i]) - function(xs - moves[:, i]) for i in range(xs.shape[1])]
    return np.stack([c / (2.0 * h[:, i]).reshape(-1, *[1] * (c.ndim - 1)) for i, c in enumerate(columns)], axis=-1)


def second_differences(function: Callable[[Array], Array], xs: Array, step: float = SECOND) -> Array:
    """Second derivatives by central differences, shape (N, ..., n, n), symmetric; parameters of :func:`differences`."""
    second = differences(lambda x: differences(function, x, step), xs, step)
    return 0.5 * (second + np.swapaxes(second, -1, -2))


Dynamics: TypeAlias = ArmDynamics | UserDynamics
"""Discrete dynamics for many knots at once: rows of states (N, n_x) and controls (N, n_u)."""
