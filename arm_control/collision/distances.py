"""Distances of an arm from obstacles and of its links from each other, labelled by pair, in many states at once.

The law has the distance of each link from the nearest obstacle, the number of that one, and the distance of each pair
of links. Distances beyond a reach are not measured, and cost nearly nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision.kernel_samples import sample_states, sample_tables
from arm_control.collision.obstacle_rows import N_ROW, NUMBER, time_until_present
from arm_control.collision.pair_texts import ArmText, Entries, distance, table_inputs
from arm_control.collision.ranges import LATEST, check_range
from arm_control.compiler import NEAR, Fold, Law, Loop, LoopKernel
from arm_control.exceptions import InputError
from arm_control.maths import Array, maximum, minimum, select

NOBODY = -1.0
"""Number of the nearest obstacle where none is within reach."""


def distance_law(arm: ArmText, kinds: tuple[str, ...]) -> Loop:
    """Return the law of distances over many states.

    Inputs are ``q``, ``t`` and the reach; outputs are ``distance`` and ``nearest`` of each moving link, and
    ``link_distance`` of each pair of links, where there are pairs [m].

    Parameters
    ----------
    kinds : tuple of str
        Kinds of obstacles that there are.
    """
    moving, pairs = arm.moving, arm.pairs

    def before(x: Entries) -> dict[str, Any]:
        reach = x["reach"][0]
        return {
            **arm.values(x["q"]),
            "best": [reach] * len(moving),
            "number": [NOBODY] * len(moving),
            "own": [reach] * len(pairs),
        }

    folds = [_obstacle_fold(arm, kind) for kind in kinds] + ([_link_fold(arm)] if pairs else [])
    inputs = {"q": arm.shape.model.nq, "t": 1, "reach": 1} | table_inputs(kinds)
    law = Law(
        "distances",
        lambda x: {"distance": x["best"], "nearest": x["number"]} | ({"link_distance": x["own"]} if pairs else {}),
        inputs,
        ["distances", arm.made_from, kinds],
        has_masses=False,
        before=before,
        folds=tuple(folds),
        tables=kinds,
        carried=("best", "number", "own"),
    )
    return Loop(law, "columns", shared=("reach", *kinds))


def _obstacle_fold(arm: ArmText, kind: str) -> Fold:
    """All links and the obstacles of one kind."""

    def near(x: Entries) -> dict[str, Any]:
        t, best = x["t"][0], x["best"]
        is_deep = [-arm.shape.links[k].whole.radius - best[i] for i, k in enumerate(arm.moving)]
        within = [
            arm.obstacle_is_near(x, kind, t, arm.shape.links[k].whole, maximum(best[i], 0.0))
            for i, k in enumerate(arm.moving)
        ]
        return {NEAR: [maximum(a, b) for a, b in zip(within, is_deep, strict=True)]}

    def part(x: Entries, i: int) -> dict[str, Any]:
        best, number, t = list(x["best"]), list(x["number"]), x["t"][0]
        here = arm.obstacle_distance(x, kind, t, arm.shape.links[arm.moving[i]].whole)
        here = select(time_until_present(x[kind], t), best[i], here)
        number[i] = select(best[i] - here, x[kind][NUMBER], number[i])
        best[i] = minimum(best[i], here)
        return {"best": best, "number": number}

    return Fold(tuple(partial(part, i=i) for i in range(len(arm.moving))), near, kind)


def _link_fold(arm: ArmText) -> Fold:
    """All pairs of links."""
    links = [(arm.shape.links[g].whole, arm.shape.links[h].whole) for g, h in arm.pairs]

    def near(x: Entries) -> dict[str, Any]:
        reach = maximum(x["reach"][0], 0.0)
        return {NEAR: [arm.clusters_are_near(x, *pair, reach) for pair in links]}

    def part(x: Entries, i: int) -> dict[str, Any]:
        own = list(x["own"])
        own[i] = minimum(own[i], distance(arm.cluster_squares(x, *links[i])))
        return {"own": own}

    return Fold(tuple(partial(part, i=i) for i in range(len(arm.pairs))), near)


REACH = 10.0
"""Distances beyond this are not measured, if nothing else is asked [m]."""
BLOCK = 8
"""The number of states that are computed is a multiple of it."""


class Pair(NamedTuple):
    """Two that are near: a link, and another link or ``obstacle i``; their distance, below zero inside [m]."""

    link: str
    other: str
    distance: float


class Distances(NamedTuple):
    """Distances in N states [m]; those beyond the reach are given as the reach.

    Attributes
    ----------
    to_obstacles : ndarray, shape (N, L)
        From each of them to the nearest obstacle.
    nearest : ndarray of int, shape (N, L)
        Number of that obstacle; -1 for none.
    link_pairs : tuple of tuple of str
        The pairs of links that are checked.
    between_links : ndarray, shape (N, P)
        Of each pair.
    """

    links: tuple[str, ...]
    to_obstacles: Array
    nearest: npt.NDArray[np.int_]
    link_pairs: tuple[tuple[str, str], ...]
    between_links: Array


class LinkDistances:
    """Measures distances; compiled for the kinds of obstacles there are when they are first measured."""

    def __init__(self, arm: ArmText) -> None:
        self._arm = arm
        self._kernels: dict[tuple[str, ...], LoopKernel] = {}
        self._links = tuple(arm.shape.names[k] for k in arm.moving)
        self._link_pairs = arm.shape.names_of(arm.pairs)

    def measure(self, tables: Mapping[str, Array], q: Array, t: npt.ArrayLike, reach: float) -> Distances:
        """Distances in N states.

        Parameters
        ----------
        q : ndarray, shape (N, n)
            Joint positions [rad or m].
        t : array_like, shape (N,) or float
            Times [s].
        reach : float
            Distances beyond it are not measured [m].

        Raises
        ------
        InputError
            When a time is not finite, or too late, or the reach is not a number.
        """
        check_range(t, LATEST, "times")
        if np.isnan(reach):
            raise InputError("the reach is nan; a distance is needed")
        N, n = len(q), len(q) + -len(q) % BLOCK
        kernel = self._kernel(tuple(tables))
        arrays = {"q": np.zeros((q.shape[1], n)), "t": np.zeros((1, n)), "reach": np.array([float(reach)]), **tables}
        arrays["q"][:, :N] = q.T
        arrays["t"][0, :N] = t
        arrays |= {name: np.zeros((size, n)) for name, size in kernel.outputs.items()}
        kernel.bind(arrays, n)()
        distance, nearest = arrays["distance"][:, :N].T, arrays["nearest"][:, :N].T.astype(int)
        own = arrays.get("link_distance", np.zeros((0, n)))[:, :N].T
        return Distances(self._links, distance, nearest, self._link_pairs, own)

    def pairs(self, tables: Mapping[str, Array], q: Array, t: float, reach: float) -> tuple[Pair, ...]:
        """All pairs that are nearer than the reach in one state, the nearest first.

        Parameters
        ----------
        q : ndarray, shape (n,)
            Joint positions [rad or m].
        """
        nothing = {kind: np.zeros((0, N_ROW)) for kind in tables}
        near = self.measure(nothing, q[None], t, reach)
        own = zip(near.link_pairs, near.between_links[0].tolist(), strict=True)
        found = [Pair(*names, distance) for names, distance in own if distance < reach]
        for kind, table in tables.items():
            for number in np.unique(table[:, NUMBER]):
                near = self.measure({**nothing, kind: table[table[:, NUMBER] == number]}, q[None], t, reach)
                to_one = zip(near.links, near.to_obstacles[0].tolist(), near.nearest[0].tolist(), strict=True)
                found += [Pair(link, f"obstacle {k}", distance) for link, distance, k in to_one if k >= 0]
        return tuple(sorted(found, key=lambda pair: pair.distance))

    def _kernel(self, kinds: tuple[str, ...]) -> LoopKernel:
        if kinds not in self._kernels:
            model = self._arm.shape.model
            samples = {"q": sample_states(model, 8), "t": np.linspace(0.0, 1.0, 8)[None], "reach": np.array([0.3])}
            samples |= sample_tables(kinds)
            self._kernels[kinds] = model.compile_law(distance_law(self._arm, kinds), samples)
        return self._kernels[kinds]
