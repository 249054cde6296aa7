"""Modules as processes of their own: started so that they end with us, what they print, how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PARENT = "ARM_CONTROL_PARENT"
"""Environment variable with the process that a node must not outlive."""


class PrintedLines:
    """What processes have printed into a file, line by line; a line without its end waits for it.

    Parameters
    ----------
    path : Path
        The file; it is there.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._begun = path.open(errors="replace"), ""

    def new(self) -> list[str]:
        """Lines since the last call."""
        *lines, self._begun = (self._begun + self._file.read()).split("\n")
        return lines

    def close(self) -> None:
        """Look no more."""
        self._file.close()


def start(module: str, arguments: Sequence[str], output: Path) -> subprocess.Popen[bytes]:
    """Start a module in a session of its own, so that Ctrl-C reaches it through us only; it prints into a file."""
    with output.open("ab") as printed:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"},
        )


def interrupt(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGINT) -> None:
    """Send a signal to a process that still runs, also when it has been stopped."""
    if process.poll() is None:
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)


def end(process: subprocess.Popen[bytes], seconds: float = 5.0) -> None:
    """Wait for the end of a process that was interrupted; kill it after so long [s]."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        interrupt(process, signal.SIGKILL)
        process.wait()


def cause(code: int | None) -> str:
    """Say how a process ended."""
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"
