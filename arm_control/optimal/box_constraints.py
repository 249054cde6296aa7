"""Smallest value of a quadratic function in a box:

    min  1/2 x^T H x + g^T x    with  low <= x <= high                                             (1)

An entry is held at a bound (set c) or free (set f). The smallest value over the free entries is at

    x_f = -H_ff^-1 (g_f + H_fc x_c)                                                                (2)

With the slope ``s = g + H x``, that is the answer where

    low <= x_f <= high,    s_i >= 0 at a low bound,    s_i <= 0 at a high bound                    (3)

Full steps of a projected Newton method come first (:func:`active_set_step`, written over any scalar): all free
entries beyond a bound are held, all held entries against (3) are freed. From the set held last time, a few of them
nearly always end at the answer, but they may go in a circle. Then a primal active-set method starts inside the box
and changes the set by (4) and (5), where x* is the point of (2):

    x <- x + t (x* - x),    the largest t <= 1 in the box; entries that meet a bound are held      (4)
    at t = 1, x = x*:       the entry against (3) with the largest |s_i| / sqrt(H_ii) is freed     (5)

A freed entry moves by ``-s_i (H_ff^-1)_ii``, into the box. So the function falls from one (5) to the next, no set
comes there twice, and the method ends: there are finitely many. With rounding one may come twice: then the slopes
against (3) are rounding, and x is the answer. No tolerance is needed, whatever the units and the condition of H.

An entry is held because it met its bound, not because of the value of x: (2) then puts it there exactly. A line search
along the projected step (Bertsekas, Tassa) decides by x and needs a tolerance: an entry a rounding error away from its
bound counts as free, the projection takes its part of the step away, and no step lowers the function any more.

Sources: D. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", 1982;
P. Stark, R. Parker, "Bounded-variable least squares: an algorithm and applications", 1995, for (4) and (5);
M. Hintermüller, K. Ito, K. Kunisch, "The primal-dual active set strategy as a semismooth Newton method", 2002;
Y. Tassa, N. Mansard, E. Todorov, "Control-limited differential dynamic programming", 2014.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Cholesky, cholesky, select

FULL_STEPS = 8
MAX_CHANGES = 20
"""Changes of the held set by (4) and (5), per entry, before the method gives up; two or three are usual."""


class BoxQpResult(NamedTuple):
    """Where the smallest value is.

    ``x`` (n,); ``held`` (n,): -1 at the low bound, 1 at the high one, 0 free; ``factors``, Cholesky's
    of H with unit rows where held; whether it ``converged``, and ``iterations``.
    """

    x: Array
    held: Array
    factors: Cholesky
    converged: bool
    iterations: int


def active_set_step(H: Array, g: Array, low: Array, high: Array, held: Array) -> tuple[Array, Array, Cholesky]:
    """The point of (2) for a set, the set after a full step, and factors; the point is the answer where the set stays.

    H is (n, n), g and both bounds (n,), the set ``held`` (n,): -1 at the low bound, 1 at the high one, 0 free. The
    factors are those of H with unit rows where held; the smallest pivot is above zero where ``H_ff`` is positive
    definite.
    """
    free = 1.0 - held * held
    x_c = select(held, high, select(-held, low, 0.0 * held))
    H_f = H * np.outer(free, free) + np.diag(1.0 - free)
    factors = cholesky(H_f)
    x = x_c - factors.solve(free * (g + H @ x_c))
    s = g + H @ x
    beyond = select(x - high, 1.0 + 0.0 * x, select(low - x, -1.0 + 0.0 * x, 0.0 * x))
    stays = select(held * s, 0.0 * x, held)
    return x, select(free, beyond, stays), factors


def box_qp(
    H: npt.ArrayLike,
    g: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    held: npt.ArrayLike | None = None,
) -> BoxQpResult:
    """Solve (1), with H (n, n) symmetric, positive definite where free; bounds (n,) may be infinite.

    ``held`` (n,) is the set to begin with, at finite bounds; all free by default.

    An InputError when bounds cross, something is not finite, or H is not positive definite where it has to be.
    """
    H, g, low, high = (np.asarray(x, dtype=float) for x in (H, g, low, high))
    if not all(np.isfinite(x).all() for x in (H, g)) or not (low <= high).all():
        raise InputError(f"H and g must be finite and the bounds not cross: g {g}, low {low}, high {high}")
    tried = np.zeros(len(g)) if held is None else np.asarray(held, dtype=float)
    for iteration in range(FULL_STEPS):
        x, following, factors = active_set_step(H, g, low, high, tried)
        if not factors.smallest_pivot > 0.0:
            break  # H may be positive definite in the sets of the active-set method
        if np.array_equal(following, tried):
            return BoxQpResult(np.clip(x, low, high), tried, factors, True, iteration + 1)
        tried = following
    return _primal_active_set(H, g, low, high)


def _primal_active_set(H: Array, g: Array, low: Array, high: Array) -> BoxQpResult:
    """Equations (4) and (5), from the point of the box nearest to zero."""
    x = np.clip(np.zeros(len(g)), low, high)
    s = g + H @ x
    held = np.where((x <= low) & (s > 0.0), -1.0, np.where((x >= high) & (s < 0.0), 1.0, 0.0))
    iterations, seen = FULL_STEPS, set[bytes]()
    for _ in range(MAX_CHANGES * len(g)):
        iterations += 1
        x_min, _, factors = active_set_step(H, g, low, high, held)
        if not factors.smallest_pivot > 0.0:
            raise InputError(f"H is not positive definite where x is free: {H.tolist()}")
        x, met = _move(x, x_min, low, high)
        if met.any():
            held = held + met
            continue
        i = _entry_to_free(H, g, x, held)
        if i is None or held.tobytes() in seen:
            return BoxQpResult(x, held, factors, True, iterations)
        seen.add(held.tobytes())
        held[i] = 0.0
    return BoxQpResult(x, held, factors, False, iterations)


def _move(x: Array, x_min: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Equation (4): the new x, and the bounds met there (-1, 0, 1); none where t is 1."""
    beyond = np.where(x_min > high, 1.0, np.where(x_min < low, -1.0, 0.0))
    if not beyond.any():
        return x_min, beyond
    out = beyond != 0.0
    bound = np.where(beyond > 0.0, high, low)
    t = np.ones(len(x))
    t[out] = (bound[out] - x[out]) / (x_min[out] - x[out])
    met = np.where(t <= t[out].min(), beyond, 0.0)
    return np.clip(x + t.min() * (x_min - x), low, high), met


def _entry_to_free(H: Array, g: Array, x: Array, held: Array) -> int | None:
    """Equation (5): the entry to free, None at the answer."""
    inwards = held * (g + H @ x) / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    i = int(np.argmax(inwards))
    return i if inwards[i] > 0.0 else None
