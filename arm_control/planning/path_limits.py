"""Limits along a path: from joint limits to lines in the plane of path speed and path acceleration.

Along a path q(s), with ' for d/ds and a dot for d/dt, the motion is ``v = q' s_dot``, ``a = q' s_ddot + q'' s_dot^2``.
With the unknowns ``x = s_dot^2`` and ``u = s_ddot`` every limit on acceleration or torque is a strip,

    (1)  |A u + B x + C| <= t     acceleration:  A = q',   B = q'',                       C = 0
                                  torque:        A = M q', B = M q'' + h(q, q') - g,       C = g

and every limit on speed a bound of x: ``q'^2 x <= v_max^2`` and ``|J_p q'|^2 x <= V_max^2``. Over one interval of the
grid, of length D, u is constant, so x is linear,

    (2)  x(s + r D) = x + 2 r D u,   0 <= r <= 1

and a strip is imposed at both ends, each with the (A, B, C) there. *Between* the ends A, B and C bend away from their
chords, by no more than d_A, d_B, d_C, so the left side bends away from its chord by no more than

    (3)  m = (d_A + 2 D (|B_1 - B_0| / 4 + d_B)) |u| + d_B x + d_C

and t is reduced by m: the limit then holds in the whole interval. The bends are measured at the middle of the interval
and of both its neighbours, whose largest one covers the terms of third order, too; they count 5/4 fold. For speeds x is
at most that at one of the ends, and q' at most its larger end and d_q'.

Divided by A, a strip is two lines, ``L_j + S_j x <= u <= R_j + S_j x``. All of them together leave a convex set, to
which (x, u) = (0, 0) belongs where the arm can stand still. Its largest x is the zero of the concave function
``min_j (R_j + S_j x) - max_j (L_j + S_j x)``: Newton's steps from above never pass it, and a chord from x = 0, which
never exceeds it, ends them. One more line, ``x + 2 D u >= x / 4``, keeps a motion from being as fast as it may at one
point and at rest at the next; the last interval, which ends at rest, has it for its cap only. What can be done in one
interval with a next x of at most X is again made of lines:

    (4)  x <= (X / 2D - L_j) / (S_j + 1 / 2D)     for every j, where the divisor is positive: x = alpha_j X + beta_j
    (5)  X <= x + 2 D (R_j + S_j x)               for every j:                                X = gamma_j x + eta_j

    s, D            path parameter, length of an interval     [rad, m, or whatever the path has]
    x, u            square of the path's speed; acceleration  [unit of s, squared, over s^2; unit of s over s^2]
    M, h, g, J_p    mass matrix, bias, gravity; Jacobian of the tip's position

Sources: J. Bobrow, S. Dubowsky, J. Gibson, "Time-optimal control of robotic manipulators along specified paths", 1985,
for (1); H. Pham, Q.-C. Pham, "A new approach to time-optimal path parameterization based on reachability analysis",
2018, for (4) and (5) in sets of speeds. The bounds (3) and the lines are of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import Law, Loop
from arm_control.maths import Array, Scalar, dot, maximum, minimum, select, sqrt
from arm_control.model import TOOL, State, Tree
from arm_control.planning.motion_laws import DEGREE, path_point

BEND = 1.25
"""Factor of measured bends."""
FLATTEST = 1e-7
"""Smallest A, as a share of t over the largest u: flatter strips are taken as this steep, and that much narrower."""
NEVER = 1e-12
"""Smallest divisor where the quotient has no upper bound of its own."""
ROUNDING = 1.0 - 1e-12
"""Share of a bound of x that counts."""
SLOWEST = 0.25
"""Smallest x at the end of an interval, as a share of that at its start."""
STEPS = 4, 6
"""Newton's steps: to a first bound of x, and then to the largest x."""

Inputs = Mapping[str, Array]


class Strips(NamedTuple):
    """Strips of equation (1), shape (k,) each."""

    A: Array
    B: Array
    C: Array
    t: Array


class Lines(NamedTuple):
    """Their borders: ``L + S x <= u <= R + S x``, shape (k,) each."""

    L: Array
    R: Array
    S: Array


def point_loop(tree: Tree) -> Loop:
    """Coefficients of (1) at points: ``values`` has A, B, C of torque, q', q'', J_p q', shape (5 n + 3,)."""
    n = tree.n

    def compute(i: Inputs) -> dict[str, Any]:
        q, dq, ddq = path_point(i["coefficients"], i["s"][0])
        arm = State(tree, {"q": q, "v": dq, "tool": i["tool"]})
        g = arm.g
        return {"values": np.concatenate([arm.M @ dq, arm.M @ ddq + arm.h - g, g, dq, ddq, arm.V_WE[:3]])}

    law = Law("path, points", compute, {"s": 1, "coefficients": DEGREE * n, "tool": TOOL})
    return Loop(law, "rows", shared=("tool",))


def interval_loop(n: int, has_acceleration: bool) -> Loop:
    """Lines (4) and (5) of the intervals, and bounds of x at their start (``cap``) and over all of it (``ceiling``).

    Torques are limited, and accelerations on request.
    """
    size = 5 * n + 3
    shared = {"tau_max": n, "a_max": n, "v_max": n, "tip_speed": 1}
    rows = {"start": size, "end": size, "bend": size, "step": 1}
    law = Law("path, intervals", lambda i: _interval(i, n, has_acceleration), {**rows, **shared}, [n, has_acceleration])
    return Loop(law, "rows", shared=tuple(shared))


def backward_loop(k: int) -> Loop:
    """The largest speed at the start of each interval from which the end can be reached: equation (4)."""

    def compute(i: Inputs) -> dict[str, Any]:
        K = _smallest([i["cap"][0], *(i["alpha"] * i["K"][0] + i["beta"])])
        return {"K": [K], "reach": [K]}

    law = Law("path, backward", compute, {"K": 1, "alpha": k, "beta": k, "cap": 1}, [k])
    return Loop(law, "rows", carried=("K",), backwards=True)


def forward_loop(k: int) -> Loop:
    """The largest speed at the end of each interval: equation (5)."""

    def compute(i: Inputs) -> dict[str, Any]:
        x = maximum(_smallest([i["reach"][0], *(i["gamma"] * i["x"][0] + i["eta"])]), 0.0)
        return {"x": [x], "speed": [x]}

    law = Law("path, forward", compute, {"x": 1, "gamma": k, "eta": k, "reach": 1}, [k])
    return Loop(law, "rows", carried=("x",))


def line_count(n: int, has_acceleration: bool) -> int:
    """Number of lines of :func:`interval_loop`, whose arguments these are; the last one is that of SLOWEST."""
    return 1 + (4 * n if has_acceleration else 2 * n)


def _interval(i: Inputs, n: int, has_acceleration: bool) -> dict[str, Any]:
    D, start, end, bend = i["step"][0], i["start"], i["end"], BEND * i["bend"]
    ceiling = _speed_bound(start, end, bend, i["v_max"], i["tip_speed"][0], n)
    ends, bends = [], []
    for first, t in ((0, i["tau_max"]), *(((3, i["a_max"]),) if has_acceleration else ())):
        here, there, bent = (_coefficients(values, first, n) for values in (start, end, bend))
        ends += [Strips(*here, t), Strips(there[0] + 2.0 * D * there[1], there[1], there[2], t)]  # (2)
        across = bent[0] + 2.0 * D * (0.25 * abs(there[1] - here[1]) + bent[1])
        bends += [(across, bent[1], bent[2])] * 2
    strips = Strips(*(np.concatenate(parts) for parts in zip(*ends, strict=True)))
    across, along, apart = (np.concatenate(parts) for parts in zip(*bends, strict=True))

    wide = _lines(strips, NEVER)
    x_most = _newton(wide, D, ceiling, STEPS[0])
    u_most = _smallest(list(maximum(abs(wide.L), abs(wide.R)) + abs(wide.S) * x_most))
    flat = FLATTEST * strips.t / maximum(u_most, NEVER)
    m = (across + flat) * u_most + along * x_most + apart  # (3)
    lines = _lines(strips._replace(t=strips.t - m), flat)

    x = _newton(lines, D, x_most, STEPS[1])
    room_0, (offset, slope) = _room(lines, D, 0.0)[0], _room(lines, D, x)
    room = offset + slope * x
    cap = x * select(-room, room_0 / maximum(room_0 - room, NEVER), 1.0)
    divisor = lines.S + 0.5 / D
    has_bound = divisor - NEVER
    r = 1.0 / select(has_bound, divisor, 1.0)
    return {
        "alpha": [*select(has_bound, 0.5 / D * r, 0.0), 1.0 / SLOWEST],  # (4)
        "beta": [*select(has_bound, -lines.L * r, 1.0 / NEVER), 0.0],
        "gamma": [*(1.0 + 2.0 * D * lines.S), 0.0],  # (5)
        "eta": [*(2.0 * D * lines.R), 1.0 / NEVER],
        "cap": [minimum(cap, ceiling)],
        "ceiling": [ceiling],
        "room": [_smallest(list(strips.t - m - abs(strips.C)))],
    }


def _coefficients(values: Array, first: int, n: int) -> tuple[Array, Array, Array]:
    """A, B, C of torque (``first`` 0) or acceleration (3)."""
    A, B = values[first * n : (first + 1) * n], values[(first + 1) * n : (first + 2) * n]
    return A, B, values[2 * n : 3 * n] if first == 0 else 0.0 * A


def _speed_bound(start: Array, end: Array, bend: Array, v_max: Array, tip_speed: Scalar, n: int) -> Scalar:
    """Largest x over an interval by the limits of speed."""
    joints = slice(3 * n, 4 * n)
    dq = maximum(abs(start[joints]), abs(end[joints])) + bend[joints]
    tip = [sqrt(dot(values[5 * n :], values[5 * n :])) for values in (start, end, bend)]
    speeds = [*(v_max / maximum(dq, NEVER)), tip_speed / maximum(maximum(tip[0], tip[1]) + tip[2], NEVER)]
    slowest = _smallest(speeds)
    return ROUNDING * slowest * slowest


def _lines(strips: Strips, flattest: Scalar) -> Lines:
    """Borders of strips, those flatter than ``flattest`` taken as that steep."""
    A = select(strips.A, maximum(strips.A, flattest), -maximum(-strips.A, flattest))
    inverse = 1.0 / A
    middle, half = -strips.C * inverse, strips.t * abs(inverse)
    return Lines(middle - half, middle + half, -strips.B * inverse)


def _newton(lines: Lines, D: Scalar, x: Scalar, steps: int) -> Scalar:
    """Approach from above the largest x that the lines leave."""
    for _ in range(steps):
        offset, slope = _room(lines, D, x)
        x = select(-(offset + slope * x), offset / maximum(-slope, NEVER), x)
    return maximum(x, 0.0)


def _room(lines: Lines, D: Scalar, x: Scalar) -> tuple[Scalar, Scalar]:
    """``min_j (R_j + S_j x) - max_j (L_j + S_j x)`` as a line: its offset and its slope."""
    upper, R_x, S_R = lines.R[0] + lines.S[0] * x, lines.R[0], lines.S[0]
    L_x, S_L = 0.0, (SLOWEST - 1.0) * 0.5 / D  # x + 2 D u >= SLOWEST x
    lower = S_L * x
    for L, R, S in zip(*lines, strict=True):
        is_below, is_above = upper - (R + S * x), L + S * x - lower
        upper, R_x, S_R = minimum(upper, R + S * x), select(is_below, R, R_x), select(is_below, S, S_R)
        lower, L_x, S_L = maximum(lower, L + S * x), select(is_above, L, L_x), select(is_above, S, S_L)
    return R_x - L_x, S_R - S_L


def _smallest(values: list[Scalar]) -> Scalar:
    """The smallest of some scalars, in pairs: short chains."""
    while len(values) > 1:
        pairs = [minimum(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + ([values[-1]] if len(values) % 2 else [])
    return values[0]
