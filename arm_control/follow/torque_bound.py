"""A bound of how far the torque of a motion bends between two knots, and with it of the torque itself.

Between knots a time h apart, where the torque has a second derivative,

    (1)  |tau(t)| <= max(|tau_k|, |tau_{k+1}|) + h^2 / 8 max |tau''|
    (2)  |tau_k| + h^2 / 8 max(bend_{k-1}, bend_k) <= tau_max        at every knot proves the whole motion

and ``tau''`` is bounded by the recursive Newton-Euler algorithm in *magnitudes*: bounds of the length of a vector and
of its first two derivatives, in the frame of its body,

    (3)  |x + y| <= |x| + |y|,  |x y|'' <= |x|'' |y| + 2 |x|' |y|' + |x| |y|''       also of cross products
    (4)  R: 1, v, v^2 + a        a rotation by a joint of speed v and acceleration a, and its derivatives

with the largest speed, acceleration and jerk of each joint up to the next knot; the jerk is constant there. It holds in
all postures, so it is larger than the true one, by 10 to 50 times: of a torque, h^2 / 8 of that is little.

Source: for (1), C. de Boor, "A practical guide to splines", 1978, chapter 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import Law
from arm_control.maths import Array, Scalar, sqrt
from arm_control.model import TOOL, Body, RobotModel, State, Tree

N_SAMPLES = 9
"""Random motions that a new kernel is compared on."""


class Magnitude(NamedTuple):
    """Bounds of the length of a vector and of its derivatives, (3)."""

    size: Scalar
    rate: Scalar = 0.0
    bend: Scalar = 0.0

    def plus(self, other: Magnitude) -> Magnitude:
        """Of a sum."""
        return Magnitude(self.size + other.size, self.rate + other.rate, self.bend + other.bend)

    def times(self, other: Magnitude) -> Magnitude:
        """Of a product."""
        return Magnitude(
            self.size * other.size,
            self.rate * other.size + self.size * other.rate,
            self.bend * other.size + 2.0 * self.rate * other.rate + self.size * other.bend,
        )


class Moving(NamedTuple):
    """How a body moves at most: angular velocity and acceleration, acceleration of its origin, and its own joint."""

    w: Magnitude
    w_rate: Magnitude
    acceleration: Magnitude
    turn: Magnitude
    arm: Magnitude


def torque_law(model: RobotModel) -> Law:
    """Return the law of torque and bend: inputs ``q v a v_most a_most j_most tool`` to outputs ``tau bend``."""
    sizes = dict.fromkeys(("q", "v", "a", "v_most", "a_most", "j_most"), model.nv)
    reach = np.where(np.isfinite(model.q_max - model.q_min), np.maximum(abs(model.q_min), abs(model.q_max)), 0.0)
    text = partial(_torque_and_bend, model.tree, reach)
    return Law("torque between knots", text, {**sizes, "tool": TOOL}, reach.tolist())


def torque_samples(model: RobotModel) -> dict[str, Array]:
    """Inputs to compare a kernel on, one sample a row."""
    rng, names = np.random.default_rng(0), ("q", "v", "a", "v_most", "a_most", "j_most")
    samples = {name: rng.uniform(0.0, 1.0, (N_SAMPLES, model.nv)) for name in names}
    return {**samples, "tool": np.tile(model.tool, (N_SAMPLES, 1))}


def _torque_and_bend(tree: Tree, reach: Array, x: Mapping[str, Array]) -> dict[str, Any]:
    state = State(tree, {**x, "F_E": np.zeros(6)})
    return {"tau": state.tau, "bend": torque_bend(state.tree, reach, x["v_most"], x["a_most"], x["j_most"])}


def torque_bend(tree: Tree, reach: Array, v: Array, a: Array, j: Array) -> Array:
    """Return bounds of ``|tau''|`` of each joint, shape (n,) [N m/s^2 or N/s^2].

    Parameters
    ----------
    reach : ndarray, shape (n,)
        Largest distance of a prismatic joint from its zero [m].
    v, a, j : ndarray, shape (n,)
        Largest speed, acceleration and jerk of each joint.
    """
    still, g = Magnitude(0.0), Magnitude(float(np.linalg.norm(tree.gravity)))
    moving = [Moving(still, still, g, still, still)]
    for body in tree.bodies:
        k, ratio = body.coordinate, abs(body.ratio)
        speed, change = Magnitude(v[k], a[k], j[k]), Magnitude(a[k], j[k])
        scale, farthest = Magnitude(ratio), ratio * reach[k] + abs(body.offset)
        moving.append(_carried(body, moving[body.parent + 1], scale.times(speed), scale.times(change), farthest))
    return _bends(tree, moving[1:])


def _carried(body: Body, p: Moving, speed: Magnitude, change: Magnitude, reach: float) -> Moving:
    """How a body moves, carried by its parent."""
    arm, fixed = Magnitude(float(np.linalg.norm(body.X_PJ.p))), Magnitude(1.0)
    bent = p.w_rate.plus(p.w.times(p.w))
    if body.is_prismatic:
        arm = arm.plus(Magnitude(reach, speed.size, change.size))
        pushed = change.plus(Magnitude(2.0).times(p.w).times(speed))
        return Moving(p.w, p.w_rate, p.acceleration.plus(bent.times(arm)).plus(pushed), fixed, arm)
    turn = Magnitude(1.0, speed.size, speed.size * speed.size + speed.rate)  # (4)
    w = turn.times(p.w)
    w_rate = turn.times(p.w_rate).plus(change).plus(w.times(speed))
    return Moving(w.plus(speed), w_rate, turn.times(p.acceleration.plus(bent.times(arm))), turn, arm)


def _bends(tree: Tree, moving: list[Moving]) -> Array:
    """Bounds of each joint's ``|tau''|``, from forces and moments at the bodies' origins."""
    bends = np.array([0.0] * tree.n, dtype=object)
    forces, moments = ([Magnitude(0.0)] * len(moving) for _ in range(2))
    for i in reversed(range(len(moving))):
        body, m = tree.bodies[i], moving[i]
        mass, first, second = (Magnitude(x) for x in _sizes(body))
        bent = m.w_rate.plus(m.w.times(m.w))
        f = forces[i].plus(mass.times(m.acceleration)).plus(first.times(bent))
        n = moments[i].plus(second.times(bent)).plus(first.times(m.acceleration))
        bends[body.coordinate] = bends[body.coordinate] + abs(body.ratio) * (f if body.is_prismatic else n).bend
        if body.parent >= 0:
            f, n = m.turn.times(f), m.turn.times(n)
            forces[body.parent] = forces[body.parent].plus(f)
            moments[body.parent] = moments[body.parent].plus(n).plus(m.arm.times(f))
    return bends


def _sizes(body: Body) -> tuple[Scalar, Scalar, Scalar]:
    """Mass, length of the first moment, and norm of the second moment of a body."""
    inertia = body.inertia
    return inertia.m, sqrt(inertia.h @ inertia.h), sqrt((inertia.J * inertia.J).sum())
