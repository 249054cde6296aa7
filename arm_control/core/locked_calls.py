"""Calls that one thread at a time makes: for objects with a work space that threads may share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar


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
