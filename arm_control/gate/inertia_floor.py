"""A floor of joint inertia: what a motor's rotor adds, found by trial where the URDF does not tell it.

Few URDFs have the inertia of rotors, which gears multiply by their ratio squared. Without it a bare wrist of 1e-4
kg m^2 gets gains of 0.02 N m/rad, less than its own friction, and the gate takes any torque that overcomes friction for
an acceleration far beyond the limits. So for joint i a diagonal f is added to the mass matrix,

    (1)  F_i = max(T tau_max_i / v_max_i - min M_ii, 0)      inertia that a motor brings to v_max within T     [kg m^2]
    (2)  f <- min(1.03 f, c),   f = min M_ii / 2, c = F  at the start                                          [kg m^2]

Too much of it makes a joint whose rotor is that light chatter: its speed reverses every few ticks. The floor rises
slowly, so that chatter starts small; it is noticed, and the ceiling c is taken back, for longer each time:

    (3)  s <- 0.95 s + 1  where dv e < 0, |dv| > dv_0, |e| > dv_0,   else  s <- 0.95 s                               [-]
         e <- dv  where |dv| > dv_0,   else  e <- e / 2
    (4)  c <- f / 4,  s <- -4,  w <- max(2 w, 1 s),  t <- 0   where s > 2                                    [kg m^2]
         c <- min(4 c, F),  t <- 0   where t > w,   else   t <- t + dt                                           [s]

with ``dv_0 = max(0.005 v_max, min(0.012 rad/s, 0.02 v_max))``. (3) counts reversals of swings of up to 26 ticks a
period, also those with a small change between two large ones; motions are slower, noise is smaller. (4) depends on
nothing but the measured velocities: all gates that see the same states have the same floor.

A light joint whose floor has been taken back keeps its friction. A torque against it is no acceleration, and the limits
must not cut it. So what holds the joint is estimated, and counts as part of the bias h:

    (5)  d <- clamp(d + (1 - exp(-K dt)) (M dv / dt + h - tau_0 - d), -d_max, d_max),   d_max = 0.3 tau_max      [N m]
    (6)  h <- h - d

It is the estimate of :mod:`~arm_control.control.disturbance_observer`, slower and with M of one state only: where
nothing is cut it has no effect.

An arm that shakes is braked: its torque beside the bias, beyond 0.2 tau_max, changes its sign at speed,

    (7)  z <- z 0.5 s / (0.5 s + dt) + 1   where tau_0 - h has changed its sign and |v| > 0.05 v_max,
         z <- z 0.5 s / (0.5 s + dt)       else;   the gate brakes where z > 6                                       [-]

so twelve times a second; motions that are wanted are slower, and chatter is smaller.

    T          inertia_floor, a time; 0: no floor at all    [s]
    v, dv, e   measured velocity, its change in a tick, its last large change  [rad/s or m/s]
    c, f, F    ceiling, floor, proposed floor               [kg m^2 or kg]
    w, t       time until the next try, time since then     [s]
    M, h       mass matrix with the floor, bias             [kg m^2; N m]
    tau_0, d   torque sent last, torque that is not known   [N m or N]
    K          bandwidth of d, 20 1/s                       [1/s]

The update is compiled where that is possible, one call a tick.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import Law
from arm_control.maths import Array, Scalar, clamp, largest, maximum, minimum, mirrored, select
from arm_control.model import RobotModel, Terms, drawn_range

GROWTH = 1.03
"""Of the floor, each tick: it doubles in 24."""
FIRST = 0.5
"""Floor at the start, as a share of the joint's own inertia."""
SWING = 0.005
"""Change of a joint's speed that counts as chatter, as a share of its speed limit; several times usual noise."""
NOISE, SLOW_SWING = 0.012, 0.02
"""Change of speed that counts at least, several times usual noise [rad/s]; as a share of the speed limit at most."""
FORGETTING, CHATTER, RESPITE, RETREAT, FIRST_WAIT = 0.95, 2.0, -4.0, 4.0, 1.0
"""Of equations (3) and (4)."""
STEPS = 3.0
"""Change of speed that counts at least, in steps of the measured velocities."""
BANDWIDTH = 20.0
"""K of equation (5) [1/s]."""
LARGEST_SHARE = 0.3
"""Of the effort limit, that d is at most."""
SHAKEN, SHAKEN_SPEED, FORGETTING_TIME, SHAKES = 0.2, 0.05, 0.5, 6.0
"""Of equation (7): shares of the limits of effort and speed, time to forget [s], z of an arm that shakes."""
SHORTEST = 1e-9
"""Shortest time between two states [s]."""
SAMPLES = 200
"""Random postures in which the smallest own inertia is looked for."""


class FloorState(NamedTuple):
    """State of the floor, shape (n,) each: floor f, ceiling c, count s, last speed, its last large change e, w, t."""

    f: Array
    c: Array
    s: Array
    v: Array
    e: Array
    w: Array
    t: Array


def update_floor(state: FloorState, v: Array, swing: Array, F: Array, dt: Scalar) -> FloorState:
    """Return the state after another measurement, equations (2) to (4); over any scalar."""
    dv = v - state.v
    is_reversal = select(-dv * state.e, 1.0, 0.0)
    is_large = select(minimum(np.abs(dv), np.abs(state.e)) - swing, 1.0, 0.0)
    e = select(np.abs(dv) - swing, dv, 0.5 * state.e)
    s = FORGETTING * state.s + is_reversal * is_large  # (3)
    has_chatter = s - CHATTER
    may_return = state.t - state.w
    c = select(has_chatter, state.f / RETREAT, select(may_return, minimum(RETREAT * state.c, F), state.c))  # (4)
    w = select(has_chatter, maximum(2.0 * state.w, FIRST_WAIT), state.w)
    t = select(has_chatter, 0.0, select(may_return, 0.0, state.t + dt))
    f = minimum(GROWTH * state.f, c)  # (2)
    return FloorState(f, c, select(has_chatter, RESPITE, s), v, e, w, t)


def count_shakes(
    sign: Array, z: Array, u: Array, v: Array, tau_s: Array, v_s: Array, dt: Scalar
) -> tuple[Array, Array]:
    """Return the sign of the torque u beside the bias, and the count z, equation (7); over any scalar."""
    now = select(u - tau_s, 1.0, select(-u - tau_s, -1.0, sign))
    has_turned = select(-now * sign, 1.0, 0.0) * select(np.abs(v) - v_s, 1.0, 0.0)
    return now, z * (FORGETTING_TIME / (FORGETTING_TIME + dt)) + has_turned


N_STATE = 10
"""Numbers of a joint that are kept: the state of the floor, d, and sign and count of (7)."""


class InertiaFloor:
    """The floor of one arm, tick by tick; ``time`` is T of equation (1) [s].

    Attributes
    ----------
    proposed : ndarray, shape (nv,)
        F of equation (1) [kg m^2 or kg].
    shakes : bool
        Whether the arm shakes, equation (7).

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> floor = InertiaFloor(RobotModel.from_urdf(urdf_path("ur5")), 0.02)
    >>> floor.proposed.round(2)
    array([0.78, 0.32, 0.49, 0.16, 0.17, 0.18])
    """

    def __init__(self, model: RobotModel, time: float) -> None:
        own = smallest_inertias(model)
        self.proposed = np.maximum(time * model.tau_max / model.v_max - own, 0.0)
        self._first = np.minimum(FIRST * own, self.proposed)
        n = model.nv
        swing = np.maximum(SWING * model.v_max, np.minimum(NOISE, SLOW_SWING * model.v_max))
        self._swing = swing
        shaken = SHAKEN * model.tau_max, SHAKEN_SPEED * model.v_max
        self._bounds = np.concatenate([swing, LARGEST_SHARE * model.tau_max, self.proposed, *shaken])
        sizes = {"state": N_STATE * n, "M": n * n, "bounds": 5 * n, **dict.fromkeys(("v", "h", "tau"), n), "numbers": 2}
        self._kernel = model.compile_law(Law("floor of joint inertia", _by_name, sizes, []), _samples(n))
        x, y = self._kernel.inputs, self._kernel.outputs
        self._state_in, self._M_in, self._bounds_in, self._v_in = x["state"], x["M"].reshape(n, n), x["bounds"], x["v"]
        self._h_in, self._tau_in, self._numbers_in = x["h"], x["tau"], x["numbers"]
        self._shaking_out = y["shaking"]
        self._state_out, self._M_out, self._h_out = y["state"], y["M"].reshape(n, n), y["h"]
        self.restart()

    @property
    def inertia(self) -> Array:
        """The floor f, shape (nv,) [kg m^2 or kg]."""
        return self._floor.f.copy()

    def describe(self, joint_names: Sequence[str]) -> str:
        """Return one line with the largest floor of each joint."""
        joints = zip(joint_names, self.proposed, strict=True)
        return ", ".join(f"{name} {inertia:.3g}" for name, inertia in joints) + " kg m^2"

    def restart(self) -> None:
        """Start again with the first floor."""
        self._is_first, self.shakes = True, False
        self._memory = np.zeros((N_STATE, len(self._first)))
        self._floor = FloorState(*self._memory[: len(FloorState._fields)])
        self._floor.f[:], self._floor.c[:] = self._first, self.proposed
        self._steps = np.zeros(len(self._first))
        self._bounds[: len(self._first)] = self._swing

    def expect(self, steps: Array) -> None:
        """Let changes of a joint's velocity count from three of its steps on, shape (nv,) [rad/s or m/s].

        Where they did not before, its floor starts again: the steps have looked like chatter.
        """
        if steps is self._steps:
            return
        n, floor = len(steps), self._floor
        is_new = (steps > 0.0) & (self._steps == 0.0)
        floor.f[is_new], floor.c[is_new] = self._first[is_new], self.proposed[is_new]
        floor.s[is_new] = floor.w[is_new] = 0.0
        self._steps = steps
        self._bounds[:n] = np.maximum(self._swing, STEPS * steps)

    def shaking_joint(self) -> int:
        """Return the number of the joint that shakes most."""
        return int(np.argmax(self._memory[-1]))

    def add_to(self, terms: Terms, tau: Array, dt: float) -> Terms:
        """Update the floor in a state, and return the state's terms with the floor in M, and with h of (6)."""
        if self._is_first:
            self._floor.v[:] = terms.v
            self._is_first, dt = False, 0.0
        self._state_in[...], self._bounds_in[...] = self._memory.ravel(), self._bounds  # gates may share the kernel
        self._M_in[...], self._v_in[...], self._h_in[...], self._tau_in[...] = terms.M, terms.v, terms.h, tau
        self._numbers_in[...] = max(dt, SHORTEST), -math.expm1(-BANDWIDTH * dt)
        self._kernel.call()
        self._memory.reshape(-1)[...] = self._state_out
        self.shakes = float(self._shaking_out[0]) > SHAKES
        return terms._replace(M=self._M_out.copy(), h=self._h_out.copy())


@lru_cache(maxsize=8)
def _smallest(model: RobotModel) -> tuple[float, ...]:
    low, high = drawn_range(model.q_min, model.q_max)
    postures = np.random.default_rng(0).uniform(low, high, (SAMPLES, model.nq))
    return tuple(np.min([model.mass_matrix(q).diagonal() for q in postures], axis=0).tolist())


def smallest_inertias(model: RobotModel) -> Array:
    """Return the smallest ``M_ii`` of each joint over random postures, shape (nv,) [kg m^2 or kg]."""
    return np.array(_smallest(model))


def _by_name(x: Mapping[str, Array]) -> dict[str, Any]:
    """The equations of this module as a law: from inputs by name to outputs by name."""
    *floor, d, sign, z = x["state"].reshape(N_STATE, -1)
    (swing, d_max, F, tau_s, v_s), (dt, gain) = x["bounds"].reshape(5, -1), x["numbers"]
    before = FloorState(*floor)
    updated = update_floor(before, x["v"], swing, F, dt)
    M = mirrored(x["M"].reshape(len(d), -1)) + np.diag(updated.f)
    y = M @ ((x["v"] - before.v) / dt) + x["h"] - x["tau"]
    d = clamp(d + gain * (y - d), -d_max, d_max)  # (5)
    sign, z = count_shakes(sign, z, x["tau"] - x["h"], x["v"], tau_s, v_s, dt)
    state = np.array([*updated, d, sign, z]).ravel()
    return {"state": state, "M": M.ravel(), "h": x["h"] - d, "shaking": np.array([largest(z)])}


def _samples(n: int) -> dict[str, Array]:
    """Inputs to compare the kernel on, every case of the law among them."""
    rng, k = np.random.default_rng(0), 4
    positive = rng.uniform(0.1, 5.0, (k, 3 * n))
    turned = rng.choice([-1.0, 0.0, 1.0], (k, n))
    state = np.hstack([positive, rng.uniform(-1.0, 1.0, (k, 2 * n)), rng.uniform(0.1, 5.0, (k, 3 * n)), turned])
    state = np.hstack([state, rng.uniform(0.0, 7.0, (k, n))])
    vectors = {name: rng.uniform(-1.0, 1.0, (k, n)) for name in ("v", "h", "tau")}
    A = rng.uniform(-0.5, 0.5, (k, n, n))
    M = (A @ A.swapaxes(1, 2) + np.eye(n)).reshape(k, -1)
    return {
        "state": state,
        "M": M,
        "bounds": rng.uniform(0.1, 1.0, (k, 5 * n)),
        **vectors,
        "numbers": np.tile([1.0, 0.2], (k, 1)),
    }
