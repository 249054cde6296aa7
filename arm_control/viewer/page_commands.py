"""Commands of the people at the page, in their order.

The page's server has threads of its own: this queue passes the commands from its thread to the node's.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

COMMAND_TYPES = ("joint", "target", "obstacle", "add", "remove", "gain", "pause", "step", "reset", "speed", "enable")
VIEW_COMMANDS = ("joint",)
"""Commands of a page without control: they change the picture only."""


class PageCommand(NamedTuple):
    """A command of the page.

    Attributes
    ----------
    type : str
        One of :data:`COMMAND_TYPES`.
    name : str or tuple
        What it is about: a joint, a gain, an obstacle's namespace and number.
    """

    type: str
    name: Any = ""
    value: Any = None


class PageCommandQueue:
    """A queue that the page fills and the node empties.

    Parameters
    ----------
    control : bool
        Whether commands are accepted that change more than the view.
    capacity : int
        Longest queue; the oldest commands are dropped when more come.
    """

    def __init__(self, control: bool, capacity: int = 1000) -> None:
        self._control = control
        self._queue: deque[PageCommand] = deque(maxlen=capacity)

    def put(self, command_type: str, name: Any = "", value: Any = None) -> None:
        """Append a command; a page without control gets no other than :data:`VIEW_COMMANDS`.

        Parameters
        ----------
        command_type : str
            One of :data:`COMMAND_TYPES`.
        name, value
            As in :class:`PageCommand`.

        Raises
        ------
        ValueError
            When there is no such type.
        """
        if command_type not in COMMAND_TYPES:
            raise ValueError(f"no command '{command_type}'; there are: {', '.join(COMMAND_TYPES)}")
        if self._control or command_type in VIEW_COMMANDS:
            self._queue.append(PageCommand(command_type, name, value))

    def take(self) -> list[PageCommand]:
        """Return the commands since the last call."""
        taken = []
        while self._queue:
            taken.append(self._queue.popleft())
        return taken
