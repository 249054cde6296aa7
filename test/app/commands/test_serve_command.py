"""``arm_control serve``: the driver in C of the examples gets torque."""

from __future__ import annotations

import hashlib
import hmac
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from arm_control.app import cli
from arm_control.app.commands import serve_command
from arm_control.app.commands.serve_command import NATIVE, PYTHON
from arm_control.processes import DatagramProcess

EXAMPLE = Path(__file__).parents[3] / "examples" / "udp_driver.c"
PATIENCE = 60.0
"""Longest time that a process is waited for [s]."""
LINES = {NATIVE: "ordinary states are answered without Python", PYTHON: "Python answers all states: --loop python"}
HOME = (0.0, -1.4, 1.9, -2.07, -1.57, 0.0)
has_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture
def port() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The driver of the examples."""
    path = tmp_path / "udp_driver"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, EXAMPLE], check=True)
    return path


def parameter_file(folder: Path, text: str) -> str:
    """A file with a controller for which no gap is too long: the machine may be busy."""
    path = folder / "parameters.yaml"
    path.write_text(f"/**/osc:\n  ros__parameters:\n    max_missed: 1000000000\n{text}")
    return str(path)


class Driver(threading.Thread):
    """An arm at rest whose next state follows an answer, or waits 10 ms for one.

    Attributes
    ----------
    numbers : list of int
        Numbers of the states that were answered.
    torques : list of tuple of float
        Torques of the answers [N m].
    """

    def __init__(self, port: str) -> None:
        super().__init__()
        self.numbers: list[int] = []
        self.torques: list[tuple[float, ...]] = []
        self._is_ending = threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", int(port)))
        self._socket.settimeout(0.01)

    def __enter__(self) -> Driver:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ending.set()
        self.join()
        self._socket.close()

    def run(self) -> None:
        """Send states, and receive answers, also to those of before."""
        k = 0
        while not self._is_ending.is_set():
            k += 1
            with suppress(OSError):  # nobody listens
                self._socket.send(struct.pack("<4sIQq12d", b"ACS1", 6, k, k * 1_000_000, *HOME, *[0.0] * 6))
            self._receive()
        while self._receive():
            pass

    def _receive(self) -> bool:
        try:
            data = self._socket.recv(1000)
            self.numbers.append(struct.unpack_from("<Q", data, 8)[0])
            self.torques.append(struct.unpack_from("<6d", data, 24))
        except TimeoutError:
            return False
        except ConnectionRefusedError:
            time.sleep(0.01)
        return True


@pytest.mark.parametrize("loop", [NATIVE, PYTHON])
def test_it_ends_with_as_many_answers_as_were_asked_for(loop: str, port: str, tmp_path: Path, capfd):
    node_only = "    loop: python\n    lock_step: false\n"
    options = ["--loop", loop, "--params-file", parameter_file(tmp_path, node_only)]
    with Driver(port) as driver:
        assert cli.main(["serve", "ur5", "--port", port, "--states", "100", *options]) == 0
    assert len(driver.numbers) == 100
    assert LINES[loop] in capfd.readouterr().out.splitlines()


@pytest.mark.processes
def test_a_signal_ends_it_while_states_come_and_one_without_consequences_ends_nothing(port: str, tmp_path: Path):
    """The handler of that one runs at once, once for each signal, while states are answered without Python."""
    program = "import os, signal, sys; signal.signal(signal.SIGUSR1, lambda *_: os.write(2, b'heard\\n'))\n"
    program += "from arm_control.app.cli import main; sys.exit(main(sys.argv[1:]))"
    options = ["--port", port, "--params-file", parameter_file(tmp_path, "")]
    command = [sys.executable, "-c", program, "serve", "ur5", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as served, Driver(port) as driver:  # type: ignore[call-overload]
        while not (line := served.stdout.readline()).startswith("states come from"):
            assert line, served.stderr.read()
        for _ in range(3):
            n = len(driver.numbers)
            os.kill(served.pid, signal.SIGUSR1)
            assert served.stderr.readline() == "heard\n"
            while len(driver.numbers) < n + 100:
                assert served.poll() is None
        served.send_signal(signal.SIGINT)
        assert served.wait(PATIENCE) == 130
        assert served.stderr.read() == ""


def test_a_signal_ends_it_while_it_waits(port: str, tmp_path: Path):
    def interrupt() -> None:
        """Press Ctrl-C when the port is taken."""
        with suppress(OSError):
            while True:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
                    free.bind(("127.0.0.1", int(port)))
                time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    options = ["--port", port, "--params-file", parameter_file(tmp_path, "")]
    assert cli.main(["serve", "ur5", *options]) == 130


@pytest.mark.parametrize(
    ("words", "parameters", "why"),
    [
        (("ur5",), "    avoid_obstacles: true\n", "avoid_obstacles"),
        (("ur5",), "    disturbance_observer: true\n    inertia_floor: 0.02\n", "disturbance_observer, inertia_floor"),
        (("--scenario", "ur5_attractor"), "", "only operational space control can do without it"),
    ],
)
def test_what_needs_python_is_said(words: tuple[str, ...], parameters: str, why: str, port: str, tmp_path: Path, capfd):
    options = ["--params-file", parameter_file(tmp_path, parameters), "--port", port, "--states", "3"]
    with Driver(port):
        assert cli.main(["serve", *words, *options]) == 0
    assert f"Python answers all states: {why}" in capfd.readouterr().out.splitlines()


@pytest.mark.parametrize("source", ["option", "file"])
def test_a_driver_that_adds_gravity_gets_none(source: str, port: str, tmp_path: Path, capfd):
    text = "/**/gate:\n  ros__parameters:\n    driver_adds_gravity: true\n" if source == "file" else ""
    options = [*(["--driver-adds-gravity"] if source == "option" else ()), "--params-file"]
    with Driver(port) as driver:
        words = ["serve", "ur5", "--port", port, "--states", "5", *options, parameter_file(tmp_path, text)]
        assert cli.main(words) == 0
    assert max(abs(tau) for taus in driver.torques for tau in taus) < 1e-3
    assert "torque without gravity, which the driver adds\n" in capfd.readouterr().out


# -- strangers -----------------------------------------------------------------------------------------


def state(k: int) -> bytes:
    """A state of an arm at rest, a millisecond behind the one before."""
    return struct.pack("<4sIQq12d", b"ACS1", 6, k, k * 1_000_000, *HOME, *[0.0] * 6)


def answered(owner: socket.socket, k: int) -> bool:
    """Send a state; whether it is answered in time: nobody may listen yet."""
    with suppress(TimeoutError, ConnectionRefusedError):
        owner.send(state(k))
        return struct.unpack_from("<Q", owner.recv(1000), 8) == (k,)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="the socket is connected on Linux only")
@pytest.mark.parametrize("loop", [NATIVE, PYTHON])
def test_beside_a_flood_of_a_stranger_all_states_are_answered(loop: str, port: str, tmp_path: Path):
    """Each state comes behind more datagrams than the buffer of a socket holds."""
    words = ["serve", "ur5", "--port", port, "--loop", loop, "--params-file", parameter_file(tmp_path, "")]
    with (
        ThreadPoolExecutor(1) as pool,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as owner,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        served = pool.submit(cli.main, [*words, "--states", "53"])
        stranger.bind(("127.0.0.2", 0))
        owner.connect(("127.0.0.1", int(port)))
        owner.settimeout(0.05)
        while not answered(owner, 1):
            pass
        owner.settimeout(PATIENCE)
        for k in range(2, 54):
            for _ in range(1000 if k > 3 else 0):
                stranger.sendto(state(k), owner.getpeername())
            assert answered(owner, k)
        assert served.result() == 0


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "arm.key"
    path.write_bytes(bytes(range(32)))
    path.chmod(0o600)
    return path


@pytest.mark.processes
@has_compiler
def test_a_driver_with_the_key_is_answered(program: Path, key_file: Path, port: str, tmp_path: Path, capfd):
    """The one of the examples, in C; it starts again, and enables the gate."""
    keyed = f"{program} --key-file {key_file}"
    enables = keyed.replace(" --key", " --enable --key")
    options = ["--port", port, "--states", "60", "--params-file", parameter_file(tmp_path, "")]
    again = ["sh", "-c", f"{keyed} {port} 20 && exec {enables} {port} 1000000"]
    with subprocess.Popen(again, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        assert cli.main(["serve", "ur5", "--key-file", str(key_file), *options]) == 0
        driver.terminate()
        output, errors = driver.communicate()
    are_braking = ["braking" in answer for answer in output.splitlines()]
    assert are_braking == [False, False, True, False], "the first and the last answer of each run, and what changes"
    assert errors.startswith("braking: `arm_control serve` has printed why; enabling it\nenabled\n")
    said = capfd.readouterr().out
    assert "Python answers all states: --key-file" in said.splitlines()
    assert "braking: states come from another sender: 127.0.0.1:" in said
    assert "torque carries the arm's weight, too\n" in said


@pytest.mark.processes
@has_compiler
def test_the_driver_uses_no_answer_with_another_tag_or_to_an_old_state(program: Path, key_file: Path):
    def answer(number: int, tau: float, key: bytes = bytes(range(32))) -> bytes:
        data = struct.pack("<4sIQQ6d", b"ACT1", 6, number, 0, *[tau] * 6)
        return data + hmac.new(key, data, hashlib.sha256).digest()[:16]

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(PATIENCE)
        words = [program, "--key-file", key_file, str(server.getsockname()[1]), "2"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as driver:
            data, address = server.recvfrom(1000)
            number = struct.unpack_from("<Q", data, 8)[0]
            assert data[-16:] == hmac.new(bytes(range(32)), data[:-16], hashlib.sha256).digest()[:16]
            for forged in (answer(number, 1.0, bytes(32)), answer(number, 1.0)[:-16], answer(number - 10**12, 1.0)):
                server.sendto(forged, address)
            for _ in range(2):
                server.sendto(answer(number, 2.0), address)
            while struct.unpack_from("<d", data, 24 + 8 * 5)[0] == 0.0:
                data = server.recv(1000)
            assert struct.unpack_from("<d", data, 24 + 8 * 5)[0] == pytest.approx(0.01), "2 N m, 2e-4 kg m^2, 1 ms"
            server.sendto(answer(number + 1, 3.0), address)
            output, _ = driver.communicate(timeout=PATIENCE)
    assert [line.split()[3] for line in output.splitlines()] == ["2.000", "3.000"]


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (bytes(32), 0o640, "other users may read it: its mode is 0640; allowed: 0600 or less"),
        (bytes(31), 0o600, "it has 31 bytes; a key has 32"),
        (bytes(33), 0o600, "it has 33 bytes; allowed: 32"),
        (None, 0, "[Errno 2] No such file"),
    ],
)
def test_a_file_that_is_no_private_key_is_refused(
    content: bytes | None, mode: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setattr(serve_command, "answer_states", lambda *_: None)
    path = tmp_path / "arm.key"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    assert cli.main(["serve", "ur5", "--port", "0", "--key-file", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"arm_control: --key-file {path}: {why}")


@pytest.mark.parametrize(
    ("address", "has_key", "warns"), [("0.0.0.0", False, True), ("0.0.0.0", True, False), ("127.0.0.1", False, False)]
)
def test_an_address_that_strangers_reach_is_warned_about(
    address: str, has_key: bool, warns: bool, key_file: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    served: list[DatagramProcess] = []
    monkeypatch.setattr(serve_command, "answer_states", lambda _, process, *__: served.append(process))
    options = [
        "--loop",
        PYTHON,
        "--port",
        "0",
        "--address",
        address,
        *(["--key-file", str(key_file)] if has_key else ()),
    ]
    assert cli.main(["serve", "ur5", *options]) == 0
    assert ("--key-file keeps out" in capsys.readouterr().err) == warns
    assert served[0].are_strangers_near == warns


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ur5", "--port", "70000"), "127.0.0.1 port 70000: "),
        (("ur5", "--address", "ä..b"), "ä..b port 7301: "),
        (("ur5", "--address", "", "--port", "70000"), "--address is empty: "),
        (("ur5", "--states", "-3"), "--states -3: "),
        (("ur5", "--real-time-priority", "100"), "real_time_priority = 100"),
        ((), "name a robot or, with --scenario, a scenario"),
        (("ur5", "--scenario", "ur5_osc"), "name a robot or, with --scenario, a scenario"),
        (("--scenario", "ur4_free_fall"), "ur4_free_fall"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(words: tuple[str, ...], why: str, capsys):
    assert cli.main(["serve", *words]) == 2
    assert capsys.readouterr().err.startswith(f"arm_control: {why}")
