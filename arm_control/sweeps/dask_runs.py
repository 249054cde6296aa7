"""Runs on Dask: tasks of about :data:`TASK` seconds, rows written in batches as they come.

A task has as many runs as their durations allow, so what Dask costs is shared by them. A worker that dies costs its
task, which is tried on others, :data:`TRIES` times in all; then each of its runs is tried alone, and one that ends
workers again has the reason in its row. The scheduler gets a few tasks for each worker ahead, so memory does not grow
with the sweep. Whoever reaches a scheduler's address runs code on its workers, and its workers send what this process
unpickles: use one that you trust.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count, islice
from os import cpu_count, environ
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from arm_control.exceptions import ArmControlError, MissingExtra
from arm_control.sweeps.row_files import begin_rows, write_rows
from arm_control.sweeps.single_run import row_of_run, run_row, seed_of
from arm_control.sweeps.sweep import Sweep

try:
    from dask import config
    from distributed import Client, LocalCluster, Security, as_completed
    from distributed.comm import get_address_host_port
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise MissingExtra("dask and distributed", "sweep") from error

ADDRESS = "DASK_SCHEDULER_ADDRESS"
TRIES = 3
"""Workers that may die in one task."""
BATCH, PERIOD = 1000, 20.0
"""Most rows of a batch, and most time until it is written [s]."""
AHEAD = 4
"""Tasks in the scheduler for each worker."""
TASK = 2.0
"""Time of a task, of several runs where they are shorter [s]."""
LOCAL = {
    "distributed.scheduler.allowed-failures": TRIES - 1,
    "distributed.worker.profile.interval": "1s",  # each 10 ms, it takes a tenth of the processor
    "distributed.admin.low-level-log-length": 10,  # it keeps what was sent to each worker, with all runs of a task
    "distributed.scheduler.worker-saturation": 1.0,  # a worker that dies had one task, no other ones in its queue
}

Report = Callable[[str], None]
Result = TypeVar("Result")


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
    folder, plan, points = Path(file), sweep.plan, sweep.points
    todo = np.flatnonzero(~begin_rows(folder, sweep, resume=resume))
    if not len(todo):
        return 0

    def lost(reason: str, number: int, values: Mapping[str, Any]) -> dict[str, Any]:
        return row_of_run(plan, number, values, seed_of(plan, number, values), reason)

    n_new, rows = 0, []
    with ExitStack() as stack:
        chosen = client or stack.enter_context(begin_cluster(workers, scheduler or environ.get(ADDRESS, "")))
        report(f"{len(todo)} runs; dashboard: {chosen.dashboard_link} (needs bokeh)")
        progress, written = _Progress(len(todo), report), monotonic()
        items = ((number, points[number]) for number in map(int, todo))
        try:
            for results in task_results(chosen, partial(run_row, plan), items, len(todo), lost):
                rows += results
                if is_due := len(rows) >= BATCH or monotonic() - written >= PERIOD:
                    write_rows(folder, sweep, rows)
                    n_new, rows, written = n_new + len(rows), [], monotonic()
                progress.step(len(results), is_due=is_due)
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
            _check_address(scheduler)
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


def _check_address(address: str) -> None:
    """Refuse an address for which Dask would leave a client behind that takes 20 s, and a traceback, to end."""
    get_address_host_port(address)
    if address.startswith("tls://") and Security().get_connection_args("client").get("ssl_context") is None:
        raise ValueError("its settings distributed.comm.tls.ca-file and distributed.comm.tls.client.cert are needed")


def task_results(
    client: Client,
    function: Callable[..., Result],
    items: Iterator[tuple[Any, ...]],
    n_items: int,
    lost: Callable[..., Result],
) -> Iterator[list[Result]]:
    """Yield the results of a function, a task's at a time, as they come.

    Parameters
    ----------
    items : iterator of tuple
        Arguments of the calls, which are ``n_items``.
    lost : callable
        Gets the reason and the arguments of a call whose task failed; returns what stands for its result, or raises.

    Raises
    ------
    ArmControlError
        When the scheduler is gone.
    """
    token, numbers, running = f"runs-{uuid4().hex}", count(), {}
    queue = as_completed(loop=client.loop)
    n_wanted, looked, size = 0, -PERIOD, 1

    def submit(chosen: list[tuple[Any, ...]]) -> None:
        future = client.submit(_results, function, chosen, key=(token, next(numbers)), pure=False)
        running[future.key] = chosen
        queue.add(future)

    def fill() -> None:
        nonlocal n_wanted, looked
        if monotonic() - looked >= PERIOD:  # workers may join and leave
            n_wanted, looked = AHEAD * max(1, sum(client.nthreads().values())), monotonic()
        while len(running) < n_wanted and (chosen := [*islice(items, size)]):
            submit(chosen)

    fill()
    for future in queue:
        chosen = running.pop(future.key)
        try:
            seconds, results = future.result()
        except CancelledError:
            raise ArmControlError("the scheduler of Dask is gone; --resume runs what is missing") from None
        except Exception as reason:  # the function itself raises none in a sweep: it could not be sent, or read there
            if len(chosen) > 1:
                for item in chosen:
                    submit([item])
                continue
            results, seconds = [lost(_reason(reason), *chosen[0])], TASK
        n_items -= len(results)
        size = max(1, min(int(TASK * len(results) / max(seconds, 1e-6)), BATCH, n_items // n_wanted))
        fill()
        yield results


def _results(function: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> tuple[float, list[Result]]:
    """A task: the time that it took [s], and the results of its calls."""
    begin = monotonic()
    results = [function(*arguments) for arguments in calls]
    return monotonic() - begin, results


def _reason(reason: Exception) -> str:
    if isinstance(reason, KilledWorker):
        return f"the worker died, in each of {reason.allowed_failures + 1} tries"
    return f"{type(reason).__name__}: {reason}"


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

    def step(self, n: int, *, is_due: bool) -> None:
        self._done += n
        rate = self._done / max(monotonic() - self._begin, 1e-9)
        text = f"{self._done}/{self._total} runs, {rate:.3g} a second, {(self._total - self._done) / rate:.0f} s left"
        if self._is_terminal:
            print(f"\r{text:60}", end="", file=sys.stderr, flush=True)
        elif is_due:
            self._report(text)

    def end(self) -> None:
        if self._is_terminal and self._done:
            print(file=sys.stderr)
