"""How much memory reading may take: a few bytes can unpack into more than a machine has."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARE = 0.8
"""Of the memory that is free."""


@contextmanager
def within_free_memory() -> Iterator[None]:
    """Let what takes more than is free raise ``MemoryError``, here and in libraries, before the machine stands still.

    The bound is the process's: nothing else should go on in it meanwhile. Where the system does not say what is free,
    there is none.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [bound for bound in (soft, hard, _most()) if bound not in (None, resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(bounds, default=soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _most() -> int | None:
    """What is in use and a share of what is free [bytes]; None where that is not known."""
    free = free_memory()
    if free is None:
        return None
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize() + round(SHARE * free)


def free_memory() -> int | None:
    """Memory that the system would give [bytes]; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
