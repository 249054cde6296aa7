"""Largest numbers that checks of motions take: beyond them products overflow, or rounding hides a contact.

Up to :data:`LARGEST`, distances are right to a tenth of the least clearance of
:mod:`~arm_control.collision.motions`; what rounding of late times takes from fast obstacles is part of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array

LARGEST = 1e6
"""Of places, sizes and margins [m], and of speeds [m/s, rad/s]."""
LARGEST_POSITION = 1e5
"""Of a joint, and of a deviation of it [rad or m]."""
LARGEST_LINK = 1e3
"""Of places on a link, and of its radii [m]."""
LATEST = 1e12
"""[s]."""
ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Rounding of a time, and of the way of an obstacle until then, as a share of them."""
ROTATION_TOLERANCE = 1e-6
"""Largest entry of ``R^T R - 1``."""


def check_range(values: npt.ArrayLike, largest: float, what: str) -> None:
    """Refuse numbers that are not finite, or too large.

    Raises
    ------
    InputError
        When one of them is.
    """
    size = np.abs(values)
    if not size.max(initial=0.0) <= largest:
        worst = np.ravel(values)[np.argmax(np.ravel(size))]
        raise InputError(f"{what}: {worst:g} is not finite, or beyond {largest:g}, the largest number of checks")


def are_rotations(R: Array) -> npt.NDArray[np.bool_]:
    """Return which matrices are rotations, or reflections.

    Parameters
    ----------
    R : ndarray, shape (..., 9)
        Row by row.
    """
    matrices = R.reshape(*R.shape[:-1], 3, 3)
    gaps = np.swapaxes(matrices, -1, -2) @ matrices - np.eye(3)
    return np.asarray((np.abs(gaps) <= ROTATION_TOLERANCE).all(axis=(-1, -2)))
