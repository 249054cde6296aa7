"""The end of a process with that of its parent, however that one ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

PARENT = "ARM_CONTROL_PARENT"
"""Environment variable with the id of the process that started this one, and with which it ends."""


def die_with_parent() -> None:
    """Linux: get a SIGINT when the process that started us is gone, however it went, if it asked for that.

    Between the two there may be a debugger or a terminal; then it is that one's end that counts.
    """
    parent = os.environ.get(PARENT)
    if parent is None or sys.platform != "linux":
        return
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGINT)
    if int(parent) not in _ancestors():
        raise SystemExit(1)


def _ancestors() -> Iterator[int]:
    """Ids of the parent, its parent, and so on, in Linux."""
    pid = os.getppid()
    while pid > 0:
        yield pid
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:  # it has just ended, or is hidden
            return
        pid = int(stat.rpartition(")")[2].split()[1])  # the name before may have spaces
