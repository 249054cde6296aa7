"""Datagrams with a key that a driver and ``arm_control serve`` share: without it nobody sends states, orders or torque.

A datagram ends with a *tag*, the first ``TAG_SIZE`` bytes of HMAC-SHA256 (RFC 2104) of all bytes before it. A state has
its usual bytes before that. An order to enable has ``ORDER_SIZE`` bytes: its mark, four zeros, and a number, uint64.

The number of each state and order is larger than all before it, and than the Unix time [ns] at which the command has
started: a recorded datagram is refused, in the run that it was recorded in and in later ones. A driver takes the Unix
time, or the number before plus one, whichever is larger. Nothing is encrypted, and a key is for one arm: the number is
compared with those of one command only.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from pathlib import Path

from arm_control.core import UnsafeFile, read_secret
from arm_control.exceptions import InputError

KEY_SIZE, TAG_SIZE, ORDER_SIZE = 32, 16, 16
"""Bytes of a key, of a tag, and of an order before its tag."""
NUMBER = slice(8, 16)
"""Place of the number in states, orders and answers."""


class DatagramKey:
    """Signs answers, and checks tags and numbers of datagrams.

    Parameters
    ----------
    clock_ns : callable
        Returns the Unix time [ns].
    """

    def __init__(self, key: bytes, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._key = key
        self._number = clock_ns()

    def sign(self, data: bytes) -> bytes:
        """Return a datagram with its tag."""
        return data + self._tag(data)

    def check(self, data: bytes) -> bytes:
        """Return a datagram without its tag.

        Raises
        ------
        InputError
            The tag is not that of the key, or the number is not larger than those before.
        """
        content, tag = data[:-TAG_SIZE], data[-TAG_SIZE:]
        if len(content) < ORDER_SIZE or not hmac.compare_digest(tag, self._tag(content)):
            raise InputError("wrong tag: the sender does not have the key")
        number = int.from_bytes(content[NUMBER], "little")
        if number <= self._number:
            raise InputError(
                f"repeated number: {number}, allowed above {self._number}; numbers follow the Unix time [ns]"
            )
        self._number = number
        return content

    def _tag(self, data: bytes) -> bytes:
        return hmac.digest(self._key, data, "sha256")[:TAG_SIZE]


def read_key(path: str) -> DatagramKey:
    """Read a key from a file that nobody else may read.

    Raises
    ------
    InputError
        There is no such file, others may read it, or it is no key.
    """
    try:
        key = read_secret(Path(path), KEY_SIZE)
    except (UnsafeFile, OSError) as error:
        raise InputError(f"--key-file {path}: {error}") from error
    if len(key) != KEY_SIZE:
        raise InputError(f"--key-file {path}: it has {len(key)} bytes; a key has {KEY_SIZE}")
    return DatagramKey(key)
