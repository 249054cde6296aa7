"""Mailboxes: a letter is read whole or not at all."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from native_rig import MeddledWords

from arm_control.compiler import Ints, compile_procedure, procedure
from arm_control.processes.native_controller import NOTHING, Mailbox, MailboxEnd, copy_letter, post_letter

N_LETTERS = 200_000


class Writing(NamedTuple):
    """A thread that writes letters, each of equal words."""

    mailbox: Mailbox
    words: Ints
    n_letters: int


@procedure
def write_letters(writing: Writing) -> float:
    """Write them."""
    for k in range(1, writing.n_letters):
        for i in range(writing.mailbox.n):
            writing.words[i] = k
        post_letter(writing.mailbox, writing.words)
    return 0.0


def test_a_letter_is_read_as_it_was_written():
    mailbox = Mailbox.of_size(3)
    writer, reader = MailboxEnd(mailbox), MailboxEnd(mailbox)
    writer.words[:] = 1, 2, 3
    assert (reader.read(), reader.words.tolist()) == (0, [0, 0, 0])
    writer.post()
    assert (reader.read(), reader.words.tolist()) == (2, [1, 2, 3])


def test_a_letter_that_is_being_written_is_nothing():
    mailbox, words = Mailbox.of_size(2), np.zeros(2, dtype=np.int64)
    mailbox.sequence[0] = 1
    assert copy_letter(mailbox, words) == NOTHING
    mailbox.sequence[0] = 2
    assert copy_letter(mailbox, words) == 2


def test_a_letter_that_has_changed_meanwhile_is_nothing():
    mailbox = Mailbox.of_size(2)
    words: Any = MeddledWords(mailbox)
    assert copy_letter(mailbox, words) == NOTHING
    assert copy_letter(mailbox, words) == 2


def test_no_letter_is_half_of_one_and_half_of_another():
    """Another thread writes without Python's lock, as fast as it can."""
    mailbox = Mailbox.of_size(50)
    reader = MailboxEnd(mailbox)
    bind = compile_procedure(write_letters)
    writing = threading.Thread(target=bind(Writing(mailbox, np.zeros(50, dtype=np.int64), N_LETTERS)))
    writing.start()
    last = 0
    while writing.is_alive():
        reader.read()
        assert reader.words.min() == reader.words.max() >= last
        last = int(reader.words[0])
    writing.join()
    reader.read()
    assert set(reader.words.tolist()) == {N_LETTERS - 1}
