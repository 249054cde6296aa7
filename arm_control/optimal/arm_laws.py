"""The three passes of :mod:`arm_control.optimal.ilqr_solver` for an arm, as loops over rows and any scalar.

A row is a knot. Row N, the last, has a state only: its control is without effect and has no weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.compiler import Function, Law, Loop
from arm_control.maths import Array, clamp, maximum, mirrored
from arm_control.model import TOOL, State, Tree
from arm_control.optimal.costs import Costs
from arm_control.optimal.residuals import Knot
from arm_control.optimal.riccati import ControlBounds, Cost, expand_semi_implicit, step

Inputs = Mapping[str, Array]


@dataclass(frozen=True)
class ArmLaws:
    """The passes of one arm, costs and limits; semi-implicit Euler steps."""

    tree: Tree
    costs: Costs
    has_limits: bool
    has_box: bool
    by_state: bool = False

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
        box = {"u_min": n, "u_max": n} if self.has_box else {}
        carried = {"V_x": 2 * n, "V_xx": n * (2 * n + 1), "sums": 3}
        rows = {"G_x": 2 * n * n, "G_u": n * (n + 1) // 2, "l_x": 2 * n, "l_u": n, "l_xx": n * (2 * n + 1)}
        rows |= {"l_uu": n * (n + 1) // 2, "u": n, **({"held": n} if self.has_box else {})}
        law = self._law("backward", self._backward, {**carried, **rows, "dt": 1, "lamb": 1, **box})
        return Loop(law, "rows", ("dt", "lamb", *box), carried=tuple(carried), goes_on="status", backwards=True)

    def _backward(self, i: Inputs) -> dict[str, Any]:
        n, u = self.tree.n, i["u"]
        cost = Cost(0.0, i["l_x"], i["l_u"], full(i["l_xx"], 2 * n), np.zeros((n, 2 * n)), full(i["l_uu"], n))
        V_xx = full(i["V_xx"], 2 * n)
        G_x, G_u = i["G_x"].reshape(n, 2 * n), full(i["G_u"], n)
        Q = expand_semi_implicit(cost, G_x, G_u, i["dt"][0], i["V_x"], V_xx)
        near = i["lamb"][0] * np.eye(2 * n)
        state = expand_semi_implicit(cost, G_x, G_u, i["dt"][0], i["V_x"], V_xx + near) if self.by_state else None
        limits = ControlBounds(i["u_min"] - u, i["u_max"] - u, i["held"]) if self.has_box else None
        knot = step(Q, i["lamb"][0], limits, state)
        largest: Any = 0.0
        for k_i, u_i in zip(knot.k, u, strict=True):
            largest = maximum(largest, abs(k_i) / (abs(u_i) + 1.0))
        sums = i["sums"] + np.array([knot.dV_1, knot.dV_2, largest])
        held = {"held_new": knot.held} if self.has_box else {}
        rows = {"k": knot.k, "K": knot.K, "status": [knot.status], **held}
        return {"V_x": knot.V_x, "V_xx": upper(knot.V_xx), "sums": sums, **rows}

    def _law(self, name: str, function: Function, inputs: Mapping[str, int]) -> Law:
        structure = [self.costs.structure, self.has_limits, self.has_box, self.by_state]
        return Law(f"iLQR, {name}", function, inputs, structure)


def upper(S: Array) -> Array:
    """Upper triangle of a symmetric matrix, row by row."""
    return S[np.triu_indices(len(S))]


def full(entries: Array, n: int) -> Array:
    """A symmetric matrix from its upper triangle."""
    S = np.zeros((n, n), dtype=entries.dtype)
    S[np.triu_indices(n)] = entries
    return mirrored(S)
