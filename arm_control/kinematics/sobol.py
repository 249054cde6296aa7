"""Points that fill a cube evenly: Sobol's sequence, from which searches take their starts.

The k-th point of a dimension is the exclusive or of the direction numbers ``v_i = m_i / 2^i`` of the bits that are
set in the Gray code of k. The numbers m follow from a primitive polynomial over GF(2), another one for each dimension,
and from odd first ones ``m_i < 2^i``, which may be chosen.

Source: P. Bratley, B. L. Fox, "Algorithm 659: implementing Sobol's quasirandom sequence generator", 1988.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import numpy as np

from arm_control.maths import Array

BITS = 30
"""Binary digits of a number."""


def sobol_points(n_dimensions: int, n_points: int) -> Array:
    """Points of Sobol's sequence, without its first one, the origin; the first one here is the middle of the cube.

    Parameters
    ----------
    n_dimensions, n_points : int
        Size of a point, and how many there are.

    Returns
    -------
    ndarray, shape (n_points, n_dimensions)
        In the cube from 0 to 1.

    Examples
    --------
    >>> sobol_points(2, 3)
    array([[0.5 , 0.5 ],
           [0.75, 0.25],
           [0.25, 0.75]])
    """
    directions = np.array(list(islice(_directions(), n_dimensions)), dtype=np.int64).reshape(n_dimensions, BITS)
    points = np.zeros((n_points + 1, n_dimensions), dtype=np.int64)
    for k in range(1, n_points + 1):
        lowest_zero = ((k - 1) ^ k).bit_length() - 1
        points[k] = points[k - 1] ^ directions[:, lowest_zero]
    return points[1:] / 2.0**BITS


def _directions() -> Iterator[list[int]]:
    """``v_i 2^BITS`` of one dimension after the other."""
    yield [1 << (BITS - i) for i in range(1, BITS + 1)]
    rng = np.random.default_rng(0)
    for polynomial in _primitive_polynomials():
        degree = polynomial.bit_length() - 1
        m = [int(2 * rng.integers(1 << i) + 1) for i in range(degree)]
        while len(m) < BITS:
            new = m[-degree] ^ (m[-degree] << degree)
            for i in range(1, degree):
                new ^= (m[-i] << i) * (polynomial >> (degree - i) & 1)
            m.append(new)
        yield [number << (BITS - i) for i, number in enumerate(m, start=1)]


def _primitive_polynomials() -> Iterator[int]:
    """Polynomials over GF(2), a bit for each coefficient, whose root generates all powers of its field."""
    yield 0b11
    for degree in count(2):
        for polynomial in range((1 << degree) + 1, 2 << degree, 2):
            if _order_of_root(polynomial, degree) == (1 << degree) - 1:
                yield polynomial


def _order_of_root(polynomial: int, degree: int) -> int:
    """Smallest k with ``x^k = 1`` modulo the polynomial."""
    power = 1
    for k in range(1, 1 << degree):
        power <<= 1
        power ^= polynomial * (power >> degree)
        if power == 1:
            return k
    return 0
