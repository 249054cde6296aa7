"""Obstacle avoidance with the whole arm: every link is pushed away from near obstacles and other links.

For each pair of a link and an obstacle (and of two links) let rho be the distance between their surfaces, n the unit
vector from the obstacle to the nearest point of the link, ``J_n = n^T J_p`` the Jacobian of that point along n, and
``rho_dot = J_n v - n^T V_O`` the rate of the distance. Within the threshold rho_0,

    (1)  m = 1 / (mu + 1/m_max),   mu = J_n H^-1 J_n^T           mass felt along n, bounded
         H = M + diag(t_f tau_max / v_max) for an obstacle, M for a pair of links
    (2)  f = eta (1/rho - 1/rho_0) / rho^2,   rho >= rho_min     acceleration away
    (3)  d = k (1 - rho/rho_0) max(0, -rho_dot)                  damping, of an approach only
    (4)  tau_k = sum J_n^T m (f + d)                             over pairs of links, then over obstacles

and nothing beyond rho_0. The floor of joint inertia in H moves heavy joints as well, where M would throw a light wrist.
Each sum makes the hand within T no faster than its limits, or than it would be without that sum: a force and then a
moment F at the hand take what exceeds,

    (5)  tau_avoid = nu sum M H^-1 (tau_k - sum J^T F)           linear, angular rows; nu <= 1: no joint above tau_max
         F = (J H^-1 J^T)^-1 (1 - min(1, r / |W|)) W / T,   r = max(V_max, |V_0|)
         W = V_0 + T J H^-1 (tau_k - J^T F of before),   V_0 = J (v + T M^-1 (all other torque so far - h))

The torque is added to that of the task as it is, not filtered by a null space: a near obstacle may pre-empt the task.
Nearer still, the task's torque fades,

    (6)  tau = s tau_task + (1 - s) (h - P d_0 M v) + tau_avoid
    (7)  s = min 1 - c (1 - y^2 (3 - 2 y))                       over all pairs; share of the task, 1 to 0
         y = clamp((rho - rho_t) / rho_t, 0, 1)                  0 below the takeover distance, 1 above twice that
         c = clamp(2 m_max J_n M^-1 J_n^T - 1, 0, 1)             0 where the arm cannot move along n
    (8)  P = 1 - J_e^T (J_e M^-1 J_e^T)^+ J_e M^-1               J_e: rows J_n of the pairs with rho_dot > 0

so that below the takeover distance only avoidance, compensation of gravity (and Coriolis terms) and damping
remain. P takes the part out of the damping that would slow an escape.

A single pair accelerates by f + d away, whatever the arm's posture, where the arm can move along n with less than
m_max. Where it cannot (a link that only turns on the spot), (1) lets the push fade, ``|J_n^T m| <= sqrt(m_max
lambda_max(H)) / 2`` bounds it, and (6) does not take over for it. Inside an obstacle rho_min holds, so the push stays
finite, and n points out of it.

With ``M = L L^T`` and ``B = L^-1 J_n^T``, ``J_n M^-1 J_n^T = B^T B``, and

    (9)  P d_0 M v = d_0 L (1 - Pi) L^T v,   Pi: projection on the range of E = sum B B^T   over rho_dot > 0

So a pair is a few dozen numbers, and the sums may run in any order. :func:`pair_repulsion` is (1) to (4) and (7) for
one pair over any scalar, compiled for several at once. A tick is one compiled call: find the near pairs, without which
there is no torque; factor M and H; repulsion of each pair; sums over all pairs; torque in the place of the task's,
where the task fades; the limit (5); all of it together.

    rho, rho_0, rho_min, rho_t    distance, threshold, smallest_distance, takeover_distance    [m]
    J_p, J_n, n                   Jacobians of the nearest point, and its direction            [m or 1; -]
    V_O                           velocity of the obstacle's nearest point                     [m/s]
    J, V_max, T                   rows of the hand's Jacobian, its limit of speed; 0.01        [-; m/s, rad/s; s]
    M, h, v                       mass matrix, bias, joint velocities                          [kg m^2; N m; rad/s]
    v_max, t_f                    largest joint velocities; 0.02                               [rad/s; s]
    m, m_max, mu                  mass, mass_limit, mobility                                   [kg; kg; 1/kg]
    f, d                          acceleration away, and by damping                            [m/s^2]
    eta, k, d_0                   strength, approach_damping, takeover_damping                 [m^4/s^2; 1/s; 1/s]
    tau_task, tau_avoid           torque of the task and of avoidance                          [N m]

Source: O. Khatib, "Real-time obstacle avoidance for manipulators and mobile robots", 1986, for the potential of (2),
without its n-ellipsoids, which cut corners; the gradient is the unit vector, the link has a radius, and the takeover
acts on the sum.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import (
    NORMAL,
    POINT,
    RHO,
    ArmShape,
    CloseSearch,
    Pairs,
    Proximity,
    distance_rate,
    find_pairs,
    whole_blocks,
)
from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundProcedure,
    BoundResult,
    CallForm,
    Floats,
    ItemsArgument,
    Kernel,
    KernelCall,
    Law,
    Loop,
    LoopKernel,
    NumberResult,
    OwnWork,
    Rows,
    RunsKernel,
    RunsLoop,
    TupleArgument,
    TupleResult,
    compile_procedure,
    in_machine_code,
    procedure,
    split,
)
from arm_control.constraints import floor_of_inertia
from arm_control.core import Parameters, parameter
from arm_control.exceptions import InputError, ModelError, ParameterError
from arm_control.maths import (
    MIN_LENGTH,
    Array,
    Obstacle,
    cholesky,
    clamp,
    lower_triangle,
    maximum,
    minimum,
    mirrored,
    remove_range,
    select,
    sqrt,
)
from arm_control.model import RobotModel, Terms

LOG = logging.getLogger(__name__)
PARALLEL = 1e-9
"""Share of the largest eigenvalue of E below which a direction of escape does not count."""
N_NUMBERS = 7
"""Size of the input ``numbers`` of :func:`pair_repulsion`."""
HORIZON, DAMPED = 0.01, 1e-6
"""T of (5) [s]; share of its trace that ``J H^-1 J^T`` gets where it is inverted."""
SPEED_LIMITS = (0.5, 1.0)
"""V_max, linear [m/s] and angular [rad/s], unless a controller has others."""


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
    """Torque, share and mobility of one pair, equations (1) to (4), (7) and the term of E in (9).

    Parameters
    ----------
    joint_coupling : ndarray, shape (n_bodies, nv)
        Motion of each body's joint per motion of each joint of the arm.
    """
    eta, threshold, self_threshold, rho_min, rho_t, k, m_max = x["numbers"]
    n_v = joint_coupling.shape[1]
    J_n, rho_dot = distance_rate(x, x["axes"].reshape(6, -1), x["v"], joint_coupling)
    B, D = (lower_triangle(x[inverse], n_v) @ J_n for inverse in ("L_inv", "H_inv"))
    rho_0 = maximum(select(x["is_self"][0], self_threshold, threshold), MIN_LENGTH)
    rho = maximum(x["rho"][0], minimum(rho_min, rho_0))
    mobility = B @ B
    m = 1.0 / (select(x["is_self"][0], mobility, D @ D) + 1.0 / m_max)  # (1)
    f = eta * (1.0 / rho - 1.0 / rho_0) / (rho * rho)  # (2)
    d = k * (1.0 - rho / rho_0) * maximum(0.0, -rho_dot)  # (3)
    c = clamp(2.0 * mobility * m_max - 1.0, 0.0, 1.0)
    y = clamp((x["rho"][0] - rho_t) / maximum(rho_t, 1e-6), 0.0, 1.0)
    s = 1.0 - c * (1.0 - y * y * (3.0 - 2.0 * y))  # (7)
    tau = J_n * (m * (f + d))  # (4)
    escape = select(rho_dot, 1.0, 0.0) * np.outer(B, B)[np.tril_indices(n_v)]  # (9)
    links = x["is_self"][0] * tau
    return {"links": links, "obstacles": tau - links, "escape": escape, "share": np.array([s])}


def shorten_torque(x: Mapping[str, Array]) -> dict[str, Any]:
    """``tau_avoid`` of (5); ``other`` is the torque of the task, or what replaces it, without h."""
    n = len(x["v"])
    M, L_inv, H_inv = mirrored(x["M"].reshape(n, n)), lower_triangle(x["L_inv"], n), lower_triangle(x["H_inv"], n)
    v_0 = x["v"] + HORIZON * (L_inv.T @ (L_inv @ x["other"]))
    a_links = L_inv.T @ (L_inv @ _within_speeds(x, x["links"], v_0, L_inv))
    a = a_links + H_inv.T @ (H_inv @ _within_speeds(x, x["obstacles"], v_0 + HORIZON * a_links, H_inv))
    total, longest = M @ a, 1.0
    for torque, tau_max in zip(total, x["tau_max"], strict=True):
        longest = maximum(longest, maximum(torque, -torque) / tau_max)
    return {"tau": total * (1.0 / longest)}


def _within_speeds(x: Mapping[str, Array], tau: Array, v_0: Array, inverse: Array) -> Array:
    """``tau_k - sum J^T F`` of (5), with the inverse of the factor of H."""
    for J, V_max in zip(x["J"].reshape(2, 3, -1), x["V_max"], strict=True):
        B, V_0 = inverse @ J.T, J @ v_0
        W = V_0 + HORIZON * (B.T @ (inverse @ tau))
        r, speed = maximum(V_max * V_max, V_0 @ V_0), maximum(W @ W, MIN_LENGTH**2)
        excess = 1.0 - sqrt(minimum(1.0, r / speed))
        mobility = B.T @ B
        mobility = mobility + (DAMPED * np.trace(mobility) + MIN_LENGTH) * np.eye(3)
        tau = tau - J.T @ (cholesky(mobility).solve(W) * (excess / HORIZON))
    return tau


def takeover_torque(x: Mapping[str, Array]) -> dict[str, Any]:
    """``h - P d_0 M v`` of (6), by (9), over any scalar."""
    n = len(x["v"])
    L = cholesky(x["M"].reshape(n, n)).L
    E = lower_triangle(x["escape"], n)
    E = E + np.tril(E, -1).T
    y = remove_range(L.T @ x["v"], E, PARALLEL, MIN_LENGTH**2)
    return {"takeover": x["h"] - x["damping"][0] * (L @ y)}  # (9)


class AvoidanceOutput(NamedTuple):
    """Result of one tick.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        ``tau_avoid`` of equation (5) [N m or N].
    tau_total : ndarray, shape (nv,)
        Torque for the gate, equation (6), with the torque of the task that the tick was given [N m or N].
    task_share : float
        s of equation (7).
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
    obstacles: tuple[Obstacle, ...]
    parameters: AvoidanceParameters
    proximity: Proximity

    @property
    def takeover(self) -> bool:
        """Whether the share of the task is 0."""
        return self.task_share == 0.0

    @property
    def pairs(self) -> Pairs:
        """The near pairs, which are looked for when they are asked for."""
        q, p = self.state[: len(self.tau)], self.parameters
        return self.proximity.near(q, self.obstacles, p.threshold, p.self_threshold)


def _whole_shape(model: RobotModel) -> ArmShape:
    """The shape of an arm; a ModelError where some of it is not known, and obstacles there would not be avoided."""
    shape = ArmShape(model, is_partial=True)
    if shape.notes or not shape.names:
        why = "; ".join(shape.notes) or "its URDF has no collision shapes"
        raise ModelError(
            f"obstacles cannot be avoided by '{model.urdf.robot.name}', whose shape is not complete: {why}"
            "; to move without avoidance, set avoid_obstacles to false"
        )
    return shape


class Avoidance:
    """The law of this module for one arm; a tick does not depend on those before.

    Parameters
    ----------
    model : RobotModel
        The arm; its links are the capsules around the collision shapes of its URDF.

    Attributes
    ----------
    speed_limits : tuple of float
        V_max of (5), linear [m/s] and angular [rad/s], from the next tick on.
    proximity : Proximity
        The near pairs.
    left_out : tuple of tuple of str
        Pairs of links that overlapped at the start, and do not act.

    Raises
    ------
    ModelError
        When a collision shape cannot be read, or there is none.

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
        self.proximity = Proximity(model, shape=_whole_shape(model))
        self.left_out: tuple[tuple[str, str], ...] = ()
        n, self._search = model.nv, self.proximity.new_search()
        kernels, self._repulsion = _laws(model, self.proximity.joint_coupling)
        self._factor, self._shorten, self._takeover = map(OwnWork, kernels)
        self._shorten.inputs["tau_max"][:] = model.tau_max
        self._factor.inputs["floor"][:] = floor_of_inertia(model.tau_max, model.v_max)
        self.inputs, self.outputs, self._v = np.zeros(10 * n + n * n), np.zeros(3 * n + 2), np.zeros(n)
        self._numbers = np.zeros(N_NUMBERS)
        self.speed_limits = SPEED_LIMITS
        self.current: list[Any] = [(), parameters]
        self.parameters = parameters
        self._of, self.run = self._search.record, compile_procedure(avoid, keeps_lock=True)(self._record())
        inputs = split(self.inputs, {"state": (3 * n + n * n,), "tau_task": (n,), "J": (6, n)})
        outputs, bound = split(self.outputs, output_shapes(n)), {"current": self.current, "proximity": self.proximity}
        self._call = KernelCall(tick_form(n), self.run, inputs, outputs, bound)

    @property
    def parameters(self) -> AvoidanceParameters:
        """Reach and strength, from the next tick on."""
        parameters: AvoidanceParameters = self.current[1]
        return parameters

    @parameters.setter
    def parameters(self, parameters: AvoidanceParameters) -> None:
        self.current[1] = parameters
        self._numbers[:], self._search.reach[:], self._takeover.inputs["damping"][:] = avoidance_numbers(parameters)

    @property
    def speed_limits(self) -> tuple[float, float]:
        """V_max of (5)."""
        linear, angular = self._shorten.inputs["V_max"].tolist()
        return linear, angular

    @speed_limits.setter
    def speed_limits(self, limits: Sequence[float]) -> None:
        self._shorten.inputs["V_max"][:] = limits

    @property
    def acting_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of links that push each other."""
        return tuple(pair for pair in self.proximity.link_pairs if pair not in self.left_out)

    @property
    def self_pairs(self) -> str:
        """How many pairs of links act, and which do not since the run has begun: a sentence."""
        if self.parameters.self_threshold == 0.0:
            return "self-avoidance: no pair of links acts (self_threshold = 0)"
        act = f"self-avoidance: {len(self.acting_pairs)} of {len(self.proximity.link_pairs)} pairs act"
        names = ", ".join(map(" - ".join, self.left_out))
        return f"{act}; not acting: {names} (overlap at the start)" if names else act

    def begin(self, q: Array) -> None:
        """Let pairs of links act from this posture on, but for those whose capsules overlap in it.

        Capsules are larger than links: what overlaps where an arm stands would push it away for ever.

        Parameters
        ----------
        q : ndarray, shape (nv,)
            Joint positions [rad or m].
        """
        self.left_out = self.proximity.overlapping(q)
        for search in (self._search, self.proximity.search):
            self.proximity.leave_out(search, self.left_out)
        if self.left_out:
            names, n = ", ".join(map(" - ".join, self.left_out)), len(self.acting_pairs)
            LOG.warning("links that overlap at the start do not avoid each other: %s; %d other pairs do", names, n)

    @in_machine_code(lambda avoidance: avoidance._call)
    def tick(
        self,
        terms: Terms,
        obstacles: Sequence[Obstacle],
        tau_task: npt.ArrayLike | None = None,
    ) -> AvoidanceOutput:
        """Avoidance in one state, equations (1) to (9).

        Parameters
        ----------
        tau_task : array_like, shape (nv,), optional
            Torque of any controller, gravity compensation included; 0 by default [N m or N].

        Raises
        ------
        InputError
            When ``tau_task`` has another shape.
        """
        n = len(terms.v)
        tau_task = np.zeros(n) if tau_task is None else np.asarray(tau_task, dtype=float)
        if tau_task.shape != (n,):
            raise InputError(f"tau_task has shape {tau_task.shape}; {n} numbers are needed")
        self._search.place(obstacles)
        self.current[0] = self._search.obstacles
        state = np.concatenate([terms.q, terms.v, terms.h, np.ravel(terms.M)])
        self.inputs[:] = np.concatenate([state, tau_task, np.ravel(terms.J)])
        while self._procedure_now()() > 0.0:
            self._search.make_room()
        tau, _, tau_total = self.outputs[: 3 * n].copy().reshape(3, n)
        share, distance = self.outputs[3 * n :].tolist()
        about = self._search.obstacles, self.parameters, self.proximity
        return AvoidanceOutput(tau, tau_total, share, distance, state, *about)

    def _procedure_now(self) -> BoundProcedure[Tick]:
        """The procedure over the arrays of the search, which are others where it has grown."""
        if self._search.record is not self._of:
            self._of = self._search.record
            self.run.replace(self._record())
        return self.run

    def _record(self) -> Tick:
        search, repulsion, n = self._search.record, self._repulsion, len(self._v)
        near = search.near
        n_sums = 2 * n + n * (n + 1) // 2
        pushes, share = np.zeros((n_sums, near.capacity)), np.zeros((1, near.capacity))
        pair = {"rho": near.distance[RHO], "n": near.distance[NORMAL], "p": near.distance[POINT], "sign": near.sign}
        pair |= {"twist": near.twist, "is_self": near.is_self}
        arm = {"v": self._v, "axes": self._search.axes.reshape(-1), "numbers": self._numbers}
        results = {"links": pushes[:n], "obstacles": pushes[n : 2 * n], "escape": pushes[2 * n :], "share": share}
        factor, shorten, takeover = self._factor, self._shorten, self._takeover
        run = repulsion.bind({**pair, **arm, **results, **factor.outputs})
        x, limited = takeover.inputs, shorten.inputs
        return Tick(
            self.inputs, self.outputs, search,
            factor, factor.inputs["M"], factor.outputs["L_inv"], factor.outputs["H_inv"],
            run, self._v, pushes, share, np.zeros((repulsion.width, n_sums)),
            shorten, limited["M"], limited["L_inv"], limited["H_inv"], limited["J"], limited["v"],
            limited["links"], limited["obstacles"], limited["other"], shorten.outputs["tau"],
            takeover, x["M"], x["v"], x["h"], x["escape"], takeover.outputs["takeover"],
            n, n_sums, repulsion.width,
        )  # fmt: skip


def avoidance_numbers(p: AvoidanceParameters) -> tuple[list[float], list[float], float]:
    """Return the numbers of the law of repulsion, distances that count as near, and the damping of the takeover."""
    reach = [p.threshold, p.self_threshold]
    numbers = [p.eta, *reach, p.smallest_distance, p.takeover_distance, p.approach_damping, p.mass_limit]
    return numbers, reach, p.takeover_damping


def inverse_factors(x: Mapping[str, Array]) -> dict[str, Any]:
    """``L^-1`` of (9), and that of the H of obstacles; lower triangles row by row."""
    n = len(x["floor"])
    M, entries = x["M"].reshape(n, n), np.tril_indices(n)
    H = M + np.diag(x["floor"])
    return {"L_inv": cholesky(M).inverse()[entries], "H_inv": cholesky(H).inverse()[entries]}


def _laws(model: RobotModel, joint_coupling: Array) -> tuple[tuple[Kernel, Kernel, Kernel], LoopKernel]:
    """Return the laws of factors, of what is within limits, of what replaces the task; and that of each pair."""
    n = model.nv
    M, triangle = np.eye(n).ravel() + 0.1, np.ones(n * (n + 1) // 2)
    state = {"M": M, "v": np.linspace(1.0, 2.0, n), "h": np.ones(n)}
    factor = _kernel(model, inverse_factors, M=M, floor=np.ones(n))
    repulsion = model.compile_law(*_repulsion_loop(joint_coupling))
    torques = {name: np.linspace(1.0, 2.0, n) for name in ("links", "obstacles", "other")} | {"tau_max": np.ones(n)}
    hand = {"J": np.linspace(-1.0, 1.0, 6 * n), "V_max": np.array(SPEED_LIMITS)}
    factors = {"M": M, "L_inv": triangle, "H_inv": triangle}
    shorten = _kernel(model, shorten_torque, **factors, v=state["v"], **torques, **hand)
    return (factor, shorten, _kernel(model, takeover_torque, **state, escape=triangle, damping=np.ones(1))), repulsion


def _kernel(model: RobotModel, function: Callable[[Mapping[str, Array]], dict[str, Any]], **sample: Array) -> Kernel:
    law = Law(f"avoidance, {function.__name__}", function, {name: len(x) for name, x in sample.items()})
    return model.compile_law(law, {name: x[None] for name, x in sample.items()})


def _repulsion_loop(joint_coupling: Array) -> tuple[Loop, dict[str, Array]]:
    """:func:`pair_repulsion` over all pairs, and random pairs to compare its kernel on."""
    n_bodies, n = joint_coupling.shape
    pair = {"rho": 1, "n": 3, "p": 3, "sign": n_bodies, "twist": 6, "is_self": 1}
    triangle = n * (n + 1) // 2
    arm = {"axes": 6 * n_bodies, "L_inv": triangle, "H_inv": triangle, "v": n, "numbers": N_NUMBERS}
    function = partial(pair_repulsion, joint_coupling=joint_coupling)
    law = Law("avoidance", function, {**pair, **arm}, joint_coupling.tolist())
    rng = np.random.default_rng(0)
    samples = {key: rng.uniform(-1.0, 1.0, (size, 16)) for key, size in pair.items()}
    samples["rho"] = 0.05 * samples["rho"]
    samples["is_self"] = np.maximum(0.0, np.sign(samples["is_self"]))
    shared = {key: rng.uniform(0.1, 1.0, size) for key, size in arm.items()}
    numbers = np.array([5e-4, 0.1, 0.03, 0.015, 0.01, 30.0, 100.0])
    return Loop(law, "columns", tuple(arm)), {**samples, **shared, "numbers": numbers}


# -- one tick as one compiled call


CALL = "tick"
"""Name of the built-in function."""
INFINITY = float("inf")


class Tick(NamedTuple):
    """All that a tick works with.

    Attributes
    ----------
    inputs : ndarray, shape (3 n + n n + n + 6 n,)
        q, v, h and M of the arm's terms; torque of the task; J.
    outputs : ndarray, shape (3 n + 2,)
        Torque of avoidance, torque in the place of the task's, torque of all, share of the task, distance.
    factor, shorten, takeover : RunsKernel
        Laws of one case; behind each, its inputs and outputs.
    repulsion : RunsLoop
        The law of each near pair; its arrays are ``v``, ``pushes`` and ``share``.
    pushes : ndarray, shape (2 n + n (n + 1) / 2, N)
        Torque of links, of obstacles, then the term of E in (9).
    sums : ndarray, shape (lanes, 2 n + n (n + 1) / 2)
        Of every pair whose place divided by ``lanes`` leaves the same; their sum is the first row.
    n, n_sums, lanes : int
        Joints; numbers that are summed up; sums of each.
    """

    inputs: Floats
    outputs: Floats
    search: CloseSearch
    factor: RunsKernel
    M: Floats
    L_inv: Floats
    H_inv: Floats
    repulsion: RunsLoop
    v: Floats
    pushes: Rows
    share: Rows
    sums: Rows
    shorten: RunsKernel
    M_limited: Floats
    L_inv_limited: Floats
    H_inv_limited: Floats
    J: Floats
    v_limited: Floats
    links: Floats
    obstacles: Floats
    other: Floats
    tau: Floats
    takeover: RunsKernel
    M_takeover: Floats
    v_takeover: Floats
    h_takeover: Floats
    escape: Floats
    tau_takeover: Floats
    n: int
    n_sums: int
    lanes: int


@procedure
def avoid(t: Tick) -> float:
    """One tick: inputs to outputs; returns 1 where there is no room for all near pairs, else 0."""
    for i in range(t.n):
        t.search.arm.q[i] = t.inputs[i]
    n_near = int(find_pairs(t.search))
    if n_near > t.search.near.capacity:
        return 1.0
    n = t.n
    for i in range(2 * n):
        t.outputs[i] = 0.0
    for lane in range(t.lanes):
        for i in range(t.n_sums):
            t.sums[lane, i] = 0.0
    share = 1.0
    distance = INFINITY
    if n_near > 0:
        add_repulsion(t, n_near)
        for j in range(n_near):
            share = min(share, t.share[0, j])
            distance = min(distance, t.search.near.distance[0, j])
    if share < 1.0:
        replace_task(t)
    for i in range(n):
        tau_task = t.inputs[3 * n + n * n + i]
        if share < 1.0:
            tau_task = share * tau_task + (1.0 - share) * t.outputs[n + i]
        t.outputs[2 * n + i] = tau_task
    if n_near > 0:
        limit_push(t)
    for i in range(n):
        t.outputs[2 * n + i] += t.outputs[i]
    t.outputs[3 * n] = share
    t.outputs[3 * n + 1] = distance
    return 0.0


@procedure
def add_repulsion(t: Tick, n_near: int) -> None:
    """Torque of all near pairs."""
    for i in range(t.n * t.n):
        t.M[i] = t.inputs[3 * t.n + i]
    for i in range(t.n):
        t.v[i] = t.inputs[t.n + i]
    t.factor()
    t.repulsion(whole_blocks(n_near))
    for j in range(n_near):
        lane = t.search.near.place[j] % t.lanes
        for i in range(t.n_sums):
            t.sums[lane, i] += t.pushes[i, j]
    for lane in range(1, t.lanes):
        for i in range(t.n_sums):
            t.sums[0, i] += t.sums[lane, i]


@procedure
def limit_push(t: Tick) -> None:
    """Torque of all pairs within the limits, beside the other torque."""
    for i in range(t.n * t.n):
        t.M_limited[i] = t.M[i]
    for i in range(t.n * (t.n + 1) // 2):
        t.L_inv_limited[i] = t.L_inv[i]
        t.H_inv_limited[i] = t.H_inv[i]
    for i in range(6 * t.n):
        t.J[i] = t.inputs[4 * t.n + t.n * t.n + i]
    for i in range(t.n):
        t.v_limited[i] = t.v[i]
        t.links[i] = t.sums[0, i]
        t.obstacles[i] = t.sums[0, t.n + i]
        t.other[i] = t.outputs[2 * t.n + i] - t.inputs[2 * t.n + i]
    t.shorten()
    for i in range(t.n):
        t.outputs[i] = t.tau[i]


@procedure
def replace_task(t: Tick) -> None:
    """Torque in the place of the task's."""
    for i in range(t.n * t.n):
        t.M_takeover[i] = t.inputs[3 * t.n + i]
    for i in range(t.n):
        t.v_takeover[i] = t.inputs[t.n + i]
        t.h_takeover[i] = t.inputs[2 * t.n + i]
    for i in range(t.n_sums - 2 * t.n):
        t.escape[i] = t.sums[0, 2 * t.n + i]
    t.takeover()
    for i in range(t.n):
        t.outputs[t.n + i] = t.tau_takeover[i]


def tick_form(n: int) -> CallForm:
    """Return the form of a tick of terms and obstacles, for n joints."""
    q, v, h = (ArrayArgument("state", (n,), first) for first in (0, n, 2 * n))
    J, M = ArrayArgument("J", (6, n)), ArrayArgument("state", (n, n), 3 * n)
    terms = TupleArgument(Terms, (q, v, None, None, J, None, M, None, h))
    arguments = (terms, ItemsArgument("current"), ArrayArgument("tau_task", (n,)))
    return CallForm(CALL, arguments, result_form("state"), n_required=2, takes_none=True)


def output_shapes(n: int) -> dict[str, tuple[int, ...]]:
    """Return name and shape of each part of the outputs of a tick, for n joints."""
    return {"tau_avoid": (n,), "replacement": (n,), "tau_total": (n,), "share": (), "distance": ()}


def result_form(state: str) -> TupleResult:
    """Return the form of a result, with the name of the arm's terms in it."""
    torques, numbers = map(ArrayResult, ("tau_avoid", "tau_total")), map(NumberResult, ("share", "distance"))
    about = BoundResult("current", 0), BoundResult("current", 1), BoundResult("proximity")
    return TupleResult(AvoidanceOutput, (*torques, *numbers, ArrayResult(state), *about))
