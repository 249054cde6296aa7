"""Modules of the package as processes that are forked from one with everything imported.

A start of Python with ROS, NumPy and LLVM takes 1 s of a core, a fork a few milliseconds. The server imports and forks,
nothing else: no ROS context exists in it, and no thread but those that LTTng starts where rclpy is loaded. It forks
twice, and the process in the middle ends at once, so that Linux makes the new process a child of the one that asked
(its subreaper): that one waits for it and signals it as usual, and ``ARM_CONTROL_PARENT`` holds.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import inspect
import os
import pkgutil
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PRELOADED = (
    *("numpy.ma", "numpy.random", "llvmlite.binding", "yaml", "mujoco", "rich.live", "rich.progress"),
    *("rosbags.highlevel", "rclpy.node", "rosidl_generator_py", "type_description_interfaces.msg", "fractions"),
    *("arm_control.compiler.llvm_compiler", "arm_control.model.engine"),
    *("arm_control.app.run", "arm_control.report.run_figures"),
)
"""What nodes and commands import only when they run."""
EXECUTABLES = "arm_control."
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl


class ForkedProcess:
    """A child of this process that somebody else forked: what the tests use of ``subprocess.Popen``.

    Parameters
    ----------
    pid : int
        Number of the process.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, the negative number of a signal, or None while the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; `subprocess.TimeoutExpired` after so long [s]."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.002)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The other end of a server.

    Parameters
    ----------
    connection : Connection
        Connection to it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def launch(cls, environment: dict[str, str], *modules: str) -> ForkServer:
        """Start a server as a process that ends when this one does.

        Parameters
        ----------
        environment : dict of str to str
            Environment in which it imports; each process forked from it gets one of its own.
        *modules : str
            What it imports instead of everything.
        """
        _become_subreaper()
        ours, theirs = Pipe()
        subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno()), *modules],
            env={**environment, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},  # no threads of NumPy's, either
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C goes to the tests
        )
        theirs.close()
        return cls(ours)

    def start(
        self, module: str, arguments: Sequence[str], environment: dict[str, str], output: int, session: bool = False
    ) -> ForkedProcess:
        """Run ``main()`` of a module in a process of its own.

        Parameters
        ----------
        module : str
            Its name.
        arguments : sequence of str
            Its command line.
        environment : dict of str to str
            All environment variables.
        output : int
            Open file that gets standard output and standard error.
        session : bool
            Whether the process begins a session.

        Returns
        -------
        ForkedProcess
            The process, which is a child of this one.
        """
        sys.audit("os.posix_spawn", module, arguments, environment)  # whoever counts processes counts this one
        path = os.readlink(f"/proc/self/fd/{output}")
        self._connection.send((module, list(arguments), environment, path, session, os.getcwd()))
        return ForkedProcess(self._connection.recv())

    def close(self) -> None:
        """Let the server end; what it has forked goes on."""
        self._connection.close()


def _become_subreaper() -> None:
    """Become the parent of descendants whose parent has ended."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _serve(connection: Connection) -> tuple[str, list[str]]:
    """Fork for each request; return what is to run in the process that was forked, and never in the server."""
    asking, n_threads = os.getppid(), _n_threads()
    while True:
        try:
            module, arguments, environment, output, session, folder = connection.recv()
        except EOFError:
            os._exit(0)
        with suppress(Exception):  # the new process says what is wrong
            importlib.import_module(module)
        if _n_threads() > n_threads:
            raise RuntimeError(f"a thread was started by importing {module}: a fork would not have it")
        reading, writing = os.pipe()
        tracing = _Tracing()
        middle = os.fork()
        if middle == 0:
            if new := os.fork():
                os.write(writing, str(new).encode())
                os._exit(0)
            connection.close()
            os.close(reading)
            os.close(writing)
            while os.getppid() != asking:
                time.sleep(0.0005)
            tracing.go_on("child")
            _settle(environment, output, session, folder)
            return module, arguments
        os.waitpid(middle, 0)
        tracing.go_on("parent")
        connection.send(int(os.read(reading, 32)))
        os.close(reading)
        os.close(writing)


class _Tracing:
    """LTTng at a fork. rclpy loads it, it has two threads, and it has to be told to start them anew in the fork.

    Otherwise it cancels them at the end of the process, though they are not there, which may be a crash.
    """

    def __init__(self) -> None:
        maps = Path("/proc/self/maps").read_text()
        found = re.search(r"\S*/liblttng-ust(-[0-9a-f]{8})?\.so\S*", maps)
        self._library, self._signals = ctypes.CDLL(found.group()) if found else None, ctypes.create_string_buffer(128)
        self._call("before_fork")

    def go_on(self, where: str) -> None:
        """After the fork, in the ``"parent"`` or in the ``"child"``."""
        self._call(f"after_fork_{where}")

    def _call(self, what: str) -> None:
        if self._library is not None:
            prefix = "ust" if hasattr(self._library, "ust_before_fork") else "lttng_ust"
            getattr(self._library, f"{prefix}_{what}")(self._signals)


def _n_threads() -> int:
    """Threads of this process, those of C libraries too."""
    return len(os.listdir("/proc/self/task"))


def _settle(environment: dict[str, str], output: str, session: bool, folder: str) -> None:
    """Give this process what a new one would have been started with."""
    if session:
        os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    printed = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)


def _run(module: str, arguments: list[str]) -> None:
    """Do as ``python -m`` with this module."""
    main = importlib.import_module(module)
    if hasattr(main, "__path__"):
        main = importlib.import_module(f"{module}.__main__")
    sys.modules["__main__"] = main  # what a spawned process of multiprocessing imports
    sys.argv = [str(main.__file__), *arguments]
    if module.endswith(".cli"):
        _fork_nodes_of_a_run()
    sys.exit(main.main())


def _fork_nodes_of_a_run() -> None:
    """Let ``arm_control run`` get its nodes from a server of its own instead of new interpreters."""
    ours, theirs = Pipe()
    _become_subreaper()
    tracing = _Tracing()
    if os.fork() == 0:
        tracing.go_on("child")
        os.setsid()
        ours.close()
        _run(*_serve(theirs))
    tracing.go_on("parent")
    theirs.close()
    server, popen = ForkServer(ours), subprocess.Popen

    def start(command: Sequence[str], **options: Any) -> Any:
        if list(command[:2]) != [sys.executable, "-m"] or not command[2].startswith(EXECUTABLES):
            return popen(command, **options)
        output, session = options["stdout"].fileno(), options["start_new_session"]
        return server.start(command[2], command[3:], options["env"], output, session)

    subprocess.Popen = start  # type: ignore[assignment, misc]


def _load_type_support() -> None:
    """Load the libraries of the messages and services whose classes are imported."""
    for name, module in list(sys.modules.items()):
        if name.endswith((".msg", ".srv")):
            for interface in vars(module).values():
                if hasattr(interface, "__import_type_support__"):
                    interface.__import_type_support__()


def main() -> None:
    """Import, and fork for whoever started this process."""
    from arm_control import nodes

    sys.path[0] = ""  # as for ``python -m``
    modules = (module.name for module in pkgutil.walk_packages(nodes.__path__, f"{nodes.__name__}."))
    for name in sys.argv[2:] or (*PRELOADED, *modules):
        with suppress(ImportError):  # an extra
            importlib.import_module(name)
    _load_type_support()
    inspect.getmodule(inspect.currentframe())  # it notes the files of all modules, which each rclpy logger asks for
    gc.collect()
    gc.freeze()  # no collection of a fork writes to the pages of this process, which would copy them
    _run(*_serve(Connection(int(sys.argv[1]))))


if __name__ == "__main__":
    main()
