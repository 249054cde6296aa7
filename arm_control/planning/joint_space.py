"""The joint positions that are searched: limits, distances, random ones; and how trees grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel

SLACK = 1e-6
"""How far joint positions may be beyond the limits [rad or m]."""


@dataclass(frozen=True)
class SearchSpace:
    """The joint positions that are searched.

    Attributes
    ----------
    low, high : ndarray, shape (n,)
        Between them samples are; a turn for a joint without limits [rad or m].
    weights : ndarray, shape (n,)
        Of the joints in distances: 1 for those that turn, and as much for those that slide that both move the arm alike
        where it is furthest out.
    has_limits : bool
        Whether states must be kept within the limits against rounding: where a joint slides.
    pulled : callable
        Moves states, shape (k, n), until points keep their places.
    """

    model: RobotModel
    low: Array
    high: Array
    weights: Array
    has_limits: bool
    pulled: Callable[[Array], Array]

    @classmethod
    def of(cls, validity: Validity) -> SearchSpace:
        """Return the joint space of an arm."""
        model, shape = validity.shape.model, validity.shape
        reach = np.array([shape.reach(k) for k in shape.moving]).max(axis=0)
        weights = np.ones(model.nq)
        sliding = [body.coordinate for body in model.tree.bodies if body.is_prismatic]
        turning = np.setdiff1d(np.arange(model.nq), sliding)
        weights[sliding] = 1.0 / max(reach[turning], default=1.0)
        low = np.where(np.isfinite(model.q_min), model.q_min, -np.pi)
        high = np.where(np.isfinite(model.q_max), model.q_max, np.pi)
        return cls(model, low, high, weights, bool(sliding), validity.pulled)

    def states(self, q: npt.ArrayLike, name: str) -> Array:
        """Return joint positions within the limits, shape (k, n), after a check.

        Parameters
        ----------
        q : array_like, shape (n,) or (k, n)
            Joint positions [rad or m].

        Raises
        ------
        InputError
            When the shape is wrong, an entry is not finite, or all of them are beyond the limits.
        """
        model, states = self.model, np.atleast_2d(np.asarray(q, dtype=float))
        if states.ndim != 2 or states.shape[1] != model.nq or not len(states):
            raise InputError(f"{name} has shape {np.shape(q)}; needed are {model.nq} joint positions")
        if not np.isfinite(states).all():
            raise InputError(f"{name} has an entry that is not finite")
        beyond = np.maximum(model.q_min - states, states - model.q_max)
        is_within = (beyond <= SLACK).all(axis=1)
        if not is_within.any():
            j = int(beyond[0].argmax())
            raise InputError(
                f"{name} is beyond the limits: '{model.joint_names[j]}' at {states[0, j]:.4g}, allowed from"
                f" {model.q_min[j]:.4g} to {model.q_max[j]:.4g}"
            )
        return np.clip(states[is_within], model.q_min, model.q_max)

    def within(self, q: Array) -> Array:
        """Return states without what rounding adds to their limits, shape (k, n)."""
        return np.clip(q, self.model.q_min, self.model.q_max) if self.has_limits else q

    def lengths(self, steps: Array) -> Array:
        """Weighted lengths of differences of joint positions, shape (k,)."""
        scaled = steps * self.weights
        return np.sqrt(np.einsum("ij,ij->i", scaled, scaled))


@dataclass(frozen=True)
class SearchParameters:
    """How trees grow.

    Attributes
    ----------
    samples : int
        Samples for each tree in a round.
    connections : int
        New nodes of each tree from which the other one is tried: the nearest.
    step : float
        Longest motion towards a sample [rad or m].
    least_step : float
        Shortest motion that makes a node [rad or m].
    looks : int
        Places of a motion that are looked at while trees grow.
    seed : int
        Of the samples: equal seeds, equal paths.
    """

    rounds: int = 4000
    samples: int = 8
    connections: int = 4
    step: float = 1.0
    least_step: float = 0.1
    looks: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rounds", "samples", "connections", "looks"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; 1 or more is needed")
        if not 0.0 < self.least_step <= self.step < np.inf:
            raise InputError(f"steps are {self.least_step} and {self.step}; needed: 0 < least_step <= step")


STANDARD = SearchParameters()
"""How trees grow, if nothing else is asked."""


class RandomStates:
    """Random states of one seed, where points keep their places; all searches of a seed use the same."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self.seed, self._space, self._rng = seed, space, np.random.default_rng(seed)
        self._states = np.zeros((0, len(space.low)))

    def rows(self, first: int, last: int) -> Array:
        """States from one number to another, shape (last - first, n) [rad or m]."""
        while len(self._states) < last:
            more = self._rng.uniform(
                self._space.low, self._space.high, (last - len(self._states), len(self._space.low))
            )
            self._states = np.concatenate([self._states, self._space.pulled(more)])
        return self._states[first:last]
