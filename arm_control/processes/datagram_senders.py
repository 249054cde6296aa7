"""Who may send datagrams to ``arm_control serve``: the owner of the arm, whom its socket is connected with, and a key.

While the owner is heard, the system drops the datagrams of all others, however many there are: they take no time of the
controller, and no room where the owner's wait. Linux only: elsewhere the socket is never connected, and the controller
refuses them.

With a key that driver and command share, nobody else sends states, orders or torque. A datagram then ends with a *tag*,
the first ``TAG_SIZE`` bytes of HMAC-SHA256 (RFC 2104) of all bytes before it. A state has its usual bytes before that.
An order to enable has ``ORDER_SIZE`` bytes: its mark, four zeros, and a number, uint64.

The number of each state and order is larger than all before it, and than the Unix time [ns] at which the command has
started: a recorded datagram is refused, in the run that it was recorded in and in later ones. A driver takes the Unix
time, or the number before plus one, whichever is larger. Nothing is encrypted, and a key is for one arm: the number is
compared with those of one command only.
"""

from __future__ import annotations

import ctypes
import hmac
import ipaddress
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from arm_control.core import UnsafeFile, read_secret
from arm_control.exceptions import InputError

KEY_SIZE, TAG_SIZE, ORDER_SIZE = 32, 16, 16
"""Bytes of a key, of a tag, and of an order before its tag."""
NUMBER = slice(8, 16)
"""Place of the number in states, orders and answers."""
SILENCE = 1.0
"""Time without a state of the owner after which another sender may take over [s]."""
Sender = tuple[str, int]
"""Address and port."""
UNSPECIFIED = bytes(16)
"""``sockaddr`` of the family AF_UNSPEC: to connect with it disconnects; Python's ``connect`` knows only addresses."""


def bind(datagrams: socket.socket, address: str, port: int) -> None:
    """Bind a socket to a port that it keeps when it is disconnected.

    Parameters
    ----------
    port : int
        Port; 0: any.
    """
    datagrams.bind((address, port))
    if sys.platform == "linux" and port == 0:  # Linux keeps only a port that was asked for
        port = datagrams.getsockname()[1]
        _disconnect(datagrams)
        datagrams.bind((address, port))


def is_loopback(datagrams: socket.socket) -> bool:
    """Whether only this machine reaches the address of a socket."""
    return ipaddress.ip_address(datagrams.getsockname()[0]).is_loopback


class OwnerConnection:
    """Connects a socket with the owner, and disconnects it.

    Parameters
    ----------
    datagrams : socket
        A socket that :func:`bind` has bound.
    """

    def __init__(self, datagrams: socket.socket) -> None:
        self._socket = datagrams
        self._peer: Sender | None = None

    def follow(self, owner: Sender | None) -> None:
        """Connect with the owner; None: nobody is heard, and everybody may send."""
        if sys.platform != "linux" or owner == self._peer:
            return
        if self._peer is not None:
            _disconnect(self._socket)
        self._peer = None
        if owner is not None:
            with suppress(OSError):  # out of reach
                self._socket.connect(owner)
                self._peer = owner


def _disconnect(datagrams: socket.socket) -> None:
    ctypes.CDLL(None).connect(datagrams.fileno(), UNSPECIFIED, len(UNSPECIFIED))


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
