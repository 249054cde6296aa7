"""A process: its end with that of its parent, text on its terminal, calls that one thread at a time makes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

PARENT = "ARM_CONTROL_PARENT"
"""Environment variable with the id of the process that started this one, and with which it ends."""


def die_with_parent() -> None:
    """Linux: get a SIGINT when the process that started us is gone, however it went, if it asked for that.

    Between the two there may be a debugger or a terminal; then it is that one's end that counts.
    """
    parent = os.environ.get(PARENT)
    if parent is None or sys.platform != "linux":
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script has started the parent with &
        signal.signal(signal.SIGINT, signal.default_int_handler)
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGINT)
    if int(parent) not in _ancestors():
        raise SystemExit(1)


def _ancestors() -> Iterator[int]:
    """Ids of the parent, its parent, and so on, in Linux."""
    pid = os.getppid()
    while pid > 0:
        yield pid
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:  # it has just ended, or is hidden
            return
        pid = int(stat.rpartition(")")[2].split()[1])  # the name before may have spaces


# -- text on a terminal


T = TypeVar("T")
WIDTH = 30
"""Characters of the bar."""


def progress_bar(items: Iterable[T], title: str | None) -> Iterator[T]:
    """Yield every item, and draw the progress on standard error if that is a terminal.

    Parameters
    ----------
    title : str or None
        Text before the bar; None: no bar.
    """
    items = list(items)
    is_drawn = title is not None and sys.stderr.isatty()
    try:
        for done, item in enumerate(items):
            if is_drawn:
                filled = WIDTH * done // len(items)
                print(
                    f"\r{title} [{'#' * filled}{' ' * (WIDTH - filled)}] {done}/{len(items)}", end="", file=sys.stderr
                )
            yield item
    finally:  # the caller may stop before the end
        if is_drawn:
            print(f"\r{' ' * (WIDTH + len(str(title)) + 12)}\r", end="", file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Escape characters that a terminal interprets: control characters, line breaks, changes of direction."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


# -- calls that one thread at a time makes


class Locked(Protocol):
    """An object with a lock, which its thread may take again."""

    @property
    def lock(self) -> RLock:
        """The lock."""


LockedT = TypeVar("LockedT", bound=Locked)
P = ParamSpec("P")
R = TypeVar("R")


def exclusive(function: Callable[Concatenate[LockedT, P], R]) -> Callable[Concatenate[LockedT, P], R]:
    """Let a method, or a function, hold the ``lock`` of its object, or of its first argument, while it runs.

    Examples
    --------
    >>> from threading import RLock
    >>> class Sum:
    ...     def __init__(self) -> None:
    ...         self.lock, self.total = RLock(), 0
    ...
    ...     @exclusive
    ...     def add(self, x: int) -> int:
    ...         self.total += x
    ...         return self.total
    >>> Sum().add(2)
    2
    """

    @wraps(function)
    def alone(owner: LockedT, /, *args: P.args, **kwargs: P.kwargs) -> R:
        lock = owner.lock
        lock.acquire()  # half the time of a with statement
        try:
            return function(owner, *args, **kwargs)
        finally:
            lock.release()

    return alone
