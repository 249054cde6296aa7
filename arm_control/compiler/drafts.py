"""Drafts: machine code of a long program that is made quickly, for the first run on a computer.

Most of the time to compile goes into the choice of registers, and grows faster than the program. A draft leaves that
choice to LLVM's quick method: a third of the time to compile, and code that takes 1.4 times as long (four times where
it is too large for the processor's cache). Arithmetic and its order are chosen before, so a draft gives the same
numbers to the last bit, and nothing depends on which of the two runs.

A second process makes the complete code meanwhile, at idle priority, compares it with the draft on random inputs, and
stores it in the cache, where the next start finds it. The process that made the draft keeps the draft. Where there is
no cache, or with ``ARM_CONTROL_DRAFTS=off`` in the environment, all code is complete at once; with
``ARM_CONTROL_DRAFTS=only`` all code is and stays a draft, as for tests, which call a law a few times.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import numpy as np

from arm_control.compiler import llvm_compiler as llvm
from arm_control.compiler.program import Program
from arm_control.core import Cache, open_directory
from arm_control.maths import Array

LOG = logging.getLogger("arm_control.compiler")
DRAFTS = "ARM_CONTROL_DRAFTS"
"""Environment variable: ``off`` makes all code complete at once, ``only`` leaves all code a draft."""
LONG = 8_000
"""Lines of a program from which on it gets a draft."""
N_CASES = 8
"""Cases in which complete code is compared with its draft."""


class Draft(NamedTuple):
    """A draft, and what its complete code is made of.

    Attributes
    ----------
    data : bytes
        The draft as it would stand there: inputs and outputs as JSON, a line end, the object file.
    code : str
        Intermediate code of a kernel for one case.
    """

    directory: str
    key: str
    title: str
    data: bytes
    code: str


def is_wanted(program: Program, cache: Cache) -> bool:
    """Whether the code of a program is a draft at first."""
    can_complete = cache.directory is not None and bool(sys.executable)
    return can_complete and len(program.lines) >= LONG and os.environ.get(DRAFTS) not in ("off", "only")


def are_enough() -> bool:
    """Whether all code is a draft and stays one."""
    return os.environ.get(DRAFTS) == "only"


def complete_later(draft: Draft) -> None:
    """Start a process that makes the complete code and stores it; returns at once."""
    Thread(target=_run_process, args=(draft,), name="complete a draft", daemon=True).start()


def _run_process(draft: Draft) -> None:
    """Start the process and wait for its end: a thread of its own has no real-time priority to pass on."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    path = os.pathsep.join(filter(None, sys.path))
    with tempfile.TemporaryFile() as file:
        pickle.dump(draft, file)
        file.seek(0)
        subprocess.run(
            [sys.executable, "-m", __name__],
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # else a pipe behind this command has no end before the code is complete
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
            check=False,
        )


@contextmanager
def turn(directory: str) -> Iterator[None]:
    """Wait until no other process completes drafts of a cache, each of which takes a processor and 100 MB."""
    import fcntl  # noqa: PLC0415 - Windows has none, and no cache

    fd = open_directory(Path(directory), create=True)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def complete(draft: Draft) -> None:
    """Make the complete code of a draft, compare both, and store it."""
    cache = Cache(Path(draft.directory))
    if cache.load(draft.key) is not None:  # by another process meanwhile
        return
    layout, _, _ = draft.data.partition(b"\n")
    data = layout + b"\n" + llvm.compile_code(draft.code)
    if not np.array_equal(_numbers(draft.data), _numbers(data), equal_nan=True):
        LOG.warning("%s: the complete code differs from its draft, and is not used", draft.title)
        return
    cache.store(draft.key, data, draft.title)


def _numbers(data: bytes) -> Array:
    """Inputs and outputs of a kernel in random cases, shape (N_CASES, numbers)."""
    layout, _, code = data.partition(b"\n")
    inputs, outputs = json.loads(layout)
    n_inputs = sum(inputs.values())
    work = np.zeros(n_inputs + sum(int(np.prod(shape)) for shape in outputs.values()))
    call = llvm.Library(code).function("kernel", ctypes.c_void_p)
    rng, cases = np.random.default_rng(0), []
    for _ in range(N_CASES):
        work[:n_inputs] = rng.uniform(-1.0, 1.0, n_inputs)
        call(work.ctypes.data)
        cases.append(work.copy())
    return np.array(cases)


def main() -> None:
    """Complete the draft that comes on standard input, when the processor has nothing else to do."""
    with suppress(AttributeError, OSError):
        os.nice(19)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    draft = pickle.load(sys.stdin.buffer)
    with turn(draft.directory):
        complete(draft)


if __name__ == "__main__":
    main()
