"""Places to reach, by a rule: a star, a grid, at random. Pure functions; positions in the frame of the list."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array


def star(center: npt.ArrayLike, radius: float, directions: int = 8, plane: str = "xy") -> Array:
    """Places around a centre, and the centre before each: there and back.

    Parameters
    ----------
    center : array_like, shape (3,)
        [m]
    radius : float
        How far out [m].
    directions : int
        How many places, from the plane's first axis on towards its second.
    plane : str
        Two of the axes x, y, z.

    Returns
    -------
    ndarray, shape (2 directions + 1, 3)
        It begins and ends at the centre.
    """
    if len(plane) != 2 or plane[0] == plane[1] or not set(plane) <= set("xyz"):
        raise InputError(f"plane = {plane!r}: two different axes are needed, such as 'xz'")
    _positive(radius=radius, directions=directions)
    angles = math.tau * np.arange(directions) / directions
    out = np.zeros((directions, 3))
    out[:, "xyz".index(plane[0])], out[:, "xyz".index(plane[1])] = radius * np.cos(angles), radius * np.sin(angles)
    places = np.zeros((2 * directions + 1, 3))
    places[1::2] = out
    return places + _place(center)


def grid(center: npt.ArrayLike, size: npt.ArrayLike, count: npt.ArrayLike) -> Array:
    """Corners of a grid, each a neighbour of the one before.

    Parameters
    ----------
    center, size : array_like, shape (3,)
        Of the box whose sides the grid reaches [m].
    count : array_like of int, shape (3,)
        Places along x, y and z.

    Returns
    -------
    ndarray, shape (n, 3)
        x runs fastest, to and fro; then y; then z.
    """
    n = np.array(count, dtype=int)
    if n.shape != (3,) or (n < 1).any():
        raise InputError(f"count = {count!r}: three numbers from 1 on are needed")
    x, y, z = ((np.arange(k) - (k - 1) / 2) / max(k - 1, 1) for k in n.tolist())
    rows, forth = [], 1
    for j, height in enumerate(z):
        for depth in y[:: -1 if j % 2 else 1]:
            rows += [(width, depth, height) for width in x[::forth]]
            forth = -forth
    return np.array(rows) * _place(size) + _place(center)


def random(
    center: npt.ArrayLike, count: int, seed: int = 0, radius: float = 0.0, size: npt.ArrayLike | None = None
) -> Array:
    """Places at random, uniformly in a ball of a radius or in a box of a size.

    Parameters
    ----------
    center : array_like, shape (3,)
        [m]
    count, seed : int
        How many, and which: the same seed draws the same places.
    radius : float
        Of the ball [m].
    size : array_like, shape (3,), optional
        Of the box, instead of a ball [m].

    Returns
    -------
    ndarray, shape (count, 3)
    """
    _positive(count=count)
    rng = np.random.default_rng(seed)
    if (size is None) == (radius == 0.0):
        raise InputError("radius or size: one of them is needed, not both")
    if size is not None:
        return rng.uniform(-0.5, 0.5, (count, 3)) * _place(size) + _place(center)
    _positive(radius=radius)
    way = rng.normal(size=(count, 3))
    length = radius * rng.uniform(size=(count, 1)) ** (1 / 3)
    return way / np.linalg.norm(way, axis=1, keepdims=True) * length + _place(center)


def _place(values: npt.ArrayLike) -> Array:
    place = np.array(values, dtype=float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise InputError(f"{values!r}: three finite numbers are needed")
    return place


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise InputError(f"{name} = {value}: a positive number is needed")
