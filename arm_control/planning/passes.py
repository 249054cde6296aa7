"""What the solver of :mod:`arm_control.planning.ilqr` asks of the passes over the knots."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from arm_control.maths.poses import Array


class Backward(NamedTuple):
    """What a backward pass comes to.

    ``dV_1``, ``dV_2``: what the model expects of alpha; ``gradient``: mean of the largest ``|k| / (|u| + 1)``;
    ``failed_at``: the knot whose Q_uu is not positive definite, -1 for none.
    """

    dV_1: float
    dV_2: float
    gradient: float
    failed_at: int


class Passes(Protocol):
    """What the solver calls; the present plan is kept in it, and the one that a rollout tries."""

    @property
    def xs(self) -> Array:
        """States of the present plan, shape (N + 1, n_x)."""

    @property
    def us(self) -> Array:
        """Its controls, shape (N, n_u)."""

    @property
    def k(self) -> Array:
        """Feed-forward changes, shape (N, n_u)."""

    @property
    def K(self) -> Array:
        """Feedback, shape (N, n_u, n_x)."""

    @property
    def held(self) -> Array:
        """Controls at a limit in the last backward pass, shape (N, n_u): -1, 0 or 1."""

    def start(self, x0: Array, us: Array, plan: tuple[Array, Array] | None) -> float:
        """Begin with these controls, and with states and gains to hold on to; returns the cost."""

    def expand(self) -> None:
        """Expand dynamics and cost about the present plan."""

    def backward(self, lamb: float) -> Backward:
        """Compute k and K."""

    def rollout(self, alpha: float) -> float:
        """Try a step of length alpha; returns the cost."""

    def accept(self) -> None:
        """Make what was tried the present plan."""
