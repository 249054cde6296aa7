"""What tests of machine code share: the memory of a process, and threads that change places all the time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

N_THREADS = 4


def resident() -> int:
    """Memory of this process [bytes]."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def run_in_threads(beat: Callable[[int], None]) -> None:
    """Call a function with 0, 1, 2 and 3, each in a thread of its own; Python changes between them all the time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=beat, args=(seed,)) for seed in range(N_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
