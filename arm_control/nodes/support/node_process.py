"""The process of nodes: domain, discovery and security from its environment; its end, which signals ask for."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logging_directory

MAX_DOMAIN = 232
WITH_SECURITY = ("rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp", "rmw_cyclonedds_cpp", "rmw_connextdds")
"""Middlewares with the security enclaves of SROS2, if they are built with them."""
HARMLESS_RANGES = ("LOCALHOST", "OFF")
"""Values of ROS_AUTOMATIC_DISCOVERY_RANGE that keep other machines out."""


def check_environment() -> None:
    """Refuse to start where DDS security is asked for and would not be there, in no domain, or without a log."""
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    if is_security_requested():
        _check_security()
    if not (domain.isascii() and domain.isdecimal() and int(domain) <= MAX_DOMAIN):
        _refuse(f"ROS_DOMAIN_ID is '{domain}'; allowed: 0 to {MAX_DOMAIN}")
    folder = Path(get_logging_directory())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # rclpy would raise, in the middle of a traceback
        _refuse(f"ROS keeps its log in {folder}: {error.strerror}: set ROS_LOG_DIR to a folder that can be written")


def is_security_requested() -> bool:
    """Return whether the environment asks for DDS security."""
    return os.environ.get("ROS_SECURITY_ENABLE", "").lower() == "true"


def _check_security() -> None:
    """Refuse settings with which ROS would run without security, and say nothing."""
    keystore = os.environ.get("ROS_SECURITY_KEYSTORE", "")
    middleware = rclpy.get_rmw_implementation_identifier()
    if os.environ.get("ROS_SECURITY_STRATEGY", "").lower() != "enforce":
        _refuse("ROS_SECURITY_ENABLE is set: set ROS_SECURITY_STRATEGY=Enforce too")
    if not keystore:
        _refuse("ROS_SECURITY_ENABLE is set: set ROS_SECURITY_KEYSTORE to the folder with the keys, too")
    if not (Path(keystore) / "enclaves").is_dir():
        _refuse(f"ROS_SECURITY_KEYSTORE: {keystore} is no keystore: it has no folder 'enclaves'")
    if middleware not in WITH_SECURITY:
        _refuse(f"ROS_SECURITY_ENABLE is set, and {middleware} has no security: choose another RMW_IMPLEMENTATION")


def _refuse(sentence: str) -> None:
    print(f"arm_control: {sentence}", file=sys.stderr)
    raise SystemExit(2)


@contextmanager
def security_explained() -> Iterator[None]:
    """Say in one sentence that a context or a node cannot be made with the security that is asked for."""
    try:
        yield
    except rclpy_implementation.RCLError as error:
        if not is_security_requested():
            raise
        _refuse(f"not started, since ROS_SECURITY_ENABLE is set and there is no security: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    """The cause that the middleware gives, without the names of its source files."""
    line = str(error).partition("\n")[0].partition(", at /")[0]
    return line.removeprefix("failed to initialize rcl: ").removeprefix("error creating node: ")


def describe_reach() -> str:
    """Return which domain this process is in, and who may talk to its nodes.

    ``ROS_LOCALHOST_ONLY=1``, where it is set, replaces ``ROS_AUTOMATIC_DISCOVERY_RANGE``, as in ROS.
    """
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    range_ = (os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "SUBNET").upper()
    is_local = os.environ.get("ROS_LOCALHOST_ONLY") == "1" or range_ in HARMLESS_RANGES
    range_ = "LOCALHOST" if os.environ.get("ROS_LOCALHOST_ONLY") == "1" else range_
    peers = "" if range_ == "OFF" else os.environ.get("ROS_STATIC_PEERS", "")
    where = f"ROS domain {domain}, discovery range {range_}"
    if is_security_requested():
        return f"{where}: whoever has a key of {os.environ['ROS_SECURITY_KEYSTORE']} may talk to the arm"
    if not is_local:
        limits = "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST limits that to this machine"
        return f"{where}: every machine on the network may talk to the arm; {limits}"
    return f"{where}: processes on this machine{f', and on {peers},' if peers else ''} may talk to the arm"


class ProcessEnd:
    """The end of a process that signals ask for: at rest, or in the middle of what no arm depends on yet.

    Attributes
    ----------
    signals : list of int
        The signals that have come since this object was created.
    """

    LONGEST = 3.0
    """Longest time from the first signal to the end [s]; a second signal ends at once."""

    _interrupts = False
    _has_interrupted = False

    def __init__(self, *numbers: int) -> None:
        self.signals: list[int] = []
        self._since = 0.0
        for number in numbers or (signal.SIGINT, signal.SIGTERM):
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
        """Return whether the process ends now; whether it is at rest is asked only after a signal."""
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
