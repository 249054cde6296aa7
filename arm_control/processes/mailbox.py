"""Mailboxes: numbers from one thread to another, always all of one letter; nobody waits.

One writes, another reads whenever it likes. Before the words of a letter the writer makes the *sequence number* odd,
behind them even again. A reader copies the words and looks at the number before and after: where it was odd, or has
changed, the copy may be half old and half new, and counts as nothing. (A sequence lock; the order of loads and stores
that it needs, on any processor, is that of H.-J. Boehm, "Can seqlocks get along with programming language memory
models?", 2012.)

The words are 64-bit integers. Floats are their bits: ``words.view(np.float64)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.compiler import (
    Binds,
    Ints,
    compile_procedure,
    fence_acquire,
    fence_release,
    load_acquire,
    load_relaxed,
    procedure,
    store_relaxed,
    store_release,
)

NOTHING = -1
"""Instead of a sequence number: no letter has been read."""


class Mailbox(NamedTuple):
    """A mailbox, for procedures."""

    sequence: Ints
    words: Ints
    n: int

    @classmethod
    def of_size(cls, n: int) -> Mailbox:
        """Return an empty mailbox for letters of n words."""
        return cls(np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64), n)


class Sheet(NamedTuple):
    """A letter outside of a mailbox."""

    mailbox: Mailbox
    words: Ints


@procedure
def post_letter(mailbox: Mailbox, words: Ints) -> None:
    """Put a letter into a mailbox; only one thread at a time may do that."""
    number = load_relaxed(mailbox.sequence, 0)
    store_relaxed(mailbox.sequence, 0, number + 1)
    fence_release()
    for i in range(mailbox.n):
        store_relaxed(mailbox.words, i, words[i])
    store_release(mailbox.sequence, 0, number + 2)


@procedure
def copy_letter(mailbox: Mailbox, words: Ints) -> int:
    """Copy the letter of a mailbox; return its sequence number, or NOTHING where it was being written."""
    number = load_acquire(mailbox.sequence, 0)
    if number % 2 == 1:
        return NOTHING
    for i in range(mailbox.n):
        words[i] = load_relaxed(mailbox.words, i)
    fence_acquire()
    if load_relaxed(mailbox.sequence, 0) != number:
        return NOTHING
    return number


@procedure
def post_sheet(sheet: Sheet) -> float:
    """:func:`post_letter`, called from Python."""
    post_letter(sheet.mailbox, sheet.words)
    return 0.0


@procedure
def copy_to_sheet(sheet: Sheet) -> float:
    """:func:`copy_letter`, called from Python."""
    return copy_letter(sheet.mailbox, sheet.words)


class MailboxWriter:
    """The end of a mailbox at which Python writes."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.words = np.zeros_like(mailbox.words)
        bind: Binds[Sheet] = compile_procedure(post_sheet)
        self._post = bind(Sheet(mailbox, self.words))

    def post(self) -> None:
        """Send the letter; only one thread at a time may do that."""
        self._post()


class MailboxReader:
    """The end of a mailbox at which Python reads."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.words = np.zeros_like(mailbox.words)
        bind: Binds[Sheet] = compile_procedure(copy_to_sheet)
        self._copy = bind(Sheet(mailbox, self.words))

    def read(self) -> int:
        """Read the letter into :attr:`words`; return its sequence number."""
        while (number := int(self._copy())) == NOTHING:
            pass  # the writer needs less than a microsecond
        return number
