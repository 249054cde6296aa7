"""Three ways to limit a speed: its magnitude, its largest component, or each component by itself.

magnitude    x min(1, longest / |x|)            straight, at most ``longest`` fast (O. Khatib, 1986)
scaled       x min(1, longest / max_i |x_i|)    straight, faster along the diagonals: up to sqrt(3) ``longest``
per_axis     x_i clamped to +-longest           along the diagonal first, then along one axis: not straight
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arm_control.maths.poses import TINY, Array, limit_magnitude
from arm_control.maths.scalars import Scalar, maximum, select


def limit_scaled(vector: Array, longest: Scalar) -> Array:
    """The vector, or its direction with a largest component of ``longest``."""
    largest = TINY
    for x in vector:
        largest = maximum(largest, select(x, x, -x))
    return vector * (longest / maximum(largest, longest))


def limit_per_axis(vector: Array, longest: Scalar) -> Array:
    """Each component for itself, cut to ``longest``."""
    return np.array([-maximum(-maximum(x, -longest), -longest) for x in vector])


SPEED_LIMITS: dict[str, Callable[[Array, Scalar], Array]] = {
    "magnitude": limit_magnitude,
    "scaled": limit_scaled,
    "per_axis": limit_per_axis,
}
"""By the name of ``speed_limit_form``."""
