"""Real-time priority of a process: SCHED_FIFO for the threads of the control path; memory and processors stay ready."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress

from arm_control.core import Parameters
from arm_control.exceptions import ParameterError

NAME = "real_time_priority"
THREADS = "/proc/self/task"
"""Folder with an entry for each thread of this process."""
WAKING_TIME = "/dev/cpu_dma_latency"
"""File to which a process writes how long a processor may take to wake up [us], int32; it counts while it is open."""
CURRENT, FUTURE, ON_FAULT = 1, 2, 4
"""Flags of ``mlockall``: what is mapped, what will be, and each page only once it has been touched."""


def highest_priority(nodes: Iterable[Parameters]) -> int:
    """Return the highest ``real_time_priority`` of some nodes' parameters; 0 where none has one."""
    return max((int(parameters.values().get(NAME, 0)) for parameters in nodes), default=0)


def join_control_path(parameters: Parameters) -> None:
    """Give this thread, of the control path, the ``real_time_priority`` of its node, whose other threads may have it.

    Where the process may not use SCHED_FIFO, :func:`take_real_time_priority` says so.
    """
    if priority := highest_priority([parameters]):
        with suppress(PermissionError):
            _set_fifo(priority)


def stay_below(priority: int) -> None:
    """Give this thread, of a process with that priority, one less, but 1 at least: threads that receive come first."""
    _set_fifo(max(1, priority - 1))


def take_real_time_priority(priority: int) -> str:
    """Give all threads of this process, those of the middleware among them, SCHED_FIFO.

    Its memory is locked, and no processor sleeps, where it may ask for that. Threads and processes that start later
    have the usual scheduler: nothing that plans or compiles holds up the control path.

    Parameters
    ----------
    priority : int
        From 1 to 99; the kernel's own threads for interrupts have 50.

    Returns
    -------
    str
        What was done, for the log.

    Raises
    ------
    ParameterError
        When the process may not do that.
    """
    if sys.platform != "linux":
        raise ParameterError(f"{NAME} = {priority}: only Linux has SCHED_FIFO; set 0")
    try:
        for thread in os.listdir(THREADS):
            _set_fifo(priority, int(thread))
    except PermissionError:
        raise ParameterError(
            f"{NAME} = {priority}: this process may not use SCHED_FIFO; a line 'USER - rtprio {priority}' in"
            " /etc/security/limits.conf (new login) or CAP_SYS_NICE allows it; 0 does without"
        ) from None
    is_locked = ctypes.CDLL(None).mlockall(CURRENT | FUTURE | ON_FAULT) == 0
    memory = "its memory is locked" if is_locked else "its memory is not locked: a limit 'memlock unlimited' allows it"
    return f"SCHED_FIFO with priority {priority} for all threads of this process; {memory}; {_keep_processors_awake()}"


def _keep_processors_awake() -> str:
    """Let no processor sleep until this process ends; return what was done."""
    try:
        os.write(os.open(WAKING_TIME, os.O_WRONLY), bytes(4))  # open for as long as the process
    except OSError as error:
        return f"processors may sleep: {WAKING_TIME}: {error.strerror}"
    return "no processor sleeps"


def _set_fifo(priority: int, thread: int = 0) -> None:
    """Give a thread, this one by default, SCHED_FIFO; what it starts later has the usual scheduler."""
    os.sched_setscheduler(thread, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
