"""The local linear-quadratic regulator (LQR): an arm and its cost as they are here, taken for the same everywhere.

It is what iterative LQR (:mod:`arm_control.optimal.ilqr_solver`) improves on. With the arm's state x_0 now, any
control u_0, and ``dx = x - x_0``, ``du = u - u_0``:

    (1)  dx_{k+1} = c + A dx_k + B du_k            A = f_x, B = f_u, c = f - x_0, all at (x_0, u_0)
    (2)  l_k = l_x dx + l_u du + (dx^T l_xx dx + du^T l_uu du) / 2     likewise, with the weights of knot k
    (3)  y = V_x + V_xx c,    Q_x = l_x + A^T y,    Q_u = l_u + B^T y
         Q_xx = l_xx + A^T V_xx A,    Q_ux = B^T V_xx A,    Q_uu = l_uu + B^T V_xx B
    (4)  k = -Q_uu^-1 Q_u,    K = -Q_uu^-1 Q_ux,    V_x = Q_x + Q_ux^T k,    V_xx = Q_xx + Q_ux^T K
    (5)  u_k = u_0 + k_k + K_k dx_k

(3) and (4) go backwards from V_x, V_xx = l_x, l_xx of the last knot; V is the cost to go: the backward pass of
iterative LQR (:mod:`arm_control.optimal.compiled_passes`), with a drift c. The derivatives by x hold at
x_0 only: a Jacobian of the hand that turns on the way, and gravity that changes, are not in them. So (5) is computed
anew when the arm has moved. Limits of the control are put on afterwards.

    f    one step of semi-implicit Euler (:mod:`arm_control.optimal.arm_dynamics`)     x = (q, v), u = tau

Source: B. Anderson, J. Moore, "Optimal Control: Linear Quadratic Methods", 1990, chapter 2.
"""

from __future__ import annotations

from threading import RLock

import numpy as np

from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal.arm_dynamics import ArmDynamics
from arm_control.optimal.compiled_passes import ArmLaws, loop_samples
from arm_control.optimal.costs import Costs


class LocalLqr:
    """Gains of (5) for an arm, compiled; run-time numbers of the costs may change between two calls.

    Threads may share an object: ``lock`` is held while gains are computed.
    """

    def __init__(self, dynamics: ArmDynamics, costs: Costs, n: int) -> None:
        self._dynamics, self._n, model = dynamics, n, dynamics.model
        self.lock = RLock()
        laws = ArmLaws(model.tree, costs, has_limits=False, has_drift=True)
        expansion, backward = laws.expansion(), laws.backward()
        expand = model.compile_law(expansion, loop_samples(model, expansion))
        self._backward = model.compile_law(backward, loop_samples(model, backward))
        rows = n + 1 + -(n + 1) % expand.width
        sizes = {**expand.outputs, "x": dynamics.n_x, "u": dynamics.n_u, "weights": len(costs.terms)}
        sizes |= {"k": dynamics.n_u, "K": dynamics.n_u * dynamics.n_x, "status": 1}
        self._rows: dict[str, Array] = {name: np.zeros((rows, size)) for name, size in sizes.items()}
        self._rows["weights"][: n + 1] = costs.weights(n)
        shared = {"dt": np.array([dynamics.dt]), "tool": dynamics.tool, "numbers": costs.numbers}
        self._whole = shared | {"c": np.zeros(dynamics.n_x), "V_x": np.zeros(dynamics.n_x)}
        self._whole |= {"lamb": np.zeros(1), "sums": np.zeros(3)}
        self._whole["V_xx"] = np.zeros(len(np.triu_indices(dynamics.n_x)[0]))
        self._expand = expand.bind({**self._rows, **self._whole}, rows)

    @exclusive
    def gains(self, x0: Array, u0: Array, n: int | None = None) -> tuple[Array, Array]:
        """Return changes (n, nv) [N m or N] and gains (n, nv, 2 nv) of the knots, about one state and one control.

        The state (2 nv,) is positions and velocities, the control (nv,) torque [N m or N]; n steps are left, by default
        N.

        An InputError when a Q_uu is not positive definite: each control must cost something.
        """
        n = self._n if n is None else n
        self._rows["x"][:], self._rows["u"][:] = x0, u0
        self._expand()
        self._whole["c"][:] = self._dynamics.step(x0[None], u0[None])[0] - x0  # (1)
        self._whole["V_x"][:], self._whole["V_xx"][:] = self._rows["l_x"][self._n], self._rows["l_xx"][self._n]
        left = {name: array[self._n - n : self._n] for name, array in self._rows.items()}
        if int(self._backward.bind({**left, **self._whole}, n)()) != n:
            raise InputError("Q_uu is not positive definite: each control needs a cost")
        return left["k"].copy(), left["K"].reshape(n, self._dynamics.n_u, -1).copy()
