"""What the benchmarks share: contenders that take turns, and what they were measured on."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

for _library in ("OMP", "OPENBLAS", "MKL"):  # one thread; NumPy must not have been imported yet
    os.environ[f"{_library}_NUM_THREADS"] = "1"
os.environ.setdefault("ARM_CONTROL_DRAFTS", "off")  # calls are timed of complete code


class Contender(NamedTuple):
    """A function and the arguments it is called with, one tuple after the other."""

    function: Callable[..., object]
    arguments: Sequence[tuple[Any, ...]]


class Times(NamedTuple):
    """Microseconds of a call: the median of blocks of calls, and what one call in a hundred exceeds."""

    median: float
    p99: float


def take_turns(contenders: Mapping[str, Contender], rounds: int) -> dict[str, Times]:
    """Time contenders block by block, so that a slow moment of the machine meets all of them.

    A block calls a contender with each of its arguments. The medians are of whole blocks, which the clock
    does not disturb; p99 is of calls that are timed one by one. The first round only warms up.
    """
    blocks: dict[str, list[float]] = {name: [] for name in contenders}
    calls: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(rounds + 1):
        for name, contender in contenders.items():
            block, singles = _block(contender), _one_by_one(contender)
            if round_:
                blocks[name].append(block)
                calls[name] += singles
    return {name: Times(median(blocks[name]), _p99(calls[name])) for name in contenders}


def _block(contender: Contender) -> float:
    function, arguments = contender
    begin = time.perf_counter_ns()
    for values in arguments:
        function(*values)
    return (time.perf_counter_ns() - begin) * 1e-3 / len(arguments)


def _one_by_one(contender: Contender) -> list[float]:
    function, now, times = contender.function, time.perf_counter_ns, []
    for values in contender.arguments:
        begin = now()
        function(*values)
        times.append((now() - begin) * 1e-3)
    return times


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[-1] if len(values) > 1 else values[0]


def medians(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of long calls that take turns: medians; what was made is thrown away between them."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, function in contenders.items():
            gc.collect()
            begin = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - begin)
    return {name: median(values) for name, values in times.items()}


def agree(what: str, found: Any, expected: Any, tolerance: float = 1e-8) -> None:
    """Refuse to go on when two contenders do not compute the same, as far as the largest entry tells."""
    import numpy as np

    found, expected = np.asarray(found, float), np.asarray(expected, float)
    error = np.abs(found - expected).max()
    if not error <= tolerance * max(1.0, np.abs(expected).max()):
        raise SystemExit(f"{what}: {error:.1e} apart, allowed {tolerance:.0e} of the largest entry")


def processor() -> str:
    """Name of the CPU."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), platform.processor())


def versions(*packages: str) -> str:
    """Versions of Python and of those of these packages that are installed."""
    found = [f"Python {platform.python_version()}"]
    for name in packages:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
