"""The three passes of the solver for an arm, as loops over rows and any scalar, each one compiled call over the knots.

A row is a knot. Row N, the last, has a state only: its control is without effect and has no weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.compiler import Function, Law, Loop
from arm_control.maths import Array, clamp, maximum, mirrored
from arm_control.model import TOOL, RobotModel, State, Tree, tool_numbers
from arm_control.optimal.arm_dynamics import ArmDynamics
from arm_control.optimal.costs import Costs, Knot
from arm_control.optimal.riccati import NOT_SETTLED, Backward, ControlBounds, Cost, expand_semi_implicit, step

Inputs = Mapping[str, Array]


@dataclass(frozen=True)
class ArmLaws:
    """The passes of one arm, costs and limits; semi-implicit Euler steps.

    With a drift ``c`` (2 n) the next state of a knot is off the plan by it.
    """

    tree: Tree
    costs: Costs
    has_limits: bool
    has_drift: bool = False

    def rollout(self) -> Loop:
        """Equations (1) and (5): the states that changed controls lead to, and their cost."""
        n = self.tree.n
        limits = {"u_min": n, "u_max": n} if self.has_limits else {}
        rows = {"x_old": 2 * n, "u_old": n, "k": n, "K": 2 * n * n, "weights": len(self.costs.terms)}
        shared = {"alpha": 1, "dt": 1, "tool": TOOL, "numbers": len(self.costs.numbers), **limits}
        law = self._law("rollout", self._roll, {"x": 2 * n, "total": 1, **rows, **shared})
        return Loop(law, "rows", tuple(shared), carried=("x", "total"))

    def _roll(self, i: Inputs) -> dict[str, Any]:
        n, x, dt = self.tree.n, i["x"], i["dt"][0]
        u = i["u_old"] + i["alpha"][0] * i["k"] + i["K"].reshape(n, 2 * n) @ (x - i["x_old"])  # (5)
        if self.has_limits:
            u = clamp(u, i["u_min"], i["u_max"])
        arm = State(self.tree, {"q": x[:n], "v": x[n:], "tau": u, "tool": i["tool"]})
        v = x[n:] + dt * arm.a  # (1)
        cost = self.costs.value(Knot(x, u, arm), i["weights"], i["numbers"])
        return {"x": np.concatenate([x[:n] + dt * v, v]), "total": [i["total"][0] + cost], "x_new": x, "u_new": u}

    def expansion(self) -> Loop:
        """Derivatives of dynamics and cost."""
        n = self.tree.n
        rows = {"x": 2 * n, "u": n, "weights": len(self.costs.terms)}
        shared = {"dt": 1, "tool": TOOL, "numbers": len(self.costs.numbers)}
        return Loop(self._law("expansion", self._expand, {**rows, **shared}), "rows", tuple(shared))

    def _expand(self, i: Inputs) -> dict[str, Any]:
        n, x, dt = self.tree.n, i["x"], i["dt"][0]
        arm = State(self.tree, {"q": x[:n], "v": x[n:], "tau": i["u"], "tool": i["tool"]})
        G_x = np.hstack([dt * arm.a_q, np.eye(n) + dt * arm.a_v])
        cost = self.costs.expand(Knot(x, i["u"], arm), i["weights"], i["numbers"])
        return {
            "G_x": G_x,
            "G_u": upper(dt * arm.a_tau),
            "l_x": cost.l_x,
            "l_u": cost.l_u,
            "l_xx": upper(cost.l_xx),
            "l_uu": upper(cost.l_uu),
        }

    def backward(self) -> Loop:
        """Equations (2) to (4); ``sums`` are those of dV_1 and dV_2 and of the largest relative k."""
        n = self.tree.n
        shared = {"dt": 1, "lamb": 1} | ({"u_min": n, "u_max": n} if self.has_limits else {})
        shared |= {"c": 2 * n} if self.has_drift else {}
        carried = {"V_x": 2 * n, "V_xx": n * (2 * n + 1), "sums": 3}
        rows = {"G_x": 2 * n * n, "G_u": n * (n + 1) // 2, "l_x": 2 * n, "l_u": n, "l_xx": n * (2 * n + 1)}
        rows |= {"l_uu": n * (n + 1) // 2, "u": n, **({"held": n} if self.has_limits else {})}
        law = self._law("backward", self._backward, {**carried, **rows, **shared})
        return Loop(law, "rows", tuple(shared), carried=tuple(carried), goes_on="status", backwards=True)

    def _backward(self, i: Inputs) -> dict[str, Any]:
        n, u = self.tree.n, i["u"]
        cost = Cost(i["l_x"], i["l_u"], full(i["l_xx"], 2 * n), np.zeros((n, 2 * n)), full(i["l_uu"], n))
        V_xx = full(i["V_xx"], 2 * n)
        G_x, G_u = i["G_x"].reshape(n, 2 * n), full(i["G_u"], n)
        V_x = i["V_x"] + V_xx @ i["c"] if self.has_drift else i["V_x"]
        Q = expand_semi_implicit(cost, G_x, G_u, i["dt"][0], V_x, V_xx)
        limits = ControlBounds(i["u_min"] - u, i["u_max"] - u, i["held"]) if self.has_limits else None
        knot = step(Q, i["lamb"][0], limits)
        largest: Any = 0.0
        for k_i, u_i in zip(knot.k, u, strict=True):
            largest = maximum(largest, abs(k_i) / (abs(u_i) + 1.0))
        sums = i["sums"] + np.array([knot.dV_1, knot.dV_2, largest])
        held = {"held_new": knot.held} if self.has_limits else {}
        rows = {"k": knot.k, "K": knot.K, "status": [knot.status], **held}
        return {"V_x": knot.V_x, "V_xx": upper(knot.V_xx), "sums": sums, **rows}

    def _law(self, name: str, function: Function, inputs: Mapping[str, int]) -> Law:
        structure = [self.costs.structure, self.has_limits, self.has_drift]
        return Law(f"iLQR, {name}", function, inputs, structure)


def upper(S: Array) -> Array:
    """Upper triangle of a symmetric matrix, row by row."""
    return S[np.triu_indices(len(S))]


def full(entries: Array, n: int) -> Array:
    """A symmetric matrix from its upper triangle."""
    S = np.zeros((n, n), dtype=entries.dtype)
    S[np.triu_indices(n)] = entries
    return mirrored(S)


TRIES = 4
"""How often a knot whose controls do not settle is tried again, compiled, before it is solved on floats."""


class CompiledPasses:
    """Compiled passes of an arm, semi-implicit Euler; limits (n_u,) are infinite for none."""

    def __init__(self, dynamics: ArmDynamics, costs: Costs, n: int, u_min: Array, u_max: Array) -> None:
        laws = ArmLaws(dynamics.model.tree, costs, bool(np.isfinite(u_min).any() or np.isfinite(u_max).any()))
        self._n, self._n_x, self._n_u = n, dynamics.n_x, dynamics.n_u
        self._loops = {"rollout": laws.rollout(), "expansion": laws.expansion(), "backward": laws.backward()}
        model = dynamics.model
        self._kernels = {name: model.compile_law(loop, loop_samples(model, loop)) for name, loop in self._loops.items()}
        self.is_compiled = all(kernel.is_compiled for kernel in self._kernels.values())
        width = self._kernels["expansion"].width
        self._rows = n + 1 + -(n + 1) % width
        self._arrays = self._memory(dynamics, costs, u_min, u_max)
        self._side = 0
        self._calls = [self._bound(side) for side in (0, 1)]

    def _memory(self, dynamics: ArmDynamics, costs: Costs, u_min: Array, u_max: Array) -> dict[str, Array]:
        arrays: dict[str, Array] = {"weights": np.zeros((self._rows, len(costs.terms)))}
        arrays["weights"][: self._n + 1] = costs.weights(self._n)
        shared = {"dt": np.array([dynamics.dt]), "tool": dynamics.tool, "numbers": costs.numbers}
        arrays |= shared | {"u_min": u_min.copy(), "u_max": u_max.copy(), "alpha": np.zeros(1), "lamb": np.zeros(1)}
        sizes = {"k": self._n_u, "K": self._n_u * self._n_x, "held": self._n_u, "status": 1}
        sizes |= self._kernels["expansion"].outputs
        for name, size in sizes.items():
            arrays[name] = np.zeros((self._rows, size))
        sides = {f"{name}{side}": size for name, size in (("x", self._n_x), ("u", self._n_u)) for side in (0, 1)}
        for name, size in sides.items():
            arrays[name] = np.zeros((self._rows, size))
        carried = {**self._loops["rollout"].law.inputs, **self._loops["backward"].law.inputs}
        arrays |= {name: np.zeros(carried[name]) for name in ("total", "V_x", "V_xx", "sums")}
        return {**arrays, "x": np.zeros(self._n_x)}

    def _bound(self, side: int) -> dict[str, Callable[[], float]]:
        """The functions where the present plan is on this side, and what is tried on the other."""
        a, other = self._arrays, 1 - side
        x, u, x_new, u_new = a[f"x{side}"], a[f"u{side}"], a[f"x{other}"], a[f"u{other}"]
        roll = {**a, "x_old": x, "u_old": u, "x_new": x_new, "u_new": u_new}
        return {
            "rollout": self._kernels["rollout"].bind(roll, self._n + 1),
            "expansion": self._kernels["expansion"].bind({**a, "x": x, "u": u}, self._rows),
            "backward": self._bind_backward(side, self._n),
        }

    def _bind_backward(self, side: int, n: int) -> Callable[[], float]:
        a = self._arrays
        return self._kernels["backward"].bind({**a, "u": a[f"u{side}"], "held_new": a["held"]}, n)

    @property
    def _now(self) -> str:
        return str(self._side)

    @property
    def xs(self) -> Array:
        """States of the present plan, shape (N + 1, n_x)."""
        return self._arrays["x" + self._now][: self._n + 1]

    @property
    def us(self) -> Array:
        """Controls of the present plan, shape (N, n_u)."""
        return self._arrays["u" + self._now][: self._n]

    @property
    def k(self) -> Array:
        """Feed-forward changes, shape (N, n_u)."""
        return self._arrays["k"][: self._n]

    @property
    def K(self) -> Array:
        """Feedback, shape (N, n_u, n_x)."""
        return self._arrays["K"][: self._n].reshape(self._n, self._n_u, self._n_x)

    @property
    def held(self) -> Array:
        """Controls at a limit in the last backward pass, shape (N, n_u): -1, 0 or 1."""
        return self._arrays["held"][: self._n]

    def start(self, x0: Array, us: Array, plan: tuple[Array, Array] | None) -> float:
        """Begin with controls (N, n_u) from a state (n_x,); return the cost.

        A plan, states (N + 1, n_x) and gains (N, n_u, n_x), is the feedback in this first rollout.
        """
        self._arrays["held"][:] = 0.0
        self.us[:], self.xs[:], self.k[:], self.K[:] = us, x0, 0.0, 0.0
        if plan is not None:
            self.xs[:], self.K[:] = plan
        cost = self.rollout(0.0, x0)
        self.accept()
        return cost

    def expand(self) -> None:
        """Compute derivatives of dynamics and cost about the present plan."""
        self._calls[self._side]["expansion"]()

    def rollout(self, alpha: float, x0: Array | None = None) -> float:
        """Try a step of length alpha, equation (5); return the cost."""
        a = self._arrays
        a["x"][:] = self.xs[0] if x0 is None else x0
        a["alpha"][0], a["total"][0] = alpha, 0.0
        self._calls[self._side]["rollout"]()
        return float(a["total"][0])

    def accept(self) -> None:
        """Make the tried plan the present one."""
        self._side = 1 - self._side

    def backward(self, lambda_: float) -> Backward:
        """Compute k and K, equations (2) to (4)."""
        a, rest, run = self._arrays, self._n, self._calls[self._side]["backward"]
        a["V_x"][:], a["V_xx"][:], a["lamb"][0], a["sums"][:] = a["l_x"][rest], a["l_xx"][rest], lambda_, 0.0
        tries = TRIES
        while rest:
            done = int(run())
            rest, tries = rest - done, TRIES if done else tries - 1
            if rest and tries and a["status"][rest - 1, 0] == NOT_SETTLED:  # go on with the set it got to
                run = self._bind_backward(self._side, rest)
            elif rest:
                rest -= 1
                if a["status"][rest, 0] != NOT_SETTLED or not self._solve_knot(rest):
                    a["held"][rest] = 0.0
                    return Backward(0.0, 0.0, 0.0, rest)
                run, tries = self._bind_backward(self._side, rest), TRIES
        dV_1, dV_2, gradient = a["sums"].tolist()
        return Backward(dV_1, dV_2, gradient / self._n, -1)

    def _solve_knot(self, row: int) -> bool:
        """One step on floats, where the box is solved to the end; whether that could be done."""
        arrays = {**self._arrays, "u": self._arrays["u" + self._now]}
        held, loop = arrays["held"], self._loops["backward"]
        held[row] = np.nan_to_num(np.clip(held[row], -1.0, 1.0))
        outputs = loop.law.function({name: loop.case(arrays, name, row) for name in loop.law.inputs})
        if not outputs["status"][0] > 0.0:
            return False
        for name, values in outputs.items():
            target = arrays[name.removesuffix("_new")]
            (target if name in loop.whole else target[row])[:] = np.ravel(values)
        return True


def loop_samples(model: RobotModel, loop: Loop) -> Mapping[str, Array]:
    """Two rows to compare a kernel on: symmetric matrices positive definite, the tool a real one.

    Matrices have the names of :class:`ArmLaws`.
    """
    rng = np.random.default_rng(0)
    samples: dict[str, Array] = {}
    for name, size in loop.law.inputs.items():
        samples[name] = rng.uniform(-0.5, 0.5, loop.shape(name, size, 2))
        if name in ("V_xx", "l_xx", "l_uu", "G_u"):
            n = int(np.sqrt(2 * size))
            A = rng.uniform(-1.0, 1.0, (n, n))
            samples[name][:] = (A @ A.T / n + np.eye(n))[np.triu_indices(n)]
        if name in ("held", "lamb"):
            samples[name][:] = 0.0
    fixed = {"tool": tool_numbers(model.tree)} | {
        key: np.full(model.nv, s) for key, s in (("u_min", -9.0), ("u_max", 9.0))
    }
    return samples | {name: values for name, values in fixed.items() if name in samples}
