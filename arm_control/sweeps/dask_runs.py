"""Runs on Dask: one task a run, rows written in batches as they come.

A worker that dies costs the run that it had, which is tried on others, :data:`TRIES` times in all; then its row has the
reason. The scheduler gets a few runs for each worker ahead, so memory does not grow with the sweep. Whoever reaches a
scheduler's address runs code on its workers, and its workers send what this process unpickles: use one that you trust.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from itertools import islice
from os import cpu_count, environ
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from arm_control.exceptions import ArmControlError, MissingExtra
from arm_control.sweeps.row_files import begin_rows, write_rows
from arm_control.sweeps.single_run import RunPlan, row_of_run, run_row, seed_of
from arm_control.sweeps.sweep import Sweep

try:
    from dask import config
    from distributed import Client, LocalCluster, as_completed
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise MissingExtra("dask and distributed", "sweep") from error

ADDRESS = "DASK_SCHEDULER_ADDRESS"
TRIES = 3
"""Workers that may die in one run."""
BATCH, PERIOD = 1000, 20.0
"""Most rows of a batch, and most time until it is written [s]."""
AHEAD = 4
"""Runs in the scheduler for each worker."""
LOCAL = {
    "distributed.scheduler.allowed-failures": TRIES - 1,
    "distributed.scheduler.worker-saturation": 1.0,  # a worker that dies had one run, no other ones in its queue
}

Report = Callable[[str], None]


def run_sweep(
    sweep: Sweep,
    file: str | Path,
    *,
    workers: int = 0,
    scheduler: str = "",
    client: Client | None = None,
    resume: bool = False,
    report: Report = lambda _: None,
) -> int:
    """Run what has no row yet; return the number of new rows.

    Parameters
    ----------
    file : str or Path
        Folder for the rows (:mod:`arm_control.sweeps.row_files`).
    workers : int
        Processes on this machine; 0: one for each core.
    scheduler : str
        Address of a scheduler that runs already, such as ``tcp://host:8786``; empty: DASK_SCHEDULER_ADDRESS, or a
        cluster of this machine for this sweep only.
    client : Client, optional
        A client of Dask in place of all these.
    resume : bool
        Whether there may be rows of this sweep already.
    report : callable
        Gets sentences about the progress.

    Raises
    ------
    InputError
        When there are other rows.
    ArmControlError
        When the scheduler is gone, or never was there.
    KeyboardInterrupt
        After Ctrl-C, when the rows so far have been written.
    """
    folder = Path(file)
    done = begin_rows(folder, sweep, resume=resume)
    todo = (number for number in range(len(sweep.points)) if number not in done)
    n_todo, n_new = len(sweep.points) - len(done), 0
    if not n_todo:
        return 0
    with ExitStack() as stack:
        chosen = client or stack.enter_context(begin_cluster(workers, scheduler or environ.get(ADDRESS, "")))
        report(f"{n_todo} runs; dashboard: {chosen.dashboard_link} (needs bokeh)")
        progress, rows, written = _Progress(n_todo, report), [], monotonic()
        try:
            for row in _rows(chosen, sweep, todo):
                rows.append(row)
                if is_due := len(rows) >= BATCH or monotonic() - written >= PERIOD:
                    write_rows(folder, sweep, rows)
                    n_new, rows, written = n_new + len(rows), [], monotonic()
                progress.step(is_due=is_due)
        finally:
            if rows:
                write_rows(folder, sweep, rows)
            progress.end()
    return n_new + len(rows)


@contextmanager
def begin_cluster(workers: int, scheduler: str = "") -> Iterator[Client]:
    """Connect to a scheduler; without an address start a cluster of processes with one thread each, and end it."""
    if scheduler:
        try:
            client = Client(scheduler, timeout=10.0, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ArmControlError(f"no scheduler of Dask answers at {scheduler}: {error}") from None
        with client:
            yield client
        return
    with config.set(LOCAL), ExitStack() as stack:
        with _without_interrupts():  # workers inherit that, so Ctrl-C does not end them before their rows are here
            size = {"n_workers": workers or cpu_count() or 1, "threads_per_worker": 1, "memory_limit": 0}
            where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
            cluster = stack.enter_context(LocalCluster(processes=True, silence_logs=50, **size, **where))
            client = stack.enter_context(Client(cluster, set_as_default=False))
        yield client


def _rows(client: Client, sweep: Sweep, todo: Iterator[int]) -> Iterator[dict[str, Any]]:
    """Yield the rows of runs as they come, and submit as many again."""
    token, points, running = f"run-{uuid4().hex}", sweep.points, {}
    queue = as_completed(loop=client.loop)

    def submit(n: int) -> None:
        for number in islice(todo, n):
            values = points[number]
            future = client.submit(run_row, sweep.plan, number, values, key=(token, number), pure=False)
            running[future.key] = number, values
            queue.add(future)

    submit(AHEAD * max(1, sum(client.nthreads().values())))
    for future in queue:
        number, values = running.pop(future.key)
        yield _row(future, sweep.plan, number, values)
        submit(1)


def _row(future: Any, plan: RunPlan, number: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a run that ended, or the one that says why there is none; waits where it died with its worker."""
    try:
        row: dict[str, Any] = future.result()
        return row
    except CancelledError:
        raise ArmControlError("the scheduler of Dask is gone; --resume runs what is missing") from None
    except KilledWorker as reason:
        text = f"the worker died, in each of {reason.allowed_failures + 1} tries"
    except Exception as reason:  # the run itself raises none: it could not be sent, or read there
        text = f"{type(reason).__name__}: {reason}"
    return row_of_run(plan, number, values, seed_of(plan, number, values), text)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Progress:
    """Runs so far, their rate and the remaining time: on a terminal always, elsewhere with each batch."""

    def __init__(self, total: int, report: Report) -> None:
        self._total, self._report, self._done, self._begin = total, report, 0, monotonic()
        self._is_terminal = sys.stderr.isatty()

    def step(self, *, is_due: bool) -> None:
        self._done += 1
        rate = self._done / max(monotonic() - self._begin, 1e-9)
        text = f"{self._done}/{self._total} runs, {rate:.3g} a second, {(self._total - self._done) / rate:.0f} s left"
        if self._is_terminal:
            print(f"\r{text:60}", end="", file=sys.stderr, flush=True)
        elif is_due:
            self._report(text)

    def end(self) -> None:
        if self._is_terminal and self._done:
            print(file=sys.stderr)
