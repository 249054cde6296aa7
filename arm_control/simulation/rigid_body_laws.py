"""One step of a rigid-body simulation, over any scalar: four schemes, damping, end stops, friction.

    (1)  M(q) a = tau - h(q, v) - b v - s(q, v)                                        equation of motion   [N m]
    (2)  s = K d + D v  where d != 0, else 0,   d = max(q - q_max, 0) - max(q_min - q, 0)      end stops    [N m]

A step dt [s] from q, v to q', v' is one of

    (3)  euler          v' = v + dt a,     q' = q + dt v
    (4)  lab            v' = v + dt a,     q' = q + dt v + dt^2 a / 2
    (5)  semi_implicit  v' = v + dt a*,    q' = q + dt v',    (M + dt B) a* = tau - h - b v - s
    (6)  rk4            the classical method of Runge and Kutta of order four on (q, v)

B = diag(b) makes the damping of (5) act with v' instead of v. It is forward dynamics with dt b as further inertia of
the rotors, and stable for any b.

Coulomb friction c [N m], with (5) only, is the torque f within its limits that stops a joint, or opposes its motion,

    (7)  v' = v + dt a* + dt (M + dt B)^-1 f,    f_i in [-c_i, c_i],    f_i = -c_i sign(v'_i) where v'_i != 0

solved by projected Gauss-Seidel sweeps from the friction of the step before.

K, D     end stops: stiffness [N m/rad] and damping [N m s/rad]        b    damping [N m s/rad]

Sources: M. Focchi, O. Villarreal, "Simulation of a 4-DoF Serial Manipulator", for (4), which that text calls improved
Euler; E. Hairer, S. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", 1993, section II.1, for (6);
D. Baraff, "Fast contact force computation for nonpenetrating rigid bodies", 1994, for the form of (7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arm_control.compiler import Law, Loop
from arm_control.maths import Array, clamp, inverse, maximum, select
from arm_control.model import State, Tree

SCHEMES = ("euler", "lab", "semi_implicit", "rk4")
"""Names of (3) to (6)."""
STABILITY = {"euler": 2.0, "lab": 2.0, "semi_implicit": 2.0, "rk4": 2.785}
"""Bound of dt lambda_max(M^-1 B) for explicit damping B: from there on a decaying motion grows."""
SWEEPS = 30
"""Sweeps of (7) in a step."""

Inputs = Mapping[str, Array]


@dataclass(frozen=True)
class StepLaw:
    """The text of one step.

    Attributes
    ----------
    has_stops, has_friction : bool
        Whether there are end stops, and Coulomb friction.
    """

    tree: Tree
    scheme: str
    has_stops: bool = False
    has_friction: bool = False

    def one(self) -> Law:
        """One step: from x, shape (2n,), and f, shape (n,), to those after it."""
        n = self.tree.n
        return self._law("step", {"x": 2 * n, **self._friction(), "tau": n, **self._constants()})

    def many(self) -> Loop:
        """Steps one after the other, a row of torque for each; ``state`` is x after each of them."""
        carried = {"x": 2 * self.tree.n, **self._friction()}
        law = self._law("run", {**carried, "tau": self.tree.n, **self._constants()})
        return Loop(law, "rows", tuple(self._constants()), tuple(carried))

    def _law(self, name: str, inputs: Mapping[str, int]) -> Law:
        function = self._step if name == "step" else self._row
        return Law(f"rigid body, {name}", function, inputs, [self.scheme, self.has_stops, self.has_friction])

    def _friction(self) -> dict[str, int]:
        return {"f": self.tree.n} if self.has_friction else {}

    def _constants(self) -> dict[str, int]:
        n = self.tree.n
        stops = dict.fromkeys(("q_min", "q_max", "K", "D"), n) if self.has_stops else {}
        coulomb = {"c": n} if self.has_friction else {}
        return {"dt": 1, "load": n, "tau_max": n, "b": n, **stops, **coulomb}

    def _row(self, i: Inputs) -> dict[str, Any]:
        result = self._step(i)
        return {**result, "state": result["x"]}

    def _step(self, i: Inputs) -> dict[str, Any]:
        n, x, dt = self.tree.n, i["x"], i["dt"][0]
        q, v = x[:n], x[n:]
        tau = clamp(i["tau"], -i["tau_max"], i["tau_max"]) + i["load"]
        if self.scheme == "semi_implicit":
            return self._semi_implicit(i, q, v, tau)

        def slope(y: Array) -> Array:
            return np.concatenate([y[n:], self._acceleration(i, y[:n], y[n:], tau)])

        if self.scheme == "rk4":
            return {"x": runge_kutta(slope, x, dt)}  # (6)
        a = slope(x)[n:]
        q_new = q + dt * v if self.scheme == "euler" else q + dt * v + 0.5 * dt * dt * a
        return {"x": np.concatenate([q_new, v + dt * a])}  # (3), (4)

    def _semi_implicit(self, i: Inputs, q: Array, v: Array, tau: Array) -> dict[str, Any]:
        dt, friction = i["dt"][0], {}
        damped = replace(self.tree, armature=self.tree.armature + dt * i["b"])
        v_new = v + dt * self._acceleration(i, q, v, tau, damped)  # (5)
        if self.has_friction:
            A = dt * inverse(State(damped, {"q": q}).M)
            friction["f"] = bounded_torque(A, v_new, i["f"], i["c"])
            v_new = v_new + A @ friction["f"]  # (7)
        return {"x": np.concatenate([q + dt * v_new, v_new]), **friction}

    def _acceleration(self, i: Inputs, q: Array, v: Array, tau: Array, tree: Tree | None = None) -> Array:
        tau = tau - i["b"] * v - (self._stops(i, q, v) if self.has_stops else 0.0)
        return State(tree or self.tree, {"q": q, "v": v, "tau": tau}).a  # (1)

    def _stops(self, i: Inputs, q: Array, v: Array) -> Array:
        d = maximum(q - i["q_max"], 0.0) - maximum(i["q_min"] - q, 0.0)
        return select(d * d, i["K"] * d + i["D"] * v, 0.0)  # (2)


def runge_kutta(slope: Callable[[Array], Array], x: Array, dt: Any) -> Array:
    """Equation (6): the state after a step.

    Parameters
    ----------
    slope : callable
        From a state, shape (k,), to its derivative by time.
    x : array, shape (k,)
        State.
    dt : scalar
        Step [s].
    """
    k_1 = slope(x)
    k_2 = slope(x + 0.5 * dt * k_1)
    k_3 = slope(x + 0.5 * dt * k_2)
    k_4 = slope(x + dt * k_3)
    return x + dt / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)


def bounded_torque(A: Array, v: Array, f: Array, c: Array) -> Array:
    """Solve (7) for the friction f, shape (n,) [N m].

    Parameters
    ----------
    A : array, shape (n, n)
        Change of speed per friction, ``dt M^-1`` [rad/s per N m].
    v : array, shape (n,)
        Speeds without friction [rad/s].
    f : array, shape (n,)
        First guess [N m].
    c : array, shape (n,)
        Limits of the friction [N m].
    """
    f = clamp(f, -c, c)
    for _ in range(SWEEPS):
        for k in range(len(f)):
            speed = v[k] + A[k] @ f
            f = f.copy()
            f[k] = clamp(f[k] - speed / A[k, k], -c[k], c[k])
    return f
