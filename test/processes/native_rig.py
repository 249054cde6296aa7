"""What the tests of the native loop share."""

from __future__ import annotations

import ctypes
from typing import Any

from arm_control.compiler import Callback
from arm_control.faults import SimulatedMiddleware
from arm_control.processes.native_controller import Mailbox


class MeddledWords(list[int]):
    """Words of a mailbox, during whose copy another letter is written."""

    def __init__(self, mailbox: Mailbox) -> None:
        super().__init__([0] * mailbox.n)
        self._mailbox, self._is_over = mailbox, False

    def __setitem__(self, i: Any, value: Any) -> None:
        super().__setitem__(i, value)
        if not self._is_over:
            self._mailbox.sequence[0] += 2
        self._is_over = True


class FakeMiddleware(SimulatedMiddleware):
    """The middleware of the campaign, which also calls back."""

    @staticmethod
    def call(callback: Callback) -> None:
        """Call as the middleware does where a message has come."""
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(callback.function)(callback.argument, 1)
