"""The end of a process with that of its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from arm_control.core import PARENT, die_with_parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the signal is one of Linux")
CHILD = "from arm_control.core.process import die_with_parent as d; d(); print('up', flush=True); input()"
"""A process that waits for the end of its standard input."""
MIDDLE = f"""
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.environ["{PARENT}"] = str(os.getpid())
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""
"""A process that starts the child, and waits for it; as behind ``&`` in a script, both begin with SIGINT ignored."""


def test_a_process_ends_when_its_parent_is_killed():
    read, write = os.pipe()  # nobody writes: the child's standard input stays open
    middle = subprocess.Popen([sys.executable, "-c", MIDDLE, CHILD], stdin=read, stdout=subprocess.PIPE)
    assert middle.stdout is not None
    assert middle.stdout.readline() == b"up\n"
    middle.send_signal(signal.SIGKILL)
    assert middle.stdout.read() == b"", "end of file: the child has ended, too"
    middle.wait()
    os.close(read)
    os.close(write)


def test_a_terminal_may_stand_in_between_and_a_parent_that_has_gone_before_may_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(PARENT, str(os.getpid()))
    command = ["sh", "-c", f'"{sys.executable}" -c "{CHILD}"; exit 7']
    done = subprocess.run(command, input="\n", capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("up\n", 7)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setenv(PARENT, str(gone.pid))
    done = subprocess.run([sys.executable, "-c", CHILD], input="\n", capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 1)


def test_without_a_named_parent_nothing_happens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(PARENT, raising=False)
    die_with_parent()
