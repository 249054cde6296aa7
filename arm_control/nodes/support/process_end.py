"""The end of a process that signals ask for: at rest, or in the middle of what no arm depends on yet."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType


class ProcessEnd:
    """The end of a process that signals ask for.

    Attributes
    ----------
    signals : list of int
        The signals that have come.
    """

    LONGEST = 3.0
    """Longest time from the first signal to the end [s]; a second signal ends at once."""

    _interrupts = False
    _has_interrupted = False

    def __init__(self) -> None:
        self.signals: list[int] = []
        self._since = 0.0

    def listen(self, number: int) -> None:
        """Handle a signal, by its number."""
        signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signals.append(number)
        if ProcessEnd._interrupts:
            self._interrupt(frame)

    @staticmethod
    def _interrupt(frame: FrameType | None, *_: object) -> None:
        """Raise KeyboardInterrupt; after LLVM's bindings where they run, which else would free an object twice."""
        if not _is_whole(frame):
            sys.setprofile(ProcessEnd._interrupt)  # called at the next call or return
            return
        sys.setprofile(None)
        ProcessEnd._has_interrupted = True
        raise KeyboardInterrupt

    def is_reached(self, may_end: Callable[[], bool]) -> bool:
        """Return whether the process ends now.

        Parameters
        ----------
        may_end : callable
            Returns whether it is at rest; called only after a signal.
        """
        if not self.signals:
            return False
        self._since = self._since or time.monotonic()
        is_late = time.monotonic() - self._since > self.LONGEST or len(self.signals) > 1
        return may_end() or is_late

    @staticmethod
    @contextlib.contextmanager
    def interrupting() -> Iterator[None]:
        """Let signals interrupt what takes long, where no arm depends on it yet, by KeyboardInterrupt."""
        ProcessEnd._interrupts, ProcessEnd._has_interrupted = True, False
        try:
            yield
        except Exception:
            if ProcessEnd._has_interrupted:  # and C code has raised its own error instead: ElementTree's extend does
                raise KeyboardInterrupt from None
            raise
        finally:
            ProcessEnd._interrupts = False
            if sys.getprofile() == ProcessEnd._interrupt:
                sys.setprofile(None)


def _is_whole(frame: FrameType | None) -> bool:
    """Whether a frame may be left here: no function of LLVM's bindings is half done, and no object is being freed."""
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "llvmlite" or frame.f_code.co_name == "__del__":
            return False
        frame = frame.f_back
    return True
