"""How the solver of :mod:`arm_control.planning.ilqr` goes about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from arm_control.exceptions import ParameterError

Limiting = Literal["box", "clamp"]


@dataclass(frozen=True)
class IlqrParameters:
    """How the solver goes about it.

    Attributes
    ----------
    max_iterations : int
    alphas : tuple of float
        Lengths of step to try, in order.
    cost_tolerance : float
        Stop when a step lowers the cost by less.
    gradient_tolerance : float
        Stop when the mean over the knots of the largest ``|k| / (|u| + 1)`` is less.
    accept : float
        Smallest share of the expected fall of the cost that a step must bring.
    lambda_start, lambda_factor, lambda_min, lambda_max : float
        Regularisation: its start, how its factor grows, below which it is none, and above which to give up.
    regularization : str
        ``control`` or ``state``.
    limiting : str
        ``box``: limits are part of (3). ``clamp``: they act in (5) only, for comparison.
    """

    max_iterations: int = 100
    alphas: tuple[float, ...] = tuple(float(x) for x in 10.0 ** np.linspace(0.0, -3.0, 11))
    cost_tolerance: float = 1e-7
    gradient_tolerance: float = 1e-4
    accept: float = 0.0
    lambda_start: float = 0.0
    lambda_factor: float = 1.6
    lambda_min: float = 1e-6
    lambda_max: float = 1e10
    regularization: Literal["control", "state"] = "control"
    limiting: Limiting = "box"

    def __post_init__(self) -> None:
        if self.max_iterations < 0 or not self.alphas or not all(0.0 < a <= 1.0 for a in self.alphas):
            raise ParameterError("max_iterations must be 0 or above, and every alpha above 0 and at most 1")
        if not (self.lambda_factor > 1.0 and 0.0 < self.lambda_min < self.lambda_max and self.lambda_start >= 0.0):
            raise ParameterError("lambda_factor must be above 1, and 0 < lambda_min < lambda_max, 0 <= lambda_start")
        if self.regularization not in ("control", "state") or self.limiting not in ("box", "clamp"):
            raise ParameterError("regularization is control or state, limiting is box or clamp")
