"""Text on a terminal: a progress bar, and what is safe to print."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
WIDTH = 30
"""Characters of the bar."""


def progress_bar(items: Iterable[T], title: str | None) -> Iterator[T]:
    """Yield every item, and draw the progress on standard error if that is a terminal.

    Parameters
    ----------
    items : iterable
        What the caller works through.
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
