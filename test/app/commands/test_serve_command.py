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
from arm_control.app.commands.serve_command import NATIVE, PORT, PYTHON
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
    """

    def __init__(self, port: str) -> None:
        super().__init__()
        self.numbers: list[int] = []
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
            self.numbers.append(struct.unpack_from("<Q", self._socket.recv(1000), 8)[0])
        except TimeoutError:
            return False
        except ConnectionRefusedError:
            time.sleep(0.01)
        return True


@pytest.mark.parametrize("loop", [NATIVE, PYTHON])
@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_it_ends_with_as_many_answers_as_were_asked_for(loop: str, n: int, port: str, tmp_path: Path, capfd):
    node_only = "    loop: python\n    lock_step: false\n"
    options = ["--loop", loop, "--params-file", parameter_file(tmp_path, node_only)]
    with Driver(port) as driver:
        assert cli.main(["serve", "ur5", "--port", port, "--states", str(n), *options]) == 0
    assert len(driver.numbers) == n
    assert LINES[loop] in capfd.readouterr().out.splitlines()


@pytest.mark.processes
@pytest.mark.parametrize("loop", [NATIVE, PYTHON])
def test_a_signal_ends_it_while_states_come_and_while_it_waits(loop: str, port: str, tmp_path: Path):
    for is_streaming, number in ((True, signal.SIGINT), (False, signal.SIGTERM)):
        end_by_signal(loop, is_streaming, number, port, tmp_path)


def end_by_signal(loop: str, is_streaming: bool, number: signal.Signals, port: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "arm_control.app.cli", "serve", "ur5", "--port", port, "--loop", loop]
    command += ["--params-file", parameter_file(tmp_path, "")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as served:  # type: ignore[call-overload]
        while not (line := served.stdout.readline()).startswith("listening"):
            assert line, served.stderr.read()
        with Driver(port) as driver:
            while len(driver.numbers) < 200:
                assert served.poll() is None
            if is_streaming:
                served.send_signal(number)
                assert served.wait(PATIENCE) == (130 if number == signal.SIGINT else -number)
        served.send_signal(number)
        assert served.wait(PATIENCE) == (130 if number == signal.SIGINT else -number)
        assert served.stderr.read() == ""


@pytest.mark.processes
def test_a_signal_without_consequences_ends_nothing(port: str, tmp_path: Path):
    """Its handler runs at once, once for each signal, while states are answered without Python."""
    program = "import os, signal, sys; signal.signal(signal.SIGUSR1, lambda *_: os.write(2, b'heard\\n'))\n"
    program += "from arm_control.app.cli import main; sys.exit(main(sys.argv[1:]))"
    options = ["--port", port, "--params-file", parameter_file(tmp_path, "")]
    command = [sys.executable, "-c", program, "serve", "ur5", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as served, Driver(port) as driver:  # type: ignore[call-overload]
        while not (line := served.stdout.readline()).startswith("states come from"):
            assert line
        for _ in range(3):
            n = len(driver.numbers)
            os.kill(served.pid, signal.SIGUSR1)
            assert served.stderr.readline() == "heard\n"
            while len(driver.numbers) < n + 100:
                assert served.poll() is None
        served.terminate()


@pytest.mark.parametrize(
    ("words", "parameters", "why"),
    [
        (("ur5",), "    avoid_obstacles: true\n", "avoid_obstacles"),
        (("ur5",), "    disturbance_observer: true\n    inertia_floor: 0.02\n", "disturbance_observer, inertia_floor"),
        (("--scenario", "ur5_joint"), "", "only operational space control can do without it"),
        (("--scenario", "ur5_attractor"), "", "only operational space control can do without it"),
    ],
)
def test_what_needs_python_is_said(words: tuple[str, ...], parameters: str, why: str, port: str, tmp_path: Path, capfd):
    options = ["--params-file", parameter_file(tmp_path, parameters), "--port", port, "--states", "3"]
    with Driver(port):
        assert cli.main(["serve", *words, *options]) == 0
    assert f"Python answers all states: {why}" in capfd.readouterr().out.splitlines()


@pytest.mark.processes
@has_compiler
def test_the_driver_of_the_examples_is_answered(program: Path, port: str, capfd: pytest.CaptureFixture[str]):
    for loop in (NATIVE, PYTHON):
        with subprocess.Popen([program, port, "1000000"], stdout=subprocess.PIPE, text=True) as driver:
            assert cli.main(["serve", "ur5", "--port", port, "--states", "20", "--loop", loop]) == 0
            driver.terminate()
            output, _ = driver.communicate()
        assert output.startswith("state ")
        assert "N m" in output
        said = capfd.readouterr().out
        assert f"listening on 127.0.0.1 port {port}" in said
        assert "states come from 127.0.0.1:" in said
        assert "torque carries the arm's weight, too\n" in said


def test_options_about_the_arm_are_taken(port: str, capfd: pytest.CaptureFixture[str]):
    with Driver(port):
        assert cli.main(["serve", "ur5", "--tip", "nowhere", "--port", port, "--states", "1"]) == 2
    assert "unknown frame 'nowhere'" in capfd.readouterr().err


def test_another_thread_than_the_main_one_serves(port: str, tmp_path: Path):
    """Python sends signals to its main thread only, which then has to end the program."""
    ends: list[int] = []
    words = ["serve", "ur5", "--port", port, "--states", "3", "--params-file", parameter_file(tmp_path, "")]
    thread = threading.Thread(target=lambda: ends.append(cli.main(words)), daemon=True)
    thread.start()
    with Driver(port):
        thread.join(PATIENCE)
    assert ends == [0]


@pytest.mark.processes
@has_compiler
def test_a_driver_that_starts_again_enables_the_gate(
    program: Path, port: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    again = f"{program} {port} 20 && exec {program} --enable {port} 1000000"
    options = ["--port", port, "--states", "60", "--params-file", parameter_file(tmp_path, "")]
    with subprocess.Popen(["sh", "-c", again], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        assert cli.main(["serve", "ur5", *options]) == 0
        driver.terminate()
        output, errors = driver.communicate()
    answers = output.splitlines()
    are_braking = ["braking" in answer for answer in answers]
    assert not any(are_braking[:20])
    assert any(are_braking)
    assert not are_braking[-1]
    assert errors.startswith("braking: `arm_control serve` has printed why; enabling it\nenabled\n")
    said = capfd.readouterr()
    assert "braking: states come from another sender: 127.0.0.1:" in said.out


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
    """It starts again, and enables the gate."""
    keyed = f"{program} --key-file {key_file}"
    enables = keyed.replace(" --key", " --enable --key")
    options = ["--port", port, "--states", "60", "--params-file", parameter_file(tmp_path, "")]
    again = ["sh", "-c", f"{keyed} {port} 20 && exec {enables} {port} 1000000"]
    with subprocess.Popen(again, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        assert cli.main(["serve", "ur5", "--key-file", str(key_file), *options]) == 0
        driver.terminate()
        output, errors = driver.communicate()
    assert "braking" not in output.splitlines()[-1]
    assert errors.startswith("braking: `arm_control serve` has printed why; enabling it\nenabled\n")
    assert "Python answers all states: --key-file" in capfd.readouterr().out.splitlines()


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
            for n in (number, number, number + 1):
                server.sendto(answer(n, 2.0 + (n - number)), address)
            output, _ = driver.communicate(timeout=PATIENCE)
    assert [line.split()[2] for line in output.splitlines()] == ["2.000", "3.000"]


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


@pytest.mark.processes
@has_compiler
@pytest.mark.parametrize("source", ["option", "file"])
def test_a_driver_that_adds_gravity_gets_none(source: str, program: Path, port: str, tmp_path: Path, capfd):
    text = "/**/gate:\n  ros__parameters:\n    driver_adds_gravity: true\n" if source == "file" else ""
    options = [*(["--driver-adds-gravity"] if source == "option" else ()), "--params-file"]
    with subprocess.Popen([program, port, "1000000"], stdout=subprocess.PIPE, text=True) as driver:
        words = ["serve", "ur5", "--port", port, "--states", "5", *options, parameter_file(tmp_path, text)]
        assert cli.main(words) == 0
        driver.terminate()
        output, _ = driver.communicate()
    torques = [float(word) for line in output.splitlines() for word in line.split(":")[1].split()[:6]]
    assert max(map(abs, torques)) < 1e-3
    assert "torque without gravity, which the driver adds\n" in capfd.readouterr().out


def test_the_default_port_is_none_on_which_nodes_of_ros_find_each_other():
    assert 1024 <= PORT < 7400
    assert f": {PORT});" in EXAMPLE.read_text()


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


def test_the_targets_of_a_scenario_begin_with_the_first_state(monkeypatch: pytest.MonkeyPatch):
    served: list[DatagramProcess] = []
    monkeypatch.setattr(serve_command, "answer_states", lambda _, process, *__: served.append(process))
    assert cli.main(["serve", "--scenario", "ur5_osc", "--port", "0"]) == 0
    goals = served[0].loop.goals
    assert [goal.stamp_ns for goal in goals] == [2_000_000_000 * k for k in range(10)]
    assert [goal.is_immediate for goal in goals] == [True] + [False] * 9, "they replace those of before"


def test_a_wrong_type_of_driver_adds_gravity_is_refused(tmp_path: Path, capsys):
    path = parameter_file(tmp_path, '/**/gate:\n  ros__parameters:\n    driver_adds_gravity: "false"\n')
    assert cli.main(["serve", "ur5", "--params-file", path]) == 2
    assert capsys.readouterr().err.startswith("arm_control: driver_adds_gravity = 'false': true or false is needed")
