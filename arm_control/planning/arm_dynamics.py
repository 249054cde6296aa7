"""What the next state is, and its derivatives by state and control.

An arm has x = (q, v) and u = tau. One step of dt with ``a = M^-1 (tau - h)`` is

    v' = v + dt a(q, v, tau),    q' = q + dt v'                                 semi-implicit Euler      (1)
    x' = x + dt / 6 (s_1 + 2 s_2 + 2 s_3 + s_4),  s_i = (v, a) at x, x + dt/2 s_1, x + dt/2 s_2, x + dt s_3   (2)

the second that of Runge and Kutta, with derivatives of all stages by the chain rule. Any other function of x and u
has finite differences, and if it is asked for second ones as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel
from arm_control.model.quantities import State

Arm = Callable[[Array, Array], State] | None
"""From x and u, arrays of scalars, to the arm in that state; None where the dynamics are no arm's."""
Integrator = Literal["semi_implicit", "rk4"]
FIRST, SECOND = 6e-6, 1e-4
"""Steps of central differences, relative to the size of an entry where that is above 1: cube and fourth root of the
rounding error."""


class Dynamics(Protocol):
    """The next state, of many at once: rows of states (N, n_x) and controls (N, n_u)."""

    n_x: int
    n_u: int

    @property
    def arm(self) -> Arm:
        """From x and u, arrays of scalars, to the arm in that state; None where there is none."""

    def step(self, xs: Array, us: Array) -> Array:
        """Return the next states, shape (N, n_x)."""

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """Return ``f_x`` (N, n_x, n_x) and ``f_u`` (N, n_x, n_u)."""

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """Return second derivatives by (x, u), shape (N, n_x, n_x + n_u, n_x + n_u); None: they are left out."""


class ArmDynamics:
    """An arm, by (1) or (2).

    Parameters
    ----------
    model : RobotModel
    dt : float
        Step [s].
    integrator : str
        ``semi_implicit`` or ``rk4``.
    """

    def __init__(self, model: RobotModel, dt: float, integrator: Integrator = "semi_implicit") -> None:
        if integrator not in ("semi_implicit", "rk4"):
            raise InputError(f"integrator is '{integrator}', allowed: semi_implicit, rk4")
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"dt is {dt}; it must be above zero")
        self.model, self.dt, self.integrator = model, float(dt), integrator
        self.n_x, self.n_u = 2 * model.nv, model.nv
        self._a = model.batch("a")
        self._derived = model.batch("a_solved", "a_q", "a_v", "a_tau")

    @property
    def tool(self) -> Array:
        """What is at the tip: the model's tool as it was when this was made."""
        return self._a.tool

    def arm(self, x: Array, u: Array) -> State:
        """The arm in a state, of any scalars."""
        n = self.n_u
        tool = np.array(self.tool, dtype=object)
        return State(self.model.tree, {"q": x[:n], "v": x[n:], "tau": u, "tool": tool})

    def step(self, xs: Array, us: Array) -> Array:
        """See :class:`Dynamics`."""
        n, dt = self.n_u, self.dt
        if self.integrator == "semi_implicit":
            v = xs[:, n:] + dt * self._acceleration(xs, us)
            return np.hstack([xs[:, :n] + dt * v, v])
        s = [self._slope(xs, us)]
        for size in (0.5, 0.5, 1.0):
            s.append(self._slope(xs + size * dt * s[-1], us))
        return xs + dt / 6.0 * (s[0] + 2.0 * s[1] + 2.0 * s[2] + s[3])

    def _acceleration(self, xs: Array, us: Array) -> Array:
        n = self.n_u
        return self._a(xs[:, :n], xs[:, n:], us)["a"]

    def _slope(self, xs: Array, us: Array) -> Array:
        return np.hstack([xs[:, self.n_u :], self._acceleration(xs, us)])

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """See :class:`Dynamics`."""
        if self.integrator == "semi_implicit":
            return self._semi_implicit(xs, us)
        n, dt, one = self.n_u, self.dt, np.eye(self.n_x)
        s, by_x, by_u = np.zeros_like(xs), np.zeros((len(xs), *one.shape)), np.zeros((len(xs), self.n_x, n))
        total_x, total_u = by_x.copy(), by_u.copy()
        for size, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            s, A, B = self._slope_derivatives(xs + size * dt * s, us)
            by_x, by_u = A @ (one + size * dt * by_x), A @ (size * dt * by_u) + B
            total_x += weight * by_x
            total_u += weight * by_u
        return one + dt / 6.0 * total_x, dt / 6.0 * total_u

    def _semi_implicit(self, xs: Array, us: Array) -> tuple[Array, Array]:
        n, dt = self.n_u, self.dt
        _, A, B = self._slope_derivatives(xs, us)
        f_x, f_u = np.eye(self.n_x) + dt * A, dt * B
        f_x[:, :n, n:] = 0.0
        f_x[:, :n] += dt * f_x[:, n:]
        f_u[:, :n] = dt * f_u[:, n:]
        return f_x, f_u

    def _slope_derivatives(self, xs: Array, us: Array) -> tuple[Array, Array, Array]:
        """``(v, a)`` and its derivatives."""
        n = self.n_u
        d = self._derived(xs[:, :n], xs[:, n:], us)
        A, B = np.zeros((len(xs), 2 * n, 2 * n)), np.zeros((len(xs), 2 * n, n))
        A[:, :n, n:], A[:, n:, :n], A[:, n:, n:], B[:, n:] = np.eye(n), d["a_q"], d["a_v"], d["a_tau"]
        return np.hstack([xs[:, n:], d["a_solved"]]), A, B

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """None: they are left out (Gauss-Newton)."""
        return None


class UserDynamics:
    """Any function of x and u.

    Parameters
    ----------
    function : callable
        From x (..., n_x) and u (..., n_u) to the next x, for any leading axes.
    n_x, n_u : int
    derivatives : callable, optional
        From xs (N, n_x) and us (N, n_u) to f_x and f_u; finite differences by default.
    second_order : bool
        Second derivatives as well (differential dynamic programming in full).
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
        self._function, self.n_x, self.n_u = function, n_x, n_u
        self._derivatives, self._second_order = derivatives, second_order

    def step(self, xs: Array, us: Array) -> Array:
        """See :class:`Dynamics`."""
        found = np.asarray(self._function(xs, us), dtype=float)
        if found.shape != xs.shape:
            raise InputError(f"the dynamics give shape {found.shape} for states of shape {xs.shape}")
        return found

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """See :class:`Dynamics`."""
        if self._derivatives is not None:
            return self._derivatives(xs, us)
        f_xu = differences(self._joined, np.hstack([xs, us]))
        return f_xu[..., : self.n_x], f_xu[..., self.n_x :]

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """See :class:`Dynamics`."""
        return second_differences(self._joined, np.hstack([xs, us])) if self._second_order else None

    def _joined(self, xus: Array) -> Array:
        return self._function(xus[..., : self.n_x], xus[..., self.n_x :])


def differences(function: Callable[[Array], Array], xs: Array, step: float = FIRST) -> Array:
    """Central differences of a function of rows (N, n), which gives (N, ...): shape (N, ..., n)."""
    h = step * np.maximum(np.abs(xs), 1.0)
    moves = h[:, None, :] * np.eye(xs.shape[1])
    columns = [function(xs + moves[:, i]) - function(xs - moves[:, i]) for i in range(xs.shape[1])]
    return np.stack([c / (2.0 * h[:, i]).reshape(-1, *[1] * (c.ndim - 1)) for i, c in enumerate(columns)], axis=-1)


def second_differences(function: Callable[[Array], Array], xs: Array, step: float = SECOND) -> Array:
    """Second central differences, shape (N, ..., n, n), symmetric."""
    found = differences(lambda x: differences(function, x, step), xs, step)
    return 0.5 * (found + np.swapaxes(found, -1, -2))
