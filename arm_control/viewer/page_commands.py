"""What people want who look at the page, in the order in which they said so.

The page's server has threads of its own: this is where its thread and the node's meet.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

KINDS = ("joint", "target", "obstacle", "add", "remove", "gain", "pause", "step", "reset", "speed", "enable")
VIEW = ("joint",)
"""What a page may want that only looks: it turns the picture, and goes nowhere else."""


class Wish(NamedTuple):
    """What is wanted, of which (a joint's name, an obstacle's key), and how."""

    kind: str
    name: Any = ""
    value: Any = None


class Wishes:
    """A box into which the page puts wishes, and from which the node takes them.

    Parameters
    ----------
    control : bool
        Whether wishes are taken that do more than change the view.
    most : int
        The oldest are forgotten when more wait.
    """

    def __init__(self, control: bool, most: int = 1000) -> None:
        self._control = control
        self._box: deque[Wish] = deque(maxlen=most)

    def put(self, kind: str, name: Any = "", value: Any = None) -> None:
        """Say a wish; a page that only looks is not heard unless it is about the view."""
        if kind not in KINDS:
            raise ValueError(f"no wish '{kind}'; there are: {', '.join(KINDS)}")
        if self._control or kind in VIEW:
            self._box.append(Wish(kind, name, value))

    def take(self) -> list[Wish]:
        """Everything since the last call."""
        taken = []
        while self._box:
            taken.append(self._box.popleft())
        return taken
