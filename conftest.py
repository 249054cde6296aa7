"""What holds for every test: a cache of its own, nothing imported that is not there, no clock, an end to every hang."""

import atexit
import faulthandler
import gc
import multiprocessing.process
import os
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import pytest

if sys.dont_write_bytecode:  # compile for hundreds of processes once, but not beside the sources
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parent / ".pytest_cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

for _library in ("OPENBLAS", "OMP", "MKL"):  # a worker for each processor; threads beside them would only wait, busily
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

HANG = 600.0
"""Time after which a test hangs [s]: its process prints the stacks of all threads and ends."""
REAL_TIME = "real_time"
"""Mark and group of tests in which real time counts."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's background job; nodes would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore_glob = [] if find_spec("launch_ros") else ["arm_control/app/launch_*.py"]  # launch is not on PyPI
if not (find_spec("distributed") and find_spec("pyarrow")):  # of the extra sweep; its tests say so
    collect_ignore_glob += ["arm_control/sweeps/dask_runs.py", "arm_control/sweeps/row_files.py"]

if "ARM_CONTROL_CACHE" not in os.environ:  # a cache that all processes of this run share, and no other run
    os.environ["ARM_CONTROL_CACHE"] = tempfile.mkdtemp(prefix="arm_control_test_")
    atexit.register(shutil.rmtree, os.environ["ARM_CONTROL_CACHE"], ignore_errors=True)

os.environ.setdefault("ARM_CONTROL_DRAFTS", "only")  # quickly made code, and no compiler runs behind the tests
os.environ.setdefault("ARM_CONTROL_STRICT", "1")  # a law that cannot be compiled is an error, in nodes, too

NO_CLOCK = [hypothesis.HealthCheck.too_slow]  # how long an example takes depends on what else the machine does
hypothesis.settings.register_profile("arm_control", deadline=None, suppress_health_check=NO_CLOCK, derandomize=True)
hypothesis.settings.load_profile("arm_control")

MOST_WITH_PROCESSES = 40
"""Tests that may start a process: one for each executable, and for each fault of a process."""
TOOLS = {"ar", "as", "c++", "cc", "cmake", "gcc", "ld", "ldconfig", "lscpu", "nm", "node", "objdump", "uname"}
"""Programs that count for none: they compile, compute once, or tell of the machine."""

GLFW = "def get_version(library_handle)"
"""Part of a command of the module ``glfw``, which MuJoCo imports: it looks for its library in other processes."""

_stderr = pytest.StashKey[int]()
_started: list[str] = []
"""Processes that were started so far."""


def _note_process(event: str, arguments: tuple[Any, ...]) -> None:
    """Note a start: a hook for the events of the interpreter."""
    if event in ("os.fork", "os.posix_spawn"):
        _started.append(event)
    elif event == "subprocess.Popen":
        program, command = Path(os.fsdecode(arguments[0] or "")).name, str(arguments[1])
        if program not in TOOLS and GLFW not in command:
            _started.append(command)


sys.addaudithook(_note_process)


def _count_spawned_processes() -> None:
    """Note the starts of `multiprocessing`, too, of which the interpreter gives no event."""
    start = multiprocessing.process.BaseProcess.start

    def noted(process: multiprocessing.process.BaseProcess) -> None:
        _started.append(process.name)
        start(process)

    multiprocessing.process.BaseProcess.start = noted  # type: ignore[method-assign]


_count_spawned_processes()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the standard error of this process, which is not captured at this moment, and the order of tests."""
    config.stash[_stderr] = os.dup(2)
    config.option.loadscopereorder = False  # of xdist, which sorts groups by their number of tests


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say which tests one worker runs one after the other.

    Those in which real time counts, since another one beside them would take their time; those of a file, since they
    share what is expensive to make. Tests of nodes that have a mark of their own, or only processes, are on their own.
    """
    fixtures = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker(REAL_TIME):
        item.add_marker(pytest.mark.xdist_group(REAL_TIME))
    elif "rig" not in fixtures and not item.get_closest_marker("xdist_group"):
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the groups: first that in which real time counts, since one worker has it all; then an even mixture.

    Tests with a rig wait for processes, the others compute: beside each other they keep all processors busy. Doctests,
    which are short, come last, so that all workers end at the same time.
    """
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        (name, *_) = [*(mark.args[0] for mark in item.iter_markers("xdist_group")), item.nodeid]
        groups.setdefault(name, []).append(item)
    waiting: list[str] = []
    computing: list[str] = []
    place: dict[str, float] = {}
    for name, (item, *_) in groups.items():
        if isinstance(item, pytest.Function):
            (waiting if "rig" in item.fixturenames else computing).append(name)
        else:
            place[name] = 1.0
    place |= {name: k / len(kind) for kind in (waiting, computing) for k, name in enumerate(kind)} | {REAL_TIME: -1.0}
    items[:] = [item for name in sorted(groups, key=place.__getitem__) for item in groups[name]]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Leave half a million objects, of modules and tests, to no collection of garbage, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a test that hangs, in C code too: xdist then reports a crash of its worker in this test."""
    faulthandler.dump_traceback_later(HANG, exit=True, file=item.config.stash[_stderr])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Note in the last report of a test that it has started processes."""
    report = yield
    if call.when == "teardown":
        if _started:
            report.user_properties.append(("processes", len(_started)))
        _started.clear()
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List what was skipped, with the reasons, and count the tests that have started a process."""
    skipped: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        *_, reason = report.longrepr if isinstance(report.longrepr, tuple) else (str(report.longrepr),)
        skipped[reason.removeprefix("Skipped: ")].append(report.nodeid.partition("@")[0])
    if skipped:
        terminalreporter.section("skipped, and why")
    for reason, tests in sorted(skipped.items()):
        files = sorted({test.partition("::")[0] for test in tests})
        terminalreporter.write_line(f"{len(tests)} of {', '.join(files)}: {reason}")
    reports = [report for group in terminalreporter.stats.values() for report in group]
    names = {r.nodeid.partition("@")[0] for r in reports if dict(getattr(r, "user_properties", ())).get("processes")}
    if names:
        terminalreporter.write_line(f"{len(names)} tests have started a process, {MOST_WITH_PROCESSES} may")
    if len(names) > MOST_WITH_PROCESSES:
        terminalreporter.write_line("\n".join(sorted(names)))


def pytest_enter_pdb() -> None:
    """Somebody who debugs may take longer."""
    faulthandler.cancel_dump_traceback_later()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End a process that hangs at its exit."""
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers wait for each other, and are ended
        faulthandler.dump_traceback_later(HANG, exit=True, file=config.stash[_stderr])
