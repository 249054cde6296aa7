"""What the laws of motions and of distances share: the arm at a state, and which pairs may be near, over any scalar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.collision.arm_shape import ArmShape, Cluster
from arm_control.collision.obstacle_rows import N_NUMBERS
from arm_control.collision.pair_texts import (
    Squares,
    core,
    in_frame,
    signed_distance,
    squares_between_links,
    squares_to_obstacle,
)
from arm_control.maths import Array, Pose, Scalar, cross, dot, sqrt
from arm_control.model import State

Entries = Mapping[str, Array]


@dataclass(frozen=True)
class ArmText:
    """The arm in the laws.

    Attributes
    ----------
    shape : ArmShape
    pairs : tuple of tuple of int
        Numbers of the links that must not touch each other.
    link_margin : float
        Smallest distance between them that counts as free [m].
    """

    shape: ArmShape
    pairs: tuple[tuple[int, int], ...]
    link_margin: float = 0.0

    @property
    def moving(self) -> list[int]:
        """Numbers of the links that obstacles may touch."""
        return self.shape.moving

    def values(self, q: Array) -> dict[str, Any]:
        """``poses`` of all bodies (12 each) and ``centres`` of the balls around all links (3 each)."""
        return self._values_of(State(self.shape.model.tree, {"q": q}))

    def values_in_motion(self, q: Array, v: Array) -> dict[str, Any]:
        """The same, and ``speeds``: the largest one of a point of the segments in each moving link's capsules."""
        state = State(self.shape.model.tree, {"q": q, "v": v})
        rates = [sqrt(dot(V.w, V.w)) for V in state.V]
        speeds = []
        for ball in (self.shape.links[k].whole for k in self.moving):
            V = state.V[ball.body]
            at_centre = V.v + cross(V.w, ball.centre)
            speeds.append(sqrt(dot(at_centre, at_centre)) + rates[ball.body] * ball.segment_radius)
        return {**self._values_of(state), "speeds": speeds}

    def _values_of(self, state: State) -> dict[str, Any]:
        X_W = state.X_W
        poses = [entry for X in X_W for entry in (*X.R.ravel(), *X.p)]
        balls = [link.whole for link in self.shape.links]
        centres = [b.centre if b.body < 0 else X_W[b.body].R @ b.centre + X_W[b.body].p for b in balls]
        return {"poses": poses, "centres": np.ravel(centres)}

    def centre(self, x: Entries, cluster: Cluster) -> Array:
        """Centre of the ball around some capsules in the world, shape (3,) [m]."""
        for k, link in enumerate(self.shape.links):
            if link.whole is cluster:
                return x["centres"][3 * k : 3 * k + 3]
        X_WB = self.X_WB(x, cluster)
        return X_WB.R @ cluster.centre + X_WB.p

    def X_WB(self, x: Entries, cluster: Cluster) -> Pose:
        """Pose of the body that some capsules are on."""
        if cluster.body < 0:
            return Pose.identity()
        pose = x["poses"][12 * cluster.body : 12 * cluster.body + 12]
        return Pose(pose[:9].reshape(3, 3), pose[9:])

    def obstacle_is_near(self, x: Entries, kind: str, t: Scalar, cluster: Cluster, reach: Scalar) -> Scalar:
        """Above zero where the ball around capsules may be nearer to an obstacle than ``reach``, which is >= 0 [m]."""
        squared, radius = core(kind, x[kind], in_frame(kind, x[kind], t, self.centre(x, cluster)))
        within = cluster.radius + radius + reach
        return within * within - squared

    def clusters_are_near(self, x: Entries, first: Cluster, second: Cluster, reach: Scalar) -> Scalar:
        """Above zero where the balls around capsules may be nearer to each other than ``reach``, which is >= 0 [m]."""
        gap = self.centre(x, first) - self.centre(x, second)
        within = first.radius + second.radius + reach
        return within * within - dot(gap, gap)

    def obstacle_squares(self, x: Entries, kind: str, t: Scalar, cluster: Cluster) -> Squares:
        """Squared distances between capsules and an obstacle."""
        return squares_to_obstacle(kind, x[kind], t, self.X_WB(x, cluster), cluster.capsules)

    def obstacle_distance(self, x: Entries, kind: str, t: Scalar, cluster: Cluster) -> Scalar:
        """Distance between capsules and an obstacle [m]."""
        return signed_distance(kind, x[kind], t, self.X_WB(x, cluster), cluster.capsules)

    def cluster_squares(self, x: Entries, first: Cluster, second: Cluster) -> Squares:
        """Squared distances between capsules."""
        return squares_between_links(self.X_WB(x, first), first.capsules, self.X_WB(x, second), second.capsules)

    @property
    def made_from(self) -> list[object]:
        """All that programs depend on."""
        return [self.shape.made_from, self.pairs, self.link_margin]


def table_inputs(kinds: tuple[str, ...]) -> dict[str, int]:
    """Tables of a law and the sizes of their rows."""
    return {kind: N_NUMBERS[kind] for kind in kinds}
