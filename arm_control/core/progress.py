"""A bar for work that takes longer than a blink."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
WIDTH = 30


def bar(items: Iterable[T], title: str | None) -> Iterator[T]:
    """Yield every item, and draw how far that is on a terminal's standard error.

    Parameters
    ----------
    items : iterable
    title : str or None
        What is being done; None: nothing is drawn. Nor is it where standard error is no terminal.
    """
    items = list(items)
    is_drawn = title is not None and sys.stderr.isatty()
    for done, item in enumerate(items):
        if is_drawn:
            filled = WIDTH * done // len(items)
            print(f"\r{title} [{'#' * filled}{' ' * (WIDTH - filled)}] {done}/{len(items)}", end="", file=sys.stderr)
        yield item
    if is_drawn:
        print(f"\r{' ' * (WIDTH + len(str(title)) + 12)}\r", end="", file=sys.stderr, flush=True)
