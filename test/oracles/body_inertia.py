"""Centre of mass and inertia of a body's ten parameters."""

from __future__ import annotations

import numpy as np

from arm_control.identification.momentum_regressor import inertia_of
from arm_control.maths import Array


def centre_and_inertia(parameters: Array) -> tuple[Array, Array]:
    """Return the centre of mass (3,) [m] and the inertia about it (3, 3) [kg m^2] of m, h, J, shape (10,)."""
    body = inertia_of(parameters)
    c = body.h / body.m if body.m > 0.0 else np.zeros(3)
    return c, body.J - body.m * (c @ c * np.eye(3) - np.outer(c, c))
