"""Points of an arm that stay where functions of them are above zero: above a table, within a cell, upright.

A function h of a point changes by its slope per metre that the point moves, or per radian that its body turns, at most.
A motion of the joints by dq, in any posture, leaves

    (1)  h(q + dq) >= h(q) - slope sum_j reach_j |dq_j|

where reach_j is the largest distance of the point from the axis of a joint that turns, or 1 where the turn counts.

Random states are moved well inside, with G the derivatives of the functions that are below an inner value h_1:

    (2)  dq = -(G G^T + lambda 1)^-1 G (h - h_1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision.arm_shape import by_coordinate, point_reach, turning
from arm_control.compiler import Law, Loop, LoopKernel
from arm_control.maths import Array, Pose, Scalar
from arm_control.model import RobotModel, State

PULLS, DAMPING, LONGEST, DIFFERENCE = 12, 1e-4, 0.5, 1e-6
"""Steps of (2), lambda, the longest step of a joint, and that of a difference [rad or m]."""


class KeptPoint(NamedTuple):
    """A point, and a function that has to stay above zero.

    Attributes
    ----------
    body : int
        The body that carries it; -1 for the world.
    place : ndarray, shape (3,)
        In the frame of the body [m].
    axis : ndarray, shape (3,)
        Its place in the frame of its link, as a vector in the frame of the body.
    function : callable
        h of the place and the axis in the world, over any scalar.
    slope : float
        Largest change of h per metre of the place, or per radian of the axis.
    is_angle : bool
        Whether h is a function of the axis only, an angle, and not of the place.
    inside : float
        Value of h that random states are moved to: between two such states less is left.
    in_words : callable
        What a value of h breaks, in a sentence: the place, or above zero its margin.
    made_from : list
        All that the function depends on.
    """

    body: int
    place: Array
    axis: Array
    function: Callable[[Array, Array], Scalar]
    slope: float
    is_angle: bool
    inside: float
    in_words: Callable[[float], str]
    made_from: list[object]

    def reach(self, model: RobotModel) -> Array:
        """``slope reach`` of equation (1), shape (n,)."""
        tree = model.tree
        if self.is_angle:
            return self.slope * turning(tree, tree.path(self.body))
        return self.slope * by_coordinate(tree, point_reach(model, self.body, self.place))

    def h(self, X_W: Sequence[Pose]) -> Scalar:
        """The function where the bodies have these poses, over any scalar."""
        X = X_W[self.body]
        return self.function(X.R @ self.place + X.p, X.R @ self.axis)


class KeptPoints:
    """The points of one arm that joints move: nobody is to blame for the others.

    Parameters
    ----------
    margin : float
        What is left of their functions at least, but of those of an angle [m].

    Attributes
    ----------
    reach : ndarray, shape (k, n)
        ``slope reach`` of equation (1) of each.
    shares : ndarray, shape (k,)
        Share of a margin that counts for each: 0 for angles, else 1.
    """

    def __init__(self, model: RobotModel, points: Sequence[KeptPoint] = (), margin: float = 0.0) -> None:
        reach = [(point, point.reach(model)) for point in points if point.body >= 0]
        moved = [(point, row) for point, row in reach if row.any()]
        self.points = tuple(point for point, _ in moved)
        self.reach = np.array([row for _, row in moved]).reshape(-1, model.nq)
        self.shares = np.array([float(not point.is_angle) for point in self.points])
        self._model, self._gaps = model, margin * self.shares

    def h(self, X_W: Sequence[Pose]) -> Array:
        """The functions where the bodies have these poses, over any scalar, shape (k,)."""
        return np.array([point.h(X_W) for point in self.points])

    def rooms(self, X_W: Sequence[Pose]) -> Array:
        """What is left of each above the margin where the bodies have these poses, shape (k,)."""
        return self.h(X_W) - self._gaps

    def pulled(self, qs: Array) -> Array:
        """Return states, shape (N, n), moved by damped Gauss-Newton steps (2) until the points keep their places.

        States whose points are still outside after :data:`PULLS` steps are returned as far as they came.
        """
        q, inside = np.array(qs, dtype=float), np.array([point.inside for point in self.points])
        for _ in range(PULLS if self.points else 0):
            h = self._rooms_of(q) - inside
            out = (h < 0.0).any(axis=1)
            if not out.any():
                break
            short = np.minimum(h[out], 0.0)
            shifted = (q[out, None, :] + DIFFERENCE * np.eye(q.shape[1])).reshape(-1, q.shape[1])
            G = (self._rooms_of(shifted).reshape(len(short), -1, short.shape[1]) - inside - h[out, None]) / DIFFERENCE
            G = np.where(short[:, None] < 0.0, G, 0.0)
            A = G @ G.transpose(0, 2, 1) + DAMPING * np.eye(q.shape[1])
            step = np.linalg.solve(A, -(G @ short[..., None]))[..., 0]  # (2)
            q[out] = np.clip(q[out] + np.clip(step, -LONGEST, LONGEST), self._model.q_min, self._model.q_max)
        return q

    def _rooms_of(self, q: Array) -> Array:
        """What is left of each point in states, shape (N, n): (N, k)."""
        columns = np.zeros((q.shape[1], len(q) + -len(q) % self._kernel.width))
        columns[:, : len(q)] = q.T
        rooms = np.zeros((len(self.points), columns.shape[1]))
        self._kernel.bind({"q": columns, "h": rooms})()
        return rooms[:, : len(q)].T - self._gaps

    @cached_property
    def _kernel(self) -> LoopKernel:
        """The functions of all points, over many states."""
        tree, n = self._model.tree, self._model.nq

        def function(x: Mapping[str, Array]) -> dict[str, Any]:
            return {"h": self.h(State(tree, {"q": x["q"]}).X_W)}

        law = Law("kept points", function, {"q": n}, self.made_from, has_masses=False)
        samples = {"q": np.random.default_rng(0).uniform(-1.0, 1.0, (n, 16))}
        return self._model.compile_law(Loop(law, "columns"), samples)

    def broken(self, q: Array) -> tuple[str, ...]:
        """Return a sentence for each that is not kept in joint positions, shape (n,), the worst first."""
        h = self.h(State(self._model.tree, {"q": q}).X_W)
        worst_first = np.argsort(h - self._gaps, kind="stable")
        return tuple(self.points[k].in_words(float(h[k])) for k in worst_first if h[k] <= self._gaps[k])

    @property
    def made_from(self) -> list[object]:
        """All that programs depend on."""
        points = zip(self.points, self.reach.tolist(), strict=True)
        return [[x.body, x.place.tolist(), x.axis.tolist(), x.is_angle, x.made_from, reach] for x, reach in points]
