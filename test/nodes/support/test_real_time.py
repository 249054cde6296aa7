"""Real-time priority: for which threads, and what is said where it is not allowed."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from arm_control.controllers import OscNodeParameters
from arm_control.exceptions import ParameterError
from arm_control.nodes import take_real_time_priority
from arm_control.nodes.dynamics import DynamicsParameters
from arm_control.nodes.support import real_time
from arm_control.nodes.support.real_time import highest_priority

IN_A_PROCESS = """
import os, threading
from arm_control.control.controller import RealTimeParameters
from arm_control.nodes.support.real_time import join_control_path, stay_below, take_real_time_priority

def policies():
    threads = map(int, os.listdir("/proc/self/task"))
    return [os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK for thread in threads]

end = threading.Event()
other = threading.Thread(target=end.wait)
other.start()
said = take_real_time_priority(10)
first = policies()
threading.Thread(target=end.wait).start()
n_later = policies().count(os.SCHED_OTHER)
path = threading.Thread(target=lambda: (join_control_path(RealTimeParameters(10)), joined.append(policies())))
joined = []
path.start()
path.join()
stay_below(10)
others = {os.sched_getparam(other.native_id).sched_priority}
print(others, os.sched_getparam(0).sched_priority, sep="|", end="|")
stay_below(1)
print(os.sched_getparam(0).sched_priority, end="|")
print(said, set(first) == {os.SCHED_FIFO}, len(first) >= 2, n_later, joined[0].count(os.SCHED_OTHER), sep="|")
end.set()
"""


def may_use_fifo() -> bool:
    before = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, before, os.sched_param(0))
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has SCHED_FIFO")
@pytest.mark.processes
def test_all_threads_have_it_and_later_ones_do_not():
    if not may_use_fifo():
        pytest.skip("this user may not use SCHED_FIFO")
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS], capture_output=True, text=True, check=True)
    others, own, own_of_lowest, said, are_all_fifo, are_several, *n_later = done.stdout.strip().split("|")
    assert (others, own, own_of_lowest) == ("{10}", "9", "1")
    assert said.startswith("SCHED_FIFO with priority 10 for all threads of this process; its memory is ")
    assert (are_all_fifo, are_several, n_later) == ("True", "True", ["1", "1"])


def test_without_rights_one_sentence_says_what_helps(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(real_time.sys, "platform", "linux")
    monkeypatch.setattr(os, "listdir", lambda _: ["1"])
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with pytest.raises(ParameterError) as refusal:
        take_real_time_priority(40)
    assert str(refusal.value) == (
        "real_time_priority = 40: this process may not use SCHED_FIFO; a line 'USER - rtprio 40' in"
        " /etc/security/limits.conf (new login) or CAP_SYS_NICE allows it; 0 does without"
    )


def test_elsewhere_there_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_time.sys, "platform", "darwin")
    with pytest.raises(ParameterError, match="only Linux has SCHED_FIFO"):
        take_real_time_priority(40)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_no_processor_sleeps_while_the_process_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "waking time"
    monkeypatch.setattr(real_time, "WAKING_TIME", str(file))
    monkeypatch.setattr(real_time, "_set_fifo", lambda *_: None)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mlockall=lambda _: 0))
    assert take_real_time_priority(40).endswith(f"processors may sleep: {file}: No such file or directory")
    file.write_bytes(b"12345678")
    assert take_real_time_priority(40).endswith("its memory is locked; no processor sleeps")
    assert file.read_bytes() == bytes(4) + b"5678"
    numbers = {path.name: os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    (held,) = (int(number) for number, name in numbers.items() if name == str(file))
    os.close(held)


def test_the_highest_of_a_process_counts_and_it_is_off_by_default():
    fast, slow = (OscNodeParameters.from_mapping({"real_time_priority": n}) for n in (40, 30))
    assert highest_priority([slow, fast, DynamicsParameters()]) == 40
    assert highest_priority([OscNodeParameters(), DynamicsParameters()]) == 0
    with pytest.raises(ParameterError):
        OscNodeParameters.from_mapping({"real_time_priority": 100})
