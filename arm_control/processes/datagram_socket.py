"""The socket of ``arm_control serve``, connected with the owner of the arm while that is heard.

The system drops the datagrams of all others then, however many there are: they take no time of the controller, and no
room where the owner's wait. Linux only: elsewhere the socket is never connected, and the controller refuses them.
"""

from __future__ import annotations

import ctypes
import ipaddress
import socket
import sys
from contextlib import suppress

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
    address : str
        Address, or its name.
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
