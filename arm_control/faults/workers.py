"""Work on all cores: each piece in a process that is forked from this one, with all that is loaded here."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
WORK: list[Callable[[int], Any]] = []
"""What the processes do: known to them since they were forked."""


def forked(function: Callable[[int], T], n: int, n_processes: int = 0) -> Iterator[T]:
    """Yield the results for 0 to ``n - 1``, in this order; a process that dies ends it with an error.

    Parameters
    ----------
    function : callable
        What is done; results are pickled, the function is not.
    n : int
        How often.
    n_processes : int
        How many at a time; 0: as many as there are cores.
    """
    n_processes = min(n_processes or len(os.sched_getaffinity(0)), n)
    if n_processes <= 1:
        yield from map(function, range(n))
        return
    WORK.append(function)
    try:
        with ProcessPoolExecutor(n_processes, multiprocessing.get_context("fork")) as pool:
            yield from pool.map(_work, range(n))
    finally:
        WORK.pop()


def _work(k: int) -> Any:
    return WORK[-1](k)
