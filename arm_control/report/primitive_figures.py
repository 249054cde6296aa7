"""Figures of a movement primitive: how it moves, and how well it reproduces its demonstration."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array
from arm_control.primitives import Demonstration, Primitive, Rollout, coordinate_names, rotation_coordinates

SAMPLES = 401
"""Times of a motion as it was learned."""
SMALL = 1e-3
"""A coordinate that moves less counts as one that moves so much [rad or m]."""
POOR = 0.02
"""A reproduction whose error is above this share of the way is named."""


def reproduce(primitive: Primitive, demonstration: Demonstration) -> tuple[Array, Rollout, Array]:
    """Return a demonstration beside the motion that was learned from it, at the same times.

    Returns
    -------
    ndarray, shape (N, n); Rollout
        Coordinates of the demonstration; the primitive's motion.
    ndarray, shape (n,)
        Root of the mean square of the error of each coordinate.
    """
    coordinates = demonstration.positions
    if demonstration.orientations is not None and primitive.quat_xyzw is not None:
        rotations = rotation_coordinates(demonstration.orientations, primitive.quat_xyzw)
        coordinates = np.hstack([coordinates, rotations])
    motion = primitive.rollout(demonstration.times - demonstration.times[0])
    return coordinates, motion, np.sqrt(np.mean((motion.q - coordinates) ** 2, axis=0))


def motion_as_learned(primitive: Primitive) -> Rollout:
    """Return a primitive's motion from its own start to its own goal; of a rhythm one period."""
    return primitive.rollout(np.linspace(0.0, primitive.duration, SAMPLES))


def primitive_table(primitive: Primitive, rms: Array | None = None) -> list[tuple[str, ...]]:
    """Return a table, its head first, with a row for each coordinate.

    Parameters
    ----------
    rms : ndarray, shape (n,), optional
        Errors of the reproduction.
    """
    motion = motion_as_learned(primitive)
    centre = "centre" if primitive.kind == "rhythmic" else "goal"
    head = ("", "start", centre, "lowest", "highest", "way", "fastest [1/s]")
    rows: list[tuple[str, ...]] = [head if rms is None else (*head, "rms error")]
    way = np.abs(np.diff(motion.q, axis=0)).sum(axis=0)
    columns = (primitive.start, primitive.goal, motion.q.min(axis=0), motion.q.max(axis=0), way)
    for i, name in enumerate(coordinate_names(primitive)):
        numbers = [f"{column[i] + 0.0:.4f}" for column in columns]
        numbers.append(f"{np.abs(motion.v[:, i]).max():.3g}")
        rows.append((name, *numbers) if rms is None else (name, *numbers, f"{rms[i]:.2g}"))
    return rows


def poor_coordinates(primitive: Primitive, rms: Array) -> list[str]:
    """Return the names of coordinates whose error is large beside the largest way of those of their unit.

    Parameters
    ----------
    rms : ndarray, shape (n,)
        Errors of the reproduction.
    """
    ranges = np.ptp(motion_as_learned(primitive).q, axis=0)
    scale = np.concatenate([np.full_like(part, part.max()) for part in (ranges[:3], ranges[3:]) if len(part)])
    if primitive.names:
        scale = np.full_like(ranges, ranges.max())
    poor = rms > POOR * np.maximum(scale, SMALL)
    return [name for name, is_poor in zip(coordinate_names(primitive), poor, strict=True) if is_poor]
