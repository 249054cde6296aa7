"""A disturbance observer: torque that the model does not know is estimated, and compensated.

Friction, a payload that nobody has told of, a cable, a wrong mass: all of them act as a torque tau_d on the joints,

    (1)  M a + C v + g = tau + tau_dist + tau_d

The generalised momentum tells it without any acceleration. With ``dM/dt = C + C^T``,

    (2)  p = M v,   dp/dt = tau + tau_dist + tau_d + C^T v - g
    (3)  r = K (p - integral (tau + tau_dist + C^T v - g + r) dt)   so that   dr/dt = K (tau_d - r)

Between two states, 0 and 1, the torque tau_0 that was sent is constant, and ``p_1 - p_0 = M_m (v_1 - v_0) + (M_1 - M_0)
v_m`` with the means M_m, v_m. The trapezoidal rule for the integral of ``(C + C^T) v - C^T v`` leaves

    (4)  y = M_m (v_1 - v_0) / dt + h_m - tau_0 - tau_dist            tau_d, mean of the time between the states
    (5)  r <- clamp(r + (1 - exp(-K dt)) (y - r), -r_max, r_max)      r_max = observer_share tau_max, or with a
                                                 rated payload m what it weighs at most, 0.1 tau_max + m W, if more

The torque counted is the one that the gate has sent, not the law's: effort, rate and joint limits do not wind r up.
While the gate brakes, r only shrinks, ``r <- exp(-dt / T_r) r``; where f is taken back, it starts from 0 again. The
compensated torque carries the arm, tau_b, and accelerates it, tau_c:

    (6)  tau = tau_b + nu tau_c,   tau_b = h - tau_dist - r,   tau_c = (M + f) a_law,   M a_law = tau_law + tau_dist - h
    (7)  nu = min(1, min_i room_i / |tau_c|_i)
         room = max(s tau_max - sgn(tau_c) tau_b, (s_0 + s_v max(-sgn(tau_c) v, 0) / v_max) tau_max)

with the floor of inertia f (:mod:`~arm_control.gate.inertia_floor`), which is part of M in (4), too: a law that
asks for an acceleration gets the torque for the rotors as well. A payload takes torque that the law has planned with,
so (7) shortens an acceleration, and keeps its direction, where a joint would need more than the share s of its limit;
a small share s_0 is always left for it, and a joint in motion may be braked with more. The estimate is of first order:
of a constant torque it knows ``1 - exp(-K t)`` after a time t. With the law's gains k_p and k_v, a joint with m times
the inertia of the model is stable while ``(K + k_v) (k_p + K k_v) > m K k_p``.

    p, v, a, q           momentum, joint velocity, acceleration, position     [N m s; rad/s; rad/s^2; rad]
    M, C, g, h           mass matrix, Coriolis matrix, gravity torque, bias   [kg m^2; N m s/rad; N m; N m]
    tau_law, tau, tau_0  torque: of the law, compensated, sent last           [N m]
    tau_dist, tau_d, r   disturbance: known, unknown, estimated               [N m]
    s, nu                torque_share; shortening of the acceleration         [-]
    K, dt, T_r           bandwidth, time between two states, time to forget   [1/s; s; s]

Sources: A. De Luca, R. Mattone, "Actuator failure detection and isolation using generalized momenta", 2003, for (2)
and (3); K. Ohnishi, M. Shibata, T. Murakami, "Motion control for advanced mechatronics", 1996, for (6) without f, nu.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from arm_control.compiler import Law
from arm_control.core import Parameters, parameter
from arm_control.maths import Array, clamp, largest, maximum, mirrored, select, solve
from arm_control.model import RobotModel, Terms, drawn_range

HIGHEST_BANDWIDTH = 80.0
"""Proposed K [1/s]: well above the law's own 14 rad/s, so that friction that turns round is met in time."""
PER_TICK = 0.32
"""Proposed K dt at most."""
LAG = 0.017
"""Lag of the velocities above which accelerations are shortened [s]."""
PER_LAG = 0.4
"""Proposed K times the lag of the velocities at most; with 0.6 an arm of 0.63 rad/s, with 40 N m, shakes."""
FORGETTING_TIME = 0.5
"""T_r [s]."""
UNBOUNDED = 1e9
"""Effort limit of a joint that has none [N m or N]; share of it that no torque reaches."""
LEAST_SHARE, BRAKING_SHARE = 0.05, 2.0
"""s_0 and s_v of (7)."""
SHORTEST = 1e-9
"""Shortest time between two states [s]."""
FRICTION, LARGEST_SHARE = 0.1, 0.9
"""Shares of the effort limit: of friction beside a rated payload, and of any estimate that a payload asks for."""
POSTURES = 200
"""Random postures in which the largest weight of a payload is looked for."""


@dataclass(frozen=True)
class ObserverParameters(Parameters):
    """Whether and how unknown torque is compensated."""

    disturbance_observer: bool = parameter(
        False, "estimate torque that the model does not know (friction, payload), and compensate it"
    )
    observer_bandwidth: float = parameter(
        0.0, "bandwidth of the estimate; 0: 80, or 0.32 times the rate of the states", unit="1/s", lower=0.0
    )
    observer_share: float = parameter(0.3, "largest estimate, as a share of the effort limit", lower=0.0, upper=1.0)
    rated_payload: float = parameter(
        0.0,
        "payload that the maker allows: the estimate may grow to its weight and friction; 0: observer_share alone",
        unit="kg",
        lower=0.0,
    )
    weight_share: float = parameter(
        1.3,
        "share of the model's weight that may be carried beside it in the first second of a motion: above it the arm"
        " stops; 0: any",
        lower=0.0,
    )
    weighing_time: float = parameter(
        0.0,
        "time for which the arm is held at the start, before goals act, so that its weight is compared at rest",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    push_limit: float = parameter(
        50.0, "largest force of a hand that stands still though it is asked to move; 0: none", unit="N", lower=0.0
    )
    torque_share: float = parameter(
        0.68,
        "with the observer, towards poses: share of the effort limit above which less is accelerated; braking may use"
        " more",
        lower=0.1,
        upper=1.0,
    )


class DisturbanceObserver:
    """The observer of one arm, tick by tick.

    Parameters
    ----------
    shortens : bool
        Whether equation (7) counts.
    estimates : bool
        Whether equation (5) counts; without it r stays zero.

    Attributes
    ----------
    r : ndarray, shape (nv,)
        Estimated torque [N m or N].
    residual : ndarray, shape (nv,)
        y of (4): the torque that was neither sent nor known between the last two states [N m or N].
    is_residual_valid : bool
        Whether it counts: there were two states, and the gate passed commands.
    bandwidth : float
        K of the last estimate [1/s].

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> observer = DisturbanceObserver(model, ObserverParameters(observer_bandwidth=10.0))
    >>> at_rest, none = model.evaluate(np.zeros(6), np.zeros(6)), np.zeros(6)
    >>> for _ in range(101):  # 0.1 s at rest with 2 N m more than the weight: something pushes back
    ...     tau = observer.tick(at_rest, at_rest.h, none, none, 1e-3)
    ...     observer.sent(at_rest.h + [0.0, 2.0, 0.0, 0.0, 0.0, 0.0], none, is_passing=True)
    >>> (observer.r / 2.0).round(3) + 0.0
    array([ 0.   , -0.632,  0.   ,  0.   ,  0.   ,  0.   ])
    """

    def __init__(
        self, model: RobotModel, parameters: ObserverParameters, *, shortens: bool = True, estimates: bool = True
    ) -> None:
        n = model.nv
        self._estimates = estimates
        self._asked_bandwidth = parameters.observer_bandwidth
        self.bandwidth = self._asked_bandwidth or HIGHEST_BANDWIDTH
        self._torque_share = parameters.torque_share if shortens else UNBOUNDED
        tau_max = np.where(np.isfinite(model.tau_max), model.tau_max, UNBOUNDED)
        v_max = np.where(np.isfinite(model.v_max), model.v_max, 1.0)
        self._r_max = estimate_share(model, parameters) * tau_max
        bounds = np.array([self._r_max, tau_max, BRAKING_SHARE * tau_max / v_max])
        sizes = {"memory": n * n + 4 * n, "M": n * n, **dict.fromkeys(_VECTORS, n), "numbers": 5}
        law = Law("disturbance observer", partial(_by_name, bounds), sizes, bounds.tolist())
        kernel = model.compile_law(law, _samples(n))
        x, y = kernel.inputs, kernel.outputs
        self._call, self._memory_in, self._numbers_in = kernel.call, x["memory"], x["numbers"]
        self._M_in = x["M"].reshape(n, n)
        self._v_in, self._h_in, self._law_in, self._dist_in, self._sent_in, self._floor_in = (x[k] for k in _VECTORS)
        self._memory_out, self._tau_out, self._residual_out = y["memory"], y["tau"].copy, y["residual"].copy
        self._memory = np.zeros(n * n + 4 * n)
        self.r = self._memory[-2 * n : -n]
        self.residual = np.zeros(n)
        self.reset()

    def reset(self) -> None:
        """Forget the estimate: a run begins."""
        self._memory[:] = 0.0
        self._sent: Array | None = None
        self._is_passing = self.is_residual_valid = False

    def begin_with(self, r: Array) -> bool:
        """Begin with an estimate, within its bounds, where the observer estimates; return whether it does."""
        if self._estimates:
            self.reset()
            self.r[:] = np.clip(r, -self._r_max, self._r_max)
        return self._estimates

    def sent(self, tau: Array, tau_dist: Array, *, is_passing: bool) -> None:
        """Take note of the torque sent in the last state.

        Parameters
        ----------
        tau : ndarray, shape (nv,)
            Torque that the gate has let through [N m or N].
        """
        self._sent, self._is_passing = tau + tau_dist, is_passing

    def tick(self, terms: Terms, tau_law: Array, tau_dist: Array, floor: Array, dt: float, lag: float = 0.0) -> Array:
        """Estimate, and return the compensated torque, shape (nv,) [N m or N].

        Parameters
        ----------
        tau_law, tau_dist : ndarray, shape (nv,)
            Torque of the law and of known disturbances [N m or N].
        floor : ndarray, shape (nv,)
            Floor of inertia; zero for none [kg m^2 or kg].
        lag : float
            Lag of the velocities behind a filter [s].
        """
        self._memory_in[...] = self._memory
        slow = max((lag + dt) / LAG, 1.0) if lag else 1.0
        self._numbers_in[...] = (max(dt, SHORTEST), *self._gains(dt, lag), self._torque_share, slow)
        self._M_in[...], self._v_in[...], self._h_in[...] = terms.M, terms.v, terms.h
        self._law_in[...], self._dist_in[...], self._floor_in[...] = tau_law, tau_dist, floor
        self._sent_in[...] = 0.0 if self._sent is None else self._sent
        self._call()
        self._memory[...] = self._memory_out
        self.residual = self._residual_out()
        self.is_residual_valid = self._sent is not None and self._is_passing and dt > 0.0
        return self._tau_out()

    def _gains(self, dt: float, lag: float) -> tuple[float, float]:
        """Share of y that r takes, and share of r that is kept, in (5)."""
        if self._sent is None or dt <= 0.0 or not self._estimates:
            return 0.0, 1.0
        if not self._is_passing:
            return 0.0, math.exp(-dt / FORGETTING_TIME)
        K = self._asked_bandwidth or min(HIGHEST_BANDWIDTH, PER_TICK / dt)
        self.bandwidth = min(K, PER_LAG / (lag + dt)) if lag else K
        keep = math.exp(-self.bandwidth * dt)
        return 1.0 - keep, keep


def estimate_share(model: RobotModel, parameters: ObserverParameters) -> Array:
    """Return the largest estimate of each joint, as a share of its effort limit, shape (nv,)."""
    share = np.full(model.nv, parameters.observer_share)
    if not parameters.rated_payload:
        return share
    low, high = drawn_range(model.q_min, model.q_max)
    postures = np.random.default_rng(0).uniform(low, high, (POSTURES, model.nq))
    W = np.max([np.abs(model.jacobian(q)[:3].T @ model.gravity_W) for q in postures], axis=0)
    return np.clip(FRICTION + parameters.rated_payload * W / model.tau_max, share, LARGEST_SHARE)


_VECTORS = ("v", "h", "tau_law", "tau_dist", "tau_0", "floor")


def _by_name(bounds: Array, x: Mapping[str, Array]) -> dict[str, Any]:
    """Equations (4) to (7) as a law: from inputs by name to outputs by name.

    Parameters
    ----------
    bounds : ndarray, shape (3, n)
        Bound of the estimate, effort limit [N m or N], torque to brake with per speed [N m s/rad or N s/m].
    x : mapping of str to array
        ``memory`` has M_0 with the floor, v_0, h_0, r and the floor; ``numbers`` are dt, the shares of (5) and s.
    """
    r_max, tau_max, braking = bounds
    n = len(r_max)
    v, h, tau_law, tau_dist, tau_0, floor = (x[name] for name in _VECTORS)
    M_0, (v_0, h_0, r, floor_0) = x["memory"][: n * n].reshape(n, n), x["memory"][n * n :].reshape(4, n)
    dt, gain, keep, share, slow = x["numbers"]
    M = mirrored(x["M"].reshape(n, n))
    M_1 = M + np.diag(floor)
    M_m, h_m = 0.5 * (mirrored(M_0) + M_1), 0.5 * (h_0 + h)
    y = M_m @ ((v - v_0) / dt) + h_m - tau_0  # (4)
    r = select(floor_0 - floor, 0.0, r)  # chatter has spoiled it
    r = clamp(keep * r + gain * y, -r_max, r_max)  # (5)
    tau_a = tau_law + tau_dist - h
    tau_b, tau_c = h - tau_dist - r, tau_a + floor * solve(M, tau_a)
    least = LEAST_SHARE * tau_max + braking * maximum(select(tau_c, -v, v), 0.0)
    room = maximum(share * tau_max - select(tau_c, tau_b, -tau_b), least)
    nu = 1.0 / maximum(largest(np.abs(tau_c) / room), slow)  # (7)
    tau = tau_b + nu * tau_c  # (6)
    return {"memory": np.concatenate([M_1.ravel(), v, h, r, floor]), "tau": tau, "residual": y}


def _samples(n: int) -> dict[str, Array]:
    """Inputs to compare the kernel on."""
    rng, k = np.random.default_rng(0), 3
    A = rng.uniform(-0.5, 0.5, (k, n, n))
    M = (A @ A.swapaxes(1, 2) + np.eye(n)).reshape(k, -1)
    vectors = {name: rng.uniform(-1.0, 1.0, (k, n)) for name in _VECTORS}
    memory = np.hstack([M, rng.uniform(-1.0, 1.0, (k, 4 * n))])
    return {"memory": memory, "M": M, **vectors, "numbers": np.tile([0.01, 0.1, 0.9, 0.5, 1.2], (k, 1))}
