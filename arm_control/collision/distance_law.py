"""The law of distances: of each link to the nearest obstacle, which one that is, and of each pair of links.

Distances beyond a reach are not measured, and cost nearly nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from arm_control.collision.arm_text import ArmText, Entries, table_inputs
from arm_control.collision.obstacle_rows import NUMBER, time_until_present
from arm_control.collision.pair_texts import distance
from arm_control.compiler import NEAR, Fold, FoldedLaw, Loop
from arm_control.maths import maximum, minimum, select

NOBODY = -1.0
"""Number of the nearest obstacle where none is within reach."""


def distance_law(arm: ArmText, kinds: tuple[str, ...]) -> Loop:
    """Return the law of distances over many states.

    Inputs are ``q``, ``t`` and the reach; outputs are ``distance`` and ``nearest`` of each moving link, and
    ``link_distance`` of each pair of links, where there are pairs [m].

    Parameters
    ----------
    arm : ArmText
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
    law = FoldedLaw(
        "distances",
        before,
        tuple(folds),
        lambda x: {"distance": x["best"], "nearest": x["number"]} | ({"link_distance": x["own"]} if pairs else {}),
        inputs,
        kinds,
        ("best", "number", "own"),
        structure=["distances", arm.made_from, kinds],
        has_masses=False,
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
