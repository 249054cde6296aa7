"""Files of constraints, and obstacles, that a controller hears of in motion: what happens to a chain.

Walls are across y, in which the arm goes to its goal, below zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np

from arm_control.faults.chain import Chain
from arm_control.faults.chain_setup import OBSTACLES, OWN, joint_state
from arm_control.maths import Array

Event = Callable[[Chain], None]
FAR_WALL = -9.0
"""Place of a wall that is in nobody's way, from the hand [m]."""
BALL = 0.05
"""Radius of a ball [m]."""
MANY, IN_A_MESSAGE = 10_000, 100
"""Obstacles of a flood, and those of a message."""
ADD, SPHERE = 0, 2
"""Numbers of a marker."""


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


@cache
def file_of(text: str) -> str:
    """Return a file with a text, which goes when this process ends."""
    path = Path(_folder().name) / f"{abs(hash(text))}.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def walls(*places: float, p: Array, recovers: bool = False) -> str:
    """Return a file with walls at places from the hand at p: one on each side of it, and a clearance [m]."""
    sides = (("wall", 1), ("other wall", -1))
    rows = [
        f"  - {{name: {name}, kind: half_space, point: [0, {p[1] + place:.6f}, 0], normal: [0, {sign}, 0]}}"
        for (name, sign), place in zip(sides, places, strict=False)
    ]
    clearance = "  - {name: people, kind: clearance, distance: 0.02}"
    return "\n".join(["constraints:", *rows, clearance, f"allow_recovery: {str(recovers).lower()}", ""])


def change(entry: str | Sequence[float]) -> Event:
    """Return what lets a file with one entry, or with walls at these places, take the place of the one before."""

    def act(chain: Chain) -> None:
        here = at_the_hand(chain)
        text = f"constraints: [{{name: wall, {entry}}}]" if isinstance(entry, str) else walls(*entry, p=here)
        chain.arrangement.change_constraints(file_of(text))

    return act


def show(place: Callable[[Chain], Array], n: int = 1, frame: str = "", **wrong: Any) -> Event:
    """Return what publishes so many balls, all at one place, with fields of the markers set to wrong values."""

    def act(chain: Chain) -> None:
        x, y, z = place(chain).tolist()
        header = SimpleNamespace(stamp=joint_state((), 0).header.stamp, frame_id=frame)
        pose = SimpleNamespace(
            position=SimpleNamespace(x=x, y=y, z=z), orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
        )
        shape = {"type": SPHERE, "action": ADD, "scale": SimpleNamespace(x=2 * BALL, y=2 * BALL, z=2 * BALL)}
        common = {"header": header, "ns": "", "pose": pose, "points": [], "lifetime": SimpleNamespace(sec=0, nanosec=0)}
        markers = [SimpleNamespace(id=k, **common | shape | wrong) for k in range(n)]
        for k in range(0, n, IN_A_MESSAGE):
            message = SimpleNamespace(markers=markers[k : k + IN_A_MESSAGE])
            chain.arrangement.on_input(OBSTACLES, message, {"publisher_gid": OWN})

    return act


def far(chain: Chain) -> Array:
    """A place that is in nobody's way [m]."""
    return np.array([3.0, 3.0, 3.0])


def nowhere(chain: Chain) -> Array:
    """No place."""
    return np.full(3, np.nan)


def at_the_hand(chain: Chain) -> Array:
    """Where the hand is [m]."""
    return chain.setup.model.pose(chain.true_q).p


def ahead(chain: Chain) -> Array:
    """A place in the way of the hand, behind which the goal is [m]."""
    return chain.setup.model.pose(chain.setup.q).p + np.array([-0.1, -0.38, 0.15])
