"""Runs tests with a mutant in place of its module, in forked processes; no file is changed.

Everything is imported once. In a fork an import hook gives the mutant, and the module and those that import it are
imported anew. A law or a procedure that is defined in one of these modules is compiled anew, under a key of its own, in
a copy of a warm cache; kernels of other laws do not depend on the mutant. Procedures are compiled from their text, to
machine code and to C: that is the text of the mutant, too.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import linecache
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import pytest
from mutators import Mutant

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from arm_control.core import progress_bar  # noqa: E402

PACKAGE = ROOT / "arm_control"
PYTEST = [
    *["-x", "-q", "-n", "0", "-o", "addopts=", "--import-mode=importlib", "--assert=plain", "--tb=no"],
    *["-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:hypothesispytest"],
    *("-m", "not campaign", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")),
]
"""Options: those of the suite, without what takes time and decides nothing."""
FAST = 1.0
"""Processor time of a fast test [s]."""
SLOWER, LEAST_TIME, SILENCE = 4.0, 10.0, 300.0
"""Processor time of a mutant, in one test and in all: so many times that without it, and so long [s]; and most time on
the clock [s]."""


class Group(NamedTuple):
    """Modules to change, from the package's folder, and their tests, from the repository's."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass
class Run:
    """How the tests of a mutant, or of none, ended.

    Attributes
    ----------
    status : int
        Exit status of pytest; negative: the signal that ended the process.
    failed : str
        The first test that failed.
    durations : dict of str to float
        Processor time of each test [s].
    modules : list of str
        What was imported at the end.
    seconds : float
        Processor time [s].
    """

    status: int = 1
    failed: str = ""
    durations: dict[str, float] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    seconds: float = 0.0


# -- processes -----------------------------------------------------------------------------------------


def run_group(group: Group, mutants: list[Mutant], folder: Path, jobs: int, title: str) -> dict[int, Run]:
    """Run the tests without a mutant, then with each.

    Parameters
    ----------
    group : Group
        Modules and tests.
    mutants : list of Mutant
        Changes of the modules.
    folder : Path
        Place for caches.
    jobs : int
        Number of processes at a time.
    title : str
        Of the progress bar.

    Returns
    -------
    dict of int to Run
        By the number of the mutant.
    """
    warm = folder / "warm"
    warm.mkdir()
    pool = _Pool(group, folder, 1)
    pool.start(-1, [])
    first = pool.finish()[-1]
    for name in first.modules:
        with suppress(Exception):  # what a test has made, or what must not be imported twice
            importlib.import_module(name)
    pool = _Pool(group, folder, jobs, first)
    unchanged = [_unchanged(path) for path in dict.fromkeys(mutant.path for mutant in mutants)]
    pool.start(-1, unchanged)  # what is run is right without a change
    if (run := pool.finish()[-1]).status:
        raise SystemExit(f"{title}: {run.failed or run.status} fails without a mutant")
    for number, mutant in enumerate(progress_bar(mutants, title)):
        pool.start(number, [mutant])
    runs = pool.finish()
    del runs[-1]
    return runs


class _Pool:
    """Forked processes, a few at a time; the first one, without known durations, warms the cache."""

    def __init__(self, group: Group, folder: Path, jobs: int, before: Run | None = None) -> None:
        self._group, self._folder, self._jobs, self._before = group, folder, jobs, before
        self._running: dict[int, tuple[int, float]] = {}
        self._runs: dict[int, Run] = {}
        self._changed = {path: _dependents(_module_name(path)) for path in group.modules if before}

    def start(self, number: int, mutants: Sequence[Mutant]) -> None:
        """Start a run with such modules as soon as one may."""
        while len(self._running) >= self._jobs:
            self._collect()
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            self._be_child(number, mutants)
        self._running[pid] = number, time.monotonic() + SILENCE

    def finish(self) -> dict[int, Run]:
        """Wait for all, and return how they ended."""
        while self._running:
            self._collect()
        return self._runs

    def _collect(self) -> None:
        for pid, (number, deadline) in list(self._running.items()):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with suppress(ProcessLookupError):  # what its tests have left behind
                    os.killpg(pid, signal.SIGKILL)
                del self._running[pid]
                file = self._folder / f"{number}.run"
                if os.WIFSIGNALED(status):
                    self._runs[number] = Run(-os.WTERMSIG(status))
                elif status:
                    raise SystemExit((self._folder / str(number) / "output").read_text())
                else:
                    self._runs[number] = pickle.loads(file.read_bytes())
                file.unlink(missing_ok=True)
                shutil.rmtree(self._folder / str(number), ignore_errors=True)
        time.sleep(0.005)

    def _be_child(self, number: int, mutants: Sequence[Mutant]) -> None:
        """Run the tests and end; a failure of this script is exit status 1, that of a test is written down."""
        status = 1
        try:
            os.setsid()
            own = self._folder / str(number)
            own.mkdir()
            _hush(own / "output")
            if self._before is not None:
                limit = int(SLOWER * self._before.seconds + LEAST_TIME)
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
                shutil.copytree(self._folder / "warm", own / "cache")
            _set_environment(own, self._folder / "warm" if self._before is None else own / "cache")
            if not _replace(mutants, set().union(*(self._changed[mutant.path] for mutant in mutants))):
                run = Run(1, "import of the module")
            else:
                tests = {f"test_{Path(mutant.path).stem}" for mutant in mutants}
                run = _test(self._group, self._before.durations if self._before else {}, tests)
            part = self._folder / f"{number}.part"
            part.write_bytes(pickle.dumps(run))
            part.rename(self._folder / f"{number}.run")
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)


def _hush(file: Path) -> None:
    """Send what the process prints to a file."""
    output = os.open(file, os.O_WRONLY | os.O_CREAT)
    for number in (1, 2):
        os.dup2(output, number)


def _set_environment(own: Path, cache: Path) -> None:
    os.environ |= {"ARM_CONTROL_CACHE": str(cache), "HOME": str(own), "TMPDIR": str(own)}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    tempfile.tempdir = None
    os.chdir(ROOT)


class _Recorder:
    """A pytest plugin: runs fast tests, those of the module and then the quickest first, and notes which one fails.

    A test that needs far more time than without a mutant ends the process, also within machine code.
    """

    def __init__(self, durations: dict[str, float], own: set[str]) -> None:
        self._before, self._own = durations, own
        self.run = Run()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self._before.get(item.nodeid, 0.0) <= FAST]
        items.sort(key=lambda item: (item.path.stem not in self._own, self._before.get(item.nodeid, 0.0)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self._before:
            signal.setitimer(signal.ITIMER_PROF, SLOWER * self._before.get(item.nodeid, 0.0) + LEAST_TIME)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        begin = time.process_time()
        try:
            return (yield)
        finally:
            self.run.durations[item.nodeid] = time.process_time() - begin

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.run.failed = self.run.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.run.failed = self.run.failed or f"import of {report.nodeid}"


def _test(group: Group, durations: dict[str, float], own: set[str]) -> Run:
    """Run the tests of a group in this process, those of the files ``own`` first, until one fails."""
    recorder = _Recorder(durations, own)
    tests = [test for test in group.tests if (ROOT / test).exists()]
    begin = time.process_time()
    recorder.run.status = int(pytest.main([*PYTEST, *tests], [recorder]))
    recorder.run.seconds = time.process_time() - begin
    recorder.run.modules = [name for name in sys.modules if not name.startswith(("test", "conftest", "__"))]
    return recorder.run


# -- modules -------------------------------------------------------------------------------------------


class _Hook(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Finds and loads one module, from its changed text."""

    def __init__(self, name: str, file: Path, text: str) -> None:
        super().__init__(name, str(file))
        self._text = text

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Say where to find the module, if it is the one."""
        del path, target
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=self.path)

    def get_code(self, fullname: str) -> CodeType:
        """Return the changed code; whoever asks for the text of one of its functions gets the changed text, too."""
        del fullname
        linecache.cache[self.path] = len(self._text), None, self._text.splitlines(keepends=True), self.path
        code: CodeType = compile(self._text, self.path, "exec", dont_inherit=True)
        return code


def _module_name(path: str) -> str:
    return ".".join(("arm_control", *Path(path).with_suffix("").parts))


def _unchanged(path: str) -> Mutant:
    """A module as it is, written anew."""
    return Mutant(path, 0, "", "nothing", ast.unparse(ast.parse((PACKAGE / path).read_text())))


def _replace(mutants: Sequence[Mutant], changed: set[str]) -> bool:
    """Give mutants in place of their modules; these and all that import them, ``changed``, are imported anew.

    Return whether they can be imported.
    """
    if not mutants:
        return True
    names = [_module_name(mutant.path) for mutant in mutants]
    sys.meta_path[:0] = [
        _Hook(name, PACKAGE / mutant.path, mutant.text) for name, mutant in zip(names, mutants, strict=True)
    ]
    for module in changed:
        sys.modules.pop(module, None)
    _compile_anew(changed, " ".join(f"{mutant.key} {mutant.line}" for mutant in mutants))
    try:
        for name in ("arm_control", *names):
            importlib.import_module(name)
    except Exception:
        return False
    for module in [module for module in sys.modules if module.startswith("arm_control.")]:
        parent, _, own = module.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], own, sys.modules[module])
    return True


def _compile_anew(changed: set[str], digest: str) -> None:
    """Give laws and procedures that are defined in changed modules another key in the cache of machine code."""
    from arm_control.compiler import Law, compiled_procedure

    key = Law.key.func if hasattr(Law.key, "func") else Law.key.fget
    is_from_this_package = compiled_procedure.is_from_this_package

    def own_key(law: Law) -> str:
        return f"{key(law)} {digest}" if _module_of(law.function) in changed else key(law)

    Law.key = property(own_key)
    compiled_procedure.is_from_this_package = lambda function: (
        _module_of(function) not in changed and is_from_this_package(function)
    )


def _module_of(function: Any) -> str:
    while hasattr(function, "func"):
        function = function.func
    return str(function.__module__)


def _dependents(name: str) -> set[str]:
    """Return a module and all loaded ones that import it, directly or not."""
    imported = {module: set(_imports(module)) for module in sys.modules if module.partition(".")[0] == "arm_control"}
    found, pending = set(), {name}
    while pending:
        found |= pending
        pending = {module for module, others in imported.items() if others & pending} - found
    return found


def _imports(module: str) -> Iterator[str]:
    """Modules of the package that a module imports, wherever in its text."""
    file = getattr(sys.modules[module], "__file__", None)
    for node in ast.walk(ast.parse(Path(file).read_text())) if file else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
