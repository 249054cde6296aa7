"""The quadratic function in a box in exact arithmetic, and the errors of a computed point.

Every float is a fraction, so the set of held entries is right and its KKT conditions are proven, whatever the
condition of H. Held sets are changed one entry at a time, at the last entry against the conditions: that ends for
every positive definite H.

Source: K. Murty, "Note on a Bard-type scheme for solving the complementarity problem", 1974.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import NamedTuple

from arm_control.maths import Array

Vector = list[Fraction]
MAX_CHANGES = 3000


class Problem(NamedTuple):
    """H, shape (n, n), g, low and high, shape (n,), as floats."""

    H: Array
    g: Array
    low: Array
    high: Array


class Errors(NamedTuple):
    """Relative errors of a computed point.

    ``x``: largest distance from the exact one, of the largest entry; ``value``: of the function, never below zero;
    ``kkt``: largest slope that the conditions do not allow, each of the sum of its terms' sizes.
    """

    x: float
    value: float
    kkt: float


def solve_exactly(problem: Problem, held: Array) -> Vector:
    """The smallest point of a problem, from a set of held entries that may be the right one.

    Parameters
    ----------
    problem : Problem
    held : ndarray, shape (n,)
        -1 at the low bound, 1 at the high one, 0 free.
    """
    n = len(problem.g)
    H = [fractions(row) for row in problem.H]
    g = fractions(problem.g)
    eliminated([[*row, Fraction(0)] for row in H])  # positive definite
    state = [int(entry) for entry in held]
    for _ in range(MAX_CHANGES):
        x = _point(H, g, problem, state)
        changes = [_state_after(i, H, g, problem, state, x) for i in range(n)]
        wrong = [i for i in range(n) if changes[i] != state[i]]
        if not wrong:
            return x
        state[wrong[-1]] = changes[wrong[-1]]
    raise AssertionError(f"no end after {MAX_CHANGES} sets")


def _point(H: list[Vector], g: Vector, problem: Problem, state: list[int]) -> Vector:
    """Held entries at their bounds, free ones where their slope is zero."""
    n = len(g)
    x = [Fraction(0)] * n
    for i in range(n):
        if state[i]:
            x[i] = Fraction(float(problem.high[i] if state[i] > 0 else problem.low[i]))
    free = [i for i in range(n) if not state[i]]
    rows = [[*(H[i][j] for j in free), -_slope(H[i], g[i], x)] for i in free]
    for i, value in zip(free, solution(rows), strict=True):
        x[i] = value
    return x


def _state_after(i: int, H: list[Vector], g: Vector, problem: Problem, state: list[int], x: Vector) -> int:
    if state[i]:
        stays = problem.low[i] == problem.high[i] or state[i] * _slope(H[i], g[i], x) <= 0
        return state[i] if stays else 0
    return 1 if x[i] > problem.high[i] else -1 if x[i] < problem.low[i] else 0


def _slope(row: Vector, g_i: Fraction, x: Vector) -> Fraction:
    return g_i + sum(h * x_j for h, x_j in zip(row, x, strict=True) if x_j)


def solution(rows: list[Vector]) -> Vector:
    """The x of ``A x = b`` for rows ``[A b]``, A positive definite."""
    n = len(rows)
    rows = eliminated(rows)
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        rest = rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))
        x[i] = Fraction(rest) / rows[i][i]
    return x


def eliminated(rows: list[Vector]) -> list[list[int]]:
    """Upper triangle of ``[A b]``, shape (n, n + 1), over the integers (Bareiss); A has to be positive definite."""
    scale = lcm(*(entry.denominator for row in rows for entry in row))
    A = [[int(entry * scale) for entry in row] for row in rows]
    last = 1
    for k in range(len(A)):
        assert A[k][k] > 0, "not positive definite"
        for i in range(k + 1, len(A)):
            A[i] = [(A[k][k] * a - A[i][k] * b) // last for a, b in zip(A[i], A[k], strict=True)]
        last = A[k][k]
    return A


def errors(problem: Problem, x: Array, held: Array, exact: Vector) -> Errors:
    """Errors of a computed point.

    Parameters
    ----------
    problem : Problem
    x, held : ndarray, shape (n,)
        The computed point and held set.
    exact : list of Fraction
        The smallest point.
    """
    H = [fractions(row) for row in problem.H]
    g = fractions(problem.g)
    computed = fractions(x)
    distance = max(abs(a - b) for a, b in zip(computed, exact, strict=True))
    kkt = [_kkt(i, H[i], g[i], problem, computed, held) for i in range(len(g))]
    gap = _value(H, g, computed) - _value(H, g, exact)
    size = _value([[abs(h) for h in row] for row in H], [abs(g_i) for g_i in g], [abs(x_i) for x_i in computed])
    largest = max(abs(x_i) for x_i in exact)
    return Errors(_ratio(distance, largest), _ratio(gap, size), max(kkt))


def _kkt(i: int, row: Vector, g_i: Fraction, problem: Problem, x: Vector, held: Array) -> float:
    slope = _slope(row, g_i, x)
    if held[i] and problem.low[i] == problem.high[i]:
        return 0.0
    excess = abs(slope) if held[i] == 0.0 else max(Fraction(0), int(held[i]) * slope)
    return _ratio(excess, abs(g_i) + sum(abs(h * x_j) for h, x_j in zip(row, x, strict=True)))


def _value(H: list[Vector], g: Vector, x: Vector) -> Fraction:
    return sum((x_i * (g_i + _slope(row, g_i, x)) for x_i, g_i, row in zip(x, g, H, strict=True)), Fraction(0)) / 2


def _ratio(a: Fraction, b: Fraction) -> float:
    return float(a / b) if b else float(a)


def fractions(values: Array) -> Vector:
    return [Fraction(float(value)) for value in values]
