"""A function over many items, on the cores of this machine, with its results in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from os import cpu_count
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from arm_control.exceptions import ArmControlError
from arm_control.sweeps.single_run import function_named

Item = TypeVar("Item")
Result = TypeVar("Result")
FEW = 8
"""Fewer items are not worth the start of processes."""


def in_order(function: Callable[[Item], Result], items: Sequence[Item], workers: int = 0) -> Iterator[Result]:
    """Yield the results of a function for items, in their order.

    Parameters
    ----------
    function : callable
        A function of a module, or of the program that runs; what it keeps, it keeps in each process.
    workers : int
        Processes of Dask; 1: a plain loop in this process; 0: as many as there are cores, where Dask is installed.

    Raises
    ------
    ArmControlError
        When a process has died, in all its tries.
    """
    has_dask = find_spec("distributed") is not None
    workers = min(workers or ((cpu_count() or 1) if has_dask else 1), len(items))
    if workers <= 1 or len(items) < FEW:
        yield from map(function, items)
        return
    from arm_control.sweeps.dask_runs import begin_cluster, task_results

    calls = ((*_address(function), number, item) for number, item in enumerate(items))
    early: dict[int, Result] = {}
    n_yielded = 0
    with begin_cluster(workers) as client:
        for results in task_results(client, _numbered, calls, len(items), _lost):
            early.update(results)
            while n_yielded in early:
                yield early.pop(n_yielded)
                n_yielded += 1


def _address(function: Callable[..., Any]) -> tuple[str, str]:
    """Name of a function with its module, and the folder of that: those of the program where it runs as one."""
    module = sys.modules[function.__module__]
    path = Path(module.__file__ or "").absolute()
    name = path.stem if module.__name__ == "__main__" else module.__name__
    return f"{name}:{function.__name__}", str(path.parent)


def _numbered(name: str, folder: str, number: int, item: Any) -> tuple[int, Any]:
    return number, function_named(name, folder)(item)


def _lost(reason: str, name: str, _: str, number: int, item: Any) -> NoReturn:
    raise ArmControlError(f"{name}, item {number} ({item}): {reason}")
