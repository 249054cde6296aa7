"""Obstacle avoidance with the whole arm: every link is pushed away from near obstacles and other links.

For each pair of a link and an obstacle (and of two links) let rho be the distance between their surfaces, n the unit
vector from the obstacle to the nearest point of the link, ``J_n = n^T J_p`` the Jacobian of that point along n, and
``rho_dot = J_n v - n^T V_O`` the rate of the distance. Within the threshold rho_0,

    (1)  m = 1 / (mu + 1/m_max),   mu = J_n M^-1 J_n^T           mass felt along n, bounded
    (2)  f = eta (1/rho - 1/rho_0) / rho^2,   rho >= rho_min     acceleration away
    (3)  d = k (1 - rho/rho_0) max(0, -rho_dot)                  damping, of an approach only
    (4)  tau_avoid = nu sum J_n^T m (f + d)                      over all pairs; nu <= 1: no joint above tau_max

and nothing beyond rho_0. The torque is added to that of the task as it is, not filtered by a null space: a near
obstacle may pre-empt the task. Nearer still, the task's torque fades,

    (5)  tau = s tau_task + (1 - s) (h - P d_0 M v) + tau_avoid
    (6)  s = min 1 - c (1 - y^2 (3 - 2 y))                       over all pairs; share of the task, 1 to 0
         y = clamp((rho - rho_t) / rho_t, 0, 1)                  0 below the takeover distance, 1 above twice that
         c = clamp(2 mu m_max - 1, 0, 1)                         0 where the arm cannot move along n
    (7)  P = 1 - J_e^T (J_e M^-1 J_e^T)^+ J_e M^-1               J_e: rows J_n of the pairs with rho_dot > 0

so that below the takeover distance only avoidance, compensation of gravity (and Coriolis terms) and damping
remain. P takes the part out of the damping that would slow an escape.

A single pair accelerates by f + d away, whatever the arm's posture, where the arm can move along n with less than
m_max. Where it cannot (a link that only turns on the spot), (1) lets the push fade, ``|J_n^T m| <= sqrt(m_max
lambda_max(M)) / 2`` bounds it, and (5) does not take over for it. Inside an obstacle rho_min holds, so the push stays
finite, and n points out of it.

With ``M = L L^T`` and ``B = L^-1 J_n^T``, ``mu = B^T B``, and

    (8)  P d_0 M v = d_0 L (1 - Pi) L^T v,   Pi: projection on the range of E = sum B B^T   over rho_dot > 0

So a pair is a few dozen numbers, and the sums may run in any order. :func:`pair_repulsion` is (1) to (4) and (6) for
one pair over any scalar, compiled for several at once.

    rho, rho_0, rho_min, rho_t    distance, threshold, smallest_distance, takeover_distance    [m]
    J_p, J_n, n                   Jacobians of the nearest point, and its direction            [m or 1; -]
    V_O                           velocity of the obstacle's nearest point                     [m/s]
    M, h, v                       mass matrix, bias, joint velocities                          [kg m^2; N m; rad/s]
    m, m_max, mu                  mass, mass_limit, mobility                                   [kg; kg; 1/kg]
    f, d                          acceleration away, and by damping                            [m/s^2]
    eta, k, d_0                   strength, approach_damping, takeover_damping                 [m^4/s^2; 1/s; 1/s]
    tau_task, tau_avoid           torque of the task and of avoidance                          [N m]

Source: O. Khatib, "Real-time obstacle avoidance for manipulators and mobile robots", 1986, for the potential of (2),
without its n-ellipsoids, which cut corners; the gradient is the unit vector, the link has a radius, and the takeover
acts on the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import HullObstacle, Pairs, Proximity
from arm_control.compiler import Kernel, Law, Loop, in_machine_code
from arm_control.control.avoidance_call import AvoidanceLaws, AvoidanceParts, AvoidanceTick
from arm_control.core import Parameters, parameter
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import (
    MIN_LENGTH,
    Array,
    Obstacle,
    cholesky,
    clamp,
    cross,
    lower_triangle,
    maximum,
    minimum,
    remove_range,
    select,
)
from arm_control.model import RobotModel, Terms

__all__ = ["Avoidance", "AvoidanceOutput", "AvoidanceParameters", "pair_repulsion"]

PARALLEL = 1e-9
"""Share of the largest eigenvalue of E below which a direction of escape does not count."""
N_NUMBERS = 7
"""Size of the input ``numbers`` of :func:`pair_repulsion`."""


@dataclass(frozen=True)
class AvoidanceParameters(Parameters):
    """Reach and strength of obstacle avoidance."""

    eta: float = parameter(5e-4, "strength of the push", unit="m^4/s^2", lower=0.0, live=True)
    threshold: float = parameter(0.1, "distance from an obstacle at which it begins", unit="m", lower=1e-3, live=True)
    self_threshold: float = parameter(
        0.03, "the same between two links of the arm; 0: they do not avoid each other", unit="m", lower=0.0, live=True
    )
    smallest_distance: float = parameter(
        0.015, "the push grows no more below this distance", unit="m", lower=1e-4, live=True
    )
    takeover_distance: float = parameter(
        0.01,
        "below it avoidance acts alone; the task fades from twice this distance on",
        unit="m",
        lower=0.0,
        live=True,
    )
    approach_damping: float = parameter(
        30.0, "damping of the approach to an obstacle", unit="1/s", lower=0.0, upper=200.0, live=True
    )
    takeover_damping: float = parameter(
        10.0,
        "damping of all joints where avoidance acts alone, times M(q)",
        unit="1/s",
        lower=0.0,
        upper=200.0,
        live=True,
    )
    mass_limit: float = parameter(
        100.0, "mass above which an arm counts as unable to move a point away", unit="kg", lower=0.1, live=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest_distance >= self.threshold or 2.0 * self.takeover_distance >= self.threshold:
            raise ParameterError(
                f"threshold = {self.threshold} must be larger than smallest_distance = {self.smallest_distance}"
                f" and than twice takeover_distance = {self.takeover_distance}"
            )


def pair_repulsion(x: Mapping[str, Array], joint_coupling: Array) -> dict[str, Any]:
    """Torque, share and mobility of one pair, equations (1) to (4), (6) and the term of E in (8).

    Parameters
    ----------
    x : mapping
        Numbers of the pair, of the arm and of the law.
    joint_coupling : ndarray, shape (n_bodies, nv)
        Motion of each body's joint per motion of each joint of the arm.
    """
    eta, threshold, self_threshold, rho_min, rho_t, k, m_max = x["numbers"]
    n, v, twist = x["n"], x["v"], x["twist"]
    moment = cross(x["p"], n)
    axes, n_v = x["axes"].reshape(6, -1), joint_coupling.shape[1]
    J_n = (x["sign"] * (n @ axes[:3] + moment @ axes[3:])) @ joint_coupling
    B = lower_triangle(x["L_inv"], n_v) @ J_n
    rho_dot = J_n @ v - n @ twist[:3] - moment @ twist[3:]
    rho_0 = maximum(select(x["is_self"][0], self_threshold, threshold), MIN_LENGTH)
    rho = maximum(x["rho"][0], minimum(rho_min, rho_0))
    mu = B @ B
    m = 1.0 / (mu + 1.0 / m_max)  # (1)
    f = eta * (1.0 / rho - 1.0 / rho_0) / (rho * rho)  # (2)
    d = k * (1.0 - rho / rho_0) * maximum(0.0, -rho_dot)  # (3)
    c = clamp(2.0 * mu * m_max - 1.0, 0.0, 1.0)
    y = clamp((x["rho"][0] - rho_t) / maximum(rho_t, 1e-6), 0.0, 1.0)
    s = 1.0 - c * (1.0 - y * y * (3.0 - 2.0 * y))  # (6)
    tau = J_n * (m * (f + d))  # (4)
    escape = select(rho_dot, 1.0, 0.0) * np.outer(B, B)[np.tril_indices(n_v)]  # (8)
    return {"tau": tau, "escape": escape, "share": np.array([s])}


def shorten_torque(x: Mapping[str, Array]) -> dict[str, Any]:
    """``nu sum`` of (4): no joint needs more than ``tau_max``."""
    longest = 1.0
    for tau, tau_max in zip(x["sum"], x["tau_max"], strict=True):
        longest = maximum(longest, maximum(tau, -tau) / tau_max)
    return {"tau": x["sum"] * (1.0 / longest)}


def takeover_torque(x: Mapping[str, Array]) -> dict[str, Any]:
    """``h - P d_0 M v`` of (5), by (8), over any scalar."""
    n = len(x["v"])
    L = cholesky(x["M"].reshape(n, n)).L
    E = lower_triangle(x["escape"], n)
    E = E + np.tril(E, -1).T
    y = remove_range(L.T @ x["v"], E, PARALLEL, MIN_LENGTH**2)
    return {"takeover": x["h"] - x["damping"][0] * (L @ y)}  # (8)


class AvoidanceOutput(NamedTuple):
    """Result of one tick; what is not needed in every tick is computed when it is asked for, of that tick.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        ``tau_avoid`` of equation (4) [N m or N].
    tau_total : ndarray, shape (nv,)
        Torque for the gate, equation (5), with the torque of the task that the tick was given [N m or N].
    task_share : float
        s of equation (6).
    distance : float
        Distance of the nearest pair [m]; infinite when nothing is near.
    state : ndarray, shape (3 nv + nv^2,)
        q, v, h and M.
    """

    tau: Array
    tau_total: Array
    task_share: float
    distance: float
    state: Array
    obstacles: tuple[Obstacle | HullObstacle, ...]
    parameters: AvoidanceParameters
    reader: AvoidanceReader

    @property
    def takeover(self) -> bool:
        """Whether the share of the task is 0."""
        return self.task_share == 0.0

    @property
    def takeover_torque(self) -> Array:
        """``h - P d_0 M v``, which takes the place of the task's torque in (5), shape (nv,) [N m or N]."""
        return self.reader.takeover_torque(self)

    @property
    def pairs(self) -> Pairs:
        """The near pairs."""
        return self.reader.pairs(self)

    def combined(self, tau_task: Array) -> Array:
        """``tau_total`` with another torque of the task, shape (nv,) [N m or N]."""
        if self.task_share == 1.0:
            return tau_task + self.tau
        return self.task_share * tau_task + (1.0 - self.task_share) * self.takeover_torque + self.tau


class AvoidanceReader:
    """Computes on request what a tick leaves out."""

    def __init__(self, proximity: Proximity, laws: AvoidanceLaws, tau_max: Array) -> None:
        self._proximity, self._laws, self._tau_max = proximity, laws, tau_max
        self._tick: AvoidanceTick | None = None

    def pairs(self, output: AvoidanceOutput) -> Pairs:
        """The near pairs of a tick."""
        q, p = output.state[: len(output.tau)], output.parameters
        return self._proximity.near(q, output.obstacles, p.threshold, p.self_threshold)

    def takeover_torque(self, output: AvoidanceOutput) -> Array:
        """``h - P d_0 M v`` of a tick, shape (nv,) [N m or N]."""
        if self._tick is None:
            search = self._proximity.new_search()
            self._tick = AvoidanceTick(search, self._laws, self._tau_max, replaces_always=True)
        self._tick.search.place(output.obstacles)
        self._tick.set_numbers(*_numbers(output.parameters))
        n = len(output.tau)
        return self._tick.run(output.state, np.zeros(n))[n : 2 * n]


class Avoidance:
    """The law of this module for one arm; a tick does not depend on those before.

    Parameters
    ----------
    model : RobotModel
        The arm; its links are the capsules around the collision shapes of its URDF.

    Attributes
    ----------
    proximity : Proximity
        The near pairs; its ``notes`` name shapes that could not be read.

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
        self.proximity = Proximity(model)
        laws = _laws(model, self.proximity.joint_coupling)
        self._reader = AvoidanceReader(self.proximity, laws, model.tau_max)
        self._tick = AvoidanceTick(self.proximity.new_search(), laws, model.tau_max)
        self._current: list[Any] = [(), parameters]
        self.parameters = parameters
        self._call = self._tick.call(self._current, self._reader)

    @property
    def parameters(self) -> AvoidanceParameters:
        """Reach and strength, from the next tick on."""
        parameters: AvoidanceParameters = self._current[1]
        return parameters

    @parameters.setter
    def parameters(self, parameters: AvoidanceParameters) -> None:
        self._current[1] = parameters
        self._tick.set_numbers(*_numbers(parameters))

    @property
    def parts(self) -> AvoidanceParts:
        """What a procedure around a tick works with."""
        return self._tick.parts(self._current, self._reader)

    @in_machine_code(lambda avoidance: avoidance._call)
    def tick(
        self,
        terms: Terms,
        obstacles: Sequence[Obstacle | HullObstacle],
        tau_task: npt.ArrayLike | None = None,
    ) -> AvoidanceOutput:
        """Avoidance in one state, equations (1) to (8).

        Parameters
        ----------
        tau_task : array_like, shape (nv,), optional
            Torque of any controller, gravity compensation included; 0 by default [N m or N].

        Raises
        ------
        InputError
            When ``tau_task`` has another shape.
        """
        search, n = self._tick.search, len(terms.v)
        tau_task = np.zeros(n) if tau_task is None else np.asarray(tau_task, dtype=float)
        if tau_task.shape != (n,):
            raise InputError(f"tau_task has shape {tau_task.shape}; {n} numbers are needed")
        search.place(obstacles)
        self._current[0] = search.obstacles
        state = np.concatenate([terms.q, terms.v, terms.h, np.ravel(terms.M)])
        outputs = self._tick.run(state, tau_task)
        tau, _, tau_total = outputs[: 3 * n].reshape(3, n)
        share, distance = outputs[3 * n :].tolist()
        return AvoidanceOutput(tau, tau_total, share, distance, state, search.obstacles, self.parameters, self._reader)


def _numbers(p: AvoidanceParameters) -> tuple[list[float], list[float], float]:
    """Numbers of :func:`pair_repulsion` in their order, reaches, and the damping of the takeover."""
    reach = [p.threshold, p.self_threshold]
    numbers = [p.eta, *reach, p.smallest_distance, p.takeover_distance, p.approach_damping, p.mass_limit]
    return numbers, reach, p.takeover_damping


def _factors(x: Mapping[str, Array]) -> dict[str, Any]:
    """``L^-1`` of (8), its lower triangle row by row."""
    n = math.isqrt(len(x["M"]))
    return {"L_inv": cholesky(x["M"].reshape(n, n)).inverse()[np.tril_indices(n)]}


def _laws(model: RobotModel, joint_coupling: Array) -> AvoidanceLaws:
    """Compile the laws of an arm."""
    n = model.nv
    M, triangle = np.eye(n).ravel() + 0.1, np.ones(n * (n + 1) // 2)
    state = {"M": M, "v": np.linspace(1.0, 2.0, n), "h": np.ones(n)}
    return AvoidanceLaws(
        _kernel(model, _factors, M=M),
        model.compile_law(*_repulsion_loop(joint_coupling)),
        _kernel(model, shorten_torque, sum=np.linspace(1.0, 2.0, n), tau_max=np.ones(n)),
        _kernel(model, takeover_torque, **state, escape=triangle, damping=np.ones(1)),
        N_NUMBERS,
        AvoidanceOutput,
    )


def _kernel(model: RobotModel, function: Callable[[Mapping[str, Array]], dict[str, Any]], **sample: Array) -> Kernel:
    law = Law(f"avoidance, {function.__name__}", function, {name: len(x) for name, x in sample.items()})
    return model.compile_law(law, {name: x[None] for name, x in sample.items()})


def _repulsion_loop(joint_coupling: Array) -> tuple[Loop, dict[str, Array]]:
    """:func:`pair_repulsion` over all pairs, and random pairs to compare its kernel on."""
    n_bodies, n = joint_coupling.shape
    pair = {"rho": 1, "n": 3, "p": 3, "sign": n_bodies, "twist": 6, "is_self": 1}
    arm = {"axes": 6 * n_bodies, "L_inv": n * (n + 1) // 2, "v": n, "numbers": N_NUMBERS}
    function = partial(pair_repulsion, joint_coupling=joint_coupling)
    law = Law("avoidance", function, {**pair, **arm}, joint_coupling.tolist())
    rng = np.random.default_rng(0)
    samples = {key: rng.uniform(-1.0, 1.0, (size, 16)) for key, size in pair.items()}
    samples["rho"] = 0.05 * samples["rho"]
    samples["is_self"] = np.maximum(0.0, np.sign(samples["is_self"]))
    shared = {key: rng.uniform(0.1, 1.0, size) for key, size in arm.items()}
    numbers = np.array([5e-4, 0.1, 0.03, 0.015, 0.01, 30.0, 100.0])
    return Loop(law, "columns", tuple(arm)), {**samples, **shared, "numbers": numbers}
