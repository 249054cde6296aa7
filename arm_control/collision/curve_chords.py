"""Chords of a smooth trajectory, and how far it is from them at most: so that straight motions prove curves free.

Between two moments a time h apart a curve q(t) is no further from its chord, at the same moment, than

    |q(t) - chord(t)| <= max |q''| h^2 / 8.

q'' of a piece is a polynomial of degree 3; on the part of a chord it lies between the smallest and the largest of its
Bernstein coefficients.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np

from arm_control.maths import Array

DEGREE = 3
"""Of the acceleration of a piece."""
MOST_CHORDS = 10_000
"""Of one piece."""


class PolynomialCurve(Protocol):
    """A curve of polynomial pieces, such as :class:`~arm_control.motion.joint_trajectory.JointTrajectory`.

    Attributes
    ----------
    knots : ndarray, shape (m + 1,)
        Ends of the pieces [s].
    pieces : sequence of ndarray, shape (n, nv)
        Coefficients of each piece, by powers of the time since its begin.
    end : reference with ``q_des``, shape (nv,)
        Its last point.
    """

    knots: Array
    pieces: Any
    end: Any


class Chords(NamedTuple):
    """Straight motions along a trajectory.

    Attributes
    ----------
    times : ndarray, shape (m + 1,)
        Begin of each chord, and end of the last one [s].
    qs : ndarray, shape (m + 1, nv)
        Joint positions then [rad or m].
    deviations : ndarray, shape (m, nv)
        Largest distance of each joint from each chord [rad or m].
    """

    times: Array
    qs: Array
    deviations: Array


def chords(trajectory: PolynomialCurve, largest: float) -> Chords:
    """Divide a trajectory into chords.

    Parameters
    ----------
    largest : float
        Deviation that is aimed at [rad or m]; the deviations of the result hold in any case.
    """
    times, qs, deviations = [], [], []
    for begin, T, piece in zip(trajectory.knots[:-1], np.diff(trajectory.knots), trajectory.pieces, strict=True):
        whole = _largest_acceleration(piece, np.zeros(1), float(T)).max()
        n = int(np.clip(np.ceil(T * np.sqrt(whole / (8.0 * largest))), 1, MOST_CHORDS))
        h = T / n
        s = h * np.arange(n)
        times.append(begin + s)
        qs.append((s[:, None] ** np.arange(len(piece))) @ piece)
        deviations.append(_largest_acceleration(piece, s, h) * h**2 / 8.0)
    times.append(trajectory.knots[-1:])
    qs.append(trajectory.end.q_des[None])
    return Chords(np.concatenate(times), np.concatenate(qs), np.concatenate(deviations))


def _largest_acceleration(piece: Array, s: Array, h: float) -> Array:
    """Bound of the acceleration of a piece between s and s + h, shape (n, nv)."""
    k = np.arange(2, len(piece))
    acceleration = (k * (k - 1))[:, None] * piece[2:]  # of degree 3, in the time of the piece
    shifted = np.zeros((len(s), DEGREE + 1, piece.shape[1]))  # in the share of the chord
    for i in range(DEGREE + 1):
        for j in range(i, DEGREE + 1):
            shifted[:, i] += comb(j, i) * h**i * s[:, None] ** (j - i) * acceleration[j]
    return largest_value(shifted)


def largest_value(coefficients: Array) -> Array:
    """Bound of polynomials of degree :data:`DEGREE` between 0 and 1, shape (m, n): the largest Bernstein coefficient.

    Parameters
    ----------
    coefficients : ndarray, shape (m, DEGREE + 1, n)
    """
    c = coefficients
    bernstein = [sum(comb(i, j) / comb(DEGREE, j) * c[:, j] for j in range(i + 1)) for i in range(DEGREE + 1)]
    return np.abs(np.array(bernstein)).max(axis=0)
