"""Obstacle avoidance with the whole arm: every link is pushed away from what is near it.

For each link and obstacle (and each two links) let rho be the distance between their surfaces, n the unit
vector from the obstacle to the nearest point of the link, J_n = n^T J_p the Jacobian of that point along n, and
``rho_dot = J_n v - n^T V_O`` how fast the distance grows. With the threshold rho0,

    (1)  m = 1 / (J_n M^-1 J_n^T + 1/m_max)                       mass felt along n, bounded
    (2)  f = eta (1/rho - 1/rho0) / rho^2                         acceleration away, with rho >= rho_min
    (3)  d = k (1 - rho/rho0) max(0, -rho_dot)                    damping, of an approach only
    (4)  tau_avoid = nu sum J_n^T m (f + d)                       over links and obstacles

and nothing beyond rho0; nu shortens the whole torque, so that no joint needs more than its effort limit and the
direction stays. Sums over the near pairs have no order. The torque is added to that of the task as it
is, not filtered by a null space: what is near may pre-empt the task. Where it is nearer still, the task goes:
with the share s, which falls from 1 to 0 between twice the takeover distance and the takeover distance,

    (5)  tau = s tau_task + (1 - s) (h - P d0 M v) + tau_avoid

so that below the takeover distance only avoidance, compensation of gravity (and Coriolis terms) and damping
remain. P takes out of the damping what would slow an escape,

    (6)  P = 1 - J_e^T (J_e M^-1 J_e^T)^+ J_e M^-1               J_e: rows J_n of the pairs with rho_dot > 0

The unit of (2) is an acceleration: a lone pair accelerates by f + d away, whatever the arm's posture, where
the arm can move along n with less than m_max. Where it cannot (a link that only turns on the spot), (1) lets
the push fade, ``|J_n^T m| <= sqrt(m_max lambda_max(M)) / 2`` bounds it, and (5) does not take over for it.
Inside an obstacle rho_min holds, so that nothing explodes, and n points out of it.

With ``M = L L^T`` and ``B = L^-1 J_n^T`` the mobility of (1) is ``B^T B``, and the damping of (5) and (6) is
``d0 L (1 - Pi) L^T v``, where Pi projects on the span of the rows' B that (6) names. So one pair is a few dozen
numbers, the sum over pairs may run in any order, and all is written over any scalar: :func:`push` for one pair,
compiled for several at once.

Sources: O. Khatib, "Real-time obstacle avoidance for manipulators and mobile robots", 1986, for the potential
of (2), without its n-ellipsoids, which cut corners; the gradient is the unit vector, the link has a radius, and
the takeover acts on the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from arm_control.compiler.column_law import ColumnLaw
from arm_control.compiler.kernels import Kernel
from arm_control.control.avoidance.avoidance_parameters import AvoidanceParameters
from arm_control.control.avoidance.obstacles import Obstacle
from arm_control.control.avoidance.pair_table import NEAR, NORMAL, POINT, RHO, Scene
from arm_control.control.avoidance.proximity import Pairs, Proximity
from arm_control.control.text_kernel import text_kernel
from arm_control.maths.linalg import cholesky, eigen_symmetric, lower_triangle
from arm_control.maths.poses import Array
from arm_control.maths.scalars import clamp, maximum, minimum, select
from arm_control.maths.vectors import MIN_LENGTH, cross
from arm_control.model import RobotModel, Terms

__all__ = ["Avoidance", "AvoidanceOutput", "AvoidanceParameters", "push"]


def push(x: Mapping[str, Array], gear: Array) -> dict[str, Any]:
    """What one pair gives, over any scalar: equations (1) to (4), its share s of (5), and ``B B^T`` for (6).

    Parameters
    ----------
    x : mapping
        The pair, the arm, and the law's numbers.
    gear : ndarray, shape (n_bodies, nv)
        How each body's joint follows the joint positions.
    """
    eta, threshold, self_threshold, smallest, takeover, damping, mass_limit = x["numbers"]
    n, moment, axes, n_v = x["n"], cross(x["p"], x["n"]), x["axes"].reshape(6, -1), gear.shape[1]
    J_n = (x["sign"] * (n @ axes[:3] + moment @ axes[3:])) @ gear
    B = lower_triangle(x["L_inv"], n_v) @ J_n
    rho_dot = J_n @ x["v"] - n @ x["twist"][:3] - moment @ x["twist"][3:]
    rho0 = maximum(select(x["is_self"][0], self_threshold, threshold), MIN_LENGTH)
    rho = maximum(x["rho"][0], minimum(smallest, rho0))
    mobility = B @ B
    m = 1.0 / (mobility + 1.0 / mass_limit)  # (1)
    f = eta * (1.0 / rho - 1.0 / rho0) / (rho * rho)  # (2)
    d = damping * (1.0 - rho / rho0) * maximum(0.0, -rho_dot)  # (3)
    can_move = clamp(2.0 * mobility * mass_limit - 1.0, 0.0, 1.0)
    y = clamp((x["rho"][0] - takeover) / maximum(takeover, 1e-6), 0.0, 1.0)
    share = 1.0 - can_move * (1.0 - y * y * (3.0 - 2.0 * y))
    is_other = x["key"][0] - x["best"][0]  # another capsule of the link is nearer
    tau = J_n * select(is_other, 0.0, m * (f + d))
    escape = select(is_other, 0.0, select(rho_dot, 1.0, 0.0)) * np.outer(B, B)[np.tril_indices(n_v)]
    shares = select(is_other, 1.0, share), select(is_other, np.inf, x["rho"][0])
    return {"tau": tau, "escape": escape, "share": np.array(shares[:1]), "nearest": np.array(shares[1:])}


def shortened(x: Mapping[str, Array]) -> dict[str, Any]:
    """``nu sum`` of (4): no joint needs more than ``tau_max``."""
    longest = 1.0
    for tau, tau_max in zip(x["sum"], x["tau_max"], strict=True):
        longest = maximum(longest, maximum(tau, -tau) / tau_max)
    return {"tau": x["sum"] * (1.0 / longest)}


def alone(x: Mapping[str, Array]) -> dict[str, Any]:
    """What takes the place of the task in (5), with (6), over any scalar."""
    n = len(x["v"])
    L = cholesky(x["M"].reshape(n, n)).L
    y = L.T @ x["v"]
    A = lower_triangle(x["escape"], n)
    A = A + np.tril(A, -1).T
    values, U = eigen_symmetric(A)
    threshold = values[0]
    for value in values[1:]:
        threshold = maximum(threshold, value)
    threshold = maximum(1e-9 * threshold, MIN_LENGTH**2)
    for value, u in zip(values, U.T, strict=True):
        y = y - u * select(value - threshold, u @ (L.T @ x["v"]), 0.0)  # (6)
    return {"alone": x["h"] - x["damping"][0] * (L @ y)}


@dataclass(frozen=True)
class AvoidanceOutput:
    """What one tick gives.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        ``tau_avoid`` of equation (4) [N m or N].
    task_share : float
        s of equation (5).
    distance : float
        Distance of the nearest pair [m]; infinite when nothing is near.
    takeover : bool
        Whether the task has no share any more.
    """

    tau: Array
    task_share: float
    distance: float
    takeover: bool
    _alone: Callable[[], Array]
    _pairs: Callable[[], Pairs]

    @cached_property
    def alone(self) -> Array:
        """What takes the place of the task's torque in (5), shape (nv,) [N m or N]."""
        return self._alone()

    @cached_property
    def pairs(self) -> Pairs:
        """The near pairs."""
        return self._pairs()

    def combined(self, tau_task: Array) -> Array:
        """Torque for the gate, equation (5), shape (nv,) [N m or N].

        Parameters
        ----------
        tau_task : ndarray, shape (nv,)
            Torque of any controller, gravity compensation included [N m or N].
        """
        if self.task_share == 1.0:
            return tau_task + self.tau
        return self.task_share * tau_task + (1.0 - self.task_share) * self.alone + self.tau


class Avoidance:
    """The law of this module for one arm. Nothing in it changes from tick to tick.

    Parameters
    ----------
    model : RobotModel
        The arm; its links are the capsules around the collision shapes of its URDF.
    parameters : AvoidanceParameters
        Reach and strength.

    Attributes
    ----------
    proximity : Proximity
        What finds the near pairs; its ``notes`` tell of shapes that could not be read.

    Examples
    --------
    >>> from arm_control import Pose, urdf_path
    >>> from arm_control.maths.shapes import Sphere
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> terms = model.evaluate([0.0, -1.6, 1.8, -1.8, -1.57, 0.0], np.zeros(6))
    >>> ball = Obstacle(Sphere(0.05), Pose(np.eye(3), terms.X_WE.p + [0.15, 0.0, 0.0]))
    >>> output = Avoidance(model, AvoidanceParameters()).tick(terms, [ball])
    >>> bool((terms.J @ np.linalg.solve(terms.M, output.tau))[0] < 0.0), output.takeover
    (True, False)
    """

    def __init__(self, model: RobotModel, parameters: AvoidanceParameters) -> None:
        self.parameters = parameters
        self.proximity = Proximity(model)
        n, example = model.nv, np.eye(model.nv).ravel() + 0.1
        self._factor = _kernel(model, _factors, M=example)
        self._shorten = _kernel(model, shortened, sum=np.linspace(1.0, 2.0, n), tau_max=np.ones(n))
        below = np.ones(n * (n + 1) // 2)
        given = {"M": example, "v": np.linspace(1.0, 2.0, n), "h": np.ones(n), "escape": below, "damping": np.ones(1)}
        self._end = _kernel(model, alone, **given)
        self._push = model.compile_columns(*_push_law(self.proximity.gear))
        self._shorten.inputs["tau_max"][:] = model.tau_max
        self._numbers = np.zeros(7)
        self._parameters: AvoidanceParameters | None = None
        self._scene: Scene | None = None
        self._v, self._escape, self._share, self._nearest = np.zeros(n), np.zeros(len(below)), np.zeros(1), np.zeros(1)
        self._M, self._tau = self._factor.inputs["M"].reshape(n, n), self._shorten.outputs["tau"]

    def tick(self, t: Terms, obstacles: Sequence[Obstacle]) -> AvoidanceOutput:
        """Avoidance in one state, equations (1) to (6).

        Parameters
        ----------
        t : Terms
            The arm in the measured state.
        obstacles : sequence of Obstacle
            What is around now.

        Returns
        -------
        AvoidanceOutput
        """
        p, near = self.parameters, self.proximity
        if p is not self._parameters:
            self._parameters, self._numbers[:] = p, _numbers(p)
        scene = near.measure(t.q, obstacles, p.threshold, p.self_threshold)
        if scene is not self._scene:
            self._scene, self._sum = scene, self._bound(scene)
        self._M[...], self._v[...] = t.M, t.v
        self._factor.call()
        self._sum()
        self._shorten.call()
        share, nearest, escape = min(1.0, self._share.item()), self._nearest.item(), self._escape.copy()
        snapshot = near.snapshot(scene, obstacles)
        return AvoidanceOutput(
            self._tau.copy(),
            share,
            nearest,
            share == 0.0,
            lambda: self._alone(t, escape, p.takeover_damping),
            lambda: near.pairs(snapshot),
        )

    def _bound(self, scene: Scene) -> Callable[[], object]:
        """Return what sums up the pushes of a scene's pairs."""
        found, arm = scene.found, {"v": self._v, "axes": self.proximity.axes.reshape(-1), "numbers": self._numbers}
        pair = {"rho": found[RHO], "near": found[NEAR], "n": found[NORMAL], "p": found[POINT]}
        pair |= {
            "sign": scene.sign,
            "twist": scene.twist,
            "is_self": scene.is_self,
            "key": scene.key,
            "best": scene.best,
        }
        totals = {"tau": self._shorten.inputs["sum"], "escape": self._escape, "share": self._share}
        L_inv = self._factor.outputs["L_inv"]
        return self._push.bind({**pair, **arm, **totals, "L_inv": L_inv, "nearest": self._nearest})

    def _alone(self, t: Terms, escape: Array, damping: float) -> Array:
        """What takes the place of the task in (5)."""
        inputs = self._end.inputs
        inputs["M"][:], inputs["v"][:], inputs["h"][:] = t.M.ravel(), t.v, t.h
        inputs["escape"][:], inputs["damping"][:] = escape, damping
        self._end.call()
        return self._end.outputs["alone"].copy()


def _numbers(p: AvoidanceParameters) -> list[float]:
    """What :func:`push` takes as ``numbers``."""
    reach = [p.threshold, p.self_threshold, p.smallest_distance, p.takeover_distance]
    return [p.eta, *reach, p.approach_damping, p.mass_limit]


def _factors(x: Mapping[str, Array]) -> dict[str, Any]:
    n = math.isqrt(len(x["M"]))
    return {"L_inv": cholesky(x["M"].reshape(n, n)).inverse()[np.tril_indices(n)]}


def _kernel(model: RobotModel, text: Callable[[Mapping[str, Array]], dict[str, Any]], **samples: Array) -> Kernel:
    return text_kernel(model, f"avoidance, {text.__name__}", text, samples)


def _push_law(gear: Array) -> tuple[ColumnLaw, dict[str, Array]]:
    """:func:`push` as a law for many columns, and random pairs to compare it with its text on."""
    n_bodies, n = gear.shape
    pair = {"rho": 1, "near": 1, "n": 3, "p": 3, "key": 1, "best": 1, "sign": n_bodies, "twist": 6, "is_self": 1}
    arm = {"axes": 6 * n_bodies, "L_inv": n * (n + 1) // 2, "v": n, "numbers": 7}
    totals = {"tau": "sum", "escape": "sum", "share": "min", "nearest": "min"}
    name = "avoidance"
    law = ColumnLaw(name, partial(push, gear=gear), {**pair, **arm}, tuple(arm), totals, "near")  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    samples = {key: rng.uniform(-1.0, 1.0, (size, 16)) for key, size in pair.items()}
    samples["rho"], samples["is_self"] = 0.05 * samples["rho"], np.maximum(0.0, np.sign(samples["is_self"]))
    shared = {key: rng.uniform(0.1, 1.0, size) for key, size in arm.items()}
    return law, {**samples, **shared, "numbers": np.array([5e-4, 0.1, 0.03, 0.015, 0.01, 30.0, 100.0])}
