"""What the tests of the native loop share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from arm_control.compiler import Callback
from arm_control.faults import SimulatedMiddleware, SimulatedNetwork
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


class FakeNetwork(SimulatedNetwork):
    """The network of the campaign, on which datagrams come while the loop waits.

    Attributes
    ----------
    coming : list of list of (bytes, tuple)
        Datagrams that come together, a millisecond after those before.
    on_poll, on_receive : callable
        Called where the loop waits with datagrams coming, and before it receives one.
    fails : set of str
        Functions that fail: ``send``.
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        super().__init__(now_ns)
        self.coming: list[list[Any]] = []
        self.on_poll: Callable[[], object] = lambda: None
        self.on_receive: Callable[[], object] = lambda: None
        self.fails: set[str] = set()
        self.longest_wait_ms = 0

    def _poll(self, *words: int) -> int:
        self.longest_wait_ms = words[-1]
        if self.coming and not self.waiting:
            self.on_poll()
            self.waiting.extend(self.coming.pop(0))
        return super()._poll(*words)

    def _receive(self, *words: int) -> int:
        self.on_receive()
        return super()._receive(*words)

    def _send(self, *words: int) -> int:
        return -1 if "send" in self.fails else super()._send(*words)
